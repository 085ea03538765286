/* fix.c - heddle fix: a trace in which every viewer shows every slice */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cli/printer.h"
#include "cli/shared_options.h"
#include "cli/times.h"
#include "heddle/fix.h"
#include "heddle/table.h"

enum { REPORT_AUTO, REPORT_FULL };

struct fix_options {
    double snap_threshold_us;
    bool dry_run, pretty, strict, sync, in_place;
    int report;
    uint64_t threads;
};

/* 480ns, 0.2ns, 2.848us; nothing at all is 0.000us. */
static const char *time_text(char out[32], int64_t ps)
{
    if (ps == 0 || ps >= 1000000)
        snprintf(out, 32, "%" PRId64 ".%03" PRId64 "us", (ps + 500) / 1000000, (ps + 500) / 1000 % 1000);
    else if (ps % 1000 == 0)
        snprintf(out, 32, "%" PRId64 "ns", ps / 1000);
    else
        snprintf(out, 32, "%.*gns", 6, (double)ps / 1000);
    return out;
}

/* ---- text ---- */

static void say_tracks(cli_printer *p, const hd_fix_report *r)
{
    cli_say(p, "processing %zu track(s)\n", r->track_count);
    for (size_t i = 0; i < r->track_count; i++) {
        const hd_fix_track *t = &r->tracks[i];
        if (t->moved == 0 && t->snapped == 0) continue;
        cli_say(p, "  pid=");
        cli_say_name(p, t->pid);
        cli_say(p, " tid=");
        cli_say_name(p, t->tid);
        cli_say(p, ": %u lane(s), %" PRIu64 " slice(s) moved, %" PRIu64 " snapped\n", t->lane_count, t->moved,
                t->snapped);
    }
}

static void say_sums(cli_printer *p, const hd_fix_report *r, double threshold_us)
{
    char a[32], b[32], c[32], threshold[32];
    if (r->snapped_crossings) {
        snprintf(threshold, sizeof threshold, "%.15g", threshold_us);
        cli_say(p, "snapped %" PRIu64 " sub-%s%sus crossing(s)\n", r->snapped_crossings, threshold,
                strpbrk(threshold, ".e") ? "" : ".0");
    }
    if (r->updated == 0) return;
    cli_say(p,
            "updated %" PRIu64 " slice(s): total |start shift|=%s, total |end shift|=%s, total |boundary shift|=%s\n",
            r->updated, time_text(a, r->start_shift_ps), time_text(b, r->end_shift_ps),
            time_text(c, r->start_shift_ps + r->end_shift_ps));
}

static void say_kernels(cli_printer *p, const hd_fix_report *r, bool full)
{
    uint64_t runs = 0;
    size_t shown = full || r->kernel_count < HD_FIX_LIST_LIMIT ? r->kernel_count : HD_FIX_LIST_LIMIT;
    if (r->kernel_count == 0) return;
    for (size_t i = 0; i < r->kernel_count; i++) runs += r->kernels[i].runs;
    cli_say(p, "kernel timing summary (%" PRIu64 " run(s) across %zu kernel name(s)):\n", runs, r->kernel_count);
    for (size_t i = 0; i < shown; i++) {
        const hd_fix_kernel *k = &r->kernels[i];
        char a[32], b[32], c[32];
        cli_say(p, "  ");
        cli_say_name(p, k->name);
        cli_say(p,
                ": runs=%" PRIu64 ", total delayed=%s, total trimmed=%s, total boundary shift=%s, moved=%" PRIu64
                ", snapped=%" PRIu64 "\n",
                k->runs, time_text(a, k->delayed_ps), time_text(b, k->trimmed_ps),
                time_text(c, k->delayed_ps + k->trimmed_ps), k->moved, k->snapped);
    }
    if (shown < r->kernel_count) cli_say(p, "  ... and %zu more (--report full)\n", r->kernel_count - shown);
}

static void say_moved(cli_printer *p, const hd_fix_report *r)
{
    if (r->moved_others == 0) return;
    cli_say(p, "moved slices (%" PRIu64 "):\n", r->moved_others);
    for (size_t i = 0; i < r->moved_count; i++) {
        const hd_fix_slice *s = &r->moved_list[i];
        cli_say(p, "  ");
        cli_say_name(p, s->name);
        cli_say(p, " pid=");
        cli_say_name(p, s->pid);
        cli_say(p, ": moved to lane %u (tid ", s->lane);
        cli_say_name(p, s->tid);
        cli_say(p, " -> ");
        cli_say_name(p, s->lane_tid);
        cli_say(p, ")\n");
    }
    if (r->moved_count < r->moved_others)
        cli_say(p, "  ... and %" PRIu64 " more (--report full)\n", r->moved_others - r->moved_count);
}

