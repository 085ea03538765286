/* time.c - matches samples and launches by time: the clock, threads known to both sides, threads known to one side
 *
 * Known     a place with samples and launches
 * Unknown   samples of a thread that launches nothing: CUPTI's thread ids may be those of pthreads. They may belong to
 *           any launching thread of their process without samples; if the other side does not know the process either
 *           (pid namespaces), to any such thread of a process that is unknown to this side. The clock is that of the
 *           known threads; if they are few, that of whole processes, with all their threads as one sequence.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "pass/attribution/samples.h"

enum { FEW_KNOWN = 16 };

/* Unknown threads of both sides that may be the same. */
typedef struct pool {
    uint32_t *samples, *launches; /* places */
    size_t sample_count, launch_count;
} pool;

typedef struct timer {
    attribution_join *j;
    pool *pools; /* by pid; the last is for processes that only one side knows */
    size_t pool_count;
    uint32_t *pool_places; /* room of the pools' lists */
    hd_mark_pair *pairs;   /* for the clock */
    size_t pair_count;
    hd_mark *merged; /* marks of pools */
    size_t merged_count;
    hd_clock clock;
    uint64_t joined; /* by time */
} timer;

/* ---- pools ---- */

static bool is_unknown_samples(const attribution_place *p)
{
    return p->samples > 0 && p->launches == 0;
}
static bool is_unknown_launches(const attribution_place *p)
{
    return p->launches > 0 && p->samples == 0;
}

/* Chooses the pool for the places of a pid: its own if both sides know it. */
static void choose_pools(uint8_t *seen, const attribution_join *j)
{
    for (size_t i = 0; i < j->place_count; i++) {
        const attribution_place *p = &j->places[i];
        if (p->pid == HD_STRING_NONE) continue;
        if (p->samples) seen[p->pid] |= 1;
        if (p->launches) seen[p->pid] |= 2;
    }
}

static size_t pool_of(const timer *t, const uint8_t *seen, const attribution_place *p)
{
    return p->pid != HD_STRING_NONE && seen[p->pid] == 3 ? p->pid : t->pool_count - 1;
}

static bool make_pools(timer *t)
{
    attribution_join *j = t->j;
    t->pool_count = (size_t)atomic_load(&j->pids.count) + 1;
    uint8_t *seen = calloc(t->pool_count, 1);
    t->pools = calloc(t->pool_count, sizeof *t->pools);
    t->pool_places = malloc((2 * j->place_count + 1) * sizeof *t->pool_places);
    bool done = seen && t->pools && t->pool_places;
    if (done) {
        choose_pools(seen, j);
        for (size_t i = 0; i < j->place_count; i++) {
            pool *own = &t->pools[pool_of(t, seen, &j->places[i])];
            own->sample_count += is_unknown_samples(&j->places[i]);
            own->launch_count += is_unknown_launches(&j->places[i]);
        }
        uint32_t *room = t->pool_places;
        for (size_t i = 0; i < t->pool_count; i++) {
            pool *own = &t->pools[i];
            own->samples = room;
            own->launches = room + own->sample_count;
            room += own->sample_count + own->launch_count;
            own->sample_count = own->launch_count = 0;
        }
        for (size_t i = 0; i < j->place_count; i++) {
            pool *own = &t->pools[pool_of(t, seen, &j->places[i])];
            if (is_unknown_samples(&j->places[i])) own->samples[own->sample_count++] = (uint32_t)i;
            if (is_unknown_launches(&j->places[i])) own->launches[own->launch_count++] = (uint32_t)i;
        }
    }
    free(seen);
    return done;
}

/* ---- the clock ---- */

static hd_mark_pair pair_of(const attribution_join *j, const attribution_place *samples,
                            const attribution_place *launches)
{
    return (hd_mark_pair){.samples = j->samples + samples->sample,
                          .launches = j->launches + launches->launch,
                          .sample_count = samples->samples,
                          .launch_count = launches->launches};
}

/* Merges the marks of several places into one sequence. */
static hd_status merge_places(timer *t, hd_mark **out, size_t *out_count, const uint32_t *places, size_t count,
                              bool samples, hd_error *err)
{
    hd_mark *list = t->merged + t->merged_count;
    size_t marks = 0;
    for (size_t i = 0; i < count; i++) {
        const attribution_place *p = &t->j->places[places[i]];
        size_t here = samples ? p->samples : p->launches;
        memcpy(list + marks, samples ? t->j->samples + p->sample : t->j->launches + p->launch, here * sizeof *list);
        marks += here;
    }
    t->merged_count += marks;
    *out = list;
    *out_count = marks;
    return hd_marks_sort(list, marks, t->j->large, err);
}

