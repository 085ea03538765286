/* program_support.h - runs a program with a tool in it, and finds what the tool wrote */
#ifndef HD_TESTS_CAPTURE_PROGRAM_SUPPORT_H
#define HD_TESTS_CAPTURE_PROGRAM_SUPPORT_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/session_support.h"
#include "patience.h"

/* A program that runs. */
typedef struct run_child {
    pid_t pid;
    int to, from; /* its standard input and output */
} run_child;

static inline void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) continue;
}

/* argv ends with NULL; options NULL: none. The tool writes into test_folder. */
static inline run_child start_program(const char *tool, const char *options, const char *const *argv)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        if (tool) setenv("NVTX_INJECTION64_PATH", tool, 1);
        if (tool) setenv("EXPECT_TOOL", "1", 1);
        setenv("HEDDLE_CAPTURE_DIR", test_folder, 1);
        if (options) setenv("HEDDLE_CAPTURE_OPTIONS", options, 1);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    return (run_child){pid, in[1], out[0]};
}

static inline void tell(const run_child *child, char c)
{
    assert_int_equal(write(child->to, &c, 1), 1);
}

/* The next line of its output, without the end. */
static inline void expect_line(const run_child *child, const char *expected)
{
    char line[128];
    size_t size = 0;
    while (size < sizeof line - 1 && read(child->from, line + size, 1) == 1 && line[size] != '\n') size++;
    line[size] = 0;
    assert_string_equal(line, expected);
}

/* The status of waitpid. */
static inline int end_program(run_child *child)
{
    int status;
    if (child->to >= 0) close(child->to);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->from);
    return status;
}

static inline int run_program(const char *tool, const char *options, const char *const *argv)
{
    run_child child = start_program(tool, options, argv);
    return end_program(&child);
}

static inline int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Files in test_folder, in the order of their names. */
static inline int list_files(char names[][128], int room)
{
    int count = 0;
    DIR *folder = opendir(test_folder);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        assert_true(count < room);
        snprintf(names[count++], 128, "%.40s/%.80s", test_folder, entry->d_name);
    }
    closedir(folder);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

/* Reads the only capture there is and deletes it. */
static inline hd_trace *take_capture(void)
{
    char names[8][128];
    int count = list_files(names, 8);
    assert_int_equal(count, 1);
    hd_trace *trace = read_capture(names[0]);
    unlink(names[0]);
    return trace;
}

/* ---- what is in a trace ---- */

/* The `skip`th event of that name after the first; false: there is none. */
static inline bool find_event(hd_event *out, const hd_trace *trace, hd_kind kind, const char *name, int skip)
{
    uint64_t count = hd_trace_row_count(trace, kind);
    *out = (hd_event){0};
    for (uint64_t i = 0; i < count; i++) {
        *out = row_at(trace, kind, i);
        if (text_is(trace, out->name, name) && skip-- == 0) return true;
    }
    return false;
}

static inline int count_named(const hd_trace *trace, hd_kind kind, const char *name)
{
    hd_event event;
    int count = 0;
    while (find_event(&event, trace, kind, name, count)) count++;
    return count;
}

/* Until when to wait for what must come. */
static inline int64_t patience_end(void)
{
    return hd_session_now() + (int64_t)(hd_test_patience(600) * 1e9);
}

/* Waits until the file of a program that still runs shows an event of that name; or, of kind HD_KIND_COUNT, a note. */
static inline void wait_for_event(hd_kind kind, const char *name)
{
    char names[8][128];
    int64_t limit_ns = patience_end();
    for (uint64_t count = 0; count == 0; sleep_ms(10)) {
        if (hd_session_now() > limit_ns) fail_msg("%s never reached the file", name);
        assert_int_equal(list_files(names, 8), 1);
        hd_trace *trace = read_capture(names[0]);
        count = kind == HD_KIND_COUNT ? ledger_count(trace, name) : (uint64_t)count_named(trace, kind, name);
        hd_trace_free(trace);
    }
}

static inline void wait_for_note(const char *code)
{
    wait_for_event(HD_KIND_COUNT, code);
}

static inline bool arg_is_text(const hd_trace *trace, const hd_event *event, const char *key, const char *text)
{
    hd_value value;
    uint32_t id = hd_trace_find_string(trace, key, strlen(key));
    return hd_event_arg(&value, trace, event, id) && text_is(trace, (uint32_t)value.bits, text);
}

static inline const char *track_name(const hd_trace *trace, const hd_event *event)
{
    static char name[128];
    hd_string s = hd_trace_string(trace, hd_trace_track_at(trace, event->track)->name);
    snprintf(name, sizeof name, "%.*s", (int)s.size, s.data);
    return name;
}

#endif
