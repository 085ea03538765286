/* reports.c - every report as a table-valued function, built from its descriptor
 *
 * REPORT is the report's first table, REPORT_TABLE another one. Options are hidden columns, so that
 *     select * from breakdown('10%', '20%')           the first arguments are from and until, where a report has them
 *     select * from kernels where "by" = 'step'
 *     select * from kernels('by=step', 'rank=0')      NAME=VALUE in any place
 * mean what they do on the command line. A number for a time is ns on the trace's clock, as ts is. An option with the
 * name of a column gets the suffix _option.
 */
#include "query/tables/reports/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/arena.h"
#include "heddle/analysis/diff.h"

enum { COLUMNS_MAX = 64, ARGUMENTS_MAX = 24, NAME_BYTES = 64, CLOCK_MARK = 1 };

typedef struct report_function {
    query_tables *tables;
    const hd_report_about *report;
    const hd_report_table_about *table;
    char name[NAME_BYTES];
    int column_count; /* of the table, plus rank and input if it does not have them */
    bool adds_rank, adds_input;
    int argument_count;
    const hd_option_about *arguments[ARGUMENTS_MAX];
    char argument_names[ARGUMENTS_MAX][NAME_BYTES];
    hd_query_column_about columns[COLUMNS_MAX + 1];
    hd_query_table_about about;
} report_function;

typedef struct report_cursor {
    sqlite3_vtab_cursor base;
    char *options;
    sqlite3_value *given[ARGUMENTS_MAX]; /* by argument; NULL: not given */
    report_entry *entry;
    const hd_table *table;
    size_t places[COLUMNS_MAX]; /* the table's column for each column of the function, SIZE_MAX: none */
    size_t input, row;
    bool ended;
} report_cursor;

/* ---- functions ---- */

static const char *type_of(hd_value_type type)
{
    return type == HD_VALUE_STRING ? "TEXT" : type == HD_VALUE_DECIMAL ? "REAL" : "INT";
}

static bool has_column(const report_function *f, const char *name)
{
    for (int i = 0; i < f->column_count; i++)
        if (sqlite3_stricmp(f->columns[i].name, name) == 0) return true;
    return false;
}

static void add_argument(report_function *f, const hd_option_about *option)
{
    int at = f->argument_count;
    if (at == ARGUMENTS_MAX || f->column_count + at == COLUMNS_MAX || option->kind == HD_OPTION_TRACE) return;
    snprintf(f->argument_names[at], NAME_BYTES, "%s%s", option->name, has_column(f, option->name) ? "_option" : "");
    for (char *c = f->argument_names[at]; *c; c++)
        if (*c == '-') *c = '_';
    f->arguments[at] = option;
    f->columns[f->column_count + at] = (hd_query_column_about){f->argument_names[at], "TEXT", option->meaning, true};
    f->argument_count++;
}

static bool is_from_or_until(const hd_option_about *option)
{
    return strcmp(option->name, "from") == 0 || strcmp(option->name, "until") == 0;
}

static void describe(report_function *f, query_tables *tables, const hd_report_about *report,
                     const hd_report_table_about *table)
{
    size_t size = strlen(report->name);
    bool is_first = table == report->tables,
         is_named = strncmp(table->name, report->name, size) == 0 && table->name[size] == '_';
    *f = (report_function){.tables = tables, .report = report, .table = table};
    if (is_first || is_named)
        snprintf(f->name, NAME_BYTES, "%s", is_first ? report->name : table->name);
    else
        snprintf(f->name, NAME_BYTES, "%s_%s", report->name, table->name);
    for (char *c = f->name; *c; c++) {
        if (*c == '-') *c = '_'; /* critical-path */
    }
    for (const hd_report_column *c = table->columns; c->name && f->column_count < COLUMNS_MAX / 2; c++)
        f->columns[f->column_count++] = (hd_query_column_about){c->name, type_of(c->type), c->meaning, false};
    f->adds_rank = !report->of_job && !has_column(f, "rank");
    if (f->adds_rank)
        f->columns[f->column_count++] =
            (hd_query_column_about){"rank", "INT", "rank of the input; null: not known", false};
    f->about = (hd_query_table_about){f->name, table->meaning, f->columns};
    f->adds_input = !report->of_job && !has_column(f, "input");
    if (f->adds_input) f->columns[f->column_count++] = (hd_query_column_about)QUERY_INPUT_COLUMN;
    for (int times = 1; times >= 0; times--)
        for (const hd_option_about *o = report->options; o && o->name; o++)
            if (is_from_or_until(o) == times) add_argument(f, o);
}

