/* query_maker.h - scenes from text, and routes asked as a page would; for tests of the routes about events */
#ifndef HD_TESTS_QUERY_MAKER_H
#define HD_TESTS_QUERY_MAKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_trace.h"
#include "read_text.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"
#include "view/session/session.h"

typedef struct maker {
    view_session *session;
    view_scene *scene; /* of trace 0 */
    const hd_trace *trace;
    view_reply reply; /* the last answer */
    hd_status status;
    hd_error error;
} maker;

static void no_news(void *user, const char *what)
{
    (void)user;
    (void)what;
}

static void maker_open(maker *m, const char *text)
{
    hd_trace *trace;
    atomic_bool stop = false;
    uint32_t number;
    memset(m, 0, sizeof *m);
    assert_int_equal(read_text(&trace, text, strlen(text), NULL, 0, &m->error), HD_OK);
    assert_int_equal(view_scene_new(&m->scene, trace, &m->error), HD_OK);
    assert_int_equal(view_scene_work(m->scene, &stop, no_news, NULL, &m->error), HD_OK);
    m->trace = view_scene_trace(m->scene);
    assert_int_equal(view_session_new(&m->session, NULL, &m->error), HD_OK);
    assert_int_equal(view_session_add_scene(&number, m->session, m->scene, "made by hand.json.gz", &m->error), HD_OK);
    assert_int_equal(number, 0);
}

static void maker_close(maker *m)
{
    view_reply_deinit(&m->reply);
    view_session_free(m->session);
}

/* The answer to a request as text, or NULL after an error. */
static const char *maker_run(maker *m, view_route_run *run, const view_request *request)
{
    view_reply_deinit(&m->reply);
    memset(&m->reply, 0, sizeof m->reply);
    memset(&m->error, 0, sizeof m->error);
    m->status = run(&m->reply, request, &m->error);
    if (m->status != HD_OK) {
        assert_int_not_equal(m->error.message[0], 0);
        return NULL;
    }
    hd_json_put(&m->reply.json, "", 1);
    m->reply.json.size--;
    return m->reply.json.data;
}

/* Ask for "a=1&b=2" of trace 0, with a body (file descriptor + 1, 0: none). Values are taken as they stand. */
static const char *maker_send(maker *m, view_route_run *run, const char *query, int body, const atomic_bool *gone)
{
    char copy[4096] = "trace=0&";
    view_param params[32];
    view_request request = {.session = m->session, .path = "/api/test", .params = params, .body = body, .gone = gone};
    assert_true(strlen(query) < sizeof copy - 16);
    strcat(copy, query);
    for (char *at = copy, *next; at && *at; at = next) {
        if ((next = strchr(at, '&'))) *next++ = '\0';
        char *value = strchr(at, '=');
        assert_non_null(value);
        *value++ = '\0';
        params[request.param_count++] = (view_param){at, value};
    }
    return maker_run(m, run, &request);
}

static inline const char *maker_ask(maker *m, view_route_run *run, const char *query)
{
    return maker_send(m, run, query, 0, NULL);
}

/* The same of any length of one parameter, which is the only one but trace. */
static inline hd_status maker_ask_long(maker *m, view_route_run *run, const char *name, const char *value)
{
    view_param params[2] = {{"trace", "0"}, {name, value}};
    view_request request = {.session = m->session, .path = "/api/test", .params = params, .param_count = 2};
    view_reply_deinit(&m->reply);
    memset(&m->reply, 0, sizeof m->reply);
    memset(&m->error, 0, sizeof m->error);
    m->status = run(&m->reply, &request, &m->error);
    return m->status;
}

static inline void has(const char *answer, const char *part)
{
    if (answer && strstr(answer, part)) return;
    fail_msg("no %s in %s", part, answer ? answer : "(an error)");
}

static inline void has_not(const char *answer, const char *part)
{
    if (answer && !strstr(answer, part)) return;
    fail_msg("%s in %s", part, answer ? answer : "(an error)");
}

/* The number behind "key": (the first). */
static inline int64_t number_of(const char *answer, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = answer ? strstr(answer, quoted) : NULL;
    if (!at) fail_msg("no %s in %s", key, answer ? answer : "(an error)");
    return strtoll(at + strlen(quoted), NULL, 10);
}

/* ---- random traces ---- */

typedef struct random_shape {
    unsigned events, threads, names;
    unsigned span, longest; /* us */
} random_shape;

/* Slices that nest and cross, some without length, on some threads; instants among them. */
static inline char *random_text(uint64_t *seed, random_shape shape)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "[");
    for (unsigned i = 0; i < shape.events; i++) {
        char line[256];
        unsigned start = random_next(seed) % shape.span, kind = random_next(seed) % 16;
        unsigned length = kind == 0 ? 0 : random_next(seed) % shape.longest;
        if (kind < 4) start -= start % 50; /* many start together */
        unsigned name = random_next(seed) % shape.names, thread = random_next(seed) % shape.threads;
        snprintf(line, sizeof line,
                 "%s{\"ph\":\"%s\",\"name\":\"Name %u\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u,"
                 "\"args\":{\"step\":%u,\"Kind\":\"k%u\"}}",
                 i ? "," : "", kind == 1 ? "i" : "X", name, thread, start, length, i % 7, name % 3);
        hd_json_put_text(&out, line);
    }
    hd_json_put_text(&out, "]");
    hd_json_put(&out, "", 1);
    assert_false(out.failed);
    return out.data;
}

/* The events of a table that stand on a track of the scene, as slices, in order. */
static inline view_slice *slices_of(const view_scene *scene, uint32_t track, size_t *out_count)
{
    const hd_trace *trace = view_scene_trace(scene);
    hd_kind kind = view_scene_track(scene, track)->events;
    view_slice *list = malloc(((size_t)hd_trace_row_count(trace, kind) + 1) * sizeof *list);
    *out_count = 0;
    for (uint64_t row = 0; row < hd_trace_row_count(trace, kind); row++) {
        uint32_t at;
        hd_event event;
        if (view_scene_track_of_event(scene, kind, row) != track) continue;
        const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
        hd_block_event(&event, block, at);
        int64_t length = kind == HD_KIND_SLICE && event.duration_ns > 0 ? event.duration_ns : 0;
        view_slice slice = {
            .start_ns = event.start_ns, .end_ns = event.start_ns + length, .name = event.name, .row = (uint32_t)row};
        size_t place = (*out_count)++;
        for (; place > 0 && view_slice_compare(&slice, &list[place - 1]) < 0; place--) list[place] = list[place - 1];
        list[place] = slice;
    }
    return list;
}

#endif
