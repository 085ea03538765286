/* functions.c - SQL functions that SQLite does not have
 *
 *     regexp(pattern, text), text REGEXP pattern   matches a part of the text: POSIX extended
 *     short_name(text), demangle(text)             see heddle/names.h
 *     kernel_group(text)                           the user's group of a kernel of this name: model/class; null: none
 *     median(x), percentile(x, 0 … 100), quantile(x, 0 … 1)   see aggregate.c
 *
 * Names recur in a trace, so results are cached by name.
 */
#include "base/error.h"
#include "base/memory/arena.h"
#include "base/memory/memo.h"
#include "base/text/pattern.h"
#include "model/class/class.h"
#include "query/impl.h"

#include "heddle/names.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED_BYTES = 64 << 20 };

/* ---- values ---- */

/* The text of a value without a copy: sqlite3_value_text copies every text that is not NUL-terminated. */
static hd_string text_of(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    const void *data = type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_value_blob(value)
                                                                  : (const void *)sqlite3_value_text(value);
    return (hd_string){data ? data : "", data ? (size_t)sqlite3_value_bytes(value) : 0};
}

static void result_failed(sqlite3_context *context, hd_status status, const hd_error *err)
{
    if (status == HD_ERR_MEMORY)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error(context, err->message, -1);
}

/* ---- regexp ---- */

typedef struct expression {
    hd_regex regex;
    hd_memo known; /* a: matches */
    char pattern[];
} expression;

static void free_expression(void *user)
{
    expression *e = user;
    hd_memo_deinit(&e->known);
    hd_regex_deinit(&e->regex);
    free(e);
}

static expression *new_expression(sqlite3_context *context, hd_string pattern)
{
    hd_error err = {0};
    expression *e = pattern.size <= HD_PATTERN_BYTES ? calloc(1, sizeof *e + pattern.size + 1) : NULL;
    hd_status status = HD_ERR_MEMORY;
    if (e) memcpy(e->pattern, pattern.data, pattern.size);
    if (pattern.size > HD_PATTERN_BYTES || memchr(pattern.data, '\0', pattern.size))
        status = hd_error_set(&err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                              "regexp: a pattern has at most %d bytes, and no NUL", HD_PATTERN_BYTES);
    else if (e)
        status = hd_regex_init(&e->regex, e->pattern, true, "regexp", &err);
    if (status == HD_OK) return e;
    result_failed(context, status, &err);
    if (e) free_expression(e);
    return NULL;
}

static void regexp(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) return;
    expression *e = sqlite3_get_auxdata(context, 0), *made = NULL;
    if (!e) e = made = new_expression(context, text_of(values[0]));
    if (!e) return;
    hd_string text = text_of(values[1]);
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &e->known, text.data, text.size);
    bool matches = known ? known->a : hd_regex_matches(&e->regex, text.data, text.size);
    if (!known) hd_memo_add(&e->known, hash, text.data, text.size, (hd_memo_value){.a = matches});
    sqlite3_result_int(context, matches);
    if (made) sqlite3_set_auxdata(context, 0, made, free_expression); /* it may free at once */
}

/* ---- names ---- */

static const char *remembered(const hd_memo_value *value)
{
    return (const char *)(uintptr_t)((uint64_t)value->b << 32 | value->a);
}

static hd_memo_value to_remember(const char *text, size_t size)
{
    uint64_t address = (uintptr_t)text;
    return (hd_memo_value){(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)size};
}

typedef size_t make_name(char out[HD_NAME_BYTES], hd_string name);

typedef struct names {
    make_name *make;
    hd_memo known; /* a, b: the address; c: the size */
    hd_arena texts;
} names;

static void free_names(void *user)
{
    names *n = user;
    hd_memo_deinit(&n->known);
    hd_arena_deinit(&n->texts);
    free(n);
}

static void name_of(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
    names *n = sqlite3_user_data(context);
    hd_string text = text_of(values[0]);
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &n->known, text.data, text.size);
    if (known) {
        sqlite3_result_text(context, remembered(known), (int)known->c, SQLITE_STATIC);
        return;
    }
    char made[HD_NAME_BYTES];
    size_t size = n->make(made, text);
    sqlite3_result_text(context, made, (int)size, SQLITE_TRANSIENT);
    char *kept = n->texts.total_bytes < REMEMBERED_BYTES ? hd_arena_alloc(&n->texts, size) : NULL;
    if (!kept) return;
    memcpy(kept, made, size);
    hd_memo_add(&n->known, hash, text.data, text.size, to_remember(kept, size));
}

/* The path of a group is static, so that it is not copied. */
static void kernel_group(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
    hd_memo *known = sqlite3_user_data(context);
    hd_string text = text_of(values[0]);
    uint64_t hash;
    const hd_memo_value *found = hd_memo_find(&hash, known, text.data, text.size);
    const char *group = found ? remembered(found) : gpu_group_path(gpu_group_of_kernel(text));
    if (!found) hd_memo_add(known, hash, text.data, text.size, to_remember(group, 0));
    if (group) sqlite3_result_text(context, group, -1, SQLITE_STATIC);
}

static void free_groups(void *user)
{
    hd_memo_deinit(user);
    free(user);
}

/* ---- all of them ---- */

enum { FUNCTION_FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

static int add_names(sqlite3 *db, const char *name, make_name *make)
{
    names *n = calloc(1, sizeof *n);
    if (!n) return SQLITE_NOMEM;
    n->make = make;
    return sqlite3_create_function_v2(db, name, 1, FUNCTION_FLAGS, n, name_of, NULL, NULL, free_names);
}

static int add_groups(sqlite3 *db)
{
    hd_memo *known = calloc(1, sizeof *known);
    if (!known) return SQLITE_NOMEM;
    return sqlite3_create_function_v2(db, "kernel_group", 1, FUNCTION_FLAGS, known, kernel_group, NULL, NULL,
                                      free_groups);
}

hd_status query_functions_register(hd_query *query, hd_error *err)
{
    sqlite3 *db = query->db;
    int code = sqlite3_create_function_v2(db, "regexp", 2, FUNCTION_FLAGS, NULL, regexp, NULL, NULL, NULL);
    if (code == SQLITE_OK) code = add_names(db, "short_name", hd_name_short);
    if (code == SQLITE_OK) code = add_names(db, "demangle", hd_name_demangle);
    if (code == SQLITE_OK) code = add_groups(db);
    if (code == SQLITE_OK) code = query_aggregates_register(db);
    if (code == SQLITE_OK) code = query_texts_register(query);
    return code == SQLITE_OK ? HD_OK : query_failed(query, code, err);
}
