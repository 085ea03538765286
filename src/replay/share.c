/* share.c - what work of several queues of a device shares: its SMs, and an engine for copies of each direction
 *
 * SMs      A kernel can hold as many as it has blocks. Those that begin first get theirs first, the others what is
 *          left. Blocks run in waves, by what an SM has room for; the last is not always full, which leaves some.
 *          Nothing begins while nothing is left, unless kernels of the trace do so (then they get at least a part of
 *          theirs). In the trace this tells how much a kernel needs; in a replay, when it has got that. Kernels of
 *          communication hold SMs, but take their time.
 * Priority Where priorities differ (priorities.c), free SMs go to the highest first. A block that runs is not stopped:
 *          what begins takes SMs of lower priorities when a wave of their blocks ends; waves are equally long, and
 *          counted from the start of the kernel. Who has no blocks left that wait, in its last wave, keeps its SMs
 *          until its end.
 * Engines  One copy to the device at a time, and one from it; of pinned memory, since the others also wait for the
 *          host. An engine stays with the queue that it serves while the next of that is there. Where copies of one
 *          direction overlap in the trace, there is no such engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "replay/priorities.h"
#include "replay/rows.h"
#include "report/gpu/gpu.h"
#include "report/properties.h"
#include "trace/roles/copy_ways.h"
#include "trace/roles/sync_calls.h"

enum {
    ALL = 1024,        /* SMs of a device */
    LEAST_PART = 128,  /* of what it can hold a kernel gets at least that part */
    OVERLAP_PART = 50, /* copies overlap if more than that part of their time does */
    EARLY_PART = 10    /* kernels do not wait for SMs if they run that part of their time before there are any */
};
#define LONGEST (INT64_MAX / ALL / 2) /* ns; what takes longer shares nothing */

/* ---- what there is to share ---- */

static uint8_t sort_of_copy(const replay *r, const hd_work *work)
{
    if (work->role != HD_ROLE_COPY || hd_is_pageable_copy(r->trace, work)) return SHARE_NONE;
    uint32_t way = hd_copy_way_of(hd_trace_string(r->trace, work->name));
    return way == HD_COPY_WAY('H', 'D') ? SHARE_IN : way == HD_COPY_WAY('D', 'H') ? SHARE_OUT : SHARE_NONE;
}

typedef struct finder {
    replay *r;
    int64_t *sms; /* by device; 0: not known */
    gpu_arg blocks, grid;
    replay_waves waves;
} finder;

static bool add_sms(void *user, report_properties *of)
{
    finder *f = user;
    for (uint32_t i = 0; i < f->r->scope.device_count; i++) {
        const gpu_device *d = &f->r->scope.devices[i];
        bool is_it = d->device == of->id && (of->rank == HD_NO_NUMBER || of->rank == d->rank);
        if (is_it && of->multiprocessors > 0) f->sms[i] = of->multiprocessors;
    }
    return true;
}

/* Blocks per SM, as told, or by the grid, "[512,1,1]"; 0: not known. */
static double blocks_of(finder *f, uint32_t node)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, f->r->trace, HD_KIND_SLICE, f->r->graph->slices[node]);
    hd_value value;
    double blocks;
    int64_t sms = f->sms[replay_gpu_work(f->r, node)->device];
    if (gpu_arg_get(&value, &f->blocks, block, at) && hd_value_double(&blocks, f->r->trace, value)) return blocks;
    hd_string grid = sms ? hd_trace_string(f->r->trace, gpu_arg_text(&f->grid, block, at)) : (hd_string){0};
    return replay_product(&blocks, grid) ? blocks / (double)sms : 0;
}

static void set_width(finder *f, replay_share *s, uint32_t node)
{
    double blocks = blocks_of(f, node);
    if (!(blocks > 0)) {
        f->r->widthless++;
        return;
    }
    s->width = blocks >= 1 ? ALL : (uint16_t)(blocks * ALL + 1);
    s->sort = replay_gpu_work(f->r, node)->class == GPU_COMMUNICATION ? SHARE_HELD : SHARE_SMS;
    s->tail = s->width;
    replay_waves_set(s, &f->waves, node, blocks);
}

