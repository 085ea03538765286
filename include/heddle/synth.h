/* synth.h - synthetic traces: what a profiler would have written of a training run that never was
 *
 * A seeded model of data-parallel training (steps, layers, ops, launches, kernels on streams, copies, collectives over
 * ranks) is played through, and every event of it goes into a trace as Kineto would write it. All arithmetic is in
 * integers: the same options give the same trace on every machine. Faults are put in on request and counted, so that
 * what an analysis finds can be held against what is there.
 */
#ifndef HEDDLE_SYNTH_H
#define HEDDLE_SYNTH_H

#include "heddle/format.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HD_SYNTH_ALL_RANKS = -1,
    HD_SYNTH_RANKS_MAX = 4096,
    HD_SYNTH_STREAMS_MAX = 32,
    HD_SYNTH_LAYERS_MAX = 1024,
};

/* Start from hd_synth_options_default(). Where all ranks go into one trace, counts of faults are for each of them. */
typedef struct hd_synth_options {
    uint64_t seed;
    uint64_t events;  /* about so many in the trace; overrides `steps`. From 2,000 up within 10 %. 0: by `steps` */
    uint32_t steps;   /* training steps; 0 leaves the metadata only */
    uint32_t layers;  /* transformer blocks of the model */
    uint32_t ranks;   /* processes that train together; from 2 up there are collectives */
    int32_t rank;     /* whose trace to make, or HD_SYNTH_ALL_RANKS: all in one, each under its own processes */
    uint32_t streams; /* compute streams of each GPU, from 1; collectives have one more */
    uint32_t jitter_percent; /* how far durations vary between ranks, 0 to 100 */
    bool python, flows, counters, memory;
    uint32_t crossings;    /* slices that cross others: half by less than 5 us, half genuine */
    uint32_t late_kernels; /* kernels that start before their launch */
    uint32_t orphans;      /* launches, kernels, flow points, begins and ends without partner, in turn */
    uint32_t negatives;    /* slices with a negative duration */
} hd_synth_options;

/* What was made. Sums over the ranks of the trace. */
typedef struct hd_synth_truth {
    uint64_t events, steps, ranks;
    uint64_t launches;                     /* runtime calls that put work on a GPU */
    uint64_t kernels, copies, collectives; /* collectives are kernels as well */
    uint64_t flows;                        /* both ends there; their points are twice as many */
    uint64_t crossings_small;              /* slices that cross one other by less than 5 us */
    uint64_t crossings_genuine;            /* slices that cross by more than 5 us … */
    uint64_t crossings_multi;              /* … of these, slices that cross three others at once */
    uint64_t crossing_pairs;               /* pairs of slices that cross */
    uint64_t late_kernels, negatives;
    uint64_t orphan_launches, orphan_kernels; /* a correlation on one side only */
    uint64_t orphan_flow_starts, orphan_flow_ends;
    uint64_t orphan_begins, orphan_ends;
    int64_t clock_offset_ns; /* of the (last) rank's clock against rank 0's, at the start */
    int64_t clock_drift_ppb; /* how much faster it runs */
    int64_t start_ns, end_ns;
} hd_synth_truth;

hd_synth_options hd_synth_options_default(void);

/* Make a trace; the caller frees it. options NULL: the default. truth may be NULL. Errors: ARGUMENT for options out of
 * range; LIMIT for more faults than a quarter of the events, or more events than 4,000,000,000; MEMORY. */
hd_status hd_synth_trace(hd_trace **out, hd_synth_truth *truth, const hd_synth_options *options, hd_error *err);

/* ---- damage: JSON as broken as profilers write it ---------------------------------------------------- */

typedef enum hd_synth_damage {
    HD_SYNTH_TRUNCATE,  /* the file ends within an event */
    HD_SYNTH_COMMA,     /* two commas, none, or one before a bracket */
    HD_SYNTH_NAN,       /* bare NaN, Infinity, -nan */
    HD_SYNTH_QUOTE,     /* a quote in a name that is not escaped */
    HD_SYNTH_CONTROL,   /* a raw newline or tab in a name */
    HD_SYNTH_UTF8,      /* bytes in a name that are no UTF-8 */
    HD_SYNTH_EMPTY,     /* {} and null among the events */
    HD_SYNTH_DUPLICATE, /* a key twice */
    HD_SYNTH_DAMAGE_KINDS
} hd_synth_damage;

/* Zero-initialised does no damage. */
typedef struct hd_synth_damage_options {
    uint32_t kinds; /* bit 1 << hd_synth_damage for each */
    uint32_t count; /* events to hit, of each kind */
    uint64_t seed;
} hd_synth_damage_options;

/* No event is hit twice. For TRUNCATE the count is of events cut off, the first of them in its middle; for EMPTY it is
 * of events added. */
typedef struct hd_synth_damage_truth {
    uint64_t hit[HD_SYNTH_DAMAGE_KINDS];
    uint64_t events_before; /* in the text as given */
    uint64_t events_hit;    /* sum of hit */
} hd_synth_damage_truth;

/* "truncate", "comma" … Static. */
const char *hd_synth_damage_name(hd_synth_damage kind);

/* Damage the text of a trace that has one event per line, as hd_trace_write writes it. *out (not terminated) is freed
 * with free(). truth may be NULL. Errors: ARGUMENT for unknown kinds, or if the text has too few events for them;
 * MEMORY. */
hd_status hd_synth_damage_text(char **out, size_t *out_size, const char *text, size_t size,
                               const hd_synth_damage_options *options, hd_synth_damage_truth *truth, hd_error *err);

/* hd_trace_write with damage: to any of the names that takes. */
hd_status hd_synth_write_damaged(const hd_trace *trace, const char *path, const hd_synth_damage_options *options,
                                 hd_synth_damage_truth *truth, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
