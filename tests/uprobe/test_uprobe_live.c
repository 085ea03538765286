/* test_uprobe_live.c - probes on a program of our own: counts, stacks, returns, losses, rights. Skipped, but for the
 * rights, where the machine allows no uprobes. */

#include "quiet_fork.h"
#include "uprobe/uprobe_run.h"

#define WAY_ONE "begin;way_one;launch_kernel"
#define WAY_TWO "begin;way_two;deeper;deeper;deeper;deeper;launch_kernel"

static const char *program(void)
{
    return getenv("HEDDLE_UPROBE_PROGRAM");
}

static char capture[128], folded[128];

static void name_files(void)
{
    file_named(capture, "calls.hdcap");
    file_named(folded, "calls.folded");
}

static void remove_files(void)
{
    unlink(capture);
    unlink(folded);
}

static uint64_t rows(const hd_trace *trace, hd_kind kind)
{
    return hd_trace_row_count(trace, kind);
}

/* Threads and children call by two ways; all of it must be there. */
static void run_ways(const char *word, bool no_tracefs, bool returns, const char *main_way)
{
    const char *command[] = {program(), word, "3", "2", "50", NULL};
    enum { THREADS = 12, CALLS = THREADS * 100, PROCESSES = 3 };
    if (!uprobes_work()) skip();
    name_files();
    /* All of them fit into the ring of one CPU: none is lost, however late the tracer comes. */
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel",
                      .command = command,
                      .options = {.capture = capture,
                                  .folded = folded,
                                  .no_tracefs = no_tracefs,
                                  .returns = returns,
                                  .stack_bytes = 4096,
                                  .ring_bytes = 8 << 20}};
    run_with_probes(&run);
    assert_int_equal(run.status, HD_OK);
    assert_int_equal(run.exit_status, 0);
    assert_int_equal(run.stats.calls, CALLS);
    assert_int_equal(run.stats.samples, CALLS);
    assert_int_equal(run.stats.hits, run.stats.calls + run.stats.foreign);
    assert_int_equal(run.stats.lost, 0);
    assert_int_equal(run.stats.threads, THREADS);
    assert_int_equal(run.stats.processes, PROCESSES);
    assert_int_equal(run.stats.returned, returns ? CALLS : 0);
    assert_int_equal(lines_with(folded, NULL), CALLS);
    assert_int_equal(lines_with(folded, WAY_ONE), CALLS / 2);
    assert_int_equal(lines_with(folded, WAY_TWO), CALLS / 2);
    if (main_way) assert_int_equal(lines_with(folded, main_way), PROCESSES * 50);
    hd_trace *trace = read_capture(capture);
    assert_int_equal(rows(trace, HD_KIND_SAMPLE), CALLS);
    assert_int_equal(rows(trace, HD_KIND_SLICE), returns ? CALLS : 0);
    assert_int_equal(rows(trace, HD_KIND_INSTANT), returns ? 0 : CALLS);
    uint64_t threads = 0;
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (!track->rows[HD_KIND_SAMPLE]) continue;
        assert_int_equal(track->rows[HD_KIND_SAMPLE], 100);
        threads++;
    }
    assert_int_equal(threads, THREADS);
    hd_trace_free(trace);
    remove_files();
}

static void test_uprobe__every_call_of_all_threads_and_children_has_its_stack(void **state)
{
    (void)state;
    run_ways("run", false, false, "main;run;process;" WAY_ONE);
}

static void test_uprobe__returns_make_slices_and_leave_the_stacks_whole(void **state)
{
    (void)state;
    run_ways("run", false, true, "main;run;process;" WAY_TWO);
}

static void test_uprobe__events_of_the_pmu_do_the_same_as_those_of_tracefs(void **state)
{
    (void)state;
    run_ways("run", true, false, NULL);
    run_ways("run", true, true, NULL);
}

static void test_uprobe__execve_is_followed(void **state)
{
    (void)state;
    run_ways("exec", false, false, "main;run;process;" WAY_TWO);
}

