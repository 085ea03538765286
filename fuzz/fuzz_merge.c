/* fuzz_merge.c - libFuzzer target: several traces as one
 *
 * The input holds up to four traces of any format, with a zero byte between them; its first byte says whether they are
 * ranks or processes of one run. Properties: merging never crashes; no event comes or goes that is not counted; what
 * comes out is kept by a store.
 */
#include <stdlib.h>
#include <string.h>

#include "pass/merge/merge.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4 };

static void require(bool holds)
{
    if (!holds) abort();
}

static void require_kept(const hd_trace *trace)
{
    static const hd_write_options store = {.format = "heddle", .threads = 1};
    size_t size;
    hd_trace *again;
    char *bytes = write_text(trace, &store, &size);
    require(read_text(&again, bytes, size, &read_fast_strict, 0, NULL) == HD_OK);
    require(hd_trace_event_count(again) == hd_trace_event_count(trace));
    free(bytes);
    hd_trace_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[MOST] = {"rank0.json", "rank1.json", "x.json", "rank0.heddle"};
    hd_merge_input inputs[MOST] = {0};
    hd_pass_result result = {0};
    hd_trace *out = NULL;
    size_t count = 0;
    uint64_t in = 0;
    bool by_place;
    if (size < 2 || size > 1 << 14) return 0;
    bool ranks = *data & 1;
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (count < MOST && at <= end) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        if (!stop) stop = end;
        if (read_text(&inputs[count].trace, at, (size_t)(stop - at), &read_fast, 0, NULL) == HD_OK) {
            in += hd_trace_event_count(inputs[count].trace);
            inputs[count].path = paths[count];
            count++;
        }
        at = stop + 1;
    }
    hd_status status = ranks ? hd_merge_find_ranks(inputs, count, &by_place, NULL) : HD_OK;
    if (status == HD_OK && count)
        status = ranks ? hd_merge(&out, &result, inputs, count, false, NULL)
                       : hd_merge_processes(&out, &result, inputs, count, NULL);
    if (status == HD_OK && count) {
        require(in + result.added == hd_trace_event_count(out) + result.removed + result.lost);
        require_kept(out);
    }
    hd_trace_free(out);
    for (size_t i = 0; i < count; i++) hd_trace_free(inputs[i].trace);
    return 0;
}
