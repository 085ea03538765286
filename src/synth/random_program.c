/* random_program.c - draws a program: its training steps, and the delays of each call */
#include <stdlib.h>

#include "synth/random_program.h"

/* How a step ends. */
typedef enum step_end { END_NO_WAIT, END_ITEM, END_STREAM, END_DEVICE, END_EVENT_BEFORE, STEP_ENDS } step_end;

typedef struct drawing {
    synth *s;
    program *p;
    synth_random random;
    bool failed;
    uint32_t thread, step;
    /* the character of the program */
    int64_t op_ns, call_ns, latency_ns, gap_ns, wake_ns, batch_ns, kernel_percent;
    uint32_t ops, loaders;
    int64_t fork_percent, reduce_percent, item_percent;
    step_end end;
    uint8_t comm_stream;
    uint32_t step_event; /* recorded at the end of the step before, from 1; 0: none */
} drawing;

static int64_t between(drawing *d, int64_t least, int64_t most)
{
    return least + synth_below(&d->random, most - least + 1);
}

static bool chance(drawing *d, int64_t percent)
{
    return synth_below(&d->random, 100) < percent;
}

static int64_t vary(drawing *d, int64_t ns, int64_t percent)
{
    return ns * between(d, 100 - percent, 100 + percent) / 100;
}

/* ---- items ---- */

static program_item *add(drawing *d, program_kind kind, uint8_t stream)
{
    static program_item nowhere;
    program_list *list = &d->p->threads[d->thread];
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 1024;
        program_item *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            d->failed = true;
            return &nowhere;
        }
        list->items = items;
        list->capacity = capacity;
    }
    program_item *item = &list->items[list->count++];
    *item = (program_item){.kind = (uint8_t)kind, .stream = stream, .step = d->step};
    item->host_ns = vary(d, d->op_ns, 50);
    if (kind == PROGRAM_OP || kind == PROGRAM_END) return item;
    item->call_ns = vary(d, d->call_ns, 20);
    if (!program_is_work(item)) item->call_ns /= 3;
    item->gap_ns = vary(d, d->gap_ns, 25);
    item->latency_ns = vary(d, program_is_work(item) ? d->latency_ns : d->wake_ns, 30);
    return item;
}

static void begin(drawing *d, uint32_t name, bool is_annotation)
{
    program_item *item = add(d, PROGRAM_OP, 0);
    item->name = name;
    item->is_annotation = is_annotation;
}

static void end(drawing *d)
{
    add(d, PROGRAM_END, 0);
}

static void launch(drawing *d, synth_kernel_id kernel, uint8_t stream)
{
    program_item *item = add(d, PROGRAM_KERNEL, stream);
    item->kernel = (uint8_t)kernel;
    item->name = d->s->kernels[kernel].name;
    item->work_ns = vary(d, synth_kernel_specs[kernel].duration_ns * d->kernel_percent / 100, 10);
}

static void copy(drawing *d, program_kind kind, uint8_t stream, int64_t bytes)
{
    program_item *item = add(d, kind, stream);
    item->name = d->s->texts[kind == PROGRAM_COPY_IN ? SYNTH_TEXT_MEMCPY_HTOD : SYNTH_TEXT_MEMCPY_DTOH];
    item->bytes = bytes;
    item->work_ns = vary(d, 1100 + bytes / 24, 10);
    if (kind == PROGRAM_COPY_OUT) item->wake_ns = vary(d, d->wake_ns, 30);
}

static uint32_t record(drawing *d, uint8_t stream)
{
    uint32_t event = d->p->event_count++;
    add(d, PROGRAM_RECORD, stream)->event = event;
    return event;
}

/* The next work on `stream` waits for the latest on `other`. */
static void join(drawing *d, uint8_t stream, uint8_t other)
{
    uint32_t event = record(d, other);
    add(d, PROGRAM_WAIT, stream)->event = event;
}

/* ---- operators ---- */

static void forward_op(drawing *d, int index, uint8_t stream)
{
    const synth_op_ids *op = &d->s->ops[index];
    int depth = 0;
    for (; depth < SYNTH_CHAIN && op->names[depth] != HD_STRING_NONE; depth++) begin(d, op->names[depth], false);
    if (synth_op_specs[index].kernel != SYNTH_KERNEL_NONE) launch(d, synth_op_specs[index].kernel, stream);
    while (depth--) end(d);
}

static void backward_op(drawing *d, int index, uint8_t stream)
{
    const synth_op_ids *op = &d->s->ops[index];
    begin(d, op->evaluate, false);
    for (int i = 0; i < SYNTH_GRADS && op->grads[i] != HD_STRING_NONE; i++) {
        begin(d, op->grads[i], false);
        if (synth_op_specs[index].grad_kernels[i] != SYNTH_KERNEL_NONE)
            launch(d, synth_op_specs[index].grad_kernels[i], stream);
        end(d);
    }
    end(d);
}

static void any_op(drawing *d, bool backward, uint8_t stream)
{
    int index = (int)between(d, 0, SYNTH_OP_COUNT - 1);
    if (backward)
        backward_op(d, index, stream);
    else
        forward_op(d, index, stream);
}

/* A loss is read: the thread waits for the copy. */
static void read_item(drawing *d)
{
    begin(d, d->s->texts[SYNTH_TEXT_ITEM], false);
    begin(d, d->s->texts[SYNTH_TEXT_LOCAL_SCALAR], false);
    copy(d, PROGRAM_COPY_OUT, 0, 4);
    add(d, PROGRAM_STREAM_SYNC, 0);
    end(d);
    end(d);
}

