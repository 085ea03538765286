/* names.c - GET /api/names: names as they are, short, with category and role */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/analysis/graph.h"
#include "heddle/names.h"
#include "model/class/class.h"
#include "model/recorder/recorder.h"
#include "model/roles/sync_calls.h"
#include "model/roles/trace_roles.h"
#include "trace/lazy.h"
#include "trace/text.h"
#include "view/route/routes_derive.h"
#include "view/scene/scene.h"

enum { NAMES_LIMIT = 8192 };

/* ---- categories and roles ---- */

/* The roles are behind the categories: of the first GPU activity with a name, else of its first event, role + 1; 0: no
 * slice has it. (TensorFlow names a launch as its kernel.) */
static uint8_t *roles_of(uint32_t *categories, uint32_t count)
{
    return (uint8_t *)(categories + count + 1);
}

static void see_block(uint32_t *categories, uint32_t count, const hd_block *block, hd_roles *roles)
{
    enum { CHUNK = 1024 };
    int64_t names[CHUNK], ids[CHUNK], tracks[CHUNK];
    const bool is_slice = block->kind == HD_KIND_SLICE;
    uint8_t *known = roles_of(categories, count);
    for (uint32_t first = 0, n; first < block->row_count; first += n) {
        n = block->row_count - first < CHUNK ? block->row_count - first : CHUNK;
        hd_column_decode(names, &block->columns[HD_COL_NAME], first, n);
        hd_column_decode(ids, &block->columns[HD_COL_CATEGORY], first, n);
        if (is_slice) hd_column_decode(tracks, &block->columns[HD_COL_TRACK], first, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t name = (uint32_t)names[i];
            if (name >= count) continue;
            bool is_new = !categories[name];
            bool may_be_work = is_slice && !is_new && !hd_role_is_work((hd_role)(known[name] - 1)) &&
                               hd_roles_row(roles, (uint32_t)tracks[i]) == HD_ROW_QUEUE;
            if (!is_new && !may_be_work) continue;
            hd_role role = is_slice ? hd_roles_in(roles, block, first + i, (uint32_t)ids[i]) : HD_ROLE_OTHER;
            if (!is_new && !hd_role_is_work(role)) continue;
            categories[name] = (uint32_t)ids[i] + 1;
            if (is_slice) known[name] = (uint8_t)(role + 1);
        }
    }
}

/* By string id of the trace: string id of the category + 1, 0: no event has the name. The caller frees. Slices come
 * before other events. *out is NULL if it was stopped. Errors: MEMORY. */
static hd_status name_categories(uint32_t **out, view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_ASYNC, HD_KIND_INSTANT, HD_KIND_SAMPLE, HD_KIND_COUNTER};
    uint32_t count = hd_trace_string_count(trace);
    uint32_t *categories = calloc((size_t)count + 1, sizeof *categories + 1);
    *out = NULL;
    if (!categories) return HD_NOMEM(err);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t b = 0; b < hd_trace_block_count(trace, kinds[k]); b++) {
            if (atomic_load(stop)) {
                free(categories);
                return HD_OK;
            }
            const hd_block *block = hd_trace_block_at(trace, kinds[k], b);
            see_block(categories, count, block, view_scene_roles(scene));
            hd_trace_release(trace, block);
        }
    }
    *out = categories;
    return HD_OK;
}

hd_status view_derive_categories(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    uint32_t *categories;
    HD_TRY(name_categories(&categories, scene, stop, err));
    if (categories) view_scene_set_note(scene, VIEW_NOTE_CATEGORIES, categories, free);
    return HD_OK;
}

/* "kernel", "op" … Static. */
static const char *role_text(hd_role role)
{
    static const char *const texts[HD_ROLES] = {
        [HD_ROLE_OTHER] = "other",       [HD_ROLE_OP] = "op",
        [HD_ROLE_PYTHON] = "python",     [HD_ROLE_ANNOTATION] = "annotation",
        [HD_ROLE_RUNTIME] = "runtime",   [HD_ROLE_DRIVER] = "driver",
        [HD_ROLE_OVERHEAD] = "overhead", [HD_ROLE_KERNEL] = "kernel",
        [HD_ROLE_COPY] = "copy",         [HD_ROLE_SET] = "set",
        [HD_ROLE_SYNC] = "sync",         [HD_ROLE_GPU_ANNOTATION] = "gpu_annotation",
    };
    return texts[role];
}

/* What a name's colour means. GPU activities have the class of reports, and what a flight recorder has are collectives.
 */
