/* fuzz_chrome.c - libFuzzer target: the Chrome JSON reader and writer
 *
 * Properties: reading never crashes; one thread and one piece give the same as three threads and small pieces; what is
 * written is valid JSON that is read without a repair and gives the same content.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_repair.h"
#include "dump.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check_pieces(const char *text, size_t size)
{
    hd_read_options options = {.sources = true, .threads = 1};
    char *whole = dump_text(text, size, &options, 1 << 22, DUMP_ALL);
    options.threads = 3;
    char *pieces = dump_text(text, size, &options, 64 + size % 200, DUMP_ALL);
    require(strcmp(whole, pieces) == 0);
    free(whole);
    free(pieces);
}

static void check_round_trip(const char *text, size_t size)
{
    static const hd_read_options strict = {.strict = true, .threads = 1};
    hd_trace *trace;
    size_t written_size;
    if (read_text(&trace, text, size, NULL, 0, NULL) != HD_OK) return;
    char *written = write_text(trace, NULL, &written_size), *before = dump_trace(trace, DUMP_CONTENT);
    require(hd_json_valid(written, written_size, 2000));
    char *after = dump_text(written, written_size, &strict, 0, DUMP_CONTENT);
    require(strcmp(before, after) == 0);
    free(written);
    free(before);
    free(after);
    hd_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16) return 0;
    check_pieces((const char *)data, size);
    check_round_trip((const char *)data, size);
    return 0;
}
