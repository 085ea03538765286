/* fuzz_importer.c - libFuzzer target: files of another profiler, built once for each FORMAT
 *
 * Properties: reading never crashes; what is read can be written as Chrome JSON, and that has as many events, the same
 * samples, and of each other kind those that have a time: without one an event has no kind there.
 */
#include <stdlib.h>
#include <string.h>

#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static uint64_t count_kept(const hd_trace *trace, hd_kind kind)
{
    uint64_t count = 0;
    if (kind == HD_KIND_SAMPLE) return hd_trace_row_count(trace, kind);
    for (size_t b = 0; b < hd_trace_block_count(trace, kind); b++) {
        const hd_block *block = hd_trace_block_at(trace, kind, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            count += event.start_ns != HD_NO_TIME && (kind != HD_KIND_SLICE || event.duration_ns != HD_NO_TIME);
        }
    }
    return count;
}

static void expect_written(const hd_trace *trace)
{
    static const hd_write_options chrome = {.format = "chrome"};
    hd_trace *again;
    size_t size;
    char *text = write_text(trace, &chrome, &size);
    require(read_text(&again, text, size, &read_fast, 0, NULL) == HD_OK);
    require(hd_trace_event_count(again) >= hd_trace_event_count(trace));
    for (int kind = HD_KIND_SLICE; kind <= HD_KIND_OBJECT; kind++) {
        uint64_t before = count_kept(trace, (hd_kind)kind), after = count_kept(again, (hd_kind)kind);
        bool is_exact = kind == HD_KIND_SAMPLE || kind == HD_KIND_COUNTER || kind == HD_KIND_SLICE;
        require(is_exact ? after == before : after >= before);
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
