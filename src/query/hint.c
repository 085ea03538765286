/* hint.c - why a statement cannot be prepared, where, and what was probably meant */
#include "base/error.h"
#include "query/impl.h"
#include "query/token.h"

#include "heddle/names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 100 };

static const char views[] = "select name from sqlite_temp_master union select name from sqlite_master";

typedef struct guess {
    const char *typed, *best;
    unsigned distance;
} guess;

static void consider(guess *g, const char *candidate)
{
    hd_name_suggest(g->typed, candidate, &g->best, &g->distance);
}

/* ---- where ---- */

/* The name after a message's prefix, "no such column: k.name" -> "k.name", or in its quotes, near "form". */
static bool name_in(char out[NAME_BYTES], const char *message, const char *before)
{
    size_t size = strlen(before);
    if (strncmp(message, before, size) != 0) return false;
    message += size;
    size = before[size - 1] == '"' ? strcspn(message, "\"") : strlen(message);
    if (size >= NAME_BYTES) return false;
    memcpy(out, message, size);
    out[size] = '\0';
    return true;
}

/* Finds a name in the statement. SQLite gives the position of some names only, and it may be a position in the text of
 * a view. */
static uint64_t find_name(const char *sql, size_t size, const char *name, int told)
{
    query_token token;
    const char *dot = strchr(name, '.'), *end = sql + size;
    size_t first = dot ? (size_t)(dot - name) : strlen(name);
    uint64_t found = HD_OFFSET_NONE;
    for (const char *at = sql; query_token_next(&token, &at, end) && !query_token_is(&token, ";");) {
        if (!query_token_names(&token, name, first)) continue;
        uint64_t offset = (uint64_t)(token.text - sql);
        if (told >= 0 && offset == (uint64_t)told) return offset;
        if (found == HD_OFFSET_NONE) found = offset;
    }
    return found;
}

/* ---- what was meant ---- */

static bool stands_in(const char *sql, size_t size, const char *name)
{
    query_token token;
    for (const char *at = sql, *end = sql + size; query_token_next(&token, &at, end) && !query_token_is(&token, ";");)
        if (query_token_names(&token, name, strlen(name))) return true;
    return false;
}

/* The word before a position: SQLite takes a misspelt keyword for an alias and complains about the word after it. */
static bool word_before(char out[NAME_BYTES], uint64_t *offset, const char *sql, size_t size, uint64_t place)
{
    query_token token;
    bool found = false;
    for (const char *at = sql, *end = sql + size; query_token_next(&token, &at, end);) {
        if ((uint64_t)(token.text - sql) >= place) break;
        found = token.kind == QUERY_WORD && token.size < NAME_BYTES;
        if (!found) continue;
        memcpy(out, token.text, token.size);
        out[token.size] = '\0';
        *offset = (uint64_t)(token.text - sql);
    }
    return found;
}

/* Candidates are the columns of the tables that the statement names. Returns the only such table, NULL if there are
 * several. */
static const hd_query_table_about *guess_column(guess *g, const hd_query *query, const char *sql, size_t size)
{
    const hd_query_table_about *table, *only = NULL;
    size_t tables = 0;
    for (size_t i = 0; (table = hd_query_table_at(query, i)); i++) {
        if (!stands_in(sql, size, table->name)) continue;
        only = tables++ ? NULL : table;
        for (const hd_query_column_about *column = table->columns; column->name; column++) consider(g, column->name);
    }
    return only;
}

static void guess_table(guess *g, const hd_query *query)
{
    const hd_query_table_about *table;
    for (size_t i = 0; (table = hd_query_table_at(query, i)); i++) consider(g, table->name);
}

/* Considers the rows of the query `list` as candidates; the best one is written into `name`. */
static void guess_listed(guess *g, char name[NAME_BYTES], hd_query *query, const char *list)
{
    sqlite3_stmt *stmt = NULL;
    query->is_authorized = true;
    if (sqlite3_prepare_v2(query->db, list, -1, &stmt, NULL) == SQLITE_OK)
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(stmt, 0);
            unsigned before = g->distance;
            if (text) consider(g, text);
            if (g->distance == before) continue;
            snprintf(name, NAME_BYTES, "%s", text);
            g->best = name;
        }
    sqlite3_finalize(stmt);
    query->is_authorized = false;
}

