/* spans.c - slices grouped by lane by counting, then each lane sorted unless it is already */
#include "report/spans.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/lazy.h"
#include "trace/spill.h"

enum { CHUNK_ROWS = 2048 };

/* ---- order ---- */

static inline bool before(const slice_span *a, const slice_span *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->end != b->end) return a->end > b->end;
    return a->row < b->row;
}

bool span_sort(slice_span *spans, uint64_t count, uint64_t large)
{
    uint64_t end;
    HD_RUN_END(end, spans, 0, count, x, y, before(x, y));
    if (end >= count) return true;
    slice_span *spare = hd_large_new(count, sizeof *spare, large);
    if (spare) HD_SORT_RUNS(spans, spare, count, x, y, before(x, y));
    hd_large_free(spare);
    return spare != NULL;
}

/* ---- the index ---- */

/* The columns of some rows, decoded. */
typedef struct chunk {
    int64_t start[CHUNK_ROWS], duration[CHUNK_ROWS], track[CHUNK_ROWS], phase[CHUNK_ROWS];
    int64_t start_ps[CHUNK_ROWS], end_ps[CHUNK_ROWS];
} chunk;

static uint32_t load(chunk *c, const hd_block *block, uint32_t first)
{
    uint32_t count = block->row_count - first;
    if (count > CHUNK_ROWS) count = CHUNK_ROWS;
    hd_column_decode(c->start, &block->columns[HD_COL_START], first, count);
    hd_column_decode(c->duration, &block->columns[HD_COL_DURATION], first, count);
    hd_column_decode(c->track, &block->columns[HD_COL_TRACK], first, count);
    hd_column_decode(c->phase, &block->columns[HD_COL_PHASE], first, count);
    hd_column_decode(c->start_ps, &block->columns[HD_COL_START_PS], first, count);
    hd_column_decode(c->end_ps, &block->columns[HD_COL_END_PS], first, count);
    return count;
}

/* Whether row i is in the index. Its end is in *end_ns. */
static inline bool counts(const chunk *c, uint32_t i, int64_t *end_ns)
{
    return c->track[i] != HD_NONE && span_takes_part(end_ns, c->start[i], c->duration[i], c->phase[i]);
}

/* Also sees all times. false: no memory. */
static bool count_lanes(span_index *index, chunk *c)
{
    bool fits = true;
    const hd_trace *trace = index->trace;
    hd_block_room room = {0};
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, b);
        for (uint32_t first = 0, n; first < block->row_count; first += n) {
            n = load(c, block, first);
            int64_t end;
            for (uint32_t i = 0; i < n; i++) {
                if (!counts(c, i, &end)) continue;
                index->first[hd_trace_track_at(trace, (uint32_t)c->track[i])->same_as + 1]++;
                fits &= hd_ticks_see(&index->ticks, c->start[i], c->start_ps[i]) &&
                        (c->duration[i] == HD_NO_TIME || hd_ticks_see(&index->ticks, end, c->end_ps[i]));
            }
        }
    }
    hd_walk_end(&room, trace);
    return fits;
}

static void fill_lanes(span_index *index, chunk *c, uint64_t *next)
{
    const hd_trace *trace = index->trace;
    hd_block_room room = {0};
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, b);
        for (uint32_t first = 0, n; first < block->row_count; first += n) {
            n = load(c, block, first);
            for (uint32_t i = 0; i < n; i++) {
                int64_t end_ns;
                if (!counts(c, i, &end_ns)) continue;
                uint32_t lane = hd_trace_track_at(trace, (uint32_t)c->track[i])->same_as;
                bool timed = c->duration[i] != HD_NO_TIME;
                int64_t start = span_index_time(index, c->start[i], c->start_ps[i]);
                int64_t end = timed ? span_index_time(index, end_ns, c->end_ps[i]) : start;
                index->spans[next[lane]++] = (slice_span){
                    .start = start,
                    .end = end > start ? end : start,
                    .row = (uint32_t)(block->first_row + first + i),
                };
            }
        }
    }
    hd_walk_end(&room, trace);
}

hd_status span_index_init(span_index *index, const hd_trace *trace, hd_error *err)
{
    uint32_t lanes = hd_trace_track_count(trace);
    *index = (span_index){.trace = trace, .lane_count = lanes};
    if (hd_trace_row_count(trace, HD_KIND_SLICE) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices");
    chunk *c = malloc(sizeof *c);
    uint64_t *next = calloc((size_t)lanes + 1, sizeof *next);
    index->first = calloc((size_t)lanes + 1, sizeof *index->first);
    bool fine = c && next && index->first;
    if (fine && (fine = count_lanes(index, c))) {
        hd_ticks_settle(&index->ticks);
        index->units_per_ns = hd_ticks_per_ns(&index->ticks);
        for (uint32_t i = 0; i < lanes; i++) next[i + 1] = index->first[i + 1] += index->first[i];
        index->spans = hd_large_new((size_t)index->first[lanes] + 1, sizeof *index->spans, hd_trace_large_bytes(trace));
        fine = index->spans != NULL;
    }
    if (fine) fill_lanes(index, c, next);
    hd_status status = fine ? hd_trace_input_status(trace, err) : HD_NOMEM(err);
    for (uint32_t i = 0; status == HD_OK && i < lanes; i++) {
        if (!span_sort(index->spans + index->first[i], index->first[i + 1] - index->first[i],
                       hd_trace_large_bytes(trace)))
            status = HD_NOMEM(err);
    }
    free(next);
    free(c);
    if (status != HD_OK) span_index_deinit(index);
    return status;
}

void span_index_deinit(span_index *index)
{
    hd_large_free(index->spans);
    free(index->first);
    hd_ticks_deinit(&index->ticks);
    *index = (span_index){0};
}
