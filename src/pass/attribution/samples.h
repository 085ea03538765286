/* samples.h - data that gather.c collects for samples.c and order.c */
#ifndef HD_PASS_ATTRIBUTION_SAMPLES_H
#define HD_PASS_ATTRIBUTION_SAMPLES_H

#include "pass/attribution/attribution.h"
#include "pass/attribution/marks.h"
#include "trace/strings.h"

/* Where something ran, by (pid, tid) as text, equal for both traces. */
typedef struct attribution_place {
    uint32_t pid, tid;       /* ids of their texts, HD_STRING_NONE: unknown */
    size_t sample, samples;  /* first in join.samples, how many */
    size_t launch, launches; /* likewise */
} attribution_place;

typedef struct attribution_join {
    hd_attribution *a;
    const hd_trace *gpu, *cpu;
    const hd_attribution_options *options;
    int64_t tolerance;
    uint64_t large;               /* hd_trace_large_bytes of the GPU side, for all lists by sample and by launch */
    bool own;                     /* the samples are the GPU trace's own: they may not be launches */
    hd_strings pids, tids, names; /* names of kernels: short and full ones */
    hd_strings keys;              /* "pid\0tid"; their ids minus one are the places */
    attribution_place *places;
    size_t place_count, place_capacity;
    uint32_t *gpu_places; /* by track of the GPU side */

    /* By sample in row order; a mark's index is one of these. */
    uint64_t *sample_rows;
    uint32_t *sample_stacks; /* nodes of a->stacks */
    uint32_t *sample_places;
    int64_t *sample_ids; /* correlation, 0: none */
    size_t sample_count;
    bool has_ids;
    uint8_t *used; /* by sample: joined, or launches nothing */

    /* With a time and not used; by place, then time. */
    hd_mark *samples, *launches;
    size_t mark_count, launch_count;
    hd_mark *unsorted; /* by sample */
    uint32_t *joined;  /* by launch: its sample, HD_NONE: none */
} attribution_join;

/* Gathers all samples of the CPU side that may be launches: everything except places[].sample and samples. */
hd_status attribution_gather_samples(attribution_join *j, hd_error *err);
/* Marks of both sides without a rule, by place. Launches of kinds that no sample has are left out. Samples of a thread
 * with an unknown process go to the place of its launches, if its tid identifies it. */
hd_status attribution_gather_marks(attribution_join *j, hd_error *err);
void attribution_join_deinit(attribution_join *j);

/* The same, remembered for the tracks of the GPU side. */
uint32_t attribution_gpu_place(attribution_join *j, uint32_t track);
/* Sets the mark's names from a kernel's name in a trace. */
bool attribution_name_mark(attribution_join *j, hd_mark *mark, hd_string name);

/* A launch has its stack. */
void attribution_take(attribution_join *j, uint32_t launch, uint32_t sample, hd_stack_rule rule);

hd_status attribution_by_id(attribution_join *j, hd_error *err);
hd_status attribution_by_time(attribution_join *j, hd_error *err);
hd_status attribution_by_order(attribution_join *j, hd_error *err);

#endif
