/* event_wait.c - streams that were made to run side by side, and take turns since each waits for events of the
 * others */
#include <stdio.h>

#include "report/findings/finding.h"

enum { LEAST_NS = 5000 };

/* How long a kernel that could run waits for an event after a kernel of another queue; 0: it does not. */
static int64_t held_back(const findings *f, uint32_t node)
{
    const hd_graph *g = f->graph;
    int64_t ready, other = INT64_MIN;
    size_t bound = hd_graph_bound(&ready, g, node);
    if (bound == SIZE_MAX || hd_graph_edge_kind(g, bound) != HD_EDGE_EVENT) return 0;
    if (!findings_is_of_class(f, hd_graph_edge_from(g, bound), GPU_COMPUTE)) return 0;
    HD_GRAPH_EDGES(e, g, node) {
        uint32_t from = hd_graph_edge_from(g, e);
        int64_t at = g->ends[from] <= g->starts[node] ? g->ends[from] : g->starts[from];
        if (hd_graph_edge_kind(g, e) != HD_EDGE_EVENT && at > other) other = at;
    }
    return other != INT64_MIN && ready - other >= LEAST_NS ? ready - other : 0;
}

/* How long kernels of several queues of a device run at once, within the whole. */
static int64_t overlap(const findings *f, uint32_t device)
{
    const gpu_scope *s = &f->scope;
    int64_t end = f->from, sum = 0;
    uint32_t row = HD_NONE;
    for (uint32_t i = 0; i < s->devices[device].count; i++) {
        const gpu_work *work = &s->works[s->order[s->devices[device].first + i]];
        int64_t until = work->end < f->until ? work->end : f->until;
        if (work->class != GPU_COMPUTE || until <= work->start) continue;
        if (row != HD_NONE && work->row != row && work->start < end) sum += (end < until ? end : until) - work->start;
        if (until <= end) continue;
        end = until;
        row = work->row;
    }
    return sum;
}

static hd_status find_of_device(findings *f, const finding_rule *rule, uint32_t device, hd_error *err)
{
    int64_t held = 0;
    char amount[96], name[72];
    if (!findings_add(f, rule)) return HD_NOMEM(err);
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++) {
        if (findings_work(f, n)->device != device || !findings_is_measured(f, n)) continue;
        int64_t ns = findings_is_of_class(f, n, GPU_COMPUTE) ? held_back(f, n) : 0;
        if (ns && !findings_free_queue(f, n)) return HD_NOMEM(err);
        held = gpu_sum(held, ns);
    }
    finding *of = &f->list[f->count - 1];
    if (!findings_is_worth(f, held) || overlap(f, device) >= held / 100 || held > findings_whole(f)) {
        findings_drop(f);
        return HD_OK;
    }
    of->amount = held;
    of->device = device;
    of->rank = f->scope.devices[device].rank;
    if (!f->is_complete) of->reason = "of some activities the launch or the wait is not in the trace";
    of->trust_reason = "the trace does not say which data a kernel needs: the waits may be necessary";
    snprintf(of->text, sizeof of->text,
             "Kernels of several streams never run at once: %llu wait for an event of another stream though they could "
             "run, for %s: %s.",
             (unsigned long long)of->events, findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    for (uint32_t d = 0; d < f->scope.device_count; d++) HD_TRY(find_of_device(f, rule, d, err));
    return HD_OK;
}

const finding_rule finding_event_wait = {
    .about.code = "event-wait",
    .about.severity = "warning",
    .about.meaning = "streams take turns, as each waits for events of the others",
    .about.advice =
        "Wait only for what is needed: record the event right after the kernel that makes the data, and wait right "
        "before the one that reads it (event.record(stream), stream.wait_event(event)), not for a whole stream "
        "(wait_stream, cudaStreamWaitEvent on its last event).",
    .find = find,
};
