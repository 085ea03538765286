/* test_chrome_pieces.c - where the text is cut into pieces, and how many threads read them, makes no difference
 *
 * Seeded documents, whole and damaged, are read in one piece by one thread and in small pieces by several; all that a
 * dump shows must be the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

static void keep(const char *text, size_t size)
{
    FILE *file = fopen("/tmp/heddle-test-pieces.json", "wb");
    if (!file) return;
    fwrite(text, 1, size, file);
    fclose(file);
}

static void expect_same_in_pieces(const char *what, const char *text, size_t size, size_t piece, unsigned threads)
{
    hd_read_options options = {.sources = true, .threads = 1};
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    char *expected = dump_text(copy, size, &options, 1 << 22, DUMP_ALL);
    options.threads = threads;
    char *got = dump_text(copy, size, &options, piece, DUMP_ALL);
    if (strcmp(expected, got) != 0) {
        size_t at = 0;
        while (expected[at] == got[at]) at++;
        while (at && expected[at - 1] != '\n') at--;
        keep(copy, size);
        fail_msg("%s, pieces of %zu, %u threads (the input is in /tmp/heddle-test-pieces.json):\nwhole:  "
                 "%.300s\npieces: %.300s",
                 what, piece, threads, expected + at, got + at);
    }
    free(copy);
    free(expected);
    free(got);
}

static void run_seeds(unsigned count, unsigned defects)
{
    hd_json_out out = {0};
    for (unsigned i = 0; i < count; i++) {
        uint64_t seed = i * 7919u + defects;
        char what[64];
        out.size = 0;
        random_document(&out, &seed, 5 + random_next(&seed) % 40);
        hd_json_put_text(&out, "    "); /* room for what damage adds */
        size_t size = out.size - 4;
        for (unsigned d = 0; d < defects && size > 8; d++)
            if (size + 4 <= out.size) size = random_damage(out.data, size, 0, size, &seed);
        snprintf(what, sizeof what, "seed %u, %u defects", i, defects);
        expect_same_in_pieces(what, out.data, size, 150 + random_next(&seed) % 400, 1 + random_next(&seed) % 3);
    }
    free(out.data);
}

static void test_chrome_pieces__valid_documents_read_the_same(void **state)
{
    (void)state;
    run_seeds(hd_test_rounds(100), 0);
}

static void test_chrome_pieces__documents_with_a_defect_read_the_same(void **state)
{
    (void)state;
    run_seeds(hd_test_rounds(300), 1);
}

static void test_chrome_pieces__documents_with_defects_read_the_same(void **state)
{
    (void)state;
    run_seeds(hd_test_rounds(300), 3);
}

static void test_chrome_pieces__commas_at_the_cut(void **state)
{
    (void)state;
    static const char *const between[] = {
        "",     ",",    ",,",       " , ", " ",         "\n,\n,",    ", ,\n",       ",null,",
        ",{},", ",[],", ",\"},\",", "],[", "]{\"x\":[", ",{\"ph\"}", ",{\"ph\":},", ",{\"ph\":\"X\"},,",
        "}",    "},",   ",}",       "\0"};
    for (size_t b = 0; b < sizeof between / sizeof *between; b++) {
        hd_json_out out = {0};
        hd_json_put_text(&out, "[");
        for (int i = 0; i < 12; i++) {
            hd_json_put_text(&out, "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"s\":\"},{\\\"ph\\\"\"}}");
            if (i == 11) break;
            if (i % 3 == 2)
                hd_json_put_text(&out, between[b]);
            else
                hd_json_put_text(&out, ",");
        }
        hd_json_put_text(&out, b % 2 ? "]" : ",]");
        for (size_t piece = 60 + b % 3; piece < 260; piece += 3)
            expect_same_in_pieces(between[b], out.data, out.size, piece, 2);
        free(out.data);
    }
}

static void test_chrome_pieces__an_event_may_be_larger_than_a_piece(void **state)
{
    (void)state;
    hd_json_out out = {0};
    hd_json_put_text(&out, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":2,\"args\":{\"a\":[");
    for (int i = 0; i < 6000; i++) hd_json_put_text(&out, "{\"ph\":\"X\",\"ts\":1},");
    hd_json_put_text(&out, "1]}},{\"ph\":\"X\",\"ts\":3},{\"ph\":\"X\",\"ts\":4,\"name\":\"");
    for (int i = 0; i < 6000; i++) hd_json_put_text(&out, "},{\\\"ph\\\":\\\"X\\\"");
    hd_json_put_text(&out, "\"},{\"ph\":\"X\",\"ts\":5}]}");
    static const size_t pieces[] = {200, 1000, 65536, 65537, 100000};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        expect_same_in_pieces("large events", out.data, out.size, pieces[p], 3);
        expect_same_in_pieces("large events, cut", out.data, out.size - 100, pieces[p], 3);
        expect_same_in_pieces("large event, broken", out.data, out.size / 4, pieces[p], 3);
    }
    free(out.data);
}

static void test_chrome_pieces__documents_back_to_back_lines_and_tails(void **state)
{
    (void)state;
    static const char *const joins[] = {"", "\n", "[", "]", "{", "}", ",", "\"", "garbage", "\xef\xbb\xbf", "null"};
    for (size_t j = 0; j < sizeof joins / sizeof *joins; j++) {
        uint64_t seed = j;
        hd_json_out out = {0};
        random_document(&out, &seed, 12);
        hd_json_put_text(&out, joins[j]);
        for (unsigned i = 0; i < 8; i++) {
            random_event(&out, &seed, i);
            hd_json_put_text(&out, j % 2 ? "\n" : ",\n");
        }
        hd_json_put_text(&out, joins[j]);
        random_document(&out, &seed, 12);
        hd_json_put_text(&out, joins[j]);
        for (size_t piece = 150; piece < 1000; piece += 37)
            expect_same_in_pieces(joins[j], out.data, out.size, piece, 1 + piece % 3);
        free(out.data);
    }
}

/* At every byte of the small ones, and at some hundred places of the others. */
static void test_chrome_pieces__cut_fixtures_read_the_same(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        for (size_t size = 1, step = f->size / hd_test_rounds(250) + 1; size < f->size; size += step)
            expect_same_in_pieces(f->name, f->text, size, 150 + size % 100, size % 8 ? 1 : 2);
    }
    fixtures_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chrome_pieces__valid_documents_read_the_same),
        cmocka_unit_test(test_chrome_pieces__documents_with_a_defect_read_the_same),
        cmocka_unit_test(test_chrome_pieces__documents_with_defects_read_the_same),
        cmocka_unit_test(test_chrome_pieces__commas_at_the_cut),
        cmocka_unit_test(test_chrome_pieces__an_event_may_be_larger_than_a_piece),
        cmocka_unit_test(test_chrome_pieces__documents_back_to_back_lines_and_tails),
        cmocka_unit_test(test_chrome_pieces__cut_fixtures_read_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
