/* gpu.c - activity of the synthetic GPU: kernels, copies and collectives, in the order of each stream */
#include <assert.h>

#include "synth/impl.h"

/* ---- regions: user annotations as the streams see them ---- */

void synth_open_region(synth *s, uint32_t name, int64_t external)
{
    assert(s->now.region_count < SYNTH_REGIONS);
    synth_region *region = &s->now.regions[s->now.region_count++];
    *region = (synth_region){.name = name, .external = external, .serial = ++s->now.region_serial};
    for (int i = 0; i < SYNTH_STREAMS; i++) region->slots[i] = -1;
}

void synth_close_region(synth *s)
{
    s->now.region_count--;
}

static uint64_t region_serial(const synth *s)
{
    return s->now.region_count ? s->now.regions[s->now.region_count - 1].serial : 0;
}

/* Work on [start, end) of a stream: every open region begins there, if it has not, and lasts to its end. */
static void cover(synth *s, uint32_t stream, int64_t start_ns, int64_t end_ns)
{
    for (uint32_t i = 0; i < s->now.region_count; i++) {
        synth_region *region = &s->now.regions[i];
        if (region->slots[stream] < 0) {
            synth_event event = {
                .kind = HD_KIND_SLICE,
                .shape = SYNTH_SHAPE_GPU_ANNOTATION,
                .phase = 'X',
                .track = s->now.streams[stream].track,
                .name = region->name,
                .category = s->texts[SYNTH_TEXT_GPU_USER_ANNOTATION],
                .start_ns = start_ns,
            };
            region->slots[stream] = synth_put(s, SYNTH_GPU, &event, &region->external);
        }
        if (s->failed) return;
        synth_event *slice = &s->lists[SYNTH_GPU].events[region->slots[stream]];
        if (end_ns - slice->start_ns > slice->duration_ns) slice->duration_ns = end_ns - slice->start_ns;
    }
    s->now.streams[stream].last_region = region_serial(s);
}

enum { GAP_NS = 900 }; /* between two kernels of a queue */

/* ---- kernels ---- */

typedef struct placement {
    int64_t start_ns, end_ns;
} placement;

/* A kernel in a queue may start a little before the one ahead of it ends: timing noise of the device. */
static bool may_overlap(const synth *s, const synth_stream *stream, int64_t ready_ns, int64_t duration_ns)
{
    return stream->last_ns >= 400 && duration_ns >= 400 && stream->free.own > ready_ns + SYNTH_SMALL_NS &&
           stream->last_region == region_serial(s);
}

/* The next place on a stream for work that was launched by the end of the last slice of `t`. */
static placement place(synth *s, const synth_thread *t, uint32_t index, int64_t duration_ns)
{
    synth_stream *stream = &s->now.streams[index];
    synth_when when = t->now, end;
    synth_spend(s, &when, synth_about(s, 2200));
    int64_t ready_ns = when.own, overlap_ns = 0;
    synth_wait(&when, &stream->free);
    end = when;
    synth_spend_slowly(s, &end, duration_ns, s->slow_gpu);
    int64_t own_ns = end.own - when.own;
    bool crossing = may_overlap(s, stream, ready_ns, own_ns) && synth_quota_take(&s->now.small_gpu);
    if (crossing) {
        int64_t shorter = own_ns < stream->last_ns ? own_ns : stream->last_ns;
        int64_t most = shorter / 2 < SYNTH_SMALL_NS - 40 ? shorter / 2 : SYNTH_SMALL_NS - 40;
        overlap_ns = when.own - stream->free.own + GAP_NS + 20 + synth_below(&s->now.noise, most - 20);
        s->now.truth.crossings_small++;
        s->now.truth.crossing_pairs++;
    }
    stream->last_ns = crossing ? 0 : own_ns;
    stream->free = end;
    synth_pause(&stream->free, GAP_NS);
    return (placement){when.own - overlap_ns, end.own - overlap_ns};
}

static synth_event gpu_slice(const synth *s, uint32_t stream, synth_shape shape, uint32_t name, synth_text_id category,
                             placement at)
{
    return (synth_event){
        .kind = HD_KIND_SLICE,
        .shape = (uint8_t)shape,
        .phase = 'X',
        .track = s->now.streams[stream].track,
        .name = name,
        .category = s->texts[category],
        .start_ns = at.start_ns,
        .duration_ns = at.end_ns - at.start_ns,
    };
}

void synth_arrive(synth *s, uint32_t stream, int64_t correlation, int64_t start_ns)
{
    if (s->options.flows)
        synth_flow(s, SYNTH_GPU, s->now.streams[stream].track, SYNTH_TEXT_AC2G, 'f', correlation, start_ns);
}

