/* torchmemory.h - PyTorch's memory data: snapshots (torchmemory.c) and timelines (timeline.c)
 *
 * In: a pickle, or JSON. Out: memory events of a builder. Begin with torchmemory.c.
 */
#ifndef HD_FORMAT_TORCHMEMORY_TORCHMEMORY_H
#define HD_FORMAT_TORCHMEMORY_TORCHMEMORY_H

#include "format/json_walk.h"
#include "format/stack_samples.h"

bool torchmemory_is_timeline(const unsigned char *head, size_t size);
hd_status torchmemory_read_timeline(hd_builder *builder, hd_input *input, const hd_read_options *options,
                                    hd_error *err);

#endif
