/* chunk.c - a column of a row group as pages
 *
 * Encoding   texts: a dictionary of those the chunk uses, unless nearly all differ. Numbers: what makes a sample
 *            smallest when it is compressed. Bool: bits
 * Pages      of PARQUET_PAGE_ROWS rows, data pages of version 1, zstd
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "parquet/impl.h"
#include "parquet/thrift.h"

enum { SAMPLE = 8192, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

typedef struct chunk_maker {
    parquet_made *made;
    parquet_worker *w;
    const parquet_column *column;
    size_t values;
    hd_error *err;
} chunk_maker;

void parquet_made_deinit(parquet_made *made)
{
    hd_bytes_deinit(&made->bytes);
    hd_bytes_deinit(&made->index);
    free(made->pages);
    made->pages = NULL;
}

/* ---- encodings ---- */

static void put_bits(hd_bytes *out, const int64_t *values, size_t count)
{
    uint8_t *p = hd_bytes_room(out, count / 8 + 1);
    if (!p) return;
    memset(p, 0, count / 8 + 1);
    for (size_t i = 0; i < count; i++) p[i / 8] |= (uint8_t)(values[i] << i % 8);
    out->size += (count + 7) / 8;
}

static void put_texts(hd_bytes *out, const parquet_worker *w, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hd_string text = w->texts[values[i]];
        hd_bytes_put_le(out, text.size, 4);
        hd_bytes_put(out, text.data, text.size);
    }
}

static uint32_t dictionary_count(const chunk_maker *m)
{
    return (uint32_t)(m->column->type == PARQUET_BYTE_ARRAY ? m->w->text_count : m->w->number_count);
}

static void put_indices(hd_bytes *out, chunk_maker *m, size_t first, size_t count)
{
    unsigned width = parquet_bit_width(dictionary_count(m) ? dictionary_count(m) - 1 : 0);
    hd_bytes_put_u8(out, (uint8_t)width);
    parquet_put_rle(out, m->w->indices + first, count, width);
}

static void put_values(hd_bytes *out, chunk_maker *m, parquet_encoding encoding, size_t first, size_t count)
{
    const int64_t *values = m->w->values + first;
    unsigned width = m->column->type == PARQUET_INT32 ? 4 : 8;
    switch (encoding) {
    case PARQUET_RLE_DICTIONARY: put_indices(out, m, first, count); break;
    case PARQUET_DELTA_BINARY_PACKED: parquet_put_delta(out, values, count); break;
    case PARQUET_BYTE_STREAM_SPLIT: parquet_put_split(out, values, count, width); break;
    default:
        if (m->column->type == PARQUET_BYTE_ARRAY)
            put_texts(out, m->w, values, count);
        else if (m->column->type == PARQUET_BOOLEAN)
            put_bits(out, values, count);
        else
            parquet_put_plain(out, values, count, width);
    }
}

/* ---- which encoding ---- */

/* Numbers each once, in worker->numbers, and their indices; false: there are too many. */
static hd_status find_numbers(bool *out, chunk_maker *m, size_t most)
{
    parquet_worker *w = m->w;
    hd_slots slots = {0};
    bool fine = true;
    w->number_count = 0;
    for (size_t i = 0; fine && i < m->values && w->number_count <= most; i++) {
        uint64_t hash = hd_hash_pair((uint64_t)w->values[i], 0);
        uint32_t found = i > 0 && w->values[i] == w->values[i - 1] ? w->indices[i - 1] : HD_SLOTS_NONE;
        if (found == HD_SLOTS_NONE) HD_SLOTS_FIND(found, &slots, hash, w->numbers[found] == w->values[i]);
        if (found == HD_SLOTS_NONE) {
            found = (uint32_t)w->number_count;
            fine = hd_grow((void **)&w->numbers, &w->number_room, w->number_count, sizeof *w->numbers) &&
                   hd_slots_add(&slots, hash, found);
            if (fine) w->numbers[w->number_count++] = w->values[i];
        }
        w->indices[i] = found;
    }
    hd_slots_deinit(&slots);
    *out = w->number_count <= most;
    return fine ? HD_OK : HD_NOMEM(m->err);
}

