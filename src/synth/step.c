/* step.c - one step of training: load, forward, backward, optimizer, and the wait for the GPU */
#include <stdio.h>

#include "synth/impl.h"

enum { SEQUENCE_NONE = -1 };

/* Ops of a step are numbered in the order of the forward; the backward goes through them the other way. */
static uint32_t op_count(uint32_t layers)
{
    return 1 + layers * SYNTH_BLOCK_OPS + SYNTH_LOSS_OPS;
}

/* ---- forward ---- */

static void open_source(synth *s, synth_thread *t, const synth_op_spec *spec, const synth_op_ids *op, uint32_t module)
{
    synth_open_python(s, t, op->source, -1);
    if (!spec->module) return;
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_CALL], -1);
    if (s->options.python) synth_open_python(s, t, synth_text(s, spec->module, (int)module), module);
}

static void close_source(synth *s, synth_thread *t, const synth_op_spec *spec)
{
    if (spec->module) {
        synth_close_python(s, t);
        synth_close_python(s, t);
    }
    synth_close_python(s, t);
}

static void forward_op(synth *s, synth_thread *t, int index, uint32_t layer, uint32_t number)
{
    const synth_op_spec *spec = &synth_op_specs[index];
    const synth_op_ids *op = &s->ops[index];
    int depth = 0;
    open_source(s, t, spec, op, layer);
    for (; depth < SYNTH_CHAIN && op->names[depth]; depth++) {
        bool last = depth + 1 == SYNTH_CHAIN || !op->names[depth + 1];
        int64_t sequence = last ? s->now.sequence + number : SEQUENCE_NONE, start_ns = t->now.own;
        synth_open_op_sequence(s, t, op->names[depth], op, sequence);
        if (last && s->options.flows)
            synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_FWDBWD, 's', s->now.flow + number, start_ns);
    }
    synth_open_op(s, t, s->texts[SYNTH_TEXT_EMPTY]);
    synth_allocate(s, t, spec->out_bytes);
    synth_close_op(s, t);
    if (spec->kernel == SYNTH_FLASH || spec->kernel == SYNTH_DROPOUT)
        synth_runtime(s, t, SYNTH_TEXT_OCCUPANCY, 217, synth_about(s, 600));
    synth_launch(s, t, spec->kernel, spec->stream);
    while (depth--) synth_close_op(s, t);
    close_source(s, t, spec);
}

/* The projections of an attention run side by side; the following work waits for them. */
static void fork_streams(synth *s, synth_thread *t, bool back)
{
    for (uint32_t i = 1; i < 3 && i < s->options.streams; i++) synth_join(s, t, back ? 0 : i, back ? i : 0);
}

static void forward_layer(synth *s, synth_thread *t, uint32_t layer)
{
    if (s->options.python) synth_open_python(s, t, synth_text(s, "nn.Module: Block_%u", layer), layer);
    t->layer = layer + 1;
    t->layer_depth = t->depth;
    for (int i = 0; i < SYNTH_BLOCK_OPS; i++) {
        int op = SYNTH_OP_BLOCK + i;
        bool attention = synth_op_specs[op].kernel == SYNTH_FLASH;
        if (i == 1 || attention) fork_streams(s, t, attention);
        forward_op(s, t, op, layer, 1 + layer * SYNTH_BLOCK_OPS + (uint32_t)i);
    }
    synth_launch_graph(s, t);
    t->layer = 0;
    synth_close_python(s, t);
}

/* ---- backward ---- */

static void backward_op(synth *s, synth_thread *t, int index, uint32_t number)
{
    const synth_op_spec *spec = &synth_op_specs[index];
    const synth_op_ids *op = &s->ops[index];
    int64_t sequence = s->now.sequence + number;
    synth_open_node(s, t, op->evaluate, sequence);
    int64_t start_ns = t->now.own;
    synth_open_node(s, t, op->node, sequence);
    if (s->options.flows) {
        synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_FWDBWD, 'f', s->now.flow + number, start_ns);
        s->now.truth.flows++;
    }
    for (int i = 0; i < SYNTH_GRADS && op->grads[i]; i++) {
        synth_open_op_sequence(s, t, op->grads[i], op, SEQUENCE_NONE);
        if (i == 0) synth_allocate(s, t, spec->out_bytes / 2);
        synth_launch(s, t, spec->grad_kernels[i], 0);
        synth_close_op(s, t);
    }
    synth_close_op(s, t);
    synth_allocate(s, t, -(spec->out_bytes + spec->out_bytes / 2));
    synth_close_op(s, t);
    if (!spec->parameter) return;
    synth_open_node(s, t, s->texts[SYNTH_TEXT_EVALUATE_ACCUMULATE], sequence);
    synth_open_node(s, t, s->texts[SYNTH_TEXT_ACCUMULATE], sequence);
    synth_open_op(s, t, s->texts[SYNTH_TEXT_DETACH]);
    synth_close_op(s, t);
    synth_close_op(s, t);
    synth_close_op(s, t);
}

