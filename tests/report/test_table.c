/* test_table.c - tables: building, and what each rendering looks like */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/table.h"

/* A sink into memory, which may refuse after some bytes. */
typedef struct text_sink {
    char data[1 << 16];
    size_t size, limit;
} text_sink;

static hd_status sink_write(void *user, const char *data, size_t size)
{
    text_sink *sink = user;
    if (sink->limit && sink->size + size > sink->limit) return HD_ERR_IO;
    assert_true(sink->size + size < sizeof sink->data);
    memcpy(sink->data + sink->size, data, size);
    sink->size += size;
    sink->data[sink->size] = '\0';
    return HD_OK;
}

static void assert_written(const hd_table *table, hd_table_style style, const char *expected)
{
    text_sink *sink = calloc(1, sizeof *sink);
    assert_int_equal(hd_table_write(table, (hd_sink){sink_write, sink}, &style, NULL), HD_OK);
    assert_string_equal(sink->data, expected);
    free(sink);
}

static hd_table_builder *new_builder(void)
{
    hd_table_builder *builder;
    assert_int_equal(hd_table_builder_new(&builder, "kernels", NULL), HD_OK);
    return builder;
}

static hd_table *finish(hd_table_builder *builder)
{
    hd_table *table;
    hd_error err = {0};
    assert_int_equal(hd_table_finish(&table, builder, &err), HD_OK);
    return table;
}

/* Two rows with a column of each type; the second is all null but for its name. */
static hd_table *every_type(void)
{
    static const struct {
        const char *name;
        hd_value_type type;
    } columns[] = {
        {"kernel_name", HD_VALUE_STRING}, {"id", HD_VALUE_INT},     {"runs", HD_VALUE_COUNT},
        {"share", HD_VALUE_DECIMAL},      {"size", HD_VALUE_BYTES}, {"total", HD_VALUE_DURATION},
        {"first", HD_VALUE_TIME},         {"graph", HD_VALUE_BOOL},
    };
    size_t count = sizeof columns / sizeof *columns;
    hd_table_builder *builder = new_builder();
    for (size_t i = 0; i < count; i++) hd_table_add_column(builder, columns[i].name, columns[i].type);
    hd_table_add_text(builder, "gemm");
    hd_table_add_int(builder, -71234);
    hd_table_add_count(builder, 1234567);
    hd_table_add_decimal(builder, 1234.5678);
    hd_table_add_count(builder, 1536);
    hd_table_add_int(builder, 2848);
    hd_table_add_int(builder, 12000002848);
    hd_table_add_bool(builder, true);
    hd_table_add_text(builder, "add");
    for (size_t i = 1; i < count; i++) hd_table_add_null(builder);
    return finish(builder);
}

static hd_table *one_string(const char *text, size_t size)
{
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_string(builder, text, size);
    return finish(builder);
}

static void test_table__cells_are_read_back(void **state)
{
    (void)state;
    hd_table *table = every_type();
    size_t size;
    assert_string_equal(hd_table_name(table), "kernels");
    assert_int_equal(hd_table_row_count(table), 2);
    assert_int_equal(hd_table_column_count(table), 8);
    assert_string_equal(hd_table_get_column(table, 2)->name, "runs");
    assert_memory_equal(hd_table_get_string(&size, table, 0, 0), "gemm", 4);
    assert_int_equal(size, 4);
    assert_int_equal(hd_table_get_int(table, 0, 1), -71234);
    assert_int_equal(hd_table_get_count(table, 0, 2), 1234567);
    assert_true(hd_table_get_decimal(table, 0, 3) == 1234.5678);
    assert_true(hd_table_get_bool(table, 0, 7));
    assert_false(hd_table_is_null(table, 1, 0));
    assert_true(hd_table_is_null(table, 1, 7));
    hd_table_free(table);
}

static void test_table__text_aligns_numbers_right_with_units(void **state)
{
    (void)state;
    hd_table *table = every_type();
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT},
                   "kernel name      id       runs     share     size    total          first  graph\n"
                   "gemm         -71234  1,234,567  1,234.57  1.5 KiB  2.848us  12.000002848s  yes\n"
                   "add               -          -         -        -        -              -  -\n");
    hd_table_free(table);
}

