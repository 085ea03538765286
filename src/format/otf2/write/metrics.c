/* metrics.c - counters: a metric class per counter and its keys, an instance per location group
 *
 * A class has one member per number of a sample's arguments. A member is INT64 if all samples of its name and key are
 * integers, else DOUBLE. Memory is ABSOLUTE_POINT: valid at the sample; all others are valid until the next sample.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"

static uint64_t counter_key(const hd_event *event)
{
    return (uint64_t)event->category << 32 | event->name;
}

/* ---- which members are there ---- */

static hd_status member_of(uint32_t *out, ow_writer *w, const hd_event *event, uint32_t key)
{
    bool created;
    uint32_t *slot = ow_map_get(&w->metric_members, counter_key(event), key, &created);
    if (!slot || (created && !hd_grow((void **)&w->members, &w->member_capacity, w->member_count, sizeof *w->members)))
        return HD_NOMEM(w->err);
    if (created) w->members[w->member_count++] = (ow_member){.name = event->name, .key = key};
    *out = *slot - 1;
    return HD_OK;
}

static hd_status scan_event(ow_writer *w, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    bool created;
    if (!ow_map_get(&w->counter_shapes, counter_key(event), event->shape, &created)) return HD_NOMEM(w->err);
    if (!created) return HD_OK;
    for (uint32_t i = 0, series = 0; i < shape->key_count && series < OW_SERIES_MAX; i++) {
        uint32_t member;
        if (!ow_is_series(&shape->keys[i])) continue;
        series++;
        HD_TRY(member_of(&member, w, event, shape->keys[i].key));
        w->members[member].is_double |= shape->keys[i].type != HD_ARG_INT;
    }
    return HD_OK;
}

hd_status ow_scan_counters(ow_writer *w)
{
    for (uint32_t s = 0; s < hd_trace_shape_count(w->trace); s++) {
        const hd_shape *shape = hd_trace_shape_at(w->trace, s);
        for (uint32_t i = 0; i < shape->key_count; i++) w->has_series[s] |= ow_is_series(&shape->keys[i]);
    }
    for (size_t b = 0; b < hd_trace_block_count(w->trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_COUNTER, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (w->has_series[event.shape]) HD_TRY(scan_event(w, &event));
        }
    }
    return HD_OK;
}

/* ---- samples ---- */

static hd_status add_metric(uint32_t *out, ow_writer *w, hd_map *map, uint64_t a, uint64_t b, ow_metric metric)
{
    bool created;
    uint32_t *slot = ow_map_get(map, a, b, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) {
        if (!hd_grow((void **)&w->metrics, &w->metric_capacity, w->metric_count, sizeof *w->metrics))
            return HD_NOMEM(w->err);
        w->metrics[w->metric_count++] = metric;
        *slot = (uint32_t)w->metric_count; /* classes and instances are numbered together */
    }
    *out = *slot - 1;
    return HD_OK;
}

/* Members of a class, in the order of the shape's keys; false: no memory. */
static hd_status members_of(uint32_t *out, uint8_t *out_count, ow_writer *w, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    *out_count = 0;
    for (uint32_t i = 0; i < shape->key_count && *out_count < OW_SERIES_MAX; i++) {
        if (ow_is_series(&shape->keys[i])) HD_TRY(member_of(&out[(*out_count)++], w, event, shape->keys[i].key));
    }
    return HD_OK;
}

static hd_status values_of(OTF2_Type *types, OTF2_MetricValue *values, uint8_t *count, ow_writer *w,
                           const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    uint32_t members[OW_SERIES_MAX], n = 0;
    HD_TRY(members_of(members, count, w, event));
    for (uint32_t i = 0; i < shape->key_count && n < *count; i++) {
        if (!ow_is_series(&shape->keys[i])) continue;
        hd_value value = {(hd_arg_type)shape->keys[i].type, hd_column_at(&event->args->columns[i], event->args_row)};
        bool is_double = w->members[members[n]].is_double;
        types[n] = is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64;
        if (!is_double)
            values[n].signed_int = value.bits;
        else if (!hd_value_double(&values[n].floating_point, w->trace, value))
            values[n].floating_point = 0;
        n++;
    }
    return HD_OK;
}

