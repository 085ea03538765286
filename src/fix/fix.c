/* fix.c - lane repair of a Chrome JSON file: read slices and flows, plan, copy the input with patches
 *
 * A file that is to be indented, or that is not one JSON document, cannot be patched into what is wanted: it is
 * rewritten by way of a temporary file, before or behind the repair.
 */
#include "heddle/fix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/json/write.h"
#include "base/memory/large.h"
#include "fix/report.h"
#include "format/chrome/patch.h"
#include "format/format.h"
#include "pass/lanes/lanes.h"
#include "trace/spill.h"

hd_fix_options hd_fix_defaults(void)
{
    return (hd_fix_options){.snap_threshold_ps = HD_FIX_SNAP_THRESHOLD_PS};
}

/* ---- edits of the plan -> edits of the text ------------------------------------------------------------------ */

typedef struct edit_list {
    chrome_edit *edits;
    size_t count;
} edit_list;

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(trace, kind, row, &at);
    hd_block_event(&event, block, at);
    return event;
}

static chrome_edit edit_of(const hd_lane_plan *plan, const hd_event *event, uint32_t lane)
{
    chrome_edit edit = {.offset = event->source_offset, .size = event->source_size};
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
    hd_event slice = event_at(trace, HD_KIND_SLICE, change->row);
    chrome_edit edit = edit_of(plan, &slice, change->lane);
    edit.set_start = change->start_changed;
    edit.start_ns = change->start.ns;
    edit.start_part = hd_below_ns(change->start.below);
    if (slice.phase == 'B') {
        hd_event end_event = event_at(trace, HD_KIND_END, (uint64_t)slice.partner);
        chrome_edit end = edit_of(plan, &end_event, change->lane);
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
    const chrome_edit *x = a, *y = b;
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
        hd_event flow = event_at(trace, HD_KIND_FLOW, change->row);
        chrome_edit edit = edit_of(plan, &flow, change->lane);
        edit.set_start = change->time_changed;
        edit.start_ns = change->time.ns;
        edit.start_part = hd_below_ns(change->time.below);
        out->edits[out->count++] = edit;
    }
    return hd_large_sort(out->edits, out->count, sizeof *out->edits, by_offset, large) ? HD_OK : HD_NOMEM(err);
}

enum { SEARCHED_BYTES = 1 << 20 };

/* ---- names and order of new lanes, behind the last event --------------------------------------------------------- */

/* The first and the last event of the input. */
static hd_event event_at_end(const hd_trace *trace, bool last)
{
    hd_event found = {.source_offset = last ? 0 : UINT64_MAX};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t rows = hd_trace_row_count(trace, (hd_kind)kind);
        if (rows == 0) continue;
        hd_event event = event_at(trace, (hd_kind)kind, last ? rows - 1 : 0);
        if (last ? event.source_offset >= found.source_offset : event.source_offset < found.source_offset)
            found = event;
    }
    return found;
}

/* The bytes before an event: the last one, or, where going there means to unpack all, the first. */
static size_t read_before(char *out, size_t capacity, hd_input *input, const hd_trace *trace)
{
    bool random = hd_input_is_random(input);
    uint64_t offset = event_at_end(trace, random).source_offset;
    size_t size = offset < capacity ? (size_t)offset : capacity, got = 0, filled = 0;
    char *head;
    if (random) return hd_input_pread(input, out, size, offset - size, &got, NULL) == HD_OK && got == size ? size : 0;
    if (offset > SEARCHED_BYTES || hd_input_rewind(input, NULL) != HD_OK || !(head = malloc((size_t)offset + 1)))
        return 0;
    while (filled < offset && hd_input_next(input, head + filled, (size_t)offset - filled, &got, NULL) == HD_OK)
        filled += got;
    if (filled == offset) memcpy(out, head + filled - size, size);
    free(head);
    return filled == offset ? size : 0;
}

/* The white space that stands before the events of the input. */
static void find_separator(char *out, size_t out_size, hd_input *input, const hd_trace *trace)
{
    size_t size = read_before(out, out_size - 1, input, trace), from = size;
    while (from > 0 && memchr(" \n\r\t", out[from - 1], 4)) from--;
    if (size > 0) memmove(out, out + from, size - from);
    out[size - from] = '\0';
    if (size == 0) snprintf(out, out_size, "\n  ");
}

static void put_ident(hd_json_out *out, const hd_trace *trace, hd_ident ident)
{
    hd_string s = hd_trace_string(trace, ident.text);
    if (ident.type == HD_IDENT_STRING)
        hd_json_put_string(out, s.data, s.size);
    else
        hd_json_put(out, s.data, s.size);
}

static void put_lane_meta(hd_json_out *out, const hd_trace *trace, const hd_new_lane *lane, const char *separator,
                          const char *name)
{
    const hd_track *track = hd_trace_track_at(trace, lane->track);
    hd_json_put_text(out, ",");
    hd_json_put_text(out, separator);
    hd_json_put_text(out, "{\"ph\": \"M\", \"name\": \"");
    hd_json_put_text(out, name);
    hd_json_put_text(out, "\"");
    if (track->pid.type != HD_IDENT_NONE) {
        hd_json_put_text(out, ", \"pid\": ");
        put_ident(out, trace, track->pid);
    }
    hd_json_put_text(out, ", \"tid\": ");
    if (lane->tid_is_number)
        hd_json_put(out, lane->tid, lane->tid_size);
    else
        hd_json_put_string(out, lane->tid, lane->tid_size);
    hd_json_put_text(out, ", \"args\": {");
}

