/* events.c - queues that wait for events
 *
 * A wait is for everything before the record of its event: the last activity of that queue, and what the queue itself
 * waited for since then. So each wait has a set of activities, at most one per queue, and the next activity of its
 * queue waits for them. Waits are processed in order of time; the sets that an event depends on are older and are found
 * by search.
 */
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "model/identity/process.h"

/* At most one activity per queue. */
typedef struct work_set {
    uint32_t works[GRAPH_PENDING];
    uint32_t count;
} work_set;

/* A later activity of a queue replaces an earlier one. */
static void put_work(const graph_maker *m, work_set *set, uint32_t work)
{
    const hd_graph_lane *lane = hd_graph_lane_of(m->g, work);
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->works[i] < lane->first_node || set->works[i] >= lane->first_node + lane->node_count) continue;
        if (work > set->works[i]) set->works[i] = work;
        return;
    }
    if (set->count < GRAPH_PENDING) set->works[set->count++] = work;
}

/* Whether the queue got no activity between the wait and a later time. */
static bool is_pending(const graph_maker *m, const graph_queue_wait *wait, int64_t time)
{
    uint32_t work = graph_last_launched(m, &m->g->lanes[wait->lane], time);
    return work == HD_NONE || m->launched[work - m->first_work] < wait->time;
}

/* The last wait of a queue before a time that is pending then; NULL. */
static const graph_queue_wait *find_pending(const graph_maker *m, uint32_t lane, int64_t time)
{
    size_t low = 0, high = m->wait_count;
    HD_PARTITION_POINT(low, high, at, m->waits[at].lane != lane ? m->waits[at].lane < lane : m->waits[at].time < time);
    const graph_queue_wait *wait = low && m->waits[low - 1].lane == lane ? &m->waits[low - 1] : NULL;
    return wait && is_pending(m, wait, time) ? wait : NULL;
}

static void put_works(const graph_maker *m, work_set *set, const graph_queue_wait *wait)
{
    for (uint32_t i = 0; i < wait->work_count; i++) put_work(m, set, m->waited[wait->first_work + i]);
}

size_t graph_pending(uint32_t *out, const graph_maker *m, uint32_t lane, int64_t time)
{
    const graph_queue_wait *wait = find_pending(m, lane, time);
    const hd_graph_lane *own = &m->g->lanes[lane];
    size_t count = 0;
    for (uint32_t i = 0; wait && i < wait->work_count; i++) {
        uint32_t work = m->waited[wait->first_work + i];
        if (work < own->first_node || work >= own->first_node + own->node_count) out[count++] = work;
    }
    return count;
}

/* ---- in the order of time ---- */

static bool keep_set(graph_maker *m, graph_queue_wait *wait, const work_set *set)
{
    wait->first_work = m->waited_count;
    for (uint32_t i = 0; i < set->count; i++) {
        if (!hd_large_grow((void **)&m->waited, &m->waited_capacity, m->waited_count, sizeof *m->waited, m->large))
            return false;
        m->waited[m->waited_count++] = set->works[i];
    }
    wait->work_count = set->count;
    return true;
}

/* For a queue that waits without a known event, takes the other queue of its rank whose last activity, launched before,
 * ended last before the queue continues: no later candidate exists then. HD_NONE: none. */
static uint32_t guess_queue(const graph_maker *m, const graph_queue_wait *wait, uint32_t to)
{
    const hd_graph *g = m->g;
    uint32_t found = HD_NONE;
    int64_t end = INT64_MIN;
    for (uint32_t l = 0; to != HD_NONE && l < g->lane_count; l++) {
        if (l == wait->lane || !g->lanes[l].is_queue) continue;
        uint32_t track = g->lanes[l].track, own = g->lanes[wait->lane].track;
        if (m->ranks[track] != m->ranks[own] ||
            !hd_may_share(m->launches->processes[track], m->launches->processes[own]))
            continue;
        uint32_t last = graph_last_launched(m, &g->lanes[l], wait->record_time);
        if (last == HD_NONE || g->ends[last] > g->starts[to] || g->ends[last] <= end) continue;
        end = g->ends[last];
        found = l;
    }
    return found;
}

/* The next activity launched on the queue waits for everything before the record of the event. */
static bool link_wait(graph_maker *m, graph_queue_wait *wait)
{
    work_set set = {.count = 0};
    hd_graph *g = m->g;
    uint32_t to = graph_first_launched(m, &g->lanes[wait->lane], wait->time), last = HD_NONE;
    const graph_queue_wait *pending = NULL;
    if (wait->waits_for == HD_NONE) {
        wait->waits_for = guess_queue(m, wait, to);
        g->waits_guessed += wait->waits_for != HD_NONE;
    }
    if (wait->waits_for != HD_NONE) {
        pending = find_pending(m, wait->waits_for, wait->record_time);
        last = graph_last_launched(m, &g->lanes[wait->waits_for], wait->record_time);
    }
    if (pending) put_works(m, &set, pending);
    if (last != HD_NONE) put_work(m, &set, last);
    g->waits_without_work += set.count == 0 || to == HD_NONE;
    for (uint32_t i = 0; to != HD_NONE && i < set.count; i++) {
        if (g->ends[set.works[i]] > g->starts[to])
            g->backward[HD_EDGE_EVENT]++;
        else if (!graph_add_edge(m, to, set.works[i], HD_EDGE_EVENT))
            return false;
    }
    const graph_queue_wait *before = wait > m->waits && wait[-1].lane == wait->lane ? wait - 1 : NULL;
    if (before && is_pending(m, before, wait->time)) put_works(m, &set, before);
    return keep_set(m, wait, &set);
}

static int by_lane(const void *a, const void *b)
{
    const graph_queue_wait *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

typedef struct moment {
    int64_t time;
    size_t wait;
} moment;

bool graph_link_events(graph_maker *m)
{
    bool fine = hd_large_sort(m->waits, m->wait_count, sizeof *m->waits, by_lane, m->large);
    moment *order = hd_large_new(m->wait_count + 1, sizeof *order, m->large),
           *spare = hd_large_new(m->wait_count + 1, sizeof *spare, m->large);
    fine = fine && order && spare;
    for (size_t i = 0; fine && i < m->wait_count; i++) order[i] = (moment){m->waits[i].time, i};
    if (fine) HD_SORT_RUNS(order, spare, m->wait_count, x, y, x->time < y->time);
    for (size_t i = 0; fine && i < m->wait_count; i++) fine = link_wait(m, &m->waits[order[i].wait]);
    hd_large_free(order);
    hd_large_free(spare);
    return fine;
}
