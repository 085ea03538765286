/* emit.c - writes packets in order of time
 *
 * All packets are of one sequence, whose clock counts nanoseconds from one packet to the next. A slice is a begin and
 * an end; the ends of open slices wait in a heap, the inner ones first.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory/vector.h"
#include "base/protobuf/write.h"
#include "format/conventions.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"
#include "model/identity/process.h"
#include "trace/event.h"

enum {
    SEQUENCE = 1,
    CLOCK = PF_CLOCK_FIRST_OF_SEQUENCE,
    PROGRESS_EVENTS = 1 << 16,
    METADATA_LIMIT = 1 << 20,
    STACKS_LIMIT = 128 << 20
};

typedef struct open_end {
    int64_t end;
    uint32_t item;
} open_end;

typedef struct emitter {
    pf_writer *w;
    open_end *heap; /* the first to end on top */
    size_t open_count, open_capacity;
    size_t next_link, next_sample;
    uint64_t packets;
    hd_error *err;
} emitter;

/* ---- one packet ---- */

/* w->event, as that field of a packet, and w->interned at a time of the trace. */
static hd_status emit_packet_as(emitter *e, int64_t time, uint32_t field)
{
    pf_writer *w = e->w;
    hd_bytes *out = pf_packets_buffer(w->packets);
    uint64_t delta = (uint64_t)(time + w->shift - w->last_time);
    size_t event = w->event.size, interned = w->interned.size;
    size_t size = 1 + hd_varint_size(delta) + 4 + hd_varint_size((uint64_t)field << 3) + hd_varint_size(event) + event;
    if (interned) size += 1 + hd_varint_size(interned) + interned;
    hd_pb_put_tag(out, PF_TRACE_PACKET, HD_PB_LENGTH);
    hd_bytes_put_varint(out, size);
    hd_pb_put_uint(out, PF_PACKET_TIMESTAMP, delta);
    hd_pb_put_uint(out, PF_PACKET_TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
    hd_pb_put_uint(out, PF_PACKET_SEQUENCE_FLAGS, PF_SEQ_NEEDS_INCREMENTAL_STATE);
    if (interned) hd_pb_put_bytes(out, PF_PACKET_INTERNED_DATA, w->interned.data, interned);
    hd_pb_put_bytes(out, field, w->event.data, event);
    out->failed |= w->event.failed || w->interned.failed || w->json.failed;
    w->last_time = time + w->shift;
    w->event.size = w->interned.size = 0;
    return pf_packets_flush(w->packets, e->err);
}

static hd_status emit_packet(emitter *e, int64_t time)
{
    return emit_packet_as(e, time, PF_PACKET_TRACK_EVENT);
}

static void begin_event(pf_writer *w, unsigned type, uint32_t place)
{
    hd_pb_put_uint(&w->event, PF_EVENT_TYPE, type);
    if (place != w->default_place) hd_pb_put_uint(&w->event, PF_EVENT_TRACK_UUID, (uint64_t)place + 1);
}

static void put_labels(pf_writer *w, const hd_event *event)
{
    if (event->category)
        hd_pb_put_uint(&w->event, PF_EVENT_CATEGORY_IIDS, pf_intern_string(w, PF_SPACE_CATEGORY, event->category));
    if (event->name) hd_pb_put_uint(&w->event, PF_EVENT_NAME_IID, pf_intern_string(w, PF_SPACE_NAME, event->name));
}

/* Whether some are by the slice's own bind_id. */
static bool put_flows(emitter *e, uint32_t item)
{
    bool bound = false;
    for (; e->next_link < e->w->link_count && e->w->links[e->next_link].item == item; e->next_link++) {
        const pf_flow_link *link = &e->w->links[e->next_link];
        hd_pb_put_fixed64(&e->w->event, link->ends ? PF_EVENT_TERMINATING_FLOW_IDS : PF_EVENT_FLOW_IDS,
                          (link->turned ? PF_FLOW_TURNED : 0) | link->flow);
        bound |= link->bound;
    }
    return bound;
}

/* ---- ends ---- */

static bool ends_before(const open_end *x, const open_end *y)
{
    return x->end != y->end ? x->end < y->end : x->item > y->item;
}

static hd_status push_end(emitter *e, int64_t end, uint32_t item)
{
    if (!hd_grow((void **)&e->heap, &e->open_capacity, e->open_count, sizeof *e->heap)) return HD_NOMEM(e->err);
    HD_HEAP_PUSH(e->heap, e->open_count, ((open_end){end, item}), x, y, ends_before(x, y));
    return HD_OK;
}

static open_end pop_end(emitter *e)
{
    open_end top = e->heap[0];
    HD_HEAP_POP(e->heap, e->open_count, x, y, ends_before(x, y));
    return top;
}

/* The row of the event that ends a slice, and the slice's name; HD_NONE: the slice is one event. */
static uint32_t end_row(const pf_writer *w, const pf_item *item, hd_kind *out_kind, uint32_t *out_name)
{
    if (pf_item_kind_of(item) == PF_ITEM_ASYNC) {
        const pf_async_pair *pair = &w->async_pairs[item->row];
        *out_kind = HD_KIND_ASYNC;
        *out_name = pair->end == HD_NONE ? 0 : hd_event_at(w->trace, HD_KIND_ASYNC, pair->begin).name;
        return pair->end;
    }
    uint32_t row;
    const hd_block *block = hd_trace_block_of(&row, w->trace, HD_KIND_SLICE, item->row);
    int64_t partner = hd_column_at(&block->columns[HD_COL_PARTNER], row);
    *out_kind = HD_KIND_END;
    *out_name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row);
    bool is_row = partner >= 0 && (uint64_t)partner < hd_trace_row_count(w->trace, HD_KIND_END);
    return is_row ? (uint32_t)partner : HD_NONE;
}

