/* control.c - a thread that opens and closes windows in time and answers `heddle trigger`; SIGUSR2
 *
 * The thread sleeps until a window is due, a client connects, or a second passes: then it checks whether the socket is
 * still open, since a program may close all descriptors. All signals are blocked in it.
 *
 * Access: processes of the same user, and root (SO_PEERCRED). The name of the socket belongs to the network namespace.
 *
 * The handler of SIGUSR2 counts, and wakes the thread by connecting to its socket: that needs no descriptor that the
 * program might have closed, and socket, connect and close are async-signal-safe. It is installed only with trigger=1,
 * and only if the program has no handler; a handler that the program installs later replaces it.
 *
 * With keep_last_ms there are no windows: a trigger, SIGUSR2, or a stall has what is kept written out.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/control_wire.h"
#include "base/thread.h"
#include "capture/cuda/window/window.h"
#include "capture/session/tracers.h"

enum { LOOK_MS = 1000, BLIND_MS = 50, CLIENT_MS = 500, LOW_FD = 64, BACKLOG = 16 };

typedef enum signal_state { SIGNAL_OFF, SIGNAL_ON, SIGNAL_TAKEN, SIGNAL_REPLACED } signal_state;

static struct {
    cuda_tracer *tracer;
    pthread_t thread;
    bool is_running;
    int fd;       /* -1: none */
    bool is_deaf; /* and the ledger says so */
    dev_t device;
    ino_t inode;
    struct sockaddr_un address; /* of this process, whichever process listens */
    socklen_t address_size;
    atomic_bool is_heard; /* somebody listens */
    atomic_bool ending;
    atomic_uint signals; /* that came */
    unsigned signals_seen;
    _Atomic int signal; /* signal_state */
    uint64_t emitted;   /* events, when look_for_stall last saw one; and when that was, 0: a stall was reported */
    int64_t emitted_ns;
} control = {.fd = -1};

atomic_bool control_is_missing;

/* ---- the socket ---- */

static bool is_ours(void)
{
    struct stat info;
    return control.fd >= 0 && fstat(control.fd, &info) == 0 && info.st_dev == control.device &&
           info.st_ino == control.inode;
}

static void let_go(void)
{
    if (is_ours()) close(control.fd); /* else the number is somebody else's by now */
    control.fd = -1;
}

/* A program that closed 0, 1 and 2 expects its next files to get these numbers: the socket must not take them. */
static int high_socket(void)
{
    int low = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LOW_FD);
    if (high < 0) return low; /* beyond the limit of descriptors */
    close(low);
    return high;
}

static void name_socket(void)
{
    control.address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(control.address.sun_path + 1, sizeof control.address.sun_path - 1, CONTROL_NAME, (long)getpid());
    control.address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool listen_here(void)
{
    struct stat info;
    atomic_store(&control.is_heard, false);
    control.fd = high_socket();
    if (control.fd < 0) return false;
    if (bind(control.fd, (const struct sockaddr *)&control.address, control.address_size) != 0 ||
        listen(control.fd, BACKLOG) != 0 || fstat(control.fd, &info) != 0) {
        close(control.fd);
        control.fd = -1;
        return false;
    }
    control.device = info.st_dev;
    control.inode = info.st_ino;
    atomic_store(&control.is_heard, true);
    return true;
}

/* Again and again: there may be no descriptor left now, and one later. */
static void listen_and_tell(void)
{
    bool is_deaf = !listen_here();
    if (is_deaf != control.is_deaf)
        hd_session_note(control.tracer->session, "window.no-socket", HD_SESSION_NOTE, is_deaf);
    control.is_deaf = is_deaf;
}

void control_wake(void)
{
    int kept = errno;
    int fd = atomic_load(&control.is_heard) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0) {
        if (connect(fd, (const struct sockaddr *)&control.address, control.address_size) != 0) errno = 0;
        close(fd);
    }
    errno = kept;
}

/* ---- SIGUSR2 ---- */

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&control.signals, 1);
    control_wake();
}

static void catch_signal(void)
{
    struct sigaction before, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    bool is_free =
        sigaction(SIGUSR2, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
    if (is_free && sigaction(SIGUSR2, &ours, NULL) == 0)
        control.signal = SIGNAL_ON;
    else
        control.signal = SIGNAL_TAKEN;
    if (control.signal == SIGNAL_TAKEN)
        hd_session_note(control.tracer->session, "window.signal-taken", HD_SESSION_NOTE, 1);
}

/* The program may have installed its own since. */
static void look_at_signal(void)
{
    struct sigaction now;
    if (control.signal != SIGNAL_ON || sigaction(SIGUSR2, NULL, &now) != 0) return;
    if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_signal) return;
    control.signal = SIGNAL_REPLACED;
    hd_session_note(control.tracer->session, "window.signal-replaced", HD_SESSION_NOTE, 1);
}

