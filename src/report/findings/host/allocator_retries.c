/* allocator_retries.c - the caching allocator runs out of memory, frees its cache, and retries */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"

/* ENDS: calls that the allocator does not make in between. */
typedef enum call_kind { OTHER, ALLOCATES, FREES, ENDS } call_kind;

static call_kind kind_of_name(hd_string text)
{
    static const char *const allocate[] = {"cudaMalloc", "cuMemAlloc", "cuMemCreate", "hipMalloc"};
    static const char *const others[] = {"Synchronize", "GetLastError", "MemGetInfo", "EventQuery", "EventDestroy"};
    static const char *const frees[] = {"cudaFree", "cuMemFree", "cuMemRelease", "hipFree"};
    if (hd_string_holds(text, "::") || FINDINGS_HAS(text, others)) return OTHER;
    if (hd_string_holds(text, "Async") || hd_string_holds(text, "Host")) return ENDS;
    if (FINDINGS_HAS(text, allocate)) return ALLOCATES;
    return FINDINGS_HAS(text, frees) ? FREES : ENDS;
}

static call_kind kind_of(const findings *f, const uint8_t *kinds, uint32_t node)
{
    uint32_t name = findings_name(f, node);
    return name == HD_STRING_NONE ? OTHER : (call_kind)kinds[name];
}

/* By string; NULL: no memory. counts: how many names are of each kind. */
static uint8_t *find_kinds(uint32_t counts[ENDS + 1], const findings *f)
{
    uint32_t strings = hd_trace_string_count(f->scope.trace);
    uint8_t *kinds = calloc((size_t)strings + 1, 1);
    for (uint32_t i = 0; kinds && i < strings; i++) {
        if (!f->names[i]) continue;
        kinds[i] = (uint8_t)kind_of_name(hd_trace_string(f->scope.trace, i));
        counts[kinds[i]]++;
    }
    return kinds;
}

/* Whether the node is of the same operator as those before, or a call within it. */
static bool is_within(const findings *f, uint32_t node, uint32_t *op)
{
    uint32_t row = f->graph->slices[node], name = findings_name(f, node);
    if (row == HD_NONE) return false;
    bool is_call = name == HD_STRING_NONE || !hd_string_holds(hd_trace_string(f->scope.trace, name), "::");
    if (is_call || *op == row) return true;
    bool is_first = *op == HD_NONE;
    *op = row;
    return is_first;
}

/* An allocation, frees, and an allocation again, in one operator and with nothing else called meanwhile. */
static bool claim_retries(findings *f, const uint8_t *kinds, const hd_graph_lane *lane, uint64_t *retries)
{
    uint32_t first = HD_NONE, op = HD_NONE;
    bool has_free = false;
    for (uint32_t n = lane->first_node; n < lane->first_node + lane->node_count; n++) {
        call_kind kind = kind_of(f, kinds, n);
        if (kind == ENDS || !is_within(f, n, &op)) first = HD_NONE;
        if (kind == FREES && first != HD_NONE) has_free = true;
        if (kind != ALLOCATES) continue;
        for (uint32_t i = first; first != HD_NONE && has_free && i <= n; i++)
            if (kind_of(f, kinds, i) != OTHER && !findings_claim(f, i, INT64_MAX)) return false;
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
    uint32_t counts[ENDS + 1] = {0};
    char amount[96];
    uint8_t *kinds = find_kinds(counts, f);
    bool is_there = kinds && counts[ALLOCATES] && counts[FREES], fine = kinds != NULL;
    if (is_there) fine = findings_add(f, rule) != NULL;
    for (uint32_t l = 0; fine && is_there && l < g->lane_count && !g->lanes[l].is_queue; l++)
        fine = claim_retries(f, kinds, &g->lanes[l], &retries);
    free(kinds);
    if (!fine) return HD_NOMEM(err);
    if (!is_there) return HD_OK;
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
    .about.meaning = "the allocator gets no memory, frees its cache, and tries again",
    .about.advice =
        "The memory is full or in pieces: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or max_split_size_mb), "
        "smaller batches, activation checkpointing; torch.cuda.memory_stats()['num_alloc_retries'] counts them.",
    .find = find,
};