static hd_status emit_end(emitter *e)
{
    open_end open = pop_end(e);
    pf_writer *w = e->w;
    const pf_item *item = &w->items[open.item];
    hd_kind kind;
    uint32_t name, row = end_row(w, item, &kind, &name);
    begin_event(w, PF_TYPE_SLICE_END, pf_item_place(item));
    if (row != HD_NONE) {
        hd_event event = hd_event_at(w->trace, kind, row);
        if (event.name && event.name != name) w->notes[PF_NOTE_END_NAME]++;
        if (kind == HD_KIND_ASYNC) {
            w->written++; /* the others were counted with their kind */
            pf_put_async(w, &event, pf_item_event(w, item).track);
        }
        pf_put_args(w, &event, false);
    }
    return emit_packet(e, open.end);
}

/* ---- items ---- */

/* A slice, or an event without a length: both have a name, a category and arguments. */
static hd_status emit_slice(emitter *e, uint32_t index, const hd_event *event, bool is_point)
{
    pf_writer *w = e->w;
    const pf_item *item = &w->items[index];
    begin_event(w, is_point ? PF_TYPE_INSTANT : PF_TYPE_SLICE_BEGIN, pf_item_place(item));
    put_labels(w, event);
    bool bound = put_flows(e, index);
    pf_put_id_arg(w, event);
    if (event->kind == HD_KIND_ASYNC) pf_put_async(w, event, hd_process_of(w->trace, event->track));
    if (event->kind == HD_KIND_SLICE && event->duration_ns == HD_NO_TIME && item->end != PF_OPEN_END)
        pf_put_no_duration(w);
    pf_put_args(w, event, bound);
    w->written++;
    HD_TRY(emit_packet(e, item->start));
    if (w->options->typed_gpu && event->kind == HD_KIND_SLICE && pf_put_stage(w, event, item))
        HD_TRY(emit_packet_as(e, item->start, PF_PACKET_GPU_RENDER_STAGE_EVENT));
    return is_point || item->end == PF_OPEN_END ? HD_OK : push_end(e, item->end, index);
}

