/* match.c - the two ends of messages, and of RMA and I/O operations
 *
 * Locations are read one after the other, so either end may be read first. It waits in the queue of its key (for
 * example communicator, sender, receiver and tag) until the other end is read; both get the same id, the oldest first,
 * since MPI keeps the order of messages. If receives complete in another order than they were posted, their ids are
 * exchanged.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory/large.h"
#include "format/otf2/read/read.h"

#define NO_SUCH (UINT64_C(1) << 63) /* in place of a rank without a location */

void otf2_matches_deinit(otf2_matches *matches)
{
    hd_large_free(matches->queues.at);
    hd_large_free(matches->points.at);
    hd_large_slots_deinit(&matches->slots);
}

static bool same_key(const match_key *a, const match_key *b)
{
    return a->what == b->what && a->from == b->from && a->to == b->to && a->tag == b->tag;
}

/* NULL: no memory, or there is none and none is made. */
static match_queue *find_queue(otf2_matches *m, const match_key *key, bool make)
{
    uint32_t at;
    uint64_t hash = hd_hash(key, sizeof *key);
    HD_SLOTS_FIND(at, &m->slots, hash, same_key(&m->queues.at[at].key, key));
    if (at != HD_SLOTS_NONE) return &m->queues.at[at];
    if (!make ||
        !hd_large_grow((void **)&m->queues.at, &m->queues.capacity, m->queues.count, sizeof *m->queues.at, m->large) ||
        !hd_large_slots_add(&m->slots, hash, (uint32_t)m->queues.count, m->large))
        return NULL;
    m->queues.at[m->queues.count] = (match_queue){.key = *key};
    return &m->queues.at[m->queues.count++];
}

static match_point take(otf2_matches *m, match_queue *queue)
{
    uint32_t index = queue->first;
    match_point point = m->points.at[index - 1];
    queue->first = point.next;
    if (!queue->first) queue->last = 0;
    m->points.at[index - 1].next = m->free_point;
    m->free_point = index;
    m->open--;
    return point;
}

static bool wait_in(otf2_matches *m, match_queue *queue, int64_t id, uint32_t name)
{
    uint32_t index = m->free_point;
    if (index) {
        m->free_point = m->points.at[index - 1].next;
    } else {
        if (m->points.count >= UINT32_MAX - 1 || !hd_large_grow((void **)&m->points.at, &m->points.capacity,
                                                                m->points.count, sizeof *m->points.at, m->large))
            return false;
        index = (uint32_t)++m->points.count;
    }
    m->points.at[index - 1] = (match_point){.id = id, .name = name};
    if (queue->last)
        m->points.at[queue->last - 1].next = index;
    else
        queue->first = index;
    queue->last = index;
    m->open++;
    return true;
}

hd_status otf2_match(int64_t *out, otf2_reader *r, const match_key *key, bool begins, uint32_t *name)
{
    otf2_matches *m = &r->matches;
    match_queue *queue = find_queue(m, key, true);
    if (!queue) return HD_NOMEM(r->err);
    if (queue->first && queue->begins != begins) {
        match_point point = take(m, queue);
        *out = point.id;
        *name = point.name;
        return HD_OK;
    }
    queue->begins = begins;
    *out = ++m->next_id;
    return wait_in(m, queue, *out, *name) ? HD_OK : HD_NOMEM(r->err);
}

bool otf2_match_peek(int64_t *out, otf2_reader *r, const match_key *key, uint32_t *name)
{
    match_queue *queue = find_queue(&r->matches, key, false);
    if (!queue || !queue->first || !queue->begins) return false;
    *out = r->matches.points.at[queue->first - 1].id;
    *name = r->matches.points.at[queue->first - 1].name;
    return true;
}

/* ---- ranks ---- */

