/* gpu.c - render stages and counters of GPUs
 *
 * A hardware queue is a stream of the process "GPU n"; a stage is a slice on it, or an instant without a duration.
 */
#include <stdio.h>

#include "format/perfetto/read/reader.h"

typedef struct stage {
    uint64_t duration, queue_iid, stage_iid, context, kernel_iid;
    uint64_t queue_id, stage_id;
    int64_t gpu;
    uint32_t name;
    bool is_copy; /* a track event has it as well */
    bool has_event_id, has_duration, has_queue_iid, has_stage_iid, has_kernel, has_old_queue, has_old_stage;
} stage;

static hd_ident gpu_pid(perfetto_reader *reader, int64_t gpu)
{
    char text[32];
    snprintf(text, sizeof text, "GPU %lld", (long long)gpu);
    return (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(reader->builder, text)};
}

static hd_status gpu_process(hd_ident *out, perfetto_reader *reader, int64_t gpu)
{
    *out = gpu_pid(reader, gpu);
    uint32_t track = hd_builder_track(reader->builder, *out, (hd_ident){0}, true);
    if (track == HD_NONE) return HD_NOMEM(reader->err);
    hd_builder_name_track(reader->builder, track, out->text);
    return HD_OK;
}

/* ---- the tables of the old form ---- */

static hd_status read_description(perfetto_reader *reader, hd_map *map, uint64_t *count, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint32_t name = hd_builder_intern(reader->builder, "", 0);
    while (hd_proto_next(&f, &message))
        if (f.tag == HD_PROTO_BYTES(PF_DESCRIPTION_NAME)) name = perfetto_text(reader, &f);
    HD_TRY(perfetto_check(reader, &message));
    return hd_map_set(map, (*count)++, 0, name) ? HD_OK : HD_NOMEM(reader->err);
}

static hd_status read_specifications(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    hd_map_deinit(&reader->old_queues);
    hd_map_deinit(&reader->old_stages);
    reader->old_queue_count = reader->old_stage_count = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_SPECIFICATIONS_HW_QUEUE))
            HD_TRY(read_description(reader, &reader->old_queues, &reader->old_queue_count, &f));
        if (f.tag == HD_PROTO_BYTES(PF_SPECIFICATIONS_STAGE))
            HD_TRY(read_description(reader, &reader->old_stages, &reader->old_stage_count, &f));
    }
    return perfetto_check(reader, &message);
}

/* ---- arguments ---- */

static hd_status add_extra(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint32_t name = hd_builder_intern(reader->builder, "", 0), value = name;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_EXTRA_DATA_NAME)) name = perfetto_text(reader, &f);
        if (f.tag == HD_PROTO_BYTES(PF_EXTRA_DATA_VALUE)) value = perfetto_text(reader, &f);
    }
    HD_TRY(perfetto_check(reader, &message));
    return perfetto_add_arg(reader, &reader->args, name, HD_ARG_STRING, HD_SCOPE_ARGS, value);
}

/* [x,y,z] */
static hd_status add_dimensions(perfetto_reader *reader, const char *key, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint32_t size[3] = {1, 1, 1};
    char text[64];
    while (hd_proto_next(&f, &message)) {
        uint32_t number = hd_proto_number(&f);
        if ((f.tag & 7) == HD_WIRE_VARINT && number >= PF_DIM3_X && number <= PF_DIM3_Z)
            size[number - 1] = (uint32_t)f.value;
    }
    HD_TRY(perfetto_check(reader, &message));
    snprintf(text, sizeof text, "[%u,%u,%u]", size[0], size[1], size[2]);
    const uint32_t key_id = hd_builder_intern_text(reader->builder, key);
    return perfetto_add_arg(reader, &reader->args, key_id, HD_ARG_JSON, HD_SCOPE_ARGS,
                            hd_builder_intern_text(reader->builder, text));
}

