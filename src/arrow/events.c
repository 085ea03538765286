/* events.c - columns of events */
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "base/memory/large.h"
#include "heddle/stacks.h"
#include "model/flows/bind.h"
#include "trace/clock.h"
#include "trace/index/nesting.h"

const int64_t *arrow_look(const arrow_rows *rows, unsigned slot, hd_column_id column)
{
    int64_t *out = rows->stream->scratch[slot];
    hd_column_decode(out, &rows->block->columns[column], 0, rows->block->row_count);
    return out;
}

/* ---- of all events ---- */

static void make_id(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (int64_t)(rows->block->first_row + arrow_row(rows, i));
}

static void make_rank(arrow_rows *rows, int64_t *out)
{
    const int64_t *track = arrow_look(rows, 0, HD_COL_TRACK), *ranks = rows->stream->ranks;
    uint32_t count = hd_trace_track_count(rows->stream->trace);
    for (uint32_t i = 0; i < rows->count; i++) {
        int64_t t = track[arrow_row(rows, i)];
        out[i] = ranks[t >= 0 && t < count ? t : count];
    }
}

/* The series of a counter are not arguments. */
static bool has_arguments(const hd_shape *shape, hd_kind kind)
{
    if (kind != HD_KIND_COUNTER) return shape->key_count > 0;
    for (uint32_t i = 0; i < shape->key_count; i++) {
        if (shape->keys[i].scope != HD_SCOPE_ARGS) return true;
    }
    return false;
}

static void make_arg_set(arrow_rows *rows, int64_t *out)
{
    const hd_trace *trace = rows->stream->trace;
    const hd_block *block = rows->block;
    const int64_t *shapes = arrow_look(rows, 0, HD_COL_SHAPE);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t row = arrow_row(rows, i);
        bool has = has_arguments(hd_trace_shape_at(trace, (uint32_t)shapes[row]), block->kind);
        out[i] = has ? (int64_t)((block->first_row + row) << 4 | (uint64_t)block->kind) : -1;
    }
}

static void make_phase(arrow_rows *rows, int64_t *out)
{
    const int64_t *phase = arrow_look(rows, 0, HD_COL_PHASE);
    for (uint32_t i = 0; i < rows->count; i++) {
        int64_t c = phase[arrow_row(rows, i)] & HD_PHASE_MASK;
        out[i] = c >= ' ' && c < 0x7f ? c - ' ' : -1;
    }
}

static void make_picoseconds(arrow_rows *rows, int64_t *out, hd_column_id column)
{
    const int64_t *below = arrow_look(rows, 0, column);
    for (uint32_t i = 0; i < rows->count; i++) out[i] = hd_below_ps(below[arrow_row(rows, i)]);
}

static void make_ts_ps(arrow_rows *rows, int64_t *out)
{
    make_picoseconds(rows, out, HD_COL_START_PS);
}

static void make_end_ps(arrow_rows *rows, int64_t *out)
{
    make_picoseconds(rows, out, HD_COL_END_PS);
}

/* Time in µs since 1970, if the origin of the trace's clock is known. */
static void make_time(arrow_rows *rows, int64_t *out)
{
    int64_t base = hd_trace_clock_base(rows->stream->trace), unix_ns;
    const int64_t *start = arrow_look(rows, 0, HD_COL_START);
    for (uint32_t i = 0; i < rows->count; i++) {
        int64_t ns = start[arrow_row(rows, i)];
        bool is_known = base != HD_NO_TIME && ns != HD_NO_TIME && !__builtin_add_overflow(ns, base, &unix_ns);
        out[i] = is_known ? unix_ns / 1000 - (unix_ns % 1000 < 0) : HD_NO_TIME;
    }
}

/* ---- ids of flows, async slices, objects ---- */

static void make_id_number(arrow_rows *rows, int64_t *out)
{
    const int64_t *id = arrow_look(rows, 0, HD_COL_ID), *type = arrow_look(rows, 1, HD_COL_ID_TYPE);
    rows->has_null = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t row = arrow_row(rows, i);
        out[i] = id[row];
        rows->stream->null[i] = (type[row] & HD_ID_VALUE_MASK) != HD_ID_INT;
    }
}

