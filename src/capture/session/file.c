/* file.c - the open file, and writing chunks to it
 *
 * A chunk is one write. A chunk that cannot be written whole is removed again, so that the file consists of whole
 * chunks, and the next chunk is tried anyway, since a full disk may have room later.
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

/* ---- the file ---- */

/* A program may close all descriptors, and the next file that it opens may get our number. */
static bool is_ours(const session_file *file)
{
    struct stat info;
    return file->fd >= 0 && fstat(file->fd, &info) == 0 && info.st_dev == file->device && info.st_ino == file->inode;
}

/* Low numbers are the program's: a daemon that closes 0 to 2 and opens others relies on getting these. */
static int out_of_the_way(int fd)
{
    enum { FIRST = 512 };
    int why = errno, high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
    if (high >= 0) close(fd);
    errno = why;
    return high >= 0 ? high : fd; /* the limit may be lower */
}

static bool ensure_open(session_file *file)
{
    if (is_ours(file)) return true;
    /* The descriptor with our old number is not ours to close. */
    file->fd = out_of_the_way(open(file->path, O_WRONLY | O_APPEND | O_CLOEXEC));
    if (is_ours(file)) return true;
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
    if (errno == 0) errno = ENOENT;
    return false;
}

/* Appends all or nothing. false: see errno. */
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

/* ---- chunks ---- */

void session_begin_chunk(hd_session *session)
{
    static const uint8_t none[CAPTURE_CHUNK_BYTES];
    session->chunk.size = 0;
    hd_bytes_put(&session->chunk, none, sizeof none);
}

/* Fill in the header that session_begin_chunk left room for. */
static void seal_chunk(hd_bytes *chunk, unsigned type, uint32_t thread, uint64_t number)
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

/* A new file gets its name only after its header is written: a process killed before leaves no unreadable capture. An
 * existing device or pipe is written directly. */
static bool open_new(hd_session *session, const char *path, bool is_special)
{
    /* In a folder that others may write to, the name may be a link: the link is removed, and its target is not
     * touched. */
    int kind = is_special ? O_APPEND : O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND;
    session_file *file = &session->file;
    struct stat info;
    file->chunks = 0;
    atomic_store(&file->size, 0);
    if (!is_special) unlink(path);
    file->fd = out_of_the_way(open(path, O_WRONLY | kind | O_CLOEXEC, 0600));
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

void session_file_close(hd_session *session)
{
    if (is_ours(&session->file)) close(session->file.fd);
    session->file.fd = -1;
}
