/* bench_tiles.c - a scene of a trace: time to its tracks, time to lay it out, memory, and time of batches of tiles
 *
 * Usage    bench_tiles [-t THREADS] TRACE
 * Prints   per zoom: median and 95th percentile of batches of up to 100 tracks at positions all over the trace, in ms
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "bench.h"
#include "view/tile/tile.h"

enum { BATCH_TRACKS = 100, POSITIONS = 40 };

static long status_kb(const char *key)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key) + 1, NULL, 10);
    }
    if (file) fclose(file);
    return value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID: what a busy machine lengthens less. */
static double cpu_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static hd_status batch(double *out_ms, double *out_cpu_ms, size_t *out_bytes, view_scene *scene, const uint32_t *tracks,
                       uint32_t count, unsigned z, int64_t i, hd_error *err)
{
    hd_bytes bytes = {0};
    bool exact;
    double begin = bench_seconds(), cpu_begin = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t t = 0; t < count; t++)
        HD_TRY(view_tile_track(&bytes, &exact, scene, tracks[t], z, i, false, NULL, err));
    *out_ms = (bench_seconds() - begin) * 1e3;
    *out_cpu_ms = (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) * 1e3;
    *out_bytes = bytes.size;
    hd_bytes_deinit(&bytes);
    return HD_OK;
}

static hd_status measure_tiles(view_scene *scene, const char *when, hd_error *err)
{
    const view_order *order;
    HD_TRY(view_scene_order(&order, scene, err));
    uint32_t count = order->count < BATCH_TRACKS ? order->count : BATCH_TRACKS;
    double all[64 * POSITIONS];
    size_t all_count = 0;
    for (unsigned z = 2; z <= 40; z += 2) {
        double ms[POSITIONS], cpu_ms[POSITIONS];
        size_t most = 0;
        for (int p = 0; p < POSITIONS; p++) {
            int64_t time = (int64_t)((double)view_scene_span(scene) * ((p * 17) % POSITIONS) / POSITIONS);
            size_t bytes;
            HD_TRY(batch(&ms[p], &cpu_ms[p], &bytes, scene, order->ids, count, z, time >> z >> 9, err));
            all[all_count++] = ms[p];
            if (bytes > most) most = bytes;
        }
        qsort(ms, POSITIONS, sizeof *ms, by_value);
        qsort(cpu_ms, POSITIONS, sizeof *cpu_ms, by_value);
        printf("%s tracks=%u z=%u median_ms=%.3f p95_ms=%.3f cpu_p95_ms=%.3f most_bytes=%zu\n", when, count, z,
               ms[POSITIONS / 2], ms[POSITIONS * 95 / 100], cpu_ms[POSITIONS * 95 / 100], most);
    }
    qsort(all, all_count, sizeof *all, by_value);
    printf("%s all median_ms=%.3f p95_ms=%.3f\n", when, all[all_count / 2], all[all_count * 95 / 100]);
    view_scene_order_done(order, scene);
    return HD_OK;
}

static void print_rows(const view_scene *scene)
{
    uint64_t rows = 0, events = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) {
        const view_track *track = view_scene_track(scene, i);
        rows += track->rows.count;
        events += track->event_count;
        for (uint32_t r = 0; r < track->rows.count; r++) bytes += view_row_bytes(&track->rows.rows[r]);
    }
    printf("tracks=%u rows=%llu events=%llu row_bytes=%zu\n", view_scene_track_count(scene), (unsigned long long)rows,
           (unsigned long long)events, bytes);
}

/* The most anonymous memory while the scene is worked on. */
typedef struct memory_watch {
    pthread_t thread;
    atomic_bool stop;
    atomic_long most_kb, step_kb; /* since it began; since the last step */
} memory_watch;

static void *watch(void *state)
{
    memory_watch *w = state;
    const struct timespec pause = {0, 5000000};
    while (!atomic_load(&w->stop)) {
        long kb = status_kb("RssAnon:");
        if (kb > atomic_load(&w->most_kb)) atomic_store(&w->most_kb, kb);
        if (kb > atomic_load(&w->step_kb)) atomic_store(&w->step_kb, kb);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

typedef struct step_times {
    double begin, cpu_begin;
    memory_watch watch;
} step_times;

static void tell(void *user, const char *what)
{
    step_times *times = user;
    printf("at_s=%.3f cpu_s=%.3f rss_anon_mb=%ld most_mb=%ld %s\n", bench_seconds() - times->begin,
           cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - times->cpu_begin, status_kb("RssAnon:") / 1024,
           atomic_exchange(&times->watch.step_kb, 0) / 1024, *what ? what : "done");
}

static hd_status work(view_scene *scene, step_times *times, hd_error *err)
{
    memory_watch *w = &times->watch;
    times->begin = bench_seconds();
    times->cpu_begin = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    bool watched = pthread_create(&w->thread, NULL, watch, w) == 0;
    hd_status status = view_scene_work(scene, NULL, tell, times, err);
    atomic_store(&w->stop, true);
    if (watched) pthread_join(w->thread, NULL);
    return status;
}

static hd_status measure(hd_trace *trace, hd_error *err)
{
    view_scene *scene;
    step_times times = {.begin = bench_seconds()};
    HD_TRY(view_scene_new(&scene, trace, err));
    printf("new_s=%.4f\n", bench_seconds() - times.begin);
    hd_status status = view_scene_index(scene) ? measure_tiles(scene, "first", err) : HD_OK;
    if (status == HD_OK) status = work(scene, &times, err);
    printf("rss_anon_mb=%ld rss_file_mb=%ld anon_most_mb=%ld\n", status_kb("RssAnon:") / 1024,
           status_kb("RssFile:") / 1024, atomic_load(&times.watch.most_kb) / 1024);
    print_rows(scene);
    if (status == HD_OK) status = measure_tiles(scene, "laid_out", err);
    view_scene_free(scene);
    return status;
}

int main(int argc, char **argv)
{
    hd_read_options options = {.lazy = true, .memory_limit = (uint64_t)64 << 20};
    hd_error err = {0};
    hd_trace *trace;
    int at = bench_options(&options, argc, argv, 1, "[-t THREADS] TRACE");
    double begin = bench_seconds();
    if (hd_trace_read(&trace, argv[at], &options, &err) != HD_OK) return bench_failed(&err);
    printf("open_s=%.4f\n", bench_seconds() - begin);
    return measure(trace, &err) == HD_OK ? 0 : bench_failed(&err);
}
