/* search.c - GET /api/search: hits of a search, and stepping between them; the last few searches are cached */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "trace/event.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

enum { NAMES_TOLD = 1000 };

/* ---- searches that are kept ---- */

static bool is_same(const view_search *search, const view_search_query *q)
{
    const view_search_query *have = &search->query;
    return have->mode == q->mode && have->in == q->in && have->match_case == q->match_case && have->track == q->track &&
           strcmp(have->text, q->text) == 0;
}

static view_kept_search *find_kept(view_queries *queries, const view_search_query *query)
{
    view_kept_search *found = NULL;
    pthread_mutex_lock(&queries->lock);
    for (int i = 0; i < VIEW_KEPT_SEARCHES && !found; i++) {
        view_kept_search *kept = &queries->searches[i];
        if (!kept->search || !is_same(kept->search, query)) continue;
        kept->users++;
        kept->used = ++queries->clock;
        found = kept;
    }
    pthread_mutex_unlock(&queries->lock);
    return found;
}

/* Replaces the least recently used search that is not in use; NULL: none. */
static view_kept_search *keep(view_queries *queries, view_search *search)
{
    view_kept_search *oldest = NULL;
    pthread_mutex_lock(&queries->lock);
    for (int i = 0; i < VIEW_KEPT_SEARCHES; i++) {
        view_kept_search *kept = &queries->searches[i];
        if (!kept->users && (!oldest || kept->used < oldest->used)) oldest = kept;
    }
    if (oldest) {
        view_search_free(oldest->search);
        *oldest = (view_kept_search){.search = search, .used = ++queries->clock, .users = 1};
    }
    pthread_mutex_unlock(&queries->lock);
    return oldest;
}

static void let_go(view_queries *queries, view_kept_search *kept)
{
    pthread_mutex_lock(&queries->lock);
    kept->users--;
    pthread_mutex_unlock(&queries->lock);
}

/* ---- JSON ---- */

static void put_hit(hd_json_out *json, const char *key, const view_scene *scene, const view_hit *hit)
{
    view_place place;
    view_json_key(json, key);
    if (view_place_of(&place, scene, hit->kind, hit->row)) {
        view_json_place(json, scene, &place);
        return;
    }
    /* its track is not laid out yet, or is a counter */
    hd_event event = hd_event_at(view_scene_trace(scene), hit->kind, hit->row);
    uint32_t track = view_scene_track_of_event(scene, hit->kind, hit->row);
    hd_json_put_text(json, "{");
    view_json_int(json, "row", hit->row);
    const char *kind = hd_kind_name(hit->kind);
    view_json_text(json, "kind", (hd_string){kind, strlen(kind)});
    if (track != HD_NONE) view_json_int(json, "track", track);
    view_json_int(json, "depth", 0);
    view_json_time(json, "start", scene, event.start_ns);
    view_json_int(json, "duration", event.duration_ns > 0 ? event.duration_ns : 0);
    view_json_int(json, "name", event.name);
    hd_json_put_text(json, "}");
}

/* All names, including those not listed individually: "4,9-12". */
static void put_ranges(hd_json_out *json, const view_search *search)
{
    view_json_key(json, "name_ranges");
    hd_json_put_text(json, "\"");
    for (uint32_t i = 0; i < search->name_count;) {
        uint32_t first = i;
        while (i + 1 < search->name_count && search->names[i + 1] == search->names[i] + 1) i++;
        if (first) hd_json_put_text(json, ",");
        hd_json_put_int(json, search->names[first]);
        if (i > first) {
            hd_json_put_text(json, "-");
            hd_json_put_int(json, search->names[i]);
        }
        i++;
    }
    hd_json_put_text(json, "\"");
}

static void put_counts(hd_json_out *json, const view_search *search)
{
    view_json_int(json, "count", (int64_t)search->count);
    view_json_bool(json, "more", search->more);
    view_json_bool(json, "by_event", search->is_by_event);
    view_json_key(json, "buckets");
    hd_json_put_text(json, "[");
    for (int i = 0; i < VIEW_BUCKETS; i++) {
        if (i) hd_json_put_text(json, ",");
        hd_json_put_int(json, search->buckets[i]);
    }
    hd_json_put_text(json, "]");
    view_json_key(json, "tracks");
    hd_json_put_text(json, "[");
    bool first = true;
    for (uint32_t t = 0; t < search->tracks; t++) {
        if (search->track_hits[t] == 0) continue;
        hd_json_put_text(json, first ? "[" : ",[");
        first = false;
        hd_json_put_int(json, t);
        hd_json_put_text(json, ",");
        hd_json_put_int(json, (int64_t)search->track_hits[t]);
        hd_json_put_text(json, "]");
    }
    hd_json_put_text(json, "]");
    view_json_key(json, "names");
    hd_json_put_text(json, "[");
    for (uint32_t i = 0; i < search->name_count && i < NAMES_TOLD; i++) {
        if (i) hd_json_put_text(json, ",");
        hd_json_put_int(json, search->names[i]);
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "names_count", search->name_count);
    if (search->name_count > NAMES_TOLD) put_ranges(json, search);
}

