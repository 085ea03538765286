/* bounds.c - upper bounds of savings: the graph again without the claimed time
 *
 * A node begins when the last of its dependencies is satisfied. The edge that was binding in the trace keeps its delay;
 * the others are only known not to have been binding, so their delay is 0. What is not changed ends when it did. Each
 * pass is O(nodes + edges).
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/overlap.h"
#include "report/findings/finding.h"
#include "trace/event.h"

const char finding_other_ranks_reason[] =
    "its time includes waiting for ranks that are not in this trace: load them together";
const char *const finding_how_names[FINDING_HOWS] = {NULL, "path", "replay", "host"};

enum { IS_FREED = 1, IS_UNORDERED = 2, IS_REACHED = 4 }; /* flags of nodes */

/* Activities that overlap others of their queue, and not as those of a queue in order may: the trace does not show what
 * they waited for. */
static void find_unordered(findings *f)
{
    const hd_graph *g = f->graph;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        uint32_t first = g->lanes[l].first_node;
        int64_t before_last = INT64_MIN;
        for (uint32_t n = first + 1; g->lanes[l].is_queue && n < first + g->lanes[l].node_count; n++) {
            bool is_over = g->ends[n - 1] <= g->starts[n] || graph_overlap(g, n) > 0;
            if (!is_over || before_last > g->starts[n]) {
                f->flags[n] |= IS_UNORDERED;
                f->has_unordered = true;
            }
            if (g->ends[n - 1] > before_last) before_last = g->ends[n - 1];
        }
    }
}

/* Ends the claims: what is left of nodes is needed only by a finding that takes the rest, and on the path no longer.
 * What is taken of nodes, their order and new starts are made where something is replayed. */
static bool make_lists(findings *f)
{
    const hd_graph *g = f->graph;
    size_t count = (size_t)g->node_count + 1;
    bool takes_rest = false;
    for (uint32_t i = 0; i < f->count; i++) takes_rest |= f->list[i].takes_rest;
    if (!takes_rest) hd_large_free(f->claimed);
    if (!takes_rest) f->claimed = NULL;
    findings_free_path(f);
    f->flags = hd_large_zeroed(count, 1, f->scope.large);
    if (!f->flags) return false;
    find_unordered(f);
    if (!f->is_complete && !f->has_unordered) return true;
    f->taken = hd_large_zeroed(count, sizeof *f->taken, f->scope.large);
    f->order = hd_large_new(count, sizeof *f->order, f->scope.large);
    f->new_starts = hd_large_new(count, sizeof *f->new_starts, f->scope.large);
    if (!f->taken || !f->order || !f->new_starts) return false;
    uint32_t *spare = (uint32_t *)f->new_starts;
    for (uint32_t n = 0; n < g->node_count; n++) f->order[n] = n;
    HD_SORT_RUNS(f->order, spare, g->node_count, x, y,
                 g->starts[*x] != g->starts[*y] ? g->starts[*x] < g->starts[*y] : *x < *y);
    return true;
}

/* A thread without steps may wait in its gaps, and before it begins, for a thread with steps: the trace need not show
 * that (a loader that waits for a free place). So these times hold nothing back. */
static bool may_wait(const findings *f, uint32_t n)
{
    return f->has_steps && !findings_is_work(f, n) && !f->has_step[n];
}

/* The time of a node that the set claims take. */
static int64_t taken(const findings *f, uint32_t n)
{
    int64_t rest = f->rest_is_set && !findings_is_work(f, n) ? findings_left(f, n) : 0;
    return f->taken[n] + (rest > 0 ? rest : 0);
}

/* Of two activities that overlap, the second begins here when the first is over. */
static int64_t new_end(const findings *f, uint32_t n)
{
    const hd_graph *g = f->graph;
    if (g->kinds[n] == HD_NODE_GAP && may_wait(f, n)) return f->new_starts[n];
    int64_t left = g->ends[n] - g->starts[n] - graph_overlap(g, n) - taken(f, n);
    return f->new_starts[n] + (left > 0 ? left : 0);
}

/* An activity that another thread launches only after a wait has begun is not waited for. */
static bool is_launched_later(const findings *f, uint32_t work, uint32_t waiting, int64_t wait)
{
    const hd_graph *g = f->graph;
    HD_GRAPH_EDGES(e, g, work) {
        uint32_t call = hd_graph_edge_from(g, e);
        if (hd_graph_edge_kind(g, e) == HD_EDGE_LAUNCH && !findings_is_work(f, call))
            return f->new_starts[call] >= wait && hd_graph_lane_of(g, call) != hd_graph_lane_of(g, waiting);
    }
    return false;
}

