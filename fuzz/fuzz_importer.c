/* fuzz_importer.c - libFuzzer target: files of another profiler, built once for each FORMAT
 *
 * Properties: reading never crashes; what is read can be written as Chrome JSON, and that has as many events, and as
 * many of each kind. Slices and instants without a time are no such to Chrome: only where EXACT_SLICES is set all have
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

#ifdef EXACT_SLICES
static const bool exact_slices = true;
#else
static const bool exact_slices = false;
#endif

static void expect_written(const hd_trace *trace)
{
    static const hd_write_options chrome = {.format = "chrome"};
    hd_trace *again;
    size_t size;
    char *text = write_text(trace, &chrome, &size);
    require(read_text(&again, text, size, &read_fast, 0, NULL) == HD_OK);
    require(hd_trace_event_count(again) >= hd_trace_event_count(trace));
    for (int kind = HD_KIND_SLICE; kind <= HD_KIND_OBJECT; kind++) {
        uint64_t before = hd_trace_row_count(trace, (hd_kind)kind), after = hd_trace_row_count(again, (hd_kind)kind);
        bool is_exact = kind == HD_KIND_SAMPLE || kind == HD_KIND_COUNTER || (kind == HD_KIND_SLICE && exact_slices);
        require(is_exact ? after == before : after >= before || kind == HD_KIND_SLICE || kind == HD_KIND_INSTANT);
    }
    hd_trace_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_trace *trace;
    if (size > 1 << 16 || size < 4) return 0;
    if (read_text(&trace, (const char *)data, size, &read_fast, 0, NULL) != HD_OK) return 0;
    if (strcmp(hd_trace_facts_of(trace)->format, FORMAT) == 0 && hd_trace_event_count(trace)) expect_written(trace);
    hd_trace_free(trace);
    return 0;
}
