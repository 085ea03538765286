/* test_parquet.c - encodings against a reading of their own, and the folder that appears whole or not at all
 *
 * What files hold is compared by parquet/check_parquet.py, with others' readers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "heddle/format.h"
#include "heddle/parquet.h"
#include "parquet/encode.h"
#include "random_trace.h"
#include "rounds.h"

static uint64_t bits_at(const uint8_t *data, size_t bit, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)(data[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
    return value;
}

static void check_rle(const uint32_t *want, size_t count, unsigned width)
{
    hd_bytes bytes = {0};
    parquet_put_rle(&bytes, want, count, width);
    hd_byte_reader r = hd_byte_reader_of(bytes.data, bytes.size);
    size_t at = 0;
    while (at < count) {
        uint64_t head = hd_byte_reader_varint(&r);
        size_t n = (size_t)(head >> 1) * (head & 1 ? 8 : 1);
        const uint8_t *data = hd_byte_reader_take(&r, head & 1 ? n / 8 * width : (width + 7) / 8);
        assert_non_null(data);
        for (size_t i = 0; i < n && (at < count || !(head & 1)); i++, at++)
            assert_true(want[at] == (head & 1 ? bits_at(data, i * width, width) : hd_le_get(data, (width + 7) / 8)));
    }
    assert_int_equal(hd_byte_reader_left(&r), 0);
    hd_bytes_deinit(&bytes);
}

static void test_parquet__runs_and_groups_come_back(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < hd_test_rounds(300); round++) {
        uint64_t seed = round;
        unsigned width = random_next(&seed) % 21;
        size_t count = random_next(&seed) % 3000;
        uint32_t *values = malloc((count + 1) * sizeof *values);
        for (size_t i = 0; i < count;) {
            size_t run = random_next(&seed) % 4 ? 1 : 1 + random_next(&seed) % 40;
            uint32_t value = random_next(&seed) & ((1u << width) - 1);
            while (run-- && i < count) values[i++] = value;
        }
        check_rle(values, count, width);
        free(values);
    }
}

static void check_delta(const int64_t *want, size_t count)
{
    hd_bytes bytes = {0};
    parquet_put_delta(&bytes, want, count);
    hd_byte_reader r = hd_byte_reader_of(bytes.data, bytes.size);
    uint64_t block = hd_byte_reader_varint(&r), parts = hd_byte_reader_varint(&r), per_part = block / parts;
    assert_int_equal(hd_byte_reader_varint(&r), count);
    uint64_t value = (uint64_t)hd_byte_reader_zigzag(&r);
    if (count) assert_true((int64_t)value == want[0]);
    for (size_t at = 1; at < count;) {
        uint64_t least = (uint64_t)hd_byte_reader_zigzag(&r);
        const uint8_t *widths = hd_byte_reader_take(&r, parts);
        for (uint64_t p = 0; p < parts && at < count; p++) {
            const uint8_t *data = hd_byte_reader_take(&r, per_part * widths[p] / 8);
            assert_non_null(data);
            for (uint64_t i = 0; i < per_part && at < count; i++, at++) {
                value += least + bits_at(data, i * widths[p], widths[p]);
                assert_true((int64_t)value == want[at]);
            }
        }
    }
    assert_int_equal(hd_byte_reader_left(&r), 0);
    hd_bytes_deinit(&bytes);
}

static void test_parquet__differences_come_back(void **state)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT64_MIN, 0, -1, INT64_MAX, 1};
    (void)state;
    check_delta(ends, sizeof ends / sizeof *ends);
    for (uint64_t round = 0; round < hd_test_rounds(200); round++) {
        uint64_t seed = round;
        size_t count = random_next(&seed) % 600;
        unsigned shift = random_next(&seed) % 64;
        int64_t *values = malloc((count + 1) * sizeof *values);
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)(((uint64_t)random_next(&seed) << 33 ^ random_next(&seed)) >> shift);
        check_delta(values, count);
        free(values);
    }
}

/* ---- the folder ---- */

static char work[64];

static int make_work(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/heddle-parquet.XXXXXX");
    return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", work);
    return system(command);
}

