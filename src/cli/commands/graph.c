/* graph.c - heddle graph: the dependency graph of a trace */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/times.h"
#include "heddle/analysis/graph.h"
#include "heddle/analysis/launches.h"
#include "heddle/names.h"
#include "heddle/pass.h"

struct graph_options {
    const char *output, *from, *until, *steps, *binary;
    int format;
    bool dot, strict;
    int64_t around;
    uint64_t depth;
};

static const struct graph_options defaults = {.around = -1, .depth = 2};

enum { FORMAT_SUMMARY, FORMAT_TEXT, FORMAT_DOT };
static const char *const format_names[] = {"summary", "text", "dot", NULL};

#define FIELD(member) .field = offsetof(struct graph_options, member)

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help = "write .txt, .json, .dot (formats text, --json, dot), .svg: a picture, by Graphviz, or .et: a Chakra "
             "execution trace, for simulators such as ASTRA-sim"},
    {.name = "format",
     .letter = 'f',
     .kind = CLI_CHOICE,
     .value = "FORMAT",
     .choices = format_names,
     FIELD(format),
     .help = "summary: how many nodes and edges; text: a line per node, in order, with the nodes that it waits for; "
             "dot: for "
             "Graphviz"},
    {.name = "dot", .kind = CLI_FLAG, FIELD(dot), .help = "--format dot"},
    {.name = "steps",
     .kind = CLI_TEXT,
     .value = "A:B",
     FIELD(steps),
     .help =
         "only steps A to B of heddle report steps, with the GPU activities launched in them; or one by its number, "
         "or those of one name"},
    OPTION_FROM(FIELD(from)),
    OPTION_UNTIL(FIELD(until)),
    {.name = "around",
     .kind = CLI_INTEGER,
     .value = "ID",
     .min = 0,
     .max = 4294967294.0,
     FIELD(around),
     .help = "only this event and its neighbours: `id` in the table slice of heddle query"},
    {.name = "depth",
     .kind = CLI_COUNT,
     .value = "N",
     .max = 200,
     FIELD(depth),
     .help = "with --around: up to N edges away"},
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    {0},
};

/* ---- what is shown ---- */

/* From the first of these steps to the last. */
static hd_status choose_steps(hd_graph_view *view, const hd_trace *trace, const char *wanted, hd_error *err)
{
    hd_report report;
    hd_status status = hd_report_run(&report, "steps", &(hd_report_input){.trace = trace}, err);
    if (status != HD_OK) return status;
    const hd_table *steps = hd_report_table(&report, "steps");
    enum { STEP = 1, START, DURATION, GPU_END = 6 };
    for (size_t row = 0; steps && row < hd_table_row_count(steps); row++) {
        size_t size = 0;
        const char *name = hd_table_is_null(steps, row, STEP) ? "" : hd_table_get_string(&size, steps, row, STEP);
        if (!hd_step_is_chosen((hd_string){name, size}, wanted)) continue;
        int64_t start = hd_table_get_int(steps, row, START), end = start + hd_table_get_int(steps, row, DURATION);
        if (!hd_table_is_null(steps, row, GPU_END) && hd_table_get_int(steps, row, GPU_END) > end)
            end = hd_table_get_int(steps, row, GPU_END);
        if (!view->has_window || start < view->from_ns) view->from_ns = start;
        if (!view->has_window || end > view->until_ns) view->until_ns = end;
        view->has_window = true;
    }
    hd_report_free(&report);
    if (view->has_window) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no step '%.60s'; heddle report steps lists them",
                        wanted);
}

static int fill_view(hd_graph_view *view, hd_convert_time times[2], cli_run *run)
{
    const struct graph_options *o = run->options;
    *view = (hd_graph_view){.has_around = o->around >= 0, .around = (uint64_t)o->around, .depth = (unsigned)o->depth};
    if (!view->has_around && o->depth != defaults.depth) return cli_usage_error(run, "--depth goes with --around");
    if (o->steps && (o->from || o->until))
        return cli_usage_error(run, "--steps is a window; it takes no --from, --until");
    if (o->output && (run->global.json || o->dot || o->format != FORMAT_SUMMARY))
        return cli_usage_error(run, "-o takes the format from the name; no --json, --dot, --format with it");
    if (run->global.json && (o->dot || o->format != FORMAT_SUMMARY))
        return cli_usage_error(run, "--json is a format of its own");
    bool is_part = o->steps || o->from || o->until || view->has_around;
    if (is_part && !o->output && !run->global.json && !o->dot && o->format == FORMAT_SUMMARY)
        return cli_usage_error(run, "the summary is of the whole graph; choose --format text, --dot, --json or -o");
    int status = cli_parse_time(run, &times[0], "--from", o->from);
    return status == CLI_OK ? cli_parse_time(run, &times[1], "--until", o->until) : status;
}

/* ---- the summary ---- */

static void print_count(cli_run *run, const char *name, uint64_t count)
{
    char text[HD_VALUE_TEXT_BYTES];
    if (count) cli_print(run, "  %14s  %s\n", hd_text_count(text, count), name);
}

