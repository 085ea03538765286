/* flows.h - lines from slice to slice: flows of the trace, and launches without a flow
 *
 * A line goes from a point of a flow to the next one (src/model/flows/bind.h), if both are bound to slices. A GPU
 * activity with a known launch but without a line from it gets one of category "launch", from the launch's start to the
 * activity's.
 *
 * Made at first use, then immutable; 36 bytes per line.
 */
#ifndef HD_VIEW_QUERIES_FLOWS_H
#define HD_VIEW_QUERIES_FLOWS_H

#include "heddle/analysis/launches.h"
#include "view/scene/scene.h"

typedef struct view_line {
    int64_t from_ns, to_ns;      /* of the points; of launches: of the slices */
    uint32_t from, to;           /* slices */
    uint32_t from_flow, to_flow; /* points of flows, see hd_flow_point.row; HD_NONE: a launch */
} view_line;

enum { VIEW_FLOW_CATEGORIES = 64 };

typedef struct view_flow_category {
    uint32_t id; /* string id; HD_NONE: launches */
    uint64_t count;
} view_flow_category;

typedef struct view_flows {
    view_line *lines; /* by `from`, then time */
    size_t count;
    uint32_t *by_to;                                         /* lines by `to` */
    uint64_t large;                                          /* as hd_trace_large_bytes: both are in files then */
    uint64_t launch_count;                                   /* of them: of category "launch" */
    view_flow_category categories[VIEW_FLOW_CATEGORIES + 1]; /* most lines first; of very many the first seen */
    size_t category_count;
} view_flows;

/* Borrowed from the scene. Errors: MEMORY; LIMIT, also while the scene has not found its launches yet. */
hd_status view_flows_get(const view_flows **out, const view_scene *scene, hd_error *err);
void view_flows_free(view_flows *flows);

/* Lines that begin at a slice: lines[*out_first … + count). */
size_t view_flows_from(size_t *out_first, const view_flows *flows, uint32_t slice);
/* Lines that end at a slice: lines[by_to[*out_first … + count)]. */
size_t view_flows_to(size_t *out_first, const view_flows *flows, uint32_t slice);

/* String id of the category, HD_STRING_NONE: none. Not for launches. */
uint32_t view_line_category(const view_line *line, const hd_trace *trace);
static inline bool view_line_backward(const view_line *line)
{
    return line->to_ns < line->from_ns;
}

#endif
