/* ranges.c - ranges that have an id and may end on any thread
 *
 * They do not nest. Each gets the lowest free lane: a track "NVTX ranges", "NVTX ranges 2" and so on, as many as are
 * ever open at once. Begins are written when they happen, so that the trace of a killed program shows open ranges.
 *
 * The id is the lane and a serial number, which an end must match.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "capture/cuda/nvtx/impl.h"
#include "capture/cuda/window/window.h"

enum { LANE_BITS = 12 };
_Static_assert(1 << LANE_BITS == NVTX_LANES_MAX, "ids have a lane in their low bits");

/* ---- free lanes, the lowest first ---- */

static void put_free(uint32_t lane)
{
    HD_HEAP_PUSH(nvtx_tool.free_lanes, nvtx_tool.free_count, lane, x, y, *x < *y);
}

static uint32_t take_free(void)
{
    uint32_t lowest = nvtx_tool.free_lanes[0];
    HD_HEAP_POP(nvtx_tool.free_lanes, nvtx_tool.free_count, x, y, *x < *y);
    return lowest;
}

static uint32_t track_of_lane(uint32_t lane)
{
    char name[32] = "NVTX ranges";
    if (lane) snprintf(name, sizeof name, "NVTX ranges %u", lane + 1);
    return hd_session_track(
        nvtx_tool.session,
        &(hd_session_track_info){.kind = HD_SESSION_TRACK_THREAD, .number = NVTX_LANE_TID + lane, .name = name});
}

/* Under the lock. false: there are too many at once. */
static bool find_lane(uint32_t *out)
{
    if (nvtx_tool.free_count) {
        *out = take_free();
        return true;
    }
    if (!nvtx_tool.lanes) {
        nvtx_tool.lanes = calloc(NVTX_LANES_MAX, sizeof *nvtx_tool.lanes);
        nvtx_tool.free_lanes = calloc(NVTX_LANES_MAX, sizeof *nvtx_tool.free_lanes);
    }
    if (!nvtx_tool.lanes || !nvtx_tool.free_lanes || nvtx_tool.lane_count == NVTX_LANES_MAX) return false;
    *out = nvtx_tool.lane_count++;
    nvtx_tool.lanes[*out] = (nvtx_lane){.end_ns = INT64_MIN};
    return true;
}

/* ---- ranges ---- */

nvtx_range nvtx_range_begin(const nvtx_open *what)
{
    uint32_t at;
    pthread_mutex_lock(&nvtx_tool.lock);
    if (!find_lane(&at)) {
        pthread_mutex_unlock(&nvtx_tool.lock);
        nvtx_tell(NVTX_OVER, 1);
        return 0;
    }
    nvtx_lane *lane = &nvtx_tool.lanes[at];
    nvtx_range id = ++nvtx_tool.serial << LANE_BITS | at;
    lane->serial = nvtx_tool.serial;
    lane->is_shown = what->is_shown;
    lane->is_step = what->is_step;
    if (lane->is_shown) {
        /* An end and the next begin come from the rings of two threads: their times give the order. */
        int64_t now = hd_session_now();
        if (now <= lane->end_ns) now = lane->end_ns + 1;
        if (!lane->track) lane->track = track_of_lane(at);
        hd_session_emit(nvtx_tool.session, &(hd_session_record){.kind = HD_SESSION_BEGIN,
                                                                .track = lane->track,
                                                                .time_ns = now,
                                                                .name = what->name,
                                                                .category = nvtx_tool.category,
                                                                .args = what->args});
        lane->end_ns = now;
    }
    pthread_mutex_unlock(&nvtx_tool.lock);
    return id;
}

void nvtx_range_finish(nvtx_range range)
{
    uint32_t at = (uint32_t)(range & (NVTX_LANES_MAX - 1));
    bool was_step = false, is_known;
    pthread_mutex_lock(&nvtx_tool.lock);
    nvtx_lane *lane = at < nvtx_tool.lane_count ? &nvtx_tool.lanes[at] : NULL;
    is_known = lane && lane->serial && lane->serial == range >> LANE_BITS;
    if (is_known) {
        was_step = lane->is_step;
        lane->serial = 0;
        put_free(at);
        if (lane->is_shown) {
            int64_t now = hd_session_now();
            if (now <= lane->end_ns) now = lane->end_ns + 1;
            hd_session_emit(nvtx_tool.session, &(hd_session_record){HD_SESSION_END, lane->track, now});
            lane->end_ns = now;
        }
    }
    pthread_mutex_unlock(&nvtx_tool.lock);
    if (!is_known && range) nvtx_tell(NVTX_UNMATCHED, 1);
    if (was_step) window_step_ends();
}

void nvtx_ranges_forked(void)
{
    for (uint32_t i = 0; i < nvtx_tool.lane_count; i++) nvtx_tool.lanes[i].is_shown = false;
}
