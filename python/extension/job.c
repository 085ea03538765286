/* job.c - calls that take long: without the GIL, and ended by Ctrl-C */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

void *job_new(size_t size, hd_status (*run)(job *), void (*drop)(job *))
{
    job *made = calloc(1, size);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    made->run = run;
    made->drop = drop;
    return made;
}

void job_free(job *job)
{
    if (job->is_there) {
        pthread_cond_destroy(&job->ended);
        pthread_mutex_destroy(&job->lock);
    }
    Py_CLEAR(job->raised);
    free(job);
}

/* Signals reach Python on this thread only. */
static bool is_main_thread(void)
{
#ifdef __linux__
    return syscall(SYS_gettid) == getpid();
#else
    return pthread_main_np() != 0;
#endif
}

static void *job_thread(void *user)
{
    job *job = user;
    job->status = job->run(job);
    pthread_mutex_lock(&job->lock);
    job->done = true;
    bool abandoned = atomic_load(&job->abandoned);
    pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    if (abandoned) {
        PyGILState_STATE state = PyGILState_Ensure();
        job->drop(job);
        PyGILState_Release(state);
    }
    return NULL;
}

/* Whether the job has ended, after at most JOB_LOOK_MS. */
static bool wait_a_little(job *job)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += JOB_LOOK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&job->lock);
    while (!job->done && pthread_cond_timedwait(&job->ended, &job->lock, &until) == 0) continue;
    bool done = job->done;
    pthread_mutex_unlock(&job->lock);
    return done;
}

static bool start_thread(job *job)
{
    if (pthread_mutex_init(&job->lock, NULL) != 0) return false;
    if (pthread_cond_init(&job->ended, NULL) != 0) {
        pthread_mutex_destroy(&job->lock);
        return false;
    }
    job->is_there = true;
    pthread_t thread;
    if (pthread_create(&thread, NULL, job_thread, job) != 0) return false;
    pthread_detach(thread);
    return true;
}

/* Wait for the thread of a job; false: a signal's handler raised, and the job is its thread's or dropped. */
static bool wait_for(job *job)
{
    for (;;) {
        bool done;
        Py_BEGIN_ALLOW_THREADS done = wait_a_little(job);
        Py_END_ALLOW_THREADS if (done) return true;
        if (PyErr_CheckSignals() == 0) continue;
        if (job->interrupt) {
            Py_BEGIN_ALLOW_THREADS job->interrupt(job);
            while (!wait_a_little(job)) job->interrupt(job);
            Py_END_ALLOW_THREADS
        }
        pthread_mutex_lock(&job->lock);
        done = job->done;
        atomic_store(&job->abandoned, !done);
        pthread_mutex_unlock(&job->lock);
        if (done) job->drop(job);
        return false;
    }
}

int job_run(job *job)
{
    if (is_main_thread() && start_thread(job)) {
        if (!wait_for(job)) return -1;
    } else {
        Py_BEGIN_ALLOW_THREADS job->status = job->run(job);
        Py_END_ALLOW_THREADS
    }
    if (job->raised) {
        PyObject *raised = job->raised;
        job->raised = NULL;
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
        Py_DECREF(raised);
    } else if (job->status != HD_OK) {
        raise_status(job->status, &job->err);
    } else {
        return 0;
    }
    job->drop(job);
    return -1;
}
