/* live.c - memory of a session that outlives its process
 *
 * A process that records others has a socket in the folder that captures are written to (HD_SESSION_RECORDER). A new
 * session there puts its rings, and the names that its file does not have yet, into memory of a memfd, and sends the
 * descriptor. If the process is then killed, or ends by _exit or exec, the recorder writes what is missing in the file
 * (salvage.c): nothing that was emitted is lost. Without a recorder that memory is the process's alone.
 *
 * Who has it   a lock (flock) on the memfd: it is held as long as the memory is mapped, also by a program that closed
 *              all descriptors, and ends with the process and with exec.
 * fork         the child unmaps it, as it is the parent's memory and not a copy. A child that runs no handlers of fork
 *              finds its session not running: session->generation.
 * Size         the memory is a sparse file, to which each lane is appended. Pages are allocated when they are touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "capture/session/impl.h"

/* The system's numbers, which headers of an old C library lack. */
enum { MEMFD_CLOEXEC = 1, MEMFD_SEALS = 2, ADD_SEALS = 1033, SEAL_SHRINK = 2 };

static size_t page_multiple(size_t bytes)
{
    return (bytes + SESSION_LANE_BYTES - 1) & ~(size_t)(SESSION_LANE_BYTES - 1);
}

size_t session_lane_bytes(const hd_session *session)
{
    return SESSION_LANE_BYTES + page_multiple((size_t)session->options.ring_events * SESSION_EVENT_BYTES);
}

void session_live_version(char out[64])
{
    memset(out, 0, 64);
    snprintf(out, 64, "heddle " HD_VERSION " %zu %zu %d", sizeof(session_live), sizeof(session_lane),
             (int)SESSION_LOG_BYTES);
}

/* ---- to the recorder ---- */

/* The recorder empties its socket all the time; one that is stopped is not waited for. fd -1: none. */
static bool send_to(const struct sockaddr_un *address, hd_session_message what, int fd)
{
    char byte = (char)what;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_name = (void *)(uintptr_t)address, .msg_namelen = sizeof *address, .msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) return false;
    struct timeval limit = {.tv_usec = 500000};
    setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ssize_t sent;
    do sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    close(socket_fd);
    return sent == 1;
}

/* The folder of a capture, opened to name its socket; -1: no process records there. */
static int open_folder(const char *path)
{
    struct stat info;
    char name[SESSION_PATH_BYTES + sizeof HD_SESSION_RECORDER];
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (!size || size > SESSION_PATH_BYTES) return -1;
    memcpy(name, path, size);
    memcpy(name + size, HD_SESSION_RECORDER, sizeof HD_SESSION_RECORDER);
    if (stat(name, &info) != 0 || !S_ISSOCK(info.st_mode)) return -1;
    name[size] = 0;
    return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- the memory ---- */

/* A size beyond ulimit -f would raise SIGXFSZ. */
static bool resize(int fd, uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur))
        return false;
    return ftruncate(fd, (off_t)size) == 0;
}

