/* coverage.h - the share of the GPU time for which the trace has the data of derived figures
 *
 * In: a trace and its launches. Out: for each kind of figure the covered time, and the total. It reads operators and
 * Python functions, so it is used only where all kinds are shown: the table trust of SQL. A report with one kind of
 * figure counts the coverage of its own rows, and adds it to its trust.
 */
#ifndef HD_REPORT_COVERAGE_H
#define HD_REPORT_COVERAGE_H

#include "model/trust/trust.h"

typedef enum report_coverage_kind {
    COVERAGE_FLOP,
    COVERAGE_SHAPES,
    COVERAGE_STACKS,
    COVERAGE_BYTES,
    COVERAGES
} report_coverage_kind;

typedef struct report_covered {
    int64_t known, of; /* ns; of 0: there is no such time */
} report_covered;
typedef struct report_coverage {
    report_covered list[COVERAGES];
} report_coverage;
static inline void report_cover(report_covered *covered, int64_t time, bool known)
{
    covered->of = gpu_sum(covered->of, time);
    if (known) covered->known = gpu_sum(covered->known, time);
}

typedef struct report_coverage_about {
    const char *code, *figures;
    const char *known, *of; /* "FLOP are known", "of kernels that compute" */
} report_coverage_about;
extern const report_coverage_about report_coverage_abouts[COVERAGES];

/* Errors: MEMORY, LIMIT. */
hd_status report_coverage_of(report_coverage *out, const hd_trace *trace, const hd_launches *launches, hd_error *err);
/* "FLOP are known for 83.2 % of the GPU time of kernels that compute"; whose: these last words, NULL: those of the
 * kind. */
const char *report_coverage_text(char out[GPU_DOUBT_TEXT], report_coverage_kind kind, const report_covered *covered,
                                 const char *whose);
/* A note more in the trust that the report has, unless there is no such time. Errors: MEMORY. trust.c */
hd_status report_add_coverage(hd_report *report, report_coverage_kind kind, const report_covered *covered,
                              const char *whose, hd_error *err);

#endif
