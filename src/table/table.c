/* table.c - tables: built cell by cell, immutable after */
#include "heddle/table.h"
#include "base/hash.h"
#include "table/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

hd_status table_fail(hd_table_builder *builder, hd_status status, const char *message)
{
    hd_error_set(&builder->err, status, NULL, HD_OFFSET_NONE, "table %s: %s", builder->table->name, message);
    return builder->err.status;
}

/* Room for `more` items after `used`; false when there is no memory. */
static bool reserve(void **items, size_t *room, size_t used, size_t more, size_t item_size)
{
    if (more <= *room - used) return true;
    size_t wanted = *room < 32 ? 32 : *room * 2;
    if (wanted < used + more) wanted = used + more;
    size_t size;
    if (used + more < used || __builtin_mul_overflow(wanted, item_size, &size)) return false;
    void *grown = realloc(*items, size);
    if (!grown) return false;
    *items = grown;
    *room = wanted;
    return true;
}

hd_status hd_table_builder_new(hd_table_builder **out, const char *name, hd_error *err)
{
    *out = NULL;
    hd_table_builder *builder = calloc(1, sizeof *builder);
    if (builder) builder->table = calloc(1, sizeof *builder->table);
    if (builder && builder->table) builder->table->name = strdup(name);
    if (!builder || !builder->table || !builder->table->name) {
        hd_table_builder_free(builder);
        return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    }
    *out = builder;
    return HD_OK;
}

void hd_table_builder_free(hd_table_builder *builder)
{
    if (!builder) return;
    hd_table_free(builder->table);
    free(builder);
}

hd_status hd_table_add_column(hd_table_builder *builder, const char *name, hd_value_type type)
{
    hd_table *table = builder->table;
    if (builder->err.status != HD_OK) return builder->err.status;
    if (table->cell_count || table->block_count)
        return table_fail(builder, HD_ERR_ARGUMENT, "a column after the first cell");
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0)
            return table_fail(builder, HD_ERR_ARGUMENT, "two columns of one name");
    }
    void *columns = table->columns;
    bool fits = reserve(&columns, &table->column_room, table->column_count, 1, sizeof *table->columns);
    table->columns = columns;
    char *copy = fits ? strdup(name) : NULL;
    if (!copy) return table_fail(builder, HD_ERR_MEMORY, "out of memory");
    table->columns[table->column_count++] = (hd_table_column){.name = copy, .type = type, .decimals = 2};
    return HD_OK;
}

hd_status hd_table_set_decimals(hd_table_builder *builder, unsigned decimals)
{
    hd_table *table = builder->table;
    if (builder->err.status != HD_OK) return builder->err.status;
    if (!table->column_count) return table_fail(builder, HD_ERR_ARGUMENT, "decimals before the first column");
    table->columns[table->column_count - 1].decimals = decimals < 15 ? decimals : 15;
    return HD_OK;
}

/* The next cell, if its column has one of the types in the bit mask; else NULL, and the builder fails. */
static table_cell *next_cell(hd_table_builder *builder, unsigned types)
{
    hd_table *table = builder->table;
    if (builder->err.status != HD_OK) return NULL;
    if (!table->column_count) {
        table_fail(builder, HD_ERR_ARGUMENT, "a cell without columns");
        return NULL;
    }
    const hd_table_column *column = &table->columns[table->cell_count % table->column_count];
    if (!(types & (1u << column->type))) {
        hd_error_set(&builder->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "table %s: column %s has another type",
                     table->name, column->name);
        return NULL;
    }
    bool fits = table->cell_count < TABLE_BLOCK * table->column_count || table_seal(table);
    void *cells = table->cells;
    fits = fits && reserve(&cells, &table->cell_room, table->cell_count, 1, sizeof *table->cells);
    table->cells = cells;
    if (!fits) {
        table_fail(builder, HD_ERR_MEMORY, "out of memory");
        return NULL;
    }
    table_cell *cell = &table->cells[table->cell_count++];
    *cell = (table_cell){0};
    return cell;
}

hd_status hd_table_add_string(hd_table_builder *builder, const char *text, size_t size)
{
    hd_table *table = builder->table;
    if (builder->err.status != HD_OK) return builder->err.status;
    if (size >= TABLE_NULL) return table_fail(builder, HD_ERR_LIMIT, "a string of more than 4 GiB");
    struct table_recent *recent = builder->recent[hd_hash(text, size) % TABLE_RECENT];
    size_t way = 0;
    while (size && way < TABLE_WAYS &&
           (recent[way].size != size || memcmp(table->text + recent[way].offset, text, size) != 0))
        way++;
    bool known = way < TABLE_WAYS;
    void *room = table->text;
    bool fits = known || reserve(&room, &table->text_room, table->text_size, size, 1);
    table->text = room;
    if (!fits) return table_fail(builder, HD_ERR_MEMORY, "out of memory");
    table_cell *cell = next_cell(builder, 1u << HD_VALUE_STRING);
    if (!cell) return builder->err.status;
    struct table_recent found = known ? recent[way] : (struct table_recent){table->text_size, size};
    if (!known) {
        memcpy(table->text + table->text_size, text, size);
        table->text_size += size;
    }
    memmove(recent + 1, recent, (way < TABLE_WAYS ? way : TABLE_WAYS - 1) * sizeof *recent);
    recent[0] = found;
    cell->as.text_offset = found.offset;
    cell->text_size = (uint32_t)size;
    return HD_OK;
}

