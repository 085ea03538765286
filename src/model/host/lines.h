/* lines.h - which line of the user's code is behind a place on a thread
 *
 * In: a scope, places. Out: by place the Python frame of the user that is innermost around it; where none of the user is
 * around, that of a library (model/roles/python_frames.h). A profiler names a frame by the line at which its function
 * begins.
 */
#ifndef HD_MODEL_HOST_LINES_H
#define HD_MODEL_HOST_LINES_H

#include "model/host/slices.h"

/* out[id] is the string of the frame's name, HD_STRING_NONE: there is none. Places are sorted, ids are below `ids`.
 * Errors: MEMORY, LIMIT. */
hd_status gpu_line_names(uint32_t *out, const gpu_place *places, size_t count, size_t ids, const gpu_scope *scope,
                         hd_error *err);

#endif
