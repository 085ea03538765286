/* write.c - trace -> Chrome trace event JSON
 *
 * Writes the same events in the same order with the same values, numbers with their original digits, and the top-level
 * keys before and after them. One event per line, or indented. Traces of other formats have no metadata events and get
 * those that name and order their tracks. Tracks whose kind does not follow from their events get an event that gives
 * it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/io/write_behind.h"
#include "base/json/unique.h"
#include "format/chrome/keys.h"
#include "format/conventions.h"
#include "trace/lazy.h"

enum { FLUSH_BYTES = 1 << 20, PROGRESS_EVENTS = 1 << 16 };

typedef struct writer {
    const hd_trace *trace;
    hd_write_behind behind;
    const hd_write_options *options;
    hd_error *err;
    hd_json_out out;
    hd_json_out event; /* compact text of one event, for indentation */
    chrome_keys keys;
    size_t blocks[HD_KIND_COUNT]; /* where each table is read */
    uint32_t rows[HD_KIND_COUNT];
    uint64_t written;
    hd_json_out raw, raw_event; /* of an event whose members are one text */
    uint8_t *plain;             /* by string id */
    uint64_t lost_members;      /* of JSON texts */
    uint64_t renamed;           /* arguments that were renamed because of an equal key */
    bool array;                 /* the outermost value is the array of events */
    /* of a trace of another format */
    char rank[HD_RANK_BYTES];
    char base_time[HD_BASE_TIME_BYTES];
} writer;

static hd_status flush(writer *w)
{
    if (w->event.failed) return HD_NOMEM(w->err);
    return w->out.size < FLUSH_BYTES && !w->out.failed ? HD_OK : hd_write_behind_give(&w->behind, &w->out, w->err);
}

/* ---- values ---- */

static void put_string_id(writer *w, hd_json_out *out, uint32_t id)
{
    hd_string s = hd_trace_string(w->trace, id);
    hd_json_put_string(out, s.data, s.size);
}

/* JSON text without duplicate keys; invalid JSON, from a damaged store, becomes a string. */
static void put_json(writer *w, hd_json_out *out, hd_string json)
{
    uint64_t lost;
    hd_error err; /* no memory: out says so */
    out->failed |= hd_json_put_unique(out, &lost, json.data, json.size, &err) != HD_OK;
    w->lost_members += lost;
}

/* A bit per string: it was looked at, and is JSON that has no key twice. */
static void put_json_id(writer *w, hd_json_out *out, uint32_t id)
{
    uint32_t count = hd_trace_string_count(w->trace);
    if (!w->plain) w->plain = calloc((size_t)count / 8 + 1, 1);
    hd_string s = hd_trace_string(w->trace, id);
    if (w->plain && id < count && w->plain[id / 8] & 1 << id % 8) {
        hd_json_put(out, s.data, s.size);
        return;
    }
    size_t before = out->size;
    put_json(w, out, s);
    if (w->plain && id < count && out->size - before == s.size) w->plain[id / 8] |= (uint8_t)(1 << id % 8);
}

