/* rows.c - events of a capture -> rows of a trace */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/double.h"
#include "format/capture/capture.h"
#include "format/rows_out.h"
#include "heddle/names.h"
#include "heddle/stacks.h"

enum { KERNEL_NAMES = 2048, ARGS_MAX = 12 + CAPTURE_ARGS_MAX, HOST = 0 };

/* A wait of the host, and the GPU's track. */
typedef struct held_wait {
    capture_event event;
    uint32_t track;
} held_wait;

struct capture_rows {
    hd_builder *builder;
    capture_context *context;
    hd_rows_out out;
    bool want_args;
    uint32_t key_value, key_scope, key_address, key_bytes, key_device_type, key_device;
    uint32_t key_correlation, key_external, key_copied, key_node, key_weight, key_stack;
    uint32_t memory, memory_category, scope_thread, kernel;
    struct {
        uint32_t from, to;
    } kernel_names[KERNEL_NAMES]; /* by name: how it is shown */
    hd_arg_key keys[ARGS_MAX];
    int64_t values[ARGS_MAX];
    uint32_t count;
    uint64_t left_out;
    held_wait *held;
    size_t held_count, held_capacity;
    capture_calls waiting; /* calls that wait: the track + 1 instead of a stack */
};

hd_status capture_rows_new(capture_rows **out, hd_builder *builder, capture_context *context,
                           const hd_read_options *options, hd_error *err)
{
    capture_rows *rows = calloc(1, sizeof *rows);
    *out = NULL;
    if (!rows) return HD_NOMEM(err);
    hd_status status = hd_rows_out_init(&rows->out, builder, options->threads, err);
    if (status != HD_OK) {
        free(rows);
        return status;
    }
    rows->builder = builder;
    rows->context = context;
    rows->want_args = options->args == HD_ARGS_ALL;
    rows->key_value = hd_builder_intern_text(builder, "value");
    rows->key_scope = hd_builder_intern_text(builder, "s");
    rows->key_address = hd_builder_intern_text(builder, "Addr");
    rows->key_bytes = hd_builder_intern_text(builder, "Bytes");
    rows->key_device_type = hd_builder_intern_text(builder, "Device Type");
    rows->key_device = hd_builder_intern_text(builder, "Device Id");
    rows->key_correlation = hd_builder_intern_text(builder, "correlation");
    rows->key_copied = hd_builder_intern_text(builder, "bytes");
    rows->key_node = hd_builder_intern_text(builder, "graph node id");
    rows->key_weight = hd_builder_intern_text(builder, "weight");
    rows->key_stack = hd_builder_intern_text(builder, "sf");
    rows->memory = hd_builder_intern_text(builder, "[memory]");
    rows->memory_category = hd_builder_intern_text(builder, "memory");
    rows->scope_thread = hd_builder_intern_text(builder, "t");
    rows->kernel = hd_builder_intern_text(builder, "kernel");
    *out = rows;
    return HD_OK;
}

void capture_rows_free(capture_rows *rows)
{
    if (!rows) return;
    hd_rows_out_deinit(&rows->out);
    capture_calls_deinit(&rows->waiting);
    free(rows->held);
    free(rows);
}

/* ---- arguments ---- */

static void add_arg(capture_rows *rows, uint32_t key, hd_arg_scope scope, hd_arg_type type, int64_t value)
{
    if (scope == HD_SCOPE_ARGS && !rows->want_args) return;
    assert(rows->count < ARGS_MAX);
    rows->keys[rows->count] = (hd_arg_key){.key = key, .type = (uint8_t)type, .scope = (uint8_t)scope};
    rows->values[rows->count++] = value;
}

static void add_unsigned(capture_rows *rows, uint32_t key, uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX) {
        add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_INT, (int64_t)value);
        return;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_NUMBER, hd_builder_intern_text(rows->builder, text));
}

/* The digits of a plain decimal ("-12.5"); false: it has an exponent, or too many. */
static bool parse_decimal(int64_t *out, const char *text)
{
    int64_t mantissa = 0;
    unsigned scale = 0;
    bool behind_point = false, is_negative = *text == '-';
    for (text += is_negative; *text; text++) {
        if (*text == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || mantissa >= (INT64_C(1) << 58) / 10 - 1 || scale == 31) return false;
        mantissa = mantissa * 10 + (*text - '0');
        scale += behind_point;
    }
    *out = hd_decimal_pack(is_negative ? -mantissa : mantissa, scale);
    return true;
}

