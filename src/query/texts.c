/* texts.c - replacements of SQLite functions whose time is not bounded by the size of their arguments
 *
 *     instr, replace             text size times pattern size in SQLite; here linear, by memmem
 *     trim, ltrim, rtrim         text size times set size; here they check whether the statement has to stop
 *     like, glob                 text size times pattern size; refused where that takes seconds
 *     json_patch                 members of one times members of the other; refused likewise
 *
 * All other functions read their operands once, and these have at most SQLITE_LIMIT_LENGTH bytes. Results equal
 * SQLite's, also for invalid UTF-8. LIKE and GLOB constraints still reach the virtual tables: SQLite goes by their
 * names.
 */
#include "base/error.h"
#include "query/impl.h"

#include <string.h>

enum {
#ifdef SQLITE_RESULT_SUBTYPE
    FUNCTION_FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE,
#else
    FUNCTION_FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
#endif
    COMPARES_BETWEEN_LOOKS = 1 << 16, /* comparisons of a character with one of a set */
    JSON_SUBTYPE = 74                 /* 'J', by which SQLite's JSON functions recognise JSON */
};

static const uint64_t MATCH_STEPS = 1 << 30;           /* a second or so */
static const uint64_t PATCH_STEPS = (uint64_t)1 << 35; /* counted in bytes; 250 kB of short members take two seconds */

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* ---- instr ---- */

/* Number of characters in data[1 … at], where a match begins at data[at]. */
static sqlite3_int64 characters_up_to(const char *data, size_t at)
{
    sqlite3_int64 count = 0;
    for (size_t i = 1; i <= at; i++) count += !is_continuation(data[i]);
    return count;
}

static void instr(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    int in = sqlite3_value_type(values[0]), of = sqlite3_value_type(values[1]);
    bool is_text = in != SQLITE_BLOB || of != SQLITE_BLOB;
    if (in == SQLITE_NULL || of == SQLITE_NULL) return;
    const char *part = is_text ? (const char *)sqlite3_value_text(values[1]) : sqlite3_value_blob(values[1]);
    size_t part_size = (size_t)sqlite3_value_bytes(values[1]);
    const char *data = is_text ? (const char *)sqlite3_value_text(values[0]) : sqlite3_value_blob(values[0]);
    size_t size = (size_t)sqlite3_value_bytes(values[0]);
    if ((part_size && !part) || (size && !data)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!part_size) {
        sqlite3_result_int(context, 1);
        return;
    }
    const char *found = NULL;
    if (!is_text || !is_continuation(part[0]))
        found = size ? memmem(data, size, part, part_size) : NULL;
    else if (size >= part_size && memcmp(data, part, part_size) == 0) /* no character begins with such a byte, except
                                                                         the first */
        found = data;
    size_t at = found ? (size_t)(found - data) : 0;
    sqlite3_result_int64(context, !found ? 0 : 1 + (is_text ? characters_up_to(data, at) : (sqlite3_int64)at));
}

/* ---- replace ---- */

typedef struct text_out {
    char *data;                     /* by sqlite3_malloc */
    uint64_t size, capacity, limit; /* capacity before there is data: the expected size */
    int code;
} text_out;

static void put(text_out *out, const char *data, size_t size)
{
    if (out->code == SQLITE_OK && out->size + size > out->limit) out->code = SQLITE_TOOBIG;
    if (out->code == SQLITE_OK && (!out->data || out->size + size > out->capacity)) {
        out->capacity = (out->data ? 2 : 1) * out->capacity + size;
        char *grown = sqlite3_realloc64(out->data, out->capacity);
        if (grown)
            out->data = grown;
        else
            out->code = SQLITE_NOMEM;
    }
    if (out->code != SQLITE_OK) return;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

/* Searches by windows: some memmem read all of the text first, such as AddressSanitizer's, and each call is for one
 * match. */
static const char *find(const char *data, const char *end, const char *part, size_t size)
{
    enum { WINDOW_BYTES = 4096 };
    const size_t window = size > WINDOW_BYTES / 8 ? size * 8 : WINDOW_BYTES;
    if (size == 1) return memchr(data, *part, (size_t)(end - data));
    for (size_t left; (left = (size_t)(end - data)) >= size; data += window - size + 1) {
        const char *found = memmem(data, left < window ? left : window, part, size);
        if (found || left <= window) return found;
    }
    return NULL;
}

static void replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *data = (const char *)sqlite3_value_text(values[0]);
    const char *part = data ? (const char *)sqlite3_value_text(values[1]) : NULL;
    const char *by = part && part[0] ? (const char *)sqlite3_value_text(values[2]) : NULL;
    if (part && !part[0]) sqlite3_result_value(context, values[0]);
    if (!by) return;
    const char *end = data + sqlite3_value_bytes(values[0]);
    size_t part_size = (size_t)sqlite3_value_bytes(values[1]), by_size = (size_t)sqlite3_value_bytes(values[2]);
    const hd_query *query = sqlite3_user_data(context);
    text_out out = {.limit = query->options.value_bytes, .capacity = (uint64_t)(end - data) + by_size + 1};
    for (const char *found; (found = find(data, end, part, part_size)) && out.code == SQLITE_OK;) {
        put(&out, data, (size_t)(found - data));
        put(&out, by, by_size);
        data = found + part_size;
    }
    put(&out, data, (size_t)(end - data));
    if (out.code == SQLITE_OK)
        sqlite3_result_text64(context, out.data, out.size, sqlite3_free, SQLITE_UTF8);
    else
        sqlite3_result_error_code(context, out.code);
    if (out.code != SQLITE_OK) sqlite3_free(out.data);
}

