/* synth.c - heddle synth: make traces of a training run that never was */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/synth_options.h"
#include "cli/job_in.h"
#include "cli/report_out.h"
#include "heddle/table.h"

/* ---- names of files ---- */

#define RANK "{rank}"

static bool names_rank(const char *path)
{
    return path && strstr(path, RANK);
}

/* "out{rank}.json" and 3 -> "out3.json", and "out.json.gz" and 3 -> "out_rank3.json.gz". The caller frees it. */
static char *path_of_rank(const char *path, uint32_t rank, bool is_only)
{
    if (is_only || names_rank(path)) return job_path(path, RANK, rank);
    size_t stem = strlen(path), room = stem + 24;
    if (cli_ends_with(path, stem, ".gz"))
        stem -= 3;
    else if (cli_ends_with(path, stem, ".zst"))
        stem -= 4;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = stem; i > (size_t)(name - path) + 1; i--) {
        if (path[i - 1] != '.') continue;
        stem = i - 1;
        break;
    }
    char *out = malloc(room);
    if (out) snprintf(out, room, "%.*s_rank%u%s", (int)stem, path, (unsigned)rank, path + stem);
    return out;
}

/* ---- what was made ---- */

typedef struct count_column {
    const char *name, *text; /* of the column; of the sentence, NULL: not in it */
    size_t offset;
} count_column;

#define TRUTH(name, text)                                                                                              \
    {                                                                                                                  \
#name, text, offsetof(hd_synth_truth, name)                                                                    \
    }
static const count_column contents[] = {
    TRUTH(events, "events"),           TRUTH(steps, "steps"),     TRUTH(ranks, NULL),
    TRUTH(launches, "launches"),       TRUTH(kernels, "kernels"), TRUTH(copies, "copies"),
    TRUTH(collectives, "collectives"), TRUTH(flows, "flows"),
};
static const count_column faults[] = {
    TRUTH(crossings_small, "small crossings"),
    TRUTH(crossings_genuine, "genuine crossings"),
    TRUTH(crossings_multi, NULL),
    TRUTH(crossing_pairs, "pairs that cross"),
    TRUTH(late_kernels, "late kernels"),
    TRUTH(negatives, "negative durations"),
    TRUTH(orphan_launches, "launches without kernel"),
    TRUTH(orphan_kernels, "kernels without launch"),
    TRUTH(orphan_flow_starts, "flows without end"),
    TRUTH(orphan_flow_ends, "flows without start"),
    TRUTH(orphan_begins, "begins without end"),
    TRUTH(orphan_ends, "ends without begin"),
};
enum { CONTENTS = sizeof contents / sizeof contents[0], FAULTS = sizeof faults / sizeof faults[0] };

static uint64_t count_at(const hd_synth_truth *truth, const count_column *column)
{
    return *(const uint64_t *)(const void *)((const char *)truth + column->offset);
}

static void print_counts(cli_run *run, const char *label, const hd_synth_truth *truth, const count_column *columns,
                         size_t column_count)
{
    char text[HD_VALUE_TEXT_BYTES];
    const char *before = label;
    for (size_t i = 0; i < column_count; i++) {
        uint64_t count = count_at(truth, &columns[i]);
        if (!columns[i].text || !count) continue;
        cli_print(run, "%s%s %s", before, hd_text_count(text, count), columns[i].text);
        before = ", ";
    }
    if (before != label) cli_print(run, "\n");
}

/* A trace and its stacks. */
typedef struct made_file {
    const char *path, *stacks_path; /* stacks_path NULL: no stacks */
    hd_synth_truth truth;
    hd_synth_damage_truth damage;
    uint64_t stacks, stacks_lost;
} made_file;

static void print_stacks(cli_run *run, const made_file *made)
{
    char text[HD_VALUE_TEXT_BYTES], lost[HD_VALUE_TEXT_BYTES];
    if (!made->stacks_path) return;
    cli_print(run, "  stacks  %s in ", hd_text_count(text, made->stacks));
    report_print_safe(run, made->stacks_path, strlen(made->stacks_path));
    if (made->stacks_lost) cli_print(run, ", %s lost", hd_text_count(lost, made->stacks_lost));
    cli_print(run, "\n");
}

