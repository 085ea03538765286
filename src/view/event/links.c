/* links.c - related events: launch, activities, what it waited for, flows, parent; and its self time */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "trace/event.h"
#include "view/derive/bounds.h"
#include "view/event/event.h"
#include "view/queries/flows.h"

enum { WORKS = 100, FLOWS = 200, SELF_SLICES = 2000000 };

/* ---- launches ---- */

static const hd_work *find_work(const hd_launches *launches, uint64_t row)
{
    size_t low = 0, high = launches->work_count;
    HD_PARTITION_POINT(low, high, at, launches->works[at].row < row);
    return low < launches->work_count && launches->works[low].row == row ? &launches->works[low] : NULL;
}

static bool launch_before(const hd_launch *a, const hd_event *b)
{
    if (a->track != b->track) return a->track < b->track;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->row < b->row;
}

static const hd_launch *find_launch(const hd_launches *launches, const hd_event *event)
{
    size_t low = 0, high = launches->launch_count;
    HD_PARTITION_POINT(low, high, at, launch_before(&launches->launches[at], event));
    return low < launches->launch_count && launches->launches[low].row == event->row ? &launches->launches[low] : NULL;
}

void view_event_find_launch(view_event *e)
{
    e->launches = view_scene_launches(e->scene);
    if (!e->launches || e->event.kind != HD_KIND_SLICE) return;
    e->work = find_work(e->launches, e->event.row);
    if (e->work && e->work->launch != HD_NONE) e->launch = &e->launches->launches[e->work->launch];
    if (!e->work) e->launch = find_launch(e->launches, &e->event);
}

void view_event_slice(hd_json_out *json, const view_event *e, uint64_t row)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, e->trace, HD_KIND_SLICE, row);
    hd_event slice;
    hd_block_event(&slice, block, at);
    uint32_t track = view_scene_track_of_event(e->scene, HD_KIND_SLICE, row);
    view_json_int(json, "row", (int64_t)row);
    if (track != HD_NONE) view_json_int(json, "track", track);
    view_json_text(json, "name", hd_trace_string(e->trace, slice.name));
    view_json_time(json, "start", e->scene, slice.start_ns);
    if (slice.duration_ns >= 0) view_json_int(json, "duration", slice.duration_ns);
}

static void put_launch(hd_json_out *json, const view_event *e)
{
    if (e->work && e->launch) {
        view_json_key(json, "launch");
        hd_json_put_text(json, "{");
        view_event_slice(json, e, e->launch->row);
        view_json_int(json, "latency", view_length(e->launch->start_ns, e->event.start_ns));
        hd_json_put_text(json, "}");
    }
    if (e->work || !e->launch) return;
    view_json_key(json, "works");
    hd_json_put_text(json, "[");
    for (uint32_t i = 0; i < e->launch->work_count && i < WORKS; i++) {
        const hd_work *work = &e->launches->works[e->launches->work_order[e->launch->first_work + i]];
        hd_json_put_text(json, i ? ",{" : "{");
        view_event_slice(json, e, work->row);
        view_json_int(json, "latency", view_length(e->launch->start_ns, work->start_ns));
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "works_count", e->launch->work_count);
}

/* ---- what it waited for ---- */

static void put_bound(hd_json_out *json, const view_event *e)
{
    const view_bounds *bounds = view_scene_note(e->scene, VIEW_NOTE_BOUNDS);
    uint64_t row = e->event.row;
    if (!bounds || e->event.kind != HD_KIND_SLICE || bounds->edges[row] == VIEW_NO_BOUND) return;
    view_json_int(json, "slack", bounds->slices->slack[row]);
    if (bounds->edges[row] == HD_EDGE_KINDS) return;
    const char *kind = hd_edge_kind_name((hd_edge_kind)bounds->edges[row]);
    view_json_key(json, "bound");
    hd_json_put_text(json, "{");
    view_json_text(json, "by", (hd_string){kind, strlen(kind)});
    if (bounds->slices->first_nodes[row] != HD_NONE) view_event_slice(json, e, bounds->slices->first_nodes[row]);
    hd_json_put_text(json, "}");
}

/* ---- flows ---- */

static void put_flow_id(hd_json_out *json, const view_event *e, hd_point_id id)
{
    view_json_key(json, "id");
    if ((id.type & HD_ID_VALUE_MASK) == 2) {
        hd_string text = hd_trace_string(e->trace, (uint32_t)id.value);
        hd_json_put_string(json, text.data ? text.data : "", text.size);
        return;
    }
    hd_json_put_text(json, "\"");
    hd_json_put_int(json, id.value);
    hd_json_put_text(json, "\"");
}

