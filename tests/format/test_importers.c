/* test_importers.c - files of other profilers: fixtures, and every place where one may end or have a bit changed
 *
 * usage: test_format_importers FORMAT [--update]
 *
 * Fixtures are tests/format/FORMAT/NAME.EXTENSION; --update writes each NAME.expect anew.
 */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"
#include "rounds.h"

typedef struct importer {
    const char *format, *extension;
    size_t cut_bytes, flip_bits; /* a file is cut at each so many bytes, and each so many bits one is changed */
    const char *unsteady;        /* fixtures that so many times have fewer events with more bytes */
    unsigned falls;
    size_t rarer; /* bad-... are cut and changed so many times as rarely; 0: as the others */
} importer;

static const importer importers[] = {
    {"ascend", ".db", 100, 997},
    {"chakra", ".json", 1, 5, .rarer = 13},
    {"chakra", ".et", 1, 5, .rarer = 13},
    {"counters", ".csv", 3, 17, "*",
     9}, /* the column that counts GPUs shows in whole rows; a cut version is a number */
    {"counters", ".txt", 3, 17},
    {"cpuprofile", ".cpuprofile", 1, 3, "*", 1}, /* until it has samples, hits stand for them */
    {"flight", ".pickle", 5, 29, .rarer = 7},
    {"flight", ".json", 7, 61, .rarer = 7},
    {"ftrace", ".dat", 13, 101},
    {"ftrace", ".ftrace", 3, 13, "*", 12},    /* half a line may be none */
    {"gecko", ".json", 1, 3, "processed", 2}, /* one column may be cut where others are whole */
    {"nsys", ".sqlite", 100, 997},
    {"otlp", ".otlp", 1, 1},
    {"perfdata", ".data", 3, 3, "bad-zero-size", 1}, /* behind damage a cut record is none to go on with */
    {"pprof", ".pprof", 1, 1},
    {"rocpd", ".db", 100, 997},
    {"rocprofv3", ".json", 1, 5, .rarer = 13},
    {"rocprofv3", ".csv", 1, 5, "*",
     1}, /* a kernel stands alone for a while; a cut row is kept, one with zeros is not */
    {"rpd", ".rpd", 100, 997},
    {"speedscope", ".json", 1, 3},
    {"torchmemory", ".pickle", 1, 1},
    {"torchmemory", ".json", 1, 1},
    {"xctrace", ".xml", 7, 13},
    {"xplane", ".pb", 1, 1},
    {"xray", ".xray", 1, 1},
};

static const importer *tested; /* the rows of one format */
static size_t tested_count;
static fixtures sets[2];

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_importers__fixtures_give_their_dumps(void **state)
{
    (void)state;
    for (size_t s = 0; s < tested_count; s++) fixtures_expect(&sets[s], dump_fixture);
}

static void test_importers__threads_change_nothing(void **state)
{
    static const hd_read_options one = {.threads = 1}, three = {.threads = 3};
    (void)state;
    for (size_t s = 0; s < tested_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            const fixture *f = &sets[s].list[i];
            char *expected = dump_text(f->text, f->size, &one, 0, DUMP_ALL);
            char *got = dump_text(f->text, f->size, &three, 0, DUMP_ALL);
            fixture_expect_same(f->name, expected, got);
            free(expected);
            free(got);
        }
    }
}

/* --strict takes what has neither loss nor repair; bad-... have. */
static void expect_strict(const importer *row, const fixture *f)
{
    hd_trace *trace, *strict_trace = NULL;
    hd_error err = {0};
    bool is_whole = true;
    if (read_text(&trace, f->text, f->size, &read_fast, 0, &err) != HD_OK) fail_msg("%s: %s", f->name, err.message);
    assert_string_equal(hd_trace_facts_of(trace)->format, row->format);
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++)
        is_whole &= hd_trace_ledger_at(trace, i)->level == HD_LEDGER_NOTE;
    if (is_whole && f->is_damaged) fail_msg("%s: no loss and no repair", f->name);
    hd_status status = read_text(&strict_trace, f->text, f->size, &read_fast_strict, 0, &err);
    if (status != (is_whole ? HD_OK : HD_ERR_DAMAGED)) fail_msg("%s: %d %s", f->name, status, err.message);
    if (!is_whole && err.offset > f->size && err.offset != HD_OFFSET_NONE) fail_msg("%s: no place", f->name);
    hd_trace_free(trace);
    hd_trace_free(strict_trace);
}

