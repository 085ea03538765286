/* idle.c - why each device is idle: see "idle" in docs/reports/definitions.md
 *
 * gaps.c finds the gaps and their causes. Here windows cut them into parts, which are summed up; for the longest ones
 * the row is kept until the frames of all of them are known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/host/syncs.h"
#include "report/gpu/gaps.h"

typedef struct idle_options {
    gpu_options gpu;
    uint64_t rows;
    bool hta;
} idle_options;

/* The part of a gap in a window. */
typedef struct part {
    int64_t start, end;
    uint32_t gap, window;
} part;

/* A row of the table of gaps. */
typedef struct listed {
    int64_t start, duration;
    uint32_t device, step, gap, frame; /* frame: string */
} listed;

/* Of a window and cause. */
typedef struct sum {
    uint64_t gaps;
    int64_t total, longest, after_sync;
} sum;

GPU_KEY
typedef struct behind_row {
    gpu_key on;
    uint32_t cause, host, op, zero; /* host, op: string */
    int64_t time;
} behind_row;
GPU_KEY_END

typedef struct idle {
    gpu_scope scope;
    const gpu_trust *trust;
    const idle_options *options;
    gpu_gaps gaps;
    uint32_t *ops, *hosts; /* by gap, string */
    uint32_t device;
    gpu_windows windows;
    part *parts; /* that may be among the longest of their window */
    size_t part_count, part_capacity, part_limit;
    int64_t *least;          /* by window: shorter parts are not among its longest */
    sum (*sums)[GPU_CAUSES]; /* by window */
    gpu_aggregate behind;
    listed *listed;
    size_t listed_count, listed_capacity;
    hd_table_builder *idle, *list, *hta;
} idle;

/* ---- parts ---- */

enum { PARTS_MIN = 4096 };

/* Keeps the longest parts of each window, as many as requested. */
static bool keep_longest(idle *r)
{
    part *spare = hd_large_new(r->part_count + 1, sizeof *spare, r->scope.large);
    if (!spare) return false;
    HD_SORT_RUNS(r->parts, spare, r->part_count, x, y,
                 x->window != y->window                   ? x->window < y->window
                 : x->end - x->start != y->end - y->start ? x->end - x->start > y->end - y->start
                                                          : x->start < y->start);
    hd_large_free(spare);
    uint64_t rows = 0;
    uint32_t window = HD_NONE;
    size_t kept = 0;
    for (size_t i = 0; i < r->part_count; i++) {
        const part p = r->parts[i];
        rows = p.window == window ? rows + 1 : 1;
        window = p.window;
        if (rows <= r->options->rows) r->parts[kept++] = p;
        if (rows == r->options->rows) r->least[window] = p.end - p.start;
    }
    r->part_count = kept;
    r->part_limit = kept < PARTS_MIN ? 2 * PARTS_MIN : 2 * kept;
    return true;
}

/* Parts of a window come in order of time: of equal ones the first is listed. */
static bool add_to_list(idle *r, const part *p)
{
    if (p->end - p->start <= r->least[p->window]) return true;
    if (r->part_count >= r->part_limit && !keep_longest(r)) return false;
    if (!hd_large_grow((void **)&r->parts, &r->part_capacity, r->part_count, sizeof *r->parts, r->scope.large))
        return false;
    r->parts[r->part_count++] = *p;
    return true;
}

static void count_stretch(sum *s, int64_t start, int64_t end)
{
    s->gaps++;
    s->total += end - start;
    if (end - start > s->longest) s->longest = end - start;
}

static bool add_part(idle *r, int64_t start, int64_t end, size_t gap, uint32_t window)
{
    const gpu_gap *g = &r->gaps.list[gap];
    sum *s = &r->sums[window][g->cause];
    count_stretch(s, start, end);
    if (g->cause == GPU_CAUSE_SYNC) {
        int64_t until = r->gaps.syncs.list[g->sync].end, since = start > until ? start : until;
        if (end > since) s->after_sync += end - since;
    }
    if (r->scope.totals_only) return true;
    const behind_row row = {
        {r->device, r->windows.windows[window].step}, g->cause, r->hosts[gap], r->ops[gap], 0, end - start};
    return gpu_aggregate_add(&r->behind, &row) && add_to_list(r, &(part){start, end, (uint32_t)gap, window});
}

