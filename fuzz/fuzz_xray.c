/* fuzz_xray.c - libFuzzer target: XRay logs
 *
 * Properties: reading never crashes; what is read can be written as Chrome JSON, and that has as many events, and names
 * of tracks. Of the same kinds but for slices and instants, which without a time are no such to that format.
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
    if (strcmp(hd_trace_facts_of(trace)->format, "xray") == 0) {
        char *text = write_text(trace, &chrome, &text_size);
        require(read_text(&again, text, text_size, &read_fast, 0, NULL) == HD_OK);
        require(hd_trace_event_count(again) >= hd_trace_event_count(trace));
        for (int kind = HD_KIND_SLICE; kind <= HD_KIND_OBJECT; kind++)
            require(hd_trace_row_count(again, (hd_kind)kind) >= hd_trace_row_count(trace, (hd_kind)kind) ||
                    kind == HD_KIND_SLICE || kind == HD_KIND_INSTANT);
        hd_trace_free(again);
        free(text);
    }
    hd_trace_free(trace);
    return 0;
}
