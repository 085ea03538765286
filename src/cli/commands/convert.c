/* convert.c - heddle convert: from one trace format to another */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/job_in.h"
#include "cli/printer.h"
#include "cli/report_out.h"
#include "cli/shared_options.h"
#include "cli/times.h"
#include "heddle/capture/mpi.h"
#include "heddle/convert.h"
#include "heddle/fix.h"
#include "heddle/symbolize.h"

enum { KEEP_NOTHING, KEEP_GPU };
static const char *const keep_choices[] = {"nothing", "gpu", NULL};

struct convert_options {
    const char *to;
    const char *from, *until;
    const char *tracks, *names, *category;
    const char *memory_profile, *counters, *binary, *clocks, *anonymize, *salt, *min_duration;
    int keep;
    double snap_threshold_us;
    cli_texts passes;
    int mpi; /* hd_mpi_kind; -1: no --mpi */
    bool clip, fix, ranks, processes, strict, pretty, raw, typed_gpu, clean, sync, in_place;
    uint64_t memory_limit, threads;
    int64_t level;
};

/* ---- options ---- */

/* An option that this output would ignore is a mistake. */
static int check_for_format(cli_run *run, const char *format, const char *path)
{
    const struct convert_options *o = run->options;
    const struct {
        bool set;
        const char *option, *format;
    } rules[] = {
        {o->pretty, "--pretty", "chrome"},
        {o->raw, "--raw", "perfetto"},
        {o->typed_gpu, "--typed-gpu", "perfetto"},
        {o->clean, "--clean", "otf2, parquet"},
        {o->mpi >= 0, "--mpi", "otf2"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].set && !strstr(rules[i].format, format))
            return cli_usage_error(run, "%s is for %s, and the output is %s", rules[i].option, rules[i].format, format);
    }
    const char *dot = strrchr(path, '.');
    bool compressed = dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0);
    if (o->level && !compressed && strcmp(format, "heddle") != 0 && strcmp(format, "parquet") != 0)
        return cli_usage_error(run, "--level is for .gz, .zst, heddle and parquet, and the output is not compressed");
    return CLI_OK;
}

/* The name of the output's format. */
static int choose_format(cli_run *run, const char **format, const char *out)
{
    const struct convert_options *o = run->options;
    bool is_file = strcmp(out, "-") != 0 && strncmp(out, "/dev/", 5) != 0 && strncmp(out, "/proc/", 6) != 0;
    const hd_format_info *info = o->to ? hd_format_find(o->to) : hd_format_for_path(out);
    if (o->to && !info) {
        const char *best = NULL;
        unsigned distance = (unsigned)-1;
        char as_extension[64];
        snprintf(as_extension, sizeof as_extension, "x.%.40s", o->to);
        info = hd_format_for_path(as_extension);
        if (info) return cli_usage_error(run, "--to: no format '%.40s'; did you mean %s?", o->to, info->name);
        for (size_t i = 0; i < hd_format_count(); i++) hd_name_suggest(o->to, hd_format_at(i)->name, &best, &distance);
        return best ? cli_usage_error(run, "--to: no format '%.40s'; did you mean %s?", o->to, best)
                    : cli_usage_error(run, "--to: no format '%.40s'; heddle formats lists them", o->to);
    }
    if ((info || is_file) && report_check_format(run, out, o->to, true) != CLI_OK) return CLI_USAGE;
    *format = info ? info->name : "chrome";
    return CLI_OK;
}

