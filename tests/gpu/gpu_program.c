/* gpu_program.c - a program that uses CUDA's driver API and keeps a log of its own of what it asked for: the truth
 *
 *     gpu_program LOG WORD...
 *
 * Needs a libcuda.so.1 and nothing else: its kernels are PTX text (gpu_api.h). It knows nothing of tracing. Words are
 * done one after another; each line of LOG is a JSON object, written at once, so that it is whole up to a SIGKILL:
 *     {"op": "start", "pid"}
 *     {"op": "kernel", "name", "grid", "block", "stream", "tid", "before", "after"}     times: CLOCK_MONOTONIC in ns
 *     {"op": "copy", "way": "HtoD", "bytes"}  {"op": "set", "bytes"}  {"op": "graph", "kernels": N}  {"op": "sync"}
 *     {"op": "allocate" or "release", "memory", "address", "bytes"}
 *     {"op": "result", "wrong": N}    numbers that the GPU computed wrong; not with the word blind
 *     {"op": "bench", "launches", "ns"}
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu_api.h"

enum { NUMBERS = 4096, BLOCK = 128, STREAMS = 8, NODES = 5, THREADS = 32, MANAGED_GLOBAL = 1, CAPTURE_THREAD = 1 };

static struct {
    gpu_api api;
    gpu_handle context, module, add, turn;
    gpu_handle streams[STREAMS];
    gpu_address numbers;
    unsigned expected; /* what each of the numbers is */
    int log;
    bool blind; /* nothing is computed: the test double of CUDA */
    char **argv;
} gpu = {.log = -1};

/* ---- log ---- */

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    line[size++] = '\n';
    if (write(gpu.log, line, (size_t)size) != size) _exit(96);
}

static void check(int result, const char *what)
{
    if (result == 0) return;
    fprintf(stderr, "gpu_program: %s failed: CUDA error %d\n", what, result);
    _exit(97);
}
#define CALL(function, ...) check(gpu.api.function(__VA_ARGS__), #function)

/* ---- start ---- */

static void find_functions(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "gpu_program: %s\n", dlerror());
        _exit(95);
    }
#define FIND(member, symbol, arguments)                                                                                \
    *(void **)&gpu.api.member = dlsym(library, symbol);                                                                \
    if (!gpu.api.member && strcmp(symbol, "cuGraphAddKernelNode_v2") == 0)                                             \
        *(void **)&gpu.api.member = dlsym(library, "cuGraphAddKernelNode");                                            \
    if (!gpu.api.member) fprintf(stderr, "gpu_program: libcuda has no %s\n", symbol), _exit(95);
    GPU_FUNCTIONS(FIND)
#undef FIND
}

static void tell_memory(const char *op, const char *memory, gpu_address address, size_t bytes)
{
    tell("{\"op\": \"%s\", \"memory\": \"%s\", \"address\": %llu, \"bytes\": %zu}", op, memory,
         (unsigned long long)address, bytes);
}

static gpu_address allocate_numbers(void)
{
    gpu_address address;
    CALL(allocate, &address, NUMBERS * 4);
    tell_memory("allocate", "Device", address, NUMBERS * 4);
    return address;
}

static void release_numbers(gpu_address address)
{
    CALL(release, address);
    tell_memory("release", "Device", address, NUMBERS * 4);
}

static void need_gpu(void)
{
    if (gpu.context) return;
    if (!gpu.api.init) find_functions();
    CALL(init, 0);
    CALL(context_retain, &gpu.context, 0);
    CALL(context_set, gpu.context);
    CALL(module_load, &gpu.module, gpu_ptx);
    CALL(module_function, &gpu.add, gpu.module, "heddle_add");
    CALL(module_function, &gpu.turn, gpu.module, "heddle_turn");
    for (int i = 0; i < STREAMS; i++) CALL(stream_create, &gpu.streams[i], 1);
    gpu.numbers = allocate_numbers();
    CALL(set_async, gpu.numbers, 0, NUMBERS, gpu.streams[0]);
    tell("{\"op\": \"set\", \"bytes\": %u}", NUMBERS * 4);
    CALL(stream_synchronize, gpu.streams[0]);
    gpu.expected = 0;
}

/* ---- work ---- */

