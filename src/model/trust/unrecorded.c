/* unrecorded.c - launches, steps and graphs whose activities were not recorded */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/args/args.h"
#include "model/host/slices.h"
#include "model/identity/process.h"
#include "model/steps/steps.h"
#include "model/trust/trust.h"
#include "trace/event.h"

/* ---- launches ---- */

enum { RECORDED = 1, EXCUSED = 2 };

/* State of launches. Calls that add a node to a graph instead of launching it are excused: those from which a node
 * comes, and those between the calls that begin and end a capture on their thread. */
typedef struct launch_states {
    const gpu_scope *s;
    uint8_t *states; /* by launch */
    int64_t *last;   /* last_recorded of trust */
} launch_states;

static int capture_call(hd_string name)
{
    static const char *const words[][2] = {{"cudaStreamBeginCapture", "cudaStreamEndCapture"},
                                           {"hipStreamBeginCapture", "hipStreamEndCapture"},
                                           {"cuStreamBeginCapture", "cuStreamEndCapture"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (int end = 0; end < 2; end++) {
            size_t size = strlen(words[i][end]);
            if (name.size >= size && memcmp(name.data, words[i][end], size) == 0) return 1 + end;
        }
    }
    return 0;
}

/* Launches of a track, from `at` on, that begin in [start, end). Returns where the search goes on. */
static size_t excuse(launch_states *of, uint32_t lane, size_t at, int64_t start, int64_t end)
{
    const hd_launches *l = of->s->launches;
    for (; at < l->launch_count; at++) {
        uint32_t other = gpu_lane_of(of->s->trace, l->launches[at].track);
        if (other < lane || (other == lane && l->launches[at].start_ns < start)) continue;
        if (other > lane || l->launches[at].start_ns >= end) break;
        of->states[at] |= EXCUSED;
    }
    return at;
}

static hd_status excuse_captures(launch_states *of, hd_error *err)
{
    const gpu_scope *s = of->s;
    uint32_t strings = hd_trace_string_count(s->trace);
    gpu_slices calls = {0};
    bool any = false;
    uint8_t *names = calloc((size_t)strings + 1, 1);
    if (!names) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) {
        names[i] = (uint8_t)capture_call(hd_trace_string(s->trace, i));
        any |= names[i] == 1;
    }
    hd_status status =
        any ? gpu_slices_named(&calls, s, 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER, names, err) : HD_OK;
    for (size_t i = 0, at = 0; status == HD_OK && i < calls.count; i++) {
        const gpu_slice *begin = &calls.list[i], *end = begin + 1;
        if (names[begin->name] != 1) continue;
        while (end < calls.list + calls.count && end->lane == begin->lane && names[end->name] == 1) end++;
        bool is_closed = end < calls.list + calls.count && end->lane == begin->lane;
        at = excuse(of, begin->lane, at, begin->start, is_closed ? end->end : INT64_MAX);
    }
    if (any) gpu_slices_deinit(&calls);
    free(names);
    return status;
}

/* The last of each track becomes that of the track's process. */
static void share_last(launch_states *of, uint32_t tracks)
{
    for (int way = 0; way < 2; way++) {
        for (uint32_t t = 0; t < tracks; t++) {
            uint32_t process = hd_process_of(of->s->trace, t);
            int64_t *to = &of->last[way ? t : process], from = of->last[way ? process : t];
            if (from != INT64_MAX && (*to == INT64_MAX || from > *to)) *to = from;
        }
    }
}

static hd_status find_states(launch_states *of, hd_error *err)
{
    const hd_launches *l = of->s->launches;
    uint32_t tracks = hd_trace_track_count(of->s->trace);
    of->states = calloc(l->launch_count + 1, 1);
    for (uint32_t t = 0; t <= tracks; t++) of->last[t] = INT64_MAX;
    if (!of->states) return HD_NOMEM(err);
    for (size_t i = 0; i < l->work_count; i++)
        if (l->works[i].graph_launch != HD_NONE) of->states[l->works[i].graph_launch] |= EXCUSED;
    for (size_t i = 0; i < l->launch_count; i++) {
        if (!l->launches[i].work_count || l->launches[i].track >= tracks) continue;
        int64_t *last = &of->last[l->launches[i].track];
        of->states[i] |= RECORDED;
        if (*last == INT64_MAX || l->launches[i].start_ns > *last) *last = l->launches[i].start_ns;
    }
    share_last(of, tracks);
    return excuse_captures(of, err);
}

