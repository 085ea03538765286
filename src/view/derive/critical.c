/* critical.c - the critical path of a trace with GPU activities as a track, and what each slice waited for as a note
 *
 * The first row has the classes of the path's parts, with adjacent parts of one class merged; the second what runs in
 * them, or waits to run.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/event.h"
#include "trace/spill.h"
#include "view/derive/bounds.h"
#include "view/derive/derive.h"

/* ---- the track ---- */

static hd_path_class class_of_work(gpu_classes *known, const hd_launches *launches, uint32_t row)
{
    static const hd_path_class classes[GPU_CLASSES] = {HD_PATH_COMPUTE, HD_PATH_COMMUNICATION, HD_PATH_COPY};
    size_t low = 0, high = launches->work_count;
    HD_PARTITION_POINT(low, high, at, launches->works[at].row < row);
    return classes[gpu_class_of(known, &launches->works[low])];
}

/* Each run of parts of one class, followed by its parts. */
static bool add_pieces(view_slices *out, const view_scene *scene, gpu_classes *known, const hd_graph *graph,
                       const hd_graph_piece *pieces, size_t count, const uint32_t names[HD_PATH_CLASSES])
{
    const hd_trace *trace = view_scene_trace(scene);
    size_t run = 0;
    int last = HD_PATH_CLASSES;
    for (size_t i = 0; i < count; i++) {
        const hd_graph_piece *p = &pieces[i];
        uint32_t row = graph->slices[p->node];
        hd_path_class class = hd_graph_piece_class(graph, p);
        if (class == HD_PATH_COMPUTE) class = class_of_work(known, view_scene_launches(scene), row);
        view_slice slice = {.start_ns = p->start_ns, .end_ns = p->end_ns, .name = names[class], .row = row};
        if ((int)class == last) {
            out->list[run].end_ns = p->end_ns;
        } else {
            run = out->count;
            if (!view_slices_add(out, slice)) return false;
        }
        last = (int)class;
        if (row == HD_NONE) continue;
        slice.name = hd_event_at(trace, HD_KIND_SLICE, row).name;
        if (!view_slices_add(out, slice)) return false;
    }
    return true;
}

static bool name_classes(uint32_t names[HD_PATH_CLASSES], view_scene *scene)
{
    for (int c = 0; c < HD_PATH_CLASSES; c++) {
        const char *name = hd_path_class_name((hd_path_class)c);
        names[c] = view_scene_name(scene, name, strlen(name));
        if (names[c] == HD_NONE) return false;
    }
    return true;
}

static hd_status add_track(view_scene *scene, view_slices *slices, hd_error *err)
{
    static const char detail[] =
        "What the time of the trace waits for: back from what ends last to what that waited for last, and so on. Above "
        "what sort of time it is - what runs, or launch, queue, sync: what is waited for - below what runs or waits to "
        "run. To shorten the trace, shorten one of these.";
    view_track track;
    if (!view_derived_track(&track, VIEW_SLICES, "critical_path", "Critical path", detail, 0)) {
        hd_large_free(slices->list);
        return HD_NOMEM(err);
    }
    hd_status status = view_derived_rows(&track, slices, err);
    if (status == HD_OK) return view_scene_add(scene, &track, 1, err);
    view_track_deinit(&track);
    return status;
}

static hd_status derive_track(view_scene *scene, const hd_graph *graph, hd_error *err)
{
    uint32_t names[HD_PATH_CLASSES], node = hd_graph_last(graph, INT64_MIN, INT64_MAX);
    hd_graph_piece *pieces;
    size_t count;
    if (node == HD_NONE || graph->lanes[0].is_queue) return HD_OK; /* without threads it is the queue that ends last */
    HD_TRY(hd_graph_path(&pieces, &count, graph, node, graph->start_ns, graph->ends[node], err));
    view_slices slices = {.large = hd_trace_large_bytes(graph->trace)};
    gpu_classes classes;
    bool fine = gpu_classes_init(&classes, graph->trace, NULL) && name_classes(names, scene) &&
                add_pieces(&slices, scene, &classes, graph, pieces, count, names);
    gpu_classes_deinit(&classes);
    hd_graph_pieces_free(pieces);
    if (fine && slices.count) return add_track(scene, &slices, err);
    hd_large_free(slices.list);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the note ---- */

static void free_bounds(void *data)
{
    view_bounds *bounds = data;
    hd_graph_slices_free(bounds->slices);
    hd_large_free(bounds->edges);
    free(bounds);
}

static hd_status find_bounds(view_scene *scene, const hd_graph *g, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(g->trace, HD_KIND_SLICE);
    view_bounds *bounds = calloc(1, sizeof *bounds);
    if (!bounds) return HD_NOMEM(err);
    bounds->edges = hd_large_new(rows + 1, sizeof *bounds->edges, hd_trace_large_bytes(g->trace));
    hd_status status = bounds->edges ? hd_graph_slices_new(&bounds->slices, g, err) : HD_NOMEM(err);
    for (uint64_t r = 0; status == HD_OK && r < rows; r++) {
        int64_t ready;
        uint32_t *slice = &bounds->slices->first_nodes[r];
        size_t edge = *slice == HD_NONE ? SIZE_MAX : hd_graph_bound(&ready, g, *slice);
        bounds->edges[r] = *slice == HD_NONE  ? VIEW_NO_BOUND
                           : edge == SIZE_MAX ? HD_EDGE_KINDS
                                              : hd_graph_edge_kind(g, edge);
        *slice = edge == SIZE_MAX ? HD_NONE : g->slices[hd_graph_edge_from(g, edge)];
    }
    if (status == HD_OK)
        view_scene_set_note(scene, VIEW_NOTE_BOUNDS, bounds, free_bounds);
    else
        free_bounds(bounds);
    return status;
}

hd_status view_derive_critical(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    hd_graph *graph;
    if (!launches || !launches->work_count || hd_trace_row_count(view_scene_trace(scene), HD_KIND_SLICE) > INT32_MAX)
        return HD_OK;
    HD_TRY(hd_graph_new(&graph, view_scene_trace(scene), launches, err));
    hd_status status = atomic_load(stop) ? HD_OK : derive_track(scene, graph, err);
    if (status == HD_OK && !atomic_load(stop)) status = find_bounds(scene, graph, err);
    hd_graph_free(graph);
    return status;
}
