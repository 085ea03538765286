/* test_session_load.c - many threads under every policy; a program that is killed at any moment */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/session_support.h"
#include "rounds.h"

enum {
    THREADS = 8,
    EVENTS = HD_TEST_BY_BUILD(1000000, 200000),
    KILL_THREADS = 2,
    KILL_RING = 1024,
    CHUNK_EVENTS = 4096
};

typedef struct emitter {
    hd_session *session;
    unsigned id;
    uint64_t events;
    atomic_uint_least64_t *progress; /* NULL: nobody looks */
} emitter;

/* Each event says whose it is (duration) and its number (start). */
static void *emit(void *user)
{
    emitter *e = user;
    for (uint64_t i = 0; i < e->events; i++) {
        hd_session_slice(e->session, 0, 0, (int64_t)i + 1, e->id + 1);
        if (e->progress) atomic_store(e->progress, i + 1);
    }
    return NULL;
}

/* Events of each emitter in the order of their numbers. out_last: the number of the last. */
static void count_events(const hd_trace *trace, uint64_t *out_counts, int64_t *out_last, bool *out_gaps)
{
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        for (uint32_t row = 0; row < block->row_count; row++) {
            int64_t id = hd_column_at(&block->columns[HD_COL_DURATION], row) - 1;
            int64_t number = hd_column_at(&block->columns[HD_COL_START], row);
            assert_true(id >= 0 && id < THREADS);
            assert_true(number > out_last[id]);
            *out_gaps |= number != out_last[id] + 1;
            out_last[id] = number;
            out_counts[id]++;
        }
    }
}

static void run(hd_ring_policy policy, const char *path)
{
    pthread_t threads[THREADS];
    emitter emitters[THREADS];
    hd_session_stats stats;
    hd_session *session = start_session(path, &(hd_session_options){.policy = policy});
    for (unsigned i = 0; i < THREADS; i++) {
        emitters[i] = (emitter){session, i, EVENTS, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, emit, &emitters[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(hd_session_stop(&stats, session, NULL), HD_OK);
    hd_session_free(session);
    print_message("policy %d: written %llu newest %llu oldest %llu waits %llu, %llu bytes, %.2f s\n", (int)policy,
                  (unsigned long long)stats.written, (unsigned long long)stats.dropped_newest,
                  (unsigned long long)stats.dropped_oldest, (unsigned long long)stats.waits,
                  (unsigned long long)stats.bytes, (double)stats.duration_ns * 1e-9);
    assert_int_equal(stats.emitted, (uint64_t)THREADS * EVENTS);
    assert_adds_up(&stats);
    assert_int_equal(stats.lost + stats.nested + stats.pending, 0);
    if (policy == HD_RING_BLOCK) assert_int_equal(stats.written, stats.emitted);
    if (policy != HD_RING_DROP_NEWEST) assert_int_equal(stats.dropped_newest, 0);
    if (policy != HD_RING_DROP_OLDEST) assert_int_equal(stats.dropped_oldest, 0);

    uint64_t counts[THREADS] = {0}, total = 0;
    int64_t last[THREADS] = {0};
    bool gaps = false;
    hd_trace *trace = read_capture(path);
    count_events(trace, counts, last, &gaps);
    for (unsigned i = 0; i < THREADS; i++) {
        total += counts[i];
        if (policy == HD_RING_DROP_OLDEST) assert_int_equal(last[i], EVENTS); /* the latest is never dropped */
    }
    assert_int_equal(total, stats.written);
    assert_int_equal(gaps, stats.dropped_newest + stats.dropped_oldest > 0);
    assert_int_equal(ledger_count(trace, "capture.dropped-newest"), stats.dropped_newest);
    assert_int_equal(ledger_count(trace, "capture.dropped-oldest"), stats.dropped_oldest);
    assert_int_equal(ledger_count(trace, "capture.events-missing"), 0);
    assert_int_equal(ledger_count(trace, "capture.not-finished"), 0);
    hd_trace_free(trace);
}

static void test_session_load__emitted_and_dropped_add_up_under_every_policy(void **state)
{
    char path[128];
    (void)state;
    for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
        run((hd_ring_policy)policy, file_named(path, "load.hdcap"));
        unlink(path);
    }
}

/* ---- SIGKILL ---- */

static void run_until_killed(const char *path, atomic_uint_least64_t *progress)
{
    hd_session *session;
    pthread_t threads[KILL_THREADS];
    emitter emitters[KILL_THREADS];
    hd_session_options options = {.policy = HD_RING_BLOCK, .ring_events = KILL_RING, .flush_ms = 1};
    if (hd_session_start(&session, path, &options, NULL) != HD_OK) _exit(1);
    for (unsigned i = 0; i < KILL_THREADS; i++) {
        emitters[i] = (emitter){session, i, UINT64_MAX, &progress[i]};
        pthread_create(&threads[i], NULL, emit, &emitters[i]);
    }
    pause();
}

static void test_session_load__killed_at_any_moment_the_file_holds_all_but_the_last(void **state)
{
    char path[128];
    uint64_t kept = 0, missing_most = 0, torn = 0;
    unsigned seed = hd_test_seed(12345), kills = hd_test_rounds(100);
    (void)state;
    file_named(path, "kill.hdcap");
    atomic_uint_least64_t *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned turn = 0; turn < kills; turn++) {
        for (int i = 0; i < KILL_THREADS; i++) atomic_store(&progress[i], 0);
        pid_t pid = fork();
        if (pid == 0) {
            run_until_killed(path, progress);
            _exit(1);
        }
        struct timespec wait = {0, rand_r(&seed) % 20000000};
        while (!atomic_load(&progress[0])) usleep(100);
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        uint64_t counts[THREADS] = {0};
        int64_t last[THREADS] = {0};
        bool gaps = false;
        hd_trace *trace = read_capture(path);
        count_events(trace, counts, last, &gaps);
        assert_false(gaps);
        assert_int_equal(ledger_count(trace, "capture.not-finished"), 1);
        assert_int_equal(ledger_count(trace, "capture.events-missing"), 0);
        for (int i = 0; i < KILL_THREADS; i++) {
            uint64_t emitted = atomic_load(&progress[i]);
            uint64_t missing = emitted > counts[i] ? emitted - counts[i] : 0;
            assert_true(missing <= KILL_RING + CHUNK_EVENTS);
            missing_most = missing > missing_most ? missing : missing_most;
            kept += counts[i];
        }
        torn += ledger_count(trace, "capture.bytes-skipped") > 0;
        hd_trace_free(trace);
        unlink(path);
    }
    print_message("%u kills: %llu events kept, at most %llu of a thread missing, %llu files with a cut chunk\n", kills,
                  (unsigned long long)kept, (unsigned long long)missing_most, (unsigned long long)torn);
    assert_true(kept > 0);
    munmap(progress, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_load__emitted_and_dropped_add_up_under_every_policy),
        cmocka_unit_test(test_session_load__killed_at_any_moment_the_file_holds_all_but_the_last),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