static void test_table__json_has_raw_values(void **state)
{
    (void)state;
    hd_table *table = every_type();
    assert_written(table, (hd_table_style){.format = HD_TABLE_JSON, .indent = 2},
                   "[\n"
                   "    {\"kernel_name\": \"gemm\", \"id\": -71234, \"runs\": 1234567, \"share\": 1234.5678, "
                   "\"size\": 1536, \"total\": 2848, \"first\": 12000002848, \"graph\": true},\n"
                   "    {\"kernel_name\": \"add\", \"id\": null, \"runs\": null, \"share\": null, "
                   "\"size\": null, \"total\": null, \"first\": null, \"graph\": null}\n"
                   "  ]");
    hd_table_free(table);
}

static void test_table__csv_follows_rfc_4180(void **state)
{
    (void)state;
    hd_table *table = every_type();
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV},
                   "kernel_name,id,runs,share,size,total,first,graph\n"
                   "gemm,-71234,1234567,1234.5678,1536,2848,12000002848,true\n"
                   "add,,,,,,,\n");
    hd_table_free(table);

    table = one_string("a \"b\", c\nd", 10);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV}, "name\n\"a \"\"b\"\", c\nd\"\n");
    hd_table_free(table);
    table = one_string("", 0);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV}, "name\n\"\"\n");
    hd_table_free(table);
}

static void test_table__markdown_escapes_markup(void **state)
{
    (void)state;
    hd_table *table = one_string("__half*<int|4>_k my_kernel\n", 27);
    assert_written(table, (hd_table_style){.format = HD_TABLE_MARKDOWN},
                   "| name |\n| --- |\n| \\_\\_half\\*\\<int\\|4>\\_k my_kernel\\\\n |\n");
    hd_table_free(table);
    table = every_type();
    assert_written(table, (hd_table_style){.format = HD_TABLE_MARKDOWN},
                   "| kernel name | id | runs | share | size | total | first | graph |\n"
                   "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
                   "| gemm | -71234 | 1,234,567 | 1,234.57 | 1.5 KiB | 2.848us | 12.000002848s | yes |\n"
                   "| add | | | | | | | |\n");
    hd_table_free(table);
}

static void test_table__json_is_valid_for_any_bytes(void **state)
{
    (void)state;
    /* quote, backslash, newline, NUL, 0x1b, DEL, lone continuation, overlong, surrogate, cut sequence, é, 4 bytes */
    static const char text[] = "\"\\\n\0\x1b\x7f\x80|\xC0\xAF|\xED\xA0\x80|\xC3\xA9\xF0\x9F\x98\x80\xE2\x82";
    hd_table *table = one_string(text, sizeof text - 1);
#define BAD "\xEF\xBF\xBD"
    assert_written(table, (hd_table_style){.format = HD_TABLE_JSON},
                   "[\n  {\"name\": \"\\\"\\\\\\n\\u0000\\u001b\\u007f" BAD "|" BAD BAD "|" BAD BAD BAD
                   "|\xC3\xA9\xF0\x9F\x98\x80" BAD BAD "\"}\n]");
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT},
                   "name\n\"\\\\n\\x00\\x1b\\x7f" BAD "|" BAD BAD "|" BAD BAD BAD "|\xC3\xA9\xF0\x9F\x98\x80" BAD BAD
                   "\n");
#undef BAD
    hd_table_free(table);
}

static void test_table__json_has_no_nan_and_exact_doubles(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "x", HD_VALUE_DECIMAL);
    hd_table_add_decimal(builder, NAN);
    hd_table_add_decimal(builder, -INFINITY);
    hd_table_add_decimal(builder, 0.1);
    hd_table_add_decimal(builder, 0.1 + 0.2);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_JSON},
                   "[\n  {\"x\": null},\n  {\"x\": null},\n  {\"x\": 0.1},\n  {\"x\": 0.30000000000000004}\n]");
    hd_table_free(table);
}

static void test_table__long_names_are_shortened_in_the_middle(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_column(builder, "n", HD_VALUE_COUNT);
    hd_table_add_text(builder, "void at::native::elementwise_kernel<128, 4>");
    hd_table_add_count(builder, 1);
    hd_table_add_text(builder, "short");
    hd_table_add_count(builder, 22);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 24},
                   " n  name\n"
                   " 1  void at::n\xE2\x80\xA6l<128, 4>\n"
                   "22  short\n");
    /* Where nothing helps, names keep what tells them apart. */
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 3, .indent = 1, .bold_head = true},
                   " \033[1m n  name\033[0m\n"
                   "  1  void at::nat\xE2\x80\xA6"
                   "nel<128, 4>\n"
                   " 22  short\n");
    /* Pieces of a table keep the order of its columns. */
    size_t widths[2] = {0};
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 24, .widths = widths},
                   "name                   n\n"
                   "void at::n\xE2\x80\xA6l<128, 4>   1\n"
                   "short                 22\n");
    hd_table_free(table);
}

