/* slices.c - pairs begins and ends into slices; points of flows; samples of counters
 *
 * An end closes the latest open slice that its own packet sequence began on the track; if there is none, the one that
 * began last before it. Ends that come before their begins, as packets of two threads may, are held until the end of
 * the input. Only open slices are kept, and closed ones whose parent began at the same time: rows with equal begin and
 * end must have the outer one first, as in Chrome's JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/sorted.h"
#include "format/perfetto/read/reader.h"
#include "trace/event.h"
#include "trace/spill.h"

enum { SEARCH_LIMIT = 256 };

static hd_status stack_of(perfetto_stack **out, perfetto_reader *reader, uint32_t lane)
{
    if (lane >= reader->stack_count) {
        size_t wanted = (size_t)lane + 1, old = reader->stack_capacity;
        while (reader->stack_capacity < wanted) {
            if (!hd_large_grow((void **)&reader->stacks, &reader->stack_capacity, reader->stack_capacity,
                               sizeof *reader->stacks, hd_trace_large_bytes(hd_builder_trace(reader->builder))))
                return HD_NOMEM(reader->err);
        }
        if (reader->stack_capacity > old)
            memset(reader->stacks + old, 0, (reader->stack_capacity - old) * sizeof *reader->stacks);
        reader->stack_count = wanted;
    }
    *out = &reader->stacks[lane];
    return HD_OK;
}

static void free_room(perfetto_stack *s)
{
    free(s->open);
    free(s->args.list);
    free(s->held);
}

void perfetto_slices_free(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->stack_count; i++) {
        free_room(&reader->stacks[i]);
        free(reader->stacks[i].ends);
        free(reader->stacks[i].end_args.list);
    }
    hd_large_free(reader->stacks);
    free_room(&reader->spare);
}

/* A lane without open slices gives its buffers to the next lane that needs them: there may be a lane for each slice. */
static void lay_aside(perfetto_reader *reader, perfetto_stack *s)
{
    free_room(&reader->spare);
    reader->spare = *s;
    s->open = s->held = NULL;
    s->open_capacity = s->held_capacity = 0;
    s->args = (perfetto_args){0};
}

static void take_room(perfetto_reader *reader, perfetto_stack *s)
{
    perfetto_stack *spare = &reader->spare;
    s->open = spare->open;
    s->open_capacity = spare->open_capacity;
    s->held = spare->held;
    s->held_capacity = spare->held_capacity;
    s->args = spare->args;
    *spare = (perfetto_stack){0};
}

static hd_status append_args(perfetto_reader *reader, perfetto_args *to, const perfetto_args *from, size_t first,
                             size_t count)
{
    if (count == 0) return HD_OK;
    while (to->capacity - to->count < count)
        HD_TRY(perfetto_grow(reader, (void **)&to->list, &to->capacity, to->capacity, sizeof *to->list));
    memcpy(to->list + to->count, from->list + first, count * sizeof *to->list);
    to->count += count;
    return HD_OK;
}

