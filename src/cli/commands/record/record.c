/* record.c - heddle record: runs a command and records its GPU activity */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/commands/record/out.h"
#include "cli/commands/record/uprobe.h"
#include "cli/commands/ways_out.h"
#include "cli/job_in.h"
#include "cli/shared_options.h"
#include "cli/times.h"

#define RANK "{rank}"

enum { GRAPH_NODE, GRAPH_WHOLE };
enum { WAIT_COMMAND, WAIT_ALL };

struct record_options {
    const char *output, *recover, *library, *tool, *summary;
    const char *delay, *duration, *steps, *step_name, *budget, *keep_last, *on_stall;
    bool no_stacks, python, memory, no_nvtx, trigger, no_symbolize, keep, strict, check, kernel;
    int graph, policy, wait;
    uint64_t memory_limit, threads, pid;
    cli_texts uprobes;
    const char *folded;
    bool uprobe_returns;
    int uprobe_stacks;
    uint64_t uprobe_stack_bytes;
};

/* User data of the recording's callbacks. */
struct record_user {
    cli_run *run;
    record_uprobe uprobe;
};

/* ---- options ---- */

static int parse_duration(cli_run *run, int64_t *out, const char *option, const char *text)
{
    hd_convert_time time = {0};
    int status = cli_parse_time(run, &time, option, text);
    if (status != CLI_OK || !text) return status;
    if (time.unit == HD_CONVERT_PERCENT) return cli_usage_error(run, "%s: a time, such as 10s or 500ms", option);
    *out = time.value;
    return CLI_OK;
}

/* "A:B", whole numbers, A <= B. */
static int check_steps(cli_run *run, const char *steps)
{
    char *end;
    if (!steps) return CLI_OK;
    bool digit = steps[0] >= '0' && steps[0] <= '9';
    unsigned long long first = strtoull(steps, &end, 10), last = 0;
    digit = digit && *end == ':' && end[1] >= '0' && end[1] <= '9';
    if (digit) last = strtoull(end + 1, &end, 10);
    if (digit && *end == '\0' && first <= last) return CLI_OK;
    return cli_usage_error(run, "--steps: '%.40s' is not A:B, the numbers of the first and the last step", steps);
}

/* "1%": from 0.01 % to 50 %. Windows are chosen by the budget, so no other option may choose them. */
static int parse_budget(cli_run *run, double *out, const struct record_options *o)
{
    char *end;
    if (!o->budget) return CLI_OK;
    *out = strtod(o->budget, &end) / 100;
    bool is_digit = o->budget[0] >= '0' && o->budget[0] <= '9';
    if (!is_digit || strcmp(end, "%") != 0 || !(*out >= 0.0001 && *out <= 0.5))
        return cli_usage_error(run, "--budget: '%.40s' is not a share of the time from 0.01%% to 50%%, such as 1%%",
                               o->budget);
    const char *other = o->steps ? "steps" : o->trigger ? "trigger" : o->duration ? "duration" : NULL;
    if (other) return cli_usage_error(run, "--budget chooses what is recorded, and so does --%s", other);
    return CLI_OK;
}

/* "30s": what is kept of the end. */
static int parse_kept(cli_run *run, hd_record_options *out, const struct record_options *o)
{
    const int64_t least = 1000000000, most = INT64_C(86400) * least;
    int status = parse_duration(run, &out->keep_last_ns, "--keep-last", o->keep_last);
    if (status == CLI_OK) status = parse_duration(run, &out->on_stall_ns, "--on-stall", o->on_stall);
    if (status != CLI_OK) return status;
    if (o->on_stall && !o->keep_last)
        return cli_usage_error(run, "--on-stall writes out what --keep-last keeps, and there is none");
    if (!o->keep_last) return CLI_OK;
    if (out->keep_last_ns < least || out->keep_last_ns > most)
        return cli_usage_error(run, "--keep-last: from 1s to 24h, such as 30s");
    if (o->on_stall && out->on_stall_ns < least)
        return cli_usage_error(run, "--on-stall: a second or more, such as 60s");
    const char *other = o->steps           ? "steps"
                        : o->step_name     ? "step-name"
                        : o->trigger       ? "trigger"
                        : o->duration      ? "duration"
                        : o->budget        ? "budget"
                        : o->memory        ? "memory"
                        : o->kernel        ? "kernel"
                        : o->uprobes.count ? "uprobe"
                                           : NULL;
    if (other) return cli_usage_error(run, "--keep-last keeps the last events, which --%s does not allow", other);
    return CLI_OK;
}