static bool find_shares(replay *r)
{
    finder f = {.r = r, .sms = calloc((size_t)r->scope.device_count + 1, sizeof *f.sms)};
    bool fine = f.sms && gpu_arg_init(&f.blocks, r->trace, "blocks per SM") &&
                gpu_arg_init(&f.grid, r->trace, "grid") && report_properties_read(r->trace, add_sms, &f) &&
                replay_waves_init(&f.waves, r);
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        replay_share *s = &r->shares[n - r->first_work];
        const hd_work *work = replay_work(r, n);
        *s = (replay_share){.full_ns = INT64_MIN, .waves = 1};
        if (replay_gpu_work(r, n)->device == HD_NONE || r->plan.durations[n] > LONGEST) continue;
        s->sort = sort_of_copy(r, work);
        if (work->role == HD_ROLE_KERNEL) set_width(&f, s, n);
    }
    gpu_arg_deinit(&f.blocks);
    gpu_arg_deinit(&f.grid);
    fine = fine && replay_priorities_settle(r);
    replay_waves_deinit(&f.waves);
    free(f.sms);
    return fine;
}

/* ---- what is left of the SMs ---- */

/* From steps[i].at to the next one so much is left. */
typedef struct step {
    int64_t at;
    int32_t left;
} step;

/* Of what runs, where priorities differ: from `at` on it has so many SMs, and is so fast. */
typedef struct piece {
    int64_t at;
    int32_t share, part;
} piece;

typedef struct running {
    uint32_t node;
    int64_t end, wave; /* wave: ns that its blocks take which run at once */
    int64_t phase;     /* before the pieces: when a wave began, and how many SMs it had then */
    int32_t had;
    int64_t demand, got; /* got: before the pieces */
    piece *pieces;
    size_t count, capacity;
    bool is_fixed; /* ends then, whatever it gets */
    /* For what begins: */
    bool gives, stays; /* stays: none of its blocks waits */
    int64_t held, next;
} running;

typedef struct waiter {
    uint32_t node;
    int64_t since, wakes; /* wakes: HD_NO_TIME: behind another */
} waiter;

typedef struct device {
    step *steps;
    size_t count, capacity;
    running *running; /* by priority, then by begin */
    size_t running_count, running_capacity;
    int64_t granted; /* the last time at which SMs change hands */
    waiter *waiters; /* for SMs: by priority, then by when they could begin */
    size_t waiter_count, waiter_capacity;
    int64_t full;       /* until then nothing was left */
    int64_t engines[2]; /* in, out: free then */
    uint32_t users[2];  /* the last; HD_NONE */
    int64_t copied[2], overlapped[2];
    int64_t worked, early; /* of kernels in the trace; early: before anything was left of the SMs */
} device;

struct replay_sharer {
    const replay *r;
    replay *recorded; /* whose shares are found; NULL: none */
    replay_moved *moved;
    size_t moved_count, moved_capacity;
    uint32_t *afters; /* by work less first_work: what follows on its queue */
    device *devices;
    bool failed;
};

static void insert_step(replay_sharer *s, device *d, size_t at, step added)
{
    s->failed |= !hd_grow((void **)&d->steps, &d->capacity, d->count, sizeof *d->steps);
    if (s->failed) return;
    memmove(d->steps + at + 1, d->steps + at, (d->count++ - at) * sizeof *d->steps);
    d->steps[at] = added;
}

/* The step that begins at a time. */
static size_t split(replay_sharer *s, device *d, int64_t time)
{
    size_t i = d->count;
    while (i > 0 && d->steps[i - 1].at > time) i--;
    if (i && d->steps[i - 1].at == time) return i - 1;
    insert_step(s, d, i, (step){time, i ? d->steps[i - 1].left : d->steps[0].left});
    return i;
}

