/* stacks.h - modules, symbols and frames of a capture -> the stacks of a trace
 *
 * Frames are addresses. Once all modules are known, each becomes "libm.so.6+0x1f3a", with the address in the file's own
 * symbols, which `heddle symbolize` converts to a name; the file's path and build-id are in the top-level key
 * `modules`.
 */
#ifndef HD_FORMAT_CAPTURE_STACKS_H
#define HD_FORMAT_CAPTURE_STACKS_H

#include "format/capture/lists.h"

typedef struct capture_stacks capture_stacks;

hd_status capture_stacks_new(capture_stacks **out, hd_builder *builder, hd_error *err);
void capture_stacks_free(capture_stacks *stacks);

/* type: CAPTURE_MODULES, _SYMBOLS, _FRAMES. false: no memory. */
bool capture_stacks_room(capture_stacks *stacks, unsigned type, uint64_t end);
hd_status capture_stacks_read(capture_stacks *stacks, unsigned type, uint64_t id, hd_byte_reader *entry, hd_error *err);

hd_status capture_stacks_settle(capture_stacks *stacks, capture_lists *lists, hd_error *err);
/* After settle. */
uint32_t capture_stacks_node(const capture_stacks *stacks, uint64_t id, bool *out_lost);
hd_status capture_stacks_finish(capture_stacks *stacks, hd_error *err);

#endif