/* Gaps and parts of windows, both in order of time. */
static bool cut_gaps(idle *r)
{
    const gpu_device *device = &r->scope.devices[r->device];
    size_t next = r->gaps.first[r->device], last = r->gaps.first[r->device + 1];
    for (size_t p = 0; p < r->windows.piece_count; p++) {
        const gpu_piece *piece = &r->windows.pieces[p];
        sum *outside = &r->sums[piece->window][GPU_CAUSE_OUTSIDE];
        int64_t before = piece->end < device->start ? piece->end : device->start;
        int64_t behind = piece->start > device->end ? piece->start : device->end;
        if (piece->start < before) count_stretch(outside, piece->start, before);
        if (piece->end > behind) count_stretch(outside, behind, piece->end);
        while (next < last && r->gaps.list[next].end <= piece->start) next++;
        for (size_t i = next; i < last && r->gaps.list[i].start < piece->end; i++) {
            const gpu_gap *gap = &r->gaps.list[i];
            int64_t start = gap->start > piece->start ? gap->start : piece->start;
            if (!add_part(r, start, gap->end < piece->end ? gap->end : piece->end, i, piece->window)) return false;
        }
    }
    return true;
}

static bool list_longest(idle *r)
{
    if (!keep_longest(r)) return false;
    for (size_t i = 0; i < r->part_count; i++) {
        const part *p = &r->parts[i];
        if (!hd_large_grow((void **)&r->listed, &r->listed_capacity, r->listed_count, sizeof *r->listed,
                           r->scope.large))
            return false;
        r->listed[r->listed_count++] = (listed){.start = p->start,
                                                .duration = p->end - p->start,
                                                .device = r->device,
                                                .step = r->windows.windows[p->window].step,
                                                .gap = p->gap,
                                                .frame = HD_STRING_NONE};
    }
    return true;
}

/* ---- the rows of a device ---- */

static void add_causes(idle *r, uint32_t window, int64_t idle_time)
{
    for (uint32_t c = 0; c < GPU_CAUSES; c++) {
        const sum *s = &r->sums[window][c];
        if (!s->gaps) continue;
        gpu_cells_device(r->idle, &r->scope, r->device, r->windows.windows[window].step);
        hd_table_add_text(r->idle, gpu_cause_names[c]);
        hd_table_add_count(r->idle, s->gaps);
        hd_table_add_int(r->idle, s->total);
        gpu_cell_ratio(r->idle, s->total, idle_time, 100);
        hd_table_add_int(r->idle, gpu_nearest(s->total, (gpu_i128)s->gaps));
        hd_table_add_int(r->idle, s->longest);
        gpu_cell_time(r->idle, s->after_sync, c == GPU_CAUSE_SYNC);
        gpu_cell_doubts_of(r->idle, r->trust, &r->scope, r->device, GPU_FIGURE_IDLE);
    }
}

/* The time of each window covered by the device's activities, computed independently of the gaps. */
static hd_status find_busy(int64_t *busy, const idle *r, hd_error *err)
{
    const gpu_scope *s = &r->scope;
    const gpu_device *device = &s->devices[r->device];
    gpu_spans spans;
    const gpu_spans *waits = &r->gaps.waits.list[r->device];
    gpu_span *list = hd_large_new(device->count + waits->count + 1, sizeof *list, s->large);
    if (!list) return HD_NOMEM(err);
    for (uint32_t i = 0; i < device->count; i++) {
        const gpu_work *work = &s->works[s->order[device->first + i]];
        list[i] = (gpu_span){work->start, work->end};
    }
    if (waits->count) memcpy(list + device->count, waits->list, waits->count * sizeof *list);
    if (!gpu_spans_union(&spans, list, device->count + waits->count, s->large)) return HD_NOMEM(err);
    for (size_t p = 0; p < r->windows.piece_count; p++) {
        const gpu_piece *piece = &r->windows.pieces[p];
        busy[piece->window] += gpu_spans_covered(&spans, piece->start, piece->end);
    }
    gpu_spans_deinit(&spans);
    return HD_OK;
}

