/* solve.c - lane repair of one track: order, groups, the primary lane
 *
 * 1. Usually slices are sorted and nothing crosses: one sweep with a stack detects that, and is done.
 * 2. Else the slices are ordered by index, and split into groups: the connected components of the crossing graph. When
 * a slice closes, all open ones that started later cross it, so their groups, which are above its own on a stack,
 * merge with it. Slices of different groups never cross, not even after snapping: a boundary inside a slice of another
 * group would be the end of a slice that crosses that one. So groups are solved independently, on the same lanes.
 * 3. Per group the plain greedy is computed first, then the proposal of pick.c, and the better one is used. A proposal
 *    that saves moves but needs more lanes than the greedy in its group is deferred until the number of lanes of the
 *    greedy over all groups is known.
 *
 * The primary lane is swept by start with a stack of open ends. A slice that crosses the top of the stack is settled
 * at once: it is clamped, or is pushed past as many boundaries as it takes and waits for its new start in a queue,
 * or leaves. Slices that start meanwhile and were inside a waiting one are cut to it.
 */
#include "pass/lanes/solve.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory/large.h"

/* With more boundaries than this, all within the threshold, a slice is cut at the one nearest to its middle; and a
 * slice's parent is searched among this many pushed ones. */
enum { WALK_LEVELS = 64, PUSHED_SLICES = 64 };

#define NO_SLICE UINT32_MAX

typedef struct track {
    hd_lane_slice *slices;
    uint32_t count;
    uint32_t *order; /* by (start, longer first, input order), or NULL: already in that order */
    uint64_t threshold;
} track;

static uint64_t gap(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

static hd_lane_slice *at(const track *t, uint32_t position)
{
    return &t->slices[t->order ? t->order[position] : position];
}

typedef enum scan_outcome { SCAN_CLEAN, SCAN_UNSORTED, SCAN_CROSSING } scan_outcome;

/* One sweep that stops at the first slice out of order; after the first crossing it only checks the order. */
static scan_outcome scan(const track *t, int64_t *open_ends)
{
    uint32_t depth = 0;
    int64_t last_start = INT64_MIN, last_end = INT64_MAX;
    bool crossed = false;
    for (uint32_t i = 0; i < t->count; i++) {
        hd_lane_slice *slice = at(t, i);
        int64_t start = slice->start, end = slice->end;
        if (start < last_start || (start == last_start && end > last_end)) return SCAN_UNSORTED;
        last_start = start;
        last_end = end;
        slice->lane = 0;
        if (end <= start || crossed) continue;
        while (depth > 0 && open_ends[depth - 1] <= start) depth--;
        crossed = depth > 0 && open_ends[depth - 1] < end;
        open_ends[depth++] = end;
    }
    return crossed ? SCAN_CROSSING : SCAN_CLEAN;
}

/* ---- groups ---- */

typedef struct group_list {
    uint32_t first, last, open; /* positions in order, linked by next[]; how many are open */
} group_list;

typedef struct groups { /* of two slices and more */
    uint32_t *members;  /* slice indices, group by group */
    uint32_t *starts;   /* of each group in members[], and one more; while groups are built, their first position */
    uint32_t count, largest;
    /* Only while groups are built: */
    uint32_t *next;
    group_list *stack; /* positions of one group are below those of the next */
    uint32_t depth;
    hd_lane_heap open;
} groups;

static void groups_deinit(groups *g)
{
    hd_large_free(g->members);
    hd_large_free(g->starts);
    hd_large_free(g->next);
    hd_large_free(g->stack);
    hd_large_free(g->open.ids);
    *g = (groups){0};
}

static void close_slice(groups *g, uint32_t position)
{
    for (; g->stack[g->depth - 1].first > position; g->depth--) {
        group_list *above = &g->stack[g->depth - 1], *below = &g->stack[g->depth - 2];
        g->next[below->last] = above->first;
        below->last = above->last;
        below->open += above->open;
    }
    group_list *own = &g->stack[g->depth - 1];
    if (--own->open > 0) return;
    g->depth--;
    if (own->first == own->last) return;
    g->next[own->last] = NO_SLICE;
    g->starts[g->count++] = own->first;
}

static void find_groups(groups *g, const track *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        hd_lane_slice *slice = at(t, i);
        slice->lane = 0;
        if (slice->end <= slice->start) continue;
        while (g->open.count > 0 && at(t, g->open.ids[0])->end <= slice->start) {
            close_slice(g, hd_lane_heap_pop(&g->open));
        }
        g->stack[g->depth++] = (group_list){i, i, 1};
        hd_lane_heap_push(&g->open, i);
    }
    while (g->open.count > 0) close_slice(g, hd_lane_heap_pop(&g->open));
}

