/* plan.c - the plan of a replay: everything as recorded, with the requested changes of calls and kernels */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/text/decimal.h"
#include "model/pattern/pattern.h"
#include "replay/replay.h"
#include "trace/event.h"
#include "trace/lazy.h"

/* ---- names ---- */

static bool name_nodes(replay *r)
{
    const hd_graph *g = r->graph;
    if (r->names) return true;
    r->names = hd_large_new((size_t)g->node_count + 1, sizeof *r->names, r->large);
    for (uint32_t n = 0; r->names && n < g->node_count; n++) {
        bool is_gap = g->slices[n] == HD_NONE;
        r->names[n] = is_gap ? HD_STRING_NONE : (uint32_t)hd_slice_column(r->trace, g->slices[n], HD_COL_NAME);
    }
    return r->names != NULL;
}

hd_status replay_marks(uint8_t **out, const replay *r, const char *patterns, const char *option, hd_error *err)
{
    filter_list list;
    uint32_t count = hd_trace_string_count(r->trace);
    *out = calloc((size_t)count + 1, 1);
    if (!*out) return HD_NOMEM(err);
    hd_status status = filter_list_init(&list, patterns, option, err);
    for (uint32_t i = 0; status == HD_OK && i < count; i++) {
        hd_string text = hd_trace_string(r->trace, i);
        (*out)[i] = text.data && filter_list_passes(&list, &(filter_text){text.data, text.size}, 1) ? 2 : 1;
    }
    filter_list_deinit(&list);
    return status;
}

void replay_note_idle(replay *r, const char *option, const char *text)
{
    size_t used = strlen(r->idle);
    snprintf(r->idle + used, sizeof r->idle - used, "%s--%s%s%s%s", used ? ", " : "", option, *text ? " '" : "", text,
             *text ? "'" : "");
}

static hd_status none_of(const char *text, const char *option, hd_error *err)
{
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: the graph has none of '%.60s'", option, text);
}

/* ---- as it was ---- */

/* An activity is in the window if its call is. */
static bool is_left_out(const replay *r, uint32_t node, int64_t stream)
{
    int64_t start = r->graph->starts[node];
    uint32_t launch = replay_is_work(r, node) ? replay_work(r, node)->launch : HD_NONE;
    if (launch != HD_NONE) start = gpu_time(r->scope.launches->launches[launch].start_ns);
    if (r->has_window && (start < r->from || start >= r->until)) return true;
    if (stream < 0 || !replay_is_work(r, node)) return false;
    return hd_trace_track_at(r->trace, replay_work(r, node)->track)->stream != stream;
}

/* Splits "*gemm*,4711" into ids of slices, which are marked in `rows`, and patterns, into `patterns`. */
static hd_status part_events(uint8_t *rows, uint64_t row_count, char *patterns, const char *text, hd_error *err)
{
    char *end = patterns;
    for (size_t size; *text; text += size + (text[size] == ',')) {
        int64_t id;
        size = strcspn(text, ",");
        if (!hd_fixed_parse_whole(&id, text, size)) {
            if (end > patterns) *end++ = ',';
            end = mempcpy(end, text, size);
        } else if (id < 0 || (uint64_t)id >= row_count) {
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "events: there is no slice %lld",
                                (long long)id);
        } else {
            rows[id] = 1;
        }
    }
    *end = '\0';
    return HD_OK;
}

/* Keeps all events except the requested ones in place. */
static hd_status pin_others(replay *r, replay_plan *plan, hd_error *err)
{
    const char *text = r->options->events;
    uint64_t row_count = hd_trace_row_count(r->trace, HD_KIND_SLICE);
    uint8_t *marks = NULL, *rows = hd_large_zeroed(row_count + 1, 1, r->large);
    char *patterns = malloc(strlen(text) + 2);
    bool any = false, fine = rows && patterns && name_nodes(r);
    hd_status status = fine ? part_events(rows, row_count, patterns, text, err) : HD_NOMEM(err);
    if (status == HD_OK && *patterns) status = replay_marks(&marks, r, patterns, "events", err);
    for (uint32_t n = 0; status == HD_OK && n < r->graph->node_count; n++) {
        uint32_t row = r->graph->slices[n];
        bool is_one =
            row != HD_NONE && (rows[row] || (marks && r->names[n] != HD_STRING_NONE && marks[r->names[n]] == 2));
        if (!is_one) plan->flags[n] |= PLAN_PINNED;
        any |= is_one;
    }
    free(marks);
    free(patterns);
    hd_large_free(rows);
    return status != HD_OK || any ? status : none_of(text, "events", err);
}

static hd_status parse_stream(int64_t *out, const replay *r, hd_error *err)
{
    const char *text = r->options->stream;
    *out = -1;
    if (!text) return HD_OK;
    if (!hd_fixed_parse_whole(out, text, strlen(text)) || *out < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "stream: '%.40s' is not a number of a stream",
                            text);
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        if (hd_trace_track_at(r->trace, replay_work(r, n)->track)->stream == *out) return HD_OK;
    }
    return none_of(text, "stream", err);
}

