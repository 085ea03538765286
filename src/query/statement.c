/* statement.c - runs statements: parameters, rows, roles of columns, errors */
#include "base/error.h"
#include "query/impl.h"

#include <limits.h>
#include <string.h>

/* ---- failures ---- */

hd_status query_tell_stopped(const hd_query *query, hd_error *err)
{
    if (atomic_load_explicit(&query->stop, memory_order_relaxed) != QUERY_LATE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "interrupted");
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "stopped after %.12g seconds, the limit",
                        (double)query->options.timeout_ms / 1000);
}

hd_status query_failed(hd_query *query, int code, hd_error *err)
{
    hd_status status = query->failure.status;
    if (status != HD_OK && (code & 0xff) != SQLITE_INTERRUPT) {
        if (err && err->status == HD_OK) *err = query->failure;
        query->failure = (hd_error){0};
        return status;
    }
    query->failure = (hd_error){0};
    switch (code & 0xff) {
    case SQLITE_NOMEM: return HD_NOMEM(err);
    case SQLITE_INTERRUPT: return query_tell_stopped(query, err);
    case SQLITE_TOOBIG: status = HD_ERR_LIMIT; break;
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_IOERR: status = HD_ERR_IO; break;
    case SQLITE_INTERNAL:
    case SQLITE_MISUSE:
    case SQLITE_CORRUPT: status = HD_ERR_INTERNAL; break;
    default: status = HD_ERR_ARGUMENT; break;
    }
    return hd_error_set(err, status, NULL, HD_OFFSET_NONE, "%s", sqlite3_errmsg(query->db));
}

/* ---- parameters ---- */

size_t hd_statement_parameter_count(const hd_statement *statement)
{
    return (size_t)sqlite3_bind_parameter_count(statement->stmt);
}

const char *hd_statement_parameter_name(const hd_statement *statement, size_t index)
{
    if (index >= hd_statement_parameter_count(statement)) return NULL;
    const char *name = sqlite3_bind_parameter_name(statement->stmt, (int)index + 1);
    return name ? name + 1 : NULL;
}

static int bind(sqlite3_stmt *stmt, int index, const hd_query_value *value)
{
    switch (value->type) {
    case HD_QUERY_INT: return sqlite3_bind_int64(stmt, index, value->integer);
    case HD_QUERY_REAL: return sqlite3_bind_double(stmt, index, value->real);
    case HD_QUERY_TEXT:
        return sqlite3_bind_text64(stmt, index, value->data ? value->data : "", value->size, SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    case HD_QUERY_BLOB:
        return sqlite3_bind_blob64(stmt, index, value->data ? value->data : "", value->size, SQLITE_TRANSIENT);
    default: return sqlite3_bind_null(stmt, index);
    }
}

/* Whether a parameter has this name; one without a name is called by its number. */
static bool is_called(sqlite3_stmt *stmt, int index, const char *name)
{
    char number[16];
    const char *has = sqlite3_bind_parameter_name(stmt, index);
    if (has) return strcmp(has + 1, name) == 0;
    sqlite3_snprintf(sizeof number, number, "%d", index);
    return strcmp(number, name) == 0;
}

hd_status hd_statement_set(hd_statement *statement, const char *name, hd_query_value value, hd_error *err)
{
    int count = sqlite3_bind_parameter_count(statement->stmt), code = SQLITE_OK;
    bool found = false;
    if (statement->state != STATEMENT_NEW) sqlite3_reset(statement->stmt);
    statement->state = STATEMENT_NEW;
    for (int i = 1; i <= count && code == SQLITE_OK; i++) {
        if (!is_called(statement->stmt, i, name)) continue;
        found = true;
        code = bind(statement->stmt, i, &value);
    }
    if (!found) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no parameter :%.100s", name);
    return code == SQLITE_OK ? HD_OK : query_failed(statement->query, code, err);
}

/* ---- columns ---- */

size_t hd_statement_column_count(const hd_statement *statement)
{
    return (size_t)sqlite3_column_count(statement->stmt);
}

const char *hd_statement_column_name(const hd_statement *statement, size_t column)
{
    const char *name = statement->names ? statement->names[column] : sqlite3_column_name(statement->stmt, (int)column);
    return name ? name : "";
}

static bool is_slice_id(const char *table, const char *column)
{
    static const char *const tables[] = {"slice",     "slices",        "thread_slice",
                                         "gpu_slice", "process_slice", "thread_or_process_slice"};
    static const char *const columns[] = {"slice_id", "slice_in", "slice_out", "parent_id"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(column, "id") == 0 && sqlite3_stricmp(table, tables[i]) == 0) return true;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(column, columns[i]) == 0) return true;
    return false;
}

hd_query_role hd_statement_column_role(const hd_statement *statement, size_t column)
{
    const char *table = sqlite3_column_table_name(statement->stmt, (int)column);
    const char *name =
        table ? sqlite3_column_origin_name(statement->stmt, (int)column) : hd_statement_column_name(statement, column);
    if (!name) return HD_QUERY_PLAIN;
    if (is_slice_id(table ? table : "", name)) return HD_QUERY_SLICE_ID;
    if (strcmp(name, "ts") == 0) return HD_QUERY_TIME;
    if (strcmp(name, "dur") == 0) return HD_QUERY_DURATION;
    return strcmp(name, "track_id") == 0 ? HD_QUERY_TRACK_ID : HD_QUERY_PLAIN;
}

/* ---- rows ---- */

hd_status hd_statement_next(hd_statement *statement, hd_error *err)
{
    hd_query *query = statement->query;
    if (statement->state == STATEMENT_ENDED) return HD_END;
    if (statement->state == STATEMENT_FAILED)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the statement has failed before");
    if (statement->state == STATEMENT_NEW) statement->deadline_ns = query_deadline(query); /* from the first row */
    statement->state = STATEMENT_RUNS;
    query_watch_set(query, statement);
    query->failure.status = HD_OK;
    atomic_store_explicit(&query->watch.is_inside, true, memory_order_relaxed);
    int code = sqlite3_step(statement->stmt);
    atomic_store_explicit(&query->watch.is_inside, false, memory_order_relaxed);
    if (code == SQLITE_ROW) return HD_OK;
    statement->state = code == SQLITE_DONE ? STATEMENT_ENDED : STATEMENT_FAILED;
    hd_status status = code == SQLITE_DONE ? HD_END : query_failed(query, code, err);
    sqlite3_reset(statement->stmt); /* releases the previous rows */
    query_watch_set(query, NULL);
    return status;
}

hd_query_value hd_statement_at(const hd_statement *statement, size_t column)
{
    sqlite3_stmt *stmt = statement->stmt;
    int at = (int)column;
    hd_query_value value = {0};
    if (statement->state != STATEMENT_RUNS) return value;
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER: value.type = HD_QUERY_INT, value.integer = sqlite3_column_int64(stmt, at); break;
    case SQLITE_FLOAT: value.type = HD_QUERY_REAL, value.real = sqlite3_column_double(stmt, at); break;
    case SQLITE_TEXT: value.type = HD_QUERY_TEXT; break;
    case SQLITE_BLOB: value.type = HD_QUERY_BLOB; break;
    default: break;
    }
    if (value.type != HD_QUERY_TEXT && value.type != HD_QUERY_BLOB) return value;
    value.data = sqlite3_column_blob(stmt, at); /* not _text, which copies to add a NUL */
    value.size = (size_t)sqlite3_column_bytes(stmt, at);
    if (!value.data) value.data = "";
    return value;
}
