/* tools.c - the tools: descriptions and arguments */
#include "mcp/impl.h"

static const mcp_arg no_args[] = {{0}};

#define ROWS(most, about_rows)                                                                                         \
    {                                                                                                                  \
        "rows", MCP_INT, false, 1, most, NULL, about_rows                                                              \
    }
#define FROM                                                                                                           \
    {                                                                                                                  \
        "from", MCP_TIME, false, 0, 0, NULL,                                                                           \
            "begin there: ns on the trace's clock, or \"1.5s\", \"10%\" from its start"                                \
    }
#define UNTIL                                                                                                          \
    {                                                                                                                  \
        "until", MCP_TIME, false, 0, 0, NULL, "end there"                                                              \
    }

static const mcp_arg open_args[] = {{"path", MCP_TEXT, true, 0, 0, NULL, "the file, as the user names it"}, {0}};

static const mcp_arg report_args[] = {
    {"name", MCP_TEXT, false, 0, 0, NULL, "the report; without it, all are listed"},
    {"options", MCP_OBJECT, false, 0, 0, NULL,
     "of the report, such as {\"by\": \"step\", \"rows\": 5}; the resource heddle://reports/NAME lists them"},
    {"tables", MCP_TEXTS, false, 0, 0, NULL, "these tables only"},
    {"traces", MCP_INTS, false, 0, 0, NULL,
     "of reports over the ranks of a job (stragglers, clocks, imbalance, topology, job, slowdown, hang): numbers of "
     "their "
     "traces; default: all that are open"},
    {0},
};

static const mcp_arg query_args[] = {
    {"sql", MCP_TEXT, true, 0, 0, NULL, "one select statement of SQLite"},
    ROWS(MCP_ROWS, "at most so many; default: 200"),
    {0},
};

static const mcp_arg timeline_args[] = {
    FROM,
    UNTIL,
    {"width", MCP_INT, false, 1, 200, NULL, "columns; default: 60"},
    ROWS(100, "the busiest rows; default: 12"),
    {"tracks", MCP_TEXT, false, 0, 0, NULL, "only tracks whose name matches, such as *stream*"},
    {0},
};

static const char *const orders[] = {"longest", "first", NULL};
static const mcp_arg find_args[] = {
    {"text", MCP_TEXT, false, 0, 0, NULL, "a part of the name; A and a are the same"},
    {"glob", MCP_TEXT, false, 0, 0, NULL, "the whole name as a pattern: *gemm*"},
    {"regex", MCP_TEXT, false, 0, 0, NULL, "a part of the name: POSIX extended"},
    {"category", MCP_TEXT, false, 0, 0, NULL, "category as the trace has it: kernel, cpu_op …"},
    {"role", MCP_TEXT, false, 0, 0, NULL,
     "kernel, copy, set, sync, gpu_annotation, op, python, annotation, runtime, driver or overhead"},
    FROM,
    UNTIL,
    {"order", MCP_TEXT, false, 0, 0, orders, "of the events; default: longest"},
    ROWS(MCP_ROWS, "events that are listed; default: 20"),
    {0},
};

static const mcp_arg idle_args[] = {
    {"at", MCP_TIME, false, 0, 0, NULL, "explain the gap at that time, instead of the longest ones"},
    FROM,
    UNTIL,
    ROWS(1000, "the longest gaps of each device; default: 5"),
    {0},
};

static const mcp_arg stack_args[] = {
    {"id", MCP_INT, true, 0, INT64_MAX, NULL, "an `id` of find, findings, explain_idle or query"}, {0}};

static const mcp_arg compare_args[] = {
    {"before", MCP_INTS, true, 0, 0, NULL, "numbers of the traces of one side: the ranks of a run, or several runs"},
    {"after", MCP_INTS, true, 0, 0, NULL, "of the other side"},
    {"step", MCP_TEXT, false, 0, 0, NULL, "annotations of these names are the steps, not ProfilerStep#N"},
    {"all", MCP_INT, false, 0, 1, NULL, "1: rows that are noise as well"},
    {0},
};

static const mcp_tool tools[] = {
    {"open", "Open a trace",
     "Read a GPU trace (PyTorch, CUPTI, Nsight Systems, ROCm, XPlane, Perfetto and others; .gz and .zst too) and say "
     "what is in it. The answer has the number that other tools take as `trace`. A file that is open is read anew.",
     open_args, false, mcp_tool_open, "Check the path; heddle info FILE on a command line says the same."},
    {"summary", "Summary",
     "Where the time goes: findings in short, steps, breakdown, kernels, idle time, memory. Begin here.", no_args, true,
     mcp_tool_summary, "Call open with a path first."},
    {"findings", "Findings",
     "What to do first: each with a code, an upper bound of what a change saves (ns; null: unknown; bounds are not to "
     "be "
     "added up), advice, how far to trust it, and the event to look at.",
     no_args, true, mcp_tool_findings, "Call open with a path first."},
    {"report", "Report",
     "One of the analyses: kernels, operators, steps, idle, communication, memory, critical-path, stragglers … Times "
     "and "
     "durations are ns, null is unknown. Columns without any value are left out.",
     report_args, true, mcp_tool_report,
     "Call report without a name for the list, and read heddle://reports/NAME for options."},
    {"query", "SQL",
     "Ask the trace by SQL, read-only, for at most 20 s. Tables: slice (all events), gpu_slice, launch, step, track, "
     "thread, "
     "counter, args …, and each report as a function: kernels(), idle_gaps('rows=5'). "
     "select table_name, name, meaning from heddle_tables lists them with their columns.",
     query_args, true, mcp_tool_query,
     "select distinct table_name from heddle_tables lists tables; select name, meaning from heddle_tables where "
     "table_name = 'slice' lists columns. Of a query that is too slow, limit ts."},
    {"timeline", "Timeline",
     "How busy each track is over time, as a line of characters: blank is idle, then . : - = + * % # by eighths. And "
     "the names "
     "with most time.",
     timeline_args, true, mcp_tool_timeline, "Check from, until and tracks."},
    {"find", "Find events",
     "Events by name, category, role and time: names with their sums, and events with their ids.", find_args, true,
     mcp_tool_find, "Give one of text, glob, regex, category or role."},
    {"explain_idle", "Explain idle time",
     "Why GPUs ran nothing: causes that add up to the idle time, the longest gaps with what the host did meanwhile, "
     "and the "
     "work and call that ended each.",
     idle_args, true, mcp_tool_explain_idle, "Check at, from and until."},
    {"stack_of", "Stack of an event",
     "One event: its launch, its arguments, and its stack from the outermost frame, recorded or made of the slices "
     "around "
     "it or its launch.",
     stack_args, true, mcp_tool_stack_of, "Take an id from find, findings, explain_idle or query."},
    {"compare", "Compare runs",
     "What changed between two runs, a step: the step's time with an interval, then kernels, operators, modules and "
     "causes of "
     "idle time, most first, each with its verdict. Rows of one kind share no time; kinds do.",
     compare_args, false, mcp_tool_compare, "Open both sides first, and give the numbers of their traces."},
};

const mcp_tool *mcp_tool_at(size_t index)
{
    return index < sizeof tools / sizeof *tools ? &tools[index] : NULL;
}
