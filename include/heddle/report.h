/* report.h - analyses: a trace in, tables out
 *
 * Every analysis reads an immutable trace and yields one or more named tables (table.h), which the caller frees with
 * hd_report_free. An analysis may run from any thread, and several may run on one trace at the same time. Temporary
 * memory is at most about 24 bytes per slice (36 for a track with very many crossing slices).
 */
#ifndef HEDDLE_REPORT_H
#define HEDDLE_REPORT_H

#include "heddle/analysis/attribution.h"
#include "heddle/analysis/launches.h"
#include "heddle/analysis/memory.h"
#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/options.h"
#include "heddle/table.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_REPORT_TABLES = 16, HD_REPORT_TRUST_BYTES = 400 };

typedef struct hd_job hd_job; /* job.h */

typedef struct hd_report {
    size_t table_count;
    hd_table *tables[HD_REPORT_TABLES]; /* owned */
    hd_table
        *trust; /* owned: what is missing or impossible in the trace, one row per entry, as docs/reports/definitions.md
                   lists them; NULL: the report is not of a single trace */
    char trust_text[HD_REPORT_TRUST_BYTES]; /* the most severe of these as a sentence, or that none was found */
} hd_report;

void hd_report_free(hd_report *report);
/* The table of that name, borrowed; NULL if the report has none. */
const hd_table *hd_report_table(const hd_report *report, const char *name);

/* What is in a trace. Tables: `file` (one row: format, sizes, span, clock, ranks, totals), `devices`, `processes`,
 * `tracks` (busiest first), `kinds`, `categories` (most time first), `samples` (of perf's text and conversions of it:
 * by event, most first), `ledger`. Errors: MEMORY, LIMIT (2^32 slices). */
hd_status hd_report_info(hd_report *out, const hd_trace *trace, hd_error *err);

enum { HD_CHECK_EXAMPLES = 100000 };

typedef struct hd_check_options {
    size_t size;              /* of this struct; see "Options" in status.h */
    uint64_t examples;        /* per finding, at most HD_CHECK_EXAMPLES; 0: one */
    uint64_t tracks_per_code; /* rows per code; one more row sums up the rest. 0: no limit */
    const char *only;         /* comma-separated codes; NULL: all. "json" also means every code that begins with "json-"
                                 … */
    const char *ignore;       /* likewise */
} hd_check_options;

/* Events that viewers drop or misdraw, or that make analyses wrong. Tables: `findings` (a row per code and track, the
 * worst severity first), `examples` (`finding` is a row of findings) and `summary` (one row: number of each severity,
 * before tracks_per_code sums any up). options may be NULL. Byte offsets are known if the trace was read with sources.
 * Errors: ARGUMENT (an unknown code), MEMORY, LIMIT (2^32 slices). */
hd_status hd_report_check(hd_report *out, const hd_trace *trace, const hd_check_options *options, hd_error *err);
/* Validate the options only. */
hd_status hd_check_options_valid(const hd_check_options *options, hd_error *err);

/* The codes of hd_report_check, for help. Damage of the input that the reader repaired has the reader's own codes. */
typedef struct hd_check_code {
    const char *code;     /* "crossing" */
    const char *severity; /* "error", "warning", "note" */
    const char *meaning;  /* one line */
    const char *advice;   /* one line: what to do */
} hd_check_code;

size_t hd_check_code_count(void);
const hd_check_code *hd_check_code_at(size_t index);
/* A code by its name; NULL for a code of a reader. Codes of OTF2 archives share one entry, and so do those of text. */
const hd_check_code *hd_check_code_find(const char *code, size_t size);
/* The entry for all other codes of readers: damage that was repaired, and input that could not be read. */
const hd_check_code *hd_check_damage(void);
const hd_check_code *hd_check_loss(void);

/* What the reports summary and job can find; docs/findings has a page for each. */
typedef struct hd_finding_code {
    const char *code;     /* "data-loading" */
    const char *severity; /* warning: can be improved; note: for information */
    const char *meaning;  /* one line */
    const char *advice;   /* what to change */
} hd_finding_code;

