/* stack_save.c - the tree of frames as stackFrames, until src/trace does it: the linker prefers that */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_write.h"
#include "heddle/stacks.h"

__attribute__((weak)) hd_status hd_stacks_save(const hd_stacks *stacks, hd_builder *builder, hd_error *err)
{
    hd_json_out out = {0};
    char text[64];
    if (hd_stacks_count(stacks) <= 1) return HD_OK;
    for (uint32_t i = 1; i < hd_stacks_count(stacks); i++) {
        hd_frame f = hd_stacks_at(stacks, i);
        hd_string name = hd_stacks_text(stacks, f.name);
        snprintf(text, sizeof text, "%s\"%" PRIu32 "\":{\"category\":\"%s\",\"name\":", i > 1 ? "," : "{", i,
                 hd_frame_kind_name(f.kind));
        hd_json_put_text(&out, text);
        hd_json_put_string(&out, name.data, name.size);
        if (f.caller) {
            snprintf(text, sizeof text, ",\"parent\":\"%" PRIu32 "\"", f.caller);
            hd_json_put_text(&out, text);
        }
        hd_json_put_text(&out, "}");
    }
    hd_json_put_text(&out, "}");
    if (!out.failed)
        hd_builder_metadata(builder, hd_builder_intern_text(builder, "stackFrames"),
                            hd_builder_intern(builder, out.data, out.size), true);
    hd_status status = out.failed ? HD_NOMEM(err) : HD_OK;
    free(out.data);
    return status;
}
