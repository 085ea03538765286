/* help.c - the tables of the commands, as text for a person */
#include "cli/cli.h"

#include <string.h>

#include "heddle/report.h"

enum { HELP_WIDTH = 80, OPTION_COLUMN = 30, COMMAND_COLUMN = 12 };

static const char *const group_titles[CLI_GROUPS] = {
    [CLI_START] = "Start here",
    [CLI_LOOK] = "Analyse a trace",
    [CLI_JOB] = "Analyse a job of several ranks",
    [CLI_CHANGE] = "Repair and join traces",
    [CLI_MAKE] = "Control and check recording",
    [CLI_ABOUT] = "About heddle",
    [CLI_DEVELOP] = "For developers",
};

/* Print words wrapped at HELP_WIDTH; `column` is where the text starts and lines after the first are indented to. */
static void print_wrapped(cli_run *run, const char *text, size_t size, int column)
{
    int at = column;
    bool first = true;
    const char *end = text + size;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n') word++;
        if (word && !first && at + 1 + (int)word > HELP_WIDTH) {
            cli_print(run, "\n%*s", column, "");
            at = column;
            first = true;
        }
        if (word) {
            cli_print(run, "%s%.*s", first ? "" : " ", (int)word, text);
            at += (int)word + !first;
            first = false;
        }
        text += word + (text + word < end);
    }
    cli_print(run, "\n");
}

void cli_help_text(cli_run *run, const char *text, int column)
{
    print_wrapped(run, text, strlen(text), column);
}

static void print_title(cli_run *run, const char *title)
{
    cli_print(run, "\n%s%s%s\n", cli_style(run, CLI_BOLD), title, cli_style(run, CLI_PLAIN));
}

static void print_description(cli_run *run, const char *text)
{
    while (*text) {
        const char *next = strstr(text, "\n\n");
        size_t size = next ? (size_t)(next - text) : strlen(text);
        cli_print(run, "\n");
        if (text[0] == ' ')
            cli_print(run, "%.*s\n", (int)size, text);
        else
            print_wrapped(run, text, size, 0);
        text += size;
        text += strspn(text, "\n");
    }
}

static void print_option(cli_run *run, const cli_option *option, const void *defaults)
{
    char left[64];
    char letter[5] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int size = snprintf(left, sizeof left, "  %s--%s%s%s%s", letter, option->name,
                        option->alone   ? "[="
                        : option->value ? " "
                                        : "",
                        option->value ? option->value : "", option->alone ? "]" : "");
    cli_print(run, "%s", left);
    if (size >= OPTION_COLUMN)
        cli_print(run, "\n%*s", OPTION_COLUMN, "");
    else
        cli_print(run, "%*s", OPTION_COLUMN - size, "");

    char shown[64], help[512];
    cli_value_default(option, defaults, shown, sizeof shown);
    snprintf(help, sizeof help, "%s%s%s%s", option->help, shown[0] ? " (default: " : "", shown, shown[0] ? ")" : "");
    print_wrapped(run, help, strlen(help), OPTION_COLUMN);
}

static void print_globals(cli_run *run, const cli_command *command)
{
    print_title(run, command ? "Options of every command" : "Options");
    for (const cli_option *option = cli_global_options; option->name; option++) {
        if (cli_global_applies(option, command)) print_option(run, option, NULL);
    }
}

void cli_help_options(cli_run *run, const char *title, const cli_option *options, const void *defaults)
{
    if (!options || !options->name) return;
    print_title(run, title);
    for (const cli_option *option = options; option->name; option++)
        if (!option->old) print_option(run, option, defaults);
}

static void print_topics(cli_run *run, const cli_command *command)
{
    int column = COMMAND_COLUMN;
    print_title(run, command->topics_title);
    for (const cli_example *topic = command->topics(); topic->command; topic++) {
        int size = (int)strlen(topic->command) + 1;
        if (size > column) column = size;
    }
    for (const cli_example *topic = command->topics(); topic->command; topic++) {
        cli_print(run, "  %s%-*s%s", cli_style(run, CLI_CYAN), column, topic->command, cli_style(run, CLI_PLAIN));
        print_wrapped(run, topic->text, strlen(topic->text), column + 2);
    }
}

