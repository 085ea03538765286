/* planes.c - statistics of planes, hosts and the run -> processes, metadata, facts */
#include <stdlib.h>

#include "base/error.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "format/xplane/xplane.h"

void xplane_plane_deinit(xplane_plane *plane)
{
    hd_map_deinit(&plane->stat_index);
    hd_map_deinit(&plane->event_index);
    hd_map_deinit(&plane->lines);
    free(plane->stats);
    free(plane->events);
    free(plane->args);
}

static const char *find(hd_string text, const char *word)
{
    const char *at = text.size ? memmem(text.data, text.size, word, strlen(word)) : NULL;
    return at ? at + strlen(word) : NULL;
}

/* "/device:GPU:1", "/device:TPU:0 SparseCore 1" */
static void find_device(xplane_plane *p, hd_string name)
{
    const char *kind = find(name, "/device:"), *end = name.data + name.size;
    p->device = HD_NO_NUMBER;
    if (!kind) return;
    const char *colon = memchr(kind, ':', (size_t)(end - kind));
    size_t size = (size_t)(end - kind), digits = 0;
    p->is_device = size < 3 || memcmp(kind, "CPU", 3) != 0;
    p->is_gpu = size >= 3 && memcmp(kind, "GPU", 3) == 0;
    while (colon && colon + 1 + digits < end && hd_is_digit(colon[1 + digits])) digits++;
    if (colon && !hd_text_int(&p->device, colon + 1, digits)) p->device = HD_NO_NUMBER;
}

bool xplane_is_clock(hd_proto_span name)
{
    static const char word[] = "Task Environment";
    return name.size == sizeof word - 1 && memcmp(name.data, word, name.size) == 0;
}

hd_status xplane_begin_plane(xplane_reader *r)
{
    HD_TRY(xplane_text(&r->plane.text, r, r->plane.name));
    hd_string name = hd_builder_string(r->builder, r->plane.text);
    find_device(&r->plane, name);
    hd_json_put_text(&r->planes, r->planes.size ? ",{\"id\":" : "[{\"id\":");
    hd_json_put_int(&r->planes, (int64_t)r->plane.id);
    hd_json_put_text(&r->planes, ",\"name\":");
    hd_json_put_string(&r->planes, name.data, name.size);
    return HD_OK;
}

static void put_arg(hd_json_out *out, const xplane_reader *r, const xplane_arg *arg, const char *before)
{
    hd_string key = hd_builder_string(r->builder, arg->key.key);
    hd_json_put_text(out, before);
    hd_json_put_string(out, key.data, key.size);
    hd_json_put_text(out, ":");
    hd_json_put_value(out, r->builder, (hd_value){(hd_arg_type)arg->key.type, arg->bits});
}