static hd_status add_compute_arg(perfetto_reader *reader, const perfetto_sequence *s, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint32_t name = HD_STRING_NONE;
    hd_arg_type type = HD_ARG_NULL;
    int64_t bits = 0;
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_COMPUTE_ARG_NAME_IID):
            name = perfetto_interned_text(reader, s, PF_INTERNED_COMPUTE_ARG_NAMES, f.value);
            break;
        case HD_PROTO_BYTES(PF_COMPUTE_ARG_NAME): name = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_COMPUTE_ARG_INT_VALUE):
            type = HD_ARG_INT;
            bits = (int64_t)f.value;
            break;
        case HD_PROTO_VARINT(PF_COMPUTE_ARG_UINT_VALUE):
            type = hd_value_of_unsigned(&bits, reader->builder, f.value);
            break;
        case HD_PROTO_FIXED64(PF_COMPUTE_ARG_DOUBLE_VALUE):
            type = hd_value_of_double(&bits, reader->builder, hd_proto_double(f.value));
            break;
        case HD_PROTO_BYTES(PF_COMPUTE_ARG_STRING_VALUE):
            type = HD_ARG_STRING;
            bits = perfetto_text(reader, &f);
            break;
        case HD_PROTO_VARINT(PF_COMPUTE_ARG_STRING_VALUE_IID):
            bits = perfetto_interned_text(reader, s, PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES, f.value);
            type = bits ? HD_ARG_STRING : HD_ARG_NULL;
            break;
        default: break;
        }
    }
    HD_TRY(perfetto_check(reader, &message));
    if (name == HD_STRING_NONE) name = hd_builder_intern(reader->builder, "", 0);
    return perfetto_add_arg(reader, &reader->args, name, type, HD_SCOPE_ARGS, bits);
}

static hd_status add_launch(perfetto_reader *reader, const perfetto_sequence *s, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_LAUNCH_GRID_SIZE)) HD_TRY(add_dimensions(reader, "grid", &f));
        if (f.tag == HD_PROTO_BYTES(PF_LAUNCH_WORKGROUP_SIZE)) HD_TRY(add_dimensions(reader, "block", &f));
        if (f.tag == HD_PROTO_BYTES(PF_LAUNCH_ARGS)) HD_TRY(add_compute_arg(reader, s, &f));
    }
    return perfetto_check(reader, &message);
}

/* ---- render stages ---- */

static hd_status read_stage_argument(perfetto_reader *reader, const perfetto_sequence *s, const hd_proto_field *f)
{
    switch (f->tag) {
    case HD_PROTO_BYTES(PF_STAGE_EXTRA_DATA): return add_extra(reader, f);
    case HD_PROTO_BYTES(PF_STAGE_LAUNCH): return add_launch(reader, s, f);
    case HD_PROTO_BYTES(PF_STAGE_SPECIFICATIONS): return read_specifications(reader, f);
    case HD_PROTO_VARINT(PF_STAGE_EVENT_ID): return perfetto_add_unsigned_arg(reader, "event_id", f->value);
    case HD_PROTO_VARINT(PF_STAGE_CONTEXT): return perfetto_add_unsigned_arg(reader, "context", f->value);
    case HD_PROTO_VARINT(PF_STAGE_RENDER_TARGET_HANDLE):
        return perfetto_add_unsigned_arg(reader, "render_target", f->value);
    case HD_PROTO_VARINT(PF_STAGE_RENDER_PASS_HANDLE):
        return perfetto_add_unsigned_arg(reader, "render_pass", f->value);
    case HD_PROTO_VARINT(PF_STAGE_RENDER_PASS_INSTANCE_ID):
        return perfetto_add_unsigned_arg(reader, "render_pass_instance", f->value);
    case HD_PROTO_VARINT(PF_STAGE_SUBMISSION_ID): return perfetto_add_unsigned_arg(reader, "submission_id", f->value);
    case HD_PROTO_VARINT(PF_STAGE_COMMAND_BUFFER_HANDLE):
        return perfetto_add_unsigned_arg(reader, "command_buffer", f->value);
    case HD_PROTO_VARINT(PF_STAGE_EVENT_WAIT_IDS): return perfetto_add_unsigned_arg(reader, "event_wait_id", f->value);
    case HD_PROTO_VARINT(PF_STAGE_RENDER_SUBPASS_INDEX_MASK):
        return perfetto_add_unsigned_arg(reader, "render_subpass_mask", f->value);
    default: perfetto_note(reader, "perfetto.unknown-field", HD_LEDGER_LOSS, 1); return HD_OK;
    }
}

