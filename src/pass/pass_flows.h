/* pass_flows.h - flow points and the slices they are bound to */
#ifndef HD_PASS_PASS_FLOWS_H
#define HD_PASS_PASS_FLOWS_H

#include "heddle/trace.h"

/* The slice of each flow point, by row; UINT32_MAX: bound to none. Binds as Chrome does: to the slice around it that
 * began last, or, a flow's end without bp:"e", to the next slice that begins. The caller frees the list. Errors:
 * MEMORY, LIMIT (2^32 slices). */
hd_status hd_flows_bind(uint32_t **out, const hd_trace *trace, hd_error *err);

#endif
