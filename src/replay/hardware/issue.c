/* issue.c - the threads of a run on a GPU
 *
 * There is a thread for each thread of the trace that launches or waits: it takes the same time, makes the same
 * launches, and waits for the same activities. Activities without a known call are launched at their start, by a thread
 * of their own. Activities of one call are a CUDA graph, captured before the run; nothing outside waits for a part of
 * it.
 */
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"
#include "model/roles/copy_ways.h"
#include "replay/hardware/hardware.h"

enum {
    SPIN_NS = 200000,  /* the last part of a wait for a point in time is spent spinning */
    GRAPH_NS = 10000,  /* without a profiler, a call launches a graph in about this time */
    LEAD_NS = 20000000 /* from the start of the threads to the first moment */
};
static const int64_t patience_ns = 60000000000; /* beyond ten times the length of the trace */

bool hardware_did(hardware *h, int result)
{
    int none = 0;
    if (result) atomic_compare_exchange_strong(&h->failed, &none, result);
    return result == 0;
}

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

/* ---- one piece of work ---- */

static cuda_address stamp_of(const hardware *h, uint32_t kernel)
{
    return h->stamps + (cuda_address)kernel * 2 * sizeof(uint64_t);
}

/* Since it holds only one SM, a kernel does not wait for the SMs of others by itself. */
static int64_t find_held(uint32_t *behind, const hardware *h, uint32_t kernel)
{
    const replay_times *t = &h->r->changed;
    uint32_t head = h->heads[kernel], bound = t->bounds[head];
    *behind = t->bound_kinds[head] == REPLAY_SMS ? h->kernels[bound - h->r->first_work] : HD_NONE;
    return *behind == HD_NONE ? 0 : gpu_sum(t->starts[head], -t->starts[h->heads[*behind]]);
}

