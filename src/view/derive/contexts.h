/* contexts.h - the ops and the named ranges around each launch, from the rows of its thread
 *
 * A node is one slice of a CPU thread, below the node of the slice around it; ops and scopes have trees of their own.
 */
#ifndef HD_VIEW_DERIVE_CONTEXTS_H
#define HD_VIEW_DERIVE_CONTEXTS_H

#include "view/derive/derive.h"

typedef enum view_context_sort {
    VIEW_CONTEXT_OPS,    /* operators of the framework */
    VIEW_CONTEXT_SCOPES, /* annotations and modules; steps are none */
    VIEW_CONTEXT_SORTS
} view_context_sort;

enum { VIEW_CONTEXT_DEPTH = 256 }; /* deepest that is looked at, of rows and of nodes */

typedef struct view_context_node {
    uint32_t parent; /* HD_NONE: none */
    uint32_t row, name;
    uint32_t depth; /* from 1 */
} view_context_node;

typedef struct view_contexts {
    struct {
        view_context_node *nodes;
        size_t count, capacity;
        uint32_t *of_launch; /* by launch: node, HD_NONE: none */
    } of[VIEW_CONTEXT_SORTS];
} view_contexts;

hd_status view_contexts_find(view_contexts *out, const view_scene *scene, const atomic_bool *stop, hd_error *err);
void view_contexts_deinit(view_contexts *contexts);

#endif
