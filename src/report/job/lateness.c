/* lateness.c - how late each member was in each step, and how that stands out among its peers */
#include <math.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/cells.h"

typedef struct late_key {
    uint32_t member, step;
    int64_t start;
} late_key;

bool job_lateness_add(job_lateness *steps, uint32_t member, uint32_t step, int64_t start, int64_t late, int64_t waited)
{
    const late_key key = {member, step, start};
    steps->keys.key_size = sizeof key;
    uint32_t known = steps->keys.count, at = gpu_group(&steps->keys, &key);
    if (at == HD_NONE || !hd_grow((void **)&steps->list, &steps->capacity, at, sizeof *steps->list)) return false;
    job_late_step *of = &steps->list[at];
    if (at == known) *of = (job_late_step){.member = member, .step = step, .start = start, .z = NAN};
    of->compared++;
    of->late += late;
    of->waited += waited;
    return true;
}

static double mean_of(const job_late_step *step)
{
    return (double)step->late / (double)step->compared;
}

/* A step of some peers. */
static bool score(job_late_step *list, size_t count)
{
    double *values = malloc((count + 1) * sizeof *values), middle, spread;
    if (!values) return false;
    for (size_t i = 0; i < count; i++) values[i] = mean_of(&list[i]);
    bool fine = job_spread(&middle, &spread, values, count);
    for (size_t i = 0; i < count && fine && spread > 0; i++) list[i].z = (values[i] - middle) / spread;
    free(values);
    return fine;
}

bool job_lateness_finish(job_lateness *steps, const uint32_t *roles)
{
    size_t count = steps->keys.count, end;
    job_late_step *spare = malloc((count + 1) * sizeof *spare), *list = steps->list;
    bool fine = spare != NULL;
    if (fine && count)
        HD_SORT_RUNS(list, spare, count, x, y,
                     x->step != y->step ? x->step < y->step : roles[x->member] < roles[y->member]);
    for (size_t i = 0; i < count && fine; i = end) {
        for (end = i + 1;
             end < count && list[end].step == list[i].step && roles[list[end].member] == roles[list[i].member];)
            end++;
        fine = score(list + i, end - i);
    }
    if (fine && count)
        HD_SORT_RUNS(list, spare, count, x, y, x->member != y->member ? x->member < y->member : x->start < y->start);
    free(spare);
    return fine;
}

void job_lateness_deinit(job_lateness *steps)
{
    gpu_groups_deinit(&steps->keys);
    free(steps->list);
}
