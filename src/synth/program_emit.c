/* program_emit.c - writes an executed program as Kineto would, with "cuda_sync" slices that name the cause of a wait */
#include <stdlib.h>

#include "synth/random_program.h"

typedef struct call_name {
    synth_text_id text;
    int64_t cbid;
    synth_text_id told; /* name of the slice that describes it */
} call_name;

static const call_name call_names[PROGRAM_KINDS] = {
    [PROGRAM_KERNEL] = {SYNTH_TEXT_LAUNCH, 211, 0},
    [PROGRAM_COPY_IN] = {SYNTH_TEXT_MEMCPY_ASYNC, 41, 0},
    [PROGRAM_COPY_OUT] = {SYNTH_TEXT_MEMCPY_ASYNC, 41, 0},
    [PROGRAM_RECORD] = {SYNTH_TEXT_EVENT_RECORD, 135, 0},
    [PROGRAM_WAIT] = {SYNTH_TEXT_STREAM_WAIT, 147, SYNTH_TEXT_TOLD_WAIT},
    [PROGRAM_EVENT_SYNC] = {SYNTH_TEXT_EVENT_SYNC, 137, SYNTH_TEXT_TOLD_EVENT},
    [PROGRAM_STREAM_SYNC] = {SYNTH_TEXT_STREAM_SYNC, 131, SYNTH_TEXT_TOLD_STREAM},
    [PROGRAM_DEVICE_SYNC] = {SYNTH_TEXT_DEVICE_SYNC, 165, SYNTH_TEXT_TOLD_DEVICE},
};

uint32_t program_call_name(const synth *s, const program_item *item)
{
    return s->texts[call_names[item->kind].text];
}

typedef struct emission {
    synth *s;
    uint32_t track;                   /* of the thread */
    int64_t externals[PROGRAM_DEPTH]; /* of the slices that are open; [0]: of none */
    int depth;
    const program_item **records; /* by event */
} emission;

static synth_event slice_of(const emission *e, uint32_t track, synth_shape shape, uint32_t name, synth_text_id category,
                            int64_t start_ns, int64_t end_ns)
{
    return (synth_event){
        .kind = HD_KIND_SLICE,
        .shape = (uint8_t)shape,
        .phase = 'X',
        .track = track,
        .name = name,
        .category = e->s->texts[category],
        .start_ns = start_ns,
        .duration_ns = end_ns - start_ns,
    };
}

static void emit_op(emission *e, const program_item *item)
{
    synth *s = e->s;
    int64_t external = item->is_gone ? e->externals[e->depth] : ++s->now.external;
    e->externals[++e->depth] = external;
    if (item->is_gone) return;
    synth_shape shape = item->is_annotation ? SYNTH_SHAPE_GPU_ANNOTATION : SYNTH_SHAPE_OP;
    synth_text_id category = item->is_annotation ? SYNTH_TEXT_USER_ANNOTATION : SYNTH_TEXT_CPU_OP;
    synth_event event = slice_of(e, e->track, shape, item->name, category, item->start_ns, item->end_ns);
    synth_put(s, SYNTH_CPU, &event, (int64_t[]){external, external - 1, s->now.event_index++});
}

/* ---- work ---- */

static void emit_copy(emission *e, const program_item *item)
{
    synth *s = e->s;
    const synth_stream *stream = &s->now.streams[item->stream];
    synth_event event = slice_of(e, stream->track, SYNTH_SHAPE_MEMCPY, item->name, SYNTH_TEXT_GPU_MEMCPY,
                                 item->work_start_ns, item->work_end_ns);
    int64_t bandwidth = hd_decimal_pack(item->bytes * 1000000 / (item->work_ns > 0 ? item->work_ns : 1), 6);
    synth_put(
        s, SYNTH_GPU, &event,
        (int64_t[]){e->externals[e->depth], s->device, 1, stream->number, item->correlation, item->bytes, bandwidth});
    s->now.truth.copies++;
}

static void emit_work(emission *e, const program_item *item)
{
    synth *s = e->s;
    s->now.truth.launches += !item->in_graph;
    if (s->options.flows && !item->in_graph) {
        synth_flow(s, SYNTH_CPU, e->track, SYNTH_TEXT_AC2G, 's', item->correlation, item->start_ns);
        s->now.truth.flows++;
    }
    if (item->kind == PROGRAM_KERNEL)
        synth_kernel_named(s, item->stream, (synth_kernel_id)item->kernel, item->name, item->correlation,
                           e->externals[e->depth], item->work_start_ns, item->work_ns);
    else
        emit_copy(e, item);
    if (!item->in_graph) synth_arrive(s, item->stream, item->correlation, item->work_start_ns);
}

/* ---- slices that describe waits ---- */

static void emit_told(emission *e, const program_item *item)
{
    synth *s = e->s;
    bool of_event = item->kind == PROGRAM_WAIT || item->kind == PROGRAM_EVENT_SYNC;
    bool on_stream = item->kind == PROGRAM_WAIT || item->kind == PROGRAM_STREAM_SYNC;
    int64_t stream = on_stream ? s->now.streams[item->stream].number : -1;
    uint32_t name = s->texts[call_names[item->kind].told], track = hd_builder_thread(s->builder, s->device, stream);
    if (track == HD_NONE) s->failed = true;
    synth_event event = slice_of(e, track, of_event ? SYNTH_SHAPE_TOLD_EVENT : SYNTH_SHAPE_TOLD, name,
                                 SYNTH_TEXT_CUDA_SYNC, item->start_ns + item->call_ns / 4, item->end_ns);
    int64_t values[] = {e->externals[e->depth], name, stream, item->correlation, s->device, 1, 0, 0, 0};
    if (of_event) {
        const program_item *record = e->records[item->event];
        values[6] = s->now.streams[record->stream].number;
        values[7] = record->correlation;
        values[8] = item->event + 1;
    }
    synth_put(s, SYNTH_GPU, &event, values);
}

static void emit_call(emission *e, const program_item *item)
{
    synth *s = e->s;
    const call_name *call = &call_names[item->kind];
    if (item->in_graph) {
        emit_work(e, item);
        return;
    }
    synth_event event = slice_of(e, e->track, SYNTH_SHAPE_RUNTIME, s->texts[call->text], SYNTH_TEXT_CUDA_RUNTIME,
                                 item->start_ns, item->end_ns);
    synth_put(s, SYNTH_CPU, &event, (int64_t[]){e->externals[e->depth], call->cbid, item->correlation});
    if (item->kind == PROGRAM_RECORD) e->records[item->event] = item;
    if (program_is_work(item)) emit_work(e, item);
    if (call->told) emit_told(e, item);
}

hd_status program_emit(const program *p, synth *s)
{
    emission e = {.s = s, .records = calloc((size_t)p->event_count + 1, sizeof *e.records)};
    if (!e.records) return HD_NOMEM(s->err);
    for (int thread = 0; thread < PROGRAM_THREADS; thread++) {
        const program_list *list = &p->threads[thread];
        e.track = thread ? s->begin_thread : s->now.main.track;
        for (size_t i = 0; i < list->count; i++) {
            const program_item *item = &list->items[i];
            if (item->kind == PROGRAM_OP)
                emit_op(&e, item);
            else if (item->kind == PROGRAM_END)
                e.depth--;
            else if (!item->is_gone)
                emit_call(&e, item);
            if (item->end_ns > s->now.main.now.own) s->now.main.now.own = item->end_ns;
            if (item->work_end_ns > s->now.main.now.own) s->now.main.now.own = item->work_end_ns;
        }
    }
    free(e.records);
    return HD_OK;
}
