/* thread.h - threads of ours in a program */
#ifndef HD_BASE_THREAD_H
#define HD_BASE_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/system.h"
#include "heddle/status.h"

/* Blocks all signals in this thread until hd_signals_restore. */
typedef struct hd_signals {
#if HD_HAS_SIGNALS
    sigset_t before;
#else
    char none;
#endif
} hd_signals;

static inline hd_signals hd_signals_block(void)
{
    hd_signals signals = {0};
#if HD_HAS_SIGNALS
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals.before);
#endif
    return signals;
}

static inline void hd_signals_restore(const hd_signals *signals)
{
#if HD_HAS_SIGNALS
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
#else
    (void)signals;
#endif
}

/* As pthread_create, with all signals blocked in the thread: the program's signals are not delivered to it, and a write
 * beyond RLIMIT_FSIZE fails instead of raising a signal that ends the program. */
static inline int hd_thread_start(pthread_t *out, void *(*run)(void *), void *user)
{
    if (!HD_HAS_THREADS) return ENOTSUP;
    const hd_signals signals = hd_signals_block();
    int failed = pthread_create(out, NULL, run, user);
    hd_signals_restore(&signals);
    return failed;
}

enum { HD_THREAD_LIMIT = 16 }; /* more gain little where each has memory of its own */

/* The number of threads for this many items: at most one per item, at least 1; wanted 0: one per core. */
unsigned hd_thread_count(unsigned wanted, size_t pieces);

/* Calls work(states + i * size) for each i, each in its own thread, one of which is the caller's. If fewer threads can
 * be started, the rest is called after the others. */
void hd_threads_run(void (*work)(void *state), void *states, size_t size, unsigned count);

/* A piece of work that may run at the same time as others. */
typedef struct hd_task {
    hd_status (*run)(void *user, hd_error *err);
    void *user;
} hd_task;

/* Runs them with a thread per core, the first in the caller's; the others start in the order of the list, and none
 * after one has failed. Returns the status and error of the first of the list that failed. Errors: MEMORY. */
hd_status hd_tasks_run(const hd_task *tasks, size_t count, hd_error *err);

#endif