/* Compressed bytes of a sample, scaled to the chunk. */
static hd_status weigh(double *out, chunk_maker *m, parquet_encoding encoding)
{
    size_t count = m->values < SAMPLE ? m->values : SAMPLE, first = (m->values - count) / 2;
    parquet_worker *w = m->w;
    w->body.size = w->packed.size = 0;
    put_values(&w->body, m, encoding, first, count);
    HD_TRY(hd_compress(&w->packed, w->compressor, w->body.data, w->body.size, m->err));
    *out = (double)w->packed.size * (double)m->values / (double)count;
    return HD_OK;
}

static hd_status choose_for_numbers(parquet_encoding *out, chunk_maker *m)
{
    parquet_encoding candidates[3] = {PARQUET_PLAIN, PARQUET_DELTA_BINARY_PACKED, PARQUET_RLE_DICTIONARY};
    bool few;
    double best = 0, size;
    HD_TRY(find_numbers(&few, m, m->values / 4 < 65536 ? m->values / 4 + 1 : 65536));
    *out = few && m->w->number_count == 1 ? PARQUET_RLE_DICTIONARY : PARQUET_PLAIN;
    if (m->values < 2 || *out == PARQUET_RLE_DICTIONARY) return HD_OK;
    if (m->column->type == PARQUET_DOUBLE) candidates[1] = PARQUET_BYTE_STREAM_SPLIT;
    if (m->column->type == PARQUET_INT32) candidates[1] = PARQUET_PLAIN;
    for (int i = 0; i < (few ? 3 : 2); i++) {
        HD_TRY(weigh(&size, m, candidates[i]));
        if (candidates[i] == PARQUET_RLE_DICTIONARY) size += (double)m->w->number_count * 5;
        if (i == 0 || size < best) {
            best = size;
            *out = candidates[i];
        }
    }
    return HD_OK;
}

static hd_status choose_encoding(parquet_encoding *out, chunk_maker *m)
{
    parquet_worker *w = m->w;
    *out = PARQUET_PLAIN;
    if (m->column->type == PARQUET_BOOLEAN || m->values == 0) return HD_OK;
    if (!hd_renew((void **)&w->indices, &w->index_room, m->values, sizeof *w->indices)) return HD_NOMEM(m->err);
    if (m->column->type != PARQUET_BYTE_ARRAY) return choose_for_numbers(out, m);
    bool mostly_new = w->text_count > 16 && w->text_count > m->values / 4 * 3;
    if (mostly_new || w->text_bytes > PARQUET_DICTIONARY_MOST) return HD_OK;
    for (size_t i = 0; i < m->values; i++) w->indices[i] = (uint32_t)w->values[i];
    *out = PARQUET_RLE_DICTIONARY;
    return HD_OK;
}

/* ---- pages ---- */

static hd_status put_page(uint64_t *out_unpacked, chunk_maker *m, int type, size_t count)
{
    parquet_worker *w = m->w;
    parquet_chunk *chunk = &m->made->chunk;
    hd_bytes *out = &m->made->bytes;
    w->packed.size = 0;
    if (w->body.failed) return HD_NOMEM(m->err);
    if (w->body.size > INT32_MAX - 1024)
        return hd_error_set(m->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "column %s: a page of %zu bytes; Parquet's have less than 2 GiB", m->column->name,
                            w->body.size);
    HD_TRY(hd_compress(&w->packed, w->compressor, w->body.data, w->body.size, m->err));
    size_t before = out->size;
    thrift t = thrift_begin(out);
    thrift_i32(&t, 1, type);
    thrift_i32(&t, 2, (int64_t)w->body.size);
    thrift_i32(&t, 3, (int64_t)w->packed.size);
    thrift head = thrift_struct(&t, type == PAGE_DICTIONARY ? 7 : 5);
    thrift_i32(&head, 1, (int64_t)count);
    thrift_i32(&head, 2, type == PAGE_DICTIONARY ? PARQUET_PLAIN : chunk->encoding);
    if (type == PAGE_DATA) {
        thrift_i32(&head, 3, PARQUET_RLE);
        thrift_i32(&head, 4, PARQUET_RLE);
    }
    thrift_end(&head);
    thrift_end(&t);
    *out_unpacked += out->size - before + w->body.size;
    hd_bytes_put(out, w->packed.data, w->packed.size);
    return out->failed ? HD_NOMEM(m->err) : HD_OK;
}