/* Converts linked positions to slice indices in one array. */
static hd_status list_members(groups *g, const track *t, uint64_t large, hd_error *err)
{
    size_t total = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        for (uint32_t p = g->starts[i]; p != NO_SLICE; p = g->next[p]) total++;
    }
    g->members = hd_large_new(total + 1, sizeof *g->members, large);
    if (!g->members) return HD_NOMEM(err);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t p = g->starts[i], start = g->starts[i] = filled;
        for (; p != NO_SLICE; p = g->next[p]) g->members[filled++] = t->order ? t->order[p] : p;
        if (filled - start > g->largest) g->largest = filled - start;
    }
    g->starts[g->count] = filled;
    return HD_OK;
}

/* Finds the groups, and frees the data needed for that, including the order. */
static hd_status split_groups(groups *g, track *t, uint64_t large, hd_error *err)
{
    size_t room = (size_t)t->count + 1;
    *g =
        (groups){.starts = hd_large_new(room / 2 + 1, sizeof *g->starts, large),
                 .next = hd_large_new(room, sizeof *g->next, large),
                 .stack = hd_large_new(room, sizeof *g->stack, large),
                 .open = {.ids = hd_large_new(room, sizeof *g->open.ids, large), .slices = t->slices, .map = t->order}};
    if (!g->starts || !g->next || !g->stack || !g->open.ids) return HD_NOMEM(err);
    find_groups(g, t);
    hd_large_free(g->stack);
    hd_large_free(g->open.ids);
    g->stack = NULL;
    g->open.ids = NULL;
    HD_TRY(list_members(g, t, large, err));
    hd_large_free(g->next);
    hd_large_free(t->order);
    g->next = t->order = NULL;
    return HD_OK;
}

/* ---- the primary lane ---- */

typedef struct waiting { /* a pushed slice before its new start */
    int64_t start, end;
    uint32_t member;
} waiting;

typedef struct pushed { /* of a slice that waits or waited */
    int64_t start, end, old_end;
} pushed;

typedef struct sweep {
    const hd_lane_group *group;
    int64_t *ends;  /* of open slices; each is within the previous one */
    waiting *queue; /* binary heap by (start, longer first) */
    uint32_t depth, queued, pushed_count;
    pushed recent[PUSHED_SLICES]; /* ring */
    hd_lane_slice *commit;        /* write times there, or NULL */
    uint64_t snapped, crossings;
} sweep;

static bool comes_before(const waiting *a, const waiting *b)
{
    if (a->start != b->start) return a->start < b->start;
    return a->end != b->end ? a->end > b->end : a->member < b->member;
}

static void enqueue(sweep *s, waiting item)
{
    HD_HEAP_PUSH(s->queue, s->queued, item, x, y, comes_before(x, y));
}

static waiting dequeue(sweep *s)
{
    waiting top = s->queue[0];
    HD_HEAP_POP(s->queue, s->queued, x, y, comes_before(x, y));
    return top;
}

static void open_slice(sweep *s, int64_t start, int64_t end)
{
    while (s->depth > 0 && s->ends[s->depth - 1] <= start) s->depth--;
    assert(s->depth == 0 || s->ends[s->depth - 1] >= end);
    s->ends[s->depth++] = end;
}

/* The innermost pushed slice that contained this one, which would extend beyond its new start. */
static const pushed *waiting_parent(const sweep *s, int64_t start, int64_t end)
{
    uint32_t kept = s->pushed_count < PUSHED_SLICES ? s->pushed_count : PUSHED_SLICES;
    if (s->queued == 0) return NULL;
    for (uint32_t i = 1; i <= kept; i++) {
        const pushed *parent = &s->recent[(s->pushed_count - i) % PUSHED_SLICES];
        if (parent->old_end >= end && parent->start > start && parent->start < end) return parent;
    }
    return NULL;
}

/* Many boundaries in reach: pushes to the last one before the slice's middle, and clamps to the next, by bisection. */
static bool cut_at_middle(sweep *s, uint32_t level, int64_t start, waiting *now)
{
    uint32_t low = 0, high = level; /* the last of [0, high) that is beyond the middle is low - 1 */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t end = s->ends[middle];
        bool beyond = end > now->start && (end >= now->end || gap(end, now->end) <= gap(start, end));
        if (beyond) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < level && s->ends[low] > now->start) {
        now->start = s->ends[low];
        s->crossings++;
        if (gap(start, now->start) >= s->group->threshold) return false;
    }
    if (low == 0 || s->ends[low - 1] >= now->end) return true;
    s->crossings++;
    uint64_t clamp = gap(s->ends[low - 1], now->end);
    now->end = s->ends[low - 1];
    return clamp < s->group->threshold;
}

/* Fits a slice into the open ones by shifts under the threshold; false: impossible. If one shift is too large only the
 * other is possible; if both are, no outer boundary helps. */
