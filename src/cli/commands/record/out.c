/* out.c - the summary that a recording prints at its end */
#include "cli/commands/record/out.h"

#include <inttypes.h>
#include <string.h>

#include "heddle/report.h"

/* ---- text ---- */

static void say_count(cli_printer *p, const char **between, uint64_t count, const char *one, const char *many)
{
    char text[HD_VALUE_TEXT_BYTES];
    if (!count) return;
    cli_say(p, "%s%s %s", *between, hd_text_count(text, count), count == 1 ? one : many);
    *between = ", ";
}

static void say_contents(cli_printer *p, const hd_record_result *r)
{
    char text[HD_VALUE_TEXT_BYTES];
    const char *between = ": ";
    cli_say(p, "heddle: wrote ");
    cli_say_name(p, r->output);
    cli_say(p, " (%s)", hd_text_bytes(text, r->output_bytes));
    say_count(p, &between, r->processes, "process", "processes");
    say_count(p, &between, r->kernels, "kernel", "kernels");
    say_count(p, &between, r->copies, "copy", "copies");
    say_count(p, &between, r->sets, "memset", "memsets");
    say_count(p, &between, r->launches, "launch", "launches");
    say_count(p, &between, r->annotations, "range", "ranges");
    say_count(p, &between, r->events, "event", "events");
    cli_say(p, "\n");
}

/* Losses and repairs of the ledger, all processes together. */
static void say_ledger(cli_printer *p, const hd_record_result *r, bool repairs)
{
    char text[HD_VALUE_TEXT_BYTES], all[HD_VALUE_TEXT_BYTES];
    for (size_t i = 0; i < r->convert->ledger_count; i++) {
        const hd_ledger_row *row = &r->convert->ledger[i];
        if (row->level != HD_LEDGER_LOSS && !(repairs && row->level == HD_LEDGER_REPAIR)) continue;
        cli_say(p, "heddle: %s: ", row->level == HD_LEDGER_LOSS ? "lost" : "repaired");
        cli_say_name(p, row->code);
        cli_say(p, " %s\n", hd_text_count(text, row->count));
    }
    if (repairs && r->addresses_unnamed)
        cli_say(p, "heddle: %s of %s addresses in stacks have no name: heddle symbolize says why\n",
                hd_text_count(text, r->addresses_unnamed),
                hd_text_count(all, r->addresses_named + r->addresses_unnamed));
    if (r->unreadable)
        cli_say(p, "heddle: %zu file%s not in the trace: cut before anything was written, or not readable\n",
                r->unreadable, r->unreadable == 1 ? " is" : "s are");
}

/* "0.24 %" of a time; "" if that is unknown. */
static const char *share(char out[32], int64_t part, int64_t whole, const char *of)
{
    out[0] = '\0';
    if (whole > 0) snprintf(out, 32, ", %.2g %% of %s", 100.0 * (double)part / (double)whole, of);
    return out;
}

/* A process that ended without finishing its file measured more than it could write down. */
static bool cost_is_minimum(const hd_record_result *r)
{
    static const char *const codes[] = {"session.unfinished", "capture.not-finished"};
    for (size_t i = 0; i < r->convert->ledger_count; i++) {
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
            if (strcmp(r->convert->ledger[i].code, codes[k]) == 0) return true;
        }
    }
    return false;
}

static void say_cost(cli_printer *p, const hd_record_result *r)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES], of[32];
    if (!r->measured) return;
    int64_t program_ns = r->cpu_ns > r->wall_ns ? r->cpu_ns : r->wall_ns;
    const char *least = cost_is_minimum(r) ? "at least " : "";
    const char *whole = r->cpu_ns > r->wall_ns ? "its CPU time" : "its time";
    if (r->callbacks)
        cli_say(p, "heddle: overhead: %s%s in the program (%s calls of %s)%s; ", least,
                hd_text_duration(a, r->callback_ns), hd_text_count(b, r->callbacks),
                hd_text_duration(c, r->callback_ns / (int64_t)r->callbacks),
                share(of, r->callback_ns, program_ns, whole));
    else
        cli_say(p, "heddle: overhead in the program not measured; ");
    if (r->helper_ns)
        cli_say(p, "%s%s CPU time of other threads%s\n", least, hd_text_duration(a, r->helper_ns),
                share(of, r->helper_ns, program_ns, whole));
    else
        cli_say(p, "CPU time of other threads not measured\n");
}

static void say_budget(cli_printer *p, const hd_record_result *r)
{
    if (!r->budget) return;
    cli_say(p, "heddle: %s", r->processes > 1 ? "of the processes, the one that spent most: " : "");
    cli_say_name(p, r->budget);
    cli_say(p, "\n");
}

