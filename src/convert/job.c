/* job.c - the ranks of a job as one archive, each converted by itself
 *
 * Each rank becomes an archive of its own, a part, with its report next to it; any process may do that. Then one
 * process merges the tracks and metadata of all parts (pass/merge), and the format joins them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "convert/impl.h"
#include "convert/report.h"
#include "pass/merge/merge.h"
#include "pass/pass.h"
#include "report/job/job.h"
#include "trace/chunk.h"

/* ---- begin ---- */

/* A pass that a rank goes through alone. */
static hd_status check_pass(const hd_pass *pass, hd_error *err)
{
    const hd_pass_about *about = hd_pass_about_of(pass);
    const char *why = NULL;
    if (about->merges) why = "they are merged anyway";
    if (about == &hd_pass_crop) why = "their first events differ: use --from and --until";
    if (hd_pass_second(pass)) why = "its file is of one of them: give each rank its own before";
    if (!why) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "pass %s cannot run on ranks that are converted apart: %s", about->name, why);
}

static hd_status check_options(const hd_convert_options *o, const hd_format *format, size_t count, const char *to,
                               hd_error *err)
{
    const char *what = NULL;
    if (o->processes) what = "processes of one run";
    if (o->each || o->memory_profile) what = "what is changed on the way";
    for (size_t i = 0; i < o->pass_count; i++) HD_TRY(check_pass(o->passes[i], err));
    if (!format || !format->join)
        return hd_error_set(err, HD_ERR_ARGUMENT, to, HD_OFFSET_NONE,
                            "only OTF2 archives are made of ranks that are converted apart");
    if (count == 0) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no input");
    for (size_t i = 1; i < o->clock_count; i++) {
        const hd_convert_clock *before = &o->clocks[i - 1], *clock = &o->clocks[i];
        if (clock->rank == before->rank && clock->first_ns <= before->last_ns)
            return hd_error_set(err, HD_ERR_ARGUMENT, to, HD_OFFSET_NONE,
                                "the clocks of rank %" PRId64 " are not one after the other", clock->rank);
    }
    if (!what) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, to, HD_OFFSET_NONE, "%s cannot be converted rank by rank", what);
}

hd_status hd_convert_job_new(hd_convert_job **out, const char *const *inputs, size_t count, const char *to,
                             const char *parts, const hd_convert_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_convert_options, options, err);
    hd_convert_job *job = calloc(1, sizeof *job);
    if (!job) return HD_NOMEM(err);
    *job = (hd_convert_job){
        .inputs = inputs, .count = count, .options = *options, .shifts = {options->shifts, options->shift_count}};
    job->options.ranks = true;
    job->options.apart = false;
    job->options.shifts = NULL;
    job->options.shift_count = 0;
    hd_status status = hd_options_copy(&job->write, sizeof job->write, sizeof job->write, options->write, err);
    job->clocks = calloc(options->clock_count + 1, sizeof *job->clocks);
    if (status == HD_OK && !job->clocks) status = HD_NOMEM(err);
    if (status == HD_OK) status = hd_convert_options_valid(options, err);
    if (status == HD_OK) {
        job->format =
            job->write.format ? hd_format_named(job->write.format, strlen(job->write.format)) : hd_format_writing(to);
        status = check_options(options, job->format, count, to, err);
    }
    if (status == HD_OK && !parts) {
        status = hd_out_folder_create(&job->out, to, job->format->folder, &job->write, err);
        parts = job->out.temporary;
    }
    if (status == HD_OK && !(job->folder = strdup(parts))) status = HD_NOMEM(err);
    if (status == HD_OK)
        *out = job;
    else
        hd_convert_job_free(job);
    return status;
}

const char *hd_convert_job_folder(const hd_convert_job *job)
{
    return job->folder;
}

void hd_convert_job_free(hd_convert_job *job)
{
    if (!job) return;
    hd_out_folder_abort(&job->out);
    free(job->clocks);
    free(job->folder);
    free(job);
}

