/* block.c - copies one block of a trace: columns, and argument values by shape */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "pass/copy/impl.h"
#include "trace/column.h"
#include "trace/correlation.h"
#include "trace/event.h"
#include "trace/spill.h"

const int64_t *hd_copy_look(hd_copy_rows *rows, hd_column_id column)
{
    if (!(rows->decoded >> column & 1)) {
        hd_column_decode(rows->columns[column], &rows->block->columns[column], 0, rows->block->row_count);
        rows->decoded |= 1u << column;
    }
    return rows->columns[column];
}

int64_t *hd_copy_change(hd_copy_rows *rows, hd_column_id column)
{
    hd_copy_look(rows, column);
    rows->changed |= 1u << column;
    return rows->columns[column];
}

/* ---- columns ---- */

static bool copy_column(hd_copy *copy, hd_column *out, const hd_column *from, uint32_t count)
{
    *out = *from;
    if (from->width == 0) return true;
    void *data = hd_arena_alloc(hd_chunk_arena(copy->chunk), (size_t)count * from->width);
    if (data) memcpy(data, from->data, (size_t)count * from->width);
    out->data = data;
    return data != NULL;
}

static hd_column constant(int64_t value)
{
    return (hd_column){.base = value};
}

static void map_column(hd_copy *copy, int64_t *values, uint32_t count, hd_column_id column, const int64_t *id_types)
{
    for (uint32_t i = 0; i < count; i++) {
        switch (column) {
        case HD_COL_TRACK: values[i] = hd_copy_track(copy, (uint32_t)values[i]); break;
        case HD_COL_SHAPE: {
            uint32_t shape = hd_copy_shape(copy, (uint32_t)values[i]);
            bool has_keys = hd_trace_shape_at(copy->trace, (uint32_t)values[i])->key_count > 0;
            values[i] = shape != HD_NONE ? shape : has_keys ? hd_builder_raw_shape(copy->builder) : 0;
            break;
        }
        case HD_COL_ID:
            if ((id_types[i] & HD_ID_VALUE_MASK) >= HD_ID_STRING)
                values[i] = hd_copy_string_at(
                    copy, (id_types[i] & HD_ID_VALUE_MASK) == HD_ID_NUMBER ? HD_COPY_NUMBER : HD_COPY_VALUE,
                    (uint32_t)values[i]);
            break;
        default:
            values[i] =
                hd_copy_string_at(copy, column == HD_COL_NAME ? HD_COPY_NAME : HD_COPY_CATEGORY, (uint32_t)values[i]);
            break;
        }
    }
}

static bool is_mapped(const hd_copy *copy, hd_column_id column)
{
    const hd_column *types = &copy->rows.block->columns[HD_COL_ID_TYPE];
    switch (column) {
    case HD_COL_TRACK:
    case HD_COL_NAME:
    case HD_COL_CATEGORY: return true;
    case HD_COL_SHAPE: return !copy->has_builder_shapes;
    case HD_COL_ID:
        return copy->rows.changed >> HD_COL_ID_TYPE & 1 || types->width ||
               (types->base & HD_ID_VALUE_MASK) >= HD_ID_STRING;
    default: return false;
    }
}

static void keep_rows(const hd_copy *copy, int64_t *values)
{
    const uint8_t *keep = copy->rows.keep;
    uint32_t count = copy->rows.block->row_count, kept = 0;
    if (copy->kept == count) return;
    for (uint32_t i = 0; i < count; i++) {
        values[kept] = values[i];
        kept += keep[i];
    }
}

/* Types of ids come before the ids: see copy_columns. */
static bool put_column(hd_copy *copy, hd_block *out, hd_column_id column)
{
    const hd_column *from = &copy->rows.block->columns[column];
    bool changed = copy->rows.changed >> column & 1, mapped = is_mapped(copy, column);
    if (!changed && from->width == 0 && !(mapped && column == HD_COL_ID)) {
        int64_t value = from->base;
        if (mapped) map_column(copy, &value, 1, column, NULL);
        out->columns[column] = constant(value);
        return true;
    }
    if (!changed && !mapped && copy->kept == copy->rows.block->row_count)
        return copy_column(copy, &out->columns[column], from, copy->kept);
    hd_copy_look(&copy->rows, column);
    int64_t *values = copy->rows.columns[column];
    keep_rows(copy, values);
    if (mapped) map_column(copy, values, copy->kept, column, copy->rows.columns[HD_COL_ID_TYPE]);
    return hd_column_seal(&out->columns[column], hd_chunk_arena(copy->chunk), values, copy->kept);
}

