/* about.c - the options and tables of a replay */
#include "replay/replay.h"

static const hd_report_column check_columns[] = {
    {"what", HD_VALUE_STRING,
     "span: from the first start to the last end; steps: their sum; busy: the time in which any GPU is busy; start "
     "of work: the error of starts of GPU activities"},
    {"recorded", HD_VALUE_DURATION, "in the trace"},
    {"replayed", HD_VALUE_DURATION, "without change"},
    {"error", HD_VALUE_DURATION, "of the replay"},
    {"error_percent", HD_VALUE_DECIMAL,
     "of what was recorded; starts: of the span; steps: the absolute errors of "
     "the steps added up"},
    {0},
};

static const hd_report_column model_columns[] = {
    {"delay", HD_VALUE_STRING,
     "of an activity after a call, after an activity of its queue, after an event; of a call after the activity "
     "that it waits for; of a call that need not wait"},
    {"samples", HD_VALUE_COUNT, "where nothing else delayed the activity"},
    {"mean", HD_VALUE_DURATION, "of the middle four fifths of them: the delay in the replay"},
    {"after", HD_VALUE_STRING, "what the delay counts from: the end of the cause, or its start"},
    {"spread", HD_VALUE_DURATION, "median distance of samples from their median"},
    {0},
};

static const hd_report_column missing_columns[] = {
    {"name", HD_VALUE_STRING, "of work"},
    {"waited_for", HD_VALUE_STRING,
     "what the graph has it wait for last: queue, launch, event, data, address; no launch: that is "
     "not known"},
    {"works", HD_VALUE_COUNT, "activities of that name and kind"},
    {"late", HD_VALUE_DURATION, "sum of their delays that this does not explain: they wait for something else"},
    {"early", HD_VALUE_DURATION, "sum of the times by which they began too early for this"},
    {"longest", HD_VALUE_DURATION, "the longest delay that is not explained"},
    {"id", HD_VALUE_INT, GPU_ID_OF "the work with the longest"},
    {0},
};

static const hd_report_column what_if_columns[] = {
    {"what", HD_VALUE_STRING, "steps: their sum; span; busy: the time in which a GPU is busy"},
    {"before", HD_VALUE_DURATION, "replayed without change"},
    {"after", HD_VALUE_DURATION, "with the changes"},
    {"change_percent", HD_VALUE_DECIMAL, "of what was before"},
    {"uncertainty", HD_VALUE_DURATION,
     "by how much `after` may be off: the error of the check, delays that vary as in the trace, and what the trace "
     "leaves open"},
    {0},
};

static const hd_report_column step_columns[] = {
    GPU_COLUMNS_RANK,
    {"recorded", HD_VALUE_DURATION,
     "from its start, or the end of the one before, to its end with all of its "
     "activities"},
    {"replayed", HD_VALUE_DURATION, "without change"},
    {"changed", HD_VALUE_DURATION, "with the changes; null: there are none"},
    {0},
};

static const hd_report_column path_columns[] = {
    {"class", HD_VALUE_STRING,
     "what runs: cpu, gap (of a thread), sync (a call, after it waited), unrecorded (between windows of the capture), "
     "compute, "
     "communication, copy; or the delay after a launch, in a full launch queue, on a queue, after an event, other "
     "(for the SMs, a collective, data); recorded: before the first of it, whose time stays"},
    {"before", HD_VALUE_DURATION, "on the critical path of the replay without change, which is as long as its span"},
    {"after", HD_VALUE_DURATION, "with the changes; null: there are none"},
    {0},
};

static const hd_report_column hardware_columns[] = {
    {"what", HD_VALUE_STRING, "of all kernels, and how far off their starts are, counted from the first"},
    {"expected", HD_VALUE_DURATION, "in the replay, with its changes"},
    {"ran", HD_VALUE_DURATION, "on the GPU, by its own clock"},
    {"error", HD_VALUE_DURATION, "of the run"},
    {"error_percent", HD_VALUE_DECIMAL, "of what was expected, of starts: of the span"},
    {0},
};

static const hd_report_column operation_columns[] = {
    {"operation", HD_VALUE_COUNT, "its number, in the order in which they begin"},
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"device", HD_VALUE_INT, "number of the GPU"},
    {"queue", HD_VALUE_COUNT, "the number of the first operation of its queue"},
    {"name", HD_VALUE_STRING, "of the kernel, copy or set"},
    {"call", HD_VALUE_STRING, "the API call that launches it; null: unknown, or the call of another activity"},
    {"after", HD_VALUE_STRING, "the operations that it waits for: queue, event, collective, data, address"},
    {"id", HD_VALUE_INT, GPU_ID_OF "it"},
    {0},
};

