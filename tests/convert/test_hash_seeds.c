/* test_hash_seeds.c - what is written does not depend on how tables are laid out: two seeds, the same bytes
 *
 * One trace with all that is joined by hashes (flows, async points, counters, tracks, stacks, texts in arguments) and
 * the fixtures go through every writer, the flame graph and the check.
 */
#include <dirent.h>
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

#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory/vector.h"
#include "fixtures.h"
#include "flame/flame_text.h"
#include "heddle/convert.h"
#include "heddle/report.h"
#include "random_trace.h"

#define NO_STATE void **state __attribute__((unused))

static char folder[] = "/tmp/heddle-seeds-XXXXXX";

/* ---- the trace ---- */

static void put_event(FILE *file, uint64_t *seed, unsigned i)
{
    unsigned pid = random_next(seed) % 3, tid = random_next(seed) % 5, id = random_next(seed) % 400,
             kind = random_next(seed) % 8, ts = random_next(seed) % 9000;
    fprintf(file, ",\n{\"pid\":%u,\"tid\":%u,\"ts\":%u,\"cat\":\"c%u\",", pid, tid, ts, id % 3);
    switch (kind) {
    case 0: fprintf(file, "\"ph\":\"%c\",\"name\":\"flow\",\"id\":%u}", "stf"[random_next(seed) % 3], id); break;
    case 1: fprintf(file, "\"ph\":\"%c\",\"name\":\"a%u\",\"id\":%u}", "bne"[random_next(seed) % 3], id % 7, id); break;
    case 2: fprintf(file, "\"ph\":\"C\",\"name\":\"n%u\",\"args\":{\"v%u\":%u}}", id % 9, id % 4, i); break;
    case 3:
        fprintf(file, "\"ph\":\"X\",\"name\":\"k%u\",\"dur\":%u,\"args\":{\"correlation\":%u,\"stream\":%u}}", id % 90,
                random_next(seed) % 40, id, tid);
        break;
    case 4:
        fprintf(file, "\"ph\":\"X\",\"name\":\"f.py(%u): f%u\",\"dur\":%u,\"args\":{\"d\":{\"x%u\":[%u,\"t%u\"]}}}", id,
                id % 50, random_next(seed) % 900, id, i, i);
        break;
    case 5:
        fprintf(file, "\"ph\":\"i\",\"name\":\"i%u\",\"s\":\"p\",\"args\":{\"t%u\":\"%u\"}}", id, id % 40, i);
        break;
    case 6: fprintf(file, "\"ph\":\"%c\",\"name\":\"b%u\"}", "BE"[random_next(seed) % 2], tid); break;
    default: fprintf(file, "\"ph\":\"X\",\"name\":\"w%u\",\"dur\":5,\"sf\":%u}", id, 1 + id % 20); break;
    }
}

static void make_trace(const char *path)
{
    uint64_t seed = 1;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "{\"stackFrames\":{\"1\":{\"name\":\"main\"}");
    for (unsigned i = 2; i <= 20; i++) fprintf(file, ",\"%u\":{\"name\":\"frame %u\",\"parent\":\"%u\"}", i, i, i / 2);
    fprintf(file, "},\"traceEvents\":[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"p\"}}");
    for (unsigned i = 0; i < 2000; i++) put_event(file, &seed, i);
    fprintf(file, "]}\n");
    assert_int_equal(fclose(file), 0);
}

/* ---- what is written ---- */

