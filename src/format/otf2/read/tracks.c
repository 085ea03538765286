/* tracks.c - location groups -> processes, locations -> threads and streams
 *
 * pid   the group's property that names a process id; else N of a group "MPI Rank N", "rank N" …; else
 *       its id. Two groups never get the same pid: the second one falls back to its id, then to text
 * tid   the location's property "tid", else its id: all 64 bits of it
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "format/otf2/read/read.h"

/* The number behind "rank" in a name; false if there is none. */
static bool rank_of_name(int64_t *out, hd_string name)
{
    for (size_t at = 0; at + 4 < name.size; at++) {
        if (strncasecmp(name.data + at, "rank", 4) != 0 || (at && isalpha((unsigned char)name.data[at - 1]))) continue;
        size_t p = at + 4;
        while (p < name.size && (name.data[p] == ' ' || name.data[p] == '_' || name.data[p] == ':')) p++;
        int64_t value = 0;
        size_t digits = 0;
        for (; p < name.size && isdigit((unsigned char)name.data[p]) && digits < 10; p++, digits++)
            value = value * 10 + (name.data[p] - '0');
        if (digits) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* "CUDA[0:7]": device 0, stream 7. */
static bool stream_of_name(int64_t *device, int64_t *stream, hd_string name)
{
    char text[64];
    int end = 0;
    if (name.size >= sizeof text) return false;
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    const char *open = strrchr(text, '[');
    return open && sscanf(open, "[%9" SCNd64 ":%18" SCNd64 "]%n", device, stream, &end) == 2 && end;
}

static bool same_text(hd_string a, const char *b)
{
    return a.size == strlen(b) && strncasecmp(a.data, b, a.size) == 0;
}

/* A property's value as the text of an identifier; {0} if it can be none. */
hd_ident otf2_ident_of_property(otf2_reader *r, const uint64_t *values)
{
    char text[24];
    uint64_t value = values[PROPERTY_VALUE];
    switch (values[PROPERTY_TYPE]) {
    case OTF2_TYPE_STRING: return (hd_ident){HD_IDENT_STRING, otf2_ref_name(r, DEF_STRING, (uint32_t)value)};
    case OTF2_TYPE_INT64: snprintf(text, sizeof text, "%" PRId64, (int64_t)value); break;
    case OTF2_TYPE_INT32: snprintf(text, sizeof text, "%" PRId32, (int32_t)value); break;
    case OTF2_TYPE_UINT64: snprintf(text, sizeof text, "%" PRIu64, value); break;
    case OTF2_TYPE_UINT32: snprintf(text, sizeof text, "%" PRIu32, (uint32_t)value); break;
    default: return (hd_ident){0};
    }
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(r->builder, text)};
}

/* The first property of each location or group with one of these names gives its identity. */
static void take_idents(otf2_reader *r, def_kind properties, def_kind owners, const char *const *names)
{
    for (size_t i = 0; i < r->defs[properties].count; i++) {
        const uint64_t *values = r->defs[properties].list[i]->values;
        otf2_def *owner = otf2_get(r, owners, values[PROPERTY_OWNER]);
        if (!owner || owner->ident.text != HD_STRING_NONE) continue;
        hd_string name = hd_builder_string(r->builder, otf2_ref_name(r, DEF_STRING, values[PROPERTY_NAME]));
        for (const char *const *wanted = names; *wanted; wanted++) {
            if (same_text(name, *wanted)) owner->ident = otf2_ident_of_property(r, values);
        }
        if (owner->ident.text == HD_STRING_NONE) owner->ident = (hd_ident){0};
    }
}

static hd_ident ident_of_number(otf2_reader *r, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(r->builder, text)};
}

/* false: another group has this pid; else this group has it from now on. */
static bool claim_pid(otf2_reader *r, hd_ident pid)
{
    if (hd_map_find(&r->pids, pid.text, 0)) return false;
    if (!hd_map_set(&r->pids, pid.text, 0, 0)) otf2_stop(r, HD_NOMEM(r->err));
    return true;
}

static hd_ident choose_pid(otf2_reader *r, const otf2_def *group, bool ranked, int64_t rank)
{
    char text[40];
    hd_ident pid = group->ident;
    if (pid.text == HD_STRING_NONE && ranked) pid = ident_of_number(r, (uint64_t)rank);
    if (pid.text != HD_STRING_NONE && claim_pid(r, pid)) return pid;
    pid = ident_of_number(r, group->ref);
    if (claim_pid(r, pid)) return pid;
    snprintf(text, sizeof text, "location group %" PRIu64, group->ref);
    pid = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(r->builder, text)};
    claim_pid(r, pid);
    return pid;
}

