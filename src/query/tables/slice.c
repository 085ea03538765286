/* slice.c - the table `slice`: its sqlite3_module */
#include "query/tables/slice_cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"

static const hd_query_column_about columns[SLICE_COLUMNS + 1] = {
    [SLICE_ID] = {"id", "INT", "the slice: of the first input its row, see Ids", false},
    [SLICE_TS] = {"ts", "INT", "start, ns on the trace's clock", false},
    [SLICE_DUR] = {"dur", "INT", "duration, ns; null: it never ended; 0 of an instant", false},
    [SLICE_TRACK] = {"track_id", "INT", "its track: id of track, thread_track …", false},
    [SLICE_CATEGORY] = {"category", "TEXT", "category: cpu_op, kernel …", false},
    [SLICE_NAME] = {"name", "TEXT", "name", false},
    [SLICE_DEPTH] = {"depth", "INT", "how many slices of the track enclose it", false},
    [SLICE_PARENT] = {"parent_id", "INT", "the innermost slice of the track that encloses it", false},
    [SLICE_ARGS] = {"arg_set_id", "INT", "its arguments: args.arg_set_id", false},
    [SLICE_THREAD_TS] = {"thread_ts", "INT", "start on the thread's CPU clock, ns, if the trace contains it (tts)",
                         false},
    [SLICE_THREAD_DUR] = {"thread_dur", "INT", "CPU time, ns, if the trace has it (tdur)", false},
    [SLICE_TYPE] = {"type", "TEXT", "slice, instant or async", false},
    [SLICE_ROLE] = {"role", "TEXT",
                    "kernel, copy, set, sync, gpu_annotation; op, python, annotation, runtime, driver, overhead",
                    false},
    [SLICE_CORRELATION] = {"correlation", "INT",
                           "correlation id, which an API call and its activities share within their process", false},
    [SLICE_RANK] = {"rank", "INT", "its rank; null: not known", false},
    [SLICE_INPUT] = QUERY_INPUT_COLUMN,
};

static const hd_query_table_about about = {"slice", "slices, instants (of no duration) and async slices", columns};

/* ---- plans ---- */

static const struct {
    char letter;
    unsigned char op;
} operators[] = {{'=', SQLITE_INDEX_CONSTRAINT_EQ},   {'<', SQLITE_INDEX_CONSTRAINT_LT},
                 {'l', SQLITE_INDEX_CONSTRAINT_LE},   {'>', SQLITE_INDEX_CONSTRAINT_GT},
                 {'g', SQLITE_INDEX_CONSTRAINT_GE},   {'~', SQLITE_INDEX_CONSTRAINT_LIKE},
                 {'*', SQLITE_INDEX_CONSTRAINT_GLOB}, {'i', 0}};

/* sqlite3_free; NULL: no memory. */
static char *plan_write(const slice_plan *plan)
{
    char text[2 * SLICE_FILTERS + 2 * SLICE_ORDERS + 16];
    size_t used = 0;
    for (int i = 0; i < plan->count; i++) {
        text[used++] = (char)('a' + plan->conditions[i].column);
        int op = plan->conditions[i].in ? 0 : plan->conditions[i].op;
        for (size_t o = 0; o < sizeof operators / sizeof *operators; o++)
            if (operators[o].op == op) text[used] = operators[o].letter;
        used++;
    }
    text[used++] = ';';
    for (int i = 0; i < plan->order_count; i++) {
        text[used++] = (char)('a' + plan->order[i].column);
        text[used++] = plan->order[i].descending ? '-' : '+';
    }
    text[used] = 0;
    return sqlite3_mprintf("%s;%x", text, plan->columns);
}

static void plan_read(slice_plan *out, const char *text)
{
    *out = (slice_plan){0};
    for (; *text && *text != ';' && out->count < SLICE_FILTERS; text += 2) {
        out->conditions[out->count].column = (slice_column)(text[0] - 'a');
        for (size_t o = 0; o < sizeof operators / sizeof *operators; o++)
            if (operators[o].letter == text[1]) out->conditions[out->count].op = operators[o].op;
        if (text[1] == 'i') {
            out->conditions[out->count].op = SQLITE_INDEX_CONSTRAINT_EQ;
            out->conditions[out->count].in = true;
        }
        out->count++;
    }
    for (text++; *text && *text != ';' && out->order_count < SLICE_ORDERS; text += 2) {
        out->order[out->order_count].column = (slice_column)(text[0] - 'a');
        out->order[out->order_count++].descending = text[1] == '-';
    }
    out->columns = (uint32_t)strtoul(text + 1, NULL, 16);
}

static bool is_taken(sqlite3_index_info *info, int i, slice_column column)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    switch (c->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return !slice_is_text(column) || sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE: return !slice_is_text(column);
    case SQLITE_INDEX_CONSTRAINT_LIKE:
    case SQLITE_INDEX_CONSTRAINT_GLOB: return column == SLICE_NAME || column == SLICE_CATEGORY;
    default: return false;
    }
}

