/* random_program.h - random programs with changes of known effect, which a what-if has to predict
 *
 * A program is a list of items for each of two threads: slices, launches, events and waits. random_program.c draws them
 * from the seed, each with its delays on the machine (how long the call takes, how late its work begins), so that
 * a change affects nothing else: program_change.c. program_run.c executes the program in the order of time, and
 * program_emit.c writes the trace of a profiler.
 *
 * Machine  A call of a launch takes call_ns; its work is there latency_ns after the call, and begins when it is there,
 *          gap_ns after the work before it on its stream, and not before events for which the stream waits.
 *          A call that waits returns latency_ns after the last work that it waits for. Streams do not slow one another.
 *
 * In: options. Out: a trace. Begin with random_program.c.
 */
#ifndef HD_SYNTH_RANDOM_PROGRAM_H
#define HD_SYNTH_RANDOM_PROGRAM_H

#include "synth/impl.h"

enum {
    PROGRAM_THREADS = 2, /* one that trains, one that loads; no stream has work of both */
    PROGRAM_COMPUTE = 4, /* streams of kernels at most */
    PROGRAM_COPY = PROGRAM_COMPUTE,
    PROGRAM_COMM,
    PROGRAM_LOADER,
    PROGRAM_STREAMS,
    PROGRAM_DEPTH = 12, /* of slices */
    PROGRAM_STEPS_MAX = 100000,
};

typedef enum program_kind {
    PROGRAM_OP,         /* a slice begins: an operator, an annotation if `is_annotation` */
    PROGRAM_END,        /* the innermost ends */
    PROGRAM_KERNEL,     /* is launched on `stream` */
    PROGRAM_COPY_IN,    /* of `bytes`, to the device */
    PROGRAM_COPY_OUT,   /* of `bytes`, to pageable memory: the call returns when it is done */
    PROGRAM_RECORD,     /* `event` is recorded on `stream` */
    PROGRAM_WAIT,       /* `stream` waits for `event` */
    PROGRAM_EVENT_SYNC, /* the thread waits for `event`, … */
    PROGRAM_STREAM_SYNC,
    PROGRAM_DEVICE_SYNC,
    PROGRAM_KINDS
} program_kind;

typedef struct program_item {
    uint8_t kind, stream;
    bool is_annotation;
    bool is_gone;   /* by a change: only its host_ns stays */
    bool in_graph;  /* by a change: the work is launched with that before it, its call is gone */
    uint8_t kernel; /* synth_kernel_id */
    uint32_t name;  /* of a slice, or of work */
    uint32_t event, step;
    int64_t host_ns; /* that the thread spends before */
    int64_t call_ns, latency_ns, gap_ns, work_ns, bytes;
    int64_t wake_ns; /* of a call that returns when its copy is done: how long after it */
    /* times, once it was executed */
    int64_t start_ns, end_ns, work_start_ns, work_end_ns;
    int64_t correlation;
} program_item;

typedef struct program_list {
    program_item *items;
    size_t count, capacity;
} program_list;

typedef struct program {
    program_list threads[PROGRAM_THREADS];
    uint32_t streams;     /* of kernels */
    uint32_t event_count; /* their numbers are below */
} program;

static inline bool program_is_work(const program_item *item)
{
    return item->kind == PROGRAM_KERNEL || item->kind == PROGRAM_COPY_IN || item->kind == PROGRAM_COPY_OUT;
}

/* Errors: MEMORY. */
hd_status program_draw(program *out, synth *s);
/* String: of the runtime's call. */
uint32_t program_call_name(const synth *s, const program_item *item);
/* "scale:PATTERN=0.5" …, see synth.h. Errors: ARGUMENT; MEMORY. */
hd_status program_change(program *p, synth *s, const char *change);
/* "data-loading=2ms": the same of its change plant. */
hd_status program_plant(program *p, synth *s, const char *cause);
/* Fills in the times, and the correlations of calls. Errors: MEMORY. */
hd_status program_run(program *p, synth *s);
/* Puts its events into the lists. Errors: MEMORY. */
hd_status program_emit(const program *p, synth *s);
void program_deinit(program *p);

#endif
