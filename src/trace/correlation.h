/* correlation.h - HD_COL_CORRELATION, from the arguments that tell it
 *
 * Goes in   the names of arguments, once for each shape; blocks whose groups of arguments are complete
 * Comes out which argument is the correlation id, and the column of the block
 *
 * Nobody else knows the names: readers give their ids one of them, and what asks takes the column.
 */
#ifndef HD_TRACE_CORRELATION_H
#define HD_TRACE_CORRELATION_H

#include "base/memory/arena.h"
#include "heddle/trace.h"
#include "trace/strings.h"

/* The index of the key whose values are correlation ids; -1: none. */
int32_t hd_correlation_key(const hd_strings *strings, const hd_arg_key *keys, uint32_t count);
/* Make the column; constant where no row has an id. trace: whose shapes and strings the block has. scratch: room for
 * row_count values, or NULL. false: memory ran out. */
bool hd_correlation_fill(hd_block *block, const hd_trace *trace, hd_arena *arena, int64_t *scratch);

#endif