static bool copy_columns(hd_copy *copy, hd_block *out)
{
    static const hd_column_id order[] = {HD_COL_START,    HD_COL_DURATION, HD_COL_TRACK,    HD_COL_NAME,
                                         HD_COL_CATEGORY, HD_COL_PHASE,    HD_COL_SHAPE,    HD_COL_ARGS_ROW,
                                         HD_COL_ID_TYPE,  HD_COL_ID,       HD_COL_START_PS, HD_COL_END_PS};
    hd_copy_rows *rows = &copy->rows;
    bool new_span = copy->kept < rows->block->row_count || rows->changed & (1u << HD_COL_START | 1u << HD_COL_DURATION);
    if (new_span) hd_copy_change(rows, HD_COL_START);
    if (new_span) hd_copy_change(rows, HD_COL_DURATION);
    if (is_mapped(copy, HD_COL_ID)) hd_copy_change(rows, HD_COL_ID_TYPE);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!put_column(copy, out, order[i])) return false;
    }
    out->columns[HD_COL_PARTNER] = constant(-1); /* pairs are computed again */
    out->columns[HD_COL_SOURCE] = out->columns[HD_COL_SOURCE_SIZE] = constant(0);
    out->start_ns = rows->block->start_ns;
    out->end_ns = rows->block->end_ns;
    if (new_span)
        hd_span_find(&out->start_ns, &out->end_ns, rows->columns[HD_COL_START], rows->columns[HD_COL_DURATION],
                     copy->kept);
    return true;
}

/* ---- arguments ---- */

/* Selects the argument rows to keep, group by group; ARGS_ROW gets their new position. */
static bool pick_arguments(hd_copy *copy)
{
    const hd_block *block = copy->rows.block;
    if (block->group_count >= copy->group_capacity) {
        uint32_t *wider = realloc(copy->group_first, ((size_t)block->group_count + 2) * sizeof *wider);
        if (!wider) return false;
        copy->group_first = wider;
        copy->group_capacity = block->group_count + 1;
    }
    uint32_t *first = copy->group_first;
    memset(first, 0, ((size_t)block->group_count + 2) * sizeof *first);
    if (block->group_count == 0) return true;
    for (uint32_t s = 0; s < copy->shapes.source_count; s++) copy->group_of[s] = HD_NONE;
    for (uint32_t g = 0; g < block->group_count; g++) copy->group_of[block->groups[g].shape] = g;
    const int64_t *shapes = hd_copy_look(&copy->rows, HD_COL_SHAPE);
    int64_t *args_rows = hd_copy_change(&copy->rows, HD_COL_ARGS_ROW);
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t g = copy->group_of[shapes[i]];
        if (copy->rows.keep[i] && g != HD_NONE) first[g + 2]++;
    }
    for (uint32_t g = 0; g < block->group_count; g++) first[g + 2] += first[g + 1];
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t g = copy->group_of[shapes[i]];
        if (!copy->rows.keep[i] || g == HD_NONE) continue;
        uint32_t at = first[g + 1]++;
        copy->picks[at] = (uint32_t)args_rows[i];
        copy->pick_rows[at] = i;
    }
    return true; /* first[g] is now where group g begins */
}

/* The new position of each argument row. base: rows of earlier groups merged into the same group. */
static void place_arguments(hd_copy *copy, uint32_t group, uint32_t base)
{
    int64_t *args_rows = copy->rows.columns[HD_COL_ARGS_ROW];
    uint32_t first = copy->group_first[group], end = copy->group_first[group + 1];
    for (uint32_t i = first; i < end; i++) args_rows[copy->pick_rows[i]] = base + (i - first);
}

static hd_copy_place place_of(const hd_copy *copy, unsigned type)
{
    if (type == HD_ARG_JSON) return HD_COPY_JSON;
    if (type == HD_ARG_NUMBER) return HD_COPY_NUMBER;
    return copy->rows.block->kind == HD_KIND_META ? HD_COPY_TRACK : HD_COPY_VALUE;
}

