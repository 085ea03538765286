/* test_stepped.c - a session without threads, driven by its caller, answers what one with threads does */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "view/engine/engine.h"
#include "view/route/route.h"
#include "view/session/session.h"
#include "view/sql/sql.h"

static bool starts_none; /* as where there are no threads */

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    return starts_none ? EAGAIN : __real_pthread_create(out, attributes, run, user);
}

static char path[] = "/tmp/heddle-stepped-XXXXXX";

static const char text[] =
    "{\"traceEvents\":["
    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"name\":\"aten::mm\",\"ts\":10,\"dur\":40},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":1,\"name\":\"cudaLaunchKernel\",\"ts\":20,\"dur\":5,"
    "\"args\":{\"correlation\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"name\":\"gemm\",\"ts\":30,\"dur\":90,"
    "\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"name\":\"mark\",\"ts\":60,\"s\":\"t\"},"
    "{\"ph\":\"C\",\"pid\":1,\"name\":\"bytes\",\"ts\":5,\"args\":{\"v\":3}},"
    "{\"ph\":\"C\",\"pid\":1,\"name\":\"bytes\",\"ts\":95,\"args\":{\"v\":8}}]}";

static int write_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return fd >= 0 && close(fd) == 0 && fine ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static view_session *stepped_session(const char *file)
{
    const view_session_options options = {.threads = 1, .is_stepped = true};
    view_session *session;
    uint32_t id;
    assert_int_equal(view_session_new(&session, &options, NULL), HD_OK);
    assert_false(view_session_step(session)); /* nothing to do */
    assert_int_equal(view_session_add(&id, session, file, NULL), HD_OK);
    assert_int_equal(view_session_count_of(session, VIEW_READING), 1);
    return session;
}

static unsigned run_steps(view_session *session)
{
    unsigned steps = 0;
    while (view_session_step(session)) assert_true(++steps < 1000);
    assert_true(view_session_is_idle(session));
    return steps;
}

/* The answer of a route as "status type body"; the caller frees it. */
static char *answer(view_session *session, const char *route, const view_param *params, size_t count)
{
    const view_route *r = view_routes;
    while (r->path && strcmp(r->path, route) != 0) r++;
    assert_non_null(r->path);
    view_reply reply = {0};
    hd_error err = {0};
    const view_request request = {.session = session, .path = route, .params = params, .param_count = count};
    hd_status status = r->run(&reply, &request, &err);
    size_t size = reply.bytes.size ? reply.bytes.size : reply.json.size;
    const char *data = reply.bytes.size ? (const char *)reply.bytes.data : reply.json.data;
    char *out = calloc(1, 2 * size + sizeof err.message + 64);
    int at = sprintf(out, "%d %s %s ", (int)status, reply.type ? reply.type : "", err.message);
    for (size_t i = 0; i < size; i++) at += sprintf(out + at, "%02x", (unsigned char)data[i]);
    view_reply_deinit(&reply);
    return out;
}

static void assert_same_answers(view_session *a, view_session *b)
{
    static const view_param lists[][3] = {
        {{"trace", "0"}, {"kind", "slice"}, {"row", "1"}},
        {{"trace", "0"}, {"z", "0"}, {"i", "0"}},
        {{"trace", "0"}, {"name", "kernels"}, {"sort", "self"}},
    };
    static const char *const routes[] = {"/api/tracks", "/api/event",  "/api/derived", "/api/select", "/api/flows",
                                         "/api/report", "/api/search", "/api/names",   "/api/flame",  "/api/fidelity"};
    for (size_t r = 0; r < sizeof routes / sizeof *routes; r++) {
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            char *of_a = answer(a, routes[r], lists[i], 3), *of_b = answer(b, routes[r], lists[i], 3);
            assert_string_equal(of_a, of_b);
            free(of_a);
            free(of_b);
        }
    }
}

static void test_stepped__answers_as_with_threads(void **state)
{
    view_session *with, *stepped;
    const view_session_options options = {.threads = 1};
    uint32_t id;
    (void)state;
    assert_int_equal(view_session_new(&with, &options, NULL), HD_OK);
    assert_int_equal(view_session_add(&id, with, path, NULL), HD_OK);
    starts_none = true;
    stepped = stepped_session(path);
    assert_true(view_session_step(stepped));
    assert_int_equal(view_session_count_of(stepped, VIEW_READY), 1);
    assert_true(run_steps(stepped) > 10); /* so that requests are answered in between */
    starts_none = false;
    for (hd_json_out out = {0};; out.size = 0) { /* until the other is done */
        view_session_write(&out, with);
        hd_json_put(&out, "", 1);
        bool is_done = strstr(out.data, "\"busy\":\"\"") && strstr(out.data, "\"ready\"");
        if (is_done) free(out.data);
        if (is_done) break;
        usleep(1000);
    }
    assert_same_answers(with, stepped);
    view_session_free(with);
    view_session_free(stepped);
}

static void test_stepped__a_file_that_cannot_be_read_is_one_step(void **state)
{
    (void)state;
    view_session *session = stepped_session("/nonexistent/trace.json");
    assert_int_equal(run_steps(session), 1);
    assert_int_equal(view_session_failures(session), 1);
    view_session_free(session);
}

/* 0: the statement ends by itself. */
static hd_status run_query(view_session *session, const char *sql, int64_t timeout_ms, hd_error *err)
{
    view_sql_run run;
    hd_status status = view_sql_begin(&run, session, sql, strlen(sql), timeout_ms, NULL, err);
    while (status == HD_OK) status = view_sql_next(&run, err);
    view_sql_end(&run);
    return status;
}

