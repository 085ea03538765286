/* names.c - names, order and identities of tracks, once all descriptors were read
 *
 * A track that is neither a process nor a thread has the pid of its ancestor process, and as tid its name, prefixed
 * with the names of the groups in between. Without an ancestor process, the topmost track becomes the process if it has
 * children.
 */
#include <stdio.h>
#include <string.h>

#include "base/text/decimal.h"
#include "format/perfetto/read/reader.h"

enum { PATH_LIMIT = 32 };

uint32_t perfetto_join(perfetto_reader *reader, uint32_t first, uint32_t second)
{
    hd_string a = hd_builder_string(reader->builder, first), b = hd_builder_string(reader->builder, second);
    reader->text.size = 0;
    hd_json_put(&reader->text, a.data, a.size);
    hd_json_put_text(&reader->text, ",");
    hd_json_put(&reader->text, b.data, b.size);
    return reader->text.failed ? HD_STRING_NONE
                               : hd_builder_intern(reader->builder, reader->text.data, reader->text.size);
}

static void put_id(perfetto_reader *reader, uint32_t id)
{
    hd_string s = hd_builder_string(reader->builder, id);
    hd_json_put(&reader->text, s.data, s.size);
}

static void put_uuid(perfetto_reader *reader, const char *before, uint64_t uuid)
{
    char text[48];
    snprintf(text, sizeof text, "%s%llx", before, (unsigned long long)uuid);
    hd_json_put_text(&reader->text, text);
}

static void put_name(perfetto_reader *reader, const perfetto_track *t)
{
    if (t->is_thread)
        hd_json_put_int(&reader->text, t->tid);
    else if (t->name && hd_builder_string(reader->builder, t->name).size)
        put_id(reader, t->name);
    else
        put_uuid(reader, "track ", t->uuid);
}

static hd_ident text_ident(perfetto_reader *reader)
{
    if (reader->text.failed) return (hd_ident){HD_IDENT_STRING, HD_STRING_NONE};
    return (hd_ident){HD_IDENT_STRING, hd_builder_intern(reader->builder, reader->text.data, reader->text.size)};
}

static hd_status global_ident(hd_ident *out, perfetto_reader *reader)
{
    *out = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(reader->builder, "global")};
    uint32_t track = hd_builder_track(reader->builder, *out, (hd_ident){0}, true);
    if (track == HD_NONE) return HD_NOMEM(reader->err);
    hd_builder_name_track(reader->builder, track, hd_builder_intern_text(reader->builder, "Tracks of no process"));
    return HD_OK;
}

pf_told perfetto_told_of(const perfetto_reader *reader, const perfetto_track *t)
{
    return pf_told_of(hd_builder_string(reader->builder, t->description));
}

/* A pid or tid from our writer: a number if it is a whole one. */
static hd_ident told_ident(perfetto_reader *reader, hd_string text)
{
    size_t at = text.size && text.data[0] == '-';
    bool is_number = at < text.size && (text.data[at] != '0' || text.size == 1);
    for (; at < text.size; at++) is_number &= text.data[at] >= '0' && text.data[at] <= '9';
    return (hd_ident){is_number ? HD_IDENT_NUMBER : HD_IDENT_STRING,
                      hd_builder_intern(reader->builder, text.data, text.size)};
}

/* Name, labels, order and rank of a track without a descriptor of a process or thread. */
static void apply_told(perfetto_reader *reader, uint32_t track, const perfetto_track *t, const pf_told *told)
{
    if (t->name && !told->no_name) hd_builder_name_track(reader->builder, track, t->name);
    if (told->labels.size)
        hd_builder_label_track(reader->builder, track,
                               hd_builder_intern(reader->builder, told->labels.data, told->labels.size));
    if (told->order != HD_NO_NUMBER)
        hd_builder_sort_track(reader->builder, track, told->order);
    else if (t->has_rank && !told->no_order)
        hd_builder_sort_track(reader->builder, track, t->rank);
    if (told->rank != HD_NO_NUMBER) hd_builder_set_rank(reader->builder, track, told->rank);
}

