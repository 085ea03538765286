/* write.c - tables as JSON, CSV and Markdown; text is in text.c */
#include "heddle/table.h"
#include "table/impl.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the way to the sink ---- */

static void flush(table_out *out)
{
    if (out->status == HD_OK && out->used) out->status = out->sink.write(out->sink.user, out->buffer, out->used);
    out->used = 0;
}

void table_put(table_out *out, const char *data, size_t size)
{
    while (size && out->status == HD_OK) {
        size_t fits = sizeof out->buffer - out->used;
        if (fits > size) fits = size;
        memcpy(out->buffer + out->used, data, fits);
        out->used += fits;
        data += fits;
        size -= fits;
        if (out->used == sizeof out->buffer) flush(out);
    }
}

void table_puts(table_out *out, const char *text)
{
    table_put(out, text, strlen(text));
}

void table_put_spaces(table_out *out, size_t count)
{
    for (; count && out->status == HD_OK; count--) table_put(out, " ", 1);
}

/* ---- JSON ---- */

/* Needs no escape in JSON. */
static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static void put_json_string(table_out *out, const char *text, size_t size)
{
    table_put(out, "\"", 1);
    for (size_t at = 0; at < size && out->status == HD_OK;) {
        uint32_t point = 0;
        size_t plain = at;
        while (plain < size && is_plain(text[plain])) plain++;
        table_put(out, text + at, plain - at);
        at = plain;
        if (at == size) break;
        size_t used = table_utf8_length(&point, text + at, size - at);
        if (used == 0) {
            table_puts(out, "\xEF\xBF\xBD");
            used = 1;
        } else if (point == '"' || point == '\\') {
            char escape[2] = {'\\', (char)point};
            table_put(out, escape, 2);
        } else if (point == '\n') {
            table_puts(out, "\\n");
        } else if (point == '\t') {
            table_puts(out, "\\t");
        } else if (table_is_control(point)) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)point);
            table_puts(out, escape);
        } else {
            table_put(out, text + at, used);
        }
        at += used;
    }
    table_put(out, "\"", 1);
}

static void put_json_cell(table_out *out, const hd_table *table, size_t row, size_t column)
{
    const hd_table_column *about = &table->columns[column];
    const table_cell cell = table_cell_at(table, row, column);
    if (table_is_null(&cell) || (about->type == HD_VALUE_DECIMAL && !isfinite(cell.as.decimal))) {
        table_puts(out, "null");
    } else if (about->type == HD_VALUE_STRING) {
        size_t size;
        const char *text = hd_table_get_string(&size, table, row, column);
        put_json_string(out, text, size);
    } else {
        char text[HD_VALUE_TEXT_BYTES];
        table_puts(out, table_value_raw(text, about, &cell));
    }
}

static void put_json_members(table_out *out, const hd_table *table, size_t row)
{
    for (size_t column = 0; column < table->column_count; column++) {
        if (column) table_puts(out, ", ");
        put_json_string(out, table->columns[column].name, strlen(table->columns[column].name));
        table_puts(out, ": ");
        put_json_cell(out, table, row, column);
    }
}

static void write_json(table_out *out, const hd_table *table, unsigned indent)
{
    size_t rows = hd_table_row_count(table);
    table_puts(out, "[");
    for (size_t row = 0; row < rows && out->status == HD_OK; row++) {
        table_puts(out, row ? ",\n" : "\n");
        table_put_spaces(out, indent + 2);
        table_puts(out, "{");
        put_json_members(out, table, row);
        table_puts(out, "}");
    }
    if (rows) {
        table_puts(out, "\n");
        table_put_spaces(out, indent);
    }
    table_puts(out, "]");
}

/* ---- CSV ---- */

static size_t skip_digits(const char *text, size_t size, size_t at)
{
    while (at < size && text[at] >= '0' && text[at] <= '9') at++;
    return at;
}

/* -12, +.5, 1e-9 */
static bool is_number(const char *text, size_t size)
{
    size_t at = size && (*text == '-' || *text == '+'), whole = skip_digits(text, size, at), digits = whole - at;
    at = whole;
    if (at < size && text[at] == '.') {
        at = skip_digits(text, size, at + 1);
        digits += at - whole - 1;
    }
    if (digits && at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < size && (text[at] == '-' || text[at] == '+');
        size_t end = skip_digits(text, size, at);
        digits = end - at;
        at = end;
    }
    return digits && at == size;
}

/* Text that a spreadsheet would run as a formula, or a terminal as a sequence: names come from files. */
static bool is_active(const char *text, size_t size)
{
    return size && memchr("=+-@\t\r\x1b", *text, 7) && !is_number(text, size);
}

static void put_csv_string(table_out *out, const char *text, size_t size)
{
    bool quoted = size == 0, active = is_active(text, size);
    for (size_t i = 0; i < size && !quoted; i++) {
        quoted = text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n';
    }
    if (!quoted) {
        if (active) table_put(out, "'", 1);
        table_put(out, text, size);
        return;
    }
    table_put(out, active ? "\"'" : "\"", active ? 2 : 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"') table_put(out, "\"", 1);
        table_put(out, text + i, 1);
    }
    table_put(out, "\"", 1);
}

