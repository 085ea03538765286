/* gather.c - the rows of a table, lane by lane; threads count, then fill, each a range of blocks */
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "view/scene/impl.h"

enum { GATHER_ROWS = 2048 };

typedef struct gather_worker {
    const view_scene *scene;
    scene_lane *lanes;
    hd_kind kind;
    size_t from, until; /* blocks */
    uint64_t *next;     /* [lane]: number of events in these blocks; then the index of the next of them */
    int64_t start[GATHER_ROWS], track[GATHER_ROWS];
} gather_worker;

static void each_chunk(gather_worker *w, void (*chunk)(gather_worker *w, uint64_t first_row, uint32_t count))
{
    for (size_t b = w->from; b < w->until; b++) {
        const hd_block *block = hd_trace_block_at(w->scene->trace, w->kind, b);
        for (uint32_t at = 0, n; at < block->row_count; at += n) {
            n = block->row_count - at < GATHER_ROWS ? block->row_count - at : GATHER_ROWS;
            hd_column_decode(w->start, &block->columns[HD_COL_START], at, n);
            hd_column_decode(w->track, &block->columns[HD_COL_TRACK], at, n);
            for (uint32_t i = 0; i < n; i++) {
                uint32_t track = (uint32_t)w->track[i];
                w->track[i] =
                    track < w->scene->source_count ? scene_leader(w->scene->trace, track) : w->scene->source_count;
            }
            chunk(w, block->first_row + at, n);
        }
    }
}

static void count_chunk(gather_worker *w, uint64_t first_row, uint32_t count)
{
    (void)first_row;
    for (uint32_t i = 0; i < count; i++) {
        if (w->start[i] != HD_NO_TIME) w->next[w->track[i]]++;
    }
}

static void fill_chunk(gather_worker *w, uint64_t first_row, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (w->start[i] != HD_NO_TIME) w->lanes[w->track[i]].rows[w->next[w->track[i]]++] = (uint32_t)(first_row + i);
    }
}

static void count_blocks(void *state)
{
    each_chunk(state, count_chunk);
}

static void fill_blocks(void *state)
{
    each_chunk(state, fill_chunk);
}

static bool place_lanes(scene_lane *lanes, gather_worker *workers, unsigned threads, size_t lane_count)
{
    for (size_t l = 0; l < lane_count; l++) {
        for (unsigned i = 0; i < threads; i++) {
            uint64_t count = workers[i].next[l];
            workers[i].next[l] = lanes[l].count;
            lanes[l].count += count;
        }
        if (lanes[l].count == 0) continue;
        lanes[l].rows = malloc((size_t)lanes[l].count * sizeof *lanes[l].rows);
        if (!lanes[l].rows) return false;
    }
    return true;
}

hd_status scene_gather(scene_lane **out, const view_scene *scene, hd_kind kind, unsigned threads, hd_error *err)
{
    size_t lane_count = (size_t)scene->source_count + 1, blocks = hd_trace_block_count(scene->trace, kind);
    *out = NULL;
    if (hd_trace_row_count(scene->trace, kind) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "2^32 events of one kind");
    threads = hd_thread_count(threads, blocks);
    scene_lane *lanes = calloc(lane_count, sizeof *lanes);
    gather_worker *workers = calloc(threads, sizeof *workers);
    uint64_t *counts = calloc(threads * lane_count, sizeof *counts);
    bool fine = lanes && workers && counts;
    for (unsigned i = 0; i < threads && fine; i++) {
        gather_worker *w = &workers[i];
        w->scene = scene;
        w->lanes = lanes;
        w->kind = kind;
        w->from = blocks * i / threads;
        w->until = blocks * (i + 1) / threads;
        w->next = counts + i * lane_count;
    }
    if (fine) {
        hd_threads_run(count_blocks, workers, sizeof *workers, threads);
        fine = place_lanes(lanes, workers, threads, lane_count);
    }
    if (fine) hd_threads_run(fill_blocks, workers, sizeof *workers, threads);
    free(workers);
    free(counts);
    if (fine)
        *out = lanes;
    else
        scene_free_lanes(lanes, scene);
    return fine ? HD_OK : HD_NOMEM(err);
}

void scene_free_lanes(scene_lane *lanes, const view_scene *scene)
{
    for (size_t i = 0; lanes && i <= scene->source_count; i++) free(lanes[i].rows);
    free(lanes);
}
