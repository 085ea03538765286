/* emit.c - a record as a row, in Kineto's form
 *
 * Kernels, copies and memsets are on (device, stream), calls on (process, thread), allocations on their process. A
 * record of unknown type becomes an "other" row with all its members.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/vector.h"
#include "format/cupti/cupti.h"
#include "trace/lazy.h"

/* ---- tracks ---- */

enum { TRACK_THREAD = 1, TRACK_QUEUE, TRACK_PROCESS };

static uint32_t make_track(cupti_parser *p, uint8_t kind, int64_t a, int64_t b)
{
    char digits[24];
    if (kind == TRACK_PROCESS) {
        int size = 0;
        uint64_t value = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
        char *at = digits + sizeof digits;
        do *--at = (char)('0' + value % 10), size++;
        while (value /= 10);
        if (a < 0) *--at = '-', size++;
        hd_ident pid = {HD_IDENT_NUMBER, hd_builder_intern(p->builder, at, (size_t)size)};
        return hd_builder_track(p->builder, pid, (hd_ident){0}, true);
    }
    if (kind == TRACK_QUEUE) {
        if (!hd_grow((void **)&p->queues, &p->queue_capacity, p->queue_count, sizeof *p->queues)) {
            hd_builder_fail(p->builder);
            return HD_NONE;
        }
        p->queues[p->queue_count++] = (cupti_queue){a, b};
    }
    return hd_builder_thread(p->builder, a, b);
}

static uint32_t find_track(cupti_parser *p, uint8_t kind, int64_t a, int64_t b)
{
    uint64_t hash = hd_hash_pair((uint64_t)a, (uint64_t)b) + kind;
    cupti_track *slot = &p->tracks[hash % CUPTI_TRACK_SLOTS];
    if (slot->kind != kind || slot->a != a || slot->b != b)
        *slot = (cupti_track){a, b, make_track(p, kind, a, b), kind};
    return slot->track;
}

static uint32_t track_of(cupti_parser *p, cupti_type type)
{
    const int64_t *n = p->record.numbers;
    int64_t process = n[CUPTI_PROCESS], thread = n[CUPTI_THREAD];
    switch (type) {
    case CUPTI_KERNEL:
    case CUPTI_MEMCPY:
    case CUPTI_MEMSET:
        if (n[CUPTI_DEVICE] == HD_NO_NUMBER) return HD_NONE;
        return find_track(p, TRACK_QUEUE, n[CUPTI_DEVICE], n[CUPTI_STREAM] == HD_NO_NUMBER ? 0 : n[CUPTI_STREAM]);
    case CUPTI_OVERHEAD:
        if (thread == HD_NO_NUMBER) thread = n[CUPTI_OBJECT];
        if (process == HD_NO_NUMBER) process = p->first_process;
        break;
    case CUPTI_MEMORY: thread = HD_NO_NUMBER; break;
    default: break;
    }
    if (process == HD_NO_NUMBER) return HD_NONE;
    if (thread == HD_NO_NUMBER) return find_track(p, TRACK_PROCESS, process, 0);
    return find_track(p, TRACK_THREAD, process, thread);
}

/* ---- names ---- */

static size_t append(char *out, size_t at, size_t capacity, const char *data, size_t size)
{
    if (size > capacity - at) size = capacity - at;
    memcpy(out + at, data, size);
    return at + size;
}

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)" */
static uint32_t transfer_name(cupti_parser *p, const char *word)
{
    const cupti_record *r = &p->record;
    char out[256];
    size_t at = append(out, 0, sizeof out, word, strlen(word));
    hd_string kind = r->texts[CUPTI_COPY_KIND], from = r->texts[CUPTI_SOURCE_KIND], to = r->texts[CUPTI_TARGET_KIND];
    if (kind.size) {
        at = append(out, at, sizeof out, " ", 1);
        at = append(out, at, sizeof out, kind.data, kind.size);
    }
    if (from.size && to.size) {
        at = append(out, at, sizeof out, " (", 2);
        at += cupti_words(out + at, sizeof out - at, from);
        at = append(out, at, sizeof out, " -> ", 4);
        at += cupti_words(out + at, sizeof out - at, to);
        at = append(out, at, sizeof out, ")", 1);
    } else if (r->texts[CUPTI_MEMORY_KIND].size) {
        at = append(out, at, sizeof out, " (", 2);
        at += cupti_words(out + at, sizeof out - at, r->texts[CUPTI_MEMORY_KIND]);
        at = append(out, at, sizeof out, ")", 1);
    }
    if (at == sizeof out) { /* it may be cut within a character */
        while (at && !hd_utf8_valid(out, at, true)) at--;
    }
    return hd_builder_intern(p->builder, out, at);
}

