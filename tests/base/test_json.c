/* test_json.c - src/base/json/json.c and src/base/json/write.c: the strict scanner, decoding, and writing */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/json/write.h"

/* A copy with the padding that the scanner asks for, and nothing behind it. */
static char *padded(const char *text, size_t size)
{
    char *copy = calloc(1, size + HD_JSON_PADDING);
    assert_non_null(copy);
    if (size) memcpy(copy, text, size);
    return copy;
}

/* Does the scanner take the whole text as one value? */
static bool scans(const char *text, size_t size)
{
    char *copy = padded(text, size);
    const char *p = hd_json_skip_value(hd_json_skip_space(copy));
    bool whole = p && p <= copy + size && hd_json_skip_space(p) == copy + size;
    free(copy);
    return whole;
}

static void expect_both(const char *text, bool valid)
{
    size_t size = strlen(text);
    if (scans(text, size) != valid) fail_msg("scanner %s: %s", valid ? "refuses" : "takes", text);
    if (hd_json_valid(text, size, HD_JSON_DEPTH_LIMIT) != valid) fail_msg("oracle is wrong: %s", text);
}

static void test_json__valid_values_are_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "1.5",
        "-0.0",
        "1e5",
        "1E+5",
        "1.25e-7",
        "12345678901234567890123.456",
        "0.00000000000000000000001",
        "\"\"",
        "\"a\"",
        "\"\\u0000\\ud800\\/\"",
        "\"\x7f\xc3\xa9\xf4\x8f\xbf\xbf\"",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        " [ 1 , [ ] , { \"a\" : { } } ] ",
        "{\"a\":1,\"a\":2,\"\":3}",
        "[[[[[[1]]]]],\"0123456789abcdef0123456789\"]",
        "\t\r\n                                  1                                  ",
        "123456789012345678901.5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_both(texts[i], true);
}

static void test_json__anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "01",
        "-",
        "-a",
        "1.",
        ".5",
        "1.e5",
        "1e",
        "1e+",
        "+1",
        "0x1",
        "1.2.3",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "nul",
        "falsy",
        "True",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12\"",
        "\"a\nb\"",
        "\"\x01\"",
        "'a'",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "}",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\" 1}",
        "{\"a\":1]",
        "{1:2}",
        "1 2",
        "\"a\"\"b\"",
        "[1]]",
        "/**/1",
        "1//x",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xc3(\"",
        "\"\xed\xa0\x80\"",
        "\"\xc0\x80\"",
        "\"\xf5\x80\x80\x80\"",
        "{\"\xff\":1}",
        "123456789012345678901.5.5",
        "12345678901234567890.1.",
        "123456789012345678901.5e",
        "12345678901234567890.",
        "1e5.5",
        "00",
        "-01",
        "\x0c[]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_both(texts[i], false);
}

static void test_json__a_nul_byte_is_valid_nowhere(void **state)
{
    (void)state;
    static const char texts[][9] = {"\"ab\0cd\"", "[1,\0 2]", "{\"a\":\0}", "[1]\0", "\0[1]  ", "12\0", "{\"a\0\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *copy = padded(texts[i], 8);
        const char *p = hd_json_skip_value(copy);
        assert_true(!p || memchr(copy, 0, (size_t)(p - copy)) == NULL);
        free(copy);
    }
}

static void test_json__nesting_ends_at_the_limit(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    for (int object = 0; object < 2; object++) {
        size_t step = object ? 5 : 1;
        char *text = malloc((size_t)DEEP * (step + 1) + 2);
        assert_non_null(text);
        static const int depths[] = {1023, 1024, 1025, 1026, DEEP};
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            size_t n = (size_t)depths[d], size = 0;
            for (size_t i = 0; i < n; i++, size += step) memcpy(text + size, object ? "{\"a\":" : "[", step);
            text[size++] = '1';
            for (size_t i = 0; i < n; i++) text[size++] = object ? '}' : ']';
            assert_int_equal(scans(text, size), n <= HD_JSON_DEPTH_LIMIT);
        }
        free(text);
    }
}

static void test_json__a_value_that_is_cut_is_told_from_one_that_is_broken(void **state)
{
    (void)state;
    static const char whole[] =
        "[1 , -2.5e+7 ,true,null , {\"key\" : \"te\\\"xt\\u00e9\xc3\xa9\" , \"b\" :[ ] }, false ] ";
    for (size_t size = 1; size < sizeof whole - 3; size++) {
        char *copy = padded(whole, size);
        if (!hd_json_is_cut(copy, copy + size)) fail_msg("not cut: %s", copy);
        free(copy);
    }
    static const char *const broken[] = {"[1 2", "[tru]", "{\"a\" 1", "[\"a\nb", "[\"\\xabcdefg",
                                         "[}",   "[1,,2", "{1:2",     "[[[1}",   "]"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s, \"more\" ]   ", broken[i]);
        char *copy = padded(text, strlen(text));
        if (hd_json_is_cut(copy, copy + strlen(text))) fail_msg("cut: %s", copy);
        free(copy);
    }
}