/* ---- a rank ---- */

hd_status convert_part_path(char **out, const hd_convert_job *job, size_t index, const char *what, hd_error *err)
{
    return asprintf(out, "%s/%zu%s", job->folder, index, what) < 0 ? HD_NOMEM(err) : HD_OK;
}

static hd_status save_report(const hd_convert_job *job, const hd_convert_report *report, size_t index, hd_error *err)
{
    char *path;
    HD_TRY(convert_part_path(&path, job, index, ".report", err));
    hd_status status = convert_report_save(report, path, err);
    free(path);
    return status;
}

static hd_status is_there(bool *out, const hd_convert_job *job, size_t index, const char *what, hd_error *err)
{
    char *path;
    HD_TRY(convert_part_path(&path, job, index, what, err));
    *out = access(path, F_OK) == 0;
    free(path);
    return HD_OK;
}

/* A rank that cannot be read leaves a file that says so. */
#define LEFT_OUT ".left-out"

hd_status convert_is_left_out(bool *out, const hd_convert_job *job, size_t index, hd_error *err)
{
    return is_there(out, job, index, LEFT_OUT, err);
}

typedef struct rank_input {
    const hd_convert_job *job;
    size_t index;
    bool is_left_out;
} rank_input;

static bool leave_rank_out(void *user, size_t index, const hd_error *why)
{
    rank_input *r = user;
    char *path;
    (void)index;
    if (!r->job->options.leave_out(r->job->options.user, r->index, why)) return false;
    if (convert_part_path(&path, r->job, r->index, LEFT_OUT, NULL) != HD_OK) return false;
    FILE *file = fopen(path, "w");
    r->is_left_out = file && fclose(file) == 0;
    free(path);
    return r->is_left_out;
}

hd_status convert_job_input(hd_convert_report **out, const hd_convert_job *job, size_t index,
                            const convert_share *share, const char *to, const hd_convert_options *options,
                            hd_error *err)
{
    hd_error why = {0};
    rank_input r = {.job = job, .index = index};
    hd_convert_options own = *options;
    if (own.leave_out) own.leave_out = leave_rank_out;
    own.user = &r;
    hd_status status = convert_inputs(out, &job->inputs[index], 1, share, to, &own, &why);
    if (status == HD_OK || r.is_left_out) return r.is_left_out ? HD_END : HD_OK;
    if (err && err->status == HD_OK) *err = why;
    return status;
}

hd_status hd_convert_job_rank(hd_convert_job *job, size_t index, hd_error *err)
{
    char *path;
    bool is_left_out = false;
    hd_crop_window window;
    hd_convert_report *report = NULL;
    hd_convert_options options = job->options;
    hd_write_options write = job->write;
    write.format = job->format->info.name;
    write.sync = false; /* it moves before it is there to stay */
    write.part = true;
    write.clean |= job->by_place; /* that it was converted before */
    options.write = &write;
    if (hd_convert_job_crops(job)) {
        HD_TRY(convert_is_left_out(&is_left_out, job, index, err));
        if (is_left_out) return HD_OK;
        HD_TRY(convert_read_window(&window, job, index, err));
    }
    HD_TRY(convert_part_path(&path, job, index, "", err));
    const convert_share share = {.number = job->count > 1 ? index + 1 : 0,
                                 .by_place = job->by_place,
                                 .window = hd_convert_job_crops(job) ? &window : NULL};
    hd_status status = convert_job_input(&report, job, index, &share, path, &options, err);
    if (status == HD_OK) status = save_report(job, report, index, err);
    if (status != HD_OK && status != HD_END) hd_error_add_cause(err, "%s", job->inputs[index]);
    hd_convert_report_free(report);
    free(path);
    return status == HD_END ? HD_OK : status;
}

/* ---- all of them ---- */

