/* test_session.c - what is emitted comes back; names, threads, fork, signals, closed descriptors, failing disks */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/session_support.h"
#include "patience.h"
#include "quiet_fork.h"
#include "under_tsan.h"

#define KEPT_NS INT64_C(400000000)
#define TICK_NS INT64_C(5000000)

static void test_session__all_kinds_come_back(void **state)
{
    char path[128];
    hd_session_stats stats;
    (void)state;
    hd_session *session = start_session(file_named(path, "all.hdcap"), NULL);
    uint32_t name = hd_session_intern(session, "step"), category = hd_session_intern(session, "cat");
    assert_int_equal(hd_session_intern(session, "step"), name);
    int64_t before = hd_session_now();
    hd_session_name_thread(session, "loader");
    hd_session_begin(session, name, category);
    hd_session_slice(session, name, 0, before, 1000);
    hd_session_instant(session, hd_session_intern(session, "now"), 0);
    hd_session_counter(session, hd_session_intern(session, "queue"), 12.25);
    hd_session_counter(session, hd_session_intern(session, "queue"), -3);
    hd_session_flow_start(session, name, category, 77);
    hd_session_flow_step(session, name, category, 77);
    hd_session_flow_end(session, name, category, UINT64_MAX);
    hd_session_allocate(session, 0, 0x7f0000001000, 4096, 3);
    hd_session_release(session, category, UINT64_MAX, 4096, HD_SESSION_HOST);
    hd_session_end(session);
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_OK);
    hd_session_free(session);
    assert_adds_up(&stats);
    assert_int_equal(stats.emitted, 11);
    assert_int_equal(stats.written, 11);
    assert_int_equal(stats.threads, 1);
    assert_int_equal(stats.names, 4);

    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_event_count(trace), 11);
    assert_string_equal(hd_trace_facts_of(trace)->format, "capture");
    hd_event e = row_at(trace, HD_KIND_SLICE, 0);
    assert_true(text_is(trace, e.name, "step") && text_is(trace, e.category, "cat"));
    assert_true(e.start_ns >= before && e.duration_ns > 0 && e.partner == 0);
    const hd_track *track = hd_trace_track_at(trace, e.track);
    assert_true(text_is(trace, track->name, "loader"));
    e = row_at(trace, HD_KIND_SLICE, 1);
    assert_int_equal(e.start_ns, before);
    assert_int_equal(e.duration_ns, 1000);
    assert_int_equal(e.category, HD_STRING_NONE);
    e = row_at(trace, HD_KIND_COUNTER, 0);
    hd_value value;
    assert_true(hd_event_arg(&value, trace, &e, hd_trace_find_string(trace, "value", 5)));
    assert_int_equal(value.type, HD_ARG_DECIMAL);
    assert_int_equal(value.bits, hd_decimal_pack(1225, 2));
    e = row_at(trace, HD_KIND_COUNTER, 1);
    assert_int_equal(arg_of(trace, &e, "value"), -3);
    e = row_at(trace, HD_KIND_FLOW, 0);
    assert_true(e.phase == 's' && e.id == 77 && e.flags & HD_FLAG_BIND_ENCLOSING);
    e = row_at(trace, HD_KIND_INSTANT, 1);
    assert_true(text_is(trace, e.name, "[memory]"));
    assert_int_equal(arg_of(trace, &e, "Bytes"), 4096);
    assert_int_equal(arg_of(trace, &e, "Addr"), 0x7f0000001000);
    assert_int_equal(arg_of(trace, &e, "Device Id"), 3);
    e = row_at(trace, HD_KIND_INSTANT, 2);
    assert_int_equal(arg_of(trace, &e, "Bytes"), -4096);
    assert_int_equal(arg_of(trace, &e, "Device Id"), -1);
    hd_trace_free(trace);
    unlink(path);
}

