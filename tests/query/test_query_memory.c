/* test_query_memory.c - a query whose n-th allocation fails says so: those of libheddle by --wrap of the linker, those
 * of SQLite by its own methods
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "heddle/query.h"
#include "read_text.h"
#include "rounds.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static long left = -1; /* allocations until the one that fails; below 0: that was it, or none does */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static sqlite3_mem_methods plain;

static void *sqlite_malloc(int size)
{
    return fails() ? NULL : plain.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return fails() ? NULL : plain.xRealloc(old, size);
}

static hd_status drain(struct ArrowArrayStream *stream)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    int code = stream->get_schema(stream, &schema);
    if (code == 0) schema.release(&schema);
    while (code == 0 && (code = stream->get_next(stream, &batch)) == 0 && batch.release) batch.release(&batch);
    stream->release(stream);
    return code ? HD_ERR_MEMORY : HD_OK;
}

static hd_status ask(hd_query *query, const char *sql, bool as_stream, hd_error *err)
{
    hd_statement *statement = NULL;
    struct ArrowArrayStream stream;
    const hd_query_value value = {HD_QUERY_TEXT, .data = "text", .size = 4};
    hd_status status = hd_query_prepare(&statement, NULL, query, sql, SIZE_MAX, err);
    if (status == HD_OK && hd_statement_parameter_count(statement))
        status = hd_statement_set(statement, "a", value, err);
    if (status == HD_OK && as_stream) {
        status = hd_statement_arrow_stream(&stream, statement, err);
        return status == HD_OK ? drain(&stream) : status;
    }
    while (status == HD_OK && (status = hd_statement_next(statement, err)) == HD_OK)
        for (size_t i = 0; i < hd_statement_column_count(statement); i++) hd_statement_at(statement, i);
    hd_statement_free(statement);
    return status == HD_END ? HD_OK : status;
}

static const char *const statements[] = {
    "select 1 as a, 2 as a, :a",
    "select short_name(x), demangle(x), x regexp 'a+b' from (select 'aab' as x union select 'void f<g>()')",
    "select median(column1), percentile(column1, 10) from (values (1), (2), (3))",
    "create or replace perfetto table t as select 1 as x",
    "select * from t",
    "select column1, column2, 'a' || column1 from (values (1, 0.5), (null, 2)) order by 1",
};

static hd_status run_all(const hd_trace *trace, hd_error *err)
{
    const hd_query_input input = {.trace = trace, .path = "a.json", .rank = HD_NO_NUMBER};
    hd_query *query;
    hd_status status = hd_query_new(&query, &input, 1, NULL, err);
    for (size_t i = 0; i < sizeof statements / sizeof *statements && status == HD_OK; i++)
        for (int as_stream = 0; as_stream < 2 && status == HD_OK; as_stream++)
            status = ask(query, statements[i], as_stream, err);
    hd_query_free(query);
    return status;
}

static void test_memory__runs_out_anywhere(void **state)
{
    static const char document[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\",\"pid\":1,\"tid\":1}]";
    hd_trace *trace;
    (void)state;
    assert_int_equal(read_text(&trace, document, sizeof document - 1, &read_fast, 0, NULL), HD_OK);
    /* Without a failure, and how many allocations there are. */
    hd_error err = {0};
    left = INT32_MAX;
    hd_status status = run_all(trace, &err);
    long count = INT32_MAX - left;
    left = -1;
    if (status != HD_OK) fail_msg("%s", err.message);
    assert_true(count > 1000);
    long rounds = (long)hd_test_rounds(HD_TEST_BY_BUILD(4000, 1500)), step = count / rounds + 1;
    for (long at = 0; at < count; at += at < 200 ? 1 : step) {
        err = (hd_error){0};
        left = at;
        status = run_all(trace, &err);
        left = -1;
        /* What is remembered only, and what SQLite can do without, may fail unseen. */
        if (status != HD_OK && status != HD_ERR_MEMORY) fail_msg("allocation %ld: %d %s", at, status, err.message);
        if (status != HD_OK && err.status != HD_OK) assert_int_equal(err.status, HD_ERR_MEMORY);
    }
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory__runs_out_anywhere)};
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain);
    sqlite3_mem_methods methods = plain;
    methods.xMalloc = sqlite_malloc;
    methods.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
