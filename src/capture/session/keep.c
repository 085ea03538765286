/* keep.c - the file of a session that keeps only its last events (hd_session_options.keep_last_ns)
 *
 * What is written once, and referred to for as long as the program runs (names, arguments, tracks, modules, stacks,
 * nodes of graphs), goes to the file, which only grows by what is new in the program. Events go to segments, files of
 * their own, PATH.k00000000 and so on: a quarter of the time each. When one begins, those that are older than the time
 * are removed, so that there are five at most.
 *
 * With the file, a segment has all that its events need: it begins with the time and with the number of events of each
 * kind that were written before it, and repeats threads, notes and metadata. So whichever segments are left, the first
 * of them says how many events are gone. Appended to the file, they are an ordinary capture.
 *
 * An event that ends at or after the begin of a segment was emitted after it, and is in this segment or a later one:
 * the trace begins there. A segment also has events that ended before and came late, which are not complete.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capture_wire.h"
#include "base/error.h"
#include "capture/session/impl.h"

enum { QUARTERS = 4, NUMBER_DIGITS = 8 };

static char *segment_path(const char *path, uint32_t number)
{
    char *out;
    return asprintf(&out, "%s.k%0*u", path, (int)NUMBER_DIGITS, number) < 0 ? NULL : out;
}

typedef struct segments {
    char *folder;
    const char *name; /* of the file, in `folder` */
    uint32_t first, end;
} segments;

/* The numbers of those that are there, which follow each other. */
static bool find_segments(segments *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct dirent *entry;
    *out = (segments){.folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."),
                      .name = slash ? slash + 1 : path,
                      .first = UINT32_MAX};
    DIR *folder = out->folder ? opendir(out->folder) : NULL;
    size_t size = strlen(out->name);
    while (folder && (entry = readdir(folder))) {
        const char *tail = entry->d_name + size;
        if (strncmp(entry->d_name, out->name, size) != 0 || strncmp(tail, ".k", 2) != 0 ||
            strspn(tail + 2, "0123456789") != NUMBER_DIGITS || tail[2 + NUMBER_DIGITS])
            continue;
        uint32_t number = (uint32_t)strtoul(tail + 2, NULL, 10);
        if (number < out->first) out->first = number;
        if (number >= out->end) out->end = number + 1;
    }
    if (folder) closedir(folder);
    free(out->folder);
    return out->first < out->end;
}

/* ---- writing ---- */

session_file *session_file_of(hd_session *session, unsigned type)
{
    bool is_list = type == CAPTURE_PROCESS || type == CAPTURE_NODES;
    for (int i = 0; i < SESSION_LISTS; i++) is_list |= session_list_types[i] == type;
    return session->options.keep_last_ns && !is_list ? &session->segment.file : &session->file;
}

static int64_t begin_of(const session_segment *s, uint32_t number)
{
    return s->begins_ns[number % SESSION_SEGMENTS];
}

bool session_segment_is_due(const hd_session *session)
{
    const session_segment *s = &session->segment;
    int64_t kept = session->options.keep_last_ns;
    return kept && (!s->is_declared || hd_session_now() - begin_of(s, s->end - 1) >= kept / QUARTERS);
}

static bool put_declaration(hd_session *session)
{
    const session_segment *s = &session->segment;
    session_begin_chunk(session);
    hd_bytes_put_varint(&session->chunk, (uint64_t)begin_of(s, s->end - 1));
    hd_bytes_put_varint(&session->chunk, CAPTURE_KINDS);
    for (int i = 0; i < CAPTURE_KINDS; i++) hd_bytes_put_varint(&session->chunk, s->written[i]);
    return session_write_chunk(session, CAPTURE_SEGMENT, 0);
}

static void remove_segment(const char *file, uint32_t number)
{
    char *path = segment_path(file, number);
    if (path) unlink(path);
    free(path);
}

/* Of a session that had our path. */
static void remove_old(const char *path)
{
    segments list;
    if (!find_segments(&list, path)) return;
    for (uint32_t n = list.first; n < list.end; n++) remove_segment(path, n);
}

bool session_segment_next(hd_session *session)
{
    session_segment *s = &session->segment;
    if (s->first != s->end && !s->is_declared) return s->is_declared = put_declaration(session);
    char *path = segment_path(session->file.path, s->end);
    session_file next = {.fd = -1, .path = path};
    if (!path) return false;
    if (s->end == 0) remove_old(session->file.path);
    if (!session_file_create(&next, path)) {
        free(path);
        return s->end != 0; /* the last one goes on */
    }
    if (s->end) session_file_give_back(&s->file);
    session_file_release(&s->file);
    free(s->file.path);
    s->file = next;
    int64_t now = s->begins_ns[s->end++ % SESSION_SEGMENTS] = hd_session_now();
    while (s->end - s->first > QUARTERS && begin_of(s, s->first + 1) <= now - session->options.keep_last_ns)
        remove_segment(session->file.path, s->first++);
    return s->is_declared = put_declaration(session);
}

void session_segment_forget(hd_session *session)
{
    session_segment *s = &session->segment;
    free(s->file.path);
    *s = (session_segment){.file = {.fd = -1}};
}

/* ---- afterwards ---- */

