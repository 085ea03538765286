/* cpu.c - activity on the threads of the synthetic run: ops, Python frames, annotations, runtime calls */
#include <assert.h>

#include "synth/impl.h"

/* ---- slices ---- */

int64_t synth_external(const synth_thread *t)
{
    return t->depth ? t->frames[t->depth - 1].external : 0;
}

static int64_t python_of(const synth_thread *t)
{
    return t->depth ? t->frames[t->depth - 1].python : 0;
}

static uint32_t put_slice(synth *s, const synth_thread *t, const synth_event *event, const int64_t *values)
{
    synth_event slice = *event;
    slice.kind = HD_KIND_SLICE;
    slice.phase = 'X';
    slice.track = t->track;
    slice.start_ns = t->now.own;
    return synth_put(s, SYNTH_CPU, &slice, values);
}

/* Open a slice on a thread (which fills in track and start), or close the last one. */
static void open_slice(synth *s, synth_thread *t, const synth_event *event, const int64_t *values)
{
    assert(t->depth < SYNTH_FRAMES);
    synth_frame frame = {.start_ns = t->now.own, .external = synth_external(t), .python = python_of(t)};
    frame.event = put_slice(s, t, event, values);
    t->frames[t->depth++] = frame;
    synth_spend(s, &t->now, synth_about(s, 260));
}

static void close_slice(synth *s, synth_thread *t)
{
    assert(t->depth > 0);
    if (t->depth > 2 && synth_quota_take(&s->now.genuine) && synth_cross_genuine(s, t)) return;
    const synth_frame *frame = &t->frames[--t->depth];
    int64_t end_ns = t->now.own;
    if (frame->leaf_ns >= 60 && synth_quota_take(&s->now.small_cpu)) {
        int64_t most = frame->leaf_ns < SYNTH_SMALL_NS ? frame->leaf_ns : SYNTH_SMALL_NS;
        end_ns = frame->leaf_end_ns - 20 - synth_below(&s->now.noise, most - 40);
        s->now.truth.crossings_small++;
        s->now.truth.crossing_pairs++;
    }
    if (!s->failed) s->lists[SYNTH_CPU].events[frame->event].duration_ns = end_ns - frame->start_ns;
    if (t->depth) t->frames[t->depth - 1].leaf_ns = 0;
    synth_pause(&t->now, 90);
}

uint32_t synth_leaf(synth *s, synth_thread *t, const synth_event *event, const int64_t *values, int64_t ns)
{
    int64_t start_ns = t->now.own;
    uint32_t index = put_slice(s, t, event, values);
    synth_spend(s, &t->now, ns);
    int64_t duration_ns = t->now.own - start_ns;
    if (!s->failed) s->lists[SYNTH_CPU].events[index].duration_ns = duration_ns;
    if (t->depth) {
        t->frames[t->depth - 1].leaf_ns = duration_ns;
        t->frames[t->depth - 1].leaf_end_ns = t->now.own;
    }
    synth_pause(&t->now, 150);
    return index;
}

/* ---- ops ---- */

static void open_op(synth *s, synth_thread *t, synth_shape shape, uint32_t category, uint32_t name,
                    const int64_t *values)
{
    open_slice(s, t, &(synth_event){.shape = (uint8_t)shape, .name = name, .category = category}, values);
    t->frames[t->depth - 1].external = s->now.external;
    s->now.event_index++;
}

void synth_open_op(synth *s, synth_thread *t, uint32_t name)
{
    int64_t external = ++s->now.external;
    open_op(s, t, SYNTH_SHAPE_OP, s->texts[SYNTH_TEXT_CPU_OP], name,
            (int64_t[]){external, external - 1, s->now.event_index});
}

void synth_open_op_sequence(synth *s, synth_thread *t, uint32_t name, const synth_op_ids *op, int64_t sequence)
{
    int64_t external = ++s->now.external, index = s->now.event_index;
    uint32_t category = s->texts[SYNTH_TEXT_CPU_OP];
    if (sequence < 0)
        open_op(s, t, SYNTH_SHAPE_OP_DIMS, category, name,
                (int64_t[]){external, external - 1, op->concrete, op->types, op->strides, op->dims, index});
    else
        open_op(
            s, t, SYNTH_SHAPE_OP_SEQUENCE, category, name,
            (int64_t[]){external, external - 1, sequence, 0, op->concrete, op->types, op->strides, op->dims, index});
}

void synth_open_node(synth *s, synth_thread *t, uint32_t name, int64_t sequence)
{
    int64_t external = ++s->now.external;
    open_op(s, t, SYNTH_SHAPE_NODE, s->texts[SYNTH_TEXT_CPU_OP], name,
            (int64_t[]){external, external - 1, sequence, 1, s->now.event_index});
}

