/* test_query_limits.c - what bounds a statement within one step of SQLite: functions of texts.c, which answer as
 * SQLite's own do, temporary files, and a step that nothing ends
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/fixture.h"
#include "query/impl.h"
#include "rounds.h"

/* The first value as a text, or what went wrong. */
static const char *ask(fixture *f, const char *sql)
{
    static char out[400];
    hd_statement *statement;
    f->err = (hd_error){0};
    assert_int_equal(hd_query_prepare(&statement, NULL, f->query, sql, SIZE_MAX, &f->err), HD_OK);
    hd_status status = hd_statement_next(statement, &f->err);
    hd_query_value v = status == HD_OK ? hd_statement_at(statement, 0) : (hd_query_value){0};
    if (status != HD_OK)
        snprintf(out, sizeof out, "%s", f->err.message);
    else if (v.type == HD_QUERY_INT)
        snprintf(out, sizeof out, "%lld", (long long)v.integer);
    else
        snprintf(out, sizeof out, "%.*s", (int)v.size, v.data ? v.data : "null");
    hd_statement_free(statement);
    return out;
}

/* ---- answers are SQLite's own ---- */

static void put_value(char *out, size_t room)
{
    static const char *const parts[] = {"a",    "b",    "aa",       "A",    "%",  "_",    "*",  "?", "[a-b]", "\\",
                                        "\xc3", "\xa9", "\xc3\xa9", "\xff", "''", "\xe2", "[^", "]", " ",     "\x01"};
    size_t size = 0;
    char *to = out;
    int kind = rand() % 20;
    if (kind == 0) {
        snprintf(out, room, "null");
        return;
    }
    if (kind == 1) {
        snprintf(out, room, "%d", rand() % 20);
        return;
    }
    to += sprintf(to, kind < 5 ? "cast('" : "'");
    for (int i = rand() % 7; i > 0; i--) {
        const char *part = parts[(size_t)rand() % (sizeof parts / sizeof *parts)];
        size = strlen(part);
        memcpy(to, part, size);
        to += size;
    }
    sprintf(to, kind < 5 ? "' as blob)" : "'");
}

static int step(sqlite3_stmt **stmt, sqlite3 *db, const char *sql)
{
    *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, stmt, NULL);
    return code == SQLITE_OK ? sqlite3_step(*stmt) : code;
}

static void test_texts__answer_as_sqlite_does(void **state)
{
    static const char *const calls[] = {
        "instr(%s, %s)",  "replace(%s, %s, %s)", "trim(%s)",     "trim(%s, %s)",           "ltrim(%s, %s)",
        "rtrim(%s, %s)",  "%s like %s",          "%s glob %s",   "%s like %s escape '\\'", "%s like %s escape %s",
        "%s not like %s", "ltrim(%s)",           "like(%s, %s)", "json_patch(%s, %s)",
    };
    fixture f;
    sqlite3 *plain;
    unsigned compared = 0;
    (void)state;
    open_query(&f, NULL);
    assert_int_equal(sqlite3_open(":memory:", &plain), SQLITE_OK);
    srand(hd_test_seed(1));
    const unsigned rounds = (unsigned)hd_test_rounds(HD_TEST_BY_BUILD(20000, 3000));
    for (unsigned round = 0; round < rounds; round++) {
        char values[3][200], call[700], sql[1600];
        sqlite3_stmt *ours, *theirs;
        for (int i = 0; i < 3; i++) put_value(values[i], sizeof values[i]);
        snprintf(call, sizeof call, calls[(size_t)rand() % (sizeof calls / sizeof *calls)], values[0], values[1],
                 values[2]);
        snprintf(sql, sizeof sql, "select typeof(%s), hex(%s)", call, call);
        int code = step(&ours, f.query->db, sql);
        int same = step(&theirs, plain, sql);
        if (same != code) print_error("%s\n%s\n%s\n", sql, sqlite3_errmsg(f.query->db), sqlite3_errmsg(plain));
        assert_int_equal(same, code);
        for (int i = 0; code == SQLITE_ROW && i < 2; i++) {
            const char *value = (const char *)sqlite3_column_text(ours, i);
            assert_string_equal(value, (const char *)sqlite3_column_text(theirs, i));
            compared++;
        }
        sqlite3_finalize(ours);
        sqlite3_finalize(theirs);
    }
    assert_true(compared > rounds / 3);
    sqlite3_close(plain);
    close_query(&f);
}

