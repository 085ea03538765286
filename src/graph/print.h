/* print.h - the part of a graph that is printed, shared by print.c (text, JSON, Graphviz) and execution_trace.c */
#ifndef HD_GRAPH_PRINT_H
#define HD_GRAPH_PRINT_H

#include "base/json/write.h"
#include "heddle/analysis/graph.h"

typedef struct graph_printer {
    const hd_graph *g;
    hd_sink sink;
    hd_status status;
    hd_json_out text;
    uint8_t *near; /* by node: distance in edges from the selected nodes, plus 1; 0: not printed */
    uint32_t *box; /* by node: the first node of its box */
} graph_printer;

/* The printed nodes by start, then by number, so that a node comes after those that it waits for. Free with
 * hd_large_free; NULL: no memory. */
uint32_t *graph_order_printed(size_t *out_count, const graph_printer *printer);
hd_string graph_name_of(const graph_printer *printer, uint32_t node);
/* A Chakra execution trace (.et). Errors: MEMORY; the status of the sink is in the printer. */
hd_status graph_print_execution_trace(graph_printer *printer, hd_error *err);

#endif
