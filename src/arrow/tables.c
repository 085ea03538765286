/* tables.c - the tables that a trace has as streams */
#include "arrow/impl.h"

/* clang-format off */
#define ID(what) {"id", "l", "row of the table of " what ", from 0"}
#define TS {"ts", "l", "start, ns on the trace's clock"}
#define TIME {"time", "tsu:UTC", "start, Unix time in whole µs; null: it is not known what the clock counts from"}
#define DUR {"dur", "l", "duration, ns; null: none was given"}
#define TRACK {"track_id", "l", "id in `tracks`"}
#define NAME {"name", "u", "name of the event"}
#define CATEGORY {"category", "u", "category of the event"}
#define PHASE {"phase", "u", "phase character of a Chrome trace"}
#define ARG_SET {"arg_set_id", "l", "its arguments in `args`: id * 16 + kind; null: it has none"}
#define RANK {"rank", "l", "rank of its track"}
#define TS_PS {"ts_ps", "l", "picoseconds of the start below the ns"}
#define IDS {"id_int", "l", "id that the event was written with, if it is an integer"}, \
    {"id_text", "u", "the same, if it is a text"}, {"id_scope", "u", "local: within the process; global"}
#define EVENT(what) ID(what), TS, DUR, TRACK, NAME, CATEGORY, PHASE, ARG_SET, RANK, TS_PS

static const hd_arrow_column slices[] = {
    ID("slices"), TS, {"dur", "l", "duration, ns; null: it never ended"}, TRACK, NAME, CATEGORY,
    {"depth", "l", "how many slices of the track enclose it"}, {"parent_id", "l", "the innermost of these"}, ARG_SET,
    RANK, PHASE, TIME, TS_PS, {"end_ps", "l", "picoseconds of the end below the ns"},
    {"end_id", "l", "of a begin event: its end in `ends`"},
    {"correlation", "l", "id that a call and the work it launched share within their process; null: it has none"}, {0}};
static const hd_arrow_column ends[] = {
    EVENT("end events"), {"slice_id", "l", "the slice that it ended; null: none was open"}, {0}};
static const hd_arrow_column instants[] = {EVENT("instants"), TIME, {0}};
static const hd_arrow_column counters[] = {
    {"id", "l", "row of the table of counter events, from 0: one a sample, which may have several series"}, TS, TRACK,
    NAME,
    CATEGORY, {"series", "u", "key of the value; null: the event has none"},
    {"value", "g", "value; null: it is not a number"}, {"value_int", "l", "value, exactly, if it is an integer"},
    {"value_text", "u", "text of what is neither an integer nor a decimal"},
    {"value_type", "u", "null, bool, int, real, string, json"}, IDS, ARG_SET, RANK, TIME, TS_PS, DUR, {0}};
static const hd_arrow_column flows[] = {
    EVENT("flow points"), IDS, {"bind_enclosing", "b", "bound to the slice around it, as bp:\"e\" says"},
    {"slice_id", "l", "the slice that it is bound to"},
    {"slice_out", "l", "of what comes from a point before it: the slice of that"},
    {"slice_in", "l", "of what comes from a point before it: its own slice"}, {0}};
static const hd_arrow_column async[] = {EVENT("points of async slices"), IDS, {0}};
static const hd_arrow_column samples[] = {
    EVENT("stack samples"), {"stack_id", "l", "id in `stacks`"}, {0}};
static const hd_arrow_column objects[] = {EVENT("objects"), IDS, {0}};
static const hd_arrow_column meta_events[] = {EVENT("metadata events"), {0}};
static const hd_arrow_column other[] = {EVENT("other events"), IDS, {0}};
static const hd_arrow_column args[] = {
    {"arg_set_id", "l", "of the event"},
    {"key", "u", "args.KEY of arguments, KEY of other keys of the event"},
    {"int_value", "l", "of int and bool"}, {"real_value", "g", "of real"},
    {"string_value", "u",
    "of string and json; of a number that was written with an exponent or too many digits its text"},
    {"value_type", "u", "null, bool, int, real, string, json"}, {0}};
static const hd_arrow_column tracks[] = {
    {"id", "l", "number of the track"}, {"kind", "u", "process, thread, stream"},
    {"parent_id", "l", "track of the process; null of a process"}, {"name", "u", "name of the track"},
    {"pid", "u", "process id, as it was written"}, {"tid", "u", "thread id, as it was written; null of a process"},
    {"process_name", "u", "name of the process"}, {"process_labels", "u", "labels of the process"},
    {"same_as", "l", "the first track whose pid and tid read the same, or itself"},
    {"sort_index", "l", "place among others, if one was given"}, {"device", "l", "GPU"},
    {"stream", "l", "stream of the GPU"},
    {"rank", "l", "rank of the job"}, {"slices", "l", "slices on it"}, {"events", "l", "events on it"},
    {"start_ts", "l", "start of the first slice, ns"}, {"end_ts", "l", "end of the last slice, ns"}, {0}};
static const hd_arrow_column strings[] = {
    {"id", "l", "number of the string; 0 is that of no string"}, {"text", "u", "text"}, {0}};
