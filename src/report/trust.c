/* trust.c - how far a trace can be trusted, as every report carries it */
#include <stdio.h>

#include "base/error.h"
#include "model/trust/trust.h"
#include "report/report.h"
#include "trace/event.h"

const hd_report_column report_trust_columns[] = {
    {"code", HD_VALUE_STRING, "which doubt"},
    {"level", HD_VALUE_STRING, "error: figures are wrong; warning: some may be; note"},
    {"count", HD_VALUE_COUNT, "how many have it"},
    {"of", HD_VALUE_COUNT, "of how many"},
    {"ns", HD_VALUE_DURATION, "by how much"},
    {"sentence", HD_VALUE_STRING, "the same in words"},
    {"figures", HD_VALUE_STRING, "what rests on it"},
    {"start", HD_VALUE_TIME, "of the first"},
    {"id", HD_VALUE_INT, "of the first, in the table slice"},
    {0},
};

static void add_row(hd_table_builder *b, const hd_trace *trace, gpu_doubt_code code, const gpu_doubt *doubt)
{
    char text[GPU_DOUBT_TEXT];
    const gpu_doubt_about *about = &gpu_doubt_abouts[code];
    hd_table_add_text(b, about->code);
    hd_table_add_text(b, about->level);
    hd_table_add_count(b, doubt->count);
    if (doubt->of)
        hd_table_add_count(b, doubt->of);
    else
        hd_table_add_null(b);
    report_cell_int(b, doubt->ns);
    hd_table_add_text(b, gpu_doubt_text(text, code, doubt));
    hd_table_add_text(b, gpu_figure_names(text, about->figures));
    bool is_shown = doubt->track != HD_NONE;
    report_cell_int(b, is_shown ? hd_event_at(trace, HD_KIND_SLICE, doubt->row).start_ns : HD_NO_TIME);
    report_cell_int(b, is_shown ? (int64_t)doubt->row : HD_NO_NUMBER);
}

hd_status report_set_trust(hd_report *report, const hd_trace *trace, const struct gpu_trust *trust, hd_error *err)
{
    const gpu_trust of_input = trust ? (gpu_trust){0} : gpu_trust_of_input(trace);
    hd_table_builder *b;
    char text[GPU_DOUBT_TEXT];
    if (!trust) trust = &of_input;
    HD_TRY(hd_table_builder_new(&b, "trust", err));
    for (const hd_report_column *c = report_trust_columns; c->name; c++) hd_table_add_column(b, c->name, c->type);
    for (int i = 0; i < GPU_DOUBTS; i++)
        if (trust->doubts[i].count) add_row(b, trace, (gpu_doubt_code)i, &trust->doubts[i]);
    snprintf(report->trust_text, sizeof report->trust_text, "%s", gpu_trust_text(text, trust));
    return hd_table_finish(&report->trust, b, err);
}
