/* trust.c - how far a trace can be trusted, as every report carries it */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/trust/trust.h"
#include "report/coverage.h"
#include "report/report.h"
#include "trace/event.h"

const hd_report_column report_trust_columns[] = {
    {"code", HD_VALUE_STRING, "its type"},
    {"level", HD_VALUE_STRING, "error: figures are wrong; warning: some may be; note"},
    {"count", HD_VALUE_COUNT, "how many have it"},
    {"of", HD_VALUE_COUNT, "of how many"},
    {"ns", HD_VALUE_DURATION, "by how much"},
    {"sentence", HD_VALUE_STRING, "the same in words"},
    {"figures", HD_VALUE_STRING, "figures that depend on it"},
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

static hd_status builder_new(hd_table_builder **out, hd_error *err)
{
    HD_TRY(hd_table_builder_new(out, "trust", err));
    for (const hd_report_column *c = report_trust_columns; c->name; c++) hd_table_add_column(*out, c->name, c->type);
    return HD_OK;
}

hd_status report_set_trust(hd_report *report, const hd_trace *trace, const struct gpu_trust *trust, hd_error *err)
{
    const gpu_trust of_input = trust ? (gpu_trust){0} : gpu_trust_of_input(trace);
    hd_table_builder *b;
    char text[GPU_DOUBT_TEXT];
    if (!trust) trust = &of_input;
    HD_TRY(builder_new(&b, err));
    for (int i = 0; i < GPU_DOUBTS; i++)
        if (trust->doubts[i].count) add_row(b, trace, (gpu_doubt_code)i, &trust->doubts[i]);
    snprintf(report->trust_text, sizeof report->trust_text, "%s", gpu_trust_text(text, trust));
    return hd_table_finish(&report->trust, b, err);
}

static bool has_note(const hd_table *notes, const char *text)
{
    for (size_t row = 0; row < hd_table_row_count(notes); row++) {
        size_t size;
        const char *note = hd_table_get_string(&size, notes, row, 0);
        if (size == strlen(text) && memcmp(note, text, size) == 0) return true;
    }
    return false;
}

/* The notes of the report, if it has some, with one more; a report of reports may have it already. */
static hd_status add_note(hd_report *report, const char *text, hd_error *err)
{
    for (size_t i = 0; i < report->table_count; i++) {
        hd_table *old = report->tables[i];
        size_t rows = hd_table_row_count(old);
        hd_table_builder *b;
        if (strcmp(hd_table_name(old), "notes") != 0 || hd_table_column_count(old) != 1 || has_note(old, text))
            continue;
        HD_TRY(hd_table_builder_new(&b, "notes", err));
        hd_table_add_column(b, hd_table_get_column(old, 0)->name, HD_VALUE_STRING);
        for (size_t row = 0; row < rows; row++) hd_table_add_cell(b, old, row, 0);
        hd_table_add_text(b, text);
        hd_table *made;
        HD_TRY(hd_table_finish(&made, b, err));
        hd_table_free(old);
        report->tables[i] = made;
    }
    return HD_OK;
}

/* The trust of the report with one more row, which is its only statement. */
static hd_status add_more(hd_report *report, const char *code, const char *level, uint64_t count, const int64_t *of,
                          const char *text, const char *figures, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder_new(&b, err));
    size_t rows = report->trust ? hd_table_row_count(report->trust) : 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < hd_table_column_count(report->trust); c++) hd_table_add_cell(b, report->trust, row, c);
    hd_table_add_text(b, code);
    hd_table_add_text(b, level);
    hd_table_add_count(b, count);
    if (of)
        hd_table_add_count(b, (uint64_t)*of);
    else
        hd_table_add_null(b);
    hd_table_add_null(b); /* ns */
    hd_table_add_text(b, text);
    if (figures)
        hd_table_add_text(b, figures);
    else
        hd_table_add_null(b);
    for (int i = 0; i < 2; i++) hd_table_add_null(b); /* start, id */
    hd_table_free(report->trust);
    report->trust = NULL;
    return hd_table_finish(&report->trust, b, err);
}

hd_status report_tell_missing(hd_report *report, int64_t world, const int64_t *ranks, size_t count, hd_error *err)
{
    char text[96];
    int64_t missing = world - (int64_t)count, first = 0;
    if (missing < 1) return HD_OK;
    for (size_t i = 0; i < count && ranks[i] == first; i++) first++;
    if (missing == 1)
        snprintf(text, sizeof text, "rank %lld of %lld is not in this trace", (long long)first, (long long)world);
    else
        snprintf(text, sizeof text, "%lld of %lld ranks are not in this trace", (long long)missing, (long long)world);
    size_t used = strlen(report->trust_text);
    if (used + strlen(text) + 3 < sizeof report->trust_text)
        snprintf(report->trust_text + used, sizeof report->trust_text - used, "; %s", text);
    return add_more(report, "job.ranks-missing", "note", (uint64_t)missing, &world, text,
                    "communication, which includes waiting for them", err);
}

hd_status report_add_coverage(hd_report *report, report_coverage_kind kind, const report_covered *covered,
                              const char *whose, hd_error *err)
{
    char text[GPU_DOUBT_TEXT];
    const report_coverage_about *about = &report_coverage_abouts[kind];
    if (!covered->of) return HD_OK;
    return add_more(report, about->code, "note", (uint64_t)covered->known, &covered->of,
                    report_coverage_text(text, kind, covered, whose), about->figures, err);
}

hd_status report_tell_beyond(hd_report *report, hd_error *err)
{
    uint64_t beyond = 0;
    bool is_only = !report->trust || !hd_table_row_count(report->trust);
    for (size_t i = 0; i < report->table_count; i++) beyond += hd_table_beyond(report->tables[i]);
    if (!beyond) return HD_OK;
    char text[GPU_DOUBT_TEXT];
    snprintf(text, sizeof text, "figures that are null because they are beyond 2^63 - 1 (of durations 292 years): %llu",
             (unsigned long long)beyond);
    HD_TRY(add_note(report, text, err));
    if (is_only) snprintf(report->trust_text, sizeof report->trust_text, "%s", text);
    return add_more(report, "beyond-63-bits", "error", beyond, NULL, text, NULL, err);
}
