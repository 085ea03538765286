/* nvtx_program.c - a program with NVTX in it, for the tests: nvtx_program SCENARIO [N]
 *
 * Built twice: with the real headers where they are found, and with nvtx_side.h. It exits with 0 if the tool answered
 * as NVTX says (or there is none), 1 if not. */
#ifdef WITH_NVTX_HEADERS
#include <nvtx3/nvToolsExt.h>
#else
#include "capture/fake_cuda/nvtx_side.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"
#include "quiet_fork.h"

static bool has_tool;
static int failures;

/* Levels are told by a tool only. */
static void expect(bool is_right, int line)
{
    if (is_right || !has_tool) return;
    fprintf(stderr, "nvtx_program.c:%d: not as NVTX says\n", line);
    failures++;
}
#define EXPECT(condition) expect(condition, __LINE__)

static nvtxEventAttributes_t event_of(const char *text)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = text};
}

/* ---- scenarios ---- */

static nvtxRangeId_t crossing;

static void *other_thread(void *unused)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "other \"thread\"");
    EXPECT(nvtxRangePushA("on the other") == 0);
    nvtxRangeEnd(crossing);
    EXPECT(nvtxRangePop() == 0);
    return unused;
}

static void payloads(void)
{
    nvtxEventAttributes_t event = event_of("u64");
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = UINT64_MAX;
    nvtxMarkEx(&event);
    event = event_of("i64");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -5;
    nvtxMarkEx(&event);
    event = event_of("f64");
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 2.5;
    nvtxMarkEx(&event);
    event = event_of("u32");
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    event.payload.ullValue = UINT64_MAX;
    event.payload.uiValue = 4000000000u;
    nvtxMarkEx(&event);
    event = event_of("i32");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -7;
    nvtxMarkEx(&event);
    event = event_of("f32");
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    nvtxMarkEx(&event);
    event = event_of("unknown payload");
    event.payloadType = 77;
    nvtxMarkEx(&event);
}

static void ranges(void)
{
    pthread_t thread;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib \"x\"");
    EXPECT(domain && nvtxDomainCreateA("lib \"x\"") == domain);
    EXPECT(nvtxRangePushA("outer") == 0);
    EXPECT(nvtxRangePushW(L"inn\u00e9r \U0001f600") == 1);
    nvtxEventAttributes_t event = event_of("in the library");
    nvtxDomainNameCategoryA(domain, 9, "kind \\ nine");
    event.category = 9;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff76b900;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = 42;
    EXPECT(nvtxDomainRangePushEx(domain, &event) == 0);
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
    EXPECT(string && nvtxDomainRegisterStringW(domain, L"registered") == string);
    event = event_of(NULL);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = string;
    EXPECT(nvtxRangePushEx(&event) == 2);
    EXPECT(nvtxRangePop() == 2);
    EXPECT(nvtxDomainRangePop(domain) == 0);
    nvtxMarkA("a mark");
    nvtxDomainMarkEx(domain, &event);
    payloads();
    crossing = nvtxRangeStartA("from thread to thread");
    nvtxRangeId_t second = nvtxRangeStartW(L"beside it");
    EXPECT(crossing && second && crossing != second);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    nvtxRangeEnd(second);
    EXPECT(nvtxRangePop() == 1);
    EXPECT(nvtxRangePop() == 0);
    nvtxDomainDestroy(domain);
}

/* Ranges of two domains that cross; then what makes no sense. */
static void trouble(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("d");
    nvtxEventAttributes_t event = event_of("of d");
    EXPECT(nvtxDomainRangePushEx(domain, &event) == 0);
    EXPECT(nvtxRangePushA("crosses") == 0);
    EXPECT(nvtxRangePushA("within") == 1);
    EXPECT(nvtxDomainRangePop(domain) == 0);
    EXPECT(nvtxRangePop() == 1);
    EXPECT(nvtxRangePop() == 0);
    EXPECT(nvtxRangePop() < 0);
    EXPECT(nvtxDomainRangePop(domain) < 0);
    nvtxRangeEnd(12345);
    nvtxRangeId_t id = nvtxRangeStartA("ended twice");
    nvtxRangeEnd(id);
    nvtxRangeEnd(id);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1234;
    nvtxDomainRangePushEx((nvtxDomainHandle_t)(uintptr_t)8, &event);
    nvtxRangePop();
    nvtxRangePushA(NULL);
    nvtxRangePop();
    event = event_of("cut off");
    event.size = 16; /* says that it has no message */
    nvtxRangePushEx(&event);
    nvtxRangePop();
}

