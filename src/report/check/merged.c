/* merged.c - tracks that Perfetto draws elsewhere, because it stores pids and tids in unsigned 32 bits
 *
 * A process with a larger pid becomes process 0. A track whose tid is absent, negative or larger becomes the thread
 * whose tid is the pid, where its slices are among those of the main thread and may no longer nest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/identity/process.h"
#include "report/check/check.h"
#include "trace/spill.h"

typedef struct merged_lane {
    uint32_t process, lane;
    bool odd; /* false: the main thread itself */
} merged_lane;

static bool fits_32_bits(hd_string text)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 10) return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    return value <= UINT32_MAX;
}

/* Whether a lane is moved to the main thread, or is it. */
static bool takes_part(merged_lane *out, const hd_trace *trace, uint32_t id)
{
    const hd_track *track = hd_trace_track_at(trace, id);
    if (track->parent == HD_NONE || track->pid.type != HD_IDENT_NUMBER) return false;
    hd_string pid = hd_trace_string(trace, track->pid.text), tid = hd_trace_string(trace, track->tid.text);
    if (!fits_32_bits(pid)) return false;
    bool odd = track->tid.type == HD_IDENT_NONE || (track->tid.type == HD_IDENT_NUMBER && !fits_32_bits(tid));
    *out = (merged_lane){.process = hd_trace_track_at(trace, track->parent)->same_as, .lane = id, .odd = odd};
    return odd || (tid.size == pid.size && memcmp(tid.data, pid.data, pid.size) == 0);
}

static int by_process(const void *a, const void *b)
{
    const merged_lane *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->odd != y->odd) return x->odd ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* Slices that nest on their own tracks, but not on the merged one. */
static hd_status check_process(check *c, const merged_lane *lanes, size_t lane_count, hd_error *err)
{
    uint64_t total = 0, count, own = 0;
    uint32_t first;
    for (size_t i = 0; i < lane_count; i++) {
        span_index_lane(&c->spans, lanes[i].lane, &count);
        total += count;
    }
    uint64_t large = hd_trace_large_bytes(c->trace);
    slice_span *spans = hd_large_new((size_t)total + 1, sizeof *spans, large);
    int64_t *stack = hd_large_new((size_t)total + 1, sizeof *stack, large);
    bool fine = spans && stack;
    total = 0;
    for (size_t i = 0; i < lane_count && fine; i++) {
        const slice_span *from = span_index_lane(&c->spans, lanes[i].lane, &count);
        own += check_count_spilled(stack, from, count, &first);
        if (count) memcpy(spans + total, from, (size_t)count * sizeof *spans);
        total += count;
    }
    fine = fine && span_sort(spans, total, hd_trace_large_bytes(c->trace));
    if (fine) {
        uint64_t spilled = check_count_spilled(stack, spans, total, &first);
        check_finding *finding = spilled > own ? check_finding_of(c, CHECK_MERGED_TRACK, lanes[0].lane) : NULL;
        if (finding) {
            finding->count = spilled - own;
            check_keep(c, finding, CHECK_EVENT(HD_KIND_SLICE, first));
        }
    }
    hd_large_free(stack);
    hd_large_free(spans);
    return fine ? HD_OK : HD_NOMEM(err);
}

static bool exceeds_32_bits(const hd_trace *trace, const hd_ident *ident)
{
    hd_string text = hd_trace_string(trace, ident->text);
    if (ident->type != HD_IDENT_NUMBER || fits_32_bits(text)) return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    return text.size > 0;
}

/* Of each process, how many events have such numbers. */
static void check_wide_ids(check *c)
{
    const check_example none = {.kind = -1, .other_kind = -1, .value_ns = HD_NO_TIME};
    for (uint32_t id = 0; id < hd_trace_track_count(c->trace); id++) {
        const hd_track *track = hd_trace_track_at(c->trace, id);
        uint64_t events = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) events += kind == HD_KIND_META ? 0 : track->rows[kind];
        bool is_pid = exceeds_32_bits(c->trace, &track->pid), is_tid = exceeds_32_bits(c->trace, &track->tid);
        if (!events || !(is_pid || is_tid)) continue;
        check_finding *finding =
            check_finding_of(c, is_pid ? CHECK_WIDE_PID : CHECK_WIDE_TID, hd_process_of(c->trace, id));
        if (!finding) continue;
        if (!finding->count) check_keep(c, finding, none);
        finding->count += events;
    }
}

hd_status check_merged_tracks(check *c, hd_error *err)
{
    check_wide_ids(c);
    if (!check_wants(c, CHECK_MERGED_TRACK)) return HD_OK;
    merged_lane *lanes = malloc((size_t)c->spans.lane_count * sizeof *lanes + 1);
    hd_status status = lanes ? HD_OK : HD_NOMEM(err);
    size_t count = 0;
    for (uint32_t id = 0; id < c->spans.lane_count && lanes; id++) {
        if (c->spans.first[id] != c->spans.first[id + 1]) count += takes_part(&lanes[count], c->trace, id);
    }
    if (count) hd_sort(lanes, count, sizeof *lanes, by_process);
    for (size_t i = 0, next; i < count && status == HD_OK; i = next) {
        for (next = i + 1; next < count && lanes[next].process == lanes[i].process;) next++;
        if (lanes[i].odd && next > i + 1) status = check_process(c, lanes + i, next - i, err);
    }
    free(lanes);
    return status;
}
