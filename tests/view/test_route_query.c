/* test_route_query.c - SQL over the traces of a session: cells, limits, errors with their place, time, tracks */
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "view/query_maker.h"

/* A kernel and its launch, as test_route_report.c has them, and a second kernel. */
static const char text[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":1000,\"dur\":5,"
    "\"args\":{\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"<b>gemm\",\"pid\":0,\"tid\":7,\"ts\":1010,\"dur\":10,\"args\":{"
    "\"correlation\":1,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"pid\":0,\"tid\":7,\"ts\":1030,\"dur\":2.5,\"args\":{"
    "\"device\":0,\"stream\":7}}]";

static const char for_ever[] = "with recursive c(n) as (select 1 union all select n + 1 from c) select sum(n) from c";

/* Where the query names no timeout, it has as long as there can be. */
static const char *post_bytes(maker *m, view_route_run *run, const char *query, const char *sql, size_t size,
                              const atomic_bool *gone)
{
    char timed[256];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(sql, 1, size, file), size);
    fflush(file);
    snprintf(timed, sizeof timed, "%s%s", query, strstr(query, "timeout=") ? "" : "&timeout=600000");
    const char *answer = maker_send(m, run, timed, fileno(file) + 1, gone);
    fclose(file);
    return answer;
}

static const char *ask(maker *m, const char *sql)
{
    const char *answer = post_bytes(m, view_route_query, "limit=10000", sql, strlen(sql), NULL);
    if (!answer) fail_msg("%s: %s", sql, m->error.message);
    return answer;
}

static void test_query__cells_keep_what_they_are(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = ask(&m, "select 1 as a, 2.0 as b, 0.1 as c, 'x\"' as d, x'00ff' as e, null as f, "
                                 "9223372036854775807 as g, -9223372036854775807 - 1 as h, 1e999 as i, -1e999 as j");
    has(answer, "[[1,2.0,0.1,\"x\\\"\",{\"hex\":\"00ff\",\"bytes\":2},null,9223372036854775807,-9223372036854775808,"
                "1e999,-1e999]]");
    has(answer, "\"columns\":[{\"name\":\"a\"},{\"name\":\"b\"}");
    has(answer, "\"inputs\":[{\"trace\":0}]");
    has(answer, "\"stopped\":null,\"cut\":0");
    has(ask(&m, "select 1e300 * 1e10 as x, 1.0 / 3 as y, 123456789012345678.0 as z"),
        "[[1e999,0.3333333333333333,1.2345678901234568e+17]]");
    has(ask(&m, "select 1 as ts, 2 as dur"),
        "{\"name\":\"ts\",\"role\":\"time\"},{\"name\":\"dur\",\"role\":\"duration\"}");
    has(ask(&m, "select 1 where 0"), "\"rows\":[]");
    maker_close(&m);
}

/* Texts that are not UTF-8, long ones, ones with NUL: the answer is JSON whatever they hold. */
static void test_query__an_answer_is_json_whatever_texts_hold(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "select cast(x'fffe41' as text)",
        "select cast(x'410042' as text)",
        "select char(0x1F600, 0xD800, 10, 34)",
        "select cast(x'c3' as text) || cast(x'a9' as text)",
        "select 'a' as \"\"\"b\"\"\", 'c' as \"d\ne\"",
    };
    maker m;
    maker_open(&m, text);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const char *answer = ask(&m, queries[i]);
        if (!hd_json_valid(answer, m.reply.json.size, 64)) fail_msg("%s: %s", queries[i], answer);
    }
    has(ask(&m, "select cast(x'fffe41' as text)"), "\xef\xbf\xbd\xef\xbf\xbd"
                                                   "A");
    has(ask(&m, "select cast(x'410042' as text)"), "A\\u0000B");
    maker_close(&m);
}

/* 64 KiB of a text, 64 bytes of a blob; a text is cut between characters. */
static void test_query__long_cells_are_cut(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(ask(&m, "select substr(replace(hex(zeroblob(40000)), '0', 'x'), 1, 65536)"), "\"cut\":0");
    const char *answer = ask(&m, "select substr(replace(hex(zeroblob(40000)), '0', 'x'), 1, 65537), zeroblob(65)");
    has(answer, "\"cut\":2");
    has(answer, "x\xe2\x80\xa6\"");
    has(answer, "\"bytes\":65");
    has(ask(&m, "select zeroblob(64)"), "\"cut\":0");
    for (int before = 0; before < 4; before++) {
        char sql[120];
        snprintf(sql, sizeof sql,
                 "select substr('aaaa', 1, %d) || replace(hex(zeroblob(20000)), '0', '\xf0\x9f\x98\x80')", before);
        answer = ask(&m, sql);
        has(answer, "\"cut\":1");
        has_not(answer, "\xef\xbf\xbd");
        assert_true(hd_json_valid(answer, m.reply.json.size, 64));
    }
    maker_close(&m);
}