/* Refuses options without effect: those of libheddle-cuda where it is left out, those of heddle's own capture where
 * another tool runs the command. With --recover, nothing runs. */
static int check_ignored(cli_run *run)
{
    const struct record_options *o = run->options;
    const struct {
        bool set;
        enum { CUDA, RUN, ALSO } of; /* libheddle-cuda, as part of a run; a run; a recovery as well */
        const char *name;
    } own[] = {
        {o->python, CUDA, "python"},
        {o->memory, CUDA, "memory"},
        {o->no_nvtx, CUDA, "no-nvtx"},
        {o->trigger, CUDA, "trigger"},
        {o->graph != 0, CUDA, "graph"},
        {o->policy != 0, CUDA, "policy"},
        {o->delay, CUDA, "delay"},
        {o->duration && !o->pid, CUDA, "duration"},
        {o->steps || o->step_name, CUDA, "steps"},
        {o->budget, CUDA, "budget"},
        {o->keep_last, CUDA, "keep-last"},
        {o->no_stacks, RUN, "no-stacks"},
        {o->no_symbolize, ALSO, "no-symbolize"},
        {o->keep, ALSO, "keep"},
        {o->strict, RUN, "strict"},
        {o->wait != 0, RUN, "wait"},
        {o->library, RUN, "library"},
        {o->kernel, RUN, "kernel"},
        {o->recover, ALSO, "recover"},
        {o->uprobes.count != 0, ALSO, "uprobe"},
        {o->pid != 0, RUN, "pid"},
    };
    bool no_cuda = (o->uprobes.count && !o->library) || o->pid;
    if (o->pid && (o->library || o->wait))
        return cli_usage_error(run, "--%s is of running a command, and --pid runs none",
                               o->library ? "library" : "wait");
    if (o->uprobe_stacks && !o->uprobes.count && !o->pid)
        return cli_usage_error(run, "--uprobe-stacks says how, and --uprobe which functions");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].set && o->tool)
            return cli_usage_error(run, "--%s is of heddle's own capture, and --with %.40s runs that tool", own[i].name,
                                   o->tool);
        if (own[i].set && own[i].of != ALSO && o->recover)
            return cli_usage_error(run, "--%s is of running a command, and --recover runs none", own[i].name);
        if (own[i].set && own[i].of == CUDA && no_cuda)
            return cli_usage_error(run, "--%s is of libheddle-cuda.so, which %s", own[i].name,
                                   o->pid ? "--pid cannot put into a program that runs"
                                          : "--uprobe leaves out unless --library names it");
    }
    return CLI_OK;
}

static int fill_options(cli_run *run, hd_record_options *out)
{
    static const hd_ring_policy policies[] = {HD_RING_DROP_NEWEST, HD_RING_DROP_OLDEST, HD_RING_BLOCK};
    const struct record_options *o = run->options;
    *out = (hd_record_options){
        .output = o->output,
        .library = o->library,
        .tool = o->tool,
        .no_stacks = o->no_stacks,
        .python = o->python,
        .memory = o->memory,
        .graph_whole = o->graph == GRAPH_WHOLE,
        .no_nvtx = o->no_nvtx,
        .trigger = o->trigger,
        .steps = o->steps,
        .step_name = o->step_name,
        .policy = policies[o->policy],
        .kernel = o->kernel,
        .no_symbolize = o->no_symbolize,
        .keep = o->keep,
        .wait_all = o->wait == WAIT_ALL,
        .strict = o->strict,
        .sigpipe_ignored = run->sigpipe_ignored,
        .threads = (unsigned)o->threads,
        .memory_limit = o->memory_limit,
    };
    int status = check_ignored(run);
    if (status == CLI_OK) status = parse_duration(run, &out->delay_ns, "--delay", o->delay);
    if (status == CLI_OK) status = parse_duration(run, &out->duration_ns, "--duration", o->duration);
    if (status == CLI_OK) status = check_steps(run, o->steps);
    if (status == CLI_OK) status = parse_budget(run, &out->budget, o);
    if (status == CLI_OK) status = parse_kept(run, out, o);
    if (status == CLI_OK && o->summary) status = job_check_output(run, o->summary);
    if (status != CLI_OK) return status;
    if (o->no_stacks && o->python)
        return cli_usage_error(run, "--python is part of the stacks, and --no-stacks takes none");
    return CLI_OK;
}