static uint32_t words_name(cupti_parser *p, hd_string text, const char *otherwise)
{
    char out[256];
    if (text.size > 6 && memcmp(text.data, "CUPTI_", 6) == 0) text = (hd_string){text.data + 6, text.size - 6};
    if (!text.size || text.size > sizeof out) return hd_builder_intern_text(p->builder, otherwise);
    return hd_builder_intern(p->builder, out, cupti_words(out, sizeof out, text));
}

static uint32_t name_of(cupti_parser *p, cupti_type type)
{
    const cupti_record *r = &p->record;
    switch (type) {
    case CUPTI_MEMCPY: return transfer_name(p, "Memcpy");
    case CUPTI_MEMSET: return transfer_name(p, "Memset");
    case CUPTI_MEMORY: return words_name(p, r->texts[CUPTI_OPERATION], "Memory");
    case CUPTI_OVERHEAD: return words_name(p, r->texts[CUPTI_OVERHEAD_KIND], "Overhead");
    case CUPTI_UNKNOWN: return hd_builder_intern(p->builder, r->type.data, r->type.size);
    default: break;
    }
    bool is_call = type == CUPTI_RUNTIME || type == CUPTI_DRIVER, is_named = r->has_name && r->name.size;
    if (is_call && (!is_named || (r->name.size == 7 && memcmp(r->name.data, "unknown", 7) == 0))) {
        const char *known = cupti_call_name(type, r->numbers[CUPTI_CBID]);
        if (known) return hd_builder_intern_text(p->builder, known);
        if (!is_named) return hd_builder_intern_text(p->builder, type == CUPTI_RUNTIME ? "RUNTIME" : "DRIVER");
    }
    if (!is_named) return hd_builder_intern_text(p->builder, "unknown");
    uint32_t raw, shown = cupti_shown_name(p, type, r->name, &raw);
    if (shown != raw) cupti_record_add(p, is_call ? p->key_callback : p->key_mangled, HD_ARG_STRING, raw);
    return shown;
}

/* ---- times ---- */

static bool set_times(cupti_parser *p, hd_row *row)
{
    const int64_t *n = p->record.numbers;
    int64_t start = n[CUPTI_START], end = n[CUPTI_END], duration = n[CUPTI_DURATION];
    if (start == HD_NO_NUMBER)
        start = n[CUPTI_TIMESTAMP];
    else if (n[CUPTI_TIMESTAMP] != HD_NO_NUMBER)
        cupti_record_add(p, p->arguments[CUPTI_TIMESTAMP], HD_ARG_INT, n[CUPTI_TIMESTAMP]);
    bool is_unknown = start == 0 && end == 0; /* CUPTI had no times */
    if (!is_unknown) row->start_ns = start;
    if (!is_unknown && (p->first_start == HD_NO_TIME || start < p->first_start)) p->first_start = start;
    bool is_beyond = duration != HD_NO_NUMBER && duration > INT64_MAX - start;
    if (end == HD_NO_NUMBER && duration != HD_NO_NUMBER && !is_beyond) end = start + duration;
    if (is_unknown || end == HD_NO_NUMBER) {
        if (duration > 0) cupti_record_add(p, p->arguments[CUPTI_DURATION], HD_ARG_INT, duration);
        return true;
    }
    if (end < start) {
        cupti_record_add(p, p->arguments[CUPTI_END], HD_ARG_INT, end);
        return cupti_note(p, "cupti.end-before-start", HD_LEDGER_REPAIR, p->text + (p->record.offset - p->offset));
    }
    row->duration_ns = end - start;
    if (duration != HD_NO_NUMBER && duration != end - start)
        cupti_record_add(p, p->arguments[CUPTI_DURATION], HD_ARG_INT, duration);
    return true;
}

/* Process and thread that name no track of the row. */
static void keep_unplaced(cupti_parser *p, cupti_type type)
{
    const int64_t *n = p->record.numbers;
    bool is_queue = type == CUPTI_KERNEL || type == CUPTI_MEMCPY || type == CUPTI_MEMSET;
    bool has_process = n[CUPTI_PROCESS] != HD_NO_NUMBER || (type == CUPTI_OVERHEAD && p->first_process != HD_NO_NUMBER);
    if (is_queue && n[CUPTI_PROCESS] != HD_NO_NUMBER)
        cupti_record_add(p, p->arguments[CUPTI_PROCESS], HD_ARG_INT, n[CUPTI_PROCESS]);
    if ((is_queue || type == CUPTI_MEMORY || !has_process) && n[CUPTI_THREAD] != HD_NO_NUMBER)
        cupti_record_add(p, p->arguments[CUPTI_THREAD], HD_ARG_INT, n[CUPTI_THREAD]);
}