static int fill_options(cli_run *run, hd_convert_options *out, hd_read_options *read, hd_write_options *write,
                        const char *path)
{
    const struct convert_options *o = run->options;
    const char *format = "chrome";
    int status = choose_format(run, &format, path);
    if (status == CLI_OK) status = check_for_format(run, format, path);
    if (status == CLI_OK) status = cli_parse_time(run, &out->from, "--from", o->from);
    if (status == CLI_OK) status = cli_parse_time(run, &out->until, "--until", o->until);
    if (status != CLI_OK) return status;
    if (o->clip && !o->from && !o->until) return cli_usage_error(run, "--clip needs --from or --until");
    if (!o->fix && o->snap_threshold_us != 5.0) return cli_usage_error(run, "--snap-threshold-us needs --fix");
    out->clip = o->clip;
    out->fix = o->fix;
    out->snap_threshold_ps = cli_snap_threshold_ps(o->snap_threshold_us);
    out->ranks = o->ranks;
    out->processes = o->processes;
    out->apart = o->mpi >= 0 || (o->clocks && strcmp(format, "otf2") == 0);
    if (out->apart && o->processes)
        return cli_usage_error(run,
                               "--processes is of one run, and --mpi, or --clocks and otf2, of the ranks of a job");
    out->tracks = o->tracks;
    out->names = o->names;
    out->category = o->category;
    bool no_profile = o->memory_profile && strcmp(o->memory_profile, "none") == 0;
    if (o->memory_profile && !no_profile && run->operand_count > 2)
        return cli_usage_error(run,
                               "--memory-profile names one file, and there are %d inputs; those next to "
                               "TensorFlow's traces are found by themselves",
                               run->operand_count - 1);
    if (o->min_duration && cli_parse_time(run, &out->min_duration, "--min-duration", o->min_duration) != CLI_OK)
        return CLI_USAGE;
    if (o->keep && !o->min_duration) return cli_usage_error(run, "--keep needs --min-duration");
    out->keep_gpu = o->keep == KEEP_GPU;
    if (o->salt && !o->anonymize) return cli_usage_error(run, "--salt needs --anonymize");
    out->anonymize = o->anonymize;
    out->salt = o->salt;
    out->memory_profile = no_profile ? NULL : o->memory_profile;
    out->find_memory_profiles = !o->memory_profile;
    out->strict = o->strict;
    out->read = read;
    out->write = write;
    read->threads = write->threads = (unsigned)o->threads;
    read->memory_limit = o->memory_limit;
    read->binary = o->binary;
    write->format = o->to;
    write->pretty = o->pretty;
    write->raw = o->raw;
    write->typed_gpu = o->typed_gpu;
    write->clean = o->clean;
    write->sync = o->sync;
    write->level = (int)o->level;
    return hd_convert_options_valid(out, &run->err) == HD_OK ? CLI_OK : CLI_USAGE;
}

/* ---- tables ---- */

static hd_status steps_table(hd_table **out, const hd_convert_report *r, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "steps", err) != HD_OK) return err->status;
    hd_table_add_column(b, "step", HD_VALUE_STRING);
    hd_table_add_column(b, "in", HD_VALUE_COUNT);
    hd_table_add_column(b, "added", HD_VALUE_COUNT);
    hd_table_add_column(b, "removed", HD_VALUE_COUNT);
    hd_table_add_column(b, "lost", HD_VALUE_COUNT);
    hd_table_add_column(b, "out", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->step_count; i++) {
        const hd_convert_step *s = &r->steps[i];
        hd_table_add_text(b, s->name);
        hd_table_add_count(b, s->in);
        hd_table_add_count(b, s->added);
        hd_table_add_count(b, s->removed);
        hd_table_add_count(b, s->lost);
        hd_table_add_count(b, s->out);
    }
    return hd_table_finish(out, b, err);
}

static hd_status ledger_table(hd_table **out, const hd_convert_report *r, hd_error *err)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "ledger", err) != HD_OK) return err->status;
    hd_table_add_column(b, "level", HD_VALUE_STRING);
    hd_table_add_column(b, "stage", HD_VALUE_STRING);
    hd_table_add_column(b, "code", HD_VALUE_STRING);
    hd_table_add_column(b, "count", HD_VALUE_COUNT);
    hd_table_add_column(b, "first_offset", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->ledger_count; i++) {
        const hd_ledger_row *row = &r->ledger[i];
        hd_table_add_text(b, levels[row->level]);
        hd_table_add_text(b, row->stage);
        hd_table_add_text(b, row->code);
        hd_table_add_count(b, row->count);
        if (row->first_offset == HD_OFFSET_NONE)
            hd_table_add_null(b);
        else
            hd_table_add_count(b, row->first_offset);
    }
    return hd_table_finish(out, b, err);
}

static hd_status inputs_table(hd_table **out, const hd_convert_report *r, hd_error *err)
{
    hd_table_builder *b;
    if (hd_table_builder_new(&b, "inputs", err) != HD_OK) return err->status;
    hd_table_add_column(b, "path", HD_VALUE_STRING);
    hd_table_add_column(b, "format", HD_VALUE_STRING);
    hd_table_add_column(b, "compression", HD_VALUE_STRING);
    hd_table_add_column(b, "rank", HD_VALUE_INT);
    hd_table_add_column(b, "events", HD_VALUE_COUNT);
    hd_table_add_column(b, "input_bytes", HD_VALUE_COUNT);
    for (size_t i = 0; i < r->input_count; i++) {
        const hd_convert_input *input = &r->inputs[i];
        hd_table_add_text(b, input->path);
        hd_table_add_text(b, input->format);
        hd_table_add_text(b, input->compression);
        if (input->rank == HD_NO_NUMBER)
            hd_table_add_null(b);
        else
            hd_table_add_int(b, input->rank);
        hd_table_add_count(b, input->events);
        hd_table_add_count(b, input->input_bytes);
    }
    return hd_table_finish(out, b, err);
}

/* ---- the report ---- */

