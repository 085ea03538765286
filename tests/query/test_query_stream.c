/* test_query_stream.c - statements as Arrow streams: the same values as their rows, whole batches, types that hold */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/query.h"
#include "read_text.h"

static hd_trace *trace;
static hd_query *query;

static int open_query(void **state)
{
    static const char document[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\",\"pid\":1,\"tid\":1}]";
    (void)state;
    if (read_text(&trace, document, sizeof document - 1, &read_fast, 0, NULL) != HD_OK) return -1;
    const hd_query_input input = {.trace = trace, .rank = HD_NO_NUMBER};
    return hd_query_new(&query, &input, 1, NULL, NULL) == HD_OK ? 0 : -1;
}

static int close_query(void **state)
{
    (void)state;
    hd_query_free(query);
    hd_trace_free(trace);
    return 0;
}

static hd_statement *prepare(const char *sql)
{
    hd_statement *statement = NULL;
    hd_error err = {0};
    if (hd_query_prepare(&statement, NULL, query, sql, SIZE_MAX, &err) != HD_OK) fail_msg("%s", err.message);
    return statement;
}

static struct ArrowArrayStream stream_of(const char *sql)
{
    struct ArrowArrayStream stream;
    assert_int_equal(hd_statement_arrow_stream(&stream, prepare(sql), NULL), HD_OK);
    return stream;
}

static bool is_valid(const struct ArrowArray *array, int64_t row)
{
    return ((const uint8_t *)array->buffers[0])[row / 8] >> row % 8 & 1;
}

/* Whether a cell of a batch is a value of the statement. */
static void check_cell(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row,
                       hd_query_value value)
{
    assert_int_equal(is_valid(array, row), value.type != HD_QUERY_NULL);
    if (value.type == HD_QUERY_NULL) return;
    if (schema->format[0] == 'u') {
        const int32_t *offsets = array->buffers[1];
        assert_int_equal(value.type, HD_QUERY_TEXT);
        assert_int_equal(offsets[row + 1] - offsets[row], value.size);
        assert_memory_equal((const char *)array->buffers[2] + offsets[row], value.data, value.size);
    } else if (schema->format[0] == 'g') {
        assert_true(((const double *)array->buffers[1])[row] ==
                    (value.type == HD_QUERY_INT ? (double)value.integer : value.real));
    } else {
        assert_string_equal(schema->format, "l");
        assert_int_equal(((const int64_t *)array->buffers[1])[row],
                         value.type == HD_QUERY_INT ? value.integer : (int64_t)value.real);
    }
}

/* A statement's rows and its stream, side by side; returns how many rows there are. */
static uint64_t compare(const char *sql, const char *formats)
{
    struct ArrowArrayStream stream = stream_of(sql);
    struct ArrowSchema schema;
    struct ArrowArray batch;
    hd_statement *statement = prepare(sql);
    uint64_t rows = 0;
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, strlen(formats));
    for (int64_t i = 0; i < schema.n_children; i++) assert_int_equal(schema.children[i]->format[0], formats[i]);
    while (stream.get_next(&stream, &batch) == 0 && batch.release) {
        int64_t nulls[8] = {0};
        assert_true(batch.length > 0 && batch.length <= HD_BLOCK_ROWS);
        for (int64_t row = 0; row < batch.length; row++, rows++) {
            assert_int_equal(hd_statement_next(statement, NULL), HD_OK);
            for (int64_t i = 0; i < schema.n_children; i++) {
                check_cell(schema.children[i], batch.children[i], row, hd_statement_at(statement, (size_t)i));
                nulls[i] += !is_valid(batch.children[i], row);
            }
        }
        for (int64_t i = 0; i < schema.n_children; i++) assert_int_equal(batch.children[i]->null_count, nulls[i]);
        batch.release(&batch);
    }
    assert_int_equal(hd_statement_next(statement, NULL), HD_END);
    assert_null(stream.get_last_error(&stream));
    hd_statement_free(statement);
    schema.release(&schema);
    stream.release(&stream);
    assert_null(stream.release);
    return rows;
}

