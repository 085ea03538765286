/* tracks.c - the table `track`: the trace's tracks, and tracks for async slices, instants and counters
 *
 * thread_track, process_track, thread, process … are views of it (views.c). Threads and processes are tracks as well:
 * utid and upid are the ids of their tracks; tracks of one pid and tid written in two ways share an id.
 */
#include <stdlib.h>

#include "base/map.h"
#include "query/tables/counters.h"
#include "query/tables/rows.h"

typedef struct track_rows {
    uint32_t *utids; /* by track of the trace: its thread, HD_NONE */
    uint32_t *upids; /* likewise its process */
} track_rows;

enum {
    TRACK_ID,
    TRACK_NAME,
    TRACK_TYPE,
    TRACK_PARENT,
    TRACK_KIND,
    TRACK_UTID,
    TRACK_UPID,
    TRACK_PID,
    TRACK_TID,
    TRACK_DEVICE,
    TRACK_STREAM,
    TRACK_SLICES,
    TRACK_START,
    TRACK_END,
    TRACK_SORT,
    TRACK_ARGS
};

static const hd_query_column_about columns[] = {
    {"id", "INT", "the track", false},
    {"name", "TEXT", "name of the thread, stream, process, async slice or counter", false},
    {"type", "TEXT", "as Perfetto calls it", false},
    {"parent_id", "INT", "the process's track", false},
    {"kind", "TEXT", "thread, stream, process, async, counter; global: of instants without a process", false},
    {"utid", "INT", "its thread: thread.utid", false},
    {"upid", "INT", "its process: process.upid", false},
    {"pid", "INT", "number of the process as the trace has it", false},
    {"tid", "INT", "number of the thread or stream, as written in the trace", false},
    {"device", "INT", "number of the GPU", false},
    {"stream", "INT", "number of the stream", false},
    {"slices", "INT", "slices or samples on it", false},
    {"start_ts", "INT", "start of its first slice, ns", false},
    {"end_ts", "INT", "largest end of its slices, ns", false},
    {"sort_index", "INT", "place among its like that the trace wants", false},
    {"arg_set_id", "INT", "its arguments: args.arg_set_id", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

/* ---- threads and processes ---- */

static void free_tracks(void *made)
{
    track_rows *rows = made;
    free(rows->utids);
    free(rows->upids);
    free(rows);
}

static uint32_t same_as(const hd_trace *trace, uint32_t track)
{
    return track < hd_trace_track_count(trace) ? hd_trace_track_at(trace, track)->same_as : HD_NONE;
}

static hd_status find_threads(track_rows *rows, const hd_trace *trace, hd_error *err)
{
    hd_map by_ids = {0}; /* process and text of the tid */
    uint32_t count = hd_trace_track_count(trace);
    bool room = true;
    for (uint32_t i = 0; i < count && room; i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        rows->utids[i] = HD_NONE;
        rows->upids[i] = track->kind == HD_TRACK_PROCESS ? same_as(trace, i) : same_as(trace, track->parent);
        if (track->kind == HD_TRACK_PROCESS) continue;
        rows->utids[i] = same_as(trace, i);
        room = hd_map_set(&by_ids, rows->upids[i], track->tid.text, rows->utids[i]);
    }
    for (uint32_t i = 0; i < count && room; i++) { /* slices without a tid are of the process's main thread */
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->kind != HD_TRACK_PROCESS || !track->rows[HD_KIND_SLICE]) continue;
        if (!hd_map_get(&rows->utids[i], &by_ids, rows->upids[i], track->pid.text)) rows->utids[i] = same_as(trace, i);
    }
    hd_map_deinit(&by_ids);
    return room ? HD_OK : HD_NOMEM(err);
}

static hd_status make_tracks(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    HD_TRY(query_counters_make(source, err));
    track_rows *rows = calloc(1, sizeof *rows);
    size_t count = hd_trace_track_count(trace);
    if (rows) rows->utids = malloc((count + 1) * sizeof *rows->utids);
    if (rows) rows->upids = malloc((count + 1) * sizeof *rows->upids);
    hd_status status = rows && rows->utids && rows->upids ? find_threads(rows, trace, err) : HD_NOMEM(err);
    if (status != HD_OK) {
        if (rows) free_tracks(rows);
        return status;
    }
    *out = rows;
    *out_count = query_series_number(source, (uint32_t)source->counters->series_count);
    return HD_OK;
}

/* ---- cells ---- */

/* A number that a pid or tid is written as. */
static bool ident_number(int64_t *out, const hd_trace *trace, hd_ident ident)
{
    hd_string text = hd_trace_string(trace, ident.text);
    size_t at = text.size && text.data[0] == '-';
    int64_t value = 0;
    if (ident.type == HD_IDENT_NONE || at == text.size) return false;
    for (; at < text.size; at++) {
        if (text.data[at] < '0' || text.data[at] > '9') return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text.data[at] - '0', &value))
            return false;
    }
    *out = text.data[0] == '-' ? -value : value;
    return true;
}

static void cell_ident(query_cell *out, const hd_trace *trace, hd_ident ident)
{
    int64_t number;
    if (ident_number(&number, trace, ident)) query_cell_int(out, number);
}