static void say_table(cli_printer *p, const char *title, hd_status status, hd_table **table)
{
    const hd_table_style style = {.width = p->run->width, .indent = 2, .bold_head = p->run->color && !p->to_stderr};
    if (status != HD_OK) return;
    cli_say(p, "%s\n", title);
    hd_table_write(*table, (hd_sink){cli_printer_write, p}, &style, &p->run->err);
    hd_table_free(*table);
}

/* The notes that --anonymize leaves: texts replaced, by kind. */
static bool is_replaced(const hd_ledger_row *row)
{
    return strcmp(row->stage, "anonymize") == 0 && strncmp(row->code, "anonymize.", sizeof "anonymize." - 1) == 0;
}

static void say_replaced(cli_printer *p, const hd_convert_report *r)
{
    char count[HD_VALUE_TEXT_BYTES];
    bool any = false;
    for (size_t i = 0; i < r->ledger_count; i++) {
        const hd_ledger_row *row = &r->ledger[i];
        if (!is_replaced(row)) continue;
        cli_say(p, "%s%s of %s", any ? ", " : "texts replaced: ", hd_text_count(count, row->count),
                row->code + sizeof "anonymize." - 1);
        any = true;
    }
    if (any) cli_say(p, "\n");
}

static void say_text(cli_printer *p, const hd_convert_report *r, const char *out)
{
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES], c[HD_VALUE_TEXT_BYTES];
    hd_table *table = NULL;
    hd_error *err = &p->run->err;
    if (r->input_count > 1) say_table(p, "inputs", inputs_table(&table, r, err), &table);
    if (r->processes) cli_say(p, "the inputs are processes of one run\n");
    if (r->ranks_by_place)
        cli_say(p, "the inputs say no rank, or all the same: they are numbered in the order they were named\n");
    if (r->step_count > 1) say_table(p, "events", steps_table(&table, r, err), &table);
    if (r->new_lanes || r->snapped_crossings)
        cli_say(p, "lanes: %s slices moved to %s new lanes, %s crossings snapped\n", hd_text_count(a, r->moved_slices),
                hd_text_count(b, r->new_lanes), hd_text_count(c, r->snapped_crossings));
    say_replaced(p, r);
    if (r->ledger_count) say_table(p, "ledger", ledger_table(&table, r, err), &table);
    if (!r->written) return;
    cli_say(p, "wrote ");
    cli_say_name(p, strcmp(out, "-") == 0 ? "standard output" : out);
    cli_say(p, ": %s, %s events in, %s out, ", r->format, hd_text_count(a, r->events_in),
            hd_text_count(b, r->events_out));
    if (r->lost) cli_say(p, "%s events lost%s", hd_text_count(c, r->lost), r->losses > r->lost ? ", " : "\n");
    if (r->losses > r->lost)
        cli_say(p, "%s loss%s in the ledger\n", hd_text_count(c, r->losses), r->losses == 1 ? "" : "es");
    if (!r->losses) cli_say(p, "nothing lost\n");
    if (strcmp(r->format, "otf2") != 0) return;
    cli_say(p, "for otf2-print, Vampir and the like open ");
    cli_say_name(p, out);
    cli_say(p, "/traces.otf2\n");
}

static void say_json(cli_printer *p, const hd_convert_report *r, const char *out)
{
    hd_error *err = &p->run->err;
    hd_table *table = NULL;
    const struct {
        const char *key;
        uint64_t value;
    } sums[] = {
        {"events_in", r->events_in},
        {"events_out", r->events_out},
        {"added", r->added},
        {"removed", r->removed},
        {"lost", r->lost},
        {"repairs", r->repairs},
        {"losses", r->losses},
        {"new_lanes", r->new_lanes},
        {"moved_slices", r->moved_slices},
        {"snapped_crossings", r->snapped_crossings},
    };
    uint64_t replaced = 0;
    for (size_t i = 0; i < r->ledger_count; i++) replaced += is_replaced(&r->ledger[i]) ? r->ledger[i].count : 0;
    cli_say(p, "{\n  " CLI_SCHEMA("convert") ",\n  ");
    cli_say_text_json(p, "output", out);
    cli_say(p, ",\n  \"format\": \"%s\",\n  \"written\": %s,\n  \"ranks_by_place\": %s,\n  \"processes\": %s",
            r->format, r->written ? "true" : "false", r->ranks_by_place ? "true" : "false",
            r->processes ? "true" : "false");
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        cli_say(p, ",\n  \"%s\": %" PRIu64, sums[i].key, sums[i].value);
    cli_say(p, ",\n  \"texts_replaced\": %" PRIu64, replaced);
    hd_status status = cli_say_table_json(p, "inputs", inputs_table(&table, r, err), &table);
    if (status == HD_OK) status = cli_say_table_json(p, "steps", steps_table(&table, r, err), &table);
    if (status == HD_OK) cli_say_table_json(p, "ledger", ledger_table(&table, r, err), &table);
    cli_say(p, "\n}\n");
}

