/* check.c - heddle check: events that a viewer drops or draws wrong, or an analysis misreads */
#include "cli/cli.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "cli/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct check_options {
    const char *only, *ignore;
    uint64_t examples;
    const char *binary;
    bool explain, all, strict;
};

static const struct check_options defaults = {.examples = 1};

static const cli_option options[] = {
    {.name = "only",
     .kind = CLI_TEXT,
     .value = "CODE,...",
     .offer = "<codes>",
     .field = offsetof(struct check_options, only),
     .help = "look for these codes only"},
    {.name = "ignore",
     .kind = CLI_TEXT,
     .value = "CODE,...",
     .offer = "<codes>",
     .field = offsetof(struct check_options, ignore),
     .help = "leave these codes out"},
    {.name = "examples",
     .kind = CLI_COUNT,
     .value = "N",
     .field = offsetof(struct check_options, examples),
     .max = 100000,
     .min = 1,
     .help = "show N examples of each finding"},
    {.name = "all",
     .letter = 'a',
     .kind = CLI_FLAG,
     .field = offsetof(struct check_options, all),
     .help = "show every track; without it the ten worst per code"},
    {.name = "explain",
     .kind = CLI_FLAG,
     .field = offsetof(struct check_options, explain),
     .help = "say what every code means and what to do, and read no file"},
    OPTION_STRICT(.field = offsetof(struct check_options, strict)),
    OPTION_BINARY(.field = offsetof(struct check_options, binary)),
    {0},
};

enum { TRACKS_PER_CODE = 10 };

/* ---- text ---- */

static void explain(cli_run *run, const hd_check_code *code)
{
    enum { COLUMN = 6 };
    cli_print(run, "  %s%s%s (%s)\n%*s", cli_style(run, CLI_BOLD), code->code, cli_style(run, CLI_PLAIN),
              code->severity, COLUMN, "");
    cli_help_text(run, code->meaning, COLUMN);
    cli_print(run, "%*s", COLUMN, "");
    cli_help_text(run, code->advice, COLUMN);
}

static const char *text_at(size_t *size, const hd_table *table, size_t row, size_t column)
{
    return hd_table_get_string(size, table, row, column);
}

/* One explanation for each code of a findings table; rows of a code are adjacent. */
static void explain_found(cli_run *run, const hd_table *findings)
{
    bool damage = false, loss = false;
    const hd_check_code *last = NULL;
    cli_print(run, "\n");
    for (size_t row = 0; row < hd_table_row_count(findings); row++) {
        size_t size, before_size = 0;
        const char *code = text_at(&size, findings, row, 1);
        const char *before = row ? text_at(&before_size, findings, row - 1, 1) : "";
        if (size == before_size && memcmp(code, before, size) == 0) continue;
        const hd_check_code *known = hd_check_code_find(code, size);
        if (known && known != last) explain(run, known);
        last = known;
        const char *severity = text_at(&size, findings, row, 0);
        bool error = !known && size == 5 && memcmp(severity, "error", 5) == 0;
        loss |= error;
        damage |= !known && !error;
    }
    if (damage) explain(run, hd_check_damage());
    if (loss) explain(run, hd_check_loss());
}

static void print_place(cli_run *run, const hd_table *examples, size_t row, size_t column)
{
    char text[HD_VALUE_TEXT_BYTES];
    size_t size;
    const char *name = hd_table_is_null(examples, row, column) ? "?" : text_at(&size, examples, row, column);
    if (hd_table_is_null(examples, row, column)) size = 1;
    report_print_safe(run, name, size);
    if (!hd_table_is_null(examples, row, column + 1))
        cli_print(run, " at %s", hd_text_time(text, hd_table_get_int(examples, row, column + 1)));
    if (!hd_table_is_null(examples, row, column + 2))
        cli_print(run, " for %s", hd_text_duration(text, hd_table_get_int(examples, row, column + 2)));
    if (!hd_table_is_null(examples, row, column + 3))
        cli_print(run, " (byte %lld)", (long long)hd_table_get_int(examples, row, column + 3));
}

