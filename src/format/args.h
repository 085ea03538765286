/* args.h - builds one event with its arguments, key by key
 *
 *     hd_args_int(&args, key, value); …  hd_args_add_row(&args, &row, err);
 *
 * For single-threaded readers. Beyond the limit of shapes, the arguments are stored as one JSON text.
 */
#ifndef HD_FORMAT_ARGS_H
#define HD_FORMAT_ARGS_H

#include "base/bytes.h"
#include "base/json/stream.h"
#include "format/rows_out.h"
#include "heddle/format.h"

enum { HD_ARGS_LIMIT = 256 };

/* Initialise by hd_args_init; free with hd_args_deinit. */
typedef struct hd_args {
    hd_builder *builder;
    hd_rows_out rows;
    bool wanted;
    uint32_t count;
    uint64_t seen; /* a bit for each key */
    hd_arg_key keys[HD_ARGS_LIMIT];
    int64_t values[HD_ARGS_LIMIT];
    hd_bytes text;
    uint64_t text_repairs; /* texts that were not UTF-8 */
    uint64_t lost;         /* arguments beyond the limit */
} hd_args;

hd_status hd_args_init(hd_args *args, hd_builder *builder, const hd_read_options *options, hd_error *err);
void hd_args_deinit(hd_args *args);

/* One that the event has with this value already is left out. */
void hd_args_add(hd_args *args, uint32_t key, hd_arg_type type, int64_t bits, hd_arg_scope scope);
static inline void hd_args_int(hd_args *args, const char *key, int64_t value) /* nothing for HD_NO_NUMBER */
{
    if (value != HD_NO_NUMBER)
        hd_args_add(args, hd_builder_intern_text(args->builder, key), HD_ARG_INT, value, HD_SCOPE_ARGS);
}
static inline void hd_args_string(hd_args *args, const char *key, uint32_t text) /* nothing for HD_STRING_NONE */
{
    if (text != HD_STRING_NONE)
        hd_args_add(args, hd_builder_intern_text(args->builder, key), HD_ARG_STRING, text, HD_SCOPE_ARGS);
}
/* A value of JSON, with the digits it has. */
void hd_args_json(hd_args *args, uint32_t key, hd_json_span value);
/* Adds a number if the text is a JSON number, else a string; nothing if it is empty. Padded like JSON. */
void hd_args_plain(hd_args *args, uint32_t key, hd_json_span text);
/* Arguments as the text of a raw shape, where there are too many shapes; HD_STRING_NONE: no memory. */
uint32_t hd_args_as_text(hd_builder *builder, const hd_arg_key *keys, const int64_t *values, uint32_t count);
/* Adds the row with all arguments, which are gone then. */
hd_status hd_args_add_row(hd_args *args, hd_row *row, hd_error *err);
/* Appends all rows to the trace. */
hd_status hd_args_finish(hd_args *args, hd_error *err);

/* Whether an event has an argument with this value already: what its producer wrote twice is one. */
static inline bool hd_args_has(const hd_arg_key *keys, const int64_t *values, uint32_t count, hd_arg_key key,
                               int64_t bits)
{
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].key == key.key && keys[i].type == key.type && keys[i].scope == key.scope && values[i] == bits)
            return true;
    }
    return false;
}

/* ---- texts and numbers of JSON ---- */

/* A string id of a text, with invalid UTF-8 repaired. */
uint32_t hd_args_intern(hd_args *args, const char *data, size_t size);
/* The id of a string, or of the text of another value; HD_STRING_NONE: null, or no memory. */
uint32_t hd_args_text(hd_args *args, hd_json_span value);
/* A whole number, in quotes or not, also 0x…; false: none, or beyond int64. */
bool hd_json_span_int(int64_t *out, hd_json_span value);
/* Words of a format, and where their ids go; {0} ends a list. */
typedef struct hd_named_text {
    uint32_t *out;
    const char *text;
} hd_named_text;
void hd_intern_texts(hd_builder *builder, const hd_named_text *list);
uint32_t hd_intern_format(hd_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
hd_ident hd_ident_number(hd_builder *builder, int64_t value);

#endif
