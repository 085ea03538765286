/* answer.c - the result of a tool, within a limit of bytes: rows are kept as JSON, and a cursor continues */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/impl.h"

enum { FRAME_BYTES = 200 };

void mcp_answer_deinit(mcp_answer *answer)
{
    for (size_t i = 0; i < answer->table_count; i++) {
        free(answer->tables[i].columns.data);
        free(answer->tables[i].rows.data);
        free(answer->tables[i].ends);
    }
    free(answer->head.data);
    *answer = (mcp_answer){0};
}

/* ---- JSON ---- */

void mcp_put_key(hd_json_out *json, const char *key)
{
    char last = json->size ? json->data[json->size - 1] : '{';
    if (last != '{' && last != '[') hd_json_put(json, ",", 1);
    hd_json_put_string(json, key, strlen(key));
    hd_json_put(json, ":", 1);
}

void mcp_put_text(hd_json_out *json, const char *key, const char *text)
{
    mcp_put_key(json, key);
    hd_json_put_string(json, text, strlen(text));
}

void mcp_put_int(hd_json_out *json, const char *key, int64_t value)
{
    mcp_put_key(json, key);
    hd_json_put_int(json, value);
}

void mcp_put_cell(hd_json_out *json, const char *data, size_t size, size_t most)
{
    size_t kept = size;
    if (size > most)
        for (kept = most; kept && ((unsigned char)data[kept] & 0xc0) == 0x80;) kept--;
    hd_json_put_string(json, data, kept);
    if (kept == size || json->failed) return;
    json->size--; /* the quote */
    hd_json_put_text(json, "…\"");
}

/* A quarter more on either side, for context. */
void mcp_put_view(hd_json_out *json, int64_t start_ns, int64_t from_ns, int64_t duration_ns, int64_t id)
{
    char text[96];
    int64_t until, from, margin = duration_ns / 4 + 500;
    if (duration_ns < 0 || __builtin_sub_overflow(from_ns, start_ns, &from) ||
        __builtin_add_overflow(from, duration_ns, &until) || __builtin_add_overflow(until, margin, &until) ||
        __builtin_sub_overflow(from, margin, &from)) {
        hd_json_put_text(json, "null");
        return;
    }
    int size = snprintf(text, sizeof text, "#r=%" PRId64 "~%" PRId64, from, until);
    if (id >= 0) size += snprintf(text + size, sizeof text - (size_t)size, "&id=%" PRId64, id);
    hd_json_put_string(json, text, (size_t)size);
}

/* ---- tables ---- */

mcp_table *mcp_answer_start(mcp_answer *answer, const char *name)
{
    if (answer->table_count == MCP_TABLES) return NULL;
    mcp_table *table = &answer->tables[answer->table_count++];
    snprintf(table->name, sizeof table->name, "%s", name);
    return table;
}

hd_status mcp_table_end_row(mcp_table *table, hd_error *err)
{
    hd_json_put(&table->rows, "]", 1);
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 16;
        size_t *ends = realloc(table->ends, capacity * sizeof *ends);
        if (!ends) return HD_NOMEM(err);
        table->ends = ends;
        table->capacity = capacity;
    }
    table->ends[table->count++] = table->rows.size;
    return table->rows.failed ? HD_NOMEM(err) : HD_OK;
}

static void put_value(hd_json_out *json, const hd_table *table, size_t row, size_t column, size_t most)
{
    char text[48];
    if (hd_table_is_null(table, row, column)) {
        hd_json_put_text(json, "null");
        return;
    }
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: {
        size_t size;
        const char *data = hd_table_get_string(&size, table, row, column);
        mcp_put_cell(json, data, size, most);
        break;
    }
    case HD_VALUE_INT:
    case HD_VALUE_DURATION:
    case HD_VALUE_TIME: hd_json_put_int(json, hd_table_get_int(table, row, column)); break;
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES:
        snprintf(text, sizeof text, "%" PRIu64, hd_table_get_count(table, row, column));
        hd_json_put_text(json, text);
        break;
    case HD_VALUE_DECIMAL: {
        double value = hd_table_get_decimal(table, row, column);
        snprintf(text, sizeof text, "%.6g", value);
        hd_json_put_text(json, isfinite(value) ? text : "null");
        break;
    }
    case HD_VALUE_BOOL: hd_json_put_text(json, hd_table_get_bool(table, row, column) ? "true" : "false"); break;
    }
}

