/* tile.c - the tile of a track: header, and its rows */
#include "view/tile/tile.h"

#include <stdlib.h>

#include "base/error.h"
#include "view/scene/impl.h"

enum { HEADER_BYTES = 16 };
#define TILE_LIMIT ((size_t)1 << 30)

typedef struct tile_job {
    hd_bytes *out;
    view_scene *scene;
    view_track *track;
    unsigned z;
    int64_t i;
    const view_hits *hits;
    size_t begin;
    uint32_t flags, rows;
} tile_job;

static hd_status add_row(tile_job *job, const view_row *row, hd_error *err)
{
    HD_TRY(view_tile_row(job->out, row, job->scene->trace, job->scene->start_ns, job->z, job->i, job->hits, err));
    job->rows++;
    if (job->out->size - job->begin > TILE_LIMIT)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "a tile of more than 1 GiB");
    return HD_OK;
}

static hd_status add_lane(tile_job *job, hd_error *err)
{
    const view_scene *scene = job->scene;
    const hd_index *index = view_scene_index(scene);
    const hd_lane *lane = NULL;
    if (index && job->track->events == HD_KIND_SLICE && job->track->source != HD_NONE)
        lane = hd_index_lane_of(index, scene->trace, job->track->source);
    if (!lane) {
        job->flags = VIEW_TILE_ABSENT;
        return HD_OK;
    }
    job->rows = 1;
    job->hits = NULL;
    return view_tile_lane(job->out, lane, scene->start_ns, job->z, job->i, err);
}

static hd_status add_rows(tile_job *job, bool summary, hd_error *err)
{
    const view_track *track = job->track;
    if (track->kind == VIEW_SECTION) {
        const view_row *row;
        if (!summary) {
            job->flags = VIEW_TILE_EXACT; /* it has no rows */
            return HD_OK;
        }
        HD_TRY(view_scene_summary(&row, job->scene, track->id, err));
        job->flags = row ? VIEW_TILE_EXACT : VIEW_TILE_ABSENT;
        return row ? add_row(job, row, err) : HD_OK;
    }
    if (!atomic_load_explicit(&track->ready, memory_order_acquire)) {
        job->flags = 0;
        return add_lane(job, err);
    }
    job->flags = VIEW_TILE_EXACT;
    if (track->kind == VIEW_COUNTER) {
        job->flags |= VIEW_TILE_COUNTER;
        job->hits = NULL;
        for (uint32_t s = 0; s < track->series_count; s++, job->rows++)
            HD_TRY(view_tile_series(job->out, &track->series[s], job->scene->start_ns, job->z, job->i, err));
        return HD_OK;
    }
    if (summary) return add_row(job, &track->summary, err);
    for (uint32_t r = 0; r < track->rows.count; r++) HD_TRY(add_row(job, &track->rows.rows[r], err));
    return HD_OK;
}

hd_status view_tile_track(hd_bytes *out, bool *out_exact, view_scene *scene, uint32_t track, unsigned z, int64_t i,
                          bool summary, const view_hits *hits, hd_error *err)
{
    static const uint8_t zeros[HEADER_BYTES];
    tile_job job = {.out = out, .scene = scene, .track = view_scene_track(scene, track), .z = z, .i = i, .hits = hits};
    job.begin = out->size;
    hd_bytes_put(out, zeros, HEADER_BYTES);
    HD_TRY(add_rows(&job, summary, err));
    if (out->failed) return HD_NOMEM(err);
    uint8_t *header = out->data + job.begin;
    hd_le_put(header, track, 4);
    hd_le_put(header + 4, job.flags | (job.hits ? VIEW_TILE_HITS : 0), 4);
    hd_le_put(header + 8, job.rows, 4);
    hd_le_put(header + 12, (uint32_t)(out->size - job.begin), 4);
    *out_exact = (job.flags & VIEW_TILE_EXACT) != 0;
    return HD_OK;
}
