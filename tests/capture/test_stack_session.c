/* test_stack_session.c - stacks as ids of a session, and what reaches the trace */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "capture/programs/stack_subject.h"
#include "capture/session/impl.h"
#include "capture/session_support.h"
#include "capture/stack_names.h"
#include "heddle/stack.h"
#include "heddle/stacks.h"
#include "patience.h"
#include "quiet_fork.h"
#include "under_tsan.h"

#define APART STACK_APART

typedef struct taken {
    hd_session *session;
    hd_stack_options options;
    uint32_t id;
} taken;

void take_here(void *user);
void stack_subject_clean(int *unused);

void stack_subject_clean(int *unused)
{
    (void)unused;
}

APART void take_here(void *user)
{
    taken *t = user;
    t->id = hd_session_stack_here(t->session, &t->options);
}

static uint32_t take_in_chain(hd_session *session)
{
    taken t = {.session = session};
    chain_bare(take_here, &t);
    return t.id;
}

static void emit_with(hd_session *session, uint32_t stack)
{
    hd_session_emit(session, &(hd_session_record){.kind = HD_SESSION_INSTANT,
                                                  .time_ns = hd_session_now(),
                                                  .name = hd_session_intern(session, "taken"),
                                                  .stack = stack});
}

static void test_stack_here__equal_stacks_are_one_id(void **state)
{
    char path[100];
    hd_stack_stats before, after;
    uint32_t ids[3];
    taken t = {.session = start_session(file_named(path, "ids.hdcap"), NULL)};
    (void)state;
    hd_stack_statistics(&before);
    for (int i = 0; i < 3; i++) ids[i] = take_in_chain(t.session);
    assert_true(ids[0] > 0);
    assert_int_equal(ids[0], ids[1]);
    assert_int_equal(ids[0], ids[2]);
    recursive_bare(3, take_here, &t);
    uint32_t other = t.id;
    recursive_bare(4, take_here, &t);
    assert_int_not_equal(other, t.id);
    assert_int_not_equal(other, ids[0]);
    hd_stack_statistics(&after);
    assert_int_equal(after.taken - before.taken, 5);
    assert_int_equal(after.cached - before.cached, 2);
    assert_int_equal(after.broken + after.failed + after.truncated + after.guessed, 0);
    hd_session_free(t.session);
    unlink(path);
}

static void test_stack_here__deeper_than_a_stack_may_be_is_cut_and_counted(void **state)
{
    char path[100];
    hd_stack_stats before, after;
    taken t = {.session = start_session(file_named(path, "deep.hdcap"), NULL)};
    (void)state;
    hd_stack_statistics(&before);
    recursive_bare(2000, take_here, &t);
    hd_stack_statistics(&after);
    assert_true(t.id > 0);
    assert_int_equal(after.truncated - before.truncated, 1);
    hd_session_free(t.session);
    unlink(path);
}

static void test_stack_here__more_stacks_than_a_thread_keeps(void **state)
{
    char path[100];
    static uint32_t ids[400];
    taken t = {.session = start_session(file_named(path, "many.hdcap"), NULL)};
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (unsigned depth = 0; depth < 400; depth++) {
            recursive_pointers(depth, take_here, &t);
            assert_true(t.id > 0);
            if (round) assert_int_equal(t.id, ids[depth]);
            ids[depth] = t.id;
            if (depth) assert_int_not_equal(ids[depth], ids[depth - 1]);
        }
    }
    hd_session_free(t.session);
    unlink(path);
}

static void test_stack_here__nothing_without_a_session(void **state)
{
    char path[100];
    hd_session *session = start_session(file_named(path, "stopped.hdcap"), NULL);
    (void)state;
    assert_int_equal(hd_session_stack_here(NULL, NULL), 0);
    hd_session_stack_refresh(NULL);
    hd_session_stack_finish(NULL);
    assert_int_equal(hd_session_perf_map(NULL, "/dev/null"), 0);
    hd_session_stop(NULL, session, NULL);
    assert_int_equal(hd_session_stack_here(session, NULL), 0);
    hd_session_free(session);
    unlink(path);
}

