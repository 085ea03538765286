/* threads.c - waits between threads of a process
 *
 * A thread in backward() does nothing while the autograd engine's thread runs, which began when it was called. Such a
 * part of the thread is cut in two, before the other thread begins and after it ends, with edges between the threads;
 * the gap in which the other thread waited for its turn is removed.
 *
 * A part is 10 us or longer, and neither in an API call nor in a call that waits for a GPU. It waits for another thread
 * with slices in it
 * - if one of those is a backward op whose forward op ran on the thread of the part (model/flows/forward.h);
 * - if the name of its slice means waiting (model/roles/thread_waits.h) and the other thread has no open slice at its
 * end;
 * - if the other thread has no open slice at its begin and end, is busy in at least half of it, and has nine tenths of
 * its
 *   busy time within such parts of this thread.
 * Otherwise, if the other thread has no open slice at both ends, or the name means waiting, the part is a suspect.
 * Processes with so many threads that comparing all pairs would take longer than the graph are skipped and counted.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "model/flows/forward.h"
#include "model/identity/process.h"
#include "model/roles/thread_waits.h"
#include "trace/lazy.h"

enum { WAIT_LEAST_NS = 10000 };
/* Each thread is compared with the gaps of every other thread of its process: the limit is that of 64 threads of any
 * length, and some more for short ones. */
enum { COMPARED_PER_NODE = 64, COMPARED_MORE = 1 << 20 };

typedef enum evidence { EVIDENCE_NONE, EVIDENCE_SUSPECT, EVIDENCE_CONTAINED, EVIDENCE_SURE } evidence;
enum { NAME_NEW, NAME_RUNS, NAME_WAITS };

/* The activity of another thread during a part. */
typedef struct period {
    int64_t start, end; /* end: of the last that is done within the stretch */
    bool begins, ends;  /* it has no open slice when the part begins, ends */
} period;

typedef struct thread_wait {
    uint32_t node, lane; /* of the part; of the other thread */
    evidence evidence;
    period other;
} thread_wait;

/* Nodes that replace a node, or are inserted before it. */
typedef struct edit {
    uint32_t node;
    bool replaces;
    uint8_t count;
    struct {
        int64_t start, end;
        uint8_t kind;
        uint32_t slice;
    } made[2];
} edit;

typedef struct finder {
    graph_maker *m;
    uint32_t *processes; /* by lane */
    uint32_t *siblings;  /* lanes by process */
    uint32_t *contained; /* by lane: nodes in parts of the current thread that contain them, and how often */
    uint32_t *contained_times;
    uint32_t *gaps;     /* nodes */
    size_t *first_gaps; /* by lane, one more at the end */
    uint8_t *names;     /* by string: NAME_… */
    forward_thread *backward;
    size_t backward_count;
    bool has_backward;
    thread_wait *waits; /* by node */
    size_t count, capacity;
    edit *edits;
    size_t edit_count, edit_capacity;
} finder;

/* ---- what the other thread does ---- */

static bool is_gap_over(const hd_graph *g, uint32_t node, int64_t time)
{
    return g->kinds[node] == HD_NODE_GAP && g->ends[node] > time;
}

/* Moves a cursor to the first node that starts after a time. */
static uint32_t advance(uint32_t *cursor, const hd_graph *g, const hd_graph_lane *lane, int64_t time)
{
    enum { STEPS = 8 }; /* nodes follow the time closely, or are passed by thousands */
    uint32_t end = lane->first_node + lane->node_count, high = end;
    for (int i = 0; i < STEPS && *cursor < end && g->starts[*cursor] <= time; i++) ++*cursor;
    if (*cursor < end && g->starts[*cursor] <= time) HD_PARTITION_POINT(*cursor, high, at, g->starts[at] <= time);
    return *cursor == lane->first_node ? HD_NONE : *cursor - 1;
}

