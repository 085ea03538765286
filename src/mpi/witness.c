/* witness.c - the watchdog: reports which process died, and its current item
 *
 * A killed process cannot report, and launchers name its number at best. So there is a watchdog on each host: all
 * processes of a job on the host send it their current item, over a socket whose end it sees when they die for any
 * reason. Launchers then end all others at once, so only the first is reported: epoll returns ends in order. On other
 * hosts, a process that the launcher asks to end (SIGTERM, as Open MPI and Slurm do) informs the watchdog that it is
 * not the cause; MPICH does not ask. One that the MPI itself ends first, as it lost the connection, is reported too.
 *
 * The watchdog is a child of the process that first binds a name in the abstract namespace of sockets, and ends with
 * the last connected process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "mpi/impl.h"

enum { AT_BYTES = 2048 };

typedef enum word { WORD_AT, WORD_TOLD, WORD_END } word;

/* One packet. */
typedef struct news {
    int word, rank, size;
    char at[AT_BYTES];
} news;

/* The launcher's process is the parent of all processes of a job on a host, and of no other job's. */
static socklen_t name_of_host(struct sockaddr_un *out, pid_t launcher)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "heddle-witness-%ld", (long)launcher);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

/* The process at the other end; -1: another user's. */
static pid_t process_of(int socket)
{
    struct ucred who;
    socklen_t size = sizeof who;
    bool is_own = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == getuid();
    return is_own ? who.pid : -1;
}

/* ---- the watchdog ---- */

typedef struct peer {
    int socket;
    pid_t process;
    news last;
} peer;

static void speak(const peer *p)
{
    char host[256] = "", text[AT_BYTES + 512];
    const char *at = p->last.at;
    gethostname(host, sizeof host - 1);
    int size = snprintf(text, sizeof text, "heddle: process %d of %d (PID %ld of %s) died%s%.*s\n", p->last.rank,
                        p->last.size, (long)p->process, host, *at ? " while it was at " : "", AT_BYTES, at);
    if (write(STDERR_FILENO, text, (size_t)size) < 0) return;
}

static bool admit(int poll, int listener)
{
    peer *p = calloc(1, sizeof *p);
    if (!p) return false;
    *p = (peer){.socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC), .last.size = 1};
    p->process = process_of(p->socket);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
    if (p->process >= 0 && epoll_ctl(poll, EPOLL_CTL_ADD, p->socket, &event) == 0) return true;
    close(p->socket);
    free(p);
    return false;
}

/* Reads one packet. true: the peer is gone. */
static bool hear(peer *p, bool *is_told)
{
    news next;
    ssize_t got = read(p->socket, &next, sizeof next);
    if (got < 0 && errno == EINTR) return false;
    if (got == sizeof next && next.word == WORD_AT) p->last = next;
    if (got == sizeof next && next.word == WORD_AT) return false;
    if (got != sizeof next && !*is_told) speak(p);
    if (got != sizeof next || next.word == WORD_TOLD) *is_told = true;
    close(p->socket);
    free(p);
    return true;
}

/* A replacement of closefrom of glibc 2.34. The system call does not exist before Linux 5.9. */
static void close_from(int first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
    DIR *open_files = opendir("/proc/self/fd");
    if (!open_files) return;
    for (const struct dirent *e; (e = readdir(open_files)) != NULL;) {
        int fd = atoi(e->d_name);
        if (fd >= first && fd != dirfd(open_files)) close(fd);
    }
    closedir(open_files);
}

/* Never returns: nothing of the process's own, such as output buffers, may be used or flushed. */
static _Noreturn void watch(int listener)
{
    struct epoll_event event = {.events = EPOLLIN};
    bool is_told = false;
    int peers = 0;
    setsid(); /* signals to the process's group are not for it */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (listener != 3) dup2(listener, 3);
    close_from(4); /* launchers wait for the end of connections of theirs */
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, 3, &event) != 0) _exit(1);
    do {
        if (epoll_wait(poll, &event, 1, -1) < 1) continue;
        if (!event.data.ptr)
            peers += admit(poll, 3);
        else
            peers -= hear(event.data.ptr, &is_told);
    } while (peers > 0);
    _exit(0);
}

static void start_watch(const struct sockaddr_un *name, socklen_t size)
{
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool is_first = bind(listener, (const struct sockaddr *)name, size) == 0 && listen(listener, SOMAXCONN) == 0;
    pid_t child = is_first ? fork() : -1;
    if (child == 0) {
        if (fork() == 0) watch(listener); /* no process waits for it */
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
    close(listener);
}

/* ---- the process ---- */

static int own_socket; /* to the watchdog of this process, for end_as_asked */
static struct sigaction sigterm_before;

static void end_as_asked(int number, siginfo_t *info, void *context)
{
    static const news end = {.word = WORD_END};
    (void)context;
    if (info->si_pid == getppid()) send(own_socket, &end, sizeof end, MSG_NOSIGNAL);
    sigaction(number, &sigterm_before, NULL);
    raise(number);
}

/* Handle SIGTERM before the program does, unless it is ignored; or no more. */
static void expect_end(bool is_expected)
{
    struct sigaction now, ours = {.sa_sigaction = end_as_asked, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGTERM, NULL, &now) != 0) return;
    bool is_ours = now.sa_sigaction == end_as_asked;
    if (is_expected && !is_ours && now.sa_handler != SIG_IGN) {
        sigterm_before = now;
        sigaction(SIGTERM, &ours, NULL);
    }
    if (!is_expected && is_ours) sigaction(SIGTERM, &sigterm_before, NULL);
}

/* Linux closes the highest descriptors of a dying process first: the watchdog notices before the launcher does. */
static int high_socket(void)
{
    enum { HIGH = 1000 }; /* a usual limit is 1024 */
    int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int high = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
    if (high < 0) return low;
    close(low);
    return high;
}

hd_status mpi_witness_start(mpi_witness *out, hd_error *err)
{
    enum { TRIES = 1000 }; /* it may be about to listen */
    const struct timespec pause = {.tv_nsec = 1000000};
    struct sockaddr_un name;
    socklen_t size = name_of_host(&name, getppid());
    for (int i = 0; i < TRIES; i++) {
        int at = high_socket();
        bool is_there = connect(at, (struct sockaddr *)&name, size) == 0;
        *out = (mpi_witness){at, is_there && process_of(at) >= 0};
        if (!out->is_there) close(at);
        own_socket = at;
        expect_end(out->is_there);
        if (is_there) return HD_OK;
        start_watch(&name, size);
        if (i) nanosleep(&pause, NULL);
    }
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no witness of this process: %s", strerror(errno));
}

/* The watchdog may be gone: an undelivered message is no reason to end. */
static void say(const mpi_witness *witness, const news *what)
{
    if (witness->is_there && send(witness->socket, what, sizeof *what, MSG_NOSIGNAL) < 0) return;
}

void mpi_witness_tell(const mpi_witness *witness, int rank, int size, const char *at)
{
    news what = {.word = WORD_AT, .rank = rank, .size = size};
    snprintf(what.at, sizeof what.at, "%s", at ? at : "");
    say(witness, &what);
}

void mpi_witness_dismiss(mpi_witness *witness, bool told)
{
    if (!witness->is_there) return;
    char nothing;
    expect_end(false);
    say(witness, &(news){.word = told ? WORD_TOLD : WORD_END});
    while (recv(witness->socket, &nothing, 1, 0) < 0 && errno == EINTR) continue; /* until it has heard that */
    close(witness->socket);
    witness->is_there = false;
}
