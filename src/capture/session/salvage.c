/* salvage.c - completes the file of a process that was killed, from the memory that it shared (live.c)
 *
 * In: the memfd, and the capture. Out: the capture with what it lacked, and an end. The memory is read like a file,
 * into a session of this process whose lanes have the same events; then the writer does what it would have done.
 *
 * What the file has already is counted in it: the process may have been killed between a write and the note of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io/read_at.h"
#include "capture/session/impl.h"

enum { EVENTS_MAX = 1 << 24 }; /* of all rings together: a gigabyte */

typedef struct salvage {
    hd_session *session; /* of this process */
    session_live live;   /* a copy */
    int fd;              /* the memory */
    uint64_t bytes;      /* of it */
    uint32_t have[SESSION_LISTS];
    uint64_t events; /* in the rings, then those of them that the file lacks */
    hd_error *err;
} salvage;

static hd_status failed(const salvage *s, const char *what)
{
    return hd_error_set(s->err, HD_ERR_IO, s->session ? s->session->file.path : NULL, HD_OFFSET_NONE, "%s: %s", what,
                        strerror(errno));
}

/* ---- the memory ---- */

static bool is_sound(const salvage *s)
{
    char version[sizeof s->live.version];
    const session_live *live = &s->live;
    uint32_t events = live->ring_events;
    session_live_version(version);
    return memcmp(version, live->version, sizeof version) == 0 && memchr(live->path, 0, sizeof live->path) &&
           events >= 2 && events <= 1u << 24 && (events & (events - 1)) == 0 && live->policy <= HD_RING_BLOCK &&
           atomic_load(&live->log_used) <= SESSION_LOG_BYTES;
}

static bool are_sound(const session_event *events, uint64_t count)
{
    bool is_fine = true;
    for (uint64_t i = 0; i < count; i++) is_fine &= events[i].kind && events[i].kind < CAPTURE_KINDS;
    return is_fine;
}

/* The events from head to tail, which may go round the end. */
static bool read_ring(const salvage *s, session_lane *lane, uint64_t offset)
{
    uint64_t head = atomic_load(&lane->ring.head), tail = atomic_load(&lane->ring.tail), mask = lane->ring.mask;
    while (head < tail) {
        uint64_t at = head & mask, count = tail - head < mask + 1 - at ? tail - head : mask + 1 - at;
        session_event *events = (session_event *)(void *)lane->ring.words + at;
        if (!hd_read_whole_at(s->fd, events, count * SESSION_EVENT_BYTES, offset + at * SESSION_EVENT_BYTES) ||
            !are_sound(events, count))
            return false;
        head += count;
    }
    return true;
}

/* A lane with the events of another. false: the memory makes no sense there. */
static bool take_lane(salvage *s, unsigned number)
{
    hd_session *session = s->session;
    session_lane theirs;
    uint64_t size = session_lane_bytes(session), offset = SESSION_LIVE_BYTES + SESSION_LOG_BYTES + number * size;
    if (offset > s->bytes || s->bytes - offset < size || !hd_read_whole_at(s->fd, &theirs, sizeof theirs, offset))
        return false;
    if (atomic_load(&theirs.state) == LANE_FREE) return true;
    uint64_t head = atomic_load(&theirs.ring.head), tail = atomic_load(&theirs.ring.tail);
    if (tail < head || tail - head > session->options.ring_events || tail - head > EVENTS_MAX - s->events ||
        !theirs.number || theirs.number > CAPTURE_THREADS_MAX)
        return false;
    session_lane *lane = session_live_lane(session);
    if (!lane) return false;
    hd_ring_options options = {.capacity = session->options.ring_events,
                               .element_bytes = SESSION_EVENT_BYTES,
                               .policy = session->options.policy};
    hd_ring_init(&lane->ring, &options, lane->ring.words, NULL);
    atomic_store(&session->lanes, lane);
    atomic_store(&lane->ring.head, head);
    atomic_store(&lane->ring.tail, tail);
    if (!read_ring(s, lane, offset + SESSION_LANE_BYTES)) return false;
    s->events += tail - head;
    atomic_store(&lane->ring.popped, atomic_load(&theirs.ring.popped));
    atomic_store(&lane->ring.refused, atomic_load(&theirs.ring.refused));
    lane->number = theirs.number;
    lane->tid = theirs.tid;
    memcpy(lane->name, theirs.name, sizeof lane->name);
    lane->name[sizeof lane->name - 1] = 0;
    if (tail > atomic_load(&theirs.delivery_at)) atomic_store(&s->live.due[SESSION_DELIVERED], theirs.delivered);
    lane->written = theirs.written;
    lane->lost = theirs.lost;
    atomic_store(&lane->unannounced, true);
    atomic_store(&lane->state, LANE_ENDED);
    return true;
}

