/* chunk.c - chunks built from whole columns */
#include "trace/chunk.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/impl.h"
#include "trace/spill.h"

hd_status hd_chunk_new(hd_chunk **out, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? HD_OK : HD_NOMEM(err);
}

hd_arena *hd_chunk_arena(hd_chunk *chunk)
{
    return &chunk->arena;
}

hd_status hd_chunk_add_block(hd_chunk *chunk, const hd_block *block, hd_error *err)
{
    hd_block *copy = hd_arena_alloc(&chunk->arena, sizeof *copy);
    if (!copy || !hd_grow((void **)&chunk->blocks, &chunk->block_capacity, chunk->block_count, sizeof copy))
        return HD_NOMEM(err);
    *copy = *block;
    chunk->blocks[chunk->block_count++] = copy;
    return HD_OK;
}

uint8_t *hd_chunk_order_room(hd_chunk *chunk, size_t count)
{
    uint8_t *order = realloc(chunk->order, chunk->order_count + count + 1);
    if (!order) return NULL;
    chunk->order = order;
    return order + chunk->order_count;
}

void hd_chunk_order_add(hd_chunk *chunk, size_t count)
{
    chunk->order_count += count;
}

size_t hd_chunk_order_count(const hd_chunk *chunk)
{
    return chunk->order_count;
}

const char *hd_builder_keep_text(hd_builder *builder, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hd_arena_alloc(&builder->trace.arena, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

void hd_builder_limit_as(hd_builder *builder, const hd_trace *other, size_t count)
{
    uint64_t one = hd_spill_limit_of(&other->spill);
    builder->trace.spill.limit = count && one > UINT64_MAX / count ? UINT64_MAX : one * count;
    builder->trace.tracks.large = hd_trace_large_bytes(&builder->trace);
}
