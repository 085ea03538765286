/* build.c - an index from a trace
 *
 * Slices are counted per lane, then gathered lane by lane with each thread taking a range of blocks, then each lane is
 * filled by itself. Lanes are gathered in batches, so that memory stays bounded however long the trace is.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/thread.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"
#include "trace/spill.h"

enum { CHUNK_ROWS = 2048, BATCH_SLICES = 1 << 23 };

/* ---- gathering ---- */

typedef struct build build;

/* One thread. */
typedef struct build_worker {
    build *b;
    size_t block_from, block_until;
    uint64_t *next; /* by track: number of slices of the lane in these blocks; then the index of the next of them */
    lane_maker *maker;
    bool failed;
    int64_t start[CHUNK_ROWS], duration[CHUNK_ROWS], track[CHUNK_ROWS], name[CHUNK_ROWS];
    int64_t start_ps[CHUNK_ROWS], end_ps[CHUNK_ROWS];
} build_worker;

struct build {
    const hd_trace *trace;
    hd_index *index;
    uint32_t *lane_of; /* by track: same_as */
    uint32_t track_count;
    build_worker *workers;
    unsigned worker_count;
    lane_span *spans;
    uint64_t *first; /* by lane of the batch: place of its first span */
    size_t lane_from, lane_until;
    uint32_t track_from, track_until; /* of the lanes of the batch */
    atomic_size_t next_lane;
};

static uint32_t chunk_rows(const hd_block *block, uint32_t first)
{
    uint32_t left = block->row_count - first;
    return left < CHUNK_ROWS ? left : CHUNK_ROWS;
}

static void count_rows(void *state)
{
    build_worker *w = state;
    const build *b = w->b;
    hd_block_room room = {0};
    for (size_t i = w->block_from; i < w->block_until; i++) {
        const hd_block *block = hd_walk_columns(&room, b->trace, HD_KIND_SLICE, i);
        for (uint32_t first = 0, n; first < block->row_count; first += n) {
            n = chunk_rows(block, first);
            hd_column_decode(w->start, &block->columns[HD_COL_START], first, n);
            hd_column_decode(w->track, &block->columns[HD_COL_TRACK], first, n);
            for (uint32_t r = 0; r < n; r++) {
                uint32_t track = (uint32_t)w->track[r];
                if (w->start[r] != HD_NO_TIME && track < b->track_count) w->next[b->lane_of[track]]++;
            }
        }
    }
    hd_walk_end(&room, b->trace);
}

static void gather_chunk(build_worker *w, const hd_block *block, uint32_t first, uint32_t n)
{
    const build *b = w->b;
    hd_column_decode(w->start, &block->columns[HD_COL_START], first, n);
    hd_column_decode(w->duration, &block->columns[HD_COL_DURATION], first, n);
    hd_column_decode(w->name, &block->columns[HD_COL_NAME], first, n);
    if (b->index->units_per_ns > 1) {
        hd_column_decode(w->start_ps, &block->columns[HD_COL_START_PS], first, n);
        hd_column_decode(w->end_ps, &block->columns[HD_COL_END_PS], first, n);
    }
    for (uint32_t r = 0; r < n; r++) {
        uint32_t track = (uint32_t)w->track[r];
        if (w->start[r] == HD_NO_TIME || track >= b->track_count) continue;
        uint32_t lane = b->lane_of[track];
        if (lane < b->track_from || lane > b->track_until) continue;
        lane_span *span = &b->spans[w->next[lane]++];
        *span = lane_span_of(b->index, w->start[r], w->duration[r], w->start_ps[r], w->end_ps[r]);
        span->ordinal = (uint32_t)(block->first_row + first + r);
        span->name = (uint32_t)w->name[r];
    }
}

static void gather(void *state)
{
    build_worker *w = state;
    hd_block_room room = {0};
    for (size_t i = w->block_from; i < w->block_until; i++) {
        const hd_block *block = hd_walk_columns(&room, w->b->trace, HD_KIND_SLICE, i);
        for (uint32_t first = 0, n; first < block->row_count; first += n) {
            n = chunk_rows(block, first);
            hd_column_decode(w->track, &block->columns[HD_COL_TRACK], first, n);
            gather_chunk(w, block, first, n);
        }
    }
    hd_walk_end(&room, w->b->trace);
}

/* ---- lanes ---- */

static void fill(void *state)
{
    build_worker *w = state;
    build *b = w->b;
    size_t lane;
    while (!w->failed && (lane = atomic_fetch_add(&b->next_lane, 1)) < b->lane_until) {
        w->failed = !lane_fill(w->maker, &b->index->lanes[lane], &b->index->details[lane], b->index,
                               b->spans + b->first[lane - b->lane_from]);
    }
}

/* Takes lanes from lane_from on, as many as fit, and assigns places to their spans. */
static bool begin_batch(build *b)
{
    const hd_lane *lanes = b->index->lanes;
    uint64_t total = 0;
    b->lane_until = b->lane_from;
    while (b->lane_until < b->index->lane_count) {
        uint64_t count = lanes[b->lane_until].slice_count;
        if (total && total + count > BATCH_SLICES) break;
        total += count;
        b->lane_until++;
    }
    hd_large_free(b->spans);
    hd_large_free(b->first);
    b->spans = hd_large_new(total, sizeof *b->spans, b->index->large);
    b->first = hd_large_new(b->lane_until - b->lane_from, sizeof *b->first, b->index->large);
    if (!b->spans || !b->first) return false;
    uint64_t place = 0;
    for (size_t i = b->lane_from; i < b->lane_until; i++) {
        b->first[i - b->lane_from] = place;
        for (unsigned t = 0; t < b->worker_count; t++) {
            uint64_t *next = &b->workers[t].next[lanes[i].track], count = *next;
            *next = place;
            place += count;
        }
    }
    b->track_from = lanes[b->lane_from].track;
    b->track_until = lanes[b->lane_until - 1].track;
    return true;
}