hd_status replay_plan_init(replay_plan *plan, replay *r, hd_error *err)
{
    const hd_graph *g = r->graph;
    int64_t stream;
    HD_TRY(parse_stream(&stream, r, err));
    *plan =
        (replay_plan){.durations = hd_large_new((size_t)g->node_count + 1, sizeof *plan->durations, r->large),
                      .flags = hd_large_zeroed((size_t)g->node_count + 1, 1, r->large),
                      .befores = hd_large_new((size_t)(g->node_count - r->first_work) + 1, sizeof(uint32_t), r->large)};
    if (!plan->durations || !plan->flags || !plan->befores) return HD_NOMEM(err);
    for (uint32_t n = 0; n < g->node_count; n++) {
        plan->durations[n] = g->ends[n] - g->starts[n];
        if (is_left_out(r, n, stream)) plan->flags[n] = PLAN_PINNED;
    }
    for (uint32_t l = 0; l < g->lane_count; l++) {
        const hd_graph_lane *lane = &g->lanes[l];
        for (uint32_t i = 0; lane->is_queue && i < lane->node_count; i++)
            plan->befores[lane->first_node + i - r->first_work] = i ? lane->first_node + i - 1 : HD_NONE;
    }
    return r->options->events ? pin_others(r, plan, err) : HD_OK;
}

void replay_plan_deinit(replay_plan *plan)
{
    hd_large_free(plan->durations);
    hd_large_free(plan->flags);
    hd_large_free(plan->befores);
    hd_large_free(plan->slots);
    hd_large_free(plan->alike);
    hd_large_free(plan->added);
    hd_large_free(plan->first_added);
    *plan = (replay_plan){0};
}

static bool is_marked(const replay *r, const uint8_t *marks, uint32_t node)
{
    return r->names[node] != HD_STRING_NONE && marks[r->names[node]] == 2 && !(r->plan.flags[node] & PLAN_PINNED);
}

/* ---- calls ---- */

/* The nodes of a slice of a thread. */
static node_range nodes_of(const replay *r, uint32_t track, uint64_t row, int64_t start, int64_t duration)
{
    const hd_graph *g = r->graph;
    uint32_t lane = track < hd_trace_track_count(r->trace) ? r->lanes[gpu_lane_of(r->trace, track)] : HD_NONE;
    if (lane == HD_NONE) return (node_range){0, 0};
    uint32_t first = hd_graph_node_at(g, &g->lanes[lane], start - 1), end;
    uint32_t behind = g->lanes[lane].first_node + g->lanes[lane].node_count;
    first = first == HD_NONE ? g->lanes[lane].first_node : first + 1;
    while (duration == 0 && first < behind && g->starts[first] == start && g->slices[first] != row) first++;
    for (end = first; end < behind && (g->starts[end] < start + duration || g->slices[end] == row);) end++;
    return (node_range){first, end};
}

node_range replay_nodes_of_launch(const replay *r, const hd_launch *launch)
{
    int64_t duration = launch->duration_ns > 0 ? launch->duration_ns : 0;
    return nodes_of(r, launch->track, launch->row, gpu_time(launch->start_ns), duration);
}

uint32_t replay_launch_node(const replay *r, uint32_t node)
{
    const hd_graph *g = r->graph;
    HD_GRAPH_EDGES(e, g, node) {
        if (hd_graph_edge_kind(g, e) == HD_EDGE_LAUNCH) return hd_graph_edge_from(g, e);
    }
    return HD_NONE;
}

/* waits: their dependencies stay. */
static void drop_nodes(replay *r, node_range range, bool waits)
{
    for (uint32_t n = range.first; n < range.end; n++) {
        if (r->plan.flags[n] & PLAN_PINNED) continue;
        if (!waits || !replay_return_of(r, n)) r->plan.flags[n] |= PLAN_GONE;
        r->plan.durations[n] = 0;
    }
}

void replay_drop_calls(replay *r, unsigned flags)
{
    const hd_launches *l = r->scope.launches;
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        bool all = launch->work_count > 0, any_stays = false;
        for (uint32_t w = 0; all && w < launch->work_count; w++) {
            uint32_t node = r->nodes[l->work_order[launch->first_work + w]];
            all = node != HD_NONE && r->plan.flags[node] & flags;
            any_stays |= all && !(r->plan.flags[node] & PLAN_GONE);
        }
        if (all) drop_nodes(r, replay_nodes_of_launch(r, launch), any_stays);
    }
}

static void set_cost(replay *r, node_range range, int64_t cost)
{
    int64_t sum = 0, given = 0;
    uint32_t last = HD_NONE;
    for (uint32_t n = range.first; n < range.end; n++) {
        if (r->plan.flags[n] & PLAN_PINNED) continue;
        sum += r->plan.durations[n];
        last = n;
    }
    for (uint32_t n = range.first; last != HD_NONE && n <= last; n++) {
        if (r->plan.flags[n] & PLAN_PINNED) continue;
        int64_t share = n == last ? cost - given : (int64_t)((gpu_i128)r->plan.durations[n] * cost / (sum ? sum : 1));
        r->plan.durations[n] = share;
        given += share;
    }
}

