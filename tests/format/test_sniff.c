/* test_sniff.c - every file through every sniffer: of two formats that claim one file, one would read it wrongly
 *
 * Fixtures of a format are claimed by it. Real files in ../shared/data that no reader is for are claimed by none.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/io/input.h"
#include "format/format.h"

/* Any text that begins as JSON does may be a trace of Chrome, if no other reader knows better. */
enum { HIGH = 51 };

static unsigned looked_at, wrong;

/* The format that would read a file, NULL for none; at most one bids high. */
static const hd_format *choose(const char *path)
{
    hd_input *in;
    const uint8_t *head;
    size_t size;
    const hd_format *best = NULL;
    int best_bid = 0, high = 0;
    bool is_sqlite = false; /* of an SQLite file the tables tell which: all that have a mapping bid as one */
    hd_error err = {0};
    if (hd_input_open(&in, path, NULL, &err) != HD_OK || hd_input_peek(in, &head, &size, &err) != HD_OK)
        fail_msg("%s: %s", path, err.message);
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format *format = hd_format_descriptor(i);
        int bid = format->info.reads ? format->sniff(head, size) : 0;
        high += bid >= HIGH && !(format->mapping && is_sqlite);
        is_sqlite |= bid >= HIGH && format->mapping;
        if (bid <= best_bid) continue;
        best_bid = bid;
        best = format;
    }
    hd_input_close(in);
    wrong += high > 1;
    if (high > 1) print_error("%s: %d sniffers are sure\n", path, high);
    looked_at++;
    return best;
}

static bool ends_with(const char *path, const char *extension)
{
    size_t size = strlen(path), n = strlen(extension);
    return size >= n && strcmp(path + size - n, extension) == 0;
}

/* What reads it; NULL: no reader is for it. */
typedef struct kind {
    const char *part; /* of the path */
    const char *extension;
    const char *format;
} kind;

static void expect_format(const char *path, const kind *kinds, size_t count)
{
    const char *expected = NULL;
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) {
        known = strstr(path, kinds[i].part) && ends_with(path, kinds[i].extension);
        if (known) expected = kinds[i].format;
    }
    if (!known) return;
    const hd_format *best = choose(path);
    const char *name = best && best->mapping ? "an SQLite file" : best ? best->info.name : NULL;
    if (!name == !expected && (!name || strcmp(name, expected) == 0)) return;
    wrong++;
    print_error("%s is taken for %s\n", path, name ? name : "nothing");
}

static void walk(const char *folder, const kind *kinds, size_t count)
{
    struct dirent **entries = NULL;
    char path[1024];
    struct stat info;
    int found = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && stat(path, &info) == 0) {
            if (S_ISDIR(info.st_mode))
                walk(path, kinds, count);
            else if (info.st_size > 0)
                expect_format(path, kinds, count);
        }
        free(entries[i]);
    }
    free(entries);
}

static void walk_tree(const char *folder, const kind *kinds, size_t count)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", folder);
    looked_at = wrong = 0;
    walk(path, kinds, count);
    assert_int_equal(wrong, 0);
}

static void test_sniff__fixtures_are_claimed_by_their_format_alone(void **state)
{
    (void)state;
    static const kind kinds[] = {
        {"/chrome/", ".json", "chrome"},
        {"/tfmemory/", ".json", "tfmemory"},
        {"/cupti/", ".cupti", "cupti"},
        {"/folded/", ".folded", "folded"},
        {"/heddle/", ".heddle", "heddle"},
        {"/perfetto/", ".pftrace", "perfetto"},
        {"/perfscript/", ".perf", "perf-script"},
        {"/sbt/", ".sbt", "sbt"},
        {"/nsys/", ".sqlite", "an SQLite file"},
        {"/ascend/", ".db", "an SQLite file"},
        {"/rpd/", ".rpd", "an SQLite file"},
        {"/rocpd/", ".db", "an SQLite file"},
        {"/xplane/", ".pb", "xplane"},
        {"/rocprofv3/", ".json", "rocprofv3"},
        {"/chakra/", ".json", "chakra"},
        {"/chakra/", ".et", "chakra"},
        {"/rocprofv3/", "_trace.csv", "rocprofv3"},
        {"/pprof/", ".pprof", "pprof"},
        {"/otlp/", ".otlp", "otlp"},
        {"/speedscope/", ".json", "speedscope"},
        {"/perfdata/", ".data", "perfdata"},
        {"/xray/", ".xray", "xray"},
        {"/cpuprofile/", ".cpuprofile", "cpuprofile"},
        {"/gecko/", ".json", "gecko"},
        {"/ftrace/", ".dat", "ftrace"},
        {"/ftrace/", ".ftrace", "ftrace"},
#ifdef HD_HAS_EXPAT
        {"/xctrace/", ".xml", "xctrace"},
#endif
        {"/torchmemory/", ".pickle", "torchmemory"},
        {"/counters/", ".csv", "counters"},
        {"/counters/", ".txt", "counters"},
        {"/flight/", ".pickle", "flight"},
        {"/flight/", ".json", "flight"},
        {"/torchmemory/", ".json", "torchmemory"},
    };
    walk_tree("tests/format", kinds, sizeof kinds / sizeof *kinds);
    assert_true(looked_at > 60);
    /* seeds of fuzzing are traces too, but for those of parts of a reader */
    static const kind seeds[] = {
        {"corpus/chrome/", "", "chrome"},
        {"corpus/tfmemory/", "", "tfmemory"},
        {"corpus/cupti/", "", "cupti"},
        {"corpus/folded/", "", "folded"},
        {"corpus/heddle/", "", "heddle"},
        {"corpus/perfetto/", "", "perfetto"},
        {"corpus/perfscript/", "", "perf-script"},
        {"corpus/sbt/", "", "sbt"},
        {"corpus/capture/", "", "capture"},
        {"corpus/xplane/", "", "xplane"},
        {"corpus/rocprofv3/", "", "rocprofv3"},
        {"corpus/chakra/", "", "chakra"},
        {"corpus/pprof/", "", "pprof"},
        {"corpus/otlp/", "", "otlp"},
        {"corpus/speedscope/", "", "speedscope"},
        {"corpus/perfdata/", "", "perfdata"},
        {"corpus/xray/", "", "xray"},
        {"corpus/cpuprofile/", "", "cpuprofile"},
        {"corpus/gecko/", "", "gecko"},
        {"corpus/ftrace/", "", "ftrace"},
#ifdef HD_HAS_EXPAT
        {"corpus/xctrace/", "", "xctrace"},
#endif
        {"corpus/torchmemory/", "", "torchmemory"},
        {"corpus/counters/", "", "counters"},
        {"corpus/flight/", "", "flight"},
    };
    walk_tree("fuzz/corpus", seeds, sizeof seeds / sizeof *seeds);
    assert_true(looked_at > 100);
}