/* As a member of Kineto's deviceProperties, which reports know. */
static void put_property(xplane_reader *r, hd_string key, const xplane_arg *arg)
{
    static const char *const names[][2] = {{"device_type_string", "name"},
                                           {"memory_size", "totalGlobalMem"},
                                           {"core_count", "numSms"},
                                           {"compute_cap_major", "computeMajor"},
                                           {"compute_cap_minor", "computeMinor"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (key.size != strlen(names[i][0]) || memcmp(key.data, names[i][0], key.size) != 0) continue;
        if (!r->plane.has_properties) {
            hd_json_put_text(&r->devices, r->devices.size ? ",{\"id\":" : "[{\"id\":");
            hd_json_put_int(&r->devices, r->plane.device);
            r->plane.has_properties = true;
        }
        hd_json_put_text(&r->devices, ",\"");
        hd_json_put_text(&r->devices, names[i][1]);
        hd_json_put_text(&r->devices, "\":");
        hd_json_put_value(&r->devices, r->builder, (hd_value){(hd_arg_type)arg->key.type, arg->bits});
    }
}

hd_status xplane_add_plane_stat(void *reader, const hd_proto_field *field)
{
    xplane_reader *r = reader;
    xplane_arg arg;
    bool want = r->want_args;
    if (field->value) return xplane_lose(r, "xplane.stat-lost", field);
    r->want_args = true; /* metadata is always kept */
    hd_status status = xplane_read_stat(&arg, r, NULL, field);
    r->want_args = want;
    if (status != HD_OK || !arg.key.key) return status;
    hd_string key = hd_builder_string(r->builder, arg.key.key);
    put_arg(&r->planes, r, &arg, r->plane.has_stats ? "," : ",\"stats\":{");
    r->plane.has_stats = true;
    if (r->plane.is_device && r->plane.device != HD_NO_NUMBER) put_property(r, key, &arg);
    if (arg.key.type == HD_ARG_INT && key.size == 18 && memcmp(key.data, "profile_start_time", 18) == 0)
        if (r->profile_start_ns == HD_NO_TIME) r->profile_start_ns = arg.bits;
    return HD_OK;
}

/* A name that no event has and that says something, as HLO protos of /host:metadata; or that has more than a name. */
static hd_status put_event_name(xplane_reader *r, size_t index, const char *before)
{
    xplane_event_name name = r->plane.events[index];
    bool want = r->want_args;
    r->want_args = true;
    hd_status status = name.is_used ? HD_OK : xplane_resolve_event_name(r, &name);
    r->want_args = want;
    if (status != HD_OK) return status;
    hd_string text = hd_builder_string(r->builder, name.text);
    hd_json_put_text(&r->planes, before);
    hd_json_put_string(&r->planes, text.data, text.size);
    hd_json_put_text(&r->planes, ":");
    for (uint32_t i = 0; i < name.arg_count; i++)
        put_arg(&r->planes, r, &r->plane.args[name.first_arg + i], i ? "," : "{");
    hd_json_put_text(&r->planes, name.arg_count ? "}" : "{}");
    if (name.extra.size) HD_TRY(xplane_note(r, "xplane.metadata-dropped", HD_LEDGER_LOSS, name.extra.data));
    if (name.has_children) HD_TRY(xplane_note(r, "xplane.children-dropped", HD_LEDGER_LOSS, name.stats.data));
    return HD_OK;
}

hd_status xplane_end_plane(xplane_reader *r)
{
    bool any = false;
    if (r->plane.has_stats) hd_json_put_text(&r->planes, "}");
    if (r->plane.has_properties) hd_json_put_text(&r->devices, "}");
    for (size_t i = 0; i < r->plane.event_count; i++) {
        const xplane_event_name *name = &r->plane.events[i];
        if (!name->extra.size && !name->has_children && (name->is_used || !name->has_stats)) continue;
        HD_TRY(put_event_name(r, i, any ? "," : ",\"events\":{"));
        any = true;
    }
    hd_json_put_text(&r->planes, any ? "}}" : "}");
    return r->planes.failed ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status put_metadata(xplane_reader *r, const char *key, hd_json_out *json)
{
    if (!json->size) return HD_OK;
    hd_json_put_text(json, "]");
    if (json->failed) return HD_NOMEM(r->err);
    const uint32_t key_id = hd_builder_intern_text(r->builder, key);
    hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, json->data, json->size), true);
    return HD_OK;
}

hd_status xplane_finish_host(xplane_reader *r, const char *path)
{
    const hd_trace *trace = hd_builder_trace(r->builder);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".xplane.pb");
    uint32_t label = r->hostname;
    if (!label && r->host != HD_NO_NUMBER)
        label = hd_builder_intern(r->builder, name, end ? (size_t)(end - name) : strlen(name));
    for (uint32_t i = r->first_track; i < hd_trace_track_count(trace); i++) {
        if (label && hd_trace_track_at(trace, i)->kind == HD_TRACK_PROCESS)
            hd_builder_label_track(r->builder, i, label);
        if (r->host != HD_NO_NUMBER) hd_builder_set_rank(r->builder, i, r->host);
    }
    return HD_OK;
}

hd_status xplane_finish_metadata(xplane_reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->has_args = r->want_args;
    facts->has_sources = r->options->sources;
    facts->base_ns = r->first_ns != HD_NO_TIME && r->first_ns >= XPLANE_UNIX_NS ? 0 : r->profile_start_ns;
    HD_TRY(put_metadata(r, "deviceProperties", &r->devices));
    HD_TRY(put_metadata(r, "planes", &r->planes));
    HD_TRY(put_metadata(r, "hostnames", &r->hostnames));
    HD_TRY(put_metadata(r, "errors", &r->errors));
    return put_metadata(r, "warnings", &r->warnings);
}
