/* gather.c - the values of a column in a row group: nulls apart, texts as numbers */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "parquet/impl.h"

void parquet_worker_deinit(parquet_worker *worker)
{
    void *lists[] = {worker->values, worker->indices, worker->numbers, worker->ranks,
                     worker->levels, worker->texts,   worker->seen,    worker->wide};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    hd_compressor_free(worker->compressor);
    hd_bytes_deinit(&worker->body);
    hd_bytes_deinit(&worker->packed);
}

/* A batch's part of the column. */
typedef struct gather_part {
    const struct ArrowArray *array;
    const uint8_t *valid; /* bits; NULL: all are */
    int64_t first;        /* of the array's buffers */
    uint32_t rows;
} gather_part;

static bool is_null(const gather_part *part, uint32_t row)
{
    int64_t at = part->first + row;
    return part->valid && !(part->valid[at / 8] >> at % 8 & 1);
}

static int64_t number_at(parquet_type type, const void *data, int64_t at)
{
    switch (type) {
    case PARQUET_BOOLEAN: return ((const uint8_t *)data)[at / 8] >> at % 8 & 1;
    case PARQUET_INT32: return ((const int32_t *)data)[at];
    default: return ((const int64_t *)data)[at];
    }
}

static void gather_numbers(int64_t *out, parquet_type type, const gather_part *part)
{
    const void *data = part->array->buffers[1];
    if (!part->valid && (type == PARQUET_INT64 || type == PARQUET_DOUBLE)) {
        memcpy(out, (const int64_t *)data + part->first, (size_t)part->rows * 8);
        return;
    }
    for (uint32_t row = 0; row < part->rows; row++) {
        if (!is_null(part, row)) *out++ = number_at(type, data, part->first + row);
    }
}

/* ---- texts ---- */

static bool add_text(parquet_worker *w, hd_string text)
{
    if (!hd_grow((void **)&w->texts, &w->text_room, w->text_count, sizeof *w->texts)) return false;
    w->texts[w->text_count++] = text;
    w->text_bytes += text.size;
    return true;
}

/* Each text that is used once, by the order of its first use. */
static bool gather_indices(int64_t *out, parquet_worker *w, const parquet_column *column, const gather_part *part)
{
    const struct ArrowArray *dictionary = part->array->dictionary;
    const int32_t *index = part->array->buffers[1];
    parquet_texts texts = {dictionary->buffers[1], dictionary->buffers[2], column->is_large};
    uint64_t number = (uint64_t)w->seen_number << 32;
    for (uint32_t row = 0; row < part->rows; row++) {
        if (is_null(part, row)) continue;
        int64_t at = index[part->first + row];
        if (w->seen[at] >> 32 != w->seen_number) {
            w->seen[at] = number | w->text_count;
            if (!add_text(w, parquet_text(&texts, dictionary->offset + at))) return false;
        }
        *out++ = (int64_t)(w->seen[at] & UINT32_MAX);
    }
    return true;
}

/* Another dictionary than the batch before had; the number must be new. */
static bool begin_dictionary(parquet_worker *w, const struct ArrowArray *dictionary)
{
    size_t count = (size_t)dictionary->length + 1;
    if (count > w->seen_room || w->seen_number == UINT32_MAX) {
        uint64_t *seen = calloc(count > w->seen_room ? count : w->seen_room, sizeof *seen);
        if (!seen) return false;
        free(w->seen);
        w->seen = seen;
        w->seen_room = count > w->seen_room ? count : w->seen_room;
        w->seen_number = 0;
    }
    w->seen_number++;
    return true;
}

static bool gather_texts(int64_t *out, parquet_worker *w, hd_slots *slots, const parquet_column *column,
                         const gather_part *part)
{
    parquet_texts texts = {part->array->buffers[1], part->array->buffers[2], column->is_large};
    for (uint32_t row = 0; row < part->rows; row++) {
        if (is_null(part, row)) continue;
        hd_string text = parquet_text(&texts, part->first + row);
        uint64_t hash = hd_hash(text.data, text.size);
        uint32_t found;
        HD_SLOTS_FIND(found, slots, hash,
                      w->texts[found].size == text.size && memcmp(w->texts[found].data, text.data, text.size) == 0);
        if (found == HD_SLOTS_NONE) {
            found = (uint32_t)w->text_count;
            if (!add_text(w, text) || !hd_slots_add(slots, hash, found)) return false;
        }
        *out++ = found;
    }
    return true;
}

/* ---- all parts ---- */

static gather_part part_of(const struct ArrowArray *batch, size_t place)
{
    const struct ArrowArray *array = batch->children[place];
    return (gather_part){.array = array,
                         .valid = array->null_count ? array->buffers[0] : NULL,
                         .first = array->offset + batch->offset,
                         .rows = (uint32_t)batch->length};
}

/* 1: a value; 0: null. Returns how many values. */
static size_t put_levels(uint8_t *levels, const gather_part *part)
{
    size_t values = 0;
    if (!part->valid) {
        memset(levels, 1, part->rows);
        return part->rows;
    }
    for (uint32_t row = 0; row < part->rows; row++) {
        levels[row] = !is_null(part, row);
        values += levels[row];
    }
    return values;
}

static bool gather_part_values(int64_t *out, parquet_worker *w, hd_slots *slots, const void **dictionary,
                               const parquet_column *column, const gather_part *part)
{
    if (column->type != PARQUET_BYTE_ARRAY) {
        gather_numbers(out, column->type, part);
        return true;
    }
    if (!column->is_dictionary) return gather_texts(out, w, slots, column, part);
    if (*dictionary != part->array->dictionary->buffers[2]) {
        *dictionary = part->array->dictionary->buffers[2];
        if (!begin_dictionary(w, part->array->dictionary)) return false;
    }
    return gather_indices(out, w, column, part);
}

hd_status parquet_gather(size_t *out_values, parquet_worker *w, const parquet_column *column, size_t place,
                         const parquet_group *group, hd_error *err)
{
    hd_slots slots = {0};
    const void *dictionary = NULL;
    size_t row = 0, values = 0;
    bool fine = hd_renew((void **)&w->values, &w->value_room, group->rows + 1, sizeof *w->values) &&
                hd_renew((void **)&w->levels, &w->level_room, group->rows + 1, 1);
    w->text_count = 0;
    w->text_bytes = 0;
    w->has_ranks = false;
    for (size_t i = 0; fine && i < group->batch_count; i++) {
        gather_part part = part_of(&group->batches[i], place);
        size_t count = put_levels(w->levels + row, &part);
        fine = gather_part_values(w->values + values, w, &slots, &dictionary, column, &part);
        row += part.rows;
        values += count;
    }
    hd_slots_deinit(&slots);
    *out_values = values;
    return fine ? HD_OK : HD_NOMEM(err);
}
