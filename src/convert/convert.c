/* convert.c - from trace files to a trace file: read, merge ranks, filter, crop, repair lanes, write */
#include "heddle/convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/system.h"
#include "convert/memory.h"
#include "convert/report.h"
#include "convert/window.h"
#include "pass/crop/crop.h"
#include "pass/filter/filter.h"
#include "pass/join.h"
#include "pass/lanes/apply.h"
#include "pass/merge/merge.h"
#include "trace/chunk.h"

/* What belongs to an input, by its place. */
typedef struct companion {
    char *trace, *profile; /* paths; NULL: the input itself, none */
    bool found;            /* the profile was, as opposed to named */
} companion;

typedef struct converter {
    const hd_convert_options *options;
    hd_convert_report *report;
    hd_merge_input *inputs;
    companion *companions;
    size_t count, profiles, left_out;
    hd_trace *trace; /* as far as it has come */
    hd_error *err;
    uint64_t unwritten; /* events that the writer had no place for */
    bool failed;        /* to keep a row of the writer */
} converter;

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* The trace that a step made takes the place of the one before. */
static void advance(converter *c, const char *name, uint64_t in, hd_trace *made, hd_pass_result result)
{
    convert_report_step(c->report, name, in, hd_trace_event_count(made), result.added, result.removed, result.lost);
    hd_trace_free(c->trace);
    c->trace = made;
}

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
    uint64_t all = c->options->read.memory_limit;
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
        HD_TRY(convert_find_trace(&own->trace, c->inputs[i].path, c->err));
        if (own->trace) c->inputs[i].path = own->trace;
        if (c->options->memory_profile) {
            own->profile = strdup(c->options->memory_profile);
            if (!own->profile) return HD_NOMEM(c->err);
        } else if (c->options->find_memory_profiles) {
            HD_TRY(convert_find_memory(&own->profile, c->inputs[i].path, c->err));
            own->found = true;
        }
        c->profiles += own->profile != NULL;
    }
    return HD_OK;
}

/* The profile takes the trace's place together with it. */
static hd_status join_profile(converter *c, size_t index, const hd_read_options *read, uint64_t *added)
{
    hd_trace *profile, *made;
    hd_pass_result result;
    const char *path = c->companions[index].profile;
    HD_TRY(hd_trace_read(&profile, path, read, c->err));
    hd_status status = HD_OK;
    if (strcmp(hd_trace_facts_of(profile)->format, "tfmemory") != 0)
        status = hd_error_set(c->err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "is no memory profile of TensorFlow");
    if (status == HD_OK && !convert_report_input(c->report, path, profile)) status = HD_NOMEM(c->err);
    if (status == HD_OK) status = hd_join(&made, &result, c->inputs[index].trace, profile, c->err);
    hd_trace_free(profile);
    if (status != HD_OK) return status;
    hd_trace_free(c->inputs[index].trace);
    c->inputs[index].trace = made;
    *added += result.added;
    return HD_OK;
}

static hd_status join_profiles(converter *c, const hd_read_options *read, uint64_t *added)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!c->companions[i].profile) continue;
        hd_status status = join_profile(c, i, read, added);
        if (status != HD_OK && c->companions[i].found)
            hd_error_add_cause(c->err, "cannot join the memory profile found next to the trace (--memory-profile none "
                                       "leaves it out)");
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

static hd_status read_input(converter *c, size_t index, const hd_read_options *read)
{
    hd_error why = {0};
    hd_merge_input *input = &c->inputs[index];
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

/* Those that were read, and what belongs to them, move to the front. */
static hd_status leave_out(converter *c)
{
    size_t kept = 0, count = c->count;
    for (size_t i = 0; i < count; i++) {
        if (!c->inputs[i].trace) continue;
        hd_merge_input input = c->inputs[i];
        companion own = c->companions[i];
        c->inputs[i] = c->inputs[kept];
        c->companions[i] = c->companions[kept];
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
    uint64_t added = 0;
    HD_TRY(find_companions(c));
    hd_read_options read = c->options->read;
    read.memory_limit = limit_of_one(c);
    read.args = HD_ARGS_ALL;
    read.sources = read.strict = read.lazy = read.keep_input = false;
    for (size_t i = 0; i < c->count; i++) HD_TRY(read_input(c, i, &read));
    HD_TRY(leave_out(c));
    HD_TRY(join_profiles(c, &read, &added));
    uint64_t in = c->report->events_in;
    convert_report_step(c->report, "read", in, in, 0, 0, 0);
    if (c->profiles) convert_report_step(c->report, "memory", in, in + added, added, 0, 0);
    return HD_OK;
}

/* Captures are of the processes of a run, as nobody makes one for a rank. */
static bool are_processes(const converter *c)
{
    if (c->options->processes || c->options->ranks) return c->options->processes;
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(hd_trace_facts_of(c->inputs[i].trace)->format, "capture") != 0) return false;
    }
    return true;
}

