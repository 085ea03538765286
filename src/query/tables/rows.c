/* rows.c - the implementation of row tables */
#include "query/tables/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "query/tables/bounds.h"
#include "query/tables/sort.h"
#include "trace/spill.h"

enum { COLUMNS_MAX = 40, CHECK_ROWS = 1 << 16 };

typedef struct rows_part {
    void *made;
    uint64_t first, count; /* positions in the table */
} rows_part;

typedef struct rows_table {
    query_tables *tables;
    const query_rows_about *about;
    int column_count; /* with rank and input */
    rows_part *parts; /* by input; NULL until needed */
    uint64_t count;
    query_index *indexes; /* by column; without keys until needed */
} rows_table;

struct query_rows {
    rows_table *list;
    size_t count;
};

typedef struct rows_cursor {
    sqlite3_vtab_cursor base;
    uint64_t at, end;     /* positions, or places in `list` */
    const uint32_t *list; /* positions; NULL: all from `at` on */
    uint32_t *own;        /* list, if the cursor owns it */
    size_t own_count, own_capacity;
} rows_cursor;

/* ---- cells ---- */

void query_cell_word(query_cell *out, const char *word)
{
    if (word) query_cell_text(out, (hd_string){word, strlen(word)});
}

void query_cell_string(query_cell *out, const query_source *source, uint32_t string)
{
    if (string != HD_STRING_NONE) query_cell_text(out, hd_trace_string(source->trace, string));
}

void query_cell_id(query_cell *out, const query_source *source, uint32_t number)
{
    if (number != HD_NONE) query_cell_int(out, query_id(source, number));
}

void query_cell_result(sqlite3_context *context, const query_cell *cell)
{
    switch (cell->type) {
    case SQLITE_INTEGER: sqlite3_result_int64(context, cell->integer); break;
    case SQLITE_FLOAT: sqlite3_result_double(context, cell->real); break;
    case SQLITE_TEXT:
        sqlite3_result_text64(context, cell->text.data, cell->text.size, SQLITE_STATIC, SQLITE_UTF8);
        break;
    default: sqlite3_result_null(context);
    }
}

/* ---- the table ---- */

static void drop_parts(rows_table *table)
{
    for (size_t i = 0; i < table->tables->count && table->parts; i++)
        if (table->about->free && table->parts[i].made) table->about->free(table->parts[i].made);
    free(table->parts);
    table->parts = NULL;
}

static hd_status make_parts(rows_table *table, hd_error *err)
{
    if (table->parts) return HD_OK;
    table->parts = calloc(table->tables->count, sizeof *table->parts);
    table->count = 0;
    hd_status status = table->parts ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < table->tables->count && status == HD_OK; i++) {
        query_source *source = &table->tables->sources[i];
        rows_part *part = &table->parts[i];
        part->first = table->count;
        status = table->about->make(&part->made, &part->count, source, err);
        if (status == HD_OK) status = query_source_status(source, err);
        table->count += part->count;
    }
    if (status != HD_OK) drop_parts(table);
    return status;
}

static const rows_part *part_of(const rows_table *table, uint64_t position)
{
    size_t low = 1, high = table->tables->count;
    HD_PARTITION_POINT(low, high, at, table->parts[at].first <= position)
    return &table->parts[low - 1];
}

static void cell_at(query_cell *out, const rows_table *table, uint64_t position, int column)
{
    const rows_part *part = part_of(table, position);
    const query_source *source = &table->tables->sources[part - table->parts];
    *out = (query_cell){.type = SQLITE_NULL};
    if (column == table->column_count - 1)
        query_cell_int(out, source->index);
    else if (column == table->column_count - 2)
        query_cell_int(out, source->ranks && table->about->track
                                ? query_rank_of(source, table->about->track(source, part->made, position - part->first))
                                : source->rank);
    else if (column == 0 && table->about->id_is_row)
        query_cell_int(out, query_id(source, position - part->first));
    else
        table->about->cell(out, source, part->made, position - part->first, column);
}

static hd_status make_index(rows_table *table, int column, hd_error *err)
{
    query_index *index = &table->indexes[column];
    if (index->keys) return HD_OK;
    if (table->count > UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%s: more than 2^32 rows",
                            table->about->about.name);
    uint64_t large = hd_trace_large_bytes(table->tables->sources->trace);
    index->keys = hd_large_new(table->count + 1, sizeof *index->keys, large);
    index->at = hd_large_new(table->count + 1, sizeof *index->at, large);
    hd_status status = index->keys && index->at ? HD_OK : HD_NOMEM(err);
    for (uint64_t at = 0; at < table->count && status == HD_OK; at++) {
        query_cell cell;
        cell_at(&cell, table, at, column);
        if (cell.type == SQLITE_INTEGER) {
            index->keys[index->count] = cell.integer;
            index->at[index->count++] = (uint32_t)at;
        }
        if (at % CHECK_ROWS == CHECK_ROWS - 1) status = query_check_stop(table->tables, err);
    }
    if (status == HD_OK) status = query_sort(&index->keys, &index->at, index->count, large, err);
    if (status != HD_OK) query_index_deinit(index);
    return status;
}