static void pass_time(device *d, int64_t time)
{
    size_t past = 0;
    for (; past + 1 < d->count && d->steps[past + 1].at <= time; past++) {
        if (d->steps[past].left <= 0) d->full = d->steps[past + 1].at;
    }
    if (d->steps[past].at <= time && d->steps[past].left <= 0) d->full = time;
    memmove(d->steps, d->steps + past, (d->count -= past) * sizeof *d->steps);
}

static void add_piece(replay_sharer *s, running *w, piece added)
{
    s->failed |= !hd_grow((void **)&w->pieces, &w->capacity, w->count, sizeof *w->pieces);
    if (!s->failed) w->pieces[w->count++] = added;
}

static const replay_share *share_of(const replay_sharer *s, uint32_t node)
{
    return &s->r->shares[node - s->r->first_work];
}

/* From `start` on, with up to `most` SMs, until it has got what it needs, which sets its end, or to that, if it is
 * fixed. Returns what it got. */
static int64_t hold(replay_sharer *s, device *d, running *w, int64_t start, int32_t most)
{
    const replay_share *of = share_of(s, w->node);
    int64_t got = w->got, last = of->tail * w->wave, least = of->width > LEAST_PART ? of->width / LEAST_PART : 1;
    size_t i = split(s, d, start);
    for (int64_t time = start; !s->failed && (w->is_fixed ? time < w->end : got < w->demand); i++) {
        bool is_last = w->is_fixed ? w->end - time <= w->wave : w->demand - got <= last;
        int64_t left = d->steps[i].left > 0 ? d->steps[i].left : 0,
                wanted = is_last && of->tail < most ? of->tail : most;
        int64_t share = wanted < left ? wanted : left, part = share > least ? share : least;
        int64_t until = is_last ? w->end : w->end - w->wave;
        if (!w->is_fixed) until = time + (w->demand - (is_last ? 0 : last) - got + part - 1) / part;
        if (i + 1 < d->count && d->steps[i + 1].at < until)
            until = d->steps[i + 1].at;
        else
            split(s, d, until);
        d->steps[i].left -= (int32_t)share;
        if (s->r->has_priorities) add_piece(s, w, (piece){time, (int32_t)share, (int32_t)part});
        got += part * (until - time);
        time = until;
        if (!w->is_fixed) w->end = time;
    }
    return got;
}

/* The first time from `start` on at which something is left. */
static int64_t next_left(const device *d, int64_t start)
{
    size_t i = d->count;
    while (i > 1 && d->steps[i - 1].at > start) i--;
    if (d->steps[i - 1].left > 0) return start;
    while (i < d->count && d->steps[i].left <= 0) i++;
    return i < d->count ? d->steps[i].at : start;
}

/* ---- priorities ---- */

static piece piece_at(const running *w, int64_t time)
{
    size_t i = w->count;
    while (i > 1 && w->pieces[i - 1].at > time) i--;
    return i ? w->pieces[i - 1] : (piece){0};
}

/* What it got until then. */
static int64_t got_at(const running *w, int64_t time)
{
    int64_t got = w->got;
    for (size_t i = 0; i < w->count && w->pieces[i].at < time; i++) {
        int64_t until = i + 1 < w->count && w->pieces[i + 1].at < time ? w->pieces[i + 1].at : time;
        got += w->pieces[i].part * (until - w->pieces[i].at);
    }
    return got;
}

/* Since when most of its blocks run in step; *had: SMs before `time`. */
static int64_t phase_at(int32_t *had, const running *w, int64_t time)
{
    int64_t phase = w->phase;
    *had = w->had;
    for (size_t i = 0; i < w->count && w->pieces[i].at < time; i++) {
        if (w->pieces[i].share > 2 * *had) phase = w->pieces[i].at;
        *had = w->pieces[i].share;
    }
    return phase;
}

static void set_recorded(replay *r, const running *w, int64_t demand)
{
    replay_share *share = &r->shares[w->node - r->first_work];
    int64_t duration = r->graph->ends[w->node] - r->graph->starts[w->node];
    share->demand = demand;
    r->is_crowded |= share->sort == SHARE_SMS && demand < share->width * (duration - w->wave) + share->tail * w->wave;
}

