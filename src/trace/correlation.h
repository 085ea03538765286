/* correlation.h - fills HD_COL_CORRELATION from arguments
 *
 * In    the names of arguments, once per shape; blocks with complete groups of arguments
 * Out   which argument is the correlation id, and the column of the block
 *
 * Only this file knows the names: readers name their ids so, and users of the id read the column.
 */
#ifndef HD_TRACE_CORRELATION_H
#define HD_TRACE_CORRELATION_H

#include "base/memory/arena.h"
#include "heddle/trace.h"
#include "trace/strings.h"

/* The index of the key whose values are correlation ids; -1: none. */
int32_t hd_correlation_key(const hd_strings *strings, const hd_arg_key *keys, uint32_t count);
/* Make the column; constant if no row has an id. trace: has the shapes and strings of the block. scratch: room for
 * row_count values, or NULL. false: memory ran out. */
bool hd_correlation_fill(hd_block *block, const hd_trace *trace, hd_arena *arena, int64_t *scratch);

#endif
