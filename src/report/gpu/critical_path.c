/* critical_path.c - the critical path of a trace, or of each step: see "critical path" in definitions.md
 *
 * The graph (heddle/analysis/graph.h) has the dependencies. The path goes back from the end of the time range; each
 * part of it has a class and the name of the node that runs or waits to run, and the parts are summed up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/analysis/graph.h"
#include "model/progress.h"
#include "report/gpu/gpu.h"
#include "report/gpu/hta_path.h"
#include "trace/event.h"
#include "trace/lazy.h"

typedef struct path_options {
    gpu_options gpu;
    bool pieces, slack, hta;
} path_options;

typedef struct sum {
    uint64_t pieces;
    int64_t total;
} sum;

GPU_KEY
typedef struct name_key {
    uint32_t class, name; /* name: string */
} name_key;
GPU_KEY_END

typedef struct critical_path {
    gpu_scope scope;
    const path_options *options;
    hd_graph *graph;
    hd_table_builder *paths, *classes, *names, *pieces, *slack, *hta, *hta_edges;
    /* of the path at hand */
    uint32_t step;
    int64_t rank, from, until;
    hd_graph_piece *list;
    size_t count;
    sum sums[HD_PATH_CLASSES];
    gpu_groups keys;
    sum *name_sums; /* by group */
    size_t capacity;
} critical_path;

/* ---- what a piece is ---- */

static uint32_t name_of(const critical_path *p, uint32_t node)
{
    uint32_t row = p->graph->slices[node];
    return row == HD_NONE ? HD_STRING_NONE : (uint32_t)hd_slice_column(p->scope.trace, row, HD_COL_NAME);
}

static hd_path_class class_of(const critical_path *p, const hd_graph_piece *piece)
{
    static const hd_path_class of_work[GPU_CLASSES] = {HD_PATH_COMPUTE, HD_PATH_COMMUNICATION, HD_PATH_COPY};
    hd_path_class found = hd_graph_piece_class(p->graph, piece);
    if (found != HD_PATH_COMPUTE) return found;
    return of_work[p->scope.works[gpu_work_at(&p->scope, p->graph->slices[piece->node])].class];
}

/* ---- a path ---- */

static void begin_row(hd_table_builder *b, const critical_path *p)
{
    gpu_cells_rank(b, &p->scope, p->rank, p->step);
}

static void add_piece(critical_path *p, const hd_graph_piece *piece, hd_path_class class, uint32_t name)
{
    uint32_t row = p->graph->slices[piece->node];
    begin_row(p->pieces, p);
    hd_table_add_int(p->pieces, piece->start_ns);
    hd_table_add_int(p->pieces, piece->end_ns - piece->start_ns);
    hd_table_add_text(p->pieces, hd_path_class_name(class));
    report_cell_string(p->pieces, p->scope.trace, name);
    hd_table_add_bool(p->pieces, piece->is_delay);
    report_cell_int(p->pieces, row == HD_NONE ? HD_NO_NUMBER : (int64_t)row);
    hd_table_add_int(p->pieces, piece->node);
}

static bool sum_up(critical_path *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const hd_graph_piece *piece = &p->list[i];
        uint32_t name = name_of(p, piece->node), count = p->keys.count;
        hd_path_class class = class_of(p, piece);
        uint32_t group = gpu_group(&p->keys, &(name_key){class, name});
        if (group == HD_NONE || !hd_grow((void **)&p->name_sums, &p->capacity, group, sizeof *p->name_sums))
            return false;
        if (group == count) p->name_sums[group] = (sum){0};
        sum *const sums[] = {&p->sums[class], &p->name_sums[group]};
        for (int k = 0; k < 2; k++) {
            sums[k]->pieces++;
            sums[k]->total += piece->end_ns - piece->start_ns;
        }
        if (p->pieces) add_piece(p, piece, class, name);
    }
    return true;
}

static void add_sum(hd_table_builder *b, const critical_path *p, const sum *s)
{
    hd_table_add_count(b, s->pieces);
    hd_table_add_int(b, s->total);
    gpu_cell_ratio(b, s->total, p->until - p->from, 100);
}

