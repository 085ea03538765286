/* jobs.c - requests that need computation: a queue, worker threads, and the watcher */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "base/system.h"
#include "view/server/impl.h"

enum { WORKERS_MIN = 4, WORKERS_KEPT = 2 }; /* reserved for short jobs */

/* It waits by the clock of hd_now_ms, which is never set. */
void view_condition_init(pthread_cond_t *out)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(out, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* false: timeout. The condition is one of view_condition_init. */
static bool wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t at_ms)
{
    const struct timespec at = {at_ms / 1000, at_ms % 1000 * 1000000};
    if (at_ms <= hd_now_ms()) return false;
    pthread_cond_timedwait(condition, lock, &at);
    return true;
}

/* ---- the queue; the lock is held ---- */

static void remove_job(hd_view *view, view_job *job)
{
    *(job->previous ? &job->previous->next : &view->jobs) = job->next;
    *(job->next ? &job->next->previous : &view->last_job) = job->previous;
    job->next = job->previous = NULL;
}

/* Resumes the connection, and libmicrohttpd requests the answer. */
static void finish_job(view_job *job)
{
    remove_job(job->view, job);
    job->state = VIEW_JOB_DONE;
    MHD_resume_connection(job->connection);
}

static unsigned long_jobs_of(const hd_view *view, uint64_t address)
{
    unsigned count = 0;
    for (const view_job *job = view->jobs; job; job = job->next)
        count += job->state == VIEW_JOB_RUNNING && job->route->is_long && job->client->address == address;
    return count;
}

/* The first short job; else the first long one of the client with the fewest running ones. */
static view_job *take_job(hd_view *view)
{
    bool long_may = view->running_long < view->long_limit;
    unsigned fewest = VIEW_LONG_OF_ONE;
    view_job *best = NULL;
    for (view_job *job = view->jobs; job; job = job->next) {
        if (job->state != VIEW_JOB_QUEUED) continue;
        if (!job->route->is_long) return job;
        unsigned count = long_may && fewest ? long_jobs_of(view, job->client->address) : VIEW_LONG_OF_ONE;
        if (count >= fewest) continue;
        best = job;
        fewest = count;
    }
    return best;
}

bool view_job_queue(view_job *job)
{
    hd_view *view = job->view;
    pthread_mutex_lock(&view->lock);
    bool open = !view->stopping;
    if (open) {
        bool parked = job->route->waits && job->route->waits(&job->request);
        job->state = parked ? VIEW_JOB_PARKED : VIEW_JOB_QUEUED;
        job->parked_until_ms = hd_now_ms() + view->limits.poll_ms;
        job->client->deadline_ms = 0;
        job->previous = view->last_job;
        *(view->last_job ? &view->last_job->next : &view->jobs) = job;
        view->last_job = job;
        MHD_suspend_connection(job->connection);
        if (!parked) pthread_cond_signal(&view->work);
        pthread_cond_signal(&view->watch);
    }
    pthread_mutex_unlock(&view->lock);
    return open;
}

void view_jobs_news(void *user)
{
    hd_view *view = user;
    pthread_mutex_lock(&view->lock);
    for (view_job *job = view->jobs; job; job = job->next) {
        if (job->state == VIEW_JOB_PARKED && !job->route->waits(&job->request)) job->state = VIEW_JOB_QUEUED;
    }
    pthread_cond_broadcast(&view->work);
    pthread_mutex_unlock(&view->lock);
}

/* ---- workers ---- */

static void *work(void *user)
{
    hd_view *view = user;
    hd_compressor *compressor = NULL;
    hd_compressor_new(&compressor, 1, NULL);
    pthread_mutex_lock(&view->lock);
    while (!view->ending) {
        view_job *job = take_job(view);
        if (!job) {
            pthread_cond_wait(&view->work, &view->lock);
            continue;
        }
        bool is_long = job->route->is_long;
        job->state = VIEW_JOB_RUNNING;
        job->run_since_ms = hd_now_ms();
        view->running++;
        view->running_long += is_long;
        pthread_mutex_unlock(&view->lock);
        view_job_run(job, compressor);
        pthread_mutex_lock(&view->lock);
        view->running--;
        *(job->gave_place ? &view->gave_place : &view->running_long) -= is_long;
        finish_job(job);
        if (is_long) pthread_cond_broadcast(&view->work);
        pthread_cond_broadcast(&view->idle);
    }
    pthread_mutex_unlock(&view->lock);
    hd_compressor_free(compressor);
    return NULL;
}

/* A job that runs for long gives its slot to others, for which another worker is then available. The lock is held. */
static void give_place(hd_view *view, view_job *job)
{
    unsigned wanted = view->long_limit + WORKERS_KEPT + view->gave_place + 1;
    if (view->worker_count < wanted) {
        if (wanted > sizeof view->workers / sizeof *view->workers) return;
        if (pthread_create(&view->workers[view->worker_count], NULL, work, view) != 0) return;
        view->worker_count++;
    }
    job->gave_place = true;
    view->gave_place++;
    view->running_long--;
    pthread_cond_broadcast(&view->work);
}

/* ---- the watcher ---- */

