/* convert.c - from trace files to a trace file: read, merge ranks, filter, crop, repair lanes, write */
#include "heddle/convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/options.h"
#include "base/system.h"
#include "convert/impl.h"
#include "convert/report.h"
#include "format/format.h"
#include "pass/anonymize/anonymize.h"
#include "pass/filter/filter.h"
#include "pass/lanes/threshold.h"
#include "pass/merge/merge.h"
#include "pass/pass.h"
#include "pass/thin/thin.h"
#include "report/job/job.h"
#include "trace/chunk.h"
#include "trace/watch.h"

/* Options of an input, by its index. */
typedef struct companion {
    char *trace, *profile; /* paths; NULL: the input itself, none */
    bool found;            /* the profile was, as opposed to named */
} companion;

/* A pass of the chain. */
typedef struct chain_link {
    const hd_pass *pass;
    hd_pass *own;          /* the pass made for one of our own options; NULL: the caller's pass */
    const char *step;      /* its name in the report; NULL: it is there only if it adds events */
    const char *cause;     /* of a failure; NULL: by its name */
    bool joins_companions; /* each input is joined with its profile, whose events were counted when it was read */
} chain_link;

typedef struct converter {
    const hd_convert_options *options;
    hd_convert_report *report;
    hd_pass_input *inputs; /* as far as they have come; one from the merge on */
    companion *companions;
    size_t *places; /* among all inputs of the job */
    size_t count, profiles, left_out;
    size_t read_count; /* inputs that were read */
    convert_share share;
    chain_link *chain;
    size_t chain_size;
    hd_read_options read;
    hd_write_options write;
    hd_error *err;
    uint64_t passed, to_pass; /* events times passes */
    uint64_t unwritten;       /* events that the writer had no place for */
    bool failed;              /* to keep a row of the writer */
} converter;

/* ---- steps ---- */

