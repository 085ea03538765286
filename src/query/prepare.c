/* prepare.c - statements from text
 *
 * Accepts the additions of PerfettoSQL that scripts use: INCLUDE PERFETTO MODULE does nothing, since all tables are
 * always there; CREATE [OR REPLACE] PERFETTO TABLE and VIEW make a view.
 */
#include "base/error.h"
#include "query/impl.h"
#include "query/token.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Up to and with its semicolon. */
static const char *behind_statement(const char *at, const char *end)
{
    query_token token;
    while (query_token_next(&token, &at, end))
        if (query_token_is(&token, ";")) break;
    return at;
}

static bool takes_words(const char **at, const char *end, const char *const *words)
{
    query_token token;
    const char *next = *at;
    for (; *words; words++)
        if (!query_token_next(&token, &next, end) || !query_token_is(&token, *words)) return false;
    *at = next;
    return true;
}

/* Where the first statement begins; NULL: there is none. */
static const char *find_statement(const char *at, const char *end)
{
    static const char *const include[] = {"include", "perfetto", "module", NULL};
    query_token token;
    for (const char *next = at; query_token_next(&token, &next, end); next = at) {
        at = token.text;
        if (takes_words(&at, end, include))
            at = behind_statement(at, end);
        else if (query_token_is(&token, ";"))
            at++;
        else
            return at;
    }
    return NULL;
}

/* ---- CREATE PERFETTO … ---- */

typedef struct perfetto_view {
    const char *start, *end; /* the part of the text that CREATE TEMP VIEW replaces */
    query_token name;
    bool replaces;
} perfetto_view;

static bool is_perfetto_view(perfetto_view *out, const char *at, const char *end)
{
    static const char *const create[] = {"create", NULL}, *const replace[] = {"or", "replace", NULL},
                             *const table[] = {"perfetto", "table", NULL}, *const view[] = {"perfetto", "view", NULL};
    out->start = at;
    if (!takes_words(&at, end, create)) return false;
    out->replaces = takes_words(&at, end, replace);
    if (!takes_words(&at, end, table) && !takes_words(&at, end, view)) return false;
    out->end = at;
    return query_token_next(&out->name, &at, end);
}

static hd_status drop_view(hd_query *query, const query_token *name, hd_error *err)
{
    if (name->size > INT_MAX) return HD_OK;
    char *text = sqlite3_mprintf("drop view if exists temp.%.*s", (int)name->size, name->text);
    if (!text) return HD_NOMEM(err);
    int code = sqlite3_exec(query->db, text, NULL, NULL, NULL);
    sqlite3_free(text);
    return code == SQLITE_OK ? HD_OK : query_failed(query, code, err);
}

/* A copy of the text in SQLite's syntax, in which the rest keeps its position. */
static hd_status rewrite(char **out, hd_query *query, const char *sql, const char *end, hd_error *err)
{
    static const char words[] = "create temp view"; /* shorter than the text it replaces */
    perfetto_view view;
    *out = NULL;
    if (!is_perfetto_view(&view, sql, end)) return HD_OK;
    char *copy = malloc((size_t)(end - sql) + 1);
    if (!copy) return HD_NOMEM(err);
    memcpy(copy, sql, (size_t)(end - sql));
    copy[end - sql] = '\0';
    memset(copy + (view.start - sql), ' ', (size_t)(view.end - view.start));
    memcpy(copy + (view.start - sql), words, sizeof words - 1);
    hd_status status = view.replaces ? drop_view(query, &view.name, err) : HD_OK;
    if (status == HD_OK)
        *out = copy;
    else
        free(copy);
    return status;
}

/* ---- statements ---- */

