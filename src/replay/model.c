/* model.c - models the delays between GPU activities and what they wait for
 *
 * A class of edges has samples where nothing else can have held the activity back: after a launch, if the queue was
 * idle before the call; after activities and events, if the launch was due before, and only the last of several events.
 * Its delay is the mean of the middle four fifths, which is robust against outliers and rounded times. Delays of
 * launches count from the end or the start of the call, whichever has the smaller spread; for a call that waits for
 * what it launches from its start, and its extra duration compared with other calls is the call's own. A class without
 * samples gets the delay of the class of its kind (launch, queue or event) with most samples; if no class after a queue
 * has any, 1 us, which is the minimum in all traces of NVIDIA's GPUs.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/replay.h"

/* Of a class all samples up to MANY, then every THIN-th. */
enum { MANY = 1 << 16, THIN = 64, QUEUE_USUAL_NS = 1000 };

typedef struct sampler {
    replay *r;
    replay_sample *list;
    size_t count, capacity;
    uint64_t seen[LAG_CLASSES];
    bool failed; /* no memory */
} sampler;

/* ---- classes ---- */

static unsigned role_of(const replay *r, uint32_t node)
{
    return (unsigned)(replay_work(r, node)->role - HD_ROLE_KERNEL);
}

unsigned replay_lag_class(const replay *r, uint32_t node, uint32_t from, hd_edge_kind kind)
{
    unsigned role = role_of(r, node);
    if (kind == HD_EDGE_LAUNCH) return r->launch_classes[node - r->first_work];
    if (kind == HD_EDGE_EVENT) return LAG_EVENT + role;
    uint32_t launch = replay_work(r, node)->launch;
    bool is_same = launch != HD_NONE && launch == replay_work(r, from)->launch;
    return LAG_QUEUE + (role * LAG_ROLES + role_of(r, from)) * 2 + is_same;
}

void replay_lag_name(char *out, size_t size, unsigned lag)
{
    static const char *const roles[] = {"kernel", "copy", "set"};
    static const char *const sorts[] = {"a call", "a kernel's call", "a graph's call", "a copy's call", "a set's call"};
    unsigned at = lag / 2;
    if (lag < LAG_QUEUE)
        snprintf(out, size, "launch: %s by %s%s", roles[at / LAG_SORTS], sorts[at % LAG_SORTS],
                 lag % 2 ? " that waits for it" : "");
    else if (lag == LAG_SLOT)
        snprintf(out, size, "launch queue: a call after its slot");
    else if (lag >= LAG_EVENT)
        snprintf(out, size, "event: %s", roles[lag - LAG_EVENT]);
    else
        snprintf(out, size, "queue: %s after %s%s", roles[(at - LAG_QUEUE / 2) / LAG_ROLES],
                 roles[(at - LAG_QUEUE / 2) % LAG_ROLES], (lag - LAG_QUEUE) % 2 ? " of one launch" : "");
}

/* A call that waits for its activity has no finished part before: the edge starts at what is before the call. */
static void set_launch_class(replay *r, uint32_t node, uint32_t from)
{
    const hd_launch *launch = &r->scope.launches->launches[replay_work(r, node)->launch];
    bool waits = r->graph->starts[from] < launch->start_ns;
    r->launch_classes[node - r->first_work] =
        (uint8_t)((role_of(r, node) * LAG_SORTS + (unsigned)launch->sort) * 2 + waits);
}

uint32_t replay_own_call(const replay *r, uint32_t node)
{
    const hd_graph *g = r->graph;
    uint32_t from = replay_launch_node(r, node), call = from + 1;
    if (from == HD_NONE || r->launch_classes[node - r->first_work] % 2 == 0 || call >= r->first_work) return HD_NONE;
    HD_GRAPH_EDGES(e, g, call) {
        if (hd_graph_edge_kind(g, e) == HD_EDGE_SYNC && hd_graph_edge_from(g, e) == node) return call;
    }
    return HD_NONE;
}

/* ---- samples ---- */

/* When the other edges, and shared resources, let a node begin, by the times of the trace and the delays known so far;
 * edges of the same kind without a delay. */
