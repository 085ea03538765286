/* repetition.c - steps guessed from repetition (--step auto): see "Steps by repetition" in definitions.md */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/steps/steps.h"

enum { LEAST_STEPS = 3, MOST_TRIES = 16 };

/* A GPU activity, and when the host issued it. */
typedef struct issue {
    int64_t begin, rank;
    uint32_t work, name;
} issue;

/* The works of a rank. */
typedef struct run {
    const issue *list;
    size_t count;
    const uint32_t *counts; /* by string id: works of the rank with that name */
    int64_t end;            /* of the last that ends */
} run;

static int by_rank_and_begin(const void *a, const void *b)
{
    const issue *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

/* Writes the steps that begin with the activities of a name, and into `alike` for each the sum of the hashes of its
 * names, which is equal if the same names occur equally often. The last step has as many activities as the one before
 * it, and later ones are in none. Returns their number; 0: two begin at once. */
static size_t cut(gpu_scope *s, uint64_t *alike, const run *r, uint32_t name)
{
    gpu_step *steps = s->steps + s->step_count;
    size_t count = 0, begun = 0, length = 0; /* of the last step, and of the one before it */
    for (size_t i = 0; i < r->count; i++) {
        const issue *at = &r->list[i];
        if (at->name == name) {
            if (count && steps[count - 1].start == at->begin) return 0;
            if (count) steps[count - 1].end = at->begin, length = i - begun;
            begun = i;
            const hd_work *work = &s->launches->works[at->work];
            steps[count] = (gpu_step){.start = at->begin,
                                      .end = r->end,
                                      .rank = at->rank,
                                      .process = HD_NONE,
                                      .row = (uint32_t)work->row,
                                      .name = name,
                                      .lane = gpu_lane_of(s->trace, work->track)};
            alike[count++] = 0;
        }
        if (count == r->counts[name] && count > 1 && i - begun == length) {
            steps[count - 1].end = at->begin;
            break;
        }
        if (count) alike[count - 1] += hd_hash_pair(at->name, r->count);
    }
    return count;
}

/* Are three of four steps alike, and at least three? Sorts `alike`. */
static bool repeats(uint64_t *alike, size_t count)
{
    size_t most = 0, length = 0;
    if (count < LEAST_STEPS) return false;
    hd_sort(alike, count, sizeof *alike, hd_compare_uint64_t);
    for (size_t i = 0; i < count; i++) {
        length = i && alike[i] == alike[i - 1] ? length + 1 : 1;
        if (length > most) most = length;
    }
    return most >= LEAST_STEPS && 4 * most >= 3 * count;
}

/* Whether the activities whose name occurs a multiple of `times` often are half of all. `sorted`: the counts of the
 * names of all activities, ascending. */
static bool half_fits(const uint64_t *sorted, size_t count, uint64_t times)
{
    size_t fits = 0, i = 0;
    while (i < count) {
        size_t first = i;
        while (i < count && sorted[i] == sorted[first]) i++;
        if (sorted[first] % times == 0) fits += i - first;
    }
    return 2 * fits >= count;
}

static uint32_t first_name(const run *r, uint64_t times)
{
    size_t i = 0;
    while (r->counts[r->list[i].name] != times) i++;
    return r->list[i].name;
}

/* Appends the steps of a rank. numbers: room for two per activity. */
static bool find_steps_of_rank(gpu_scope *s, const run *r, uint64_t *numbers)
{
    uint64_t *sorted = numbers, *alike = numbers + r->count;
    unsigned tries = 0;
    for (size_t i = 0; i < r->count; i++) sorted[i] = r->counts[r->list[i].name];
    if (!hd_large_sort(sorted, r->count, sizeof *sorted, hd_compare_uint64_t, s->large)) return false;
    for (size_t i = 0; i < r->count && tries < MOST_TRIES; i++) {
        uint64_t times = sorted[i];
        if (times < LEAST_STEPS || (i && sorted[i - 1] == times) || !half_fits(sorted, r->count, times)) continue;
        if (!hd_large_resize((void **)&s->steps, s->step_count, s->step_count + times, sizeof *s->steps, s->large))
            return false;
        size_t count = cut(s, alike, r, first_name(r, times));
        if (repeats(alike, count)) {
            s->step_count += (uint32_t)count;
            return true;
        }
        tries++;
    }
    return true;
}

static size_t list_issues(issue *list, const gpu_scope *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const hd_work *work = &s->launches->works[i];
        if (s->works[i].row == HD_NONE || !s->has_rank[work->track]) continue;
        int64_t begin = work->launch == HD_NONE ? work->start_ns : s->launches->launches[work->launch].start_ns;
        list[count++] = (issue){gpu_time(begin), s->ranks[work->track], (uint32_t)i, work->name};
    }
    return count;
}

hd_status gpu_steps_by_repetition(gpu_scope *s, hd_error *err)
{
    size_t total = s->launches->work_count;
    issue *list = hd_large_new(total + 1, sizeof *list, s->large);
    uint64_t *numbers = hd_large_new(2 * total + 1, sizeof *numbers, s->large);
    uint32_t *counts = hd_large_zeroed((size_t)hd_trace_string_count(s->trace) + 1, sizeof *counts, s->large);
    bool fine = list && numbers && counts;
    if (fine) total = list_issues(list, s);
    fine = fine && hd_large_sort(list, total, sizeof *list, by_rank_and_begin, s->large);
    for (size_t first = 0, i = 0; fine && first < total; first = i) {
        run r = {list + first, 0, counts, INT64_MIN};
        for (; i < total && list[i].rank == list[first].rank; i++) {
            const gpu_work *work = &s->works[list[i].work];
            counts[list[i].name]++;
            if (work->end > r.end) r.end = work->end;
        }
        r.count = i - first;
        fine = find_steps_of_rank(s, &r, numbers);
        for (size_t k = first; k < i; k++) counts[list[k].name] = 0;
    }
    hd_large_free(list);
    hd_large_free(numbers);
    hd_large_free(counts);
    return fine ? HD_OK : HD_NOMEM(err);
}