static void make_id_text(arrow_rows *rows, int64_t *out)
{
    const int64_t *id = arrow_look(rows, 0, HD_COL_ID), *type = arrow_look(rows, 1, HD_COL_ID_TYPE);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t row = arrow_row(rows, i), kind = type[row] & HD_ID_VALUE_MASK;
        out[i] = kind == HD_ID_STRING || kind == HD_ID_NUMBER ? id[row] : HD_STRING_NONE;
    }
}

static void make_id_scope(arrow_rows *rows, int64_t *out)
{
    const int64_t *type = arrow_look(rows, 0, HD_COL_ID_TYPE);
    for (uint32_t i = 0; i < rows->count; i++) {
        int64_t t = type[arrow_row(rows, i)];
        out[i] = t & HD_ID_LOCAL ? 0 : t & HD_ID_GLOBAL ? 1 : -1;
    }
}

static const char *const id_scopes[] = {"local", "global", NULL};

const arrow_field arrow_event_fields[] = {
    {.name = "id", .make = make_id, .null = ARROW_NEVER},
    {.name = "ts", .column = HD_COL_START, .null = HD_NO_TIME},
    {.name = "time", .make = make_time, .null = HD_NO_TIME},
    {.name = "dur", .column = HD_COL_DURATION, .null = HD_NO_TIME},
    {.name = "track_id", .column = HD_COL_TRACK, .null = HD_NONE},
    {.name = "name", .column = HD_COL_NAME, .null = HD_STRING_NONE},
    {.name = "category", .column = HD_COL_CATEGORY, .null = HD_STRING_NONE},
    {.name = "phase", .make = make_phase, .null = -1, .dictionary = ARROW_PHASES},
    {.name = "arg_set_id", .make = make_arg_set, .null = -1},
    {.name = "rank", .make = make_rank, .null = HD_NO_NUMBER},
    {.name = "ts_ps", .make = make_ts_ps, .null = ARROW_NEVER},
    {.name = "end_ps", .make = make_end_ps, .null = ARROW_NEVER},
    {.name = "id_int", .make = make_id_number},
    {.name = "id_text", .make = make_id_text, .null = HD_STRING_NONE},
    {.name = "id_scope", .make = make_id_scope, .null = -1, .dictionary = ARROW_WORDS, .words = id_scopes},
    {0},
};

/* ---- slices, and the events that end them ---- */

static void make_depth(arrow_rows *rows, int64_t *out)
{
    const hd_nesting *nesting = rows->stream->side[0].data;
    const uint32_t *depths = nesting->depths + rows->block->first_row;
    for (uint32_t i = 0; i < rows->count; i++) out[i] = depths[arrow_row(rows, i)];
}

static void make_parent(arrow_rows *rows, int64_t *out)
{
    const hd_nesting *nesting = rows->stream->side[0].data;
    const uint32_t *parents = nesting->parents + rows->block->first_row;
    for (uint32_t i = 0; i < rows->count; i++) out[i] = parents[arrow_row(rows, i)];
}

static void free_nesting(void *data)
{
    hd_nesting_free(data);
}

hd_status arrow_open_slices(arrow_stream *stream, hd_error *err)
{
    hd_nesting *nesting;
    if (!arrow_wants(stream, "depth") && !arrow_wants(stream, "parent_id")) return HD_OK;
    HD_TRY(hd_nesting_new(&nesting, stream->trace, err));
    stream->side[0] = (arrow_side){nesting, free_nesting};
    return HD_OK;
}

const arrow_field arrow_slice_fields[] = {
    {.name = "depth", .make = make_depth, .null = ARROW_NEVER},
    {.name = "parent_id", .make = make_parent, .null = HD_NONE},
    {.name = "correlation", .column = HD_COL_CORRELATION, .null = HD_NO_CORRELATION},
    {.name = "end_id", .column = HD_COL_PARTNER, .null = -1},
    {.name = "slice_id", .column = HD_COL_PARTNER, .null = -1},
    {0},
};

/* ---- flows ---- */

enum { SIDE_BOUND, SIDE_FROM };

