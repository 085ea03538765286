/* default_stream.c - streams that take turns with the default stream, which waits for all others and they for it
 *
 * Work that could run - its launch has reached the GPU, its queue is free, its events have occurred - and begins only
 * as work of the default stream ends, or the other way round, waits for that stream: what the legacy default stream
 * does with all streams that were not made as non-blocking.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"

enum { READY_NS = 5000, BEHIND_NS = 10000, LEAST = 10 };

/* CUDA's profilers number it 7, and some 0. */
static bool is_default(const gpu_row *row)
{
    return row->stream == 7 || row->stream == 0;
}

/* Of a device, how its default stream and its other streams take turns. */
typedef struct turns {
    uint64_t waits[2], works[2];   /* of others, of the default stream: that began behind the other side's, all */
    int64_t busy[2], both, end[2]; /* ns; both: at once; end: the latest so far */
} turns;

/* By works of the scope the node, HD_NONE. NULL: no memory. */
static uint32_t *find_nodes(const findings *f)
{
    size_t count = f->scope.launches->work_count;
    uint32_t *nodes = hd_large_new(count + 1, sizeof *nodes, f->scope.large);
    for (size_t i = 0; nodes && i < count; i++) nodes[i] = HD_NONE;
    for (uint32_t n = f->first_work; nodes && n < f->graph->node_count; n++) nodes[f->works[n - f->first_work]] = n;
    return nodes;
}

static void add_work(turns *t, const findings *f, const gpu_work *work, uint32_t node, int side)
{
    int64_t ready, other = t->end[!side], own = t->end[side];
    int64_t from = work->start > own ? work->start : own, until = work->end < f->until ? work->end : f->until;
    if (from < f->from) from = f->from;
    if (until > from) t->busy[side] += until - from;
    if (other > from && until > from) t->both += (other < until ? other : until) - from;
    t->works[side]++;
    bool follows = work->start >= other && work->start - other <= BEHIND_NS;
    if (follows && node != HD_NONE && hd_graph_bound(&ready, f->graph, node) != SIZE_MAX)
        t->waits[side] += work->start - ready > READY_NS && other > ready;
    if (work->end > own) t->end[side] = work->end;
}

static turns find_turns(const findings *f, const uint32_t *nodes, uint32_t device)
{
    const gpu_scope *s = &f->scope;
    turns t = {.end = {INT64_MIN / 2, INT64_MIN / 2}};
    for (uint32_t i = 0; i < s->devices[device].count; i++) {
        uint32_t at = s->order[s->devices[device].first + i];
        const gpu_work *work = &s->works[at];
        if (work->class == GPU_COMPUTE) add_work(&t, f, work, nodes[at], is_default(&s->rows[work->row]));
    }
    return t;
}

/* They take turns, and most of what is on one side waits for the other. */
static bool is_serial(const turns *t)
{
    int64_t least = t->busy[0] < t->busy[1] ? t->busy[0] : t->busy[1];
    uint64_t waits = t->waits[0] + t->waits[1];
    return waits >= LEAST && 2 * waits >= (t->works[0] < t->works[1] ? t->works[0] : t->works[1]) &&
           t->both * 100 <= least;
}

static hd_status find_of_device(findings *f, const finding_rule *rule, uint32_t device, const turns *t, hd_error *err)
{
    char amount[96];
    int side = t->busy[1] < t->busy[0]; /* at best the shorter is hidden behind the longer */
    if (!findings_is_worth(f, t->busy[side])) return HD_OK;
    if (!findings_add(f, rule)) return HD_NOMEM(err);
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++) {
        const gpu_work *work = findings_work(f, n);
        bool is_one =
            work->device == device && work->class == GPU_COMPUTE && is_default(&f->scope.rows[work->row]) == side;
        if (is_one && !findings_claim(f, n, INT64_MAX)) return HD_NOMEM(err);
    }
    finding *of = &f->list[f->count - 1];
    of->amount = t->busy[side];
    of->device = device;
    of->rank = f->scope.devices[device].rank;
    of->device_needs = t->busy[!side];
    of->trust_reason = "the trace does not say how streams were made: it is inferred from when their kernels begin";
    snprintf(
        of->text, sizeof of->text,
        "Kernels of the default stream and of other streams take turns and never overlap: %llu begin only as one of "
        "the other side ends. Those of %s run for %s.",
        (unsigned long long)(t->waits[0] + t->waits[1]), side ? "the default stream" : "other streams",
        findings_amount(amount, of));
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    uint32_t *nodes = find_nodes(f);
    hd_status status = nodes ? HD_OK : HD_NOMEM(err);
    for (uint32_t d = 0; status == HD_OK && d < f->scope.device_count; d++) {
        turns t = find_turns(f, nodes, d);
        if (is_serial(&t)) status = find_of_device(f, rule, d, &t, err);
    }
    hd_large_free(nodes);
    return status;
}

const finding_rule finding_default_stream = {
    .about.code = "default-stream",
    .about.severity = "warning",
    .about.meaning = "the default stream and others take turns, as they wait for one another",
    .about.advice =
        "Launch on streams that do not wait: cudaStreamCreateWithFlags(…, cudaStreamNonBlocking), nvcc "
        "--default-stream per-thread, torch.cuda.Stream() for all of the work; order what needs it by events.",
    .find = find,
};
