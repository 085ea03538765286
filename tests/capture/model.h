/* model.h - runs small programs of up to three threads in every order of their steps, one order after another
 *
 * Threads are contexts of their own on one real thread. Each access to shared memory is a step; before it, the thread
 * gives control to the scheduler here, which continues one of them. A schedule is a list of choices; the next schedule
 * is the last one with its last choice that has an alternative changed (depth first), until none is left. `preemptions`
 * bounds how often a schedule may leave a thread that could have gone on; MODEL_ALL: no bound, every interleaving.
 *
 * What one schedule shows is sequentially consistent. The declared memory orders are checked beside it by vector
 * clocks, as a race detector does: acquire joins what release left at the place; a plain read or write must happen
 * after the writes, and a write after the reads, that it meets.
 */
#ifndef HD_TESTS_CAPTURE_MODEL_H
#define HD_TESTS_CAPTURE_MODEL_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MODEL_THREADS = 3, MODEL_STEPS = 512, MODEL_PLACES = 64, MODEL_ALL = 1000, MODEL_STACK = 32768 };

typedef struct model_clock {
    uint32_t at[MODEL_THREADS + 1]; /* the last is the scheduler itself, before and after the threads */
} model_clock;

/* A place in shared memory that has been met. */
typedef struct model_place {
    const volatile void *address;
    model_clock released;        /* what an acquire of it learns */
    uint32_t writer, write_time; /* of the last write of data */
    uint32_t reads[MODEL_THREADS + 1];
    uint32_t pending_time; /* of a read that may yet turn out not to count */
    bool pending_ordered;
} model_place;

typedef struct model {
    ucontext_t start; /* contexts are entered once by setcontext, then left and entered by jumps: no system calls */
    jmp_buf scheduler, threads[MODEL_THREADS];
    bool entered[MODEL_THREADS];
    char stacks[MODEL_THREADS][MODEL_STACK];
    void (*bodies[MODEL_THREADS])(unsigned thread);
    unsigned thread_count, current; /* current == MODEL_THREADS: the scheduler */
    bool done[MODEL_THREADS], waiting[MODEL_THREADS];
    uint64_t stores, seen[MODEL_THREADS]; /* a thread that waits goes on when there was a store since its last look */
    uint8_t choices[MODEL_STEPS], options[MODEL_STEPS];
    unsigned depth, planned;
    unsigned preemption_limit;
    uint64_t schedules, steps;
    model_clock clocks[MODEL_THREADS + 1];
    model_place places[MODEL_PLACES];
    unsigned place_count;
} model;

static model the_model;

static inline void model_fail(const char *what)
{
    model *m = &the_model;
    fprintf(stderr, "model: %s, after %llu schedules; this one:", what, (unsigned long long)m->schedules);
    for (unsigned i = 0; i < m->depth; i++) fprintf(stderr, " %u/%u", m->choices[i], m->options[i]);
    fprintf(stderr, "\n");
    abort();
}

static inline void model_require(bool holds, const char *what)
{
    if (!holds) model_fail(what);
}

/* ---- schedules ---- */

/* Give control away before a step. */
static inline void model_step(void)
{
    model *m = &the_model;
    unsigned self = m->current;
    if (self == MODEL_THREADS) return;
    m->steps++;
    if (_setjmp(m->threads[self]) == 0) _longjmp(m->scheduler, 1);
}

/* What the thread waits for can only come from a store of another. */
static inline void model_wait(void)
{
    unsigned self = the_model.current;
    the_model.waiting[self] = the_model.stores == the_model.seen[self];
    model_step();
    the_model.seen[self] = the_model.stores;
}

static void model_main(int thread)
{
    the_model.bodies[thread]((unsigned)thread);
    the_model.done[thread] = true;
    _longjmp(the_model.scheduler, 1);
}

/* One of `count`, by the plan, else the first. */
static unsigned model_choose(unsigned count)
{
    model *m = &the_model;
    model_require(m->depth < MODEL_STEPS, "a schedule without end");
    if (m->depth == m->planned) m->choices[m->planned++] = 0;
    m->options[m->depth] = (uint8_t)count;
    model_require(m->choices[m->depth] < count, "a schedule that does not repeat");
    return m->choices[m->depth++];
}

/* The threads that may go on, the one that ran last first. */
static unsigned model_ready(unsigned *out, unsigned last)
{
    model *m = &the_model;
    unsigned count = 0;
    if (last < MODEL_THREADS && !m->done[last] && !m->waiting[last]) out[count++] = last;
    for (unsigned t = 0; t < m->thread_count; t++) {
        if (t != last && !m->done[t] && !m->waiting[t]) out[count++] = t;
    }
    return count;
}

/* Let a thread take a step. */
static void model_continue(unsigned thread)
{
    model *m = &the_model;
    m->current = thread;
    if (_setjmp(m->scheduler) != 0) return;
    if (m->entered[thread]) _longjmp(m->threads[thread], 1);
    m->entered[thread] = true;
    getcontext(&m->start);
    m->start.uc_stack.ss_sp = m->stacks[thread];
    m->start.uc_stack.ss_size = MODEL_STACK;
    m->start.uc_link = NULL;
    makecontext(&m->start, (void (*)(void))model_main, 1, (int)thread);
    setcontext(&m->start);
}

