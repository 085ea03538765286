/* info.c - contents of a trace: the file as a whole, events by kind and category, the ledger */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "model/roles/trace_roles.h"
#include "report/info/info.h"
#include "report/report.h"
#include "trace/clock.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

/* ---- the file ---- */

/* "unix": times are Unix time; "base": they count from clock_base; "unknown": from an unknown zero. */
static void add_clock(hd_table_builder *builder, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    char text[HD_VALUE_TEXT_BYTES];
    int64_t base = hd_trace_clock_base(trace), start = 0, end = 0;
    hd_table_add_text(builder, base == HD_NO_TIME ? "unknown" : base == 0 ? "unix" : "base");
    report_cell_int(builder, base);
    bool known = base != HD_NO_TIME && facts->start_ns != HD_NO_TIME &&
                 !__builtin_add_overflow(base, facts->start_ns, &start) &&
                 !__builtin_add_overflow(base, facts->end_ns, &end);
    hd_table_add_text(builder, known ? report_wall_text(text, start) : NULL);
    hd_table_add_text(builder, known ? report_wall_text(text, end) : NULL);
}

static uint64_t ledger_sum(const hd_trace *trace, hd_ledger_level level)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == level) sum += row->count;
    }
    return sum;
}

static hd_status add_file(hd_report *out, const hd_trace *trace, const info_tracks *tracks, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    hd_table_builder *builder;
    int64_t duration = HD_NO_TIME;
    HD_TRY(report_builder(&builder, &report_info_about, "file", err));
    hd_table_add_text(builder, facts->format);
    hd_table_add_text(builder, hd_producer_of(trace));
    hd_table_add_text(builder, facts->compression);
    if (facts->stored_bytes)
        hd_table_add_count(builder, facts->stored_bytes);
    else
        hd_table_add_null(builder);
    hd_table_add_count(builder, facts->input_bytes);
    report_cell_int(builder, facts->start_ns);
    report_cell_int(builder, facts->end_ns);
    if (facts->start_ns != HD_NO_TIME && __builtin_sub_overflow(facts->end_ns, facts->start_ns, &duration))
        duration = INT64_MAX;
    report_cell_int(builder, duration);
    add_clock(builder, trace);
    report_cell_int(builder, facts->rank);
    report_cell_int(builder, facts->world_size);
    hd_table_add_count(builder, hd_trace_event_count(trace));
    hd_table_add_count(builder, hd_trace_row_count(trace, HD_KIND_SLICE));
    hd_table_add_count(builder, tracks->process_count);
    hd_table_add_count(builder, tracks->track_count);
    hd_table_add_count(builder, tracks->stream_count);
    hd_table_add_count(builder, tracks->device_count);
    hd_table_add_count(builder, ledger_sum(trace, HD_LEDGER_REPAIR));
    hd_table_add_count(builder, ledger_sum(trace, HD_LEDGER_LOSS));
    hd_table_add_text(builder, facts->origin);
    hd_table_add_text(builder, facts->origin_compression);
    return report_add(out, builder, err);
}

/* ---- kinds and categories ---- */

/* Of the index that came with the trace, or made here. */
typedef struct category_sums {
    const hd_category_sum *list;
    size_t count;
} category_sums;

static void cell_total(hd_table_builder *builder, hd_kind kind, int64_t total_ns)
{
    report_cell_int(builder, kind == HD_KIND_SLICE ? total_ns : HD_NO_TIME);
}

static hd_status add_kinds(hd_report *out, const hd_trace *trace, const category_sums *sums, hd_error *err)
{
    hd_table_builder *builder;
    int64_t totals[HD_KIND_COUNT] = {0};
    for (size_t i = 0; i < sums->count; i++) {
        int64_t *total = &totals[sums->list[i].kind];
        if (__builtin_add_overflow(*total, sums->list[i].total_ns, total)) *total = INT64_MAX;
    }
    HD_TRY(report_builder(&builder, &report_info_about, "kinds", err));
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t count = hd_trace_row_count(trace, (hd_kind)kind);
        if (count == 0) continue;
        hd_table_add_text(builder, hd_kind_name((hd_kind)kind));
        hd_table_add_count(builder, count);
        cell_total(builder, (hd_kind)kind, totals[kind]);
    }
    return report_add(out, builder, err);
}

