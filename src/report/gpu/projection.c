/* projection.c - usually an activity is in few pieces: then each piece is computed separately
 *
 * If pieces nest deeply, the list is walked once. Each activity takes the time in which it runs from those before it in
 * the list; the time of the activities from `first` on, when the sweep has reached `until`, is the time in which one of
 * the piece runs. A segment tree has the owner of each time, a Fenwick tree the time of each activity; the last end
 * among activities from `first` on is found in a list of those whose end no later activity reaches, and likewise the
 * first start.
 */
#include "report/gpu/projection.h"

#include <stdlib.h>

#include "base/memory/large.h"
#include "base/sorted.h"

enum { FEW = 16 }; /* mean number of pieces per activity */

static gpu_span span_of(const gpu_scope *s, uint32_t work)
{
    return (gpu_span){s->works[work].start, s->works[work].end};
}

/* ---- one by one ---- */

static bool project_each(gpu_projection *pieces, size_t count, size_t most, const gpu_scope *s, const uint32_t *list)
{
    gpu_span *spans = hd_large_new(most + 1, sizeof *spans, s->large);
    gpu_span *spare = hd_large_new(most + 1, sizeof *spare, s->large);
    for (size_t i = 0; spans && spare && i < count; i++) {
        gpu_projection *p = &pieces[i];
        size_t works = p->until - p->first;
        if (!works) continue;
        for (size_t k = 0; k < works; k++) {
            spans[k] = span_of(s, list[p->first + k]);
            p->time = gpu_sum(p->time, gpu_duration(&s->works[list[p->first + k]]));
        }
        HD_SORT_RUNS(spans, spare, works, x, y, x->start < y->start);
        p->start = p->end = spans[0].start;
        for (size_t k = 0; k < works; k++) {
            int64_t start = spans[k].start > p->end ? spans[k].start : p->end;
            if (spans[k].end > start) p->busy += spans[k].end - start;
            if (spans[k].end > p->end) p->end = spans[k].end;
        }
    }
    bool fine = spans && spare;
    hd_large_free(spans);
    hd_large_free(spare);
    return fine;
}

/* ---- all at once ---- */

enum { NOBODY = HD_NONE, SEVERAL = HD_NONE - 1 };

typedef struct piece_end {
    size_t until, piece;
} piece_end;

typedef struct projector {
    const gpu_scope *s;
    const uint32_t *list;
    int64_t *times; /* all starts and ends, sorted, each once */
    size_t time_count;
    uint32_t *owners;       /* segment tree over the segments between them: an index in the list, or NOBODY, SEVERAL */
    int64_t *own;           /* Fenwick tree over the list: time that works have */
    gpu_i128 *before;       /* by index in the list: the times of all activities before it */
    uint32_t *first, *last; /* candidates for the first start and the last end of pieces that end here */
    size_t first_count, last_count, count;
    piece_end *ends, *spare_ends;
} projector;

static void give(projector *p, uint32_t place, int64_t time)
{
    for (size_t i = (size_t)place + 1; i <= p->count; i += i & (0 - i)) p->own[i] += time;
}

static int64_t owned_before(const projector *p, size_t place)
{
    int64_t sum = 0;
    for (size_t i = place; i; i -= i & (0 - i)) sum += p->own[i];
    return sum;
}

/* Gives the segments [from, until) to an activity; `node` covers [low, high). */
static void take(projector *p, size_t node, size_t low, size_t high, size_t from, size_t until, uint32_t place)
{
    if (from <= low && high <= until && p->owners[node] != SEVERAL) {
        int64_t time = p->times[high] - p->times[low];
        if (p->owners[node] != NOBODY) give(p, p->owners[node], -time);
        give(p, place, time);
        p->owners[node] = place;
        return;
    }
    size_t middle = low + (high - low) / 2, left = node * 2, right = left + 1;
    if (p->owners[node] != SEVERAL) p->owners[left] = p->owners[right] = p->owners[node];
    if (from < middle) take(p, left, low, middle, from, until, place);
    if (until > middle) take(p, right, middle, high, from, until, place);
    p->owners[node] = p->owners[left] == p->owners[right] ? p->owners[left] : SEVERAL;
}

static size_t slot_of(const projector *p, int64_t time)
{
    size_t low = 0, high = p->time_count;
    HD_PARTITION_POINT(low, high, at, p->times[at] < time);
    return low;
}

