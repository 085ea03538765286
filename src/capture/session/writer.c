/* writer.c - the session's thread: events from the rings into chunks, chunks into the file
 *
 * A chunk of events is written only when all that it refers to is in the file. The events of a chunk that cannot be
 * written are lost, and counted.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/capture_wire.h"
#include "base/checksum.h"
#include "base/error.h"
#include "capture/session/impl.h"

int session_futex_wait(atomic_uint *word, unsigned value, unsigned milliseconds)
{
    struct timespec limit = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
}

uint64_t session_cpu_ns(hd_session *session)
{
    clockid_t clock;
    struct timespec time;
    if (!session || atomic_load(session->generation) == 0) return 0;
    if (pthread_getcpuclockid(session->thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void session_futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

enum { LOOK_AROUND_NS = 500000000 };

/* ---- lists, facts and threads ---- */

const unsigned session_list_types[SESSION_LISTS] = {CAPTURE_NAMES,   CAPTURE_ARGS,    CAPTURE_TRACKS,
                                                    CAPTURE_MODULES, CAPTURE_SYMBOLS, CAPTURE_FRAMES};

/* The entries of a list up to `limit` that the file does not have. They are copied under the lock, and written without
 * it. */
static bool write_list(hd_session *session, int number, uint32_t limit)
{
    session_list *list = &session->lists[number];
    while (list->written < limit) {
        session_begin_chunk(session);
        pthread_mutex_lock(&session->lock);
        uint32_t first = list->written, end = first;
        uint64_t bytes = 0;
        while (end < limit && bytes < CAPTURE_PAYLOAD_MAX / 4) {
            bytes += list->offsets[end + 1] - list->offsets[end] + HD_VARINT_BYTES;
            end++;
        }
        hd_bytes_put_varint(&session->chunk, first + 1);
        hd_bytes_put_varint(&session->chunk, end - first);
        for (uint32_t i = first; i < end; i++)
            session_put_text(&session->chunk, (const char *)list->text.data + list->offsets[i],
                             (size_t)(list->offsets[i + 1] - list->offsets[i]));
        pthread_mutex_unlock(&session->lock);
        if (!session_write_chunk(session, session_list_types[number], 0)) return false;
        list->written = end;
    }
    return true;
}

/* Writes missing entries of all lists. Entries added meanwhile are left for the next time, so that none is written
 * before those it refers to. */
static bool write_lists(hd_session *session)
{
    uint32_t limits[SESSION_LISTS];
    pthread_mutex_lock(&session->lock);
    for (int i = 0; i < SESSION_LISTS; i++) limits[i] = session->lists[i].count;
    pthread_mutex_unlock(&session->lock);
    bool fine = true;
    for (int i = 0; i < SESSION_LISTS && fine; i++) fine = write_list(session, i, limits[i]);
    return fine;
}

/* Take the value of a fact that the file does not have. */
static unsigned next_fact(hd_session *session, uint32_t *out)
{
    unsigned type = 0;
    pthread_mutex_lock(&session->lock);
    for (uint32_t i = 0; i < session->fact_count && !type; i++) {
        session_fact *fact = &session->facts[i];
        if (fact->is_written) continue;
        session_begin_chunk(session);
        hd_bytes_put(&session->chunk, fact->value.data, fact->value.size);
        fact->is_written = true; /* until it changes */
        *out = i;
        type = fact->type;
    }
    pthread_mutex_unlock(&session->lock);
    return type;
}

/* One that cannot be written is tried again in the next pass: a full disk may have room later. */
static void write_facts(hd_session *session)
{
    unsigned type;
    uint32_t number;
    while ((type = next_fact(session, &number)) != 0) {
        if (session_write_chunk(session, type, 0)) continue;
        pthread_mutex_lock(&session->lock);
        session->facts[number].is_written = false;
        pthread_mutex_unlock(&session->lock);
        return;
    }
}