/* ---- the command ---- */

static void say(void *user, const char *message)
{
    const struct record_user *u = user;
    cli_printer p = {.run = u->run, .to_stderr = true};
    cli_say(&p, "heddle: ");
    cli_say_name(&p, message);
    cli_say(&p, "\n");
    fflush(stderr);
}

/* Each function or event may take a descriptor for each CPU: more than the 1024 that most processes begin with. The
 * command has been forked, and keeps its own limit. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static hd_status attach(void *user, int pid, const char *parts, hd_error *err)
{
    struct record_user *u = user;
    raise_descriptors();
    return u->uprobe.plan ? record_uprobe_attach(&u->uprobe, pid, parts, err) : HD_OK;
}

static hd_status detach(void *user, hd_error *err)
{
    struct record_user *u = user;
    return u->uprobe.plan ? record_uprobe_detach(&u->uprobe, err) : HD_OK;
}

static int plan_uprobes(struct record_user *user, hd_record_options *options)
{
    const struct record_options *o = user->run->options;
    hd_uprobe_options uprobe = {.folded = o->folded,
                                .stacks = o->no_stacks ? HD_UPROBE_NONE : (hd_uprobe_stacks)o->uprobe_stacks,
                                .returns = o->uprobe_returns,
                                .stack_bytes = (uint32_t)o->uprobe_stack_bytes};
    static const cli_texts preset = {.items = {"cuda"}, .count = 1};
    const cli_texts *specs = o->pid && !o->uprobes.count ? &preset : &o->uprobes;
    int status = record_uprobe_plan(&user->uprobe, user->run, specs, &uprobe, o->strict, (int)o->pid);
    if (status != CLI_OK || !(user->uprobe.plan || o->kernel)) return status;
    options->attach = attach;
    options->detach = detach;
    options->no_cuda = user->uprobe.plan && !o->library;
    options->pid = (int)o->pid;
    return CLI_OK;
}

/* Of the trace that was written. */
static hd_status summarize(cli_run *run, const hd_record_result *result)
{
    const struct record_options *o = run->options;
    const hd_read_options read = {.threads = (unsigned)o->threads, .lazy = true};
    hd_job *job;
    if (!o->summary || !result || !result->written) return HD_OK;
    if (hd_job_new(&job, &run->err) != HD_OK) return run->err.status;
    hd_status status = job_add(job, run, result->output, &read);
    if (status == HD_OK) status = hd_job_finish(job, &run->err);
    if (status == HD_OK) status = hd_job_write(job, o->summary, NULL, &run->err);
    hd_job_free(job);
    return status;
}

/* The command's, unless that is 0 and there is no trace. */
static int exit_status(cli_run *run, const hd_record_result *result, hd_status status)
{
    if (result && !result->started && result->exit_status) return result->exit_status;
    if (!result || !result->started) return status == HD_ERR_ARGUMENT ? CLI_USAGE : CLI_FAILED;
    if (result->without) run->err = (hd_error){0}; /* printed before the command ran */
    cli_report(run);
    const struct record_options *o = run->options;
    /* Captures, or another tool's output, that stay are something. */
    bool has_any = result->written || result->parts_kept || o->tool;
    bool is_failed = status != HD_OK || !has_any;
    return result->exit_status == 0 && is_failed ? CLI_FAILED : result->exit_status;
}

/* If a standard descriptor is closed, the next file we open would get its number, and our messages. The command still
 * finds it closed. */
