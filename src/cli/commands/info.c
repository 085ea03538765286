/* info.c - heddle info: the contents of a trace */
#include "cli/cli.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "cli/shared_options.h"
#include "cli/table_out.h"

#include <inttypes.h>
#include <string.h>

#include "heddle/format.h"
#include "heddle/report.h"

struct info_options {
    uint64_t rows;
    const char *binary;
    bool all, strict;
};

static const struct info_options defaults = {.rows = REPORT_ROWS_SHOWN};

static const cli_option options[] = {
    OPTION_ROWS(.field = offsetof(struct info_options, rows),
                "the first N rows of each long table: the N busiest tracks"),
    OPTION_ROWS_OLD("tracks", .field = offsetof(struct info_options, rows)),
    {.name = "all",
     .letter = 'a',
     .kind = CLI_FLAG,
     .field = offsetof(struct info_options, all),
     .help = "show all of them"},
    OPTION_STRICT(.field = offsetof(struct info_options, strict)),
    OPTION_BINARY(.field = offsetof(struct info_options, binary)),
    {0},
};

/* Totals over all files. */
typedef struct info_total {
    uint64_t files, events, slices, stored_bytes, input_bytes;
} info_total;

/* ---- cells of the one row of the table `file` ---- */

static size_t column_of(const hd_table *table, const char *name)
{
    size_t column = 0;
    while (strcmp(hd_table_get_column(table, column)->name, name) != 0) column++;
    return column;
}

static bool has(const hd_table *file, const char *name)
{
    return !hd_table_is_null(file, 0, column_of(file, name));
}

static uint64_t count_of(const hd_table *file, const char *name)
{
    return has(file, name) ? hd_table_get_count(file, 0, column_of(file, name)) : 0;
}

static int64_t int_of(const hd_table *file, const char *name)
{
    return hd_table_get_int(file, 0, column_of(file, name));
}

static const char *text_of(char *out, const hd_table *file, const char *name)
{
    size_t size;
    const char *text = hd_table_get_string(&size, file, 0, column_of(file, name));
    snprintf(out, HD_VALUE_TEXT_BYTES, "%.*s", (int)size, text);
    return out;
}

/* ---- text ---- */

/* The files that a store was made from. */
static void print_origin(cli_run *run, const hd_table *file, uint64_t stored)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    uint64_t input = count_of(file, "input_bytes");
    bool plain = strcmp(text_of(b, file, "origin_compression"), "none") == 0;
    cli_print(run, "  made from    %s%s%s, ", text_of(a, file, "origin"), plain ? "" : ", ", plain ? "" : b);
    cli_print(run, "%s bytes (%s)%s", hd_text_count(a, input), hd_text_bytes(b, input), plain ? "" : " decompressed");
    if (stored && input > stored) cli_print(run, ", %.1f times the size", (double)input / (double)stored);
    cli_print(run, "\n");
}

static void print_size(cli_run *run, const hd_table *file)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    uint64_t stored = count_of(file, "stored_bytes"), input = count_of(file, "input_bytes");
    bool plain = strcmp(text_of(c, file, "compression"), "none") == 0, made = has(file, "origin");
    cli_print(run, "  format       %s%s%s\n", text_of(a, file, "format"), plain ? "" : ", ", plain ? "" : c);
    if (has(file, "producer")) cli_print(run, "  producer     %s\n", text_of(a, file, "producer"));
    if (stored && (!plain || made))
        cli_print(run, "  size         %s bytes (%s)%s", hd_text_count(a, stored), hd_text_bytes(b, stored),
                  made ? "\n" : " stored, ");
    else if (!made)
        cli_print(run, "  size         ");
    if (made)
        print_origin(run, file, stored);
    else
        cli_print(run, "%s bytes (%s)%s\n", hd_text_count(a, input), hd_text_bytes(b, input),
                  plain ? "" : " decompressed");
}

static void print_time(cli_run *run, const hd_table *file)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    if (!has(file, "start")) {
        cli_print(run, "  span         none: no event has a time\n");
        return;
    }
    cli_print(run, "  span         %s, from %s to %s\n", hd_text_duration(a, int_of(file, "duration")),
              hd_text_time(b, int_of(file, "start")), hd_text_time(c, int_of(file, "end")));
    if (has(file, "wall_start"))
        cli_print(run, "  wall clock   %s to %s\n", text_of(a, file, "wall_start"), text_of(b, file, "wall_end"));
    text_of(a, file, "clock");
    if (strcmp(a, "unix") == 0)
        cli_print(run, "  clock        times are Unix time\n");
    else if (strcmp(a, "base") == 0)
        cli_print(run, "  clock        times count from %" PRId64 " ns of Unix time\n", int_of(file, "clock_base"));
    else
        cli_print(run, "  clock        unknown: the trace does not say what its zero is\n");
}

