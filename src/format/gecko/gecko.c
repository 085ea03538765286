/* gecko.c - profiles of Firefox -> samples and markers
 *
 * Format   the profile of Gecko itself, with tables of rows, and the one that profiler.firefox.com saves, with tables
 *          of columns. The former is also written by `perf script report gecko`, the latter by samply and others
 * Sniffs   its keys
 * Maps     thread -> thread; sample, allocation -> sample; marker -> slice, instant, begin or end.
 *          docs/formats/gecko.md
 * Units    ms since meta.startTime -> ns         Shapes   n samples and markers -> n rows
 * Limits   1 GiB; 16 nested processes         Errors   DAMAGED: no object, nothing can be read, strict
 *
 * The positions of a thread's tables are found first, since each refers to others: strings, functions, frames, stacks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/gecko/gecko.h"
#include "format/stack_samples.h"
#include "trace/text.h"

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;

enum { MS_DIGITS = 6, PROCESS_DEPTH = 16 };
enum { REFERENCE_MISSING, TIME_MISSING, WEIGHT_ROUNDED, MARKER_UNREADABLE, PROCESS_LOST, NO_THREADS, KEY_TWICE };

static const hd_stack_code codes[] = {
    [REFERENCE_MISSING] = {"gecko.reference-missing", HD_LEDGER_LOSS, NULL},
    [TIME_MISSING] = {"gecko.time-missing", HD_LEDGER_LOSS, NULL},
    [WEIGHT_ROUNDED] = {"gecko.weight-rounded", HD_LEDGER_NOTE, NULL},
    [MARKER_UNREADABLE] = {"gecko.marker-unreadable", HD_LEDGER_LOSS, NULL},
    [PROCESS_LOST] = {"gecko.process-lost", HD_LEDGER_LOSS, NULL},
    [NO_THREADS] = {"gecko.no-threads", HD_LEDGER_LOSS, NULL},
    [KEY_TWICE] = {"gecko.key-twice", HD_LEDGER_LOSS, NULL},
};

/* Positions of the tables of a thread, or those that all threads share. */
enum {
    TABLE_STRINGS,
    TABLE_OTHER_STRINGS,
    TABLE_FUNCS,
    TABLE_FRAMES,
    TABLE_STACKS,
    TABLE_MARKERS,
    TABLE_SAMPLES,
    TABLE_JS_ALLOCATIONS,
    TABLE_NATIVE_ALLOCATIONS,
    TABLES
};
static const char *const table_names[TABLES] = {"stringArray", "stringTable",   "funcTable",
                                                "frameTable",  "stackTable",    "markers",
                                                "samples",     "jsAllocations", "nativeAllocations"};

typedef struct func {
    int64_t name, file, line, column;
} func;

typedef struct frame {
    uint32_t name;
    hd_frame_kind kind;
} frame;

/* A field of markers' data that is the index of a string, by their schema. */
typedef struct text_field {
    uint32_t type, key; /* string ids: of the marker, of the field */
} text_field;

#define LIST(type, name)                                                                                               \
    type *name;                                                                                                        \
    size_t name##_count, name##_capacity
