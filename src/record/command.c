/* command.c - the command as a child that behaves as if it were alone
 *
 * Signals   the caller's are blocked and received one by one with their senders. Those sent by a process are passed on
 *           to the command; those of the terminal (si_code SI_KERNEL) went to the whole process group and reached it
 *           already. Ignored ones stay ignored, as under nohup. SIGTSTP stops the caller too, after it was passed on.
 * Start     the child waits for a byte (a tracer may attach meanwhile), then calls execvpe; if that fails, its errno
 *           comes back through a pipe that execve closes
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/kernel.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on, NOT_EXECUTABLE = 126, NOT_FOUND = 127, KILLED = 128 };

typedef struct child {
    pid_t pid;
    int go, problem; /* pipes: to release it, and for the error of execve */
    int status;
    bool ended;
    struct rusage usage;
    sigset_t waited;            /* signals that the caller waits for */
    sigset_t old_mask;          /* before */
    struct sigaction old_child; /* SIGCHLD before: a caller that ignores it would lose the status */
    int64_t started_ns;
} child;

/* ---- signals ---- */

static void block_signals(child *c)
{
    struct sigaction action, normal = {.sa_handler = SIG_DFL};
    sigemptyset(&c->waited);
    sigaddset(&c->waited, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++) {
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&c->waited, passed_on[i]);
    }
    sigaction(SIGCHLD, &normal, &c->old_child);
    pthread_sigmask(SIG_BLOCK, &c->waited, &c->old_mask);
}

static void restore_signals(child *c)
{
    sigaction(SIGCHLD, &c->old_child, NULL);
    pthread_sigmask(SIG_SETMASK, &c->old_mask, NULL);
}

/* Stops like any process that gets SIGTSTP: not at all if the process group is orphaned, since nothing would resume
 * it. */
static void stop(void)
{
    sigset_t set;
    struct sigaction old, normal = {.sa_handler = SIG_DFL};
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaction(SIGTSTP, &normal, &old);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* here */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGTSTP, &old, NULL);
}

static void pass_on(const recording *r, const child *c, const siginfo_t *info)
{
    bool sent = info->si_code <= 0 && info->si_pid != c->pid;
    bool is_request = r->options->keep_last_ns && info->si_signo == SIGUSR2;
    if (is_request && !r->live)
        record_say(r, "what is kept cannot be written out here before the command ends: there is no socket in %s",
                   r->result->parts);
    else if (is_request)
        record_live_request(r->live, HD_SESSION_SIGNALLED);
    else if (sent && !c->ended)
        kill(c->pid, info->si_signo);
    if (info->si_signo == SIGTSTP) stop();
}

/* ---- start ---- */

/* In the child: only system calls until execve. */
_Noreturn static void become(const recording *r, const child *c, const int go[2], const int problem[2])
{
    char byte;
    struct sigaction normal = {.sa_handler = r->options->sigpipe_ignored ? SIG_IGN : SIG_DFL};
    close(go[1]);
    while (read(go[0], &byte, 1) < 0 && errno == EINTR) continue;
    sigaction(SIGCHLD, &c->old_child, NULL);
    sigaction(SIGPIPE, &normal, NULL);
    sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
    char **environment = r->environment ? r->environment : environ;
    execvpe(r->command[0], (char *const *)(uintptr_t)r->command, environment);
    int reason = errno;
    ssize_t written = write(problem[1], &reason, sizeof reason);
    _exit(written == sizeof reason ? NOT_FOUND : NOT_EXECUTABLE);
}

static hd_status start(recording *r, child *c)
{
    int go[2] = {-1, -1}, problem[2] = {-1, -1};
    bool fine = pipe2(go, O_CLOEXEC) == 0 && pipe2(problem, O_CLOEXEC) == 0;
    c->pid = fine ? fork() : -1;
    if (c->pid == 0) become(r, c, go, problem);
    int reason = errno;
    if (go[0] >= 0) close(go[0]);
    if (problem[1] >= 0) close(problem[1]);
    c->go = go[1];
    c->problem = problem[0];
    if (c->pid > 0) return HD_OK;
    return hd_error_set(r->err, HD_ERR_IO, r->command[0], HD_OFFSET_NONE, "cannot start a process: %s",
                        strerror(reason));
}

/* Releases the child. 0, or why it could not become the command. */
static int let_go(child *c)
{
    int reason = 0;
    ssize_t n;
    close(c->go); /* its read ends */
    c->go = -1;
    do n = read(c->problem, &reason, sizeof reason);
    while (n < 0 && errno == EINTR);
    return n == sizeof reason ? reason : 0;
}

static hd_status not_started(recording *r, child *c, int reason)
{
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) continue;
    r->result->exit_status = reason == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    if (reason == ENOENT && !strchr(r->command[0], '/'))
        return hd_error_set(r->err, HD_ERR_IO, r->command[0], HD_OFFSET_NONE, "no such command in PATH");
    return hd_error_set(r->err, HD_ERR_IO, r->command[0], HD_OFFSET_NONE, "cannot be executed: %s", strerror(reason));
}

