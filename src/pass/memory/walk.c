/* walk.c - live bytes after each event, in order of time */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "pass/memory/impl.h"

typedef struct walk {
    memory_sum *pools, *groups; /* live */
    uint32_t *replaces;         /* by event: the allocation that it replaced, HD_NONE: none */
} walk;

static void change(walk *w, const hd_memory *m, uint32_t group, memory_sum bytes)
{
    w->groups[group] += bytes;
    w->pools[m->groups[group].pool] += bytes;
}

static void step(walk *w, const hd_memory *m, uint32_t index, hd_memory_step *out)
{
    const hd_memory_event *event = &m->events[index];
    *out = (hd_memory_step){.event = event, .group = event->group, .replaced_group = HD_NONE};
    if (w->replaces[index] != HD_NONE) {
        const hd_memory_event *before = &m->events[w->replaces[index]];
        change(w, m, before->group, -(memory_sum)before->bytes);
        if (before->group != event->group) out->replaced_group = before->group;
    }
    if (!event->is_free)
        change(w, m, event->group, event->bytes);
    else if (!event->has_address)
        change(w, m, event->group, -(memory_sum)event->bytes);
    else if (event->end != HD_NONE)
        change(w, m, event->group, -(memory_sum)m->events[event->end].bytes);
    out->live_bytes = memory_clamp(w->pools[m->groups[event->group].pool]);
    out->group_live_bytes = memory_clamp(w->groups[event->group]);
    if (out->replaced_group != HD_NONE) out->replaced_live_bytes = memory_clamp(w->groups[out->replaced_group]);
}

hd_status hd_memory_walk(const hd_memory *memory, hd_memory_sink *sink, void *user, hd_error *err)
{
    walk w = {.pools = calloc(memory->pool_count + 1, sizeof *w.pools),
              .groups = calloc(memory->group_count + 1, sizeof *w.groups),
              .replaces = hd_large_new(memory->event_count + 1, sizeof *w.replaces, memory->large_bytes)};
    hd_status status = w.pools && w.groups && w.replaces ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) memset(w.replaces, 0xff, memory->event_count * sizeof *w.replaces);
    for (uint32_t i = 0; i < memory->event_count && status == HD_OK; i++)
        if (memory->events[i].is_replaced) w.replaces[memory->events[i].end] = i;
    for (uint32_t i = 0; i < memory->event_count && status == HD_OK; i++) {
        hd_memory_step out;
        step(&w, memory, i, &out);
        status = sink(user, &out, err);
    }
    free(w.pools);
    free(w.groups);
    hd_large_free(w.replaces);
    return status;
}
