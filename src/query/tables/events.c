/* events.c - the tables `counter` and `flow` */
#include <stdlib.h>

#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "query/tables/counters.h"
#include "query/tables/rows.h"
#include "trace/spill.h"

/* ---- counter ---- */

static const hd_query_column_about counter_columns[] = {
    {"id", "INT", "the sample", false},
    {"ts", "INT", "time, ns", false},
    {"track_id", "INT", "its series: counter_track.id", false},
    {"value", "REAL", "value from ts on; a whole number above 2^53, which a REAL cannot store, is an INTEGER", false},
    {"arg_set_id", "INT", "arguments of the event: args.arg_set_id", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static hd_status make_counter(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    HD_TRY(query_counters_make(source, err));
    *out = NULL;
    *out_count = source->counters->sample_count;
    return HD_OK;
}

static void counter_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    (void)made;
    const query_sample *sample = &source->counters->samples[row];
    switch (column) {
    case 1: query_cell_int(out, query_time(source, sample->time_ns)); break;
    case 2: query_cell_id(out, source, query_series_number(source, sample->series)); break;
    case 3:
        if (sample->is_whole)
            query_cell_int(out, sample->value.whole);
        else
            query_cell_real(out, sample->value.real);
        break;
    default: query_cell_int(out, query_id(source, sample->row) << QUERY_ARG_SHIFT | QUERY_ARGS_COUNTER);
    }
}

static uint32_t track_of_counter(const query_source *source, const void *made, uint64_t row)
{
    (void)made;
    return source->counters->series[source->counters->samples[row].series].process;
}

/* ---- flow ---- */

static const hd_query_column_about flow_columns[] = {
    {"id", "INT", "the arrow", false},
    {"slice_out", "INT", "slice from which it comes", false},
    {"slice_in", "INT", "slice to which it goes", false},
    {"ts_out", "INT", "time of its start, ns", false},
    {"ts_in", "INT", "time of its end, ns", false},
    {"category", "TEXT", "category", false},
    {"name", "TEXT", "name", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

typedef struct flow_row {
    int64_t ts_out, ts_in;
    uint32_t out, in, point; /* slices, and the row of the end */
} flow_row;

static int by_point(const void *a, const void *b)
{
    const flow_row *x = a, *y = b;
    return (x->point > y->point) - (x->point < y->point);
}

static size_t add_flows(flow_row *rows, const hd_flow_point *points, size_t count, const uint32_t *slices)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].from == HD_NONE) continue;
        const hd_flow_point *from = &points[points[i].from];
        if (slices[from->row] == UINT32_MAX || slices[points[i].row] == UINT32_MAX) continue;
        rows[made++] = (flow_row){.ts_out = from->start_ns,
                                  .ts_in = points[i].start_ns,
                                  .out = slices[from->row],
                                  .in = slices[points[i].row],
                                  .point = points[i].row};
    }
    return made;
}

static hd_status make_flow(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    uint64_t large = hd_trace_large_bytes(trace);
    hd_flow_point *points;
    uint32_t *slices = NULL;
    size_t count;
    HD_TRY(hd_flow_points(&points, &count, trace, err));
    hd_status status = hd_flows_bind(&slices, trace, err);
    flow_row *rows = status == HD_OK ? hd_large_new(count + 1, sizeof *rows, large) : NULL;
    if (status == HD_OK && !rows) status = HD_NOMEM(err);
    if (status == HD_OK) {
        hd_flow_points_join(points, count);
        *out_count = add_flows(rows, points, count, slices);
        if (!hd_large_sort(rows, (size_t)*out_count, sizeof *rows, by_point, large)) status = HD_NOMEM(err);
    }
    hd_large_free(points);
    hd_large_free(slices);
    if (status != HD_OK) {
        hd_large_free(rows);
        return status;
    }
    *out = rows;
    return HD_OK;
}

static void flow_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const flow_row *flow = &((const flow_row *)made)[row];
    uint32_t at;
    const hd_block *block;
    switch (column) {
    case 1: query_cell_id(out, source, flow->out); break;
    case 2: query_cell_id(out, source, flow->in); break;
    case 3: query_cell_int(out, query_time(source, flow->ts_out)); break;
    case 4: query_cell_int(out, query_time(source, flow->ts_in)); break;
    default:
        if (flow->point >= hd_trace_row_count(source->trace, HD_KIND_FLOW)) break; /* by bind_id: without names */
        block = hd_trace_columns_of(&at, source->trace, HD_KIND_FLOW, flow->point);
        query_cell_string(out, source,
                          (uint32_t)hd_column_at(&block->columns[column == 5 ? HD_COL_CATEGORY : HD_COL_NAME], at));
    }
}

static uint32_t track_of_flow(const query_source *source, const void *made, uint64_t row)
{
    uint32_t at;
    const hd_block *block = hd_trace_columns_of(&at, source->trace, HD_KIND_SLICE, ((const flow_row *)made)[row].out);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], at);
}

const query_rows_about query_event_tables[] = {
    {{"counter", "samples of counters", counter_columns}, make_counter, NULL, counter_cell, true, track_of_counter},
    {{"flow", "arrows from a slice to a slice", flow_columns},
     make_flow,
     hd_large_free,
     flow_cell,
     true,
     track_of_flow},
    {.about = {0}},
};
