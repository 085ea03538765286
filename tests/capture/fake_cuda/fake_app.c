/* fake_app.c - a program that uses CUDA (the test double), as its arguments say
 *
 *     fake_app launch:100 threads:4:50 graph:3:10 sync exit:7
 *
 * Words are done one after another. In the arguments of fork, exec and daemon "+" stands for a blank and "=" for ":".
 * A program like any other: it knows nothing of tracing, and what it prints must not depend on it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/fake_cuda/nvtx_side.h"
#include "double_cuda.h"
#include "emitted.h"
#include "quiet_fork.h"

static const char *const kernels[] = {"vector_add", "_Z6matmulPKfS0_Pfi", "odd \"name\" \\ here"};
static double_function *functions[3];
static unsigned launched; /* by the main thread */
static volatile sig_atomic_t caught;
static const char *self;

static void check(int result, const char *what)
{
    if (result == 0) return;
    printf("%s failed: %d\n", what, result);
    fflush(stdout);
    _exit(97);
}

static void use_device(int device)
{
    double_context *context;
    check(cuInit(0), "cuInit");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    for (int i = 0; i < 3; i++)
        if (!functions[i]) check(cuModuleGetFunction(&functions[i], NULL, kernels[i]), "cuModuleGetFunction");
}

static void need_device(void)
{
    if (!double_current_context()) use_device(0);
}

static void launch(unsigned i, void *stream)
{
    emitted_begin(EMITTED_KERNELS, 1);
    check(cuLaunchKernel(functions[i % 3], i + 1, 2, 1, 64, 1, 1, 128, stream, NULL, NULL), "cuLaunchKernel");
    emitted_end(EMITTED_KERNELS, 1);
}

static void launch_by_runtime(unsigned i)
{
    const unsigned grid[3] = {i + 1, 1, 1}, block[3] = {32, 1, 1};
    emitted_begin(EMITTED_KERNELS, 1);
    check(cudaLaunchKernel(functions[i % 3], grid, block, 0, NULL), "cudaLaunchKernel");
    emitted_end(EMITTED_KERNELS, 1);
}

/* ---- words with a count ---- */

static void do_launch(unsigned n)
{
    for (unsigned i = 0; i < n; i++, launched++) launch(i, NULL);
}

static void do_runtime(unsigned n)
{
    for (unsigned i = 0; i < n; i++, launched++) launch_by_runtime(i);
}

static void do_streams(unsigned n)
{
    double_stream *streams[3];
    for (int i = 0; i < 3; i++) check(cuStreamCreate(&streams[i], (unsigned)i & 1), "cuStreamCreate");
    for (unsigned i = 0; i < n; i++, launched++) launch(i, streams[i % 3]);
    for (int i = 0; i < 3; i++) check(cuStreamSynchronize(streams[i]), "cuStreamSynchronize");
}

static void do_copy(unsigned n)
{
    char data[4096] = {0};
    for (unsigned i = 0; i < n; i++) {
        check(cuMemcpyHtoD_v2(0x1000, data, 16 + i), "cuMemcpyHtoD");
        check(cudaMemcpyAsync(data, NULL, 4096, 2, NULL), "cudaMemcpyAsync");
    }
}

static void do_peer(unsigned n)
{
    double_context *other, *mine = double_current_context();
    check(cuDevicePrimaryCtxRetain(&other, 1), "cuDevicePrimaryCtxRetain");
    for (unsigned i = 0; i < n; i++) check(cuMemcpyPeerAsync(1, other, 2, mine, 1000 + i, NULL), "cuMemcpyPeerAsync");
}

static void do_set(unsigned n)
{
    for (unsigned i = 0; i < n; i++) check(cuMemsetD32Async(0x1000, i, 100, NULL), "cuMemsetD32Async");
}

