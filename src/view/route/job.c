/* job.c - GET /api/job, GET /api/job/late and POST /api/job/open: the picture of a job's ranks, and the trace of one
 *
 * A picture is "HDJ1", the size of a JSON text in 32 bits, that text, and the arrays of figures that it names, all at
 * multiples of 8 bytes, little endian: uint32 with 4294967295 for unknown values if all fit, else doubles with NaN.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/ranks/ranks.h"
#include "view/route/route.h"
#include "view/session/session.h"

typedef struct figures {
    const char *name;
    view_figure figure;
    const int64_t *late; /* NULL: that figure of the picture */
} figures;

static const char *const figure_names[] = {[VIEW_TIME] = "time", [VIEW_EXPOSED] = "exposed", [VIEW_IDLE] = "idle"};

/* ---- numbers ---- */

static int64_t figure_at(const figures *of, const view_picture *p, size_t row, size_t step)
{
    return of->late ? of->late[row * p->step_count + step] : view_picture_at(p, of->figure, row, step);
}

static bool fits_in_32_bits(const figures *of, const view_picture *p)
{
    for (size_t row = 0; row < p->row_count; row++) {
        for (size_t step = 0; step < p->step_count; step++) {
            int64_t figure = figure_at(of, p, row, step);
            if (figure != HD_NO_NUMBER && (figure < 0 || figure >= UINT32_MAX)) return false;
        }
    }
    return true;
}

static void align(hd_bytes *bytes)
{
    static const char zeros[8];
    hd_bytes_put(bytes, zeros, (8 - bytes->size % 8) % 8);
}

static void put_figures(hd_bytes *bytes, const figures *of, const view_picture *p, bool narrow)
{
    size_t size = p->row_count * p->step_count * (narrow ? 4 : 8);
    uint8_t *at = hd_bytes_room(bytes, size);
    if (!at) return;
    for (size_t row = 0; row < p->row_count; row++) {
        for (size_t step = 0; step < p->step_count; step++, at += narrow ? 4 : 8) {
            int64_t figure = figure_at(of, p, row, step);
            double value = figure == HD_NO_NUMBER ? NAN : (double)figure;
            uint64_t bits;
            memcpy(&bits, &value, 8);
            if (narrow)
                hd_le_put(at, figure == HD_NO_NUMBER ? UINT32_MAX : (uint64_t)figure, 4);
            else
                hd_le_put(at, bits, 8);
        }
    }
    bytes->size += size;
    align(bytes);
}

/* `json` without its last brace is the head of the answer, followed by the figures. */
static void put_answer(view_reply *reply, hd_json_out *json, const figures *all, size_t count, const view_picture *p)
{
    size_t cells = p->row_count * p->step_count;
    bool narrow[VIEW_FIGURES];
    view_json_int(json, "cells", (int64_t)cells);
    view_json_key(json, "figures");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < count; i++) {
        narrow[i] = fits_in_32_bits(&all[i], p);
        hd_json_put_text(json, i ? ",{" : "{");
        view_json_text(json, "name", (hd_string){all[i].name, strlen(all[i].name)});
        view_json_int(json, "bytes", narrow[i] ? 4 : 8);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
    hd_bytes *bytes = &reply->bytes;
    hd_bytes_put(bytes, "HDJ1", 4);
    hd_bytes_put_le(bytes, json->size, 4);
    hd_bytes_put(bytes, json->data, json->size);
    align(bytes);
    for (size_t i = 0; i < count; i++) put_figures(bytes, &all[i], p, narrow[i]);
    bytes->failed |= json->failed;
    reply->type = "application/octet-stream";
    free(json->data);
}

/* ---- texts ---- */

static void put_or_null(hd_json_out *json, int64_t number)
{
    if (number == HD_NO_NUMBER)
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, number);
}

static void put_rows(hd_json_out *json, const view_picture *p)
{
    static const char *const names[] = {"rank", "device", "source", "member", "trace"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        view_json_key(json, names[n]);
        hd_json_put_text(json, "[");
        for (size_t i = 0; i < p->row_count; i++) {
            const view_picture_row *row = &p->rows[i];
            const int64_t numbers[] = {row->rank, row->device, row->source, row->member, row->trace};
            if (i) hd_json_put_text(json, ",");
            put_or_null(json, numbers[n]);
        }
        hd_json_put_text(json, "]");
    }
}

