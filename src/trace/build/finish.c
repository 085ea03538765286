/* finish.c - computed once all events are added: begin/end pairs, event counts of tracks, the span */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/chunk.h"
#include "trace/column.h"
#include "trace/event.h"
#include "trace/impl.h"

/* ---- pairs ----
 *
 * An E closes the last open B of its track with its name, or the last open B if none has that name (or the E has no
 * name); a skipped B stays open. The order is that of time, as in viewers. If a producer writes each B directly
 * followed by its E, the order of the file decides, even if the pairs overlap.
 */

/* Walks the rows of one table. */
typedef struct cursor {
    const hd_table *table;
    size_t block;
    uint32_t row;
    uint64_t global_row;
} cursor;

static const hd_block *cursor_next(cursor *c, uint32_t *out_row)
{
    while (c->row == c->table->blocks[c->block]->row_count) {
        c->block++;
        c->row = 0;
    }
    *out_row = c->row++;
    c->global_row++;
    return c->table->blocks[c->block];
}

enum {
    LOOK_BACK = 64
}; /* open begins that an end is compared with; a deeper begin is closed only by an end without a
      name */

typedef struct open_begin {
    int64_t row, start_ns;
    uint32_t name;
} open_begin;

/* The begins that wait for their end, per track. */
typedef struct open_track {
    open_begin *begins;
    size_t count, capacity;
    int64_t last_ns;
    bool unsorted, has_others; /* has_others: not only begins that are directly followed by their end */
} open_track;

/* A begin or end, for tracks whose events are not in time order. */
typedef struct marker {
    int64_t start_ns;
    uint64_t sequence;
    int64_t row;
    uint32_t track, name;
    bool is_end;
} marker;

typedef struct pairing {
    hd_trace *trace;
    open_track *tracks;
    int64_t *end_of_slice; /* by slice row: end row or -1 */
    int64_t *slice_of_end;
    marker *markers;
    size_t marker_count, marker_capacity;
    bool any_unsorted;
    uint64_t large; /* lists of this many bytes and more go to a file */
} pairing;

static bool has_name(const pairing *p, const marker *m)
{
    return hd_trace_string(p->trace, m->name).size > 0;
}

/* The open begin that an end closes. Requires an open begin. */
static size_t find_begin(const pairing *p, const open_track *open, const marker *end)
{
    uint32_t name = end->name;
    size_t least = open->count > LOOK_BACK ? open->count - LOOK_BACK : 0;
    if (open->begins[open->count - 1].name == name || !has_name(p, end)) return open->count - 1;
    for (size_t at = open->count; at > least; at--) {
        if (open->begins[at - 1].name == name) return at - 1;
    }
    return open->count - 1;
}

static bool pair_one(pairing *p, const marker *m)
{
    open_track *open = &p->tracks[m->track];
    if (!m->is_end) {
        if (!hd_large_grow((void **)&open->begins, &open->capacity, open->count, sizeof *open->begins, p->large))
            return false;
        open->begins[open->count++] = (open_begin){m->row, m->start_ns, m->name};
    } else if (open->count) {
        size_t at = find_begin(p, open, m);
        int64_t slice = open->begins[at].row;
        p->end_of_slice[slice] = m->row;
        p->slice_of_end[m->row] = slice;
        memmove(open->begins + at, open->begins + at + 1, (open->count - at - 1) * sizeof *open->begins);
        open->count--;
    }
    return true;
}

/* Is a marker in its place where each begin is directly followed by its end? */
static bool is_next(const pairing *p, const open_track *open, const marker *m)
{
    if (!m->is_end) return open->count == 0;
    if (open->count != 1 || open->begins[0].start_ns > m->start_ns) return false;
    return m->name == open->begins[0].name || !has_name(p, m);
}

typedef bool marker_visitor(pairing *p, const marker *m);

static bool pair_in_order(pairing *p, const marker *m)
{
    open_track *open = &p->tracks[m->track];
    if (m->start_ns < open->last_ns) open->unsorted = p->any_unsorted = true;
    open->last_ns = m->start_ns;
    open->has_others |= !is_next(p, open, m);
    return pair_one(p, m);
}

static bool collect_unsorted(pairing *p, const marker *m)
{
    if (!p->tracks[m->track].unsorted || !p->tracks[m->track].has_others) return true;
    if (!hd_large_grow((void **)&p->markers, &p->marker_capacity, p->marker_count, sizeof *m, p->large)) return false;
    p->markers[p->marker_count++] = *m;
    return true;
}

