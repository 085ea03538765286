/* select.c - the table of a range of time, as JSON */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "view/queries/queries.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"
#include "view/select/select.h"

enum { MOST_NAMES = 100000, LIMIT_NAMES = 1000 };

typedef enum select_sort {
    SORT_TOTAL,
    SORT_COUNT,
    SORT_MEAN,
    SORT_P50,
    SORT_P99,
    SORT_MIN,
    SORT_MAX,
    SORT_SELF,
    SORT_NAME
} select_sort;

typedef struct select_question {
    view_scene *scene;
    uint32_t *tracks;
    size_t track_count;
    int64_t from, until;         /* the requested range, cut to the trace */
    int64_t all_from, all_until; /* the requested range; for the whole: all of time */
    int64_t limit;
    unsigned sort;
    bool up;                /* the least first */
    view_left_out left_out; /* is not counted */
    bool all_derived;       /* there were no others */
} select_question;

/* ---- order ---- */

typedef struct sort_key {
    double key;
    uint64_t count;
    const view_select_name *name;
    char *text; /* by name only: as it is shown */
    size_t text_size;
    bool up;
} sort_key;

static double key_of(const view_select_name *n, unsigned sort)
{
    switch (sort) {
    case SORT_COUNT: return (double)n->count;
    case SORT_MEAN: return n->mean_ns;
    case SORT_P50: return (double)n->p50_ns;
    case SORT_P99: return (double)n->p99_ns;
    case SORT_MIN: return (double)n->min_ns;
    case SORT_MAX: return (double)n->max_ns;
    case SORT_SELF: return (double)n->self_ns;
    case SORT_NAME: return 0;
    default: return (double)n->total_ns;
    }
}

static int by_text(const sort_key *x, const sort_key *y)
{
    size_t size = x->text_size < y->text_size ? x->text_size : y->text_size;
    int order = size ? memcmp(x->text, y->text, size) : 0;
    return order ? order : (x->text_size > y->text_size) - (x->text_size < y->text_size);
}

static int by_key(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    int order = x->key != y->key ? (x->key < y->key ? -1 : 1) : by_text(x, y);
    if (order) return x->up ? order : -order;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->name->name > y->name->name) - (x->name->name < y->name->name);
}

static void free_keys(sort_key *keys, size_t count)
{
    for (size_t i = 0; keys && i < count; i++) free(keys[i].text);
    free(keys);
}

/* NULL: no memory. */
static sort_key *sorted_keys(const select_question *q, const view_selection *selection)
{
    sort_key *keys = malloc((selection->name_count + 1) * sizeof *keys);
    if (!keys) return NULL;
    for (size_t i = 0; i < selection->name_count; i++) {
        const view_select_name *n = &selection->names[i];
        keys[i] = (sort_key){.key = key_of(n, q->sort), .count = n->count, .name = n, .up = q->up};
        if (q->sort != SORT_NAME) continue;
        char text[HD_NAME_BYTES];
        keys[i].text_size = hd_name_label(text, hd_name_plain(view_scene_text(q->scene, n->name)));
        keys[i].text = malloc(keys[i].text_size + 1);
        if (!keys[i].text) {
            free_keys(keys, i);
            return NULL;
        }
        memcpy(keys[i].text, text, keys[i].text_size);
    }
    hd_sort(keys, selection->name_count, sizeof *keys, by_key);
    return keys;
}

/* ---- JSON ---- */

static void put_null(hd_json_out *json, const char *key)
{
    view_json_key(json, key);
    hd_json_put_text(json, "null");
}

static void put_name(hd_json_out *json, const select_question *q, const view_select_name *n, double self_of_all)
{
    hd_string text = view_scene_text(q->scene, n->name);
    hd_json_put_text(json, "{");
    view_json_int(json, "name", n->name);
    view_json_text(json, "text", text);
    view_json_short(json, "short", text);
    view_json_int(json, "count", (int64_t)n->count);
    view_json_int(json, "total", n->total_ns);
    view_json_double(json, "mean", n->mean_ns);
    view_json_int(json, "p50", n->p50_ns);
    view_json_int(json, "p99", n->p99_ns);
    view_json_int(json, "min", n->min_ns);
    view_json_int(json, "max", n->max_ns);
    if (q->all_derived)
        put_null(json, "share");
    else
        view_json_double(json, "share", self_of_all > 0 ? (double)n->self_ns / self_of_all : 0);
    view_json_int(json, "self", n->self_ns);
    view_json_int(json, "longest_row", n->longest_row);
    view_json_int(json, "longest_track", n->longest_track);
    hd_json_put_text(json, "}");
}

static hd_status put_table(hd_json_out *json, const select_question *q, const view_selection *selection, hd_error *err)
{
    double self_of_all = 0;
    for (size_t i = 0; i < selection->name_count; i++) self_of_all += (double)selection->names[i].self_ns;
    sort_key *keys = sorted_keys(q, selection);
    if (!keys) return HD_NOMEM(err);
    view_json_key(json, "table");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < selection->name_count && i < (size_t)q->limit; i++) {
        if (i) hd_json_put_text(json, ",");
        put_name(json, q, keys[i].name, self_of_all);
    }
    hd_json_put_text(json, "]");
    free_keys(keys, selection->name_count);
    return HD_OK;
}

