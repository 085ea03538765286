/* test_window.c - capture windows: by time, by steps, by SIGUSR2, by `heddle trigger`
 *
 *     test_window TOOL PROGRAM   (as test_nvtx)
 */
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/control_wire.h"
#include "capture/program_support.h"
#include "heddle/capture/trigger.h"
#include "under_tsan.h"

static const char *tool, *program;

static hd_trace *capture_of(const char *options, const char *scenario, const char *count)
{
    const char *const argv[] = {program, scenario, count, NULL};
    assert_int_equal(run_program(tool, options, argv), 0);
    return take_capture();
}

/* A program that waits for what it is told. */
static run_child start_waiting(const char *options, const char *scenario)
{
    const char *const argv[] = {program, scenario, NULL};
    run_child child = start_program(tool, options, argv);
    expect_line(&child, "ready");
    return child;
}

static void let_work(const run_child *child)
{
    tell(child, 'x');
    expect_line(child, "done x");
}

/* ---- hd_trigger ---- */

static hd_table *ask(pid_t pid, hd_trigger_action action, int64_t duration_ms)
{
    hd_table *table;
    hd_error err = {0};
    const hd_trigger_options options = {.action = action, .duration_ns = duration_ms * 1000000};
    if (hd_trigger(&table, pid, &options, &err) != HD_OK) fail_msg("%s", err.message);
    return table;
}

static bool cell_is(const hd_table *table, size_t row, const char *column, const char *expected)
{
    size_t size;
    for (size_t i = 0; i < hd_table_column_count(table); i++) {
        if (strcmp(hd_table_get_column(table, i)->name, column) != 0) continue;
        if (hd_table_is_null(table, row, i)) return expected == NULL;
        const char *text = hd_table_get_string(&size, table, row, i);
        return expected && size == strlen(expected) && memcmp(text, expected, size) == 0;
    }
    fail_msg("no column %s", column);
    return false;
}

/* One process: its state, and what became of the wish. */
static void assert_answer(pid_t pid, hd_trigger_action action, const char *state, const char *by, const char *error)
{
    hd_table *table = ask(pid, action, 0);
    assert_int_equal(hd_table_row_count(table), 1);
    assert_int_equal(hd_table_get_int(table, 0, 0), pid);
    assert_true(cell_is(table, 0, "state", state));
    if (by) assert_true(cell_is(table, 0, "by", by));
    assert_true(cell_is(table, 0, "error", error));
    hd_table_free(table);
}

static void wait_for_state(pid_t pid, const char *state, const char *by)
{
    int64_t limit_ns = patience_end();
    while (hd_session_now() < limit_ns) {
        hd_table *table = ask(pid, HD_TRIGGER_STATUS, 0);
        bool is_so = cell_is(table, 0, "state", state) && cell_is(table, 0, "by", by);
        hd_table_free(table);
        if (is_so) return;
        sleep_ms(10);
    }
    fail_msg("it never was %s by %s", state, by);
}

/* ---- by time ---- */

/* Works until the duration has closed the capture, and once more. How often that was within the window for certain. */
static int work_beyond_the_window(const run_child *child)
{
    int64_t limit_ns = patience_end();
    int within = 0;
    for (bool was_open = false, has_ended = false; !has_ended;) {
        hd_table *table = ask(child->pid, HD_TRIGGER_STATUS, 0);
        bool is_open = cell_is(table, 0, "state", "open");
        has_ended = !is_open && cell_is(table, 0, "by", "duration");
        hd_table_free(table);
        within += was_open && is_open;
        was_open = is_open;
        let_work(child);
        assert_true(hd_session_now() < limit_ns);
    }
    return within;
}

