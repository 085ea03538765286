/* thread.h - threads of ours in a program */
#ifndef HD_BASE_THREAD_H
#define HD_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

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

#endif