static void fill_descriptors(void)
{
    int fd;
    do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

static int run_command(cli_run *run, hd_record_options *options)
{
    hd_record_result *result;
    cli_progress progress;
    struct record_user *user = options->user;
    fill_descriptors();
    cli_progress_init_later(&progress, run, "reading");
    options->progress = cli_progress_update;
    options->progress_user = &progress;
    hd_status status = hd_record_run(&result, run->operands, options, &run->err);
    cli_progress_deinit(&progress);
    if (result && result->written) record_print(run, result);
    if (status == HD_OK) status = summarize(run, result);
    record_uprobe_print(&user->uprobe, run);
    int exit = exit_status(run, result, status);
    hd_record_result_free(result);
    return exit;
}

static int recover(cli_run *run, const hd_record_options *options, const char *folder)
{
    hd_record_result *result;
    if (run->operand_count) return cli_usage_error(run, "--recover runs no command");
    hd_status status = hd_record_recover(&result, folder, options, &run->err);
    if (result && result->written) record_print(run, result);
    if (status == HD_OK) status = summarize(run, result);
    hd_record_result_free(result);
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

/* Exit status 1: the way that this command goes by default does not work here. */
static int check_ways(cli_run *run)
{
    hd_devices *devices;
    hd_table *table;
    const hd_devices_options look = {.ways_only = true};
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    if (run->operand_count) return cli_usage_error(run, "--check runs no command");
    if (hd_devices_new(&devices, &look, &run->err) != HD_OK) return CLI_FAILED;
    const hd_way *cuda = hd_devices_way(devices, "cuda");
    int status = cuda && cuda->state == HD_WAY_MISSING ? CLI_FOUND : CLI_OK;
    if (!run->global.json) {
        ways_print(run, devices);
    } else if (ways_table(&table, devices, &run->err) == HD_OK) {
        cli_print(run, "{\n  " CLI_SCHEMA("record-check") ",\n  \"ways\":");
        hd_table_write(table, (hd_sink){cli_write, run}, &style, &run->err);
        cli_print(run, "\n}\n");
        hd_table_free(table);
    }
    hd_devices_free(devices);
    return run->err.status == HD_OK ? status : CLI_FAILED;
}

static int record(cli_run *run)
{
    const struct record_options *o = run->options;
    struct record_user user = {.run = run};
    hd_record_options options;
    int status = fill_options(run, &options);
    if (status != CLI_OK) return status;
    options.say = say;
    options.user = &user;
    if (o->recover && o->uprobes.count) return cli_usage_error(run, "--recover runs no command, which --uprobe needs");
    if (o->recover) return recover(run, &options, o->recover);
    if (o->pid && run->operand_count)
        return cli_usage_error(run, "--pid records a process that runs, and runs no command");
    status = plan_uprobes(&user, &options);
    if (status == CLI_OK && run->operand_count == 0 && !o->pid)
        status = cli_usage_error(run, "record needs a command: heddle record -- COMMAND...");
    if (status == CLI_OK) status = run_command(run, &options);
    record_uprobe_deinit(&user.uprobe);
    return status;
}

static int run(cli_run *run)
{
    const struct record_options *given = run->options;
    struct record_options own = *given;
    const char **names[] = {&own.output, &own.summary, &own.folded};
    char *paths[] = {NULL, NULL, NULL};
    uint64_t rank, ranks;
    int status = CLI_OK;
    if (own.check) return check_ways(run);
    run->options = &own;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == CLI_OK; i++) {
        if (!*names[i] || !strstr(*names[i], RANK)) continue;
        if (!hd_record_rank(&rank, &ranks)) {
            status = cli_usage_error(run,
                                     "'%.100s': " RANK " becomes the number that mpirun, srun or torchrun gives to "
                                     "this process, and none of them started it",
                                     *names[i]);
        } else if (!(*names[i] = paths[i] = job_path(*names[i], RANK, rank))) {
            hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
            status = CLI_FAILED;
        }
    }
    if (status == CLI_OK) status = record(run);
    run->options = given;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) free(paths[i]);
    return status;
}

#define FIELD(name) .field = offsetof(struct record_options, name)

