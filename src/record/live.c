/* live.c - what processes have in memory when they end
 *
 * Each session of a process of the command sends us the memory of its rings (heddle/session.h, "Recorders"). A thread
 * receives them while the command runs, and completes the capture of each process that has ended, whether it was
 * killed, or ended by _exit or exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/thread.h"
#include "heddle/session.h"
#include "record/impl.h"

enum { SWEEP_MS = 100, SETTLE_MS = 1000, SETTLE_STEP_MS = 5 };

typedef struct held {
    int fd; /* the memory */
    pid_t pid;
} held;

struct record_live {
    const recording *r;
    char *folder;
    int socket, stop;
    pthread_t thread;
    held *list;
    size_t count, capacity;
};

/* ---- receive ---- */

/* Opened anew: the descriptor that was sent has the process's lock, and would keep it. */
static void hold(record_live *live, int fd, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    if (own < 0 || !hd_grow((void **)&live->list, &live->capacity, live->count, sizeof *live->list)) {
        if (own >= 0) close(own);
        return;
    }
    live->list[live->count++] = (held){own, pid};
}

/* false: no message is waiting. */
static bool receive(record_live *live)
{
    char byte;
    union {
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct ucred sender = {0};
    int fd = -1;
    ssize_t n;
    do n = recvmsg(live->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0) return false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET) continue;
        if (c->cmsg_type == SCM_CREDENTIALS) memcpy(&sender, CMSG_DATA(c), sizeof sender);
        if (c->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(c), sizeof fd);
    }
    if (fd >= 0) hold(live, fd, sender.pid);
    return true;
}

/* ---- complete ---- */

static bool has_ended(pid_t pid)
{
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

/* Completes the captures of those that have ended. */
static void sweep(record_live *live)
{
    size_t left = 0;
    for (size_t i = 0; i < live->count; i++) {
        held *h = &live->list[i];
        hd_session_salvaged found;
        uint64_t events;
        hd_error err = {0};
        char text[HD_ERROR_TEXT_BYTES];
        hd_status status = hd_session_salvage(&found, &events, h->fd, live->folder, has_ended(h->pid), &err);
        if (status == HD_OK && found == HD_SESSION_ALIVE) {
            live->list[left++] = *h;
            continue;
        }
        if (status != HD_OK)
            record_say(live->r, "what process %d had in memory when it ended is lost: %s", (int)h->pid,
                       hd_error_text(text, sizeof text, &err));
        close(h->fd);
    }
    live->count = left;
}

static void *receive_all(void *user)
{
    record_live *live = user;
    int64_t swept_ns = hd_now_ns();
    struct pollfd ready[] = {{live->socket, POLLIN, 0}, {live->stop, POLLIN, 0}};
    pthread_setname_np(pthread_self(), "heddle-live");
    for (;;) {
        if (poll(ready, 2, live->count ? SWEEP_MS : -1) < 0 && errno != EINTR) break;
        while (receive(live)) {}
        if (ready[1].revents) break;
        if (hd_now_ns() - swept_ns < SWEEP_MS * INT64_C(1000000)) continue;
        sweep(live);
        swept_ns = hd_now_ns();
    }
    return NULL;
}

/* ---- start and end ---- */

static bool bind_socket(const record_live *live)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int yes = 1, folder = open(live->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* The folder's own path may be longer than an address has room for. */
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" HD_SESSION_RECORDER, folder);
    bool fine = folder >= 0 && setsockopt(live->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
                fchmod(live->socket, 0600) == 0 && /* Linux gives the name this mode */
                bind(live->socket, (struct sockaddr *)&address, sizeof address) == 0;
    if (folder >= 0) close(folder);
    return fine;
}

static void release(record_live *live)
{
    for (size_t i = 0; i < live->count; i++) close(live->list[i].fd);
    if (live->socket >= 0) close(live->socket);
    if (live->stop >= 0) close(live->stop);
    free(live->list);
    free(live->folder);
    free(live);
}

/* A file system without sockets, say: then a process that is killed loses what it has in memory, and the ledger says
 * so. */
record_live *record_live_start(const recording *r)
{
    record_live *live = calloc(1, sizeof *live);
    if (!live) return NULL;
    live->r = r;
    live->folder = strdup(r->result->parts);
    live->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    live->stop = eventfd(0, EFD_CLOEXEC);
    if (live->folder && live->socket >= 0 && live->stop >= 0 && bind_socket(live) &&
        hd_thread_start(&live->thread, receive_all, live) == 0)
        return live;
    release(live);
    return NULL;
}

void record_live_end(record_live *live)
{
    if (!live) return;
    const uint64_t one = 1;
    ssize_t written = write(live->stop, &one, sizeof one);
    if (written != sizeof one) return; /* does not happen: the thread goes on */
    pthread_join(live->thread, NULL);
    while (receive(live)) {}
    sweep(live);
    /* One that was killed a moment ago may still have the memory, of which the system is about to take it away. */
    for (int ms = 0; live->count && ms < SETTLE_MS && !live->r->result->running; ms += SETTLE_STEP_MS) {
        usleep(SETTLE_STEP_MS * 1000);
        sweep(live);
    }
    release(live);
}