/* false: the other thread does nothing in [from, until). */
static bool find_period(period *out, const hd_graph *g, const hd_graph_lane *lane, int64_t from, int64_t until)
{
    uint32_t first = hd_graph_node_at(g, lane, from), last = hd_graph_node_at(g, lane, until - 1);
    uint32_t end = lane->first_node + lane->node_count;
    if (last == HD_NONE) return false;
    out->begins = first == HD_NONE || is_gap_over(g, first, from);
    out->start = first == HD_NONE ? g->starts[lane->first_node] : out->begins ? g->ends[first] : from;
    if (out->start >= until || (!out->begins && g->ends[first] <= from)) return false;
    bool is_last = last + 1 == end || g->kinds[last + 1] == HD_NODE_GAP;
    out->ends = g->kinds[last] == HD_NODE_GAP || (is_last && g->ends[last] <= until);
    while (!out->ends && last > lane->first_node && g->starts[last] > from && g->kinds[last] != HD_NODE_GAP) last--;
    out->end = g->kinds[last] == HD_NODE_GAP ? g->starts[last] : out->ends ? g->ends[last] : INT64_MIN;
    return out->end > out->start;
}

/* ---- evidence ---- */

static hd_status is_backward(bool *out, finder *f, const hd_graph_lane *thread, const hd_graph_lane *other,
                             int64_t from, int64_t until, hd_error *err)
{
    if (!f->has_backward) HD_TRY(forward_threads(&f->backward, &f->backward_count, f->m->trace, err));
    f->has_backward = true;
    const forward_thread wanted = {other->track, thread->track, from};
    size_t low = 0, high = f->backward_count;
    HD_PARTITION_POINT(low, high, at,
                       f->backward[at].backward != wanted.backward ? f->backward[at].backward < wanted.backward
                       : f->backward[at].forward != wanted.forward ? f->backward[at].forward < wanted.forward
                                                                   : f->backward[at].start_ns < from);
    const forward_thread *found = low < f->backward_count ? &f->backward[low] : NULL;
    *out = found && found->backward == wanted.backward && found->forward == wanted.forward && found->start_ns < until;
    return HD_OK;
}

static bool waits_by_name(finder *f, uint32_t name)
{
    uint8_t *known = &f->names[name];
    if (*known == NAME_NEW) *known = hd_waits_for_thread(hd_trace_string(f->m->trace, name)) ? NAME_WAITS : NAME_RUNS;
    return *known == NAME_WAITS;
}

/* Does not look for backward ops, which are checked only if nothing else decides. */
static evidence evidence_of(finder *f, uint32_t row, const period *p, int64_t length)
{
    const hd_trace *trace = f->m->trace;
    bool is_within = p->begins && p->ends, is_half = is_within && p->end - p->start >= length / 2;
    if (row == HD_NONE) return is_half ? EVIDENCE_SUSPECT : EVIDENCE_NONE;
    uint32_t name = (uint32_t)hd_slice_column(trace, row, HD_COL_NAME);
    if (waits_by_name(f, name)) return p->ends ? EVIDENCE_SURE : EVIDENCE_SUSPECT;
    if (!is_within) return EVIDENCE_NONE;
    hd_role role = hd_role_of(hd_trace_string(trace, (uint32_t)hd_slice_column(trace, row, HD_COL_CATEGORY)),
                              hd_trace_string(trace, name));
    if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER) return EVIDENCE_NONE;
    return is_half ? EVIDENCE_CONTAINED : role == HD_ROLE_OP ? EVIDENCE_NONE : EVIDENCE_SUSPECT;
}

static bool add_wait(finder *f, uint32_t node, uint32_t lane)
{
    const hd_graph *g = f->m->g;
    int64_t start = g->starts[node], end = g->ends[node];
    thread_wait w = {.node = node, .lane = lane};
    if (!find_period(&w.other, g, &g->lanes[lane], start, end)) return true;
    if (g->slices[node] == HD_NONE && !w.other.begins && !w.other.ends) return true;
    w.evidence = evidence_of(f, g->slices[node], &w.other, end - start);
    if (!hd_large_grow((void **)&f->waits, &f->capacity, f->count, sizeof *f->waits, f->m->large)) return false;
    f->waits[f->count++] = w;
    if (w.evidence == EVIDENCE_CONTAINED) {
        f->contained[lane] += hd_graph_node_at(g, &g->lanes[lane], w.other.end - 1) + 1 -
                              hd_graph_node_at(g, &g->lanes[lane], w.other.start);
        f->contained_times[lane]++;
    }
    return true;
}

