/* markers.c - markers of all parts */
#include <string.h>

#include "format/otf2/join/join.h"

/* ---- markers ---- */

static OTF2_CallbackCode stop(joiner *j, hd_status status)
{
    if (j->status == HD_OK) j->status = status;
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* Kinds are numbered in a row. */
static hd_status join_marker_kind(joiner *j, OTF2_MarkerRef self, const char *group, const char *category,
                                  OTF2_MarkerSeverity severity)
{
    uint32_t ref = 0;
    bool created = false;
    if (!j->markers && !(j->markers = OTF2_Archive_GetMarkerWriter(j->w.archive)))
        return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    HD_TRY(oj_number_shared(&ref, &created, j, MARKER_KIND, category, strlen(category)));
    if (created) OW_TRY(&j->w, OTF2_MarkerWriter_WriteDefMarker(j->markers, ref, group, category, severity));
    if (self != j->marker_refs.count) return oj_refuse(j, "its markers are not numbered in a row");
    return PUSH(j->marker_refs, ref) ? HD_OK : HD_NOMEM(j->w.err);
}

static OTF2_CallbackCode on_marker_kind(void *user, OTF2_MarkerRef self, const char *group, const char *category,
                                        OTF2_MarkerSeverity severity)
{
    joiner *j = user;
    return stop(j, join_marker_kind(j, self, group, category, severity));
}

/* Offsets of clocks are of locations, so they are added here. */
static hd_status join_marker(joiner *j, uint64_t time, uint64_t duration, OTF2_MarkerRef kind, OTF2_MarkerScope scope,
                             const char *text)
{
    if (kind >= j->marker_refs.count || scope != OTF2_MARKER_SCOPE_GLOBAL)
        return oj_refuse(j, "its markers are not ours");
    if (j->marker_count++ >= OW_MARKERS_MAX) return HD_OK;
    int64_t ns = (int64_t)(time - j->r->shift);
    time = (uint64_t)ns + (uint64_t)hd_format_part_offset(NULL, j->part, ns) + j->w.shift;
    OW_TRY(&j->w, OTF2_MarkerWriter_WriteMarker(j->markers, time, duration, j->marker_refs.at[kind], scope, 0, text));
    return HD_OK;
}

static OTF2_CallbackCode on_marker(void *user, OTF2_TimeStamp time, OTF2_TimeStamp duration, OTF2_MarkerRef kind,
                                   OTF2_MarkerScope scope, uint64_t scope_ref, const char *text)
{
    joiner *j = user;
    (void)scope_ref;
    return stop(j, join_marker(j, time, duration, kind, scope, text));
}

hd_status oj_join_markers(joiner *j)
{
    OTF2_Reader *lib = j->r->lib;
    uint64_t most = otf2_file_bytes(j->r, ".marker"), count;
    if (!most) return HD_OK;
    OTF2_MarkerReader *reader = OTF2_Reader_GetMarkerReader(lib);
    OTF2_MarkerReaderCallbacks *callbacks = reader ? OTF2_MarkerReaderCallbacks_New() : NULL;
    if (!callbacks) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    j->marker_refs.count = 0;
    OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, on_marker_kind);
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
    OTF2_Reader_RegisterMarkerCallbacks(lib, reader, callbacks, j);
    OTF2_MarkerReaderCallbacks_Delete(callbacks);
    OTF2_ErrorCode code = OTF2_Reader_ReadMarkers(lib, reader, most, &count);
    OTF2_Reader_CloseMarkerReader(lib, reader);
    HD_TRY(j->status);
    OW_TRY(&j->w, code);
    return HD_OK;
}