static hd_status merge_inputs(converter *c)
{
    hd_trace *made;
    hd_pass_result result;
    uint64_t in = 0;
    if (c->count == 1 && !c->options->ranks) {
        c->trace = c->inputs[0].trace;
        c->inputs[0].trace = NULL;
        return HD_OK;
    }
    for (size_t i = 0; i < c->count; i++) in += hd_trace_event_count(c->inputs[i].trace);
    c->report->processes = are_processes(c);
    if (c->report->processes) {
        HD_TRY(hd_merge_processes(&made, &result, c->inputs, c->count, c->err));
    } else {
        HD_TRY(hd_merge_find_ranks(c->inputs, c->count, &c->report->ranks_by_place, c->err));
        for (size_t i = 0; i < c->count; i++) c->report->inputs[i].rank = c->inputs[i].rank;
        HD_TRY(hd_merge(&made, &result, c->inputs, c->count, c->err));
    }
    advance(c, "merge", in, made, result);
    return HD_OK;
}

static hd_status filter_trace(converter *c)
{
    hd_trace *made;
    hd_pass_result result;
    const hd_filter filter = {c->options->tracks, c->options->names, c->options->category};
    if (!filter.tracks && !filter.names && !filter.category) return HD_OK;
    HD_TRY(hd_filter_trace(&made, &result, c->trace, &filter, c->err));
    advance(c, "filter", hd_trace_event_count(c->trace), made, result);
    return HD_OK;
}

static hd_status crop_trace(converter *c)
{
    hd_trace *made;
    hd_pass_result result;
    const hd_convert_options *options = c->options;
    hd_crop_window window = {.clip = options->clip};
    bool any;
    HD_TRY(convert_window(&window.from_ns, &window.until_ns, &any, c->trace, options->from, options->until,
                          c->inputs[0].path, c->err));
    if (!any) return HD_OK;
    HD_TRY(hd_crop(&made, &result, c->trace, &window, c->err));
    advance(c, "crop", hd_trace_event_count(c->trace), made, result);
    return HD_OK;
}

static hd_status fix_trace(converter *c)
{
    hd_lane_plan plan;
    hd_trace *made;
    hd_pass_result result;
    if (!c->options->fix) return HD_OK;
    HD_TRY(hd_lanes_plan(&plan, c->trace, c->options->snap_threshold_ps, c->err));
    c->report->new_lanes = plan.lane_count;
    c->report->snapped_crossings = plan.snapped_crossings;
    for (size_t i = 0; i < plan.track_count; i++) c->report->moved_slices += plan.tracks[i].moved;
    hd_status status = hd_lanes_apply(&made, &result, c->trace, &plan, c->err);
    if (status == HD_OK) advance(c, "fix", hd_trace_event_count(c->trace), made, result);
    hd_lane_plan_deinit(&plan);
    return status;
}

/* ---- ledger --------------------------------------------------------------------------------------------------------
 */