static session_lane *find_lane(const salvage *s, uint32_t number)
{
    session_lane *lane = atomic_load(&s->session->lanes);
    while (lane && lane->number != number) lane = lane->next;
    return lane;
}

/* ---- the file ---- */

static void note_list(salvage *s, unsigned type, hd_byte_reader *b)
{
    uint64_t first = hd_byte_reader_varint(b), count = hd_byte_reader_varint(b);
    for (int i = 0; i < SESSION_LISTS; i++) {
        if (session_list_types[i] == type && first == (uint64_t)s->have[i] + 1 && count <= CAPTURE_LIST_MAX)
            s->have[i] += (uint32_t)count;
    }
}

/* Events that are in the file are not in the ring any more. */
static void note_events(const salvage *s, uint32_t thread, hd_byte_reader *b)
{
    uint64_t next = hd_byte_reader_varint(b);
    next += hd_byte_reader_varint(b);
    session_lane *lane = find_lane(s, thread);
    if (!lane) return;
    uint64_t head = atomic_load(&lane->ring.head), tail = atomic_load(&lane->ring.tail);
    if (next <= head || next > tail || s->session->options.policy == HD_RING_DROP_OLDEST) return;
    hd_ring_pass(&lane->ring, head, (size_t)(next - head));
    lane->written += next - head;
}

static void note_chunk(salvage *s, unsigned type, uint32_t thread, const uint8_t *payload, size_t size)
{
    hd_byte_reader b = hd_byte_reader_of(payload, size);
    session_lane *lane = type == CAPTURE_THREAD ? find_lane(s, thread) : NULL;
    if (type == CAPTURE_EVENTS) note_events(s, thread, &b);
    if (lane) atomic_store(&lane->unannounced, false);
    note_list(s, type, &b);
}

/* Goes through the whole chunks of the file. What follows the last is a chunk that the process was killed in, and is
 * cut off, unless it is longer than a chunk: then something is damaged, and stays as it is. */
static hd_status scan(salvage *s)
{
    session_file *file = &s->session->file;
    uint8_t head[CAPTURE_CHUNK_BYTES];
    struct stat info;
    if (fstat(file->fd, &info) != 0) return failed(s, "cannot be read");
    uint64_t at = CAPTURE_HEADER_BYTES, end = (uint64_t)info.st_size;
    while (end - at >= sizeof head && hd_read_whole_at(file->fd, head, sizeof head, at)) {
        uint64_t size = hd_le_get(head + CAPTURE_CHUNK_AT_SIZE, 4);
        if (hd_le_get(head, 8) != CAPTURE_CHUNK_MAGIC || size > CAPTURE_PAYLOAD_MAX || size > end - at - sizeof head ||
            hd_le_get(head + CAPTURE_CHUNK_AT_CHECKSUM, 8) != hd_checksum(head, CAPTURE_CHUNK_AT_CHECKSUM))
            break;
        hd_bytes payload = {0};
        uint8_t *p = hd_bytes_room(&payload, (size_t)size + 1);
        bool fine = p && hd_read_whole_at(file->fd, p, (size_t)size, at + sizeof head) &&
                    hd_le_get(head + CAPTURE_CHUNK_AT_PAYLOAD_SUM, 8) == hd_checksum(p, (size_t)size);
        if (fine)
            note_chunk(s, (unsigned)hd_le_get(head + CAPTURE_CHUNK_AT_TYPE, 2),
                       (uint32_t)hd_le_get(head + CAPTURE_CHUNK_AT_THREAD, 4), p, (size_t)size);
        hd_bytes_deinit(&payload);
        if (!fine) break;
        at += sizeof head + size;
        file->chunks++;
    }
    if (end - at > CAPTURE_CHUNK_BYTES + CAPTURE_PAYLOAD_MAX) at = end;
    if (at < end && !session_file_cut(file, at)) return failed(s, "cannot be written");
    atomic_store(&file->size, at);
    return HD_OK;
}

