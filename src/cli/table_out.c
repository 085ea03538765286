/* table_out.c - tables as text shows them */
#include "cli/table_out.h"

#include <string.h>

#include "heddle/analysis/job.h"

static int64_t since(int64_t time_ns, int64_t start_ns)
{
    int64_t difference;
    return __builtin_sub_overflow(time_ns, start_ns, &difference) ? INT64_MAX : difference;
}

static void copy_cell(hd_table_builder *b, const hd_table *table, size_t row, size_t column, int64_t start_ns)
{
    size_t size;
    if (hd_table_is_null(table, row, column)) {
        hd_table_add_null(b);
        return;
    }
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: {
        const char *text = hd_table_get_string(&size, table, row, column);
        hd_table_add_string(b, text, size);
        break;
    }
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: hd_table_add_count(b, hd_table_get_count(table, row, column)); break;
    case HD_VALUE_DECIMAL: hd_table_add_decimal(b, hd_table_get_decimal(table, row, column)); break;
    case HD_VALUE_BOOL: hd_table_add_bool(b, hd_table_get_bool(table, row, column)); break;
    case HD_VALUE_TIME: hd_table_add_int(b, since(hd_table_get_int(table, row, column), start_ns)); break;
    default: hd_table_add_int(b, hd_table_get_int(table, row, column)); break;
    }
}

/* The number of a collective, which where the trace has none is a step's and a place in it: the latter. */
static bool is_sequence(const hd_table *table, size_t column)
{
    const hd_table_column *about = hd_table_get_column(table, column);
    return about->type == HD_VALUE_INT && strcmp(about->name, "sequence") == 0;
}

static bool is_of_step(const hd_table *table, size_t row, size_t column)
{
    return !hd_table_is_null(table, row, column) && hd_table_get_int(table, row, column) >= HD_COLLECTIVES_OF_STEP;
}

static bool any_of_step(const hd_table *table, size_t column)
{
    size_t row = 0;
    while (row < hd_table_row_count(table) && !is_of_step(table, row, column)) row++;
    return row < hd_table_row_count(table);
}

static void copy_sequence(hd_table_builder *b, const hd_table *table, size_t row, size_t column, bool with_step)
{
    const bool of_step = is_of_step(table, row, column);
    const int64_t number = hd_table_is_null(table, row, column) ? 0 : hd_table_get_int(table, row, column);
    if (hd_table_is_null(table, row, column))
        hd_table_add_null(b);
    else
        hd_table_add_int(b, number % HD_COLLECTIVES_OF_STEP);
    if (with_step && of_step)
        hd_table_add_int(b, number / HD_COLLECTIVES_OF_STEP - 1);
    else if (with_step)
        hd_table_add_null(b);
}

static bool is_empty(const hd_table *table, size_t column)
{
    size_t row = 0;
    while (row < hd_table_row_count(table) && hd_table_is_null(table, row, column)) row++;
    return row == hd_table_row_count(table);
}

hd_status cli_table_without(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, hd_error *err)
{
    hd_table_builder *b;
    size_t columns = hd_table_column_count(table), kept[32], count = 0, sequence = SIZE_MAX;
    bool with_step = false;
    hd_status status = hd_table_builder_new(&b, hd_table_name(table), err);
    if (status != HD_OK) return status;
    for (size_t i = 0; i < columns; i++)
        if (is_sequence(table, i)) sequence = i;
    for (size_t i = 0; i < columns && count < sizeof kept / sizeof *kept; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        if (strcmp(column->name, name) == 0 || is_empty(table, i)) continue;
        if (sequence != SIZE_MAX && strcmp(column->name, "counted") == 0) continue; /* of_step says it */
        hd_table_add_column(b, column->name, column->type);
        if (i == sequence && (with_step = any_of_step(table, i))) hd_table_add_column(b, "of_step", HD_VALUE_INT);
        if (column->type == HD_VALUE_DECIMAL) hd_table_set_decimals(b, column->decimals);
        kept[count++] = i;
    }
    for (size_t row = 0; row < hd_table_row_count(table); row++)
        for (size_t i = 0; i < count; i++) {
            if (kept[i] == sequence)
                copy_sequence(b, table, row, sequence, with_step);
            else
                copy_cell(b, table, row, kept[i], start_ns);
        }
    return hd_table_finish(out, b, err);
}
