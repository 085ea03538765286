/* test_nvtx.c - programs with NVTX in them, and what comes back of their ranges
 *
 *     test_nvtx TOOL PROGRAM   (TOOL: the library that NVTX loads; PROGRAM: nvtx_program, with real headers or without)
 */
#include "capture/program_support.h"
#include "under_tsan.h"

static const char *tool, *program;

static hd_trace *capture_of(const char *options, const char *scenario, const char *count)
{
    const char *const argv[] = {program, scenario, count, NULL};
    assert_int_equal(run_program(tool, options, argv), 0);
    return take_capture();
}

/* Of all slices: begun and ended, in the category of PyTorch's. */
static void assert_all_whole(const hd_trace *trace)
{
    hd_event event;
    for (uint64_t i = 0; i < hd_trace_row_count(trace, HD_KIND_SLICE); i++) {
        event = row_at(trace, HD_KIND_SLICE, i);
        assert_true(text_is(trace, event.category, "user_annotation"));
        assert_true(event.duration_ns >= 0 && event.partner != -1);
    }
}

static hd_event slice_named(const hd_trace *trace, const char *name)
{
    hd_event event;
    if (!find_event(&event, trace, HD_KIND_SLICE, name, 0)) fail_msg("no slice \"%s\"", name);
    return event;
}

static void assert_within(const hd_event *inner, const hd_event *outer)
{
    assert_true(inner->start_ns >= outer->start_ns);
    assert_true(inner->start_ns + inner->duration_ns <= outer->start_ns + outer->duration_ns);
}

static void test_nvtx__ranges_of_all_kinds_come_back(void **state)
{
    (void)state;
    hd_trace *trace = capture_of(NULL, "ranges", NULL);
    assert_int_equal(ledger_count(trace, "nvtx.payloads-left-out"), 1);
    assert_int_equal(hd_trace_ledger_count(trace), 1);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 7);
    assert_all_whole(trace);
    hd_event outer = slice_named(trace, "outer"), inner = slice_named(trace, "inn\u00e9r \U0001f600");
    hd_event library = slice_named(trace, "in the library"), string = slice_named(trace, "registered");
    assert_within(&inner, &outer);
    assert_within(&library, &inner);
    assert_within(&string, &library);
    assert_int_equal(outer.track, string.track);
    assert_true(arg_is_text(trace, &library, "domain", "lib \"x\""));
    assert_true(arg_is_text(trace, &library, "category", "kind \\ nine"));
    assert_true(arg_is_text(trace, &library, "color", "#76b900"));
    assert_int_equal(arg_of(trace, &library, "payload"), 42);
    assert_false(arg_is_text(trace, &string, "domain", "lib \"x\""));
    hd_trace_free(trace);
}

static void test_nvtx__ranges_between_threads_have_lanes_of_their_own(void **state)
{
    (void)state;
    hd_trace *trace = capture_of(NULL, "ranges", NULL);
    hd_event across = slice_named(trace, "from thread to thread"), beside = slice_named(trace, "beside it");
    hd_event other = slice_named(trace, "on the other"), outer = slice_named(trace, "outer");
    assert_string_equal(track_name(trace, &across), "NVTX ranges");
    assert_string_equal(track_name(trace, &beside), "NVTX ranges 2");
    assert_string_equal(track_name(trace, &other), "other \"thread\"");
    assert_true(outer.track != other.track && across.track != beside.track);
    /* It ended within the other thread's. */
    int64_t end = across.start_ns + across.duration_ns;
    assert_true(end >= other.start_ns && end <= other.start_ns + other.duration_ns);
    assert_within(&across, &outer);
    hd_trace_free(trace);
}

