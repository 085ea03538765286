/* timeline.c - the busy time of each track, column by column, with the dominant names; see docs/reports/definitions.md
 *
 * A track is swept twice, slice by slice in start order: for its total busy time, by which tracks are chosen, and for
 * the columns of the chosen ones. Time belongs to the open slice that started last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "heddle/pass.h"
#include "model/identity/process.h"
#include "model/pattern/pattern.h"
#include "model/progress.h"
#include "model/roles/trace_roles.h"
#include "report/report.h"
#include "report/spans.h"
#include "trace/lazy.h"

__extension__ typedef __int128 i128;

enum { WIDTH_MAX = 100000 };

typedef struct timeline_options {
    uint64_t width, rows;
    hd_convert_time from, until;
    const char *tracks;
} timeline_options;

typedef struct open_slice {
    int64_t end;
    uint32_t name;
} open_slice;

typedef struct timeline_row {
    uint32_t track;
    bool is_queue;
    int64_t busy;
} timeline_row;

typedef struct timeline {
    const hd_report_input *input; /* for its progress */
    const hd_trace *trace;
    const timeline_options *options;
    hd_roles roles;
    span_index spans;
    filter_list tracks;
    int64_t from, until;
    timeline_row *rows; /* first those that are shown */
    size_t row_count, shown;
    open_slice *open;
    size_t capacity;
    /* of the row at hand */
    int64_t busy;
    hd_table_builder *cells; /* NULL: only `busy` is wanted */
    size_t row;
    uint64_t column;
    int64_t column_busy, *time_of; /* by string, of the column; that of all of them: */
    int64_t *total_of;
    uint32_t *touched;
    size_t touched_count;
} timeline;

/* ---- columns ---- */

static int64_t bound(const timeline *t, uint64_t column)
{
    return t->from + (int64_t)((i128)(t->until - t->from) * column / t->options->width);
}

static bool comes_first(const hd_trace *trace, uint32_t a, uint32_t b)
{
    hd_string x = hd_trace_string(trace, a), y = hd_trace_string(trace, b);
    return hd_text_compare(x.data, x.size, y.data, y.size) < 0;
}

/* The row of `cells` for the column at hand. Of names with the same time the first by its bytes. */
static void end_column(timeline *t)
{
    uint32_t best = 0;
    int64_t most = -1;
    for (size_t i = 0; i < t->touched_count; i++) {
        uint32_t name = t->touched[i];
        if (t->time_of[name] > most || (t->time_of[name] == most && comes_first(t->trace, name, best))) {
            best = name;
            most = t->time_of[name];
        }
    }
    if (t->touched_count) {
        hd_table_add_int(t->cells, (int64_t)t->row);
        hd_table_add_int(t->cells, (int64_t)t->column);
        hd_table_add_int(t->cells, bound(t, t->column));
        hd_table_add_int(t->cells, bound(t, t->column + 1));
        hd_table_add_int(t->cells, t->column_busy);
        report_cell_string(t->cells, t->trace, best);
        hd_table_add_int(t->cells, most);
    }
    for (size_t i = 0; i < t->touched_count; i++) t->time_of[t->touched[i]] = 0;
    t->touched_count = 0;
    t->column_busy = 0;
}

/* A part within one column. */
static void add_piece(timeline *t, uint64_t column, int64_t length, uint32_t name)
{
    if (column != t->column) end_column(t);
    t->column = column;
    t->column_busy += length;
    if (t->time_of[name] == 0) t->touched[t->touched_count++] = name;
    t->time_of[name] += length;
    t->total_of[name] += length;
}

/* Time of one slice. Such parts come in order of time. */
static void add_time(timeline *t, int64_t start, int64_t end, uint32_t name)
{
    if (start < t->from) start = t->from;
    if (end > t->until) end = t->until;
    if (end <= start) return;
    t->busy += end - start;
    if (!t->cells) return;
    uint64_t column = (uint64_t)((i128)(start - t->from) * t->options->width / (t->until - t->from));
    while (column && bound(t, column) > start) column--;
    while (bound(t, column + 1) <= start) column++;
    for (; start < end; column++) {
        int64_t next = bound(t, column + 1);
        if (next > end) next = end;
        if (next > start) add_piece(t, column, next - start, name);
        start = next;
    }
}

/* ---- the sweep ---- */

static bool is_busy(timeline *t, const hd_block *block, uint32_t at, bool is_queue)
{
    if (!is_queue) return true;
    return hd_role_is_work(
        hd_roles_in(&t->roles, block, at, (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], at)));
}

