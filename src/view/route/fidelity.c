/* fidelity.c - GET /api/fidelity and /api/fidelity/list: how much of the trace is shown, and its anomalies */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/names.h"
#include "model/trust/trust.h"
#include "report/check/check.h"
#include "trace/event.h"
#include "view/fidelity/fidelity.h"
#include "view/route/routes_derive.h"
#include "view/write/duration_text.h"

enum { LIST_LIMIT = 1000, NAME_BYTES_SHOWN = 160 };

static void put_string(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, strlen(text)});
}

static void put_count(hd_json_out *json, const char *key, uint64_t count)
{
    view_json_int(json, key, (int64_t)count);
}

static hd_status find(const view_fidelity **out, view_scene **scene, view_reply *reply, const view_request *request,
                      hd_error *err)
{
    HD_TRY(view_param_scene(scene, reply, request, err));
    *out = view_scene_note(*scene, VIEW_NOTE_FIDELITY);
    if (*out) return HD_OK;
    reply->status = 409;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "the trace is still being laid out: ask again when it is done");
}

/* ---- the sums ---- */

/* The reader's text about the first case, or the check's text for the code. */
static void put_ledger_text(hd_json_out *json, const hd_trace *trace, const hd_ledger_row *row)
{
    const hd_check_code *code = hd_check_code_find(row->code, strlen(row->code));
    if (row->detail != HD_STRING_NONE) {
        view_json_text(json, "text", hd_trace_string(trace, row->detail));
        return;
    }
    if (!code && row->level == HD_LEDGER_REPAIR) code = hd_check_damage();
    if (!code && row->level == HD_LEDGER_LOSS) code = hd_check_loss();
    put_string(json, "text", code ? code->meaning : "");
}