static void add_work(projector *p, uint32_t place)
{
    gpu_span span = span_of(p->s, p->list[place]);
    while (p->first_count && span_of(p->s, p->list[p->first[p->first_count - 1]]).start >= span.start) p->first_count--;
    while (p->last_count && span_of(p->s, p->list[p->last[p->last_count - 1]]).end <= span.end) p->last_count--;
    p->first[p->first_count++] = p->last[p->last_count++] = place;
    p->before[place + 1] = p->before[place] + gpu_duration(&p->s->works[p->list[place]]);
    if (span.end > span.start) take(p, 1, 0, p->time_count - 1, slot_of(p, span.start), slot_of(p, span.end), place);
}

static uint32_t first_from(const uint32_t *places, size_t count, size_t from)
{
    size_t low = 0;
    HD_PARTITION_POINT(low, count, at, places[at] < from);
    return places[low];
}

static void end_piece(gpu_projection *piece, const projector *p)
{
    if (piece->first >= piece->until) return;
    piece->start = span_of(p->s, p->list[first_from(p->first, p->first_count, piece->first)]).start;
    piece->end = span_of(p->s, p->list[first_from(p->last, p->last_count, piece->first)]).end;
    piece->busy = owned_before(p, piece->until) - owned_before(p, piece->first);
    piece->time = gpu_whole(p->before[piece->until] - p->before[piece->first]);
}

static bool find_times(projector *p)
{
    int64_t *spare = hd_large_new(2 * p->count + 1, sizeof *spare, p->s->large);
    p->times = hd_large_new(2 * p->count + 1, sizeof *p->times, p->s->large);
    if (!spare || !p->times) {
        hd_large_free(spare);
        return false;
    }
    for (size_t i = 0; i < p->count; i++) {
        gpu_span span = span_of(p->s, p->list[i]);
        p->times[i] = span.start;
        p->times[p->count + i] = span.end;
    }
    HD_SORT_RUNS(p->times, spare, 2 * p->count, x, y, *x < *y);
    hd_large_free(spare);
    for (size_t i = 0; i < 2 * p->count; i++) {
        if (!p->time_count || p->times[p->time_count - 1] != p->times[i]) p->times[p->time_count++] = p->times[i];
    }
    return true;
}

static bool make_room(projector *p, size_t piece_count)
{
    uint64_t large = p->s->large;
    size_t leaves = 1;
    if (!find_times(p)) return false;
    while (leaves < p->time_count) leaves *= 2;
    p->owners = hd_large_new(2 * leaves, sizeof *p->owners, large);
    p->own = hd_large_zeroed(p->count + 1, sizeof *p->own, large);
    p->before = hd_large_zeroed(p->count + 1, sizeof *p->before, large);
    p->first = hd_large_new(p->count + 1, sizeof *p->first, large);
    p->last = hd_large_new(p->count + 1, sizeof *p->last, large);
    p->ends = hd_large_new(piece_count + 1, sizeof *p->ends, large);
    p->spare_ends = hd_large_new(piece_count + 1, sizeof *p->spare_ends, large);
    for (size_t i = 0; p->owners && i < 2 * leaves; i++) p->owners[i] = NOBODY;
    return p->owners && p->own && p->before && p->first && p->last && p->ends && p->spare_ends;
}

static bool project_all(gpu_projection *pieces, size_t count, const gpu_scope *s, const uint32_t *list,
                        size_t list_count)
{
    projector p = {.s = s, .list = list, .count = list_count};
    bool fine = make_room(&p, count);
    size_t next = 0;
    for (size_t i = 0; fine && i < count; i++) p.ends[i] = (piece_end){pieces[i].until, i};
    if (fine) HD_SORT_RUNS(p.ends, p.spare_ends, count, x, y, x->until < y->until);
    for (size_t place = 0; fine && place <= list_count; place++) {
        for (; next < count && p.ends[next].until == place; next++) end_piece(&pieces[p.ends[next].piece], &p);
        if (place < list_count) add_work(&p, (uint32_t)place);
    }
    void *const lists[] = {p.times, p.owners, p.own, p.before, p.first, p.last, p.ends, p.spare_ends};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) hd_large_free(lists[i]);
    return fine;
}

bool gpu_project(gpu_projection *pieces, size_t count, const gpu_scope *s, const uint32_t *list, size_t list_count)
{
    size_t most = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        size_t works = pieces[i].until - pieces[i].first;
        pieces[i].start = pieces[i].end = pieces[i].busy = pieces[i].time = 0;
        if (works > most) most = works;
        sum += (double)works;
    }
    return sum <= FEW * (double)list_count ? project_each(pieces, count, most, s, list)
                                           : project_all(pieces, count, s, list, list_count);
}
