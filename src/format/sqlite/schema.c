/* schema.c - names of columns out of CREATE TABLE
 *
 * A column begins behind the first parenthesis or a comma that stands at its level, unless that begins a constraint of
 * the table; its name is its first token. INTEGER PRIMARY KEY is the rowid itself. Columns GENERATED and not STORED
 * stand in no record. Tables WITHOUT ROWID are b-trees of another kind, which no profiler is known to write.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/memory/vector.h"
#include "format/sqlite/sqlite.h"

typedef struct lexer {
    const char *at, *end;
    const char *token; /* without its quotes */
    size_t size;
    char kind; /* 'w': word, or quoted: '"'; '(' ')' ',' or another character; 0: the end */
} lexer;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static void skip_space(lexer *l)
{
    while (l->at < l->end) {
        if (*l->at == ' ' || (*l->at >= '\t' && *l->at <= '\r'))
            l->at++;
        else if (l->end - l->at >= 2 && memcmp(l->at, "--", 2) == 0)
            while (l->at < l->end && *l->at != '\n') l->at++;
        else if (l->end - l->at >= 2 && memcmp(l->at, "/*", 2) == 0) {
            const char *close = memmem(l->at + 2, (size_t)(l->end - l->at - 2), "*/", 2);
            l->at = close ? close + 2 : l->end;
        } else
            return;
    }
}

static void take_token(lexer *l)
{
    skip_space(l);
    l->token = l->at;
    l->kind = 0;
    l->size = 0;
    if (l->at == l->end) return;
    char first = *l->at, close = first == '[' ? ']' : first;
    if (first == '"' || first == '`' || first == '[' || first == '\'') {
        l->token = ++l->at;
        while (l->at < l->end && *l->at != close) l->at++;
        l->size = (size_t)(l->at - l->token);
        l->at += l->at < l->end;
        l->kind = '"';
        return;
    }
    l->kind = is_word(first) ? 'w' : first;
    l->at++;
    while (l->kind == 'w' && l->at < l->end && is_word(*l->at)) l->at++;
    l->size = (size_t)(l->at - l->token);
}

static bool is(const lexer *l, const char *word)
{
    return l->kind == 'w' && l->size == strlen(word) && strncasecmp(l->token, word, l->size) == 0;
}

static bool begins_constraint(const lexer *l)
{
    return is(l, "CONSTRAINT") || is(l, "PRIMARY") || is(l, "UNIQUE") || is(l, "CHECK") || is(l, "FOREIGN");
}

/* What the words behind a column's name, or a constraint of the table, say; up to the comma or the end of the list. */
typedef struct said {
    bool is_integer, is_primary, is_generated, is_stored, is_descending;
    const char *references; /* a table; NULL: none */
    size_t references_size;
} said;

static said take_definition(lexer *l)
{
    said out = {0};
    int level = 0;
    for (bool is_first = true; l->kind; is_first = false, take_token(l)) {
        if (level == 0 && (l->kind == ',' || l->kind == ')')) break;
        level += (l->kind == '(') - (l->kind == ')');
        if (level) continue;
        out.is_integer |= is_first && is(l, "INTEGER");
        out.is_primary |= is(l, "PRIMARY");
        out.is_generated |= is(l, "AS") || is(l, "GENERATED");
        out.is_stored |= is(l, "STORED");
        out.is_descending |= is(l, "DESC");
        if (!is(l, "REFERENCES")) continue;
        take_token(l);
        if (l->kind != 'w' && l->kind != '"') break;
        out.references = l->token;
        out.references_size = l->size;
    }
    return out;
}

/* PRIMARY KEY (id) of its own, as a constraint of the table. */
static void take_constraint(sq_table *table, const lexer *start)
{
    lexer l = *start;
    if (is(&l, "CONSTRAINT")) {
        take_token(&l);
        take_token(&l);
    }
    if (!is(&l, "PRIMARY")) return;
    take_token(&l);
    take_token(&l);
    if (l.kind != '(') return;
    take_token(&l);
    lexer name = l;
    take_token(&l);
    if (l.kind != ')') return; /* of several columns */
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *column = table->columns[i];
        /* whether it is of type INTEGER was put before its name */
        if (strlen(column) == name.size && strncasecmp(column, name.token, name.size) == 0 && column[name.size + 1])
            table->rowid_column = (int)i;
    }
}

/* The name, behind its NUL whether it is of type INTEGER, and the name of the table that it refers to. */
static bool add_column(sq_table *table, const lexer *name, const said *about)
{
    size_t capacity = SQ_COLUMN_LIMIT;
    if (!table->columns) table->columns = calloc(capacity, sizeof *table->columns);
    char *copy = table->columns ? malloc(name->size + 3 + about->references_size) : NULL;
    if (!copy) return false;
    memcpy(copy, name->token, name->size);
    copy[name->size] = '\0';
    copy[name->size + 1] = about->is_integer;
    char *references = copy + name->size + 2;
    if (about->references) memcpy(references, about->references, about->references_size);
    references[about->references_size] = '\0';
    if (about->is_integer && about->is_primary && !about->is_descending) table->rowid_column = (int)table->column_count;
    table->columns[table->column_count++] = copy;
    return true;
}

static bool is_without_rowid(lexer *l)
{
    while (l->kind) {
        take_token(l);
        if (is(l, "WITHOUT")) return true;
    }
    return false;
}

const char *sq_table_references(const sq_table *table, const char *column)
{
    int at = sq_table_column(table, column);
    return at < 0 ? "" : table->columns[at] + strlen(table->columns[at]) + 2;
}

bool sq_schema_parse(sq_table *table, bool *out_memory, bool *out_other, const char *sql, size_t size)
{
    lexer l = {.at = sql, .end = sql + size};
    *out_memory = *out_other = false;
    take_token(&l);
    if (!is(&l, "CREATE")) return false;
    take_token(&l);
    while (l.kind && l.kind != '(') take_token(&l);
    do {
        take_token(&l);
        lexer name = l;
        bool is_constraint = begins_constraint(&l);
        if (is_constraint)
            take_constraint(table, &l);
        else if (l.kind != 'w' && l.kind != '"')
            return false;
        else
            take_token(&l);
        said about = take_definition(&l);
        if (is_constraint || (about.is_generated && !about.is_stored)) continue;
        *out_other = table->column_count == SQ_COLUMN_LIMIT;
        if (*out_other) return false;
        if (!add_column(table, &name, &about)) {
            *out_memory = true;
            return false;
        }
    } while (l.kind == ',');
    if (l.kind != ')') return false;
    *out_other = is_without_rowid(&l);
    return !*out_other;
}
