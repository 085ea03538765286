/* solve.h - lane repair of one track, on plain arrays
 *
 * Two slices a and b cross when a.start < b.start < a.end < b.end. After the repair no two slices of one lane
 * cross. Lane 0 is the track itself; lanes 1, 2 … are synthetic. Rules:
 *
 * Noise     The size of a crossing is the smaller of the clamp shift, b.end - a.end, and the push shift,
 *           a.end - b.start. Under the threshold it is snapped on lane 0: b's end is clamped to a's end, or its
 *           start pushed to a's end; the smaller shift wins, on a tie the end is clamped. A pushed start is then
 *           checked against the next boundary out. A slice inside a pushed one that would begin
 *           before its new start is cut to it, whatever its own shifts are; one that ends before the new start stays.
 * Genuine   All other crossings. The slice moves, with its original times, to the lowest lane that accepts it. The
 *           slices to move are chosen per group of slices connected by crossings: few moves, few lanes.
 *
 * Never     a start or an end shifts by the threshold or more; a positive duration becomes zero or negative; a
 *           slice is lost; more slices move, or more lanes open, than with the plain greedy: by (start, longer
 *           first), noise snapped, each slice to the lowest lane that accepts it.
 * Fewest    moves, exactly, with threshold 0 and a group of up to HD_LANE_EXACT_SLICES slices whose spans sum up
 *           to HD_LANE_EXACT_STEPS (counted in endpoints under each slice; a clique of 4,096 slices is there),
 *           while HD_LANE_BUDGET_STEPS last, unless the two such choices tried take more lanes than the greedy.
 *           With a threshold groups of up to 64 are searched, larger ones are approximated; groups beyond
 *           those bounds are decided by numbers of crossings.
 * Costs     sorted and no crossing: one pass, 8 bytes per open slice. Unsorted: 8 bytes per slice. Crossings:
 *           O(n log n) time in addition to the bounded exact choices, and 4 to 8 bytes per slice with small groups. One
 *           group of all slices takes 24 to 30, and 24 more for each slice that waits pushed at the same time.
 */
#ifndef HD_PASS_LANES_SOLVE_H
#define HD_PASS_LANES_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"
#include "model/flows/index.h"

typedef struct hd_lane_result {
    uint32_t lane_count; /* with the primary lane, so at least 1 */
    uint64_t moved;      /* slices on a lane above 0 */
    uint64_t snapped;    /* slices changed in time */
    uint64_t crossings;  /* boundaries at which a start was pushed or an end clamped */
} hd_lane_result;

/* Repair `count` slices of one track in place: start, end and lane are written, the order is kept. Slices may be in any
 * order; equal ones are treated in input order, so the result is deterministic. `large`: as `least` of hd_large_new. A
 * crossing of less than `snap_threshold` is noise; 0: none is. Thread-safe for distinct arrays. Errors: HD_ERR_ARGUMENT
 * (negative threshold), HD_ERR_LIMIT (2^32 - 2 slices), HD_ERR_MEMORY; then start and end are unchanged. */
hd_status hd_lanes_solve(hd_lane_result *out, hd_lane_slice *slices, size_t count, int64_t snap_threshold,
                         uint64_t large, hd_error *err);

/* ---- Between solve.c and pick.c only. ---- */

enum { HD_LANE_EXACT_SLICES = 1 << 16, HD_LANE_EXACT_STEPS = 1 << 24, HD_LANE_BUDGET_STEPS = 1 << 27 };

#define HD_LANE_MOVED UINT32_MAX /* in a plan: leaves lane 0, without a lane yet */

/* Slices connected by crossings, by (start, longer first, input order). A plan has a lane for each member. */
typedef struct hd_lane_group {
    const hd_lane_slice *slices;
    const uint32_t *members; /* indices into slices */
    uint32_t count;
    uint64_t threshold;
} hd_lane_group;

/* Open slices, first to close on top: by (end, later one first). Ids are mapped through `map` unless it is NULL. */
typedef struct hd_lane_heap {
    uint32_t *ids;
    uint32_t count;
    const hd_lane_slice *slices;
    const uint32_t *map;
} hd_lane_heap;

void hd_lane_heap_push(hd_lane_heap *heap, uint32_t id);
uint32_t hd_lane_heap_pop(hd_lane_heap *heap);
static inline const hd_lane_slice *hd_lane_heap_slice(const hd_lane_heap *heap, uint32_t id)
{
    return &heap->slices[heap->map ? heap->map[id] : id];
}

/* Room for the choice of who moves and where to, for groups up to a size. Pages not needed are not touched. */
typedef struct hd_lane_picker {
    uint32_t *heap_ids, *below, *tree; /* per member, tree four times that */
    int64_t *ends;
    hd_lane_slice *spans; /* the exact choice: per member, at most HD_LANE_EXACT_SLICES … */
    uint32_t *other, *chord, *inside, *best, *ranges; /* … and per endpoint */
    uint32_t exact_capacity;
    uint64_t budget; /* steps left for exact choices */
} hd_lane_picker;

hd_status hd_lane_picker_init(hd_lane_picker *picker, uint32_t max_count, uint64_t large, hd_error *err);
void hd_lane_picker_deinit(hd_lane_picker *picker);

/* Writes 0 or HD_LANE_MOVED per member: a large set of members without genuine crossings stays. `variant` 1 decides
 * between equal choices the other way. */
void hd_lane_picker_pick(hd_lane_picker *picker, const hd_lane_group *group, int variant, uint32_t *plan);

/* Gives each moving member a lane from 1 on; returns the highest. `thrifty` tries several orders if few moved; without
 * it the order is by start. */
uint32_t hd_lane_picker_colour(hd_lane_picker *picker, const hd_lane_group *group, bool thrifty, uint32_t *plan);

#endif
