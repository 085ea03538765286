/* test_server.c - heddle view's server: what it answers, and to whom */
#include "view/served.h"

static const char one_slice[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":10}]";

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static bool realtime_is_late;

/* As if the clock were set back an hour as soon as somebody has looked at it. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int status = __real_clock_gettime(clock, out);
    if (clock == CLOCK_REALTIME && realtime_is_late) out->tv_sec += 3600;
    return status;
}

/* ---- the page ---- */

static void test_server__page_files_are_the_same_packed_and_plain(void **state)
{
    (void)state;
    if (!hd_view_has_page()) skip();
    hd_view *view = serve();
    char type[512], etag[512], same[600];
    answer plain = client_get(hd_view_port(view), "/", NULL);
    answer packed = client_get(hd_view_port(view), "/index.html", "Accept-Encoding: br, gzip\r\n");
    hd_bytes unpacked = {0};
    assert_int_equal(plain.status, 200);
    assert_true(answer_has(&plain, "<!doctype html>"));
    assert_string_equal(answer_header(type, &plain, "Content-Type"), "text/html; charset=utf-8");
    assert_string_equal(answer_header(type, &packed, "Content-Encoding"), "gzip");
    assert_int_equal(hd_gzip_decompress(&unpacked, packed.body, packed.size, 1 << 20, NULL), HD_OK);
    assert_int_equal(unpacked.size, plain.size);
    assert_memory_equal(unpacked.data, plain.body, plain.size);
    snprintf(same, sizeof same, "If-None-Match: \"x\", W/%s\r\n", answer_header(etag, &plain, "ETag"));
    assert_int_equal(client_status(hd_view_port(view), "/", same), 304);
    assert_int_equal(client_status(hd_view_port(view), "/", "If-None-Match: \"x\"\r\n"), 200);
    hd_bytes_deinit(&unpacked);
    answer_free(&plain);
    answer_free(&packed);
    hd_view_free(view);
}

static void test_server__every_answer_forbids_what_the_page_does_not_need(void **state)
{
    (void)state;
    hd_view *view = serve();
    const char *paths[] = {"/", "/api/session", "/api/none", "/api/fail?status=0&code=2", "/api/file"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[512];
        answer a = client_get(hd_view_port(view), paths[i], NULL);
        assert_non_null(strstr(answer_header(text, &a, "Content-Security-Policy"), "default-src 'none'"));
        assert_string_equal(answer_header(text, &a, "X-Content-Type-Options"), "nosniff");
        assert_string_equal(answer_header(text, &a, "Referrer-Policy"), "no-referrer");
        assert_string_equal(answer_header(text, &a, "Cross-Origin-Resource-Policy"), "same-origin");
        answer_free(&a);
    }
    hd_view_free(view);
}

/* ---- answers of routes ---- */

static void check_bytes(const uint8_t *data, size_t size, size_t expected)
{
    assert_int_equal(size, expected);
    for (size_t i = 0; i < size; i++) assert_int_equal(data[i], (uint8_t)(i * 7 + i / 256));
}

static void test_server__answers_are_the_same_in_every_encoding(void **state)
{
    (void)state;
    hd_view *view = serve();
    const char *const encodings[] = {"", "gzip", "zstd"};
    for (int i = 0; i < 3; i++) {
        char header[64], text[512];
        hd_bytes plain = {0};
        snprintf(header, sizeof header, "Accept-Encoding: deflate, %s;q=0.5\r\n", encodings[i]);
        answer a = client_get(hd_view_port(view), "/api/bytes?size=300000", i ? header : NULL);
        assert_string_equal(answer_header(text, &a, "Content-Encoding"), encodings[i]);
        if (i == 1) assert_int_equal(hd_gzip_decompress(&plain, a.body, a.size, 1 << 20, NULL), HD_OK);
        if (i == 2) {
            hd_decompressor *state_of_it = NULL;
            assert_int_equal(hd_decompress(hd_bytes_room(&plain, 300000), 300000, &state_of_it, a.body, a.size, NULL),
                             HD_OK);
            hd_decompressor_free(state_of_it);
            plain.size = 300000;
        }
        if (i) assert_true(a.size < 300000);
        check_bytes(i ? plain.data : a.body, i ? plain.size : a.size, 300000);
        hd_bytes_deinit(&plain);
        answer_free(&a);
    }
    hd_view_free(view);
}

static void test_server__small_and_packed_answers_are_sent_as_they_are(void **state)
{
    (void)state;
    hd_view *view = serve();
    const char *const paths[] = {"/api/bytes?size=1000", "/api/bytes?size=300000&packed=1", "/api/bytes?size=0"};
    const size_t sizes[] = {1000, 300000, 0};
    for (int i = 0; i < 3; i++) {
        char text[512];
        answer a = client_get(hd_view_port(view), paths[i], "Accept-Encoding: zstd, gzip\r\n");
        assert_int_equal(a.status, 200);
        assert_string_equal(answer_header(text, &a, "Content-Encoding"), "");
        check_bytes(a.body, a.size, sizes[i]);
        answer_free(&a);
    }
    hd_view_free(view);
}

static void test_server__only_what_is_immutable_may_be_kept(void **state)
{
    (void)state;
    hd_view *view = serve();
    char text[512];
    answer kept = client_get(hd_view_port(view), "/api/bytes?size=10&immutable=1&s=5f0c", NULL);
    answer not_kept = client_get(hd_view_port(view), "/api/bytes?size=10", NULL);
    answer failed = client_get(hd_view_port(view), "/api/bytes?size=x&immutable=1", NULL);
    assert_string_equal(answer_header(text, &kept, "Cache-Control"), "private, max-age=31536000, immutable");
    assert_string_equal(answer_header(text, &not_kept, "Cache-Control"), "no-store");
    assert_string_equal(answer_header(text, &failed, "Cache-Control"), "no-store");
    answer_free(&kept);
    answer_free(&not_kept);
    answer_free(&failed);
    hd_view_free(view);
}

static void test_server__failures_are_json_with_a_status(void **state)
{
    (void)state;
    hd_view *view = serve();
    const struct {
        hd_status code;
        int status, expected;
    } rows[] = {{HD_ERR_ARGUMENT, 0, 400}, {HD_ERR_ARGUMENT, 404, 404}, {HD_ERR_FORMAT, 409, 409},
                {HD_ERR_MEMORY, 0, 503},   {HD_ERR_LIMIT, 0, 413},      {HD_ERR_IO, 200, 500}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64];
        snprintf(path, sizeof path, "/api/fail?code=%d&status=%d", rows[i].code, rows[i].status);
        answer a = client_get(hd_view_port(view), path, NULL);
        assert_int_equal(a.status, rows[i].expected);
        assert_int_equal(a.size, strlen("{\"error\":\"it \\\"failed\\\"\"}"));
        assert_memory_equal(a.body, "{\"error\":\"it \\\"failed\\\"\"}", a.size);
        answer_free(&a);
    }
    hd_view_free(view);
}