static void test_stack_here__ids_are_those_of_the_session_asked(void **state)
{
    char a[100], b[100];
    hd_session *first = start_session(file_named(a, "first.hdcap"), NULL);
    hd_session *second = start_session(file_named(b, "second.hdcap"), NULL);
    taken t = {.session = second};
    (void)state;
    recursive_bare(100, take_here, &t); /* ids of the second go on from here */
    hd_session *both[] = {first, second, first, second};
    uint32_t ids[4];
    for (int i = 0; i < 4; i++) ids[i] = take_in_chain(both[i]);
    assert_int_equal(ids[0], ids[2]);
    assert_int_equal(ids[1], ids[3]);
    assert_true(ids[1] > ids[0]);
    hd_session_free(first);
    hd_session_free(second);
    unlink(a);
    unlink(b);
}

/* ---- in the trace ---- */

static void test_stack_here__the_trace_has_frames_by_module_and_offset(void **state)
{
    char path[100], want[64];
    hd_session *session = start_session(file_named(path, "trace.hdcap"), NULL);
    hd_trace_stacks *stacks;
    Dl_info info;
    (void)state;
    emit_with(session, take_in_chain(session));
    hd_session_stack_finish(session);
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
    hd_session_free(session);
    hd_trace *trace = read_capture(path);
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    hd_event event = row_at(trace, HD_KIND_INSTANT, 0);
    uint32_t node = hd_trace_stacks_of(stacks, &event);
    assert_true(node != HD_STACK_NONE);
    /* The second frame is in plain_bare, of this program. */
    hd_frame frame =
        hd_stacks_at(hd_trace_stacks_tree(stacks), hd_stacks_at(hd_trace_stacks_tree(stacks), node).caller);
    hd_string name = hd_stacks_text(hd_trace_stacks_tree(stacks), frame.name);
    const char *module = "test_capture_stack_session+0x";
    assert_true(name.size > strlen(module) && memcmp(name.data, module, strlen(module)) == 0);
    assert_true(dladdr((void *)plain_bare, &info));
    memcpy(want, name.data + strlen(module), name.size - strlen(module));
    want[name.size - strlen(module)] = 0;
    uint64_t offset = strtoull(want, NULL, 16), start = (uintptr_t)plain_bare - (uintptr_t)info.dli_fbase;
    assert_in_range(offset, start + 1, start + 200);
    assert_int_equal(ledger_count(trace, "stack.broken"), 0);
    assert_int_not_equal(ledger_count(trace, "stack.taken"), 0);
    hd_trace_stacks_free(stacks);
    hd_trace_free(trace);
    unlink(path);
}

/* Lists are written before the events behind them. */
static void flush(hd_session *session)
{
    emit_with(session, 0);
    assert_int_equal(hd_session_flush(session, NULL), HD_OK);
}

static bool trace_has_text(const char *path, const char *text)
{
    static char bytes[4 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void test_refresh__modules_that_are_loaded_later_are_told(void **state)
{
    char path[100];
    hd_session *session = start_session(file_named(path, "modules.hdcap"), NULL);
    uint32_t (*call)(uint32_t(*)(void));
    (void)state;
    take_in_chain(session);
    flush(session);
    assert_true(trace_has_text(path, "test_capture_stack_session"));
    assert_true(trace_has_text(path, "[vdso]"));
    assert_false(trace_has_text(path, "stack_taker"));
    void *library = dlopen(getenv("HEDDLE_STACK_TAKER"), RTLD_NOW);
    if (!library) fail_msg("%s", dlerror());
    *(void **)&call = dlsym(library, "taker_call");
    assert_non_null(call);
    hd_session_stack_refresh(session);
    flush(session);
    assert_true(trace_has_text(path, "stack_taker"));
    hd_session_free(session);
    dlclose(library);
    unlink(path);
}

static frames through_module;

static uint32_t walk_in_callback(void)
{
    through_module.count = hd_stack_walk(through_module.at, FRAMES_MAX, 0, &through_module.walked);
    return 0;
}

int __real_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *user);
int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *user);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

