/* join.c - works and their calls by correlation id
 *
 * Both are brought into the order of their ids by a radix sort, then walked side by side. The few calls of one id are
 * put in order by comparing: first by track, to find which calls others; then what is left by time, so that a work
 * finds the last call before it.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "model/launches/impl.h"
#include "trace/event.h"

typedef struct keyed {
    uint64_t id;
    uint32_t index; /* of a call or work */
} keyed;

typedef struct joiner {
    launch_finder *f;
    keyed *calls, *works;
    size_t call_count, work_count;
    keyed *scratch;
} joiner;

/* ---- sorting ---- */

/* By id, those of one id as they were. */
static void sort_by_id(keyed *list, size_t count, keyed *scratch)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++) differing |= list[i].id ^ list[0].id;
    keyed *from = list, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[256] = {0}, sum = 0;
        if ((differing >> shift & 0xff) == 0) continue;
        for (size_t i = 0; i < count; i++) starts[from[i].id >> shift & 0xff]++;
        for (size_t b = 0; b < 256; b++) {
            size_t here = starts[b];
            starts[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) to[starts[from[i].id >> shift & 0xff]++] = from[i];
        keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, count * sizeof *list);
}

/* qsort has no place for the finder, so that calls are compared by what is copied out of them. */
typedef struct candidate {
    int64_t rank, start_ns, end_ns;
    uint32_t track, index;
} candidate;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_track(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = compare(x->track, y->track);
    if (!order) order = compare(x->start_ns, y->start_ns);
    if (!order) order = compare(y->end_ns, x->end_ns);
    return order ? order : compare(x->index, y->index);
}

static int by_time(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = compare(x->rank, y->rank);
    if (!order) order = compare(x->start_ns, y->start_ns);
    if (!order) order = compare(y->end_ns, x->end_ns);
    return order ? order : compare(x->index, y->index);
}

/* ---- the calls of one id ---- */

/* Calls within another of the same id on the same track are it. Returns how many are left. */
static size_t drop_inner(launch_finder *f, candidate *list, size_t count)
{
    size_t left = 0;
    qsort(list, count, sizeof *list, by_track);
    for (size_t i = 0; i < count; i++) {
        candidate *outer = left ? &list[left - 1] : NULL;
        bool inside = outer && outer->track == list[i].track &&
                      (list[i].start_ns < outer->end_ns || list[i].start_ns == outer->start_ns);
        if (inside)
            f->calls[list[i].index].outer = outer->index;
        else
            list[left++] = list[i];
    }
    return left;
}

/* The calls that stand for an id, by rank and time, into `out`. */
static size_t candidates_of(candidate *out, launch_finder *f, const keyed *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const launch_call *call = &f->calls[calls[i].index];
        int64_t end = hd_end_or_last(call->start_ns, call->duration_ns);
        out[i] = (candidate){launch_rank(f, call->track), call->start_ns, end, call->track, calls[i].index};
    }
    if (count < 2) return count;
    count = drop_inner(f, out, count);
    qsort(out, count, sizeof *out, by_time);
    return count;
}

/* The last call of a rank that started by then, else the rank's first; HD_NONE: it has none. */
static uint32_t choose_of_rank(const candidate *list, size_t count, int64_t rank, int64_t start_ns)
{
    size_t low = 0, high = count;
    HD_PARTITION_POINT(low, high, at, /* the first behind it */
                       list[at].rank != rank ? list[at].rank < rank : list[at].start_ns <= start_ns);
    if (low > 0 && list[low - 1].rank == rank) return list[low - 1].index;
    return low < count && list[low].rank == rank ? list[low].index : HD_NONE;
}

/* Work of no known rank may belong to calls of any one rank, calls of no known rank to all work. */
static uint32_t choose(const candidate *list, size_t count, int64_t rank, int64_t start_ns)
{
    uint32_t call = choose_of_rank(list, count, rank, start_ns);
    if (call != HD_NONE) return call;
    if (rank != HD_NO_NUMBER) return choose_of_rank(list, count, HD_NO_NUMBER, start_ns);
    return list[0].rank == list[count - 1].rank ? choose_of_rank(list, count, list[0].rank, start_ns) : HD_NONE;
}

/* ---- the whole ---- */

static size_t end_of_id(const keyed *list, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && list[end].id == list[from].id) end++;
    return end;
}

/* Walk both lists; `assign` is told of each work what its call is. */
static bool walk(joiner *j, const keyed *works, size_t work_count, void (*assign)(launch_finder *, uint32_t, uint32_t))
{
    launch_finder *f = j->f;
    candidate *list = NULL;
    size_t capacity = 0;
    for (size_t c = 0, w = 0, c_end, w_end; c < j->call_count; c = c_end) {
        c_end = end_of_id(j->calls, c, j->call_count);
        if (c_end - c > capacity) {
            hd_large_free(list);
            capacity = 2 * (c_end - c);
            list = hd_large_new(capacity, sizeof *list, f->large);
            if (!list) return false;
        }
        size_t count = candidates_of(list, f, j->calls + c, c_end - c);
        while (w < work_count && works[w].id < j->calls[c].id) w++;
        for (w_end = w; w_end < work_count && works[w_end].id == j->calls[c].id; w_end++) {
            const hd_work *work = &f->works[works[w_end].index];
            uint32_t call = choose(list, count, launch_rank(f, work->track), work->start_ns);
            if (call == HD_NONE) continue;
            assign(f, works[w_end].index, call);
            f->calls[call].is_needed = true;
        }
        w = w_end;
    }
    hd_large_free(list);
    return true;
}

static void assign_launch(launch_finder *f, uint32_t work, uint32_t call)
{
    f->works[work].launch = call;
}

static void assign_creator(launch_finder *f, uint32_t work, uint32_t call)
{
    f->works[work].graph_launch = call;
}

static bool join(joiner *j)
{
    launch_finder *f = j->f;
    size_t most = f->call_count > f->work_count ? f->call_count : f->work_count;
    j->calls = hd_large_new(f->call_count + 1, sizeof *j->calls, f->large);
    j->works = hd_large_new(f->work_count + 1, sizeof *j->works, f->large);
    j->scratch = hd_large_new(most + 1, sizeof *j->scratch, f->large);
    if (!j->calls || !j->works || !j->scratch) return false;
    for (size_t i = 0; i < f->call_count; i++) {
        if (f->calls[i].id) j->calls[j->call_count++] = (keyed){(uint64_t)f->calls[i].id, (uint32_t)i};
    }
    for (size_t i = 0; i < f->work_count; i++) {
        if (f->works[i].id) j->works[j->work_count++] = (keyed){(uint64_t)f->works[i].id, (uint32_t)i};
    }
    sort_by_id(j->calls, j->call_count, j->scratch);
    sort_by_id(j->works, j->work_count, j->scratch);
    if (!walk(j, j->works, j->work_count, assign_launch)) return false;
    if (f->creator_count == 0) return true;
    for (size_t i = 0; i < f->creator_count; i++)
        j->works[i] = (keyed){(uint64_t)f->creators[i].id, f->creators[i].work};
    sort_by_id(j->works, f->creator_count, j->scratch);
    return walk(j, j->works, f->creator_count, assign_creator);
}

bool launches_join(launch_finder *f)
{
    joiner j = {.f = f};
    bool fine = join(&j);
    hd_large_free(j.calls);
    hd_large_free(j.works);
    hd_large_free(j.scratch);
    return fine;
}
