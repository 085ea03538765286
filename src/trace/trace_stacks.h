/* trace_stacks.h - stackFrames that get more frames */
#ifndef HD_TRACE_TRACE_STACKS_H
#define HD_TRACE_TRACE_STACKS_H

#include "heddle/stacks.h"

/* The largest id of the trace's frames that is a number, 0: there is none. */
uint64_t hd_trace_stacks_last_id(const hd_trace_stacks *stacks);

/* As hd_stacks_save, but beside the frames that the builder's stackFrames holds already, which must be a JSON object:
 * node n stands under the key base + n. */
hd_status hd_stacks_save_beside(const hd_stacks *stacks, uint64_t base, hd_builder *builder, hd_error *err);

#endif