static hd_table *sentences(size_t rows)
{
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "finding", HD_VALUE_STRING);
    hd_table_add_column(builder, "first_ns", HD_VALUE_COUNT);
    static const char *const texts[] = {"half of the time the GPU waits for the host, in aten::copy_",
                                        "nothing is wrong with it"};
    for (size_t i = 0; i < rows; i++) {
        hd_table_add_text(builder, texts[i]);
        hd_table_add_count(builder, i ? 22 : 1234567);
    }
    return finish(builder);
}

static void test_table__sentences_are_wrapped(void **state)
{
    (void)state;
    hd_table *table = sentences(2);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 52, .indent = 2},
                   "   first ns  finding\n"
                   "  1,234,567  half of the time the GPU waits for the\n"
                   "             host, in aten::copy_\n"
                   "         22  nothing is wrong with it\n");
    /* Too little is left beside the numbers: a sentence stands below its row. */
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 44, .indent = 2},
                   "   first ns\n"
                   "  1,234,567\n"
                   "      half of the time the GPU waits for\n"
                   "      the host, in aten::copy_\n"
                   "         22\n"
                   "      nothing is wrong with it\n");
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 200},
                   "finding                                                       first ns\n"
                   "half of the time the GPU waits for the host, in aten::copy_  1,234,567\n"
                   "nothing is wrong with it                                            22\n");
    hd_table_free(table);
}

static void test_table__one_row_that_does_not_fit_has_a_line_a_column(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "first_count", HD_VALUE_COUNT);
    hd_table_add_column(builder, "second_count", HD_VALUE_COUNT);
    hd_table_add_column(builder, "third", HD_VALUE_DURATION);
    hd_table_add_count(builder, 1234);
    hd_table_add_null(builder);
    hd_table_add_int(builder, 2848);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 30, .indent = 1},
                   " first count   1,234\n"
                   " second count  -\n"
                   " third         2.848us\n");
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 34},
                   "first count  second count    third\n"
                   "      1,234             -  2.848us\n");
    hd_table_free(table);
}

static void test_table__long_names_get_a_quarter_of_the_line_and_what_is_left(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    static const char *const names[] = {"name", "median_time", "largest_time", "total_time", "registers_used"};
    for (size_t i = 0; i < 5; i++) hd_table_add_column(builder, names[i], i ? HD_VALUE_COUNT : HD_VALUE_STRING);
    for (uint64_t row = 0; row < 2; row++) {
        hd_table_add_text(builder, "synth_gemm_bf16_f32acc_nn_128x128x64_stages4_with_a_bias_and_gelu");
        for (size_t i = 1; i < 5; i++) hd_table_add_count(builder, row + i);
    }
    hd_table *table = finish(builder);
    /* With all columns 17 are left of 72, less than a quarter; with one column less 33. */
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 72},
                   "median time  largest time  total time  name\n"
                   "          1             2           3  synth_gemm_bf16_\xE2\x80\xA6"
                   "_a_bias_and_gelu\n"
                   "          2             3           4  synth_gemm_bf16_\xE2\x80\xA6"
                   "_a_bias_and_gelu\n"
                   "\xE2\x80\xA6 one more column: registers used\n");
    hd_table_free(table);
}

static void test_table__columns_that_do_not_fit_are_named(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    static const char *const names[] = {"first_count", "name", "second_count", "third_count"};
    for (size_t i = 0; i < 4; i++) hd_table_add_column(builder, names[i], i == 1 ? HD_VALUE_STRING : HD_VALUE_COUNT);
    for (uint64_t row = 0; row < 2; row++) {
        for (size_t i = 0; i < 4; i++)
            i == 1 ? hd_table_add_text(builder, "gemm") : hd_table_add_count(builder, row + i);
    }
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 38},
                   "first count  name  second count\n"
                   "          0  gemm             2\n"
                   "          1  gemm             3\n"
                   "\xE2\x80\xA6 one more column: third count\n");
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT, .width = 3, .indent = 1},
                   " first count  name\n"
                   "           0  gemm\n"
                   "           1  gemm\n"
                   " \xE2\x80\xA6 more columns: second count, third count\n");
    hd_table_free(table);
}

