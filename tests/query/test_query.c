/* test_query.c - statements: text, parameters, rows, roles, errors with their place, and what ends them */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/fixture.h"
#include "rounds.h"

static const char forever[] = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";

static hd_statement *prepare(fixture *f, const char *sql)
{
    hd_statement *statement = NULL;
    f->err = (hd_error){0};
    assert_int_equal(hd_query_prepare(&statement, NULL, f->query, sql, SIZE_MAX, &f->err), HD_OK);
    assert_non_null(statement);
    return statement;
}

/* The values of all rows, "1|2.5|x|-;". */
static const char *run_all(fixture *f, hd_statement *statement)
{
    static char out[4096];
    size_t size = 0;
    hd_status status;
    out[0] = '\0';
    while ((status = hd_statement_next(statement, &f->err)) == HD_OK) {
        for (size_t i = 0; i < hd_statement_column_count(statement); i++) {
            hd_query_value v = hd_statement_at(statement, i);
            char *to = out + size;
            size_t room = sizeof out - size;
            if (i) *to++ = '|', size++, room--;
            switch (v.type) {
            case HD_QUERY_NULL: size += (size_t)snprintf(to, room, "-"); break;
            case HD_QUERY_INT: size += (size_t)snprintf(to, room, "%lld", (long long)v.integer); break;
            case HD_QUERY_REAL: size += (size_t)snprintf(to, room, "%.17gr", v.real); break;
            default: size += (size_t)snprintf(to, room, "%.*s", (int)v.size, v.data); break;
            }
        }
        size += (size_t)snprintf(out + size, sizeof out - size, ";");
    }
    if (status != HD_END) snprintf(out + size, sizeof out - size, "%s", f->err.message);
    return out;
}

static const char *ask(fixture *f, const char *sql)
{
    hd_statement *statement = prepare(f, sql);
    const char *out = run_all(f, statement);
    hd_statement_free(statement);
    return out;
}

static void refuse(fixture *f, const char *sql, uint64_t offset, const char *message)
{
    hd_statement *statement;
    f->err = (hd_error){0};
    assert_int_equal(hd_query_prepare(&statement, NULL, f->query, sql, SIZE_MAX, &f->err), HD_ERR_ARGUMENT);
    assert_null(statement);
    assert_string_equal(f->err.message, message);
    assert_int_equal(f->err.offset, offset);
}

/* ---- text ---- */

static void test_prepare__statements_follow_one_another(void **state)
{
    static const char sql[] = " -- first\nselect 1;;select 2; /* no more */ INCLUDE PERFETTO MODULE a.b;\n select 3";
    fixture f;
    (void)state;
    open_query(&f, NULL);
    const char *rest = sql;
    for (int i = 1; i <= 3; i++) {
        hd_statement *statement;
        assert_int_equal(hd_query_prepare(&statement, &rest, f.query, rest, SIZE_MAX, &f.err), HD_OK);
        assert_int_equal(run_all(&f, statement)[0], '0' + i);
        hd_statement_free(statement);
    }
    hd_statement *none;
    assert_int_equal(hd_query_prepare(&none, &rest, f.query, rest, SIZE_MAX, &f.err), HD_OK);
    assert_null(none);
    assert_int_equal(*rest, '\0');
    close_query(&f);
}

static void test_prepare__a_size_ends_the_text(void **state)
{
    fixture f;
    hd_statement *statement;
    const char *rest;
    (void)state;
    open_query(&f, NULL);
    const char text[] = {'s', 'e', 'l', 'e', 'c', 't', ' ', '1', '2', '3'};
    assert_int_equal(hd_query_prepare(&statement, &rest, f.query, text, 8, &f.err), HD_OK);
    assert_ptr_equal(rest, text + 8);
    assert_string_equal(run_all(&f, statement), "1;");
    hd_statement_free(statement);
    assert_int_equal(hd_query_prepare(&statement, NULL, f.query, "select\0 1", 9, &f.err), HD_ERR_ARGUMENT);
    assert_int_equal(f.err.offset, 6);
    close_query(&f);
}