static void launch_add(gpu_handle stream, int index, unsigned grid, unsigned count, gpu_address numbers)
{
    unsigned by = 1;
    void *arguments[] = {&numbers, &count, &by};
    uint64_t before = now();
    CALL(launch, gpu.add, grid, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL);
    tell("{\"op\": \"kernel\", \"name\": \"heddle_add\", \"grid\": [%u, 1, 1], \"block\": [%u, 1, 1], \"stream\": %d, "
         "\"tid\": %d, \"before\": %llu, \"after\": %llu}",
         grid, BLOCK, index, thread_id(), (unsigned long long)before, (unsigned long long)now());
}

static void launch_turn(gpu_handle stream, int index, uint64_t ns)
{
    void *arguments[] = {&ns};
    uint64_t before = now();
    CALL(launch, gpu.turn, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
    tell("{\"op\": \"kernel\", \"name\": \"heddle_turn\", \"grid\": [1, 1, 1], \"block\": [1, 1, 1], \"stream\": %d, "
         "\"tid\": %d, \"before\": %llu, \"after\": %llu, \"ns\": %llu}",
         index, thread_id(), (unsigned long long)before, (unsigned long long)now(), (unsigned long long)ns);
}

static void synchronize(void)
{
    CALL(synchronize, );
    tell("{\"op\": \"sync\", \"after\": %llu}", (unsigned long long)now());
}

/* Each grid is another, by which a kernel is known; on stream 0 all numbers are counted up. */
static void do_streams(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int index = (int)(i % STREAMS);
        if (index == 1)
            launch_turn(gpu.streams[index], index, 20000);
        else if (index == 0)
            launch_add(gpu.streams[0], 0, NUMBERS / BLOCK + i, NUMBERS, gpu.numbers), gpu.expected++;
        else
            launch_add(gpu.streams[index], index, i + 1, 0, gpu.numbers); /* none of the numbers: no race */
    }
    synchronize();
}

static void tell_copy(const char *way, size_t bytes)
{
    tell("{\"op\": \"copy\", \"way\": \"%s\", \"bytes\": %zu}", way, bytes);
}

static void do_copies(unsigned n)
{
    static unsigned numbers[NUMBERS];
    gpu_address other = allocate_numbers();
    for (unsigned i = 0; i < n; i++) {
        size_t bytes = 4 * (size_t)(1 + i % NUMBERS);
        CALL(copy_in, other, numbers, bytes);
        tell_copy("HtoD", bytes);
        CALL(copy_async, other, gpu.numbers, bytes, gpu.streams[0]);
        tell_copy("DtoD", bytes);
        CALL(copy_out_async, numbers, gpu.numbers, sizeof numbers, gpu.streams[0]);
        tell_copy("DtoH", sizeof numbers);
        CALL(stream_synchronize, gpu.streams[0]);
        unsigned wrong = 0;
        for (unsigned at = 0; at < NUMBERS; at++) wrong += numbers[at] != gpu.expected;
        if (!gpu.blind) tell("{\"op\": \"result\", \"wrong\": %u}", wrong);
    }
    release_numbers(other);
}

static void do_sets(unsigned n)
{
    gpu_address other = allocate_numbers();
    for (unsigned i = 0; i < n; i++) {
        CALL(set_async, other, i, i + 1, gpu.streams[i % STREAMS]);
        tell("{\"op\": \"set\", \"bytes\": %u}", 4 * (i + 1));
    }
    synchronize();
    release_numbers(other);
}

/* A stream waits for another's event, and the thread for its own. */
static void do_events(unsigned n)
{
    gpu_handle event;
    CALL(event_create, &event, 2);
    for (unsigned i = 0; i < n; i++) {
        launch_turn(gpu.streams[2], 2, 10000);
        CALL(event_record, event, gpu.streams[2]);
        CALL(stream_wait, gpu.streams[3], event, 0);
        launch_turn(gpu.streams[3], 3, 5000);
        CALL(event_synchronize, event);
    }
    synchronize();
    CALL(event_destroy, event);
}

static void do_pinned(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        void *pinned;
        size_t bytes = 4096 * (size_t)(i + 1);
        CALL(allocate_pinned, &pinned, bytes, 0);
        tell_memory("allocate", "Pinned", (uintptr_t)pinned, bytes);
        if (!gpu.blind) memset(pinned, 0, bytes);
        CALL(copy_in_async, gpu.numbers, pinned, 16, gpu.streams[0]);
        tell_copy("HtoD", 16);
        CALL(stream_synchronize, gpu.streams[0]);
        CALL(release_pinned, pinned);
        tell_memory("release", "Pinned", (uintptr_t)pinned, bytes);
    }
    CALL(set_async, gpu.numbers, gpu.expected, NUMBERS, gpu.streams[0]);
    tell("{\"op\": \"set\", \"bytes\": %u}", NUMBERS * 4);
    synchronize();
}

