/* group.c - launches and samples without a rule, as marks by place and time */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "pass/attribution/samples.h"

void attribution_join_deinit(attribution_join *j)
{
    hd_strings_deinit(&j->pids);
    hd_strings_deinit(&j->tids);
    hd_strings_deinit(&j->names);
    hd_strings_deinit(&j->keys);
    free(j->places);
    free(j->gpu_places);
    hd_large_free(j->sample_rows);
    hd_large_free(j->sample_stacks);
    hd_large_free(j->sample_places);
    hd_large_free(j->sample_ids);
    hd_large_free(j->used);
    hd_large_free(j->samples);
    hd_large_free(j->launches);
    hd_large_free(j->unsorted);
    hd_large_free(j->joined);
}

void attribution_take(attribution_join *j, uint32_t launch, uint32_t sample, hd_stack_rule rule)
{
    hd_attribution *a = j->a;
    j->used[sample] = 1;
    j->joined[launch] = sample;
    a->launch_sample[launch] = j->sample_rows[sample];
    if (j->sample_stacks[sample] == HD_STACK_NONE) return; /* known, but without a stack */
    a->launch_stack[launch] = j->sample_stacks[sample];
    a->launch_rule[launch] = (uint8_t)rule;
}

/* ---- threads of unknown processes ---- */

/* The places with one tid. */
typedef struct tid_places {
    uint32_t with_samples, with_launches; /* the last of them, HD_NONE: none */
    bool several;                         /* several places with either, or one place with both */
} tid_places;

enum { HAS_SAMPLES = 1, HAS_LAUNCHES = 2 };

static void note_place(tid_places *tids, const attribution_join *j, uint32_t place, uint8_t has)
{
    tid_places *own = &tids[j->places[place].tid];
    if (has == 0) return;
    own->several |= has == (HAS_SAMPLES | HAS_LAUNCHES) || (has == HAS_SAMPLES && own->with_samples != HD_NONE) ||
                    (has == HAS_LAUNCHES && own->with_launches != HD_NONE);
    *(has == HAS_SAMPLES ? &own->with_samples : &own->with_launches) = place;
}

/* The place that the samples of a place are moved to. */
static uint32_t destination(const tid_places *tids, const attribution_join *j, uint32_t place)
{
    const attribution_place *p = &j->places[place];
    const tid_places *own = &tids[p->tid];
    if (p->tid == HD_STRING_NONE || own->several || own->with_samples != place || own->with_launches == HD_NONE)
        return place;
    bool lone = p->pid == HD_STRING_NONE || j->places[own->with_launches].pid == HD_STRING_NONE;
    return lone ? own->with_launches : place;
}

/* `perf script` prints tids without pids. A tid is matched with a thread of the other side if only one there has it. */
static bool unite_lone_threads(attribution_join *j)
{
    const hd_launches *l = j->a->launches;
    bool any = false;
    for (size_t i = 0; i < l->launch_count; i++) {
        if (attribution_gpu_place(j, l->launches[i].track) == HD_NONE) return false;
    }
    for (size_t i = 0; i < j->place_count; i++) any |= j->places[i].pid == HD_STRING_NONE && j->places[i].tid;
    if (!any) return true;
    size_t tid_count = (size_t)atomic_load(&j->tids.count) + 1;
    tid_places *tids = malloc(tid_count * sizeof *tids);
    uint8_t *has = calloc(j->place_count + 1, 1);
    if (tids && has) {
        for (size_t i = 0; i < tid_count; i++) tids[i] = (tid_places){HD_NONE, HD_NONE, false};
        for (size_t i = 0; i < j->sample_count; i++) has[j->sample_places[i]] |= HAS_SAMPLES;
        for (size_t i = 0; i < l->launch_count; i++)
            has[attribution_gpu_place(j, l->launches[i].track)] |= HAS_LAUNCHES;
        for (size_t i = 0; i < j->place_count; i++) note_place(tids, j, (uint32_t)i, has[i]);
        for (size_t i = 0; i < j->sample_count; i++) j->sample_places[i] = destination(tids, j, j->sample_places[i]);
    }
    bool done = tids && has;
    free(tids);
    free(has);
    return done;
}

/* ---- launches ---- */

typedef struct name_ids {
    uint32_t short_name, full_name;
    bool known;
} name_ids;

static hd_launch_sort sort_of_launch(const hd_launches *l, const hd_launch *launch)
{
    if (launch->sort != HD_LAUNCH_UNKNOWN || launch->work_count == 0) return launch->sort;
    if (launch->work_count > 1) return HD_LAUNCH_GRAPH;
    switch (l->works[l->work_order[launch->first_work]].role) {
    case HD_ROLE_KERNEL: return HD_LAUNCH_KERNEL;
    case HD_ROLE_COPY: return HD_LAUNCH_COPY;
    case HD_ROLE_SET: return HD_LAUNCH_SET;
    default: return HD_LAUNCH_UNKNOWN;
    }
}

static bool is_free(const attribution_join *j, size_t launch)
{
    return j->a->launch_rule[launch] == HD_RULE_NONE && j->a->launch_sample[launch] == UINT64_MAX &&
           j->a->launches->launches[launch].start_ns != HD_NO_TIME;
}

/* Kinds of launches that samples are of, a bit each. If no stack shows it (no symbols), kernels, unless there are as
 * many samples as launches of all kinds. */
