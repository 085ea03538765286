/* test_session_tracer.c - what a tracer says comes back: tracks, arguments, stacks, calls, notes, metadata */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "capture/session_support.h"
#include "heddle/stacks.h"
#include "patience.h"
#include "quiet_fork.h"
#include "under_tsan.h"

enum { CODE = 0x400000, BIAS = 0x3f0000 };

/* A kernel's row: stream 7 of GPU 1, with its launch by this thread. */
static void emit_launch(hd_session *s, uint32_t correlation, int64_t at)
{
    const hd_session_track_info stream = {.kind = HD_SESSION_TRACK_STREAM, .device = 1, .number = 7};
    const hd_session_track_info thread = {.kind = HD_SESSION_TRACK_THREAD, .number = (uint64_t)getpid()};
    const hd_session_arg args[] = {{"grid", HD_SESSION_JSON, .text = "[4, 1, 1]"},
                                   {"registers per thread", HD_SESSION_INT, .integer = 32},
                                   {"est. achieved occupancy %", HD_SESSION_DOUBLE, .number = 12.5},
                                   {"cache \"config\"", HD_SESSION_TEXT, .text = "prefer \"none\""}};
    hd_session_record kernel = {.kind = HD_SESSION_SLICE,
                                .track = hd_session_track(s, &stream),
                                .time_ns = at + 500,
                                .value = 250,
                                .name = hd_session_intern(s, "void add<float>()"),
                                .category = hd_session_intern(s, "kernel"),
                                .args = hd_session_args(s, args, 4),
                                .correlation = correlation};
    hd_session_record launch = {.kind = HD_SESSION_SLICE,
                                .track = hd_session_track(s, &thread),
                                .time_ns = at,
                                .value = 100,
                                .name = hd_session_intern(s, "cudaLaunchKernel"),
                                .category = hd_session_intern(s, "cuda_runtime"),
                                .correlation = correlation};
    hd_session_emit(s, &kernel);
    hd_session_emit(s, &launch);
}

static void emit_call(hd_session *s, uint32_t correlation)
{
    const uint64_t frames[] = {CODE + 0x10, HD_SESSION_FRAME(hd_session_intern(s, "train.py(12): step")), CODE + 0x999};
    hd_session_record call = {
        .kind = HD_SESSION_CALL, .correlation = correlation, .value = 4711, .stack = hd_session_stack(s, frames, 3)};
    hd_session_emit(s, &call);
}

static void add_module(hd_session *s)
{
    const uint8_t id[] = {0xde, 0xad, 0xbe, 0xef};
    const hd_session_module_info module = {.start = CODE,
                                           .end = CODE + 0x1000,
                                           .offset = 0x10000,
                                           .bias = BIAS,
                                           .path = "/opt/a \"b\"/libwork.so",
                                           .build_id = id,
                                           .build_id_bytes = 4};
    hd_session_module(s, &module);
}

/* "inner;outer" of the stack of an event. */
static void assert_stack(const hd_trace *trace, const hd_event *event, const char *expected)
{
    hd_trace_stacks *stacks;
    char text[256] = "";
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    const hd_stacks *tree = hd_trace_stacks_tree(stacks);
    for (uint32_t node = hd_trace_stacks_of(stacks, event); node != HD_STACK_NONE;) {
        hd_frame frame = hd_stacks_at(tree, node);
        hd_string name = hd_stacks_text(tree, frame.name);
        sprintf(text + strlen(text), "%s%.*s", *text ? ";" : "", (int)name.size, name.data);
        node = frame.caller;
    }
    assert_string_equal(text, expected);
    hd_trace_stacks_free(stacks);
}

