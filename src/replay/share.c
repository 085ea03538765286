/* share.c - resources shared by several queues of a device: SMs (sms.c), and copy engines (engines.c) */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/engines.h"
#include "replay/priorities.h"
#include "replay/rows.h"
#include "replay/sms/sms.h"
#include "replay/sms/waves.h"
#include "report/gpu/gpu.h"

/* ---- what there is to share ---- */

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
        s->sort = engines_sort(r, work);
        if (work->role == HD_ROLE_KERNEL) share_sms(r, s, &waves, n);
    }
    replay_waves_deinit(&waves);
    return fine && replay_priorities_settle(r);
}

typedef struct device {
    sms sms;
    engines engines;
} device;

struct replay_sharer {
    sms_sharing of;
    uint32_t *afters; /* by activity minus first_work: the next one on its queue */
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
    if (share->sort == SHARE_IN || share->sort == SHARE_OUT) {
        engines_take(&d->engines, r, node);
    } else if (share->sort != SHARE_NONE) {
        sms_take(&s->of, &d->sms, node, r->graph->starts[node], r->graph->ends[node]);
        if (share->sort == SHARE_SMS) share->full_ns = d->sms.full;
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
    for (size_t i = 0; fine && i < count; i++)
        engines_settle(&s->devices[replay_gpu_work(r, list[i].node)->device].engines, r, list[i].node);
    for (uint32_t i = 0; fine && i < r->scope.device_count; i++) r->begins_full |= sms_begins_full(&s->devices[i].sms);
    hd_large_free(list);
    fine = fine && !s->of.failed && engines_find_link(r);
    replay_sharer_free(s);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- a replay ---- */

static bool init_devices(replay_sharer *s)
{
    s->devices = calloc((size_t)s->of.r->scope.device_count + 1, sizeof *s->devices);
    for (uint32_t i = 0; s->devices && i < s->of.r->scope.device_count; i++) {
        device *d = &s->devices[i];
        engines_init(&d->engines);
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

/* Whether two queues have activities that share a resource; false also without memory, which the replay itself
 * detects. */
bool replay_shares_any(const replay *r)
{
    if (r->is_crowded) return true;
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1, things = 2 * ((size_t)r->scope.device_count + 1);
    uint32_t *firsts = hd_large_new(works, sizeof *firsts, r->large), *queues = malloc(things * sizeof *queues);
    bool any = false, fine = firsts && queues && replay_find_firsts(firsts, r);
    for (size_t i = 0; fine && i < things; i++) queues[i] = HD_NONE;
    for (uint32_t n = r->first_work; fine && !any && n < r->graph->node_count; n++) {
        const replay_share *share = &r->shares[n - r->first_work];
        if (share->sort == SHARE_NONE || r->plan.flags[n] & PLAN_GONE) continue;
        size_t thing = share->sort == SHARE_IN || share->sort == SHARE_OUT;
        uint32_t *queue = &queues[2 * (size_t)replay_gpu_work(r, n)->device + thing];
        any = *queue != HD_NONE && *queue != firsts[n - r->first_work];
        *queue = firsts[n - r->first_work];
    }
    hd_large_free(firsts);
    free(queues);
    return any;
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
    device *d = &s->devices[replay_gpu_work(s->of.r, node)->device];
    if (engines_is_copy(s->of.r, node))
        return engines_wait(start, behind, &d->engines, s->of.r, times, states, s->afters, node);
    return is_kernel(s->of.r, node) && sms_wait(start, behind, &s->of, &d->sms, times, node);
}

int64_t replay_share_end(replay_sharer *s, uint32_t node, int64_t start)
{
    const replay *r = s->of.r;
    int64_t duration = r->plan.durations[node], end = gpu_time(gpu_sum(start, duration));
    if (!replay_is_work(r, node) || r->plan.flags[node] & PLAN_GONE) return end;
    const replay_share *share = &r->shares[node - r->first_work];
    replay_moved moved;
    s->of.moved_count = 0;
    if (share->sort == SHARE_NONE || duration > SMS_LONGEST) return end;
    device *d = &s->devices[replay_gpu_work(r, node)->device];
    if (share->sort == SHARE_IN || share->sort == SHARE_OUT) {
        end = engines_run(&moved, &d->engines, r, node, start);
        if (moved.node != HD_NONE) sms_add_moved(&s->of, moved);
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
