/* replay.c - heddle replay: a trace run again, as it is and with changes (heddle/analysis/replay.h) */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands/report/gpus.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/table_out.h"
#include "heddle/analysis/replay.h"

struct replay_options {
    cli_given given; /* those of the replay */
    cli_texts gpus;
    const char *output, *against, *binary;
    bool all, strict;
};

enum { ROWS_SHOWN = 10, OPTIONS_MAX = 32 };

#define FIELD(member) .field = offsetof(struct replay_options, member)

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT",
     .offer = "<files>",
     FIELD(output),
     .help = "write the replayed trace, in the format of its extension"},
    {.name = "against",
     .kind = CLI_TEXT,
     .value = "OTHER",
     .offer = "<files>",
     FIELD(against),
     .help = "compare order and dependencies with another trace of the same program; exit status 1 if they differ"},
    {.name = "gpus",
     .kind = CLI_TEXTS,
     .value = "FILE",
     .offer = "<files>",
     FIELD(gpus),
     .help = "a table with the peak rates of more GPUs, for --gpu, such as share/heddle/gpus.toml; "
             "~/.config/heddle/gpus.toml is "
             "read first"},
    {.name = "all", .letter = 'a', .kind = CLI_FLAG, FIELD(all), .help = "every row of each table"},
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    {0},
};

static const cli_option *more_options(const char *topic)
{
    static cli_option list[OPTIONS_MAX];
    size_t count = 0;
    (void)topic;
    for (const hd_option_about *o = hd_replay_about()->options; o->name && count + 1 < OPTIONS_MAX; o++)
        list[count++] = (cli_option){
            .name = o->name, .kind = CLI_GIVEN, .value = cli_value_name(o->kind), .help = o->meaning, FIELD(given)};
    return list;
}

/* ---- text ---- */

static const char *meaning_of(const char *table)
{
    const hd_report_table_about *t = hd_replay_about()->tables;
    while (strcmp(t->name, table) != 0) t++;
    return t->meaning;
}

static void print_table(cli_run *run, const hd_table *table, int64_t start_ns)
{
    const struct replay_options *chosen = run->options;
    size_t rows = hd_table_row_count(table), first = chosen->all || rows <= ROWS_SHOWN + 1 ? rows : ROWS_SHOWN;
    hd_table *shown;
    char text[HD_VALUE_TEXT_BYTES];
    if (!rows || cli_table_without(&shown, table, "", start_ns, &run->err) != HD_OK) return;
    cli_print_heading(run, hd_table_name(table), meaning_of(hd_table_name(table)));
    report_print_rows(run, shown, first);
    if (first < rows) cli_print(run, "  … %s more rows; --all\n", hd_text_count(text, rows - first));
    hd_table_free(shown);
}

static void print_result(cli_run *run, const char *path, const hd_report *report, int64_t start_ns, hd_error *err)
{
    const hd_report_part part = {path, hd_replay_about(), report, start_ns};
    if (run->global.json) {
        hd_report_print((hd_sink){cli_write, run}, HD_REPORT_JSON, &part, 1, err);
        return;
    }
    report_print_path(run, path);
    cli_print(run, "  %s: %s\n", part.about->name, part.about->title);
    for (size_t i = 0; i < report->table_count; i++) print_table(run, report->tables[i], start_ns);
}

/* ---- the command ---- */

/* A refusal is reported with its reason. *out_same: the order of ties does not matter. */
static hd_status replay_trace(bool *out_same, cli_run *run, const char *path, const hd_trace *trace,
                              const char *const *texts, const hd_gpus *gpus)
{
    const struct replay_options *chosen = run->options;
    hd_report report;
    hd_trace *replayed = NULL;
    hd_error printing = {0};
    int64_t start_ns = hd_trace_facts_of(trace)->start_ns;
    hd_status status = hd_replay(&report, chosen->output ? &replayed : NULL, trace, texts, gpus, &run->err);
    if (status == HD_OK || status == HD_ERR_UNSUPPORTED)
        print_result(run, path, &report, start_ns == HD_NO_TIME ? 0 : start_ns, &printing);
    const hd_table *ties = hd_report_table(&report, "tie_names");
    *out_same = !ties || !hd_table_row_count(ties);
    if (status == HD_OK && ties && !run->global.json)
        cli_print(run, "\n%s\n", *out_same ? "the same in every order" : "they differ");
    if (status == HD_OK && printing.status != HD_OK) {
        run->err = printing;
        status = printing.status;
    }
    if (status == HD_OK && replayed) status = report_write(run, replayed, chosen->output, (hd_write_options){0});
    hd_report_free(&report);
    hd_trace_free(replayed);
    return status;
}

