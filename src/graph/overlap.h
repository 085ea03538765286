/* overlap.h - activities that begin before the one before them on their queue ends */
#ifndef HD_GRAPH_OVERLAP_H
#define HD_GRAPH_OVERLAP_H

#include "heddle/analysis/graph.h"
#include "model/trust/trust.h"

/* How long a node runs before the previous one of its queue ends, if that may be so where the queue is in order: it
 * ends last, and its own time begins with the end of the previous one. Else 0. */
static inline int64_t graph_overlap(const hd_graph *g, uint32_t node)
{
    if (node < g->first_work || !hd_graph_has_lane_edge(g, node)) return 0;
    int64_t end = g->ends[node - 1], ns = end - g->starts[node];
    return ns > 0 && ns <= GPU_CLOCK_SLACK_NS && g->ends[node] >= end ? ns : 0;
}

#endif