static void test_server__a_file_is_a_download_with_a_harmless_name(void **state)
{
    (void)state;
    hd_view *view = serve();
    size_t before = open_files();
    char text[512];
    answer a = client_get(hd_view_port(view), "/api/file", "Accept-Encoding: gzip\r\n");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.size, 7);
    assert_memory_equal(a.body, "cropped", 7);
    assert_string_equal(answer_header(text, &a, "Content-Disposition"),
                        "attachment; filename=\"a _b_____.json\"; filename*=UTF-8''a%20%22b%22%0D%0A%C3%A9.json");
    answer_free(&a);
    assert_true(files_close_to(before));
    hd_view_free(view);
}

static void test_server__head_is_get_without_its_body(void **state)
{
    (void)state;
    hd_view *view = serve();
    char text[512];
    answer a = client_ask(hd_view_port(view), "HEAD /api/bytes?size=5000 HTTP/1.1\r\nHost: localhost\r\n"
                                              "Connection: close\r\n\r\n");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.size, 0);
    assert_string_equal(answer_header(text, &a, "Content-Length"), "5000");
    answer_free(&a);
    hd_view_free(view);
}

static void test_server__other_methods_and_paths_are_refused(void **state)
{
    (void)state;
    hd_view *view = serve();
    const struct {
        const char *line;
        int status;
    } rows[] = {{"DELETE /api/session", 405}, {"POST /api/session", 405}, {"PUT /", 405},
                {"GET /api/open", 405},       {"GET /api/none", 404},     {"GET /none.js", 404},
                {"OPTIONS /", 405},           {"BREW /api/session", 405}, {"GET /api/session/", 404},
                {"GET /api/", 404},           {"GET //api/session", 404}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", rows[i].line);
        answer a = client_ask(hd_view_port(view), text);
        if (a.status != rows[i].status) fail_msg("%s: %d", rows[i].line, a.status);
        assert_true(answer_has(&a, "{\"error\":"));
        answer_free(&a);
    }
    hd_view_free(view);
}