static const char *const graph_choices[] = {"node", "whole", NULL};
static const char *const policy_choices[] = {"newest", "oldest", "block", NULL};
static const char *const wait_choices[] = {"command", "all", NULL};
static const char *const uprobe_stacks_choices[] = {"unwind", "frames", "none", NULL}; /* as hd_uprobe_stacks */
static const struct record_options defaults = {0};

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(output),
     .help =
         "the trace, in the format of its extension; else COMMAND-DATE.heddle in this folder. In this name and those "
         "of --summary and --folded, {rank} becomes the number that mpirun, srun or torchrun gives to this process"},
    {.name = "summary",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     FIELD(summary),
     .help = "also write its summary, .hds: heddle combine joins the summaries of a job's ranks"},
    {.name = "no-stacks", .kind = CLI_FLAG, FIELD(no_stacks), .help = "no CPU stacks of launches"},
    {.name = "python", .kind = CLI_FLAG, FIELD(python), .help = "Python functions in the stacks of launches"},
    {.name = "memory", .kind = CLI_FLAG, FIELD(memory), .help = "allocations and releases of GPU memory"},
    {.name = "graph",
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = graph_choices,
     FIELD(graph),
     .help = "record each node of a launched graph, or the whole graph as one activity, which costs less"},
    {.name = "no-nvtx", .kind = CLI_FLAG, FIELD(no_nvtx), .help = "no NVTX ranges"},
    {.name = "delay",
     .kind = CLI_TEXT,
     .value = "T",
     FIELD(delay),
     .help = "begin this long after each process first calls CUDA or NVTX: 10s, 500ms"},
    {.name = "duration", .kind = CLI_TEXT, .value = "T", FIELD(duration), .help = "end this long after the begin"},
    {.name = "steps",
     .kind = CLI_TEXT,
     .value = "A:B",
     FIELD(steps),
     .help = "only steps A to B; ranges named ProfilerStep#N or step N mark the steps"},
    {.name = "step-name",
     .kind = CLI_TEXT,
     .value = "NAME",
     FIELD(step_name),
     .help = "the name of the NVTX ranges that mark steps"},
    {.name = "budget",
     .kind = CLI_TEXT,
     .value = "P%",
     FIELD(budget),
     .help =
         "record windows of 10 steps again and again, on all ranks the same, so rarely that recording costs at most "
         "P percent of the program's time: 1%"},
    {.name = "keep-last",
     .kind = CLI_TEXT,
     .value = "T",
     FIELD(keep_last),
     .help =
         "a flight recorder: keep only the last T of the run, and a quarter of T more. SIGUSR2 or heddle trigger PID "
         "also writes what is kept at that moment, as FILE with a number, and recording goes on: 30s"},
    {.name = "on-stall",
     .kind = CLI_TEXT,
     .value = "T",
     FIELD(on_stall),
     .help = "with --keep-last, also write it when a process has recorded nothing for this long: 60s"},
    {.name = "trigger",
     .kind = CLI_FLAG,
     FIELD(trigger),
     .help = "begin when SIGUSR2 arrives or heddle trigger PID is called; the next signal or call ends the capture"},
    {.name = "policy",
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = policy_choices,
     FIELD(policy),
     .help = "when the disk is too slow: drop the newest, the oldest, or block the program"},
    {.name = "no-symbolize",
     .kind = CLI_FLAG,
     FIELD(no_symbolize),
     .help = "leave addresses in stacks as they are, for heddle symbolize"},
    {.name = "wait",
     .kind = CLI_CHOICE,
     .value = "WHICH",
     .choices = wait_choices,
     FIELD(wait),
     .help = "make the trace when the command has ended, or when all its descendants have"},
    {.name = "strict",
     .kind = CLI_FLAG,
     FIELD(strict),
     .help = "do not run the command if it cannot be captured; without this option a message is printed and it runs"},
    {.name = "keep",
     .letter = 'k',
     .kind = CLI_FLAG,
     FIELD(keep),
     .help = "keep the captures of the processes, FILE.parts"},
    {.name = "recover",
     .kind = CLI_TEXT,
     .value = "FOLDER",
     FIELD(recover),
     .help = "make the trace of a recording that was killed, from its FILE.parts"},
    {.name = "library",
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(library),
     .help = "libheddle-cuda.so (default: $HEDDLE_CUDA_LIBRARY, else next to heddle or in ../lib/heddle)"},
    {.name = "uprobe",
     .kind = CLI_TEXTS,
     .value = "LIB:SYMBOL",
     .offer = "cuda hip",
     FIELD(uprobes),
     .help =
         "capture calls of this function (with * ?) by the system's kernel, without CUPTI; or cuda, or hip: all of "
         "those that launch GPU activities. Repeat for more. libheddle-cuda.so is left out unless --library names it"},
    {.name = "uprobe-stacks",
     .kind = CLI_CHOICE,
     .value = "HOW",
     .choices = uprobe_stacks_choices,
     FIELD(uprobe_stacks),
     .help = "their stacks by unwind tables, by frame pointers alone, or none"},
    {.name = "uprobe-stack-bytes",
     .kind = CLI_COUNT,
     .value = "BYTES",
     .min = 512,
     .max = 61440,
     FIELD(uprobe_stack_bytes),
     .help = "how much of each stack is copied, a multiple of 8; 0 is 16384"},
    {.name = "uprobe-return",
     .kind = CLI_FLAG,
     FIELD(uprobe_returns),
     .help = "with --uprobe, also trace the returns of these functions, for their durations. A C++ exception that "
             "leaves such a function ends the program"},
    {.name = "folded",
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(folded),
     .help = "also write their stacks as extended folded text"},
    {.name = "pid",
     .kind = CLI_COUNT,
     .value = "PID",
     .min = 1,
     .max = INT32_MAX,
     FIELD(pid),
     .help =
         "record this process, which runs already, by --uprobe (cuda unless given), until it ends, for --duration, or "
         "until Ctrl-C. It is not stopped"},
    {.name = "kernel",
     .kind = CLI_FLAG,
     FIELD(kernel),
     .help = "also record events of the operating system's kernel on all CPUs: scheduling of threads, interrupts, jobs "
             "and fences of GPU drivers"},
    {.name = "with",
     .kind = CLI_TEXT,
     .value = "TOOL",
     .offer = "nsys rocprofv3 xctrace mctracer",
     FIELD(tool),
     .help = "let nsys, rocprofv3, xctrace or mctracer run the command, and convert the readable part of its output; "
             "the whole output stays in FILE.TOOL"},
    {.name = "check",
     .kind = CLI_FLAG,
     FIELD(check),
     .help = "list the ways to capture that are available on this machine, and run nothing"},
    OPTION_MEMORY_LIMIT(FIELD(memory_limit)),
    OPTION_THREADS(FIELD(threads), "threads that make the trace"),
    {0},
};