static void cell_name(query_cell *out, const query_source *source, const hd_track *track)
{
    int64_t number;
    hd_ident ident = track->kind == HD_TRACK_PROCESS ? track->pid : track->tid;
    query_cell_string(out, source, track->name);
    if (out->type == SQLITE_NULL && ident.type == HD_IDENT_STRING && !ident_number(&number, source->trace, ident))
        query_cell_string(out, source, ident.text);
}

static void cell_ids(query_cell *out, const query_source *source, const track_rows *rows, const hd_track *track,
                     int column)
{
    const hd_trace *trace = source->trace;
    uint32_t upid = rows->upids[track->id];
    switch (column) {
    case TRACK_UTID: query_cell_id(out, source, rows->utids[track->id]); break;
    case TRACK_UPID: query_cell_id(out, source, upid); break;
    case TRACK_PARENT: query_cell_id(out, source, track->parent); break;
    case TRACK_PID:
        if (upid != HD_NONE) cell_ident(out, trace, hd_trace_track_at(trace, upid)->pid);
        break;
    case TRACK_TID:
        if (rows->utids[track->id] == HD_NONE) break;
        cell_ident(out, trace, track->tid.type == HD_IDENT_NONE ? track->pid : track->tid);
        break;
    default:
        if (track->sort_index != HD_NO_NUMBER)
            query_cell_int(out, query_id(source, track->id) << QUERY_ARG_SHIFT | QUERY_ARGS_TRACK);
    }
}

static void cell_track(query_cell *out, const query_source *source, const track_rows *rows, const hd_track *track,
                       int column)
{
    static const char *const kinds[] = {"process", "thread", "stream"};
    switch (column) {
    case TRACK_NAME: cell_name(out, source, track); break;
    case TRACK_TYPE:
        query_cell_word(out, rows->utids[track->id] == HD_NONE ? "legacy_chrome_process_instant" : "thread_execution");
        break;
    case TRACK_KIND: query_cell_word(out, kinds[track->kind]); break;
    case TRACK_DEVICE: query_cell_int(out, track->device); break;
    case TRACK_STREAM: query_cell_int(out, track->stream); break;
    case TRACK_SLICES: query_cell_int(out, (int64_t)track->rows[HD_KIND_SLICE]); break;
    case TRACK_START: query_cell_int(out, query_time(source, track->start_ns)); break;
    case TRACK_END: query_cell_int(out, query_time(source, track->end_ns)); break;
    case TRACK_SORT: query_cell_int(out, track->sort_index); break;
    default: cell_ids(out, source, rows, track, column);
    }
}

/* A track that the trace has not: of async slices, of a counter, of instants without a process. */
typedef struct made_track {
    const char *kind, *type;
    hd_string name;
    uint32_t process;
    uint64_t rows;
} made_track;

static made_track made_track_at(const query_source *source, uint64_t row)
{
    const hd_trace *trace = source->trace;
    uint64_t at = row - hd_trace_track_count(trace);
    if (at < source->async->track_count) {
        const query_async_track *track = &source->async->tracks[at];
        return (made_track){"async", track->global ? "legacy_async_global_slice" : "legacy_async_process_slice",
                            hd_trace_string(trace, track->name), track->process, 0};
    }
    at -= source->async->track_count;
    if (at == 0) return (made_track){"global", "legacy_chrome_global_instant", {"", 0}, HD_NONE, 0};
    const query_series *series = &source->counters->series[at - 1];
    bool of_process = series->process != HD_NONE;
    return (made_track){"counter", of_process ? "chrome_process_counter" : "chrome_counter", series->name,
                        series->process, series->samples};
}

static void cell_made(query_cell *out, const query_source *source, uint64_t row, int column)
{
    made_track track = made_track_at(source, row);
    switch (column) {
    case TRACK_NAME:
        if (track.name.size) query_cell_text(out, track.name);
        break;
    case TRACK_TYPE: query_cell_word(out, track.type); break;
    case TRACK_KIND: query_cell_word(out, track.kind); break;
    case TRACK_UPID:
    case TRACK_PARENT: query_cell_id(out, source, track.process); break;
    case TRACK_PID:
        if (track.process != HD_NONE)
            cell_ident(out, source->trace, hd_trace_track_at(source->trace, track.process)->pid);
        break;
    case TRACK_SLICES:
        if (track.rows) query_cell_int(out, (int64_t)track.rows);
        break;
    default: break;
    }
}

static void track_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    if (row < hd_trace_track_count(source->trace))
        cell_track(out, source, made, hd_trace_track_at(source->trace, (uint32_t)row), column);
    else
        cell_made(out, source, row, column);
}

static uint32_t track_of_row(const query_source *source, const void *made, uint64_t row)
{
    (void)made;
    bool is_there = row < hd_trace_track_count(source->trace);
    return is_there ? (uint32_t)row : made_track_at(source, row).process;
}

const query_rows_about query_track_tables[] = {
    {{"track", "threads, streams, processes, and the tracks of async slices and counters", columns},
     make_tracks,
     free_tracks,
     track_cell,
     true,
     track_of_row},
    {.about = {0}},
};