static bool launches_activity(const hd_launch *launch)
{
    return launch->sort == HD_LAUNCH_KERNEL || launch->sort == HD_LAUNCH_GRAPH;
}

/* ---- steps ---- */

/* A step's launches of kernels and graphs. */
typedef struct step_sum {
    bool has_activity, launches, lacks;
} step_sum;

static void sum_steps(step_sum *sums, const gpu_scope *s, const launch_states *of, const uint8_t *lacks)
{
    gpu_step_hint hint = {0};
    for (size_t i = 0; i < s->launches->launch_count; i++) {
        const hd_launch *launch = &s->launches->launches[i];
        uint32_t step = gpu_step_near(s, &hint, launch->track, gpu_time(launch->start_ns));
        if (step == HD_NONE) continue;
        sums[step].has_activity |= launch->work_count > 0 || launch->untimed_count > 0;
        sums[step].launches |= launches_activity(launch) && !(of->states[i] & EXCUSED);
        sums[step].lacks |= lacks[i];
    }
    for (size_t i = 0; i < s->launches->work_count; i++) { /* and activities without a launch */
        const gpu_work *work = &s->works[i];
        uint32_t track = s->launches->works[i].track;
        uint32_t step = work->launch == HD_NONE ? gpu_step_at(s, track, work->start) : HD_NONE;
        if (step != HD_NONE) sums[step].has_activity = true;
    }
}

static int by_row(const void *a, const void *b)
{
    uint32_t x = ((const gpu_step_doubts *)a)->row, y = ((const gpu_step_doubts *)b)->row;
    return (x > y) - (x < y);
}

static hd_status find_steps(gpu_trust *t, const gpu_scope *s, const launch_states *of, const uint8_t *lacks,
                            hd_error *err)
{
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_STEPS], *unrecorded = &t->doubts[GPU_DOUBT_UNRECORDED];
    bool any = false;
    step_sum *sums = calloc((size_t)s->step_count + 1, sizeof *sums);
    if (!sums) return HD_NOMEM(err);
    sum_steps(sums, s, of, lacks);
    for (uint32_t i = 0; i < s->step_count; i++) any |= sums[i].has_activity;
    doubt->of = s->step_count;
    t->of_steps = calloc((size_t)s->step_count + 1, sizeof *t->of_steps);
    if (!t->of_steps) {
        free(sums);
        return HD_NOMEM(err);
    }
    for (uint32_t i = 0; any && i < s->step_count; i++) {
        bool has_none = sums[i].launches && !sums[i].has_activity, lacks_some = unrecorded->count && sums[i].lacks;
        if (has_none) gpu_doubt_add(doubt, s->steps[i].row, s->steps[i].lane);
        unrecorded->steps += lacks_some;
        t->of_steps[i].doubts = (uint16_t)(has_none << GPU_DOUBT_STEPS | lacks_some << GPU_DOUBT_UNRECORDED);
    }
    for (uint32_t i = 0; i < s->step_count; i++) t->of_steps[i].row = s->steps[i].row;
    if (s->step_count) hd_sort(t->of_steps, s->step_count, sizeof *t->of_steps, by_row);
    free(sums);
    return HD_OK;
}

/* ---- the whole ---- */

/* Launches after the last of their process that has activities lack theirs because the recording ended. */
static void find_launches(gpu_trust *t, const launch_states *of, uint8_t *lacks)
{
    const hd_launches *l = of->s->launches;
    uint32_t tracks = hd_trace_track_count(of->s->trace);
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_UNRECORDED], *after = &t->doubts[GPU_DOUBT_AFTER];
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        bool lacks_some = !(of->states[i] & RECORDED) && !launch->untimed_count;
        if (of->states[i] & EXCUSED || launch->track >= tracks) continue;
        after->of += launch->sort != HD_LAUNCH_UNKNOWN || !lacks_some;
        if (gpu_launch_is_after(t, launch)) {
            if (lacks_some && launch->id && launch->sort != HD_LAUNCH_UNKNOWN)
                gpu_doubt_add(after, launch->row, launch->track);
            continue;
        }
        if (!launches_activity(launch)) continue;
        doubt->of++;
        if (!lacks_some) continue;
        lacks[i] = 1;
        doubt->graphs += launch->sort == HD_LAUNCH_GRAPH;
        gpu_doubt_add(doubt, launch->row, launch->track);
    }
    /* At the edges of a recording some launches are without. */
    if (!of->s->has_launches || 100 * doubt->count < doubt->of) doubt->count = 0;
    if (!doubt->count) doubt->track = HD_NONE;
}

