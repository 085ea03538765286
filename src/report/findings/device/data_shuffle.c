/* data_shuffle.c - kernels that only move data within the GPU: gather, scatter, sort, transpose */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_name(hd_string name)
{
    static const char *const words[] = {
        "gather",    "Gather",     "scatter",     "Scatter",     "indexSelect", "index_elementwise",
        "RadixSort", "radix_sort", "bitonicSort", "sort_by_key", "transpose",   "Transpose"};
    return FINDINGS_HAS(name, words);
}

static bool is_compute(const findings *f, uint32_t node)
{
    return findings_is_of_class(f, node, GPU_COMPUTE);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96], name[72];
    HD_TRY(findings_gather_named(&of, f, rule, is_compute, is_name, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text,
             "Kernels that only move data (gather, scatter, sort) run for %s: %s, %llu kernel%s.",
             findings_amount(amount, of), findings_longest(name, f, of), (unsigned long long)of->events,
             FINDINGS_S(of->events));
    return HD_OK;
}

const finding_rule finding_data_shuffle = {
    .about.code = "data-shuffle",
    .about.severity = "warning",
    .about.meaning = "kernels that only move data take a fifth of the critical path",
    .about.advice =
        "Index less and in larger pieces: sorted or contiguous indices, embedding bags, fused kernels (torch.compile), "
        "views in place of copies.",
    .find = find,
    .least_part = 5,
};
