/* collectives.c - GET /api/clocks and GET /api/collectives: compares open traces
 *
 * A collective is returned with the first trace of `with` that has it, so that a client that queries each trace gets it
 * once. Beyond the limit every n-th is returned.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "view/ranks/ranks.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"
#include "view/session/session.h"

enum { MEETINGS = 500, MEETINGS_MOST = 20000, TRACES_MOST = 64 };

view_route_run view_route_clocks;
view_route_run view_route_collectives;

static void put_null(hd_json_out *json, const char *key)
{
    view_json_key(json, key);
    hd_json_put_text(json, "null");
}

static void put_number(hd_json_out *json, const char *key, int64_t number, bool is_known)
{
    if (is_known)
        view_json_int(json, key, number);
    else
        put_null(json, key);
}

static void put_text(hd_json_out *json, const char *key, hd_string text)
{
    if (text.data)
        view_json_text(json, key, text);
    else
        put_null(json, key);
}

/* ---- clocks ---- */

static void put_clock(hd_json_out *json, const view_clock *c)
{
    const char *basis = hd_clock_basis_name(c->basis);
    bool is_known = c->basis != HD_CLOCK_UNKNOWN && c->basis != HD_CLOCK_REFUSED;
    hd_json_put_text(json, "{");
    view_json_int(json, "trace", c->trace);
    view_json_text(json, "basis", (hd_string){basis, strlen(basis)});
    put_number(json, "host", c->host, c->host != HD_NONE);
    put_number(json, "offset_ns", c->place_ns, is_known);
    put_number(json, "shift_ns", c->shift_ns, is_known);
    put_number(json, "bar_ns", c->bar_ns, is_known);
    put_text(json, "why", is_known || !c->why ? (hd_string){0} : (hd_string){c->why, strlen(c->why)});
    view_json_int(json, "collectives", (int64_t)c->collectives);
    view_json_int(json, "ranks", (int64_t)c->ranks);
    view_json_text(json, "of", c->is_of_job ? (hd_string){"job", 3} : (hd_string){"open", 4});
    hd_json_put_text(json, "}");
}

hd_status view_route_clocks(view_reply *reply, const view_request *request, hd_error *err)
{
    view_ranks *ranks = view_session_ranks(request->session);
    const view_picture *p;
    view_clock *list;
    size_t count;
    hd_json_out *json = &reply->json;
    HD_TRY(view_ranks_take(&p, ranks, request->session, err));
    hd_status status = view_ranks_clocks(&list, &count, ranks, p, request->session, err);
    view_ranks_give(ranks);
    if (status == HD_ERR_LIMIT) reply->status = 503;
    if (status != HD_OK) return status;
    hd_json_put_text(json, "{");
    view_json_key(json, "clocks");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < count; i++) {
        if (i) hd_json_put_text(json, ",");
        put_clock(json, &list[i]);
    }
    hd_json_put_text(json, "]}");
    free(list);
    return view_json_done(reply, err);
}

/* ---- which collectives ---- */

/* The part of a collective in one trace. */
typedef struct part {
    uint32_t slot, trace, at; /* trace: place in `with`; at: in its list */
} part;

typedef struct question {
    view_session *session;
    const view_picture *picture;
    uint32_t trace, own; /* own: its place in `with` */
    int64_t from, until; /* of its clock */
    int64_t row, limit;  /* row below 0: all in the range */
    uint32_t *with;
    size_t with_count, meetings;
    view_collectives *of; /* by place in `with` */
    uint32_t *slots;      /* by collective: 1 + its slot, 0: not requested */
    part *parts;
    size_t slot_count, part_count, part_capacity;
} question;

static bool is_asked(const question *q, const hd_collective *c, const view_meeting *m)
{
    if (q->row >= 0) return c->event == (uint64_t)q->row;
    return m->number != HD_NONE && c->start_ns < q->until && c->end_ns >= q->from;
}

static bool add_part(question *q, uint32_t slot, size_t trace, size_t at)
{
    if (!hd_grow((void **)&q->parts, &q->part_capacity, q->part_count, sizeof *q->parts)) return false;
    q->parts[q->part_count++] = (part){slot, (uint32_t)trace, (uint32_t)at};
    return true;
}

