/* hardware.h - a replay on a GPU: launches activities of the same duration, without the program
 *
 * launches.c  what to launch: by which call, on which stream, after which events
 * issue.c     a thread for each thread of the trace that launches or waits; a call that launched several activities
 *             launches a CUDA graph of them
 * hardware.c  the whole run, and its error; begin here
 *
 * All kernels are one kernel that spins for a given time and writes its start and end (cuda.c); copies and memsets have
 * the same size, on a buffer of our own. A kernel holds only one SM and spins for its simulated time, which accounts
 * for the SMs that it shares; if it had to wait for SMs in the simulation, it begins that long after the start of the
 * kernel that had them. Each queue of the plan is a stream. Kernels that the plan fuses are one kernel, named after the
 * first.
 */
#ifndef HD_REPLAY_HARDWARE_H
#define HD_REPLAY_HARDWARE_H

#include <stdatomic.h>

#include "replay/hardware/cuda.h"
#include "replay/replay.h"

enum {
    HARDWARE_STUCK = -2,   /* instead of a CUDA error: an activity waits for one that was not launched */
    HARDWARE_SELF_NS = 800 /* a kernel takes this much longer than it measures itself: by CUPTI, on an H200 */
};

typedef struct hardware_graph {
    cuda_handle exec, event;
    cuda_handle *streams; /* of its activities; the first one launches them */
    uint32_t stream_count, call;
} hardware_graph;

typedef struct hardware {
    const replay *r;
    cuda_api cuda;
    /* By activity, which is node minus first_work. */
    uint32_t *calls;          /* node of the launching thread; HD_NONE */
    uint32_t *queues;         /* stream */
    uint32_t *kernels;        /* its stamp; HD_NONE: not a kernel, or does not run */
    uint32_t *events;         /* HD_NONE: nothing waits for it */
    _Atomic uint8_t *is_done; /* it is launched */
    int64_t *bytes;           /* of copies and memsets */
    /* By kernel. */
    uint32_t *heads; /* node */
    int64_t *spins;  /* ns */
    /* By node of a thread. */
    uint32_t *firsts, *launched; /* where its activities begin in `launched`, which has one more */
    uint32_t *graph_of;          /* HD_NONE */
    uint32_t *orphans;           /* activities without a call, by start */
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
/* Of an activity that runs: the node whose launch includes it. */
static inline uint32_t hardware_head(const hardware *h, uint32_t work)
{
    return hardware_is_fused(h->r, work) ? h->heads[h->kernels[work - h->r->first_work]] : work;
}
/* The plan's waits of an activity that runs for others that run, by their heads, one after another from *at 0. */
bool hardware_next_wait(replay_wait *out, const hardware *h, uint32_t node, size_t *at);

/* Whether the activity needs an event: a stream or a thread waits for it. */
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
