/* fuzz_graph.c - libFuzzer target: the graph of a trace of any format
 *
 * Properties: every edge leads forward, and no node begins before all is ready that it waits for; a path is as long as
 * its time to the nanosecond, without a gap; slack is at least 0; printing, the report and replays come to an end; a
 * trace is the same as itself.
 */
#include <stdlib.h>

#include "heddle/analysis/graph.h"
#include "heddle/analysis/replay.h"
#include "heddle/report.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void require_edges(const hd_graph *g)
{
    for (uint32_t n = 0; n < g->node_count; n++) {
        int64_t ready;
        require(g->starts[n] <= g->ends[n]);
        HD_GRAPH_EDGES(e, g, n) {
            uint32_t from = hd_graph_edge_from(g, e);
            require(g->starts[from] < g->starts[n] || (g->starts[from] == g->starts[n] && from < n));
        }
        hd_graph_bound(&ready, g, n);
        require(ready <= g->starts[n]);
    }
}

static void require_path(const hd_graph *g, int64_t from, int64_t until)
{
    hd_graph_piece *pieces;
    size_t count;
    uint32_t node = hd_graph_last(g, from, until);
    if (node == HD_NONE || from >= until) return;
    require(hd_graph_path(&pieces, &count, g, node, from, until, NULL) == HD_OK);
    int64_t time = from;
    for (size_t i = 0; i < count; i++) {
        require(pieces[i].start_ns == time && pieces[i].end_ns > time);
        require(hd_path_class_name(hd_graph_piece_class(g, &pieces[i])) != NULL);
        time = pieces[i].end_ns;
    }
    require(time == until);
    hd_graph_pieces_free(pieces);
}

static void require_slack(const hd_graph *g)
{
    hd_graph_slices *slices;
    int64_t *slack;
    require(hd_graph_slack(&slack, g, NULL) == HD_OK && hd_graph_slices_new(&slices, g, NULL) == HD_OK);
    for (uint32_t n = 0; n < g->node_count; n++) {
        require(slack[n] >= 0 && slack[n] <= g->end_ns - g->ends[n]);
        if (g->slices[n] != HD_NONE) require(slices->slack[g->slices[n]] <= slack[n]);
    }
    hd_graph_slack_free(slack);
    hd_graph_slices_free(slices);
}

static hd_status drop(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return HD_OK;
}

static void require_printed(const hd_graph *g, uint8_t seed)
{
    static const hd_graph_format formats[] = {HD_GRAPH_TEXT, HD_GRAPH_JSON, HD_GRAPH_DOT};
    const hd_graph_view view = {
        .size = sizeof view, .has_around = seed & 1, .around = seed / 2 % 8, .depth = seed / 16};
    size_t bytes = 0;
    for (int f = 0; f < 3; f++) {
        hd_status status = hd_graph_print((hd_sink){drop, &bytes}, g, formats[f], &view, NULL);
        require(status == HD_OK || (view.has_around && status == HD_ERR_ARGUMENT)); /* no node is of that row */
    }
}

static void require_report(const hd_trace *trace, const hd_launches *launches)
{
    static const char *const options[] = {"pieces", "slack", "hta", NULL};
    hd_report report;
    if (hd_report_run(&report, "critical-path",
                      &(hd_report_input){.trace = trace, .launches = launches, .options = options}, NULL) == HD_OK)
        hd_report_free(&report);
}

static void require_replays(const hd_trace *trace, uint8_t seed)
{
    static const char *const changes[][5] = {
        {"max-error=1e300", "scale=*=0.5", "launch-cost=1us", "ties=2", NULL},
        {"max-error=1e300", "remove=*a*", "graph", "ties=1", NULL},
        {"max-error=1e300", "overlap=communication,copy", "streams=2", "ties=1", NULL},
        {"max-error=1e300", "schedule=streams=3", "ties=3", "within=10us", NULL},
        {"max-error=1e300", "schedule=earliest", "fuse=*", "ties=1", NULL},
        {"max-error=1e300", "gpu=H100=>B200", "from=10%", NULL},
        {"stream=7", "until=50%", NULL},
        {"mode=dry-run", "overlap=copy", NULL},
    };
    hd_report report;
    hd_trace *replayed = NULL;
    bool is_same, is_dry = seed % 8 == 7;
    if (hd_replay(&report, is_dry ? NULL : &replayed, trace, changes[seed % 8], NULL, NULL) == HD_OK && !is_dry)
        require(hd_trace_row_count(replayed, HD_KIND_SLICE) <= hd_trace_row_count(trace, HD_KIND_SLICE));
    hd_report_free(&report);
    hd_trace_free(replayed);
    if (hd_replay_compare(&report, &is_same, trace, trace, NULL) == HD_OK) require(is_same);
    hd_report_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_trace *trace;
    hd_launches *launches;
    hd_graph *g;
    if (size < 2 || size > 1 << 14) return 0;
    if (read_text(&trace, (const char *)data, size, &read_fast, 0, NULL) != HD_OK) return 0;
    require(hd_launches_new(&launches, trace, NULL) == HD_OK);
    require(hd_graph_new(&g, trace, launches, NULL) == HD_OK);
    require_edges(g);
    require_path(g, g->start_ns, g->end_ns);
    require_path(g, g->start_ns + (g->end_ns - g->start_ns) / 3, g->end_ns);
    require_path(g, g->start_ns, g->start_ns + (g->end_ns - g->start_ns) / 2);
    require_slack(g);
    require_printed(g, data[size - 1]);
    require_report(trace, launches);
    require_replays(trace, data[size - 1]);
    hd_graph_free(g);
    hd_launches_free(launches);
    hd_trace_free(trace);
    return 0;
}
