/* about.c - the description of the report info, table by table */
#include "report/info/info.h"
#include "report/report.h"

static const hd_report_column file_columns[] = {
    {"format", HD_VALUE_STRING, "of the input: chrome, heddle, perfetto …"},
    {"producer", HD_VALUE_STRING, "the program that wrote it, recognised by its names and keys; null: unknown"},
    {"compression", HD_VALUE_STRING, "gzip, zstd or none"},
    {"stored_bytes", HD_VALUE_BYTES, "size of the file"},
    {"input_bytes", HD_VALUE_BYTES, "size of the input, decompressed"},
    {"start", HD_VALUE_TIME, "of the first event"},
    {"end", HD_VALUE_TIME, "of the last event"},
    {"duration", HD_VALUE_DURATION, "from start to end"},
    {"clock", HD_VALUE_STRING, "\"unix\": times are Unix time; \"base\": they count from clock_base; \"unknown\""},
    {"clock_base", HD_VALUE_INT, "Unix time in ns of the clock's zero"},
    {"wall_start", HD_VALUE_STRING, "start as a date, UTC"},
    {"wall_end", HD_VALUE_STRING, "end as a date, UTC"},
    {"rank", HD_VALUE_INT, "of the traced process, as the trace states it"},
    {"world_size", HD_VALUE_INT, "how many ranks took part"},
    {"events", HD_VALUE_COUNT, "of all kinds but metadata"},
    {"slices", HD_VALUE_COUNT, "of them, events with a duration"},
    {"process_count", HD_VALUE_COUNT, "processes with events"},
    {"track_count", HD_VALUE_COUNT, "tracks with events"},
    {"streams", HD_VALUE_COUNT, "of them, queues of GPUs"},
    {"device_count", HD_VALUE_COUNT, "GPUs"},
    {"repairs", HD_VALUE_COUNT, "sum of the ledger's repairs"},
    {"losses", HD_VALUE_COUNT, "sum of the ledger's losses"},
    {"origin", HD_VALUE_STRING, "format of the first input, when this is a store"},
    {"origin_compression", HD_VALUE_STRING, "its compression"},
    {0},
};

static const hd_report_column devices_columns[] = {
    {"device", HD_VALUE_INT, "its number in the trace; null: it has none"},
    {"process", HD_VALUE_STRING, "for a device without a number, to distinguish it"},
    {"kind", HD_VALUE_STRING, "GPU, TPU, NPU …"},
    {"name", HD_VALUE_STRING, "of the model"},
    {"memory", HD_VALUE_BYTES, "on the device"},
    {"compute_major", HD_VALUE_INT, "of the CUDA compute capability"},
    {"compute_minor", HD_VALUE_INT, "likewise"},
    {"multiprocessors", HD_VALUE_INT, "of the device"},
    {"streams", HD_VALUE_COUNT, "queues that have events"},
    {"slices", HD_VALUE_COUNT, "on its rows"},
    {0},
};

static const hd_report_column processes_columns[] = {
    {"pid", HD_VALUE_STRING, "as in the input"},
    {"name", HD_VALUE_STRING, "of the process"},
    {"labels", HD_VALUE_STRING, "its labels in the trace"},
    {"threads", HD_VALUE_COUNT, "tracks that are not of a GPU"},
    {"streams", HD_VALUE_COUNT, "queues of GPUs"},
    {"slices", HD_VALUE_COUNT, "of all of them"},
    {"events", HD_VALUE_COUNT, "of all kinds"},
    {"rank", HD_VALUE_INT, "of the process, if the trace states it"},
    {0},
};

static const hd_report_column tracks_columns[] = {
    {"pid", HD_VALUE_STRING, "as in the input"},
    {"tid", HD_VALUE_STRING, "likewise"},
    {"name", HD_VALUE_STRING, "of the track"},
    {"kind", HD_VALUE_STRING, "thread, stream, counter …"},
    {"device", HD_VALUE_INT, "number of the GPU; null: not a row of a GPU"},
    {"stream", HD_VALUE_INT, "number of the queue, likewise"},
    {"slices", HD_VALUE_COUNT, "on the track"},
    {"other_events", HD_VALUE_COUNT, "events that are not slices"},
    {"start", HD_VALUE_TIME, "of the first slice"},
    {"span", HD_VALUE_DURATION, "from the first slice's start to the last one's end"},
    {"busy", HD_VALUE_DURATION,
     "time that slices cover, counted once where they overlap; on tracks of a GPU only its activities count"},
    {"busy_percent", HD_VALUE_DECIMAL, "share of the span that is busy"},
    {0},
};

static const hd_report_column kinds_columns[] = {
    {"kind", HD_VALUE_STRING, "slice, instant, counter …"},
    {"events", HD_VALUE_COUNT, "of this kind"},
    {"total", HD_VALUE_DURATION, "sum of the durations of slices; overlaps count twice"},
    {0},
};

static const hd_report_column categories_columns[] = {
    {"kind", HD_VALUE_STRING, "slice, instant, counter …"},
    {"category", HD_VALUE_STRING, "as the profiler wrote it"},
    {"events", HD_VALUE_COUNT, "of this kind and category"},
    {"total", HD_VALUE_DURATION, "sum of the durations of slices; overlaps count twice"},
    {0},
};

static const hd_report_column samples_columns[] = {
    {"event", HD_VALUE_STRING, "cycles, instructions …"},
    {"samples", HD_VALUE_COUNT, "of this event"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"file", "one row: the input, its clock, how much is in it", file_columns},
    {"devices", "a row per GPU, by number", devices_columns},
    {"processes", "a row per process that has events", processes_columns},
    {"tracks", "a row per track that has events, busiest first", tracks_columns, HD_CHART_BARS, "name,pid,tid", "busy"},
    {"kinds", "events by kind", kinds_columns},
    {"categories", "events by category, most time first", categories_columns, HD_CHART_BARS, "category,kind", "total"},
    {"samples", "stack samples by event of perf, most first; only for perf script and what was made from it",
     samples_columns},
    {"ledger", "what was noticed while reading: losses, repairs, notes", report_ledger_columns},
    {0},
};

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    (void)options;
    return info_run(out, input, err);
}

const hd_report_about report_info_about = {
    .name = "info",
    .title = "the contents of a trace: format, span, devices, tracks, categories",
    .text = "The input and its clock, GPUs, processes, every track with the busy share of its span, events by kind "
            "and category, and the damage that the reader found.",
    .tables = tables,
    .run = run,
};
