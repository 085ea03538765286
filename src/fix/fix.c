/* fix.c - lane repair of a file: read slices and flows, plan, copy the input with patches
 *
 * A file that is to be indented, or that is not one JSON document, cannot be patched into what is wanted: it is
 * rewritten by way of a temporary file, before or after the repair.
 */
#include "heddle/fix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/memory/large.h"
#include "base/options.h"
#include "fix/report.h"
#include "format/format.h"
#include "pass/lanes/lanes.h"
#include "pass/lanes/threshold.h"
#include "trace/event.h"
#include "trace/spill.h"

/* ---- edits of the plan -> edits of the text ---- */

typedef struct edit_list {
    hd_patch_edit *edits;
    size_t count;
} edit_list;

static hd_patch_edit edit_of(const hd_lane_plan *plan, const hd_event *event, uint32_t lane)
{
    hd_patch_edit edit = {.offset = event->source_offset, .size = event->source_size};
    if (lane != HD_NONE) {
        edit.tid = plan->lanes[lane].tid;
        edit.tid_size = plan->lanes[lane].tid_size;
        edit.tid_is_number = plan->lanes[lane].tid_is_number;
    }
    return edit;
}

static void add_slice_edits(edit_list *list, const hd_trace *trace, const hd_lane_plan *plan,
                            const hd_lane_edit *change)
{
    hd_event slice = hd_event_at(trace, HD_KIND_SLICE, change->row);
    hd_patch_edit edit = edit_of(plan, &slice, change->lane);
    edit.set_start = change->start_changed;
    edit.start_ns = change->start.ns;
    edit.start_part = hd_below_ns(change->start.below);
    if (slice.phase == 'B') {
        hd_event end_event = hd_event_at(trace, HD_KIND_END, (uint64_t)slice.partner);
        hd_patch_edit end = edit_of(plan, &end_event, change->lane);
        end.set_start = change->end_changed;
        end.start_ns = change->end.ns;
        end.start_part = hd_below_ns(change->end.below);
        if (end.set_start || end.tid) list->edits[list->count++] = end;
    } else {
        edit.set_duration = change->start_changed || change->end_changed;
        edit.duration_ns = change->end.ns - change->start.ns;
        edit.duration_part = hd_below_ns(change->end.below) - hd_below_ns(change->start.below);
    }
    if (edit.set_start || edit.set_duration || edit.tid) list->edits[list->count++] = edit;
}

