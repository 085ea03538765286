/* bounds.c - minimum and maximum of pages and chunks, for statistics and the page index */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "base/text/utf8.h"
#include "parquet/impl.h"

static double double_of(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int compare_texts(hd_string a, hd_string b)
{
    return hd_text_compare(a.data, a.size, b.data, b.size);
}

int parquet_compare(const parquet_worker *w, const parquet_column *column, int64_t a, int64_t b)
{
    switch (column->type) {
    case PARQUET_BYTE_ARRAY:
        if (w->has_ranks) return (w->ranks[a] > w->ranks[b]) - (w->ranks[a] < w->ranks[b]);
        return a == b ? 0 : compare_texts(w->texts[a], w->texts[b]);
    case PARQUET_DOUBLE: return (double_of(a) > double_of(b)) - (double_of(a) < double_of(b));
    default: break;
    }
    if (column->is_unsigned) return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

/* ---- texts in order ---- */

typedef struct ranked_text {
    hd_string text;
    uint32_t number;
} ranked_text;

static int by_text(const void *a, const void *b)
{
    return compare_texts(((const ranked_text *)a)->text, ((const ranked_text *)b)->text);
}

hd_status parquet_rank_texts(parquet_worker *w, size_t values, hd_error *err)
{
    uint32_t rank = 0;
    if (w->text_count == 0 || w->text_count > values / 4) return HD_OK;
    ranked_text *order = malloc(w->text_count * sizeof *order);
    if (!order || !hd_renew((void **)&w->ranks, &w->rank_room, w->text_count, sizeof *w->ranks)) {
        free(order);
        return HD_NOMEM(err);
    }
    for (size_t i = 0; i < w->text_count; i++) order[i] = (ranked_text){w->texts[i], (uint32_t)i};
    hd_sort(order, w->text_count, sizeof *order, by_text);
    for (size_t i = 0; i < w->text_count; i++) {
        if (i > 0) rank += by_text(&order[i - 1], &order[i]) != 0;
        w->ranks[order[i].number] = rank;
    }
    free(order);
    w->has_ranks = true;
    return HD_OK;
}

/* ---- bounds ---- */

static parquet_bounds bounds_of_ints(const int64_t *values, size_t count)
{
    parquet_bounds out = {count > 0, count ? values[0] : 0, count ? values[0] : 0};
    for (size_t i = 1; i < count; i++) {
        out.least = values[i] < out.least ? values[i] : out.least;
        out.most = values[i] > out.most ? values[i] : out.most;
    }
    return out;
}

/* NaN is in no order, and does not count. */
parquet_bounds parquet_bounds_of(const parquet_worker *w, const parquet_column *column, size_t first, size_t count)
{
    const int64_t *values = w->values + first;
    parquet_bounds out = {0};
    bool is_int = column->type != PARQUET_BYTE_ARRAY && column->type != PARQUET_DOUBLE && !column->is_unsigned;
    if (is_int) return bounds_of_ints(values, count);
    for (size_t i = 0; i < count; i++) {
        double real = column->type == PARQUET_DOUBLE ? double_of(values[i]) : 0;
        if (real != real) continue;
        parquet_widen(&out, w, column, (parquet_bounds){true, values[i], values[i]});
    }
    return out;
}

void parquet_widen(parquet_bounds *bounds, const parquet_worker *w, const parquet_column *column, parquet_bounds by)
{
    if (!by.is_known) return;
    if (!bounds->is_known) {
        *bounds = by;
        return;
    }
    if (parquet_compare(w, column, by.least, bounds->least) < 0) bounds->least = by.least;
    if (parquet_compare(w, column, by.most, bounds->most) > 0) bounds->most = by.most;
}

/* ---- as bytes ---- */

/* Where the last character of text[0 … size) begins. */
static size_t last_character(const uint8_t *text, size_t size)
{
    size_t at = size - 1;
    while (at > 0 && (text[at] & 0xc0) == 0x80) at--;
    return at;
}

static uint32_t character_at(const uint8_t *text, size_t size)
{
    uint32_t c = size == 1 ? text[0] : text[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) c = c << 6 | (text[i] & 0x3f);
    return c;
}

/* The next larger text of no more characters; false: there is none. */
static bool make_larger(parquet_bound *bound)
{
    while (bound->size > 0) {
        size_t at = last_character(bound->data, bound->size);
        uint32_t c = character_at(bound->data + at, bound->size - at) + 1;
        bound->size = at;
        if (c > 0x10ffff) continue;
        bound->size += hd_utf8_put((char *)bound->data + at, c == 0xd800 ? 0xe000 : c);
        return true;
    }
    return false;
}

static parquet_bound bound_of_text(hd_string text, bool is_most)
{
    parquet_bound out = {.size = text.size, .is_known = true, .is_exact = text.size <= PARQUET_BOUND_TEXT};
    if (!out.is_exact) {
        out.size = PARQUET_BOUND_TEXT;
        while (out.size > 0 && ((uint8_t)text.data[out.size] & 0xc0) == 0x80) out.size--;
    }
    if (out.size) memcpy(out.data, text.data, out.size);
    if (!out.is_exact && is_most) out.is_known = make_larger(&out);
    return out;
}

parquet_bound parquet_bound_of(const parquet_worker *w, const parquet_column *column, int64_t value, bool is_most)
{
    if (column->type == PARQUET_BYTE_ARRAY) return bound_of_text(w->texts[value], is_most);
    parquet_bound out = {.size = column->type == PARQUET_BOOLEAN ? 1
                                 : column->type == PARQUET_INT32 ? 4
                                                                 : 8,
                         .is_known = true,
                         .is_exact = true};
    /* -0 and 0 are equal, so a bound must cover both. */
    if (column->type == PARQUET_DOUBLE && double_of(value) == 0) value = is_most ? 0 : INT64_MIN;
    hd_le_put(out.data, (uint64_t)value, (unsigned)out.size);
    return out;
}