/* The file of this session and no other. */
static hd_status open_file(salvage *s, const char *folder)
{
    session_file *file = &s->session->file;
    uint8_t head[CAPTURE_HEADER_BYTES];
    struct stat info;
    const char *slash = strrchr(s->live.path, '/'), *name = slash ? slash + 1 : s->live.path;
    free(file->path);
    if (asprintf(&file->path, "%s/%s", folder, name) < 0) {
        file->path = NULL;
        return HD_NOMEM(s->err);
    }
    HD_TRY(hd_session_join(file->path, s->err));
    file->fd = open(file->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file->fd < 0 || fstat(file->fd, &info) != 0) return failed(s, "cannot be opened");
    file->device = info.st_dev;
    file->inode = info.st_ino;
    errno = EINVAL;
    if (!S_ISREG(info.st_mode) || !hd_read_whole_at(file->fd, head, sizeof head, 0) ||
        hd_le_get(head + CAPTURE_AT_CHECKSUM, 8) != hd_checksum(head, CAPTURE_AT_CHECKSUM) ||
        (int64_t)hd_le_get(head + CAPTURE_AT_START, 8) != s->live.start_ns)
        return failed(s, "is not the capture of this process");
    return HD_OK;
}

/* ---- what is missing ---- */

static int list_of(unsigned type)
{
    for (int i = 0; i < SESSION_LISTS; i++) {
        if (session_list_types[i] == type) return i;
    }
    return -1;
}

/* The end of a run of entries of one list that the file lacks, which are one chunk. */
static size_t put_run(salvage *s, const uint8_t *log, size_t at, size_t used, int list)
{
    hd_session *session = s->session;
    session_log_entry entry;
    uint32_t first = s->have[list], count = 0;
    hd_bytes run = {0};
    while (used - at >= sizeof entry && run.size < CAPTURE_PAYLOAD_MAX / 4) {
        memcpy(&entry, log + at, sizeof entry);
        if (entry.type != session_list_types[list] || entry.id != first + count + 1 ||
            entry.size > used - at - sizeof entry)
            break;
        session_put_text(&run, (const char *)log + at + sizeof entry, entry.size);
        at += sizeof entry + entry.size;
        count++;
    }
    session_begin_chunk(session);
    hd_bytes_put_varint(&session->chunk, first + 1);
    hd_bytes_put_varint(&session->chunk, count);
    hd_bytes_put(&session->chunk, run.data, run.size);
    session->chunk.failed |= run.failed;
    hd_bytes_deinit(&run);
    if (session_write_chunk(session, session_list_types[list], 0)) s->have[list] += count;
    return at;
}

static void put_log(salvage *s, const uint8_t *log, size_t used)
{
    session_log_entry entry;
    for (size_t at = 0; used - at >= sizeof entry;) {
        memcpy(&entry, log + at, sizeof entry);
        if (entry.size > used - at - sizeof entry) return;
        int list = list_of(entry.type);
        if (list >= 0 && entry.id == s->have[list] + 1) {
            uint32_t before = s->have[list];
            size_t next = put_run(s, log, at, used, list);
            if (next == at || s->have[list] == before) return; /* the disk is full */
            at = next;
            continue;
        }
        if (entry.type == CAPTURE_NOTES || entry.type == CAPTURE_METADATA) {
            session_begin_chunk(s->session);
            hd_bytes_put(&s->session->chunk, log + at + sizeof entry, entry.size);
            session_write_chunk(s->session, entry.type, 0);
        }
        at += sizeof entry + entry.size;
    }
}