static void write_csv_head(table_out *out, const hd_table *table)
{
    for (size_t column = 0; column < table->column_count; column++) {
        if (column) table_puts(out, ",");
        put_csv_string(out, table->columns[column].name, strlen(table->columns[column].name));
    }
    table_puts(out, "\n");
}

static void write_csv(table_out *out, const hd_table *table, const hd_table_style *style)
{
    if (!style->no_head) write_csv_head(out, table);
    for (size_t row = 0; row < hd_table_row_count(table) && out->status == HD_OK; row++) {
        for (size_t column = 0; column < table->column_count; column++) {
            const table_cell cell = table_cell_at(table, row, column);
            if (column) table_puts(out, ",");
            if (table_is_null(&cell)) continue;
            char text[HD_VALUE_TEXT_BYTES];
            size_t size;
            if (table->columns[column].type == HD_VALUE_STRING) {
                const char *string = hd_table_get_string(&size, table, row, column);
                put_csv_string(out, string, size);
            } else {
                table_puts(out, table_value_raw(text, &table->columns[column], &cell));
            }
        }
        table_puts(out, "\n");
    }
}

/* ---- Markdown ---- */

/* Kernel names contain characters that are markup in Markdown: `gemm<float*, 4>`, `__half`. */
static void put_markdown_string(table_out *out, const char *text, size_t size)
{
    for (size_t at = 0; at < size && out->status == HD_OK;) {
        table_char next;
        bool in_word =
            at && isalnum((unsigned char)text[at - 1]) && at + 1 < size && isalnum((unsigned char)text[at + 1]);
        at += table_next_char(&next, text + at, size - at);
        if (strchr("\\`*<[|", next.bytes[0]) || (next.bytes[0] == '_' && !in_word)) table_put(out, "\\", 1);
        table_put(out, next.bytes, next.size);
    }
}

static bool right_aligned(const hd_table_column *column)
{
    return column->type != HD_VALUE_STRING && column->type != HD_VALUE_BOOL;
}

static void put_markdown_row(table_out *out, const hd_table *table, size_t row, bool raw)
{
    table_puts(out, "|");
    for (size_t column = 0; column < table->column_count; column++) {
        const table_cell cell = table_cell_at(table, row, column);
        char text[HD_VALUE_TEXT_BYTES];
        table_puts(out, " ");
        if (table_is_null(&cell)) {
            table_puts(out, "|");
            continue;
        }
        if (table->columns[column].type == HD_VALUE_STRING) {
            size_t size;
            const char *string = hd_table_get_string(&size, table, row, column);
            put_markdown_string(out, string, size);
        } else {
            table_puts(out, (raw ? table_value_raw : table_value_text)(text, &table->columns[column], &cell));
        }
        table_puts(out, " |");
    }
    table_puts(out, "\n");
}

static void write_markdown_head(table_out *out, const hd_table *table, bool raw)
{
    char heading[HD_HEADING_BYTES];
    table_puts(out, "|");
    for (size_t column = 0; column < table->column_count; column++) {
        table_puts(out, " ");
        if (!raw) table_puts(out, hd_table_heading(heading, &table->columns[column]));
        if (raw) put_markdown_string(out, table->columns[column].name, strlen(table->columns[column].name));
        table_puts(out, " |");
    }
    table_puts(out, "\n|");
    for (size_t column = 0; column < table->column_count; column++) {
        table_puts(out, right_aligned(&table->columns[column]) ? " ---: |" : " --- |");
    }
    table_puts(out, "\n");
}

static void write_markdown(table_out *out, const hd_table *table, const hd_table_style *style)
{
    if (!style->no_head) write_markdown_head(out, table, style->raw);
    for (size_t row = 0; row < hd_table_row_count(table) && out->status == HD_OK; row++) {
        put_markdown_row(out, table, row, style->raw);
    }
}

/* Flushes the rest, and returns the first failure. */
static hd_status finish(table_out *out, const hd_table *table, hd_error *err)
{
    flush(out);
    if (out->status == HD_OK) return HD_OK;
    return hd_error_set(err, out->status, NULL, HD_OFFSET_NONE, "table %s could not be written", table->name);
}

hd_status hd_table_write_members(const hd_table *table, size_t row, hd_sink sink, hd_error *err)
{
    table_out out = {.sink = sink};
    put_json_members(&out, table, row);
    return finish(&out, table, err);
}

hd_status hd_table_write(const hd_table *table, hd_sink sink, const hd_table_style *style, hd_error *err)
{
    static const hd_table_style plain = {.format = HD_TABLE_TEXT};
    if (!style) style = &plain;
    table_out out = {.sink = sink};
    if (table->column_count || style->format == HD_TABLE_JSON) {
        switch (style->format) {
        case HD_TABLE_TEXT: table_write_text(&out, table, style); break;
        case HD_TABLE_JSON: write_json(&out, table, style->indent); break;
        case HD_TABLE_CSV: write_csv(&out, table, style); break;
        case HD_TABLE_MARKDOWN: write_markdown(&out, table, style); break;
        }
    }
    return finish(&out, table, err);
}