static bool announce(hd_session *session, session_lane *lane)
{
    if (!atomic_exchange_explicit(&lane->unannounced, false, memory_order_acquire)) return true;
    session_begin_chunk(session);
    hd_bytes_put_varint(&session->chunk, (uint64_t)lane->tid);
    pthread_mutex_lock(&session->lock);
    session_put_text(&session->chunk, lane->name, strlen(lane->name));
    pthread_mutex_unlock(&session->lock);
    if (session_write_chunk(session, CAPTURE_THREAD, lane->number)) return true;
    atomic_store_explicit(&lane->unannounced, true, memory_order_relaxed);
    return false;
}

/* ---- events ---- */

/* The fields that few events have. */
static uint8_t *put_more(uint8_t *p, const session_event *event)
{
    bool has_bytes = event->bytes && event->kind != CAPTURE_ALLOCATE && event->kind != CAPTURE_RELEASE;
    *p++ = (uint8_t)((event->track ? CAPTURE_HAS_TRACK : 0) | (event->args ? CAPTURE_HAS_ARGS : 0) |
                     (event->stack ? CAPTURE_HAS_STACK : 0) | (event->correlation ? CAPTURE_HAS_CORRELATION : 0) |
                     (has_bytes ? CAPTURE_HAS_BYTES : 0) | (event->node ? CAPTURE_HAS_NODE : 0));
    if (event->track) p += hd_varint_write(p, event->track);
    if (event->args) p += hd_varint_write(p, event->args);
    if (event->stack) p += hd_varint_write(p, event->stack);
    if (event->correlation) p += hd_varint_write(p, event->correlation);
    if (has_bytes) p += hd_varint_write(p, event->bytes);
    if (event->node) p += hd_varint_write(p, event->node);
    return p;
}

static uint8_t *put_event(uint8_t *p, const session_event *event, const session_event *last)
{
    uint8_t *flags = p++;
    *flags = event->kind;
    p += hd_varint_write(p, hd_zigzag((int64_t)((uint64_t)event->time_ns - (uint64_t)last->time_ns)));
    if (event->name == last->name)
        *flags |= CAPTURE_SAME_NAME;
    else
        p += hd_varint_write(p, event->name);
    if (event->category == last->category)
        *flags |= CAPTURE_SAME_CATEGORY;
    else
        p += hd_varint_write(p, event->category);
    switch (event->kind) {
    case CAPTURE_COUNTER:
        hd_le_put(p, event->value, 8);
        p += 8;
        break;
    case CAPTURE_ALLOCATE:
    case CAPTURE_RELEASE:
        p += hd_varint_write(p, event->value);
        p += hd_varint_write(p, event->bytes);
        p += hd_varint_write(p, (uint32_t)(event->device + 1)); /* HD_SESSION_HOST is 0 */
        break;
    case CAPTURE_BEGIN:
    case CAPTURE_FINISH:
    case CAPTURE_INSTANT:
    case CAPTURE_NODE: break;
    default: p += hd_varint_write(p, event->value);
    }
    if (!event->track && !event->args && !event->stack && !event->correlation && !event->bytes && !event->node)
        return p;
    *flags |= CAPTURE_MORE;
    return put_more(p, event);
}

/* Current losses of a lane, at the head of each chunk of its events. */
static void put_losses(hd_bytes *out, const session_lane *lane)
{
    uint64_t head = atomic_load_explicit(&lane->ring.head, memory_order_acquire);
    uint64_t popped = atomic_load_explicit(&lane->ring.popped, memory_order_relaxed);
    hd_bytes_put_varint(out, atomic_load_explicit(&lane->ring.refused, memory_order_relaxed));
    hd_bytes_put_varint(out, head > popped ? head - popped : 0);
}

/* A bit for each kind that is there: a reader that looks for a few kinds need not decode the others' chunks. */
static unsigned kinds_of(const session_event *events, size_t count)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < count; i++) kinds |= 1u << events[i].kind;
    return kinds;
}