static void say_losses(cli_run *run, const hd_convert_report *r, const char *out)
{
    report_losses losses = {0};
    for (size_t i = 0; i < r->ledger_count; i++) report_add_loss(&losses, &r->ledger[i]);
    report_say_losses(run, out, &losses);
}

/* ---- inputs together ---- */

typedef struct readers {
    const cli_run *run;
    const job_files *inputs;
    cli_progress *progress; /* NULL: none */
} readers;

/* Of several inputs the others are converted. */
static bool leave_out(void *user, size_t index, const hd_error *why)
{
    const readers *r = user;
    cli_run own = *r->run;
    own.err = *why;
    if (!own.err.path[0]) snprintf(own.err.path, sizeof own.err.path, "%s", r->inputs->list[index]);
    flockfile(stderr);
    if (r->progress) cli_progress_pause(r->progress);
    cli_report(&own);
    funlockfile(stderr);
    return true;
}

static hd_status convert(hd_convert_report **out, cli_run *run, const job_files *inputs, hd_convert_options *options,
                         hd_read_options *read, hd_write_options *write)
{
    cli_progress reading, passing, writing;
    cli_progress_init(&reading, run, "reading");
    cli_progress_init_later(&passing, run, "converting");
    cli_progress_init_later(&writing, run, "writing");
    passing.events = writing.events = true;
    read->progress = write->progress = cli_progress_update;
    read->progress_user = &reading;
    options->user = &(readers){run, inputs, &reading};
    options->progress = cli_progress_update;
    options->progress_user = &passing;
    write->progress_user = &writing;
    hd_status status = hd_convert(out, (const char *const *)inputs->list, inputs->count,
                                  run->operands[run->operand_count - 1], options, &run->err);
    cli_progress_deinit(&reading);
    cli_progress_deinit(&passing);
    cli_progress_deinit(&writing);
    return status;
}

/* ---- ranks apart ---- */

typedef struct apart {
    cli_run *run;
    job_files *inputs; /* those that process 0 found */
    hd_convert_job *job;
    size_t *order; /* of the inputs: the largest first, as process 0 saw them */
} apart;

static hd_status convert_rank(void *context, size_t item, hd_error *err)
{
    const apart *a = context;
    cli_run own = *a->run;
    (void)err;
    if (hd_convert_job_rank(a->job, a->order[item], &own.err) == HD_OK) return HD_OK;
    flockfile(stderr);
    cli_report(&own); /* continue, so that every error is reported */
    funlockfile(stderr);
    return HD_OK;
}

static hd_status look_at_rank(void *context, size_t item, hd_error *err)
{
    const apart *a = context;
    hd_status status = hd_convert_job_look(a->job, a->order[item], err);
    if (status != HD_OK && !err->path[0]) hd_error_add_cause(err, "%s", a->inputs->list[a->order[item]]);
    return status;
}

static const char *name_of(void *context, size_t item)
{
    const apart *a = context;
    return a->inputs->list[a->order[item]];
}

static hd_status new_job(apart *a, const char *parts, const hd_convert_options *options)
{
    const char *const *inputs = (const char *const *)a->inputs->list;
    const char *to = a->run->operands[a->run->operand_count - 1];
    return hd_convert_job_new(&a->job, inputs, a->inputs->count, to, parts, options, &a->run->err);
}