hd_status perfetto_begin_slice(perfetto_reader *reader, const hd_row *row, uint32_t lane, uint32_t sequence,
                               perfetto_open_kind kind)
{
    perfetto_stack *s;
    HD_TRY(stack_of(&s, reader, lane));
    if (!s->open) take_room(reader, s);
    size_t arg_count = reader->args.count;
    if (row->kind == HD_KIND_ASYNC) { /* a row of its own, which comes before those that begin within it */
        hd_row begin = *row;
        HD_TRY(perfetto_add_row(reader, &begin, &reader->args));
        arg_count = 0;
    }
    HD_TRY(perfetto_grow(reader, (void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open));
    perfetto_open_slice *slice = &s->open[s->open_count];
    *slice = (perfetto_open_slice){
        .row = *row,
        .sequence = sequence,
        .first_arg = s->args.count,
        .arg_count = (uint32_t)arg_count,
        .kind = kind,
        .number = reader->slice_count++,
        .first_held = s->held_count,
        .first_flow = reader->flow_count, /* they are added next */
        .flow_count = reader->event_flow_count,
        .point_ns = row->start_ns,
        .follows_empty = row->kind == HD_KIND_SLICE && s->has_empty && s->empty_ns == row->start_ns,
    };
    HD_TRY(append_args(reader, &s->args, &reader->args, 0, arg_count));
    perfetto_open_slice *parent = s->open_count ? &s->open[s->open_count - 1] : NULL;
    if (parent && parent->point_ns == row->start_ns) parent->point_ns = HD_NO_TIME;
    s->open_count++;
    return HD_OK;
}

/* A slice that follows an empty one is a pair of events: only that is not around it, see trace/index/nesting.c. */
static hd_status add_slice(perfetto_reader *reader, perfetto_open_slice *slice)
{
    hd_row *row = &slice->row;
    if (!slice->follows_empty || row->duration_ns <= 0) return perfetto_add_row(reader, row, &reader->joined);
    hd_row end = {
        .kind = HD_KIND_END,
        .phase = 'E',
        .track = row->track,
        .name = row->name,
        .start_ns = hd_end_or_last(row->start_ns, row->duration_ns),
        .duration_ns = HD_NO_TIME,
    };
    row->phase = 'B';
    row->duration_ns = HD_NO_TIME;
    HD_TRY(perfetto_add_row(reader, row, &reader->joined));
    reader->joined.count = 0;
    return perfetto_add_row(reader, &end, &reader->joined);
}

static int by_number(const void *a, const void *b)
{
    const perfetto_open_slice *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Adds the held slices from `first` on. */
static hd_status add_held(perfetto_reader *reader, perfetto_stack *s, size_t first)
{
    if (s->held_count <= first) return HD_OK;
    hd_sort(s->held + first, s->held_count - first, sizeof *s->held, by_number);
    for (size_t i = first; i < s->held_count; i++) {
        reader->joined.count = 0;
        HD_TRY(append_args(reader, &reader->joined, &s->args, s->held[i].first_arg, s->held[i].arg_count));
        HD_TRY(add_slice(reader, &s->held[i]));
    }
    s->held_count = first;
    return HD_OK;
}

/* Holds the closed slice with all its arguments, which replace those it had. */
static hd_status hold(perfetto_reader *reader, perfetto_stack *s, perfetto_open_slice *slice)
{
    HD_TRY(perfetto_grow(reader, (void **)&s->held, &s->held_capacity, s->held_count, sizeof *s->held));
    slice->first_arg = s->args.count;
    slice->arg_count = (uint32_t)reader->joined.count;
    HD_TRY(append_args(reader, &s->args, &reader->joined, 0, reader->joined.count));
    s->held[s->held_count++] = *slice;
    return HD_OK;
}

/* A slice inside that began at the same time would take a flow point at its begin. */
static void move_flows(perfetto_reader *reader, const perfetto_open_slice *slice, int64_t point_ns)
{
    for (size_t i = 0; i < slice->flow_count; i++) reader->flows[slice->first_flow + i].point_ns = point_ns;
}

void perfetto_know_thread_times(perfetto_reader *reader)
{
    if (reader->tts_key) return;
    reader->tts_key = hd_builder_intern_text(reader->builder, "tts");
    reader->tdur_key = hd_builder_intern_text(reader->builder, "tdur");
    reader->end_tts_key = hd_builder_intern_text(reader->builder, "end.tts");
}

/* Both ends of a slice may have the time of its thread: the second becomes how long that ran. That of an end alone is
 * an argument, since it is not when the slice began. */
static void join_thread_times(perfetto_reader *reader, size_t first_more)
{
    perfetto_args *all = &reader->joined;
    size_t begin = all->count;
    for (size_t i = 0; i < all->count; i++) {
        perfetto_arg *arg = &all->list[i];
        if (arg->key.scope != HD_SCOPE_EVENT || arg->key.type != HD_ARG_INT || arg->key.key != reader->tts_key)
            continue;
        if (i < first_more) begin = i;
        int64_t run;
        if (i < first_more) continue;
        if (begin == all->count) {
            arg->key.key = reader->end_tts_key;
            arg->key.scope = HD_SCOPE_ARGS;
            continue;
        }
        if (__builtin_sub_overflow(arg->bits, all->list[begin].bits, &run)) continue;
        arg->key.key = reader->tdur_key;
        arg->bits = run;
    }
}

/* Removes open[index] and closes it with these further arguments at time_ns; HD_NO_TIME: it has no duration. */
static hd_status close_slice(perfetto_reader *reader, perfetto_stack *s, size_t index, int64_t time_ns,
                             const perfetto_args *more, size_t first_more, size_t more_count)
{
    perfetto_open_slice slice = s->open[index];
    bool is_async = slice.row.kind == HD_KIND_ASYNC;
    if (is_async || (slice.kind == PF_OPEN_NO_DURATION && time_ns != HD_NO_TIME)) {
        /* both ends of an asynchronous slice are rows; the other end of such a slice is where it began */
    } else if (time_ns == HD_NO_TIME) {
        slice.row.phase = 'B';
    } else if (__builtin_sub_overflow(time_ns, slice.row.start_ns, &slice.row.duration_ns)) {
        slice.row.duration_ns = INT64_MAX;
    }
    reader->joined.count = 0;
    HD_TRY(append_args(reader, &reader->joined, &s->args, slice.first_arg, slice.arg_count));
    if (more && more_count) {
        HD_TRY(append_args(reader, &reader->joined, more, first_more, more_count));
        if (reader->tts_key && !is_async) join_thread_times(reader, slice.arg_count);
    }
    memmove(s->open + index, s->open + index + 1, (s->open_count - index - 1) * sizeof *s->open);
    s->open_count--;
    if (slice.row.kind == HD_KIND_SLICE && slice.row.start_ns == time_ns) {
        s->has_empty = true;
        s->empty_ns = time_ns;
    }
    bool is_top = index == s->open_count;
    perfetto_open_slice *parent = is_top && index ? &s->open[index - 1] : NULL;
    if (parent && parent->point_ns == HD_NO_TIME) parent->point_ns = time_ns;
    if (slice.point_ns != slice.row.start_ns && slice.point_ns != HD_NO_TIME && slice.point_ns < time_ns)
        move_flows(reader, &slice, slice.point_ns);
    if (is_async) {
        slice.row.phase = slice.row.phase == 'S' ? 'F' : 'e';
        slice.row.start_ns = time_ns;
        if (more == &reader->args && reader->end_track != HD_NONE) slice.row.track = reader->end_track;
    } else if (parent && parent->row.start_ns == slice.row.start_ns) {
        return hold(reader, s, &slice);
    }
    if (!is_async || time_ns != HD_NO_TIME) HD_TRY(add_slice(reader, &slice));
    if (is_top) HD_TRY(add_held(reader, s, slice.first_held));
    if (is_top) s->args.count = slice.first_arg;
    if (s->open_count) return HD_OK;
    HD_TRY(add_held(reader, s, 0));
    s->args.count = 0;
    return HD_OK;
}

/* The open slice that an end closes, or -1. */
static ptrdiff_t find_open(const perfetto_stack *s, int64_t time_ns, uint32_t sequence)
{
    ptrdiff_t best = -1;
    size_t looked = 0;
    for (size_t i = s->open_count; i-- > 0 && looked++ < SEARCH_LIMIT;) {
        const perfetto_open_slice *slice = &s->open[i];
        if (slice->row.start_ns > time_ns || slice->kind == PF_OPEN_STATE) continue;
        if (slice->sequence == sequence) return (ptrdiff_t)i;
        if (best < 0 || slice->row.start_ns > s->open[best].row.start_ns) best = (ptrdiff_t)i;
    }
    return best;
}

hd_status perfetto_end_slice(int64_t *out_start_ns, int64_t *out_point_ns, perfetto_reader *reader, uint32_t lane,
                             int64_t time_ns, uint32_t sequence)
{
    perfetto_stack *s;
    HD_TRY(stack_of(&s, reader, lane));
    ptrdiff_t found = find_open(s, time_ns, sequence);
    *out_start_ns = time_ns;
    *out_point_ns = HD_NO_TIME;
    if (found >= 0) {
        *out_start_ns = s->open[found].row.start_ns;
        if (s->open[found].point_ns < time_ns) *out_point_ns = s->open[found].point_ns;
        HD_TRY(close_slice(reader, s, (size_t)found, time_ns, &reader->args, 0, reader->args.count));
        if (s->open_count == 0) lay_aside(reader, s);
        return HD_OK;
    }
    HD_TRY(perfetto_grow(reader, (void **)&s->ends, &s->end_capacity, s->end_count, sizeof *s->ends));
    s->ends[s->end_count++] = (perfetto_lone_end){
        .time_ns = time_ns,
        .offset = reader->packet_offset,
        .first_arg = s->end_args.count,
        .arg_count = reader->args.count,
    };
    return append_args(reader, &s->end_args, &reader->args, 0, reader->args.count);
}

hd_status perfetto_end_state(perfetto_reader *reader, uint32_t lane, int64_t time_ns)
{
    perfetto_stack *s;
    HD_TRY(stack_of(&s, reader, lane));
    if (s->open_count == 0 || s->open[s->open_count - 1].kind != PF_OPEN_STATE) return HD_OK;
    if (s->open[s->open_count - 1].row.start_ns > time_ns)
        perfetto_note(reader, "perfetto.state-out-of-order", HD_LEDGER_NOTE, 1);
    HD_TRY(close_slice(reader, s, s->open_count - 1, time_ns, NULL, 0, 0));
    if (s->open_count == 0) lay_aside(reader, s);
    return HD_OK;
}

/* ---- at the end of the input ---- */

static int by_end_time(const void *a, const void *b)
{
    const perfetto_lone_end *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->first_arg > y->first_arg) - (x->first_arg < y->first_arg);
}

static int by_start(const void *a, const void *b)
{
    const perfetto_open_slice *x = a, *y = b;
    if (x->row.start_ns != y->row.start_ns) return x->row.start_ns < y->row.start_ns ? -1 : 1;
    return (x->first_arg > y->first_arg) - (x->first_arg < y->first_arg);
}

/* Matches the held ends with open slices, in order of time. */
static hd_status match_waiting(perfetto_reader *reader, perfetto_stack *s)
{
    perfetto_open_slice *all = s->open;
    size_t count = s->open_count, next = 0, end = 0;
    hd_sort(s->ends, s->end_count, sizeof *s->ends, by_end_time);
    if (count) hd_sort(all, count, sizeof *all, by_start);
    s->open = NULL;
    s->open_count = s->open_capacity = 0;
    hd_status status = HD_OK;
    while (status == HD_OK && (next < count || end < s->end_count)) {
        if (end == s->end_count || (next < count && all[next].row.start_ns <= s->ends[end].time_ns)) {
            status = perfetto_grow(reader, (void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open);
            if (status == HD_OK) s->open[s->open_count++] = all[next++];
            continue;
        }
        const perfetto_lone_end *e = &s->ends[end++];
        if (s->open_count == 0) {
            hd_builder_ledger(reader->builder, PERFETTO_STAGE, "perfetto.end-without-begin", HD_LEDGER_LOSS, 1,
                              e->offset);
            continue;
        }
        size_t args = s->args.count; /* those of other slices do not move */
        status = close_slice(reader, s, s->open_count - 1, e->time_ns, &s->end_args, e->first_arg, e->arg_count);
        s->args.count = args;
    }
    free(all);
    return status;
}

hd_status perfetto_finish_slices(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->stack_count; i++) {
        perfetto_stack *s = &reader->stacks[i];
        HD_TRY(add_held(reader, s, 0));
        for (size_t k = 0; k < s->open_count; k++) s->open[k].first_held = 0;
        if (s->end_count) HD_TRY(match_waiting(reader, s));
        HD_TRY(add_held(reader, s, 0));
        for (size_t k = 0; k < s->open_count; k++) /* in the order in which they began */
            if (s->open[k].kind != PF_OPEN_STATE) perfetto_note(reader, "perfetto.slice-not-ended", HD_LEDGER_NOTE, 1);
        size_t count = s->open_count, args = s->args.count;
        for (size_t k = 0; k < count; k++) {
            perfetto_open_slice slice = s->open[k];
            if (slice.row.kind == HD_KIND_ASYNC) continue;
            slice.row.phase = 'B';
            reader->joined.count = 0;
            HD_TRY(append_args(reader, &reader->joined, &s->args, slice.first_arg, slice.arg_count));
            HD_TRY(perfetto_add_row(reader, &slice.row, &reader->joined));
        }
        s->args.count = args;
        s->open_count = 0;
    }
    return HD_OK;
}

/* ---- flows ---- */

hd_status perfetto_add_flow(perfetto_reader *reader, uint64_t id, char phase, uint32_t track, int64_t time_ns,
                            int64_t point_ns)
{
    if (!hd_large_grow((void **)&reader->flows, &reader->flow_capacity, reader->flow_count, sizeof *reader->flows,
                       hd_trace_large_bytes(hd_builder_trace(reader->builder))))
        return HD_NOMEM(reader->err);
    reader->flows[reader->flow_count] = (perfetto_flow){
        .id = id,
        .time_ns = time_ns,
        .point_ns = point_ns,
        .order = reader->flow_count,
        .track = track,
        .phase = phase,
    };
    reader->flow_count++;
    return HD_OK;
}

static int by_flow(const void *a, const void *b)
{
    const perfetto_flow *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    bool x_ends = x->phase == 'f', y_ends = y->phase == 'f';
    if (x_ends != y_ends) return x_ends ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const perfetto_flow *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* The first point of an id starts the flow; a terminating point ends it, and the next one starts another. */
static void find_phases(perfetto_reader *reader)
{
    bool open = false;
    for (size_t i = 0; i < reader->flow_count; i++) {
        perfetto_flow *f = &reader->flows[i];
        if (i && f[-1].id != f->id) open = false;
        if (f->phase == 0) f->phase = open ? 't' : 's';
        open = f->phase != 'f';
    }
}

/* Moves points to where their slice takes them, as long as none comes after the next one. */
static void find_times(perfetto_reader *reader)
{
    int64_t limit_ns = INT64_MAX;
    for (size_t i = reader->flow_count; i-- > 0;) {
        perfetto_flow *f = &reader->flows[i];
        if (i + 1 < reader->flow_count && f[1].id != f->id) limit_ns = INT64_MAX;
        if (f->point_ns != HD_NO_TIME && f->point_ns > f->time_ns && f->point_ns <= limit_ns) f->time_ns = f->point_ns;
        limit_ns = f->time_ns;
    }
}

hd_status perfetto_finish_flows(perfetto_reader *reader)
{
    if (reader->flow_count == 0) return HD_OK;
    uint64_t large = hd_trace_large_bytes(hd_builder_trace(reader->builder));
    if (!hd_large_sort(reader->flows, reader->flow_count, sizeof *reader->flows, by_flow, large))
        return HD_NOMEM(reader->err);
    find_phases(reader);
    find_times(reader);
    if (!hd_large_sort(reader->flows, reader->flow_count, sizeof *reader->flows, by_order, large))
        return HD_NOMEM(reader->err);
    uint32_t name = hd_builder_intern_text(reader->builder, "flow");
    for (size_t i = 0; i < reader->flow_count; i++) {
        const perfetto_flow *f = &reader->flows[i];
        bool is_turned = f->id >> 32 == PF_FLOW_TURNED >> 32;
        char phase = !is_turned || f->phase == 't' ? f->phase : f->phase == 's' ? 'f' : 's';
        hd_row row = hd_row_of(HD_KIND_FLOW, phase);
        row.phase |= phase == 's' ? 0 : HD_FLAG_BIND_ENCLOSING;
        row.track = f->track;
        row.start_ns = f->time_ns;
        row.name = row.category = name;
        row.id_type = hd_value_of_unsigned(&row.id, reader->builder, is_turned ? (uint32_t)f->id : f->id) == HD_ARG_INT
                          ? HD_ID_INT
                          : HD_ID_NUMBER;
        HD_TRY(perfetto_add_row(reader, &row, NULL));
    }
    return HD_OK;
}

/* ---- counters ---- */

hd_status perfetto_add_counter_row(perfetto_reader *reader, uint32_t track, const perfetto_counter *counter,
                                   int64_t time_ns, perfetto_number value)
{
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    hd_arg_type type = HD_ARG_INT;
    int64_t bits = value.integer;
    row.track = track;
    row.name = counter->name;
    row.category = counter->category;
    row.start_ns = time_ns;
    perfetto_args saved = reader->args;
    reader->args = reader->counter_args;
    reader->args.count = 0;
    hd_status status = HD_OK;
    if (counter->unit) status = perfetto_add_member(reader, "unit", HD_ARG_STRING, counter->unit);
    if (value.is_double) type = hd_value_of_double(&bits, reader->builder, value.real);
    if (status == HD_OK) status = perfetto_add_arg(reader, &reader->args, counter->series, type, HD_SCOPE_ARGS, bits);
    if (status == HD_OK) status = perfetto_add_row(reader, &row, &reader->args);
    reader->counter_args = reader->args;
    reader->args = saved;
    return status;
}

/* Deltas and multipliers applied. */
static perfetto_number absolute(perfetto_track *t, perfetto_number value, uint32_t generation)
{
    if (t->is_incremental) {
        if (t->generation != generation) {
            t->sum = 0;
            t->double_sum = 0;
        }
        t->generation = generation;
        if (value.is_double || __builtin_add_overflow(t->sum, value.integer, &t->sum)) {
            value.real = t->double_sum += value.is_double ? value.real : (double)value.integer;
            value.is_double = true;
        } else {
            t->double_sum = (double)t->sum;
            value.integer = t->sum;
        }
    }
    if (t->multiplier == 1) return value;
    int64_t product;
    if (!value.is_double && !__builtin_mul_overflow(value.integer, t->multiplier, &product)) {
        value.integer = product;
    } else {
        value.real = (value.is_double ? value.real : (double)value.integer) * (double)t->multiplier;
        value.is_double = true;
    }
    return value;
}

static hd_status add_sample(bool *known, perfetto_reader *reader, uint32_t index, int64_t time_ns,
                            perfetto_number value, uint32_t generation, bool at_end)
{
    uint32_t track;
    HD_TRY(perfetto_counter_track(&track, known, reader, index, at_end));
    if (!*known) return HD_OK;
    perfetto_track *t = &reader->tracks[index];
    if (!t->name && !t->has_series) {
        char text[40] = "counter ";
        reader->text.size = 0;
        hd_json_put_text(&reader->text, text);
        hd_json_put_unsigned(&reader->text, t->uuid);
        if (reader->text.failed) return HD_NOMEM(reader->err);
        t->name = hd_builder_intern(reader->builder, reader->text.data, reader->text.size);
    }
    if (!t->has_series) {
        t->series = hd_builder_intern_text(reader->builder, "value");
        t->has_series = true;
    }
    const perfetto_counter counter = {t->name, t->unit, t->series, t->category};
    return perfetto_add_counter_row(reader, track, &counter, time_ns, absolute(t, value, generation));
}

hd_status perfetto_add_sample(perfetto_reader *reader, uint64_t uuid, int64_t time_ns, perfetto_number value,
                              uint32_t generation)
{
    uint32_t index;
    bool known = false;
    HD_TRY(perfetto_get_track(&index, reader, uuid));
    perfetto_track *t = &reader->tracks[index];
    if (t->described && !t->has_late) HD_TRY(add_sample(&known, reader, index, time_ns, value, generation, false));
    if (known) return HD_OK;
    reader->tracks[index].has_late = true; /* its samples stay in their order */
    HD_TRY(perfetto_grow(reader, (void **)&reader->late, &reader->late_capacity, reader->late_count,
                         sizeof *reader->late));
    reader->late[reader->late_count++] = (perfetto_late_sample){uuid, time_ns, value, generation};
    return HD_OK;
}

hd_status perfetto_finish_samples(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->late_count; i++) {
        const perfetto_late_sample *late = &reader->late[i];
        uint32_t index;
        bool known;
        HD_TRY(perfetto_get_track(&index, reader, late->uuid));
        HD_TRY(add_sample(&known, reader, index, late->time_ns, late->value, late->generation, true));
    }
    return HD_OK;
}
