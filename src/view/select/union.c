/* union.c - the time that at least one event of several tracks covers, and the gaps between; series of counters
 *
 * The summary rows of the tracks, each without overlaps, are walked in order of start. The range is cut into parts for
 * threads; a gap across a cut is joined again afterwards.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "trace/index/lane_index.h"
#include "view/scene/place.h"
#include "view/select/select.h"

enum { MOST_THREADS = 16, LOOK_UP = 4095 };

/* Gaps in order of time. */
typedef struct gap_list {
    uint64_t count;
    view_gap longest[VIEW_GAPS];
    int64_t open_from; /* no event covers the time from here on */
} gap_list;

typedef struct union_piece {
    const view_scene *scene;
    const view_row **rows;
    size_t row_count;
    const atomic_bool *gone;
    int64_t from, until;
    int64_t busy;
    gap_list gaps;     /* those that end in the part, except the first */
    int64_t first_end; /* where the gap at its beginning ends: at `until`, if nothing is covered */
    hd_status status;
    hd_error error;
} union_piece;

static void add_gap(gap_list *gaps, int64_t from, int64_t until)
{
    view_gap gap = {from, view_length(from, until)};
    if (until <= from) return;
    gaps->count++;
    if (gap.length_ns <= gaps->longest[VIEW_GAPS - 1].length_ns) return;
    size_t at = VIEW_GAPS - 1;
    for (; at > 0 && gaps->longest[at - 1].length_ns < gap.length_ns; at--) gaps->longest[at] = gaps->longest[at - 1];
    gaps->longest[at] = gap;
}

static hd_status walk(union_piece *p, view_merge *merge)
{
    bool first = true;
    uint32_t looked = 0;
    p->gaps.open_from = p->from;
    p->first_end = p->until;
    for (const view_slice *slice; (slice = view_merge_next(merge));) {
        int64_t start = slice->start_ns > p->from ? slice->start_ns : p->from;
        int64_t end = slice->end_ns < p->until ? slice->end_ns : p->until;
        if ((++looked & LOOK_UP) == 0 && p->gone && atomic_load(p->gone))
            return hd_error_set(&p->error, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
        if (end <= start || end <= p->gaps.open_from) continue;
        if (first) p->first_end = start;
        if (!first) add_gap(&p->gaps, p->gaps.open_from, start);
        first = false;
        p->busy += end - (start > p->gaps.open_from ? start : p->gaps.open_from);
        p->gaps.open_from = end;
    }
    return HD_OK;
}

static void work(void *state)
{
    union_piece *p = state;
    view_merge *merge;
    p->status = view_merge_new(&merge, p->rows, p->row_count, view_scene_trace(p->scene), p->from, p->until, &p->error);
    if (p->status == HD_OK) p->status = walk(p, merge);
    view_merge_free(merge);
}

/* Joins the gaps of consecutive parts. */
static void join(view_selection *out, const union_piece *pieces, unsigned count)
{
    gap_list all = {.open_from = pieces[0].from};
    for (unsigned i = 0; i < count; i++) {
        const union_piece *p = &pieces[i];
        uint64_t found = p->gaps.count;
        out->busy_ns += p->busy;
        if (p->busy == 0) continue;
        add_gap(&all, all.open_from, p->first_end);
        uint64_t before = all.count;
        for (int g = 0; g < VIEW_GAPS; g++)
            add_gap(&all, p->gaps.longest[g].start_ns, p->gaps.longest[g].start_ns + p->gaps.longest[g].length_ns);
        all.count = before + found;
        all.open_from = p->gaps.open_from;
    }
    add_gap(&all, all.open_from, pieces[count - 1].until);
    out->gap_count = all.count;
    memcpy(out->gaps, all.longest, sizeof out->gaps);
}

hd_status view_select_union(view_selection *out, const view_scene *scene, const uint32_t *tracks, size_t count,
                            int64_t from_ns, int64_t until_ns, unsigned threads, const atomic_bool *gone, hd_error *err)
{
    union_piece pieces[MOST_THREADS];
    const view_row **rows = malloc((count + 1) * sizeof *rows);
    size_t row_count = 0;
    uint64_t slices = 0;
    bool told = false;
    if (!rows) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        const view_track *track = view_scene_track(scene, tracks[i]);
        if (track->kind != VIEW_SLICES) continue;
        told |= track->derived || track->told;
        if (track->derived || track->told) continue;
        out->has_busy = true;
        if (track->summary.count == 0) continue;
        slices += track->summary.count;
        rows[row_count++] = &track->summary;
    }
    if (!told) out->has_busy = true;
    uint64_t span = until_ns > from_ns ? (uint64_t)until_ns - (uint64_t)from_ns : 0;
    unsigned parts = hd_thread_count(threads, slices < 1 << 16 || span < 1 << 16 ? 1 : MOST_THREADS);
    for (unsigned i = 0; i < parts; i++)
        pieces[i] = (union_piece){.scene = scene,
                                  .rows = rows,
                                  .row_count = row_count,
                                  .gone = gone,
                                  .from = (int64_t)((uint64_t)from_ns + span / parts * i),
                                  .until = i + 1 == parts ? (int64_t)((uint64_t)from_ns + span)
                                                          : (int64_t)((uint64_t)from_ns + span / parts * (i + 1))};
    hd_threads_run(work, pieces, sizeof *pieces, parts);
    free(rows);
    for (unsigned i = 0; i < parts; i++) {
        if (pieces[i].status == HD_OK) continue;
        if (err) *err = pieces[i].error;
        return pieces[i].status;
    }
    if (out->has_busy) join(out, pieces, parts);
    return HD_OK;
}

/* ---- counters ---- */

static size_t first_from(const view_series *series, int64_t time_ns)
{
    size_t low = 0, high = series->count;
    HD_PARTITION_POINT(low, high, at, series->times_ns[at] < time_ns);
    return low;
}

bool view_series_sum_up(view_series_sum *out, const view_series *series, int64_t from_ns, int64_t until_ns)
{
    size_t first = first_from(series, from_ns), end = first_from(series, until_ns);
    size_t at = first > 0 ? first - 1 : first;
    double weight = 0, sum = 0, plain = 0;
    *out = (view_series_sum){.samples = end - first};
    if (at >= end || (series->ends && first == series->count)) return false;
    out->first = out->min = out->max = series->values[at];
    if (first > 0 && first < end && series->times_ns[first] == from_ns) { /* a sample right at the beginning */
        at = first;
        out->first = out->min = out->max = series->values[at];
    }
    size_t begin = at;
    for (; at < end; at++) {
        double value = series->values[at];
        int64_t start = series->times_ns[at] > from_ns ? series->times_ns[at] : from_ns;
        int64_t stop = at + 1 < end                           ? series->times_ns[at + 1]
                       : series->ends && end == series->count ? start
                                                              : until_ns;
        double length = stop > start ? (double)stop - (double)start : 0;
        if (value < out->min) out->min = value;
        if (value > out->max) out->max = value;
        sum += value * length;
        plain += value;
        weight += length;
    }
    out->last = series->values[end - 1];
    out->mean = weight > 0 ? sum / weight : plain / (double)(end - begin);
    return true;
}
