/* events.c - regions, samples, metrics and parameters -> rows
 *
 * A slice is held back for the parameters that follow its Enter: they are its arguments. So are the attributes of its
 * Enter and its Leave. A metric is one counter row per member, with the unit as name of the series ("value" if there is
 * none).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/otf2/read/read.h"

#define EVENT OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *attributes

#define BEGIN                                                                                                          \
    otf2_reader *r = user;                                                                                             \
    (void)ref;                                                                                                         \
    if (otf2_begin_event(r, time, position) != OTF2_CALLBACK_SUCCESS) return OTF2_CALLBACK_INTERRUPT

static OTF2_CallbackCode add_row(otf2_reader *r, hd_row *row)
{
    hd_status status = otf2_add_row(r, row);
    if (status == HD_OK) status = r->status;
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
}

/* ---- regions ---- */

static OTF2_CallbackCode enter(otf2_reader *r, const otf2_def *what, OTF2_TimeStamp time,
                               OTF2_AttributeList *attributes)
{
    otf2_location *location = &r->location;
    hd_row *row = &location->row;
    *row = otf2_row(r, HD_KIND_SLICE, 'X', time);
    if (what) {
        row->name = what->name;
        row->category = what->category;
    }
    if (location->slice_count < location->ends.count) { /* always, unless the file changed between the passes */
        uint64_t end = location->ends.at[location->slice_count];
        row->duration_ns = otf2_ns_between(row->start_ns, otf2_ns(r, end, &row->end_ps));
    }
    otf2_arg_attributes(r, attributes);
    if (r->is_own) otf2_own_fill(r, row);
    location->slice_count++;
    location->pending = true;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_enter(EVENT, OTF2_RegionRef region)
{
    BEGIN;
    return enter(r, otf2_get(r, DEF_REGION, region), time, attributes);
}

/* The slice has its end and this event's attributes already, unless nothing was open. */
static OTF2_CallbackCode leave(otf2_reader *r, const otf2_def *what, OTF2_TimeStamp time,
                               OTF2_AttributeList *attributes)
{
    otf2_location *location = &r->location;
    uint64_t number = location->leave_count++;
    if (location->stray >= location->strays.count || location->strays.at[location->stray] != number)
        return OTF2_CALLBACK_SUCCESS;
    location->stray++;
    hd_row row = otf2_row(r, HD_KIND_END, 'E', time);
    if (what) {
        row.name = what->name;
        row.category = what->category;
    }
    otf2_arg_attributes(r, attributes);
    return add_row(r, &row);
}

static OTF2_CallbackCode on_leave(EVENT, OTF2_RegionRef region)
{
    BEGIN;
    return leave(r, otf2_get(r, DEF_REGION, region), time, attributes);
}

static void arg_code(otf2_reader *r, const otf2_def *context)
{
    uint32_t code = context ? otf2_ref_name(r, DEF_SOURCE_CODE_LOCATION, context->values[CONTEXT_CODE]) : 0;
    if (code != HD_STRING_NONE) otf2_arg(r, hd_builder_intern_text(r->builder, "code"), HD_ARG_STRING, code);
}

static OTF2_CallbackCode on_context_enter(EVENT, OTF2_CallingContextRef context, uint32_t unwind_distance)
{
    BEGIN;
    const otf2_def *what = otf2_get(r, DEF_CALLING_CONTEXT, context);
    OTF2_CallbackCode code = enter(r, what, time, attributes);
    arg_code(r, what);
    otf2_arg_uint(r, hd_builder_intern_text(r->builder, "unwind_distance"), unwind_distance);
    return code;
}

static OTF2_CallbackCode on_context_leave(EVENT, OTF2_CallingContextRef context)
{
    BEGIN;
    return leave(r, otf2_get(r, DEF_CALLING_CONTEXT, context), time, attributes);
}

/* The frames of a sample from the outermost, as one text "main;f;g". */
static uint32_t stack_text(otf2_reader *r, const otf2_def *context)
{
    enum { MOST_FRAMES = 512 };
    uint32_t frames[MOST_FRAMES];
    int count = 0;
    for (; context && count < MOST_FRAMES; context = otf2_get(r, DEF_CALLING_CONTEXT, context->values[CONTEXT_PARENT]))
        frames[count++] = context->name;
    hd_json_out out = {0};
    while (count--) {
        hd_string name = hd_builder_string(r->builder, frames[count]);
        if (out.size) hd_json_put_text(&out, ";");
        hd_json_put(&out, name.data, name.size);
    }
    uint32_t id = out.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, out.data, out.size);
    free(out.data);
    return id;
}

