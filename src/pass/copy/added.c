/* added.c - adds arguments to rows of one block
 *
 * Rows of one source shape that get the same number of new arguments are a variant, with one shape of the builder.
 * Variants with the same resulting shape (one had the argument before, the other got it) become one group, in row
 * order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "pass/copy/impl.h"
#include "trace/column.h"

typedef struct variant {
    uint32_t source, added;
    uint32_t shape;            /* of the builder */
    bool is_text;              /* its arguments become text: the builder has too many shapes */
    const hd_arg_group *group; /* of the source, NULL: no keys */
    uint32_t *kept;            /* keys of the source that are not replaced */
    uint32_t kept_count;
    uint32_t first, count; /* in picks */
} variant;

typedef struct variants {
    variant *list;
    uint32_t count;
} variants;

uint8_t *hd_copy_add_arguments(hd_copy *copy, int64_t *out_values[HD_COPY_ADDED])
{
    if (!copy->added) {
        size_t entries = (size_t)copy->shapes.source_count * (HD_COPY_ADDED + 1) + 1;
        copy->added = malloc(copy->most_rows);
        copy->added_shapes = malloc(entries * sizeof *copy->added_shapes);
        copy->variant_of = malloc(entries * sizeof *copy->variant_of);
        bool fine = copy->added && copy->added_shapes && copy->variant_of;
        for (int i = 0; i < HD_COPY_ADDED; i++) {
            copy->added_values[i] = malloc(copy->most_rows * sizeof *copy->added_values[i]);
            fine = fine && copy->added_values[i];
        }
        if (!fine) return NULL;
        memset(copy->added_shapes, 0xff, entries * sizeof *copy->added_shapes);
        memset(copy->variant_of, 0xff, entries * sizeof *copy->variant_of);
    }
    if (!copy->rows.adds_arguments) memset(copy->added, 0, copy->rows.block->row_count);
    copy->rows.adds_arguments = true;
    for (int i = 0; i < HD_COPY_ADDED; i++) out_values[i] = copy->added_values[i];
    return copy->added;
}

/* ---- shapes ---- */

/* The builder's shape of a variant, HD_NONE: too many keys. */
static uint32_t shape_of(hd_copy *copy, uint32_t source, uint32_t added)
{
    if (added == 0) return hd_copy_shape(copy, source);
    uint32_t *id = &copy->added_shapes[(size_t)source * (HD_COPY_ADDED + 1) + added], count = 0;
    if (*id != HD_NONE) return *id;
    const hd_shape *shape = hd_trace_shape_at(copy->trace, source);
    hd_arg_key *keys = malloc(((size_t)shape->key_count + added) * sizeof *keys);
    bool has_args = shape->has_args;
    if (!keys) {
        copy->no_memory = true;
        return HD_NONE;
    }
    for (uint32_t i = 0; i < shape->key_count; i++) {
        if (hd_copy_is_replaced(copy, &shape->keys[i], added)) continue;
        keys[count] = shape->keys[i];
        keys[count].key = hd_copy_string(copy, keys[count].key);
        count++;
    }
    for (uint32_t i = 0; i < added; i++) {
        keys[count++] = copy->hooks->added_keys[i];
        has_args = has_args || copy->hooks->added_keys[i].scope == HD_SCOPE_ARGS;
    }
    *id = hd_builder_shape(copy->builder, keys, count, has_args);
    if (*id == HD_NONE && hd_trace_shape_count(hd_builder_trace(copy->builder)) < HD_SHAPE_LIMIT)
        copy->no_memory = true;
    free(keys);
    return *id;
}

/* ---- variants ---- */

/* Rows whose arguments are already a single text keep it. */
static void spare_raw_rows(hd_copy *copy, const int64_t *shapes)
{
    uint32_t raw = hd_builder_raw_shape(copy->builder);
    for (uint32_t i = 0; i < copy->rows.block->row_count; i++) {
        if (!copy->added[i] || !copy->rows.keep[i] || hd_copy_shape(copy, (uint32_t)shapes[i]) != raw) continue;
        copy->added[i] = 0;
        copy->not_added++;
    }
}

