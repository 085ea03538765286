/* info.c - what is in a trace: the file as a whole, events by kind and category, the ledger */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/info.h"
#include "report/report.h"

/* ---- the file ---------------------------------------------------------------------------------------------- */

static const report_column file_columns[] = {
    {"format", HD_VALUE_STRING},
    {"compression", HD_VALUE_STRING},
    {"stored_bytes", HD_VALUE_BYTES},
    {"input_bytes", HD_VALUE_BYTES},
    {"start", HD_VALUE_TIME},
    {"end", HD_VALUE_TIME},
    {"duration", HD_VALUE_DURATION},
    {"clock", HD_VALUE_STRING},
    {"clock_base", HD_VALUE_INT},
    {"wall_start", HD_VALUE_STRING},
    {"wall_end", HD_VALUE_STRING},
    {"rank", HD_VALUE_INT},
    {"world_size", HD_VALUE_INT},
    {"events", HD_VALUE_COUNT},
    {"slices", HD_VALUE_COUNT},
    {"processes", HD_VALUE_COUNT},
    {"tracks", HD_VALUE_COUNT},
    {"streams", HD_VALUE_COUNT},
    {"devices", HD_VALUE_COUNT},
    {"strings", HD_VALUE_COUNT},
    {"repairs", HD_VALUE_COUNT},
    {"losses", HD_VALUE_COUNT},
    {NULL, HD_VALUE_INT},
};

/* "unix": times are Unix time; "base": they count from clock_base; "unknown": from a zero that nothing tells. */
static void add_clock(hd_table_builder *builder, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    char text[HD_VALUE_TEXT_BYTES];
    int64_t base = report_clock_base(trace), start = 0, end = 0;
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
    HD_TRY(report_builder(&builder, "file", file_columns, err));
    hd_table_add_text(builder, facts->format);
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
    hd_table_add_count(builder, hd_trace_string_count(trace));
    hd_table_add_count(builder, ledger_sum(trace, HD_LEDGER_REPAIR));
    hd_table_add_count(builder, ledger_sum(trace, HD_LEDGER_LOSS));
    return report_add(out, builder, err);
}

/* ---- kinds and categories ------------------------------------------------------------------------------------ */

/* Events of one kind and category; a hash table of them. */
typedef struct category_sum {
    uint64_t count;
    int64_t total_ns;
    uint32_t category, turn; /* turn: in which order they were met */
    uint8_t kind;
} category_sum;

typedef struct category_sums {
    category_sum *slots; /* count 0: free */
    size_t capacity, used;
} category_sums;

static category_sum *slot_of(category_sum *slots, size_t capacity, uint8_t kind, uint32_t category)
{
    size_t at = (size_t)(((uint64_t)category * HD_KIND_COUNT + kind) * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
    while (slots[at].count && (slots[at].category != category || slots[at].kind != kind))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static category_sum *sum_of(category_sums *sums, uint8_t kind, uint32_t category)
{
    if (sums->used * 2 >= sums->capacity) {
        size_t capacity = sums->capacity ? sums->capacity * 2 : 256;
        category_sum *slots = calloc(capacity, sizeof *slots);
        if (!slots) return NULL;
        for (size_t i = 0; i < sums->capacity; i++) {
            const category_sum *old = &sums->slots[i];
            if (old->count) *slot_of(slots, capacity, old->kind, old->category) = *old;
        }
        free(sums->slots);
        sums->slots = slots;
        sums->capacity = capacity;
    }
    category_sum *sum = slot_of(sums->slots, sums->capacity, kind, category);
    if (!sum->count) sum->turn = (uint32_t)sums->used++;
    sum->kind = kind;
    sum->category = category;
    return sum;
}

static bool sum_block(category_sums *sums, const hd_block *block)
{
    category_sum *last = NULL;
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], i);
        if (!last || last->category != category) last = sum_of(sums, (uint8_t)block->kind, category);
        if (!last) return false;
        last->count++;
        int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], i);
        if (duration > 0 && __builtin_add_overflow(last->total_ns, duration, &last->total_ns))
            last->total_ns = INT64_MAX;
    }
    return true;
}

