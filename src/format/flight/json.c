/* json.c - a flight recorder's dump in JSON -> the pickle of the same values
 *
 * Both forms have the same members, so that only one needs a mapping. Entries are read one by one, so that damage
 * affects only the entry that contains it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/flight/flight.h"

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 28; /* a pickle has up to 6 times as many bytes */

static void put(hd_bytes *out, const char *bytes)
{
    hd_bytes_put(out, bytes, strlen(bytes));
}

static void put_text(hd_bytes *out, hd_string text)
{
    const uint8_t head[5] = {'X', (uint8_t)text.size, (uint8_t)(text.size >> 8), (uint8_t)(text.size >> 16),
                             (uint8_t)(text.size >> 24)};
    hd_bytes_put(out, head, sizeof head);
    hd_bytes_put(out, text.data, text.size);
}

/* at: at the quotation mark; returns the place behind the string. */
static const char *put_string(hd_bytes *out, hd_bytes *scratch, const char *at)
{
    hd_json_text text;
    hd_string decoded = {NULL, 0};
    const char *end = hd_json_string(&text, at + 1);
    scratch->size = 0;
    hd_bytes_put(scratch, at, text.size + 1); /* room */
    if (!scratch->failed && hd_json_decode((char *)scratch->data, &decoded.size, &text))
        decoded.data = (const char *)scratch->data;
    put_text(out, decoded.data ? decoded : (hd_string){"", 0});
    return end;
}

/* A valid value, which hd_json_skip_value has accepted, so that its depth is limited. */
static const char *put_value(hd_bytes *out, hd_bytes *scratch, const char *at)
{
    const char *end;
    switch (*at) {
    case '{':
    case '[':
        put(out, *at == '{' ? "}(" : "](");
        end = *at == '{' ? "}" : "]";
        for (at = hd_json_skip_space(at + 1); *at != *end; at = hd_json_skip_space(at)) {
            if (*end == '}') at = hd_json_skip_space(hd_json_skip_space(put_string(out, scratch, at)) + 1);
            at = hd_json_skip_space(put_value(out, scratch, at));
            if (*at == ',') at++;
        }
        put(out, *end == '}' ? "u" : "e");
        return at + 1;
    case '"': return put_string(out, scratch, at);
    case 't': put(out, "\x88"); return hd_json_skip_value(at);
    case 'f': put(out, "\x89"); return hd_json_skip_value(at);
    case 'n': put(out, "N"); return hd_json_skip_value(at);
    default: break;
    }
    end = hd_json_skip_value(at);
    bool is_float = memchr(at, '.', (size_t)(end - at)) || memchr(at, 'e', (size_t)(end - at)) ||
                    memchr(at, 'E', (size_t)(end - at));
    put(out, is_float ? "F" : "I");
    hd_bytes_put(out, at, (size_t)(end - at));
    put(out, "\n");
    return end;
}

static hd_status put_next(hd_bytes *out, hd_bytes *scratch, hd_json_walk *w, const char **at)
{
    hd_walk_span span;
    HD_TRY(hd_walk_skip(&span, w, at));
    put_value(out, scratch, span.data);
    return out->failed || scratch->failed ? HD_NOMEM(w->err) : HD_OK;
}

static hd_status put_entries(hd_bytes *out, hd_bytes *scratch, hd_json_walk *w, const char **at)
{
    bool is_null, first = true;
    hd_status status = HD_END;
    HD_TRY(hd_walk_try_enter(w, at, '[', &is_null));
    put(out, "](");
    while (!is_null && (status = hd_walk_item(w, at, &first)) == HD_OK) HD_TRY(put_next(out, scratch, w, at));
    put(out, "e");
    return status == HD_END ? HD_OK : status;
}

static hd_status put_document(hd_bytes *out, hd_bytes *scratch, hd_json_walk *w)
{
    const char *at = hd_walk_start(w);
    bool is_null, first = true;
    hd_string key;
    hd_status status = HD_END;
    HD_TRY(hd_walk_enter(w, &at, '{', &is_null));
    put(out, "\x80\x02}(");
    while (!is_null && (status = hd_walk_member(&key, w, &at, &first)) == HD_OK) {
        bool is_entries = hd_string_is(key, "entries");
        put_text(out, key);
        HD_TRY(is_entries ? put_entries(out, scratch, w, &at) : put_next(out, scratch, w, &at));
    }
    put(out, "u.");
    if (out->failed) return HD_NOMEM(w->err);
    return status == HD_END ? HD_OK : status;
}

hd_status flight_pickle_of_json(hd_bytes *out, uint64_t *out_size_bytes, hd_builder *builder, hd_input *input,
                                const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"flight recorder's dump", "flight", "flight.value-damaged", "flight.truncated"};
    hd_json_walk w;
    hd_bytes scratch = {0};
    hd_status status = hd_walk_init(&w, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = put_document(out, &scratch, &w);
    *out_size_bytes = w.size;
    hd_walk_deinit(&w);
    hd_bytes_deinit(&scratch);
    return status;
}