/* Open slices get the time from *at to `until`, the last to start first. Returns how many stay open. */
static size_t spend(timeline *t, size_t count, int64_t *at, int64_t until)
{
    while (count && *at < until) {
        const open_slice *last = &t->open[count - 1];
        int64_t end = last->end < until ? last->end : until;
        if (end > *at) {
            add_time(t, *at, end, last->name);
            *at = end;
        }
        if (last->end <= *at) count--;
    }
    return count;
}

static hd_status sweep(timeline *t, const timeline_row *row, hd_error *err)
{
    uint64_t slices;
    size_t open = 0;
    int64_t at = INT64_MIN;
    const slice_span *list = span_index_lane(&t->spans, row->track, &slices);
    t->busy = 0;
    for (uint64_t i = 0; i < slices; i++) {
        uint32_t k;
        int64_t end;
        const hd_block *block = hd_trace_columns_of(&k, t->trace, HD_KIND_SLICE, list[i].row);
        const hd_column *c = block->columns;
        int64_t start = hd_column_at(&c[HD_COL_START], k);
        if (!span_takes_part(&end, start, hd_column_at(&c[HD_COL_DURATION], k), hd_column_at(&c[HD_COL_PHASE], k)))
            continue;
        if (end <= start || !is_busy(t, block, k, row->is_queue)) continue;
        open = spend(t, open, &at, start);
        if (at < start) at = start;
        if (!hd_grow((void **)&t->open, &t->capacity, open, sizeof *t->open)) return HD_NOMEM(err);
        t->open[open++] = (open_slice){end, (uint32_t)hd_column_at(&c[HD_COL_NAME], k)};
    }
    spend(t, open, &at, INT64_MAX);
    if (t->cells) end_column(t);
    return HD_OK;
}

/* ---- rows ---- */

static hd_string label_of(const timeline *t, const hd_track *track)
{
    hd_ident ident = track->kind == HD_TRACK_PROCESS ? track->pid : track->tid;
    return hd_trace_string(t->trace, track->name ? track->name : ident.text);
}

/* As convert's --tracks: by thread, by process, by PROCESS/THREAD. */
static bool is_wanted(timeline *t, const hd_track *track)
{
    if (!t->tracks.count) return true;
    hd_string own = label_of(t, track), process = own;
    if (track->parent != HD_NONE) process = label_of(t, hd_trace_track_at(t->trace, track->parent));
    size_t size = process.size + own.size + 1;
    char *both = malloc(size);
    if (!both) return false;
    if (process.size) memcpy(both, process.data, process.size);
    both[process.size] = '/';
    if (own.size) memcpy(both + process.size + 1, own.data, own.size);
    const filter_text texts[] = {{own.data, own.size}, {process.data, process.size}, {both, size}};
    bool passes = filter_list_passes(&t->tracks, texts, 3);
    free(both);
    return passes;
}

static int by_busy(const void *a, const void *b)
{
    const timeline_row *x = a, *y = b;
    if (x->busy != y->busy) return x->busy > y->busy ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static int by_place(const void *a, const void *b)
{
    const timeline_row *x = a, *y = b;
    if (x->is_queue != y->is_queue) return x->is_queue ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

/* How much of the time is over after each part, in percent, as measured on a trace of four million events. */
enum { SPANS_DONE = 60, ROWS_DONE = 80 };

static void say_part(const timeline *t, unsigned from, unsigned until, uint64_t done, uint64_t total)
{
    hd_say_part(t->input->progress, t->input->progress_user, from, until, done, total);
}

/* The busiest tracks, those of devices first. */
static hd_status choose_rows(timeline *t, hd_error *err)
{
    for (uint32_t i = 0; i < t->spans.lane_count; i++) {
        hd_row_sort sort = hd_roles_row(&t->roles, i);
        timeline_row row = {.track = i, .is_queue = sort == HD_ROW_QUEUE};
        if (sort == HD_ROW_TOLD || !is_wanted(t, hd_trace_track_at(t->trace, i))) continue;
        HD_TRY(sweep(t, &row, err));
        say_part(t, SPANS_DONE, ROWS_DONE, t->spans.first[i + 1], t->spans.first[t->spans.lane_count]);
        row.busy = t->busy;
        if (row.busy > 0) t->rows[t->row_count++] = row;
    }
    if (t->row_count) hd_sort(t->rows, t->row_count, sizeof *t->rows, by_busy);
    t->shown = t->row_count < t->options->rows ? t->row_count : (size_t)t->options->rows;
    if (t->shown) hd_sort(t->rows, t->shown, sizeof *t->rows, by_place);
    return HD_OK;
}

/* ---- tables ---- */

static hd_status add_window(hd_report *out, const timeline *t, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_timeline_about, "window", err));
    if (t->until > t->from) {
        hd_table_add_int(b, t->from);
        hd_table_add_int(b, t->until);
        hd_table_add_count(b, t->options->width);
        hd_table_add_count(b, t->shown);
        hd_table_add_count(b, t->row_count - t->shown);
    }
    return report_add(out, b, err);
}

