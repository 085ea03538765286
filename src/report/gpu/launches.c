/* launches.c - from the call to the work: see "launches" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/gpu/gpu.h"
#include "trace/event.h"

enum { KERNEL, GRAPH, COPY, SET };
static const char *const kind_names[] = {"kernel", "graph", "copy", "set"};

/* What a row is of. */
typedef struct launch_key {
    uint32_t device, step, call, kind;
    uint32_t name, zero; /* string of the first work, HD_NONE: a graph */
} launch_key;

typedef struct launch_sum {
    uint64_t launches, works, negative, is_short;
    gpu_i128 call, queue, work, whole;
    int64_t call_max;
} launch_sum;

/* A launch with those of its works that count. */
typedef struct launched {
    const gpu_work *first;
    uint32_t first_index;
    uint64_t works;
    int64_t call_start, call_end, end, work_time;
} launched;

typedef struct total_key {
    int64_t rank;
    uint64_t step;
} total_key;

typedef struct total {
    uint64_t with_work, without_work, works, unlinked, before, negative, is_short;
} total;

typedef struct launches {
    gpu_scope scope;
    const gpu_trust *trust;
    gpu_texts texts;
    uint32_t *call_names; /* by string: text + 1 */
    gpu_groups groups, places;
    launch_sum *sums; /* by group */
    total *totals;    /* by place */
    size_t sum_capacity, total_capacity;
    gpu_value *delays;
    size_t delay_count;
    gpu_stats *stats;
} launches;

/* ---- launches with work ---- */

static bool find_launched(launched *out, const gpu_scope *s, const hd_launch *launch)
{
    *out = (launched){.call_start = launch->start_ns,
                      .call_end = hd_end_or_last(launch->start_ns, launch->duration_ns),
                      .end = INT64_MIN};
    for (uint32_t i = 0; i < launch->work_count; i++) {
        uint32_t index = s->launches->work_order[launch->first_work + i];
        const gpu_work *work = &s->works[index];
        if (work->device == HD_NONE) continue;
        if (!out->first) {
            out->first = work;
            out->first_index = index;
        }
        out->works++;
        out->work_time = gpu_sum(out->work_time, gpu_duration(work));
        if (work->end > out->end) out->end = work->end;
    }
    return out->works > 0;
}

static bool is_graph(hd_string name)
{
    return memmem(name.data, name.size, "GraphLaunch", 11) != NULL;
}

static uint32_t kind_of(const gpu_work *work)
{
    return work->role == HD_ROLE_COPY ? COPY : work->role == HD_ROLE_SET ? SET : KERNEL;
}

static bool add_launch(launches *l, const hd_launch *launch, const launched *found)
{
    const gpu_scope *s = &l->scope;
    bool graph = is_graph(hd_trace_string(s->trace, launch->name));
    launch_key key = {
        .device = found->first->device,
        .step = found->first->step,
        .call = gpu_call_name(&l->texts, l->call_names, s->trace, launch->name),
        .kind = graph ? GRAPH : kind_of(found->first),
        .name = graph ? HD_NONE : s->launches->works[found->first_index].name,
    };
    if (key.call == HD_NONE) return false;
    uint32_t count = l->groups.count, group = gpu_group(&l->groups, &key);
    if (group == HD_NONE || !hd_grow((void **)&l->sums, &l->sum_capacity, group, sizeof *l->sums)) return false;
    launch_sum *sum = &l->sums[group];
    if (group == count) *sum = (launch_sum){0};
    gpu_i128 call = (gpu_i128)found->call_end - found->call_start;
    gpu_i128 delay = (gpu_i128)found->first->start - found->call_end;
    sum->launches++;
    sum->works += found->works;
    sum->call += call;
    if (call > sum->call_max) sum->call_max = (int64_t)call;
    sum->negative += delay < 0;
    if (delay > 0) sum->queue += delay;
    sum->work += found->work_time;
    sum->whole += (gpu_i128)found->end - found->call_start;
    sum->is_short += found->work_time < call;
    l->delays[l->delay_count++] = (gpu_value){(int64_t)delay, group};
    return true;
}

/* ---- totals ---- */

/* NULL: no memory. */
static total *total_of(launches *l, int64_t rank, uint32_t step)
{
    const total_key key = {rank, step};
    uint32_t count = l->places.count, place = gpu_group(&l->places, &key);
    if (place == HD_NONE || !hd_grow((void **)&l->totals, &l->total_capacity, place, sizeof *l->totals)) return NULL;
    if (place == count) l->totals[place] = (total){0};
    return &l->totals[place];
}

