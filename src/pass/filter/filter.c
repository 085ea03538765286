/* filter.c - keeps the events of some tracks, names or categories
 *
 * Kept are events of each kind that pass the lists; the end of a begin/end pair with its begin. Flow points are kept
 * with the slice they are bound to: points of removed slices are lost, which the ledger counts, and so is the last
 * remaining point of a flow. Names and order of a track are kept if the track is, those of a process if one of its
 * tracks is.
 */
#include "pass/filter/filter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/pattern/pattern.h"
#include "pass/copy/points.h"
#include "trace/spill.h"

typedef struct sieve {
    const hd_trace *trace;
    const hd_filter *filter;
    filter_list tracks, names, category;
    uint8_t *track_stays;   /* by track */
    uint8_t *lane_stays;    /* by track, the first of its twins: for filter->stays */
    uint8_t *process_stays; /* by track of a process: one of its tracks is kept */
    uint8_t *name_passes;   /* by string: 0 unknown, 1 no, 2 yes */
    uint8_t *category_passes;
    uint8_t *slice_stays; /* by row */
    uint8_t *flow_stays;  /* by row */
    uint64_t lost_points;
    uint32_t process_names[3]; /* strings of process_name, … */
    bool failed;
} sieve;

/* ---- texts ---- */

static bool string_passes(sieve *s, filter_list *list, uint8_t *known, uint32_t id)
{
    if (list->count == 0) return true;
    if (!known[id]) {
        hd_string text = hd_trace_string(s->trace, id);
        known[id] = filter_list_passes(list, &(filter_text){text.data, text.size}, 1) ? 2 : 1;
    }
    return known[id] == 2;
}

static bool row_stays(const sieve *s, const hd_block *block, uint32_t row)
{
    return !s->filter->stays || s->filter->stays(s->filter->user, block->kind, block->first_row + row);
}

/* Marks the lanes with an event that the caller's function keeps. */
static void mark_lanes(uint8_t *lane_stays, const sieve *s)
{
    static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_SAMPLE, HD_KIND_COUNTER, HD_KIND_ASYNC};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        for (size_t b = 0; b < hd_trace_block_count(s->trace, kinds[n]); b++) {
            const hd_block *block = hd_trace_block_at(s->trace, kinds[n], b);
            for (uint32_t i = 0; i < block->row_count; i++) {
                uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i);
                if (track == HD_NONE || !row_stays(s, block, i)) continue;
                lane_stays[hd_trace_track_at(s->trace, track)->same_as] = 1;
            }
        }
    }
}

static void choose_tracks(sieve *s)
{
    if (s->filter->stays) mark_lanes(s->lane_stays, s);
    for (uint32_t i = 0; i < hd_trace_track_count(s->trace); i++) {
        const hd_track *track = hd_trace_track_at(s->trace, i);
        s->track_stays[i] = filter_track_passes(&s->failed, &s->tracks, s->trace, track) &&
                            (!s->filter->stays || s->lane_stays[track->same_as]);
        uint32_t process = track->parent == HD_NONE ? i : track->parent;
        /* a process without events of its own matters only for its threads */
        bool has_events = false;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) has_events |= track->rows[kind] > 0;
        if (s->track_stays[i] && has_events) s->process_stays[process] = 1;
    }
    for (uint32_t i = 0; i < hd_trace_track_count(s->trace); i++) {
        if (hd_trace_track_at(s->trace, i)->kind == HD_TRACK_PROCESS) s->track_stays[i] |= s->process_stays[i];
    }
}

/* ---- slices ---- */

static bool track_at_stays(const sieve *s, uint32_t track)
{
    return track == HD_NONE ? s->tracks.count == 0 && !s->filter->stays : s->track_stays[track];
}

static void choose_block(sieve *s, uint8_t *keep, const hd_block *block)
{
    const hd_column *c = block->columns;
    for (uint32_t i = 0; i < block->row_count; i++) {
        keep[i] = row_stays(s, block, i) && track_at_stays(s, (uint32_t)hd_column_at(&c[HD_COL_TRACK], i)) &&
                  string_passes(s, &s->names, s->name_passes, (uint32_t)hd_column_at(&c[HD_COL_NAME], i)) &&
                  string_passes(s, &s->category, s->category_passes, (uint32_t)hd_column_at(&c[HD_COL_CATEGORY], i));
    }
}

static void choose_slices(sieve *s)
{
    for (size_t i = 0; i < hd_trace_block_count(s->trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(s->trace, HD_KIND_SLICE, i);
        choose_block(s, s->slice_stays + block->first_row, block);
    }
}

/* ---- flows ---- */

static bool unbound_stays(const void *user, uint32_t track)
{
    return track_at_stays(user, track);
}

/* ---- rows on their way ---- */

static void sift_ends(sieve *s, hd_copy_rows *rows)
{
    const int64_t *partner = hd_copy_look(rows, HD_COL_PARTNER);
    choose_block(s, rows->keep, rows->block);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        if (partner[i] >= 0) rows->keep[i] = s->slice_stays[partner[i]];
    }
}

