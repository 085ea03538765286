/* chrome_write.c - trace -> Chrome trace event JSON
 *
 * Writes what the reader read: the same events in the same order with the same values, numbers with their digits; the
 * top-level keys before and behind them. One event a line, or indented. Traces of other formats, which have no metadata
 * events, get those that name and order their tracks.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/write_behind.h"
#include "format/chrome/chrome.h"
#include "trace/lazy.h"

enum { FLUSH_BYTES = 1 << 20, PROGRESS_EVENTS = 1 << 16 };

/* Members that a shape gives itself, so that the column's value must not be written beside it. */
enum own { OWN_PH = 1, OWN_TS = 2, OWN_DUR = 4, OWN_NAME = 8, OWN_CAT = 16 };

typedef struct writer {
    const hd_trace *trace;
    hd_write_behind behind;
    const hd_write_options *options;
    hd_error *err;
    hd_json_out out;
    hd_json_out event;            /* compact text of one event, if it is to be indented */
    hd_json_out scratch;          /* one value */
    uint8_t *own;                 /* by shape */
    uint32_t key_ts, key_dur;     /* string ids, 0: no shape has them */
    bool fine;                    /* columns of times hold more than nanoseconds */
    size_t blocks[HD_KIND_COUNT]; /* where each table is read */
    uint32_t rows[HD_KIND_COUNT];
    uint64_t written;
    bool array; /* the outermost value is the array of events */
} writer;

static hd_status flush(writer *w)
{
    if (w->event.failed) return HD_NOMEM(w->err);
    return w->out.size < FLUSH_BYTES && !w->out.failed ? HD_OK : hd_write_behind_give(&w->behind, &w->out, w->err);
}

/* ---- values -------------------------------------------------------------------------------------------------- */

static void put_string_id(writer *w, hd_json_out *out, uint32_t id)
{
    hd_string s = hd_trace_string(w->trace, id);
    hd_json_put_string(out, s.data, s.size);
}

static void put_raw_id(writer *w, hd_json_out *out, uint32_t id)
{
    hd_string s = hd_trace_string(w->trace, id);
    hd_json_put(out, s.data, s.size);
}

