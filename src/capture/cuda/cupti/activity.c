/* activity.c - reads CUPTI's buffers: every record is checked and counted
 *
 * Records are read by cuptiActivityGetNextRecord, which knows their sizes in its version. A record whose needed fields
 * are not within the buffer is counted as cut.
 *
 * Times
 *   0 < start <= end, and not after now: else the record is shown as an instant at its most likely time (its start,
 *   its end, after the last good record), and counted: note cuda.bad-times. CUPTI writes 0 if the memory for timestamps
 *   on the GPU ran out, and for activities still running when the program ended.
 *
 * Pace
 *   The events of this thread must not be dropped, whatever the session's policy is for the threads of the program:
 *   after half a ring this thread waits until they are in the file. Meanwhile buffers queue up.
 */
#include <string.h>

#include "capture/cuda/cupti/activity.h"
#include "capture/session/tracers.h"

enum { PACE = HD_SESSION_RING_EVENTS / 2, AHEAD_NS = 1000000000 };

void cuda_activity_init(cuda_activity *a, cuda_tracer *tracer)
{
    static const char *const names[ACTIVITY_CATEGORIES] = {
        [ACTIVITY_KERNEL] = "kernel",        [ACTIVITY_COPY] = "gpu_memcpy",    [ACTIVITY_SET] = "gpu_memset",
        [ACTIVITY_RUNTIME] = "cuda_runtime", [ACTIVITY_DRIVER] = "cuda_driver", [ACTIVITY_SYNC] = "cuda_sync",
        [ACTIVITY_OVERHEAD] = "overhead",    [ACTIVITY_GRAPH] = "graph_trace",
    };
    *a = (cuda_activity){.tracer = tracer, .session = tracer->session, .cupti = tracer->cupti};
    for (int i = 0; i < ACTIVITY_CATEGORIES; i++) a->categories[i] = hd_session_intern(a->session, names[i]);
}

/* ---- events ---- */

static void push(cuda_activity *a, const hd_session_record *record, bool delivers)
{
    session_deliver(a->session, record, delivers);
    if (++a->since_flush < PACE) return;
    hd_session_flush(a->session, NULL);
    a->since_flush = 0;
}

void activity_push(cuda_activity *a, const hd_session_record *record)
{
    push(a, record, false);
}

/* Whether it is the activity of a launch: a kernel, a graph as a whole, or the first activity of a graph's nodes. */
static bool delivers_launch(cuda_activity *a, const hd_session_record *record)
{
    if (record->category == a->categories[ACTIVITY_GRAPH]) return true;
    if (!record->node) return record->category == a->categories[ACTIVITY_KERNEL];
    uint32_t *last = &a->graph_launches[record->correlation % ACTIVITY_GRAPHS];
    bool is_first = *last != record->correlation;
    *last = record->correlation;
    return is_first;
}

int64_t activity_time(const cuda_activity *a, uint64_t time)
{
    if (time == 0 || time > INT64_MAX) return 0;
    int64_t mapped = cuda_clock_map(&a->clock, (int64_t)time);
    return mapped > 0 && mapped <= a->now_ns + AHEAD_NS ? mapped : 0;
}

void activity_emit(cuda_activity *a, hd_session_record *record, uint64_t start, uint64_t end)
{
    int64_t from = activity_time(a, start), to = activity_time(a, end);
    record->kind = HD_SESSION_SLICE;
    if (from && to && from <= to) {
        record->time_ns = from;
        record->value = (uint64_t)(to - from);
        if (to > a->last_ns) a->last_ns = to;
    } else {
        record->kind = HD_SESSION_INSTANT;
        record->value = 0;
        record->time_ns = from ? from : to ? to : a->last_ns ? a->last_ns : a->now_ns;
        a->counts.bad_times++;
    }
    a->counts.shown++;
    push(a, record, delivers_launch(a, record));
}

/* ---- buffers ---- */

static void read_record(cuda_activity *a, const uint8_t *end, const cupti_record *record)
{
    size_t left = (size_t)(end - (const uint8_t *)record);
    size_t needed = left < sizeof record->kind ? SIZE_MAX : activity_row_bytes(record->kind, a->cupti->version);
    a->counts.records++;
    if (needed == 0)
        a->counts.unknown++;
    else if (needed > left)
        a->counts.bad++;
    else if (!activity_row(a, record))
        a->counts.unknown++;
}

void cuda_activity_count_dropped(cuda_activity *a)
{
    size_t dropped = 0;
    if (a->cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK) a->counts.dropped += dropped;
}

void cuda_activity_read(cuda_activity *a, uint8_t *data, size_t valid)
{
    cupti_record *record = NULL;
    const uint8_t *end = data + valid, *next = data;
    a->now_ns = hd_session_now();
    a->counts.buffers++;
    a->counts.bytes += valid;
    for (;;) {
        cupti_status status = a->cupti->ActivityGetNextRecord(data, valid, &record);
        if (status == CUPTI_LIMIT_REACHED) break;
        const uint8_t *at = (const uint8_t *)record;
        /* Forwards and within the buffer, or there would be no end. */
        if (status != CUPTI_OK || !at || at < next || at >= end || ((uintptr_t)at & 7) != 0) {
            a->counts.records++;
            a->counts.bad++;
            break;
        }
        read_record(a, end, record);
        next = at + 8;
    }
    cuda_activity_count_dropped(a);
}
