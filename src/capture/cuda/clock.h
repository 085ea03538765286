/* clock.h - CUPTI's times on the session's clock, CLOCK_MONOTONIC
 *
 * From CUDA 11.8 on CUPTI can be configured to use our clock for everything. Whether it does is measured. If not, pairs
 * of both clocks, taken at the start and every second, make a piecewise linear map. Used by the tracer's thread.
 */
#ifndef HD_CAPTURE_CUDA_CLOCK_H
#define HD_CAPTURE_CUDA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { CUDA_CLOCK_PAIRS = 128 };

typedef struct cuda_clock_pair {
    int64_t theirs, ours, uncertainty_ns;
} cuda_clock_pair;

typedef struct cuda_clock {
    bool is_ours;                            /* CUPTI's times need no map */
    bool has_broken;                         /* CUPTI was configured to use ours, and does not */
    cuda_clock_pair pairs[CUDA_CLOCK_PAIRS]; /* a ring, times ascend */
    uint32_t count, first;
} cuda_clock;

/* The time by CUPTI; false: unknown. */
typedef bool cuda_clock_read(int64_t *out, void *user);

/* Takes a pair, the best of several. is_told: CUPTI was configured to use our clock. */
void cuda_clock_sample(cuda_clock *clock, bool is_told, cuda_clock_read *read, void *user);
/* As if sampled: for tests. */
void cuda_clock_add(cuda_clock *clock, const cuda_clock_pair *pair);
int64_t cuda_clock_map(const cuda_clock *clock, int64_t theirs);
/* The last pair; NULL: none. */
const cuda_clock_pair *cuda_clock_last(const cuda_clock *clock);

#endif