/* Whether all inputs surely fit: thousands of small ones would each open a temporary file otherwise. */
static bool are_small(const converter *c, uint64_t all)
{
    enum { GROWTH = 32 }; /* more than any format's events take in memory, by the bytes of its file */
    uint64_t bytes = 0;
    struct stat info;
    for (size_t i = 0; i < c->count; i++) {
        if (stat(c->inputs[i].path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
        bytes += (uint64_t)info.st_size;
    }
    return c->profiles == 0 && bytes < all / GROWTH;
}

/* The inputs are in memory at the same time, so each gets its part. */
static uint64_t limit_of_one(const converter *c)
{
    uint64_t all = c->read.memory_limit;
    size_t count = c->count + c->profiles;
    if (count == 1) return all;
    all = all ? all : hd_memory_default();
    if (are_small(c, all)) return all;
    return all > count ? all / count : 1;
}

static hd_status find_companions(converter *c)
{
    for (size_t i = 0; i < c->count; i++) {
        companion *own = &c->companions[i];
        HD_TRY(hd_format_find_trace(&own->trace, c->inputs[i].path, c->err));
        if (own->trace) c->inputs[i].path = own->trace;
        if (c->options->memory_profile) {
            own->profile = strdup(c->options->memory_profile);
            if (!own->profile) return HD_NOMEM(c->err);
        } else if (c->options->find_memory_profiles) {
            HD_TRY(hd_format_find_companion(&own->profile, c->inputs[i].path, c->err));
            own->found = true;
        }
        c->profiles += own->profile != NULL;
    }
    return HD_OK;
}

static hd_status read_input(converter *c, size_t index, const hd_read_options *read)
{
    hd_error why = {0};
    hd_pass_input *input = &c->inputs[index];
    hd_status status = hd_trace_read(&input->trace, input->path, read, &why);
    if (status != HD_OK) {
        bool is_its_own = status != HD_ERR_MEMORY && status != HD_ERR_ARGUMENT;
        if (is_its_own && c->options->leave_out && c->options->leave_out(c->options->user, index, &why)) return HD_OK;
        if (c->err && c->err->status == HD_OK) *c->err = why;
        return status;
    }
    if (!convert_report_input(c->report, input->path, input->trace)) return HD_NOMEM(c->err);
    return c->options->each ? c->options->each(c->options->user, &input->trace, index, c->err) : HD_OK;
}

/* Moves the inputs that were read, with their options, to the front. */
static hd_status leave_out(converter *c)
{
    size_t kept = 0, count = c->count;
    for (size_t i = 0; i < count; i++) {
        if (!c->inputs[i].trace) continue;
        hd_pass_input input = c->inputs[i];
        companion own = c->companions[i];
        c->inputs[i] = c->inputs[kept];
        c->companions[i] = c->companions[kept];
        c->places[kept] = c->places[i];
        c->inputs[kept] = input;
        c->companions[kept++] = own;
    }
    c->count = kept;
    c->left_out = count - kept;
    if (kept) return HD_OK;
    return hd_error_set(c->err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "no input can be read");
}

static hd_status read_inputs(converter *c)
{
    hd_read_options *read = &c->read;
    HD_TRY(find_companions(c));
    read->memory_limit = limit_of_one(c);
    read->args = HD_ARGS_ALL;
    read->sources = read->strict = read->lazy = read->keep_input = false;
    for (size_t i = 0; i < c->count; i++) HD_TRY(read_input(c, i, read));
    HD_TRY(leave_out(c));
    c->read_count = c->count;
    convert_report_step(c->report, "read", &(hd_pass_report){.in = c->report->events_in, .out = c->report->events_in});
    return HD_OK;
}

/* ---- the chain ---- */

/* The options of the pass, at their defaults, to be filled in. NULL: no memory. */
static void *add_own(converter *c, const hd_pass_about *about, const char *step, const char *cause)
{
    hd_pass *pass;
    if (hd_pass_new_default(&pass, about, c->err) != HD_OK) return NULL;
    c->chain[c->chain_size++] = (chain_link){.pass = pass, .own = pass, .step = step, .cause = cause};
    return pass->options.values;
}

/* The passes that our own options mean, in their order. */
static hd_status add_options(converter *c, bool merge)
{
    const hd_convert_options *o = c->options;
    if (c->profiles) {
        if (!add_own(c, &hd_pass_memory, "memory", NULL)) return HD_ERR_MEMORY;
        c->chain[c->chain_size - 1].joins_companions = true;
    }
    if (merge) {
        pass_merge *merging = add_own(c, &hd_pass_merge, "merge", "cannot merge");
        if (!merging) return HD_ERR_MEMORY;
        *merging = (pass_merge){.ranks = o->ranks,
                                .processes = o->processes,
                                .shift = {o->shifts, o->shift_count},
                                .share = c->share.number,
                                .first = o->pass_count > 0,
                                .by_place = c->share.by_place,
                                .places = c->places};
    }
    if (o->tracks || o->names || o->category) {
        hd_filter *filter = add_own(c, &hd_pass_filter, "filter", "cannot filter");
        if (!filter) return HD_ERR_MEMORY;
        *filter = (hd_filter){o->tracks, o->names, o->category};
    }
    if (o->from.unit != HD_CONVERT_UNSET || o->until.unit != HD_CONVERT_UNSET) {
        pass_crop *crop = add_own(c, &hd_pass_crop, "crop", "cannot crop");
        if (!crop) return HD_ERR_MEMORY;
        *crop = (pass_crop){o->from, o->until, o->clip, c->share.window};
    }
    if (o->min_duration.unit != HD_CONVERT_UNSET) {
        hd_thin *thin = add_own(c, &hd_pass_thin, "thin", "cannot remove short slices");
        if (!thin) return HD_ERR_MEMORY;
        *thin = (hd_thin){o->min_duration, o->keep_gpu};
    }
    if (o->fix) {
        pass_lanes *lanes = add_own(c, &hd_pass_lanes, "fix", "cannot repair lanes");
        if (!lanes) return HD_ERR_MEMORY;
        lanes->snap_threshold_us = (double)hd_lanes_threshold(o->snap_threshold_ps) / 1e6;
    }
    return HD_OK;
}

enum { OWN_PASSES = 8 };

/* Several inputs are merged first, unless the caller says where. */
static hd_status make_chain(converter *c)
{
    const hd_convert_options *o = c->options;
    bool merges = false;
    c->chain = calloc(OWN_PASSES + o->pass_count, sizeof *c->chain);
    if (!c->chain) return HD_NOMEM(c->err);
    for (size_t i = 0; i < o->pass_count; i++) merges |= hd_pass_about_of(o->passes[i])->merges;
    if (merges && o->shift_count)
        return hd_error_set(c->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "ranks are shifted where they are merged: give the pass merge its shift");
    bool are_ranks = o->ranks || o->shift_count || (c->left_out && !o->processes);
    HD_TRY(add_options(c, !merges && (c->count > 1 || are_ranks)));
    for (size_t i = 0; i < o->pass_count; i++)
        c->chain[c->chain_size++] = (chain_link){.pass = o->passes[i], .step = hd_pass_about_of(o->passes[i])->name};
    if (o->anonymize) {
        hd_anonymize *anonymize = add_own(c, &hd_pass_anonymize, "anonymize", "cannot anonymize");
        if (!anonymize) return HD_ERR_MEMORY;
        *anonymize = (hd_anonymize){o->anonymize, o->salt};
    }
    if (!c->share.number || !o->pass_count) return HD_OK;
    pass_merge *last = add_own(c, &hd_pass_merge, NULL, "cannot merge"); /* of ids and stacks, also those of passes */
    if (!last) return HD_ERR_MEMORY;
    *last = (pass_merge){.ranks = true, .share = c->share.number};
    return HD_OK;
}

static hd_status read_second(hd_pass_input *out, converter *c, const chain_link *l, size_t index)
{
    *out = (hd_pass_input){.path = l->joins_companions ? c->companions[index].profile : hd_pass_second(l->pass)};
    if (!out->path) return HD_OK;
    HD_TRY(hd_trace_read(&out->trace, out->path, &c->read, c->err));
    hd_status status = HD_OK;
    if (hd_pass_about_of(l->pass) == &hd_pass_memory)
        status = hd_format_require_companion(out->trace, out->path, c->err);
    if (status == HD_OK && l->joins_companions && !convert_report_input(c->report, out->path, out->trace))
        status = HD_NOMEM(c->err);
    if (status != HD_OK) hd_trace_free(out->trace);
    return status;
}

/* Sums are those of the inputs that the pass ran on, one after the other. */
static void add_report(hd_pass_report *sum, const hd_pass_report *one)
{
    sum->in += one->in;
    sum->added += one->added;
    sum->removed += one->removed;
    sum->lost += one->lost;
    sum->out += one->out;
    sum->new_lanes += one->new_lanes;
    sum->moved_slices += one->moved_slices;
    sum->snapped_crossings += one->snapped_crossings;
    sum->ranks_by_place |= one->ranks_by_place;
    sum->processes |= one->processes;
}

static void on_copied(void *user, uint64_t events)
{
    converter *c = user;
    c->passed += events;
    if (c->options->progress) c->options->progress(c->options->progress_user, c->passed, c->to_pass);
}

/* A pass on the input at index, or on all where it merges. */
static hd_status run_on(hd_pass_report *sum, converter *c, const chain_link *l, size_t index, size_t count)
{
    hd_trace *made;
    hd_pass_report report;
    hd_pass_input second;
    HD_TRY(read_second(&second, c, l, index));
    for (size_t i = index; i < index + count; i++) hd_trace_watch(c->inputs[i].trace, on_copied, c);
    hd_status status =
        hd_pass_run(&made, &report, l->pass, &c->inputs[index], count, second.trace ? &second : NULL, c->err);
    if (status == HD_OK && l->joins_companions) {
        uint64_t joined = hd_trace_event_count(second.trace);
        report.in += joined;
        report.added -= joined;
        c->report->steps[0].in += joined; /* of reading */
        c->report->steps[0].out += joined;
    }
    hd_trace_free(second.trace);
    if (status != HD_OK) return status;
    c->inputs[index].trace = made;
    add_report(sum, &report);
    return HD_OK;
}

hd_status convert_note_misfits(const hd_convert_report *report, hd_trace *merged, hd_error *err)
{
    for (size_t i = 0; i < report->misfit_count; i++)
        HD_TRY(
            hd_trace_add_ledger(merged, "job", report->misfits[i].code, HD_LEDGER_NOTE, report->misfits[i].count, err));
    return HD_OK;
}

static hd_status merge_inputs(hd_pass_report *sum, converter *c, const chain_link *l)
{
    hd_job *ranks;
    if (c->count == 1 && !c->left_out) return run_on(sum, c, l, 0, 1);
    HD_TRY(hd_job_new(&ranks, c->err));
    hd_status status = HD_OK;
    bool are_one = hd_merge_is_one_rank(c->inputs, c->count);
    for (size_t i = 0; i < c->count && status == HD_OK; i++)
        status = job_add_place(ranks, c->inputs[i].trace, c->inputs[i].path,
                               are_one ? HD_NO_NUMBER : hd_merge_rank_of(&c->inputs[i]), c->err);
    if (status == HD_OK) status = run_on(sum, c, l, 0, c->count);
    if (status == HD_OK && !sum->processes)
        status = hd_job_misfits(&c->report->misfits, &c->report->misfit_count, ranks, HD_MISFIT_RANKS, c->err);
    hd_job_free(ranks);
    return status == HD_OK ? convert_note_misfits(c->report, c->inputs->trace, c->err) : status;
}

static hd_status run_link(converter *c, const chain_link *l)
{
    hd_pass_report sum = {0};
    if (hd_pass_about_of(l->pass)->merges) {
        HD_TRY(merge_inputs(&sum, c, l));
        for (size_t i = 0; i < c->count && c->count == c->read_count && !sum.processes; i++)
            c->report->inputs[i].rank = c->inputs[i].rank;
        c->report->processes |= sum.processes;
        c->report->ranks_by_place |= sum.ranks_by_place;
        c->count = 1;
    } else {
        for (size_t i = 0; i < c->count; i++) {
            if (l->joins_companions && !c->companions[i].profile) {
                uint64_t events = hd_trace_event_count(c->inputs[i].trace);
                add_report(&sum, &(hd_pass_report){.in = events, .out = events});
                continue;
            }
            hd_status status = run_on(&sum, c, l, i, 1);
            if (status != HD_OK && l->joins_companions && c->companions[i].found)
                hd_error_add_cause(c->err, "cannot join the memory profile found next to the trace (--memory-profile "
                                           "none leaves it out)");
            if (status != HD_OK) return status;
        }
    }
    if (l->step || sum.added) convert_report_step(c->report, l->step ? l->step : "merge", &sum);
    return HD_OK;
}

static hd_status run_chain(converter *c)
{
    uint64_t events = 0;
    HD_TRY(make_chain(c));
    for (size_t i = 0; i < c->count; i++) events += hd_trace_event_count(c->inputs[i].trace);
    c->to_pass = events * c->chain_size;
    for (size_t i = 0; i < c->chain_size; i++) {
        const chain_link *l = &c->chain[i];
        c->passed = events * i;
        hd_status status = run_link(c, l);
        if (status != HD_OK && l->cause) hd_error_add_cause(c->err, "%s", l->cause);
        if (status != HD_OK && !l->own) hd_error_add_cause(c->err, "pass %s", l->step);
        if (status != HD_OK) return status;
    }
    if (c->count == 1) return HD_OK;
    return hd_error_set(c->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no pass merges the %zu inputs", c->count);
}

/* ---- ledger ---- */

hd_status convert_refuse_loss(const char *path, uint64_t offset, const char *code, uint64_t count, hd_error *err)
{
    return hd_error_set(err, HD_ERR_DAMAGED, path, offset,
                        "%s: %" PRIu64 " lost, and strict refuses losses: nothing is written", code, count);
}

static hd_status gather_ledger(converter *c)
{
    const hd_ledger_row *loss = NULL;
    if (c->left_out)
        HD_TRY(hd_trace_add_ledger(c->inputs->trace, "convert", "convert.input-left-out", HD_LEDGER_LOSS, c->left_out,
                                   c->err));
    for (size_t i = 0; i < hd_trace_ledger_count(c->inputs->trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(c->inputs->trace, i);
        if (!convert_report_ledger(c->report, row)) return HD_NOMEM(c->err);
        if (row->level == HD_LEDGER_LOSS && !loss) loss = row;
    }
    if (!loss || !c->options->strict) return HD_OK;
    return convert_refuse_loss(c->read_count == 1 && !c->left_out ? c->inputs[0].path : NULL, loss->first_offset,
                               loss->code, c->report->losses, c->err);
}

static void keep_row(void *user, const hd_ledger_row *row)
{
    converter *c = user;
    c->unwritten += row->lost_events;
    if (row->level == HD_LEDGER_LOSS) c->report->unheld += row->count;
    if (!convert_report_ledger(c->report, row)) c->failed = true;
}

static hd_status write_trace(converter *c, const char *out)
{
    hd_write_options write = c->write;
    write.ledger = keep_row;
    write.ledger_user = c;
    write.strict = c->options->strict;
    HD_TRY(hd_trace_write(c->inputs->trace, out, &write, c->err));
    c->report->written = true;
    uint64_t given = hd_trace_event_count(c->inputs->trace);
    if (c->unwritten)
        convert_report_step(c->report, "write",
                            &(hd_pass_report){.in = given, .lost = c->unwritten, .out = given - c->unwritten});
    return c->failed ? HD_NOMEM(c->err) : HD_OK;
}

/* ---- all of it ---- */

static const char *format_of(const char *out, const hd_write_options *write)
{
    const hd_format_info *info = write->format ? hd_format_find(write->format) : hd_format_for_path(out);
    return info ? info->name : "chrome";
}

static hd_status convert(converter *c, const char *out)
{
    HD_TRY(hd_convert_options_valid(c->options, c->err));
    if (!c->share.span) {
        c->report->format = format_of(out, &c->write);
        HD_TRY(hd_trace_write_check(out, &c->write, c->err));
    }
    HD_TRY(read_inputs(c));
    HD_TRY(run_chain(c));
    if (c->share.span) {
        const hd_trace_facts *facts = hd_trace_facts_of(c->inputs->trace);
        int64_t rank = c->report->ranks_by_place ? HD_NO_NUMBER : c->report->inputs->rank;
        *c->share.span = (convert_span){rank, facts->world_size, facts->base_ns, facts->start_ns, facts->end_ns};
        return HD_OK;
    }
    HD_TRY(gather_ledger(c));
    return write_trace(c, out);
}

hd_status hd_convert_options_valid(const hd_convert_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_convert_options, options, err);
    const hd_filter filter = {options->tracks, options->names, options->category};
    hd_write_options write;
    HD_TRY(hd_options_copy(&write, sizeof write, sizeof write, options->write, err));
    const char *name = write.format;
    if (options->ranks && options->processes)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "inputs are either ranks or processes of one run, not both");
    const hd_format_info *info = name ? hd_format_find(name) : NULL;
    if (name && (!info || !info->writes))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "no format \"%.60s\" can be written; `heddle formats` lists those that can", name);
    HD_TRY(hd_filter_valid(&filter, err));
    if (options->min_duration.unit != HD_CONVERT_UNSET)
        HD_TRY(hd_thin_valid(&(hd_thin){options->min_duration, options->keep_gpu}, err));
    if (!options->anonymize) return HD_OK;
    if (options->apart && !options->salt)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "ranks that are converted apart are anonymized apart: give them one salt");
    return hd_anonymize_valid(&(hd_anonymize){options->anonymize, options->salt}, err);
}

