/* doubt.c - the uncertainty of the result of changes
 *
 * The self-check shows the error of the unchanged replay. With changes, other activities may come first and other
 * delays may matter: so the changed plan is replayed again with delays that vary as they did in the trace (those with
 * few samples more), and with alternatives for what the trace does not contain. The resulting differences of steps,
 * span and busy time are part of their uncertainty.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "replay/replay.h"

enum { RUNS = 2 };

/* Delays are distributed evenly within twice their median distance from the mean, and the mean has the uncertainty of
 * its number of samples: half of a delay without samples. */
int64_t replay_doubt(const replay *r, unsigned lag, uint32_t node, uint64_t chance)
{
    const replay_lag *l = &r->lags[lag];
    int64_t width = 2 * l->spread_ns, size = l->ns < 0 ? -l->ns : l->ns;
    int64_t mean =
        (int64_t)((double)width / sqrt((double)l->samples + 1) + (double)size / 2 / ((double)l->samples + 1));
    uint64_t of_class = replay_chance(chance, UINT64_MAX - lag), of_node = replay_chance(chance, node);
    int64_t off = width ? (int64_t)(of_node % (2 * (uint64_t)width + 1)) - width : 0;
    return off + (of_class % 2 ? mean : -mean);
}

/* Replays the plan and keeps its difference from the known replay if that is larger than the differences so far. */
static hd_status compare(replay_measures *most, const replay_measures *known, replay *r, const replay_plan *plan,
                         hd_error *err)
{
    replay_measures other;
    replay_times times;
    hd_status status = replay_simulate(&times, r, plan, err);
    if (status == HD_OK) status = replay_measure(&other, r, &times, err);
    for (int i = 0; status == HD_OK && i < REPLAY_MEASURES; i++) {
        int64_t off = other.ns[i] < known->ns[i] ? known->ns[i] - other.ns[i] : other.ns[i] - known->ns[i];
        if (off > most->ns[i]) most->ns[i] = off;
    }
    replay_times_deinit(&times);
    return status;
}

static void add(replay_measures *sum, const replay_measures *more)
{
    for (int i = 0; i < REPLAY_MEASURES; i++) sum->ns[i] = gpu_sum(sum->ns[i], more->ns[i]);
}

static hd_status compare_data(replay_measures *most, const replay_measures *known, replay *r, hd_error *err)
{
    replay_plan plan = r->plan;
    size_t count = plan.first_added[r->graph->node_count];
    replay_edge *list = hd_large_new(count + r->data_count + 1, sizeof *list, r->large);
    if (list && count) memcpy(list, plan.added, count * sizeof *list);
    if (list) memcpy(list + count, r->data, r->data_count * sizeof *list);
    bool fine = list && replay_index_added(&plan, r, list, count + r->data_count);
    hd_status status = fine ? compare(most, known, r, &plan, err) : HD_NOMEM(err);
    hd_large_free(list);
    if (plan.first_added != r->plan.first_added) hd_large_free(plan.first_added);
    return status;
}

/* With a link that leaves less to each direction while both copy. */
static hd_status compare_link(replay_measures *most, const replay_measures *known, replay *r, hd_error *err)
{
    double part = r->link.part;
    r->link.part -= r->link.doubt;
    hd_status status = compare(most, known, r, &r->plan, err);
    r->link.part = part;
    return status;
}

/* How much longer the other thread of a suspect takes with the changes. */
static int64_t change_of(const replay *r, const hd_graph_suspect *s)
{
    const hd_graph_lane *lane = &r->graph->lanes[s->lane];
    int64_t was =
        replay_time_of(r, &r->unchanged, lane, s->end_ns) - replay_time_of(r, &r->unchanged, lane, s->start_ns);
    int64_t now = replay_time_of(r, &r->changed, lane, s->end_ns) - replay_time_of(r, &r->changed, lane, s->start_ns);
    return now - was;
}

/* Assumes that threads wait where they may: as long as the other thread takes with the changes; of several suspects,
 * the one that changes most. */
static hd_status compare_suspects(replay_measures *most, const replay_measures *known, replay *r, hd_error *err)
{
    const hd_graph *g = r->graph;
    replay_plan plan = r->plan;
    bool any = false;
    plan.durations = hd_large_new((size_t)g->node_count + 1, sizeof *plan.durations, r->large);
    if (!plan.durations) return HD_NOMEM(err);
    memcpy(plan.durations, r->plan.durations, g->node_count * sizeof *plan.durations);
    for (size_t i = 0, end; i < g->suspect_count; i = end) {
        uint32_t node = g->suspects[i].node;
        int64_t change = 0;
        for (end = i; end < g->suspect_count && g->suspects[end].node == node; end++) {
            int64_t other = change_of(r, &g->suspects[end]);
            if (llabs(other) > llabs(change)) change = other;
        }
        int64_t now = gpu_sum(plan.durations[node], change);
        if (change != 0 && !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE))) {
            plan.durations[node] = now > 0 ? now : 0;
            any = true;
        }
    }
    hd_status status = any ? compare(most, known, r, &plan, err) : HD_OK;
    hd_large_free(plan.durations);
    return status;
}

hd_status replay_find_doubt(replay *r, hd_error *err)
{
    replay_measures known, delays = {{0}}, data = {{0}}, link = {{0}}, suspects = {{0}};
    replay_plan varied = r->plan;
    if (!r->has_change) return HD_OK;
    HD_TRY(replay_measure(&known, r, &r->changed, err));
    for (varied.chance = 1; varied.chance <= RUNS; varied.chance++) HD_TRY(compare(&delays, &known, r, &varied, err));
    if (r->data_count) HD_TRY(compare_data(&data, &known, r, err));
    if (r->link.is_shared) HD_TRY(compare_link(&link, &known, r, err));
    if (r->graph->suspect_count) HD_TRY(compare_suspects(&suspects, &known, r, err));
    add(&r->doubt, &delays);
    add(&r->doubt, &data);
    add(&r->doubt, &link);
    add(&r->doubt, &suspects);
    return HD_OK;
}
