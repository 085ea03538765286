/* sms.c - kernels of several queues share the SMs of a device
 *
 * SMs      A kernel can hold as many SMs as it has blocks. Kernels that begin first get theirs first, later ones the
 *          rest. Blocks run in waves, limited by the capacity of an SM; the last wave is not always full, which frees
 *          some SMs. No kernel begins while no SM is free, unless kernels of the trace do so (then they get at least a
 *          part of theirs). From the trace this gives the SM time that a kernel needs; in a replay, when it has had
 *          that. Communication kernels hold SMs, but their duration is fixed.
 * Priority If priorities differ (priorities.c), free SMs go to the highest first. A running block is not preempted: a
 * new
 *          kernel takes SMs of lower priorities when a wave of their blocks ends; waves are equally long, counted from
 *          the start of the kernel. A kernel in its last wave has no waiting blocks and keeps its SMs until its end.
 */
#include "replay/sms/sms.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"

enum {
    LEAST_PART = 128, /* a kernel gets at least this part of what it can hold */
    EARLY_PART = 10   /* kernels ignore SMs if they run this part of their time before any are free */
};

typedef sms_step step;
typedef sms_piece piece;
typedef sms_running running;
typedef sms_waiter waiter;

/* ---- what is left ---- */

static void insert_step(sms_sharing *s, sms *d, size_t at, step added)
{
    s->failed |= !hd_grow((void **)&d->steps, &d->capacity, d->count, sizeof *d->steps);
    if (s->failed) return;
    memmove(d->steps + at + 1, d->steps + at, (d->count++ - at) * sizeof *d->steps);
    d->steps[at] = added;
}

/* The step that begins at a time. */
static size_t split(sms_sharing *s, sms *d, int64_t time)
{
    size_t i = d->count;
    while (i > 0 && d->steps[i - 1].at > time) i--;
    if (i && d->steps[i - 1].at == time) return i - 1;
    insert_step(s, d, i, (step){time, i ? d->steps[i - 1].left : d->steps[0].left});
    return i;
}

static void pass_time(sms *d, int64_t time)
{
    size_t past = 0;
    for (; past + 1 < d->count && d->steps[past + 1].at <= time; past++) {
        if (d->steps[past].left <= 0) d->full = d->steps[past + 1].at;
    }
    if (d->steps[past].at <= time && d->steps[past].left <= 0) d->full = time;
    memmove(d->steps, d->steps + past, (d->count -= past) * sizeof *d->steps);
}

static void add_piece(sms_sharing *s, running *w, piece added)
{
    s->failed |= !hd_grow((void **)&w->pieces, &w->capacity, w->count, sizeof *w->pieces);
    if (!s->failed) w->pieces[w->count++] = added;
}

static const replay_share *share_of(const sms_sharing *s, uint32_t node)
{
    return &s->r->shares[node - s->r->first_work];
}

/* Holds up to `most` SMs from `start` on, until it has had the SM time that it needs, which sets its end, or until its
 * fixed end. Returns the SM time it got. */
static int64_t hold(sms_sharing *s, sms *d, running *w, int64_t start, int32_t most)
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

/* The first time from `start` on at which SMs are free. */
static int64_t next_left(const sms *d, int64_t start)
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

/* The SM time it got until then. */
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

void sms_add_moved(sms_sharing *s, replay_moved added)
{
    s->failed |= !hd_grow((void **)&s->moved, &s->moved_capacity, s->moved_count, sizeof *s->moved);
    if (!s->failed) s->moved[s->moved_count++] = added;
}

/* From `time` on it holds what earlier ones leave. */
static void plan_again(sms_sharing *s, sms *d, running *w, int64_t time)
{
    int64_t was = w->end, got = got_at(w, time);
    int32_t most = w->stays ? piece_at(w, time).share : share_of(s, w->node)->width;
    w->phase = phase_at(&w->had, w, time);
    w->got = got;
    w->count = 0;
    got = hold(s, d, w, time, most);
    if (s->recorded) set_recorded(s->recorded, w, got);
    if (w->end == was) return;
    sms_add_moved(s, (replay_moved){.node = w->node, .time = gpu_time(w->end)});
}