hd_status convert_inputs(hd_convert_report **out, const char *const *inputs, size_t count, const convert_share *share,
                         const char *to, const hd_convert_options *options, hd_error *err)
{
    converter c = {.options = options, .count = count, .share = *share, .err = err};
    HD_TRY(hd_options_copy(&c.read, sizeof c.read, sizeof c.read, options->read, err));
    HD_TRY(hd_options_copy(&c.write, sizeof c.write, sizeof c.write, options->write, err));
    if (count == 0) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no input");
    if (c.options->memory_profile && count > 1)
        return hd_error_set(err, HD_ERR_ARGUMENT, c.options->memory_profile, HD_OFFSET_NONE,
                            "one memory profile is named, and there are %zu inputs", count);
    c.inputs = calloc(count, sizeof *c.inputs);
    c.companions = calloc(count, sizeof *c.companions);
    c.places = calloc(count, sizeof *c.places);
    c.report = convert_report_new(2 * count, c.options->passes, c.options->pass_count);
    hd_status status = c.inputs && c.companions && c.places && c.report ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && c.inputs; i++) c.inputs[i] = (hd_pass_input){.path = inputs[i], .take = true};
    for (size_t i = 0; i < count && c.places; i++) c.places[i] = share->number ? share->number - 1 : i;
    if (status == HD_OK) status = convert(&c, to);
    for (size_t i = 0; i < count && c.inputs; i++) hd_trace_free(c.inputs[i].trace);
    free(c.inputs);
    free(c.places);
    for (size_t i = 0; i < count && c.companions; i++) {
        free(c.companions[i].trace);
        free(c.companions[i].profile);
    }
    free(c.companions);
    for (size_t i = 0; i < c.chain_size; i++) hd_pass_free(c.chain[i].own);
    free(c.chain);
    if (out)
        *out = c.report;
    else
        hd_convert_report_free(c.report);
    return status;
}

hd_status hd_convert(hd_convert_report **out, const char *const *inputs, size_t count, const char *to,
                     const hd_convert_options *options, hd_error *err)
{
    hd_convert_job *job;
    if (out) *out = NULL;
    HD_OWN_OPTIONS(hd_convert_options, options, err);
    if (!options->apart) return convert_inputs(out, inputs, count, &(convert_share){0}, to, options, err);
    HD_TRY(hd_convert_job_new(&job, inputs, count, to, NULL, options, err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < count && hd_convert_job_crops(job) && status == HD_OK; i++)
        status = hd_convert_job_look(job, i, err);
    if (status == HD_OK && hd_convert_job_crops(job)) status = hd_convert_job_crop(job, err);
    for (size_t i = 0; i < count && status == HD_OK; i++) status = hd_convert_job_rank(job, i, err);
    if (status == HD_OK) status = hd_convert_job_finish(out, job, err);
    hd_convert_job_free(job);
    return status;
}