static void model_run_schedule(void)
{
    model *m = &the_model;
    unsigned ready[MODEL_THREADS], last = MODEL_THREADS, preemptions = 0;
    m->depth = 0;
    for (unsigned t = 0; t < m->thread_count; t++) {
        m->done[t] = m->waiting[t] = false;
        m->seen[t] = m->stores;
        m->clocks[t] = m->clocks[MODEL_THREADS];
        m->clocks[t].at[t]++;
        m->entered[t] = false;
    }
    for (unsigned count; (count = model_ready(ready, last)) > 0;) {
        bool could_go_on = ready[0] == last;
        if (could_go_on && preemptions == m->preemption_limit) count = 1;
        unsigned next = ready[count > 1 ? model_choose(count) : 0];
        preemptions += could_go_on && next != last;
        last = next;
        model_continue(next);
        m->current = MODEL_THREADS;
        for (unsigned t = 0; t < m->thread_count; t++) m->waiting[t] = m->waiting[t] && m->stores == m->seen[t];
    }
    for (unsigned t = 0; t < m->thread_count; t++) {
        model_require(m->done[t], "threads wait for each other for ever");
        for (unsigned i = 0; i <= MODEL_THREADS; i++) {
            if (m->clocks[t].at[i] > m->clocks[MODEL_THREADS].at[i])
                m->clocks[MODEL_THREADS].at[i] = m->clocks[t].at[i];
        }
    }
}

static bool model_next_schedule(void)
{
    model *m = &the_model;
    m->planned = m->depth;
    while (m->planned && m->choices[m->planned - 1] + 1 >= m->options[m->planned - 1]) m->planned--;
    if (m->planned == 0) return false;
    m->choices[m->planned - 1]++;
    return true;
}

/* before() makes the shared state, after() looks at it. Returns how many schedules there were. */
static uint64_t model_explore(unsigned threads, void (*const *bodies)(unsigned), unsigned preemptions,
                              void (*before)(void), void (*after)(void))
{
    model *m = &the_model;
    memset(m, 0, sizeof *m);
    m->thread_count = threads;
    m->preemption_limit = preemptions;
    m->current = MODEL_THREADS;
    for (unsigned t = 0; t < threads; t++) m->bodies[t] = bodies[t];
    do {
        m->place_count = 0;
        memset(m->clocks, 0, sizeof m->clocks);
        m->clocks[MODEL_THREADS].at[MODEL_THREADS] = 1;
        before();
        model_run_schedule();
        after();
        m->schedules++;
    } while (model_next_schedule());
    return m->schedules;
}

/* ---- memory orders ---- */

static inline model_place *model_at(const volatile void *address)
{
    model *m = &the_model;
    for (unsigned i = 0; i < m->place_count; i++) {
        if (m->places[i].address == address) return &m->places[i];
    }
    model_require(m->place_count < MODEL_PLACES, "too many places");
    m->places[m->place_count] = (model_place){.address = address, .writer = MODEL_THREADS};
    return &m->places[m->place_count++];
}

static inline void model_join(model_clock *to, const model_clock *from)
{
    for (unsigned i = 0; i <= MODEL_THREADS; i++) {
        if (from->at[i] > to->at[i]) to->at[i] = from->at[i];
    }
}

static inline void model_note_load(const volatile void *address, memory_order order)
{
    model *m = &the_model;
    if (order != memory_order_relaxed) model_join(&m->clocks[m->current], &model_at(address)->released);
}

/* A store begins a release sequence anew; a read-modify-write goes on with the one that it meets. */
static inline void model_note_store(const volatile void *address, memory_order order, bool modifies)
{
    model *m = &the_model;
    model_place *place = model_at(address);
    m->stores++;
    if (!modifies) memset(&place->released, 0, sizeof place->released);
    if (order != memory_order_relaxed) model_join(&place->released, &m->clocks[m->current]);
    m->clocks[m->current].at[m->current]++;
}

/* Data: written by one at a time, and read only behind that. */
static inline void model_note_write(const volatile void *address)
{
    model *m = &the_model;
    model_place *place = model_at(address);
    const model_clock *now = &m->clocks[m->current];
    model_require(place->write_time <= now->at[place->writer], "two writes of one place race");
    for (unsigned t = 0; t <= MODEL_THREADS; t++)
        model_require(place->reads[t] <= now->at[t], "a write races with a read that counted");
    place->writer = m->current;
    place->write_time = now->at[m->current];
}

static inline void model_note_read(const volatile void *address)
{
    model *m = &the_model;
    model_place *place = model_at(address);
    place->pending_ordered = place->write_time <= m->clocks[m->current].at[place->writer];
    place->pending_time = m->clocks[m->current].at[m->current];
    m->clocks[m->current].at[m->current]++;
}

/* The last read of this place, by this thread, is one whose value is used. */
static inline void model_count_read(const volatile void *address)
{
    model *m = &the_model;
    model_place *place = model_at(address);
    model_require(place->pending_ordered, "a read races with the write that it saw");
    place->reads[m->current] = place->pending_time;
}

#endif
