/* trace_stacks.h - stackFrames that get more frames; trees that a trace keeps; for src/trace, src/pass and readers
 *
 * In: stackFrames of a trace, or frames one by one. Out: a tree, each stack a node. Begin with stacks.c
 * (heddle/stacks.h), then trace_stacks.c (read) and save.c (written).
 */
#ifndef HD_TRACE_STACKS_TRACE_STACKS_H
#define HD_TRACE_STACKS_TRACE_STACKS_H

#include "base/json/write.h"
#include "heddle/stacks.h"

/* The largest id of the trace's frames that is a number, 0: there is none. */
uint64_t hd_trace_stacks_last_id(const hd_trace_stacks *stacks);
bool hd_trace_stacks_has_id(const hd_trace_stacks *stacks, uint64_t id);

/* The id of each node (out has room for hd_stacks_count of the tree), UINT64_MAX for those whose ids are no numbers. Of
 * several ids the smallest. */
void hd_trace_stacks_ids(uint64_t *out, const hd_trace_stacks *stacks);

/* The node that a value of `sf` names: type and bits as of hd_value. HD_STACK_NONE: none. Any thread. */
uint32_t hd_trace_stacks_node(const hd_trace_stacks *stacks, hd_arg_type type, int64_t bits);

/* As hd_stacks_save, with node n under the key base + n. `beside`: the frames that the builder's stackFrames holds
 * already stay, which must be a JSON object. */
hd_status hd_stacks_save_from(const hd_stacks *stacks, uint64_t base, bool beside, hd_builder *builder, hd_error *err);

/* Of each node a number that its frames have in every tree, whichever nodes they are: 52 bits of their names' checksums
 * from the root on, 0 for the empty stack. The caller frees it. LIMIT: two nodes have one number. */
hd_status hd_stacks_common_keys(uint64_t **out, const hd_stacks *stacks, hd_error *err);
/* As hd_stacks_save, with node n under the key keys[n]. */
hd_status hd_stacks_save_by(const hd_stacks *stacks, const uint64_t *keys, hd_builder *builder, hd_error *err);

/* The frames of a stack from the root, parted by ';' (in a name it becomes ','), behind what `out` has: as far as
 * `room` bytes go, and one frame more. false: no memory. */
bool hd_stacks_put(hd_json_out *out, const hd_stacks *stacks, uint32_t stack, uint64_t room);

/* From so many bytes on the tree's lists lie in files (base/memory/large.h); without this never. Before the first
 * frame. */
void hd_stacks_set_large(hd_stacks *stacks, uint64_t bytes);

/* No more frames will come for a while: the memory that only finding them needs is given back until then. */
void hd_stacks_rest(hd_stacks *stacks);

/* No more frames will come, and no more memory is held than they need. */
void hd_stacks_freeze(hd_stacks *stacks);

/* An empty tree gets all nodes and names of a frozen one, under the same numbers and without a copy: both hold them
 * until they are freed. false: it cannot, since it has names already, or there is no memory. Some names may then be in
 * it. */
bool hd_stacks_stand_upon(hd_stacks *stacks, const hd_stacks *base);

/* The tree that the trace keeps and that its stackFrames are, else NULL. */
const hd_stacks *hd_kept_stacks_tree(const hd_trace *trace);

#endif
