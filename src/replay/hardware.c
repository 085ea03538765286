/* hardware.c - a replay on a GPU: work of the same duration is launched again, without the program
 *
 * A thread for each of the trace's that launches or waits: it takes the time that the other took, launches where that
 * launched, and waits for the same work. Kernels are one that turns for a time and writes when it began and ended
 * (cuda.c); copies and sets have the same size, on a buffer of ours. Each queue of the trace is a stream, waits of
 * queues are events. Work whose call is not known is launched when it began, by a thread of its own.
 *
 * In: the plan of a replay. Out: the table `hardware`, of kernels, which tell their times; begin with
 * replay_on_hardware.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "replay/cuda.h"
#include "replay/replay.h"
#include "trace/event.h"

enum {
    BUFFER_BYTES_MOST = 256 << 20,
    SPIN_NS = 200000,       /* before a moment it is waited for without sleep */
    LEAD_NS = 20000000,     /* from the start of the threads to the first moment */
    LAUNCHES_MOST = 1 << 20 /* streams hold as many events and stamps */
};

typedef struct stamp {
    uint64_t start, end; /* of the GPU's clock */
} stamp;

typedef struct hardware {
    const replay *r;
    cuda_api cuda;
    uint32_t *firsts, *launched; /* by node of a thread: where its work begins in `launched`, which has one more */
    uint32_t *orphans;           /* work without a call, by start */
    size_t orphan_count;
    uint32_t *events;                  /* by work less first_work: its event, HD_NONE */
    _Atomic uint8_t *is_done;          /* by the same: it is launched */
    uint32_t *kernels;                 /* by the same: its stamp, HD_NONE */
    int64_t *bytes;                    /* by the same: of copies and sets */
    cuda_handle *event_list, *streams; /* streams: by lane */
    uint32_t event_count, kernel_count;
    cuda_address stamps, buffer;
    void *pinned;
    size_t buffer_bytes;
    int64_t from, base_ns; /* the first moment, of the trace and of CLOCK_MONOTONIC */
    uint64_t cut_copies;
    atomic_int failed; /* a CUDA error; all threads end */
} hardware;

typedef struct issuer {
    hardware *h;
    const hd_graph_lane *lane; /* NULL: of orphans */
} issuer;

static bool runs(const replay *r, uint32_t node)
{
    return !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE));
}

/* ---- what is to be launched ---- */

/* The call that launches work; HD_NONE: none that runs. */
static uint32_t call_of(const replay *r, uint32_t work)
{
    const hd_graph *g = r->graph;
    for (size_t e = g->first_edges[work]; e < g->first_edges[work + 1]; e++) {
        if (g->edge_kinds[e] == HD_EDGE_LAUNCH && !(r->plan.flags[g->froms[e]] & PLAN_PINNED)) return g->froms[e];
    }
    return HD_NONE;
}

/* Work in the order of its queue, call by call. */
static bool list_launches(hardware *h)
{
    const replay *r = h->r;
    uint32_t works = r->graph->node_count - r->first_work;
    h->firsts = hd_large_zeroed((size_t)r->first_work + 2, sizeof *h->firsts, r->large);
    h->launched = hd_large_new((size_t)works + 1, sizeof *h->launched, r->large);
    h->orphans = hd_large_new((size_t)works + 1, sizeof *h->orphans, r->large);
    if (!h->firsts || !h->launched || !h->orphans) return false;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t call = runs(r, n) ? call_of(r, n) : HD_NONE;
        if (call != HD_NONE)
            h->firsts[call + 2]++;
        else if (runs(r, n))
            h->orphans[h->orphan_count++] = n;
    }
    for (uint32_t n = 0; n < r->first_work; n++) h->firsts[n + 2] += h->firsts[n + 1];
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t call = runs(r, n) ? call_of(r, n) : HD_NONE;
        if (call != HD_NONE) h->launched[h->firsts[call + 1]++] = n;
    }
    uint32_t *spare = hd_large_new(h->orphan_count + 1, sizeof *spare, r->large);
    const int64_t *starts = r->graph->starts;
    if (spare) HD_SORT_RUNS(h->orphans, spare, h->orphan_count, x, y, starts[*x] < starts[*y]);
    hd_large_free(spare);
    return spare != NULL;
}

