/* queue.c - the number of waiting launches on each track: see "queue" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "report/gpu/gpu.h"

typedef struct queue_options {
    gpu_options gpu;
    bool series;
    uint64_t pieces;
} queue_options;

enum { FULL = 1024 };

/* Of a row in a window. */
typedef struct queue_sum {
    uint64_t works, queued;
    uint32_t most;
    int64_t time_queued, time_most, time_full;
    gpu_i128 area; /* length times time */
    int64_t span;
} queue_sum;

typedef struct queue {
    gpu_scope scope;
    const gpu_trust *trust;
    bool apart; /* of the row at hand: gpu_clock_is_apart */
    const queue_options *options;
    gpu_windows windows; /* of the device at hand */
    gpu_sweep sweep;
    queue_sum *sums; /* by window */
    size_t capacity;
    const gpu_row *row; /* at hand */
    uint32_t *seen;     /* by launch: the last pass that met one of its activities */
    uint32_t pass;
    hd_table_builder *table, *series, *over_time;
} queue;

static hd_status add_stretch(void *user, const gpu_stretch *stretch, hd_error *err)
{
    queue *q = user;
    queue_sum *sum = &q->sums[stretch->window];
    uint32_t length = stretch->running[0];
    int64_t time = stretch->end - stretch->start;
    (void)err;
    sum->span += time;
    sum->area += (gpu_i128)time * length;
    if (length) sum->time_queued += time;
    if (length >= FULL) sum->time_full += time;
    if (length > sum->most) {
        sum->most = length;
        sum->time_most = 0;
    }
    if (length == sum->most) sum->time_most += time;
    return HD_OK;
}

typedef struct series_maker {
    queue *q;
    uint32_t before;
} series_maker;

static hd_status add_change(void *user, const gpu_stretch *stretch, hd_error *err)
{
    series_maker *m = user;
    (void)err;
    if (stretch->running[0] == m->before) return HD_OK;
    m->before = stretch->running[0];
    gpu_cells_row(m->q->series, &m->q->scope, m->q->row, HD_NONE);
    hd_table_add_int(m->q->series, stretch->start);
    hd_table_add_count(m->q->series, m->before);
    return HD_OK;
}

/* A queue contains launches, and a graph is one: of a launch's activities on the current track the first counts. */
static bool is_first(queue *q, const gpu_work *work)
{
    bool first = q->seen[work->launch] != q->pass;
    q->seen[work->launch] = q->pass;
    return first;
}

/* The linked activities of the current track; *from and *until are the first launch and the last end of waiting. */
static bool add_works(queue *q, gpu_sweep *sweep, int64_t *first_launch, int64_t *until)
{
    const gpu_scope *s = &q->scope;
    *first_launch = INT64_MAX;
    *until = INT64_MIN;
    q->pass++;
    for (uint32_t i = 0; i < q->row->count; i++) {
        const gpu_work *work = &s->works[s->by_row[q->row->first + i]];
        if (work->launch == HD_NONE) continue;
        int64_t launch = s->launches->launches[work->launch].start_ns;
        if (launch < *first_launch) *first_launch = launch;
        bool first = is_first(q, work);
        if (first && launch < work->start && work->start > *until) *until = work->start;
        if (first && !gpu_sweep_add(sweep, launch, work->start, 0)) return false;
        if (!work->is_listed) continue;
        queue_sum *sum = &q->sums[gpu_window_of(&q->windows, work->start)];
        sum->works++;
        sum->queued += launch < work->start;
    }
    return true;
}

/* The mean length in each piece of the device's time. false: no memory. */
static bool add_pieces(queue *q)
{
    const gpu_scope *s = &q->scope;
    gpu_pieces pieces = gpu_pieces_of(s, q->row->device, q->options->pieces);
    double *sums = calloc((size_t)pieces.count + 1, sizeof *sums);
    if (!sums) return false;
    q->pass++;
    for (uint32_t i = 0; i < q->row->count; i++) {
        const gpu_work *work = &s->works[s->by_row[q->row->first + i]];
        if (work->launch == HD_NONE || !is_first(q, work)) continue;
        gpu_pieces_add(sums, &pieces, s->launches->launches[work->launch].start_ns, work->start, 1);
    }
    for (uint32_t i = 0; i < pieces.count; i++) {
        int64_t start = gpu_piece_start(&pieces, i);
        gpu_cells_row(q->over_time, s, q->row, HD_NONE);
        hd_table_add_int(q->over_time, start);
        hd_table_add_decimal(q->over_time, sums[i] / (double)(gpu_piece_start(&pieces, i + 1) - start));
    }
    free(sums);
    return true;
}

/* all: the time of the only window; NULL: as the windows have it. */
static hd_status add_rows(queue *q, const gpu_piece *all, hd_error *err)
{
    for (uint32_t w = 0; w < q->windows.count; w++) {
        const queue_sum *sum = &q->sums[w];
        int64_t length = !all ? q->windows.windows[w].length : all->end > all->start ? all->end - all->start : 0;
        if (sum->span != length)
            return gpu_broken("the time with a queue of any length, in ns", sum->span, length, err);
        gpu_cells_row(q->table, &q->scope, q->row, q->windows.windows[w].step);
        hd_table_add_count(q->table, sum->works);
        gpu_cell_count(q->table, sum->queued, !q->apart);
        gpu_cell_count(q->table, sum->most, !q->apart);
        gpu_cell_ratio(q->table, sum->area, q->apart ? 0 : sum->span, 1);
        gpu_cell_time(q->table, sum->time_queued, !q->apart);
        gpu_cell_time(q->table, sum->time_most, sum->most > 0 && !q->apart);
        gpu_cell_time(q->table, sum->time_full, !q->apart);
        gpu_cell_doubts_of(q->table, q->trust, &q->scope, q->row->device, GPU_FIGURE_DELAY);
    }
    return HD_OK;
}