static void sift_meta(sieve *s, hd_copy_rows *rows)
{
    const int64_t *tracks = hd_copy_look(rows, HD_COL_TRACK), *names = hd_copy_look(rows, HD_COL_NAME);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        uint32_t track = (uint32_t)tracks[i];
        if (track == HD_NONE) continue;
        const hd_track *t = hd_trace_track_at(s->trace, track);
        bool of_process = false;
        for (int n = 0; n < 3; n++) of_process |= names[i] == s->process_names[n];
        rows->keep[i] = of_process && t->parent != HD_NONE ? s->process_stays[t->parent] : s->track_stays[track];
    }
}

static hd_status sift_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    sieve *s = user;
    const hd_block *block = rows->block;
    (void)copy;
    switch (block->kind) {
    case HD_KIND_SLICE: memcpy(rows->keep, s->slice_stays + block->first_row, block->row_count); break;
    case HD_KIND_FLOW: memcpy(rows->keep, s->flow_stays + block->first_row, block->row_count); break;
    case HD_KIND_END: sift_ends(s, rows); break;
    case HD_KIND_META: sift_meta(s, rows); break;
    default: choose_block(s, rows->keep, block); break;
    }
    return s->failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- the pass ---- */

static hd_status sift_into(hd_builder *builder, hd_pass_result *result, sieve *s, hd_error *err)
{
    hd_copy *copy;
    hd_copy_hooks hooks = {.user = s, .rows = sift_rows};
    HD_TRY(hd_copy_new(&copy, s->trace, builder, err));
    hd_status status = hd_copy_tracks(copy, s->track_stays, NULL, err);
    if (status == HD_OK) status = hd_copy_events(copy, &hooks, err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, err);
    result->lost = s->lost_points;
    result->removed = hd_copy_dropped(copy) - s->lost_points;
    hd_copy_free(copy);
    if (s->lost_points)
        hd_builder_ledger(builder, "filter", "filter.flow-lost", HD_LEDGER_LOSS, s->lost_points, HD_OFFSET_NONE);
    return status;
}

static hd_status init_lists(sieve *s, const hd_filter *filter, hd_error *err)
{
    HD_TRY(filter_list_init(&s->tracks, filter->tracks, "--tracks", err));
    HD_TRY(filter_list_init(&s->names, filter->names, "--names", err));
    return filter_list_init(&s->category, filter->category, "--category", err);
}

static hd_status init_sieve(sieve *s, const hd_filter *filter, hd_error *err)
{
    static const char *const process_names[] = {"process_name", "process_labels", "process_sort_index"};
    const hd_trace *trace = s->trace;
    size_t tracks = hd_trace_track_count(trace), strings = hd_trace_string_count(trace);
    HD_TRY(init_lists(s, filter, err));
    s->track_stays = calloc(tracks + 1, 1);
    s->lane_stays = calloc(tracks + 1, 1);
    s->process_stays = calloc(tracks + 1, 1);
    s->name_passes = calloc(strings + 1, 1);
    s->category_passes = calloc(strings + 1, 1);
    s->slice_stays =
        hd_large_zeroed((size_t)hd_trace_row_count(trace, HD_KIND_SLICE) + 1, 1, hd_trace_large_bytes(trace));
    s->flow_stays =
        hd_large_zeroed((size_t)hd_trace_row_count(trace, HD_KIND_FLOW) + 1, 1, hd_trace_large_bytes(trace));
    for (int n = 0; n < 3; n++)
        s->process_names[n] = hd_trace_find_string(trace, process_names[n], strlen(process_names[n]));
    bool fine =
        s->track_stays && s->lane_stays && s->process_stays && s->name_passes && s->category_passes && s->slice_stays;
    return fine && s->flow_stays ? HD_OK : HD_NOMEM(err);
}

static void deinit_sieve(sieve *s)
{
    filter_list_deinit(&s->tracks);
    filter_list_deinit(&s->names);
    filter_list_deinit(&s->category);
    free(s->track_stays);
    free(s->lane_stays);
    free(s->process_stays);
    free(s->name_passes);
    free(s->category_passes);
    hd_large_free(s->slice_stays);
    hd_large_free(s->flow_stays);
}

hd_status hd_filter_valid(const hd_filter *filter, hd_error *err)
{
    sieve s = {0};
    hd_status status = init_lists(&s, filter, err);
    deinit_sieve(&s);
    return status;
}

hd_status hd_filter_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_filter *filter,
                          hd_error *err)
{
    hd_builder *builder = NULL;
    sieve s = {.trace = trace, .filter = filter};
    *out = NULL;
    *result = (hd_pass_result){0};
    hd_status status = init_sieve(&s, filter, err);
    if (status == HD_OK) {
        choose_tracks(&s);
        choose_slices(&s);
        const hd_points_bound bound = {s.slice_stays, unbound_stays, &s};
        status = s.failed ? HD_NOMEM(err) : hd_points_keep_bound(s.flow_stays, &s.lost_points, trace, &bound, err);
    }
    if (status == HD_OK) status = hd_builder_new(&builder, err);
    if (status == HD_OK) status = sift_into(builder, result, &s, err);
    deinit_sieve(&s);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    return status;
}
