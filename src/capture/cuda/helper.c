/* helper.c - the tracer's thread: reads full buffers, and asks CUPTI for what is complete
 *
 * Every FLUSH_MS it asks, so that little is missing when the program is killed; between windows of a capture there is
 * nothing to miss, and it asks rarely. It has all signals blocked, so that
 * none of the program's arrives there.
 */
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "capture/cuda/cupti/activity.h"
#include "capture/session/tracers.h"
#include "heddle/stack.h"

enum {
    FLUSH_MS = 50,
    CLOSED_FLUSH_MS = 1000,
    CLOCK_MS = 1000,
    DESCRIBE_MS = 200,
    END_SECONDS = 10,
    BUFFERS_AT_ONCE = 8,
    END_LOOK_MS = 500
};

static int64_t ms(int64_t count)
{
    return count * 1000000;
}

void cuda_helper_wake(cuda_tracer *t)
{
    atomic_fetch_add(&t->wake, 1);
    session_futex_wake(&t->wake);
}

void cuda_flush_soon(cuda_tracer *t)
{
    atomic_store(&t->wants_flush, true);
    cuda_helper_wake(t);
}

/* ---- what it does ---- */

static bool read_clock(int64_t *out, void *user)
{
    const cuda_cupti *cupti = user;
    uint64_t time;
    if (cupti->GetTimestamp(&time) != CUPTI_OK || time == 0 || time > INT64_MAX) return false;
    *out = (int64_t)time;
    return true;
}

static void sample_clock(cuda_tracer *t)
{
    cuda_clock_sample(&t->activity->clock, t->has_own_clock, read_clock, (void *)(uintptr_t)t->cupti);
}

/* At most so many: a program that fills them as fast as they are read must not keep this thread from all else. */
static bool read_buffers(cuda_tracer *t, unsigned most)
{
    unsigned count = 0;
    cuda_buffer *buffer;
    while (count < most && (buffer = cuda_buffers_next(&t->buffers))) {
        cuda_activity_read(t->activity, cuda_buffer_data(buffer), buffer->valid);
        cuda_buffers_give_back(&t->buffers, buffer);
        atomic_fetch_add(&t->buffers_read, 1);
        count++;
    }
    if (count == most) atomic_fetch_add(&t->wake, 1); /* there may be more */
    return count > 0;
}

/* This thread's and the session's. */
static void measure(cuda_tracer *t)
{
    struct timespec own = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    t->helper_ns = (uint64_t)own.tv_sec * 1000000000 + (uint64_t)own.tv_nsec + session_cpu_ns(t->session);
}

/* Until the next flush. */
static int64_t flush_after(cuda_tracer *t)
{
    bool is_closed = !atomic_load(&t->is_open) && hd_session_now() - atomic_load(&t->closed_ns) > ms(CLOSED_FLUSH_MS);
    return ms(is_closed ? CLOSED_FLUSH_MS : FLUSH_MS);
}

typedef struct schedule {
    int64_t flush, clock, describe;
    bool has_news;
} schedule;

static void work(cuda_tracer *t, schedule *s)
{
    int64_t now = hd_session_now();
    if (now >= s->clock) {
        sample_clock(t);
        if (t->options.stacks) hd_session_stack_refresh(t->session); /* what was unloaded */
        s->clock = now + ms(CLOCK_MS);
    }
    s->has_news |= read_buffers(t, BUFFERS_AT_ONCE);
    if (atomic_exchange(&t->wants_flush, false) || now >= s->flush) {
        t->cupti->ActivityFlushAll(CUPTI_FLUSH_COMPLETED);
        s->has_news |= read_buffers(t, BUFFERS_AT_ONCE);
        cuda_taken_look(t);
        s->flush = hd_session_now() + flush_after(t);
    }
    s->has_news |= atomic_exchange(&t->wants_description, false);
    if (s->has_news && now >= s->describe) {
        measure(t);
        cuda_describe(t);
        s->describe = now + ms(DESCRIBE_MS);
        s->has_news = false;
    }
}

static void *helper_main(void *user)
{
    cuda_tracer *t = user;
    int64_t now = hd_session_now();
    schedule s = {.flush = now + ms(FLUSH_MS), .clock = now + ms(CLOCK_MS), .has_news = true};
    session_own_thread(1);
    pthread_setname_np(pthread_self(), "heddle-cuda");
    hd_session_name_thread(t->session, "heddle-cuda"); /* in a child of fork this is what opens its file */
    for (;;) {
        unsigned wake = atomic_load(&t->wake);
        bool is_ending = atomic_load(&t->is_ending);
        work(t, &s);
        if (is_ending) break;
        int64_t left = (s.flush - hd_session_now()) / 1000000 + 1;
        if (left > 0) session_futex_wait(&t->wake, wake, (unsigned)left);
    }
    sample_clock(t);
    read_buffers(t, UINT32_MAX);
    cuda_activity_count_dropped(t->activity); /* where there was no memory no buffer came */
    measure(t);
    session_own_thread(-1);
    atomic_store(&t->helper_ended, 1);
    session_futex_wake(&t->helper_ended);
    return NULL;
}

/* ---- start and end ---- */

bool cuda_helper_start(cuda_tracer *t)
{
    if (!(t->activity = malloc(sizeof *t->activity))) return false;
    cuda_activity_init(t->activity, t);
    sample_clock(t);
    t->has_helper = hd_thread_start(&t->helper, helper_main, t) == 0;
    return t->has_helper;
}

void cuda_helper_end(cuda_tracer *t)
{
    if (!t->has_helper) return;
    atomic_store(&t->is_ending, true);
    cuda_helper_wake(t);
    int64_t limit = hd_session_now() + ms(END_SECONDS * 1000);
    unsigned read = atomic_load(&t->buffers_read);
    while (!atomic_load(&t->helper_ended) && hd_session_now() < limit) {
        session_futex_wait(&t->helper_ended, 0, END_LOOK_MS);
        if (atomic_load(&t->buffers_read) == read) continue;
        read = atomic_load(&t->buffers_read);
        limit = hd_session_now() + ms(END_SECONDS * 1000);
    }
    if (atomic_load(&t->helper_ended)) {
        if (pthread_join(t->helper, NULL) == 0) t->has_helper = false;
        return;
    }
    /* It hangs in CUPTI: the program ends all the same, what it owns stays, and what it has not read is lost. */
    cuda_buffers_stats buffers;
    cuda_buffers_statistics(&buffers, &t->buffers);
    cuda_tell(t, "cuda.buffers-unread", HD_SESSION_LOSS,
              "CUPTI did not return for %d seconds at the end of the program: %u buffers of records are lost.",
              (int)END_SECONDS, buffers.count - buffers.free_count);
}
