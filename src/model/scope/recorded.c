/* recorded.c - when each device was recorded, in captures that were open for windows of time only
 *
 * An activity belongs to the window in which it was launched (docs/windows.md), so it may run when that is closed, and
 * what runs when a window opens was not recorded. So a device was recorded in a window from the first start to the last
 * end of what was launched in it, just as the span of a device is defined without windows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/capture_windows.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/scope/recorded.h"
#include "model/scope/scope.h"
#include "model/sweep/sweep.h"
#include "trace/event.h"
#include "trace/lazy.h"

static bool has_windows(const hd_trace *trace, uint32_t tid)
{
    for (uint32_t t = 0; tid != HD_NONE && t < hd_trace_track_count(trace); t++)
        if (hd_trace_track_at(trace, t)->tid.text == tid) return true;
    return false;
}

static bool add_row(gpu_capture_windows *out, const int64_t *ranks, const hd_block *block, uint32_t row)
{
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    bool is_open = duration == HD_NO_TIME; /* the program was killed within the window */
    if (start == HD_NO_TIME) return true;
    if (!hd_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list)) return false;
    out->list[out->count++] =
        (gpu_capture_window){.rank = ranks[hd_column_at(&block->columns[HD_COL_TRACK], row)],
                             .open = gpu_time(start),
                             .close = is_open ? GPU_LAST_TIME : gpu_time(hd_end_or_last(start, duration))};
    return true;
}

static bool list_windows(gpu_capture_windows *out, const hd_trace *trace, const int64_t *ranks, uint32_t tid)
{
    uint32_t category = hd_trace_find_string(trace, HD_CAPTURE_WINDOWS_CATEGORY, strlen(HD_CAPTURE_WINDOWS_CATEGORY));
    hd_block_room room = {0};
    bool fine = true;
    for (size_t b = 0; category != HD_NONE && fine && b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, b);
        for (uint32_t row = 0; fine && row < block->row_count; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            if ((uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row) == category &&
                track < hd_trace_track_count(trace) && hd_trace_track_at(trace, track)->tid.text == tid)
                fine = add_row(out, ranks, block, row);
        }
    }
    hd_walk_end(&room, trace);
    return fine;
}

static int by_rank_and_time(const void *a, const void *b)
{
    const gpu_capture_window *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->open > y->open) - (x->open < y->open);
}

/* Processes of a rank may have windows of their own. */
static void unite(gpu_capture_windows *w)
{
    size_t kept = 0;
    if (w->count) hd_sort(w->list, w->count, sizeof *w->list, by_rank_and_time);
    for (size_t i = 0; i < w->count; i++) {
        gpu_capture_window *last = kept ? &w->list[kept - 1] : NULL;
        if (!last || last->rank != w->list[i].rank || w->list[i].open > last->close)
            w->list[kept++] = w->list[i];
        else if (w->list[i].close > last->close)
            last->close = w->list[i].close;
    }
    w->count = kept;
}

/* The last that opened by the launch, else the first. */
static gpu_capture_window *window_of(gpu_capture_window *list, size_t count, const gpu_scope *s, const gpu_work *work)
{
    int64_t time = work->launch == HD_NONE ? work->start : s->launches->launches[work->launch].start_ns;
    size_t low = 0, high = count;
    HD_PARTITION_POINT(low, high, at, list[at].open <= time);
    return &list[low ? low - 1 : 0];
}

/* list: the windows of the device's rank. */
static bool find_spans(gpu_spans *out, const gpu_scope *s, const gpu_device *device, gpu_capture_window *list,
                       size_t count)
{
    gpu_span *spans = hd_large_new(count + 1, sizeof *spans, s->large);
    if (!spans) return false;
    for (size_t i = 0; i < count; i++) {
        list[i].start = INT64_MAX;
        list[i].end = INT64_MIN;
    }
    for (uint32_t i = 0; i < device->count; i++) {
        const gpu_work *work = &s->works[s->order[device->first + i]];
        gpu_capture_window *of = window_of(list, count, s, work);
        if (work->start < of->start) of->start = work->start;
        if (work->end > of->end) of->end = work->end;
    }
    for (size_t i = 0; i < count; i++) spans[i] = (gpu_span){list[i].start, list[i].end};
    return gpu_spans_union(out, spans, count, s->large);
}

/* A rank without windows was recorded all the time. */
static bool find_always(gpu_spans *out, const gpu_scope *s)
{
    gpu_span *all = hd_large_new(1, sizeof *all, s->large);
    if (all) *all = (gpu_span){-GPU_LAST_TIME, GPU_LAST_TIME};
    return all && gpu_spans_union(out, all, 1, s->large);
}

bool gpu_capture_windows_find(gpu_capture_windows *out, const hd_trace *trace, const int64_t *ranks)
{
    uint32_t tid = hd_trace_find_string(trace, HD_CAPTURE_WINDOWS_TID_TEXT, strlen(HD_CAPTURE_WINDOWS_TID_TEXT));
    bool fine = !has_windows(trace, tid) || list_windows(out, trace, ranks, tid);
    unite(out);
    return fine;
}

void gpu_capture_windows_deinit(gpu_capture_windows *windows)
{
    free(windows->list);
    *windows = (gpu_capture_windows){0};
}

size_t gpu_capture_windows_of(gpu_capture_window **out, const gpu_capture_windows *windows, int64_t rank)
{
    size_t low = 0, high = windows->count, end;
    HD_PARTITION_POINT(low, high, at, windows->list[at].rank < rank);
    for (end = low; end < windows->count && windows->list[end].rank == rank;) end++;
    *out = windows->list + low;
    return end - low;
}

bool gpu_recorded_find(gpu_scope *s)
{
    gpu_capture_windows w = {0};
    bool fine = gpu_capture_windows_find(&w, s->trace, s->ranks);
    if (fine && w.count) {
        s->recorded = calloc((size_t)s->device_count + 1, sizeof *s->recorded);
        fine = s->recorded != NULL;
    }
    for (uint32_t d = 0; fine && s->recorded && d < s->device_count; d++) {
        gpu_capture_window *list;
        size_t count = gpu_capture_windows_of(&list, &w, s->devices[d].rank);
        fine = count ? find_spans(&s->recorded[d], s, &s->devices[d], list, count) : find_always(&s->recorded[d], s);
    }
    gpu_capture_windows_deinit(&w);
    return fine;
}

void gpu_recorded_deinit(gpu_scope *s)
{
    for (uint32_t d = 0; s->recorded && d < s->device_count; d++) gpu_spans_deinit(&s->recorded[d]);
    free(s->recorded);
    s->recorded = NULL;
}
