/* block.c - blocks of rows as bytes and back */
#include "format/heddle/codec/block.h"

#include <stdlib.h>

#include "base/text/decimal.h"
#include "format/heddle/codec/column.h"
#include "format/heddle/codec/nest.h"
#include "trace/column.h"
#include "trace/event.h"

/* Order of the stored columns: columns that predict others come first. ARGS_ROW is derived; SOURCE and SOURCE_SIZE are
 * not stored. */
static const uint8_t column_order[] = {
    HD_COL_TRACK, HD_COL_NAME,    HD_COL_CATEGORY, HD_COL_PHASE,    HD_COL_SHAPE,  HD_COL_DURATION,
    HD_COL_START, HD_COL_ID_TYPE, HD_COL_ID,       HD_COL_START_PS, HD_COL_END_PS, HD_COL_PARTNER,
};
enum { ORDER_COUNT = sizeof column_order };

static store_content content_of_column(unsigned column)
{
    switch (column) {
    case HD_COL_START:
    case HD_COL_DURATION: return STORE_TIME;
    case HD_COL_ID:
    case HD_COL_PARTNER: return STORE_NUMBER;
    default: return STORE_SYMBOL;
    }
}

static store_content content_of_key(uint8_t type)
{
    if (type == HD_ARG_DECIMAL) return STORE_DECIMAL;
    return type == HD_ARG_INT ? STORE_NUMBER : STORE_SYMBOL;
}

/* The first index of each group's rows in a list of row numbers, group by group. */
static void list_rows(uint32_t *out, uint32_t *starts, const int64_t *shapes, uint32_t row_count)
{
    for (uint32_t i = 0; i < row_count; i++) {
        uint32_t *at = &starts[shapes[i]];
        if (*at != HD_NONE) out[(*at)++] = i;
    }
}

/* ---- writing ---- */

/* Writes the row numbers of each group to encoder->rows; the groups must match the shapes. */
static hd_status list_group_rows(store_encoder *encoder, const store_rows *rows, hd_error *err)
{
    uint32_t shape_count = rows->group_count ? rows->groups[rows->group_count - 1].shape + 1 : 0, at = 0;
    if (!shape_count) return HD_OK;
    uint32_t *starts = malloc(shape_count * sizeof *starts);
    if (!starts) return HD_NOMEM(err);
    memset(starts, 0xff, shape_count * sizeof *starts);
    for (uint32_t i = 0; i < rows->group_count; i++) {
        starts[rows->groups[i].shape] = at;
        at += rows->groups[i].row_count;
    }
    for (uint32_t i = 0; i < rows->row_count; i++) {
        int64_t shape = rows->columns[HD_COL_SHAPE][i];
        if (shape < 0 || shape >= shape_count || starts[shape] >= rows->row_count) continue;
        encoder->rows[starts[shape]++] = i;
    }
    at = 0;
    bool fine = true;
    for (uint32_t i = 0; i < rows->group_count; i++) {
        at += rows->groups[i].row_count;
        fine = fine && starts[rows->groups[i].shape] == at;
    }
    free(starts);
    return fine ? HD_OK
                : hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the rows of a block and its groups differ");
}

static void put_group(store_encoder *encoder, const store_group *group, const uint32_t *row_list, uint32_t known,
                      const int64_t *base)
{
    store_refs refs = {
        .base = base,
        .gathered = encoder->gathered,
        .stride = encoder->stride,
        .rows = row_list,
        .row_count = group->row_count,
        .known = known,
    };
    for (uint32_t key = 0; key < group->key_count; key++) {
        store_put_column(encoder, &encoder->sink, group->values[key], group->row_count, &refs,
                         content_of_key(group->keys[key].type));
        if (key >= STORE_KEY_REFS) continue;
        refs.columns[STORE_BASE_REFS + key] = group->values[key];
        refs.key_count = key + 1;
    }
}

