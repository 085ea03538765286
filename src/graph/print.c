/* print.c - prints a graph, or the part around an event, as text, JSON or Graphviz */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/options.h"
#include "base/sorted.h"
#include "graph/print.h"
#include "trace/event.h"

enum { NAME_BYTES = 60, FLUSH_BYTES = 1 << 16, NEAR_MAX = 254 };

/* ---- what is printed ---- */

static bool is_in_window(const hd_graph *g, uint32_t node, const hd_graph_view *view)
{
    return !view->has_window || (g->starts[node] < view->until_ns && g->ends[node] >= view->from_ns);
}

static void spread(graph_printer *p, const hd_graph_view *view, unsigned distance)
{
    const hd_graph *g = p->g;
    for (uint32_t n = 0; n < g->node_count; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            uint32_t from = hd_graph_edge_from(g, e);
            if (p->near[n] == distance && !p->near[from] && is_in_window(g, from, view))
                p->near[from] = (uint8_t)(distance + 1);
            if (p->near[from] == distance && !p->near[n] && is_in_window(g, n, view))
                p->near[n] = (uint8_t)(distance + 1);
        }
    }
}

static hd_status choose(graph_printer *p, const hd_graph_view *view, hd_error *err)
{
    bool any = !view->has_around;
    p->near = hd_large_zeroed((size_t)p->g->node_count + 1, sizeof *p->near, UINT64_MAX);
    if (!p->near) return HD_NOMEM(err);
    for (uint32_t n = 0; n < p->g->node_count; n++) {
        bool is_wanted = !view->has_around || (p->g->slices[n] != HD_NONE && p->g->slices[n] == view->around);
        p->near[n] = is_wanted && is_in_window(p->g, n, view);
        any |= p->near[n] != 0;
    }
    if (!any)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "no thread or queue of the graph runs event %" PRIu64 "%s", view->around,
                            view->has_window ? " in that time" : "");
    for (unsigned d = 0; view->has_around && d < view->depth && d < NEAR_MAX; d++) spread(p, view, d + 1);
    return HD_OK;
}

/* ---- pieces of text ---- */

static void flush(graph_printer *p, size_t least)
{
    if (p->text.size < least || !p->text.size) return;
    if (p->status == HD_OK && p->text.failed) p->status = HD_ERR_MEMORY;
    if (p->status == HD_OK) p->status = p->sink.write(p->sink.user, p->text.data, p->text.size);
    p->text.size = 0;
}

static void say(graph_printer *p, const char *format, ...) HD_PRINTF(2, 3);
static void say(graph_printer *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hd_json_put_text(&p->text, text);
    flush(p, FLUSH_BYTES);
}

hd_string graph_name_of(const graph_printer *p, uint32_t node)
{
    static const char gap[] = "(gap)";
    if (p->g->slices[node] == HD_NONE) return (hd_string){gap, sizeof gap - 1};
    return hd_trace_string(p->g->trace, hd_event_at(p->g->trace, HD_KIND_SLICE, p->g->slices[node]).name);
}

static hd_string lane_name(char *room, size_t size, const hd_graph *g, const hd_graph_lane *lane)
{
    const hd_track *track = hd_trace_track_at(g->trace, lane->track);
    hd_string name = hd_trace_string(g->trace, track->name), pid = hd_trace_string(g->trace, track->pid.text),
              tid = hd_trace_string(g->trace, track->tid.text);
    if (name.size) return name;
    int length = snprintf(room, size, "%.*s/%.*s", (int)(pid.size < 60 ? pid.size : 60), pid.data,
                          (int)(tid.size < 60 ? tid.size : 60), tid.data);
    return (hd_string){room, (size_t)length};
}

/* Writes untrusted text safely, in sequence with `say`. */
static void say_safe(graph_printer *p, hd_string text)
{
    flush(p, 0);
    if (p->status == HD_OK) p->status = hd_text_write(p->sink, text.data, text.size);
}

/* ---- text ---- */

uint32_t *graph_order_printed(size_t *out_count, const graph_printer *p)
{
    const hd_graph *g = p->g;
    uint32_t *order = hd_large_new((size_t)g->node_count + 1, sizeof *order, UINT64_MAX);
    uint32_t *spare = hd_large_new((size_t)g->node_count + 1, sizeof *spare, UINT64_MAX);
    *out_count = 0;
    for (uint32_t n = 0; order && n < g->node_count; n++) {
        if (p->near[n]) order[(*out_count)++] = n;
    }
    if (order && spare)
        HD_SORT_RUNS(order, spare, *out_count, x, y,
                     g->starts[*x] != g->starts[*y] ? g->starts[*x] < g->starts[*y] : *x < *y);
    hd_large_free(spare);
    if (spare) return order;
    hd_large_free(order);
    return NULL;
}

