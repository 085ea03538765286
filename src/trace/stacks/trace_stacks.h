/* trace_stacks.h - adding frames to stackFrames; trees that a trace keeps; for src/trace, src/pass and readers
 *
 * In: stackFrames of a trace, or frames one by one. Out: a tree, each stack a node. Begin with stacks.c
 * (heddle/stacks.h), then trace_stacks.c (reads) and save.c (writes).
 */
#ifndef HD_TRACE_STACKS_TRACE_STACKS_H
#define HD_TRACE_STACKS_TRACE_STACKS_H

#include "base/json/write.h"
#include "heddle/stacks.h"

/* The largest id of the trace's frames that is a number, 0: there is none. */
uint64_t hd_trace_stacks_last_id(const hd_trace_stacks *stacks);
bool hd_trace_stacks_has_id(const hd_trace_stacks *stacks, uint64_t id);

/* The id of each node (out has room for hd_stacks_count of the tree), UINT64_MAX for nodes whose ids are not numbers.
 * Of several ids the smallest. */
void hd_trace_stacks_ids(uint64_t *out, const hd_trace_stacks *stacks);

/* The node that a value of `sf` names: type and bits as of hd_value. HD_STACK_NONE: none. Any thread. */
uint32_t hd_trace_stacks_node(const hd_trace_stacks *stacks, hd_arg_type type, int64_t bits);

/* As hd_stacks_save, with node n under the key base + n. `beside`: keep the frames already in the builder's
 * stackFrames, which must be a JSON object. */
hd_status hd_stacks_save_from(const hd_stacks *stacks, uint64_t base, bool beside, hd_builder *builder, hd_error *err);

/* For each node a number that its frames have in every tree, whatever the node: 52 bits of their names' checksums from
 * the root on, 0 for the empty stack. The caller frees it. LIMIT: two nodes have the same number. */
hd_status hd_stacks_common_keys(uint64_t **out, const hd_stacks *stacks, hd_error *err);
/* As hd_stacks_save, with node n under the key keys[n]. */
hd_status hd_stacks_save_by(const hd_stacks *stacks, const uint64_t *keys, hd_builder *builder, hd_error *err);

/* Appends the frames of a stack to `out`, from the root, separated by ';' (in a name it becomes ','): up to `room`
 * bytes and one more frame. false: no memory. */
bool hd_stacks_put(hd_json_out *out, const hd_stacks *stacks, uint32_t stack, uint64_t room);

/* From this many bytes on the tree's lists are in files (base/memory/large.h); without this call never. Before the
 * first frame. */
void hd_stacks_set_large(hd_stacks *stacks, uint64_t bytes);

/* No frames are added for a while: frees the memory needed only for lookup until then. */
void hd_stacks_rest(hd_stacks *stacks);

/* No more frames are added: shrinks memory to what the frames need. */
void hd_stacks_freeze(hd_stacks *stacks);

/* Gives an empty tree all nodes and names of a frozen one, under the same numbers and without a copy: both hold them
 * until they are freed. false: the tree has names already, or there is no memory. Some names may then have been
 * added. */
bool hd_stacks_stand_upon(hd_stacks *stacks, const hd_stacks *base);

/* The tree that the trace keeps as its stackFrames, else NULL. */
const hd_stacks *hd_kept_stacks_tree(const hd_trace *trace);

#endif
