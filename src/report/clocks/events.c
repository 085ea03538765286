/* events.c - parts of members -> collectives, and of those the ends that two hosts share */
#include <stdlib.h>

#include "base/sorted.h"
#include "report/clocks/clocks.h"

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_collectives(const hd_clock_event *x, const hd_clock_event *y)
{
    int order = (x->group > y->group) - (x->group < y->group);
    return order ? order : compare(x->sequence, y->sequence);
}

static int compare_events(const hd_clock_event *x, const hd_clock_event *y)
{
    int order = compare_collectives(x, y);
    if (!order) order = compare(x->host, y->host);
    return order ? order : compare(x->member, y->member);
}

/* Whether order[first … end) is one collective that all tell alike, and none of them twice. */
static bool is_sound(const clock_events *e, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const hd_clock_event *x = &e->all[e->order[i]];
        if (x->operation != e->all[e->order[first]].operation) return false;
        if (x->size && x->size < end - first) return false;
        if (i > first && compare_events(&e->all[e->order[i - 1]], x) == 0) return false;
    }
    return true;
}

bool clock_events_init(clock_events *e, uint64_t *out_left_out, const hd_clock_event *all, size_t count)
{
    *e = (clock_events){.all = all, .order = malloc((count + 1) * sizeof *e->order)};
    e->firsts = malloc((count + 1) * sizeof *e->firsts); /* room to sort in before */
    if (!e->order || !e->firsts) return false;
    size_t used = 0, kept = 0, end;
    for (size_t i = 0; i < count; i++) {
        if (all[i].start_ns <= all[i].end_ns) e->order[used++] = i;
    }
    HD_SORT_RUNS(e->order, e->firsts, used, x, y, compare_events(&all[*x], &all[*y]) < 0);
    for (size_t i = 0; i < used; i = end) {
        for (end = i + 1; end < used && compare_collectives(&all[e->order[i]], &all[e->order[end]]) == 0;) end++;
        if (!is_sound(e, i, end)) continue;
        e->firsts[e->collectives++] = kept;
        for (size_t k = i; k < end; k++) e->order[kept++] = e->order[k];
    }
    e->firsts[e->collectives] = e->count = kept;
    *out_left_out = count - kept;
    return true;
}

void clock_events_deinit(clock_events *e)
{
    free(e->order);
    free(e->firsts);
}

/* ---- ends ---- */

/* The middle of the ends of the host of order[first], and behind its last. spare has room for as many. */
static int64_t host_end(size_t *out_end, const clock_events *e, size_t first, size_t end, int64_t *spare)
{
    size_t count = 0;
    int64_t *ends = spare, *other = spare + (end - first);
    const uint32_t host = e->all[e->order[first]].host;
    while (first + count < end && e->all[e->order[first + count]].host == host) {
        ends[count] = e->all[e->order[first + count]].end_ns;
        count++;
    }
    HD_SORT_RUNS(ends, other, count, x, y, *x < *y);
    *out_end = first + count;
    return ends[count / 2];
}

static bool is_of_all(const clock_events *e, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (e->all[e->order[i]].role != HD_CLOCK_BOTH) return false;
    }
    return true;
}

static int compare_shared(const clock_shared *x, const clock_shared *y)
{
    int order = compare(x->hub, y->hub);
    if (!order) order = compare(x->host, y->host);
    if (!order) order = compare(x->operation, y->operation);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

/* Each host with the first of the collective: a star, so that there are no more than events. */
static size_t find_shared(clock_shared *out, const clock_events *e, size_t first, size_t end, int64_t *spare)
{
    size_t found = 0, next;
    const hd_clock_event *event = &e->all[e->order[first]];
    const int64_t hub_end = host_end(&next, e, first, end, spare);
    while (next < end) {
        const uint32_t host = e->all[e->order[next]].host;
        const int64_t own = host_end(&next, e, next, end, spare);
        int64_t offset;
        if (__builtin_sub_overflow(hub_end, own, &offset)) continue;
        out[found++] = (clock_shared){event->host, host, event->operation, event->group, {own, offset}};
    }
    return found;
}

bool clock_shared_new(clock_shared **out, size_t *out_count, const clock_events *e)
{
    clock_shared *list = malloc((e->count + 1) * sizeof *list), *spare = malloc((e->count + 1) * sizeof *spare);
    *out = list;
    *out_count = 0;
    for (size_t c = 0; list && spare && c < e->collectives; c++) {
        size_t first = e->firsts[c], end = e->firsts[c + 1];
        if (!is_of_all(e, first, end)) continue;
        *out_count += find_shared(list + *out_count, e, first, end, (int64_t *)spare);
    }
    if (list && spare) HD_SORT_RUNS(list, spare, *out_count, x, y, compare_shared(x, y) < 0);
    free(spare);
    return list && spare;
}