static OTF2_CallbackCode on_sample(EVENT, OTF2_CallingContextRef context, uint32_t unwind_distance,
                                   OTF2_InterruptGeneratorRef generator)
{
    BEGIN;
    const otf2_def *what = otf2_require(r, DEF_CALLING_CONTEXT, context);
    hd_row row = otf2_row(r, HD_KIND_SAMPLE, 'P', time);
    row.name = what ? what->name : HD_STRING_NONE;
    row.category = what ? what->category : HD_STRING_NONE;
    otf2_arg_attributes(r, attributes);
    const uint32_t key_id = hd_builder_intern_text(r->builder, "stack");
    otf2_arg(r, key_id, HD_ARG_STRING, stack_text(r, what));
    arg_code(r, what);
    otf2_arg_uint(r, hd_builder_intern_text(r->builder, "unwind_distance"), unwind_distance);
    uint32_t by = otf2_ref_name(r, DEF_INTERRUPT_GENERATOR, generator);
    if (by != HD_STRING_NONE) otf2_arg(r, hd_builder_intern_text(r->builder, "interrupt"), HD_ARG_STRING, by);
    return add_row(r, &row);
}

/* ---- metrics ---- */

/* The unit, with its scale: "bytes", "10^3 bytes". */
static uint32_t series_name(otf2_reader *r, const otf2_def *member)
{
    char scale[48] = "", text[256];
    hd_string unit = hd_builder_string(r->builder, otf2_ref_name(r, DEF_STRING, member->values[MEMBER_UNIT]));
    int64_t exponent = (int64_t)member->values[MEMBER_EXPONENT];
    if (exponent != 0)
        snprintf(scale, sizeof scale, "%d^%" PRId64 " ", member->values[MEMBER_BASE] == OTF2_BASE_DECIMAL ? 10 : 2,
                 exponent);
    snprintf(text, sizeof text, "%s%.*s", scale, (int)(unit.size < 200 ? unit.size : 200), unit.data);
    if (unit.size >= 200 || !text[0]) return hd_builder_intern_text(r->builder, text[0] ? scale : "value");
    return hd_builder_intern_text(r->builder, text);
}

/* The track of a counter: the location or group that the metric is about, else the process of the location that records
 * it. */
static uint32_t counter_track(otf2_reader *r, const otf2_def *metric)
{
    const otf2_def *location = r->location.def, *other;
    uint64_t scope = metric->values[METRIC_SCOPE], ref = metric->values[METRIC_SCOPE_REF];
    if (scope == UINT64_MAX) return r->location.track;
    if (scope == OTF2_SCOPE_LOCATION && (other = otf2_get(r, DEF_LOCATION, ref)) && other->track != HD_NONE)
        return other->track;
    if (scope == OTF2_SCOPE_LOCATION_GROUP && (other = otf2_get(r, DEF_LOCATION_GROUP, ref)) && other->track != HD_NONE)
        return other->track;
    return otf2_process_track(r, location->values[LOCATION_GROUP]);
}

void otf2_arg_metric(otf2_reader *r, uint32_t key, OTF2_Type type, OTF2_MetricValue value)
{
    if (type == OTF2_TYPE_DOUBLE || type == OTF2_TYPE_FLOAT)
        otf2_arg_double(r, key, value.floating_point);
    else if (type >= OTF2_TYPE_INT8 && type <= OTF2_TYPE_INT64)
        otf2_arg(r, key, HD_ARG_INT, value.signed_int);
    else
        otf2_arg_uint(r, key, value.unsigned_int);
}

/* Rows of a member differ only in the value: looked up once. */
static otf2_def *member_at(otf2_reader *r, const otf2_def *class, uint8_t index)
{
    if (index >= class->list_count) return NULL;
    otf2_def *member = otf2_find(r, DEF_METRIC_MEMBER, class->list[index]);
    if (member && member->category == HD_STRING_NONE) member->category = series_name(r, member);
    return member;
}

static hd_status add_metric(otf2_reader *r, const hd_row *common, const otf2_def *member, OTF2_Type type,
                            OTF2_MetricValue value)
{
    hd_row row = *common;
    row.name = member ? member->name : hd_builder_intern_text(r->builder, "metric");
    otf2_args_clear(r);
    otf2_arg_metric(r, member ? member->category : hd_builder_intern_text(r->builder, "value"), type, value);
    if (member && (member->values[MEMBER_MODE] & OTF2_METRIC_VALUE_MASK) == OTF2_METRIC_VALUE_RELATIVE)
        r->relative_metrics++;
    return otf2_add_row(r, &row);
}