/* Estimated rows of `rows` after an equality. */
static double rows_of_equal(const slice_table *table, slice_column column, double rows)
{
    switch (column) {
    case SLICE_ID:
    case SLICE_ARGS: return 1;
    case SLICE_TS: return 1 + rows / 1e6;
    case SLICE_CORRELATION: return rows < 3 ? rows : 3;
    case SLICE_PARENT: return rows < 5 ? rows : 5;
    case SLICE_NAME: return 1 + rows / 100;
    case SLICE_TRACK: return 1 + rows / (1 + hd_trace_track_count(table->tables->sources->trace));
    default: return 1 + rows / 5;
    }
}

static bool takes_order(const slice_table *table, sqlite3_index_info *info)
{
    int distinct = sqlite3_vtab_distinct(info);
    bool any_order = distinct == 1 || distinct == 2;
    if (info->nOrderBy > SLICE_ORDERS || table->count > UINT32_MAX) return false;
    for (int i = 0; i < info->nOrderBy; i++) {
        int column = info->aOrderBy[i].iColumn;
        bool exact = column <= SLICE_TS || column == SLICE_TRACK || column == SLICE_RANK || column == SLICE_INPUT ||
                     column == SLICE_PARENT;
        bool group = (column == SLICE_NAME || column == SLICE_CATEGORY) && any_order && table->tables->count == 1;
        bool alike = (column == SLICE_TYPE || column == SLICE_ROLE || column == SLICE_DEPTH) && any_order;
        if (!exact && !group && !alike) return false;
    }
    return info->nOrderBy > 0;
}

static void set_order(slice_plan *plan, sqlite3_index_info *info)
{
    for (int i = 0; i < info->nOrderBy; i++) {
        int column = info->aOrderBy[i].iColumn;
        plan->order[plan->order_count].column = column < 0 ? SLICE_ID : (slice_column)column;
        plan->order[plan->order_count++].descending = info->aOrderBy[i].desc;
    }
    info->orderByConsumed = true;
}

static void set_costs(sqlite3_index_info *info, const slice_plan *plan, const slice_table *table)
{
    double rows = (double)table->count + 1, left = rows, scanned = rows;
    bool unique = false;
    int sides = 0;
    for (int i = 0; i < plan->count; i++) {
        slice_column column = plan->conditions[i].column;
        if (plan->conditions[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
            double equal = rows_of_equal(table, column, rows) * (plan->conditions[i].in ? 5 : 1);
            if (equal < left) left = equal;
            unique |= column == SLICE_ID && !plan->conditions[i].in;
            bool is_found = column == SLICE_ID || column == SLICE_ARGS || column == SLICE_TS ||
                            column == SLICE_CORRELATION || column == SLICE_PARENT || column == SLICE_NAME ||
                            column == SLICE_TRACK;
            if (is_found && equal < scanned) scanned = equal;
        } else {
            if (column == SLICE_TS && ++sides == 2) scanned /= 50;
            left /= 4;
        }
    }
    if (left > scanned) left = scanned;
    info->estimatedRows = (sqlite3_int64)(left < 1 ? 1 : left);
    info->estimatedCost = 5 + scanned * 0.2 + left;
    if (unique) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
}

static int slice_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    slice_table *table = ((query_vtab *)base)->user;
    slice_plan plan = {.columns = (uint32_t)info->colUsed};
    hd_error error;
    if (slice_open(table, &error) != HD_OK) return query_fail(base, table->tables, &error);
    for (int i = 0; i < info->nConstraint && plan.count < SLICE_FILTERS; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        slice_column column = c->iColumn < 0 ? SLICE_ID : (slice_column)c->iColumn;
        if (!c->usable || !is_taken(info, i, column)) continue;
        bool in = c->op == SQLITE_INDEX_CONSTRAINT_EQ && sqlite3_vtab_in(info, i, -1);
        bool pattern = c->op == SQLITE_INDEX_CONSTRAINT_LIKE || c->op == SQLITE_INDEX_CONSTRAINT_GLOB;
        if (in) sqlite3_vtab_in(info, i, 1);
        plan.conditions[plan.count].column = column;
        plan.conditions[plan.count].op = c->op;
        plan.conditions[plan.count++].in = in;
        sqlite3_value *value = NULL;
        bool is_text =
            sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value && sqlite3_value_type(value) == SQLITE_TEXT;
        info->aConstraintUsage[i].argvIndex = plan.count;
        info->aConstraintUsage[i].omit = is_text || (!pattern && (in || !slice_is_string(column)));
    }
    if (takes_order(table, info)) set_order(&plan, info);
    set_costs(info, &plan, table);
    info->idxStr = plan_write(&plan);
    info->needToFreeIdxStr = true;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- cursors ---- */

static int slice_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    return query_connect(db, columns, user, 0, out);
}

