/* events.c - writes the records of one location in order of time
 *
 * Slices end before the next one starts at the same time, and after points at their end, so times never decrease and
 * regions always nest. A copy is an RMA operation inside its region, a collective a collective operation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "trace/event.h"

typedef struct open_region {
    int64_t end;
    uint32_t region;
    uint64_t copy;      /* number of the RMA operation, plus 1 */
    uint8_t collective; /* plus 1 */
    uint32_t comm, root;
    bool receives; /* a message, at its end, from the member `root` */
    uint64_t sent, received;
    int64_t end_row; /* row in the end or async table whose arguments the Leave has; -1: none */
    hd_kind end_kind;
    uint32_t name, track; /* of the beginning of an async slice */
} open_region;

typedef struct emitter {
    ow_writer *w;
    OTF2_EvtWriter *out;
    uint32_t location;
    open_region *open;
    size_t depth, capacity;
} emitter;

static uint64_t time_of(const ow_writer *w, int64_t ns)
{
    return (uint64_t)ns + w->shift;
}

static hd_status leave(emitter *e)
{
    ow_writer *w = e->w;
    const open_region *top = &e->open[--e->depth];
    uint64_t time = time_of(w, top->end);
    if (top->copy) OW_TRY(w, OTF2_EvtWriter_RmaOpCompleteBlocking(e->out, NULL, time, 0, top->copy - 1));
    if (top->collective)
        OW_TRY(w, OTF2_EvtWriter_MpiCollectiveEnd(e->out, NULL, time, (OTF2_CollectiveOp)(top->collective - 1),
                                                  top->comm, top->root, top->sent, top->received));
    if (top->receives) OW_TRY(w, OTF2_EvtWriter_MpiRecv(e->out, NULL, time, top->root, top->comm, 0, top->received));
    if (top->end_row >= 0) {
        hd_event end = hd_event_at(w->trace, top->end_kind, (uint64_t)top->end_row);
        if (top->end_kind == HD_KIND_ASYNC) {
            HD_TRY(ow_add_phase(w, end.phase));
            if (end.start_ns != top->end) HD_TRY(ow_add_time(w, end.start_ns));
            if (end.name != top->name) HD_TRY(ow_add_name(w, end.name));
            if (end.track != top->track) HD_TRY(ow_add_track(w, end.track));
        }
        HD_TRY(ow_add_args(w, &end));
    }
    OW_TRY(w, OTF2_EvtWriter_Leave(e->out, w->attributes, time, top->region));
    return HD_OK;
}

static hd_status leave_until(emitter *e, int64_t at, bool including)
{
    while (e->depth && (e->open[e->depth - 1].end < at || (including && e->open[e->depth - 1].end == at)))
        HD_TRY(leave(e));
    return HD_OK;
}

/* ---- copies and collectives ---- */

/* The rank of the thread that launched a copy; if unknown, of the busiest thread in the device's process; the location
 * itself if there is none. */
static uint32_t host_rank(const emitter *e, const hd_event *event)
{
    const ow_writer *w = e->w;
    const ow_location *own = &w->locations[e->location];
    uint32_t creator = w->groups[w->places[own->place].group].creator;
    uint32_t host = creator == HD_NONE ? HD_NONE : ow_launcher_of(w, event, creator);
    if (host == HD_NONE && creator != HD_NONE) host = w->groups[creator].main_location;
    return host == HD_NONE ? own->rank : w->locations[host].rank;
}

static hd_status start_copy(emitter *e, open_region *region, const hd_event *event, ow_copy copy)
{
    ow_writer *w = e->w;
    uint64_t bytes = ow_arg_count(w, event, w->keys.bytes, 0), time = time_of(w, event->start_ns);
    uint32_t remote = copy == OW_COPY_GET_DEVICE ? w->locations[e->location].rank : host_rank(e, event);
    HD_TRY(ow_window(w));
    region->copy = ++w->rma_count;
    if (copy == OW_COPY_PUT_HOST)
        OW_TRY(w, OTF2_EvtWriter_RmaPut(e->out, NULL, time, 0, remote, bytes, region->copy - 1));
    else
        OW_TRY(w, OTF2_EvtWriter_RmaGet(e->out, NULL, time, 0, remote, bytes, region->copy - 1));
    return HD_OK;
}

/* A size beyond 64 bits is written as 0, as an unknown one. */
static uint64_t message_bytes(ow_writer *w, uint64_t elements, uint64_t element_bytes)
{
    uint64_t out;
    if (!__builtin_mul_overflow(elements, element_bytes, &out)) return out;
    w->notes[OW_BYTES_LOST]++;
    return 0;
}

