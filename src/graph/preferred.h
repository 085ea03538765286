/* preferred.h - which of two nodes of equal times a path goes by */
#ifndef HD_GRAPH_PREFERRED_H
#define HD_GRAPH_PREFERRED_H

#include "heddle/analysis/graph.h"

/* Whether the path goes by b rather than a, where both are ready, or end the whole, at one time. An activity comes
 * before a thread's node, then the one that began later, then the lesser name: the order of nodes is that of the
 * file, and would make another path of the same trace in another format. */
bool graph_is_preferred(const hd_graph *graph, uint32_t b, uint32_t a);

#endif
