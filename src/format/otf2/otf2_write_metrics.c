/* otf2_write_metrics.c - counters: a metric class per counter and its keys, an instance per location group
 *
 * A class has one member per number of a sample's arguments. A member is INT64 if all samples of its name and key are
 * integers, else DOUBLE. Memory is ABSOLUTE_POINT: true when it was sampled; all else holds until the next sample.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"
#include "format/otf2/otf2_write.h"

static uint64_t counter_key(const hd_event *event)
{
    return (uint64_t)event->category << 32 | event->name;
}

/* ---- which members are there ------------------------------------------------------------------------------- */

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

/* ---- samples --------------------------------------------------------------------------------------------------- */

static hd_status add_metric(uint32_t *out, ow_writer *w, ow_map *map, uint64_t a, uint64_t b, ow_metric metric)
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
    HD_TRY(add_metric(&ref, w, &w->metric_instances, class_ref, place, metric));
    HD_TRY(values_of(types, values, &count, w, event));
    OW_TRY(w, OTF2_EvtWriter_Metric(events, w->attributes, time, ref, count, types, values));
    return HD_OK;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

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
    if (has(name, "byte") || has(key, "byte") || has(name, "memory") || has(key, "memory") || has(name, "alloc") ||
        has(key, "alloc"))
        return (unit){"B", OTF2_METRIC_ABSOLUTE_POINT};
    return (unit){"#", OTF2_METRIC_ABSOLUTE_NEXT};
}

static hd_status write_member(ow_writer *w, uint32_t ref)
{
    const ow_member *member = &w->members[ref];
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
    uint8_t count;
    HD_TRY(members_of(members, &count, w, &like));
    OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricClass(w->defs, ref, count, members, OTF2_METRIC_ASYNCHRONOUS,
                                                    OTF2_RECORDER_KIND_ABSTRACT));
    return HD_OK;
}

hd_status ow_write_metrics(ow_writer *w)
{
    for (uint32_t i = 0; i < w->member_count; i++) HD_TRY(write_member(w, i));
    for (uint32_t i = 0; i < w->metric_count; i++) {
        if (w->metrics[i].class_ref == HD_NONE) HD_TRY(write_class(w, i));
    }
    for (uint32_t i = 0; i < w->metric_count; i++) {
        const ow_metric *metric = &w->metrics[i];
        if (metric->class_ref == HD_NONE) continue;
        const ow_place *place = &w->places[metric->place];
        OW_TRY(w, OTF2_GlobalDefWriter_WriteMetricInstance(w->defs, i, metric->class_ref, place->first_location,
                                                           OTF2_SCOPE_LOCATION_GROUP, w->groups[place->group].ref));
    }
    return HD_OK;
}