/* All examples of a finding, one a line. */
static void print_examples(cli_run *run, const hd_report *report)
{
    const hd_table *findings = hd_report_table(report, "findings"), *examples = hd_report_table(report, "examples");
    int64_t finding = -1;
    for (size_t row = 0; row < hd_table_row_count(examples); row++) {
        if (hd_table_is_null(examples, row, 1) && hd_table_is_null(examples, row, 2)) continue;
        if (hd_table_get_int(examples, row, 0) != finding) {
            size_t size;
            finding = hd_table_get_int(examples, row, 0);
            const char *code = text_at(&size, findings, (size_t)finding, 1);
            cli_print(run, "\n  %.*s", (int)size, code);
            for (size_t column = 2; column < 4; column++) {
                if (hd_table_is_null(findings, (size_t)finding, column)) continue;
                const char *id = text_at(&size, findings, (size_t)finding, column);
                cli_print(run, column == 2 ? " pid=" : " tid=");
                report_print_safe(run, id, size);
            }
            cli_print(run, "\n");
        }
        cli_print(run, "    ");
        print_place(run, examples, row, 1);
        if (!hd_table_is_null(examples, row, 6)) {
            cli_print(run, " and ");
            print_place(run, examples, row, 5);
        }
        char text[HD_VALUE_TEXT_BYTES];
        if (!hd_table_is_null(examples, row, 9))
            cli_print(run, ": %s", hd_text_duration(text, hd_table_get_int(examples, row, 9)));
        cli_print(run, "\n");
    }
}

static void print_file(const report_text *t)
{
    const hd_table *findings = hd_report_table(t->report, "findings"),
                   *examples = hd_report_table(t->report, "examples");
    size_t rows = hd_table_row_count(findings);
    report_print_path(t->run, t->path);
    if (rows == 0) {
        cli_print(t->run, ": nothing found\n\n");
        return;
    }
    cli_print(t->run, "\n");
    report_print_rows(t->run, findings, rows);
    if (hd_table_row_count(examples) > rows) print_examples(t->run, t->report);
    explain_found(t->run, findings);
    cli_print(t->run, "\n");
}

static void print_sum(cli_run *run, uint64_t findings, uint64_t files)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    if (findings == 0)
        cli_print(run, "%sno findings%s\n", cli_style(run, CLI_GREEN), cli_style(run, CLI_PLAIN));
    else
        cli_print(run, "%s finding(s) in %s file(s)\n", hd_text_count(a, findings), hd_text_count(b, files));
}

void check_text(const report_text *t)
{
    if (!t->run->global.quiet) print_file(t);
    print_sum(t->run, hd_table_get_count(hd_report_table(t->report, "summary"), 0, 0), 1);
}

/* ---- JSON ---- */

/* Findings as objects, each with its examples; *any says whether one was printed before. */
static void print_json(cli_run *run, const char *path, const hd_report *report, bool *any)
{
    const hd_table *findings = hd_report_table(report, "findings"), *examples = hd_report_table(report, "examples");
    const hd_sink sink = {cli_write, run};
    size_t example = 0, example_count = hd_table_row_count(examples);
    for (size_t row = 0; row < hd_table_row_count(findings) && !run->out_error; row++) {
        cli_print(run, *any ? ",\n  {" CLI_SCHEMA("check-finding") ", " : "\n  {" CLI_SCHEMA("check-finding") ", ");
        *any = true;
        report_json_text(run, "file", path);
        cli_print(run, ", ");
        hd_table_write_members(findings, row, sink, &run->err);
        cli_print(run, ", \"examples\": [");
        for (bool first = true; example < example_count && (size_t)hd_table_get_int(examples, example, 0) == row;
             example++) {
            cli_print(run, first ? "{" : ", {");
            hd_table_write_members(examples, example, sink, &run->err);
            cli_print(run, "}");
            first = false;
        }
        cli_print(run, "]}");
    }
}

static void print_codes_json(cli_run *run)
{
    cli_print(run, "[");
    for (size_t i = 0; i < hd_check_code_count(); i++) {
        const hd_check_code *code = hd_check_code_at(i);
        cli_print(run, i ? ",\n  {" CLI_SCHEMA("check-code") ", " : "\n  {" CLI_SCHEMA("check-code") ", ");
        report_json_text(run, "code", code->code);
        cli_print(run, ", ");
        report_json_text(run, "severity", code->severity);
        cli_print(run, ", ");
        report_json_text(run, "meaning", code->meaning);
        cli_print(run, ", ");
        report_json_text(run, "advice", code->advice);
        cli_print(run, "}");
    }
    cli_print(run, "\n]\n");
}

