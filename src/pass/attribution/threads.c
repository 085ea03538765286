/* threads.c - assigns sequences of samples to sequences of launches, when thread ids do not
 *
 * All pairs are compared by rhythm: a few runs of samples, dense and sparse, are placed on the launches at their time;
 * different names and different numbers of marks cost extra. The best agreement is taken first. If a thread agrees with
 * two equally well, neither is taken: a wrong stack is worse than none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "pass/attribution/marks.h"

enum { MOST_COMPARED = 1 << 21, MOST_RUNS = 1 << 16, RUNS_LEAST = 4, RUNS_MOST = 24, REACH = 12 };
enum { MARGIN = HD_MARK_BIT / 4, EQUAL_COUNT = HD_MARK_BIT };

typedef struct match {
    int32_t cost;
    uint32_t sample, launch;
} match;

typedef struct assigner {
    const hd_mark_pair *samples, *launches;
    uint32_t *sample_ids, *launch_ids; /* the compared ones, largest first */
    size_t sample_count, launch_count;
    match *matches; /* by sample, then launch; later by cost */
    int32_t *costs; /* by (sample, launch), places in the lists above */
    uint8_t *taken; /* samples, then launches, by place */
    unsigned runs;
} assigner;

/* log2 of a ratio, 256ths of bits. */
static int32_t ratio_cost(size_t a, size_t b)
{
    double ratio = a < b ? (double)b / (double)a : (double)a / (double)b;
    return hd_mark_cost((int64_t)((ratio - 1) * 1024), 1.0f / 1024);
}

static int32_t compare(const assigner *a, const hd_mark_pair *s, const hd_mark_pair *l)
{
    size_t count = s->sample_count < l->launch_count ? s->sample_count : l->launch_count;
    hd_run run = {.count = count < HD_RUN_MARKS ? count : HD_RUN_MARKS};
    int64_t sum = 0;
    unsigned found = 0;
    size_t low = hd_marks_find(s->samples, s->sample_count, l->launches[0].time_ns);
    size_t high = hd_marks_find(s->samples, s->sample_count, l->launches[l->launch_count - 1].time_ns);
    size_t widest = run.count > 1 ? (count - 1) / (run.count - 1) : 1;
    for (unsigned i = 0; i < a->runs; i++) {
        run.stride = i % 2 ? widest / 2 + 1 : 1;
        if ((run.count - 1) * run.stride >= count) run.stride = 1;
        size_t last = s->sample_count - 1 - (run.count - 1) * run.stride, until = high < last ? high : last;
        size_t from = low < until ? low : until;
        run.first = from + (size_t)((double)(until - from) * (double)i / (double)a->runs);
        hd_run_fit(&run, s->samples, l->launches, l->launch_count, 0, REACH);
        if (run.cost == INT32_MAX) continue;
        sum += run.cost;
        found++;
    }
    if (!found) return INT32_MAX;
    int32_t cost = (int32_t)(sum / found) + ratio_cost(s->sample_count, l->launch_count);
    return s->sample_count == l->launch_count ? cost : cost + EQUAL_COUNT;
}

static int by_cost(const void *a, const void *b)
{
    const match *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    if (x->sample != y->sample) return x->sample < y->sample ? -1 : 1;
    return x->launch < y->launch ? -1 : x->launch > y->launch;
}

/* Whether another free one agrees equally well. */
static bool is_tie(const assigner *a, const match *m)
{
    const uint8_t *launch_taken = a->taken + a->sample_count;
    for (size_t i = 0; i < a->launch_count; i++) {
        int32_t cost = a->costs[m->sample * a->launch_count + i];
        if (i != m->launch && !launch_taken[i] && cost != INT32_MAX && cost <= m->cost + MARGIN) return true;
    }
    for (size_t i = 0; i < a->sample_count; i++) {
        int32_t cost = a->costs[i * a->launch_count + m->launch];
        if (i != m->sample && !a->taken[i] && cost != INT32_MAX && cost <= m->cost + MARGIN) return true;
    }
    return false;
}

/* At least half of the smaller side within the tolerance. */
static bool agrees(const hd_mark_pair *s, const hd_mark_pair *l, int64_t tolerance)
{
    size_t pairs = 0, at = 0, least = s->sample_count < l->launch_count ? s->sample_count : l->launch_count;
    for (size_t i = 0; i < s->sample_count; i++) {
        while (at < l->launch_count && l->launches[at].time_ns < s->samples[i].time_ns - tolerance) at++;
        if (at == l->launch_count) break;
        if (l->launches[at].time_ns > s->samples[i].time_ns + tolerance) continue;
        pairs++;
        at++;
    }
    return pairs * 2 >= least;
}

