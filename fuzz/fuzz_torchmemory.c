/* fuzz_torchmemory.c - libFuzzer target: memory snapshots of PyTorch
 *
 * Properties: reading never crashes; what is read can be written as Chrome JSON, and that has the same samples.
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
    static const hd_write_options chrome = {.format = "chrome"};
    hd_trace *trace, *again;
    size_t text_size;
    if (size > 1 << 16 || size < 4) return 0;
    if (read_text(&trace, (const char *)data, size, &read_fast, 0, NULL) != HD_OK) return 0;
    if (strcmp(hd_trace_facts_of(trace)->format, "torchmemory") == 0 && hd_trace_event_count(trace)) {
        char *text = write_text(trace, &chrome, &text_size);
        require(read_text(&again, text, text_size, &read_fast, 0, NULL) == HD_OK);
        require(hd_trace_row_count(again, HD_KIND_SAMPLE) == hd_trace_row_count(trace, HD_KIND_SAMPLE));
        hd_trace_free(again);
        free(text);
    }
    hd_trace_free(trace);
    return 0;
}
