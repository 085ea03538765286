/* join_truth.h - synthetic runs whose joins are known: who launched what, held against what was found out */
#ifndef HD_TESTS_JOIN_TRUTH_H
#define HD_TESTS_JOIN_TRUTH_H

#include "heddle/analysis/attribution.h"
#include "heddle/synth.h"

/* A GPU side, its samples, and what is true of them. */
typedef struct join_case {
    hd_trace *gpu, *cpu;
    hd_synth_stacks truth;
} join_case;

/* Kernels whose launch was recorded on both sides. */
typedef struct join_score {
    uint64_t kernels;
    uint64_t right;          /* they have the stack of their launch */
    uint64_t exact;          /* … and from the very sample of it */
    uint64_t wrong;          /* they have another stack */
    uint64_t absent;         /* they have none */
    uint64_t lost;           /* kernels whose sample was lost, not among the above … */
    uint64_t lost_wrong;     /* … which have a stack all the same, and not that of their launch */
    uint64_t cases, refused; /* joins that were refused since the clock fits nowhere */
} join_score;

/* Small options, each seed its own: ranks, streams, layers, graphs, faults, and either kind of trace. */
hd_synth_options join_options(uint64_t seed);
/* with_ids: samples know their correlation. */
join_case join_case_make(const hd_synth_options *options, bool with_ids);
void join_case_free(join_case *c);
/* Joins, and adds to the score. Asserts what holds for every join: sums, and that no sample serves two launches. */
void join_case_score(join_score *score, const join_case *c, const hd_attribution_options *options);

#endif
