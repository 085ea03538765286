/* schema.c - names and defaults of columns out of CREATE TABLE
 *
 * A column begins after the first parenthesis or a comma at its level, unless that begins a constraint of the table;
 * its name is its first token. INTEGER PRIMARY KEY is the rowid itself. Columns GENERATED and not STORED are in no
 * record. A constant DEFAULT is kept, since records from before an ALTER TABLE … ADD COLUMN have that value; no
 * expression is evaluated. Tables WITHOUT ROWID are b-trees of another kind. SQLite reads what is not read here.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/sqlite/sqlite.h"

typedef struct lexer {
    const char *at, *end;
    const char *token; /* without its quotes; a quote within it is still doubled */
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
        for (; l->at < l->end; l->at++) {
            if (*l->at != close) continue;
            if (close == ']' || l->end - l->at < 2 || l->at[1] != close) break;
            l->at++;
        }
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

/* Writes a word, or the text between quotes, with doubled quotes reduced to one; returns its size. */
static size_t put_unquoted(char *out, const char *text, size_t size, char quote)
{
    size_t count = 0;
    bool doubles = quote == '"' || quote == '`' || quote == '\'';
    for (size_t i = 0; i < size; i++) {
        out[count++] = text[i];
        i += doubles && text[i] == quote && i + 1 < size && text[i + 1] == quote;
    }
    return count;
}

static bool is(const lexer *l, const char *word)
{
    return l->kind == 'w' && l->size == strlen(word) && strncasecmp(l->token, word, l->size) == 0;
}

/* The same, or the name is quoted; a doubled quote counts once. */
static bool is_named(const lexer *l, const char *name)
{
    size_t i = 0;
    if (l->kind != '"') return is(l, name);
    bool doubles = l->token[-1] != '[';
    for (; *name && i < l->size; name++, i++) {
        if (strncasecmp(l->token + i, name, 1) != 0) return false;
        i += doubles && *name == l->token[-1];
    }
    return !*name && i == l->size;
}

static bool begins_constraint(const lexer *l)
{
    return is(l, "CONSTRAINT") || is(l, "PRIMARY") || is(l, "UNIQUE") || is(l, "CHECK") || is(l, "FOREIGN");
}

/* ---- DEFAULT ---- */

/* A constant as it is written. */
typedef struct literal {
    char kind; /* 0: none; 'n': number; a quote: text; 'w': text that is a word; 'x': blob; 't', 'f': true, false;
                * '0': NULL; '?': no constant */
    bool is_negative;
    const char *text;
    size_t size;
} literal;

/* A number has more characters than a word: a point, the sign of an exponent. */
static void take_number(lexer *l)
{
    bool is_hex = l->end - l->token > 1 && (l->token[1] | 0x20) == 'x';
    for (l->at = l->token; l->at < l->end; l->at++) {
        bool is_sign = !is_hex && l->at > l->token && (l->at[-1] | 0x20) == 'e' && (*l->at == '+' || *l->at == '-');
        if (!is_word(*l->at) && *l->at != '.' && !is_sign) break;
    }
    l->size = (size_t)(l->at - l->token);
}

static literal take_constant(lexer *l, bool is_bare)
{
    literal out = {.kind = '?'};
    if (l->kind == '"') {
        if (is_bare || l->token[-1] == '\'') out.kind = l->token[-1]; /* otherwise it could be a column's name */
    } else if ((l->kind == 'w' && isdigit((unsigned char)*l->token)) || l->kind == '.') {
        take_number(l);
        out.kind = 'n';
    } else if (is(l, "x") && l->at < l->end && *l->at == '\'') {
        take_token(l);
        out.kind = 'x';
    } else if (l->kind == 'w') {
        bool is_time = is(l, "CURRENT_TIME") || is(l, "CURRENT_DATE") || is(l, "CURRENT_TIMESTAMP");
        if (is(l, "NULL"))
            out.kind = '0';
        else if (is(l, "TRUE") || is(l, "FALSE"))
            out.kind = is(l, "TRUE") ? 't' : 'f';
        else if (is_bare && !is_time)
            out.kind = 'w';
    }
    out.text = l->token;
    out.size = l->size;
    return out;
}

/* After DEFAULT; moves *l to the last token of a constant, or leaves it if there is none. */
static literal take_default(lexer *start)
{
    lexer l = *start;
    uint64_t open = 0;
    bool is_signed = false, is_negative = false;
    for (take_token(&l); l.kind == '(' || l.kind == '+' || l.kind == '-'; take_token(&l)) {
        open += l.kind == '(';
        is_signed |= l.kind != '(';
        is_negative ^= l.kind == '-';
    }
    literal out = take_constant(&l, !open && !is_signed);
    for (; open; open--) {
        take_token(&l);
        if (l.kind != ')') return (literal){.kind = '?'};
    }
    if (is_signed && out.kind != 'n') return (literal){.kind = '?'};
    out.is_negative = is_negative;
    if (out.kind != '?') *start = l;
    return out;
}

