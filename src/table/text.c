/* text.c - a table as aligned columns for people
 *
 * Two passes over the cells: one for the widths, one to print. When a width is given and the columns do not fit, the
 * widest string columns give way first, and their strings are shortened in the middle, since both the namespace and
 * the template arguments of a kernel's name tell kernels apart.
 */
#include "table/impl.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, LEAST_STRING_WIDTH = 12 };

static const char null_text[] = "-";

static size_t text_width(const char *text, size_t size)
{
    size_t width = 0;
    for (size_t at = 0; at < size;) {
        table_char next;
        at += table_next_char(&next, text + at, size - at);
        width += next.width;
    }
    return width;
}

/* What stands in a cell: borrowed text, or `value` filled in. */
static const char *cell_text(size_t *out_size, char *value, const hd_table *table, size_t row, size_t column, bool raw)
{
    const table_cell cell = table_cell_at(table, row, column);
    const hd_table_column *about = &table->columns[column];
    if (!table_is_null(&cell) && about->type == HD_VALUE_STRING)
        return hd_table_get_string(out_size, table, row, column);
    const char *text = table_is_null(&cell) ? null_text
                       : raw                ? table_value_raw(value, about, &cell)
                                            : table_value_text(value, about, &cell);
    *out_size = strlen(text);
    return text;
}

static void measure(size_t *widths, const hd_table *table, const hd_table_style *style)
{
    char value[HD_VALUE_TEXT_BYTES];
    for (size_t column = 0; column < table->column_count; column++) {
        const char *name = table->columns[column].name;
        widths[column] = text_width(name, strlen(name));
        if (style->widths && style->widths[column] > widths[column]) widths[column] = style->widths[column];
    }
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        for (size_t column = 0; column < table->column_count; column++) {
            size_t size;
            const char *text = cell_text(&size, value, table, row, column, style->raw);
            size_t width = text_width(text, size);
            if (width > widths[column]) widths[column] = width;
        }
    }
}

/* Take columns from the widest strings until the table fits, or all strings are at their least width. */
static void shrink(size_t *widths, const hd_table *table, const hd_table_style *style)
{
    size_t total = style->indent;
    for (size_t i = 0; i < table->column_count; i++) total += widths[i] + (i ? GAP : 0);
    while (total > style->width) {
        size_t widest = SIZE_MAX, second = LEAST_STRING_WIDTH;
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].type != HD_VALUE_STRING || widths[i] <= LEAST_STRING_WIDTH) continue;
            if (widest == SIZE_MAX || widths[i] > widths[widest]) {
                if (widest != SIZE_MAX) second = widths[widest];
                widest = i;
            } else if (widths[i] > second) {
                second = widths[i];
            }
        }
        if (widest == SIZE_MAX) return;
        /* Down to the second widest at once; among equals, one column at a time. */
        size_t step = widths[widest] > second ? widths[widest] - second : 1;
        if (step > total - style->width) step = total - style->width;
        widths[widest] -= step;
        total -= step;
    }
}

/* Print as many characters as fit into `room`, from the text's start. Returns the width printed. */
static size_t put_fitting(table_out *out, const char *text, size_t size, size_t room)
{
    size_t width = 0;
    for (size_t at = 0; at < size;) {
        table_char next;
        at += table_next_char(&next, text + at, size - at);
        if (width + next.width > room) break;
        table_put(out, next.bytes, next.size);
        width += next.width;
    }
    return width;
}

/* Print text within `room` columns, its middle left out when it is longer. Returns the width printed. */
static size_t put_shortened(table_out *out, const char *text, size_t size, size_t room)
{
    size_t width = text_width(text, size);
    if (width <= room) return put_fitting(out, text, size, width);
    size_t tail_room = (room - 1) / 2;
    size_t printed = put_fitting(out, text, size, room - 1 - tail_room);
    table_puts(out, "\xE2\x80\xA6");
    size_t at = 0;
    while (at < size && width > tail_room) {
        table_char next;
        at += table_next_char(&next, text + at, size - at);
        width -= next.width;
    }
    return printed + 1 + put_fitting(out, text + at, size - at, tail_room);
}

static void put_cell(table_out *out, const hd_table_column *column, const char *text, size_t size, size_t room,
                     bool last)
{
    bool left = column->type == HD_VALUE_STRING || column->type == HD_VALUE_BOOL;
    if (left) {
        size_t width = put_shortened(out, text, size, room);
        if (!last) table_put_spaces(out, room - width + GAP);
        return;
    }
    table_put_spaces(out, room - text_width(text, size));
    table_put(out, text, size);
    if (!last) table_put_spaces(out, GAP);
}

static void put_head(table_out *out, const hd_table *table, const size_t *widths, const hd_table_style *style)
{
    table_put_spaces(out, style->indent);
    if (style->bold_head) table_puts(out, "\033[1m");
    for (size_t column = 0; column < table->column_count; column++) {
        char title[128];
        const char *name = table->columns[column].name;
        size_t size = 0;
        for (; name[size] && size < sizeof title; size++)
            title[size] = name[size] == '_' && !style->raw ? ' ' : name[size];
        put_cell(out, &table->columns[column], title, size, widths[column], column + 1 == table->column_count);
    }
    if (style->bold_head) table_puts(out, "\033[0m");
    table_puts(out, "\n");
}

void table_write_text(table_out *out, const hd_table *table, const hd_table_style *style)
{
    size_t *widths = calloc(table->column_count, sizeof *widths);
    if (!widths) {
        out->status = HD_ERR_MEMORY;
        return;
    }
    measure(widths, table, style);
    if (style->width) shrink(widths, table, style);
    if (style->widths) memcpy(style->widths, widths, table->column_count * sizeof *widths);
    if (!style->no_head) put_head(out, table, widths, style);
    char value[HD_VALUE_TEXT_BYTES];
    for (size_t row = 0; row < hd_table_row_count(table) && out->status == HD_OK; row++) {
        table_put_spaces(out, style->indent);
        for (size_t column = 0; column < table->column_count; column++) {
            size_t size;
            const char *text = cell_text(&size, value, table, row, column, style->raw);
            put_cell(out, &table->columns[column], text, size, widths[column], column + 1 == table->column_count);
        }
        table_puts(out, "\n");
    }
    free(widths);
}

/* ---- text by itself ---- */

hd_status hd_text_write(hd_sink sink, const char *text, size_t size)
{
    char piece[256];
    size_t filled = 0;
    hd_status status = HD_OK;
    for (size_t at = 0; at < size && status == HD_OK;) {
        table_char next;
        at += table_next_char(&next, text + at, size - at);
        memcpy(piece + filled, next.bytes, next.size);
        filled += next.size;
        if (filled + TABLE_CHAR_BYTES <= sizeof piece && at < size) continue;
        status = sink.write(sink.user, piece, filled);
        filled = 0;
    }
    return status;
}