static bool count_launch(launches *l, const hd_launch *launch, const launched *found)
{
    total *t = total_of(l, l->scope.ranks[launch->track], found->first->step);
    if (!t) return false;
    t->with_work++;
    t->negative += found->first->start < found->call_end;
    t->is_short += (gpu_i128)found->work_time < (gpu_i128)found->call_end - found->call_start;
    return true;
}

/* A call that launches by its name, and of which no work is there. */
static bool count_alone(launches *l, const hd_launch *launch)
{
    int64_t rank = l->scope.ranks[launch->track];
    total *t = total_of(l, rank, gpu_step_by(&l->scope, launch->track, launch->start_ns));
    if (t) t->without_work++;
    return t != NULL;
}

static bool count_works(launches *l)
{
    const gpu_scope *s = &l->scope;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (!work->is_listed) continue;
        total *t = total_of(l, s->devices[work->device].rank, work->step);
        if (!t) return false;
        t->works++;
        t->unlinked += work->launch == HD_NONE;
        t->before += work->before;
    }
    return true;
}

static hd_status sum_up(launches *l, hd_error *err)
{
    const gpu_scope *s = &l->scope;
    bool fine = count_works(l);
    l->delays = hd_large_new(s->launches->launch_count + 1, sizeof *l->delays, s->large);
    fine = fine && l->delays;
    for (size_t i = 0; fine && i < s->launches->launch_count; i++) {
        const hd_launch *launch = &s->launches->launches[i];
        launched found;
        if (!gpu_is_listed(s, launch->start_ns) || launch->track >= hd_trace_track_count(s->trace) ||
            !s->has_rank[launch->track])
            continue;
        if (find_launched(&found, s, launch))
            fine = add_launch(l, launch, &found) && count_launch(l, launch, &found);
        else if (!launch->work_count)
            fine = count_alone(l, launch);
    }
    if (!fine) return HD_NOMEM(err);
    l->stats = hd_large_new((size_t)l->groups.count + 1, sizeof *l->stats, s->large);
    return l->stats && gpu_stats_of(l->stats, l->groups.count, l->delays, l->delay_count, s->large) ? HD_OK
                                                                                                    : HD_NOMEM(err);
}

/* ---- rows ---- */

static void add_row(hd_table_builder *b, const launches *l, uint32_t group)
{
    const launch_key *key = gpu_group_key(&l->groups, group);
    const launch_sum *sum = &l->sums[group];
    const gpu_stats *delay = &l->stats[group];
    gpu_cells_device(b, &l->scope, key->device, key->step);
    gpu_cell_text(b, &l->texts, key->call);
    hd_table_add_text(b, kind_names[key->kind]);
    report_cell_string(b, l->scope.trace, key->name == HD_NONE ? HD_STRING_NONE : key->name);
    hd_table_add_count(b, sum->launches);
    hd_table_add_count(b, sum->works);
    hd_table_add_int(b, gpu_whole(sum->call));
    hd_table_add_int(b, gpu_nearest(sum->call, (gpu_i128)sum->launches));
    hd_table_add_int(b, sum->call_max);
    hd_table_add_int(b, delay->total);
    hd_table_add_int(b, delay->mean);
    hd_table_add_int(b, delay->median);
    hd_table_add_int(b, delay->min);
    hd_table_add_int(b, delay->max);
    hd_table_add_count(b, sum->negative);
    hd_table_add_int(b, gpu_whole(sum->queue));
    hd_table_add_int(b, gpu_whole(sum->work));
    hd_table_add_int(b, gpu_whole(sum->whole));
    hd_table_add_count(b, sum->is_short);
    gpu_cell_doubts_of(b, l->trust, &l->scope, key->device, GPU_FIGURE_DELAY);
}

static void add_total(hd_table_builder *b, const launches *l, uint32_t place)
{
    const total_key *key = gpu_group_key(&l->places, place);
    const total *t = &l->totals[place];
    bool known = l->scope.launches->launch_count > 0;
    gpu_cells_rank(b, &l->scope, key->rank, (uint32_t)key->step);
    gpu_cell_count(b, t->with_work + t->without_work, known);
    gpu_cell_count(b, t->without_work, known);
    hd_table_add_count(b, t->works);
    gpu_cell_count(b, t->unlinked, known);
    gpu_cell_count(b, t->before, known);
    gpu_cell_count(b, t->negative, known);
    gpu_cell_count(b, t->is_short, known);
    gpu_cell_ratio(b, (gpu_i128)t->is_short, known ? (gpu_i128)t->with_work : 0, 100);
}