bool hardware_spin(hardware *h, cuda_handle stream, uint32_t kernel, int64_t ns)
{
    uint32_t behind = HD_NONE;
    int64_t held = kernel < h->kernel_count ? find_held(&behind, h, kernel) : 0;
    uint64_t turns = ns > HARDWARE_SELF_NS ? (uint64_t)(ns - HARDWARE_SELF_NS) : 0,
             later = held > 0 ? (uint64_t)held : 0;
    cuda_address at = stamp_of(h, kernel), other = later ? stamp_of(h, behind) : 0;
    void *arguments[] = {&at, &turns, &other, &later};
    return hardware_did(h, h->cuda.launch(h->cuda.spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static bool move_bytes(hardware *h, cuda_handle stream, uint32_t node)
{
    const hd_work *work = replay_work(h->r, node);
    uint32_t way = hd_copy_way_of(hd_trace_string(h->r->trace, work->name));
    size_t bytes = (size_t)h->bytes[node - h->r->first_work];
    if (work->role == HD_ROLE_SET) return hardware_did(h, h->cuda.set(h->buffer, 0, bytes / 4, stream));
    if (way == HD_COPY_WAY('H', 'D')) return hardware_did(h, h->cuda.copy_in(h->buffer, h->pinned, bytes, stream));
    if (way == HD_COPY_WAY('D', 'H')) return hardware_did(h, h->cuda.copy_out(h->pinned, h->buffer, bytes, stream));
    return hardware_did(h, h->cuda.copy(h->buffer + h->buffer_bytes, h->buffer, bytes, stream));
}

static cuda_handle stream_of(const hardware *h, uint32_t node)
{
    return h->streams[h->queues[node - h->r->first_work]];
}

static bool record_event(hardware *h, uint32_t node, cuda_handle stream)
{
    uint32_t event = h->events[node - h->r->first_work];
    return event == HD_NONE || hardware_did(h, h->cuda.event_record(h->event_list[event], stream));
}

static bool put(hardware *h, uint32_t node)
{
    cuda_handle stream = stream_of(h, node);
    uint32_t kernel = h->kernels[node - h->r->first_work];
    bool fine = kernel != HD_NONE ? hardware_spin(h, stream, kernel, h->spins[kernel]) : move_bytes(h, stream, node);
    return fine && record_event(h, node, stream);
}

static void set_done(hardware *h, uint32_t node, uint8_t done)
{
    atomic_store_explicit(&h->is_done[node - h->r->first_work], done, memory_order_release);
}

static bool is_done(const hardware *h, uint32_t node)
{
    return atomic_load_explicit(&h->is_done[node - h->r->first_work], memory_order_acquire);
}

/* Another thread may have to launch it first. */
static bool wait_launched(hardware *h, uint32_t node)
{
    for (unsigned turns = 1; !is_done(h, node); turns++) {
        if (atomic_load(&h->failed)) return false;
        if (turns % 1024 == 0 && now_ns() > h->deadline_ns) return hardware_did(h, HARDWARE_STUCK);
    }
    return true;
}

/* Makes a stream wait for what its activity waits for, of the same call or of others. */
static bool wait_events(hardware *h, uint32_t node, cuda_handle stream, bool of_call)
{
    replay_wait w;
    for (size_t at = 0; hardware_next_wait(&w, h, node, &at);) {
        if (!hardware_is_event(h, node, w)) continue;
        uint32_t event = h->events[w.from - h->r->first_work];
        uint32_t call = h->calls[node - h->r->first_work];
        bool is_of_call = call != HD_NONE && call == h->calls[w.from - h->r->first_work];
        if (is_of_call != of_call || (of_call && !is_done(h, w.from))) continue;
        if (!of_call && !wait_launched(h, w.from)) return false;
        if (!hardware_did(h, h->cuda.stream_wait(stream, h->event_list[event], 0))) return false;
    }
    return true;
}

/* ---- calls that launch more than one ---- */

static bool let_wait(hardware *h, cuda_handle stream, cuda_handle event, cuda_handle for_stream)
{
    return hardware_did(h, h->cuda.event_record(event, for_stream)) &&
           hardware_did(h, h->cuda.stream_wait(stream, event, 0));
}

static bool add_stream(hardware_graph *g, cuda_handle stream)
{
    for (uint32_t i = 0; i < g->stream_count; i++)
        if (g->streams[i] == stream) return true;
    cuda_handle *grown = realloc(g->streams, (g->stream_count + 1) * sizeof *grown);
    if (!grown) return false;
    g->streams = grown;
    g->streams[g->stream_count++] = stream;
    return true;
}

static bool capture(hardware *h, hardware_graph *g, const uint32_t *works, uint32_t count)
{
    const cuda_api *c = &h->cuda;
    cuda_handle graph = NULL;
    bool fine = true;
    for (uint32_t i = 0; fine && i < count; i++) fine = add_stream(g, stream_of(h, works[i]));
    if (!fine) return hardware_did(h, CUDA_OUT_OF_MEMORY);
    fine = hardware_did(h, c->event_create(&g->event, CUDA_EVENT_NO_TIMING)) &&
           hardware_did(h, c->capture_begin(g->streams[0], CUDA_CAPTURE_RELAXED));
    for (uint32_t s = 1; fine && s < g->stream_count; s++) fine = let_wait(h, g->streams[s], g->event, g->streams[0]);
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = wait_events(h, works[i], stream_of(h, works[i]), true) && put(h, works[i]);
        set_done(h, works[i], 1);
    }
    for (uint32_t s = 1; fine && s < g->stream_count; s++) fine = let_wait(h, g->streams[0], g->event, g->streams[s]);
    for (uint32_t i = 0; i < count; i++) set_done(h, works[i], 0);
    fine = fine && hardware_did(h, c->capture_end(g->streams[0], &graph)) &&
           hardware_did(h, c->graph_instantiate(&g->exec, graph, 0)) &&
           hardware_did(h, c->graph_upload(g->exec, g->streams[0]));
    if (graph) c->graph_destroy(graph);
    return fine;
}

bool hardware_make_graphs(hardware *h)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < h->r->first_work; n++) {
        bool is_graph = h->firsts[n + 1] > h->firsts[n] + 1;
        h->graph_of[n] = is_graph ? count : HD_NONE;
        count += is_graph;
    }
    h->graphs = calloc((size_t)count + 1, sizeof *h->graphs);
    if (!h->graphs) return hardware_did(h, CUDA_OUT_OF_MEMORY);
    h->graph_count = count;
    for (uint32_t n = 0; n < h->r->first_work; n++) {
        if (h->graph_of[n] == HD_NONE) continue;
        if (!capture(h, &h->graphs[h->graph_of[n]], &h->launched[h->firsts[n]], h->firsts[n + 1] - h->firsts[n]))
            return false;
    }
    return true;
}

