/* version.c - heddle version: the release, and the libraries it was built with */
#include "cli/cli.h"

#include "cli/build_config.h" /* made by Meson: compiler, libraries, parts */
#include "cli/commit.h"
#include "heddle/version.h"

static const struct {
    const char *name, *version;
} libraries[] = {HD_LIBRARIES};

static const struct {
    const char *name;
    bool built;
} parts[] = {HD_PARTS};

enum { LIBRARY_COUNT = sizeof libraries / sizeof *libraries, PART_COUNT = sizeof parts / sizeof *parts };

static void print_json(cli_run *run)
{
    cli_print(run,
              "{" CLI_SCHEMA(
                  "version") ", \"name\": \"heddle\", \"version\": \"%s\", \"commit\": \"%s\", \"compiler\": \"%s\", ",
              hd_version(), HD_COMMIT, HD_COMPILER);
    cli_print(run, "\"libraries_static\": %s, \"libraries\": {", HD_LIBRARIES_STATIC ? "true" : "false");
    for (int i = 0; i < LIBRARY_COUNT; i++)
        cli_print(run, "%s\"%s\": \"%s\"", i ? ", " : "", libraries[i].name, libraries[i].version);
    cli_print(run, "}, \"parts\": {");
    for (int i = 0; i < PART_COUNT; i++)
        cli_print(run, "%s\"%s\": %s", i ? ", " : "", parts[i].name, parts[i].built ? "true" : "false");
    cli_print(run, "}}\n");
}

static void print_parts(cli_run *run, const char *title, bool built)
{
    const char *before = title;
    for (int i = 0; i < PART_COUNT; i++) {
        if (parts[i].built != built) continue;
        cli_print(run, "%s%s", before, parts[i].name);
        before = ", ";
    }
    if (before != title) cli_print(run, "\n");
}

static int run(cli_run *run)
{
    if (run->global.json) {
        print_json(run);
        return CLI_OK;
    }
    cli_print(run, "heddle %s\n", hd_version());
    if (run->global.quiet) return CLI_OK;
    cli_print(run, "commit     %s\ncompiler   %s\n%s", HD_COMMIT, HD_COMPILER,
              HD_LIBRARIES_STATIC ? "linked in  " : "libraries  ");
    for (int i = 0; i < LIBRARY_COUNT; i++)
        cli_print(run, "%s%s %s", i ? ", " : "", libraries[i].name, libraries[i].version);
    cli_print(run, "\n");
    print_parts(run, "with       ", true);
    print_parts(run, "without    ", false);
    return CLI_OK;
}

const cli_command cmd_version = {
    .name = "version",
    .group = CLI_ABOUT,
    .summary = "print the version and what this build supports",
    .description =
        "Prints the version of heddle and of its library, which are always the same; the commit and the compiler of "
        "the build, where a + after the commit means that files differed from it; the libraries of the build and "
        "their versions, \"linked in\" where they are part of the program; and which optional parts this build has. "
        "With -q it prints the version alone, as `heddle --version` does.",
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle version --json", "the same, for a script"}, {0}},
};
