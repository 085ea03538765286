/* ranges.c - annotations and steps, with the GPU activities launched in them: see "ranges" and "steps" in
 * docs/reports/definitions.md
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/host/ranges.h"
#include "report/gpu/projection.h"
#include "trace/event.h"

/* ---- ranges ---- */

typedef struct range_options {
    gpu_options gpu;
    const char *across;
} range_options;

/* Works that count by the lane and the time of their launch. */
typedef struct launched {
    gpu_place *places; /* sorted */
    size_t place_count;
    uint32_t *works, *first; /* those of places[i] are works[first[i]] … works[first[i + 1]] */
    gpu_origins origins;     /* with ACROSS_GRAPHS */
} launched;

/* The same places once more in their processes. */
static bool add_processes(launched *l, const gpu_scope *s)
{
    size_t count = l->place_count;
    gpu_place *places = hd_large_new(2 * count + 1, sizeof *places, s->large);
    gpu_place *spare = hd_large_new(count + 1, sizeof *spare, s->large);
    for (size_t i = 0; places && spare && i < count; i++) {
        places[i] = l->places[i];
        places[count + i] = places[i];
        places[count + i].lane = gpu_process_lane(s, places[i].lane);
    }
    bool fine = places && spare;
    if (fine && count)
        HD_SORT_RUNS(places + count, spare, count, x, y, x->lane != y->lane ? x->lane < y->lane : x->time < y->time);
    hd_large_free(spare);
    if (!fine) {
        hd_large_free(places);
        return false;
    }
    hd_large_free(l->places);
    l->places = places;
    l->place_count = 2 * count;
    return true;
}

/* Bits of --across. */
enum { ACROSS_THREADS = 1, ACROSS_GRAPHS };

static hd_status across_of(unsigned *out, const char *text, hd_error *err)
{
    static const char *const words[] = {"threads", "graphs"};
    *out = 0;
    for (const char *at = text; at && *at; at += *at == ',') {
        size_t size = strcspn(at, ","), word = 0;
        while (word < 2 && !(strlen(words[word]) == size && memcmp(words[word], at, size) == 0)) word++;
        if (word == 2)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "--across %s: there are threads and graphs",
                                text);
        *out |= 1u << word;
        at += size;
    }
    return HD_OK;
}

static hd_status launched_init(launched *l, const gpu_scope *s, bool by_process, unsigned across, hd_error *err)
{
    uint32_t sum = 0;
    *l = (launched){0};
    HD_TRY(gpu_launch_places(&l->places, &l->place_count, s, err));
    if (across & ACROSS_THREADS) HD_TRY(gpu_places_to_forward(l->places, l->place_count, s, err));
    if (by_process && !add_processes(l, s)) return HD_NOMEM(err);
    l->works = hd_large_new((by_process ? 2 : 1) * s->counted + 1, sizeof *l->works, s->large);
    l->first = hd_large_new(l->place_count + 1, sizeof *l->first, s->large);
    if (!l->works || !l->first || (across & ACROSS_GRAPHS && !gpu_origins_init(&l->origins, s))) return HD_NOMEM(err);
    for (size_t i = 0; i < l->place_count; i++) {
        const uint32_t id = l->places[i].id, *first = l->origins.first;
        const hd_launch *launch = &s->launches->launches[id];
        const uint32_t *list = first ? l->origins.works + first[id] : s->launches->work_order + launch->first_work;
        const uint32_t count = first ? first[id + 1] - first[id] : launch->work_count;
        l->first[i] = sum;
        for (uint32_t k = 0; k < count; k++)
            if (s->works[list[k]].device != HD_NONE) l->works[sum++] = list[k];
    }
    l->first[l->place_count] = sum;
    return HD_OK;
}

static void launched_deinit(launched *l)
{
    hd_large_free(l->places);
    hd_large_free(l->works);
    hd_large_free(l->first);
    gpu_origins_deinit(&l->origins);
}

/* The first place of the lane at that time or later. */
static size_t find_place(const launched *l, uint32_t lane, int64_t time)
{
    size_t low = 0, high = l->place_count;
    HD_PARTITION_POINT(low, high, at,
                       l->places[at].lane != lane ? l->places[at].lane < lane : l->places[at].time < time);
    return low;
}

GPU_KEY
typedef struct range_row {
    gpu_rank_key of;
    uint32_t name, zero;
    /* HD_NO_NUMBER of marks, of traces without launches, and of ranges that launch nothing: */
    int64_t covered, duration, works, gpu_calls, time, span, busy;
} range_row;
GPU_KEY_END

