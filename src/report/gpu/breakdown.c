/* breakdown.c - how each device spends its time: see "breakdown" in docs/reports/definitions.md
 *
 * One sweep over the activities of a device gives for each segment of time the running classes, and the number of
 * activities. All figures are sums of such segments, so that they add up to the span.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "model/class/class.h"
#include "model/host/waits.h"
#include "report/gpu/gpu.h"

enum { WAIT = GPU_CLASSES /* of a collective: model/host/waits.h */, MASKS = 1 << (GPU_CLASSES + 1) };

/* Of a window. */
typedef struct account {
    int64_t time[MASKS]; /* by the classes that run, as bits */
    uint64_t before, unlinked;
    int64_t work_time, before_time, unlinked_time;
} account;

GPU_KEY
typedef struct level_key {
    uint32_t window, running;
} level_key;
GPU_KEY_END

/* Of a part of a window: what the user's groups (HD_NONE: none) have of it. */
GPU_KEY
typedef struct share_key {
    uint32_t window, part, group, zero;
} share_key;
GPU_KEY_END

typedef struct share {
    uint64_t works;
    int64_t time, work_time;
} share;

typedef struct breakdown {
    gpu_scope scope;
    const gpu_trust *trust;
    gpu_waits waits;
    uint32_t device;
    gpu_windows windows;
    account *accounts; /* by window */
    gpu_groups levels;
    int64_t *level_time; /* by group */
    size_t level_capacity;
    gpu_group_names names;
    gpu_groups shares; /* while there are groups of the user */
    share *share_list; /* by share */
    size_t share_capacity;
    uint32_t *each; /* of the sweep: kinds are class + GPU_KINDS * group */
    hd_table_builder *breakdown, *overlap, *concurrency, *groups;
} breakdown;

/* ---- groups of the user ---- */

/* NULL: no memory. */
static share *share_of(breakdown *b, uint32_t window, gpu_part part, uint32_t group)
{
    const share_key key = {window, part, group, 0};
    uint32_t count = b->shares.count, at = gpu_group(&b->shares, &key);
    if (at == HD_NONE || !hd_grow((void **)&b->share_list, &b->share_capacity, at, sizeof *b->share_list)) return NULL;
    if (at == count) b->share_list[at] = (share){0};
    return &b->share_list[at];
}

static const gpu_class class_of_part[] = {
    [GPU_PART_COMPUTE] = GPU_COMPUTE, [GPU_PART_COMMUNICATION] = GPU_COMMUNICATION, [GPU_PART_COPY] = GPU_COPY};

/* Among activities of a part's class, time belongs to the group that is first in the file, as among classes to compute.
 * HD_NONE: those that run are in no group. */
static uint32_t first_running(const breakdown *b, gpu_part part)
{
    for (uint32_t group = 0; part != GPU_PART_IDLE && group < gpu_group_count(); group++)
        if (b->each[class_of_part[part] + GPU_KINDS * group]) return group;
    return HD_NONE;
}

static hd_status add_groups(breakdown *b, hd_error *err)
{
    int64_t sum = 0, span = 0;
    for (uint32_t i = 0; i < b->shares.count; i++) {
        const share_key *key = gpu_group_key(&b->shares, i);
        const gpu_window *w = &b->windows.windows[key->window];
        const share *s = &b->share_list[i];
        bool is_idle = key->part == GPU_PART_IDLE;
        gpu_cells_device(b->groups, &b->scope, b->device, w->step);
        hd_table_add_text(b->groups, is_idle ? "idle" : gpu_class_names[class_of_part[key->part]]);
        hd_table_add_text(b->groups, gpu_group_path(key->group));
        hd_table_add_int(b->groups, s->time);
        gpu_cell_ratio(b->groups, s->time, w->length, 100);
        gpu_cell_count(b->groups, s->works, !is_idle);
        gpu_cell_time(b->groups, s->work_time, !is_idle);
        sum += s->time;
    }
    for (uint32_t w = 0; w < b->windows.count; w++) span += b->windows.windows[w].length;
    return !b->groups || sum == span ? HD_OK : gpu_broken("the time of all groups and of idle, in ns", sum, span, err);
}

/* ---- one device ---- */

static hd_status add_stretch(void *user, const gpu_stretch *stretch, hd_error *err)
{
    breakdown *b = user;
    int64_t length = stretch->end - stretch->start;
    uint32_t mask = gpu_running(stretch);
    level_key key = {stretch->window, 0};
    for (uint32_t c = 0; c < GPU_CLASSES; c++) key.running += stretch->running[c];
    b->accounts[stretch->window].time[mask] += length;
    uint32_t count = b->levels.count, level = gpu_group(&b->levels, &key);
    if (level == HD_NONE || !hd_grow((void **)&b->level_time, &b->level_capacity, level, sizeof *b->level_time))
        return HD_NOMEM(err);
    if (level == count) b->level_time[level] = 0;
    b->level_time[level] += length;
    if (!b->groups) return HD_OK;
    gpu_part part = gpu_part_of(mask);
    share *s = share_of(b, stretch->window, part, first_running(b, part));
    if (!s) return HD_NOMEM(err);
    s->time += length;
    return HD_OK;
}

