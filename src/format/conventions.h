/* conventions.h - what PyTorch says in arguments and top-level keys, in whatever format a trace is stored
 *
 * Sources   device and stream in the arguments of GPU slices; distributedInfo, baseTimeNanoseconds
 */
#ifndef HD_FORMAT_CONVENTIONS_H
#define HD_FORMAT_CONVENTIONS_H

#include "heddle/builder.h"

/* Tracks of GPU slices become streams, with the numbers in their arguments. */
void hd_conventions_find_streams(hd_builder *builder);
/* facts.rank, world_size, base_ns, where top-level keys say them. */
void hd_conventions_find_facts(hd_builder *builder);

#endif