static void test_stepped__queries_are_limited_without_a_thread(void **state)
{
    static const char for_ever[] =
        "with recursive n(x) as (select 1 union all select x + 1 from n) select max(x) from n";
    hd_error err = {0};
    (void)state;
    view_session *session = stepped_session(path);
    run_steps(session);
    starts_none = true;
    hd_status status = run_query(session, "select count(*) from slice", 600000, &err);
    if (status != HD_ERR_UNSUPPORTED) { /* a build without SQLite */
        assert_int_equal(status, HD_END);
        assert_int_equal(run_query(session, for_ever, 50, &err), HD_ERR_LIMIT);
        assert_non_null(strstr(err.message, "after 50 ms"));
        memset(&err, 0, sizeof err);
        assert_int_equal(run_query(session, "select sum(dur) from slice", 600000, &err), HD_END);
    }
    starts_none = false;
    view_session_free(session);
}

/* Requests that began before the trace was closed may use its scene to their end, later ones do not delay it. */
static void test_session__a_closed_trace_is_freed_once_no_request_uses_it(void **state)
{
    view_use early, late, reader;
    view_scene *scene;
    hd_error err = {0};
    (void)state;
    view_session *session = stepped_session(path);
    run_steps(session);
    (void)run_query(session, "select count(*) from slice", 600000, &err); /* leaves a connection to the trace */
    view_session_enter(&reader, session);
    view_session_enter(&early, session);
    assert_int_equal(view_session_scene(&scene, session, 0), VIEW_READY);
    view_session_leave(&reader, session);
    assert_int_equal(view_session_close(session, 0, &err), HD_OK);
    assert_int_equal(view_session_scene(&scene, session, 0), VIEW_CLOSED);
    assert_null(scene);
    view_session_enter(&late, session);
    assert_non_null(view_session_scene_again(session, 0));
    assert_true(view_scene_track_count(view_session_scene_again(session, 0)) > 0);
    view_session_leave(&early, session);
    assert_null(view_session_scene_again(session, 0));
    assert_int_equal(view_session_close(session, 0, &err), HD_ERR_ARGUMENT);
    view_session_leave(&late, session);
    if (run_query(session, "select 1", 600000, &err) == HD_END) fail_msg("there is a trace");
    view_session_free(session);
}

static void assert_answer(hd_engine *engine, const char *method, const char *uri, const char *body, int status,
                          const char *part)
{
    assert_int_equal(hd_engine_ask(engine, method, uri, body, body ? strlen(body) : 0), status);
    char *got = strndup(hd_engine_data(engine), hd_engine_size(engine));
    if (!strstr(got, part)) fail_msg("no %s in %s", part, got);
    free(got);
}

typedef struct seen {
    hd_engine *engine;
    int count;
} seen;

/* within a step only /api/session is requested. */
static void on_news(void *user)
{
    seen *s = user;
    s->count++;
    assert_answer(s->engine, "GET", "/api/session", NULL, 200, "\"traces\"");
}

static void test_engine__answers_requests_without_a_server(void **state)
{
    (void)state;
    starts_none = true;
    hd_engine *engine = hd_engine_begin(1 << 28);
    seen news = {.engine = engine};
    hd_engine_on_news(engine, on_news, &news);
    assert_int_equal(hd_engine_open(engine, path, 0), 0);
    assert_answer(engine, "GET", "/api/session", NULL, 200, "\"reading\"");
    assert_answer(engine, "GET", "/api/tracks?trace=0", NULL, 409, "error");
    while (hd_engine_step(engine)) assert_answer(engine, "GET", "/api/session?with=tracks", NULL, 200, "\"traces\"");
    assert_answer(engine, "GET", "/api/event?trace=0&kind=slice&row=2", NULL, 200, "gemm");
    assert_true(news.count > 1);
    assert_answer(engine, "GET", "/api/nothing", NULL, 404, "no such path");
    assert_answer(engine, "GET", "/api/engine", NULL, 404, "make wasm");
    assert_answer(engine, "POST", "/api/session", NULL, 405, "method");
    assert_answer(engine, "GET", "/api/event?trace=0&kind=slice&row=%zz", NULL, 400, "error");
    assert_answer(engine, "GET", "/api/crop?trace=0&format=json", NULL, 200, "traceEvents");
    assert_string_equal(hd_engine_type(engine), "application/json");
    assert_non_null(strstr(hd_engine_file_name(engine), ".json"));
    if (hd_engine_ask(engine, "GET", "/api/query/tables", NULL, 0) == 200) /* else a build without SQLite */
    {
        assert_answer(engine, "POST", "/api/query", "select name from slice order by id", 200, "aten::mm");
        assert_answer(engine, "POST", "/api/query?format=parquet", "select name, dur from slice", 200, "PAR1");
        assert_string_equal(hd_engine_type(engine), "application/vnd.apache.parquet");
        assert_answer(engine, "POST", "/api/query?format=parquet", "select bogus", 200, "no such column");
        assert_int_equal(hd_engine_ask(engine, "POST", "/api/query?format=arrow", "select name from slice", 22), 200);
        assert_string_equal(hd_engine_type(engine), "application/vnd.apache.arrow.stream");
        assert_memory_equal(hd_engine_data(engine), "\xff\xff\xff\xff", 4);
        assert_answer(engine, "POST", "/api/query?format=csv", "select 1", 400, "format");
    }
    hd_engine_end(engine);
    starts_none = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stepped__answers_as_with_threads),
        cmocka_unit_test(test_stepped__a_file_that_cannot_be_read_is_one_step),
        cmocka_unit_test(test_stepped__queries_are_limited_without_a_thread),
        cmocka_unit_test(test_session__a_closed_trace_is_freed_once_no_request_uses_it),
        cmocka_unit_test(test_engine__answers_requests_without_a_server),
    };
    return cmocka_run_group_tests(tests, write_file, remove_file);
}
