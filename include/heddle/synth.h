/* synth.h - synthetic traces: what a profiler would have recorded of a simulated training run
 *
 * A seeded model of data-parallel training (steps, layers, ops, launches, kernels on streams, copies, collectives over
 * ranks) is simulated, and its events are put into a trace as Kineto would write them. All arithmetic is in integers:
 * the same options give the same trace on every machine. Faults are injected on request and counted, so that the
 * findings of an analysis can be compared with the truth.
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

/* A fault that makes other ranks of a job wait, or times wrong. */
typedef enum hd_synth_job_fault_kind {
    HD_SYNTH_SLOW_GPU,      /* where: a rank; its GPU takes `amount` percent longer for kernels and copies */
    HD_SYNTH_SLOW_HOST,     /* where: a host; its threads take `amount` percent longer for all they do */
    HD_SYNTH_LATE_LOADER,   /* where: a rank; each of its batches comes `amount` ns later */
    HD_SYNTH_SHIFTED_CLOCK, /* where: a host; its clock is `amount` ns ahead */
    HD_SYNTH_JOB_FAULTS
} hd_synth_job_fault_kind;

/* Injected at the rank, or host, `where`; amount 0: off. Without host_ranks, each rank is a host. */
typedef struct hd_synth_job_fault {
    uint32_t where;
    int64_t amount; /* percent: 0 to 10,000; ns: up to an hour, of the clock either way */
} hd_synth_job_fault;

/* Start from hd_synth_options_default(). If all ranks are in one trace, the counts of faults are per rank. */
typedef struct hd_synth_options {
    uint64_t seed;
    uint64_t events;  /* approximate number of events in the trace, within 10 % if 2,000 or more; overrides `steps`. 0:
                         by `steps` */
    uint32_t steps;   /* training steps; 0: metadata only */
    uint32_t layers;  /* transformer blocks of the model */
    uint32_t ranks;   /* processes that train together; from 2 up there are collectives */
    int32_t rank;     /* the rank of the trace, or HD_SYNTH_ALL_RANKS: all in one trace, each with its own processes */
    uint32_t streams; /* compute streams of each GPU, from 1; collectives have one more */
    uint32_t jitter_percent; /* how far durations vary between ranks, 0 to 100 */
    uint32_t host_ranks;     /* ranks per host, which share its clock and name; 0: each rank has a clock of its own */
    hd_synth_job_fault job_faults[HD_SYNTH_JOB_FAULTS]; /* at most one of each kind */
    bool python, flows, counters, memory;
    uint32_t crossings;    /* slices that cross others: half by less than 5 us, half genuine */
    uint32_t late_kernels; /* kernels that start before their launch */
    uint32_t orphans;      /* launches, kernels, flow points, begins and ends without a partner, in turn */
    uint32_t negatives;    /* slices with a negative duration */
    uint32_t graphs;       /* kernels of the graph that each layer launches in addition to its ops; 0: no graphs */
    bool cupti;   /* as recorded by an injected CUPTI library, with its names and on a clock of Unix time: runtime
                     calls, kernels, copies. No ops, flows, counters, memory, crossings or negatives */
    bool program; /* a random program instead of the training run: its calls, streams, events and waits are drawn from
                     the seed. Uses only the options steps and flows; one rank; no faults, no samples */
    const char *const *what_ifs; /* changes to the program, applied in order before it runs; everything else stays as
                                    drawn. See below */
    size_t what_if_count;
    /* Of the samples, see hd_synth_trace_with_stacks. */
    uint32_t stack_jitter_us; /* by how much each sample's time is moved at most; the order within a thread does not
                                 change */
    int64_t stack_offset_ns;  /* clock of the samples minus clock of the trace */
    uint64_t stack_lost;      /* samples that are missing */
    uint32_t stack_paths;     /* each launch is reached by one of this many call paths, in turn; 0: always by the same
                                 one */
    bool stack_ids;           /* thread ids differ between samples and trace */
    const char *stack_comm;   /* name of all threads, of 1 to 15 bytes; NULL: "python3", "pt_autograd_0" */
} hd_synth_options;

