/* clock.c - what the times of a trace count from, and a trace on another clock: the base of each block's column of starts
 * moves */
#include "trace/clock.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/column.h"
#include "trace/impl.h"

#define YEAR_2000_NS INT64_C(946684800000000000)
#define YEAR_2200_NS INT64_C(7258118400000000000)

int64_t hd_trace_clock_base(const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    if (facts->start_ns == HD_NO_TIME) return facts->base_ns;
    if (facts->start_ns >= YEAR_2000_NS && facts->start_ns < YEAR_2200_NS) return 0;
    return facts->base_ns;
}

static int64_t later(int64_t time, int64_t ns)
{
    return time == HD_NO_TIME ? time : (int64_t)((uint64_t)time + (uint64_t)ns);
}

/* Rows without a time stay without one. */
static hd_status shift_rows(hd_trace *trace, hd_block *block, hd_arena *arena, int64_t ns, hd_error *err)
{
    hd_column *starts = &block->columns[HD_COL_START];
    int64_t *values = malloc(block->row_count * sizeof *values);
    if (!values) return HD_NOMEM(err);
    hd_column_decode(values, starts, 0, block->row_count);
    for (uint32_t i = 0; i < block->row_count; i++) values[i] = later(values[i], ns);
    hd_arena own = {0};
    hd_status status = hd_column_seal(starts, &own, values, block->row_count) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = hd_spill_column(&trace->spill, starts, block->row_count, arena, err);
    hd_arena_deinit(&own);
    free(values);
    return status;
}

void hd_shift_extent(hd_block *block, int64_t ns)
{
    block->start_ns = later(block->start_ns, ns);
    block->end_ns = later(block->end_ns, ns);
}

hd_status hd_shift_block(hd_trace *trace, hd_block *block, hd_arena *arena, int64_t ns, hd_error *err)
{
    hd_column *starts = &block->columns[HD_COL_START];
    if (ns == 0 || block->row_count == 0) return HD_OK;
    hd_shift_extent(block, ns);
    /* HD_NO_TIME is the lowest number, so only a column with that base, or with 64-bit values, can contain it along
     * with times. */
    if (starts->width == 8 || starts->base == HD_NO_TIME) return shift_rows(trace, block, arena, ns, err);
    starts->base = later(starts->base, ns);
    return HD_OK;
}

bool hd_shift_fits(int64_t time, int64_t ns)
{
    int64_t sum;
    return time == HD_NO_TIME || (!__builtin_add_overflow(time, ns, &sum) && sum != HD_NO_TIME);
}

hd_status hd_trace_shift(hd_trace *trace, int64_t ns, hd_error *err)
{
    hd_trace_facts *facts = &trace->facts;
    if (ns == 0) return HD_OK;
    if (ns == INT64_MIN || !hd_shift_fits(facts->start_ns, ns) || !hd_shift_fits(facts->end_ns, ns) ||
        !hd_shift_fits(facts->base_ns, -ns))
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "times cannot be moved by %lld ns", (long long)ns);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < trace->tables[kind].count && !trace->lazy; i++)
            HD_TRY(hd_shift_block(trace, trace->tables[kind].blocks[i], &trace->arena, ns, err));
    }
    if (trace->lazy) HD_TRY(hd_lazy_shift(trace, ns, err));
    for (uint32_t t = 0; t < trace->tracks.count; t++) {
        hd_track *track = &trace->tracks.list[t];
        track->start_ns = later(track->start_ns, ns);
        track->end_ns = later(track->end_ns, ns);
    }
    facts->start_ns = later(facts->start_ns, ns);
    facts->end_ns = later(facts->end_ns, ns);
    facts->base_ns = later(facts->base_ns, -ns);
    hd_index_free(trace->index);
    trace->index = NULL;
    return HD_OK;
}
