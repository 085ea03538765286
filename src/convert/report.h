/* report.h - the report of a conversion */
#ifndef HD_CONVERT_REPORT_H
#define HD_CONVERT_REPORT_H

#include "heddle/convert.h"

/* NULL: no memory. */
hd_convert_report *convert_report_new(size_t input_count, const hd_pass *const *passes, size_t pass_count);
/* false: no memory. */
bool convert_report_input(hd_convert_report *report, const char *path, const hd_trace *trace);
bool convert_report_ledger(hd_convert_report *report, const hd_ledger_row *row);
/* A step, and counters that only passes have. `name` is static, or of a pass that outlives the report. */
void convert_report_step(hd_convert_report *report, const char *name, const hd_pass_report *step);

/* Saves a report as a file, and adds a saved one, of the same passes, to another. */
hd_status convert_report_save(const hd_convert_report *report, const char *path, hd_error *err);
hd_status convert_report_add(hd_convert_report *report, const char *path, hd_error *err);
/* The events that those which were added give out. */
uint64_t convert_report_out(const hd_convert_report *report);
/* When all are added. */
void convert_report_sum(hd_convert_report *report);

#endif