/* ---- trim ---- */

typedef struct trimming {
    hd_query *query;
    bool ascii[128];          /* are in the set */
    const char *others, *end; /* the set's other characters, in ASCII */
    size_t other_count;
    unsigned compares;
    bool is_stopped;
} trimming;

/* SQLite's notion of a character: a byte, or a byte from 0xc0 on with all continuation bytes after it. */
static const char *behind_character(const char *at)
{
    if ((unsigned char)*at++ < 0xc0) return at;
    while (is_continuation(*at)) at++;
    return at;
}

static void read_set(trimming *t, const char *set)
{
    t->others = t->end = set;
    for (; *t->end; t->end = behind_character(t->end)) { /* up to a NUL */
        bool is_ascii = (unsigned char)*t->end < 0x80;
        if (is_ascii) t->ascii[(unsigned char)*t->end] = true;
        t->other_count += !is_ascii;
    }
}

/* The size of the first character of the set that the text begins (at_end: ends) with; 0: none. */
static size_t size_of_match(trimming *t, const char *data, size_t size, bool at_end)
{
    unsigned char edge = (unsigned char)data[at_end ? size - 1 : 0];
    if (edge < 0x80) return t->ascii[edge];
    for (const char *c = t->other_count ? t->others : t->end, *next; c < t->end; c = next) {
        next = behind_character(c);
        size_t length = (size_t)(next - c);
        if (length <= size && memcmp(at_end ? data + size - length : data, c, length) == 0) return length;
        if (++t->compares % COMPARES_BETWEEN_LOOKS == 0 && query_stopped(t->query)) {
            t->is_stopped = true;
            return 0;
        }
    }
    return 0;
}

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2 };

