/* launches.c - GPU activities and their launches: gathered, joined, and sorted */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/launches/impl.h"
#include "model/trust/trust.h"
#include "trace/ranks.h"
#include "trace/spill.h"

/* ---- ranks ---- */

static bool find_ranks(launch_finder *f)
{
    uint32_t count = hd_trace_track_count(f->trace);
    f->ranks = malloc(((size_t)count + 1) * sizeof *f->ranks);
    if (!f->ranks) return false;
    for (uint32_t t = 0; t < count; t++) f->ranks[t] = hd_trace_rank_of(f->trace, t);
    f->ranks[count] = HD_NO_NUMBER;
    return true;
}

/* ---- launches in order ---- */

static int by_start(const void *a, const void *b)
{
    const hd_launch *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_launch(const launch_call *calls, uint32_t index)
{
    const launch_call *call = &calls[index];
    return call->is_needed || (call->outer == index && call->sort != HD_LAUNCH_UNKNOWN);
}

/* A nested call passes on the kind from its name, if the outer one's name has none. */
static void pass_sorts_on(launch_finder *f)
{
    for (size_t i = 0; i < f->call_count; i++) {
        launch_call *outer = &f->calls[f->calls[i].outer];
        if (outer->sort == HD_LAUNCH_UNKNOWN) outer->sort = f->calls[i].sort;
    }
}

/* Bucket sort by track: calls are in row order, so those of a track are nearly in order of time. */
static bool list_launches(hd_launches *out, launch_finder *f)
{
    size_t tracks = (size_t)hd_trace_track_count(f->trace) + 1, sum = 0;
    size_t *next = calloc(tracks + 1, sizeof *next);
    if (!next) return false;
    for (uint32_t i = 0; i < f->call_count; i++) next[launch_slot(f, f->calls[i].track)] += is_launch(f->calls, i);
    for (size_t t = 0; t <= tracks; t++) {
        size_t here = next[t];
        next[t] = sum;
        sum += here;
    }
    out->launch_count = sum;
    out->launches = hd_large_new(sum + 1, sizeof *out->launches, f->large);
    for (uint32_t i = 0; out->launches && i < f->call_count; i++) {
        const launch_call *call = &f->calls[i];
        if (!is_launch(f->calls, i)) continue;
        out->launches[next[launch_slot(f, call->track)]++] = (hd_launch){
            .row = call->row,
            .id = call->id,
            .start_ns = call->start_ns,
            .duration_ns = call->duration_ns,
            .track = call->track,
            .name = call->name,
            .sort = (hd_launch_sort)call->sort,
            .work_count = i, /* temporarily the index of the call */
        };
    }
    bool fine = out->launches != NULL;
    for (size_t t = 0, from = 0; fine && t < tracks; from = next[t++])
        fine = hd_large_sort(out->launches + from, next[t] - from, sizeof *out->launches, by_start, f->large);
    free(next);
    return fine;
}

static void number_launches(hd_launches *out, launch_finder *f)
{
    for (size_t i = 0; i < out->launch_count; i++) {
        f->calls[out->launches[i].work_count].place = (uint32_t)i;
        out->launches[i].work_count = 0;
    }
    for (size_t i = 0; i < f->work_count; i++) {
        hd_work *work = &f->works[i];
        if (work->launch != HD_NONE) work->launch = f->calls[work->launch].place;
        if (work->graph_launch != HD_NONE) work->graph_launch = f->calls[work->graph_launch].place;
    }
}

/* Activities without a time have found their launches, and are removed from the list. */
static bool split_untimed(hd_launches *out, launch_finder *f)
{
    size_t kept = 0, left = 0;
    out->untimed = hd_large_new((size_t)f->without_time + 1, sizeof *out->untimed, f->large);
    if (!out->untimed) return false;
    if (!f->without_time) return true;
    for (size_t i = 0; i < f->work_count; i++) {
        const hd_work work = f->works[i];
        bool is_timed = work.start_ns != HD_NO_TIME;
        if (!is_timed && work.launch != HD_NONE) out->launches[work.launch].untimed_count++;
        *(is_timed ? &f->works[kept++] : &out->untimed[left++]) = work;
    }
    out->works_without_time = left;
    f->work_count = kept;
    return true;
}

/* ---- works launch by launch ---- */

typedef struct timed {
    int64_t start_ns;
    uint32_t work;
} timed;

static int by_time(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static bool sort_works(uint32_t *order, size_t count, const hd_work *works, uint64_t large)
{
    size_t sorted = 1;
    while (sorted < count && works[order[sorted - 1]].start_ns <= works[order[sorted]].start_ns) sorted++;
    if (sorted >= count) return true;
    timed *list = hd_large_new(count, sizeof *list, large);
    if (!list) return false;
    for (size_t i = 0; i < count; i++) list[i] = (timed){works[order[i]].start_ns, order[i]};
    bool fine = hd_large_sort(list, count, sizeof *list, by_time, large);
    for (size_t i = 0; fine && i < count; i++) order[i] = list[i].work;
    hd_large_free(list);
    return fine;
}

static bool order_works(hd_launches *out, uint64_t large)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < out->work_count; i++) {
        if (out->works[i].launch != HD_NONE) out->launches[out->works[i].launch].work_count++;
    }
    for (size_t i = 0; i < out->launch_count; i++) {
        out->launches[i].first_work = sum;
        sum += out->launches[i].work_count;
        out->launches[i].work_count = 0;
    }
    out->work_order = hd_large_new((size_t)sum + 1, sizeof *out->work_order, large);
    if (!out->work_order) return false;
    for (size_t i = 0; i < out->work_count; i++) {
        if (out->works[i].launch == HD_NONE) continue;
        hd_launch *launch = &out->launches[out->works[i].launch];
        out->work_order[launch->first_work + launch->work_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < out->launch_count; i++) {
        const hd_launch *launch = &out->launches[i];
        if (!sort_works(out->work_order + launch->first_work, launch->work_count, out->works, large)) return false;
    }
    return true;
}

/* ---- the whole ---- */

static void sum_work(hd_launches *out)
{
    for (size_t i = 0; i < out->work_count; i++) {
        if (__builtin_add_overflow(out->work_ns, out->works[i].duration_ns, &out->work_ns)) out->work_ns = INT64_MAX;
    }
}

static hd_status find(hd_launches *out, launch_finder *f, hd_error *err)
{
    if (!hd_roles_init(&f->roles, f->trace) || !find_ranks(f) || !launches_gather(f) || !launches_find_processes(f))
        return HD_NOMEM(err);
    if (f->has_limit)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 launches or GPU activities");
    for (size_t i = 0; i < f->call_count; i++) {
        f->calls[i].outer = (uint32_t)i;
        f->calls[i].place = HD_NONE;
    }
    if (!launches_join(f)) return HD_NOMEM(err);
    HD_TRY(launches_join_flows(f, err));
    if (!launches_join_nodes(f)) return HD_NOMEM(err);
    pass_sorts_on(f);
    if (!list_launches(out, f)) return HD_NOMEM(err);
    number_launches(out, f);
    if (!split_untimed(out, f)) return HD_NOMEM(err);
    out->works = f->works;
    out->work_count = f->work_count;
    out->works_without_end = f->without_end;
    out->absent_roles = ~f->roles_seen;
    f->works = NULL;
    if (!order_works(out, f->large) || !launches_name_processes(out, f)) return HD_NOMEM(err);
    sum_work(out);
    return launches_find_asked(out, f->trace, f->large, err);
}

hd_status hd_launches_new(hd_launches **out, const hd_trace *trace, hd_error *err)
{
    launch_finder f = {.trace = trace, .large = hd_trace_large_bytes(trace)};
    *out = calloc(1, sizeof **out);
    hd_status status = *out ? find(*out, &f, err) : HD_NOMEM(err);
    hd_roles_deinit(&f.roles);
    free(f.ranks);
    free(f.processes);
    free(f.owners);
    hd_large_free(f.calls);
    hd_large_free(f.works);
    hd_large_free(f.creators);
    hd_large_free(f.nodes);
    if (status == HD_OK) return HD_OK;
    hd_launches_free(*out);
    *out = NULL;
    return status;
}

void hd_launches_free(hd_launches *launches)
{
    if (!launches) return;
    hd_large_free(launches->launches);
    hd_large_free(launches->works);
    hd_large_free(launches->work_order);
    hd_large_free(launches->untimed);
    hd_large_free(launches->asked);
    free(launches->processes);
    gpu_trust_free(launches->trust);
    free(launches->wait_names);
    free(launches->blocking_names);
    free(launches->class_names);
    free(launches);
}