static void guess_keyword(guess *g, char name[NAME_BYTES])
{
    /* Preferred among equally near words: "form" is from, not for. */
    static const char *const usual[] = {"select", "from", "where", "group", "order",  "by",       "having", "limit",
                                        "join",   "left", "with",  "union", "values", "distinct", NULL};
    const char *text;
    int size;
    if (sqlite3_keyword_check(g->typed, (int)strlen(g->typed))) return;
    for (const char *const *word = usual; *word; word++) consider(g, *word);
    if (g->best) return;
    for (int i = 0; sqlite3_keyword_name(i, &text, &size) == SQLITE_OK; i++) {
        char word[NAME_BYTES], *at = word;
        unsigned before = g->distance;
        for (; size > 0 && at < word + sizeof word - 1; size--, text++)
            *at++ = (char)(*text >= 'A' && *text <= 'Z' ? *text + 'a' - 'A' : *text);
        *at = '\0';
        consider(g, word);
        if (g->distance == before) continue;
        memcpy(name, word, (size_t)(at - word) + 1);
        g->best = name;
    }
}

/* "slice has id, ts, dur …" */
static void list_columns(char *out, size_t size, const hd_query_table_about *table)
{
    size_t used = (size_t)snprintf(out, size, "; %s has", table->name);
    for (const hd_query_column_about *column = table->columns; column->name && used < size; column++)
        used += (size_t)snprintf(out + used, size - used, "%s %s", column == table->columns ? "" : ",", column->name);
}

/* What the statement meant at the word that SQLite rejected. */
static void guess_syntax(guess *g, char best[NAME_BYTES], uint64_t *offset, const char *sql, size_t size)
{
    char word[NAME_BYTES];
    uint64_t place = 0;
    guess before = {.typed = word, .distance = UINT_MAX};
    if (*offset != HD_OFFSET_NONE && word_before(word, &place, sql, size, *offset)) guess_keyword(&before, best);
    if (before.best) {
        *offset = place;
        g->best = before.best;
    } else {
        guess_keyword(g, best);
    }
}

hd_status query_explain(hd_query *query, const char *sql, size_t size, hd_error *err)
{
    int code = sqlite3_extended_errcode(query->db), told = sqlite3_error_offset(query->db);
    char message[HD_ERROR_MESSAGE_BYTES], name[NAME_BYTES] = "", best[NAME_BYTES], hint[HD_ERROR_MESSAGE_BYTES] = "";
    if (query->failure.status != HD_OK || (code & 0xff) != SQLITE_ERROR) return query_failed(query, code, err);
    snprintf(message, sizeof message, "%s", sqlite3_errmsg(query->db));
    guess g = {.typed = name, .distance = UINT_MAX};
    const hd_query_table_about *only = NULL;
    bool is_column = name_in(name, message, "no such column: ");
    bool is_table = !is_column && name_in(name, message, "no such table: ");
    bool is_function = !is_column && !is_table && name_in(name, message, "no such function: ");
    bool is_syntax = !is_column && !is_table && !is_function && name_in(name, message, "near \"");
    uint64_t offset = name[0] ? find_name(sql, size, name, told) : HD_OFFSET_NONE;
    if (offset == HD_OFFSET_NONE && told >= 0 && (size_t)told <= size) offset = (uint64_t)told;
    if (is_column) {
        const char *dot = strrchr(name, '.');
        g.typed = dot ? dot + 1 : name;
        only = guess_column(&g, query, sql, size);
    } else if (is_table) {
        guess_table(&g, query);
        if (!g.best) guess_listed(&g, best, query, views);
        if (!g.best) snprintf(hint, sizeof hint, "; `select distinct table_name from heddle_tables` lists the tables");
    } else if (is_function) {
        guess_listed(&g, best, query, "select distinct name from pragma_function_list");
    } else if (is_syntax) {
        guess_syntax(&g, best, &offset, sql, size);
    }
    if (g.best)
        snprintf(hint, sizeof hint, "; did you mean %s?", g.best);
    else if (only)
        list_columns(hint, sizeof hint, only);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, offset, "%s%s", message, hint);
}