static void trim(sqlite3_context *context, int sides, int count, sqlite3_value **values)
{
    trimming t = {.query = sqlite3_user_data(context)};
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
    const char *data = (const char *)sqlite3_value_text(values[0]);
    const char *set = count > 1 ? (const char *)sqlite3_value_text(values[1]) : " ";
    if (!data || !set) return;
    size_t size = (size_t)sqlite3_value_bytes(values[0]), match;
    read_set(&t, set);
    while (sides & TRIM_LEFT && size && (match = size_of_match(&t, data, size, false))) data += match, size -= match;
    while (sides & TRIM_RIGHT && size && (match = size_of_match(&t, data, size, true))) size -= match;
    if (t.is_stopped)
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    else
        sqlite3_result_text64(context, data, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void trim_both(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim(context, TRIM_LEFT | TRIM_RIGHT, count, values);
}

static void trim_left(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim(context, TRIM_LEFT, count, values);
}

static void trim_right(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim(context, TRIM_RIGHT, count, values);
}

/* ---- like, glob ---- */

enum { ESCAPED_BYTES = 2001 }; /* twice SQLITE_LIMIT_LIKE_PATTERN_LENGTH as set here */

/* If the escape character is % or _, it only escapes: the pattern rewritten with another escape character, 1. */
static const char *with_other_escape(char out[ESCAPED_BYTES], const char *pattern, char escape)
{
    char *to = out, *end = out + ESCAPED_BYTES - 2;
    for (; *pattern && to < end; pattern++) {
        bool is_escape = *pattern == escape;
        if (is_escape || *pattern == 1) *to++ = 1;
        if (is_escape && *pattern++ && !*pattern) break;
        *to++ = *pattern;
    }
    *to = '\0';
    return out;
}

/* Reads the single character of ESCAPE; false: it is not a single character, or null. */
static bool read_escape(unsigned *out, sqlite3_context *context, sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    if (!text) return false;
    const char *end = *text ? behind_character((const char *)text) : NULL;
    if (!end || *end) {
        sqlite3_result_error(context, "ESCAPE expression must be a single character", -1);
        return false;
    }
    unsigned c = *text++;
    if (c >= 0xc0) { /* the same rule for damaged characters as for the pattern's: SQLite's rule for both */
        c &= c >= 0xf0 ? 0x07 : c >= 0xe0 ? 0x0f : 0x1f;
        while ((*text & 0xc0) == 0x80) c = (c << 6) + (*text++ & 0x3f);
        if (c < 0x80 || (c & 0xfffff800) == 0xd800 || (c & 0xfffffffe) == 0xfffe) c = 0xfffd;
    }
    *out = c;
    return true;
}

static void match(sqlite3_context *context, bool is_glob, int count, sqlite3_value **values)
{
    const hd_query *query = sqlite3_user_data(context);
    char rewritten[ESCAPED_BYTES];
    unsigned escape = 0;
    bool is_blob = sqlite3_value_type(values[0]) == SQLITE_BLOB || sqlite3_value_type(values[1]) == SQLITE_BLOB;
    if (is_blob && query->like_skips_blobs) {
        sqlite3_result_int(context, 0);
        return;
    }
    uint64_t pattern_size = (uint64_t)sqlite3_value_bytes(values[0]), size = (uint64_t)sqlite3_value_bytes(values[1]);
    if (pattern_size > (uint64_t)sqlite3_limit(query->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1)) {
        sqlite3_result_error(context, "LIKE or GLOB pattern too complex", -1);
        return;
    }
    if (count > 2 && !read_escape(&escape, context, values[2])) return;
    const char *pattern = (const char *)sqlite3_value_text(values[0]);
    const char *text = (const char *)sqlite3_value_text(values[1]);
    if (!pattern || !text) return;
    if (pattern_size * size > MATCH_STEPS) {
        sqlite3_result_error(context, "LIKE or GLOB: the text is too long for such a pattern; instr takes any", -1);
        return;
    }
    if (escape == '%' || escape == '_') {
        pattern = with_other_escape(rewritten, pattern, (char)escape);
        escape = 1;
    }
    sqlite3_result_int(context,
                       (is_glob ? sqlite3_strglob(pattern, text) : sqlite3_strlike(pattern, text, escape)) == 0);
}

static void like(sqlite3_context *context, int count, sqlite3_value **values)
{
    match(context, false, count, values);
}

static void glob(sqlite3_context *context, int count, sqlite3_value **values)
{
    match(context, true, count, values);
}

/* ---- json_patch ---- */

/* A connection that has SQLite's own function calls it. */
static int prepare_patch(hd_query *query)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, code = SQLITE_OK;
    if (!query->plain) code = sqlite3_open_v2(":memory:", &query->plain, flags, NULL);
    if (code == SQLITE_OK && !query->patch)
        code = sqlite3_prepare_v2(query->plain, "select json_patch(?1, ?2)", -1, &query->patch, NULL);
    return code;
}

static void json_patch(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    hd_query *query = sqlite3_user_data(context);
    uint64_t size = (uint64_t)sqlite3_value_bytes(values[0]), patch_size = (uint64_t)sqlite3_value_bytes(values[1]);
    if (size * patch_size > PATCH_STEPS) {
        sqlite3_result_error(context, "json_patch: too large", -1);
        return;
    }
    int code = prepare_patch(query);
    for (int i = 0; i < 2 && code == SQLITE_OK; i++) code = sqlite3_bind_value(query->patch, i + 1, values[i]);
    if (code == SQLITE_OK) code = sqlite3_step(query->patch);
    if (code == SQLITE_ROW) {
        sqlite3_value *result = sqlite3_column_value(query->patch, 0);
        bool is_json = sqlite3_value_type(result) == SQLITE_TEXT;
        sqlite3_result_value(context, result);
        if (is_json) sqlite3_result_subtype(context, JSON_SUBTYPE);
    } else if (code == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, query->plain ? sqlite3_errmsg(query->plain) : "json_patch failed", -1);
    }
    sqlite3_reset(query->patch);
    sqlite3_clear_bindings(query->patch);
}

/* ---- all of them ---- */

int query_texts_register(hd_query *query)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
    } list[] = {{"instr", 2, instr},      {"replace", 3, replace},  {"trim", 1, trim_both},
                {"trim", 2, trim_both},   {"ltrim", 1, trim_left},  {"ltrim", 2, trim_left},
                {"rtrim", 1, trim_right}, {"rtrim", 2, trim_right}, {"like", 2, like},
                {"like", 3, like},        {"glob", 2, glob},        {"json_patch", 2, json_patch}};
    int code = SQLITE_OK;
    query->like_skips_blobs = sqlite3_compileoption_used("LIKE_DOESNT_MATCH_BLOBS");
    for (size_t i = 0; i < sizeof list / sizeof *list && code == SQLITE_OK; i++)
        code = sqlite3_create_function_v2(query->db, list[i].name, list[i].arguments, FUNCTION_FLAGS, query,
                                          list[i].call, NULL, NULL, NULL);
    return code;
}

void query_texts_end(hd_query *query)
{
    sqlite3_finalize(query->patch);
    sqlite3_close_v2(query->plain);
}
