/* fuzz_sbt.c - libFuzzer target: the SBT reader and writer
 *
 * Properties: reading never crashes; what is written is read without a repair, and writing that gives the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hd_write_options sbt = {.format = "sbt", .threads = 1};
    hd_trace *trace, *again;
    size_t first_size, second_size;
    if (size > 1 << 16 || size < 4 || memcmp(data, "SBT", 4) != 0) return 0;
    if (read_text(&trace, (const char *)data, size, &read_fast, 0, NULL) != HD_OK) return 0;
    char *first = write_text(trace, &sbt, &first_size);
    require(read_text(&again, first, first_size, &read_fast_strict, 0, NULL) == HD_OK);
    char *second = write_text(again, &sbt, &second_size);
    require(first_size == second_size && memcmp(first, second, first_size) == 0);
    free(first);
    free(second);
    hd_trace_free(trace);
    hd_trace_free(again);
    return 0;
}