static void say_snapped(cli_printer *p, const hd_fix_report *r)
{
    char a[32];
    if (r->snapped_others == 0) return;
    cli_say(p, "snapped slices (%" PRIu64 "):\n", r->snapped_others);
    for (size_t i = 0; i < r->snapped_count; i++) {
        const hd_fix_slice *s = &r->snapped_list[i];
        cli_say(p, "  ");
        cli_say_name(p, s->name);
        cli_say(p, " pid=");
        cli_say_name(p, s->pid);
        cli_say(p, " tid=");
        cli_say_name(p, s->tid);
        cli_say(p, ":");
        if (s->start_shift_ps)
            cli_say(p, " start delayed by %s%s", time_text(a, s->start_shift_ps), s->end_shift_ps ? "," : "");
        if (s->end_shift_ps) cli_say(p, " end trimmed by %s", time_text(a, s->end_shift_ps));
        cli_say(p, "\n");
    }
    if (r->snapped_count < r->snapped_others)
        cli_say(p, "  ... and %" PRIu64 " more (--report full)\n", r->snapped_others - r->snapped_count);
}

static void say_losses(cli_run *run, const char *in, const hd_fix_report *r)
{
    cli_printer p = {.run = run, .to_stderr = true};
    cli_say(&p, "heddle: ");
    cli_say_name(&p, strcmp(in, "-") == 0 ? "standard input" : in);
    cli_say(&p, ": lost %" PRIu64 " of the JSON (heddle check names them), %" PRIu64 " flow endpoint(s)\n", r->losses,
            r->flows_unresolved);
}

static void say_report(cli_printer *p, const hd_fix_report *r, const struct fix_options *options, const char *out)
{
    say_tracks(p, r);
    say_sums(p, r, options->snap_threshold_us);
    say_kernels(p, r, options->report == REPORT_FULL);
    say_moved(p, r);
    say_snapped(p, r);
    if (r->flow_endpoints)
        cli_say(p, "rewrote %" PRIu64 " flow endpoint(s) onto rewritten slice starts/lanes\n", r->flow_endpoints);
    if (r->flows_unresolved)
        cli_say(p, "could not keep %" PRIu64 " flow endpoint(s) bound to their slice\n", r->flows_unresolved);
    if (r->repairs || r->losses)
        cli_say(p, "repaired broken JSON in %" PRIu64 " place(s), lost %" PRIu64 " (heddle check names them)\n",
                r->repairs + r->losses, r->losses);
    if (options->dry_run)
        cli_say(p, "dry run: nothing written; would write ");
    else
        cli_say(p, "wrote ");
    cli_say_name(p, strcmp(out, "-") == 0 ? "standard output" : out);
    cli_say(p, ": %" PRIu64 " slices, %" PRIu64 " new lanes\n", r->slices, r->new_lanes);
}

/* ---- JSON ---- */

static hd_status tracks_table(hd_table **out, const hd_fix_report *r, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "tracks", err) != HD_OK) return err->status;
    hd_table_add_column(b, "pid", HD_VALUE_STRING);
    hd_table_add_column(b, "tid", HD_VALUE_STRING);
    hd_table_add_column(b, "lanes", HD_VALUE_COUNT);
    hd_table_add_column(b, "slices", HD_VALUE_COUNT);
    hd_table_add_column(b, "moved", HD_VALUE_COUNT);
    hd_table_add_column(b, "snapped", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->track_count; i++) {
        const hd_fix_track *t = &r->tracks[i];
        hd_table_add_text(b, t->pid);
        hd_table_add_text(b, t->tid);
        hd_table_add_count(b, t->lane_count);
        hd_table_add_count(b, t->slices);
        hd_table_add_count(b, t->moved);
        hd_table_add_count(b, t->snapped);
    }
    return hd_table_finish(out, b, err);
}

