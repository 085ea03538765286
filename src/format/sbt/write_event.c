/* write_event.c - an event of a trace as SBT records
 *
 * Events read from SBT have their original type in their arguments; others are recognised by Kineto's categories and
 * names, and the rest becomes records of type Custom.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/sbt/write.h"
#include "heddle/analysis/launches.h"
#include "model/roles/copy_ways.h"
#include "trace/text.h"

enum {
    ARG_TYPE,
    ARG_DEVICE,
    ARG_STREAM,
    ARG_CORRELATION,
    ARG_GRID,
    ARG_BLOCK,
    ARG_SHARED,
    ARG_REGISTERS,
    ARG_SOURCE,
    ARG_DESTINATION,
    ARG_BYTES,
    ARG_THREAD,
    ARG_STACK,
    ARG_COMPLETE,
    ARG_REPEATED,
    ARG_COUNT
};

hd_status sbt_writer_init(sbt_writer *writer, const hd_trace *trace, hd_error *err)
{
    static const char *const names[ARG_COUNT] = {
        SBT_KEY_TYPE,  SBT_KEY_DEVICE, SBT_KEY_STREAM,    SBT_KEY_CORRELATION, SBT_KEY_GRID,
        SBT_KEY_BLOCK, SBT_KEY_SHARED, SBT_KEY_REGISTERS, SBT_KEY_SOURCE,      SBT_KEY_DESTINATION,
        SBT_KEY_BYTES, SBT_KEY_THREAD, SBT_KEY_STACK,     SBT_KEY_COMPLETE,    SBT_KEY_REPEATED,
    };
    size_t shapes = hd_trace_shape_count(trace);
    *writer = (sbt_writer){.trace = trace};
    for (int i = 0; i < ARG_COUNT; i++) writer->keys[i] = hd_trace_find_string(trace, names[i], strlen(names[i]));
    HD_TRY(hd_strings_init(&writer->names, err));
    writer->arg_index = malloc((shapes + 1) * ARG_COUNT * sizeof *writer->arg_index);
    writer->unused = malloc((shapes + 1) * sizeof *writer->unused);
    writer->known = calloc(shapes + 1, sizeof *writer->known);
    return writer->arg_index && writer->unused && writer->known ? HD_OK : HD_NOMEM(err);
}

void sbt_writer_deinit(sbt_writer *writer)
{
    hd_strings_deinit(&writer->names);
    hd_bytes_deinit(&writer->frames);
    free(writer->arg_index);
    free(writer->unused);
    free(writer->known);
    free(writer->padded.data);
}

/* ---- arguments ---- */

/* Where a shape has the arguments that SBT knows. */
static const int16_t *indices(sbt_writer *w, uint32_t id)
{
    int16_t *index = w->arg_index + (size_t)id * ARG_COUNT;
    if (w->known[id]) return index;
    const hd_shape *shape = hd_trace_shape_at(w->trace, id);
    w->known[id] = true;
    w->unused[id] = shape->key_count;
    for (int i = 0; i < ARG_COUNT; i++) {
        index[i] =
            (int16_t)(i == ARG_CORRELATION ? shape->correlation : hd_shape_find(shape, w->keys[i], HD_SCOPE_ARGS));
        w->unused[id] -= index[i] >= 0;
    }
    return index;
}

static bool find_arg(hd_value *out, sbt_writer *w, const hd_event *event, int arg)
{
    int16_t index = event->args ? indices(w, event->shape)[arg] : -1;
    if (index < 0) return false;
    out->type = (hd_arg_type)hd_trace_shape_at(w->trace, event->shape)->keys[index].type;
    out->bits = hd_column_at(&event->args->columns[index], event->args_row);
    return true;
}

static bool digits(uint64_t *out, hd_string s)
{
    *out = 0;
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9' || __builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(s.data[i] - '0'), out))
            return false;
    }
    return s.size > 0;
}