static void test_nvtx__marks_carry_payloads_of_all_types(void **state)
{
    hd_event event;
    hd_value value;
    (void)state;
    hd_trace *trace = capture_of(NULL, "ranges", NULL);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), 9);
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "a mark", 0));
    assert_true(text_is(trace, event.category, "user_annotation"));
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "registered", 0));
    assert_true(arg_is_text(trace, &event, "domain", "lib \"x\""));
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "i64", 0));
    assert_int_equal(arg_of(trace, &event, "payload"), -5);
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "u32", 0));
    assert_int_equal(arg_of(trace, &event, "payload"), 4000000000);
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "i32", 0));
    assert_int_equal(arg_of(trace, &event, "payload"), -7);
    uint32_t key = hd_trace_find_string(trace, "payload", 7);
    const double doubles[] = {2.5, 0.5};
    for (int i = 0; i < 2; i++) {
        double number = 0;
        assert_true(find_event(&event, trace, HD_KIND_INSTANT, i ? "f32" : "f64", 0));
        assert_true(hd_event_arg(&value, trace, &event, key) && hd_value_double(&number, trace, value));
        assert_true(number == doubles[i]);
    }
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "u64", 0));
    assert_true(hd_event_arg(&value, trace, &event, key));
    assert_true(text_is(trace, (uint32_t)value.bits, "18446744073709551615"));
    assert_true(find_event(&event, trace, HD_KIND_INSTANT, "unknown payload", 0));
    assert_false(hd_event_arg(&value, trace, &event, key));
    hd_trace_free(trace);
}

static void test_nvtx__ranges_of_domains_that_cross_are_split(void **state)
{
    hd_event first, second, within;
    (void)state;
    hd_trace *trace = capture_of(NULL, "trouble", NULL);
    assert_all_whole(trace);
    hd_event domain = slice_named(trace, "of d");
    int64_t end = domain.start_ns + domain.duration_ns;
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "crosses"), 2);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "within"), 2);
    assert_true(find_event(&first, trace, HD_KIND_SLICE, "crosses", 0));
    assert_true(find_event(&second, trace, HD_KIND_SLICE, "crosses", 1));
    assert_true(find_event(&within, trace, HD_KIND_SLICE, "within", 1));
    assert_int_equal(first.start_ns + first.duration_ns, end);
    assert_int_equal(second.start_ns, end);
    assert_within(&within, &second);
    assert_int_equal(ledger_count(trace, "nvtx.ranges-split"), 2);
    hd_trace_free(trace);
}

static void test_nvtx__what_makes_no_sense_is_counted(void **state)
{
    (void)state;
    hd_trace *trace = capture_of(NULL, "trouble", NULL);
    assert_int_equal(ledger_count(trace, "nvtx.ends-unmatched"), 4); /* two pops, an end of nothing, one twice */
    assert_int_equal(ledger_count(trace, "nvtx.handle-unknown"), 2); /* a domain, a string */
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "ended twice"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "(unnamed)"), 3);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "cut off"), 0);
    hd_trace_free(trace);
}

typedef struct span {
    uint32_t track;
    int64_t start, end;
} span;

static int by_track_and_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static void test_nvtx__threads_at_once_lose_nothing(void **state)
{
    enum { THREADS = 8, COUNT = 20000 };
    span *beside = calloc(THREADS * COUNT, sizeof *beside);
    size_t count = 0, lanes = 1;
    (void)state;
    hd_trace *trace = capture_of("policy=block", "threads", "20000");
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), THREADS * COUNT * 2);
    assert_all_whole(trace);
    for (uint64_t i = 0; i < hd_trace_row_count(trace, HD_KIND_SLICE); i++) {
        hd_event event = row_at(trace, HD_KIND_SLICE, i);
        if (text_is(trace, event.name, "beside"))
            beside[count++] = (span){event.track, event.start_ns, event.start_ns + event.duration_ns};
    }
    hd_trace_free(trace);
    assert_int_equal(count, THREADS * COUNT);
    /* There are no more lanes than ranges at once, and none has two at a time. */
    qsort(beside, count, sizeof *beside, by_track_and_start);
    for (size_t i = 1; i < count; i++) {
        if (beside[i].track != beside[i - 1].track)
            lanes++;
        else
            assert_true(beside[i].start > beside[i - 1].end);
    }
    assert_true(lanes <= THREADS);
    free(beside);
}

static void test_nvtx__a_handler_within_a_call_is_let_go_and_counted(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("policy=block", "signals", "500");
    uint64_t ranges = hd_trace_row_count(trace, HD_KIND_SLICE), nested = ledger_count(trace, "nvtx.nested");
    assert_true(nested > 0);
    assert_true(ranges + nested >= 500);
    assert_all_whole(trace);
    hd_trace_free(trace);
}

static void test_nvtx__deeper_than_the_limit_is_counted_and_popped(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("policy=block", "deep", "70000");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 65536);
    assert_int_equal(ledger_count(trace, "nvtx.over-limit"), 70000 - 65536);
    assert_all_whole(trace);
    hd_trace_free(trace);
}