static void test_importers__strict_refuses_damaged_ones_and_takes_the_others(void **state)
{
    (void)state;
    for (size_t s = 0; s < tested_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) expect_strict(&tested[s], &sets[s].list[i]);
    }
}

static size_t rarity(const importer *row, const fixture *f)
{
    size_t rounds = hd_test_rounds(100);
    return ((f->is_damaged && row->rarer ? row->rarer : 1) * 100 + rounds - 1) / rounds;
}

/* Flows aside, which are made of two ends, there are never fewer events with more bytes. */
static void expect_cuts(const importer *row, const fixture *f)
{
    uint64_t with_more = UINT64_MAX;
    unsigned falls = 0, may_fall = row->unsteady && fnmatch(row->unsteady, f->name, 0) == 0 ? row->falls : 0;
    for (size_t cut = 0; cut < f->size; cut += row->cut_bytes * rarity(row, f)) {
        hd_trace *trace;
        size_t size = f->size - cut;
        if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
        if (strcmp(hd_trace_facts_of(trace)->format, row->format) == 0) {
            uint64_t count = hd_trace_event_count(trace) - hd_trace_row_count(trace, HD_KIND_FLOW);
            if (count > with_more && ++falls > may_fall) fail_msg("%s: more events in %zu bytes", f->name, size);
            with_more = count;
        }
        hd_trace_free(trace);
    }
}

static void test_importers__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    for (size_t s = 0; s < tested_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) expect_cuts(&tested[s], &sets[s].list[i]);
    }
}

static void read_anyhow(const char *text, size_t size)
{
    hd_trace *trace;
    if (read_text(&trace, text, size, &read_fast, 0, NULL) == HD_OK) hd_trace_free(trace);
}

static void flip(fixture *f, size_t bit)
{
    f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
}

static void test_importers__a_changed_bit_never_breaks_the_reader(void **state)
{
    (void)state;
    for (size_t s = 0; s < tested_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            fixture *f = &sets[s].list[i];
            size_t step = tested[s].flip_bits * rarity(&tested[s], f);
            if (step == 1 && f->size > 2048) step = 13;
            step |= 1; /* all bits of bytes */
            for (size_t bit = i % step; bit < f->size * 8; bit += step) {
                flip(f, bit);
                read_anyhow(f->text, f->size);
                flip(f, bit);
            }
        }
    }
}

static void test_importers__some_changed_bits_never_break_the_reader(void **state)
{
    unsigned dice = 1;
    (void)state;
    for (size_t s = 0; s < tested_count; s++) {
        for (size_t i = 0; i < sets[s].count; i++) {
            fixture *f = &sets[s].list[i];
            for (unsigned round = 0; round < hd_test_rounds(300); round++) {
                size_t bits[8], count = 1 + round % 8;
                for (size_t b = 0; b < count; b++) {
                    dice = dice * 1103515245 + 12345;
                    flip(f, bits[b] = (dice >> 4) % (f->size * 8));
                }
                read_anyhow(f->text, f->size);
                for (size_t b = 0; b < count; b++) flip(f, bits[b]);
            }
        }
    }
}

static bool load(const char *format)
{
    char folder[64];
    for (size_t k = 0; k < sizeof importers / sizeof *importers; k++) {
        if (strcmp(importers[k].format, format) != 0) continue;
        if (!tested_count) tested = &importers[k];
        snprintf(folder, sizeof folder, "tests/format/%s", format);
        sets[tested_count++] = fixtures_load_as(folder, importers[k].extension);
    }
    return tested_count > 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_importers__fixtures_give_their_dumps),
        cmocka_unit_test(test_importers__threads_change_nothing),
        cmocka_unit_test(test_importers__strict_refuses_damaged_ones_and_takes_the_others),
        cmocka_unit_test(test_importers__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_importers__a_changed_bit_never_breaks_the_reader),
        cmocka_unit_test(test_importers__some_changed_bits_never_break_the_reader),
    };
    int failed = 0;
    if (argc < 2 || !load(argv[1])) {
        fprintf(stderr, "usage: test_format_importers FORMAT [--update]\n");
        return 2;
    }
    if (argc == 2) failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t s = 0; s < tested_count; s++) {
        if (argc > 2 && strcmp(argv[2], "--update") == 0) failed |= fixtures_update(&sets[s], dump_fixture);
        fixtures_free(&sets[s]);
    }
    return failed;
}