static void put_lanes(hd_json_out *out, const hd_trace *trace, const hd_lane_plan *plan, const char *separator)
{
    for (size_t i = 0; i < plan->lane_count; i++) {
        const hd_new_lane *lane = &plan->lanes[i];
        put_lane_meta(out, trace, lane, separator, "thread_name");
        hd_json_put_text(out, "\"name\": ");
        hd_json_put_string(out, lane->name, lane->name_size);
        hd_json_put_text(out, "}}");
        put_lane_meta(out, trace, lane, separator, "thread_sort_index");
        hd_json_put_text(out, "\"sort_index\": ");
        hd_json_put_int(out, lane->sort_index == HD_NO_NUMBER ? 0 : lane->sort_index);
        hd_json_put_text(out, "}}");
    }
}

/* ---- one pass over a file --------------------------------------------------------------------------------------- */

typedef struct fixer {
    const hd_fix_options *options;
    hd_fix_report *report;
    hd_error *err;
} fixer;

static hd_status write_patched(const fixer *f, hd_input *input, const hd_trace *trace, const hd_lane_plan *plan,
                               const char *out)
{
    edit_list list;
    char separator[256];
    hd_json_out lanes = {0};
    hd_output *output = NULL;
    hd_event last = event_at_end(trace, true);
    if (plan->lane_count) find_separator(separator, sizeof separator, input, trace);
    put_lanes(&lanes, trace, plan, separator);
    chrome_insertion insertion = {last.source_offset + last.source_size, lanes.data, lanes.size};
    hd_output_options options = {.level = f->options->write.level, .sync = f->options->write.sync};
    if (hd_input_is_random(input)) options.expected_size = hd_input_size_bytes(input);
    hd_status status = make_edits(&list, trace, plan, f->err);
    if (status == HD_OK && lanes.failed) status = HD_NOMEM(f->err);
    if (status == HD_OK) status = hd_output_create(&output, out, &options, f->err);
    if (status == HD_OK) {
        status = chrome_patch(output, input, trace, list.edits, list.count, &insertion, f->err);
        f->report->output_bytes = hd_output_position(output);
        if (status == HD_OK)
            status = hd_output_commit(output, f->err);
        else
            hd_output_abort(output);
    }
    hd_large_free(list.edits);
    free(lanes.data);
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
    hd_read_options read = f->options->read;
    hd_write_options write = f->options->write;
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
    HD_TRY(hd_format_read(&trace, input, &f->options->read, f->err));
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

static hd_status fix_trace(const fixer *f, hd_input *input, const hd_trace *trace, const char *out)
{
    hd_lane_plan plan;
    hd_status status = hd_lanes_plan(&plan, trace, f->options->snap_threshold_ps, f->err);
    if (status != HD_OK) {
        hd_error_add_cause(f->err, "cannot repair the lanes of %.160s", hd_input_path(input));
        return status;
    }
    status = hd_fix_report_fill(f->report, trace, &plan, f->options->full_lists, f->err);
    if (status == HD_OK && !f->options->dry_run) status = write_patched(f, input, trace, &plan, out);
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
    if (strcmp(facts->format, "chrome") != 0)
        status =
            hd_error_set(f->err, HD_ERR_UNSUPPORTED, hd_input_path(input), HD_OFFSET_NONE,
                         "fix patches Chrome trace event JSON, and this is %s: heddle convert --fix repairs its lanes",
                         facts->format);
    else if (!rewritten)
        status = fix_trace(f, input, trace, out);
    hd_fix_count_ledger(&repairs, &losses, trace);
    hd_trace_free(trace);
    return status == HD_OK && rewritten ? fix_rewritten(f, input, repairs, losses, out) : status;
}

static hd_status fix_file(const fixer *f, const char *in, const char *out)
{
    hd_input *input;
    hd_trace *trace;
    hd_input_options input_options = {.spool = true};
    hd_read_options read = f->options->read;
    read.args = HD_ARGS_META;
    read.sources = true;
    HD_TRY(hd_input_open(&input, in, &input_options, f->err));
    hd_status status = hd_format_read(&trace, input, &read, f->err);
    if (status == HD_OK) status = fix_read(f, input, trace, out);
    hd_input_close(input);
    return status;
}

hd_status hd_fix_overlaps(const char *in, const char *out, const hd_fix_options *options, hd_fix_report *report,
                          hd_error *err)
{
    const hd_fix_options defaults = hd_fix_defaults();
    hd_fix_report scratch = {0};
    fixer f = {.options = options ? options : &defaults, .report = report ? report : &scratch, .err = err};
    *f.report = (hd_fix_report){0};
    hd_status status;
    if (f.options->write.pretty && !f.options->dry_run) {
        char *path;
        status = make_temporary(&f, &path);
        if (status == HD_OK) {
            status = fix_file(&f, in, path);
            if (status == HD_OK) {
                status = rewrite(&f, path, out, true);
                if (status != HD_OK) hd_error_add_cause(err, "cannot lay out the repaired text of %.160s", in);
            }
            f.report->output_bytes = 0;
            unlink(path);
            free(path);
        }
    } else {
        status = fix_file(&f, in, out);
    }
    if (!report || status != HD_OK) hd_fix_report_deinit(f.report);
    return status;
}
