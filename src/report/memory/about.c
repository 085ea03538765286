/* about.c - the description of the report memory, table by table */
#include "base/error.h"
#include "report/report.h"

static const hd_report_column memory_columns[] = {
    {"events", HD_VALUE_COUNT, "of allocation and of free"},
    {"left_out", HD_VALUE_COUNT, "events without a size, address or time"},
    {"allocations", HD_VALUE_COUNT, "allocations that were counted"},
    {"frees", HD_VALUE_COUNT, "frees that were counted"},
    {"allocated", HD_VALUE_BYTES, "sum of all allocations"},
    {"freed", HD_VALUE_BYTES, "sum of what was freed"},
    {"replaced", HD_VALUE_BYTES, "bytes of allocations whose address was allocated again before they were freed"},
    {"live", HD_VALUE_BYTES, "at the end: allocated - freed - replaced"},
    {"live_count", HD_VALUE_COUNT, "allocations live at the end"},
    {0},
};

static const hd_report_column devices_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"allocations", HD_VALUE_COUNT, "on it"},
    {"frees", HD_VALUE_COUNT, "on it"},
    {"allocated", HD_VALUE_BYTES, "sum of the allocations"},
    {"freed", HD_VALUE_BYTES, "sum of what was freed"},
    {"replaced", HD_VALUE_BYTES, "bytes of allocations whose address was allocated again before they were freed"},
    {"live", HD_VALUE_BYTES, "at the end, of what was allocated in the trace"},
    {"peak", HD_VALUE_BYTES, "most that was live at once"},
    {"peak_time", HD_VALUE_TIME, "time of the peak"},
    {"peak_live", HD_VALUE_BYTES, "of the peak, what was allocated in the trace"},
    {"final", HD_VALUE_BYTES, "live at the end, with what was allocated before the trace"},
    {"peak_is_total", HD_VALUE_BOOL, "whether peak and final are the allocator's own totals"},
    {0},
};

static const hd_report_column categories_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"category", HD_VALUE_STRING, "as the profiler names it"},
    {"allocations", HD_VALUE_COUNT, "of it"},
    {"frees", HD_VALUE_COUNT, "of it"},
    {"peak", HD_VALUE_BYTES, "most of it that was live at once"},
    {"peak_time", HD_VALUE_TIME, "time of the peak"},
    {"live", HD_VALUE_BYTES, "at the end"},
    {0},
};

static const hd_report_column peak_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"category", HD_VALUE_STRING, "as the profiler names it"},
    {"bytes", HD_VALUE_BYTES, "live at the peak"},
    {"share", HD_VALUE_DECIMAL, "of the peak, in percent"},
    {"count", HD_VALUE_COUNT, "allocations"},
    {"size", HD_VALUE_BYTES, "of each of them"},
    {"where", HD_VALUE_STRING, "the innermost frames of the stack"},
    {"stack", HD_VALUE_STRING, "all frames, outermost first"},
    {0},
};

static const hd_report_column leaks_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"category", HD_VALUE_STRING, "as the profiler names it"},
    {"bytes", HD_VALUE_BYTES, "live at the end"},
    {"count", HD_VALUE_COUNT, "allocations"},
    {"first_time", HD_VALUE_TIME, "of the first of them"},
    {"last_time", HD_VALUE_TIME, "of the last of them"},
    {"where", HD_VALUE_STRING, "the innermost frames of the stack"},
    {"stack", HD_VALUE_STRING, "all frames, outermost first"},
    {0},
};

static const hd_report_column reserved_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"reserved_peak", HD_VALUE_BYTES, "most that was reserved"},
    {"idle_at_peak", HD_VALUE_BYTES, "reserved, but not allocated at the peak"},
    {"idle_mean", HD_VALUE_BYTES, "reserved and not allocated, mean over time"},
    {"idle_max", HD_VALUE_BYTES, "most that was reserved and not allocated"},
    {"idle_max_time", HD_VALUE_TIME, "time of that maximum"},
    {0},
};

static const hd_report_column anomalies_columns[] = {
    {"code", HD_VALUE_STRING, "kind of anomaly"},
    {"events", HD_VALUE_COUNT, "events with this anomaly"},
    {"bytes", HD_VALUE_BYTES, "sum of their sizes"},
    {"first_time", HD_VALUE_TIME, "of the first of them"},
    {"meaning", HD_VALUE_STRING, "a sentence that explains the kind"},
    {0},
};

static const hd_report_column series_columns[] = {
    {"time", HD_VALUE_TIME, "of the event"},
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"category", HD_VALUE_STRING, "as the profiler names it"},
    {"change", HD_VALUE_INT, "bytes: allocated, or freed (negative)"},
    {"category_live", HD_VALUE_BYTES, "of the category, after the event"},
    {"live", HD_VALUE_BYTES, "of the device, after the event"},
    {"allocated", HD_VALUE_BYTES, "the allocator's own total"},
    {"reserved", HD_VALUE_BYTES, "bytes that the allocator has reserved"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"memory", "one row: sums over all devices", memory_columns},
    {"devices", "a row per device or allocator of a process", devices_columns},
    {"categories", "what a device holds of each category", categories_columns},
    {"peak", "what was live at the peak of each device, largest first; its sum is the peak", peak_columns},
    {"leaks", "what was live at the end, largest first; its sum is what was live", leaks_columns},
    {"reserved", "allocators that reserve memory: how much of it was unused", reserved_columns},
    {"anomalies", "events that are incomplete or contradict others", anomalies_columns},
    {"ledger", "notes of reading: a lost free event appears as a false leak", report_ledger_columns},
    {"series", "with the option series: a row per event, with the live bytes after it", series_columns, HD_CHART_SERIES,
     "process,device", "time,live"},
    {0},
};

typedef struct memory_values {
    hd_memory_report_options report;
    bool no_stacks;
} memory_values;

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    const memory_values *o = options;
    const hd_memory_options find = {
        .no_stacks = o->no_stacks, .progress = input->progress, .progress_user = input->progress_user};
    hd_memory *own = NULL;
    if (!input->memory) HD_TRY(hd_memory_new(&own, input->trace, &find, err));
    hd_status status = hd_report_memory(out, own ? own : input->memory, input->trace, &o->report, err);
    hd_memory_free(own);
    return status;
}

static const hd_option_about options[] = {
    {"rows", HD_OPTION_COUNT, "1000", "number of rows in peak and leaks; one more row sums up the rest",
     offsetof(memory_values, report.rows)},
    {"series", HD_OPTION_FLAG, NULL, "make the table series", offsetof(memory_values, report.series)},
    {"no-stacks", HD_OPTION_FLAG, NULL, "do not search for the slices around events, which is faster",
     offsetof(memory_values, no_stacks)},
    {0},
};

const hd_report_about report_memory_about = {
    .name = "memory",
    .title = "allocations, what was live at the peak, what was never freed",
    .text =
        "Pairs allocations with their frees. For each device of each process: the peak and its time, the allocations "
        "that were live then, those live at the end, and how much of the reserved memory was idle. allocated = freed + "
        "replaced + live always holds.",
    .options = options,
    .options_size = sizeof(memory_values),
    .tables = tables,
    .run = run,
};