static hd_status add_pools(timer *t, hd_error *err)
{
    t->merged = hd_large_new(t->j->mark_count + t->j->launch_count + 1, sizeof *t->merged, t->j->large);
    if (!t->merged) return HD_NOMEM(err);
    for (size_t i = 0; i < t->pool_count; i++) {
        const pool *p = &t->pools[i];
        hd_mark *samples, *launches;
        hd_mark_pair *pair = &t->pairs[t->pair_count];
        if (p->sample_count == 0 || p->launch_count == 0) continue;
        HD_TRY(merge_places(t, &samples, &pair->sample_count, p->samples, p->sample_count, true, err));
        HD_TRY(merge_places(t, &launches, &pair->launch_count, p->launches, p->launch_count, false, err));
        pair->samples = samples;
        pair->launches = launches;
        t->pair_count++;
    }
    return HD_OK;
}

static hd_status find_pairs(timer *t, hd_error *err)
{
    attribution_join *j = t->j;
    uint64_t known = 0, unknown = 0;
    t->pairs = calloc(j->place_count + t->pool_count + 1, sizeof *t->pairs);
    if (!t->pairs) return HD_NOMEM(err);
    for (size_t i = 0; i < j->place_count; i++) {
        const attribution_place *p = &j->places[i];
        if (p->samples && p->launches) {
            t->pairs[t->pair_count++] = pair_of(j, p, p);
            known += p->samples;
        } else {
            unknown += p->samples;
        }
    }
    return known < FEW_KNOWN && unknown > known ? add_pools(t, err) : HD_OK;
}

static hd_status refuse(const timer *t, hd_error *err)
{
    const hd_clock *c = &t->clock;
    double seconds = (double)c->offset_ns * 1e-9, other = (double)c->other_ns * 1e-9;
    if (c->ambiguous)
        return hd_error_set(
            err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE,
            "the offset of the samples' clock is ambiguous: the launches are %.6f s or %.6f s later, and both fit "
            "%llu of %llu samples (--force takes the first; so does --clock-offset for a known one)",
            seconds, other, (unsigned long long)c->pairs, (unsigned long long)c->samples);
    return hd_error_set(
        err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE,
        "no clock offset brings half of the samples to their launches: at best, at %.6f s, %llu of %llu "
        "samples and %llu launches are within %.3f ms (--tolerance widens it, --force joins those)",
        seconds, (unsigned long long)c->pairs, (unsigned long long)c->samples, (unsigned long long)c->launches,
        (double)t->j->tolerance * 1e-6);
}

/* Offsets that the traces' own clocks suggest: the same clock, and the difference of their zeros. */
static size_t likely_offsets(int64_t out[2], const attribution_join *j)
{
    int64_t cpu = hd_trace_facts_of(j->cpu)->base_ns, gpu = hd_trace_facts_of(j->gpu)->base_ns, offset;
    size_t count = 0;
    if (cpu != HD_NO_TIME && gpu != HD_NO_TIME && !__builtin_sub_overflow(cpu, gpu, &offset) && offset != 0)
        out[count++] = offset;
    out[count++] = 0;
    return count;
}

/* `out_go`: samples may be joined by time. */
static hd_status find_clock(timer *t, bool *out_go, hd_error *err)
{
    attribution_join *j = t->j;
    hd_clock_fit *fit = &j->a->clock;
    int64_t likely[2];
    *out_go = true;
    if (j->options->has_offset) {
        t->clock.offset_ns = j->options->clock_offset_ns;
        return HD_OK;
    }
    HD_TRY(find_pairs(t, err));
    if (t->pair_count == 0) {
        *out_go = false;
        return HD_OK;
    }
    size_t count = likely_offsets(likely, j);
    HD_TRY(hd_clock_find(&t->clock, t->pairs, t->pair_count, j->tolerance, likely, count, err));
    *fit = (hd_clock_fit){.known = t->clock.pairs > 0,
                          .offset_ns = t->clock.offset_ns,
                          .drift_ppm = t->clock.drift * 1e6,
                          .pairs = t->clock.pairs,
                          .ambiguous = t->clock.ambiguous};
    if ((t->clock.fits && !t->clock.ambiguous) || j->options->force) return HD_OK;
    *out_go = false;
    return j->own ? HD_OK : refuse(t, err);
}

/* ---- joining ---- */

static hd_status join_pair(timer *t, uint64_t *out_pairs, const attribution_place *samples,
                           const attribution_place *launches, hd_stack_rule rule, hd_error *err)
{
    hd_mark_pair p = pair_of(t->j, samples, launches);
    hd_align_options options = {.tolerance_ns = t->j->tolerance, .large = t->j->large};
    hd_align_result result;
    uint32_t *out = hd_large_new(p.sample_count + 1, sizeof *out, t->j->large);
    if (!out) return HD_NOMEM(err);
    hd_status status =
        hd_marks_align(out, &result, p.samples, p.sample_count, p.launches, p.launch_count, &options, err);
    for (size_t i = 0; i < p.sample_count && status == HD_OK; i++) {
        if (out[i] != HD_MARK_NONE) attribution_take(t->j, p.launches[out[i]].index, p.samples[i].index, rule);
    }
    hd_large_free(out);
    *out_pairs = result.pairs;
    t->joined += result.pairs;
    return status;
}

