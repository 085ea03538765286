/* prepare.c - finds the blocks to search, and the tracks of their events */
#include <stdlib.h>

#include "base/memory/large.h"
#include "trace/spill.h"
#include "view/search/impl.h"

static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_COUNTER, HD_KIND_ASYNC, HD_KIND_SAMPLE};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Whether a track is the requested one, or below it. */
static bool is_below(const view_scene *scene, uint32_t track, uint32_t wanted, uint32_t tracks)
{
    for (uint32_t steps = 0; track < tracks && steps <= tracks; steps++) {
        if (track == wanted) return true;
        track = view_scene_track(scene, track)->parent;
    }
    return false;
}

bool search_find_tracks(view_search *s, const hd_trace *trace)
{
    uint32_t sources = hd_trace_track_count(trace);
    for (int k = 0; k < KINDS; k++) {
        hd_kind kind = kinds[k];
        if (kind == HD_KIND_ASYNC || kind == HD_KIND_COUNTER) continue;
        s->track_of[kind] = malloc(((size_t)sources + 1) * sizeof **s->track_of);
        if (!s->track_of[kind]) return false;
        for (uint32_t t = 0; t <= sources; t++)
            s->track_of[kind][t] = view_scene_track_of(s->scene, t < sources ? t : HD_NONE, kind);
    }
    if (s->query.track == HD_NONE) return true;
    s->wanted = calloc((size_t)s->tracks + 1, 1);
    for (uint32_t t = 0; s->wanted && t < s->tracks; t++)
        s->wanted[t] = is_below(s->scene, t, s->query.track, s->tracks);
    return s->wanted != NULL;
}

bool search_make_hits(view_search *s, const hd_trace *trace)
{
    s->is_by_event = s->in != VIEW_IN_NAMES || search_has_conditions(s);
    for (int k = 0; s->is_by_event && k < KINDS; k++) {
        uint64_t rows = hd_trace_row_count(trace, kinds[k]);
        if (rows) s->hits.of[kinds[k]] = hd_large_zeroed((size_t)(rows / 8 + 1), 1, hd_trace_large_bytes(trace));
        if (rows && !s->hits.of[kinds[k]]) return false;
    }
    return true;
}

bool search_list_blocks(view_search *s, const hd_trace *trace)
{
    size_t all = 0;
    for (int k = 0; k < KINDS; k++) all += hd_trace_block_count(trace, kinds[k]);
    s->blocks = calloc(all + 1, sizeof *s->blocks);
    if (!s->blocks) return false;
    for (int k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, kinds[k]); i++)
            s->blocks[s->block_count++] = (view_search_block){.kind = (uint8_t)kinds[k], .index = (uint32_t)i};
    }
    return true;
}
