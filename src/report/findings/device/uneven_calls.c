/* uneven_calls.c - kernels, and collectives, of which some calls take much longer than others of the same size */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/large.h"
#include "base/sorted.h"
#include "report/findings/finding.h"

enum { LEAST_CALLS = 10, SLOW = 2 }; /* times the median; slower ones are a fourth of the calls at most */

typedef struct call {
    uint32_t name, size, node;
    int64_t ns;
} call;

static int by_kind(const void *a, const void *b)
{
    const call *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Claims what the slow ones of calls of one kind take more than the median. */
static bool claim_slow(findings *f, const call *calls, size_t count)
{
    int64_t median = calls[count / 2].ns;
    size_t slow = count;
    while (slow && calls[slow - 1].ns > SLOW * median) slow--;
    bool fine = true;
    if (count < LEAST_CALLS || slow == count || (count - slow) * 4 > count) return true;
    for (size_t i = slow; fine && i < count; i++) fine = findings_claim(f, calls[i].node, calls[i].ns - median);
    return fine;
}

static bool is_call(const findings *f, uint32_t node, gpu_class class)
{
    return findings_work(f, node)->class == class && findings_is_measured(f, node);
}

static bool list_calls(call *calls, size_t *count, const findings *f, gpu_class class, const uint32_t *sizes)
{
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++) {
        if (!is_call(f, n, class)) continue;
        calls[(*count)++] = (call){findings_name(f, n), sizes ? sizes[f->works[n - f->first_work]] : HD_STRING_NONE, n,
                                   gpu_duration(findings_work(f, n))};
    }
    return sizes != NULL;
}

/* Whether calls may be slow enough, since sizes and medians take time: each compared with the shortest of its name,
 * which takes no longer than a median. */
static bool is_wanted(bool *out, const findings *f, const finding_rule *rule, gpu_class class)
{
    uint32_t names = hd_trace_string_count(f->scope.trace);
    int64_t sum = 0, *shortest = malloc(((size_t)names + 1) * sizeof *shortest);
    if (!shortest) return false;
    for (uint32_t i = 0; i <= names; i++) shortest[i] = INT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t n = f->first_work; n < f->graph->node_count; n++) {
            uint32_t name = findings_name(f, n);
            int64_t ns = gpu_duration(findings_work(f, n)), *least = &shortest[name < names ? name : names];
            if (!is_call(f, n, class)) continue;
            if (!pass && ns < *least) *least = ns;
            if (!pass || ns / SLOW < *least) continue;
            int64_t path = findings_on_path(f, n);
            sum = gpu_sum(sum, ns - *least < path ? ns - *least : path);
        }
    }
    free(shortest);
    *out = sum >= findings_whole(f) / rule->least_part;
    return true;
}

/* argument: what says the size of a call. */
static hd_status find_calls(finding **out, findings *f, const finding_rule *rule, gpu_class class, const char *argument,
                            bool *has_sizes, hd_error *err)
{
    uint32_t *sizes;
    size_t count = 0;
    bool wanted;
    *out = NULL;
    if (!is_wanted(&wanted, f, rule, class)) return HD_NOMEM(err);
    if (!wanted) return HD_OK;
    HD_TRY(findings_read_texts(&sizes, f, argument, err));
    call *calls = hd_large_new(f->graph->node_count - f->first_work + 1, sizeof *calls, f->scope.large);
    bool fine = calls && findings_add(f, rule);
    if (fine) {
        *has_sizes = list_calls(calls, &count, f, class, sizes);
        fine = hd_large_sort(calls, count, sizeof *calls, by_kind, f->scope.large);
    }
    for (size_t i = 0, end; fine && i < count; i = end) {
        for (end = i + 1; end < count && calls[end].name == calls[i].name && calls[end].size == calls[i].size;) end++;
        fine = claim_slow(f, calls + i, end - i);
    }
    hd_large_free(calls);
    hd_large_free(sizes);
    return fine ? findings_keep(out, f, err) : HD_NOMEM(err);
}

static hd_status find_kernels(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    bool has_sizes = false;
    char amount[96], name[72];
    HD_TRY(find_calls(&of, f, rule, GPU_COMPUTE, "grid", &has_sizes, err));
    if (!of) return HD_OK;
    if (!has_sizes) of->trust_reason = "the trace has no grids: calls of one name may have different sizes";
    snprintf(of->text, sizeof of->text,
             "Calls that take more than twice the median of their kernel and grid cost %s: %s, %llu call%s.",
             findings_amount(amount, of), findings_longest(name, f, of), (unsigned long long)of->events,
             FINDINGS_S(of->events));
    return HD_OK;
}

static hd_status find_collectives(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    bool has_sizes = false;
    char amount[96], name[72];
    HD_TRY(find_calls(&of, f, rule, GPU_COMMUNICATION, "In msg nelems", &has_sizes, err));
    if (!of) return HD_OK;
    of->has_other_ranks = findings_lacks_ranks(f);
    if (!has_sizes) of->trust_reason = "the trace has no sizes: calls of one name may have different sizes";
    snprintf(of->text, sizeof of->text,
             "Collectives that take more than twice the median of their kind and size cost %s: %s, %llu call%s.",
             findings_amount(amount, of), findings_longest(name, f, of), (unsigned long long)of->events,
             FINDINGS_S(of->events));
    return HD_OK;
}

const finding_rule finding_uneven_kernel = {
    .about.code = "uneven-kernel",
    .about.severity = "warning",
    .about.meaning = "some calls of a kernel take much longer than others of the same grid",
    .about.advice = "heddle report kernels --by grid, then heddle view at the slow calls: copies, collectives or other "
                    "processes on "
                    "the GPU at the same time, managed memory that moves, a lower clock, or work that depends on the "
                    "data (experts, "
                    "sparse or padded batches).",
    .find = find_kernels,
    .least_part = 20,
};

const finding_rule finding_uneven_collective = {
    .about.code = "uneven-collective",
    .about.severity = "warning",
    .about.meaning = "some collectives take much longer than others of the same kind and size",
    .about.advice = "Load all ranks (heddle report stragglers): a rank that is late makes its peers wait. If none is "
                    "late, the link "
                    "is: NCCL_DEBUG=INFO, other traffic, a slow adapter or switch.",
    .find = find_collectives,
    .least_part = 20,
};