static const char *class_text(hd_role role, hd_string category, hd_string name)
{
    hd_sync_kind sync = hd_sync_kind_of(name);
    bool waits = sync == HD_SYNC_DEVICE || sync == HD_SYNC_STREAM || sync == HD_SYNC_EVENT;
    switch (role) {
    case HD_ROLE_KERNEL: return gpu_class_names[gpu_class_of_kernel(name)];
    case HD_ROLE_COPY: return gpu_class_names[GPU_COPY];
    case HD_ROLE_SET: return gpu_class_names[GPU_COMPUTE];
    case HD_ROLE_SYNC: return "wait";
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER: return waits ? "wait" : hd_is_memory_call(name) ? "memory" : "launch";
    case HD_ROLE_OP: return "operator";
    case HD_ROLE_PYTHON: return "python";
    case HD_ROLE_ANNOTATION:
    case HD_ROLE_GPU_ANNOTATION: return "range";
    default: return hd_string_is(category, HD_FLIGHT_CATEGORY) ? gpu_class_names[GPU_COMMUNICATION] : "other";
    }
}

/* The same of a text that the scene made: "idle: CAUSE", a class of the critical path, else what a framework runs. */
static const char *class_of_own(hd_string text)
{
    static const char *const classes[HD_PATH_CLASSES] = {
        [HD_PATH_CPU] = "operator",    [HD_PATH_DATA_LOADING] = "operator",
        [HD_PATH_GAP] = "idle",        [HD_PATH_LAUNCH] = "launch",
        [HD_PATH_COMPUTE] = "compute", [HD_PATH_COMMUNICATION] = "communication",
        [HD_PATH_COPY] = "copy",       [HD_PATH_QUEUE] = "wait",
        [HD_PATH_SYNC] = "wait",       [HD_PATH_UNKNOWN] = "other",
        [HD_PATH_UNRECORDED] = "idle",
    };
    for (int c = 0; c < HD_PATH_CLASSES; c++) {
        if (hd_string_is(text, hd_path_class_name((hd_path_class)c))) return classes[c];
    }
    return hd_string_is(text, "idle") || hd_string_begins(text, "idle: ") ? "idle" : "operator";
}

/* ---- the route ---- */

static void put_name(hd_json_out *json, const view_scene *scene, const uint32_t *categories, uint32_t id)
{
    const hd_trace *trace = view_scene_trace(scene);
    char text[HD_NAME_BYTES];
    hd_string name = view_scene_text(scene, id), category = {"", 0};
    if (categories && id < hd_trace_string_count(trace) && categories[id])
        category = hd_trace_string(trace, categories[id] - 1);
    size_t size = hd_name_label(text, hd_name_plain(name));
    uint32_t count = hd_trace_string_count(trace);
    unsigned known = categories && id < count ? ((const uint8_t *)(categories + count + 1))[id] : 0;
    hd_role is = known ? (hd_role)(known - 1) : hd_role_of(category, name);
    const char *role = role_text(is),
               *class = id < count ? class_text(is, category, hd_name_plain(name)) : class_of_own(name);
    hd_json_put_text(json, "{");
    view_json_int(json, "id", id);
    view_json_text(json, "text", name);
    if (size != name.size || memcmp(text, name.data, size) != 0) view_json_text(json, "short", (hd_string){text, size});
    view_json_text(json, "category", category);
    view_json_text(json, "role", (hd_string){role, strlen(role)});
    view_json_text(json, "class", (hd_string){class, strlen(class)});
    uint32_t group = is == HD_ROLE_KERNEL ? gpu_group_of_kernel(name) : HD_NONE;
    hd_string colour = gpu_group_colour(group);
    if (group != HD_NONE)
        view_json_text(json, "group", (hd_string){gpu_group_path(group), strlen(gpu_group_path(group))});
    if (colour.size) view_json_text(json, "colour", colour);
    hd_json_put_text(json, "}");
}

hd_status view_route_names(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    uint32_t *ids;
    size_t count;
    hd_json_out *json = &reply->json;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_list(&ids, &count, request, "ids", view_scene_name_count(scene), NAMES_LIMIT, err));
    if (!ids)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "parameter ids is missing: the names that are wanted, as in ids=1-500,733");
    const uint32_t *categories = view_scene_note(scene, VIEW_NOTE_CATEGORIES);
    hd_json_put_text(json, "{");
    view_json_key(json, "final");
    hd_json_put_text(json, categories ? "true" : "false");
    hd_json_put_text(json, ", \"names\": [");
    for (size_t i = 0; i < count; i++) {
        hd_json_put_text(json, i ? ",\n" : "\n");
        put_name(json, scene, categories, ids[i]);
    }
    hd_json_put_text(json, "]}");
    free(ids);
    return json->failed ? HD_NOMEM(err) : HD_OK;
}
