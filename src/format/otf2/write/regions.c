/* regions.c - regions: one per name and category
 *
 * Name and canonical name are the event's name, the latter "" if it has none; the description is its category. Paradigm
 * and role follow from both; names of Python frames, "file.py(57): f", also give source file and line. Names are left
 * as they are: Kineto's are demangled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "heddle/analysis/launches.h"
#include "model/class/class.h"
#include "model/roles/copy_ways.h"

static bool is(hd_string s, const char *text)
{
    return s.data && s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static bool begins(hd_string s, const char *text)
{
    return s.data && s.size >= strlen(text) && memcmp(s.data, text, strlen(text)) == 0;
}

static bool has(hd_string s, const char *text)
{
    return s.data && memmem(s.data, s.size, text, strlen(text)) != NULL;
}

/* ---- what a name means ---- */

static ow_copy copy_of(hd_string name)
{
    uint32_t way = hd_copy_way_of(name);
    bool from_host = way >> 8 == 'H', to_host = (way & 0xff) == 'H';
    if (!way || (from_host && to_host)) return OW_COPY_NONE;
    return from_host ? OW_COPY_GET_HOST : to_host ? OW_COPY_PUT_HOST : OW_COPY_GET_DEVICE;
}

/* Calls of the runtime that are more than wrappers. */
static OTF2_RegionRole role_of_call(hd_string name)
{
    if (has(name, "Memcpy") || has(name, "Memset") || has(name, "memcpy")) return OTF2_REGION_ROLE_DATA_TRANSFER;
    if (has(name, "Malloc") || has(name, "MemAlloc") || has(name, "HostAlloc")) return OTF2_REGION_ROLE_ALLOCATE;
    if (has(name, "Free")) return OTF2_REGION_ROLE_DEALLOCATE;
    if (has(name, "Synchronize")) return OTF2_REGION_ROLE_BARRIER;
    return OTF2_REGION_ROLE_WRAPPER;
}

static OTF2_RegionRole role_of_collective(uint8_t op)
{
    switch (op - 1) {
    case OTF2_COLLECTIVE_OP_BARRIER: return OTF2_REGION_ROLE_BARRIER;
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER: return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_REDUCE: return OTF2_REGION_ROLE_COLL_ALL2ONE;
    default: return OTF2_REGION_ROLE_COLL_ALL2ALL;
    }
}

static OTF2_Paradigm paradigm_of_name(const ow_writer *w, hd_string name)
{
    if (begins(name, "hip") && name.size > 3 && name.data[3] >= 'A' && name.data[3] <= 'Z') return OTF2_PARADIGM_HIP;
    if (begins(name, "cuda") || begins(name, "cuLaunch") || begins(name, "cuMem")) return OTF2_PARADIGM_CUDA;
    return w->accelerator;
}

static ow_region classify(const ow_writer *w, hd_string name, hd_string category)
{
    ow_region out = {.role = OTF2_REGION_ROLE_FUNCTION, .paradigm = OTF2_PARADIGM_USER};
    hd_role role = hd_role_of(category, name);
    switch (role) {
    case HD_ROLE_KERNEL:
        out.paradigm = w->accelerator;
        out.communicates = gpu_class_of_kernel(name) == GPU_COMMUNICATION;
        if (out.communicates) out.collective = ow_collective_of(name);
        if (out.collective) out.role = role_of_collective(out.collective);
        break;
    case HD_ROLE_COPY:
    case HD_ROLE_SET:
        out.paradigm = w->accelerator;
        out.role = OTF2_REGION_ROLE_DATA_TRANSFER;
        out.copy = role == HD_ROLE_COPY ? copy_of(name) : OW_COPY_NONE;
        break;
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER:
        out.paradigm = paradigm_of_name(w, name);
        out.role = role_of_call(name);
        break;
    case HD_ROLE_OVERHEAD:
        out.paradigm = OTF2_PARADIGM_MEASUREMENT_SYSTEM;
        out.role = OTF2_REGION_ROLE_ARTIFICIAL;
        break;
    default:
        if (is(category, "Trace")) {
            out.paradigm = OTF2_PARADIGM_MEASUREMENT_SYSTEM;
            out.role = OTF2_REGION_ROLE_ARTIFICIAL;
        } else if (begins(name, "MPI_")) {
            out.paradigm = OTF2_PARADIGM_MPI;
        }
    }
    return out;
}

/* ---- Python frames ---- */

/* "path(57): f": the length of the path and the line; false: not such a name. */
static bool parse_frame(size_t *out_path, uint32_t *out_line, hd_string name)
{
    const char *end = name.size ? memmem(name.data, name.size, "): ", 3) : NULL;
    if (!end) return false;
    const char *digits = end;
    while (digits > name.data && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    if (digits == end || end - digits > 9 || digits <= name.data + 1 || digits[-1] != '(') return false;
    *out_line = 0;
    for (const char *p = digits; p < end; p++) *out_line = *out_line * 10 + (uint32_t)(*p - '0');
    *out_path = (size_t)(digits - 1 - name.data);
    return true;
}

/* ---- definitions ---- */

static hd_status define(ow_writer *w, uint32_t ref, uint32_t name, uint32_t category)
{
    hd_string text = hd_trace_string(w->trace, name), about = hd_trace_string(w->trace, category);
    uint32_t line = OTF2_UNDEFINED_UINT32, file = OTF2_UNDEFINED_STRING;
    size_t path;
    if (!hd_grow((void **)&w->regions, &w->region_capacity, ref, sizeof *w->regions)) return HD_NOMEM(w->err);
    w->regions[ref] = classify(w, text, about);
    uint32_t name_ref = name ? ow_string(w, name) : ow_text(w, "(no name)");
    uint32_t own_ref = name ? name_ref : ow_text(w, ""); /* so that a reader sees that there is none */
    uint32_t about_ref = category ? ow_string(w, category) : ow_text(w, "");
    if ((is(about, "python_function") || has(text, ".py(")) && parse_frame(&path, &line, text)) {
        bool created;
        uint32_t *slot = ow_map_get(&w->frames, hd_hash(text.data, path), path, &created);
        if (!slot) return HD_NOMEM(w->err);
        if (created) *slot = ow_bytes(w, text.data, path) + 1;
        file = *slot - 1;
        if (file == HD_NONE) return w->err->status;
    }
    if (name_ref == HD_NONE || own_ref == HD_NONE || about_ref == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteRegion(w->defs, ref, name_ref, own_ref, about_ref, w->regions[ref].role,
                                               w->regions[ref].paradigm, OTF2_REGION_FLAG_NONE, file, line,
                                               OTF2_UNDEFINED_UINT32));
    return HD_OK;
}

hd_status ow_region_of(uint32_t *out, ow_writer *w, const hd_event *event)
{
    bool created;
    uint32_t *slot = ow_map_get(&w->region_of, event->name, event->category, &created);
    if (!slot) return HD_NOMEM(w->err);
    *out = *slot - 1;
    return created ? define(w, *out, event->name, event->category) : HD_OK;
}