static void do_alloc(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t a, c;
        void *pinned, *managed;
        check(cuMemAlloc_v2(&a, 1000 + i), "cuMemAlloc");
        check(cuMemAllocAsync(&c, 2000, NULL), "cuMemAllocAsync");
        check(cuMemHostAlloc(&pinned, 4096, 0), "cuMemHostAlloc");
        check(cudaMalloc(&managed, 512), "cudaMalloc");
        check(cuMemFree_v2(a), "cuMemFree");
        check(cuMemFreeAsync(c, NULL), "cuMemFreeAsync");
        if (i) check(cudaFree(managed), "cudaFree"); /* the first one leaks, as do all that are pinned */
    }
}

static uint64_t kept[1024];
static unsigned kept_first, kept_end;

/* Memory that stays, until `release` takes the oldest of it. */
static void do_keep(unsigned n)
{
    for (unsigned i = 0; i < n && kept_end < 1024; i++)
        check(cuMemAlloc_v2(&kept[kept_end], 1000 + 17 * kept_end), "cuMemAlloc"), kept_end++;
}

static void do_release(unsigned n)
{
    for (unsigned i = 0; i < n && kept_first < kept_end; i++) check(cuMemFree_v2(kept[kept_first++]), "cuMemFree");
}

static unsigned pause_ms; /* behind each launch of a graph */

static void do_graph(unsigned nodes, unsigned launches)
{
    double_graph *graph;
    double_exec *exec;
    void *node;
    check(cuGraphCreate(&graph, 0), "cuGraphCreate");
    for (unsigned i = 0; i < nodes; i++) {
        double_kernel kernel = {kernels[i % 3], {i + 1, 1, 1}, {128, 1, 1}, 0};
        check(cuGraphAddKernelNode(&node, graph, &kernel), "cuGraphAddKernelNode");
    }
    check(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
    for (unsigned i = 0; i < launches; i++) {
        emitted_begin(EMITTED_KERNELS, nodes);
        check(i & 1 ? cudaGraphLaunch(exec, NULL) : cuGraphLaunch(exec, NULL), "cuGraphLaunch");
        emitted_end(EMITTED_KERNELS, nodes);
        if (pause_ms) usleep(pause_ms * 1000);
    }
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
}

int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, double_graph **out);

/* Launches that become nodes of a graph, which does not run. */
static void do_capture(unsigned n)
{
    double_stream *stream;
    double_graph *graph;
    check(cuStreamCreate(&stream, 1), "cuStreamCreate");
    check(cuStreamBeginCapture_v2(stream, 0), "cuStreamBeginCapture");
    for (unsigned i = 0; i < n; i++)
        check(cuLaunchKernel(functions[0], 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
    check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
}

static void *run_thread(void *count)
{
    double_stream *stream;
    use_device(0);
    check(cuStreamCreate(&stream, 1), "cuStreamCreate");
    for (unsigned i = 0; i < (unsigned)(uintptr_t)count; i++) launch(i, stream);
    check(cuStreamSynchronize(stream), "cuStreamSynchronize");
    return NULL;
}

static void do_threads(unsigned count, unsigned launches)
{
    pthread_t threads[64];
    for (unsigned i = 0; i < count && i < 64; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)launches) != 0) _exit(96);
    for (unsigned i = 0; i < count && i < 64; i++) pthread_join(threads[i], NULL);
}

static void do_forever(unsigned pause_us)
{
    for (unsigned i = 0;; i++) {
        launch(i, NULL);
        if (i % 8 == 7) check(cuCtxSynchronize(), "cuCtxSynchronize");
        if (i % 8 == 7 && pause_us) usleep(pause_us);
    }
}

/* ---- another profiler ---- */

static void other_wants(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 1 << 16;
    *buffer = aligned_alloc(64, *size);
    *records = 0;
}

static void other_has(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

/* As Kineto does, where there is a CUPTI in the process. */
static void do_take_buffers(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    cupti_fn_ActivityRegisterCallbacks take = NULL;
    if (library) *(void **)&take = dlsym(library, "cuptiActivityRegisterCallbacks");
    if (take) check(take(other_wants, other_has), "cuptiActivityRegisterCallbacks");
}

static void do_ranges(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        emitted_begin(EMITTED_RANGES, 1);
        nvtxRangePushA("range");
        emitted_end(EMITTED_RANGES, 1);
        nvtxRangePop();
    }
}