static void print_made(cli_run *run, const made_file *made)
{
    char text[HD_VALUE_TEXT_BYTES];
    const hd_synth_truth *truth = &made->truth;
    const hd_synth_damage_truth *damage = &made->damage;
    cli_print(run, "wrote ");
    report_print_path(run, made->path);
    cli_print(run, "\n");
    print_counts(run, "  has     ", truth, contents, CONTENTS);
    if (truth->start_ns != HD_NO_TIME)
        cli_print(run, "  lasts   %s", hd_text_duration(text, truth->end_ns - truth->start_ns));
    if (truth->clock_offset_ns) cli_print(run, ", its clock %s off", hd_text_duration(text, truth->clock_offset_ns));
    cli_print(run, "\n");
    print_stacks(run, made);
    print_counts(run, "  faults  ", truth, faults, FAULTS);
    const char *before = "  damage  ";
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) {
        if (!damage->hit[kind]) continue;
        cli_print(run, "%s%s %s", before, synth_damage_kinds[kind], hd_text_count(text, damage->hit[kind]));
        before = ", ";
    }
    if (damage->events_hit) cli_print(run, ": %s events\n", hd_text_count(text, damage->events_hit));
}

static hd_status add_columns(hd_table_builder *builder)
{
    hd_table_add_column(builder, "path", HD_VALUE_STRING);
    for (size_t i = 0; i < CONTENTS; i++) hd_table_add_column(builder, contents[i].name, HD_VALUE_COUNT);
    for (size_t i = 0; i < FAULTS; i++) hd_table_add_column(builder, faults[i].name, HD_VALUE_COUNT);
    hd_table_add_column(builder, "clock_offset_ns", HD_VALUE_INT);
    hd_table_add_column(builder, "clock_drift_ppb", HD_VALUE_INT);
    hd_table_add_column(builder, "duration_ns", HD_VALUE_DURATION);
    hd_table_add_column(builder, "stacks", HD_VALUE_COUNT);
    hd_table_add_column(builder, "stacks_lost", HD_VALUE_COUNT);
    hd_table_add_column(builder, "damaged_events", HD_VALUE_COUNT);
    char name[32];
    hd_status status = HD_OK;
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) {
        snprintf(name, sizeof name, "damage_%s", synth_damage_kinds[kind]);
        status = hd_table_add_column(builder, name, HD_VALUE_COUNT);
    }
    return status;
}

static hd_status add_row(hd_table_builder *builder, const made_file *made)
{
    const hd_synth_truth *truth = &made->truth;
    const hd_synth_damage_truth *damage = &made->damage;
    hd_table_add_text(builder, made->path);
    for (size_t i = 0; i < CONTENTS; i++) hd_table_add_count(builder, count_at(truth, &contents[i]));
    for (size_t i = 0; i < FAULTS; i++) hd_table_add_count(builder, count_at(truth, &faults[i]));
    hd_table_add_int(builder, truth->clock_offset_ns);
    hd_table_add_int(builder, truth->clock_drift_ppb);
    hd_table_add_int(builder, truth->start_ns == HD_NO_TIME ? 0 : truth->end_ns - truth->start_ns);
    hd_table_add_count(builder, made->stacks);
    hd_table_add_count(builder, made->stacks_lost);
    hd_status status = hd_table_add_count(builder, damage->events_hit);
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) status = hd_table_add_count(builder, damage->hit[kind]);
    return status;
}

/* ---- making ---- */

typedef struct making {
    cli_run *run;
    const synth_command *command;
    hd_synth_options how;   /* but for the rank */
    hd_table_builder *rows; /* with --json */
    cli_progress progress;
} making;

/* "gpu.ndjson", also compressed */
static bool is_lines(const char *path)
{
    static const char *const endings[] = {".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz", ".ndjson.zst", ".jsonl.zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (cli_ends_with(path, strlen(path), endings[i])) return true;
    }
    return false;
}

static bool is_summary(const char *path)
{
    return cli_ends_with(path, strlen(path), ".hds");
}

/* Writes the summary that heddle summarize would make of the trace, without writing the trace. */
static hd_status write_summary(const hd_trace *trace, const char *path, hd_error *err)
{
    hd_job *job;
    hd_status status = hd_job_new(&job, err);
    if (status != HD_OK) return status;
    status = hd_job_add_trace(job, trace, path, err);
    if (status == HD_OK) status = hd_job_finish(job, err);
    if (status == HD_OK) status = hd_job_write(job, path, NULL, err);
    hd_job_free(job);
    return status;
}

static hd_status write_trace(making *m, const hd_trace *trace, const char *path, hd_synth_damage_truth *damage)
{
    const synth_command *command = m->command;
    if (command->damage && command->damage_count) {
        hd_synth_damage_options how = {(uint32_t)command->damage, (uint32_t)command->damage_count, command->seed};
        return hd_synth_write_damaged(trace, path, &how, damage, &m->run->err);
    }
    if (command->cupti && is_lines(path)) return hd_synth_cupti_write(trace, path, &m->run->err);
    if (is_summary(path)) return write_summary(trace, path, &m->run->err);
    hd_write_options how = {.progress = cli_progress_update, .progress_user = &m->progress};
    return hd_trace_write(trace, path, &how, &m->run->err);
}