/* Time in which one of the classes of `any` runs, and none of `none`. */
static int64_t time_of(const account *a, unsigned any, unsigned none)
{
    int64_t sum = 0;
    for (unsigned mask = 0; mask < MASKS; mask++) {
        if (mask & any && !(mask & none)) sum += a->time[mask];
    }
    return sum;
}

/* Time in which both run. */
static int64_t time_of_both(const account *a, unsigned x, unsigned y)
{
    int64_t sum = 0;
    for (unsigned mask = 0; mask < MASKS; mask++) {
        if (mask & x && mask & y) sum += a->time[mask];
    }
    return sum;
}

enum { COMPUTE = 1 << GPU_COMPUTE, COPY = 1 << GPU_COPY, ANY = MASKS - 1 };
enum { COMMUNICATION = 1 << GPU_COMMUNICATION | 1 << WAIT };
static const unsigned bits_of[GPU_CLASSES] = {
    [GPU_COMPUTE] = COMPUTE, [GPU_COMMUNICATION] = COMMUNICATION, [GPU_COPY] = COPY};

static hd_status add_breakdown(breakdown *b, uint32_t window, hd_error *err)
{
    hd_table_builder *t = b->breakdown;
    const gpu_window *w = &b->windows.windows[window];
    const account *a = &b->accounts[window];
    bool known = b->scope.has_launches;
    int64_t parts[GPU_PARTS] = {0}, communication = time_of(a, COMMUNICATION, 0);
    for (unsigned mask = 0; mask < MASKS; mask++) parts[gpu_part_of(mask)] += a->time[mask];
    int64_t compute = parts[GPU_PART_COMPUTE], exposed = parts[GPU_PART_COMMUNICATION];
    int64_t copies = parts[GPU_PART_COPY], idle = parts[GPU_PART_IDLE];
    if (compute + exposed + copies + idle != w->length)
        return gpu_broken("compute + exposed communication + exposed copies + idle, in ns",
                          compute + exposed + copies + idle, w->length, err);
    gpu_cells_device(t, &b->scope, b->device, w->step);
    const int64_t times[] = {w->length,          compute, exposed, copies, idle, time_of(a, ANY, 0), communication,
                             time_of(a, COPY, 0)};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) hd_table_add_int(t, times[i]);
    gpu_cell_ratio(t, time_of_both(a, COMMUNICATION, COMPUTE), communication, 100);
    hd_table_add_count(t, w->works);
    hd_table_add_int(t, a->work_time);
    gpu_cell_count(t, a->before, known);
    gpu_cell_time(t, a->before_time, known);
    gpu_cell_count(t, a->unlinked, known);
    gpu_cell_time(t, a->unlinked_time, known);
    gpu_cell_doubts_of(t, b->trust, &b->scope, b->device, GPU_FIGURE_TIME | GPU_FIGURE_IDLE);
    return HD_OK;
}

static void add_overlap(breakdown *b, uint32_t window, const bool *has_class)
{
    const account *a = &b->accounts[window];
    for (unsigned c = 0; c < GPU_CLASSES; c++) {
        if (!has_class[c]) continue;
        gpu_cells_device(b->overlap, &b->scope, b->device, b->windows.windows[window].step);
        hd_table_add_text(b->overlap, gpu_class_names[c]);
        hd_table_add_int(b->overlap, time_of(a, bits_of[c], 0));
        hd_table_add_int(b->overlap, time_of(a, bits_of[c], ANY & ~bits_of[c]));
        for (unsigned other = 0; other < GPU_CLASSES; other++)
            hd_table_add_int(b->overlap, time_of_both(a, bits_of[c], bits_of[other]));
    }
}

static hd_status add_concurrency(breakdown *b, hd_error *err)
{
    int64_t sum = 0, span = 0;
    for (uint32_t i = 0; i < b->levels.count; i++) {
        const level_key *key = gpu_group_key(&b->levels, i);
        const gpu_window *w = &b->windows.windows[key->window];
        gpu_cells_device(b->concurrency, &b->scope, b->device, w->step);
        hd_table_add_count(b->concurrency, key->running);
        hd_table_add_int(b->concurrency, b->level_time[i]);
        gpu_cell_ratio(b->concurrency, b->level_time[i], w->length, 100);
        sum += b->level_time[i];
    }
    for (uint32_t w = 0; w < b->windows.count; w++) span += b->windows.windows[w].length;
    return sum == span ? HD_OK : gpu_broken("time with 0, 1, 2 … activities, in ns", sum, span, err);
}