#define PUSH(r, name, ...)                                                                                             \
    (hd_grow((void **)&(r)->name, &(r)->name##_capacity, (r)->name##_count, sizeof *(r)->name)                         \
         ? ((r)->name[(r)->name##_count++] = (__VA_ARGS__), HD_OK)                                                     \
         : HD_NOMEM((r)->err))

typedef struct reader {
    hd_json_walk walk;
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    LIST(const char *, strings); /* their position */
    LIST(func, funcs);
    LIST(frame, frames);
    LIST(uint32_t, stacks);     /* nodes */
    LIST(uint32_t, categories); /* string ids */
    LIST(text_field, text_fields);
    const char *shared[TABLES], *tables[TABLES]; /* of all threads, of the one at hand */
    hd_fixed start, first_start;                 /* of the process at hand, of the first: ns since 1970 */
    bool has_start;
    uint32_t track, key_data;
    hd_bytes text, name;
    hd_json_out rest, data; /* data: of a marker */
    int depth;
} reader;

static hd_status count(reader *r, size_t code, uint64_t n, const char *place)
{
    const hd_line line = {.offset = place ? hd_walk_offset(&r->walk, place) : HD_OFFSET_NONE};
    return hd_stack_samples_count(&r->samples, code, n, &line);
}

/* ---- strings, functions, frames, stacks ---- */

static hd_status read_list(reader *r, const char *at, hd_status (*each)(reader *r, const char *at))
{
    bool is_null, first = true;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        HD_TRY(each(r, at));
        hd_walk_pass_over(&r->walk, &at);
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status add_string(reader *r, const char *at)
{
    return PUSH(r, strings, at);
}

/* The text of a string, valid until the next one; "" for -1. */
static hd_status string_at(reader *r, hd_string *out, int64_t index, const char *place)
{
    *out = (hd_string){"", 0};
    if (index < 0) return HD_OK;
    if ((uint64_t)index >= r->strings_count) return count(r, REFERENCE_MISSING, 1, place);
    const char *at = r->strings[index];
    HD_TRY(hd_walk_pass(&r->walk, hd_walk_string(out, &r->walk, &at)));
    if (!out->data) *out = (hd_string){"", 0};
    return HD_OK;
}

static hd_status read_funcs(reader *r)
{
    static const char *const names[] = {"name", "fileName", "lineNumber", "columnNumber"};
    gecko_table t;
    hd_status status;
    r->funcs_count = 0;
    HD_TRY(gecko_table_open(&t, &r->walk, r->tables[TABLE_FUNCS], names, 4));
    while ((status = gecko_table_next(&t)) == HD_OK)
        HD_TRY(PUSH(r, funcs,
                    (func){gecko_table_index(&t, 0), gecko_table_index(&t, 1), gecko_table_index(&t, 2),
                           gecko_table_index(&t, 3)}));
    return status == HD_END ? HD_OK : status;
}

static bool is_category(const reader *r, int64_t index, const char *name)
{
    if (index < 0 || (uint64_t)index >= r->categories_count) return false;
    return hd_string_is(hd_builder_string(r->builder, r->categories[index]), name);
}

/* A frame has a location, or a function and the line that ran. */
static hd_status add_frame(reader *r, const gecko_table *t)
{
    enum { LOCATION, FUNC, LINE, COLUMN, ADDRESS, CATEGORY };
    int64_t index = gecko_table_index(t, FUNC), address = gecko_table_index(t, ADDRESS);
    func f = {gecko_table_index(t, LOCATION), -1, -1, -1};
    hd_string text;
    frame out;
    const char *place = t->cells[FUNC] ? t->cells[FUNC] : t->cells[LOCATION];
    if (index >= 0 && (uint64_t)index < r->funcs_count)
        f = r->funcs[index];
    else if (index >= 0)
        HD_TRY(count(r, REFERENCE_MISSING, 1, place));
    if (f.line < 0) f.line = gecko_table_index(t, LINE), f.column = gecko_table_index(t, COLUMN);
    HD_TRY(string_at(r, &text, f.name, place));
    r->name.size = r->text.size = 0;
    hd_bytes_put(&r->name, text.data, text.size);
    if (!text.size) hd_text_put_unknown(&r->name, text, address >= 0, (uint64_t)address);
    HD_TRY(string_at(r, &text, f.file, place));
    if (t->cells[LOCATION] && !text.size) f.line = -1; /* the location contains it */
    hd_text_put_frame(&r->text, (hd_string){(char *)r->name.data, r->name.size}, text, f.line, f.column);
    if (r->name.failed || r->text.failed) return HD_NOMEM(r->err);
    out.name = hd_stack_samples_frame(&r->samples, &out.kind, (char *)r->text.data, r->text.size);
    if (out.name == HD_NONE) return HD_NOMEM(r->err);
    if (is_category(r, gecko_table_index(t, CATEGORY), "Kernel")) out.kind = HD_FRAME_OS;
    if (is_category(r, gecko_table_index(t, CATEGORY), "JavaScript")) out.kind = HD_FRAME_UNKNOWN;
    return PUSH(r, frames, out);
}

static hd_status read_frames(reader *r)
{
    static const char *const names[] = {"location", "func", "line", "column", "address", "category"};
    gecko_table t;
    hd_status status;
    r->frames_count = 0;
    HD_TRY(gecko_table_open(&t, &r->walk, r->tables[TABLE_FRAMES], names, 6));
    while ((status = gecko_table_next(&t)) == HD_OK) HD_TRY(add_frame(r, &t));
    return status == HD_END ? HD_OK : status;
}

/* Callers come before their callees. */
static hd_status read_stacks(reader *r)
{
    static const char *const names[] = {"prefix", "frame"};
    gecko_table t;
    hd_status status;
    r->stacks_count = 0;
    HD_TRY(gecko_table_open(&t, &r->walk, r->tables[TABLE_STACKS], names, 2));
    while ((status = gecko_table_next(&t)) == HD_OK) {
        int64_t prefix = gecko_table_index(&t, 0), index = gecko_table_index(&t, 1);
        bool has_caller = prefix >= 0 && (uint64_t)prefix < r->stacks_count;
        bool has_frame = index >= 0 && (uint64_t)index < r->frames_count;
        HD_TRY(count(r, REFERENCE_MISSING, (prefix >= 0 && !has_caller) + !has_frame, t.cells[has_frame ? 0 : 1]));
        frame f = {.name = hd_stacks_name(r->samples.stacks, "[unknown]", 9)};
        if (has_frame) f = r->frames[index];
        uint32_t node =
            hd_stacks_push(r->samples.stacks, has_caller ? r->stacks[prefix] : HD_STACK_NONE, f.name, f.kind);
        if (node == HD_NONE) return HD_NOMEM(r->err);
        HD_TRY(PUSH(r, stacks, node));
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- samples ---- */

/* ms, as ns on the clock of the first process. */
static bool take_time(const reader *r, hd_fixed *out, const char *cell)
{
    const char *end = cell ? hd_json_skip_number(cell) : NULL;
    if (!end || end == r->walk.text + r->walk.size) return false;
    if (!hd_fixed_parse(out, cell, (size_t)(end - cell), MS_DIGITS)) return false;
    int64_t later;
    return !__builtin_sub_overflow(r->start.whole, r->first_start.whole, &later) &&
           !__builtin_add_overflow(out->whole, later, &out->whole) && out->whole != HD_NO_TIME;
}

/* The unit of weights: counts, bytes, or ms, which become ns. */
static hd_status take_weight(reader *r, hd_stack_sample *s, const char *cell, bool is_time)
{
    hd_fixed value;
    const char *end = cell ? hd_json_skip_number(cell) : NULL;
    if (!end || !hd_fixed_parse(&value, cell, (size_t)(end - cell), is_time ? MS_DIGITS : 0)) return HD_OK;
    s->weight_type = HD_ARG_INT;
    s->weight = value.whole;
    return count(r, WEIGHT_ROUNDED, value.part > 0, cell);
}

/* The member of a table that is a string: weightType. */
static hd_status find_text(reader *r, const char *table, const char *name, char *out, size_t size)
{
    bool is_null, first = true;
    hd_string key, value;
    hd_status status;
    out[0] = '\0';
    HD_TRY(hd_walk_try_enter(&r->walk, &table, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, &table, &first)) == HD_OK) {
        if (!hd_string_is(key, name)) {
            hd_walk_pass_over(&r->walk, &table);
            continue;
        }
        HD_TRY(hd_walk_string(&value, &r->walk, &table));
        snprintf(out, size, "%.*s", (int)(value.size < size ? value.size : size - 1), value.data ? value.data : "");
    }
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status read_samples(reader *r, int table)
{
    enum { STACK, TIME, DELTA, WEIGHT };
    static const char *const names[] = {"stack", "time", "timeDeltas", "weight"};
    char type[24];
    gecko_table t;
    hd_status status;
    hd_fixed time, now = {0};
    HD_TRY(find_text(r, r->tables[table], "weightType", type, sizeof type));
    bool is_time = strcmp(type, "tracing-ms") == 0;
    const char *event = table != TABLE_SAMPLES ? table_names[table] : is_time ? "time" : *type ? type : "samples";
    hd_stack_sample s = {.track = r->track, .name = hd_builder_intern_text(r->builder, event)};
    HD_TRY(gecko_table_open(&t, &r->walk, r->tables[table], names, 4));
    while ((status = gecko_table_next(&t)) == HD_OK) {
        int64_t stack = gecko_table_index(&t, STACK);
        bool known = stack >= 0 && (uint64_t)stack < r->stacks_count;
        bool has_time = take_time(r, &time, t.cells[t.cells[TIME] ? TIME : DELTA]);
        if (has_time && !t.cells[TIME]) { /* ns are precise enough for sums of time differences */
            has_time = !__builtin_add_overflow(now.whole, time.whole, &now.whole);
            time = now;
        }
        if (stack >= 0 && !known) HD_TRY(count(r, REFERENCE_MISSING, 1, t.cells[STACK]));
        if (!has_time) HD_TRY(count(r, TIME_MISSING, 1, t.cells[TIME] ? t.cells[TIME] : t.cells[STACK]));
        s.node = known ? r->stacks[stack] : HD_STACK_NONE;
        s.time_ns = has_time ? time.whole : HD_NO_TIME;
        s.weight_type = HD_ARG_NULL;
        HD_TRY(take_weight(r, &s, t.cells[WEIGHT], is_time));
        HD_TRY(hd_stack_samples_add(&r->samples, &s));
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- markers ---- */

enum { MARKER_NAME, MARKER_START, MARKER_END, MARKER_PHASE, MARKER_CATEGORY, MARKER_DATA, MARKER_TIME };

/* false: neither. */
static bool place_marker(reader *r, hd_row *row, const gecko_table *t)
{
    hd_fixed start, end;
    const char *from = t->cells[MARKER_START] ? t->cells[MARKER_START] : t->cells[MARKER_TIME];
    bool has_start = take_time(r, &start, from), has_end = take_time(r, &end, t->cells[MARKER_END]);
    int64_t phase = t->cells[MARKER_PHASE] ? gecko_table_index(t, MARKER_PHASE) : has_end ? 1 : 0;
    if (phase == 3 ? !has_end : !has_start) return false;
    if (phase < 0 || phase > 3 || (phase == 1 && !has_end)) return false;
    const hd_kind kinds[] = {HD_KIND_INSTANT, HD_KIND_SLICE, HD_KIND_SLICE, HD_KIND_END};
    *row = hd_row_of(kinds[phase], "iXBE"[phase]);
    row->start_ns = phase == 3 ? end.whole : start.whole;
    return phase != 1 || !__builtin_sub_overflow(end.whole, start.whole, &row->duration_ns);
}

static bool is_text_field(const reader *r, uint32_t type, uint32_t key)
{
    for (size_t i = 0; i < r->text_fields_count; i++) {
        if (r->text_fields[i].type == type && (key == HD_NONE || r->text_fields[i].key == key)) return true;
    }
    return false;
}

/* Data of a marker, with the strings in place of their indices. */
static hd_status resolve_data(reader *r, hd_walk_span *io, const char *place)
{
    char type[128];
    const char *at = io->data;
    bool is_null, first = true;
    hd_string key, text;
    hd_status status;
    HD_TRY(find_text(r, at, "type", type, sizeof type));
    uint32_t type_id = hd_builder_intern_text(r->builder, type);
    if (!is_text_field(r, type_id, HD_NONE)) return HD_OK;
    r->data.size = 0;
    hd_json_put_text(&r->data, "{");
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
    while ((status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        bool is_index = *at >= '0' && *at <= '9';
        if (!is_index || !is_text_field(r, type_id, hd_builder_intern(r->builder, key.data, key.size))) {
            HD_TRY(hd_walk_keep(&r->walk, &r->data, key, &at));
            continue;
        }
        hd_walk_span number;
        int64_t index;
        hd_json_put_text(&r->data, r->data.size > 1 ? "," : "");
        hd_json_put_string(&r->data, key.data, key.size);
        hd_json_put_text(&r->data, ":");
        HD_TRY(hd_walk_number(&number, &r->walk, &at));
        if (!hd_text_int(&index, number.data, number.size)) index = INT64_MAX;
        HD_TRY(string_at(r, &text, index, place));
        hd_json_put_string(&r->data, text.data, text.size);
    }
    if (status != HD_END) return status;
    hd_json_put_text(&r->data, "}");
    if (r->data.failed) return HD_NOMEM(r->err);
    *io = (hd_walk_span){r->data.data, r->data.size};
    return HD_OK;
}

static hd_status add_marker(reader *r, const gecko_table *t)
{
    hd_row row;
    hd_string text;
    hd_walk_span data = {NULL, 0};
    int64_t category = gecko_table_index(t, MARKER_CATEGORY), value = 0;
    const char *place = t->cells[MARKER_NAME], *at = t->cells[MARKER_DATA];
    const hd_arg_key key = {.key = r->key_data, .type = HD_ARG_JSON, .scope = HD_SCOPE_ARGS};
    if (!place_marker(r, &row, t)) return count(r, MARKER_UNREADABLE, 1, place);
    HD_TRY(string_at(r, &text, gecko_table_index(t, MARKER_NAME), place));
    row.track = r->track;
    row.name = hd_builder_intern(r->builder, text.data, text.size);
    if (category >= 0 && (uint64_t)category < r->categories_count) row.category = r->categories[category];
    if (at) HD_TRY(hd_walk_skip(&data, &r->walk, &at));
    if (data.size && *data.data == '{' && r->text_fields_count)
        HD_TRY(hd_walk_pass(&r->walk, resolve_data(r, &data, place)));
    bool has_data = data.size && (*data.data == '{' || *data.data == '[');
    if (has_data) value = hd_builder_intern(r->builder, data.data, data.size);
    return hd_stack_samples_add_row(&r->samples, &row, &key, &value, has_data);
}

static hd_status read_markers(reader *r)
{
    static const char *const names[] = {"name", "startTime", "endTime", "phase", "category", "data", "time"};
    gecko_table t;
    hd_status status;
    HD_TRY(gecko_table_open(&t, &r->walk, r->tables[TABLE_MARKERS], names, 7));
    while ((status = gecko_table_next(&t)) == HD_OK) HD_TRY(add_marker(r, &t));
    return status == HD_END ? HD_OK : status;
}

/* ---- threads ---- */

static char last_char(const reader *r)
{
    return r->rest.failed || !r->rest.size ? '{' : r->rest.data[r->rest.size - 1];
}

static hd_status take_ident(reader *r, hd_ident *out, const char *at)
{
    hd_string text;
    const char *end = hd_json_skip_number(at);
    if (end && end > at) {
        *out = (hd_ident){HD_IDENT_NUMBER, hd_builder_intern(r->builder, at, (size_t)(end - at))};
        return HD_OK;
    }
    HD_TRY(hd_walk_string(&text, &r->walk, &at));
    if (text.data) *out = (hd_ident){HD_IDENT_STRING, hd_builder_intern(r->builder, text.data, text.size)};
    return HD_OK;
}

static hd_status take_name(reader *r, uint32_t *out, const char *at)
{
    hd_string text;
    HD_TRY(hd_walk_string(&text, &r->walk, &at));
    if (text.data) *out = hd_builder_intern(r->builder, text.data, text.size);
    return HD_OK;
}

/* Finds the tables of an object, and keeps its other members. */
static hd_status find_tables(reader *r, const char **tables, hd_string key, const char **at)
{
    for (int i = 0; i < TABLES; i++) {
        if (!hd_string_is(key, table_names[i])) continue;
        tables[i] = *at;
        hd_walk_pass_over(&r->walk, at);
        return HD_OK;
    }
    return hd_walk_keep(&r->walk, &r->rest, key, at);
}

static hd_status read_tables(reader *r)
{
    const char *strings = r->tables[r->tables[TABLE_STRINGS] ? TABLE_STRINGS : TABLE_OTHER_STRINGS];
    r->strings_count = 0;
    if (strings && *strings == '[') HD_TRY(read_list(r, strings, add_string));
    HD_TRY(read_funcs(r));
    HD_TRY(read_frames(r));
    HD_TRY(read_stacks(r));
    for (int table = TABLE_SAMPLES; table < TABLES; table++) {
        if (r->tables[table]) HD_TRY(read_samples(r, table));
    }
    return read_markers(r);
}

static hd_status read_thread(reader *r, const char *at)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    hd_ident pid = {0}, tid = {0};
    uint32_t name = HD_STRING_NONE, process_name = HD_STRING_NONE;
    memcpy(r->tables, r->shared, sizeof r->tables);
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '{', &is_null));
    if (is_null) return HD_OK;
    hd_json_put_text(&r->rest, last_char(r) == '[' ? "{" : ",{");
    while ((status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        const char *value = at;
        bool is_pid = hd_string_is(key, "pid"), is_tid = hd_string_is(key, "tid"), is_name = hd_string_is(key, "name");
        bool is_process_name = hd_string_is(key, "processName");
        HD_TRY(find_tables(r, r->tables, key, &at));
        if (is_pid || is_tid) HD_TRY(take_ident(r, is_pid ? &pid : &tid, value));
        if (is_name || is_process_name) HD_TRY(take_name(r, is_name ? &name : &process_name, value));
    }
    hd_json_put_text(&r->rest, "}");
    if (status != HD_END) return status;
    if (tid.type == HD_IDENT_NONE) tid = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(r->builder, "thread")};
    r->track = hd_builder_track(r->builder, pid, tid, false);
    if (r->track == HD_NONE) return HD_NOMEM(r->err);
    if (name) hd_builder_name_track(r->builder, r->track, name);
    if (process_name && pid.type != HD_IDENT_NONE)
        hd_builder_name_track(r->builder, hd_builder_track(r->builder, pid, (hd_ident){0}, true), process_name);
    return read_tables(r);
}

/* ---- the document, and those of other processes in it ---- */

static hd_status add_category(reader *r, const char *at)
{
    char name[64];
    HD_TRY(find_text(r, at, "name", name, sizeof name));
    return PUSH(r, categories, hd_builder_intern_text(r->builder, name));
}

/* {"key":"name","format":"unique-string"}; `type` is the last of the list, without a key so far. */
static hd_status add_field(reader *r, const char *at)
{
    static const char *const formats[] = {"unique-string", "flow-id", "terminating-flow-id"};
    char key[128], format[32];
    uint32_t type = r->text_fields[r->text_fields_count - 1].type;
    bool is_text = false;
    if (*at != '{') return HD_OK;
    HD_TRY(find_text(r, at, "key", key, sizeof key));
    HD_TRY(find_text(r, at, "format", format, sizeof format));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) is_text |= strcmp(format, formats[i]) == 0;
    if (!is_text) return HD_OK;
    r->text_fields[r->text_fields_count - 1].key = hd_builder_intern_text(r->builder, key);
    return PUSH(r, text_fields, (text_field){type, HD_STRING_NONE});
}

/* {"name":"mmap","data":[field, …]}, of later versions "fields". */
static hd_status add_schema(reader *r, const char *at)
{
    char name[128];
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    if (*at != '{') return HD_OK;
    HD_TRY(find_text(r, at, "name", name, sizeof name));
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
    HD_TRY(PUSH(r, text_fields, (text_field){hd_builder_intern_text(r->builder, name), HD_STRING_NONE}));
    while ((status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        if ((hd_string_is(key, "data") || hd_string_is(key, "fields")) && *at == '[')
            HD_TRY(read_list(r, at, add_field));
        hd_walk_pass_over(&r->walk, &at);
    }
    r->text_fields_count--;
    return status == HD_END ? HD_OK : status;
}

static hd_status read_meta(reader *r, const char *at)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    hd_walk_span number;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        if (hd_string_is(key, "categories")) {
            r->categories_count = 0;
            HD_TRY(read_list(r, at, add_category));
            hd_walk_pass_over(&r->walk, &at);
        } else if (hd_string_is(key, "markerSchema")) {
            HD_TRY(read_list(r, at, add_schema));
            hd_walk_pass_over(&r->walk, &at);
        } else if (hd_string_is(key, "startTime")) {
            HD_TRY(hd_walk_number(&number, &r->walk, &at));
            hd_fixed start;
            if (!number.size || !hd_fixed_parse(&start, number.data, number.size, MS_DIGITS)) continue;
            r->start = start;
            if (!r->has_start) r->first_start = start;
            r->has_start = true;
        } else {
            hd_walk_pass_over(&r->walk, &at);
        }
    }
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status read_process(reader *r, const char *at);

/* "threads", "processes": each item separately; an unreadable one does not affect others. */
static hd_status read_each(reader *r, const char *name, const char *at, hd_status (*each)(reader *r, const char *at))
{
    bool is_null, first = true;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &is_null));
    if (is_null) return HD_OK;
    hd_json_put_text(&r->rest, last_char(r) == '{' ? "\"" : ",\"");
    hd_json_put_text(&r->rest, name);
    hd_json_put_text(&r->rest, "\":[");
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        size_t mark = r->rest.size;
        hd_status read = each(r, at);
        if (read != HD_OK) r->rest.size = mark;
        HD_TRY(hd_walk_pass(&r->walk, read));
        hd_walk_pass_over(&r->walk, &at);
    }
    hd_json_put_text(&r->rest, "]");
    return status == HD_END ? HD_OK : status;
}

/* `shared`: data shared by all threads of a document. */
static hd_status read_shared(reader *r, const char *at)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK)
        HD_TRY(find_tables(r, r->shared, key, &at));
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status read_members(reader *r, const char *at)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    const char *threads = NULL, *processes = NULL;
    const char *start = at;
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
    if (is_null) return HD_OK;
    hd_json_put_text(&r->rest, r->depth == 1 || last_char(r) == '[' ? "{" : ",{");
    while ((status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        bool is_threads = hd_string_is(key, "threads"), is_processes = hd_string_is(key, "processes");
        if ((is_threads && threads) || (is_processes && processes))
            HD_TRY(count(r, KEY_TWICE, 1, at)); /* the first one is read: in a cut file too */
        else if (is_threads)
            threads = at;
        else if (is_processes)
            processes = at;
        if (hd_string_is(key, "meta")) HD_TRY(read_meta(r, at));
        if (hd_string_is(key, "shared"))
            HD_TRY(read_shared(r, at));
        else if (!is_threads && !is_processes) {
            HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, &at));
            continue;
        }
        hd_walk_pass_over(&r->walk, &at);
    }
    if (status != HD_END) return status;
    if (!threads && !processes) HD_TRY(count(r, NO_THREADS, 1, start)); /* as profiles of Firefox before 2014 */
    if (threads) HD_TRY(read_each(r, "threads", threads, read_thread));
    if (processes) HD_TRY(read_each(r, "processes", processes, read_process));
    hd_json_put_text(&r->rest, "}");
    return HD_OK;
}