/* The trace and its stacks, of one rank or of all. */
static hd_status write_files(making *m, const char *path, const char *stacks_path, made_file *made)
{
    hd_trace *trace;
    hd_synth_stacks stacks = {0};
    hd_error *err = &m->run->err;
    hd_status status = hd_synth_trace_with_stacks(&trace, stacks_path ? &stacks : NULL, &made->truth, &m->how, err);
    if (status == HD_OK) {
        cli_progress_init(&m->progress, m->run, "writing");
        status = write_trace(m, trace, path, &made->damage);
        cli_progress_deinit(&m->progress);
        hd_trace_free(trace);
    }
    if (status == HD_OK && stacks_path) status = hd_synth_stacks_write(&stacks, stacks_path, err);
    made->stacks = stacks.count - stacks.lost;
    made->stacks_lost = stacks.lost;
    hd_synth_stacks_deinit(&stacks);
    return status;
}

static hd_status make_file(making *m, const char *path, const char *stacks_path, int64_t rank)
{
    made_file made = {.path = path, .stacks_path = stacks_path};
    m->how.rank = (int32_t)rank;
    hd_status status = write_files(m, path, stacks_path, &made);
    if (status != HD_OK) return status;
    if (m->rows) return add_row(m->rows, &made);
    bool to_stdout = strcmp(path, "-") == 0 || (stacks_path && strcmp(stacks_path, "-") == 0);
    if (!m->run->global.quiet && !to_stdout) print_made(m->run, &made);
    return HD_OK;
}

