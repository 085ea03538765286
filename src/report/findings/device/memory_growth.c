/* memory_growth.c - memory that each step allocates and nothing frees: found behind the others, as memory is */
#include <stdio.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "heddle/analysis/memory.h"
#include "report/findings/finding.h"

enum { LEAST_STEPS = 4, LEAST_BYTES = 1 << 20 };

/* Of steps [first, end) of one process, without the first and the last: one-time allocations happen in the first, and
 * those of the last are freed in the step after it. */
typedef struct series {
    uint32_t first, end;
    uint64_t *kept; /* bytes, by step of the scope */
} series;

static void add_event(series *s, const findings *f, const hd_memory_event *event)
{
    size_t low = s->first, high = s->end;
    HD_PARTITION_POINT(low, high, at, f->scope.steps[at].start <= event->time_ns);
    if (low > s->first && event->time_ns < f->scope.steps[low - 1].end) s->kept[low - 1] += event->bytes;
}

static hd_status add_growth(findings *f, const hd_memory *memory, uint32_t pool, const series *s, hd_error *err)
{
    uint64_t least = UINT64_MAX;
    char device[HD_MEMORY_NAME_BYTES], each[HD_VALUE_TEXT_BYTES];
    for (uint32_t i = s->first + 1; i + 1 < s->end; i++)
        if (s->kept[i] < least) least = s->kept[i];
    if (least < LEAST_BYTES) return HD_OK;
    finding *of = findings_add(f, &finding_memory_growth);
    if (!of) return HD_NOMEM(err);
    of->reason = "memory is no time; what grows reaches its limit";
    of->events = s->end - s->first - 2;
    for (uint32_t d = 0; d < f->scope.device_count; d++)
        if (f->scope.devices[d].device == memory->pools[pool].device) of->device = d;
    snprintf(of->text, sizeof of->text,
             "Each of %llu steps allocates %s or more on %s that nothing frees until the end.",
             (unsigned long long)of->events, hd_text_bytes(each, least),
             hd_memory_pool_name(device, f->scope.trace, &memory->pools[pool]));
    return HD_OK;
}

static hd_status find_pool(findings *f, const hd_memory *memory, uint32_t pool, series *s, hd_error *err)
{
    for (uint32_t i = s->first; i < s->end; i++) s->kept[i] = 0;
    for (size_t i = 0; i < memory->event_count; i++) {
        const hd_memory_event *event = &memory->events[i];
        if (!event->is_free && event->has_address && event->end == HD_NONE && memory->groups[event->group].pool == pool)
            add_event(s, f, event);
    }
    return add_growth(f, memory, pool, s, err);
}

hd_status findings_add_growth(findings *f, const hd_memory *memory, hd_error *err)
{
    const gpu_scope *s = &f->scope;
    series of = {.kept = calloc((size_t)s->step_count + 1, sizeof *of.kept)};
    hd_status status = of.kept ? HD_OK : HD_NOMEM(err);
    for (of.first = 0; status == HD_OK && of.first < s->step_count; of.first = of.end) {
        const gpu_step *first = &s->steps[of.first];
        for (of.end = of.first + 1; of.end < s->step_count && s->steps[of.end].rank == first->rank &&
                                    s->steps[of.end].process == first->process;)
            of.end++;
        if (of.end - of.first < LEAST_STEPS) continue;
        for (uint32_t p = 0; status == HD_OK && p < memory->pool_count; p++)
            if (memory->pools[p].device_type > 0 &&
                (first->process == HD_NONE || first->process == memory->pools[p].process))
                status = find_pool(f, memory, p, &of, err);
    }
    free(of.kept);
    return status;
}

const finding_rule finding_memory_growth = {
    .about.code = "memory-growth",
    .about.severity = "warning",
    .about.meaning = "each step allocates memory of the GPU that nothing frees",
    .about.advice =
        "Keep no graph: losses.append(loss.item()) or loss.detach(), not loss; clear lists and caches; heddle report "
        "memory --table leaks names where the memory was allocated (profile_memory=True, with_stack=True).",
};
