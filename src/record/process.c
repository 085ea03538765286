/* process.c - a process that runs already, instead of a command (hd_record_options.pid)
 *
 * It is not stopped, and nothing is put into it: `attach` captures from outside.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/kernel.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

char *record_name_of_process(int pid)
{
    char path[64], *name = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file && getline(&name, &room, file) > 0) name[strcspn(name, "\n")] = 0;
    if (file) fclose(file);
    return name && *name ? name : (free(name), strdup("process"));
}

static hd_status cannot_wait(int pid, hd_error *err)
{
    if (errno == ESRCH) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no process %d", pid);
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "cannot wait for process %d: %s (it needs Linux 5.3, and the id of a process, not of a thread)",
                        pid, strerror(errno));
}

/* Until it ends, a signal, or for the duration. */
static void wait_for(const recording *r, int process, int signals)
{
    struct pollfd ready[] = {{process, POLLIN, 0}, {signals, POLLIN, 0}};
    int64_t begin = hd_now_ns(), most = r->options->duration_ns;
    for (;;) {
        int64_t left = most ? (most - (hd_now_ns() - begin) + 999999) / 1000000 : INT32_MAX;
        if (left <= 0) return;
        int count = poll(ready, 2, left < INT32_MAX ? (int)left : INT32_MAX);
        if (count > 0 || (count < 0 && errno != EINTR)) return;
    }
}

static hd_status capture(recording *r, int process, int signals)
{
    const hd_record_options *o = r->options;
    record_kernel *kernel = NULL;
    HD_TRY(o->attach(o->user, o->pid, r->result->parts, r->err));
    hd_status status = o->kernel ? record_kernel_start(&kernel, r, r->err) : HD_OK;
    int64_t begin = hd_now_ns();
    r->result->started = true;
    if (status == HD_OK) wait_for(r, process, signals);
    r->result->wall_ns = hd_now_ns() - begin;
    hd_status stopped = record_kernel_stop(kernel, status == HD_OK ? r->err : NULL);
    if (status == HD_OK) status = stopped;
    hd_status detached = o->detach(o->user, status == HD_OK ? r->err : NULL);
    return status == HD_OK ? detached : status;
}

hd_status record_running_process(recording *r)
{
    sigset_t ends, before;
    struct signalfd_siginfo info;
    int process = (int)syscall(SYS_pidfd_open, r->options->pid, 0);
    if (process < 0) return cannot_wait(r->options->pid, r->err);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    hd_status status = capture(r, process, signals);
    /* Those that ended the capture do not end the making of the trace. */
    while (signals >= 0 && read(signals, &info, sizeof info) > 0) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (signals >= 0) close(signals);
    close(process);
    return status;
}
