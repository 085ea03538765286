/* ints.h - runs of integers as bytes, and their destinations: a head, a pool of small streams, a body of frames
 *
 * See docs/formats/heddle-blocks.md. Store files only.
 */
#ifndef HD_FORMAT_HEDDLE_CODEC_INTS_H
#define HD_FORMAT_HEDDLE_CODEC_INTS_H

#include "format/heddle/codec/block.h"

enum { STORE_ROWS = HD_BLOCK_ROWS };

/* How a run of integers is laid down; the first byte of each. */
typedef enum store_layout {
    STORE_CONSTANT,      /* all the same */
    STORE_PLANES,        /* frame of reference: base + factor * u, the bytes of all u by significance */
    STORE_SIGNED,        /* the same with zigzag u */
    STORE_VARINTS,       /* zigzag varints */
    STORE_DICTIONARY,    /* the values that occur, and an index for each row */
    STORE_TOKENS,        /* a byte for the size of each value and its highest bits, the other bits packed */
    STORE_SIGNED_TOKENS, /* the same with zigzag */
    STORE_LAYOUT_COUNT,
    STORE_ANY_LAYOUT = STORE_LAYOUT_COUNT,
} store_layout;

/* The three parts of an encoded part of the file. */
typedef struct store_sink {
    hd_bytes head, pool, body;
    bool trial;  /* only the cost counts */
    double cost; /* bytes, about */
} store_sink;

/* Slot of a hash table of values. */
typedef struct store_slot {
    int64_t value;
    uint32_t index, used;
} store_slot;

struct store_encoder {
    hd_compressor *best, *fast, *trial;
    store_sink sink, trial_sink;
    hd_bytes planes, frame;
    bool may_code;    /* whether the coder of coder.h is tried */
    hd_status status; /* the first failure of a compressor */
    uint32_t stride;  /* capacity in rows, set by store_encoder_fit */
    int64_t *indexes; /* stride */
    int64_t *sorted;  /* stride */
    store_slot *slots;
    /* of column.c and block.c */
    int64_t *work[4];        /* stride + 1 each */
    int64_t *runs, *scaled;  /* stride + 1 */
    int64_t *table, *scopes; /* contexts */
    int64_t *nest;           /* pops, gaps, tails */
    uint16_t *odds;
    int64_t *base, *gathered; /* HD_COL_COUNT columns; those of a group's rows */
    uint32_t *rows, *below;   /* the rows of each group */
};

enum { STORE_TABLE = STORE_ROWS, STORE_SCOPES = 4096, STORE_KEY_REFS = 48 };

/* Makes room for runs of `count` ≤ STORE_ROWS values; scratch memory is invalidated. */
hd_status store_encoder_fit(store_encoder *encoder, uint32_t count, hd_error *err);
hd_status store_decoder_fit(store_decoder *decoder, uint32_t count, hd_error *err);

void store_sink_clear(store_sink *sink);
/* Append head, pool and body to `out`. */
hd_status store_sink_finish(hd_bytes *out, store_encoder *encoder, store_sink *sink, hd_error *err);

/* A stream of bytes with a size that the reader knows otherwise. */
void store_put_stream(store_encoder *encoder, store_sink *sink, const uint8_t *data, size_t size);

/* The same for bytes that zstd cannot make smaller. */
void store_put_noise(store_encoder *encoder, store_sink *sink, const uint8_t *data, size_t size);

/* The encoder must fit `count`. STORE_ANY_LAYOUT: the smallest. */
void store_put_ints(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                    store_layout layout);

/* The greatest common divisor of all values, 1 without values. */
int64_t store_common_factor(const int64_t *values, uint32_t count);

/* About how many bytes a run would take. */
double store_cost_of_ints(store_encoder *encoder, const int64_t *values, uint32_t count);

/* ---- reading ---- */

/* The three parts while they are read. */
typedef struct store_source {
    hd_byte_reader head, pool, body;
    hd_decompressor **decompressor;
    hd_bytes *scratch;       /* contents of a frame */
    uint8_t *parts, *parts2; /* malloc-ed: head and pool */
    bool failed, no_memory;
    int64_t *indexes;
} store_source;

struct store_decoder {
    hd_decompressor *decompressor;
    hd_bytes payload; /* store_decoder_room */
    hd_bytes scratch;
    uint32_t stride; /* as that of an encoder */
    int64_t *indexes;
    int64_t *work[4];
    int64_t *table, *scopes;
    int64_t *nest;
    uint16_t *odds;
    int64_t *coded; /* bytes of a coder */
    uint32_t *below;
    int64_t *base;                     /* HD_COL_COUNT columns */
    int64_t *gathered;                 /* the same of a group's rows */
    int64_t *keys[STORE_KEY_REFS + 1]; /* the first columns of a group, and one for all others */
    uint32_t *rows;
};

hd_status store_source_open(store_source *out, store_decoder *decoder, const uint8_t *data, size_t size, hd_error *err);
/* OK if everything was read and nothing is left; else the fault. */
hd_status store_source_close(store_source *source, hd_error *err);
/* Borrowed until the next call; NULL and failed. */
const uint8_t *store_take_stream(store_source *source, size_t size);
/* false: failed. */
bool store_take_ints(store_source *source, int64_t *out, uint32_t count);

#endif
