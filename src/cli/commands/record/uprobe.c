/* uprobe.c - heddle record --uprobe */
#include "cli/commands/record/uprobe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/report.h"

/* Wrong names are a usage error, since the command has not run yet. Missing permissions are reported when a probe is
 * tried, and the command runs anyway, except with --strict. */
int record_uprobe_plan(record_uprobe *uprobe, cli_run *run, const cli_texts *specs, const hd_uprobe_options *options,
                       bool strict, int pid)
{
    uprobe->options = *options;
    bool is_alone = options->returns || options->stacks == HD_UPROBE_FRAMES || options->stack_bytes;
    if (!specs->count && options->folded) return cli_usage_error(run, "--folded is what --uprobe writes");
    if (!specs->count && is_alone) return cli_usage_error(run, "--uprobe-… says how, and --uprobe which functions");
    if (!specs->count) return CLI_OK;
    if (options->stack_bytes % 8) return cli_usage_error(run, "--uprobe-stack-bytes: a multiple of 8");
    if (options->folded && options->stacks == HD_UPROBE_NONE)
        return cli_usage_error(run, "--folded is text of stacks, and --uprobe-stacks none takes none");
    if (run->operand_count == 0 && !pid) return CLI_OK;
    uprobe->options.is_running = pid != 0;
    hd_status status = pid ? hd_uprobe_plan_of_process(&uprobe->plan, pid, &run->err)
                           : hd_uprobe_plan_new(&uprobe->plan, run->operands, &run->err);
    for (size_t i = 0; i < specs->count && status == HD_OK; i++) {
        status = hd_uprobe_plan_add(uprobe->plan, specs->items[i], &run->err);
        if (status != HD_OK) hd_error_add_cause(&run->err, "--uprobe %.120s", specs->items[i]);
    }
    if (status == HD_OK && strict) status = hd_uprobe_check(&run->err);
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

hd_status record_uprobe_attach(record_uprobe *uprobe, int pid, const char *parts, hd_error *err)
{
    size_t size = strlen(parts) + sizeof "/uprobe-.hdcap" + 12;
    char *path = malloc(size);
    if (!path) return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    snprintf(path, size, "%s/uprobe-%d.hdcap", parts, pid);
    hd_uprobe_options options = uprobe->options;
    options.capture = path;
    hd_status status = hd_uprobe_start(&uprobe->tracer, uprobe->plan, pid, &options, err);
    uprobe->was_attached = status == HD_OK;
    free(path);
    return status;
}

hd_status record_uprobe_detach(record_uprobe *uprobe, hd_error *err)
{
    return hd_uprobe_stop(&uprobe->stats, uprobe->tracer, err);
}

void record_uprobe_print(const record_uprobe *uprobe, cli_run *run)
{
    const hd_uprobe_stats *s = &uprobe->stats;
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    cli_printer p = {.run = run, .to_stderr = true};
    if (!uprobe->was_attached || run->global.quiet || run->global.json) return;
    if (s->unprobed)
        cli_say(&p,
                "heddle: uprobes: %s function%s found while the program ran could not be probed: calls are missing\n",
                hd_text_count(a, s->unprobed), s->unprobed == 1 ? "" : "s");
    if (!s->targets && s->unprobed) return;
    if (!s->targets) {
        cli_say(&p, "heddle: uprobes: the program and what it started had none of these functions\n");
        return;
    }
    cli_say(&p, "heddle: uprobes: %s call%s of %s function%s", hd_text_count(a, s->calls), s->calls == 1 ? "" : "s",
            hd_text_count(b, s->targets), s->targets == 1 ? "" : "s");
    cli_say(&p, ", %s stack%s", hd_text_count(a, s->samples), s->samples == 1 ? "" : "s");
    if (s->nested) cli_say(&p, ", %s within another", hd_text_count(a, s->nested));
    if (s->cut) cli_say(&p, ", %s stacks cut: see --uprobe-stack-bytes", hd_text_count(a, s->cut));
    if (s->broken) cli_say(&p, ", %s stacks broken", hd_text_count(a, s->broken));
    if (s->foreign) cli_say(&p, ", %s calls of other programs left out", hd_text_count(a, s->foreign));
    cli_say(&p, "; %s CPU time outside of the program\n", hd_text_duration(a, s->helper_ns));
    if (s->late)
        cli_say(
            &p,
            "heddle: uprobes: %s function%s in libraries loaded while the program ran: calls before the probes were "
            "set may be missing\n",
            hd_text_count(a, s->late), s->late == 1 ? " is" : "s are");
}

void record_uprobe_deinit(record_uprobe *uprobe)
{
    hd_uprobe_free(uprobe->tracer);
    hd_uprobe_plan_free(uprobe->plan);
    *uprobe = (record_uprobe){0};
}
