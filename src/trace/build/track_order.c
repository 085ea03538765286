/* track_order.c - numbers threads in the order of their first events, then processes in the order of their threads
 *
 * When several threads read, track ids depend on timing. Renumbering makes the trace independent of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
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

/* A process without events of its own. */
typedef struct process {
    uint32_t track, first; /* first: the lowest new id of its threads; HD_NONE: they have no events either */
    hd_ident_type type;
    hd_string pid;
} process;

static int by_first_thread(const void *a, const void *b)
{
    const process *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->pid.size != y->pid.size) return x->pid.size < y->pid.size ? -1 : 1;
    return memcmp(x->pid.data, y->pid.data, x->pid.size);
}

/* Numbers processes without events from `count` on; returns the new count. list: room for all tracks. */
static uint32_t number_processes(const hd_trace *trace, uint32_t *map, uint32_t count, process *list)
{
    const hd_tracks *tracks = &trace->tracks;
    uint32_t found = 0;
    for (uint32_t i = 0; i < tracks->count; i++) list[i].first = HD_NONE;
    for (uint32_t i = 0; i < tracks->count; i++) {
        uint32_t parent =
            map[i] == HD_NONE ? HD_NONE : hd_tracks_find(tracks, tracks->list[i].pid, (hd_ident){0}, true);
        if (parent != HD_NONE && map[i] < list[parent].first) list[parent].first = map[i];
    }
    for (uint32_t i = 0; i < tracks->count; i++) {
        const hd_track *t = &tracks->list[i];
        if (map[i] != HD_NONE || t->kind != HD_TRACK_PROCESS) continue;
        list[found++] = (process){i, list[i].first, t->pid.type, hd_strings_at(&trace->strings, t->pid.text)};
    }
    hd_sort(list, found, sizeof *list, by_first_thread);
    for (uint32_t i = 0; i < found; i++) map[list[i].track] = count++;
    return count;
}

static bool settle(hd_trace *trace, uint32_t *map, int64_t *scratch, process *processes)
{
    bool same = true;
    for (uint32_t i = 0; i < trace->tracks.count; i++) map[i] = HD_NONE;
    uint32_t count = number_processes(trace, map, number_tracks(trace, map), processes);
    for (uint32_t i = 0; i < trace->tracks.count; i++) same = same && map[i] == i;
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
    process *processes = malloc(((size_t)trace->tracks.count + 1) * sizeof *processes);
    bool fine = map && scratch && processes && settle(trace, map, scratch, processes);
    free(processes);
    free(map);
    free(scratch);
    return fine ? HD_OK : HD_NOMEM(err);
}