static void test_complete__a_semicolon_outside_of_quotes_and_comments(void **state)
{
    (void)state;
    assert_false(hd_query_is_complete(""));
    assert_false(hd_query_is_complete("select 1"));
    assert_true(hd_query_is_complete("select 1;"));
    assert_true(hd_query_is_complete("select 1; -- done"));
    assert_false(hd_query_is_complete("select ';"));
    assert_false(hd_query_is_complete("select ';' "));
    assert_false(hd_query_is_complete("select 1 -- ;"));
    assert_false(hd_query_is_complete("select 1; select \"a;"));
    assert_true(hd_query_is_complete("select 'it''s', [a;b];\n"));
}

static void test_prepare__perfetto_tables_are_views(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    assert_string_equal(ask(&f, "create perfetto table t as select 1 as x, 'perfetto table' as y"), "");
    assert_string_equal(ask(&f, "select * from t"), "1|perfetto table;");
    assert_string_equal(ask(&f, "CREATE OR REPLACE PERFETTO VIEW t AS SELECT 2"), "");
    assert_string_equal(ask(&f, "select * from t"), "2;");
    close_query(&f);
}

/* ---- parameters and columns ---- */

static void test_set__parameters_by_name_and_number(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, "select :a, @b, ?, $a");
    assert_int_equal(hd_statement_parameter_count(s), 4);
    assert_string_equal(hd_statement_parameter_name(s, 0), "a");
    assert_null(hd_statement_parameter_name(s, 2));
    assert_null(hd_statement_parameter_name(s, 4));
    assert_string_equal(run_all(&f, s), "-|-|-|-;");
    assert_int_equal(hd_statement_set(s, "a", (hd_query_value){HD_QUERY_INT, .integer = INT64_MIN}, &f.err), HD_OK);
    assert_int_equal(hd_statement_set(s, "3", (hd_query_value){HD_QUERY_REAL, .real = 0.1}, &f.err), HD_OK);
    char text[] = "xyz";
    assert_int_equal(hd_statement_set(s, "b", (hd_query_value){HD_QUERY_TEXT, .data = text, .size = 2}, &f.err), HD_OK);
    text[0] = '!'; /* it was copied */
    assert_string_equal(run_all(&f, s), "-9223372036854775808|xy|0.10000000000000001r|-9223372036854775808;");
    assert_int_equal(hd_statement_next(s, &f.err), HD_END);
    assert_int_equal(hd_statement_set(s, "c", (hd_query_value){0}, &f.err), HD_ERR_ARGUMENT);
    assert_string_equal(f.err.message, "no parameter :c");
    hd_statement_free(s);
    close_query(&f);
}

static void test_columns__each_name_is_there_once(void **state)
{
    static const char *const names[] = {"id", "id_2", "x", "id_3", "id_2_2"};
    fixture f;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, "select 1 id, 2 id, 3 x, 4 id, 5 id_2");
    for (size_t i = 0; i < 5; i++) assert_string_equal(hd_statement_column_name(s, i), names[i]);
    hd_statement_free(s);
    close_query(&f);
}

static void test_columns__roles(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, "select 1 ts, 2 dur, 3 track_id, 4 slice_id, 5 id, 6 t");
    const hd_query_role roles[] = {HD_QUERY_TIME,     HD_QUERY_DURATION, HD_QUERY_TRACK_ID,
                                   HD_QUERY_SLICE_ID, HD_QUERY_PLAIN,    HD_QUERY_PLAIN};
    for (size_t i = 0; i < 6; i++) assert_int_equal(hd_statement_column_role(s, i), roles[i]);
    hd_statement_free(s);
    close_query(&f);
}

static void test_at__texts_keep_all_their_bytes(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, "select cast(x'61ff0062' as text), '', x''");
    assert_int_equal(hd_statement_at(s, 0).type, HD_QUERY_NULL); /* no row yet */
    assert_int_equal(hd_statement_next(s, &f.err), HD_OK);
    hd_query_value value = hd_statement_at(s, 0);
    assert_int_equal(value.type, HD_QUERY_TEXT);
    assert_int_equal(value.size, 4);
    assert_memory_equal(value.data, "a\xff\0b", 4);
    assert_int_equal(hd_statement_at(s, 1).size, 0);
    assert_non_null(hd_statement_at(s, 1).data);
    assert_int_equal(hd_statement_at(s, 2).type, HD_QUERY_BLOB);
    hd_statement_free(s);
    close_query(&f);
}