static void test_session__null_is_a_session_that_does_nothing(void **state)
{
    hd_session_stats stats;
    (void)state;
    assert_int_equal(hd_session_intern(NULL, "x"), 0);
    hd_session_begin(NULL, 1, 0);
    hd_session_end(NULL);
    hd_session_slice(NULL, 1, 0, 0, 0);
    hd_session_counter(NULL, 1, 1);
    hd_session_name_thread(NULL, "x");
    assert_int_equal(hd_session_flush(NULL, NULL), HD_OK);
    assert_int_equal(hd_session_stop(&stats, NULL, NULL), HD_OK);
    assert_int_equal(stats.emitted, 0);
    hd_session_free(NULL);
}

static void test_session__options_and_places_that_cannot_be_are_errors(void **state)
{
    const hd_session_options bad[] = {
        {.ring_events = 3}, {.ring_events = 1u << 30}, {.policy = 9}, {.fork = (hd_session_fork)7}};
    char path[128];
    hd_session *session = (hd_session *)&path;
    hd_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hd_session_start(&session, file_named(path, "x.hdcap"), &bad[i], NULL), HD_ERR_ARGUMENT);
        assert_null(session);
    }
    assert_int_equal(hd_session_start(&session, file_named(path, "no/such/folder.hdcap"), NULL, &err), HD_ERR_IO);
    assert_null(session);
    assert_non_null(strstr(err.message, "No such file"));
    /* /proc is read-only even for root. */
    assert_int_equal(hd_session_start(&session, "/proc/x.hdcap", NULL, NULL), HD_ERR_IO);
    assert_int_equal(hd_session_start(&session, "/dev/full", NULL, NULL), HD_ERR_IO);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void test_session__a_fifth_session_is_refused_and_leaves_no_file(void **state)
{
    hd_session *sessions[HD_SESSION_LIMIT], *more;
    char path[128], name[16];
    (void)state;
    for (int i = 0; i < HD_SESSION_LIMIT; i++) {
        sprintf(name, "%d.hdcap", i);
        sessions[i] = start_session(file_named(path, name), NULL);
        hd_session_instant(sessions[i], hd_session_intern(sessions[i], name), 0);
    }
    assert_int_equal(hd_session_start(&more, file_named(path, "more.hdcap"), NULL, NULL), HD_ERR_LIMIT);
    assert_int_equal(access(path, F_OK), -1);
    for (int i = 0; i < HD_SESSION_LIMIT; i++) {
        hd_session_free(sessions[i]);
        sprintf(name, "%d.hdcap", i);
        hd_trace *trace = read_capture(file_named(path, name));
        hd_event e = row_at(trace, HD_KIND_INSTANT, 0);
        assert_true(text_is(trace, e.name, name));
        assert_int_equal(hd_trace_event_count(trace), 1);
        hd_trace_free(trace);
        unlink(path);
    }
}

static void test_session__flush_puts_everything_into_the_file_while_it_runs(void **state)
{
    char path[128];
    (void)state;
    hd_session *session = start_session(file_named(path, "flush.hdcap"), &(hd_session_options){.flush_ms = 60000});
    for (int i = 0; i < 1000; i++) hd_session_slice(session, 0, 0, i, 1);
    assert_int_equal(hd_session_flush(session, NULL), HD_OK);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 1000);
    assert_int_equal(ledger_count(trace, "capture.not-finished"), 1);
    hd_trace_free(trace);
    hd_session_free(session);
    unlink(path);
}

/* It holds paths, arguments and the names of whatever a program does. */
static void test_session__the_file_is_its_owners_alone(void **state)
{
    char path[128];
    struct stat info;
    (void)state;
    mode_t before = umask(0);
    hd_session *session = start_session(file_named(path, "own.hdcap"), NULL);
    umask(before);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    hd_session_free(session);
    unlink(path);
}

