/* simulate.c - computes when each node of the graph runs
 *
 * A node begins when the last of its edges is ready; a node that waits for nothing begins when it did. Nodes are
 * processed depth first, each after everything that it waits for, in O(nodes + edges).
 */
#include "base/error.h"
#include "base/heap.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/roles/sync_calls.h"
#include "replay/replay.h"

static int64_t delay_of(const replay *r, const replay_plan *plan, unsigned lag, uint32_t node)
{
    int64_t ns = r->lags[lag].ns;
    if (!plan || !plan->chance) return ns;
    int64_t varied = ns + replay_doubt(r, lag, node, plan->chance);
    return varied < 0 && ns >= 0 ? 0 : varied;
}

/* An activity that overlaps the previous one of its queue begins at the same fraction of it; others begin after the
 * delay of their class. */
int64_t replay_ready(const replay *r, const replay_plan *plan, uint32_t node, uint32_t from, hd_edge_kind kind,
                     replay_span from_now)
{
    const hd_graph *g = r->graph;
    int64_t whole = g->ends[from] - g->starts[from], now = from_now.end - from_now.start, part, delay;
    if ((unsigned)kind == REPLAY_SLOT) return from_now.start + r->lags[LAG_SLOT].ns;
    if ((unsigned)kind == REPLAY_DATA)
        return from_now.end + delay_of(r, plan, replay_lag_class(r, node, from, HD_EDGE_QUEUE), node);
    if (kind == HD_EDGE_QUEUE && plan && plan->flags[node] & (PLAN_NO_LAG | PLAN_GONE)) return from_now.end;
    if (kind == HD_EDGE_LAUNCH || kind == HD_EDGE_EVENT ||
        (kind == HD_EDGE_QUEUE && (from + 1 != node || g->ends[from] <= g->starts[node]))) {
        unsigned lag = replay_lag_class(r, node, from, kind);
        const replay_lag *l = &r->lags[lag];
        delay = delay_of(r, plan, lag, node);
        bool is_in_graph = kind == HD_EDGE_QUEUE && plan && plan->flags[node] & PLAN_NO_LAUNCH;
        if (is_in_graph && l->of == LAG_CLASSES) return from_now.end;
        if (kind != HD_EDGE_LAUNCH) return from_now.end + delay;
        if (l->from_start) return from_now.start + replay_stretch(delay, whole, now);
        uint32_t call = plan && l->call_ns ? replay_own_call(r, node) : HD_NONE;
        if (call != HD_NONE) return from_now.end + delay - l->call_ns + plan->durations[call];
        return from_now.end + delay > from_now.start ? from_now.end + delay : from_now.start;
    }
    if (kind != HD_EDGE_QUEUE && g->ends[from] <= g->starts[node]) return from_now.end;
    part = g->starts[node] - g->starts[from];
    return from_now.start + replay_stretch(part, whole, now);
}

static uint32_t awaited_from(const replay *r, size_t edge)
{
    size_t low = 0, high = r->awaited_count;
    HD_PARTITION_POINT(low, high, at, r->awaited[at].edge < edge);
    return low < r->awaited_count && r->awaited[low].edge == edge ? r->awaited[low].from
                                                                  : hd_graph_edge_from(r->graph, edge);
}

/* Communication that was moved to a queue of its own: only calls that wait for the device, or for an unknown target,
 * wait for it. */
static bool is_left_behind(const replay *r, const replay_plan *p, uint32_t node, uint32_t from)
{
    if (!replay_is_work(r, from) || !(p->flags[from] & PLAN_NO_EVENT)) return false;
    const replay_return *returns = replay_return_of(r, node);
    bool is_of_stream = returns && (returns->what == HD_SYNC_STREAM || returns->what == HD_SYNC_EVENT);
    return is_of_stream && replay_gpu_work(r, from)->class == GPU_COMMUNICATION;
}

/* The edges of a node by number: the one along its thread or queue, then the others from `first` on. */
typedef struct edge_list {
    size_t lane, first, count; /* lane: how many, 0 or 1 */
    uint32_t node;
} edge_list;