/* Of process 0 alone: a file that grows has another place for each that looks. */
static hd_status share_order(apart *a, hd_mpi *mpi)
{
    const size_t count = a->inputs->count;
    void *heard;
    size_t size;
    size_t *order = hd_mpi_rank(mpi) == 0 ? job_largest_first((const char *const *)a->inputs->list, count) : NULL;
    if (hd_mpi_rank(mpi) == 0 && !order)
        return hd_error_set(&a->run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    hd_status status = hd_mpi_broadcast(&heard, &size, mpi, order, count * sizeof *order, &a->run->err);
    free(order);
    if (status == HD_OK) a->order = heard;
    return status;
}

/* All processes convert the inputs that process 0 found, and write their parts into the folder that it made. */
static hd_status begin_apart(apart *a, hd_mpi *mpi, const hd_convert_options *options)
{
    void *folder = NULL;
    size_t size;
    hd_status status = hd_mpi_rank(mpi) == 0 ? new_job(a, NULL, options) : HD_OK;
    if (status == HD_OK) status = job_files_share(a->inputs, mpi, &a->run->err);
    if (status == HD_OK) status = share_order(a, mpi);
    if (status != HD_OK) return status;
    const char *made = a->job ? hd_convert_job_folder(a->job) : "";
    status = hd_mpi_broadcast(&folder, &size, mpi, made, strlen(made) + 1, &a->run->err);
    if (status == HD_OK && !a->job) status = new_job(a, folder, options);
    free(folder);
    return status;
}

/* All are looked at for when they begin and end, before one is cut. */
static hd_status find_window(apart *a, hd_mpi *mpi)
{
    const hd_mpi_work work = {
        .count = a->inputs->count, .work = look_at_rank, .name = name_of, .context = a, .threads = 1};
    hd_status status = hd_mpi_share(mpi, &work, &a->run->err);
    if (status == HD_OK) status = hd_mpi_barrier(mpi, &a->run->err);
    if (status == HD_OK && hd_mpi_rank(mpi) == 0) status = hd_convert_job_crop(a->job, &a->run->err);
    return status == HD_OK ? hd_mpi_barrier(mpi, &a->run->err) : status;
}

/* *out is NULL in processes that only helped. */
static hd_status convert_apart(hd_convert_report **out, cli_run *run, job_files *inputs, const job_clocks *clocks,
                               hd_convert_options *options, hd_read_options *read)
{
    const struct convert_options *o = run->options;
    apart a = {.run = run, .inputs = inputs};
    options->user = &(readers){run, inputs, NULL};
    hd_mpi *mpi = NULL;
    hd_status status = hd_mpi_open(&mpi, (hd_mpi_kind)o->mpi, &run->err);
    *out = NULL;
    if (status != HD_OK) return status;
    if (hd_mpi_size(mpi) > 1 && !read->threads) read->threads = 1; /* there is a process for each core */
    status = begin_apart(&a, mpi, options);
    const hd_mpi_work work = {
        .count = inputs->count, .work = convert_rank, .name = name_of, .context = &a, .threads = 1};
    if (status == HD_OK && hd_convert_job_crops(a.job)) status = find_window(&a, mpi);
    if (status == HD_OK) status = hd_mpi_share(mpi, &work, &run->err);
    if (status == HD_OK) status = hd_mpi_barrier(mpi, &run->err);
    if (status == HD_OK && hd_mpi_rank(mpi) == 0) status = hd_convert_job_finish(out, a.job, &run->err);
    hd_convert_job_free(a.job);
    free(a.order);
    if (status == HD_ERR_ARGUMENT && clocks->why) hd_error_add_cause(&run->err, "%s", clocks->why);
    if (status != HD_OK) cli_report(run);
    if (status != HD_OK) hd_mpi_abort(mpi);
    hd_mpi_close(mpi);
    return status;
}

/* ---- passes ---- */

typedef struct pass_list {
    hd_pass *items[CLI_TEXTS_MAX + 1]; /* and that of --counters, last */
    size_t count;
} pass_list;

static int parse_passes(cli_run *run, pass_list *out)
{
    const struct convert_options *o = run->options;
    const hd_pass_about *const more[] = {hd_symbolize_pass()};
    for (; out->count < o->passes.count; out->count++) {
        hd_status status = hd_pass_new(&out->items[out->count], o->passes.items[out->count], more, 1, &run->err);
        if (status != HD_OK) hd_error_add_cause(&run->err, "--pass (heddle passes lists them)");
        if (status != HD_OK) return CLI_USAGE;
    }
    char *text = NULL;
    if (!o->counters) return CLI_OK;
    if (asprintf(&text, REPORT_COUNTERS_PASS "%s", o->counters) < 0) return CLI_FAILED;
    hd_status status = hd_pass_new(&out->items[out->count++], text, NULL, 0, &run->err);
    if (status != HD_OK) hd_error_add_cause(&run->err, "--counters (heddle formats passes has its options)");
    free(text);
    return status == HD_OK ? CLI_OK : CLI_USAGE;
}

static void free_passes(pass_list *passes)
{
    for (size_t i = 0; i < passes->count; i++) hd_pass_free(passes->items[i]);
}

static int run_with(cli_run *run, job_files *inputs, const pass_list *passes, const job_clocks *clocks)
{
    const struct convert_options *o = run->options;
    hd_read_options read = {0};
    hd_write_options write = {0};
    hd_convert_options options = {.passes = (const hd_pass *const *)passes->items,
                                  .pass_count = passes->count,
                                  .shifts = (const char *const *)clocks->shifts,
                                  .leave_out = inputs->count > 1 ? leave_out : NULL};
    hd_convert_report *report;
    const char *out = run->operands[run->operand_count - 1];
    int result = fill_options(run, &options, &read, &write, out);
    if (result != CLI_OK) return result;
    options.shift_count = options.apart ? clocks->shift_count : clocks->plain_count;
    if (options.apart) options.clocks = clocks->list;
    if (options.apart) options.clock_count = clocks->count;
    hd_status status = o->mpi >= 0 ? convert_apart(&report, run, inputs, clocks, &options, &read)
                                   : convert(&report, run, inputs, &options, &read, &write);
    if (!report && status == HD_OK) return CLI_OK;
    if (o->mpi < 0 && status == HD_ERR_ARGUMENT && clocks->why) hd_error_add_cause(&run->err, "%s", clocks->why);
    cli_printer p = {.run = run, .to_stderr = strcmp(out, "-") == 0};
    /* --strict fails only after the ledger is known, so that it can be printed */
    bool has_report = status == HD_OK || (report && report->ledger_count > 0);
    hd_error err = run->err;
    if (has_report && run->global.json)
        say_json(&p, report, out);
    else if (has_report && !run->global.quiet)
        say_text(&p, report, out);
    else if (status == HD_OK)
        say_losses(run, report, out);
    if (has_report) report_say_misfits(run, report->misfits, report->misfit_count);
    if (status != HD_OK) run->err = err;
    hd_convert_report_free(report);
    return run->err.status == HD_OK ? CLI_OK : CLI_FAILED;
}

/* ---- an output that is missing ---- */

/* Paths, but for the digits of numbers, which may be of any length. */
static bool are_alike(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;; a++, b++) {
        size_t of_a = strspn(a, digits), of_b = strspn(b, digits);
        a += of_a;
        b += of_b;
        if (!of_a != !of_b || *a != *b) return false;
        if (!*a) return true;
    }
}