static void do_managed(unsigned n)
{
    gpu_address managed;
    CALL(allocate_managed, &managed, NUMBERS * 4, MANAGED_GLOBAL);
    tell_memory("allocate", "Managed", managed, NUMBERS * 4);
    unsigned *numbers = (unsigned *)(uintptr_t)managed, wrong = 0; /* NOLINT: that is what managed memory is */
    if (!gpu.blind) memset(numbers, 0, NUMBERS * 4);
    for (unsigned i = 0; i < n; i++) launch_add(gpu.streams[0], 0, NUMBERS / BLOCK, NUMBERS, managed);
    synchronize();
    for (unsigned i = 0; i < NUMBERS && !gpu.blind; i++) wrong += numbers[i] != n;
    if (!gpu.blind) tell("{\"op\": \"result\", \"wrong\": %u}", wrong);
    CALL(release, managed);
    tell_memory("release", "Managed", managed, NUMBERS * 4);
}

/* ---- graphs ---- */

static gpu_handle graph_by_hand(void)
{
    gpu_handle graph, node = NULL;
    unsigned count = 0, by = 0;
    void *arguments[] = {&gpu.numbers, &count, &by};
    CALL(graph_create, &graph, 0);
    for (unsigned i = 0; i < NODES; i++) {
        gpu_kernel_node kernel = {
            .function = gpu.add, .grid = {i + 1, 1, 1}, .block = {BLOCK, 1, 1}, .arguments = arguments};
        gpu_handle last = node;
        CALL(graph_add_kernel, &node, graph, last ? &last : NULL, last ? 1 : 0, &kernel);
    }
    return graph;
}

static gpu_handle graph_by_capture(void)
{
    gpu_handle graph;
    unsigned count = 0, by = 0;
    void *arguments[] = {&gpu.numbers, &count, &by};
    CALL(capture_begin, gpu.streams[4], CAPTURE_THREAD);
    for (unsigned i = 0; i < NODES; i++)
        CALL(launch, gpu.add, i + 1, 1, 1, BLOCK, 1, 1, 0, gpu.streams[4], arguments, NULL);
    CALL(capture_end, gpu.streams[4], &graph);
    return graph;
}

static void launch_graph(gpu_handle graph, unsigned launches)
{
    gpu_handle exec;
    CALL(graph_instantiate, &exec, graph, 0);
    for (unsigned i = 0; i < launches; i++) {
        uint64_t before = now();
        CALL(graph_launch, exec, gpu.streams[5]);
        tell("{\"op\": \"graph\", \"kernels\": %d, \"tid\": %d, \"before\": %llu, \"after\": %llu}", NODES, thread_id(),
             (unsigned long long)before, (unsigned long long)now());
    }
    synchronize();
    CALL(exec_destroy, exec);
}

static void do_graphs(unsigned launches)
{
    gpu_handle hand = graph_by_hand(), captured = graph_by_capture(), clone;
    launch_graph(hand, launches);
    launch_graph(captured, launches);
    CALL(graph_clone, &clone, captured);
    CALL(graph_destroy, captured);
    launch_graph(clone, launches);
    CALL(graph_destroy, clone);
    CALL(graph_destroy, hand);
}

/* ---- threads and processes ---- */

static void *run_thread(void *count)
{
    gpu_handle stream;
    CALL(context_set, gpu.context);
    CALL(stream_create, &stream, 1);
    for (unsigned i = 0; i < (unsigned)(uintptr_t)count; i++) launch_add(stream, -thread_id(), i + 1, 0, gpu.numbers);
    CALL(stream_synchronize, stream);
    CALL(stream_destroy, stream);
    return NULL;
}

static void do_threads(unsigned count, unsigned launches)
{
    pthread_t threads[THREADS];
    if (count > THREADS) count = THREADS;
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)launches) != 0) _exit(94);
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
    synchronize();
}