static int64_t new_start(const findings *f, uint32_t n)
{
    const hd_graph *g = f->graph;
    int64_t ready, start = INT64_MIN;
    bool is_chained = hd_graph_has_lane_edge(g, n) && g->ends[n - 1] <= g->starts[n];
    if (is_chained && !hd_graph_is_edge_of(g, hd_graph_other_edge(g, n), n)) /* its only edge, as most nodes have */
        return new_end(f, n - 1) + (g->starts[n] - g->ends[n - 1]);
    size_t bound = hd_graph_bound(&ready, g, n);
    bool overlaps = graph_overlap(g, n) > 0; /* when the first let it begin is not known, so nothing delays it */
    if (bound == SIZE_MAX) return may_wait(f, n) && g->starts[n] > f->from ? f->from : g->starts[n];
    HD_GRAPH_EDGES(e, g, n) {
        uint32_t from = hd_graph_edge_from(g, e);
        if (f->flags[n] & IS_FREED &&
            (hd_graph_edge_kind(g, e) == HD_EDGE_SYNC || hd_graph_edge_kind(g, e) == HD_EDGE_EVENT))
            continue;
        bool is_wait =
            hd_graph_edge_kind(g, e) == HD_EDGE_SYNC && start != INT64_MIN; /* its thread's edge comes first */
        if (is_wait && findings_is_work(f, from) && is_launched_later(f, from, n, start)) continue;
        bool is_over = g->ends[from] <= g->starts[n] || (overlaps && hd_graph_edge_kind(g, e) == HD_EDGE_QUEUE);
        int64_t now = is_over ? new_end(f, from) : f->new_starts[from] - graph_overlap(g, from);
        if (e == bound && !overlaps) now += g->starts[n] - ready;
        if (now > start) start = now;
    }
    return start == INT64_MIN ? g->starts[n] : start;
}

/* By how much earlier the whole is over. */
static int64_t saved(const findings *f)
{
    const hd_graph *g = f->graph;
    int64_t before = INT64_MIN, after = INT64_MIN;
    for (uint32_t i = 0; i < g->node_count; i++) {
        uint32_t n = f->order[i];
        f->new_starts[n] = new_start(f, n);
        if (!findings_is_measured(f, n)) continue;
        int64_t beyond = g->ends[n] > f->until ? g->ends[n] - f->until : 0;
        if (g->ends[n] - beyond > before) before = g->ends[n] - beyond;
        if (new_end(f, n) - beyond > after) after = new_end(f, n) - beyond;
    }
    return before > after ? before - after : 0;
}

static void set_claims(findings *f, uint32_t of, bool is_set)
{
    if (!f->taken) return;
    if (f->list[of].takes_rest) f->rest_is_set = is_set;
    for (size_t i = findings_first_claim(f, of); i < f->claim_count && f->claims[i].of == of; i++) {
        const finding_claim *c = &f->claims[i];
        if (c->ns == HD_NO_TIME)
            f->flags[c->node] = (uint8_t)((f->flags[c->node] & ~IS_FREED) | (is_set ? IS_FREED : 0));
        else
            f->taken[c->node] += is_set ? c->ns : -c->ns;
    }
}

/* Whether an activity of which the trace does not show what it waits for is, by any of the edges, behind what is
 * set. */
static bool reaches_unordered(const findings *f)
{
    const hd_graph *g = f->graph;
    for (uint32_t i = 0; f->has_unordered && i < g->node_count; i++) {
        uint32_t n = f->order[i];
        bool is_behind = false;
        if (g->starts[n] >= f->until) break;
        HD_GRAPH_EDGES(e, g, n) is_behind |= f->flags[hd_graph_edge_from(g, e)] & IS_REACHED;
        if (is_behind && f->flags[n] & IS_UNORDERED) return true;
        bool is_reached = is_behind || taken(f, n) || f->flags[n] & IS_FREED;
        f->flags[n] = (uint8_t)((f->flags[n] & ~IS_REACHED) | (is_reached ? IS_REACHED : 0));
    }
    return false;
}