/* Some ops side by side with those of stream 0, which then waits for them. */
static void fork_ops(drawing *d, bool backward)
{
    uint8_t other = (uint8_t)between(d, 1, d->p->streams - 1);
    join(d, other, 0);
    for (int64_t n = between(d, 1, 4); n; n--) {
        any_op(d, backward, other);
        if (chance(d, 60)) any_op(d, backward, 0);
    }
    join(d, 0, other);
}

static void reduce(drawing *d)
{
    begin(d, d->s->texts[SYNTH_TEXT_NCCL_ALLREDUCE], true);
    if (d->comm_stream) join(d, d->comm_stream, 0);
    launch(d, chance(d, 70) ? SYNTH_NCCL_ALLREDUCE : SYNTH_NCCL_ALLGATHER, d->comm_stream);
    end(d);
}

/* ---- a step ---- */

static void load_batch(drawing *d)
{
    begin(d, d->s->texts[SYNTH_TEXT_NEXT_BATCH], true);
    end(d);
    d->p->threads[0].items[d->p->threads[0].count - 1].host_ns = vary(d, d->batch_ns, 60);
    uint8_t stream = d->loaders && chance(d, 50) ? PROGRAM_COPY : 0;
    begin(d, d->s->texts[SYNTH_TEXT_TO], false);
    copy(d, PROGRAM_COPY_IN, stream, between(d, 1 << 12, 1 << 22));
    end(d);
    if (stream) join(d, 0, stream);
}

static void run_ops(drawing *d, bool backward)
{
    bool is_reduced = false;
    for (uint32_t i = 0; i < d->ops; i++) {
        if (d->p->streams > 1 && chance(d, d->fork_percent))
            fork_ops(d, backward);
        else
            any_op(d, backward, 0);
        if (backward && chance(d, d->reduce_percent)) {
            reduce(d);
            is_reduced = true;
        }
        if (chance(d, d->item_percent)) read_item(d);
    }
    if (is_reduced && d->comm_stream) join(d, 0, d->comm_stream);
}

static void optimizer(drawing *d)
{
    begin(d, d->s->texts[SYNTH_TEXT_OPTIMIZER], true);
    for (int64_t n = between(d, 1, 6); n; n--) {
        begin(d, d->s->texts[SYNTH_TEXT_FUSED_ADAM], false);
        launch(d, SYNTH_ADAM, 0);
        end(d);
    }
    end(d);
}

static void end_step(drawing *d)
{
    switch (d->end) {
    case END_ITEM: read_item(d); break;
    case END_STREAM: add(d, PROGRAM_STREAM_SYNC, 0); break;
    case END_DEVICE: add(d, PROGRAM_DEVICE_SYNC, 0); break;
    case END_EVENT_BEFORE:
        if (d->step_event) add(d, PROGRAM_EVENT_SYNC, 0)->event = d->step_event - 1;
        d->step_event = record(d, 0) + 1;
        break;
    default: break;
    }
}

static void train_step(drawing *d)
{
    const uint32_t *texts = d->s->texts;
    begin(d, synth_text(d->s, "ProfilerStep#%u", (unsigned)d->step + 1), true);
    load_batch(d);
    begin(d, texts[SYNTH_TEXT_FORWARD], true);
    run_ops(d, false);
    end(d);
    begin(d, texts[SYNTH_TEXT_BACKWARD], true);
    run_ops(d, true);
    end(d);
    optimizer(d);
    end_step(d);
    end(d);
}

/* The other thread copies batches of its own, and waits for each. */
static void load_step(drawing *d)
{
    begin(d, d->s->texts[SYNTH_TEXT_PIN_MEMORY], false);
    copy(d, PROGRAM_COPY_IN, PROGRAM_LOADER, between(d, 1 << 12, 1 << 20));
    add(d, PROGRAM_STREAM_SYNC, PROGRAM_LOADER);
    end(d);
    d->p->threads[1].items[d->p->threads[1].count - 1].host_ns = vary(d, d->batch_ns, 60);
}

/* ---- the whole ---- */

static void draw_character(drawing *d)
{
    d->p->streams = (uint32_t)between(d, 1, PROGRAM_COMPUTE);
    d->ops = (uint32_t)between(d, 5, 40);
    d->op_ns = between(d, 300, 4000);
    d->call_ns = between(d, 2500, 7000);
    d->latency_ns = between(d, 1000, 4000);
    d->gap_ns = between(d, 600, 1500);
    d->wake_ns = between(d, 1500, 6000);
    d->batch_ns = chance(d, 30) ? between(d, 200000, 2000000) : between(d, 5000, 50000);
    d->kernel_percent = between(d, 10, 150);
    d->fork_percent = between(d, 0, 25);
    d->reduce_percent = chance(d, 60) ? between(d, 5, 30) : 0;
    d->item_percent = chance(d, 30) ? between(d, 1, 8) : 0;
    d->end = (step_end)between(d, 0, STEP_ENDS - 1);
    d->loaders = chance(d, 40);
    d->comm_stream = chance(d, 75) ? PROGRAM_COMM : 0;
}

hd_status program_draw(program *out, synth *s)
{
    drawing d = {.s = s, .p = out, .random = synth_seed(s->options.seed ^ 0x70726f6772616d, 0)};
    draw_character(&d);
    for (d.step = 0; d.step < s->options.steps && !d.failed; d.step++) {
        d.thread = 0;
        train_step(&d);
        d.thread = 1;
        if (d.loaders) load_step(&d);
    }
    d.thread = 0;
    add(&d, PROGRAM_DEVICE_SYNC, 0);
    return d.failed || s->failed ? HD_NOMEM(s->err) : HD_OK;
}

void program_deinit(program *p)
{
    for (int i = 0; i < PROGRAM_THREADS; i++) free(p->threads[i].items);
}