/* Whether the lane has gaps between the periods that contain it. */
static bool works_only_within(const finder *f, uint32_t lane)
{
    uint64_t nodes = f->m->g->lanes[lane].node_count, gaps = (uint64_t)f->contained_times[lane] + 1;
    return 10 * (uint64_t)f->contained[lane] >= 9 * (nodes > gaps ? nodes - gaps : 0);
}

/* Decides on the waits of a thread from `first` on, and removes those that are none. */
static hd_status decide(finder *f, const hd_graph_lane *thread, size_t first, hd_error *err)
{
    const hd_graph *g = f->m->g;
    size_t kept = first;
    for (size_t i = first; i < f->count; i++) {
        thread_wait w = f->waits[i];
        bool is_found;
        if (w.evidence == EVIDENCE_CONTAINED)
            w.evidence = works_only_within(f, w.lane) ? EVIDENCE_SURE : EVIDENCE_SUSPECT;
        if (w.evidence != EVIDENCE_SURE) {
            HD_TRY(is_backward(&is_found, f, thread, &g->lanes[w.lane], g->starts[w.node], g->ends[w.node], err));
            if (is_found) w.evidence = EVIDENCE_SURE;
        }
        if (w.evidence != EVIDENCE_NONE) f->waits[kept++] = w;
    }
    f->count = kept;
    return HD_OK;
}

/* The parts of a thread at whose end another thread stops: it has a gap, or ends. */
static bool find_waits_for(finder *f, uint32_t lane, uint32_t other)
{
    const hd_graph *g = f->m->g;
    uint32_t cursor = g->lanes[lane].first_node, before = HD_NONE;
    for (size_t i = f->first_gaps[other]; i <= f->first_gaps[other + 1]; i++) {
        bool is_over = i == f->first_gaps[other + 1];
        int64_t end =
            is_over ? g->ends[g->lanes[other].first_node + g->lanes[other].node_count - 1] : g->starts[f->gaps[i]];
        uint32_t node = advance(&cursor, g, &g->lanes[lane], end - 1);
        if (node == HD_NONE || node == before || g->ends[node] < end) continue;
        before = node;
        bool can_wait = g->ends[node] - g->starts[node] >= WAIT_LEAST_NS && g->kinds[node] != HD_NODE_SYNC;
        if (can_wait && !add_wait(f, node, other)) return false;
    }
    return true;
}

static int by_stretch(const void *a, const void *b)
{
    const thread_wait *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static hd_status find_waits_of(finder *f, uint32_t lane, const uint32_t *siblings, uint32_t count, hd_error *err)
{
    size_t first = f->count;
    for (uint32_t i = 0; i < count; i++) {
        f->contained[siblings[i]] = f->contained_times[siblings[i]] = 0;
        if (siblings[i] != lane && !find_waits_for(f, lane, siblings[i])) return HD_NOMEM(err);
    }
    if (f->count > first &&
        !hd_large_sort(f->waits + first, f->count - first, sizeof *f->waits, by_stretch, f->m->large))
        return HD_NOMEM(err);
    return decide(f, &f->m->g->lanes[lane], first, err);
}

/* ---- cuts ---- */

static bool add_edit(finder *f, uint32_t node, bool replaces)
{
    if (!hd_large_grow((void **)&f->edits, &f->edit_capacity, f->edit_count, sizeof *f->edits, f->m->large))
        return false;
    f->edits[f->edit_count++] = (edit){.node = node, .replaces = replaces};
    return true;
}

static void put_made(edit *e, int64_t start, int64_t end, uint8_t kind, uint32_t slice)
{
    e->made[e->count].start = start;
    e->made[e->count].end = end;
    e->made[e->count].kind = kind;
    e->made[e->count++].slice = slice;
}

/* The part before the others begin and after they end: it remains, so that its slice has a node. */
typedef struct cut {
    int64_t start, end;
} cut;

static cut cut_of(const hd_graph *g, const thread_wait *waits, size_t count)
{
    cut c = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        if (waits[i].evidence != EVIDENCE_SURE) continue;
        if (waits[i].other.start < c.start) c.start = waits[i].other.start;
        if (waits[i].other.end > c.end) c.end = waits[i].other.end;
    }
    if (c.start < g->starts[waits->node]) c.start = g->starts[waits->node];
    return c;
}

