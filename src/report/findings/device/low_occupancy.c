/* low_occupancy.c - kernels that move data with few warps on each multiprocessor, so that nothing hides the latency */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"

enum { LOW = 25 }; /* percent */

/* Matrix products, convolutions and attention are fastest with a few large warps. */
static bool is_dense(hd_string name)
{
    static const char *const words[] = {"gemm", "attn", "attention", "flash", "fmha",    "conv",
                                        "mma",  "Cijk", "cutlass",   "cudnn", "triton_", "dot"};
    return FINDINGS_HAS(name, words);
}

static bool claim_low(findings *f, const double *occupancy, const double *blocks, const uint8_t *dense)
{
    bool fine = true;
    for (uint32_t n = f->first_work; fine && n < f->graph->node_count; n++) {
        uint32_t at = f->works[n - f->first_work], name = findings_name(f, n);
        bool is_one = f->scope.works[at].class == GPU_COMPUTE && occupancy[at] > 0 && occupancy[at] < LOW &&
                      blocks[at] >= 1 && name != HD_STRING_NONE && !dense[name];
        if (is_one) fine = findings_claim(f, n, INT64_MAX);
    }
    return fine;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of = NULL;
    bool any;
    double *occupancy, *blocks;
    char name[72], amount[96];
    HD_TRY(findings_read_numbers(&occupancy, f, "est. achieved occupancy %", err));
    if (!occupancy) return HD_OK;
    uint8_t *dense = NULL;
    hd_status status = findings_read_numbers(&blocks, f, "blocks per SM", err);
    if (status == HD_OK && blocks) {
        dense = findings_choose_names(&any, f, is_dense);
        bool fine = dense && findings_add(f, rule) && claim_low(f, occupancy, blocks, dense);
        status = fine ? findings_keep(&of, f, err) : HD_NOMEM(err);
    }
    free(dense);
    hd_large_free(occupancy);
    hd_large_free(blocks);
    if (!of) return status;
    of->reason = "how much faster they would be with more warps the trace does not say";
    snprintf(of->text, sizeof of->text, "%llu kernels that move data run with an occupancy below 25 %%, for %s: %s.",
             (unsigned long long)of->events, findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_low_occupancy = {
    .about.code = "low-occupancy",
    .about.severity = "note",
    .about.meaning = "kernels that move data have few warps on each multiprocessor",
    .about.advice =
        "More warps for each multiprocessor: fewer registers or less shared memory for each thread (__launch_bounds__, "
        "-maxrregcount), other block sizes, in Triton num_warps and num_stages; Nsight Compute says which of them "
        "limits it.",
    .find = find,
    .least_part = 10,
};
