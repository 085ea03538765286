/* batch.c - collects rows and seals them into blocks
 *
 * Rows are collected as structs, argument values row by row under their shape; when a kind has HD_BLOCK_ROWS rows, or
 * the batch is taken, they become columns, each as narrow as its values allow.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "trace/column.h"
#include "trace/correlation.h"
#include "trace/event.h"
#include "trace/impl.h"

typedef struct batch_row {
    hd_row row;
    uint32_t args_row;
} batch_row;

/* Values of one shape, key_count per row. */
typedef struct value_group {
    int64_t *values;
    size_t capacity; /* in values */
    uint32_t row_count, key_count;
    bool listed;
} value_group;

/* The open block of one kind. */
typedef struct open_block {
    batch_row *rows;
    uint32_t count, capacity;
    value_group *groups; /* by shape id */
    uint32_t group_capacity;
    uint32_t *shapes; /* shapes in use, in order of first use */
    size_t shape_count, shape_capacity;
} open_block;

struct hd_batch {
    hd_builder *builder;
    open_block open[HD_KIND_COUNT];
    hd_chunk *chunk;
    size_t order_capacity;
    int64_t *scratch; /* values of a column; its size is that of the largest sealed block */
    size_t scratch_capacity;
    uint64_t row_count;
};

hd_row hd_row_of(hd_kind kind, char phase)
{
    return (hd_row){
        .kind = kind,
        .track = HD_NONE,
        .phase = (unsigned char)phase,
        .start_ns = HD_NO_TIME,
        .duration_ns = HD_NO_TIME,
    };
}

/* Without memory the batch keeps its chunk. */
static hd_status chunk_new(hd_batch *batch, hd_error *err)
{
    hd_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk) return HD_NOMEM(err);
    batch->chunk = chunk;
    batch->order_capacity = 0;
    return HD_OK;
}

hd_status hd_batch_new(hd_batch **out, hd_builder *builder, hd_error *err)
{
    hd_batch *batch = calloc(1, sizeof *batch);
    *out = NULL;
    if (!batch) return HD_NOMEM(err);
    batch->builder = builder;
    if (chunk_new(batch, NULL) != HD_OK) {
        hd_batch_free(batch);
        return HD_NOMEM(err);
    }
    *out = batch;
    return HD_OK;
}

void hd_chunk_free(hd_chunk *chunk)
{
    if (!chunk) return;
    free(chunk->blocks);
    free(chunk->order);
    hd_arena_deinit(&chunk->arena);
    free(chunk);
}

void hd_batch_free(hd_batch *batch)
{
    if (!batch) return;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        open_block *open = &batch->open[kind];
        for (uint32_t i = 0; i < open->group_capacity; i++) free(open->groups[i].values);
        free(open->groups);
        free(open->shapes);
        free(open->rows);
    }
    hd_chunk_free(batch->chunk);
    free(batch->scratch);
    free(batch);
}

uint64_t hd_batch_row_count(const hd_batch *batch)
{
    return batch->row_count;
}

static void open_block_clear(open_block *open)
{
    for (size_t i = 0; i < open->shape_count; i++) {
        value_group *group = &open->groups[open->shapes[i]];
        group->row_count = 0;
        group->listed = false;
    }
    open->shape_count = 0;
    open->count = 0;
}

/* ---- adding ---- */

static value_group *group_of(open_block *open, uint32_t shape, uint32_t key_count)
{
    if (shape >= open->group_capacity) {
        uint32_t capacity = open->group_capacity ? open->group_capacity : 32;
        while (capacity <= shape) capacity *= 2;
        value_group *groups = realloc(open->groups, capacity * sizeof *groups);
        if (!groups) return NULL;
        memset(groups + open->group_capacity, 0, (capacity - open->group_capacity) * sizeof *groups);
        open->groups = groups;
        open->group_capacity = capacity;
    }
    value_group *group = &open->groups[shape];
    if (!group->listed) {
        if (!hd_grow((void **)&open->shapes, &open->shape_capacity, open->shape_count, sizeof *open->shapes))
            return NULL;
        open->shapes[open->shape_count++] = shape;
        group->listed = true;
        group->key_count = key_count;
    }
    return group;
}