/* The gap before the other thread's turn begins at the cut. */
static bool cut_turn(finder *f, const thread_wait *w, int64_t time)
{
    const hd_graph *g = f->m->g;
    const hd_graph_lane *lane = &g->lanes[w->lane];
    uint32_t gap = hd_graph_node_at(g, lane, w->other.start - 1);
    if (gap == HD_NONE && w->other.start == time) return true;
    if (!add_edit(f, gap == HD_NONE ? lane->first_node : gap, gap != HD_NONE)) return false;
    if (w->other.start > time) put_made(&f->edits[f->edit_count - 1], time, w->other.start, HD_NODE_GAP, HD_NONE);
    return true;
}

static bool cut_stretch(finder *f, const thread_wait *waits, size_t count)
{
    const hd_graph *g = f->m->g;
    cut c = cut_of(g, waits, count);
    uint32_t n = waits->node;
    bool has_before = c.start > g->starts[n] || n > hd_graph_lane_of(g, n)->first_node;
    if (c.end == INT64_MIN) return true;
    if (!add_edit(f, n, true)) return false;
    edit *e = &f->edits[f->edit_count - 1];
    if (c.start > g->starts[n]) put_made(e, g->starts[n], c.start, g->kinds[n], g->slices[n]);
    put_made(e, c.end, g->ends[n], g->kinds[n], g->slices[n]);
    for (size_t i = 0; i < count; i++) {
        const thread_wait *w = &waits[i];
        bool has_turn = has_before && w->evidence == EVIDENCE_SURE && w->other.begins;
        if (has_turn && !cut_turn(f, w, c.start)) return false;
    }
    return true;
}

static int by_node(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->replaces - y->replaces;
}

static size_t end_of_node(const finder *f, size_t first)
{
    size_t end = first + 1;
    while (end < f->count && f->waits[end].node == f->waits[first].node) end++;
    return end;
}

static bool list_edits(finder *f)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < f->count; i = end) {
        end = end_of_node(f, i);
        if (!cut_stretch(f, &f->waits[i], end - i)) return false;
    }
    if (!hd_large_sort(f->edits, f->edit_count, sizeof *f->edits, by_node, f->m->large)) return false;
    for (size_t i = 0; i < f->edit_count; i++) { /* of two edits of one node the first one found */
        if (kept == 0 || by_node(&f->edits[kept - 1], &f->edits[i]) != 0) f->edits[kept++] = f->edits[i];
    }
    f->edit_count = kept;
    return true;
}

/* ---- nodes ---- */

typedef struct node_lists {
    int64_t *starts, *ends;
    uint32_t *slices;
    uint8_t *kinds;
} node_lists;

static void move_nodes(hd_graph *g, const node_lists *from, uint32_t first, uint32_t end)
{
    size_t count = end - first;
    memmove(g->starts + g->node_count, from->starts + first, count * sizeof *g->starts);
    memmove(g->ends + g->node_count, from->ends + first, count * sizeof *g->ends);
    memmove(g->slices + g->node_count, from->slices + first, count * sizeof *g->slices);
    memmove(g->kinds + g->node_count, from->kinds + first, count);
    g->node_count += (uint32_t)count;
}

/* Moves a lane, from `first` on in the old lists; returns the first edit of another lane. */
static size_t move_lane(finder *f, const node_lists *from, hd_graph_lane *lane, size_t at)
{
    hd_graph *g = f->m->g;
    uint32_t first = lane->first_node, end = first + lane->node_count;
    lane->first_node = g->node_count;
    for (; at < f->edit_count && f->edits[at].node < end; at++) {
        const edit *e = &f->edits[at];
        move_nodes(g, from, first, e->node);
        for (int i = 0; i < e->count; i++)
            graph_add_node(g, (hd_node_kind)e->made[i].kind, e->made[i].slice, e->made[i].start, e->made[i].end);
        first = e->node + e->replaces;
    }
    move_nodes(g, from, first, end);
    lane->node_count = g->node_count - lane->first_node;
    return at;
}