/* ---- sessions ---- */

static void test_server__a_dropped_file_becomes_a_trace(void **state)
{
    (void)state;
    hd_view *view = serve();
    uint16_t port = hd_view_port(view);
    answer a = post_file(port, "/api/open?name=%2Fetc%2Fb%C3%A9.json", one_slice);
    assert_int_equal(a.status, 200);
    assert_true(answer_has(&a, "{\"trace\":0}"));
    answer_free(&a);
    assert_true(session_comes_to_say(port, "\"name\":\"b\xc3\xa9.json\",\"format\":\"chrome\",\"state\":\"ready\""));
    a = post_file(port, "/api/open?name=bad", "no trace at all, whatever one makes of it");
    assert_true(answer_has(&a, "{\"trace\":1}"));
    answer_free(&a);
    assert_true(session_comes_to_say(port, "\"name\":\"bad\",\"format\":\"\",\"state\":\"failed\""));
    assert_int_equal(hd_view_failures(view), 0); /* a client's files are not those that the server is there for */
    hd_view_free(view);
}

static void test_server__a_closed_trace_is_in_no_answer(void **state)
{
    (void)state;
    hd_view *view = serve();
    uint16_t port = hd_view_port(view);
    for (int i = 0; i < 2; i++) {
        answer a = post_file(port, i ? "/api/open?name=b.json" : "/api/open?name=a.json", one_slice);
        answer_free(&a);
    }
    assert_true(session_comes_to_say(port, "\"name\":\"a.json\",\"format\":\"chrome\",\"state\":\"ready\""));
    assert_true(session_comes_to_say(port, "\"name\":\"b.json\",\"format\":\"chrome\",\"state\":\"ready\""));
    static const struct {
        const char *path;
        int status;
    } asked[] = {{"/api/close?trace=2", 400},
                 {"/api/close?trace=-1", 400},
                 {"/api/close", 400},
                 {"/api/close?trace=0", 200},
                 {"/api/close?trace=0", 400}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        answer a = post_file(port, asked[i].path, "");
        assert_int_equal(a.status, asked[i].status);
        answer_free(&a);
    }
    answer a = client_get(port, "/api/session?with=tracks", NULL);
    assert_false(answer_has(&a, "a.json"));
    assert_true(answer_has(&a, "\"traces\":[{\"id\":1,\"name\":\"b.json\""));
    assert_true(answer_has(&a, "\"lists\":[{"));
    answer_free(&a);
    a = post_file(port, "/api/open?name=c.json", one_slice);
    assert_true(answer_has(&a, "{\"trace\":2}")); /* a number is not used again */
    answer_free(&a);
    hd_view_free(view);
}

