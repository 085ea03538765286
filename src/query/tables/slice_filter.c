/* slice_filter.c - conditions on columns of the slice table
 *
 * Values are those of chunks: a text is the id of a string, so a name is looked up once for each input, and LIKE and
 * GLOB are asked once for each string.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "query/tables/slice.h"

bool slice_is_text(slice_column column)
{
    return column == SLICE_NAME || column == SLICE_CATEGORY || column == SLICE_TYPE || column == SLICE_ROLE;
}

static bool is_word(slice_column column)
{
    return column == SLICE_TYPE || column == SLICE_ROLE;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t word_of(slice_column column, const char *text, size_t size)
{
    for (int64_t value = 0; value < 32; value++) {
        if (column == SLICE_TYPE && value >= HD_KIND_COUNT) break;
        const char *word = slice_word(column, value);
        if (word && strlen(word) == size && memcmp(word, text, size) == 0) return value;
    }
    return -1;
}

/* The values of a constraint one by one: of a list, or the only one. */
static bool next_value(sqlite3_value **value, sqlite3_value *list, bool in, bool first)
{
    if (in)
        return (first ? sqlite3_vtab_in_first(list, value) : sqlite3_vtab_in_next(list, value)) == SQLITE_OK && *value;
    *value = list;
    return first;
}

static bool add_id(slice_filter *filter, size_t input, size_t *capacity, int64_t id)
{
    if (!hd_grow((void **)&filter->ids[input], capacity, filter->id_counts[input], sizeof **filter->ids)) return false;
    filter->ids[input][filter->id_counts[input]++] = id;
    return true;
}

static hd_status init_texts(slice_filter *filter, slice_table *table, bool in, sqlite3_value *list, hd_error *err)
{
    size_t inputs = table->tables->count;
    size_t *capacities = calloc(inputs, sizeof *capacities);
    filter->ids = calloc(inputs, sizeof *filter->ids);
    filter->id_counts = calloc(inputs, sizeof *filter->id_counts);
    bool room = capacities && filter->ids && filter->id_counts;
    sqlite3_value *value = NULL;
    for (bool first = true; room && next_value(&value, list, in, first); first = false) {
        int type = sqlite3_value_type(value);
        if (type == SQLITE_NULL || type == SQLITE_BLOB) continue;
        const char *text = (const char *)sqlite3_value_text(value);
        size_t size = (size_t)sqlite3_value_bytes(value);
        for (size_t i = 0; i < inputs && room && text; i++) {
            const hd_trace *trace = table->tables->sources[i].trace;
            int64_t id = is_word(filter->column) ? word_of(filter->column, text, size)
                                                 : (int64_t)hd_trace_find_string(trace, text, size);
            bool none = is_word(filter->column) ? id < 0 : id == HD_NONE;
            room = text && (none || add_id(filter, i, &capacities[i], id));
        }
    }
    for (size_t i = 0; i < inputs && room; i++)
        if (filter->id_counts[i]) qsort(filter->ids[i], filter->id_counts[i], sizeof **filter->ids, by_value);
    free(capacities);
    return room ? HD_OK : HD_NOMEM(err);
}

static hd_status init_pattern(slice_filter *filter, slice_table *table, int op, sqlite3_value *value, hd_error *err)
{
    const char *text = (const char *)sqlite3_value_text(value);
    filter->like = op;
    filter->pattern = text ? strdup(text) : NULL;
    filter->known = calloc(table->tables->count, sizeof *filter->known);
    if ((text && !filter->pattern) || !filter->known) return HD_NOMEM(err);
    for (size_t i = 0; i < table->tables->count && text; i++) {
        filter->known[i] = calloc((size_t)hd_trace_string_count(table->tables->sources[i].trace) + 1, 1);
        if (!filter->known[i]) return HD_NOMEM(err);
    }
    return HD_OK;
}

static hd_status init_list(slice_filter *filter, sqlite3_value *list, hd_error *err)
{
    size_t capacity = 0;
    sqlite3_value *value = NULL;
    if (!hd_grow((void **)&filter->list, &capacity, 0, sizeof *filter->list)) return HD_NOMEM(err);
    for (bool first = true; next_value(&value, list, true, first); first = false) {
        query_bounds bounds = QUERY_ALL;
        query_bounds_add(&bounds, SQLITE_INDEX_CONSTRAINT_EQ, value);
        if (bounds.low > bounds.high) continue;
        if (!hd_grow((void **)&filter->list, &capacity, filter->list_count, sizeof *filter->list)) return HD_NOMEM(err);
        filter->list[filter->list_count++] = bounds.low;
    }
    if (filter->list_count) qsort(filter->list, filter->list_count, sizeof *filter->list, by_value);
    return HD_OK;
}

