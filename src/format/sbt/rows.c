/* rows.c - records of an SBT file -> rows of a trace */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "format/rows_out.h"
#include "format/sbt/sbt.h"

enum { KEY_LIMIT = 16, STREAM_SLOTS = 1024 };

/* The keys of arguments, by their place in `keys`. */
enum {
    KEY_TYPE,
    KEY_DEVICE,
    KEY_STREAM,
    KEY_CORRELATION,
    KEY_GRID,
    KEY_BLOCK,
    KEY_SHARED,
    KEY_REGISTERS,
    KEY_SOURCE,
    KEY_DESTINATION,
    KEY_BYTES,
    KEY_THREAD,
    KEY_STACK,
    KEY_COMPLETE,
    KEY_REPEATED,
    KEY_COUNT
};

static const char *const key_names[KEY_COUNT] = {
    SBT_KEY_TYPE,  SBT_KEY_DEVICE, SBT_KEY_STREAM,    SBT_KEY_CORRELATION, SBT_KEY_GRID,
    SBT_KEY_BLOCK, SBT_KEY_SHARED, SBT_KEY_REGISTERS, SBT_KEY_SOURCE,      SBT_KEY_DESTINATION,
    SBT_KEY_BYTES, SBT_KEY_THREAD, SBT_KEY_STACK,     SBT_KEY_COMPLETE,    SBT_KEY_REPEATED,
};

typedef struct stream_entry {
    uint64_t device, stream;
    uint32_t track;
    bool used;
} stream_entry;

struct sbt_rows {
    hd_builder *builder;
    hd_rows_out out;
    const uint32_t *strings;
    size_t string_count;
    uint32_t unnamed;
    uint32_t keys[KEY_COUNT];
    uint32_t types[256], categories[256];
    stream_entry streams[STREAM_SLOTS]; /* the last track of each slot */
    hd_arg_key shape[KEY_LIMIT];
    int64_t values[KEY_LIMIT];
    uint32_t count; /* of arguments of the row at hand */
    hd_json_out text;
    uint64_t bad_names, bad_times, cut_durations;
};

hd_status sbt_rows_new(sbt_rows **out, hd_builder *builder, const uint32_t *strings, size_t string_count,
                       uint32_t unnamed, unsigned threads, hd_error *err)
{
    sbt_rows *rows = calloc(1, sizeof *rows);
    *out = NULL;
    if (!rows) return HD_NOMEM(err);
    hd_status status = hd_rows_out_init(&rows->out, builder, threads, err);
    if (status != HD_OK) {
        sbt_rows_free(rows);
        return status;
    }
    rows->builder = builder;
    rows->strings = strings;
    rows->string_count = string_count;
    rows->unnamed = unnamed;
    for (int key = 0; key < KEY_COUNT; key++) rows->keys[key] = hd_builder_intern_text(builder, key_names[key]);
    *out = rows;
    return HD_OK;
}

void sbt_rows_free(sbt_rows *rows)
{
    if (!rows) return;
    hd_rows_out_deinit(&rows->out);
    free(rows->text.data);
    free(rows);
}

/* ---- arguments ---- */

static void add_arg(sbt_rows *rows, int key, hd_arg_type type, int64_t value)
{
    rows->shape[rows->count] = (hd_arg_key){.key = rows->keys[key], .type = (uint8_t)type};
    rows->values[rows->count++] = value;
}

static void add_number(sbt_rows *rows, int key, uint64_t value)
{
    if (value <= INT64_MAX) {
        add_arg(rows, key, HD_ARG_INT, (int64_t)value);
        return;
    }
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    add_arg(rows, key, HD_ARG_NUMBER, hd_builder_intern_text(rows->builder, text));
}

static void put_unsigned(hd_json_out *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    hd_json_put_text(out, text);
}

/* The contents of the text buffer, as JSON. */
static hd_status add_text(sbt_rows *rows, int key, hd_error *err)
{
    if (rows->text.failed) return HD_NOMEM(err);
    add_arg(rows, key, HD_ARG_JSON, hd_builder_intern(rows->builder, rows->text.data, rows->text.size));
    return HD_OK;
}