static hd_trace *read_text(const char *json)
{
    hd_byte_source *source;
    hd_trace *trace;
    assert_int_equal(hd_byte_source_new_memory(&source, json, strlen(json), NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_read_from(&trace, source, NULL, NULL), HD_OK);
    hd_byte_source_free(source);
    return trace;
}

static bool exists(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", work, name);
    return access(path, F_OK) == 0;
}

static hd_status write_to(const char *json, const char *name, hd_write_options options, hd_error *err)
{
    char path[128];
    hd_trace *trace = read_text(json);
    options.format = "parquet";
    snprintf(path, sizeof path, "%s/%s", work, name);
    hd_status status = hd_trace_write(trace, name[0] == '-' ? name : path, &options, err);
    hd_trace_free(trace);
    return status;
}

static const char good[] = "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\"}]";
static const char rounds_digits[] =
    "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"args\":{\"x\":0.12345678901234567}}]";

static void test_parquet__a_folder_is_replaced_only_when_told(void **state)
{
    hd_error err = {0};
    (void)state;
    assert_int_equal(write_to(good, "a.parquet", (hd_write_options){0}, &err), HD_OK);
    assert_true(exists("a.parquet/slices.parquet") && exists("a.parquet/other.parquet"));
    assert_int_equal(write_to(good, "a.parquet", (hd_write_options){0}, &err), HD_ERR_IO);
    assert_non_null(strstr(err.message, "--clean"));
    err = (hd_error){0};
    assert_int_equal(write_to(good, "a.parquet", (hd_write_options){.clean = true}, &err), HD_OK);
    char path[128];
    snprintf(path, sizeof path, "%s/a.parquet/notes.txt", work);
    fclose(fopen(path, "w"));
    assert_int_equal(write_to(good, "a.parquet", (hd_write_options){.clean = true}, &err), HD_ERR_IO);
    assert_true(exists("a.parquet/notes.txt"));
}

static void test_parquet__no_stream_and_nothing_packed(void **state)
{
    (void)state;
    assert_int_equal(write_to(good, "-", (hd_write_options){0}, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(write_to(good, "b.parquet.gz", (hd_write_options){0}, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(write_to(good, "no/folder/b.parquet", (hd_write_options){0}, NULL), HD_ERR_IO);
}

static void count_row(void *user, const hd_ledger_row *row)
{
    if (row->level == HD_LEDGER_LOSS) *(uint64_t *)user += row->count;
}

static void test_parquet__strict_refuses_what_a_double_rounds(void **state)
{
    uint64_t losses = 0;
    (void)state;
    hd_write_options options = {.ledger = count_row, .ledger_user = &losses};
    assert_int_equal(write_to(rounds_digits, "c.parquet", options, NULL), HD_OK);
    assert_int_equal(losses, 1);
    options.strict = true;
    assert_int_equal(write_to(rounds_digits, "d.parquet", options, NULL), HD_ERR_UNSUPPORTED);
    assert_false(exists("d.parquet"));
    assert_int_equal(write_to(good, "d.parquet", options, NULL), HD_OK);
}

/* ---- streams ---- */

static hd_status fail_write(void *user, const void *data, size_t size, hd_error *err)
{
    (void)data, (void)size;
    ++*(int *)user;
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "no room");
}

static void test_parquet__the_stream_is_released_when_the_sink_fails(void **state)
{
    hd_byte_sink *sink;
    struct ArrowArrayStream stream;
    hd_trace *trace = read_text(good);
    int calls = 0;
    (void)state;
    assert_int_equal(hd_byte_sink_new_callback(&sink, fail_write, &calls, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_arrow_stream(&stream, trace, "slices", NULL, NULL), HD_OK);
    assert_int_equal(hd_parquet_write(sink, &stream, NULL, NULL), HD_ERR_IO);
    assert_null(stream.release);
    assert_true(calls > 0);
    hd_byte_sink_free(sink);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parquet__runs_and_groups_come_back),
        cmocka_unit_test(test_parquet__differences_come_back),
        cmocka_unit_test(test_parquet__a_folder_is_replaced_only_when_told),
        cmocka_unit_test(test_parquet__no_stream_and_nothing_packed),
        cmocka_unit_test(test_parquet__strict_refuses_what_a_double_rounds),
        cmocka_unit_test(test_parquet__the_stream_is_released_when_the_sink_fails),
    };
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