static void test_uprobe__frame_pointers_alone_do_for_code_that_has_them(void **state)
{
    const char *command[] = {getenv("HEDDLE_UPROBE_FRAMES_PROGRAM"), "run", "1", "1", "40", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel",
                      .command = command,
                      .options = {.folded = folded, .stacks = HD_UPROBE_FRAMES}};
    run_with_probes(&run);
    assert_int_equal(run.stats.samples, 320);
    assert_int_equal(lines_with(folded, "main;run;process;" WAY_ONE), 80);
    assert_int_equal(lines_with(folded, WAY_TWO), 160);
    remove_files();
}

static void test_uprobe__without_stacks_there_are_calls_alone(void **state)
{
    const char *command[] = {program(), "run", "1", "0", "10", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel",
                      .command = command,
                      .options = {.capture = capture, .stacks = HD_UPROBE_NONE}};
    run_with_probes(&run);
    assert_int_equal(run.stats.bare, 40);
    hd_trace *trace = read_capture(capture);
    assert_int_equal(rows(trace, HD_KIND_INSTANT), 40);
    assert_int_equal(rows(trace, HD_KIND_SAMPLE), 0);
    hd_trace_free(trace);
    remove_files();
}

static void test_uprobe__a_call_within_a_probed_function_has_no_sample_of_its_own(void **state)
{
    const char *command[] = {program(), "nested", "25", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    for (int round = 0; round < 4; round++) {
        bool returns = round & 1;
        uprobe_run run = {
            .spec = "libuprobe_library.so:launch_[ko]*",
            .command = command,
            .options = {.capture = capture, .folded = folded, .no_tracefs = round & 2, .returns = returns}};
        run_with_probes(&run);
        assert_int_equal(run.stats.targets, 2);
        assert_int_equal(run.stats.calls, 50);
        assert_int_equal(run.stats.nested, 25);
        assert_int_equal(run.stats.returned, returns ? 50 : 0);
        assert_int_equal(lines_with(folded, NULL), 25);
        assert_int_equal(lines_with(folded, "main;launch_outer"), 25);
        hd_trace *trace = read_capture(capture);
        assert_int_equal(rows(trace, returns ? HD_KIND_SLICE : HD_KIND_INSTANT), 50);
        assert_int_equal(ledger_count(trace, "uprobe.nested"), 25);
        hd_trace_free(trace);
    }
    remove_files();
}

static void test_uprobe__a_slice_lasts_as_long_as_its_call(void **state)
{
    const char *command[] = {program(), "slow", "10", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_slow",
                      .command = command,
                      .options = {.capture = capture, .returns = true}};
    run_with_probes(&run);
    hd_trace *trace = read_capture(capture);
    assert_int_equal(rows(trace, HD_KIND_SLICE), 10);
    for (uint64_t i = 0; i < 10; i++) {
        hd_event event = row_at(trace, HD_KIND_SLICE, i);
        assert_true(text_is(trace, event.name, "launch_slow"));
        assert_true(event.duration_ns >= 2000000);
    }
    hd_trace_free(trace);
    remove_files();
}

static void test_uprobe__a_call_left_by_longjmp_has_no_end(void **state)
{
    const char *command[] = {program(), "jump", "20", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_[kj]*",
                      .command = command,
                      .options = {.capture = capture, .returns = true}};
    run_with_probes(&run);
    assert_int_equal(run.exit_status, 0);
    assert_int_equal(run.stats.calls, 40);
    assert_int_equal(run.stats.returned, 20);
    hd_trace *trace = read_capture(capture);
    assert_int_equal(rows(trace, HD_KIND_SLICE), 20);
    assert_int_equal(rows(trace, HD_KIND_INSTANT), 20);
    hd_trace_free(trace);
    remove_files();
}

static void test_uprobe__functions_that_jump_to_each_other_both_return(void **state)
{
    const char *command[] = {program(), "tail", "20", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_[kt]*",
                      .command = command,
                      .options = {.capture = capture, .folded = folded, .returns = true}};
    run_with_probes(&run);
    assert_int_equal(run.stats.calls, 40);
    assert_int_equal(run.stats.returned, 40);
    assert_int_equal(lines_with(folded, "main;launch_tail"), 20);
    remove_files();
}

static void test_uprobe__what_a_full_ring_loses_is_counted_to_the_last_call(void **state)
{
    const char *command[] = {program(), "run", "3", "0", "4000", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel",
                      .command = command,
                      .options = {.capture = capture, .ring_bytes = 16384, .stack_bytes = 8192}};
    run_with_probes(&run);
    assert_int_equal(run.exit_status, 0);
    assert_true(run.stats.lost > 0);
    assert_true(run.stats.calls > 0);
    assert_int_equal(run.stats.hits + run.stats.lost, 32000 + run.stats.foreign);
    hd_trace *trace = read_capture(capture);
    assert_int_equal(ledger_count(trace, "uprobe.lost"), run.stats.lost);
    assert_int_equal(rows(trace, HD_KIND_SAMPLE), run.stats.samples);
    hd_trace_free(trace);
    remove_files();
}

static void test_uprobe__a_stack_deeper_than_what_is_looked_at_is_cut_and_counted(void **state)
{
    const char *command[] = {program(), "run", "0", "0", "30", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel",
                      .command = command,
                      .options = {.folded = folded, .stack_bytes = 512}};
    run_with_probes(&run);
    assert_true(run.stats.cut >= 30); /* by the second way, of more than 800 bytes */
    assert_int_equal(lines_with(folded, "deeper;launch_kernel"), 30);
    assert_int_equal(lines_with(folded, WAY_TWO), 0);
    remove_files();
}

/* A program that waits for `go`, with a pipe as its standard input. */
static pid_t start_reading(const char *const *command, int *out_go, int *out_input)
{
    int input[2], kept = dup(0);
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    dup2(input[0], 0);
    pid_t pid = start_waiting(command, out_go);
    dup2(kept, 0);
    close(kept);
    close(input[0]);
    *out_input = input[1];
    return pid;
}

/* Descriptors of this process that are events of perf. */
static long perf_events(void)
{
    long count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char target[64];
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (size > 0) target[size] = 0;
        count += size > 0 && strstr(target, "[perf_event]");
    }
    if (folder) closedir(folder);
    return count;
}

