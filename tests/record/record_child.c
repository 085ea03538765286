/* record_child.c - a program that captures itself as an injected library would: test double of a CUDA program
 *
 * usage: record_child WORD... - done one after the other; without HEDDLE_CAPTURE_DIR nothing is captured
 *
 * work N      open a capture if there is none, and write N launches with their kernels, one copy, one range
 * native N    the same with stacks of addresses: of named_function, in this program
 * children N  fork N children one after the other, each with a capture of its own and one launch
 * finish      end the capture as a program should; else it has none, as after a crash
 * daemon N    leave a child in a session of its own that captures, prints "daemon PID", closes the standard streams,
 *             and ends after N ms or at SIGTERM
 * late N      the same, but it captures only then
 * closeall    close all descriptors but the first three
 * handler     print "caught N" for SIGTERM, SIGINT, SIGUSR2 and end with status 40 + N at the first two
 * caught      wait until it has
 * ready       print "ready" and flush
 * wait        for a byte from standard input
 * sleep N     milliseconds, whatever signals come
 * fill N      write N MiB of events; a full disk loses them
 * die N       kill itself with signal N
 * exit N      _exit with status N
 * env NAME    print its value
 * empty NAME  make an empty file NAME in the capture's folder
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heddle/session.h"
#include "quiet_fork.h"

static hd_session *session;
static unsigned correlation;

static void open_capture(void)
{
    char path[4096], host[64] = "host";
    const char *folder = getenv("HEDDLE_CAPTURE_DIR");
    hd_error err = {0};
    if (session || !folder) return;
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s-%d-%" PRId64 ".hdcap", folder, host, (int)getpid(), hd_session_now());
    if (hd_session_start(&session, path, NULL, &err) != HD_OK) fprintf(stderr, "record_child: %s\n", err.message);
    const char *costs = getenv("RECORD_CHILD_COSTS");
    char json[256];
    snprintf(json, sizeof json, "{\"tracer\": \"double\", %s}",
             costs ? costs : "\"callbacks\": 10, \"callbackNs\": 5000, \"helperCpuNs\": 7000");
    hd_session_metadata(session, "heddle.capture", json);
    hd_session_note(session, "double.note", HD_SESSION_NOTE, 1);
}

static void emit(uint32_t track, const char *name, const char *category, int64_t start, unsigned id, uint32_t stack)
{
    const hd_session_record record = {.kind = HD_SESSION_SLICE,
                                      .track = track,
                                      .time_ns = start,
                                      .value = 1000,
                                      .name = hd_session_intern(session, name),
                                      .category = hd_session_intern(session, category),
                                      .stack = stack,
                                      .correlation = id};
    hd_session_emit(session, &record);
}

static void work(long count)
{
    open_capture();
    const hd_session_track_info info = {.kind = HD_SESSION_TRACK_STREAM, .device = 0, .number = 7, .name = "stream 7"};
    uint32_t stream = hd_session_track(session, &info);
    uint64_t frames[2] = {HD_SESSION_FRAME(hd_session_intern(session, "launch_it")),
                          HD_SESSION_FRAME(hd_session_intern(session, "main"))};
    uint32_t stack = hd_session_stack(session, frames, 2);
    int64_t start = hd_session_now();
    emit(0, "range", "user_annotation", start, 0, 0);
    for (long i = 0; i < count; i++) {
        correlation++;
        emit(0, "cudaLaunchKernel", "cuda_runtime", start + 2000 * i, correlation, stack);
        emit(stream, "kernel<int>", "kernel", start + 2000 * i + 1000, correlation, 0);
    }
    correlation++;
    emit(0, "cudaMemcpyAsync", "cuda_runtime", start + 2000 * count, correlation, stack);
    emit(stream, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", start + 2000 * count + 1000, correlation, 0);
    hd_session_flush(session, NULL);
}

/* Where a stack of a launch could point to. */
__attribute__((noinline)) int named_function(int n);
int named_function(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n * 3;
}

