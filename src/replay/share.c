/* share.c - what work of several queues of a device shares: its SMs (sms.c), and an engine for copies of each direction
 *
 * One copy to the device at a time, and one from it; of pinned memory, since the others also wait for the host. An
 * engine stays with the queue that it serves while the next of that is there. Where copies of one direction overlap in
 * the trace, there is no such engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/priorities.h"
#include "replay/rows.h"
#include "replay/sms.h"
#include "replay/waves.h"
#include "report/gpu/gpu.h"
#include "trace/roles/copy_ways.h"
#include "trace/roles/sync_calls.h"

enum { OVERLAP_PART = 50 }; /* copies overlap if more than that part of their time does */

/* ---- what there is to share ---- */

static uint8_t sort_of_copy(const replay *r, const hd_work *work)
{
    if (work->role != HD_ROLE_COPY || hd_is_pageable_copy(r->trace, work)) return SHARE_NONE;
    uint32_t way = hd_copy_way_of(hd_trace_string(r->trace, work->name));
    return way == HD_COPY_WAY('H', 'D') ? SHARE_IN : way == HD_COPY_WAY('D', 'H') ? SHARE_OUT : SHARE_NONE;
}

static void share_sms(replay *r, replay_share *s, replay_waves *waves, uint32_t node)
{
    if (replay_waves_set(s, waves, node))
        s->sort = replay_gpu_work(r, node)->class == GPU_COMMUNICATION ? SHARE_HELD : SHARE_SMS;
    else
        r->widthless++;
}

static bool find_shares(replay *r)
{
    replay_waves waves;
    bool fine = replay_waves_init(&waves, r);
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        replay_share *s = &r->shares[n - r->first_work];
        const hd_work *work = replay_work(r, n);
        *s = (replay_share){.full_ns = INT64_MIN, .waves = 1};
        if (replay_gpu_work(r, n)->device == HD_NONE || r->plan.durations[n] > SMS_LONGEST) continue;
        s->sort = sort_of_copy(r, work);
        if (work->role == HD_ROLE_KERNEL) share_sms(r, s, &waves, n);
    }
    replay_waves_deinit(&waves);
    return fine && replay_priorities_settle(r);
}

typedef struct device {
    sms sms;
    int64_t engines[2]; /* in, out: free then */
    uint32_t users[2];  /* the last; HD_NONE */
    int64_t copied[2], overlapped[2];
} device;

struct replay_sharer {
    sms_sharing of;
    uint32_t *afters; /* by work less first_work: what follows on its queue */
    device *devices;
};

size_t replay_share_moved(const replay_moved **out, const replay_sharer *s)
{
    *out = s->of.moved;
    return s->of.moved_count;
}

/* ---- the trace ---- */

static void take_recorded(replay_sharer *s, replay *r, uint32_t node)
{
    replay_share *share = &r->shares[node - r->first_work];
    device *d = &s->devices[replay_gpu_work(r, node)->device];
    int64_t start = r->graph->starts[node], end = r->graph->ends[node];
    if (share->sort == SHARE_IN || share->sort == SHARE_OUT) {
        int engine = share->sort == SHARE_OUT;
        if (start < d->engines[engine])
            d->overlapped[engine] += (end < d->engines[engine] ? end : d->engines[engine]) - start;
        d->copied[engine] += end - start;
        share->full_ns = d->engines[engine];
        if (end > d->engines[engine]) d->engines[engine] = end;
    } else if (share->sort != SHARE_NONE) {
        sms_take(&s->of, &d->sms, node, start, end);
        if (share->sort == SHARE_SMS) share->full_ns = d->sms.full;
    }
}

/* Engines whose copies overlap are none. */
static void drop_engines(const replay_sharer *s, replay *r)
{
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        replay_share *share = &r->shares[n - r->first_work];
        if (share->sort != SHARE_IN && share->sort != SHARE_OUT) continue;
        const device *d = &s->devices[replay_gpu_work(r, n)->device];
        int engine = share->sort == SHARE_OUT;
        if (d->overlapped[engine] <= d->copied[engine] / OVERLAP_PART) continue;
        share->sort = SHARE_NONE;
        share->full_ns = INT64_MIN;
    }
}

typedef struct begun {
    int64_t start;
    uint32_t node, row;
} begun;

hd_status replay_find_shares(replay *r, hd_error *err)
{
    replay_sharer *s = NULL;
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1, count = 0;
    begun *list = hd_large_new(works, sizeof *list, r->large), *spare = hd_large_new(works, sizeof *spare, r->large);
    r->shares = hd_large_new(works, sizeof *r->shares, r->large);
    bool fine = list && spare && r->shares && find_shares(r);
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        if (r->shares[n - r->first_work].sort != SHARE_NONE)
            list[count++] = (begun){r->graph->starts[n], n, r->graph->slices[n]};
    }
    if (fine) HD_SORT_RUNS(list, spare, count, x, y, x->start != y->start ? x->start < y->start : x->row < y->row);
    hd_large_free(spare);
    fine = fine && replay_sharer_new(&s, r, err) == HD_OK;
    if (fine) s->of.recorded = r;
    for (size_t i = 0; fine && i < count; i++) take_recorded(s, r, list[i].node);
    if (fine) drop_engines(s, r);
    for (uint32_t i = 0; fine && i < r->scope.device_count; i++) r->begins_full |= sms_begins_full(&s->devices[i].sms);
    hd_large_free(list);
    fine = fine && !s->of.failed;
    replay_sharer_free(s);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- a replay ---- */