/* Work that others wait for has an event, kernels have a stamp. */
static bool number_works(hardware *h)
{
    const replay *r = h->r;
    const hd_graph *g = r->graph;
    uint32_t works = g->node_count - r->first_work;
    h->events = hd_large_new((size_t)works + 1, sizeof *h->events, r->large);
    h->kernels = hd_large_new((size_t)works + 1, sizeof *h->kernels, r->large);
    h->is_done = hd_large_zeroed((size_t)works + 1, 1, r->large);
    if (!h->events || !h->kernels || !h->is_done) return false;
    for (uint32_t w = 0; w < works; w++) {
        bool is_kernel = runs(r, r->first_work + w) && replay_work(r, r->first_work + w)->role == HD_ROLE_KERNEL;
        h->events[w] = HD_NONE;
        h->kernels[w] = is_kernel ? h->kernel_count++ : HD_NONE;
    }
    for (uint32_t n = 0; n < g->node_count; n++) {
        for (size_t e = g->first_edges[n]; runs(r, n) && e < g->first_edges[n + 1]; e++) {
            uint32_t from = g->froms[e];
            bool waits = g->edge_kinds[e] == HD_EDGE_EVENT || g->edge_kinds[e] == HD_EDGE_SYNC;
            if (!waits || !runs(r, from) || !replay_is_work(r, from)) continue;
            if (h->events[from - r->first_work] == HD_NONE) h->events[from - r->first_work] = h->event_count++;
        }
    }
    return true;
}

static hd_status read_bytes(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    uint32_t works = r->graph->node_count - r->first_work;
    gpu_arg bytes, size;
    bool fine = gpu_arg_init(&bytes, r->trace, "bytes");
    fine &= gpu_arg_init(&size, r->trace, "size");
    h->bytes = hd_large_zeroed((size_t)works + 1, sizeof *h->bytes, r->large);
    for (uint32_t w = 0; fine && h->bytes && w < works; w++) {
        uint32_t at, node = r->first_work + w;
        if (!runs(r, node) || replay_work(r, node)->role == HD_ROLE_KERNEL) continue;
        const hd_block *block = hd_trace_block_of(&at, r->trace, HD_KIND_SLICE, r->graph->slices[node]);
        if (!gpu_arg_whole(&h->bytes[w], &bytes, block, at) && !gpu_arg_whole(&h->bytes[w], &size, block, at))
            h->bytes[w] = 0;
        if (h->bytes[w] < 4) h->bytes[w] = 4;
        if (h->bytes[w] > BUFFER_BYTES_MOST) {
            h->bytes[w] = BUFFER_BYTES_MOST;
            h->cut_copies++;
        }
        if ((size_t)h->bytes[w] > h->buffer_bytes) h->buffer_bytes = (size_t)h->bytes[w];
    }
    gpu_arg_deinit(&bytes);
    gpu_arg_deinit(&size);
    return fine && h->bytes ? HD_OK : HD_NOMEM(err);
}

/* ---- on the GPU ---- */

static bool did(hardware *h, int result)
{
    int none = 0;
    if (result) atomic_compare_exchange_strong(&h->failed, &none, result);
    return result == 0;
}

static hd_status make_objects(hardware *h, hd_error *err)
{
    const hd_graph *g = h->r->graph;
    const cuda_api *c = &h->cuda;
    h->event_list = calloc((size_t)h->event_count + 1, sizeof *h->event_list);
    h->streams = calloc((size_t)g->lane_count + 1, sizeof *h->streams);
    if (!h->event_list || !h->streams) return HD_NOMEM(err);
    int result = c->allocate(&h->stamps, ((size_t)h->kernel_count + 1) * sizeof(stamp));
    if (!result && h->buffer_bytes) result = c->allocate(&h->buffer, 2 * h->buffer_bytes);
    if (!result && h->buffer_bytes) result = c->allocate_pinned(&h->pinned, h->buffer_bytes, 0);
    for (uint32_t e = 0; !result && e < h->event_count; e++)
        result = c->event_create(&h->event_list[e], CUDA_EVENT_NO_TIMING);
    for (uint32_t l = 0; !result && l < g->lane_count; l++) {
        if (g->lanes[l].is_queue) result = c->stream_create(&h->streams[l], CUDA_STREAM_NON_BLOCKING);
    }
    if (!result) result = c->set(h->stamps, 0, ((size_t)h->kernel_count + 1) * sizeof(stamp) / 4, NULL);
    return result ? cuda_failed("streams, events and memory", result, err) : HD_OK;
}