static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strcspn(list, ",") == size && memcmp(list, name, size) == 0) return true;
    return false;
}

static bool has_value(const hd_table *table, size_t column, size_t rows)
{
    for (size_t row = 0; row < rows; row++)
        if (!hd_table_is_null(table, row, column)) return true;
    return false;
}

/* Columns of a table that are sent. */
typedef struct chosen {
    size_t *list, count;
    size_t start, duration, id; /* SIZE_MAX: it has none */
} chosen;

/* SIZE_MAX: it has no such column of that type. */
static size_t find_column(const hd_table *table, const char *name, hd_value_type type)
{
    size_t at = hd_table_find_column(table, name);
    return at != SIZE_MAX && hd_table_get_column(table, at)->type == type ? at : SIZE_MAX;
}

static bool choose_columns(chosen *out, const hd_table *table, const char *columns, size_t rows)
{
    size_t count = hd_table_column_count(table);
    *out = (chosen){.list = calloc(count + 1, sizeof *out->list),
                    .start = find_column(table, "start", HD_VALUE_TIME),
                    .duration = find_column(table, "duration", HD_VALUE_DURATION),
                    .id = find_column(table, "id", HD_VALUE_INT)};
    for (size_t i = 0; out->list && i < count; i++) {
        bool is_wanted = !columns || is_listed(columns, hd_table_get_column(table, i)->name);
        if (is_wanted && has_value(table, i, rows)) out->list[out->count++] = i;
    }
    return out->list != NULL;
}

static void put_row(hd_json_out *json, const hd_table *table, size_t row, const chosen *c, int64_t start_ns,
                    size_t most)
{
    for (size_t i = 0; i < c->count; i++) {
        hd_json_put(json, i ? "," : "[", 1);
        put_value(json, table, row, c->list[i], most);
    }
    if (!c->count) hd_json_put(json, "[", 1);
    if (c->start == SIZE_MAX || c->duration == SIZE_MAX) return;
    if (c->count) hd_json_put(json, ",", 1);
    bool is_null = hd_table_is_null(table, row, c->start) || hd_table_is_null(table, row, c->duration);
    bool has_id = c->id != SIZE_MAX && !hd_table_is_null(table, row, c->id);
    mcp_put_view(json, start_ns, is_null ? 0 : hd_table_get_int(table, row, c->start),
                 is_null ? -1 : hd_table_get_int(table, row, c->duration),
                 has_id ? hd_table_get_int(table, row, c->id) : -1);
}

/* Long texts are cut; where many make a long row, more so. */
static hd_status add_row(mcp_table *out, const hd_table *table, size_t row, const chosen *c, int64_t start_ns,
                         hd_error *err)
{
    size_t before = out->rows.size;
    put_row(&out->rows, table, row, c, start_ns, MCP_CELL_BYTES);
    if (out->rows.size - before > MCP_ROW_BYTES) {
        out->rows.size = before;
        put_row(&out->rows, table, row, c, start_ns, MCP_SHORT_BYTES);
    }
    return mcp_table_end_row(out, err);
}

hd_status mcp_answer_table(mcp_answer *answer, const hd_table *table, const char *columns, int64_t start_ns,
                           hd_error *err)
{
    chosen c;
    size_t all = hd_table_row_count(table), rows = all < MCP_ROWS ? all : MCP_ROWS;
    mcp_table *out = rows ? mcp_answer_start(answer, hd_table_name(table)) : NULL;
    if (!out) return HD_OK; /* no rows: not there */
    if (!choose_columns(&c, table, columns, rows)) return HD_NOMEM(err);
    out->total = all;
    hd_json_put(&out->columns, "[", 1);
    for (size_t i = 0; i < c.count; i++) {
        const char *name = hd_table_get_column(table, c.list[i])->name;
        if (i) hd_json_put(&out->columns, ",", 1);
        hd_json_put_string(&out->columns, name, strlen(name));
    }
    if (c.start != SIZE_MAX && c.duration != SIZE_MAX)
        hd_json_put_text(&out->columns, c.count ? ",\"view\"" : "\"view\"");
    hd_json_put(&out->columns, "]", 1);
    hd_status status = out->columns.failed ? HD_NOMEM(err) : HD_OK;
    for (size_t row = 0; row < rows && status == HD_OK; row++) status = add_row(out, table, row, &c, start_ns, err);
    free(c.list);
    return status;
}