static edge_list edges_of(const hd_graph *g, uint32_t node)
{
    size_t first = hd_graph_other_edge(g, node), lane = hd_graph_has_lane_edge(g, node);
    return (edge_list){lane, first, lane + hd_graph_other_edge(g, node + 1) - first, node};
}

static size_t edge_at(const edge_list *l, size_t i)
{
    return i < l->lane ? l->node : l->first + i - l->lane;
}

static replay_wait wait_at(const hd_graph *g, const edge_list *l, size_t i)
{
    return (replay_wait){hd_graph_edge_from(g, edge_at(l, i)), hd_graph_edge_kind(g, edge_at(l, i))};
}

bool replay_next_wait(replay_wait *out, const replay *r, const replay_plan *p, uint32_t node, size_t *at)
{
    const hd_graph *g = r->graph;
    edge_list own = edges_of(g, node), others = {0};
    size_t added = p->first_added ? p->first_added[node + 1] - p->first_added[node] : 0;
    bool is_work = replay_is_work(r, node);
    uint32_t slot = p->slots && !is_work ? p->slots[node] : HD_NONE;
    uint32_t alike = p->alike && is_work ? p->alike[node - r->first_work] : HD_NONE;
    if (alike != HD_NONE) others = edges_of(g, alike);
    size_t count = own.count;
    while (*at < 1 + count + added + others.count) {
        size_t i = (*at)++;
        if (i == 0)
            *out = is_work ? (replay_wait){p->befores[node - r->first_work], HD_EDGE_QUEUE}
                           : (replay_wait){slot, (hd_edge_kind)REPLAY_SLOT};
        else if (i > count + added)
            *out = wait_at(g, &others, i - 1 - count - added);
        else if (i > count)
            *out = (replay_wait){p->added[p->first_added[node] + i - 1 - count].from,
                                 (hd_edge_kind)p->added[p->first_added[node] + i - 1 - count].kind};
        else
            *out = wait_at(g, &own, i - 1);
        if (i && is_work && out->kind == HD_EDGE_QUEUE) continue;
        if (i > count + added && out->kind != HD_EDGE_EVENT) continue;
        if (out->kind == HD_EDGE_LAUNCH && p->flags[node] & (PLAN_NO_LAUNCH | PLAN_GONE)) continue;
        if (out->kind == HD_EDGE_SYNC && p->flags[node] & PLAN_GONE) continue;
        if (out->kind == HD_EDGE_SYNC && r->awaited_count && i && i <= count)
            out->from = awaited_from(r, edge_at(&own, i - 1));
        if (out->kind == HD_EDGE_EVENT && (p->flags[node] | p->flags[out->from]) & PLAN_NO_EVENT) continue;
        if (out->from == HD_NONE || (out->kind == HD_EDGE_SYNC && is_left_behind(r, p, node, out->from))) continue;
        return true;
    }
    return false;
}

typedef struct simulation {
    const replay *r;
    const replay_plan *plan;
    replay_times *out;
    uint8_t *states; /* by node */
    uint32_t *stack;
} simulation;

static bool has_thread(const simulation *s, uint32_t node)
{
    const hd_graph *g = s->r->graph;
    return node < s->r->first_work && !(s->plan->flags[node] & PLAN_PINNED) && hd_graph_has_lane_edge(g, node);
}

/* It waits only for the previous part of its thread: most nodes do. */
static bool is_plain(const simulation *s, uint32_t node)
{
    const hd_graph *g = s->r->graph;
    const replay_plan *p = s->plan;
    return has_thread(s, node) && !hd_graph_is_edge_of(g, hd_graph_other_edge(g, node), node) && !p->added &&
           (!p->slots || p->slots[node] == HD_NONE);
}

/* A node that it waits for and that has not run yet; HD_NONE. */
static uint32_t find_new(const simulation *s, uint32_t node)
{
    replay_wait w;
    if (is_plain(s, node)) return s->states[node - 1] == NODE_NEW ? node - 1 : HD_NONE;
    for (size_t at = 0; replay_next_wait(&w, s->r, s->plan, node, &at);) {
        if (s->states[w.from] == NODE_NEW) return w.from;
    }
    return HD_NONE;
}