static bool make_lanes(build *b)
{
    for (b->lane_from = 0; b->lane_from < b->index->lane_count; b->lane_from = b->lane_until) {
        if (!begin_batch(b)) return false;
        hd_threads_run(gather, b->workers, sizeof *b->workers, b->worker_count);
        if (hd_trace_input_status(b->trace, NULL) != HD_OK) return false; /* fewer slices than were counted */
        atomic_store(&b->next_lane, b->lane_from);
        hd_threads_run(fill, b->workers, sizeof *b->workers, b->worker_count);
        for (unsigned t = 0; t < b->worker_count; t++) {
            if (b->workers[t].failed) return false;
        }
    }
    return true;
}

static uint64_t slices_of(const build *b, uint32_t track)
{
    uint64_t count = 0;
    for (unsigned t = 0; t < b->worker_count; t++) count += b->workers[t].next[track];
    return count;
}

static bool list_lanes(build *b)
{
    size_t count = 0, at = 0;
    for (uint32_t track = 0; track < b->track_count; track++) count += slices_of(b, track) > 0;
    if (!lane_list(b->index, count)) return false;
    for (uint32_t track = 0; track < b->track_count; track++) {
        uint64_t slices = slices_of(b, track);
        if (slices) b->index->lanes[at++] = (hd_lane){.track = track, .slice_count = slices};
    }
    return lane_make(b->index);
}

/* ---- the whole ---- */

/* The trace's start; 0 where times since then would not fit into 64 bits. *out_length: INT64_MAX there. */
int64_t lane_base_ns(int64_t *out_length, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    *out_length = 0;
    if (facts->start_ns == HD_NO_TIME) return 0;
    bool fits = !__builtin_sub_overflow(facts->end_ns, facts->start_ns, out_length);
    if (!fits) *out_length = INT64_MAX;
    return fits ? facts->start_ns : 0;
}

void lane_choose_units(hd_index *index, const hd_trace *trace)
{
    int64_t length;
    index->base_ns = lane_base_ns(&length, trace);
    index->units_per_ns = 1;
    hd_block_room room = {0};
    if (length > INT64_MAX / 1000 - 1) return;
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_SLICE) && index->units_per_ns == 1; i++) {
        const hd_column *columns = hd_walk_columns(&room, trace, HD_KIND_SLICE, i)->columns;
        const hd_column *start = &columns[HD_COL_START_PS], *end = &columns[HD_COL_END_PS];
        if (start->width || start->base || end->width || end->base) index->units_per_ns = 1000;
    }
    hd_walk_end(&room, trace);
}

static bool make_workers(build *b, unsigned threads)
{
    size_t blocks = hd_trace_block_count(b->trace, HD_KIND_SLICE);
    b->worker_count = hd_thread_count(threads, blocks);
    b->workers = calloc(b->worker_count, sizeof *b->workers);
    b->lane_of = hd_large_new((size_t)b->track_count + 1, sizeof *b->lane_of, b->index->large);
    if (!b->workers || !b->lane_of) return false;
    for (uint32_t i = 0; i < b->track_count; i++) {
        uint32_t lane = hd_trace_track_at(b->trace, i)->same_as;
        b->lane_of[i] = lane < b->track_count ? lane : i;
    }
    for (unsigned t = 0; t < b->worker_count; t++) {
        build_worker *w = &b->workers[t];
        w->b = b;
        w->block_from = blocks * t / b->worker_count;
        w->block_until = blocks * (t + 1) / b->worker_count;
        w->next = hd_large_zeroed((size_t)b->track_count + 1, sizeof *w->next, b->index->large);
        w->maker = lane_maker_new(b->index->large);
        if (!w->next || !w->maker) return false;
    }
    return true;
}

static void free_build(build *b)
{
    for (unsigned t = 0; b->workers && t < b->worker_count; t++) {
        hd_large_free(b->workers[t].next);
        lane_maker_free(b->workers[t].maker);
    }
    free(b->workers);
    hd_large_free(b->lane_of);
    hd_large_free(b->spans);
    hd_large_free(b->first);
}

hd_status hd_index_build(hd_index **out, const hd_trace *trace, unsigned threads, hd_error *err)
{
    *out = NULL;
    if (hd_trace_row_count(trace, HD_KIND_SLICE) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices");
    build b = {.trace = trace, .index = calloc(1, sizeof *b.index), .track_count = hd_trace_track_count(trace)};
    if (!b.index) return HD_NOMEM(err);
    b.index->large = hd_trace_large_bytes(trace);
    b.index->slice_rows = hd_trace_row_count(trace, HD_KIND_SLICE);
    lane_choose_units(b.index, trace);
    bool fine = make_workers(&b, threads);
    if (fine) {
        hd_threads_run(count_rows, b.workers, sizeof *b.workers, b.worker_count);
        fine = list_lanes(&b) && make_lanes(&b);
    }
    free_build(&b);
    hd_status status = hd_trace_input_status(trace, err);
    if (status == HD_OK && !fine) status = HD_NOMEM(err);
    if (status == HD_OK)
        status = hd_sum_categories(&b.index->categories, &b.index->category_count, trace, threads, err);
    if (status == HD_OK)
        *out = b.index;
    else
        hd_index_free(b.index);
    return status;
}
