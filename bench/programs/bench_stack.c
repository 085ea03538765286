/* bench_stack.c - what taking a stack costs, beside backtrace(3), libunwind and a walk by frame pointers
 *
 * Usage    bench_stack [-d FOLDER] [ROUNDS]
 *
 * All take the same stack in turns: main's, libc's start, and a recursion that makes 16, or 64, frames of it. Its
 * functions keep frame pointers, so that the last way has something to walk; it stops where libc's frames, which have
 * none, begin. Costs are medians of batches of 64, which leaves out those in which another program had the processor.
 * Floor: 1500 ns for 16 frames with an id. libunwind is loaded if it is installed.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

#include "bench.h"
#include "heddle/stack.h"

enum { BATCH = 64, FRAMES_MAX = 128, FLOOR_NS = 1500, WAYS = 5 };

typedef struct taker {
    hd_session *session;
    int (*unw_backtrace)(void **, int);
    int frames[WAYS]; /* of the last stack of each way */
    size_t rounds;
    double *costs; /* rounds of each way */
} taker;

static const char *const way_names[WAYS] = {"id", "walk", "libunwind", "backtrace", "frame-pointers"};

static int by_pointers(void **out, int capacity)
{
    uintptr_t *frame = __builtin_frame_address(0), low = (uintptr_t)frame;
    int count = 0;
    while (count < capacity && (uintptr_t)frame >= low && (uintptr_t)frame - low < 65536 && !((uintptr_t)frame & 7)) {
        out[count++] = (void *)frame[1];
        low = (uintptr_t)frame + 1;
        frame = (uintptr_t *)frame[0];
    }
    return count;
}

/* Keeps the frame pointer of the function that it stands in. */
#define KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

static __attribute__((noinline)) int take(taker *t, int way)
{
    void *out[FRAMES_MAX];
    KEEP_FRAME();
    switch (way) {
    case 0: return hd_session_stack_here(t->session, NULL) ? t->frames[1] : 0;
    case 1: return (int)hd_stack_walk((uint64_t *)out, FRAMES_MAX, 0, NULL);
    case 2: return t->unw_backtrace(out, FRAMES_MAX);
    case 3: return backtrace(out, FRAMES_MAX);
    default: return by_pointers(out, FRAMES_MAX);
    }
}

static __attribute__((noinline)) void measure(taker *t)
{
    KEEP_FRAME();
    for (size_t round = 0; round < t->rounds; round++) {
        for (int way = WAYS; way-- > 0;) {
            if (way == 2 && !t->unw_backtrace) continue;
            t->frames[way] = take(t, way);
            double begin = bench_seconds();
            for (int i = 0; i < BATCH; i++) take(t, way);
            t->costs[(size_t)way * t->rounds + round] = (bench_seconds() - begin) * 1e9 / BATCH;
        }
    }
}

static __attribute__((noinline)) void recurse(taker *t, int depth)
{
    KEEP_FRAME();
    if (depth)
        recurse(t, depth - 1);
    else
        measure(t);
    KEEP_FRAME();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(taker *t, int frames)
{
    for (int way = 0; way < WAYS; way++) {
        double *costs = t->costs + (size_t)way * t->rounds;
        if (way == 2 && !t->unw_backtrace) continue;
        qsort(costs, t->rounds, sizeof *costs, by_value);
        printf("way=%s frames=%d of=%d stack_ns=%.0f least_ns=%.0f", way_names[way], t->frames[way], frames,
               costs[t->rounds / 2], costs[0]);
        printf(way == 0 && frames == 16 ? " floor_ns=%d\n" : "\n", FLOOR_NS);
    }
}

int main(int argc, char **argv)
{
    const char *folder = "/tmp";
    char path[4096];
    int option;
    hd_error err = {0};
    taker t = {0};
    while ((option = getopt(argc, argv, "d:")) != -1) {
        if (option != 'd') return 2;
        folder = optarg;
    }
    t.rounds = optind < argc ? strtoull(argv[optind], NULL, 10) : 2000;
    if (t.rounds < 1 || strlen(folder) > 4000) {
        fprintf(stderr, "usage: bench_stack [-d FOLDER] [ROUNDS]\n");
        return 2;
    }
    sprintf(path, "%s/bench_stack.%d.hdcap", folder, (int)getpid());
    t.costs = calloc(WAYS * t.rounds, sizeof *t.costs);
    void *library = dlopen("libunwind.so.8", RTLD_NOW);
    if (library) *(void **)&t.unw_backtrace = dlsym(library, "unw_backtrace");
    if (!t.costs) return 1;
    if (hd_session_start(&t.session, path, NULL, &err) != HD_OK) return bench_failed(&err);
    for (int frames = 16; frames <= 64; frames *= 4) {
        hd_stack_walked walked;
        uint64_t out[FRAMES_MAX];
        int outside = (int)hd_stack_walk(out, FRAMES_MAX, 0, &walked); /* main, libc's, _start */
        recurse(&t, frames - outside - 3);                             /* the last call of it, measure and take */
        print(&t, frames);
    }
    hd_status status = hd_session_stop(NULL, t.session, &err);
    hd_session_free(t.session);
    free(t.costs);
    unlink(path);
    return status == HD_OK ? 0 : bench_failed(&err);
}