static void take_edge(const simulation *s, uint32_t node, replay_wait w, int64_t *start)
{
    replay_times *t = s->out;
    if (s->states[w.from] != NODE_DONE) {
        t->cycles++;
        return;
    }
    int64_t ready =
        replay_ready(s->r, s->plan, node, w.from, w.kind, (replay_span){t->starts[w.from], t->ends[w.from]});
    if (t->bounds[node] != HD_NONE && ready < *start) return;
    *start = ready;
    t->bounds[node] = w.from;
    t->bound_kinds[node] = (uint8_t)w.kind;
}

static void find_start(const simulation *s, uint32_t node)
{
    const hd_graph *g = s->r->graph;
    replay_times *t = s->out;
    int64_t start = g->starts[node];
    t->bounds[node] = HD_NONE;
    t->bound_kinds[node] = HD_EDGE_KINDS;
    if (is_plain(s, node)) {
        take_edge(s, node, (replay_wait){node - 1, HD_EDGE_THREAD}, &start);
    } else if (!(s->plan->flags[node] & PLAN_PINNED)) {
        replay_wait w;
        for (size_t at = 0; replay_next_wait(&w, s->r, s->plan, node, &at);) take_edge(s, node, w, &start);
        bool is_gone = replay_is_work(s->r, node) && s->plan->flags[node] & PLAN_GONE;
        if (t->bounds[node] == HD_NONE && is_gone) start = g->start_ns;
    }
    t->starts[node] = gpu_time(start);
}

/* Not for nodes that share a resource. */
static int64_t find_end(const simulation *s, uint32_t node)
{
    const replay_times *t = s->out;
    int64_t end = gpu_time(gpu_sum(t->starts[node], s->plan->durations[node]));
    bool is_free = is_plain(s, node) || replay_is_work(s->r, node) || s->plan->flags[node] & (PLAN_PINNED | PLAN_GONE);
    const replay_return *returns = is_free ? NULL : replay_return_of(s->r, node);
    if (!returns) return end;
    replay_wait w;
    if (has_thread(s, node)) end = gpu_time(gpu_sum(t->ends[node - 1], s->plan->durations[node]));
    for (size_t at = 0; replay_next_wait(&w, s->r, s->plan, node, &at);) {
        int64_t back = gpu_time(gpu_sum(t->ends[w.from], returns->wake_ns));
        if (w.kind == HD_EDGE_SYNC && s->states[w.from] == NODE_DONE && back > end) end = back;
    }
    return end > t->starts[node] ? end : t->starts[node];
}

/* ---- in any order ---- */

static void run_all(simulation *s)
{
    for (uint32_t n = 0; n < s->r->graph->node_count; n++) {
        size_t depth = 0;
        if (s->states[n] == NODE_NEW) s->stack[depth++] = n;
        while (depth) {
            uint32_t node = s->stack[depth - 1], before = find_new(s, node);
            s->states[node] = NODE_OPEN;
            if (before == node) before = HD_NONE; /* never happens with the graph and its plans */
            if (before == HD_NONE) {
                find_start(s, node);
                s->out->ends[node] = find_end(s, node);
                s->states[node] = NODE_DONE;
                depth--;
            } else {
                s->stack[depth++] = before;
            }
        }
    }
}

/* ---- in the order of time ---- */

typedef struct begins {
    int64_t start;
    uint32_t node;
} begins;

typedef struct timeline {
    simulation *s;
    replay_sharer *sharer;
    size_t *first_afters; /* by node, one more at the end: nodes that wait for it, in `afters` */
    uint32_t *afters;
    uint32_t *missing; /* by node: number of nodes that it still waits for */
    begins *heap;      /* by start: nodes that are NODE_OPEN, also with outdated starts */
    size_t count, capacity;
    bool failed;
} timeline;

/* Except the wait for the previous part of its thread. */
static bool next_wait(replay_wait *out, const simulation *s, uint32_t node, size_t *at)
{
    if (s->plan->flags[node] & PLAN_PINNED || is_plain(s, node)) return false;
    while (replay_next_wait(out, s->r, s->plan, node, at)) {
        if (out->kind != HD_EDGE_THREAD) return true;
    }
    return false;
}