static hd_status add_values(uint32_t *out_row, open_block *open, uint32_t shape, uint32_t key_count,
                            const int64_t *values, hd_error *err)
{
    value_group *group = group_of(open, shape, key_count);
    if (!group) return HD_NOMEM(err);
    size_t used = (size_t)group->row_count * key_count;
    if (used + key_count > group->capacity) {
        size_t capacity = group->capacity ? group->capacity * 2 : 64;
        while (capacity < used + key_count) capacity *= 2;
        int64_t *wider = realloc(group->values, capacity * sizeof *wider);
        if (!wider) return HD_NOMEM(err);
        group->values = wider;
        group->capacity = capacity;
    }
    memcpy(group->values + used, values, key_count * sizeof *values);
    *out_row = group->row_count++;
    return HD_OK;
}

static hd_status seal_block(hd_batch *batch, hd_kind kind, hd_error *err);

static hd_status grow_rows(hd_batch *batch, open_block *open, hd_kind kind, hd_error *err)
{
    if (open->count == HD_BLOCK_ROWS) return seal_block(batch, kind, err);
    uint32_t capacity = open->capacity ? open->capacity * 4 : 256;
    if (capacity > HD_BLOCK_ROWS) capacity = HD_BLOCK_ROWS;
    batch_row *rows = realloc(open->rows, capacity * sizeof *rows);
    if (!rows) return HD_NOMEM(err);
    open->rows = rows;
    open->capacity = capacity;
    return HD_OK;
}

hd_status hd_batch_add(hd_batch *batch, const hd_row *row, const int64_t *values, hd_error *err)
{
    open_block *open = &batch->open[row->kind];
    hd_chunk *chunk = batch->chunk;
    if (chunk->order_count == batch->order_capacity &&
        !hd_grow((void **)&chunk->order, &batch->order_capacity, chunk->order_count, 1))
        return HD_NOMEM(err);
    if (open->count == open->capacity) HD_TRY(grow_rows(batch, open, row->kind, err));
    uint32_t args_row = 0;
    uint32_t key_count = hd_shapes_list(&batch->builder->trace.shapes)[row->shape].key_count;
    if (key_count) HD_TRY(add_values(&args_row, open, row->shape, key_count, values, err));
    open->rows[open->count++] = (batch_row){.row = *row, .args_row = args_row};
    chunk->order[chunk->order_count++] = (uint8_t)row->kind;
    batch->row_count++;
    return HD_OK;
}

/* ---- sealing ---- */

#define GATHER(expression)                                                                                             \
    for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)rows[i].expression;                                         \
    break

static void gather(int64_t *out, const batch_row *rows, uint32_t count, hd_column_id column)
{
    switch (column) {
    case HD_COL_START: GATHER(row.start_ns);
    case HD_COL_DURATION: GATHER(row.duration_ns);
    case HD_COL_TRACK: GATHER(row.track);
    case HD_COL_NAME: GATHER(row.name);
    case HD_COL_CATEGORY: GATHER(row.category);
    case HD_COL_PHASE: GATHER(row.phase);
    case HD_COL_SHAPE: GATHER(row.shape);
    case HD_COL_ARGS_ROW: GATHER(args_row);
    case HD_COL_ID: GATHER(row.id);
    case HD_COL_ID_TYPE: GATHER(row.id_type);
    case HD_COL_START_PS: GATHER(row.start_ps + 1000 * (int64_t)rows[i].row.start_finer);
    case HD_COL_END_PS: GATHER(row.end_ps + 1000 * (int64_t)rows[i].row.end_finer);
    case HD_COL_SOURCE: GATHER(row.source_offset);
    case HD_COL_SOURCE_SIZE: GATHER(row.source_size);
    case HD_COL_PARTNER:
    case HD_COL_CORRELATION:
    case HD_COL_COUNT:
        for (uint32_t i = 0; i < count; i++) out[i] = -1;
        break;
    }
}