/* Where nobody gets to run within a short window, a longer one shows the same. */
static void assert_bounds(const char *delay, const char *name)
{
    for (int ms = 100, within = 0; within == 0; ms *= 4) {
        char options[64];
        hd_event window;
        snprintf(options, sizeof options, "%sduration_ms=%d", delay, ms);
        run_child child = start_waiting(options, "until_told");
        within = work_beyond_the_window(&child);
        assert_int_equal(end_program(&child), 0);
        hd_trace *trace = take_capture();
        assert_int_equal(ledger_count(trace, "window.count"), 1);
        assert_true(find_event(&window, trace, HD_KIND_SLICE, name, 0));
        assert_string_equal(track_name(trace, &window), "capture windows");
        assert_true(window.duration_ns >= ms * INT64_C(1000000));
        assert_true(count_named(trace, HD_KIND_SLICE, "told") >= within);
        int behind = 0; /* one range may be about to begin when the window closes */
        for (uint64_t i = 0; i < hd_trace_row_count(trace, HD_KIND_SLICE); i++) {
            hd_event event = row_at(trace, HD_KIND_SLICE, i);
            assert_true(event.start_ns >= window.start_ns);
            behind += event.start_ns > window.start_ns + window.duration_ns;
        }
        assert_true(behind <= 1);
        hd_trace_free(trace);
    }
}

static void test_window__delay_and_duration_bound_what_is_captured(void **state)
{
    (void)state;
    assert_bounds("delay_ms=100,", "window 1 (delay)");
}

static void test_window__a_duration_alone_begins_at_once(void **state)
{
    (void)state;
    assert_bounds("", "window 1 (start)");
}

static void test_window__a_delay_longer_than_the_program_is_told(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("delay_ms=100000", "steps", "5");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 0);
    assert_int_equal(ledger_count(trace, "window.never-opened"), 1);
    hd_trace_free(trace);
}

/* ---- by steps ---- */

static void assert_steps(const char *options, const char *scenario, const char *name, int steps, const char *window)
{
    hd_trace *trace = capture_of(options, scenario, "10");
    assert_int_equal(count_named(trace, HD_KIND_SLICE, name), steps);
    if (steps) assert_int_equal(ledger_count(trace, "window.count"), 1);
    if (window) assert_int_equal(count_named(trace, HD_KIND_SLICE, window), 1);
    hd_trace_free(trace);
}

static void test_window__steps_are_counted_from_zero_both_ends_included(void **state)
{
    hd_event window, event;
    (void)state;
    hd_trace *trace = capture_of("steps=3:5", "steps", "10");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 7);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "step"), 3);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "work"), 3);
    assert_true(find_event(&window, trace, HD_KIND_SLICE, "window 1 (step 3)", 0));
    assert_true(find_event(&event, trace, HD_KIND_SLICE, "step", 2));
    assert_true(event.start_ns + event.duration_ns <= window.start_ns + window.duration_ns);
    hd_trace_free(trace);
    assert_steps("steps=0:0", "steps", "step", 1, "window 1 (step 0)");
    assert_steps("steps=9:9", "steps", "step", 1, "window 1 (step 9)");
    assert_steps("steps=8:100", "steps", "step", 2, "window 1 (step 8)");
}

static void test_window__numbers_in_names_are_the_steps(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("steps=102:104", "profiler_steps", "10");
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "ProfilerStep#101"), 0);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "ProfilerStep#102"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "ProfilerStep#104"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "ProfilerStep#105"), 0);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "step"), 3); /* within, of the program */
    hd_trace_free(trace);
}

static void test_window__steps_of_other_names_and_kinds_count(void **state)
{
    (void)state;
    assert_steps("steps=2:3", "registered_steps", "Iteration", 2, "window 1 (step 2)");
    assert_steps("steps=1:2,step_name=my loop", "named_steps", "my loop", 2, "window 1 (step 1)");
    assert_steps("steps=1:2", "named_steps", "my loop", 0, NULL);
}

static void test_window__thousands_of_registered_steps_are_told_apart(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("steps=2997:2998", "numbered_strings", "3000");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 3);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "step 2997"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "step 2998"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (step 2997)"), 1);
    hd_trace_free(trace);
}

static void test_window__steps_that_never_came_are_told(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("steps=100:200", "steps", "10");
    assert_int_equal(ledger_count(trace, "window.never-opened"), 1);
    assert_int_equal(ledger_count(trace, "window.steps-seen"), 10);
    hd_trace_free(trace);
}

/* ---- by trigger ---- */