/* The truth about the trace. Sums over its ranks. */
typedef struct hd_synth_truth {
    uint64_t events, steps, ranks;
    uint64_t launches;                     /* runtime calls that launch GPU activities */
    uint64_t kernels, copies, collectives; /* collectives are kernels as well */
    uint64_t flows;                        /* with both ends; their points are twice as many */
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
 *   scale:PATTERN=FACTOR    multiplies durations; of a slice, the self time of the thread in it
 *   remove:PATTERN          removes matches: an activity with its API call, a slice with all nested slices
 *   fuse:PATTERN            consecutive matching kernels of a stream become one kernel, launched once
 *   launch-cost:TIME        each launching API call takes this long ("2us")
 *   streams:N               kernels are on N streams
 *   overlap                 communication has its own stream, and waits only for its launch and events
 *   plant:CODE=TIME         adds the cause of a finding to each step ("data-loading=2ms"), before the forward pass;
 *                           changes nothing else
 *   graph                   the first launch of a step launches all its activities; later calls only wait */

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
    uint32_t stack; /* node of the tree, whose leaf is the call */
    uint32_t comm;  /* name of the thread, in the tree's names */
    uint32_t cpu;
    bool lost; /* not in the written samples */
} hd_synth_sample;

/* Zero-initialise; free with hd_synth_stacks_deinit. */
typedef struct hd_synth_stacks {
    hd_stacks *stacks;
    hd_synth_sample *samples; /* by time, including the lost ones: each launch has its stack here */
    size_t count, lost;
} hd_synth_stacks;

/* hd_synth_trace together with the stacks of its launches. Frames are native, and Python with the Python options. The
 * trace is the same as without stacks. */
hd_status hd_synth_trace_with_stacks(hd_trace **out, hd_synth_stacks *stacks, hd_synth_truth *truth,
                                     const hd_synth_options *options, hd_error *err);
void hd_synth_stacks_deinit(hd_synth_stacks *stacks);

/* A trace of the samples that are not lost: rows of HD_KIND_SAMPLE with the arguments cpu and truth (the correlation,
 * under a key that no join reads), and on request `correlation`. Errors: MEMORY. */
hd_status hd_synth_stacks_trace(hd_trace **out, const hd_synth_stacks *stacks, bool correlation, hd_error *err);

/* The same as extended folded text: "time comm pid tid cpu main;…;cudaLaunchKernel". Compressed as the name says; the
 * file appears whole or not at all. Errors: IO, MEMORY. */
hd_status hd_synth_stacks_write(const hd_synth_stacks *stacks, const char *path, hd_error *err);

/* A trace made with `cupti`, in the format of such a library: a line of JSON per record, of the types RUNTIME,
 * CONCURRENT_KERNEL, MEMCPY and MEMSET. The file appears whole or not at all. Errors: IO, MEMORY; ARGUMENT for other
 * traces. */
hd_status hd_synth_cupti_write(const hd_trace *trace, const char *path, hd_error *err);

/* ---- damage: JSON as broken as profilers write it ---- */

typedef enum hd_synth_damage {
    HD_SYNTH_TRUNCATE,  /* the file ends within an event */
    HD_SYNTH_COMMA,     /* two commas, none, or one before a bracket */
    HD_SYNTH_NAN,       /* bare NaN, Infinity, -nan */
    HD_SYNTH_QUOTE,     /* an unescaped quote in a name */
    HD_SYNTH_CONTROL,   /* a raw newline or tab in a name */
    HD_SYNTH_UTF8,      /* invalid UTF-8 in a name */
    HD_SYNTH_EMPTY,     /* {} and null among the events */
    HD_SYNTH_DUPLICATE, /* a key twice */
    HD_SYNTH_DAMAGE_KINDS
} hd_synth_damage;

/* Zero-initialised does no damage. */
typedef struct hd_synth_damage_options {
    uint32_t kinds; /* bits 1 << hd_synth_damage */
    uint32_t count; /* events to damage, of each kind */
    uint64_t seed;
} hd_synth_damage_options;

/* No event is damaged twice. TRUNCATE: `count` events are cut off, the first in its middle; EMPTY: `count` are
 * added. */
typedef struct hd_synth_damage_truth {
    uint64_t hit[HD_SYNTH_DAMAGE_KINDS];
    uint64_t events_before; /* in the text before damage */
    uint64_t events_hit;    /* sum of hit */
} hd_synth_damage_truth;

/* "truncate", "comma" … Static. */
const char *hd_synth_damage_name(hd_synth_damage kind);

/* Damage the text of a trace that has one event per line, as hd_trace_write writes it. *out (not terminated) is freed
 * with free(). truth may be NULL. Errors: ARGUMENT for unknown kinds, or too few events in the text; MEMORY. */
hd_status hd_synth_damage_text(char **out, size_t *out_size, const char *text, size_t size,
                               const hd_synth_damage_options *options, hd_synth_damage_truth *truth, hd_error *err);

/* hd_trace_write with damage, to any name that it accepts. */
hd_status hd_synth_write_damaged(const hd_trace *trace, const char *path, const hd_synth_damage_options *options,
                                 hd_synth_damage_truth *truth, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