static void put_value(writer *w, hd_json_out *out, unsigned type, int64_t bits)
{
    switch (type) {
    case HD_ARG_NULL: hd_json_put_text(out, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(out, bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(out, bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(out, hd_decimal_mantissa(bits), hd_decimal_scale(bits)); break;
    case HD_ARG_STRING: put_string_id(w, out, (uint32_t)bits); break;
    default: put_raw_id(w, out, (uint32_t)bits); break;
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

/* ---- one event ------------------------------------------------------------------------------------------------- */

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
        put_raw_id(w, out, ident.text);
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

static int64_t part_of(uint32_t ps, uint64_t finer)
{
    return ps * HD_FINER_PER_PS + (int64_t)finer;
}

/* Whether the text that an event keeps of a time, in nanoseconds `is`, says what the columns do: passes change those,
 * and other formats may have cut them to nanoseconds. */
static bool own_time_holds(writer *w, const hd_event *e, uint32_t key, hd_fixed is, int64_t tolerance_ns)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, e->shape);
    int index = hd_shape_find(shape, key, HD_SCOPE_EVENT);
    hd_fixed kept;
    if (index < 0) return true;
    w->scratch.size = 0;
    put_value(w, &w->scratch, shape->keys[index].type, hd_column_at(&e->args->columns[index], e->args_row));
    bool quoted = w->scratch.size >= 2 && w->scratch.data[0] == '"';
    if (w->scratch.failed || !chrome_micros_of_text(&kept, w->scratch.data + quoted, w->scratch.size - 2 * quoted))
        return true;
    if (w->fine) return kept.whole == is.whole && kept.part == is.part;
    return kept.whole >= is.whole - tolerance_ns && kept.whole <= is.whole + tolerance_ns;
}

/* The times that an event keeps as they were written and that are so no longer. */
static unsigned find_stale(writer *w, const hd_event *e)
{
    unsigned own = w->own[e->shape], stale = 0;
    int64_t start = part_of(e->start_ps, e->start_finer), length = part_of(e->end_ps, e->end_finer) - start;
    hd_fixed duration = {e->duration_ns - (length < 0), length + (length < 0 ? HD_FIXED_ONE : 0), false};
    if (own & OWN_TS && e->start_ns != HD_NO_TIME &&
        !own_time_holds(w, e, w->key_ts, (hd_fixed){e->start_ns, start, false}, 0))
        stale |= OWN_TS;
    if (own & OWN_DUR && e->duration_ns > INT64_MIN + 1 && e->phase != 'B' &&
        !own_time_holds(w, e, w->key_dur, duration, 1))
        stale |= OWN_DUR;
    return stale;
}

static void put_columns(writer *w, hd_json_out *out, bool *first, const hd_event *e, unsigned own)
{
    if (e->phase && !(own & OWN_PH)) {
        put_key(out, first, "ph");
        hd_json_put_string(out, &e->phase, 1);
    }
    if (e->category && !(own & OWN_CAT)) {
        put_key(out, first, "cat");
        put_string_id(w, out, e->category);
    }
    if (e->name && !(own & OWN_NAME)) {
        put_key(out, first, "name");
        put_string_id(w, out, e->name);
    }
    if (e->track != HD_NONE) {
        const hd_track *track = hd_trace_track_at(w->trace, e->track);
        put_ident(w, out, first, "pid", track->pid);
        put_ident(w, out, first, "tid", track->tid);
    }
    if (e->start_ns != HD_NO_TIME && !(own & OWN_TS)) {
        put_key(out, first, "ts");
        chrome_put_micros(out, e->start_ns, part_of(e->start_ps, e->start_finer), 0);
    }
    if (e->duration_ns != HD_NO_TIME && !(own & OWN_DUR) && e->phase != 'B') {
        put_key(out, first, "dur");
        chrome_put_micros(out, e->duration_ns, part_of(e->end_ps, e->end_finer) - part_of(e->start_ps, e->start_finer),
                          0);
    }
    put_id(w, out, first, e);
    if (e->flags & HD_FLAG_BIND_ENCLOSING) {
        put_key(out, first, "bp");
        hd_json_put_text(out, "\"e\"");
    }
}

static void put_members(writer *w, hd_json_out *out, bool *first, const hd_event *e, unsigned scope, unsigned stale)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, e->shape);
    for (uint32_t i = 0; i < shape->key_count; i++) {
        if (shape->keys[i].scope != scope) continue;
        if (scope == HD_SCOPE_EVENT && ((stale & OWN_TS && shape->keys[i].key == w->key_ts) ||
                                        (stale & OWN_DUR && shape->keys[i].key == w->key_dur)))
            continue;
        hd_json_put(out, *first ? "{" : ",", 1);
        *first = false;
        put_string_id(w, out, shape->keys[i].key);
        hd_json_put(out, ":", 1);
        put_value(w, out, shape->keys[i].type, hd_column_at(&e->args->columns[i], e->args_row));
    }
}

/* Arguments kept as text: the members of an object, or an element that was no object and has no columns. */
static void put_raw(writer *w, hd_json_out *out, bool *first, const hd_event *e)
{
    hd_string raw = hd_trace_string(w->trace, (uint32_t)hd_column_at(&e->args->columns[0], e->args_row));
    if (raw.size && raw.data[0] != '{') {
        if (!*first) hd_json_put_text(out, ",\"\":");
        hd_json_put(out, raw.data, raw.size);
        if (!*first) hd_json_put_text(out, "}");
    } else if (raw.size > 2) {
        hd_json_put(out, *first ? "{" : ",", 1);
        hd_json_put(out, raw.data + 1, raw.size - 2);
        hd_json_put(out, "}", 1);
    } else {
        hd_json_put_text(out, *first ? "{}" : "}");
    }
}

static void put_event(writer *w, hd_json_out *out, const hd_event *e)
{
    bool first = true;
    const hd_shape *shape = hd_trace_shape_at(w->trace, e->shape);
    unsigned own = w->own[e->shape], stale = own & (OWN_TS | OWN_DUR) ? find_stale(w, e) : 0;
    put_columns(w, out, &first, e, own & ~stale);
    if (shape->key_count == 1 && hd_trace_string(w->trace, shape->keys[0].key).size == 0 && !shape->has_args &&
        shape->keys[0].type == HD_ARG_JSON) {
        put_raw(w, out, &first, e);
        return;
    }
    put_members(w, out, &first, e, HD_SCOPE_EVENT, stale);
    if (shape->has_args) {
        bool first_arg = true;
        put_key(out, &first, "args");
        put_members(w, out, &first_arg, e, HD_SCOPE_ARGS, 0);
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

/* ---- all events -------------------------------------------------------------------------------------------------- */

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

static void put_meta(hd_json_out *out, const char *name, const char *key)
{
    hd_json_put_text(out, "{\"ph\":\"M\",\"name\":\"");
    hd_json_put_text(out, name);
    hd_json_put_text(out, "\",\"args\":{\"");
    hd_json_put_text(out, key);
    hd_json_put_text(out, "\":");
}

static hd_status end_meta(writer *w, const hd_track *track)
{
    bool first = false;
    hd_json_put_text(&w->out, "}");
    put_ident(w, &w->out, &first, "pid", track->pid);
    put_ident(w, &w->out, &first, "tid", track->tid);
    hd_json_put_text(&w->out, "}");
    w->written++;
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
            hd_json_put_text(&w->out, w->written ? ",\n" : "\n");
            put_meta(&w->out, process ? "process_name" : "thread_name", "name");
            put_string_id(w, &w->out, track->name);
            HD_TRY(end_meta(w, track));
        }
        if (track->labels && process) {
            hd_json_put_text(&w->out, w->written ? ",\n" : "\n");
            put_meta(&w->out, "process_labels", "labels");
            put_string_id(w, &w->out, track->labels);
            HD_TRY(end_meta(w, track));
        }
        if (track->sort_index != HD_NO_NUMBER) {
            hd_json_put_text(&w->out, w->written ? ",\n" : "\n");
            put_meta(&w->out, process ? "process_sort_index" : "thread_sort_index", "sort_index");
            hd_json_put_int(&w->out, track->sort_index);
            HD_TRY(end_meta(w, track));
        }
    }
    return HD_OK;
}

static hd_status write_events(writer *w)
{
    HD_TRY(write_track_meta(w));
    for (size_t run = 0; run < hd_trace_order_count(w->trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(w->trace, run, &count);
        for (size_t i = 0; i < count; i++) HD_TRY(write_next_of(w, (hd_kind)order[i]));
    }
    return HD_OK;
}

static void write_metadata(writer *w, bool after, bool *first)
{
    for (size_t i = 0; i < hd_trace_metadata_count(w->trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(w->trace, i);
        if (m->after_events != after) continue;
        hd_json_put_text(&w->out, *first ? "" : ",");
        hd_json_put_text(&w->out, w->options->pretty ? "\n  " : "\n");
        *first = false;
        put_string_id(w, &w->out, m->key);
        hd_json_put_text(&w->out, w->options->pretty ? ": " : ":");
        hd_string value = hd_trace_string(w->trace, m->value);
        if (w->options->pretty)
            hd_json_put_pretty(&w->out, value.data, value.size, 1);
        else
            hd_json_put(&w->out, value.data, value.size);
    }
}

static hd_status write_all(writer *w)
{
    w->array = hd_trace_facts_of(w->trace)->top_level_array && hd_trace_metadata_count(w->trace) == 0;
    bool first = true;
    if (!w->array) {
        hd_json_put_text(&w->out, "{");
        write_metadata(w, false, &first);
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

static bool has_fine_times(const hd_trace *trace)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, i);
            const hd_column *start = &block->columns[HD_COL_START_PS], *end = &block->columns[HD_COL_END_PS];
            bool fine = start->width || start->base || end->width || end->base;
            hd_trace_release(trace, block);
            if (fine) return true;
        }
    }
    return false;
}

static void find_own_members(writer *w)
{
    static const struct {
        const char *key;
        unsigned bit;
    } members[] = {{"ph", OWN_PH}, {"ts", OWN_TS}, {"dur", OWN_DUR}, {"name", OWN_NAME}, {"cat", OWN_CAT}};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        uint32_t key = hd_trace_find_string(w->trace, members[m].key, strlen(members[m].key));
        for (uint32_t s = 0; key && s < hd_trace_shape_count(w->trace); s++) {
            if (hd_shape_find(hd_trace_shape_at(w->trace, s), key, HD_SCOPE_EVENT) >= 0)
                w->own[s] |= (uint8_t)members[m].bit;
        }
        if (members[m].bit == OWN_TS) w->key_ts = key;
        if (members[m].bit == OWN_DUR) w->key_dur = key;
    }
    w->fine = (w->key_ts || w->key_dur) && has_fine_times(w->trace);
}

hd_status chrome_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    writer w = {.trace = trace, .options = options, .err = err};
    w.own = calloc((size_t)hd_trace_shape_count(trace) + 1, 1);
    if (!w.own) return HD_NOMEM(err);
    find_own_members(&w);
    hd_write_behind_init(&w.behind, output);
    hd_status status = write_all(&w);
    hd_write_behind_deinit(&w.behind);
    free(w.own);
    free(w.out.data);
    free(w.event.data);
    free(w.scratch.data);
    return status;
}