/* The locations that communicate under a paradigm, which members of COMM_GROUPs index. */
otf2_def *otf2_communication_locations(otf2_reader *r, uint64_t paradigm)
{
    for (size_t i = 0; i < r->defs[DEF_GROUP].count; i++) {
        otf2_def *group = r->defs[DEF_GROUP].list[i];
        if (!group->missing && group->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS &&
            group->values[GROUP_PARADIGM] == paradigm)
            return group;
    }
    return NULL;
}

/* The location that is member `rank` of a group, or NO_SUCH. */
static uint64_t member_location(otf2_reader *r, const otf2_def *group, uint32_t rank)
{
    uint64_t member = group->list[rank];
    if (group->values[GROUP_TYPE] != OTF2_GROUP_TYPE_COMM_GROUP ||
        group->values[GROUP_FLAGS] & OTF2_GROUP_FLAG_GLOBAL_MEMBERS)
        return member;
    const otf2_def *locations = otf2_communication_locations(r, group->values[GROUP_PARADIGM]);
    if (!locations) {
        otf2_lint_event(&r->lint, LINT_COMM_LOCATIONS,
                        "group %" PRIu64 " counts through communication locations, which no group lists", group->ref);
        return NO_SUCH | rank;
    }
    return member < locations->list_count ? locations->list[member] : NO_SUCH | rank; /* the group was found wrong */
}

static otf2_def *group_of(otf2_reader *r, uint64_t comm, int field)
{
    otf2_def *def = otf2_find(r, DEF_COMM, comm);
    otf2_def *group = def && !def->missing ? otf2_find(r, DEF_GROUP, def->values[field]) : NULL;
    return group && !group->missing ? group : NULL;
}

uint64_t otf2_rank_location(otf2_reader *r, uint64_t comm, uint32_t rank)
{
    const otf2_def *group = group_of(r, comm, COMM_GROUP), *other = group_of(r, comm, COMM_GROUP_B);
    if (!group) return NO_SUCH | rank;
    if (group->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_SELF && rank == 0) return r->location.def->ref;
    if (other && rank < other->list_count) return member_location(r, other, rank);
    if (rank < group->list_count) return member_location(r, group, rank);
    otf2_lint_event(&r->lint, LINT_RANK, "rank %" PRIu32 " of communicator %" PRIu64 ", which has %" PRIu32, rank, comm,
                    group->list_count);
    return NO_SUCH | rank;
}

/* Locations of a group and, complemented, the location groups they are of: any thread of a process may communicate. */
static hd_map *members_of(otf2_reader *r, otf2_def *group)
{
    if (group->ranks) return group->ranks;
    group->ranks = calloc(1, sizeof *group->ranks);
    for (uint32_t i = 0; group->ranks && i < group->list_count; i++) {
        uint64_t location = member_location(r, group, i);
        const otf2_def *def = otf2_get(r, DEF_LOCATION, location);
        if (!hd_map_set(group->ranks, location, 0, i)) break;
        if (def && !hd_map_set(group->ranks, ~def->values[LOCATION_GROUP], 0, i)) break;
    }
    return group->ranks;
}

static bool is_member(otf2_reader *r, otf2_def *group)
{
    const otf2_def *location = r->location.def;
    if (!group) return false;
    const hd_map *members = members_of(r, group);
    return !members || hd_map_find(members, location->ref, 0) ||
           hd_map_find(members, ~location->values[LOCATION_GROUP], 0);
}

void otf2_check_member(otf2_reader *r, uint64_t comm)
{
    otf2_location *location = &r->location;
    if (location->comm == comm + 1) return;
    location->comm = comm + 1;
    otf2_def *group = group_of(r, comm, COMM_GROUP), *other = group_of(r, comm, COMM_GROUP_B);
    if (!group || group->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_SELF) return;
    if (is_member(r, group) || is_member(r, other)) return;
    otf2_lint_event(&r->lint, LINT_NOT_A_MEMBER, "location %" PRIu64 " is not in communicator %" PRIu64,
                    location->def->ref, comm);
}
