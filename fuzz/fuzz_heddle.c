/* fuzz_heddle.c - libFuzzer target: the reader of the store
 *
 * Properties: reading never crashes, neither as the bytes are nor with all checksums made right; what is read lazily
 * can be asked for as a whole; what was read is written and read again with the same content.
 */
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "read_text.h"
#include "store_seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check(const char *data, size_t size, bool lazy)
{
    static const hd_write_options write = {.format = "heddle", .threads = 1};
    hd_read_options read = {READ_FAST, .lazy = lazy};
    hd_trace *trace, *again;
    size_t written_size;
    if (read_text(&trace, data, size, &read, 0, NULL) != HD_OK) return;
    char *before = dump_trace(trace, DUMP_CONTENT), *written;
    if (!lazy) { /* rows of a block that cannot be loaded are none: their tracks' sums would be wrong */
        written = write_text(trace, &write, &written_size);
        read.strict = true;
        require(read_text(&again, written, written_size, &read, 0, NULL) == HD_OK);
        char *after = dump_trace(again, DUMP_CONTENT);
        dump_require_same(before, after);
        free(after);
        free(written);
        hd_trace_free(again);
    }
    free(before);
    hd_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16 || size < 64) return 0;
    char *copy = malloc(size);
    require(copy != NULL);
    memcpy(copy, data, size);
    check(copy, size, false);
    memcpy(copy, store_file_magic, STORE_MAGIC_BYTES);
    store_seal((uint8_t *)copy, size);
    check(copy, size, false);
    check(copy, size, true);
    free(copy);
    return 0;
}