/* `node` and `creator` for the shape that has them. */
static void put_kernel(synth *s, uint32_t stream, synth_shape shape, synth_kernel_id kernel, uint32_t name,
                       int64_t correlation, int64_t external, placement at, int64_t node, int64_t creator)
{
    const synth_kernel_spec *spec = &synth_kernel_specs[kernel];
    const synth_kernel_ids *ids = &s->kernels[kernel];
    synth_event event = gpu_slice(s, stream, shape, name, SYNTH_TEXT_KERNEL, at);
    cover(s, stream, at.start_ns, at.end_ns);
    synth_put(s, SYNTH_GPU, &event,
              (int64_t[]){external, 0, s->device, 1, s->now.streams[stream].number, correlation, spec->registers,
                          spec->shared, ids->blocks_per_sm, ids->warps_per_sm, ids->grid, ids->block, spec->occupancy,
                          1, node, creator});
    s->now.truth.kernels++;
}

void synth_kernel_at(synth *s, uint32_t stream, synth_kernel_id kernel, int64_t correlation, int64_t external,
                     int64_t start_ns, int64_t duration_ns)
{
    synth_kernel_named(s, stream, kernel, s->kernels[kernel].name, correlation, external, start_ns, duration_ns);
}

void synth_kernel_named(synth *s, uint32_t stream, synth_kernel_id kernel, uint32_t name, int64_t correlation,
                        int64_t external, int64_t start_ns, int64_t duration_ns)
{
    placement at = {start_ns, start_ns + duration_ns};
    put_kernel(s, stream, SYNTH_SHAPE_KERNEL, kernel, name, correlation, external, at, 0, 0);
}

void synth_graph_kernel(synth *s, synth_thread *t, synth_kernel_id kernel, int64_t correlation, uint32_t node,
                        int64_t creator)
{
    placement at = place(s, t, 0, synth_about(s, synth_kernel_specs[kernel].duration_ns));
    put_kernel(s, 0, SYNTH_SHAPE_GRAPH_KERNEL, kernel, s->kernels[kernel].name, correlation, synth_external(t), at,
               node + 1, creator);
    if (node == 0) synth_arrive(s, 0, correlation, at.start_ns);
}

int64_t synth_submit(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel, int64_t cbid, int64_t ns)
{
    int64_t start_ns = t->now.own;
    int64_t correlation = synth_runtime(s, t, call, cbid, synth_about(s, ns));
    if (kernel != SYNTH_KERNEL_NONE || call == SYNTH_TEXT_GRAPH_LAUNCH)
        synth_sample(s, t, call, kernel, correlation, start_ns);
    if (s->options.flows) {
        synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_AC2G, 's', correlation, start_ns);
        s->now.truth.flows++;
    }
    s->now.truth.launches++;
    return correlation;
}

void synth_launch(synth *s, synth_thread *t, synth_kernel_id kernel, uint32_t stream)
{
    stream %= s->options.streams;
    int64_t correlation = synth_submit(s, t, SYNTH_TEXT_LAUNCH, kernel, 211, 3400);
    placement at = place(s, t, stream, synth_about(s, synth_kernel_specs[kernel].duration_ns));
    synth_kernel_at(s, stream, kernel, correlation, synth_external(t), at.start_ns, at.end_ns - at.start_ns);
    synth_arrive(s, stream, correlation, at.start_ns);
    if (s->options.cupti) synth_runtime(s, t, SYNTH_TEXT_LAST_ERROR, 10, synth_about(s, 120));
}

/* ---- copies ---- */

/* Exact to six digits: bytes per nanosecond are GB/s. */
static int64_t bandwidth(int64_t bytes, placement at)
{
    int64_t ns = at.end_ns > at.start_ns ? at.end_ns - at.start_ns : 1;
    return hd_decimal_pack(bytes * 1000000 / ns, 6);
}

static void copy_at(synth *s, synth_thread *t, uint32_t name, synth_text_id category, int64_t bytes,
                    int64_t correlation, int64_t ns)
{
    placement at = place(s, t, 0, ns);
    synth_shape shape = category == SYNTH_TEXT_GPU_MEMSET ? SYNTH_SHAPE_MEMSET : SYNTH_SHAPE_MEMCPY;
    synth_event event = gpu_slice(s, 0, shape, name, category, at);
    cover(s, 0, at.start_ns, at.end_ns);
    synth_put(s, SYNTH_GPU, &event,
              (int64_t[]){synth_external(t), s->device, 1, s->now.streams[0].number, correlation, bytes,
                          bandwidth(bytes, at)});
    s->now.truth.copies++;
    synth_arrive(s, 0, correlation, at.start_ns);
}

void synth_memcpy(synth *s, synth_thread *t, synth_text_id name, int64_t bytes, int64_t bytes_per_us)
{
    int64_t correlation = synth_submit(s, t, SYNTH_TEXT_MEMCPY_ASYNC, SYNTH_KERNEL_NONE, 41, 5200);
    copy_at(s, t, s->texts[name], SYNTH_TEXT_GPU_MEMCPY, bytes, correlation, 1100 + bytes * 1000 / bytes_per_us);
}