/* Keeps members without a column of an "other" row. */
static void keep_consumed(cupti_parser *p)
{
    static const cupti_field fields[] = {CUPTI_START,     CUPTI_END,     CUPTI_DURATION,
                                         CUPTI_TIMESTAMP, CUPTI_PROCESS, CUPTI_THREAD};
    cupti_record *r = &p->record;
    if (r->has_name)
        cupti_record_add(p, p->arguments[CUPTI_NAME], HD_ARG_STRING,
                         hd_builder_intern(p->builder, r->name.data, r->name.size));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (r->numbers[fields[i]] != HD_NO_NUMBER)
            cupti_record_add(p, p->arguments[fields[i]], HD_ARG_INT, r->numbers[fields[i]]);
    }
}

/* An instant of a whole process is marked so, as in Chrome JSON. */
static void mark_scope(cupti_parser *p)
{
    cupti_record *r = &p->record;
    uint32_t before = r->item_count;
    cupti_record_add(p, p->key_scope, HD_ARG_STRING, p->scope_process);
    if (r->item_count > before) r->items[before].scope = HD_SCOPE_EVENT;
}

/* ---- rows ---- */

static bool same_keys(const cupti_shape *shape, const cupti_record *r)
{
    for (uint32_t i = 0; i < shape->count; i++) {
        if (shape->keys[i].key != r->items[i].key || shape->keys[i].type != r->items[i].type ||
            shape->keys[i].scope != r->items[i].scope)
            return false;
    }
    return true;
}

static uint32_t find_shape(cupti_parser *p)
{
    const cupti_record *r = &p->record;
    uint64_t hash = r->item_count;
    for (uint32_t i = 0; i < r->item_count; i++)
        hash = hd_hash_pair(hash, r->items[i].key | (uint64_t)r->items[i].type << 32);
    cupti_shape *shape = &p->shapes[hash % CUPTI_SHAPE_SLOTS];
    if (shape->count == r->item_count && shape->shape != HD_NONE && same_keys(shape, r)) return shape->shape;
    for (uint32_t i = 0; i < r->item_count; i++)
        shape->keys[i] = (hd_arg_key){.key = r->items[i].key, .type = r->items[i].type, .scope = r->items[i].scope};
    shape->count = r->item_count;
    shape->shape = hd_builder_shape(p->builder, shape->keys, shape->count, true);
    return shape->shape;
}

/* More members than a shape allows, or too many shapes: the text unchanged, as the event's args. */
static hd_status emit_raw(cupti_parser *p, hd_row *row)
{
    static const char before[] = "{\"args\":", none[] = "{}";
    const cupti_record *r = &p->record;
    const char *text = r->text;
    size_t size = r->size, at = sizeof before - 1;
    if (*text != '{' || !hd_json_valid(text, size, HD_JSON_DEPTH_LIMIT - 1)) {
        if (!cupti_note(p, "cupti.arguments-lost", HD_LEDGER_LOSS, text)) return p->error.status;
        text = none;
        size = sizeof none - 1;
    }
    if (!hd_reserve(&p->scratch, &p->scratch_capacity, at + size + 1)) return HD_NOMEM(&p->error);
    memcpy(p->scratch, before, at);
    memcpy(p->scratch + at, text, size);
    p->scratch[at + size] = '}';
    int64_t value = hd_builder_intern(p->builder, p->scratch, at + size + 1);
    row->shape = hd_builder_raw_shape(p->builder);
    return hd_batch_add(p->batch, row, &value, &p->error);
}

static hd_row row_of(cupti_type type)
{
    static const struct {
        hd_kind kind;
        char phase;
    } rows[] = {
        [CUPTI_UNKNOWN] = {HD_KIND_OTHER, 0},    [CUPTI_KERNEL] = {HD_KIND_SLICE, 'X'},
        [CUPTI_MEMCPY] = {HD_KIND_SLICE, 'X'},   [CUPTI_MEMSET] = {HD_KIND_SLICE, 'X'},
        [CUPTI_MEMORY] = {HD_KIND_INSTANT, 'i'}, [CUPTI_RUNTIME] = {HD_KIND_SLICE, 'X'},
        [CUPTI_DRIVER] = {HD_KIND_SLICE, 'X'},   [CUPTI_OVERHEAD] = {HD_KIND_SLICE, 'X'},
    };
    return hd_row_of(rows[type].kind, rows[type].phase);
}

