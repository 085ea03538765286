/* nesting.c - parents and depths of slices
 *
 * One sweep in start order keeps, per lane, a stack of the slices that may still enclose another. A new slice pops
 * every slice that ends before it does, since the new one is a better parent for later slices. So each slice is pushed
 * and popped once, and the ends on a stack descend. Lanes whose rows are not in start order are gathered, sorted and
 * swept separately.
 */
#include "trace/index/nesting.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"
#include "trace/spill.h"

enum { CHUNK_ROWS = 2048, BEGINS_MAX = 64 };

/* An entry of a lane's stack. */
typedef struct open_slice {
    int64_t start, end;
    uint32_t row, below; /* below: index, HD_NONE */
    bool is_begin;       /* of a pair of events */
} open_slice;

typedef struct lane_state {
    lane_span last;
    uint32_t top;   /* of its stack, HD_NONE */
    uint32_t count; /* number of slices; then, for an unsorted lane, the index after its last span */
    bool is_out_of_order;
} lane_state;

typedef struct nester {
    const hd_trace *trace;
    hd_nesting *out;
    hd_index units; /* base_ns and units_per_ns alone */
    uint64_t large;
    lane_state *lanes; /* by track: same_as */
    uint32_t track_count;
    open_slice *pool; /* of all stacks */
    size_t pool_count, pool_capacity;
    uint32_t unused; /* first of the popped entries, linked by `below` */
    lane_span *spans, *scratch;
    int64_t start[CHUNK_ROWS], duration[CHUNK_ROWS], track[CHUNK_ROWS], phase[CHUNK_ROWS];
    int64_t start_ps[CHUNK_ROWS], end_ps[CHUNK_ROWS];
} nester;

/* ---- one slice ---- */

/* Pairs of events keep the order of the input: a slice of length 0 that precedes a begin event of the same time is not
 * inside it. At most BEGINS_MAX such begin events are checked. */
static uint32_t parent_of(const nester *n, uint32_t top, const lane_span *span)
{
    for (unsigned i = 0; i < BEGINS_MAX && top != HD_NONE && span->end == span->start; i++) {
        const open_slice *open = &n->pool[top];
        if (!open->is_begin || open->start != span->start || open->row < span->ordinal) break;
        top = open->below;
    }
    return top;
}

static bool push(nester *n, lane_state *lane, const lane_span *span, bool is_begin)
{
    uint32_t at = n->unused;
    if (at != HD_NONE) {
        n->unused = n->pool[at].below;
    } else {
        if (!hd_large_grow((void **)&n->pool, &n->pool_capacity, n->pool_count, sizeof *n->pool, n->large))
            return false;
        at = (uint32_t)n->pool_count++;
    }
    n->pool[at] = (open_slice){span->start, span->end, span->ordinal, lane->top, is_begin};
    lane->top = at;
    return true;
}

/* The next slice of a lane in start order; false: no memory. */
static bool nest(nester *n, lane_state *lane, const lane_span *span, bool is_begin)
{
    while (lane->top != HD_NONE) {
        open_slice *open = &n->pool[lane->top];
        uint32_t popped = lane->top;
        if (open->end >= span->end && (open->end > span->start || open->start == span->start)) break;
        lane->top = open->below;
        open->below = n->unused;
        n->unused = popped;
    }
    uint32_t parent = parent_of(n, lane->top, span), row = span->ordinal;
    n->out->parents[row] = parent == HD_NONE ? HD_NONE : n->pool[parent].row;
    n->out->depths[row] = parent == HD_NONE ? 0 : n->out->depths[n->pool[parent].row] + 1;
    return push(n, lane, span, is_begin);
}

/* ---- all rows, in their order ---- */

static void decode(nester *n, const hd_block *block, uint32_t first, uint32_t count)
{
    hd_column_decode(n->start, &block->columns[HD_COL_START], first, count);
    hd_column_decode(n->duration, &block->columns[HD_COL_DURATION], first, count);
    hd_column_decode(n->track, &block->columns[HD_COL_TRACK], first, count);
    hd_column_decode(n->phase, &block->columns[HD_COL_PHASE], first, count);
    if (n->units.units_per_ns == 1) return;
    hd_column_decode(n->start_ps, &block->columns[HD_COL_START_PS], first, count);
    hd_column_decode(n->end_ps, &block->columns[HD_COL_END_PS], first, count);
}

static bool is_begin(const nester *n, uint32_t i)
{
    return (n->phase[i] & HD_PHASE_MASK) == 'B';
}

/* Row i of the decoded rows; NULL: it is on no lane. The caller sets the ordinal. */
static lane_state *span_of(lane_span *out, const nester *n, uint32_t i)
{
    if (n->start[i] == HD_NO_TIME || (uint64_t)n->track[i] >= n->track_count) return NULL;
    *out = lane_span_of(&n->units, n->start[i], n->duration[i], n->start_ps[i], n->end_ps[i]);
    if (n->duration[i] == HD_NO_TIME && is_begin(n, i)) out->end = INT64_MAX;
    uint32_t lane = hd_trace_track_at(n->trace, (uint32_t)n->track[i])->same_as;
    return &n->lanes[lane < n->track_count ? lane : (uint32_t)n->track[i]];
}