/* ---- errors ---- */

static void test_errors__tell_the_place_and_what_was_meant(void **state)
{
    static const char lists[] = "; `select distinct table_name from heddle_tables` lists the tables";
    char text[256];
    fixture f;
    (void)state;
    open_query(&f, NULL);
    refuse(&f, "selct 1", 0, "near \"selct\": syntax error; did you mean select?");
    refuse(&f, "  -- it's\n select 1, lenght('x')", 21, "no such function: lenght; did you mean length?");
    refuse(&f, "select a.b from (select 1 as x) as a", 7, "no such column: a.b");
    snprintf(text, sizeof text, "no such table: nowhere%s", lists);
    refuse(&f, "select 'nowhere', 1 from nowhere", 25, text);
    assert_string_equal(ask(&f, "create view somewhere as select 1"), "");
    refuse(&f, "select 1 from somwhere", 14, "no such table: somwhere; did you mean somewhere?");
    refuse(&f, "select 'x", 7, "unrecognized token: \"'x\"");
    refuse(&f, "select 1 +", HD_OFFSET_NONE, "incomplete input");
    close_query(&f);
}

static void test_errors__what_writes_is_refused(void **state)
{
    static const char *const list[] = {"create table t(a)",
                                       "create temp table t as select 1",
                                       "create virtual table t using fts5(x)",
                                       "create index i on t(a)",
                                       "create trigger t after insert on x begin select 1; end",
                                       "attach 'x' as y",
                                       "detach main",
                                       "pragma journal_mode = wal",
                                       "pragma query_only",
                                       "select load_extension('x')",
                                       "select fts3_tokenizer('simple')",
                                       "insert into sqlite_master values (1)",
                                       "delete from sqlite_master",
                                       "update sqlite_temp_master set sql = ''",
                                       "vacuum",
                                       "vacuum into '/tmp/x'",
                                       "begin",
                                       "savepoint s",
                                       "analyze",
                                       "alter table x rename to y",
                                       "drop table x",
                                       "insert into json_each values (1)",
                                       "select * from pragma_journal_mode",
                                       "pragma writable_schema = on"};
    fixture f;
    (void)state;
    open_query(&f, NULL);
    char *before = strdup(ask(&f, "select count(*) from sqlite_master"));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        hd_statement *statement = NULL;
        f.err = (hd_error){0};
        hd_status status = hd_query_prepare(&statement, NULL, f.query, list[i], SIZE_MAX, &f.err);
        if (status == HD_OK) status = hd_statement_next(statement, &f.err);
        if (status != HD_ERR_ARGUMENT) fail_msg("%s: %d %s", list[i], status, f.err.message);
        hd_statement_free(statement);
    }
    assert_string_equal(ask(&f, "select count(*) from sqlite_master"), before);
    free(before);
    close_query(&f);
}

static void test_errors__while_it_runs(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, "select abs(-9223372036854775807 - column1) from (values (0), (1))");
    assert_int_equal(hd_statement_next(s, &f.err), HD_OK);
    assert_int_equal(hd_statement_next(s, &f.err), HD_ERR_ARGUMENT);
    assert_string_equal(f.err.message, "integer overflow");
    f.err = (hd_error){0};
    assert_int_equal(hd_statement_next(s, &f.err), HD_ERR_ARGUMENT);
    assert_string_equal(f.err.message, "the statement has failed before");
    hd_statement_free(s);
    s = prepare(&f, "select length(zeroblob(300000000))");
    f.err = (hd_error){0};
    assert_int_equal(hd_statement_next(s, &f.err), HD_ERR_LIMIT);
    hd_statement_free(s);
    close_query(&f);
}

/* ---- what ends a statement ---- */

