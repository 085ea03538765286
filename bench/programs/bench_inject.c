/* bench_inject.c - what a launch costs a program: 10,000 launches by the runtime, on the test double of CUDA
 *
 *     bench_inject [LAUNCHES [ROUNDS]]
 *
 * The double (tests/capture/fake_cuda) stands for the driver, and loads $CUDA_INJECTION64_PATH. bench/measure_inject.py
 * runs this without a tracer, with one that does nothing, and with ours, in turn. Prints ns a launch: the median of
 * batches of 100, and the whole loop's.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/fake_cuda/double_cuda.h"

enum { BATCH = 100 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_inject: %s\n", what);
    exit(1);
}

/* A few frames deep, as programs are. */
__attribute__((noinline)) static void launch(double_function *function, int depth)
{
    static const unsigned one[3] = {1, 1, 1};
    if (depth > 0)
        launch(function, depth - 1);
    else if (cudaLaunchKernel(function, one, one, 0, NULL) != 0)
        fail("a launch failed");
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
    unsigned launches = argc > 1 ? (unsigned)atoi(argv[1]) : 10000, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    double_context *context;
    double_function *function;
    unsigned batches = launches / BATCH * rounds, done = 0;
    uint64_t *times = calloc(batches + 1, sizeof *times), total = 0;
    if (batches == 0 || !times) fail("usage: bench_inject [LAUNCHES [ROUNDS]], 100 launches at least");
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleGetFunction(&function, NULL, "empty_kernel"))
        fail("no device");
    for (unsigned i = 0; i < BATCH; i++) launch(function, 12); /* what is new is made */
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < launches / BATCH; i++) {
            uint64_t start = double_now();
            for (unsigned j = 0; j < BATCH; j++) launch(function, 12);
            times[done] = double_now() - start;
            total += times[done++];
        }
        cuCtxSynchronize();
    }
    qsort(times, done, sizeof *times, by_value);
    printf("median_ns=%.1f mean_ns=%.1f launches=%u\n", (double)times[done / 2] / BATCH,
           (double)total / ((double)done * BATCH), done * BATCH);
    free(times);
    return 0;
}