/* CUPTI's part follows within a moment, for which the recorder waits. NULL, or what is wrong. */
static const char *write_out(hd_session_message why)
{
    cuda_flush_soon(control.tracer);
    return session_ask_recorder(control.tracer->session, why) ? NULL
                                                              : "heddle record, which would write the trace, has ended";
}

static bool keeps_last(void)
{
    return control.tracer->options.keep_last_ms != 0;
}

static void obey_signals(void)
{
    unsigned came = atomic_load(&control.signals);
    for (; control.signals_seen != came; control.signals_seen++) {
        if (keeps_last())
            write_out(HD_SESSION_SIGNALLED);
        else if (!window_close("signal", WINDOW_ANY))
            window_open("signal", 0);
    }
}

/* ---- requests ---- */

static void answer_state(char *out, size_t room, const char *error)
{
    static const char *const signals[] = {"off", "on", "taken", "replaced"};
    hd_session_stats stats;
    window_state *w = &window_all;
    hd_session_statistics(&stats, control.tracer->session);
    const char *path = hd_session_path(control.tracer->session);
    pthread_mutex_lock(&w->lock);
    uint64_t count = w->count;
    const window_span *span = count ? &w->spans[(count - 1) % WINDOW_LOG] : NULL;
    bool is_open = window_is_open();
    long long since = span ? hd_session_now() - (is_open ? span->open_ns : span->close_ns) : 0;
    long long left = is_open && w->close_at_ns ? w->close_at_ns - hd_session_now() : -1;
    char why[WINDOW_WHY_BYTES] = "";
    if (span) snprintf(why, sizeof why, "%s", is_open ? span->opened_by : span->closed_by);
    pthread_mutex_unlock(&w->lock);
    look_at_signal();
    int n = snprintf(out, room,
                     "%s\nstate %s\nwindows %llu\nby %s\nsince_ns %lld\nleft_ns %lld\nevents %llu\n"
                     "dropped %llu\nbytes %llu\nsignal %s\n%s%s%sfile %s\n",
                     CONTROL_HELLO, is_open ? "open" : "closed", (unsigned long long)count, why, since, left,
                     (unsigned long long)stats.emitted,
                     (unsigned long long)(stats.dropped_newest + stats.dropped_oldest + stats.lost),
                     (unsigned long long)stats.bytes, signals[control.signal], error ? "error " : "",
                     error ? error : "", error ? "\n" : "", path ? path : "");
    if (n < 0 || (size_t)n >= room) snprintf(out, room, "%s\nerror the answer is too long\n", CONTROL_HELLO);
}

/* "WORD" or "WORD MS". */
static bool is_request(const char *line, const char *word, uint64_t *ms)
{
    size_t size = strlen(word);
    char *end;
    *ms = 0;
    if (strncmp(line, word, size) != 0) return false;
    if (!line[size]) return true;
    if (line[size] != ' ' || line[size + 1] < '0' || line[size + 1] > '9') return false;
    errno = 0;
    *ms = strtoull(line + size + 1, &end, 10);
    return errno == 0 && !*end && *ms < UINT64_C(1000000000000);
}

static const char *obey(const char *line)
{
    uint64_t ms;
    if (strcmp(line, "status") == 0) return NULL;
    bool is_stop = strcmp(line, "stop") == 0;
    if (keeps_last() && (is_stop || is_request(line, "start", &ms) || is_request(line, "toggle", &ms)))
        return is_stop || ms ? "with --keep-last the capture has no end" : write_out(HD_SESSION_TRIGGERED);
    if (is_stop) return window_close("trigger", WINDOW_ANY) ? NULL : "the capture is closed already";
    if (is_request(line, "start", &ms)) return window_open("trigger", ms) ? NULL : "the capture is open already";
    if (!is_request(line, "toggle", &ms)) return "unknown request: this program has another version of Heddle in it";
    if (!window_close("trigger", WINDOW_ANY)) window_open("trigger", ms);
    return NULL;
}