/* Every begin and end in the order of the input. */
static bool visit_markers(pairing *p, marker_visitor *visit)
{
    cursor slices = {.table = &p->trace->tables[HD_KIND_SLICE]}, ends = {.table = &p->trace->tables[HD_KIND_END]};
    uint64_t sequence = 0;
    for (size_t run = 0; run < p->trace->chunk_count; run++) {
        const hd_chunk *chunk = p->trace->chunk_list[run];
        for (size_t i = 0; i < chunk->order_count; i++, sequence++) {
            bool is_end = chunk->order[i] == HD_KIND_END;
            if (!is_end && chunk->order[i] != HD_KIND_SLICE) continue;
            cursor *c = is_end ? &ends : &slices;
            uint32_t row;
            const hd_block *block = cursor_next(c, &row);
            if (!is_end && (hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK) != 'B') continue;
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            if (track == HD_NONE) continue;
            marker m = {
                .start_ns = hd_column_at(&block->columns[HD_COL_START], row),
                .sequence = sequence,
                .row = (int64_t)c->global_row - 1,
                .track = p->trace->tracks.list[track].same_as,
                .name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row),
                .is_end = is_end,
            };
            if (!visit(p, &m)) return false;
        }
    }
    return true;
}

static int by_track_and_time(const void *a, const void *b)
{
    const marker *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Viewers pair in the order of time: tracks that are not in time order are paired again. */
static bool pair_unsorted(pairing *p)
{
    if (!p->any_unsorted) return true;
    if (!visit_markers(p, collect_unsorted)) return false;
    for (size_t i = 0; i < p->marker_count; i++) {
        const marker *m = &p->markers[i];
        p->tracks[m->track].count = 0;
        if (m->is_end)
            p->slice_of_end[m->row] = -1;
        else
            p->end_of_slice[m->row] = -1;
    }
    if (p->marker_count) hd_sort(p->markers, p->marker_count, sizeof *p->markers, by_track_and_time);
    for (size_t i = 0; i < p->marker_count; i++) {
        const marker *m = &p->markers[i];
        if (!pair_one(p, m)) return false;
    }
    return true;
}

/* Recomputes a column, in memory or in the spill file as the memory limit requires. */
static hd_status replace_column(hd_trace *trace, hd_column *column, const int64_t *values, uint32_t count,
                                hd_error *err)
{
    hd_arena arena = {0};
    hd_status status = hd_column_seal(column, &arena, values, count) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = hd_spill_column(&trace->spill, column, count, &trace->arena, err);
    hd_arena_deinit(&arena);
    return status;
}

hd_status hd_builder_retrack(hd_builder *builder, hd_kind kind, size_t block, const int64_t *tracks, hd_error *err)
{
    hd_block *changed = builder->trace.tables[kind].blocks[block];
    return replace_column(&builder->trace, &changed->columns[HD_COL_TRACK], tracks, changed->row_count, err);
}

/* Durations and partners of the begins of a block. */
static hd_status close_slices(pairing *p, hd_block *block, int64_t *scratch, hd_error *err)
{
    uint32_t count = block->row_count;
    int64_t *duration = scratch, *end_ps = duration + count, *partner = end_ps + count;
    hd_column_decode(duration, &block->columns[HD_COL_DURATION], 0, count);
    hd_column_decode(end_ps, &block->columns[HD_COL_END_PS], 0, count);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        partner[i] = p->end_of_slice[block->first_row + i];
        if (partner[i] < 0) continue;
        any = true;
        uint32_t row;
        const hd_block *end = hd_trace_block_of(&row, p->trace, HD_KIND_END, (uint64_t)partner[i]);
        int64_t start_ns = hd_column_at(&block->columns[HD_COL_START], i);
        int64_t end_ns = hd_column_at(&end->columns[HD_COL_START], row);
        if (__builtin_sub_overflow(end_ns, start_ns, &duration[i])) duration[i] = INT64_MAX;
        end_ps[i] = hd_column_at(&end->columns[HD_COL_START_PS], row);
        if (end_ns > block->end_ns) block->end_ns = end_ns;
    }
    if (!any) return HD_OK;
    HD_TRY(replace_column(p->trace, &block->columns[HD_COL_DURATION], duration, count, err));
    HD_TRY(replace_column(p->trace, &block->columns[HD_COL_END_PS], end_ps, count, err));
    return replace_column(p->trace, &block->columns[HD_COL_PARTNER], partner, count, err);
}

