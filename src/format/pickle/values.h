/* values.h - values of a pickle as arguments, metadata and stacks of a trace under construction
 *
 * In: the pickle of a dict. Out: rows whose arguments are its values, and its members as top-level keys. Values may be
 * shared, so that following each could take time without end: a reader visits at most 64 times the bytes of its input.
 *
 *     pickle_reader_open(&r, builder, …);     pickle_reader_read(&r, &pieces, NULL, "memory snapshot");
 *     r.arg_count = 0;  pickle_add_value(&r, "size", 0, v);  pickle_add_stack(&r, frames);  pickle_add_row(&r, &row);
 *     pickle_reader_finish(&r, pieces.size);  pickle_reader_close(&r);
 */
#ifndef HD_FORMAT_PICKLE_VALUES_H
#define HD_FORMAT_PICKLE_VALUES_H

#include "base/bytes.h"
#include "base/json/write.h"
#include "format/pickle/pickle.h"
#include "format/stack_samples.h"

/* The first codes of the table of each reader, whose own follow from PICKLE_CODES. */
enum {
    PICKLE_TRUNCATED,
    PICKLE_DAMAGED,
    PICKLE_OBJECT_SKIPPED,
    PICKLE_METADATA_CUT,
    PICKLE_ARGUMENT_LOST,
    PICKLE_TEXT_UTF8,
    PICKLE_CODES
};

/* Zero-initialised; close either way. */
typedef struct pickle_reader {
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    pickle pickle;
    hd_map stacks; /* by identity of a list of frames */
    hd_map frames; /* by dict: the name with 0, the kind with 1 */
    pickle_value *list;
    size_t list_capacity;
    hd_arg_key keys[HD_STACK_MORE]; /* of the row that is being built */
    int64_t values[HD_STACK_MORE];
    uint32_t arg_count;
    hd_bytes text;
    hd_json_out json;
    bool leaves_frames;  /* out of JSON: blocks share their stacks in the pickle, and would each have a copy */
    uint64_t work, told; /* visited entries, and bytes of JSON: bounds for shared values */
} pickle_reader;

hd_status pickle_reader_open(pickle_reader *r, hd_builder *builder, hd_input *input, const char *stage,
                             const hd_stack_code *codes, const hd_read_options *options, hd_error *err);
/* stream NULL: none. May be called again, then the values of the first time are no more. DAMAGED: not the pickle of a
 * dict. */
hd_status pickle_reader_read(pickle_reader *r, const hd_pieces *pieces, const pickle_stream *stream, const char *title);
/* Counts damage of the pickle. DAMAGED: strict. */
hd_status pickle_reader_check(pickle_reader *r);
/* Times are Unix time. */
hd_status pickle_reader_finish(pickle_reader *r, uint64_t input_bytes);
void pickle_reader_close(pickle_reader *r);

/* A pickle of any protocol that begins with a dict, by its first bytes. */
bool pickle_begins_dict(const unsigned char *head, size_t size);

hd_status pickle_count(pickle_reader *r, size_t code, uint64_t n, uint64_t offset);
/* Whether one more look at the entries of a value is within the bound. */
bool pickle_afford(pickle_reader *r, pickle_value v);
bool pickle_is_spent(const pickle_reader *r);
/* The number of items of a list, without visiting each. */
uint32_t pickle_item_count(const pickle_reader *r, pickle_value list);
/* Whether its items were streamed before. */
bool pickle_is_gone(const pickle_reader *r, pickle_value v);
/* Whether the pickle ended within this list or dict. */
bool pickle_is_open(const pickle_reader *r, pickle_value v);
int64_t pickle_int_or(pickle_value v, int64_t otherwise);
int64_t pickle_int_of(const pickle_reader *r, pickle_value dict, const char *key, int64_t otherwise);

/* The string id of a text, with invalid UTF-8 repaired. */
hd_status pickle_intern(pickle_reader *r, uint32_t *out, pickle_value v);
/* An argument of the row; key NULL: key_id. Absent values and None are not arguments. */
hd_status pickle_add_arg(pickle_reader *r, const char *key, uint32_t key_id, hd_arg_type type, int64_t bits);
hd_status pickle_add_value(pickle_reader *r, const char *key, uint32_t key_id, pickle_value v);
hd_status pickle_add_stack(pickle_reader *r, pickle_value frames);
hd_status pickle_add_row(pickle_reader *r, hd_row *row);
/* All members of the root but one become top-level keys. */
hd_status pickle_add_rest(pickle_reader *r, const char *without);

#endif
