/* block.h - one block of the store as bytes: columns with an encoding for their content, then zstd
 *
 * The bytes of a block are self-contained: together with the shapes of the trace they decode to the rows, independent
 * of their position in the file.
 *
 * In: rows of one block. Out: bytes, and back. Begin with block.c, then column.c.
 */
#ifndef HD_FORMAT_HEDDLE_CODEC_BLOCK_H
#define HD_FORMAT_HEDDLE_CODEC_BLOCK_H

#include "base/bytes.h"
#include "base/io/compress.h"
#include "base/memory/arena.h"
#include "heddle/trace.h"

/* The values of one shape, a column per key. */
typedef struct store_group {
    uint32_t shape;
    uint32_t row_count, key_count;
    const hd_arg_key *keys;
    int64_t **values; /* [key][row] */
} store_group;

/* Rows to be stored, at most HD_BLOCK_ROWS, ids as the file has them. HD_COL_SOURCE and _SOURCE_SIZE are not stored.
 * Strings take the least space if their ids were assigned column by column, in order of first use. Groups are by
 * ascending shape; ARGS_ROW counts rows of each shape in order, so it can be derived. */
typedef struct store_rows {
    hd_kind kind;
    uint32_t row_count;
    uint64_t first_row;
    int64_t *columns[HD_COL_COUNT]; /* row_count values each */
    uint32_t group_count;
    store_group *groups;
} store_rows;

/* Scratch memory and compressor of one thread. */
typedef struct store_encoder store_encoder;
hd_status store_encoder_new(store_encoder **out, int level,
                            hd_error *err); /* level 0: the default; see heddle/format.h */
void store_encoder_free(store_encoder *encoder);

/* Append the block's bytes to `out`. */
hd_status store_block_encode(hd_bytes *out, store_encoder *encoder, const store_rows *rows, hd_error *err);

/* Scratch memory and decompressor of one thread. */
typedef struct store_decoder store_decoder;
hd_status store_decoder_new(store_decoder **out, hd_error *err);
void store_decoder_free(store_decoder *decoder);
/* A buffer for the bytes that it decodes, for the decoder's owner. */
hd_bytes *store_decoder_room(store_decoder *decoder);

/* Limits of ids in a block; ids beyond them make a block damaged. */
typedef struct store_limits {
    const hd_trace *trace; /* its shapes */
    uint32_t string_count, track_count, shape_count;
    uint64_t partner_rows; /* of the table that HD_COL_PARTNER refers to; 0: not known */
} store_limits;

/* Fills columns and groups of *block, whose kind, row_count and first_row are set, or all columns except
 * HD_COL_ARGS_ROW and no groups, whose bytes are then not read; memory from the arena. Hostile bytes give
 * HD_ERR_DAMAGED with the offset in `data`, never a row with an invalid reference. */
hd_status store_block_decode(hd_block *block, hd_arena *arena, store_decoder *decoder, const store_limits *limits,
                             const uint8_t *data, size_t size, bool columns_only, hd_error *err);

/* Strings in the order of their ids, as one run of the string table: appended to `out`; and decoded, each passed to
 * `add` in order (its text is valid only during the call). */
typedef hd_status store_add_string(void *user, const char *data, size_t size, hd_error *err);
hd_status store_strings_encode(hd_bytes *out, store_encoder *encoder, const hd_string *strings, size_t count,
                               hd_error *err);
hd_status store_strings_decode(store_decoder *decoder, const uint8_t *data, size_t size, size_t count,
                               store_add_string *add, void *user, hd_error *err);

/* Any run of integers (order of kinds, index columns): delta, dictionary or whichever is smallest, then zstd. */
hd_status store_ints_encode(hd_bytes *out, store_encoder *encoder, const int64_t *values, size_t count, hd_error *err);
hd_status store_ints_decode(int64_t *out, size_t count, store_decoder *decoder, const uint8_t *data, size_t size,
                            hd_error *err);

#endif