static void print_summary(cli_run *run, const char *path, const hd_graph *graph)
{
    char span[HD_VALUE_TEXT_BYTES], name[60];
    uint64_t nodes[HD_NODE_KINDS] = {0}, edges[HD_EDGE_KINDS] = {0};
    for (uint32_t n = 0; n < graph->node_count; n++) nodes[graph->kinds[n]]++;
    for (uint32_t n = 0; n < graph->node_count; n++)
        HD_GRAPH_EDGES(e, graph, n) edges[hd_graph_edge_kind(graph, e)]++;
    report_print_path(run, path);
    cli_print(run, "  %s on %" PRIu32 " threads and queues\n", hd_text_duration(span, graph->end_ns - graph->start_ns),
              graph->lane_count);
    cli_print(run, "\nnodes\n");
    for (int k = 0; k < HD_NODE_KINDS; k++) print_count(run, hd_node_kind_name((hd_node_kind)k), nodes[k]);
    cli_print(run, "\nedges\n");
    for (int k = 0; k < HD_EDGE_KINDS; k++) print_count(run, hd_edge_kind_name((hd_edge_kind)k), edges[k]);
    cli_print(run, "\nnot in it\n");
    print_count(run, "slices of other rows, without a time, or still open", graph->slices_left_out);
    for (int k = 0; k < HD_EDGE_KINDS; k++) {
        snprintf(name, sizeof name, "edges of kind %s that contradict the clock", hd_edge_kind_name((hd_edge_kind)k));
        print_count(run, name, graph->backward[k]);
    }
    print_count(run, "GPU activities without a launch", graph->works_without_launch);
    print_count(run, "launches without GPU activity", graph->launches_without_work);
    print_count(run, "waits of streams for which it is guessed", graph->waits_guessed);
    print_count(run, "waits for unknown activities", graph->waits_without_work);
    print_count(run, "dependencies on missing or duplicate activities", graph->dependencies_left_out);
    print_count(run, "waits for other threads that are suspected", graph->suspect_count);
    print_count(run, "threads too many to look for such waits", graph->threads_unexamined);
}

/* ---- the command ---- */

enum { LAUNCHES_SHARE = 22 }; /* percent of the time until the graph is made, as measured on 100,000 events */

static hd_status print_graph(cli_run *run, const char *path, const hd_trace *trace, hd_graph_view *view)
{
    const struct graph_options *o = run->options;
    hd_launches *launches;
    hd_graph *graph = NULL;
    hd_status status = o->steps ? choose_steps(view, trace, o->steps, &run->err) : HD_OK;
    cli_progress progress;
    cli_progress_init_analysis(&progress, run);
    if (status == HD_OK) status = hd_launches_new(&launches, trace, &run->err);
    if (status != HD_OK) return status;
    cli_progress_update(&progress, LAUNCHES_SHARE, 100);
    status = hd_graph_new(&graph, trace, launches, &run->err);
    cli_progress_deinit(&progress);
    hd_launches_free(launches);
    if (status != HD_OK) return status;
    hd_sink sink = {cli_write, run};
    bool dot = o->dot || o->format == FORMAT_DOT;
    if (o->output)
        status = hd_graph_write(o->output, graph, view, &run->err);
    else if (run->global.json || dot || o->format == FORMAT_TEXT)
        status = hd_graph_print(sink, graph,
                                run->global.json ? HD_GRAPH_JSON
                                : dot            ? HD_GRAPH_DOT
                                                 : HD_GRAPH_TEXT,
                                view, &run->err);
    else
        print_summary(run, path, graph);
    if (o->output && status == HD_OK) report_say_wrote(run, o->output, false);
    hd_graph_free(graph);
    return status;
}

static int run(cli_run *run)
{
    const struct graph_options *o = run->options;
    const char *path = run->operands[0];
    hd_convert_time times[2] = {0};
    hd_graph_view view;
    hd_trace *trace;
    int wrong = fill_view(&view, times, run);
    if (wrong != CLI_OK) return wrong;
    if (report_read(&trace, run, path, (hd_read_options){.strict = o->strict, .binary = o->binary}) != HD_OK)
        return CLI_FAILED;
    hd_status status = hd_crop_window_find(&view.from_ns, &view.until_ns, &view.has_window, trace, times[0], times[1],
                                           path, &run->err);
    if (status == HD_OK) status = print_graph(run, path, trace, &view);
    hd_trace_free(trace);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

const cli_command cmd_graph = {
    .name = "graph",
    .group = CLI_LOOK,
    .summary = "export what each API call and GPU activity waited for",
    .usage = "FILE",
    .offer = "<files>",
    .description =
        "Builds the dependency graph of a trace. A node is a stretch of a thread, within one innermost slice or in a "
        "gap between slices, or a kernel, copy or memset on a GPU queue. An edge names what a node waited for: the "
        "previous node of its thread or queue, the API call that launched it, the GPU activity before an event that "
        "its queue waits for, the GPU activity that an API call waits for, or the last rank to arrive at its "
        "collective. A node begins a delay after the last of these is ready. The node of a call that waits for a GPU "
        "begins when the wait is over, that of a collective when its transfer begins.\n\n"
        "Dependencies that the trace does not contain, or that contradict its clock, are left out and counted in the "
        "summary. In a drawing, consecutive nodes that each wait only for the one before share a box. Blue edges are "
        "launches, purple ones events, red ones waits, orange ones collectives, brown ones data and addresses.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .operands_min = 1,
    .operands_max = 1,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){
            {"heddle graph trace.json", "how many nodes and edges, and what is missing"},
            {"heddle graph --steps 3 -o step.svg trace.json", "a step as a picture, by Graphviz"},
            {"heddle graph -o rank0.et trace.json", "the graph as a Chakra execution trace"},
            {"heddle graph --format text --around 1042 --depth 3 trace.json", "what an event waited for"},
            {0},
        },
};
