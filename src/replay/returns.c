/* returns.c - when waiting API calls return
 *
 * Such a call returns when its own work is done, and not before some time has passed since the end of the activity. A
 * call that had to wait shows the latter; a call whose activity had ended long before shows the former; what a call
 * does not show is the mean over its name. For a copy's call that waits for the copy, the launch shows the own part
 * (model.c).
 */
#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/roles/sync_calls.h"
#include "replay/replay.h"
#include "trace/lazy.h"

typedef struct waiting {
    uint32_t node, name, launched; /* launched: a copy that it launches and waits for; HD_NONE */
    int64_t length, since_ns;      /* since_ns: from the end of the activity to the start of the part */
} waiting;

static bool get_waiting(waiting *out, const replay *r, uint32_t node)
{
    const hd_graph *g = r->graph;
    int64_t done = INT64_MIN;
    *out =
        (waiting){.node = node, .name = HD_STRING_NONE, .launched = HD_NONE, .length = g->ends[node] - g->starts[node]};
    HD_GRAPH_EDGES(e, g, node) {
        uint32_t from = hd_graph_edge_from(g, e);
        if (hd_graph_edge_kind(g, e) != HD_EDGE_SYNC) continue;
        if (g->ends[from] > done) done = g->ends[from];
        if (replay_is_work(r, from) && replay_own_call(r, from) == node) out->launched = from;
    }
    if (done == INT64_MIN) return false;
    out->since_ns = g->starts[node] - done;
    return true;
}

static bool list_waiting(waiting **out, size_t *count, const replay *r)
{
    size_t capacity = 0;
    waiting w;
    for (uint32_t n = 0; n < r->first_work; n++) {
        if (!get_waiting(&w, r, n)) continue;
        uint32_t row = r->graph->slices[n];
        if (row != HD_NONE) w.name = (uint32_t)hd_slice_column(r->trace, row, HD_COL_NAME);
        if (!hd_large_grow((void **)out, &capacity, *count, sizeof **out, r->large)) return false;
        (*out)[(*count)++] = w;
    }
    return true;
}

/* Of one name, by length. */
static bool add_kind(replay *r, const waiting *list, size_t count, replay_sample *samples)
{
    size_t waited = 0, ready = 0;
    replay_return_kind kind = {.name = list->name};
    for (size_t i = 0; i < count; i++)
        if (list[i].since_ns <= 0) samples[waited++].ns = list[i].length;
    if (waited) kind.wake = replay_lag_of(samples, waited, waited);
    for (size_t i = 0; i < count; i++)
        if (list[i].since_ns > 0 && list[i].since_ns >= kind.wake.ns) samples[ready++].ns = list[i].length;
    if (ready) kind.own = replay_lag_of(samples, ready, ready);
    if (!hd_grow((void **)&r->return_kinds, &r->return_kind_capacity, r->return_kind_count, sizeof kind)) return false;
    r->return_kinds[r->return_kind_count++] = kind;
    return true;
}

/* At most the time that the call took. */
static int64_t own_of(const replay *r, const waiting *w, const replay_return_kind *kind)
{
    const hd_graph *g = r->graph;
    if (w->launched != HD_NONE) return r->lags[r->launch_classes[w->launched - r->first_work]].call_ns;
    if (!kind->own.samples) return w->length;
    int64_t room = hd_graph_has_lane_edge(g, w->node) ? g->ends[w->node] - g->ends[w->node - 1] : kind->own.ns;
    return kind->own.ns < room ? kind->own.ns : room;
}

static void add_return(replay *r, const waiting *w, const replay_return_kind *kind, const replay_lag *wake)
{
    bool has_waited = w->since_ns <= 0;
    int64_t wake_ns = w->length, room = w->length + w->since_ns;
    if (has_waited && !(r->plan.flags[w->node] & PLAN_PINNED)) r->plan.durations[w->node] = own_of(r, w, kind);
    if (!has_waited && wake->samples) wake_ns = wake->ns < room ? wake->ns : room;
    hd_sync_kind what = hd_sync_kind_of(hd_trace_string(r->trace, w->name));
    r->returns[r->return_count++] = (replay_return){w->node, (uint8_t)what, wake_ns};
}

static bool add_kinds(replay *r, const waiting *list, size_t count)
{
    replay_sample *samples = hd_large_new(count + 1, sizeof *samples, r->large);
    bool fine = samples != NULL;
    for (size_t first = 0, end; fine && first < count; first = end) {
        for (end = first + 1; end < count && list[end].name == list[first].name;) end++;
        fine = add_kind(r, list + first, end - first, samples);
    }
    hd_large_free(samples);
    return fine;
}

/* If no call of a name had to wait, it has the wake-up time of the name with most calls that had to. */
static void add_returns(replay *r, const waiting *list, size_t count)
{
    const replay_return_kind *kind = r->return_kinds, *most = kind;
    for (size_t i = 0; i < r->return_kind_count; i++)
        if (r->return_kinds[i].wake.samples > most->wake.samples) most = &r->return_kinds[i];
    for (size_t i = 0; i < count; i++) {
        while (kind->name != list[i].name) kind++;
        add_return(r, &list[i], kind, kind->wake.samples ? &kind->wake : &most->wake);
    }
}

hd_status replay_find_returns(replay *r, hd_error *err)
{
    waiting *list = NULL, *spare;
    size_t count = 0;
    bool fine = list_waiting(&list, &count, r);
    spare = hd_large_new(count + 1, sizeof *spare, r->large);
    r->returns = hd_large_new(2 * count + 1, sizeof *r->returns, r->large);
    fine = fine && spare && r->returns;
    if (fine) HD_SORT_RUNS(list, spare, count, x, y, x->name != y->name ? x->name < y->name : x->length < y->length);
    fine = fine && add_kinds(r, list, count);
    if (fine) add_returns(r, list, count);
    if (fine) HD_SORT_RUNS(r->returns, r->returns + count, count, x, y, x->node < y->node);
    hd_large_free(list);
    hd_large_free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}

const replay_return *replay_return_of(const replay *r, uint32_t node)
{
    size_t low = 0, high = r->return_count;
    HD_PARTITION_POINT(low, high, at, r->returns[at].node < node);
    return low < r->return_count && r->returns[low].node == node ? &r->returns[low] : NULL;
}
