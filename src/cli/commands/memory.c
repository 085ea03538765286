/* memory.c - heddle memory: allocations, memory live at the peak, and leaks */
#include "cli/cli.h"
#include "cli/commands/flame_out.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "cli/shared_options.h"
#include "cli/table_out.h"

#include <inttypes.h>
#include <string.h>

#include "heddle/analysis/memory.h"
#include "heddle/format.h"
#include "heddle/report.h"

static const char *const tables[] = {"memory",   "devices",   "categories", "peak",   "leaks",
                                     "reserved", "anomalies", "ledger",     "series", NULL};
enum { NO_TABLE = -1, SERIES = 8 };

struct memory_options {
    uint64_t rows;
    int csv;
    const char *output;
    bool series, stacks, no_stacks;
};

static const struct memory_options defaults = {.rows = 20, .csv = NO_TABLE};

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     .field = offsetof(struct memory_options, output),
     .help = "write the trace with counters of what is live; the extension chooses the format"},
    OPTION_ROWS(.field = offsetof(struct memory_options, rows),
                "the N largest of what was live at the peak and at the end; the rest is one more row"),
    OPTION_ROWS_OLD("top", .field = offsetof(struct memory_options, rows)),
    {.name = "stacks",
     .kind = CLI_FLAG,
     .field = offsetof(struct memory_options, stacks),
     .help = "show whole stacks, not only three of their frames"},
    {.name = "no-stacks",
     .kind = CLI_FLAG,
     .field = offsetof(struct memory_options, no_stacks),
     .help = "do not search the slices around events; faster"},
    {.name = "series",
     .kind = CLI_FLAG,
     .field = offsetof(struct memory_options, series),
     .help = "show what is live after each event: a row per allocation and free"},
    {.name = "csv",
     .kind = CLI_CHOICE,
     .value = "TABLE",
     .choices = tables,
     .field = offsetof(struct memory_options, csv),
     .help = "print that table as CSV and nothing else"},
    {0},
};

/* ---- text ---- */

/* Results of a file. */
typedef struct found {
    hd_report report;
    int64_t start_ns; /* start of the trace; text shows times relative to it */
} found;

static void print_table(const report_text *t, const char *name, const char *title, const char *hidden)
{
    cli_run *run = t->run;
    const hd_table *table = hd_report_table(t->report, name);
    hd_table *shown;
    if (!table || hd_table_row_count(table) == 0) return;
    if (cli_table_without(&shown, table, hidden, t->start_ns, &run->err) != HD_OK) return;
    cli_print(run, "\n%s%s%s\n", cli_style(run, CLI_BOLD), title, cli_style(run, CLI_PLAIN));
    report_print_rows(run, shown, hd_table_row_count(shown));
    hd_table_free(shown);
}

static uint64_t count_of(const hd_table *table, size_t column)
{
    return hd_table_is_null(table, 0, column) ? 0 : hd_table_get_count(table, 0, column);
}

static void print_sums(cli_run *run, const hd_report *report)
{
    enum { EVENTS, LEFT_OUT, ALLOCATIONS, FREES, ALLOCATED, FREED, REPLACED, LIVE, LIVE_COUNT };
    const hd_table *sums = hd_report_table(report, "memory");
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    if (count_of(sums, EVENTS) == 0) {
        cli_print(run, "  ");
        cli_help_text(run,
                      "no events of memory: record with `heddle record --memory`, or in PyTorch with "
                      "profile(profile_memory=True)",
                      2);
        return;
    }
    cli_print(run, "  %s events: %s allocations, %s frees", hd_text_count(a, count_of(sums, EVENTS)),
              hd_text_count(b, count_of(sums, ALLOCATIONS)), hd_text_count(c, count_of(sums, FREES)));
    if (count_of(sums, LEFT_OUT)) cli_print(run, ", %s left out", hd_text_count(a, count_of(sums, LEFT_OUT)));
    cli_print(run, "\n  %s allocated = %s freed", hd_text_bytes(a, count_of(sums, ALLOCATED)),
              hd_text_bytes(b, count_of(sums, FREED)));
    if (count_of(sums, REPLACED)) cli_print(run, " + %s replaced", hd_text_bytes(a, count_of(sums, REPLACED)));
    if (hd_table_is_null(sums, 0, LIVE))
        cli_print(run, "; more was freed than allocated\n");
    else
        cli_print(run, " + %s live at the end, in %s allocations\n", hd_text_bytes(a, count_of(sums, LIVE)),
                  hd_text_count(b, count_of(sums, LIVE_COUNT)));
}

