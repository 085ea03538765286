/* lateness.c - how late each member was in each step, and how that stands out among its peers
 *
 * Arrivals come member by member, and are gone through twice, so that no more than the steps of one member are whole:
 * the first time gives a number for each step, the second the steps with their scores.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/meetings.h"

typedef struct late_key {
    int64_t step, start;
} late_key;

/* Those of a step and role are peers. */
static bool add_value(job_lateness *l, const job_late_step *of)
{
    uint32_t peers = gpu_group(&l->peers, (const uint32_t[]){of->step, l->roles[of->member]});
    if (peers == HD_NONE || l->value_count >= HD_NONE ||
        !hd_grow((void **)&l->peers_of, &l->peers_capacity, l->value_count, sizeof *l->peers_of) ||
        !hd_grow((void **)&l->values, &l->value_capacity, l->value_count, sizeof *l->values))
        return false;
    l->peers_of[l->value_count] = peers;
    l->values[l->value_count++] = (double)of->late / of->compared;
    return true;
}

/* The steps of a member are complete. */
static bool end_member(job_lateness *l)
{
    job_late_step *spare = malloc((l->count + 1) * sizeof *spare);
    bool fine = spare;
    if (fine && l->count) HD_SORT_RUNS(l->list, spare, l->count, x, y, x->start < y->start);
    for (size_t i = 0; i < l->count && fine; i++) {
        if (l->each) l->list[i].z = l->values[l->told++];
        fine = l->each ? l->each(l->user, &l->list[i]) : add_value(l, &l->list[i]);
    }
    free(spare);
    l->keys.key_size = sizeof(late_key);
    l->keys.count = 0;
    hd_slots_clear(&l->keys.slots);
    l->count = 0;
    return fine;
}

bool job_lateness_add(job_lateness *l, const job_arrival *a)
{
    if ((!l->count || l->list->member != a->member) && !end_member(l)) return false;
    uint32_t at = gpu_group_near(&l->keys, &l->near, &(late_key){a->step, a->step_start});
    if (at == HD_NONE || !hd_grow((void **)&l->list, &l->capacity, l->count, sizeof *l->list)) return false;
    job_late_step *of = &l->list[at];
    if (at == l->count) {
        l->count++;
        *of = (job_late_step){.member = a->member, .step = a->step, .start = a->step_start, .latest = a->late};
    }
    of->compared++;
    of->late = gpu_sum(of->late, a->late);
    of->waited = gpu_sum(of->waited, a->waited);
    if (a->late > of->latest) of->latest = a->late;
    return true;
}

/* In place of the values of some peers how they stand out; `of` says which these are. */
static bool score(double *values, const uint32_t *of, size_t count)
{
    double *own = malloc((count + 1) * sizeof *own), middle, spread;
    if (!own) return false;
    for (size_t i = 0; i < count; i++) own[i] = values[of[i]];
    bool fine = job_spread(&middle, &spread, own, count);
    for (size_t i = 0; i < count && fine; i++) values[of[i]] = spread > 0 ? (own[i] - middle) / spread : NAN;
    free(own);
    return fine;
}

/* A counting sort by peers. */
static bool score_all(job_lateness *l)
{
    size_t count = l->value_count, *ends = calloc((size_t)l->peers.count + 1, sizeof *ends);
    uint32_t *order = malloc((count + 1) * sizeof *order);
    bool fine = order && ends;
    for (size_t i = 0; i < count && fine; i++) ends[l->peers_of[i] + 1]++;
    for (size_t p = 0; p < l->peers.count && fine; p++) ends[p + 1] += ends[p];
    for (size_t i = 0; i < count && fine; i++) order[ends[l->peers_of[i]]++] = (uint32_t)i;
    for (size_t p = 0, first = 0; p < l->peers.count && fine; first = ends[p++])
        fine = score(l->values, order + first, ends[p] - first);
    free(order);
    free(ends);
    free(l->peers_of);
    l->peers_of = NULL;
    return fine;
}

bool job_lateness_again(job_lateness *l, job_each_step *each, void *user)
{
    bool fine = end_member(l) && score_all(l);
    l->each = each;
    l->user = user;
    return fine;
}

bool job_lateness_end(job_lateness *l)
{
    return end_member(l);
}

void job_lateness_deinit(job_lateness *l)
{
    gpu_groups_deinit(&l->keys);
    gpu_groups_deinit(&l->peers);
    free(l->list);
    free(l->peers_of);
    free(l->values);
}
