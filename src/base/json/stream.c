/* stream.c - reads a JSON document incrementally */
#include "base/json/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"

enum { STEP = 256 << 10, LOOK = 16 << 20 };

void hd_json_stream_deinit(hd_json_stream *s)
{
    free(s->buffer);
}

static uint64_t offset_of_place(const hd_json_stream *s)
{
    return s->read_bytes - s->end + s->at;
}

/* Reads more text after the buffered text; as much again if much is buffered, so that a long value is not scanned over
 * and over.
 */
static hd_status fill(hd_json_stream *s, hd_error *err)
{
    size_t left = s->end - s->at, got = 0, wanted = left > STEP ? left : STEP;
    if (s->at) memmove(s->buffer, s->buffer + s->at, left);
    s->at = 0;
    s->end = left;
    if (!hd_reserve(&s->buffer, &s->capacity, left + wanted + HD_JSON_PADDING)) return HD_NOMEM(err);
    while (s->end < left + wanted && !s->ended) {
        hd_status status = hd_input_next(s->input, s->buffer + s->end, left + wanted - s->end, &got, err);
        if (status != HD_OK && status != HD_END) return status;
        s->ended = status == HD_END;
        s->end += got;
        s->read_bytes += got;
    }
    memset(s->buffer + s->end, 0, HD_JSON_PADDING);
    return HD_OK;
}

hd_status hd_json_stream_peek(hd_json_stream *s, char *out, hd_error *err)
{
    for (;;) {
        if (s->buffer) s->at = (size_t)(hd_json_skip_space(s->buffer + s->at) - s->buffer);
        if (s->at < s->end || s->ended) break;
        HD_TRY(fill(s, err));
    }
    *out = s->at < s->end && !s->cut ? s->buffer[s->at] : 0;
    return HD_OK;
}

static void note_damage(hd_json_stream *s)
{
    if (s->damaged++ == 0) s->damage_offset = offset_of_place(s);
}

/* Whether an element like the previous ones begins after the comma at p; any object, if there was none yet. */
static bool is_sibling(const struct hd_json_level *level, const char *p, const char *end)
{
    const char *like = level->sibling_size ? level->sibling : "{";
    size_t size = level->sibling_size ? level->sibling_size : 1;
    p = hd_json_skip_space(p + 1);
    return p < end && (size_t)(end - p) >= size && memcmp(p, like, size) == 0;
}

/* The place in p … end to continue at: a comma before the next element, or the bracket that ends the list; NULL: none.
 * Brackets are counted, but an element that begins like the previous ones counts at any depth. */
static const char *find_place(const hd_json_stream *s, const char *p, const char *end)
{
    const struct hd_json_level *level = &s->levels[s->depth - 1];
    bool is_list = level->close == ']', in_string = false;
    for (size_t depth = 0; p < end; p++) {
        if (*p == ',' && is_list && (level->sibling_size || (depth == 0 && !in_string)) && is_sibling(level, p, end))
            return p;
        if (*p == '"') in_string = !in_string;
        if (*p == '\\' && in_string) p++;
        if (in_string) continue;
        if (*p == level->close && depth == 0) return p;
        if (*p == ',' && depth == 0 && !is_list && *hd_json_skip_space(p + 1) == '"') return p;
        depth += *p == '{' || *p == '[';
        depth -= (*p == '}' || *p == ']') && depth > 0;
    }
    return NULL;
}

/* Moves to the place to continue at; if none is near, the rest is lost. */
static hd_status go_on(hd_json_stream *s, hd_error *err)
{
    for (;;) {
        const char *found = find_place(s, s->buffer + s->at, s->buffer + s->end);
        if (found) {
            s->at = (size_t)(found - s->buffer);
            return HD_OK;
        }
        if (s->ended || s->end - s->at > LOOK) break;
        HD_TRY(fill(s, err));
    }
    s->at = s->end;
    s->cut = true;
    return HD_OK;
}

static hd_status pass_over(hd_json_stream *s, hd_error *err)
{
    note_damage(s);
    if (s->depth && s->scanned / 8 <= s->read_bytes + STEP) return go_on(s, err);
    s->at = s->end; /* no level continues, or too much was scanned in vain */
    s->cut = true;
    return HD_OK;
}

hd_status hd_json_stream_enter(hd_json_stream *s, char open, hd_error *err)
{
    char c;
    HD_TRY(hd_json_stream_peek(s, &c, err));
    if (c != open || s->depth == HD_JSON_STREAM_DEPTH) return HD_END;
    s->at++;
    s->levels[s->depth++] = (struct hd_json_level){.close = open == '[' ? ']' : '}', .first = true};
    return HD_OK;
}