static OTF2_CallbackCode on_metric(EVENT, OTF2_MetricRef metric_ref, uint8_t count, const OTF2_Type *types,
                                   const OTF2_MetricValue *values)
{
    BEGIN;
    const otf2_def *metric = otf2_require(r, DEF_METRIC, metric_ref), *class = metric;
    if (!metric) return otf2_stop(r, HD_NOMEM(r->err));
    if (metric->values[METRIC_SCOPE] != UINT64_MAX || metric->missing)
        class = otf2_find(r, DEF_METRIC, metric->values[METRIC_CLASS]);
    if (class && !class->missing && class->list_count != count)
        otf2_lint_event(&r->lint, LINT_METRIC_MEMBERS, "metric %u has %u values; its class has %u members", metric_ref,
                        count, class->list_count);
    hd_row row = otf2_row(r, HD_KIND_COUNTER, 'C', time);
    if (r->is_own && class) {
        hd_status status = otf2_own_add_metric(r, &row, class, count, types, values, attributes);
        return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
    }
    row.track = counter_track(r, metric);
    for (uint8_t i = 0; i < count; i++) {
        hd_status status = add_metric(r, &row, class ? member_at(r, class, i) : NULL, types[i], values[i]);
        if (status != HD_OK) return otf2_stop(r, status);
    }
    if (!attributes || !OTF2_AttributeList_GetNumberOfElements(attributes)) return OTF2_CALLBACK_SUCCESS;
    row = otf2_row(r, HD_KIND_INSTANT, 'i', time); /* they are not series: next to the counters, as an instant */
    row.name = hd_builder_intern_text(r->builder, "Metric");
    otf2_args_clear(r);
    otf2_arg_attributes(r, attributes);
    return add_row(r, &row);
}

/* ---- parameters ---- */

/* Directly after an Enter a parameter is an argument of the slice; elsewhere it is an instant. */
static OTF2_CallbackCode parameter(otf2_reader *r, OTF2_TimeStamp time, uint64_t position, OTF2_ParameterRef which,
                                   OTF2_Type type, OTF2_AttributeValue value, OTF2_AttributeList *attributes)
{
    otf2_location *location = &r->location;
    uint32_t ps;
    bool joins = location->pending;
    location->pending = false;
    size_t kept = r->args.count;
    if (otf2_begin_event(r, time, position) != OTF2_CALLBACK_SUCCESS) return OTF2_CALLBACK_INTERRUPT;
    hd_row row = otf2_row(r, HD_KIND_INSTANT, 'i', time);
    row.name = otf2_ref_name(r, DEF_PARAMETER, which);
    if (joins) {
        r->args.count = kept; /* restores the arguments that begin_event cleared */
        location->pending = true;
        if (otf2_ns(r, time, &ps) != location->row.start_ns) r->late_parameters++;
    }
    otf2_arg_value(r, row.name, type, value);
    otf2_arg_attributes(r, attributes);
    return joins ? OTF2_CALLBACK_SUCCESS : add_row(r, &row);
}

static OTF2_CallbackCode on_parameter_string(EVENT, OTF2_ParameterRef which, OTF2_StringRef string)
{
    (void)ref;
    return parameter(user, time, position, which, OTF2_TYPE_STRING, (OTF2_AttributeValue){.stringRef = string},
                     attributes);
}

static OTF2_CallbackCode on_parameter_int(EVENT, OTF2_ParameterRef which, int64_t value)
{
    (void)ref;
    return parameter(user, time, position, which, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = value}, attributes);
}

static OTF2_CallbackCode on_parameter_uint(EVENT, OTF2_ParameterRef which, uint64_t value)
{
    (void)ref;
    return parameter(user, time, position, which, OTF2_TYPE_UINT64, (OTF2_AttributeValue){.uint64 = value}, attributes);
}

#define SET(name, function) OTF2_EvtReaderCallbacks_Set##name##Callback(callbacks, function)

void otf2_set_event_callbacks(OTF2_EvtReaderCallbacks *callbacks)
{
    SET(Enter, on_enter);
    SET(Leave, on_leave);
    SET(CallingContextEnter, on_context_enter);
    SET(CallingContextLeave, on_context_leave);
    SET(CallingContextSample, on_sample);
    SET(Metric, on_metric);
    SET(ParameterString, on_parameter_string);
    SET(ParameterInt, on_parameter_int);
    SET(ParameterUnsignedInt, on_parameter_uint);
}
