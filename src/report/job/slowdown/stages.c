/* stages.c - pipeline stages of which some compute longer than the others
 *
 * In the job simulated, ranks of the slower stages take as much less between collectives as makes their stage an
 * average one, and the others what they take. Moving layers gives the others more to do, so that it saves no more.
 */
#include "report/job/slowdown/stages.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static const double UNEVEN = 1.15; /* times the mean */

static int64_t stage_of(const slow_job *j, uint32_t member)
{
    const job_role *role = job_role_of(&j->roles, slow_member_at(j, member)->rank);
    return role ? role->at[JOB_PIPELINE] : -1;
}

/* By stage its mean over members. false: a member is in none, there is one stage, or no memory. */
static bool find_stages(job_stages *out, double *means, uint32_t *sizes, const slow_job *j, const double *compute)
{
    double sum = 0;
    uint32_t members = j->members.count;
    for (uint32_t m = 0; m < members; m++) {
        int64_t stage = stage_of(j, m);
        if (stage < 0 || stage >= members) return false;
        means[stage] += compute[m];
        sizes[stage]++;
    }
    for (uint32_t i = 0; i < members; i++) {
        if (!sizes[i]) continue;
        means[i] /= sizes[i];
        sum += means[i];
        out->stages++;
        if (out->stages == 1 || means[i] > out->longest) {
            out->longest = means[i];
            out->slowest = i;
        }
    }
    out->mean = out->stages ? sum / out->stages : 0;
    return out->stages > 1 && out->longest > UNEVEN * out->mean;
}

/* Simulates with the gaps of slow stages scaled, and puts them back. false: no memory. */
static bool simulate(job_stages *out, slow_job *j, const double *means)
{
    int64_t *gaps = malloc((j->count + 1) * sizeof *gaps);
    if (!gaps) return false;
    for (size_t i = 0; i < j->count; i++) gaps[i] = j->visits[i].gap;
    for (uint32_t m = 0; m < j->members.count; m++) {
        double factor = out->mean / means[stage_of(j, m)];
        j->kept[m] = true;
        for (size_t i = j->list[m].first; factor < 1 && i < j->list[m + 1].first; i++)
            if (j->visits[i].gap > 0) j->visits[i].gap = gpu_round((double)j->visits[i].gap * factor);
    }
    out->after = slow_simulate(j, false);
    for (size_t i = 0; i < j->count; i++) j->visits[i].gap = gaps[i];
    free(gaps);
    return true;
}

hd_status job_find_stages(job_stages *out, slow_job *j, const double *compute, hd_error *err)
{
    *out = (job_stages){0};
    double *means = calloc((size_t)j->members.count + 1, sizeof *means);
    uint32_t *sizes = calloc((size_t)j->members.count + 1, sizeof *sizes);
    bool fine = means && sizes;
    if (fine && find_stages(out, means, sizes, j, compute)) {
        out->is_uneven = true;
        fine = simulate(out, j, means);
    }
    free(means);
    free(sizes);
    return fine ? HD_OK : HD_NOMEM(err);
}