static void put_file(hd_bytes *out, const char *path)
{
    size_t size;
    char *text = file_text(path, &size);
    assert_non_null(text);
    hd_bytes_put(out, text, size);
    free(text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The bytes of a file, or of all files of a folder, which are removed. The anchor of an archive holds a number that
 * libotf2 draws for each. */
static void take_output(hd_bytes *out, const char *path)
{
    struct dirent *entry;
    DIR *opened = opendir(path);
    char **names = NULL;
    size_t count = 0, capacity = 0;
    if (!opened) {
        if (!strstr(path, ".otf2")) put_file(out, path);
        unlink(path);
        return;
    }
    while ((entry = readdir(opened))) {
        if (entry->d_name[0] == '.') continue;
        assert_true(hd_grow((void **)&names, &capacity, count, sizeof *names));
        assert_true(asprintf(&names[count++], "%s/%s", path, entry->d_name) > 0);
    }
    closedir(opened);
    if (count) qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        hd_bytes_put(out, names[i], strlen(names[i]));
        take_output(out, names[i]);
        free(names[i]);
    }
    free(names);
    rmdir(path);
}

static void put_converted(hd_bytes *out, const char *in, const char *format)
{
    char path[128];
    hd_error err = {0};
    hd_convert_report *report = NULL;
    const hd_convert_options options = {
        .fix = true, .snap_threshold_ps = 1000, .write = &(hd_write_options){.format = format}};
    snprintf(path, sizeof path, "%s/out", folder);
    hd_status status = hd_convert(&report, &in, 1, path, &options, &err);
    hd_convert_report_free(report);
    if (status != HD_OK) /* a fixture that cannot be read, or has no home in this format */
        hd_bytes_put(out, err.message, strlen(err.message));
    else
        take_output(out, path);
}

static hd_status put_text(void *user, const char *data, size_t size)
{
    hd_bytes_put(user, data, size);
    return HD_OK;
}

static void put_reports(hd_bytes *out, const char *in)
{
    hd_trace *trace;
    hd_report report;
    const hd_table_style style = {.format = HD_TABLE_JSON};
    if (hd_trace_read(&trace, in, NULL, NULL) != HD_OK) return;
    assert_int_equal(hd_report_check(&report, trace, NULL, NULL), HD_OK);
    for (size_t i = 0; i < report.table_count; i++)
        assert_int_equal(hd_table_write(report.tables[i], (hd_sink){put_text, out}, &style, NULL), HD_OK);
    hd_report_free(&report);
    for (hd_flame_of of = HD_FLAME_AUTO; of <= HD_FLAME_LAUNCHES; of++) {
        const hd_flame_options options = {.of = of};
        hd_flame *flame = flame_new();
        if (hd_flame_add(flame, trace, NULL, NULL, &options, NULL) != HD_OK) fail();
        for (hd_flame_format format = HD_FLAME_FOLDED; format <= HD_FLAME_SVG; format++) {
            size_t size;
            const hd_flame_write_options how = {.format = format};
            char *text = flame_file(flame, &how, NULL, &size);
            hd_bytes_put(out, text, size);
            free(text);
        }
        hd_flame_free(flame);
    }
    hd_trace_free(trace);
}

/* A format, or what is reported. */
static hd_bytes output_of(const char *in, const char *what, uint64_t seed)
{
    hd_bytes out = {0};
    hd_hash_seed_set(seed);
    if (strcmp(what, "reports") == 0)
        put_reports(&out, in);
    else
        put_converted(&out, in, what);
    assert_false(out.failed);
    return out;
}

static void assert_same_bytes(const char *in)
{
    static const char *const outputs[] = {"heddle", "perfetto", "otf2", "chrome", "reports"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        hd_bytes a = output_of(in, outputs[i], 1), b = output_of(in, outputs[i], 2);
        size_t at = 0;
        while (at < a.size && at < b.size && a.data[at] == b.data[at]) at++;
        if (at < a.size || a.size != b.size) fail_msg("%s: %s differs from byte %zu on", in, outputs[i], at);
        hd_bytes_deinit(&a);
        hd_bytes_deinit(&b);
    }
}

static void test_hash_seeds__what_is_written_is_the_same(NO_STATE)
{
    char path[128];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    make_trace(path);
    assert_same_bytes(path);
    unlink(path);
}

static void test_hash_seeds__so_it_is_for_fixtures(NO_STATE)
{
    static const char *const names[] = {"small", "edge-ids", "edge-pairs", "edge-phases", "edge-args", "edge-idents"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/tests/format/chrome/%s.json", getenv("HEDDLE_SOURCE_ROOT"), names[i]);
        assert_same_bytes(path);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_seeds__what_is_written_is_the_same),
        cmocka_unit_test(test_hash_seeds__so_it_is_for_fixtures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
