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
#include "heddle/stacks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HD_SYNTH_ALL_RANKS = -1,
    HD_SYNTH_RANKS_MAX = 4096,
    HD_SYNTH_STREAMS_MAX = 32,
    HD_SYNTH_LAYERS_MAX = 1024,
    HD_SYNTH_GRAPH_MAX = 4096,
    HD_SYNTH_COMM_MAX = 15, /* bytes of a thread's name, as Linux has it */
};

/* What makes others of a job wait, or its times lie. */
typedef enum hd_synth_job_fault_kind {
    HD_SYNTH_SLOW_GPU,      /* where: a rank; its GPU takes `amount` percent longer for kernels and copies */
    HD_SYNTH_SLOW_HOST,     /* where: a host; its threads take `amount` percent longer for all they do */
    HD_SYNTH_LATE_LOADER,   /* where: a rank; each of its batches comes `amount` ns later */
    HD_SYNTH_SHIFTED_CLOCK, /* where: a host; its clock is `amount` ns ahead */
    HD_SYNTH_JOB_FAULTS
} hd_synth_job_fault_kind;

/* Put in at the rank, or host, `where`; amount 0: not. Hosts are counted as ranks are without host_ranks. */
typedef struct hd_synth_job_fault {
    uint32_t where;
    int64_t amount; /* percent: 0 to 10,000; ns: up to an hour, of the clock either way */
} hd_synth_job_fault;

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
    uint32_t host_ranks;     /* ranks of a host, which share its clock and name it; 0: each has a clock of its own */
    hd_synth_job_fault job_faults[HD_SYNTH_JOB_FAULTS]; /* at most one of each kind */
    bool python, flows, counters, memory;
    uint32_t crossings;    /* slices that cross others: half by less than 5 us, half genuine */
    uint32_t late_kernels; /* kernels that start before their launch */
    uint32_t orphans;      /* launches, kernels, flow points, begins and ends without partner, in turn */
    uint32_t negatives;    /* slices with a negative duration */
    uint32_t graphs;       /* kernels of the graph that each layer launches in addition to its ops; 0: no graphs */
    bool cupti;   /* what an injected CUPTI library records, under its names and on a clock of Unix time: calls of the
                   runtime, kernels, copies. No ops, flows, counters, memory; no crossings and negatives either */
    bool program; /* a random program in the place of the training run: its calls, streams, events and waits are drawn
                     from the seed. Of the other options it has steps and flows; one rank; no faults, no samples */
    const char *const *what_ifs; /* changes that are made to the program, in turn, before it runs: all else stays as it
                                    is drawn. See below */
    size_t what_if_count;
    /* Of the samples, see hd_synth_trace_with_stacks. */
    uint32_t stack_jitter_us; /* how far each sample's time is moved at most; the order within a thread stays */
    int64_t stack_offset_ns;  /* clock of the samples minus clock of the trace */
    uint64_t stack_lost;      /* samples that are missing */
    uint32_t stack_paths;     /* each launch is reached by one of so many ways, in turn; 0: by the same each time */
    bool stack_ids;           /* threads have other ids in the samples than in the trace */
    const char *stack_comm;   /* name of all threads, of 1 to 15 bytes; NULL: "python3", "pt_autograd_0" */
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

/* Changes of a program. Patterns are globs of names: of kernels and copies, of calls, and of slices of threads.
 *   scale:PATTERN=FACTOR    what matches takes so many times as long; of a slice, what the thread spends in it itself
 *   remove:PATTERN          what matches goes: work with its call, a slice with all that is in it
 *   fuse:PATTERN            kernels that match and follow one another on a stream are one, launched once
 *   launch-cost:TIME        each call that launches takes so long ("2us")
 *   streams:N               kernels are on N streams
 *   overlap                 communication has a stream of its own, and waits for nothing but its launch and events
 *   plant:CODE=TIME         each step has the cause of a finding ("data-loading=2ms"), before its forward pass: of all else
 *                           nothing changes
 *   graph                   the first launch of a step is of all its work; of the rest the thread only waits */

hd_synth_options hd_synth_options_default(void);

/* Make a trace; the caller frees it. options NULL: the default. truth may be NULL. Errors: ARGUMENT for options out of
 * range; LIMIT for more faults than a quarter of the events, or more events than 4,000,000,000; MEMORY. */
hd_status hd_synth_trace(hd_trace **out, hd_synth_truth *truth, const hd_synth_options *options, hd_error *err);

/* ---- stacks: what a uprobe on the launching functions would have recorded ---- */

/* A call of cudaLaunchKernel, cudaLaunchKernelExC or cudaGraphLaunch. */
typedef struct hd_synth_sample {
    int64_t time_ns;     /* on the clock of the samples */
    int64_t correlation; /* of the launch: what a join has to find */
    int64_t pid, tid;
    uint32_t stack; /* node of the tree, its leaf the call */
    uint32_t comm;  /* name of the thread, in the names of the tree */
    uint32_t cpu;
    bool lost; /* not in what is written */
} hd_synth_sample;

/* Zero-initialise; free with hd_synth_stacks_deinit. */
typedef struct hd_synth_stacks {
    hd_stacks *stacks;
    hd_synth_sample *samples; /* by time, the lost ones as well: each launch has its stack here */
    size_t count, lost;
} hd_synth_stacks;

/* hd_synth_trace, and the stacks of its launches. The frames are those of native code, and of Python where the options
 * have it. The trace is the same as without them. */
hd_status hd_synth_trace_with_stacks(hd_trace **out, hd_synth_stacks *stacks, hd_synth_truth *truth,
                                     const hd_synth_options *options, hd_error *err);
void hd_synth_stacks_deinit(hd_synth_stacks *stacks);

/* The samples that are not lost as a trace: rows of HD_KIND_SAMPLE with the arguments cpu and truth (the correlation,
 * under a key that no join reads), and on request `correlation`. Errors: MEMORY. */
hd_status hd_synth_stacks_trace(hd_trace **out, const hd_synth_stacks *stacks, bool correlation, hd_error *err);

/* The same as extended folded text: "time comm pid tid cpu main;…;cudaLaunchKernel". By the name, compressed; the file
 * appears whole or not at all. Errors: IO, MEMORY. */
hd_status hd_synth_stacks_write(const hd_synth_stacks *stacks, const char *path, hd_error *err);

/* A trace that was made with `cupti` as such a library writes it itself: a line of JSON for each record, of the types
 * RUNTIME, CONCURRENT_KERNEL, MEMCPY and MEMSET. Whole or not at all. Errors: IO, MEMORY; ARGUMENT for other traces. */
hd_status hd_synth_cupti_write(const hd_trace *trace, const char *path, hd_error *err);

/* ---- damage: JSON as broken as profilers write it ---- */

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