static void put_ledger(hd_json_out *json, const hd_trace *trace)
{
    static const char *const levels[] = {
        [HD_LEDGER_NOTE] = "note", [HD_LEDGER_REPAIR] = "repair", [HD_LEDGER_LOSS] = "loss"};
    view_json_key(json, "ledger");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        hd_json_put_text(json, i ? ", {" : "{");
        put_string(json, "stage", row->stage);
        put_string(json, "code", row->code);
        put_string(json, "level", levels[row->level]);
        put_count(json, "count", row->count);
        put_ledger_text(json, trace, row);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

static void put_flows(hd_json_out *json, const view_fidelity *fidelity)
{
    uint64_t unbound = fidelity->doubts[VIEW_UNBOUND_FLOWS].count;
    view_json_key(json, "flows");
    hd_json_put_text(json, "{");
    put_count(json, "count", fidelity->flow_points);
    put_count(json, "bound", fidelity->flow_points - unbound);
    put_count(json, "unbound", unbound);
    put_count(json, "backward", fidelity->doubts[VIEW_BACKWARD_FLOWS].count);
    put_count(json, "without_start", fidelity->doubts[VIEW_FLOWS_WITHOUT_START].count);
    put_count(json, "without_end", fidelity->doubts[VIEW_FLOWS_WITHOUT_END].count);
    hd_json_put_text(json, "}");
}

/* What is missing or impossible in the GPU activities, except faults of the input, which are in the ledger. */
static hd_status put_trust(hd_json_out *json, const view_scene *scene, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    const gpu_trust *trust;
    bool any = false;
    if (!launches) return HD_OK;
    HD_TRY(gpu_trust_of(&trust, view_scene_trace(scene), launches, err));
    char text[GPU_DOUBT_TEXT];
    view_json_key(json, "trust");
    hd_json_put_text(json, "{");
    put_string(json, "sentence", gpu_trust_text(text, trust));
    view_json_key(json, "doubts");
    hd_json_put_text(json, "[");
    for (int i = GPU_DOUBT_INPUT_REPAIRED + 1; i < GPU_DOUBTS; i++) {
        const gpu_doubt *doubt = &trust->doubts[i];
        if (!doubt->count) continue;
        hd_json_put_text(json, any ? ", {" : "{");
        any = true;
        put_string(json, "code", gpu_doubt_abouts[i].code);
        put_string(json, "level", gpu_doubt_abouts[i].level);
        put_count(json, "count", doubt->count);
        put_string(json, "sentence", gpu_doubt_text(text, (gpu_doubt_code)i, doubt));
        put_string(json, "figures", gpu_figure_names(text, gpu_doubt_abouts[i].figures));
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
    return HD_OK;
}

hd_status view_route_fidelity(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    const view_fidelity *fidelity;
    hd_json_out *json = &reply->json;
    HD_TRY(find(&fidelity, &scene, reply, request, err));
    const hd_trace *trace = view_scene_trace(scene);
    hd_json_put_text(json, "{\"slices\": {");
    put_count(json, "read", fidelity->read);
    put_count(json, "shown", fidelity->shown);
    view_json_int(json, "dropped", (int64_t)(fidelity->read - fidelity->shown));
    hd_json_put_text(json, "}");
    put_count(json, "on_lanes", fidelity->doubts[VIEW_ON_LANES].count);
    put_count(json, "before_launch", fidelity->doubts[VIEW_BEFORE_LAUNCH].count);
    put_count(json, "without_launch", fidelity->doubts[VIEW_WITHOUT_LAUNCH].count);
    put_count(json, "before_recording", fidelity->doubts[VIEW_BEFORE_RECORDING].count);
    put_count(json, "after_recording", fidelity->doubts[VIEW_AFTER_RECORDING].count);
    put_count(json, "without_work", fidelity->doubts[VIEW_WITHOUT_WORK].count);
    put_count(json, "no_end", fidelity->doubts[VIEW_NO_END].count);
    put_count(json, "negative", fidelity->doubts[VIEW_NEGATIVE].count);
    put_count(json, "no_time", fidelity->doubts[VIEW_NO_TIME].count);
    put_count(json, "events", hd_trace_event_count(trace));
    put_count(json, "lost", fidelity->lost);
    put_count(json, "repaired", fidelity->repaired);
    put_count(json, "instants", hd_trace_row_count(trace, HD_KIND_INSTANT));
    put_count(json, "counters", hd_trace_row_count(trace, HD_KIND_COUNTER));
    put_flows(json, fidelity);
    put_ledger(json, trace);
    HD_TRY(put_trust(json, scene, err));
    hd_json_put_text(json, "}");
    return json->failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- the lists ---- */

/* The display name, cut if it is long. */
static const char *name_of(char out[HD_NAME_BYTES + 8], const hd_trace *trace, uint32_t name)
{
    size_t size = hd_name_label(out, hd_name_plain(hd_trace_string(trace, name)));
    bool cut = size > NAME_BYTES_SHOWN;
    if (cut) size = NAME_BYTES_SHOWN;
    while (cut && size && ((unsigned char)out[size] & 0xc0) == 0x80) size--;
    for (size_t i = 0; i < size; i++) {
        if (out[i] == '\0') out[i] = ' ';
    }
    strcpy(out + size, cut ? "\xe2\x80\xa6" : "");
    return out;
}

static double between(int64_t from, int64_t until)
{
    return (double)until - (double)from;
}

static void put_note(hd_json_out *json, const hd_trace *trace, view_doubt doubt, const hd_event *event, uint32_t other)
{
    char note[HD_NAME_BYTES + 200], name[HD_NAME_BYTES + 8], time[VIEW_DURATION_BYTES];
    hd_event partner = {0};
    if (doubt == VIEW_ON_LANES || doubt == VIEW_BEFORE_LAUNCH || doubt == VIEW_BACKWARD_FLOWS) {
        partner = hd_event_at(trace, doubt == VIEW_BACKWARD_FLOWS ? HD_KIND_FLOW : HD_KIND_SLICE, other);
        name_of(name, trace, partner.name);
    }
    switch (doubt) {
    case VIEW_ON_LANES:
        view_duration_text(time, between(event->start_ns, hd_end_or_last(partner.start_ns, partner.duration_ns)));
        snprintf(note, sizeof note, "crosses %s on its track by %s", name, time);
        break;
    case VIEW_BEFORE_LAUNCH:
        view_duration_text(time, between(event->start_ns, partner.start_ns));
        snprintf(note, sizeof note, "starts %s before %s, which launched it", time, name);
        break;
    case VIEW_NEGATIVE:
        view_duration_text(time, -(double)event->duration_ns);
        snprintf(note, sizeof note, "ends %s before it starts", time);
        break;
    case VIEW_NO_END: snprintf(note, sizeof note, "begins, and nothing ends it"); break;
    case VIEW_UNBOUND_FLOWS:
        snprintf(note, sizeof note, "no slice on its track %s it",
                 event->phase == 'f' && !(event->flags & HD_FLAG_BIND_ENCLOSING) ? "follows" : "is around");
        break;
    case VIEW_FLOWS_WITHOUT_START: snprintf(note, sizeof note, "ends, and nothing starts it"); break;
    case VIEW_FLOWS_WITHOUT_END: snprintf(note, sizeof note, "starts, and nothing ends it"); break;
    case VIEW_WITHOUT_LAUNCH: snprintf(note, sizeof note, "the call that launched it is not in the trace"); break;
    case VIEW_BEFORE_RECORDING:
        snprintf(note, sizeof note, "began before the recording, so its launch is not in it");
        break;
    case VIEW_AFTER_RECORDING:
        snprintf(note, sizeof note, "its activity is not in the recording, which ends near here");
        break;
    case VIEW_WITHOUT_WORK: snprintf(note, sizeof note, "what it launched is not in the trace"); break;
    case VIEW_BACKWARD_FLOWS:
        view_duration_text(time, between(event->start_ns, partner.start_ns));
        snprintf(note, sizeof note, "ends %s before it starts", time);
        break;
    default: snprintf(note, sizeof note, "has no time"); break;
    }
    put_string(json, "note", note);
}

/* Whether a row of a track has a slice. Of those that start together all except the first have length 0 and are in
 * table order. */
static bool row_has(const view_row *row, const hd_trace *trace, const hd_event *event)
{
    view_slice slice;
    uint64_t low = view_row_find(row, trace, event->start_ns);
    uint64_t high = event->start_ns == INT64_MAX ? row->count : view_row_find(row, trace, event->start_ns + 1);
    if (view_row_read(&slice, row, trace, low, 1) && slice.start_ns == event->start_ns && slice.row == event->row)
        return true;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (!view_row_read(&slice, row, trace, middle, 1)) return false;
        if (slice.row == event->row && slice.start_ns == event->start_ns) return true;
        if (slice.start_ns < event->start_ns || (slice.start_ns == event->start_ns && slice.row < event->row))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static uint32_t depth_of(const view_scene *scene, const view_track *track, const hd_event *event)
{
    for (uint32_t depth = 0; depth < track->rows.count; depth++) {
        if (row_has(&track->rows.rows[depth], view_scene_trace(scene), event)) return depth;
    }
    return 0;
}

static void put_event(hd_json_out *json, const view_scene *scene, view_doubt doubt, view_doubtful doubtful)
{
    const hd_trace *trace = view_scene_trace(scene);
    hd_kind kind = HD_KIND_SLICE;
    if (view_doubt_of_flows(doubt)) kind = HD_KIND_FLOW;
    if (doubt == VIEW_NO_TIME) kind = (hd_kind)doubtful.other;
    hd_event event = hd_event_at(trace, kind, doubtful.row);
    uint32_t track = HD_NONE;
    if (event.track != HD_NONE) track = view_scene_track_of(scene, event.track, HD_KIND_SLICE);
    uint32_t depth = 0;
    if (kind == HD_KIND_SLICE && track != HD_NONE && event.start_ns != HD_NO_TIME)
        depth = depth_of(scene, view_scene_track(scene, track), &event);
    hd_json_put_text(json, "{");
    put_string(json, "kind", hd_kind_name(kind));
    view_json_int(json, "row", doubtful.row);
    view_json_key(json, "track");
    if (track == HD_NONE)
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, track);
    view_json_int(json, "depth", depth);
    view_json_time(json, "start", scene, event.start_ns);
    view_json_int(json, "duration", kind == HD_KIND_SLICE && event.duration_ns > 0 ? event.duration_ns : 0);
    view_json_int(json, "name", event.name);
    view_json_text(json, "name_text", hd_trace_string(trace, event.name));
    put_note(json, trace, doubt, &event, doubtful.other);
    hd_json_put_text(json, "}");
}

static hd_status param_doubt(view_doubt *out, const view_request *request, hd_error *err)
{
    const char *text = view_param_text(request, "what");
    for (int i = 0; text && i < VIEW_DOUBTS; i++) {
        *out = (view_doubt)i;
        if (strcmp(text, view_doubt_name(*out)) == 0) return HD_OK;
    }
    char all[300] = "";
    for (int i = 0; i < VIEW_DOUBTS; i++) {
        size_t size = strlen(all);
        snprintf(all + size, sizeof all - size, "%s%s", i ? ", " : "", view_doubt_name((view_doubt)i));
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter what must be one of %s", all);
}

hd_status view_route_fidelity_list(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    const view_fidelity *fidelity;
    view_doubt doubt;
    int64_t at, limit;
    hd_json_out *json = &reply->json;
    HD_TRY(param_doubt(&doubt, request, err));
    HD_TRY(view_param_int_or(&at, request, "at", 0, INT64_MAX, 0, err));
    HD_TRY(view_param_int_or(&limit, request, "limit", 0, LIST_LIMIT, 200, err));
    HD_TRY(find(&fidelity, &scene, reply, request, err));
    uint64_t count = fidelity->doubts[doubt].count, left = (uint64_t)at < count ? count - (uint64_t)at : 0;
    if ((uint64_t)limit < left) left = (uint64_t)limit;
    hd_json_put_text(json, "{");
    put_count(json, "count", count);
    hd_json_put_text(json, ", \"events\": [");
    for (uint64_t i = 0; i < left; i++) {
        hd_json_put_text(json, i ? ",\n" : "\n");
        put_event(json, scene, doubt, fidelity->doubts[doubt].list[(uint64_t)at + i]);
    }
    hd_json_put_text(json, "]}");
    return json->failed ? HD_NOMEM(err) : HD_OK;
}
