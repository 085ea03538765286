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

#include "heddle/report.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_diff_side hd_diff_side;
typedef struct hd_diff hd_diff;

/* An empty side. step: annotations of these names are the steps, as --step of reports has it; "none": whole recordings
 * are compared; NULL: ProfilerStep#N. The caller frees it with hd_diff_side_free. */
hd_status hd_diff_side_new(hd_diff_side **out, const char *step, hd_error *err);
void hd_diff_side_free(hd_diff_side *side);
/* Add a trace. If the side has that rank already, the trace is another run of it. `path` is how it is called. One
 * thread at a time. Errors: MEMORY, ARGUMENT (the step's pattern), LIMIT (2^32 slices); nothing may be added to the
 * side then. */
hd_status hd_diff_side_add(hd_diff_side *side, const hd_trace *trace, const char *path, hd_error *err);

/* How many steps the side has, of all its ranks and runs; 0 without steps. */
size_t hd_diff_side_step_count(const hd_diff_side *side);

/* A baseline: a side as a file of some kilobytes, which a repository can hold (docs/formats/hds.md). A diff from it is
 * that from its traces. The file appears whole or not at all. Errors: IO, MEMORY. */
hd_status hd_diff_side_write(const hd_diff_side *side, const char *path, hd_error *err);
/* Add the traces of a baseline. After an error the side is unchanged, or has no memory and is only good to be freed.
 * Errors: IO, MEMORY, FORMAT (no baseline), DAMAGED, UNSUPPORTED (of another version of heddle), ARGUMENT (its steps
 * were named otherwise). */
hd_status hd_diff_side_add_file(hd_diff_side *side, const char *path, hd_error *err);
/* Whether a file is a baseline, by its first bytes; false also if it cannot be read. */
bool hd_diff_is_file(const char *path);

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

/* Differences between the sides that do not prevent the comparison. */
enum {
    HD_DIFF_ACROSS_GPUS = 1, /* models of GPUs */
    HD_DIFF_ACROSS_RANKS = 2 /* sizes of the job, and how many GPUs have activities */
};

/* Validate the conditions without comparing anything. Errors: ARGUMENT. */
hd_status hd_diff_conditions_valid(const char *const *fail_if, hd_error *err);

/* Compare two sides, which may be freed afterwards. options may be NULL. The caller frees *out. Errors: MEMORY;
 * ARGUMENT (a condition); INTERNAL: parts do not add up to the steps. O(n log n) for n rows in both sides. */
hd_status hd_diff_new(hd_diff **out, const hd_diff_side *before, const hd_diff_side *after,
                      const hd_diff_options *options, hd_error *err);
void hd_diff_free(hd_diff *diff);

hd_diff_verdict hd_diff_verdict_of(const hd_diff *diff);
/* The worst result of all conditions; a failure is worst. Without conditions the result is a pass, unless the diff is
 * inconclusive. */
hd_diff_gate hd_diff_gate_of(const hd_diff *diff);
/* "after is 12.1 % slower: 210.300ms -> 235.812ms a step". Borrowed. */
const char *hd_diff_sentence(const hd_diff *diff);

/* Tables, borrowed; NULL beyond the last. Times are ns per step, unless the column says otherwise; hd_diff_report_about
 * has the meaning of each column. `sides`, `step`, `steps`, `parts`, `counts`, `figures`, `groups` (only after
 * hd_class_rules_read), `rows`, `differs`, `reasons`, `gate`. `parts` add up to the step, to the nanosecond. Rows of
 * one kind share no time; rows of operators and modules repeat the time of their kernels, collectives and copies. */
const hd_table *hd_diff_table_at(const hd_diff *diff, size_t index);
const hd_table *hd_diff_table(const hd_diff *diff, const char *name); /* NULL: there is none of that name */
/* A copy of a table for people, with the columns that fit a screen and short names, without columns that are all null.
 * Not `step` and `steps`. Free it with hd_table_free. Errors: ARGUMENT, MEMORY. */
hd_status hd_diff_narrow(hd_table **out, const hd_diff *diff, const char *name, hd_error *err);

/* The tables as a report, `rows` first, for pages and files (hd_report_print, hd_report_write). The caller frees *out.
 * Errors: MEMORY. */
hd_status hd_diff_report(hd_report *out, const hd_diff *diff, hd_error *err);
/* The description of that report, for hd_report_part. Static. */
const hd_report_about *hd_diff_report_about(void);
/* The same of some traces, with options of hd_diff_report_about, "KEY=VALUE"; options may be NULL. Of two traces, the
 * first is the side before; with more, the option inputs assigns them to the sides. Errors: ARGUMENT, MEMORY, LIMIT. */
hd_status hd_diff_report_run(hd_report *out, const hd_trace *const *traces, size_t count, const char *const *options,
                             hd_error *err);

typedef enum hd_diff_format {
    HD_DIFF_JSON = 1, /* the object heddle.diff/1 */
    HD_DIFF_CSV,      /* the table rows */
    HD_DIFF_MARKDOWN, /* a comment for a pull request */
} hd_diff_format;

/* Errors: what the sink returns; MEMORY. */
hd_status hd_diff_print(hd_sink sink, hd_diff_format format, const hd_diff *diff, hd_error *err);
/* Write into a file, by its extension: .html, a page with pictures; .json, .md, as above; .csv, .parquet, the table
 * rows; with a slash at the end a folder with each table. A file appears whole or not at all. Errors: ARGUMENT (another
 * extension), IO, MEMORY. */
hd_status hd_diff_write(const char *path, const hd_diff *diff, hd_error *err);
/* Only whether a path has such an extension. Errors: ARGUMENT. */
hd_status hd_diff_path_valid(const char *path, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
