/* text.c - a table as aligned columns for people
 *
 * Two passes over the cells: one for the widths, one to print. When a width is given and the columns do not fit, the
 * widest string column is put last and gets the remaining width. Sentences are wrapped there, or printed below their
 * row if it is too narrow; names are shortened in the middle, since kernels differ in the namespace and in the template
 * arguments of their names. Then other string columns are narrowed, and in the end columns are left out from the right,
 * which a last line names, until long names have a quarter of the line. A single row becomes a line for each column
 * instead.
 */
#include "table/impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP = 2,
    LEAST_STRING_WIDTH = 12,
    LEAST_NAME_WIDTH = 24,
    LEAST_OTHER_WIDTH = 18,
    LEAST_SENTENCE_WIDTH = 36,
    BELOW_INDENT = 4
};

/* The positions of the columns. */
typedef struct layout {
    size_t *widths; /* by column */
    size_t *order;  /* the columns from left to right */
    size_t shown;   /* of `order`, in a row */
    size_t wrapped; /* the column of sentences; SIZE_MAX: none */
    bool below;     /* it is the next of `order`, below the row */
} layout;

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

/* The text of a cell: borrowed, or formatted into `value`. */
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

const char *hd_table_heading(char out[HD_HEADING_BYTES], const hd_table_column *column)
{
    size_t used = 0;
    *out = '\0';
    for (const char *word = column->name; *word && used < HD_HEADING_BYTES;) {
        const int size = (int)strcspn(word, "_");
        const bool is_work = size >= 4 && size <= 5 && strncmp(word, "works", (size_t)size) == 0;
        used += (size_t)snprintf(out + used, HD_HEADING_BYTES - used, "%s%.*s%s", is_work ? "GPU op" : "",
                                 is_work ? size - 4 : size, is_work ? word + 4 : word, word[size] ? " " : "");
        word += size + (word[size] == '_');
    }
    return out;
}

static const char *title_of(char title[HD_HEADING_BYTES], const hd_table_column *column, bool raw)
{
    return raw ? column->name : hd_table_heading(title, column);
}