/* Whatever the columns are: no line is wider than asked, but for the last, which names columns. */
static void test_table__lines_fit_the_width(void **state)
{
    (void)state;
    static const char words[] =
        "the time of void kernel<float, 4>(int, int) waits for it in aten::copy_ and ProfilerStep#3 0123456789";
    enum { LEAST = 80, ROWS = 5, COLUMNS = 14 };
    uint32_t draw = 7;
    for (int round = 0; round < 300; round++) {
        hd_table_builder *builder = new_builder();
        const size_t columns = 1 + (draw = draw * 1664525 + 1013904223) % COLUMNS, width = LEAST + (draw >> 16) % 140;
        bool text[COLUMNS];
        for (size_t i = 0; i < columns; i++) {
            char name[32];
            draw = draw * 1664525 + 1013904223;
            text[i] = draw >> 30 == 0;
            snprintf(name, sizeof name, "%.*s_%zu", (int)((draw >> 20) % 16), "a_name_of_words", i);
            hd_table_add_column(builder, name, text[i] ? HD_VALUE_STRING : HD_VALUE_DURATION);
        }
        for (size_t cell = 0; cell < ROWS * columns; cell++) {
            draw = draw * 1664525 + 1013904223;
            if (draw >> 28 == 0)
                hd_table_add_null(builder);
            else if (text[cell % columns])
                hd_table_add_string(builder, words + (draw >> 27), (draw >> 16) % 68);
            else
                hd_table_add_int(builder, draw);
        }
        hd_table *table = finish(builder);
        text_sink *sink = calloc(1, sizeof *sink);
        const hd_table_style style = {.format = HD_TABLE_TEXT, .width = (unsigned)width, .indent = 2};
        assert_int_equal(hd_table_write(table, (hd_sink){sink_write, sink}, &style, NULL), HD_OK);
        for (const char *line = sink->data; *line; line += strcspn(line, "\n") + 1) {
            size_t used = 0;
            for (const char *c = line; *c != '\n'; c++) used += (*c & 0xc0) != 0x80;
            if (strncmp(line, "  \xE2\x80\xA6", 5) != 0) assert_in_range(used, 1, width);
        }
        free(sink);
        hd_table_free(table);
    }
}

static void test_table__a_table_without_rows_has_its_head(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT}, "name\n");
    assert_written(table, (hd_table_style){.format = HD_TABLE_JSON}, "[]");
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV}, "name\n");
    hd_table_free(table);
    table = finish(new_builder());
    assert_int_equal(hd_table_row_count(table), 0);
    assert_written(table, (hd_table_style){.format = HD_TABLE_TEXT}, "");
    assert_written(table, (hd_table_style){.format = HD_TABLE_JSON}, "[]");
    hd_table_free(table);
}

static void test_table__the_first_failure_sticks_until_finish(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    assert_int_equal(hd_table_add_int(builder, 1), HD_ERR_ARGUMENT); /* no columns yet */
    hd_table_builder_free(builder);

    builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    assert_int_equal(hd_table_add_count(builder, 1), HD_ERR_ARGUMENT);
    assert_int_equal(hd_table_add_text(builder, "fine by itself"), HD_ERR_ARGUMENT);
    hd_table *table;
    hd_error err = {0};
    assert_int_equal(hd_table_finish(&table, builder, &err), HD_ERR_ARGUMENT);
    assert_null(table);
    assert_string_equal(err.message, "table kernels: column name has another type");

    builder = new_builder();
    hd_table_add_column(builder, "a", HD_VALUE_INT);
    hd_table_add_column(builder, "b", HD_VALUE_INT);
    hd_table_add_int(builder, 1);
    assert_int_equal(hd_table_finish(&table, builder, NULL), HD_ERR_ARGUMENT);

    builder = new_builder();
    hd_table_add_column(builder, "a", HD_VALUE_INT);
    assert_int_equal(hd_table_add_column(builder, "a", HD_VALUE_INT), HD_ERR_ARGUMENT);
    hd_table_builder_free(builder);
}

