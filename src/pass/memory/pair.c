/* pair.c - pairs frees with allocations, and computes live bytes over time
 *
 * One walk in order of time. Live allocations are in a table by pool and address.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "pass/memory/impl.h"

/* Running sums of a pool; hd_memory_pool gets them at the end. */
typedef struct pool_state {
    memory_sum live, loose, allocated, freed, replaced;
    bool peaked, reserved_seen;
    int64_t peak_allocated;                               /* over the events with a known reserved */
    int64_t idle_since_ns, idle_bytes, reserved_first_ns; /* the last step of reserved less allocated */
    memory_sum idle_area;
} pool_state;

typedef struct pairing {
    hd_memory *memory;
    pool_state *pools;
    memory_sum *group_live;
    uint8_t *group_peaked;
    hd_slots live; /* events, by pool and address */
    uint64_t large;
} pairing;

int64_t memory_clamp(memory_sum sum)
{
    if (sum > INT64_MAX) return INT64_MAX;
    return sum < INT64_MIN + 1 ? INT64_MIN + 1 : (int64_t)sum;
}

static uint64_t clamp_count(memory_sum sum)
{
    if (sum < 0) return 0;
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

/* ---- what is live ---- */

static uint32_t pool_at(const hd_memory *m, uint32_t event)
{
    return m->groups[m->events[event].group].pool;
}

/* The live allocation at an address, HD_SLOTS_NONE: none. */
static uint32_t live_at(const pairing *p, uint32_t pool, uint64_t address)
{
    uint32_t at;
    uint64_t hash = hd_hash_pair(address, pool);
    const hd_memory *m = p->memory;
    HD_SLOTS_FIND(at, &p->live, hash, m->events[at].address == address && pool_at(m, at) == pool);
    return at;
}

/* ---- one event ---- */

static void add_live(pairing *p, const hd_memory_event *event, bool more, uint64_t bytes)
{
    memory_sum change = more ? (memory_sum)bytes : -(memory_sum)bytes;
    p->pools[p->memory->groups[event->group].pool].live += change;
    p->group_live[event->group] += change;
}

static bool allocate(pairing *p, uint32_t index)
{
    hd_memory *m = p->memory;
    hd_memory_event *event = &m->events[index];
    uint32_t pool = m->groups[event->group].pool;
    uint64_t hash = hd_hash_pair(event->address, pool);
    uint32_t known = live_at(p, pool, event->address);
    if (known != HD_SLOTS_NONE) {
        hd_memory_event *before = &m->events[known];
        hd_slots_renumber(&p->live, hash, known, index);
        before->end = index;
        before->is_replaced = true;
        add_live(p, before, false, before->bytes);
        p->pools[pool].replaced += before->bytes;
        memory_note(m, HD_MEMORY_REPLACED, event->time_ns, before->bytes);
    } else if (!hd_large_slots_add(&p->live, hash, index, p->large)) {
        return false;
    }
    add_live(p, event, true, event->bytes);
    return true;
}

static void release(pairing *p, uint32_t index)
{
    hd_memory *m = p->memory;
    hd_memory_event *event = &m->events[index];
    uint32_t pool = m->groups[event->group].pool;
    event->end = live_at(p, pool, event->address);
    if (event->end == HD_NONE) {
        memory_note(m, HD_MEMORY_FREE_UNKNOWN, event->time_ns, event->bytes);
        return;
    }
    hd_memory_event *begun = &m->events[event->end];
    if (event->bytes && event->bytes != begun->bytes)
        memory_note(m, HD_MEMORY_SIZE_DIFFERS, event->time_ns,
                    event->bytes > begun->bytes ? event->bytes - begun->bytes : begun->bytes - event->bytes);
    hd_slots_remove(&p->live, hd_hash_pair(event->address, pool), event->end);
    begun->end = index;
    event->group = begun->group; /* a free seldom has the category */
    add_live(p, begun, false, begun->bytes);
    p->pools[pool].freed += begun->bytes;
}

static void loose(pairing *p, const hd_memory_event *event)
{
    pool_state *state = &p->pools[p->memory->groups[event->group].pool];
    memory_note(p->memory, HD_MEMORY_NO_ADDRESS, event->time_ns, event->bytes);
    add_live(p, event, !event->is_free, event->bytes);
    state->loose += event->is_free ? -(memory_sum)event->bytes : (memory_sum)event->bytes;
    if (event->is_free) state->freed += event->bytes;
}

/* ---- levels ---- */

static void step_reserved(pairing *p, hd_memory_pool *pool, pool_state *state, const hd_memory_event *event)
{
    /* Allocators that do not track what they reserve report 0, such as that of the CPU. */
    if (event->allocated == HD_NO_NUMBER || event->reserved == HD_NO_NUMBER || event->reserved == 0) return;
    int64_t idle = memory_clamp((memory_sum)event->reserved - event->allocated);
    if (idle < 0) {
        memory_note(p->memory, HD_MEMORY_RESERVED_BELOW, event->time_ns, (uint64_t)-idle);
        idle = 0;
    }
    if (!state->reserved_seen) {
        state->reserved_first_ns = event->time_ns;
        pool->has_reserved = true;
    } else {
        state->idle_area += ((memory_sum)event->time_ns - state->idle_since_ns) * state->idle_bytes;
    }
    if (!state->reserved_seen || idle > pool->idle_max_bytes) {
        pool->idle_max_bytes = idle;
        pool->idle_max_ns = event->time_ns;
    }
    if (!state->reserved_seen || event->allocated > state->peak_allocated) {
        state->peak_allocated = event->allocated;
        pool->idle_at_peak_bytes = idle;
    }
    if (event->reserved > pool->reserved_peak_bytes) /* which that of segments may be already */
        pool->reserved_peak_bytes = event->reserved;
    state->reserved_seen = true;
    state->idle_since_ns = event->time_ns;
    state->idle_bytes = idle;
}

static void step_level(pairing *p, uint32_t index)
{
    hd_memory *m = p->memory;
    const hd_memory_event *event = &m->events[index];
    hd_memory_group *group = &m->groups[event->group];
    hd_memory_pool *pool = &m->pools[group->pool];
    pool_state *state = &p->pools[group->pool];
    int64_t level = pool->has_totals ? event->allocated : memory_clamp(state->live);
    if (!state->peaked || level > pool->peak_bytes) {
        pool->peak_bytes = level;
        pool->peak_ns = event->time_ns;
        pool->peak_event = index;
        pool->peak_live_bytes = memory_clamp(state->live);
        pool->peak_loose_bytes = memory_clamp(state->loose);
        state->peaked = true;
    }
    pool->final_bytes = level;
    pool->last_ns = event->time_ns;
    int64_t of_group = memory_clamp(p->group_live[event->group]);
    if (!p->group_peaked[event->group] || of_group > group->peak_bytes) {
        group->peak_bytes = of_group;
        group->peak_ns = event->time_ns;
        p->group_peaked[event->group] = 1;
    }
    step_reserved(p, pool, state, event);
}

static bool step(pairing *p, uint32_t index)
{
    hd_memory_event *event = &p->memory->events[index];
    bool fine = true;
    hd_memory_pool *pool = &p->memory->pools[p->memory->groups[event->group].pool];
    pool_state *state = &p->pools[p->memory->groups[event->group].pool];
    if (pool->allocations + pool->frees == 0) pool->first_ns = event->time_ns;
    if (!event->has_address)
        loose(p, event);
    else if (event->is_free)
        release(p, index);
    else
        fine = allocate(p, index);
    hd_memory_group *group = &p->memory->groups[event->group]; /* a paired free was counted for the group of its
                                                                  allocation */
    if (event->is_free) {
        pool->frees++;
        group->frees++;
    } else {
        pool->allocations++;
        group->allocations++;
        state->allocated += event->bytes;
    }
    step_level(p, index);
    return fine;
}

/* ---- the whole ---- */

/* Allocators of the CPU write totals that are always 0: those are ignored. */
static bool check_totals(hd_memory *m)
{
    bool *any = calloc(m->pool_count + 1, sizeof *any);
    if (!any) return false;
    for (size_t i = 0; i < m->event_count; i++)
        if (m->events[i].allocated != 0 || m->events[i].reserved > 0) any[m->groups[m->events[i].group].pool] = true;
    for (size_t i = 0; i < m->pool_count; i++)
        if (!any[i]) m->pools[i].has_totals = false;
    free(any);
    return true;
}

static void finish(pairing *p)
{
    hd_memory *m = p->memory;
    for (size_t i = 0; i < m->pool_count; i++) {
        hd_memory_pool *pool = &m->pools[i];
        const pool_state *state = &p->pools[i];
        memory_sum span = (memory_sum)state->idle_since_ns - state->reserved_first_ns;
        pool->allocated_bytes = clamp_count(state->allocated);
        pool->freed_bytes = clamp_count(state->freed);
        pool->replaced_bytes = clamp_count(state->replaced);
        pool->live_bytes = memory_clamp(state->live);
        pool->loose_bytes = memory_clamp(state->loose);
        pool->idle_mean_bytes = span > 0 ? (double)state->idle_area / (double)span : (double)state->idle_bytes;
    }
    for (size_t i = 0; i < m->group_count; i++) m->groups[i].live_bytes = memory_clamp(p->group_live[i]);
}

hd_status memory_pair(hd_memory *memory, uint64_t large, hd_error *err)
{
    pairing p = {.memory = memory, .large = large};
    p.pools = calloc(memory->pool_count + 1, sizeof *p.pools);
    p.group_live = calloc(memory->group_count + 1, sizeof *p.group_live);
    p.group_peaked = calloc(memory->group_count + 1, 1);
    bool fine = p.pools && p.group_live && p.group_peaked && check_totals(memory);
    for (size_t i = 0; i < memory->event_count && fine; i++) fine = step(&p, (uint32_t)i);
    if (fine) finish(&p);
    hd_large_slots_deinit(&p.live);
    free(p.pools);
    free(p.group_live);
    free(p.group_peaked);
    return fine ? HD_OK : HD_NOMEM(err);
}