/* ---- plans ---- */

static int report_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const report_function *f = ((query_vtab *)base)->user;
    char letters[ARGUMENTS_MAX + 1];
    int count = 0, code = query_check_arguments(base, info, &f->about, f->column_count);
    if (code != SQLITE_OK) return code;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->iColumn < f->column_count || count == ARGUMENTS_MAX) continue;
        letters[count++] = (char)('A' + c->iColumn - f->column_count);
        info->aConstraintUsage[i].argvIndex = count;
        info->aConstraintUsage[i].omit = true;
    }
    letters[count] = 0;
    info->idxStr = sqlite3_mprintf("%s", letters);
    info->needToFreeIdxStr = true;
    info->estimatedCost = 1e6;
    info->estimatedRows = 100;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int report_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out,
                          char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    report_function *function = user;
    return query_connect(db, function->columns, user, 0, out);
}

static int report_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    return query_cursor_new(out, sizeof(report_cursor));
}

static void drop_options(report_cursor *cursor)
{
    for (int i = 0; i < ARGUMENTS_MAX; i++) sqlite3_value_free(cursor->given[i]);
    memset(cursor->given, 0, sizeof cursor->given);
    sqlite3_free(cursor->options);
    cursor->options = NULL;
}

static int report_close(sqlite3_vtab_cursor *base)
{
    report_cursor *cursor = (report_cursor *)base;
    report_cache_give(cursor->entry);
    drop_options(cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* ---- options ---- */

static report_function *function_of(const report_cursor *cursor)
{
    return ((query_vtab *)cursor->base.pVtab)->user;
}

/* "by=step" where an option is called so. */
static const hd_option_about *named_option(const report_function *f, const char *text)
{
    const char *mark = text ? strchr(text, '=') : NULL;
    for (int i = 0; i < f->argument_count && mark; i++) {
        size_t size = strlen(f->arguments[i]->name);
        if ((size_t)(mark - text) == size && memcmp(text, f->arguments[i]->name, size) == 0) return f->arguments[i];
    }
    return NULL;
}

/* A numeric time gets a mark, since its meaning as a report option depends on the input. */
static char *write_option(const report_function *f, const hd_option_about *option, sqlite3_value *value, hd_error *err)
{
    const char *text = (const char *)sqlite3_value_text(value);
    int type = sqlite3_value_type(value);
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    if (!text) return NULL;
    if (strpbrk(text, "\n\1")) {
        hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: an option is one line", f->name);
        return NULL;
    }
    if (type == SQLITE_TEXT && named_option(f, text)) return sqlite3_mprintf("%s\n", text);
    if (option->kind == HD_OPTION_FLAG && is_number)
        return sqlite3_value_int64(value) ? sqlite3_mprintf("%s\n", option->name) : sqlite3_mprintf("");
    if (is_from_or_until(option) && is_number)
        return sqlite3_mprintf("%s=%c%lld\n", option->name, CLOCK_MARK, sqlite3_value_int64(value));
    return sqlite3_mprintf("%s=%s\n", option->name, text);
}

static hd_status read_options(report_cursor *cursor, const char *letters, int count, sqlite3_value **values,
                              hd_error *err)
{
    const report_function *f = function_of(cursor);
    drop_options(cursor);
    cursor->options = sqlite3_mprintf("");
    for (int i = 0; i < count && cursor->options; i++) {
        sqlite3_value **given = &cursor->given[letters[i] - 'A'];
        sqlite3_value_free(*given);
        if (!(*given = sqlite3_value_dup(values[i]))) return HD_NOMEM(err);
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) continue;
        err->status = HD_OK;
        char *one = write_option(f, f->arguments[letters[i] - 'A'], values[i], err);
        if (!one) return err->status != HD_OK ? err->status : HD_NOMEM(err);
        char *all = sqlite3_mprintf("%s%s", cursor->options, one);
        sqlite3_free(one);
        sqlite3_free(cursor->options);
        cursor->options = all;
    }
    return cursor->options ? HD_OK : HD_NOMEM(err);
}

/* ---- rows ---- */

/* The options for one input, with times on its clock relative to its first event. Free with sqlite3_free; NULL: no
 * memory. *is_outside: the input has no events in the requested range, and so no rows. */
static char *options_for(bool *is_outside, const report_cursor *cursor, const query_source *source)
{
    const hd_trace_facts *facts = hd_trace_facts_of(source->trace);
    int64_t start = query_time(source, facts->start_ns), last = query_time(source, facts->end_ns), from = INT64_MIN,
            until = INT64_MAX, ns;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (const char *at = cursor->options; *at;) {
        if (*at != CLOCK_MARK) {
            sqlite3_str_appendchar(out, 1, *at++);
            continue;
        }
        char *end;
        bool is_from = at - cursor->options >= 5 && memcmp(at - 5, "from=", 5) == 0;
        int64_t time = strtoll(at + 1, &end, 10);
        *(is_from ? &from : &until) = time;
        if (start == HD_NO_TIME || __builtin_sub_overflow(time, start, &ns) || ns < 0) ns = 0;
        sqlite3_str_appendf(out, "%lldns", (long long)ns);
        at = end;
    }
    *is_outside = from <= until && (from == until || from > last || until <= start);
    char *text = sqlite3_str_finish(out);
    return text ? text : sqlite3_mprintf("");
}

/* The next input whose table has rows. */
static hd_status next_table(report_cursor *cursor, hd_error *err)
{
    const report_function *f = function_of(cursor);
    for (;; cursor->input++) {
        report_cache_give(cursor->entry);
        cursor->entry = NULL;
        cursor->ended = cursor->input >= (f->report->of_job ? 1 : f->tables->count); /* a job is a single input */
        if (cursor->ended) return HD_OK;
        HD_TRY(query_check_stop(f->tables, err));
        bool is_outside;
        char *options = options_for(&is_outside, cursor, &f->tables->sources[cursor->input]);
        if (!options) return HD_NOMEM(err);
        if (is_outside) {
            sqlite3_free(options);
            continue;
        }
        hd_status status = report_cache_take(&cursor->entry, f->tables, f->report, cursor->input, options, err);
        sqlite3_free(options);
        if (status != HD_OK) return status;
        cursor->table = hd_report_table(&cursor->entry->result, f->table->name);
        cursor->row = 0;
        if (!cursor->table || hd_table_row_count(cursor->table) == 0) continue;
        for (int i = 0; i < f->column_count; i++)
            cursor->places[i] = hd_table_find_column(cursor->table, f->columns[i].name);
        return HD_OK;
    }
}

static int report_filter(sqlite3_vtab_cursor *base, int plan, const char *letters, int argc, sqlite3_value **argv)
{
    (void)plan;
    report_cursor *cursor = (report_cursor *)base;
    hd_error error = {0};
    cursor->input = 0;
    hd_status status = read_options(cursor, letters, argc, argv, &error);
    if (status == HD_OK) status = next_table(cursor, &error);
    return status == HD_OK ? SQLITE_OK : query_fail(base->pVtab, function_of(cursor)->tables, &error);
}

static int report_next(sqlite3_vtab_cursor *base)
{
    report_cursor *cursor = (report_cursor *)base;
    hd_error error;
    if (++cursor->row < hd_table_row_count(cursor->table)) return SQLITE_OK;
    cursor->input++;
    return next_table(cursor, &error) == HD_OK ? SQLITE_OK
                                               : query_fail(base->pVtab, function_of(cursor)->tables, &error);
}

static int report_eof(sqlite3_vtab_cursor *base)
{
    return ((report_cursor *)base)->ended;
}

/* On whose clock the times of the row are: of a job, that of its rank. */
static const query_source *source_of(const report_cursor *cursor)
{
    static const query_source unknown = {0};
    const report_function *f = function_of(cursor);
    if (!f->report->of_job) return &f->tables->sources[cursor->input];
    size_t column = hd_table_find_column(cursor->table, "rank");
    bool has_rank = column != SIZE_MAX && hd_table_get_column(cursor->table, column)->type == HD_VALUE_INT &&
                    !hd_table_is_null(cursor->table, cursor->row, column);
    int64_t rank = has_rank ? hd_table_get_int(cursor->table, cursor->row, column) : QUERY_NULL;
    for (size_t i = 0; i < f->tables->count && has_rank; i++)
        if (f->tables->sources[i].rank == rank) return &f->tables->sources[i];
    return &unknown;
}

static void result_cell(sqlite3_context *context, const query_source *source, const hd_table *table, size_t row,
                        size_t column)
{
    const hd_table_column *about = hd_table_get_column(table, column);
    size_t size;
    const char *text;
    if (hd_table_is_null(table, row, column)) return;
    switch (about->type) {
    case HD_VALUE_TIME: query_result_int(context, query_time(source, hd_table_get_int(table, row, column))); break;
    case HD_VALUE_INT: /* the zero of the clock lies where the times say */
        sqlite3_result_int64(context, hd_table_get_int(table, row, column) -
                                          (strcmp(about->name, "clock_base") == 0 ? source->shift : 0));
        break;
    case HD_VALUE_STRING:
        text = hd_table_get_string(&size, table, row, column);
        sqlite3_result_text64(context, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: sqlite3_result_int64(context, (int64_t)hd_table_get_count(table, row, column)); break;
    case HD_VALUE_DECIMAL: sqlite3_result_double(context, hd_table_get_decimal(table, row, column)); break;
    case HD_VALUE_BOOL: sqlite3_result_int(context, hd_table_get_bool(table, row, column)); break;
    default: sqlite3_result_int64(context, hd_table_get_int(table, row, column));
    }
}

static int report_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const report_cursor *cursor = (const report_cursor *)base;
    const report_function *f = function_of(cursor);
    if (column >= f->column_count)
        query_argument_result(context, &f->about, column, cursor->given[column - f->column_count]);
    else if (cursor->places[column] != SIZE_MAX)
        result_cell(context, source_of(cursor), cursor->table, cursor->row, cursor->places[column]);
    else if (f->adds_input && column == f->column_count - 1)
        sqlite3_result_int64(context, (int64_t)cursor->input);
    else if (f->adds_rank && column == f->column_count - 1 - f->adds_input)
        query_result_int(context, f->tables->sources[cursor->input].rank);
    return SQLITE_OK;
}

/* The rowid includes the options, since SQLite uses it to join the rows found by the two sides of OR. */
static int report_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const report_cursor *cursor = (const report_cursor *)base;
    *out = (int64_t)hd_hash_pair(hd_hash(cursor->options, strlen(cursor->options)),
                                 (uint64_t)query_id(&function_of(cursor)->tables->sources[cursor->input], cursor->row));
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = report_connect,
    .xBestIndex = report_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = report_open,
    .xClose = report_close,
    .xFilter = report_filter,
    .xNext = report_next,
    .xEof = report_eof,
    .xColumn = report_column,
    .xRowid = report_rowid,
};