/* ---- words about processes ---- */

static void do_words(int count, char **words);

static unsigned split(char *text, char **words, unsigned most)
{
    unsigned count = 0;
    for (char *c = text; *c; c++)
        if (*c == '=') *c = ':';
    for (char *word = strtok(text, "+"); word && count < most; word = strtok(NULL, "+")) words[count++] = word;
    words[count] = NULL;
    return count;
}

static void report_child(pid_t child, const char *what)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
}

static void do_fork(char *text)
{
    char *words[32];
    fflush(stdout);
    pid_t child = hd_test_fork();
    if (child == 0) {
        do_words((int)split(text, words, 31), words);
        fflush(stdout);
        exit(0);
    }
    report_child(child, "child");
}

static void do_exec(char *text)
{
    char *words[33] = {(char *)self};
    fflush(stdout);
    pid_t child = hd_test_fork();
    if (child == 0) {
        split(text, words + 1, 31);
        execv(self, words);
        _exit(95);
    }
    report_child(child, "executed");
}

static void close_all(void)
{
    for (int fd = 0; fd < 1024; fd++) close(fd);
}

static void do_daemon(char *text)
{
    char *words[32];
    fflush(stdout);
    pid_t child = hd_test_fork();
    if (child) {
        printf("started\n");
        fflush(stdout);
        _exit(0);
    }
    setsid();
    close_all();
    do_words((int)split(text, words, 31), words);
    exit(0);
}

/* As many files as that may be open, and none of those that are above. */
static void limit_files(unsigned count)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = count;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = (int)count; fd < 1024; fd++) close(fd);
}

static void on_signal(int number)
{
    caught += number == SIGUSR2 ? 10 : 1;
}

static void do_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGPROF};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) raise(numbers[i]);
    printf("caught %d\n", (int)caught);
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
}

/* Says that it is here, and waits to be told to go on. */
static void do_wait(void)
{
    char c;
    printf("waits\n");
    fflush(stdout);
    if (read(STDIN_FILENO, &c, 1) != 1) exit(95);
}

/* Steps of a training: so many, of so many launches each. */
static void do_steps(unsigned count, unsigned launches)
{
    char name[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "step %u", i);
        nvtxRangePushA(name);
        do_launch(launches);
        check(cuCtxSynchronize(), "cuCtxSynchronize");
        nvtxRangePop();
    }
}

/* The most memory that this process has had. */
static void print_peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld KiB, CPU %.2f s\n", usage.ru_maxrss,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/* What a program that is killed at any moment is doing. */
static void do_mix(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        do_ranges(1);
        launch(i, NULL);
        if (i % 64 == 63) check(cuCtxSynchronize(), "cuCtxSynchronize");
    }
}

static void *run_mix(void *count)
{
    use_device(0);
    do_mix((unsigned)(uintptr_t)count);
    return NULL;
}

/* Goes on in another thread. */
static void do_background(unsigned n)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_mix, (void *)(uintptr_t)n) != 0) _exit(96);
    pthread_detach(thread);
}

/* Children at once, which end in every way while others of them begin. */
static void do_storm(unsigned n)
{
    char *words[] = {(char *)self, "ranges:20", "_exit:0", NULL};
    fflush(stdout);
    for (unsigned i = 0; i < n; i++) {
        if (hd_test_fork() != 0) continue;
        do_ranges(10 + i);
        if (i % 4 == 1) _exit(0);
        if (i % 4 == 2) raise(SIGKILL);
        if (i % 4 == 3) execv(self, words);
        exit(0);
    }
    while (wait(NULL) > 0) {}
}

static void become(char *text)
{
    char *words[33] = {(char *)self};
    fflush(stdout);
    split(text, words + 1, 31);
    execv(self, words);
    _exit(95);
}

/* Unloads the tracer as often as it was loaded, as far as it lets. */
static void do_dlclose(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (int i = 0; library && i < 4; i++) dlclose(library);
}