static void add_moved(replay_sharer *s, replay_moved added)
{
    s->failed |= !hd_grow((void **)&s->moved, &s->moved_capacity, s->moved_count, sizeof *s->moved);
    if (!s->failed) s->moved[s->moved_count++] = added;
}

/* From `time` on it holds what those before it leave. */
static void plan_again(replay_sharer *s, device *d, running *w, int64_t time)
{
    int64_t was = w->end, got = got_at(w, time);
    int32_t most = w->stays ? piece_at(w, time).share : share_of(s, w->node)->width;
    w->phase = phase_at(&w->had, w, time);
    w->got = got;
    w->count = 0;
    got = hold(s, d, w, time, most);
    if (s->recorded) set_recorded(s->recorded, w, got);
    if (w->end == was) return;
    add_moved(s, (replay_moved){.node = w->node, .time = gpu_time(w->end)});
}

/* Those that keep what they hold, then all others by priority. */
static void plan_all(replay_sharer *s, device *d, int64_t time)
{
    d->granted = time;
    d->count = split(s, d, time) + 1;
    d->steps[d->count - 1].left = ALL;
    for (int stays = 1; stays >= 0; stays--) {
        for (size_t i = 0; i < d->running_count && !s->failed; i++) {
            running *w = &d->running[i];
            if (w->stays == stays && w->end > time) plan_again(s, d, w, time);
        }
    }
}

/* When a wave of its blocks ends. */
static int64_t next_wave(const running *w, int64_t time)
{
    int32_t had;
    int64_t phase = phase_at(&had, w, time);
    return w->wave ? phase + (time - phase + w->wave - 1) / w->wave * w->wave : time;
}

/* Is it one that gives SMs to `begun`? At w->next, in the trace at once, since that has begun. Else it may stay. */
static bool can_give(const replay_sharer *s, running *w, const running *begun, int64_t time)
{
    w->stays = false;
    if (w->end <= time || share_of(s, w->node)->priority <= share_of(s, begun->node)->priority) return false;
    w->held = piece_at(w, time).share;
    w->next = s->recorded ? time : next_wave(w, time);
    w->stays = w->held && w->end - w->next < (s->recorded ? w->wave : w->wave / 2);
    return !w->stays;
}

/* What has a lower priority gives SMs to what begins, when so many of its waves have ended that there are enough. */
static void give_way(replay_sharer *s, device *d, const running *begun, int64_t time)
{
    int64_t held = 0, last;
    bool any = false;
    if (time < d->granted) time = d->granted;
    int64_t wanted = share_of(s, begun->node)->width - piece_at(begun, time).share;
    if (wanted <= 0 || begun->end <= time) return;
    for (size_t i = 0; i < d->running_count; i++) {
        running *w = &d->running[i];
        w->gives = can_give(s, w, begun, time);
        any |= w->gives || w->stays;
    }
    for (last = time - 1; held < wanted && last < INT64_MAX;) {
        int64_t next = INT64_MAX;
        for (size_t i = 0; i < d->running_count; i++) {
            const running *w = &d->running[i];
            if (w->gives && w->held && w->next > last && w->next < next) next = w->next;
        }
        for (size_t i = 0; i < d->running_count; i++)
            held += d->running[i].gives && d->running[i].next == next ? d->running[i].held : 0;
        if (next < INT64_MAX) time = next;
        last = next;
    }
    if (any) plan_all(s, d, time);
}

static void end_past(device *d, int64_t time)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->running_count; i++) {
        if (d->running[i].end > time)
            d->running[kept++] = d->running[i];
        else
            free(d->running[i].pieces);
    }
    d->running_count = kept;
}