static hd_status add_rows(critical_path *p, hd_error *err)
{
    int64_t length = 0;
    for (int c = 0; c < HD_PATH_CLASSES; c++) length += p->sums[c].total;
    if (length != p->until - p->from)
        return gpu_broken("length of the critical path, in ns", length, p->until - p->from, err);
    begin_row(p->paths, p);
    hd_table_add_int(p->paths, p->from);
    hd_table_add_int(p->paths, length);
    hd_table_add_count(p->paths, p->count);
    for (int c = 0; c < HD_PATH_CLASSES; c++) {
        if (!p->sums[c].pieces) continue;
        begin_row(p->classes, p);
        hd_table_add_text(p->classes, hd_path_class_name((hd_path_class)c));
        add_sum(p->classes, p, &p->sums[c]);
    }
    for (uint32_t g = 0; g < p->keys.count; g++) {
        const name_key *key = gpu_group_key(&p->keys, g);
        begin_row(p->names, p);
        hd_table_add_text(p->names, hd_path_class_name((hd_path_class)key->class));
        report_cell_string(p->names, p->scope.trace, key->name);
        add_sum(p->names, p, &p->name_sums[g]);
    }
    return HD_OK;
}

/* Of [from, until), ending in `node`. */
static hd_status add_path(critical_path *p, uint32_t node, hd_error *err)
{
    for (int c = 0; c < HD_PATH_CLASSES; c++) p->sums[c] = (sum){0};
    HD_TRY(hd_graph_path(&p->list, &p->count, p->graph, node, p->from, p->until, err));
    hd_status status = sum_up(p) ? add_rows(p, err) : HD_NOMEM(err);
    hd_graph_pieces_free(p->list);
    gpu_groups_deinit(&p->keys);
    p->keys = (gpu_groups){.key_size = sizeof(name_key)};
    return status;
}

/* ---- as HTA counts ---- */

static void add_hta_row(critical_path *p, const char *kind, const hta_path *all, const hta_sum *of)
{
    begin_row(p->hta, p);
    if (kind)
        hd_table_add_text(p->hta, kind);
    else
        hd_table_add_null(p->hta);
    gpu_cell_count(p->hta, all->nodes, !kind);
    hd_table_add_count(p->hta, of->edges);
    hd_table_add_int(p->hta, of->weight);
    gpu_cell_count(p->hta, all->path_nodes, !kind);
    gpu_cell_count(p->hta, all->path_events, !kind);
    hd_table_add_count(p->hta, of->path_edges);
    hd_table_add_int(p->hta, of->path_weight);
}

static void add_hta_edge(critical_path *p, const hta_edge *edge)
{
    begin_row(p->hta_edges, p);
    hd_table_add_text(p->hta_edges, hta_kind_names[edge->kind]);
    hd_table_add_int(p->hta_edges, (int64_t)(edge->from / 2));
    hd_table_add_bool(p->hta_edges, edge->from % 2);
    hd_table_add_int(p->hta_edges, (int64_t)(edge->to / 2));
    hd_table_add_bool(p->hta_edges, edge->to % 2);
    hd_table_add_int(p->hta_edges, edge->weight);
    hd_table_add_bool(p->hta_edges, edge->is_on_path);
}

/* Of the window of the path at hand. */
static hd_status add_hta(critical_path *p, hd_error *err)
{
    hta_path found;
    hta_sum all = {0};
    hd_status status = hta_path_find(&found, &p->scope, p->from, p->until, err);
    for (size_t e = 0; status == HD_OK && e < found.edge_count; e++) add_hta_edge(p, &found.edges[e]);
    hta_path_deinit(&found);
    if (status != HD_OK) return status;
    for (int k = 0; k < HTA_KINDS; k++) {
        const hta_sum *s = &found.kinds[k];
        all.edges += s->edges;
        all.weight = gpu_sum(all.weight, s->weight);
        all.path_edges += s->path_edges;
        all.path_weight = gpu_sum(all.path_weight, s->path_weight);
        if (s->edges) add_hta_row(p, hta_kind_names[k], &found, s);
    }
    add_hta_row(p, NULL, &found, &all);
    return HD_OK;
}

/* ---- which paths ---- */

/* The node of a step's thread at the end of the step; if a call waits then, the activity that it waits for. HD_NONE:
 * the graph has no such thread. */
static uint32_t node_of_step(const critical_path *p, const gpu_step *step)
{
    const hd_graph *g = p->graph;
    for (uint32_t l = 0; l < g->lane_count && !g->lanes[l].is_queue; l++) {
        if (g->lanes[l].track != step->lane) continue;
        uint32_t node = hd_graph_node_at(g, &g->lanes[l], step->end - 1);
        if (node == HD_NONE || g->ends[node] >= step->end) return node;
        if (node + 1 == g->lanes[l].first_node + g->lanes[l].node_count) return HD_NONE;
        int64_t ready;
        size_t edge = hd_graph_bound(&ready, g, node + 1);
        return edge != SIZE_MAX && g->starts[hd_graph_edge_from(g, edge)] < step->end ? hd_graph_edge_from(g, edge)
                                                                                      : HD_NONE;
    }
    return HD_NONE;
}

