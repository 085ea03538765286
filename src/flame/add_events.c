/* add_events.c - chooses the event whose samples are counted, and the unit of its weights: cycles and instructions
 * cannot be summed
 *
 * A sample's name is its event. Text of perf script has one for each sample, and so does a store made from it; in other
 * files, names are taken for events if samples with a weight or a stack have several.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json/json.h"
#include "flame/add.h"
#include "trace/stacks/trace_stacks.h"
#include "trace/text.h"

enum { EVENTS_SHOWN = 20 };

typedef struct events {
    uint64_t *counts; /* by string of the trace */
    uint32_t *list;   /* in order of their first samples, as many as are shown */
    size_t count;
} events;

/* stacks NULL: all samples are counted, else those with a weight or a stack. */
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

/* Perf's first event with samples: perf.data lists its events (the key `perf`); else that of the first sample. */
static uint32_t first_event(const flame_adder *a, const events *all)
{
    const char *list;
    size_t size;
    hd_string perf = hd_trace_metadata_find(a->trace, "perf");
    if (!perf.size || *perf.data != '{' || !hd_json_find(&list, &size, perf.data, "events") || *list != '[')
        return all->list[0];
    for (const char *at = list; (at = memchr(at, '"', (size_t)(list + size - at)));) {
        hd_string name = {at + 1, 0};
        const char *end = hd_json_skip_value(at);
        name.size = (size_t)(end - at) - 2;
        uint32_t id = hd_trace_find_string(a->trace, name.data, name.size);
        if (id != HD_NONE && all->counts[id]) return id;
        at = end;
    }
    return all->list[0];
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
    *out = wanted ? hd_trace_find_string(a->trace, wanted, strlen(wanted)) : first_event(a, all);
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

/* ---- units ---- */

/* The event without perf's modifiers and its PMU: "cpu_core/cycles/u" and "cycles:ppp" are "cycles". */
static hd_string plain_event(hd_string name)
{
    const char *slash = memchr(name.data, '/', name.size);
    if (slash && slash + 1 < name.data + name.size && slash[1] != 'u')
        name = (hd_string){slash + 1, name.size - (size_t)(slash + 1 - name.data)};
    size_t size = 0;
    while (size < name.size && !memchr(":/,", name.data[size], 3)) size++;
    return (hd_string){name.data, size};
}

/* Readers of pprof, whose values have units, store the unit as the category. */
const char *flame_unit_of_sample(const hd_trace *trace, const hd_event *sample)
{
    static const struct {
        const char *text, *unit;
    } categories[] = {{"nanoseconds", "ns"}, {"bytes", "bytes"}}, names[] = {{"samples", "samples"},
                                                                             {"stack", "samples"},
                                                                             {"cpu-clock", "ns"},
                                                                             {"task-clock", "ns"},
                                                                             {"time", "ns"},
                                                                             {"bytes", "bytes"},
                                                                             {"cycles", "cycles"},
                                                                             {"cpu-cycles", "cycles"},
                                                                             {"ref-cycles", "cycles"},
                                                                             {"bus-cycles", "cycles"},
                                                                             {"instructions", "instructions"}};
    hd_string category = hd_trace_string(trace, sample->category),
              event = plain_event(hd_trace_string(trace, sample->name));
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (hd_string_is(category, categories[i].text)) return categories[i].unit;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (hd_string_is(event, names[i].text)) return names[i].unit;
    }
    return "events";
}

hd_status flame_set_unit(flame_adder *a, const char *unit)
{
    if (*a->flame->unit && strcmp(a->flame->unit, unit) != 0)
        return hd_error_set(a->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "weights in %s cannot be added to a flame graph in %s", unit, a->flame->unit);
    a->flame->unit = unit;
    return HD_OK;
}
