/* conventions.h - what PyTorch says in arguments and top-level keys, in whatever format a trace is stored
 *
 * Sources   device and stream in the arguments of GPU slices; distributedInfo, baseTimeNanoseconds
 */
#ifndef HD_FORMAT_CONVENTIONS_H
#define HD_FORMAT_CONVENTIONS_H

#include "heddle/builder.h"

/* Errors of both: MEMORY. Tracks of GPU slices become streams, with the numbers in their arguments. */
hd_status hd_conventions_find_streams(hd_builder *builder, hd_error *err);
/* facts.rank, world_size, base_ns, where top-level keys say them. */
hd_status hd_conventions_find_facts(hd_builder *builder, hd_error *err);

#endif