#define COUNT_TO(n) "with recursive c(x) as (select 1 union all select x + 1 from c where x < " n ") "

static void test_stream__has_the_rows_of_the_statement(void **state)
{
    (void)state;
    assert_int_equal(compare("select 1, 2.5, 'x', null", "lgul"), 1);
    assert_int_equal(compare("select 1 where 0", "l"), 0);
    assert_int_equal(compare(COUNT_TO("65536") "select x from c", "l"), 65536);
    assert_int_equal(compare(COUNT_TO("65537") "select x from c", "l"), 65537);
    assert_int_equal(compare(COUNT_TO("200000") "select iif(x % 3, x, null), x / 7.0, 'text ' || iif(x % 5, x, null), "
                                                "iif(x > 100, null, 'é') from c",
                             "lguu"),
                     200000);
    assert_int_equal(compare("select 1 union all select 2.5 union all select -3", "g"), 3);
    assert_int_equal(compare(COUNT_TO("70000") "select iif(x > 65536, x * 1.0, x) from c", "l"), 70000);
    assert_int_equal(compare(COUNT_TO("70000") "select iif(x > 65536, x, x * 0.5) from c", "g"), 70000);
    assert_int_equal(compare("create view if not exists v as select 1", ""), 0);
}

/* Texts of more than a batch holds: it ends earlier. */
static void test_stream__long_texts(void **state)
{
    (void)state;
    assert_int_equal(compare(COUNT_TO("100") "select hex(zeroblob(1000000 + x)), x from c", "ul"), 100);
}

static void test_stream__bytes_that_are_no_text_become_marks(void **state)
{
    (void)state;
    struct ArrowArrayStream stream = stream_of("select cast(x'61ff62c3a9c3eda0800063f0' as text)");
    static const char expected[] = "a\xef\xbf\xbd"
                                   "b\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\0c\xef\xbf\xbd";
    struct ArrowArray batch;
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    const int32_t *offsets = batch.children[0]->buffers[1];
    assert_int_equal(offsets[1], sizeof expected - 1);
    assert_memory_equal(batch.children[0]->buffers[2], expected, sizeof expected - 1);
    stream.release(&stream); /* the batch outlives it */
    batch.release(&batch);
}

static void refuse(const char *sql, int code, const char *message)
{
    struct ArrowArrayStream stream = stream_of(sql);
    struct ArrowArray batch;
    int got;
    while ((got = stream.get_next(&stream, &batch)) == 0 && batch.release) batch.release(&batch);
    assert_int_equal(got, code);
    assert_string_equal(stream.get_last_error(&stream), message);
    assert_int_equal(stream.get_next(&stream, &batch), code); /* and stays so */
    stream.release(&stream);
}

static void test_stream__types_hold(void **state)
{
    (void)state;
    refuse("select 1 as a union all select 'x'", EINVAL,
           "column a: text in row 1, where there was a whole number before; cast(… as text) makes it one type");
    refuse(COUNT_TO("70000") "select iif(x > 70000 - 1, x + 0.5, x) as a from c", EINVAL,
           "column a: a number in row 69999, where there was a whole number before; cast(… as real) makes it one type");
    refuse("select 9007199254740993 as a union all select 0.5", EINVAL,
           "column a: a number in row 1, where there was a whole number before; cast(… as real) makes it one type");
    refuse("select 0.5 as a union all select 9007199254740993", EINVAL,
           "column a: a whole number in row 1, where there was a number before; cast(… as real) makes it one type");
    refuse("select x'00' as a", EINVAL,
           "column a: a blob in row 0, for which there is no type here; hex(…) makes text of it");
    refuse("select abs(-9223372036854775807 - 1)", EINVAL, "integer overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream__has_the_rows_of_the_statement),
        cmocka_unit_test(test_stream__long_texts),
        cmocka_unit_test(test_stream__bytes_that_are_no_text_become_marks),
        cmocka_unit_test(test_stream__types_hold),
    };
    return cmocka_run_group_tests(tests, open_query, close_query);
}