/* The only one: its name is as given, but for {rank}. */
static hd_status make_file_of_rank(making *m, uint32_t rank, bool is_only)
{
    const synth_command *command = m->command;
    char *path = path_of_rank(command->output, rank, is_only);
    char *stacks_path = command->stacks ? path_of_rank(command->stacks, rank, is_only) : NULL;
    hd_status status = HD_ERR_MEMORY;
    if (path && (stacks_path || !command->stacks))
        status = make_file(m, path, stacks_path, is_only ? m->command->rank : (int64_t)rank);
    else
        hd_error_set(&m->run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    free(path);
    free(stacks_path);
    return status;
}

static hd_status make_files(making *m)
{
    const synth_command *command = m->command;
    if (command->merged) return make_file(m, command->output, command->stacks, HD_SYNTH_ALL_RANKS);
    if (command->ranks == 1 || command->rank >= 0)
        return make_file_of_rank(m, command->rank >= 0 ? (uint32_t)command->rank : 0, true);
    for (uint32_t rank = 0; rank < command->ranks; rank++) {
        hd_status status = make_file_of_rank(m, rank, false);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

static int make_json(making *m)
{
    hd_error *err = &m->run->err;
    hd_table *table = NULL;
    if (hd_table_builder_new(&m->rows, "synth", err) != HD_OK) return CLI_FAILED;
    hd_status status = add_columns(m->rows);
    if (status == HD_OK) status = make_files(m);
    if (status != HD_OK) {
        hd_table_builder_free(m->rows);
        hd_error_set(err, status, NULL, HD_OFFSET_NONE, "cannot make the table of files");
        return CLI_FAILED;
    }
    if (hd_table_finish(&table, m->rows, err) != HD_OK) return CLI_FAILED;
    report_json_rows(m->run, table, CLI_SCHEMA("synth"));
    hd_table_free(table);
    return CLI_OK;
}

static bool stacks_make_sense(cli_run *run, const synth_command *command)
{
    bool any = command->stack_jitter || command->stack_lost || command->stack_paths || command->stack_offset ||
               command->stack_comm || command->stack_ids;
    if (!command->stacks && any) {
        cli_usage_error(run, "options of stacks need --stacks FILE: where should the stacks go?");
        return false;
    }
    if (!command->stacks || strcmp(command->stacks, "-") != 0) return true;
    if (run->global.json || strcmp(command->output, "-") == 0) {
        cli_usage_error(run, "--stacks - needs standard output for itself");
        return false;
    }
    if (command->ranks == 1 || command->merged || command->rank >= 0) return true;
    cli_usage_error(run, "%d ranks make as many files of stacks: with --stacks - give --merged or --rank",
                    (int)command->ranks);
    return false;
}

static int run(cli_run *run)
{
    const synth_command *command = run->options;
    making m = {.run = run, .command = command};
    if (!command->output) return cli_usage_error(run, "-o FILE is missing: where should the trace go?");
    bool to_stdout = strcmp(command->output, "-") == 0;
    if (command->merged && command->rank >= 0)
        return cli_usage_error(run, "--merged is for all ranks, --rank for one: give one of them");
    if (command->merged && (names_rank(command->output) || names_rank(command->stacks)))
        return cli_usage_error(run, "--merged makes one file of all ranks: leave {rank} out of its name");
    if (command->rank >= (int64_t)command->ranks)
        return cli_usage_error(run, "--rank %d: with --ranks %d the last rank is %d", (int)command->rank,
                               (int)command->ranks, (int)command->ranks - 1);
    if (is_lines(command->output) && (!command->cupti || command->damage))
        return cli_usage_error(run,
                               "lines of JSON are what a CUPTI library writes: --cupti is needed, --damage not known");
    if (is_summary(command->output) && command->damage)
        return cli_usage_error(run, "--damage breaks JSON: a summary has none");
    if (to_stdout && run->global.json) return cli_usage_error(run, "-o - and --json both need standard output");
    if (to_stdout && command->ranks > 1 && !command->merged && command->rank < 0)
        return cli_usage_error(run, "%d ranks make as many files: with -o - give --merged or --rank",
                               (int)command->ranks);
    if (!stacks_make_sense(run, command) || !synth_options_of(&m.how, run, command, 0)) return CLI_USAGE;
    if (run->global.json) return make_json(&m);
    return make_files(&m) == HD_OK ? CLI_OK : CLI_FAILED;
}

const cli_command cmd_synth = {
    .name = "synth",
    .group = CLI_DEVELOP,
    .summary = "generate a synthetic trace, seeded, with faults on request",
    .description =
        "Generates the trace of a simulated training run as a profiler would write it: steps, operators, launches, "
        "kernels on several streams, copies, collectives over ranks with a clock each, Python stacks, flows, "
        "counters, memory. The same options give the same bytes on every machine.\n\n"
        "One GPU, host, data loader or clock of a job can be made the culprit: --slow-gpu, --slow-host, "
        "--late-loader, --clock-shift.\n\n"
        "Faults can be added; they are counted in the summary (and with --json), so that the findings of check, fix or "
        "an analysis can be compared with the truth. Each rank gets this number of faults. --damage breaks the JSON "
        "text itself: truncate (a cut tail), comma, nan (bare NaN and Infinity), quote, control, utf8 (in names), "
        "empty ({} and null), duplicate (a key twice).\n\n"
        "--program generates a random program instead, in which threads, streams, events and waits depend on one "
        "another as they do on a machine. --what-if applies a change to it: the result is the truth that heddle "
        "replay has to predict.\n\n"
        "--stacks writes what a uprobe on cudaLaunchKernel and similar functions would have recorded of the same "
        "run, a line for each launch: time, name of the thread, pid, tid, cpu, and the native stack from the root to "
        "the call. With --cupti the trace has what an injected CUPTI library records: launches and kernels, but no "
        "stacks. heddle merge joins the two. With the name FILE.ndjson it is written as such a library writes it. "
        "Jitter, a clock offset, lost stacks and different thread ids make the join as hard as in practice.",
    .options = synth_options,
    .examples =
        (const cli_example[]){
            {"heddle synth -o small.json", "four steps on one GPU"},
            {"heddle synth -o big.json.gz --events 10M --seed 7", "ten million events"},
            {"heddle synth -o run.json --ranks 8 --steps 10", "run_rank0.json to run_rank7.json"},
            {"heddle synth -o 'run/{rank}.json.gz' --ranks 8", "run/0.json.gz to run/7.json.gz"},
            {"heddle synth -o job.json --ranks 16 --host-ranks 8 --slow-gpu 3=40 --late-loader 5=20ms",
             "two hosts, and two ranks that all others wait for"},
            {"heddle synth -q -o parts/rank.hds --ranks 1024 --events 2M", "summaries of traces that are never stored"},
            {"heddle synth -o bad.json --crossings 40 --damage all", "something for check and fix"},
            {"heddle synth -o half.json --program --seed 7 --what-if 'scale:*gemm*=0.5'",
             "program 7, and its products twice as fast: what heddle replay should predict"},
            {"heddle synth -o gpu.json --cupti --stacks cpu.txt --stack-offset 3s", "two halves for merge"},
            {0},
        },
    .defaults = &synth_defaults,
    .options_size = sizeof(synth_command),
    .has_json = true,
    .run = run,
};
