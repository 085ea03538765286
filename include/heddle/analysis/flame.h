/* flame.h - flame graphs: weights on a tree of frames, from traces, to folded text, speedscope, pprof, OTLP and SVG
 *
 * Weights are exact integers. A frame's total is its own weight plus that of the frames it called. The root's total
 * equals the trace's, to the nanosecond: weight without a stack is under "[no stack]".
 */
#ifndef HEDDLE_FLAME_H
#define HEDDLE_FLAME_H

#include "heddle/analysis/attribution.h"
#include "heddle/convert.h"
#include "heddle/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_flame_of {
    HD_FLAME_AUTO,     /* GPU time if there are GPU activities, else samples if there are any, else CPU time */
    HD_FLAME_GPU_TIME, /* ns of kernels, copies and memsets, under the stack that launched them */
    HD_FLAME_CPU_TIME, /* ns of slices on CPU threads, each under the slices that enclose it; self time where it has
                          callees */
    HD_FLAME_CPU_SELF, /* ns of slices on CPU threads minus that of the slices in them, by name, without callers */
    HD_FLAME_LAUNCHES, /* launches of GPU activities; a graph launch counts as one. An activity without a known launch
                          counts as one, and so does a stack sample of a launch that the GPU side does not have */
    HD_FLAME_BYTES,    /* bytes that copies and memsets moved */
    HD_FLAME_SAMPLES,  /* stack samples, by their weight where they have one, decimals to the nearest integer */
    HD_FLAME_OFS
} hd_flame_of;

/* "gpu-time" … Static. */
const char *hd_flame_of_name(hd_flame_of of);

typedef enum hd_flame_by {
    HD_FLAME_BY_NOTHING,
    HD_FLAME_BY_RANK,
    HD_FLAME_BY_DEVICE,
    HD_FLAME_BY_STREAM,
    HD_FLAME_BY_THREAD, /* the launching thread; of samples and CPU time the running thread */
    HD_FLAME_BY_STEP,   /* ProfilerStep#n, by the time of the launch. In all others such a frame is "ProfilerStep" */
    HD_FLAME_BY_NAME,   /* the kernel or slice itself comes first, its callers below it */
    HD_FLAME_BY_GROUP,  /* the user's group of the GPU activity (hd_class_rules_read), or [no group] */
    HD_FLAME_BYS
} hd_flame_by;

/* Zero-initialised is the default. */
typedef struct hd_flame_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_flame_of of;
    hd_flame_by by;
    hd_convert_time from, until; /* only [from, until): durations are cut there; launches, samples and bytes count by
                                    their start */
    const char *names; /* patterns as of hd_convert_options, for names of activities, slices, leaf frames, as shown or
                          as stored in the trace. Launches without an activity have no name and are excluded */
    const char *event; /* samples of this event only, as perf names it, "cycles:u"; NULL: the first event's. Weights of
                          different events cannot be summed. ARGUMENT: no such sample */
    bool reverse;      /* from the leaf to the root: an icicle of what runs, with its callers below */
    bool full_names;   /* names of kernels with template arguments and parameters */
    bool weightless;   /* GPU time: keep stacks of weight 0, those of launches whose activity is missing */
    const hd_attribution_options *attribution; /* NULL: the defaults */
} hd_flame_options;

/* Weights on a tree. The arrays belong to it. */
typedef struct hd_flame {
    hd_stacks *stacks;
    int64_t *self;   /* by node: weight that ends there */
    int64_t *total;  /* by node: self and of all frames called; total[0] is all. Saturates */
    uint64_t *count; /* by node: number of activities, slices, samples that ended there */
    size_t capacity; /* size of these arrays, in nodes; entries after the last node are 0 */
    hd_flame_of of;  /* never AUTO once something was added */
    bool reverse;
    bool weightless;  /* stacks of weight 0 were requested */
    uint32_t traces;  /* that were added */
    int64_t no_stack; /* weight under [no stack] */
    uint64_t no_stack_count, pending_count;
    int64_t removed;  /* weight excluded by names, from, until */
    int64_t negative; /* weight of samples with a negative weight, such as freed memory: they are excluded */
    uint64_t negative_count;
    char *event;        /* the event whose samples were counted; NULL: all. Traces added later are restricted to it */
    char *events;       /* events of the first trace that has more than one, with their counts; NULL: no trace has */
    uint64_t cut_names; /* frames that folded text cannot hold unchanged: with a ';' or a newline */
    const char *unit;   /* of self and total: "ns", "bytes", "launches"; of samples by their weights: "ns", "bytes",
                           "cycles", "instructions", "events"; "samples" where they have none. Static; "" while empty */
} hd_flame;

