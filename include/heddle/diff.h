/* diff.h - what changed between two runs, and whether it is real
 *
 * A side is what is kept of the traces of one or several runs: their steps, and what each took in them, by operator,
 * module, kernel and cause of idle time. A trace may be freed once it was added.
 *
 *     hd_diff_side *before, *after;
 *     HD_TRY(hd_diff_side_new(&before, NULL, err));
 *     HD_TRY(hd_diff_side_add(before, trace, "before.json.gz", err));       // and so on, also for `after`
 *     HD_TRY(hd_diff_new(&diff, before, after, NULL, err));
 *     hd_diff_print(sink, HD_DIFF_JSON, diff, err);
 */
#ifndef HEDDLE_DIFF_H
#define HEDDLE_DIFF_H

#include "heddle/table.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_diff_side hd_diff_side;
typedef struct hd_diff hd_diff;

/* An empty side. step: annotations of these names are the steps, as --step of reports has it; NULL: ProfilerStep#N. The
 * caller frees it with hd_diff_side_free. */
hd_status hd_diff_side_new(hd_diff_side **out, const char *step, hd_error *err);
void hd_diff_side_free(hd_diff_side *side);
/* Add a trace. If the side has that rank already, the trace is another run of it. `path` is how it is called. One thread at a time.
 * Errors: MEMORY, ARGUMENT (the step's pattern), LIMIT (2^32 slices); nothing may be added to the side then. */
hd_status hd_diff_side_add(hd_diff_side *side, const hd_trace *trace, const char *path, hd_error *err);

typedef struct hd_diff_options {
    size_t size;                /* of this struct; see "Options" in status.h */
    int64_t min_ns;             /* rows and steps that change by less per step are noise. 0: HD_DIFF_MIN_NS */
    double noise;               /* likewise, as a share of what it was: 0.02 */
    uint64_t seed;              /* of the bootstrap */
    unsigned across;            /* of HD_DIFF_ACROSS_… */
    bool all;                   /* rows that are noise as well */
    const char *const *fail_if; /* conditions, "step>3%"; ends with NULL. NULL: none */
} hd_diff_options;

enum { HD_DIFF_MIN_NS = 20000 };

typedef enum hd_diff_verdict { HD_DIFF_SAME, HD_DIFF_SLOWER, HD_DIFF_FASTER, HD_DIFF_INCONCLUSIVE } hd_diff_verdict;
typedef enum hd_diff_gate { HD_DIFF_PASSES, HD_DIFF_FAILS, HD_DIFF_UNSAID } hd_diff_gate;

/* What may differ between the sides and they are compared all the same. */
enum {
    HD_DIFF_ACROSS_GPUS = 1, /* models of GPUs */
    HD_DIFF_ACROSS_RANKS = 2 /* sizes of the job, and how many GPUs have activities */
};

/* Only look at the conditions. Errors: ARGUMENT. */
hd_status hd_diff_conditions_valid(const char *const *fail_if, hd_error *err);

/* Compare two sides, which are not needed afterwards. options may be NULL. The caller frees *out. Errors: MEMORY;
 * ARGUMENT (a condition); INTERNAL: parts do not add up to the steps. O(n log n) for n rows in both sides. */
hd_status hd_diff_new(hd_diff **out, const hd_diff_side *before, const hd_diff_side *after,
                      const hd_diff_options *options, hd_error *err);
void hd_diff_free(hd_diff *diff);

hd_diff_verdict hd_diff_verdict_of(const hd_diff *diff);
/* Of all conditions: the worst, a failure first. Without any it passes, but for an inconclusive diff. */
hd_diff_gate hd_diff_gate_of(const hd_diff *diff);
/* "after is 12.1 % slower: 210.300ms -> 235.812ms a step". Borrowed. */
const char *hd_diff_sentence(const hd_diff *diff);

/* Tables, borrowed; NULL beyond the last. Times are ns, and of a step unless the column says else. In this order:
 *
 * `sides`    two rows: `side`, `files`, `steps` compared and `dropped`, `runs`, `median` and `spread` (half the distance of
 *            the quartiles) of a step
 * `step`     a row: `before`, `after` (medians), `change`, `share` (percent of before), `low` and `high` (of the change,
 *            99 %), `verdict`
 * `parts`    what the mean step is made of: `part`, `before`, `after`, `change`, and the sums over all steps compared,
 *            `before_total` and `after_total`, which add up to those of the row `step` to the nanosecond
 * `counts`   per step: `what`, `before`, `after`
 * `rows`     what makes up the change, most first: `kind`, `name`, `name_after` (null: the same), `within` (operator or
 *            modules around), `matched`, `before`, `after`, `change`, `low`, `high`, `calls_before`, `calls_after`,
 *            `n_before`, `n_after` (units that were compared), `per_call_before`, `per_call_after`, `cpu_before`, `cpu_after` (of operators and modules: their own time on the CPU), `verdict`: slower, faster, new, gone, noise, or "too few": beyond noise, were it the only row. Rows of one
 *            kind share no time; those of kernels, collectives and copies are GPU time, as are those of operators
 *            and modules, which hold the same time again
 * `differs`  what is not the same and can be compared: `what`, `before`, `after`
 * `reasons`  why nothing can be concluded: `reason`
 * `gate`     a row per condition: `condition`, `verdict`, `text`
 */
const hd_table *hd_diff_table_at(const hd_diff *diff, size_t index);
const hd_table *hd_diff_table(const hd_diff *diff, const char *name); /* NULL: there is none of that name */

typedef enum hd_diff_format {
    HD_DIFF_JSON = 1, /* the object heddle.diff/1 */
    HD_DIFF_CSV,      /* the table rows */
    HD_DIFF_MARKDOWN, /* a comment for a pull request */
} hd_diff_format;

/* Errors: what the sink returns; MEMORY. */
hd_status hd_diff_print(hd_sink sink, hd_diff_format format, const hd_diff *diff, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