static const hd_arrow_column launches[] = {
    {"call_id", "l", "id in `slices` of the call; null: it is not in the trace"},
    {"work_id", "l", "id in `slices` of the kernel, copy or set; null: it is not in the trace"},
    {"correlation", "l", "correlation id; null: joined by a flow"},
    {"delay", "l", "start of the work - end of the call, ns"},
    {"call_ts", "l", "start of the call, ns"}, {"call_dur", "l", "duration of the call, ns"},
    {"call_track_id", "l", "track of the call"}, {"call_name", "u", "name of the call"},
    {"call_kind", "u", "what it launches by its name: kernel, graph, copy, set, unknown"},
    {"work_ts", "l", "start of the work, ns"}, {"work_dur", "l", "duration of the work, ns"},
    {"work_track_id", "l", "track of the work"}, {"work_name", "u", "name of the work"},
    {"work_kind", "u", "kernel, copy, set"},
    {"graph_call_id", "l", "id in `slices` of the call that made its node of a graph"}, RANK, {0}};
static const hd_arrow_column stacks[] = {
    {"id", "l", "number of the stack"}, {"parent_id", "l", "the stack of its caller"},
    {"name", "u", "name of the frame"},
    {"kind", "u", "native, os, python, op, annotation, api, kernel, copy, group, mark"},
    {"depth", "l", "frames from the root, itself included"}, {0}};
static const hd_arrow_column ledger[] = {
    {"stage", "u", "the stage of the program that reports it"},
    {"code", "u", "what was repaired or lost"}, {"level", "u", "note, repair, loss"},
    {"count", "l", "how often"}, {"first_offset", "l", "byte offset of the first in the input"},
    {"detail", "u", "the first in words"}, {0}};
static const hd_arrow_column metadata[] = {
    {"name", "u", "top-level key of the input"}, {"value", "u", "its value, as JSON"},
    {"after_events", "b", "stood after the events"}, {0}};

#define OF(kind) .first_kind = HD_KIND_##kind, .last_kind = HD_KIND_##kind
static const arrow_table tables[] = {
    {{"slices", "complete slices, and begin events with their end", slices}, ARROW_EVENTS, OF(SLICE),
     .fields = arrow_slice_fields, .open = arrow_open_slices},
    {{"ends", "the end events of begin/end pairs", ends}, ARROW_EVENTS, OF(END), .fields = arrow_slice_fields},
    {{"instants", "things at one time", instants}, ARROW_EVENTS, OF(INSTANT)},
    {{"counters", "samples of counters: a row a series", counters}, ARROW_EXPLODE, OF(COUNTER),
     .fields = arrow_counter_fields},
    {{"flows", "points of flows, and which slices they connect", flows}, ARROW_EVENTS, OF(FLOW),
     .fields = arrow_flow_fields, .open = arrow_open_flows},
    {{"async", "points of async slices", async}, ARROW_EVENTS, OF(ASYNC)},
    {{"samples", "stack samples", samples}, ARROW_EVENTS, OF(SAMPLE), .fields = arrow_sample_fields,
     .open = arrow_open_samples},
    {{"objects", "objects created, their snapshots, destroyed", objects}, ARROW_EVENTS, OF(OBJECT)},
    {{"meta_events", "names and order of tracks, as events", meta_events}, ARROW_EVENTS, OF(META)},
    {{"other", "events without a table of their own", other}, ARROW_EVENTS, OF(OTHER)},
    {{"args", "arguments of events, a row each", args}, ARROW_EXPLODE, HD_KIND_SLICE, HD_KIND_OTHER, arrow_arg_fields,
     arrow_open_args, NULL},
    {{"tracks", "processes, threads and streams", tracks}, ARROW_ROWS, .fields = arrow_track_fields,
     .count = arrow_count_tracks},
    {{"launches", "GPU activities and their API calls", launches}, ARROW_ROWS, .fields = arrow_launch_fields,
     .open = arrow_open_launches, .count = arrow_count_launches},
    {{"stacks", "call stacks as a tree of frames", stacks}, ARROW_ROWS, .fields = arrow_stack_fields,
     .open = arrow_open_stacks, .count = arrow_count_stacks},
    {{"strings", "every string that reading met, in the order of their bytes; "
                 "several threads may have read ahead into text that has no events", strings}, ARROW_ROWS,
     .fields = arrow_string_fields, .open = arrow_open_strings, .count = arrow_count_strings},
    {{"metadata", "top-level keys of the input", metadata}, ARROW_ROWS, .fields = arrow_metadata_fields,
     .count = arrow_count_metadata},
    {{"ledger", "what was repaired or lost", ledger}, ARROW_ROWS, .fields = arrow_ledger_fields,
     .open = arrow_open_ledger, .count = arrow_count_ledger},
};
/* clang-format on */

const arrow_table *arrow_table_at(size_t index)
{
    return index < sizeof tables / sizeof *tables ? &tables[index] : NULL;
}

const hd_arrow_table *hd_arrow_table_at(size_t index)
{
    const arrow_table *table = arrow_table_at(index);
    return table ? &table->about : NULL;
}

const hd_arrow_table *hd_arrow_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].about.name, name) == 0) return &tables[i].about;
    }
    return NULL;
}
