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
    if (hd_table_is_null(table, row, column))
        hd_table_add_null(b);
    else if (hd_table_get_column(table, column)->type == HD_VALUE_TIME)
        hd_table_add_int(b, since(hd_table_get_int(table, row, column), start_ns));
    else
        hd_table_add_cell(b, table, row, column);
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

/* ---- rows of devices and steps ---- */

/* Tables by device (or rank) and step are sorted by their first columns: rank, device and process, step, step_start.
 * Returns the place of the last; 0: another table. */
static size_t step_column(const hd_table *table)
{
    static const char *const keys[] = {"rank", "device", "process", "step", "step_start"};
    const size_t last = hd_table_find_column(table, "step_start");
    size_t column = 0, columns = hd_table_column_count(table);
    for (size_t key = 0; key < sizeof keys / sizeof *keys && column < columns; key++)
        column += strcmp(hd_table_get_column(table, column)->name, keys[key]) == 0;
    return last < columns && column == last + 1 ? last : 0;
}

static bool is_equal(const hd_table *table, size_t a, size_t b, size_t column)
{
    size_t size, other;
    if (hd_table_is_null(table, a, column) || hd_table_is_null(table, b, column))
        return hd_table_is_null(table, a, column) == hd_table_is_null(table, b, column);
    if (hd_table_get_column(table, column)->type != HD_VALUE_STRING)
        return hd_table_get_int(table, a, column) == hd_table_get_int(table, b, column);
    const char *text = hd_table_get_string(&size, table, a, column);
    const char *next = hd_table_get_string(&other, table, b, column);
    return size == other && memcmp(text, next, size) == 0;
}

static bool begins_device(const hd_table *table, size_t row, size_t step)
{
    bool begins = !row;
    for (size_t column = 0; column + 1 < step && !begins; column++) begins = !is_equal(table, row - 1, row, column);
    return begins;
}

static bool begins_group(const hd_table *table, size_t row, size_t step)
{
    return begins_device(table, row, step) || !is_equal(table, row - 1, row, step);
}

const char *cli_table_groups(size_t *out_count, const hd_table *table)
{
    const size_t step = step_column(table), rows = step ? hd_table_row_count(table) : 0;
    size_t devices = 0;
    *out_count = 0;
    for (size_t row = 0; row < rows; row++) {
        devices += begins_device(table, row, step);
        *out_count += begins_group(table, row, step);
    }
    static const char *const words[2][4] = {{"", ", for each rank", ", for each step", ", for each rank and step"},
                                            {"", ", for each device", ", for each step", ", for each device and step"}};
    enum { WITHOUT_DEVICES = 2 };
    return words[step > WITHOUT_DEVICES][(devices > 1) + 2 * (*out_count > devices)];
}

bool cli_table_names_steps(const hd_table *table)
{
    enum { MOST = 200 };
    const size_t step = step_column(table), rows = step ? hd_table_row_count(table) : 0;
    size_t begins[MOST], count = 0, device = 0;
    for (size_t row = 0; row < rows; row++) {
        if (!begins_group(table, row, step)) continue;
        if (begins_device(table, row, step)) device = count;
        for (size_t i = device; i < count; i++)
            if (is_equal(table, begins[i], row, step - 1)) return false;
        if (count == MOST) return false;
        begins[count++] = row;
    }
    return count > 0;
}

size_t cli_table_pick(size_t *picked, const hd_table *table, size_t most)
{
    const size_t step = step_column(table);
    size_t groups, rows = hd_table_row_count(table), count = 0, of_group = 0;
    cli_table_groups(&groups, table);
    const size_t each = groups && groups < most ? most / groups : groups ? 1 : most;
    for (size_t row = 0; row < rows && count < most; row++) {
        if (groups && begins_group(table, row, step)) of_group = 0;
        if (of_group++ < each) picked[count++] = row;
    }
    return count;
}

hd_status cli_table_without(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, hd_error *err)
{
    return cli_table_rows(out, table, name, start_ns, NULL, hd_table_row_count(table), err);
}

hd_status cli_table_rows(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, const size_t *rows,
                         size_t row_count, hd_error *err)
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
    for (size_t at = 0; at < row_count; at++) {
        const size_t row = rows ? rows[at] : at;
        for (size_t i = 0; i < count; i++) {
            if (kept[i] == sequence)
                copy_sequence(b, table, row, sequence, with_step);
            else
                copy_cell(b, table, row, kept[i], start_ns);
        }
    }
    return hd_table_finish(out, b, err);
}