/* The nodes move back by as many as there are more of them after any edit, and then forward, edit by edit. */
static bool move_all(finder *f)
{
    hd_graph *g = f->m->g;
    uint32_t count = g->node_count;
    size_t at = 0, more = 0;
    int64_t added = 0;
    for (size_t i = 0; i < f->edit_count; i++) {
        added += f->edits[i].count - f->edits[i].replaces;
        if (added > (int64_t)more) more = (size_t)added;
    }
    if (!graph_make_lists(f->m, count + more)) return false;
    const node_lists old = {g->starts + more, g->ends + more, g->slices + more, g->kinds + more};
    memmove(old.starts, g->starts, count * sizeof *g->starts);
    memmove(old.ends, g->ends, count * sizeof *g->ends);
    memmove(old.slices, g->slices, count * sizeof *g->slices);
    memmove(old.kinds, g->kinds, count);
    g->node_count = 0;
    for (uint32_t l = 0; l < g->lane_count; l++) at = move_lane(f, &old, &g->lanes[l], at);
    return true;
}

/* ---- edges ---- */

/* The first node of a lane that starts at a time or later. */
static uint32_t node_from(const hd_graph *g, const hd_graph_lane *lane, int64_t time)
{
    uint32_t low = lane->first_node, high = low + lane->node_count;
    HD_PARTITION_POINT(low, high, at, g->starts[at] < time);
    return low < lane->first_node + lane->node_count ? low : HD_NONE;
}

static bool add_link(graph_maker *m, uint32_t to, uint32_t from)
{
    if (to == HD_NONE || from == HD_NONE) return true;
    if (!hd_large_grow((void **)&m->links, &m->link_capacity, m->link_count, sizeof *m->links, m->large)) return false;
    m->links[m->link_count++] = (graph_edge){to, from, HD_EDGE_HANDOFF};
    return true;
}

/* c: of the stretch of `lane`, which is cut. */
static bool add_links(graph_maker *m, uint32_t lane, const thread_wait *w, const cut *c)
{
    const hd_graph *g = m->g;
    const hd_graph_lane *thread = &g->lanes[lane], *other = &g->lanes[w->lane];
    if (w->other.begins && !add_link(m, node_from(g, other, c->start), hd_graph_node_at(g, thread, c->start - 1)))
        return false;
    return add_link(m, node_from(g, thread, c->end), hd_graph_node_at(g, other, w->other.end - 1));
}

/* Of waits that are sure, by their times before the cut. */
typedef struct known_cut {
    uint32_t lane;
    cut at;
    int64_t start;
} known_cut;

static bool add_suspect(graph_maker *m, uint32_t lane, const thread_wait *w, int64_t start)
{
    hd_graph *g = m->g;
    if (!hd_large_grow((void **)&g->suspects, &m->suspect_capacity, g->suspect_count, sizeof *g->suspects, m->large))
        return false;
    g->suspects[g->suspect_count++] = (hd_graph_suspect){
        .node = hd_graph_node_at(g, &g->lanes[lane], start),
        .lane = w->lane,
        .start_ns = w->other.start,
        .end_ns = w->other.end,
    };
    return true;
}

/* By group of waits of one node; before nodes move. */
static known_cut *list_cuts(const finder *f)
{
    const hd_graph *g = f->m->g;
    known_cut *cuts = hd_large_new(f->count + 1, sizeof *cuts, f->m->large);
    for (size_t i = 0, group = 0, end; cuts && i < f->count; i = end, group++) {
        uint32_t node = f->waits[i].node;
        end = end_of_node(f, i);
        cuts[group] = (known_cut){.lane = (uint32_t)(hd_graph_lane_of(g, node) - g->lanes),
                                  .at = cut_of(g, &f->waits[i], end - i),
                                  .start = g->starts[node]};
    }
    return cuts;
}