static bool init_devices(replay_sharer *s)
{
    s->devices = calloc((size_t)s->of.r->scope.device_count + 1, sizeof *s->devices);
    for (uint32_t i = 0; s->devices && i < s->of.r->scope.device_count; i++) {
        device *d = &s->devices[i];
        d->engines[0] = d->engines[1] = INT64_MIN;
        d->users[0] = d->users[1] = HD_NONE;
        if (!sms_init(&d->sms)) return false;
    }
    return s->devices != NULL;
}

hd_status replay_sharer_new(replay_sharer **out, const replay *r, hd_error *err)
{
    replay_sharer *s = *out = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->of.r = r;
    s->afters = replay_afters(r);
    if (s->afters && init_devices(s)) return HD_OK;
    replay_sharer_free(s);
    *out = NULL;
    return HD_NOMEM(err);
}

void replay_sharer_free(replay_sharer *s)
{
    if (!s) return;
    for (uint32_t i = 0; s->devices && i < s->of.r->scope.device_count; i++) sms_deinit(&s->devices[i].sms);
    free(s->devices);
    free(s->of.moved);
    hd_large_free(s->afters);
    free(s);
}

/* Two queues with work that shares something; false also: no memory, which the replay finds out itself. */
bool replay_shares_any(const replay *r)
{
    if (r->is_crowded) return true;
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1, things = 3 * ((size_t)r->scope.device_count + 1);
    uint32_t *firsts = hd_large_new(works, sizeof *firsts, r->large), *queues = malloc(things * sizeof *queues);
    bool any = false, fine = firsts && queues && replay_find_firsts(firsts, r);
    for (size_t i = 0; fine && i < things; i++) queues[i] = HD_NONE;
    for (uint32_t n = r->first_work; fine && !any && n < r->graph->node_count; n++) {
        const replay_share *share = &r->shares[n - r->first_work];
        if (share->sort == SHARE_NONE || r->plan.flags[n] & PLAN_GONE) continue;
        size_t thing = share->sort == SHARE_IN ? 1 : share->sort == SHARE_OUT ? 2 : 0;
        uint32_t *queue = &queues[3 * (size_t)replay_gpu_work(r, n)->device + thing];
        any = *queue != HD_NONE && *queue != firsts[n - r->first_work];
        *queue = firsts[n - r->first_work];
    }
    hd_large_free(firsts);
    free(queues);
    return any;
}

static bool is_copy(const replay *r, uint32_t node)
{
    uint8_t sort = r->shares[node - r->first_work].sort;
    return (sort == SHARE_IN || sort == SHARE_OUT) && !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE));
}

static bool waits_for_engine(int64_t *start, uint32_t *behind, const replay_sharer *s, const replay_times *times,
                             const uint8_t *states, uint32_t node)
{
    const replay *r = s->of.r;
    const device *d = &s->devices[replay_gpu_work(r, node)->device];
    int engine = r->shares[node - r->first_work].sort == SHARE_OUT;
    uint32_t last = d->users[engine];
    if (last == HD_NONE || r->plan.befores[node - r->first_work] == last) return false;
    uint32_t next = s->afters[last - r->first_work];
    int64_t ready = d->engines[engine] + r->lags[replay_lag_class(r, node, last, HD_EDGE_QUEUE)].ns;
    *behind = last;
    if (*start < ready) {
        *start = ready;
        return true;
    }
    if (next == HD_NONE || states[next] != NODE_OPEN || !is_copy(r, next) ||
        r->shares[next - r->first_work].sort != r->shares[node - r->first_work].sort ||
        times->starts[next] > d->engines[engine] + r->lags[replay_lag_class(r, next, last, HD_EDGE_QUEUE)].ns)
        return false;
    *start = times->starts[next] + 1;
    return true;
}

static bool is_kernel(const replay *r, uint32_t node)
{
    uint8_t sort = r->shares[node - r->first_work].sort;
    return (sort == SHARE_SMS || sort == SHARE_HELD) && !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE));
}

bool replay_share_wait(int64_t *start, uint32_t *behind, replay_sharer *s, const replay_times *times,
                       const uint8_t *states, uint32_t node)
{
    s->of.moved_count = 0;
    if (!replay_is_work(s->of.r, node)) return false;
    if (is_copy(s->of.r, node)) return waits_for_engine(start, behind, s, times, states, node);
    device *d = &s->devices[replay_gpu_work(s->of.r, node)->device];
    return is_kernel(s->of.r, node) && sms_wait(start, behind, &s->of, &d->sms, times, node);
}

int64_t replay_share_end(replay_sharer *s, uint32_t node, int64_t start)
{
    const replay *r = s->of.r;
    int64_t duration = r->plan.durations[node], end = gpu_time(gpu_sum(start, duration));
    if (!replay_is_work(r, node) || r->plan.flags[node] & PLAN_GONE) return end;
    const replay_share *share = &r->shares[node - r->first_work];
    int engine = share->sort == SHARE_OUT;
    s->of.moved_count = 0;
    if (share->sort == SHARE_NONE || duration > SMS_LONGEST) return end;
    device *d = &s->devices[replay_gpu_work(r, node)->device];
    if (share->sort == SHARE_IN || share->sort == SHARE_OUT) {
        if (end > d->engines[engine]) d->engines[engine] = end;
        d->users[engine] = node;
        return end;
    }
    int64_t whole = r->graph->ends[node] - r->graph->starts[node], demand = (int64_t)share->width * duration;
    if (whole > 0) demand = gpu_whole((gpu_i128)share->demand * duration / whole);
    bool is_fixed = share->sort == SHARE_HELD || r->plan.flags[node] & PLAN_PINNED;
    if (!is_fixed) end = HD_NO_TIME;
    sms_run(&s->of, &d->sms, node, start, &end, demand);
    sms_wake_first(&s->of, &d->sms, start);
    return gpu_time(end);
}

bool replay_share_failed(const replay_sharer *s)
{
    return s->of.failed;
}
