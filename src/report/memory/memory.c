/* memory.c - allocated memory, live memory at the peak, and memory never freed
 *
 * memory      one row: events and sums over all devices
 * devices     by process and device: counts, bytes, the peak
 * categories  by process, device and category
 * reserved    memory that allocators hold and do not hand out
 * anomalies    anomalies of events
 * ledger      damage of the trace
 * peak, leaks, series: groups.c, series.c
 */
#include "report/memory/memory.h"

#include "base/error.h"
#include "base/options.h"

void memory_cell_bytes(hd_table_builder *b, int64_t bytes)
{
    if (bytes < 0)
        hd_table_add_null(b);
    else
        hd_table_add_count(b, (uint64_t)bytes);
}

void memory_cells_pool(hd_table_builder *b, const hd_trace *trace, const hd_memory_pool *pool)
{
    char name[HD_MEMORY_NAME_BYTES];
    report_cell_ident(b, trace, hd_trace_track_at(trace, pool->process)->pid);
    hd_table_add_text(b, hd_memory_pool_name(name, trace, pool));
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int64_t add_signed(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}

static hd_status add_memory(hd_report *out, const hd_memory *m, hd_error *err)
{
    hd_memory_pool sum = {0};
    uint64_t live_count = 0;
    hd_table_builder *b;
    for (size_t i = 0; i < m->pool_count; i++) {
        const hd_memory_pool *pool = &m->pools[i];
        sum.allocations += pool->allocations;
        sum.frees += pool->frees;
        sum.allocated_bytes = add_up(sum.allocated_bytes, pool->allocated_bytes);
        sum.freed_bytes = add_up(sum.freed_bytes, pool->freed_bytes);
        sum.replaced_bytes = add_up(sum.replaced_bytes, pool->replaced_bytes);
        sum.live_bytes = add_signed(sum.live_bytes, pool->live_bytes);
    }
    for (size_t i = 0; i < m->event_count; i++)
        live_count += !m->events[i].is_free && m->events[i].has_address && m->events[i].end == HD_NONE;
    HD_TRY(report_builder(&b, &report_memory_about, "memory", err));
    const uint64_t counts[] = {m->found,          m->found - m->event_count, sum.allocations,
                               sum.frees,         sum.allocated_bytes,       sum.freed_bytes,
                               sum.replaced_bytes};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) hd_table_add_count(b, counts[i]);
    memory_cell_bytes(b, sum.live_bytes);
    hd_table_add_count(b, live_count);
    return report_add(out, b, err);
}

static hd_status add_devices(hd_report *out, const hd_memory *m, const hd_trace *trace, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_memory_about, "devices", err));
    for (size_t i = 0; i < m->pool_count; i++) {
        const hd_memory_pool *pool = &m->pools[i];
        memory_cells_pool(b, trace, pool);
        hd_table_add_count(b, pool->allocations);
        hd_table_add_count(b, pool->frees);
        hd_table_add_count(b, pool->allocated_bytes);
        hd_table_add_count(b, pool->freed_bytes);
        hd_table_add_count(b, pool->replaced_bytes);
        memory_cell_bytes(b, pool->live_bytes);
        memory_cell_bytes(b, pool->peak_bytes);
        hd_table_add_int(b, pool->peak_ns);
        memory_cell_bytes(b, pool->peak_live_bytes);
        memory_cell_bytes(b, pool->final_bytes);
        hd_table_add_bool(b, pool->has_totals);
    }
    return report_add(out, b, err);
}

static hd_status add_categories(hd_report *out, const hd_memory *m, const hd_trace *trace, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_memory_about, "categories", err));
    for (size_t i = 0; i < m->group_count; i++) {
        const hd_memory_group *group = &m->groups[i];
        if (group->allocations + group->frees == 0) continue; /* only frees that belong to others' allocations */
        memory_cells_pool(b, trace, &m->pools[group->pool]);
        report_cell_string(b, trace, group->category);
        hd_table_add_count(b, group->allocations);
        hd_table_add_count(b, group->frees);
        memory_cell_bytes(b, group->peak_bytes);
        hd_table_add_int(b, group->peak_ns);
        memory_cell_bytes(b, group->live_bytes);
    }
    return report_add(out, b, err);
}

static hd_status add_reserved(hd_report *out, const hd_memory *m, const hd_trace *trace, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_memory_about, "reserved", err));
    for (size_t i = 0; i < m->pool_count; i++) {
        const hd_memory_pool *pool = &m->pools[i];
        if (!pool->has_reserved || (pool->reserved_peak_bytes <= 0 && pool->idle_max_bytes <= 0)) continue;
        memory_cells_pool(b, trace, pool);
        memory_cell_bytes(b, pool->reserved_peak_bytes);
        memory_cell_bytes(b, pool->idle_at_peak_bytes);
        hd_table_add_count(b, pool->idle_mean_bytes < 0x1p63 ? (uint64_t)pool->idle_mean_bytes : INT64_MAX);
        memory_cell_bytes(b, pool->idle_max_bytes);
        hd_table_add_int(b, pool->idle_max_ns);
    }
    return report_add(out, b, err);
}

static hd_status add_anomalies(hd_report *out, const hd_memory *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_memory_about, "anomalies", err));
    for (int i = 0; i < HD_MEMORY_ANOMALIES; i++) {
        if (!m->anomalies[i]) continue;
        hd_table_add_text(b, hd_memory_anomaly_name((hd_memory_anomaly)i));
        hd_table_add_count(b, m->anomalies[i]);
        hd_table_add_count(b, m->anomaly_bytes[i]);
        report_cell_int(b, m->anomaly_first_ns[i]);
        hd_table_add_text(b, hd_memory_anomaly_meaning((hd_memory_anomaly)i));
    }
    return report_add(out, b, err);
}

static hd_status add_all(hd_report *out, const hd_memory *m, const hd_trace *trace,
                         const hd_memory_report_options *options, hd_error *err)
{
    uint64_t rows = options && options->rows ? options->rows : HD_MEMORY_ROWS;
    HD_TRY(add_memory(out, m, err));
    HD_TRY(add_devices(out, m, trace, err));
    HD_TRY(add_categories(out, m, trace, err));
    HD_TRY(memory_add_peak(out, m, trace, rows, err));
    HD_TRY(memory_add_leaks(out, m, trace, rows, err));
    HD_TRY(add_reserved(out, m, trace, err));
    HD_TRY(add_anomalies(out, m, err));
    HD_TRY(report_add_ledger(out, trace, err));
    return options && options->series ? memory_add_series(out, m, trace, err) : HD_OK;
}

hd_status hd_report_memory(hd_report *out, const hd_memory *memory, const hd_trace *trace,
                           const hd_memory_report_options *options, hd_error *err)
{
    *out = (hd_report){0};
    HD_OWN_OPTIONS(hd_memory_report_options, options, err);
    hd_status status = add_all(out, memory, trace, options, err);
    if (status != HD_OK) hd_report_free(out);
    return status;
}
