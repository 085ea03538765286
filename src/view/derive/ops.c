/* ops.c - framework ops and name scopes on the device: what the CPU did when it launched the activities
 *
 * A stream's activities are walked in start order. Consecutive activities launched under the same call of an op are one
 * slice of that op, from the start of the first to the end of the last; so is every op around it. Each stream has
 * tracks of its own, since streams run concurrently.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "view/derive/contexts.h"

/* Beyond this number of slices the innermost levels are left out: the tracks stay small for every trace. */
enum { SLICES_LIMIT = 1 << 21 };

/* The stack of slices that grow with every work. */
typedef struct projection {
    view_slices slices; /* in the order in which they began; parents first */
    struct {
        uint32_t row;
        size_t slice;
    } open[VIEW_CONTEXT_DEPTH];
    uint32_t depth, node; /* open slices; that of the work before */
    uint32_t limit;       /* levels that are kept */
} projection;

/* Ends of the open slices reach the end of a work. */
static void extend(projection *p, int64_t end_ns)
{
    for (uint32_t i = 0; i < p->depth; i++) {
        view_slice *slice = &p->slices.list[p->open[i].slice];
        if (end_ns > slice->end_ns) slice->end_ns = end_ns;
    }
}

/* The path from the root to a node, at most `limit` nodes of it; returns how many. */
static uint32_t path_to(const view_context_node **path, const view_context_node *nodes, uint32_t node, uint32_t limit)
{
    uint32_t depth = node == HD_NONE ? 0 : nodes[node].depth;
    for (uint32_t at = depth; at > 0; node = nodes[node].parent) {
        if (--at < limit) path[at] = &nodes[node];
    }
    return depth < limit ? depth : limit;
}

static bool add_work(projection *p, const view_context_node *nodes, uint32_t node, int64_t start_ns, int64_t end_ns)
{
    const view_context_node *path[VIEW_CONTEXT_DEPTH];
    if (node == HD_NONE) p->depth = 0;
    if (node != HD_NONE && (node != p->node || !p->depth)) {
        uint32_t depth = path_to(path, nodes, node, p->limit), same = 0;
        while (same < p->depth && same < depth && p->open[same].row == path[same]->row) same++;
        for (p->depth = same; p->depth < depth; p->depth++) {
            const view_context_node *at = path[p->depth];
            view_slice slice = {.start_ns = start_ns, .end_ns = end_ns, .name = at->name, .row = at->row};
            p->open[p->depth].row = at->row;
            p->open[p->depth].slice = p->slices.count;
            if (!view_slices_add(&p->slices, slice)) return false;
        }
    }
    p->node = node;
    extend(p, end_ns);
    return true;
}

/* ---- how many levels ---- */

/* The outermost levels whose calls together are within the limit; at least one. */
static uint32_t levels_within(const view_context_node *nodes, size_t count, uint32_t *out_deepest)
{
    uint64_t at_depth[VIEW_CONTEXT_DEPTH + 1] = {0}, sum = 0;
    uint32_t levels = 0;
    *out_deepest = 0;
    for (size_t i = 0; i < count; i++) {
        at_depth[nodes[i].depth]++;
        if (nodes[i].depth > *out_deepest) *out_deepest = nodes[i].depth;
    }
    while (levels < *out_deepest && sum + at_depth[levels + 1] <= SLICES_LIMIT) sum += at_depth[++levels];
    return levels ? levels : 1;
}

/* ---- tracks ---- */

typedef struct context_about {
    const char *role, *name, *detail;
    int place;
} context_about;

static const context_about abouts[VIEW_CONTEXT_SORTS] = {
    [VIEW_CONTEXT_OPS] = {"ops", "Framework ops",
                          "The framework's ops that launched the work of the stream, each from the start of its first "
                          "work to the end of its last; joined by correlation.",
                          VIEW_PLACE_OPS},
    [VIEW_CONTEXT_SCOPES] =
        {"scopes", "Name scopes",
         "The annotations and modules (nn.Module) in which the work of the stream was launched, each "
         "from the start of its first work to the end of its last; joined by correlation.",
         VIEW_PLACE_SCOPES},
};

typedef struct projector {
    view_scene *scene;
    const hd_launches *launches;
    const view_devices *devices;
    const view_contexts *contexts;
    uint32_t levels[VIEW_CONTEXT_SORTS], deepest[VIEW_CONTEXT_SORTS];
} projector;

static int by_time(const void *a, const void *b)
{
    const view_slice *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return (x->flags > y->flags) - (x->flags < y->flags);
}

