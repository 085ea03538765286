/* gather.h - rows of a trace's blocks, gathered into blocks of the store */
#ifndef HD_FORMAT_HEDDLE_WRITE_GATHER_H
#define HD_FORMAT_HEDDLE_WRITE_GATHER_H

#include "format/heddle/codec/block.h"
#include "format/heddle/write/ids.h"

/* Where the tables of a trace are read. */
typedef struct store_cursor {
    size_t block[HD_KIND_COUNT];
    uint32_t row[HD_KIND_COUNT];
    uint64_t global_row[HD_KIND_COUNT];
} store_cursor;

/* Memory of one block, used again and again. Zero-initialised is empty. */
typedef struct store_gathered {
    store_rows rows;
    int64_t *columns; /* HD_COL_COUNT lists */
    size_t column_capacity;
    int64_t *values;
    size_t value_capacity;
    int64_t **lists; /* of values, one per group and key */
    size_t list_capacity;
    store_group *groups;
    size_t group_capacity;
} store_gathered;

void store_gathered_deinit(store_gathered *gathered);

/* Scratch memory of the thread that gathers. */
typedef struct store_gatherer store_gatherer;
hd_status store_gatherer_new(store_gatherer **out, store_ids *ids, hd_error *err);
void store_gatherer_free(store_gatherer *gatherer);

/* The next `count` rows of a kind, which the trace has. Their blocks are released. */
hd_status store_gather(store_gathered *out, store_gatherer *gatherer, store_cursor *cursor, hd_kind kind,
                       uint32_t count, hd_error *err);

#endif
