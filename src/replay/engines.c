/* engines.c - simulates copy engines, one per direction, and the link to the host
 *
 * Engine   One copy to the device at a time, and one from it; only copies of pinned memory, since others also wait for
 *          the host. An engine keeps serving a queue while that queue has a next copy. If copies of one direction
 *          overlap in the trace, there is no such engine.
 * Link     While both engines copy, each gets a part of its rate alone. That part comes from large copies of the trace
 *          that ran at the same time as one of the other direction, compared with copies of their direction that ran
 *          alone; else it is PART. From the trace this gives the time that a copy takes alone; in a replay, its end.
 */
#include "replay/engines.h"

#include <math.h>

#include "model/roles/copy_ways.h"
#include "model/roles/sync_calls.h"

#define PART 0.9 /* of the rate alone: H200, PCIe 5: 0.91 to the host, 0.86 to 0.91 from it */
enum {
    OVERLAP_PART = 50,     /* copies overlap if more than that part of their time does */
    LARGE_BYTES = 1 << 20, /* copies from this size on are used for rates */
    ALONE_LEAST = 3        /* copies needed for the rate of a direction */
};

void engines_init(engines *e)
{
    for (int i = 0; i < 2; i++) e->of[i] = (engine){.end = INT64_MIN, .user = HD_NONE};
}

uint8_t engines_sort(const replay *r, const hd_work *work)
{
    if (work->role != HD_ROLE_COPY || hd_is_pageable_copy(r->trace, work)) return SHARE_NONE;
    uint32_t way = hd_copy_way_of(hd_trace_string(r->trace, work->name));
    return way == HD_COPY_WAY('H', 'D') ? SHARE_IN : way == HD_COPY_WAY('D', 'H') ? SHARE_OUT : SHARE_NONE;
}

static replay_share *share_of(const replay *r, uint32_t node)
{
    return &r->shares[node - r->first_work];
}

static bool is_of_engine(const replay *r, uint32_t node)
{
    return share_of(r, node)->sort == SHARE_IN || share_of(r, node)->sort == SHARE_OUT;
}

bool engines_is_copy(const replay *r, uint32_t node)
{
    return is_of_engine(r, node) && !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE));
}

static bool is_out(const replay *r, uint32_t node)
{
    return share_of(r, node)->sort == SHARE_OUT;
}

/* ---- the trace ---- */

void engines_take(engines *e, replay *r, uint32_t node)
{
    int64_t start = r->graph->starts[node], end = r->graph->ends[node];
    engine *own = &e->of[is_out(r, node)];
    const engine *other = &e->of[!is_out(r, node)];
    if (start < own->end) own->overlapped += (end < own->end ? end : own->end) - start;
    own->copied += end - start;
    share_of(r, node)->full_ns = own->end;
    if (start < other->end) {
        int64_t both = (end < other->end ? end : other->end) - start;
        share_of(r, node)->demand += both;
        share_of(r, other->user)->demand += both;
        r->is_crowded |= both > 0;
    }
    if (end <= own->end) return;
    own->end = end;
    own->user = node;
}

static bool overlaps(const engine *e)
{
    return e->overlapped > e->copied / OVERLAP_PART;
}

void engines_settle(const engines *e, replay *r, uint32_t node)
{
    replay_share *share = share_of(r, node);
    if (!is_of_engine(r, node)) return;
    if (overlaps(&e->of[0]) || overlaps(&e->of[1]))
        share->demand = 0; /* overlapping copies of a direction are not
                              simulated */
    if (!overlaps(&e->of[is_out(r, node)])) return;
    share->sort = SHARE_NONE;
    share->full_ns = INT64_MIN;
}

typedef struct rates {
    replay *r;
    gpu_copy_bytes bytes;
    double alone_ns[2], alone_bytes[2]; /* by is_out */
    uint64_t alone[2], beside;
    double part, squares; /* of copies that ran with one of the other direction: sums of their parts */
    bool has[2];
} rates;

static void add_alone(rates *x, uint32_t node, double ns, double both, double bytes)
{
    bool out = is_out(x->r, node);
    if (both > 0) return;
    x->alone_ns[out] += ns;
    x->alone_bytes[out] += bytes;
    x->alone[out]++;
}