static hd_status add_rows(idle *r, hd_error *err)
{
    int64_t *busy = calloc((size_t)r->windows.count + 1, sizeof *busy);
    r->sums = calloc((size_t)r->windows.count + 1, sizeof *r->sums);
    r->least = calloc((size_t)r->windows.count + 1, sizeof *r->least);
    for (uint32_t w = 0; r->least && w < r->windows.count; w++) r->least[w] = -1;
    hd_status status = busy && r->sums && r->least && cut_gaps(r) ? find_busy(busy, r, err) : HD_NOMEM(err);
    for (uint32_t w = 0; w < r->windows.count && status == HD_OK; w++) {
        int64_t total = 0, wanted = r->windows.windows[w].length - busy[w];
        for (uint32_t c = 0; c < GPU_CAUSES; c++) total += r->sums[w][c].total;
        if (total != wanted) status = gpu_broken("idle time of all causes, in ns", total, wanted, err);
        add_causes(r, w, total);
    }
    free(busy);
    return status == HD_OK && !list_longest(r) ? HD_NOMEM(err) : status;
}

static hd_status add_device(idle *r, hd_error *err)
{
    hd_status status = gpu_windows_init(&r->windows, &r->scope, r->device, err);
    r->part_count = 0;
    r->part_limit = 2 * PARTS_MIN;
    if (status == HD_OK) status = add_rows(r, err);
    gpu_windows_deinit(&r->windows);
    free(r->sums);
    free(r->least);
    r->sums = NULL;
    r->least = NULL;
    return status;
}

/* ---- where the host was ---- */

static gpu_cover cover_of_listed(const void *report, size_t i)
{
    const idle *r = report;
    return gpu_gap_cover(&r->scope, &r->gaps, &r->gaps.list[r->listed[i].gap]);
}

static hd_status find_frames(idle *r, hd_error *err)
{
    uint32_t *frames = hd_large_new(r->listed_count + 1, sizeof *frames, r->scope.large);
    hd_status status = frames ? HD_OK : HD_NOMEM(err);
    const gpu_covering list = {frames, cover_of_listed, r, 1u << HD_ROLE_PYTHON};
    if (status == HD_OK) status = gpu_covering_names(&list, 1, r->listed_count, &r->scope, err);
    for (size_t i = 0; i < r->listed_count && status == HD_OK; i++) r->listed[i].frame = frames[i];
    hd_large_free(frames);
    return status;
}

static void add_listed(idle *r, const listed *l)
{
    const gpu_gap *gap = &r->gaps.list[l->gap];
    const hd_work *work = &r->scope.launches->works[gap->work];
    uint32_t call = gap->cause == GPU_CAUSE_SYNC ? r->gaps.syncs.list[gap->sync].name
                    : work->launch == HD_NONE    ? HD_STRING_NONE
                                                 : r->scope.launches->launches[work->launch].name;
    gpu_cells_device(r->list, &r->scope, l->device, l->step);
    hd_table_add_int(r->list, l->start);
    hd_table_add_int(r->list, l->duration);
    hd_table_add_text(r->list, gpu_cause_names[gap->cause]);
    const uint32_t names[] = {work->name, call, r->hosts[l->gap], r->ops[l->gap], l->frame};
    for (int i = 0; i < 5; i++) report_cell_string(r->list, r->scope.trace, names[i]);
    hd_table_add_int(r->list, (int64_t)work->row);
    report_cell_int(r->list, gap->cause == GPU_CAUSE_SYNC ? r->gaps.syncs.list[gap->sync].row
                             : work->launch == HD_NONE    ? HD_NO_NUMBER
                                                          : (int64_t)r->scope.launches->launches[work->launch].row);
}

/* ---- HTA's classes ---- */

enum { HOST_WAIT, KERNEL_WAIT, OTHER, HTA_CLASSES };
static const char *const hta_names[HTA_CLASSES] = {"host_wait", "kernel_wait", "other"};
enum { HTA_KERNEL_WAIT_NS = 30000 };