hd_value capture_double(hd_builder *builder, double value)
{
    char text[40];
    int64_t decimal;
    if (fabs(value) < 9007199254740992.0 && value == (double)(int64_t)value)
        return (hd_value){HD_ARG_INT, (int64_t)value};
    hd_double_text(text, value);
    if (!isfinite(value)) {
        const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
        return (hd_value){HD_ARG_STRING, hd_builder_intern_text(builder, name)};
    }
    if (parse_decimal(&decimal, text)) return (hd_value){HD_ARG_DECIMAL, decimal};
    return (hd_value){HD_ARG_NUMBER, hd_builder_intern_text(builder, text)};
}

/* As in PyTorch: negative bytes for a release, absent if they are unknown. */
static void add_memory(capture_rows *rows, const capture_event *event)
{
    bool is_release = event->kind == CAPTURE_RELEASE, on_host = event->device == HOST;
    add_unsigned(rows, rows->key_address, event->value);
    if (is_release && event->bytes && event->bytes <= INT64_MAX)
        add_arg(rows, rows->key_bytes, HD_SCOPE_ARGS, HD_ARG_INT, -(int64_t)event->bytes);
    else if (!is_release)
        add_unsigned(rows, rows->key_bytes, event->bytes);
    add_arg(rows, rows->key_device_type, HD_SCOPE_ARGS, HD_ARG_INT, on_host ? 0 : 1);
    add_arg(rows, rows->key_device, HD_SCOPE_ARGS, HD_ARG_INT, (int64_t)event->device - 1);
}

/* ---- events ---- */

/* The fields that CAPTURE_MORE announces. */
static bool next_fields(capture_event *event, hd_byte_reader *b)
{
    uint64_t has = hd_byte_reader_varint(b);
    if (has & (uint64_t)CAPTURE_HAS_UNKNOWN) return false;
    if (has & CAPTURE_HAS_TRACK) event->track = hd_byte_reader_varint(b);
    if (has & CAPTURE_HAS_ARGS) event->args = hd_byte_reader_varint(b);
    if (has & CAPTURE_HAS_STACK) event->stack = hd_byte_reader_varint(b);
    if (has & CAPTURE_HAS_CORRELATION) event->correlation = hd_byte_reader_varint(b);
    if (has & CAPTURE_HAS_BYTES) event->bytes = hd_byte_reader_varint(b);
    if (has & CAPTURE_HAS_NODE) event->node = hd_byte_reader_varint(b);
    return true;
}

bool capture_next_event(capture_event *event, hd_byte_reader *b)
{
    uint8_t flags = hd_byte_reader_u8(b);
    capture_event last = *event;
    *event = (capture_event){.kind = flags & CAPTURE_KIND_MASK, .name = last.name, .category = last.category};
    if (event->kind == 0 || event->kind >= CAPTURE_KINDS || flags & CAPTURE_FLAGS_UNKNOWN) return false;
    event->time_ns = (int64_t)((uint64_t)last.time_ns + (uint64_t)hd_byte_reader_zigzag(b));
    if (!(flags & CAPTURE_SAME_NAME)) event->name = hd_byte_reader_varint(b);
    if (!(flags & CAPTURE_SAME_CATEGORY)) event->category = hd_byte_reader_varint(b);
    switch (event->kind) {
    case CAPTURE_COUNTER: event->value = hd_byte_reader_le(b, 8); break;
    case CAPTURE_ALLOCATE:
    case CAPTURE_RELEASE:
        event->value = hd_byte_reader_varint(b);
        event->bytes = hd_byte_reader_varint(b);
        event->device = hd_byte_reader_varint(b);
        if (event->device > UINT32_MAX) return false;
        break;
    case CAPTURE_BEGIN:
    case CAPTURE_FINISH:
    case CAPTURE_INSTANT:
    case CAPTURE_NODE: break;
    default: event->value = hd_byte_reader_varint(b);
    }
    if (flags & CAPTURE_MORE && !next_fields(event, b)) return false;
    return !b->failed;
}

static hd_row row_of(const capture_event *event)
{
    switch (event->kind) {
    case CAPTURE_SLICE: return hd_row_of(HD_KIND_SLICE, 'X');
    case CAPTURE_BEGIN: return hd_row_of(HD_KIND_SLICE, 'B');
    case CAPTURE_FINISH: return hd_row_of(HD_KIND_END, 'E');
    case CAPTURE_COUNTER: return hd_row_of(HD_KIND_COUNTER, 'C');
    case CAPTURE_FLOW_START: return hd_row_of(HD_KIND_FLOW, 's');
    case CAPTURE_FLOW_STEP: return hd_row_of(HD_KIND_FLOW, 't');
    case CAPTURE_FLOW_END: return hd_row_of(HD_KIND_FLOW, 'f');
    case CAPTURE_SAMPLE: return hd_row_of(HD_KIND_SAMPLE, 'P');
    default: return hd_row_of(HD_KIND_INSTANT, 'i');
    }
}