/* ---- one call does not take for ever ---- */

static void test_texts__large_ones_take_linear_time(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    assert_string_equal(ask(&f, "select instr(printf('%.*c', 20000000, 'a'), printf('%.*c', 1000000, 'a') || 'b')"),
                        "0");
    assert_string_equal(
        ask(&f, "select length(replace(printf('%.*c', 20000000, 'a'), printf('%.*c', 1000000, 'a') || 'b', 'c'))"),
        "20000000");
    assert_string_equal(ask(&f, "select replace(printf('%.*c', 300000, 'a'), 'a', printf('%.*c', 1000, 'b'))"),
                        "string or blob too big");
    assert_string_equal(ask(&f, "select printf('%.*c', 20000000, 'a') like '%' || printf('%.*c', 900, 'a') || 'b'"),
                        "LIKE or GLOB: the text is too long for such a pattern; instr takes any");
    assert_string_equal(ask(&f, "select json_patch('{\"a\":1}', '{\"b\":2}') || json_array(json_patch('{}', '{}'))"),
                        "{\"a\":1,\"b\":2}[{}]");
    assert_string_equal(ask(&f, "select json_patch(a, a) from (select json_object(printf('%.*c', 300000, 'a'), 1) a)"),
                        "json_patch: too large");
    close_query(&f);
}

/* A function that has the statement end, as hd_query_interrupt does, where SQLite itself does not see it. */
static void stop_here(sqlite3_context *context, int count, sqlite3_value **values)
{
    hd_query *query = sqlite3_user_data(context);
    (void)count;
    (void)values;
    atomic_store(&query->stop, QUERY_INTERRUPTED);
    sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

static void test_texts__a_call_that_takes_long_looks_whether_to_stop(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    sqlite3_create_function(f.query->db, "stop_here", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, f.query, stop_here, NULL,
                            NULL);
    assert_string_equal(ask(&f, "select length(stop_here() || ltrim(replace(hex(zeroblob(1000000)), '00', 'é'), "
                                "replace(hex(zeroblob(100000)), '00', 'ü') || 'é'))"),
                        "interrupted");
    assert_string_equal(ask(&f, "select ltrim('üéab', 'éü')"), "ab");
    close_query(&f);
}

/* ---- temporary files ---- */

static const char sort_of_100_mb[] =
    "with recursive c(x) as (select 1 union all select x + 1 from c where x < 100) "
    "select length(b) from (select zeroblob(1000000 + x % 7) b from c order by b desc) limit 1";

static void test_spill__is_bounded(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, &(hd_query_options){.spill_bytes = 5000000});
    assert_string_equal(ask(&f, sort_of_100_mb),
                        "more than 5 MB of temporary files, the limit: sort or group fewer rows, or fewer columns");
    assert_int_equal(f.err.status, HD_ERR_LIMIT);
    assert_int_equal(f.query->spilled_bytes, 0); /* they are gone with the statement */
    assert_string_equal(ask(&f, "select 1"), "1");
    close_query(&f);
    open_query(&f, &(hd_query_options){.spill_bytes = 500000000});
    assert_string_equal(ask(&f, sort_of_100_mb), "1000006");
    assert_int_equal(f.query->spilled_bytes, 0);
    close_query(&f);
}