/* PyTorch gives the peer of `send` and `recv` by its rank in the job. */
static hd_status start_message(emitter *e, open_region *region, const hd_event *event, hd_string name, int64_t own)
{
    ow_writer *w = e->w;
    bool sends = name.size == 4 && memcmp(name.data, "send", 4) == 0, takes_part;
    bool receives = name.size == 4 && memcmp(name.data, "recv", 4) == 0;
    uint64_t peer = ow_arg_count(w, event, sends ? w->keys.destination : w->keys.source, UINT64_MAX);
    if (!(sends || receives) || own < 0 || own > INT32_MAX || peer > INT32_MAX || peer == (uint64_t)own) return HD_OK;
    uint64_t elements = ow_arg_count(w, event, w->keys.in_elements, 0);
    uint64_t bytes = message_bytes(w, elements, ow_type_bytes(ow_arg_text(w, event, w->keys.dtype)));
    HD_TRY(ow_rank_pair(&region->comm, &takes_part, w, event, e->location, own, (int64_t)peer));
    region->root = peer > (uint64_t)own;
    region->received = bytes;
    region->receives = receives && takes_part;
    if (sends && takes_part)
        OW_TRY(w,
               OTF2_EvtWriter_MpiSend(e->out, NULL, time_of(w, event->start_ns), region->root, region->comm, 0, bytes));
    return HD_OK;
}

static hd_status start_collective(emitter *e, open_region *region, const hd_event *event)
{
    ow_writer *w = e->w;
    hd_string name = ow_arg_text(w, event, w->keys.collective);
    uint8_t op = name.size ? ow_collective_of(name) : w->regions[region->region].collective;
    const ow_group *group = &w->groups[w->places[w->locations[e->location].place].group];
    int64_t own = group->rank != HD_NO_NUMBER ? group->rank : hd_trace_facts_of(w->trace)->rank;
    if (!op) return start_message(e, region, event, name, own);
    uint64_t bytes = ow_type_bytes(ow_arg_text(w, event, w->keys.dtype));
    uint64_t root = ow_arg_count(w, event, w->keys.root, UINT64_MAX);
    HD_TRY(ow_process_group(&region->comm, w, event, e->location));
    region->collective = op;
    region->sent = message_bytes(w, ow_arg_count(w, event, w->keys.in_elements, 0), bytes);
    region->received = message_bytes(w, ow_arg_count(w, event, w->keys.out_elements, 0), bytes);
    region->root = own >= 0 && (uint64_t)own == root ? OTF2_COLLECTIVE_ROOT_SELF : OTF2_COLLECTIVE_ROOT_NONE;
    OW_TRY(w, OTF2_EvtWriter_MpiCollectiveBegin(e->out, NULL, time_of(w, event->start_ns)));
    return HD_OK;
}

/* ---- items ---- */

static hd_status push(emitter *e, const open_region *region)
{
    if (!hd_grow((void **)&e->open, &e->capacity, e->depth, sizeof *e->open)) return HD_NOMEM(e->w->err);
    e->open[e->depth++] = *region;
    return HD_OK;
}

/* Common data of every region's Enter. */
static hd_status enter(emitter *e, uint32_t *out_region, const ow_item *item, const hd_event *event)
{
    ow_writer *w = e->w;
    HD_TRY(ow_region_of(out_region, w, event));
    HD_TRY(ow_add_args(w, event));
    HD_TRY(ow_add_id(w, event));
    if (event->start_ns != item->start) {
        HD_TRY(ow_add_time(w, event->start_ns));
        if (event->duration_ns != HD_NO_TIME) HD_TRY(ow_add_duration(w, event->duration_ns));
    }
    OW_TRY(w, OTF2_EvtWriter_Enter(e->out, w->attributes, time_of(w, item->start), *out_region));
    return HD_OK;
}

static hd_status write_slice(emitter *e, const ow_item *item)
{
    ow_writer *w = e->w;
    hd_event event = hd_event_at(w->trace, HD_KIND_SLICE, item->row);
    open_region region = {.end = item->end, .end_row = event.partner, .end_kind = HD_KIND_END};
    HD_TRY(leave_until(e, item->start, true));
    if (event.duration_ns == HD_NO_TIME) HD_TRY(ow_add_kind(w, "slice", event.phase)); /* it has no end */
    HD_TRY(enter(e, &region.region, item, &event));
    event.start_ns = item->start;
    const ow_region *known = &w->regions[region.region];
    if (known->copy)
        HD_TRY(start_copy(e, &region, &event, (ow_copy)known->copy));
    else if (known->communicates)
        HD_TRY(start_collective(e, &region, &event));
    w->written++;
    return push(e, &region);
}

static hd_status write_async(emitter *e, const ow_item *item)
{
    ow_writer *w = e->w;
    const ow_pair *pair = &w->pairs[item->row];
    hd_event event = hd_event_at(w->trace, HD_KIND_ASYNC, pair->begin);
    open_region region = {
        .end = item->end, .end_row = pair->end == HD_NONE ? -1 : (int64_t)pair->end, .end_kind = HD_KIND_ASYNC};
    region.name = event.name;
    region.track = event.track;
    HD_TRY(leave_until(e, item->start, true));
    HD_TRY(ow_add_kind(w, "async", event.phase));
    HD_TRY(enter(e, &region.region, item, &event));
    return push(e, &region);
}

