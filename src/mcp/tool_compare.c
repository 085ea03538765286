/* tool_compare.c - compare: what changed between two runs, and whether it is real */
#include <stdlib.h>

#include "heddle/analysis/diff.h"
#include "mcp/impl.h"

/* One side, of the traces that an argument numbers. The caller frees *out. */
static hd_status make_side(hd_diff_side **out, mcp_call *call, const char *name, hd_error *err)
{
    const char **numbers = mcp_arg_list(call, name);
    if (!numbers) return HD_NOMEM(err);
    if (!numbers[0]) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: no trace", name);
    HD_TRY(hd_diff_side_new(out, mcp_arg_text(call, "step"), err));
    for (size_t i = 0; numbers[i]; i++) {
        mcp_trace *trace;
        HD_TRY(mcp_trace_take(&trace, call->mcp, strtoll(numbers[i], NULL, 10), err));
        HD_TRY(hd_diff_side_add(*out, trace->trace, trace->path, err));
        HD_TRY(hd_trace_input_status(trace->trace, err));
    }
    return HD_OK;
}

static const char *verdict_name(hd_diff_verdict verdict)
{
    static const char *const names[] = {
        [HD_DIFF_SAME] = "same",
        [HD_DIFF_SLOWER] = "slower",
        [HD_DIFF_FASTER] = "faster",
        [HD_DIFF_INCONCLUSIVE] = "inconclusive",
    };
    return names[verdict];
}

/* The most wanted tables first, so that a small answer has them. */
static hd_status add_diff(mcp_call *call, const hd_diff *diff, hd_error *err)
{
    static const char *const order[] = {"step", "reasons", "rows", "parts", "groups", "counts", "differs", "sides"};
    mcp_put_text(&call->answer->head, "verdict", verdict_name(hd_diff_verdict_of(diff)));
    mcp_put_text(&call->answer->head, "says", hd_diff_sentence(diff));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const hd_table *table = hd_diff_table(diff, order[i]);
        if (table) HD_TRY(mcp_answer_table(call->answer, table, NULL, 0, err));
    }
    return HD_OK;
}

hd_status mcp_tool_compare(mcp_call *call, hd_error *err)
{
    hd_diff_side *before = NULL, *after = NULL;
    hd_diff *diff = NULL;
    const hd_diff_options options = {.size = sizeof options, .all = mcp_arg_int(call, "all", 0) != 0};
    hd_status status = make_side(&before, call, "before", err);
    if (status == HD_OK) status = make_side(&after, call, "after", err);
    if (status == HD_OK) status = hd_diff_new(&diff, before, after, &options, err);
    if (status == HD_OK) status = add_diff(call, diff, err);
    hd_diff_free(diff);
    hd_diff_side_free(before);
    hd_diff_side_free(after);
    return status;
}