static void add_args(capture_rows *rows, hd_row *row, const capture_event *event)
{
    double value;
    hd_value number;
    switch (event->kind) {
    case CAPTURE_SLICE: row->duration_ns = event->value <= INT64_MAX ? (int64_t)event->value : INT64_MAX; break;
    case CAPTURE_COUNTER:
        memcpy(&value, &event->value, sizeof value);
        number = capture_double(rows->builder, value);
        add_arg(rows, rows->key_value, HD_SCOPE_ARGS, number.type, number.bits);
        break;
    case CAPTURE_SAMPLE:
        if (event->value) add_unsigned(rows, rows->key_weight, event->value);
        break;
    case CAPTURE_FLOW_START:
    case CAPTURE_FLOW_STEP:
    case CAPTURE_FLOW_END:
        row->id_type = HD_ID_INT;
        row->id = (int64_t)event->value;
        row->phase |= HD_FLAG_BIND_ENCLOSING;
        break;
    case CAPTURE_ALLOCATE:
    case CAPTURE_RELEASE: add_memory(rows, event); /* fall through */
    case CAPTURE_INSTANT: add_arg(rows, rows->key_scope, HD_SCOPE_EVENT, HD_ARG_STRING, rows->scope_thread); break;
    default: break;
    }
}

/* The stack of an event: its own, that of its call, or where its graph's node was made. */
static uint32_t stack_of(capture_rows *rows, const capture_event *event, const capture_call *call)
{
    if (event->stack) return capture_lists_stack(rows->context->lists, event->stack);
    bool is_work = capture_lists_track_kind(rows->context->lists, event->track) == CAPTURE_TRACK_STREAM;
    if (!is_work) return call && call->stack ? capture_lists_stack(rows->context->lists, call->stack) : HD_STACK_NONE;
    const capture_call *node = capture_calls_find(&rows->context->nodes, event->node);
    return node && node->stack ? capture_lists_stack(rows->context->lists, node->stack) : HD_STACK_NONE;
}

/* Interned at its first use: a trace that has the text shows that PyTorch was recorded (model/roles/producers.c). */
static uint32_t external_key(capture_rows *rows)
{
    if (!rows->key_external) rows->key_external = hd_builder_intern_text(rows->builder, "External id");
    return rows->key_external;
}

/* Adds further data of tracers. */
static void add_more(capture_rows *rows, const capture_event *event)
{
    const capture_call *call = capture_calls_find(&rows->context->calls, event->correlation);
    const capture_args *args = capture_lists_args(rows->context->lists, event->args);
    bool is_memory = event->kind == CAPTURE_ALLOCATE || event->kind == CAPTURE_RELEASE;
    if (call && call->external) add_unsigned(rows, external_key(rows), call->external);
    if (event->correlation) add_unsigned(rows, rows->key_correlation, event->correlation);
    if (event->bytes && !is_memory) add_unsigned(rows, rows->key_copied, event->bytes);
    if (event->node) add_unsigned(rows, rows->key_node, event->node);
    for (uint32_t i = 0; args && i < args->count; i++)
        add_arg(rows, args->keys[i].key, HD_SCOPE_ARGS, args->keys[i].type, args->values[i]);
    uint32_t stack = stack_of(rows, event, call);
    if (stack != HD_STACK_NONE && rows->want_args) add_arg(rows, rows->key_stack, HD_SCOPE_EVENT, HD_ARG_INT, stack);
}

/* The shape of the arguments. A trace has a limit of shapes: beyond it the tracers' keys are left out. */
static uint32_t shape_of(capture_rows *rows, const capture_event *event)
{
    bool has_args = false;
    for (uint32_t i = 0; i < rows->count; i++) has_args |= rows->keys[i].scope == HD_SCOPE_ARGS;
    uint32_t shape = hd_builder_shape(rows->builder, rows->keys, rows->count, has_args);
    if (shape != HD_NONE || !event->args) return shape;
    capture_event bare = *event;
    bare.args = 0;
    rows->count = 0;
    rows->left_out++;
    add_args(rows, &(hd_row){0}, &bare);
    add_more(rows, &bare);
    return hd_builder_shape(rows->builder, rows->keys, rows->count, true);
}