static void drop_objects(hardware *h)
{
    const cuda_api *c = &h->cuda;
    for (uint32_t e = 0; h->event_list && e < h->event_count; e++)
        if (h->event_list[e]) c->event_destroy(h->event_list[e]);
    for (uint32_t l = 0; h->streams && l < h->r->graph->lane_count; l++)
        if (h->streams[l]) c->stream_destroy(h->streams[l]);
    if (h->stamps) c->release(h->stamps);
    if (h->buffer) c->release(h->buffer);
    if (h->pinned) c->release_pinned(h->pinned);
    free(h->event_list);
    free(h->streams);
}

static bool spin(hardware *h, cuda_handle stream, uint32_t kernel, uint64_t ns)
{
    cuda_address at = h->stamps + (cuda_address)kernel * sizeof(stamp);
    void *arguments[] = {&at, &ns};
    return did(h, h->cuda.launch(h->cuda.spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static bool contains(hd_string name, const char *what)
{
    return memmem(name.data, name.size, what, strlen(what)) != NULL;
}

static bool move_bytes(hardware *h, cuda_handle stream, uint32_t node)
{
    const hd_work *work = replay_work(h->r, node);
    hd_string name = hd_trace_string(h->r->trace, work->name);
    size_t bytes = (size_t)h->bytes[node - h->r->first_work];
    if (work->role == HD_ROLE_SET) return did(h, h->cuda.set(h->buffer, 0, bytes / 4, stream));
    if (contains(name, "HtoD")) return did(h, h->cuda.copy_in(h->buffer, h->pinned, bytes, stream));
    if (contains(name, "DtoH")) return did(h, h->cuda.copy_out(h->pinned, h->buffer, bytes, stream));
    return did(h, h->cuda.copy(h->buffer + h->buffer_bytes, h->buffer, bytes, stream));
}

/* ---- threads ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_until(int64_t moment)
{
    int64_t early = moment - SPIN_NS;
    if (now_ns() < early) {
        struct timespec t = {early / 1000000000, early % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {}
    }
    while (now_ns() < moment) {}
}

/* Another thread may have to launch it first. */
static bool wait_launched(hardware *h, uint32_t work)
{
    while (!atomic_load_explicit(&h->is_done[work - h->r->first_work], memory_order_acquire))
        if (atomic_load(&h->failed)) return false;
    return true;
}

static bool launch(hardware *h, uint32_t node)
{
    const replay *r = h->r;
    const hd_graph *g = r->graph;
    uint32_t work = node - r->first_work;
    cuda_handle stream = h->streams[hd_graph_lane_of(g, node) - g->lanes];
    for (size_t e = g->first_edges[node]; e < g->first_edges[node + 1]; e++) {
        uint32_t from = g->froms[e];
        if (g->edge_kinds[e] != HD_EDGE_EVENT || !runs(r, from)) continue;
        if (!wait_launched(h, from)) return false;
        if (!did(h, h->cuda.stream_wait(stream, h->event_list[h->events[from - r->first_work]], 0))) return false;
    }
    bool fine = h->kernels[work] != HD_NONE ? spin(h, stream, h->kernels[work], (uint64_t)r->plan.durations[node])
                                            : move_bytes(h, stream, node);
    if (fine && h->events[work] != HD_NONE) fine = did(h, h->cuda.event_record(h->event_list[h->events[work]], stream));
    atomic_store_explicit(&h->is_done[work], 1, memory_order_release);
    return fine;
}

/* True: it waited for something. */
static bool wait_for_work(hardware *h, uint32_t node)
{
    const replay *r = h->r;
    const hd_graph *g = r->graph;
    bool waited = false;
    for (size_t e = g->first_edges[node]; e < g->first_edges[node + 1]; e++) {
        uint32_t from = g->froms[e];
        if (g->edge_kinds[e] != HD_EDGE_SYNC || !replay_is_work(r, from) || !runs(r, from)) continue;
        if (!wait_launched(h, from)) return false;
        did(h, h->cuda.event_synchronize(h->event_list[h->events[from - r->first_work]]));
        waited = true;
    }
    return waited;
}

static void issue_lane(hardware *h, const hd_graph_lane *lane)
{
    const replay *r = h->r;
    int64_t moment = 0;
    bool has_begun = false;
    for (uint32_t n = lane->first_node; n < lane->first_node + lane->node_count && !atomic_load(&h->failed); n++) {
        if (r->plan.flags[n] & PLAN_PINNED) continue;
        if (!has_begun) moment = h->base_ns + (r->graph->starts[n] - h->from);
        has_begun = true;
        bool waited = wait_for_work(h, n);
        if (waited && now_ns() > moment) moment = now_ns();
        if (h->firsts[n + 1] > h->firsts[n]) wait_until(moment);
        for (uint32_t i = h->firsts[n]; i < h->firsts[n + 1]; i++)
            if (!launch(h, h->launched[i])) return;
        moment += r->plan.durations[n];
        /* A call that takes longer than it did makes its thread late, as it would the program. */
        if (h->firsts[n + 1] > h->firsts[n] && now_ns() > moment) moment = now_ns();
    }
}

static void *issue(void *user)
{
    const issuer *i = user;
    hardware *h = i->h;
    if (!did(h, h->cuda.context_set(h->cuda.context))) return NULL;
    if (i->lane) {
        issue_lane(h, i->lane);
        return NULL;
    }
    for (size_t o = 0; o < h->orphan_count; o++) {
        wait_until(h->base_ns + (h->r->graph->starts[h->orphans[o]] - h->from));
        if (!launch(h, h->orphans[o])) return NULL;
    }
    return NULL;
}

static bool is_needed(const hardware *h, const hd_graph_lane *lane)
{
    const hd_graph *g = h->r->graph;
    uint32_t end = lane->first_node + lane->node_count;
    if (lane->is_queue) return false;
    if (h->firsts[end] > h->firsts[lane->first_node]) return true;
    for (size_t e = g->first_edges[lane->first_node]; e < g->first_edges[end]; e++)
        if (g->edge_kinds[e] == HD_EDGE_SYNC) return true;
    return false;
}

static hd_status issue_all(hardware *h, hd_error *err)
{
    const hd_graph *g = h->r->graph;
    issuer *list = calloc((size_t)g->lane_count + 1, sizeof *list);
    pthread_t *threads = calloc((size_t)g->lane_count + 1, sizeof *threads);
    size_t count = 0, started = 0;
    bool fine = list && threads;
    for (uint32_t l = 0; fine && l < g->lane_count; l++)
        if (is_needed(h, &g->lanes[l])) list[count++] = (issuer){h, &g->lanes[l]};
    if (fine && h->orphan_count) list[count++] = (issuer){h, NULL};
    h->base_ns = now_ns() + LEAD_NS;
    while (fine && started < count) {
        fine = hd_thread_start(&threads[started], issue, &list[started]) == 0;
        if (!fine) atomic_store(&h->failed, -1);
        started += fine;
    }
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    free(list);
    free(threads);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- what came of it ---- */

typedef struct outcome {
    int64_t start, end, was_start, was_end; /* since the first kernel */
} outcome;

static hd_status read_outcomes(outcome *out, hardware *h, hd_error *err)
{
    const replay *r = h->r;
    size_t bytes = (size_t)h->kernel_count * sizeof(stamp);
    stamp *stamps = malloc(bytes + 1);
    uint64_t first = UINT64_MAX;
    int64_t was_first = INT64_MAX;
    if (!stamps) return HD_NOMEM(err);
    int result = h->cuda.copy_out(stamps, h->stamps, bytes, NULL);
    if (!result) result = h->cuda.synchronize();
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t k = h->kernels[n - r->first_work];
        if (k == HD_NONE) continue;
        out[k] = (outcome){.was_start = r->changed.starts[n], .was_end = r->changed.ends[n]};
        if (stamps[k].start < first) first = stamps[k].start;
        if (out[k].was_start < was_first) was_first = out[k].was_start;
    }
    for (uint32_t k = 0; k < h->kernel_count; k++) {
        out[k].start = (int64_t)(stamps[k].start - first);
        out[k].end = (int64_t)(stamps[k].end - first);
        out[k].was_start -= was_first;
        out[k].was_end -= was_first;
    }
    free(stamps);
    return result ? cuda_failed("reading the times of kernels", result, err) : HD_OK;
}

static void add_row(hd_table_builder *t, const char *what, int64_t expected, int64_t ran, int64_t span)
{
    bool is_sum = expected >= 0;
    int64_t error = is_sum ? ran - expected : ran, of = is_sum ? expected : span;
    hd_table_add_text(t, what);
    report_cell_int(t, is_sum ? expected : HD_NO_NUMBER);
    report_cell_int(t, is_sum ? ran : HD_NO_NUMBER);
    hd_table_add_int(t, error);
    gpu_cell_decimal(t, 100.0 * (double)(error < 0 ? -error : error) / (double)of, of > 0);
}

static hd_status add_outcomes(hd_report *out, const outcome *list, size_t count, const replay *r, hd_error *err)
{
    static const char *const names[] = {"start of kernels: median", "start of kernels: 99 %",
                                        "start of kernels: largest"};
    hd_table_builder *t;
    int64_t span = 0, was_span = 0, sum = 0, was_sum = 0;
    int64_t *errors = hd_large_new(count + 1, sizeof *errors, r->large);
    int64_t *spare = hd_large_new(count + 1, sizeof *spare, r->large);
    hd_status status = errors && spare ? report_builder(&t, &replay_about, "hardware", err) : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        if (list[i].end > span) span = list[i].end;
        if (list[i].was_end > was_span) was_span = list[i].was_end;
        sum += list[i].end - list[i].start;
        was_sum += list[i].was_end - list[i].was_start;
        errors[i] =
            list[i].start > list[i].was_start ? list[i].start - list[i].was_start : list[i].was_start - list[i].start;
    }
    if (status == HD_OK) {
        add_row(t, "span of kernels", was_span, span, span);
        add_row(t, "time of kernels", was_sum, sum, span);
        HD_SORT_RUNS(errors, spare, count, x, y, *x < *y);
        for (int i = 0; count && i < 3; i++)
            add_row(t, names[i], -1, errors[i == 0 ? count / 2 : i == 1 ? count * 99 / 100 : count - 1], was_span);
        status = report_add(out, t, err);
    }
    hd_large_free(errors);
    hd_large_free(spare);
    return status;
}

/* ---- the whole ---- */

static hd_status run_once(hd_report *out, hardware *h, hd_error *err)
{
    const replay *r = h->r;
    outcome *list = hd_large_new((size_t)h->kernel_count + 1, sizeof *list, r->large);
    hd_status status = list ? make_objects(h, err) : HD_NOMEM(err);
    /* The first launch loads the kernel. */
    if (status == HD_OK && (!spin(h, NULL, h->kernel_count, 1000) || !did(h, h->cuda.synchronize())))
        status = cuda_failed("the first launch", atomic_load(&h->failed), err);
    if (status == HD_OK) status = issue_all(h, err);
    if (status == HD_OK) did(h, h->cuda.synchronize());
    if (status == HD_OK && atomic_load(&h->failed)) status = cuda_failed("the run", atomic_load(&h->failed), err);
    if (status == HD_OK) status = read_outcomes(list, h, err);
    if (status == HD_OK) status = add_outcomes(out, list, h->kernel_count, r, err);
    hd_large_free(list);
    drop_objects(h);
    return status;
}

static hd_status prepare(hardware *h, hd_error *err)
{
    const replay *r = h->r;
    h->from = INT64_MAX;
    for (uint32_t n = 0; n < r->graph->node_count; n++)
        if (runs(r, n) && r->graph->starts[n] < h->from) h->from = r->graph->starts[n];
    if (!list_launches(h) || !number_works(h)) return HD_NOMEM(err);
    if (!h->kernel_count)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "run: there is no kernel to launch");
    if (h->kernel_count > LAUNCHES_MOST)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "run: %u kernels, more than %d; --step or --from and --until choose a part",
                            h->kernel_count, LAUNCHES_MOST);
    return read_bytes(h, err);
}

hd_status replay_on_hardware(hd_report *out, replay *r, hd_error *err)
{
    const replay_options *o = r->options;
    hardware h = {.r = r};
    if (o->fuse || o->graph || o->overlap || o->streams)
        return hd_error_set(
            err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
            "run: launches go to the queues that they had; it takes scale, remove and launch-cost alone");
    hd_status status = prepare(&h, err);
    if (status == HD_OK) status = cuda_open(&h.cuda, err);
    if (status == HD_OK) status = run_once(out, &h, err);
    r->cut_copies = h.cut_copies;
    r->orphans = h.orphan_count;
    for (uint32_t n = 0; h.firsts && n < r->first_work; n++) {
        uint32_t works = h.firsts[n + 1] - h.firsts[n];
        if (works > 1) r->of_graphs += works;
    }
    void *const lists[] = {h.firsts, h.launched, h.orphans, h.events, h.kernels, h.bytes, (void *)h.is_done};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) hd_large_free(lists[i]);
    return status;
}