static void test_window__a_trigger_opens_and_closes_as_often_as_one_likes(void **state)
{
    (void)state;
    run_child child = start_waiting("trigger=1", "until_told");
    assert_answer(child.pid, HD_TRIGGER_STATUS, "closed", "", NULL);
    let_work(&child);
    for (int i = 0; i < 5; i++) {
        assert_answer(child.pid, HD_TRIGGER_START, "open", "trigger", NULL);
        assert_answer(child.pid, HD_TRIGGER_START, "open", "trigger", "the capture is open already");
        let_work(&child);
        assert_answer(child.pid, HD_TRIGGER_STOP, "closed", "trigger", NULL);
        assert_answer(child.pid, HD_TRIGGER_STOP, "closed", "trigger", "the capture is closed already");
        let_work(&child);
    }
    assert_answer(child.pid, HD_TRIGGER_TOGGLE, "open", "trigger", NULL);
    assert_int_equal(end_program(&child), 0);
    hd_trace *trace = take_capture();
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 5);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "all along"), 0); /* it began before */
    assert_int_equal(ledger_count(trace, "window.count"), 6);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 6 (trigger)"), 1);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 11);
    hd_trace_free(trace);
}

static void test_window__what_is_open_from_the_start_can_be_closed_and_opened(void **state)
{
    (void)state;
    run_child child = start_waiting(NULL, "until_told");
    let_work(&child);
    assert_answer(child.pid, HD_TRIGGER_STATUS, "open", "start", NULL);
    assert_answer(child.pid, HD_TRIGGER_STOP, "closed", "trigger", NULL);
    let_work(&child);
    assert_answer(child.pid, HD_TRIGGER_START, "open", "trigger", NULL);
    let_work(&child);
    assert_int_equal(end_program(&child), 0);
    hd_trace *trace = take_capture();
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 2);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "all along"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (start)"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 2 (trigger)"), 1);
    hd_trace_free(trace);
}

static void test_window__a_duration_of_a_trigger_closes_by_itself(void **state)
{
    hd_event window;
    (void)state;
    run_child child = start_waiting("trigger=1", "until_told");
    for (int i = 0; i < 2; i++) {
        hd_table_free(ask(child.pid, HD_TRIGGER_START, 50));
        wait_for_state(child.pid, "closed", "duration");
    }
    assert_int_equal(end_program(&child), 0);
    hd_trace *trace = take_capture();
    assert_true(find_event(&window, trace, HD_KIND_SLICE, "window 2 (trigger)", 0));
    assert_true(window.duration_ns >= 50000000);
    hd_trace_free(trace);
}

static void test_window__the_duration_option_holds_for_triggers(void **state)
{
    (void)state;
    run_child child = start_waiting("trigger=1,duration_ms=40", "until_told");
    hd_table_free(ask(child.pid, HD_TRIGGER_START, 0));
    wait_for_state(child.pid, "closed", "duration");
    assert_int_equal(end_program(&child), 0);
    hd_trace_free(take_capture());
}

static void test_window__killed_within_a_window_the_file_shows_it_open(void **state)
{
    (void)state;
    run_child child = start_waiting("trigger=1", "until_told");
    assert_answer(child.pid, HD_TRIGGER_START, "open", "trigger", NULL);
    let_work(&child);
    wait_for_event(HD_KIND_SLICE, "told");
    wait_for_event(HD_KIND_SLICE, "window 1 (trigger)");
    kill(child.pid, SIGKILL);
    assert_true(WIFSIGNALED(end_program(&child)));
    hd_trace *trace = take_capture();
    assert_int_equal(ledger_count(trace, "capture.not-finished"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (trigger)"), 1);
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 1);
    hd_trace_free(trace);
}

/* ---- SIGUSR2 ---- */

static void test_window__sigusr2_toggles(void **state)
{
    (void)state;
    run_child child = start_waiting("trigger=1", "until_told");
    for (int i = 0; i < 3; i++) {
        kill(child.pid, SIGUSR2);
        wait_for_state(child.pid, "open", "signal");
        let_work(&child);
        kill(child.pid, SIGUSR2);
        wait_for_state(child.pid, "closed", "signal");
        let_work(&child);
    }
    assert_int_equal(end_program(&child), 0);
    hd_trace *trace = take_capture();
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 3);
    assert_int_equal(ledger_count(trace, "window.count"), 3);
    hd_trace_free(trace);
}

