/* collect.c - the captures of all processes as one trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "heddle/session.h"
#include "heddle/symbolize.h"
#include "record/impl.h"

/* Processes that are just ending get so long to finish their files. */
enum { GRACE_MS = 2000, GRACE_STEP_MS = 20, MAP_AGE_S = 60 };

typedef struct collector {
    recording *r;
    const record_list *list;
    record_process *processes;
} collector;

/* The map that a process of now wrote, and not one that had its pid before. */
static bool has_map(char path[64], const record_part *part, uint32_t pid)
{
    struct stat map, capture;
    snprintf(path, 64, "/tmp/perf-%u.map", pid);
    return lstat(path, &map) == 0 && S_ISREG(map.st_mode) && stat(part->path, &capture) == 0 &&
           map.st_uid == capture.st_uid && map.st_mtime >= part->began_s - MAP_AGE_S;
}

/* The map of a capture's process; of a capture of several, that of the only one with a map, as addresses mean one thing
 * in each. */
static bool find_map(char path[64], const record_part *part, const hd_trace *trace)
{
    char number[16];
    uint32_t found = 0, count = 0;
    if (!record_is_of_uprobes(trace)) return has_map(path, part, part->pid);
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->kind != HD_TRACK_PROCESS) continue;
        hd_string text = hd_trace_string(trace, track->pid.text);
        snprintf(number, sizeof number, "%.*s", (int)(text.size < sizeof number ? text.size : 0), text.data);
        uint32_t pid = (uint32_t)strtoul(number, NULL, 10);
        if (!has_map(path, part, pid)) continue;
        found = pid;
        count++;
    }
    return count == 1 && has_map(path, part, found);
}

/* Names for addresses. Where that fails they stay, which is no reason to have no trace. */
static hd_status name_frames(const collector *c, hd_trace **trace, const record_part *part, hd_error *err)
{
    hd_record_result *result = c->r->result;
    hd_symbolize_report *report;
    hd_error why = {0};
    char text[HD_ERROR_TEXT_BYTES];
    hd_trace *named;
    char map[64];
    const char *const maps[] = {map};
    hd_symbolize_options options = {.threads = c->r->options->threads, .perf_maps = maps};
    if (hd_trace_metadata_find(*trace, "stackFrames").size == 0) return HD_OK;
    options.perf_map_count = find_map(map, part, *trace);
    hd_status status = hd_symbolize(&named, &report, *trace, &options, &why);
    if (status == HD_OK) {
        result->addresses_named += report->named;
        result->addresses_unnamed += report->unnamed;
        hd_trace_free(*trace);
        *trace = named;
    }
    hd_symbolize_report_free(report);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    if (status != HD_OK)
        record_say(c->r, "addresses in stacks of process %u stay without names: %s", part->pid,
                   hd_error_text(text, sizeof text, &why));
    return HD_OK;
}

/* A code of the ledger that a program which is killed, or has no room to write, does not leave; NULL: none. */
static const char *damage_of(const hd_trace *trace)
{
    static const char *const codes[] = {"capture.header-damaged", "capture.chunk-damaged", "capture.chunk-unknown",
                                        "capture.bytes-skipped"};
    enum { CODES = sizeof codes / sizeof *codes };
    const char *found = NULL;
    bool is_cut = false;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const char *code = hd_trace_ledger_at(trace, i)->code;
        is_cut |= strcmp(code, "capture.not-finished") == 0;
        for (size_t k = 0; k < CODES && !found; k++) {
            if (strcmp(code, codes[k]) == 0) found = codes[k];
        }
    }
    return is_cut && found == codes[CODES - 1] ? NULL : found; /* its last chunk was not written whole */
}

static bool has_own_capture(const record_list *list, hd_string pid)
{
    char text[16];
    for (size_t i = 0; i < list->full; i++) {
        int size = snprintf(text, sizeof text, "%u", list->parts[i].pid);
        if ((size_t)size == pid.size && memcmp(text, pid.data, pid.size) == 0) return true;
    }
    return false;
}

/* Those of a capture of uprobes that have no capture of their own. */
static size_t count_followed(const record_list *list, const hd_trace *trace)
{
    size_t count = 0;
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        count += track->kind == HD_TRACK_PROCESS && !has_own_capture(list, hd_trace_string(trace, track->pid.text));
    }
    return count;
}

static hd_status each(void *user, hd_trace **trace, size_t index, hd_error *err)
{
    const collector *c = user;
    const record_part *part = &c->list->parts[index];
    const char *damage = damage_of(*trace);
    if (damage) {
        c->r->result->damaged++;
        record_say(c->r, "%s is damaged (%s): what can be read of it is in the trace", part->path, damage);
    }
    if (!c->r->options->no_symbolize) HD_TRY(name_frames(c, trace, part, err));
    if (part->is_kernel) {
        c->r->result->captures++;
        return HD_OK;
    }
    if (record_is_of_uprobes(*trace)) c->r->result->processes += count_followed(c->list, *trace);
    return record_count(c->r->result, &c->processes[part->process], *trace, err);
}