hd_status perfetto_group_ident(hd_ident *out, perfetto_reader *reader, uint32_t root)
{
    perfetto_track *t = &reader->tracks[root];
    uint32_t owner;
    if (!t->has_children && !t->is_group) return global_ident(out, reader);
    pf_told told = perfetto_told_of(reader, t);
    *out = (hd_ident){0};
    if (!told.no_process) {
        reader->text.size = 0;
        put_name(reader, t);
        *out = told.has_ident ? told_ident(reader, told.ident) : text_ident(reader);
        if (hd_map_get(&owner, &reader->group_index, out->text, 0) && owner != root) {
            put_uuid(reader, " #", t->uuid);
            *out = text_ident(reader);
        }
        if (!hd_map_set(&reader->group_index, out->text, 0, root)) return HD_NOMEM(reader->err);
    }
    if (t->provisional && !t->has_parent &&
        !t->is_identified) /* its events came first: they are on the process itself */
        t->is_identified = hd_builder_identify_track(reader->builder, t->track, *out, (hd_ident){0});
    uint32_t process = hd_builder_track(reader->builder, *out, (hd_ident){0}, true);
    if (process == HD_NONE) return HD_NOMEM(reader->err);
    apply_told(reader, process, t, &told);
    return HD_OK;
}

/* ---- streams of GPUs ---- */

/* "stream 7", "Stream #7", "GPU 0": the number after a word. */
static bool number_behind(int64_t *out, hd_string s, const char *word)
{
    size_t i = strlen(word);
    while (s.size && s.data[s.size - 1] == ' ') s.size--;
    if (s.size < i) return false;
    for (size_t k = 0; k < i; k++) {
        if ((s.data[k] | 0x20) != (word[k] | 0x20)) return false;
    }
    while (i < s.size && (s.data[i] == ' ' || s.data[i] == '#' || s.data[i] == ':')) i++;
    if (i == s.size || s.size - i > 9) return false;
    *out = 0;
    for (; i < s.size; i++) {
        unsigned digit = (unsigned)(unsigned char)s.data[i] - '0';
        if (digit > 9) return false;
        *out = *out * 10 + digit;
    }
    return true;
}

static int64_t device_of(perfetto_reader *reader, uint32_t above, const uint32_t *path, size_t count)
{
    int64_t device;
    for (size_t i = 0; i < count; i++) {
        hd_string name = hd_builder_string(reader->builder, reader->tracks[path[i]].name);
        if (number_behind(&device, name, "GPU") || number_behind(&device, name, "Device")) return device;
    }
    if (above == HD_NONE) return HD_NO_NUMBER;
    perfetto_thread *process;
    if (perfetto_get_thread(&process, reader, reader->tracks[above].pid, 0, true) != HD_OK) return HD_NO_NUMBER;
    bool known = number_behind(&device, hd_builder_string(reader->builder, process->labels), "GPU") ||
                 number_behind(&device, hd_builder_string(reader->builder, process->name), "GPU");
    return known ? device : HD_NO_NUMBER;
}

/* ---- identities ---- */

/* From the track itself up to below the process, or to the topmost; returns how many. */
static size_t find_path(uint32_t path[PATH_LIMIT], uint32_t *out_above, const perfetto_reader *reader, uint32_t index)
{
    size_t count = 0;
    *out_above = HD_NONE;
    for (;;) {
        const perfetto_track *t = &reader->tracks[index];
        if (t->is_process || t->is_thread) *out_above = index;
        if (t->is_process) break;
        path[count++] = index;
        if (t->is_thread || count == PATH_LIMIT || !t->has_parent) break;
        if (!hd_map_get(&index, &reader->track_index, t->parent_uuid, 0)) break;
    }
    return count;
}

/* Sets the track's (pid, tid), or a variant that is unique. */
static hd_status identify(perfetto_reader *reader, uint32_t index, hd_ident pid, hd_ident tid)
{
    perfetto_track *t = &reader->tracks[index];
    if (!t->provisional) {
        t->track = hd_builder_track(reader->builder, pid, tid, false);
        return t->track == HD_NONE ? HD_NOMEM(reader->err) : HD_OK;
    }
    if (hd_builder_identify_track(reader->builder, t->track, pid, tid)) return HD_OK;
    reader->text.size = 0;
    put_id(reader, tid.text);
    put_uuid(reader, " #", t->uuid);
    for (int i = 0; i < 100; i++) {
        if (hd_builder_identify_track(reader->builder, t->track, pid, text_ident(reader))) return HD_OK;
        hd_json_put_text(&reader->text, "'");
    }
    return HD_NOMEM(reader->err);
}