/* A title, then the table, times from the first event on and without empty columns; a long one has only its first
 * rows. */
static void print_table(const report_text *t, const char *name, const char *title, bool may_be_long)
{
    cli_run *run = t->run;
    const hd_table *table = hd_report_table(t->report, name);
    size_t rows = table ? hd_table_row_count(table) : 0;
    uint64_t most = t->rows ? t->rows : REPORT_ROWS_SHOWN;
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    hd_table *kept;
    if (rows == 0 || cli_table_without(&kept, table, "", t->start_ns, &run->err) != HD_OK) return;
    size_t shown = t->all || !may_be_long || most > rows ? rows : (size_t)most;
    cli_print(run, "\n%s%s%s", cli_style(run, CLI_BOLD), title, cli_style(run, CLI_PLAIN));
    if (shown < rows)
        cli_print(run, " (%s of %s; --all shows every one)", hd_text_count(a, shown), hd_text_count(b, rows));
    cli_print(run, "\n");
    report_print_rows(run, kept, shown);
    hd_table_free(kept);
}

void info_text(const report_text *t)
{
    cli_run *run = t->run;
    const hd_table *file = hd_report_table(t->report, "file");
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    report_print_path(run, t->path);
    cli_print(run, "\n");
    print_size(run, file);
    print_time(run, file);
    if (has(file, "rank")) cli_print(run, "  rank         %" PRId64, int_of(file, "rank"));
    if (has(file, "rank") && has(file, "world_size")) cli_print(run, " of %" PRId64, int_of(file, "world_size"));
    if (has(file, "rank")) cli_print(run, "\n");
    cli_print(run, "  events       %s, of them %s slices\n", hd_text_count(a, count_of(file, "events")),
              hd_text_count(b, count_of(file, "slices")));
    cli_print(run, "  tracks       %s, of them %s streams, in %s processes\n",
              hd_text_count(a, count_of(file, "track_count")), hd_text_count(b, count_of(file, "streams")),
              hd_text_count(c, count_of(file, "process_count")));
    if (count_of(file, "repairs") || count_of(file, "losses"))
        cli_print(run, "  %sledger       %s repaired, %s lost%s\n", cli_style(run, CLI_YELLOW),
                  hd_text_count(a, count_of(file, "repairs")), hd_text_count(b, count_of(file, "losses")),
                  cli_style(run, CLI_PLAIN));
    uint64_t beyond = 0;
    for (size_t i = 0; i < t->report->table_count; i++) beyond += hd_table_beyond(t->report->tables[i]);
    if (beyond)
        cli_print(run, "  %sbeyond       %s figures are 2^63 or more, and not shown%s\n", cli_style(run, CLI_YELLOW),
                  hd_text_count(a, beyond), cli_style(run, CLI_PLAIN));
    print_table(t, "devices", "devices", true);
    print_table(t, "processes", "processes", true);
    print_table(t, "tracks", "tracks, busiest first", true);
    print_table(t, "kinds", "events by kind", false);
    print_table(t, "categories", "events by category", true);
    print_table(t, "samples", "samples by event of perf", true);
    print_table(t, "ledger", "ledger: what the reader noticed", false);
}

static void print_line(cli_run *run, const char *path, const hd_report *report)
{
    const hd_table *file = hd_report_table(report, "file");
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES], d[HD_VALUE_TEXT_BYTES];
    report_print_safe(run, path, strlen(path));
    cli_print(run, ": %s, %s events, %s slices, %s tracks", text_of(a, file, "format"),
              hd_text_count(b, count_of(file, "events")), hd_text_count(c, count_of(file, "slices")),
              hd_text_count(d, count_of(file, "track_count")));
    if (has(file, "duration")) cli_print(run, ", %s", hd_text_duration(a, int_of(file, "duration")));
    if (count_of(file, "losses")) cli_print(run, ", %s lost", hd_text_count(a, count_of(file, "losses")));
    cli_print(run, "\n");
}