static void test_window__without_the_option_sigusr2_is_as_ever(void **state)
{
    (void)state;
    run_child child = start_waiting(NULL, "until_told");
    kill(child.pid, SIGUSR2);
    int status = end_program(&child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
    hd_trace_free(take_capture());
}

static void test_window__a_handler_of_the_program_stays(void **state)
{
    (void)state;
    hd_trace *trace = capture_of("trigger=1", "own_handler_first", NULL);
    assert_int_equal(ledger_count(trace, "window.signal-taken"), 1);
    hd_trace_free(trace);
    run_child child = start_waiting("trigger=1", "own_handler_later");
    wait_for_note("window.signal-replaced");
    assert_int_equal(end_program(&child), 0);
    trace = take_capture();
    assert_int_equal(ledger_count(trace, "window.signal-replaced"), 1);
    assert_int_equal(ledger_count(trace, "window.count"), 0);
    hd_trace_free(trace);
}

/* ---- processes ---- */

static void test_window__a_launcher_stands_for_what_it_started(void **state)
{
    char command[512], names[8][128];
    (void)state;
    snprintf(command, sizeof command, "exec 3<&0; %.200s until_told <&3 & %.200s until_told <&3 & wait", program,
             program);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    run_child child = start_program(tool, "trigger=1", argv);
    expect_line(&child, "ready");
    expect_line(&child, "ready");
    hd_table *table = ask(child.pid, HD_TRIGGER_START, 0);
    assert_int_equal(hd_table_row_count(table), 2);
    for (size_t i = 0; i < 2; i++) assert_true(cell_is(table, i, "state", "open") && cell_is(table, i, "error", NULL));
    hd_table_free(table);
    close(child.to);
    child.to = -1;
    end_program(&child);
    assert_int_equal(list_files(names, 8), 2);
    for (int i = 0; i < 2; i++) {
        hd_trace *trace = read_capture(names[i]);
        assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (trigger)"), 1);
        hd_trace_free(trace);
        unlink(names[i]);
    }
}

static void test_window__a_child_of_fork_is_told_by_itself(void **state)
{
    char names[8][128];
    hd_table *table;
    const hd_trigger_options stop = {.action = HD_TRIGGER_STOP, .children = true};
    (void)state;
    SKIP_UNDER_TSAN();
    run_child child = start_waiting(NULL, "child_until_told");
    assert_int_equal(hd_trigger(&table, child.pid, &stop, NULL), HD_OK);
    assert_int_equal(hd_table_row_count(table), 2);
    for (size_t i = 0; i < 2; i++) assert_true(cell_is(table, i, "state", "closed"));
    hd_table_free(table);
    assert_answer(child.pid, HD_TRIGGER_START, "open", "trigger", NULL); /* the parent alone */
    let_work(&child);
    assert_int_equal(end_program(&child), 0);
    assert_int_equal(list_files(names, 8), 2);
    for (int i = 0; i < 2; i++) {
        hd_trace *trace = read_capture(names[i]);
        assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 0);
        assert_int_equal(count_named(trace, HD_KIND_SLICE, "window 1 (start)"), 1);
        hd_trace_free(trace);
        unlink(names[i]);
    }
}

static void test_window__a_program_that_closes_all_descriptors_keeps_its_own(void **state)
{
    (void)state;
    SKIP_UNDER_TSAN();
    run_child child = start_waiting("trigger=1", "without_descriptors");
    /* It is noticed within a second; until then nobody answers. */
    hd_table *table = NULL;
    const hd_trigger_options start = {.action = HD_TRIGGER_START};
    int64_t limit_ns = patience_end();
    while (!table && hd_session_now() < limit_ns) {
        if (hd_trigger(&table, child.pid, &start, NULL) == HD_OK && !cell_is(table, 0, "state", "open")) {
            hd_table_free(table);
            table = NULL;
        }
        if (!table) sleep_ms(50);
    }
    assert_non_null(table);
    hd_table_free(table);
    let_work(&child);
    assert_int_equal(end_program(&child), 0);
    hd_trace *trace = take_capture();
    assert_int_equal(count_named(trace, HD_KIND_SLICE, "told"), 1);
    hd_trace_free(trace);
}

