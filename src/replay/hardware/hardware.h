/* hardware.h - a replay on a GPU: work of the same duration is launched again, without the program
 *
 * launches.c  what is to be launched: by which call, on which stream, behind which events
 * issue.c     a thread for each of the trace's that launches or waits; calls that launched more than one piece of work
 *             launch a CUDA graph of it
 * hardware.c  the whole, and how far off it was; begin here
 *
 * Kernels are one that turns for a time and writes when it began and ended (cuda.c); copies and sets have the same
 * size, on a buffer of ours. A kernel holds no SM but one, and turns as long as the simulation says, with fewer SMs
 * than it can hold; where it had to wait for SMs there, it begins so long behind the start of what had them. Each
 * queue of the plan is a stream. What the plan fuses is one kernel, named by its first.
 */
#ifndef HD_REPLAY_HARDWARE_H
#define HD_REPLAY_HARDWARE_H

#include <stdatomic.h>

#include "replay/hardware/cuda.h"
#include "replay/replay.h"

enum {
    HARDWARE_STUCK = -2,   /* in place of a CUDA error: work waits for what was not launched */
    HARDWARE_SELF_NS = 800 /* a kernel takes that much longer than it sees itself: by CUPTI, on an H200 */
};

typedef struct hardware_graph {
    cuda_handle exec, event;
    cuda_handle *streams; /* of its work; the first launches it */
    uint32_t stream_count, call;
} hardware_graph;

typedef struct hardware {
    const replay *r;
    cuda_api cuda;
    /* By work, which is node less first_work. */
    uint32_t *calls;          /* node of the thread that launches it; HD_NONE */
    uint32_t *queues;         /* stream */
    uint32_t *kernels;        /* its stamp; HD_NONE: it is none, or does not run */
    uint32_t *events;         /* HD_NONE: nothing waits for it */
    _Atomic uint8_t *is_done; /* it is launched */
    int64_t *bytes;           /* of copies and sets */
    /* By kernel. */
    uint32_t *heads; /* node */
    int64_t *spins;  /* ns */
    /* By node of a thread. */
    uint32_t *firsts, *launched; /* where its work begins in `launched`, which has one more */
    uint32_t *graph_of;          /* HD_NONE */
    uint32_t *orphans;           /* work without a call, by start */
    hardware_graph *graphs;
    cuda_handle *event_list, *streams;
    size_t orphan_count;
    uint32_t queue_count, event_count, kernel_count, graph_count;
    cuda_address stamps, buffer;
    void *pinned;
    size_t buffer_bytes;
    int64_t from, base_ns, deadline_ns; /* the first moment, of the trace and of CLOCK_MONOTONIC */
    uint64_t cut_copies;
    atomic_int failed; /* a CUDA error or HARDWARE_STUCK; all threads end */
} hardware;

static inline bool hardware_runs(const replay *r, uint32_t node)
{
    return !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE));
}
static inline bool hardware_is_fused(const replay *r, uint32_t work)
{
    const unsigned both = PLAN_NO_LAUNCH | PLAN_NO_LAG;
    return (r->plan.flags[work] & both) == both;
}
/* Of work that runs: the node whose launch it is part of. */
static inline uint32_t hardware_head(const hardware *h, uint32_t work)
{
    return hardware_is_fused(h->r, work) ? h->heads[h->kernels[work - h->r->first_work]] : work;
}
/* Its work and waits of the plan for work that runs, one after another from *at 0, by their heads. */
bool hardware_next_wait(replay_wait *out, const hardware *h, uint32_t node, size_t *at);

/* Work of which an event is needed: a stream waits for it, or a thread. */
static inline bool hardware_is_event(const hardware *h, uint32_t node, replay_wait w)
{
    if (!replay_is_work(h->r, w.from)) return false;
    if (!replay_is_work(h->r, node)) return w.kind == HD_EDGE_SYNC || w.kind == HD_EDGE_DATA;
    return w.kind == HD_EDGE_EVENT || w.kind == HD_EDGE_DATA || w.kind == HD_EDGE_ADDRESS;
}

/* launches.c. Errors: NOMEM, ARGUMENT: there is no kernel; LIMIT */
hd_status hardware_list(hardware *h, hd_error *err);
void hardware_list_deinit(hardware *h);

/* issue.c */
bool hardware_did(hardware *h, int result); /* keeps the first error */
bool hardware_spin(hardware *h, cuda_handle stream, uint32_t kernel, int64_t ns);
bool hardware_make_graphs(hardware *h);
void hardware_drop_graphs(hardware *h);
hd_status hardware_issue(hardware *h, hd_error *err);

#endif