static const hd_report_column order_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"device", HD_VALUE_INT, "number of the GPU"},
    {"stream", HD_VALUE_INT, "of this trace; the other's is that in the same place"},
    {"works", HD_VALUE_COUNT, "of the queue"},
    {"works_against", HD_VALUE_COUNT, "of the other trace's"},
    {"same_first", HD_VALUE_COUNT, "of the same names in the same order at their starts"},
    {"same_last", HD_VALUE_COUNT, "at their ends"},
    {"name", HD_VALUE_STRING, "of the first work that differs; null: none does"},
    {"id", HD_VALUE_INT, GPU_ID_OF "it"},
    {"name_against", HD_VALUE_STRING, "of what the other trace has there"},
    {"id_against", HD_VALUE_INT, "its id there"},
    {0},
};

static const hd_report_column dependency_columns[] = {
    {"what", HD_VALUE_STRING,
     "call: the name of that which launched it; launch order: what the same thread launched before it; events: whose "
     "end "
     "its queue waits for; data: which work it reads of; waits: whether a call waits for it"},
    {"works", HD_VALUE_COUNT, "pairs of the same activity in both traces"},
    {"differ", HD_VALUE_COUNT, "of them"},
    {"name", HD_VALUE_STRING, "of the first that differs"},
    {"id", HD_VALUE_INT, GPU_ID_OF "it"},
    {"id_against", HD_VALUE_INT, "its id in the other trace"},
    {0},
};

static const hd_report_column ties_columns[] = {
    {"runs", HD_VALUE_COUNT, "with other orders"},
    {"left_out", HD_VALUE_COUNT, "runs left out because an activity would wait for itself"},
    {"tied", HD_VALUE_COUNT, "activities launched at the same time as an activity of another thread on their queue"},
    {"moved", HD_VALUE_COUNT, "activities that move to another place on their queue in some run"},
    {"shifted", HD_VALUE_COUNT, "activities that begin at another time in some run"},
    {0},
};

static const hd_report_column tie_times_columns[] = {
    {"what", HD_VALUE_STRING, "steps: their sum; span; busy: the time in which a GPU is busy"},
    {"as_is", HD_VALUE_DURATION, "in the order of the trace, with the changes"},
    {"least", HD_VALUE_DURATION, "smallest value of all runs, the first one included"},
    {"most", HD_VALUE_DURATION, "largest value of all runs, the first one included"},
    {0},
};

static const hd_report_column tie_names_columns[] = {
    {"name", HD_VALUE_STRING, "of work"},
    {"moved", HD_VALUE_COUNT, "to another place on its queue in some run"},
    {"shifted", HD_VALUE_COUNT, "begins at another time in some run"},
    {"earlier", HD_VALUE_DURATION, "by this time at most"},
    {"later", HD_VALUE_DURATION, "by this time at most"},
    {"id", HD_VALUE_INT, GPU_ID_OF "that which moves farthest"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"check", "how far a replay without change is off", check_columns, HD_CHART_NONE, NULL, NULL},
    {"model", "the delays of GPU activities in the replay", model_columns, HD_CHART_NONE, NULL, NULL},
    {"missing", "work that began at other times than what it waited for explains", missing_columns, HD_CHART_BARS,
     "name,waited_for", "late"},
    {"what_if", "what the changes make of it", what_if_columns, HD_CHART_LANES, "what", "before,after"},
    {"steps", "a row per step", step_columns, HD_CHART_LANES, "step", "recorded,replayed,changed"},
    {"hardware", "launched again on a GPU: kernels that turn as long, copies of the same size", hardware_columns,
     HD_CHART_NONE, NULL, NULL},
    {"operations", "the operations, in order, with those that each waits for", operation_columns, HD_CHART_NONE, NULL,
     NULL},
    {"order", "two traces: the order of the work of each queue", order_columns, HD_CHART_NONE, NULL, NULL},
    {"dependencies", "two traces: what the same work waits for", dependency_columns, HD_CHART_NONE, NULL, NULL},
    {"ties", "replayed with other orders of what is launched at one time", ties_columns, HD_CHART_NONE, NULL, NULL},
    {"tie_times", "what those orders make of it", tie_times_columns, HD_CHART_NONE, NULL, NULL},
    {"tie_names", "work whose order or start depends on them", tie_names_columns, HD_CHART_BARS, "name", "later"},
    {"path", "the critical path by class", path_columns, HD_CHART_LANES, "class", "before,after"},
    GPU_NOTES,
    {0},
};