/* ---- plans ---- */

static bool is_int(const rows_table *table, int column)
{
    return column >= 0 && strcmp(table->about->about.columns[column].type, "INT") == 0;
}

/* How selective an index lookup for a constraint is: 3 equality, 2 a list, 1 a range, 0 unusable. */
static int worth(const rows_table *table, sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    if (!c->usable || (c->iColumn >= 0 && !is_int(table, c->iColumn))) return 0;
    if (c->op == SQLITE_INDEX_CONSTRAINT_EQ) return sqlite3_vtab_in(info, i, -1) ? 2 : 3;
    return c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE ||
           c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE;
}

/* idxNum: 0, or column + 1 of the index. idxStr: the operators of its constraints in the order of arguments. */
static int rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    rows_table *table = ((query_vtab *)base)->user;
    hd_error error;
    if (make_parts(table, &error) != HD_OK) return query_fail(base, table->tables, &error);
    int best = -1, best_worth = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int here = worth(table, info, i);
        bool better = here > best_worth || (here == best_worth && here > 0 && info->aConstraint[i].iColumn <= 0);
        if (better) best = i, best_worth = here;
    }
    double rows = (double)table->count + 1;
    bool by_id = info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc;
    if (best_worth == 0) {
        info->estimatedCost = rows * 2 + 10;
        info->estimatedRows = (sqlite3_int64)rows;
        info->orderByConsumed = by_id && table->about->id_is_row;
        return SQLITE_OK;
    }
    int column = info->aConstraint[best].iColumn < 0 ? 0 : info->aConstraint[best].iColumn, count = 0;
    bool rowid = info->aConstraint[best].iColumn < 0 || (column == 0 && table->about->id_is_row);
    char *operators = sqlite3_malloc(info->nConstraint + 1);
    if (!operators) return SQLITE_NOMEM;
    if (rowid && !table->about->id_is_row && info->aConstraint[best].iColumn < 0) { /* no lookup by rowid there */
        sqlite3_free(operators);
        info->estimatedCost = rows * 2 + 10;
        return SQLITE_OK;
    }
    for (int i = 0; i < info->nConstraint; i++) {
        bool taken = i == best;
        if (best_worth == 1)
            taken = worth(table, info, i) == 1 && info->aConstraint[i].iColumn == info->aConstraint[best].iColumn;
        if (!taken) continue;
        operators[count++] = (char)(best_worth == 2 ? 1 : info->aConstraint[i].op);
        if (best_worth == 2) sqlite3_vtab_in(info, i, 1);
        info->aConstraintUsage[i].argvIndex = count;
        info->aConstraintUsage[i].omit = true;
    }
    operators[count] = 0;
    info->idxNum = column + 1;
    info->idxStr = operators;
    info->needToFreeIdxStr = true;
    double found = best_worth == 1 ? rows / (count > 1 ? 20 : 4) : rowid ? 1 : 1 + rows / 1000;
    if (best_worth == 2) found *= 4;
    info->estimatedRows = (sqlite3_int64)found + 1;
    info->estimatedCost = found * 3 + 5;
    if (rowid && best_worth == 3) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    info->orderByConsumed = by_id && table->about->id_is_row && best_worth == 3;
    return SQLITE_OK;
}

/* ---- cursors ---- */

static int rows_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    rows_table *table = user;
    hd_query_column_about columns[COLUMNS_MAX + 1] = {0};
    for (int i = 0; i < table->column_count; i++) columns[i] = table->about->about.columns[i];
    return query_connect(db, columns, user, 0, out);
}

static int rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    return query_cursor_new(out, sizeof(rows_cursor));
}

static int rows_close(sqlite3_vtab_cursor *base)
{
    free(((rows_cursor *)base)->own);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* The position of an id that is a row number; false: no such row. */
static bool find_id(uint64_t *out, const rows_table *table, int64_t id)
{
    uint64_t input = (uint64_t)id >> QUERY_INPUT_SHIFT, row = (uint64_t)id & (((uint64_t)1 << QUERY_INPUT_SHIFT) - 1);
    if (id < 0 || input >= table->tables->count || row >= table->parts[input].count) return false;
    *out = table->parts[input].first + row;
    return true;
}

static bool add_positions(rows_cursor *cursor, const uint32_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!hd_grow((void **)&cursor->own, &cursor->own_capacity, cursor->own_count, sizeof *cursor->own))
            return false;
        cursor->own[cursor->own_count++] = at[i];
    }
    return true;
}

