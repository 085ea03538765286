/* attribution.h - which stack launched which GPU activity
 *
 * Rules, the most reliable first; each launch gets its stack from the first rule that has one:
 *   GIVEN     the trace has the stack of the activity (`sf`), for example after hd_attribution_annotate
 *   ID        a stack sample with the correlation id of the launch
 *   THREAD    samples and launches of one (pid, tid) in order of time, with an estimated clock offset. Where one
 *             side does not know the pid, the tid alone, if one thread of each side has it
 *   SEQUENCE  the same for a thread whose ids differ on the GPU side: the two threads are matched by their whole
 *   sequences
 *   ORDER     the same where the GPU side has no launches, only kernels with ids that give their order
 *   SLICES    the slices that enclose the launch on its thread: Kineto's python_function, cpu_op, user_annotation.
 *             Without them the launch itself is the stack, unless the trace has recorded stacks: then it is missing
 * Samples and launches match one to one; all activities of a graph belong to the graph's launch.
 */
#ifndef HEDDLE_ATTRIBUTION_H
#define HEDDLE_ATTRIBUTION_H

#include "heddle/analysis/launches.h"
#include "heddle/stacks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_stack_rule {
    HD_RULE_NONE,
    HD_RULE_GIVEN,
    HD_RULE_ID,
    HD_RULE_THREAD,
    HD_RULE_SEQUENCE,
    HD_RULE_ORDER,
    HD_RULE_SLICES,
    HD_RULES
} hd_stack_rule;

/* "none", "given", "id", "thread" … Static. */
const char *hd_stack_rule_name(hd_stack_rule rule);

enum { HD_TOLERANCE_NS = 10000000 };

/* Zero-initialised is the default. */
typedef struct hd_attribution_options {
    size_t size;          /* of this struct; see "Options" in status.h */
    int64_t tolerance_ns; /* how far a sample may be from its launch after the clock offset; 0: HD_TOLERANCE_NS */
    bool force;           /* join also where no clock offset fits */
    bool forward;    /* place backward activities under the forward op they belong to (fwdbwd flows, Sequence number) */
    bool has_offset; /* clock_offset_ns is known: do not estimate */
    int64_t clock_offset_ns; /* time of the GPU side minus time of the samples */
    unsigned threads;        /* 0: one per core */
} hd_attribution_options;

/* A sample that was matched to no launch. */
typedef struct hd_pending_stack {
    uint64_t row; /* sample of the CPU trace */
    uint32_t stack;
} hd_pending_stack;

/* How well the clocks agree. */
typedef struct hd_clock_fit {
    bool known;        /* an offset was estimated or given; ids alone need none */
    int64_t offset_ns; /* GPU clock minus clock of the samples; with drift: at the middle of the trace */
    double drift_ppm;  /* how fast the offset grows; 0: no drift was detected */
    int64_t spread_ns; /* median distance of a matched sample to its launch, after the offset */
    int64_t worst_ns;  /* the largest such distance */
    uint64_t pairs;    /* samples matched with a launch that the estimate uses */
    bool ambiguous;    /* another offset fits nearly as many samples */
} hd_clock_fit;

typedef struct hd_attribution {
    hd_stacks *stacks;
    hd_launches *launches;   /* of the GPU side */
    uint32_t *launch_stack;  /* by launch: node, HD_STACK_NONE */
    uint8_t *launch_rule;    /* by launch: hd_stack_rule */
    uint64_t *launch_sample; /* by launch: row of its sample in the CPU trace, UINT64_MAX: none */
    uint32_t *work_stack;    /* by work: node of its launch's stack, with the stack that created its graph node below
                                it, unless that would take too much memory */
    uint8_t *work_rule;      /* by work */
    hd_pending_stack *pending;
    size_t pending_count;
    uint64_t sample_count;       /* samples of the CPU side that were used: those with a stack */
    uint64_t without_stack;      /* samples without a stack */
    uint64_t not_launches;       /* of sample_count: samples whose stack or event launches nothing */
    uint64_t works_by[HD_RULES]; /* sums over works */
    uint64_t launches_by[HD_RULES];
    int64_t work_ns_by[HD_RULES];
    uint64_t kernels_of_graphs;
    uint64_t forward_joined; /* activities that `forward` placed under a forward op */
    hd_clock_fit clock;
    uint64_t threads_by_id, threads_by_sequence, threads_unmatched; /* of samples */
} hd_attribution;

/* Finds the stack that launched each activity of `gpu`, from the samples of `cpu` (NULL: those of `gpu`, if any) and
 * from the slices of `gpu`. Both may be one trace. The caller frees *out. Errors: MEMORY, LIMIT, after which *out is
 * NULL; DAMAGED when no clock offset, or more than one, brings most samples within the tolerance: *out then has the
 * clock's fit, and no stack matched by time. */
hd_status hd_attribute(hd_attribution **out, const hd_trace *gpu, const hd_trace *cpu,
                       const hd_attribution_options *options, hd_error *err);
void hd_attribution_free(hd_attribution *attribution);

/* A copy of the GPU trace with the result added: activities get `sf` and an argument "stack" (its text,
 * "main;train;…"); the trace gets stackFrames, the samples of `cpu` (on the GPU side's clock and tracks, each with the
 * "correlation" of its launch), and a flow "stack" from each launch to its activities where no flow exists. The ledger
 * counts activities without a stack and samples without an activity. hd_attribute on the copy gives the same result. */
hd_status hd_attribution_annotate(hd_trace **out, const hd_attribution *attribution, const hd_trace *gpu,
                                  const hd_trace *cpu, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