/* A new, empty flame graph. Errors: MEMORY. */
hd_status hd_flame_new(hd_flame **out, hd_error *err);
void hd_flame_free(hd_flame *flame);

/* Add a trace. `cpu` as of hd_attribute, may be NULL; samples are those of `cpu` if it is given. `attribution`: the
 * result of hd_attribute for the two, or NULL to compute it here. Several traces may be added, with the same `of` and
 * direction; a trace without a rank gets the number of traces added before it. GPU activities are leaves of their
 * stacks: "[GPU_Kernel]name", "[GPU_Memcpy]name", "[GPU_Memset]name"; a graph launch is "[GPU_Graph]call", a launch
 * whose activity is missing "[GPU_Launch_Pending]". Errors: of hd_attribute; ARGUMENT for patterns and times; LIMIT
 * (2^26 frames). After an error the flame can only be freed. Nothing to count is not an error: the flame stays
 * empty. */
hd_status hd_flame_add(hd_flame *flame, const hd_trace *trace, const hd_trace *cpu, const hd_attribution *attribution,
                       const hd_flame_options *options, hd_error *err);

/* ---- output ---- */

typedef enum hd_flame_format {
    HD_FLAME_FOLDED,
    HD_FLAME_SPEEDSCOPE,
    HD_FLAME_SVG,
    HD_FLAME_PPROF,
    HD_FLAME_OTLP, /* OpenTelemetry's profiles, v1development */
} hd_flame_format;

/* By the extension: .folded .txt, .speedscope.json .json, .svg, .pprof .pb, .otlp; false: any other. */
bool hd_flame_format_of(hd_flame_format *out, const char *path);

typedef struct hd_flame_write_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_flame_format format;
    const char *title;    /* NULL: a title that names what is counted */
    double min_percent;   /* SVG: narrower frames are left out, and the picture says how many; below 0: 0.05 */
    const hd_flame *base; /* SVG, folded: the older flame graph to compare with; widths are of the newer one; NULL:
                             none. Kernels are matched by short name */
    bool sync;
} hd_flame_write_options;

typedef struct hd_flame_written {
    uint64_t frames, frames_left_out; /* of the SVG: frames drawn, and frames left out */
    uint64_t stacks, bytes;
    uint64_t changed_names; /* frames whose names had to be changed. Folded: ';' (to ':'), control characters (to ' '),
                               broken UTF-8 (to U+FFFD), and the last space of a last frame "name 12" (to '_'), since
                               readers would take the number as a weight. Speedscope, pprof, OTLP: broken UTF-8,
                               empty names */
} hd_flame_written;

/* Whole or not at all; "-" is standard output. out may be NULL. Errors: IO, MEMORY. */
hd_status hd_flame_write(hd_flame_written *out, const hd_flame *flame, const char *path,
                         const hd_flame_write_options *options, hd_error *err);

/* The tree as a report with the table `frames` (a row per frame of at least 0.4 %, callers first), which an HTML page
 * draws (hd_report_print). An empty flame has no table. The caller frees *out. Errors: MEMORY. */
hd_status hd_flame_report(hd_report *out, const hd_flame *flame, hd_error *err);
/* The description of that report, for hd_report_part. Static. */
const hd_report_about *hd_flame_report_about(void);

#ifdef __cplusplus
}
#endif
#endif