static bool number_arg(uint64_t *out, sbt_writer *w, const hd_event *event, int arg)
{
    hd_value value;
    if (!find_arg(&value, w, event, arg)) return false;
    if (value.type == HD_ARG_INT) {
        *out = value.bits < 0 ? 0 : (uint64_t)value.bits;
        return value.bits >= 0;
    }
    bool is_text = value.type == HD_ARG_NUMBER || value.type == HD_ARG_STRING;
    return is_text && digits(out, hd_trace_string(w->trace, (uint32_t)value.bits));
}

/* Three numbers out of "[2, 1, 1]". */
static bool triple_arg(uint64_t *out, sbt_writer *w, const hd_event *event, int arg)
{
    hd_value value;
    if (!find_arg(&value, w, event, arg) || (value.type != HD_ARG_JSON && value.type != HD_ARG_STRING)) return false;
    hd_string s = hd_trace_string(w->trace, (uint32_t)value.bits);
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        while (at < s.size && (s.data[at] < '0' || s.data[at] > '9')) at++;
        size_t from = at;
        while (at < s.size && s.data[at] >= '0' && s.data[at] <= '9') at++;
        if (!digits(&out[i], (hd_string){s.data + from, at - from})) return false;
    }
    return true;
}

static uint64_t name_index(sbt_writer *w, const char *data, size_t size)
{
    uint32_t id = hd_strings_intern(&w->names, data, size);
    return id ? id - 1 : 0; /* out of memory is noticed at the end */
}

/* ---- stacks ---- */

static const char *number_at(uint64_t *out, const char *p)
{
    const char *end = hd_json_skip_digits(p);
    return digits(out, (hd_string){p, (size_t)(end - p)}) ? end : NULL;
}

static const char *name_at(uint64_t *out, sbt_writer *w, const char *p)
{
    hd_json_text text;
    if (*p != '"' || !(p = hd_json_string(&text, p + 1))) return NULL;
    char *decoded = malloc(text.size + 1);
    size_t size;
    if (!decoded) return NULL;
    if (!hd_json_decode(decoded, &size, &text)) size = 0;
    *out = name_index(w, decoded, size);
    free(decoded);
    return p;
}

static const char *comma(const char *p)
{
    p = hd_json_skip_space(p);
    return *p == ',' ? hd_json_skip_space(p + 1) : NULL;
}

/* One [address, function, file, line]. */
static const char *frame_at(sbt_frame *out, sbt_writer *w, const char *p)
{
    if (*p != '[') return NULL;
    p = number_at(&out->address, hd_json_skip_space(p + 1));
    if (p && (p = comma(p))) p = name_at(&out->function, w, p);
    if (p && (p = comma(p))) p = name_at(&out->file, w, p);
    if (p && (p = comma(p))) p = number_at(&out->line, p);
    if (p) p = hd_json_skip_space(p);
    return p && *p == ']' ? p + 1 : NULL;
}

/* The frames of an event into w->frames; false: none, or not in SBT's form. */
static bool stack_arg(uint64_t *out_count, sbt_writer *w, const hd_event *event)
{
    hd_value value;
    static const char padding[HD_JSON_PADDING];
    *out_count = 0;
    w->frames.size = 0;
    if (!find_arg(&value, w, event, ARG_STACK) || value.type != HD_ARG_JSON) return false;
    hd_string s = hd_trace_string(w->trace, (uint32_t)value.bits);
    w->padded.size = 0;
    hd_json_put(&w->padded, s.data, s.size);
    hd_json_put(&w->padded, padding, sizeof padding);
    if (w->padded.failed) return false;
    const char *p = w->padded.data;
    if (*p++ != '[') return false;
    for (p = hd_json_skip_space(p); p && *p != ']'; p = *p == ',' ? hd_json_skip_space(p + 1) : p) {
        sbt_frame frame;
        p = frame_at(&frame, w, p);
        if (!p) return false;
        const uint64_t fields[] = {frame.address, frame.function, frame.file, frame.line};
        for (int i = 0; i < 4; i++) hd_bytes_put_varint(&w->frames, fields[i]);
        ++*out_count;
        p = hd_json_skip_space(p);
        if (*p != ',' && *p != ']') return false;
    }
    return p != NULL;
}

