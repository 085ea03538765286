/* query.c - rows at positions, positions of times, busy time between two times */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

enum { PIECE = 1024 };

static hd_status no_such_slice(const hd_lane *lane, hd_error *err)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE,
                        "the trace has not the slices that its index speaks of on track %u", lane->track);
}

static const lane_detail *detail_of(const hd_index *index, const hd_lane *lane)
{
    return &index->details[lane - index->lanes];
}

/* ---- rows ---- */

typedef struct wanted_row {
    uint32_t ordinal, at;
} wanted_row;

/* The stretch of a position. */
static uint32_t stretch_of(const lane_detail *detail, uint64_t position)
{
    uint32_t low = 1, high = detail->stretch_count;
    HD_PARTITION_POINT(low, high, at, detail->stretches[at].position <= position);
    return low - 1;
}

/* Looks up the ordinals of some positions; returns whether they ascend. */
static bool list_ordinals(wanted_row *out, const lane_detail *detail, uint64_t first, uint32_t count)
{
    bool ascending = true;
    uint32_t stretch = detail->stretches ? stretch_of(detail, first) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t position = first + i;
        out[i] = (wanted_row){.ordinal = (uint32_t)position, .at = i};
        if (!detail->stretches) continue;
        if (stretch + 1 < detail->stretch_count && detail->stretches[stretch + 1].position <= position) stretch++;
        const lane_stretch *s = &detail->stretches[stretch];
        out[i].ordinal = s->ordinal + (uint32_t)(position - s->position);
        if (i && out[i].ordinal < out[i - 1].ordinal) ascending = false;
    }
    return ascending;
}

