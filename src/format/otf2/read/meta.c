/* meta.c - definitions -> metadata, and the markers
 *
 * Every definition except strings and clock offsets is in the trace's metadata, with the names of the definitions it
 * refers to: "otf2.regions" is a list of objects, and so on. So data without a place in a trace (system tree, source
 * lines, groups, topologies, modes of metrics) is kept, readable by people and programs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/numbers.h"
#include "format/otf2/read/read.h"

static void put_uint(hd_json_out *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    hd_json_put_text(out, text);
}

static void put_id(hd_json_out *out, const otf2_reader *r, uint32_t id)
{
    hd_string text = hd_builder_string(r->builder, id);
    hd_json_put_string(out, text.data, text.size);
}

static void put_key(hd_json_out *out, const char *key)
{
    if (out->size && out->data[out->size - 1] != '{') hd_json_put_text(out, ",");
    hd_json_put_string(out, key, strlen(key));
    hd_json_put_text(out, ":");
}

/* Writes a typed value by way of the arguments, which know the types. */
static void put_value(hd_json_out *out, otf2_reader *r, const otf2_field *field, const uint64_t *values, unsigned index)
{
    otf2_args_clear(r);
    otf2_arg_field(r, field, values, index);
    if (!r->args.count) {
        hd_json_put_text(out, "null");
        return;
    }
    hd_json_put_value(out, r->builder, (hd_value){(hd_arg_type)r->args.keys[0].type, r->args.values[0]});
}

static bool says_nothing(const otf2_field *field, uint64_t value)
{
    if (field->type == FIELD_REF) return value == def_infos[field->kind].undefined;
    return value == UINT64_MAX && field->type != FIELD_INT && field->type != FIELD_VALUE;
}

static void put_list(hd_json_out *out, otf2_reader *r, const def_info *info, const otf2_def *def)
{
    put_key(out, info->list);
    hd_json_put_text(out, "[");
    for (uint32_t i = 0; i < def->list_count; i++) {
        if (i) hd_json_put_text(out, ",");
        if (info->list_type == FIELD_REF)
            put_id(out, r, otf2_ref_name(r, info->list_kind, def->list[i]));
        else
            put_uint(out, def->list[i]);
    }
    hd_json_put_text(out, "]");
}

static void put_definition(hd_json_out *out, otf2_reader *r, def_kind kind, const otf2_def *def)
{
    const def_info *info = &def_infos[kind];
    hd_json_put_text(out, "{");
    if (kind < DEF_REFERRED) {
        put_key(out, "id");
        put_uint(out, def->ref);
    }
    for (unsigned i = 0; info->fields[i].type != FIELD_END; i++) {
        const otf2_field *field = &info->fields[i];
        if (says_nothing(field, def->values[i])) continue;
        put_key(out, field->name);
        if (i == 0 && kind >= DEF_REFERRED && field->type == FIELD_REF)
            put_uint(out, def->values[0]); /* the id of its owner, whose name need not be unique */
        else
            put_value(out, r, field, def->values, i);
    }
    if (info->list) put_list(out, r, info, def);
    hd_json_put_text(out, "}");
}

static hd_status add_text(otf2_reader *r, const char *key, hd_json_out *out)
{
    bool failed = out->failed;
    if (!failed) {
        const uint32_t key_id = hd_builder_intern_text(r->builder, key);
        hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, out->data, out->size), false);
    }
    free(out->data);
    return failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status add_kind(otf2_reader *r, def_kind kind)
{
    char key[64];
    hd_json_out out = {0};
    bool any = false;
    hd_json_put_text(&out, "[");
    for (size_t i = 0; i < r->defs[kind].count; i++) {
        const otf2_def *def = r->defs[kind].list[i];
        if (def->missing) continue;
        if (any) hd_json_put_text(&out, ",");
        any = true;
        put_definition(&out, r, kind, def);
    }
    hd_json_put_text(&out, "]");
    snprintf(key, sizeof key, "otf2.%s", def_infos[kind].plural);
    if (any) return add_text(r, key, &out);
    free(out.data);
    return HD_OK;
}

static void put_text(hd_json_out *out, otf2_reader *r, const char *key, char *text)
{
    put_key(out, key);
    put_id(out, r, otf2_intern(r, text ? text : ""));
    free(text);
}

static void put_properties(hd_json_out *out, otf2_reader *r)
{
    uint32_t count = 0;
    char **names = NULL;
    if (OTF2_Reader_GetPropertyNames(r->lib, &count, &names) != OTF2_SUCCESS) return;
    put_key(out, "properties");
    hd_json_put_text(out, "{");
    for (uint32_t i = 0; i < count; i++) {
        char *value = NULL;
        OTF2_Reader_GetProperty(r->lib, names[i], &value);
        put_text(out, r, names[i], value);
    }
    hd_json_put_text(out, "}");
    free(names);
}

static hd_status add_archive(otf2_reader *r)
{
    char version[16], id[24], *text = NULL;
    hd_json_out out = {0};
    hd_json_put_text(&out, "{");
    snprintf(version, sizeof version, "%u.%u.%u", r->anchor.version[0], r->anchor.version[1], r->anchor.version[2]);
    snprintf(id, sizeof id, "%016" PRIx64, r->anchor.trace_id);
    put_key(&out, "version");
    hd_json_put_string(&out, version, strlen(version));
    put_key(&out, "trace_id");
    hd_json_put_string(&out, id, strlen(id));
    if (OTF2_Reader_GetMachineName(r->lib, &text) == OTF2_SUCCESS) put_text(&out, r, "machine", text);
    text = NULL;
    if (OTF2_Reader_GetCreator(r->lib, &text) == OTF2_SUCCESS) put_text(&out, r, "creator", text);
    text = NULL;
    if (OTF2_Reader_GetDescription(r->lib, &text) == OTF2_SUCCESS) put_text(&out, r, "description", text);
    put_properties(&out, r);
    hd_json_put_text(&out, "}");
    return add_text(r, "otf2.archive", &out);
}