static int64_t others_ready(const replay *r, uint32_t node, size_t except)
{
    const hd_graph *g = r->graph;
    int64_t latest = r->shares[node - r->first_work].full_ns;
    HD_GRAPH_EDGES(e, g, node) {
        uint32_t from = hd_graph_edge_from(g, e);
        hd_edge_kind kind = hd_graph_edge_kind(g, e);
        if (e == except) continue;
        int64_t ready = g->ends[from];
        if (kind != hd_graph_edge_kind(g, except))
            ready = replay_ready(r, NULL, node, from, kind, (replay_span){g->starts[from], ready});
        if (ready > latest) latest = ready;
    }
    return latest;
}

static void add_sample(sampler *s, unsigned lag, int64_t ns)
{
    if (s->seen[lag]++ >= MANY && s->seen[lag] % THIN) return;
    s->failed |= !hd_large_grow((void **)&s->list, &s->capacity, s->count, sizeof *s->list, s->r->large);
    if (!s->failed) s->list[s->count++] = (replay_sample){lag, gpu_time(ns)};
}

static void clear_samples(sampler *s)
{
    s->count = 0;
    memset(s->seen, 0, sizeof s->seen);
}

static bool is_first_of_launch(const replay *r, uint32_t node)
{
    const hd_launches *l = r->scope.launches;
    uint32_t work = r->works[node - r->first_work];
    return l->work_order[l->launches[l->works[work].launch].first_work] == work;
}

/* is_end: from the end of the call. */
static void sample_launches(sampler *s, bool is_end)
{
    replay *r = s->r;
    const hd_graph *g = r->graph;
    clear_samples(s);
    for (uint32_t n = r->first_work; n < g->node_count; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            if (hd_graph_edge_kind(g, e) != HD_EDGE_LAUNCH) continue;
            uint32_t from = hd_graph_edge_from(g, e);
            set_launch_class(r, n, from);
            if (!is_first_of_launch(r, n) || others_ready(r, n, e) > g->starts[from]) continue;
            add_sample(s, r->launch_classes[n - r->first_work],
                       g->starts[n] - (is_end ? g->ends[from] : g->starts[from]));
        }
    }
}

static bool has_launch(const hd_graph *g, uint32_t node)
{
    HD_GRAPH_EDGES(e, g, node) {
        if (hd_graph_edge_kind(g, e) == HD_EDGE_LAUNCH) return true;
    }
    return false;
}

/* An activity without a known launch may have waited for that. */
static void sample_gpu(sampler *s)
{
    const replay *r = s->r;
    const hd_graph *g = r->graph;
    clear_samples(s);
    for (uint32_t n = r->first_work; n < g->node_count; n++) {
        if (!has_launch(g, n)) continue;
        HD_GRAPH_EDGES(e, g, n) {
            hd_edge_kind kind = hd_graph_edge_kind(g, e);
            uint32_t from = hd_graph_edge_from(g, e);
            bool is_known = kind == HD_EDGE_QUEUE || kind == HD_EDGE_EVENT;
            if (!is_known || g->ends[from] > g->starts[n]) continue;
            if (others_ready(r, n, e) > g->ends[from]) continue;
            add_sample(s, replay_lag_class(r, n, from, kind), g->starts[n] - g->ends[from]);
        }
    }
}

/* ---- their means ---- */

/* The median distance of sorted samples from their median, by a search from there to both sides. */
static int64_t median_distance(const replay_sample *list, size_t count)
{
    size_t below = count / 2, above = count / 2;
    int64_t median = list[count / 2].ns, distance = 0;
    for (size_t i = 0; i < count / 2; i++) {
        bool up = above + 1 < count && (!below || list[above + 1].ns - median < median - list[below - 1].ns);
        distance = up ? list[++above].ns - median : median - list[--below].ns;
    }
    return distance;
}