static uint32_t *variant_slot(hd_copy *copy, int64_t shape, uint32_t row)
{
    return &copy->variant_of[(size_t)shape * (HD_COPY_ADDED + 1) + copy->added[row]];
}

static bool make_variant(variant *out, hd_copy *copy, uint32_t source, uint32_t added)
{
    const hd_shape *shape = hd_trace_shape_at(copy->trace, source);
    *out = (variant){.source = source, .added = added, .group = hd_block_group(copy->rows.block, source)};
    out->kept = malloc(((size_t)shape->key_count + 1) * sizeof *out->kept);
    if (!out->kept) return false;
    for (uint32_t i = 0; i < shape->key_count; i++) {
        if (!hd_copy_is_replaced(copy, &shape->keys[i], added)) out->kept[out->kept_count++] = i;
    }
    uint32_t made = shape_of(copy, source, added);
    out->is_text = made == HD_NONE;
    out->shape = out->is_text ? hd_builder_raw_shape(copy->builder) : made;
    return true;
}

/* Finds the variants, and the number of rows of each. */
static bool find_variants(variants *v, hd_copy *copy, const int64_t *shapes)
{
    size_t capacity = 0;
    for (uint32_t i = 0; i < copy->rows.block->row_count; i++) {
        if (!copy->rows.keep[i]) continue;
        uint32_t *slot = variant_slot(copy, shapes[i], i);
        if (*slot == HD_NONE) {
            if (!hd_grow((void **)&v->list, &capacity, v->count, sizeof *v->list) ||
                !make_variant(&v->list[v->count], copy, (uint32_t)shapes[i], copy->added[i]))
                return false;
            *slot = v->count++;
        }
        v->list[*slot].count++;
    }
    return true;
}

static void pick_rows(variants *v, hd_copy *copy, const int64_t *shapes)
{
    const int64_t *args_rows = hd_copy_look(&copy->rows, HD_COL_ARGS_ROW);
    uint32_t first = 0;
    for (uint32_t k = 0; k < v->count; k++) {
        v->list[k].first = first;
        first += v->list[k].count;
        v->list[k].count = 0;
    }
    for (uint32_t i = 0; i < copy->rows.block->row_count; i++) {
        if (!copy->rows.keep[i]) continue;
        variant *one = &v->list[*variant_slot(copy, shapes[i], i)];
        uint32_t at = one->first + one->count++;
        copy->picks[at] = (uint32_t)args_rows[i];
        copy->pick_rows[at] = i;
    }
    for (uint32_t k = 0; k < v->count; k++)
        copy->variant_of[(size_t)v->list[k].source * (HD_COPY_ADDED + 1) + v->list[k].added] = HD_NONE;
}

/* ---- columns ---- */

/* Values of key number `key` of the variant's shape, into scratch[at …). */
static hd_status put_key(hd_copy *copy, size_t at, const variant *one, uint32_t key)
{
    const uint32_t *rows = copy->pick_rows + one->first, *picks = copy->picks + one->first;
    if (key < one->kept_count) return hd_copy_values(copy, at, one->group, one->kept[key], picks, rows, one->count);
    const int64_t *values = copy->added_values[key - one->kept_count];
    for (uint32_t i = 0; i < one->count; i++) copy->scratch[at + i] = values[rows[i]];
    return HD_OK;
}

static hd_status put_texts(hd_copy *copy, size_t at, const variant *one)
{
    for (uint32_t i = 0; i < one->count; i++) {
        uint32_t row = copy->picks[one->first + i];
        uint32_t text = !one->is_text ? hd_copy_string(copy, (uint32_t)hd_column_at(&one->group->columns[0], row))
                                      : hd_copy_argument_text(copy, one->source, one->group, row,
                                                              copy->pick_rows[one->first + i], one->added);
        if (text == HD_STRING_NONE) return HD_NOMEM(copy->err);
        copy->scratch[at + i] = text;
    }
    return HD_OK;
}