/* ---- pages ---- */

static hd_status parse_cursor(size_t *out_table, size_t *out_row, const mcp_answer *answer, const char *cursor,
                              hd_error *err)
{
    unsigned long table, row;
    char rest;
    *out_table = *out_row = 0;
    if (!cursor) return HD_OK;
    if (sscanf(cursor, "%4lu.%9lu%c", &table, &row, &rest) == 2 && table < answer->table_count &&
        row < answer->tables[table].count) {
        *out_table = table;
        *out_row = row;
        return HD_OK;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "cursor: '%.30s' is none of this answer: take that of the answer before, with the same "
                        "arguments",
                        cursor);
}

/* Rows of a table from *row on, as long as there is room; at least one if it is the page's first. */
static void put_rows(hd_json_out *out, const mcp_table *table, size_t *row, size_t most, bool is_first)
{
    for (size_t from = *row; *row < table->count; ++*row) {
        size_t begin = *row ? table->ends[*row - 1] : 0, size = table->ends[*row] - begin;
        if (out->size + size + 1 > most && !(is_first && *row == from)) return;
        if (*row > from) hd_json_put(out, ",", 1);
        hd_json_put(out, table->rows.data + begin, size);
    }
}

static void put_table(hd_json_out *out, const mcp_table *table, size_t *row, size_t most, bool is_first)
{
    char text[32];
    hd_json_put_text(out, is_first ? "{\"table\":" : ",{\"table\":");
    hd_json_put_string(out, table->name, strlen(table->name));
    snprintf(text, sizeof text, "%" PRIu64, table->total);
    mcp_put_key(out, "count");
    hd_json_put_text(out, text);
    if (*row) mcp_put_int(out, "from", (int64_t)*row);
    mcp_put_key(out, "columns");
    hd_json_put(out, table->columns.data, table->columns.size);
    mcp_put_key(out, "rows");
    hd_json_put(out, "[", 1);
    put_rows(out, table, row, most, is_first);
    hd_json_put_text(out, "]}");
}

hd_status mcp_answer_write(hd_json_out *out, const mcp_answer *answer, const char *cursor, size_t most, hd_error *err)
{
    size_t at, row;
    bool is_first = true;
    HD_TRY(parse_cursor(&at, &row, answer, cursor, err));
    hd_json_put(out, "{", 1);
    if (!cursor) hd_json_put(out, answer->head.data, answer->head.size);
    mcp_put_key(out, "tables");
    hd_json_put(out, "[", 1);
    while (at < answer->table_count) {
        const mcp_table *table = &answer->tables[at];
        size_t size = table->count ? table->columns.size + table->ends[row] - (row ? table->ends[row - 1] : 0) : 0;
        if (!is_first && out->size + size + 2 * FRAME_BYTES > most) break;
        put_table(out, table, &row, most > FRAME_BYTES ? most - FRAME_BYTES : 0, is_first);
        is_first = false;
        if (row < table->count) break;
        at++;
        row = 0;
    }
    hd_json_put(out, "]", 1);
    if (at < answer->table_count) {
        char text[48];
        snprintf(text, sizeof text, "%zu.%zu", at, row);
        mcp_put_text(out, "cursor", text);
        mcp_put_text(out, "more", "call the tool again with the same arguments and this cursor");
    }
    hd_json_put(out, "}", 1);
    return out->failed || answer->head.failed ? HD_NOMEM(err) : HD_OK;
}
