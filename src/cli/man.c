/* man.c - the tables of the commands, as manual pages in roff */
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

#include "heddle/version.h"

/* Text into roff: backslashes, hyphens and a leading dot or quote mean something there. */
static void print_roff(cli_run *run, const char *text, size_t size)
{
    bool line_start = true;
    for (size_t i = 0; i < size && text[i]; i++) {
        char byte = text[i];
        if (line_start && (byte == '.' || byte == '\'')) cli_print(run, "\\&");
        if (byte == '\\')
            cli_print(run, "\\e");
        else if (byte == '-')
            cli_print(run, "\\-");
        else
            cli_print(run, "%c", byte);
        line_start = byte == '\n';
    }
}

static void print_text(cli_run *run, const char *text)
{
    print_roff(run, text, strlen(text));
}

static void print_paragraphs(cli_run *run, const char *text)
{
    while (*text) {
        const char *next = strstr(text, "\n\n");
        size_t size = next ? (size_t)(next - text) : strlen(text);
        bool verbatim = text[0] == ' ';
        cli_print(run, verbatim ? ".PP\n.nf\n" : ".PP\n");
        print_roff(run, text, size);
        cli_print(run, verbatim ? "\n.fi\n" : "\n");
        text += size;
        text += strspn(text, "\n");
    }
}

static void print_option(cli_run *run, const cli_option *option, const void *defaults)
{
    cli_print(run, ".TP\n");
    if (option->letter) cli_print(run, "\\fB\\-%c\\fR, ", option->letter);
    cli_print(run, "\\fB\\-\\-");
    print_text(run, option->name);
    cli_print(run, "\\fR");
    if (option->value)
        cli_print(run, "%s\\fI%s\\fR%s", option->alone ? "[=" : " ", option->value, option->alone ? "]" : "");
    cli_print(run, "\n");
    print_text(run, option->help);
    char shown[64];
    cli_value_default(option, defaults, shown, sizeof shown);
    if (shown[0]) {
        cli_print(run, " (default: ");
        print_text(run, shown);
        cli_print(run, ")");
    }
    cli_print(run, ".\n");
}

static void print_globals(cli_run *run, const cli_command *command)
{
    for (const cli_option *option = cli_global_options; option->name; option++) {
        if (cli_global_applies(option, command)) print_option(run, option, NULL);
    }
}

static void print_head(cli_run *run, const char *page, const char *summary)
{
    cli_print(run, ".TH \"");
    print_text(run, page);
    cli_print(run, "\" 1 \"\" \"heddle %s\" \"User Commands\"\n.SH NAME\n", hd_version());
    print_text(run, page);
    cli_print(run, " \\- ");
    print_text(run, summary);
    cli_print(run, "\n.SH SYNOPSIS\n");
}

static void print_end(cli_run *run, const cli_command *about)
{
    cli_print(run, ".SH EXIT STATUS\n0: fine. 1: something was found, or it failed. 2: wrong usage.\n.SH SEE ALSO\n");
    cli_print(run, "%s", about ? "\\fBheddle\\fR(1)" : "");
    for (const cli_command *const *command = cli_commands; !about && *command; command++) {
        cli_print(run, "%s\\fBheddle\\-%s\\fR(1)", command == cli_commands ? "" : ", ", (*command)->name);
    }
    cli_print(run, "\n");
}

static void print_main_page(cli_run *run)
{
    print_head(run, "heddle", "open, analyse and repair GPU traces from any profiler");
    cli_print(run,
              "\\fBheddle\\fR \\fIFILE\\fR...\n.br\n\\fBheddle\\fR \\fICOMMAND\\fR|\\fIREPORT\\fR "
              "[\\fIOPTION\\fR...] [\\fIFILE\\fR...]\n.SH DESCRIPTION\n"
              "heddle opens, analyses and repairs GPU traces from any profiler. \\fBheddle\\fR \\fIFILE\\fR prints "
              "the summary of a trace, \\fBheddle\\fR \\fIREPORT\\fR \\fIFILE\\fR a report.\n"
              "A file may be compressed by gzip or zstd; \\- is standard input or output.\n.SH COMMANDS\n");
    for (const cli_command *const *command = cli_commands; *command; command++) {
        cli_print(run, ".TP\n\\fBheddle\\-%s\\fR(1)\n", (*command)->name);
        print_text(run, (*command)->summary);
        cli_print(run, "\n");
    }
    cli_print(run, ".SH OPTIONS\n");
    print_globals(run, NULL);
    cli_print(run, ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nWhen set and not empty, no colour is used unless "
                   "\\-\\-color=always requests it.\n");
    print_end(run, NULL);
}

void cli_man_page(cli_run *run, const cli_command *command)
{
    if (!command) {
        print_main_page(run);
        return;
    }
    char page[64];
    snprintf(page, sizeof page, "heddle-%s", command->name);
    print_head(run, page, command->summary);
    char name[CLI_NAME_BYTES];
    cli_print(run, "\\fBheddle %s\\fR [\\fIOPTION\\fR...]", cli_full_name(name, command));
    if (command->usage) cli_print(run, " \\fI%s\\fR", command->usage);
    cli_print(run, "\n.SH DESCRIPTION\n");
    print_paragraphs(run, command->description);
    if (command->topics) {
        cli_print(run, ".SH ");
        for (const char *c = command->topics_title; *c; c++) cli_print(run, "%c", toupper((unsigned char)*c));
        cli_print(run, "\n");
        for (const cli_example *topic = command->topics(); topic->command; topic++) {
            cli_print(run, ".TP\n\\fB");
            print_text(run, topic->command);
            cli_print(run, "\\fR\n");
            print_text(run, topic->text);
            cli_print(run, "\n");
        }
    }
    cli_print(run, ".SH OPTIONS\n");
    for (const cli_option *more = command->topics ? NULL : cli_more_options(command, NULL); more && more->name; more++)
        print_option(run, more, NULL);
    for (const cli_option *option = command->options; option && option->name; option++) {
        if (!option->old) print_option(run, option, command->defaults);
    }
    print_globals(run, command);
    if (command->examples) cli_print(run, ".SH EXAMPLES\n");
    for (const cli_example *example = command->examples; example && example->command; example++) {
        print_text(run, example->text);
        cli_print(run, ":\n.PP\n.nf\n.RS\n");
        print_text(run, example->command);
        cli_print(run, "\n.RE\n.fi\n.PP\n");
    }
    print_end(run, command);
}
