/* launches.c - from the call to the activity: see "launches" in docs/reports/definitions.md */
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

GPU_KEY
typedef struct launch_row {
    gpu_key on;
    uint32_t call, kind, name, zero; /* name: string of the first work, HD_NONE: a graph */
    /* of which it has: */
    int64_t works, call_time, delay, negative, queue, work, whole, is_short;
} launch_row;
GPU_KEY_END

/* A launch with its counted activities. */
typedef struct launched {
    const gpu_work *first;
    uint32_t first_index;
    uint64_t works;
    int64_t call_start, call_end, end, work_time;
} launched;

/* A launch, or a work, for the totals. */
typedef struct total_row {
    gpu_rank_key of;
    /* HD_NO_NUMBER where no launch is known: */
    int64_t launches, with_work, without_work, unlinked, before, negative, is_short;
    int64_t works;
} total_row;

typedef struct launches {
    gpu_scope scope;
    const gpu_trust *trust;
    bool *apart; /* by device: gpu_clock_is_apart */
    gpu_texts texts;
    uint32_t *call_names; /* by string: text + 1 */
    gpu_aggregate rows, totals;
    total_row total; /* a run that is not in totals yet; works is HD_NO_NUMBER: none */
} launches;

/* ---- totals of runs ---- */

/* Adds up consecutive rows of one rank and step of which the same figures are known; another row ends the run. */
static bool add_total(launches *l, const total_row *more)
{
    enum { FIRST = offsetof(total_row, launches) / sizeof(int64_t), END = sizeof(total_row) / sizeof(int64_t) };
    int64_t *sums = (int64_t *)&l->total;
    const int64_t *values = (const int64_t *)more;
    bool is_same = l->total.works != HD_NO_NUMBER && memcmp(&l->total.of, &more->of, sizeof more->of) == 0;
    for (int i = FIRST; is_same && i < END; i++) is_same = (sums[i] == HD_NO_NUMBER) == (values[i] == HD_NO_NUMBER);
    for (int i = FIRST; is_same && i < END; i++) sums[i] += sums[i] == HD_NO_NUMBER ? 0 : values[i];
    if (is_same) return true;
    bool fine = l->total.works == HD_NO_NUMBER || gpu_aggregate_add(&l->totals, &l->total);
    l->total = *more;
    return fine;
}

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
    int64_t call = gpu_whole((gpu_i128)found->call_end - found->call_start);
    int64_t delay = gpu_whole((gpu_i128)found->first->start - found->call_end);
    launch_row row = {
        .on = {found->first->device, found->first->step},
        .call = gpu_call_name(&l->texts, l->call_names, s->trace, launch->name),
        .kind = graph ? GRAPH : kind_of(found->first),
        .name = graph ? HD_NONE : s->launches->works[found->first_index].name,
        .works = (int64_t)found->works,
        .call_time = call,
        .delay = delay,
        .negative = delay<0, .queue = delay> 0 ? delay : 0,
        .work = found->work_time,
        .whole = gpu_whole((gpu_i128)found->end - found->call_start),
        .is_short = found->work_time < call,
    };
    if (l->apart[row.on.device]) row.delay = row.negative = row.queue = row.whole = HD_NO_NUMBER;
    const total_row total = {.of = {s->ranks[launch->track], row.on.step, 0},
                             .launches = 1,
                             .with_work = 1,
                             .negative = row.negative,
                             .is_short = row.is_short};
    return row.call != HD_NONE && gpu_aggregate_add(&l->rows, &row) && add_total(l, &total);
}

/* ---- totals ---- */

/* Whether a call launches by its name and has no activity. */
static bool count_alone(launches *l, const hd_launch *launch)
{
    uint32_t step = gpu_step_by(&l->scope, launch->track, launch->start_ns);
    const total_row total = {.of = {l->scope.ranks[launch->track], step, 0}, .launches = 1, .without_work = 1};
    return add_total(l, &total);
}

static bool count_work(launches *l, const gpu_work *work)
{
    const bool known = l->scope.launches->launch_count > 0;
    const int64_t none = known ? 0 : HD_NO_NUMBER;
    const total_row total = {.of = {l->scope.devices[work->device].rank, gpu_step_of(&l->scope, work), 0},
                             .launches = none,
                             .with_work = none,
                             .without_work = none,
                             .unlinked = known ? work->launch == HD_NONE : HD_NO_NUMBER,
                             .before = known ? work->before : HD_NO_NUMBER,
                             .negative = none,
                             .is_short = none,
                             .works = 1};
    return add_total(l, &total);
}