hd_status cupti_emit(cupti_parser *p)
{
    cupti_record *r = &p->record;
    cupti_type type = cupti_find_type(r->type.data, r->type.size);
    bool is_timed = r->numbers[CUPTI_START] != HD_NO_NUMBER || r->numbers[CUPTI_TIMESTAMP] != HD_NO_NUMBER;
    if (!is_timed) type = CUPTI_UNKNOWN; /* {"type":"OVERHEAD","kind":17,"error":"not implemented"} */
    hd_row row = row_of(type);
    int64_t values[CUPTI_ITEM_LIMIT];
    row.track = track_of(p, type);
    if (row.track == HD_NONE && row.kind == HD_KIND_SLICE)
        row.track = hd_builder_track(p->builder, (hd_ident){0}, (hd_ident){0}, false); /* on none, no report has it */
    row.name = name_of(p, type);
    row.category = p->categories[type];
    if (type == CUPTI_UNKNOWN)
        keep_consumed(p);
    else
        keep_unplaced(p, type);
    if (type != CUPTI_UNKNOWN && !set_times(p, &row)) return p->error.status;
    if (type == CUPTI_MEMORY) mark_scope(p);
    p->records++;
    if (p->want_sources) {
        row.source_offset = r->offset;
        row.source_size = r->size;
    }
    if (!p->want_args) return hd_batch_add(p->batch, &row, NULL, &p->error);
    if (r->overflow) return emit_raw(p, &row);
    row.shape = find_shape(p);
    if (row.shape == HD_NONE) return emit_raw(p, &row);
    for (uint32_t i = 0; i < r->item_count; i++) values[i] = r->items[i].bits;
    return hd_batch_add(p->batch, &row, values, &p->error);
}

/* ---- parsers ---- */

hd_status cupti_parser_init(cupti_parser *p, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    static const char *const categories[] = {
        [CUPTI_UNKNOWN] = NULL,         [CUPTI_KERNEL] = "kernel",     [CUPTI_MEMCPY] = "gpu_memcpy",
        [CUPTI_MEMSET] = "gpu_memset",  [CUPTI_MEMORY] = "gpu_memory", [CUPTI_RUNTIME] = "cuda_runtime",
        [CUPTI_DRIVER] = "cuda_driver", [CUPTI_OVERHEAD] = "overhead",
    };
    *p = (cupti_parser){.builder = builder, .first_start = HD_NO_TIME, .first_process = HD_NO_NUMBER};
    p->want_args = options->args == HD_ARGS_ALL;
    p->want_sources = options->sources;
    p->is_strict = options->strict;
    for (int i = CUPTI_TYPE; i < CUPTI_FIELDS; i++)
        p->arguments[i] = hd_builder_intern_text(builder, cupti_field_argument((cupti_field)i));
    for (int i = CUPTI_KERNEL; i <= CUPTI_OVERHEAD; i++)
        p->categories[i] = hd_builder_intern_text(builder, categories[i]);
    p->key_mangled = hd_builder_intern_text(builder, "mangled");
    p->key_callback = hd_builder_intern_text(builder, "callback");
    p->key_scope = hd_builder_intern_text(builder, "s");
    p->scope_process = hd_builder_intern_text(builder, "p");
    p->key_dynamic_shared = hd_builder_intern_text(builder, "dynamic shared memory");
    hd_json_repair_init(&p->repair, cupti_find_event_key);
    p->shapes = calloc(CUPTI_SHAPE_SLOTS, sizeof *p->shapes);
    p->names = calloc(CUPTI_NAME_SLOTS, sizeof *p->names);
    if (!p->shapes || !p->names) return HD_NOMEM(err);
    for (int i = 0; i < CUPTI_SHAPE_SLOTS; i++) p->shapes[i].shape = HD_NONE;
    return hd_batch_new(&p->batch, builder, err);
}

void cupti_parser_deinit(cupti_parser *p)
{
    hd_json_repair_deinit(&p->repair);
    if (p->batch) hd_batch_free(p->batch);
    free(p->shapes);
    free(p->names);
    free(p->queues);
    free(p->scratch);
    free(p->padded);
}
