/* bench_lanes.c - time and memory of the lane repair of one track, on inputs from usual to hostile
 *
 * Usage    bench_lanes [slices [input]]; prints per input the best of three runs, the growth of the peak resident
 *          set in bytes per slice, and what the repair did. Each input runs in a process of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pass/lanes/solve.h"

typedef struct input {
    const char *name;
    void (*fill)(hd_lane_slice *slices, size_t count);
    double share; /* of the asked number of slices */
    int64_t threshold;
} input;

static uint64_t seed = 88172645463325252u;

static int64_t below(int64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed >> 16) % limit;
}

/* A call tree of depth 12 in preorder, as python stacks look. */
static void fill_nested(hd_lane_slice *s, size_t count)
{
    int64_t now = 1700000000000000000, ends[12];
    int depth = 0;
    for (size_t i = 0; i < count; i++) {
        now += 1 + below(900);
        if (depth == 12) now = ends[--depth];
        while (depth > 0 && ends[depth - 1] <= now) depth--;
        int64_t limit = depth > 0 ? ends[depth - 1] : INT64_MAX, end = now + (1000 << below(12));
        if (end > limit) end = limit;
        s[i] = (hd_lane_slice){now, end, 0};
        ends[depth++] = end;
    }
}

static void fill_nested_with_crossings(hd_lane_slice *s, size_t count)
{
    fill_nested(s, count);
    for (size_t i = 7; i < count; i += 7) s[i].end += i % 4 ? 300 : 20000;
}

static void fill_two_runs(hd_lane_slice *s, size_t count)
{
    fill_nested(s, count);
    hd_lane_slice *copy = malloc(count * sizeof *copy);
    if (!copy) exit(1);
    size_t at = 0;
    for (size_t i = 0; i < count; i += 2) copy[at++] = s[i];
    for (size_t i = 1; i < count; i += 2) copy[at++] = s[i];
    memcpy(s, copy, count * sizeof *s);
    free(copy);
}

static void fill_shuffled(hd_lane_slice *s, size_t count)
{
    fill_nested(s, count);
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)below((int64_t)i + 1);
        hd_lane_slice swap = s[i];
        s[i] = s[j];
        s[j] = swap;
    }
}

static void fill_clique(hd_lane_slice *s, size_t count)
{
    for (size_t i = 0; i < count; i++) s[i] = (hd_lane_slice){(int64_t)i, (int64_t)(count + i), 0};
}

static void fill_chain(hd_lane_slice *s, size_t count)
{
    for (size_t i = 0; i < count; i++) s[i] = (hd_lane_slice){(int64_t)i * 10000, (int64_t)i * 10000 + 15000, 0};
}

static void fill_random(hd_lane_slice *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t start = below((int64_t)count * 1000);
        s[i] = (hd_lane_slice){start, start + 1 + below(i % 1000 == 0 ? (int64_t)count * 10 : 20000), 0};
    }
}

/* Separate cliques just within the exact choice. */
static void fill_cliques(hd_lane_slice *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t base = (int64_t)(i / 2000) * 1000000, k = (int64_t)(i % 2000);
        s[i] = (hd_lane_slice){base + k, base + 4000 + k, 0};
    }
}

static void fill_packed(hd_lane_slice *s, size_t count)
{
    int64_t half = (int64_t)count / 2;
    for (int64_t i = 0; i < half; i++) s[i] = (hd_lane_slice){i, 10 * half - i, 0};
    for (size_t i = (size_t)half; i < count; i++) {
        s[i] = (hd_lane_slice){9 * half - (int64_t)i, 10 * half + 1 + (int64_t)i, 0};
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static int measure(const input *in, size_t count)
{
    hd_lane_slice *original = malloc(count * sizeof *original), *slices = malloc(count * sizeof *slices);
    if (!original || !slices) return 1;
    in->fill(original, count);
    double best = 1e9;
    hd_lane_result r = {0};
    memcpy(slices, original, count * sizeof *slices);
    long before = peak_kib(), after = before;
    for (int run = 0; run < 3; run++) {
        hd_error err = {0};
        memcpy(slices, original, count * sizeof *slices);
        double start = seconds();
        if (hd_lanes_solve(&r, slices, count, in->threshold, UINT64_MAX, &err) != HD_OK) return 1;
        double took = seconds() - start;
        if (took < best) best = took;
        if (run == 0) after = peak_kib();
    }
    printf("%-24s %9zu %9.1f ms %6.1f B  moved %8llu  snapped %8llu  lanes %7u\n", in->name, count, best * 1e3,
           (double)(after - before) * 1024 / (double)count, (unsigned long long)r.moved, (unsigned long long)r.snapped,
           r.lane_count);
    free(original);
    free(slices);
    return 0;
}

int main(int argc, char **argv)
{
    static const input inputs[] = {
        {"nested", fill_nested, 1, 5000},
        {"nested, 2 runs", fill_two_runs, 1, 5000},
        {"nested, shuffled", fill_shuffled, 1, 5000},
        {"1 in 7 crosses", fill_nested_with_crossings, 1.0 / 6, 5000},
        {"1 in 7 crosses, 0", fill_nested_with_crossings, 1.0 / 6, 0},
        {"chain", fill_chain, 1.0 / 6, 0},
        {"clique", fill_clique, 1.0 / 15, 0},
        {"cliques of 2000", fill_cliques, 1.0 / 6, 0},
        {"packed noise", fill_packed, 1.0 / 6, 4000000},
        {"packed genuine", fill_packed, 1.0 / 6, 0},
        {"random", fill_random, 1.0 / 6, 5000},
        {"random, 0", fill_random, 1.0 / 6, 0},
    };
    size_t slices = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000000;
    const char *only = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (only && strcmp(only, inputs[i].name) != 0) continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int failed = measure(&inputs[i], (size_t)((double)slices * inputs[i].share));
            fflush(stdout);
            _exit(failed);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
    }
    return 0;
}