static int by_ordinal(const void *a, const void *b)
{
    const wanted_row *x = a, *y = b;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Walks the lane's slices in row order. */
typedef struct row_walk {
    const hd_lane *lane;
    const lane_detail *detail;
    const hd_trace *trace;
    const hd_block *block;
    uint32_t row;     /* in the block: the next to look at */
    uint64_t ordinal; /* of the next slice to be met */
} row_walk;

static bool walk_jump(row_walk *walk, uint32_t ordinal)
{
    size_t part = ordinal / HD_SUMMARY_SLICES;
    if (walk->block && walk->ordinal <= ordinal && walk->ordinal >= (uint64_t)part * HD_SUMMARY_SLICES) return true;
    if (walk->detail->parts[part].row >= hd_trace_row_count(walk->trace, HD_KIND_SLICE)) return false;
    walk->block = hd_trace_columns_of(&walk->row, walk->trace, HD_KIND_SLICE, walk->detail->parts[part].row);
    walk->ordinal = (uint64_t)part * HD_SUMMARY_SLICES;
    return true;
}

static inline bool on_lane(const row_walk *walk, const hd_column *tracks, const hd_column *starts)
{
    uint32_t track = (uint32_t)hd_column_at(tracks, walk->row);
    if (track != walk->lane->track && (track >= hd_trace_track_count(walk->trace) ||
                                       hd_trace_track_at(walk->trace, track)->same_as != walk->lane->track))
        return false;
    return hd_column_at(starts, walk->row) != HD_NO_TIME;
}

/* Advances to the row of an ordinal that was not passed yet; false: the slices end before it. */
static bool walk_to(uint64_t *out_row, row_walk *walk, uint32_t ordinal)
{
    if (!walk_jump(walk, ordinal)) return false;
    for (;;) {
        const hd_column *columns = walk->block->columns;
        for (; walk->row < walk->block->row_count; walk->row++) {
            if (!on_lane(walk, &columns[HD_COL_TRACK], &columns[HD_COL_START]) || walk->ordinal++ < ordinal) continue;
            *out_row = walk->block->first_row + walk->row++;
            return true;
        }
        uint64_t next = walk->block->first_row + walk->block->row_count;
        if (next >= hd_trace_row_count(walk->trace, HD_KIND_SLICE)) return false;
        walk->block = hd_trace_columns_of(&walk->row, walk->trace, HD_KIND_SLICE, next);
    }
}

hd_status hd_lane_rows(uint64_t *out_rows, size_t *out_count, const hd_index *index, const hd_lane *lane,
                       const hd_trace *trace, uint64_t first, size_t count, hd_error *err)
{
    wanted_row wanted[PIECE];
    row_walk walk = {.lane = lane, .detail = detail_of(index, lane), .trace = trace};
    *out_count = 0;
    if (first >= lane->slice_count) return HD_OK;
    if (count > lane->slice_count - first) count = (size_t)(lane->slice_count - first);
    for (size_t done = 0; done < count; done += PIECE) {
        uint32_t piece = count - done < PIECE ? (uint32_t)(count - done) : PIECE;
        if (!list_ordinals(wanted, walk.detail, first + done, piece)) {
            hd_sort(wanted, piece, sizeof *wanted, by_ordinal);
        }
        for (uint32_t i = 0; i < piece; i++) {
            if (!walk_to(&out_rows[done + wanted[i].at], &walk, wanted[i].ordinal)) return no_such_slice(lane, err);
        }
    }
    *out_count = count;
    return HD_OK;
}

/* ---- times ---- */

/* The slices of a summary of level 0. */
typedef struct part_slices {
    lane_span spans[HD_SUMMARY_SLICES];
    int64_t start_ns[HD_SUMMARY_SLICES];
    uint32_t count;
} part_slices;

static hd_status load_part(part_slices *out, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                           size_t part, hd_error *err)
{
    uint64_t rows[HD_SUMMARY_SLICES];
    size_t count;
    HD_TRY(hd_lane_rows(rows, &count, index, lane, trace, (uint64_t)part * HD_SUMMARY_SLICES, HD_SUMMARY_SLICES, err));
    for (size_t i = 0; i < count; i++) {
        uint32_t row;
        const hd_column *c = hd_trace_columns_of(&row, trace, HD_KIND_SLICE, rows[i])->columns;
        out->start_ns[i] = hd_column_at(&c[HD_COL_START], row);
        out->spans[i] = lane_span_of(index, out->start_ns[i], hd_column_at(&c[HD_COL_DURATION], row),
                                     hd_column_at(&c[HD_COL_START_PS], row), hd_column_at(&c[HD_COL_END_PS], row));
    }
    out->count = (uint32_t)count;
    return HD_OK;
}

/* How many parts begin before a time. */
static size_t parts_before(const hd_lane *lane, int64_t time_ns)
{
    const hd_summary *summaries = lane->levels[0].summaries;
    size_t low = 0, high = lane->levels[0].count;
    HD_PARTITION_POINT(low, high, at, summaries[at].first_ns < time_ns);
    return low;
}

hd_status hd_lane_find(uint64_t *out_position, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                       int64_t time_ns, hd_error *err)
{
    size_t parts = parts_before(lane, time_ns);
    part_slices slices;
    *out_position = 0;
    if (parts == 0) return HD_OK;
    HD_TRY(load_part(&slices, index, lane, trace, parts - 1, err));
    uint32_t i = 0;
    while (i < slices.count && slices.start_ns[i] < time_ns) i++;
    *out_position = (uint64_t)(parts - 1) * HD_SUMMARY_SLICES + i;
    return HD_OK;
}

/* Units before a time that slices cover. Slices that start before it cover everything from it to their largest end. */
static hd_status busy_until(uint64_t *out_units, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                            int64_t time_ns, hd_error *err)
{
    size_t parts = parts_before(lane, time_ns);
    part_slices slices;
    *out_units = 0;
    if (parts == 0) return HD_OK;
    HD_TRY(load_part(&slices, index, lane, trace, parts - 1, err));
    const lane_part *part = &detail_of(index, lane)->parts[parts - 1];
    uint64_t busy = part->busy_before;
    int64_t reach = part->reach, time = lane_units(index, time_ns, 0);
    for (uint32_t i = 0; i < slices.count && slices.start_ns[i] < time_ns; i++) {
        int64_t from = slices.spans[i].start > reach ? slices.spans[i].start : reach;
        if (slices.spans[i].end <= from) continue;
        busy += (uint64_t)slices.spans[i].end - (uint64_t)from;
        reach = slices.spans[i].end;
    }
    uint64_t beyond = reach > time ? (uint64_t)reach - (uint64_t)time : 0;
    *out_units = beyond < busy ? busy - beyond : 0;
    return HD_OK;
}

hd_status hd_lane_busy(int64_t *out_ns, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                       int64_t from_ns, int64_t until_ns, hd_error *err)
{
    uint64_t before, all, ns;
    *out_ns = 0;
    if (until_ns <= from_ns) return HD_OK;
    HD_TRY(busy_until(&before, index, lane, trace, from_ns, err));
    HD_TRY(busy_until(&all, index, lane, trace, until_ns, err));
    ns = all > before ? (all - before) / (uint64_t)index->units_per_ns : 0;
    *out_ns = ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
    return HD_OK;
}
