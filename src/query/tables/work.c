/* work.c - the tables `launch` and `step` */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "query/tables/rows.h"
#include "query/tables/slice.h"

/* ---- launch ---- */

static const hd_query_column_about launch_columns[] = {
    {"id", "INT", "the pair", false},
    {"launch_id", "INT", "slice of the call, null: not in the trace", false},
    {"work_id", "INT", "slice of the GPU activity; null: not in the trace", false},
    {"correlation", "INT", "correlation id of both; null: joined by a flow", false},
    {"ts", "INT", "start of the call, ns", false},
    {"dur", "INT", "duration of the call, ns", false},
    {"work_ts", "INT", "start of the work, ns", false},
    {"work_dur", "INT", "duration of the work, ns", false},
    {"delay", "INT", "from the end of the call to the start of the activity, ns; negative if it started before", false},
    {"track_id", "INT", "track of the call", false},
    {"work_track_id", "INT", "track of the work", false},
    {"name", "TEXT", "name of the call", false},
    {"work_name", "TEXT", "name of the work", false},
    {"role", "TEXT", "kernel, copy or set", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

typedef struct launch_rows {
    uint32_t *alone; /* launches without activities, which come after all activities */
    size_t alone_count;
} launch_rows;

static void free_launches(void *made)
{
    free(((launch_rows *)made)->alone);
    free(made);
}

static hd_status make_launch(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    HD_TRY(query_launches(source, err));
    const hd_launches *all = source->launches;
    launch_rows *rows = calloc(1, sizeof *rows);
    if (!rows) return HD_NOMEM(err);
    rows->alone = malloc((all->launch_count + 1) * sizeof *rows->alone);
    if (!rows->alone) {
        free(rows);
        return HD_NOMEM(err);
    }
    for (size_t i = 0; i < all->launch_count; i++)
        if (all->launches[i].work_count == 0) rows->alone[rows->alone_count++] = (uint32_t)i;
    *out = rows;
    *out_count = all->work_count + rows->alone_count;
    return HD_OK;
}

/* Launches and activities have duration 0 if they never ended; the trace's own column distinguishes this. */
static int64_t duration_of(const query_source *source, uint64_t row, int64_t duration_ns)
{
    if (duration_ns != 0) return duration_ns;
    uint32_t at;
    const hd_block *block = hd_trace_columns_of(&at, source->trace, HD_KIND_SLICE, row);
    return hd_column_at(&block->columns[HD_COL_DURATION], at);
}

static void call_cell(query_cell *out, const query_source *source, const hd_launch *launch, int column)
{
    switch (column) {
    case 1: query_cell_int(out, query_id(source, launch->row)); break;
    case 4: query_cell_int(out, query_time(source, launch->start_ns)); break;
    case 5: query_cell_int(out, duration_of(source, launch->row, launch->duration_ns)); break;
    case 9: query_cell_id(out, source, launch->track); break;
    case 11: query_cell_string(out, source, launch->name); break;
    default: break;
    }
}

static void work_cell(query_cell *out, const query_source *source, const hd_work *work, const hd_launch *launch,
                      int column)
{
    int64_t end, delay, duration;
    switch (column) {
    case 2: query_cell_int(out, query_id(source, work->row)); break;
    case 6: query_cell_int(out, query_time(source, work->start_ns)); break;
    case 7: query_cell_int(out, duration_of(source, work->row, work->duration_ns)); break;
    case 8:
        if (!launch || work->start_ns == HD_NO_TIME || launch->start_ns == HD_NO_TIME) break;
        duration = duration_of(source, launch->row, launch->duration_ns);
        if (duration != HD_NO_TIME && !__builtin_add_overflow(launch->start_ns, duration, &end) &&
            !__builtin_sub_overflow(work->start_ns, end, &delay))
            query_cell_int(out, delay);
        break;
    case 10: query_cell_id(out, source, work->track); break;
    case 12: query_cell_string(out, source, work->name); break;
    case 13: query_cell_word(out, slice_word(SLICE_ROLE, work->role)); break;
    default: break;
    }
}

static void launch_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const hd_launches *all = source->launches;
    const launch_rows *rows = made;
    const hd_work *work = row < all->work_count ? &all->works[row] : NULL;
    uint32_t at = work ? work->launch : rows->alone[row - all->work_count];
    const hd_launch *launch = at < all->launch_count ? &all->launches[at] : NULL;
    if (column == 3) {
        int64_t id = launch && launch->id ? launch->id : work ? work->id : 0;
        if (id) query_cell_int(out, id);
        return;
    }
    if (launch) call_cell(out, source, launch, column);
    if (work) work_cell(out, source, work, launch, column);
}

static uint32_t track_of_launch(const query_source *source, const void *made, uint64_t row)
{
    const hd_launches *all = source->launches;
    const launch_rows *rows = made;
    return row < all->work_count ? all->works[row].track : all->launches[rows->alone[row - all->work_count]].track;
}

/* ---- step ---- */

static const hd_query_column_about step_columns[] = {
    {"id", "INT", "the step", false},
    {"slice_id", "INT", "slice of its annotation", false},
    {"ts", "INT", "start, ns", false},
    {"dur", "INT", "duration, ns; null: it never ended", false},
    {"number", "INT", "N of ProfilerStep#N", false},
    {"track_id", "INT", "track of the annotation", false},
    {"name", "TEXT", "name of the annotation", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

typedef struct step_row {
    uint64_t row;
    int64_t start_ns, duration_ns, number;
    uint32_t track, name;
} step_row;

typedef struct step_rows {
    step_row *list;
    size_t count, capacity;
} step_rows;

static void free_steps(void *made)
{
    free(((step_rows *)made)->list);
    free(made);
}

static int64_t number_of(hd_string name)
{
    int64_t number;
    return hd_step_number(&number, name) ? number : QUERY_NULL;
}

static hd_status add_steps(step_rows *out, query_source *source, const bool *is_step, hd_error *err)
{
    const hd_trace *trace = source->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_columns_at(trace, HD_KIND_SLICE, b);
        HD_TRY(query_check_stop(source->tables, err));
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i);
            if (!is_step[name]) continue;
            uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], i);
            if (!hd_marks_step(hd_roles_in(&source->roles, block, i, category), hd_trace_string(trace, name))) continue;
            if (!hd_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list)) return HD_NOMEM(err);
            out->list[out->count++] = (step_row){.row = block->first_row + i,
                                                 .start_ns = hd_column_at(&block->columns[HD_COL_START], i),
                                                 .duration_ns = hd_column_at(&block->columns[HD_COL_DURATION], i),
                                                 .number = number_of(hd_trace_string(trace, name)),
                                                 .track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i),
                                                 .name = name};
        }
    }
    return HD_OK;
}