hd_status slice_filter_init(slice_filter *out, slice_table *table, slice_column column, int op, bool in,
                            sqlite3_value *value, hd_error *err)
{
    *out = (slice_filter){.column = column, .bounds = QUERY_ALL};
    if (op == SQLITE_INDEX_CONSTRAINT_LIKE || op == SQLITE_INDEX_CONSTRAINT_GLOB)
        return init_pattern(out, table, op, value, err);
    if (slice_is_text(column)) return init_texts(out, table, in, value, err);
    if (in) return init_list(out, value, err);
    query_bounds_add(&out->bounds, op, value);
    return HD_OK;
}

void slice_filter_deinit(slice_filter *filter, const slice_table *table)
{
    for (size_t i = 0; i < table->tables->count; i++) {
        if (filter->known) free(filter->known[i]);
        if (filter->ids) free(filter->ids[i]);
    }
    free(filter->known);
    free(filter->ids);
    free(filter->id_counts);
    free(filter->pattern);
    free(filter->list);
    *filter = (slice_filter){0};
}

/* ---- rows that pass ---- */

static bool is_in(const int64_t *list, size_t count, int64_t value)
{
    size_t low = 0, high = count;
    if (count == 1) return *list == value;
    HD_PARTITION_POINT(low, high, at, list[at] < value)
    return low < count && list[low] == value;
}

/* As SQLite's own LIKE and GLOB, which see a text up to its first NUL. */
static bool matches(const slice_filter *filter, const slice_section *section, uint32_t string)
{
    const query_source *source = section->source;
    if (string == HD_STRING_NONE || !filter->pattern || string >= hd_trace_string_count(source->trace)) return false;
    uint8_t *known = &filter->known[source->index][string];
    if (*known) return *known == 2;
    hd_string text = hd_trace_string(source->trace, string);
    char *copy = strndup(text.data, text.size);
    if (!copy) return true; /* SQLite asks again */
    bool yes = filter->like == SQLITE_INDEX_CONSTRAINT_LIKE ? sqlite3_strlike(filter->pattern, copy, 0) == 0
                                                            : sqlite3_strglob(filter->pattern, copy) == 0;
    free(copy);
    *known = yes ? 2 : 1;
    return yes;
}

static bool passes(const slice_filter *filter, const slice_section *section, int64_t value)
{
    if (filter->like) return matches(filter, section, (uint32_t)value);
    size_t input = section->source->index;
    if (filter->ids) return filter->id_counts[input] && is_in(filter->ids[input], filter->id_counts[input], value);
    if (filter->list) return is_in(filter->list, filter->list_count, value);
    return value >= filter->bounds.low && value <= filter->bounds.high;
}

static uint32_t select_bounds(slice_chunk *chunk, const int64_t *values, query_bounds bounds)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < chunk->selected_count; k++) {
        uint16_t i = chunk->selected[k];
        chunk->selected[kept] = i;
        kept += values[i] >= bounds.low && values[i] <= bounds.high;
    }
    return kept;
}

void slice_filter_apply(const slice_filter *filter, slice_chunk *chunk, const slice_table *table)
{
    (void)table;
    const int64_t *values = slice_chunk_values(chunk, filter->column);
    const int64_t *ids = filter->ids && chunk->section ? filter->ids[chunk->section->source->index] : NULL;
    uint32_t kept = 0;
    if (!filter->like && !filter->ids && !filter->list) {
        kept = select_bounds(chunk, values, filter->bounds);
    } else if (ids && filter->id_counts[chunk->section->source->index] == 1) {
        kept = select_bounds(chunk, values, (query_bounds){*ids, *ids});
    } else {
        for (uint32_t k = 0; k < chunk->selected_count; k++) {
            uint16_t i = chunk->selected[k];
            if (passes(filter, slice_chunk_section(chunk, i), values[i])) chunk->selected[kept++] = i;
        }
    }
    chunk->selected_count = kept;
}
