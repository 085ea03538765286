/* synth_options.c - the options of `heddle synth`, translated to the library's */
#include "cli/commands/synth_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const synth_command synth_defaults = {
    .steps = 4,
    .layers = 4,
    .ranks = 1,
    .rank = -1,
    .streams = 2,
    .jitter = 8,
    .seed = 1,
    .damage_count = 3,
};

const char *const synth_damage_kinds[] = {"truncate", "comma", "nan",       "quote", "control",
                                          "utf8",     "empty", "duplicate", NULL};

#define FIELD(name) .field = offsetof(synth_command, name)
#define COUNT(option, member, most, text)                                                                              \
    {                                                                                                                  \
        .name = option, .kind = CLI_COUNT, .value = "N", .max = most, FIELD(member), .help = text                      \
    }
#define FLAG(option, member, text)                                                                                     \
    {                                                                                                                  \
        .name = option, .kind = CLI_FLAG, FIELD(member), .help = text                                                  \
    }
#define FAULT(option, member, form, text)                                                                              \
    {                                                                                                                  \
        .name = option, .kind = CLI_TEXT, .value = form, FIELD(member), .help = text                                   \
    }

const cli_option synth_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help = "where to write: .json, .json.gz or .json.zst, with --cupti also .ndjson; .hds: the summary "
             "of it alone; - is standard output"},
    COUNT("events", events, 4e9, "make about N events in each file, in as many steps as necessary"),
    COUNT("steps", steps, 1e8, "make N training steps"),
    COUNT("layers", layers, HD_SYNTH_LAYERS_MAX, "layers of the simulated model"),
    {.name = "ranks",
     .kind = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = HD_SYNTH_RANKS_MAX,
     FIELD(ranks),
     .help = "processes that train together, each with a file (FILE_rank0.json …, or where {rank} is in its name) and "
             "a clock of its own"},
    {.name = "rank",
     .kind = CLI_INTEGER,
     .value = "N",
     .min = -1,
     .max = HD_SYNTH_RANKS_MAX - 1,
     FIELD(rank),
     .help = "write only the file of this rank, under the given name, in which {rank} is its number"},
    FLAG("merged", merged, "put all ranks into one file"),
    {.name = "streams",
     .kind = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = HD_SYNTH_STREAMS_MAX,
     FIELD(streams),
     .help = "compute streams of each GPU"},
    COUNT("jitter", jitter, 100, "how far durations vary between ranks, in percent"),
    COUNT("host-ranks", host_ranks, HD_SYNTH_RANKS_MAX,
          "number of ranks per host, which share a clock (0: a host for each rank)"),
    FAULT("slow-gpu", slow_gpu, "RANK=PERCENT", "slow down the kernels and copies of a rank's GPU by this percentage"),
    FAULT("slow-host", slow_host, "HOST=PERCENT", "slow down the threads of a host by this percentage"),
    FAULT("late-loader", late_loader, "RANK=TIME", "delay each batch of a rank by this time"),
    FAULT("clock-shift", clock_shift, "HOST=TIME", "shift the clock of a host by this time, ahead, or back with -"),
    {.name = "seed", .kind = CLI_COUNT, .value = "N", FIELD(seed), .help = "the same seed gives the same trace"},
    FLAG("no-python", no_python, "leave out python stacks"),
    FLAG("no-flows", no_flows, "leave out flows"),
    FLAG("no-counters", no_counters, "leave out counters"),
    FLAG("no-memory", no_memory, "leave out memory events"),
    COUNT("crossings", crossings, 1e9, "slices of each rank that cross others: half of them by less than 5 us"),
    COUNT("late-kernels", late_kernels, 1e9, "kernels that start before their launch"),
    COUNT("orphans", orphans, 1e9,
          "number of events without their partner: launches, kernels, flow points, begins and ends, in turn"),
    COUNT("negatives", negatives, 1e9, "slices with a negative duration"),
    {.name = "damage",
     .kind = CLI_CHOICES,
     .value = "KINDS",
     .choices = synth_damage_kinds,
     FIELD(damage),
     .help = "break the written JSON in these ways"},
    COUNT("damage-count", damage_count, 1e9, "number of events that each kind of damage affects"),
    FLAG("program", program,
         "simulate a random program, drawn from the seed, instead of the training run, to compare the result of a "
         "what-if with"),
    {.name = "what-if",
     .kind = CLI_TEXTS,
     .value = "CHANGE",
     FIELD(what_ifs),
     .help = "make a change to the program before it runs: scale:PATTERN=0.5, remove:PATTERN, fuse:PATTERN, "
             "launch-cost:2us, streams:1, overlap, graph, plant:CODE=TIME (a cause that a finding names)"},
    COUNT("graphs", graphs, HD_SYNTH_GRAPH_MAX, "number of kernels of a graph that each layer also launches"),
    FLAG("cupti", cupti, "make what an injected CUPTI library records: runtime calls, kernels and copies only"),
    {.name = "stacks",
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(stacks),
     .help = "write what a uprobe on the launching functions would have recorded: extended folded text"},
    COUNT("stack-jitter-us", stack_jitter, 2e6, "shift the time of each stack by up to this much"),
    {.name = "stack-offset",
     .kind = CLI_TEXT,
     .value = "TIME",
     FIELD(stack_offset),
     .help = "clock of the stacks minus clock of the trace: a number with ns, us, ms, s, h, d or y"},
    COUNT("stack-lost", stack_lost, 4e9, "number of missing stacks of each rank"),
    COUNT("stack-paths", stack_paths, 4e9,
          "number of call paths to the launches, used in turn: at least this many stacks differ"),
    FLAG("stack-ids", stack_ids, "give threads other ids in the stacks than in the trace"),
    {.name = "stack-comm",
     .kind = CLI_TEXT,
     .value = "NAME",
     FIELD(stack_comm),
     .help = "name of the threads in the stacks, which may hold a space"},
    {0},
};