static void put_gaps(hd_json_out *json, const select_question *q, const view_selection *selection)
{
    view_json_key(json, "gaps");
    hd_json_put_text(json, "{");
    view_json_int(json, "count", (int64_t)selection->gap_count);
    view_json_int(json, "total", selection->has_busy ? view_length(q->from, q->until) - selection->busy_ns : 0);
    view_json_key(json, "longest");
    hd_json_put_text(json, "[");
    for (int i = 0; i < VIEW_GAPS && selection->gaps[i].length_ns > 0; i++) {
        hd_json_put_text(json, i ? ",{" : "{");
        view_json_time(json, "start", q->scene, selection->gaps[i].start_ns);
        view_json_int(json, "duration", selection->gaps[i].length_ns);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
}

static void put_counters(hd_json_out *json, const select_question *q)
{
    bool first = true;
    view_json_key(json, "counters");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < q->track_count; i++) {
        const view_track *track = view_scene_track(q->scene, q->tracks[i]);
        for (uint32_t s = 0; track->kind == VIEW_COUNTER && s < track->series_count; s++) {
            view_series_sum sum;
            if (!view_series_sum_up(&sum, &track->series[s], q->from, q->until)) continue;
            hd_json_put_text(json, first ? "{" : ",{");
            first = false;
            view_json_int(json, "track", track->id);
            view_json_text(json, "series", view_scene_text(q->scene, track->series[s].name));
            view_json_int(json, "samples", (int64_t)sum.samples);
            view_json_double(json, "min", sum.min);
            view_json_double(json, "max", sum.max);
            view_json_double(json, "mean", sum.mean);
            view_json_double(json, "first", sum.first);
            view_json_double(json, "last", sum.last);
            hd_json_put_text(json, "}");
        }
    }
    hd_json_put_text(json, "]");
}

static hd_status answer(view_reply *reply, const view_request *request, const select_question *q, hd_error *err)
{
    view_selection selection;
    hd_json_out *json = &reply->json;
    HD_TRY(
        view_select(&selection, q->scene, q->tracks, q->track_count, q->all_from, q->all_until, 0, request->gone, err));
    hd_status status =
        view_select_union(&selection, q->scene, q->tracks, q->track_count, q->from, q->until, 0, request->gone, err);
    int64_t span = view_length(q->from, q->until);
    hd_json_put_text(json, "{");
    view_json_time(json, "from", q->scene, q->from);
    view_json_time(json, "until", q->scene, q->until);
    view_json_int(json, "span", span);
    if (selection.has_busy) {
        view_json_int(json, "busy", selection.busy_ns);
        view_json_int(json, "idle", span - selection.busy_ns);
    } else {
        put_null(json, "busy");
        put_null(json, "idle");
    }
    view_json_int(json, "events", (int64_t)selection.events);
    view_json_int(json, "names", (int64_t)selection.name_count);
    view_json_int(json, "cut", (int64_t)selection.cut);
    view_json_bool(json, "derived", q->all_derived);
    view_json_int(json, "left_out", (int64_t)q->left_out.derived);
    view_json_int(json, "aside", (int64_t)q->left_out.aside);
    put_gaps(json, q, &selection);
    if (status == HD_OK) status = put_table(json, q, &selection, err);
    put_counters(json, q);
    hd_json_put_text(json, "}");
    view_selection_deinit(&selection);
    return status == HD_OK ? view_json_done(reply, err) : status;
}

hd_status view_route_select(view_reply *reply, const view_request *request, hd_error *err)
{
    static const char *const sorts[] = {"total", "count", "mean", "p50", "p99", "min", "max", "self", "name", NULL};
    static const char *const orders[] = {"usual", "up", "down", NULL};
    enum { ORDER_USUAL, ORDER_UP };
    select_question q = {0};
    unsigned order;
    HD_TRY(view_param_scene(&q.scene, reply, request, err));
    HD_TRY(view_param_range(&q.all_from, &q.all_until, request, q.scene, err));
    int64_t start = view_scene_start(q.scene), span = view_scene_span(q.scene);
    int64_t end = start > INT64_MAX - span ? INT64_MAX : start + span;
    q.from = q.all_from < start ? start : q.all_from > end ? end : q.all_from;
    q.until = q.all_until < q.from ? q.from : q.all_until > end ? end : q.all_until;
    HD_TRY(view_param_int_or(&q.limit, request, "limit", 0, MOST_NAMES, LIMIT_NAMES, err));
    HD_TRY(view_param_word(&q.sort, request, "sort", sorts, err));
    HD_TRY(view_param_word(&order, request, "order", orders, err));
    q.up = order == ORDER_UP || (order == ORDER_USUAL && q.sort == SORT_NAME);
    HD_TRY(view_param_tracks(&q.tracks, &q.track_count, reply, request, q.scene, err));
    view_select_originals(&q.left_out, q.tracks, &q.track_count, q.scene);
    for (size_t i = 0; i < q.track_count; i++) { /* by now all tracks of slices are, or none */
        const view_track *track = view_scene_track(q.scene, q.tracks[i]);
        q.all_derived |= track->kind == VIEW_SLICES && track->derived;
    }
    view_queries *queries = view_scene_queries(q.scene);
    pthread_mutex_lock(&queries->lock_select); /* each uses all cores, and 8 bytes an event */
    hd_status status = answer(reply, request, &q, err);
    pthread_mutex_unlock(&queries->lock_select);
    free(q.tracks);
    return status;
}