hd_status ow_write_metric(ow_writer *w, OTF2_EvtWriter *events, const hd_event *event, uint32_t place, uint64_t time)
{
    OTF2_Type types[OW_SERIES_MAX];
    OTF2_MetricValue values[OW_SERIES_MAX];
    uint8_t count;
    uint32_t class_ref, ref;
    ow_metric metric = {.name = event->name, .category = event->category, .shape = event->shape, .class_ref = HD_NONE};
    HD_TRY(add_metric(&class_ref, w, &w->metric_classes, counter_key(event), event->shape, metric));
    metric.class_ref = class_ref;
    metric.place = place;
    metric.scope = w->places[place].group;
    HD_TRY(add_metric(&ref, w, &w->metric_instances, class_ref, place, metric));
    HD_TRY(values_of(types, values, &count, w, event));
    OW_TRY(w, OTF2_EvtWriter_Metric(events, w->attributes, time, ref, count, types, values));
    return HD_OK;
}

/* ---- memory of devices, in Kineto's instants ---- */

/* The group of a device in the process's rank, else that of the process. */
static uint32_t scope_of(const ow_writer *w, uint32_t place, int64_t type, int64_t device)
{
    const ow_group *own = &w->groups[w->places[place].group];
    for (uint32_t i = 0; type != 0 && i < w->group_count; i++) {
        if (w->groups[i].device == device && device != HD_NO_NUMBER && w->groups[i].rank == own->rank) return i;
    }
    return w->places[place].group;
}

static hd_status memory_class(uint32_t *out, ow_writer *w, int64_t type, int64_t device)
{
    HD_TRY(add_metric(out, w, &w->memory_classes, (uint64_t)type, (uint64_t)device, (ow_metric){.class_ref = HD_NONE}));
    if (w->metrics[*out].memory_member) return HD_OK;
    w->metrics[*out].memory_member = w->member_count + 1;
    for (int i = 0; i < 2; i++) {
        /* numbered with the others, so that they have an entry in their map */
        bool created;
        uint32_t key = i ? w->keys.reserved : w->keys.allocated;
        uint32_t *slot = ow_map_get(&w->metric_members, UINT64_MAX - *out, (uint64_t)i, &created);
        if (!slot || !hd_grow((void **)&w->members, &w->member_capacity, w->member_count, sizeof *w->members))
            return HD_NOMEM(w->err);
        w->members[w->member_count++] =
            (ow_member){.key = key, .is_memory = true, .device_type = type, .device = device};
    }
    return HD_OK;
}

static uint64_t memory_key(uint32_t place, uint32_t class_ref)
{
    return (uint64_t)place << 32 | class_ref;
}

hd_status ow_write_memory(ow_writer *w, OTF2_EvtWriter *events, const hd_event *event, uint32_t place, uint64_t time)
{
    static const OTF2_Type types[2] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    const uint32_t keys[] = {w->keys.allocated, w->keys.reserved};
    OTF2_MetricValue values[2];
    int64_t type = 1, device = HD_NO_NUMBER;
    uint32_t class_ref = 0, ref = 0;
    for (int i = 0; i < 2; i++) {
        values[i].unsigned_int = ow_arg_count(w, event, keys[i], UINT64_MAX);
        if (values[i].unsigned_int == UINT64_MAX) return HD_OK; /* this sample does not have both */
    }
    hd_event_arg_int(&type, w->trace, event, w->keys.device_type);
    hd_event_arg_int(&device, w->trace, event, w->keys.device_id);
    HD_TRY(memory_class(&class_ref, w, type, device));
    ow_metric instance = {.class_ref = class_ref, .place = place, .scope = scope_of(w, place, type, device)};
    HD_TRY(add_metric(&ref, w, &w->memory_instances, memory_key(place, class_ref), 0, instance));
    OW_TRY(w, OTF2_EvtWriter_Metric(events, NULL, time, ref, 2, types, values));
    return HD_OK;
}

