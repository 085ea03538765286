/* lane_index.c - the parts of an index, and the data derived from them */
#include "trace/index/lane_index.h"
#include "base/sorted.h"

#include <stdlib.h>

#include "base/memory/large.h"
#include "trace/impl.h"

/* ---- times ---- */

int64_t lane_units(const hd_index *index, int64_t ns, int64_t below)
{
    int64_t from_base, units;
    if (__builtin_sub_overflow(ns, index->base_ns, &from_base)) return ns < index->base_ns ? INT64_MIN : INT64_MAX;
    if (index->units_per_ns == 1) return from_base;
    if (__builtin_mul_overflow(from_base, index->units_per_ns, &units) ||
        __builtin_add_overflow(units, (int64_t)hd_below_ps(below), &units))
        return from_base < 0 ? INT64_MIN : INT64_MAX;
    return units;
}

/* On the trace's clock; never HD_NO_TIME. */
static int64_t clock_ns(const hd_index *index, int64_t from_base)
{
    int64_t ns;
    if (__builtin_add_overflow(index->base_ns, from_base, &ns)) return from_base < 0 ? INT64_MIN + 1 : INT64_MAX;
    return ns == HD_NO_TIME ? ns + 1 : ns;
}

/* A sum of units as whole nanoseconds. */
static int64_t sum_ns(const hd_index *index, uint64_t units)
{
    return (int64_t)(units < INT64_MAX ? units : INT64_MAX) / index->units_per_ns;
}

/* ---- lanes ---- */

size_t lane_summary_count(uint64_t slices)
{
    size_t level = lane_part_count(slices), count = level;
    for (; level > 1; count += level) level = (level + HD_SUMMARY_FAN - 1) / HD_SUMMARY_FAN;
    return count;
}

bool lane_list(hd_index *index, size_t count)
{
    index->lanes = hd_large_zeroed(count + 1, sizeof *index->lanes, index->large);
    index->details = hd_large_zeroed(count + 1, sizeof *index->details, index->large);
    if (!index->lanes || !index->details) return false;
    index->lane_count = count;
    return true;
}

static void place_levels(hd_lane *lane, const hd_summary *summaries)
{
    size_t count = lane_part_count(lane->slice_count);
    for (lane->level_count = 0;; count = (count + HD_SUMMARY_FAN - 1) / HD_SUMMARY_FAN) {
        lane->levels[lane->level_count].summaries = summaries;
        lane->levels[lane->level_count++].count = count;
        if (count == 1) return;
        summaries += count;
    }
}

bool lane_make(hd_index *index)
{
    size_t parts = 0, summaries = 0;
    for (size_t i = 0; i < index->lane_count; i++) {
        parts += lane_part_count(index->lanes[i].slice_count);
        summaries += lane_summary_count(index->lanes[i].slice_count);
    }
    index->parts = hd_large_zeroed(parts + 1, sizeof *index->parts, index->large);
    index->summaries = hd_large_zeroed(summaries + 1, sizeof *index->summaries, index->large);
    if (!index->parts || !index->summaries) return false;
    parts = summaries = 0;
    for (size_t i = 0; i < index->lane_count; i++) {
        hd_lane *lane = &index->lanes[i];
        index->details[i].parts = index->parts + parts;
        index->details[i].summaries = index->summaries + summaries;
        place_levels(lane, index->details[i].summaries);
        parts += lane_part_count(lane->slice_count);
        summaries += lane_summary_count(lane->slice_count);
    }
    return true;
}

/* Level 0 from the parts. Sums are rounded down at their boundaries, so that differences add up. */
static bool derive_parts(hd_lane *lane, lane_detail *detail, const hd_index *index)
{
    uint64_t busy = 0;
    int64_t reach = INT64_MIN;
    for (size_t i = 0; i < lane->levels[0].count; i++) {
        lane_part *part = &detail->parts[i];
        hd_summary *summary = &detail->summaries[i];
        int64_t last_ns = lane_floor(index, part->last);
        if (last_ns < part->first_ns || (i && part->first_ns < part[-1].first_ns)) return false;
        part->busy_before = busy;
        part->reach = reach;
        if (__builtin_add_overflow(busy, part->busy, &busy)) return false;
        if (part->last > reach) reach = part->last;
        summary->first_ns = clock_ns(index, part->first_ns);
        summary->last_ns = clock_ns(index, last_ns);
        summary->busy_ns = sum_ns(index, busy) - sum_ns(index, part->busy_before);
        summary->count = lane_part_slices(lane, i);
    }
    lane->busy_ns = sum_ns(index, busy);
    return true;
}

static void widen(hd_summary *out, const hd_summary *more)
{
    if (out->count == 0) out->first_ns = more->first_ns;
    if (out->count == 0 || more->last_ns > out->last_ns) out->last_ns = more->last_ns;
    if (more->longest_ns > out->longest_ns) out->longest_ns = more->longest_ns;
    out->busy_ns += more->busy_ns; /* cannot overflow: both are parts of a sum that fits */
    out->count += more->count;
}

bool lane_derive(hd_lane *lane, lane_detail *detail, const hd_index *index)
{
    if (!derive_parts(lane, detail, index)) return false;
    hd_summary *lower = detail->summaries;
    for (uint32_t level = 1; level < lane->level_count; level++) {
        size_t count = lane->levels[level - 1].count;
        hd_summary *upper = lower + count;
        for (size_t i = 0; i < count; i++) widen(&upper[i / HD_SUMMARY_FAN], &lower[i]);
        lower = upper;
    }
    lane->start_ns = lower->first_ns;
    lane->end_ns = lower->last_ns;
    return true;
}

/* ---- the index ---- */

void hd_index_free(hd_index *index)
{
    if (!index) return;
    for (size_t i = 0; i < index->lane_count; i++) hd_large_free(index->details[i].stretches);
    hd_large_free(index->details);
    hd_large_free(index->lanes);
    hd_large_free(index->parts);
    hd_large_free(index->summaries);
    free(index->categories);
    free(index->work_ns);
    free(index);
}

void hd_builder_set_index(hd_builder *builder, hd_index *index)
{
    hd_index_free(builder->trace.index);
    builder->trace.index = index;
}

const hd_index *hd_trace_index(const hd_trace *trace)
{
    return trace->index;
}

size_t hd_index_lane_count(const hd_index *index)
{
    return index->lane_count;
}

const hd_lane *hd_index_lane_at(const hd_index *index, size_t lane)
{
    return &index->lanes[lane];
}

const hd_lane *hd_index_lane_of(const hd_index *index, const hd_trace *trace, uint32_t track)
{
    if (track >= hd_trace_track_count(trace)) return NULL;
    uint32_t wanted = hd_trace_track_at(trace, track)->same_as;
    size_t low = 0, high = index->lane_count;
    HD_PARTITION_POINT(low, high, at, index->lanes[at].track < wanted);
    return low < index->lane_count && index->lanes[low].track == wanted ? &index->lanes[low] : NULL;
}

size_t hd_index_category_count(const hd_index *index)
{
    return index->category_count;
}

const hd_category_sum *hd_index_category_at(const hd_index *index, size_t at)
{
    return &index->categories[at];
}
