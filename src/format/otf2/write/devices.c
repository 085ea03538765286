/* devices.c - device data from metadata: every member of Kineto's deviceProperties, and versions
 *
 * The text may be from a hostile file: anything unexpected is ignored.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/otf2/write/write.h"

bool ow_is_hip(const ow_writer *w)
{
    static const char *const names[] = {"hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel",
                                        "hipMemcpyAsync",  "hipMemcpyWithStream",      "hipMemcpy",
                                        "hipMalloc",       "hipDeviceSynchronize",     "hipStreamSynchronize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (hd_trace_find_string(w->trace, names[i], strlen(names[i])) != HD_NONE) return true;
    }
    return false;
}

static bool is_device(const char *object, int64_t device)
{
    const char *value;
    size_t size;
    if (!hd_json_find(&value, &size, object, "id")) return false;
    if (*value == '"') value++;
    return hd_json_is_digit(*value) && strtoll(value, NULL, 10) == device;
}

/* Writes one member, at its key; returns the position after its value, NULL: none. */
static const char *put_member(hd_status *out_status, ow_writer *w, uint32_t node, const char *p)
{
    hd_json_text key, text;
    *out_status = HD_OK;
    if (*p != '"' || !(p = hd_json_string(&key, p + 1))) return NULL;
    p = hd_json_skip_space(p);
    if (*p != ':') return NULL;
    const char *value = hd_json_skip_space(p + 1), *end = hd_json_skip_value(value);
    if (!end || *value == '[' || *value == '{' || key.escaped) return end;
    size_t size = (size_t)(end - value);
    if (*value == '"') {
        if (!hd_json_string(&text, value + 1) || text.escaped) return end;
        value = text.data;
        size = text.size;
    }
    uint32_t name = ow_bytes(w, key.data, key.size);
    *out_status = ow_node_text(w, node, name, name == HD_NONE ? HD_NONE : ow_bytes(w, value, size));
    return end;
}

static hd_status put_members(ow_writer *w, uint32_t node, const char *object)
{
    const char *p = hd_json_skip_space(object + 1);
    for (hd_status status; *p == '"';) {
        p = put_member(&status, w, node, p);
        HD_TRY(status);
        if (!p) break;
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return HD_OK;
}

static hd_status put_versions(ow_writer *w, uint32_t node)
{
    static const char *const keys[] = {"cuda_driver_version", "cuda_runtime_version", "cupti_version",
                                       "hip_driver_version", "hip_runtime_version"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        hd_string value = hd_trace_metadata_find(w->trace, keys[i]);
        if (value.size >= 2 && value.data[0] == '"') value = (hd_string){value.data + 1, value.size - 2};
        if (!value.size) continue;
        const uint32_t key = ow_text(w, keys[i]);
        HD_TRY(ow_node_text(w, node, key, ow_bytes(w, value.data, value.size)));
    }
    return HD_OK;
}

hd_status ow_write_device_properties(ow_writer *w, uint32_t node, int64_t device)
{
    enum { DEVICE_MAX = 4096 };
    hd_string json = hd_trace_metadata_find(w->trace, "deviceProperties");
    char *text = hd_json_copy(json.data, json.size);
    if (!text) return HD_NOMEM(w->err);
    hd_status status = HD_OK;
    const char *p = hd_json_skip_space(text);
    if (*p == '[') p = hd_json_skip_space(p + 1);
    for (int i = 0; *p == '{' && status == HD_OK && i < DEVICE_MAX; i++) {
        const char *end = hd_json_skip_value(p);
        if (!end) break;
        if (is_device(p, device)) status = put_members(w, node, p);
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    free(text);
    return status == HD_OK ? put_versions(w, node) : status;
}