/* ---- the command ---- */

static int explain_all(cli_run *run)
{
    if (run->global.json) {
        print_codes_json(run);
        return CLI_OK;
    }
    for (size_t i = 0; i < hd_check_code_count(); i++) explain(run, hd_check_code_at(i));
    explain(run, hd_check_damage());
    explain(run, hd_check_loss());
    explain(run, hd_check_code_find("folded.", 7));
    explain(run, hd_check_code_find("otf2.", 5));
    return CLI_OK;
}

static hd_status check_file(hd_report *out, cli_run *run, const char *path)
{
    const struct check_options *chosen = run->options;
    char examples[32], *only = NULL, *ignore = NULL, tracks[32];
    const char *asked[5] = {examples};
    size_t count = 1;
    hd_trace *trace;
    const hd_read_options read = {.strict = chosen->strict, .binary = chosen->binary, .sources = true};
    hd_status status = report_read(&trace, run, path, read);
    if (status != HD_OK) return status;
    snprintf(examples, sizeof examples, "examples=%" PRIu64, chosen->examples);
    snprintf(tracks, sizeof tracks, "tracks=%d", TRACKS_PER_CODE);
    if (!chosen->all && !run->global.json) asked[count++] = tracks;
    if (chosen->only && asprintf(&only, "only=%s", chosen->only) > 0) asked[count++] = only;
    if (chosen->ignore && asprintf(&ignore, "ignore=%s", chosen->ignore) > 0) asked[count++] = ignore;
    status = report_make(out, run, "check", (hd_report_input){.trace = trace, .options = asked});
    free(only);
    free(ignore);
    hd_trace_free(trace);
    return status;
}

static int run(cli_run *run)
{
    const struct check_options *chosen = run->options;
    uint64_t findings = 0, serious = 0, files = 0, read = 0;
    bool any = false;
    if (chosen->explain) return explain_all(run);
    const hd_check_options check = {.only = chosen->only, .ignore = chosen->ignore};
    if (hd_check_options_valid(&check, &run->err) != HD_OK) return CLI_USAGE;
    if (run->operand_count == 0) return cli_usage_error(run, "too few operands: heddle check needs FILE...");
    if (run->global.json) cli_print(run, "[");
    for (int i = 0; i < run->operand_count && !run->out_error; i++) {
        hd_report report;
        if (check_file(&report, run, run->operands[i]) != HD_OK) {
            cli_report(run);
            continue;
        }
        const hd_table *summary = hd_report_table(&report, "summary");
        uint64_t found = hd_table_get_count(summary, 0, 0);
        read++;
        files += found > 0;
        findings += found;
        serious += found - hd_table_get_count(summary, 0, 3);
        if (run->global.json)
            print_json(run, run->operands[i], &report, &any);
        else if (!run->global.quiet)
            print_file(&(report_text){.run = run, .path = run->operands[i], .report = &report});
        hd_report_free(&report);
    }
    if (run->global.json)
        cli_print(run, findings ? "\n]\n" : "]\n");
    else if (read)
        print_sum(run, findings, files);
    return serious ? CLI_FOUND : CLI_OK;
}

const cli_command cmd_check = {
    .name = "check",
    .group = CLI_LOOK,
    .summary = "lint a trace: what viewers would drop and what makes numbers wrong",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Lints each file: slices that overlap without nesting, negative and missing durations, begins without end "
        "and ends without begin, flows that lack an end, run backward or bind to no slice, GPU activities that start "
        "before their launch or have none, events without time or far outside the time of all others, counters that "
        "are not numbers, and damaged JSON. A finding is one code on one track: its count, the worst value, and the "
        "first example with its time and byte offset.\n\n"
        "The exit status is 1 if anything of severity warning or error was found or a file could not be read, and 0 "
        "if there are at most notes. `heddle check --explain` lists the codes. In --only and --ignore, `json` "
        "includes all repairs whose code begins with it. The file - is standard input.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .operands_min = 0,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples =
        (const cli_example[]){{"heddle check trace.json", "what is wrong with a trace"},
                              {"heddle check --only crossing --examples 5 trace.json", "five crossings per track"},
                              {"heddle check -q *.json", "the number of findings only"},
                              {0}},
};
