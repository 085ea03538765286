/* ranges.c - annotations and steps, with the GPU work that was launched in them: see "ranges" and "steps" in
 * docs/reports/definitions.md
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/gpu/projection.h"

/* ---- ranges ---- */

/* Works that count by the lane and the time of their launch. */
typedef struct launched {
    gpu_place *places; /* sorted */
    size_t place_count;
    uint32_t *works, *first; /* those of places[i] are works[first[i]] … works[first[i + 1]] */
} launched;

static hd_status launched_init(launched *l, const gpu_scope *s, hd_error *err)
{
    uint32_t sum = 0;
    *l = (launched){0};
    HD_TRY(gpu_launch_places(&l->places, &l->place_count, s, err));
    l->works = hd_large_new(s->counted + 1, sizeof *l->works, s->large);
    l->first = hd_large_new(l->place_count + 1, sizeof *l->first, s->large);
    if (!l->works || !l->first) return HD_NOMEM(err);
    for (size_t i = 0; i < l->place_count; i++) {
        const hd_launch *launch = &s->launches->launches[l->places[i].id];
        l->first[i] = sum;
        for (uint32_t k = 0; k < launch->work_count; k++) {
            uint32_t work = s->launches->work_order[launch->first_work + k];
            if (s->works[work].device != HD_NONE) l->works[sum++] = work;
        }
    }
    l->first[l->place_count] = sum;
    return HD_OK;
}

static void launched_deinit(launched *l)
{
    hd_large_free(l->places);
    hd_large_free(l->works);
    hd_large_free(l->first);
}

/* The first place of the lane at that time or later. */
static size_t find_place(const launched *l, uint32_t lane, int64_t time)
{
    size_t low = 0, high = l->place_count;
    HD_PARTITION_POINT(low, high, at,
                       l->places[at].lane != lane ? l->places[at].lane < lane : l->places[at].time < time);
    return low;
}

typedef struct range_key {
    int64_t rank;
    uint32_t step, name;
} range_key;

typedef struct range_sum {
    uint64_t calls, works, gpu_calls;
    gpu_i128 total;
    int64_t min, max, time, span, busy;
} range_sum;

typedef struct ranges {
    gpu_scope scope;
    launched launched;
    gpu_projection *below; /* by annotation */
    gpu_groups groups;
    range_sum *sums;
    size_t capacity;
} ranges;

static bool find_below(ranges *r)
{
    const gpu_slices *a = &r->scope.annotations;
    const launched *l = &r->launched;
    r->below = hd_large_new(a->count + 1, sizeof *r->below, r->scope.large);
    for (size_t i = 0; r->below && i < a->count; i++) {
        const gpu_slice *range = &a->list[i];
        size_t first = find_place(l, range->lane, range->start), until = find_place(l, range->lane, range->end);
        if (until < first || !gpu_is_listed(&r->scope, range->start)) until = first;
        r->below[i] = (gpu_projection){.first = l->first[first], .until = l->first[until]};
    }
    return r->below && gpu_project(r->below, a->count, &r->scope, l->works, l->first[l->place_count]);
}

static bool add_range(ranges *r, const gpu_slice *a, const gpu_projection *below)
{
    int64_t rank = r->scope.ranks[a->lane], duration = (int64_t)((uint64_t)a->end - (uint64_t)a->start);
    const range_key key = {rank, gpu_step_by(&r->scope, a->lane, a->start), a->name};
    uint32_t count = r->groups.count, group = gpu_group(&r->groups, &key);
    if (group == HD_NONE || !hd_grow((void **)&r->sums, &r->capacity, group, sizeof *r->sums)) return false;
    range_sum *sum = &r->sums[group];
    if (group == count) *sum = (range_sum){.min = duration, .max = duration};
    sum->calls++;
    sum->total += duration;
    if (duration < sum->min) sum->min = duration;
    if (duration > sum->max) sum->max = duration;
    sum->works += below->until - below->first;
    sum->gpu_calls += below->until > below->first;
    sum->time = gpu_sum(sum->time, below->time);
    sum->span = gpu_sum(sum->span, below->end - below->start);
    sum->busy = gpu_sum(sum->busy, below->busy);
    return true;
}

