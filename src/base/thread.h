/* thread.h - threads of ours in a program */
#ifndef HD_BASE_THREAD_H
#define HD_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* As pthread_create, with all signals blocked in the thread: the program's signals are not delivered to it, and a write
 * beyond RLIMIT_FSIZE fails instead of raising a signal that ends the program. */
static inline int hd_thread_start(pthread_t *out, void *(*run)(void *), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(out, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

enum { HD_THREAD_LIMIT = 16 }; /* more gain little where each has memory of its own */

/* The number of threads for this many items: at most one per item, at least 1; wanted 0: one per core. */
unsigned hd_thread_count(unsigned wanted, size_t pieces);

/* Calls work(states + i * size) for each i, each in its own thread, one of which is the caller's. If fewer threads can
 * be started, the rest is called after the others. */
void hd_threads_run(void (*work)(void *state), void *states, size_t size, unsigned count);

#endif
