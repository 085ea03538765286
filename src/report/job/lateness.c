/* lateness.c - how late each member was in each step, and how that stands out among its peers */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/meetings.h"

typedef struct late_key {
    uint32_t member, step;
    int64_t start;
} late_key;

/* The steps of a summary are in order before the next begins, so that all are, where summaries are by rank. */
static bool sort_steps(job_late_step *list, size_t count)
{
    job_late_step *spare = malloc((count + 1) * sizeof *spare);
    if (spare && count)
        HD_SORT_RUNS(list, spare, count, x, y, x->member != y->member ? x->member < y->member : x->start < y->start);
    free(spare);
    return spare != NULL;
}

static bool begin_summary(job_lateness *steps, size_t summary)
{
    bool fine = sort_steps(steps->list + steps->first, steps->count - steps->first);
    gpu_groups_deinit(&steps->keys);
    steps->keys.key_size = sizeof(late_key);
    steps->first = steps->count;
    steps->summary = summary;
    return fine;
}

bool job_lateness_add(job_lateness *steps, const job_arrival *a)
{
    const late_key key = {a->member, a->step, a->step_start};
    if ((!steps->keys.key_size || steps->summary != a->summary) && !begin_summary(steps, a->summary)) return false;
    uint32_t at = gpu_group(&steps->keys, &key);
    if (at == HD_NONE || !hd_grow((void **)&steps->list, &steps->capacity, steps->count, sizeof *steps->list))
        return false;
    job_late_step *of = &steps->list[steps->first + at];
    if (steps->first + at == steps->count) {
        steps->count++;
        *of =
            (job_late_step){.member = a->member, .step = a->step, .start = a->step_start, .latest = a->late, .z = NAN};
    }
    of->compared++;
    of->late = gpu_sum(of->late, a->late);
    of->waited = gpu_sum(of->waited, a->waited);
    if (a->late > of->latest) of->latest = a->late;
    return true;
}

/* A step that two summaries of a member tell is one. */
static void join_steps(job_lateness *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const job_late_step *x = &steps->list[i];
        job_late_step *last = kept ? &steps->list[kept - 1] : NULL;
        if (!last || last->member != x->member || last->step != x->step || last->start != x->start) {
            steps->list[kept++] = *x;
            continue;
        }
        last->compared += x->compared;
        last->late = gpu_sum(last->late, x->late);
        last->waited = gpu_sum(last->waited, x->waited);
        if (x->latest > last->latest) last->latest = x->latest;
    }
    steps->count = kept;
}

/* A step of some peers: `of` says which of the list they are. */
static bool score(job_late_step *list, const uint32_t *of, size_t count)
{
    double *values = malloc((count + 1) * sizeof *values), middle, spread;
    if (!values) return false;
    for (size_t i = 0; i < count; i++) values[i] = (double)list[of[i]].late / list[of[i]].compared;
    bool fine = job_spread(&middle, &spread, values, count);
    for (size_t i = 0; i < count && fine && spread > 0; i++) list[of[i]].z = (values[i] - middle) / spread;
    free(values);
    return fine;
}

/* A counting sort by step and role. */
static bool score_steps(job_lateness *steps, const uint32_t *roles)
{
    gpu_groups peers = {.key_size = 2 * sizeof(uint32_t)};
    size_t count = steps->count, *ends = NULL;
    uint32_t *of = malloc((count + 1) * sizeof *of), *order = malloc((count + 1) * sizeof *order);
    bool fine = of && order && count < HD_NONE;
    for (size_t i = 0; i < count && fine; i++) {
        of[i] = gpu_group(&peers, (const uint32_t[]){steps->list[i].step, roles[steps->list[i].member]});
        fine = of[i] != HD_NONE;
    }
    fine = fine && (ends = calloc((size_t)peers.count + 1, sizeof *ends));
    for (size_t i = 0; i < count && fine; i++) ends[of[i] + 1]++;
    for (size_t p = 0; p < peers.count && fine; p++) ends[p + 1] += ends[p];
    for (size_t i = 0; i < count && fine; i++) order[ends[of[i]]++] = (uint32_t)i;
    for (size_t p = 0, first = 0; p < peers.count && fine; first = ends[p++])
        fine = score(steps->list, order + first, ends[p] - first);
    gpu_groups_deinit(&peers);
    free(of);
    free(order);
    free(ends);
    return fine;
}

bool job_lateness_finish(job_lateness *steps, const uint32_t *roles)
{
    gpu_groups_deinit(&steps->keys);
    if (!sort_steps(steps->list + steps->first, steps->count - steps->first) || !sort_steps(steps->list, steps->count))
        return false;
    join_steps(steps);
    return score_steps(steps, roles);
}

void job_lateness_drop(job_lateness *steps, size_t count)
{
    steps->count -= count;
    memmove(steps->list, steps->list + count, steps->count * sizeof *steps->list);
    job_late_step *shrunk = realloc(steps->list, (steps->count + 1) * sizeof *shrunk);
    if (shrunk) steps->list = shrunk;
}

void job_lateness_deinit(job_lateness *steps)
{
    gpu_groups_deinit(&steps->keys);
    free(steps->list);
}