/* Claimed work that the rest of the device does not need. */
static int64_t claimed_work(const findings *f, uint32_t of)
{
    int64_t sum = 0;
    for (size_t i = findings_first_claim(f, of); i < f->claim_count && f->claims[i].of == of; i++)
        if (f->claims[i].ns != HD_NO_TIME && findings_is_work(f, f->claims[i].node))
            sum = gpu_sum(sum, f->claims[i].ns);
    return sum;
}

/* The start of the finding's first change, within the whole: before that, nothing changes. */
static int64_t first_change(const findings *f, uint32_t of)
{
    int64_t time = f->until;
    for (size_t i = findings_first_claim(f, of); i < f->claim_count && f->claims[i].of == of; i++) {
        uint32_t node = f->claims[i].node, row = f->graph->slices[node];
        int64_t start = f->graph->starts[node];
        if (f->claims[i].ns == HD_NO_TIME && row != HD_NONE) { /* the node is behind the wait */
            int64_t call = hd_event_at(f->scope.trace, HD_KIND_SLICE, row).start_ns;
            if (call < start) start = call;
        }
        if (start < time) time = start;
    }
    for (uint32_t n = 0; f->list[of].takes_rest && n < f->first_work; n++)
        if (f->graph->starts[n] < time && findings_left(f, n) > 0) time = f->graph->starts[n];
    return time > f->from ? time : f->from;
}

/* How long the device that has most to do is busy from then on. */
static int64_t busiest_since(const findings *f, int64_t time)
{
    int64_t most = 0;
    for (uint32_t d = 0; d < f->scope.device_count; d++) {
        int64_t busy = f->busiest[d] - findings_busy_until(f, d, FINDINGS_ALL_CLASSES, time);
        if (busy > most) most = busy;
    }
    return most;
}

/* The same of queues: those of one device may overlap more than they did. */
static int64_t busiest_queue_since(const findings *f, int64_t time)
{
    const gpu_scope *s = &f->scope;
    int64_t most = 0;
    for (uint32_t r = 0; r < s->row_count; r++) {
        int64_t busy = 0, reached = time;
        for (uint32_t i = 0; s->rows[r].device != HD_NONE && i < s->rows[r].count; i++) {
            const gpu_work *work = &s->works[s->by_row[s->rows[r].first + i]];
            int64_t start = work->start > reached ? work->start : reached;
            int64_t end = work->end < f->until ? work->end : f->until;
            if (end <= start) continue;
            busy += end - start;
            reached = end;
        }
        if (busy > most) most = busy;
    }
    return most;
}

/* The delays on the path during a node before activities without a launch. */
static int64_t held_back_in(const findings *f, uint32_t node)
{
    int64_t sum = 0, from = f->graph->starts[node], until = f->graph->ends[node];
    size_t low = 0, end = f->path_count;
    HD_PARTITION_POINT(low, end, at, f->path[at].end_ns <= from);
    for (; low < f->path_count && f->path[low].start_ns < until; low++) {
        const hd_graph_piece *p = &f->path[low];
        int64_t start = p->start_ns > from ? p->start_ns : from, stop = p->end_ns < until ? p->end_ns : until;
        sum = gpu_sum(sum, stop - start);
    }
    return sum;
}

/* These delays during the claimed host time: a path with the missing edges may lead through the host then, and not
 * through them. */
static int64_t held_back(const findings *f, uint32_t of)
{
    int64_t sum = 0;
    if (!f->path_count) return 0;
    for (size_t i = findings_first_claim(f, of); i < f->claim_count && f->claims[i].of == of; i++)
        if (!findings_is_work(f, f->claims[i].node)) sum = gpu_sum(sum, held_back_in(f, f->claims[i].node));
    for (uint32_t n = 0; f->list[of].takes_rest && n < f->first_work; n++)
        if (findings_left(f, n) > 0) sum = gpu_sum(sum, held_back_in(f, n));
    return sum;
}

static void set_not_known(finding *of, const char *reason)
{
    of->saves = HD_NO_TIME;
    of->how = FINDING_NOT_KNOWN;
    of->reason = reason;
}

/* From the first change on, the time that the busiest device needs, without its claimed work. */
static void bound_by_host(findings *f, uint32_t index)
{
    finding *of = &f->list[index];
    int64_t time = first_change(f, index);
    int64_t busy = busiest_since(f, time),
            host = gpu_sum(findings_time(f, time, f->until) - busy, claimed_work(f, index));
    if (host >= of->saves) return;
    of->may_overlap = findings_is_worth(f, busy - busiest_queue_since(f, time));
    of->saves = host;
    of->how = FINDING_BY_HOST;
}

