/* stream.h - reads a JSON document incrementally, with only the current value in memory
 *
 *     hd_json_stream s = {.input = input};
 *     HD_TRY(hd_json_stream_enter(&s, '{', err));
 *     while ((status = hd_json_stream_member(&s, &key, err)) == HD_OK)
 *         if (is list) … hd_json_stream_enter(&s, '[', err), hd_json_stream_item(&s, err) …
 *         else HD_TRY(hd_json_stream_value(&s, &value, err));
 *
 * Damage is not an error: the reader skips unreadable text up to the next element of the list that begins like the
 * previous ones, and counts it. If the text ends early, or no such element is found, all lists end and `cut` is set.
 */
#ifndef HD_BASE_JSON_STREAM_H
#define HD_BASE_JSON_STREAM_H

#include "base/io/input.h"
#include "base/json/json.h"

enum { HD_JSON_VALUE_BYTES = 256 << 20, HD_JSON_STREAM_DEPTH = 16 };

/* Zero-initialise, with `input` set; free with hd_json_stream_deinit. */
typedef struct hd_json_stream {
    hd_input *input; /* borrowed */
    char *buffer;    /* padded with zero bytes after `end` */
    size_t capacity, at, end;
    uint64_t read_bytes;
    bool ended;
    bool cut;                        /* the text ended within the document */
    uint64_t damaged, damage_offset; /* skipped values, offset of the first one; HD_OFFSET_NONE: none */
    uint64_t scanned;                /* bytes of values that turned out to have no end: bounds the time */
    uint64_t value_offset;           /* of the value in hand */
    unsigned depth;
    struct hd_json_level {
        char close;
        bool first;
        char sibling[40]; /* how the last object of the list began, up to its first colon */
        size_t sibling_size;
    } levels[HD_JSON_STREAM_DEPTH];
} hd_json_stream;

/* A value, or a key: borrowed until the next call; padded, valid JSON. */
typedef struct hd_json_span {
    const char *data;
    size_t size;
} hd_json_span;

/* The byte at which the next value begins, 0: the text has ended. */
hd_status hd_json_stream_peek(hd_json_stream *s, char *out, hd_error *err);
/* Moves behind `[` or `{`. HD_END: another value, or too deep: read it with hd_json_stream_value. */
hd_status hd_json_stream_enter(hd_json_stream *s, char open, hd_error *err);
/* Moves to the next element of the current list; HD_END: after its end. */
hd_status hd_json_stream_item(hd_json_stream *s, hd_error *err);
/* To the value of the next member; the key without its quotes, not decoded. */
hd_status hd_json_stream_member(hd_json_stream *s, hd_json_span *out_key, hd_error *err);
/* The whole value. HD_END: it was damaged, cut, or larger than HD_JSON_VALUE_BYTES, and was skipped. */
hd_status hd_json_stream_value(hd_json_stream *s, hd_json_span *out, hd_error *err);
void hd_json_stream_deinit(hd_json_stream *s);

static inline bool hd_json_span_is(hd_json_span span, const char *text)
{
    return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

/* ---- members of an object, or elements of an array, that is whole and valid ---- */

/* p is at the object's `{`, or at the position returned by the last call, after a value. Gives the next key and its
 * value, and returns the position after the value; NULL: no more members. */
const char *hd_json_next_member(hd_json_text *key, hd_json_span *value, const char *p);
const char *hd_json_next_item(hd_json_span *value, const char *p);

#endif