static bool snap(sweep *s, waiting *now)
{
    uint64_t threshold = s->group->threshold;
    int64_t start = now->start;
    uint32_t steps = 0;
    for (uint32_t level = s->depth; level > 0 && s->ends[level - 1] < now->end; level--) {
        int64_t boundary = s->ends[level - 1];
        if (boundary == now->start) continue;
        if (steps++ == WALK_LEVELS) return cut_at_middle(s, level, start, now);
        uint64_t clamp = gap(boundary, now->end), total = gap(start, boundary);
        if (clamp < threshold && (clamp <= gap(now->start, boundary) || total >= threshold)) {
            now->end = boundary;
            s->crossings++;
            return true;
        }
        if (total >= threshold) return false;
        now->start = boundary;
        s->crossings++;
    }
    return true;
}

/* Settles one slice; false: it leaves. */
static bool settle(sweep *s, uint32_t member, int64_t start, int64_t end)
{
    while (s->depth > 0 && s->ends[s->depth - 1] <= start) s->depth--;
    if (s->depth == 0 || s->ends[s->depth - 1] >= end) {
        s->ends[s->depth++] = end;
        return true;
    }
    waiting now = {start, end, member};
    uint64_t crossings = s->crossings;
    const pushed *parent = waiting_parent(s, start, end);
    if (parent) { /* its shifts are at least as large */
        now.start = parent->start;
        if (parent->end < now.end) now.end = parent->end;
        s->crossings++;
    } else if (!snap(s, &now)) {
        s->crossings = crossings;
        return false;
    }
    s->snapped++;
    if (s->commit) {
        hd_lane_slice *slice = &s->commit[s->group->members[member]];
        slice->start = now.start;
        slice->end = now.end;
    }
    if (now.start == start) {
        open_slice(s, now.start, now.end);
        return true;
    }
    enqueue(s, now);
    if (!parent) s->recent[s->pushed_count++ % PUSHED_SLICES] = (pushed){now.start, now.end, end};
    return true;
}

/* Sweeps the members whose plan is 0; those that cannot stay become HD_LANE_MOVED. Returns the number of moves in the
 * plan. */
static uint32_t sweep_primary(sweep *s, const hd_lane_group *group, hd_lane_slice *commit, uint32_t *plan)
{
    uint32_t moved = 0;
    s->group = group;
    s->commit = commit;
    s->depth = s->queued = s->pushed_count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (plan[i] == 0) {
            const hd_lane_slice *slice = &group->slices[group->members[i]];
            waiting own = {slice->start, slice->end, i};
            while (s->queued > 0 && comes_before(&s->queue[0], &own)) {
                waiting next = dequeue(s);
                open_slice(s, next.start, next.end);
            }
            if (!settle(s, i, own.start, own.end)) plan[i] = HD_LANE_MOVED;
        }
        moved += plan[i] != 0;
    }
    return moved;
}

/* ---- one group ---- */

typedef struct solver {
    track track;
    groups groups;
    hd_lane_picker picker;
    sweep sweep;
    uint32_t *plan, *trial;            /* the current plan, and the one compared with it */
    uint32_t *deferred;                /* groups for the second round */
    uint32_t greedy_lanes, used_lanes; /* highest over the groups so far */
    uint64_t moved;
} solver;

static void commit_plan(solver *v, const hd_lane_group *group, uint32_t *plan)
{
    v->sweep.snapped = v->sweep.crossings = 0;
    v->moved += sweep_primary(&v->sweep, group, v->track.slices, plan);
    for (uint32_t i = 0; i < group->count; i++) {
        assert(plan[i] != HD_LANE_MOVED);
        v->track.slices[group->members[i]].lane = plan[i];
        if (plan[i] > v->used_lanes) v->used_lanes = plan[i];
    }
}

typedef enum verdict { WORSE, BETTER, TOO_MANY_LANES } verdict;

/* Makes a proposal in v->trial and compares it with a plan that moves `moved` to `lanes`. */
static verdict propose(solver *v, const hd_lane_group *group, int variant, uint32_t moved, uint32_t lanes,
                       uint32_t lanes_allowed)
{
    hd_lane_picker_pick(&v->picker, group, variant, v->trial);
    uint32_t trial_moved = sweep_primary(&v->sweep, group, NULL, v->trial);
    if (trial_moved > moved) return WORSE;
    uint32_t trial_lanes = hd_lane_picker_colour(&v->picker, group, true, v->trial);
    if (trial_moved == moved) return trial_lanes < lanes ? BETTER : WORSE;
    return trial_lanes <= lanes_allowed ? BETTER : TOO_MANY_LANES;
}

/* `lanes_allowed` 0: as many as the greedy uses for this group. Returns false, with nothing written, if more lanes
 * would save moves. */