static void *map_new(size_t size, int fd, uint64_t offset)
{
    int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, kind, fd, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

static void fill_in(hd_session *session, session_live *live)
{
    session_live_version(live->version);
    snprintf(live->path, sizeof live->path, "%s", session->file.path);
    live->start_ns = session->start_ns;
    live->ring_events = session->options.ring_events;
    live->policy = (uint32_t)session->options.policy;
}

/* All that the lists have already: a child of fork has its parent's. */
static void log_lists(hd_session *session)
{
    for (int i = 0; i < SESSION_LISTS; i++) {
        const session_list *list = &session->lists[i];
        for (uint32_t at = 0; at < list->count; at++)
            session_log(session, session_list_types[i], at + 1, list->text.data + list->offsets[at],
                        (size_t)(list->offsets[at + 1] - list->offsets[at]));
    }
}

static bool open_shared(hd_session *session, const struct sockaddr_un *recorder)
{
    struct stat info;
    int fd = (int)syscall(SYS_memfd_create, "heddle-session", MEMFD_CLOEXEC | MEMFD_SEALS);
    fd = session_out_of_the_way(fd);
    session_live *live = NULL;
    if (fd >= 0 && resize(fd, SESSION_LIVE_BYTES + SESSION_LOG_BYTES) && fcntl(fd, ADD_SEALS, SEAL_SHRINK) == 0 &&
        fstat(fd, &info) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        live = map_new(SESSION_LIVE_BYTES + SESSION_LOG_BYTES, fd, 0);
    if (live) fill_in(session, live);
    if (!live || !send_to(recorder, HD_SESSION_MEMORY, fd)) {
        if (live) munmap(live, SESSION_LIVE_BYTES + SESSION_LOG_BYTES);
        if (fd >= 0) close(fd);
        return false;
    }
    session->live = live;
    session->log = (uint8_t *)live + SESSION_LIVE_BYTES;
    session->shared.fd = fd;
    session->shared.device = info.st_dev;
    session->shared.inode = info.st_ino;
    return true;
}

/* The folder's own path may be longer than an address has room for. */
static void name_recorder(struct sockaddr_un *out, int folder)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/" HD_SESSION_RECORDER, folder);
}

void session_live_open(hd_session *session)
{
    struct sockaddr_un recorder;
    int kept = errno, folder = session->is_wiped ? open_folder(session->file.path) : -1;
    if (folder >= 0) {
        name_recorder(&recorder, folder);
        if (open_shared(session, &recorder)) log_lists(session);
        close(folder);
    }
    errno = kept;
}

bool session_ask_recorder(hd_session *session, hd_session_message why)
{
    struct sockaddr_un recorder;
    int folder = session ? open_folder(session->file.path) : -1;
    if (folder < 0) return false;
    name_recorder(&recorder, folder);
    bool is_sent = send_to(&recorder, why, -1);
    close(folder);
    return is_sent;
}

static bool is_shared(const hd_session *session)
{
    return session_file_is(session->shared.fd, session->shared.device, session->shared.inode);
}

void session_live_close(hd_session *session)
{
    session_lane *next;
    for (session_lane *lane = atomic_load(&session->lanes); lane; lane = next) {
        next = lane->next;
        munmap(lane, session_lane_bytes(session));
    }
    atomic_store(&session->lanes, NULL);
    if (session->log) munmap(session->live, SESSION_LIVE_BYTES + SESSION_LOG_BYTES);
    if (is_shared(session)) close(session->shared.fd);
    session->shared.fd = -1;
    session->log = NULL;
    memset(&session->own, 0, sizeof session->own);
    session->live = &session->own;
}

/* Zero, for the list of lanes. Of the system, not of the program's allocator. NULL: no memory. */
session_lane *session_live_lane(hd_session *session)
{
    session_live *live = session->live;
    size_t bytes = session_lane_bytes(session);
    session_lane *lane = NULL;
    unsigned number = atomic_load(&live->lanes);
    uint64_t offset = SESSION_LIVE_BYTES + SESSION_LOG_BYTES + (uint64_t)number * bytes;
    if (session->log && is_shared(session) && resize(session->shared.fd, offset + bytes)) {
        lane = map_new(bytes, session->shared.fd, offset);
        if (lane) atomic_store(&live->lanes, number + 1);
    }
    if (!lane) {
        lane = map_new(bytes, -1, 0);
        if (lane) atomic_fetch_add(&live->private_lanes, 1);
    }
    if (!lane) return NULL;
    lane->ring.words = (hd_ring_word *)((char *)lane + SESSION_LANE_BYTES);
    lane->next = atomic_load_explicit(&session->lanes, memory_order_relaxed);
    return lane;
}

atomic_uint_least64_t *session_due(hd_session *session, int which)
{
    return &session->live->due[which];
}

/* ---- the log ---- */

void session_log(hd_session *session, unsigned type, uint32_t id, const void *data, size_t size)
{
    if (!session->log) return;
    session_log_entry entry = {type, id, (uint32_t)size};
    uint64_t used = atomic_load_explicit(&session->live->log_used, memory_order_relaxed);
    /* The writer empties it many times a second. An entry that has no room is one that events lack. */
    if (size > UINT32_MAX || sizeof entry + size > SESSION_LOG_BYTES - used) return;
    memcpy(session->log + used, &entry, sizeof entry);
    if (size) memcpy(session->log + used + sizeof entry, data, size);
    atomic_store_explicit(&session->live->log_used, used + sizeof entry + size, memory_order_release);
}

void session_log_reset(hd_session *session)
{
    bool is_written = true;
    if (!session->log || !atomic_load_explicit(&session->live->log_used, memory_order_relaxed)) return;
    pthread_mutex_lock(&session->lock);
    for (int i = 0; i < SESSION_LISTS; i++) is_written &= session->lists[i].written == session->lists[i].count;
    for (uint32_t i = 0; i < session->fact_count; i++) is_written &= session->facts[i].is_written;
    if (is_written) atomic_store_explicit(&session->live->log_used, 0, memory_order_release);
    pthread_mutex_unlock(&session->lock);
}
