/* against.c - compares two traces of one program: whether the same activities ran in the same order, with the same
 * waits
 *
 * Queues are matched by rank, device and the order of streams, since stream numbers differ from run to run. In two
 * matching queues, activities from the start are paired as long as names are equal, and likewise from the end; the rest
 * in between differs. For each pair the waits are compared: its call, the previous launch of its thread, the events of
 * its queue, the data it reads, and whether a call waits for it. Times matter only for the order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/replay.h"

typedef struct launched {
    uint32_t from, node; /* of the thread, of the activity */
} launched;

typedef struct side {
    const replay *r;
    uint32_t *queues; /* lanes, in order */
    uint32_t queue_count;
    uint32_t *pairs;    /* by node of a queue minus first_work; HD_NONE: no partner */
    uint32_t *previous; /* likewise: the previous launch of its thread; HD_NONE: none */
    uint8_t *is_awaited;
} side;

enum { SIDES = 2 };
typedef enum aspect { ASPECT_CALL, ASPECT_ORDER, ASPECT_EVENTS, ASPECT_DATA, ASPECT_WAITS, ASPECTS } aspect;
static const char *const aspect_names[ASPECTS] = {"call", "launch order", "events", "data", "waits"};

typedef struct comparison {
    side sides[SIDES];
    uint32_t *nodes[SIDES]; /* by pair */
    uint32_t pair_count;
    uint64_t differ[ASPECTS];
    uint32_t first[ASPECTS]; /* pair */
    bool is_same;
} comparison;

/* ---- queues ---- */

typedef struct place {
    int64_t rank, device, stream;
    uint32_t lane;
} place;