/* ---- wait ---- */

/* Reaps the command and, with wait_all, any other ended process. */
static void reap(const recording *r, child *c)
{
    int status;
    struct rusage usage;
    for (;;) {
        pid_t pid = wait4(r->options->wait_all ? -1 : c->pid, &status, WNOHANG, &usage);
        if (pid <= 0) return;
        if (pid != c->pid) continue;
        c->status = status;
        c->usage = usage;
        c->ended = true;
        if (!r->options->wait_all) return;
    }
}

static void wait_for_command(const recording *r, child *c)
{
    siginfo_t info;
    reap(r, c);
    while (!c->ended) {
        if (sigwaitinfo(&c->waited, &info) < 0) continue; /* EINTR */
        if (info.si_signo == SIGCHLD)
            reap(r, c);
        else
            pass_on(r, c, &info);
    }
    /* Signals that arrived while the command was ending were for it: they must not end this process once they are
     * unblocked. */
    const struct timespec now = {0};
    while (sigtimedwait(&c->waited, &info, &now) > 0) pass_on(r, c, &info);
}

/* Descendants whose parent ended became our children. A signal ends the wait, and not them. */
static void wait_for_others(recording *r, child *c)
{
    bool told = false;
    siginfo_t info = {0};
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno != EINTR) return; /* ECHILD: none is left */
        if (pid != 0) continue;
        if (!told) record_say(r, "the command has ended; waiting for processes that it left (a signal ends that)");
        told = true;
        r->left = sigwaitinfo(&c->waited, &info) >= 0 && info.si_signo != SIGCHLD && info.si_signo != SIGCONT;
        if (r->left) return;
    }
}

static int64_t time_ns(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void note_end(recording *r, const child *c)
{
    hd_record_result *result = r->result;
    result->wall_ns = hd_now_ns() - c->started_ns;
    result->cpu_ns = time_ns(c->usage.ru_utime) + time_ns(c->usage.ru_stime);
    result->exit_status = WIFSIGNALED(c->status) ? KILLED + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

/* ---- all of it ---- */

/* Of a tracer that could not begin. Fails only if the command may not run without. */
static hd_status not_attached(recording *r, hd_status status, const hd_error *why)
{
    char text[HD_ERROR_TEXT_BYTES];
    if (r->options->strict) {
        if (r->err) *r->err = *why;
        return status;
    }
    record_say(r, "%s", hd_error_text(text, sizeof text, why));
    return HD_OK;
}

static hd_status attach(bool *out, record_kernel **out_kernel, recording *r, const child *c)
{
    const hd_record_options *o = r->options;
    hd_error err = {0};
    hd_status status;
    *out = false;
    *out_kernel = NULL;
    if (r->without) return HD_OK;
    if (o->attach) {
        status = o->attach(o->user, c->pid, r->result->parts, &err);
        *out = status == HD_OK;
        if (!*out) HD_TRY(not_attached(r, status, &err));
    }
    err = (hd_error){0};
    status = o->kernel ? record_kernel_start(out_kernel, r, &err) : HD_OK;
    return status == HD_OK ? HD_OK : not_attached(r, status, &err);
}

static hd_status detach(recording *r, bool attached, record_kernel *kernel)
{
    const hd_record_options *o = r->options;
    hd_status status = record_kernel_stop(kernel, r->err);
    hd_status ended = attached && o->detach ? o->detach(o->user, status == HD_OK ? r->err : NULL) : HD_OK;
    return status == HD_OK ? ended : status;
}

/* It still waits, as a mere copy of this process. */
static void end_child(const child *c)
{
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) continue;
}

static hd_status run_child(recording *r, child *c)
{
    HD_TRY(start(r, c));
    bool attached;
    record_kernel *kernel;
    hd_status status = attach(&attached, &kernel, r, c);
    if (status != HD_OK) {
        end_child(c);
        if (attached) r->options->detach(r->options->user, NULL);
        return status;
    }
    c->started_ns = hd_now_ns();
    int reason = let_go(c);
    if (reason) {
        status = not_started(r, c, reason);
    } else {
        r->result->started = true;
        wait_for_command(r, c);
        note_end(r, c);
        if (r->options->wait_all) wait_for_others(r, c);
    }
    hd_status ended = detach(r, attached, kernel);
    return status == HD_OK ? ended : status;
}

hd_status record_command(recording *r)
{
    child c = {.pid = -1, .go = -1, .problem = -1};
    int was_subreaper = 0;
    if (r->options->wait_all) {
        prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper, 0, 0, 0);
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    block_signals(&c);
    hd_status status = run_child(r, &c);
    if (c.go >= 0) close(c.go);
    if (c.problem >= 0) close(c.problem);
    restore_signals(&c);
    if (r->options->wait_all) prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)was_subreaper, 0, 0, 0);
    return status;
}