/* Work that begins; *end: HD_NO_TIME, or it is fixed. */
static void run_kernel(replay_sharer *s, device *d, uint32_t node, int64_t start, int64_t *end, int64_t demand)
{
    const replay_share *share = share_of(s, node);
    running w = {.node = node, .phase = start, .end = *end, .demand = demand, .is_fixed = *end != HD_NO_TIME};
    w.wave = w.is_fixed ? (*end - start) / share->waves : demand / (share->width * (share->waves - 1) + share->tail);
    pass_time(d, start);
    end_past(d, start);
    size_t at = d->running_count;
    while (at && share_of(s, d->running[at - 1].node)->priority > share->priority) at--;
    s->failed |= !hd_grow((void **)&d->running, &d->running_capacity, d->running_count, sizeof *d->running);
    if (s->failed) return;
    if (!w.is_fixed) w.end = start;
    demand = hold(s, d, &w, start, share->width);
    memmove(d->running + at + 1, d->running + at, (d->running_count++ - at) * sizeof w);
    d->running[at] = w;
    if (s->recorded) set_recorded(s->recorded, &w, demand);
    if (s->r->has_priorities) give_way(s, d, &d->running[at], start);
    *end = d->running[at].end;
}

size_t replay_share_moved(const replay_moved **out, const replay_sharer *s)
{
    *out = s->moved;
    return s->moved_count;
}

/* ---- the trace ---- */

/* From `start` on, when it can begin; *behind: what has the SMs until then. */
static int64_t can_begin(uint32_t *behind, const replay_sharer *s, device *d, uint32_t node, int64_t start)
{
    int64_t time = next_left(d, start), end = INT64_MAX;
    const running asked = {.node = node};
    for (size_t i = 0; time > start && s->r->has_priorities && i < d->running_count; i++) {
        running *w = &d->running[i];
        if (can_give(s, w, &asked, start > d->granted ? start : d->granted) && w->held && w->next < time)
            time = w->next;
    }
    for (size_t i = 0; i < d->running_count; i++) {
        const running *w = &d->running[i];
        if (w->end < time || w->end >= end) continue;
        end = w->end;
        *behind = w->node;
    }
    return time;
}

/* How long kernels of the trace run before they could have begun. */
static void see_early(replay_sharer *s, device *d, uint32_t node, int64_t start, int64_t end)
{
    uint32_t behind, before = s->r->plan.befores[node - s->r->first_work];
    if (before != HD_NONE && s->r->graph->ends[before] > start) return;
    int64_t time = can_begin(&behind, s, d, node, start);
    d->early += (time < end ? time : end) - start;
    d->worked += end - start;
}

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
        see_early(s, d, node, start, end);
        run_kernel(s, d, node, start, &end, 0);
        if (share->sort == SHARE_SMS) share->full_ns = d->full;
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
    if (fine) s->recorded = r;
    for (size_t i = 0; fine && i < count; i++) take_recorded(s, r, list[i].node);
    if (fine) drop_engines(s, r);
    for (uint32_t i = 0; fine && i < r->scope.device_count; i++)
        r->begins_full |= s->devices[i].early > s->devices[i].worked / EARLY_PART;
    hd_large_free(list);
    fine = fine && !s->failed;
    replay_sharer_free(s);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- a replay ---- */

static bool init_devices(replay_sharer *s)
{
    s->devices = calloc((size_t)s->r->scope.device_count + 1, sizeof *s->devices);
    for (uint32_t i = 0; s->devices && i < s->r->scope.device_count; i++) {
        device *d = &s->devices[i];
        d->full = d->granted = d->engines[0] = d->engines[1] = INT64_MIN;
        d->users[0] = d->users[1] = HD_NONE;
        if (!hd_grow((void **)&d->steps, &d->capacity, 0, sizeof *d->steps)) return false;
        d->steps[d->count++] = (step){INT64_MIN, ALL};
    }
    return s->devices != NULL;
}

hd_status replay_sharer_new(replay_sharer **out, const replay *r, hd_error *err)
{
    replay_sharer *s = *out = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->r = r;
    s->afters = replay_afters(r);
    if (s->afters && init_devices(s)) return HD_OK;
    replay_sharer_free(s);
    *out = NULL;
    return HD_NOMEM(err);
}

