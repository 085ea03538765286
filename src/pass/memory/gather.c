/* gather.c - extracts memory events from a trace, by format, and finds their pools
 *
 * Kineto   instants "[memory]": Addr, Bytes (below 0: freed), Device Type, Device Id, Total Allocated, Total Reserved.
 *          Captures write the same; a free of unknown size has no Bytes.
 * CUPTI    instants of category "gpu_memory", named "Allocate…" or "Release…": address, bytes, device, memoryKind
 * TF       slices of category "memory", named "allocation" or "deallocation": address, allocationBytes, regionType;
 *          the track is the allocator, and tfOpName is used as the stack
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "pass/memory/impl.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

enum { CUDA = 1 }; /* as PyTorch numbers kinds of devices */

typedef struct memory_keys {
    uint32_t memory, gpu_memory, tf_memory; /* the name, and two categories */
    uint32_t allocation, deallocation;
    uint32_t plain[3]; /* categories without a meaning */
    uint32_t address, bytes, type, device, allocated, reserved;
    uint32_t segment[2]; /* names of events that get memory of the device */
    uint32_t cupti_address, cupti_bytes, cupti_device, cupti_kind;
    uint32_t tf_bytes, tf_region, tf_op;
} memory_keys;

static void find_keys(memory_keys *keys, const hd_trace *trace)
{
    const struct {
        uint32_t *id;
        const char *text;
    } list[] = {{&keys->memory, "[memory]"},
                {&keys->gpu_memory, "gpu_memory"},
                {&keys->tf_memory, "memory"},
                {&keys->allocation, "allocation"},
                {&keys->deallocation, "deallocation"},
                {&keys->plain[0], "cpu_instant_event"},
                {&keys->plain[1], "memory"},
                {&keys->plain[2], "gpu_memory"},
                {&keys->address, "Addr"},
                {&keys->bytes, "Bytes"},
                {&keys->type, "Device Type"},
                {&keys->device, "Device Id"},
                {&keys->allocated, "Total Allocated"},
                {&keys->reserved, "Total Reserved"},
                {&keys->segment[0], "segment_alloc"},
                {&keys->segment[1], "segment_map"},
                {&keys->cupti_address, "address"},
                {&keys->cupti_bytes, "bytes"},
                {&keys->cupti_device, "device"},
                {&keys->cupti_kind, "memoryKind"},
                {&keys->tf_bytes, "allocationBytes"},
                {&keys->tf_region, "regionType"},
                {&keys->tf_op, "tfOpName"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        *list[i].id = hd_trace_find_string(trace, list[i].text, strlen(list[i].text));
}

/* ---- values ---- */

static bool int_of(int64_t *out, const hd_trace *trace, const hd_event *event, uint32_t key)
{
    return hd_event_arg_int(out, trace, event, key);
}

static int64_t number_of(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    int64_t value;
    return int_of(&value, trace, event, key) ? value : HD_NO_NUMBER;
}

static uint32_t text_of(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    hd_value value;
    bool found = hd_event_arg(&value, trace, event, key) && value.type == HD_ARG_STRING;
    return found ? (uint32_t)value.bits : HD_STRING_NONE;
}

/* ---- what an event says ---- */

typedef struct said {
    hd_memory_event event;
    hd_memory_pool pool;    /* its names only */
    uint32_t category, op;  /* string ids */
    bool has_bytes, is_bad; /* bad: the size is not a number */
} said;

static void take_bytes(said *out, int64_t bytes, bool known)
{
    out->has_bytes = known;
    out->event.bytes = !known ? 0 : bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
}

static bool is_plain(const memory_keys *keys, uint32_t category)
{
    return category == HD_STRING_NONE || category == keys->plain[0] || category == keys->plain[1] ||
           category == keys->plain[2];
}

static void say_kineto(said *out, const hd_trace *trace, const memory_keys *keys, const hd_event *event)
{
    int64_t bytes = 0;
    hd_value value = {.type = HD_ARG_NULL};
    bool known = int_of(&bytes, trace, event, keys->bytes);
    if (!known && hd_event_arg(&value, trace, event, keys->bytes)) out->is_bad = value.type != HD_ARG_NULL;
    take_bytes(out, bytes, known);
    out->event.is_free = !known || bytes < 0;
    out->event.has_address = hd_event_arg_address(&out->event.address, trace, event, keys->address);
    out->event.allocated = number_of(trace, event, keys->allocated);
    out->event.reserved = number_of(trace, event, keys->reserved);
    out->pool.device_type = number_of(trace, event, keys->type);
    out->pool.device = number_of(trace, event, keys->device);
    out->category = is_plain(keys, event->category) ? HD_STRING_NONE : event->category;
}

static bool begins(hd_string text, const char *word)
{
    return text.size >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

static bool say_cupti(said *out, const hd_trace *trace, const memory_keys *keys, const hd_event *event)
{
    int64_t bytes = 0;
    hd_string name = hd_trace_string(trace, event->name);
    bool released = begins(name, "Release") || begins(name, "Free");
    if (!released && !begins(name, "Alloc")) return false;
    bool known = int_of(&bytes, trace, event, keys->cupti_bytes);
    take_bytes(out, bytes, known && bytes >= 0);
    out->event.is_free = released;
    out->event.has_address = hd_event_arg_address(&out->event.address, trace, event, keys->cupti_address);
    out->pool.device_type = CUDA;
    out->pool.device = number_of(trace, event, keys->cupti_device);
    out->category = text_of(trace, event, keys->cupti_kind);
    return true;
}

static bool say_tf(said *out, const hd_trace *trace, const memory_keys *keys, const hd_event *event)
{
    int64_t bytes = 0;
    if (event->name != keys->allocation && event->name != keys->deallocation) return false;
    bool known = int_of(&bytes, trace, event, keys->tf_bytes);
    out->event.has_address = hd_event_arg_address(&out->event.address, trace, event, keys->cupti_address);
    if (!known && !out->event.has_address) return false; /* a slice of another meaning */
    take_bytes(out, bytes, known && bytes >= 0);
    out->event.is_free = event->name == keys->deallocation;
    out->pool.allocator = hd_trace_track_at(trace, event->track)->name;
    out->category = text_of(trace, event, keys->tf_region);
    out->op = text_of(trace, event, keys->tf_op);
    return true;
}

/* ---- pools and groups ---- */

static bool same_pool(const hd_memory_pool *a, const hd_memory_pool *b)
{
    return a->process == b->process && a->device_type == b->device_type && a->device == b->device &&
           a->allocator == b->allocator;
}

static uint64_t hash_pool(const hd_memory_pool *named)
{
    const uint64_t words[] = {named->process, (uint64_t)named->device_type, (uint64_t)named->device, named->allocator};
    return hd_hash(words, sizeof words);
}

/* HD_SLOTS_NONE: no known pool. */
static uint32_t known_pool(const memory_find *find, const hd_memory_pool *named)
{
    uint32_t at;
    uint64_t hash = hash_pool(named);
    HD_SLOTS_FIND(at, &find->pool_slots, hash, same_pool(&find->memory->pools[at], named));
    return at;
}

/* HD_NONE: no memory. */
static uint32_t pool_of(memory_find *find, const hd_memory_pool *named)
{
    hd_memory *m = find->memory;
    uint64_t hash = hash_pool(named);
    uint32_t at = known_pool(find, named);
    if (at != HD_SLOTS_NONE) return at;
    if (!hd_grow((void **)&m->pools, &find->pool_capacity, m->pool_count, sizeof *m->pools) ||
        !hd_slots_add(&find->pool_slots, hash, (uint32_t)m->pool_count))
        return HD_NONE;
    m->pools[m->pool_count] = *named;
    m->pools[m->pool_count].has_totals = true; /* until an event says no */
    return (uint32_t)m->pool_count++;
}

static uint32_t group_of(memory_find *find, uint32_t pool, uint32_t category)
{
    hd_memory *m = find->memory;
    hd_map_entry *entry = hd_map_at(&find->groups, pool, category);
    if (!entry) return HD_NONE;
    if (find->groups.count == m->group_count) return entry->value;
    if (!hd_grow((void **)&m->groups, &find->group_capacity, m->group_count, sizeof *m->groups)) return HD_NONE;
    m->groups[m->group_count] = (hd_memory_group){.pool = pool, .category = category};
    return entry->value = (uint32_t)m->group_count++;
}

/* ---- gathering ---- */

static uint32_t process_of(const hd_trace *trace, uint32_t at)
{
    const hd_track *track = hd_trace_track_at(trace, at);
    return hd_trace_track_at(trace, track->parent == HD_NONE ? at : track->parent)->same_as;
}

static hd_status add_event(memory_find *find, said *what, const hd_event *event, hd_error *err)
{
    hd_memory *m = find->memory;
    uint64_t large = hd_trace_large_bytes(find->trace);
    m->found++;
    if (what->is_bad || (!what->has_bytes && (!what->event.is_free || !what->event.has_address))) {
        memory_note(m, HD_MEMORY_UNREADABLE, event->start_ns, 0);
        return HD_OK;
    }
    if (event->start_ns == HD_NO_TIME) {
        memory_note(m, HD_MEMORY_NO_TIME, HD_NO_TIME, what->event.bytes);
        return HD_OK;
    }
    if (m->event_count == HD_NONE - 1)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 events of memory");
    const hd_track *track = hd_trace_track_at(find->trace, event->track);
    what->pool.process = process_of(find->trace, event->track);
    uint32_t pool = pool_of(find, &what->pool);
    uint32_t group = pool == HD_NONE ? HD_NONE : group_of(find, pool, what->category);
    if (group == HD_NONE ||
        !hd_large_grow((void **)&m->events, &find->event_capacity, m->event_count, sizeof *m->events, large) ||
        !hd_large_grow((void **)&find->places, &find->place_capacity, m->event_count, sizeof *find->places, large))
        return HD_NOMEM(err);
    if (what->event.allocated == HD_NO_NUMBER) m->pools[pool].has_totals = false;
    what->event.time_ns = event->start_ns;
    what->event.group = group;
    what->event.end = HD_NONE;
    uint32_t own = find->given ? hd_trace_stacks_of(find->given, event) : HD_STACK_NONE;
    find->any_own = find->any_own || own != HD_STACK_NONE;
    /* An activity of TensorFlow is a slice itself, which must not become its own stack. */
    uint32_t lane = event->kind == HD_KIND_SLICE ? HD_NONE : track->same_as;
    find->places[m->event_count] = (memory_place){.lane = lane, .own = own};
    if (what->op != HD_STRING_NONE) {
        hd_string op = hd_trace_string(find->trace, what->op);
        uint32_t name = hd_stacks_name(m->stacks, op.data, op.size);
        what->event.node = hd_stacks_push(m->stacks, HD_STACK_NONE, name, HD_FRAME_OP);
        if (what->event.node == HD_NONE) return HD_NOMEM(err);
    }
    m->events[m->event_count++] = what->event;
    return HD_OK;
}

static hd_status gather_row(memory_find *find, const memory_keys *keys, const hd_block *block, uint32_t row,
                            hd_error *err)
{
    hd_event event;
    said what = {.event = {.allocated = HD_NO_NUMBER, .reserved = HD_NO_NUMBER},
                 .pool = {.device_type = HD_NO_NUMBER, .device = HD_NO_NUMBER}};
    hd_block_event(&event, block, row);
    if (event.track >= hd_trace_track_count(find->trace)) return HD_OK;
    if (block->kind == HD_KIND_SLICE) {
        if (!say_tf(&what, find->trace, keys, &event)) return HD_OK;
    } else if (event.name == keys->memory) {
        say_kineto(&what, find->trace, keys, &event);
    } else if (!say_cupti(&what, find->trace, keys, &event)) {
        return HD_OK;
    }
    return add_event(find, &what, &event, err);
}

/* Rows whose column has one of two strings; HD_NONE is none. */
static hd_status gather_kind(memory_find *find, const memory_keys *keys, hd_kind kind, hd_error *err)
{
    hd_status status = HD_OK;
    uint32_t name = kind == HD_KIND_INSTANT ? keys->memory : HD_NONE;
    uint32_t category = kind == HD_KIND_INSTANT ? keys->gpu_memory : keys->tf_memory;
    if (kind == HD_KIND_SLICE && keys->allocation == HD_NONE && keys->deallocation == HD_NONE) return HD_OK;
    if (name == HD_NONE && category == HD_NONE) return HD_OK;
    for (size_t b = 0; b < hd_trace_block_count(find->trace, kind) && status == HD_OK; b++) {
        const hd_block *block = hd_trace_block_at(find->trace, kind, b);
        const hd_column *names = &block->columns[HD_COL_NAME], *categories = &block->columns[HD_COL_CATEGORY];
        for (uint32_t i = 0; i < block->row_count && status == HD_OK; i++) {
            if ((uint32_t)hd_column_at(names, i) == name || (uint32_t)hd_column_at(categories, i) == category)
                status = gather_row(find, keys, block, i, err);
        }
        hd_trace_release(find->trace, block);
    }
    return status;
}

/* Updates the pool's peak of reserved bytes by a segment, which may be released before the next allocation. */
static void take_segment(memory_find *find, const memory_keys *keys, const hd_block *block, uint32_t row)
{
    hd_event event;
    said what = {0};
    hd_block_event(&event, block, row);
    if (event.track >= hd_trace_track_count(find->trace)) return;
    say_kineto(&what, find->trace, keys, &event);
    if (what.event.reserved == HD_NO_NUMBER) return;
    what.pool.process = process_of(find->trace, event.track);
    uint32_t pool = known_pool(find, &what.pool);
    if (pool == HD_SLOTS_NONE) return;
    int64_t *peak = &find->memory->pools[pool].reserved_peak_bytes;
    if (what.event.reserved > *peak) *peak = what.event.reserved;
}

static void take_segments(memory_find *find, const memory_keys *keys)
{
    if (keys->segment[0] == HD_NONE && keys->segment[1] == HD_NONE) return;
    for (size_t b = 0; b < hd_trace_block_count(find->trace, HD_KIND_INSTANT); b++) {
        const hd_block *block = hd_trace_block_at(find->trace, HD_KIND_INSTANT, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i);
            if (name == keys->segment[0] || name == keys->segment[1]) take_segment(find, keys, block, i);
        }
        hd_trace_release(find->trace, block);
    }
}

hd_status memory_gather(memory_find *find, hd_error *err)
{
    memory_keys keys;
    find_keys(&keys, find->trace);
    HD_TRY(gather_kind(find, &keys, HD_KIND_INSTANT, err));
    HD_TRY(gather_kind(find, &keys, HD_KIND_SLICE, err));
    take_segments(find, &keys);
    return HD_OK;
}