static store_nest nest_of(store_refs *refs, size_t stride, int64_t *columns, int64_t *base, uint32_t *below)
{
    return (store_nest){
        .count = refs->row_count,
        .tracks = refs->columns[HD_COL_TRACK],
        .names = refs->columns[HD_COL_NAME],
        .pops = columns,
        .gaps = columns + stride,
        .tails = columns + 2 * stride,
        .before = base + STORE_REF_BEFORE * stride,
        .bound = base + STORE_REF_BOUND * stride,
        .child = base + STORE_REF_CHILD * stride,
        .below = below,
    };
}

static bool all_have_times(const store_rows *rows)
{
    const int64_t *starts = rows->columns[HD_COL_START], *durations = rows->columns[HD_COL_DURATION];
    bool fine = rows->kind == HD_KIND_SLICE;
    for (uint32_t i = 0; i < rows->row_count; i++) fine &= starts[i] != HD_NO_TIME && durations[i] != HD_NO_TIME;
    return fine;
}

enum { TIMES_PLAIN, TIMES_NESTED };

static void put_times(store_encoder *encoder, const store_rows *rows, store_refs *refs)
{
    store_sink *sink = &encoder->sink;
    store_nest nest = nest_of(refs, encoder->stride, encoder->nest, encoder->base, encoder->below);
    hd_bytes_put_u8(&sink->head, TIMES_NESTED);
    if (!all_have_times(rows) || !store_nest_open(&nest)) {
        if (nest.top_count && !nest.top) encoder->status = HD_ERR_MEMORY;
        sink->head.data[sink->head.size - 1] = TIMES_PLAIN;
        store_put_column(encoder, sink, rows->columns[HD_COL_DURATION], rows->row_count, refs, STORE_TIME);
        refs->columns[HD_COL_DURATION] = rows->columns[HD_COL_DURATION];
        store_put_column(encoder, sink, rows->columns[HD_COL_START], rows->row_count, refs, STORE_TIME);
        refs->columns[HD_COL_START] = rows->columns[HD_COL_START];
        return;
    }
    store_nest_from_times(&nest, rows->columns[HD_COL_START], rows->columns[HD_COL_DURATION]);
    store_nest_relate(&nest);
    store_nest_close(&nest);
    refs->columns[STORE_REF_BEFORE] = nest.before;
    store_put_column(encoder, sink, nest.pops, rows->row_count, refs, STORE_SYMBOL);
    refs->columns[STORE_REF_BOUND] = nest.bound;
    store_put_column(encoder, sink, nest.gaps, rows->row_count, refs, STORE_TIME);
    refs->columns[STORE_REF_BOUND] = NULL;
    refs->columns[STORE_REF_CHILD] = nest.child;
    store_put_column(encoder, sink, nest.tails, rows->row_count, refs, STORE_TIME);
    refs->columns[STORE_REF_CHILD] = NULL;
    refs->columns[HD_COL_DURATION] = rows->columns[HD_COL_DURATION];
    refs->columns[HD_COL_START] = rows->columns[HD_COL_START];
}