static hd_status add_triple(sbt_rows *rows, int key, const uint64_t *xyz, hd_error *err)
{
    rows->text.size = 0;
    for (int i = 0; i < 3; i++) {
        hd_json_put_text(&rows->text, i ? ", " : "[");
        put_unsigned(&rows->text, xyz[i]);
    }
    hd_json_put_text(&rows->text, "]");
    return add_text(rows, key, err);
}

static uint32_t string_of(sbt_rows *rows, uint64_t index)
{
    if (index < rows->string_count) return rows->strings[index];
    rows->bad_names++;
    return rows->unnamed;
}

static void put_name(sbt_rows *rows, uint64_t index)
{
    hd_string s = hd_builder_string(rows->builder, string_of(rows, index));
    hd_json_put_string(&rows->text, s.data, s.size);
}

static hd_status add_stack(sbt_rows *rows, const sbt_record *record, const hd_byte_reader *bytes, hd_error *err)
{
    hd_byte_reader reader = *bytes;
    sbt_frame frame;
    add_number(rows, KEY_THREAD, record->thread);
    reader.at = record->frames;
    rows->text.size = 0;
    hd_json_put_text(&rows->text, "[");
    for (uint64_t i = 0; i < record->frame_count; i++) {
        sbt_frame_read(&frame, &reader);
        hd_json_put_text(&rows->text, i ? ", [" : "[");
        put_unsigned(&rows->text, frame.address);
        hd_json_put_text(&rows->text, ", ");
        put_name(rows, frame.function);
        hd_json_put_text(&rows->text, ", ");
        put_name(rows, frame.file);
        hd_json_put_text(&rows->text, ", ");
        put_unsigned(&rows->text, frame.line);
        hd_json_put_text(&rows->text, "]");
    }
    hd_json_put_text(&rows->text, "]");
    return add_text(rows, KEY_STACK, err);
}

static uint32_t type_string(sbt_rows *rows, unsigned type)
{
    if (rows->types[type]) return rows->types[type];
    char number[8];
    const char *name = sbt_type_name(type);
    snprintf(number, sizeof number, "%u", type);
    rows->types[type] = hd_builder_intern_text(rows->builder, name ? name : number);
    rows->categories[type] = hd_builder_intern_text(rows->builder, sbt_type_category(type));
    return rows->types[type];
}

static hd_status add_args(sbt_rows *rows, const sbt_record *record, const sbt_record *complete, uint64_t between,
                          const hd_byte_reader *bytes, hd_error *err)
{
    rows->count = 0;
    add_arg(rows, KEY_TYPE, HD_ARG_STRING, type_string(rows, record->type));
    add_number(rows, KEY_DEVICE, record->device);
    add_number(rows, KEY_STREAM, record->stream);
    add_number(rows, KEY_CORRELATION, record->correlation);
    if (record->flags & SBT_HAS_KERNEL) {
        HD_TRY(add_triple(rows, KEY_GRID, record->kernel, err));
        HD_TRY(add_triple(rows, KEY_BLOCK, record->kernel + 3, err));
        add_number(rows, KEY_SHARED, record->kernel[6]);
        add_number(rows, KEY_REGISTERS, record->kernel[7]);
    }
    if (record->flags & SBT_HAS_MEMORY) {
        add_number(rows, KEY_SOURCE, record->memory[0]);
        add_number(rows, KEY_DESTINATION, record->memory[1]);
        add_number(rows, KEY_BYTES, record->memory[2]);
    }
    if (record->flags & SBT_HAS_STACK) HD_TRY(add_stack(rows, record, bytes, err));
    if (complete) {
        add_number(rows, KEY_COMPLETE, between);
        if (complete->flags & SBT_HAS_KERNEL) add_arg(rows, KEY_REPEATED, HD_ARG_BOOL, 1);
    }
    return HD_OK;
}

/* ---- rows ---- */