static size_t rows_of(const char *answer)
{
    size_t rows = 0;
    const char *at = strstr(answer, "\"rows\":[");
    assert_non_null(at);
    for (at += 8; (at = strchr(at, '[')); at++) rows++;
    return rows;
}

static void test_query__rows_and_bytes_have_a_limit(void **state)
{
    (void)state;
    static const char count[] =
        "with recursive c(n) as (select 1 union all select n + 1 from c limit %d) select n from c";
    static const int64_t limits[][2] = {{9999, 0}, {10000, 0}, {10001, 1}};
    maker m;
    maker_open(&m, text);
    for (size_t i = 0; i < 3; i++) {
        char sql[160];
        snprintf(sql, sizeof sql, count, (int)limits[i][0]);
        const char *answer = ask(&m, sql);
        has(answer, limits[i][1] ? "\"stopped\":\"rows\"" : "\"stopped\":null");
        assert_int_equal(rows_of(answer), limits[i][0] > 10000 ? 10000 : limits[i][0]);
    }
    static const char one[] = "select 1 union all select 2";
    has(post_bytes(&m, view_route_query, "limit=1", one, sizeof one - 1, NULL), "\"rows\":[[1]],\"stopped\":\"rows\"");
    has(post_bytes(&m, view_route_query, "limit=0", one, sizeof one - 1, NULL), "\"rows\":[],\"stopped\":\"rows\"");
    const char *answer = ask(&m, "with recursive c(n) as (select 1 union all select n + 1 from c limit 9000) "
                                 "select hex(zeroblob(30000)) from c");
    has(answer, "\"stopped\":\"bytes\"");
    assert_in_range(m.reply.json.size, 32 << 20, 33 << 20);
    maker_close(&m);
}

static void test_query__errors_tell_their_place(void **state)
{
    (void)state;
    static const char *const queries[][2] = {
        {"select 1 + + from", "\"offset\":"},
        {"select nothing", "\"offset\":7"},
        {"/* \xc3\xa9 */ select nothing", "\"offset\":16"},
        {"create temp view v as select 1 as one; select nothing from v", "\"offset\":46"},
        {"", "there is no statement"},
        {"  -- a comment", "there is no statement"},
        {"create temp view v as select 1 as one", "there is no statement that gives rows"},
        {"select 1; select 2", "two statements"},
        {"select :rank", "parameter :rank has no value"},
        {"select ?", "has no value"},
        {"attach 'x' as y", "error"},
        {"create table x(y)", "error"},
        {"delete from sqlite_master", "error"},
        {"select load_extension('x')", "error"},
        {"pragma journal_mode=off", "error"},
        {"select \x01\x02", "error"},
        {"vacuum into '/tmp/heddle-must-not-be'", "error"},
    };
    maker m;
    maker_open(&m, text);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const char *answer = ask(&m, queries[i][0]);
        if (strncmp(answer, "{\"error\":{\"message\":\"", 21) != 0 || !strstr(answer, queries[i][1]))
            fail_msg("%s: %s", queries[i][0], answer);
        assert_true(hd_json_valid(answer, m.reply.json.size, 64));
    }
    assert_int_not_equal(access("/tmp/heddle-must-not-be", F_OK), 0);
    maker_close(&m);
}

/* What one request makes, the next does not see, and the connection goes on. */
static void test_query__a_view_lives_as_long_as_its_request(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(ask(&m, "create temp view v as select 5 as five; select five + 1 as six from v;"), "[[6]]");
    has(ask(&m, "select * from v"), "no such table: v");
    has(ask(&m, "select 7 as seven"), "[[7]]");
    maker_close(&m);
}

static void test_query__parameters_come_from_the_request(void **state)
{
    (void)state;
    static const char sql[] = "select :from, :until, :name, :half, typeof(:from), typeof(:name)";
    maker m;
    maker_open(&m, text);
    has(post_bytes(&m, view_route_query, ":from=9007199254740993&:until=-1&:name=1x&:half=.5&:more=1", sql,
                   sizeof sql - 1, NULL),
        "[[9007199254740993,-1,\"1x\",0.5,\"integer\",\"text\"]]");
    has(post_bytes(&m, view_route_query, ":from=&:until=1&:name=1&:half=1", sql, sizeof sql - 1, NULL),
        "[[\"\",1,1,1,\"text\"");
    maker_close(&m);
}

