/* counters.c - series and samples of counters, from their events */
#include "query/tables/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "trace/spill.h"

#define EXACT (INT64_C(1) << 53) /* whole numbers up to this are exact as doubles */

/* A number, or a text that is a number, also with a sign or leading zeros, or a point without digits on one side. */
static bool number_of(double *out, const hd_trace *trace, hd_value value)
{
    if (value.type == HD_ARG_BOOL || value.type == HD_ARG_NULL || value.type == HD_ARG_JSON) return false;
    if (hd_value_double(out, trace, value)) return true;
    if (value.type != HD_ARG_STRING) return false;
    hd_string text = hd_trace_string(trace, (uint32_t)value.bits);
    char copy[64], *end;
    if (text.size == 0 || text.size >= sizeof copy) return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    bool digit = strpbrk(copy, "0123456789") != NULL;
    if (!digit || strspn(copy, "+-.0123456789eE") != text.size) return false;
    *out = strtod(copy, &end);
    return end == copy + text.size;
}

static hd_status name_series(query_series *series, query_counters *counters, const hd_trace *trace, uint32_t id_type,
                             hd_error *err)
{
    hd_string name = hd_trace_string(trace, series->event_name), key = hd_trace_string(trace, series->key),
              id = {"", 0};
    char number[24];
    if ((id_type & HD_ID_VALUE_MASK) == HD_ID_INT)
        id = (hd_string){number, (size_t)snprintf(number, sizeof number, "%lld", (long long)series->id)};
    else if (id_type & HD_ID_VALUE_MASK)
        id = hd_trace_string(trace, (uint32_t)series->id);
    size_t size = name.size + 1 + key.size + (id.size ? id.size + 2 : 0);
    char *text = hd_arena_alloc(&counters->arena, size + 1), *at = text;
    if (!text) return HD_NOMEM(err);
    memcpy(at, name.data, name.size);
    at += name.size;
    if (id.size) {
        *at++ = '[';
        memcpy(at, id.data, id.size);
        at += id.size;
        *at++ = ']';
    }
    *at++ = ' ';
    memcpy(at, key.data, key.size);
    series->name = (hd_string){text, size};
    return HD_OK;
}

static hd_status series_of(uint32_t *out, query_counters *counters, const hd_trace *trace, const hd_event *event,
                           uint32_t process, uint32_t key, hd_error *err)
{
    uint64_t hash = hd_hash_pair(hd_hash_pair((uint64_t)process << 32 | event->name, key), (uint64_t)event->id);
    HD_SLOTS_FIND(*out, &counters->slots, hash,
                  counters->series[*out].process == process && counters->series[*out].event_name == event->name &&
                      counters->series[*out].key == key && counters->series[*out].id == event->id);
    if (*out != HD_SLOTS_NONE) return HD_OK;
    if (!hd_grow((void **)&counters->series, &counters->series_capacity, counters->series_count,
                 sizeof *counters->series) ||
        !hd_slots_add(&counters->slots, hash, (uint32_t)counters->series_count))
        return HD_NOMEM(err);
    query_series *series = &counters->series[counters->series_count];
    *series = (query_series){.process = process, .event_name = event->name, .key = key, .id = event->id};
    *out = (uint32_t)counters->series_count++;
    return name_series(series, counters, trace, event->id_type, err);
}

static hd_status add_event(query_counters *counters, const hd_trace *trace, const hd_event *event, hd_error *err)
{
    if (!event->args || event->start_ns == HD_NO_TIME) return HD_OK;
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    uint32_t process = HD_NONE, series;
    if (event->track < hd_trace_track_count(trace)) {
        const hd_track *track = hd_trace_track_at(trace, event->track);
        process = track->kind == HD_TRACK_PROCESS ? track->same_as : track->parent;
        if (process < hd_trace_track_count(trace)) process = hd_trace_track_at(trace, process)->same_as;
    }
    for (uint32_t k = 0; k < shape->key_count; k++) {
        hd_value value = {.type = (hd_arg_type)shape->keys[k].type};
        double number;
        if (shape->keys[k].scope != HD_SCOPE_ARGS) continue;
        value.bits = hd_column_at(&event->args->columns[k], event->args_row);
        if (!number_of(&number, trace, value)) continue;
        HD_TRY(series_of(&series, counters, trace, event, process, shape->keys[k].key, err));
        if (!hd_large_grow((void **)&counters->samples, &counters->sample_capacity, counters->sample_count,
                           sizeof *counters->samples, hd_trace_large_bytes(trace)))
            return HD_NOMEM(err);
        counters->series[series].samples++;
        query_sample *sample = &counters->samples[counters->sample_count++];
        *sample = (query_sample){
            .time_ns = event->start_ns, .value = {.real = number}, .series = series, .row = (uint32_t)event->row};
        if (value.type == HD_ARG_INT && (value.bits < -EXACT || value.bits > EXACT)) {
            sample->value.whole = value.bits;
            sample->is_whole = true;
        }
    }
    return HD_OK;
}

static hd_status add_events(query_counters *counters, const query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_COUNTER, b);
        HD_TRY(query_check_stop(source->tables, err));
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            HD_TRY(add_event(counters, trace, &event, err));
        }
    }
    return HD_OK;
}

hd_status query_counters_make(query_source *source, hd_error *err)
{
    if (source->counters) return HD_OK;
    HD_TRY(query_async_make(source, err));
    if (hd_trace_row_count(source->trace, HD_KIND_COUNTER) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 counter events");
    query_counters *counters = calloc(1, sizeof *counters);
    if (!counters) return HD_NOMEM(err);
    hd_status status = add_events(counters, source, err);
    if (status == HD_OK)
        source->counters = counters;
    else
        query_counters_free(counters);
    return status;
}

void query_counters_free(query_counters *counters)
{
    if (!counters) return;
    hd_slots_deinit(&counters->slots);
    hd_arena_deinit(&counters->arena);
    hd_large_free(counters->samples);
    free(counters->series);
    free(counters);
}
