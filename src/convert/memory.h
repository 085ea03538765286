/* memory.h - which memory profile of TensorFlow belongs to an input */
#ifndef HD_CONVERT_MEMORY_H
#define HD_CONVERT_MEMORY_H

#include "heddle/status.h"

/* The trace that a folder stands for: its only *.trace.json, if it holds no OTF2 archive. NULL: the input itself. The
 * caller frees it. FORMAT: there are several. */
hd_status convert_find_trace(char **out, const char *input, hd_error *err);

/* The profile next to NAME.trace.json: NAME.memory_profile.json, or the only one where the trace is the only one too;
 * each of them plain, .gz or .zst. NULL: none. The caller frees it. */
hd_status convert_find_memory(char **out, const char *trace, hd_error *err);

#endif
