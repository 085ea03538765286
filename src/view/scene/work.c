/* work.c - the steps that complete a scene: rows of all lanes, counters and async slices, lane index, launches, derived
 * tracks */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/clock.h"
#include "base/error.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "view/scene/impl.h"

typedef struct scene_worker {
    view_scene *scene;
    const atomic_bool *stop;
    view_scene_news *news;
    void *user;
} scene_worker;

static void report_news(const scene_worker *w, const char *what)
{
    if (w->news) w->news(w->user, what);
}

static bool stopped(const scene_worker *w)
{
    return w->stop && atomic_load(w->stop);
}

/* ---- lanes ---- */

typedef struct lane_job {
    uint32_t lane;
    uint64_t count;
} lane_job;

typedef struct lane_work {
    const scene_worker *worker;
    hd_kind kind;
    scene_lane *lanes;
    lane_job *jobs;
    size_t job_count;
    atomic_size_t next;
} lane_work;

typedef struct lane_thread {
    lane_work *work;
    bool tells; /* reports progress: only one thread does */
    hd_status status;
    hd_error error;
} lane_thread;

static void lay_out_some(void *state)
{
    enum { TELL_MS = 150 };
    lane_thread *t = state;
    lane_work *work = t->work;
    view_scene *scene = work->worker->scene;
    int64_t told_ms = hd_now_ms();
    size_t i;
    while (t->status == HD_OK && !stopped(work->worker) && (i = atomic_fetch_add(&work->next, 1)) < work->job_count) {
        uint32_t lane = work->jobs[i].lane;
        view_track *track = view_scene_track(scene, scene->lane_tracks[work->kind][lane]);
        t->status = scene_lay_out_lane(scene, track, &work->lanes[lane], &t->error);
        if (!t->tells || hd_now_ms() - told_ms < TELL_MS) continue;
        char what[64];
        snprintf(what, sizeof what, "laying out rows: %zu of %zu", i + 1, work->job_count);
        atomic_fetch_add(&scene->revision, 1);
        report_news(work->worker, what);
        told_ms = hd_now_ms();
    }
}

