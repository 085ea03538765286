/* busy.c - one walk over the slices; lanes whose slices are not in start order are read again, by the index */
#include "model/roles/busy.h"

#include <stdlib.h>

#include "base/checksum.h"
#include "base/error.h"
#include "model/role_rules.h" /* made by Meson: hashes of the files of this folder */
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

/* A lane that is a queue. */
typedef struct queue {
    hd_busy_sum sum;
    int64_t last;  /* start of the last slice */
    uint64_t seen; /* slices */
    bool wanted, out_of_order;
} queue;

uint64_t hd_role_rules(void)
{
    static const char rules[] = HD_ROLE_RULES;
    return hd_checksum(rules, sizeof rules - 1);
}

void hd_busy_add(hd_busy_sum *sum, int64_t start, int64_t end)
{
    int64_t from = start > sum->until ? start : sum->until, more;
    if (end <= from) return;
    sum->until = end;
    if (__builtin_sub_overflow(end, from, &more) || __builtin_add_overflow(sum->busy, more, &sum->busy))
        sum->busy = INT64_MAX;
}

bool hd_counts_as_busy(hd_roles *roles, const hd_block *block, uint32_t row, hd_row_sort sort)
{
    if (hd_row_is_host(sort)) return true;
    return hd_role_is_work(
        hd_roles_in(roles, block, row, (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row)));
}

static lane_span span_at(const hd_index *index, const hd_block *block, uint32_t row)
{
    const hd_column *c = block->columns;
    return lane_span_of(index, hd_column_at(&c[HD_COL_START], row), hd_column_at(&c[HD_COL_DURATION], row),
                        hd_column_at(&c[HD_COL_START_PS], row), hd_column_at(&c[HD_COL_END_PS], row));
}

static void see_slice(queue *q, hd_roles *roles, const hd_index *index, const hd_block *block, uint32_t row)
{
    if (hd_column_at(&block->columns[HD_COL_START], row) == HD_NO_TIME) return;
    lane_span span = span_at(index, block, row);
    q->out_of_order |= q->seen++ && span.start < q->last;
    q->last = span.start;
    if (!q->out_of_order && hd_counts_as_busy(roles, block, row, HD_ROW_QUEUE))
        hd_busy_add(&q->sum, span.start, span.end);
}

/* queues: by track. */
static void walk_slices(queue *queues, hd_roles *roles, const hd_index *index)
{
    const hd_trace *trace = roles->trace;
    uint32_t tracks = hd_trace_track_count(trace);
    hd_block_room room = {0};
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, b);
        for (uint32_t row = 0; row < block->row_count; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            if (track >= tracks) continue;
            queue *q = &queues[hd_trace_track_at(trace, track)->same_as];
            if (q->wanted) see_slice(q, roles, index, block, row);
        }
    }
    hd_walk_end(&room, trace);
}

/* Slice by slice in start order, in the blocks that have them. */
static hd_status sum_in_order(hd_busy_sum *sum, hd_roles *roles, const hd_index *index, const hd_lane *lane,
                              hd_error *err)
{
    enum { ROWS = 1024 };
    uint64_t rows[ROWS];
    size_t count;
    *sum = HD_BUSY_NONE;
    for (uint64_t first = 0; first < lane->slice_count; first += count) {
        HD_TRY(hd_lane_rows(rows, &count, index, lane, roles->trace, first, ROWS, err));
        if (count == 0) break;
        for (size_t i = 0; i < count; i++) {
            uint32_t at;
            const hd_block *block = hd_trace_columns_of(&at, roles->trace, HD_KIND_SLICE, rows[i]);
            lane_span span = span_at(index, block, at);
            if (hd_counts_as_busy(roles, block, at, HD_ROW_QUEUE)) hd_busy_add(sum, span.start, span.end);
        }
    }
    return HD_OK;
}

static hd_status finish_queue(int64_t *out, queue *q, hd_roles *roles, const hd_index *index, const hd_lane *lane,
                              hd_error *err)
{
    hd_status status = q->seen == lane->slice_count ? HD_OK : HD_ERR_DAMAGED;
    if (status == HD_OK && q->out_of_order) status = sum_in_order(&q->sum, roles, index, lane, err);
    *out = status == HD_OK ? q->sum.busy / index->units_per_ns : HD_NO_TIME;
    return status == HD_ERR_DAMAGED ? HD_OK : status;
}

hd_status hd_queues_busy(int64_t **out, hd_roles *roles, const hd_index *index, bool anew, hd_error *err)
{
    const hd_trace *trace = roles->trace;
    queue *queues = calloc((size_t)hd_trace_track_count(trace) + 1, sizeof *queues);
    int64_t *busy = malloc((index->lane_count + 1) * sizeof *busy);
    hd_status status = queues && busy ? HD_OK : HD_NOMEM(err);
    bool any = false;
    for (size_t i = 0; status == HD_OK && i < index->lane_count; i++) {
        busy[i] = index->work_ns && !anew ? index->work_ns[i] : HD_NO_TIME;
        queue *q = &queues[index->lanes[i].track];
        q->wanted = busy[i] == HD_NO_TIME && hd_roles_row(roles, index->lanes[i].track) == HD_ROW_QUEUE;
        q->sum = HD_BUSY_NONE;
        any |= q->wanted;
    }
    if (any) walk_slices(queues, roles, index);
    for (size_t i = 0; status == HD_OK && i < index->lane_count; i++) {
        queue *q = &queues[index->lanes[i].track];
        if (q->wanted) status = finish_queue(&busy[i], q, roles, index, &index->lanes[i], err);
    }
    free(queues);
    *out = status == HD_OK ? busy : NULL;
    if (status != HD_OK) free(busy);
    return status;
}
