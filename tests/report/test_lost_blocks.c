/* test_lost_blocks.c - a report over a store of which a block cannot be decoded, the first time or a later one, ends
 * and says so
 *
 * Walks decode blocks again when memory is short, so a block can be there first and be lost later, for want of memory
 * or of the file. The store's decoder goes by way of this file, by --wrap of the linker.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "format/heddle/codec/block.h"
#include "heddle/format.h"
#include "heddle/report.h"

hd_status __real_store_block_decode(hd_block *block, hd_arena *arena, store_decoder *decoder,
                                    const store_limits *limits, const uint8_t *data, size_t size, bool columns_only,
                                    hd_error *err);
hd_status __wrap_store_block_decode(hd_block *block, hd_arena *arena, store_decoder *decoder,
                                    const store_limits *limits, const uint8_t *data, size_t size, bool columns_only,
                                    hd_error *err);

static atomic_long decoded, lost_from, lost_until; /* decodings that fail: [from, until) */

hd_status __wrap_store_block_decode(hd_block *block, hd_arena *arena, store_decoder *decoder,
                                    const store_limits *limits, const uint8_t *data, size_t size, bool columns_only,
                                    hd_error *err)
{
    long n = atomic_fetch_add(&decoded, 1);
    if (n >= atomic_load(&lost_from) && n < atomic_load(&lost_until)) return HD_NOMEM(err);
    return __real_store_block_decode(block, arena, decoder, limits, data, size, columns_only, err);
}

static char store[] = "/tmp/heddle-lost-XXXXXX";

static int make_store(void **state)
{
    (void)state;
    char command[400];
    int fd = mkstemp(store);
    if (fd >= 0) close(fd);
    snprintf(command, sizeof command,
             "'%s' synth -q --events 150000 --crossings 20 -o - | '%s' convert -q -t heddle - '%s'",
             getenv("HEDDLE_BIN"), getenv("HEDDLE_BIN"), store);
    return fd < 0 || system(command) != 0;
}

static int remove_store(void **state)
{
    (void)state;
    return unlink(store);
}

/* How many blocks the report decodes, of which those from `from` until before `until` are lost. */
static long run_report(const hd_report_about *about, long from, long until)
{
    hd_trace *trace;
    hd_report report;
    hd_error err = {0};
    const hd_read_options options = {.size = sizeof options, .lazy = true, .memory_limit = 1, .threads = 1};
    atomic_store(&lost_from, LONG_MAX);
    assert_int_equal(hd_trace_read(&trace, store, &options, &err), HD_OK);
    atomic_store(&decoded, 0);
    atomic_store(&lost_from, from);
    atomic_store(&lost_until, until);
    hd_status status = hd_report_run(&report, about->name, &(hd_report_input){.trace = trace}, &err);
    long count = atomic_load(&decoded);
    if (from < count && until == LONG_MAX) assert_true(status != HD_OK || hd_trace_unloaded(trace) > 0);
    if (from == LONG_MAX) assert_true(status == HD_OK || status == HD_ERR_UNSUPPORTED || status == HD_ERR_ARGUMENT);
    if (status == HD_OK) hd_report_free(&report);
    hd_trace_free(trace);
    return count;
}

/* A walk decodes a block that it cannot keep twice at most, so three in a row are a block. */
static void test_reports__end_without_some_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (about->table_option || about->of_job) continue;
        for (long from = 0, count = run_report(about, LONG_MAX, LONG_MAX); from < count; from++) {
            run_report(about, from, from + 3);
            run_report(about, from, LONG_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports__end_without_some_blocks),
    };
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
