/* bench_uprobe.c - what a probed call costs the program, and the tracer beside it
 *
 * Usage    bench_uprobe [CALLS]      needs the right to use uprobes: root
 *
 * The program traced is this one again: batches of 64 calls of an empty function, below 16 frames, with pauses between,
 * so that the ring is never full (a lost call is cheaper). Costs are medians of the batches; the call itself is taken
 * off. The function begins with an instruction that the kernel emulates, as most do (endbr64, push, nop), but for the
 * way named stepped. tracer_ns is the CPU time of the tracer's thread for each call.
 */
#include <string.h>
#include <sys/wait.h>

#include "bench.h"
#include "heddle/capture/uprobe.h"

enum { BATCH = 64, DEPTH = 14, PAUSE_US = 2000 };

void bench_launch(int value);
void __attribute__((noinline)) bench_launch(int value)
{
    __asm__ volatile("nop" ::"r"(value) : "memory");
}

/* Begins with an instruction that the kernel does not emulate, but executes elsewhere and traps again. */
void bench_stepped(int value);
void __attribute__((noinline)) bench_stepped(int value)
{
    __asm__ volatile("" ::"r"(value) : "memory");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double __attribute__((noinline)) batch(void (*call)(int), int depth)
{
    double cost;
    if (depth) {
        cost = batch(call, depth - 1);
    } else {
        double begin = bench_seconds();
        for (int i = 0; i < BATCH; i++) call(i);
        cost = (bench_seconds() - begin) * 1e9 / BATCH;
    }
    __asm__ volatile("" ::: "memory");
    return cost;
}

/* Writes the median to standard output. */
static int be_traced(size_t calls, void (*call)(int))
{
    size_t count = calls / BATCH ? calls / BATCH : 1;
    double *costs = malloc(count * sizeof *costs);
    if (!costs) return 1;
    for (size_t i = 0; i < count; i++) {
        usleep(PAUSE_US);
        costs[i] = batch(call, DEPTH);
    }
    qsort(costs, count, sizeof *costs, by_value);
    printf("%.1f\n", costs[count / 2]);
    free(costs);
    return 0;
}

typedef struct bench_way {
    const char *name;
    bool is_stepped;
    bool is_traced;
    hd_uprobe_options options;
} bench_way;

static int run(const bench_way *way, const char *self, const char *calls, double *out_ns, hd_uprobe_stats *stats)
{
    const char *command[] = {self, "--traced", calls, way->is_stepped ? "stepped" : NULL, NULL};
    hd_uprobe_plan *plan = NULL;
    hd_uprobe *tracer = NULL;
    hd_uprobe_options options = way->options;
    hd_error err = {0};
    int go[2], answer[2];
    char text[64] = "", spec[4096];
    options.capture = "/tmp/bench_uprobe.hdcap";
    snprintf(spec, sizeof spec, "%s:bench_%s", self, way->is_stepped ? "stepped" : "launch");
    if (pipe(go) || pipe(answer)) return 1;
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        if (read(go[0], text, 1) < 0 || dup2(answer[1], 1) < 0) _exit(1);
        execv(self, (char *const *)(size_t)command);
        _exit(127);
    }
    hd_status status = hd_uprobe_plan_new(&plan, command, &err);
    if (status == HD_OK) status = hd_uprobe_plan_add(plan, spec, &err);
    if (status == HD_OK && way->is_traced) status = hd_uprobe_start(&tracer, plan, pid, &options, &err);
    close(go[0]);
    close(go[1]);
    close(answer[1]);
    if (read(answer[0], text, sizeof text - 1) < 0) text[0] = 0;
    close(answer[0]);
    waitpid(pid, NULL, 0);
    if (tracer) hd_uprobe_stop(stats, tracer, &err);
    hd_uprobe_free(tracer);
    hd_uprobe_plan_free(plan);
    unlink(options.capture);
    *out_ns = strtod(text, NULL);
    return status == HD_OK ? 0 : bench_failed(&err);
}

int main(int argc, char **argv)
{
    static const bench_way ways[] = {
        {"stepped", true, true, {.stacks = HD_UPROBE_NONE}},
        {"calls", false, true, {.stacks = HD_UPROBE_NONE}},
        {"returns", false, true, {.stacks = HD_UPROBE_NONE, .returns = true}},
        {"frames", false, true, {.stacks = HD_UPROBE_FRAMES}},
        {"unwind_4k", false, true, {.stack_bytes = 4096}},
        {"unwind_16k", false, true, {0}},
        {"unwind_48k", false, true, {.stack_bytes = 49152}},
        {"unwind_16k_returns", false, true, {.returns = true}},
    };
    const char *calls = argc > 1 ? argv[1] : "20000";
    char self[4096] = "";
    if (argc > 2 && strcmp(argv[1], "--traced") == 0)
        return be_traced(strtoull(argv[2], NULL, 10), argc > 3 ? bench_stepped : bench_launch);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        bench_way bare = {.name = "none", .is_stepped = ways[i].is_stepped};
        hd_uprobe_stats stats = {0};
        double without, with;
        if (run(&bare, self, calls, &without, &stats) || run(&ways[i], self, calls, &with, &stats)) return 1;
        printf("way=%s call_ns=%.0f tracer_ns=%.0f calls=%llu lost=%llu\n", ways[i].name, with - without,
               stats.calls ? (double)stats.helper_ns / (double)stats.calls : 0.0, (unsigned long long)stats.calls,
               (unsigned long long)stats.lost);
    }
    return 0;
}