/* Somebody else may put a link of that name into a folder that both may write. */
static void test_session__a_link_in_its_place_is_not_followed(void **state)
{
    char path[128], part[128], other[128], text[8] = "";
    struct stat info;
    (void)state;
    int fd = open(file_named(other, "other"), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_int_equal(write(fd, "keep me", 7), 7);
    close(fd);
    assert_int_equal(symlink(other, file_named(part, "link.hdcap.part")), 0);
    hd_session_free(start_session(file_named(path, "link.hdcap"), NULL));
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    fd = open(other, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 7);
    assert_memory_equal(text, "keep me", 7);
    close(fd);
    hd_trace_free(read_capture(path));
    unlink(path);
    unlink(other);
    /* What a killed program left is replaced. */
    fd = open(part, O_CREAT | O_WRONLY | O_EXCL, 0600);
    assert_int_equal(write(fd, "old", 3), 3);
    close(fd);
    hd_session_free(start_session(path, NULL));
    hd_trace_free(read_capture(path));
    unlink(path);
}

static void test_session__events_after_stop_are_ignored(void **state)
{
    char path[128];
    hd_session_stats stats, later;
    (void)state;
    hd_session *session = start_session(file_named(path, "stop.hdcap"), NULL);
    hd_session_instant(session, 0, 0);
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_OK);
    for (int i = 0; i < 100; i++) hd_session_instant(session, 0, 0);
    hd_session_statistics(&later, session);
    assert_int_equal(later.emitted, 1);
    assert_int_equal(later.bytes, stats.bytes);
    hd_session_free(session);
    unlink(path);
}

/* ---- threads ---- */

static void *emit_one(void *session)
{
    hd_session_instant(session, 0, 0);
    return NULL;
}

static void test_session__short_threads_use_lanes_again(void **state)
{
    enum { THREADS = 300 };
    char path[128];
    hd_session_stats stats;
    (void)state;
    hd_session *session = start_session(file_named(path, "short.hdcap"), &(hd_session_options){.flush_ms = 1});
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, emit_one, session), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_OK);
    assert_int_equal(stats.written, THREADS);
    assert_int_equal(stats.threads, THREADS);
    assert_adds_up(&stats);
    hd_session_free(session);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), THREADS);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    unlink(path);
}

/* ---- signals ---- */

static hd_session *signal_session;
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
    hd_session_instant(signal_session, 0, 0);
}

static void test_session__events_of_signal_handlers_are_taken_or_counted(void **state)
{
    char path[128];
    hd_session_stats stats;
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    uint64_t emitted = 0;
    (void)state;
    signals = 0;
    signal_session = start_session(file_named(path, "signal.hdcap"), &(hd_session_options){.policy = HD_RING_BLOCK});
    sigaction(SIGUSR1, &action, &before);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    while (signals < 200 && emitted < 50000000) {
        hd_session_slice(signal_session, 0, 0, 1, 1);
        emitted++;
    }
    timer_delete(timer);
    signal(SIGUSR1, SIG_IGN);
    assert_int_equal(hd_session_stop(&stats, signal_session, NULL), HD_OK);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(stats.emitted, emitted + (uint64_t)signals);
    assert_int_equal(stats.written + stats.nested, stats.emitted);
    hd_session_free(signal_session);
    unlink(path);
}

/* ---- fork and exec ---- */

static void fork_with(hd_session_fork policy, char *out_child)
{
    char path[128];
    hd_session *session = start_session(file_named(path, "fork.hdcap"), &(hd_session_options){.fork = policy});
    uint32_t name = hd_session_intern(session, "before");
    for (int i = 0; i < 10; i++) hd_session_instant(session, name, 0);
    pid_t pid = hd_test_fork();
    if (pid == 0) {
        hd_session_stats stats;
        hd_session_statistics(&stats, session);
        if (stats.emitted || stats.threads || stats.bytes) _exit(2); /* the parent's */
        uint32_t own = hd_session_intern(session, "child");
        for (int i = 0; i < 7; i++) hd_session_instant(session, i ? name : own, 0);
        hd_status status = hd_session_stop(&stats, session, NULL);
        hd_session_free(session);
        _exit(status == HD_OK && stats.written == (policy == HD_SESSION_FORK_FILE ? 7 : 0) &&
                      stats.emitted == stats.written
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 5; i++) hd_session_instant(session, name, 0);
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
    hd_session_free(session);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 15);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    unlink(path);
    sprintf(out_child, "%s/fork.%d.hdcap", test_folder, (int)pid);
}