static void steps(const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        nvtxRangePushA(name);
        nvtxRangePushA("work");
        nvtxRangePop();
        nvtxRangePop();
    }
}

static void profiler_steps(int count)
{
    char text[64];
    steps("step", 2); /* before the profiler: these count no more */
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "ProfilerStep#%d", i + 100);
        nvtxRangePushA(text);
        nvtxRangePushA("step");
        nvtxRangePop();
        nvtxRangePop();
    }
}

static void registered_steps(int count)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("train");
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "Iteration");
    nvtxEventAttributes_t event = event_of(NULL);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = string;
    for (int i = 0; i < count; i++) {
        nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
        nvtxRangePushA("work");
        nvtxRangePop();
        nvtxDomainRangeEnd(domain, id);
    }
}

/* A registered string for each step, all of them before the first. */
static void numbered_strings(int count)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("train");
    nvtxStringHandle_t *strings = calloc((size_t)count, sizeof *strings);
    nvtxEventAttributes_t event = event_of(NULL);
    char name[32];
    for (int i = 0; strings && i < count; i++) {
        snprintf(name, sizeof name, "step %d", i);
        strings[i] = nvtxDomainRegisterStringA(domain, name);
    }
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    for (int i = 0; strings && i < count; i++) {
        event.message.registered = strings[i];
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
    free(strings);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* The next character of standard input; false: its end. It waits by poll, as ThreadSanitizer keeps signals that come
 * within read until that returns. */
static bool next_told(char *out)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, -1) < 0 && errno == EINTR) continue;
    return read(STDIN_FILENO, out, 1) == 1;
}

/* Its own handler, installed before or after the tool came. */
static int own_handler(bool first)
{
    char c;
    struct sigaction now, own = {.sa_handler = on_signal};
    if (first) sigaction(SIGUSR2, &own, NULL);
    nvtxMarkA("begin");
    if (!first) sigaction(SIGUSR2, &own, NULL);
    raise(SIGUSR2);
    sigaction(SIGUSR2, NULL, &now);
    if (signals != 1 || now.sa_handler != on_signal) return 1;
    nvtxMarkA("end");
    printf("ready\n");
    fflush(stdout);
    while (next_told(&c)) continue;
    return 0;
}

/* ThreadSanitizer of GCC 12 loses a signal that comes while a thread blocks for the first time: the room for those that
 * wait is made there, by whoever is interrupted and by its handler. */
static void block_once(void)
{
    poll(NULL, 0, 0);
}

/* Says that it is there, then works until standard input ends. */
static void until_told(void)
{
    char c;
    nvtxMarkA("begin");
    block_once();
    printf("ready\n");
    fflush(stdout);
    nvtxRangePushA("all along");
    while (next_told(&c)) {
        if (c == 'k') raise(SIGUSR2);
        nvtxRangePushA(c == 'k' ? "signal" : "told");
        nvtxRangePop();
        printf("done %c\n", c);
        fflush(stdout);
    }
    nvtxRangePop();
}

/* As daemons do; then the numbers are the program's own again. */
static int without_descriptors(void)
{
    int fds[8];
    struct stat null, now;
    if (stat("/dev/null", &null) != 0) return 1;
    nvtxMarkA("before");
    for (int fd = 3; fd < 1024; fd++) close(fd);
    for (int i = 0; i < 8; i++) {
        int fd = open("/dev/null", O_WRONLY);
        fds[i] = i % 2 ? fcntl(fd, F_DUPFD, 512) : -1; /* where the session had its own */
        if (fds[i] < 0) fds[i] = fd;
    }
    until_told();
    /* They are still what they were: nobody closed one, or wrote to it. */
    for (int i = 0; i < 8; i++) {
        if (fstat(fds[i], &now) != 0 || now.st_rdev != null.st_rdev || !S_ISCHR(now.st_mode)) return 1;
    }
    return 0;
}