static bool index_afters(timeline *l)
{
    const simulation *s = l->s;
    uint32_t nodes = s->r->graph->node_count;
    uint64_t large = s->r->large;
    replay_wait w;
    l->first_afters = hd_large_zeroed((size_t)nodes + 2, sizeof *l->first_afters, large);
    l->missing = hd_large_zeroed((size_t)nodes + 1, sizeof *l->missing, large);
    if (!l->first_afters || !l->missing) return false;
    for (uint32_t n = 0; n < nodes; n++) {
        l->missing[n] = has_thread(s, n);
        for (size_t at = 0; next_wait(&w, s, n, &at); l->missing[n]++) l->first_afters[w.from + 2]++;
    }
    for (uint32_t n = 0; n < nodes; n++) l->first_afters[n + 2] += l->first_afters[n + 1];
    l->afters = hd_large_new(l->first_afters[nodes + 1] + 1, sizeof *l->afters, large);
    for (uint32_t n = 0; l->afters && n < nodes; n++) {
        for (size_t at = 0; next_wait(&w, s, n, &at);) l->afters[l->first_afters[w.from + 1]++] = n;
    }
    return l->afters != NULL;
}

static void push(timeline *l, uint32_t node)
{
    const begins added = {l->s->out->starts[node], node};
    l->s->states[node] = NODE_OPEN;
    l->failed |= !hd_large_grow((void **)&l->heap, &l->capacity, l->count, sizeof *l->heap, l->s->r->large);
    if (l->failed) return;
    HD_HEAP_PUSH(l->heap, l->count, added, x, y, x->start != y->start ? x->start < y->start : x->node < y->node);
}

/* One of its waits is over. */
static void pass_on(timeline *l, uint32_t node)
{
    if (--l->missing[node] || l->s->states[node] != NODE_NEW) return;
    find_start(l->s, node);
    push(l, node);
}

static void move_after(timeline *l, uint32_t after);

/* The node's end changes: so do the starts of nodes that wait for it, and the returns of calls that are waiting. */
static void move_end(timeline *l, uint32_t node, int64_t end)
{
    l->s->out->ends[node] = end;
    for (size_t i = l->first_afters[node]; i < l->first_afters[node + 1]; i++) move_after(l, l->afters[i]);
    if (node + 1 < l->s->r->first_work && has_thread(l->s, node + 1)) move_after(l, node + 1);
}

static void move_after(timeline *l, uint32_t after)
{
    replay_times *t = l->s->out;
    int64_t was = t->starts[after];
    uint64_t cycles = t->cycles;
    if (l->s->states[after] == NODE_OPEN) {
        find_start(l->s, after);
        t->cycles = cycles;
        if (t->starts[after] != was) push(l, after);
    } else if (l->s->states[after] == NODE_DONE && !replay_is_work(l->s->r, after)) {
        int64_t end = find_end(l->s, after);
        if (end != t->ends[after]) move_end(l, after, end);
    }
}

static void set_bound(replay_times *t, uint32_t node, uint32_t behind, unsigned kind)
{
    if (behind == HD_NONE) return;
    t->bounds[node] = behind;
    t->bound_kinds[node] = (uint8_t)kind;
}

static void move_others(timeline *l)
{
    replay_times *t = l->s->out;
    const replay_moved *moved;
    size_t count = replay_share_moved(&moved, l->sharer);
    for (size_t i = 0; i < count; i++) {
        const replay_moved *m = &moved[i];
        if (m->is_start) {
            t->starts[m->node] = m->time;
            set_bound(t, m->node, m->behind, REPLAY_SMS);
            push(l, m->node);
        } else {
            move_end(l, m->node, m->time);
        }
    }
}

