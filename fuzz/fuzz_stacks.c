/* fuzz_stacks.c - libFuzzer target: the text of stackFrames
 *
 * Properties: reading never crashes or hangs; callers come before their callees; what is read is saved and read again
 * as the same tree, without damage.
 */
#include <stdlib.h>
#include <string.h>

#include "heddle/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static hd_trace *finish(hd_builder *builder)
{
    hd_trace *trace;
    require(hd_builder_finish(&trace, builder, NULL) == HD_OK);
    return trace;
}

static void compare(const hd_stacks *a, const hd_stacks *b)
{
    require(hd_stacks_count(a) == hd_stacks_count(b));
    for (uint32_t node = 1; node < hd_stacks_count(a); node++) {
        hd_frame x = hd_stacks_at(a, node), y = hd_stacks_at(b, node);
        hd_string p = hd_stacks_text(a, x.name), q = hd_stacks_text(b, y.name);
        require(x.caller < node && x.caller == y.caller && x.depth == y.depth && x.kind == y.kind);
        require(p.size == q.size && memcmp(p.data, q.data, p.size) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_builder *builder;
    hd_trace_stacks *stacks, *again;
    if (size > 1 << 16) return 0;
    require(hd_builder_new(&builder, NULL) == HD_OK);
    hd_builder_metadata(builder, hd_builder_intern_text(builder, "stackFrames"),
                        hd_builder_intern(builder, (const char *)data, size), true);
    hd_trace *trace = finish(builder);
    if (hd_trace_stacks_new(&stacks, trace, NULL) == HD_OK) {
        require(hd_builder_new(&builder, NULL) == HD_OK);
        require(hd_stacks_save(hd_trace_stacks_tree(stacks), builder, NULL) == HD_OK);
        hd_trace *saved = finish(builder);
        require(hd_trace_stacks_new(&again, saved, NULL) == HD_OK);
        require(hd_trace_stacks_damaged(again) == 0);
        compare(hd_trace_stacks_tree(stacks), hd_trace_stacks_tree(again));
        hd_trace_stacks_free(again);
        hd_trace_free(saved);
    }
    hd_trace_stacks_free(stacks);
    hd_trace_free(trace);
    return 0;
}