static void test_table__a_sink_that_refuses_stops_the_printing(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "n", HD_VALUE_COUNT);
    for (uint64_t i = 0; i < 5000; i++) hd_table_add_count(builder, i);
    hd_table *table = finish(builder);
    for (int format = HD_TABLE_TEXT; format <= HD_TABLE_MARKDOWN; format++) {
        text_sink *sink = calloc(1, sizeof *sink);
        hd_table_style style = {.format = (hd_table_format)format};
        hd_error err = {0};
        sink->limit = 5000;
        assert_int_equal(hd_table_write(table, (hd_sink){sink_write, sink}, &style, &err), HD_ERR_IO);
        assert_int_equal(err.status, HD_ERR_IO);
        assert_true(sink->size <= 5000);
        free(sink);
    }
    hd_table_free(table);
}

static void test_table__durations_take_the_unit_that_reads_best(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0ns"},
        {480, "480ns"},
        {999, "999ns"},
        {1000, "1.000us"},
        {2848, "2.848us"},
        {999999, "999.999us"},
        {1000000, "1.000ms"},
        {12400499, "12.400ms"},
        {12400500, "12.401ms"},
        {999999499, "999.999ms"},
        {999999500, "1.000s"},
        {1234000000, "1.234s"},
        {-2848, "-2.848us"},
        {INT64_MAX, "9223372036.855s"},
        {INT64_MIN, "-9223372036.855s"},
    };
    char out[HD_VALUE_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(hd_text_duration(out, cases[i].ns), cases[i].text);
    }
    assert_string_equal(hd_text_time(out, -1), "-0.000000001s");
    assert_string_equal(hd_text_time(out, INT64_MIN), "-9223372036.854775808s");
}

static void test_table__counts_and_bytes_are_grouped_and_scaled(void **state)
{
    (void)state;
    char out[HD_VALUE_TEXT_BYTES];
    assert_string_equal(hd_text_count(out, 0), "0");
    assert_string_equal(hd_text_count(out, 999), "999");
    assert_string_equal(hd_text_count(out, 1000), "1,000");
    assert_string_equal(hd_text_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(hd_text_bytes(out, 1023), "1023 B");
    assert_string_equal(hd_text_bytes(out, 1024), "1.0 KiB");
    assert_string_equal(hd_text_bytes(out, 1024 * 1024 - 1), "1.0 MiB");
    assert_string_equal(hd_text_bytes(out, UINT64_MAX), "16.0 EiB");
}

static void add_kernel(hd_table_builder *builder, const char *name, int64_t device, int64_t total)
{
    hd_table_add_text(builder, name);
    if (device < 0)
        hd_table_add_null(builder);
    else
        hd_table_add_int(builder, device);
    if (total < 0)
        hd_table_add_null(builder);
    else
        hd_table_add_int(builder, total);
}

/* By device, null first; the largest total first, null as -1; then by all cells. */
static void test_table__rows_are_sorted_by_columns(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_column(builder, "device", HD_VALUE_INT);
    hd_table_add_column(builder, "total", HD_VALUE_DURATION);
    add_kernel(builder, "b", 1, 5);
    add_kernel(builder, "a", 1, 5);
    add_kernel(builder, "c", 0, -1);
    add_kernel(builder, "ca", 0, 0);
    add_kernel(builder, NULL, 0, 0);
    add_kernel(builder, "d", -1, 1);
    add_kernel(builder, "a", 1, 7);
    assert_int_equal(hd_table_sort(builder, "rank,device", "total"), HD_OK);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV},
                   "name,device,total\nd,,1\n,0,0\nca,0,0\nc,0,\na,1,7\na,1,5\nb,1,5\n");
    assert_int_equal(hd_table_find_column(table, "total"), 2);
    assert_true(hd_table_find_column(table, "rank") == SIZE_MAX);
    hd_table_free(table);
}

static void test_table__sorting_by_the_first_columns_alone_keeps_what_is_equal(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_column(builder, "device", HD_VALUE_INT);
    hd_table_add_column(builder, "total", HD_VALUE_DURATION);
    add_kernel(builder, "z", 1, 1);
    add_kernel(builder, "y", 0, 2);
    add_kernel(builder, "x", 1, 3);
    assert_int_equal(hd_table_sort(builder, "device", NULL), HD_OK);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV}, "name,device,total\ny,0,2\nz,1,1\nx,1,3\n");
    hd_table_free(table);
}

static void test_table__a_row_that_lacks_cells_is_not_sorted(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_column(builder, "device", HD_VALUE_INT);
    hd_table_add_text(builder, "z");
    assert_int_equal(hd_table_sort(builder, "device", ""), HD_ERR_ARGUMENT);
    hd_table_builder_free(builder);
}

