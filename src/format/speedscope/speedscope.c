/* speedscope.c - speedscope's JSON -> samples, and slices
 *
 * Format   file-format-schema.json of speedscope.app: frames that all profiles share, and profiles, sampled or evented.
 *          Written by speedscope itself, py-spy, rbspy, pprof-rs, dotnet-trace, xdebug and heddle flame
 * Sniffs   the name of the schema
 * Maps     profile -> thread; sample -> sample; events O and C -> begin and end of a slice, or, if values are not
 *          times, a sample of the increase since the previous event. docs/formats/speedscope.md
 * Units    of times -> ns; bytes and none unchanged         Shapes   n samples or events -> n rows
 * Limits   1 GiB         Errors   DAMAGED: no object, nothing can be read, strict
 *
 * The document is walked twice, since frames may come after their uses; and within a profile the lists of samples and
 * of weights are walked together, once its unit is known.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/json_walk.h"
#include "format/stack_samples.h"
#include "trace/text.h"

static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;

enum {
    FRAME_MISSING,
    WEIGHT_MISSING,
    WEIGHT_ROUNDED,
    TIME_LOST,
    EVENT_UNREADABLE,
    CLOSE_DIFFERS,
    MEMBER_LOST,
    AS_SAMPLES
};

static const hd_stack_code codes[] = {
    [FRAME_MISSING] = {"speedscope.frame-missing", HD_LEDGER_LOSS, NULL},
    [WEIGHT_MISSING] = {"speedscope.weight-missing", HD_LEDGER_LOSS, NULL},
    [WEIGHT_ROUNDED] = {"speedscope.weight-rounded", HD_LEDGER_NOTE, NULL},
    [TIME_LOST] = {"speedscope.time-lost", HD_LEDGER_LOSS, NULL},
    [EVENT_UNREADABLE] = {"speedscope.event-unreadable", HD_LEDGER_LOSS, NULL},
    [CLOSE_DIFFERS] = {"speedscope.close-differs", HD_LEDGER_REPAIR, NULL},
    [MEMBER_LOST] = {"speedscope.member-lost", HD_LEDGER_LOSS, NULL},
    [AS_SAMPLES] = {"speedscope.events-as-samples", HD_LEDGER_NOTE, NULL},
};

typedef struct value_unit {
    const char *name;
    int shift;         /* to ns: a power of ten; below 0: no time */
    const char *event; /* the name of samples */
} value_unit;

static const value_unit units[] = {{"none", -1, "samples"},     {"bytes", -1, "bytes"},      {"nanoseconds", 0, "time"},
                                   {"microseconds", 3, "time"}, {"milliseconds", 6, "time"}, {"seconds", 9, "time"}};

typedef struct frame {
    uint32_t name, text; /* in the tree of stacks, in the builder */
    hd_frame_kind kind;
} frame;

typedef struct profile {
    const value_unit *unit;
    uint32_t name; /* string id */
    bool is_evented;
    const char *samples, *weights, *events; /* positions of their lists; NULL: absent */
    hd_fixed start;
    uint64_t number;
    uint32_t track, event, category;
} profile;

typedef struct reader {
    hd_json_walk walk;
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    frame *frames;
    size_t frame_count, frame_capacity;
    hd_memo stacks; /* text of a sample -> node */
    uint32_t *open; /* nodes of the frames that are open */
    size_t open_count, open_capacity;
    hd_bytes text;
    hd_json_out rest;
    uint64_t profile_count;
} reader;

static hd_status count(reader *r, size_t code, uint64_t n, const char *place)
{
    const hd_line line = {.offset = hd_walk_offset(&r->walk, place)};
    return hd_stack_samples_count(&r->samples, code, n, &line);
}

/* ---- frames ---- */

static hd_status add_frame(reader *r, hd_string text)
{
    frame f = {0};
    f.name = hd_stack_samples_frame(&r->samples, &f.kind, text.data, text.size);
    f.text = hd_builder_intern(r->builder, text.data, text.size);
    if (f.name == HD_NONE || f.text == HD_STRING_NONE ||
        !hd_grow((void **)&r->frames, &r->frame_capacity, r->frame_count, sizeof *r->frames))
        return HD_NOMEM(r->err);
    r->frames[r->frame_count++] = f;
    return HD_OK;
}