static void put_value(writer *w, hd_json_out *out, unsigned type, int64_t bits)
{
    switch (type) {
    case HD_ARG_NULL: hd_json_put_text(out, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(out, bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(out, bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(out, hd_decimal_mantissa(bits), hd_decimal_scale(bits)); break;
    case HD_ARG_STRING: put_string_id(w, out, (uint32_t)bits); break;
    default: put_json_id(w, out, (uint32_t)bits); break; /* JSON, and numbers as they were written */
    }
}

void chrome_put_micros(hd_json_out *out, int64_t ns, int64_t part, unsigned min_decimals)
{
    __extension__ typedef __int128 i128;
    unsigned scale = part == 0 ? 3 : part % HD_FINER_PER_PS == 0 ? 6 : 3 + HD_FIXED_DIGITS;
    int64_t unit = HD_FIXED_ONE / hd_power_of_ten(scale - 3);
    i128 total = (i128)ns * hd_power_of_ten(scale - 3) + part / unit;
    while (scale > min_decimals && total % 10 == 0) {
        total /= 10;
        scale--;
    }
    if (total >= INT64_MIN && total <= INT64_MAX) {
        hd_json_put_decimal(out, (int64_t)total, scale);
        return;
    }
    char text[48], *p = text + sizeof text; /* far from 0, or many digits */
    bool negative = total < 0;
    for (unsigned i = 0; i <= scale || total; i++, total /= 10) {
        if (i == scale && i) *--p = '.';
        *--p = (char)('0' + (int)(negative ? -(total % 10) : total % 10));
    }
    if (negative) *--p = '-';
    hd_json_put(out, p, (size_t)(text + sizeof text - p));
}

/* ---- one event ---- */

static void put_key(hd_json_out *out, bool *first, const char *key)
{
    hd_json_put(out, *first ? "{\"" : ",\"", 2);
    hd_json_put_text(out, key);
    hd_json_put(out, "\":", 2);
    *first = false;
}

static void put_ident(writer *w, hd_json_out *out, bool *first, const char *key, hd_ident ident)
{
    if (ident.type == HD_IDENT_NONE) return;
    put_key(out, first, key);
    if (ident.type == HD_IDENT_STRING)
        put_string_id(w, out, ident.text);
    else
        put_json_id(w, out, ident.text);
}

static void put_id(writer *w, hd_json_out *out, bool *first, const hd_event *e)
{
    static const unsigned types[] = {HD_ARG_NULL, HD_ARG_INT, HD_ARG_STRING, HD_ARG_NUMBER};
    unsigned type = types[e->id_type & HD_ID_VALUE_MASK];
    if (e->id_type == HD_ID_NONE) return;
    if (e->id_type & (HD_ID_LOCAL | HD_ID_GLOBAL)) {
        put_key(out, first, "id2");
        hd_json_put_text(out, e->id_type & HD_ID_LOCAL ? "{\"local\":" : "{\"global\":");
        put_value(w, out, type, e->id);
        hd_json_put_text(out, "}");
    } else {
        put_key(out, first, "id");
        put_value(w, out, type, e->id);
    }
}

/* `own`: bits of the columns whose value is also a member of the shape. */
static void put_columns(writer *w, hd_json_out *out, bool *first, const hd_event *e, unsigned own)
{
    unsigned columns = chrome_columns_of(w->trace, e) & ~own;
    if (columns & 1u << CHROME_M_PH) {
        put_key(out, first, "ph");
        hd_json_put_string(out, &e->phase, 1);
    }
    if (columns & 1u << CHROME_M_CAT) {
        put_key(out, first, "cat");
        put_string_id(w, out, e->category);
    }
    if (columns & 1u << CHROME_M_NAME) {
        put_key(out, first, "name");
        put_string_id(w, out, e->name);
    }
    if (e->track != HD_NONE) {
        const hd_track *track = hd_trace_track_at(w->trace, e->track);
        put_ident(w, out, first, "pid", track->pid);
        put_ident(w, out, first, "tid", track->tid);
    }
    if (columns & 1u << CHROME_M_TS) {
        put_key(out, first, "ts");
        chrome_put_micros(out, e->start_ns, chrome_part_of(e->start_ps, e->start_finer), 0);
    }
    if (columns & 1u << CHROME_M_DUR) {
        put_key(out, first, "dur");
        chrome_put_micros(out, e->duration_ns,
                          chrome_part_of(e->end_ps, e->end_finer) - chrome_part_of(e->start_ps, e->start_finer), 0);
    }
    put_id(w, out, first, e);
    if (columns & 1u << CHROME_M_BP) {
        put_key(out, first, "bp");
        hd_json_put_text(out, "\"e\"");
    }
}

static int64_t bits_of(const hd_event *e, uint32_t key)
{
    return hd_column_at(&e->args->columns[key], e->args_row);
}

static void put_members(writer *w, hd_json_out *out, bool *first, const hd_event *e, unsigned scope, unsigned own)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, e->shape);
    const chrome_shape_keys *keys = w->keys.shapes[e->shape];
    unsigned columns = keys ? chrome_columns_of(w->trace, e) & ~own : 0;
    for (uint32_t i = 0; i < shape->key_count; i++) {
        if (shape->keys[i].scope != scope) continue;
        uint32_t keeper = keys ? keys->names[i].keeper : i;
        if (keeper != i && shape->keys[keeper].type == shape->keys[i].type && bits_of(e, keeper) == bits_of(e, i))
            continue; /* both ends say the same */
        hd_json_put(out, *first ? "{" : ",", 1);
        *first = false;
        uint32_t number = 0;
        if (keys) number = columns & 1u << keys->members[i] ? keys->names[i].spare : keys->names[i].number;
        w->renamed += number > 0;
        hd_shape_put_key(out, w->trace, shape->keys[i].key, number);
        hd_json_put(out, ":", 1);
        put_value(w, out, shape->keys[i].type, bits_of(e, i));
    }
}

/* Arguments kept as text: the members of an object, which may be columns as well; or an element that was not an
 * object. */
static void put_raw(writer *w, hd_json_out *out, const hd_event *e)
{
    bool first = true;
    uint64_t columns_again;
    hd_error err; /* no memory: out says so */
    hd_json_out *text = &w->raw_event;
    hd_string raw = hd_trace_string(w->trace, (uint32_t)hd_column_at(&e->args->columns[0], e->args_row));
    if (raw.size && raw.data[0] != '{') {
        put_columns(w, out, &first, e, 0);
        if (!first) hd_json_put_text(out, ",\"\":");
        put_json(w, out, raw);
        if (!first) hd_json_put_text(out, "}");
        return;
    }
    w->raw.size = text->size = 0;
    put_json(w, &w->raw, raw);
    put_columns(w, text, &first, e, 0);
    if (w->raw.size > 2) {
        hd_json_put(text, first ? "{" : ",", 1);
        hd_json_put(text, w->raw.data + 1, w->raw.size - 2);
        first = false;
    }
    hd_json_put_text(text, first ? "{}" : "}");
    out->failed |=
        w->raw.failed || text->failed || hd_json_put_unique(out, &columns_again, text->data, text->size, &err) != HD_OK;
}

static void put_event(writer *w, hd_json_out *out, const hd_event *e)
{
    bool first = true;
    const hd_shape *shape = hd_trace_shape_at(w->trace, e->shape);
    const chrome_shape_keys *keys = w->keys.shapes[e->shape];
    if (chrome_is_raw_shape(w->trace, shape)) {
        put_raw(w, out, e);
        return;
    }
    unsigned own = keys ? chrome_own_columns(w->trace, e, &w->keys) : 0;
    put_columns(w, out, &first, e, own);
    put_members(w, out, &first, e, HD_SCOPE_EVENT, own);
    if (shape->has_args) {
        bool first_arg = true;
        put_key(out, &first, "args");
        put_members(w, out, &first_arg, e, HD_SCOPE_ARGS, own);
        hd_json_put(out, first_arg ? "{}" : "}", first_arg ? 2 : 1);
    }
    hd_json_put(out, first ? "{}" : "}", first ? 2 : 1);
}

static hd_status write_event(writer *w, const hd_event *e)
{
    if (w->written++) hd_json_put(&w->out, ",", 1);
    if (w->options->pretty) {
        w->event.size = 0;
        put_event(w, &w->event, e);
        hd_json_put_text(&w->out, w->array ? "\n  " : "\n    ");
        hd_json_put_pretty(&w->out, w->event.data, w->event.size, w->array ? 1 : 2);
    } else {
        hd_json_put(&w->out, "\n", 1);
        put_event(w, &w->out, e);
    }
    if (w->options->progress && w->written % PROGRESS_EVENTS == 0)
        w->options->progress(w->options->progress_user, w->written, hd_trace_event_count(w->trace));
    return flush(w);
}

/* ---- all events ---- */

static hd_status write_next_of(writer *w, hd_kind kind)
{
    const hd_block *block = hd_trace_block_at(w->trace, kind, w->blocks[kind]);
    while (w->rows[kind] == block->row_count) {
        w->rows[kind] = 0;
        hd_trace_release(w->trace, block);
        block = hd_trace_block_at(w->trace, kind, ++w->blocks[kind]);
    }
    hd_event event;
    hd_block_event(&event, block, w->rows[kind]++);
    return write_event(w, &event);
}

/* As an event of this kind is written that was read. */
static void begin_meta(writer *w, const hd_track *track, const char *name, const char *key)
{
    bool first = false;
    hd_json_put_text(&w->out, w->written++ ? ",\n{\"ph\":\"M\",\"name\":\"" : "\n{\"ph\":\"M\",\"name\":\"");
    hd_json_put_text(&w->out, name);
    hd_json_put_text(&w->out, "\"");
    put_ident(w, &w->out, &first, "pid", track->pid);
    put_ident(w, &w->out, &first, "tid", track->tid);
    hd_json_put_text(&w->out, ",\"args\":{\"");
    hd_json_put_text(&w->out, key);
    hd_json_put_text(&w->out, "\":");
}

static hd_status end_meta(writer *w)
{
    hd_json_put_text(&w->out, "}}");
    return flush(w);
}

/* Names and order of tracks, for traces that did not bring them as events. */
static hd_status write_track_meta(writer *w)
{
    if (hd_trace_row_count(w->trace, HD_KIND_META)) return HD_OK;
    for (uint32_t i = 0; i < hd_trace_track_count(w->trace); i++) {
        const hd_track *track = hd_trace_track_at(w->trace, i);
        bool process = track->kind == HD_TRACK_PROCESS;
        if (track->name) {
            begin_meta(w, track, process ? "process_name" : "thread_name", "name");
            put_string_id(w, &w->out, track->name);
            HD_TRY(end_meta(w));
        }
        if (track->labels && process) {
            begin_meta(w, track, "process_labels", "labels");
            put_string_id(w, &w->out, track->labels);
            HD_TRY(end_meta(w));
        }
        if (track->sort_index != HD_NO_NUMBER) {
            begin_meta(w, track, process ? "process_sort_index" : "thread_sort_index", "sort_index");
            hd_json_put_int(&w->out, track->sort_index);
            HD_TRY(end_meta(w));
        }
    }
    return HD_OK;
}

static void put_number(hd_json_out *out, int64_t number)
{
    if (number == HD_NO_NUMBER)
        hd_json_put_text(out, "null");
    else
        hd_json_put_int(out, number);
}

/* Writes data of tracks that does not follow from the events. */
static hd_status write_untold(writer *w)
{
    uint8_t *untold;
    hd_status status = hd_conventions_untold(&untold, w->trace, true, w->err);
    for (uint32_t i = 0; i < hd_trace_track_count(w->trace) && status == HD_OK; i++) {
        const hd_track *track = hd_trace_track_at(w->trace, i);
        if (untold[i] == HD_UNTOLD_NOTHING) continue;
        if (untold[i] == HD_UNTOLD_RANK) {
            begin_meta(w, track, HD_RANK_EVENT, "rank");
            put_number(&w->out, track->rank);
        } else if (untold[i] == HD_UNTOLD_THREAD) {
            begin_meta(w, track, HD_STREAM_EVENT, "thread");
            hd_json_put_text(&w->out, "true");
        } else {
            begin_meta(w, track, HD_STREAM_EVENT, "device");
            put_number(&w->out, track->device);
            hd_json_put_text(&w->out, ",\"stream\":");
            put_number(&w->out, track->stream);
        }
        status = end_meta(w);
    }
    free(untold);
    return status;
}

static hd_status write_events(writer *w)
{
    HD_TRY(write_track_meta(w));
    HD_TRY(write_untold(w));
    for (size_t run = 0; run < hd_trace_order_count(w->trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, w->trace, run);
        for (size_t i = 0; i < count; i++) HD_TRY(write_next_of(w, (hd_kind)order[i]));
    }
    return HD_OK;
}

static void write_metadata(writer *w, bool after, bool *first)
{
    for (size_t i = 0; i < hd_trace_metadata_count(w->trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(w->trace, i);
        if (m->after_events != after || w->keys.metadata[i] == CHROME_LEFT_OUT) continue;
        hd_json_put_text(&w->out, *first ? "" : ",");
        hd_json_put_text(&w->out, w->options->pretty ? "\n  " : "\n");
        *first = false;
        hd_shape_put_key(&w->out, w->trace, m->key, w->keys.metadata[i]);
        hd_json_put_text(&w->out, w->options->pretty ? ": " : ":");
        hd_string value = hd_trace_string(w->trace, m->value);
        if (w->options->pretty) {
            w->event.size = 0;
            put_json(w, &w->event, value);
            hd_json_put_pretty(&w->out, w->event.data, w->event.size, 1);
        } else {
            put_json(w, &w->out, value);
        }
    }
}

/* A top-level key that other formats have as a fact; value "": none. */
static void write_fact(writer *w, bool *first, const char *key, const char *value)
{
    if (!*value) return;
    hd_json_put_text(&w->out, *first ? "" : ",");
    hd_json_put_text(&w->out, w->options->pretty ? "\n  \"" : "\n\"");
    hd_json_put_text(&w->out, key);
    hd_json_put_text(&w->out, w->options->pretty ? "\": " : "\":");
    hd_json_put_text(&w->out, value);
    *first = false;
}

static hd_status write_all(writer *w)
{
    hd_conventions_base_time(w->base_time, w->trace);
    w->array = hd_trace_facts_of(w->trace)->top_level_array && hd_trace_metadata_count(w->trace) == 0 && !*w->base_time;
    if (!w->array) hd_conventions_rank(w->rank, w->trace);
    bool first = true;
    if (!w->array) {
        hd_json_put_text(&w->out, "{");
        write_metadata(w, false, &first);
        write_fact(w, &first, "distributedInfo", w->rank);
        write_fact(w, &first, HD_BASE_TIME, w->base_time);
        hd_json_put_text(&w->out, first ? "" : ",");
        hd_json_put_text(&w->out, w->options->pretty ? "\n  \"traceEvents\": " : "\n\"traceEvents\":");
        first = false;
    }
    hd_json_put_text(&w->out, "[");
    HD_TRY(write_events(w));
    hd_json_put_text(&w->out, w->options->pretty && !w->array ? "\n  ]" : "\n]");
    if (!w->array) {
        write_metadata(w, true, &first);
        hd_json_put_text(&w->out, "\n}");
    }
    hd_json_put_text(&w->out, "\n");
    HD_TRY(hd_write_behind_give(&w->behind, &w->out, w->err));
    return hd_write_behind_drain(&w->behind, w->err);
}

hd_status chrome_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    writer w = {.trace = trace, .options = options, .err = err};
    hd_write_behind_init(&w.behind, output);
    hd_status status = chrome_keys_init(&w.keys, trace, err);
    if (status == HD_OK) status = write_all(&w);
    if (status == HD_OK) hd_write_note(options, CHROME_STAGE, "json.duplicate-key", HD_LEDGER_LOSS, w.lost_members);
    if (status == HD_OK) hd_write_note(options, CHROME_STAGE, "chrome.key-numbered", HD_LEDGER_NOTE, w.renamed);
    hd_write_behind_deinit(&w.behind);
    chrome_keys_deinit(&w.keys);
    free(w.plain);
    free(w.raw.data);
    free(w.raw_event.data);
    free(w.out.data);
    free(w.event.data);
    return status;
}
