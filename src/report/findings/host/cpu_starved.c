/* cpu_starved.c - the threads of the host stall, as they do when other threads use their CPU */
#include <stdio.h>
#include <stdlib.h>

#include "model/host/stalls.h"
#include "report/findings/finding.h"

enum { LEAST_PART = 10 };

/* How long the host stalls within the whole, and in how many operators. false: no memory. */
static bool sum_stalls(int64_t *out, uint32_t *out_names, const findings *f, const gpu_stalls *stalls)
{
    uint8_t *seen = calloc(hd_trace_string_count(f->scope.trace) + 1, 1);
    int64_t until = INT64_MIN;
    *out = 0;
    *out_names = 0;
    for (size_t i = 0; seen && i < stalls->count; i++) {
        const gpu_stall *stall = &stalls->list[i];
        int64_t start = stall->start > f->from ? stall->start : f->from;
        int64_t end = stall->end < f->until ? stall->end : f->until;
        if (end <= start) continue;
        if (stall->name != HD_STRING_NONE && !seen[stall->name]) seen[stall->name] = 1, ++*out_names;
        if (start < until) start = until; /* of several processes at once */
        if (end > start) *out += end - start;
        if (end > until) until = end;
    }
    free(seen);
    return seen != NULL;
}

/* On all threads of its process the node that covers it. */
static bool claim_stall(findings *f, const gpu_stall *stall)
{
    const hd_graph *g = f->graph;
    for (uint32_t l = 0; l < g->lane_count && !g->lanes[l].is_queue; l++) {
        if (g->lanes[l].track != stall->lane) continue;
        uint32_t node = hd_graph_node_at(g, &g->lanes[l], stall->start);
        if (node != HD_NONE && g->ends[node] >= stall->end && g->kinds[node] != HD_NODE_SYNC &&
            !findings_claim(f, node, stall->end - stall->start))
            return false;
    }
    return true;
}

static hd_status find_in(findings *f, const finding_rule *rule, const gpu_stalls *stalls, hd_error *err)
{
    int64_t time;
    uint32_t names;
    char amount[96];
    if (!sum_stalls(&time, &names, f, stalls)) return HD_NOMEM(err);
    if (names < GPU_STALL_NAMES || time < findings_whole(f) / LEAST_PART) return HD_OK;
    finding *of = findings_add(f, rule);
    if (!of) return HD_NOMEM(err);
    for (size_t i = 0; i < stalls->count; i++)
        if (!claim_stall(f, &stalls->list[i])) return HD_NOMEM(err);
    of->amount = time;
    of->events = stalls->count;
    of->is_of_host = true;
    of->is_of_all_ranks = findings_lacks_ranks(f) && findings_communicates(f);
    of->trust_reason = "the trace has no states of threads: that they have no CPU is inferred from where they stop";
    snprintf(
        of->text, sizeof of->text,
        "The threads of the host make no progress for %s, %llu times for 1ms or more: in %u different operators that "
        "are otherwise short, as threads do whose CPU is taken.",
        findings_amount(amount, of), (unsigned long long)of->events, names);
    return HD_OK;
}

/* Looking for stalls takes time: only where nodes of hosts that are so long are worth it. */
static bool is_wanted(const findings *f)
{
    const hd_graph *g = f->graph;
    int64_t sum = 0;
    for (uint32_t n = 0; n < f->first_work; n++)
        if (g->ends[n] - g->starts[n] >= GPU_STALL_NS && g->kinds[n] != HD_NODE_SYNC)
            sum = gpu_sum(sum, findings_left(f, n));
    return sum >= findings_whole(f) / LEAST_PART;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    gpu_stalls stalls;
    if (!is_wanted(f)) return HD_OK;
    hd_status status = gpu_stalls_init(&stalls, &f->scope, err);
    if (status == HD_OK && stalls.count >= GPU_STALL_NAMES) status = find_in(f, rule, &stalls, err);
    gpu_stalls_deinit(&stalls);
    return status;
}

const finding_rule finding_cpu_starved = {
    .about.code = "cpu-starved",
    .about.severity = "warning",
    .about.meaning = "the threads of the host stall, as if there were too few CPUs",
    .about.advice = "Give each rank CPUs of its own: cpuset and cgroup quota (nproc, /sys/fs/cgroup/cpu.max), srun "
                    "--cpu-bind, numactl "
                    "or torchrun's "
                    "--numa-binding, OMP_NUM_THREADS, fewer DataLoader workers. A faster network or GPU does not help.",
    .find = find,
};