static hd_status set_launch_cost(replay *r, hd_error *err)
{
    hd_convert_time cost = r->options->launch_cost;
    if (cost.unit != HD_CONVERT_NS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "launch-cost: is a time, such as 2us");
    if (!r->scope.launches->launch_count) replay_note_idle(r, "launch-cost", "");
    for (size_t i = 0; i < r->scope.launches->launch_count; i++)
        set_cost(r, replay_nodes_of_launch(r, &r->scope.launches->launches[i]), cost.value);
    return HD_OK;
}

/* ---- kernels, operators, calls by name ---- */

/* "PATTERN=0.5" in a list of patterns */
static bool has_factor(const char *patterns)
{
    for (size_t size; *patterns; patterns += size + (patterns[size] == ',')) {
        size = strcspn(patterns, ",");
        const char *equals = memrchr(patterns, '=', size);
        char *end;
        if (equals && (strtod(equals + 1, &end), end > equals + 1 && end == patterns + size)) return true;
    }
    return false;
}

/* "PATTERN=0.5" */
static hd_status scale(replay *r, const char *text, hd_error *err)
{
    uint8_t *marks;
    bool any = false;
    const char *equals = strrchr(text, '=');
    char *end = NULL, patterns[1024];
    double factor = equals ? strtod(equals + 1, &end) : -1;
    if (!equals || equals == text || end == equals + 1 || *end || !(factor >= 0 && factor <= 1000) ||
        (size_t)(equals - text) >= sizeof patterns)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "scale: '%.60s' is not a PATTERN=FACTOR, such as ncclDevKernel*=0.5, with a factor of 0 to "
                            "1000",
                            text);
    snprintf(patterns, sizeof patterns, "%.*s", (int)(equals - text), text);
    if (has_factor(patterns))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "scale: '%.60s' has two factors: give the option for each", text);
    hd_status status = replay_marks(&marks, r, patterns, "scale", err);
    for (uint32_t n = 0; status == HD_OK && n < r->graph->node_count; n++) {
        if (!is_marked(r, marks, n)) continue;
        r->plan.durations[n] = replay_scaled(r->plan.durations[n], factor);
        any = true;
    }
    free(marks);
    if (!any) replay_note_idle(r, "scale", patterns);
    return status;
}

/* A slice of a thread is removed with its nested slices and the activities launched there; an activity is removed with
 * its call. */
static hd_status remove_named(replay *r, hd_error *err)
{
    const hd_graph *g = r->graph;
    uint8_t *marks;
    bool any = false;
    hd_status status = replay_marks(&marks, r, r->options->remove, "remove", err);
    for (uint32_t n = 0; status == HD_OK && n < r->first_work; n++) {
        if (!is_marked(r, marks, n) || r->plan.flags[n] & PLAN_GONE) continue;
        any = true;
        hd_event e = hd_event_at(r->trace, HD_KIND_SLICE, g->slices[n]);
        int64_t duration = e.duration_ns > 0 ? e.duration_ns : 0;
        drop_nodes(r, nodes_of(r, e.track, e.row, gpu_time(e.start_ns), duration), false);
    }
    for (uint32_t n = r->first_work; status == HD_OK && n < g->node_count; n++) {
        bool is_gone = is_marked(r, marks, n);
        any |= is_gone;
        HD_GRAPH_EDGES(e, g, n)
            is_gone |=
                hd_graph_edge_kind(g, e) == HD_EDGE_LAUNCH && r->plan.flags[hd_graph_edge_from(g, e)] & PLAN_GONE;
        if (is_gone) drop_nodes(r, (node_range){n, n + 1}, false);
    }
    free(marks);
    if (status == HD_OK) replay_drop_calls(r, PLAN_GONE);
    if (!any) replay_note_idle(r, "remove", r->options->remove);
    return status;
}

hd_status replay_change(replay *r, hd_error *err)
{
    const replay_options *o = r->options;
    r->has_change = o->scale.count || o->remove || o->fuse || o->overlap || o->schedule || o->gpu || o->graph ||
                    o->launch_cost.unit || o->streams || o->queue_depth;
    if (!r->has_change) return HD_OK;
    if ((o->scale.count || o->remove || o->fuse) && !name_nodes(r)) return HD_NOMEM(err);
    for (size_t i = 0; i < o->scale.count; i++) HD_TRY(scale(r, o->scale.items[i], err));
    if (o->gpu) HD_TRY(replay_change_gpu(r, err));
    if (o->launch_cost.unit) HD_TRY(set_launch_cost(r, err));
    if (o->remove) HD_TRY(remove_named(r, err));
    HD_TRY(replay_change_queues(r, err));
    return replay_change_depth(r, err);
}