static void test_query__what_takes_too_long_is_stopped(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    int64_t before_ms = hd_now_ms();
    has(post_bytes(&m, view_route_query, "timeout=100", for_ever, sizeof for_ever - 1, NULL),
        "was stopped after 100 ms");
    assert_true(hd_now_ms() - before_ms >= 100);
    has(ask(&m, "select 8 as eight"), "[[8]]"); /* the connection is as before */
    assert_null(post_bytes(&m, view_route_query, "timeout=0", for_ever, sizeof for_ever - 1, NULL));
    has(m.error.message, "timeout");
    maker_close(&m);
}

static void *go_away(void *gone)
{
    usleep(50000);
    atomic_store((atomic_bool *)gone, true);
    return NULL;
}

static void test_query__ends_when_its_client_has_gone(void **state)
{
    (void)state;
    maker m;
    pthread_t thread;
    atomic_bool gone = false;
    maker_open(&m, text);
    assert_int_equal(pthread_create(&thread, NULL, go_away, &gone), 0);
    has(post_bytes(&m, view_route_query, "limit=1", for_ever, sizeof for_ever - 1, &gone), "\"interrupted\"");
    pthread_join(thread, NULL);
    assert_true(gone);
    maker_close(&m);
}

static void test_query__values_are_bounded(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(ask(&m, "select length(zeroblob(16000000)) as n"), "[[16000000]]");
    has(ask(&m, "select length(zeroblob(17000000)) as n"), "\"message\":\"string or blob too big\"");
    maker_close(&m);
}

/* Requests at the same time have connections of their own. */
static void *ask_often(void *user)
{
    maker *m = user, mine = {.session = m->session};
    for (int i = 0; i < 20; i++) {
        char sql[80], part[40];
        snprintf(sql, sizeof sql, "create temp view v as select %d as n; select n from v", i);
        snprintf(part, sizeof part, "\"rows\":[[%d]]", i);
        has(ask(&mine, i % 2 ? sql : sql + 38 - (i < 10)), i % 2 ? part : "error");
    }
    view_reply_deinit(&mine.reply);
    return NULL;
}

static void test_query__requests_do_not_see_each_other(void **state)
{
    (void)state;
    maker m;
    pthread_t threads[4];
    maker_open(&m, text);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &m), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    maker_close(&m);
}

static void test_query__hostile_texts_are_refused_in_time(void **state)
{
    (void)state;
    enum { LONG = (1 << 20) + 1 };
    maker m;
    maker_open(&m, text);
    char *sql = malloc(LONG);
    assert_non_null(sql);
    memset(sql, '(', LONG);
    assert_null(post_bytes(&m, view_route_query, "limit=1", sql, LONG, NULL)); /* a byte too long */
    assert_int_equal(m.reply.status, 413);
    has(post_bytes(&m, view_route_query, "limit=1", sql, LONG - 1, NULL), "error");
    memset(sql, ' ', LONG);
    memcpy(sql + LONG - 9, "select 3", 8);
    has(post_bytes(&m, view_route_query, "limit=1", sql, LONG - 1, NULL), "[[3]]");
    size_t size = (size_t)sprintf(sql, "select 1");
    for (int i = 1; i < 10000; i++) size += (size_t)sprintf(sql + size, ",%d", i);
    has(post_bytes(&m, view_route_query, "limit=1", sql, size, NULL), "error"); /* columns beyond SQLite's limit */
    memcpy(sql, "select 1\0 + nothing", 19);
    const char *answer = post_bytes(&m, view_route_query, "limit=1", sql, 19, NULL);
    assert_true(hd_json_valid(answer, m.reply.json.size, 64));
    free(sql);
    maker_close(&m);
}

static void test_query__without_a_trace_there_is_nothing_to_ask(void **state)
{
    (void)state;
    maker m = {0};
    assert_int_equal(view_session_new(&m.session, NULL, &m.error), HD_OK);
    assert_null(post_bytes(&m, view_route_query, "limit=1", "select 1", 8, NULL));
    assert_int_equal(m.reply.status, 409);
    assert_string_equal(maker_ask(&m, view_route_query_tables, ""), "{\"tables\": []}");
    maker_close(&m);
}

/* ---- tracks ---- */

static const view_track *made(maker *m, const char *query, const char *sql)
{
    const char *answer = post_bytes(m, view_route_query_tracks, query, sql, strlen(sql), NULL);
    if (!answer) fail_msg("%s: %s", sql, m->error.message);
    return view_scene_track(m->scene, (uint32_t)strtoul(strchr(answer, '[') + 1, NULL, 10));
}