static hd_status read_frame(reader *r, const char **at)
{
    bool is_null, first = true, is_number;
    int64_t line = 0, column = 0;
    hd_string key, value;
    hd_status status;
    hd_bytes name = {0}, file = {0};
    HD_TRY(hd_walk_try_enter(&r->walk, at, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, at, &first)) == HD_OK) {
        bool is_name = hd_string_is(key, "name"), is_file = hd_string_is(key, "file"),
             is_line = hd_string_is(key, "line");
        if (is_line || hd_string_is(key, "col")) {
            status = hd_walk_int(is_line ? &line : &column, &is_number, &r->walk, at);
        } else if (is_name || is_file) {
            hd_bytes *out = is_name ? &name : &file;
            status = hd_walk_string(&value, &r->walk, at);
            out->size = 0;
            if (status == HD_OK) hd_bytes_put(out, value.data, value.size);
        } else {
            hd_walk_span span;
            const char *place = *at;
            status = hd_walk_skip(&span, &r->walk, at);
            if (status == HD_OK) status = count(r, MEMBER_LOST, 1, place);
        }
        if (status != HD_OK) break;
    }
    r->text.size = 0;
    hd_string text = {(char *)name.data, name.size};
    if (!text.size) text = (hd_string){"[unknown]", 9};
    hd_text_put_frame(&r->text, text, (hd_string){(char *)file.data, file.size}, line, column);
    bool failed = name.failed || file.failed || r->text.failed;
    hd_bytes_deinit(&name);
    hd_bytes_deinit(&file);
    if (failed) return HD_NOMEM(r->err);
    if (!is_null && status != HD_END && status != HD_OK) HD_TRY(hd_walk_pass(&r->walk, status));
    return add_frame(r, (hd_string){(char *)r->text.data, r->text.size});
}

static hd_status read_frames(reader *r, const char **at)
{
    bool is_null, first = true;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, at, '[', &is_null));
    if (is_null) return HD_OK;
    r->walk.quiet = false;
    while ((status = hd_walk_item(&r->walk, at, &first)) == HD_OK) HD_TRY(read_frame(r, at));
    r->walk.quiet = true;
    return status == HD_END ? HD_OK : status;
}

/* Reads the frames of `shared`, or everything else in it. */
static hd_status read_shared(reader *r, const char **at, bool frames)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, at, '{', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_member(&key, &r->walk, at, &first)) == HD_OK) {
        bool is_frames = hd_string_is(key, "frames");
        if (is_frames && frames)
            HD_TRY(read_frames(r, at));
        else if (is_frames || frames)
            hd_walk_pass_over(&r->walk, at);
        else
            HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, at));
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- values ---- */

/* In the unit of the profile, or in ns; false: it is not a number, or beyond int64. */
static hd_status take_value(reader *r, hd_fixed *out, bool *out_is, const value_unit *unit, const char **at)
{
    hd_walk_span span;
    HD_TRY(hd_walk_number(&span, &r->walk, at));
    *out_is = span.size && hd_fixed_parse(out, span.data, span.size, unit->shift < 0 ? 0 : unit->shift) &&
              out->whole != HD_NO_TIME;
    return HD_OK;
}

static bool add_fixed(hd_fixed *sum, const hd_fixed *more, bool minus)
{
    hd_fixed other = *more;
    if (minus) {
        other.whole = other.part ? -other.whole - 1 : -other.whole;
        other.part = other.part ? HD_FIXED_ONE - other.part : 0;
    }
    int64_t part = sum->part + other.part;
    bool carry = part >= HD_FIXED_ONE;
    sum->part = carry ? part - HD_FIXED_ONE : part;
    return !__builtin_add_overflow(sum->whole, other.whole, &sum->whole) &&
           !__builtin_add_overflow(sum->whole, (int64_t)carry, &sum->whole) && sum->whole != HD_NO_TIME;
}