static void say_node(graph_printer *p, uint32_t node)
{
    const hd_graph *g = p->g;
    char start[HD_VALUE_TEXT_BYTES], duration[HD_VALUE_TEXT_BYTES], room[160];
    hd_text_duration(start, g->starts[node] - g->start_ns);
    hd_text_duration(duration, g->ends[node] - g->starts[node]);
    say(p, "#%" PRIu32 "  %s  %s  [", node, start, duration);
    say_safe(p, lane_name(room, sizeof room, g, hd_graph_lane_of(g, node)));
    say(p, "] ");
    say_safe(p, graph_name_of(p, node));
    HD_GRAPH_EDGES(e, g, node)
        say(p, "%s #%" PRIu32 " %s", e == hd_graph_first_edge(g, node) ? " <-" : ",", hd_graph_edge_from(g, e),
            hd_edge_kind_name(hd_graph_edge_kind(g, e)));
    say(p, "\n");
}

static hd_status print_text(graph_printer *p, hd_error *err)
{
    size_t count;
    uint32_t *order = graph_order_printed(&count, p);
    if (!order) return HD_NOMEM(err);
    for (size_t i = 0; i < count && p->status == HD_OK; i++) say_node(p, order[i]);
    hd_large_free(order);
    return HD_OK;
}

/* ---- JSON ---- */

static void put_json_node(graph_printer *p, const hd_graph_lane *lane, uint32_t node, const char *before)
{
    const hd_graph *g = p->g;
    say(p, "%s\n  {\"node\": %" PRIu32 ", \"kind\": \"%s\", \"id\": ", before, node,
        hd_node_kind_name((hd_node_kind)g->kinds[node]));
    if (g->slices[node] == HD_NONE)
        say(p, "null, \"name\": null");
    else {
        hd_string name = graph_name_of(p, node);
        say(p, "%" PRIu32 ", \"name\": ", g->slices[node]);
        hd_json_put_string(&p->text, name.data, name.size);
    }
    say(p, ", \"track_id\": %" PRIu32 ", \"start\": %" PRId64 ", \"end\": %" PRId64 "}", lane->track, g->starts[node],
        g->ends[node]);
}

static void print_json(graph_printer *p)
{
    const hd_graph *g = p->g;
    const char *before = "";
    say(p, "{\"schema\": \"heddle.graph/1\",\n \"nodes\": [");
    for (uint32_t l = 0; l < g->lane_count; l++) {
        uint32_t first = g->lanes[l].first_node;
        for (uint32_t n = first; n < first + g->lanes[l].node_count && p->status == HD_OK; n++) {
            if (!p->near[n]) continue;
            put_json_node(p, &g->lanes[l], n, before);
            before = ",";
        }
    }
    before = "";
    say(p, "],\n \"edges\": [");
    for (uint32_t n = 0; n < g->node_count && p->status == HD_OK; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            if (!p->near[n] || !p->near[hd_graph_edge_from(g, e)]) continue;
            say(p, "%s\n  {\"from\": %" PRIu32 ", \"to\": %" PRIu32 ", \"kind\": \"%s\"}", before,
                hd_graph_edge_from(g, e), n, hd_edge_kind_name(hd_graph_edge_kind(g, e)));
            before = ",";
        }
    }
    say(p, "],\n \"left_out\": {\"slices\": %" PRIu64, g->slices_left_out);
    for (int k = 0; k < HD_EDGE_KINDS; k++)
        say(p, ", \"backward_%s\": %" PRIu64, hd_edge_kind_name((hd_edge_kind)k), g->backward[k]);
    say(p,
        ", \"works_without_launch\": %" PRIu64 ", \"launches_without_work\": %" PRIu64 ", \"waits_guessed\": %" PRIu64
        ", \"waits_without_work\": %" PRIu64 ", \"dependencies\": %" PRIu64
        ", \"threads_suspected\": %zu, \"threads_unexamined\": %" PRIu32 "}}\n",
        g->works_without_launch, g->launches_without_work, g->waits_guessed, g->waits_without_work,
        g->dependencies_left_out, g->suspect_count, g->threads_unexamined);
}

/* ---- for Graphviz ---- */

/* A box ends where a node of another lane waits for it, and before a node that waits for another lane. */
static bool make_boxes(graph_printer *p)
{
    const hd_graph *g = p->g;
    uint8_t *ends = hd_large_zeroed((size_t)g->node_count + 1, sizeof *ends, UINT64_MAX);
    p->box = hd_large_new((size_t)g->node_count + 1, sizeof *p->box, UINT64_MAX);
    for (uint32_t n = 0; ends && n < g->node_count; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            if (p->near[n] && p->near[hd_graph_edge_from(g, e)] && hd_graph_edge_from(g, e) + 1 != n)
                ends[hd_graph_edge_from(g, e)] = 1;
        }
    }
    for (uint32_t n = 0; ends && p->box && n < g->node_count; n++) {
        size_t edges = 0;
        HD_GRAPH_EDGES(e, g, n) edges += p->near[hd_graph_edge_from(g, e)] != 0;
        bool follows = n && edges == 1 && p->near[n - 1] && !ends[n - 1] && hd_graph_has_lane_edge(g, n);
        p->box[n] = follows ? p->box[n - 1] : n;
    }
    hd_large_free(ends);
    return ends && p->box;
}