static void assert_refused(pid_t pid, hd_status expected, const char *text)
{
    hd_table *table;
    hd_error err = {0};
    const hd_trigger_options options = {.action = HD_TRIGGER_STATUS};
    assert_int_equal(hd_trigger(&table, pid, &options, &err), expected);
    assert_null(table);
    if (!strstr(err.message, text)) fail_msg("%s", err.message);
}

static void test_window__who_cannot_be_told_is_said_plainly(void **state)
{
    hd_table *table;
    hd_error err = {0};
    (void)state;
    assert_refused(getpid(), HD_ERR_UNSUPPORTED, "start it with heddle record");
    assert_refused(4194304, HD_ERR_ARGUMENT, "no process 4194304");
    assert_refused(-1, HD_ERR_ARGUMENT, "not an id of a process");
    const hd_trigger_options bad = {.action = HD_TRIGGER_STOP, .duration_ns = 1};
    assert_int_equal(hd_trigger(&table, getpid(), &bad, &err), HD_ERR_ARGUMENT);
}

static void become_another_user(void)
{
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
}

/* Another user who says nothing is answered before the 500 ms that a request may take: nothing is read of him. */
static void assert_refused_unheard(pid_t pid)
{
    int status;
    pid_t other = fork();
    if (other == 0) {
        char answer[CONTROL_ANSWER_BYTES];
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int size = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, CONTROL_NAME, (long)pid);
        become_another_user();
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) != 0)
            _exit(2);
        ssize_t got = recv(fd, answer, sizeof answer - 1, 0);
        answer[got > 0 ? got : 0] = 0;
        _exit(!strstr(answer, "the program is of another user"));
    }
    waitpid(other, &status, 0);
    assert_int_equal(status, 0);
}

static void test_window__other_users_are_refused(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0) skip(); /* it takes two users */
    run_child child = start_waiting("trigger=1", "until_told");
    pid_t other = fork();
    if (other == 0) {
        hd_table *table;
        const hd_trigger_options start = {.action = HD_TRIGGER_START};
        become_another_user();
        if (hd_trigger(&table, child.pid, &start, NULL) != HD_OK) _exit(2);
        _exit(!cell_is(table, 0, "error", "the program is of another user"));
    }
    waitpid(other, &status, 0);
    assert_int_equal(status, 0);
    assert_refused_unheard(child.pid);
    assert_answer(child.pid, HD_TRIGGER_STATUS, "closed", "", NULL);
    assert_int_equal(end_program(&child), 0);
    hd_trace_free(take_capture());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window__delay_and_duration_bound_what_is_captured),
        cmocka_unit_test(test_window__a_duration_alone_begins_at_once),
        cmocka_unit_test(test_window__a_delay_longer_than_the_program_is_told),
        cmocka_unit_test(test_window__steps_are_counted_from_zero_both_ends_included),
        cmocka_unit_test(test_window__numbers_in_names_are_the_steps),
        cmocka_unit_test(test_window__steps_of_other_names_and_kinds_count),
        cmocka_unit_test(test_window__thousands_of_registered_steps_are_told_apart),
        cmocka_unit_test(test_window__steps_that_never_came_are_told),
        cmocka_unit_test(test_window__a_trigger_opens_and_closes_as_often_as_one_likes),
        cmocka_unit_test(test_window__what_is_open_from_the_start_can_be_closed_and_opened),
        cmocka_unit_test(test_window__a_duration_of_a_trigger_closes_by_itself),
        cmocka_unit_test(test_window__the_duration_option_holds_for_triggers),
        cmocka_unit_test(test_window__killed_within_a_window_the_file_shows_it_open),
        cmocka_unit_test(test_window__sigusr2_toggles),
        cmocka_unit_test(test_window__without_the_option_sigusr2_is_as_ever),
        cmocka_unit_test(test_window__a_handler_of_the_program_stays),
        cmocka_unit_test(test_window__a_launcher_stands_for_what_it_started),
        cmocka_unit_test(test_window__a_child_of_fork_is_told_by_itself),
        cmocka_unit_test(test_window__a_program_that_closes_all_descriptors_keeps_its_own),
        cmocka_unit_test(test_window__who_cannot_be_told_is_said_plainly),
        cmocka_unit_test(test_window__other_users_are_refused),
    };
    if (argc != 3) return 2;
    tool = argv[1];
    program = argv[2];
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