/* The mapping that an address lies in, from /proc/self/maps. */
static void add_module(uintptr_t address)
{
    char line[4400], path[4096] = "";
    uint64_t start, end, offset, first = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095[^\n]", &start, &end, &offset, path) < 4)
            continue;
        if (offset == 0) first = start; /* of the file that follows */
        if (address < start || address >= end) continue;
        const hd_session_module_info info = {.start = start, .end = end, .offset = offset, .bias = first, .path = path};
        hd_session_module(session, &info);
        break;
    }
    if (maps) fclose(maps);
}

static void native(long count)
{
    open_capture();
    uint64_t frames[1] = {(uint64_t)(uintptr_t)named_function + 1};
    add_module((uintptr_t)named_function);
    uint32_t stack = hd_session_stack(session, frames, 1);
    for (long i = 0; i < count; i++) emit(0, "cudaLaunchKernel", "cuda_runtime", hd_session_now(), 0, stack);
}

static void finish(void)
{
    hd_session_stop(NULL, session, NULL);
    hd_session_free(session);
    session = NULL;
}

static void children(long count)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = hd_test_fork();
        if (pid == 0) {
            session = NULL; /* the parent's; ours is a file of our own */
            correlation = 0;
            work(1);
            finish();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static void nap(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) continue;
}

/* Returns when the daemon waits. */
static void leave_daemon(long ms, bool late)
{
    int working[2];
    char byte;
    sigset_t end;
    if (pipe(working) != 0) return;
    if (hd_test_fork() != 0) {
        close(working[1]);
        while (read(working[0], &byte, 1) < 0) continue;
        close(working[0]);
        return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    session = NULL;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    if (!late) work(2);
    printf("daemon %d\n", (int)getpid());
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++) close(fd);
    close(working[0]);
    close(working[1]);
    sigtimedwait(&end, NULL, &pause);
    if (late) work(2);
    finish();
    _exit(0);
}

static void fill(long mebibytes)
{
    open_capture();
    for (long i = 0; i < mebibytes * 300000; i++) {
        char name[32];
        if (i % 4096 == 0) {
            snprintf(name, sizeof name, "n%ld", i);
            hd_session_instant(session, hd_session_intern(session, name), 0);
        }
        hd_session_counter(session, 1, (double)i * 1.7);
        if (i % 8000 == 0) hd_session_flush(session, NULL);
    }
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = 1;
    char text[] = "caught 00\n";
    text[7] = (char)('0' + number / 10);
    text[8] = (char)('0' + number % 10);
    ssize_t n = write(1, text, sizeof text - 1);
    if (number != SIGUSR2 || n < 0) _exit(40 + number);
}

static void handle(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
}

static void empty_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("HEDDLE_CAPTURE_DIR"), name);
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static void act(const char *word, const char *value)
{
    long number = strtol(value, NULL, 10);
    if (strcmp(word, "work") == 0) work(number);
    if (strcmp(word, "native") == 0) native(number);
    if (strcmp(word, "children") == 0) children(number);
    if (strcmp(word, "daemon") == 0) leave_daemon(number, false);
    if (strcmp(word, "late") == 0) leave_daemon(number, true);
    if (strcmp(word, "sleep") == 0) nap(number);
    if (strcmp(word, "fill") == 0) fill(number);
    if (strcmp(word, "die") == 0) kill(getpid(), (int)number);
    if (strcmp(word, "exit") == 0) _exit((int)number);
    if (strcmp(word, "env") == 0) printf("%s\n", getenv(value) ? getenv(value) : "(unset)");
    if (strcmp(word, "empty") == 0) empty_file(value);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "finish") == 0) {
            finish();
        } else if (strcmp(word, "closeall") == 0) {
            for (int fd = 3; fd < 1024; fd++) close(fd);
        } else if (strcmp(word, "handler") == 0) {
            handle();
        } else if (strcmp(word, "caught") == 0) {
            while (!caught) usleep(1000);
        } else if (strcmp(word, "wait") == 0) {
            while (read(0, &(char){0}, 1) < 0) continue;
        } else if (strcmp(word, "ready") == 0) {
            puts("ready");
            fflush(stdout);
        } else if (i + 1 < argc) {
            act(word, argv[++i]);
        }
    }
    fflush(stdout);
    return 0;
}