/* Slices that start together came in the order of their beginnings; the longer has to be first, the outer before. */
static void settle(view_slices *slices)
{
    bool sorted = true;
    for (size_t i = 1; i < slices->count && sorted; i++) {
        const view_slice *a = &slices->list[i - 1], *b = &slices->list[i];
        sorted = a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->end_ns >= b->end_ns);
    }
    if (sorted) return;
    for (size_t i = 0; i < slices->count; i++) slices->list[i].flags = (uint32_t)i;
    hd_sort(slices->list, slices->count, sizeof *slices->list, by_time);
    for (size_t i = 0; i < slices->count; i++) slices->list[i].flags = 0;
}

static bool name_track(view_track *out, const projector *p, const view_device *device, const view_stream *stream,
                       view_context_sort sort)
{
    const context_about *about = &abouts[sort];
    char detail[512];
    int size = snprintf(detail, sizeof detail, "%s", about->detail);
    if (p->levels[sort] < p->deepest[sort])
        snprintf(detail + size, sizeof detail - (size_t)size, " Of %u levels the outermost %u are shown.",
                 p->deepest[sort], p->levels[sort]);
    return view_stream_track(out, p->scene, device, stream, about->role, about->name, detail, about->place);
}

static bool project(projection *out, const projector *p, const lane_span *spans, uint32_t count, view_context_sort sort)
{
    *out = (projection){.slices.large = p->devices->large, .limit = p->levels[sort], .node = HD_NONE};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t launch = p->launches->works[spans[i].ordinal].launch;
        uint32_t node = launch == HD_NONE ? HD_NONE : p->contexts->of[sort].of_launch[launch];
        if (!add_work(out, p->contexts->of[sort].nodes, node, spans[i].start, spans[i].end)) return false;
    }
    return true;
}

/* One track at a time is converted to rows, levels and files, so that only one takes memory. */
static hd_status add_sort(projector *p, const view_device *device, const view_stream *stream, uint32_t section,
                          const lane_span *spans, view_context_sort sort, hd_error *err)
{
    projection projected;
    view_track track;
    hd_status status = project(&projected, p, spans, stream->count, sort) ? HD_OK : HD_NOMEM(err);
    bool any = projected.slices.count > 0;
    if (status == HD_OK && any) {
        settle(&projected.slices);
        if (name_track(&track, p, device, stream, sort)) {
            track.parent = section;
            status = view_derived_rows(&track, &projected.slices, err);
            if (status != HD_OK) view_track_deinit(&track);
        } else {
            status = HD_NOMEM(err);
        }
    }
    hd_large_free(projected.slices.list);
    return status == HD_OK && any ? view_scene_add(p->scene, &track, 1, err) : status;
}

static hd_status add_stream(projector *p, const view_device *device, const view_stream *stream, uint32_t section,
                            hd_error *err)
{
    lane_span *spans;
    HD_TRY(view_device_spans(&spans, p->launches, p->devices, stream->first, stream->count, err));
    hd_status status = HD_OK;
    for (int sort = 0; sort < VIEW_CONTEXT_SORTS && status == HD_OK; sort++)
        status = add_sort(p, device, stream, section, spans, (view_context_sort)sort, err);
    hd_large_free(spans);
    return status;
}

static hd_status add_all(projector *p, const atomic_bool *stop, hd_error *err)
{
    for (size_t i = 0; i < p->devices->count; i++) {
        const view_device *device = &p->devices->list[i];
        uint32_t section;
        HD_TRY(view_device_section(&section, p->scene, device, err));
        for (uint32_t k = 0; k < device->stream_count && !atomic_load(stop); k++)
            HD_TRY(add_stream(p, device, &p->devices->streams[device->first_stream + k], section, err));
    }
    return HD_OK;
}

hd_status view_derive_ops(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    view_contexts contexts = {0};
    projector p = {.scene = scene, .launches = view_scene_launches(scene), .devices = &devices, .contexts = &contexts};
    HD_TRY(view_devices_find(&devices, scene, err));
    hd_status status = devices.count ? view_contexts_find(&contexts, scene, stop, err) : HD_OK;
    if (status == HD_OK && devices.count && !atomic_load(stop)) {
        for (int i = 0; i < VIEW_CONTEXT_SORTS; i++)
            p.levels[i] = levels_within(contexts.of[i].nodes, contexts.of[i].count, &p.deepest[i]);
        status = add_all(&p, stop, err);
    }
    view_contexts_deinit(&contexts);
    view_devices_deinit(&devices);
    return status;
}
