/* comms.c - groups and communicators, written once all parts were read */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/otf2/join/join.h"

/* ---- groups and communicators ---- */

bool oj_is_process_group(const otf2_reader *r, const otf2_def *comm)
{
    const otf2_def *group = otf2_get(r, DEF_GROUP, comm->values[COMM_GROUP]);
    return group && group->values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
}

/* "messages of ranks 2 and 5 in …": two members, one of which this part has. */
static hd_status find_pair(joiner *j, join_group *group, const otf2_def *def, bool created)
{
    char name[80];
    hd_string text = hd_builder_string(j->r->builder, def->name);
    snprintf(name, sizeof name, "%.*s", (int)(text.size < 79 ? text.size : 79), text.data);
    if (!created ||
        sscanf(name, "messages of ranks %" SCNd64 " and %" SCNd64 " in", &group->pair[0], &group->pair[1]) != 2)
        return HD_OK;
    return PUSH(group->members, NO_MEMBER) && PUSH(group->members, NO_MEMBER) ? HD_OK : HD_NOMEM(j->w.err);
}

/* Members of COMM_LOCATIONS are locations, those of other groups are indices into it. */
hd_status oj_join_members(joiner *j, otf2_def *def)
{
    uint64_t values[VALUES_MAX], member;
    HD_TRY(oj_map_values(values, j, DEF_GROUP, def));
    uint64_t *first = &j->first_rank[(uint8_t)values[GROUP_PARADIGM]];
    bool locations = values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS, created = true;
    bool shared = locations || values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
    size_t from = locations ? GROUP_TYPE : 0; /* fields compared: type and paradigm, of others the name as well */
    if (shared)
        HD_TRY(oj_number_shared(&def->joined, &created, j, DEF_GROUP, values + from,
                                (GROUP_PARADIGM + 1 - from) * sizeof *values));
    else
        def->joined = j->next[DEF_GROUP]++;
    if (created && !PUSH(j->groups, (join_group){.members = {0}})) return HD_NOMEM(j->w.err);
    join_group *group = &j->groups.at[def->joined];
    if (created) memcpy(group->values, values, sizeof values);
    if (shared && !locations) HD_TRY(find_pair(j, group, def, created));
    if (locations) *first = group->members.count;
    for (uint32_t i = 0; i < def->list_count; i++) {
        member = def->list[i];
        if (locations) HD_TRY(oj_map_ref(&member, j, DEF_LOCATION));
        if (!locations) member += *first;
        if (group->pair[1]) {
            group->members.at[hd_builder_facts(j->r->builder)->rank == group->pair[1]] = member;
            continue;
        }
        if (!PUSH(group->members, member)) return HD_NOMEM(j->w.err);
    }
    return HD_OK;
}

hd_status oj_add_late(joiner *j, def_kind kind, uint32_t ref, const uint64_t *values)
{
    join_late late = {.kind = kind, .ref = ref};
    memcpy(late.values, values, sizeof late.values);
    return PUSH(j->late, late) ? HD_OK : HD_NOMEM(j->w.err);
}

/* Readers look for them. */
static hd_status write_empty_files(joiner *j, uint64_t location)
{
    OTF2_DefWriter *defs = OTF2_Archive_GetDefWriter(j->w.archive, location);
    if (!defs) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    OW_TRY(&j->w, OTF2_Archive_CloseDefWriter(j->w.archive, defs));
    OW_TRY(&j->w, OTF2_Archive_OpenEvtFiles(j->w.archive));
    OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(j->w.archive, location);
    if (!events) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    OW_TRY(&j->w, OTF2_Archive_CloseEvtWriter(j->w.archive, events));
    OW_TRY(&j->w, OTF2_Archive_CloseEvtFiles(j->w.archive));
    return HD_OK;
}

/* A rank without a part that others sent to or received from: a location without events. */
static hd_status add_absent(uint64_t *out_member, joiner *j, join_group *locations, int64_t rank)
{
    uint32_t place, group, ref, name;
    bool created;
    HD_TRY(oj_number_shared(&place, &created, j, ABSENT, &rank, sizeof rank));
    if (created) {
        name = ow_format(&j->w, "rank %" PRId64 " (not in the archive)", rank);
        group = j->next[DEF_LOCATION_GROUP]++;
        ref = j->next[DEF_LOCATION]++;
        if (name == HD_NONE) return j->w.err->status;
        const uint64_t of_group[] = {name, OTF2_LOCATION_GROUP_TYPE_PROCESS, OW_NODE_MACHINE,
                                     OTF2_UNDEFINED_LOCATION_GROUP},
                       of_location[] = {name, OTF2_LOCATION_TYPE_CPU_THREAD, 0, group};
        OW_TRY(&j->w, oj_write_record(j, DEF_LOCATION_GROUP, group, of_group, NULL, 0));
        OW_TRY(&j->w, oj_write_record(j, DEF_LOCATION, ref, of_location, NULL, 0));
        HD_TRY(write_empty_files(j, ref));
        if (place == 0) j->first_absent = locations->members.count;
        if (!PUSH(locations->members, ref)) return HD_NOMEM(j->w.err);
    }
    *out_member = j->first_absent + place;
    return HD_OK;
}

static hd_status fill_pairs(joiner *j)
{
    join_group *locations = NULL;
    for (size_t i = 0; i < j->groups.count; i++) {
        join_group *group = &j->groups.at[i];
        bool is_mpi = group->values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
        if (is_mpi && group->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS) locations = group;
        for (int side = 0; side < 2 && group->pair[1] && locations; side++) {
            uint64_t *member = &group->members.at[side];
            if (*member == NO_MEMBER) HD_TRY(add_absent(member, j, locations, group->pair[side]));
        }
    }
    return HD_OK;
}

hd_status oj_write_late(joiner *j)
{
    HD_TRY(fill_pairs(j));
    for (uint32_t i = 0; i < j->groups.count; i++) {
        const join_group *g = &j->groups.at[i];
        OW_TRY(&j->w, OTF2_GlobalDefWriter_WriteGroup(j->w.defs, i, (uint32_t)g->values[0],
                                                      (OTF2_GroupType)g->values[GROUP_TYPE],
                                                      (OTF2_Paradigm)g->values[GROUP_PARADIGM], OTF2_GROUP_FLAG_NONE,
                                                      (uint32_t)g->members.count, g->members.at));
    }
    for (size_t i = 0; i < j->late.count; i++) {
        const join_late *late = &j->late.at[i];
        OW_TRY(&j->w, oj_write_record(j, late->kind, late->ref, late->values, NULL, 0));
    }
    return HD_OK;
}