static bool sum_work(breakdown *b, const gpu_work *work, uint32_t group)
{
    uint32_t window = gpu_window_of(&b->windows, work->start);
    account *a = &b->accounts[window];
    share *s = b->groups ? share_of(b, window, gpu_part_of(1u << work->class), group) : NULL;
    int64_t time = gpu_duration(work);
    if (b->groups && !s) return false;
    if (s) {
        s->works++;
        s->work_time = gpu_sum(s->work_time, time);
    }
    a->work_time = gpu_sum(a->work_time, time);
    if (work->launch == HD_NONE) {
        a->unlinked++;
        a->unlinked_time = gpu_sum(a->unlinked_time, time);
    }
    if (work->before) {
        a->before++;
        a->before_time = gpu_sum(a->before_time, time);
    }
    return true;
}

static hd_status add_rows(breakdown *b, gpu_sweep *sweep, hd_error *err)
{
    const gpu_device *device = &b->scope.devices[b->device];
    bool has_class[GPU_CLASSES] = {false};
    b->accounts = calloc((size_t)b->windows.count + 1, sizeof *b->accounts);
    if (!b->accounts) return HD_NOMEM(err);
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t index = b->scope.order[device->first + i], group = HD_NONE;
        const gpu_work *work = &b->scope.works[index];
        has_class[work->class] = true;
        if (b->groups) group = gpu_group_of_string(&b->names, b->scope.launches->works[index].name);
        uint32_t kind = work->class + GPU_KINDS * (group == HD_NONE ? gpu_group_count() : group);
        if (!gpu_sweep_add(sweep, work->start, work->end, kind)) return HD_NOMEM(err);
        if (work->is_listed && !sum_work(b, work, group)) return HD_NOMEM(err);
    }
    const gpu_spans *waits = &b->waits.list[b->device];
    for (size_t i = 0; i < waits->count; i++) {
        if (!gpu_sweep_add(sweep, waits->list[i].start, waits->list[i].end, WAIT)) return HD_NOMEM(err);
    }
    HD_TRY(gpu_sweep_run(sweep, b->windows.pieces, b->windows.piece_count, add_stretch, b, err));
    for (uint32_t w = 0; w < b->windows.count; w++) {
        HD_TRY(add_breakdown(b, w, err));
        add_overlap(b, w, has_class);
    }
    HD_TRY(add_groups(b, err));
    return add_concurrency(b, err);
}

static hd_status add_device(breakdown *b, hd_error *err)
{
    gpu_sweep sweep = {.large = b->scope.large, .each = b->each};
    hd_status status = gpu_windows_init(&b->windows, &b->scope, b->device, err);
    if (status == HD_OK) status = add_rows(b, &sweep, err);
    gpu_sweep_deinit(&sweep);
    gpu_groups_deinit(&b->levels);
    gpu_groups_deinit(&b->shares);
    gpu_windows_deinit(&b->windows);
    free(b->accounts);
    b->accounts = NULL;
    return status;
}

/* ---- the report ---- */

static hd_status add_tables(hd_report *out, breakdown *b, hd_error *err)
{
    HD_TRY(gpu_trust_of_scope(&b->trust, &b->scope, err));
    HD_TRY(report_builder(&b->breakdown, &report_breakdown_about, "breakdown", err));
    HD_TRY(report_builder(&b->overlap, &report_breakdown_about, "overlap", err));
    HD_TRY(report_builder(&b->concurrency, &report_breakdown_about, "concurrency", err));
    if (b->each) HD_TRY(report_builder(&b->groups, &report_breakdown_about, "groups", err));
    for (b->device = 0; b->device < b->scope.device_count; b->device++) HD_TRY(add_device(b, err));
    HD_TRY(gpu_add_kept(out, &b->breakdown, "", err));
    HD_TRY(gpu_add_kept(out, &b->overlap, "", err));
    HD_TRY(gpu_add_kept(out, &b->concurrency, "", err));
    HD_TRY(gpu_add_kept(out, &b->groups, "time", err));
    const char *more[GPU_GROUP_NOTES + 1] = {NULL};
    if (b->each && !gpu_group_names_notes(more, &b->names)) return HD_NOMEM(err);
    return gpu_add_notes(out, &report_breakdown_about, &b->scope, more, err);
}

