/* column.h - sealing a run of int64 into a column of the narrowest width that holds it */
#ifndef HD_TRACE_COLUMN_H
#define HD_TRACE_COLUMN_H

#include "base/memory/arena.h"
#include "heddle/trace.h"

/* false: memory ran out. count > 0. */
bool hd_column_seal(hd_column *out, hd_arena *arena, const int64_t *values, uint32_t count);

#endif
