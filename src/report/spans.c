/* spans.c - slices grouped by lane by counting, then each lane sorted unless it is already */
#include "report/spans.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/spill.h"

enum { CHUNK_ROWS = 2048, INSERTION_LIMIT = 16 };

/* ---- sorting: quicksort by the median of three, heap sort when that goes too deep -------------------------- */

static inline bool before(const slice_span *a, const slice_span *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->end != b->end) return a->end > b->end;
    return a->row < b->row;
}

static inline void swap(slice_span *a, slice_span *b)
{
    slice_span t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(slice_span *spans, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        slice_span moving = spans[i];
        uint64_t at = i;
        for (; at > 0 && before(&moving, &spans[at - 1]); at--) spans[at] = spans[at - 1];
        spans[at] = moving;
    }
}

static void sift_down(slice_span *spans, uint64_t at, uint64_t count)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&spans[child], &spans[child + 1])) child++;
        if (!before(&spans[at], &spans[child])) return;
        swap(&spans[at], &spans[child]);
    }
}

static void heap_sort(slice_span *spans, uint64_t count)
{
    for (uint64_t i = count / 2; i-- > 0;) sift_down(spans, i, count);
    for (uint64_t end = count; end-- > 1;) {
        swap(&spans[0], &spans[end]);
        sift_down(spans, 0, end);
    }
}

static slice_span median_of_three(slice_span *spans, uint64_t count)
{
    slice_span *a = &spans[0], *b = &spans[count / 2], *c = &spans[count - 1];
    if (before(b, a)) swap(a, b);
    if (before(c, b)) {
        swap(b, c);
        if (before(b, a)) swap(a, b);
    }
    return *b;
}

static void quick_sort(slice_span *spans, uint64_t count, unsigned depth)
{
    while (count > INSERTION_LIMIT) {
        if (depth-- == 0) {
            heap_sort(spans, count);
            return;
        }
        slice_span pivot = median_of_three(spans, count);
        uint64_t i = 0, j = count - 1;
        for (;;) {
            do i++;
            while (before(&spans[i], &pivot));
            do j--;
            while (before(&pivot, &spans[j]));
            if (i >= j) break;
            swap(&spans[i], &spans[j]);
        }
        j++; /* [0, j) and [j, count) */
        if (j < count - j) {
            quick_sort(spans, j, depth);
            spans += j;
            count -= j;
        } else {
            quick_sort(spans + j, count - j, depth);
            count = j;
        }
    }
    insertion_sort(spans, count);
}

void span_sort(slice_span *spans, uint64_t count)
{
    uint64_t i = 1;
    while (i < count && !before(&spans[i], &spans[i - 1])) i++;
    if (i >= count) return;
    unsigned depth = 2;
    for (uint64_t n = count; n > 1; n /= 2) depth += 2;
    quick_sort(spans, count, depth);
}

/* ---- the index -------------------------------------------------------------------------------------------- */

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

/* Whether row i stands in the index. Its end is in *end_ns. */
static inline bool counts(const chunk *c, uint32_t i, int64_t *end_ns)
{
    return c->track[i] != HD_NONE && span_takes_part(end_ns, c->start[i], c->duration[i], c->phase[i]);
}

/* Also sees all times. false: no memory. */
static bool count_lanes(span_index *index, chunk *c)
{
    bool fits = true;
    const hd_trace *trace = index->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
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
    return fits;
}

static void fill_lanes(span_index *index, chunk *c, uint64_t *next)
{
    const hd_trace *trace = index->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
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
    for (uint32_t i = 0; fine && i < lanes; i++)
        span_sort(index->spans + index->first[i], index->first[i + 1] - index->first[i]);
    free(next);
    free(c);
    if (!fine) span_index_deinit(index);
    return fine ? HD_OK : HD_NOMEM(err);
}

void span_index_deinit(span_index *index)
{
    hd_large_free(index->spans);
    free(index->first);
    hd_ticks_deinit(&index->ticks);
    *index = (span_index){0};
}
