/* help.c - heddle help: the overview, the help of one command, and man pages */
#include "cli/cli.h"
#include "heddle/report.h"

#include <limits.h>
#include <string.h>

struct help_options {
    bool man, all;
};

static const cli_option options[] = {
    {.name = "man",
     .kind = CLI_FLAG,
     .field = offsetof(struct help_options, man),
     .help = "print the manual page, in roff"},
    {.name = "all",
     .letter = 'a',
     .kind = CLI_FLAG,
     .field = offsetof(struct help_options, all),
     .help = "list the reports as well, each of which is also a command"},
    {0},
};

/* Explains one finding of report summary, or all. */
static int explain_findings(cli_run *run, const char *code)
{
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    bool any = false;
    for (size_t i = 0; i < hd_finding_code_count(); i++) {
        const hd_finding_code *of = hd_finding_code_at(i);
        if (code) hd_name_suggest(code, of->code, &best, &distance);
        if (code && strcmp(code, of->code) != 0) continue;
        cli_print(run, "%s%s (%s)\n  %s\n  What to do: %s\n", any ? "\n" : "", of->code, of->severity, of->meaning,
                  of->advice);
        any = true;
    }
    if (any) return CLI_OK;
    return cli_usage_error(run, "there is no finding '%.60s'%s%s%s", code, best ? "; did you mean '" : "",
                           best ? best : "", best ? "'?" : "");
}

static int run(cli_run *run)
{
    const struct help_options *wanted = run->options;
    cli_asked asked = {0};
    const char *topic = NULL;
    if (run->operand_count && strcmp(run->operands[0], "finding") == 0)
        return explain_findings(run, run->operand_count > 1 ? run->operands[1] : NULL);
    if (run->operand_count) {
        asked = cli_resolve(run->operands, run->operand_count);
        if (!asked.used) {
            cli_unknown_command(run, run->operands[0]);
            return CLI_USAGE;
        }
        topic = asked.report ? asked.report : asked.used < run->operand_count ? run->operands[asked.used] : NULL;
    }
    if (topic && !cli_has_topic(asked.command, topic))
        return cli_usage_error(run, "heddle %s has no help on '%.60s'", asked.command->name, topic);
    if (wanted->man)
        cli_man_page(run, asked.command);
    else if (asked.command)
        cli_help_command(run, asked.command, topic);
    else
        cli_help_overview(run, wanted->all);
    return CLI_OK;
}

const cli_command cmd_help = {
    .name = "help",
    .group = CLI_ABOUT,
    .summary = "list the commands, or explain one command or report",
    .usage = "[COMMAND|REPORT]",
    .offer = "<commands>",
    .description =
        "Lists the commands, or prints the help of one command or report. `heddle COMMAND --help` prints the "
        "same as `heddle help COMMAND`. `heddle help finding CODE` explains a finding of the summary.",
    .options = options,
    .options_size = sizeof(struct help_options),
    .operands_max = 2,
    .run = run,
    .examples = (const cli_example[]){{"heddle help", "the commands"},
                                      {"heddle help kernels", "a report: its options, tables and columns"},
                                      {"heddle help --all", "the commands and the reports"},
                                      {"heddle help finding data-loading", "what a finding means, and what to do"},
                                      {"heddle help --man help | man -l -", "a manual page, without installing it"},
                                      {0}},
};