static void measure(size_t *widths, const hd_table *table, const hd_table_style *style)
{
    char value[HD_VALUE_TEXT_BYTES], title[HD_HEADING_BYTES];
    for (size_t column = 0; column < table->column_count; column++) {
        const char *name = title_of(title, &table->columns[column], style->raw);
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

static bool is_string(const hd_table *table, size_t column)
{
    return table->columns[column].type == HD_VALUE_STRING;
}

static size_t total_width(const size_t *widths, const hd_table *table, const hd_table_style *style)
{
    size_t total = style->indent;
    for (size_t i = 0; i < table->column_count; i++) total += widths[i] + (i ? GAP : 0);
    return total;
}

/* Take columns from the widest strings but `kept` until the table fits, or all strings are at their least width. */
static void shrink(size_t *widths, const hd_table *table, const hd_table_style *style, size_t kept, size_t least)
{
    size_t total = total_width(widths, table, style);
    while (total > style->width) {
        size_t widest = SIZE_MAX, second = least;
        for (size_t i = 0; i < table->column_count; i++) {
            if (!is_string(table, i) || widths[i] <= least || i == kept) continue;
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

static bool is_plain_word(const char *word, size_t size)
{
    enum { LONGEST = 14 };
    bool plain = size && size <= LONGEST;
    for (size_t i = 0; i < size && plain; i++) plain = isalnum((unsigned char)word[i]) || strchr("%.'-", word[i]);
    return plain;
}

/* Four plain words or more, which are half of all. Names of kernels have blanks as well, but commas and signs. */
static bool is_sentence(const char *text, size_t size)
{
    size_t words = 0, plain = 0;
    for (size_t at = 0; at < size; at++) {
        size_t end = at;
        while (end < size && text[end] != ' ') end++;
        words++;
        plain += is_plain_word(text + at, end - at);
        at = end;
    }
    return plain >= 4 && 2 * plain >= words;
}

static bool has_sentences(const hd_table *table, size_t column)
{
    size_t sentences = 0, cells = 0, size;
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        if (hd_table_is_null(table, row, column)) continue;
        const char *text = hd_table_get_string(&size, table, row, column);
        cells++;
        sentences += is_sentence(text, size);
    }
    return sentences && 2 * sentences >= cells;
}

static size_t row_width(const layout *l, const hd_table_style *style)
{
    size_t total = style->indent;
    for (size_t i = 0; i < l->shown; i++) total += l->widths[l->order[i]] + (i ? GAP : 0);
    return total;
}

/* Drop columns from the right until the row fits; a last column of names stays. */
static void leave_out(layout *l, const hd_table_style *style, bool has_names)
{
    size_t total = row_width(l, style);
    while (total > style->width && l->shown > 2) {
        const size_t at = l->shown - 1 - has_names, column = l->order[at];
        const size_t behind = l->shown - at - 1 + l->below;
        total -= l->widths[column] + GAP;
        memmove(&l->order[at], &l->order[at + 1], behind * sizeof *l->order);
        l->order[at + behind] = column;
        l->shown--;
    }
}

/* The widest strings come last, in the remaining width, unless they are short. */
static void fit(layout *l, const hd_table *table, const hd_table_style *style)
{
    size_t total = total_width(l->widths, table, style), widest = SIZE_MAX, count = table->column_count, wide = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_string(table, i) && (widest == SIZE_MAX || l->widths[i] > l->widths[widest])) widest = i;
        wide += is_string(table, i) && l->widths[i] > LEAST_OTHER_WIDTH;
    }
    if (total <= style->width) return;
    if (!wide) widest = SIZE_MAX;
    const size_t wanted = widest == SIZE_MAX ? 0 : l->widths[widest];
    size_t usual = 0;
    if (widest != SIZE_MAX) {
        const bool sentences = has_sentences(table, widest);
        const size_t others = total - l->widths[widest], left = style->width > others ? style->width - others : 0;
        /* A quarter of the line is of all long names together. */
        const size_t share = wide ? style->width / 4 / wide : 0;
        const size_t least = sentences ? LEAST_SENTENCE_WIDTH : share > LEAST_NAME_WIDTH ? share : LEAST_NAME_WIDTH;
        const size_t floor = share > LEAST_STRING_WIDTH && !sentences ? share : LEAST_STRING_WIDTH;
        const size_t beside = style->indent + BELOW_INDENT;
        for (size_t i = widest; i + 1 < count; i++) l->order[i] = i + 1;
        l->order[count - 1] = widest;
        l->wrapped = sentences ? widest : SIZE_MAX;
        l->below = sentences && left < least && count > 1;
        l->shown -= l->below;
        if (l->below)
            l->widths[widest] = 0; /* as the others are shrunk */
        else if (l->widths[widest] > least)
            l->widths[widest] = left > least ? left : least;
        shrink(l->widths, table, style, widest, LEAST_OTHER_WIDTH);
        if (l->below) l->widths[widest] = style->width > beside + least ? style->width - beside : least;
        /* Below its least width only if that saves columns. */
        total = total_width(l->widths, table, style);
        usual = l->widths[widest];
        if (!l->below && total > style->width && l->widths[widest] > floor) {
            const size_t over = total - style->width, spare = l->widths[widest] - floor;
            l->widths[widest] -= over < spare ? over : spare;
        }
    }
    if (hd_table_row_count(table) > 1) leave_out(l, style, widest != SIZE_MAX && !l->below);
    total = row_width(l, style);
    if (widest == SIZE_MAX || l->below) return;
    if (total > style->width) { /* nothing helps */
        l->widths[widest] = usual;
        return;
    }
    l->widths[widest] += style->width - total; /* of columns that were left out */
    if (l->widths[widest] > wanted) l->widths[widest] = wanted;
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

static void put_head(table_out *out, const hd_table *table, const layout *l, const hd_table_style *style)
{
    table_put_spaces(out, style->indent);
    if (style->bold_head) table_puts(out, "\033[1m");
    for (size_t i = 0; i < l->shown; i++) {
        char room[HD_HEADING_BYTES];
        const size_t column = l->order[i];
        const char *title = title_of(room, &table->columns[column], style->raw);
        put_cell(out, &table->columns[column], title, strlen(title), l->widths[column], i + 1 == l->shown);
    }
    if (style->bold_head) table_puts(out, "\033[0m");
    table_puts(out, "\n");
}

/* The bytes of the first line of a text that is wrapped; *used has the blanks after it too. A word that is too long is
 * cut. */
static size_t first_line(size_t *used, const char *text, size_t size, size_t room)
{
    size_t width = 0, end = 0, at = 0;
    while (at < size) {
        table_char next;
        size_t taken = table_next_char(&next, text + at, size - at);
        if (width + next.width > room) break;
        if (text[at] == ' ') end = at;
        width += next.width;
        at += taken;
    }
    if (at == size || !end) end = at;
    *used = end;
    while (*used < size && text[*used] == ' ') ++*used;
    return end;
}

/* A sentence, whose continuation lines begin at `column`. */
static void put_wrapped(table_out *out, const char *text, size_t size, size_t room, size_t column)
{
    for (bool first = true; size && out->status == HD_OK; first = false) {
        size_t used, line = first_line(&used, text, size, room);
        if (!used) return;
        if (!first) table_puts(out, "\n");
        if (!first) table_put_spaces(out, column);
        put_fitting(out, text, line, room);
        text += used;
        size -= used;
    }
}

static void put_row(table_out *out, const hd_table *table, size_t row, const layout *l, const hd_table_style *style)
{
    char value[HD_VALUE_TEXT_BYTES];
    size_t size, at = style->indent;
    table_put_spaces(out, style->indent);
    for (size_t i = 0; i < l->shown; i++) {
        const size_t column = l->order[i];
        const char *text = cell_text(&size, value, table, row, column, style->raw);
        if (column == l->wrapped)
            put_wrapped(out, text, size, l->widths[column], at);
        else
            put_cell(out, &table->columns[column], text, size, l->widths[column], i + 1 == l->shown);
        at += l->widths[column] + GAP;
    }
    table_puts(out, "\n");
    if (!l->below || hd_table_is_null(table, row, l->wrapped)) return;
    const char *text = cell_text(&size, value, table, row, l->wrapped, style->raw);
    table_put_spaces(out, style->indent + BELOW_INDENT);
    put_wrapped(out, text, size, l->widths[l->wrapped], style->indent + BELOW_INDENT);
    table_puts(out, "\n");
}

static void put_left_out(table_out *out, const hd_table *table, const layout *l, const hd_table_style *style)
{
    const size_t first = l->shown + l->below, count = table->column_count;
    if (first == count) return;
    char title[HD_HEADING_BYTES];
    table_put_spaces(out, style->indent);
    table_puts(out, count - first == 1 ? "\xE2\x80\xA6 one more column: " : "\xE2\x80\xA6 more columns: ");
    for (size_t column = 0, any = 0; column < count; column++) { /* in their order */
        size_t i = first;
        while (i < count && l->order[i] != column) i++;
        if (i == count) continue;
        if (any++) table_puts(out, ", ");
        table_puts(out, title_of(title, &table->columns[column], style->raw));
    }
    table_puts(out, "\n");
}

/* A single row that does not fit: a line for each column. */
static void put_lines(table_out *out, const hd_table *table, const hd_table_style *style)
{
    char value[HD_VALUE_TEXT_BYTES], room[HD_HEADING_BYTES];
    size_t widest = 0, size;
    for (size_t i = 0; i < table->column_count; i++) {
        const char *title = title_of(room, &table->columns[i], style->raw);
        size_t width = text_width(title, strlen(title));
        if (width > widest) widest = width;
    }
    const size_t column = style->indent + widest + GAP;
    for (size_t i = 0; i < table->column_count && out->status == HD_OK; i++) {
        table_put_spaces(out, style->indent);
        if (style->bold_head) table_puts(out, "\033[1m");
        const char *title = title_of(room, &table->columns[i], style->raw);
        size_t width = put_fitting(out, title, strlen(title), widest);
        if (style->bold_head) table_puts(out, "\033[0m");
        table_put_spaces(out, widest + GAP - width);
        const char *text = cell_text(&size, value, table, 0, i, style->raw);
        put_wrapped(out, text, size, style->width > column + LEAST_STRING_WIDTH ? style->width - column : SIZE_MAX,
                    column);
        table_puts(out, "\n");
    }
}

void table_write_text(table_out *out, const hd_table *table, const hd_table_style *style)
{
    const size_t count = table->column_count;
    layout l = {.widths = calloc(2 * count, sizeof *l.widths), .shown = count, .wrapped = SIZE_MAX};
    if (!l.widths) {
        out->status = HD_ERR_MEMORY;
        return;
    }
    l.order = l.widths + count;
    for (size_t i = 0; i < count; i++) l.order[i] = i;
    measure(l.widths, table, style);
    if (style->width && style->widths)
        shrink(l.widths, table, style, SIZE_MAX, LEAST_STRING_WIDTH); /* pieces of one table have one order */
    else if (style->width)
        fit(&l, table, style);
    const bool too_wide = style->width && row_width(&l, style) > style->width;
    if (too_wide && hd_table_row_count(table) == 1 && !style->no_head && !style->widths) {
        put_lines(out, table, style);
        free(l.widths);
        return;
    }
    if (style->widths) memcpy(style->widths, l.widths, count * sizeof *l.widths);
    if (!style->no_head) put_head(out, table, &l, style);
    for (size_t row = 0; row < hd_table_row_count(table) && out->status == HD_OK; row++)
        put_row(out, table, row, &l, style);
    put_left_out(out, table, &l, style);
    free(l.widths);
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