/* CUDA names kernels as the linker does. */
static uint32_t shown_name(capture_rows *rows, uint32_t name, uint32_t category)
{
    char text[HD_NAME_BYTES];
    if (category != rows->kernel || name == 0) return name;
    hd_string raw = hd_builder_string(rows->builder, name);
    if (raw.size < 3 || memcmp(raw.data, "_Z", 2) != 0) return name;
    size_t slot = name % KERNEL_NAMES;
    if (rows->kernel_names[slot].from != name) {
        size_t size = hd_name_demangle(text, raw);
        rows->kernel_names[slot].from = name;
        rows->kernel_names[slot].to = hd_builder_intern(rows->builder, text, size);
    }
    return rows->kernel_names[slot].to;
}

/* A call that waits for the GPU: cudaStreamSynchronize, cuCtxSynchronize … */
static bool is_wait(const capture_rows *rows, const capture_event *event, uint32_t name)
{
    static const char part[] = "Synchronize";
    if (event->kind != CAPTURE_SLICE || !event->correlation) return false;
    unsigned kind = capture_lists_track_kind(rows->context->lists, event->track);
    if (kind == CAPTURE_TRACK_STREAM || kind == CAPTURE_TRACK_DEVICE) return false;
    hd_string text = hd_builder_string(rows->builder, name);
    return text.size > sizeof part && memmem(text.data, text.size, part, sizeof part - 1);
}

static hd_status add_row(capture_rows *rows, uint32_t track, const capture_event *event, hd_error *err)
{
    hd_row row = row_of(event);
    bool is_memory = event->kind == CAPTURE_ALLOCATE || event->kind == CAPTURE_RELEASE;
    uint32_t name = capture_lists_name(rows->context->lists, event->name);
    uint32_t category = capture_lists_name(rows->context->lists, event->category);
    if (is_wait(rows, event, name) && !capture_calls_add(&rows->waiting, event->correlation, (uint64_t)track + 1, 0))
        return HD_NOMEM(err);
    row.track = track;
    row.start_ns = event->time_ns;
    row.name = is_memory ? rows->memory : shown_name(rows, name, category);
    row.category = is_memory && !category ? rows->memory_category : category;
    rows->count = 0;
    add_args(rows, &row, event);
    add_more(rows, event);
    if (rows->count) {
        row.shape = shape_of(rows, event);
        if (row.shape == HD_NONE) return HD_NOMEM(err); /* cannot be the limit: the number of such shapes is small */
    }
    return hd_rows_out_add(&rows->out, &row, rows->values, err);
}

/* ---- waits ---- */

/* A wait of the host for a GPU is recorded as the GPU's, without its thread; waits of several threads would cross. It
 * belongs in the call that waits, which may be recorded later. */
static hd_status hold(capture_rows *rows, const capture_event *event, uint32_t track, hd_error *err)
{
    if (!hd_grow((void **)&rows->held, &rows->held_capacity, rows->held_count, sizeof *rows->held))
        return HD_NOMEM(err);
    rows->held[rows->held_count++] = (held_wait){*event, track};
    return HD_OK;
}

static hd_status release_waits(capture_rows *rows, hd_error *err)
{
    for (size_t i = 0; i < rows->held_count; i++) {
        const held_wait *wait = &rows->held[i];
        const capture_call *call = capture_calls_find(&rows->waiting, wait->event.correlation);
        HD_TRY(add_row(rows, call ? call->stack - 1 : wait->track, &wait->event, err));
    }
    rows->held_count = 0;
    return HD_OK;
}

hd_status capture_rows_add(capture_rows *rows, uint32_t track, const capture_event *event, hd_error *err)
{
    unsigned kind = capture_lists_track_kind(rows->context->lists, event->track);
    uint32_t other = capture_lists_track(rows->context->lists, event->track);
    if (other != HD_NONE) track = other;
    if (event->kind == CAPTURE_SLICE && event->correlation && kind == CAPTURE_TRACK_DEVICE)
        return hold(rows, event, track, err);
    return add_row(rows, track, event, err);
}

hd_status capture_rows_add_slice(capture_rows *rows, uint32_t track, const char *name, const char *category,
                                 int64_t start_ns, int64_t end_ns, hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.track = track;
    row.start_ns = start_ns;
    row.duration_ns = end_ns - start_ns;
    row.name = hd_builder_intern_text(rows->builder, name);
    row.category = hd_builder_intern_text(rows->builder, category);
    return hd_rows_out_add(&rows->out, &row, rows->values, err);
}

hd_status capture_rows_finish(capture_rows *rows, hd_error *err)
{
    HD_TRY(release_waits(rows, err));
    if (rows->left_out)
        hd_builder_ledger(rows->builder, CAPTURE_STAGE, "capture.args-left-out", HD_LEDGER_LOSS, rows->left_out,
                          HD_OFFSET_NONE);
    return hd_rows_out_flush(&rows->out, err);
}
