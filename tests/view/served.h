/* served.h - a server under test, with the routes of heddle view and some of its own */
#ifndef HD_TESTS_VIEW_SERVED_H
#define HD_TESTS_VIEW_SERVED_H

#include <fcntl.h>
#include <signal.h>

#include "base/io/temporary.h"
#include "view/http_client.h"
#include "view/route/session.h"
#include "view/server/impl.h"

enum { BIG_BYTES = 32 << 20 };

view_route_run view_route_open;
view_route_run view_route_close;

/* Bytes 0, 1, 2 … of the size that is asked for. */
static hd_status route_bytes(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t size;
    HD_TRY(view_param_int(&size, request, "size", 0, BIG_BYTES, err));
    uint8_t *room = hd_bytes_room(&reply->bytes, (size_t)size + 1);
    if (!room) return HD_NOMEM(err);
    for (int64_t i = 0; i < size; i++) {
        if (i % 65536 == 0 && atomic_load(request->gone)) return HD_OK;
        room[i] = (uint8_t)(i * 7 + i / 256);
    }
    reply->bytes.size = (size_t)size;
    reply->type = "application/octet-stream";
    reply->immutable = view_param_text(request, "immutable") != NULL;
    reply->is_packed = view_param_text(request, "packed") != NULL;
    return HD_OK;
}

static hd_status route_file(view_reply *reply, const view_request *request, hd_error *err)
{
    int fd;
    (void)request;
    HD_TRY(hd_temporary_nameless(&fd, err));
    assert_int_equal(write(fd, "cropped", 7), 7);
    reply->file = fd + 1;
    reply->file_name = strdup("a \"b\"\r\n\xc3\xa9.json");
    reply->type = "application/x-heddle";
    return HD_OK;
}

/* Fails as it is told. */
static hd_status route_fail(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t status, code;
    HD_TRY(view_param_int(&status, request, "status", 0, 599, err));
    HD_TRY(view_param_int(&code, request, "code", HD_ERR_ARGUMENT, HD_ERR_UNSUPPORTED, err));
    reply->status = (unsigned)status;
    hd_json_put_text(&reply->json, "half an answer");
    return hd_error_set(err, (hd_status)code, NULL, HD_OFFSET_NONE, "it \"failed\"");
}

/* Works until its client goes away: how many run, and how many noticed. */
static atomic_int slow_running, slow_noticed;

static hd_status route_slow(view_reply *reply, const view_request *request, hd_error *err)
{
    (void)err;
    atomic_fetch_add(&slow_running, 1);
    while (!atomic_load(request->gone)) sleep_ms(5);
    atomic_fetch_add(&slow_noticed, 1);
    hd_json_put_text(&reply->json, "{}");
    atomic_fetch_sub(&slow_running, 1);
    return HD_OK;
}

static const view_route served_routes[] = {
    {"/api/session", "GET", view_route_session, .waits = view_route_session_waits},
    {"/api/open", "POST", view_route_open},
    {"/api/close", "POST", view_route_close},
    {"/api/bytes", "GET", route_bytes},
    {"/api/file", "GET", route_file},
    {"/api/fail", "GET", route_fail},
    {"/api/slow", "GET", route_slow, .is_long = true},
    {0},
};

/* Nothing ends because of time, unless a test says so. */
static inline view_limits served_limits(void)
{
    view_limits limits = VIEW_LIMITS;
    limits.routes = served_routes;
    limits.slow_ms = limits.poll_ms = limits.long_ms = INT64_C(10) * client_patience_ms();
    return limits;
}

static inline hd_view *serve_with(const view_limits *limits, const hd_view_options *options)
{
    hd_view *view;
    hd_error err = {0};
    atomic_store(&slow_noticed, 0);
    if (view_start(&view, NULL, 0, options, limits, &err) != HD_OK) fail_msg("%s", err.message);
    return view;
}

static inline hd_view *serve(void)
{
    const view_limits limits = served_limits();
    return serve_with(&limits, NULL);
}

static inline bool comes_to(atomic_int *value, int wanted)
{
    int64_t until = clock_ms() + client_patience_ms();
    while (atomic_load(value) != wanted && clock_ms() < until) sleep_ms(5);
    return atomic_load(value) == wanted;
}

/* How many requests are in a state. */
static inline unsigned jobs_in(hd_view *view, view_job_state state)
{
    unsigned count = 0;
    pthread_mutex_lock(&view->lock);
    for (const view_job *job = view->jobs; job; job = job->next) count += job->state == state;
    pthread_mutex_unlock(&view->lock);
    return count;
}

static inline bool jobs_come_to(hd_view *view, view_job_state state, unsigned wanted)
{
    int64_t until = clock_ms() + client_patience_ms();
    while (jobs_in(view, state) != wanted && clock_ms() < until) sleep_ms(5);
    return jobs_in(view, state) == wanted;
}

/* Says POST /api/open with a body. */
static inline answer post_file(uint16_t port, const char *path, const char *body)
{
    char *text = NULL;
    assert_true(asprintf(&text,
                         "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                         path, strlen(body), body) > 0);
    answer a = client_ask(port, text);
    free(text);
    return a;
}

/* /api/session once it holds a text. */
static inline bool session_comes_to_say(uint16_t port, const char *text)
{
    int64_t until = clock_ms() + client_patience_ms();
    bool found = false;
    while (!found && clock_ms() < until) {
        answer a = client_get(port, "/api/session", NULL);
        found = answer_has(&a, text);
        answer_free(&a);
        if (!found) sleep_ms(10);
    }
    return found;
}

#endif