/* Before CUDA was used: the child uses it too. After: it cannot, and only ends. */
static void do_fork(unsigned launches)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!gpu.context) {
            need_gpu();
            do_streams(launches);
            exit(0);
        }
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "gpu_program: the child ended with %d\n", status);
        _exit(93);
    }
}

static void do_exec(unsigned launches)
{
    char words[32];
    snprintf(words, sizeof words, "streams:%u", launches);
    execv("/proc/self/exe", (char *[]){gpu.argv[0], gpu.argv[1], gpu.blind ? "blind" : "look", words, NULL});
    _exit(92);
}

static void do_reset(unsigned launches)
{
    CALL(context_reset, 0);
    gpu.context = NULL;
    need_gpu();
    do_streams(launches);
}

static void do_bench(unsigned launches)
{
    unsigned count = 0, by = 0;
    void *arguments[] = {&gpu.numbers, &count, &by};
    for (unsigned i = 0; i < 100; i++) CALL(launch, gpu.add, 1, 1, 1, 1, 1, 1, 0, gpu.streams[0], arguments, NULL);
    CALL(synchronize, );
    uint64_t before = now();
    for (unsigned i = 0; i < launches; i++) CALL(launch, gpu.add, 1, 1, 1, 1, 1, 1, 0, gpu.streams[0], arguments, NULL);
    uint64_t issued = now();
    CALL(synchronize, );
    tell("{\"op\": \"bench\", \"launches\": %u, \"warm\": 100, \"issue_ns\": %llu, \"ns\": %llu}", launches,
         (unsigned long long)(issued - before), (unsigned long long)(now() - before));
}

static void do_forever(unsigned pause_us)
{
    for (unsigned i = 0;; i++) {
        launch_add(gpu.streams[0], 0, i % 60000 + 1, 0, gpu.numbers);
        if (i % 16 == 15) synchronize();
        if (pause_us) usleep(pause_us);
    }
}

/* Until a file LOG.go is there. */
static void do_wait(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.go", gpu.argv[1]);
    while (access(path, F_OK) != 0) usleep(1000);
}

static void do_crash(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    raise(SIGSEGV);
}

/* ---- words ---- */

static bool do_word(const char *word, unsigned a, unsigned b)
{
    if (strcmp(word, "look") == 0) return true;
    if (strcmp(word, "blind") == 0) return gpu.blind = true;
    if (strcmp(word, "fork") == 0) return do_fork(a), true;
    if (strcmp(word, "sleep") == 0) return usleep(a * 1000), true;
    if (strcmp(word, "wait") == 0) return do_wait(), true;
    need_gpu();
    if (strcmp(word, "init") == 0) return true;
    if (strcmp(word, "streams") == 0) return do_streams(a), true;
    if (strcmp(word, "copies") == 0) return do_copies(a), true;
    if (strcmp(word, "sets") == 0) return do_sets(a), true;
    if (strcmp(word, "events") == 0) return do_events(a), true;
    if (strcmp(word, "graphs") == 0) return do_graphs(a), true;
    if (strcmp(word, "pinned") == 0) return do_pinned(a), true;
    if (strcmp(word, "managed") == 0) return do_managed(a), true;
    if (strcmp(word, "threads") == 0) return do_threads(a, b), true;
    if (strcmp(word, "exec") == 0) return do_exec(a), true;
    if (strcmp(word, "reset") == 0) return do_reset(a), true;
    if (strcmp(word, "bench") == 0) return do_bench(a), true;
    if (strcmp(word, "forever") == 0) return do_forever(a), true;
    if (strcmp(word, "crash") == 0) return do_crash(), true;
    if (strcmp(word, "exit") == 0) exit((int)a);
    return false;
}

int main(int argc, char **argv)
{
    gpu.argv = argv;
    gpu.log = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (gpu.log < 0) {
        fprintf(stderr, "usage: gpu_program LOG WORD...: %s\n", strerror(errno));
        return 2;
    }
    tell("{\"op\": \"start\", \"pid\": %d}", getpid());
    for (int i = 2; i < argc; i++) {
        char word[16] = "";
        unsigned a = 0, b = 0;
        sscanf(argv[i], "%15[^:]:%u:%u", word, &a, &b);
        if (do_word(word, a, b)) continue;
        fprintf(stderr, "gpu_program: what is '%s'?\n", argv[i]);
        return 2;
    }
    return 0;
}