static void put_texts(hd_json_out *json, const view_picture *p, bool hosts)
{
    view_json_key(json, hosts ? "host" : "file");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < p->row_count; i++) {
        const hd_job_member *about = p->rows[i].about;
        hd_string text = hosts ? about->host : about->file;
        if (i) hd_json_put_text(json, ",");
        hd_json_put_string(json, text.data ? text.data : "", text.data ? text.size : 0);
    }
    hd_json_put_text(json, "]");
}

static void put_roles(hd_json_out *json, const view_picture *p)
{
    bool is_first = true;
    view_json_key(json, "roles");
    hd_json_put_text(json, "[");
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        const char *name = job_dimension_name((job_dimension)d);
        if (!p->roles[d]) continue;
        hd_json_put_text(json, is_first ? "{" : ",{");
        is_first = false;
        view_json_text(json, "name", (hd_string){name, strlen(name)});
        view_json_key(json, "at");
        for (size_t i = 0; i < p->row_count; i++) {
            hd_json_put_text(json, i ? "," : "[");
            put_or_null(json, p->roles[d][i]);
        }
        hd_json_put_text(json, "]}");
    }
    hd_json_put_text(json, "]");
}

/* The number of ranks of the job: the maximum in its traces. */
static void put_world(hd_json_out *json, const view_picture *p)
{
    int64_t world = HD_NO_NUMBER;
    for (size_t i = 0; i < p->row_count; i++) {
        int64_t own = p->rows[i].about->world_size;
        if (own != HD_NO_NUMBER && (world == HD_NO_NUMBER || own > world)) world = own;
    }
    view_json_key(json, "world");
    put_or_null(json, world);
}

/* Appends lines as texts. */
static void put_lines(hd_json_out *json, const char *lines)
{
    while (lines && *lines) {
        size_t size = strcspn(lines, "\n");
        if (json->size && json->data[json->size - 1] != '[') hd_json_put_text(json, ",");
        hd_json_put_string(json, lines, size);
        lines += size + (lines[size] == '\n');
    }
}

static void put_picture(hd_json_out *json, const view_picture *p, view_ranks *ranks)
{
    hd_json_out lost = {0};
    hd_json_put_text(json, "{");
    view_json_int(json, "number", (int64_t)p->number);
    put_rows(json, p);
    put_texts(json, p, true);
    put_texts(json, p, false);
    put_world(json, p);
    view_json_key(json, "steps");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < p->step_count; i++) {
        if (i) hd_json_put_text(json, ",");
        hd_json_put_string(json, p->steps[i].data, p->steps[i].size);
    }
    hd_json_put_text(json, "]");
    view_json_key(json, "notes");
    hd_json_put_text(json, "[");
    view_ranks_lost(&lost, ranks);
    hd_json_put(&lost, "", 1);
    put_lines(json, lost.data);
    put_lines(json, p->lost);
    hd_json_put_text(json, "]");
    json->failed |= lost.failed;
    free(lost.data);
}

/* ---- the routes ---- */

view_route_run view_route_job;
bool view_route_job_waits(const view_request *request);
view_route_run view_route_job_late;
view_route_run view_route_job_open;

/* A request for a revision that does not exist yet waits for it. */
bool view_route_job_waits(const view_request *request)
{
    int64_t revision;
    return view_param_int_or(&revision, request, "revision", 0, INT64_MAX, 0, NULL) == HD_OK &&
           view_ranks_lacks(view_session_ranks(request->session), (uint64_t)revision);
}

enum { ASKED_FOR = 3 };
/* The comma-separated figures of the parameter `figures`; all if it is absent. */
static hd_status list_figures(view_figure *out, size_t *out_count, const view_request *request, hd_error *err)
{
    const char *list = view_param_text(request, "figures");
    *out_count = 0;
    for (size_t i = 0; !list && i < ASKED_FOR; i++) out[(*out_count)++] = (view_figure)i;
    while (list) {
        size_t size = strcspn(list, ","), i = 0;
        while (i < ASKED_FOR && (strlen(figure_names[i]) != size || memcmp(figure_names[i], list, size) != 0)) i++;
        if (i == ASKED_FOR || *out_count == ASKED_FOR)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "parameter figures is a list of time, exposed, idle, three at most");
        out[(*out_count)++] = (view_figure)i;
        list = list[size] ? list + size + 1 : NULL;
    }
    return HD_OK;
}

