/* stacks.c - who allocated: the stack of the event itself, or the open slices of its thread
 *
 * Events without a stack of their own are sorted by lane and time; the slices of each lane come in start order
 * (model/contexts/contexts.h), and both lists are walked together. An event belongs to the open slice that started
 * last; a slice that begins or ends at exactly the event's time counts as open.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/contexts/contexts.h"
#include "pass/memory/impl.h"
#include "trace/event.h"
#include "trace/spill.h"

typedef struct waiting {
    int64_t time_ns;
    uint32_t lane, event;
} waiting;

typedef struct open_slice {
    int64_t end_ns;
    uint32_t node;
} open_slice;

typedef struct sweep {
    hd_memory *memory;
    waiting *list;
    size_t count, next; /* the first one without a node */
    uint32_t lane;
    open_slice *open;
    size_t open_count, open_capacity;
} sweep;

/* ---- stacks of events themselves ---- */

/* Copies the trace's tree into ours. A caller's node is smaller than its callees', so one pass suffices. */
static hd_status take_own(memory_find *find, hd_error *err)
{
    const hd_stacks *from = hd_trace_stacks_tree(find->given);
    hd_memory *m = find->memory;
    uint32_t count = hd_stacks_count(from), names = hd_stacks_name_count(from);
    uint32_t *map = hd_large_new(count, sizeof *map, hd_trace_large_bytes(find->trace));
    uint32_t *name_map = malloc(((size_t)names + 1) * sizeof *name_map);
    bool fine = map && name_map;
    for (uint32_t i = 0; i < names && fine; i++) {
        hd_string text = hd_stacks_text(from, i);
        name_map[i] = hd_stacks_name(m->stacks, text.data, text.size);
        fine = name_map[i] != HD_NONE;
    }
    if (fine) map[0] = HD_STACK_NONE;
    for (uint32_t node = 1; node < count && fine; node++) {
        hd_frame frame = hd_stacks_at(from, node);
        map[node] = hd_stacks_push(m->stacks, map[frame.caller], name_map[frame.name], frame.kind);
        fine = map[node] != HD_NONE;
    }
    for (size_t i = 0; i < m->event_count && fine; i++)
        if (find->places[i].own != HD_STACK_NONE && find->places[i].own < count)
            m->events[i].node = map[find->places[i].own];
    hd_large_free(map);
    free(name_map);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- slices around events ---- */

static int by_lane(const void *a, const void *b)
{
    const waiting *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event); /* events are in the order of time */
}

/* Events before a time get the currently open slices. */
static void settle(sweep *s, int64_t until_ns, bool all)
{
    while (s->next < s->count && s->list[s->next].lane == s->lane && (all || s->list[s->next].time_ns < until_ns)) {
        const waiting *event = &s->list[s->next++];
        while (s->open_count && s->open[s->open_count - 1].end_ns < event->time_ns) s->open_count--;
        if (s->open_count) s->memory->events[event->event].node = s->open[s->open_count - 1].node;
    }
}

static void begin_lane(sweep *s, uint32_t lane)
{
    if (s->lane != HD_NONE) settle(s, 0, true);
    s->lane = lane;
    s->open_count = 0;
    while (s->next < s->count && s->list[s->next].lane < lane) s->next++;
}

static hd_status take_contexts(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    sweep *s = user;
    for (size_t i = 0; i < count; i++) {
        const hd_context *context = &contexts[i];
        open_slice slice = {.node = context->node, .end_ns = hd_end_or_last(context->start_ns, context->duration_ns)};
        if (context->track != s->lane) begin_lane(s, context->track);
        settle(s, context->start_ns, false);
        /* Slices that ended before this one began are no longer needed. */
        while (s->open_count && s->open[s->open_count - 1].end_ns < context->start_ns) s->open_count--;
        if (!hd_grow((void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open)) return HD_NOMEM(err);
        s->open[s->open_count++] = slice;
    }
    return HD_OK;
}

static hd_status look_around(memory_find *find, hd_error *err)
{
    hd_memory *m = find->memory;
    sweep s = {.memory = m, .lane = HD_NONE};
    s.list = hd_large_new(m->event_count, sizeof *s.list, hd_trace_large_bytes(find->trace));
    if (!s.list) return HD_NOMEM(err);
    bool sorted = true;
    for (size_t i = 0; i < m->event_count; i++) {
        if (m->events[i].node != HD_STACK_NONE) continue;
        s.list[s.count] = (waiting){m->events[i].time_ns, find->places[i].lane, (uint32_t)i};
        sorted = sorted && (!s.count || s.list[s.count - 1].lane <= s.list[s.count].lane);
        s.count++;
    }
    sorted = sorted || hd_large_sort(s.list, s.count, sizeof *s.list, by_lane, hd_trace_large_bytes(find->trace));
    const hd_context_options options = {.threads = find->options->threads};
    hd_status status = sorted ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && s.count) status = hd_contexts_walk(m->stacks, find->trace, &options, take_contexts, &s, err);
    if (status == HD_OK && s.lane != HD_NONE) settle(&s, 0, true);
    hd_large_free(s.list);
    free(s.open);
    return status;
}

hd_status memory_find_stacks(memory_find *find, hd_error *err)
{
    if (find->memory->event_count == 0) return HD_OK;
    if (find->any_own) HD_TRY(take_own(find, err));
    return find->options->no_stacks ? HD_OK : look_around(find, err);
}