/* Of the group itself, or of the process that made it. */
static bool rank_of_group(int64_t *out, otf2_reader *r, const otf2_def *group)
{
    for (int depth = 0; group && depth < 8; depth++) {
        if (rank_of_name(out, hd_builder_string(r->builder, group->name))) return true;
        group = otf2_get(r, DEF_LOCATION_GROUP, group->values[LOCATION_GROUP_CREATOR]);
    }
    return false;
}

static void make_process(otf2_reader *r, otf2_def *group)
{
    int64_t rank = HD_NO_NUMBER;
    bool is_process = group->values[LOCATION_GROUP_TYPE] != OTF2_LOCATION_GROUP_TYPE_ACCELERATOR;
    bool ranked = rank_of_group(&rank, r, group);
    hd_ident pid = choose_pid(r, group, ranked && is_process, rank);
    group->track = hd_builder_track(r->builder, pid, (hd_ident){0}, true);
    if (group->track == HD_NONE) return;
    hd_builder_name_track(r->builder, group->track, group->name);
    if (ranked) hd_builder_set_rank(r->builder, group->track, rank);
    if (!is_process) group->number = r->device_count++;
}

uint32_t otf2_process_track(otf2_reader *r, uint64_t location_group)
{
    otf2_def *group = otf2_require(r, DEF_LOCATION_GROUP, location_group); /* "none" needs a process as well */
    if (!group) return HD_NONE;
    if (group->track == HD_NONE) make_process(r, group);
    return group->track;
}

void otf2_track_of_location(otf2_reader *r, otf2_def *location)
{
    if (r->is_own) return; /* it has one, or its events have none */
    uint32_t process = otf2_process_track(r, location->values[LOCATION_GROUP]);
    if (process == HD_NONE) return;
    const hd_track *track = hd_trace_track_at(hd_builder_trace(r->builder), process);
    hd_ident pid = track->pid;
    int64_t rank = track->rank, device, stream;
    hd_ident tid = location->ident;
    if (tid.text == HD_STRING_NONE) tid = ident_of_number(r, location->ref);
    location->track = hd_builder_track(r->builder, pid, tid, false);
    if (location->track == HD_NONE) return;
    hd_builder_name_track(r->builder, location->track, location->name);
    if (rank != HD_NO_NUMBER) hd_builder_set_rank(r->builder, location->track, rank);
    if (location->values[LOCATION_TYPE] != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM) return;
    otf2_def *group = otf2_get(r, DEF_LOCATION_GROUP, location->values[LOCATION_GROUP]);
    if (!stream_of_name(&device, &stream, hd_builder_string(r->builder, location->name))) {
        device = group ? group->number : 0; /* groups of accelerators are devices, their locations streams, in order */
        stream = group ? group->stream_count : 0;
    }
    if (group) group->stream_count++;
    hd_builder_set_stream(r->builder, location->track, device, stream);
}

void otf2_make_tracks(otf2_reader *r)
{
    static const char *const pids[] = {"pid", "process id", "processid", "process_id", NULL};
    static const char *const tids[] = {"tid", NULL};
    int64_t rank, ranks = 0, one = HD_NO_NUMBER;
    if (r->is_own) {
        otf2_own_make_tracks(r);
        return;
    }
    take_idents(r, DEF_GROUP_PROPERTY, DEF_LOCATION_GROUP, pids);
    take_idents(r, DEF_LOCATION_PROPERTY, DEF_LOCATION, tids);
    size_t count = r->defs[DEF_LOCATION_GROUP].count;
    for (size_t i = 0; i < count; i++) {
        otf2_def *group = r->defs[DEF_LOCATION_GROUP].list[i];
        if (group->track == HD_NONE) make_process(r, group);
        bool is_process = group->values[LOCATION_GROUP_TYPE] == OTF2_LOCATION_GROUP_TYPE_PROCESS;
        if (!is_process || !rank_of_name(&rank, hd_builder_string(r->builder, group->name))) continue;
        one = rank;
        ranks++;
    }
    if (ranks == 1) hd_builder_facts(r->builder)->rank = one;
    if (ranks > 1) hd_builder_facts(r->builder)->world_size = ranks;
    count = r->defs[DEF_LOCATION].count;
    for (size_t i = 0; i < count; i++) otf2_track_of_location(r, r->defs[DEF_LOCATION].list[i]);
}