/* ---- a histogram of delays ---- */

/* Ends of its classes, ns: the first is of delays below 0, the last has no end. */
static const int64_t delay_ends[] = {0,         1000,       2000,       5000,       10000,      20000,
                                     50000,     100000,     200000,     500000,     1000000,    2000000,
                                     5000000,   10000000,   20000000,   50000000,   100000000,  200000000,
                                     500000000, 1000000000, 2000000000, 5000000000, 10000000000};
static const char *const delay_names[] = {"< 0",      "< 1 us",   "< 2 us",   "< 5 us",   "< 10 us",  "< 20 us",
                                          "< 50 us",  "< 100 us", "< 200 us", "< 500 us", "< 1 ms",   "< 2 ms",
                                          "< 5 ms",   "< 10 ms",  "< 20 ms",  "< 50 ms",  "< 100 ms", "< 200 ms",
                                          "< 500 ms", "< 1 s",    "< 2 s",    "< 5 s",    "< 10 s",   ">= 10 s"};
enum { DELAY_ENDS = sizeof delay_ends / sizeof *delay_ends };

typedef struct delay_place {
    uint32_t device, step;
} delay_place;

typedef struct delay_counts {
    uint64_t of[DELAY_ENDS + 1];
} delay_counts;

static void add_delay_rows(hd_table_builder *b, const gpu_scope *s, const delay_place *place,
                           const delay_counts *counts)
{
    size_t first = 0, last = DELAY_ENDS;
    while (!counts->of[first]) first++;
    while (!counts->of[last]) last--;
    for (size_t i = first; i <= last; i++) {
        gpu_cells_device(b, s, place->device, place->step);
        gpu_cell_time(b, i ? delay_ends[i - 1] : 0, i > 0);
        gpu_cell_time(b, i < DELAY_ENDS ? delay_ends[i] : 0, i < DELAY_ENDS);
        hd_table_add_text(b, delay_names[i]);
        hd_table_add_count(b, counts->of[i]);
    }
}