static hd_status kernels_table(hd_table **out, const hd_fix_report *r, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "kernels", err) != HD_OK) return err->status;
    hd_table_add_column(b, "name", HD_VALUE_STRING);
    hd_table_add_column(b, "runs", HD_VALUE_COUNT);
    hd_table_add_column(b, "delayed_ps", HD_VALUE_INT);
    hd_table_add_column(b, "trimmed_ps", HD_VALUE_INT);
    hd_table_add_column(b, "moved", HD_VALUE_COUNT);
    hd_table_add_column(b, "snapped", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->kernel_count; i++) {
        const hd_fix_kernel *k = &r->kernels[i];
        hd_table_add_text(b, k->name);
        hd_table_add_count(b, k->runs);
        hd_table_add_int(b, k->delayed_ps);
        hd_table_add_int(b, k->trimmed_ps);
        hd_table_add_count(b, k->moved);
        hd_table_add_count(b, k->snapped);
    }
    return hd_table_finish(out, b, err);
}

static hd_status slices_table(hd_table **out, const char *name, const hd_fix_slice *list, size_t count, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, name, err) != HD_OK) return err->status;
    hd_table_add_column(b, "name", HD_VALUE_STRING);
    hd_table_add_column(b, "pid", HD_VALUE_STRING);
    hd_table_add_column(b, "tid", HD_VALUE_STRING);
    hd_table_add_column(b, "lane", HD_VALUE_COUNT);
    hd_table_add_column(b, "lane_tid", HD_VALUE_STRING);
    hd_table_add_column(b, "start_delayed_ps", HD_VALUE_INT);
    hd_table_add_column(b, "end_trimmed_ps", HD_VALUE_INT);
    for (size_t i = 0; i < count; i++) {
        hd_table_add_text(b, list[i].name);
        hd_table_add_text(b, list[i].pid);
        hd_table_add_text(b, list[i].tid);
        hd_table_add_count(b, list[i].lane);
        if (list[i].lane_tid)
            hd_table_add_text(b, list[i].lane_tid);
        else
            hd_table_add_null(b);
        hd_table_add_int(b, list[i].start_shift_ps);
        hd_table_add_int(b, list[i].end_shift_ps);
    }
    return hd_table_finish(out, b, err);
}