static void test_session__a_child_of_fork_is_silent(void **state)
{
    char child[128];
    (void)state;
    fork_with(HD_SESSION_FORK_OFF, child);
    assert_int_equal(access(child, F_OK), -1);
}

static void test_session__a_child_of_fork_writes_a_file_of_its_own(void **state)
{
    char child[128];
    (void)state;
    SKIP_UNDER_TSAN();
    fork_with(HD_SESSION_FORK_FILE, child);
    hd_trace *trace = read_capture(child);
    assert_int_equal(hd_trace_event_count(trace), 7);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_true(text_is(trace, row_at(trace, HD_KIND_INSTANT, 0).name, "child"));
    assert_true(text_is(trace, row_at(trace, HD_KIND_INSTANT, 6).name, "before"));
    hd_trace_free(trace);
    unlink(child);
}

static atomic_bool is_emitting;

static void *emit_for_long(void *user)
{
    hd_session *session = user;
    atomic_store(&is_emitting, true);
    for (int i = 0; i < 60000; i++) hd_session_slice(session, hd_session_intern(session, "busy"), 0, i, 1);
    return NULL;
}

static void fork_and_emit(hd_session *session)
{
    char name[64], path[128];
    int status;
    pid_t pid = hd_test_fork();
    if (pid == 0) {
        alarm((unsigned)hd_test_patience(300));
        hd_session_instant(session, hd_session_intern(session, "here"), 0);
        _exit(hd_session_stop(NULL, session, NULL) != HD_OK);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    sprintf(name, "busy.%d.hdcap", (int)pid);
    hd_trace *trace = read_capture(file_named(path, name));
    assert_int_equal(hd_trace_event_count(trace), 1);
    hd_trace_free(trace);
    unlink(path);
}

/* Above all while the session's thread makes room for its first chunks. */
static void test_session__children_of_fork_are_whole_whatever_others_do(void **state)
{
    char path[128];
    pthread_t thread;
    (void)state;
    SKIP_UNDER_TSAN();
    for (int turn = 0; turn < 8; turn++) {
        hd_session *session =
            start_session(file_named(path, "busy.hdcap"), &(hd_session_options){.fork = HD_SESSION_FORK_FILE});
        hd_session_flush(session, NULL);
        atomic_store(&is_emitting, false);
        pthread_create(&thread, NULL, emit_for_long, session);
        while (!atomic_load(&is_emitting)) usleep(100);
        for (int i = 0; i < 4; i++) fork_and_emit(session);
        pthread_join(thread, NULL);
        hd_session_free(session);
        unlink(path);
    }
}

/* ---- descriptors ---- */

/* The descriptor of a file of ours, -1: none. */
static int descriptor_of(const char *path)
{
    char link[64], target[256];
    for (int fd = 3; fd < 1024; fd++) {
        sprintf(link, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, target, sizeof target - 1);
        if (size < 0) continue;
        target[size] = 0;
        if (strcmp(target, path) == 0) return fd;
    }
    return -1;
}

static void test_session__its_file_is_closed_by_exec_and_opened_again_when_closed(void **state)
{
    char path[128], other[128];
    struct stat info;
    (void)state;
    hd_session *session = start_session(file_named(path, "fd.hdcap"), NULL);
    int fd = descriptor_of(path);
    assert_true(fd >= 0);
    if (sysconf(_SC_OPEN_MAX) > 600) assert_true(fd >= 512); /* low numbers are the program's */
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    hd_session_instant(session, 0, 0);
    hd_session_flush(session, NULL);
    close(fd);
    /* The program's own file gets the number. */
    int own = open(file_named(other, "own"), O_WRONLY | O_CREAT, 0600);
    if (own != fd) {
        assert_int_equal(dup2(own, fd), fd);
        close(own);
    }
    hd_session_instant(session, 0, 0);
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
    hd_session_free(session);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_size, 0);
    close(fd);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 2);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    unlink(path);
    unlink(other);
}