/* A process that cannot be read is no reason to have no trace of the others. */
static bool leave_out(void *user, size_t index, const hd_error *why)
{
    const collector *c = user;
    char text[HD_ERROR_TEXT_BYTES];
    hd_error told = *why;
    told.path[0] = '\0';
    c->r->result->unreadable++;
    record_say(c->r, "%s is left out of the trace: %s", c->list->parts[index].path,
               hd_error_text(text, sizeof text, &told));
    return true;
}

void record_sum_up(hd_record_result *result)
{
    if (!result->convert) return;
    result->written = result->convert->written;
    result->events = result->convert->events_out;
    for (size_t i = 0; i < result->convert->ledger_count; i++) {
        const hd_ledger_row *row = &result->convert->ledger[i];
        if (row->level == HD_LEDGER_LOSS) result->lost += row->count;
    }
}

static hd_status make_trace(recording *r, const record_list *list)
{
    hd_record_result *result = r->result;
    const hd_record_options *o = r->options;
    collector c = {r, list, calloc(list->processes, sizeof *c.processes)};
    const char **paths = malloc(list->full * sizeof *paths);
    for (size_t i = 0; i < list->full && paths; i++) paths[i] = list->parts[i].path;
    hd_convert_options convert = {
        .processes = true,
        .read = &(hd_read_options){.threads = o->threads,
                                   .memory_limit = o->memory_limit,
                                   .progress = o->progress,
                                   .progress_user = o->progress_user},
        .write = &(hd_write_options){.threads = o->threads},
        .each = each,
        .leave_out = leave_out,
        .user = &c,
    };
    hd_status status = c.processes && paths
                           ? hd_convert(&result->convert, paths, list->full, result->output, &convert, r->err)
                           : HD_NOMEM(r->err);
    free(paths);
    free(c.processes);
    record_sum_up(result);
    return status;
}

/* Files that a process could not make longer go on in others. */
static void join_parts(recording *r, const record_list *list)
{
    hd_error err = {0};
    char text[HD_ERROR_TEXT_BYTES];
    for (size_t i = 0; i < list->count; i++) {
        if (hd_session_join(list->parts[i].path, &err) == HD_OK) continue;
        r->result->damaged++;
        record_say(r, "what follows is not in the trace: %s", hd_error_text(text, sizeof text, &err));
    }
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
    r->result->running = record_list_running(list);
    record_live_end(r->live);
    r->live = NULL;
    join_parts(r, list);
    record_list_deinit(list); /* sizes from before the last of them ended */
    HD_TRY(record_list_read(list, r->result->parts, r->err));
    r->result->running = record_list_running(list);
    r->result->unreadable = list->count - list->full;
    for (size_t i = 0; i < list->count; i++) r->result->parts_bytes += list->parts[i].bytes;
    return record_list_number(list, r->err);
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

/* The captures are then the only copy of data that the output's format cannot store. */
static bool lacks_some(const recording *r)
{
    const hd_record_result *result = r->result;
    if (!result->convert || !result->convert->unheld) return false;
    record_say(r,
               "%s cannot hold all that was captured; all of it is in %s. As a store it keeps everything: heddle "
               "record --recover %s -o NAME.heddle",
               result->output, result->parts, result->parts);
    return true;
}

/* Files shorter than a header contain nothing; others that are not completely in the trace may. */
static bool may_remove(const recording *r, const record_list *list)
{
    const hd_record_result *result = r->result;
    return !r->options->keep && !result->running && !r->left && !result->damaged &&
           result->unreadable == list->count - list->full;
}

/* Less than a capture begins with. */
static bool is_full(const char *folder)
{
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 && disk.f_bavail * disk.f_frsize < 64 << 10;
}

static void nothing_captured(const recording *r)
{
    if (is_full(r->result->parts)) {
        record_say(r, "nothing was captured, so %s was not written: the disk of %s is full", r->result->output,
                   r->result->parts);
        return;
    }
    if (r->library) record_cuda_missing(r);
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
    if (list->full == 0 && !r->command)
        return hd_error_set(r->err, HD_ERR_ARGUMENT, result->parts, HD_OFFSET_NONE, "there are no captures in it");
    if (list->full == 0) {
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
    if (may_remove(r, list) && !lacks_some(r) && !has_grown(r, list))
        result->parts_kept = !record_parts_remove(result->parts);
    return HD_OK;
}

hd_status record_collect(recording *r)
{
    record_list list = {0};
    r->result->parts_kept = true;
    hd_status status = collect(r, &list);
    if (status != HD_OK && list.count)
        hd_error_add_cause(
            r->err,
            "cannot make a trace of the captures (they are kept; try again with: heddle record --recover %.100s "
            "-o %.60s)",
            r->result->parts, r->result->output);
    record_list_deinit(&list);
    return status;
}
