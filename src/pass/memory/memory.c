/* memory.c - allocations and frees of a trace: finds, sorts and pairs them, and adds stacks */
#include "heddle/analysis/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/options.h"
#include "base/sorted.h"
#include "model/progress.h"
#include "pass/memory/impl.h"
#include "trace/spill.h"
#include "trace/stacks/trace_stacks.h"

static const struct {
    const char *name, *meaning;
} anomalies[HD_MEMORY_ANOMALIES] = {
    [HD_MEMORY_FREE_UNKNOWN] = {"free-unknown", "freed, but allocated nowhere in the trace: it was there before"},
    [HD_MEMORY_REPLACED] = {"allocated-twice", "an address was allocated that was live: its free is missing"},
    [HD_MEMORY_SIZE_DIFFERS] = {"size-differs",
                                "a free has another size than its allocation; the size of the allocation counts"},
    [HD_MEMORY_NO_ADDRESS] = {"no-address", "no address: summed up, but paired with nothing"},
    [HD_MEMORY_UNREADABLE] = {"unreadable", "neither a size nor, for a free, an address: left out"},
    [HD_MEMORY_NO_TIME] = {"no-time", "no time: left out"},
    [HD_MEMORY_RESERVED_BELOW] = {"reserved-below", "the allocator says that it reserved less than it handed out"},
};

const char *hd_memory_anomaly_name(hd_memory_anomaly anomaly)
{
    return (unsigned)anomaly < HD_MEMORY_ANOMALIES ? anomalies[anomaly].name : "";
}

const char *hd_memory_anomaly_meaning(hd_memory_anomaly anomaly)
{
    return (unsigned)anomaly < HD_MEMORY_ANOMALIES ? anomalies[anomaly].meaning : "";
}

void memory_note(hd_memory *memory, hd_memory_anomaly anomaly, int64_t time_ns, uint64_t bytes)
{
    if (memory->anomalies[anomaly]++ == 0) memory->anomaly_first_ns[anomaly] = time_ns;
    if (__builtin_add_overflow(memory->anomaly_bytes[anomaly], bytes, &memory->anomaly_bytes[anomaly]))
        memory->anomaly_bytes[anomaly] = UINT64_MAX;
}

/* ---- names ---- */

const char *hd_memory_pool_name(char *out, const hd_trace *trace, const hd_memory_pool *pool)
{
    static const char *const types[] = {"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                        "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
                                        "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuse1"};
    hd_string allocator = hd_trace_string(trace, pool->allocator);
    char type[32];
    if (pool->allocator != HD_STRING_NONE) {
        snprintf(out, HD_MEMORY_NAME_BYTES, "%.*s", (int)(allocator.size < 90 ? allocator.size : 90), allocator.data);
        return out;
    }
    if (pool->device_type == HD_NO_NUMBER)
        snprintf(type, sizeof type, "device");
    else if (pool->device_type >= 0 && (size_t)pool->device_type < sizeof types / sizeof *types)
        snprintf(type, sizeof type, "%s", types[pool->device_type]);
    else
        snprintf(type, sizeof type, "type %lld", (long long)pool->device_type);
    if (pool->device == HD_NO_NUMBER || pool->device < 0)
        snprintf(out, HD_MEMORY_NAME_BYTES, "%s", type);
    else
        snprintf(out, HD_MEMORY_NAME_BYTES, "%s:%lld", type, (long long)pool->device);
    return out;
}

/* ---- order ---- */

typedef struct sort_key {
    int64_t time_ns;
    uint32_t event;
} sort_key;

static int by_time(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static bool in_order(const hd_memory *m)
{
    for (size_t i = 1; i < m->event_count; i++)
        if (m->events[i].time_ns < m->events[i - 1].time_ns) return false;
    return true;
}

/* Events and their places, by time, then by the order of the input. */
static hd_status sort_events(memory_find *find, hd_error *err)
{
    hd_memory *m = find->memory;
    uint64_t large = hd_trace_large_bytes(find->trace);
    if (in_order(m)) return HD_OK;
    sort_key *keys = hd_large_new(m->event_count, sizeof *keys, large);
    hd_memory_event *events = hd_large_new(m->event_count, sizeof *events, large);
    memory_place *places = hd_large_new(m->event_count, sizeof *places, large);
    bool fine = keys && events && places;
    for (size_t i = 0; i < m->event_count && fine; i++) keys[i] = (sort_key){m->events[i].time_ns, (uint32_t)i};
    if (fine) hd_sort(keys, m->event_count, sizeof *keys, by_time);
    for (size_t i = 0; i < m->event_count && fine; i++) {
        events[i] = m->events[keys[i].event];
        places[i] = find->places[keys[i].event];
    }
    if (fine) {
        hd_large_free(m->events);
        hd_large_free(find->places);
        m->events = events;
        find->places = places;
    } else {
        hd_large_free(events);
        hd_large_free(places);
    }
    hd_large_free(keys);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the whole ---- */

/* How much of the time is over after each phase, in percent, as measured on a trace of four million events. */
enum { GATHER_DONE = 45, STACKS_DONE = 97 };

static void say_done(const memory_find *find, unsigned percent)
{
    hd_say_percent(find->options->progress, find->options->progress_user, percent);
}

static hd_status find_all(memory_find *find, hd_error *err)
{
    HD_TRY(hd_stacks_new(&find->memory->stacks, err));
    hd_stacks_set_large(find->memory->stacks, hd_trace_large_bytes(find->trace));
    if (hd_trace_metadata_find(find->trace, "stackFrames").size)
        HD_TRY(hd_trace_stacks_new(&find->given, find->trace, err));
    HD_TRY(memory_gather(find, err));
    say_done(find, GATHER_DONE);
    HD_TRY(sort_events(find, err));
    HD_TRY(memory_find_stacks(find, err));
    say_done(find, STACKS_DONE);
    return memory_pair(find->memory, hd_trace_large_bytes(find->trace), err);
}

hd_status hd_memory_new(hd_memory **out, const hd_trace *trace, const hd_memory_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_memory_options, options, err);
    memory_find find = {.memory = calloc(1, sizeof *find.memory), .trace = trace, .options = options};
    if (!find.memory) return HD_NOMEM(err);
    find.memory->large_bytes = hd_trace_large_bytes(trace);
    for (size_t i = 0; i < HD_MEMORY_ANOMALIES; i++) find.memory->anomaly_first_ns[i] = HD_NO_TIME;
    hd_status status = find_all(&find, err);
    hd_trace_stacks_free(find.given);
    hd_large_free(find.places);
    hd_slots_deinit(&find.pool_slots);
    hd_map_deinit(&find.groups);
    if (status == HD_OK)
        *out = find.memory;
    else
        hd_memory_free(find.memory);
    return status;
}

void hd_memory_free(hd_memory *memory)
{
    if (!memory) return;
    hd_large_free(memory->events);
    free(memory->pools);
    free(memory->groups);
    hd_stacks_free(memory->stacks);
    free(memory);
}