hd_status hd_copy_values(hd_copy *copy, size_t at, const hd_arg_group *group, uint32_t key, const uint32_t *picks,
                         const uint32_t *rows, uint32_t count)
{
    const hd_shape *shape = hd_trace_shape_at(copy->trace, group->shape);
    int64_t *values = copy->scratch + at;
    for (uint32_t i = 0; i < count; i++) values[i] = hd_column_at(&group->columns[key], picks[i]);
    if (copy->rows.changes_values)
        HD_TRY(copy->hooks->values(copy->hooks->user, copy, &copy->rows, &shape->keys[key], values, rows, count,
                                   copy->err));
    if (!hd_copy_is_string_type(shape->keys[key].type)) return HD_OK;
    const hd_copy_place place = place_of(copy, shape->keys[key].type);
    for (uint32_t i = 0; i < count; i++) values[i] = hd_copy_string_at(copy, place, (uint32_t)values[i]);
    return HD_OK;
}

/* Whether all rows are kept without a change. */
static bool is_untouched(const hd_copy *copy, const hd_arg_group *group, uint32_t count)
{
    return !copy->rows.changes_values && count == group->row_count && copy->kept == copy->rows.block->row_count;
}

static hd_status put_values(hd_copy *copy, hd_column *out, const hd_arg_group *group, uint32_t key,
                            const uint32_t *picks, const uint32_t *rows, uint32_t count)
{
    const hd_shape *shape = hd_trace_shape_at(copy->trace, group->shape);
    bool strings = hd_copy_is_string_type(shape->keys[key].type);
    if (is_untouched(copy, group, count) && !strings) /* argument rows keep their positions */
        return copy_column(copy, out, &group->columns[key], count) ? HD_OK : HD_NOMEM(copy->err);
    if (is_untouched(copy, group, count)) {
        hd_column_decode(copy->scratch, &group->columns[key], 0, count);
        const hd_copy_place place = place_of(copy, shape->keys[key].type);
        for (uint32_t i = 0; i < count; i++)
            copy->scratch[i] = hd_copy_string_at(copy, place, (uint32_t)copy->scratch[i]);
    } else {
        HD_TRY(hd_copy_values(copy, 0, group, key, picks, rows, count));
    }
    return hd_column_seal(out, hd_chunk_arena(copy->chunk), copy->scratch, count) ? HD_OK : HD_NOMEM(copy->err);
}

/* ---- arguments that become text, where the builder has too many shapes ---- */

