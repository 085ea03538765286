/* json_walk.c - walking a JSON document that is not a list of events */
#include "format/json_walk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"

hd_status hd_walk_init(hd_json_walk *w, const hd_walk_about *about, hd_builder *builder, hd_input *input,
                       uint64_t limit, const hd_read_options *options, hd_error *err)
{
    *w = (hd_json_walk){.about = *about, .builder = builder, .options = options, .err = err};
    hd_json_repair_init(&w->repair, NULL);
    HD_TRY(hd_input_all(&w->bytes, input, HD_JSON_PADDING, limit, err));
    w->text = (const char *)w->bytes.data;
    w->size = w->bytes.size;
    return HD_OK;
}

void hd_walk_deinit(hd_json_walk *w)
{
    free(w->scratch);
    hd_json_repair_deinit(&w->repair);
    hd_arena_deinit(&w->mended);
    hd_bytes_deinit(&w->bytes);
}

const char *hd_walk_start(const hd_json_walk *w)
{
    return hd_json_skip_space(w->text + (w->size >= 3 && memcmp(w->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0));
}

/* The end of the text that contains p: the file's, or that of a repaired text, which is elsewhere in memory. */
static const char *end_of(const hd_json_walk *w, const char *p)
{
    bool is_of_file = (uintptr_t)p - (uintptr_t)w->text <= w->size + HD_JSON_PADDING;
    return is_of_file ? w->text + w->size : p + strlen(p);
}

/* A 0 byte follows every text, and occurs within the file's text only in damage. */
static bool is_at_end(const hd_json_walk *w, const char *p)
{
    return *p == 0 && p >= end_of(w, p);
}

/* The offset of p in the file; within a repaired text, the offset of its begin. */
size_t hd_walk_offset(const hd_json_walk *w, const char *p)
{
    return p >= w->text && p <= w->text + w->size ? (size_t)(p - w->text) : w->mended_offset;
}

hd_status hd_walk_damaged(const hd_json_walk *w, const char *p, const char *what)
{
    size_t offset = hd_walk_offset(w, p);
    if (offset == w->size || hd_json_is_cut(p, end_of(w, p)))
        return hd_error_set(w->err, HD_ERR_DAMAGED, NULL, offset, "the %s ends in the middle", w->about.title);
    return hd_error_set(w->err, HD_ERR_DAMAGED, NULL, offset, "%s", what);
}

static hd_status decode(hd_string *out, hd_json_walk *w, const hd_json_text *text)
{
    *out = (hd_string){text->data, text->size};
    if (!text->escaped && !text->wide) return HD_OK;
    if (!hd_reserve(&w->scratch, &w->scratch_capacity, text->size)) return HD_NOMEM(w->err);
    out->data = w->scratch;
    return hd_json_decode(w->scratch, &out->size, text) ? HD_OK
                                                        : hd_walk_damaged(w, text->data, "a string is not UTF-8");
}

hd_status hd_walk_lose(hd_json_walk *w, const char *p, const char *what)
{
    if (w->options->strict) return hd_walk_damaged(w, p, what);
    if (w->quiet) return HD_OK;
    w->lost = true;
    hd_builder_ledger(w->builder, w->about.stage, w->about.damaged, HD_LEDGER_LOSS, 1, hd_walk_offset(w, p));
    return HD_OK;
}

/* ---- objects and arrays ---- */

/* Moves to the next comma, or to the closing bracket of the current level. */
static const char *skip_junk(const hd_json_walk *w, const char *p)
{
    const char *end = end_of(w, p);
    hd_json_text text;
    for (size_t depth = 0; p < end; p++) {
        if (*p == '"') {
            const char *behind = hd_json_string(&text, p + 1), *then = hd_json_skip_space(p + 1);
            bool closes = *then == ':' || *then == ',' || *then == '}' || *then == ']'; /* its own begin is lost */
            if (behind && !closes) p = behind - 1;
            continue;
        }
        if (depth == 0 && (*p == ',' || *p == '}' || *p == ']')) return p;
        if (*p == '{' || *p == '[') depth++;
        if (*p == '}' || *p == ']') depth--;
    }
    return end;
}

/* Moves to the next element of the list that `close` ends. */
static hd_status next(hd_json_walk *w, const char **at, bool *first, char close)
{
    for (;; *at = skip_junk(w, *at)) {
        const char *p = *at = hd_json_skip_space(*at);
        if (*p == close) {
            *at = p + 1;
            return HD_END;
        }
        if (is_at_end(w, p)) {
            if (w->cut || w->quiet) return HD_END;
            w->cut = w->lost = true;
            if (w->options->strict) return hd_walk_damaged(w, p, "");
            hd_builder_ledger(w->builder, w->about.stage, w->about.truncated, HD_LEDGER_LOSS, 1, w->size);
            return HD_END;
        }
        if (*first || *p == ',') {
            *at = *first ? p : hd_json_skip_space(p + 1);
            *first = false;
            if (!is_at_end(w, *at)) return HD_OK;
            continue;
        }
        HD_TRY(hd_walk_lose(w, p, "no comma, and no end of the list, after a value"));
        const char *then = p;
        while (*then == '}') then = hd_json_skip_space(then + 1);
        bool stray = *then == ']' || (*then == ',' && *hd_json_skip_space(then + 1) == '{');
        if (*p == '}' && !stray) return HD_END; /* of a list without its bracket */
        *at += *p == ']' || *p == '}';
    }
}

hd_status hd_walk_item(hd_json_walk *w, const char **at, bool *first)
{
    return next(w, at, first, ']');
}

/* The key at *at, and to its value. */
static hd_status read_key(hd_json_walk *w, const char **at, hd_string *key)
{
    hd_json_text text;
    if (**at != '"') return hd_walk_damaged(w, *at, "no key where one must be");
    const char *p = hd_json_string(&text, *at + 1);
    if (!p) return hd_walk_damaged(w, *at, "a key is not a valid string");
    HD_TRY(decode(key, w, &text));
    p = hd_json_skip_space(p);
    if (*p != ':') return hd_walk_damaged(w, p, "no colon after a key");
    *at = hd_json_skip_space(p + 1);
    return HD_OK;
}

hd_status hd_walk_pass(hd_json_walk *w, hd_status status)
{
    if (status != HD_ERR_DAMAGED || w->options->strict) return status;
    uint64_t offset = w->err->offset;
    *w->err = (hd_error){0};
    return hd_walk_lose(w, w->text + offset, "");
}

hd_status hd_walk_member(hd_string *key, hd_json_walk *w, const char **at, bool *first)
{
    for (;;) {
        HD_TRY(next(w, at, first, '}'));
        hd_status status = read_key(w, at, key);
        if (status == HD_OK) return HD_OK;
        HD_TRY(hd_walk_pass(w, status));
        *at = skip_junk(w, *at);
    }
}

/* How much text there is up to the bracket that ends the list p is in, if that is near. */
static size_t size_in_list(const hd_json_walk *w, const char *p)
{
    enum { NEAR = 64 << 10 };
    size_t left = (size_t)(end_of(w, p) - p), open = 0;
    for (size_t i = 0; i < left && i < NEAR; i++) {
        if (p[i] == '[') open++;
        if (p[i] != ']') continue;
        const char *then = hd_json_skip_space(p + i + 1);
        bool goes_on = *then == ',' && *hd_json_skip_space(then + 1) == '{'; /* it is in place of a brace */
        if (open == 0 && !goes_on) return i;
        open -= open > 0;
    }
    return left;
}

/* Replaces the invalid value at *at: repaired, if it is an object, else null. */
static hd_status mend(hd_json_walk *w, hd_walk_span *out, const char **at)
{
    hd_repair_outcome outcome;
    size_t used;
    const char *start = *at;
    *out = (hd_walk_span){"null", 4};
    if (*start != '{') {
        *at = skip_junk(w, start);
        return hd_walk_lose(w, start, "a value that is not valid JSON");
    }
    HD_TRY(hd_json_repair_object(&outcome, &used, &w->repair, start, size_in_list(w, start), true, w->err));
    *at = start + used;
    for (size_t i = 0; i < w->repair.issue_count; i++)
        hd_builder_ledger(w->builder, w->about.stage, w->repair.issues[i].code, HD_LEDGER_REPAIR,
                          w->repair.issues[i].count, hd_walk_offset(w, start) + w->repair.issues[i].offset);
    if (outcome != HD_REPAIR_DONE) return hd_walk_lose(w, start, "");
    char *copy = hd_arena_alloc(&w->mended, w->repair.size + HD_JSON_PADDING);
    if (!copy) return HD_NOMEM(w->err);
    memcpy(copy, w->repair.text, w->repair.size);
    memset(copy + w->repair.size, 0, HD_JSON_PADDING);
    *out = (hd_walk_span){copy, w->repair.size};
    return HD_OK;
}

hd_status hd_walk_skip(hd_walk_span *out, hd_json_walk *w, const char **at)
{
    const char *p = hd_json_skip_value(*at);
    if (!p) return w->options->strict ? hd_walk_damaged(w, *at, "a value that is not valid JSON") : mend(w, out, at);
    *out = (hd_walk_span){*at, (size_t)(p - *at)};
    *at = p;
    return HD_OK;
}

void hd_walk_pass_over(hd_json_walk *w, const char **at)
{
    const char *p = hd_json_skip_value(*at);
    *at = p ? p : skip_junk(w, *at);
}

hd_status hd_walk_keep(hd_json_walk *w, hd_json_out *rest, hd_string key, const char **at)
{
    hd_walk_span span;
    hd_json_put_text(rest, rest->size > 1 && rest->data[rest->size - 1] != '{' ? "," : "");
    hd_json_put_string(rest, key.data, key.size);
    hd_json_put_text(rest, ":");
    HD_TRY(hd_walk_skip(&span, w, at));
    hd_json_put(rest, span.data, span.size);
    return HD_OK;
}

hd_status hd_walk_enter(hd_json_walk *w, const char **at, char open, bool *is_null)
{
    hd_walk_span span;
    *is_null = **at == 'n';
    if (*is_null) return hd_walk_skip(&span, w, at);
    if (**at != open)
        return hd_walk_damaged(w, *at, open == '{' ? "no object where one must be" : "no list where one must be");
    ++*at;
    return HD_OK;
}

hd_status hd_walk_try_enter(hd_json_walk *w, const char **at, char open, bool *is_null)
{
    hd_walk_span span;
    *is_null = true;
    if (!*at) return HD_OK;
    if (**at == open || **at == 'n') return hd_walk_enter(w, at, open, is_null);
    HD_TRY(hd_walk_lose(w, *at, open == '{' ? "no object where one must be" : "no list where one must be"));
    return hd_walk_skip(&span, w, at);
}

/* ---- values ---- */

hd_status hd_walk_string(hd_string *out, hd_json_walk *w, const char **at)
{
    hd_walk_span span;
    hd_json_text text;
    *out = (hd_string){NULL, 0};
    HD_TRY(hd_walk_skip(&span, w, at));
    if (*span.data != '"' || !hd_json_string(&text, span.data + 1)) return HD_OK;
    return decode(out, w, &text);
}

hd_status hd_walk_number(hd_walk_span *out, hd_json_walk *w, const char **at)
{
    const char *behind = hd_json_skip_number(*at);
    if (!behind || behind == w->text + w->size) {
        HD_TRY(hd_walk_skip(out, w, at));
        out->size = 0;
        return HD_OK;
    }
    *out = (hd_walk_span){*at, (size_t)(behind - *at)};
    *at = behind;
    return HD_OK;
}

hd_status hd_walk_int(int64_t *out, bool *out_is, hd_json_walk *w, const char **at)
{
    hd_walk_span span;
    *out = 0;
    HD_TRY(hd_walk_number(&span, w, at));
    *out_is = span.size && hd_fixed_parse_whole(out, span.data, span.size);
    return HD_OK;
}

/* ---- what a document is ---- */

int hd_walk_first_key(const unsigned char *head, size_t size, const char *const *keys, size_t count)
{
    size_t i = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, depth = 0;
    for (; i < size; i++) {
        if (depth == 0 && head[i] != '{' && !hd_json_is_space((char)head[i])) return 0;
        if (head[i] == '{' || head[i] == '[') depth++;
        if (head[i] == '}' || head[i] == ']') depth--;
        if (head[i] != '"') continue;
        size_t start = ++i;
        while (i < size && head[i] != '"') i += head[i] == '\\' ? 2 : 1;
        size_t colon = i + 1;
        while (colon < size && hd_json_is_space((char)head[colon])) colon++;
        if (colon >= size || head[colon] != ':' || depth != 1) continue;
        for (size_t k = 0; k < count; k++) {
            if (i - start == strlen(keys[k]) && memcmp(head + start, keys[k], i - start) == 0) return (int)k + 1;
        }
    }
    return 0;
}

bool hd_walk_is_object(const unsigned char *head, size_t size)
{
    size_t i = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < size && hd_json_is_space((char)head[i])) i++;
    return i < size && head[i] == '{';
}