static hd_status compile(hd_statement *statement, const char **tail, const char *sql, const char *end, hd_error *err)
{
    hd_query *query = statement->query;
    size_t size = (size_t)(end - sql);
    char *copy;
    HD_TRY(rewrite(&copy, query, sql, end, err));
    const char *text = copy ? copy : sql;
    query->failure = (hd_error){0};
    statement->deadline_ns = query_deadline(query);
    query_watch_set(query, statement); /* preparing nested views takes time in itself */
    int code = sqlite3_prepare_v3(query->db, text, (int)size, 0, &statement->stmt, tail);
    query_watch_set(query, NULL);
    *tail = sql + (*tail ? *tail - text : 0);
    hd_status status = code == SQLITE_OK ? HD_OK : query_explain(query, text, size, err);
    free(copy);
    return status;
}

/* ---- names of columns ---- */

static bool is_taken(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], name) == 0) return true;
    return false;
}

/* Tables and objects need each name once: id, id_2. */
static hd_status name_columns(hd_statement *statement, hd_error *err)
{
    size_t count = hd_statement_column_count(statement);
    bool is_needed = false;
    char **names = calloc(count + 1, sizeof *names);
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        const char *name = hd_statement_column_name(statement, i);
        names[i] = sqlite3_mprintf("%s", name);
        int n = 2;
        for (size_t k = 0; k < i; k++) n += strcmp(hd_statement_column_name(statement, k), name) == 0;
        for (n -= n > 2; names[i] && is_taken(names, i, names[i]); n++) {
            is_needed = true;
            sqlite3_free(names[i]);
            names[i] = sqlite3_mprintf("%s_%d", name, n);
        }
        if (!names[i]) status = HD_NOMEM(err);
    }
    if (is_needed && status == HD_OK) {
        statement->names = names;
        return HD_OK;
    }
    for (size_t i = 0; names && names[i]; i++) sqlite3_free(names[i]);
    free(names);
    return status;
}

hd_status hd_query_prepare(hd_statement **out, const char **rest, hd_query *query, const char *sql, size_t size,
                           hd_error *err)
{
    *out = NULL;
    if (size == SIZE_MAX) size = strlen(sql);
    const char *end = sql + size;
    if (rest) *rest = end;
    if (size >= INT_MAX) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a query of %zu bytes", size);
    atomic_store_explicit(&query->stop, QUERY_RUNS, memory_order_relaxed);
    const char *start = find_statement(sql, end);
    if (start)
        end = behind_statement(start, end); /* the part that SQLite copies; passing all the text each time would
                                               be quadratic */
    const char *nul = memchr(sql, '\0', (size_t)(end - sql)), *tail = end;
    if (nul) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, (uint64_t)(nul - sql), "a NUL byte in a query");
    if (!start) return HD_OK;
    hd_statement *statement = calloc(1, sizeof *statement);
    if (!statement) return HD_NOMEM(err);
    statement->query = query;
    hd_error failure = {0};
    hd_status status = compile(statement, &tail, start, end, &failure);
    if (status == HD_OK && statement->stmt) status = name_columns(statement, &failure);
    if (status == HD_OK && statement->stmt) {
        if (rest) *rest = tail;
        *out = statement;
        return HD_OK;
    }
    hd_statement_free(statement);
    if (status != HD_OK && failure.offset != HD_OFFSET_NONE) failure.offset += (uint64_t)(start - sql);
    if (status != HD_OK && err && err->status == HD_OK) *err = failure;
    return status;
}

void hd_statement_free(hd_statement *statement)
{
    if (!statement) return;
    if (statement->query->watch.statement == statement) query_watch_set(statement->query, NULL);
    for (size_t i = 0; statement->names && statement->names[i]; i++) sqlite3_free(statement->names[i]);
    free(statement->names);
    sqlite3_finalize(statement->stmt);
    free(statement);
}

bool hd_query_is_complete(const char *sql)
{
    query_token token;
    bool is_complete = false;
    for (const char *end = sql + strlen(sql); query_token_next(&token, &sql, end);)
        is_complete = query_token_is(&token, ";");
    return is_complete;
}