static void make_from_list(arrow_rows *rows, int64_t *out, const uint32_t *list)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = list[rows->block->first_row + arrow_row(rows, i)];
}

static void make_bound(arrow_rows *rows, int64_t *out)
{
    make_from_list(rows, out, rows->stream->side[SIDE_BOUND].data);
}

/* Of a flow that comes from an earlier point: the slices of both ends. */
static void make_slice_in(arrow_rows *rows, int64_t *out)
{
    const uint32_t *from = rows->stream->side[SIDE_FROM].data;
    make_bound(rows, out);
    for (uint32_t i = 0; i < rows->count; i++) {
        if (from[rows->block->first_row + arrow_row(rows, i)] == HD_NONE) out[i] = HD_NONE;
    }
}

static void make_slice_out(arrow_rows *rows, int64_t *out)
{
    const uint32_t *bound = rows->stream->side[SIDE_BOUND].data;
    make_from_list(rows, out, rows->stream->side[SIDE_FROM].data);
    for (uint32_t i = 0; i < rows->count; i++) out[i] = out[i] == HD_NONE ? HD_NONE : bound[out[i]];
}

static void make_encloses(arrow_rows *rows, int64_t *out)
{
    const int64_t *phase = arrow_look(rows, 0, HD_COL_PHASE);
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (phase[arrow_row(rows, i)] & HD_FLAG_BIND_ENCLOSING) != 0;
}

const arrow_field arrow_flow_fields[] = {
    {.name = "slice_id", .make = make_bound, .null = HD_NONE},
    {.name = "slice_out", .make = make_slice_out, .null = HD_NONE},
    {.name = "slice_in", .make = make_slice_in, .null = HD_NONE},
    {.name = "bind_enclosing", .make = make_encloses, .null = ARROW_NEVER},
    {0},
};

/* By row: the row of the point before it in its flow. */
static hd_status find_from(uint32_t **out, const hd_trace *trace, hd_error *err)
{
    hd_flow_point *points;
    size_t count, rows = (size_t)hd_trace_row_count(trace, HD_KIND_FLOW);
    *out = NULL;
    HD_TRY(hd_flow_points(&points, &count, trace, err));
    uint32_t *from = malloc((rows + 1) * sizeof *from);
    if (from) {
        memset(from, 0xff, (rows + 1) * sizeof *from);
        hd_flow_points_join(points, count);
        for (size_t i = 0; i < count; i++) {
            if (points[i].from != HD_NONE && points[i].row < rows) from[points[i].row] = points[points[i].from].row;
        }
    }
    hd_large_free(points);
    *out = from;
    return from ? HD_OK : HD_NOMEM(err);
}

hd_status arrow_open_flows(arrow_stream *stream, hd_error *err)
{
    uint32_t *bound, *from;
    bool wants_pairs = arrow_wants(stream, "slice_out") || arrow_wants(stream, "slice_in");
    if (!wants_pairs && !arrow_wants(stream, "slice_id")) return HD_OK;
    HD_TRY(hd_flows_bind(&bound, stream->trace, err));
    stream->side[SIDE_BOUND] = (arrow_side){bound, hd_large_free};
    if (!wants_pairs) return HD_OK;
    HD_TRY(find_from(&from, stream->trace, err));
    stream->side[SIDE_FROM] = (arrow_side){from, free};
    return HD_OK;
}

/* ---- samples ---- */

static void make_stack(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        hd_event event;
        hd_block_event(&event, rows->block, arrow_row(rows, i));
        out[i] = hd_trace_stacks_of(rows->stream->side[0].data, &event);
    }
}

static void free_stacks(void *data)
{
    hd_trace_stacks_free(data);
}

hd_status arrow_open_samples(arrow_stream *stream, hd_error *err)
{
    hd_trace_stacks *stacks;
    if (!arrow_wants(stream, "stack_id")) return HD_OK;
    HD_TRY(hd_trace_stacks_new(&stacks, stream->trace, err));
    stream->side[0] = (arrow_side){stacks, free_stacks};
    return HD_OK;
}

const arrow_field arrow_sample_fields[] = {
    {.name = "stack_id", .make = make_stack, .null = HD_STACK_NONE},
    {0},
};
