/* about.c - report descriptors as a list, as help, and as JSON */
#include "cli/commands/report/about.h"

#include <string.h>

#include "cli/report_out.h"

/* ---- help ---- */

static const char *type_name(hd_value_type type)
{
    static const char *const names[] = {"text", "number", "count", "decimal", "bytes", "duration", "time", "yes or no"};
    return names[type];
}

/* A line: name, type, meaning. */
static void print_column(cli_run *run, const hd_report_column *c)
{
    enum { NAME = 22, MEANING = 34 };
    int size = (int)strlen(c->name), gap = size < NAME ? NAME - size : 1;
    int used = 2 + size + gap + (int)strlen(type_name(c->type));
    cli_print(run, "  %s%s%s%*s%s", cli_style(run, CLI_CYAN), c->name, cli_style(run, CLI_PLAIN), gap, "",
              type_name(c->type));
    cli_print(run, "%*s", used < MEANING ? MEANING - used : 1, "");
    cli_help_text(run, c->meaning, MEANING);
}

static void help_options(cli_run *run, const hd_report_about *about)
{
    enum { COLUMN = 30 };
    if (!about->options) return;
    cli_print(run, "\n%sOptions of this report%s\n", cli_style(run, CLI_BOLD), cli_style(run, CLI_PLAIN));
    for (const hd_option_about *o = about->options; o->name; o++) {
        char left[64], text[1024];
        const char *value = cli_value_name(o->kind);
        snprintf(left, sizeof left, "      --%s%s%s", o->name, value ? " " : "", value ? value : "");
        snprintf(text, sizeof text, "%s%s%s%s", o->meaning, o->fallback ? " (default: " : "",
                 o->fallback ? o->fallback : "", o->fallback ? ")" : "");
        cli_print(run, "%-*s", COLUMN, left);
        if (strlen(left) >= COLUMN) cli_print(run, "\n%*s", COLUMN, "");
        cli_help_text(run, text, COLUMN);
    }
}

void report_help(cli_run *run, const hd_report_about *about, const cli_option *options)
{
    const char *option = about->table_option;
    cli_print(run, "heddle report %s - %s\n\nUsage: heddle report %s %s%s%s[OPTION...]%s\n\n", about->name,
              about->title, about->name, option ? "--" : "", option ? option : "", option ? " FILE " : "",
              option ? "" : " FILE...");
    cli_help_text(run, about->text, 0);
    help_options(run, about);
    cli_help_options(run, "Options of every report", options, NULL);
    for (const hd_report_table_about *table = about->tables; table->name; table++) {
        cli_print(run, "\n%sTable %s%s: ", cli_style(run, CLI_BOLD), table->name, cli_style(run, CLI_PLAIN));
        cli_help_text(run, table->meaning, 0);
        for (const hd_report_column *c = table->columns; c->name; c++) print_column(run, c);
    }
    cli_print(run,
              "\nTimes and durations are nanoseconds in JSON and CSV. What is not known is null, and empty in CSV.\n");
}

/* ---- the list ---- */

static void print_list(cli_run *run)
{
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (run->global.quiet)
            cli_print(run, "%s\n", about->name);
        else
            cli_print(run, "%s%-14s%s %s\n", cli_style(run, CLI_BOLD), about->name, cli_style(run, CLI_PLAIN),
                      about->title);
    }
}

/* Members of an object, of which all but the last have a comma. */
static void print_member(cli_run *run, const char *key, const char *text, const char *end)
{
    if (text)
        report_json_text(run, key, text);
    else
        cli_print(run, "\"%s\": null", key);
    cli_print(run, "%s", end);
}

static void print_options(cli_run *run, const hd_option_about *o)
{
    cli_print(run, "   \"options\": [");
    for (bool first = true; o && o->name; o++, first = false) {
        cli_print(run, first ? "\n    {" : ",\n    {");
        print_member(run, "name", o->name, ", ");
        print_member(run, "type", hd_option_kind_name(o->kind), ", ");
        print_member(run, "default", o->fallback, ", ");
        print_member(run, "meaning", o->meaning, "}");
    }
    cli_print(run, "],\n");
}

static void print_columns(cli_run *run, const hd_report_column *c)
{
    for (bool first = true; c->name; c++, first = false) {
        cli_print(run, first ? "\n      {" : ",\n      {");
        print_member(run, "name", c->name, ", ");
        print_member(run, "type", type_name(c->type), ", ");
        print_member(run, "meaning", c->meaning, "}");
    }
}

static void print_report(cli_run *run, const hd_report_about *about)
{
    cli_print(run, "  {" CLI_SCHEMA("reports") ",\n   ");
    print_member(run, "name", about->name, ",\n   ");
    print_member(run, "title", about->title, ",\n   ");
    print_member(run, "text", about->text, ",\n");
    print_options(run, about->options);
    cli_print(run, "   ");
    print_member(run, "table_option", about->table_option, ",\n");
    cli_print(run, "   \"of_job\": %s,\n   \"tables\": [", about->of_job ? "true" : "false");
    for (const hd_report_table_about *t = about->tables; t->name; t++) {
        cli_print(run, t == about->tables ? "\n    {" : ",\n    {");
        print_member(run, "name", t->name, ", ");
        print_member(run, "meaning", t->meaning, ", ");
        cli_print(run, "\"columns\": [");
        print_columns(run, t->columns);
        cli_print(run, "]}");
    }
    cli_print(run, "]}");
}

void report_list(cli_run *run)
{
    if (!run->global.json) {
        print_list(run);
        return;
    }
    cli_print(run, "[\n");
    for (size_t i = 0; i < hd_report_count(); i++) {
        if (i) cli_print(run, ",\n");
        print_report(run, hd_report_at(i));
    }
    cli_print(run, "\n]\n");
}