static void reduce_gradients(synth *s, synth_thread *t, int64_t elements)
{
    if (s->options.ranks < 2) return;
    synth_collective(s, t, SYNTH_TEXT_ALLREDUCE, SYNTH_TEXT_NCCL_ALLREDUCE, SYNTH_NCCL_ALLREDUCE, elements, elements);
}

/* On the autograd thread, while the main thread waits. */
static void backward(synth *s, uint32_t layers)
{
    synth_thread *main = &s->now.main, *t = &s->now.autograd;
    uint32_t number = op_count(layers);
    t->now = main->now;
    synth_pause(&t->now, 6000);
    for (int i = SYNTH_LOSS_OPS - 1; i >= 0; i--) backward_op(s, t, SYNTH_OP_LOSS + i, --number);
    for (uint32_t layer = layers; layer-- > 0;) {
        for (int i = SYNTH_BLOCK_OPS - 1; i >= 0; i--) backward_op(s, t, SYNTH_OP_BLOCK + i, --number);
        reduce_gradients(s, t, 186654720);
    }
    backward_op(s, t, SYNTH_OP_EMBEDDING, --number);
    reduce_gradients(s, t, 206045184);
    main->now = t->now;
    synth_pause(&main->now, 4000);
}

/* ---- around them ---- */

static void put_point(synth *s, hd_kind kind, char phase, synth_shape shape, synth_text_id name, int64_t at_ns,
                      const int64_t *values)
{
    synth_event event = {
        .kind = (uint8_t)kind,
        .shape = (uint8_t)shape,
        .phase = phase,
        .track = kind == HD_KIND_COUNTER ? s->gpu_process : s->now.main.track,
        .name = s->texts[name],
        .start_ns = at_ns,
        .duration_ns = HD_NO_TIME,
    };
    synth_put(s, SYNTH_CPU, &event, values);
}

static void sample_counters(synth *s)
{
    if (!s->options.counters) return;
    synth_state *now = &s->now;
    int64_t at_ns = now->main.now.own, percent = 72 + synth_below(&now->noise, 28);
    put_point(s, HD_KIND_COUNTER, 'C', SYNTH_SHAPE_UTILISATION, SYNTH_TEXT_UTILISATION, at_ns, &percent);
    put_point(s, HD_KIND_COUNTER, 'C', SYNTH_SHAPE_GPU_MEMORY, SYNTH_TEXT_GPU_MEMORY, at_ns,
              (int64_t[]){now->allocated, now->reserved});
}

static void put_pair(synth *s, char begin, char end, uint32_t track, synth_text_id name, int64_t from_ns, int64_t to_ns,
                     synth_shape shape, const int64_t *values)
{
    bool async = begin == 'b';
    synth_event event = {
        .kind = async ? HD_KIND_ASYNC : HD_KIND_SLICE,
        .shape = (uint8_t)shape,
        .id_type = async ? HD_ID_STRING : HD_ID_NONE,
        .phase = begin,
        .track = track,
        .name = s->texts[name],
        .category = s->texts[SYNTH_TEXT_LOADER],
        .start_ns = from_ns,
        .duration_ns = HD_NO_TIME,
    };
    if (async) event.id = synth_text(s, "0x%llx", (unsigned long long)++s->now.async);
    synth_put(s, SYNTH_CPU, &event, values);
    if (!async) event.kind = HD_KIND_END;
    event.phase = end;
    event.shape = SYNTH_SHAPE_NONE;
    event.start_ns = to_ns;
    synth_put(s, SYNTH_CPU, &event, NULL);
}

/* One rank may wait longer than the others. */
static void wait_for_loader(const synth *s, synth_when *now)
{
    const hd_synth_job_fault *late = &s->options.job_faults[HD_SYNTH_LATE_LOADER];
    now->latest += late->amount;
    if (s->rank == late->where) now->own += late->amount;
}

static void load_batch(synth *s, synth_thread *t, uint32_t number)
{
    int64_t from_ns = t->now.own;
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_NEXT_BATCH]);
    synth_spend(s, &t->now, synth_about(s, 90000));
    wait_for_loader(s, &t->now);
    synth_close_annotation(s, t);
    int64_t to_ns = t->now.own, middle_ns = from_ns + (to_ns - from_ns) / 2;
    int64_t values[] = {number, 8};
    put_pair(s, 'B', 'E', s->begin_thread, SYNTH_TEXT_PIN_MEMORY, from_ns + 1000, middle_ns, SYNTH_SHAPE_BATCH, values);
    put_pair(s, 'b', 'e', s->begin_thread, SYNTH_TEXT_LOAD_BATCH, middle_ns, to_ns, SYNTH_SHAPE_BATCH, values);
    for (int i = 0; i < 2; i++) {
        synth_open_op(s, t, s->texts[SYNTH_TEXT_TO]);
        synth_open_op(s, t, s->texts[SYNTH_TEXT_TO_COPY]);
        synth_open_op(s, t, s->texts[SYNTH_TEXT_COPY]);
        synth_memcpy(s, t, SYNTH_TEXT_MEMCPY_HTOD, 65536 << i, 24000);
        for (int depth = 0; depth < 3; depth++) synth_close_op(s, t);
    }
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_ZERO_GRAD]);
    synth_open_op(s, t, s->texts[SYNTH_TEXT_ZERO_OP]);
    synth_memset(s, t, 201326592);
    synth_close_op(s, t);
    synth_close_annotation(s, t);
}

