/* help.c - heddle help: the overview, the help of one command, and man pages */
#include "cli/cli.h"
#include "heddle/report.h"

#include <limits.h>
#include <string.h>

struct help_options {
    bool man;
};

static const cli_option options[] = {
    {.name = "man",
     .kind = CLI_FLAG,
     .field = offsetof(struct help_options, man),
     .help = "print the manual page, in roff"},
    {0},
};

/* What findings of report summary mean: one, or all of them. */
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
    const cli_command *about = NULL;
    if (run->operand_count && strcmp(run->operands[0], "finding") == 0)
        return explain_findings(run, run->operand_count > 1 ? run->operands[1] : NULL);
    if (run->operand_count) {
        about = cli_find_command(run->operands[0]);
        if (!about) {
            const char *best = NULL;
            unsigned distance = UINT_MAX;
            for (const cli_command *const *command = cli_commands; *command; command++) {
                hd_name_suggest(run->operands[0], (*command)->name, &best, &distance);
            }
            return cli_usage_error(run, "there is no command '%.60s'%s%s%s", run->operands[0],
                                   best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
        }
    }
    if (run->operand_count > 1 && !cli_has_topic(about, run->operands[1]))
        return cli_usage_error(run, "heddle %s has no help on '%.60s'", about->name, run->operands[1]);
    if (wanted->man)
        cli_man_page(run, about);
    else if (about)
        cli_help_command(run, about, run->operand_count > 1 ? run->operands[1] : NULL);
    else
        cli_help_overview(run);
    return CLI_OK;
}

const cli_command cmd_help = {
    .name = "help",
    .group = CLI_ABOUT,
    .summary = "show what heddle does, or the help of one command",
    .usage = "[COMMAND [TOPIC]]",
    .offer = "<commands>",
    .description = "Without a command, lists them all. `heddle COMMAND --help` prints the same as `heddle help "
                   "COMMAND`. A topic is a "
                   "report: `heddle help report check`. `heddle help finding CODE` explains what report summary finds.",
    .options = options,
    .options_size = sizeof(struct help_options),
    .operands_max = 2,
    .run = run,
    .examples = (const cli_example[]){{"heddle help", "all commands"},
                                      {"heddle help finding data-loading", "what a finding means, and what to do"},
                                      {"heddle help --man help | man -l -", "a manual page, without installing it"},
                                      {0}},
};
