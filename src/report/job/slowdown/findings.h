/* findings.h - findings of a job */
#ifndef HD_REPORT_JOB_SLOWDOWN_FINDINGS_H
#define HD_REPORT_JOB_SLOWDOWN_FINDINGS_H

#include "heddle/analysis/job.h"

/* Rows of a table with these columns, largest saving first; none if the collectives of the ranks do not match. lost: as
 * of job_cells_of. Errors: MEMORY. */
hd_status job_add_findings(hd_table_builder *builder, const hd_job *job, hd_table_builder *lost, hd_error *err);
enum { JOB_FINDINGS = 4 };
extern const hd_finding_code job_finding_codes[JOB_FINDINGS];
extern const hd_report_column job_findings_columns[];

#endif