static void add_hta_row(idle *r, const gpu_row *row)
{
    int64_t totals[HTA_CLASSES] = {0}, until = 0, all = 0;
    bool has[HTA_CLASSES] = {false};
    const gpu_scope *s = &r->scope;
    for (uint32_t i = 0; i < row->count; i++) {
        const gpu_work *work = &s->works[s->by_row[row->first + i]];
        if (i) {
            int64_t gap = work->start > until ? work->start - until : 0;
            bool host = work->launch != HD_NONE && s->launches->launches[work->launch].start_ns > until;
            int class = host ? HOST_WAIT : gap < HTA_KERNEL_WAIT_NS ? KERNEL_WAIT : OTHER;
            totals[class] += gap;
            all += gap;
            has[class] = true;
        }
        if (!i || work->end > until) until = work->end;
    }
    for (int c = 0; c < HTA_CLASSES; c++) {
        if (!has[c]) continue;
        gpu_cells_row(r->hta, s, row, HD_NONE);
        hd_table_add_text(r->hta, hta_names[c]);
        hd_table_add_int(r->hta, totals[c]);
        gpu_cell_ratio(r->hta, totals[c], all, 1);
    }
}

static void add_hta(idle *r)
{
    for (uint32_t i = 0; i < r->scope.row_count; i++) {
        if (r->scope.rows[i].device != HD_NONE) add_hta_row(r, &r->scope.rows[i]);
    }
}

/* ---- the report ---- */

static hd_status add_all(idle *r, hd_error *err)
{
    HD_TRY(gpu_trust_of_scope(&r->trust, &r->scope, err));
    HD_TRY(report_builder(&r->idle, &report_idle_about, "idle", err));
    HD_TRY(report_builder(&r->list, &report_idle_about, "gaps", err));
    gpu_aggregate_init(&r->behind, &r->scope, NULL, offsetof(behind_row, time), &report_idle_about, "behind");
    if (r->options->hta) HD_TRY(report_builder(&r->hta, &report_idle_about, "hta", err));
    HD_TRY(gpu_gaps_init(&r->gaps, &r->scope, err));
    if (!r->scope.totals_only) HD_TRY(gpu_gap_hosts(&r->hosts, &r->ops, &r->scope, &r->gaps, err));
    for (r->device = 0; r->device < r->scope.device_count; r->device++) HD_TRY(add_device(r, err));
    HD_TRY(find_frames(r, err));
    for (size_t i = 0; i < r->listed_count; i++) add_listed(r, &r->listed[i]);
    if (r->options->hta) add_hta(r);
    return HD_OK;
}

/* Gaps attributed to the device although they are between activities of one graph: nodes may be missing. */
static bool note_graphs(char *out, size_t size, const idle *r)
{
    const hd_launches *l = r->scope.launches;
    int64_t total = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < r->gaps.count; i++) {
        const gpu_gap *gap = &r->gaps.list[i];
        uint32_t index = gap->cause == GPU_CAUSE_DEVICE ? l->works[gap->work].launch : HD_NONE;
        if (index == HD_NONE || l->launches[index].sort != HD_LAUNCH_GRAPH) continue;
        if (l->work_order[l->launches[index].first_work] == gap->work) continue;
        total = gpu_sum(total, gap->end - gap->start);
        count++;
    }
    snprintf(out, size,
             "gaps of cause device between the works of one graph: %llu, %.3f ms in all; nodes may wait for something "
             "that the trace does not contain, or may not be recorded",
             (unsigned long long)count, (double)total / 1e6);
    return count > 0;
}