typedef bool take_span(nester *n, lane_state *lane, const lane_span *span, bool is_begin);

static bool nest_in_order(nester *n, lane_state *lane, const lane_span *span, bool is_begin)
{
    lane->is_out_of_order |= lane->count++ && !lane_span_before(&lane->last, span);
    lane->last = *span;
    return lane->is_out_of_order || nest(n, lane, span, is_begin);
}

static bool gather(nester *n, lane_state *lane, const lane_span *span, bool is_begin)
{
    if (!lane->is_out_of_order) return true;
    n->spans[lane->count] = *span;
    n->spans[lane->count++].name = is_begin;
    return true;
}

static bool each_span(nester *n, take_span *take)
{
    bool fine = true;
    hd_block_room room = {0};
    for (size_t b = 0; fine && b < hd_trace_block_count(n->trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, n->trace, HD_KIND_SLICE, b);
        for (uint32_t first = 0, count; first < block->row_count; first += count) {
            count = block->row_count - first < CHUNK_ROWS ? block->row_count - first : CHUNK_ROWS;
            decode(n, block, first, count);
            for (uint32_t i = 0; fine && i < count; i++) {
                lane_span span;
                lane_state *lane = span_of(&span, n, i);
                if (!lane) continue;
                span.ordinal = (uint32_t)(block->first_row + first + i);
                fine = take(n, lane, &span, is_begin(n, i));
            }
        }
    }
    hd_walk_end(&room, n->trace);
    return fine;
}

/* ---- lanes that are out of order ---- */

static bool sweep(nester *n, lane_state *lane, lane_span *spans, uint32_t count)
{
    lane_sort(spans, count, n->scratch);
    lane->top = HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (!nest(n, lane, &spans[i], spans[i].name)) return false;
    }
    return true;
}

static bool nest_the_rest(nester *n)
{
    size_t total = 0, longest = 0, from = 0;
    for (uint32_t t = 0; t < n->track_count; t++) {
        lane_state *lane = &n->lanes[t];
        if (!lane->is_out_of_order) continue;
        longest = lane->count > longest ? lane->count : longest;
        size_t first = total;
        total += lane->count;
        lane->count = (uint32_t)first;
    }
    if (!total) return true;
    n->spans = hd_large_new(total, sizeof *n->spans, n->large);
    n->scratch = hd_large_new(longest / 2 + 32, sizeof *n->scratch, n->large);
    if (!n->spans || !n->scratch || !each_span(n, gather)) return false;
    if (hd_trace_input_status(n->trace, NULL) != HD_OK) return false; /* fewer spans than were counted */
    for (uint32_t t = 0; t < n->track_count; t++) {
        lane_state *lane = &n->lanes[t];
        if (!lane->is_out_of_order) continue;
        if (!sweep(n, lane, n->spans + from, (uint32_t)(lane->count - from))) return false;
        from = lane->count;
    }
    return true;
}

/* ---- the whole ---- */

void hd_nesting_free(hd_nesting *nesting)
{
    if (!nesting) return;
    hd_large_free(nesting->parents);
    hd_large_free(nesting->depths);
    free(nesting);
}

static bool make(nester *n)
{
    hd_nesting *out = n->out;
    out->parents = hd_large_new(out->count + 1, sizeof *out->parents, n->large);
    out->depths = hd_large_zeroed(out->count + 1, sizeof *out->depths, n->large);
    n->lanes = hd_large_zeroed((size_t)n->track_count + 1, sizeof *n->lanes, n->large);
    if (!out->parents || !out->depths || !n->lanes) return false;
    memset(out->parents, 0xff, out->count * sizeof *out->parents);
    for (uint32_t t = 0; t < n->track_count; t++) n->lanes[t].top = HD_NONE;
    lane_choose_units(&n->units, n->trace);
    return each_span(n, nest_in_order) && nest_the_rest(n);
}

hd_status hd_nesting_new(hd_nesting **out, const hd_trace *trace, hd_error *err)
{
    *out = NULL;
    if (hd_trace_row_count(trace, HD_KIND_SLICE) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices");
    nester *n = calloc(1, sizeof *n);
    hd_nesting *nesting = calloc(1, sizeof *nesting);
    bool fine = n && nesting;
    if (fine) {
        nesting->count = (size_t)hd_trace_row_count(trace, HD_KIND_SLICE);
        n->trace = trace;
        n->out = nesting;
        n->large = hd_trace_large_bytes(trace);
        n->track_count = hd_trace_track_count(trace);
        n->unused = HD_NONE;
        fine = make(n);
        hd_large_free(n->lanes);
        hd_large_free(n->pool);
        hd_large_free(n->spans);
        hd_large_free(n->scratch);
    }
    free(n);
    hd_status status = hd_trace_input_status(trace, err);
    if (status == HD_OK && !fine) status = HD_NOMEM(err);
    if (status == HD_OK)
        *out = nesting;
    else
        hd_nesting_free(nesting);
    return status;
}
