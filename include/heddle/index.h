/* index.h - the lane index: answers a viewer's and the reports' queries without walking the events
 *
 * A lane is a track's slices in start order (twins of one pid and tid are one lane, that of hd_track.same_as); of two
 * with equal start the longer comes first, then the one that is first in the input. For each lane the index holds that
 * order, the nanoseconds of which at least one slice covers it (the union: overlaps count once), and summaries of 256
 * slices each, of 16 such summaries, of 16 of those, and so on. Summaries are by event count, never by fixed time.
 *
 * Picoseconds, where a trace has them, count in the order, and sums are rounded down only at the end; so the busy_ns of
 * the summaries of one level add up to that of the lane.
 *
 * An index is built from a trace, or is read with the store that the trace comes from; then it belongs to the trace. It
 * is immutable: any thread may read it.
 */
#ifndef HEDDLE_INDEX_H
#define HEDDLE_INDEX_H

#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_SUMMARY_SLICES = 256, HD_SUMMARY_FAN = 16, HD_SUMMARY_NAMES = 4, HD_SUMMARY_LEVELS = 8 };

typedef struct hd_index hd_index;

/* A run of a lane's slices. `names` are the names with most self time in it, at every level; a slice's self time is the
 * time when no slice that started after it is open, so that the self times of a lane add up to its busy time. Names
 * with the same time are in order of occurrence; slices without a name have none. */
typedef struct hd_summary {
    int64_t first_ns, last_ns; /* start of its first slice, latest end of its slices */
    int64_t busy_ns;           /* covered by its slices and not by earlier slices of the lane */
    int64_t longest_ns;        /* longest slice */
    uint32_t count;
    uint32_t names[HD_SUMMARY_NAMES];  /* string ids, HD_STRING_NONE beyond the last */
    int64_t name_ns[HD_SUMMARY_NAMES]; /* self time in this run, descending */
} hd_summary;

typedef struct hd_lane {
    uint32_t track;
    uint32_t depth;       /* largest number of slices open at one time */
    uint64_t slice_count; /* slices with a start; slices without a valid end have a length of 0 */
    int64_t start_ns, end_ns, busy_ns;
    uint32_t level_count; /* levels[0] summarises 256 slices each, levels[1] 16 of those … the last has one summary */
    struct {
        const hd_summary *summaries;
        size_t count;
    } levels[HD_SUMMARY_LEVELS];
} hd_lane;

/* Events of one kind and category. */
typedef struct hd_category_sum {
    hd_kind kind;
    uint32_t category; /* string id */
    uint64_t count;
    int64_t total_ns; /* of the durations; saturates */
} hd_category_sum;

/* Errors: MEMORY, LIMIT (2^32 slices). The caller frees it. threads 0: one per core. Temporary memory is 44 bytes per
 * slice, for lanes of 8 million slices together, or for the largest lane. */
hd_status hd_index_build(hd_index **out, const hd_trace *trace, unsigned threads, hd_error *err);
void hd_index_free(hd_index *index);
/* The index that came with the trace, NULL if none did. Borrowed. */
const hd_index *hd_trace_index(const hd_trace *trace);

/* Lanes that have slices, by ascending track. */
size_t hd_index_lane_count(const hd_index *index);
const hd_lane *hd_index_lane_at(const hd_index *index, size_t lane);
/* The lane of a track or its twin, NULL: no slices. */
const hd_lane *hd_index_lane_of(const hd_index *index, const hd_trace *trace, uint32_t track);
/* By kind; within a kind by descending total, then count, then in the order in which the trace has them. */
size_t hd_index_category_count(const hd_index *index);
const hd_category_sum *hd_index_category_at(const hd_index *index, size_t at);

/* The functions below read blocks of the trace that the index was built from, as few as possible. Errors: MEMORY,
 * DAMAGED (the trace does not have the slices that the index refers to). */

/* Rows of the slice table in start order: fills out_rows with those of positions [first, first + count) and sets
 * *out_count to how many there were. */
hd_status hd_lane_rows(uint64_t *out_rows, size_t *out_count, const hd_index *index, const hd_lane *lane,
                       const hd_trace *trace, uint64_t first, size_t count, hd_error *err);
/* Position of the first slice that starts at or after a time. */
hd_status hd_lane_find(uint64_t *out_position, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                       int64_t time_ns, hd_error *err);
/* Nanoseconds of [from_ns, until_ns) that slices of the lane cover: from the prefix sums, and the slices of at most two
 * summaries. */
hd_status hd_lane_busy(int64_t *out_ns, const hd_index *index, const hd_lane *lane, const hd_trace *trace,
                       int64_t from_ns, int64_t until_ns, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