static hd_status failed(hd_error *err, const char *path, const char *what)
{
    return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "%s: %s", what, strerror(errno));
}

/* All, or nothing: then see errno. */
static bool append_segment(int to, const char *segment)
{
    struct stat before;
    int from = open(segment, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool fine = from >= 0 && fstat(to, &before) == 0 && session_copy_behind(to, from);
    int why = errno;
    if (!fine && from >= 0 && ftruncate(to, before.st_size) == 0) errno = why;
    if (from >= 0) close(from);
    errno = why;
    return fine && unlink(segment) == 0;
}

hd_status session_segments_join(const char *path, hd_error *err)
{
    segments list;
    if (!find_segments(&list, path)) return HD_OK;
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return failed(err, path, "cannot be opened");
    bool fine = true;
    for (uint32_t n = list.first; n < list.end && fine; n++) {
        char *segment = segment_path(path, n);
        fine = segment && append_segment(file, segment);
        free(segment);
    }
    hd_status status = fine ? HD_OK : failed(err, path, "its events cannot be appended");
    close(file);
    return status;
}

/* ---- while the program writes ---- */

typedef struct opened {
    int fd;
    uint64_t size; /* of whole chunks */
} opened;

/* The program may be writing the last chunk. Behind damage, all is taken. */
static uint64_t whole_chunks(int fd, uint64_t begin, unsigned *last_type)
{
    uint8_t head[CAPTURE_CHUNK_BYTES];
    struct stat info;
    *last_type = 0;
    if (fstat(fd, &info) != 0) return 0;
    uint64_t at = begin, end = (uint64_t)info.st_size;
    while (at < end && end - at >= sizeof head && pread(fd, head, sizeof head, (off_t)at) == (ssize_t)sizeof head) {
        if (hd_le_get(head, 8) != CAPTURE_CHUNK_MAGIC) return end;
        uint64_t size = sizeof head + hd_le_get(head + CAPTURE_CHUNK_AT_SIZE, 4);
        if (size > end - at) break;
        *last_type = (unsigned)hd_le_get(head + CAPTURE_CHUNK_AT_TYPE, 2);
        at += size;
    }
    return at < end ? at : end;
}

static bool copy(int to, const opened *from)
{
    uint8_t room[1 << 14];
    for (uint64_t at = 0; at < from->size;) {
        size_t want = from->size - at < sizeof room ? (size_t)(from->size - at) : sizeof room;
        ssize_t n = pread(from->fd, room, want, (off_t)at);
        if (n <= 0 || write(to, room, (size_t)n) != n) return false;
        at += (uint64_t)n;
    }
    return true;
}

/* As the program would end it now: the counts of its threads hold. */
static bool put_end(int to)
{
    enum { TOTALS = 5 };
    hd_bytes chunk = {0};
    static const uint8_t none[CAPTURE_CHUNK_BYTES];
    hd_bytes_put(&chunk, none, sizeof none);
    for (int i = 0; i < TOTALS; i++) hd_bytes_put_varint(&chunk, 0);
    if (!chunk.failed) session_seal_chunk(&chunk, CAPTURE_END, 0, 0);
    bool fine = !chunk.failed && write(to, chunk.data, chunk.size) == (ssize_t)chunk.size;
    hd_bytes_deinit(&chunk);
    return fine;
}

bool hd_session_has_ended(int64_t *unix_s, const char *path)
{
    segments list;
    struct stat info;
    unsigned type = 0;
    bool has_any = find_segments(&list, path);
    char *last = has_any ? segment_path(path, list.end - 1) : strdup(path);
    int fd = last ? open(last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd >= 0) whole_chunks(fd, has_any ? 0 : CAPTURE_HEADER_BYTES, &type);
    bool has_ended = fd >= 0 && type == CAPTURE_END && fstat(fd, &info) == 0;
    if (has_ended) *unix_s = info.st_mtime;
    if (fd >= 0) close(fd);
    free(last);
    return has_ended;
}

/* Segments are opened before the file is copied, so that all that they refer to is in it. Those that are removed in
 * between are too old. */
hd_status hd_session_snapshot(const char *path, const char *to, hd_error *err)
{
    enum { MOST = 2 * SESSION_SEGMENTS };
    opened list[MOST], file = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    size_t count = 0;
    unsigned ignored;
    segments found;
    bool has_any = find_segments(&found, path);
    for (uint32_t n = found.first; has_any && n < found.end && count < MOST; n++) {
        char *segment = segment_path(path, n);
        list[count].fd = segment ? open(segment, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        free(segment);
        if (list[count].fd < 0) continue;
        list[count].size = whole_chunks(list[count].fd, 0, &ignored);
        count++;
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool fine = file.fd >= 0 && out >= 0;
    if (fine) file.size = whole_chunks(file.fd, CAPTURE_HEADER_BYTES, &ignored);
    fine = fine && copy(out, &file);
    for (size_t i = 0; i < count && fine; i++) fine = copy(out, &list[i]);
    hd_status status = fine && put_end(out) ? HD_OK : failed(err, path, "cannot be copied");
    for (size_t i = 0; i < count; i++) close(list[i].fd);
    if (file.fd >= 0) close(file.fd);
    if (out >= 0 && close(out) != 0 && status == HD_OK) status = failed(err, path, "cannot be copied");
    return status;
}
