/* fuzz_folded.c - libFuzzer target: folded stacks
 *
 * Properties: reading never crashes; what is read survives being written as JSON, sample by sample.
 */
#include <stdlib.h>
#include <string.h>

#include "read_text.h"
#include "stack_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_trace *trace, *again;
    size_t json_size;
    if (size == 0 || size > 1 << 16 || *data == '{') return 0;
    if (read_text(&trace, (const char *)data, size, NULL, 0, NULL) != HD_OK) return 0;
    if (strcmp(hd_trace_facts_of(trace)->format, "folded") == 0) {
        char *json = write_text(trace, NULL, &json_size), *before = stack_dump(trace);
        require(hd_trace_row_count(trace, HD_KIND_SAMPLE) > 0);
        require(read_text(&again, json, json_size, NULL, 0, NULL) == HD_OK);
        char *after = stack_dump(again);
        require(strcmp(before, after) == 0);
        hd_trace_free(again);
        free(json);
        free(before);
        free(after);
    }
    hd_trace_free(trace);
    return 0;
}
