/* rows.c - the first rows of a table */
#include "base/error.h"
#include "table/impl.h"

hd_status hd_table_add_cell(hd_table_builder *builder, const hd_table *table, size_t row, size_t column)
{
    size_t size;
    const table_cell cell = table_cell_at(table, row, column);
    if (table_is_null(&cell) && !table_is_beyond(&cell)) return hd_table_add_null(builder);
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: {
        const char *text = hd_table_get_string(&size, table, row, column);
        return hd_table_add_string(builder, text, size);
    }
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return hd_table_add_count(builder, hd_table_get_count(table, row, column));
    case HD_VALUE_DECIMAL: return hd_table_add_decimal(builder, hd_table_get_decimal(table, row, column));
    case HD_VALUE_BOOL: return hd_table_add_bool(builder, hd_table_get_bool(table, row, column));
    default: return hd_table_add_int(builder, hd_table_get_int(table, row, column));
    }
}

hd_status hd_table_head(hd_table **out, const hd_table *table, size_t rows, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(hd_table_builder_new(&builder, hd_table_name(table), err));
    if (table->beyond) hd_table_set_saturating(builder);
    size_t columns = hd_table_column_count(table);
    if (rows > hd_table_row_count(table)) rows = hd_table_row_count(table);
    for (size_t i = 0; i < columns; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_table_add_column(builder, column->name, column->type);
        hd_table_set_decimals(builder, column->decimals);
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < columns; i++) hd_table_add_cell(builder, table, row, i);
    }
    return hd_table_finish(out, builder, err);
}