static void print_entry(cli_run *run, const char *name, int column, const char *text)
{
    cli_print(run, "  %s%-*s%s", cli_style(run, CLI_CYAN), column, name, cli_style(run, CLI_PLAIN));
    print_wrapped(run, text, strlen(text), column + 2);
}

/* Those that are typed after the command. */
static void print_below(cli_run *run, const cli_command *above)
{
    bool titled = false;
    for (const cli_command *const *command = cli_commands; *command; command++) {
        if (!(*command)->parent || strcmp((*command)->parent, above->name) != 0) continue;
        if (!titled) print_title(run, "Commands");
        titled = true;
        char name[CLI_NAME_BYTES];
        print_entry(run, cli_full_name(name, *command), COMMAND_COLUMN + 4, (*command)->summary);
    }
}

void cli_help_command(cli_run *run, const cli_command *command, const char *topic)
{
    if (topic && cli_has_topic(command, topic)) {
        command->topic_help(run, topic);
        return;
    }
    char name[CLI_NAME_BYTES];
    cli_full_name(name, command);
    cli_print(run, "heddle %s - %s\n\nUsage: heddle %s [OPTION...]%s%s\n", name, command->summary, name,
              command->usage ? " " : "", command->usage ? command->usage : "");
    print_description(run, command->description);
    if (command->topics) print_topics(run, command);
    print_below(run, command);
    if (command->more_options && !command->topics)
        cli_help_options(run, "Changes and choices", command->more_options(NULL), NULL);
    cli_help_options(run, "Options", command->options, command->defaults);
    print_globals(run, command);
    if (command->examples) {
        print_title(run, "Examples");
        for (const cli_example *example = command->examples; example->command; example++) {
            cli_print(run, "  %s\n      %s\n", example->command, example->text);
        }
    }
}

static void print_group(cli_run *run, int group)
{
    bool titled = false;
    for (const cli_command *const *command = cli_commands; *command; command++) {
        if ((int)(*command)->group != group || (*command)->parent) continue;
        if (!titled) print_title(run, group_titles[group]);
        if (!titled && group == CLI_START)
            print_entry(run, "summary", COMMAND_COLUMN, hd_report_about_find("summary")->title);
        titled = true;
        print_entry(run, (*command)->name, COMMAND_COLUMN, (*command)->summary);
    }
}

static void print_reports(cli_run *run)
{
    enum { REPORT_COLUMN = 16 };
    print_title(run, "Reports: heddle NAME FILE...");
    for (size_t i = 0; i < hd_report_count(); i++)
        print_entry(run, hd_report_at(i)->name, REPORT_COLUMN, hd_report_at(i)->title);
}

void cli_help_overview(cli_run *run, bool all)
{
    static const cli_example examples[] = {{"heddle trace.json.gz", "one screen: where the time goes"},
                                           {"heddle view trace.json.gz", "the timeline, in a browser"},
                                           {"heddle record -o run.heddle -- python3 train.py", "record a program"}};
    cli_print(run, "heddle opens, analyses and repairs GPU traces from any profiler.\n\n"
                   "Usage: heddle FILE...                         the same as heddle summary FILE...\n"
                   "       heddle COMMAND [OPTION...] [FILE...]\n"
                   "       heddle REPORT [OPTION...] FILE...      see 'heddle help --all'\n");
    for (int group = 0; group < CLI_GROUPS; group++) print_group(run, group);
    if (all) print_reports(run);
    print_globals(run, NULL);
    cli_print(run, "\nFiles may be compressed by gzip or zstd; - is standard input or output. Exit\n"
                   "status: 0 success, 1 failure or something found, 2 wrong usage. 'heddle help\n"
                   "COMMAND' explains a command.\n");
    print_title(run, "Examples");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        cli_print(run, "  %s\n      %s\n", examples[i].command, examples[i].text);
}
