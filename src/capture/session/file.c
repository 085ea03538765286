/* file.c - the open file, and writing chunks to it
 *
 * A chunk is one write. A chunk that cannot be written whole is removed again, so that the file consists of whole
 * chunks, and the next chunk is tried anyway, since a full disk may have room later.
 *
 * On a full disk the end, which has the number of lost events, still has room: END_ROOM is allocated ahead of all else.
 *
 * Beyond ulimit -f the bytes go on in PATH.1, PATH.2 …, which hd_session_join makes one file of.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/capture_wire.h"
#include "base/checksum.h"
#include "base/error.h"
#include "capture/session/impl.h"

enum { PARTS_MAX = 99999, END_ROOM = 32 << 10, AHEAD_MAX = 1 << 20 };

/* ---- the file ---- */

/* A program may close all descriptors, and the next file that it opens may get our number. */
bool session_file_is(int fd, dev_t device, ino_t inode)
{
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

static bool is_ours(const session_file *file)
{
    return session_file_is(file->fd, file->device, file->inode);
}

/* Low numbers are the program's: a daemon that closes 0 to 2 and opens others relies on getting these. */
int session_out_of_the_way(int fd)
{
    enum { FIRST = 512 };
    int why = errno, high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
    if (high >= 0) close(fd);
    errno = why;
    return high >= 0 ? high : fd; /* the limit may be lower */
}

static bool part_path(char *out, size_t room, const char *path, unsigned part)
{
    int size = part ? snprintf(out, room, "%s.%u", path, part) : snprintf(out, room, "%s", path);
    return size > 0 && (size_t)size < room;
}

static bool ensure_open(session_file *file)
{
    char path[SESSION_PATH_BYTES];
    if (is_ours(file)) return true;
    if (!part_path(path, sizeof path, file->path, file->part)) return false;
    /* The descriptor with our old number is not ours to close. */
    file->fd = session_out_of_the_way(open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
    if (is_ours(file)) return true;
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
    if (errno == 0) errno = ENOENT;
    return false;
}

bool session_file_create(session_file *file, const char *path)
{
    struct stat info;
    int fd = session_out_of_the_way(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
    if (fd < 0) return false;
    if (fstat(fd, &info) != 0) {
        close(fd);
        return false;
    }
    file->fd = fd;
    file->device = info.st_dev;
    file->inode = info.st_ino;
    return true;
}

/* The file is as long as it may be, and all before byte `end` is in it: goes on in the next part. */
static bool next_part(session_file *file, uint64_t end)
{
    char path[SESSION_PATH_BYTES];
    struct stat info;
    if (end == file->part_begin || file->part == PARTS_MAX || fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        !part_path(path, sizeof path, file->path, file->part + 1)) {
        errno = EFBIG;
        return false;
    }
    int fd = file->fd;
    if (!session_file_create(file, path)) return false;
    close(fd);
    file->part++;
    file->part_begin = end;
    file->reserved = 0;
    return true;
}

/* Where the file system does not allocate ahead, there is no more to know than that it is not full yet. */
static bool allocate(session_file *file, uint64_t from, uint64_t bytes)
{
    int failed;
    do failed = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)bytes);
    while (failed && errno == EINTR);
    file->reserved = failed ? file->reserved : from + bytes;
    return !failed || (errno != ENOSPC && errno != EDQUOT);
}

/* Room for so many bytes, and for the end behind them. */
static bool reserve(session_file *file, size_t size)
{
    uint64_t from = file->size > file->part_begin ? file->size - file->part_begin : 0, bytes = size + END_ROOM;
    if (from + bytes <= file->reserved) return true;
    uint64_t ahead = from / 4 < AHEAD_MAX ? from / 4 : AHEAD_MAX;
    return allocate(file, from, bytes + ahead) || allocate(file, from, bytes);
}

bool session_file_cut(session_file *file, uint64_t size)
{
    bool fine = ftruncate(file->fd, (off_t)size) == 0;
    int why = errno;
    file->reserved = 0;
    if (!file->is_last) reserve(file, 0);
    errno = why;
    return fine;
}

/* Appends all or nothing; of a chunk that began in an earlier part, that beginning stays. false: see errno. */
static bool append(session_file *file, const uint8_t *data, size_t size)
{
    size_t done = 0;
    if (!ensure_open(file) || (!file->is_last && !reserve(file, size))) return false;
    while (done < size) {
        ssize_t n = write(file->fd, data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EFBIG && next_part(file, file->size + done)) continue;
        if (n <= 0) {
            int why = n < 0 ? errno : ENOSPC;
            uint64_t whole = file->size > file->part_begin ? file->size - file->part_begin : 0;
            if (done && !session_file_cut(file, whole)) why = errno;
            errno = why;
            return false;
        }
        done += (size_t)n;
    }
    atomic_store_explicit(&file->size, file->size + size, memory_order_relaxed);
    return true;
}

/* ---- chunks ---- */

void session_begin_chunk(hd_session *session)
{
    static const uint8_t none[CAPTURE_CHUNK_BYTES];
    session->chunk.size = 0;
    hd_bytes_put(&session->chunk, none, sizeof none);
}

/* Fill in the header that session_begin_chunk left room for. */
void session_seal_chunk(hd_bytes *chunk, unsigned type, uint32_t thread, uint64_t number)
{
    uint8_t *p = chunk->data;
    size_t size = chunk->size - CAPTURE_CHUNK_BYTES;
    hd_le_put(p, CAPTURE_CHUNK_MAGIC, 8);
    hd_le_put(p + CAPTURE_CHUNK_AT_TYPE, type, 2);
    hd_le_put(p + CAPTURE_CHUNK_AT_SIZE, size, 4);
    hd_le_put(p + CAPTURE_CHUNK_AT_THREAD, thread, 4);
    hd_le_put(p + CAPTURE_CHUNK_AT_NUMBER, number, 4);
    hd_le_put(p + CAPTURE_CHUNK_AT_PAYLOAD_SUM, hd_checksum(p + CAPTURE_CHUNK_BYTES, size), 8);
    hd_le_put(p + CAPTURE_CHUNK_AT_CHECKSUM, hd_checksum(p, CAPTURE_CHUNK_AT_CHECKSUM), 8);
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

bool session_write_chunk(hd_session *session, unsigned type, uint32_t thread)
{
    hd_bytes *chunk = &session->chunk;
    session_file *file = session_file_of(session, type);
    errno = 0;
    bool failed = chunk->failed;
    if (!failed) {
        session_seal_chunk(chunk, type, thread, (uint32_t)file->chunks);
        if (append(file, chunk->data, chunk->size)) {
            file->chunks++;
            return true;
        }
    }
    chunk->failed = false;
    remember_failure(session, "the trace cannot be written", failed ? 0 : errno);
    return false;
}

/* ---- the beginning ---- */

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
    hd_le_put(p + CAPTURE_AT_MAJOR, CAPTURE_MAJOR, 2);
    hd_le_put(p + CAPTURE_AT_MINOR, CAPTURE_MINOR, 2);
    hd_le_put(p + CAPTURE_AT_PID, (uint64_t)getpid(), 4);
    hd_le_put(p + CAPTURE_AT_POLICY, (uint64_t)session->options.policy, 4);
    hd_le_put(p + CAPTURE_AT_RING_EVENTS, session->options.ring_events, 4);
    hd_le_put(p + CAPTURE_AT_START, (uint64_t)session->start_ns, 8);
    hd_le_put(p + CAPTURE_AT_UNIX, (uint64_t)unix_offset(), 8);
    hd_le_put(p + CAPTURE_AT_CHECKSUM, hd_checksum(p, CAPTURE_AT_CHECKSUM), 8);
}

static void put_process(hd_bytes *out)
{
    char path[4096], host[256] = "";
    ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    gethostname(host, sizeof host - 1);
    session_put_text(out, program_invocation_short_name, strlen(program_invocation_short_name));
    session_put_text(out, path, size > 0 ? (size_t)size : 0);
    session_put_text(out, host, strlen(host));
    hd_bytes_put_varint(out, (uint64_t)getppid());
}

static bool begin_file(hd_session *session)
{
    uint8_t header[CAPTURE_HEADER_BYTES];
    make_header(header, session);
    session_begin_chunk(session);
    put_process(&session->chunk);
    if (session->chunk.failed) {
        errno = ENOMEM;
        return false;
    }
    session_seal_chunk(&session->chunk, CAPTURE_PROCESS, 0, 0);
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

/* A new file gets its name only after its header is written: a process killed before leaves no unreadable capture. An
 * existing device or pipe is written directly. */
static bool open_new(hd_session *session, const char *path, bool is_special)
{
    /* In a folder that others may write to, the name may be a link: the link is removed, and its target is not
     * touched. */
    int kind = is_special ? O_APPEND : O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND;
    session_file *file = &session->file;
    struct stat info;
    file->chunks = file->part_begin = file->part = file->reserved = 0;
    file->is_last = false;
    atomic_store(&file->size, 0);
    if (!is_special) unlink(path);
    file->fd = session_out_of_the_way(open(path, O_WRONLY | kind | O_CLOEXEC, 0600));
    if (file->fd < 0 || fstat(file->fd, &info) != 0) return false;
    file->device = info.st_dev;
    file->inode = info.st_ino;
    return begin_file_quietly(session);
}

hd_status session_file_open(hd_session *session, hd_error *err)
{
    session_file *file = &session->file;
    struct stat info;
    char *part = NULL;
    bool is_special = stat(file->path, &info) == 0 && !S_ISREG(info.st_mode);
    if (!is_special && asprintf(&part, "%s.part", file->path) < 0)
        return hd_error_set(err, HD_ERR_MEMORY, file->path, HD_OFFSET_NONE, "out of memory");
    bool fine =
        open_new(session, is_special ? file->path : part, is_special) && (is_special || rename(part, file->path) == 0);
    int why = errno;
    if (!fine) {
        if (file->fd >= 0 && !is_special) unlink(part);
        session_file_close(session);
    }
    free(part);
    if (fine) return HD_OK;
    return hd_error_set(err, HD_ERR_IO, file->path, HD_OFFSET_NONE, "cannot be written: %s", strerror(why));
}

void session_file_discard(hd_session *session)
{
    struct stat info;
    /* The opened file may be a device or a pipe. */
    if (is_ours(&session->file) && fstat(session->file.fd, &info) == 0 && S_ISREG(info.st_mode))
        unlink(session->file.path);
    session_file_close(session);
}

void session_file_release(session_file *file)
{
    if (is_ours(file)) close(file->fd);
    file->fd = -1;
}

void session_file_give_back(session_file *file)
{
    file->is_last = true;
    if (file->reserved) session_file_cut(file, file->size - file->part_begin);
}

void session_file_close(hd_session *session)
{
    session_file_release(&session->file);
    session_file_release(&session->segment.file);
}

/* ---- afterwards ---- */

bool session_copy_behind(int to, int from)
{
    static const size_t ROOM = 1 << 16;
    uint8_t *room = malloc(ROOM);
    ssize_t n = room ? 1 : -1;
    while (n > 0) {
        n = read(from, room, ROOM);
        if (n < 0 && errno == EINTR) n = 1;
        for (ssize_t done = 0, written; n > 0 && done < n; done += written) {
            written = write(to, room + done, (size_t)(n - done));
            if (written < 0 && errno == EINTR) written = 0;
            if (written < 0) n = -1;
        }
    }
    int why = errno;
    free(room);
    errno = why;
    return n == 0;
}

/* true: there is one, and it is at the end of the file now. */
static bool join_part(int file, const char *path, bool *fine)
{
    struct stat before;
    int part = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (part < 0) return false;
    *fine = fstat(file, &before) == 0 && session_copy_behind(file, part);
    if (!*fine) {
        int why = errno;
        if (ftruncate(file, before.st_size) == 0) errno = why;
    }
    close(part);
    return *fine && unlink(path) == 0;
}

hd_status hd_session_join(const char *path, hd_error *err)
{
    char part[SESSION_PATH_BYTES];
    bool fine = true;
    if (!part_path(part, sizeof part, path, 1) || access(part, F_OK) != 0) return session_segments_join(path, err);
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be opened: %s", strerror(errno));
    for (unsigned n = 1; part_path(part, sizeof part, path, n) && join_part(file, part, &fine); n++) {}
    int why = errno;
    close(file);
    if (fine) return session_segments_join(path, err);
    return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "%s cannot be appended: %s", part, strerror(why));
}