/* Of few samples at least the smallest and the largest are left out. */
replay_lag replay_lag_of(const replay_sample *list, size_t count, uint64_t seen)
{
    size_t cut = count > 2 ? (count + 9) / 10 : 0;
    gpu_i128 sum = 0, kept = (gpu_i128)(count - 2 * cut);
    for (size_t i = cut; i < count - cut; i++) sum += list[i].ns;
    return (replay_lag){.ns = gpu_time(gpu_whole((sum + (sum < 0 ? -kept / 2 : kept / 2)) / kept)),
                        .spread_ns = median_distance(list, count),
                        .samples = seen};
}

/* Writes into out[LAG_CLASSES] those with samples. */
static bool reckon_lags(sampler *s, replay_lag *out)
{
    replay_sample *spare = hd_large_new(s->count + 1, sizeof *spare, s->r->large);
    if (!spare || s->failed) {
        hd_large_free(spare);
        return false;
    }
    HD_SORT_RUNS(s->list, spare, s->count, x, y, x->lag != y->lag ? x->lag < y->lag : x->ns < y->ns);
    hd_large_free(spare);
    for (size_t first = 0, end; first < s->count; first = end) {
        uint32_t lag = s->list[first].lag;
        for (end = first + 1; end < s->count && s->list[end].lag == lag;) end++;
        out[lag] = replay_lag_of(s->list + first, end - first, s->seen[lag]);
    }
    return true;
}

/* The time a waiting call takes until its activity is launched: the launch delay is that of other calls, of the same
 * function or of the class with most samples. */
static void part_calls(replay_lag *lags)
{
    unsigned most = 0;
    for (unsigned i = 0; i < LAG_QUEUE; i += 2)
        if (lags[i].samples > lags[most].samples) most = i;
    for (unsigned i = 1; i < LAG_QUEUE; i += 2) {
        const replay_lag *other = &lags[lags[i - 1].samples ? i - 1 : most];
        if (lags[i].samples && other->samples && lags[i].ns > other->ns) lags[i].call_ns = lags[i].ns - other->ns;
    }
}

static bool reckon_launches(sampler *s)
{
    replay_lag from_start[LAG_CLASSES] = {{0}}, *lags = s->r->lags;
    sample_launches(s, false);
    if (!reckon_lags(s, from_start)) return false;
    sample_launches(s, true);
    if (!reckon_lags(s, lags)) return false;
    part_calls(lags);
    for (unsigned i = 0; i < LAG_QUEUE; i += 2) {
        if (!from_start[i].samples || from_start[i].spread_ns >= lags[i].spread_ns) continue;
        lags[i] = from_start[i];
        lags[i].from_start = true;
    }
    return true;
}

/* For classes without samples, of one kind, from `first` to `end`. */
static void lend_lags(replay_lag *lags, unsigned first, unsigned end, int64_t usual_ns)
{
    uint32_t best = LAG_CLASSES;
    for (unsigned i = first; i < end; i++) {
        lags[i].of = i;
        if (lags[i].samples && (best == LAG_CLASSES || lags[i].samples > lags[best].samples)) best = i;
    }
    for (unsigned i = first; i < end; i++) {
        if (lags[i].samples) continue;
        lags[i] = best < LAG_CLASSES ? lags[best] : (replay_lag){.ns = usual_ns};
        if (i % 2) lags[i].from_start = false; /* it counts from the start of the call */
        if (i % 2 == 0) lags[i].ns -= lags[i].call_ns;
        lags[i].call_ns = 0;
        lags[i].samples = 0;
        lags[i].of = best;
    }
}

hd_status replay_model(replay *r, hd_error *err)
{
    sampler s = {.r = r};
    r->launch_classes = hd_large_zeroed((size_t)(r->graph->node_count - r->first_work) + 1, 1, r->large);
    bool fine = r->launch_classes && reckon_launches(&s);
    lend_lags(r->lags, 0, LAG_QUEUE, 0);
    if (fine) sample_gpu(&s);
    fine = fine && reckon_lags(&s, r->lags);
    lend_lags(r->lags, LAG_QUEUE, LAG_EVENT, QUEUE_USUAL_NS);
    lend_lags(r->lags, LAG_EVENT, LAG_SLOT, 0);
    hd_large_free(s.list);
    return fine ? HD_OK : HD_NOMEM(err);
}