static hd_session *asked_meanwhile; /* by another thread, once the objects have been counted */
static bool has_no_memory;

static void *refresh_once(void *session)
{
    hd_session_stack_refresh(session);
    return NULL;
}

int __wrap_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *user)
{
    static int walks;
    hd_session *session = asked_meanwhile;
    if (session && ++walks == 2) {
        pthread_t thread;
        asked_meanwhile = NULL;
        assert_int_equal(pthread_create(&thread, NULL, refresh_once, session), 0);
        pthread_join(thread, NULL);
        assert_int_not_equal(session->lists[SESSION_MODULES].count, 0);
    }
    return __real_dl_iterate_phdr(each, user);
}

void *__wrap_realloc(void *old, size_t size)
{
    return has_no_memory ? NULL : __real_realloc(old, size);
}

static void test_refresh__whoever_comes_meanwhile_finds_modules_that_are_told(void **state)
{
    char path[100];
    (void)state;
    hd_session *session = start_session(file_named(path, "meanwhile.hdcap"), NULL);
    asked_meanwhile = session;
    hd_session_stack_refresh(session);
    assert_null(asked_meanwhile);
    hd_session_free(session);
    unlink(path);
}

static void test_refresh__what_there_was_no_memory_for_is_told_later(void **state)
{
    char path[100];
    (void)state;
    hd_session *session = start_session(file_named(path, "later.hdcap"), NULL);
    has_no_memory = true;
    hd_session_stack_refresh(session);
    has_no_memory = false;
    assert_int_equal(session->lists[SESSION_MODULES].count, 0);
    hd_session_stack_refresh(session);
    assert_int_not_equal(session->lists[SESSION_MODULES].count, 0);
    hd_session_free(session);
    unlink(path);
}

static void test_refresh__a_module_that_is_loaded_again_is_walked_through(void **state)
{
    char path[100];
    hd_session *session = start_session(file_named(path, "again.hdcap"), NULL);
    (void)state;
    for (int i = 0; i < 3; i++) {
        uint32_t (*call)(uint32_t(*)(void));
        void *library = dlopen(getenv("HEDDLE_STACK_TAKER"), RTLD_NOW);
        if (!library) fail_msg("%s", dlerror());
        *(void **)&call = dlsym(library, "taker_call");
        call(walk_in_callback);
        assert_string_equal(function_at(through_module.at[1]), "taker_call");
        assert_int_equal(through_module.walked.end, HD_STACK_WHOLE);
        assert_true(frame_named(&through_module, "main") < through_module.count);
        dlclose(library);
        hd_session_stack_refresh(session);
    }
    hd_session_free(session);
    unlink(path);
}

static void test_finish__code_that_no_loader_knows_is_a_module(void **state)
{
    char path[100];
    hd_session *session = start_session(file_named(path, "anon.hdcap"), NULL);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    take_in_chain(session);
    hd_session_stack_finish(session);
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
    assert_true(trace_has_text(path, "//anon"));
    hd_session_free(session);
    munmap(page, 4096);
    unlink(path);
}

/* ---- perf maps ---- */