/* Whether they are the same, by *out_same. */
static hd_status compare(bool *out_same, cli_run *run, const char *path, const hd_trace *trace)
{
    const struct replay_options *chosen = run->options;
    hd_report report = {0};
    hd_trace *other;
    int64_t start_ns = hd_trace_facts_of(trace)->start_ns;
    *out_same = false;
    if (chosen->output || chosen->given.count)
        return hd_error_set(&run->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "--against compares two traces as they are, without other options of the replay");
    hd_status status = report_read(&other, run, chosen->against,
                                   (hd_read_options){.strict = chosen->strict, .binary = chosen->binary});
    if (status != HD_OK) return status;
    status = hd_replay_compare(&report, out_same, trace, other, &run->err);
    hd_trace_free(other);
    if (status == HD_OK) print_result(run, path, &report, start_ns == HD_NO_TIME ? 0 : start_ns, &run->err);
    if (status == HD_OK && !run->global.json)
        cli_print(run, "\n%s\n", *out_same ? "the same order, the same dependencies" : "they differ");
    hd_report_free(&report);
    return status == HD_OK ? run->err.status : status;
}

static char **collect(const cli_given *given)
{
    char **texts = calloc(CLI_TEXTS_MAX + 1, sizeof *texts);
    for (size_t i = 0; texts && i < given->count; i++) {
        const char *value = given->values[i];
        if (asprintf(&texts[i], "%s%s%s", given->names[i], value ? "=" : "", value ? value : "") < 0) texts[i] = NULL;
    }
    return texts;
}

static void free_texts(char **texts)
{
    for (char **text = texts; text && *text; text++) free(*text);
    free(texts);
}

static int run(cli_run *run)
{
    const struct replay_options *chosen = run->options;
    const char *path = run->operands[0];
    if (chosen->output && strcmp(chosen->output, "-") == 0)
        return cli_usage_error(run, "-o -: standard output is for the tables; name a file");
    if (chosen->output && report_check_format(run, chosen->output, NULL, false) != CLI_OK) return CLI_USAGE;
    if (chosen->output && hd_trace_write_check(chosen->output, NULL, &run->err) != HD_OK) return CLI_FAILED;
    char **texts = collect(&chosen->given);
    hd_trace *trace;
    hd_status status = HD_ERR_MEMORY;
    bool is_same = true, wants_gpus = chosen->gpus.count > 0;
    hd_gpus *gpus = NULL;
    for (size_t i = 0; i < chosen->given.count; i++) wants_gpus |= !strcmp(chosen->given.names[i], "gpu");
    if (wants_gpus && !report_gpus_read(&gpus, run, &chosen->gpus)) {
        free_texts(texts);
        return CLI_FAILED;
    }
    if (texts)
        status = report_read(&trace, run, path, (hd_read_options){.strict = chosen->strict, .binary = chosen->binary});
    if (status == HD_OK) {
        status = chosen->against ? compare(&is_same, run, path, trace)
                                 : replay_trace(&is_same, run, path, trace, (const char *const *)texts, gpus);
        hd_trace_free(trace);
    }
    free_texts(texts);
    hd_gpus_free(gpus);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    return status == HD_OK ? is_same ? CLI_OK : CLI_FAILED : status == HD_ERR_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

const cli_command cmd_replay = {
    .name = "replay",
    .group = CLI_LOOK,
    .summary = "predict a change: faster kernels, cheaper launches, fewer streams",
    .usage = "FILE",
    .offer = "<files>",
    .description =
        "Executes the graph of a trace (heddle graph), first unchanged, then with the changes that the options name. "
        "Threads take as long as in the trace, gaps included. Calls that wait for a GPU wait as long as the replay "
        "requires. A "
        "GPU activity begins when its launch has reached the GPU, its queue is free, and the events that its queue "
        "waits for have occurred. Delays are modelled, not copied from each event: the table model has one delay for "
        "each kind.\n\n"
        "The table check shows how far the unchanged replay is from the trace; the table missing lists activities that "
        "began later than the trace can explain. If steps, span, busy time or the starts of 99 % of "
        "the GPU activities are off by more than --max-error percent, changes are refused and the exit status is "
        "1.\n\n"
        "Changes add up. A step lasts from its start, or the end of the step before it, to the end of the last GPU "
        "activity that it launched. With -o the replayed trace is written, for comparison with the original.",
    .options = options,
    .options_size = sizeof(struct replay_options),
    .more_options = more_options,
    .operands_min = 1,
    .operands_max = 1,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){
            {"heddle replay trace.json", "how well the trace explains itself"},
            {"heddle replay --scale '*gemm*=0.5' --launch-cost 2us trace.json",
             "matrix products twice as fast, and each launch in 2 us"},
            {"heddle replay --overlap communication -o whatif.heddle trace.json",
             "communication on a stream of its own; writes the predicted trace, for comparison"},
            {"heddle replay --gpu 'H100=>B200' trace.json", "the same program on another GPU"},
            {"heddle replay --ties 100 --within 2us trace.json",
             "whether the order of threads that launch on one queue at about the same time matters"},
            {"heddle replay --against other.json trace.json", "whether two runs did the same in the same order"},
            {0},
        },
};