static hd_status read_stage_fields(stage *out, perfetto_reader *reader, const perfetto_sequence *s,
                                   const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (stage){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_STAGE_DURATION): out->duration = f.value, out->has_duration = true; break;
        case HD_PROTO_VARINT(PF_STAGE_HW_QUEUE_IID): out->queue_iid = f.value, out->has_queue_iid = true; break;
        case HD_PROTO_VARINT(PF_STAGE_STAGE_IID): out->stage_iid = f.value, out->has_stage_iid = true; break;
        case HD_PROTO_VARINT(PF_STAGE_HW_QUEUE_ID): out->queue_id = f.value, out->has_old_queue = true; break;
        case HD_PROTO_VARINT(PF_STAGE_STAGE_ID): out->stage_id = f.value, out->has_old_stage = true; break;
        case HD_PROTO_VARINT(PF_STAGE_GPU_ID): out->gpu = (int32_t)f.value; break;
        case HD_PROTO_BYTES(PF_STAGE_NAME): out->name = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_STAGE_NAME_IID):
            out->name = perfetto_interned_text(reader, s, PF_INTERNED_EVENT_NAMES, f.value);
            break;
        case HD_PROTO_VARINT(PF_STAGE_KERNEL_IID): out->kernel_iid = f.value, out->has_kernel = true; break;
        default:
            if (f.tag == HD_PROTO_VARINT(PF_STAGE_EVENT_ID))
                out->is_copy = f.value >> 32 == PF_STAGE_COPY >> 32, out->has_event_id = true;
            HD_TRY(read_stage_argument(reader, s, &f));
        }
    }
    return perfetto_check(reader, &message);
}

static hd_status queue_track(uint32_t *out, perfetto_reader *reader, const perfetto_sequence *s, const stage *g)
{
    uint64_t number = g->has_queue_iid ? g->queue_iid : g->queue_id;
    uint32_t name = HD_STRING_NONE;
    const perfetto_record *spec = NULL;
    hd_ident pid;
    char text[48];
    if (g->has_queue_iid) spec = perfetto_interned_record(reader, s, PF_INTERNED_GPU_SPECIFICATIONS, number);
    if (spec) name = spec->text[0];
    if (!g->has_queue_iid && !hd_map_get(&name, &reader->old_queues, number, 0)) name = HD_STRING_NONE;
    if (!name || hd_builder_string(reader->builder, name).size == 0) {
        snprintf(text, sizeof text, "queue %llu", (unsigned long long)number);
        name = hd_builder_intern_text(reader->builder, text);
    }
    HD_TRY(gpu_process(&pid, reader, g->gpu));
    *out = hd_builder_track(reader->builder, pid, (hd_ident){HD_IDENT_STRING, name}, false);
    if (*out == HD_NONE) return HD_NOMEM(reader->err);
    hd_builder_name_track(reader->builder, *out, name);
    hd_builder_set_stream(reader->builder, *out, g->gpu, number <= INT32_MAX ? (int64_t)number : HD_NO_NUMBER);
    return HD_OK;
}

static void name_stage(hd_row *row, perfetto_reader *reader, const perfetto_sequence *s, const stage *g)
{
    const perfetto_record *kernel = NULL, *spec = NULL;
    uint32_t old;
    row->name = g->name;
    row->category = hd_builder_intern_text(reader->builder, g->has_kernel ? "kernel" : "gpu_render_stage");
    if (g->has_kernel) kernel = perfetto_interned_record(reader, s, PF_INTERNED_COMPUTE_KERNELS, g->kernel_iid);
    if (kernel && !row->name) row->name = kernel->text[1] ? kernel->text[1] : kernel->text[0];
    if (!row->name && g->has_stage_iid)
        spec = perfetto_interned_record(reader, s, PF_INTERNED_GPU_SPECIFICATIONS, g->stage_iid);
    if (spec) row->name = spec->text[0];
    if (!row->name && g->has_old_stage && hd_map_get(&old, &reader->old_stages, g->stage_id, 0)) row->name = old;
}

