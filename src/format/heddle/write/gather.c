/* gather.c - combines rows of a trace's blocks into full blocks of the store
 *
 * A trace's blocks may be small, since readers seal one at the end of each chunk of text. Ids of strings and shapes are
 * mapped to those of the file.
 */
#include "format/heddle/write/gather.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "trace/lazy.h"

/* A run of rows of one block of the trace. */
typedef struct segment {
    const hd_block *block;
    uint32_t first, count;
    bool last; /* ends the block */
} segment;

struct store_gatherer {
    store_ids *ids;
    segment *segments;
    size_t segment_count, segment_capacity;
    uint32_t rows_of[HD_SHAPE_LIMIT];      /* by file shape id: rows of the store's block */
    uint32_t filled[HD_SHAPE_LIMIT];       /* number of values so far */
    store_group *group_of[HD_SHAPE_LIMIT]; /* of shapes with keys */
    uint32_t touched[HD_SHAPE_LIMIT];      /* file shape ids with rows */
    uint32_t touched_count;
    int64_t *args_rows, *shapes; /* of a segment, shapes as the trace has them */
    size_t args_row_capacity, shape_capacity;
    uint32_t first_args_row[HD_SHAPE_LIMIT], count_in_segment[HD_SHAPE_LIMIT];
};

hd_status store_gatherer_new(store_gatherer **out, store_ids *ids, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return HD_NOMEM(err);
    (*out)->ids = ids;
    return HD_OK;
}

void store_gatherer_free(store_gatherer *gatherer)
{
    if (!gatherer) return;
    free(gatherer->segments);
    free(gatherer->args_rows);
    free(gatherer->shapes);
    free(gatherer);
}

void store_gathered_deinit(store_gathered *gathered)
{
    free(gathered->columns);
    free(gathered->values);
    free(gathered->lists);
    free(gathered->groups);
    *gathered = (store_gathered){0};
}

/* ---- segments ---- */

static bool find_segments(store_gatherer *g, store_cursor *cursor, hd_kind kind, uint32_t count)
{
    g->segment_count = 0;
    while (count) {
        const hd_block *block = hd_trace_block_at(g->ids->trace, kind, cursor->block[kind]);
        uint32_t left = block->row_count - cursor->row[kind], take = count < left ? count : left;
        if (!hd_grow((void **)&g->segments, &g->segment_capacity, g->segment_count, sizeof *g->segments)) return false;
        if (take) g->segments[g->segment_count++] = (segment){block, cursor->row[kind], take, take == left};
        cursor->row[kind] += take;
        cursor->global_row[kind] += take;
        count -= take;
        if (take < left) break;
        cursor->row[kind] = 0;
        cursor->block[kind]++;
    }
    return true;
}

/* ---- columns ---- */

static bool is_stored(int column)
{
    return column != HD_COL_SOURCE && column != HD_COL_SOURCE_SIZE && column != HD_COL_ARGS_ROW &&
           column != HD_COL_CORRELATION;
}

static void gather_columns(store_gathered *out, const store_gatherer *g)
{
    for (int column = 0; column < HD_COL_COUNT; column++) {
        if (!is_stored(column)) continue;
        int64_t *to = out->rows.columns[column];
        for (size_t i = 0; i < g->segment_count; i++) {
            const segment *s = &g->segments[i];
            hd_column_decode(to, &s->block->columns[column], s->first, s->count);
            to += s->count;
        }
    }
}

static void map_strings(store_ids *ids, int64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) values[i] = store_ids_string(ids, (uint64_t)values[i]);
}

static void map_columns(store_gathered *out, store_ids *ids)
{
    store_rows *rows = &out->rows;
    map_strings(ids, rows->columns[HD_COL_NAME], rows->row_count);
    map_strings(ids, rows->columns[HD_COL_CATEGORY], rows->row_count);
    for (uint32_t i = 0; i < rows->row_count; i++) {
        unsigned type = (unsigned)rows->columns[HD_COL_ID_TYPE][i] & HD_ID_VALUE_MASK;
        if (type != HD_ID_STRING && type != HD_ID_NUMBER) continue;
        rows->columns[HD_COL_ID][i] = store_ids_string(ids, (uint64_t)rows->columns[HD_COL_ID][i]);
    }
}

/* ---- arguments ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* File ids of the shapes, and how many rows each has. */
static void count_shapes(store_gathered *out, store_gatherer *g)
{
    for (uint32_t i = 0; i < g->touched_count; i++) g->rows_of[g->touched[i]] = 0;
    g->touched_count = 0;
    int64_t *shapes = out->rows.columns[HD_COL_SHAPE];
    for (uint32_t i = 0; i < out->rows.row_count; i++) {
        uint32_t shape = store_ids_shape(g->ids, (uint64_t)shapes[i]);
        shapes[i] = shape;
        if (g->rows_of[shape]++ == 0) g->touched[g->touched_count++] = shape;
    }
    hd_sort(g->touched, g->touched_count, sizeof *g->touched, by_number);
}