static void test_sniff__folded_text_may_begin_with_a_comment_or_a_bad_line(void **state)
{
    (void)state;
    static const char *const texts[] = {"# made by a tool\nmain;a 10\nmain;b 5\n", "no weight\nmain;a 10\nmain;b 5\n",
                                        "no weight\nmain 10\nother 5\n", "#!;a 10\nmain;b 5\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t k = 0; k < hd_format_count(); k++) {
            const hd_format *format = hd_format_descriptor(k);
            int bid = format->info.reads ? format->sniff((const unsigned char *)texts[i], strlen(texts[i])) : 0;
            if (hd_format_descriptor(k) != &hd_folded_format && bid)
                fail_msg("text %d is taken for %s", (int)i, hd_format_descriptor(k)->info.name);
            if (hd_format_descriptor(k) == &hd_folded_format && !bid && texts[i][1] != '!')
                fail_msg("text %d is not folded", (int)i);
        }
    }
}

static void test_sniff__real_files_are_claimed_by_who_reads_them(void **state)
{
    (void)state;
    static const kind kinds[] = {
        {"/kineto/memory_timeline", "", "torchmemory"},
        {"/straggler/", ".json", "chrome"},
        {"/straggler/", ".json.gz", "chrome"},
        {"/analysis/", ".json.gz", "chrome"},
        {"/ascend/", ".json.gz", "chrome"},
        {"/ascend/", ".db", "an SQLite file"},
        {"/rocm/", ".rpd", "an SQLite file"},
        {"/rocm/", ".rpd.gz", "an SQLite file"},
        {"/nsys/", ".sqlite", "an SQLite file"},
        {"/aiu/", ".json", "chrome"},
        {"/chrome/", ".json.gz", "chrome"},
        {"/chrome/", ".json", "chrome"},
        {"/kineto/", ".json.gz", "chrome"},
        {"/ranks/", ".json.gz", "chrome"},
        {"/rocm/rocprofv3", ".json.gz", "rocprofv3"},
        {"/rocm/rocprofv3", ".csv", "rocprofv3"},
        {"/rocm/", ".json.gz", "chrome"},
        {"/rocm/", ".json", "chrome"},
        {"/cupti/", ".json", "chrome"},
        {"/cupti/", ".txt", "cupti"},
        {"/stacks/example-perf", ".gz", "perf-script"},
        {"/stacks/gpu_final", ".gz", "cupti"},
        {"/stacks/", "", "folded"},
        {"/otf2/", ".otf2", "otf2"},
        {"/xray/", ".json", "chrome"},
#ifdef HD_HAS_EXPAT
        {"/xctrace/", ".xml", "xctrace"},
#endif
        {"/xray/", ".H9qt9c", "xray"},
        {"/xray/", ".5xc6Dn", "xray"},
        {"/xplane/", ".xplane.pb", "xplane"},
        {"/pprof/", ".string", NULL},
        {"/pprof/", "", "pprof"},
        {"/perf/", "", "perfdata"},
        {"/ftrace/", "", "ftrace"},
        {"/", "", NULL},
    };
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    struct stat info;
    snprintf(path, sizeof path, "%s/../shared/data", root ? root : ".");
    if (stat(path, &info) != 0) {
        print_message("skipped: there is no ../shared/data\n");
        skip();
    }
    walk_tree("../shared/data", kinds, sizeof kinds / sizeof *kinds);
    assert_true(looked_at > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sniff__fixtures_are_claimed_by_their_format_alone),
        cmocka_unit_test(test_sniff__folded_text_may_begin_with_a_comment_or_a_bad_line),
        cmocka_unit_test(test_sniff__real_files_are_claimed_by_who_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
