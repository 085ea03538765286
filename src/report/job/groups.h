/* groups.h - order and identity of the groups of collectives. Begin with collectives.c: a trace in, numbered records
 * out */
#ifndef HD_REPORT_JOB_GROUPS_H
#define HD_REPORT_JOB_GROUPS_H

#include <string.h>

#include "base/memory/arena.h"
#include "base/text/ends.h"
#include "heddle/analysis/job.h"
#include "report/gpu/gpu.h"

static inline int job_compare_numbers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* "5 0>1": the messages of a rank to another (collectives.c), and no group. */
static inline bool job_is_pair(hd_string group)
{
    size_t at = group.size;
    for (int i = 0; i < 2; i++) {
        size_t end = at;
        while (at && group.data[at - 1] >= '0' && group.data[at - 1] <= '9') at--;
        if (at == end || !at || group.data[--at] != (i ? ' ' : '>')) return false;
    }
    return true;
}

/* The next number of "[0, 1, 7]"; anything else is skipped. */
bool job_next_rank(int64_t *out, hd_string list, size_t *at);
/* Programs give all their tensor-parallel groups the name "tp": with known ranks, "tp from 2" is the one whose lowest
 * is 2. A name of digits alone is PyTorch's count of groups, which is the same on all ranks, and is unchanged. false:
 * no memory. */
bool job_name_group(hd_string *name, hd_string ranks, hd_arena *texts);
hd_string job_group_as_told(hd_string name); /* the name that it was made from */

/* Whether its bytes are the same on all ranks: they need not be if each pair exchanges its own amount. */
static inline bool job_has_one_size(hd_string operation)
{
    return operation.size != 8 ||
           (memcmp(operation.data, "AllToAll", 8) != 0 && memcmp(operation.data, "SendRecv", 8) != 0);
}

/* For texts: an unknown operation may be any. */
static inline bool job_kind_has_one_size(const gpu_texts *texts, uint32_t operation)
{
    return operation == HD_NONE || job_has_one_size(gpu_text_of(texts, operation));
}

/* Whether two of one number, which was counted, may be one collective. */
static inline bool job_may_be_one(const gpu_texts *texts, uint32_t x, int64_t x_bytes, uint32_t y, int64_t y_bytes)
{
    return x == y && (x_bytes == y_bytes || !job_kind_has_one_size(texts, x));
}

static inline bool job_is_same_text(hd_string x, hd_string y)
{
    return x.size == y.size && (!x.size || memcmp(x.data, y.data, x.size) == 0);
}

/* Of a sequence that was counted: the same in a step. */
static inline int64_t job_part_of(int64_t sequence)
{
    return sequence < 0 ? -1 : sequence / HD_COLLECTIVES_OF_STEP;
}

/* Below, at or above 0. The unnamed come first, by stream. */
static inline int job_compare_groups(const hd_collective *x, const hd_collective *y)
{
    int order = (x->group.data != NULL) - (y->group.data != NULL);
    if (!order && !x->group.data) order = job_compare_numbers(x->stream, y->stream);
    if (!order) order = hd_text_compare(x->group.data, x->group.size, y->group.data, y->group.size);
    return order ? order : x->is_point_to_point - y->is_point_to_point;
}

#endif