static int by_time_and_count(const void *a, const void *b)
{
    const category_sum *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static void cell_total(hd_table_builder *builder, hd_kind kind, int64_t total_ns)
{
    report_cell_int(builder, kind == HD_KIND_SLICE ? total_ns : HD_NO_TIME);
}

static hd_status add_kinds(hd_report *out, const hd_trace *trace, const category_sums *sums, hd_error *err)
{
    static const report_column columns[] = {
        {"kind", HD_VALUE_STRING}, {"events", HD_VALUE_COUNT}, {"total", HD_VALUE_DURATION}, {NULL, HD_VALUE_INT}};
    hd_table_builder *builder;
    int64_t totals[HD_KIND_COUNT] = {0};
    for (size_t i = 0; i < sums->used; i++) {
        int64_t *total = &totals[sums->slots[i].kind];
        if (__builtin_add_overflow(*total, sums->slots[i].total_ns, total)) *total = INT64_MAX;
    }
    HD_TRY(report_builder(&builder, "kinds", columns, err));
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
    static const report_column columns[] = {{"kind", HD_VALUE_STRING},
                                            {"category", HD_VALUE_STRING},
                                            {"events", HD_VALUE_COUNT},
                                            {"total", HD_VALUE_DURATION},
                                            {NULL, HD_VALUE_INT}};
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, "categories", columns, err));
    for (size_t i = 0; i < sums->used; i++) {
        const category_sum *sum = &sums->slots[i];
        hd_table_add_text(builder, hd_kind_name((hd_kind)sum->kind));
        report_cell_string(builder, trace, sum->category);
        hd_table_add_count(builder, sum->count);
        cell_total(builder, (hd_kind)sum->kind, sum->total_ns);
    }
    return report_add(out, builder, err);
}

static hd_status add_sums(hd_report *out, const hd_trace *trace, hd_error *err)
{
    category_sums sums = {0};
    bool fine = true;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t b = 0; fine && b < hd_trace_block_count(trace, (hd_kind)kind); b++)
            fine = sum_block(&sums, hd_trace_block_at(trace, (hd_kind)kind, b));
    }
    size_t used = 0; /* the table is done: what is used stands first, sorted */
    for (size_t i = 0; i < sums.capacity; i++) {
        if (sums.slots[i].count) sums.slots[used++] = sums.slots[i];
    }
    if (used) qsort(sums.slots, used, sizeof *sums.slots, by_time_and_count);
    hd_status status = fine ? add_kinds(out, trace, &sums, err) : HD_NOMEM(err);
    if (status == HD_OK) status = add_categories(out, trace, &sums, err);
    free(sums.slots);
    return status;
}

/* ---- the ledger ----------------------------------------------------------------------------------------------- */

static hd_status add_ledger(hd_report *out, const hd_trace *trace, hd_error *err)
{
    static const report_column columns[] = {{"stage", HD_VALUE_STRING}, {"code", HD_VALUE_STRING},
                                            {"level", HD_VALUE_STRING}, {"count", HD_VALUE_COUNT},
                                            {"offset", HD_VALUE_INT},   {NULL, HD_VALUE_INT}};
    static const char *const levels[] = {"note", "repair", "loss"};
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, "ledger", columns, err));
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        hd_table_add_text(builder, row->stage);
        hd_table_add_text(builder, row->code);
        hd_table_add_text(builder, levels[row->level]);
        hd_table_add_count(builder, row->count);
        if (row->first_offset == HD_OFFSET_NONE)
            hd_table_add_null(builder);
        else
            hd_table_add_int(builder, (int64_t)row->first_offset);
    }
    return report_add(out, builder, err);
}

static hd_status add_all(hd_report *out, const hd_trace *trace, const info_tracks *tracks, hd_error *err)
{
    HD_TRY(add_file(out, trace, tracks, err));
    HD_TRY(info_add_devices(out, tracks, err));
    HD_TRY(info_add_processes(out, tracks, err));
    HD_TRY(info_add_tracks(out, tracks, err));
    HD_TRY(add_sums(out, trace, err));
    return add_ledger(out, trace, err);
}

hd_status hd_report_info(hd_report *out, const hd_trace *trace, hd_error *err)
{
    info_tracks tracks;
    *out = (hd_report){0};
    HD_TRY(info_tracks_init(&tracks, trace, err));
    hd_status status = add_all(out, trace, &tracks, err);
    info_tracks_deinit(&tracks);
    if (status != HD_OK) hd_report_free(out);
    return status;
}
