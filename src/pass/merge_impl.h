/* merge_impl.h - what a merge decides before it copies; for merge*.c only */
#ifndef HD_PASS_MERGE_IMPL_H
#define HD_PASS_MERGE_IMPL_H

#include "pass/merge.h"

/* How ids of flows and async slices become those of the merged trace. */
typedef struct merge_ids {
    bool apart; /* false: ids stay */
    bool as_text;
    int64_t shift;
    int64_t low, high; /* of the input's numbers; low > high: it has none */
} merge_ids;

typedef struct merge_rank {
    hd_ident *pids; /* by track of the input, in terms of the builder */
    merge_ids ids;
    int64_t shift_ns; /* of the clock */
} merge_rank;

/* A whole number, 12 or 0x1f, from 0 on; false: the text is something else. */
bool merge_id_number(int64_t *out, bool *out_hex, hd_string text);

hd_status merge_choose_ids(merge_rank *ranks, const hd_merge_input *inputs, size_t count);
hd_status merge_choose_pids(merge_rank *ranks, const hd_merge_input *inputs, size_t count, hd_builder *builder,
                            hd_error *err);

#endif
