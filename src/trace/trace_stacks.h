/* trace_stacks.h - stackFrames that get more frames */
#ifndef HD_TRACE_TRACE_STACKS_H
#define HD_TRACE_TRACE_STACKS_H

#include "heddle/stacks.h"

/* The largest id of the trace's frames that is a number, 0: there is none. */
uint64_t hd_trace_stacks_last_id(const hd_trace_stacks *stacks);

/* The id of each node (out has room for hd_stacks_count of the tree), UINT64_MAX for those whose ids are no numbers. Of
 * several ids the smallest. */
void hd_trace_stacks_ids(uint64_t *out, const hd_trace_stacks *stacks);
/* As hd_stacks_save, with node n under the key base + n. `beside`: the frames that the builder's stackFrames holds
 * already stay, which must be a JSON object. */
hd_status hd_stacks_save_from(const hd_stacks *stacks, uint64_t base, bool beside, hd_builder *builder, hd_error *err);

#endif