static hd_status identify_other(perfetto_reader *reader, uint32_t index)
{
    uint32_t path[PATH_LIMIT], above;
    size_t count = find_path(path, &above, reader, index);
    hd_ident pid, tid;
    int64_t stream;
    if (above != HD_NONE) {
        pid = perfetto_number_ident(reader, reader->tracks[above].pid);
    } else {
        uint32_t root = path[count - 1];
        HD_TRY(perfetto_group_ident(&pid, reader, root));
        if ((reader->tracks[root].has_children || reader->tracks[root].is_group) && count > 1)
            count--; /* its name is in the pid */
    }
    const perfetto_track *t = &reader->tracks[index];
    const pf_told told = perfetto_told_of(reader, t);
    bool is_stream = !told.is_thread && number_behind(&stream, hd_builder_string(reader->builder, t->name), "stream");
    reader->text.size = 0;
    for (size_t i = count; i-- > 0;) {
        put_name(reader, &reader->tracks[path[i]]);
        if (i) hd_json_put_text(&reader->text, "/");
    }
    tid = text_ident(reader);
    hd_ident better = told.has_ident            ? told_ident(reader, told.ident)
                      : is_stream && count == 1 ? perfetto_number_ident(reader, stream)
                                                : tid;
    bool is_done = t->provisional && (better.text != tid.text || better.type != tid.type) &&
                   hd_builder_identify_track(reader->builder, t->track, pid, better);
    if (!is_done) HD_TRY(identify(reader, index, pid, t->provisional ? tid : better));
    t = &reader->tracks[index];
    if (is_stream && hd_trace_track_at(hd_builder_trace(reader->builder), t->track)->kind == HD_TRACK_THREAD)
        hd_builder_set_stream(reader->builder, t->track, device_of(reader, above, path, count), stream);
    if (told.is_stream) hd_builder_set_stream(reader->builder, t->track, told.device, told.stream);
    apply_told(reader, t->track, t, &told);
    return HD_OK;
}

/* A thread or process whose events came before its descriptor. */
static hd_status identify_numbered(perfetto_reader *reader, uint32_t index)
{
    perfetto_track *t = &reader->tracks[index];
    perfetto_thread *thread;
    HD_TRY(perfetto_get_thread(&thread, reader, t->pid, t->is_thread ? t->tid : 0, !t->is_thread));
    thread->described = true;
    const pf_told told = perfetto_told_of(reader, t);
    thread->order = told.order;
    thread->job_rank = told.rank;
    if (t->has_rank && thread->rank == HD_NO_NUMBER) thread->rank = t->rank;
    if (t->name && !thread->name) thread->name = t->name;
    if (told.no_name) thread->name = HD_STRING_NONE;
    thread->is_made_up = told.has_ident || told.no_process;
    if (told.has_ident) thread->ident = told_ident(reader, told.ident);
    if (!t->provisional) return HD_OK;
    hd_ident pid = perfetto_number_ident(reader, t->pid), tid = {0};
    if (t->is_thread) tid = perfetto_number_ident(reader, t->tid);
    if (hd_builder_identify_track(reader->builder, t->track, pid, tid)) {
        if (t->is_thread) thread->track = t->track;
        return HD_OK;
    }
    if (!t->is_thread) tid.text = hd_builder_intern_text(reader->builder, "process");
    return identify(reader, index, pid, tid);
}

/* The process or thread of these numbers, if our writer made them up; NULL: it did not. */
static const perfetto_thread *find_made_up(const perfetto_reader *reader, hd_ident pid, hd_ident tid)
{
    hd_string p = hd_builder_string(reader->builder, pid.text), t = hd_builder_string(reader->builder, tid.text);
    bool is_process = tid.type == HD_IDENT_NONE;
    int64_t pid_number, tid_number = 0;
    uint32_t index;
    if (pid.type != HD_IDENT_NUMBER || !hd_fixed_parse_whole(&pid_number, p.data, p.size)) return NULL;
    if (!is_process && (tid.type != HD_IDENT_NUMBER || !hd_fixed_parse_whole(&tid_number, t.data, t.size))) return NULL;
    const hd_map *map = is_process ? &reader->process_index : &reader->thread_index;
    bool is_known = hd_map_get(&index, map, (uint64_t)pid_number, (uint64_t)tid_number);
    return is_known && reader->threads[index].is_made_up ? &reader->threads[index] : NULL;
}