/* It is named after its longest node. Returns the node after it. */
static uint32_t put_box(graph_printer *p, uint32_t first, uint32_t end)
{
    static const char *const colors[HD_NODE_KINDS] = {"white", "lightblue", "khaki", "palegreen", "lightblue", "white"};
    const hd_graph *g = p->g;
    uint32_t n = first, longest = first;
    for (; n < end && p->near[n] && p->box[n] == first; n++) {
        if (g->ends[n] - g->starts[n] > g->ends[longest] - g->starts[longest]) longest = n;
    }
    hd_string name = graph_name_of(p, longest);
    char label[NAME_BYTES + 3 * HD_VALUE_TEXT_BYTES], duration[HD_VALUE_TEXT_BYTES], more[40] = "";
    if (n - first > 1) snprintf(more, sizeof more, "\nand %" PRIu32 " more", n - first - 1);
    int size = snprintf(label, sizeof label, "%.*s%s\n%s%s", (int)(name.size < NAME_BYTES ? name.size : NAME_BYTES),
                        name.data, name.size > NAME_BYTES ? "..." : "",
                        hd_text_duration(duration, g->ends[n - 1] - g->starts[first]), more);
    say(p, "    n%" PRIu32 " [fillcolor=%s, label=", first, colors[g->kinds[longest]]);
    hd_json_put_string(&p->text, label, (size_t)size);
    say(p, "];\n");
    return n;
}

static void put_cluster(graph_printer *p, uint32_t l)
{
    const hd_graph_lane *lane = &p->g->lanes[l];
    uint32_t end = lane->first_node + lane->node_count;
    bool is_open = false;
    for (uint32_t n = lane->first_node; n < end && p->status == HD_OK;) {
        if (!p->near[n]) {
            n++;
            continue;
        }
        if (!is_open) {
            char room[160];
            hd_string name = lane_name(room, sizeof room, p->g, lane);
            say(p, "  subgraph cluster_%" PRIu32 " {\n    label=", l);
            hd_json_put_string(&p->text, name.data, name.size);
            say(p, ";\n");
        }
        is_open = true;
        n = put_box(p, n, end);
    }
    if (is_open) say(p, "  }\n");
}

static hd_status print_dot(graph_printer *p, hd_error *err)
{
    static const char *const looks[] = {
        "color=gray", "", "color=blue", "color=purple", "color=red", "color=orange", "color=brown", "color=brown"};
    const hd_graph *g = p->g;
    if (!make_boxes(p)) return HD_NOMEM(err);
    say(p, "digraph trace {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=sans];\n");
    for (uint32_t l = 0; l < g->lane_count; l++) put_cluster(p, l);
    for (uint32_t n = 0; n < g->node_count && p->status == HD_OK; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            uint32_t from = hd_graph_edge_from(g, e);
            if (!p->near[n] || !p->near[from] || p->box[from] == p->box[n]) continue;
            const char *kind = hd_edge_kind_name(hd_graph_edge_kind(g, e));
            say(p, "  n%" PRIu32 " -> n%" PRIu32 " [tooltip=%s%s%s];\n", p->box[from], p->box[n], kind,
                *looks[hd_graph_edge_kind(g, e)] ? ", " : "", looks[hd_graph_edge_kind(g, e)]);
        }
    }
    say(p, "}\n");
    return HD_OK;
}

/* ---- the whole ---- */

hd_status hd_graph_print(hd_sink sink, const hd_graph *graph, hd_graph_format format, const hd_graph_view *view,
                         hd_error *err)
{
    graph_printer p = {.g = graph, .sink = sink};
    HD_OWN_OPTIONS(hd_graph_view, view, err);
    hd_status status = choose(&p, view, err);
    if (status == HD_OK && format == HD_GRAPH_TEXT) status = print_text(&p, err);
    if (status == HD_OK && format == HD_GRAPH_JSON) print_json(&p);
    if (status == HD_OK && format == HD_GRAPH_DOT) status = print_dot(&p, err);
    if (status == HD_OK && format == HD_GRAPH_EXECUTION_TRACE) status = graph_print_execution_trace(&p, err);
    flush(&p, 0);
    free(p.text.data);
    hd_large_free(p.near);
    hd_large_free(p.box);
    return status == HD_OK ? p.status : status;
}