static void test_server__connections_that_wait_make_room_for_new_ones(void **state)
{
    (void)state;
    enum { LIMIT = 64, IDLE = 3 * LIMIT };
    view_limits limits = served_limits();
    limits.connections = LIMIT;
    hd_view *view = serve_with(&limits, NULL);
    uint16_t port = hd_view_port(view);
    int idle[IDLE];
    for (int i = 0; i < IDLE; i++) {
        idle[i] = client_dial(port);
        if (i % 2) client_say(idle[i], "GET /api/session HTTP/1.1\r\nHost: "); /* and no more of it */
    }
    assert_int_equal(client_status(port, "/api/session?after=0", NULL), 200);
    for (int i = 0; i < IDLE; i++) close(idle[i]);
    hd_view_free(view);
}

static void test_server__a_long_poll_ends_when_there_is_news(void **state)
{
    (void)state;
    hd_view *view = serve();
    uint16_t port = hd_view_port(view);
    int polls[20];
    for (int i = 0; i < 20; i++) {
        polls[i] = client_dial(port);
        client_say(polls[i], "GET /api/session?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    assert_true(jobs_come_to(view, VIEW_JOB_PARKED, 20));
    for (int i = 0; i < 20; i++) {
        char byte;
        assert_int_equal(recv(polls[i], &byte, 1, MSG_DONTWAIT), -1);
    }
    assert_int_equal(client_status(port, "/api/session?after=0", NULL), 200); /* nobody waits for those who wait */
    answer posted = post_file(port, "/api/open", one_slice);
    assert_int_equal(posted.status, 200);
    answer_free(&posted);
    for (int i = 0; i < 20; i++) {
        answer a = client_read(polls[i], false);
        assert_int_equal(a.status, 200);
        assert_true(answer_has(&a, "\"name\":\"dropped file\""));
        answer_free(&a);
        close(polls[i]);
    }
    hd_view_free(view);
}

/* Asks what takes for ever, from another address of this machine. */
static int ask_slow_from(uint16_t port, uint32_t address)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (const struct sockaddr *)&from, sizeof from) != 0 ||
        connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    client_say(fd, "GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return fd;
}

static void test_server__long_requests_of_one_client_do_not_stop_those_of_others(void **state)
{
    (void)state;
    enum { ASKED = 20 };
    view_limits limits = served_limits();
    limits.long_ms = 1;
    hd_view *view = serve_with(&limits, NULL);
    uint16_t port = hd_view_port(view);
    int mine[ASKED];
    for (int i = 0; i < ASKED; i++) mine[i] = ask_slow_from(port, INADDR_LOOPBACK);
    assert_true(comes_to(&slow_running, VIEW_LONG_OF_ONE));
    assert_true(jobs_come_to(view, VIEW_JOB_QUEUED, ASKED - VIEW_LONG_OF_ONE));
    int other = ask_slow_from(port, INADDR_LOOPBACK + 1); /* behind all of those */
    if (other >= 0) assert_true(comes_to(&slow_running, VIEW_LONG_OF_ONE + 1));
    assert_int_equal(client_status(port, "/api/bytes?size=1", NULL), 200);
    for (int i = 0; i < ASKED; i++) close(mine[i]);
    assert_true(comes_to(&slow_running, other >= 0));
    if (other >= 0) close(other);
    assert_true(comes_to(&slow_running, 0));
    assert_true(jobs_come_to(view, VIEW_JOB_RUNNING, 0));
    assert_int_equal(view->running_long + view->gave_place, 0);
    hd_view_free(view);
}

static void test_server__a_long_poll_ends_when_its_time_is_up(void **state)
{
    (void)state;
    view_limits limits = served_limits();
    limits.poll_ms = 1;
    hd_view *view = serve_with(&limits, NULL);
    answer a = client_get(hd_view_port(view), "/api/session?after=1", NULL);
    assert_int_equal(a.status, 200);
    assert_true(answer_has(&a, "\"traces\":[]"));
    answer_free(&a);
    hd_view_free(view);
}

static void write_rank(char *path, int rank, const char *base, int ts)
{
    snprintf(path, 64, "/tmp/heddle-rank%d-XXXXXX.json", rank);
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    dprintf(
        fd,
        "{\"baseTimeNanoseconds\": %s, \"traceEvents\": [{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%d,"
        "\"dur\":1000000}]}",
        base, ts);
    close(fd);
}

static void check_offsets(const char *base, const char *other, const char *axis, const char *offset)
{
    char paths[2][64];
    const char *names[] = {paths[0], paths[1]};
    hd_view *view;
    write_rank(paths[0], 0, base, 100);
    write_rank(paths[1], 1, other, 50);
    assert_int_equal(hd_view_start(&view, names, 2, NULL, NULL), HD_OK);
    assert_true(session_comes_to_say(hd_view_port(view), offset));
    while (hd_view_reading(view)) sleep_ms(5);
    answer a = client_get(hd_view_port(view), "/api/session", NULL);
    assert_true(answer_has(&a, axis));
    assert_true(answer_has(&a, offset));
    assert_true(answer_has(&a, "\"rank\":0,") && answer_has(&a, "\"rank\":1,"));
    answer_free(&a);
    hd_view_free(view);
    unlink(paths[0]);
    unlink(paths[1]);
}

static void test_server__ranks_stand_on_one_axis(void **state)
{
    (void)state;
    check_offsets("1700000000000000000", "1700000000000200000", "\"axis\":\"unix\"", "\"offset_ns\":150000,");
}

static void test_server__traces_of_other_days_begin_together(void **state)
{
    (void)state;
    check_offsets("1700000000000000000", "1600000000000000000", "\"axis\":\"start\"", "\"offset_ns\":0,");
}

static void count_failure(void *user, const char *path, const hd_error *why)
{
    assert_string_equal(path, "/nothing/here.json");
    assert_int_equal(why->status, HD_ERR_IO);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void test_server__a_file_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    atomic_int failures = 0;
    const char *path = "/nothing/here.json";
    const hd_view_options options = {.failed = count_failure, .failed_user = &failures};
    hd_view *view;
    assert_int_equal(hd_view_start(&view, &path, 1, &options, NULL), HD_OK);
    assert_true(comes_to(&failures, 1));
    assert_int_equal(hd_view_failures(view), 1);
    assert_true(session_comes_to_say(hd_view_port(view), "\"state\":\"failed\""));
    hd_view_free(view);
}

/* ---- who may ask ---- */

static void test_server__without_the_token_nothing_is_told(void **state)
{
    (void)state;
    const view_limits limits = served_limits();
    hd_view *view = serve_with(&limits, &(hd_view_options){.listen = "127.0.0.1"});
    uint16_t port = hd_view_port(view);
    const char *token = hd_view_token(view);
    char header[256], path[128], wrong[64], expected[128];
    assert_int_equal(strlen(token), 32);
    snprintf(expected, sizeof expected, "http://127.0.0.1:%u/?token=%s", port, token);
    assert_string_equal(hd_view_url(view), expected);
    snprintf(wrong, sizeof wrong, "%s", token);
    wrong[31] = wrong[31] == '0' ? '1' : '0';
    const char *const paths[] = {"/", "/api/session", "/none", "/api/none"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(client_status(port, paths[i], NULL), 401);
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\nCookie: heddle_%u=%s\r\n", wrong, port, wrong);
        assert_int_equal(client_status(port, paths[i], header), 401);
        snprintf(header, sizeof header, "Authorization: Bearer %.31s\r\n", token);
        assert_int_equal(client_status(port, paths[i], header), 401);
    }
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
    assert_int_equal(client_status(port, "/api/session", header), 200);
    snprintf(header, sizeof header, "Cookie: a=b; heddle_%u=%s; c=d\r\n", port, token);
    assert_int_equal(client_status(port, "/api/session", header), 200);
    snprintf(path, sizeof path, "/api/session?token=%s", token);
    assert_int_equal(client_status(port, path, NULL), 401); /* addresses of the API get written down */
    hd_view_free(view);
}

static void test_server__the_address_with_the_token_sets_the_cookie(void **state)
{
    (void)state;
    if (!hd_view_has_page()) skip();
    const view_limits limits = served_limits();
    hd_view *view = serve_with(&limits, &(hd_view_options){.token = true});
    char path[128], expected[128], text[512];
    snprintf(path, sizeof path, "/?token=%s", hd_view_token(view));
    answer a = client_get(hd_view_port(view), path, NULL);
    snprintf(expected, sizeof expected, "heddle_%u=%s; HttpOnly; SameSite=Strict; Path=/", hd_view_port(view),
             hd_view_token(view));
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_header(text, &a, "Set-Cookie"), expected);
    answer_free(&a);
    hd_view_free(view);
}