/* hidden: the column of stacks that is not shown. */
static void print_text(const report_text *t, const char *hidden)
{
    cli_run *run = t->run;
    const hd_table *categories = hd_report_table(t->report, "categories");
    bool named = false;
    for (size_t i = 0; i < hd_table_row_count(categories); i++) named = named || !hd_table_is_null(categories, i, 2);
    report_print_path(run, t->path);
    cli_print(run, "\n");
    print_sums(run, t->report);
    if (run->global.quiet) return;
    print_table(t, "devices", "devices", "peak_is_total");
    if (named) print_table(t, "categories", "categories", "");
    print_table(t, "peak", "live at the peak", hidden);
    print_table(t, "leaks", "live at the end", hidden);
    print_table(t, "reserved", "reserved by the allocator, and idle", "");
    print_table(t, "anomalies", "anomalies", "");
    print_table(t, "series", "over time", "");
}

void memory_text(const report_text *t)
{
    print_text(t, "stack");
}

/* ---- JSON, CSV ---- */

static void print_json(cli_run *run, const char *path, const hd_report *report, bool more)
{
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    cli_print(run, "%s{\n  " CLI_SCHEMA("memory-file") ",\n  ", more ? ",\n" : "");
    report_json_text(run, "file", path);
    for (size_t i = 0; i < report->table_count; i++) {
        cli_print(run, ",\n  \"%s\":", hd_table_name(report->tables[i]));
        hd_table_write(report->tables[i], (hd_sink){cli_write, run}, &style, &run->err);
    }
    cli_print(run, "\n}");
}

static void print_csv(cli_run *run, const hd_report *report)
{
    const struct memory_options *chosen = run->options;
    const hd_table_style style = {.format = HD_TABLE_CSV};
    const hd_table *table = hd_report_table(report, tables[chosen->csv]);
    if (table) hd_table_write(table, (hd_sink){cli_write, run}, &style, &run->err);
}

/* ---- files ---- */

static hd_status write_counters(cli_run *run, const hd_memory *memory, const hd_trace *trace)
{
    const struct memory_options *chosen = run->options;
    hd_trace *annotated;
    hd_status status = hd_memory_annotate(&annotated, memory, trace, &run->err);
    if (status != HD_OK) return status;
    status = report_write(run, annotated, chosen->output, (hd_write_options){0});
    hd_trace_free(annotated);
    return status;
}

static hd_status analyse(found *out, cli_run *run, const char *path)
{
    const struct memory_options *chosen = run->options;
    cli_progress progress;
    const hd_memory_options find = {
        .no_stacks = chosen->no_stacks, .progress = cli_progress_update, .progress_user = &progress};
    char rows[32];
    const char *asked[] = {rows, chosen->series || chosen->csv == SERIES ? "series" : NULL, NULL};
    hd_trace *trace;
    hd_memory *memory = NULL;
    hd_status status = report_read(&trace, run, path, (hd_read_options){0});
    if (status != HD_OK) return status;
    flame_out_say_damage(run, path, trace); /* a free that was lost makes a leak that is none */
    cli_progress_init_analysis(&progress, run);
    status = hd_memory_new(&memory, trace, &find, &run->err);
    cli_progress_deinit(&progress);
    snprintf(rows, sizeof rows, "rows=%" PRIu64, chosen->rows);
    const hd_report_input input = {.trace = trace, .options = asked, .memory = memory};
    if (status == HD_OK) status = report_make(&out->report, run, "memory", input);
    if (status == HD_OK && chosen->output) status = write_counters(run, memory, trace);
    if (status != HD_OK) hd_report_free(&out->report);
    if (hd_trace_facts_of(trace)->start_ns != HD_NO_TIME) out->start_ns = hd_trace_facts_of(trace)->start_ns;
    hd_memory_free(memory);
    hd_trace_free(trace);
    return status;
}