/* An integer, or as many digits as a decimal can store. */
static hd_status put_weight(reader *r, hd_stack_sample *out, const hd_fixed *value, const char *place)
{
    static const int64_t limit = (int64_t)1 << 58;
    int64_t mantissa = value->whole, part = value->part, digit = HD_FIXED_ONE;
    unsigned scale = 0;
    out->weight_type = HD_ARG_INT;
    out->weight = value->whole;
    if (!part || mantissa >= limit || mantissa <= -limit)
        return count(r, WEIGHT_ROUNDED, part > 0 || value->rest, place);
    while (part && scale < HD_FIXED_DIGITS && mantissa < limit / 10 - 1 && mantissa > -limit / 10) {
        digit /= 10;
        mantissa = mantissa * 10 + part / digit;
        part %= digit;
        scale++;
    }
    out->weight_type = scale ? HD_ARG_DECIMAL : HD_ARG_INT;
    out->weight = scale ? hd_decimal_pack(mantissa, scale) : mantissa;
    return count(r, WEIGHT_ROUNDED, part > 0 || value->rest, place);
}

static void put_time(hd_row *row, const hd_fixed *time)
{
    row->start_ns = time->whole;
    row->start_ps = (uint32_t)(time->part / (int64_t)HD_FINER_PER_PS);
    row->start_finer = (uint64_t)(time->part % (int64_t)HD_FINER_PER_PS);
}

/* ---- sampled ---- */

static hd_status find_frame(reader *r, frame *out, bool is_number, int64_t index, const char *place)
{
    *out = (frame){.kind = HD_FRAME_UNKNOWN};
    if (is_number && index >= 0 && (uint64_t)index < r->frame_count) {
        *out = r->frames[index];
        return HD_OK;
    }
    out->name = hd_stacks_name(r->samples.stacks, "[unknown]", 9);
    out->text = hd_builder_intern_text(r->builder, "[unknown]");
    return count(r, FRAME_MISSING, 1, place);
}

/* A list of frames from the root on. */
static hd_status make_stack(reader *r, uint32_t *node, const char *at)
{
    bool is_null, is_number, first = true;
    int64_t index;
    hd_status status;
    frame f;
    *node = HD_STACK_NONE;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        const char *place = at;
        HD_TRY(hd_walk_int(&index, &is_number, &r->walk, &at));
        HD_TRY(find_frame(r, &f, is_number, index, place));
        *node = hd_stacks_push(r->samples.stacks, *node, f.name, f.kind);
        if (*node == HD_NONE) return HD_NOMEM(r->err);
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status find_stack(reader *r, uint32_t *node, hd_walk_span span)
{
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &r->stacks, span.data, span.size);
    if (known) {
        *node = known->a;
        return HD_OK;
    }
    HD_TRY(make_stack(r, node, span.data));
    hd_memo_add(&r->stacks, hash, span.data, span.size, (hd_memo_value){.a = *node});
    return HD_OK;
}

static hd_status next_value(reader *r, hd_fixed *out, bool *out_is, const profile *p, const char **at, bool *first,
                            bool *ended)
{
    *out_is = false;
    if (*ended) return HD_OK;
    hd_status status = hd_walk_item(&r->walk, at, first);
    *ended = status == HD_END;
    if (status != HD_OK) return *ended ? HD_OK : status;
    return take_value(r, out, out_is, p->unit, at);
}

/* A sample, at the sum of all previous durations. */
static hd_status add_sample(reader *r, profile *p, uint32_t node, const hd_fixed *weight, bool has_weight, bool *timed,
                            const char *place)
{
    hd_stack_sample s = {
        .track = p->track, .name = p->event, .category = p->category, .node = node, .time_ns = HD_NO_TIME};
    if (*timed) s.time_ns = p->start.whole;
    if (has_weight)
        HD_TRY(put_weight(r, &s, weight, place));
    else
        HD_TRY(count(r, WEIGHT_MISSING, 1, place));
    if (*timed && has_weight && !add_fixed(&p->start, weight, false)) {
        *timed = false;
        HD_TRY(count(r, TIME_LOST, 1, place));
    }
    return hd_stack_samples_add(&r->samples, &s);
}

