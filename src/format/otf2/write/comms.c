/* comms.c - communicators: of flows, of the window of copies, of process groups, of messages between ranks
 *
 * Flows     one communicator per (category, name) of the flows.
 * Copies    one window of one communicator for all devices.
 * Both span all threads and streams; a rank is the number of a location among those.
 * Process groups: one communicator per NCCL process group, with the streams of this archive that took part in it. Ranks
 * of the group that are not in the archive have no location and so are not members; attributes keep the group's true
 * size.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "model/class/class.h"

/* ---- collectives ---- */

/* Keeps letters only, in lower case. */
static void fold(char *out, size_t size, hd_string text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.size && n + 1 < size; i++) {
        char c = text.data[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c >= 'a' && c <= 'z') out[n++] = c;
    }
    out[n] = '\0';
}

uint8_t ow_collective_of(hd_string name)
{
    static const OTF2_CollectiveOp ops[GPU_COLLECTIVES] = {
        [GPU_ALL_REDUCE] = OTF2_COLLECTIVE_OP_ALLREDUCE, [GPU_ALL_GATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
        [GPU_ALL_TO_ALL] = OTF2_COLLECTIVE_OP_ALLTOALL,  [GPU_REDUCE_SCATTER] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
        [GPU_BROADCAST] = OTF2_COLLECTIVE_OP_BCAST,      [GPU_BARRIER] = OTF2_COLLECTIVE_OP_BARRIER,
        [GPU_GATHER] = OTF2_COLLECTIVE_OP_GATHER,        [GPU_SCATTER] = OTF2_COLLECTIVE_OP_SCATTER,
        [GPU_REDUCE] = OTF2_COLLECTIVE_OP_REDUCE,
    };
    char folded[128];
    gpu_collective collective = gpu_collective_of(name);
    if (collective == GPU_NO_COLLECTIVE || collective == GPU_SEND_RECV) return 0;
    fold(folded, sizeof folded, name);
    if (strstr(folded, "allgatherv")) return OTF2_COLLECTIVE_OP_ALLGATHERV + 1;
    if (strstr(folded, "alltoallv")) return OTF2_COLLECTIVE_OP_ALLTOALLV + 1;
    return (uint8_t)(ops[collective] + 1);
}

uint64_t ow_type_bytes(hd_string dtype)
{
    static const struct {
        const char *text;
        unsigned bytes;
    } types[] = {
        {"float", 4},  {"double", 8},       {"half", 2},          {"bfloat", 2}, {"long", 8},   {"int", 4},
        {"short", 2},  {"char", 1},         {"byte", 1},          {"bool", 1},   {"floate", 1}, /* Float8_e4m3fn … */
        {"cfloat", 8}, {"complexfloat", 8}, {"complexdouble", 16}};
    char folded[32];
    fold(folded, sizeof folded, dtype);
    if (strncmp(folded, "floate", 6) == 0) return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(folded, types[i].text) == 0) return types[i].bytes;
    }
    return 0;
}

/* ---- collecting ---- */

static hd_status add_comm(ow_writer *w, uint32_t name, bool is_collective)
{
    if (name == HD_NONE) return w->err->status;
    if (!hd_grow((void **)&w->comms, &w->comm_capacity, w->comm_count, sizeof *w->comms)) return HD_NOMEM(w->err);
    w->comms[w->comm_count++] = (ow_comm){.name = name, .is_collective = is_collective};
    return HD_OK;
}

hd_status ow_flow_comm(uint32_t *out, ow_writer *w, const hd_event *event)
{
    bool created;
    uint32_t *slot = ow_map_get(&w->flow_comms, event->category, event->name, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) {
        hd_string category = hd_trace_string(w->trace, event->category), name = hd_trace_string(w->trace, event->name);
        bool same = event->category == event->name || !event->category;
        *slot = (uint32_t)w->comm_count + 1;
        HD_TRY(add_comm(w,
                        same ? ow_format(w, "%.*s", (int)(name.size & 0xffff), name.data)
                             : ow_format(w, "%.*s: %.*s", (int)(category.size & 0xffff), category.data,
                                         (int)(name.size & 0xffff), name.data),
                        false));
        ow_comm *comm = &w->comms[w->comm_count - 1];
        comm->is_flow = true;
        comm->flow_name = event->name;
        comm->flow_category = event->category;
    }
    *out = *slot - 1;
    return HD_OK;
}

hd_status ow_window(ow_writer *w)
{
    if (w->has_window) return HD_OK;
    w->has_window = true;
    w->window_comm = (uint32_t)w->comm_count;
    return add_comm(w, ow_text(w, w->is_hip ? "HIP memory" : "CUDA memory"), false);
}

static hd_status add_member(ow_writer *w, ow_comm *comm, uint32_t location)
{
    uint32_t *rank = &w->locations[location].collectives;
    if (*rank == 0) *rank = ++w->collective_locations;
    /* Locations are written one after the other, so their ranks ascend. */
    if (comm->member_count && comm->members[comm->member_count - 1] == *rank - 1) return HD_OK;
    if (!hd_grow((void **)&comm->members, &comm->member_capacity, comm->member_count, sizeof *comm->members))
        return HD_NOMEM(w->err);
    comm->members[comm->member_count++] = *rank - 1;
    return HD_OK;
}

