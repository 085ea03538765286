/* record_collect.c - the captures of all processes as one trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "heddle/symbolize.h"
#include "record/record_impl.h"

/* Processes that are just ending get so long to finish their files. */
enum { GRACE_MS = 2000, GRACE_STEP_MS = 20, MAP_AGE_S = 60 };

typedef struct collector {
    recording *r;
    const record_list *list;
} collector;

/* The map that a process of now wrote, and not one that had its pid before. */
static bool has_map(char path[64], const record_part *part)
{
    struct stat map, capture;
    snprintf(path, 64, "/tmp/perf-%u.map", part->pid);
    return lstat(path, &map) == 0 && S_ISREG(map.st_mode) && stat(part->path, &capture) == 0 &&
           map.st_uid == capture.st_uid && map.st_mtime >= part->began_s - MAP_AGE_S;
}

/* Names for addresses. Where that fails they stay, which is no reason to have no trace. */
static hd_status name_frames(const collector *c, hd_trace **trace, const record_part *part, hd_error *err)
{
    hd_record_result *result = c->r->result;
    hd_symbolize_report report = {0};
    hd_error why = {0};
    hd_trace *named;
    char map[64];
    const char *const maps[] = {map};
    hd_symbolize_options options = {.threads = c->r->options->threads, .perf_maps = maps};
    if (hd_trace_metadata_find(*trace, "stackFrames").size == 0) return HD_OK;
    options.perf_map_count = has_map(map, part);
    hd_status status = hd_symbolize(&named, &report, *trace, &options, &why);
    if (status == HD_OK) {
        result->addresses_named += report.named;
        result->addresses_unnamed += report.unnamed;
        hd_trace_free(*trace);
        *trace = named;
    }
    hd_symbolize_report_deinit(&report);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    if (status != HD_OK)
        record_say(c->r, "addresses in stacks of process %u stay without names: %s", part->pid, why.message);
    return HD_OK;
}

static hd_status each(void *user, hd_trace **trace, size_t index, hd_error *err)
{
    const collector *c = user;
    if (!c->r->options->no_symbolize) HD_TRY(name_frames(c, trace, &c->list->parts[index], err));
    return record_count(c->r->result, *trace, err);
}

void record_sum_up(hd_record_result *result)
{
    result->written = result->convert.written;
    result->events = result->convert.events_out;
    for (size_t i = 0; i < result->convert.ledger_count; i++) {
        const hd_ledger_row *row = &result->convert.ledger[i];
        if (row->level == HD_LEDGER_LOSS) result->lost += row->count;
    }
}

static hd_status make_trace(recording *r, const record_list *list)
{
    hd_record_result *result = r->result;
    const hd_record_options *o = r->options;
    collector c = {r, list};
    const char **paths = malloc((list->readable + 1) * sizeof *paths);
    if (!paths) return HD_NOMEM(r->err);
    for (size_t i = 0; i < list->readable; i++) paths[i] = list->parts[i].path;
    hd_convert_options convert = {
        .processes = true,
        .read = {.threads = o->threads,
                 .memory_limit = o->memory_limit,
                 .progress = o->progress,
                 .progress_user = o->progress_user},
        .write = {.threads = o->threads},
        .each = each,
        .user = &c,
    };
    hd_status status = hd_convert(paths, list->readable, result->output, &convert, &result->convert, r->err);
    free(paths);
    record_sum_up(result);
    return status;
}

/* Wait for those that are just ending. */
static hd_status read_list(recording *r, record_list *list)
{
    HD_TRY(record_list_read(list, r->result->parts, r->err));
    for (int ms = 0; r->command && ms < GRACE_MS && record_list_running(list); ms += GRACE_STEP_MS) {
        usleep(GRACE_STEP_MS * 1000);
        record_list_deinit(list);
        HD_TRY(record_list_read(list, r->result->parts, r->err));
    }
    record_list_deinit(list); /* sizes from before the last of them ended */
    HD_TRY(record_list_read(list, r->result->parts, r->err));
    r->result->running = record_list_running(list);
    r->result->unreadable = 0;
    for (size_t i = 0; i < list->count; i++) {
        r->result->parts_bytes += list->parts[i].bytes;
        r->result->unreadable += !list->parts[i].readable;
    }
    return HD_OK;
}

/* A process that began to capture, or that we could not see writing, since the list was made: its file is not ours to
 * remove. */
static bool has_grown(const recording *r, const record_list *list)
{
    record_list now = {0};
    hd_error ignored = {0};
    uint64_t bytes = 0;
    bool grown = record_list_read(&now, r->result->parts, &ignored) != HD_OK || now.count != list->count;
    for (size_t i = 0; i < now.count; i++) bytes += now.parts[i].bytes;
    for (size_t i = 0; i < list->count; i++) bytes -= list->parts[i].bytes;
    record_list_deinit(&now);
    if (!grown && bytes == 0) return false;
    record_say(r,
               "processes of the command wrote on while the trace was made; all of it is in %s. Once ended: heddle "
               "record --recover %s -o %s",
               r->result->parts, r->result->parts, r->result->output);
    return true;
}

/* Files that are shorter than a header have nothing to lose; others might, so they stay. */
static bool may_remove(const recording *r, const record_list *list)
{
    if (r->options->keep || r->result->running || r->left) return false;
    for (size_t i = list->readable; i < list->count; i++) {
        if (list->parts[i].bytes >= 64) return false;
    }
    return true;
}

static void nothing_captured(const recording *r)
{
    if (r->library)
        record_say(r,
                   "nothing was captured, so %s was not written: no process of the command used CUDA (or it was "
                   "statically linked, set-user-id, or cleaned its environment); heddle record --check says what works "
                   "here",
                   r->result->output);
    else
        record_say(r, "nothing was captured, so %s was not written", r->result->output);
}

static hd_status collect(recording *r, record_list *list)
{
    hd_record_result *result = r->result;
    struct stat info;
    HD_TRY(read_list(r, list));
    if (list->readable == 0 && !r->command)
        return hd_error_set(r->err, HD_ERR_ARGUMENT, result->parts, HD_OFFSET_NONE, "there are no captures in it");
    if (list->readable == 0) {
        nothing_captured(r);
    } else {
        HD_TRY(make_trace(r, list));
        if (stat(result->output, &info) == 0) result->output_bytes = (uint64_t)info.st_size;
    }
    if (result->running)
        record_say(r,
                   "%zu process%s of the command still run%s; what %s until now is in %s. Once ended: heddle record "
                   "--recover %s -o %s",
                   result->running, result->running == 1 ? "" : "es", result->running == 1 ? "s" : "",
                   result->running == 1 ? "it did" : "they did", result->output, result->parts, result->output);
    else if (r->left)
        record_say(r,
                   "processes of the command still run; what they capture goes to %s. Once ended: heddle record "
                   "--recover %s -o %s",
                   result->parts, result->parts, result->output);
    if (may_remove(r, list) && !has_grown(r, list)) result->parts_kept = !record_parts_remove(result->parts);
    return HD_OK;
}

hd_status record_collect(recording *r)
{
    record_list list = {0};
    r->result->parts_kept = true;
    hd_status status = collect(r, &list);
    if (status != HD_OK && list.count)
        hd_error_add_cause(r->err, "the captures are kept; try again with: heddle record --recover %.100s -o %.60s",
                           r->result->parts, r->result->output);
    record_list_deinit(&list);
    return status;
}