static void test_nvtx__a_child_of_fork_has_a_file_of_its_own(void **state)
{
    const char *const argv[] = {program, "children", NULL};
    char names[8][128];
    (void)state;
    SKIP_UNDER_TSAN();
    run_child child = start_program(tool, NULL, argv);
    assert_int_equal(end_program(&child), 0);
    assert_int_equal(list_files(names, 8), 2);
    for (int i = 0; i < 2; i++) {
        hd_trace *trace = read_capture(names[i]);
        bool is_child = count_named(trace, HD_KIND_SLICE, "child") == 1;
        assert_int_equal(count_named(trace, HD_KIND_SLICE, "parent"), !is_child);
        assert_int_equal(count_named(trace, HD_KIND_SLICE, "parent's range"), !is_child);
        /* Its ends of what the parent began are in no file: there is no beginning to end. */
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_END), is_child ? 1 : 2);
        hd_trace_free(trace);
        unlink(names[i]);
    }
}

static void test_nvtx__calls_leave_errno_alone(void **state)
{
    const char *const argv[] = {program, "errno", NULL};
    char names[8][128];
    (void)state;
    SKIP_UNDER_TSAN();
    assert_int_equal(run_program(tool, "steps=0:9", argv), 0);
    int count = list_files(names, 8);
    for (int i = 0; i < count; i++) unlink(names[i]);
}

static void test_nvtx__a_program_that_is_killed_shows_what_was_open(void **state)
{
    const char *const argv[] = {program, "until_told", NULL};
    (void)state;
    run_child child = start_program(tool, NULL, argv);
    expect_line(&child, "ready");
    tell(&child, 'x');
    expect_line(&child, "done x");
    wait_for_event(HD_KIND_SLICE, "told");
    kill(child.pid, SIGKILL);
    assert_true(WIFSIGNALED(end_program(&child)));
    hd_trace *trace = take_capture();
    assert_int_equal(ledger_count(trace, "capture.not-finished"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "all along"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 1);
    hd_trace_free(trace);
}

static void test_nvtx__without_the_tool_programs_run_as_ever(void **state)
{
    const char *const argv[] = {program, "ranges", NULL};
    char names[1][128];
    (void)state;
    assert_int_equal(run_program(NULL, NULL, argv), 0);
    assert_int_equal(list_files(names, 1), 0);
}

static void test_nvtx__option_nvtx_0_shows_no_ranges(void **state)
{
    const char *const argv[] = {program, "steps", "6", NULL};
    char names[2][128];
    (void)state;
    assert_int_equal(run_program(tool, "nvtx=0", argv), 0);
    for (int i = list_files(names, 2); i-- > 0;) {
        hd_trace *trace = read_capture(names[i]);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 0);
        hd_trace_free(trace);
        unlink(names[i]);
    }
    /* Steps count all the same. */
    hd_trace *trace = capture_of("nvtx=0,steps=2:3", "steps", "6");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (step 2)"), 1);
    hd_trace_free(trace);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvtx__ranges_of_all_kinds_come_back),
        cmocka_unit_test(test_nvtx__ranges_between_threads_have_lanes_of_their_own),
        cmocka_unit_test(test_nvtx__marks_carry_payloads_of_all_types),
        cmocka_unit_test(test_nvtx__ranges_of_domains_that_cross_are_split),
        cmocka_unit_test(test_nvtx__what_makes_no_sense_is_counted),
        cmocka_unit_test(test_nvtx__threads_at_once_lose_nothing),
        cmocka_unit_test(test_nvtx__a_handler_within_a_call_is_let_go_and_counted),
        cmocka_unit_test(test_nvtx__deeper_than_the_limit_is_counted_and_popped),
        cmocka_unit_test(test_nvtx__a_child_of_fork_has_a_file_of_its_own),
        cmocka_unit_test(test_nvtx__calls_leave_errno_alone),
        cmocka_unit_test(test_nvtx__a_program_that_is_killed_shows_what_was_open),
        cmocka_unit_test(test_nvtx__without_the_tool_programs_run_as_ever),
        cmocka_unit_test(test_nvtx__option_nvtx_0_shows_no_ranges),
    };
    if (argc != 3) return 2;
    tool = argv[1];
    program = argv[2];
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