hd_status hd_table_add_text(hd_table_builder *builder, const char *text)
{
    return text ? hd_table_add_string(builder, text, strlen(text)) : hd_table_add_null(builder);
}

void hd_table_set_saturating(hd_table_builder *builder)
{
    builder->saturates = true;
}

static void set_beyond(hd_table_builder *builder, table_cell *cell)
{
    if (!builder->saturates) return;
    cell->text_size = TABLE_NULL;
    builder->table->beyond++;
}

hd_status hd_table_add_int(hd_table_builder *builder, int64_t value)
{
    table_cell *cell = next_cell(builder, 1u << HD_VALUE_INT | 1u << HD_VALUE_DURATION | 1u << HD_VALUE_TIME);
    if (cell) cell->as.integer = value;
    const hd_table *table = builder->table;
    bool is_sum = cell && table->columns[(table->cell_count - 1) % table->column_count].type != HD_VALUE_INT;
    if (is_sum && (value == INT64_MAX || value == -INT64_MAX)) set_beyond(builder, cell);
    return builder->err.status;
}

hd_status hd_table_add_count(hd_table_builder *builder, uint64_t value)
{
    table_cell *cell = next_cell(builder, 1u << HD_VALUE_COUNT | 1u << HD_VALUE_BYTES);
    if (cell) cell->as.count = value;
    if (cell && (value == INT64_MAX || value == UINT64_MAX)) set_beyond(builder, cell);
    return builder->err.status;
}

hd_status hd_table_add_decimal(hd_table_builder *builder, double value)
{
    table_cell *cell = next_cell(builder, 1u << HD_VALUE_DECIMAL);
    if (cell) cell->as.decimal = value;
    return builder->err.status;
}

hd_status hd_table_add_bool(hd_table_builder *builder, bool value)
{
    table_cell *cell = next_cell(builder, 1u << HD_VALUE_BOOL);
    if (cell) cell->as.boolean = value;
    return builder->err.status;
}

uint64_t hd_table_beyond(const hd_table *table)
{
    return table->beyond;
}

hd_status hd_table_add_null(hd_table_builder *builder)
{
    table_cell *cell = next_cell(builder, ~0u);
    if (cell) cell->text_size = TABLE_NULL;
    return builder->err.status;
}

hd_status hd_table_finish(hd_table **out, hd_table_builder *builder, hd_error *err)
{
    *out = NULL;
    hd_table *table = builder->table;
    if (builder->err.status == HD_OK && table->column_count && table->cell_count % table->column_count) {
        table_fail(builder, HD_ERR_ARGUMENT, "the last row lacks cells");
    }
    hd_status status = builder->err.status;
    if (status == HD_OK) {
        *out = table;
        builder->table = NULL;
    } else {
        hd_error_set(err, status, NULL, HD_OFFSET_NONE, "%s", builder->err.message);
    }
    hd_table_builder_free(builder);
    return status;
}

void hd_table_free(hd_table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->column_count && !table->has_names; i++) free((char *)table->columns[i].name);
    free(table->columns);
    table_cells_free(table);
    free(table->text);
    free(table->name);
    free(table);
}

const char *hd_table_name(const hd_table *table)
{
    return table->name;
}

size_t hd_table_row_count(const hd_table *table)
{
    return table->column_count ? table->block_count * TABLE_BLOCK + table->cell_count / table->column_count : 0;
}

size_t hd_table_column_count(const hd_table *table)
{
    return table->column_count;
}

const hd_table_column *hd_table_get_column(const hd_table *table, size_t column)
{
    assert(column < table->column_count);
    return &table->columns[column];
}

size_t hd_table_find_column(const hd_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0) return i;
    }
    return SIZE_MAX;
}

bool hd_table_is_null(const hd_table *table, size_t row, size_t column)
{
    const table_cell cell = table_cell_at(table, row, column);
    return table_is_null(&cell);
}

const char *hd_table_get_string(size_t *out_size, const hd_table *table, size_t row, size_t column)
{
    const table_cell cell = table_cell_at(table, row, column);
    assert(table->columns[column].type == HD_VALUE_STRING);
    *out_size = cell.text_size;
    return cell.text_size ? table->text + cell.as.text_offset : "";
}

int64_t hd_table_get_int(const hd_table *table, size_t row, size_t column)
{
    return table_cell_at(table, row, column).as.integer;
}

uint64_t hd_table_get_count(const hd_table *table, size_t row, size_t column)
{
    return table_cell_at(table, row, column).as.count;
}

double hd_table_get_decimal(const hd_table *table, size_t row, size_t column)
{
    return table_cell_at(table, row, column).as.decimal;
}

bool hd_table_get_bool(const hd_table *table, size_t row, size_t column)
{
    return table_cell_at(table, row, column).as.boolean;
}
