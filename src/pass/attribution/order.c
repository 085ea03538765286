/* order.c - matches samples and kernels by order, if the GPU side has no API calls at all
 *
 * Correlation ids are assigned call by call, so they give the order of launches; kernels with one id are those of one
 * graph launch. They have no CPU time, so this joins only if it is safe: as many launches as samples without a
 * contradicting name, or names that decide.
 */
#include "base/error.h"
#include "base/memory/large.h"
#include "pass/attribution/samples.h"
#include "trace/ranks.h"

enum { STEP_NS = 1000, BAND_STEPS = 200 };

typedef struct order {
    attribution_join *j;
    hd_mark *samples, *launches; /* time: index in the order. A launch's index is its first in `works` */
    size_t sample_count, launch_count;
    hd_mark *works; /* by id; index: the activity */
    size_t work_count;
    uint32_t *out;
} order;

static hd_launch_sort sort_of_role(hd_role role)
{
    return role == HD_ROLE_KERNEL ? HD_LAUNCH_KERNEL : role == HD_ROLE_COPY ? HD_LAUNCH_COPY : HD_LAUNCH_SET;
}

static size_t run_of(const order *o, size_t first)
{
    size_t end = first + 1;
    while (end < o->work_count && o->works[end].time_ns == o->works[first].time_ns) end++;
    return end - first;
}

/* Ids of different ranks are not comparable. */
static bool is_of_one_rank(const hd_trace *trace, const hd_launches *l)
{
    uint32_t tracks = hd_trace_track_count(trace), last = HD_NONE;
    int64_t rank = HD_NO_NUMBER;
    for (size_t i = 0; i < l->work_count; i++) {
        uint32_t track = l->works[i].track;
        if (track >= tracks || track == last) continue;
        int64_t own = hd_trace_rank_of(trace, track);
        if (last != HD_NONE && own != rank) return false;
        rank = own;
        last = track;
    }
    return true;
}

static hd_status list_works(order *o, hd_error *err)
{
    const hd_launches *l = o->j->a->launches;
    unsigned wanted = 0;
    for (size_t i = 0; i < o->sample_count; i++) wanted |= o->samples[i].sort ? 1u << o->samples[i].sort : 0;
    o->works = hd_large_new(l->work_count + 1, sizeof *o->works, o->j->large);
    o->launches = hd_large_new(l->work_count + 1, sizeof *o->launches, o->j->large);
    if (!o->works || !o->launches) return HD_NOMEM(err);
    for (size_t i = 0; i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        if (work->id == 0 || o->j->a->work_rule[i] != HD_RULE_NONE) continue;
        o->works[o->work_count++] = (hd_mark){.time_ns = work->id, .index = (uint32_t)i};
    }
    HD_TRY(hd_marks_sort(o->works, o->work_count, o->j->large, err));
    for (size_t i = 0, run; i < o->work_count; i += run) {
        const hd_work *work = &l->works[o->works[i].index];
        run = run_of(o, i);
        hd_mark mark = {.index = (uint32_t)i, .sort = (uint8_t)(run > 1 ? HD_LAUNCH_GRAPH : sort_of_role(work->role))};
        if (wanted && !(wanted >> mark.sort & 1)) continue;
        if (mark.sort == HD_LAUNCH_KERNEL &&
            !attribution_name_mark(o->j, &mark, hd_trace_string(o->j->gpu, work->name)))
            return HD_NOMEM(err);
        o->launches[o->launch_count++] = mark;
    }
    return HD_OK;
}