#define FIELD(member) offsetof(replay_options, member)

static const hd_option_about options[] = {
    {"scale", HD_OPTION_TEXTS, NULL,
     "PATTERN=FACTOR: multiply the durations of kernels, copies, operators and API calls of these names by FACTOR",
     FIELD(scale)},
    {"remove", HD_OPTION_PATTERNS, NULL,
     "remove these kernels with their launches, and these operators with everything inside them", FIELD(remove)},
    {"fuse", HD_OPTION_PATTERNS, NULL, "launch consecutive kernels of these names on a queue together, as one kernel",
     FIELD(fuse)},
    {"overlap", HD_OPTION_PATTERNS, NULL,
     "communication, copy: move these activities to a queue of their own, where they wait only for their launch and "
     "their data; events stay with the old queue",
     FIELD(overlap)},
    {"launch-cost", HD_OPTION_TIME, NULL, "each call that launches an activity takes this long", FIELD(launch_cost)},
    {"graph", HD_OPTION_FLAG, NULL, "launch the kernels of a step at once, as a CUDA graph", FIELD(graph)},
    {"streams", HD_OPTION_COUNT, NULL,
     "use this many queues, in addition to those of communication only; activities are issued in the order of their "
     "launches",
     FIELD(streams)},
    {"schedule", HD_OPTION_TEXT, NULL,
     "recorded; streams=N, earliest (N is 128): the activities of each queue, except those of communication only, "
     "run on N queues in turn, as if none needed the one before it, except for known data dependencies; "
     "priorities=STREAM:PRIORITY,...: kernels of the stream of that number, of communication or of all have this "
     "priority, lower ones go first; priorities: as in the trace",
     FIELD(schedule)},
    {"queue-depth", HD_OPTION_TEXT, NULL,
     "a launch call blocks while this many launched operations of its queue have not begun; 0: launches never block "
     "(default: as in the trace, if long calls show it)",
     FIELD(queue_depth)},
    {"gpu", HD_OPTION_TEXT, NULL,
     "A=>B: compute activities take the time that GPU B would need instead of A, by the rooflines of both in the table "
     "of GPUs; "
     "'=>B': A is the GPU of the trace",
     FIELD(gpu)},
    {"mode", HD_OPTION_TEXT, NULL,
     "dry-run: print the GPU operations after the changes, in order, with the operations that each waits for, without "
     "times",
     FIELD(mode)},
    {"max-error", HD_OPTION_DECIMAL, "5",
     "refuse changes if the unchanged replay is off by more than this percentage (default: 5)", FIELD(max_error)},
    {"from", HD_OPTION_TIME, NULL,
     "replay only from this time after the first event: 1.5s, 250ms, 10us, 4ns, or 10%; the rest keeps its times",
     FIELD(from)},
    {"until", HD_OPTION_TIME, NULL, "replay only until there", FIELD(until)},
    {"steps", HD_OPTION_TEXT, NULL,
     "replay only steps A:B of heddle report steps; or one by its number, or those of one name", FIELD(steps)},
    {"stream", HD_OPTION_TEXT, NULL,
     "replay only the activities of the stream of this number; all others keep their times", FIELD(stream)},
    {"events", HD_OPTION_PATTERNS, NULL,
     "replay only events of these names, or ids in the table slice of heddle query; all others keep their times",
     FIELD(events)},
    {"run", HD_OPTION_FLAG, NULL,
     "run the replay on an NVIDIA GPU, without the program: kernels that spin as long as those of the trace, and "
     "copies of the same size, on the same number of streams, with the same waits; on the first GPU of "
     "CUDA_VISIBLE_DEVICES",
     FIELD(run)},
    {"ties", HD_OPTION_COUNT, NULL,
     "measure ordering sensitivity: replay this many times with other orders of activities that several threads "
     "launch on one queue at the same time; status 1 if anything changes",
     FIELD(ties)},
    {"within", HD_OPTION_TIME, NULL, "with --ties: launches up to this far apart count as simultaneous, such as 2us",
     FIELD(within)},
    {"step", HD_OPTION_PATTERNS, NULL,
     "annotations of these names are the steps, not ProfilerStep#N; auto: guess them from what repeats", FIELD(step)},
    {0},
};

const hd_report_about replay_about = {
    .name = "replay",
    .title = "the trace executed again, unchanged and with changes",
    .text = "The graph of a trace is executed: threads take the time that they took, a GPU activity begins when its "
            "launch, "
            "its queue and its events let it. The check replays the trace unchanged and reports the error.",
    .options = options,
    .options_size = sizeof(replay_options),
    .tables = tables,
};
