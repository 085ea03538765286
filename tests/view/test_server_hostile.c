/* test_server_hostile.c - heddle view's server against clients that lie, crawl, flood and vanish */
#include <sys/resource.h>

#include "rounds.h"
#include "view/served.h"

/* For clients that never get on. */
static view_limits quick_limits(void)
{
    view_limits limits = served_limits();
    limits.slow_ms = 400;
    return limits;
}

/* Whoever is cut off, as this machine was too slow for the server's limit, asks again. */
static void must_answer(hd_view *view)
{
    int64_t until = clock_ms() + client_patience_ms();
    int status;
    do {
        status = client_status(hd_view_port(view), "/api/session", NULL);
    } while (status == 0 && clock_ms() < until);
    assert_int_equal(status, 200);
}

/* ---- addresses and heads ---- */

static void test_hostile__bad_addresses_are_refused(void **state)
{
    (void)state;
    hd_view *view = serve();
    const struct {
        const char *path;
        int status;
    } rows[] = {
        {"/../../etc/passwd", 404},
        {"/%2e%2e/%2e%2e/etc/passwd", 404},
        {"/..%2f..%2fetc%2fpasswd", 404},
        {"/%00", 400},
        {"/%00/../index.html", 400},
        {"/api/session%00", 400},
        {"/%", 400},
        {"/%zz", 400},
        {"/%e0%80%80", 400},
        {"/api/session?after=%00", 400},
        {"/api/session?after=%ff", 400},
        {"/api/session?after=1&after=2", 400},
        {"/api/session?after=-1", 400},
        {"/api/session?after=x", 400},
        {"/api/session?after=1e999", 400},
        {"/api/session?%", 400},
        {"/api/bytes", 400},
        {"/api/bytes?size=99999999999999999999", 400},
        {"/api/bytes?size=33554433", 400},
        {"/api/bytes?size=-1", 400},
        {"/index.html/..", 404},
        {"/INDEX.html", 404},
        {"/api/session?=&&=&a", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        answer a = client_get(hd_view_port(view), rows[i].path, NULL);
        if (a.status != rows[i].status) fail_msg("%s: %d, not %d", rows[i].path, a.status, rows[i].status);
        assert_true(answer_has(&a, "{\"error\":\""));
        answer_free(&a);
    }
    hd_view_free(view);
}

static char *long_text(const char *start, size_t size, const char *end)
{
    size_t before = strlen(start);
    char *text = malloc(before + size + strlen(end) + 1);
    assert_non_null(text);
    memcpy(text, start, before);
    memset(text + before, 'a', size);
    strcpy(text + before + size, end);
    return text;
}

static void test_hostile__long_addresses_and_heads_are_refused(void **state)
{
    (void)state;
    hd_view *view = serve();
    char *address = long_text("GET /", 100000, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char *head = long_text("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", 1000000, "\r\n\r\n");
    char *fits = long_text("GET /api/session?a=", 20000, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    answer a = client_ask(hd_view_port(view), address), b = client_ask(hd_view_port(view), head);
    assert_true(a.status == 414 || a.status == 0);
    assert_true(b.status == 431 || b.status == 413 || b.status == 0);
    answer c = client_ask(hd_view_port(view), fits);
    assert_int_equal(c.status, 200);
    answer_free(&a);
    answer_free(&b);
    answer_free(&c);
    free(address);
    free(head);
    free(fits);
    must_answer(view);
    hd_view_free(view);
}

static void test_hostile__more_parameters_than_anybody_needs_are_refused(void **state)
{
    (void)state;
    hd_view *view = serve();
    char path[2048] = "/api/session?";
    for (int i = 0; i < 65; i++) snprintf(path + strlen(path), 16, "p%d=%d&", i, i);
    assert_int_equal(client_status(hd_view_port(view), path, NULL), 400);
    hd_view_free(view);
}

static int status_with(hd_view *view, const char *headers)
{
    char text[1024];
    snprintf(text, sizeof text, "GET /api/session HTTP/1.1\r\n%sConnection: close\r\n\r\n", headers);
    answer a = client_ask(hd_view_port(view), text);
    int status = a.status;
    answer_free(&a);
    return status;
}

static void test_hostile__other_hosts_and_origins_are_refused(void **state)
{
    (void)state;
    hd_view *view = serve();
    const struct {
        const char *headers;
        int status;
    } rows[] = {
        {"Host: localhost\r\n", 200},
        {"Host: 127.0.0.1:9999\r\n", 200}, /* by ssh -L */
        {"Host: [::1]:8383\r\n", 200},
        {"Host: LOCALHOST:1\r\n", 200},
        {"Host: evil.example\r\n", 403},
        {"Host: localhost.evil.example\r\n", 403},
        {"Host: 127.0.0.1.evil.example\r\n", 403},
        {"Host: 192.168.0.7\r\n", 403},
        {"Host: localhost:80:80\r\n", 403},
        {"Host: localhost@evil.example\r\n", 403},
        {"Host: [::1\r\n", 403},
        {"Host: \r\n", 403},
        {"Host: localhost\r\nOrigin: http://localhost\r\n", 200},
        {"Host: localhost:8383\r\nOrigin: http://localhost:8383\r\n", 200},
        {"Host: localhost:8383\r\nOrigin: http://localhost:8384\r\n", 403},
        {"Host: localhost\r\nOrigin: http://evil.example\r\n", 403},
        {"Host: localhost\r\nOrigin: https://localhost\r\n", 403},
        {"Host: localhost\r\nOrigin: null\r\n", 403},
        {"Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 200},
        {"Host: localhost\r\nSec-Fetch-Site: none\r\n", 200},
        {"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403},
        {"Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403},
        {"Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
         403},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = status_with(view, rows[i].headers);
        if (status != rows[i].status) fail_msg("%s: %d, not %d", rows[i].headers, status, rows[i].status);
    }
    int none = status_with(view, "");
    assert_true(none == 403 || none == 400);
    hd_view_free(view);
}

static void test_hostile__a_link_may_lead_to_the_page_but_no_frame(void **state)
{
    (void)state;
    hd_view *view = serve();
    const char link[] = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    const char frame[] = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n";
    assert_int_equal(client_status(hd_view_port(view), "/", link), hd_view_has_page() ? 200 : 404);
    assert_int_equal(client_status(hd_view_port(view), "/", frame), 403);
    hd_view_free(view);
}

static void test_hostile__a_listening_server_knows_its_names(void **state)
{
    (void)state;
    const view_names names = {.listen = "10.0.0.5", .hostname = "node7.cluster"};
    const view_names all = {.listen = "0.0.0.0", .hostname = "node7", .any_address = true};
    assert_true(view_host_is_ours("10.0.0.5:8383", &names));
    assert_true(view_host_is_ours("node7", &names));
    assert_true(view_host_is_ours("Node7.cluster:1", &names));
    assert_true(view_host_is_ours("localhost:8383", &names));
    assert_false(view_host_is_ours("10.0.0.6", &names));
    assert_false(view_host_is_ours("node70", &names));
    assert_false(view_host_is_ours("evil.example", &names));
    assert_true(view_host_is_ours("10.0.0.6:8383", &all));
    assert_true(view_host_is_ours("[fe80::1]:8383", &all));
    assert_false(view_host_is_ours("evil.example", &all));
    assert_false(view_host_is_ours("10.0.0.6.evil.example", &all));
}

static void test_hostile__encodings_and_tags_are_read_as_they_are_meant(void **state)
{
    (void)state;
    assert_true(view_accepts("gzip", "gzip"));
    assert_true(view_accepts("br , GZIP ; q=0.1", "gzip"));
    assert_false(view_accepts("gzip;q=0", "gzip"));
    assert_false(view_accepts("gzip; q=0.000, br", "gzip"));
    assert_false(view_accepts("xgzip, gzipx", "gzip"));
    assert_false(view_accepts(NULL, "gzip"));
    assert_true(view_etag_matches("W/\"a\" , \"b\"", "\"b\""));
    assert_true(view_etag_matches("*", "\"b\""));
    assert_false(view_etag_matches("\"bb\", b", "\"b\""));
}

/* ---- bytes that are not requests ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void test_hostile__noise_does_no_harm(void **state)
{
    (void)state;
    hd_view *view = serve();
    uint32_t seed = hd_test_seed(7);
    for (int i = 0; i < 300; i++) {
        char text[] = "POST /api/open?name=a%20b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n"
                      "Transfer-Encoding: chunked\r\nCookie: a=b\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        int changes = 1 + (int)(next_random(&seed) % 6);
        while (changes--) text[next_random(&seed) % (sizeof text - 1)] = (char)next_random(&seed);
        int fd = client_dial(hd_view_port(view));
        client_send(fd, text, sizeof text - 1 - next_random(&seed) % 40);
        if (i % 3 == 0) shutdown(fd, SHUT_WR);
        if (i % 3 == 0) {
            answer a = client_read(fd, false);
            answer_free(&a);
        }
        close(fd);
    }
    must_answer(view);
    hd_view_free(view);
}

static void test_hostile__bodies_that_nobody_wants_end_the_connection(void **state)
{
    (void)state;
    hd_view *view = serve();
    const char *const requests[] = {
        "GET /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc",
        "GET /api/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "PUT /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc",
        "POST /api/open HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000000000\r\n\r\nabc",
    };
    const int statuses[] = {400, 400, 405, 403};
    for (int i = 0; i < 4; i++) {
        int fd = client_dial(hd_view_port(view));
        char byte;
        client_say(fd, requests[i]);
        answer a = client_read(fd, false);
        assert_int_equal(a.status, statuses[i]);
        answer_free(&a);
        assert_true(recv(fd, &byte, 1, 0) <= 0);
        close(fd);
    }
    hd_view_free(view);
}

static void test_hostile__requests_that_come_together_are_answered_in_order(void **state)
{
    (void)state;
    hd_view *view = serve();
    int fd = client_dial(hd_view_port(view));
    hd_bytes all = {0};
    for (int i = 1; i <= 8; i++) {
        char text[128];
        snprintf(text, sizeof text, "GET /api/bytes?size=%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n", i,
                 i == 8 ? "Connection: close\r\n" : "");
        client_say(fd, text);
    }
    while (client_more(&all, fd)) continue;
    hd_bytes_put_u8(&all, 0);
    const char *at = (const char *)all.data;
    for (int i = 1; i <= 8; i++) {
        char length[32];
        snprintf(length, sizeof length, "Content-Length: %d\r\n", i);
        at = memmem(at, all.size - (size_t)(at - (const char *)all.data), length, strlen(length));
        assert_non_null(at);
    }
    hd_bytes_deinit(&all);
    close(fd);
    hd_view_free(view);
}

/* ---- slow clients ---- */

/* Whether the other side ends the connection. */
static bool is_ended(int fd)
{
    int64_t until = clock_ms() + client_patience_ms();
    char bytes[4096];
    while (clock_ms() < until) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        if (poll(&one, 1, 20) == 1 && recv(fd, bytes, sizeof bytes, 0) <= 0) return true;
    }
    return false;
}

/* Whether a client that sends a byte now and then is cut off: each byte is no progress. */
static bool drips_until_ended(int fd)
{
    int64_t until = clock_ms() + client_patience_ms();
    while (clock_ms() < until) {
        if (!client_say(fd, "a")) return true;
        sleep_ms(20);
    }
    return false;
}

static void test_hostile__a_request_that_never_ends_is_ended(void **state)
{
    (void)state;
    const view_limits limits = quick_limits();
    hd_view *view = serve_with(&limits, NULL);
    int silent = client_dial(hd_view_port(view)), half = client_dial(hd_view_port(view));
    int body = client_dial(hd_view_port(view)), drip = client_dial(hd_view_port(view));
    client_say(half, "GET /api/session HTTP/1.1\r\nHost: local");
    client_say(body, "POST /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc");
    client_say(drip, "GET /");
    assert_true(drips_until_ended(drip));
    assert_true(is_ended(silent) && is_ended(half) && is_ended(body));
    close(silent);
    close(half);
    close(body);
    close(drip);
    must_answer(view);
    hd_view_free(view);
}

static void test_hostile__a_body_that_drips_is_ended(void **state)
{
    (void)state;
    const view_limits limits = quick_limits();
    size_t before = open_files();
    hd_view *view = serve_with(&limits, NULL);
    int fd = client_dial(hd_view_port(view));
    client_say(fd, "POST /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
    assert_true(drips_until_ended(fd));
    close(fd);
    assert_int_equal(view_session_count(view->session), 0);
    hd_view_free(view);
    assert_int_equal(open_files(), before);
}

static void test_hostile__an_answer_that_nobody_takes_is_dropped(void **state)
{
    (void)state;
    const view_limits limits = served_limits();
    hd_view *view = serve_with(&limits, NULL);
    size_t before = open_files();
    int fds[4];
    for (int i = 0; i < 4; i++) {
        int small = 65536;
        fds[i] = client_dial(hd_view_port(view));
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        client_say(fds[i], "GET /api/bytes?size=20000000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    for (int ended = 0; ended < 4;) {
        must_answer(view);
        pthread_mutex_lock(&view->lock);
        for (view_client *client = view->clients; client; client = client->next) {
            if (client->deadline_ms < clock_ms() + limits.slow_ms + 600000) continue;
            client->deadline_ms = 1; /* as if the time that 20 MB may take were over */
            ended++;
        }
        pthread_mutex_unlock(&view->lock);
    }
    assert_true(files_close_to(before + 4)); /* not one byte was taken yet */
    for (int i = 0; i < 4; i++) {
        assert_true(is_ended(fds[i]));
        close(fds[i]);
    }
    hd_view_free(view);
}

static void test_hostile__a_patient_client_gets_its_long_poll(void **state)
{
    (void)state;
    hd_view *view = serve();
    int fd = client_dial(hd_view_port(view));
    uint32_t trace;
    client_say(fd, "GET /api/session?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(jobs_come_to(view, VIEW_JOB_PARKED, 1));
    pthread_mutex_lock(&view->lock);
    assert_int_equal(view->clients->deadline_ms, 0); /* it is not the client that is slow */
    pthread_mutex_unlock(&view->lock);
    assert_int_equal(view_session_add(&trace, view->session, "/nothing", NULL), HD_OK);
    answer a = client_read(fd, false);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    close(fd);
    hd_view_free(view);
}

/* ---- clients that vanish ---- */

static void test_hostile__work_ends_when_its_client_goes_away(void **state)
{
    (void)state;
    hd_view *view = serve();
    for (int round = 0; round < 3; round++) {
        int fd = client_dial(hd_view_port(view));
        client_say(fd, "GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_true(comes_to(&slow_running, 1));
        struct linger hard = {.l_onoff = round == 1};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fd);
        assert_true(comes_to(&slow_noticed, round + 1));
    }
    must_answer(view);
    hd_view_free(view);
}

static void test_hostile__clients_that_vanish_leave_nothing(void **state)
{
    (void)state;
    hd_view *view = serve();
    size_t before = open_files();
    const char *const requests[] = {
        "GET /api/session?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /api/bytes?size=30000000 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
        "GET /api/file HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc",
        "GET /api/s",
    };
    for (int i = 0; i < 60; i++) {
        int fd = client_dial(hd_view_port(view));
        client_say(fd, requests[i % 5]);
        if (i % 2) sleep_ms(5);
        close(fd);
    }
    assert_true(files_close_to(before));
    pthread_mutex_lock(&view->lock);
    assert_null(view->jobs);
    pthread_mutex_unlock(&view->lock);
    assert_int_equal(view_session_count(view->session), 0);
    must_answer(view);
    hd_view_free(view);
}

/* ---- too much ---- */

static void test_hostile__a_file_too_large_is_refused(void **state)
{
    (void)state;
    view_limits limits = served_limits();
    limits.body_room = 1000;
    hd_view *view = serve_with(&limits, NULL);
    answer a = client_ask(hd_view_port(view), "POST /api/open HTTP/1.1\r\nHost: localhost\r\n"
                                              "Content-Length: 18446744073709551615\r\n\r\n");
    assert_true(a.status == 413 || a.status == 400);
    answer_free(&a);
    a = client_ask(hd_view_port(view), "POST /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
    assert_int_equal(a.status, 413);
    answer_free(&a);
    char *chunks = long_text("POST /api/open HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n",
                             2000, "\r\n0\r\n\r\n");
    a = client_ask(hd_view_port(view), chunks);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    free(chunks);
    a = client_ask(hd_view_port(view), "POST /api/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(a.status, 400);
    answer_free(&a);
    assert_int_equal(view_session_count(view->session), 0);
    hd_view_free(view);
}

/* As many as this machine lets one process have, 10,000 at most: more than the server takes at a time. It drops those
 * that wait to make room for others. */
static void test_hostile__a_flood_of_connections_passes(void **state)
{
    (void)state;
    enum { WANTED = 10000 };
    hd_view *view = serve();
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    rlim_t room = files.rlim_cur > 2600 ? files.rlim_cur - 1600 : 500;
    size_t count = room < WANTED ? (size_t)room : WANTED, made = 0;
    int *fds = malloc(count * sizeof *fds);
    assert_non_null(fds);
    for (size_t i = 0; i < count; i++) {
        struct sockaddr_in at = {
            .sin_family = AF_INET, .sin_port = htons(hd_view_port(view)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fds[i] < 0) break;
        connect(fds[i], (const struct sockaddr *)&at, sizeof at);
        if (i % 3 == 0) client_say(fds[i], "GET /api/session HTTP/1.1\r\nHost: loc");
        made++;
    }
    print_message("%zu connections\n", made);
    assert_true(made > 400);
    must_answer(view); /* its turn comes while the flood still stands */
    for (size_t i = 0; i < made; i++) close(fds[i]);
    free(fds);
    must_answer(view);
    hd_view_free(view);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile__bad_addresses_are_refused),
        cmocka_unit_test(test_hostile__long_addresses_and_heads_are_refused),
        cmocka_unit_test(test_hostile__more_parameters_than_anybody_needs_are_refused),
        cmocka_unit_test(test_hostile__other_hosts_and_origins_are_refused),
        cmocka_unit_test(test_hostile__a_link_may_lead_to_the_page_but_no_frame),
        cmocka_unit_test(test_hostile__a_listening_server_knows_its_names),
        cmocka_unit_test(test_hostile__encodings_and_tags_are_read_as_they_are_meant),
        cmocka_unit_test(test_hostile__noise_does_no_harm),
        cmocka_unit_test(test_hostile__bodies_that_nobody_wants_end_the_connection),
        cmocka_unit_test(test_hostile__requests_that_come_together_are_answered_in_order),
        cmocka_unit_test(test_hostile__a_request_that_never_ends_is_ended),
        cmocka_unit_test(test_hostile__a_body_that_drips_is_ended),
        cmocka_unit_test(test_hostile__an_answer_that_nobody_takes_is_dropped),
        cmocka_unit_test(test_hostile__a_patient_client_gets_its_long_poll),
        cmocka_unit_test(test_hostile__work_ends_when_its_client_goes_away),
        cmocka_unit_test(test_hostile__clients_that_vanish_leave_nothing),
        cmocka_unit_test(test_hostile__a_file_too_large_is_refused),
        cmocka_unit_test(test_hostile__a_flood_of_connections_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