/* A collective that no other trace has is requested by its row only, and is its own part. */
static bool find_parts(question *q)
{
    const view_collectives *own = &q->of[q->own];
    bool fine = true;
    for (size_t i = 0; fine && own->list && i < hd_collectives_count(own->list); i++) {
        const view_meeting *m = &own->meetings[i];
        if (!is_asked(q, hd_collectives_at(own->list, i), m)) continue;
        if (m->number == HD_NONE)
            fine = add_part(q, (uint32_t)q->slot_count++, q->own, i);
        else if (!q->slots[m->number])
            q->slots[m->number] = (uint32_t)++q->slot_count;
    }
    for (size_t t = 0; fine && q->slot_count <= MEETINGS_MOST && t < q->with_count; t++) {
        const view_collectives *of = &q->of[t];
        for (size_t i = 0; fine && of->list && i < hd_collectives_count(of->list); i++) {
            uint32_t number = of->meetings[i].number;
            if (number != HD_NONE && q->slots[number]) fine = add_part(q, q->slots[number] - 1, t, i);
        }
    }
    return fine;
}

static int compare_parts(const void *x, const void *y)
{
    const part *a = x, *b = y;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    if (a->trace != b->trace) return a->trace < b->trace ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Whether the parts [first, end) are returned here: a single one is not a line, and collectives of an earlier trace are
 * returned there. */
static bool is_told(const question *q, size_t first, size_t end)
{
    return q->row >= 0 || (q->parts[first].trace == q->own && end - first > 1);
}

static size_t end_of(const question *q, size_t first)
{
    size_t end = first;
    while (end < q->part_count && q->parts[end].slot == q->parts[first].slot) end++;
    return end;
}

/* ---- JSON ---- */

/* [trace, track, depth, start, duration, row, rank, device] */
static void put_part(hd_json_out *json, const question *q, const part *of)
{
    const hd_collective *c = hd_collectives_at(q->of[of->trace].list, of->at);
    const view_scene *scene = view_session_scene_again(q->session, q->with[of->trace]);
    view_place where = {0};
    uint32_t track = view_scene_track_of_event(scene, HD_KIND_SLICE, c->event);
    if (track != HD_NONE) (void)view_place_on(&where, scene, track, (uint32_t)c->event, c->start_ns);
    const int64_t numbers[] = {q->with[of->trace],
                               track == HD_NONE ? -1 : (int64_t)track,
                               where.depth,
                               view_length(view_scene_start(scene), c->start_ns),
                               c->end_ns - c->start_ns,
                               (int64_t)c->event,
                               c->rank,
                               c->device};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        hd_json_put_text(json, i ? "," : "[");
        if (numbers[i] == HD_NO_NUMBER)
            hd_json_put_text(json, "null");
        else
            hd_json_put_int(json, numbers[i]);
    }
    hd_json_put_text(json, "]");
}

static void put_meeting(hd_json_out *json, const question *q, size_t first, size_t end)
{
    const view_collectives *of = &q->of[q->parts[first].trace];
    const hd_collective *c = hd_collectives_at(of->list, q->parts[first].at);
    const view_meeting *m = &of->meetings[q->parts[first].at];
    bool known = m->number != HD_NONE;
    hd_json_put_text(json, "{");
    put_text(json, "group", c->group);
    put_number(json, "stream", c->stream, c->stream != HD_NO_NUMBER);
    put_text(json, "operation", c->operation);
    bool counted = c->sequence_is_counted;
    view_json_int(json, "sequence", counted ? c->sequence % HD_COLLECTIVES_OF_STEP : c->sequence);
    view_json_key(json, "counted");
    hd_json_put_text(json, counted ? "true" : "false");
    put_number(json, "step", c->sequence / HD_COLLECTIVES_OF_STEP - 1,
               counted && c->sequence >= HD_COLLECTIVES_OF_STEP);
    put_number(json, "size", c->size, c->size != HD_NO_NUMBER);
    put_number(json, "ranks", m->ranks, true);
    put_number(json, "last_rank", m->last_rank, known && m->last_rank != HD_NO_NUMBER);
    put_number(json, "last_device", m->last_device, known && m->last_device != HD_NO_NUMBER);
    put_number(json, "longest", m->longest, known);
    put_number(json, "shortest", m->shortest, known);
    view_json_key(json, "parts");
    hd_json_put_text(json, "[");
    for (size_t i = first; i < end; i++) {
        if (i > first) hd_json_put_text(json, ",");
        put_part(json, q, &q->parts[i]);
    }
    hd_json_put_text(json, "]}");
}

