/* session.c - start, stop, the lanes of threads, statistics */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capture_wire.h"
#include "base/error.h"
#include "base/options.h"
#include "base/thread.h"
#include "capture/session/impl.h"

_Thread_local session_thread session_this_thread;

/* ---- lanes ---- */

static session_lane *free_lane(hd_session *session)
{
    session_lane *lane = atomic_load_explicit(&session->lanes, memory_order_relaxed);
    while (lane && atomic_load_explicit(&lane->state, memory_order_acquire) != LANE_FREE) lane = lane->next;
    return lane;
}

static void wake_writer(void *user)
{
    hd_session *session = user;
    /* Between the store of the ring's tail and this load; the other side sets `asleep` before it reads the rings. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&session->asleep, memory_order_relaxed)) return;
    if (!atomic_exchange_explicit(&session->asleep, false, memory_order_relaxed)) return;
    int kept = errno;
    atomic_fetch_add_explicit(&session->wake, 1, memory_order_relaxed);
    session_futex_wake(&session->wake);
    errno = kept;
}

/* Under the lock. */
static session_lane *add_lane(hd_session *session)
{
    session_lane *lane = free_lane(session), *fresh = NULL;
    hd_ring_options options = {.capacity = session->options.ring_events,
                               .element_bytes = SESSION_EVENT_BYTES,
                               .policy = session->options.policy};
    if (session->thread_count >= CAPTURE_THREADS_MAX) return NULL;
    if (!lane) lane = fresh = session_live_lane(session);
    if (!lane) return NULL;
    hd_ring_init(&lane->ring, &options, lane->ring.words, NULL);
    lane->ring.bell = wake_writer;
    lane->ring.bell_user = session;
    lane->number = ++session->thread_count;
    lane->tid = (pid_t)syscall(SYS_gettid);
    lane->name[0] = 0;
    pthread_getname_np(pthread_self(), lane->name, sizeof lane->name);
    lane->written = lane->lost = 0;
    atomic_store_explicit(&lane->delivery_at, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&lane->unannounced, true, memory_order_relaxed);
    atomic_store_explicit(&lane->state, LANE_ACTIVE, memory_order_release);
    if (fresh) atomic_store_explicit(&session->lanes, fresh, memory_order_release);
    return lane;
}

session_lane *session_attach(hd_session *session)
{
    session_thread *here = &session_this_thread;
    session_lane *lane = NULL;
    int kept = errno; /* the program's */
    /* Once a session is stopped, this is all that an event costs. */
    if (!atomic_load_explicit(session->generation, memory_order_acquire) &&
        !atomic_load_explicit(&session->may_revive, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&session->lock);
    if (atomic_load_explicit(&session->may_revive, memory_order_relaxed)) session_revive(session);
    if (session->state == SESSION_RUNNING) {
        lane = add_lane(session);
        if (lane) {
            here->at[session->slot].lane = lane;
            here->at[session->slot].generation = atomic_load_explicit(session->generation, memory_order_relaxed);
        } else {
            atomic_fetch_add_explicit(&session->live->unplaced, 1, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&session->lock);
    if (lane) session_expect_end();
    errno = kept;
    return lane;
}

/* ---- start ---- */

static hd_status check_options(hd_session_options *options, hd_error *err)
{
    if (!options->ring_events) options->ring_events = HD_SESSION_RING_EVENTS;
    if (!options->flush_ms) options->flush_ms = HD_SESSION_FLUSH_MS;
    uint32_t events = options->ring_events;
    if (events < 2 || events > 1u << 24 || (events & (events - 1)))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a ring has a power of two of events, from 2 to 16777216; not %u", events);
    if (options->keep_last_ns < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a session keeps no negative time");
    if ((unsigned)options->policy > HD_RING_BLOCK || (unsigned)options->fork > HD_SESSION_FORK_FILE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a session has no such policy");
    return HD_OK;
}

/* The program may change its folder. */
static char *absolute_path(const char *path)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *full = malloc((folder ? strlen(folder) : 0) + strlen(path) + 2);
    if (full) sprintf(full, "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
    free(folder);
    return full;
}

hd_status session_start_thread(hd_session *session)
{
    return hd_thread_start(&session->thread, session_write_all, session) ? HD_ERR_IO : HD_OK;
}

void session_destroy(hd_session *session)
{
    session_live_close(session);
    if (session->generation) munmap(session->generation, sizeof *session->generation);
    for (int i = 0; i < SESSION_LISTS; i++) session_list_deinit(&session->lists[i]);
    session_facts_deinit(session);
    hd_bytes_deinit(&session->chunk);
    pthread_mutex_destroy(&session->lock);
    free(session->file.path);
    free(session->segment.file.path);
    free(session);
}

/* In memory that a child of fork gets as zeros. */
static bool make_generation(hd_session *session)
{
    void *page = mmap(NULL, sizeof *session->generation, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    session->generation = page;
    session->is_wiped = madvise(page, sizeof *session->generation, MADV_WIPEONFORK) == 0; /* Linux 4.14 */
    return true;
}

hd_status session_make(hd_session **out, const char *path, const hd_session_options *options, hd_error *err)
{
    hd_session *session =
        aligned_alloc(HD_RING_LINE, (sizeof *session + HD_RING_LINE - 1) & ~(size_t)(HD_RING_LINE - 1));
    if (!session) return HD_NOMEM(err);
    memset(session, 0, sizeof *session);
    session->options = *options;
    session->file.fd = session->segment.file.fd = session->shared.fd = -1;
    session->live = &session->own;
    session->file.path = absolute_path(path);
    session->start_ns = hd_session_now();
    pthread_mutex_init(&session->lock, NULL);
    bool fine =
        session->file.path && hd_bytes_room(&session->chunk, SESSION_EVENTS_CODED_BYTES) && make_generation(session);
    hd_status status = fine ? HD_OK : HD_ERR_MEMORY;
    for (int i = 0; i < SESSION_LISTS && status == HD_OK; i++) status = session_list_init(&session->lists[i]);
    if (status != HD_OK) {
        session_destroy(session);
        return HD_NOMEM(err);
    }
    *out = session;
    return HD_OK;
}

hd_status hd_session_start(hd_session **out, const char *path, const hd_session_options *options, hd_error *err)
{
    hd_session *session = NULL;
    *out = NULL;
    HD_OWN_OPTIONS(hd_session_options, options, err);
    hd_session_options chosen = *options;
    HD_TRY(check_options(&chosen, err));
    HD_TRY(session_make(&session, path, &chosen, err));
    hd_status status = session_register(session, err);
    if (status == HD_OK) status = session_file_open(session, err);
    if (status == HD_OK) session_live_open(session);
    if (status == HD_OK && (status = session_start_thread(session)) != HD_OK)
        hd_error_set(err, status, NULL, HD_OFFSET_NONE, "the session's thread cannot be started");
    if (status != HD_OK) {
        session_unregister(session);
        session_file_discard(session);
        session_destroy(session);
        return status;
    }
    *out = session;
    return HD_OK;
}

/* ---- stop ---- */

static hd_status report(hd_session *session, hd_error *err)
{
    if (session->status == HD_OK) return HD_OK;
    return hd_error_set(err, session->status, session->file.path, HD_OFFSET_NONE, "%s", session->message);
}

hd_status hd_session_stop(hd_session_stats *out, hd_session *session, hd_error *err)
{
    if (!session) {
        if (out) *out = (hd_session_stats){0};
        return HD_OK;
    }
    session_lock(session);
    bool was_running = session->state == SESSION_RUNNING;
    session->state = SESSION_STOPPED;
    atomic_store_explicit(&session->may_revive, false, memory_order_relaxed);
    atomic_store_explicit(session->generation, 0, memory_order_release);
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = lane->next) hd_ring_finish(&lane->ring);
    session_leave(session);
    if (was_running) {
        atomic_store_explicit(&session->ending, true, memory_order_release);
        atomic_fetch_add_explicit(&session->wake, 1, memory_order_release);
        session_futex_wake(&session->wake);
        pthread_join(session->thread, NULL);
        session_file_close(session);
    }
    session_unregister(session);
    if (out) hd_session_statistics(out, session);
    return report(session, err);
}

void hd_session_free(hd_session *session)
{
    if (!session) return;
    session_lock(session);
    bool is_stopped = session->state == SESSION_STOPPED;
    session_leave(session);
    if (!is_stopped) hd_session_stop(NULL, session, NULL);
    session_destroy(session);
}

hd_status hd_session_flush(hd_session *session, hd_error *err)
{
    if (!session || session_this_thread.busy) return HD_OK;
    unsigned want = atomic_fetch_add_explicit(&session->asked, 1, memory_order_acq_rel) + 1;
    while (atomic_load_explicit(session->generation, memory_order_acquire)) {
        unsigned done = atomic_load_explicit(&session->passes, memory_order_acquire);
        if ((int)(done - want) >= 0) break;
        atomic_fetch_add_explicit(&session->wake, 1, memory_order_release);
        session_futex_wake(&session->wake);
        session_futex_wait(&session->passes, done, 100);
    }
    session_lock(session);
    hd_status status = report(session, err);
    session_leave(session);
    return status;
}

const char *hd_session_path(const hd_session *session)
{
    return session ? session->file.path : NULL;
}

/* ---- statistics ---- */

/* A lane's counts as seen by the session's thread: events emitted while it stops are not included. */
static void add_lane_stats(hd_session_stats *out, const session_lane *lane, bool is_stopped)
{
    hd_ring_counts counts = {
        .popped = atomic_load_explicit(&lane->ring.popped, memory_order_relaxed),
        .refused = atomic_load_explicit(&lane->ring.refused, memory_order_relaxed),
    };
    uint64_t head = atomic_load_explicit(&lane->ring.head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&lane->ring.tail, memory_order_acquire);
    counts.evicted = head > counts.popped ? head - counts.popped : 0;
    out->written += lane->written;
    out->lost += lane->lost;
    out->dropped_newest += counts.refused;
    out->dropped_oldest += counts.evicted;
    /* Popped, and on its way to the file. */
    out->pending += counts.popped - lane->written - lane->lost;
    if (!is_stopped && tail > head) out->pending += tail - head;
    out->waits += atomic_load_explicit(&lane->ring.waits, memory_order_relaxed);
}

void hd_session_statistics(hd_session_stats *out, hd_session *session)
{
    *out = (hd_session_stats){0};
    if (!session_enter(session)) return;
    *out = session->live->gone;
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = lane->next) {
        if (atomic_load_explicit(&lane->state, memory_order_acquire) != LANE_FREE)
            add_lane_stats(out, lane, session->state == SESSION_STOPPED);
    }
    out->nested = atomic_load_explicit(&session->live->nested, memory_order_relaxed);
    out->dropped_newest += atomic_load_explicit(&session->live->unplaced, memory_order_relaxed);
    out->emitted = out->written + out->dropped_newest + out->dropped_oldest + out->nested + out->lost + out->pending;
    out->bytes = session->file.size + session->segment.file.size;
    out->threads = session->thread_count;
    out->names = session->lists[SESSION_NAMES].count;
    for (int i = 0; i < SESSION_LISTS; i++) out->names_lost += session->lists[i].lost;
    if (!out->duration_ns) out->duration_ns = hd_session_now() - session->start_ns;
    out->status = session->status;
    memcpy(out->message, session->message, sizeof out->message);
    session_leave(session);
}