/* The words of a column's type say whether SQLite turns texts into numbers, or numbers into texts. */
typedef struct type_words {
    bool any, integer, text, blob;
} type_words;

static bool holds(const lexer *l, const char *part)
{
    size_t size = strlen(part);
    for (size_t i = 0; i + size <= l->size; i++) {
        if (strncasecmp(l->token + i, part, size) == 0) return true;
    }
    return false;
}

static void add_type_word(type_words *type, const lexer *l)
{
    type->any = true;
    type->integer |= holds(l, "INT");
    type->text |= holds(l, "CHAR") || holds(l, "CLOB") || holds(l, "TEXT");
    type->blob |= holds(l, "BLOB");
}

static bool ends_type(const lexer *l)
{
    return begins_constraint(l) || is(l, "NOT") || is(l, "NULL") || is(l, "DEFAULT") || is(l, "COLLATE") ||
           is(l, "REFERENCES") || is(l, "GENERATED") || is(l, "AS");
}

/* As a record has it: a whole number is an integer, also of type REAL. false: it is not a number. */
static bool parse_number(sq_value *out, const char *text, size_t size, bool is_negative)
{
    char copy[80], *end;
    if (size == 0 || size + 2 > sizeof copy) return false;
    copy[0] = '-';
    memcpy(copy + 1, text, size);
    copy[1 + size] = '\0';
    const char *number = copy + !is_negative;
    out->type = SQ_INT;
    if (hd_fixed_parse_whole(&out->number, number, size + is_negative)) return true;
    if (strspn(copy + 1, "0123456789.eE+-") != size) return false;
    out->type = SQ_REAL;
    out->real = strtod(number, &end);
    return end == copy + 1 + size;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static bool parse_hex(sq_value *out, const literal *from)
{
    uint64_t value = 0;
    if (from->size < 3 || from->size > 18 || from->text[0] != '0' || (from->text[1] | 0x20) != 'x') return false;
    for (size_t i = 2; i < from->size; i++) {
        int digit = hex_digit(from->text[i]);
        if (digit < 0) return false;
        value = value << 4 | (unsigned)digit;
    }
    *out = (sq_value){.type = SQ_INT, .number = (int64_t)(from->is_negative ? -value : value)};
    return true;
}

static bool is_digits(const literal *from)
{
    size_t i = 0;
    while (i < from->size && isdigit((unsigned char)from->text[i])) i++;
    return i == from->size;
}

enum { NUMBER_ROOM = 24 };

/* A number, which a text column stores as written, except base and leading zeros of integers. */
static bool make_number(sq_value *out, char *room, const literal *from, bool as_text)
{
    bool is_hex = parse_hex(out, from);
    if (!is_hex && !parse_number(out, from->text, from->size, from->is_negative)) return false;
    if (!as_text) return true;
    bool is_integer = out->type == SQ_INT && (is_hex || is_digits(from));
    int size = is_integer ? snprintf(room, NUMBER_ROOM, "%lld", (long long)out->number)
                          : snprintf(room, from->size + NUMBER_ROOM, "%s%.*s", from->is_negative ? "-" : "",
                                     (int)from->size, from->text);
    *out = (sq_value){.type = SQ_TEXT, .size = (size_t)size, .data = room};
    return true;
}

static bool make_blob(sq_value *out, char *room, const literal *from)
{
    for (size_t i = 0; i + 1 < from->size; i += 2) {
        int high = hex_digit(from->text[i]), low = hex_digit(from->text[i + 1]);
        if (high < 0 || low < 0) return false;
        room[i / 2] = (char)(high << 4 | low);
    }
    *out = (sq_value){.type = SQ_BLOB, .size = from->size / 2, .data = room};
    return from->size % 2 == 0;
}

/* A text, which a numeric column stores as a number if it is one. */
static void make_text(sq_value *out, char *room, const literal *from, bool as_number)
{
    size_t size = put_unquoted(room, from->text, from->size, from->kind), at = 0, end = size;
    while (at < end && isspace((unsigned char)room[at])) at++;
    while (end > at && isspace((unsigned char)room[end - 1])) end--;
    if (as_number && parse_number(out, room + at, end - at, false)) return;
    *out = (sq_value){.type = SQ_TEXT, .size = size, .data = room};
}

/* room has from->size + NUMBER_ROOM bytes, which the value may borrow. */
static sq_default make_default(char *room, const literal *from, const type_words *type)
{
    sq_default out = {.value.type = SQ_NULL};
    bool as_text = type->text && !type->integer;
    switch (from->kind) {
    case 0:
    case '0': break;
    case 't':
    case 'f': out.value = (sq_value){.type = SQ_INT, .number = from->kind == 't'}; break;
    case 'n': out.is_unread = !make_number(&out.value, room, from, as_text); break;
    case 'x': out.is_unread = !make_blob(&out.value, room, from); break;
    case '?': out.is_unread = true; break;
    default: make_text(&out.value, room, from, type->integer || (type->any && !as_text && !type->blob));
    }
    if (out.is_unread) out.value = (sq_value){.type = SQ_NULL};
    return out;
}

/* ---- columns ---- */

/* The meaning of the words after a column's name, or of a table constraint; up to the comma or the end of the list. */
typedef struct said {
    bool is_integer, is_primary, is_generated, is_stored, is_descending;
    const char *references; /* a table; NULL: none */
    size_t references_size;
    type_words type;
    literal fallback;
} said;

/* A column's definition. Only of the type INTEGER alone, not of INTEGER(4) or INTEGER UNSIGNED, is a key the rowid. */
static said take_definition(lexer *l)
{
    said out = {0};
    int level = 0;
    bool is_type = true;
    for (bool is_first = true; l->kind; is_first = false, take_token(l)) {
        if (level == 0 && (l->kind == ',' || l->kind == ')')) break;
        is_type = is_type && (level || !ends_type(l));
        if (is_type) out.is_integer = is_first && is_named(l, "INTEGER");
        level += (l->kind == '(') - (l->kind == ')');
        if (level) continue;
        if (is_type && (l->kind == 'w' || l->kind == '"')) add_type_word(&out.type, l);
        if (is(l, "DEFAULT")) {
            out.fallback = take_default(l);
            continue;
        }
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

/* Behind the PRIMARY of a table's own PRIMARY KEY (id), or (id DESC), ((id)), (id COLLATE BINARY). */
static void take_key(sq_table *table, lexer l)
{
    lexer name = {0};
    int level = 0;
    take_token(&l); /* KEY */
    do {
        take_token(&l);
        level += (l.kind == '(') - (l.kind == ')');
        if (!l.kind || l.kind == ',') return; /* of several columns */
        if (!name.size && l.kind != '(') name = l;
    } while (level > 0);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *column = table->columns[i];
        /* whether it is of type INTEGER was put behind its name */
        if (is_named(&name, column) && column[strlen(column) + 1]) table->rowid_column = (int)i;
    }
}

/* The constraints after the columns, up to the next comma: constraints need none between them. */
static void take_constraints(sq_table *table, lexer *l)
{
    for (int level = 0; l->kind; take_token(l)) {
        if (level == 0 && (l->kind == ',' || l->kind == ')')) break;
        level += (l->kind == '(') - (l->kind == ')');
        if (level == 0 && is(l, "PRIMARY")) take_key(table, *l);
    }
}

/* Each row of a hostile file may have them all, and be six bytes itself. */
enum { DEFAULT_BYTES = 4096 }; /* of a table */

static bool add_default(sq_table *table, char *room, const said *about)
{
    if (!table->defaults) table->defaults = calloc(SQ_COLUMN_LIMIT, sizeof *table->defaults);
    if (!table->defaults) return false;
    bool fits = about->fallback.size <= DEFAULT_BYTES - table->default_bytes;
    sq_default *out = &table->defaults[table->column_count];
    *out = fits ? make_default(room, &about->fallback, &about->type) : (sq_default){.is_unread = true};
    table->is_partial |= out->is_unread;
    if (fits) table->default_bytes += (uint32_t)about->fallback.size;
    return true;
}

/* The name, after its NUL whether it is of type INTEGER, the name of the table that it refers to, and the bytes of its
 * default. */
static bool add_column(sq_table *table, const lexer *name, const said *about)
{
    size_t capacity = SQ_COLUMN_LIMIT;
    if (!table->columns) table->columns = calloc(capacity, sizeof *table->columns);
    char *copy =
        table->columns ? malloc(name->size + 3 + about->references_size + about->fallback.size + NUMBER_ROOM) : NULL;
    if (!copy) return false;
    size_t size = put_unquoted(copy, name->token, name->size, name->kind == '"' ? name->token[-1] : '\0');
    copy[size] = '\0';
    copy[size + 1] = about->is_integer;
    char *references = copy + size + 2;
    if (about->references) memcpy(references, about->references, about->references_size);
    references[about->references_size] = '\0';
    if (about->fallback.kind && !add_default(table, references + about->references_size + 1, about)) {
        free(copy);
        return false;
    }
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
        if (begins_constraint(&l)) {
            take_constraints(table, &l);
            continue;
        }
        if (l.kind != 'w' && l.kind != '"') return false;
        take_token(&l);
        said about = take_definition(&l);
        if (about.is_generated && !about.is_stored) {
            table->virtual_count++;
            continue;
        }
        *out_other = table->column_count == SQ_COLUMN_LIMIT;
        if (*out_other) return false;
        if (!add_column(table, &name, &about)) {
            *out_memory = true;
            return false;
        }
    } while (l.kind == ',');
    if (l.kind != ')') return false;
    table->is_without_rowid = is_without_rowid(&l);
    table->is_partial |= table->is_without_rowid || table->virtual_count;
    return true;
}
