/* session_writer.c - the session's thread: events from the rings into chunks, chunks into the file
 *
 * A chunk is one write. A chunk that cannot be written whole is taken back, so that the file stays a row of whole
 * chunks; its events are lost, counted, and the next chunk is tried again, for a full disk may have room later. A chunk
 * of events is written only when all names known by then are in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/capture_wire.h"
#include "base/checksum.h"
#include "base/error.h"
#include "capture/session_impl.h"

int session_futex_wait(atomic_uint *word, unsigned value, unsigned milliseconds)
{
    struct timespec limit = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
}

void session_futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- the file ------------------------------------------------------------------------------------------- */

/* A program may close all descriptors, and the next file that it opens may get our number. */
static bool is_ours(const session_file *file)
{
    struct stat info;
    return file->fd >= 0 && fstat(file->fd, &info) == 0 && info.st_dev == file->device && info.st_ino == file->inode;
}

static bool ensure_open(session_file *file)
{
    if (is_ours(file)) return true;
    file->fd = open(file->path, O_WRONLY | O_APPEND | O_CLOEXEC); /* what has our old number is not ours to close */
    if (is_ours(file)) return true;
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
    if (errno == 0) errno = ENOENT;
    return false;
}

/* Append all or nothing. false: errno says why. */
static bool append(session_file *file, const uint8_t *data, size_t size)
{
    size_t done = 0;
    if (!ensure_open(file)) return false;
    while (done < size) {
        ssize_t n = write(file->fd, data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int why = n < 0 ? errno : ENOSPC;
            if (done && ftruncate(file->fd, (off_t)file->size) != 0) why = errno;
            errno = why;
            return false;
        }
        done += (size_t)n;
    }
    atomic_store_explicit(&file->size, file->size + size, memory_order_relaxed);
    return true;
}

/* ---- chunks --------------------------------------------------------------------------------------------- */

static void begin_chunk(hd_session *session)
{
    static const uint8_t none[CAPTURE_CHUNK_BYTES];
    session->chunk.size = 0;
    hd_bytes_put(&session->chunk, none, sizeof none);
}

static void put_le(uint8_t *p, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* Fill in the header that begin_chunk left room for. */
static void seal_chunk(hd_bytes *chunk, unsigned type, uint32_t thread, uint64_t number)
{
    uint8_t *p = chunk->data;
    size_t size = chunk->size - CAPTURE_CHUNK_BYTES;
    put_le(p, CAPTURE_CHUNK_MAGIC, 8);
    put_le(p + 8, type, 2);
    put_le(p + 10, 0, 2);
    put_le(p + 12, size, 4);
    put_le(p + 16, thread, 4);
    put_le(p + 20, number, 4);
    put_le(p + 24, hd_checksum(p + CAPTURE_CHUNK_BYTES, size), 8);
    put_le(p + 32, hd_checksum(p, 32), 8);
}

static void remember_failure(hd_session *session, const char *what, int why)
{
    pthread_mutex_lock(&session->lock);
    if (session->status == HD_OK) {
        session->status = why ? HD_ERR_IO : HD_ERR_MEMORY;
        snprintf(session->message, sizeof session->message, "%s: %s", what, why ? strerror(why) : "out of memory");
    }
    pthread_mutex_unlock(&session->lock);
}

static bool write_chunk(hd_session *session, unsigned type, uint32_t thread)
{
    hd_bytes *chunk = &session->chunk;
    errno = 0;
    bool failed = chunk->failed;
    if (!failed) {
        seal_chunk(chunk, type, thread, (uint32_t)session->file.chunks);
        if (append(&session->file, chunk->data, chunk->size)) {
            session->file.chunks++;
            return true;
        }
    }
    chunk->failed = false;
    remember_failure(session, "the trace cannot be written", failed ? 0 : errno);
    return false;
}

static void put_text(hd_bytes *out, const char *text, size_t size)
{
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, text, size);
}

/* ---- the beginning -------------------------------------------------------------------------------------- */

static int64_t unix_offset(void)
{
    struct timespec wall, mono;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    return (int64_t)(wall.tv_sec - mono.tv_sec) * 1000000000 + (wall.tv_nsec - mono.tv_nsec);
}

static void make_header(uint8_t *p, const hd_session *session)
{
    memset(p, 0, CAPTURE_HEADER_BYTES);
    memcpy(p, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES);
    put_le(p + 8, CAPTURE_MAJOR, 2);
    put_le(p + 10, CAPTURE_MINOR, 2);
    put_le(p + 12, (uint64_t)getpid(), 4);
    put_le(p + 16, (uint64_t)session->options.policy, 4);
    put_le(p + 20, session->options.ring_events, 4);
    put_le(p + 24, (uint64_t)session->start_ns, 8);
    put_le(p + 32, (uint64_t)unix_offset(), 8);
    put_le(p + 56, hd_checksum(p, 56), 8);
}