/* `heddle convert rank*.json` without OUT would write over the last rank. */
static int check_not_an_input(cli_run *run, const job_files *inputs)
{
    const struct convert_options *o = run->options;
    const char *out = run->operands[run->operand_count - 1];
    struct stat there;
    bool is_alike = false;
    int result = o->in_place ? CLI_OK : cli_spare_input(run, out, o->memory_profile, "");
    if (result != CLI_OK || o->in_place || stat(out, &there) != 0 ||
        !(S_ISREG(there.st_mode) || S_ISDIR(there.st_mode)))
        return result;
    for (size_t i = 0; i < inputs->count && result == CLI_OK; i++) {
        result = cli_spare_input(run, out, inputs->list[i], IN_PLACE_HINT);
        is_alike = is_alike || are_alike(inputs->list[i], out);
    }
    if (result != CLI_OK || !is_alike || inputs->count < 2 || run->last_operand) return result;
    return cli_usage_error(run,
                           "'%.100s' is named like the inputs and exists: is the output missing? To write over it, "
                           "remove it first",
                           out);
}

/* ---- the command ---- */

static int run(cli_run *run)
{
    const struct convert_options *o = run->options;
    pass_list passes = {.count = 0};
    job_clocks clocks = {0};
    job_files inputs = {0};
    int result = parse_passes(run, &passes);
    for (int i = 0; i < run->operand_count - 1 && result == CLI_OK; i++)
        if (job_files_add_ranks(&inputs, run->operands[i], &run->err) != HD_OK) result = CLI_FAILED;
    if (result == CLI_OK) result = check_not_an_input(run, &inputs);
    if (result == CLI_OK && o->clocks && job_clocks_find(&clocks, run, o->clocks) != HD_OK) result = CLI_FAILED;
    if (result == CLI_OK) result = run_with(run, &inputs, &passes, &clocks);
    job_files_deinit(&inputs);
    job_clocks_deinit(&clocks);
    free_passes(&passes);
    return result;
}

