/* small_collectives.c - many collectives of a few bytes each, which take their latency and not the bandwidth */
#include <math.h>
#include <stdio.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"

enum { SMALL = 32768, SHORT_NS = 30000, LEAST = 10 }; /* elements; of which nothing is known: ns; in a step */

typedef struct sizes {
    double *in, *out; /* elements, by work; NULL: unknown */
} sizes;

/* Waiting makes a collective longer, never shorter: so a short one is small. */
static bool is_small(const findings *f, uint32_t node, void *user)
{
    const sizes *s = user;
    if (!findings_is_of_class(f, node, GPU_COMMUNICATION)) return false;
    uint32_t work = f->works[node - f->first_work];
    double in = s->in ? s->in[work] : NAN, out = s->out ? s->out[work] : NAN;
    if (isnan(in) && isnan(out)) return gpu_duration(&f->scope.works[work]) < SHORT_NS;
    return fmax(in, out) <= SMALL;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of = NULL;
    sizes s = {0};
    char name[72], amount[96];
    hd_status status = findings_read_numbers(&s.in, f, "In msg nelems", err);
    if (status == HD_OK) status = findings_read_numbers(&s.out, f, "Out msg nelems", err);
    if (status == HD_OK) status = findings_gather(&of, f, rule, f->first_work, is_small, &s, err);
    hd_large_free(s.in);
    hd_large_free(s.out);
    if (!of) return status;
    if (of->events < LEAST * (f->scope.step_count ? f->scope.step_count : 1)) {
        findings_drop(f);
        return HD_OK;
    }
    of->has_other_ranks = findings_lacks_ranks(f);
    snprintf(of->text, sizeof of->text,
             "%llu collectives are of 32,768 elements or fewer, or take less than 30us, and run for %s: %s.",
             (unsigned long long)of->events, findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_small_collectives = {
    .about.code = "small-collectives",
    .about.severity = "warning",
    .about.meaning = "many collectives of a few bytes each",
    .about.advice =
        "Put them together: DDP bucket_cap_mb, FSDP of larger units, torch.distributed._coalescing_manager, flattened "
        "tensors; what must stay small: CUDA graphs, NCCL's LL protocol, symmetric memory.",
    .find = find,
};