typedef struct ranges {
    gpu_scope scope;
    gpu_ranges ranges;
    launched launched;
    gpu_projection *below; /* by range: the part that it covers and no earlier range of its name does */
    int64_t *from;         /* by range: from when on it does */
    bool linked;
    gpu_aggregate rows;
} ranges;

static bool find_from(ranges *r)
{
    size_t strings = (size_t)hd_trace_string_count(r->scope.trace) + 1;
    gpu_reach *reaches = hd_large_new(strings, sizeof *reaches, r->scope.large);
    r->from = hd_large_new(r->ranges.count + 1, sizeof *r->from, r->scope.large);
    for (size_t i = 0; reaches && i < strings; i++) reaches[i] = (gpu_reach){.lane = HD_NONE};
    for (size_t i = 0; reaches && r->from && i < r->ranges.count; i++) {
        const gpu_range *range = &r->ranges.list[i];
        r->from[i] = gpu_reach_add(&reaches[range->name], range->lane, range->start, range->end);
    }
    bool fine = reaches && r->from;
    hd_large_free(reaches);
    return fine;
}

/* Of the launches of its lane in [from, end): the range in the list of activities. */
static gpu_projection works_in(const launched *l, uint32_t lane, int64_t from, int64_t end)
{
    size_t first = find_place(l, lane, from), until = find_place(l, lane, end);
    if (until < first) until = first;
    return (gpu_projection){.first = l->first[first], .until = l->first[until]};
}

static bool find_below(ranges *r)
{
    r->below = hd_large_new(r->ranges.count + 1, sizeof *r->below, r->scope.large);
    for (size_t i = 0; r->below && i < r->ranges.count; i++) {
        const gpu_range *range = &r->ranges.list[i];
        int64_t end = gpu_is_listed(&r->scope, range->start) ? range->end : r->from[i];
        r->below[i] = works_in(&r->launched, range->lane, r->from[i], end);
    }
    return r->below && gpu_project(r->below, r->ranges.count, &r->scope, r->launched.works,
                                   r->launched.first[r->launched.place_count]);
}

static bool add_range(ranges *r, const gpu_range *range, const gpu_projection *below, int64_t from)
{
    const int64_t none = r->linked ? 0 : HD_NO_NUMBER;
    range_row row = {{r->scope.ranks[range->track], gpu_step_by(&r->scope, range->track, range->start), 0},
                     range->name,
                     0,
                     HD_NO_NUMBER,
                     HD_NO_NUMBER,
                     none,
                     none,
                     HD_NO_NUMBER,
                     HD_NO_NUMBER,
                     HD_NO_NUMBER};
    if (range->is_mark) return gpu_aggregate_add(&r->rows, &row);
    gpu_projection all = works_in(&r->launched, range->lane, range->start, range->end);
    row.covered = gpu_whole((gpu_i128)range->end - from);
    row.duration = (int64_t)((uint64_t)range->end - (uint64_t)range->start);
    if (r->linked) row.works = (int64_t)(below->until - below->first);
    if (r->linked) row.gpu_calls = all.until > all.first;
    if (all.until > all.first) {
        row.time = below->time;
        row.span = below->end - below->start;
        row.busy = below->busy;
    }
    return gpu_aggregate_add(&r->rows, &row);
}

static hd_status add_ranges(hd_report *out, ranges *r, hd_error *err)
{
    gpu_scope *s = &r->scope;
    for (size_t i = 0; i < s->launches->work_count && !r->linked; i++)
        r->linked = s->works[i].device != HD_NONE && s->works[i].launch != HD_NONE;
    gpu_aggregate_init(&r->rows, s, NULL, offsetof(range_row, covered), &report_ranges_about, "ranges");
    HD_TRY(gpu_ranges_init(&r->ranges, s, err));
    unsigned across;
    HD_TRY(across_of(&across, ((const range_options *)s->options)->across, err));
    HD_TRY(launched_init(&r->launched, s, r->ranges.any_of_process, across, err));
    if (!find_from(r) || !find_below(r)) return HD_NOMEM(err);
    for (size_t i = 0; i < r->ranges.count; i++) {
        const gpu_range *range = &r->ranges.list[i];
        if (gpu_is_listed(s, range->start) && !add_range(r, range, &r->below[i], r->from[i])) return HD_NOMEM(err);
    }
    HD_TRY(gpu_add_aggregate(out, &r->rows, "cpu_total", err));
    const char *const more[] = {r->ranges.count ? NULL : "there are no annotations in this trace", NULL};
    return gpu_add_notes(out, &report_ranges_about, s, more, err);
}