static hd_status filter_list(rows_cursor *cursor, rows_table *table, int column, sqlite3_value *list, hd_error *err)
{
    bool direct = column == 0 && table->about->id_is_row, room = true;
    if (!direct) HD_TRY(make_index(table, column, err));
    sqlite3_value *value = NULL;
    cursor->own_count = 0;
    for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value && room;
         code = sqlite3_vtab_in_next(list, &value)) {
        query_bounds bounds = QUERY_ALL;
        query_bounds_add(&bounds, SQLITE_INDEX_CONSTRAINT_EQ, value);
        size_t first = 0, count = 0;
        uint64_t position;
        if (bounds.low > bounds.high) continue;
        if (direct) {
            uint32_t at = 0;
            if (!find_id(&position, table, bounds.low) || position > UINT32_MAX) continue;
            at = (uint32_t)position;
            room = add_positions(cursor, &at, 1);
        } else {
            query_index_find(&first, &count, &table->indexes[column], bounds.low, bounds.high);
            room = add_positions(cursor, table->indexes[column].at + first, count);
        }
    }
    if (!room) return HD_NOMEM(err);
    cursor->list = cursor->own;
    cursor->at = 0;
    cursor->end = cursor->own_count;
    return HD_OK;
}

static hd_status filter_bounds(rows_cursor *cursor, rows_table *table, int column, query_bounds bounds, hd_error *err)
{
    cursor->list = NULL;
    cursor->at = cursor->end = 0;
    if (bounds.low > bounds.high) return HD_OK;
    if (column == 0 && table->about->id_is_row && bounds.low == bounds.high) {
        if (find_id(&cursor->at, table, bounds.low)) cursor->end = cursor->at + 1;
        return HD_OK;
    }
    HD_TRY(make_index(table, column, err));
    size_t first, count;
    query_index_find(&first, &count, &table->indexes[column], bounds.low, bounds.high);
    cursor->list = table->indexes[column].at;
    cursor->at = first;
    cursor->end = first + count;
    return HD_OK;
}

static int rows_filter(sqlite3_vtab_cursor *base, int plan, const char *operators, int argc, sqlite3_value **argv)
{
    rows_cursor *cursor = (rows_cursor *)base;
    rows_table *table = ((query_vtab *)base->pVtab)->user;
    hd_error error;
    hd_status status = HD_OK;
    cursor->list = NULL;
    cursor->at = 0;
    cursor->end = table->count;
    if (plan > 0 && operators && operators[0] == 1) {
        status = filter_list(cursor, table, plan - 1, argv[0], &error);
    } else if (plan > 0) {
        query_bounds bounds = QUERY_ALL;
        for (int i = 0; i < argc; i++) query_bounds_add(&bounds, (unsigned char)operators[i], argv[i]);
        status = filter_bounds(cursor, table, plan - 1, bounds, &error);
    }
    return status == HD_OK ? SQLITE_OK : query_fail(base->pVtab, table->tables, &error);
}

static int rows_next(sqlite3_vtab_cursor *base)
{
    ((rows_cursor *)base)->at++;
    return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
    const rows_cursor *cursor = (const rows_cursor *)base;
    return cursor->at >= cursor->end;
}

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const rows_cursor *cursor = (const rows_cursor *)base;
    query_cell cell;
    cell_at(&cell, ((query_vtab *)base->pVtab)->user, cursor->list ? cursor->list[cursor->at] : cursor->at, column);
    query_cell_result(context, &cell);
    return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const rows_cursor *cursor = (const rows_cursor *)base;
    const rows_table *table = ((query_vtab *)base->pVtab)->user;
    uint64_t position = cursor->list ? cursor->list[cursor->at] : cursor->at;
    const rows_part *part = part_of(table, position);
    *out = query_id(&table->tables->sources[part - table->parts], position - part->first);
    return SQLITE_OK;
}

static const sqlite3_module rows_module = {
    .iVersion = 1,
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};

/* ---- the list ---- */

static const query_rows_about *const lists[] = {query_track_tables, query_event_tables,  query_work_tables,
                                                query_state_tables, query_memory_tables, query_fact_tables};

static hd_status add_table(query_tables *tables, const query_rows_about *about, hd_error *err)
{
    rows_table *table = &tables->rows->list[tables->rows->count++];
    *table = (rows_table){.tables = tables, .about = about};
    while (about->about.columns[table->column_count].name) table->column_count++;
    table->indexes = calloc((size_t)table->column_count, sizeof *table->indexes);
    if (!table->indexes) return HD_NOMEM(err);
    HD_TRY(query_add_about(tables, &about->about, err));
    return query_add_module(tables, about->about.name, &rows_module, table, err);
}

hd_status query_rows_register(query_tables *tables, hd_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t j = 0; lists[i][j].about.name; j++) count++;
    tables->rows = calloc(1, sizeof *tables->rows);
    if (tables->rows) tables->rows->list = calloc(count, sizeof *tables->rows->list);
    if (!tables->rows || !tables->rows->list) return HD_NOMEM(err);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t j = 0; lists[i][j].about.name; j++) HD_TRY(add_table(tables, &lists[i][j], err));
    return HD_OK;
}

void query_rows_unregister(query_tables *tables)
{
    for (size_t i = 0; tables->rows && i < tables->rows->count; i++) {
        rows_table *table = &tables->rows->list[i];
        drop_parts(table);
        for (int c = 0; c < table->column_count && table->indexes; c++) query_index_deinit(&table->indexes[c]);
        free(table->indexes);
    }
    if (tables->rows) free(tables->rows->list);
    free(tables->rows);
    tables->rows = NULL;
}
