/* lines.h - which line of the user's code a place on a thread, or a GPU activity, comes from
 *
 * In: a scope, places. Out: by place the Python frame of the user that is innermost around it; where none of the user
 * is around, that of a library (model/roles/frames.h). Frames are slices of Python functions, and those of the recorded
 * stacks of slices (model/stacks/event_stacks.h). A profiler may name a frame by the line at which its function begins.
 */
#ifndef HD_MODEL_HOST_LINES_H
#define HD_MODEL_HOST_LINES_H

#include "model/host/slices.h"
#include "model/stacks/event_stacks.h"
#include "model/stats/stats.h"

typedef struct gpu_lines {
    const hd_trace *trace;
    gpu_texts *texts;
    const char *skip;
    uint8_t *levels; /* by string: hd_frame_level; NULL: none is a line */
    hd_event_stacks *stacks;
    uint32_t *line_of; /* by node of the stacks: the node of its line; NULL: none has one */
} gpu_lines;

/* Code in the folders `skip` is not the user's (hd_frame_level_beside); "": none. All three must outlive it. Deinit in
 * any case. Errors: MEMORY. */
hd_status gpu_lines_init(gpu_lines *out, gpu_texts *texts, const hd_trace *trace, const char *skip, hd_error *err);
void gpu_lines_deinit(gpu_lines *lines);
/* false: the trace has no frame that is a line. */
static inline bool gpu_lines_exist(const gpu_lines *lines)
{
    return lines->levels || lines->line_of;
}
/* out[id] is a text, HD_NONE: there is none. Places are sorted, ids are below `ids`. Errors: MEMORY, LIMIT. */
hd_status gpu_lines_around(uint32_t *out, gpu_lines *lines, const gpu_scope *scope, const gpu_place *places,
                           size_t count, size_t ids, hd_error *err);
/* The same by launch. The caller frees it with hd_large_free. `to_forward`: that of a backward operator is the line of
 * its forward operator. */
hd_status gpu_lines_of_launches(uint32_t **out, gpu_lines *lines, const gpu_scope *scope, bool to_forward,
                                hd_error *err);
/* By the slice's own stack. false: no memory. */
bool gpu_line_of_slice(uint32_t *out, gpu_lines *lines, uint64_t row);

#endif