static hd_status put_dictionary(chunk_maker *m)
{
    parquet_worker *w = m->w;
    w->body.size = 0;
    if (m->column->type == PARQUET_BYTE_ARRAY)
        for (int64_t i = 0; i < (int64_t)w->text_count; i++) put_texts(&w->body, w, &i, 1);
    else
        parquet_put_plain(&w->body, w->numbers, w->number_count, m->column->type == PARQUET_INT32 ? 4 : 8);
    HD_TRY(put_page(&m->made->chunk.unpacked_size, m, PAGE_DICTIONARY, dictionary_count(m)));
    m->made->chunk.has_dictionary = true;
    m->made->chunk.dictionary_size = m->made->bytes.size;
    return HD_OK;
}

/* Levels with their size in front. */
static bool put_levels(hd_bytes *out, parquet_worker *w, const parquet_page *page)
{
    size_t at = out->size;
    if (!hd_renew((void **)&w->wide, &w->wide_room, page->rows, sizeof *w->wide)) return false;
    for (size_t i = 0; i < page->rows; i++) w->wide[i] = w->levels[page->first_row + i];
    hd_bytes_put_le(out, 0, 4);
    parquet_put_rle(out, w->wide, page->rows, 1);
    if (out->failed) return false;
    hd_le_put(out->data + at, out->size - at - 4, 4);
    return true;
}

static hd_status put_data_page(chunk_maker *m, parquet_page *page)
{
    parquet_worker *w = m->w;
    w->body.size = 0;
    if (m->column->is_optional && !put_levels(&w->body, w, page)) return HD_NOMEM(m->err);
    put_values(&w->body, m, m->made->chunk.encoding, page->first_value, page->values);
    page->offset = m->made->bytes.size;
    HD_TRY(put_page(&m->made->chunk.unpacked_size, m, PAGE_DATA, page->rows));
    page->size = m->made->bytes.size - page->offset;
    page->bounds = parquet_bounds_of(w, m->column, page->first_value, page->values);
    return HD_OK;
}

/* The rows of the next page. */
static void take_rows(parquet_page *page, const chunk_maker *m, uint64_t rows)
{
    bool is_plain_text = m->column->type == PARQUET_BYTE_ARRAY && m->made->chunk.encoding == PARQUET_PLAIN;
    size_t bytes = 0;
    while (page->first_row + page->rows < rows && page->rows < PARQUET_PAGE_ROWS && bytes < PARQUET_PAGE_TEXT) {
        bool is_value = m->w->levels[page->first_row + page->rows++];
        if (is_value && is_plain_text) bytes += m->w->texts[m->w->values[page->first_value + page->values]].size;
        page->values += is_value;
    }
}

static hd_status put_pages(chunk_maker *m, uint64_t rows)
{
    parquet_made *made = m->made;
    size_t value = 0;
    for (uint64_t row = 0; row < rows;) {
        if (!hd_grow((void **)&made->pages, &made->page_room, made->page_count, sizeof *made->pages))
            return HD_NOMEM(m->err);
        parquet_page *page = &made->pages[made->page_count++];
        *page = (parquet_page){.first_row = row, .first_value = value};
        take_rows(page, m, rows);
        HD_TRY(put_data_page(m, page));
        row += page->rows;
        value += page->values;
    }
    return HD_OK;
}

/* ---- statistics ---- */

typedef enum boundary_order { UNORDERED, ASCENDING, DESCENDING } boundary_order;