static void add_range_row(hd_table_builder *b, const ranges *r, uint32_t group, bool linked)
{
    const range_key *key = gpu_group_key(&r->groups, group);
    const range_sum *sum = &r->sums[group];
    gpu_cells_rank(b, &r->scope, key->rank, key->step);
    report_cell_string(b, r->scope.trace, key->name);
    hd_table_add_count(b, sum->calls);
    hd_table_add_int(b, gpu_whole(sum->total));
    hd_table_add_int(b, gpu_nearest(sum->total, (gpu_i128)sum->calls));
    hd_table_add_int(b, sum->min);
    hd_table_add_int(b, sum->max);
    gpu_cell_count(b, sum->works, linked);
    gpu_cell_count(b, sum->gpu_calls, linked);
    gpu_cell_time(b, sum->time, sum->gpu_calls > 0);
    gpu_cell_time(b, sum->span, sum->gpu_calls > 0);
    gpu_cell_time(b, sum->busy, sum->gpu_calls > 0);
}

static hd_status add_ranges(hd_report *out, ranges *r, hd_error *err)
{
    gpu_scope *s = &r->scope;
    hd_table_builder *b;
    bool linked = false;
    for (size_t i = 0; i < s->launches->work_count && !linked; i++)
        linked = s->works[i].device != HD_NONE && s->works[i].launch != HD_NONE;
    HD_TRY(gpu_annotations(s, err));
    HD_TRY(launched_init(&r->launched, s, err));
    if (!find_below(r)) return HD_NOMEM(err);
    for (size_t i = 0; i < s->annotations.count; i++) {
        const gpu_slice *range = &s->annotations.list[i];
        if (gpu_is_listed(s, range->start) && !add_range(r, range, &r->below[i])) return HD_NOMEM(err);
    }
    HD_TRY(report_builder(&b, &report_ranges_about, "ranges", err));
    for (uint32_t g = 0; g < r->groups.count; g++) add_range_row(b, r, g, linked);
    HD_TRY(gpu_add(out, b, "cpu_total", err));
    const char *const more[] = {s->annotations.count ? NULL : "there are no annotations in this trace", NULL};
    return gpu_add_notes(out, &report_ranges_about, s, more, err);
}

static hd_status run_ranges(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    ranges r = {.groups = {.key_size = sizeof(range_key)}};
    hd_status status = gpu_scope_init(&r.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_ranges(out, &r, err);
    if (status != HD_OK) hd_report_free(out);
    launched_deinit(&r.launched);
    hd_large_free(r.below);
    gpu_groups_deinit(&r.groups);
    free(r.sums);
    gpu_scope_deinit(&r.scope);
    return status;
}

/* ---- steps ---- */

/* Works by step: those of step i are out[first[i]] … out[first[i + 1]]. false: no memory. */
static bool works_of_steps(uint32_t **out, uint32_t **out_first, const gpu_scope *s)
{
    uint32_t *step_of = hd_large_new(s->launches->work_count + 1, sizeof *step_of, s->large);
    uint32_t *works = *out = hd_large_new(s->counted + 1, sizeof *works, s->large);
    uint32_t *first = *out_first = calloc((size_t)s->step_count + 2, sizeof *first);
    bool fine = step_of && works && first;
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        bool counts = work->device != HD_NONE && work->launch != HD_NONE;
        const hd_launch *launch = counts ? &s->launches->launches[work->launch] : NULL;
        step_of[i] = launch ? gpu_step_at(s, launch->track, launch->start_ns) : HD_NONE;
        if (step_of[i] != HD_NONE) first[step_of[i] + 2]++;
    }
    for (uint32_t i = 0; fine && i < s->step_count; i++) first[i + 2] += first[i + 1];
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        if (step_of[i] != HD_NONE) works[first[step_of[i] + 1]++] = (uint32_t)i;
    }
    hd_large_free(step_of);
    return fine;
}

static void add_step_row(hd_table_builder *b, const gpu_scope *s, const gpu_step *step, const gpu_projection *below)
{
    bool any = below->until > below->first;
    report_cell_int(b, step->rank);
    gpu_cell_step(b, s, (uint32_t)(step - s->steps));
    hd_table_add_int(b, step->start);
    hd_table_add_int(b, (int64_t)((uint64_t)step->end - (uint64_t)step->start));
    gpu_cell_count(b, below->until - below->first, s->has_launches);
    gpu_cell_time(b, below->start, any);
    gpu_cell_time(b, below->end, any);
    gpu_cell_time(b, below->end - below->start, any);
    gpu_cell_time(b, below->busy, any);
    gpu_cell_time(b, below->time, any);
    hd_table_add_int(b, step->row);
}

