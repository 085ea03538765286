/* sort.c - rows of a table that is being built, in order */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "table/impl.h"

typedef struct sorter {
    const hd_table *table;
    size_t *first, first_count, *largest, largest_count; /* columns */
    bool by_all;
} sorter;

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_text(const hd_table *table, const table_cell *a, const table_cell *b)
{
    size_t size = a->text_size < b->text_size ? a->text_size : b->text_size;
    int order = size ? memcmp(table->text + a->as.text_offset, table->text + b->as.text_offset, size) : 0;
    return order ? order : compare_int(a->text_size, b->text_size);
}

/* Of two cells that are there. */
static int compare_values(const hd_table *table, hd_value_type type, const table_cell *a, const table_cell *b)
{
    switch (type) {
    case HD_VALUE_STRING: return compare_text(table, a, b);
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return (a->as.count > b->as.count) - (a->as.count < b->as.count);
    case HD_VALUE_DECIMAL: return (a->as.decimal > b->as.decimal) - (a->as.decimal < b->as.decimal);
    case HD_VALUE_BOOL: return compare_int(a->as.boolean, b->as.boolean);
    default: return compare_int(a->as.integer, b->as.integer);
    }
}

static int compare_up(const sorter *s, const table_cell *x, const table_cell *y, size_t column)
{
    const table_cell *a = x + column, *b = y + column;
    const bool no_a = table_is_null(a) && !table_is_beyond(a), no_b = table_is_null(b) && !table_is_beyond(b);
    if (no_a || no_b) return compare_int(!no_a, !no_b);
    return compare_values(s->table, s->table->columns[column].type, a, b);
}

static int compare_down(const sorter *s, const table_cell *x, const table_cell *y, size_t column)
{
    const hd_value_type type = s->table->columns[column].type;
    const bool is_count = type == HD_VALUE_COUNT || type == HD_VALUE_BYTES;
    table_cell a = x[column], b = y[column];
    const bool no_a = table_is_null(&a) && !table_is_beyond(&a), no_b = table_is_null(&b) && !table_is_beyond(&b);
    if ((no_a || no_b) && (is_count || type == HD_VALUE_STRING)) return compare_int(no_a, no_b);
    table_cell missing = {.as = {.integer = -1}};
    if (type == HD_VALUE_DECIMAL) missing.as.decimal = -1;
    if (type == HD_VALUE_BOOL) missing.as.boolean = false;
    if (no_a) a = missing;
    if (no_b) b = missing;
    return compare_values(s->table, type, &b, &a);
}

static int compare_rows(const sorter *s, const table_cell *x, const table_cell *y)
{
    int order = 0;
    for (size_t i = 0; i < s->first_count && !order; i++) order = compare_up(s, x, y, s->first[i]);
    for (size_t i = 0; i < s->largest_count && !order; i++) order = compare_down(s, x, y, s->largest[i]);
    for (size_t i = 0; s->by_all && i < s->table->column_count && !order; i++) order = compare_up(s, x, y, i);
    return order;
}

/* The columns of a list that the table has. NULL: no memory. */
static size_t *find_columns(size_t *out_count, const hd_table *table, const char *list)
{
    size_t *columns = malloc((table->column_count + 1) * sizeof *columns);
    *out_count = 0;
    for (const char *at = list; columns && at && *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        for (size_t i = 0; i < table->column_count && *out_count < table->column_count; i++) {
            if (strlen(table->columns[i].name) == size && memcmp(table->columns[i].name, at, size) == 0)
                columns[(*out_count)++] = i;
        }
        at += size;
    }
    return columns;
}

/* The rows as cells that lie one after the other in that order. false: no memory. */
static bool sort_rows(hd_table *table, const sorter *s)
{
    if (!table_unseal(table)) return false;
    size_t count = table->cell_count / table->column_count, width = table->column_count * sizeof *table->cells;
    const table_cell **rows = malloc((count + 1) * sizeof *rows), **spare = malloc((count + 1) * sizeof *spare);
    table_cell *cells = malloc(count * width + 1);
    bool fine = rows && spare && cells;
    if (fine) {
        for (size_t i = 0; i < count; i++) rows[i] = table->cells + i * table->column_count;
        HD_SORT_RUNS(rows, spare, count, x, y, compare_rows(s, *x, *y) < 0);
        for (size_t i = 0; i < count; i++) memcpy(cells + i * table->column_count, rows[i], width);
        free(table->cells);
        table->cells = cells;
        table->cell_room = count * table->column_count;
        cells = NULL;
    }
    free(rows);
    free(spare);
    free(cells);
    return fine && table_seal(table);
}

hd_status hd_table_sort(hd_table_builder *builder, const char *first, const char *largest)
{
    hd_table *table = builder->table;
    if (builder->err.status != HD_OK) return builder->err.status;
    if (!table->column_count || table->cell_count % table->column_count)
        return table_fail(builder, HD_ERR_ARGUMENT, "sorted while the last row lacks cells");
    sorter s = {.table = table, .by_all = largest != NULL};
    s.first = find_columns(&s.first_count, table, first);
    s.largest = find_columns(&s.largest_count, table, largest);
    bool fine = s.first && s.largest && (hd_table_row_count(table) == 0 || sort_rows(table, &s));
    free(s.first);
    free(s.largest);
    return fine ? HD_OK : table_fail(builder, HD_ERR_MEMORY, "out of memory");
}