/* Moves to the byte after the comma, or after the `[` or `{`; HD_END: after the closing bracket. */
static hd_status next(hd_json_stream *s, char *out, hd_error *err)
{
    struct hd_json_level *level = &s->levels[s->depth - 1];
    for (;;) {
        HD_TRY(hd_json_stream_peek(s, out, err));
        if (*out == 0) {
            s->cut = true;
            s->depth--;
            return HD_END;
        }
        if (*out == level->close) {
            s->at++;
            s->depth--;
            return HD_END;
        }
        if (level->first) break;
        if (*out == ',') {
            s->at++;
            HD_TRY(hd_json_stream_peek(s, out, err));
            if (*out != 0) break;
            continue;
        }
        HD_TRY(pass_over(s, err));
    }
    level->first = false;
    return HD_OK;
}

hd_status hd_json_stream_item(hd_json_stream *s, hd_error *err)
{
    char c;
    return next(s, &c, err);
}

hd_status hd_json_stream_member(hd_json_stream *s, hd_json_span *out_key, hd_error *err)
{
    for (char c;;) {
        HD_TRY(next(s, &c, err));
        hd_json_text key;
        const char *start = s->buffer + s->at, *behind = c == '"' ? hd_json_string(&key, start + 1) : NULL;
        const char *colon = behind ? hd_json_skip_space(behind) : NULL;
        bool is_short = !colon || colon + 1 >= s->buffer + s->end; /* the colon and the value may not have been read yet
                                                                      */
        if (is_short && !s->ended && s->end - s->at < STEP) {
            HD_TRY(fill(s, err));
            s->levels[s->depth - 1].first = true; /* read the same member again, after its comma */
            continue;
        }
        if (!colon || *colon != ':') {
            HD_TRY(pass_over(s, err));
            continue;
        }
        *out_key = (hd_json_span){key.data, key.size};
        s->at = (size_t)(colon + 1 - s->buffer);
        return HD_OK;
    }
}

/* Remembers how the elements of the list begin. */
static void remember_sibling(hd_json_stream *s, const char *value, size_t size)
{
    struct hd_json_level *level = &s->levels[s->depth - 1];
    size_t most = size < sizeof level->sibling ? size : sizeof level->sibling;
    const char *colon = *value == '{' ? memchr(value, ':', most) : NULL;
    if (level->sibling_size || !colon) return;
    level->sibling_size = (size_t)(colon - value);
    memcpy(level->sibling, value, level->sibling_size);
}

hd_status hd_json_stream_value(hd_json_stream *s, hd_json_span *out, hd_error *err)
{
    char c;
    HD_TRY(hd_json_stream_peek(s, &c, err));
    for (;;) {
        const char *start = s->buffer + s->at, *end = s->buffer + s->end, *p = hd_json_skip_value(start);
        bool is_open = p ? p == end : hd_json_is_cut(start, end); /* 12 may go on as 123 */
        if (is_open && !s->ended && s->end - s->at < HD_JSON_VALUE_BYTES) {
            HD_TRY(fill(s, err));
            continue;
        }
        if (p && p <= end) {
            s->value_offset = offset_of_place(s);
            *out = (hd_json_span){start, (size_t)(p - start)};
            s->at = (size_t)(p - s->buffer);
            if (s->depth) remember_sibling(s, start, out->size);
            return HD_OK;
        }
        s->scanned += is_open ? s->end - s->at : 0;
        HD_TRY(pass_over(s, err));
        return HD_END;
    }
}

/* ---- values in hand ---- */

const char *hd_json_next_member(hd_json_text *key, hd_json_span *value, const char *p)
{
    p = hd_json_skip_space(*p == '{' ? p + 1 : p);
    if (*p == ',') p = hd_json_skip_space(p + 1);
    if (*p != '"') return NULL;
    p = hd_json_string(key, p + 1);
    p = p ? hd_json_skip_space(p) : NULL;
    if (!p || *p != ':') return NULL;
    value->data = hd_json_skip_space(p + 1);
    p = hd_json_skip_value(value->data);
    value->size = p ? (size_t)(p - value->data) : 0;
    return p;
}

const char *hd_json_next_item(hd_json_span *value, const char *p)
{
    p = hd_json_skip_space(p);
    if (*p == '[' || *p == ',') p = hd_json_skip_space(p + 1);
    if (*p == ']' || *p == 0) return NULL;
    value->data = p;
    p = hd_json_skip_value(p);
    value->size = p ? (size_t)(p - value->data) : 0;
    return p;
}