/* ---- failing disks ---- */

static void test_session__a_full_disk_stops_nothing_and_is_counted(void **state)
{
    char path[128];
    hd_session_stats stats;
    hd_error err = {0};
    struct rlimit before, small = {0, 0}; /* no file gets longer, nor another one */
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    hd_session *session = start_session(file_named(path, "full.hdcap"), &(hd_session_options){.policy = HD_RING_BLOCK});
    for (int i = 0; i < 100; i++) hd_session_slice(session, 0, 0, i * 1000000ll, 1000);
    hd_session_flush(session, NULL);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 100; i < 100000; i++) hd_session_slice(session, 0, 0, i * 1000000ll, 1000);
    hd_status status = hd_session_stop(&stats, session, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, HD_ERR_IO);
    assert_non_null(strstr(err.message, "cannot be written"));
    assert_int_equal(stats.status, HD_ERR_IO);
    assert_int_equal(stats.emitted, 100000);
    assert_adds_up(&stats);
    assert_int_equal(stats.written, 100);
    hd_session_free(session);
    assert_int_equal(hd_session_join(path, NULL), HD_OK);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), stats.written);
    hd_trace_free(trace);
    unlink(path);
}

static void test_session__a_disk_with_room_again_is_written_again(void **state)
{
    char path[128];
    hd_session_stats stats;
    struct rlimit before, small;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    hd_session *session = start_session(file_named(path, "room.hdcap"), &(hd_session_options){.policy = HD_RING_BLOCK});
    hd_session_statistics(&stats, session);
    small = (struct rlimit){0, before.rlim_max}; /* not a byte more */
    uint32_t name = hd_session_intern(session, "late name");
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 1000; i++) hd_session_slice(session, name, 0, i * 1000, 1);
    assert_int_equal(hd_session_flush(session, NULL), HD_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 10; i++) hd_session_slice(session, name, 0, i, 1);
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_ERR_IO);
    hd_session_free(session);
    assert_int_equal(stats.lost, 1000);
    assert_int_equal(stats.written, 10);
    assert_int_equal(hd_session_join(path, NULL), HD_OK);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 10);
    assert_int_equal(ledger_count(trace, "capture.events-missing"), 1000);
    assert_true(text_is(trace, row_at(trace, HD_KIND_SLICE, 9).name, "late name"));
    hd_trace_free(trace);
    unlink(path);
}

static void test_session__beyond_the_limit_of_a_file_it_goes_on_in_others(void **state)
{
    char path[128];
    hd_session_stats stats;
    struct rlimit before, small = {4000, 0};
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    hd_session *session = start_session(file_named(path, "long.hdcap"), &(hd_session_options){.policy = HD_RING_BLOCK});
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 20000; i++) hd_session_slice(session, 0, 0, i * 1000000ll, 1000 + i % 7);
    hd_status status = hd_session_stop(&stats, session, NULL);
    hd_session_free(session);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(hd_session_join(path, NULL), HD_ERR_IO); /* the limit holds here, too */
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, HD_OK);
    assert_int_equal(stats.written, 20000);
    assert_int_equal(hd_session_join(path, NULL), HD_OK);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_event_count(trace), 20000);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    unlink(path);
}