hd_status store_block_encode(hd_bytes *out, store_encoder *encoder, const store_rows *rows, hd_error *err)
{
    if (rows->row_count == 0 || rows->row_count > STORE_ROWS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a block of %u rows", rows->row_count);
    HD_TRY(store_encoder_fit(encoder, rows->row_count, err));
    HD_TRY(list_group_rows(encoder, rows, err));
    store_refs refs = {.row_count = rows->row_count};
    uint32_t known = 0;
    for (unsigned i = 0; i < ORDER_COUNT; i++) known |= 1u << column_order[i];
    store_sink_clear(&encoder->sink);
    for (unsigned i = 0; i < ORDER_COUNT; i++) {
        unsigned column = column_order[i];
        if (column == HD_COL_DURATION) put_times(encoder, rows, &refs);
        if (refs.columns[column]) continue;
        store_put_column(encoder, &encoder->sink, rows->columns[column], rows->row_count, &refs,
                         content_of_column(column));
        refs.columns[column] = rows->columns[column];
    }
    for (unsigned i = 0; i < ORDER_COUNT && rows->group_count; i++)
        memcpy(encoder->base + (size_t)column_order[i] * encoder->stride, rows->columns[column_order[i]],
               rows->row_count * sizeof(int64_t));
    const uint32_t *row_list = encoder->rows;
    for (uint32_t i = 0; i < rows->group_count; i++) {
        put_group(encoder, &rows->groups[i], row_list, known, encoder->base);
        row_list += rows->groups[i].row_count;
    }
    return store_sink_finish(out, encoder, &encoder->sink, err);
}

/* ---- reading ---- */

static bool within(const int64_t *values, uint32_t count, int64_t low, int64_t high)
{
    bool fine = true;
    for (uint32_t i = 0; i < count; i++) fine &= values[i] >= low && values[i] <= high;
    return fine;
}

static bool column_is_sound(unsigned column, const int64_t *values, uint32_t count, const store_limits *limits)
{
    switch (column) {
    case HD_COL_TRACK:
        for (uint32_t i = 0; i < count; i++) {
            if ((uint64_t)values[i] >= limits->track_count && values[i] != HD_NONE) return false;
        }
        return true;
    case HD_COL_NAME:
    case HD_COL_CATEGORY: return within(values, count, 0, (int64_t)limits->string_count - 1);
    case HD_COL_SHAPE: return within(values, count, 0, (int64_t)limits->shape_count - 1);
    case HD_COL_PHASE: return within(values, count, 0, HD_PHASE_MASK | HD_FLAG_BIND_ENCLOSING);
    case HD_COL_ID_TYPE: return within(values, count, 0, HD_ID_VALUE_MASK | HD_ID_LOCAL | HD_ID_GLOBAL);
    case HD_COL_START_PS:
    case HD_COL_END_PS: return within(values, count, 0, HD_FIXED_ONE - 1);
    case HD_COL_PARTNER:
        return within(values, count, -1, limits->partner_rows ? (int64_t)limits->partner_rows - 1 : INT64_MAX);
    default: return true;
    }
}

/* Ids that are strings. */
static bool ids_are_sound(const int64_t *ids, const int64_t *types, uint32_t count, const store_limits *limits)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t type = types[i] & HD_ID_VALUE_MASK;
        if ((type == HD_ID_STRING || type == HD_ID_NUMBER) && (uint64_t)ids[i] >= limits->string_count) return false;
    }
    return true;
}

static bool values_are_sound(const int64_t *values, uint32_t count, uint8_t type, const store_limits *limits)
{
    switch (type) {
    case HD_ARG_BOOL: return within(values, count, 0, 1);
    case HD_ARG_NUMBER:
    case HD_ARG_STRING:
    case HD_ARG_JSON: return within(values, count, 0, (int64_t)limits->string_count - 1);
    default: return true;
    }
}

typedef struct block_reader {
    store_decoder *decoder;
    store_source source;
    const store_limits *limits;
    hd_block *block;
    hd_arena *arena;
    hd_error *err;
} block_reader;

static hd_status damaged(block_reader *r, const char *what)
{
    if (r->source.no_memory) return HD_NOMEM(r->err);
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, r->source.body.at, "%s", what);
}

static int64_t *base_column(const store_decoder *decoder, unsigned column)
{
    return decoder->base + (size_t)column * decoder->stride;
}

