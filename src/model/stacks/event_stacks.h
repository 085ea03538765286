/* event_stacks.h - the recorded stack of an event, however its profiler wrote it
 *
 * In: a trace. Out: one tree of frames, and the stack of each event as a node of it. The first of these that an event
 * has: its `sf` (heddle/stacks.h); its `stack`, an array of texts; its argument `source_stack` (XLA: a line for each
 * frame, from the root); its argument `Call stack` (Kineto: frames separated by ';', from the leaf).
 */
#ifndef HD_MODEL_STACKS_EVENT_STACKS_H
#define HD_MODEL_STACKS_EVENT_STACKS_H

#include "heddle/stacks.h"

typedef struct hd_event_stacks hd_event_stacks;

/* A trace whose stackFrames are damaged has none of these. The trace must outlive it. Errors: MEMORY. */
hd_status hd_event_stacks_new(hd_event_stacks **out, const hd_trace *trace, hd_error *err);
void hd_event_stacks_free(hd_event_stacks *stacks); /* takes NULL */
const hd_stacks *hd_event_stacks_tree(const hd_event_stacks *stacks);
/* HD_STACK_NONE: it has none. `out_from`, which may be NULL: the name of the member or argument, static. Any thread. */
uint32_t hd_event_stacks_of(const char **out_from, const hd_event_stacks *stacks, const hd_event *event);
/* The same without `sf`, and whether any event has such a stack. */
uint32_t hd_event_stacks_of_text(const char **out_from, const hd_event_stacks *stacks, const hd_event *event);
bool hd_event_stacks_have_texts(const hd_event_stacks *stacks);

/* By node, the node whose frame is the user's line: of the highest level (model/roles/frames.h), the innermost;
 * HD_STACK_NONE: no frame is in a file of Python. NULL: no memory. The caller frees it. `skip`: folders whose code is
 * not the user's (hd_frame_level_beside), "": none. */
uint32_t *hd_stack_lines(const hd_stacks *tree, const char *skip);

#endif
