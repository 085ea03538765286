/* tables.c - findings and their examples as tables */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/check/check.h"
#include "report/report.h"
#include "trace/event.h"

static int severity_rank(const char *severity)
{
    return severity[0] == 'e' ? 0 : severity[0] == 'w' ? 1 : 2;
}

static int by_weight(const void *a, const void *b)
{
    const check_finding *x = a, *y = b;
    int rank_x = severity_rank(check_code_about(x)->severity), rank_y = severity_rank(check_code_about(y)->severity);
    if (rank_x != rank_y) return rank_x - rank_y;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    if (x->code == CHECK_LEDGER) {
        uint64_t p = x->ledger->first_offset, q = y->ledger->first_offset;
        return p != q ? (p > q) - (p < q) : strcmp(x->ledger->code, y->ledger->code);
    }
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static bool same_group(const check_finding *a, const check_finding *b)
{
    return a->code == b->code && a->code != CHECK_LEDGER;
}

static void cell_offset(hd_table_builder *builder, const hd_trace *trace, const hd_event *event)
{
    if (hd_trace_facts_of(trace)->has_sources && event->source_size)
        hd_table_add_int(builder, (int64_t)event->source_offset);
    else
        hd_table_add_null(builder);
}

static void example_event(hd_table_builder *builder, const hd_trace *trace, int kind, uint64_t row)
{
    if (kind < 0) {
        for (int i = 0; i < 4; i++) hd_table_add_null(builder);
        return;
    }
    hd_event event = hd_event_at(trace, (hd_kind)kind, row);
    report_cell_string(builder, trace, event.name);
    report_cell_int(builder, event.start_ns);
    report_cell_int(builder, event.duration_ns);
    cell_offset(builder, trace, &event);
}

static void add_examples(hd_table_builder *builder, const hd_trace *trace, const check_finding *finding, size_t row)
{
    for (uint32_t i = 0; i < finding->example_count; i++) {
        const check_example *example = &finding->examples[i];
        hd_table_add_int(builder, (int64_t)row);
        example_event(builder, trace, example->kind, example->row);
        example_event(builder, trace, example->other_kind, example->other_row);
        report_cell_int(builder, example->value_ns);
    }
}

/* "a" or "a × b". */
static void cell_names(hd_table_builder *builder, const hd_trace *trace, const check_example *example)
{
    enum { NAME_BYTES = 240 };
    char text[2 * NAME_BYTES + 8];
    hd_string name = hd_trace_string(trace, hd_event_at(trace, (hd_kind)example->kind, example->row).name);
    if (example->other_kind < 0) {
        hd_table_add_string(builder, name.data, name.size);
        return;
    }
    hd_string other = hd_trace_string(trace, hd_event_at(trace, (hd_kind)example->other_kind, example->other_row).name);
    size_t size = name.size < NAME_BYTES ? name.size : NAME_BYTES;
    size_t other_size = other.size < NAME_BYTES ? other.size : NAME_BYTES;
    memcpy(text, name.data, size);
    memcpy(text + size, " \xc3\x97 ", 4);
    memcpy(text + size + 4, other.data, other_size);
    hd_table_add_string(builder, text, size + 4 + other_size);
}

/* The time, the place and the name of the first example. */
static void first_example(hd_table_builder *builder, const hd_trace *trace, const check_finding *finding)
{
    if (!finding->example_count || finding->examples[0].kind < 0) {
        hd_table_add_null(builder);
        if (finding->code == CHECK_LEDGER && finding->ledger->first_offset != HD_OFFSET_NONE)
            hd_table_add_int(builder, (int64_t)finding->ledger->first_offset);
        else
            hd_table_add_null(builder);
        report_cell_string(builder, trace, finding->code == CHECK_LEDGER ? finding->ledger->detail : HD_STRING_NONE);
        return;
    }
    const check_example *example = &finding->examples[0];
    hd_event event = hd_event_at(trace, (hd_kind)example->kind, example->row);
    report_cell_int(builder, event.start_ns);
    cell_offset(builder, trace, &event);
    cell_names(builder, trace, example);
}

static void cell_track(hd_table_builder *builder, const hd_trace *trace, uint32_t id)
{
    if (id == HD_NONE) {
        for (int i = 0; i < 3; i++) hd_table_add_null(builder);
        return;
    }
    const hd_track *track = hd_trace_track_at(trace, id);
    report_cell_ident(builder, trace, track->pid);
    report_cell_ident(builder, trace, track->tid);
    report_cell_string(builder, trace, track->name);
}

static void add_finding(hd_table_builder *builder, const hd_trace *trace, const check_finding *finding)
{
    hd_table_add_text(builder, check_code_about(finding)->severity);
    hd_table_add_text(builder, finding->code == CHECK_LEDGER ? finding->ledger->code : check_code_about(finding)->code);
    cell_track(builder, trace, finding->track);
    hd_table_add_count(builder, finding->count);
    if (finding->slices)
        hd_table_add_count(builder, finding->slices);
    else
        hd_table_add_null(builder);
    report_cell_int(builder, finding->worst_ns);
    first_example(builder, trace, finding);
}

/* One row for the findings [from, until), which are of one code. */
static void add_rest(hd_table_builder *builder, const check_finding *findings, size_t from, size_t until)
{
    char text[64];
    uint64_t count = 0, slices = 0;
    int64_t worst = HD_NO_TIME;
    for (size_t i = from; i < until; i++) {
        count += findings[i].count;
        slices += findings[i].slices;
        if (findings[i].worst_ns != HD_NO_TIME && (worst == HD_NO_TIME || findings[i].worst_ns > worst))
            worst = findings[i].worst_ns;
    }
    hd_table_add_text(builder, check_code_about(&findings[from])->severity);
    hd_table_add_text(builder, check_code_about(&findings[from])->code);
    hd_table_add_null(builder);
    hd_table_add_null(builder);
    snprintf(text, sizeof text, "(%zu more tracks)", until - from);
    hd_table_add_text(builder, text);
    hd_table_add_count(builder, count);
    if (slices)
        hd_table_add_count(builder, slices);
    else
        hd_table_add_null(builder);
    report_cell_int(builder, worst);
    for (int i = 0; i < 3; i++) hd_table_add_null(builder);
}

static void fill(hd_table_builder *findings, hd_table_builder *examples, const check *c)
{
    uint64_t limit = c->options.tracks_per_code;
    size_t row = 0;
    for (size_t i = 0, group = 0; i < c->finding_count; i++, row++) {
        const check_finding *finding = &c->findings[i];
        if (!same_group(&c->findings[group], finding)) group = i;
        if (limit && i - group >= limit) {
            size_t until = i;
            while (until < c->finding_count && same_group(finding, &c->findings[until])) until++;
            if (until - i > 1) {
                add_rest(findings, c->findings, i, until);
                i = until - 1;
                continue;
            }
        }
        add_finding(findings, c->trace, finding);
        add_examples(examples, c->trace, finding, row);
    }
}

static hd_status add_summary(hd_report *out, const check *c, hd_error *err)
{
    hd_table_builder *builder;
    uint64_t counts[3] = {0};
    for (size_t i = 0; i < c->finding_count; i++) counts[severity_rank(check_code_about(&c->findings[i])->severity)]++;
    HD_TRY(report_builder(&builder, &report_check_about, "summary", err));
    hd_table_add_count(builder, c->finding_count);
    for (int i = 0; i < 3; i++) hd_table_add_count(builder, counts[i]);
    return report_add(out, builder, err);
}

hd_status check_make_tables(hd_report *out, check *c, hd_error *err)
{
    hd_table_builder *findings, *examples;
    if (c->finding_count) hd_sort(c->findings, c->finding_count, sizeof *c->findings, by_weight);
    HD_TRY(report_builder(&findings, &report_check_about, "findings", err));
    hd_status status = report_builder(&examples, &report_check_about, "examples", err);
    if (status != HD_OK) {
        hd_table_builder_free(findings);
        return status;
    }
    fill(findings, examples, c);
    status = report_add(out, findings, err);
    hd_status other = report_add(out, examples, status == HD_OK ? err : NULL);
    if (status == HD_OK) status = other;
    return status == HD_OK ? add_summary(out, c, err) : status;
}