static int by_count(const void *a, const void *b)
{
    const lane_job *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static hd_status run_lanes(lane_work *work, hd_error *err)
{
    enum { THREADS = 16 };
    lane_thread threads[THREADS];
    unsigned count = hd_thread_count(0, work->job_count);
    if (count > THREADS) count = THREADS;
    for (unsigned i = 0; i < count; i++) threads[i] = (lane_thread){.work = work, .tells = i == 0};
    hd_threads_run(lay_out_some, threads, sizeof *threads, count);
    for (unsigned i = 0; i < count; i++) {
        if (threads[i].status == HD_OK) continue;
        if (err && err->status == HD_OK) *err = threads[i].error;
        return threads[i].status;
    }
    return HD_OK;
}

/* The longest lanes first, so that the threads end together. */
static hd_status lay_out_kind(const scene_worker *w, hd_kind kind, hd_error *err)
{
    const view_scene *scene = w->scene;
    lane_work work = {.worker = w, .kind = kind};
    if (stopped(w) || hd_trace_row_count(scene->trace, kind) == 0) return HD_OK;
    HD_TRY(scene_gather(&work.lanes, scene, kind, 0, err));
    work.jobs = malloc(((size_t)scene->source_count + 1) * sizeof *work.jobs);
    for (uint32_t i = 0; work.jobs && i <= scene->source_count; i++) {
        if (scene->lane_tracks[kind][i] != HD_NONE) work.jobs[work.job_count++] = (lane_job){i, work.lanes[i].count};
    }
    if (work.jobs) hd_sort(work.jobs, work.job_count, sizeof *work.jobs, by_count);
    hd_status status = work.jobs ? run_lanes(&work, err) : HD_NOMEM(err);
    free(work.jobs);
    scene_free_lanes(work.lanes, scene);
    atomic_fetch_add(&w->scene->revision, 1);
    return status;
}

/* ---- all steps ---- */

static hd_status lay_out_slices(const scene_worker *w, hd_error *err)
{
    return lay_out_kind(w, HD_KIND_SLICE, err);
}

static hd_status lay_out_points(const scene_worker *w, hd_error *err)
{
    HD_TRY(lay_out_kind(w, HD_KIND_INSTANT, err));
    return lay_out_kind(w, HD_KIND_SAMPLE, err);
}

static hd_status add_counters(const scene_worker *w, hd_error *err)
{
    return scene_add_counters(w->scene, err);
}

static hd_status add_async(const scene_worker *w, hd_error *err)
{
    return scene_add_async(w->scene, err);
}

static hd_status build_index(const scene_worker *w, hd_error *err)
{
    view_scene *scene = w->scene;
    if (view_scene_index(scene)) return HD_OK;
    HD_TRY(hd_index_build(&scene->own_index, scene->trace, 0, err));
    atomic_store(&scene->index, scene->own_index);
    return HD_OK;
}

static hd_status find_launches(const scene_worker *w, hd_error *err)
{
    view_scene *scene = w->scene;
    hd_launches *launches;
    if (view_scene_launches(scene)) return HD_OK;
    HD_TRY(hd_launches_new(&launches, scene->trace, err));
    atomic_store(&scene->launches, launches);
    return HD_OK;
}

static hd_status run_derived(const scene_worker *w, scene_derive *derive, hd_error *err)
{
    static const atomic_bool never = false;
    return derive(w->scene, w->stop ? w->stop : &never, err);
}

static hd_status derive_device(const scene_worker *w, hd_error *err)
{
    hd_status status = run_derived(w, view_derive_device, err);
    atomic_store(&w->scene->devices_known, true);
    return status;
}

static hd_status sum_up_sections(const scene_worker *w, hd_error *err)
{
    return scene_sum_up_sections(w->scene, w->stop, err);
}

static hd_status derive_ops(const scene_worker *w, hd_error *err)
{
    HD_TRY(run_derived(w, view_derive_ops, err));
    HD_TRY(run_derived(w, view_derive_framework, err));
    return run_derived(w, view_derive_lines, err);
}

typedef struct scene_step {
    const char *what; /* for people */
    hd_status (*run)(const scene_worker *w, hd_error *err);
    scene_derive *derive; /* instead */
} scene_step;

/* Sequential, even if independent: each takes memory, and uses all threads itself if it is long. */
static const scene_step steps[] = {
    {"laying out rows", lay_out_slices},
    {"reading categories", .derive = view_derive_categories},
    {"laying out instants and samples", lay_out_points},
    {"reading counters", add_counters},
    {"pairing async slices", add_async},
    {"indexing lanes", build_index},
    {"finding launches", find_launches},
    {"adding up what devices do", derive_device},
    {"adding up sections", sum_up_sections},
    {"finding steps", .derive = view_derive_steps},
    {"projecting ops onto devices", derive_ops},
    {"measuring launches", .derive = view_derive_launches},
    {"adding up memory", .derive = view_derive_memory},
    {"counting names", .derive = view_derive_search},
    {"joining flows", .derive = view_derive_flows},
    {"finding the critical path", .derive = view_derive_critical},
    {"counting what is shown", .derive = view_derive_fidelity},
};

enum { STEP_COUNT = sizeof steps / sizeof *steps };

static hd_status run_step(const scene_worker *w, size_t step, hd_error *err)
{
    hd_status status = steps[step].run ? steps[step].run(w, err) : run_derived(w, steps[step].derive, err);
#ifdef __GLIBC__
    malloc_trim(0); /* steps free much that they need for a moment only */
#endif
    return status;
}

hd_status view_scene_work_step(view_scene *scene, size_t step, view_scene_news *news, void *user, hd_error *err)
{
    const scene_worker w = {.scene = scene, .news = news, .user = user};
    hd_status status = step < STEP_COUNT ? run_step(&w, step, err) : HD_END;
    report_news(&w, status == HD_OK && step + 1 < STEP_COUNT ? steps[step + 1].what : "");
    return status;
}

hd_status view_scene_work(view_scene *scene, const atomic_bool *stop, view_scene_news *news, void *user, hd_error *err)
{
    const scene_worker w = {.scene = scene, .stop = stop, .news = news, .user = user};
    hd_status status = HD_OK;
    for (size_t i = 0; i < STEP_COUNT && status == HD_OK && !stopped(&w); i++) {
        report_news(&w, steps[i].what);
        status = run_step(&w, i, err);
    }
    report_news(&w, "");
    return status;
}