static hd_status write_point(emitter *e, const ow_item *item)
{
    ow_writer *w = e->w;
    hd_event event = hd_event_at(w->trace, (hd_kind)item->kind, item->row);
    uint32_t region;
    HD_TRY(leave_until(e, item->start, false));
    HD_TRY(ow_add_kind(w, hd_kind_name(event.kind), event.phase));
    HD_TRY(enter(e, &region, item, &event));
    OW_TRY(w, OTF2_EvtWriter_Leave(e->out, NULL, time_of(w, item->start), region));
    w->written++;
    return HD_OK;
}

static hd_status write_metric(emitter *e, const ow_item *item)
{
    ow_writer *w = e->w;
    hd_event event = hd_event_at(w->trace, HD_KIND_COUNTER, item->row);
    HD_TRY(ow_add_args(w, &event));
    HD_TRY(ow_add_id(w, &event));
    HD_TRY(ow_add_category(w, event.category));
    if (event.start_ns != item->start) HD_TRY(ow_add_time(w, event.start_ns));
    w->written++;
    return ow_write_metric(w, e->out, &event, w->locations[e->location].place, time_of(w, item->start));
}

static hd_status write_memory(emitter *e, const ow_item *item)
{
    hd_event event = hd_event_at(e->w->trace, (hd_kind)item->kind, item->row);
    return ow_write_memory(e->w, e->out, &event, e->w->locations[e->location].place, time_of(e->w, item->start));
}

/* A point may be in several messages: a step receives and sends. The first of its records represents it, the others
 * have the phase '-'. */
static hd_status add_point(ow_writer *w, const ow_item *item, const hd_event *event)
{
    if (w->flow_written[event->row]) return ow_add_phase(w, '-');
    w->flow_written[event->row] = 1;
    HD_TRY(ow_add_args(w, event));
    HD_TRY(ow_add_id(w, event));
    if (event->start_ns != item->start) HD_TRY(ow_add_time(w, event->start_ns));
    bool upper = event->flags & HD_FLAG_BIND_ENCLOSING; /* bp: "e" */
    return ow_add_phase(w, (char)(upper ? event->phase - 'a' + 'A' : event->phase));
}

static hd_status write_message(emitter *e, const ow_item *item)
{
    ow_writer *w = e->w;
    const ow_message *m = &w->messages[item->row];
    bool sends = item->what == OW_SEND;
    hd_event event = hd_event_at(w->trace, HD_KIND_FLOW, sends ? m->from_row : m->to_row);
    hd_event first = hd_event_at(w->trace, HD_KIND_FLOW, m->from_row);
    uint32_t comm, tag = item->row; /* of its own, so that matching needs no order */
    uint64_t time = time_of(w, item->start);
    HD_TRY(leave_until(e, item->start, false));
    HD_TRY(ow_flow_comm(&comm, w, &first));
    HD_TRY(add_point(w, item, &event));
    if (sends)
        OW_TRY(w, OTF2_EvtWriter_MpiSend(e->out, w->attributes, time, w->locations[m->to].rank, comm, tag, 0));
    else
        OW_TRY(w, OTF2_EvtWriter_MpiRecv(e->out, w->attributes, time, w->locations[m->from].rank, comm, tag, 0));
    return HD_OK;
}

static hd_status write_items(emitter *e)
{
    ow_writer *w = e->w;
    const ow_location *location = &w->locations[e->location];
    for (size_t i = location->first; i < location->first + location->count; i++) {
        const ow_item *item = &w->items[i];
        switch (item->what) {
        case OW_SLICE: HD_TRY(write_slice(e, item)); break;
        case OW_ASYNC: HD_TRY(write_async(e, item)); break;
        case OW_METRIC: HD_TRY(write_metric(e, item)); break;
        case OW_MEMORY: HD_TRY(write_memory(e, item)); break;
        case OW_POINT: HD_TRY(write_point(e, item)); break;
        default: HD_TRY(write_message(e, item)); break;
        }
    }
    while (e->depth) HD_TRY(leave(e));
    return HD_OK;
}

hd_status ow_write_events(ow_writer *w, uint32_t location)
{
    emitter e = {.w = w, .location = location, .out = OTF2_Archive_GetEvtWriter(w->archive, location)};
    if (!e.out) return ow_error(w, OTF2_ERROR_MEM_FAULT);
    hd_status status = write_items(&e);
    free(e.open);
    OTF2_EvtWriter_GetNumberOfEvents(e.out, &w->locations[location].records);
    OTF2_ErrorCode code = OTF2_Archive_CloseEvtWriter(w->archive, e.out);
    return status != HD_OK || code == OTF2_SUCCESS ? status : ow_error(w, code);
}