static hd_status add_delays(hd_report *out, const launches *l, hd_error *err)
{
    hd_table_builder *b;
    gpu_groups places = {.key_size = sizeof(delay_place)};
    delay_counts *counts = NULL;
    size_t capacity = 0;
    bool fine = true;
    HD_TRY(report_builder(&b, &report_launches_about, "delays", err));
    for (size_t i = 0; i < l->delay_count && fine; i++) {
        const launch_key *key = gpu_group_key(&l->groups, l->delays[i].group);
        const delay_place place = {key->device, key->step};
        uint32_t count = places.count, at = gpu_group(&places, &place);
        size_t class = 0, high = DELAY_ENDS;
        fine = at != HD_NONE && hd_grow((void **)&counts, &capacity, at, sizeof *counts);
        if (!fine) break;
        if (at == count) counts[at] = (delay_counts){0};
        HD_PARTITION_POINT(class, high, end, delay_ends[end] <= l->delays[i].value);
        counts[at].of[class]++;
    }
    for (uint32_t i = 0; fine && i < places.count; i++)
        add_delay_rows(b, &l->scope, gpu_group_key(&places, i), &counts[i]);
    gpu_groups_deinit(&places);
    free(counts);
    if (fine) return gpu_add(out, b, "", err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

static hd_status add_tables(hd_report *out, launches *l, hd_error *err)
{
    hd_table_builder *b;
    uint64_t in_rows = 0, with_work = 0;
    l->call_names = calloc((size_t)hd_trace_string_count(l->scope.trace) + 1, sizeof *l->call_names);
    if (!l->call_names) return HD_NOMEM(err);
    HD_TRY(sum_up(l, err));
    for (uint32_t g = 0; g < l->groups.count; g++) in_rows += l->sums[g].launches;
    for (uint32_t p = 0; p < l->places.count; p++) with_work += l->totals[p].with_work;
    if (in_rows != with_work) return gpu_broken("launches with work", (int64_t)in_rows, (int64_t)with_work, err);
    HD_TRY(gpu_trust_of(&l->trust, l->scope.trace, l->scope.launches, err));
    HD_TRY(report_builder(&b, &report_launches_about, "launches", err));
    for (uint32_t g = 0; g < l->groups.count; g++) add_row(b, l, g);
    HD_TRY(gpu_add(out, b, "whole_total", err));
    HD_TRY(report_builder(&b, &report_launches_about, "launch_totals", err));
    for (uint32_t p = 0; p < l->places.count; p++) add_total(b, l, p);
    HD_TRY(gpu_add(out, b, "", err));
    HD_TRY(add_delays(out, l, err));
    return gpu_add_notes(out, &report_launches_about, &l->scope, NULL, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    launches l = {.groups = {.key_size = sizeof(launch_key)}, .places = {.key_size = sizeof(total_key)}};
    hd_status status = gpu_scope_init(&l.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &l, err);
    if (status != HD_OK) hd_report_free(out);
    gpu_texts_deinit(&l.texts);
    gpu_groups_deinit(&l.groups);
    gpu_groups_deinit(&l.places);
    hd_large_free(l.delays);
    hd_large_free(l.stats);
    free(l.call_names);
    free(l.sums);
    free(l.totals);
    gpu_scope_deinit(&l.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column launches_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"call", HD_VALUE_STRING, "that launched it"},
    {"kind", HD_VALUE_STRING, "kernel, graph, copy or set"},
    {"name", HD_VALUE_STRING, "of its first work; null: a graph"},
    {"launches", HD_VALUE_COUNT, "how many have work"},
    {"works", HD_VALUE_COUNT, "what they launched"},
    {"call_total", HD_VALUE_DURATION, "time in the calls"},
    {"call_mean", HD_VALUE_DURATION, "of the calls"},
    {"call_max", HD_VALUE_DURATION, "the longest call"},
    {"delay_total", HD_VALUE_DURATION, "from the end of the call to the start of the first work, below 0 as well"},
    {"delay_mean", HD_VALUE_DURATION, "of the delays"},
    {"delay_median", HD_VALUE_DURATION, "of the delays"},
    {"delay_min", HD_VALUE_DURATION, "the shortest"},
    {"delay_max", HD_VALUE_DURATION, "the longest"},
    {"negative", HD_VALUE_COUNT, "delays below 0: the work began while the host was in the call"},
    {"queue_total", HD_VALUE_DURATION, "sum of the delays above 0"},
    {"work_total", HD_VALUE_DURATION, "sum of the durations of all their work"},
    {"whole_total", HD_VALUE_DURATION, "from the start of the call to the last end of its work"},
    {"short", HD_VALUE_COUNT, "launches whose work is shorter than the call"},
    GPU_COLUMN_DOUBT,
    {0},
};

static const hd_report_column totals_columns[] = {
    GPU_COLUMNS_RANK,
    {"launches", HD_VALUE_COUNT, "with work, or that launch by their name; null: no launch is known"},
    {"without_work", HD_VALUE_COUNT, "of them, whose work is not there"},
    {"works", HD_VALUE_COUNT, "kernels, copies and sets"},
    {"unlinked", HD_VALUE_COUNT, "of them, whose launch is not known"},
    {"before", HD_VALUE_COUNT, "of these, that were launched before the recording"},
    {"negative", HD_VALUE_COUNT, "launches whose work began while the host was in the call"},
    {"short", HD_VALUE_COUNT, "launches whose work is shorter than the call"},
    {"short_share", HD_VALUE_DECIMAL, "percent of the launches with work"},
    {0},
};

static const hd_report_column delays_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"from", HD_VALUE_DURATION, "delays of so much or more; null: below 0"},
    {"until", HD_VALUE_DURATION, "and of less than this; null: any"},
    {"delay", HD_VALUE_STRING, "the same in words: less than this, and not less than in the row before"},
    {"launches", HD_VALUE_COUNT, "that have such a delay"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"launches", "by call and work, longest way first", launches_columns, HD_CHART_BARS, "call,name",
     "call_total,queue_total,work_total"},
    {"launch_totals", "by rank: what has no work, and work that has no launch", totals_columns},
    {"delays", "how many launches have which delay", delays_columns, HD_CHART_BARS, "rank,device,step,delay",
     "launches"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_launches_about = {
    .name = "launches",
    .title = "from the call to the work: call time, delay, queue, and what is shorter than its launch",
    .text =
        "Each launch with the work that it started: the time in the call, from its end until the work begins, and of "
        "the work. Delays below 0 are kept and counted. Launches without work and work without a launch are told.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
