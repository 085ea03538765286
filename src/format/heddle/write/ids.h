/* ids.h - ids of strings and shapes in the file: assigned at first use
 *
 * So the file depends on the contents of the trace and not on the order in which threads interned its strings. New ones
 * are collected in a list, and the writer writes them before the sections that need them.
 */
#ifndef HD_FORMAT_HEDDLE_WRITE_IDS_H
#define HD_FORMAT_HEDDLE_WRITE_IDS_H

#include <stdbool.h>

#include "base/error.h"
#include "heddle/trace.h"

/* Ids that every file has without saying so. */
enum { STORE_STRING_EMPTY = 1, STORE_STRING_FIRST = 2, STORE_SHAPE_FIRST = 2 };

typedef struct store_ids {
    const hd_trace *trace;
    uint32_t *string_map; /* file id by the trace's id, 0: none yet */
    uint32_t *shape_map;  /* likewise, HD_NONE: none yet */
    uint32_t string_limit, shape_limit;
    uint32_t string_count, shape_count; /* ids given */
    uint32_t *new_strings;              /* the trace's ids, in the order of those of the file */
    size_t new_count, new_capacity;
    uint32_t shapes[4096]; /* the trace's id by the file's */
    bool failed;           /* memory ran out */
} store_ids;

hd_status store_ids_init(store_ids *ids, const hd_trace *trace, hd_error *err);
void store_ids_deinit(store_ids *ids);

/* A string that has no id yet. */
uint32_t store_ids_add_string(store_ids *ids, uint32_t id);
uint32_t store_ids_add_shape(store_ids *ids, uint32_t shape);

/* Ids that the trace does not have become HD_STRING_NONE. */
static inline uint32_t store_ids_string(store_ids *ids, uint64_t id)
{
    if (id >= ids->string_limit) return HD_STRING_NONE;
    uint32_t mapped = ids->string_map[id];
    return mapped || id == HD_STRING_NONE ? mapped : store_ids_add_string(ids, (uint32_t)id);
}

static inline uint32_t store_ids_shape(store_ids *ids, uint64_t shape)
{
    if (shape >= ids->shape_limit) return 0;
    uint32_t mapped = ids->shape_map[shape];
    return mapped != HD_NONE ? mapped : store_ids_add_shape(ids, (uint32_t)shape);
}

#endif