static void check_kept(const char *path, uint64_t emitted)
{
    hd_trace *trace = read_capture(path);
    uint64_t shown = hd_trace_row_count(trace, HD_KIND_INSTANT), aged = ledger_count(trace, "capture.aged-out");
    assert_true(aged > 0 && shown > 0);
    assert_int_equal(shown + aged, emitted);
    assert_int_equal(hd_trace_ledger_count(trace), 1); /* nothing is lost */
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1);
    hd_event kept = row_at(trace, HD_KIND_SLICE, 0);
    assert_true(text_is(trace, kept.name, "kept") && text_is(trace, kept.category, "capture"));
    for (uint64_t i = 0; i < shown; i++) {
        hd_event e = row_at(trace, HD_KIND_INSTANT, i);
        assert_true(text_is(trace, e.name, "now") && e.start_ns >= kept.start_ns);
        assert_true(text_is(trace, hd_trace_track_at(trace, e.track)->name, "named once"));
    }
    assert_int_equal(kept.start_ns + kept.duration_ns, row_at(trace, HD_KIND_INSTANT, shown - 1).start_ns);
    assert_true(kept.duration_ns >= KEPT_NS - 10 * TICK_NS);
    hd_trace_free(trace);
}

/* Waits for time to pass, as this is about time: events until some must have aged out, however slow the machine. */
static void test_session__of_one_that_keeps_the_last_all_others_are_counted(void **state)
{
    char path[128], copy[128];
    hd_session_stats stats;
    uint64_t emitted = 0;
    (void)state;
    hd_session *session = start_session(file_named(path, "kept.hdcap"), &(hd_session_options){.keep_last_ns = KEPT_NS});
    uint32_t name = hd_session_intern(session, "now");
    hd_session_name_thread(session, "named once");
    for (int64_t begin = hd_session_now(); hd_session_now() - begin < 3 * KEPT_NS; emitted++) {
        hd_session_instant(session, name, 0);
        usleep(TICK_NS / 1000);
    }
    assert_int_equal(hd_session_flush(session, NULL), HD_OK);
    assert_int_equal(hd_session_snapshot(path, file_named(copy, "copy.hdcap"), NULL), HD_OK);
    check_kept(copy, emitted);
    hd_session_instant(session, name, 0);
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_OK);
    hd_session_free(session);
    assert_adds_up(&stats);
    assert_int_equal(stats.emitted, emitted + 1);
    assert_int_equal(hd_session_join(path, NULL), HD_OK);
    check_kept(path, emitted + 1);
    assert_int_equal(hd_session_join(path, NULL), HD_OK); /* there is nothing left to join */
    check_kept(path, emitted + 1);
    unlink(path);
    unlink(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session__all_kinds_come_back),
        cmocka_unit_test(test_session__null_is_a_session_that_does_nothing),
        cmocka_unit_test(test_session__options_and_places_that_cannot_be_are_errors),
        cmocka_unit_test(test_session__a_fifth_session_is_refused_and_leaves_no_file),
        cmocka_unit_test(test_session__flush_puts_everything_into_the_file_while_it_runs),
        cmocka_unit_test(test_session__the_file_is_its_owners_alone),
        cmocka_unit_test(test_session__a_link_in_its_place_is_not_followed),
        cmocka_unit_test(test_session__events_after_stop_are_ignored),
        cmocka_unit_test(test_session__short_threads_use_lanes_again),
        cmocka_unit_test(test_session__events_of_signal_handlers_are_taken_or_counted),
        cmocka_unit_test(test_session__a_child_of_fork_is_silent),
        cmocka_unit_test(test_session__a_child_of_fork_writes_a_file_of_its_own),
        cmocka_unit_test(test_session__children_of_fork_are_whole_whatever_others_do),
        cmocka_unit_test(test_session__its_file_is_closed_by_exec_and_opened_again_when_closed),
        cmocka_unit_test(test_session__beyond_the_limit_of_a_file_it_goes_on_in_others),
        cmocka_unit_test(test_session__a_full_disk_stops_nothing_and_is_counted),
        cmocka_unit_test(test_session__a_disk_with_room_again_is_written_again),
        cmocka_unit_test(test_session__of_one_that_keeps_the_last_all_others_are_counted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