static boundary_order order_of_pages(const chunk_maker *m)
{
    bool ascends = true, descends = true;
    const parquet_page *before = NULL;
    for (size_t i = 0; i < m->made->page_count; i++) {
        const parquet_page *page = &m->made->pages[i];
        if (!page->bounds.is_known) continue;
        int least = before ? parquet_compare(m->w, m->column, before->bounds.least, page->bounds.least) : 0;
        int most = before ? parquet_compare(m->w, m->column, before->bounds.most, page->bounds.most) : 0;
        ascends &= least <= 0 && most <= 0;
        descends &= least >= 0 && most >= 0;
        before = page;
    }
    return ascends ? ASCENDING : descends ? DESCENDING : UNORDERED;
}

static bool put_page_bounds(thrift *t, int id, const chunk_maker *m, bool is_most)
{
    thrift_list(t, id, THRIFT_BINARY, m->made->page_count);
    for (size_t i = 0; i < m->made->page_count; i++) {
        const parquet_page *page = &m->made->pages[i];
        parquet_bound bound = {.is_known = page->values == 0};
        if (page->bounds.is_known)
            bound = parquet_bound_of(m->w, m->column, is_most ? page->bounds.most : page->bounds.least, is_most);
        if (!bound.is_known) return false;
        thrift_put_binary(t->out, bound.data, bound.size);
    }
    return true;
}

/* None where a page's bounds are not known. */
static void put_index(const chunk_maker *m)
{
    parquet_made *made = m->made;
    thrift t = thrift_begin(&made->index);
    thrift_list(&t, 1, THRIFT_TRUE, made->page_count);
    for (size_t i = 0; i < made->page_count; i++)
        hd_bytes_put_u8(&made->index, made->pages[i].values ? THRIFT_FALSE : THRIFT_TRUE);
    bool is_known = put_page_bounds(&t, 2, m, false) && put_page_bounds(&t, 3, m, true);
    thrift_i32(&t, 4, order_of_pages(m));
    thrift_list(&t, 5, THRIFT_I64, made->page_count);
    for (size_t i = 0; i < made->page_count; i++)
        hd_bytes_put_zigzag(&made->index, (int64_t)(made->pages[i].rows - made->pages[i].values));
    thrift_end(&t);
    if (!is_known) made->index.size = 0;
}

static bool is_sorted(const chunk_maker *m, uint64_t rows)
{
    if (m->values != rows || m->column->type == PARQUET_BYTE_ARRAY || m->column->type == PARQUET_DOUBLE) return false;
    for (size_t i = 1; i < m->values; i++) {
        if (parquet_compare(m->w, m->column, m->w->values[i - 1], m->w->values[i]) > 0) return false;
    }
    return true;
}

static void sum_up(chunk_maker *m, uint64_t rows)
{
    parquet_chunk *chunk = &m->made->chunk;
    parquet_bounds all = {0};
    for (size_t i = 0; i < m->made->page_count; i++) parquet_widen(&all, m->w, m->column, m->made->pages[i].bounds);
    if (all.is_known) {
        chunk->least = parquet_bound_of(m->w, m->column, all.least, false);
        chunk->most = parquet_bound_of(m->w, m->column, all.most, true);
    }
    chunk->rows = rows;
    chunk->nulls = rows - m->values;
    chunk->size = m->made->bytes.size;
    chunk->is_sorted = is_sorted(m, rows);
    put_index(m);
}

hd_status parquet_make_chunk(parquet_made *out, parquet_worker *worker, const parquet_column *column, size_t place,
                             const parquet_group *group, hd_error *err)
{
    chunk_maker m = {.made = out, .w = worker, .column = column, .err = err};
    out->bytes.size = out->index.size = out->page_count = 0;
    out->chunk = (parquet_chunk){.column = column};
    HD_TRY(parquet_gather(&m.values, worker, column, place, group, err));
    HD_TRY(parquet_rank_texts(worker, m.values, err));
    HD_TRY(choose_encoding(&out->chunk.encoding, &m));
    if (out->chunk.encoding == PARQUET_RLE_DICTIONARY) HD_TRY(put_dictionary(&m));
    HD_TRY(put_pages(&m, group->rows));
    sum_up(&m, group->rows);
    return out->index.failed ? HD_NOMEM(err) : HD_OK;
}