static hd_status add_rows(hd_report *out, const timeline *t, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_timeline_about, "rows", err));
    for (size_t i = 0; i < t->shown; i++) {
        const hd_track *track = hd_trace_track_at(t->trace, t->rows[i].track);
        const hd_track *process = hd_process_track(t->trace, track);
        hd_table_add_int(b, (int64_t)i);
        report_cell_ident(b, t->trace, track->pid);
        report_cell_ident(b, t->trace, track->tid);
        report_cell_string(b, t->trace, process->name);
        report_cell_string(b, t->trace, track->name);
        hd_table_add_text(b, t->rows[i].is_queue ? "stream" : "thread");
        report_cell_int(b, track->device);
        report_cell_int(b, track->stream);
        hd_table_add_int(b, t->rows[i].busy);
        hd_table_add_decimal(b, 100.0 * (double)t->rows[i].busy / (double)(t->until - t->from));
    }
    return report_add(out, b, err);
}

static hd_status add_cells(hd_report *out, timeline *t, hd_error *err)
{
    hd_status status = HD_OK;
    HD_TRY(report_builder(&t->cells, &report_timeline_about, "cells", err));
    for (t->row = 0; t->row < t->shown && status == HD_OK; t->row++) {
        status = sweep(t, &t->rows[t->row], err);
        say_part(t, ROWS_DONE, HD_ALL_PERCENT, t->row + 1, t->shown);
    }
    if (status == HD_OK) return report_add(out, t->cells, err);
    hd_table_builder_free(t->cells);
    return status;
}

typedef struct name_time {
    hd_string text;
    uint32_t name;
    int64_t time;
} name_time;

static int by_time(const void *a, const void *b)
{
    const name_time *x = a, *y = b;
    if (x->time != y->time) return x->time > y->time ? -1 : 1;
    size_t size = x->text.size < y->text.size ? x->text.size : y->text.size;
    int order = size ? memcmp(x->text.data, y->text.data, size) : 0;
    return order ? order : (x->text.size > y->text.size) - (x->text.size < y->text.size);
}

static hd_status add_names(hd_report *out, const timeline *t, hd_error *err)
{
    hd_table_builder *b;
    size_t count = 0, strings = hd_trace_string_count(t->trace);
    name_time *names = malloc((strings + 1) * sizeof *names);
    if (!names) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) {
        if (t->total_of[i]) names[count++] = (name_time){hd_trace_string(t->trace, i), i, t->total_of[i]};
    }
    hd_sort(names, count, sizeof *names, by_time);
    hd_status status = report_builder(&b, &report_timeline_about, "names", err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        report_cell_string(b, t->trace, names[i].name);
        hd_table_add_int(b, names[i].time);
    }
    free(names);
    return status == HD_OK ? report_add(out, b, err) : status;
}

/* ---- the report ---- */

static hd_status set_window(timeline *t, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(t->trace);
    bool any;
    HD_TRY(hd_crop_window_find(&t->from, &t->until, &any, t->trace, t->options->from, t->options->until, NULL, err));
    if (facts->start_ns == HD_NO_TIME || __builtin_sub_overflow(facts->end_ns, facts->start_ns, &(int64_t){0})) {
        t->from = t->until = 0;
        return HD_OK;
    }
    if (t->from < facts->start_ns) t->from = facts->start_ns;
    if (t->until > facts->end_ns) t->until = facts->end_ns;
    return HD_OK;
}

