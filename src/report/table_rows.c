/* table_rows.c - some rows of a table: one as members of a JSON object, for JSON in which tables nest; the first ones
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "heddle/report.h"
#include "report/table_impl.h"

static void put_value(hd_json_out *out, const hd_table *table, size_t row, size_t column)
{
    const hd_table_column *about = hd_table_get_column(table, column);
    const table_cell *cell = table_cell_at(table, row, column);
    if (cell->null || (about->type == HD_VALUE_DECIMAL && !isfinite(cell->as.decimal))) {
        hd_json_put_text(out, "null");
    } else if (about->type == HD_VALUE_STRING) {
        size_t size;
        const char *text = hd_table_get_string(&size, table, row, column);
        hd_json_put_string(out, text, size);
    } else {
        char text[HD_VALUE_TEXT_BYTES];
        hd_json_put_text(out, table_value_raw(text, about, cell));
    }
}

hd_status hd_table_write_members(const hd_table *table, size_t row, hd_sink sink, hd_error *err)
{
    hd_json_out out = {0};
    for (size_t column = 0; column < hd_table_column_count(table); column++) {
        const char *name = hd_table_get_column(table, column)->name;
        if (column) hd_json_put_text(&out, ", ");
        hd_json_put_string(&out, name, strlen(name));
        hd_json_put_text(&out, ": ");
        put_value(&out, table, row, column);
    }
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    if (status == HD_OK) return HD_OK;
    return hd_error_set(err, status, NULL, HD_OFFSET_NONE, "table %s could not be written", hd_table_name(table));
}

static void copy_cell(hd_table_builder *builder, const hd_table *table, size_t row, size_t column)
{
    size_t size;
    const char *text;
    if (hd_table_is_null(table, row, column)) {
        hd_table_add_null(builder);
        return;
    }
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING:
        text = hd_table_get_string(&size, table, row, column);
        hd_table_add_string(builder, text, size);
        break;
    case HD_VALUE_INT:
    case HD_VALUE_DURATION:
    case HD_VALUE_TIME: hd_table_add_int(builder, hd_table_get_int(table, row, column)); break;
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: hd_table_add_count(builder, hd_table_get_count(table, row, column)); break;
    case HD_VALUE_DECIMAL: hd_table_add_decimal(builder, hd_table_get_decimal(table, row, column)); break;
    case HD_VALUE_BOOL: hd_table_add_bool(builder, hd_table_get_bool(table, row, column)); break;
    }
}

hd_status hd_table_head(hd_table **out, const hd_table *table, size_t rows, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(hd_table_builder_new(&builder, hd_table_name(table), err));
    size_t columns = hd_table_column_count(table);
    if (rows > hd_table_row_count(table)) rows = hd_table_row_count(table);
    for (size_t i = 0; i < columns; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_table_add_column(builder, column->name, column->type);
        hd_table_set_decimals(builder, column->decimals);
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < columns; i++) copy_cell(builder, table, row, i);
    }
    return hd_table_finish(out, builder, err);
}
