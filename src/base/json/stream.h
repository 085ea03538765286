/* stream.h - a JSON document walked as it comes, of which no more is in memory than the value in hand
 *
 *     hd_json_stream s = {.input = input};
 *     HD_TRY(hd_json_stream_enter(&s, '{', err));
 *     while ((status = hd_json_stream_member(&s, &key, err)) == HD_OK)
 *         if (is list) … hd_json_stream_enter(&s, '[', err), hd_json_stream_item(&s, err) …
 *         else HD_TRY(hd_json_stream_value(&s, &value, err));
 *
 * Damage is no error: what cannot be read is passed over up to the next element of the list that looks like those
 * before it, and counted. Where the text ends, or where nothing more is found, all lists end, and `cut` says so.
 */
#ifndef HD_BASE_JSON_STREAM_H
#define HD_BASE_JSON_STREAM_H

#include "base/io/input.h"
#include "base/json/json.h"

enum { HD_JSON_VALUE_BYTES = 256 << 20, HD_JSON_STREAM_DEPTH = 16 };

/* Zero-initialise, with `input` set; free with hd_json_stream_deinit. */
typedef struct hd_json_stream {
    hd_input *input; /* borrowed */
    char *buffer;    /* padded with zero bytes behind `end` */
    size_t capacity, at, end;
    uint64_t read_bytes;
    bool ended;
    bool cut;                        /* the text ended within the document */
    uint64_t damaged, damage_offset; /* values passed over, where the first stood; HD_OFFSET_NONE is never asked */
    uint64_t scanned;                /* bytes of values that turned out not to end: bounds the work */
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
/* Behind `[` or `{`. HD_END: it is none, or too deep: the value is still to be taken. */
hd_status hd_json_stream_enter(hd_json_stream *s, char open, hd_error *err);
/* To the next element of the list in hand; HD_END: behind its end. */
hd_status hd_json_stream_item(hd_json_stream *s, hd_error *err);
/* To the value of the next member; the key without its quotes, not decoded. */
hd_status hd_json_stream_member(hd_json_stream *s, hd_json_span *out_key, hd_error *err);
/* The whole value. HD_END: it was damaged, or is cut, or more than HD_JSON_VALUE_BYTES, and is passed over. */
hd_status hd_json_stream_value(hd_json_stream *s, hd_json_span *out, hd_error *err);
void hd_json_stream_deinit(hd_json_stream *s);

static inline bool hd_json_span_is(hd_json_span span, const char *text)
{
    return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

/* ---- members of an object, or elements of an array, that is whole and valid ---- */

/* p is at the object's `{`, or where the last call left it: behind a value. The next key, and its value, which ends
 * where the call returns; NULL: there is none. */
const char *hd_json_next_member(hd_json_text *key, hd_json_span *value, const char *p);
const char *hd_json_next_item(hd_json_span *value, const char *p);

#endif
