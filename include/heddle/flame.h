/* flame.h - flame graphs: weights on a tree of frames, from traces, to folded text, speedscope and SVG
 *
 * Weights are exact integers. What a frame weighs is its own weight and that of the frames it called; the root weighs
 * what the trace has of it, to the nanosecond: what has no stack is under "[no stack]".
 */
#ifndef HEDDLE_FLAME_H
#define HEDDLE_FLAME_H

#include "heddle/attribution.h"
#include "heddle/convert.h"
#include "heddle/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_flame_of {
    HD_FLAME_AUTO,     /* GPU time if there is GPU work, else samples if there are any, else CPU time */
    HD_FLAME_GPU_TIME, /* ns of kernels, copies and sets, under the stack that launched them */
    HD_FLAME_CPU_TIME, /* ns of slices on CPU threads, each under those around it; own time where it has callees */
    HD_FLAME_CPU_SELF, /* ns of slices on CPU threads less that of the slices in them, by name, without callers */
    HD_FLAME_LAUNCHES, /* launches of GPU work: a graph launch is one. Work whose launch is not known counts as one, and
                          so does a stack sample of a launch that the GPU side does not have */
    HD_FLAME_BYTES,    /* bytes that copies and sets moved */
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
    HD_FLAME_BY_THREAD, /* that launched; of samples and CPU time: that ran */
    HD_FLAME_BY_STEP,   /* ProfilerStep#n, by the time of the launch. In all others such a frame is "ProfilerStep" */
    HD_FLAME_BY_NAME,   /* of the kernel, slice … itself: it comes first, its callers below */
    HD_FLAME_BYS
} hd_flame_by;

/* Zero-initialised is the default. */
typedef struct hd_flame_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_flame_of of;
    hd_flame_by by;
    hd_convert_time from, until; /* only what lies in [from, until): time is cut there; launches, samples, and bytes
                                    count where they begin */
    const char *names; /* patterns as of hd_convert_options: names of the work, slices, leaf frames counted, as
                          shown or as the trace has them. Launches without work have none and are left out */
    const char *event; /* samples: count those of this event, as perf names it, "cycles:u"; NULL: of the first. Only
                          weights of one event make a sum. ARGUMENT: there is no such sample */
    bool reverse;      /* from the leaf to the root: an icicle of what runs, then who called it */
    bool full_names;   /* names of kernels with template arguments and parameters */
    bool weightless;   /* of GPU time, keep stacks of weight 0: those of launches whose work is not there */
    const hd_attribution_options *attribution; /* NULL: the defaults */
} hd_flame_options;

/* Weights on a tree. The arrays belong to it. */
typedef struct hd_flame {
    hd_stacks *stacks;
    int64_t *self;   /* by node: weight that ends there */
    int64_t *total;  /* by node: self and of all frames called; total[0] is all. Saturates */
    uint64_t *count; /* by node: how many works, slices, samples ended there */
    size_t capacity; /* of these arrays, in nodes: zeros behind the last */
    hd_flame_of of;  /* never AUTO once something was added */
    bool reverse;
    bool weightless;  /* stacks of weight 0 were requested */
    uint32_t traces;  /* that were added */
    int64_t no_stack; /* weight under [no stack] */
    uint64_t no_stack_count, pending_count;
    int64_t removed;  /* weight left out by names, from, until */
    int64_t negative; /* weight of samples that weigh less than 0, as what was freed does: they are left out */
    uint64_t negative_count;
    char *event;        /* whose samples were counted; NULL: of all. Traces added later are held to it */
    char *events;       /* those of the first trace that has several, with their counts; NULL: there were not several */
    uint64_t cut_names; /* frames that folded text cannot hold as they are: a ';' or a newline in them */
    const char *unit;   /* of self and total: "ns", "bytes", "launches"; of samples by their weights: "ns", "bytes",
                           "cycles", "instructions", "events"; "samples" where they have none. Static; "" while empty */
} hd_flame;

/* An empty one. Errors: MEMORY. */
hd_status hd_flame_new(hd_flame **out, hd_error *err);
void hd_flame_free(hd_flame *flame);

/* Add what a trace has. `cpu` as of hd_attribute, may be NULL; where samples are counted, they are those of `cpu` if it
 * is there. `attribution`: what hd_attribute said of the two, or NULL to ask it here. Several traces may be added (the
 * same `of` and direction); a trace that does not say its rank has the number of those added before. GPU work stands
 * under its stack as "[GPU_Kernel]name", "[GPU_Memcpy]name", "[GPU_Memset]name"; a launch of a graph is
 * "[GPU_Graph]call", one whose work is not there "[GPU_Launch_Pending]". Errors: of hd_attribute; ARGUMENT for
 * patterns and times; LIMIT (2^26 frames). After one the flame can only be freed. Nothing to count is no error: the
 * flame stays empty. */
hd_status hd_flame_add(hd_flame *flame, const hd_trace *trace, const hd_trace *cpu, const hd_attribution *attribution,
                       const hd_flame_options *options, hd_error *err);

/* ---- output ---- */

typedef enum hd_flame_format { HD_FLAME_FOLDED, HD_FLAME_SPEEDSCOPE, HD_FLAME_SVG } hd_flame_format;

/* By the extension: .folded .txt, .speedscope.json .json, .svg; false: none of them. */
bool hd_flame_format_of(hd_flame_format *out, const char *path);

typedef struct hd_flame_write_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_flame_format format;
    const char *title;    /* NULL: one that says what is counted */
    double min_percent;   /* SVG: narrower frames are left out, and the picture says how many; below 0: 0.05 */
    const hd_flame *base; /* SVG, folded: the older one, to be compared with: widths by the newer; NULL: none. Kernels
                             are the same where their short names are */
    bool sync;
} hd_flame_write_options;

typedef struct hd_flame_written {
    uint64_t frames, frames_left_out; /* of the SVG, as drawn and not */
    uint64_t stacks, bytes;
    uint64_t changed_names; /* frames whose names had to be changed. Folded: ';' (to ':'), control characters (to ' '),
                               broken UTF-8 (to U+FFFD), and the last space of a last frame "name 12" (to '_'), whose
                               number readers would take for a weight. Speedscope: broken UTF-8 */
} hd_flame_written;

/* Whole or not at all; "-" is standard output. out may be NULL. Errors: IO, MEMORY. */
hd_status hd_flame_write(hd_flame_written *out, const hd_flame *flame, const char *path,
                         const hd_flame_write_options *options, hd_error *err);

/* The tree as a report with the table `frames` (a row per frame of at least 0.4 %, callers first), which an HTML page
 * draws (hd_report_print). An empty flame has no table. The caller frees *out. Errors: MEMORY. */
hd_status hd_flame_report(hd_report *out, const hd_flame *flame, hd_error *err);
/* What it is, for hd_report_part. Static. */
const hd_report_about *hd_flame_report_about(void);

#ifdef __cplusplus
}
#endif
#endif