/* ---- numbers ---- */

static void expect_number(const char *text, bool exact, bool negative, uint64_t mantissa, unsigned scale)
{
    hd_json_number n;
    char *copy = padded(text, strlen(text));
    assert_ptr_equal(hd_json_scan_number(&n, copy), copy + strlen(text));
    assert_int_equal(n.exact, exact);
    assert_int_equal(n.negative, negative);
    if (exact) assert_int_equal(n.mantissa, mantissa);
    if (exact) assert_int_equal(n.scale, scale);
    free(copy);
}

static void test_json__numbers_keep_every_digit_or_say_that_they_do_not(void **state)
{
    (void)state;
    expect_number("0", true, false, 0, 0);
    expect_number("-0.0", true, true, 0, 1);
    expect_number("12.500", true, false, 12500, 3);
    expect_number("9007199254740993", true, false, 9007199254740993u, 0);
    expect_number("9999999999999999999", true, false, 9999999999999999999u, 0);
    expect_number("18446744073709551615", false, false, 0, 0);
    expect_number("18446744073709551616", false, false, 0, 0);
    expect_number("1704067200123456.789", true, false, 1704067200123456789u, 3);
    expect_number("0.1234567890123456789", true, false, 1234567890123456789u, 19);
    expect_number("0.00000000000000000000000000000001", true, false, 1, 32);
    expect_number("-12345678.87654321", true, true, 1234567887654321u, 8);
    expect_number("1e0", false, false, 0, 0);
    expect_number("1.5E-3", false, false, 0, 0);
}

/* ---- strings ---- */

static void expect_text(const char *json, const char *expected, size_t size)
{
    hd_json_text text;
    char *copy = padded(json, strlen(json)), *out = malloc(strlen(json) + 1);
    size_t got;
    assert_ptr_equal(hd_json_string(&text, copy + 1), copy + strlen(json));
    assert_true(hd_json_decode(out, &got, &text));
    assert_int_equal(got, size);
    assert_memory_equal(out, expected, size);
    hd_json_out again = {0};
    hd_json_put_string(&again, out, got); /* and back: the same text, however it was escaped */
    hd_json_put(&again, "", 1);
    char *second = padded(again.data, again.size);
    assert_non_null(hd_json_string(&text, second + 1));
    assert_true(hd_json_decode(out, &got, &text));
    assert_int_equal(got, size);
    assert_memory_equal(out, expected, size);
    assert_true(hd_json_valid(again.data, again.size - 1, 1));
    free(second);
    free(again.data);
    free(copy);
    free(out);
}