/* Beyond MEETINGS_MOST they are only counted, including those returned with another trace. */
static void put_meetings(hd_json_out *json, const question *q)
{
    uint64_t count = 0, seen = 0, told = 0;
    for (size_t i = 0; i < q->part_count; i = end_of(q, i)) count += is_told(q, i, end_of(q, i));
    uint64_t limit = (uint64_t)q->limit < count ? (uint64_t)q->limit : count;
    hd_json_put_text(json, "{");
    view_json_key(json, "collectives");
    hd_json_put_text(json, "[");
    for (size_t i = 0, end; told < limit && i < q->part_count; i = end) {
        end = end_of(q, i);
        if (!is_told(q, i, end) || seen++ < told * count / limit) continue;
        if (told++) hd_json_put_text(json, ",");
        put_meeting(json, q, i, end);
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "count", (int64_t)(q->slot_count > MEETINGS_MOST ? q->slot_count : count));
    hd_json_put_text(json, "}");
}

/* ---- the route ---- */

static hd_status read_question(question *q, view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    int64_t trace;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_int(&trace, request, "trace", 0, UINT32_MAX, err));
    HD_TRY(view_param_range(&q->from, &q->until, request, scene, err));
    HD_TRY(view_param_int_or(&q->row, request, "row", 0, UINT32_MAX, -1, err));
    HD_TRY(view_param_int_or(&q->limit, request, "limit", 0, MEETINGS_MOST, MEETINGS, err));
    HD_TRY(view_param_list(&q->with, &q->with_count, request, "with", view_session_count(request->session), TRACES_MOST,
                           err));
    q->trace = (uint32_t)trace;
    size_t own = 0;
    bool twice = false;
    for (size_t i = 0; i < q->with_count; i++) {
        for (size_t k = 0; k < i; k++) twice |= q->with[k] == q->with[i];
        if (q->with[i] != q->trace) continue;
        q->own = (uint32_t)i;
        own++;
    }
    if (own == 1 && !twice) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "with has to name the trace as well, and none of them twice");
}

static hd_status answer(view_reply *reply, question *q, view_ranks *ranks, hd_error *err)
{
    HD_TRY(view_ranks_late(ranks, err));
    q->of = calloc(q->with_count, sizeof *q->of);
    if (!q->of) return HD_NOMEM(err);
    hd_status status =
        view_ranks_collectives(q->of, &q->meetings, ranks, q->picture, q->session, q->with, q->with_count, err);
    if (status == HD_ERR_LIMIT) reply->status = 503;
    if (status != HD_OK) return status;
    q->slots = calloc(q->meetings + 1, sizeof *q->slots);
    bool fine = q->slots && find_parts(q);
    if (fine && q->part_count) hd_sort(q->parts, q->part_count, sizeof *q->parts, compare_parts);
    if (fine) put_meetings(&reply->json, q);
    view_ranks_give_collectives(ranks);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status view_route_collectives(view_reply *reply, const view_request *request, hd_error *err)
{
    view_ranks *ranks = view_session_ranks(request->session);
    question q = {.session = request->session};
    hd_status status = read_question(&q, reply, request, err);
    if (status == HD_OK) status = view_ranks_take(&q.picture, ranks, request->session, err);
    if (status == HD_OK) {
        status = answer(reply, &q, ranks, err);
        view_ranks_give(ranks);
    }
    free(q.with);
    free(q.of);
    free(q.slots);
    free(q.parts);
    return status == HD_OK ? view_json_done(reply, err) : status;
}
