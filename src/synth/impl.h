/* impl.h - simulates a training run; for src/synth only
 *
 * Time runs twice. Every moment is known as `own`, with the noise of the rank whose trace is made, and as `latest`,
 * with the most noise that any rank may have. Both go through the same additions and maxima, so own <= latest on every
 * rank, and `latest` is the same on all of them: a collective that ends at its `latest` ends on all ranks at one true
 * time, though each rank is simulated alone. Decisions that move time are taken from `shape`, the generator that all
 * ranks share; `noise` belongs to the rank.
 *
 * A slice takes its place in the list when it opens, so tracks come out in the order of time; its duration is filled in
 * when it closes. The lists are flushed after each step, through the rank's clock, into the batch.
 *
 * In: options. Out: a trace. Begin with synth.c, then step.c.
 */
#ifndef HD_SYNTH_IMPL_H
#define HD_SYNTH_IMPL_H

#include "base/error.h"
#include "heddle/builder.h"
#include "heddle/synth.h"
#include "synth/memo.h"
#include "synth/model.h"
#include "synth/random.h"

enum {
    SYNTH_FRAMES = 64,
    SYNTH_REGIONS = 8,
    SYNTH_STREAMS = HD_SYNTH_STREAMS_MAX + 1,
    SYNTH_COMM = HD_SYNTH_STREAMS_MAX, /* index of the stream of collectives */
    SYNTH_SMALL_NS = 5000,             /* crossings below are timing noise */
    SYNTH_FAULT_NS = 150000,           /* room that one fault may take at the end of a step */
};

/* ---- events on their way ---- */

typedef struct synth_event {
    uint8_t kind, shape, id_type; /* hd_kind, synth_shape, hd_id_type */
    bool enclosing;               /* flow with bp:"e" */
    char phase;
    uint32_t track, name, category;
    uint32_t values;                   /* index of the first */
    int64_t start_ns, duration_ns, id; /* true time */
} synth_event;

typedef enum synth_side { SYNTH_CPU, SYNTH_GPU, SYNTH_SIDES } synth_side;

typedef struct synth_list {
    synth_event *events;
    size_t count, capacity;
} synth_list;

/* ---- the state of a rank: plain data, so that a trial step can be undone by copying ---- */

typedef struct synth_when {
    int64_t own, latest;
} synth_when;

typedef struct synth_frame {
    uint32_t event; /* in the CPU list */
    int64_t start_ns;
    int64_t leaf_ns; /* duration of the last child if that is a leaf, else 0 */
    int64_t leaf_end_ns;
    int64_t external; /* id of the op, or of the one around it */
    int64_t python;   /* id of the python frame, or of the one around it */
    uint32_t stack;   /* its node in the tree of frames, 0: not found yet */
} synth_frame;

typedef enum synth_thread_id { SYNTH_MAIN, SYNTH_AUTOGRAD, SYNTH_THREADS } synth_thread_id;
enum { SYNTH_MAIN_TID = 0, SYNTH_AUTOGRAD_TID = 417 }; /* added to the pid */

typedef struct synth_thread {
    uint32_t track;
    synth_when now;
    synth_thread_id which;
    uint32_t layer, layer_depth; /* that it works on, from 1, and how deep that began; 0: none */
    uint32_t depth;
    synth_frame frames[SYNTH_FRAMES];
} synth_thread;

typedef struct synth_stream {
    uint32_t track;
    int64_t number;
    synth_when free;
    int64_t last_ns; /* duration of the last kernel, 0 if nothing may cross it */
    uint64_t last_region;
} synth_stream;

/* A user annotation that is open: on each stream that gets work meanwhile it has a slice. */
typedef struct synth_region {
    uint32_t name;
    int64_t external;
    uint64_t serial;
    int64_t slots[SYNTH_STREAMS]; /* in the GPU list, -1 none */
} synth_region;

/* Faults of one sort that are put in wherever a chance comes up. */
typedef struct synth_quota {
    uint64_t due, done;    /* in this step */
    uint64_t chances;      /* that came up in this step */
    uint64_t last_chances; /* … and in the one before */
} synth_quota;

typedef struct synth_state {
    synth_random shape, noise;
    synth_thread main, autograd;
    synth_stream streams[SYNTH_STREAMS];
    synth_region regions[SYNTH_REGIONS];
    uint32_t region_count;
    uint64_t region_serial;
    synth_quota small_cpu, small_gpu, genuine;
    uint64_t genuine_serial;
    int64_t external, correlation, event_index, python, sequence, flow, async;
    int64_t allocated, reserved;
    hd_synth_truth truth;
} synth_state;

/* How many percent longer all takes: on this rank, and on the slowest. */
typedef struct synth_slowness {
    int64_t own, most;
} synth_slowness;

typedef struct synth_kernel_ids {
    uint32_t name, grid, block;
    int64_t blocks_per_sm, warps_per_sm;
} synth_kernel_ids;