static int child_until_told(void)
{
    int status = 1;
    nvtxMarkA("parent");
    pid_t child = hd_test_fork();
    if (child == 0) {
        until_told();
        exit(0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static int children(void)
{
    nvtxRangePushA("parent");
    nvtxRangeId_t id = nvtxRangeStartA("parent's range");
    fflush(stdout);
    pid_t child = hd_test_fork();
    if (child == 0) {
        nvtxRangePushA("child");
        nvtxRangePop();
        nvtxRangePop(); /* what the parent pushed */
        nvtxRangeEnd(id);
        printf("child %d\n", (int)getpid());
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    nvtxRangeEnd(id);
    nvtxRangePop();
    return status != 0;
}

/* In the child the tool's socket and thread are made anew, and there is no descriptor for them. */
static int errno_is_kept(void)
{
    int status = 1;
    nvtxMarkA("parent");
    pid_t child = hd_test_fork();
    if (child == 0) {
        struct rlimit none = {3, 3};
        for (int fd = 3; fd < 1024; fd++) close(fd);
        setrlimit(RLIMIT_NOFILE, &none);
        errno = ERANGE;
        nvtxRangePushA("step");
        EXPECT(errno == ERANGE);
        nvtxRangePop();
        EXPECT(errno == ERANGE);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static void *busy_thread(void *count)
{
    for (int i = 0; i < *(int *)count; i++) {
        nvtxRangePushA(i & 1 ? "odd" : "even");
        nvtxRangeId_t id = nvtxRangeStartA("beside");
        nvtxRangeEnd(id);
        nvtxRangePop();
    }
    return NULL;
}

static void many_threads(int count)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, busy_thread, &count);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

static void range_in_handler(int number)
{
    (void)number;
    nvtxRangeEnd(nvtxRangeStartA("in a handler"));
    signals++;
}

/* Handlers interrupt calls that hold the tool's lock; nothing here takes memory that is not there already. */
static void signals_in_calls(int count)
{
    enum { DOMAINS = 500 }; /* looked through one by one */
    char name[16];
    struct sigaction action = {.sa_handler = range_in_handler};
    struct itimerspec often = {{0, 50000}, {0, 50000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    for (int i = 0; i < DOMAINS; i++) {
        snprintf(name, sizeof name, "domain %d", i);
        nvtxDomainNameCategoryA(nvtxDomainCreateA(name), 9, "nine");
    }
    range_in_handler(0);
    alarm((unsigned)hd_test_patience(300)); /* a call that waits for its own thread never ends */
    sigaction(SIGUSR1, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    while (signals < count) nvtxDomainNameCategoryA(nvtxDomainCreateA(name), 9, "nine");
    timer_delete(timer);
}

static void deep(int count)
{
    for (int i = 0; i < count; i++) nvtxRangePushA("deep");
    for (int i = 0; i < count; i++) nvtxRangePop();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 10;
    has_tool = getenv("EXPECT_TOOL") != NULL;
    if (strcmp(what, "ranges") == 0) ranges();
    if (strcmp(what, "trouble") == 0) trouble();
    if (strcmp(what, "steps") == 0) steps("step", count);
    if (strcmp(what, "named_steps") == 0) steps("my loop", count);
    if (strcmp(what, "profiler_steps") == 0) profiler_steps(count);
    if (strcmp(what, "registered_steps") == 0) registered_steps(count);
    if (strcmp(what, "numbered_strings") == 0) numbered_strings(count);
    if (strcmp(what, "own_handler_first") == 0) return own_handler(true);
    if (strcmp(what, "own_handler_later") == 0) return own_handler(false);
    if (strcmp(what, "until_told") == 0) until_told();
    if (strcmp(what, "without_descriptors") == 0) return without_descriptors();
    if (strcmp(what, "child_until_told") == 0) return child_until_told();
    if (strcmp(what, "children") == 0) return children();
    if (strcmp(what, "errno") == 0) return errno_is_kept();
    if (strcmp(what, "threads") == 0) many_threads(count);
    if (strcmp(what, "signals") == 0) signals_in_calls(count);
    if (strcmp(what, "deep") == 0) deep(count);
    return failures != 0;
}
