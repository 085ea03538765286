/* explode.c - arguments of events, and series of counters, as rows
 *
 * The rows of a block come key by key (shape, then key, then event): equal values are adjacent, as in the block, which
 * compresses well. Shapes come in the order of their first events, since their numbers depend on which thread of the
 * reader came first. Events of counters without any series come last, with a row each.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"

typedef struct arrow_explosion {
    bool is_started;
    uint32_t place, key, row;      /* the next; places in `order`, then those without */
    uint32_t order[HD_BLOCK_ROWS]; /* groups of the block that have rows */
    uint32_t order_count;
    bool has_place[HD_BLOCK_ROWS];     /* by group */
    uint32_t first[HD_BLOCK_ROWS + 1]; /* by group: of its rows in `events` */
    uint32_t events[HD_BLOCK_ROWS];    /* rows of the block, group by group; HD_NONE: is not wanted */
    uint32_t lone[HD_BLOCK_ROWS], lone_count;
    uint32_t rows[HD_BLOCK_ROWS]; /* of the batch */
    arrow_value values[HD_BLOCK_ROWS];
} arrow_explosion;

void arrow_explosion_free(arrow_explosion *explosion)
{
    free(explosion);
}

/* Of counters, series are rows of `counters`, and all else are arguments. */
static bool is_wanted(const arrow_stream *stream, hd_kind kind, const hd_arg_key *key)
{
    if (stream->table->first_kind == stream->table->last_kind) return key->scope == HD_SCOPE_ARGS;
    return kind != HD_KIND_COUNTER || key->scope != HD_SCOPE_ARGS;
}

static bool has_series(const arrow_stream *stream, uint32_t shape)
{
    const hd_shape *s = hd_trace_shape_at(stream->trace, shape);
    for (uint32_t i = 0; i < s->key_count; i++) {
        if (s->keys[i].scope == HD_SCOPE_ARGS) return true;
    }
    return false;
}

static uint32_t find_group(const hd_block *block, uint32_t shape)
{
    uint32_t low = 0, high = block->group_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (block->groups[middle].shape < shape)
            low = middle + 1;
        else
            high = middle;
    }
    return low < block->group_count && block->groups[low].shape == shape ? low : HD_NONE;
}

static void place_event(arrow_explosion *x, arrow_stream *stream, const hd_block *block, uint32_t row)
{
    uint32_t shape = (uint32_t)stream->scratch[0][row];
    uint32_t group = find_group(block, shape);
    int64_t at = stream->scratch[1][row];
    if (group < HD_BLOCK_ROWS && at >= 0 && at < block->groups[group].row_count) {
        x->events[x->first[group] + at] = row;
        if (!x->has_place[group]) x->order[x->order_count++] = group;
        x->has_place[group] = true;
    }
    if (stream->table->first_kind == HD_KIND_COUNTER && stream->table->last_kind == HD_KIND_COUNTER &&
        !has_series(stream, shape))
        x->lone[x->lone_count++] = row;
}

/* Which event each row of a group is of. */
static bool start(arrow_explosion *x, arrow_stream *stream, const hd_block *block)
{
    uint32_t total = 0, selected;
    arrow_rows all = {.stream = stream, .block = block};
    for (uint32_t g = 0; g < block->group_count && g < HD_BLOCK_ROWS; g++) {
        x->first[g] = total;
        if (block->groups[g].row_count > HD_BLOCK_ROWS - total) return false;
        total += block->groups[g].row_count;
    }
    memset(x->events, 0xff, sizeof x->events);
    memset(x->has_place, 0, sizeof x->has_place);
    x->place = x->key = x->row = x->lone_count = x->order_count = 0;
    x->is_started = true;
    bool some = arrow_filter_rows(stream->rows, &selected, stream, block);
    arrow_look(&all, 0, HD_COL_SHAPE);
    arrow_look(&all, 1, HD_COL_ARGS_ROW);
    for (uint32_t i = 0; i < (some ? selected : block->row_count); i++)
        place_event(x, stream, block, some ? stream->rows[i] : i);
    return true;
}

/* Values of the key at hand from its next row on, until the batch is full. */
static void take_run(arrow_rows *out, arrow_explosion *x, const hd_arg_group *group, const hd_arg_key *key)
{
    const uint32_t *events = x->events + x->first[x->order[x->place]];
    const hd_column *column = &group->columns[x->key];
    for (; x->row < group->row_count && out->count < HD_BLOCK_ROWS; x->row++) {
        if (events[x->row] == HD_NONE) continue;
        x->rows[out->count] = events[x->row];
        x->values[out->count++] = (arrow_value){
            .bits = hd_column_at(column, x->row), .key = key->key, .scope = key->scope, .type = key->type};
    }
}

static void take_lone(arrow_rows *out, arrow_explosion *x)
{
    for (; x->row < x->lone_count && out->count < HD_BLOCK_ROWS; x->row++) {
        x->rows[out->count] = x->lone[x->row];
        x->values[out->count++] = (arrow_value){.type = HD_ARG_NULL, .is_none = true};
    }
}

hd_status arrow_explode(arrow_rows *out, arrow_stream *stream, const hd_block *block, hd_error *err)
{
    arrow_explosion *x = stream->explosion;
    if (!x && !(x = stream->explosion = calloc(1, sizeof *x))) return HD_NOMEM(err);
    *out = (arrow_rows){.stream = stream, .block = block, .rows = x->rows, .values = x->values};
    if (!x->is_started && !start(x, stream, block))
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "a block has more arguments than events");
    for (; x->place < x->order_count; x->place++, x->key = 0) {
        const hd_arg_group *group = &block->groups[x->order[x->place]];
        const hd_shape *shape = hd_trace_shape_at(stream->trace, group->shape);
        for (; x->key < shape->key_count; x->key++, x->row = 0) {
            if (is_wanted(stream, block->kind, &shape->keys[x->key])) take_run(out, x, group, &shape->keys[x->key]);
            if (out->count == HD_BLOCK_ROWS) return HD_OK;
        }
    }
    take_lone(out, x);
    if (out->count == 0) x->is_started = false;
    return HD_OK;
}