static void test_perf_map__functions_are_symbols_and_what_is_none_is_not(void **state)
{
    char path[100], map[100];
    hd_session *session = start_session(file_named(path, "map.hdcap"), NULL);
    FILE *file = fopen(file_named(map, "perf-1.map"), "w");
    (void)state;
    assert_non_null(file);
    fputs("7f0012340000 40 py::work:/home/me/a b.py\nnonsense\n7f0012340040 zz\n7f0012340080 0 empty\n", file);
    fputs("7f0012340000f0000 40 wide\n 7f0012340000 40 behind a blank\n", file);
    fwrite("zero\0zero\n7f0012340080 20 after\n", 1, 33, file);
    fputs("7f00123400c0 20 py::", file);
    for (int i = 0; i < 9000; i++) fputc('x', file);
    fputs("\n7f0012340100 20 last", file); /* without an end: was being written */
    fclose(file);
    assert_int_equal(hd_session_perf_map(session, map), 3);
    flush(session);
    assert_true(trace_has_text(path, "after"));
    assert_true(trace_has_text(path, "py::work:/home/me/a b.py"));
    assert_true(trace_has_text(path, "last"));
    hd_session_free(session);
    unlink(map);
    unlink(path);
}

static void test_perf_map__links_and_pipes_are_not_read(void **state)
{
    char path[100], map[100], link[100];
    hd_session *session = start_session(file_named(path, "map.hdcap"), NULL);
    FILE *file = fopen(file_named(map, "perf-1.map"), "w");
    (void)state;
    assert_non_null(file);
    fputs("7f0012340000 40 py::work\n", file);
    fclose(file);
    assert_int_equal(symlink(map, file_named(link, "perf-2.map")), 0);
    assert_int_equal(hd_session_perf_map(session, link), 0);
    unlink(link);
    assert_int_equal(mkfifo(link, 0600), 0);
    assert_int_equal(hd_session_perf_map(session, link), 0);
    unlink(link);
    assert_int_equal(hd_session_perf_map(session, link), 0);
    hd_session_free(session);
    unlink(map);
    unlink(path);
}

/* ---- threads, signals, fork ---- */

enum { THREADS = 6, ROUNDS = 2000, DEPTHS = 20 };

static void *take_many(void *user)
{
    taken t = *(taken *)user;
    uint32_t first[DEPTHS] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        recursive_bare(i % DEPTHS, take_here, &t);
        if (t.id == 0 || (i >= DEPTHS && first[i % DEPTHS] != t.id)) return (void *)1;
        first[i % DEPTHS] = t.id;
    }
    return NULL;
}

static void test_stack_here__threads_have_the_same_ids_for_the_same_stacks(void **state)
{
    char path[100];
    taken t = {.session = start_session(file_named(path, "threads.hdcap"), NULL)};
    pthread_t threads[THREADS];
    hd_stack_stats before, after;
    (void)state;
    hd_stack_statistics(&before);
    for (int round = 0; round < 2; round++) { /* the second uses what ended threads had */
        for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, take_many, &t), 0);
        for (int i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            assert_null(failed);
        }
    }
    hd_stack_statistics(&after);
    assert_int_equal(after.taken - before.taken, 2 * THREADS * ROUNDS);
    assert_int_equal(after.cached - before.cached, 2 * THREADS * (ROUNDS - DEPTHS));
    hd_session_free(t.session);
    unlink(path);
}

static taken in_signal;
static volatile unsigned signals, signals_with_id;

static void take_in_signal(int number)
{
    (void)number;
    signals++;
    signals_with_id += hd_session_stack_here(in_signal.session, &in_signal.options) != 0;
}

static void test_stack_here__signals_that_interrupt_it_do_no_harm(void **state)
{
    char path[100];
    struct sigaction action = {.sa_handler = take_in_signal, .sa_flags = SA_RESTART}, before;
    struct itimerval never = {{0, 0}, {0, 0}};
    taken t = {.session = start_session(file_named(path, "signals.hdcap"), NULL)};
    (void)state;
    in_signal = (taken){.session = t.session, .options = {.in_signal = true}};
    signals = 0;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    uint32_t ids[DEPTHS] = {0};
    for (unsigned i = 0; i < 20000 || signals < 20; i++) {
        /* One signal at a time: those of a period come faster than a slow machine handles them. */
        struct itimerval once = {{0, 0}, {0, 1 + i % 200}};
        if (i % 8 == 0) assert_int_equal(setitimer(ITIMER_REAL, &once, NULL), 0);
        recursive_bare(i % DEPTHS, take_here, &t);
        assert_true(t.id > 0);
        if (i >= DEPTHS) assert_int_equal(t.id, ids[i % DEPTHS]);
        ids[i % DEPTHS] = t.id;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(signals_with_id, 0); /* each such stack is new */
    hd_session_free(t.session);
    unlink(path);
}

static atomic_bool refresh_ends;

static void *refresh_on_and_on(void *session)
{
    while (!atomic_load(&refresh_ends)) hd_session_stack_refresh(session);
    return NULL;
}

static int look_at_none(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)info, (void)size, (void)user;
    return 1;
}