static bool has_hung_up(int fd)
{
    struct pollfd one = {.fd = fd};
#ifdef POLLRDHUP
    one.events = POLLRDHUP;
#endif
    return poll(&one, 1, 0) == 1 && one.revents != 0;
}

static void watch_jobs(hd_view *view, int64_t now)
{
    for (view_job *job = view->jobs, *next; job; job = next) {
        next = job->next;
        if (!atomic_load(&job->gone) && has_hung_up(job->client->fd)) atomic_store(&job->gone, true);
        bool is_long = job->state == VIEW_JOB_RUNNING && job->route->is_long && !job->gave_place;
        if (is_long && now - job->run_since_ms >= view->limits.long_ms) give_place(view, job);
        if (job->state == VIEW_JOB_RUNNING) continue;
        if (atomic_load(&job->gone)) {
            finish_job(job);
        } else if (job->state == VIEW_JOB_PARKED && now >= job->parked_until_ms) {
            job->state = VIEW_JOB_QUEUED;
            pthread_cond_signal(&view->work);
        }
    }
}

/* libmicrohttpd sees the end of the connection, and closes it. */
static void shut_client(view_client *client)
{
    shutdown(client->fd, SHUT_RDWR);
    client->is_shut = true;
}

/* Idle connections are kept-alive ones: browsers reopen them. */
void view_client_make_room(hd_view *view)
{
    view_client *oldest = NULL;
    if (view->client_count + view->client_limit / VIEW_SPARE < view->client_limit) return;
    for (view_client *client = view->clients; client; client = client->next) {
        if (client->deadline_ms == 0 || client->is_shut) continue;
        if (!oldest || client->deadline_ms <= oldest->deadline_ms) oldest = client;
    }
    if (oldest) shut_client(oldest);
    for (view_job *job = oldest ? NULL : view->jobs; job;
         job = job->next) { /* a long poll is answered before its time */
        if (job->state != VIEW_JOB_PARKED) continue;
        job->state = VIEW_JOB_QUEUED;
        pthread_cond_signal(&view->work);
        return;
    }
}

/* Closes slow connections. */
static void watch_clients(hd_view *view, int64_t now)
{
    for (view_client *client = view->clients; client; client = client->next) {
        if (client->deadline_ms == 0 || now < client->deadline_ms) continue;
        shut_client(client);
        client->deadline_ms = now + view->limits.slow_ms;
    }
}

static void *watch(void *user)
{
    hd_view *view = user;
    pthread_mutex_lock(&view->lock);
    while (!view->ending) {
        int64_t now = hd_now_ms();
        watch_jobs(view, now);
        watch_clients(view, now);
        if (view->jobs || view->clients)
            wait_until(&view->watch, &view->lock, now + (view->running ? VIEW_TICK_MS : VIEW_IDLE_TICK_MS));
        else
            pthread_cond_wait(&view->watch, &view->lock);
    }
    pthread_mutex_unlock(&view->lock);
    return NULL;
}

void view_client_deadline(view_client *client, int64_t at_ms)
{
    pthread_mutex_lock(&client->view->lock);
    client->deadline_ms = at_ms;
    pthread_mutex_unlock(&client->view->lock);
}

/* ---- starting and stopping ---- */

hd_status view_jobs_start(hd_view *view, hd_error *err)
{
    unsigned wanted = hd_core_count() + WORKERS_KEPT;
    if (wanted < WORKERS_MIN) wanted = WORKERS_MIN;
    if (wanted > VIEW_WORKERS_MAX) wanted = VIEW_WORKERS_MAX;
    pthread_mutex_lock(&view->lock);
    while (view->worker_count < wanted && pthread_create(&view->workers[view->worker_count], NULL, work, view) == 0)
        view->worker_count++;
    view->long_limit = view->worker_count > WORKERS_KEPT ? view->worker_count - WORKERS_KEPT : 0;
    view->has_watcher = pthread_create(&view->watcher, NULL, watch, view) == 0;
    bool enough = view->worker_count > WORKERS_KEPT && view->has_watcher;
    pthread_mutex_unlock(&view->lock);
    return enough ? HD_OK : hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "the system gives no more threads");
}

bool view_jobs_stop(hd_view *view, unsigned milliseconds)
{
    int64_t until = hd_now_ms() + milliseconds;
    pthread_mutex_lock(&view->lock);
    view->stopping = true;
    for (view_job *job = view->jobs, *next; job; job = next) {
        next = job->next;
        atomic_store(&job->gone, true);
        if (job->state != VIEW_JOB_RUNNING) finish_job(job);
    }
    while (view->running && wait_until(&view->idle, &view->lock, until)) continue;
    bool ended = view->running == 0;
    if (ended) view->ending = true;
    pthread_cond_broadcast(&view->work);
    pthread_cond_broadcast(&view->watch);
    pthread_mutex_unlock(&view->lock);
    if (!ended) return false;
    while (view->worker_count) pthread_join(view->workers[--view->worker_count], NULL);
    if (view->has_watcher) pthread_join(view->watcher, NULL);
    view->has_watcher = false;
    return true;
}
