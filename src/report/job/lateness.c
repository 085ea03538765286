/* lateness.c - how late each member was in each step, and how it deviates from its peers
 *
 * Arrivals come member by member, and are walked twice, so that only the steps of one member are in memory: the first
 * pass gives a number for each step, from which median and spread among peers are computed, and the second pass the
 * steps with their scores.
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

static double mean_late(const job_late_step *of)
{
    return (double)of->late / of->compared;
}

/* NULL: no memory. */
static job_late_peers *peers_of(job_lateness *l, const job_late_step *of)
{
    uint32_t known = l->peers.count, at = gpu_group(&l->peers, (const uint32_t[]){of->step, l->roles[of->member]});
    if (at == HD_NONE || !hd_grow((void **)&l->list_of_peers, &l->peers_capacity, at, sizeof *l->list_of_peers))
        return NULL;
    if (at == known) l->list_of_peers[at] = (job_late_peers){0};
    return &l->list_of_peers[at];
}

static bool add_value(job_lateness *l, const job_late_step *of)
{
    job_late_peers *peers = peers_of(l, of);
    if (!peers || !hd_grow((void **)&peers->values, &peers->capacity, peers->count, sizeof *peers->values))
        return false;
    peers->values[peers->count++] = mean_late(of);
    return true;
}

/* The second time. */
static bool tell_step(job_lateness *l, job_late_step *of)
{
    const job_late_peers *peers = peers_of(l, of);
    if (!peers) return false;
    of->z = peers->spread > 0 ? (mean_late(of) - peers->middle) / peers->spread : NAN;
    return l->each(l->user, of);
}

/* The steps of a member are complete. */
static bool end_member(job_lateness *l)
{
    job_late_step *spare = malloc((l->count + 1) * sizeof *spare);
    bool fine = spare;
    if (fine && l->count) HD_SORT_RUNS(l->list, spare, l->count, x, y, x->start < y->start);
    for (size_t i = 0; i < l->count && fine; i++)
        fine = l->each ? tell_step(l, &l->list[i]) : add_value(l, &l->list[i]);
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

static bool score_peers(job_late_peers *peers)
{
    bool fine = job_spread(&peers->middle, &peers->spread, peers->values, peers->count);
    free(peers->values);
    peers->values = NULL;
    return fine;
}

bool job_lateness_again(job_lateness *l, job_each_step *each, void *user)
{
    bool fine = end_member(l);
    for (uint32_t i = 0; i < l->peers.count && fine; i++) fine = score_peers(&l->list_of_peers[i]);
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
    for (uint32_t i = 0; i < l->peers.count && i < l->peers_capacity; i++) free(l->list_of_peers[i].values);
    free(l->list_of_peers);
    gpu_groups_deinit(&l->keys);
    gpu_groups_deinit(&l->peers);
    free(l->list);
}