/* ---- types ---- */

static bool holds(hd_string s, const char *word)
{
    return memmem(s.data, s.size, word, strlen(word)) != NULL;
}
/* The type of a CUDA or HIP API call, by its name. */
static int type_of_call(hd_string name)
{
    static const struct {
        const char *word;
        sbt_type type;
    } calls[] = {
        {"StreamSynchronize", SBT_STREAM_SYNC},
        {"DeviceSynchronize", SBT_DEVICE_SYNC},
        {"CtxSynchronize", SBT_DEVICE_SYNC},
        {"EventSynchronize", SBT_EVENT_SYNC},
        {"EventRecord", SBT_EVENT_RECORD},
        {"StreamCreate", SBT_STREAM_CREATE},
        {"StreamDestroy", SBT_STREAM_DESTROY},
        {"CtxCreate", SBT_CONTEXT_CREATE},
        {"CtxDestroy", SBT_CONTEXT_DESTROY},
        {"Malloc", SBT_MEM_ALLOC},
        {"MemAlloc", SBT_MEM_ALLOC},
        {"MemFree", SBT_MEM_FREE},
        {"cudaFree", SBT_MEM_FREE},
        {"hipFree", SBT_MEM_FREE},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (holds(name, calls[i].word)) return (int)calls[i].type;
    }
    return SBT_CUSTOM;
}

static int type_of_foreign(sbt_writer *w, const hd_event *event)
{
    hd_string category = hd_trace_string(w->trace, event->category), name = hd_trace_string(w->trace, event->name);
    if (event->kind == HD_KIND_INSTANT) return SBT_MARKER;
    if (event->kind == HD_KIND_END) return SBT_RANGE_END;
    if (event->phase == 'B') return SBT_RANGE_START;
    uint32_t way = hd_copy_way_of(name);
    switch (hd_role_of(category, name)) {
    case HD_ROLE_KERNEL: return SBT_KERNEL_LAUNCH;
    case HD_ROLE_COPY:
        return way == HD_COPY_WAY('H', 'D')   ? SBT_MEMCPY_H2D
               : way == HD_COPY_WAY('D', 'H') ? SBT_MEMCPY_D2H
                                              : SBT_MEMCPY_D2D;
    case HD_ROLE_SET: return SBT_MEMSET;
    case HD_ROLE_ANNOTATION:
    case HD_ROLE_GPU_ANNOTATION: return SBT_MARKER;
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER: return type_of_call(name);
    default: return SBT_CUSTOM;
    }
}

/* The type that an event brought from SBT, -1: none. */
static int type_of_own(sbt_writer *w, const hd_event *event)
{
    hd_value value;
    uint64_t number;
    if (!find_arg(&value, w, event, ARG_TYPE) || value.type != HD_ARG_STRING) return -1;
    hd_string s = hd_trace_string(w->trace, (uint32_t)value.bits);
    int type = sbt_type_find(s.data, s.size);
    return type >= 0 ? type : digits(&number, s) && number < 256 ? (int)number : -1;
}

/* ---- events ---- */

static void fill_place(sbt_record *record, sbt_writer *w, const hd_event *event)
{
    const hd_track *track = event->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, event->track);
    if (!number_arg(&record->device, w, event, ARG_DEVICE) && track && track->device > 0)
        record->device = (uint64_t)track->device;
    if (!number_arg(&record->stream, w, event, ARG_STREAM) && track && track->stream > 0)
        record->stream = (uint64_t)track->stream;
    number_arg(&record->correlation, w, event, ARG_CORRELATION);
}