static bool link_all(finder *f, const known_cut *cuts)
{
    for (size_t i = 0, group = 0, end; i < f->count; i = end, group++) {
        const known_cut *c = &cuts[group];
        end = end_of_node(f, i);
        for (size_t k = i; k < end; k++) {
            const thread_wait *w = &f->waits[k];
            bool is_cut = c->at.end != INT64_MIN;
            if (w->evidence == EVIDENCE_SURE && !add_links(f->m, c->lane, w, &c->at)) return false;
            if (!is_cut && !add_suspect(f->m, c->lane, w, c->start)) return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

/* Lists lanes by process; a lane of unknown process is alone. */
static uint32_t list_siblings(finder *f)
{
    const hd_graph *g = f->m->g;
    uint32_t count = 0;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        f->processes[l] = hd_process_of(f->m->trace, g->lanes[l].track);
        if (f->processes[l] != HD_NONE) f->siblings[count++] = l;
    }
    uint32_t *spare = f->contained; /* not used yet */
    HD_SORT_RUNS(f->siblings, spare, count, x, y, f->processes[*x] < f->processes[*y]);
    return count;
}

/* The first gap of nodes [first, end); `end`: there is none. */
static uint32_t next_gap(const hd_graph *g, uint32_t first, uint32_t end)
{
    const uint8_t *found = first < end ? memchr(g->kinds + first, HD_NODE_GAP, end - first) : NULL;
    return found ? (uint32_t)(found - g->kinds) : end;
}

static bool list_gaps(finder *f)
{
    const hd_graph *g = f->m->g;
    size_t capacity = 0, count = 0;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        uint32_t first = g->lanes[l].first_node, end = first + g->lanes[l].node_count;
        f->first_gaps[l] = count;
        for (uint32_t n = next_gap(g, first, end); n < end; n = next_gap(g, n + 1, end)) {
            if (!hd_large_grow((void **)&f->gaps, &capacity, count, sizeof *f->gaps, f->m->large)) return false;
            f->gaps[count++] = n;
        }
    }
    f->first_gaps[g->lane_count] = count;
    return true;
}

static hd_status find_waits(finder *f, hd_error *err)
{
    uint32_t count = list_siblings(f), end;
    uint64_t budget = COMPARED_PER_NODE * (uint64_t)f->m->g->node_count + COMPARED_MORE;
    if (!list_gaps(f)) return HD_NOMEM(err);
    for (uint32_t first = 0; first < count; first = end) {
        uint64_t gaps = 0;
        for (end = first; end < count && f->processes[f->siblings[end]] == f->processes[f->siblings[first]]; end++)
            gaps += f->first_gaps[f->siblings[end] + 1] - f->first_gaps[f->siblings[end]] + 1;
        uint64_t compared = gaps * (end - first - 1);
        if (compared > budget) {
            f->m->g->threads_unexamined += end - first;
            continue;
        }
        budget -= compared;
        for (uint32_t i = first; end - first > 1 && i < end; i++)
            HD_TRY(find_waits_of(f, f->siblings[i], f->siblings + first, end - first, err));
    }
    return HD_OK;
}

hd_status graph_cut_threads(graph_maker *m, hd_error *err)
{
    finder f = {.m = m};
    size_t lanes = (size_t)m->g->lane_count + 1;
    if (m->g->lane_count < 2) return HD_OK;
    f.processes = calloc(lanes, sizeof *f.processes);
    f.siblings = calloc(lanes, sizeof *f.siblings);
    f.contained = calloc(lanes, sizeof *f.contained);
    f.contained_times = calloc(lanes, sizeof *f.contained_times);
    f.first_gaps = calloc(lanes, sizeof *f.first_gaps);
    f.names = calloc((size_t)hd_trace_string_count(m->trace) + 1, 1);
    bool fine = f.processes && f.siblings && f.contained && f.contained_times && f.first_gaps && f.names;
    hd_status status = fine ? find_waits(&f, err) : HD_NOMEM(err);
    if (status == HD_OK && f.count) {
        known_cut *cuts = list_cuts(&f);
        fine = cuts && list_edits(&f) && (f.edit_count == 0 || move_all(&f)) && link_all(&f, cuts);
        hd_large_free(cuts);
        if (!fine) status = HD_NOMEM(err);
    }
    free(f.processes);
    free(f.siblings);
    free(f.contained);
    free(f.contained_times);
    free(f.first_gaps);
    hd_large_free(f.gaps);
    free(f.names);
    hd_large_free(f.backward);
    hd_large_free(f.waits);
    hd_large_free(f.edits);
    return status;
}

bool graph_link_threads(graph_maker *m)
{
    for (size_t i = 0; i < m->link_count; i++) {
        const graph_edge *link = &m->links[i];
        if (!graph_add_edge(m, link->to, link->from, (hd_edge_kind)link->kind)) return false;
    }
    return true;
}