static int say_json(cli_printer *p, const hd_fix_report *r, const struct fix_options *options)
{
    hd_error *err = &p->run->err;
    hd_table *table = NULL;
    cli_say(p, "{\n  " CLI_SCHEMA("fix") ",\n  \"dry_run\": %s,\n  \"snap_threshold_us\": %.15g",
            options->dry_run ? "true" : "false", options->snap_threshold_us);
    const struct {
        const char *key;
        uint64_t value;
    } sums[] = {
        {"slices", r->slices},
        {"moved", r->moved},
        {"snapped_crossings", r->snapped_crossings},
        {"updated", r->updated},
        {"start_shift_ps", (uint64_t)r->start_shift_ps},
        {"end_shift_ps", (uint64_t)r->end_shift_ps},
        {"flow_endpoints", r->flow_endpoints},
        {"flows_unresolved", r->flows_unresolved},
        {"new_lanes", r->new_lanes},
        {"json_repairs", r->repairs},
        {"json_losses", r->losses},
        {"output_bytes", r->output_bytes},
    };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        cli_say(p, ",\n  \"%s\": %" PRIu64, sums[i].key, sums[i].value);
    hd_status status = cli_say_table_json(p, "tracks", tracks_table(&table, r, err), &table);
    if (status == HD_OK) status = cli_say_table_json(p, "kernels", kernels_table(&table, r, err), &table);
    if (status == HD_OK)
        status = cli_say_table_json(p, "moved_slices",
                                    slices_table(&table, "moved", r->moved_list, r->moved_count, err), &table);
    if (status == HD_OK)
        status = cli_say_table_json(p, "snapped_slices",
                                    slices_table(&table, "snapped", r->snapped_list, r->snapped_count, err), &table);
    cli_say(p, "\n}\n");
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

/* ---- the command ---- */

static int run(cli_run *run)
{
    const struct fix_options *options = run->options;
    const char *in = run->operands[0], *out = run->operand_count > 1 ? run->operands[1] : NULL;
    if (!out && !options->dry_run && !options->in_place)
        return cli_usage_error(run, "fix needs an output: heddle fix IN OUT (or --in-place, --dry-run)");
    if (out && !options->dry_run && !options->in_place && cli_spare_input(run, out, in, IN_PLACE_HINT) != CLI_OK)
        return CLI_USAGE;
    if (!out) out = in;
    cli_progress progress;
    cli_progress_init(&progress, run, "reading");
    const hd_read_options read = {.strict = options->strict,
                                  .threads = (unsigned)options->threads,
                                  .progress = cli_progress_update,
                                  .progress_user = &progress};
    const hd_write_options write = {.pretty = options->pretty, .sync = options->sync};
    const hd_fix_options fix = {.snap_threshold_ps = cli_snap_threshold_ps(options->snap_threshold_us),
                                .dry_run = options->dry_run,
                                .full_lists = options->report == REPORT_FULL,
                                .read = &read,
                                .write = &write};
    hd_fix_report *report;
    hd_status status = hd_fix_overlaps(&report, in, out, &fix, &run->err);
    cli_progress_deinit(&progress);
    if (status != HD_OK) return CLI_FAILED;
    cli_printer p = {.run = run, .to_stderr = !options->dry_run && strcmp(out, "-") == 0};
    int result = CLI_OK;
    if (run->global.json)
        result = say_json(&p, report, options);
    else if (!run->global.quiet)
        say_report(&p, report, options, out);
    else if (report->losses || report->flows_unresolved)
        say_losses(run, in, report);
    hd_fix_report_free(report);
    return result;
}

static const char *const report_choices[] = {"auto", "full", NULL};
static const struct fix_options defaults = {.snap_threshold_us = 5.0};
static const cli_option options[] = {
    {.name = "snap-threshold-us",
     .letter = 's',
     .kind = CLI_DECIMAL,
     .value = "US",
     .max = 1e9,
     .field = offsetof(struct fix_options, snap_threshold_us),
     .help = "snap crossings smaller than this many microseconds in place; 0 snaps none"},
    OPTION_OUT,
    {.name = "dry-run",
     .letter = 'n',
     .kind = CLI_FLAG,
     .field = offsetof(struct fix_options, dry_run),
     .help = "report what would be done and write nothing"},
    {.name = "report",
     .letter = 'r',
     .kind = CLI_CHOICE,
     .value = "LISTS",
     .choices = report_choices,
     .field = offsetof(struct fix_options, report),
     .help = "auto lists the 50 largest changes, full lists all"},
    {.name = "pretty",
     .letter = 'p',
     .kind = CLI_FLAG,
     .field = offsetof(struct fix_options, pretty),
     .help = "indent the output by two spaces, instead of keeping the input's layout"},
    {.name = "strict",
     .kind = CLI_FLAG,
     .field = offsetof(struct fix_options, strict),
     .help = "fail on broken JSON instead of repairing it"},
    OPTION_IN_PLACE(.field = offsetof(struct fix_options, in_place)),
    OPTION_SYNC(.field = offsetof(struct fix_options, sync)),
    OPTION_THREADS(.field = offsetof(struct fix_options, threads), "threads that read"),
    {0},
};

const cli_command cmd_fix = {
    .name = "fix",
    .group = CLI_CHANGE,
    .summary = "repair lanes, so that every viewer shows every slice",
    .usage = "IN [OUT]",
    .offer = "<files>",
    .description =
        "Repairs lanes. On one track (pid, tid) slices must be disjoint or nested: viewers drop or misdraw slices "
        "that cross. A crossing smaller than the snap threshold is timing noise: either the end of the later slice "
        "is clamped to the end of the earlier one, or its start is moved to that end, whichever shift is smaller. A "
        "larger crossing is genuine: the slice moves to a new lane right below the track, with its times "
        "unchanged.\n\n"
        "Flow arrows stay at their slices. Everything else keeps its bytes: the output is the input with patches, so "
        "a trace without crossings is copied byte for byte. Broken JSON becomes valid.\n\n"
        "OUT must be another file than IN, unless --in-place is given, which also means OUT = IN. Both may be - for "
        "standard input and output. Compression follows from the "
        "content of IN and from the extension of OUT (.gz, .zst). The report goes to standard output, or to standard "
        "error if the trace goes to standard output.",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle fix trace.json.gz fixed.json.gz", "repair a trace"},
            {"heddle fix --dry-run --report full trace.json", "what would be changed"},
            {"heddle fix --in-place --snap-threshold-us 0 trace.json", "move every crossing slice, in the same file"},
            {0},
        },
    .defaults = &defaults,
    .options_size = sizeof(struct fix_options),
    .operands_min = 1,
    .operands_max = 2,
    .has_json = true,
    .run = run,
};
