/* test_session_signals.c - a signal handler that emits a name that is new, while its thread holds a lock of the session
 *
 * Each pthread_mutex_unlock of the library goes by way of this file, by --wrap of the linker, and raises the signal
 * before the lock is let go. Whoever waits for ever is ended by SIGALRM.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "capture/session_support.h"
#include "heddle/mark.h"
#include "heddle/stack.h"
#include "patience.h"

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

static hd_session *the_session;
static _Thread_local volatile sig_atomic_t is_armed;
static volatile sig_atomic_t came;

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
    if (is_armed) {
        is_armed = 0; /* the handler's own locks raise nothing */
        raise(SIGUSR1);
        is_armed = 1;
    }
    return __real_pthread_mutex_unlock(lock);
}

static void on_signal(int number)
{
    char name[16] = "handler 000000";
    int digits = (int)++came;
    (void)number;
    for (char *p = name + 13; digits; digits /= 10) *p-- = (char)('0' + digits % 10);
    hd_session_instant(the_session, hd_session_intern(the_session, name), 0);
}

/* ---- calls ---- */

static void call_statistics(hd_session *session)
{
    hd_session_stats stats;
    hd_session_statistics(&stats, session);
    assert_true(stats.bytes > 0);
}

static void call_flush(hd_session *session)
{
    assert_int_equal(hd_session_flush(session, NULL), HD_OK);
}

static void call_intern(hd_session *session)
{
    assert_int_not_equal(hd_session_intern(session, "a name"), 0);
}

static void call_first_event(hd_session *session)
{
    hd_session_instant(session, 0, 0);
}

static void call_name_thread(hd_session *session)
{
    hd_session_name_thread(session, "main");
}

static void call_track(hd_session *session)
{
    hd_session_track_info info = {.kind = HD_SESSION_TRACK_DEVICE};
    assert_int_not_equal(hd_session_track(session, &info), 0);
}

static void call_args(hd_session *session)
{
    hd_session_arg arg = {.key = "key", .type = HD_SESSION_INT, .integer = 1};
    assert_int_not_equal(hd_session_args(session, &arg, 1), 0);
}

static void call_args_over_limit(hd_session *session)
{
    assert_int_equal(hd_session_args(session, NULL, HD_SESSION_ARGS_MAX + 1), 0);
}

static void call_stack(hd_session *session)
{
    uint64_t frame = 4096;
    assert_int_not_equal(hd_session_stack(session, &frame, 1), 0);
}

static void call_stack_here(hd_session *session)
{
    assert_int_not_equal(hd_session_stack_here(session, NULL), 0);
}

static void call_module(hd_session *session)
{
    hd_session_module_info info = {.start = 4096, .end = 8192, .path = "//anon"};
    assert_int_not_equal(hd_session_module(session, &info), 0);
}

static void call_symbol(hd_session *session)
{
    assert_int_not_equal(hd_session_symbol(session, 4096, 16, "function"), 0);
}

static void call_note(hd_session *session)
{
    hd_session_note(session, "test.note", HD_SESSION_NOTE, 1);
}

static void call_metadata(hd_session *session)
{
    hd_session_metadata(session, "key", "{}");
}

static void call_fork(hd_session *session)
{
    int status;
    (void)session;
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void call_stack_finish(hd_session *session)
{
    hd_session_stack_finish(session);
}

static void call_start(hd_session *session)
{
    char path[128];
    (void)session;
    hd_session *other = start_session(file_named(path, "other.hdcap"), NULL);
    hd_session_free(other);
    unlink(path);
}

static void call_stop(hd_session *session)
{
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
}

/* Each in a session of its own, so that whatever happens once happens in each. */
static void test_session_signals__a_handler_never_waits_for_its_own_thread(void **state)
{
    static void (*const calls[])(hd_session *) = {
        call_statistics, call_flush,           call_intern, call_first_event,  call_name_thread, call_track,
        call_args,       call_args_over_limit, call_stack,  call_stack_here,   call_module,      call_symbol,
        call_note,       call_metadata,        call_fork,   call_stack_finish, call_start,       call_stop,
        hd_session_free};
    struct sigaction action = {.sa_handler = on_signal}, before;
    char path[128];
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        hd_session *session = the_session = start_session(file_named(path, "signals.hdcap"), NULL);
        int signals = came;
        alarm((unsigned)hd_test_patience(300));
        is_armed = 1;
        calls[i](session);
        is_armed = 0;
        alarm(0);
        the_session = NULL;
        if (came == signals) fail_msg("call %zu takes no lock", i);
        if (calls[i] != hd_session_free) hd_session_free(session);
        unlink(path);
    }
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_signals__a_handler_never_waits_for_its_own_thread),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
