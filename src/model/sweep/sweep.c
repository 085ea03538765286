/* sweep.c - divides time among concurrent events; and sets of times */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/sweep/sweep.h"

bool gpu_sweep_add(gpu_sweep *sweep, int64_t start, int64_t end, uint32_t kind)
{
    if (end <= start) return true;
    for (int i = 0; i < 2; i++) {
        if (!hd_large_grow((void **)&sweep->edges, &sweep->capacity, sweep->count, sizeof *sweep->edges, sweep->large))
            return false;
        sweep->edges[sweep->count++] = i ? (gpu_edge){end, kind, -1} : (gpu_edge){start, kind, 1};
    }
    return true;
}

void gpu_sweep_deinit(gpu_sweep *sweep)
{
    hd_large_free(sweep->edges);
    *sweep = (gpu_sweep){0};
}

static bool sort_edges(gpu_sweep *sweep)
{
    gpu_edge *spare = hd_large_new(sweep->count + 1, sizeof *spare, sweep->large);
    if (!spare) return false;
    HD_SORT_RUNS(sweep->edges, spare, sweep->count, x, y, x->time < y->time);
    hd_large_free(spare);
    return true;
}

hd_status gpu_sweep_run(gpu_sweep *sweep, const gpu_piece *pieces, size_t count, gpu_stretch_found *found, void *user,
                        hd_error *err)
{
    gpu_stretch stretch = {0};
    size_t next = 0;
    if (!sort_edges(sweep)) return HD_NOMEM(err);
    for (size_t p = 0; p < count; p++) {
        stretch.window = pieces[p].window;
        for (stretch.start = pieces[p].start; stretch.start < pieces[p].end; stretch.start = stretch.end) {
            for (; next < sweep->count && sweep->edges[next].time <= stretch.start; next++) {
                const gpu_edge *edge = &sweep->edges[next];
                stretch.running[edge->kind % GPU_KINDS] += (uint32_t)edge->change;
                if (sweep->each) sweep->each[edge->kind] += (uint32_t)edge->change;
            }
            stretch.end = next < sweep->count && sweep->edges[next].time < pieces[p].end ? sweep->edges[next].time
                                                                                         : pieces[p].end;
            HD_TRY(found(user, &stretch, err));
        }
    }
    return HD_OK;
}

/* ---- pieces ---- */

gpu_pieces gpu_pieces_of(const gpu_scope *s, uint32_t device, uint64_t wanted)
{
    gpu_pieces out = {.start = s->has_from ? s->from : s->devices[device].start,
                      .end = s->has_until ? s->until : s->devices[device].end};
    uint64_t time = out.end > out.start ? (uint64_t)(out.end - out.start) : 0;
    uint32_t most = s->row_count ? GPU_PIECES_ROWS / s->row_count : GPU_PIECES_MAX;
    if (most > GPU_PIECES_MAX) most = GPU_PIECES_MAX;
    if (wanted > most) wanted = most ? most : 1;
    out.count = (uint32_t)(wanted < time ? wanted : time);
    return out;
}

void gpu_pieces_add(double *sums, const gpu_pieces *p, int64_t start, int64_t end, double rate)
{
    if (start < p->start) start = p->start;
    if (end > p->end) end = p->end;
    if (!p->count || end <= start) return;
    uint32_t i = (uint32_t)((gpu_i128)(start - p->start) * p->count / (p->end - p->start));
    while (i + 1 < p->count && gpu_piece_start(p, i + 1) <= start) i++;
    for (; start < end; i++) {
        int64_t until = gpu_piece_start(p, i + 1) < end ? gpu_piece_start(p, i + 1) : end;
        sums[i] += rate * (double)(until - start);
        start = until;
    }
}

/* ---- sets of times ---- */

bool gpu_spans_union(gpu_spans *out, gpu_span *list, size_t count, uint64_t large)
{
    size_t kept = 0;
    gpu_span *spare = hd_large_new(count + 1, sizeof *spare, large);
    *out = (gpu_spans){.list = list};
    if (spare) HD_SORT_RUNS(list, spare, count, x, y, x->start < y->start);
    hd_large_free(spare);
    for (size_t i = 0; i < count; i++) {
        if (list[i].end <= list[i].start) continue;
        if (kept && list[i].start <= list[kept - 1].end) {
            if (list[i].end > list[kept - 1].end) list[kept - 1].end = list[i].end;
        } else {
            list[kept++] = list[i];
        }
    }
    out->count = kept;
    if (spare) out->before = hd_large_new(kept + 1, sizeof *out->before, large);
    if (!out->before || !hd_large_resize((void **)&out->list, kept, kept + 1, sizeof *list, large)) {
        gpu_spans_deinit(out);
        return false;
    }
    out->before[0] = 0;
    for (size_t i = 0; i < kept; i++) out->before[i + 1] = out->before[i] + (out->list[i].end - out->list[i].start);
    return true;
}

void gpu_spans_deinit(gpu_spans *spans)
{
    hd_large_free(spans->list);
    hd_large_free(spans->before);
    *spans = (gpu_spans){0};
}

/* The time that they cover before a time. */
static int64_t covered_before(const gpu_spans *spans, int64_t time)
{
    size_t low = 0, high = spans->count;
    HD_PARTITION_POINT(low, high, at, spans->list[at].end <= time);
    int64_t sum = spans->before[low];
    return low < spans->count && spans->list[low].start < time ? sum + (time - spans->list[low].start) : sum;
}

int64_t gpu_spans_covered(const gpu_spans *spans, int64_t start, int64_t end)
{
    return end > start && spans->count ? covered_before(spans, end) - covered_before(spans, start) : 0;
}
