/* passes.c - heddle passes: the passes that transform a trace, and their options */
#include "cli/report_out.h"
#include "heddle/pass.h"
#include "heddle/symbolize.h"

static const hd_pass_about *pass_at(size_t index)
{
    return index < hd_pass_count() ? hd_pass_at(index) : index == hd_pass_count() ? hd_symbolize_pass() : NULL;
}

/* A row for each option; one with nulls for a pass without. */
static hd_status make_table(hd_table **out, hd_error *err)
{
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "passes", err);
    if (status != HD_OK) return status;
    static const char *const columns[] = {"pass", "summary", "option", "type", "default", "meaning"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) hd_table_add_column(b, columns[i], HD_VALUE_STRING);
    for (size_t i = 0; pass_at(i); i++) {
        for (const hd_option_about *o = pass_at(i)->options; o->name; o++) {
            hd_table_add_text(b, pass_at(i)->name);
            hd_table_add_text(b, pass_at(i)->summary);
            hd_table_add_text(b, o->name);
            hd_table_add_text(b, hd_option_kind_name(o->kind));
            if (o->fallback)
                hd_table_add_text(b, o->fallback);
            else
                hd_table_add_null(b);
            hd_table_add_text(b, o->meaning);
        }
    }
    return hd_table_finish(out, b, err);
}

static void say_pass(cli_run *run, const hd_pass_about *about)
{
    cli_print(run, "%s%s%s: %s\n", cli_style(run, CLI_BOLD), about->name, cli_style(run, CLI_PLAIN), about->summary);
    for (const hd_option_about *o = about->options; o->name; o++) {
        char usage[80];
        bool flag = o->kind == HD_OPTION_FLAG;
        snprintf(usage, sizeof usage, "%s%s%s", o->name, flag ? "" : "=", flag ? "" : hd_option_kind_name(o->kind));
        cli_print(run, "  %-26s %s", usage, o->meaning);
        if (o->fallback) cli_print(run, " (%s)", o->fallback);
        cli_print(run, "\n");
    }
}

static int run(cli_run *run)
{
    hd_table *table;
    for (size_t i = 0; !run->global.json && pass_at(i); i++) {
        if (i && !run->global.quiet) cli_print(run, "\n");
        if (run->global.quiet)
            cli_print(run, "%s\n", pass_at(i)->name);
        else
            say_pass(run, pass_at(i));
    }
    if (!run->global.json) return CLI_OK;
    if (make_table(&table, &run->err) != HD_OK) return CLI_FAILED;
    report_json_rows(run, table, CLI_SCHEMA("passes"));
    hd_table_free(table);
    return run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
}

const cli_command cmd_passes = {
    .name = "passes",
    .parent = "formats",
    .group = CLI_ABOUT,
    .summary = "list the passes of convert --pass, and their options",
    .description =
        "Lists the passes, which make a trace from a trace. `heddle convert --pass NAME:OPTION,OPTION` runs one; "
        "several run in the order in which they are given. An option is KEY=VALUE, or KEY alone for a flag; a comma "
        "in a value is written \\,. Patterns and texts may be given several times. Times count from the first event: "
        "1.5s, 250ms, 10us, 4ns, or 10% of the trace's span.\n\n"
        "With -q it prints only the names; with --json an array of objects, one for each option.",
    .examples =
        (const cli_example[]){{"heddle passes", "what there is"},
                              {"heddle convert --pass crop:from=10%,until=20%,clip --pass lanes in.json out.json",
                               "a tenth of the time, then lane repair"},
                              {0}},
    .has_json = true,
    .run = run,
};