/* Adds a copy that would have taken `alone`: for ns - both it ran alone, the rest of its work took `both`. */
static void add_beside(rates *x, uint32_t node, double ns, double both, double bytes)
{
    bool out = is_out(x->r, node);
    if (both < ns / 2 || x->alone[out] < ALONE_LEAST) return;
    double alone = bytes * x->alone_ns[out] / x->alone_bytes[out], part = (alone - (ns - both)) / both;
    part = part < 0.5 ? 0.5 : part > 1 ? 1 : part; /* a link that serves one direction at a time */
    x->part += part;
    x->squares += part * part;
    x->beside++;
}

static void for_large(rates *x, void (*add)(rates *, uint32_t, double, double, double))
{
    const hd_graph *g = x->r->graph;
    for (uint32_t n = x->r->first_work; n < g->node_count; n++) {
        if (!is_of_engine(x->r, n)) continue;
        int64_t bytes = gpu_copy_bytes_of(&x->bytes, g->slices[n]);
        x->has[is_out(x->r, n)] = true;
        if (bytes >= LARGE_BYTES && g->ends[n] > g->starts[n])
            add(x, n, (double)(g->ends[n] - g->starts[n]), (double)share_of(x->r, n)->demand, (double)bytes);
    }
}

bool engines_find_link(replay *r)
{
    rates x = {.r = r};
    bool fine = gpu_copy_bytes_init(&x.bytes, r->trace);
    if (fine) for_large(&x, add_alone);
    if (fine) for_large(&x, add_beside);
    gpu_copy_bytes_deinit(&x.bytes);
    double count = (double)x.beside, mean = x.beside ? x.part / count : PART, rest = x.squares - count * mean * mean;
    r->link = (replay_link){mean, x.beside > 1 ? sqrt(rest > 0 ? rest / count : 0) : 1 - PART, x.beside,
                            x.has[0] && x.has[1]};
    return fine;
}

/* ---- a replay ---- */

bool engines_wait(int64_t *start, uint32_t *behind, const engines *e, const replay *r, const replay_times *times,
                  const uint8_t *states, const uint32_t *afters, uint32_t node)
{
    const engine *own = &e->of[is_out(r, node)];
    uint32_t last = own->user;
    if (last == HD_NONE || r->plan.befores[node - r->first_work] == last) return false;
    uint32_t next = afters[last - r->first_work];
    int64_t ready = own->end + r->lags[replay_lag_class(r, node, last, HD_EDGE_QUEUE)].ns;
    *behind = last;
    if (*start < ready) {
        *start = ready;
        return true;
    }
    if (next == HD_NONE || states[next] != NODE_OPEN || !engines_is_copy(r, next) ||
        is_out(r, next) != is_out(r, node) ||
        times->starts[next] > own->end + r->lags[replay_lag_class(r, next, last, HD_EDGE_QUEUE)].ns)
        return false;
    *start = times->starts[next] + 1;
    return true;
}

/* The time of a copy that takes `alone`, while the other direction copies for the first `both`. */
static int64_t time_beside(const replay *r, int64_t alone, int64_t both)
{
    int64_t slow = replay_scaled(alone, 1 / r->link.part);
    return slow <= both ? slow : alone + both - replay_scaled(both, r->link.part);
}

/* The duration of the copy in the plan, if it runs alone. */
static int64_t time_alone(const replay *r, uint32_t node)
{
    int64_t whole = r->graph->ends[node] - r->graph->starts[node], both = share_of(r, node)->demand;
    if (both > whole) both = whole;
    if (whole <= 0) return r->plan.durations[node];
    return replay_scaled(r->plan.durations[node],
                         (double)(whole - both + replay_scaled(both, r->link.part)) / (double)whole);
}

int64_t engines_run(replay_moved *moved, engines *e, const replay *r, uint32_t node, int64_t start)
{
    engine *own = &e->of[is_out(r, node)], *other = &e->of[!is_out(r, node)];
    bool is_fixed = !engines_is_copy(r, node), is_beside = other->end > start;
    int64_t time = is_fixed ? r->plan.durations[node] : time_alone(r, node);
    *moved = (replay_moved){.node = HD_NONE};
    if (is_beside) { /* who has less left of its own ends first */
        int64_t left = other->end - start, least = time < left ? time : left;
        bool other_is_fixed = !engines_is_copy(r, other->user);
        if (!is_fixed) time = time_beside(r, time, other_is_fixed ? left : time_beside(r, least, INT64_MAX));
        if (!other_is_fixed) {
            other->end = gpu_time(gpu_sum(start, time_beside(r, left, time)));
            *moved = (replay_moved){.node = other->user, .time = other->end};
        }
    }
    int64_t end = gpu_time(gpu_sum(start, time));
    if (end < own->end) return end;
    own->end = end;
    own->user = node;
    return end;
}