static hd_status put_names(salvage *s)
{
    size_t used = (size_t)atomic_load(&s->live.log_used);
    uint8_t *log = malloc(used + 1);
    if (!log) return HD_NOMEM(s->err);
    if (hd_read_whole_at(s->fd, log, used, SESSION_LIVE_BYTES)) put_log(s, log, used);
    free(log);
    return HD_OK;
}

/* Threads whose rings could not be shared: how many events were in them is not known. */
static void note_private(salvage *s)
{
    unsigned count = atomic_load(&s->live.private_lanes);
    if (count) hd_session_note(s->session, "session.rings-lost", HD_SESSION_LOSS, count);
}

/* Launches that have no activity. */
static void note_due(salvage *s)
{
    uint64_t due = atomic_load(&s->live.due[SESSION_LAUNCHED]), came = atomic_load(&s->live.due[SESSION_DELIVERED]);
    hd_session_note(s->session, "session.not-delivered", HD_SESSION_LOSS, due > came ? due - came : 0);
}

static hd_status complete(salvage *s, const char *folder)
{
    hd_session *session = s->session;
    HD_TRY(open_file(s, folder));
    unsigned lanes = atomic_load(&s->live.lanes), strange = 0;
    uint64_t room = s->bytes / session_lane_bytes(session); /* more are not in the memory */
    for (unsigned i = 0; i < lanes && i <= room; i++) strange += !take_lane(s, i);
    HD_TRY(scan(s));
    HD_TRY(put_names(s));
    session->live->gone = s->live.gone;
    atomic_store(&session->live->nested, atomic_load(&s->live.nested));
    atomic_store(&session->live->unplaced, atomic_load(&s->live.unplaced));
    s->events = 0;
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = lane->next) {
        if (atomic_load(&lane->state) != LANE_FREE)
            s->events += atomic_load(&lane->ring.tail) - atomic_load(&lane->ring.head);
    }
    note_private(s);
    note_due(s);
    hd_session_note(session, "session.ring-damaged", HD_SESSION_LOSS, strange);
    hd_session_note(session, "session.unfinished", HD_SESSION_NOTE, 1);
    hd_session_note(session, "session.salvaged", HD_SESSION_NOTE, s->events);
    session_pass(session);
    session_finish(session);
    if (session->status == HD_OK) return HD_OK;
    return hd_error_set(s->err, session->status, session->file.path, HD_OFFSET_NONE, "%s", session->message);
}

hd_status hd_session_salvage(hd_session_salvaged *out, uint64_t *events, int memory, const char *folder, bool has_ended,
                             hd_error *err)
{
    salvage s = {.fd = memory, .err = err};
    struct stat info;
    *events = 0;
    *out = HD_SESSION_ALIVE;
    if (!has_ended && flock(memory, LOCK_SH | LOCK_NB) != 0) return HD_OK;
    *out = HD_SESSION_NOT_OF_US;
    if (fstat(memory, &info) != 0 || !hd_read_whole_at(memory, &s.live, sizeof s.live, 0) || !is_sound(&s))
        return HD_OK;
    s.bytes = (uint64_t)info.st_size;
    *out = HD_SESSION_COMPLETE;
    if (atomic_load(&s.live.is_finished)) return HD_OK;
    hd_session_options options = {.ring_events = s.live.ring_events, .policy = (hd_ring_policy)s.live.policy};
    HD_TRY(session_make(&s.session, s.live.path, &options, err));
    hd_status status = complete(&s, folder);
    session_file_close(s.session);
    session_destroy(s.session);
    *events = s.events;
    if (status == HD_OK) *out = HD_SESSION_SALVAGED;
    return status;
}