static int compare_places(const void *x, const void *y)
{
    const place *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

static place place_of(const replay *r, uint32_t lane)
{
    uint32_t track = r->graph->lanes[lane].track;
    const hd_track *t = hd_trace_track_at(r->trace, track);
    return (place){r->scope.ranks[track], t->device, t->stream, lane};
}

static bool find_queues(side *s)
{
    const hd_graph *g = s->r->graph;
    place *list = malloc(((size_t)g->lane_count + 1) * sizeof *list);
    s->queues = malloc(((size_t)g->lane_count + 1) * sizeof *s->queues);
    for (uint32_t l = 0; list && s->queues && l < g->lane_count; l++) {
        if (g->lanes[l].is_queue && g->lanes[l].node_count) list[s->queue_count++] = place_of(s->r, l);
    }
    if (list && s->queues) hd_sort(list, s->queue_count, sizeof *list, compare_places);
    for (uint32_t i = 0; i < s->queue_count; i++) s->queues[i] = list[i].lane;
    free(list);
    return s->queues != NULL;
}

static hd_string name_of(const side *s, uint32_t node)
{
    return hd_trace_string(s->r->trace, replay_work(s->r, node)->name);
}

static bool is_same_text(hd_string a, hd_string b)
{
    return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

static bool is_same_work(const comparison *c, uint32_t a, uint32_t b)
{
    const side *s = c->sides;
    return replay_work(s[0].r, a)->role == replay_work(s[1].r, b)->role &&
           is_same_text(name_of(&s[0], a), name_of(&s[1], b));
}

static void add_pair(comparison *c, uint32_t a, uint32_t b)
{
    const uint32_t nodes[SIDES] = {a, b};
    for (int i = 0; i < SIDES; i++) {
        c->sides[i].pairs[nodes[i] - c->sides[i].r->first_work] = c->pair_count;
        c->nodes[i][c->pair_count] = nodes[i];
    }
    c->pair_count++;
}

static const hd_graph_lane *queue_of(const comparison *c, int i, uint32_t queue)
{
    static const hd_graph_lane none = {0};
    const side *s = &c->sides[i];
    return queue < s->queue_count ? &s->r->graph->lanes[s->queues[queue]] : &none;
}

static void cell_work(hd_table_builder *t, const side *s, uint32_t node)
{
    if (node == HD_NONE) {
        hd_table_add_null(t);
        hd_table_add_null(t);
        return;
    }
    report_cell_string(t, s->r->trace, replay_work(s->r, node)->name);
    hd_table_add_int(t, s->r->graph->slices[node]);
}

/* Pairs the activities of two queues, and adds their row. */
static void compare_queue(comparison *c, hd_table_builder *t, uint32_t queue)
{
    const hd_graph_lane *a = queue_of(c, 0, queue), *b = queue_of(c, 1, queue);
    uint32_t head = 0, tail = 0, least = a->node_count < b->node_count ? a->node_count : b->node_count;
    while (head < least && is_same_work(c, a->first_node + head, b->first_node + head)) {
        add_pair(c, a->first_node + head, b->first_node + head);
        head++;
    }
    while (tail < least - head) {
        uint32_t x = a->first_node + a->node_count - 1 - tail, y = b->first_node + b->node_count - 1 - tail;
        if (!is_same_work(c, x, y)) break;
        add_pair(c, x, y);
        tail++;
    }
    const side *known = &c->sides[queue < c->sides[0].queue_count ? 0 : 1];
    place p = place_of(known->r, known->queues[queue]);
    report_cell_int(t, p.rank);
    report_cell_int(t, p.device);
    report_cell_int(t, p.stream);
    hd_table_add_count(t, a->node_count);
    hd_table_add_count(t, b->node_count);
    hd_table_add_count(t, head);
    hd_table_add_count(t, tail);
    cell_work(t, &c->sides[0], head + tail < a->node_count ? a->first_node + head : HD_NONE);
    cell_work(t, &c->sides[1], head + tail < b->node_count ? b->first_node + head : HD_NONE);
    if (head + tail < a->node_count || head + tail < b->node_count) c->is_same = false;
}

static hd_status compare_order(hd_report *out, comparison *c, hd_error *err)
{
    hd_table_builder *t;
    uint32_t most =
        c->sides[0].queue_count > c->sides[1].queue_count ? c->sides[0].queue_count : c->sides[1].queue_count;
    HD_TRY(report_builder(&t, &replay_about, "order", err));
    for (uint32_t i = 0; i < most; i++) compare_queue(c, t, i);
    return report_add(out, t, err);
}

/* ---- what works wait for ---- */

static bool find_launched(side *s)
{
    const replay *r = s->r;
    const hd_graph *g = r->graph;
    size_t count = 0, most = (size_t)(g->node_count - r->first_work) + 1;
    launched *list = hd_large_new(most, sizeof *list, r->large), *spare = hd_large_new(most, sizeof *spare, r->large);
    for (uint32_t n = r->first_work; list && spare && n < g->node_count; n++) {
        s->previous[n - r->first_work] = HD_NONE;
        HD_GRAPH_EDGES(e, g, n) {
            if (hd_graph_edge_kind(g, e) == HD_EDGE_LAUNCH) list[count++] = (launched){hd_graph_edge_from(g, e), n};
        }
    }
    bool fine = list && spare;
    if (fine) HD_SORT_RUNS(list, spare, count, x, y, x->from != y->from ? x->from < y->from : x->node < y->node);
    for (size_t i = 1; fine && i < count; i++) {
        bool is_same_thread = hd_graph_lane_of(g, list[i].from) == hd_graph_lane_of(g, list[i - 1].from);
        if (is_same_thread) s->previous[list[i].node - r->first_work] = list[i - 1].node;
    }
    hd_large_free(list);
    hd_large_free(spare);
    for (uint32_t n = 0; fine && n < r->first_work; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            if (replay_is_work(r, hd_graph_edge_from(g, e)))
                s->is_awaited[hd_graph_edge_from(g, e) - r->first_work] = 1;
        }
    }
    return fine;
}

static uint32_t pair_of(const side *s, uint32_t node)
{
    return node == HD_NONE ? HD_NONE : s->pairs[node - s->r->first_work];
}

static bool is_same_call(const comparison *c, const uint32_t nodes[SIDES])
{
    hd_string names[SIDES] = {{0}};
    bool has[SIDES];
    for (int i = 0; i < SIDES; i++) {
        const replay *r = c->sides[i].r;
        uint32_t launch = replay_work(r, nodes[i])->launch;
        has[i] = launch != HD_NONE;
        if (has[i]) names[i] = hd_trace_string(r->trace, r->scope.launches->launches[launch].name);
    }
    return has[0] == has[1] && is_same_text(names[0], names[1]);
}

/* Whether the edge is from a GPU activity, by an event or as data. */
static bool is_edge_of(const replay *r, size_t edge, aspect of)
{
    hd_edge_kind kind = hd_graph_edge_kind(r->graph, edge);
    return (of == ASPECT_EVENTS ? kind == HD_EDGE_EVENT : kind == HD_EDGE_DATA || kind == HD_EDGE_ADDRESS) &&
           replay_is_work(r, hd_graph_edge_from(r->graph, edge));
}

static bool has_edge_of(const side *s, uint32_t node, aspect of, uint32_t pair)
{
    const hd_graph *g = s->r->graph;
    HD_GRAPH_EDGES(e, g, node) {
        if (is_edge_of(s->r, e, of) && pair_of(s, hd_graph_edge_from(g, e)) == pair) return true;
    }
    return false;
}

static bool has_edges_of(const side *a, uint32_t a_node, const side *b, uint32_t b_node, aspect of)
{
    const hd_graph *g = a->r->graph;
    HD_GRAPH_EDGES(e, g, a_node) {
        if (is_edge_of(a->r, e, of) && !has_edge_of(b, b_node, of, pair_of(a, hd_graph_edge_from(g, e)))) return false;
    }
    return true;
}

static bool is_same_aspect(const comparison *c, aspect of, const uint32_t nodes[SIDES])
{
    const side *a = &c->sides[0], *b = &c->sides[1];
    uint32_t x = nodes[0] - a->r->first_work, y = nodes[1] - b->r->first_work;
    switch (of) {
    case ASPECT_CALL: return is_same_call(c, nodes);
    case ASPECT_ORDER: return pair_of(a, a->previous[x]) == pair_of(b, b->previous[y]);
    case ASPECT_EVENTS:
    case ASPECT_DATA: return has_edges_of(a, nodes[0], b, nodes[1], of) && has_edges_of(b, nodes[1], a, nodes[0], of);
    default: return a->is_awaited[x] == b->is_awaited[y];
    }
}

static hd_status compare_dependencies(hd_report *out, comparison *c, hd_error *err)
{
    hd_table_builder *t;
    for (uint32_t p = 0; p < c->pair_count; p++) {
        const uint32_t nodes[SIDES] = {c->nodes[0][p], c->nodes[1][p]};
        for (int i = 0; i < ASPECTS; i++) {
            if (is_same_aspect(c, (aspect)i, nodes)) continue;
            if (!c->differ[i]++) c->first[i] = p;
        }
    }
    HD_TRY(report_builder(&t, &replay_about, "dependencies", err));
    for (int i = 0; i < ASPECTS; i++) {
        bool differs = c->differ[i] > 0;
        hd_table_add_text(t, aspect_names[i]);
        hd_table_add_count(t, c->pair_count);
        hd_table_add_count(t, c->differ[i]);
        cell_work(t, &c->sides[0], differs ? c->nodes[0][c->first[i]] : HD_NONE);
        report_cell_int(t, differs ? (int64_t)c->sides[1].r->graph->slices[c->nodes[1][c->first[i]]] : HD_NO_NUMBER);
        c->is_same &= !differs;
    }
    return report_add(out, t, err);
}

/* ---- the whole ---- */

static bool side_init(side *s, uint32_t **nodes, const replay *r)
{
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    *s = (side){.r = r};
    s->pairs = hd_large_new(works, sizeof *s->pairs, r->large);
    s->previous = hd_large_new(works, sizeof *s->previous, r->large);
    s->is_awaited = hd_large_zeroed(works, 1, r->large);
    *nodes = hd_large_new(works, sizeof **nodes, r->large);
    for (size_t i = 0; s->pairs && i < works; i++) s->pairs[i] = HD_NONE;
    return s->pairs && s->previous && s->is_awaited && *nodes && find_queues(s) && find_launched(s);
}

static void side_deinit(side *s, uint32_t *nodes)
{
    free(s->queues);
    hd_large_free(s->pairs);
    hd_large_free(s->previous);
    hd_large_free(s->is_awaited);
    hd_large_free(nodes);
}

hd_status replay_compare(hd_report *out, bool *out_same, const replay *a, const replay *b, hd_error *err)
{
    comparison c = {.is_same = true};
    bool fine = side_init(&c.sides[0], &c.nodes[0], a), both = side_init(&c.sides[1], &c.nodes[1], b);
    hd_status status = fine && both ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = compare_order(out, &c, err);
    if (status == HD_OK) status = compare_dependencies(out, &c, err);
    for (int i = 0; i < SIDES; i++) side_deinit(&c.sides[i], c.nodes[i]);
    *out_same = c.is_same;
    return status;
}