static hd_status init_groups(breakdown *b, const hd_trace *trace, hd_error *err)
{
    if (!gpu_group_count()) return HD_OK;
    b->each = calloc(GPU_KINDS * ((size_t)gpu_group_count() + 1), sizeof *b->each);
    return b->each && gpu_group_names_init(&b->names, trace) ? HD_OK : HD_NOMEM(err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    breakdown b = {.levels = {.key_size = sizeof(level_key)}, .shares = {.key_size = sizeof(share_key)}};
    hd_status status = gpu_scope_init(&b.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = gpu_waits_init(&b.waits, &b.scope, err);
    if (status == HD_OK) status = init_groups(&b, input->trace, err);
    if (status == HD_OK) status = add_tables(out, &b, err);
    hd_table_builder_free(b.breakdown);
    hd_table_builder_free(b.overlap);
    hd_table_builder_free(b.concurrency);
    hd_table_builder_free(b.groups);
    gpu_group_names_deinit(&b.names);
    free(b.each);
    free(b.share_list);
    free(b.level_time);
    gpu_waits_deinit(&b.waits);
    gpu_scope_deinit(&b.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column breakdown_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"span", HD_VALUE_DURATION, "from the first start to the last end of its activities"},
    {"compute", HD_VALUE_DURATION, "a kernel that is not communication, or a memset, runs"},
    {"exposed_communication", HD_VALUE_DURATION,
     "communication runs, or a collective of an Ascend NPU waits, and no compute"},
    {"exposed_copy", HD_VALUE_DURATION, "a copy runs, and neither compute nor communication"},
    {"idle", HD_VALUE_DURATION, "nothing runs: span = compute + exposed_communication + exposed_copy + idle"},
    {"busy", HD_VALUE_DURATION, "span - idle"},
    {"communication", HD_VALUE_DURATION, "communication runs, with or without other activities"},
    {"copy", HD_VALUE_DURATION, "a copy runs, with or without other activities"},
    {"communication_overlap", HD_VALUE_DECIMAL, "percent of communication during which compute runs"},
    {"works", HD_VALUE_COUNT, "kernels, copies and memsets that begin in it"},
    {"time", HD_VALUE_DURATION, "sum of their durations"},
    {"before", HD_VALUE_COUNT, "those launched before the recording; null: no launch is known"},
    {"before_time", HD_VALUE_DURATION, "sum of their durations"},
    {"unlinked", HD_VALUE_COUNT, "those with an unknown launch"},
    {"unlinked_time", HD_VALUE_DURATION, "sum of their durations"},
    GPU_COLUMN_DOUBT,
    {0},
};

static const hd_report_column overlap_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"class", HD_VALUE_STRING, "compute, communication or copy"},
    {"time", HD_VALUE_DURATION, "it runs"},
    {"alone", HD_VALUE_DURATION, "it runs, and neither other class"},
    {"compute", HD_VALUE_DURATION, "it and compute run"},
    {"communication", HD_VALUE_DURATION, "it and communication run"},
    {"copy", HD_VALUE_DURATION, "it and a copy run"},
    {0},
};

static const hd_report_column concurrency_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"running", HD_VALUE_COUNT, "GPU activities at the same time"},
    {"time", HD_VALUE_DURATION, "time in which exactly this many run"},
    {"share", HD_VALUE_DECIMAL, "percent of the span"},
    {0},
};

static const hd_report_column groups_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"part", HD_VALUE_STRING,
     "compute; communication or copy, if exposed; idle: the times of a part add up to that of the table breakdown"},
    {"group", HD_VALUE_STRING, "of --groups FILE, its parents first: model/attention; null: of no group"},
    {"time", HD_VALUE_DURATION, "of the part; where several groups run, of the first in the file"},
    {"share", HD_VALUE_DECIMAL, "percent of the span"},
    {"works", HD_VALUE_COUNT, "the group's activities of this class that begin in it; null: idle"},
    {"total", HD_VALUE_DURATION, "sum of their durations"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"breakdown", "a row per device: compute, exposed communication, exposed copies and idle add up to the span",
     breakdown_columns, HD_CHART_BARS, "rank,device,step", "compute,exposed_communication,exposed_copy,idle"},
    {"overlap", "which classes of work run at the same time", overlap_columns},
    {"concurrency", "for how long this number of activities runs at once", concurrency_columns, HD_CHART_BARS,
     "rank,device,step,running", "time"},
    {"groups", "only with --groups: how the groups share the time of each part, and how much runs hidden",
     groups_columns},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_breakdown_about = {
    .name = "breakdown",
    .title = "where the time of each GPU goes",
    .text = "Divides the time of each device into compute, exposed communication (no compute runs), exposed copies "
            "(neither compute nor communication runs) and idle; they add up to the span, to the nanosecond. GPU "
            "activities that were launched before the recording count too, and their number is shown.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