static void put_value_text(hd_copy *copy, unsigned type, int64_t bits, hd_string s)
{
    hd_json_out *out = &copy->text;
    switch (type) {
    case HD_ARG_NULL: hd_json_put_text(out, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(out, bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(out, bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(out, hd_decimal_mantissa(bits), hd_decimal_scale(bits)); break;
    case HD_ARG_STRING: hd_json_put_string(out, s.data, s.size); break;
    default: hd_json_put(out, s.data, s.size); break;
    }
}

bool hd_copy_is_replaced(hd_copy *copy, const hd_arg_key *key, uint32_t added)
{
    for (uint32_t i = 0; i < added; i++) {
        const hd_arg_key *by = &copy->hooks->added_keys[i];
        if (by->scope == key->scope && by->key == hd_copy_string(copy, key->key)) return true;
    }
    return false;
}

static hd_string text_at(hd_copy *copy, hd_copy_place place, uint32_t source)
{
    if (!copy->text_of) return hd_trace_string(copy->trace, source);
    return hd_builder_string(copy->builder, hd_copy_string_at(copy, place, source));
}

static void put_member_name(hd_copy *copy, hd_string name, bool *first)
{
    if (!*first) hd_json_put_text(&copy->text, ",");
    *first = false;
    hd_json_put_string(&copy->text, name.data, name.size);
    hd_json_put_text(&copy->text, ":");
}

static void put_members_text(hd_copy *copy, const hd_arg_group *group, uint32_t args_row, hd_arg_scope scope,
                             uint32_t block_row, uint32_t added)
{
    const hd_shape *shape = group ? hd_trace_shape_at(copy->trace, group->shape) : NULL;
    bool first = true;
    for (uint32_t key = 0; shape && key < shape->key_count; key++) {
        const hd_arg_key *k = &shape->keys[key];
        if (k->scope != scope || hd_copy_is_replaced(copy, k, added)) continue;
        int64_t bits = hd_column_at(&group->columns[key], args_row);
        hd_string s = {"", 0};
        if (hd_copy_is_string_type(k->type)) s = text_at(copy, place_of(copy, k->type), (uint32_t)bits);
        put_member_name(copy, text_at(copy, HD_COPY_KEY, k->key), &first);
        put_value_text(copy, k->type, bits, s);
    }
    for (uint32_t i = 0; i < added; i++) {
        const hd_arg_key *k = &copy->hooks->added_keys[i];
        if (k->scope != scope) continue;
        int64_t bits = copy->added_values[i][block_row];
        hd_string s = {"", 0};
        if (hd_copy_is_string_type(k->type)) s = hd_builder_string(copy->builder, (uint32_t)bits);
        put_member_name(copy, hd_builder_string(copy->builder, k->key), &first);
        put_value_text(copy, k->type, bits, s);
    }
}

uint32_t hd_copy_argument_text(hd_copy *copy, uint32_t source_shape, const hd_arg_group *group, uint32_t args_row,
                               uint32_t block_row, uint32_t added)
{
    bool has_args = hd_trace_shape_at(copy->trace, source_shape)->has_args;
    for (uint32_t i = 0; i < added; i++) has_args |= copy->hooks->added_keys[i].scope == HD_SCOPE_ARGS;
    copy->text.size = 0;
    hd_json_put_text(&copy->text, "{");
    put_members_text(copy, group, args_row, HD_SCOPE_EVENT, block_row, added);
    if (has_args) {
        hd_json_put_text(&copy->text, copy->text.size > 1 ? ",\"args\":{" : "\"args\":{");
        put_members_text(copy, group, args_row, HD_SCOPE_ARGS, block_row, added);
        hd_json_put_text(&copy->text, "}");
    }
    hd_json_put_text(&copy->text, "}");
    return copy->text.failed ? HD_STRING_NONE : hd_builder_intern(copy->builder, copy->text.data, copy->text.size);
}

/* Puts all groups that become raw text as one group. */
static hd_status put_raw_group(hd_copy *copy, hd_arg_group *out, uint32_t raw_rows)
{
    const hd_block *block = copy->rows.block;
    uint32_t raw = hd_builder_raw_shape(copy->builder), done = 0;
    hd_column *column = hd_arena_alloc(hd_chunk_arena(copy->chunk), sizeof *column);
    if (!column) return HD_NOMEM(copy->err);
    for (uint32_t g = 0; g < block->group_count; g++) {
        const hd_arg_group *group = &block->groups[g];
        uint32_t first = copy->group_first[g], count = copy->group_first[g + 1] - first;
        uint32_t shape = hd_copy_shape(copy, group->shape);
        if (shape != HD_NONE && shape != raw) continue;
        place_arguments(copy, g, done);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = copy->picks[first + i];
            uint32_t text = shape == raw
                                ? hd_copy_string_at(copy, HD_COPY_JSON, (uint32_t)hd_column_at(&group->columns[0], row))
                                : hd_copy_argument_text(copy, group->shape, group, row, 0, 0);
            if (text == HD_STRING_NONE) return HD_NOMEM(copy->err);
            copy->scratch[done++] = text;
        }
    }
    *out = (hd_arg_group){.shape = raw, .row_count = raw_rows, .columns = column};
    return hd_column_seal(column, hd_chunk_arena(copy->chunk), copy->scratch, raw_rows) ? HD_OK : HD_NOMEM(copy->err);
}

/* ---- groups ---- */

static hd_status put_group(hd_copy *copy, hd_arg_group *out, uint32_t group_index, uint32_t shape)
{
    const hd_arg_group *group = &copy->rows.block->groups[group_index];
    uint32_t keys = hd_trace_shape_at(copy->trace, group->shape)->key_count;
    uint32_t first = copy->group_first[group_index], count = copy->group_first[group_index + 1] - first;
    hd_column *columns = hd_arena_alloc(hd_chunk_arena(copy->chunk), keys * sizeof *columns);
    if (!columns) return HD_NOMEM(copy->err);
    for (uint32_t key = 0; key < keys; key++)
        HD_TRY(put_values(copy, &columns[key], group, key, copy->picks + first, copy->pick_rows + first, count));
    if (!is_untouched(copy, group, count)) place_arguments(copy, group_index, 0);
    *out = (hd_arg_group){.shape = shape, .row_count = count, .columns = columns};
    return HD_OK;
}

static int by_shape(const void *a, const void *b)
{
    const hd_arg_group *x = a, *y = b;
    return (x->shape > y->shape) - (x->shape < y->shape);
}

static hd_status copy_groups(hd_copy *copy, hd_block *out)
{
    const hd_block *block = copy->rows.block;
    uint32_t raw = hd_builder_raw_shape(copy->builder), raw_rows = 0, made = 0;
    if (!pick_arguments(copy)) return HD_NOMEM(copy->err);
    if (block->group_count == 0) return HD_OK;
    hd_arg_group *groups = hd_arena_alloc(hd_chunk_arena(copy->chunk), block->group_count * sizeof *groups);
    if (!groups) return HD_NOMEM(copy->err);
    for (uint32_t g = 0; g < block->group_count; g++) {
        uint32_t rows = copy->group_first[g + 1] - copy->group_first[g];
        uint32_t shape = rows ? hd_copy_shape(copy, block->groups[g].shape) : raw;
        if (shape == HD_NONE || shape == raw)
            raw_rows += rows;
        else
            HD_TRY(put_group(copy, &groups[made++], g, shape));
    }
    if (raw_rows) HD_TRY(put_raw_group(copy, &groups[made++], raw_rows));
    hd_sort(groups, made, sizeof *groups, by_shape);
    out->groups = groups;
    out->group_count = made;
    return HD_OK;
}

/* ---- a block ---- */

/* Records which rows are kept, for the order of the events. */
static bool note_kept(hd_copy *copy)
{
    const hd_block *block = copy->rows.block;
    uint64_t **bits = &copy->kept_bits[block->kind];
    if (copy->kept == block->row_count) return true;
    if (!*bits) {
        size_t words = (size_t)(hd_trace_row_count(copy->trace, block->kind) / 64 + 1);
        *bits = hd_large_new(words, sizeof **bits, hd_trace_large_bytes(copy->trace));
        if (!*bits) return false;
        memset(*bits, 0xff, words * sizeof **bits);
    }
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint64_t row = block->first_row + i;
        if (!copy->rows.keep[i]) (*bits)[row >> 6] &= ~(UINT64_C(1) << (row & 63));
    }
    copy->dropped += block->row_count - copy->kept;
    return true;
}

/* A begin's data about its end is recomputed by finish, if the end is kept. */
static void forget_ends(hd_copy_rows *rows)
{
    const hd_column *column = &rows->block->columns[HD_COL_PARTNER];
    if (rows->block->kind != HD_KIND_SLICE || (column->width == 0 && column->base < 0)) return;
    const int64_t *partners = hd_copy_look(rows, HD_COL_PARTNER);
    int64_t *durations = hd_copy_change(rows, HD_COL_DURATION), *end_ps = hd_copy_change(rows, HD_COL_END_PS);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        if (partners[i] < 0) continue;
        durations[i] = HD_NO_TIME;
        end_ps[i] = 0;
    }
}