static hd_status read_samples(reader *r, profile *p)
{
    bool first = true, first_weight = true, ended, no_weights, has_weight, timed = p->unit->shift >= 0;
    hd_fixed weight = {0};
    hd_walk_span span;
    uint32_t node;
    hd_status status;
    const char *at = p->samples, *weights = p->weights;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &ended));
    HD_TRY(hd_walk_try_enter(&r->walk, &weights, '[', &no_weights));
    if (ended) return HD_OK;
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        const char *place = at;
        HD_TRY(hd_walk_skip(&span, &r->walk, &at));
        HD_TRY(next_value(r, &weight, &has_weight, p, &weights, &first_weight, &no_weights));
        if (*span.data == 'n') { /* which is reported; its weight is dropped with it */
            timed = timed && has_weight && add_fixed(&p->start, &weight, false);
            continue;
        }
        HD_TRY(find_stack(r, &node, span));
        HD_TRY(add_sample(r, p, node, &weight, has_weight, &timed, place));
        hd_stack_samples_progress(&r->samples);
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- evented ---- */

typedef struct event {
    char type;
    bool has_time, has_frame;
    int64_t frame;
    hd_fixed at;
} event;

static hd_status read_event(reader *r, event *out, const profile *p, const char *at)
{
    bool is_null, first = true;
    hd_string key, value;
    hd_status status;
    *out = (event){0};
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '{', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        if (hd_string_is(key, "type")) {
            HD_TRY(hd_walk_string(&value, &r->walk, &at));
            out->type = value.size == 1 ? *value.data : 0;
        } else if (hd_string_is(key, "at")) {
            HD_TRY(take_value(r, &out->at, &out->has_time, p->unit, &at));
        } else if (hd_string_is(key, "frame")) {
            HD_TRY(hd_walk_int(&out->frame, &out->has_frame, &r->walk, &at));
        } else {
            HD_TRY(count(r, MEMBER_LOST, 1, at));
            hd_walk_pass_over(&r->walk, &at);
        }
    }
    return status == HD_END ? HD_OK : status;
}

/* Pushes or pops an open frame. */
static hd_status step(reader *r, const event *e, const frame *f, const char *place)
{
    uint32_t caller = r->open_count ? r->open[r->open_count - 1] : HD_STACK_NONE;
    if (e->type == 'C') {
        bool differs = !r->open_count || hd_stacks_at(r->samples.stacks, caller).name != f->name;
        r->open_count -= r->open_count > 0;
        return count(r, CLOSE_DIFFERS, differs, place);
    }
    uint32_t node = hd_stacks_push(r->samples.stacks, caller, f->name, f->kind);
    if (node == HD_NONE || !hd_grow((void **)&r->open, &r->open_capacity, r->open_count, sizeof *r->open))
        return HD_NOMEM(r->err);
    r->open[r->open_count++] = node;
    return HD_OK;
}

/* If values are not times: the increase since the previous event belongs to the open frames. */
static hd_status add_growth(reader *r, profile *p, const event *e, const char *place)
{
    hd_fixed weight = e->at;
    bool timed = false;
    if (!add_fixed(&weight, &p->start, true)) return count(r, TIME_LOST, 1, place);
    p->start = e->at;
    if (!r->open_count || (!weight.whole && !weight.part)) return HD_OK;
    return add_sample(r, p, r->open[r->open_count - 1], &weight, true, &timed, place);
}

static hd_status add_event(reader *r, profile *p, const event *e, const char *place)
{
    frame f;
    if ((e->type != 'O' && e->type != 'C') || !e->has_time) return count(r, EVENT_UNREADABLE, 1, place);
    HD_TRY(find_frame(r, &f, e->has_frame, e->frame, place));
    if (p->unit->shift < 0) {
        HD_TRY(add_growth(r, p, e, place));
        HD_TRY(count(r, AS_SAMPLES, 1, place));
        return step(r, e, &f, place);
    }
    HD_TRY(step(r, e, &f, place));
    hd_row row = hd_row_of(e->type == 'O' ? HD_KIND_SLICE : HD_KIND_END, e->type == 'O' ? 'B' : 'E');
    row.track = p->track;
    row.name = f.text;
    put_time(&row, &e->at);
    return hd_stack_samples_add_row(&r->samples, &row, NULL, NULL, 0);
}

