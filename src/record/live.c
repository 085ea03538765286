/* live.c - what processes have in memory when they end
 *
 * Each session of a process of the command sends us the memory of its rings (heddle/session.h, "Recorders"). A thread
 * receives them while the command runs, and completes the capture of each process that has ended, whether it was
 * killed, or ended by _exit or exec.
 *
 * With keep_last_ns a message, or record_live_request, has what is kept written out: this thread copies the captures,
 * while it does not complete any, a moment after the last request, and another thread makes the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
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

enum { WRITE_OUT_MS = 300 /* for what is in rings and in CUPTI */ };
enum { SWEEP_MS = 100, SETTLE_MS = 1000, SETTLE_STEP_MS = 5 };

typedef struct held {
    int fd; /* the memory */
    pid_t pid;
} held;

struct record_live {
    const recording *r;
    char *folder;
    int socket, wake;
    pthread_t thread;
    atomic_bool ending;
    _Atomic int request; /* hd_session_message, 0: none */
    int64_t requested_ns;
    pthread_t writer; /* makes the trace of `kept` */
    bool has_writer;
    atomic_bool is_writing;
    char *kept;
    unsigned number;
    hd_session_message why;
    int64_t looked_ns; /* for captures that are too old */
    size_t removed;
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

/* Those of several processes are one. */
static void note_request(record_live *live, hd_session_message why)
{
    atomic_store(&live->request, (int)why);
    live->requested_ns = hd_now_ns();
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
    if (fd >= 0)
        hold(live, fd, sender.pid);
    else if (n == 1 && byte > HD_SESSION_MEMORY && byte <= HD_SESSION_STALLED && live->r->options->keep_last_ns)
        note_request(live, (hd_session_message)byte);
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

/* ---- write out ---- */

static void *write_out(void *user)
{
    record_live *live = user;
    pthread_setname_np(pthread_self(), "heddle-write");
    record_write_out(live->r, live->kept, live->number, live->why);
    atomic_store(&live->is_writing, false);
    return NULL;
}

static void join_writer(record_live *live)
{
    if (live->has_writer) pthread_join(live->writer, NULL);
    live->has_writer = false;
    free(live->kept);
    live->kept = NULL;
}

static void begin_to_write(record_live *live)
{
    join_writer(live);
    live->why = (hd_session_message)atomic_exchange(&live->request, HD_SESSION_MEMORY);
    live->kept = record_snapshot(live->r, &live->number);
    atomic_store(&live->is_writing, live->kept != NULL);
    if (!live->kept) return;
    live->has_writer = hd_thread_start(&live->writer, write_out, live) == 0;
    if (!live->has_writer) write_out(live);
}

static void remove_old(record_live *live)
{
    int64_t now = hd_now_ns(), kept = live->r->options->keep_last_ns;
    if (!kept || now - live->looked_ns < kept / 4) return;
    live->looked_ns = now;
    live->removed += record_remove_old(live->r);
}

void record_live_request(record_live *live, hd_session_message why)
{
    const uint64_t one = 1;
    if (!live) return;
    atomic_store(&live->request, (int)why);
    if (write(live->wake, &one, sizeof one) != sizeof one) return; /* does not happen */
}

static void *receive_all(void *user)
{
    record_live *live = user;
    int64_t swept_ns = hd_now_ns();
    struct pollfd ready[] = {{live->socket, POLLIN, 0}, {live->wake, POLLIN, 0}};
    uint64_t wakes;
    pthread_setname_np(pthread_self(), "heddle-live");
    while (!atomic_load(&live->ending)) {
        bool has_more = live->count || atomic_load(&live->request) || live->r->options->keep_last_ns;
        if (poll(ready, 2, has_more ? SWEEP_MS : -1) < 0 && errno != EINTR) break;
        while (receive(live)) {}
        if (ready[1].revents && read(live->wake, &wakes, sizeof wakes) == sizeof wakes && atomic_load(&live->request))
            live->requested_ns = hd_now_ns();
        if (atomic_load(&live->request) && !atomic_load(&live->is_writing) &&
            hd_now_ns() - live->requested_ns > WRITE_OUT_MS * INT64_C(1000000))
            begin_to_write(live);
        if (hd_now_ns() - swept_ns < SWEEP_MS * INT64_C(1000000)) continue;
        sweep(live);
        remove_old(live);
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
    if (live->wake >= 0) close(live->wake);
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
    live->wake = eventfd(0, EFD_CLOEXEC);
    if (live->folder && live->socket >= 0 && live->wake >= 0 && bind_socket(live) &&
        hd_thread_start(&live->thread, receive_all, live) == 0)
        return live;
    release(live);
    return NULL;
}

void record_live_end(record_live *live)
{
    if (!live) return;
    const uint64_t one = 1;
    atomic_store(&live->ending, true);
    ssize_t written = write(live->wake, &one, sizeof one);
    if (written != sizeof one) return; /* does not happen: the thread goes on */
    pthread_join(live->thread, NULL);
    while (receive(live)) {}
    if (atomic_load(&live->request)) begin_to_write(live);
    join_writer(live);
    if (live->removed)
        record_say(live->r, "%zu capture%s of processes that ended before the time that is kept %s removed",
                   live->removed, live->removed == 1 ? "" : "s", live->removed == 1 ? "was" : "were");
    sweep(live);
    /* One that was killed a moment ago may still have the memory, of which the system is about to take it away. */
    for (int ms = 0; live->count && ms < SETTLE_MS && !live->r->result->running; ms += SETTLE_STEP_MS) {
        usleep(SETTLE_STEP_MS * 1000);
        sweep(live);
    }
    release(live);
}