static unsigned sorts_wanted(const attribution_join *j)
{
    unsigned wanted = 0;
    uint64_t samples = 0, kernels = 0, all = 0;
    for (size_t i = 0; i < j->sample_count; i++) {
        if (j->used[i]) continue;
        if (j->unsorted[i].sort) wanted |= 1u << j->unsorted[i].sort;
        samples++;
    }
    if (wanted) return wanted;
    for (size_t i = 0; i < j->a->launches->launch_count; i++) {
        if (!is_free(j, i)) continue;
        all++;
        kernels += sort_of_launch(j->a->launches, &j->a->launches->launches[i]) == HD_LAUNCH_KERNEL;
    }
    uint64_t off_kernels = samples < kernels ? kernels - samples : samples - kernels;
    uint64_t off_all = samples < all ? all - samples : samples - all;
    return off_all < off_kernels ? ~0u : 1u << HD_LAUNCH_KERNEL;
}

static bool name_launch(attribution_join *j, hd_mark *mark, const hd_launch *launch, name_ids *names)
{
    const hd_launches *l = j->a->launches;
    if (launch->work_count != 1) return true;
    const hd_work *work = &l->works[l->work_order[launch->first_work]];
    if (work->role != HD_ROLE_KERNEL) return true;
    name_ids *ids = &names[work->name];
    if (!ids->known) {
        if (!attribution_name_mark(j, mark, hd_trace_string(j->gpu, work->name))) return false;
        *ids = (name_ids){mark->short_name, mark->full_name, true};
    }
    mark->short_name = ids->short_name;
    mark->full_name = ids->full_name;
    return true;
}

static bool place_launches(attribution_join *j, uint32_t *launch_places, name_ids *names)
{
    const hd_launches *l = j->a->launches;
    unsigned wanted = sorts_wanted(j);
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        hd_launch_sort sort = sort_of_launch(l, launch);
        launch_places[i] = HD_NONE;
        if (!is_free(j, i) || (sort != HD_LAUNCH_UNKNOWN && !(wanted >> sort & 1))) continue;
        uint32_t place = attribution_gpu_place(j, launch->track);
        if (place == HD_NONE) return false;
        launch_places[i] = place;
        j->places[place].launches++;
        j->launch_count++;
    }
    size_t at = 0;
    for (size_t i = 0; i < j->place_count; i++) {
        j->places[i].launch = at;
        at += j->places[i].launches;
        j->places[i].launches = 0;
    }
    j->launches = hd_large_new(j->launch_count + 1, sizeof *j->launches, j->large);
    if (!j->launches) return false;
    for (size_t i = 0; i < l->launch_count; i++) {
        if (launch_places[i] == HD_NONE) continue;
        attribution_place *p = &j->places[launch_places[i]];
        hd_mark *mark = &j->launches[p->launch + p->launches++];
        *mark = (hd_mark){.time_ns = hd_mark_shift(l->launches[i].start_ns, 0),
                          .index = (uint32_t)i,
                          .sort = (uint8_t)sort_of_launch(l, &l->launches[i])};
        if (!name_launch(j, mark, &l->launches[i], names)) return false;
    }
    return true;
}

/* ---- samples ---- */

static bool place_samples(attribution_join *j)
{
    size_t at = 0;
    for (size_t i = 0; i < j->sample_count; i++) {
        if (!j->used[i] && j->unsorted[i].time_ns != HD_NO_TIME) j->places[j->sample_places[i]].samples++;
    }
    for (size_t i = 0; i < j->place_count; i++) {
        j->places[i].sample = at;
        at += j->places[i].samples;
        j->places[i].samples = 0;
    }
    j->mark_count = at;
    j->samples = hd_large_new(at + 1, sizeof *j->samples, j->large);
    if (!j->samples) return false;
    for (size_t i = 0; i < j->sample_count; i++) {
        attribution_place *p = &j->places[j->sample_places[i]];
        if (!j->used[i] && j->unsorted[i].time_ns != HD_NO_TIME) j->samples[p->sample + p->samples++] = j->unsorted[i];
    }
    return true;
}

/* Names of samples that no launch has are dropped: they are spelled differently, or the kernel was not recorded. */
static bool drop_strange_names(attribution_join *j)
{
    uint8_t *has = calloc((size_t)atomic_load(&j->names.count) + 1, 1);
    if (!has) return false;
    for (size_t i = 0; i < j->launch_count; i++) has[j->launches[i].short_name] = 1;
    for (size_t i = 0; i < j->mark_count; i++) {
        if (!has[j->samples[i].short_name]) j->samples[i].short_name = 0;
    }
    free(has);
    return true;
}

hd_status attribution_gather_marks(attribution_join *j, hd_error *err)
{
    uint32_t *launch_places = hd_large_new(j->a->launches->launch_count + 1, sizeof *launch_places, j->large);
    name_ids *names = calloc((size_t)hd_trace_string_count(j->gpu) + 1, sizeof *names);
    bool done = launch_places && names && unite_lone_threads(j) && place_launches(j, launch_places, names) &&
                place_samples(j) && drop_strange_names(j);
    hd_large_free(launch_places);
    free(names);
    if (!done) return HD_NOMEM(err);
    for (size_t i = 0; i < j->place_count; i++) {
        HD_TRY(hd_marks_sort(j->samples + j->places[i].sample, j->places[i].samples, j->large, err));
        HD_TRY(hd_marks_sort(j->launches + j->places[i].launch, j->places[i].launches, j->large, err));
    }
    return HD_OK;
}
