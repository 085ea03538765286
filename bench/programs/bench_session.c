/* bench_session.c - what emitting costs, and what reaches the file, with 1, 2 and 4 threads
 *
 * Usage    bench_session [-d FOLDER] [EVENTS]
 *
 * Beside each cost stands what of it is the clock's: begin, instant and counter read CLOCK_MONOTONIC once, a slice with
 * times of the caller's does not. Costs are medians of batches of 256, which leaves out those in which another program
 * had the processor. Floor: 25 ns an event without the clock, on an idle machine.
 */
#include <pthread.h>
#include <string.h>

#include "bench.h"
#include "heddle/session.h"

enum { BATCH = 256, THREADS_MAX = 4, FLOOR_NS = 25 };

typedef struct emitter {
    hd_session *session;
    size_t batches;
    double *costs;
    bool with_clock;
} emitter;

static void *emit(void *user)
{
    emitter *e = user;
    uint32_t name = hd_session_intern(e->session, "event"), category = hd_session_intern(e->session, "bench");
    int64_t time = hd_session_now();
    for (size_t b = 0; b < e->batches; b++) {
        double begin = bench_seconds();
        if (e->with_clock) {
            for (int i = 0; i < BATCH; i++) hd_session_instant(e->session, name, category);
        } else {
            for (int i = 0; i < BATCH; i++) hd_session_slice(e->session, name, category, time += 50, 40);
        }
        e->costs[b] = (bench_seconds() - begin) * 1e9 / BATCH;
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double clock_cost(void)
{
    enum { BATCHES = 4000 };
    static double costs[BATCHES];
    int64_t sum = 0;
    for (int b = 0; b < BATCHES; b++) {
        double begin = bench_seconds();
        for (int i = 0; i < BATCH; i++) sum += hd_session_now();
        costs[b] = (bench_seconds() - begin) * 1e9 / BATCH;
    }
    qsort(costs, BATCHES, sizeof *costs, by_value);
    return sum ? costs[BATCHES / 2] : 0;
}

static int measure(const char *path, hd_ring_policy policy, unsigned threads, bool with_clock, size_t events)
{
    static const char *const names[] = {"drop-newest", "drop-oldest", "block"};
    emitter e[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    size_t batches = events / threads / BATCH;
    double *costs = malloc(batches * threads * sizeof *costs);
    hd_session *session;
    hd_session_stats stats;
    hd_error err = {0};
    if (!costs) return 1;
    if (hd_session_start(&session, path, &(hd_session_options){.policy = policy}, &err) != HD_OK)
        return bench_failed(&err);
    for (unsigned i = 0; i < threads; i++) {
        e[i] = (emitter){session, batches, costs + i * batches, with_clock};
        if (pthread_create(&ids[i], NULL, emit, &e[i])) return 1;
    }
    for (unsigned i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    hd_status status = hd_session_stop(&stats, session, &err);
    hd_session_free(session);
    unlink(path);
    if (status != HD_OK) return bench_failed(&err);
    qsort(costs, batches * threads, sizeof *costs, by_value);
    printf(
        "policy=%s threads=%u clock=%d emit_ns=%.1f clock_ns=%.1f floor_ns=%d emitted=%llu written=%llu dropped=%llu "
        "written_per_s=%.0f bytes_per_event=%.2f seconds=%.3f\n",
        names[policy], threads, with_clock, costs[batches * threads / 2], with_clock ? clock_cost() : 0, FLOOR_NS,
        (unsigned long long)stats.emitted, (unsigned long long)stats.written,
        (unsigned long long)(stats.dropped_newest + stats.dropped_oldest),
        (double)stats.written * 1e9 / (double)stats.duration_ns, (double)stats.bytes / (double)stats.written,
        (double)stats.duration_ns * 1e-9);
    free(costs);
    return 0;
}

int main(int argc, char **argv)
{
    const char *folder = "/tmp";
    char path[4096];
    int option;
    while ((option = getopt(argc, argv, "d:")) != -1) {
        if (option != 'd') return 2;
        folder = optarg;
    }
    size_t events = optind < argc ? strtoull(argv[optind], NULL, 10) : 4000000;
    if (events < BATCH * THREADS_MAX || strlen(folder) > 4000) {
        fprintf(stderr, "usage: bench_session [-d FOLDER] [EVENTS]\n");
        return 2;
    }
    sprintf(path, "%s/bench_session.%d.hdcap", folder, (int)getpid());
    for (unsigned threads = 1; threads <= THREADS_MAX; threads *= 2) {
        for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
            if (measure(path, (hd_ring_policy)policy, threads, false, events)) return 1;
        }
        if (measure(path, HD_RING_BLOCK, threads, true, events)) return 1;
    }
    return 0;
}