static void begin_first(timeline *l)
{
    replay_times *t = l->s->out;
    uint32_t node = l->heap[0].node, behind = HD_NONE;
    bool is_past = l->s->states[node] == NODE_DONE || l->heap[0].start != t->starts[node];
    HD_HEAP_POP(l->heap, l->count, x, y, x->start != y->start ? x->start < y->start : x->node < y->node);
    if (is_past) return;
    if (replay_share_wait(&t->starts[node], &behind, l->sharer, t, l->s->states, node)) {
        set_bound(t, node, behind, replay_work(l->s->r, node)->role == HD_ROLE_KERNEL ? REPLAY_SMS : HD_EDGE_QUEUE);
        push(l, node);
        move_others(l);
        return;
    }
    bool is_work = replay_is_work(l->s->r, node);
    t->ends[node] = is_work ? replay_share_end(l->sharer, node, t->starts[node]) : find_end(l->s, node);
    l->s->states[node] = NODE_DONE;
    move_others(l);
    for (size_t i = l->first_afters[node]; i < l->first_afters[node + 1]; i++) pass_on(l, l->afters[i]);
    if (node + 1 < l->s->r->first_work && has_thread(l->s, node + 1)) pass_on(l, node + 1);
}

static hd_status run_in_time(simulation *s, hd_error *err)
{
    timeline l = {.s = s};
    hd_status status = replay_sharer_new(&l.sharer, s->r, err);
    if (status == HD_OK && !index_afters(&l)) status = HD_NOMEM(err);
    uint32_t nodes = s->r->graph->node_count;
    for (uint32_t n = 0; status == HD_OK && n < nodes; n++) {
        if (l.missing[n]) continue;
        find_start(s, n);
        push(&l, n);
    }
    for (uint32_t n = 0; status == HD_OK && n < nodes; n++) { /* the remaining nodes wait for themselves */
        while (l.count) begin_first(&l);
        if (s->states[n] != NODE_NEW) continue;
        find_start(s, n);
        push(&l, n);
    }
    while (status == HD_OK && l.count) begin_first(&l);
    if (status == HD_OK && (l.failed || replay_share_failed(l.sharer))) status = HD_NOMEM(err);
    replay_sharer_free(l.sharer);
    hd_large_free(l.first_afters);
    hd_large_free(l.afters);
    hd_large_free(l.missing);
    hd_large_free(l.heap);
    return status;
}

/* ---- both ---- */

hd_status replay_simulate(replay_times *out, const replay *r, const replay_plan *plan, hd_error *err)
{
    size_t count = (size_t)r->graph->node_count + 1;
    simulation s = {.r = r, .plan = plan, .out = out};
    *out = (replay_times){.starts = hd_large_new(count, sizeof *out->starts, r->large),
                          .ends = hd_large_new(count, sizeof *out->ends, r->large),
                          .bounds = hd_large_new(count, sizeof *out->bounds, r->large),
                          .bound_kinds = hd_large_new(count, 1, r->large)};
    s.states = hd_large_zeroed(count, 1, r->large);
    bool fine = out->starts && out->ends && out->bounds && out->bound_kinds && s.states, shares = false;
    hd_status status = fine ? HD_OK : HD_NOMEM(err);
    if (fine) shares = replay_shares_any(r);
    if (fine && shares) status = run_in_time(&s, err);
    if (fine && !shares) {
        s.stack = hd_large_new(count, sizeof *s.stack, r->large);
        if (s.stack)
            run_all(&s);
        else
            status = HD_NOMEM(err);
        hd_large_free(s.stack);
    }
    hd_large_free(s.states);
    return status;
}

void replay_times_deinit(replay_times *times)
{
    hd_large_free(times->starts);
    hd_large_free(times->ends);
    hd_large_free(times->bounds);
    hd_large_free(times->bound_kinds);
    *times = (replay_times){0};
}

int64_t replay_time_of(const replay *r, const replay_times *times, const hd_graph_lane *lane, int64_t time)
{
    const hd_graph *g = r->graph;
    uint32_t node = hd_graph_node_at(g, lane, time), last = lane->first_node + lane->node_count - 1;
    if (node == HD_NONE)
        return gpu_time(gpu_whole((gpu_i128)time + times->starts[lane->first_node] - g->starts[lane->first_node]));
    int64_t start = times->starts[node], end = times->ends[node];
    if (time <= g->ends[node] || node == last)
        return start + replay_stretch(time - g->starts[node], g->ends[node] - g->starts[node], end - start);
    int64_t space = times->starts[node + 1] - end, was = g->starts[node + 1] - g->ends[node];
    return end + replay_stretch(time - g->ends[node], was, space > 0 ? space : 0);
}