static bool solve_group(solver *v, const hd_lane_group *group, uint32_t lanes_allowed)
{
    bool last_call = lanes_allowed > 0;
    memset(v->plan, 0, group->count * sizeof *v->plan);
    uint32_t moved = sweep_primary(&v->sweep, group, NULL, v->plan);
    if (moved > 0) {
        uint32_t lanes = hd_lane_picker_colour(&v->picker, group, false, v->plan);
        if (lanes > v->greedy_lanes) v->greedy_lanes = lanes;
        if (lanes_allowed < lanes) lanes_allowed = lanes;
        if (lanes > 1) lanes = hd_lane_picker_colour(&v->picker, group, true, v->plan);
        verdict said = moved > 1 ? propose(v, group, 0, moved, lanes, lanes_allowed) : WORSE;
        if (said == TOO_MANY_LANES) {
            verdict again = propose(v, group, 1, moved, lanes, lanes_allowed);
            if (again != WORSE) said = again;
        }
        if (said == TOO_MANY_LANES && !last_call) return false;
        if (said == BETTER) {
            commit_plan(v, group, v->trial);
            return true;
        }
    }
    commit_plan(v, group, v->plan);
    return true;
}

static void solve_groups(solver *v, hd_lane_result *out)
{
    uint32_t deferred = 0;
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t count = round == 0 ? v->groups.count : deferred;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id = round == 0 ? i : v->deferred[i], start = v->groups.starts[id];
            hd_lane_group group = {v->track.slices, v->groups.members + start, v->groups.starts[id + 1] - start,
                                   v->track.threshold};
            if (solve_group(v, &group, round == 0 ? 0 : v->greedy_lanes)) {
                out->snapped += v->sweep.snapped;
                out->crossings += v->sweep.crossings;
            } else {
                v->deferred[deferred++] = id;
            }
        }
    }
    out->lane_count = v->used_lanes + 1;
    out->moved = v->moved;
}

static hd_status solve_crossings(solver *v, hd_lane_result *out, uint64_t large, hd_error *err)
{
    HD_TRY(split_groups(&v->groups, &v->track, large, err));
    if (v->groups.count == 0) return HD_OK;
    size_t room = v->groups.largest;
    HD_TRY(hd_lane_picker_init(&v->picker, v->groups.largest, large, err));
    v->deferred = hd_large_new(v->groups.count, sizeof *v->deferred, large);
    v->plan = hd_large_new(room, sizeof *v->plan, large);
    v->trial = hd_large_new(room, sizeof *v->trial, large);
    v->sweep.queue = hd_large_new(room, sizeof *v->sweep.queue, large);
    v->sweep.ends = v->picker.ends;
    if (!v->deferred || !v->plan || !v->trial || !v->sweep.queue) return HD_NOMEM(err);
    solve_groups(v, out);
    return HD_OK;
}

static hd_status put_in_order(track *t, uint64_t large, hd_error *err)
{
    uint32_t *spare = hd_large_new(t->count, sizeof *spare, large);
    t->order = hd_large_new(t->count, sizeof *t->order, large);
    if (spare && t->order) hd_lane_sort(t->order, spare, t->slices, t->count);
    hd_large_free(spare);
    return spare && t->order ? HD_OK : HD_NOMEM(err);
}

static hd_status solve_track(solver *v, hd_lane_result *out, uint64_t large, hd_error *err)
{
    int64_t *open_ends = hd_large_new(v->track.count, sizeof *open_ends, large);
    if (!open_ends) return HD_NOMEM(err);
    hd_status status = HD_OK;
    scan_outcome found = scan(&v->track, open_ends);
    if (found == SCAN_UNSORTED) {
        status = put_in_order(&v->track, large, err);
        if (status == HD_OK) found = scan(&v->track, open_ends);
    }
    hd_large_free(open_ends);
    if (status != HD_OK || found == SCAN_CLEAN) return status;
    return solve_crossings(v, out, large, err);
}

hd_status hd_lanes_solve(hd_lane_result *out, hd_lane_slice *slices, size_t count, int64_t snap_threshold,
                         uint64_t large, hd_error *err)
{
    *out = (hd_lane_result){.lane_count = 1};
    if (snap_threshold < 0) {
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the snap threshold is negative");
    }
    if (count >= UINT32_MAX - 1) {
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "a track of %zu slices, at most 2^32 - 3 can be repaired", count);
    }
    if (count == 0) return HD_OK;
    solver v = {.track = {slices, (uint32_t)count, NULL, (uint64_t)snap_threshold}};
    hd_status status = solve_track(&v, out, large, err);
    groups_deinit(&v.groups);
    hd_lane_picker_deinit(&v.picker);
    hd_large_free(v.track.order);
    hd_large_free(v.deferred);
    hd_large_free(v.plan);
    hd_large_free(v.trial);
    hd_large_free(v.sweep.queue);
    return status;
}
