/* add_gpu.c - GPU activities under the stacks that launched them: their time, launches, and bytes moved
 *
 * Time      each kernel, copy and memset, cut at the window's ends
 * Launches  each launch by the time of its call, under its first activity, or [GPU_Graph] for a graph. An activity
 *           without a known launch counts as one. Launches without an activity are under [GPU_Launch_Pending], and so
 *           is a stack sample of a launch that the GPU side does not have
 * Bytes     each copy and memset, by the time of its start: arguments "bytes" or "size"
 */
#include <stdlib.h>

#include "flame/add.h"
#include "heddle/names.h"
#include "model/args/args.h"

#define GPU_GRAPH "[GPU_Graph]"

/* The last frame made from a name of the trace; one list for each role of activities. */
typedef struct gpu_name {
    uint32_t name; /* of the flame, 0: not made yet */
    bool passes;
} gpu_name;

enum { GPU_KERNEL, GPU_COPY, GPU_SET, GPU_GRAPHS, GPU_SORTS };

typedef struct gpu_adder {
    flame_adder *adder;
    const hd_attribution *attribution;
    const hd_trace *cpu;
    gpu_name *names[GPU_SORTS]; /* by string of the trace */
    uint32_t name_count;
    uint32_t pending; /* name of [GPU_Launch_Pending] */
    gpu_copy_bytes bytes;
} gpu_adder;

/* ---- names ---- */

static const char *const prefixes[GPU_SORTS] = {"[GPU_Kernel]", "[GPU_Memcpy]", "[GPU_Memset]", GPU_GRAPH};

static int sort_of(hd_role role)
{
    return role == HD_ROLE_COPY ? GPU_COPY : role == HD_ROLE_SET ? GPU_SET : GPU_KERNEL;
}

/* Only names of kernels are C++; those of copies, memsets and calls are plain words. Returns the size. */
static size_t put_name(char *out, const gpu_adder *g, int sort, hd_string plain)
{
    if (sort == GPU_KERNEL && g->adder->options->full_names) return hd_name_demangle(out, plain);
    if (sort == GPU_KERNEL) return hd_name_short(out, plain);
    if (plain.size) memcpy(out, plain.data, plain.size);
    return plain.size;
}

/* Makes the frame name at first use. */
static void make_name(gpu_adder *g, gpu_name *out, int sort, hd_string given)
{
    flame_adder *a = g->adder;
    hd_string plain = hd_name_plain(given);
    size_t prefix = strlen(prefixes[sort]), room = plain.size > HD_NAME_BYTES ? plain.size : HD_NAME_BYTES;
    char *text = malloc(prefix + room);
    out->name = HD_NONE;
    if (!text) return;
    memcpy(text, prefixes[sort], prefix);
    size_t size = put_name(text + prefix, g, sort, plain);
    const filter_text texts[] = {{text + prefix, size}, {given.data, given.size}, {plain.data, plain.size}};
    out->passes = a->names.count == 0 || flame_text_passes(a, texts, sizeof texts / sizeof *texts);
    out->name = hd_stacks_name(a->flame->stacks, text, prefix + size);
    free(text);
}

static hd_status name_of(gpu_name *out, gpu_adder *g, int sort, uint32_t id)
{
    flame_adder *a = g->adder;
    if (!g->names[sort]) g->names[sort] = calloc(g->name_count, sizeof **g->names);
    if (!g->names[sort]) return HD_NOMEM(a->err);
    gpu_name *name = &g->names[sort][id < g->name_count ? id : 0];
    if (name->name == 0) make_name(g, name, sort, hd_trace_string(a->trace, id));
    *out = *name;
    return name->name == HD_NONE || a->no_memory ? HD_NOMEM(a->err) : HD_OK;
}

/* ---- where work belongs ---- */

static flame_place place_of_work(const gpu_adder *g, const hd_work *work)
{
    flame_place place = {work->track, HD_NONE, work->start_ns, work->row};
    if (work->launch == HD_NONE) return place;
    const hd_launch *launch = &g->attribution->launches->launches[work->launch];
    place.thread = launch->track;
    if (launch->start_ns != HD_NO_TIME) place.time_ns = launch->start_ns;
    return place;
}

