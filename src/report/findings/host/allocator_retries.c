/* allocator_retries.c - the caching allocator gets no memory, frees what it keeps, and tries again */
#include <stdio.h>

#include "report/findings/finding.h"

/* ENDS: whatever the allocator does not call between. */
typedef enum call_kind { OTHER, ALLOCATES, FREES, ENDS } call_kind;

static call_kind kind_of(const findings *f, uint32_t node)
{
    static const char *const allocate[] = {"cudaMalloc", "cuMemAlloc", "cuMemCreate", "hipMalloc"};
    static const char *const others[] = {"Synchronize", "GetLastError", "MemGetInfo", "EventQuery", "EventDestroy"};
    static const char *const frees[] = {"cudaFree", "cuMemFree", "cuMemRelease", "hipFree"};
    uint32_t name = findings_name(f, node);
    if (name == HD_STRING_NONE) return OTHER;
    hd_string text = hd_trace_string(f->scope.trace, name);
    if (findings_contains(text, "::") || FINDINGS_HAS(text, others)) return OTHER;
    if (findings_contains(text, "Async") || findings_contains(text, "Host")) return ENDS;
    if (FINDINGS_HAS(text, allocate)) return ALLOCATES;
    return FINDINGS_HAS(text, frees) ? FREES : ENDS;
}

/* Whether the node is of the same operator as those before, or a call within it. */
static bool is_within(const findings *f, uint32_t node, uint32_t *op)
{
    uint32_t row = f->graph->slices[node], name = findings_name(f, node);
    if (row == HD_NONE) return false;
    bool is_call = name == HD_STRING_NONE || !findings_contains(hd_trace_string(f->scope.trace, name), "::");
    if (is_call || *op == row) return true;
    bool is_first = *op == HD_NONE;
    *op = row;
    return is_first;
}

/* An allocation, frees, and an allocation again, in one operator and with nothing else called meanwhile. */
static bool claim_retries(findings *f, const hd_graph_lane *lane, uint64_t *retries)
{
    uint32_t first = HD_NONE, op = HD_NONE;
    bool has_free = false;
    for (uint32_t n = lane->first_node; n < lane->first_node + lane->node_count; n++) {
        call_kind kind = kind_of(f, n);
        if (kind == ENDS || !is_within(f, n, &op)) first = HD_NONE;
        if (kind == FREES && first != HD_NONE) has_free = true;
        if (kind != ALLOCATES) continue;
        for (uint32_t i = first; first != HD_NONE && has_free && i <= n; i++)
            if ((kind_of(f, i) != OTHER) && !findings_claim(f, i, INT64_MAX)) return false;
        *retries += first != HD_NONE && has_free;
        first = n;
        op = HD_NONE;
        has_free = false;
    }
    return true;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    const hd_graph *g = f->graph;
    uint64_t retries = 0;
    char amount[96];
    if (!findings_add(f, rule)) return HD_NOMEM(err);
    for (uint32_t l = 0; l < g->lane_count && !g->lanes[l].is_queue; l++)
        if (!claim_retries(f, &g->lanes[l], &retries)) return HD_NOMEM(err);
    HD_TRY(findings_keep(&of, f, err));
    if (!of) return HD_OK;
    of->events = retries;
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text,
             "Memory was not to be had %llu times: the allocator freed what it kept and tried again, for %s.",
             (unsigned long long)retries, findings_amount(amount, of));
    return HD_OK;
}

const finding_rule finding_allocator_retries = {
    .about.code = "allocator-retries",
    .about.severity = "warning",
    .about.meaning = "the allocator gets no memory, frees what it keeps, and tries again",
    .about.advice =
        "The memory is full or in pieces: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or max_split_size_mb), "
        "smaller batches, activation checkpointing; torch.cuda.memory_stats()['num_alloc_retries'] counts them.",
    .find = find,
};