static hd_status add_clock(otf2_reader *r)
{
    hd_json_out out = {0};
    if (!r->has_clock) return HD_OK;
    hd_json_put_text(&out, "{");
    put_key(&out, "ticks_per_second");
    put_uint(&out, r->resolution);
    put_key(&out, "offset");
    put_uint(&out, r->offset);
    put_key(&out, "length");
    put_uint(&out, r->length);
    if (r->realtime != UINT64_MAX) {
        put_key(&out, "realtime_ns");
        put_uint(&out, r->realtime);
    }
    hd_json_put_text(&out, "}");
    return add_text(r, "otf2.clock", &out);
}

hd_status otf2_add_metadata(otf2_reader *r)
{
    if (r->is_own) return otf2_own_add_metadata(r);
    bool wants_args = r->wants_args;
    r->wants_args = true; /* values pass through the arguments on their way */
    hd_status status = add_archive(r);
    if (status == HD_OK) status = add_clock(r);
    for (int kind = 0; kind < DEF_KINDS && status == HD_OK; kind++) {
        if (kind != DEF_STRING) status = add_kind(r, (def_kind)kind);
    }
    r->wants_args = wants_args;
    otf2_args_clear(r);
    return status == HD_OK ? r->status : status;
}

/* ---- markers ---- */

static OTF2_CallbackCode on_def_marker(void *user, OTF2_MarkerRef self, const char *group, const char *category,
                                       OTF2_MarkerSeverity severity)
{
    otf2_reader *r = user;
    otf2_marker marker = {self, otf2_intern(r, group), otf2_intern(r, category), severity};
    if (!hd_grow((void **)&r->markers.at, &r->markers.capacity, r->markers.count, sizeof marker))
        return otf2_stop(r, HD_NOMEM(r->err));
    r->markers.at[r->markers.count++] = marker;
    return OTF2_CALLBACK_SUCCESS;
}

static uint32_t marker_track(otf2_reader *r, OTF2_MarkerScope scope, uint64_t ref)
{
    const otf2_def *def = NULL;
    if (scope == OTF2_MARKER_SCOPE_LOCATION) def = otf2_find(r, DEF_LOCATION, ref);
    if (scope == OTF2_MARKER_SCOPE_LOCATION_GROUP) def = otf2_find(r, DEF_LOCATION_GROUP, ref);
    return def ? def->track : HD_NONE;
}

static void arg_text(otf2_reader *r, const char *key, uint32_t text)
{
    otf2_arg(r, hd_builder_intern_text(r->builder, key), HD_ARG_STRING, text);
}

static OTF2_CallbackCode on_marker(void *user, OTF2_TimeStamp time, OTF2_TimeStamp duration, OTF2_MarkerRef which,
                                   OTF2_MarkerScope scope, uint64_t scope_ref, const char *text)
{
    static const otf2_field severity = {"severity", FIELD_ENUM, 0, severity_names},
                            scopes = {"scope", FIELD_ENUM, 0, marker_scope_names};
    otf2_reader *r = user;
    uint32_t end_ps;
    hd_row row = otf2_row(r, HD_KIND_INSTANT, 'i', time);
    row.track = marker_track(r, scope, scope_ref);
    row.name = otf2_intern(r, text);
    otf2_args_clear(r);
    for (size_t i = 0; i < r->markers.count; i++) {
        const otf2_marker *marker = &r->markers.at[i];
        if (marker->ref != which) continue;
        row.category = marker->category;
        arg_text(r, "group", marker->group);
        otf2_arg_field(r, &severity, (const uint64_t[]){marker->severity}, 0);
        break;
    }
    otf2_arg_field(r, &scopes, (const uint64_t[]){scope}, 0);
    if (scope != OTF2_MARKER_SCOPE_GLOBAL) otf2_arg_uint(r, hd_builder_intern_text(r->builder, "scope_id"), scope_ref);
    uint64_t end = duration > UINT64_MAX - time ? UINT64_MAX : time + duration;
    if (duration)
        otf2_arg(r, hd_builder_intern_text(r->builder, "duration_ns"), HD_ARG_INT,
                 otf2_ns(r, end, &end_ps) - row.start_ns);
    hd_status status = otf2_add_row(r, &row);
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
}

hd_status otf2_read_markers(otf2_reader *r)
{
    uint64_t most = otf2_file_bytes(r, ".marker");
    if (!most || r->is_own) return HD_OK;
    r->location.def = NULL;
    OTF2_MarkerReader *reader = OTF2_Reader_GetMarkerReader(r->lib);
    OTF2_MarkerReaderCallbacks *callbacks = reader ? OTF2_MarkerReaderCallbacks_New() : NULL;
    OTF2_ErrorCode code = OTF2_ERROR_FILE_INTERACTION;
    if (callbacks) {
        uint64_t count;
        OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, on_def_marker);
        OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
        OTF2_Reader_RegisterMarkerCallbacks(r->lib, reader, callbacks, r);
        OTF2_MarkerReaderCallbacks_Delete(callbacks);
        code = OTF2_Reader_ReadMarkers(r->lib, reader, most, &count);
    }
    if (reader) OTF2_Reader_CloseMarkerReader(r->lib, reader);
    if (r->status == HD_OK && code != OTF2_SUCCESS)
        otf2_lint_place(&r->lint, LINT_MARKERS_DAMAGED, 0, "markers: %s", OTF2_Error_GetDescription(code));
    return r->status;
}
