/* fork.c - the sessions of this process: slots, fork, thread exit
 *
 * This is the only state of the library outside of sessions: the handlers of fork and of thread exit get no session.
 *
 * Before a fork all locks are taken, so that the child gets consistent sessions. The child has one thread and none of
 * ours. It closes the file, which is the parent's, and marks the session; nothing else happens before its first event,
 * since most children only execute another program. With HD_SESSION_FORK_FILE that event opens a file and starts a
 * thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/session/impl.h"
#include "capture/stack/impl.h"

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    hd_session *sessions[HD_SESSION_LIMIT];
    uint64_t generations; /* given out */
    pthread_key_t key;    /* its destructor is called when a thread ends */
    bool has_key;
} all = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork ---- */

/* Events of signal handlers from here until the fork is over would wait for our locks: they are dropped instead. */
static void before_fork(void)
{
    session_this_thread.busy++;
    stack_modules_fork(-1);
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < HD_SESSION_LIMIT; i++) {
        if (all.sessions[i]) pthread_mutex_lock(&all.sessions[i]->lock);
    }
}

static void release(void)
{
    for (int i = HD_SESSION_LIMIT - 1; i >= 0; i--) {
        if (all.sessions[i]) pthread_mutex_unlock(&all.sessions[i]->lock);
    }
    pthread_mutex_unlock(&all.lock);
    session_this_thread.busy--;
}

static void in_parent(void)
{
    release();
    stack_modules_fork(0);
}

/* Resets the parent's state: its lanes, whose threads do not exist here, its counts, the state of its file. Notes and
 * metadata would count twice: the child's file has only the child's. */
static void forget_parent(hd_session *session)
{
    session_live_close(session); /* the rings as well: they are the parent's memory, not a copy */
    session->thread_count = 0;
    session->file.size = 0;
    session_segment_forget(session);
    session->chunk.failed = false;
    for (int i = 0; i < SESSION_LISTS; i++) session->lists[i].written = session->lists[i].lost = 0;
    atomic_store(&session->asleep, false);
    atomic_store(&session->ending, false);
    session->status = HD_OK;
    session->message[0] = 0;
    memset(session->over_limit, 0, sizeof session->over_limit);
    for (uint32_t i = 0; i < session->fact_count; i++) {
        session->facts[i].value.size = 0;
        session->facts[i].is_written = true;
    }
}

static void in_child(void)
{
    session_own_threads_in_child();
    stack_modules_fork(1);
    stack_forked();
    for (int i = 0; i < HD_SESSION_LIMIT; i++) {
        hd_session *session = all.sessions[i];
        if (!session || session->state != SESSION_RUNNING) continue;
        session->state = SESSION_FORKED;
        atomic_store(&session->may_revive, session->options.fork == HD_SESSION_FORK_FILE);
        atomic_store_explicit(session->generation, 0, memory_order_release);
        session_file_close(session);
        forget_parent(session);
    }
    release();
}

/* NAME.PID.EXTENSION next to the parent's file. */
static char *path_of_child(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > slash + 1 ? (size_t)(dot - path) : strlen(path);
    char *out = malloc(strlen(path) + 16);
    if (out) sprintf(out, "%.*s.%d%s", (int)stem, path, (int)getpid(), path + stem);
    return out;
}

/* Never reused, so that a thread can detect that its data is of an old session. */
static uint64_t new_generation(void)
{
    return __atomic_add_fetch(&all.generations, 1, __ATOMIC_RELAXED);
}

hd_status session_revive(hd_session *session)
{
    char *path = path_of_child(session->file.path);
    hd_error err = {0};
    session->start_ns = hd_session_now();
    session->state = SESSION_STOPPED; /* tried once */
    atomic_store(&session->may_revive, false);
    if (!path) return HD_ERR_MEMORY;
    free(session->file.path);
    session->file.path = path;
    hd_status status = session_file_open(session, &err);
    if (status == HD_OK) session_live_open(session);
    if (status == HD_OK) status = session_start_thread(session);
    if (status != HD_OK) {
        session->status = status;
        snprintf(session->message, sizeof session->message, "%.100s", err.message[0] ? err.message : "no thread");
        session_file_close(session);
        return status;
    }
    session->state = SESSION_RUNNING;
    atomic_store_explicit(session->generation, new_generation(), memory_order_release);
    return HD_OK;
}

/* ---- ends of threads ---- */

static void thread_ends(void *unused)
{
    session_thread *here = &session_this_thread;
    (void)unused;
    here->busy = 1; /* and stays set: destructors that run later emit nothing */
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < HD_SESSION_LIMIT; i++) {
        hd_session *session = all.sessions[i];
        /* A session that is gone took its lanes along. */
        int active = LANE_ACTIVE; /* a lane being stopped right now may be retired already */
        if (session && here->at[i].generation && atomic_load(session->generation) == here->at[i].generation)
            atomic_compare_exchange_strong(&here->at[i].lane->state, &active, LANE_ENDED);
    }
    pthread_mutex_unlock(&all.lock);
}

void session_expect_end(void)
{
    if (all.has_key) pthread_setspecific(all.key, &all);
}

/* ---- slots ---- */

static void set_up(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
    all.has_key = pthread_key_create(&all.key, thread_ends) == 0;
}

hd_status session_register(hd_session *session, hd_error *err)
{
    unsigned slot = 0;
    pthread_once(&all.once, set_up);
    pthread_mutex_lock(&all.lock);
    while (slot < HD_SESSION_LIMIT && all.sessions[slot]) slot++;
    if (slot < HD_SESSION_LIMIT) {
        all.sessions[slot] = session;
        session->slot = slot;
        uint64_t generation = new_generation();
        session->serial = (uint32_t)generation;
        atomic_store_explicit(session->generation, generation, memory_order_release);
    }
    pthread_mutex_unlock(&all.lock);
    if (slot < HD_SESSION_LIMIT) return HD_OK;
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "a process has at most %d sessions at once",
                        (int)HD_SESSION_LIMIT);
}

void session_unregister(hd_session *session)
{
    pthread_mutex_lock(&all.lock);
    if (all.sessions[session->slot] == session) all.sessions[session->slot] = NULL;
    pthread_mutex_unlock(&all.lock);
}
