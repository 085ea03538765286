/* track_order.c - numbers threads in the order of their first events
 *
 * When several threads read, track ids depend on timing. Renumbering makes the trace independent of it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "trace/column.h"
#include "trace/impl.h"

/* Where each table is read. */
typedef struct places {
    size_t block[HD_KIND_COUNT];
    uint32_t row[HD_KIND_COUNT];
} places;

static uint32_t next_track(const hd_trace *trace, places *at, uint8_t kind)
{
    const hd_block *block = trace->tables[kind].blocks[at->block[kind]];
    uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], at->row[kind]);
    if (++at->row[kind] == block->row_count) {
        at->row[kind] = 0;
        at->block[kind]++;
    }
    return track;
}

/* map[id]: the new id of each track with events; returns how many there are. */
static uint32_t number_tracks(const hd_trace *trace, uint32_t *map)
{
    places at = {0};
    uint32_t count = 0;
    for (size_t run = 0; run < trace->chunk_count; run++) {
        const hd_chunk *chunk = trace->chunk_list[run];
        for (size_t i = 0; i < chunk->order_count; i++) {
            if (count == trace->tracks.count) return count;
            uint32_t track = next_track(trace, &at, chunk->order[i]);
            if (track != HD_NONE && map[track] == HD_NONE) map[track] = count++;
        }
    }
    return count;
}

static bool renumber(hd_trace *trace, hd_block *block, const uint32_t *map, int64_t *scratch)
{
    hd_column *column = &block->columns[HD_COL_TRACK];
    hd_column_decode(scratch, column, 0, block->row_count);
    for (uint32_t i = 0; i < block->row_count; i++) {
        if (scratch[i] != HD_NONE) scratch[i] = map[scratch[i]];
    }
    return hd_column_seal(column, &trace->arena, scratch, block->row_count);
}

static bool settle(hd_trace *trace, uint32_t *map, int64_t *scratch)
{
    bool same = true;
    for (uint32_t i = 0; i < trace->tracks.count; i++) map[i] = HD_NONE;
    uint32_t count = number_tracks(trace, map);
    for (uint32_t i = 0; i < trace->tracks.count; i++) {
        if (map[i] == HD_NONE && trace->tracks.list[i].kind == HD_TRACK_PROCESS) map[i] = count++;
        same = same && map[i] == i;
    }
    if (same) return true;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < trace->tables[kind].count; i++) {
            if (!renumber(trace, trace->tables[kind].blocks[i], map, scratch)) return false;
        }
    }
    return hd_tracks_keep(&trace->tracks, map, count);
}

hd_status hd_builder_settle_tracks(hd_builder *builder, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    uint32_t *map = malloc(((size_t)trace->tracks.count + 1) * sizeof *map);
    uint64_t rows = 1;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++)
        if (trace->tables[kind].row_count > rows) rows = trace->tables[kind].row_count;
    int64_t *scratch = malloc(sizeof *scratch * (rows < HD_BLOCK_ROWS ? (size_t)rows : HD_BLOCK_ROWS));
    bool fine = map && scratch && settle(trace, map, scratch);
    free(map);
    free(scratch);
    return fine ? HD_OK : HD_NOMEM(err);
}