static hd_status make_step(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    uint32_t count = hd_trace_string_count(trace);
    HD_TRY(query_roles(source, err));
    step_rows *rows = calloc(1, sizeof *rows);
    bool *is_step = calloc((size_t)count + 1, sizeof *is_step), any = false;
    hd_status status = rows && is_step ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; i < count && status == HD_OK; i++)
        any |= is_step[i] = hd_is_profiler_step(hd_trace_string(trace, i));
    if (status == HD_OK && any) status = add_steps(rows, source, is_step, err);
    free(is_step);
    if (status != HD_OK) {
        if (rows) free_steps(rows);
        return status;
    }
    *out = rows;
    *out_count = rows->count;
    return HD_OK;
}

static void step_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const step_row *step = &((const step_rows *)made)->list[row];
    switch (column) {
    case 1: query_cell_int(out, query_id(source, step->row)); break;
    case 2: query_cell_int(out, query_time(source, step->start_ns)); break;
    case 3: query_cell_int(out, step->duration_ns); break;
    case 4: query_cell_int(out, step->number); break;
    case 5: query_cell_id(out, source, step->track); break;
    default: query_cell_string(out, source, step->name);
    }
}

static uint32_t track_of_step(const query_source *source, const void *made, uint64_t row)
{
    (void)source;
    return ((const step_rows *)made)->list[row].track;
}

const query_rows_about query_work_tables[] = {
    {{"launch",
      "API calls with the GPU activities that they launched, including calls without an activity and activities "
      "without a call",
      launch_columns},
     make_launch,
     free_launches,
     launch_cell,
     true,
     track_of_launch},
    {{"step", "steps: slices ProfilerStep#N on tracks of the host", step_columns},
     make_step,
     free_steps,
     step_cell,
     true,
     track_of_step},
    {.about = {0}},
};