/* ---- the route ---- */

/* Where to step from. */
typedef struct search_from {
    view_hit hit;
    bool behind; /* at a hit, which is not to be found again */
} search_from;

static hd_status read_query(view_search_query *out, const view_request *request, const view_scene *scene, hd_error *err)
{
    static const char *const modes[] = {"text", "regex", "glob", NULL}, *const places[] = {"names", "args", "all",
                                                                                           NULL};
    unsigned mode, in;
    int64_t match_case, track;
    *out = (view_search_query){.text = view_param_text(request, "q"), .track = HD_NONE};
    if (!out->text || !*out->text)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "q: says nothing to look for");
    HD_TRY(view_param_word(&mode, request, "mode", modes, err));
    HD_TRY(view_param_word(&in, request, "in", places, err));
    HD_TRY(view_param_int_or(&match_case, request, "case", 0, 1, 0, err));
    out->mode = (view_search_mode)mode;
    out->in = (view_search_in)in;
    out->match_case = match_case == 1;
    if (view_param_text(request, "track")) {
        HD_TRY(view_param_track(&track, request, scene, err));
        out->track = (uint32_t)track;
    }
    return HD_OK;
}

static hd_status read_from(search_from *from, const view_request *request, const view_scene *scene, hd_error *err)
{
    int64_t row;
    *from = (search_from){.hit = {.start_ns = INT64_MIN, .kind = HD_KIND_SLICE}};
    HD_TRY(view_param_int_or(&row, request, "row", 0, UINT32_MAX - 1, -1, err));
    if (view_param_text(request, "from"))
        HD_TRY(view_param_time(&from->hit.start_ns, request, "from", scene, err));
    else if (row >= 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "row: needs `from`, the start of that event");
    if (row < 0) return HD_OK;
    from->behind = true;
    from->hit.row = (uint32_t)row;
    return view_param_kind(&from->hit.kind, request, "kind", err);
}

static hd_status answer(view_reply *reply, const view_search *search, const search_from *from, int64_t began_ns,
                        hd_error *err)
{
    view_search_step step;
    hd_json_out *json = &reply->json;
    HD_TRY(view_search_step_from(&step, search, &from->hit, from->behind, err));
    hd_json_put_text(json, "{");
    put_counts(json, search);
    if (step.has_next) {
        put_hit(json, "next", search->scene, &step.next);
        view_json_int(json, "index", (int64_t)step.index);
    }
    if (step.has_previous) put_hit(json, "previous", search->scene, &step.previous);
    int64_t took = hd_now_ns() - began_ns;
    view_json_double(json, "ms", (double)(took / 10000) / 100);
    hd_json_put_text(json, "}");
    return view_json_done(reply, err);
}

hd_status view_param_search(view_request_search *out, const view_request *request, const view_scene *scene,
                            hd_error *err)
{
    view_search_query query;
    view_queries *queries = view_scene_queries(scene);
    *out = (view_request_search){0};
    HD_TRY(read_query(&query, request, scene, err));
    out->kept = find_kept(queries, &query);
    if (out->kept) {
        out->search = out->kept->search;
        return HD_OK;
    }
    HD_TRY(view_search_new(&out->search, scene, &query, 0, request->gone, err));
    if (!out->search->more) out->kept = keep(queries, out->search);
    return HD_OK;
}

void view_search_done(view_request_search *search, const view_scene *scene)
{
    if (search->kept)
        let_go(view_scene_queries(scene), search->kept);
    else
        view_search_free(search->search);
}

hd_status view_route_search(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    view_request_search of = {0};
    search_from from;
    int64_t began_ns = hd_now_ns();
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(read_from(&from, request, scene, err));
    hd_status status = view_param_search(&of, request, scene, err);
    if (status == HD_OK) status = answer(reply, of.search, &from, began_ns, err);
    view_search_done(&of, scene);
    return status;
}