static hd_status gather_ledger(converter *c)
{
    const hd_ledger_row *loss = NULL;
    if (c->left_out)
        HD_TRY(hd_trace_add_ledger(c->trace, "convert", "convert.input-left-out", HD_LEDGER_LOSS, c->left_out, c->err));
    for (size_t i = 0; i < hd_trace_ledger_count(c->trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(c->trace, i);
        if (!convert_report_ledger(c->report, row)) return HD_NOMEM(c->err);
        if (row->level == HD_LEDGER_LOSS && !loss) loss = row;
    }
    if (!loss || !c->options->strict) return HD_OK;
    return hd_error_set(c->err, HD_ERR_DAMAGED, c->count == 1 ? c->inputs[0].path : NULL, loss->first_offset,
                        "%s: %" PRIu64 " lost, and strict refuses losses: nothing is written", loss->code,
                        c->report->losses);
}

static void keep_row(void *user, const hd_ledger_row *row)
{
    converter *c = user;
    c->unwritten += row->lost_events;
    if (!convert_report_ledger(c->report, row)) c->failed = true;
}

static hd_status write_trace(converter *c, const char *out)
{
    hd_write_options write = c->options->write;
    write.ledger = keep_row;
    write.ledger_user = c;
    write.strict = c->options->strict;
    HD_TRY(hd_trace_write(c->trace, out, &write, c->err));
    c->report->written = true;
    uint64_t given = hd_trace_event_count(c->trace);
    if (c->unwritten) convert_report_step(c->report, "write", given, given - c->unwritten, 0, 0, c->unwritten);
    return c->failed ? HD_NOMEM(c->err) : HD_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------
 */

static const char *format_of(const char *out, const hd_write_options *write)
{
    const hd_format_info *info = write->format ? hd_format_find(write->format) : hd_format_for_path(out);
    return info ? info->name : "chrome";
}

/* A failed step with the name of what it was doing. */
static hd_status in_step(const converter *c, hd_status status, const char *cause)
{
    if (status != HD_OK) hd_error_add_cause(c->err, "%s", cause);
    return status;
}

static hd_status convert(converter *c, const char *out)
{
    HD_TRY(hd_convert_options_valid(c->options, c->err));
    c->report->format = format_of(out, &c->options->write);
    HD_TRY(hd_trace_write_check(out, &c->options->write, c->err));
    HD_TRY(read_inputs(c));
    HD_TRY(in_step(c, merge_inputs(c), "cannot merge"));
    HD_TRY(in_step(c, filter_trace(c), "cannot filter"));
    HD_TRY(in_step(c, crop_trace(c), "cannot crop"));
    HD_TRY(in_step(c, fix_trace(c), "cannot repair lanes"));
    HD_TRY(gather_ledger(c));
    return write_trace(c, out);
}

hd_status hd_convert_options_valid(const hd_convert_options *options, hd_error *err)
{
    const hd_filter filter = {options->tracks, options->names, options->category};
    const char *name = options->write.format;
    if (options->ranks && options->processes)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "inputs are either ranks or processes of one run, not both");
    const hd_format_info *info = name ? hd_format_find(name) : NULL;
    if (name && (!info || !info->writes))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "no format \"%.60s\" can be written; `heddle formats` lists those that can", name);
    return hd_filter_valid(&filter, err);
}

hd_status hd_convert(const char *const *inputs, size_t count, const char *out, const hd_convert_options *options,
                     hd_convert_report *report, hd_error *err)
{
    static const hd_convert_options defaults = {0};
    hd_convert_report scratch = {0};
    converter c = {
        .options = options ? options : &defaults, .report = report ? report : &scratch, .count = count, .err = err};
    if (count == 0) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no input");
    if (c.options->memory_profile && count > 1)
        return hd_error_set(err, HD_ERR_ARGUMENT, c.options->memory_profile, HD_OFFSET_NONE,
                            "one memory profile is named, and there are %zu inputs", count);
    c.inputs = calloc(count, sizeof *c.inputs);
    c.companions = calloc(count, sizeof *c.companions);
    bool fine = c.inputs && c.companions && convert_report_init(c.report, 2 * count);
    hd_status status = fine ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && c.inputs; i++) c.inputs[i].path = inputs[i];
    if (status == HD_OK) status = convert(&c, out);
    for (size_t i = 0; i < count && c.inputs; i++) hd_trace_free(c.inputs[i].trace);
    free(c.inputs);
    for (size_t i = 0; i < count && c.companions; i++) {
        free(c.companions[i].trace);
        free(c.companions[i].profile);
    }
    free(c.companions);
    hd_trace_free(c.trace);
    if (!report) hd_convert_report_deinit(c.report);
    return status;
}