/* The track of a stream, in the process of its device. */
static uint32_t track_of(sbt_rows *rows, uint64_t device, uint64_t stream)
{
    stream_entry *entry = &rows->streams[hd_hash_pair(device, stream) % STREAM_SLOTS];
    if (entry->used && entry->device == device && entry->stream == stream) return entry->track;
    char pid[24], tid[24];
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)device);
    snprintf(tid, sizeof tid, "%llu", (unsigned long long)stream);
    hd_ident pid_ident = {HD_IDENT_NUMBER, hd_builder_intern_text(rows->builder, pid)};
    hd_ident tid_ident = {HD_IDENT_NUMBER, hd_builder_intern_text(rows->builder, tid)};
    *entry = (stream_entry){device, stream, hd_builder_track(rows->builder, pid_ident, tid_ident, false), true};
    if (entry->track == HD_NONE || device > INT64_MAX || stream > INT64_MAX) return entry->track;
    hd_builder_set_stream(rows->builder, entry->track, (int64_t)device, (int64_t)stream);
    char name[40];
    snprintf(name, sizeof name, "stream %llu", (unsigned long long)stream);
    hd_builder_name_track(rows->builder, entry->track, hd_builder_intern_text(rows->builder, name));
    return entry->track;
}

static int64_t time_of(sbt_rows *rows, uint64_t time)
{
    if (time <= INT64_MAX) return (int64_t)time;
    rows->bad_times++;
    return HD_NO_TIME;
}

static int64_t duration_of(sbt_rows *rows, uint64_t duration)
{
    if (duration <= INT64_MAX) return (int64_t)duration;
    rows->cut_durations++;
    return INT64_MAX;
}

static hd_row row_of(const sbt_record *record, const sbt_record *complete)
{
    if (record->type == SBT_RANGE_END && !(record->flags & SBT_HAS_DURATION)) return hd_row_of(HD_KIND_END, 'E');
    if (complete || record->flags & SBT_HAS_DURATION) return hd_row_of(HD_KIND_SLICE, 'X');
    if (record->type == SBT_RANGE_START) return hd_row_of(HD_KIND_SLICE, 'B');
    return hd_row_of(HD_KIND_INSTANT, 'i');
}

hd_status sbt_rows_add(sbt_rows *rows, const sbt_record *record, const sbt_record *complete, uint64_t between,
                       const hd_byte_reader *bytes, hd_error *err)
{
    hd_row row = row_of(record, complete);
    HD_TRY(add_args(rows, record, complete, between, bytes, err));
    row.track = track_of(rows, record->device, record->stream);
    row.name = string_of(rows, record->name);
    row.category = rows->categories[record->type];
    row.start_ns = time_of(rows, record->time);
    if (complete && row.start_ns != HD_NO_TIME)
        row.duration_ns = duration_of(rows, complete->time - record->time);
    else if (record->flags & SBT_HAS_DURATION)
        row.duration_ns = duration_of(rows, record->duration);
    row.shape = hd_builder_shape(rows->builder, rows->shape, rows->count, true);
    if (row.shape == HD_NONE) return HD_NOMEM(err); /* the number of such shapes is small */
    return hd_rows_out_add(&rows->out, &row, rows->values, err);
}

hd_status sbt_rows_finish(sbt_rows *rows, hd_error *err)
{
    const struct {
        const char *code;
        hd_ledger_level level;
        uint64_t count;
    } issues[] = {
        {"sbt.name-out-of-range", HD_LEDGER_REPAIR, rows->bad_names},
        {"sbt.time-out-of-range", HD_LEDGER_LOSS, rows->bad_times},
        {"sbt.duration-out-of-range", HD_LEDGER_LOSS, rows->cut_durations},
    };
    for (size_t i = 0; i < sizeof issues / sizeof *issues; i++) {
        if (issues[i].count)
            hd_builder_ledger(rows->builder, SBT_STAGE, issues[i].code, issues[i].level, issues[i].count,
                              HD_OFFSET_NONE);
    }
    return hd_rows_out_flush(&rows->out, err);
}
