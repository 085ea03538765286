/* symbolize_text.h - traces given as JSON text, with named frames, as text: for tests */
#ifndef HD_TESTS_SYMBOLIZE_TEXT_H
#define HD_TESTS_SYMBOLIZE_TEXT_H

#include "heddle/stacks.h"
#include "heddle/symbolize.h"
#include "pass/pass_text.h"

/* With named frames; frees the trace. report may be NULL. */
static inline hd_trace *named(hd_trace *trace, hd_symbolize_report **report, const hd_symbolize_options *options)
{
    hd_trace *out;
    hd_error err = {0};
    if (hd_symbolize(&out, report, trace, options, &err) != HD_OK) fail_msg("%s", err.message);
    hd_trace_free(trace);
    return out;
}

/* "main;f;g" of each event with a stack, in the order of rows of `kind`, parted by " | ". */
static inline const char *stacks_text(const hd_trace *trace, hd_kind kind)
{
    static char text[65536];
    size_t at = 0;
    hd_trace_stacks *stacks;
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    const hd_stacks *tree = hd_trace_stacks_tree(stacks);
    text[0] = '\0';
    for (uint64_t row = 0; row < hd_trace_row_count(trace, kind); row++) {
        uint32_t within, chain[256], depth = 0;
        hd_event event;
        const hd_block *block = hd_trace_block_of(&within, trace, kind, row);
        hd_block_event(&event, block, within);
        for (uint32_t n = hd_trace_stacks_of(stacks, &event); n; n = hd_stacks_at(tree, n).caller) {
            assert_true(depth < 256);
            chain[depth++] = n;
        }
        if (row) at += (size_t)snprintf(text + at, sizeof text - at, " | ");
        while (depth--) {
            hd_string name = hd_stacks_text(tree, hd_stacks_at(tree, chain[depth]).name);
            at += (size_t)snprintf(text + at, sizeof text - at, "%.*s%s", (int)name.size, name.data, depth ? ";" : "");
            assert_true(at < sizeof text);
        }
    }
    hd_trace_stacks_free(stacks);
    return text;
}

/* The tree's frames, and a sample of each of the ids. */
#define SAMPLE(ts, sf) "{\"ph\":\"P\",\"name\":\"s\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"sf\":" sf "}"
#define FRAME(id, name) "\"" #id "\":{\"name\":\"" name "\"}"
#define CALLED(id, name, parent) "\"" #id "\":{\"name\":\"" name "\",\"parent\":" #parent "}"

#endif