void synth_memset(synth *s, synth_thread *t, int64_t bytes)
{
    int64_t correlation = synth_submit(s, t, SYNTH_TEXT_MEMSET_ASYNC, SYNTH_KERNEL_NONE, 51, 3000);
    copy_at(s, t, s->texts[SYNTH_TEXT_MEMSET_DEVICE], SYNTH_TEXT_GPU_MEMSET, bytes, correlation, 900 + bytes / 2000);
}

/* ---- waiting ---- */

void synth_join(synth *s, synth_thread *t, uint32_t stream, uint32_t other)
{
    if (other != SYNTH_COMM) other %= s->options.streams;
    if (stream != SYNTH_COMM) stream %= s->options.streams;
    if (stream == other) return;
    synth_runtime(s, t, SYNTH_TEXT_EVENT_RECORD, 135, synth_about(s, 700));
    synth_runtime(s, t, SYNTH_TEXT_STREAM_WAIT, 147, synth_about(s, 900));
    synth_stream *waiting = &s->now.streams[stream];
    synth_when before = waiting->free;
    synth_wait(&waiting->free, &s->now.streams[other].free);
    if (waiting->free.own != before.own) waiting->last_ns = 0;
}

void synth_synchronize(synth *s, synth_thread *t, uint32_t stream)
{
    synth_event event = {
        .shape = SYNTH_SHAPE_RUNTIME,
        .name = s->texts[SYNTH_TEXT_STREAM_SYNC],
        .category = s->texts[SYNTH_TEXT_CUDA_RUNTIME],
    };
    int64_t start_ns = t->now.own;
    int64_t values[] = {synth_external(t), 131, ++s->now.correlation};
    uint32_t index = synth_leaf(s, t, &event, values, synth_about(s, 1500));
    synth_wait(&t->now, &s->now.streams[stream].free);
    synth_pause(&t->now, 1300);
    if (!s->failed) s->lists[SYNTH_CPU].events[index].duration_ns = t->now.own - start_ns;
    synth_frame *frame = &t->frames[t->depth - 1];
    frame->leaf_ns = t->now.own - start_ns;
    frame->leaf_end_ns = t->now.own;
    synth_pause(&t->now, 150);
}

/* ---- collectives ---- */

void synth_collective(synth *s, synth_thread *t, synth_text_id collective, synth_text_id annotation,
                      synth_kernel_id kernel, int64_t elements, int64_t out_elements)
{
    const synth_kernel_spec *spec = &synth_kernel_specs[kernel];
    const synth_kernel_ids *ids = &s->kernels[kernel];
    const uint32_t *text = s->texts;
    synth_stream *stream = &s->now.streams[SYNTH_COMM];
    synth_open_comms(s, t, collective, elements, out_elements);
    synth_open_annotation(s, t, text[annotation]);
    synth_join(s, t, SYNTH_COMM, 0);
    int64_t correlation = synth_submit(s, t, SYNTH_TEXT_LAUNCH_EX, kernel, 430, 5600);
    int64_t external = synth_external(t);
    placement at = place(s, t, SYNTH_COMM, synth_about(s, spec->duration_ns));
    /* The last rank to come is the one with the most noise: all end with it, at one true time. */
    stream->free.own = stream->free.latest;
    at.end_ns = stream->free.own - GAP_NS;
    stream->last_ns = 0;
    synth_event event = gpu_slice(s, SYNTH_COMM, SYNTH_SHAPE_COLLECTIVE, ids->name, SYNTH_TEXT_KERNEL, at);
    cover(s, SYNTH_COMM, at.start_ns, at.end_ns);
    synth_put(s, SYNTH_GPU, &event,
              (int64_t[]){external,
                          0,
                          s->device,
                          1,
                          stream->number,
                          correlation,
                          spec->registers,
                          spec->shared,
                          ids->blocks_per_sm,
                          ids->warps_per_sm,
                          ids->grid,
                          ids->block,
                          spec->occupancy,
                          text[collective],
                          elements,
                          out_elements,
                          s->options.ranks,
                          text[SYNTH_TEXT_BFLOAT16],
                          text[SYNTH_TEXT_EMPTY_LIST],
                          text[SYNTH_TEXT_EMPTY_LIST],
                          s->group_name,
                          text[SYNTH_TEXT_DEFAULT_GROUP],
                          s->group_ranks});
    s->now.truth.kernels++;
    s->now.truth.collectives++;
    synth_arrive(s, SYNTH_COMM, correlation, at.start_ns);
    synth_close_annotation(s, t);
    synth_close_op(s, t);
}
