/* resolve.c - resolves the first words of a command line: a command, a report, a trace, or another tool's command */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "heddle/report.h"

/* Words that users of other profilers type. */
static const struct {
    const char *word;
    const char *ours;   /* the command or report that does it; NULL: none does */
    const char *advice; /* then: what to do */
} foreign[] = {
    {"analyse", "summary", NULL},
    {"analyze", "summary", NULL},
    {"stats", "summary", NULL},
    {"open", "view", NULL},
    {"compare", "diff", NULL},
    {"export", "convert", NULL},
    {"profile", "record", NULL},
    {"share", NULL, "'heddle report -o page.html FILE...' writes a page that needs no Heddle"},
    {"benchmark", NULL, "'heddle replay --run TRACE' launches the GPU activity of a trace again and times it"},
    {"tracesmith-cli", NULL, "type heddle in its place: 'heddle info FILE', 'heddle record COMMAND'"},
    {"nsys", NULL, "type heddle in its place: 'heddle record COMMAND', 'heddle summary FILE'"},
};

enum { FOREIGN_COUNT = sizeof foreign / sizeof *foreign };

static const cli_command *find(const char *parent, const char *name)
{
    for (const cli_command *const *command = cli_commands; *command; command++) {
        bool fits = !parent || ((*command)->parent && strcmp((*command)->parent, parent) == 0);
        if (fits && strcmp((*command)->name, name) == 0) return *command;
    }
    return NULL;
}

/* "kernels" or "kernels,steps". */
static bool names_reports(const char *word)
{
    char name[64];
    size_t size = strcspn(word, ",");
    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1), word);
    return hd_report_about_find(name) != NULL;
}

/* Whether there is an option that the report command alone has: `heddle check -o FILE` means `heddle report check`. */
static bool needs_report(const cli_command *command, const cli_command *report, const char *const *words, int count)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (words[i][0] == '-' && words[i][1] && !cli_has_option(command, words[i]) && cli_has_option(report, words[i]))
            return true;
    return false;
}

cli_asked cli_resolve(const char *const *words, int count)
{
    const char *word = words[0];
    const cli_command *report = find(NULL, "report");
    for (size_t i = 0; i < FOREIGN_COUNT; i++) {
        if (strcmp(word, foreign[i].word) == 0 && foreign[i].ours) word = foreign[i].ours;
    }
    const cli_command *below = count > 1 ? find(word, words[1]) : NULL;
    if (below) return (cli_asked){.command = below, .used = 2};
    const cli_command *command = find(NULL, word);
    if (command && !(names_reports(word) && needs_report(command, report, words + 1, count - 1)))
        return (cli_asked){.command = command, .used = 1};
    if (names_reports(word)) return (cli_asked){.command = report, .report = word, .used = 1};
    if (word[0] == '-' || access(word, F_OK) == 0) return (cli_asked){.command = report};
    return (cli_asked){0};
}

void cli_unknown_command(cli_run *run, const char *word)
{
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    for (size_t i = 0; i < FOREIGN_COUNT; i++) {
        if (strcmp(word, foreign[i].word) != 0) continue;
        cli_usage_error(run, "there is no command '%s': %s", word, foreign[i].advice);
        return;
    }
    for (const cli_command *const *command = cli_commands; *command; command++)
        hd_name_suggest(word, (*command)->name, &best, &distance);
    for (size_t i = 0; i < hd_report_count(); i++) hd_name_suggest(word, hd_report_at(i)->name, &best, &distance);
    if (best)
        cli_usage_error(run, "unknown command '%.60s'; did you mean '%s'?", word, best);
    else if (strpbrk(word, "./"))
        cli_usage_error(run, "'%.200s' is not a command, and there is no such file", word);
    else
        cli_usage_error(run, "unknown command '%.60s'", word);
}