static hd_status add_row(void *user, const gpu_row *row, hd_error *err)
{
    queue *q = user;
    gpu_sweep *sweep = &q->sweep;
    const gpu_scope *s = &q->scope;
    q->row = row;
    q->apart = gpu_clock_is_apart(q->trust, s, row->device);
    if (!hd_renew((void **)&q->sums, &q->capacity, (size_t)q->windows.count + 1, sizeof *q->sums)) return HD_NOMEM(err);
    const gpu_device *device = &s->devices[q->row->device];
    int64_t first_launch, until;
    for (uint32_t w = 0; w < q->windows.count; w++) q->sums[w] = (queue_sum){0};
    sweep->count = 0;
    if (!add_works(q, sweep, &first_launch, &until)) return HD_NOMEM(err);
    if (first_launch == INT64_MAX) return HD_OK;
    gpu_piece all = {device->start < first_launch ? device->start : first_launch, s->has_until ? s->until : device->end,
                     0};
    bool is_one = !(s->by & GPU_BY_STEP) && !s->has_from && !s->recorded;
    HD_TRY(gpu_sweep_run(sweep, is_one ? &all : q->windows.pieces, is_one ? 1 : q->windows.piece_count, add_stretch, q,
                         err));
    HD_TRY(add_rows(q, is_one ? &all : NULL, err));
    if (q->apart) return HD_OK;
    if (q->over_time && !add_pieces(q)) return HD_NOMEM(err);
    if (!q->series || until == INT64_MIN) return HD_OK;
    series_maker maker = {.q = q};
    gpu_piece waiting = {first_launch, until + 1, 0};
    return gpu_sweep_run(sweep, &waiting, 1, add_change, &maker, err);
}

static hd_status add_tables(hd_report *out, queue *q, hd_error *err)
{
    q->sweep.large = q->scope.large;
    q->seen = hd_large_new(q->scope.launches->launch_count + 1, sizeof *q->seen, q->scope.large);
    if (!q->seen) return HD_NOMEM(err);
    memset(q->seen, 0, (q->scope.launches->launch_count + 1) * sizeof *q->seen);
    HD_TRY(gpu_trust_of_scope(&q->trust, &q->scope, err));
    HD_TRY(report_builder(&q->table, &report_queue_about, "queue", err));
    if (q->options->series) HD_TRY(report_builder(&q->series, &report_queue_about, "queue_length", err));
    if (q->options->pieces) HD_TRY(report_builder(&q->over_time, &report_queue_about, "queue_over_time", err));
    HD_TRY(gpu_each_row(&q->scope, &q->windows, add_row, q, err));
    HD_TRY(gpu_add_kept(out, &q->table, "", err));
    HD_TRY(gpu_add_kept(out, &q->over_time, "", err));
    HD_TRY(gpu_add_kept(out, &q->series, "", err));
    return gpu_add_notes(out, &report_queue_about, &q->scope, NULL, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    const queue_options *o = options;
    queue q = {.options = options};
    hd_status status = gpu_scope_init(&q.scope, input, &o->gpu, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &q, err);
    gpu_windows_deinit(&q.windows);
    gpu_sweep_deinit(&q.sweep);
    hd_table_builder_free(q.table);
    hd_table_builder_free(q.series);
    hd_table_builder_free(q.over_time);
    free(q.sums);
    hd_large_free(q.seen);
    gpu_scope_deinit(&q.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column queue_columns[] = {
    GPU_COLUMNS_ROW,
    {"works", HD_VALUE_COUNT, "activities that began in it and have a launch"},
    {"queued", HD_VALUE_COUNT, "those that waited"},
    {"most", HD_VALUE_COUNT, "maximum length of the queue"},
    {"mean", HD_VALUE_DECIMAL, "mean length over the span of the device, or from the stream's first launch on"},
    {"time_queued", HD_VALUE_DURATION, "time in which an activity waits"},
    {"time_most", HD_VALUE_DURATION, "time at the maximum length"},
    {"time_full", HD_VALUE_DURATION, "time in which 1,024 or more wait, and launching blocks the host"},
    GPU_COLUMN_DOUBT,
    {0},
};

static const hd_report_column series_columns[] = {
    GPU_COLUMNS_ROW,
    {"time", HD_VALUE_TIME, "of a change"},
    {"length", HD_VALUE_COUNT, "after the change, until the next"},
    {0},
};

static const hd_report_column pieces_columns[] = {
    GPU_COLUMNS_ROW,
    {"time", HD_VALUE_TIME, "start of the bin"},
    {"length", HD_VALUE_DECIMAL, "mean in the bin"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"queue", "a row per stream: how many activities were launched and had not begun", queue_columns, HD_CHART_BARS,
     "rank,device,stream,step", "mean"},
    {"queue_over_time", "with --pieces: the length over time", pieces_columns, HD_CHART_SERIES, "rank,device,stream",
     "time,length"},
    {"queue_length", "with --series: each change of the length", series_columns, HD_CHART_SERIES, "rank,device,stream",
     "time,length"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    {"series", HD_OPTION_FLAG, NULL, "make the table queue_length", offsetof(queue_options, series)},
    GPU_OPTION_PIECES(queue_options, "queue_over_time"),
    GPU_OPTIONS("step"),
    {0},
};

const hd_report_about report_queue_about = {
    .name = "queue",
    .title = "how many launched activities wait in each stream's queue",
    .text = "A GPU activity waits in the queue of its stream from the start of its launch to its own start. A queue "
            "that is never empty hides the time of the host; a queue at its limit blocks the host.",
    .options = options,
    .options_size = sizeof(queue_options),
    .tables = tables,
    .run = run,
};