static void fill_parameters(sbt_record *record, sbt_writer *w, const hd_event *event)
{
    if (triple_arg(record->kernel, w, event, ARG_GRID) && triple_arg(record->kernel + 3, w, event, ARG_BLOCK)) {
        record->flags |= SBT_HAS_KERNEL;
        number_arg(&record->kernel[6], w, event, ARG_SHARED);
        number_arg(&record->kernel[7], w, event, ARG_REGISTERS);
    }
    bool source = number_arg(&record->memory[0], w, event, ARG_SOURCE);
    bool destination = number_arg(&record->memory[1], w, event, ARG_DESTINATION);
    if (number_arg(&record->memory[2], w, event, ARG_BYTES) || source || destination) record->flags |= SBT_HAS_MEMORY;
}

/* A stack without frames keeps the thread of events that were not SBT's. */
static void fill_stack(sbt_record *record, sbt_writer *w, const hd_event *event, bool foreign)
{
    const hd_track *track = event->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, event->track);
    if (stack_arg(&record->frame_count, w, event)) {
        record->flags |= SBT_HAS_STACK;
        number_arg(&record->thread, w, event, ARG_THREAD);
        return;
    }
    record->frame_count = 0;
    w->frames.size = 0;
    if (!foreign || !track || track->kind != HD_TRACK_THREAD) return;
    if (digits(&record->thread, hd_trace_string(w->trace, track->tid.text)))
        record->flags |= SBT_HAS_STACK;
    else
        w->losses.threads++;
}

static void count_losses(sbt_writer *w, const hd_event *event, unsigned type)
{
    hd_string category = hd_trace_string(w->trace, event->category);
    w->losses.picoseconds += event->start_ps || event->end_ps || event->start_finer || event->end_finer;
    w->losses.categories += category.size && !hd_string_is(category, sbt_type_category(type));
    if (event->args) {
        indices(w, event->shape);
        w->losses.args += w->unused[event->shape];
    }
}

bool sbt_writer_convert(sbt_event *out, sbt_writer *writer, const hd_event *event)
{
    *out = (sbt_event){0};
    if (event->kind != HD_KIND_SLICE && event->kind != HD_KIND_INSTANT && event->kind != HD_KIND_END) {
        writer->losses.kinds[event->kind]++;
        return false;
    }
    if (event->start_ns == HD_NO_TIME) {
        writer->losses.no_time++;
        return false;
    }
    int own = type_of_own(writer, event), type = own >= 0 ? own : type_of_foreign(writer, event);
    hd_string name = hd_trace_string(writer->trace, event->name);
    sbt_record *record = &out->record;
    record->type = (uint8_t)type;
    record->time = (uint64_t)event->start_ns;
    fill_place(record, writer, event);
    record->name = name_index(writer, name.data, name.size);
    fill_parameters(record, writer, event);
    fill_stack(record, writer, event, own < 0);
    count_losses(writer, event, (unsigned)type);
    bool timed = event->kind == HD_KIND_SLICE && event->phase != 'B' && event->duration_ns >= 0;
    bool pair = number_arg(&out->between, writer, event, ARG_COMPLETE) || (own < 0 && type == SBT_KERNEL_LAUNCH);
    if (timed && pair && (type == SBT_KERNEL_LAUNCH || type == SBT_NCCL_START)) {
        hd_value repeated;
        out->has_complete = true;
        out->complete = *record;
        out->complete.type = type == SBT_KERNEL_LAUNCH ? SBT_KERNEL_COMPLETE : SBT_NCCL_COMPLETE;
        out->complete.flags = find_arg(&repeated, writer, event, ARG_REPEATED) ? record->flags & SBT_HAS_KERNEL : 0;
        out->complete.time = record->time + (uint64_t)event->duration_ns;
    } else if (timed && event->duration_ns > 0) {
        record->flags |= SBT_HAS_DURATION;
        record->duration = (uint64_t)event->duration_ns;
    }
    return true;
}