static void test_spill__values_are_bounded_too(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, &(hd_query_options){.value_bytes = 1000});
    assert_string_equal(ask(&f, "select length(zeroblob(1000))"), "1000");
    assert_string_equal(ask(&f, "select length(hex(zeroblob(501)))"), "string or blob too big");
    close_query(&f);
}

/* ---- before there is a statement ---- */

static int all_equal(void *user, int size, const void *a, int other_size, const void *b)
{
    (void)user, (void)size, (void)a, (void)other_size, (void)b;
    return 0;
}

static void stop_preparing(void *query, sqlite3 *db, int encoding, const char *name)
{
    sqlite3_create_collation(db, name, encoding, NULL, all_equal);
    atomic_store(&((hd_query *)query)->stop, QUERY_INTERRUPTED);
}

static void test_prepare__stops_too(void **state)
{
    fixture f;
    hd_statement *statement;
    (void)state;
    open_query(&f, NULL);
    sqlite3_collation_needed(f.query->db, f.query, stop_preparing);
    assert_int_equal(hd_query_prepare(&statement, NULL, f.query,
                                      "select 'a' = 'b' collate unknown union all select name from slice", SIZE_MAX,
                                      &f.err),
                     HD_ERR_LIMIT);
    assert_string_equal(f.err.message, "interrupted");
    assert_string_equal(ask(&f, "select name from slice"), "a");
    close_query(&f);
}

/* Each view takes twice what the one below takes. */
static void test_prepare__memory_is_bounded(void **state)
{
    fixture f;
    hd_statement *statement;
    char sql[4000] = "with v0 as (select 1 as x union all select 2)";
    size_t size = strlen(sql);
    (void)state;
    for (int i = 1; i < 40; i++)
        size +=
            (size_t)snprintf(sql + size, sizeof sql - size, ", v%d as (select a.x from v%d a, v%d b)", i, i - 1, i - 1);
    snprintf(sql + size, sizeof sql - size, " select count(*) from v39");
    open_query(&f, &(hd_query_options){.heap_bytes = 30000000});
    assert_int_equal(hd_query_prepare(&statement, NULL, f.query, sql, SIZE_MAX, &f.err), HD_ERR_MEMORY);
    assert_string_equal(ask(&f, "select 1"), "1");
    close_query(&f);
    sqlite3_hard_heap_limit64(0); /* it is of the program */
}

/* ---- a step that nothing ends ---- */

typedef struct stuck {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
} stuck;

static void note_overdue(void *user)
{
    stuck *s = user;
    pthread_mutex_lock(&s->lock);
    s->calls++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void wait_for_overdue(sqlite3_context *context, int count, sqlite3_value **values)
{
    stuck *s = sqlite3_user_data(context);
    (void)count;
    (void)values;
    pthread_mutex_lock(&s->lock);
    while (!s->calls) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void test_overdue__is_said_of_a_step_that_nothing_ends(void **state)
{
    fixture f;
    stuck s = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    (void)state;
    open_query(&f, &(hd_query_options){.timeout_ms = 1, .overdue = note_overdue, .overdue_user = &s});
    sqlite3_create_function(f.query->db, "stuck", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, &s, wait_for_overdue, NULL, NULL);
    assert_string_equal(ask(&f, "with recursive c(x) as (select stuck() union all select 1 from c) select * from c "
                                "limit 1, 1"),
                        "stopped after 0.001 seconds, the limit");
    assert_int_equal(s.calls, 1);
    close_query(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts__answer_as_sqlite_does),
        cmocka_unit_test(test_texts__large_ones_take_linear_time),
        cmocka_unit_test(test_texts__a_call_that_takes_long_looks_whether_to_stop),
        cmocka_unit_test(test_spill__is_bounded),
        cmocka_unit_test(test_spill__values_are_bounded_too),
        cmocka_unit_test(test_prepare__stops_too),
        cmocka_unit_test(test_prepare__memory_is_bounded),
        cmocka_unit_test(test_overdue__is_said_of_a_step_that_nothing_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