hd_status perfetto_read_stage(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field,
                              int64_t time_ns, bool has_time)
{
    stage g;
    reader->args.count = 0;
    HD_TRY(read_stage_fields(&g, reader, sequence, field));
    bool is_event = g.has_event_id || g.has_duration || g.has_queue_iid || g.has_old_queue;
    if (!is_event || g.is_copy) return HD_OK; /* !is_event: specifications only */
    if (!has_time || g.duration > INT64_MAX) {
        perfetto_note(reader, "perfetto.event-without-time", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    hd_row row = hd_row_of(g.has_duration ? HD_KIND_SLICE : HD_KIND_INSTANT, g.has_duration ? 'X' : 'i');
    row.start_ns = time_ns;
    if (g.has_duration) row.duration_ns = (int64_t)g.duration;
    HD_TRY(queue_track(&row.track, reader, sequence, &g));
    name_stage(&row, reader, sequence, &g);
    return perfetto_add_row(reader, &row, &reader->args);
}

/* ---- counters ---- */

static uint32_t unit_text(perfetto_reader *reader, const uint64_t *over, size_t over_count, uint64_t under)
{
    static const char *const names[] = {
        "",   "bit", "kbit", "Mbit",     "Gbit",   "Tbit",       "Pbit",      "bytes",       "KB", "MB", "GB",
        "TB", "PB",  "Hz",   "kHz",      "MHz",    "GHz",        "THz",       "PHz",         "ns", "us", "ms",
        "s",  "min", "h",    "vertices", "pixels", "triangles",  "mW",        "W",           "kW", "J",  "V",
        "A",  "C",   "F",    "K",        "%",      "primitives", "fragments", "instructions"};
    const size_t count = sizeof names / sizeof *names;
    reader->text.size = 0;
    for (size_t i = 0; i < over_count; i++) {
        if (over[i] >= count || over[i] == 0) continue;
        if (reader->text.size) hd_json_put_text(&reader->text, " ");
        hd_json_put_text(&reader->text, names[over[i]]);
    }
    if (under && under < count) {
        hd_json_put_text(&reader->text, "/");
        hd_json_put_text(&reader->text, names[under]);
    }
    if (reader->text.size == 0) return HD_STRING_NONE;
    return hd_builder_intern(reader->builder, reader->text.data, reader->text.size);
}

static hd_status read_spec(perfetto_reader *reader, hd_map *map, uint64_t scope, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint64_t id = 0, over[4], under = 0, value;
    size_t over_count = 0;
    perfetto_record spec = {.number = 0};
    while (hd_proto_next(&f, &message)) {
        size_t at = 0;
        if (f.tag == HD_PROTO_VARINT(PF_GPU_COUNTER_SPEC_COUNTER_ID)) id = f.value;
        if (f.tag == HD_PROTO_BYTES(PF_GPU_COUNTER_SPEC_NAME)) spec.text[0] = perfetto_text(reader, &f);
        if (hd_proto_number(&f) == PF_GPU_COUNTER_SPEC_NUMERATOR_UNITS)
            while (hd_proto_repeated(&value, &f, HD_WIRE_VARINT, &at, &message))
                if (over_count < 4) over[over_count++] = value;
        if (hd_proto_number(&f) == PF_GPU_COUNTER_SPEC_DENOMINATOR_UNITS)
            while (hd_proto_repeated(&value, &f, HD_WIRE_VARINT, &at, &message)) under = value;
    }
    HD_TRY(perfetto_check(reader, &message));
    spec.text[1] = unit_text(reader, over, over_count, under);
    uint32_t index;
    HD_TRY(perfetto_add_record(reader, &index, spec));
    return hd_map_set(map, scope, id, index) ? HD_OK : HD_NOMEM(reader->err);
}

hd_status perfetto_read_counter_specs(perfetto_reader *reader, hd_map *map, uint64_t scope, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &message))
        if (f.tag == HD_PROTO_BYTES(PF_GPU_COUNTER_DESCRIPTOR_SPECS)) HD_TRY(read_spec(reader, map, scope, &f));
    return perfetto_check(reader, &message);
}