/* ---- JSON ---- */

static void print_json(cli_run *run, const char *path, const hd_report *report)
{
    const hd_sink sink = {cli_write, run};
    const hd_table_style style = {.format = HD_TABLE_JSON, .indent = 2};
    cli_print(run, "{\n  " CLI_SCHEMA("info-file") ",\n  ");
    report_json_text(run, "path", path);
    cli_print(run, ",\n  ");
    hd_table_write_members(report->tables[0], 0, sink, &run->err);
    for (size_t i = 1; i < report->table_count; i++) {
        cli_print(run, ",\n  \"%s\": ", hd_table_name(report->tables[i]));
        hd_table_write(report->tables[i], sink, &style, &run->err);
    }
    cli_print(run, "\n}");
}

/* ---- the command ---- */

/* *lost: the part that could not be read. */
static hd_status read_info(hd_report *out, int64_t *start_ns, hd_error *lost, cli_run *run, const char *path)
{
    const struct info_options *chosen = run->options;
    hd_trace *trace;
    const hd_read_options read = {.strict = chosen->strict, .binary = chosen->binary, .lazy = true};
    hd_status status = report_read(&trace, run, path, read);
    if (status != HD_OK) return status;
    status = report_make(out, run, "info", (hd_report_input){.trace = trace});
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    if (status == HD_OK) report_check_read(trace, path, lost);
    *start_ns = hd_trace_facts_of(trace)->start_ns;
    if (*start_ns == HD_NO_TIME) *start_ns = 0;
    hd_trace_free(trace);
    return status;
}

static void add_total(info_total *total, const hd_report *report)
{
    const hd_table *file = hd_report_table(report, "file");
    total->files++;
    total->events += count_of(file, "events");
    total->slices += count_of(file, "slices");
    total->stored_bytes += count_of(file, "stored_bytes");
    total->input_bytes += count_of(file, "input_bytes");
}

static void print_total(cli_run *run, const info_total *total)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES], d[HD_VALUE_TEXT_BYTES];
    cli_print(run, "%stotal: %s files, %s events, %s slices, %s decompressed\n", run->global.quiet ? "" : "\n",
              hd_text_count(a, total->files), hd_text_count(b, total->events), hd_text_count(c, total->slices),
              hd_text_bytes(d, total->input_bytes));
}

static int run(cli_run *run)
{
    const struct info_options *chosen = run->options;
    info_total total = {0};
    bool json = run->global.json, many = run->operand_count > 1;
    if (json && many) cli_print(run, "[");
    for (int i = 0; i < run->operand_count && !run->out_error; i++) {
        hd_report report;
        int64_t start_ns = 0;
        hd_error lost = {0};
        const char *path = run->operands[i];
        if (read_info(&report, &start_ns, &lost, run, path) != HD_OK) {
            cli_report(run);
            continue;
        }
        if (total.files) cli_print(run, json ? ",\n" : run->global.quiet ? "" : "\n");
        if (json)
            print_json(run, path, &report);
        else if (run->global.quiet)
            print_line(run, path, &report);
        else
            info_text(&(report_text){.run = run,
                                     .path = path,
                                     .report = &report,
                                     .start_ns = start_ns,
                                     .rows = chosen->rows,
                                     .all = chosen->all});
        add_total(&total, &report);
        hd_report_free(&report);
        run->err = lost;
        cli_report(run);
    }
    if (json)
        cli_print(run, many ? "]\n" : total.files ? "\n" : "");
    else if (many && total.files)
        print_total(run, &total);
    return CLI_OK;
}

const cli_command cmd_info = {
    .name = "info",
    .group = CLI_LOOK,
    .summary = "show the contents: format, span, devices, tracks, categories",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Shows the format and sizes of each file, the time it spans and on what clock, its rank, devices and "
        "processes, every track with the share of its span that slices cover (where slices overlap, the time counts "
        "once), events by kind and category with the sum of their durations, samples by event of perf, and the "
        "damage that the reader found.\n\n"
        "With --json it prints one object (for several files an array) with the same tables in full; times and "
        "durations are nanoseconds. With -q it prints one line per file. The file - is standard input.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .operands_min = 1,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle info trace.json.gz", "what is in a trace"},
                                      {"heddle info -q rank*.json", "one line for each rank, and a total"},
                                      {"heddle info --json trace.json | jq .tracks", "the tracks, for a script"},
                                      {0}},
};