static void put_events(hd_session *session, const session_lane *lane, uint64_t first, size_t count)
{
    hd_bytes *out = &session->chunk;
    session_event start = {0};
    session_begin_chunk(session);
    hd_bytes_put_varint(out, first);
    hd_bytes_put_varint(out, count);
    put_losses(out, lane);
    hd_bytes_put_varint(out, kinds_of(session->batch, count));
    uint8_t *begin = hd_bytes_room(out, count * SESSION_EVENT_CODED_BYTES), *p = begin;
    if (!p) return;
    for (size_t i = 0; i < count; i++) p = put_event(p, &session->batch[i], i ? &session->batch[i - 1] : &start);
    out->size += (size_t)(p - begin);
}

/* Where only the last events are kept, in time: the next segment, which repeats all that later ones of it replace. Time
 * is that of events: what a program did before it hung stays. */
static bool turn(hd_session *session)
{
    if (!session_segment_is_due(session)) return true;
    if (!session_segment_next(session)) return false;
    pthread_mutex_lock(&session->lock);
    for (uint32_t i = 0; i < session->fact_count; i++)
        session->facts[i].is_written &= session->facts[i].value.size == 0;
    pthread_mutex_unlock(&session->lock);
    session_lane *lane = atomic_load_explicit(&session->lanes, memory_order_acquire);
    for (; lane; lane = lane->next) atomic_store_explicit(&lane->unannounced, true, memory_order_relaxed);
    return true;
}

/* The stacks of graph nodes that are in the batch: graphs live longer than events. */
static bool put_nodes(hd_session *session, size_t count)
{
    size_t nodes = 0;
    if (!session->options.keep_last_ns) return true;
    for (size_t i = 0; i < count; i++) nodes += session->batch[i].kind == CAPTURE_NODE;
    if (!nodes) return true;
    session_begin_chunk(session);
    hd_bytes_put_varint(&session->chunk, nodes);
    for (size_t i = 0; i < count; i++) {
        if (session->batch[i].kind != CAPTURE_NODE) continue;
        hd_bytes_put_varint(&session->chunk, session->batch[i].node);
        hd_bytes_put_varint(&session->chunk, session->batch[i].stack);
    }
    return session_write_chunk(session, CAPTURE_NODES, 0);
}

/* One chunk. false: the ring was empty. */
static bool write_events(hd_session *session, session_lane *lane)
{
    uint64_t first;
    size_t count = hd_ring_peek_some(&lane->ring, session->batch, SESSION_BATCH, &first, SESSION_EVENT_BYTES);
    if (!count) return false;
    bool fine = turn(session) && write_lists(session) && put_nodes(session, count) && announce(session, lane);
    if (fine) {
        put_events(session, lane, first, count);
        fine = session_write_chunk(session, CAPTURE_EVENTS, lane->number);
    }
    for (size_t i = 0; fine && i < count; i++) session->segment.written[session->batch[i].kind]++;
    hd_ring_pass(&lane->ring, first, count); /* now that the file has them */
    pthread_mutex_lock(&session->lock);
    *(fine ? &lane->written : &lane->lost) += count;
    pthread_mutex_unlock(&session->lock);
    return true;
}

/* ---- the end ---- */

static void put_totals(hd_bytes *out, const hd_session_stats *stats)
{
    const uint64_t totals[] = {stats->written, stats->dropped_newest, stats->dropped_oldest, stats->nested,
                               stats->lost};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) hd_bytes_put_varint(out, totals[i]);
}

/* A thread ended and its ring is empty: writes its total losses, and makes the lane available again. A chunk of 0
 * events.
 */