/* Cells of one table go into another as they are. */
static void test_table__cells_are_copied(void **state)
{
    (void)state;
    hd_table *table = every_type();
    hd_table_builder *builder = new_builder();
    for (size_t c = 0; c < hd_table_column_count(table); c++)
        hd_table_add_column(builder, hd_table_get_column(table, c)->name, hd_table_get_column(table, c)->type);
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        for (size_t c = 0; c < hd_table_column_count(table); c++)
            assert_int_equal(hd_table_add_cell(builder, table, row, c), HD_OK);
    }
    hd_table *copy = finish(builder);
    text_sink *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    const hd_table_style style = {.format = HD_TABLE_JSON};
    assert_int_equal(hd_table_write(table, (hd_sink){sink_write, a}, &style, NULL), HD_OK);
    assert_int_equal(hd_table_write(copy, (hd_sink){sink_write, b}, &style, NULL), HD_OK);
    assert_string_equal(a->data, b->data);
    free(a);
    free(b);
    hd_table_free(copy);
    hd_table_free(table);
}

/* Texts are kept once; the same, others of one hash, prefixes and empty ones stay what they are, also when sorted. */
static void test_table__texts_that_repeat_are_read_back(void **state)
{
    (void)state;
    enum { ROWS = 20000, TEXTS = 1500 };
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "number", HD_VALUE_INT);
    hd_table_add_column(builder, "text", HD_VALUE_STRING);
    for (int64_t i = 0; i < ROWS; i++) {
        char text[64];
        int64_t which = i * 7919 % TEXTS;
        int size = snprintf(text, sizeof text, "%lldxxxxxxxxxxxxxxxxxxxx", (long long)which / 3);
        hd_table_add_int(builder, i % 2 ? INT64_MIN + i : i);
        if (which == 7)
            hd_table_add_null(builder);
        else
            hd_table_add_string(builder, text, which % 3 == 2 ? 0 : (size_t)(which % 3 ? size : size - 9));
    }
    hd_table_sort(builder, "number", NULL);
    hd_table *table = finish(builder);
    for (size_t row = 0; row < ROWS; row++) {
        int64_t number = hd_table_get_int(table, row, 0), i = number < 0 ? number - INT64_MIN : number;
        int64_t which = i * 7919 % TEXTS;
        char wanted[64];
        size_t size,
            wanted_size = (size_t)snprintf(wanted, sizeof wanted, "%lldxxxxxxxxxxxxxxxxxxxx", (long long)which / 3);
        if (which % 3 != 1) wanted_size = which % 3 ? 0 : wanted_size - 9;
        assert_int_equal(hd_table_is_null(table, row, 1), which == 7);
        if (which == 7) continue;
        const char *text = hd_table_get_string(&size, table, row, 1);
        assert_int_equal(size, wanted_size);
        assert_memory_equal(text, wanted, size);
    }
    hd_table_free(table);
}