/* Room for the values of all groups. */
static bool lay_groups(store_gathered *out, store_gatherer *g)
{
    size_t values = 0, lists = 0;
    for (uint32_t i = 0; i < g->touched_count; i++) {
        const hd_shape *shape = hd_trace_shape_at(g->ids->trace, g->ids->shapes[g->touched[i]]);
        values += (size_t)shape->key_count * g->rows_of[g->touched[i]];
        lists += shape->key_count;
    }
    if (!hd_renew((void **)&out->values, &out->value_capacity, values, sizeof *out->values) ||
        !hd_renew((void **)&out->lists, &out->list_capacity, lists, sizeof *out->lists) ||
        !hd_renew((void **)&out->groups, &out->group_capacity, g->touched_count, sizeof *out->groups))
        return false;
    int64_t *value = out->values, **list = out->lists;
    out->rows.group_count = 0;
    out->rows.groups = out->groups;
    for (uint32_t i = 0; i < g->touched_count; i++) {
        uint32_t id = g->touched[i];
        const hd_shape *shape = hd_trace_shape_at(g->ids->trace, g->ids->shapes[id]);
        g->filled[id] = 0;
        if (shape->key_count == 0) continue;
        store_group *group = &out->groups[out->rows.group_count++];
        *group = (store_group){id, g->rows_of[id], shape->key_count, shape->keys, list};
        g->group_of[id] = group;
        for (uint32_t k = 0; k < shape->key_count; k++, value += group->row_count) *list++ = value;
    }
    return true;
}

/* A segment's values of one shape are contiguous in the block's group. */
static void gather_group(store_gatherer *g, const hd_arg_group *from)
{
    uint32_t count = g->count_in_segment[from->shape];
    if (count == 0) return;
    uint32_t id = g->ids->shape_map[from->shape];
    store_group *to = g->group_of[id];
    for (uint32_t k = 0; k < to->key_count; k++)
        hd_column_decode(to->values[k] + g->filled[id], &from->columns[k], g->first_args_row[from->shape], count);
    g->filled[id] += count;
}

static void gather_segment(store_gatherer *g, const segment *s)
{
    hd_column_decode(g->shapes, &s->block->columns[HD_COL_SHAPE], s->first, s->count);
    hd_column_decode(g->args_rows, &s->block->columns[HD_COL_ARGS_ROW], s->first, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t shape = (uint32_t)g->shapes[i];
        uint32_t at = g->count_in_segment[shape]++;
        if (at == 0) g->first_args_row[shape] = (uint32_t)g->args_rows[i];
        assert(!g->args_rows[i] || g->args_rows[i] == (int64_t)g->first_args_row[shape] + at); /* in order */
    }
    for (uint32_t i = 0; i < s->block->group_count; i++) gather_group(g, &s->block->groups[i]);
    for (uint32_t i = 0; i < s->count; i++) g->count_in_segment[g->shapes[i]] = 0;
}

static bool holds_string(unsigned type)
{
    return type == HD_ARG_STRING || type == HD_ARG_NUMBER || type == HD_ARG_JSON;
}

static void map_values(store_gathered *out, store_ids *ids)
{
    for (uint32_t i = 0; i < out->rows.group_count; i++) {
        store_group *group = &out->groups[i];
        for (uint32_t k = 0; k < group->key_count; k++) {
            if (holds_string(group->keys[k].type)) map_strings(ids, group->values[k], group->row_count);
        }
    }
}

/* ---- the block ---- */

static bool take_columns(store_gathered *out, store_gatherer *g, size_t count)
{
    if (!hd_renew((void **)&out->columns, &out->column_capacity, HD_COL_COUNT * count, sizeof *out->columns) ||
        !hd_renew((void **)&g->args_rows, &g->args_row_capacity, count, sizeof *g->args_rows) ||
        !hd_renew((void **)&g->shapes, &g->shape_capacity, count, sizeof *g->shapes))
        return false;
    for (size_t column = 0; column < HD_COL_COUNT; column++) out->rows.columns[column] = out->columns + column * count;
    return true;
}

hd_status store_gather(store_gathered *out, store_gatherer *g, store_cursor *cursor, hd_kind kind, uint32_t count,
                       hd_error *err)
{
    out->rows = (store_rows){.kind = kind, .row_count = count, .first_row = cursor->global_row[kind]};
    if (!take_columns(out, g, count) || !find_segments(g, cursor, kind, count)) return HD_NOMEM(err);
    gather_columns(out, g);
    count_shapes(out, g);
    if (!lay_groups(out, g)) return HD_NOMEM(err);
    for (size_t i = 0; i < g->segment_count; i++) {
        gather_segment(g, &g->segments[i]);
        if (g->segments[i].last) hd_trace_release(g->ids->trace, g->segments[i].block);
    }
    map_columns(out, g->ids);
    map_values(out, g->ids);
    return g->ids->failed ? HD_NOMEM(err) : HD_OK;
}
