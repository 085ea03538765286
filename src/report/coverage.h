/* coverage.h - of how much of the GPU time the trace tells what derived figures need
 *
 * In: a trace and its launches. Out: for each sort of figure the time that it covers, and of how much. It looks at
 * operators and Python functions, so that only those who show it ask for it: the table trust of SQL.
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

typedef struct report_coverage {
    int64_t known[COVERAGES], of[COVERAGES]; /* ns; of 0: there is no such time */
} report_coverage;

typedef struct report_coverage_about {
    const char *code, *figures;
    const char *known, *of; /* "FLOP are known", "of kernels that compute" */
} report_coverage_about;
extern const report_coverage_about report_coverage_abouts[COVERAGES];

/* Errors: MEMORY, LIMIT. */
hd_status report_coverage_of(report_coverage *out, const hd_trace *trace, const hd_launches *launches, hd_error *err);
/* "FLOP are known for 83.2 % of the GPU time of kernels that compute" */
const char *report_coverage_text(char out[GPU_DOUBT_TEXT], report_coverage_kind kind, const report_coverage *coverage);

#endif