static hd_status add_tables(hd_report *out, idle *r, hd_error *err)
{
    char graphs[256];
    const char *const more[] = {note_graphs(graphs, sizeof graphs, r) ? graphs : NULL, NULL};
    HD_TRY(gpu_add_kept(out, &r->idle, "total", err));
    HD_TRY(gpu_add_kept(out, &r->list, NULL, err));
    HD_TRY(gpu_add_aggregate(out, &r->behind, "total", err));
    HD_TRY(gpu_add_kept(out, &r->hta, "", err));
    return gpu_add_notes(out, &report_idle_about, &r->scope, more, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    idle r = {.options = options};
    hd_status status = gpu_scope_init(&r.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_all(&r, err);
    if (status == HD_OK) status = add_tables(out, &r, err);
    hd_table_builder_free(r.idle);
    hd_table_builder_free(r.list);
    hd_table_builder_free(r.hta);
    hd_large_free(r.parts);
    hd_large_free(r.listed);
    hd_large_free(r.ops);
    hd_large_free(r.hosts);
    gpu_aggregate_deinit(&r.behind);
    gpu_gaps_deinit(&r.gaps);
    gpu_scope_deinit(&r.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column idle_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"cause", HD_VALUE_STRING,
     "host: the launch had not begun; sync: the host waited for the GPU; launch: the call was under way; dependency: a "
     "wait for an event was in the queue; transfer: another device sent or copied; device: none of these, though "
     "queued in time; unknown: no launch; outside: before or after all work"},
    {"gaps", HD_VALUE_COUNT, "stretches in which nothing runs"},
    {"total", HD_VALUE_DURATION, "sum of their lengths"},
    {"share", HD_VALUE_DECIMAL, "percent of idle"},
    {"mean", HD_VALUE_DURATION, "of the lengths"},
    {"longest", HD_VALUE_DURATION, "of the lengths"},
    {"after_sync", HD_VALUE_DURATION, "for the cause sync, the time since the call returned"},
    GPU_COLUMN_DOUBT,
    {0},
};

static const hd_report_column gaps_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"start", HD_VALUE_TIME, "when the device fell idle"},
    {"duration", HD_VALUE_DURATION, "for how long"},
    {"cause", HD_VALUE_STRING, "as above"},
    {"work", HD_VALUE_STRING, "the activity that ended the gap"},
    {"call", HD_VALUE_STRING, "for the cause sync the call that waited, else the call that launched the activity"},
    {"host", HD_VALUE_STRING,
     "for the causes host, sync and launch the innermost operator, range, API call or profiler overhead that took more "
     "than half of the host's time until the launch"},
    {"op", HD_VALUE_STRING, "the innermost operator that took more than half of that time, or encloses the call"},
    {"frame", HD_VALUE_STRING, "the same of Python functions"},
    {"work_id", HD_VALUE_INT, GPU_ID_OF "work"},
    {"call_id", HD_VALUE_INT, GPU_ID_OF "call"},
    {0},
};

static const hd_report_column behind_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"cause", HD_VALUE_STRING, "as above", GPU_FILL(WORD, behind_row, cause, .words = gpu_cause_names)},
    {"host", HD_VALUE_STRING,
     "the operator, range, API call or overhead that took more than half of the host's time until the launch",
     GPU_FILL(STRING, behind_row, host)},
    {"op", HD_VALUE_STRING, "the operator that took more than half of it", GPU_FILL(STRING, behind_row, op)},
    {"gaps", HD_VALUE_COUNT, "stretches in which nothing runs", GPU_FILL(ROWS, behind_row, time)},
    {"total", HD_VALUE_DURATION, "sum of their lengths", GPU_FILL(SUM, behind_row, time)},
    {0},
};

static const hd_report_column hta_columns[] = {
    GPU_COLUMNS_ROW,
    {"class", HD_VALUE_STRING,
     "host_wait: launched after the work before it had ended; kernel_wait: otherwise, if below 30 us; other"},
    {"total", HD_VALUE_DURATION, "time between the work of the row"},
    {"ratio", HD_VALUE_DECIMAL, "of the row's sum, 0 to 1"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"idle", "what each device waits for; sums to the idle time of breakdown", idle_columns, HD_CHART_BARS,
     "rank,device,step,cause", "total"},
    {"gaps", "the longest gaps", gaps_columns},
    {"behind", "all gaps, by cause and what the host did meanwhile", behind_columns, HD_CHART_BARS,
     "rank,device,step,cause,host,op", "total"},
    {"hta", "with --hta: the classes of HolisticTraceAnalysis, per row, of the whole recording", hta_columns},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    GPU_OPTIONS("step"),
    {"rows", HD_OPTION_COUNT, "20", "number of gaps listed for each device and step", offsetof(idle_options, rows)},
    {"hta", HD_OPTION_FLAG, NULL, "add the classes of HolisticTraceAnalysis", offsetof(idle_options, hta)},
    {0},
};

const hd_report_about report_idle_about = {
    .name = "idle",
    .title = "why each GPU is idle",
    .text = "Each gap in which a device runs nothing has one cause: what the activity after the gap waited for, such "
            "as the "
            "host, a call that waits for the GPU, the launch itself, an event of another queue, a transfer elsewhere. "
            "The gaps add up to the idle time. For each gap the report names what the host did during most of it.",
    .options = options,
    .options_size = sizeof(idle_options),
    .tables = tables,
    .run = run,
};