/* Gives processes and threads the pids and tids that are no numbers of Perfetto's. */
static void restore_idents(perfetto_reader *reader)
{
    const hd_trace *trace = hd_builder_trace(reader->builder);
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        bool has_tid = track->tid.type != HD_IDENT_NONE;
        const perfetto_thread *process = find_made_up(reader, track->pid, (hd_ident){0});
        const perfetto_thread *thread = has_tid ? find_made_up(reader, track->pid, track->tid) : NULL;
        if (process || thread) /* another track has them: they stay as they are */
            hd_builder_identify_track(reader->builder, i, process ? process->ident : track->pid,
                                      thread ? thread->ident : track->tid);
    }
}

static hd_status name_threads(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->thread_count; i++) {
        perfetto_thread *t = &reader->threads[i];
        uint32_t track = t->track;
        hd_ident pid = perfetto_number_ident(reader, t->pid), tid = {0};
        bool used =
            track != HD_NONE || t->described || (t->is_process && hd_map_get(&track, &reader->used_pids, pid.text, 0));
        if (!used) continue; /* of a list of all there were */
        if (!t->is_process) tid = perfetto_number_ident(reader, t->tid);
        track = hd_builder_track(reader->builder, pid, tid, t->is_process);
        if (track == HD_NONE) return HD_NOMEM(reader->err);
        if (t->name) hd_builder_name_track(reader->builder, track, t->name);
        if (t->labels) hd_builder_label_track(reader->builder, track, t->labels);
        int64_t order = t->order != HD_NO_NUMBER ? t->order : t->rank;
        if (order != HD_NO_NUMBER) hd_builder_sort_track(reader->builder, track, order);
        if (t->job_rank != HD_NO_NUMBER) hd_builder_set_rank(reader->builder, track, t->job_rank);
        t->track = track;
    }
    restore_idents(reader);
    return HD_OK;
}

hd_status perfetto_prepare_tracks(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->track_count; i++) {
        uint32_t parent;
        const perfetto_track *t = &reader->tracks[i];
        if (t->has_parent && hd_map_get(&parent, &reader->track_index, t->parent_uuid, 0))
            reader->tracks[parent].has_children = true;
    }
    for (uint32_t i = 0; i < reader->track_count; i++) { /* before counters claim their threads */
        const perfetto_track *t = &reader->tracks[i];
        hd_ident pid;
        if (t->is_thread || t->is_process)
            HD_TRY(identify_numbered(reader, i));
        else if (t->provisional && !t->has_parent && (t->has_children || t->is_group))
            HD_TRY(perfetto_group_ident(&pid, reader, i));
    }
    return HD_OK;
}

hd_status perfetto_finish_tracks(perfetto_reader *reader)
{
    uint64_t undescribed = 0;
    for (uint32_t i = 0; i < reader->track_count; i++) {
        const perfetto_track *t = &reader->tracks[i];
        undescribed += !t->described && t->uuid != 0 && t->provisional;
    }
    for (uint32_t i = 0; i < reader->track_count; i++) {
        const perfetto_track *t = &reader->tracks[i];
        if (t->is_thread || t->is_process || t->lane_of != HD_NONE || t->is_identified) continue;
        if (!t->provisional && (t->is_counter || t->has_children || !t->described || t->uuid == 0)) continue;
        HD_TRY(identify_other(reader, i));
    }
    if (undescribed) perfetto_note(reader, "perfetto.track-not-described", HD_LEDGER_NOTE, undescribed);
    for (uint32_t i = 0; i < hd_trace_track_count(hd_builder_trace(reader->builder)); i++) {
        hd_ident pid = hd_trace_track_at(hd_builder_trace(reader->builder), i)->pid;
        if (pid.type == HD_IDENT_NUMBER && !hd_map_set(&reader->used_pids, pid.text, 0, i))
            return HD_NOMEM(reader->err);
    }
    return name_threads(reader);
}
