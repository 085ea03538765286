/* path.c - the critical path of a replay: back from the node that ends last, by class */
#include "base/error.h"
#include "replay/replay.h"

typedef enum path_class {
    PATH_CPU,
    PATH_GAP,
    PATH_SYNC,
    PATH_LAUNCH,
    PATH_SLOT,
    PATH_QUEUE,
    PATH_EVENT,
    PATH_COMPUTE,
    PATH_COMMUNICATION,
    PATH_COPY,
    PATH_OTHER,
    PATH_RECORDED,
    PATH_UNRECORDED,
    PATH_CLASSES
} path_class;

static const char *const class_names[PATH_CLASSES] = {"cpu",   "gap",      "sync",      "launch",        "launch queue",
                                                      "queue", "event",    "compute",   "communication", "copy",
                                                      "other", "recorded", "unrecorded"};

static path_class class_of_node(const replay *r, uint32_t node)
{
    static const path_class of_work[GPU_CLASSES] = {PATH_COMPUTE, PATH_COMMUNICATION, PATH_COPY};
    switch ((hd_node_kind)r->graph->kinds[node]) {
    case HD_NODE_WORK: return of_work[replay_gpu_work(r, node)->class];
    case HD_NODE_GAP: return PATH_GAP;
    case HD_NODE_SYNC: return PATH_SYNC;
    case HD_NODE_UNRECORDED: return PATH_UNRECORDED;
    default: return PATH_CPU;
    }
}

static path_class class_of_delay(hd_edge_kind kind)
{
    return kind == HD_EDGE_LAUNCH          ? PATH_LAUNCH
           : kind == HD_EDGE_QUEUE         ? PATH_QUEUE
           : kind == HD_EDGE_EVENT         ? PATH_EVENT
           : (unsigned)kind == REPLAY_SLOT ? PATH_SLOT
                                           : PATH_OTHER;
}

/* Sums add up to the span of all nodes. */
static hd_status sum_path(int64_t *sums, const replay *r, const replay_times *t, hd_error *err)
{
    const hd_graph *g = r->graph;
    uint32_t node = 0;
    int64_t first = g->node_count ? t->starts[0] : 0;
    for (uint32_t n = 1; n < g->node_count; n++) {
        if (t->ends[n] >= t->ends[node]) node = n;
        if (t->starts[n] < first) first = t->starts[n];
    }
    int64_t last = g->node_count ? t->ends[node] : 0, time = last;
    while (g->node_count) {
        if (t->starts[node] < time) {
            sums[class_of_node(r, node)] += time - t->starts[node];
            time = t->starts[node];
        }
        uint32_t from = t->bounds[node];
        if (from == HD_NONE) break;
        int64_t waited = t->bound_kinds[node] == REPLAY_SLOT ? t->starts[from] : t->ends[from];
        if (waited < time) {
            sums[class_of_delay((hd_edge_kind)t->bound_kinds[node])] += time - waited;
            time = waited;
        }
        node = from;
    }
    sums[PATH_RECORDED] += time - first;
    int64_t sum = 0;
    for (int c = 0; c < PATH_CLASSES; c++) sum += sums[c];
    return sum == last - first ? HD_OK : gpu_broken("path of the replay", sum, last - first, err);
}

hd_status replay_add_path(hd_report *out, const replay *r, hd_error *err)
{
    int64_t before[PATH_CLASSES] = {0}, after[PATH_CLASSES] = {0};
    hd_table_builder *t;
    HD_TRY(sum_path(before, r, &r->unchanged, err));
    if (r->has_change) HD_TRY(sum_path(after, r, &r->changed, err));
    HD_TRY(report_builder(&t, &replay_about, "path", err));
    for (int c = 0; c < PATH_CLASSES; c++) {
        if (!before[c] && !after[c]) continue;
        hd_table_add_text(t, class_names[c]);
        hd_table_add_int(t, before[c]);
        report_cell_int(t, r->has_change ? after[c] : HD_NO_NUMBER);
    }
    return report_add(out, t, err);
}
