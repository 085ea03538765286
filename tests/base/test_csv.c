/* test_csv.c - comma-separated values against a plain splitter of the same rules, and what careless writers do */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/csv.h"
#include "rounds.h"

/* All records as "a|b|c\n", with ! behind what does not close. */
static char *read_all(const char *text, size_t size, size_t expected)
{
    hd_input *input;
    hd_csv *csv = calloc(1, sizeof *csv);
    hd_byte_source *source;
    char *out = malloc(2 * size + 16);
    size_t at = 0;
    assert_int_equal(hd_byte_source_new_memory(&source, text, size, "text", NULL), HD_OK);
    assert_int_equal(hd_input_open_source(&input, source, NULL, NULL), HD_OK);
    csv->input = input;
    csv->expected = expected;
    while (hd_csv_next(csv, NULL) == HD_OK) {
        for (size_t i = 0; i < csv->count; i++) {
            if (i) out[at++] = '|';
            memcpy(out + at, csv->fields[i].data, csv->fields[i].size);
            at += csv->fields[i].size;
        }
        if (csv->unclosed) out[at++] = '!';
        out[at++] = '\n';
    }
    out[at] = '\0';
    hd_csv_deinit(csv);
    free(csv);
    hd_input_close(input);
    hd_byte_source_free(source);
    return out;
}

static void expect(const char *text, size_t expected, const char *wanted)
{
    char *got = read_all(text, strlen(text), expected);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_csv__quotes_commas_and_ends_of_lines(void **state)
{
    (void)state;
    expect("\n\r\n", 0, "");
    expect("a", 0, "a\n");
    expect("a,b\nc,d\n", 0, "a|b\nc|d\n");
    expect("a,b\r\nc,\r\n", 0, "a|b\nc|\n");
    expect(",\n", 0, "|\n");
    expect("\"a,b\",\"\"\n\"say \"\"x\"\"\",\"\"\"\"\n", 2, "a,b|\nsay \"x\"|\"\n");
    expect("\"two\nlines\",1\n2,3", 2, "two\nlines|1\n2|3\n");
}

static void test_csv__a_quote_that_is_no_end_is_text(void **state)
{
    (void)state;
    expect("\"say \"x\" now\",1\n", 2, "say \"x\" now|1\n");
    expect("a\"b,c\n", 2, "a\"b|c\n");
}

/* One bad line costs itself alone. */
static void test_csv__a_quote_that_does_not_close_ends_with_its_line(void **state)
{
    (void)state;
    expect("\"a,1\n\"b\",2\n\"c\",3\n", 2,
           "\"a,1!\n"
           "b|2\nc|3\n");
    expect("x,\"a\nb,2", 2, "x|\"a!\nb|2\n");
}

static void test_csv__long_texts_and_limits(void **state)
{
    (void)state;
    size_t size = 3 << 20;
    char *text = malloc(size), *got;
    memset(text, 'x', size);
    for (size_t i = 700000; i < size; i += 700001) text[i] = '\n';
    got = read_all(text, size, 0);
    size_t letters = 0;
    for (const char *p = got; *p; p++) letters += *p == 'x';
    assert_int_equal(letters, size - (size - 700000 + 700000) / 700001);
    free(got);
    for (size_t i = 0; i < size; i++) text[i] = i % 2 ? ',' : 'y'; /* more fields than there may be */
    got = read_all(text, 5000, 0);
    assert_int_equal(strchr(got, '\n') - got, 2 * HD_CSV_FIELD_LIMIT - 1);
    free(got);
    free(text);
}

/* Fields that were written by the rules come back, wherever the buffer was cut. */
static void test_csv__what_was_written_comes_back(void **state)
{
    static const char letters[] = "ab,\"\n x";
    (void)state;
    unsigned seed = hd_test_seed(7);
    for (int round = 0; round < (int)hd_test_rounds(300); round++) {
        char text[4096], wanted[4096];
        size_t at = 0, to = 0;
        for (int row = 0; row < 20; row++) {
            for (int field = 0; field < 3; field++) {
                size_t length = (seed = seed * 1103515245 + 12345) >> 16 & 7;
                if (field) text[at++] = ',', wanted[to++] = '|';
                text[at++] = '"';
                for (size_t i = 0; i < length; i++) {
                    char c = letters[((seed = seed * 1103515245 + 12345) >> 16) % (sizeof letters - 1)];
                    if (c == '"') text[at++] = '"';
                    text[at++] = wanted[to++] = c;
                }
                text[at++] = '"';
            }
            text[at++] = wanted[to++] = '\n';
        }
        wanted[to] = '\0';
        char *got = read_all(text, at, 3);
        assert_string_equal(got, wanted);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv__quotes_commas_and_ends_of_lines),
        cmocka_unit_test(test_csv__a_quote_that_is_no_end_is_text),
        cmocka_unit_test(test_csv__a_quote_that_does_not_close_ends_with_its_line),
        cmocka_unit_test(test_csv__long_texts_and_limits),
        cmocka_unit_test(test_csv__what_was_written_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