hd_status ow_process_group(uint32_t *out, ow_writer *w, const hd_event *event, uint32_t location)
{
    hd_string name = ow_arg_text(w, event, w->keys.group_name), ranks = ow_arg_text(w, event, w->keys.group_ranks);
    hd_string about = ow_arg_text(w, event, w->keys.group_description);
    bool created;
    uint32_t *slot = ow_map_get(&w->process_groups, name.size ? hd_hash(name.data, name.size) : 0,
                                ranks.size ? hd_hash(ranks.data, ranks.size) : 0, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) {
        *slot = (uint32_t)w->comm_count + 1;
        HD_TRY(add_comm(w,
                        name.size ? ow_format(w, "process group %.*s (%.*s) of ranks %.*s", (int)(name.size & 0xfff),
                                              name.data, (int)(about.size & 0xfff), about.data,
                                              (int)(ranks.size & 0xffff), ranks.data)
                                  : ow_text(w, "NCCL"),
                        true));
    }
    *out = *slot - 1;
    return add_member(w, &w->comms[*out], location);
}

static bool has_rank(const hd_trace *trace, int64_t rank)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        if (hd_trace_track_at(trace, i)->rank == rank) return true;
    }
    return false;
}

hd_status ow_rank_pair(uint32_t *out, bool *out_takes_part, ow_writer *w, const hd_event *event, uint32_t location,
                       int64_t own, int64_t peer)
{
    hd_string group = ow_arg_text(w, event, w->keys.group_name);
    int64_t low = own < peer ? own : peer, high = own < peer ? peer : own;
    bool created;
    uint32_t *slot = ow_map_get(&w->rank_pairs, (uint64_t)low << 32 | (uint64_t)high,
                                group.size ? hd_hash(group.data, group.size) : 0, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) {
        *slot = (uint32_t)w->comm_count + 1;
        HD_TRY(add_comm(w,
                        ow_format(w, "messages of ranks %" PRId64 " and %" PRId64 " in %.*s", low, high,
                                  (int)(group.size & 0xffff), group.data),
                        true));
        ow_comm *comm = &w->comms[w->comm_count - 1];
        comm->is_pair = true;
        comm->is_whole = w->options->part || has_rank(w->trace, peer);
        comm->pair[0] = comm->pair[1] = HD_NONE;
    }
    *out = *slot - 1;
    ow_comm *comm = &w->comms[*out];
    uint32_t *side = &comm->pair[own == high], *rank = &w->locations[location].collectives;
    if (comm->is_whole && *side == HD_NONE) *side = location;
    *out_takes_part = *side == location;
    if (*out_takes_part && *rank == 0) *rank = ++w->collective_locations;
    return HD_OK;
}

/* ---- definitions ---- */

/* Groups: 0, 1 the threads and streams, and all of them as ranks; 2 the locations with collectives; then one group
 * each. */
enum { GROUP_LOCATIONS, GROUP_ALL, GROUP_COLLECTIVES, GROUP_FIRST };

static hd_status write_group(ow_writer *w, uint32_t ref, uint32_t name, OTF2_GroupType type, OTF2_Paradigm paradigm,
                             size_t count, const uint64_t *members)
{
    if (name == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteGroup(w->defs, ref, name, type, paradigm, OTF2_GROUP_FLAG_NONE, (uint32_t)count,
                                              members));
    return HD_OK;
}

static hd_status write_location_groups(ow_writer *w, uint64_t *members)
{
    size_t count = 0;
    for (size_t i = 0; i < w->location_count; i++) {
        if (w->places[w->locations[i].place].type != OW_PLACE_METRICS) members[count++] = i;
    }
    HD_TRY(write_group(w, GROUP_LOCATIONS, ow_text(w, "threads and streams"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                       w->accelerator, count, members));
    for (size_t i = 0; i < count; i++) members[i] = i;
    HD_TRY(write_group(w, GROUP_ALL, ow_text(w, "all threads and streams"), OTF2_GROUP_TYPE_COMM_GROUP, w->accelerator,
                       count, members));
    if (!w->collective_locations) return HD_OK;
    for (size_t i = 0; i < w->location_count; i++) {
        if (w->locations[i].collectives) members[w->locations[i].collectives - 1] = i;
    }
    return write_group(w, GROUP_COLLECTIVES, ow_text(w, "streams with collectives"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                       OTF2_PARADIGM_MPI, w->collective_locations, members);
}

/* The lower rank is member 0. */
static hd_status add_pair_members(ow_writer *w, ow_comm *comm)
{
    for (int side = 0; comm->is_pair && side < 2; side++) {
        if (comm->pair[side] == HD_NONE) continue;
        if (!hd_grow((void **)&comm->members, &comm->member_capacity, comm->member_count, sizeof *comm->members))
            return HD_NOMEM(w->err);
        comm->members[comm->member_count++] = w->locations[comm->pair[side]].collectives - 1;
    }
    return HD_OK;
}

hd_status ow_write_comms(ow_writer *w)
{
    if (!w->comm_count) return HD_OK;
    uint64_t *members = malloc((w->location_count + 1) * sizeof *members);
    if (!members) return HD_NOMEM(w->err);
    hd_status status = write_location_groups(w, members);
    free(members);
    HD_TRY(status);
    uint32_t next = w->collective_locations ? GROUP_FIRST : GROUP_COLLECTIVES;
    for (uint32_t i = 0; i < w->comm_count; i++) {
        ow_comm *comm = &w->comms[i];
        if (comm->is_pair && comm->pair[0] == HD_NONE && comm->pair[1] == HD_NONE) continue;
        HD_TRY(add_pair_members(w, comm));
        uint32_t group = comm->is_collective ? next++ : GROUP_ALL;
        if (comm->is_collective)
            HD_TRY(write_group(w, group, comm->name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, comm->member_count,
                               comm->members));
        OW_TRY(w,
               OTF2_GlobalDefWriter_WriteComm(w->defs, i, comm->name, group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
    if (w->has_window)
        OW_TRY(w, OTF2_GlobalDefWriter_WriteRmaWin(w->defs, 0, w->comms[w->window_comm].name, w->window_comm,
                                                   OTF2_RMA_WIN_FLAG_NONE));
    return HD_OK;
}
