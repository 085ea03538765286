/* alone.c - ends a program whose only remaining threads are ours, if its session has exit_when_alone
 *
 * A process lives as long as one of its threads. If main called pthread_exit() and the other threads return, the C
 * library ends the process with the last of them, by exit(0); our threads would keep it alive for ever, and
 * unresponsive, since they block all signals. So they are counted, and the session's thread checks now and then whether
 * the first thread is gone, which costs a readlink (a thread that has ended has no executable; no descriptor is used);
 * only then all threads are counted. A new thread ends the process, so that exit handlers can wait for our threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session/impl.h"

static atomic_uint own;                          /* threads of ours */
static atomic_flag has_begun = ATOMIC_FLAG_INIT; /* to end */

void session_own_thread(int change)
{
    atomic_fetch_add(&own, (unsigned)change);
}

void session_own_threads_in_child(void)
{
    atomic_store(&own, 0);
}

/* From /proc/self/stat: "PID (NAME) STATE …", where NAME may be any text, and the 18th word from STATE on is the number
 * of threads, including the first one as long as others live. */
static bool only_ours_are_left(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (size <= 0) return false;
    text[size] = 0;
    const char *p = strrchr(text, ')');
    if (!p || strncmp(p, ") Z ", 4) != 0) return false;
    for (int word = 0; word < 18 && p; word++) p = strchr(p + 1, ' ');
    return p && strtoul(p, NULL, 10) <= atomic_load(&own) + 1;
}

static void *end_program(void *unused)
{
    (void)unused;
    exit(0);
}

void session_look_around(void)
{
    char path[8];
    if (readlink("/proc/self/exe", path, sizeof path) >= 0 || errno != ENOENT) return;
    if (!only_ours_are_left() || atomic_flag_test_and_set(&has_begun)) return;
    pthread_t thread;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &none, NULL); /* the new thread's: pending signals are delivered, too */
    if (pthread_create(&thread, NULL, end_program, NULL) == 0)
        pthread_detach(thread);
    else
        atomic_flag_clear(&has_begun);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}