static hd_status run_ranges(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    ranges r = {0};
    hd_status status = gpu_scope_init(&r.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_ranges(out, &r, err);
    if (status != HD_OK) hd_report_free(out);
    launched_deinit(&r.launched);
    hd_large_free(r.below);
    hd_large_free(r.from);
    gpu_ranges_deinit(&r.ranges);
    gpu_aggregate_deinit(&r.rows);
    gpu_scope_deinit(&r.scope);
    return status;
}

/* ---- steps ---- */

/* Activities by step: those of step i are out[first[i]] … out[first[i + 1]]. false: no memory. */
static bool works_of_steps(uint32_t **out, uint32_t **out_first, const gpu_scope *s)
{
    uint32_t *step_of = hd_large_new(s->launches->work_count + 1, sizeof *step_of, s->large);
    uint32_t *works = *out = hd_large_new(s->counted + 1, sizeof *works, s->large);
    uint32_t *first = *out_first = calloc((size_t)s->step_count + 2, sizeof *first);
    bool fine = step_of && works && first;
    gpu_step_hint hint = {0};
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        bool counts = work->device != HD_NONE && work->launch != HD_NONE;
        const hd_launch *launch = counts ? &s->launches->launches[work->launch] : NULL;
        step_of[i] = launch ? gpu_step_near(s, &hint, launch->track, launch->start_ns) : HD_NONE;
        if (step_of[i] != HD_NONE) first[step_of[i] + 2]++;
    }
    for (uint32_t i = 0; fine && i < s->step_count; i++) first[i + 2] += first[i + 1];
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        if (step_of[i] != HD_NONE) works[first[step_of[i] + 1]++] = (uint32_t)i;
    }
    hd_large_free(step_of);
    return fine;
}

/* Bits of the defects that affect the activities of a step. */
static unsigned doubts_of_works(const gpu_trust *trust, const uint32_t *works, const gpu_projection *below)
{
    unsigned doubts = 0;
    for (size_t i = below->first; trust->of_works && i < below->until; i++) doubts |= trust->of_works[works[i]];
    return doubts;
}

static void add_step_row(hd_table_builder *b, const gpu_scope *s, const gpu_step *step, const gpu_projection *below,
                         unsigned doubts)
{
    bool any = below->until > below->first, is_lost = doubts >> GPU_DOUBT_STEPS & 1;
    report_cell_int(b, step->rank);
    gpu_cell_step(b, s, (uint32_t)(step - s->steps));
    hd_table_add_int(b, step->start);
    hd_table_add_int(b, (int64_t)((uint64_t)step->end - (uint64_t)step->start));
    gpu_cell_count(b, below->until - below->first, s->has_launches && !is_lost);
    gpu_cell_time(b, below->start, any);
    gpu_cell_time(b, below->end, any);
    gpu_cell_time(b, below->end - below->start, any);
    gpu_cell_time(b, below->busy, any);
    gpu_cell_time(b, below->time, any);
    hd_table_add_int(b, step->row);
    gpu_cell_doubts(b, doubts);
}