static const struct convert_options defaults = {.snap_threshold_us = 5.0, .mpi = -1};
#define FIELD(member) .field = offsetof(struct convert_options, member)
static const cli_option options[] = {
    OPTION_OUT,
    {.name = "to",
     .letter = 't',
     .kind = CLI_TEXT,
     .value = "FORMAT",
     .offer = "<formats>",
     FIELD(to),
     .help = "write this format, whatever the extension of OUT; heddle formats lists them"},
    OPTION_FROM(FIELD(from)),
    OPTION_UNTIL(FIELD(until)),
    {.name = "clip",
     .kind = CLI_FLAG,
     FIELD(clip),
     .help = "cut slices at --from and --until, instead of keeping those that straddle them whole"},
    {.name = "tracks",
     .kind = CLI_TEXT,
     .value = "PATTERNS",
     FIELD(tracks),
     .help = "keep the tracks whose name, process name or PROCESS/THREAD matches (pid and tid where there is no name)"},
    {.name = "names", .kind = CLI_TEXT, .value = "PATTERNS", FIELD(names), .help = "keep events of these names"},
    {.name = "category",
     .kind = CLI_TEXT,
     .value = "PATTERNS",
     .offer = "<categories>",
     FIELD(category),
     .help = "keep events of these categories"},
    {.name = "fix",
     .letter = 'f',
     .kind = CLI_FLAG,
     FIELD(fix),
     .help = "repair lanes, as heddle fix does, before writing"},
    {.name = "snap-threshold-us",
     .letter = 's',
     .kind = CLI_DECIMAL,
     .value = "US",
     .max = 1e9,
     FIELD(snap_threshold_us),
     .help = "with --fix, snap crossings smaller than this in place; 0 snaps none"},
    {.name = "ranks",
     .kind = CLI_FLAG,
     FIELD(ranks),
     .help = "name the processes by their rank even if there is one input only; with several it is always done"},
    {.name = "processes",
     .kind = CLI_FLAG,
     FIELD(processes),
     .help = "the inputs are processes of one run, not ranks; so are several captures (.hdcap)"},
    {.name = "clocks",
     .kind = CLI_TEXT,
     .value = "JOB.hds",
     .offer = "<files>",
     FIELD(clocks),
     .help =
         "shift each rank by the clock offset of its host, as heddle clocks JOB.hds estimates it; an unknown clock is "
         "an error. In otf2, times stay unchanged, and offset, drift and error bar are stored as ClockOffset records, "
         "several if a clock was set during the run"},
    OPTION_MPI(FIELD(mpi), "this process takes the ranks one by one. The output is otf2"),
    {.name = "memory-profile",
     .kind = CLI_TEXT,
     .value = "FILE",
     FIELD(memory_profile),
     .help = "join this memory profile of TensorFlow to the trace: its allocators become tracks; none: join none, and "
             "search for none"},
    OPTION_COUNTERS(FIELD(counters)),
    {.name = "pass",
     .kind = CLI_TEXTS,
     .value = "NAME[:KEY=VALUE,...]",
     .offer = "<passes>",
     FIELD(passes),
     .help = "run this pass after those of the options above; may be given several times, and they run in that order. "
             "heddle formats passes lists names and options"},
    {.name = "min-duration",
     .kind = CLI_TEXT,
     .value = "TIME",
     FIELD(min_duration),
     .help = "remove slices that are shorter, such as 5us. Their number and total time are added to the slice around "
             "them. Launches of GPU activities, waits for a GPU, and steps are never removed"},
    {.name = "keep",
     .kind = CLI_CHOICE,
     .value = "WHAT",
     .choices = keep_choices,
     FIELD(keep),
     .help = "with --min-duration, keep these slices however short they are: gpu keeps GPU activities, so that all "
             "their figures stay the same"},
    OPTION_ANONYMIZE(FIELD(anonymize)),
    OPTION_SALT(FIELD(salt)),
    OPTION_BINARY(FIELD(binary)),
    {.name = "strict",
     .kind = CLI_FLAG,
     FIELD(strict),
     .help = "write nothing and fail if anything of the input would be lost; repairs are not losses"},
    {.name = "pretty", .letter = 'p', .kind = CLI_FLAG, FIELD(pretty), .help = "chrome: indent by two spaces"},
    {.name = "raw", .kind = CLI_FLAG, FIELD(raw), .help = "perfetto: write packets without Perfetto's own compression"},
    {.name = "typed-gpu",
     .kind = CLI_FLAG,
     FIELD(typed_gpu),
     .help =
         "perfetto: write GPU activities also as render stages, for Perfetto's tracks of GPUs and its table gpu_slice; "
         "its table slice then has them twice"},
    {.name = "clean",
     .letter = 'c',
     .kind = CLI_FLAG,
     FIELD(clean),
     .help = "otf2, parquet: replace a folder that exists already"},
    {.name = "level",
     .letter = 'l',
     .kind = CLI_INTEGER,
     .value = "N",
     .min = -100,
     .max = 22,
     FIELD(level),
     .help = "of compression: gzip 1 to 9, zstd -100 to 22; 0 is the format's own choice. Of a .heddle, from 15 on: an "
             "eighth smaller, and read three to five times as slowly"},
    OPTION_MEMORY_LIMIT(FIELD(memory_limit)),
    OPTION_THREADS(FIELD(threads), "threads to use"),
    OPTION_IN_PLACE(FIELD(in_place)),
    OPTION_SYNC(FIELD(sync)),
    {0},
};