static int slice_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    slice_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    memset(cursor, 0, offsetof(slice_cursor, chunk));
    cursor->table = ((query_vtab *)base)->user;
    *out = &cursor->base;
    return SQLITE_OK;
}

static void drop_filters(slice_cursor *cursor)
{
    for (int i = 0; i < cursor->filter_count; i++) slice_filter_deinit(&cursor->filters[i], cursor->table);
    cursor->filter_count = 0;
}

static int slice_cursor_close(sqlite3_vtab_cursor *base)
{
    slice_cursor *cursor = (slice_cursor *)base;
    slice_cursor_stop(cursor);
    drop_filters(cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static hd_status begin(slice_cursor *cursor, const char *text, sqlite3_value **values, hd_error *err)
{
    slice_table *table = cursor->table;
    slice_cursor_stop(cursor);
    drop_filters(cursor);
    plan_read(&cursor->plan, text);
    cursor->calls++;
    cursor->whole = slice_needs_args(cursor->plan.columns);
    HD_TRY(slice_prepare(table, cursor->plan.columns, err));
    for (int i = 0; i < cursor->plan.count; i++) {
        slice_filter *filter = &cursor->filters[cursor->filter_count++];
        HD_TRY(slice_filter_init(filter, table, cursor->plan.conditions[i].column, cursor->plan.conditions[i].op,
                                 cursor->plan.conditions[i].in, values[i], err));
    }
    HD_TRY(slice_cursor_find(cursor, err));
    bool by_id = cursor->plan.order_count == 1 && cursor->plan.order[0].column == SLICE_ID &&
                 !cursor->plan.order[0].descending && !cursor->list;
    if (cursor->plan.order_count && !by_id && !cursor->ended) HD_TRY(slice_cursor_sort(cursor, err));
    return cursor->ended ? HD_OK : slice_cursor_advance(cursor, err);
}

static int slice_filter_rows(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    (void)plan;
    (void)argc;
    slice_cursor *cursor = (slice_cursor *)base;
    hd_error error = {0};
    if (begin(cursor, text, argv, &error) == HD_OK) return SQLITE_OK;
    return query_fail(base->pVtab, cursor->table->tables, &error);
}

static int slice_next(sqlite3_vtab_cursor *base)
{
    slice_cursor *cursor = (slice_cursor *)base;
    hd_error error;
    if (++cursor->selected < cursor->chunk.selected_count) return SQLITE_OK;
    if (slice_cursor_advance(cursor, &error) == HD_OK) return SQLITE_OK;
    return query_fail(base->pVtab, cursor->table->tables, &error);
}

static int slice_eof(sqlite3_vtab_cursor *base)
{
    return ((slice_cursor *)base)->ended;
}

static int slice_column_value(sqlite3_vtab_cursor *base, sqlite3_context *context, int at)
{
    slice_cursor *cursor = (slice_cursor *)base;
    slice_column column = (slice_column)at;
    uint32_t i = cursor->chunk.selected[cursor->selected];
    int64_t value = slice_chunk_values(&cursor->chunk, column)[i];
    if (!slice_is_text(column)) {
        query_result_int(context, value);
    } else if (column == SLICE_TYPE || column == SLICE_ROLE) {
        const char *word = slice_word(column, value);
        if (word) sqlite3_result_text(context, word, -1, SQLITE_STATIC);
    } else if (value != HD_STRING_NONE) {
        const hd_trace *trace = slice_chunk_section(&cursor->chunk, i)->source->trace;
        hd_string text = hd_trace_string(trace, (uint32_t)value);
        sqlite3_result_text64(context, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
    }
    return SQLITE_OK;
}

static int slice_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    slice_cursor *cursor = (slice_cursor *)base;
    *out = slice_chunk_values(&cursor->chunk, SLICE_ID)[cursor->chunk.selected[cursor->selected]];
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = slice_connect,
    .xBestIndex = slice_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = slice_cursor_open,
    .xClose = slice_cursor_close,
    .xFilter = slice_filter_rows,
    .xNext = slice_next,
    .xEof = slice_eof,
    .xColumn = slice_column_value,
    .xRowid = slice_rowid,
};

hd_status query_slice_register(query_tables *tables, hd_error *err)
{
    tables->slice = calloc(1, sizeof *tables->slice);
    if (!tables->slice) return HD_NOMEM(err);
    tables->slice->tables = tables;
    HD_TRY(query_add_about(tables, &about, err));
    return query_add_module(tables, "slice", &module, tables->slice, err);
}

void query_slice_unregister(query_tables *tables)
{
    if (tables->slice) slice_table_deinit(tables->slice);
    free(tables->slice);
    tables->slice = NULL;
}