typedef struct synth_op_ids {
    uint32_t names[SYNTH_CHAIN], grads[SYNTH_GRADS], node, evaluate, module, source;
    uint32_t dims, types, strides, concrete;
} synth_op_ids;

typedef struct synth {
    hd_synth_options options;
    hd_error *err;
    hd_builder *builder;
    hd_batch *batch;
    bool failed; /* no memory; finish says so */
    uint32_t shapes[SYNTH_SHAPE_COUNT];
    uint8_t shape_keys[SYNTH_SHAPE_COUNT];
    uint32_t texts[SYNTH_TEXT_COUNT];
    synth_kernel_ids kernels[SYNTH_KERNEL_COUNT];
    synth_op_ids ops[SYNTH_OP_COUNT];
    uint32_t group_name, group_ranks;
    synth_list lists[SYNTH_SIDES];
    int64_t *values;
    size_t value_count, value_capacity;

    uint32_t rank, first_rank, last_rank;
    int64_t pid, device;
    uint32_t cpu_process, gpu_process, begin_thread, watch_thread;
    int64_t clock_base_ns, clock_offset_ns, clock_drift_ppb;
    int64_t noise_percent; /* how much of the noise this rank has */
    synth_slowness slow_gpu, slow_host;
    uint32_t step_count, step_layers, last_layers; /* the plan: the last step may be shorter */
    synth_state now;
    int64_t *graph_nodes; /* correlation of the call that made each node */
    synth_memo cupti_names;

    /* What a uprobe would record. */
    hd_synth_stacks *stacks; /* NULL: not wanted */
    bool collect;            /* not while steps are tried */
    size_t sample_capacity, first_sample;
    synth_random sample_random;
    synth_memo frames;
    uint32_t roots[SYNTH_THREADS], comms[SYNTH_THREADS], cpus[SYNTH_THREADS];
    int64_t tids[SYNTH_THREADS];
    uint32_t hosts[SYNTH_KERNEL_COUNT], stubs[SYNTH_KERNEL_COUNT];
    uint64_t path_serial;
} synth;

/* ---- emit.c ---- */

hd_status synth_emit_init(synth *s);
void synth_emit_deinit(synth *s);
uint32_t synth_text(synth *s, const char *format, ...) HD_PRINTF(2, 3);
/* Append an event and the values of its shape; returns its index. */
uint32_t synth_put(synth *s, synth_side side, const synth_event *event, const int64_t *values);
/* Move the lists into the batch. */
hd_status synth_flush(synth *s);
void synth_drop(synth *s);
int64_t synth_clock(const synth *s, int64_t true_ns);

/* ---- time ---- */

/* Let about `ns` pass, with the rank's noise. */
static inline void synth_spend_slowly(synth *s, synth_when *when, int64_t ns, synth_slowness slow)
{
    int64_t slack = ns * s->options.jitter_percent / 100;
    int64_t own = ns + synth_below(&s->now.noise, slack + 1) * s->noise_percent / 100;
    when->latest += (ns + slack) * (100 + slow.most) / 100;
    when->own += own * (100 + slow.own) / 100;
}

/* The same for host activity. */
static inline void synth_spend(synth *s, synth_when *when, int64_t ns)
{
    synth_spend_slowly(s, when, ns, s->slow_host);
}

/* Let exactly `ns` pass on every rank. */
static inline void synth_pause(synth_when *when, int64_t ns)
{
    when->own += ns;
    when->latest += ns;
}

static inline void synth_wait(synth_when *when, const synth_when *other)
{
    if (other->own > when->own) when->own = other->own;
    if (other->latest > when->latest) when->latest = other->latest;
}

/* `base` to one and a half times that, the same on all ranks. */
static inline int64_t synth_about(synth *s, int64_t base)
{
    return base + synth_below(&s->now.shape, base / 2 + 1);
}

/* ---- cpu.c ---- */

/* A slice of about `ns` without children. */
uint32_t synth_leaf(synth *s, synth_thread *t, const synth_event *event, const int64_t *values, int64_t ns);

void synth_open_op(synth *s, synth_thread *t, uint32_t name);
void synth_open_op_sequence(synth *s, synth_thread *t, uint32_t name, const synth_op_ids *op, int64_t sequence);
void synth_open_node(synth *s, synth_thread *t, uint32_t name, int64_t sequence);
void synth_open_comms(synth *s, synth_thread *t, synth_text_id collective, int64_t in, int64_t out);
void synth_open_python(synth *s, synth_thread *t, uint32_t name, int64_t module);
/* Close an op, after a little time that the op takes for itself. */
void synth_close_op(synth *s, synth_thread *t);
void synth_close_python(synth *s, synth_thread *t);
/* A user annotation is a slice on the thread and one on each stream that works for it. */
void synth_open_annotation(synth *s, synth_thread *t, uint32_t name);
void synth_close_annotation(synth *s, synth_thread *t);
void synth_allocate(synth *s, synth_thread *t, int64_t bytes);
/* A CUDA runtime call; returns its correlation. */
int64_t synth_runtime(synth *s, synth_thread *t, synth_text_id name, int64_t cbid, int64_t ns);
void synth_flow(synth *s, synth_side side, uint32_t track, synth_text_id name, char phase, int64_t id, int64_t at_ns);
int64_t synth_external(const synth_thread *t);

