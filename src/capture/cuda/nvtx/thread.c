/* thread.c - ranges pushed on a thread
 *
 * Ranges of a domain nest on a thread; those of several domains need not. In the trace a thread is one track, where
 * everything nests: a range that is popped while others above it are open ends those, and they continue in a second
 * part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/nvtx/impl.h"
#include "capture/cuda/window/window.h"

static _Thread_local struct {
    nvtx_thread *thread;
    int kept; /* the program's errno, which opening a window or waiting changes */
    uint8_t busy;
    uint32_t calls;
    int64_t start_ns; /* of a call that is timed, else 0 */
} this_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t key;

static void thread_ends(void *thread)
{
    nvtx_thread *here = thread;
    this_thread.busy = 1; /* and stays set: destructors that run later push nothing */
    this_thread.thread = NULL;
    free(here->open);
    free(here->tops);
    free(here);
}

hd_status nvtx_threads_prepare(void)
{
    return pthread_key_create(&key, thread_ends) == 0 ? HD_OK : HD_ERR_LIMIT;
}

static nvtx_thread *make_thread(void)
{
    nvtx_thread *here = calloc(1, sizeof *here);
    if (!here) return NULL;
    if (pthread_setspecific(key, here) != 0) {
        free(here);
        return NULL;
    }
    here->forks = atomic_load(&nvtx_tool.forks);
    return this_thread.thread = here;
}

/* Begins in the parent's file are not in ours. */
static void forget_parent(nvtx_thread *here, unsigned forks)
{
    for (uint32_t i = 0; i < here->count; i++) here->open[i].is_shown = false;
    here->forks = forks;
}

nvtx_thread *nvtx_enter(void)
{
    if (this_thread.busy) {
        nvtx_tell(NVTX_NESTED, 1);
        return NULL;
    }
    this_thread.busy = 1;
    this_thread.kept = errno;
    atomic_signal_fence(memory_order_seq_cst);
    this_thread.start_ns = cuda_cost_begin(this_thread.calls++);
    if (atomic_load_explicit(&control_is_missing, memory_order_relaxed)) control_revive();
    nvtx_thread *here = this_thread.thread;
    if (!here) here = make_thread();
    if (!here) {
        nvtx_tell(NVTX_OVER, 1);
        nvtx_leave();
        return NULL;
    }
    unsigned forks = atomic_load_explicit(&nvtx_tool.forks, memory_order_relaxed);
    if (here->forks != forks) forget_parent(here, forks);
    return here;
}

void nvtx_leave(void)
{
    if (this_thread.start_ns) nvtx_timed(this_thread.calls - 1, this_thread.start_ns);
    atomic_signal_fence(memory_order_seq_cst);
    errno = this_thread.kept;
    this_thread.busy = 0;
}

void nvtx_quiet(int change)
{
    this_thread.busy = (uint8_t)(this_thread.busy + change);
    atomic_signal_fence(memory_order_seq_cst);
}

/* ---- events ---- */

static void begin(const nvtx_open *range, int64_t now)
{
    hd_session_emit(nvtx_tool.session, &(hd_session_record){.kind = HD_SESSION_BEGIN,
                                                            .time_ns = now,
                                                            .name = range->name,
                                                            .category = nvtx_tool.category,
                                                            .args = range->args});
}

static void end(int64_t now)
{
    hd_session_emit(nvtx_tool.session, &(hd_session_record){.kind = HD_SESSION_END, .time_ns = now});
}

/* Removes ranges that were popped while others above them were open: two alternating domains would add to the list for
 * ever. */
static void pack(nvtx_thread *here)
{
    uint32_t kept = 0;
    memset(here->tops, 0, here->top_count * sizeof *here->tops);
    for (uint32_t i = 0; i < here->count; i++) {
        nvtx_open range = here->open[i];
        if (range.is_closed) continue;
        range.below = here->tops[range.domain];
        here->open[kept++] = range;
        here->tops[range.domain] = kept;
    }
    here->count = kept;
}

static bool make_room(nvtx_thread *here, uint32_t domain)
{
    if (domain >= here->top_count) {
        uint32_t count = domain + 16;
        uint32_t *tops = realloc(here->tops, count * sizeof *tops);
        if (!tops) return false;
        memset(tops + here->top_count, 0, (count - here->top_count) * sizeof *tops);
        here->tops = tops;
        here->top_count = count;
    }
    if (here->count < here->capacity) return true;
    if (here->count) pack(here);
    if (here->count < here->capacity / 2) return true; /* else soon again */
    uint32_t capacity = here->capacity ? here->capacity * 2 : 32;
    nvtx_open *open = here->count < NVTX_DEPTH_MAX ? realloc(here->open, capacity * sizeof *open) : NULL;
    if (!open) return false;
    here->open = open;
    here->capacity = capacity;
    return true;
}

int nvtx_push(nvtx_thread *here, const nvtx_open *what)
{
    if (here->over || !make_room(here, what->domain)) {
        here->over++;
        nvtx_tell(NVTX_OVER, 1);
        return -2;
    }
    nvtx_open *range = &here->open[here->count++];
    *range = *what;
    range->below = here->tops[what->domain];
    range->level = range->below ? here->open[range->below - 1].level + 1 : 0;
    here->tops[what->domain] = here->count;
    if (range->is_shown) begin(range, hd_session_now());
    return (int)range->level;
}

/* `range` ends; shown ranges above it continue in a second part. */
static void end_below_others(nvtx_thread *here, const nvtx_open *range)
{
    int64_t now = hd_session_now();
    const nvtx_open *last = here->open + here->count;
    uint64_t split = 0;
    for (const nvtx_open *p = range + 1; p < last; p++) split += p->is_shown && !p->is_closed;
    for (uint64_t i = 0; i < split + 1; i++) end(now);
    for (const nvtx_open *p = range + 1; split && p < last; p++) {
        if (p->is_shown && !p->is_closed) begin(p, now);
    }
    if (split) nvtx_tell(NVTX_SPLIT, split);
}

int nvtx_pop(nvtx_thread *here, uint32_t domain)
{
    if (here->over) {
        here->over--;
        return -2;
    }
    uint32_t top = domain < here->top_count ? here->tops[domain] : 0;
    if (!top) {
        nvtx_tell(NVTX_UNMATCHED, 1);
        return -1;
    }
    nvtx_open *range = &here->open[top - 1];
    int level = (int)range->level;
    bool was_step = range->is_step;
    here->tops[domain] = range->below;
    if (range->is_shown) end_below_others(here, range);
    range->is_closed = true;
    while (here->count && here->open[here->count - 1].is_closed) here->count--;
    if (was_step) window_step_ends();
    return level;
}