static hd_status read_process(reader *r, const char *at)
{
    const hd_fixed start = r->start;
    if (r->depth == PROCESS_DEPTH) return count(r, PROCESS_LOST, 1, at);
    memset(r->shared, 0, sizeof r->shared);
    r->depth++;
    hd_status status = read_members(r, at);
    r->depth--;
    r->start = start;
    return status;
}

static hd_status read_document(reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    r->key_data = hd_builder_intern_text(r->builder, "data");
    HD_TRY(read_process(r, hd_walk_start(&r->walk)));
    facts->input_bytes = r->walk.size;
    facts->base_ns = r->has_start ? r->first_start.whole : HD_NO_TIME;
    uint32_t value = r->rest.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, r->rest.data, r->rest.size);
    if (value == HD_STRING_NONE) return HD_NOMEM(r->err);
    hd_builder_metadata(r->builder, hd_builder_intern_text(r->builder, "gecko"), value, true);
    return hd_stack_samples_finish(&r->samples);
}

static hd_status gecko_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"profile", "gecko", "gecko.value-damaged", "gecko.truncated"};
    hd_error own = {0};
    err = err ? err : &own;
    reader r = {.builder = builder, .err = err};
    hd_status status = hd_walk_init(&r.walk, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = hd_stack_samples_open(&r.samples, builder, input, "gecko", codes, options, err);
    if (status == HD_OK) status = read_document(&r);
    hd_stack_samples_close(&r.samples);
    hd_walk_deinit(&r.walk);
    hd_bytes_deinit(&r.text);
    hd_bytes_deinit(&r.name);
    free(r.strings);
    free(r.funcs);
    free(r.frames);
    free(r.stacks);
    free(r.categories);
    free(r.text_fields);
    free(r.data.data);
    free(r.rest.data);
    return status;
}

static int gecko_sniff(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"traceEvents", "meta", "libs", "pages", "threads", "shared"};
    static const char *const words[] = {"\"preprocessedProfileVersion\"", "\"stackwalk\"", "\"interval\"",
                                        "\"frameTable\"", "\"stackTable\""};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found = memmem(head, size, words[i], strlen(words[i]));
    return found && hd_walk_first_key(head, size, keys, sizeof keys / sizeof *keys) > 1 ? 90 : 0;
}

const hd_format hd_gecko_format = {
    .info = {.name = "gecko",
             .title = "Profiles of Firefox, raw and processed (perf script, samply)",
             .extensions = ".gecko.json .profile.json",
             .reads = true,
             .keeps = "samples, allocations and markers of threads, with stacks and times; all else unchanged",
             .loses = "nothing, as nothing writes it here"},
    .sniff = gecko_sniff,
    .read = gecko_read,
};