static void put_process(hd_bytes *out)
{
    char path[4096], host[256] = "";
    ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    gethostname(host, sizeof host - 1);
    put_text(out, program_invocation_short_name, strlen(program_invocation_short_name));
    put_text(out, path, size > 0 ? (size_t)size : 0);
    put_text(out, host, strlen(host));
    hd_bytes_put_varint(out, (uint64_t)getppid());
}

static bool begin_file(hd_session *session)
{
    uint8_t header[CAPTURE_HEADER_BYTES];
    make_header(header, session);
    begin_chunk(session);
    put_process(&session->chunk);
    if (session->chunk.failed) {
        errno = ENOMEM;
        return false;
    }
    seal_chunk(&session->chunk, CAPTURE_PROCESS, 0, 0);
    session->file.chunks = 1;
    return append(&session->file, header, sizeof header) &&
           append(&session->file, session->chunk.data, session->chunk.size);
}

/* The first two writes are by the caller's thread: without SIGXFSZ, see session_start_thread. */
static bool begin_file_quietly(hd_session *session)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    bool fine = begin_file(session);
    int why = errno;
    if (!fine && why == EFBIG && !sigismember(&before, SIGXFSZ)) {
        struct timespec none = {0};
        sigtimedwait(&limit, NULL, &none); /* the one that we raised */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return fine;
}

hd_status session_file_open(hd_session *session, hd_error *err)
{
    session_file *file = &session->file;
    struct stat info;
    file->chunks = 0;
    atomic_store(&file->size, 0);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return hd_error_set(err, HD_ERR_IO, file->path, HD_OFFSET_NONE, "cannot be created: %s", strerror(errno));
    file->device = info.st_dev;
    file->inode = info.st_ino;
    if (begin_file_quietly(session)) return HD_OK;
    return hd_error_set(err, HD_ERR_IO, file->path, HD_OFFSET_NONE, "cannot be written: %s", strerror(errno));
}

void session_file_discard(hd_session *session)
{
    struct stat info;
    /* What was opened may be a device or a pipe. */
    if (is_ours(&session->file) && fstat(session->file.fd, &info) == 0 && S_ISREG(info.st_mode))
        unlink(session->file.path);
    session_file_close(session);
}

void session_file_close(hd_session *session)
{
    if (is_ours(&session->file)) close(session->file.fd);
    session->file.fd = -1;
}

/* ---- names and threads ---------------------------------------------------------------------------------- */

/* All names that the file does not have. Names are copied under the lock, and written outside of it. */
static bool write_names(hd_session *session)
{
    session_names *names = &session->names;
    for (;;) {
        begin_chunk(session);
        pthread_mutex_lock(&session->lock);
        uint32_t first = names->written, end = first;
        uint64_t bytes = 0;
        while (end < names->count && bytes < CAPTURE_PAYLOAD_MAX / 4) {
            bytes += names->offsets[end + 1] - names->offsets[end] + HD_VARINT_BYTES;
            end++;
        }
        hd_bytes_put_varint(&session->chunk, first + 1);
        hd_bytes_put_varint(&session->chunk, end - first);
        for (uint32_t i = first; i < end; i++)
            put_text(&session->chunk, (const char *)names->text.data + names->offsets[i],
                     (size_t)(names->offsets[i + 1] - names->offsets[i]));
        pthread_mutex_unlock(&session->lock);
        if (first == end) return true;
        if (!write_chunk(session, CAPTURE_NAMES, 0)) return false;
        names->written = end;
    }
}

static bool announce(hd_session *session, session_lane *lane)
{
    if (!atomic_exchange_explicit(&lane->unannounced, false, memory_order_acquire)) return true;
    begin_chunk(session);
    hd_bytes_put_varint(&session->chunk, (uint64_t)lane->tid);
    pthread_mutex_lock(&session->lock);
    put_text(&session->chunk, lane->name, strlen(lane->name));
    pthread_mutex_unlock(&session->lock);
    if (write_chunk(session, CAPTURE_THREAD, lane->number)) return true;
    atomic_store_explicit(&lane->unannounced, true, memory_order_relaxed);
    return false;
}

/* ---- events --------------------------------------------------------------------------------------------- */

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
    case CAPTURE_COUNTER: put_le(p, event->value, 8); return p + 8;
    case CAPTURE_ALLOCATE:
    case CAPTURE_RELEASE:
        p += hd_varint_write(p, event->value);
        p += hd_varint_write(p, event->bytes);
        return p + hd_varint_write(p, (uint32_t)(event->device + 1)); /* HD_SESSION_HOST is 0 */
    case CAPTURE_BEGIN:
    case CAPTURE_FINISH:
    case CAPTURE_INSTANT: return p;
    default: return p + hd_varint_write(p, event->value);
    }
}