static void test_tracks__rows_with_ts_and_dur_are_slices(void **state)
{
    (void)state;
    static const char sql[] = "select 1010000 as ts, 5000 as dur, 'one' as name, 0 as device union all "
                              "select 1030000, 2500, 'two', 0 union all select 1, -1, 'no end', 0";
    maker m;
    view_slice slices[3];
    maker_open(&m, text);
    uint64_t revision = view_session_revision(m.session);
    const view_track *track = made(&m, "title=query: mine&limit=3", sql);
    has(m.reply.json.data, "\"left_out\":1");
    assert_true(view_session_revision(m.session) > revision);
    assert_string_equal(track->name, "query: mine");
    has(track->detail, "Of the query select 1010000 as ts");
    assert_true(track->derived && track->device == 0 && track->event_count == 2);
    assert_int_equal(view_row_read(slices, &track->rows.rows[0], m.trace, 0, 3), 2);
    assert_int_equal(slices[0].start_ns, 1010000);
    assert_int_equal(slices[1].end_ns - slices[1].start_ns, 2500);
    assert_ptr_equal(made(&m, "title=query: mine", sql), track);
    assert_ptr_not_equal(made(&m, "title=query&:x=1", sql), track);
    maker_close(&m);
}

static void test_tracks__rows_with_ts_and_a_number_are_a_counter(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const view_track *track = made(&m, "title=",
                                   "select 1010000 as ts, 'x' as t, 7 as stream, 1.5 as v union all "
                                   "select 1020000, 'y', 7, 4");
    assert_string_equal(track->name, "query, stream 7");
    assert_true(track->kind == VIEW_COUNTER && track->stream == 7);
    assert_int_equal(track->series[0].count, 2);
    assert_true(track->series[0].values[0] == 1.5 && track->series[0].values[1] == 4);
    maker_close(&m);
}

static void test_tracks__what_cannot_be_a_track_is_refused(void **state)
{
    (void)state;
    static const char *const queries[][2] = {
        {"select 1 as x", "by its columns ts and dur"},
        {"select 1 as ts", "by its columns ts and dur"},
        {"select 1 as ts, 2 as dur where 0", "has no rows"},
        {"select 'a' as ts, 2 as dur", "no row with a time"},
        {"select nix", "no such column"},
        {"select 1 as ts, -1 as dur", "no row with a time"},
        {"with recursive c(ts) as (select 1 union all select ts + 1 from c) select ts, 1 as dur from c",
         "more than 1000 rows"},
    };
    maker m;
    maker_open(&m, text);
    uint32_t count = view_scene_track_count(m.scene);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        assert_null(
            post_bytes(&m, view_route_query_tracks, "title=x&limit=1000", queries[i][0], strlen(queries[i][0]), NULL));
        has(m.error.message, queries[i][1]);
    }
    assert_null(
        post_bytes(&m, view_route_query_tracks, "title=x&limit=2000001", queries[0][0], strlen(queries[0][0]), NULL));
    has(m.error.message, "limit");
    assert_int_equal(view_scene_track_count(m.scene), count);
    maker_close(&m);
}

static void test_track__of_the_file_is_told(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    size_t found = 0;
    for (uint32_t of = 0; of < hd_trace_track_count(m.trace); of++) {
        char query[40];
        snprintf(query, sizeof query, "of=%u", of);
        const char *answer = maker_ask(&m, view_route_query_track, query);
        if (strcmp(answer, "{}") == 0) continue;
        assert_int_equal(view_scene_track(m.scene, (uint32_t)number_of(answer, "track"))->source, of);
        found++;
    }
    assert_int_equal(found, 2); /* the thread and the stream */
    assert_string_equal(maker_ask(&m, view_route_query_track, "of=4294967294"), "{}");
    assert_null(maker_ask(&m, view_route_query_track, "of=-1"));
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query__cells_keep_what_they_are),
        cmocka_unit_test(test_query__an_answer_is_json_whatever_texts_hold),
        cmocka_unit_test(test_query__long_cells_are_cut),
        cmocka_unit_test(test_query__rows_and_bytes_have_a_limit),
        cmocka_unit_test(test_query__errors_tell_their_place),
        cmocka_unit_test(test_query__a_view_lives_as_long_as_its_request),
        cmocka_unit_test(test_query__parameters_come_from_the_request),
        cmocka_unit_test(test_query__what_takes_too_long_is_stopped),
        cmocka_unit_test(test_query__ends_when_its_client_has_gone),
        cmocka_unit_test(test_query__values_are_bounded),
        cmocka_unit_test(test_query__requests_do_not_see_each_other),
        cmocka_unit_test(test_query__hostile_texts_are_refused_in_time),
        cmocka_unit_test(test_query__without_a_trace_there_is_nothing_to_ask),
        cmocka_unit_test(test_tracks__rows_with_ts_and_dur_are_slices),
        cmocka_unit_test(test_tracks__rows_with_ts_and_a_number_are_a_counter),
        cmocka_unit_test(test_tracks__what_cannot_be_a_track_is_refused),
        cmocka_unit_test(test_track__of_the_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