/* By path and, where the claims are set, by replay. */
static void bound_by_graph(findings *f, uint32_t index)
{
    finding *of = &f->list[index];
    if (!of->frees_waits && !of->frees_queues) of->saves = of->path;
    if (!of->frees_waits && of->is_of_host && !f->is_complete) of->saves = gpu_sum(of->path, held_back(f, index));
    int64_t by_replay = of->saves > 0 && f->is_complete ? saved(f) : of->saves;
    if (by_replay >= of->saves) return;
    of->saves = by_replay;
    of->how = FINDING_BY_REPLAY;
}

/* false: no memory. */
static bool bound_one(findings *f, uint32_t index)
{
    finding *of = &f->list[index];
    int64_t whole = findings_whole(f);
    if (of->reason) return true;
    if (of->device_needs != HD_NO_TIME) {
        of->saves = whole - of->device_needs;
        of->how = FINDING_BY_HOST;
        return true;
    }
    of->saves = whole;
    of->how = FINDING_BY_PATH;
    set_claims(f, index, true);
    of->is_unordered = reaches_unordered(f);
    if (!of->is_unordered) bound_by_graph(f, index);
    if (of->saves > whole) of->saves = whole; /* the graph knows nothing of what was not recorded */
    set_claims(f, index, false);
    /* Nodes of one path do not run at the same time, whatever waits for what. */
    int64_t time = of->is_unordered && !of->frees_waits ? findings_claimed_time(f, index) : whole;
    if (time < 0) return false;
    if (time < of->saves) of->saves = time;
    /* Where the path leaves a call that no longer waits, the thread is as long except for the call: the rest of path
     * and thread together have lost no more than the calls and the claims. */
    if (of->frees_waits && of->freed < of->saves) {
        of->saves = of->freed;
        of->how = FINDING_BY_PATH;
    }
    if (of->is_of_host || of->frees_waits) bound_by_host(f, index);
    if (of->is_unordered && of->frees_queues)
        set_not_known(of, "activities after it overlap others of their queue, so what they wait for is not known");
    bool is_worth = findings_is_worth(f, of->saves);
    if (of->has_other_ranks && is_worth) {
        set_not_known(of, finding_other_ranks_reason);
    } else if (of->needs_waits && !is_worth && !findings_has_edges(f, HD_EDGE_EVENT)) {
        set_not_known(of, "the trace has no waits of streams for others, so what waits for it is not known");
    } else if (of->is_of_all_ranks && !is_worth) {
        set_not_known(of,
                      "this rank waits for ranks that are not in this trace, and may be as slow: load them together");
    }
    return true;
}

/* The saving of a finding after `first` (whose claims are set and which alone saves the given time) is solved: by
 * replay; if the graph is incomplete, the measured time for GPU time, which does not get longer then. */
static int64_t saves_then(findings *f, uint32_t index, int64_t alone)
{
    const finding *of = &f->list[index];
    if (!f->is_complete || of->is_unordered) return of->is_of_host || of->frees_waits ? 0 : of->amount;
    set_claims(f, index, true);
    int64_t then = saved(f) - alone;
    set_claims(f, index, false);
    return of->frees_waits && then > of->freed ? of->freed : then;
}

static void bound_behind(findings *f)
{
    uint32_t first = HD_NONE;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->list[i].saves > 0 && f->list[i].device_needs == HD_NO_TIME && !f->list[i].is_unordered &&
            (first == HD_NONE || f->list[i].saves > f->list[first].saves))
            first = i;
    if (first == HD_NONE) return;
    set_claims(f, first, true);
    int64_t alone = f->is_complete ? saved(f) : 0;
    for (uint32_t i = 0; i < f->count; i++) {
        finding *of = &f->list[i];
        if (i == first || of->how == FINDING_NOT_KNOWN || of->device_needs != HD_NO_TIME) continue;
        int64_t then = saves_then(f, i, alone);
        if (then <= of->saves || !findings_is_worth(f, then)) continue;
        of->then = then;
        of->behind = f->list[first].rule->about.code;
    }
    set_claims(f, first, false);
}

hd_status findings_bound(findings *f, hd_error *err)
{
    if (!f->count) return HD_OK;
    if (!make_lists(f)) return HD_NOMEM(err);
    for (uint32_t i = 0; i < f->count; i++)
        if (!bound_one(f, i)) return HD_NOMEM(err);
    bound_behind(f);
    return HD_OK;
}