static hd_status write_memory_member(ow_writer *w, uint32_t ref)
{
    const ow_member *member = &w->members[ref];
    hd_string key = hd_trace_string(w->trace, member->key);
    const char *kind = member->device_type == 0 ? "CPU" : "GPU"; /* PyTorch's DeviceType: 0 is the CPU */
    uint32_t text =
        member->device == HD_NO_NUMBER || member->device < 0
            ? ow_format(w, "%s %.*s", kind, (int)(key.size & 0xff), key.data)
            : ow_format(w, "%s %lld %.*s", kind, (long long)member->device, (int)(key.size & 0xff), key.data);
    uint32_t about = ow_text(w, "of the [memory] instants"), unit = ow_text(w, "B");
    if (text == HD_NONE || about == HD_NONE || unit == HD_NONE) return w->err->status;
    /* The type shows our reader that the instants have all the data. */
    OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricMember(w->defs, ref, text, about, OTF2_METRIC_TYPE_OTHER,
                                                     OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
                                                     unit));
    return HD_OK;
}

/* ---- definitions ---- */

static bool has(hd_string text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.size; i++) {
        if (strncasecmp(text.data + i, word, n) == 0) return true;
    }
    return false;
}

typedef struct unit {
    const char *name;
    OTF2_MetricMode mode;
} unit;

static unit unit_of(hd_string name, hd_string key)
{
    if (has(name, "GB/s") || has(key, "GB/s")) return (unit){"GB/s", OTF2_METRIC_ABSOLUTE_NEXT};
    if (has(name, "bandwidth") || has(key, "bandwidth")) return (unit){"B/s", OTF2_METRIC_ABSOLUTE_NEXT};
    if (has(name, "%") || has(key, "%") || has(name, "percent") || has(key, "percent"))
        return (unit){"%", OTF2_METRIC_ABSOLUTE_NEXT};
    if (has(key, "fragmentation")) return (unit){"#", OTF2_METRIC_ABSOLUTE_POINT}; /* of memory, 0 to 1 */
    if (has(name, "byte") || has(key, "byte") || has(name, "memory") || has(key, "memory") || has(name, "alloc") ||
        has(key, "alloc"))
        return (unit){"B", OTF2_METRIC_ABSOLUTE_POINT};
    return (unit){"#", OTF2_METRIC_ABSOLUTE_NEXT};
}

static hd_status write_member(ow_writer *w, uint32_t ref)
{
    const ow_member *member = &w->members[ref];
    if (member->is_memory) return write_memory_member(w, ref);
    hd_string name = hd_trace_string(w->trace, member->name), key = hd_trace_string(w->trace, member->key);
    bool plain = member->name == member->key || (key.size == 5 && memcmp(key.data, "value", 5) == 0);
    unit u = unit_of(name, key);
    uint32_t text =
        plain ? ow_string(w, member->name)
              : ow_format(w, "%.*s %.*s", (int)(name.size & 0xffff), name.data, (int)(key.size & 0xffff), key.data);
    uint32_t about = ow_string(w, member->key), unit_ref = ow_text(w, u.name);
    if (text == HD_NONE || about == HD_NONE || unit_ref == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricMember(w->defs, ref, text, about, OTF2_METRIC_TYPE_USER, u.mode,
                                                     member->is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64,
                                                     OTF2_BASE_DECIMAL, 0, unit_ref));
    return HD_OK;
}

static hd_status write_class(ow_writer *w, uint32_t ref)
{
    const ow_metric *metric = &w->metrics[ref];
    hd_event like = {.name = metric->name, .category = metric->category, .shape = metric->shape};
    uint32_t members[OW_SERIES_MAX];
    uint8_t count = 2;
    members[0] = metric->memory_member - 1;
    members[1] = metric->memory_member;
    if (!metric->memory_member) HD_TRY(members_of(members, &count, w, &like));
    OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricClass(w->defs, ref, count, members, OTF2_METRIC_ASYNCHRONOUS,
                                                    OTF2_RECORDER_KIND_ABSTRACT));
    return HD_OK;
}

hd_status ow_write_metrics(ow_writer *w)
{
    for (uint32_t i = 0; i < w->member_count; i++) HD_TRY(write_member(w, i));
    /* In their order, which otf2-print wants; a class has a lower number than its instances. */
    for (uint32_t i = 0; i < w->metric_count; i++) {
        const ow_metric *metric = &w->metrics[i];
        if (metric->class_ref == HD_NONE) {
            HD_TRY(write_class(w, i));
            continue;
        }
        const ow_place *place = &w->places[metric->place];
        OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricInstance(w->defs, i, metric->class_ref, place->first_location,
                                                           OTF2_SCOPE_LOCATION_GROUP, w->groups[metric->scope].ref));
    }
    return HD_OK;
}