static void assign(uint32_t *out, assigner *a, int64_t tolerance)
{
    size_t count = 0;
    for (size_t i = 0; i < a->sample_count; i++) {
        for (size_t k = 0; k < a->launch_count; k++) {
            const hd_mark_pair *s = &a->samples[a->sample_ids[i]], *l = &a->launches[a->launch_ids[k]];
            int32_t cost = compare(a, s, l);
            a->costs[i * a->launch_count + k] = cost;
            if (cost != INT32_MAX) a->matches[count++] = (match){cost, (uint32_t)i, (uint32_t)k};
        }
    }
    hd_sort(a->matches, count, sizeof *a->matches, by_cost);
    for (size_t i = 0; i < count; i++) {
        const match *m = &a->matches[i];
        if (a->taken[m->sample] || a->taken[a->sample_count + m->launch] || is_tie(a, m)) continue;
        if (!agrees(&a->samples[a->sample_ids[m->sample]], &a->launches[a->launch_ids[m->launch]], tolerance)) continue;
        a->taken[m->sample] = a->taken[a->sample_count + m->launch] = 1;
        out[a->sample_ids[m->sample]] = a->launch_ids[m->launch];
    }
}

typedef struct sized {
    size_t count;
    uint32_t id;
} sized;

static int by_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Ids of nonempty sequences, largest first. */
static size_t list_by_size(uint32_t *ids, sized *spare, const hd_mark_pair *pairs, size_t count, bool samples)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t marks = samples ? pairs[i].sample_count : pairs[i].launch_count;
        if (marks > 0) spare[found++] = (sized){marks, (uint32_t)i};
    }
    hd_sort(spare, found, sizeof *spare, by_size);
    for (size_t i = 0; i < found; i++) ids[i] = spare[i].id;
    return found;
}

static hd_status assign_largest(uint32_t *out, assigner *a, int64_t tolerance, hd_error *err)
{
    while (a->sample_count * a->launch_count > MOST_COMPARED)
        *(a->sample_count > a->launch_count ? &a->sample_count : &a->launch_count) /= 2;
    size_t compared = a->sample_count * a->launch_count;
    if (compared == 0) return HD_OK;
    size_t runs = MOST_RUNS / compared;
    a->runs = runs < RUNS_LEAST ? RUNS_LEAST : runs > RUNS_MOST ? RUNS_MOST : (unsigned)runs;
    a->matches = malloc(compared * sizeof *a->matches);
    a->costs = malloc(compared * sizeof *a->costs);
    a->taken = calloc(a->sample_count + a->launch_count, 1);
    bool has = a->matches && a->costs && a->taken;
    if (has) assign(out, a, tolerance);
    free(a->matches);
    free(a->costs);
    free(a->taken);
    return has ? HD_OK : HD_NOMEM(err);
}

hd_status hd_marks_assign(uint32_t *out, const hd_mark_pair *samples, size_t sample_threads,
                          const hd_mark_pair *launches, size_t launch_threads, int64_t tolerance_ns, hd_error *err)
{
    assigner a = {.samples = samples, .launches = launches};
    size_t most = (sample_threads > launch_threads ? sample_threads : launch_threads) + 1;
    for (size_t i = 0; i < sample_threads; i++) out[i] = HD_MARK_NONE;
    sized *spare = malloc(most * sizeof *spare);
    a.sample_ids = malloc(most * sizeof *a.sample_ids);
    a.launch_ids = malloc(most * sizeof *a.launch_ids);
    hd_status status = spare && a.sample_ids && a.launch_ids ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        a.sample_count = list_by_size(a.sample_ids, spare, samples, sample_threads, true);
        a.launch_count = list_by_size(a.launch_ids, spare, launches, launch_threads, false);
        if (tolerance_ns > HD_MARK_TIME_LIMIT / 4) tolerance_ns = HD_MARK_TIME_LIMIT / 4;
        status = assign_largest(out, &a, tolerance_ns, err);
    }
    free(spare);
    free(a.sample_ids);
    free(a.launch_ids);
    return status;
}
