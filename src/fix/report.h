/* report.h - what a lane repair did, in words and sums */
#ifndef HD_FIX_REPORT_H
#define HD_FIX_REPORT_H

#include "heddle/fix.h"
#include "pass/lanes/lanes.h"

/* NULL: no memory. */
hd_fix_report *hd_fix_report_new(void);

/* Fill a new report; it owns all it points to. */
hd_status hd_fix_report_fill(hd_fix_report *report, const hd_trace *trace, const hd_lane_plan *plan, bool full_lists,
                             hd_error *err);

/* Add what the ledger of a trace holds. */
void hd_fix_count_ledger(uint64_t *repairs, uint64_t *losses, const hd_trace *trace);

#endif