/* ---- ports, starting, stopping ---- */

static void test_server__a_taken_port_is_an_error_or_the_next_is_taken(void **state)
{
    (void)state;
    hd_view *first = serve(), *second;
    hd_error err = {0};
    char text[64];
    hd_view_options options = {.port = hd_view_port(first)};
    assert_int_equal(hd_view_start(&second, NULL, 0, &options, &err), HD_ERR_IO);
    assert_null(second);
    snprintf(text, sizeof text, "port %u of this machine is taken", hd_view_port(first));
    assert_non_null(strstr(err.message, text));
    options.next_port = true;
    assert_int_equal(hd_view_start(&second, NULL, 0, &options, NULL), HD_OK);
    assert_true(hd_view_port(second) > hd_view_port(first));
    assert_int_equal(client_status(hd_view_port(second), "/api/session", NULL), 200);
    hd_view_free(second);
    hd_view_free(first);
}

static void test_server__an_address_of_another_machine_is_refused(void **state)
{
    (void)state;
    hd_view *view;
    hd_error err = {0};
    assert_int_equal(hd_view_start(&view, NULL, 0, &(hd_view_options){.listen = "192.0.2.1"}, &err), HD_ERR_ARGUMENT);
    assert_int_equal(err.status, HD_ERR_ARGUMENT);
    err = (hd_error){0};
    assert_int_equal(hd_view_start(&view, NULL, 0, &(hd_view_options){.listen = "no address!"}, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "cannot listen on 'no address!'"));
}

