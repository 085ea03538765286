/* rows.c - tracks for the queues of a plan: activities that follow one another are a queue. The first queue that a
 * stream becomes keeps its track, the others get tracks of their own next to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/text/decimal.h"
#include "replay/rows.h"
#include "trace/event.h"

bool replay_find_firsts(uint32_t *firsts, const replay *r)
{
    uint32_t count = r->graph->node_count - r->first_work;
    uint32_t *path = hd_large_new((size_t)count + 1, sizeof *path, r->large);
    for (uint32_t i = 0; path && i < count; i++) firsts[i] = HD_NONE;
    for (uint32_t i = 0; path && i < count; i++) {
        uint32_t depth = 0, at = i;
        while (firsts[at] == HD_NONE && r->plan.befores[at] != HD_NONE && depth < count) {
            path[depth++] = at;
            at = r->plan.befores[at] - r->first_work;
        }
        if (firsts[at] == HD_NONE) firsts[at] = at + r->first_work;
        while (depth) firsts[path[--depth]] = firsts[at];
    }
    hd_large_free(path);
    return path != NULL;
}

uint32_t *replay_afters(const replay *r)
{
    uint32_t count = r->graph->node_count - r->first_work;
    uint32_t *afters = hd_large_new((size_t)count + 1, sizeof *afters, r->large);
    for (uint32_t i = 0; afters && i < count; i++) afters[i] = HD_NONE;
    for (uint32_t i = 0; afters && i < count; i++) {
        uint32_t before = r->plan.befores[i];
        if (before != HD_NONE) afters[before - r->first_work] = r->first_work + i;
    }
    return afters;
}

static int64_t largest_tid(const hd_trace *trace)
{
    int64_t largest = 0;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        hd_string text = track->tid.type == HD_IDENT_NUMBER ? hd_trace_string(trace, track->tid.text) : (hd_string){0};
        int64_t tid;
        if (text.data && hd_fixed_parse_whole(&tid, text.data, text.size) && tid > largest && tid < INT32_MAX)
            largest = tid;
    }
    return largest;
}

static hd_status make_track(uint32_t *out, replay_rows *rows, uint32_t from, unsigned number, hd_error *err)
{
    const hd_trace *trace = rows->r->trace;
    const hd_track *t = hd_trace_track_at(trace, from);
    hd_string was = hd_trace_string(trace, t->name);
    char tid[24], name[160];
    while (was.size && was.data[was.size - 1] == ' ') was.size--;
    int tid_size = snprintf(tid, sizeof tid, "%lld", (long long)++rows->last_tid);
    int size = snprintf(name, sizeof name, "%.*s (%u)", was.size < 120 ? (int)was.size : 120, was.data ? was.data : "",
                        number);
    hd_ident pid = t->pid;
    if (pid.type != HD_IDENT_NONE) pid.text = hd_copy_string(rows->copy, pid.text);
    const hd_ident ident = {HD_IDENT_NUMBER, hd_builder_intern(rows->builder, tid, (size_t)tid_size)};
    uint32_t track = hd_builder_track(rows->builder, pid, ident, false);
    if (track == HD_NONE) return HD_NOMEM(err);
    uint32_t text = hd_builder_intern(rows->builder, name, (size_t)size);
    hd_builder_name_track(rows->builder, track, text);
    hd_builder_sort_track(rows->builder, track, t->sort_index == HD_NO_NUMBER ? 0 : t->sort_index);
    hd_builder_set_stream(rows->builder, track, t->device, rows->last_tid);
    if (t->rank != HD_NO_NUMBER) hd_builder_set_rank(rows->builder, track, t->rank);
    *out = hd_copy_add_track(rows->copy, track);
    if (*out == HD_NONE) return HD_NOMEM(err);
    if (!hd_names_are_events(trace)) return HD_OK;
    const hd_meta_event event = {track, "thread_name", "name", HD_ARG_STRING, text};
    return hd_copy_add_meta(rows->builder, rows->names, &event, err);
}

/* By lane, number of its queues so far; by first node, its track. */
static hd_status set_tracks(replay_rows *rows, const uint32_t *firsts, uint32_t *tracks, unsigned *used, hd_error *err)
{
    const replay *r = rows->r;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t first = firsts[n - r->first_work], *track = &tracks[first - r->first_work];
        const hd_graph_lane *lane = hd_graph_lane_of(r->graph, first);
        if (*track == HD_NONE) {
            unsigned number = ++used[lane - r->graph->lanes];
            *track = lane->track;
            if (number > 1) HD_TRY(make_track(track, rows, lane->track, number, err));
        }
        bool is_own = gpu_lane_of(r->trace, replay_work(r, n)->track) == gpu_lane_of(r->trace, *track);
        if (!is_own) rows->tracks[r->graph->slices[n]] = *track;
    }
    return HD_OK;
}

static hd_status append_names(replay_rows *rows, hd_error *err)
{
    hd_chunk *chunk;
    if (!hd_batch_row_count(rows->names)) return HD_OK;
    HD_TRY(hd_batch_take(&chunk, rows->names, err));
    return hd_builder_append(rows->builder, chunk, err);
}

hd_status replay_rows_init(replay_rows *rows, const replay *r, hd_copy *copy, hd_builder *builder, hd_error *err)
{
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    uint64_t count = hd_trace_row_count(r->trace, HD_KIND_SLICE) + 1;
    *rows = (replay_rows){.r = r, .copy = copy, .builder = builder, .last_tid = largest_tid(r->trace)};
    if (!r->options->overlap && !r->options->streams && !r->options->schedule) return HD_OK;
    rows->tracks = hd_large_new(count, sizeof *rows->tracks, r->large);
    uint32_t *firsts = hd_large_new(works, sizeof *firsts, r->large);
    uint32_t *tracks = hd_large_new(works, sizeof *tracks, r->large);
    unsigned *used = calloc((size_t)r->graph->lane_count + 1, sizeof *used);
    hd_status status =
        rows->tracks && firsts && tracks && used && replay_find_firsts(firsts, r) ? HD_OK : HD_NOMEM(err);
    for (uint64_t i = 0; status == HD_OK && i < count; i++) rows->tracks[i] = HD_NONE;
    for (size_t i = 0; status == HD_OK && i < works; i++) tracks[i] = HD_NONE;
    if (status == HD_OK) status = hd_batch_new(&rows->names, builder, err);
    if (status == HD_OK) status = set_tracks(rows, firsts, tracks, used, err);
    if (status == HD_OK) status = append_names(rows, err);
    hd_large_free(firsts);
    hd_large_free(tracks);
    free(used);
    return status;
}

void replay_rows_deinit(replay_rows *rows)
{
    hd_batch_free(rows->names);
    hd_large_free(rows->tracks);
}

void replay_rows_set(const replay_rows *rows, hd_copy_rows *of, uint32_t i, int64_t slice)
{
    if (!rows->tracks || slice < 0 || rows->tracks[slice] == HD_NONE) return;
    hd_copy_change(of, HD_COL_TRACK)[i] = rows->tracks[slice];
}