static void test_timeout__stops_what_runs_for_ever(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, &(hd_query_options){.timeout_ms = 50});
    hd_statement *s = prepare(&f, forever);
    assert_int_equal(hd_statement_next(s, &f.err), HD_ERR_LIMIT);
    assert_string_equal(f.err.message, "stopped after 0.05 seconds, the limit");
    hd_statement_free(s);
    assert_string_equal(ask(&f, "select 1"), "1;"); /* the next has its own time */
    close_query(&f);
}

static void *interrupt_soon(void *query)
{
    usleep(50000);
    hd_query_interrupt(query);
    return NULL;
}

static void test_interrupt__stops_what_runs(void **state)
{
    fixture f;
    pthread_t thread;
    (void)state;
    open_query(&f, NULL);
    hd_statement *s = prepare(&f, forever);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, f.query), 0);
    assert_int_equal(hd_statement_next(s, &f.err), HD_ERR_LIMIT);
    assert_string_equal(f.err.message, "interrupted");
    pthread_join(thread, NULL);
    hd_statement_free(s);
    assert_string_equal(ask(&f, "select 1"), "1;");
    close_query(&f);
}

/* ---- functions ---- */

static void test_functions__names_and_patterns(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    assert_string_equal(
        ask(&f, "select 'gemm_128' regexp '_[0-9]+$', 'gemm' regexp 'M', null regexp 'x', 5 regexp '5'"), "1|0|-|1;");
    assert_string_equal(ask(&f, "select sum(column1 regexp 'a') from (values ('a'), ('b'), ('ba'), (null))"), "2;");
    assert_string_equal(ask(&f, "select 'a' regexp '('"), "regexp: /(/ is no regular expression: Unmatched ( or \\(");
    assert_string_equal(ask(&f, "select 'a' regexp '(a{1,200}){1,200}'") + 0, f.err.message);
    /* % as the escape character: the pattern gets another one, 1, which is a character like any other there */
    assert_string_equal(ask(&f,
                            "select column1 like 'a' || char(1) || '%%b' escape '%' from (values ('a' || char(1) || "
                            "'%b'), ('a%b'), ('a' || char(1) || 'xb'))"),
                        "1;0;0;");
    assert_string_equal(ask(&f, "select short_name('void at::native::add<float>(float*)'), short_name(null)"),
                        "at::native::add|-;");
    assert_string_equal(ask(&f, "select demangle(column1) from (values ('_Z1kv'), ('_Z1kv'), ('plain'))"),
                        "k();k();plain;");
    close_query(&f);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* By sorting, as NumPy's percentile is defined. */
static double percentile_of(double *list, size_t count, double percent)
{
    qsort(list, count, sizeof *list, compare_doubles);
    double place = percent / 100 * (double)(count - 1);
    size_t at = (size_t)place;
    if (at + 1 >= count) return list[count - 1];
    return list[at] + (list[at + 1] - list[at]) * (place - (double)at);
}

static void test_percentile__is_that_of_all_values(void **state)
{
    fixture f;
    (void)state;
    open_query(&f, NULL);
    srand(hd_test_seed(18));
    for (unsigned round = 0; round < hd_test_rounds(200); round++) {
        double list[100], percent = rand() % 3 ? rand() % 101 : rand() % 1001 / 10.0;
        size_t count = 1 + (size_t)rand() % 100, size = 0;
        char sql[4096];
        size += (size_t)snprintf(sql, sizeof sql, "select percentile(column1, %g) from (values ", percent);
        for (size_t i = 0; i < count; i++) {
            list[i] = rand() % 2 ? rand() % 10 - 5 : rand() % 100000 - 50000;
            size += (size_t)snprintf(sql + size, sizeof sql - size, "%s(%g)", i ? "," : "", list[i]);
        }
        snprintf(sql + size, sizeof sql - size, ")");
        double got = strtod(ask(&f, sql), NULL), expected = percentile_of(list, count, percent);
        if (got - expected > 1e-6 || expected - got > 1e-6) fail_msg("%s: %.17g, not %.17g", sql, got, expected);
    }
    assert_string_equal(ask(&f, "select median(null), quantile(column1, 0.5) from (values (1), (null), (4))"),
                        "-|2.5r;");
    /* Times since 1970 stay whole; what a double holds is REAL. */
    assert_string_equal(ask(&f, "select median(column1), quantile(column1, 0.5 / 2) from "
                                "(values (1700000000000300661), (1700000000000300662), (1700000000000300664))"),
                        "1700000000000300662|1700000000000300662;");
    assert_string_equal(ask(&f, "select median(column1), median(column1 / 2.0) from "
                                "(values (-9223372036854775807), (9223372036854775807), (-6), (-2))"),
                        "-4r|-2r;");
    assert_string_equal(ask(&f, "select median('x')"), "median, percentile and quantile are of numbers");
    assert_string_equal(ask(&f, "select percentile(1, 101)"),
                        "percentile(x, p): p is a number from 0 to 100, the same for all rows");
    assert_string_equal(ask(&f, "select quantile(1, column1) from (values (0.1), (0.2))"),
                        "quantile(x, q): q is a number from 0 to 1, the same for all rows");
    close_query(&f);
}

/* ---- hostile text ---- */

/* Whatever stands there is a statement or an error, and neither takes long. */
static void test_prepare__any_bytes(void **state)
{
    static const char *const words[] = {
        "select ",   "from ",      "(",          ")",        "'",         "\"",        "1",
        "x",         ",",          ";",          "--",       "/*",        "*/",        "\n",
        "with ",     "recursive ", "as ",        "create ",  "perfetto ", "table ",    "or ",
        "replace ",  "view ",      "where ",     "include ", "module ",   "regexp ",   "median(",
        "\xff",      "join ",      "union all ", "values ",  "[",         "]",         "`",
        "group by ", "order by ",  "limit 3 ",   ":a",       "?",         "json_each", "sqlite_master "};
    fixture f;
    (void)state;
    open_query(&f, &(hd_query_options){.timeout_ms = 200});
    srand(hd_test_seed(1));
    for (unsigned round = 0; round < hd_test_rounds(HD_TEST_BY_BUILD(20000, 3000)); round++) {
        char sql[512];
        size_t size = 0;
        for (int i = rand() % 20; i >= 0; i--) {
            const char *word = words[(size_t)rand() % (sizeof words / sizeof *words)];
            if (rand() % 20 == 0) sql[size++] = (char)(1 + rand() % 255);
            memcpy(sql + size, word, strlen(word));
            size += strlen(word);
        }
        const char *at = sql, *end = sql + size;
        for (hd_status status = HD_OK; status == HD_OK && at < end;) {
            hd_statement *statement;
            hd_error err = {0};
            const char *before = at;
            status = hd_query_prepare(&statement, &at, f.query, at, (size_t)(end - at), &err);
            assert_true(at >= before && at <= end);
            if (status != HD_OK) assert_true(err.offset == HD_OFFSET_NONE || err.offset <= (uint64_t)(end - before));
            for (int rows = 0; statement && rows < 10 && hd_statement_next(statement, NULL) == HD_OK; rows++) {}
            hd_statement_free(statement);
            if (status == HD_OK && at == before) break;
        }
    }
    close_query(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepare__statements_follow_one_another),
        cmocka_unit_test(test_prepare__a_size_ends_the_text),
        cmocka_unit_test(test_complete__a_semicolon_outside_of_quotes_and_comments),
        cmocka_unit_test(test_prepare__perfetto_tables_are_views),
        cmocka_unit_test(test_set__parameters_by_name_and_number),
        cmocka_unit_test(test_columns__each_name_is_there_once),
        cmocka_unit_test(test_columns__roles),
        cmocka_unit_test(test_at__texts_keep_all_their_bytes),
        cmocka_unit_test(test_errors__tell_the_place_and_what_was_meant),
        cmocka_unit_test(test_errors__what_writes_is_refused),
        cmocka_unit_test(test_errors__while_it_runs),
        cmocka_unit_test(test_timeout__stops_what_runs_for_ever),
        cmocka_unit_test(test_interrupt__stops_what_runs),
        cmocka_unit_test(test_functions__names_and_patterns),
        cmocka_unit_test(test_percentile__is_that_of_all_values),
        cmocka_unit_test(test_prepare__any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