/* ---- the library's options ---- */

static int64_t unit_ns(const char *unit)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", 1000},
        {"ms", 1000000},
        {"s", 1000000000},
        {"h", INT64_C(3600000000000)},
        {"d", INT64_C(86400000000000)},
        {"y", INT64_C(31557600000000000)},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].unit) == 0) return units[i].ns;
    }
    return 0;
}

/* "-3s", "12ns", "40y"; a whole number and its unit. */
static bool parse_offset(int64_t *out, const char *text)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    int64_t ns = digits[0] >= '0' && digits[0] <= '9' && !errno ? unit_ns(end) : 0;
    return ns && !__builtin_mul_overflow((int64_t)value, ns, out);
}

/* "3=40" percent, or "3=40ms". */
static bool parse_fault(hd_synth_job_fault *out, cli_run *run, const char *option, const char *text, bool is_time)
{
    char *end;
    if (!text) return true;
    errno = 0;
    unsigned long where = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : ULONG_MAX;
    if (where < HD_SYNTH_RANKS_MAX && *end == '=') {
        const char *amount = end + 1;
        out->where = (uint32_t)where;
        if (is_time && parse_offset(&out->amount, amount)) return true;
        if (!is_time && amount[0] >= '0' && amount[0] <= '9') out->amount = strtoll(amount, &end, 10);
        if (!is_time && end != amount && !*end && !errno) return true;
    }
    cli_usage_error(run, "--%s '%s' is not a number and %s (such as %s)", option, text, is_time ? "a time" : "percents",
                    is_time ? "3=40ms" : "3=40");
    return false;
}

static bool parse_faults(hd_synth_job_fault *out, cli_run *run, const synth_command *command)
{
    return parse_fault(&out[HD_SYNTH_SLOW_GPU], run, "slow-gpu", command->slow_gpu, false) &&
           parse_fault(&out[HD_SYNTH_SLOW_HOST], run, "slow-host", command->slow_host, false) &&
           parse_fault(&out[HD_SYNTH_LATE_LOADER], run, "late-loader", command->late_loader, true) &&
           parse_fault(&out[HD_SYNTH_SHIFTED_CLOCK], run, "clock-shift", command->clock_shift, true);
}

bool synth_options_of(hd_synth_options *out, cli_run *run, const synth_command *command, int64_t rank)
{
    *out = (hd_synth_options){
        .seed = command->seed,
        .events = command->events,
        .steps = (uint32_t)command->steps,
        .layers = (uint32_t)command->layers,
        .ranks = (uint32_t)command->ranks,
        .rank = (int32_t)rank,
        .streams = (uint32_t)command->streams,
        .host_ranks = (uint32_t)command->host_ranks,
        .jitter_percent = (uint32_t)command->jitter,
        .python = !command->no_python && !command->cupti,
        .flows = !command->no_flows,
        .counters = !command->no_counters,
        .memory = !command->no_memory,
        .crossings = (uint32_t)command->crossings,
        .late_kernels = (uint32_t)command->late_kernels,
        .orphans = (uint32_t)command->orphans,
        .negatives = (uint32_t)command->negatives,
        .graphs = (uint32_t)command->graphs,
        .cupti = command->cupti,
        .stack_jitter_us = (uint32_t)command->stack_jitter,
        .stack_lost = command->stack_lost,
        .stack_paths = (uint32_t)command->stack_paths,
        .stack_ids = command->stack_ids,
        .stack_comm = command->stack_comm,
        .program = command->program,
        .what_ifs = command->what_ifs.items,
        .what_if_count = command->what_ifs.count,
    };
    if (!parse_faults(out->job_faults, run, command)) return false;
    if (!command->stack_offset || parse_offset(&out->stack_offset_ns, command->stack_offset)) return true;
    cli_usage_error(run, "--stack-offset '%s' is not a time (such as 250us, -3s or 40y)", command->stack_offset);
    return false;
}