/* The place of a launch without an activity: only its thread is known. */
static flame_place place_of_launch(const gpu_adder *g, const hd_launch *launch)
{
    flame_place place = {launch->track, launch->track, launch->start_ns, UINT64_MAX};
    if (launch->work_count == 0) return place;
    const hd_launches *all = g->attribution->launches;
    const hd_work *work = &all->works[all->work_order[launch->first_work]];
    place.track = work->track;
    place.gpu_row = work->row;
    return place;
}

static void remove_weight(gpu_adder *g, int64_t weight)
{
    g->adder->flame->removed = flame_sum(g->adder->flame->removed, weight);
}

static hd_status put(gpu_adder *g, const flame_place *place, uint32_t stack, flame_leaf leaf, int64_t weight)
{
    uint32_t group;
    HD_TRY(flame_group_of(&group, g->adder, place));
    return flame_put(g->adder, group, stack, leaf, true, weight);
}

static bool at_time(const gpu_adder *g, int64_t time_ns)
{
    int64_t part;
    return flame_clip(&part, g->adder, time_ns, 0);
}

/* ---- time and bytes ---- */

static int64_t bytes_of(gpu_adder *g, const hd_work *work)
{
    int64_t bytes = gpu_copy_bytes_of(&g->bytes, work->row);
    return bytes == HD_NO_NUMBER ? 0 : bytes;
}

static hd_status add_work(gpu_adder *g, size_t index)
{
    const hd_work *work = &g->attribution->launches->works[index];
    bool bytes = g->adder->flame->of == HD_FLAME_BYTES;
    gpu_name name;
    if (bytes && work->role == HD_ROLE_KERNEL) return HD_OK;
    int sort = sort_of(work->role);
    HD_TRY(name_of(&name, g, sort, work->name));
    int64_t whole = bytes ? bytes_of(g, work) : work->duration_ns, part = whole;
    bool inside = bytes ? at_time(g, work->start_ns) : flame_clip(&part, g->adder, work->start_ns, whole);
    if (!name.passes || !inside) part = 0;
    remove_weight(g, whole - part);
    if (!name.passes || !inside) return HD_OK;
    const flame_place place = place_of_work(g, work);
    flame_leaf leaf = {name.name, sort == GPU_KERNEL ? HD_FRAME_KERNEL : HD_FRAME_COPY};
    return put(g, &place, g->attribution->work_stack[index], leaf, part);
}

static hd_status add_works(gpu_adder *g)
{
    for (size_t i = 0; i < g->attribution->launches->work_count; i++) HD_TRY(add_work(g, i));
    return HD_OK;
}

/* ---- launches ---- */

/* The frame for a launch: its first activity; [GPU_Graph] if the call launches graphs, or is not known to launch a
 * single kernel or copy and launched several. */
static hd_status name_of_launch(gpu_name *out, flame_leaf *leaf, gpu_adder *g, const hd_launch *launch)
{
    const hd_launches *all = g->attribution->launches;
    const hd_work *first = &all->works[all->work_order[launch->first_work]];
    bool graph = launch->sort == HD_LAUNCH_GRAPH;
    for (uint32_t i = 1; launch->sort == HD_LAUNCH_UNKNOWN && i < launch->work_count && !graph; i++) {
        const hd_work *work = &all->works[all->work_order[launch->first_work + i]];
        graph = work->name != first->name || work->role != first->role;
    }
    int sort = graph ? GPU_GRAPHS : sort_of(first->role);
    HD_TRY(name_of(out, g, sort, graph ? launch->name : first->name));
    *leaf = (flame_leaf){out->name, sort == GPU_COPY || sort == GPU_SET ? HD_FRAME_COPY : HD_FRAME_KERNEL};
    return HD_OK;
}

/* Adds a launch whose activity is missing; `weight` 0: only its stack is shown. */
static hd_status add_pending(gpu_adder *g, const flame_place *place, uint32_t stack, int64_t weight)
{
    flame_adder *a = g->adder;
    if (a->names.count || (a->has_window && !at_time(g, place->time_ns))) {
        remove_weight(g, weight);
        return HD_OK;
    }
    a->flame->pending_count++;
    if (weight == 0 && !a->options->weightless) return HD_OK;
    flame_leaf leaf = {g->pending, HD_FRAME_MARK};
    return put(g, place, stack, leaf, weight);
}