static void test_json__strings_decode_and_write_back(void **state)
{
    (void)state;
    expect_text("\"\"", "", 0);
    expect_text("\"plain\"", "plain", 5);
    expect_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    expect_text("\"a\\u0000b\"", "a\0b", 3);
    expect_text("\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac", 5);
    expect_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
    expect_text("\"\\ud83d\"", "\xed\xa0\xbd", 3);
    expect_text("\"\\ude00\\ud83d\"", "\xed\xb8\x80\xed\xa0\xbd", 6);
    expect_text("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80", 7);
    expect_text("\"\\ud83dx\\u0041\"", "\xed\xa0\xbdxA", 5);
    expect_text("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11);
    expect_text("\"0123456789abcdef\\n0123456789abcdef\xc3\xa9\"", "0123456789abcdef\n0123456789abcdef\xc3\xa9", 35);
}

static void test_json__bytes_that_are_no_utf8_are_written_as_replacement(void **state)
{
    (void)state;
    hd_json_out out = {0};
    static const char bytes[] = "\xff\xc3(\xe2\x82\xf0\x9f\x98\xc0\x80\x80";
    for (size_t size = 0; size < sizeof bytes; size++) {
        out.size = 0;
        hd_json_put_string(&out, bytes, size);
        assert_true(hd_json_valid(out.data, out.size, 1));
    }
    free(out.data);
}

static void test_json__strings_of_every_length_end_where_they_end(void **state)
{
    (void)state;
    static const char *const tails[] = {"\"", "\\\"\"", "\\u00e9\"", "\xc3\xa9\""};
    for (size_t size = 0; size < 70; size++) {
        for (size_t t = 0; t < 4; t++) {
            char text[128];
            memset(text, 'x', size);
            strcpy(text + size, tails[t]);
            hd_json_text out;
            char *copy = padded(text, strlen(text));
            assert_ptr_equal(hd_json_string(&out, copy), copy + strlen(text));
            assert_int_equal(out.size, strlen(text) - 1);
            assert_int_equal(out.escaped, t == 1 || t == 2);
            assert_int_equal(out.wide, t == 3);
            copy[strlen(text) - 1] = '\0';
            assert_null(hd_json_string(&out, copy));
            free(copy);
        }
    }
}

static void test_json__find_gives_the_value_of_a_key(void **state)
{
    (void)state;
    static const char text[] = " { \"a\" : [1, {\"rank\":9}] , \"rank\" : 3 , \"b\":\"x\" } ";
    char *copy = padded(text, sizeof text - 1);
    const char *value;
    size_t size;
    assert_true(hd_json_find(&value, &size, copy, "rank"));
    assert_int_equal(size, 1);
    assert_int_equal(*value, '3');
    assert_true(hd_json_find(&value, &size, copy, "a"));
    assert_int_equal(size, 15);
    assert_false(hd_json_find(&value, &size, copy, "c"));
    free(copy);
}

static void test_json__find_whole_takes_whole_numbers_alone(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":-5,\"b\":\"12\",\"c\":1.5,\"d\":9223372036854775807,\"e\":9223372036854775808,"
        "\"f\":\"x\",\"g\":[1],\"h\":null,\"i\":\"\",\"k\":-9223372036854775808,\"l\":-9223372036854775809}";
    char *copy = padded(text, sizeof text - 1);
    int64_t number;
    assert_true(hd_json_find_whole(&number, copy, "a") && number == -5);
    assert_true(hd_json_find_whole(&number, copy, "b") && number == 12);
    assert_true(hd_json_find_whole(&number, copy, "d") && number == INT64_MAX);
    assert_true(hd_json_find_whole(&number, copy, "k") && number == INT64_MIN);
    for (const char *key = "cefghijl"; *key; key++) {
        char name[] = {*key, '\0'};
        assert_false(hd_json_find_whole(&number, copy, name));
    }
    free(copy);
}

/* ---- writing ---- */

static void expect_decimal(int64_t mantissa, unsigned scale, const char *expected)
{
    hd_json_out out = {0};
    hd_json_put_decimal(&out, mantissa, scale);
    hd_json_put(&out, "", 1);
    assert_string_equal(out.data, expected);
    free(out.data);
}

static void test_json__decimals_are_written_with_all_their_digits(void **state)
{
    (void)state;
    expect_decimal(0, 0, "0");
    expect_decimal(0, 3, "0.000");
    expect_decimal(-5, 1, "-0.5");
    expect_decimal(12500, 3, "12.500");
    expect_decimal(1, 31, "0.0000000000000000000000000000001");
    expect_decimal(INT64_MAX, 3, "9223372036854775.807");
    expect_decimal(INT64_MIN, 0, "-9223372036854775808");
    expect_decimal(INT64_MIN, 19, "-0.9223372036854775808");
}

static void test_json__pretty_text_is_the_same_value(void **state)
{
    (void)state;
    hd_json_out out = {0};
    static const char text[] = "{\"a\":[1, [ ],{}],\"b\" : {\"c\":\"x,{[ \\\" \"},\"d\":[{ \"e\":null}]}";
    hd_json_put_pretty(&out, text, sizeof text - 1, 1);
    hd_json_put(&out, "", 1);
    assert_string_equal(out.data,
                        "{\n    \"a\": [\n      1,\n      [],\n      {}\n    ],\n    \"b\": {\n      \"c\": "
                        "\"x,{[ \\\" \"\n    },\n    \"d\": [\n      {\n        \"e\": null\n      }\n    ]\n  }");
    free(out.data);
}

static void test_json__scanner_agrees_with_the_oracle_on_random_text(void **state)
{
    (void)state;
    static const char alphabet[] = "{}[]\",:\\u0019.eE+-tfn \n\x80\xc3\xa9"
                                   "truefalsnull";
    uint64_t random = 1;
    for (int round = 0; round < 400000; round++) {
        char text[24];
        size_t size = 1 + (size_t)round % 20;
        for (size_t i = 0; i < size; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[i] = alphabet[(random >> 33) % (sizeof alphabet - 1)];
        }
        if (scans(text, size) != hd_json_valid(text, size, HD_JSON_DEPTH_LIMIT))
            fail_msg("they differ on %.*s", (int)size, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__valid_values_are_taken),
        cmocka_unit_test(test_json__anything_else_is_refused),
        cmocka_unit_test(test_json__a_nul_byte_is_valid_nowhere),
        cmocka_unit_test(test_json__nesting_ends_at_the_limit),
        cmocka_unit_test(test_json__a_value_that_is_cut_is_told_from_one_that_is_broken),
        cmocka_unit_test(test_json__numbers_keep_every_digit_or_say_that_they_do_not),
        cmocka_unit_test(test_json__strings_decode_and_write_back),
        cmocka_unit_test(test_json__bytes_that_are_no_utf8_are_written_as_replacement),
        cmocka_unit_test(test_json__strings_of_every_length_end_where_they_end),
        cmocka_unit_test(test_json__find_gives_the_value_of_a_key),
        cmocka_unit_test(test_json__find_whole_takes_whole_numbers_alone),
        cmocka_unit_test(test_json__decimals_are_written_with_all_their_digits),
        cmocka_unit_test(test_json__pretty_text_is_the_same_value),
        cmocka_unit_test(test_json__scanner_agrees_with_the_oracle_on_random_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
