/* devices.c - the GPUs: those that the metadata describes, and those that events ran on
 *
 * deviceProperties is what Kineto writes: an array of objects with id, name, totalGlobalMem, computeMajor,
 * computeMinor, numSms. It is the text of a hostile file: anything unexpected in it is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "report/info/info.h"
#include "report/report.h"

/* The device of an id, made if need be; NULL: no memory. */
static info_device *device_of(info_tracks *tracks, int64_t id)
{
    for (size_t i = 0; i < tracks->device_count; i++) {
        if (tracks->devices[i].id == id) return &tracks->devices[i];
    }
    if (!hd_grow((void **)&tracks->devices, &tracks->device_capacity, tracks->device_count, sizeof *tracks->devices))
        return NULL;
    info_device *device = &tracks->devices[tracks->device_count++];
    *device = (info_device){.id = id,
                            .memory_bytes = HD_NO_NUMBER,
                            .major = HD_NO_NUMBER,
                            .minor = HD_NO_NUMBER,
                            .multiprocessors = HD_NO_NUMBER};
    return device;
}

/* ---- metadata ---- */

static int64_t int_member(const char *object, const char *key)
{
    const char *value;
    size_t size;
    hd_json_number number;
    if (!hd_json_find(&value, &size, object, key)) return HD_NO_NUMBER;
    if (*value == '"') value++;
    if (*value != '-' && !hd_json_is_digit(*value)) return HD_NO_NUMBER;
    if (!hd_json_scan_number(&number, value) || !number.exact || number.scale || number.mantissa > INT64_MAX)
        return HD_NO_NUMBER;
    return number.negative ? -(int64_t)number.mantissa : (int64_t)number.mantissa;
}

static char *text_member(const char *object, const char *key)
{
    const char *value;
    size_t size;
    hd_json_text text;
    if (!hd_json_find(&value, &size, object, key) || *value != '"' || !hd_json_string(&text, value + 1)) return NULL;
    char *out = malloc(text.size + 1);
    if (!out) return NULL;
    if (!hd_json_decode(out, &size, &text)) size = 0;
    out[size] = '\0';
    return out;
}

static bool add_described(info_tracks *tracks, const char *object)
{
    int64_t id = int_member(object, "id");
    if (id == HD_NO_NUMBER) return true;
    info_device *device = device_of(tracks, id);
    if (!device) return false;
    free(device->name);
    device->name = text_member(object, "name");
    device->memory_bytes = int_member(object, "totalGlobalMem");
    device->major = int_member(object, "computeMajor");
    device->minor = int_member(object, "computeMinor");
    device->multiprocessors = int_member(object, "numSms");
    return true;
}

static bool read_properties(info_tracks *tracks, hd_string json)
{
    enum { DEVICE_LIMIT = 4096 };
    char *text = calloc(1, json.size + HD_JSON_PADDING);
    bool fine = text != NULL;
    if (!fine) return false;
    memcpy(text, json.data, json.size);
    const char *p = hd_json_skip_space(text);
    if (*p == '[') p = hd_json_skip_space(p + 1);
    for (int i = 0; *p == '{' && fine && i < DEVICE_LIMIT; i++) {
        const char *end = hd_json_skip_value(p);
        if (!end) break;
        fine = add_described(tracks, p);
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    free(text);
    return fine;
}

/* ---- events ---- */

static bool read_lanes(info_tracks *tracks)
{
    enum { DEVICE_LIMIT = 1024 };
    for (size_t i = 0; i < tracks->lane_count && tracks->device_count < DEVICE_LIMIT; i++) {
        const hd_track *track = hd_trace_track_at(tracks->trace, tracks->lanes[i].track);
        if (track->kind != HD_TRACK_STREAM || track->device == HD_NO_NUMBER) continue;
        info_device *device = device_of(tracks, track->device);
        if (!device) return false;
        device->streams++;
        device->slices += tracks->lanes[i].rows[HD_KIND_SLICE];
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const info_device *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

hd_status info_find_devices(info_tracks *tracks, hd_error *err)
{
    hd_string json = hd_trace_metadata_find(tracks->trace, "deviceProperties");
    if ((json.size && !read_properties(tracks, json)) || !read_lanes(tracks)) return HD_NOMEM(err);
    if (tracks->device_count) qsort(tracks->devices, tracks->device_count, sizeof *tracks->devices, by_id);
    return HD_OK;
}

hd_status info_add_devices(hd_report *out, const info_tracks *tracks, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "devices", err));
    for (size_t i = 0; i < tracks->device_count; i++) {
        const info_device *device = &tracks->devices[i];
        hd_table_add_int(builder, device->id);
        hd_table_add_text(builder, device->name);
        if (device->memory_bytes < 0)
            hd_table_add_null(builder);
        else
            hd_table_add_count(builder, (uint64_t)device->memory_bytes);
        report_cell_int(builder, device->major);
        report_cell_int(builder, device->minor);
        report_cell_int(builder, device->multiprocessors);
        hd_table_add_count(builder, device->streams);
        hd_table_add_count(builder, device->slices);
    }
    return report_add(out, builder, err);
}
