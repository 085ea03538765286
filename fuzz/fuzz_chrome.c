/* fuzz_chrome.c - libFuzzer target: the Chrome JSON reader and writer
 *
 * Properties: reading never crashes; one piece gives the same as small pieces (threads: test_chrome_pieces.c); what is
 * written is valid JSON that is read without a repair, is written the same again, and has the same content, unless an
 * object of the input had a key twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "dump.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check_pieces(const char *text, size_t size)
{
    const hd_read_options options = {READ_FAST, .sources = true};
    char *whole = dump_text(text, size, &options, 1 << 17, DUMP_ALL);
    char *pieces = dump_text(text, size, &options, 64 + size % 200, DUMP_ALL);
    dump_require_same(whole, pieces);
    free(whole);
    free(pieces);
}

static void count_lost(void *user, const hd_ledger_row *row)
{
    *(uint64_t *)user += row->count;
}

/* The writer gives further top-level keys of a name others. */
static bool has_key_twice(const hd_trace *trace)
{
    for (size_t i = 0; i < hd_trace_metadata_count(trace); i++) {
        hd_string name = hd_trace_string(trace, hd_trace_metadata_at(trace, i)->key);
        if (name.size == 11 && memcmp(name.data, "traceEvents", 11) == 0) return true;
        for (size_t k = 0; k < i; k++) {
            if (hd_trace_metadata_at(trace, k)->key == hd_trace_metadata_at(trace, i)->key) return true;
        }
    }
    return false;
}

static void check_round_trip(const char *text, size_t size)
{
    uint64_t lost = 0, lost_again = 0;
    hd_trace *trace, *again;
    size_t size_written, size_again;
    if (read_text(&trace, text, size, &read_fast, 1 << 17, NULL) != HD_OK) return;
    char *written = write_text(trace, &(hd_write_options){.ledger = count_lost, .ledger_user = &lost}, &size_written);
    require(hd_json_valid(written, size_written, 2000));
    require(read_text(&again, written, size_written, &read_fast_strict, 1 << 17, NULL) == HD_OK);
    char *second =
        write_text(again, &(hd_write_options){.ledger = count_lost, .ledger_user = &lost_again}, &size_again);
    require(lost_again == 0 && size_again == size_written && memcmp(written, second, size_again) == 0);
    if (lost == 0 && !has_key_twice(trace)) {
        char *before = dump_trace(trace, DUMP_CONTENT), *after = dump_trace(again, DUMP_CONTENT);
        dump_require_same(before, after);
        free(before);
        free(after);
    }
    free(written);
    free(second);
    hd_trace_free(again);
    hd_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16) return 0;
    check_pieces((const char *)data, size);
    check_round_trip((const char *)data, size);
    return 0;
}