static hd_status add_launch(gpu_adder *g, size_t index)
{
    const hd_launch *launch = &g->attribution->launches->launches[index];
    const flame_place place = place_of_launch(g, launch);
    uint32_t stack = g->attribution->launch_stack[index];
    bool counts = g->adder->flame->of == HD_FLAME_LAUNCHES;
    gpu_name name;
    flame_leaf leaf;
    if (launch->work_count == 0) return add_pending(g, &place, stack, counts);
    if (!counts) return HD_OK;
    HD_TRY(name_of_launch(&name, &leaf, g, launch));
    if (name.passes && at_time(g, launch->start_ns)) return put(g, &place, stack, leaf, 1);
    remove_weight(g, 1);
    return HD_OK;
}

/* Adds activities without a known launch. */
static hd_status add_lone_works(gpu_adder *g)
{
    for (size_t i = 0; i < g->attribution->launches->work_count; i++) {
        const hd_work *work = &g->attribution->launches->works[i];
        gpu_name name;
        if (work->launch != HD_NONE) continue;
        int sort = sort_of(work->role);
        HD_TRY(name_of(&name, g, sort, work->name));
        if (!name.passes || !at_time(g, work->start_ns)) {
            remove_weight(g, 1);
            continue;
        }
        const flame_place place = place_of_work(g, work);
        flame_leaf leaf = {name.name, sort == GPU_KERNEL ? HD_FRAME_KERNEL : HD_FRAME_COPY};
        HD_TRY(put(g, &place, g->attribution->work_stack[i], leaf, 1));
    }
    return HD_OK;
}

/* Adds samples of launches that the GPU side does not have. Their tracks and clock are those of the other trace, so
 * only their stack is known, unless both are the same trace. */
static hd_status add_pending_samples(gpu_adder *g, int64_t weight)
{
    const hd_attribution *attribution = g->attribution;
    bool same = !g->cpu || g->cpu == g->adder->trace;
    const hd_trace *trace = g->adder->trace;
    for (size_t i = 0; i < attribution->pending_count; i++) {
        const hd_pending_stack *pending = &attribution->pending[i];
        flame_place place = {HD_NONE, HD_NONE, HD_NO_TIME, UINT64_MAX};
        const hd_trace *from = same ? trace : g->cpu;
        if (pending->row < hd_trace_row_count(from, HD_KIND_SAMPLE)) {
            uint32_t row;
            const hd_block *block = hd_trace_block_of(&row, from, HD_KIND_SAMPLE, pending->row);
            int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
            if (same) place.track = place.thread = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            bool known = start != HD_NO_TIME && (same || attribution->clock.known);
            if (known) place.time_ns = flame_sum(start, same ? 0 : attribution->clock.offset_ns);
        }
        HD_TRY(add_pending(g, &place, pending->stack, weight));
    }
    return HD_OK;
}

/* ---- all of it ---- */

static hd_status add_all(gpu_adder *g)
{
    flame_adder *a = g->adder;
    bool counts = a->flame->of == HD_FLAME_LAUNCHES;
    if (counts)
        HD_TRY(add_lone_works(g));
    else
        HD_TRY(add_works(g));
    if (a->flame->of == HD_FLAME_BYTES) return HD_OK;
    for (size_t i = 0; i < g->attribution->launches->launch_count; i++) HD_TRY(add_launch(g, i));
    return add_pending_samples(g, counts);
}

hd_status flame_add_gpu(flame_adder *adder, const hd_attribution *attribution, const hd_trace *cpu)
{
    gpu_adder g = {.adder = adder, .attribution = attribution, .cpu = cpu};
    g.name_count = hd_trace_string_count(adder->trace) + 1;
    g.pending = hd_stacks_name(adder->flame->stacks, FLAME_PENDING, strlen(FLAME_PENDING));
    if (g.pending == HD_NONE) return HD_NOMEM(adder->err);
    HD_TRY(flame_source(adder, attribution->stacks));
    hd_status status = gpu_copy_bytes_init(&g.bytes, adder->trace) ? add_all(&g) : HD_NOMEM(adder->err);
    gpu_copy_bytes_deinit(&g.bytes);
    for (int i = 0; i < GPU_SORTS; i++) free(g.names[i]);
    return status;
}