static int run(cli_run *run)
{
    const struct memory_options *chosen = run->options;
    bool any = false, failed = false;
    if (chosen->stacks && chosen->no_stacks) return cli_usage_error(run, "--stacks and --no-stacks exclude each other");
    if (chosen->csv != NO_TABLE && run->global.json) return cli_usage_error(run, "--csv and --json exclude each other");
    if (chosen->csv != NO_TABLE && run->operand_count > 1)
        return cli_usage_error(run, "--csv prints the table of one file; %d were given", run->operand_count);
    if (chosen->output && run->operand_count > 1)
        return cli_usage_error(run, "-o writes the trace of one file; %d were given", run->operand_count);
    if (chosen->output && strcmp(chosen->output, "-") == 0)
        return cli_usage_error(run, "-o -: standard output is for the report; name a file");
    if (chosen->output && report_check_format(run, chosen->output, NULL, false) != CLI_OK) return CLI_USAGE;
    if (chosen->output && hd_trace_write_check(chosen->output, NULL, &run->err) != HD_OK) return CLI_FAILED;
    if (run->global.json) cli_print(run, "[");
    for (int i = 0; i < run->operand_count; i++) {
        found f = {0};
        if (analyse(&f, run, run->operands[i]) != HD_OK) {
            cli_report(run);
            failed = true;
            continue;
        }
        if (chosen->csv != NO_TABLE) {
            print_csv(run, &f.report);
        } else if (run->global.json) {
            print_json(run, run->operands[i], &f.report, any);
        } else {
            if (any) cli_print(run, "\n");
            const report_text text = {
                .run = run, .path = run->operands[i], .report = &f.report, .start_ns = f.start_ns};
            print_text(&text, chosen->stacks ? "where" : "stack");
        }
        any = true;
        hd_report_free(&f.report);
    }
    if (run->global.json) cli_print(run, "]\n");
    return failed || run->err.status != HD_OK ? CLI_FAILED : CLI_OK;
}

const cli_command cmd_memory = {
    .name = "memory",
    .group = CLI_LOOK,
    .summary = "analyse memory: allocations, the peak, what is never freed",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Pairs the allocations and frees of a trace: Kineto's [memory] instants (profile_memory=True), those of "
        "heddle's own captures, CUPTI's memory records, and TensorFlow's memory profiles. For each device of each "
        "process it shows how much was live, the peak and when it was, what was live then by category, size and "
        "stack, what was still live at the end by stack, largest first, and how much of the allocator's reserved "
        "memory was idle.\n\n"
        "Where the allocator reports its totals (Total Allocated), the peak is that of the totals, and a row of its "
        "own has what was allocated before the recording; else the peak is that of the allocations in the trace. The "
        "stack of an event is its own, or the slices around it on its thread. The table anomalies counts frees of "
        "unknown addresses, addresses allocated twice, and events without a size or a time, so that always "
        "allocated = freed + replaced + live at the end.\n\n"
        "Memory that is live at the end is not always leaked: the program may still need it. Times count from the "
        "trace's first event; in --json and --csv they are the trace's own, in ns. With -q it prints only the sums.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .operands_min = 1,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle memory trace.json", "peak, leaks and fragmentation"},
                                      {"heddle memory --rows 5 --stacks run.hdcap", "whole stacks of the five largest"},
                                      {"heddle memory --csv series trace.json >live.csv", "live bytes over time"},
                                      {"heddle memory -o live.json.gz trace.json", "the trace with counters of them"},
                                      {0}},
};
