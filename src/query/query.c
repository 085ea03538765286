/* query.c - a connection to SQLite that may read, and has traces as its tables */
#include "base/error.h"
#include "base/options.h"
#include "model/clock/clock.h"
#include "pass/merge/merge.h"
#include "query/impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    SQL_BYTES = 16 << 20,
    VALUE_BYTES = 256 << 20, /* a function that reads it once takes at most a second */
    PATTERN_BYTES = 1000,
    EXPRESSION_DEPTH = 500,
    CACHE_KIB = 64 << 10,      /* memory of a sort before it goes to a file */
    STEPS_BETWEEN_LOOKS = 1000 /* of SQLite's machine: some 20 us */
};

static const uint64_t SPILL_BYTES = (uint64_t)16 << 30;

static int look_whether_stopped(void *query)
{
    return query_look(query);
}

/* ---- what a statement may do ---- */

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (sqlite3_stricmp(name, *list) == 0) return true;
    return false;
}

/* The tables that store a view as a row; SQLite allows no other change of them (SQLITE_DBCONFIG_DEFENSIVE). */
static bool is_schema(const char *table)
{
    static const char *const names[] = {"sqlite_master", "sqlite_temp_master", "sqlite_schema", "sqlite_temp_schema",
                                        NULL};
    return table && is_one_of(table, names);
}

static const char *what_of(int action)
{
    switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return "attach or detach files";
    case SQLITE_PRAGMA: return "change settings by PRAGMA";
    case SQLITE_FUNCTION: return "call this function";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: return "use transactions";
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE: return "create tables; CREATE VIEW and WITH are there";
    default: return "change anything";
    }
}

static int authorize(void *user, int action, const char *a, const char *b, const char *database, const char *inner)
{
    static const char *const pragmas[] = {"table_info",    "table_xinfo", "table_list",      "function_list",
                                          "database_list", "module_list", "compile_options", NULL};
    static const char *const functions[] = {"load_extension", "fts3_tokenizer", NULL};
    hd_query *query = user;
    (void)database;
    (void)inner;
    if (query->is_authorized) return SQLITE_OK;
    if (query_look(query)) { /* SQLite before 3.41 calls only this while it prepares */
        if (query->failure.status == HD_OK) query_tell_stopped(query, &query->failure);
        return SQLITE_DENY;
    }
    bool fine = false, is_dropped = query->is_dropping;
    query->is_dropping = action == SQLITE_DROP_VIEW || action == SQLITE_DROP_TEMP_VIEW;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_TEMP_VIEW: fine = true; break;
    case SQLITE_FUNCTION: fine = b && !is_one_of(b, functions); break;
    case SQLITE_PRAGMA: fine = a && is_one_of(a, pragmas); break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE: fine = is_schema(a); break;
    case SQLITE_DELETE: fine = is_schema(a) || is_dropped; break; /* dropping a view deletes its row */
    default: break;
    }
    if (fine) return SQLITE_OK;
    hd_error_set(&query->failure, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a query reads; it cannot %s",
                 what_of(action));
    return SQLITE_DENY;
}

static hd_status restrict_connection(hd_query *query, hd_error *err)
{
    sqlite3 *db = query->db;
    char text[64];
    sqlite3_snprintf(sizeof text, text, "pragma cache_size=-%d", CACHE_KIB);
    query->is_authorized = true;
    int code = sqlite3_exec(db, text, NULL, NULL, NULL);
    query->is_authorized = false;
    if (code != SQLITE_OK) return query_failed(query, code, err);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)query->options.value_bytes);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH);
    sqlite3_set_authorizer(db, authorize, query);
    sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, look_whether_stopped, query);
    return HD_OK;
}

/* ---- the query ---- */

static hd_status find_ranks(hd_query *query, hd_error *err)
{
    hd_merge_input *list = calloc(query->input_count, sizeof *list);
    if (!list) return HD_NOMEM(err);
    for (size_t i = 0; i < query->input_count; i++) /* which only looks at the traces */
        list[i] = (hd_merge_input){.trace = (hd_trace *)query->inputs[i].trace, .path = query->inputs[i].path};
    hd_status status = hd_merge_known_ranks(list, query->input_count, err);
    for (size_t i = 0; i < query->input_count; i++) {
        hd_query_input *input = &query->inputs[i];
        if (input->rank == HD_NO_NUMBER) input->rank = list[i].rank;
    }
    free(list);
    return status;
}

static hd_status find_shifts(hd_query *query, hd_error *err)
{
    const hd_trace_facts **facts = calloc(query->input_count, sizeof *facts);
    query->shifts = calloc(query->input_count, sizeof *query->shifts);
    bool room = facts && query->shifts;
    for (size_t i = 0; room && i < query->input_count; i++) facts[i] = hd_trace_facts_of(query->inputs[i].trace);
    query->shares_clock = room && hd_clock_shifts_of(query->shifts, facts, query->input_count);
    free(facts);
    return room ? HD_OK : HD_NOMEM(err);
}

bool hd_query_shift(int64_t *out, const hd_query *query, size_t input)
{
    bool is_there = input < query->input_count;
    *out = is_there ? query->shifts[input] : 0;
    return is_there && query->shares_clock;
}

static hd_status copy_inputs(hd_query *query, const hd_query_input *inputs, size_t count, hd_error *err)
{
    query->inputs = calloc(count, sizeof *query->inputs);
    if (!query->inputs) return HD_NOMEM(err);
    query->input_count = count;
    for (size_t i = 0; i < count; i++) query->inputs[i] = inputs[i];
    HD_TRY(find_shifts(query, err));
    return find_ranks(query, err);
}

static hd_status connect(hd_query *query, hd_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    HD_TRY(query_spill_start(query, err));
    if (query->options.heap_bytes) sqlite3_hard_heap_limit64((sqlite3_int64)query->options.heap_bytes);
    int code = sqlite3_open_v2(":memory:", &query->db, flags, query->vfs.zName);
    if (!query->db) return HD_NOMEM(err);
    if (code != SQLITE_OK) return query_failed(query, code, err);
    sqlite3_extended_result_codes(query->db, 1);
    HD_TRY(query_functions_register(query, err));
    HD_TRY(query_tables_register(query, err));
    return restrict_connection(query, err);
}

hd_status hd_query_new(hd_query **out, const hd_query_input *inputs, size_t count, const hd_query_options *options,
                       hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_query_options, options, err);
    if (!count) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a query needs a trace");
    hd_query *query = calloc(1, sizeof *query);
    if (!query) return HD_NOMEM(err);
    query->options = *options;
    if (!query->options.value_bytes || query->options.value_bytes > VALUE_BYTES)
        query->options.value_bytes = VALUE_BYTES;
    if (!query->options.spill_bytes) query->options.spill_bytes = SPILL_BYTES;
    atomic_init(&query->stop, QUERY_RUNS);
    hd_status status = copy_inputs(query, inputs, count, err);
    if (status == HD_OK) status = connect(query, err);
    if (status == HD_OK && options->timeout_ms) query_watch_start(query);
    if (status != HD_OK) {
        hd_query_free(query);
        return status;
    }
    *out = query;
    return HD_OK;
}

void hd_query_free(hd_query *query)
{
    if (!query) return;
    query_watch_end(query);
    query_texts_end(query);
    sqlite3_close_v2(query->db);
    query_spill_end(query);
    query_tables_unregister(query);
    free(query->inputs);
    free(query->shifts);
    free(query);
}