const cli_command cmd_record = {
    .name = "record",
    .group = CLI_START,
    .summary = "run a program and record its GPU activity",
    .usage = "[--] COMMAND...",
    .description =
        "Runs COMMAND as it would run alone, and writes one trace with the kernels, copies, launches, "
        "synchronisation, NVTX ranges and launching stacks of the command and of all processes that it starts. The "
        "program need not be changed: the CUDA driver loads libheddle-cuda.so into each process that uses a GPU. "
        "Programs that use libheddle-capture themselves can write to the folder $HEDDLE_CAPTURE_DIR.\n\n"
        "While the command runs, each process appends to a file of its own in FILE.parts. After the command has "
        "ended, these become one trace, and the folder is removed. If anything is killed, the files keep what was "
        "written, and --recover makes the trace from them.\n\n"
        "The command has the terminal, descriptors, working folder and process group of heddle. Signals sent to "
        "heddle are passed on to it. The exit status is the command's, 128 + N if signal N killed it, 127 if it was "
        "not found, 126 if it cannot be executed; 1 if it ended with 0 but there is no trace.\n\n"
        "If the command cannot be captured, heddle prints the reason and runs it all the same, unless --strict is "
        "given. At the end, heddle prints to standard error what the trace contains, what was lost, and what the "
        "capture cost: the time in the program's threads, and the CPU time of other threads, as each process "
        "measured it.",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle record -o train.heddle -- python train.py", "a training run"},
            {"heddle record --steps 10:12 --python torchrun --nproc-per-node 8 train.py", "three steps of all ranks"},
            {"mpirun -n 4 heddle record -o 'job-rank{rank}.heddle' -- ./simulation",
             "a trace of each rank of an MPI job"},
            {"heddle record --budget 1% -o train.heddle -- python train.py", "a whole run, at 1 % of its time at most"},
            {"heddle record --keep-last 30s --on-stall 60s python train.py", "the last 30 s before the end or a stall"},
            {"heddle record --delay 60s --duration 5s ./server", "five seconds, a minute after the start"},
            {"heddle record --uprobe cuda --folded launches.folded python train.py", "launch stacks, without CUPTI"},
            {"sudo heddle record --pid 4711 --duration 10s",
             "launches of a program that runs already, with their stacks"},
            {"sudo heddle record --kernel ./server", "events of the system next to those of the GPU, on one clock"},
            {"heddle record --with rocprofv3 -o run.heddle ./simulation", "on an AMD GPU, by AMD's tool"},
            {"heddle record --check", "which ways to capture are available here, and what to do for the others"},
            {"heddle record --recover train.heddle.parts", "after a crash of the machine"},
            {0},
        },
    .defaults = &defaults,
    .options_size = sizeof(struct record_options),
    .operands_min = 0,
    .operands_max = -1,
    .has_json = true,
    .operands_are_command = true,
    .run = run,
};