static int by_offset(const void *a, const void *b)
{
    const hd_patch_edit *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static hd_status make_edits(edit_list *out, const hd_trace *trace, const hd_lane_plan *plan, hd_error *err)
{
    uint64_t large = hd_trace_large_bytes(trace);
    size_t most = plan->edit_count * 2 + plan->flow_count;
    *out = (edit_list){.edits = hd_large_new(most + 1, sizeof *out->edits, large)};
    if (!out->edits) return HD_NOMEM(err);
    for (size_t i = 0; i < plan->edit_count; i++) add_slice_edits(out, trace, plan, &plan->edits[i]);
    for (size_t i = 0; i < plan->flow_count; i++) {
        const hd_lane_flow_edit *change = &plan->flows[i];
        hd_event flow = hd_event_at(trace, HD_KIND_FLOW, change->row);
        hd_patch_edit edit = edit_of(plan, &flow, change->lane);
        edit.set_start = change->time_changed;
        edit.start_ns = change->time.ns;
        edit.start_part = hd_below_ns(change->time.below);
        out->edits[out->count++] = edit;
    }
    return hd_large_sort(out->edits, out->count, sizeof *out->edits, by_offset, large) ? HD_OK : HD_NOMEM(err);
}

static hd_patch_lane lane_of(const hd_new_lane *lane)
{
    return (hd_patch_lane){
        .track = lane->track,
        .tid = lane->tid,
        .tid_size = lane->tid_size,
        .tid_is_number = lane->tid_is_number,
        .name = lane->name,
        .name_size = lane->name_size,
        .sort_index = lane->sort_index == HD_NO_NUMBER ? 0 : lane->sort_index,
    };
}

/* ---- one pass over a file ---- */

typedef struct fixer {
    const hd_fix_options *options;
    hd_read_options read;
    hd_write_options write;
    hd_fix_report *report;
    hd_error *err;
} fixer;

static hd_status write_patched(const fixer *f, hd_patch_file *patch_file, hd_input *input, const hd_trace *trace,
                               const hd_lane_plan *plan, const char *out)
{
    edit_list list;
    hd_output *output = NULL;
    hd_patch_lane *lanes = calloc(plan->lane_count + 1, sizeof *lanes);
    hd_output_options options = {.level = f->write.level, .sync = f->write.sync};
    if (hd_input_is_random(input)) options.expected_size = hd_input_size_bytes(input);
    hd_status status = make_edits(&list, trace, plan, f->err);
    if (status == HD_OK && !lanes) status = HD_NOMEM(f->err);
    for (size_t i = 0; status == HD_OK && i < plan->lane_count; i++) lanes[i] = lane_of(&plan->lanes[i]);
    if (status == HD_OK) status = hd_output_create(&output, out, &options, f->err);
    if (status == HD_OK) {
        const hd_patch patch = {list.edits, list.count, lanes, plan->lane_count};
        status = patch_file(output, input, trace, &patch, f->err);
        f->report->output_bytes = hd_output_position(output);
        if (status == HD_OK)
            status = hd_output_commit(output, f->err);
        else
            hd_output_abort(output);
    }
    hd_large_free(list.edits);
    free(lanes);
    return status;
}

/* An empty file for text on its way; the caller unlinks and frees its name. */
static hd_status make_temporary(const fixer *f, char **out)
{
    int fd;
    HD_TRY(hd_temporary_file(&fd, out, ".json", f->err));
    close(fd);
    return HD_OK;
}

/* Read all of `from` and write it again, as one document. */
static hd_status rewrite(const fixer *f, const char *from, const char *to, bool pretty)
{
    hd_trace *trace;
    hd_read_options read = f->read;
    hd_write_options write = f->write;
    read.args = HD_ARGS_ALL;
    read.sources = false;
    write.pretty = pretty;
    HD_TRY(hd_trace_read(&trace, from, &read, f->err));
    hd_status status = hd_trace_write(trace, to, &write, f->err);
    hd_trace_free(trace);
    return status;
}

static hd_status fix_file(const fixer *f, const char *in, const char *out);

/* All of the input, whose first pass found that no patches make it one document, as one. */
static hd_status write_as_one(const fixer *f, hd_input *input, const char *path)
{
    hd_trace *trace;
    hd_write_options write = {0};
    HD_TRY(hd_input_rewind(input, f->err));
    HD_TRY(hd_format_read(&trace, input, &f->read, f->err));
    hd_status status = hd_trace_write(trace, path, &write, f->err);
    hd_trace_free(trace);
    return status;
}

/* The ledger of the input is counted here: that of the file made from it is empty. */
static hd_status fix_rewritten(const fixer *f, hd_input *input, uint64_t repairs, uint64_t losses, const char *out)
{
    char *path;
    HD_TRY(make_temporary(f, &path));
    hd_status status = write_as_one(f, input, path);
    if (status == HD_OK) status = fix_file(f, path, out);
    if (status != HD_OK) hd_error_add_cause(f->err, "cannot fix %.160s as one document", hd_input_path(input));
    f->report->repairs += repairs;
    f->report->losses += losses;
    unlink(path);
    free(path);
    return status;
}

static hd_status fix_trace(const fixer *f, hd_patch_file *patch_file, hd_input *input, const hd_trace *trace,
                           const char *out)
{
    hd_lane_plan plan;
    hd_status status = hd_lanes_plan(&plan, trace, hd_lanes_threshold(f->options->snap_threshold_ps), f->err);
    if (status != HD_OK) {
        hd_error_add_cause(f->err, "cannot repair the lanes of %.160s", hd_input_path(input));
        return status;
    }
    status = hd_fix_report_fill(f->report, trace, &plan, f->options->full_lists, f->err);
    if (status == HD_OK && !f->options->dry_run) status = write_patched(f, patch_file, input, trace, &plan, out);
    hd_lane_plan_deinit(&plan);
    return status;
}

/* Takes the trace over. */
static hd_status fix_read(const fixer *f, hd_input *input, hd_trace *trace, const char *out)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    hd_status status = HD_OK;
    uint64_t repairs = 0, losses = 0;
    bool rewritten = facts->needs_rewrite && !f->options->dry_run;
    const hd_format *format = hd_format_named(facts->format, strlen(facts->format));
    if (!format || !format->patch)
        status =
            hd_error_set(f->err, HD_ERR_UNSUPPORTED, hd_input_path(input), HD_OFFSET_NONE,
                         "fix patches Chrome trace event JSON, and this is %s: heddle convert --fix repairs its lanes",
                         facts->format);
    else if (!rewritten)
        status = fix_trace(f, format->patch, input, trace, out);
    hd_fix_count_ledger(&repairs, &losses, trace);
    hd_trace_free(trace);
    return status == HD_OK && rewritten ? fix_rewritten(f, input, repairs, losses, out) : status;
}

static hd_status fix_file(const fixer *f, const char *in, const char *out)
{
    hd_input *input;
    hd_trace *trace;
    hd_input_options input_options = {.spool = true};
    hd_read_options read = f->read;
    read.args = HD_ARGS_META;
    read.sources = true;
    HD_TRY(hd_input_open(&input, in, &input_options, f->err));
    hd_status status = hd_format_read(&trace, input, &read, f->err);
    if (status == HD_OK) status = fix_read(f, input, trace, out);
    hd_input_close(input);
    return status;
}

hd_status hd_fix_overlaps(hd_fix_report **out, const char *from, const char *to, const hd_fix_options *options,
                          hd_error *err)
{
    fixer f = {.err = err};
    if (out) *out = NULL;
    HD_OWN_OPTIONS(hd_fix_options, options, err);
    f.options = options;
    HD_TRY(hd_options_copy(&f.read, sizeof f.read, sizeof f.read, options->read, err));
    HD_TRY(hd_options_copy(&f.write, sizeof f.write, sizeof f.write, options->write, err));
    f.report = hd_fix_report_new();
    if (!f.report) return HD_NOMEM(err);
    hd_status status;
    if (f.write.pretty && !f.options->dry_run) {
        char *path;
        status = make_temporary(&f, &path);
        if (status == HD_OK) {
            status = fix_file(&f, from, path);
            if (status == HD_OK) {
                status = rewrite(&f, path, to, true);
                if (status != HD_OK) hd_error_add_cause(err, "cannot lay out the repaired text of %.160s", from);
            }
            f.report->output_bytes = 0;
            unlink(path);
            free(path);
        }
    } else {
        status = fix_file(&f, from, to);
    }
    if (out && status == HD_OK)
        *out = f.report;
    else
        hd_fix_report_free(f.report);
    return status;
}