hd_status view_route_job(view_reply *reply, const view_request *request, hd_error *err)
{
    view_ranks *ranks = view_session_ranks(request->session);
    const view_picture *p;
    view_figure wanted[ASKED_FOR];
    figures list[ASKED_FOR];
    size_t count;
    hd_json_out json = {0};
    int64_t revision;
    HD_TRY(list_figures(wanted, &count, request, err));
    HD_TRY(view_param_int_or(&revision, request, "revision", 0, INT64_MAX, 0, err));
    if (view_ranks_lacks(ranks, (uint64_t)revision)) {
        reply->status = 202;
        hd_json_put_text(&reply->json, "{}");
        return HD_OK;
    }
    HD_TRY(view_ranks_take(&p, ranks, request->session, err));
    put_picture(&json, p, ranks);
    for (size_t i = 0; i < count; i++) list[i] = (figures){.name = figure_names[wanted[i]], .figure = wanted[i]};
    put_answer(reply, &json, list, count, p);
    view_ranks_give(ranks);
    return HD_OK;
}

/* The picture that parameter `of` names: 409 if there is another by now. */
static hd_status take_same(const view_picture **out, view_reply *reply, const view_request *request, hd_error *err)
{
    view_ranks *ranks = view_session_ranks(request->session);
    int64_t number;
    HD_TRY(view_param_int(&number, request, "of", 0, INT64_MAX, err));
    HD_TRY(view_ranks_take(out, ranks, request->session, err));
    if ((int64_t)(*out)->number == number) return HD_OK;
    view_ranks_give(ranks);
    reply->status = 409;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "more ranks are there by now: ask again");
}

hd_status view_route_job_late(view_reply *reply, const view_request *request, hd_error *err)
{
    view_ranks *ranks = view_session_ranks(request->session);
    const view_picture *p;
    hd_json_out json = {0};
    HD_TRY(take_same(&p, reply, request, err));
    hd_status status = view_ranks_late(ranks, err);
    if (status == HD_OK) {
        hd_json_put_text(&json, "{\"notes\":[");
        if (p->differs)
            put_lines(
                &json,
                "Ranks of a group differ in their collectives: no lateness is given for these, nor, where traces do "
                "not number them, of what the group has in that step. The reports stragglers (table "
                "mismatched) and job (behind) name them.");
        put_lines(&json, p->late_lost);
        hd_json_put_text(&json, "]");
        put_roles(&json, p);
        const figures late = {.name = "late", .late = p->late};
        put_answer(reply, &json, &late, 1, p);
    }
    view_ranks_give(ranks);
    return status;
}

/* The trace of a row, opened unless it is open already. */
static hd_status open_row(uint32_t *out, view_reply *reply, view_session *session, const view_picture_row *row,
                          hd_error *err)
{
    char *path;
    if (row->trace >= 0) {
        *out = (uint32_t)row->trace;
        return HD_OK;
    }
    hd_status found = view_ranks_file(&path, view_session_ranks(session), row, err);
    if (found == HD_ERR_IO) reply->status = 404; /* no fault of the server: the file is elsewhere */
    HD_TRY(found);
    hd_status status = view_session_open(out, session, path, err);
    free(path);
    return status;
}

hd_status view_route_job_open(view_reply *reply, const view_request *request, hd_error *err)
{
    const view_picture *p;
    hd_json_out *json = &reply->json;
    int64_t row, step;
    uint32_t trace;
    HD_TRY(view_param_int(&row, request, "row", 0, UINT32_MAX, err));
    HD_TRY(view_param_int(&step, request, "step", 0, UINT32_MAX, err));
    HD_TRY(take_same(&p, reply, request, err));
    hd_status status = (size_t)row < p->row_count && (size_t)step < p->step_count
                           ? open_row(&trace, reply, request->session, &p->rows[row], err)
                           : hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no such row or step");
    if (status == HD_OK) {
        int64_t start = view_picture_at(p, VIEW_START, (size_t)row, (size_t)step);
        hd_json_put_text(json, "{");
        view_json_int(json, "trace", trace);
        view_json_key(json, "start");
        hd_json_put_text(json, start == HD_NO_NUMBER ? "null" : "\"");
        if (start != HD_NO_NUMBER) {
            hd_json_put_int(json, start);
            hd_json_put_text(json, "\"");
        }
        view_json_key(json, "duration");
        put_or_null(json, view_picture_at(p, VIEW_TIME, (size_t)row, (size_t)step));
        hd_json_put_text(json, "}");
    }
    view_ranks_give(view_session_ranks(request->session));
    return status;
}