hd_status trust_find_unrecorded(gpu_trust *t, const gpu_scope *s, hd_error *err)
{
    uint8_t *lacks = calloc(s->launches->launch_count + 1, 1);
    t->last_recorded = malloc(((size_t)hd_trace_track_count(s->trace) + 1) * sizeof *t->last_recorded);
    launch_states of = {.s = s, .last = t->last_recorded};
    hd_status status = lacks && of.last ? find_states(&of, err) : HD_NOMEM(err);
    if (status == HD_OK) {
        find_launches(t, &of, lacks);
        status = find_steps(t, s, &of, lacks, err);
    }
    free(lacks);
    free(of.states);
    return status;
}

/* ---- graphs ---- */

/* Of the launches of a graph. */
typedef struct graph_sum {
    uint32_t most;           /* activities of one launch */
    uint64_t count, shorter; /* launches */
} graph_sum;

/* The graph of a launch, by an argument of its first activity; false: unknown. */
static bool graph_of(int64_t *out, const gpu_scope *s, gpu_arg *ids, const hd_launch *launch)
{
    uint32_t row;
    if (launch->sort != HD_LAUNCH_GRAPH || !launch->work_count) return false;
    const hd_work *work = &s->launches->works[s->launches->work_order[launch->first_work]];
    const hd_block *block = hd_trace_block_of(&row, s->trace, HD_KIND_SLICE, work->row);
    return gpu_arg_whole(out, &ids[0], block, row) || gpu_arg_whole(out, &ids[1], block, row);
}

static bool sum_graphs(gpu_groups *graphs, graph_sum **sums, uint32_t *graph, const gpu_scope *s, gpu_arg *ids)
{
    size_t capacity = 0;
    for (size_t i = 0; i < s->launches->launch_count; i++) {
        const hd_launch *launch = &s->launches->launches[i];
        int64_t id;
        graph[i] = HD_NONE;
        if (!graph_of(&id, s, ids, launch)) continue;
        uint32_t known = graphs->count;
        graph[i] = gpu_group(graphs, &id);
        if (graph[i] == HD_NONE || !hd_grow((void **)sums, &capacity, graph[i], sizeof **sums)) return false;
        graph_sum *sum = &(*sums)[graph[i]];
        if (graph[i] == known) *sum = (graph_sum){0};
        sum->count++;
        if (launch->work_count > sum->most) {
            sum->most = launch->work_count;
            sum->shorter = sum->count - 1;
        } else
            sum->shorter += launch->work_count < sum->most;
    }
    return true;
}

/* Of a graph most launches have all nodes. The last activity of the trace may be of one that was cut. */
hd_status trust_find_graphs(gpu_trust *t, const gpu_scope *s, hd_error *err)
{
    const hd_launches *l = s->launches;
    gpu_doubt *doubt = &t->doubts[GPU_DOUBT_GRAPHS];
    gpu_arg ids[2] = {{0}};
    gpu_groups graphs = {.key_size = sizeof(int64_t)};
    graph_sum *sums = NULL;
    uint32_t last = HD_NONE, *graph = malloc((l->launch_count + 1) * sizeof *graph);
    bool fine = graph && gpu_arg_init(&ids[0], s->trace, "graph id") && gpu_arg_init(&ids[1], s->trace, "graphId");
    bool any = fine && (gpu_arg_is_used(&ids[0]) || gpu_arg_is_used(&ids[1]));
    if (any) fine = sum_graphs(&graphs, &sums, graph, s, ids);
    for (uint32_t i = 0; any && i < l->work_count; i++)
        if (last == HD_NONE || l->works[i].start_ns > l->works[last].start_ns) last = i;
    for (size_t i = 0; any && fine && i < l->launch_count; i++) {
        const graph_sum *sum = graph[i] == HD_NONE ? NULL : &sums[graph[i]];
        if (!sum) continue;
        doubt->of++;
        if (l->launches[i].work_count == sum->most || 2 * sum->shorter > sum->count) continue;
        if (l->works[last].launch != i) gpu_doubt_add(doubt, l->launches[i].row, l->launches[i].track);
    }
    free(graph);
    free(sums);
    gpu_groups_deinit(&graphs);
    gpu_arg_deinit(&ids[0]);
    gpu_arg_deinit(&ids[1]);
    return fine ? HD_OK : HD_NOMEM(err);
}
