/* marks.h - matches marks on two clocks; arrays in, arrays out
 *
 * Samples and launches of one thread come in the same order, but some of either may be missing, their clocks differ by
 * an unknown offset (and drift slowly), and a training loop looks the same from step to step. Matching relies on the
 * rhythm of launches, and on kernel names where the stack has them.
 *
 * Cost of a pair  log2(1 + (residual / spread)^2) bits, how surprising the residual is if most are of the size of
 *                 the spread and a few are arbitrary; different names or kinds exclude a pair.
 */
#ifndef HD_PASS_ATTRIBUTION_MARKS_H
#define HD_PASS_ATTRIBUTION_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#define HD_MARK_NONE UINT32_MAX
#define HD_MARK_TIME_LIMIT (INT64_MAX / 2) /* times of marks are below it, so that differences fit */

typedef struct hd_mark {
    int64_t time_ns;
    uint32_t short_name; /* id of the kernel's name without template arguments, 0: unknown. Equal ids, equal names */
    uint32_t full_name;  /* likewise with them */
    uint32_t index;      /* the caller's */
    uint8_t sort;        /* hd_launch_sort; 0 fits all */
    bool hint;           /* of a sample: the name counts only if it agrees */
} hd_mark;

typedef enum hd_mark_fit {
    HD_MARKS_APART, /* they cannot belong together */
    HD_MARKS_NEUTRAL,
    HD_MARKS_ALIKE, /* equal except for template arguments */
    HD_MARKS_SAME,
} hd_mark_fit;

static inline hd_mark_fit hd_marks_fit(const hd_mark *sample, const hd_mark *launch)
{
    if (sample->sort && launch->sort && sample->sort != launch->sort) return HD_MARKS_APART;
    if (!sample->short_name || !launch->short_name) return HD_MARKS_NEUTRAL;
    if (sample->short_name != launch->short_name) return sample->hint ? HD_MARKS_NEUTRAL : HD_MARKS_APART;
    return sample->full_name == launch->full_name ? HD_MARKS_SAME : HD_MARKS_ALIKE;
}

/* 256ths of bits: log2(1 + (residual / spread)^2), by straight lines between powers of two. */
enum { HD_MARK_BIT = 256 };
static inline int32_t hd_mark_cost(int64_t residual_ns, float per_spread)
{
    union {
        float f;
        int32_t i;
    } q;
    float r = (float)residual_ns * per_spread;
    q.f = 1.0f + r * r;
    return (q.i - 0x3f800000) >> 15;
}

/* Sorts by time, stably. large: as in hd_align_options, but not 0. Errors: MEMORY. */
hd_status hd_marks_sort(hd_mark *marks, size_t count, uint64_t large, hd_error *err);
/* The first of sorted marks that is not before a time. */
size_t hd_marks_find(const hd_mark *marks, size_t count, int64_t time_ns);
/* time + offset, clamped to the limit. */
static inline int64_t hd_mark_shift(int64_t time_ns, int64_t offset_ns)
{
    int64_t sum;
    if (__builtin_add_overflow(time_ns, offset_ns, &sum)) sum = offset_ns < 0 ? INT64_MIN : INT64_MAX;
    return sum > HD_MARK_TIME_LIMIT ? HD_MARK_TIME_LIMIT : sum < -HD_MARK_TIME_LIMIT ? -HD_MARK_TIME_LIMIT : sum;
}

/* ---- a few samples of one rhythm ---- */

enum { HD_RUN_MARKS = 24 };

/* Samples first, first + stride …; launches at, at + stride … */
typedef struct hd_run {
    size_t first, stride, count; /* count: at most HD_RUN_MARKS */
    bool loose;                  /* the cost is computed after subtracting the median residual */
    size_t at;                   /* out: the first launch at the best fit */
    int64_t residual_ns;         /* out: median of launch - sample - offset */
    int64_t spread_ns;           /* out: median of |launch - sample - offset| … */
    int64_t loose_spread_ns;     /* … and of |launch - sample - offset - residual_ns| */
    int32_t cost;                /* out: mean, in 256ths of bits of a microsecond; INT32_MAX: no place at all */
    int32_t margin;              /* out: how much more the next best place costs */
} hd_run;

/* Finds the best fit of the run of samples among the launches, from `reach` launches before the nearest in time to as
 * many after it. */
void hd_run_fit(hd_run *run, const hd_mark *samples, const hd_mark *launches, size_t launch_count, int64_t offset_ns,
                size_t reach);

/* ---- alignment ---- */

typedef struct hd_align_options {
    int64_t tolerance_ns; /* no pair is further apart */
    int64_t spread_ns;    /* the size of most residuals; 0: estimated */
    uint64_t large;       /* size in bytes from which on a list is in a file (hd_trace_large_bytes), 0: never */
} hd_align_options;

typedef struct hd_align_result {
    uint64_t pairs;
    uint64_t cells; /* of the search */
} hd_align_result;

/* out[i] is the launch of sample i, or HD_MARK_NONE: as a rule the most pairs, and of those alternatives the likeliest,
 * in order, each launch used once. Both lists sorted, on one clock. O(n log n + 256 n), 64 bytes per sample in the
 * worst case. Errors: MEMORY. */
hd_status hd_marks_align(uint32_t *out, hd_align_result *result, const hd_mark *samples, size_t sample_count,
                         const hd_mark *launches, size_t launch_count, const hd_align_options *options, hd_error *err);

/* ---- clocks ---- */

void hd_sort_few(int64_t *list, size_t count);

/* Samples and launches of one thread, or of one process if threads are unknown. Sorted. */
typedef struct hd_mark_pair {
    const hd_mark *samples, *launches;
    size_t sample_count, launch_count;
} hd_mark_pair;

typedef struct hd_clock {
    int64_t offset_ns;                 /* launch - sample, at since_ns */
    int64_t since_ns;                  /* a time of the samples */
    double drift;                      /* growth of the offset per time */
    uint64_t samples, launches, pairs; /* that could pair one to one within the tolerance */
    bool fits, ambiguous;
    int64_t other_ns; /* the other offset, if ambiguous */
} hd_clock;

/* `likely`: offsets that are preferred if they fit as well as the best. Errors: MEMORY. */
hd_status hd_clock_find(hd_clock *out, const hd_mark_pair *pairs, size_t count, int64_t tolerance_ns,
                        const int64_t *likely, size_t likely_count, hd_error *err);
/* A sample's time on the clock of launches. */
int64_t hd_clock_apply(const hd_clock *clock, int64_t time_ns);

/* ---- threads ---- */

/* Assigns sequences of samples to sequences of launches; all on one clock. out[i]: sequence of launches, or
 * HD_MARK_NONE if none fits, or several do. Errors: MEMORY. */
hd_status hd_marks_assign(uint32_t *out, const hd_mark_pair *samples, size_t sample_threads,
                          const hd_mark_pair *launches, size_t launch_threads, int64_t tolerance_ns, hd_error *err);

#endif