static void test_uprobe__a_preset_finds_what_the_program_loads_later(void **state)
{
    const char *command[] = {program(), "load", getenv("HEDDLE_UPROBE_DOUBLE"), "cudaLaunchKernel", "30", NULL};
    hd_uprobe_plan *plan;
    hd_uprobe *tracer;
    hd_uprobe_stats stats;
    hd_error err = {0};
    int go, input, status;
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    pid_t pid = start_reading(command, &go, &input);
    assert_int_equal(hd_uprobe_plan_new(&plan, command, &err), HD_OK);
    assert_int_equal(hd_uprobe_plan_add(plan, "cuda", &err), HD_OK);
    hd_uprobe_options options = {.folded = folded, .stack_bytes = 4096};
    assert_int_equal(hd_uprobe_start(&tracer, plan, pid, &options, &err), HD_OK);
    /* Each processor has an event of its own; when the tracer sleeps again all are on. */
    long wanted = perf_events() + sysconf(_SC_NPROCESSORS_ONLN);
    close(go);
    while (perf_events() < wanted || !hd_test_others_sleep()) usleep(1000);
    assert_int_equal(write(input, "\n", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(hd_uprobe_stop(&stats, tracer, &err), HD_OK);
    hd_uprobe_free(tracer);
    hd_uprobe_plan_free(plan);
    close(input);
    assert_true(stats.late >= 1);
    assert_int_equal(stats.calls, 30);
    assert_int_equal(lines_with(folded, "load;cudaLaunchKernel"), 30);
    remove_files();
}

static void test_uprobe__calls_of_other_programs_are_counted_and_not_kept(void **state)
{
    const char *other[] = {program(), "run", "0", "0", "100", NULL}, *command[] = {program(), "wait", "10", NULL};
    hd_uprobe_plan *plan;
    hd_uprobe *tracer;
    hd_uprobe_stats stats;
    hd_error err = {0};
    int go, go_other, input, status;
    (void)state;
    if (!uprobes_work()) skip();
    name_files();
    pid_t pid = start_reading(command, &go, &input);
    assert_int_equal(hd_uprobe_plan_new(&plan, command, &err), HD_OK);
    assert_int_equal(hd_uprobe_plan_add(plan, "libuprobe_library.so:launch_kernel", &err), HD_OK);
    hd_uprobe_options options = {.folded = folded, .stack_bytes = 4096};
    assert_int_equal(hd_uprobe_start(&tracer, plan, pid, &options, &err), HD_OK);
    close(go);
    pid_t other_pid = start_waiting(other, &go_other);
    close(go_other);
    assert_int_equal(waitpid(other_pid, &status, 0), other_pid);
    assert_int_equal(write(input, "\n", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(hd_uprobe_stop(&stats, tracer, &err), HD_OK);
    assert_int_equal(stats.calls, 10);
    assert_true(stats.foreign >= 200);
    assert_int_equal(lines_with(folded, NULL), 10);
    hd_uprobe_free(tracer);
    hd_uprobe_plan_free(plan);
    close(input);
    remove_files();
}

/* As nobody, in a process of its own; root has all rights. */
static void test_uprobe__without_the_right_the_message_says_what_to_do_and_the_program_runs(void **state)
{
    const char *command[] = {program(), "run", "1", "0", "10", NULL};
    char message[512] = "";
    int answer[2], status;
    (void)state;
    name_files();
    if (geteuid() != 0 && hd_uprobe_check(NULL) == HD_OK) skip();
    assert_int_equal(pipe(answer), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel", .command = command};
        run.options.capture = capture;
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(3);
        hd_error err = {0};
        if (hd_uprobe_check(&err) == HD_OK) _exit(4);
        run_with_probes(&run);
        if (write(answer[1], run.err.message, strlen(run.err.message)) < 0) _exit(5);
        _exit(run.status == HD_OK || access(capture, F_OK) == 0 ? 6 : run.exit_status ? 7 : 0);
    }
    close(answer[1]);
    assert_true(read(answer[0], message, sizeof message - 1) >= 0);
    close(answer[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (strstr(message, "not allowed")) assert_non_null(strstr(message, "setcap"));
    assert_true(strstr(message, "not allowed") || strstr(message, "kernel"));
}

static void test_uprobe__a_file_that_cannot_be_written_is_an_error_before_the_program_runs(void **state)
{
    const char *command[] = {program(), "run", "0", "0", "1", NULL};
    (void)state;
    if (!uprobes_work()) skip();
    uprobe_run run = {.spec = "libuprobe_library.so:launch_kernel", .command = command};
    run.options.capture = "/nonexistent/folder/calls.hdcap";
    run_with_probes(&run);
    assert_int_equal(run.status, HD_ERR_IO);
    assert_int_equal(run.exit_status, 0);
    run.options.capture = NULL;
    run.err = (hd_error){0};
    run_with_probes(&run);
    assert_int_equal(run.status, HD_ERR_ARGUMENT);
    name_files();
    run.options.capture = capture;
    run.options.folded = "/nonexistent/folder/calls.folded";
    run.err = (hd_error){0};
    run_with_probes(&run);
    assert_int_equal(run.status, HD_ERR_IO);
    assert_int_not_equal(access(capture, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uprobe__every_call_of_all_threads_and_children_has_its_stack),
        cmocka_unit_test(test_uprobe__returns_make_slices_and_leave_the_stacks_whole),
        cmocka_unit_test(test_uprobe__events_of_the_pmu_do_the_same_as_those_of_tracefs),
        cmocka_unit_test(test_uprobe__execve_is_followed),
        cmocka_unit_test(test_uprobe__frame_pointers_alone_do_for_code_that_has_them),
        cmocka_unit_test(test_uprobe__without_stacks_there_are_calls_alone),
        cmocka_unit_test(test_uprobe__a_call_within_a_probed_function_has_no_sample_of_its_own),
        cmocka_unit_test(test_uprobe__a_slice_lasts_as_long_as_its_call),
        cmocka_unit_test(test_uprobe__a_call_left_by_longjmp_has_no_end),
        cmocka_unit_test(test_uprobe__functions_that_jump_to_each_other_both_return),
        cmocka_unit_test(test_uprobe__what_a_full_ring_loses_is_counted_to_the_last_call),
        cmocka_unit_test(test_uprobe__a_stack_deeper_than_what_is_looked_at_is_cut_and_counted),
        cmocka_unit_test(test_uprobe__a_preset_finds_what_the_program_loads_later),
        cmocka_unit_test(test_uprobe__calls_of_other_programs_are_counted_and_not_kept),
        cmocka_unit_test(test_uprobe__without_the_right_the_message_says_what_to_do_and_the_program_runs),
        cmocka_unit_test(test_uprobe__a_file_that_cannot_be_written_is_an_error_before_the_program_runs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