/* A line without its end. false: none came, or only byte by byte, which would block the thread. */
static bool read_line(int fd, char *line, size_t room)
{
    size_t have = 0;
    int64_t limit_ns = hd_session_now() + CLIENT_MS * INT64_C(1000000);
    while (have < room - 1 && hd_session_now() < limit_ns) {
        ssize_t n = recv(fd, line + have, room - 1 - have, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        char *end = memchr(line + have, '\n', (size_t)n);
        have += (size_t)n;
        if (!end) continue;
        *end = 0;
        return true;
    }
    return false;
}

static void send_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left) {
        ssize_t n = send(fd, text, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        text += n;
        left -= (size_t)n;
    }
}

/* By the system's credentials: nothing is read from other users. */
static bool may_ask(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == 0 || peer.uid == geteuid() || peer.uid == getuid();
}

static void serve(int fd)
{
    char line[CONTROL_REQUEST_BYTES], answer[CONTROL_ANSWER_BYTES];
    struct timeval limit = {.tv_usec = CLIENT_MS * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!may_ask(fd)) {
        send_all(fd, CONTROL_HELLO "\nerror the program is of another user\n");
        return;
    }
    if (!read_line(fd, line, sizeof line)) return;
    answer_state(answer, sizeof answer, obey(line));
    send_all(fd, answer);
}

/* At most as many as the backlog; then due windows are handled, even under a flood of connections. */
static void serve_some(void)
{
    for (int i = 0; i < BACKLOG && is_ours() && !atomic_load(&control.ending); i++) { /* the ending thread waits */
        int fd = accept4(control.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno == EINTR) continue;
        if (fd < 0) return;
        serve(fd);
        close(fd);
    }
}

/* ---- stalls ---- */

/* Nothing was recorded for too long: once, until something is again. */
static void look_for_stall(void)
{
    hd_session_stats stats;
    int64_t limit_ns = (int64_t)control.tracer->options.on_stall_ms * 1000000, now = hd_session_now();
    if (!limit_ns) return;
    hd_session_statistics(&stats, control.tracer->session);
    if (stats.emitted != control.emitted) {
        control.emitted = stats.emitted;
        control.emitted_ns = now;
    }
    if (!control.emitted_ns || now - control.emitted_ns < limit_ns) return;
    control.emitted_ns = 0;
    write_out(HD_SESSION_STALLED);
}

/* ---- the thread ---- */

static int wait_ms(int64_t due_ns)
{
    int most = control.fd < 0 && control.signal == SIGNAL_ON ? BLIND_MS : LOOK_MS;
    if (due_ns == INT64_MAX) return most;
    int64_t left = (due_ns - hd_session_now() + 999999) / 1000000;
    return left < 0 ? 0 : left < most ? (int)left : most;
}

static void *control_main(void *unused)
{
    (void)unused;
    session_own_thread(1);
    pthread_setname_np(pthread_self(), "heddle-control");
    while (!atomic_load(&control.ending)) {
        int64_t due_ns = window_keep_time();
        struct pollfd watched = {.fd = control.fd, .events = POLLIN};
        int timeout = wait_ms(due_ns);
        if (!is_ours()) listen_and_tell(); /* the program closed it: the number is not ours to close */
        watched.fd = control.fd;
        poll(&watched, 1, timeout);
        serve_some();
        obey_signals();
        look_at_signal();
        look_for_stall();
    }
    session_own_thread(-1);
    return NULL;
}

static void start_thread(void)
{
    atomic_store(&control.ending, false);
    control.is_running = hd_thread_start(&control.thread, control_main, NULL) == 0;
    if (!control.is_running) hd_session_note(control.tracer->session, "window.no-control", HD_SESSION_LOSS, 1);
}

/* Without the socket signals, times and steps work; `heddle trigger` does not. */
static void begin_to_listen(void)
{
    name_socket();
    listen_and_tell();
}

void control_start(cuda_tracer *tracer)
{
    control.tracer = tracer;
    begin_to_listen();
    if (tracer->options.trigger || keeps_last()) catch_signal();
    start_thread();
}

/* In the child: close the parent's socket, and start our own thread when it is first needed. */
void control_forked(void)
{
    let_go();
    atomic_store(&control.is_heard, false);
    control.is_running = false;
    atomic_store(&control_is_missing, true);
}

void control_revive(void)
{
    if (!atomic_exchange(&control_is_missing, false) || !control.tracer) return;
    begin_to_listen();
    start_thread();
}

void control_stop(void)
{
    look_at_signal();
    if (!control.is_running || atomic_load(&control_is_missing)) return;
    atomic_store(&control.ending, true);
    control_wake();
    pthread_join(control.thread, NULL);
    control.is_running = false;
    let_go();
    atomic_store(&control.is_heard, false);
}