/* A packet for each series. */
static hd_status emit_counter(emitter *e, const pf_item *item, const hd_event *event)
{
    pf_writer *w = e->w;
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    bool is_first = true;
    for (uint32_t k = 0; k < shape->key_count; k++) {
        const hd_arg_key *key = &shape->keys[k];
        if (key->scope != HD_SCOPE_ARGS) continue;
        int64_t bits = hd_column_at(&event->args->columns[k], event->args_row);
        double unused;
        bool is_number = key->type == HD_ARG_BOOL || hd_value_double(&unused, w->trace, (hd_value){key->type, bits});
        uint32_t place = is_number ? pf_place_counter(w, event, key->key) : HD_NONE;
        if (place == HD_NONE) {
            w->notes[PF_NOTE_COUNTER_VALUE]++;
            continue;
        }
        w->notes[PF_NOTE_COUNTER_UNIT] += is_first && pf_counter_unit(w, event) != w->places[place].unit;
        begin_event(w, PF_TYPE_COUNTER, place);
        pf_put_counter_value(w, key->type, bits);
        if (is_first) pf_put_args(w, event, false);
        is_first = false;
        HD_TRY(emit_packet(e, item->start));
    }
    w->written++;
    return HD_OK;
}

static hd_status emit_item(emitter *e, uint32_t index)
{
    const pf_item *item = &e->w->items[index];
    hd_event event = pf_item_event(e->w, item);
    if (event.kind == HD_KIND_COUNTER) return emit_counter(e, item, &event);
    bool is_async_point = event.kind == HD_KIND_ASYNC && event.phase != 'b' && event.phase != 'S';
    return emit_slice(e, index, &event, event.kind == HD_KIND_INSTANT || is_async_point);
}

/* The stack samples up to a time. */
static hd_status emit_samples(emitter *e, int64_t until)
{
    pf_writer *w = e->w;
    for (; e->next_sample < w->sample_count && w->samples[e->next_sample].start <= until; e->next_sample++) {
        const pf_sample *sample = &w->samples[e->next_sample];
        while (e->open_count && e->heap[0].end <= sample->start) HD_TRY(emit_end(e));
        hd_event event = hd_event_at(w->trace, HD_KIND_SAMPLE, sample->row);
        pf_put_sample(w, &event);
        w->written++;
        HD_TRY(emit_packet_as(e, sample->start, PF_PACKET_PERF_SAMPLE));
    }
    return HD_OK;
}

/* ---- what comes first ---- */

static void put_clock(hd_bytes *out, unsigned clock, int64_t time, bool is_incremental)
{
    size_t mark = hd_pb_begin(out, PF_SNAPSHOT_CLOCKS);
    hd_pb_put_uint(out, PF_CLOCK_CLOCK_ID, clock);
    hd_pb_put_uint(out, PF_CLOCK_TIMESTAMP, (uint64_t)time);
    if (is_incremental) {
        hd_pb_put_uint(out, PF_CLOCK_IS_INCREMENTAL, 1);
        hd_pb_put_uint(out, PF_CLOCK_UNIT_MULTIPLIER_NS, 1);
    }
    hd_pb_end(out, mark);
}

/* The clock of the sequence, its time on the trace's clock (boot time in Perfetto) and, if known, Unix time. */
static void put_clocks(pf_writer *w, hd_bytes *out)
{
    int64_t base = hd_trace_facts_of(w->trace)->base_ns, real;
    size_t mark = hd_pb_begin(out, PF_PACKET_CLOCK_SNAPSHOT);
    put_clock(out, PF_CLOCK_BOOTTIME, w->last_time, false);
    put_clock(out, CLOCK, w->last_time, true);
    if (base != HD_NO_TIME && !__builtin_add_overflow(w->last_time - w->shift, base, &real) && real >= 0)
        put_clock(out, PF_CLOCK_REALTIME, real, false);
    hd_pb_end(out, mark);
}