typedef struct whole {
    const hd_convert_job *job;
    size_t read, left_out; /* ranks */
    size_t count;          /* of those that are kept */
    hd_convert_report *report;
    hd_merge_input *inputs; /* traces without events */
    hd_format_part *parts;
    uint64_t *events; /* that each has */
    uint64_t lost;    /* those of ranks that are there twice */
    hd_trace *trace;  /* their merge */
    char **paths;
    hd_error *err;
} whole;

/* The trace with no more strings than it needs: those of all parts stay until they are merged. */
static hd_status shrink(hd_trace **trace, hd_error *err)
{
    hd_builder *builder;
    hd_copy *copy = NULL;
    HD_TRY(hd_builder_new(&builder, err));
    hd_status status = hd_copy_new(&copy, *trace, builder, err);
    if (status == HD_OK) status = hd_copy_tracks(copy, NULL, NULL, err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, err);
    hd_copy_free(copy);
    hd_trace_free(*trace);
    *trace = NULL;
    if (status == HD_OK) return hd_builder_finish(trace, builder, err);
    hd_builder_free(builder);
    return status;
}

static hd_status read_part(whole *w, size_t index)
{
    char *path;
    const size_t at = w->read++;
    bool placed = w->report->ranks_by_place;
    uint64_t before = convert_report_out(w->report);
    w->report->ranks_by_place = false;
    HD_TRY(convert_part_path(&path, w->job, index, ".report", w->err));
    hd_status status = convert_report_add(w->report, path, w->err);
    free(path);
    HD_TRY(status);
    w->events[at] = convert_report_out(w->report) - before;
    w->inputs[at].path = w->job->inputs[index];
    if (at && placed != w->report->ranks_by_place)
        return hd_error_set(w->err, HD_ERR_ARGUMENT, w->inputs[placed ? at - 1 : at].path, HD_OFFSET_NONE,
                            "does not say its rank, and other inputs do: give it a name such as rank3.json");
    const char *anchor = w->job->format->folder->anchor;
    if (asprintf(&w->paths[at], "%s/%zu/%s", w->job->folder, index, anchor) < 0) return HD_NOMEM(w->err);
    w->parts[at].path = w->paths[at];
    HD_TRY(w->job->format->read_part(&w->inputs[at].trace, w->paths[at], w->err));
    return shrink(&w->inputs[at].trace, w->err);
}

/* A time that may have no limit. */
static int64_t on_part(int64_t ns, int64_t zero_ns)
{
    int64_t out;
    return __builtin_sub_overflow(ns, zero_ns, &out) ? (zero_ns > 0 ? INT64_MIN : INT64_MAX) : out;
}

void convert_part_clock(hd_format_part *part, const hd_convert_job *job, int64_t rank, int64_t shift_ns, int64_t own_ns,
                        int64_t base_ns)
{
    const hd_convert_clock *clocks = job->options.clocks;
    const int64_t zero_ns = own_ns == HD_NO_TIME ? 0 : own_ns;
    size_t first = 0, count = clocks ? job->options.clock_count : 0;
    while (first < count && clocks[first].rank != rank) first++;
    size_t end = first;
    for (; end < count && clocks[end].rank == rank; end++)
        job->clocks[end] = (hd_format_clock){.first_ns = on_part(clocks[end].first_ns, zero_ns),
                                             .last_ns = on_part(clocks[end].last_ns, zero_ns),
                                             .at_ns = on_part(clocks[end].at_ns, zero_ns),
                                             .offset_ns = clocks[end].offset_ns,
                                             .bar_ns = clocks[end].bar_ns,
                                             .drift = clocks[end].drift_ppm / 1e6};
    part->clocks = end > first ? &job->clocks[first] : NULL;
    part->clock_count = end - first;
    part->offset_ns = (part->clocks ? 0 : shift_ns) + (base_ns == HD_NO_TIME ? 0 : own_ns - base_ns);
}