static hd_status sum_up(launches *l, hd_error *err)
{
    const gpu_scope *s = &l->scope;
    bool fine = true;
    for (size_t i = 0; fine && i < s->launches->work_count; i++)
        fine = !s->works[i].is_listed || count_work(l, &s->works[i]);
    for (size_t i = 0; fine && i < s->launches->launch_count; i++) {
        const hd_launch *launch = &s->launches->launches[i];
        launched found;
        if (!gpu_is_listed(s, launch->start_ns) || launch->track >= hd_trace_track_count(s->trace) ||
            !s->has_rank[launch->track])
            continue;
        if (find_launched(&found, s, launch))
            fine = add_launch(l, launch, &found);
        else if (!launch->work_count)
            fine = count_alone(l, launch);
    }
    fine = fine && add_total(l, &(total_row){.of = l->total.of, .works = HD_NO_NUMBER}); /* the last run */
    return fine ? HD_OK : HD_NOMEM(err);
}

static void add_doubts(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    const gpu_key *on = gpu_group_key(&a->groups, group);
    (void)column;
    gpu_cell_doubts_of(b, ((const launches *)a->user)->trust, a->scope, on->device, GPU_FIGURE_DELAY);
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

typedef struct delay_counts {
    uint64_t of[DELAY_ENDS + 1];
} delay_counts;

static void add_delay_rows(hd_table_builder *b, const gpu_scope *s, const gpu_key *place, const delay_counts *counts)
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
    gpu_groups places = {.key_size = sizeof(gpu_key)};
    delay_counts *counts = NULL;
    size_t capacity = 0;
    bool fine = true;
    HD_TRY(report_builder(&b, &report_launches_about, "delays", err));
    for (size_t i = 0; i < l->rows.value_count && fine; i++) {
        const gpu_value *delay = &l->rows.values[i];
        uint32_t count = places.count, at = gpu_group(&places, gpu_group_key(&l->rows.groups, delay->group));
        size_t class = 0, high = DELAY_ENDS;
        fine = at != HD_NONE && hd_grow((void **)&counts, &capacity, at, sizeof *counts);
        if (!fine) break;
        if (at == count) counts[at] = (delay_counts){0};
        HD_PARTITION_POINT(class, high, end, delay_ends[end] <= delay->value);
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
    size_t key = offsetof(launch_row, works);
    gpu_aggregate_init(&l->rows, &l->scope, &l->texts, key, &report_launches_about, "launches");
    l->rows.user = l;
    gpu_aggregate_init(&l->totals, &l->scope, NULL, sizeof(gpu_rank_key), &report_launches_about, "launch_totals");
    l->total.works = HD_NO_NUMBER;
    l->call_names = calloc((size_t)hd_trace_string_count(l->scope.trace) + 1, sizeof *l->call_names);
    l->apart = calloc((size_t)l->scope.device_count + 1, sizeof *l->apart);
    if (!l->call_names || !l->apart) return HD_NOMEM(err);
    HD_TRY(gpu_trust_of_scope(&l->trust, &l->scope, err));
    for (uint32_t d = 0; d < l->scope.device_count; d++) l->apart[d] = gpu_clock_is_apart(l->trust, &l->scope, d);
    HD_TRY(sum_up(l, err));
    HD_TRY(gpu_add_aggregate(out, &l->rows, "whole_total", err));
    HD_TRY(gpu_add_aggregate(out, &l->totals, "", err));
    HD_TRY(add_delays(out, l, err));
    return gpu_add_notes(out, &report_launches_about, &l->scope, NULL, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    launches l = {0};
    hd_status status = gpu_scope_init(&l.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &l, err);
    gpu_texts_deinit(&l.texts);
    gpu_aggregate_deinit(&l.rows);
    gpu_aggregate_deinit(&l.totals);
    free(l.call_names);
    free(l.apart);
    gpu_scope_deinit(&l.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column launches_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"call", HD_VALUE_STRING, "name of the API call", GPU_FILL(TEXT, launch_row, call)},
    {"kind", HD_VALUE_STRING, "kernel, graph, copy or set", GPU_FILL(WORD, launch_row, kind, .words = kind_names)},
    {"name", HD_VALUE_STRING, "of its first activity; null: a graph", GPU_FILL(STRING, launch_row, name)},
    {"launches", HD_VALUE_COUNT, "launches with an activity", GPU_FILL(ROWS, launch_row, works)},
    {"works", HD_VALUE_COUNT, "activities that they launched", GPU_FILL(SUM, launch_row, works)},
    {"call_total", HD_VALUE_DURATION, "time in the calls", GPU_FILL(SUM, launch_row, call_time)},
    {"call_mean", HD_VALUE_DURATION, "of the calls", GPU_FILL(MEAN, launch_row, call_time)},
    {"call_max", HD_VALUE_DURATION, "the longest call", GPU_FILL(MAX, launch_row, call_time)},
    {"delay_total", HD_VALUE_DURATION,
     "from the end of the call to the start of the first activity; may be negative; null, as what follows from it: the "
     "device has a clock of its own (clocks-apart)",
     GPU_FILL(SUM, launch_row, delay)},
    {"delay_mean", HD_VALUE_DURATION, "of the delays", GPU_FILL(MEAN, launch_row, delay)},
    {"delay_median", HD_VALUE_DURATION, "of the delays", GPU_FILL(MEDIAN, launch_row, delay)},
    {"delay_min", HD_VALUE_DURATION, "the shortest", GPU_FILL(MIN, launch_row, delay)},
    {"delay_max", HD_VALUE_DURATION, "the longest", GPU_FILL(MAX, launch_row, delay)},
    {"negative", HD_VALUE_COUNT, "negative delays: the activity began before the call returned",
     GPU_FILL(SUM, launch_row, negative)},
    {"queue_total", HD_VALUE_DURATION, "sum of the delays above 0", GPU_FILL(SUM, launch_row, queue)},
    {"work_total", HD_VALUE_DURATION, "sum of the durations of all their activities", GPU_FILL(SUM, launch_row, work)},
    {"whole_total", HD_VALUE_DURATION, "from the start of the call to the last end of its activities",
     GPU_FILL(SUM, launch_row, whole)},
    {"short", HD_VALUE_COUNT, "launches whose activities are shorter than the call",
     GPU_FILL(SUM, launch_row, is_short)},
    GPU_COLUMN_DOUBT_OF(GPU_FILL_OWN(add_doubts)),
    {0},
};

static const hd_report_column totals_columns[] = {
    GPU_COLUMNS_RANK,
    {"launches", HD_VALUE_COUNT, "launches with an activity, or with the name of a launch; null: no launch is known",
     GPU_FILL(SUM, total_row, launches)},
    {"without_work", HD_VALUE_COUNT, "launches whose activity is not in the trace",
     GPU_FILL(SUM, total_row, without_work)},
    {"works", HD_VALUE_COUNT, "kernels, copies and memsets", GPU_FILL(SUM, total_row, works)},
    {"unlinked", HD_VALUE_COUNT, "those with an unknown launch", GPU_FILL(SUM, total_row, unlinked)},
    {"before", HD_VALUE_COUNT, "of these, those launched before the recording", GPU_FILL(SUM, total_row, before)},
    {"negative", HD_VALUE_COUNT, "launches whose activity began before the call returned",
     GPU_FILL(SUM, total_row, negative)},
    {"short", HD_VALUE_COUNT, "launches whose activities are shorter than the call",
     GPU_FILL(SUM, total_row, is_short)},
    {"short_share", HD_VALUE_DECIMAL, "percent of the launches with an activity",
     GPU_FILL(RATIO, total_row, is_short, offsetof(total_row, with_work), 100)},
    {0},
};

static const hd_report_column delays_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"from", HD_VALUE_DURATION, "delays of this or more; null: below 0"},
    {"until", HD_VALUE_DURATION, "and less than this; null: no limit"},
    {"delay", HD_VALUE_STRING, "the same as a text: less than this, and not less than in the row before"},
    {"launches", HD_VALUE_COUNT, "launches with such a delay"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"launches", "by API call and GPU activity, longest way first", launches_columns, HD_CHART_BARS, "call,name",
     "call_total,queue_total,work_total"},
    {"launch_totals", "by rank: launches without activities, and activities without a launch", totals_columns},
    {"delays", "how many launches have which delay", delays_columns, HD_CHART_BARS, "rank,device,step,delay",
     "launches"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_launches_about = {
    .name = "launches",
    .title = "from API call to GPU activity: call time, delay, queue, kernels shorter than their launch",
    .text =
        "Each launch with the GPU activity that it started: the time in the API call, the delay from the end of the "
        "call to the start of the activity, and the duration of the activity. Negative delays are kept and counted. "
        "Launches without an activity and activities without a launch are counted.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
