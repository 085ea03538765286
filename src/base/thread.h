/* thread.h - threads of ours in a program */
#ifndef HD_BASE_THREAD_H
#define HD_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* As pthread_create, for a thread with all signals blocked: the program's are not for it, and a write beyond
 * RLIMIT_FSIZE fails instead of raising one that ends the program. */
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

/* How many threads for so many pieces of work: at most one a piece, at least 1; wanted 0: one per core. */
unsigned hd_thread_count(unsigned wanted, size_t pieces);

/* Call work(states + i * size) for each i, one in each of so many threads, of which one is the caller's. Where fewer
 * threads can be had, what is left is called behind the others. */
void hd_threads_run(void (*work)(void *state), void *states, size_t size, unsigned count);

#endif
