/* ids.c - samples matched to launches by equal correlation ids
 *
 * Processes reuse ids, so the pid must be the same if both sides know it; if one does not, the id must be unique. With
 * several ranks it must always be unique, since merged processes of several hosts may have the same pid. An activity
 * whose call is not in the trace is found by its own id.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "pass/attribution/samples.h"
#include "trace/ranks.h"

typedef struct named {
    int64_t id, rank;
    uint32_t pid;
    uint32_t launch, work; /* one of them is HD_NONE */
    uint32_t next;         /* of the same slot, HD_NONE: none */
} named;

typedef struct id_table {
    named *list;
    uint32_t *slots;
    size_t count, mask;
    uint64_t steps; /* remaining steps: bounds the time for damaged input with many equal ids */
} id_table;

static size_t slot_of(const id_table *t, int64_t id)
{
    return (size_t)(hd_hash_pair((uint64_t)id, 0) & t->mask);
}

static bool add(id_table *t, attribution_join *j, int64_t id, uint32_t track, uint32_t launch, uint32_t work)
{
    uint32_t place = attribution_gpu_place(j, track);
    if (place == HD_NONE) return false;
    size_t slot = slot_of(t, id);
    int64_t rank = track < hd_trace_track_count(j->gpu) ? hd_trace_rank_of(j->gpu, track) : HD_NO_NUMBER;
    t->list[t->count] = (named){id, rank, j->places[place].pid, launch, work, t->slots[slot]};
    t->slots[slot] = (uint32_t)t->count++;
    return true;
}

static bool fill(id_table *t, attribution_join *j)
{
    const hd_launches *l = j->a->launches;
    for (size_t i = l->work_count; i-- > 0;) { /* backwards: a slot's list begins with the first */
        const hd_work *work = &l->works[i];
        if (work->launch == HD_NONE && work->id && !add(t, j, work->id, work->track, HD_NONE, (uint32_t)i))
            return false;
    }
    for (size_t i = l->launch_count; i-- > 0;) {
        const hd_launch *launch = &l->launches[i];
        if (launch->id && !add(t, j, launch->id, launch->track, (uint32_t)i, HD_NONE)) return false;
    }
    return true;
}

/* 2: of the same process, 1: of an unknown one, 0: of another. */
static int same_process(uint32_t a, uint32_t b)
{
    return a == HD_STRING_NONE || b == HD_STRING_NONE ? 1 : a == b ? 2 : 0;
}

/* Whether activities of an id without a call are of several ranks, so that the sample's rank is unknown. */
static bool is_of_ranks(id_table *t, int64_t id)
{
    const named *first = NULL;
    for (uint32_t i = t->slots[slot_of(t, id)]; i != HD_NONE && t->steps > 0; i = t->list[i].next, t->steps--) {
        const named *n = &t->list[i];
        if (n->id != id || n->work == HD_NONE) continue;
        if (first && first->rank != n->rank) return true;
        first = n;
    }
    return t->steps == 0;
}

/* All activities of an id without a call: those of a graph. An activity's pid is that of a device, so it is not
 * compared. */
static bool give_works(attribution_join *j, id_table *t, int64_t id, uint32_t sample)
{
    bool given = false;
    if (is_of_ranks(t, id)) return false;
    for (uint32_t i = t->slots[slot_of(t, id)]; i != HD_NONE && t->steps > 0; i = t->list[i].next, t->steps--) {
        const named *n = &t->list[i];
        if (n->id != id || n->work == HD_NONE || j->a->work_rule[n->work] != HD_RULE_NONE) continue;
        j->a->work_stack[n->work] = j->sample_stacks[sample];
        j->a->work_rule[n->work] = HD_RULE_ID;
        given = true;
    }
    return given;
}

static void join_sample(attribution_join *j, id_table *t, uint32_t sample)
{
    int64_t id = j->sample_ids[sample], rank = HD_NO_NUMBER;
    uint32_t pid = j->places[j->sample_places[sample]].pid, best = HD_NONE;
    int best_fit = 0;
    unsigned as_good = 0;
    bool ranks = false;
    for (uint32_t i = t->slots[slot_of(t, id)]; i != HD_NONE && t->steps > 0; i = t->list[i].next, t->steps--) {
        const named *n = &t->list[i];
        if (n->id != id || n->launch == HD_NONE) continue;
        int fit = same_process(pid, n->pid);
        if (fit == 0 || j->a->launch_sample[n->launch] != UINT64_MAX) continue;
        if (fit == best_fit) {
            as_good++;
            ranks |= n->rank != rank;
        }
        if (fit <= best_fit) continue;
        best_fit = fit;
        best = n->launch;
        rank = n->rank;
        as_good = 1;
        ranks = false;
    }
    if (best == HD_NONE) {
        j->used[sample] = give_works(j, t, id, sample);
        return;
    }
    if (as_good > 1 && (best_fit == 1 || ranks)) return; /* of which process? */
    if (j->a->launch_rule[best] == HD_RULE_NONE) {
        attribution_take(j, best, sample, HD_RULE_ID);
    } else { /* the trace had it already */
        j->a->launch_sample[best] = j->sample_rows[sample];
        j->used[sample] = 1;
    }
}

hd_status attribution_by_id(attribution_join *j, hd_error *err)
{
    const hd_launches *l = j->a->launches;
    size_t most = l->launch_count + l->work_count, size = 1024;
    if (!j->has_ids || most == 0) return HD_OK;
    if (most >= HD_NONE) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 - 2 launches");
    while (size < most) size *= 2;
    id_table t = {.mask = size - 1, .steps = 64 * ((uint64_t)most + j->sample_count + 16384)};
    t.list = hd_large_new(most, sizeof *t.list, j->large);
    t.slots = hd_large_new(size, sizeof *t.slots, j->large);
    bool done = t.list && t.slots;
    for (size_t i = 0; i < size && done; i++) t.slots[i] = HD_NONE;
    done = done && fill(&t, j);
    for (size_t i = 0; i < j->sample_count && done; i++) {
        if (j->sample_ids[i]) join_sample(j, &t, (uint32_t)i);
    }
    hd_large_free(t.list);
    hd_large_free(t.slots);
    return done ? HD_OK : HD_NOMEM(err);
}