static hd_status add_steps(critical_path *p, hd_error *err)
{
    const gpu_scope *s = &p->scope;
    for (uint32_t i = 0; i < s->step_count; i++) {
        const gpu_step *step = &s->steps[i];
        if (!gpu_is_listed(s, step->start)) continue;
        uint32_t node = node_of_step(p, step);
        p->step = i;
        p->rank = step->rank;
        p->from = step->start;
        p->until = step->end;
        if (node == HD_NONE) node = hd_graph_last(p->graph, step->start, step->end);
        if (node != HD_NONE) HD_TRY(add_path(p, node, err));
        if (p->hta) HD_TRY(add_hta(p, err));
    }
    return HD_OK;
}

static hd_status add_whole(critical_path *p, hd_error *err)
{
    const gpu_scope *s = &p->scope;
    p->step = HD_NONE;
    p->rank = HD_NO_NUMBER;
    p->from = s->has_from ? s->from : p->graph->start_ns;
    p->until = s->has_until ? s->until : INT64_MAX;
    uint32_t node = hd_graph_last(p->graph, p->from, p->until);
    if (node == HD_NONE) return HD_OK;
    if (p->graph->ends[node] < p->until) p->until = p->graph->ends[node];
    HD_TRY(add_path(p, node, err));
    return p->hta ? add_hta(p, err) : HD_OK;
}

/* ---- slack ---- */

static void add_event(const critical_path *p, uint32_t node, int64_t slack)
{
    const hd_graph *g = p->graph;
    int64_t ready;
    size_t edge = hd_graph_bound(&ready, g, node);
    uint32_t from = edge == SIZE_MAX ? HD_NONE : g->slices[hd_graph_edge_from(g, edge)], row = g->slices[node];
    int64_t duration = hd_slice_column(p->scope.trace, row, HD_COL_DURATION);
    hd_table_add_int(p->slack, row);
    report_cell_string(p->slack, p->scope.trace, name_of(p, node));
    hd_table_add_int(p->slack, hd_slice_column(p->scope.trace, row, HD_COL_START));
    hd_table_add_int(p->slack, duration > 0 ? duration : 0);
    hd_table_add_int(p->slack, slack);
    if (edge == SIZE_MAX)
        hd_table_add_null(p->slack);
    else
        hd_table_add_text(p->slack, hd_edge_kind_name(hd_graph_edge_kind(g, edge)));
    report_cell_int(p->slack, from == HD_NONE ? HD_NO_NUMBER : (int64_t)from);
}

/* A row per event with nodes: the least slack of them, and what the first of them waited for. */
static hd_status add_slack(critical_path *p, hd_error *err)
{
    const hd_graph *g = p->graph;
    hd_graph_slices *slices;
    HD_TRY(hd_graph_slices_new(&slices, g, err));
    for (uint64_t r = 0; r < hd_trace_row_count(p->scope.trace, HD_KIND_SLICE); r++) {
        uint32_t node = slices->first_nodes[r];
        if (node != HD_NONE && gpu_is_listed(&p->scope, g->starts[node])) add_event(p, node, slices->slack[r]);
    }
    hd_graph_slices_free(slices);
    return HD_OK;
}

/* ---- the report ---- */

static hd_status add_notes(hd_report *out, const critical_path *p, hd_error *err)
{
    char backward[240], guessed[240], suspects[120], unexamined[120], waits[120], data[120];
    const hd_graph *g = p->graph;
    const char *more[7] = {NULL};
    size_t count = 0;
    if (gpu_note_guessed(guessed, sizeof guessed, g)) more[count++] = guessed;
    if (gpu_note_suspects(suspects, sizeof suspects, g)) more[count++] = suspects;
    if (gpu_note_unexamined(unexamined, sizeof unexamined, g)) more[count++] = unexamined;
    snprintf(waits, sizeof waits, "the target of %" PRIu64 " waits is unknown", g->waits_without_work);
    if (gpu_note_backward(backward, sizeof backward, g)) more[count++] = backward;
    if (g->waits_without_work) more[count++] = waits;
    snprintf(data, sizeof data, "%" PRIu64 " dependencies on missing or duplicate activities are left out",
             g->dependencies_left_out);
    if (g->dependencies_left_out) more[count++] = data;
    return gpu_add_notes(out, &report_critical_path_about, &p->scope, more, err);
}