static void find_block_span(hd_block *block, const batch_row *rows)
{
    block->start_ns = block->end_ns = HD_NO_TIME;
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t start = rows[i].row.start_ns;
        if (start != HD_NO_TIME)
            hd_span_widen(&block->start_ns, &block->end_ns, start, hd_end_or_start(start, rows[i].row.duration_ns));
    }
}

static int by_shape(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool seal_group(hd_batch *batch, hd_arg_group *out, const value_group *group, uint32_t shape)
{
    hd_arena *arena = &batch->chunk->arena;
    hd_column *columns = hd_arena_alloc(arena, group->key_count * sizeof *columns);
    if (!columns) return false;
    for (uint32_t key = 0; key < group->key_count; key++) {
        const int64_t *value = group->values + key;
        for (uint32_t i = 0; i < group->row_count; i++, value += group->key_count) batch->scratch[i] = *value;
        if (!hd_column_seal(&columns[key], arena, batch->scratch, group->row_count)) return false;
    }
    *out = (hd_arg_group){.shape = shape, .row_count = group->row_count, .columns = columns};
    return true;
}

static bool seal_groups(hd_batch *batch, hd_block *block, open_block *open)
{
    if (open->shape_count == 0) return true;
    if (open->shape_count) hd_sort(open->shapes, open->shape_count, sizeof *open->shapes, by_shape);
    hd_arg_group *groups = hd_arena_alloc(&batch->chunk->arena, open->shape_count * sizeof *groups);
    if (!groups) return false;
    for (size_t i = 0; i < open->shape_count; i++) {
        if (!seal_group(batch, &groups[i], &open->groups[open->shapes[i]], open->shapes[i])) return false;
    }
    block->group_count = (uint32_t)open->shape_count;
    block->groups = groups;
    return true;
}

static bool reserve_scratch(hd_batch *batch, size_t rows)
{
    if (rows <= batch->scratch_capacity) return true;
    free(batch->scratch);
    batch->scratch = malloc(rows * sizeof *batch->scratch);
    batch->scratch_capacity = batch->scratch ? rows : 0;
    return batch->scratch != NULL;
}

static hd_status seal_block(hd_batch *batch, hd_kind kind, hd_error *err)
{
    open_block *open = &batch->open[kind];
    hd_chunk *chunk = batch->chunk;
    if (!reserve_scratch(batch, open->count)) return HD_NOMEM(err);
    hd_block *block = hd_arena_alloc(&chunk->arena, sizeof *block);
    if (!block || !hd_grow((void **)&chunk->blocks, &chunk->block_capacity, chunk->block_count, sizeof block))
        return HD_NOMEM(err);
    *block = (hd_block){.kind = kind, .row_count = open->count};
    find_block_span(block, open->rows);
    for (int column = 0; column < HD_COL_CORRELATION; column++) {
        gather(batch->scratch, open->rows, open->count, (hd_column_id)column);
        if (!hd_column_seal(&block->columns[column], &chunk->arena, batch->scratch, open->count)) return HD_NOMEM(err);
    }
    if (!seal_groups(batch, block, open) ||
        !hd_correlation_fill(block, &batch->builder->trace, &chunk->arena, batch->scratch))
        return HD_NOMEM(err);
    chunk->blocks[chunk->block_count++] = block;
    open_block_clear(open);
    return HD_OK;
}

hd_status hd_batch_take(hd_chunk **out, hd_batch *batch, hd_error *err)
{
    *out = NULL;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (batch->open[kind].count) HD_TRY(seal_block(batch, (hd_kind)kind, err));
    }
    hd_chunk *chunk = batch->chunk;
    HD_TRY(chunk_new(batch, err));
    if (chunk->order_count) { /* shrink after doubling */
        uint8_t *order = realloc(chunk->order, chunk->order_count);
        if (order) chunk->order = order;
    }
    batch->row_count = 0;
    *out = chunk;
    return HD_OK;
}

void hd_batch_clear(hd_batch *batch)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) open_block_clear(&batch->open[kind]);
    hd_chunk *chunk = batch->chunk;
    hd_arena_deinit(&chunk->arena);
    chunk->block_count = 0;
    chunk->order_count = 0;
    batch->row_count = 0;
}