/* The lock of dl_iterate_phdr, which a child of fork gets as it is. */
static void test_refresh__a_child_of_fork_can_ask_the_loader_whatever_our_threads_did(void **state)
{
    enum { LOOKING = 2, FORKS = 200 };
    char path[100];
    pthread_t threads[LOOKING];
    hd_session *session = start_session(file_named(path, "loader.hdcap"), NULL);
    (void)state;
    for (int i = 0; i < LOOKING; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, refresh_on_and_on, session), 0);
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm((unsigned)hd_test_patience(300));
            _exit(dl_iterate_phdr(look_at_none, NULL) == 1 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&refresh_ends, true);
    for (int i = 0; i < LOOKING; i++) pthread_join(threads[i], NULL);
    hd_session_free(session);
    unlink(path);
}

static void test_stack_here__a_child_of_fork_counts_for_itself(void **state)
{
    char path[100];
    int status;
    (void)state;
    SKIP_UNDER_TSAN();
    hd_session *session =
        start_session(file_named(path, "fork.hdcap"), &(hd_session_options){.fork = HD_SESSION_FORK_FILE});
    take_in_chain(session);
    pid_t child = hd_test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        hd_stack_stats stats;
        uint32_t id = take_in_chain(session);
        hd_stack_statistics(&stats);
        hd_session_instant(session, hd_session_intern(session, "child"), 0);
        emit_with(session, id);
        hd_session_stop(NULL, session, NULL);
        _exit(stats.taken == 1 && id ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hd_session_free(session);
    char of_child[140];
    sprintf(of_child, "%s/fork.%d.hdcap", test_folder, (int)child);
    hd_trace *trace = read_capture(of_child);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), 2);
    hd_trace_free(trace);
    unlink(of_child);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack_here__equal_stacks_are_one_id),
        cmocka_unit_test(test_stack_here__deeper_than_a_stack_may_be_is_cut_and_counted),
        cmocka_unit_test(test_stack_here__more_stacks_than_a_thread_keeps),
        cmocka_unit_test(test_stack_here__nothing_without_a_session),
        cmocka_unit_test(test_stack_here__ids_are_those_of_the_session_asked),
        cmocka_unit_test(test_stack_here__the_trace_has_frames_by_module_and_offset),
        cmocka_unit_test(test_refresh__modules_that_are_loaded_later_are_told),
        cmocka_unit_test(test_refresh__whoever_comes_meanwhile_finds_modules_that_are_told),
        cmocka_unit_test(test_refresh__what_there_was_no_memory_for_is_told_later),
        cmocka_unit_test(test_refresh__a_module_that_is_loaded_again_is_walked_through),
        cmocka_unit_test(test_finish__code_that_no_loader_knows_is_a_module),
        cmocka_unit_test(test_perf_map__functions_are_symbols_and_what_is_none_is_not),
        cmocka_unit_test(test_perf_map__links_and_pipes_are_not_read),
        cmocka_unit_test(test_stack_here__threads_have_the_same_ids_for_the_same_stacks),
        cmocka_unit_test(test_stack_here__signals_that_interrupt_it_do_no_harm),
        cmocka_unit_test(test_refresh__a_child_of_fork_can_ask_the_loader_whatever_our_threads_did),
        cmocka_unit_test(test_stack_here__a_child_of_fork_counts_for_itself),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