size_t hd_finding_code_count(void);
const hd_finding_code *hd_finding_code_at(size_t index);

/* How stacks were joined with GPU activities. Tables: `join` (one row: samples, launches, activities, unmatched ones of
 * each side, GPU time, the clocks), `rules` (matches by rule of attribution.h), `kernels` (all activities by short
 * name, most time first). gpu: the trace that was attributed. Errors: MEMORY. */
hd_status hd_report_attribution(hd_report *out, const hd_attribution *attribution, const hd_trace *gpu, hd_error *err);

typedef struct hd_memory_report_options {
    size_t size;   /* of this struct; see "Options" in status.h */
    uint64_t rows; /* of `peak` and of `leaks`; one more row sums up the rest. 0: HD_MEMORY_ROWS */
    bool series;   /* make the table `series` */
} hd_memory_report_options;

enum { HD_MEMORY_ROWS = 1000 };

/* What was live when. Tables: `memory` (one row: sums), `devices` (a row per device, or allocator, of a process:
 * counts, sums, the peak), `categories` (what a device holds of each), `peak` (what was live at the peak of each
 * device, by category, size and stack, largest first; its sum is the peak), `leaks` (what was live at the end, by
 * category and stack, largest first; its sum is what was live), `reserved` (of allocators that report reserved bytes:
 * how much of these was idle), `anomalies` (incomplete and contradictory events), `ledger` (as of hd_report_info: a
 * lost free event shows up as a leak that is none), `series` (a row per event: live bytes after it). Bytes below 0 are
 * null. options may be NULL. Errors: MEMORY. */
hd_status hd_report_memory(hd_report *out, const hd_memory *memory, const hd_trace *trace,
                           const hd_memory_report_options *options, hd_error *err);

/* ---- analyses by name: for lists, help, and callers that know none of them ---- */

typedef struct hd_report_column {
    const char *name; /* as of hd_table_column */
    hd_value_type type;
    const char *meaning;               /* one line, with the unit unless the type implies it */
    const struct hd_report_fill *fill; /* private: how the column is filled */
} hd_report_column;

/* The best chart of a table in the HTML page. */
typedef enum hd_report_chart {
    HD_CHART_NONE,
    HD_CHART_BARS,    /* a bar per row, of one value or of several that add up, one after the other */
    HD_CHART_SERIES,  /* two values: a value at a time is valid until the next one; a line per label */
    HD_CHART_SCATTER, /* two values above 0, on logarithmic axes; a dot per row. With two more columns: a line of the
                         third column over the first, for the rows with equal fourth */
    HD_CHART_LANES,   /* a bar per value, each from zero: values of a row that overlap, as a step and its GPU time */
} hd_report_chart;

typedef struct hd_report_table_about {
    const char *name, *meaning;
    const hd_report_column *columns; /* in order; ends with {0} */
    hd_report_chart chart;
    const char *chart_label;  /* comma-separated columns that label a row */
    const char *chart_values; /* comma-separated columns that are drawn */
} hd_report_table_about;

/* The input of an analysis. Zero-initialise it. Everything is borrowed. */
typedef struct hd_report_input {
    const hd_trace *trace;      /* may be NULL if hd_report_about.table_option is set */
    const hd_job *job;          /* used if hd_report_about.of_job is set; NULL: `trace` alone, as a job of one rank */
    const char *const *options; /* "rows=5", "series" …, as in hd_report_about; ends with NULL. NULL: none. The last
                                   value of a repeated option counts, unless its kind collects values */
    const hd_attribution *attribution; /* of `trace`. NULL: an analysis that needs one computes it */
    const hd_memory *memory;           /* likewise */
    const hd_launches *launches;       /* likewise */
    const hd_gpus *gpus;               /* NULL: the library's own table, for an analysis that needs one */
    hd_progress *progress;             /* after each phase; units: estimated shares of the time. NULL: none */
    void *progress_user;
    const struct gpu_scope *scope; /* private: the activities, as the same options select them */
} hd_report_input;