static hd_status store_pairs(pairing *p, hd_error *err)
{
    const hd_table *slices = &p->trace->tables[HD_KIND_SLICE], *ends = &p->trace->tables[HD_KIND_END];
    size_t rows = slices->row_count < HD_BLOCK_ROWS ? (size_t)slices->row_count : HD_BLOCK_ROWS;
    int64_t *scratch = malloc(3 * sizeof *scratch * rows);
    if (!scratch) return HD_NOMEM(err);
    hd_status status = HD_OK;
    for (size_t i = 0; i < slices->count && status == HD_OK; i++)
        status = close_slices(p, slices->blocks[i], scratch, err);
    for (size_t i = 0; i < ends->count && status == HD_OK; i++) {
        hd_block *block = ends->blocks[i];
        status = replace_column(p->trace, &block->columns[HD_COL_PARTNER], p->slice_of_end + block->first_row,
                                block->row_count, err);
    }
    free(scratch);
    return status;
}

hd_status hd_pair_begin_end(hd_trace *trace, hd_error *err)
{
    uint64_t slices = trace->tables[HD_KIND_SLICE].row_count, ends = trace->tables[HD_KIND_END].row_count;
    if (slices == 0 || ends == 0) return HD_OK;
    pairing p = {.trace = trace, .large = hd_trace_large_bytes(trace)};
    p.tracks = calloc(trace->tracks.count, sizeof *p.tracks);
    p.end_of_slice = hd_large_new((size_t)slices, sizeof *p.end_of_slice, p.large);
    p.slice_of_end = hd_large_new((size_t)ends, sizeof *p.slice_of_end, p.large);
    bool fine = p.tracks && p.end_of_slice && p.slice_of_end;
    if (fine) {
        for (uint32_t i = 0; i < trace->tracks.count; i++) p.tracks[i].last_ns = INT64_MIN;
        memset(p.end_of_slice, 0xff, slices * sizeof *p.end_of_slice);
        memset(p.slice_of_end, 0xff, ends * sizeof *p.slice_of_end);
        fine = visit_markers(&p, pair_in_order) && pair_unsorted(&p);
    }
    hd_status status = fine ? store_pairs(&p, err) : HD_NOMEM(err);
    for (uint32_t i = 0; p.tracks && i < trace->tracks.count; i++) hd_large_free(p.tracks[i].begins);
    free(p.tracks);
    hd_large_free(p.end_of_slice);
    hd_large_free(p.slice_of_end);
    hd_large_free(p.markers);
    return status;
}

/* ---- tracks and span ---- */

static void count_block(hd_trace *trace, const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t id = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i);
        if (id == HD_NONE) continue;
        hd_track *track = &trace->tracks.list[id];
        track->rows[block->kind]++;
        if (block->kind != HD_KIND_SLICE) continue;
        int64_t start = hd_column_at(&block->columns[HD_COL_START], i);
        int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], i);
        if (start == HD_NO_TIME) continue;
        hd_span_widen(&track->start_ns, &track->end_ns, start, hd_end_or_start(start, duration));
    }
}

void hd_count_tracks(hd_trace *trace)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < trace->tables[kind].count; i++) count_block(trace, trace->tables[kind].blocks[i]);
    }
}

void hd_find_span(hd_trace *trace)
{
    int64_t *start_ns = &trace->facts.start_ns, *end_ns = &trace->facts.end_ns;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (kind == HD_KIND_META) continue;
        bool lone = kind == HD_KIND_INSTANT || kind == HD_KIND_OTHER; /* may have time 0 without a meaning */
        for (size_t i = 0; i < trace->tables[kind].count; i++) {
            const hd_block *block = trace->tables[kind].blocks[i];
            if (block->start_ns == HD_NO_TIME) continue;
            if (!lone || block->start_ns > 0) {
                hd_span_widen(start_ns, end_ns, block->start_ns, block->end_ns);
                continue;
            }
            for (uint32_t row = 0; row < block->row_count; row++) {
                int64_t at = hd_column_at(&block->columns[HD_COL_START], row);
                int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
                if (at > 0) hd_span_widen(start_ns, end_ns, at, hd_end_or_start(at, duration));
            }
        }
    }
}