static void say_problems(cli_printer *p, const hd_record_result *r)
{
    for (size_t i = 0; i < r->problem_count; i++) {
        cli_say(p, "heddle: ");
        if (r->processes > 1) cli_say(p, "%zu of %zu processes: ", r->problems[i].processes, r->processes);
        cli_say_name(p, r->problems[i].message);
        cli_say(p, "\n");
    }
}

static void say_text(cli_printer *p, const hd_record_result *r)
{
    bool quiet = p->run->global.quiet;
    if (!quiet) say_contents(p, r);
    say_problems(p, r);
    say_ledger(p, r, !quiet);
    if (!quiet) say_cost(p, r);
    if (!quiet) say_budget(p, r);
    if (!quiet && r->parts_kept) {
        cli_say(p, "heddle: what it was made of is in ");
        cli_say_name(p, r->parts);
        cli_say(p, "\n");
    }
}

/* ---- JSON ---- */

static hd_status ledger_table(hd_table **out, const hd_record_result *r, hd_error *err)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "ledger", err) != HD_OK) return err->status;
    hd_table_add_column(b, "stage", HD_VALUE_STRING);
    hd_table_add_column(b, "code", HD_VALUE_STRING);
    hd_table_add_column(b, "level", HD_VALUE_STRING);
    hd_table_add_column(b, "count", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->convert->ledger_count; i++) {
        const hd_ledger_row *row = &r->convert->ledger[i];
        hd_table_add_text(b, row->stage);
        hd_table_add_text(b, row->code);
        hd_table_add_text(b, levels[row->level]);
        hd_table_add_count(b, row->count);
    }
    return hd_table_finish(out, b, err);
}

static hd_status problems_table(hd_table **out, const hd_record_result *r, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "problems", err) != HD_OK) return err->status;
    hd_table_add_column(b, "message", HD_VALUE_STRING);
    hd_table_add_column(b, "processes", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->problem_count; i++) {
        hd_table_add_text(b, r->problems[i].message);
        hd_table_add_count(b, r->problems[i].processes);
    }
    return hd_table_finish(out, b, err);
}

static void say_json(cli_printer *p, const hd_record_result *r)
{
    hd_table *table = NULL;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"output_bytes", r->output_bytes},
        {"processes", r->processes},
        {"captures", r->captures},
        {"unreadable", r->unreadable},
        {"damaged", r->damaged},
        {"running", r->running},
        {"events", r->events},
        {"kernels", r->kernels},
        {"copies", r->copies},
        {"sets", r->sets},
        {"launches", r->launches},
        {"annotations", r->annotations},
        {"addresses_named", r->addresses_named},
        {"addresses_unnamed", r->addresses_unnamed},
        {"lost", r->lost},
        {"wall_ns", (uint64_t)r->wall_ns},
        {"cpu_ns", (uint64_t)r->cpu_ns},
        {"measured_processes", r->measured},
        {"callbacks", r->callbacks},
    };
    /* No call and no thread takes no time: 0 is not measured. */
    const struct {
        const char *key;
        int64_t value;
    } costs[] = {
        {"callback_ns", r->callbacks ? r->callback_ns : 0},
        {"helper_cpu_ns", r->helper_ns},
    };
    cli_say(p, "{\n  " CLI_SCHEMA("record") ",\n  ");
    cli_say_text_json(p, "output", r->output);
    cli_say(p, ",\n  ");
    cli_say_text_json(p, "parts", r->parts_kept ? r->parts : NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cli_say(p, ",\n  \"%s\": %" PRIu64, numbers[i].key, numbers[i].value);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (costs[i].value)
            cli_say(p, ",\n  \"%s\": %" PRId64, costs[i].key, costs[i].value);
        else
            cli_say(p, ",\n  \"%s\": null", costs[i].key);
    }
    cli_say(p, ",\n  \"costs_are_minimum\": %s", cost_is_minimum(r) ? "true" : "false");
    if (r->budget) {
        cli_say(p, ",\n  \"budget_spent\": %.6f,\n  ", r->budget_spent);
        cli_say_text_json(p, "budget", r->budget);
    }
    if (r->started) cli_say(p, ",\n  \"exit_status\": %d", r->exit_status);
    cli_say_table_json(p, "problems", problems_table(&table, r, &p->run->err), &table);
    cli_say_table_json(p, "ledger", ledger_table(&table, r, &p->run->err), &table);
    cli_say(p, "\n}\n");
}

void record_print(cli_run *run, const hd_record_result *result)
{
    cli_printer p = {.run = run, .to_stderr = true};
    if (run->global.json)
        say_json(&p, result);
    else
        say_text(&p, result);
}