/* First kernels that keep their SMs, then all others by priority. */
static void plan_all(sms_sharing *s, sms *d, int64_t time)
{
    d->granted = time;
    d->count = split(s, d, time) + 1;
    d->steps[d->count - 1].left = SHARE_ALL;
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

/* Whether it gives SMs to `begun`: at w->next, in the trace at once, since that has begun. Otherwise it may keep
 * them. */
static bool can_give(const sms_sharing *s, running *w, const running *begun, int64_t time)
{
    w->stays = false;
    if (w->end <= time || share_of(s, w->node)->priority <= share_of(s, begun->node)->priority) return false;
    w->held = piece_at(w, time).share;
    w->next = s->recorded ? time : next_wave(w, time);
    w->stays = w->held && w->end - w->next < (s->recorded ? w->wave : w->wave / 2);
    return !w->stays;
}

/* Lower priorities give SMs to a new kernel once enough of their waves have ended. */
static void give_way(sms_sharing *s, sms *d, const running *begun, int64_t time)
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

static void end_past(sms *d, int64_t time)
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

void sms_run(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t *end, int64_t demand)
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

/* ---- the trace ---- */

/* The first time from `start` on when it can begin; *behind: the kernel that uses the SMs until then. */
static int64_t can_begin(uint32_t *behind, const sms_sharing *s, sms *d, uint32_t node, int64_t start)
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

/* Counts how long kernels of the trace run before they could have begun. */
static void see_early(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t end)
{
    uint32_t behind, before = s->r->plan.befores[node - s->r->first_work];
    if (before != HD_NONE && s->r->graph->ends[before] > start) return;
    int64_t time = can_begin(&behind, s, d, node, start);
    d->early += (time < end ? time : end) - start;
    d->worked += end - start;
}

void sms_take(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t end)
{
    see_early(s, d, node, start, end);
    sms_run(s, d, node, start, &end, 0);
}

bool sms_begins_full(const sms *d)
{
    return d->early > d->worked / EARLY_PART;
}

/* ---- waiting ---- */

static bool goes_before(const sms_sharing *s, const waiter *a, const waiter *b)
{
    int pa = share_of(s, a->node)->priority, pb = share_of(s, b->node)->priority;
    return pa != pb ? pa < pb : a->since != b->since ? a->since < b->since : a->node < b->node;
}

static size_t find_waiter(const sms *d, uint32_t node)
{
    size_t i = 0;
    while (i < d->waiter_count && d->waiters[i].node != node) i++;
    return i;
}

static void drop_waiter(sms *d, size_t at)
{
    memmove(d->waiters + at, d->waiters + at + 1, (--d->waiter_count - at) * sizeof *d->waiters);
}

static void add_waiter(sms_sharing *s, sms *d, waiter added)
{
    size_t at = d->waiter_count;
    s->failed |= !hd_grow((void **)&d->waiters, &d->waiter_capacity, d->waiter_count, sizeof *d->waiters);
    if (s->failed) return;
    while (at && goes_before(s, &added, &d->waiters[at - 1])) at--;
    memmove(d->waiters + at + 1, d->waiters + at, (d->waiter_count++ - at) * sizeof added);
    d->waiters[at] = added;
}

void sms_wake_first(sms_sharing *s, sms *d, int64_t time)
{
    waiter *w = d->waiters;
    if (!d->waiter_count || w->wakes != HD_NO_TIME) return;
    replay_moved moved = {.node = w->node, .is_start = true, .behind = HD_NONE};
    w->wakes = moved.time = can_begin(&moved.behind, s, d, w->node, time);
    sms_add_moved(s, moved);
}

/* No kernel begins before the first waiting one, and none while no SM is free. */
bool sms_wait(int64_t *start, uint32_t *behind, sms_sharing *s, sms *d, const replay_times *times, uint32_t node)
{
    const replay *r = s->r;
    uint32_t before = r->plan.befores[node - r->first_work];
    if (r->begins_full || r->plan.durations[node] > SMS_LONGEST) return false;
    if (before != HD_NONE && times->ends[before] > *start) return false; /* it keeps its offset within that one */
    waiter w = {node, *start, HD_NO_TIME};
    size_t at = find_waiter(d, node);
    if (at < d->waiter_count) {
        if (d->waiters[at].wakes == *start) w.since = d->waiters[at].since;
        drop_waiter(d, at);
    }
    if (!d->waiter_count || goes_before(s, &w, &d->waiters[0])) w.wakes = can_begin(behind, s, d, node, *start);
    if (w.wakes == *start) return false;
    add_waiter(s, d, w);
    sms_wake_first(s, d, *start);
    *start = w.wakes == HD_NO_TIME ? GPU_LAST_TIME : w.wakes;
    return true;
}

/* ---- the whole ---- */

bool sms_init(sms *d)
{
    *d = (sms){.granted = INT64_MIN, .full = INT64_MIN};
    if (!hd_grow((void **)&d->steps, &d->capacity, 0, sizeof *d->steps)) return false;
    d->steps[d->count++] = (step){INT64_MIN, SHARE_ALL};
    return true;
}

void sms_deinit(sms *d)
{
    end_past(d, INT64_MAX);
    free(d->running);
    free(d->waiters);
    free(d->steps);
}
