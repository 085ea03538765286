/* views.c - tables that select from others: views, under names known to Perfetto's users
 *
 * A cast gives a computed column its declared type, which SQLite uses in comparisons.
 */
#include "query/tables/tables.h"

#define RANK                                                                                                           \
    {                                                                                                                  \
        "rank", "INT", "its rank; null: not known", false                                                              \
    }

static const hd_query_column_about thread_columns[] = {
    {"id", "INT", "the thread, as utid", false},
    {"utid", "INT", "the thread; a tid may be used again, this is not", false},
    {"tid", "INT", "number of the thread or stream, as written in the trace", false},
    {"name", "TEXT", "name", false},
    {"upid", "INT", "its process: process.upid", false},
    {"is_main_thread", "INT", "1: tid is pid", false},
    {"start_ts", "INT", "start of its first slice, ns", false},
    {"end_ts", "INT", "largest end of its slices, ns", false},
    {"arg_set_id", "INT", "its arguments: thread_sort_index_hint", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about process_columns[] = {
    {"id", "INT", "the process, as upid", false},
    {"upid", "INT", "the process; a pid may be used again, this is not", false},
    {"pid", "INT", "number of the process as the trace has it", false},
    {"name", "TEXT", "name", false},
    {"arg_set_id", "INT", "its arguments: process_sort_index_hint", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about thread_track_columns[] = {
    {"id", "INT", "the track", false},
    {"name", "TEXT", "name", false},
    {"type", "TEXT", "as Perfetto calls it", false},
    {"parent_id", "INT", "track of the process", false},
    {"utid", "INT", "its thread", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about process_track_columns[] = {
    {"id", "INT", "the track", false},
    {"name", "TEXT", "name", false},
    {"type", "TEXT", "as Perfetto calls it", false},
    {"parent_id", "INT", "track of the process", false},
    {"upid", "INT", "its process", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about gpu_track_columns[] = {
    {"id", "INT", "the track", false},
    {"name", "TEXT", "name", false},
    {"device", "INT", "number of the GPU", false},
    {"stream", "INT", "number of the stream", false},
    {"utid", "INT", "the thread that it is shown as", false},
    {"upid", "INT", "its process", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about counter_track_columns[] = {
    {"id", "INT", "the series: counter.track_id", false},
    {"name", "TEXT", "name of the event, and key", false},
    {"type", "TEXT", "as Perfetto calls it", false},
    {"upid", "INT", "its process, null: of none", false},
    {"samples", "INT", "how many samples", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
#define SLICE_COLUMNS_ABOUT                                                                                            \
    {"id", "INT", "the slice: slice.id", false}, {"ts", "INT", "start, ns on the trace's clock", false},               \
        {"dur", "INT", "duration, ns; null: it never ended", false}, {"track_id", "INT", "its track", false},          \
        {"category", "TEXT", "category", false}, {"name", "TEXT", "name", false},                                      \
        {"depth", "INT", "how many slices of the track enclose it", false},                                            \
        {"parent_id", "INT", "the innermost slice of the track that encloses it", false},                              \
    {                                                                                                                  \
        "arg_set_id", "INT", "its arguments", false                                                                    \
    }
static const hd_query_column_about gpu_slice_columns[] = {
    SLICE_COLUMNS_ABOUT,
    {"role", "TEXT", "kernel, copy or set", false},
    {"correlation", "INT", "correlation id, which it shares with the call that launched it", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about context_columns[] = {
    SLICE_COLUMNS_ABOUT,
    {"thread_ts", "INT", "start on the thread's clock, ns", false},
    {"thread_dur", "INT", "CPU time, ns", false},
    {"track_name", "TEXT", "name of the track", false},
    {"utid", "INT", "its thread", false},
    {"tid", "INT", "number of the thread", false},
    {"thread_name", "TEXT", "name of the thread", false},
    {"is_main_thread", "INT", "1: tid is pid", false},
    {"upid", "INT", "its process", false},
    {"pid", "INT", "number of the process", false},
    {"process_name", "TEXT", "name of the process", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about slices_columns[] = {SLICE_COLUMNS_ABOUT,
                                                       {"thread_ts", "INT", "start on the thread's clock, ns", false},
                                                       {"thread_dur", "INT", "CPU time, ns", false},
                                                       {"type", "TEXT", "slice, instant or async", false},
                                                       {"role", "TEXT", "kind of slice: kernel, op …", false},
                                                       {"correlation", "INT", "id of calls and work", false},
                                                       RANK,
                                                       QUERY_INPUT_COLUMN,
                                                       {0}};
static const hd_query_column_about instant_columns[] = {
    {"id", "INT", "the instant: slice.id", false},
    {"ts", "INT", "time, ns", false},
    {"track_id", "INT", "its track", false},
    {"category", "TEXT", "category", false},
    {"name", "TEXT", "name", false},
    {"arg_set_id", "INT", "its arguments", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};

static const hd_query_column_about sched_columns[] = {
    {"id", "INT", "the span: thread_state.id", false},
    {"ts", "INT", "start, ns", false},
    {"dur", "INT", "duration, ns", false},
    {"cpu", "INT", "number of the CPU", false},
    {"ucpu", "INT", "the CPU: cpu.ucpu", false},
    {"utid", "INT", "its thread", false},
    RANK,
    QUERY_INPUT_COLUMN,
    {0},
};
static const hd_query_column_about cpu_columns[] = {
    {"id", "INT", "the CPU", false}, {"ucpu", "INT", "the CPU", false}, {"cpu", "INT", "its number", false}, {0}};

#define SLICE_FIELDS "s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id"
#define WITH_CONTEXT                                                                                                   \
    "select " SLICE_FIELDS ", s.thread_ts, s.thread_dur, t.name as track_name, t.utid, h.tid,"                         \
    " cast(case when h.kind <> 'process' then h.name end as text) as thread_name, cast(h.tid = h.pid as int) as "      \
    "is_main_thread,"                                                                                                  \
    " t.upid, p.pid, p.name as process_name, s.rank, s.input"                                                          \
    " from slice s join track t on t.id = s.track_id left join track h on h.id = t.utid"                               \
    " left join track p on p.id = t.upid"

static const struct {
    hd_query_table_about about;
    const char *select;
} views[] = {
    {{"thread", "threads and streams", thread_columns},
     "select utid as id, utid, tid, cast(case when kind <> 'process' then name end as text) as name, upid,"
     " cast(tid = pid as int) as is_main_thread, start_ts, end_ts, cast(case when kind <> 'process' then arg_set_id "
     "end as int) as arg_set_id,"
     " rank, input from track where utid = id"},
    {{"process", "processes", process_columns},
     "select upid as id, upid, pid, name, arg_set_id, rank, input from track where upid = id"},
    {{"thread_track", "tracks of threads and streams", thread_track_columns},
     "select id, name, type, parent_id, utid, rank, input from track where utid is not null"},
    {{"process_track", "tracks of processes: those of async slices, and of events without a thread",
      process_track_columns},
     "select id, cast(case when kind = 'async' then name end as text) as name, type, parent_id, upid, rank, input from "
     "track"
     " where utid is null and upid is not null and kind in ('process', 'async')"},
    {{"gpu_track", "streams of GPUs", gpu_track_columns},
     "select id, name, device, stream, utid, upid, rank, input from track where kind = 'stream'"},
    {{"counter_track", "series of counters", counter_track_columns},
     "select id, name, type, upid, slices as samples, rank, input from track where kind = 'counter'"},
    {{"process_counter_track", "series of counters that belong to a process", counter_track_columns},
     "select id, name, type, upid, slices as samples, rank, input from track where kind = 'counter' and upid is not "
     "null"},
    {{"slices", "another name for slice", slices_columns},
     "select " SLICE_FIELDS ", s.thread_ts, s.thread_dur, s.type,"
     " s.role, s.correlation, s.rank, s.input from slice s"},
    {{"instant", "what is at one time: slices of type instant", instant_columns},
     "select s.id, s.ts, s.track_id, s.category, s.name, s.arg_set_id, s.rank, s.input from slice s where s.type = "
     "'instant'"},
    {{"gpu_slice", "work on GPUs: kernels, copies, sets", gpu_slice_columns},
     "select " SLICE_FIELDS
     ", s.role, s.correlation, s.rank, s.input from slice s where s.role in ('kernel', 'copy', 'set')"},
    {{"sched", "when threads ran on which CPU", sched_columns},
     "select id, ts, dur, cpu, cpu as ucpu, utid, rank, input from thread_state where state = 'Running' and cpu is not "
     "null"},
    {{"cpu", "CPUs on which threads ran", cpu_columns},
     "select distinct cpu as id, cpu as ucpu, cpu from thread_state where cpu is not null"},
    {{"thread_slice", "slices of threads, with thread and process", context_columns},
     WITH_CONTEXT " where t.utid is not null"},
    {{"process_slice", "slices of processes' own tracks, with the process", context_columns},
     WITH_CONTEXT " where t.utid is null and t.upid is not null"},
    {{"thread_or_process_slice", "slices of threads and processes, with both", context_columns},
     WITH_CONTEXT " where t.upid is not null"},
};

hd_status query_views_register(query_tables *tables, hd_error *err)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char *text = sqlite3_mprintf("create view \"%w\" as %s", views[i].about.name, views[i].select);
        if (!text) return HD_NOMEM(err);
        int code = sqlite3_exec(tables->query->db, text, NULL, NULL, NULL);
        sqlite3_free(text);
        if (code != SQLITE_OK) return query_failed(tables->query, code, err);
        HD_TRY(query_add_about(tables, &views[i].about, err));
    }
    return HD_OK;
}