static bool take_times(block_reader *r, store_refs *refs)
{
    uint32_t count = r->block->row_count;
    store_decoder *d = r->decoder;
    int64_t *starts = base_column(d, HD_COL_START);
    int64_t *durations = base_column(d, HD_COL_DURATION);
    uint8_t tag = hd_byte_reader_u8(&r->source.head);
    if (tag == TIMES_PLAIN) {
        if (!store_take_column(&r->source, d, durations, count, refs)) return false;
        refs->columns[HD_COL_DURATION] = durations;
        if (!store_take_column(&r->source, d, starts, count, refs)) return false;
        refs->columns[HD_COL_START] = starts;
        return true;
    }
    store_nest nest = nest_of(refs, d->stride, d->nest, d->base, d->below);
    if (tag != TIMES_NESTED || !store_nest_open(&nest)) {
        r->source.no_memory |= nest.top_count && !nest.top;
        return false;
    }
    refs->columns[STORE_REF_BEFORE] = nest.before;
    bool fine = store_take_column(&r->source, d, nest.pops, count, refs) && store_nest_relate(&nest);
    refs->columns[STORE_REF_BOUND] = nest.bound;
    fine = fine && store_take_column(&r->source, d, nest.gaps, count, refs);
    refs->columns[STORE_REF_BOUND] = NULL;
    refs->columns[STORE_REF_CHILD] = nest.child;
    fine = fine && store_take_column(&r->source, d, nest.tails, count, refs);
    refs->columns[STORE_REF_CHILD] = NULL;
    if (fine) store_nest_to_times(&nest, starts, durations);
    store_nest_close(&nest);
    refs->columns[HD_COL_DURATION] = durations;
    refs->columns[HD_COL_START] = starts;
    return fine;
}

static hd_status take_base(block_reader *r)
{
    hd_block *block = r->block;
    store_refs refs = {.row_count = block->row_count};
    for (unsigned i = 0; i < ORDER_COUNT; i++) {
        unsigned column = column_order[i];
        int64_t *values = base_column(r->decoder, column);
        if (column == HD_COL_DURATION && !take_times(r, &refs)) return damaged(r, "the encoded times are damaged");
        if (!refs.columns[column] && !store_take_column(&r->source, r->decoder, values, block->row_count, &refs))
            return damaged(r, "an encoded column is damaged");
        if (!column_is_sound(column, values, block->row_count, r->limits))
            return damaged(r, "a column refers to what is not there");
        if (!hd_column_seal(&block->columns[column], r->arena, values, block->row_count)) return HD_NOMEM(r->err);
        refs.columns[column] = values;
    }
    if (!ids_are_sound(refs.columns[HD_COL_ID], refs.columns[HD_COL_ID_TYPE], block->row_count, r->limits))
        return damaged(r, "an id refers to a string that is not there");
    return HD_OK;
}

/* Numbers the rows of each shape into ARGS_ROW, and makes the groups. */
static hd_status make_groups(block_reader *r, hd_arg_group **out)
{
    hd_block *block = r->block;
    const int64_t *shapes = base_column(r->decoder, HD_COL_SHAPE);
    int64_t *args_rows = r->decoder->work[0];
    uint32_t shape_count = 0, group_count = 0;
    for (uint32_t i = 0; i < block->row_count; i++)
        shape_count = shapes[i] >= shape_count ? (uint32_t)shapes[i] + 1 : shape_count;
    uint32_t *counts = calloc(shape_count, sizeof *counts);
    if (!counts) return HD_NOMEM(r->err);
    for (uint32_t i = 0; i < block->row_count; i++) args_rows[i] = counts[shapes[i]]++;
    for (uint32_t shape = 0; shape < shape_count; shape++) {
        if (hd_trace_shape_at(r->limits->trace, shape)->key_count == 0) {
            counts[shape] = 0;
            continue;
        }
        group_count += counts[shape] > 0;
    }
    for (uint32_t i = 0; i < block->row_count; i++) args_rows[i] = counts[shapes[i]] ? args_rows[i] : 0;
    hd_arg_group *groups = hd_arena_alloc(r->arena, (group_count + 1) * sizeof *groups);
    uint32_t at = 0, row = 0;
    for (uint32_t shape = 0; groups && shape < shape_count; shape++) {
        uint32_t rows = counts[shape];
        counts[shape] = rows ? row : HD_NONE;
        if (rows) groups[at++] = (hd_arg_group){.shape = shape, .row_count = rows};
        row += rows;
    }
    if (groups) list_rows(r->decoder->rows, counts, shapes, block->row_count);
    free(counts);
    block->groups = *out = groups;
    block->group_count = group_count;
    if (!groups || !hd_column_seal(&block->columns[HD_COL_ARGS_ROW], r->arena, args_rows, block->row_count))
        return HD_NOMEM(r->err);
    return HD_OK;
}

