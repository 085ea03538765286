/* reader.h - a store being read, and the data that its trace needs as long as it lives
 *
 * In: a store. Out: a trace whose blocks are loaded at first use. Begin with read.c.
 */
#ifndef HD_FORMAT_HEDDLE_READ_READER_H
#define HD_FORMAT_HEDDLE_READ_READER_H

#include <pthread.h>

#include "base/memory/arena.h"
#include "format/heddle/codec/block.h"
#include "format/heddle/file/tables.h"
#include "format/heddle/read/map.h"
#include "format/heddle/store.h"
#include "trace/lazy.h"

#define STORE_NO_PLACE UINT64_MAX /* of a block or run that no section has */

enum { STORE_POOL = 64, STORE_LOST_LIMIT = 1 << 22 };

typedef struct store {
    store_map map;
    char *path; /* of the file */
    const hd_trace *trace;
    store_totals totals;
    uint64_t rows[HD_KIND_COUNT]; /* in all sections, including holes */
    uint32_t string_count, track_count, shape_count;
    uint8_t *lost_shapes;          /* by id, NULL: none is lost */
    bool anew;                     /* rows are missing: pairs are made anew */
    hd_arena arena;                /* texts */
    hd_decompressor *decompressor; /* of the thread that opens */
    hd_bytes payload;              /* of the section that it reads */
    pthread_mutex_t lock;
    store_decoder *decoders[STORE_POOL]; /* idle ones */
    unsigned decoder_count;
    unsigned owners; /* the reader, the trace's source */
} store;

/* The state of opening a store. */
typedef struct store_opening {
    store *store;
    hd_builder *builder;
    const hd_read_options *options;
    const char *path;
    hd_error *err;
} store_opening;

/* The source of blocks and order runs; `place` is the index of a section. */
hd_block_source store_block_source(store *s);
void store_release(store *s);
hd_status store_decoder_take(store_decoder **out, store *s, hd_error *err);
void store_decoder_give(store *s, store_decoder *decoder);

/* Adds to the ledger; with strict an error. Notes are never errors. */
hd_status store_report(const store_opening *o, const char *code, hd_ledger_level level, uint64_t count,
                       uint64_t offset);
/* Something that checksums vouch for and that cannot be. */
hd_status store_lies(const store_opening *o, uint64_t offset, const char *what);

/* The body of an intact section, in the store's buffer; then its decompressed content. false: not intact, or memory ran
 * out, which the builder records. */
bool store_open_payload(const store_opening *o, hd_byte_reader *out_body, const store_section *section);
bool store_open_packed(const store_opening *o, hd_bytes *out, const store_section *section, uint64_t limit);

/* file/names.c: ids are those of the file, also after lost entries. */
hd_status store_open_strings(store_opening *o);
hd_status store_open_shapes(store_opening *o);
/* events.c: blocks and runs of the order, and the holes between them. */
hd_status store_open_events(store_opening *o);
/* Checks the tracks' sums against the events, which it loads; wrong sums are dropped. */
hd_status store_check_sums(const store_opening *o, bool *out_anew);

#endif