static hd_status prepare(timeline *t, hd_error *err)
{
    size_t strings = hd_trace_string_count(t->trace), tracks = hd_trace_track_count(t->trace);
    if (t->options->width > WIDTH_MAX)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "width: at most %d columns", WIDTH_MAX);
    HD_TRY(set_window(t, err));
    HD_TRY(filter_list_init(&t->tracks, t->options->tracks, "tracks", err));
    HD_TRY(span_index_init(&t->spans, t->trace, err));
    t->time_of = calloc(strings + 1, sizeof *t->time_of);
    t->total_of = calloc(strings + 1, sizeof *t->total_of);
    t->touched = calloc(strings + 1, sizeof *t->touched);
    t->rows = calloc(tracks + 1, sizeof *t->rows);
    return hd_roles_init(&t->roles, t->trace) && t->time_of && t->total_of && t->touched && t->rows ? HD_OK
                                                                                                    : HD_NOMEM(err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    timeline t = {.input = input, .trace = input->trace, .options = options};
    *out = (hd_report){0};
    hd_status status = prepare(&t, err);
    if (status == HD_OK && t.until > t.from) status = choose_rows(&t, err);
    if (status == HD_OK) status = add_window(out, &t, err);
    if (status == HD_OK) status = add_rows(out, &t, err);
    if (status == HD_OK) status = add_cells(out, &t, err);
    if (status == HD_OK) status = add_names(out, &t, err);
    hd_roles_deinit(&t.roles);
    span_index_deinit(&t.spans);
    filter_list_deinit(&t.tracks);
    free(t.open);
    free(t.rows);
    free(t.touched);
    free(t.total_of);
    free(t.time_of);
    return status;
}

/* ---- about ---- */

static const hd_report_column window_columns[] = {
    {"from", HD_VALUE_TIME, "where the first column begins"},
    {"until", HD_VALUE_TIME, "end of the last column"},
    {"width", HD_VALUE_COUNT, "columns; column N begins at from + (until - from) * N / width, rounded down"},
    {"rows", HD_VALUE_COUNT, "rows that are shown"},
    {"left_out", HD_VALUE_COUNT, "rows that are busy as well, but less"},
    {0},
};

static const hd_report_column rows_columns[] = {
    {"row", HD_VALUE_INT, "its number, from 0"},
    {"pid", HD_VALUE_STRING, "as in the input"},
    {"tid", HD_VALUE_STRING, "likewise"},
    {"process", HD_VALUE_STRING, "name of the process"},
    {"name", HD_VALUE_STRING, "of the track"},
    {"kind", HD_VALUE_STRING, "stream or thread"},
    {"device", HD_VALUE_INT, "number of the GPU; null: not a row of a GPU"},
    {"stream", HD_VALUE_INT, "number of the queue, likewise"},
    {"busy", HD_VALUE_DURATION, "time of the window that slices cover; on a GPU's rows, that its activities cover"},
    {"share", HD_VALUE_DECIMAL, "of the window, in percent"},
    {0},
};

static const hd_report_column cells_columns[] = {
    {"row", HD_VALUE_INT, "of the table rows"},
    {"column", HD_VALUE_INT, "from 0"},
    {"start", HD_VALUE_TIME, "of the column"},
    {"end", HD_VALUE_TIME, "of the column"},
    {"busy", HD_VALUE_DURATION, "time of the column that is covered"},
    {"name", HD_VALUE_STRING, "the name with most of this time; time belongs to the open slice that started last"},
    {"name_time", HD_VALUE_DURATION, "how much"},
    {0},
};

static const hd_report_column names_columns[] = {
    {"name", HD_VALUE_STRING, "of slices"},
    {"time", HD_VALUE_DURATION, "time of these names in all rows shown"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"window", "one row: the time that is shown, in so many columns", window_columns},
    {"rows", "the busiest rows, those of GPUs first", rows_columns, HD_CHART_BARS, "process,name,pid,tid", "busy"},
    {"cells", "which columns of each row are busy, and with what", cells_columns},
    {"names", "the names on the rows that are shown, most time first", names_columns, HD_CHART_BARS, "name", "time"},
    {0},
};

static const hd_option_about options[] = {
    {"width", HD_OPTION_COUNT, "100", "columns", offsetof(timeline_options, width)},
    {"rows", HD_OPTION_COUNT, "40", "rows; the busiest", offsetof(timeline_options, rows)},
    {"from", HD_OPTION_TIME, NULL, "begin at this time after the first event: 1.5s, 250ms, 10us, 4ns, or 10%",
     offsetof(timeline_options, from)},
    {"until", HD_OPTION_TIME, NULL, "end there", offsetof(timeline_options, until)},
    {"tracks", HD_OPTION_PATTERNS, NULL, "only tracks whose name, process name or PROCESS/THREAD matches",
     offsetof(timeline_options, tracks)},
    {0},
};

const hd_report_about report_timeline_about = {
    .name = "timeline",
    .title = "how busy each track is over time, and with which names",
    .text = "Divides the time into columns. For each track (row) and column: the time that slices cover, to the "
            "nanosecond, and the name with the largest part of it. On tracks of GPUs only kernels, copies and memsets "
            "count. heddle timeline draws it.",
    .options = options,
    .options_size = sizeof(timeline_options),
    .tables = tables,
    .run = run,
};