/* ---- the list ---- */

/* Those of a trace or a job, and last the one of two sides. */
static const hd_report_about *report_of(size_t index)
{
    return index < hd_report_count() ? hd_report_at(index) : hd_diff_report_about();
}

hd_status query_reports_register(query_tables *tables, hd_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i <= hd_report_count(); i++)
        for (const hd_report_table_about *t = report_of(i)->tables; t->name; t++) count++;
    tables->reports = calloc(1, sizeof *tables->reports);
    if (tables->reports) tables->reports->functions = calloc(count, sizeof *tables->reports->functions);
    if (!tables->reports || !tables->reports->functions) return HD_NOMEM(err);
    for (size_t i = 0; i <= hd_report_count(); i++) {
        const hd_report_about *report = report_of(i);
        for (const hd_report_table_about *t = report->tables; t->name && !report->table_option; t++) {
            report_function *f = &tables->reports->functions[tables->reports->function_count++];
            describe(f, tables, report, t);
            HD_TRY(query_add_about(tables, &f->about, err));
            HD_TRY(query_add_module(tables, f->name, &module, f, err));
        }
    }
    return HD_OK;
}

void query_reports_unregister(query_tables *tables)
{
    if (!tables->reports) return;
    report_cache_free(tables->reports);
    free(tables->reports->functions);
    free(tables->reports);
    tables->reports = NULL;
}
