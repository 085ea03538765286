/* impl.h - shared by the files of the Parquet writer
 *
 *   write.c    a stream -> row groups -> a file; threads make column chunks, which are written in order
 *   gather.c   the batches of a row group -> the values of a column
 *   chunk.c    the values of a column -> encoded, compressed pages with statistics
 *   encode.c   integers as bytes
 *   footer.c   the metadata
 */
#ifndef HD_PARQUET_IMPL_H
#define HD_PARQUET_IMPL_H

#include "base/io/compress.h"
#include "base/io/output.h"
#include "heddle/parquet.h"
#include "heddle/trace.h"
#include "parquet/encode.h"

enum {
    PARQUET_PAGE_ROWS = HD_BLOCK_ROWS,
    PARQUET_GROUP_ROWS = 4 * HD_BLOCK_ROWS,
    PARQUET_PAGE_TEXT = 1 << 20,        /* bytes of text, from which on a page without a dictionary ends */
    PARQUET_DICTIONARY_MOST = 16 << 20, /* bytes of a dictionary */
};

typedef enum parquet_type {
    PARQUET_BOOLEAN = 0,
    PARQUET_INT32 = 1,
    PARQUET_INT64 = 2,
    PARQUET_DOUBLE = 5,
    PARQUET_BYTE_ARRAY = 6,
} parquet_type;

/* A column of the file. */
typedef struct parquet_column {
    char *name;
    parquet_type type;
    bool is_optional, is_unsigned;
    bool is_micros, is_nanos; /* timestamps, UTC */
    bool is_dictionary;       /* indices of texts, int32 */
    bool is_large;            /* texts have 64-bit offsets */
} parquet_column;

/* The batches of a row group; released with the last reference, by the thread that writes. */
typedef struct parquet_group {
    struct ArrowArray *batches;
    size_t batch_count, batch_room;
    uint64_t rows;
    size_t chunks_left;
    struct parquet_group *next;
} parquet_group;

/* ---- gather.c ---- */

/* Text of a batch. */
typedef struct parquet_texts {
    const void *offsets;
    const char *data;
    bool is_large;
} parquet_texts;

static inline hd_string parquet_text(const parquet_texts *texts, int64_t index)
{
    int64_t from =
        texts->is_large ? ((const int64_t *)texts->offsets)[index] : ((const int32_t *)texts->offsets)[index];
    int64_t to =
        texts->is_large ? ((const int64_t *)texts->offsets)[index + 1] : ((const int32_t *)texts->offsets)[index + 1];
    return (hd_string){texts->data + from, (size_t)(to - from)};
}

/* A thread's own memory, kept from chunk to chunk. */
typedef struct parquet_worker {
    hd_compressor *compressor;
    int64_t *values;   /* without nulls; of texts: numbers in `texts` */
    uint32_t *indices; /* of values in a dictionary */
    int64_t *numbers;  /* a dictionary of numbers */
    uint32_t *ranks;   /* of texts; see has_ranks */
    uint8_t *levels;   /* by row: 1 a value, 0 null */
    uint32_t *wide;    /* the same of a page */
    size_t value_room, index_room, number_room, number_count, rank_room, level_room, wide_room;
    bool has_ranks;
    hd_string *texts; /* distinct texts; those of dictionaries may appear twice */
    size_t text_count, text_room;
    uint64_t text_bytes;
    uint64_t *seen; /* by index of an Arrow dictionary: the dictionary's number above, number in `texts` below */
    size_t seen_room;
    uint32_t seen_number;
    hd_bytes body, packed;
} parquet_worker;

void parquet_worker_deinit(parquet_worker *worker);
/* Values, levels and texts of a column of the group, into the worker. Errors: MEMORY, LIMIT. */
hd_status parquet_gather(size_t *out_values, parquet_worker *worker, const parquet_column *column, size_t place,
                         const parquet_group *group, hd_error *err);

/* ---- bounds.c: what is least and most of a page, a chunk ---- */

typedef struct parquet_bounds {
    bool is_known;
    int64_t least, most; /* as in worker->values */
} parquet_bounds;

/* Bytes of a bound in statistics; longer texts are cut to PARQUET_BOUND_TEXT bytes, a maximum is rounded up. */
enum { PARQUET_BOUND_TEXT = 64, PARQUET_BOUND_BYTES = PARQUET_BOUND_TEXT + 8 };
typedef struct parquet_bound {
    uint8_t data[PARQUET_BOUND_BYTES];
    size_t size;
    bool is_known, is_exact;
} parquet_bound;

/* < 0, 0, > 0. */
int parquet_compare(const parquet_worker *worker, const parquet_column *column, int64_t a, int64_t b);
/* Sorts the texts, if they are few compared with the values, so that comparing is fast. Errors: MEMORY. */
hd_status parquet_rank_texts(parquet_worker *worker, size_t values, hd_error *err);
parquet_bounds parquet_bounds_of(const parquet_worker *worker, const parquet_column *column, size_t first,
                                 size_t count);
void parquet_widen(parquet_bounds *bounds, const parquet_worker *worker, const parquet_column *column,
                   parquet_bounds by);
parquet_bound parquet_bound_of(const parquet_worker *worker, const parquet_column *column, int64_t value, bool is_most);

/* ---- chunk.c ---- */

/* Rows that become a page. */
typedef struct parquet_page {
    uint64_t first_row;
    size_t rows, first_value, values;
    uint64_t offset, size; /* in parquet_made.bytes, with its header */
    parquet_bounds bounds;
} parquet_page;

/* A column chunk, with its footer data. */
typedef struct parquet_chunk {
    const parquet_column *column;
    parquet_encoding encoding;
    bool has_dictionary, is_sorted;
    uint64_t rows, nulls;
    uint64_t offset, dictionary_size, size, unpacked_size; /* offset: in the file */
    parquet_bound least, most;
    uint64_t index_offset, index_size, places_offset, places_size; /* in parquet_file.indexes, .places; 0: none */
} parquet_chunk;

typedef struct parquet_made {
    hd_bytes bytes; /* dictionary and pages */
    hd_bytes index; /* column index; empty: none */
    parquet_page *pages;
    size_t page_count, page_room;
    parquet_chunk chunk;
} parquet_made;

void parquet_made_deinit(parquet_made *made);
/* Errors: MEMORY, LIMIT. */
hd_status parquet_make_chunk(parquet_made *out, parquet_worker *worker, const parquet_column *column, size_t place,
                             const parquet_group *group, hd_error *err);

/* ---- footer.c ---- */

typedef struct parquet_file {
    parquet_column *columns;
    size_t column_count;
    parquet_chunk *chunks; /* of one row group after the other */
    size_t chunk_count, chunk_room;
    uint64_t rows;
    hd_bytes indexes, places;
} parquet_file;

void parquet_put_footer(hd_bytes *out, const parquet_file *file, uint64_t indexes_at,
                        const hd_parquet_options *options);

#endif