/* What a cell is: as many random bits as the column has them, of both signs, or null. */
static uint64_t bits_of(size_t row, size_t column, bool *is_null)
{
    uint64_t x = (row * 131 + column + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    *is_null = column % 7 == 6 || (column % 3 == 1 && x % (column + 2) == 0);
    if (column % 11 == 10 && x % 3 == 0) return x & 64 ? (uint64_t)INT64_MIN : INT64_MAX;
    return (column ? x >> (64 - column) : 0) - (UINT64_C(1) << column) / 2;
}

static const hd_value_type block_types[] = {HD_VALUE_INT, HD_VALUE_COUNT, HD_VALUE_DECIMAL, HD_VALUE_BOOL,
                                            HD_VALUE_STRING};
enum { BLOCK_COLUMNS = 64, BLOCK_TYPES = sizeof block_types / sizeof *block_types };

static void add_bits(hd_table_builder *builder, uint64_t bits, hd_value_type type)
{
    char text[24];
    double decimal;
    memcpy(&decimal, &bits, sizeof decimal);
    switch (type) {
    case HD_VALUE_INT: hd_table_add_int(builder, (int64_t)bits); break;
    case HD_VALUE_COUNT: hd_table_add_count(builder, bits); break;
    case HD_VALUE_DECIMAL: hd_table_add_decimal(builder, decimal); break;
    case HD_VALUE_BOOL: hd_table_add_bool(builder, bits % 2); break;
    default: hd_table_add_string(builder, text, (size_t)snprintf(text, sizeof text, "%llx", (unsigned long long)bits));
    }
}

static uint64_t read_bits(const hd_table *table, size_t row, size_t column, hd_value_type type)
{
    char text[24] = {0};
    size_t size;
    double decimal = hd_table_get_decimal(table, row, column);
    uint64_t bits;
    memcpy(&bits, &decimal, sizeof bits);
    if (type == HD_VALUE_INT) bits = (uint64_t)hd_table_get_int(table, row, column);
    if (type == HD_VALUE_COUNT) bits = hd_table_get_count(table, row, column);
    if (type == HD_VALUE_BOOL) bits = hd_table_get_bool(table, row, column);
    if (type == HD_VALUE_STRING) {
        const char *own = hd_table_get_string(&size, table, row, column);
        assert_true(size < sizeof text);
        memcpy(text, own, size);
        bits = strtoull(text, NULL, 16);
    }
    return bits;
}

static hd_table *many_rows(size_t count)
{
    hd_table_builder *builder = new_builder();
    char name[24];
    bool is_null;
    for (size_t c = 0; c < BLOCK_COLUMNS; c++) {
        snprintf(name, sizeof name, "%zu", c);
        hd_table_add_column(builder, name, block_types[c % BLOCK_TYPES]);
    }
    for (size_t i = 0; i < count * BLOCK_COLUMNS; i++) {
        uint64_t bits = bits_of(i / BLOCK_COLUMNS, i % BLOCK_COLUMNS, &is_null);
        if (is_null)
            hd_table_add_null(builder);
        else
            add_bits(builder, bits, block_types[i % BLOCK_COLUMNS % BLOCK_TYPES]);
    }
    return finish(builder);
}

/* Rows in blocks, and those behind the last block: numbers of every width and sign, decimals, bools, texts, nulls. */
static void test_table__many_rows_are_read_back(void **state)
{
    (void)state;
    static const size_t counts[] = {1023, 1024, 1025, 2048, 3333};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        hd_table *table = many_rows(counts[n]);
        assert_int_equal(hd_table_row_count(table), counts[n]);
        for (size_t i = 0; i < counts[n] * BLOCK_COLUMNS; i++) {
            size_t row = i / BLOCK_COLUMNS, column = i % BLOCK_COLUMNS;
            hd_value_type type = block_types[column % BLOCK_TYPES];
            bool is_null;
            uint64_t bits = bits_of(row, column, &is_null);
            assert_int_equal(hd_table_is_null(table, row, column), is_null);
            if (!is_null) assert_true(read_bits(table, row, column, type) == (type == HD_VALUE_BOOL ? bits % 2 : bits));
        }
        hd_table_free(table);
    }
}

static void test_table__numbers_at_their_limits_are_raw(void **state)
{
    (void)state;
    hd_table_builder *builder = new_builder();
    hd_table_add_column(builder, "i", HD_VALUE_INT);
    hd_table_add_column(builder, "c", HD_VALUE_COUNT);
    hd_table_add_int(builder, INT64_MIN);
    hd_table_add_count(builder, UINT64_MAX);
    hd_table_add_int(builder, -1);
    hd_table_add_count(builder, 0);
    hd_table *table = finish(builder);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV},
                   "i,c\n-9223372036854775808,18446744073709551615\n-1,0\n");
    hd_table_free(table);
}

/* One below the most, and the most; the order of rows is by the sum, which is not shown. */
static void test_table__saturated_sums_are_null_and_counted(void **state)
{
    (void)state;
    static const int64_t sums[] = {5, INT64_MAX, -INT64_MAX, INT64_MAX - 1};
    for (int saturates = 0; saturates < 2; saturates++) {
        hd_table_builder *builder = new_builder();
        hd_table_add_column(builder, "i", HD_VALUE_INT);
        hd_table_add_column(builder, "d", HD_VALUE_DURATION);
        hd_table_add_column(builder, "c", HD_VALUE_COUNT);
        if (saturates) hd_table_set_saturating(builder);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
            hd_table_add_int(builder, sums[i]);
            hd_table_add_int(builder, sums[i]);
            hd_table_add_count(builder, i == 2 ? UINT64_MAX : (uint64_t)sums[i]);
        }
        hd_table_sort(builder, "", "d");
        hd_table *table = finish(builder), *head;
        assert_int_equal(hd_table_beyond(table), saturates ? 4 : 0);
        assert_int_equal(hd_table_head(&head, table, 1, NULL), HD_OK);
        assert_int_equal(hd_table_beyond(head), saturates ? 2 : 0);
        hd_table_free(head);
        assert_written(table, (hd_table_style){.format = HD_TABLE_CSV},
                       saturates ? "i,d,c\n9223372036854775807,,\n9223372036854775806,9223372036854775806,"
                                   "9223372036854775806\n5,5,5\n-9223372036854775807,,\n"
                                 : "i,d,c\n9223372036854775807,9223372036854775807,9223372036854775807\n"
                                   "9223372036854775806,9223372036854775806,9223372036854775806\n5,5,5\n"
                                   "-9223372036854775807,-9223372036854775807,18446744073709551615\n");
        hd_table_free(table);
    }
}

