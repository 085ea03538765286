/* taken.c - detects that another profiler takes the records of launches
 *
 * CUPTI has one pair of functions for buffers in a process. A profiler that starts later and registers its own, as
 * Kineto does, gets all records from then on, without notice to us. But callbacks stay ours: launches are seen whose
 * records never arrive. That alone is not conclusive, since CUPTI holds a buffer back as long as an activity in it
 * still runs. So there are two conclusive checks:
 *
 * at the end      a forced flush returns all of CUPTI's buffers, complete or not. Launches returned before it, and
 * neither
 *                 it nor a second flush, by which the last record was surely written, returned any buffer.
 * while it runs   each launch leaves at least one record. If there are more of them than fit into the
 *                 buffers that CUPTI has of ours, and it requested none: they went elsewhere.
 *
 * A request for a buffer counts as a sign of life, even if there is none: the records dropped then are counted.
 */
#include "capture/cuda/cupti/activity.h"
#include "capture/session/tracers.h"

enum { MARGIN = 1024 }; /* launches whose records may not be written yet */

/* In memory that outlives the process. */
static uint64_t seen_launches(cuda_tracer *t)
{
    return atomic_load(session_due(t->session, SESSION_LAUNCHED));
}

void cuda_taken_launched(cuda_tracer *t)
{
    atomic_fetch_add_explicit(session_due(t->session, SESSION_LAUNCHED), 1, memory_order_relaxed);
}

void cuda_taken_sign(cuda_tracer *t)
{
    atomic_store(&t->launches.answered, seen_launches(t));
}

/* Of those seen by then, how many returned since the last sign of life. */
static uint64_t unanswered(cuda_tracer *t, uint64_t seen)
{
    uint64_t answered = atomic_load(&t->launches.answered);
    return seen > answered ? seen - answered : 0;
}

static void note_taken(cuda_tracer *t)
{
    if (atomic_exchange(&t->launches.is_taken, true)) return;
    cuda_tell(
        t, "cuda.buffers-taken", HD_SESSION_LOSS,
        "Another profiler in the program took CUPTI's buffers: launches since then have no kernel. Run it without "
        "the other (torch.profiler, or what else uses CUPTI), or without heddle.");
    atomic_store(&t->wants_description, true);
}

void cuda_taken_look(cuda_tracer *t)
{
    cuda_buffers_stats buffers;
    cuda_buffers_statistics(&buffers, &t->buffers);
    uint64_t seen = t->launches.looked;
    uint64_t fit = buffers.lent * (CUDA_BUFFER_BYTES / sizeof(cupti_api)) + MARGIN;
    t->launches.looked = seen_launches(t);
    if (atomic_load(&t->launches.are_recorded) && unanswered(t, seen) > fit) note_taken(t);
}

void cuda_taken_flush_all(cuda_tracer *t)
{
    uint64_t seen = seen_launches(t);
    for (int i = 0; i < 2; i++) {
        if (t->cupti->ActivityFlushAll(CUPTI_FLUSH_FORCED) != CUPTI_OK) return;
        if (!unanswered(t, seen) || !atomic_load(&t->launches.are_recorded)) return;
    }
    note_taken(t);
}

uint64_t cuda_taken_count(cuda_tracer *t)
{
    uint64_t delivered = atomic_load(session_due(t->session, SESSION_DELIVERED));
    uint64_t seen = seen_launches(t), sure = unanswered(t, seen);
    if (!atomic_load(&t->launches.is_taken)) return 0;
    /* Launches whose records were in a buffer that was no longer ours when it came back. */
    uint64_t missing = seen > delivered && !t->activity->counts.dropped ? seen - delivered : 0;
    return missing > sure ? missing : sure;
}
