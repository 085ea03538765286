/* slice_filter.c - conditions on columns of the slice table
 *
 * Values are those of chunks: a text is the id of a string, so a name is looked up once per input, and LIKE and GLOB
 * are evaluated once per string. Results equal SQLite's: '05' is 5 in a comparison with a numeric column.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "query/tables/slice.h"

enum { CHECK_STRINGS = 1 << 16 };

bool slice_is_string(slice_column column)
{
    return column == SLICE_NAME || column == SLICE_CATEGORY;
}

bool slice_is_text(slice_column column)
{
    return slice_is_string(column) || column == SLICE_TYPE || column == SLICE_ROLE;
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

/* The values of a constraint one by one: a list, or a single value. */
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

/* ---- texts that are compared with a number ---- */

static int by_number(const void *a, const void *b)
{
    const slice_number *x = a, *y = b;
    if (x->real != y->real) return x->real < y->real ? -1 : 1;
    return (x->string > y->string) - (x->string < y->string);
}

/* False: a blob, null, or a text that is none. */
static bool read_number(slice_number *out, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return false;
    *out = (slice_number){
        .real = sqlite3_value_double(value), .integer = sqlite3_value_int64(value), .is_int = type == SQLITE_INTEGER};
    return true;
}

/* Compares like SQLite: exactly, also an integer with a double. */
static bool is_equal(const slice_number *x, const slice_number *y)
{
    if (x->is_int && y->is_int) return x->integer == y->integer;
    if (!x->is_int && !y->is_int) return x->real == y->real;
    const slice_number *whole = x->is_int ? x : y, *real = x->is_int ? y : x;
    return real->real >= -0x1p63 && real->real < 0x1p63 && real->real == (double)real->integer &&
           real->integer == whole->integer;
}

static hd_status find_numbers(slice_numbers *out, const slice_table *table, const hd_trace *trace, hd_error *err)
{
    query_tables *tables = table->tables;
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(tables->query->db, "select ?1", -1, &stmt, NULL);
    hd_status status = code == SQLITE_OK ? HD_OK : query_failed(tables->query, code, err);
    for (uint32_t id = 0; status == HD_OK && id < hd_trace_string_count(trace); id++) {
        hd_string text = hd_trace_string(trace, id);
        size_t at = 0;
        if (id % CHECK_STRINGS == 0) status = query_check_stop(tables, err);
        while (at < text.size && text.data[at] && strchr(" \t\n\v\f\r+-.0123456789eE", text.data[at])) at++;
        if (status != HD_OK || at < text.size || at == 0) continue;
        sqlite3_bind_text64(stmt, 1, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
        sqlite3_step(stmt);
        sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(stmt, 0));
        slice_number number;
        bool room = value && hd_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list);
        if (room && read_number(&number, value)) {
            number.string = id;
            out->list[out->count++] = number;
        }
        sqlite3_value_free(value);
        sqlite3_reset(stmt);
        if (!room) status = HD_NOMEM(err);
    }
    sqlite3_finalize(stmt);
    if (out->count) hd_sort(out->list, out->count, sizeof *out->list, by_number);
    return status;
}

static hd_status make_numbers(slice_table *table, hd_error *err)
{
    if (table->numbers) return HD_OK;
    table->numbers = calloc(table->tables->count, sizeof *table->numbers);
    hd_status status = table->numbers ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < table->tables->count && status == HD_OK; i++)
        status = find_numbers(&table->numbers[i], table, table->tables->sources[i].trace, err);
    if (status != HD_OK) slice_numbers_free(table);
    return status;
}

void slice_numbers_free(slice_table *table)
{
    for (size_t i = 0; table->numbers && i < table->tables->count; i++) free(table->numbers[i].list);
    free(table->numbers);
    table->numbers = NULL;
}

/* Adds all strings that equal the number, since a comparison with a numeric column converts texts to numbers. */
static bool add_equal(slice_filter *filter, const slice_table *table, size_t input, size_t *capacity,
                      const slice_number *number)
{
    const slice_numbers *numbers = &table->numbers[input];
    size_t low = 0, high = numbers->count;
    HD_PARTITION_POINT(low, high, at, numbers->list[at].real < number->real)
    for (; low < numbers->count && numbers->list[low].real == number->real; low++)
        if (is_equal(&numbers->list[low], number) && !add_id(filter, input, capacity, numbers->list[low].string))
            return false;
    return true;
}

/* ---- conditions ---- */

static bool add_text(slice_filter *filter, const slice_table *table, size_t input, size_t *capacity, hd_string text)
{
    bool is_string = slice_is_string(filter->column);
    int64_t id = is_string ? (int64_t)hd_trace_find_string(table->tables->sources[input].trace, text.data, text.size)
                           : word_of(filter->column, text.data, text.size);
    bool none = is_string ? id == HD_NONE || id == HD_STRING_NONE : id < 0;
    return none || add_id(filter, input, capacity, id);
}

/* A number may match texts that read as it, or its own text: which of the two SQLite means depends on the origin of the
 * number, so SQLite checks these rows again. In a list, numbers meant as texts were already converted. */
static hd_status add_value(slice_filter *filter, slice_table *table, size_t *capacities, bool in, sqlite3_value *value,
                           hd_error *err)
{
    int type = sqlite3_value_type(value);
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT, room = true;
    slice_number number;
    if (type == SQLITE_NULL || type == SQLITE_BLOB) return HD_OK;
    if (is_number && !slice_is_string(filter->column)) return HD_OK;
    if (is_number) HD_TRY(make_numbers(table, err));
    if (is_number && !read_number(&number, value)) return HD_OK;
    for (size_t i = 0; i < table->tables->count && room && is_number; i++)
        room = add_equal(filter, table, i, &capacities[i], &number);
    const char *text = is_number && in ? "" : (const char *)sqlite3_value_text(value);
    for (size_t i = 0; i < table->tables->count && room && text && !(is_number && in); i++)
        room = add_text(filter, table, i, &capacities[i], (hd_string){text, (size_t)sqlite3_value_bytes(value)});
    return room && text ? HD_OK : HD_NOMEM(err);
}

/* Ascending, each once. */
static void sort_ids(slice_filter *filter, size_t input)
{
    int64_t *ids = filter->ids[input];
    size_t count = filter->id_counts[input], kept = 0;
    if (count) hd_sort(ids, count, sizeof *ids, by_value);
    for (size_t i = 0; i < count; i++)
        if (!kept || ids[i] != ids[kept - 1]) ids[kept++] = ids[i];
    filter->id_counts[input] = kept;
}

static hd_status init_texts(slice_filter *filter, slice_table *table, bool in, sqlite3_value *list, hd_error *err)
{
    size_t inputs = table->tables->count;
    size_t *capacities = calloc(inputs, sizeof *capacities);
    filter->ids = calloc(inputs, sizeof *filter->ids);
    filter->id_counts = calloc(inputs, sizeof *filter->id_counts);
    hd_status status = capacities && filter->ids && filter->id_counts ? HD_OK : HD_NOMEM(err);
    sqlite3_value *value = NULL;
    for (bool first = true; status == HD_OK && next_value(&value, list, in, first); first = false)
        status = add_value(filter, table, capacities, in, value, err);
    for (size_t i = 0; i < inputs && status == HD_OK; i++) sort_ids(filter, i);
    free(capacities);
    return status;
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
    if (filter->list_count) hd_sort(filter->list, filter->list_count, sizeof *filter->list, by_value);
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