static hd_point_id id_of_line(const hd_trace *trace, const view_line *line)
{
    hd_point_id id = {0};
    hd_slice_flow_keys keys;
    if (line->to_flow < hd_trace_row_count(trace, HD_KIND_FLOW)) {
        hd_event point = hd_event_at(trace, HD_KIND_FLOW, line->to_flow);
        return hd_point_id_of(trace, point.id_type, point.id);
    }
    hd_event slice = hd_event_at(trace, HD_KIND_SLICE, line->to);
    if (hd_slice_flow_keys_find(&keys, trace)) hd_slice_flow(&id, &keys, trace, &slice);
    return id;
}

static void put_line(hd_json_out *json, const view_event *e, const view_line *line, bool out)
{
    hd_json_put_text(json, json->data && json->data[json->size - 1] == '[' ? "{" : ",{");
    if (line->from_flow == HD_NONE) {
        view_json_text(json, "id", (hd_string){"", 0});
        view_json_text(json, "category", (hd_string){"launch", 6});
    } else {
        put_flow_id(json, e, id_of_line(e->trace, line));
        view_json_text(json, "category", hd_trace_string(e->trace, view_line_category(line, e->trace)));
    }
    view_json_text(json, "direction", out ? (hd_string){"out", 3} : (hd_string){"in", 2});
    view_json_bool(json, "backward", view_line_backward(line));
    view_event_slice(json, e, out ? line->to : line->from);
    hd_json_put_text(json, "}");
}

static hd_status put_flows(hd_json_out *json, const view_event *e, hd_error *err)
{
    const view_flows *flows;
    size_t first, outs, ins;
    if (!e->launches) return HD_OK; /* flows are made together with launches */
    HD_TRY(view_flows_get(&flows, e->scene, err));
    outs = view_flows_from(&first, flows, (uint32_t)e->event.row);
    view_json_key(json, "flows");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < outs && i < FLOWS; i++) put_line(json, e, &flows->lines[first + i], true);
    ins = view_flows_to(&first, flows, (uint32_t)e->event.row);
    for (size_t i = 0; i < ins && i < FLOWS; i++) put_line(json, e, &flows->lines[flows->by_to[first + i]], false);
    hd_json_put_text(json, "]");
    view_json_int(json, "flows_count", (int64_t)(outs + ins));
    return HD_OK;
}

/* ---- self time ---- */

/* The union of the slices that start after it, within it. */
static bool sweep_self(int64_t *out, view_merge *merge, const view_slice *self)
{
    int64_t covered = self->start_ns, busy = 0;
    uint64_t looked = 0;
    for (const view_slice *slice; (slice = view_merge_next(merge));) {
        if (++looked > SELF_SLICES) return false;
        if (view_slice_compare(slice, self) <= 0) continue;
        int64_t start = slice->start_ns > covered ? slice->start_ns : covered;
        int64_t end = slice->end_ns < self->end_ns ? slice->end_ns : self->end_ns;
        if (end <= start) continue;
        busy += end - start;
        covered = end;
    }
    *out = view_length(self->start_ns, self->end_ns) - busy;
    return true;
}

/* Self time of a slice: without the time in which a slice is open that started after it. false: it would take too
 * long. */
static bool self_time(int64_t *out, const view_scene *scene, const view_place *place)
{
    const view_track *track = view_scene_track(scene, place->track);
    const view_slice *self = &place->slice;
    view_merge *merge;
    if (track->on_lanes == 0) { /* all nest: the slices directly below it cover the rest */
        *out = view_length(self->start_ns, self->end_ns);
        if (place->depth + 1 < track->rows.count)
            *out -= view_row_busy(&track->rows.rows[place->depth + 1], view_scene_trace(scene), self->start_ns,
                                  self->end_ns);
        return true;
    }
    const view_row **rows = malloc(((size_t)track->rows.count + 1) * sizeof *rows);
    if (!rows) return false;
    for (uint32_t i = 0; i < track->rows.count; i++) rows[i] = &track->rows.rows[i];
    bool fine = view_merge_new(&merge, rows, track->rows.count, view_scene_trace(scene), self->start_ns, self->end_ns,
                               NULL) == HD_OK;
    if (fine) fine = sweep_self(out, merge, self);
    view_merge_free(merge);
    free(rows);
    return fine;
}

hd_status view_event_links(hd_json_out *json, const view_event *e, hd_error *err)
{
    view_place parent;
    int64_t self;
    put_launch(json, e);
    put_bound(json, e);
    if (e->event.kind == HD_KIND_SLICE) HD_TRY(put_flows(json, e, err));
    if (!e->has_place) return HD_OK;
    if (e->event.kind == HD_KIND_SLICE && e->event.duration_ns >= 0 && self_time(&self, e->scene, &e->place))
        view_json_int(json, "self", self);
    if (!view_place_parent(&parent, e->scene, &e->place)) return HD_OK;
    view_json_key(json, "parent");
    hd_json_put_text(json, "{");
    view_json_int(json, "row", parent.slice.row);
    view_json_text(json, "name", view_scene_text(e->scene, parent.slice.name));
    hd_json_put_text(json, "}");
    return HD_OK;
}
