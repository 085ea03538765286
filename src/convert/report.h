/* report.h - what a conversion did */
#ifndef HD_CONVERT_REPORT_H
#define HD_CONVERT_REPORT_H

#include "heddle/convert.h"

/* false: no memory. */
bool convert_report_init(hd_convert_report *report, size_t input_count);
bool convert_report_input(hd_convert_report *report, const char *path, const hd_trace *trace);
bool convert_report_ledger(hd_convert_report *report, const hd_ledger_row *row);
/* A step that made `out` events of `in`. */
void convert_report_step(hd_convert_report *report, const char *name, uint64_t in, uint64_t out, uint64_t added,
                         uint64_t removed, uint64_t lost);

#endif
