/* watch.c - limits a statement's time: a thread interrupts SQLite when the time is up; where no thread can be
 * started, the progress handler does, which comes too late for a step of our own that takes long
 *
 * SQLite checks sqlite3_interrupt at each jump of its program, and calls a progress handler after a number of steps,
 * each of which may take long with large values. Our own loops within one step call query_stopped.
 */
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "query/impl.h"
#include "query/look.h"

bool query_stopped(const hd_query *query)
{
    return atomic_load_explicit(&query->stop, memory_order_relaxed) != QUERY_RUNS;
}

void hd_query_interrupt(hd_query *query)
{
    atomic_store_explicit(&query->stop, QUERY_INTERRUPTED, memory_order_relaxed);
    sqlite3_interrupt(query->db);
}

/* An interruption by the caller is not overwritten. */
static void stop_late(hd_query *query)
{
    int runs = QUERY_RUNS;
    atomic_compare_exchange_strong(&query->stop, &runs, QUERY_LATE);
    sqlite3_interrupt(query->db);
}

static const int64_t OVERDUE_NS = 2000000000;

/* Called with the lock held: the statement is still the one whose time is up. */
static void expire(hd_query *query)
{
    query_watch *w = &query->watch;
    const hd_query_options *options = &query->options;
    bool is_overdue = w->is_late && options->overdue && atomic_load(&w->is_inside);
    w->deadline_ns = options->overdue && !is_overdue ? hd_now_ns() + OVERDUE_NS : INT64_MAX;
    if (is_overdue) options->overdue(options->overdue_user);
    if (!w->is_late) stop_late(query);
    w->is_late = true;
}

static void *watch(void *user)
{
    hd_query *query = user;
    query_watch *w = &query->watch;
    pthread_mutex_lock(&w->lock);
    while (!w->is_ending) {
        const struct timespec until = {w->deadline_ns / 1000000000, w->deadline_ns % 1000000000};
        if (w->deadline_ns == INT64_MAX) {
            pthread_cond_wait(&w->changed, &w->lock);
        } else if (hd_now_ns() < w->deadline_ns) {
            pthread_cond_timedwait(&w->changed, &w->lock, &until);
        } else {
            expire(query);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

bool query_look(hd_query *query)
{
    query_watch *w = &query->watch;
    if (w->looks && w->statement && hd_now_ns() >= w->deadline_ns) stop_late(query);
    if (w->look) w->look(w->look_user);
    return query_stopped(query);
}

void hd_query_on_look(hd_query *query, void (*look)(void *user), void *user)
{
    query->watch.look = look;
    query->watch.look_user = user;
}

void query_watch_start(hd_query *query)
{
    query_watch *w = &query->watch;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    w->deadline_ns = INT64_MAX;
    w->is_there = hd_thread_start(&w->thread, watch, query) == 0;
    w->looks = !w->is_there;
}

int64_t query_deadline(const hd_query *query)
{
    uint64_t limit_ms = query->options.timeout_ms;
    int64_t now_ns = hd_now_ns();
    bool is_limited = limit_ms && limit_ms < (uint64_t)(INT64_MAX - now_ns) / 1000000;
    return is_limited ? now_ns + (int64_t)limit_ms * 1000000 : INT64_MAX;
}

void query_watch_set(hd_query *query, const hd_statement *statement)
{
    query_watch *w = &query->watch;
    if ((!w->is_there && !w->looks) || w->statement == statement) return;
    pthread_mutex_lock(&w->lock);
    w->statement = statement;
    w->is_late = false;
    w->deadline_ns = statement ? statement->deadline_ns : INT64_MAX;
    int late = QUERY_LATE; /* the statement before was */
    atomic_compare_exchange_strong(&query->stop, &late, QUERY_RUNS);
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void query_watch_end(hd_query *query)
{
    query_watch *w = &query->watch;
    if (!w->is_there && !w->looks) return;
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->is_there) pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}