static hd_status read_events(reader *r, profile *p)
{
    bool first = true, ended;
    hd_status status;
    hd_walk_span span;
    event e;
    const char *at = p->events;
    r->open_count = 0;
    HD_TRY(hd_walk_try_enter(&r->walk, &at, '[', &ended));
    if (ended) return HD_OK;
    while ((status = hd_walk_item(&r->walk, &at, &first)) == HD_OK) {
        const char *place = at;
        HD_TRY(hd_walk_skip(&span, &r->walk, &at));
        if (*span.data == 'n') continue;
        HD_TRY(read_event(r, &e, p, span.data));
        HD_TRY(add_event(r, p, &e, place));
        hd_stack_samples_progress(&r->samples);
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- profiles ---- */

static hd_status take_unit(reader *r, profile *p, const char *at)
{
    hd_string value;
    HD_TRY(hd_walk_string(&value, &r->walk, &at));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (hd_string_is(value, units[i].name)) p->unit = &units[i];
    }
    return HD_OK;
}

static hd_status take_member(reader *r, profile *p, hd_string key, const char **start, const char **at)
{
    const char *value = *at;
    hd_string text;
    const char **lists[] = {&p->samples, &p->weights, &p->events};
    static const char *const names[] = {"samples", "weights", "events"};
    for (int i = 0; i < 3; i++) {
        if (!hd_string_is(key, names[i])) continue;
        *lists[i] = value;
        hd_walk_pass_over(&r->walk, at);
        return HD_OK;
    }
    bool is_name = hd_string_is(key, "name"), is_unit = hd_string_is(key, "unit"), is_type = hd_string_is(key, "type");
    if (hd_string_is(key, "startValue")) *start = value;
    HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, at));
    if (is_unit) return take_unit(r, p, value);
    if (!is_name && !is_type) return HD_OK;
    HD_TRY(hd_walk_string(&text, &r->walk, &value));
    if (is_type) p->is_evented = hd_string_is(text, "evented");
    if (is_name && text.data) p->name = hd_builder_intern(r->builder, text.data, text.size);
    return HD_OK;
}

static hd_status make_track(reader *r, profile *p)
{
    char number[24];
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->builder, "speedscope")}, tid = {HD_IDENT_NUMBER, 0};
    snprintf(number, sizeof number, "%llu", (unsigned long long)p->number);
    tid.text = hd_builder_intern_text(r->builder, number);
    p->track = hd_builder_track(r->builder, pid, tid, false);
    p->event = hd_builder_intern_text(r->builder, p->unit->event);
    p->category = hd_builder_intern_text(r->builder, p->unit->shift < 0 ? p->unit->name : "nanoseconds");
    if (p->track == HD_NONE) return HD_NOMEM(r->err);
    if (p->name) hd_builder_name_track(r->builder, p->track, p->name);
    return HD_OK;
}

static hd_status read_profile(reader *r, const char **at)
{
    bool is_null, first = true, has_start = false;
    hd_string key;
    hd_status status;
    const char *start = NULL;
    profile p = {.unit = &units[0], .number = ++r->profile_count};
    HD_TRY(hd_walk_try_enter(&r->walk, at, '{', &is_null));
    hd_json_put_text(&r->rest, p.number > 1 ? ",{" : "{");
    while (!is_null && (status = hd_walk_member(&key, &r->walk, at, &first)) == HD_OK)
        HD_TRY(take_member(r, &p, key, &start, at));
    hd_json_put_text(&r->rest, "}");
    if (is_null) return HD_OK;
    if (status != HD_END) return status;
    HD_TRY(make_track(r, &p));
    if (start) HD_TRY(take_value(r, &p.start, &has_start, p.unit, &start));
    if (!has_start) p.start = (hd_fixed){0};
    if (p.events && (p.is_evented || !p.samples)) return read_events(r, &p);
    return read_samples(r, &p);
}