/* ---- gpu.c ---- */

void synth_launch(synth *s, synth_thread *t, synth_kernel_id kernel, uint32_t stream);
void synth_memcpy(synth *s, synth_thread *t, synth_text_id name, int64_t bytes, int64_t bytes_per_us);
void synth_memset(synth *s, synth_thread *t, int64_t bytes);
void synth_collective(synth *s, synth_thread *t, synth_text_id collective, synth_text_id annotation,
                      synth_kernel_id kernel, int64_t elements, int64_t out_elements);
/* Let `stream` wait for another (with the runtime calls for it), or the thread for a stream. */
void synth_join(synth *s, synth_thread *t, uint32_t stream, uint32_t other);
void synth_synchronize(synth *s, synth_thread *t, uint32_t stream);
void synth_open_region(synth *s, uint32_t name, int64_t external);
void synth_close_region(synth *s);
/* A kernel at exactly this place, and its slices of the open regions. */
void synth_kernel_at(synth *s, uint32_t stream, synth_kernel_id kernel, int64_t correlation, int64_t external,
                     int64_t start_ns, int64_t duration_ns);
/* The same under another name. */
void synth_kernel_named(synth *s, uint32_t stream, synth_kernel_id kernel, uint32_t name, int64_t correlation,
                        int64_t external, int64_t start_ns, int64_t duration_ns);
void synth_arrive(synth *s, uint32_t stream, int64_t correlation, int64_t start_ns);

/* The runtime call that puts work on a stream, and the flow that leaves from it. Returns its correlation. kernel
 * SYNTH_KERNEL_NONE: not one. */
int64_t synth_submit(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel, int64_t cbid, int64_t ns);
/* The kernel of a node of a graph that was launched just now. */
void synth_graph_kernel(synth *s, synth_thread *t, synth_kernel_id kernel, int64_t correlation, uint32_t node,
                        int64_t creator);

/* ---- graph.c ---- */

hd_status synth_graph_init(synth *s);
void synth_capture_graph(synth *s); /* before the first step */
void synth_launch_graph(synth *s, synth_thread *t);
uint64_t synth_graph_size(const synth *s); /* events of the capture */

/* ---- cupti.c ---- */

bool synth_cupti_keeps(const synth *s, const synth_event *event);
/* How many events of the lists will go into the trace. */
uint64_t synth_count_lists(const synth *s);
/* Gives a row its form and returns its values. */
const int64_t *synth_cupti_row(synth *s, hd_row *row, const synth_event *event, int64_t values[8]);

/* ---- names.c ---- */

/* The qualified name within the full one; returns its size. */
size_t synth_kernel_name(const char **out, const char *name);
/* Terminated. */
void synth_mangle(char *out, size_t room, synth_kernel_id kernel);

/* ---- frames.c, samples.c ---- */

hd_status synth_frames_init(synth *s);
/* The stack of a call on a thread. */
uint32_t synth_stack_of(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel);

void synth_samples_begin_rank(synth *s);
hd_status synth_samples_end_rank(synth *s);
void synth_samples_finish(synth *s);
void synth_sample(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel, int64_t correlation,
                  int64_t start_ns);

/* ---- step.c ---- */

void synth_step(synth *s, uint32_t number, uint32_t layers);

/* ---- faults.c ---- */

/* Whether a fault should be put in at the chance that comes up now. */
bool synth_quota_take(synth_quota *quota);
/* Adds the faults that are due in step `number`. */
void synth_faults_begin_step(synth *s, uint32_t number);
/* A genuine crossing at the end of the innermost open slice of a thread. May close it: true then. */
bool synth_cross_genuine(synth *s, synth_thread *t);
/* At the end of a step, where the GPU is idle: adds faults still due, and those that need time of their own. */
void synth_faults_end_step(synth *s, uint32_t number);
/* How many events the faults of the options add to a rank, about. */
uint64_t synth_faults_size(const synth *s);

/* ---- meta.c ---- */

uint32_t synth_host_of(const hd_synth_options *options, uint32_t rank);
int64_t synth_clock_base(bool cupti); /* offset of the run on the clock of its trace */
void synth_rank_tracks(synth *s);
void synth_rank_meta(synth *s);
void synth_trace_meta_before(synth *s);
void synth_trace_meta_after(synth *s);

#endif
