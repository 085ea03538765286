/* file.h - the layout of a store file: header, consecutive sections, footer, trailer
 *
 * docs/formats/heddle.md is the specification, with the same names.
 *
 * In: parts of a file as structs. Out: their bytes, and back. Begin with file.c.
 */
#ifndef HD_FORMAT_HEDDLE_FILE_FILE_H
#define HD_FORMAT_HEDDLE_FILE_FILE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/io/compress.h"
#include "heddle/trace.h"

enum { STORE_MAJOR = 1, STORE_MINOR = 1 };
enum { STORE_MAGIC_BYTES = 8, STORE_HEADER_BYTES = 32, STORE_SECTION_BYTES = 40, STORE_TRAILER_BYTES = 48 };

/* The magic of a file, of each section, of the end. */
extern const uint8_t store_file_magic[STORE_MAGIC_BYTES];
extern const uint8_t store_section_magic[STORE_MAGIC_BYTES];
extern const uint8_t store_trailer_magic[STORE_MAGIC_BYTES];

typedef enum store_type {
    STORE_FACTS = 1,
    STORE_STRINGS,
    STORE_METADATA,
    STORE_LEDGER,
    STORE_TRACKS,
    STORE_SHAPES,
    STORE_BLOCK,
    STORE_ORDER,
    STORE_INDEX,
    STORE_FOOTER,
    STORE_ACTIVITY,
    STORE_TYPES
} store_type;

enum {
    STORE_SKIPPABLE = 1, /* a reader that does not know the type may skip it */
    STORE_COPY = 2,      /* repeats the contents of an earlier section */
};

/* Limits that a reader may rely on. */
enum {
    STORE_RUN_STRINGS = 1 << 16, /* in one section of strings */
    STORE_RUN_EVENTS = 1 << 18,  /* in one section of the order */
    STORE_BLOCK_TRACKS = 256,    /* listed in a block's head */
};

/* A section, from its header or from the footer. head: the part before the body, which the footer repeats. */
typedef struct store_section {
    uint16_t type, flags;
    uint32_t number;       /* counts the sections of the file */
    uint64_t offset;       /* of its header */
    uint64_t payload_size; /* head and body */
    uint64_t checksum;     /* of the payload */
    const uint8_t *head;
    size_t head_size;
} store_section;

static inline uint64_t store_section_end(const store_section *section)
{
    return section->offset + STORE_SECTION_BYTES + section->payload_size;
}

void store_put_header(uint8_t out[STORE_HEADER_BYTES]);
void store_put_section(uint8_t out[STORE_SECTION_BYTES], const store_section *section);
void store_put_trailer(uint8_t out[STORE_TRAILER_BYTES], uint64_t footer_offset, uint64_t footer_size);

/* *out_whole: its checksum is right. UNSUPPORTED: a later major version. */
hd_status store_get_header(bool *out_whole, const uint8_t bytes[STORE_HEADER_BYTES], hd_error *err);
/* The header of the section at `offset`, whose payload must be within a file of `size` bytes. */
bool store_get_section(store_section *out, const uint8_t bytes[STORE_SECTION_BYTES], uint64_t offset, uint64_t size);
/* Where the trailer of a file of `size` bytes has its footer, and the size of its payload. */
bool store_get_trailer(uint64_t *out_offset, uint64_t *out_size, const uint8_t bytes[STORE_TRAILER_BYTES],
                       uint64_t size);
/* The payload has its checksum. */
bool store_payload_whole(const store_section *section, const uint8_t *payload);
/* Head and body of a payload; the body is the rest. false: invalid. */
bool store_split_payload(store_section *section, hd_byte_reader *out_body, const uint8_t *payload);

/* One entry of the footer. */
void store_put_entry(hd_bytes *out, const store_section *section, uint64_t end_before);
bool store_get_entry(store_section *out, hd_byte_reader *reader, uint64_t end_before);

/* ---- heads ---- */

/* STRINGS, SHAPES: ids [first, first + count). */
typedef struct store_run_head {
    uint64_t first;
    uint32_t count;
} store_run_head;

typedef struct store_block_head {
    uint8_t kind;
    uint32_t row_count;
    uint64_t first_row;
    uint32_t string_count; /* its strings have ids below it */
    int64_t start_ns, end_ns;
    uint32_t first_track, last_track; /* HD_NONE: no row has a track */
    uint32_t track_count;             /* 0: more than STORE_BLOCK_TRACKS, or none */
    uint32_t tracks[STORE_BLOCK_TRACKS];
} store_block_head;

typedef struct store_order_head {
    uint32_t counts[HD_KIND_COUNT]; /* events of the run */
    uint64_t before[HD_KIND_COUNT]; /* events of all runs before it */
} store_order_head;

void store_put_run_head(hd_bytes *out, const store_run_head *head);
bool store_get_run_head(store_run_head *out, const store_section *section, uint32_t limit);
void store_put_block_head(hd_bytes *out, const store_block_head *head);
bool store_get_block_head(store_block_head *out, const store_section *section);
void store_put_order_head(hd_bytes *out, const store_order_head *head);
bool store_get_order_head(store_order_head *out, const store_section *section);

/* ---- packed bodies: the size, then one zstd frame ---- */

hd_status store_pack(hd_bytes *out, hd_compressor *compressor, const hd_bytes *plain, hd_error *err);
/* The caller frees out->data. Errors: DAMAGED (or over `limit` bytes), MEMORY. */
hd_status store_unpack(hd_bytes *out, hd_decompressor **decompressor, const hd_byte_reader *body, uint64_t limit);

#endif
