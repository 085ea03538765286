/* add_events.c - samples of which event are counted: weights of cycles and of instructions make no sum
 *
 * A sample's name is its event. Text of perf script tells one for each sample, and so does a store made from it; of
 * other files, names are taken for events where samples with a weight or a stack have several.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "flame/add.h"
#include "trace/stacks/trace_stacks.h"

enum { EVENTS_SHOWN = 20 };

typedef struct events {
    uint64_t *counts; /* by string of the trace */
    uint32_t *list;   /* in the order of their first samples, as many as are shown */
    size_t count;
} events;

/* stacks NULL: all samples are counted, else those that have a weight or a stack. */
static void count_events(events *all, const flame_adder *a, const hd_trace_stacks *stacks)
{
    uint32_t weight = hd_trace_find_string(a->trace, "weight", 6);
    hd_value value;
    for (size_t b = 0; b < hd_trace_block_count(a->trace, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_trace_block_at(a->trace, HD_KIND_SAMPLE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (stacks && hd_trace_stacks_of(stacks, &event) == HD_STACK_NONE &&
                !hd_event_arg(&value, a->trace, &event, weight))
                continue;
            if (all->counts[event.name]++) continue;
            if (all->count < EVENTS_SHOWN) all->list[all->count] = event.name;
            all->count++;
        }
    }
}

static void put_list(hd_bytes *out, const events *all, const hd_trace *trace)
{
    char text[64];
    for (size_t i = 0; i < all->count && i < EVENTS_SHOWN; i++) {
        hd_string name = hd_trace_string(trace, all->list[i]);
        if (i) hd_bytes_put(out, ", ", 2);
        hd_bytes_put(out, name.data, name.size);
        snprintf(text, sizeof text, " (%" PRIu64 ")", all->counts[all->list[i]]);
        hd_bytes_put(out, text, strlen(text));
    }
    if (all->count > EVENTS_SHOWN) hd_bytes_put(out, " …", strlen(" …"));
    hd_bytes_put(out, "", 1);
}

static hd_status choose(uint32_t *out, flame_adder *a, const events *all, const char *wanted)
{
    hd_flame *flame = a->flame;
    hd_bytes list = {0};
    put_list(&list, all, a->trace);
    if (list.failed) {
        hd_bytes_deinit(&list);
        return HD_NOMEM(a->err);
    }
    *out = wanted ? hd_trace_find_string(a->trace, wanted, strlen(wanted)) : all->list[0];
    bool found = *out != HD_NONE && all->counts[*out] > 0;
    hd_status status = HD_OK;
    if (!found)
        status =
            hd_error_set(a->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no sample is of the event %s; there are: %s",
                         wanted, all->count ? (char *)list.data : "none");
    if (found && !flame->event) {
        hd_string name = hd_trace_string(a->trace, *out);
        if (!(flame->event = strndup(name.data, name.size))) status = HD_NOMEM(a->err);
    }
    if (found && all->count > 1 && !flame->events && !(flame->events = strdup((char *)list.data)))
        status = HD_NOMEM(a->err);
    hd_bytes_deinit(&list);
    return status;
}

hd_status flame_choose_event(uint32_t *out, flame_adder *a, const hd_trace_stacks *stacks)
{
    const char *wanted = a->options->event;
    bool perf = hd_trace_is_made_from(a->trace, "perf-script");
    uint32_t first[EVENTS_SHOWN];
    events all = {.list = first};
    *out = HD_NONE;
    all.counts = calloc((size_t)hd_trace_string_count(a->trace) + 1, sizeof *all.counts);
    if (!all.counts) return HD_NOMEM(a->err);
    count_events(&all, a, wanted || perf ? NULL : stacks);
    bool chosen = wanted || (perf && all.count) || all.count > 1;
    hd_status status = chosen ? choose(out, a, &all, wanted ? wanted : a->flame->event) : HD_OK;
    free(all.counts);
    return status;
}