static hd_status read_profiles(reader *r, const char **at)
{
    bool is_null, first = true;
    hd_status status;
    HD_TRY(hd_walk_try_enter(&r->walk, at, '[', &is_null));
    if (is_null) return HD_OK;
    hd_json_put_text(&r->rest, r->rest.size > 1 ? ",\"profiles\":[" : "\"profiles\":[");
    while ((status = hd_walk_item(&r->walk, at, &first)) == HD_OK) {
        size_t mark = r->rest.size;
        hd_status read = read_profile(r, at);
        if (read != HD_OK) r->rest.size = mark;
        HD_TRY(hd_walk_pass(&r->walk, read));
    }
    hd_json_put_text(&r->rest, "]");
    return status == HD_END ? HD_OK : status;
}

/* ---- the document ---- */

static hd_status read_document(reader *r, bool frames)
{
    bool is_null, first = true;
    hd_string key;
    hd_status status;
    const char *at = hd_walk_start(&r->walk);
    r->walk.quiet = frames; /* all but frames is walked again */
    HD_TRY(hd_walk_enter(&r->walk, &at, '{', &is_null));
    while (!is_null && (status = hd_walk_member(&key, &r->walk, &at, &first)) == HD_OK) {
        if (hd_string_is(key, "shared"))
            HD_TRY(read_shared(r, &at, frames));
        else if (frames)
            hd_walk_pass_over(&r->walk, &at);
        else if (hd_string_is(key, "profiles"))
            HD_TRY(read_profiles(r, &at));
        else
            HD_TRY(hd_walk_keep(&r->walk, &r->rest, key, &at));
    }
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status finish(reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->walk.size;
    facts->base_ns = HD_NO_TIME;
    hd_json_put_text(&r->rest, "}");
    uint32_t value = r->rest.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, r->rest.data, r->rest.size);
    if (value == HD_STRING_NONE) return HD_NOMEM(r->err);
    hd_builder_metadata(r->builder, hd_builder_intern_text(r->builder, "speedscope"), value, true);
    return hd_stack_samples_finish(&r->samples);
}

static hd_status speedscope_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"profile", "speedscope", "speedscope.value-damaged", "speedscope.truncated"};
    hd_error own = {0};
    err = err ? err : &own;
    reader r = {.builder = builder, .err = err};
    hd_status status = hd_walk_init(&r.walk, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = hd_stack_samples_open(&r.samples, builder, input, "speedscope", codes, options, err);
    hd_json_put_text(&r.rest, "{");
    if (status == HD_OK) status = read_document(&r, true);
    if (status == HD_OK) status = read_document(&r, false);
    if (status == HD_OK) status = finish(&r);
    hd_stack_samples_close(&r.samples);
    hd_walk_deinit(&r.walk);
    hd_memo_deinit(&r.stacks);
    hd_bytes_deinit(&r.text);
    free(r.frames);
    free(r.open);
    free(r.rest.data);
    return status;
}

static int speedscope_sniff(const unsigned char *head, size_t size)
{
    static const char schema[] = "speedscope.app/file-format-schema.json";
    static const char *const keys[] = {"traceEvents", "$schema", "shared", "profiles", "exporter", "version"};
    return hd_walk_first_key(head, size, keys, sizeof keys / sizeof *keys) > 1 &&
                   memmem(head, size, schema, sizeof schema - 1)
               ? 92
               : 0;
}

const hd_format hd_speedscope_format = {
    .info = {.name = "speedscope",
             .title = "Profiles of speedscope (py-spy, rbspy, heddle flame)",
             .extensions = ".speedscope.json",
             .reads = true,
             .keeps = "sampled and evented profiles with their weights and times, files and lines",
             .loses = "nothing; heddle flame writes it"},
    .sniff = speedscope_sniff,
    .read = speedscope_read,
};