static hd_status add_categories(hd_report *out, const hd_trace *trace, const category_sums *sums, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "categories", err));
    for (size_t i = 0; i < sums->count; i++) {
        const hd_category_sum *sum = &sums->list[i];
        hd_table_add_text(builder, hd_kind_name(sum->kind));
        report_cell_string(builder, trace, sum->category);
        hd_table_add_count(builder, sum->count);
        cell_total(builder, sum->kind, sum->total_ns);
    }
    return report_add(out, builder, err);
}

static hd_status add_sums(hd_report *out, const hd_trace *trace, hd_error *err)
{
    const hd_index *index = hd_trace_index(trace);
    hd_category_sum *own = NULL;
    category_sums sums = {0};
    if (index) {
        sums.count = hd_index_category_count(index);
        sums.list = sums.count ? hd_index_category_at(index, 0) : NULL;
    } else {
        HD_TRY(hd_sum_categories(&own, &sums.count, trace, 0, err));
        sums.list = own;
    }
    hd_status status = add_kinds(out, trace, &sums, err);
    if (status == HD_OK) status = add_categories(out, trace, &sums, err);
    free(own);
    return status;
}

/* ---- samples ---- */

typedef struct event_sum {
    uint32_t name;
    uint64_t samples;
} event_sum;

static int most_samples_first(const void *a, const void *b)
{
    const event_sum *x = a, *y = b;
    if (x->samples != y->samples) return x->samples < y->samples ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* By string: how many samples have it as their name, which is the event. */
static void count_samples(uint64_t *counts, const hd_trace *trace)
{
    hd_block_room room = {0};
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SAMPLE, b);
        for (uint32_t i = 0; i < block->row_count; i++) counts[hd_column_at(&block->columns[HD_COL_NAME], i)]++;
    }
    hd_walk_end(&room, trace);
}

static hd_status put_events(hd_report *out, const hd_trace *trace, const event_sum *sums, size_t count, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "samples", err));
    for (size_t i = 0; i < count; i++) {
        report_cell_string(builder, trace, sums[i].name);
        hd_table_add_count(builder, sums[i].samples);
    }
    return report_add(out, builder, err);
}

/* The events of perf, most samples first: weights have units of their own. */
static hd_status add_samples(hd_report *out, const hd_trace *trace, hd_error *err)
{
    uint32_t strings = hd_trace_string_count(trace);
    size_t count = 0;
    if (!hd_trace_is_made_from(trace, "perf-script")) return HD_OK;
    uint64_t *counts = calloc((size_t)strings + 1, sizeof *counts);
    event_sum *sums = counts ? malloc(((size_t)strings + 1) * sizeof *sums) : NULL;
    hd_status status = sums ? HD_OK : HD_NOMEM(err);
    if (sums) {
        count_samples(counts, trace);
        for (uint32_t i = 0; i < strings; i++) {
            if (counts[i]) sums[count++] = (event_sum){i, counts[i]};
        }
        hd_sort(sums, count, sizeof *sums, most_samples_first);
        status = put_events(out, trace, sums, count, err);
    }
    free(counts);
    free(sums);
    return status;
}

/* ---- the whole ---- */

static hd_status add_all(hd_report *out, const hd_trace *trace, const info_tracks *tracks, hd_error *err)
{
    HD_TRY(add_file(out, trace, tracks, err));
    HD_TRY(info_add_devices(out, tracks, err));
    HD_TRY(info_add_processes(out, tracks, err));
    HD_TRY(info_add_tracks(out, tracks, err));
    HD_TRY(add_sums(out, trace, err));
    HD_TRY(add_samples(out, trace, err));
    return report_add_ledger(out, trace, err);
}

hd_status hd_report_info(hd_report *out, const hd_trace *trace, hd_error *err)
{
    return info_run(out, &(hd_report_input){.trace = trace}, err);
}

hd_status info_run(hd_report *out, const hd_report_input *input, hd_error *err)
{
    const hd_trace *trace = input->trace;
    info_tracks tracks;
    *out = (hd_report){0};
    HD_TRY(info_tracks_init(&tracks, input, err));
    hd_status status = add_all(out, trace, &tracks, err);
    if (status == HD_OK) status = hd_trace_input_status(trace, err);
    info_tracks_deinit(&tracks);
    if (status != HD_OK) hd_report_free(out);
    return status;
}