static int64_t *key_column(store_decoder *decoder, uint32_t key)
{
    uint32_t place = key < STORE_KEY_REFS ? key : STORE_KEY_REFS;
    if (!decoder->keys[place]) decoder->keys[place] = malloc(decoder->stride * sizeof(int64_t));
    return decoder->keys[place];
}

static hd_status take_group(block_reader *r, hd_arg_group *group, const uint32_t *rows, uint32_t known)
{
    const hd_shape *shape = hd_trace_shape_at(r->limits->trace, group->shape);
    hd_column *columns = hd_arena_alloc(r->arena, shape->key_count * sizeof *columns);
    if (!columns) return HD_NOMEM(r->err);
    store_refs refs = {
        .base = r->decoder->base,
        .gathered = r->decoder->gathered,
        .stride = r->decoder->stride,
        .rows = rows,
        .row_count = group->row_count,
        .known = known,
    };
    for (uint32_t key = 0; key < shape->key_count; key++) {
        int64_t *values = key_column(r->decoder, key);
        if (!values) return HD_NOMEM(r->err);
        if (!store_take_column(&r->source, r->decoder, values, group->row_count, &refs))
            return damaged(r, "an encoded column of arguments is damaged");
        if (!values_are_sound(values, group->row_count, shape->keys[key].type, r->limits))
            return damaged(r, "an argument refers to what is not there");
        if (!hd_column_seal(&columns[key], r->arena, values, group->row_count)) return HD_NOMEM(r->err);
        if (key < STORE_KEY_REFS) refs.columns[STORE_BASE_REFS + key] = values;
    }
    group->columns = columns;
    return HD_OK;
}

static hd_status take_groups(block_reader *r)
{
    hd_arg_group *groups = NULL;
    HD_TRY(make_groups(r, &groups));
    uint32_t known = 0;
    for (unsigned i = 0; i < ORDER_COUNT; i++) known |= 1u << column_order[i];
    const uint32_t *rows = r->decoder->rows;
    for (uint32_t i = 0; i < r->block->group_count; i++) {
        HD_TRY(take_group(r, &groups[i], rows, known));
        rows += groups[i].row_count;
    }
    return HD_OK;
}

hd_status store_block_decode(hd_block *block, hd_arena *arena, store_decoder *decoder, const store_limits *limits,
                             const uint8_t *data, size_t size, bool columns_only, hd_error *err)
{
    block_reader r = {.decoder = decoder, .limits = limits, .block = block, .arena = arena, .err = err};
    if (block->row_count == 0 || block->row_count > STORE_ROWS)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, 0, "a block of %u rows", block->row_count);
    HD_TRY(store_decoder_fit(decoder, block->row_count, err));
    HD_TRY(store_source_open(&r.source, decoder, data, size, err));
    block->columns[HD_COL_SOURCE] = block->columns[HD_COL_SOURCE_SIZE] = (hd_column){0};
    hd_status status = take_base(&r);
    if (status == HD_OK && !columns_only) status = take_groups(&r);
    hd_status closed = store_source_close(&r.source, status == HD_OK && !columns_only ? err : NULL);
    if (status == HD_OK && !columns_only) status = closed;
    if (status == HD_OK)
        hd_span_find(&block->start_ns, &block->end_ns, base_column(decoder, HD_COL_START),
                     base_column(decoder, HD_COL_DURATION), block->row_count);
    return status;
}