static bool do_process_word(const char *word, char *rest, unsigned a)
{
    if (strcmp(word, "wait") == 0) return do_wait(), true;
    if (strcmp(word, "push") == 0) return nvtxRangePushA(rest), true;
    if (strcmp(word, "ranges") == 0) return do_ranges(a), true;
    if (strcmp(word, "storm") == 0) return do_storm(a), true;
    if (strcmp(word, "become") == 0) return become(rest), true;
    if (strcmp(word, "dlclose") == 0) return do_dlclose(), true;
    if (strcmp(word, "pid") == 0) return printf("%d\n", (int)getpid()), fflush(stdout), true;
    if (strcmp(word, "peak") == 0) return print_peak(), true;
    if (strcmp(word, "pop") == 0) return nvtxRangePop(), true;
    if (strcmp(word, "fork") == 0) return do_fork(rest), true;
    if (strcmp(word, "exec") == 0) return do_exec(rest), true;
    if (strcmp(word, "daemon") == 0) return do_daemon(rest), true;
    if (strcmp(word, "close-all") == 0) return close_all(), true;
    if (strcmp(word, "files") == 0) return limit_files(a), true;
    if (strcmp(word, "signals") == 0) return do_signals(), true;
    if (strcmp(word, "touch") == 0) return touch(rest), true;
    if (strcmp(word, "exit") == 0) {
        emitted_is_over = true;
        exit((int)a);
    }
    if (strcmp(word, "_exit") == 0) return fflush(stdout), _exit((int)a), true;
    if (strcmp(word, "abort") == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        fflush(stdout);
        abort();
    }
    if (strcmp(word, "print") == 0) return printf("%s\n", rest), true;
    if (strcmp(word, "sleep") == 0) return usleep(a * 1000), true;
    return false;
}

static bool do_cuda_word(const char *word, unsigned a, unsigned second)
{
    need_device();
    if (strcmp(word, "init") == 0) return true;
    if (strcmp(word, "device") == 0) return use_device((int)a), true;
    if (strcmp(word, "launch") == 0) return do_launch(a), true;
    if (strcmp(word, "runtime") == 0) return do_runtime(a), true;
    if (strcmp(word, "streams") == 0) return do_streams(a), true;
    if (strcmp(word, "steps") == 0) return do_steps(a, second), true;
    if (strcmp(word, "mix") == 0) return do_mix(a), true;
    if (strcmp(word, "background") == 0) return do_background(a), true;
    if (strcmp(word, "copy") == 0) return do_copy(a), true;
    if (strcmp(word, "peer") == 0) return do_peer(a), true;
    if (strcmp(word, "set") == 0) return do_set(a), true;
    if (strcmp(word, "alloc") == 0) return do_alloc(a), true;
    if (strcmp(word, "keep") == 0) return do_keep(a), true;
    if (strcmp(word, "release") == 0) return do_release(a), true;
    if (strcmp(word, "pause") == 0) return pause_ms = a, true;
    if (strcmp(word, "graph") == 0) return do_graph(a, second), true;
    if (strcmp(word, "capture") == 0) return do_capture(a), true;
    if (strcmp(word, "threads") == 0) return do_threads(a, second), true;
    if (strcmp(word, "sync") == 0) return check(cuCtxSynchronize(), "cuCtxSynchronize"), true;
    if (strcmp(word, "take-buffers") == 0) return do_take_buffers(), true;
    if (strcmp(word, "forever") == 0) return do_forever(a), true;
    return false;
}

static void do_words(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        char word[16] = "";
        unsigned a = 0, second = 0;
        char *rest = strchr(words[i], ':');
        size_t size = rest ? (size_t)(rest - words[i]) : strlen(words[i]);
        if (rest) sscanf(++rest, "%u:%u", &a, &second);
        snprintf(word, sizeof word, "%.*s", (int)size, words[i]);
        if (do_process_word(word, rest, a) || do_cuda_word(word, a, second)) continue;
        fprintf(stderr, "fake_app: what is '%s'?\n", words[i]);
        _exit(98);
    }
}

int main(int argc, char **argv)
{
    self = argv[0];
    emitted_open();
    do_words(argc - 1, argv + 1);
    printf("launched %u\n", launched);
    emitted_is_over = true;
    return 0;
}