hd_status hd_copy_block(hd_copy *copy, const hd_block *block)
{
    hd_block out = {.kind = block->kind};
    copy->rows.block = block;
    copy->rows.decoded = copy->rows.changed = 0;
    copy->rows.changes_values = copy->rows.adds_arguments = copy->has_builder_shapes = false;
    memset(copy->rows.keep, 1, block->row_count);
    if (copy->hooks->rows) HD_TRY(copy->hooks->rows(copy->hooks->user, copy, &copy->rows, copy->err));
    copy->kept = 0;
    for (uint32_t i = 0; i < block->row_count; i++) copy->kept += copy->rows.keep[i];
    if (!note_kept(copy)) return HD_NOMEM(copy->err);
    if (copy->kept == 0) return HD_OK;
    out.row_count = copy->kept;
    forget_ends(&copy->rows);
    HD_TRY(copy->rows.adds_arguments ? hd_copy_added_groups(copy, &out) : copy_groups(copy, &out));
    if (!copy_columns(copy, &out) || copy->no_memory ||
        !hd_correlation_fill(&out, hd_builder_trace(copy->builder), hd_chunk_arena(copy->chunk), copy->scratch))
        return HD_NOMEM(copy->err);
    return hd_chunk_add_block(copy->chunk, &out, copy->err);
}