/* What a lane lost so far, as it stands at the head of each chunk of its events. */
static void put_losses(hd_bytes *out, const session_lane *lane)
{
    uint64_t head = atomic_load_explicit(&lane->ring.head, memory_order_acquire);
    uint64_t popped = atomic_load_explicit(&lane->ring.popped, memory_order_relaxed);
    hd_bytes_put_varint(out, atomic_load_explicit(&lane->ring.refused, memory_order_relaxed));
    hd_bytes_put_varint(out, head > popped ? head - popped : 0);
}

static void put_events(hd_session *session, const session_lane *lane, uint64_t first, size_t count)
{
    enum { EVENT_BYTES_MAX = 1 + 3 * HD_VARINT_BYTES + 3 * HD_VARINT_BYTES };
    hd_bytes *out = &session->chunk;
    session_event start = {0};
    begin_chunk(session);
    hd_bytes_put_varint(out, first);
    hd_bytes_put_varint(out, count);
    put_losses(out, lane);
    uint8_t *begin = hd_bytes_room(out, count * EVENT_BYTES_MAX), *p = begin;
    if (!p) return;
    for (size_t i = 0; i < count; i++) p = put_event(p, &session->batch[i], i ? &session->batch[i - 1] : &start);
    out->size += (size_t)(p - begin);
}

/* One chunk. false: the ring was empty. */
static bool write_events(hd_session *session, session_lane *lane)
{
    uint64_t first;
    size_t count = hd_ring_pop_some(&lane->ring, session->batch, SESSION_BATCH, &first, SESSION_EVENT_BYTES);
    if (!count) return false;
    bool fine = write_names(session) && announce(session, lane);
    if (fine) {
        put_events(session, lane, first, count);
        fine = write_chunk(session, CAPTURE_EVENTS, lane->number);
    }
    pthread_mutex_lock(&session->lock);
    *(fine ? &lane->written : &lane->lost) += count;
    pthread_mutex_unlock(&session->lock);
    return true;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void put_totals(hd_bytes *out, const hd_session_stats *stats)
{
    const uint64_t totals[] = {stats->written, stats->dropped_newest, stats->dropped_oldest, stats->nested,
                               stats->lost};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) hd_bytes_put_varint(out, totals[i]);
}

/* A thread ended and its ring is empty: say what it lost in all, and let the lane be used again. A chunk of 0 events.
 */
static void retire(hd_session *session, session_lane *lane)
{
    hd_session_stats *gone = &session->gone;
    uint64_t head = atomic_load(&lane->ring.head), popped = atomic_load(&lane->ring.popped);
    if (announce(session, lane)) {
        put_events(session, lane, head, 0);
        write_chunk(session, CAPTURE_EVENTS, lane->number);
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

static void finish(hd_session *session)
{
    hd_session_stats stats;
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = lane->next) {
        if (atomic_load(&lane->state) != LANE_FREE) retire(session, lane);
    }
    write_names(session);
    hd_session_statistics(&stats, session);
    begin_chunk(session);
    put_totals(&session->chunk, &stats);
    write_chunk(session, CAPTURE_END, 0);
    pthread_mutex_lock(&session->lock);
    session->gone.duration_ns = hd_session_now() - session->start_ns;
    pthread_mutex_unlock(&session->lock);
}

/* ---- the thread ----------------------------------------------------------------------------------------- */

/* Everything that stood in the rings when the pass began, a chunk of each thread at a time. */
static void pass(hd_session *session)
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
    session_this_thread.busy = 1; /* what this thread itself does is no event */
    pthread_setname_np(pthread_self(), "heddle-session");
    for (;;) {
        bool ending = atomic_load_explicit(&session->ending, memory_order_acquire);
        unsigned wake = atomic_load_explicit(&session->wake, memory_order_acquire);
        unsigned asked = atomic_load_explicit(&session->asked, memory_order_acquire);
        pass(session);
        atomic_store_explicit(&session->passes, asked, memory_order_release);
        session_futex_wake(&session->passes);
        if (ending) break;
        atomic_store_explicit(&session->asleep, true, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst); /* see session_wake */
        if (!is_pressed(session)) session_futex_wait(&session->wake, wake, session->options.flush_ms);
        atomic_store_explicit(&session->asleep, false, memory_order_relaxed);
    }
    session_this_thread.busy = 0; /* for hd_session_statistics */
    finish(session);
    return NULL;
}