static void forward(synth *s, synth_thread *t, uint32_t layers)
{
    uint32_t last = op_count(layers) - SYNTH_LOSS_OPS;
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_FORWARD]);
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_MODEL], 0);
    forward_op(s, t, SYNTH_OP_EMBEDDING, 0, 0);
    for (uint32_t layer = 0; layer < layers; layer++) {
        forward_layer(s, t, layer);
        sample_counters(s);
    }
    synth_close_python(s, t);
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_LOSS], -1);
    for (int i = 0; i < SYNTH_LOSS_OPS; i++) forward_op(s, t, SYNTH_OP_LOSS + i, 0, last + (uint32_t)i);
    synth_close_python(s, t);
    synth_close_annotation(s, t);
}

static void optimize(synth *s, synth_thread *t, uint32_t layers)
{
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_OPTIMIZER]);
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_OPTIMIZER], -1);
    if (s->options.ranks > 1) synth_join(s, t, 0, SYNTH_COMM);
    synth_open_op(s, t, s->texts[SYNTH_TEXT_NORM]);
    synth_launch(s, t, SYNTH_L2_NORM, 0);
    synth_close_op(s, t);
    for (uint32_t i = 0; i <= layers / 2; i++) {
        synth_open_op(s, t, s->texts[SYNTH_TEXT_FUSED_ADAM]);
        synth_launch(s, t, SYNTH_ADAM, 0);
        synth_close_op(s, t);
    }
    if (s->options.ranks > 1)
        synth_collective(s, t, SYNTH_TEXT_ALLGATHER, SYNTH_TEXT_NCCL_ALLGATHER, SYNTH_NCCL_ALLGATHER, 23331840,
                         (int64_t)23331840 * s->options.ranks);
    synth_close_python(s, t);
    synth_close_annotation(s, t);
}

/* The loss comes to the host, which waits for all that the GPU still has to do. */
static void read_loss(synth *s, synth_thread *t)
{
    for (uint32_t i = 1; i < s->options.streams; i++) synth_wait(&s->now.streams[0].free, &s->now.streams[i].free);
    synth_wait(&s->now.streams[0].free, &s->now.streams[SYNTH_COMM].free);
    s->now.streams[0].last_ns = 0;
    synth_open_op(s, t, s->texts[SYNTH_TEXT_ITEM]);
    synth_open_op(s, t, s->texts[SYNTH_TEXT_LOCAL_SCALAR]);
    synth_memcpy(s, t, SYNTH_TEXT_MEMCPY_DTOH, 4, 12000);
    synth_synchronize(s, t, 0);
    synth_close_op(s, t);
    synth_close_op(s, t);
}

void synth_step(synth *s, uint32_t number, uint32_t layers)
{
    synth_thread *t = &s->now.main;
    s->now.shape = synth_seed(s->options.seed, number);
    s->now.noise = synth_seed(s->options.seed ^ 0x6e6f697365, (uint64_t)s->rank << 32 | number);
    synth_open_annotation(s, t, synth_text(s, "ProfilerStep#%u", number + 1));
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_STEP], -1);
    sample_counters(s);
    load_batch(s, t, number);
    forward(s, t, layers);
    synth_open_annotation(s, t, s->texts[SYNTH_TEXT_BACKWARD]);
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_BACKWARD], -1);
    synth_open_python(s, t, s->texts[SYNTH_TEXT_PY_RUN_BACKWARD], -1);
    backward(s, layers);
    synth_close_python(s, t);
    synth_close_python(s, t);
    synth_close_annotation(s, t);
    optimize(s, t, layers);
    read_loss(s, t);
    sample_counters(s);
    int64_t global = s->texts[SYNTH_TEXT_GLOBAL];
    put_point(s, HD_KIND_INSTANT, 'i', SYNTH_SHAPE_INSTANT, SYNTH_TEXT_STEP_DONE, t->now.own, &global);
    synth_pause(&t->now, 300);
    s->now.sequence += op_count(layers);
    s->now.flow += op_count(layers);
    synth_faults_end_step(s, number);
    synth_close_python(s, t);
    synth_close_annotation(s, t);
    synth_pause(&t->now, 20000);
}
