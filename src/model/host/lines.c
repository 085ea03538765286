/* lines.c - frames of users and libraries by name, and the innermost of them around places */
#include "model/host/lines.h"

#include <stdlib.h>

#include "base/error.h"
#include "model/roles/python_frames.h"

typedef struct finder {
    const gpu_slices *frames;
    const uint8_t *levels; /* by string: hd_frame_level */
    uint32_t *out;
} finder;

static hd_status choose(void *user, uint32_t id, const uint32_t *slices, size_t count, hd_error *err)
{
    const finder *f = user;
    uint8_t best = HD_FRAME_BELOW;
    (void)err;
    for (size_t i = count; i-- > 0;) {
        uint32_t name = f->frames->list[slices[i]].name;
        if (f->levels[name] <= best) continue;
        best = f->levels[name];
        f->out[id] = name;
    }
    return HD_OK;
}

hd_status gpu_line_names(uint32_t *out, const gpu_place *places, size_t count, size_t ids, const gpu_scope *scope,
                         hd_error *err)
{
    uint32_t strings = hd_trace_string_count(scope->trace);
    uint8_t *levels = calloc((size_t)strings + 1, 1);
    gpu_slices frames = {0};
    for (size_t i = 0; i < ids; i++) out[i] = HD_STRING_NONE;
    if (!levels) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) levels[i] = (uint8_t)hd_frame_level_of(hd_trace_string(scope->trace, i));
    finder f = {&frames, levels, out};
    hd_status status = gpu_slices_named(&frames, scope, 1u << HD_ROLE_PYTHON, levels, err);
    if (status == HD_OK && frames.count) status = gpu_around(&frames, places, count, choose, &f, err);
    gpu_slices_deinit(&frames);
    free(levels);
    return status;
}