void synth_open_comms(synth *s, synth_thread *t, synth_text_id collective, int64_t in, int64_t out)
{
    int64_t external = ++s->now.external;
    const uint32_t *text = s->texts;
    open_op(s, t, SYNTH_SHAPE_COMMS, text[SYNTH_TEXT_CPU_OP], text[SYNTH_TEXT_RECORD_COMMS],
            (int64_t[]){external, external - 1, text[collective], in, out, s->options.ranks, text[SYNTH_TEXT_BFLOAT16],
                        text[SYNTH_TEXT_EMPTY_LIST], text[SYNTH_TEXT_EMPTY_LIST], s->group_name,
                        text[SYNTH_TEXT_DEFAULT_GROUP], s->group_ranks, s->rank, (int64_t)s->now.truth.collectives + 1,
                        s->now.event_index});
}

void synth_open_python(synth *s, synth_thread *t, uint32_t name, int64_t module)
{
    if (!s->options.python) return;
    int64_t parent = python_of(t), id = ++s->now.python;
    synth_event event = {.name = name, .category = s->texts[SYNTH_TEXT_PYTHON_FUNCTION]};
    int64_t values[4] = {parent, id, s->now.event_index++, 0};
    event.shape = parent ? SYNTH_SHAPE_PYTHON : SYNTH_SHAPE_PYTHON_ROOT;
    if (module >= 0 && parent) {
        event.shape = SYNTH_SHAPE_PYTHON_MODULE;
        values[3] = values[2];
        values[2] = module;
    }
    if (!parent) values[0] = 0;
    open_slice(s, t, &event, values);
    t->frames[t->depth - 1].python = id;
}

void synth_close_op(synth *s, synth_thread *t)
{
    synth_spend(s, &t->now, synth_about(s, 220));
    close_slice(s, t);
}

void synth_close_python(synth *s, synth_thread *t)
{
    if (s->options.python) synth_close_op(s, t);
}

void synth_open_annotation(synth *s, synth_thread *t, uint32_t name)
{
    int64_t external = ++s->now.external;
    open_op(s, t, SYNTH_SHAPE_OP, s->texts[SYNTH_TEXT_USER_ANNOTATION], name,
            (int64_t[]){external, external - 1, s->now.event_index});
    synth_open_region(s, name, external);
}

void synth_close_annotation(synth *s, synth_thread *t)
{
    synth_close_region(s);
    synth_close_op(s, t);
}

/* ---- points ---- */

void synth_allocate(synth *s, synth_thread *t, int64_t bytes)
{
    if (!s->options.memory) return;
    s->now.allocated += bytes;
    if (s->now.allocated > s->now.reserved) s->now.reserved = (s->now.allocated / (2 << 20) + 1) * (2 << 20);
    int64_t size = bytes < 0 ? -bytes : bytes;
    int64_t address = 0x7f2000000000 + (size * 4099 & 0xfffffff) * 512;
    synth_event event = {
        .kind = HD_KIND_INSTANT,
        .shape = SYNTH_SHAPE_MEMORY,
        .phase = 'i',
        .track = t->track,
        .name = s->texts[SYNTH_TEXT_MEMORY],
        .category = s->texts[SYNTH_TEXT_CPU_INSTANT],
        .start_ns = t->now.own,
        .duration_ns = HD_NO_TIME,
    };
    synth_put(s, SYNTH_CPU, &event,
              (int64_t[]){s->texts[SYNTH_TEXT_THREAD], s->now.event_index++, s->now.allocated, s->now.reserved, bytes,
                          address, s->device, 1});
    synth_pause(&t->now, 80);
}

void synth_flow(synth *s, synth_side side, uint32_t track, synth_text_id name, char phase, int64_t id, int64_t at_ns)
{
    synth_event event = {
        .kind = HD_KIND_FLOW,
        .id_type = HD_ID_INT,
        .enclosing = phase == 'f',
        .phase = phase,
        .track = track,
        .name = s->texts[name],
        .category = s->texts[name],
        .start_ns = at_ns,
        .duration_ns = HD_NO_TIME,
        .id = id,
    };
    synth_put(s, side, &event, NULL);
}

int64_t synth_runtime(synth *s, synth_thread *t, synth_text_id name, int64_t cbid, int64_t ns)
{
    int64_t correlation = ++s->now.correlation;
    synth_event event = {
        .shape = SYNTH_SHAPE_RUNTIME,
        .name = s->texts[name],
        .category = s->texts[SYNTH_TEXT_CUDA_RUNTIME],
    };
    synth_leaf(s, t, &event, (int64_t[]){synth_external(t), cbid, correlation}, ns);
    return correlation;
}
