/* report_out.c - shared by commands that print reports */
#include "cli/report_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/printer.h"
#include "heddle/convert.h"

hd_status report_read(hd_trace **out, cli_run *run, const char *path, hd_read_options options)
{
    cli_progress progress;
    cli_progress_init(&progress, run, "reading");
    options.progress = cli_progress_update;
    options.progress_user = &progress;
    hd_status status = hd_trace_read(out, path, &options, &run->err);
    cli_progress_deinit(&progress);
    return status;
}

hd_status report_make(hd_report *out, cli_run *run, const char *name, hd_report_input input)
{
    cli_progress progress;
    cli_progress_init_analysis(&progress, run);
    input.progress = cli_progress_update;
    input.progress_user = &progress;
    hd_status status = hd_report_run(out, name, &input, &run->err);
    cli_progress_deinit(&progress);
    return status;
}

hd_status report_join_counters(hd_trace **trace, cli_run *run, const char *path, const char *counters)
{
    char *text;
    if (!counters) return HD_OK;
    if (asprintf(&text, REPORT_COUNTERS_PASS "%s", counters) < 0)
        return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    hd_status status = hd_convert_trace(trace, path, text, &run->err);
    if (status != HD_OK) hd_error_add_cause(&run->err, "--counters (heddle formats passes has its options)");
    free(text);
    return status;
}

hd_status report_check_read(const hd_trace *trace, const char *path, hd_error *err)
{
    hd_status status = hd_trace_input_status(trace, err);
    unsigned long long lost = hd_trace_unloaded(trace);
    if (status != HD_OK || !lost) return status;
    return hd_error_set(err, HD_ERR_DAMAGED, path, HD_OFFSET_NONE,
                        "%llu block%s of events cannot be read: what is shown lacks them; heddle convert keeps "
                        "the rest",
                        lost, lost == 1 ? "" : "s");
}

void report_add_loss(void *user, const hd_ledger_row *row)
{
    report_losses *sum = user;
    size_t used = strlen(sum->codes);
    char count[HD_VALUE_TEXT_BYTES];
    if (row->level != HD_LEDGER_LOSS) return;
    snprintf(sum->codes + used, sizeof sum->codes - used, "%s%s %s", sum->count ? ", " : "", row->code,
             hd_text_count(count, row->count));
    sum->count += row->count;
}

void report_say_losses(cli_run *run, const char *path, const report_losses *losses)
{
    cli_printer p = {.run = run, .to_stderr = true};
    char count[HD_VALUE_TEXT_BYTES];
    if (!losses->count) return;
    flockfile(stderr);
    cli_say(&p, "heddle: ");
    cli_say_name(&p, strcmp(path, "-") == 0 ? "standard output" : path);
    cli_say(&p, ": %s loss%s (", hd_text_count(count, losses->count), losses->count == 1 ? "" : "es");
    cli_say_name(&p, losses->codes);
    cli_say(&p, ")\n");
    funlockfile(stderr);
}

void report_say_misfits(cli_run *run, const hd_misfit *misfits, size_t count)
{
    cli_printer p = {.run = run, .to_stderr = true};
    for (size_t i = 0; i < count; i++) {
        cli_say(&p, "heddle: ");
        cli_say_name(&p, misfits[i].text);
        cli_say(&p, "\n");
    }
}

hd_status report_write(cli_run *run, const hd_trace *trace, const char *path, hd_write_options options)
{
    report_losses losses = {0};
    options.ledger = report_add_loss;
    options.ledger_user = &losses;
    cli_progress progress;
    cli_progress_init_later(&progress, run, "writing");
    progress.events = true;
    options.progress = cli_progress_update;
    options.progress_user = &progress;
    hd_status status = hd_trace_write(trace, path, &options, &run->err);
    cli_progress_deinit(&progress);
    if (status == HD_OK) report_say_losses(run, path, &losses);
    if (status == HD_OK) report_say_wrote(run, path, true);
    return status;
}

void report_print_rows(cli_run *run, const hd_table *table, size_t rows)
{
    const hd_table_style style = {.width = run->width, .indent = 2, .bold_head = run->color};
    hd_table *head;
    if (!rows || hd_table_head(&head, table, rows, &run->err) != HD_OK) return;
    hd_table_write(head, (hd_sink){cli_write, run}, &style, &run->err);
    hd_table_free(head);
}

void report_json_rows(cli_run *run, const hd_table *table, const char *schema)
{
    cli_print(run, "[");
    for (size_t row = 0; row < hd_table_row_count(table) && !run->out_error; row++) {
        cli_print(run, "%s\n  {%s, ", row ? "," : "", schema);
        hd_table_write_members(table, row, (hd_sink){cli_write, run}, &run->err);
        cli_print(run, "}");
    }
    cli_print(run, hd_table_row_count(table) ? "\n]\n" : "]\n");
}

void report_json_text(cli_run *run, const char *name, const char *text)
{
    hd_table_builder *builder;
    hd_table *table;
    if (hd_table_builder_new(&builder, name, &run->err) != HD_OK) return;
    hd_table_add_column(builder, name, HD_VALUE_STRING);
    hd_table_add_text(builder, text);
    if (hd_table_finish(&table, builder, &run->err) != HD_OK) return;
    hd_table_write_members(table, 0, (hd_sink){cli_write, run}, &run->err);
    hd_table_free(table);
}

void report_say_wrote(cli_run *run, const char *path, bool to_stderr)
{
    cli_printer p = {.run = run, .to_stderr = to_stderr};
    if (run->global.quiet || strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0) return;
    cli_say(&p, "wrote ");
    cli_say_name(&p, path);
    cli_say(&p, "\n");
}

char *report_name_of_files(const char *const *paths, int count)
{
    char *name = NULL;
    if (count == 1) return strdup(paths[0]);
    return asprintf(&name, "%s and %d more", paths[0], count - 1) < 0 ? NULL : name;
}

void report_print_path(cli_run *run, const char *path)
{
    cli_print(run, "%s", cli_style(run, CLI_BOLD));
    report_print_safe(run, path, strlen(path));
    cli_print(run, "%s", cli_style(run, CLI_PLAIN));
}

void report_print_safe(cli_run *run, const char *text, size_t size)
{
    hd_text_write((hd_sink){cli_write, run}, text, size);
}

int report_check_format(cli_run *run, const char *path, const char *to, bool takes_to)
{
    bool is_file = strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0;
    const hd_format_info *info = to ? hd_format_find(to) : hd_format_for_path(path);
    if (to && !info) return cli_usage_error(run, "--to: no format '%.40s'; heddle formats lists them", to);
    if (info && !info->writes)
        return cli_usage_error(run, "%s can be read, but not written; heddle formats lists what can", info->name);
    if (!info && is_file)
        return cli_usage_error(run, "no format is known by the extension of '%.100s': %s that heddle formats lists",
                               path, takes_to ? "name one with --to, or use an extension" : "use one");
    return CLI_OK;
}