static void test_tracer__a_launch_and_its_kernel_come_back_joined(void **state)
{
    char path[128];
    (void)state;
    hd_session *s = start_session(file_named(path, "launch.hdcap"), NULL);
    emit_launch(s, 5, 1000000);
    emit_call(s, 5); /* said behind the launch */
    add_module(s);   /* and the module behind the stack */
    assert_int_equal(hd_session_stop(NULL, s, NULL), HD_OK);
    hd_session_free(s);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_event_count(trace), 2);
    hd_event kernel = row_at(trace, HD_KIND_SLICE, 0), launch = row_at(trace, HD_KIND_SLICE, 1);
    const hd_track *stream = hd_trace_track_at(trace, kernel.track), *thread = hd_trace_track_at(trace, launch.track);
    assert_int_equal(stream->kind, HD_TRACK_STREAM);
    assert_int_equal(stream->device, 1);
    assert_int_equal(stream->stream, 7);
    assert_true(text_is(trace, stream->name, "stream 7"));
    assert_true(text_is(trace, hd_trace_track_at(trace, stream->parent)->name, "GPU 1"));
    char pid[16];
    sprintf(pid, "%d", (int)getpid());
    assert_true(text_is(trace, thread->tid.text, pid) && text_is(trace, thread->pid.text, pid));
    assert_int_equal(kernel.start_ns, 1000500);
    assert_int_equal(kernel.duration_ns, 250);
    assert_int_equal(arg_of(trace, &kernel, "correlation"), 5);
    assert_int_equal(arg_of(trace, &kernel, "External id"), 4711);
    assert_int_equal(arg_of(trace, &kernel, "registers per thread"), 32);
    hd_value value;
    assert_true(hd_event_arg(&value, trace, &kernel, hd_trace_find_string(trace, "grid", 4)));
    assert_true(value.type == HD_ARG_JSON && text_is(trace, (uint32_t)value.bits, "[4, 1, 1]"));
    assert_true(hd_event_arg(&value, trace, &kernel, hd_trace_find_string(trace, "cache \"config\"", 14)));
    assert_true(value.type == HD_ARG_STRING && text_is(trace, (uint32_t)value.bits, "prefer \"none\""));
    assert_stack(trace, &launch, "libwork.so+0x10010;train.py(12): step;libwork.so+0x10999");
    assert_stack(trace, &kernel, ""); /* it is found by its launch */
    hd_string modules = hd_trace_metadata_find(trace, "modules");
    static const char expected[] =
        "[{\"name\": \"libwork.so\", \"path\": \"/opt/a \\\"b\\\"/libwork.so\", \"buildId\": "
        "\"deadbeef\", \"start\": \"0x400000\", \"end\": \"0x401000\", \"offset\": "
        "\"0x10000\", \"bias\": \"0x3f0000\"}]";
    assert_int_equal(modules.size, sizeof expected - 1);
    assert_memory_equal(modules.data, expected, modules.size);
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__kernels_are_demangled_and_nothing_else(void **state)
{
    static const char *const names[] = {"_Z6matmulPKfS0_Pfi", "_Z", "_Znot mangled", "ampere_sgemm_128x64_tn"};
    static const char *const shown[] = {"matmul(float const*, float const*, float*, int)", "_Z", "_Znot mangled",
                                        "ampere_sgemm_128x64_tn"};
    char path[128];
    (void)state;
    hd_session *s = start_session(file_named(path, "kernels.hdcap"), NULL);
    uint32_t kernel = hd_session_intern(s, "kernel"), other = hd_session_intern(s, "cpu_op");
    for (int i = 0; i < 8; i++)
        hd_session_slice(s, hd_session_intern(s, names[i % 4]), i < 4 ? kernel : other, 1000 + i, 1);
    assert_int_equal(hd_session_stop(NULL, s, NULL), HD_OK);
    hd_session_free(s);
    hd_trace *trace = read_capture(path);
    for (uint32_t i = 0; i < 8; i++) {
        hd_event event = row_at(trace, HD_KIND_SLICE, i);
        assert_true(text_is(trace, event.name, i < 4 ? shown[i % 4] : names[i % 4]));
    }
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__graph_nodes_have_the_stack_that_made_them(void **state)
{
    char path[128];
    (void)state;
    hd_session *s = start_session(file_named(path, "graph.hdcap"), NULL);
    const hd_session_track_info stream = {.kind = HD_SESSION_TRACK_STREAM, .device = 0, .number = 13, .name = "copies"};
    const uint64_t frames[] = {0x1234};
    uint32_t stack = hd_session_stack(s, frames, 1), track = hd_session_track(s, &stream);
    hd_session_record copy = {.kind = HD_SESSION_SLICE, .track = track, .bytes = 4096, .node = 99, .correlation = 8};
    hd_session_record node = {.kind = HD_SESSION_NODE, .node = 99, .stack = stack};
    hd_session_record sample = {.kind = HD_SESSION_SAMPLE, .stack = stack, .value = 3, .time_ns = 77};
    hd_session_emit(s, &copy);
    hd_session_emit(s, &node);
    hd_session_emit(s, &sample);
    hd_session_symbol(s, 0x1200, 0x100, "py::build:/home/graph.py");
    hd_session_stop(NULL, s, NULL);
    hd_session_free(s);
    hd_trace *trace = read_capture(path);
    hd_event e = row_at(trace, HD_KIND_SLICE, 0);
    assert_int_equal(arg_of(trace, &e, "bytes"), 4096);
    assert_int_equal(arg_of(trace, &e, "graph node id"), 99);
    assert_stack(trace, &e, "py::build:/home/graph.py");
    assert_true(text_is(trace, hd_trace_track_at(trace, e.track)->name, "copies"));
    e = row_at(trace, HD_KIND_SAMPLE, 0);
    assert_int_equal(e.start_ns, 77);
    assert_int_equal(arg_of(trace, &e, "weight"), 3);
    assert_stack(trace, &e, "py::build:/home/graph.py");
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__what_is_over_the_limits_is_counted(void **state)
{
    enum { MOST = HD_SESSION_METADATA_BYTES };
    char path[128], *json = malloc(MOST + 2);
    hd_session_arg args[HD_SESSION_ARGS_MAX + 1];
    (void)state;
    assert_non_null(json);
    memset(json, 'x', MOST + 1);
    json[0] = json[MOST] = '"';
    json[MOST + 1] = 0;
    for (int i = 0; i <= HD_SESSION_ARGS_MAX; i++) args[i] = (hd_session_arg){"key", HD_SESSION_INT, .integer = i};
    hd_session *s = start_session(file_named(path, "over.hdcap"), NULL);
    for (int i = 0; i < 3; i++) assert_int_equal(hd_session_args(s, args, HD_SESSION_ARGS_MAX + 1), 0);
    hd_session_metadata(s, "long", json);
    json[MOST - 1] = '"';
    json[MOST] = 0;
    hd_session_metadata(s, "fits", json);
    hd_session_stop(NULL, s, NULL);
    hd_session_free(s);
    free(json);
    hd_trace *trace = read_capture(path);
    assert_int_equal(ledger_count(trace, "session.args-over-limit"), 3);
    assert_int_equal(ledger_count(trace, "session.metadata-over-limit"), 1);
    assert_int_equal(hd_trace_ledger_count(trace), 2);
    assert_int_equal(hd_trace_metadata_find(trace, "fits").size, MOST);
    assert_int_equal(hd_trace_metadata_find(trace, "long").size, 0);
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__notes_and_metadata_are_those_that_were_said_last(void **state)
{
    char path[128];
    (void)state;
    hd_session *s = start_session(file_named(path, "facts.hdcap"), NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        char json[64];
        sprintf(json, "{\"callbacks\": %d}", (int)i);
        hd_session_note(s, "cuda.dropped", HD_SESSION_LOSS, i);
        hd_session_metadata(s, "heddle.capture", json);
        if (i == 500) hd_session_flush(s, NULL);
    }
    hd_session_note(s, "cuda.nothing", HD_SESSION_NOTE, 0);
    hd_session_metadata(s, "broken", "{\"a\": ");
    hd_session_stop(NULL, s, NULL);
    hd_session_free(s);
    hd_trace *trace = read_capture(path);
    hd_string text = hd_trace_metadata_find(trace, "heddle.capture");
    assert_int_equal(text.size, 18);
    assert_memory_equal(text.data, "{\"callbacks\": 999}", 18);
    assert_int_equal(ledger_count(trace, "cuda.dropped"), 999);
    assert_int_equal(ledger_count(trace, "capture.chunk-damaged"), 1); /* JSON that is none goes no further */
    assert_int_equal(hd_trace_ledger_count(trace), 2);
    assert_int_equal(hd_trace_metadata_find(trace, "broken").size, 0);
    hd_trace_free(trace);
    unlink(path);
}

enum { THREADS = 8, STACKS = 2000 };

static void *make_stacks(void *user)
{
    hd_session *s = user;
    uint32_t *ids = calloc(STACKS, sizeof *ids);
    for (uint64_t i = 0; i < STACKS; i++) {
        const uint64_t frames[] = {0x1000 + i, 0x100 + i % 7, 0x10};
        ids[i] = hd_session_stack(s, frames, 3);
        hd_session_record sample = {.kind = HD_SESSION_SAMPLE, .stack = ids[i], .time_ns = (int64_t)i};
        hd_session_emit(s, &sample);
    }
    return ids;
}

static void test_tracer__equal_stacks_of_many_threads_are_one(void **state)
{
    char path[128];
    pthread_t threads[THREADS];
    uint32_t *ids[THREADS];
    (void)state;
    const hd_session_options options = {.policy = HD_RING_BLOCK, .flush_ms = 1};
    hd_session *s = start_session(file_named(path, "many.hdcap"), &options);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, make_stacks, s);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], (void **)&ids[i]);
    hd_session_stop(NULL, s, NULL);
    hd_session_free(s);
    for (int i = 1; i < THREADS; i++) assert_memory_equal(ids[i], ids[0], STACKS * sizeof **ids);
    for (int i = 0; i < THREADS; i++) free(ids[i]);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_event_count(trace), THREADS * STACKS);
    hd_event e = row_at(trace, HD_KIND_SAMPLE, 5);
    char expected[64];
    sprintf(expected, "0x%x;0x%x;0x10", (unsigned)(0x1000 + e.start_ns), (unsigned)(0x100 + e.start_ns % 7));
    assert_stack(trace, &e, expected);
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__a_forked_child_writes_the_lists_again_and_its_own_facts(void **state)
{
    char path[128], name[64], child_path[128];
    (void)state;
    SKIP_UNDER_TSAN();
    const hd_session_options options = {.fork = HD_SESSION_FORK_FILE};
    hd_session *s = start_session(file_named(path, "fork.hdcap"), &options);
    emit_call(s, 9);
    hd_session_metadata(s, "who", "\"parent\"");
    hd_session_note(s, "test.parent", HD_SESSION_NOTE, 3);
    hd_session_flush(s, NULL);
    pid_t child = hd_test_fork();
    if (child == 0) {
        hd_session_metadata(s, "child", "\"alone\"");
        emit_call(s, 9);
        emit_launch(s, 9, 5000);
        add_module(s);
        hd_session_stop(NULL, s, NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    hd_session_stop(NULL, s, NULL);
    hd_session_free(s);
    sprintf(name, "fork.%d.hdcap", (int)child);
    hd_trace *trace = read_capture(file_named(child_path, name));
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_event launch = row_at(trace, HD_KIND_SLICE, 1);
    assert_stack(trace, &launch, "libwork.so+0x10010;train.py(12): step;libwork.so+0x10999");
    assert_int_equal(hd_trace_metadata_find(trace, "who").size, 0); /* nor the note: the ledger is empty */
    assert_int_equal(hd_trace_metadata_find(trace, "child").size, 7);
    hd_trace_free(trace);
    unlink(child_path);
    unlink(path);
}

/* ---- a program whose threads have all ended ---- */

static void at_exit(void)
{
    _exit(42);
}

static useconds_t pause_us = 5000;

static void *work_a_while(void *s)
{
    for (int i = 0; i < 20; i++) {
        hd_session_instant(s, 0, 0);
        usleep(pause_us);
    }
    return NULL;
}

/* In a captured program: goes on in a child of it, and ends as that does. The child's capture gets the path. */
static void go_on_in_child(const char *path)
{
    char child_path[160];
    int status;
    pid_t child = hd_test_fork();
    if (child == 0) return;
    waitpid(child, &status, 0);
    sprintf(child_path, "%.*s.%d.hdcap", (int)(strlen(path) - strlen(".hdcap")), path, (int)child);
    rename(child_path, path);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* A child whose main thread ends while another works. */
static pid_t start_child(const char *path, bool exit_when_alone, bool forked)
{
    pthread_t worker;
    pid_t child = fork();
    if (child) return child;
    const hd_session_options options = {
        .flush_ms = 5, .exit_when_alone = exit_when_alone, .fork = HD_SESSION_FORK_FILE};
    hd_session *s = start_session(path, &options);
    if (forked) go_on_in_child(path);
    if (forked) pause_us = 50000; /* longer than its session's thread takes until it counts the threads */
    atexit(at_exit);
    pthread_create(&worker, NULL, work_a_while, s);
    pthread_exit(NULL); /* the worker goes on */
}

static void expect_end_when_alone(bool forked)
{
    char path[128], other_path[128];
    int status = 0;
    pid_t other = start_child(file_named(other_path, "kept.hdcap"), false, false);
    pid_t child = start_child(file_named(path, "ended.hdcap"), true, forked);
    for (int i = 0; i < hd_test_patience(300) * 100 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    kill(child, SIGKILL);                               /* if it still runs */
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0); /* a library ends nobody by itself */
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    unlink(other_path);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 20);
    hd_trace_free(trace);
    unlink(path);
}

static void test_tracer__a_program_without_threads_of_its_own_ends_by_exit_if_asked(void **state)
{
    (void)state;
    SKIP_UNDER_TSAN();
    expect_end_when_alone(false);
    expect_end_when_alone(true); /* a child counts its own threads, and none of its parent's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracer__a_launch_and_its_kernel_come_back_joined),
        cmocka_unit_test(test_tracer__kernels_are_demangled_and_nothing_else),
        cmocka_unit_test(test_tracer__graph_nodes_have_the_stack_that_made_them),
        cmocka_unit_test(test_tracer__what_is_over_the_limits_is_counted),
        cmocka_unit_test(test_tracer__notes_and_metadata_are_those_that_were_said_last),
        cmocka_unit_test(test_tracer__equal_stacks_of_many_threads_are_one),
        cmocka_unit_test(test_tracer__a_program_without_threads_of_its_own_ends_by_exit_if_asked),
        cmocka_unit_test(test_tracer__a_forked_child_writes_the_lists_again_and_its_own_facts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