void hardware_drop_graphs(hardware *h)
{
    for (uint32_t i = 0; i < h->graph_count; i++) {
        hardware_graph *g = &h->graphs[i];
        if (g->exec) h->cuda.exec_destroy(g->exec);
        if (g->event) h->cuda.event_destroy(g->event);
        free(g->streams);
    }
    free(h->graphs);
}

/* All of its streams wait for the start of the graph, and continue after it. */
static bool launch_graph(hardware *h, const hardware_graph *g, const uint32_t *works, uint32_t count)
{
    bool fine = true;
    for (uint32_t i = 0; fine && i < count; i++) fine = wait_events(h, works[i], g->streams[0], false);
    for (uint32_t s = 1; fine && s < g->stream_count; s++) fine = let_wait(h, g->streams[0], g->event, g->streams[s]);
    fine = fine && hardware_did(h, h->cuda.graph_launch(g->exec, g->streams[0]));
    for (uint32_t s = 1; fine && s < g->stream_count; s++) fine = let_wait(h, g->streams[s], g->event, g->streams[0]);
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = record_event(h, works[i], g->streams[0]);
        set_done(h, works[i], 1);
    }
    return fine;
}

/* ---- threads ---- */

static bool launch(hardware *h, uint32_t node)
{
    bool fine = wait_events(h, node, stream_of(h, node), false) && put(h, node);
    set_done(h, node, 1);
    return fine;
}

static bool launch_call(hardware *h, uint32_t call)
{
    uint32_t first = h->firsts[call], count = h->firsts[call + 1] - first;
    if (h->graph_of[call] != HD_NONE) return launch_graph(h, &h->graphs[h->graph_of[call]], &h->launched[first], count);
    return !count || launch(h, h->launched[first]);
}

/* true: it waited for something. */
static bool wait_for_work(hardware *h, uint32_t node)
{
    replay_wait w;
    bool waited = false;
    for (size_t at = 0; hardware_next_wait(&w, h, node, &at);) {
        if (!hardware_is_event(h, node, w)) continue;
        if (!wait_launched(h, w.from)) return false;
        hardware_did(h, h->cuda.event_synchronize(h->event_list[h->events[w.from - h->r->first_work]]));
        waited = true;
    }
    return waited;
}

/* A profiler prepares the kernels of a graph one after another before the call launches them: so the launch is late
 * within the call. */
static int64_t launch_offset(const hardware *h, uint32_t call)
{
    const replay *r = h->r;
    if (h->graph_of[call] == HD_NONE || r->plan.durations[call] < GRAPH_NS) return 0;
    unsigned lag = r->launch_classes[h->launched[h->firsts[call]] - r->first_work];
    return r->lags[lag].from_start ? 0 : r->plan.durations[call] - GRAPH_NS;
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
        bool waited = wait_for_work(h, n), launches = h->firsts[n + 1] > h->firsts[n];
        if (waited && now_ns() > moment) moment = now_ns();
        if (launches) wait_until(moment + launch_offset(h, n));
        if (!launch_call(h, n)) return;
        moment += r->plan.durations[n];
        /* A call that takes longer than in the trace makes its thread late, as it would the program. */
        if (launches && now_ns() > moment) moment = now_ns();
    }
}

typedef struct issuer {
    hardware *h;
    const hd_graph_lane *lane; /* NULL: of orphans */
} issuer;

static void *issue(void *user)
{
    const issuer *i = user;
    hardware *h = i->h;
    if (!hardware_did(h, h->cuda.context_set(h->cuda.context))) return NULL;
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
    for (size_t e = hd_graph_other_edge(g, lane->first_node); e < hd_graph_other_edge(g, end); e++)
        if (hd_graph_edge_kind(g, e) == HD_EDGE_SYNC) return true;
    return false;
}

hd_status hardware_issue(hardware *h, hd_error *err)
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
    h->deadline_ns = gpu_sum(h->base_ns + patience_ns, gpu_whole((gpu_i128)10 * (g->end_ns - h->from)));
    while (fine && started < count) {
        fine = hd_thread_start(&threads[started], issue, &list[started]) == 0;
        if (!fine) atomic_store(&h->failed, HARDWARE_STUCK);
        started += fine;
    }
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    free(list);
    free(threads);
    return fine ? HD_OK : HD_NOMEM(err);
}