/* All samples in order of time; none if several processes launched, whose ids are not comparable. */
static hd_status list_samples(order *o, hd_error *err)
{
    attribution_join *j = o->j;
    uint32_t pid = HD_NONE;
    o->samples = hd_large_new(j->sample_count + 1, sizeof *o->samples, j->large);
    o->out = hd_large_new(j->sample_count + 1, sizeof *o->out, j->large);
    if (!o->samples || !o->out) return HD_NOMEM(err);
    for (size_t i = 0; i < j->sample_count; i++) {
        uint32_t own = j->places[j->sample_places[i]].pid;
        if (j->used[i] || j->unsorted[i].time_ns == HD_NO_TIME) continue;
        if (pid != HD_NONE && pid != own) {
            o->sample_count = 0;
            return HD_OK;
        }
        pid = own;
        o->samples[o->sample_count++] = j->unsorted[i];
    }
    return hd_marks_sort(o->samples, o->sample_count, j->large, err);
}

static hd_mark_fit fit_of(const order *o, size_t sample, size_t launch)
{
    return hd_marks_fit(&o->samples[sample], &o->launches[launch]);
}

static bool fits_in_order(const order *o)
{
    if (o->sample_count != o->launch_count) return false;
    for (size_t i = 0; i < o->sample_count; i++) {
        if (fit_of(o, i, i) == HD_MARKS_APART) return false;
    }
    return true;
}

/* Pairs by names, most of which must agree; pairs without a name are dropped. */
static hd_status pair_by_names(order *o, hd_error *err)
{
    hd_align_options options = {.tolerance_ns = (int64_t)BAND_STEPS * STEP_NS,
                                .spread_ns = (int64_t)BAND_STEPS * STEP_NS,
                                .large = o->j->large};
    hd_align_result result;
    size_t least = o->sample_count < o->launch_count ? o->sample_count : o->launch_count, agreed = 0;
    double per_sample = (double)o->launch_count / (double)o->sample_count;
    for (size_t i = 0; i < o->sample_count; i++) o->samples[i].time_ns = (int64_t)((double)i * per_sample) * STEP_NS;
    for (size_t i = 0; i < o->launch_count; i++) o->launches[i].time_ns = (int64_t)i * STEP_NS;
    HD_TRY(hd_marks_align(o->out, &result, o->samples, o->sample_count, o->launches, o->launch_count, &options, err));
    for (size_t i = 0; i < o->sample_count; i++) {
        if (o->out[i] == HD_MARK_NONE) continue;
        if (fit_of(o, i, o->out[i]) < HD_MARKS_ALIKE) o->out[i] = HD_MARK_NONE;
        agreed += o->out[i] != HD_MARK_NONE;
    }
    for (size_t i = 0; i < o->sample_count && agreed * 10 < least * 9; i++) o->out[i] = HD_MARK_NONE;
    return HD_OK;
}

static void take(order *o)
{
    attribution_join *j = o->j;
    for (size_t i = 0; i < o->sample_count; i++) {
        if (o->out[i] == HD_MARK_NONE) continue;
        size_t first = o->launches[o->out[i]].index, run = run_of(o, first);
        uint32_t sample = o->samples[i].index;
        for (size_t k = first; k < first + run; k++) {
            j->a->work_stack[o->works[k].index] = j->sample_stacks[sample];
            j->a->work_rule[o->works[k].index] = HD_RULE_ORDER;
        }
        j->used[sample] = 1;
    }
}

static hd_status join(order *o, hd_error *err)
{
    HD_TRY(list_samples(o, err));
    if (o->sample_count == 0 || !is_of_one_rank(o->j->gpu, o->j->a->launches)) return HD_OK;
    HD_TRY(list_works(o, err));
    if (o->launch_count == 0) return HD_OK;
    if (fits_in_order(o)) {
        for (size_t i = 0; i < o->sample_count; i++) o->out[i] = (uint32_t)i;
    } else {
        HD_TRY(pair_by_names(o, err));
    }
    take(o);
    return HD_OK;
}

hd_status attribution_by_order(attribution_join *j, hd_error *err)
{
    order o = {.j = j};
    if (j->own || j->a->launches->launch_count > 0) return HD_OK;
    hd_status status = join(&o, err);
    hd_large_free(o.samples);
    hd_large_free(o.launches);
    hd_large_free(o.works);
    hd_large_free(o.out);
    return status;
}