static void retire(hd_session *session, session_lane *lane)
{
    hd_session_stats *gone = &session->live->gone;
    uint64_t head = atomic_load(&lane->ring.head), popped = atomic_load(&lane->ring.popped);
    if (announce(session, lane)) {
        put_events(session, lane, head, 0);
        session_write_chunk(session, CAPTURE_EVENTS, lane->number);
    }
    pthread_mutex_lock(&session->lock);
    gone->written += lane->written;
    gone->lost += lane->lost;
    gone->dropped_newest += atomic_load(&lane->ring.refused);
    gone->dropped_oldest += head - popped;
    gone->waits += atomic_load(&lane->ring.waits);
    atomic_store_explicit(&lane->state, LANE_FREE, memory_order_release);
    pthread_mutex_unlock(&session->lock);
}

void session_finish(hd_session *session)
{
    hd_session_stats stats;
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = lane->next) {
        if (atomic_load(&lane->state) != LANE_FREE) retire(session, lane);
    }
    write_lists(session);
    session->file.is_last = session->segment.file.is_last = true;
    write_facts(session);
    hd_session_statistics(&stats, session);
    session_begin_chunk(session);
    put_totals(&session->chunk, &stats);
    if (session_write_chunk(session, CAPTURE_END, 0)) atomic_store(&session->live->is_finished, true);
    session_file_give_back(&session->file);
    session_file_give_back(&session->segment.file);
    pthread_mutex_lock(&session->lock);
    session->live->gone.duration_ns = hd_session_now() - session->start_ns;
    pthread_mutex_unlock(&session->lock);
}

/* ---- the thread ---- */

/* Writes everything that was in the rings when the pass began, one chunk per thread at a time. */
void session_pass(hd_session *session)
{
    for (session_lane *lane = atomic_load_explicit(&session->lanes, memory_order_acquire); lane; lane = lane->next) {
        int state = atomic_load_explicit(&lane->state, memory_order_acquire);
        if (state == LANE_FREE) continue;
        uint64_t end = atomic_load_explicit(&lane->ring.tail, memory_order_acquire);
        while (atomic_load_explicit(&lane->ring.head, memory_order_relaxed) < end && write_events(session, lane)) {}
        if (state == LANE_ENDED) retire(session, lane);
    }
}

/* Whether a ring is half full already, so that sleeping would be a loss. */
static bool is_pressed(const hd_session *session)
{
    session_lane *lane = atomic_load_explicit(&session->lanes, memory_order_acquire);
    for (; lane; lane = lane->next) {
        uint64_t tail = atomic_load_explicit(&lane->ring.tail, memory_order_relaxed);
        uint64_t head = atomic_load_explicit(&lane->ring.head, memory_order_relaxed);
        if (atomic_load_explicit(&lane->state, memory_order_acquire) == LANE_ACTIVE &&
            tail - head > session->options.ring_events / 2)
            return true;
    }
    return false;
}

void *session_write_all(void *user)
{
    hd_session *session = user;
    int64_t looked_ns = hd_session_now();
    session_own_thread(1);
    session_this_thread.busy = 1; /* this thread itself emits no events */
    pthread_setname_np(pthread_self(), "heddle-session");
    turn(session);
    for (;;) {
        bool ending = atomic_load_explicit(&session->ending, memory_order_acquire);
        unsigned wake = atomic_load_explicit(&session->wake, memory_order_acquire);
        unsigned asked = atomic_load_explicit(&session->asked, memory_order_acquire);
        session_pass(session);
        write_facts(session);
        session_log_reset(session);
        atomic_store_explicit(&session->passes, asked, memory_order_release);
        session_futex_wake(&session->passes);
        if (ending) break;
        if (session->options.exit_when_alone && hd_session_now() - looked_ns > LOOK_AROUND_NS) {
            session_look_around();
            looked_ns = hd_session_now();
        }
        atomic_store_explicit(&session->asleep, true, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst); /* see wake_writer */
        if (!is_pressed(session)) session_futex_wait(&session->wake, wake, session->options.flush_ms);
        atomic_store_explicit(&session->asleep, false, memory_order_relaxed);
    }
    session_this_thread.busy = 0; /* for hd_session_statistics */
    session_finish(session);
    session_own_thread(-1);
    return NULL;
}