static hd_status emit_head(emitter *e)
{
    pf_writer *w = e->w;
    hd_bytes *out = pf_packets_buffer(w->packets);
    for (size_t i = 1; i < w->place_count; i++) {
        if (w->places[i].events > w->places[w->default_place].events) w->default_place = (uint32_t)i;
    }
    int64_t first = w->item_count ? w->items[0].start : w->sample_count ? w->samples[0].start : 0;
    if (w->sample_count && w->samples[0].start < first) first = w->samples[0].start;
    w->last_time = first + w->shift;
    size_t packet = hd_pb_begin(out, PF_TRACE_PACKET);
    hd_pb_put_uint(out, PF_PACKET_TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
    hd_pb_put_uint(out, PF_PACKET_SEQUENCE_FLAGS, PF_SEQ_INCREMENTAL_STATE_CLEARED);
    hd_pb_put_uint(out, PF_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
    size_t defaults = hd_pb_begin(out, PF_PACKET_TRACE_PACKET_DEFAULTS);
    hd_pb_put_uint(out, PF_DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK);
    size_t event = hd_pb_begin(out, PF_DEFAULTS_TRACK_EVENT_DEFAULTS);
    hd_pb_put_uint(out, PF_EVENT_DEFAULTS_TRACK_UUID, (uint64_t)w->default_place + 1);
    hd_pb_end(out, event);
    hd_pb_end(out, defaults);
    put_clocks(w, out);
    hd_pb_end(out, packet);
    return pf_packets_flush(w->packets, e->err);
}

/* It moves with all times. */
static bool is_base_time(hd_string key)
{
    static const char name[] = "baseTimeNanoseconds";
    return key.size == sizeof name - 1 && memcmp(key.data, name, key.size) == 0;
}

/* Arguments `sf` of GPU activities refer to its frames: without it they would refer to nothing. */
static size_t metadata_limit(hd_string key)
{
    static const char name[] = "stackFrames";
    return key.size == sizeof name - 1 && memcmp(key.data, name, key.size) == 0 ? STACKS_LIMIT : METADATA_LIMIT;
}

static void put_entry(hd_bytes *out, hd_string key, hd_string json)
{
    size_t mark = hd_pb_begin(out, PF_CHROME_EVENTS_METADATA);
    hd_pb_put_bytes(out, PF_METADATA_NAME, key.data, key.size);
    hd_pb_put_bytes(out, PF_METADATA_JSON_VALUE, json.data, json.size);
    hd_pb_end(out, mark);
}

static void put_metadata(pf_writer *w, hd_bytes *out, const hd_metadata *m)
{
    hd_string key = hd_trace_string(w->trace, m->key), value = hd_trace_string(w->trace, m->value);
    if (value.size > metadata_limit(key)) {
        w->notes[PF_NOTE_METADATA]++;
        return;
    }
    char text[24];
    int64_t base_ns;
    if (w->shift && is_base_time(key) &&
        !__builtin_sub_overflow(hd_trace_facts_of(w->trace)->base_ns, w->shift, &base_ns))
        value = (hd_string){text, (size_t)snprintf(text, sizeof text, "%lld", (long long)base_ns)};
    put_entry(out, key, value);
}

static hd_status emit_metadata(emitter *e)
{
    size_t count = hd_trace_metadata_count(e->w->trace);
    hd_bytes *out = pf_packets_buffer(e->w->packets);
    char rank[HD_RANK_BYTES];
    hd_conventions_rank(rank, e->w->trace);
    if (!count && !*rank) return HD_OK;
    size_t packet = hd_pb_begin(out, PF_TRACE_PACKET), mark = hd_pb_begin(out, PF_PACKET_CHROME_EVENTS);
    for (size_t i = 0; i < count; i++) put_metadata(e->w, out, hd_trace_metadata_at(e->w->trace, i));
    if (*rank) put_entry(out, (hd_string){"distributedInfo", 15}, (hd_string){rank, strlen(rank)});
    hd_pb_end(out, mark);
    hd_pb_end(out, packet);
    return pf_packets_flush(e->w->packets, e->err);
}

static hd_status emit_all(emitter *e)
{
    pf_writer *w = e->w;
    HD_TRY(emit_head(e));
    HD_TRY(pf_emit_places(w, e->err));
    HD_TRY(emit_metadata(e));
    for (size_t i = 0; i < w->item_count; i++) {
        HD_TRY(emit_samples(e, w->items[i].start));
        while (e->open_count && e->heap[0].end <= w->items[i].start) HD_TRY(emit_end(e));
        HD_TRY(emit_item(e, (uint32_t)i));
        if (w->options->progress && i % PROGRESS_EVENTS == 0)
            w->options->progress(w->options->progress_user, w->written, hd_trace_event_count(w->trace));
    }
    HD_TRY(emit_samples(e, INT64_MAX));
    while (e->open_count) HD_TRY(emit_end(e));
    return HD_OK;
}

hd_status pf_emit(pf_writer *w, hd_error *err)
{
    emitter e = {.w = w, .err = err};
    hd_status status = emit_all(&e);
    free(e.heap);
    return status;
}
