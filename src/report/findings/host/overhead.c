/* overhead.c - the profiler's own work, which the program does not do without it */
#include <stdio.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"

/* Overheads on rows that are not the program's threads: they delay all its threads. */
static bool list_apart(gpu_spans *out, const findings *f, const gpu_slices *overheads)
{
    size_t count = 0;
    gpu_span *list = hd_large_new(overheads->count + 1, sizeof *list, f->scope.large);
    for (size_t i = 0; list && i < overheads->count; i++) {
        const gpu_slice *slice = &overheads->list[i];
        bool is_thread = false;
        for (uint32_t l = 0; l < f->graph->lane_count && !is_thread; l++)
            is_thread = f->graph->lanes[l].track == slice->lane;
        if (!is_thread) list[count++] = (gpu_span){slice->start, slice->end};
    }
    return list && gpu_spans_union(out, list, count, f->scope.large);
}

static hd_status claim_overheads(findings *f, const gpu_slices *overheads, uint32_t *longest, hd_error *err)
{
    gpu_spans apart;
    int64_t most = -1;
    if (!list_apart(&apart, f, overheads)) return HD_NOMEM(err);
    bool fine = true;
    for (size_t i = 0; fine && i < f->path_count; i++) {
        const hd_graph_piece *piece = &f->path[i];
        if (piece->is_delay || findings_is_work(f, piece->node)) continue;
        int64_t covered = gpu_spans_covered(&apart, piece->start_ns, piece->end_ns);
        if (covered) fine = findings_claim(f, piece->node, covered);
    }
    fine = fine && findings_keep_delays(f);
    for (size_t i = 0; fine && i < overheads->count; i++) {
        const gpu_slice *slice = &overheads->list[i];
        for (uint32_t l = 0; fine && l < f->graph->lane_count && !f->graph->lanes[l].is_queue; l++) {
            if (f->graph->lanes[l].track != slice->lane) continue;
            uint32_t node = hd_graph_node_at(f->graph, &f->graph->lanes[l], slice->start);
            if (node != HD_NONE && f->graph->slices[node] == slice->row) fine = findings_claim(f, node, INT64_MAX);
        }
        findings_show(f, slice->row, slice->end - slice->start);
        if (slice->end - slice->start > most) *longest = slice->name;
        if (slice->end - slice->start > most) most = slice->end - slice->start;
    }
    gpu_spans_deinit(&apart);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    gpu_slices overheads;
    uint32_t longest = HD_STRING_NONE;
    char name[72], amount[96];
    hd_status status = gpu_slices_init(&overheads, &f->scope, 1u << HD_ROLE_OVERHEAD, err);
    finding *of = status == HD_OK ? findings_add(f, rule) : NULL;
    if (status == HD_OK) status = of ? claim_overheads(f, &overheads, &longest, err) : HD_NOMEM(err);
    gpu_slices_deinit(&overheads);
    if (status != HD_OK) return status;
    of->amount = of->path;
    of->is_of_host = true;
    if (!findings_is_worth(f, of->amount)) {
        findings_drop(f);
        return HD_OK;
    }
    snprintf(of->text, sizeof of->text, "The profiler itself holds the program up for %s: %s.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest));
    return HD_OK;
}

const finding_rule finding_overhead = {
    .about.code = "profiler-overhead",
    .about.severity = "note",
    .about.meaning = "time that the profiler takes for itself",
    .about.advice =
        "Do not count it: without the profiler it is not there. Record fewer steps, or without shapes, stacks and "
        "memory.",
    .find = find,
};
