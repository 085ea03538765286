/* bounds.h - what each slice waited for last, and its slack: the note VIEW_NOTE_BOUNDS of a scene */
#ifndef HD_VIEW_DERIVE_BOUNDS_H
#define HD_VIEW_DERIVE_BOUNDS_H

#include "heddle/analysis/graph.h"
#include "view/scene/scene.h"

/* By row of the slice table. */
typedef struct view_bounds {
    hd_graph_slices *slices; /* here first_nodes are slices: what the slice waited for last; HD_NONE: nothing, or a gap
                                */
    uint8_t *edges;          /* hd_edge_kind; HD_EDGE_KINDS: it waited for nothing; VIEW_NO_BOUND: not in the graph */
} view_bounds;

enum { VIEW_NO_BOUND = UINT8_MAX };

#endif
