/* members.h - building a graph with its collectives, which report/job/ranks_graph.c finds for hd_graph_new */
#ifndef HD_GRAPH_MEMBERS_H
#define HD_GRAPH_MEMBERS_H

#include "heddle/analysis/graph.h"

/* A collective's kernel, by its row of the slice table. Kernels with equal numbers wait for the last of them. */
typedef struct graph_member {
    uint64_t slice;
    uint32_t collective;
} graph_member;

/* As hd_graph_new. members: by collective. */
hd_status graph_new(hd_graph **out, const hd_trace *trace, const hd_launches *launches, const graph_member *members,
                    size_t member_count, hd_error *err);

#endif
