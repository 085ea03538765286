/* fuzz_fix.c - libFuzzer target: `heddle fix` from a file to a file
 *
 * Properties: it never crashes; what it writes is read without a repair, has all slices, and lost no more than the
 * input: a key that an object has twice stays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heddle/fix.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static char to[64]; /* the output is renamed into place, so it needs a name */

static void remove_output(void)
{
    unlink(to);
}

/* The bytes of the output, and it is gone; the caller frees them. */
static char *take_output(size_t *out_size)
{
    FILE *file = fopen(to, "rb");
    struct stat info;
    require(file && fstat(fileno(file), &info) == 0);
    char *bytes = malloc((size_t)info.st_size + 1);
    require(bytes && fread(bytes, 1, (size_t)info.st_size, file) == (size_t)info.st_size);
    fclose(file);
    unlink(to);
    *out_size = (size_t)info.st_size;
    return bytes;
}

static uint64_t count_ledger(const hd_trace *trace, hd_ledger_level level)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == level) sum += row->count;
    }
    return sum;
}

static void check(const char *data, size_t size)
{
    hd_trace *before, *after;
    size_t fixed_size;
    char *fixed = take_output(&fixed_size);
    require(read_text(&after, fixed, fixed_size, &read_fast, 0, NULL) == HD_OK);
    require(read_text(&before, data, size, &read_fast, 0, NULL) == HD_OK);
    require(hd_trace_row_count(before, HD_KIND_SLICE) == hd_trace_row_count(after, HD_KIND_SLICE));
    require(count_ledger(after, HD_LEDGER_REPAIR) == 0);
    require(count_ledger(after, HD_LEDGER_LOSS) <= count_ledger(before, HD_LEDGER_LOSS));
    hd_trace_free(before);
    hd_trace_free(after);
    free(fixed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int in = -1;
    char from[32];
    if (size > 1 << 14 || size == 0) return 0;
    if (in < 0) {
        in = memfd_create("in", 0);
        snprintf(to, sizeof to, "/tmp/heddle-fuzz-fix-%ld.json", (long)getpid());
        require(in >= 0 && atexit(remove_output) == 0);
    }
    require(ftruncate(in, 0) == 0 && pwrite(in, data, size, 0) == (ssize_t)size);
    snprintf(from, sizeof from, "/proc/self/fd/%d", in);
    const hd_fix_options options = {.read = &(hd_read_options){.threads = 1, .memory_limit = 64 << 20},
                                    .write = &(hd_write_options){.threads = 1}};
    hd_fix_report *report;
    if (hd_fix_overlaps(&report, from, to, &options, NULL) == HD_OK) check((const char *)data, size);
    hd_fix_report_free(report);
    return 0;
}