static hd_status add_gpu_counter(perfetto_reader *reader, const hd_map *map, uint64_t scope, int64_t gpu,
                                 int64_t time_ns, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint64_t id = 0;
    perfetto_number value = {0};
    bool has_value = false;
    uint32_t index, name = HD_STRING_NONE, unit = HD_STRING_NONE;
    hd_ident pid;
    char text[48];
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_GPU_COUNTER_COUNTER_ID)) id = f.value;
        if (f.tag == HD_PROTO_VARINT(PF_GPU_COUNTER_INT_VALUE)) value.integer = (int64_t)f.value, has_value = true;
        if (f.tag == HD_PROTO_FIXED64(PF_GPU_COUNTER_DOUBLE_VALUE))
            value = (perfetto_number){.is_double = true, .real = hd_proto_double(f.value)}, has_value = true;
    }
    HD_TRY(perfetto_check(reader, &message));
    if (!has_value) {
        perfetto_note(reader, "perfetto.counter-without-value", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    if (hd_map_get(&index, map, scope, id)) {
        name = reader->records[index].text[0];
        unit = reader->records[index].text[1];
    }
    if (!name) {
        snprintf(text, sizeof text, "counter %llu", (unsigned long long)id);
        name = hd_builder_intern_text(reader->builder, text);
    }
    HD_TRY(gpu_process(&pid, reader, gpu));
    uint32_t track = hd_builder_track(reader->builder, pid, (hd_ident){0}, false);
    if (track == HD_NONE) return HD_NOMEM(reader->err);
    const perfetto_counter counter = {
        .name = name, .unit = unit, .series = hd_builder_intern_text(reader->builder, "value")};
    return perfetto_add_counter_row(reader, track, &counter, time_ns, value);
}

hd_status perfetto_read_gpu_counters(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field,
                                     int64_t time_ns, bool has_time)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size), again = message;
    hd_proto_field f, descriptor = {0};
    uint64_t iid = 0;
    int64_t gpu = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_GPU_COUNTERS_GPU_ID)) gpu = (int32_t)f.value;
        if (f.tag == HD_PROTO_VARINT(PF_GPU_COUNTERS_COUNTER_DESCRIPTOR_IID)) iid = f.value;
        if (f.tag == HD_PROTO_BYTES(PF_GPU_COUNTERS_COUNTER_DESCRIPTOR)) descriptor = f;
    }
    HD_TRY(perfetto_check(reader, &message));
    const hd_map *map = iid ? &sequence->interned : &reader->gpu_counters;
    uint64_t scope = iid ? iid | UINT64_C(1) << 63 : (uint64_t)gpu;
    if (descriptor.data) HD_TRY(perfetto_read_counter_specs(reader, &reader->gpu_counters, (uint64_t)gpu, &descriptor));
    if (iid) {
        const perfetto_record *r = perfetto_interned_record(reader, sequence, PF_INTERNED_GPU_COUNTER_DESCRIPTORS, iid);
        if (r && r->number != HD_NO_NUMBER) gpu = r->number;
    }
    while (hd_proto_next(&f, &again)) {
        if (f.tag != HD_PROTO_BYTES(PF_GPU_COUNTERS_COUNTERS)) continue;
        if (has_time)
            HD_TRY(add_gpu_counter(reader, map, scope, gpu, time_ns, &f));
        else
            perfetto_note(reader, "perfetto.event-without-time", HD_LEDGER_LOSS, 1);
    }
    return HD_OK;
}
