/* markers.c - instants of the whole trace as markers, which viewers draw across all tracks
 *
 * They are also on their tracks with all their arguments, like every instant.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/otf2/write/write.h"

enum { TEXT_MAX = 4096 };

typedef struct markers {
    ow_writer *w;
    OTF2_MarkerWriter *out; /* opened by the first */
    hd_map kinds;           /* by category */
    uint32_t scope_key, global;
    size_t count;
} markers;

/* A name as the library wants it, up to a NUL in it. */
static void copy_text(char out[TEXT_MAX], hd_string text, const char *otherwise)
{
    size_t size = text.size < TEXT_MAX ? text.size : TEXT_MAX - 1;
    while (size && size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80) size--;
    memcpy(out, text.data, size);
    out[size] = '\0';
    if (!out[0]) strcpy(out, otherwise);
}

static hd_status kind_of(uint32_t *out, markers *m, uint32_t category)
{
    ow_writer *w = m->w;
    bool created;
    char text[TEXT_MAX];
    uint32_t *slot = ow_map_get(&m->kinds, category, 0, &created);
    if (!slot) return HD_NOMEM(w->err);
    *out = *slot - 1;
    if (!created) return HD_OK;
    copy_text(text, hd_trace_string(w->trace, category), "instant");
    OW_TRY(w, OTF2_MarkerWriter_WriteDefMarker(m->out, *out, "instants", text, OTF2_SEVERITY_NONE));
    return HD_OK;
}

static bool is_global(const markers *m, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(m->w->trace, event->shape);
    int at = event->args ? hd_shape_find(shape, m->scope_key, HD_SCOPE_EVENT) : -1;
    return at >= 0 && shape->keys[at].type == HD_ARG_STRING &&
           hd_column_at(&event->args->columns[at], event->args_row) == m->global;
}

static hd_status put(markers *m, const hd_event *event)
{
    ow_writer *w = m->w;
    char text[TEXT_MAX];
    uint32_t kind = 0;
    int64_t ns = event->start_ns;
    if (!m->out && !(m->out = OTF2_Archive_GetMarkerWriter(w->archive))) return ow_error(w, OTF2_ERROR_MEM_FAULT);
    HD_TRY(kind_of(&kind, m, event->category));
    ow_clamp(w, &ns);
    copy_text(text, hd_trace_string(w->trace, event->name), "(no name)");
    OW_TRY(w,
           OTF2_MarkerWriter_WriteMarker(m->out, (uint64_t)ns + w->shift, 0, kind, OTF2_MARKER_SCOPE_GLOBAL, 0, text));
    m->count++;
    return HD_OK;
}

static hd_status put_all(markers *m)
{
    const hd_trace *trace = m->w->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_INSTANT); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_INSTANT, b);
        for (uint32_t i = 0; i < block->row_count && m->count < OW_MARKERS_MAX; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (event.start_ns != HD_NO_TIME && is_global(m, &event)) HD_TRY(put(m, &event));
        }
    }
    return HD_OK;
}

hd_status ow_write_markers(ow_writer *w)
{
    markers m = {.w = w};
    m.scope_key = hd_trace_find_string(w->trace, "s", 1);
    m.global = hd_trace_find_string(w->trace, "g", 1);
    if (m.scope_key == HD_NONE || m.global == HD_NONE) return HD_OK;
    hd_status status = put_all(&m);
    hd_map_deinit(&m.kinds);
    OTF2_ErrorCode code = m.out ? OTF2_Archive_CloseMarkerWriter(w->archive, m.out) : OTF2_SUCCESS;
    return status != HD_OK || code == OTF2_SUCCESS ? status : ow_error(w, code);
}
