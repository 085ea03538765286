/* event.h - the parts of the answer of /api/event; for route/event.c and route/derived.c
 *
 * In: an event of a scene. Out: the parts of its JSON. Begin with route/event.c, which combines them.
 */
#ifndef HD_VIEW_EVENT_EVENT_H
#define HD_VIEW_EVENT_EVENT_H

#include "view/scene/place.h"
#include "view/write/json.h"

typedef struct view_event {
    const view_scene *scene;
    const hd_trace *trace;
    hd_event event;
    uint32_t track;   /* of the scene, HD_NONE: none */
    const char *skip; /* folders whose frames are a framework's as well: hd_frame_level_beside */
    bool has_place;
    view_place place;
    const hd_launches *launches; /* NULL: not found yet */
    const hd_work *work;         /* if it is a GPU activity; else NULL */
    const hd_launch *launch;     /* if it is a launch, or an activity with a known launch; else NULL */
} view_event;

/* args.c: "args" as in the input, "digits" of numbers that a double cannot represent. */
void view_event_args(hd_json_out *json, const view_event *e);
/* "occupancy", "bytes", "bandwidth", where arguments say so. */
void view_event_numbers(hd_json_out *json, const view_event *e);

/* stack.c: "stack", "stack_from", "source". */
hd_status view_event_stack(hd_json_out *json, const view_event *e, hd_error *err);

/* links.c: "launch", "works", "slack", "bound", "flows", "parent", "self". */
hd_status view_event_links(hd_json_out *json, const view_event *e, hd_error *err);
/* `"row", "track", "name", "start", "duration"` of a slice of e's trace, without brackets. */
void view_event_slice(hd_json_out *json, const view_event *e, uint64_t row);
/* The launch or the work that a slice is. */
void view_event_find_launch(view_event *e);

#endif