/* Of a rank that is there twice the first stays, as where all are merged at once (pass/list.c). */
static hd_status leave_twins(whole *w)
{
    bool *twins;
    hd_pass_report step = {0};
    hd_status status = hd_merge_find_twins(&twins, w->inputs, w->read, w->err);
    for (size_t i = 0; i < w->read && status == HD_OK; i++) {
        step.in += w->events[i];
        if (twins[i]) {
            step.lost += w->events[i];
            hd_trace_free(w->inputs[i].trace);
            continue;
        }
        w->inputs[w->count] = w->inputs[i];
        w->parts[w->count++] = w->parts[i];
    }
    for (size_t i = w->count; i < w->read && status == HD_OK; i++) w->inputs[i].trace = NULL;
    free(twins);
    if (status != HD_OK || !step.lost) return status;
    step.out = step.in - step.lost;
    convert_report_step(w->report, "merge", &step);
    w->lost = step.lost;
    return HD_OK;
}

static hd_status find_misfits(whole *w)
{
    hd_job *ranks;
    HD_TRY(hd_job_new(&ranks, w->err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < w->read && status == HD_OK; i++)
        status = job_add_place(ranks, w->inputs[i].trace, w->inputs[i].path,
                               w->report->ranks_by_place ? HD_NO_NUMBER : w->inputs[i].rank, w->err);
    if (status == HD_OK)
        status = hd_job_misfits(&w->report->misfits, &w->report->misfit_count, ranks, HD_MISFIT_RANKS, w->err);
    hd_job_free(ranks);
    return status;
}

/* A loss of whole ranks. */
static hd_status add_loss(whole *w, const char *stage, const char *code, uint64_t count)
{
    if (!count) return HD_OK;
    HD_TRY(hd_trace_add_ledger(w->trace, stage, code, HD_LEDGER_LOSS, count, w->err));
    if (!w->job->options.strict) return HD_OK;
    return convert_refuse_loss(NULL, HD_OFFSET_NONE, code, count, w->err);
}

static hd_status merge_parts(whole *w)
{
    bool by_place;
    hd_pass_result result;
    HD_TRY(hd_merge_find_ranks(w->inputs, w->read, &by_place, w->err));
    if (w->job->count > 1) HD_TRY(find_misfits(w));
    HD_TRY(leave_twins(w));
    HD_TRY(hd_merge_find_shifts(w->inputs, w->count, w->job->shifts, w->err));
    HD_TRY(hd_merge(&w->trace, &result, w->inputs, w->count, w->job->count > 1, w->err));
    HD_TRY(convert_note_misfits(w->report, w->trace, w->err));
    if (w->job->by_place)
        HD_TRY(hd_trace_add_ledger(w->trace, "merge", "merge.ranks-by-place", HD_LEDGER_NOTE, w->read, w->err));
    HD_TRY(add_loss(w, "convert", "convert.input-left-out", w->left_out));
    HD_TRY(add_loss(w, "merge", "merge.rank-twice", w->lost));
    int64_t base_ns = hd_trace_facts_of(w->trace)->base_ns;
    uint32_t tracks = 0;
    uint64_t settings = 0;
    for (size_t i = 0; i < w->count; i++) {
        convert_part_clock(&w->parts[i], w->job, w->inputs[i].rank, w->inputs[i].shift_ns,
                           hd_trace_facts_of(w->inputs[i].trace)->base_ns, base_ns);
        settings += w->parts[i].clock_count > 1 ? w->parts[i].clock_count - 1 : 0;
        w->parts[i].first_track = tracks;
        tracks += hd_trace_track_count(w->inputs[i].trace);
    }
    if (settings)
        HD_TRY(hd_trace_add_ledger(w->trace, "convert", "convert.clock-set", HD_LEDGER_NOTE, settings, w->err));
    for (size_t i = 0; i < hd_trace_ledger_count(w->trace); i++) {
        if (!convert_report_ledger(w->report, hd_trace_ledger_at(w->trace, i))) return HD_NOMEM(w->err);
    }
    if (tracks == hd_trace_track_count(w->trace)) return HD_OK;
    return hd_error_set(w->err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "a fault of this program: ranks share tracks");
}

/* All but those that are left out. A report is the last that a rank leaves. */
static hd_status read_parts(whole *w)
{
    const hd_convert_job *job = w->job;
    size_t missing = 0, first = 0;
    for (size_t i = 0; i < job->count; i++) {
        bool is_done, is_left_out = false;
        HD_TRY(is_there(&is_done, job, i, ".report", w->err));
        if (is_done && !missing) HD_TRY(read_part(w, i));
        if (is_done) continue;
        HD_TRY(convert_is_left_out(&is_left_out, job, i, w->err));
        w->left_out += is_left_out;
        if (!is_left_out && !missing++) first = i;
    }
    if (missing)
        return hd_error_set(w->err, HD_ERR_DAMAGED, job->inputs[first], HD_OFFSET_NONE,
                            "%zu of %zu ranks were not converted, this one is the first of them", missing, job->count);
    return w->read ? HD_OK : hd_error_set(w->err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "no input can be read");
}

static void forget_parts(whole *w)
{
    for (size_t i = 0; i < w->job->count; i++) {
        if (w->inputs) hd_trace_free(w->inputs[i].trace);
        if (w->paths) free(w->paths[i]);
        if (w->inputs) w->inputs[i].trace = NULL;
        if (w->paths) w->paths[i] = NULL;
    }
    hd_convert_report_free(w->report);
    w->report = NULL;
    w->read = w->left_out = 0;
}

static hd_convert_report *new_report(const hd_convert_job *job)
{
    return convert_report_new(2 * job->count, job->options.passes, job->options.pass_count);
}

/* Only now it is known that all inputs claim the same rank: they are converted again by index, since ranks are written
 * in their events. */
static hd_status convert_by_place(whole *w, hd_convert_job *job)
{
    forget_parts(w);
    if (!(w->report = new_report(job))) return HD_NOMEM(w->err);
    job->by_place = true;
    for (size_t i = 0; i < job->count; i++) {
        bool is_left_out;
        HD_TRY(convert_is_left_out(&is_left_out, job, i, w->err));
        if (!is_left_out) HD_TRY(hd_convert_job_rank(job, i, w->err));
    }
    return read_parts(w);
}

static hd_status finish(whole *w, hd_convert_job *job)
{
    if (!w->report || !w->inputs || !w->parts || !w->paths || !w->events) return HD_NOMEM(w->err);
    HD_TRY(read_parts(w));
    if (hd_merge_is_one_rank(w->inputs, w->read)) HD_TRY(convert_by_place(w, job));
    convert_report_sum(w->report);
    w->report->format = job->format->info.name;
    HD_TRY(merge_parts(w));
    HD_TRY(job->format->join(job->out.folder, w->parts, w->count, w->trace, w->err));
    HD_TRY(hd_out_folder_commit(&job->out, &job->write, w->err));
    w->report->written = true;
    return HD_OK;
}

hd_status hd_convert_job_finish(hd_convert_report **out, hd_convert_job *job, hd_error *err)
{
    whole w = {.job = job,
               .report = new_report(job),
               .inputs = calloc(job->count, sizeof *w.inputs),
               .parts = calloc(job->count, sizeof *w.parts),
               .paths = calloc(job->count, sizeof *w.paths),
               .events = calloc(job->count, sizeof *w.events),
               .err = err};
    hd_status status = finish(&w, job);
    if (out) *out = status == HD_OK ? w.report : NULL;
    if (out && status == HD_OK) w.report = NULL;
    forget_parts(&w);
    hd_trace_free(w.trace);
    free(w.inputs);
    free(w.parts);
    free(w.paths);
    free(w.events);
    return status;
}
