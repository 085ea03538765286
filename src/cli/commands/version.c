/* version.c - heddle version: the smallest command, and an example of one (see cli.h) */
#include "cli/cli.h"

static int run(cli_run *run)
{
    if (run->global.json)
        cli_print(run, "{\"name\": \"heddle\", \"version\": \"%s\"}\n", HD_VERSION);
    else
        cli_print(run, "heddle %s\n", HD_VERSION);
    return CLI_OK;
}

const cli_command cmd_version = {
    .name = "version",
    .group = CLI_ABOUT,
    .summary = "print the version",
    .description = "Prints the version of heddle and of the library it contains, which are always the same.",
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle version --json", "the version, for a script"}, {0}},
};
