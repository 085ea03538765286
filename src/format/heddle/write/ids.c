/* ids.c - ids of strings and shapes as the file has them */
#include "format/heddle/write/ids.h"

#include <stdlib.h>

#include "base/memory/vector.h"
#include "heddle/builder.h"

_Static_assert(sizeof((store_ids *)0)->shapes / sizeof(uint32_t) == HD_SHAPE_LIMIT, "a trace has no more shapes");

hd_status store_ids_init(store_ids *ids, const hd_trace *trace, hd_error *err)
{
    *ids = (store_ids){.trace = trace, .string_count = STORE_STRING_FIRST, .shape_count = STORE_SHAPE_FIRST};
    ids->string_limit = hd_trace_string_count(trace);
    ids->shape_limit = hd_trace_shape_count(trace);
    ids->string_map = calloc((size_t)ids->string_limit + 1, sizeof *ids->string_map);
    ids->shape_map = malloc(((size_t)ids->shape_limit + 1) * sizeof *ids->shape_map);
    if (!ids->string_map || !ids->shape_map) return HD_NOMEM(err);
    uint32_t empty = hd_trace_find_string(trace, "", 0);
    if (empty != HD_NONE) ids->string_map[empty] = STORE_STRING_EMPTY;
    for (uint32_t i = 0; i < ids->shape_limit; i++) ids->shape_map[i] = i < STORE_SHAPE_FIRST ? i : HD_NONE;
    for (uint32_t i = 0; i < STORE_SHAPE_FIRST; i++) ids->shapes[i] = i;
    return HD_OK;
}

void store_ids_deinit(store_ids *ids)
{
    free(ids->string_map);
    free(ids->shape_map);
    free(ids->new_strings);
}

uint32_t store_ids_add_string(store_ids *ids, uint32_t id)
{
    if (!hd_grow((void **)&ids->new_strings, &ids->new_capacity, ids->new_count, sizeof *ids->new_strings)) {
        ids->failed = true;
        return HD_STRING_NONE;
    }
    ids->new_strings[ids->new_count++] = id;
    return ids->string_map[id] = ids->string_count++;
}

uint32_t store_ids_add_shape(store_ids *ids, uint32_t shape)
{
    ids->shapes[ids->shape_count] = shape;
    return ids->shape_map[shape] = ids->shape_count++;
}
