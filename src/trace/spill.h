/* spill.h - columns in a temporary file instead of memory
 *
 * The file has no name, grows as it is written, and is mapped in windows, so that a column's data is an ordinary
 * pointer. The kernel keeps used pages in memory and drops others.
 */
#ifndef HD_TRACE_SPILL_H
#define HD_TRACE_SPILL_H

#include <pthread.h>

#include "base/bytes.h"
#include "base/memory/arena.h"
#include "heddle/builder.h"

typedef struct hd_spill {
    pthread_mutex_t lock;
    uint64_t limit;     /* bytes of blocks that may be in memory; 0: the default */
    uint64_t used;      /* bytes of blocks that are */
    int file;           /* -1: none yet */
    bool keeps_visited; /* hd_trace_keep_visited */
    uint64_t file_bytes;
    uint8_t **windows;
    size_t window_count, window_capacity;
    hd_bytes buffer;
} hd_spill;

void hd_spill_init(hd_spill *spill);
void hd_spill_deinit(hd_spill *spill);
/* See hd_builder_limit_memory. */
void hd_spill_limit(hd_spill *spill, uint64_t bytes);
uint64_t hd_spill_limit_of(const hd_spill *spill);
/* Counts the blocks of a chunk, and writes them to the file beyond the limit. Errors: IO, MEMORY. */
hd_status hd_spill_chunk(hd_spill *spill, const hd_shape *shapes, hd_chunk *chunk, hd_error *err);
/* The same for one block, whose columns and groups are in the arena. Any thread. */
hd_status hd_spill_block(hd_spill *spill, const hd_shape *shapes, hd_block *block, hd_arena *arena, hd_error *err);
/* Whether a block that is visited once should not be kept: further ones go to the file, or soon will. Any thread. */
bool hd_spill_is_full(hd_spill *spill);

/* Moves the data of a column that is computed later: to the arena, or beyond the limit to the file. One thread. */
hd_status hd_spill_column(hd_spill *spill, hd_column *column, uint32_t row_count, hd_arena *arena, hd_error *err);

/* The size in bytes from which on an array with an entry per event belongs in a file (base/memory/large.h): a part of
 * the memory limit of the read, so that derived data respects the limit too. */
uint64_t hd_trace_large_bytes(const hd_trace *trace);

#endif