static hd_status add_steps(hd_report *out, gpu_scope *s, hd_error *err)
{
    uint32_t *works = NULL, *first = NULL;
    hd_table_builder *b;
    HD_TRY(gpu_steps_find(s, err));
    HD_TRY(report_builder(&b, &report_steps_about, "steps", err));
    gpu_projection *below = hd_large_new(s->step_count + 1, sizeof *below, s->large);
    bool fine = below && works_of_steps(&works, &first, s);
    for (uint32_t i = 0; fine && i < s->step_count; i++)
        below[i] = (gpu_projection){.first = first[i], .until = first[i + 1]};
    fine = fine && gpu_project(below, s->step_count, s, works, first[s->step_count]);
    for (uint32_t i = 0; fine && i < s->step_count; i++) {
        if (gpu_is_listed(s, s->steps[i].start)) add_step_row(b, s, &s->steps[i], &below[i]);
    }
    hd_large_free(works);
    hd_large_free(below);
    free(first);
    if (!fine) {
        hd_table_builder_free(b);
        return HD_NOMEM(err);
    }
    HD_TRY(report_add(out, b, err));
    const char *const more[] = {gpu_step_note(s), NULL};
    return gpu_add_notes(out, &report_steps_about, s, more, err);
}

static hd_status run_steps(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    gpu_scope scope;
    hd_status status = gpu_scope_init(&scope, input, options, 0, err);
    if (status == HD_OK) status = add_steps(out, &scope, err);
    if (status != HD_OK) hd_report_free(out);
    gpu_scope_deinit(&scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column ranges_columns[] = {
    GPU_COLUMNS_RANK,
    {"name", HD_VALUE_STRING, "of the annotation"},
    {"calls", HD_VALUE_COUNT, "ranges of that name"},
    {"cpu_total", HD_VALUE_DURATION, "sum of their durations, nested ones too"},
    {"cpu_mean", HD_VALUE_DURATION, "of the durations"},
    {"cpu_min", HD_VALUE_DURATION, "the shortest"},
    {"cpu_max", HD_VALUE_DURATION, "the longest"},
    {"works", HD_VALUE_COUNT, "GPU work that was launched within"},
    {"gpu_calls", HD_VALUE_COUNT, "ranges that have such work"},
    {"gpu_time", HD_VALUE_DURATION, "sum of the durations of that work"},
    {"gpu_span", HD_VALUE_DURATION, "from its first start to its last end, summed over ranges"},
    {"gpu_busy", HD_VALUE_DURATION, "some of it runs, summed over ranges"},
    {0},
};

static const hd_report_table_about ranges_tables[] = {
    {"ranges", "by name, most CPU time first", ranges_columns, HD_CHART_BARS, "name", "cpu_total,gpu_span"},
    GPU_NOTES,
    {0},
};

static const hd_option_about ranges_options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_ranges_about = {
    .name = "ranges",
    .title = "annotations (NVTX, record_function), on the CPU and projected onto the GPU",
    .text =
        "Sums up annotations by name: their time on the CPU, and when the GPU did the work that was launched within "
        "them on the same row.",
    .options = ranges_options,
    .options_size = sizeof(gpu_options),
    .tables = ranges_tables,
    .run = run_ranges,
};

static const hd_report_column steps_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"step", HD_VALUE_STRING, "its name"},
    {"start", HD_VALUE_TIME, "when it began on the CPU"},
    {"duration", HD_VALUE_DURATION, "of the annotation"},
    {"works", HD_VALUE_COUNT, "GPU work that was launched in it"},
    {"gpu_start", HD_VALUE_TIME, "first start of that work"},
    {"gpu_end", HD_VALUE_TIME, "last end of it"},
    {"gpu_span", HD_VALUE_DURATION, "between them"},
    {"gpu_busy", HD_VALUE_DURATION, "some of it runs"},
    {"gpu_time", HD_VALUE_DURATION, "sum of its durations"},
    {"id", HD_VALUE_INT, GPU_ID_OF "the annotation, else of the work with whose launch the step begins"},
    {0},
};

static const hd_report_table_about steps_tables[] = {
    {"steps", "a row per step, by start", steps_columns, HD_CHART_BARS, "rank,step", "duration,gpu_busy"},
    GPU_NOTES,
    {0},
};

static const hd_option_about steps_options[] = {GPU_OPTIONS_SCOPE, {0}};

const hd_report_about report_steps_about = {
    .name = "steps",
    .title = "how long each step takes, and the GPU work that was launched in it",
    .text = "Steps are the annotations ProfilerStep#N, or those that --step names. Of steps within one another a time "
            "belongs to the one that began last.",
    .options = steps_options,
    .options_size = sizeof(gpu_options),
    .tables = steps_tables,
    .run = run_steps,
};
