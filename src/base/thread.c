/* thread.c - runs the same work in several threads */
#include "base/thread.h"

#include <stdbool.h>

#include "base/system.h"

typedef struct thread_call {
    void (*work)(void *state);
    void *state;
    pthread_t thread;
    bool started;
} thread_call;

static void *call(void *argument)
{
    thread_call *c = argument;
    c->work(c->state);
    return NULL;
}

void hd_threads_run(void (*work)(void *state), void *states, size_t size, unsigned count)
{
    thread_call calls[HD_THREAD_LIMIT];
    if (count > HD_THREAD_LIMIT) count = HD_THREAD_LIMIT;
    for (unsigned i = 0; i < count; i++) {
        calls[i] = (thread_call){.work = work, .state = (char *)states + i * size};
        calls[i].started = i > 0 && hd_thread_start(&calls[i].thread, call, &calls[i]) == 0;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!calls[i].started) work(calls[i].state);
    }
    for (unsigned i = 0; i < count; i++) {
        if (calls[i].started) pthread_join(calls[i].thread, NULL);
    }
}

unsigned hd_thread_count(unsigned wanted, size_t pieces)
{
    if (pieces <= 1) return 1;
    unsigned count = wanted ? wanted : hd_core_count();
    if (count > HD_THREAD_LIMIT) count = HD_THREAD_LIMIT;
    return pieces < count ? (unsigned)pieces : count;
}