void replay_sharer_free(replay_sharer *s)
{
    if (!s) return;
    for (uint32_t i = 0; s->devices && i < s->r->scope.device_count; i++) {
        end_past(&s->devices[i], INT64_MAX);
        free(s->devices[i].running);
        free(s->devices[i].waiters);
        free(s->devices[i].steps);
    }
    free(s->devices);
    free(s->moved);
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
    const replay *r = s->r;
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

/* ---- waiting for SMs ---- */

static bool goes_before(const replay_sharer *s, const waiter *a, const waiter *b)
{
    int pa = share_of(s, a->node)->priority, pb = share_of(s, b->node)->priority;
    return pa != pb ? pa < pb : a->since != b->since ? a->since < b->since : a->node < b->node;
}

static size_t find_waiter(const device *d, uint32_t node)
{
    size_t i = 0;
    while (i < d->waiter_count && d->waiters[i].node != node) i++;
    return i;
}

static void drop_waiter(device *d, size_t at)
{
    memmove(d->waiters + at, d->waiters + at + 1, (--d->waiter_count - at) * sizeof *d->waiters);
}

static void add_waiter(replay_sharer *s, device *d, waiter added)
{
    size_t at = d->waiter_count;
    s->failed |= !hd_grow((void **)&d->waiters, &d->waiter_capacity, d->waiter_count, sizeof *d->waiters);
    if (s->failed) return;
    while (at && goes_before(s, &added, &d->waiters[at - 1])) at--;
    memmove(d->waiters + at + 1, d->waiters + at, (d->waiter_count++ - at) * sizeof added);
    d->waiters[at] = added;
}

/* The first that waits may begin now, or knows when. */
static void wake_first(replay_sharer *s, device *d, int64_t time)
{
    waiter *w = d->waiters;
    if (!d->waiter_count || w->wakes != HD_NO_TIME) return;
    replay_moved moved = {.node = w->node, .is_start = true, .behind = HD_NONE};
    w->wakes = moved.time = can_begin(&moved.behind, s, d, w->node, time);
    add_moved(s, moved);
}

/* Nobody begins before the first that waits, and nobody at all while nothing is left. */
static bool waits_for_sms(int64_t *start, uint32_t *behind, replay_sharer *s, const replay_times *times, uint32_t node)
{
    const replay *r = s->r;
    device *d = &s->devices[replay_gpu_work(r, node)->device];
    uint32_t before = r->plan.befores[node - r->first_work];
    if (r->begins_full || r->plan.durations[node] > LONGEST) return false;
    if (before != HD_NONE && times->ends[before] > *start) return false; /* it keeps its place in that */
    waiter w = {node, *start, HD_NO_TIME};
    size_t at = find_waiter(d, node);
    if (at < d->waiter_count) {
        if (d->waiters[at].wakes == *start) w.since = d->waiters[at].since;
        drop_waiter(d, at);
    }
    if (!d->waiter_count || goes_before(s, &w, &d->waiters[0])) w.wakes = can_begin(behind, s, d, node, *start);
    if (w.wakes == *start) return false;
    add_waiter(s, d, w);
    wake_first(s, d, *start);
    *start = w.wakes == HD_NO_TIME ? GPU_LAST_TIME : w.wakes;
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
    s->moved_count = 0;
    if (!replay_is_work(s->r, node)) return false;
    if (is_copy(s->r, node)) return waits_for_engine(start, behind, s, times, states, node);
    return is_kernel(s->r, node) && waits_for_sms(start, behind, s, times, node);
}

int64_t replay_share_end(replay_sharer *s, uint32_t node, int64_t start)
{
    const replay *r = s->r;
    int64_t duration = r->plan.durations[node], end = gpu_time(gpu_sum(start, duration));
    if (!replay_is_work(r, node) || r->plan.flags[node] & PLAN_GONE) return end;
    const replay_share *share = &r->shares[node - r->first_work];
    int engine = share->sort == SHARE_OUT;
    s->moved_count = 0;
    if (share->sort == SHARE_NONE || duration > LONGEST) return end;
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
    run_kernel(s, d, node, start, &end, demand);
    wake_first(s, d, start);
    return gpu_time(end);
}

bool replay_share_failed(const replay_sharer *s)
{
    return s->failed;
}