static void test_server__stops_at_once_whatever_is_asked(void **state)
{
    (void)state;
    size_t before = open_files();
    hd_view *view = serve();
    int fds[12];
    for (int i = 0; i < 12; i++) {
        const char *const lines[] = {"GET /api/session?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                     "GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                     "GET /api/bytes?size=30000000 HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /api"};
        fds[i] = client_dial(hd_view_port(view));
        client_say(fds[i], lines[i % 4]);
    }
    assert_true(jobs_come_to(view, VIEW_JOB_PARKED, 3) && comes_to(&slow_running, view->worker_count > 5 ? 3 : 2));
    assert_true(hd_view_stop(view, (unsigned)client_patience_ms()));
    assert_int_equal(client_try(hd_view_port(view)), -1);
    hd_view_free(view);
    for (int i = 0; i < 12; i++) close(fds[i]);
    assert_int_equal(open_files(), before);
}

static void test_server__a_clock_that_is_set_back_delays_nothing(void **state)
{
    (void)state;
    view_limits limits = served_limits();
    limits.slow_ms = 100;
    realtime_is_late = true;
    hd_view *view = serve_with(&limits, NULL);
    int fd = client_dial(hd_view_port(view));
    struct pollfd silent = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&silent, 1, client_patience_ms()), 1); /* it is shut: it said nothing */
    realtime_is_late = false;
    close(fd);
    hd_view_free(view);
}

static void test_server__starts_and_stops_often(void **state)
{
    (void)state;
    size_t before = open_files();
    for (int i = 0; i < 10; i++) hd_view_free(serve());
    assert_int_equal(open_files(), before);
    hd_view_free(NULL);
}

/* ---- many ---- */

typedef struct asker {
    pthread_t thread;
    uint16_t port;
    unsigned right;
} asker;