static void test_table__text_that_a_spreadsheet_would_run_is_text(void **state)
{
    (void)state;
    static const char *const cells[][2] = {{"=1+1", "'=1+1"},
                                           {"+a", "'+a"},
                                           {"-b", "'-b"},
                                           {"@c", "'@c"},
                                           {"\x1b[31m", "'\x1b[31m"},
                                           {"\tq", "'\tq"},
                                           {"=,\"", "\"'=,\"\"\""},
                                           {"-12", "-12"},
                                           {"+.5", "+.5"},
                                           {"-1.5e-9", "-1.5e-9"},
                                           {"-1e", "'-1e"},
                                           {"-", "'-"},
                                           {"a=b", "a=b"},
                                           {"5", "5"}};
    hd_table_builder *builder;
    hd_table *table;
    char expected[512] = "'@n,i\n";
    assert_int_equal(hd_table_builder_new(&builder, "t", NULL), HD_OK);
    hd_table_add_column(builder, "@n", HD_VALUE_STRING);
    hd_table_add_column(builder, "i", HD_VALUE_INT);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        hd_table_add_text(builder, cells[i][0]);
        hd_table_add_int(builder, -5);
        strcat(strcat(expected, cells[i][1]), ",-5\n");
    }
    assert_int_equal(hd_table_finish(&table, builder, NULL), HD_OK);
    assert_written(table, (hd_table_style){.format = HD_TABLE_CSV}, expected);
    hd_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table__saturated_sums_are_null_and_counted),
        cmocka_unit_test(test_table__text_that_a_spreadsheet_would_run_is_text),
        cmocka_unit_test(test_table__cells_are_read_back),
        cmocka_unit_test(test_table__text_aligns_numbers_right_with_units),
        cmocka_unit_test(test_table__json_has_raw_values),
        cmocka_unit_test(test_table__csv_follows_rfc_4180),
        cmocka_unit_test(test_table__markdown_escapes_markup),
        cmocka_unit_test(test_table__json_is_valid_for_any_bytes),
        cmocka_unit_test(test_table__json_has_no_nan_and_exact_doubles),
        cmocka_unit_test(test_table__long_names_are_shortened_in_the_middle),
        cmocka_unit_test(test_table__sentences_are_wrapped),
        cmocka_unit_test(test_table__one_row_that_does_not_fit_has_a_line_a_column),
        cmocka_unit_test(test_table__long_names_get_a_quarter_of_the_line_and_what_is_left),
        cmocka_unit_test(test_table__columns_that_do_not_fit_are_named),
        cmocka_unit_test(test_table__lines_fit_the_width),
        cmocka_unit_test(test_table__a_table_without_rows_has_its_head),
        cmocka_unit_test(test_table__the_first_failure_sticks_until_finish),
        cmocka_unit_test(test_table__a_sink_that_refuses_stops_the_printing),
        cmocka_unit_test(test_table__durations_take_the_unit_that_reads_best),
        cmocka_unit_test(test_table__counts_and_bytes_are_grouped_and_scaled),
        cmocka_unit_test(test_table__rows_are_sorted_by_columns),
        cmocka_unit_test(test_table__sorting_by_the_first_columns_alone_keeps_what_is_equal),
        cmocka_unit_test(test_table__a_row_that_lacks_cells_is_not_sorted),
        cmocka_unit_test(test_table__cells_are_copied),
        cmocka_unit_test(test_table__texts_that_repeat_are_read_back),
        cmocka_unit_test(test_table__many_rows_are_read_back),
        cmocka_unit_test(test_table__numbers_at_their_limits_are_raw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
