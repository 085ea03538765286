/* formats.c - heddle formats: the formats that can be read and written */
#include <string.h>

#include "cli/report_out.h"
#include "heddle/analysis/launches.h"

static hd_status make_table(hd_table **out, bool all, hd_error *err)
{
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "formats", err);
    if (status != HD_OK) return status;
    hd_table_add_column(b, "name", HD_VALUE_STRING);
    if (all) hd_table_add_column(b, "title", HD_VALUE_STRING);
    hd_table_add_column(b, "reads", HD_VALUE_BOOL);
    hd_table_add_column(b, "writes", HD_VALUE_BOOL);
    hd_table_add_column(b, "extensions", HD_VALUE_STRING);
    if (all) hd_table_add_column(b, "keeps", HD_VALUE_STRING);
    if (all) hd_table_add_column(b, "loses", HD_VALUE_STRING);
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format_info *info = hd_format_at(i);
        hd_table_add_text(b, info->name);
        if (all) hd_table_add_text(b, info->title);
        hd_table_add_bool(b, info->reads);
        hd_table_add_bool(b, info->writes);
        hd_table_add_text(b, info->extensions);
        if (all) hd_table_add_text(b, info->keeps);
        if (all) hd_table_add_text(b, info->loses);
    }
    return hd_table_finish(out, b, err);
}

static hd_status make_classes(hd_table **out, hd_error *err)
{
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "classes", err);
    if (status != HD_OK) return status;
    static const char *const columns[] = {"name", "pattern", "class", "collective", "about"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) hd_table_add_column(b, columns[i], HD_VALUE_STRING);
    for (size_t i = 0; i < hd_class_rule_count(); i++) {
        hd_class_rule rule = hd_class_rule_at(i);
        hd_table_add_text(b, rule.where);
        hd_table_add_text(b, rule.pattern);
        hd_table_add_text(b, rule.class_name);
        hd_table_add_text(b, rule.collective);
        hd_table_add_text(b, rule.about);
    }
    return hd_table_finish(out, b, err);
}

/* Those that there is something to do about. */
static void print_lookalikes(cli_run *run)
{
    const char *before = "";
    cli_print(run, "\n%snot read%s, and what to do\n", cli_style(run, CLI_BOLD), cli_style(run, CLI_PLAIN));
    for (size_t i = 0; i < hd_lookalike_count(); i++) {
        const hd_lookalike *l = hd_lookalike_at(i);
        if (!l->advice || strcmp(l->what, before) == 0) continue;
        cli_print(run, "  %s%s%s%s: %s\n", l->what, l->names ? " (" : "", l->names ? l->names : "", l->names ? ")" : "",
                  l->advice);
        before = l->what;
    }
}

struct formats_options {
    bool classes;
};

static const cli_option options[] = {
    {.name = "classes",
     .kind = CLI_FLAG,
     .field = offsetof(struct formats_options, classes),
     .help = "list the patterns of names by which GPU activities count as communication, copy or compute, in order of "
             "precedence"},
    {0},
};

static int run(cli_run *run)
{
    bool classes = ((const struct formats_options *)run->options)->classes;
    const hd_sink sink = {cli_write, run};
    const hd_table_style text = {.width = run->width, .bold_head = run->color};
    bool brief = run->global.json || run->global.quiet || classes;
    hd_table *table;
    hd_status status = classes ? make_classes(&table, &run->err) : make_table(&table, run->global.json, &run->err);
    if (status != HD_OK) return CLI_FAILED;
    if (run->global.json)
        report_json_rows(run, table, classes ? CLI_SCHEMA("formats-classes") : CLI_SCHEMA("formats"));
    else
        hd_table_write(table, sink, &text, &run->err);
    hd_table_free(table);
    for (size_t i = 0; !brief && i < hd_format_count(); i++) {
        const hd_format_info *info = hd_format_at(i);
        cli_print_heading(run, info->name, info->title);
        if (info->writes) cli_print(run, "  keeps  %s\n  loses  %s\n", info->keeps, info->loses);
    }
    if (!brief) print_lookalikes(run);
    return run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
}

const cli_command cmd_formats = {
    .name = "formats",
    .group = CLI_ABOUT,
    .summary = "list the trace formats, and what each keeps and loses",
    .description =
        "Lists every format that this build reads or writes, with the extensions that choose it for `heddle "
        "convert`, and the parts of a trace that it keeps and loses. The format of an input is detected from its "
        "content, "
        "never from its name. Any format that is a single stream may be compressed with gzip or zstd (.gz, .zst).\n\n"
        "With -q it prints only the table; with --json an array of objects.",
    .examples = (const cli_example[]){{"heddle formats", "what can be converted into what"},
                                      {"heddle formats --json | jq '.[] | select(.writes) | .name'",
                                       "the names that convert --to takes"},
                                      {0}},
    .options = options,
    .options_size = sizeof(struct formats_options),
    .has_json = true,
    .run = run,
};