/* Sets the builder's shape for the rows of list[0 … count), and numbers them in block order. */
static uint32_t number_rows(hd_copy *copy, const variant *list, uint32_t count, uint32_t shape)
{
    int64_t *shapes = hd_copy_change(&copy->rows, HD_COL_SHAPE),
            *args_rows = hd_copy_change(&copy->rows, HD_COL_ARGS_ROW);
    uint32_t rows = 0;
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < list[k].count; i++) {
            uint32_t row = copy->pick_rows[list[k].first + i];
            shapes[row] = shape;
            args_rows[row] = count == 1 ? (int64_t)rows++ : -1;
        }
    }
    for (uint32_t row = 0; count > 1 && row < copy->rows.block->row_count; row++)
        if (args_rows[row] == -1) args_rows[row] = rows++;
    return rows;
}

/* Converts scratch from variant by variant to row by row. */
static void sort_values(hd_copy *copy, int64_t *spare, const variant *list, uint32_t count, uint32_t rows)
{
    const int64_t *args_rows = hd_copy_look(&copy->rows, HD_COL_ARGS_ROW), *value = copy->scratch;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < list[k].count; i++) spare[args_rows[copy->pick_rows[list[k].first + i]]] = *value++;
    memcpy(copy->scratch, spare, rows * sizeof *spare);
}

/* Puts the variants list[0 … count) as the group of their shape; no group if it has no keys. */
static hd_status put_group(hd_copy *copy, hd_block *out, hd_arg_group *groups, const variant *list, uint32_t count,
                           uint32_t shape)
{
    bool raw = shape == hd_builder_raw_shape(copy->builder);
    uint32_t keys = raw ? 1 : list->kept_count + list->added, rows = number_rows(copy, list, count, shape);
    if (keys == 0) return HD_OK;
    hd_column *columns = hd_arena_alloc(hd_chunk_arena(copy->chunk), keys * sizeof *columns);
    int64_t *spare = count > 1 ? malloc(rows * sizeof *spare) : NULL;
    hd_status status = columns && (spare || count == 1) ? HD_OK : HD_NOMEM(copy->err);
    for (uint32_t key = 0; status == HD_OK && key < keys; key++) {
        size_t at = 0;
        for (uint32_t k = 0; status == HD_OK && k < count; at += list[k++].count)
            status = raw ? put_texts(copy, at, &list[k]) : put_key(copy, at, &list[k], key);
        if (status != HD_OK) break;
        if (count > 1) sort_values(copy, spare, list, count, rows);
        if (!hd_column_seal(&columns[key], hd_chunk_arena(copy->chunk), copy->scratch, rows))
            status = HD_NOMEM(copy->err);
    }
    free(spare);
    groups[out->group_count++] = (hd_arg_group){.shape = shape, .row_count = rows, .columns = columns};
    return status;
}

static int by_variant(const void *a, const void *b)
{
    const variant *x = a, *y = b;
    if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return (x->added > y->added) - (x->added < y->added);
}

static int by_shape(const void *a, const void *b)
{
    const hd_arg_group *x = a, *y = b;
    return (x->shape > y->shape) - (x->shape < y->shape);
}

hd_status hd_copy_added_groups(hd_copy *copy, hd_block *out)
{
    variants v = {0};
    const int64_t *shapes = hd_copy_look(&copy->rows, HD_COL_SHAPE);
    spare_raw_rows(copy, shapes);
    hd_status status = find_variants(&v, copy, shapes) ? HD_OK : HD_NOMEM(copy->err);
    hd_arg_group *groups =
        status ? NULL : hd_arena_alloc(hd_chunk_arena(copy->chunk), ((size_t)v.count + 1) * sizeof *groups);
    if (status == HD_OK && !groups) status = HD_NOMEM(copy->err);
    if (status == HD_OK) {
        pick_rows(&v, copy, shapes);
        hd_sort(v.list, v.count, sizeof *v.list, by_variant);
    }
    for (uint32_t k = 0, end; status == HD_OK && k < v.count; k = end) {
        uint32_t shape = v.list[k].shape;
        for (end = k + 1; end < v.count && v.list[end].shape == shape;) end++;
        status = put_group(copy, out, groups, v.list + k, end - k, shape);
    }
    for (uint32_t k = 0; k < v.count; k++) free(v.list[k].kept);
    free(v.list);
    if (status != HD_OK) return status;
    hd_sort(groups, out->group_count, sizeof *groups, by_shape);
    out->groups = groups;
    copy->has_builder_shapes = true;
    return HD_OK;
}