static hd_status add_tables(hd_report *out, critical_path *p, const hd_report_input *input, hd_error *err)
{
    const hd_report_about *about = &report_critical_path_about;
    HD_TRY(hd_graph_new(&p->graph, p->scope.trace, p->scope.launches, err));
    hd_say_percent(input->progress, input->progress_user, GPU_GRAPH_DONE);
    HD_TRY(report_builder(&p->paths, about, "paths", err));
    HD_TRY(report_builder(&p->classes, about, "classes", err));
    HD_TRY(report_builder(&p->names, about, "names", err));
    if (p->options->pieces) HD_TRY(report_builder(&p->pieces, about, "pieces", err));
    if (p->options->slack) HD_TRY(report_builder(&p->slack, about, "slack", err));
    if (p->options->hta) HD_TRY(report_builder(&p->hta, about, "hta", err));
    if (p->options->hta) HD_TRY(report_builder(&p->hta_edges, about, "hta_edges", err));
    HD_TRY(p->scope.by & GPU_BY_STEP ? add_steps(p, err) : add_whole(p, err));
    if (p->slack) HD_TRY(add_slack(p, err));
    struct {
        hd_table_builder **builder;
        const char *largest;
    } tables[] = {{&p->paths, ""},   {&p->classes, "total"}, {&p->names, "total"}, {&p->pieces, NULL},
                  {&p->slack, NULL}, {&p->hta, NULL},        {&p->hta_edges, NULL}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        hd_table_builder *table = *tables[i].builder;
        *tables[i].builder = NULL;
        if (table) HD_TRY(gpu_add(out, table, tables[i].largest, err));
    }
    return add_notes(out, p, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    const path_options *o = options;
    critical_path p = {.options = options, .keys = {.key_size = sizeof(name_key)}};
    hd_status status = gpu_scope_init(&p.scope, input, &o->gpu, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &p, input, err);
    if (status != HD_OK) hd_report_free(out);
    hd_graph_free(p.graph);
    hd_table_builder *const tables[] = {p.paths, p.classes, p.names, p.pieces, p.slack, p.hta, p.hta_edges};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) hd_table_builder_free(tables[i]);
    free(p.name_sums);
    gpu_groups_deinit(&p.keys);
    gpu_scope_deinit(&p.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column path_columns[] = {
    GPU_COLUMNS_RANK,
    {"start", HD_VALUE_TIME, "when it begins"},
    {"length", HD_VALUE_DURATION, "of the path, which is that of its window, exactly"},
    {"pieces", HD_VALUE_COUNT, "of which it is made"},
    {0},
};

#define CLASS_COLUMN                                                                                                   \
    {                                                                                                                  \
        "class", HD_VALUE_STRING,                                                                                      \
            "what runs: cpu, data loading, gap (of a thread), compute, communication, copy, sync (a call that waits, " \
            "before and after), unrecorded (between windows of the capture); or what is waited for: launch, queue, "   \
            "sync (of events, of data), unknown"                                                                       \
    }
#define SUM_COLUMNS                                                                                                    \
    {"pieces", HD_VALUE_COUNT, "of the path"}, {"total", HD_VALUE_DURATION, "time on the path"},                       \
    {                                                                                                                  \
        "share", HD_VALUE_DECIMAL, "percent of the path"                                                               \
    }

static const hd_report_column class_columns[] = {GPU_COLUMNS_RANK, CLASS_COLUMN, SUM_COLUMNS, {0}};

static const hd_report_column name_columns[] = {
    GPU_COLUMNS_RANK, CLASS_COLUMN, {"name", HD_VALUE_STRING, "of what runs, or waits to begin; null: a gap"},
    SUM_COLUMNS,      {0},
};

static const hd_report_column piece_columns[] = {
    GPU_COLUMNS_RANK,
    {"start", HD_VALUE_TIME, "of the piece"},
    {"duration", HD_VALUE_DURATION, "of the piece"},
    CLASS_COLUMN,
    {"name", HD_VALUE_STRING, "of what runs, or waits to begin; null: a gap"},
    {"waits", HD_VALUE_BOOL, "it waits to begin"},
    {"id", HD_VALUE_INT, GPU_ID_OF "this event; null: a gap"},
    {"node", HD_VALUE_INT, "its number in heddle graph"},
    {0},
};

static const hd_report_column slack_columns[] = {
    {"id", HD_VALUE_INT, GPU_ID_OF "the event"},
    {"name", HD_VALUE_STRING, "its name"},
    {"start", HD_VALUE_TIME, "its start"},
    {"duration", HD_VALUE_DURATION, "its duration"},
    {"slack", HD_VALUE_DURATION, "how much later all of it could be without a later end of the trace"},
    {"bound_by", HD_VALUE_STRING,
     "what it waited for last: thread, queue, launch, event, sync, collective, data, address; null: nothing"},
    {"bound_to", HD_VALUE_INT, GPU_ID_OF "what it waited for last; null: nothing, or a gap"},
    {0},
};

static const hd_report_column hta_columns[] = {
    GPU_COLUMNS_RANK,
    {"kind", HD_VALUE_STRING, "of edge, in HTA's words; null: all"},
    {"nodes", HD_VALUE_COUNT, "two for each event; null in rows of one kind of edge"},
    {"edges", HD_VALUE_COUNT, "edges of the graph"},
    {"weight", HD_VALUE_DURATION, "sum of the weights of these edges"},
    {"path_nodes", HD_VALUE_COUNT, "nodes of the longest path; null in rows of one kind of edge"},
    {"path_events", HD_VALUE_COUNT, "events of the longest path; null in rows of one kind of edge"},
    {"path_edges", HD_VALUE_COUNT, "edges of the longest path"},
    {"path_weight", HD_VALUE_DURATION, "sum of the weights of these edges"},
    {0},
};

static const hd_report_column hta_edge_columns[] = {
    GPU_COLUMNS_RANK,
    {"kind", HD_VALUE_STRING, "of edge, in HTA's words"},
    {"from", HD_VALUE_INT, GPU_ID_OF "the event that it comes from"},
    {"from_end", HD_VALUE_BOOL, "from its end, not its begin"},
    {"to", HD_VALUE_INT, GPU_ID_OF "the event that it leads to"},
    {"to_end", HD_VALUE_BOOL, "to its end, not its begin"},
    {"weight", HD_VALUE_DURATION, "of the edge"},
    {"on_path", HD_VALUE_BOOL, "it is on the longest path"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"paths", "a row per path: of all, or with --by step of each step", path_columns, HD_CHART_NONE, NULL, NULL},
    {"classes", "a path by class, most time first", class_columns, HD_CHART_BARS, "step,class", "total"},
    {"names", "a path by class and name, most time first", name_columns, HD_CHART_BARS, "class,name", "total"},
    {"pieces", "with --pieces: a path from its start to its end", piece_columns, HD_CHART_NONE, NULL, NULL},
    {"slack", "with --slack: a row per event of a thread or queue", slack_columns, HD_CHART_NONE, NULL, NULL},
    {"hta", "with --hta: the graph and the path of HTA's critical path analysis, by kind of edge", hta_columns,
     HD_CHART_NONE, NULL, NULL},
    {"hta_edges", "with --hta: all edges of that graph", hta_edge_columns, HD_CHART_NONE, NULL, NULL},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    {"pieces", HD_OPTION_FLAG, NULL, "make the table pieces", offsetof(path_options, pieces)},
    {"slack", HD_OPTION_FLAG, NULL, "make the table slack", offsetof(path_options, slack)},
    {"hta", HD_OPTION_FLAG, NULL, "add the tables hta and hta_edges, for the same times", offsetof(path_options, hta)},
    {"by", HD_OPTION_PATTERNS, NULL, "a path for each of these: step", offsetof(path_options, gpu.by), "step"},
    {"step", HD_OPTION_PATTERNS, NULL,
     "annotations of these names are the steps, not ProfilerStep#N; auto: guess them from what repeats",
     offsetof(path_options, gpu.step)},
    {"from", HD_OPTION_TIME, NULL, "begin at this time after the first event: 1.5s, 250ms, 10us, 4ns, or 10%",
     offsetof(path_options, gpu.from)},
    {"until", HD_OPTION_TIME, NULL, "end there", offsetof(path_options, gpu.until)},
    GPU_OPTION_STEPS(path_options, gpu.steps),
    {0},
};

const hd_report_about report_critical_path_about = {
    .name = "critical-path",
    .title = "the chain of events that determines the time of a trace or step",
    .text = "The path is followed back from the event that ends last, or from the end of a step on its thread, to the "
            "start: from each event to the one that it waited for last (the activity or call before it, its launch, "
            "the activity that a call waits for). Its parts follow each other without a gap: to shorten the path, "
            "shorten one of them.",
    .options = options,
    .options_size = sizeof(path_options),
    .tables = tables,
    .run = run,
};
