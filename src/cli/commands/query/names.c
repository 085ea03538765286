/* names.c - completion: columns of the tables that the statement names, then tables, functions, keywords */
#include "cli/commands/query/names.h"

#include "cli/commands/query/session.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const names_commands[] = {".exit", ".help", ".mode",   ".output", ".param", ".params", ".quit",
                                      ".read", ".rows", ".schema", ".tables", ".timer", NULL};

static const char *const keywords[] = {
    "all",         "and",          "as",        "asc",      "between", "by",         "case",      "cast",   "count(",
    "create view", "cross join",   "desc",      "distinct", "else",    "end",        "except",    "exists", "filter",
    "from",        "glob",         "group by",  "having",   "in",      "inner join", "intersect", "is",     "join",
    "left join",   "like",         "limit",     "not",      "null",    "offset",     "on",        "or",     "order by",
    "over",        "partition by", "recursive", "regexp",   "select",  "then",       "union",     "using",  "values",
    "when",        "where",        "window",    "with",     NULL};

/* ---- lists ---- */

static void add(names *n, const char *name)
{
    for (size_t i = 0; i < n->found_count; i++)
        if (strcmp(n->found[i], name) == 0) return;
    if (n->found_count + 1 >= n->found_capacity) {
        size_t capacity = 2 * n->found_capacity + 64;
        const char **found = realloc(n->found, capacity * sizeof *found);
        if (!found) return;
        n->found = found;
        n->found_capacity = capacity;
    }
    n->found[n->found_count++] = name;
}

static void add_matching(names *n, const char *name, const char *typed, size_t size)
{
    if (strncasecmp(name, typed, size) == 0) add(n, name);
}

/* Names that only SQLite knows: functions as "name(", views as "name". */
static void list_names(names *n, const char *sql)
{
    hd_statement *statement = NULL;
    if (hd_query_prepare(&statement, NULL, n->query, sql, SIZE_MAX, NULL) != HD_OK || !statement) return;
    while (hd_statement_next(statement, NULL) == HD_OK) {
        hd_query_value value = hd_statement_at(statement, 0);
        char **listed = realloc(n->listed, (n->listed_count + 1) * sizeof *listed);
        char *name = listed && value.type == HD_QUERY_TEXT ? strndup(value.data, value.size) : NULL;
        if (listed) n->listed = listed;
        if (name) n->listed[n->listed_count++] = name;
    }
    hd_statement_free(statement);
}

static void forget_listed(names *n)
{
    for (size_t i = 0; i < n->listed_count; i++) free(n->listed[i]);
    n->listed_count = 0;
}

void names_init(names *n, hd_query *query)
{
    *n = (names){.query = query, .before = ""};
}

void names_deinit(names *n)
{
    forget_listed(n);
    free(n->listed);
    free(n->found);
}

/* ---- what is typed ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = strcasestr(text, word); at; at = strcasestr(at + 1, word))
        if ((at == text || !is_word(at[-1])) && !is_word(at[size])) return true;
    return false;
}

static void add_columns(names *n, const char *line, const char *typed, size_t size, bool of_all)
{
    const hd_query_table_about *table;
    for (size_t i = 0; (table = hd_query_table_at(n->query, i)); i++) {
        if (!of_all && !has_word(line, table->name) && !has_word(n->before, table->name)) continue;
        for (const hd_query_column_about *column = table->columns; column->name; column++)
            add_matching(n, column->name, typed, size);
    }
}

static void add_tables(names *n, const char *typed, size_t size)
{
    const hd_query_table_about *table;
    for (size_t i = 0; (table = hd_query_table_at(n->query, i)); i++) add_matching(n, table->name, typed, size);
}

static void add_sql(names *n, const char *line, const char *typed, size_t size, bool is_qualified)
{
    add_columns(n, line, typed, size, false);
    if (is_qualified) {
        if (!n->found_count) add_columns(n, line, typed, size, true);
        return;
    }
    add_tables(n, typed, size);
    forget_listed(n);
    list_names(n, "select name from sqlite_temp_master union select name from sqlite_master");
    list_names(n, "select distinct name || '(' from pragma_function_list where name glob '[a-z]*' order by 1");
    for (size_t i = 0; i < n->listed_count && size; i++) add_matching(n, n->listed[i], typed, size);
    for (const char *const *word = keywords; *word; word++) add_matching(n, *word, typed, size);
    if (!n->found_count) add_columns(n, line, typed, size, true); /* the tables come later: select du| */
}

static void add_command_words(names *n, const char *line, const char *typed, size_t size)
{
    static const char *const switches[] = {"on", "off", NULL};
    const char *const *list = strncmp(line, ".mode", 5) == 0    ? session_formats
                              : strncmp(line, ".timer", 6) == 0 ? switches
                                                                : NULL;
    if (strncmp(line, ".schema", 7) == 0) add_tables(n, typed, size);
    for (; list && *list; list++) add_matching(n, *list, typed, size);
}

const char *const *names_complete(void *user, const char *line, size_t at, size_t *from)
{
    names *n = user;
    size_t start = at;
    while (start > 0 && is_word(line[start - 1])) start--;
    bool is_command = !n->before[0] && line[0] == '.';
    if (is_command && start == 1) start = 0;
    n->found_count = 0;
    if (is_command && start == 0)
        for (const char *const *command = names_commands; *command; command++) add_matching(n, *command, line, at);
    else if (is_command)
        add_command_words(n, line, line + start, at - start);
    else
        add_sql(n, line, line + start, at - start, start > 0 && line[start - 1] == '.');
    *from = start;
    if (!n->found_count) return NULL;
    n->found[n->found_count] = NULL;
    return n->found;
}