/* The description of an analysis. Static. */
typedef struct hd_report_about {
    const char *name;                    /* "info" */
    const char *title;                   /* "what is in a trace" */
    const char *text;                    /* one paragraph */
    const hd_option_about *options;      /* ends with {0}; NULL: none */
    bool wants_sources;                  /* benefits from a trace read with sources: see hd_read_options */
    bool wants_gpus;                     /* uses hd_report_input.gpus */
    bool says_trust;                     /* its text begins with hd_report.trust_text */
    bool of_job;                         /* analyses the ranks of a job together: hd_report_input.job */
    const char *table_option;            /* reads the file that this option names instead of a trace; NULL: reads a
                                            trace */
    size_t options_size;                 /* size of the struct with the options; may be 0 if no option has a fallback */
    const hd_report_table_about *tables; /* all tables that it may return, in order; ends with {0} */
    /* options: that struct. Called by hd_report_run. */
    hd_status (*run)(hd_report *out, const hd_report_input *input, const void *options, hd_error *err);
    hd_status (*draw)(hd_sink sink, const hd_report *report, hd_error *err); /* HD_REPORT_DOT; NULL: the report has no
                                                                                drawing */
} hd_report_about;

size_t hd_report_count(void);
const hd_report_about *hd_report_at(size_t index);
/* An analysis by its name; NULL: none. */
const hd_report_about *hd_report_about_find(const char *name);

/* Whether an analysis has these options and accepts their values; files and names in the values are checked by
 * hd_report_run only. Errors: ARGUMENT. */
hd_status hd_report_options_valid(const char *name, const char *const *options, hd_error *err);

/* Run an analysis. The caller frees the report. Errors: ARGUMENT: no analysis has this name, or it has no such option;
 * those of the analysis. */
hd_status hd_report_run(hd_report *out, const char *name, const hd_report_input *input, hd_error *err);

/* ---- reports as files ---- */

/* "Part": one report of one input.
 *
 *   JSON               one part: {"path", "report", each table by its name, "trust"}; several parts: an array of these
 *   CSV, PARQUET       the first table; takes one part only
 *   DOT                a drawing for Graphviz, if the report has one (topology); takes one part only
 *   MARKDOWN           all tables
 *   HTML               one self-contained page of at most 1 MB; rows left out for that are counted. The parts `info`
 *                      and `summary` of each path give it a headline and findings; `timeline` and hd_flame_report give
 *                      it pictures; parts of a job, which come first, are about all paths */
typedef enum hd_report_format {
    HD_REPORT_JSON = 1,
    HD_REPORT_CSV,
    HD_REPORT_MARKDOWN,
    HD_REPORT_HTML,
    HD_REPORT_PARQUET,
    HD_REPORT_DOT,
} hd_report_format;

/* One report of one input. Everything is borrowed. */
typedef struct hd_report_part {
    const char *path;
    const hd_report_about *about;
    const hd_report *report;
    int64_t start_ns; /* HTML shows times relative to this: the first event */
} hd_report_part;

/* Errors: what the sink returns; ARGUMENT: CSV or Parquet of several reports, or of none; MEMORY. */
hd_status hd_report_print(hd_sink sink, hd_report_format format, const hd_report_part *parts, size_t count,
                          hd_error *err);
/* The format that hd_report_write chooses for a path: .json, .csv, .md, .html and .dot, also compressed; .parquet, as a
 * file or, with a trailing slash, as a folder. 0: no such format, or another folder. */
hd_report_format hd_report_format_of(const char *path);
/* Write into a file, in the format of its extension; the file appears whole or not at all. A path that ends with a
 * slash is a folder, for one part only: each table becomes a file, TABLE.csv or TABLE.parquet by the format. "-" is
 * standard output. Errors: IO; those of hd_report_print. */
hd_status hd_report_write(const char *path, hd_report_format format, const hd_report_part *parts, size_t count,
                          hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
