/* capture_rows.c - events of a capture -> rows of a trace */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/capture/capture.h"

enum { CHUNK_ROWS = 65536, ARGS_MAX = 5, HOST = 0 };

struct capture_rows {
    hd_builder *builder;
    hd_batch *batch;
    bool want_args;
    uint32_t key_value, key_scope, key_address, key_bytes, key_device_type, key_device;
    uint32_t memory, memory_category, scope_thread;
    hd_arg_key keys[ARGS_MAX];
    int64_t values[ARGS_MAX];
    uint32_t count;
};

hd_status capture_rows_new(capture_rows **out, hd_builder *builder, bool want_args, hd_error *err)
{
    capture_rows *rows = calloc(1, sizeof *rows);
    *out = NULL;
    if (!rows) return HD_NOMEM(err);
    hd_status status = hd_batch_new(&rows->batch, builder, err);
    if (status != HD_OK) {
        free(rows);
        return status;
    }
    rows->builder = builder;
    rows->want_args = want_args;
    rows->key_value = hd_builder_intern_text(builder, "value");
    rows->key_scope = hd_builder_intern_text(builder, "s");
    rows->key_address = hd_builder_intern_text(builder, "Addr");
    rows->key_bytes = hd_builder_intern_text(builder, "Bytes");
    rows->key_device_type = hd_builder_intern_text(builder, "Device Type");
    rows->key_device = hd_builder_intern_text(builder, "Device Id");
    rows->memory = hd_builder_intern_text(builder, "[memory]");
    rows->memory_category = hd_builder_intern_text(builder, "memory");
    rows->scope_thread = hd_builder_intern_text(builder, "t");
    *out = rows;
    return HD_OK;
}

void capture_rows_free(capture_rows *rows)
{
    if (!rows) return;
    hd_batch_free(rows->batch);
    free(rows);
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

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

/* A double in the fewest digits that give it again. What is no number is text, as JSON has none for it. */
static void add_double(capture_rows *rows, uint32_t key, double value)
{
    char text[40];
    int64_t decimal;
    if (fabs(value) < 9007199254740992.0 && value == (double)(int64_t)value) {
        add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_INT, (int64_t)value);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    if (!isfinite(value)) {
        const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
        add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_STRING, hd_builder_intern_text(rows->builder, name));
    } else if (parse_decimal(&decimal, text)) {
        add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_DECIMAL, decimal);
    } else {
        add_arg(rows, key, HD_SCOPE_ARGS, HD_ARG_NUMBER, hd_builder_intern_text(rows->builder, text));
    }
}

/* As PyTorch says it: bytes below 0 for a release, which are absent if they are not known. */
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

/* ---- events --------------------------------------------------------------------------------------------- */

bool capture_next_event(capture_event *event, hd_byte_reader *b)
{
    uint8_t flags = hd_byte_reader_u8(b);
    event->kind = flags & CAPTURE_KIND_MASK;
    if (event->kind == 0 || event->kind >= CAPTURE_KINDS || flags & CAPTURE_FLAGS_UNKNOWN) return false;
    event->time_ns = (int64_t)((uint64_t)event->time_ns + (uint64_t)hd_byte_reader_zigzag(b));
    if (!(flags & CAPTURE_SAME_NAME)) event->name = hd_byte_reader_varint(b);
    if (!(flags & CAPTURE_SAME_CATEGORY)) event->category = hd_byte_reader_varint(b);
    event->value = event->bytes = event->device = 0;
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
    case CAPTURE_INSTANT: break;
    default: event->value = hd_byte_reader_varint(b);
    }
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
    default: return hd_row_of(HD_KIND_INSTANT, 'i');
    }
}

static void add_args(capture_rows *rows, hd_row *row, const capture_event *event)
{
    double value;
    switch (event->kind) {
    case CAPTURE_SLICE: row->duration_ns = event->value <= INT64_MAX ? (int64_t)event->value : INT64_MAX; break;
    case CAPTURE_COUNTER:
        memcpy(&value, &event->value, sizeof value);
        add_double(rows, rows->key_value, value);
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

static hd_status take(capture_rows *rows, hd_error *err)
{
    hd_chunk *chunk;
    HD_TRY(hd_batch_take(&chunk, rows->batch, err));
    return hd_builder_append(rows->builder, chunk, err);
}

hd_status capture_rows_add(capture_rows *rows, uint32_t track, const capture_event *event, uint32_t name,
                           uint32_t category, hd_error *err)
{
    hd_row row = row_of(event);
    bool is_memory = event->kind == CAPTURE_ALLOCATE || event->kind == CAPTURE_RELEASE;
    row.track = track;
    row.start_ns = event->time_ns;
    row.name = is_memory ? rows->memory : name;
    row.category = is_memory && !category ? rows->memory_category : category;
    rows->count = 0;
    add_args(rows, &row, event);
    if (rows->count) {
        bool has_args = rows->keys[0].scope == HD_SCOPE_ARGS;
        row.shape = hd_builder_shape(rows->builder, rows->keys, rows->count, has_args);
        if (row.shape == HD_NONE) return HD_NOMEM(err); /* there are not that many sets of keys */
    }
    HD_TRY(hd_batch_add(rows->batch, &row, rows->values, err));
    return hd_batch_row_count(rows->batch) < CHUNK_ROWS ? HD_OK : take(rows, err);
}

hd_status capture_rows_finish(capture_rows *rows, hd_error *err)
{
    return take(rows, err);
}
