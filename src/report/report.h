/* report.h - the list of analyses, and shared functions; a new analysis is a file and a line in list.c */
#ifndef HD_REPORT_REPORT_H
#define HD_REPORT_REPORT_H

#include "heddle/report.h"
#include "pass/options.h"

extern const hd_report_about report_breakdown_about, report_kernels_about, report_copies_about, report_operators_about,
    report_modules_about, report_ranges_about, report_steps_about, report_launches_about, report_queue_about,
    report_states_about, report_idle_about, report_syncs_about, report_communication_about, report_flops_about,
    report_timeline_about, report_memory_about, report_info_about, report_check_about, report_attribution_about,
    report_summary_about, report_critical_path_about, report_stragglers_about, report_clocks_about,
    report_imbalance_about, report_topology_about, report_job_about, report_slowdown_about, report_hang_about,
    report_whatif_about;
extern const hd_report_column report_ledger_columns[], report_trust_columns[];

/* Finish a builder into the next table of a report. The builder is gone afterwards, also on failure. */
hd_status report_add(hd_report *report, hd_table_builder *builder, hd_error *err);
/* The table `ledger`: repairs and losses of this trace and its sources. */
hd_status report_add_ledger(hd_report *report, const hd_trace *trace, hd_error *err);

/* A new builder for the table of that name, with the columns in `about`. */
hd_status report_builder(hd_table_builder **out, const hd_report_about *about, const char *table, hd_error *err);

/* Parses "KEY=VALUE" and "KEY" into the options of a report. The caller deinits *values. Errors: ARGUMENT, MEMORY. */
hd_status report_options_set(hd_option_values *values, const hd_report_about *about, const char *const *options,
                             hd_error *err);

/* Sets report->trust and trust_text. trust NULL: only from the ledger. trust.c */
struct gpu_trust;
hd_status report_set_trust(hd_report *report, const hd_trace *trace, const struct gpu_trust *trust, hd_error *err);
/* A row more if sums of the tables are beyond 63 bits. */
hd_status report_tell_beyond(hd_report *report, hd_error *err);
/* A note more, also in trust_text, if these `count` ranks, sorted and each once, are not all of the world. */
hd_status report_tell_missing(hd_report *report, int64_t world, const int64_t *ranks, size_t count, hd_error *err);

/* The same for a job, from its summaries and contradictions between them. job_trust.c */
hd_status job_set_trust(hd_report *report, const hd_job *job, hd_error *err);
/* By member of the job, the codes of errors and warnings that affect any of these GPU_FIGURE_…, "gpu-overlap, gpu-far",
 * as one of `texts`; HD_NONE: none. Codes that affect all figures are always included, even if `figures` is 0, as for
 * times of the CPU. The caller frees *out. job_trust.c */
struct gpu_texts;
hd_status job_doubts_of_members(uint32_t **out, struct gpu_texts *texts, const hd_job *job, unsigned figures,
                                hd_error *err);
/* Codes of `more` that *doubts does not have. false: no memory. */
bool job_add_doubt(uint32_t *doubts, struct gpu_texts *texts, uint32_t more);
/* Of all members of the rank, or of the member at this index if the job has no such rank. false: no memory. */
bool job_doubt_of_rank(uint32_t *out, struct gpu_texts *texts, const uint32_t *doubts, const hd_job *job, int64_t rank);
/* For a report on jobs without input->job, one made from input->trace, which the caller frees; else *out is NULL.
 * job/job.c */
hd_status job_of_input(hd_job **out, const hd_report_input *input, hd_error *err);

/* The two runs that diff compares: "before", "after". */
extern const char *const diff_side_names[2];

/* Cells. HD_NO_NUMBER and HD_NO_TIME, which are one value, become null; so does HD_STRING_NONE. */
void report_cell_int(hd_table_builder *builder, int64_t value);
void report_cell_string(hd_table_builder *builder, const hd_trace *trace, uint32_t id);
/* A pid or tid as in the input. */
void report_cell_ident(hd_table_builder *builder, const hd_trace *trace, hd_ident ident);

/* "2023-05-08 16:55:01.763523000 UTC" into out, which has HD_VALUE_TEXT_BYTES. */
const char *report_wall_text(char *out, int64_t unix_ns);

#endif