const cli_command cmd_convert = {
    .name = "convert",
    .group = CLI_START,
    .summary = "convert between formats; merge ranks, crop, filter",
    .usage = "IN... OUT",
    .offer = "<files>",
    .description =
        "The format of IN is detected from its content; that of OUT follows from its extension, or from --to "
        "(`heddle formats` lists both). Compression follows from a final .gz or .zst. OUT may be one of the inputs: "
        "it appears whole or not at all. If OUT exists and its name differs from those of several inputs only by "
        "digits, it is refused, since `heddle convert rank*.json` lacks an OUT. - is standard input or output.\n\n"
        "Several inputs are the ranks of one trace. Each gets processes of its own, named by its rank: the rank that "
        "the trace contains, else that of its file name (rank3, worker_3, trace_3.json), else its position among the "
        "inputs. Inputs that all contain the same rank, such as runs on one GPU, are numbered by position, too. In a "
        "name that the shell does not expand, {rank} matches any "
        "number ('traces/rank{rank}.json.gz'). Pids that several ranks have are made distinct (pid 7 of rank 3 "
        "becomes 3000007 or so), ids of flow arrows likewise, and times are moved to one clock if the traces contain "
        "the zero of theirs. An unreadable input is reported and counted as a loss; the others are converted.\n\n"
        "With --mpi, or --clocks and otf2, each rank is converted by itself, and the archives are joined into one: "
        "times stay, ids of arrows get the rank as a prefix (7 of rank 3 is 30000000007), a --pass runs on each "
        "rank. --from and --until cut all ranks at the same time of the archive's clock; for that each is read "
        "twice.\n\n"
        "Several captures (.hdcap) are the processes of one run, as other inputs are with --processes: processes "
        "keep their names, those of GPUs name the process that used them, correlation ids are shifted apart.\n\n"
        "The memory profile that TensorFlow writes next to a trace (HOST.memory_profile.json.gz with "
        "HOST.trace.json.gz, or the only one with the only trace of a folder) is joined to it. IN may be such a "
        "folder, if it contains one trace.\n\n"
        "PATTERNS are separated by commas. * ? and [a-z] are as in a shell and must match the whole text; /REGEX/ is "
        "a POSIX extended regular expression that matches anywhere in it; ! before a pattern excludes what it "
        "matches; a backslash takes the special meaning from the next character. Events must pass all lists that are "
        "given. The arrows of slices that are left out are lost, which the ledger counts.\n\n"
        "--from and --until keep what overlaps the time between them: slices with both ends, flow arrows with their "
        "slices, and of each counter the last sample before --from, moved there, since that is its value then.\n\n"
        "--anonymize keeps times, numbers and structure, so all sums stay the same. A word stays if it is a number or "
        "a term of profilers, frameworks or Python. Every other word becomes x and 16 digits of a keyed hash "
        "(SipHash), the same wherever the word occurs. Kernels and operators of frameworks keep their names, unless "
        "names is given. Kernels of communication always keep them, since analyses recognise them by name. Numbers in "
        "texts stay; network addresses are replaced. Look at the output before you give it "
        "away.\n\n"
        "Steps run in this order: read, memory (profiles joined), merge, filter, crop, thin "
        "(--min-duration), fix, each --pass, counters, anonymize, write. --pass merge sets where the inputs are "
        "merged: the "
        "passes before it run on each input. The report shows how "
        "many events went into and out of each step: in + added = out + removed + lost. The ledger below it lists "
        "every repair and loss of reading and writing. The report goes to standard error if the trace goes to "
        "standard output. The exit status is 1 if the conversion failed or --strict refused a loss; OUT is unchanged "
        "then.",
    .options = options,
    .examples =
        (const cli_example[]){
            {"heddle convert trace.json.gz trace.heddle", "parse once, open in milliseconds from then on"},
            {"heddle convert rank*.json.gz all.json.gz", "the ranks of a job in one trace"},
            {"mpirun -n 8 heddle convert --mpi auto --clocks job.hds rank*.json.gz job.otf2",
             "for Vampir, by 8 processes, with the offsets of the clocks"},
            {"heddle convert --from 40% --until 60% --clip trace.json middle.json", "a fifth of the time"},
            {"heddle convert --category kernel,gpu_memcpy --names '!/nccl/' in.json gpu.json",
             "what the GPU did, but for NCCL"},
            {"heddle convert --tracks 'python/*' --fix in.json - | gzip >python.json.gz",
             "the threads of one process, with lanes repaired"},
            {"heddle convert --pass attribution:cpu=stacks.folded --pass filter:names='*gemm*' gpu.json out.heddle",
             "stacks for GPU activities, then a part of it"},
            {"heddle convert --min-duration 5us --keep gpu trace.json.gz small.json.gz",
             "a smaller file of the same sums"},
            {"heddle convert --anonymize trace.json.gz public.json.gz", "a trace that can leave the company"},
            {"heddle convert --strict trace.json trace.sbt", "only if nothing is lost"},
            {0},
        },
    .defaults = &defaults,
    .options_size = sizeof(struct convert_options),
    .operands_min = 2,
    .operands_max = -1,
    .has_json = true,
    .run = run,
};