static hd_status add_steps(hd_report *out, gpu_scope *s, hd_error *err)
{
    uint32_t *works = NULL, *first = NULL;
    const gpu_trust *trust;
    hd_table_builder *b;
    HD_TRY(gpu_trust_of_scope(&trust, s, err));
    HD_TRY(gpu_steps_find(s, err));
    HD_TRY(report_builder(&b, &report_steps_about, "steps", err));
    gpu_projection *below = hd_large_new(s->step_count + 1, sizeof *below, s->large);
    bool fine = below && works_of_steps(&works, &first, s);
    for (uint32_t i = 0; fine && i < s->step_count; i++)
        below[i] = (gpu_projection){.first = first[i], .until = first[i + 1]};
    unsigned *doubts = calloc((size_t)s->step_count + 1, sizeof *doubts);
    fine = fine && doubts;
    for (uint32_t i = 0; fine && i < s->step_count; i++) /* before the works are sorted */
        doubts[i] = gpu_doubts_of_step(trust, &s->steps[i], doubts_of_works(trust, works, &below[i]));
    fine = fine && gpu_project(below, s->step_count, s, works, first[s->step_count]);
    for (uint32_t i = 0; fine && i < s->step_count; i++) {
        if (gpu_is_listed(s, s->steps[i].start)) add_step_row(b, s, &s->steps[i], &below[i], doubts[i]);
    }
    hd_large_free(works);
    hd_large_free(below);
    free(first);
    free(doubts);
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
    {"name", HD_VALUE_STRING, "of the annotation", GPU_FILL(STRING, range_row, name)},
    {"calls", HD_VALUE_COUNT, "ranges and marks of that name", GPU_FILL(ROWS, range_row, duration)},
    {"cpu_total", HD_VALUE_DURATION,
     "time in them; a range inside another of the same name counts once; null for "
     "marks",
     GPU_FILL(SUM, range_row, covered)},
    {"cpu_mean", HD_VALUE_DURATION, "of the durations", GPU_FILL(MEAN, range_row, duration)},
    {"cpu_min", HD_VALUE_DURATION, "the shortest", GPU_FILL(MIN, range_row, duration)},
    {"cpu_max", HD_VALUE_DURATION, "the longest", GPU_FILL(MAX, range_row, duration)},
    {"works", HD_VALUE_COUNT, "GPU activities that were launched inside", GPU_FILL(SUM, range_row, works)},
    {"gpu_calls", HD_VALUE_COUNT, "ranges with such activities", GPU_FILL(SUM, range_row, gpu_calls)},
    {"gpu_time", HD_VALUE_DURATION, "sum of the durations of these activities", GPU_FILL(SUM, range_row, time)},
    {"gpu_span", HD_VALUE_DURATION, "from the first start to the last end of its activities, summed over ranges",
     GPU_FILL(SUM, range_row, span)},
    {"gpu_busy", HD_VALUE_DURATION, "time in which any of them runs, summed over ranges",
     GPU_FILL(SUM, range_row, busy)},
    {0},
};

static const hd_report_table_about ranges_tables[] = {
    {"ranges", "by name, most CPU time first", ranges_columns, HD_CHART_LANES, "name", "cpu_total,gpu_span"},
    GPU_NOTES,
    {0},
};

static const hd_option_about ranges_options[] = {
    {"across", HD_OPTION_TEXT, NULL,
     "threads: backward activities count for the ranges around their forward operators; graphs: activities of CUDA "
     "graphs count for the ranges around the calls that created their nodes; or threads,graphs",
     offsetof(range_options, across)},
    GPU_OPTIONS("step"),
    {0},
};

const hd_report_about report_ranges_about = {
    .name = "ranges",
    .title = "annotations (NVTX, record_function), on the CPU and projected onto the GPU",
    .text = "Sums up annotations by name: their time on the CPU, and the time of the GPU activities that were launched "
            "inside them. Inside a range means by the same thread; inside a range that is started and ended (not "
            "pushed and popped), by any thread of the process.",
    .options = ranges_options,
    .options_size = sizeof(range_options),
    .tables = ranges_tables,
    .run = run_ranges,
};

static const hd_report_column steps_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"step", HD_VALUE_STRING, "its name"},
    {"start", HD_VALUE_TIME, "its start on the CPU"},
    {"duration", HD_VALUE_DURATION, "of the annotation"},
    {"works", HD_VALUE_COUNT,
     "GPU activities that were launched in it; null: no launch is known, or none of them was recorded"},
    {"gpu_start", HD_VALUE_TIME, "first start of these activities"},
    {"gpu_end", HD_VALUE_TIME, "last end of these activities"},
    {"gpu_span", HD_VALUE_DURATION, "between them"},
    {"gpu_busy", HD_VALUE_DURATION, "time in which any of them runs"},
    {"gpu_time", HD_VALUE_DURATION, "sum of their durations"},
    {"id", HD_VALUE_INT, GPU_ID_OF "the annotation; of a guessed step, the activity at whose launch it begins"},
    GPU_COLUMN_DOUBT,
    {0},
};

static const hd_report_table_about steps_tables[] = {
    {"steps", "a row per step, by start", steps_columns, HD_CHART_LANES, "rank,step", "duration,gpu_busy"},
    GPU_NOTES,
    {0},
};

static const hd_option_about steps_options[] = {GPU_OPTIONS_SCOPE, {0}};

const hd_report_about report_steps_about = {
    .name = "steps",
    .title = "the duration of each step, and the GPU activities launched in it",
    .text = "Steps are the annotations ProfilerStep#N, or those that --step names. If steps are nested, a time "
            "belongs to the innermost one.",
    .options = steps_options,
    .options_size = sizeof(gpu_options),
    .tables = steps_tables,
    .run = run_steps,
};