static hd_status join_known(timer *t, hd_error *err)
{
    attribution_join *j = t->j;
    for (size_t i = 0; i < j->place_count; i++) {
        uint64_t pairs;
        if (!j->places[i].samples || !j->places[i].launches) continue;
        HD_TRY(join_pair(t, &pairs, &j->places[i], &j->places[i], HD_RULE_THREAD, err));
        *(pairs ? &j->a->threads_by_id : &j->a->threads_unmatched) += 1;
    }
    return HD_OK;
}

static hd_status join_pool(timer *t, const pool *p, hd_error *err)
{
    attribution_join *j = t->j;
    hd_mark_pair *samples = calloc(p->sample_count + 1, sizeof *samples);
    hd_mark_pair *launches = calloc(p->launch_count + 1, sizeof *launches);
    uint32_t *out = malloc((p->sample_count + 1) * sizeof *out);
    hd_status status = samples && launches && out ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < p->sample_count && status == HD_OK; i++)
        samples[i] = pair_of(j, &j->places[p->samples[i]], &j->places[p->samples[i]]);
    for (size_t i = 0; i < p->launch_count && status == HD_OK; i++)
        launches[i] = pair_of(j, &j->places[p->launches[i]], &j->places[p->launches[i]]);
    if (status == HD_OK)
        status = hd_marks_assign(out, samples, p->sample_count, launches, p->launch_count, j->tolerance, err);
    for (size_t i = 0; i < p->sample_count && status == HD_OK; i++) {
        uint64_t pairs = 0;
        if (out[i] != HD_MARK_NONE)
            status =
                join_pair(t, &pairs, &j->places[p->samples[i]], &j->places[p->launches[out[i]]], HD_RULE_SEQUENCE, err);
        *(pairs ? &j->a->threads_by_sequence : &j->a->threads_unmatched) += 1;
    }
    free(samples);
    free(launches);
    free(out);
    return status;
}

/* ---- how well it fits ---- */

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The median residual is the remaining offset; if there are many, a regular subset is used. */
static hd_status measure(timer *t, hd_error *err)
{
    enum { LOOKED_AT = 1 << 15 };
    attribution_join *j = t->j;
    hd_clock_fit *fit = &j->a->clock;
    size_t found = 0, step = t->joined / LOOKED_AT + 1, seen = 0;
    int64_t *list = malloc((t->joined / step + 2) * sizeof *list), lowest = INT64_MAX, highest = INT64_MIN;
    if (!list) return HD_NOMEM(err);
    for (size_t i = 0; i < j->launch_count; i++) {
        uint32_t launch = j->launches[i].index;
        if (j->joined[launch] == HD_NONE) continue;
        int64_t off = j->launches[i].time_ns - j->unsorted[j->joined[launch]].time_ns;
        if (off < lowest) lowest = off;
        if (off > highest) highest = off;
        if (seen++ % step == 0) list[found++] = off;
    }
    if (found) {
        hd_sort(list, found, sizeof *list, hd_compare_int64_t);
        int64_t middle = list[found / 2];
        for (size_t i = 0; i < found; i++) list[i] = distance(list[i], middle);
        hd_sort(list, found, sizeof *list, hd_compare_int64_t);
        fit->pairs = seen;
        fit->spread_ns = list[found / 2];
        fit->worst_ns =
            distance(highest, middle) > distance(lowest, middle) ? distance(highest, middle) : distance(lowest, middle);
        if (!j->options->has_offset) fit->offset_ns = hd_mark_shift(fit->offset_ns, middle);
    }
    free(list);
    return HD_OK;
}

/* ---- all of it ---- */

static hd_status join(timer *t, hd_error *err)
{
    attribution_join *j = t->j;
    bool go;
    if (!make_pools(t)) return HD_NOMEM(err);
    HD_TRY(find_clock(t, &go, err));
    if (!go) {
        for (size_t i = 0; i < j->place_count; i++) j->a->threads_unmatched += j->places[i].samples > 0;
        return HD_OK;
    }
    for (size_t i = 0; i < j->mark_count; i++) {
        j->samples[i].time_ns = hd_clock_apply(&t->clock, j->samples[i].time_ns);
        j->unsorted[j->samples[i].index].time_ns = j->samples[i].time_ns;
    }
    HD_TRY(join_known(t, err));
    for (size_t i = 0; i < t->pool_count; i++) {
        if (t->pools[i].sample_count) HD_TRY(join_pool(t, &t->pools[i], err));
    }
    return measure(t, err);
}

hd_status attribution_by_time(attribution_join *j, hd_error *err)
{
    timer t = {.j = j};
    if (j->mark_count == 0 || j->launch_count == 0) return HD_OK;
    hd_status status = join(&t, err);
    free(t.pools);
    free(t.pool_places);
    free(t.pairs);
    hd_large_free(t.merged);
    return status;
}
