/* witness.c - says which process died, and what it was at
 *
 * A process that is killed cannot speak, and launchers name its number at best. So each has a child that knows what it
 * is at and waits for the end of a socket, which comes when it dies, however that was. Launchers end all others at once
 * then: only the first witness of a host speaks, which is the one that binds a name in the abstract namespace of
 * sockets. It keeps the name for some seconds, which Open MPI may take to end the others.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "mpi/impl.h"

enum { AT_BYTES = 2048, QUIET_SECONDS = 10 };

typedef enum word { WORD_AT, WORD_TOLD, WORD_END } word;

/* One packet. */
typedef struct news {
    int word, rank, size;
    char at[AT_BYTES];
} news;

/* The launcher's process is the parent of all processes of a job on a host, and of no other job's. */
static bool is_first(pid_t launcher)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int size = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "heddle-witness-%ld", (long)launcher);
    int at = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return at < 0 || bind(at, (struct sockaddr *)&name,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) == 0;
}

static void speak(const news *last, pid_t process)
{
    char host[256] = "", text[AT_BYTES + 512];
    gethostname(host, sizeof host - 1);
    int size = snprintf(text, sizeof text, "heddle: process %d of %d (PID %ld of %s) died%s%.*s\n", last->rank,
                        last->size, (long)process, host, last->at[0] ? " while it was at " : "", AT_BYTES, last->at);
    if (write(STDERR_FILENO, text, (size_t)size) < 0) return;
}

static void keep_quiet(void)
{
    close(3);
    close(STDERR_FILENO); /* launchers wait for its end */
    sleep(QUIET_SECONDS);
}

/* Never returns: nothing of the process's own, such as buffers of output, may be used or flushed. */
static _Noreturn void watch(int from, pid_t process, pid_t launcher)
{
    news last = {.size = 1}, next;
    ssize_t got;
    setsid(); /* signals to the process's group are not for it */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (from != 3) dup2(from, 3);
    close_range(4, ~0u, 0); /* launchers wait for the end of connections of theirs */
    while ((got = read(3, &next, sizeof next)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof next || next.word == WORD_END) _exit(0);
        last = next;
        if (next.word == WORD_TOLD) break;
    }
    if (!is_first(launcher)) _exit(0);
    if (last.word != WORD_TOLD) speak(&last, process);
    keep_quiet();
    _exit(0);
}

hd_status mpi_witness_start(mpi_witness *out, hd_error *err)
{
    int ends[2];
    pid_t self = getpid(), launcher = getppid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no socket: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        watch(ends[0], self, launcher);
    }
    close(ends[0]);
    if (pid < 0) close(ends[1]);
    if (pid < 0) return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no process: %s", strerror(errno));
    *out = (mpi_witness){ends[1], pid};
    return HD_OK;
}

/* The witness may be gone: what it does not hear is no reason to end. */
static void say(const mpi_witness *witness, const news *what)
{
    if (witness->pid && send(witness->socket, what, sizeof *what, MSG_NOSIGNAL) < 0) return;
}

void mpi_witness_tell(const mpi_witness *witness, int rank, int size, const char *at)
{
    news what = {.word = WORD_AT, .rank = rank, .size = size};
    snprintf(what.at, sizeof what.at, "%s", at ? at : "");
    say(witness, &what);
}

void mpi_witness_dismiss(mpi_witness *witness, bool told)
{
    if (!witness->pid) return;
    char nothing;
    say(witness, &(news){.word = told ? WORD_TOLD : WORD_END});
    while (recv(witness->socket, &nothing, 1, 0) < 0 && errno == EINTR) continue; /* until it has heard that */
    close(witness->socket);
    if (!told) waitpid(witness->pid, NULL, 0);
    witness->pid = 0;
}