/* 50 requests on one connection, of changing size. */
static void *ask_often(void *user)
{
    asker *own = user;
    int fd = client_try(own->port);
    for (unsigned i = 0; fd >= 0 && i < 50; i++) {
        char text[160];
        size_t size = i * 977 % 20000;
        snprintf(text, sizeof text, "GET /api/bytes?size=%zu HTTP/1.1\r\nHost: localhost\r\n\r\n", size);
        client_say(fd, text);
        answer a = client_read(fd, false);
        own->right += a.status == 200 && a.size == size &&
                      (size == 0 || a.body[size - 1] == (uint8_t)((size - 1) * 7 + (size - 1) / 256));
        answer_free(&a);
    }
    close(fd);
    return NULL;
}

static void test_server__twenty_clients_at_once_get_their_own_answers(void **state)
{
    (void)state;
    hd_view *view = serve();
    asker askers[20] = {0};
    for (int i = 0; i < 20; i++) {
        askers[i].port = hd_view_port(view);
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].right, 50);
    }
    hd_view_free(view);
}

static void test_server__long_work_leaves_room_for_quick(void **state)
{
    (void)state;
    hd_view *view = serve();
    int fds[30], most = (int)view->worker_count - 2;
    if (most > VIEW_LONG_OF_ONE) most = VIEW_LONG_OF_ONE;
    for (int i = 0; i < 30; i++) {
        fds[i] = client_dial(hd_view_port(view));
        client_say(fds[i], "GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    assert_true(comes_to(&slow_running, most) && jobs_come_to(view, VIEW_JOB_QUEUED, 30 - (unsigned)most));
    for (int i = 0; i < 20; i++) assert_int_equal(client_status(hd_view_port(view), "/api/bytes?size=10", NULL), 200);
    for (int i = 0; i < 30; i++) close(fds[i]);
    assert_true(comes_to(&slow_running, 0));
    hd_view_free(view);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server__page_files_are_the_same_packed_and_plain),
        cmocka_unit_test(test_server__every_answer_forbids_what_the_page_does_not_need),
        cmocka_unit_test(test_server__answers_are_the_same_in_every_encoding),
        cmocka_unit_test(test_server__small_and_packed_answers_are_sent_as_they_are),
        cmocka_unit_test(test_server__only_what_is_immutable_may_be_kept),
        cmocka_unit_test(test_server__failures_are_json_with_a_status),
        cmocka_unit_test(test_server__a_file_is_a_download_with_a_harmless_name),
        cmocka_unit_test(test_server__head_is_get_without_its_body),
        cmocka_unit_test(test_server__other_methods_and_paths_are_refused),
        cmocka_unit_test(test_server__a_dropped_file_becomes_a_trace),
        cmocka_unit_test(test_server__a_closed_trace_is_in_no_answer),
        cmocka_unit_test(test_server__connections_that_wait_make_room_for_new_ones),
        cmocka_unit_test(test_server__a_long_poll_ends_when_there_is_news),
        cmocka_unit_test(test_server__long_requests_of_one_client_do_not_stop_those_of_others),
        cmocka_unit_test(test_server__a_long_poll_ends_when_its_time_is_up),
        cmocka_unit_test(test_server__ranks_stand_on_one_axis),
        cmocka_unit_test(test_server__traces_of_other_days_begin_together),
        cmocka_unit_test(test_server__a_file_that_cannot_be_read_is_told),
        cmocka_unit_test(test_server__without_the_token_nothing_is_told),
        cmocka_unit_test(test_server__the_address_with_the_token_sets_the_cookie),
        cmocka_unit_test(test_server__a_taken_port_is_an_error_or_the_next_is_taken),
        cmocka_unit_test(test_server__an_address_of_another_machine_is_refused),
        cmocka_unit_test(test_server__stops_at_once_whatever_is_asked),
        cmocka_unit_test(test_server__a_clock_that_is_set_back_delays_nothing),
        cmocka_unit_test(test_server__starts_and_stops_often),
        cmocka_unit_test(test_server__twenty_clients_at_once_get_their_own_answers),
        cmocka_unit_test(test_server__long_work_leaves_room_for_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
