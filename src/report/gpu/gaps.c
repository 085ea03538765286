/* gaps.c - gaps between the activities of a device, and their causes
 *
 * The causes are found one after the other, each for all gaps by sorting and one walk, in O(n log n) for every trace.
 */
#include "report/gpu/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/host/syncs.h"
#include "model/identity/process.h"
#include "trace/event.h"

const char *const gpu_cause_names[GPU_CAUSES] = {"host",   "sync",     "launch",  "dependency",
                                                 "device", "transfer", "unknown", "outside"};

static const hd_launch *launch_of(const gpu_scope *s, const gpu_gap *gap)
{
    return &s->launches->launches[s->works[gap->work].launch];
}

/* ---- where they are ---- */

/* From the end of earlier activities to `start`, all of it recorded. */
static bool add_recorded(gpu_gaps *out, size_t *capacity, const gpu_scope *s, int64_t since, int64_t start,
                         uint32_t work)
{
    if (!hd_large_grow((void **)&out->list, capacity, out->count, sizeof *out->list, s->large)) return false;
    uint8_t cause = s->works[work].launch == HD_NONE ? GPU_CAUSE_UNKNOWN : GPU_CAUSES;
    out->list[out->count++] = (gpu_gap){since, start, work, HD_NONE, cause};
    return true;
}

/* Of a gap the parts that were recorded. */
static bool add_gap(gpu_gaps *out, size_t *capacity, const gpu_scope *s, int64_t since, int64_t start, uint32_t work)
{
    if (!s->recorded) return add_recorded(out, capacity, s, since, start, work);
    const gpu_spans *recorded = &s->recorded[s->works[work].device];
    size_t low = 0, high = recorded->count;
    bool fine = true;
    HD_PARTITION_POINT(low, high, at, recorded->list[at].end <= since);
    for (; fine && low < recorded->count && recorded->list[low].start < start; low++) {
        const gpu_span *span = &recorded->list[low];
        fine = add_recorded(out, capacity, s, span->start > since ? span->start : since,
                            span->end < start ? span->end : start, work);
    }
    return fine;
}

/* Of activities that start together, order[i] … order[*next - 1], the first with a duration, else the first. */
static uint32_t first_that_runs(uint32_t *next, const gpu_scope *s, const uint32_t *order, uint32_t i, uint32_t count)
{
    uint32_t found = order[i];
    for (*next = i + 1; *next < count && s->works[order[*next]].start == s->works[order[i]].start; ++*next) {
        const gpu_work *work = &s->works[order[*next]];
        if (work->end > work->start && s->works[found].end <= s->works[found].start) found = order[*next];
    }
    return found;
}

/* The same, except that waits of collectives in it count as communication. */
static bool add_gaps(gpu_gaps *out, size_t *capacity, const gpu_scope *s, const gpu_spans *waits, const gpu_gap *whole)
{
    size_t at = 0, end = waits->count;
    int64_t since = whole->start;
    HD_PARTITION_POINT(at, end, i, waits->list[i].end <= since);
    for (; at < waits->count && waits->list[at].start < whole->end; at++) {
        int64_t start = waits->list[at].start;
        if (start > since && !add_gap(out, capacity, s, since, start, whole->work)) return false;
        since = waits->list[at].end;
    }
    return since >= whole->end || add_gap(out, capacity, s, since, whole->end, whole->work);
}

static bool find_gaps_of(gpu_gaps *out, size_t *capacity, const gpu_scope *s, const gpu_device *device,
                         const gpu_spans *waits)
{
    const uint32_t *order = s->order + device->first;
    int64_t until = device->start;
    for (uint32_t i = 0, next; i < device->count; i = next) {
        uint32_t first = first_that_runs(&next, s, order, i, device->count);
        int64_t start = s->works[first].start;
        bool runs = s->works[first].end > start;
        if (start > until && (runs || start == device->end) &&
            !add_gaps(out, capacity, s, waits, &(gpu_gap){.start = until, .end = start, .work = first}))
            return false;
        for (uint32_t k = i; runs && k < next; k++) {
            if (s->works[order[k]].end > until) until = s->works[order[k]].end;
        }
    }
    return true;
}

/* For a device with a clock of its own the reason of a gap is unknown. */
static bool find_gaps(gpu_gaps *out, const gpu_scope *s, const gpu_trust *trust)
{
    size_t capacity = 0;
    out->first = calloc((size_t)s->device_count + 1, sizeof *out->first);
    for (uint32_t d = 0; out->first && d < s->device_count; d++) {
        if (!find_gaps_of(out, &capacity, s, &s->devices[d], &out->waits.list[d])) return false;
        out->first[d + 1] = out->count;
        bool apart = gpu_clock_is_apart(trust, s, d);
        for (size_t i = out->first[d]; apart && i < out->count; i++) out->list[i].cause = GPU_CAUSE_UNKNOWN;
    }
    return out->first && out->count < HD_NONE;
}

/* ---- calls that wait ---- */

typedef struct waiting {
    int64_t rank, start, end;
    uint32_t row, sync, process;
} waiting;

typedef struct timed {
    int64_t time;
    uint32_t at;
} timed;

/* By lane, whether work of its rank is launched there. */
static bool *lanes_that_launch(const gpu_scope *s)
{
    bool *launches = calloc((size_t)hd_trace_track_count(s->trace) + 1, sizeof *launches);
    for (size_t i = 0; launches && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->launch == HD_NONE || work->row == HD_NONE) continue;
        uint32_t lane = gpu_lane_of(s->trace, s->launches->launches[work->launch].track);
        if (lane != HD_NONE && s->ranks[lane] == s->ranks[s->rows[work->row].lane]) launches[lane] = true;
    }
    return launches;
}

/* Waits on tracks that launch, by rank and process, by end, then in file order. */
static waiting *list_waiting(size_t *out_count, const gpu_scope *s, const gpu_slices *calls)
{
    const gpu_slice *syncs = calls->list;
    size_t count = calls->count;
    waiting *list = hd_large_new(count + 1, sizeof *list, s->large);
    waiting *spare = hd_large_new(count + 1, sizeof *spare, s->large);
    bool *launches = lanes_that_launch(s), fine = list && spare && launches;
    size_t kept = 0;
    for (uint32_t i = 0; fine && i < count; i++) {
        if (launches[syncs[i].lane])
            list[kept++] = (waiting){s->ranks[syncs[i].lane],         syncs[i].start, syncs[i].end, syncs[i].row, i,
                                     gpu_process_at(s, syncs[i].lane)};
    }
    if (fine)
        HD_SORT_RUNS(list, spare, kept, x, y,
                     x->rank != y->rank         ? x->rank < y->rank
                     : x->process != y->process ? x->process < y->process
                     : x->end != y->end         ? x->end < y->end
                                                : x->row < y->row);
    free(launches);
    hd_large_free(spare);
    *out_count = kept;
    if (fine) return list;
    hd_large_free(list);
    return NULL;
}

/* The last remaining one at or before `at`: removed ones point to an earlier one. 0: none. */
static uint32_t last_left(uint32_t *left, uint32_t at)
{
    while (left[at] != at) at = left[at] = left[left[at]];
    return at;
}

typedef struct sync_finder {
    gpu_gap *gaps;
    const gpu_scope *s;
    const waiting *list; /* of a process of the rank */
    size_t count;
    timed *gap_order, *call_order, *spare; /* by start */
    uint32_t *left;
} sync_finder;

/* Going back in time, removes calls that have not begun; of the others the last that ends by the launch may still
 * wait. */
static void find_syncs_of_process(sync_finder *f, size_t first_gap, size_t until_gap)
{
    size_t next = f->count, gap_count = 0;
    for (size_t i = first_gap; i < until_gap; i++) {
        if (f->gaps[i].cause == GPU_CAUSES && gpu_process_of(f->s, f->gaps[i].work) == f->list->process)
            f->gap_order[gap_count++] = (timed){f->gaps[i].start, (uint32_t)(i - first_gap)};
    }
    for (uint32_t i = 0; i < f->count; i++) f->call_order[i] = (timed){f->list[i].start, i};
    HD_SORT_RUNS(f->gap_order, f->spare, gap_count, x, y, x->time < y->time);
    HD_SORT_RUNS(f->call_order, f->spare, f->count, x, y, x->time < y->time);
    for (uint32_t i = 0; i <= f->count; i++) f->left[i] = i;
    for (size_t i = gap_count; i-- > 0;) {
        gpu_gap *gap = &f->gaps[first_gap + f->gap_order[i].at];
        for (; next && f->call_order[next - 1].time > gap->start; next--) {
            uint32_t at = f->call_order[next - 1].at + 1;
            f->left[at] = at - 1;
        }
        int64_t launch = launch_of(f->s, gap)->start_ns;
        size_t low = 0, high = f->count;
        HD_PARTITION_POINT(low, high, at, f->list[at].end <= launch);
        uint32_t found = last_left(f->left, (uint32_t)low);
        if (!found || f->list[found - 1].end <= gap->start) continue;
        gap->cause = GPU_CAUSE_SYNC;
        gap->sync = f->list[found - 1].sync;
    }
}

/* The devices from `device` on that are of its rank end here. */
static uint32_t rank_end(const gpu_scope *s, uint32_t device)
{
    uint32_t end = device + 1;
    while (end < s->device_count && s->devices[end].rank == s->devices[device].rank) end++;
    return end;
}

static bool find_syncs(gpu_gaps *g, const gpu_scope *s)
{
    size_t count, most, at = 0;
    if (!g->syncs.count || !g->count) return true;
    waiting *list = list_waiting(&count, s, &g->syncs);
    most = count > g->count ? count : g->count;
    sync_finder f = {.gaps = g->list, .s = s};
    f.gap_order = hd_large_new(g->count + 1, sizeof *f.gap_order, s->large);
    f.call_order = hd_large_new(count + 1, sizeof *f.call_order, s->large);
    f.spare = hd_large_new(most + 1, sizeof *f.spare, s->large);
    f.left = hd_large_new(count + 1, sizeof *f.left, s->large);
    bool fine = list && f.gap_order && f.call_order && f.spare && f.left;
    for (uint32_t d = 0, end; fine && d < s->device_count; d = end) {
        end = rank_end(s, d);
        while (at < count && list[at].rank < s->devices[d].rank) at++;
        for (; at < count && list[at].rank == s->devices[d].rank; at += f.count) {
            f.list = list + at;
            for (f.count = 1; at + f.count < count && f.list[f.count].rank == f.list->rank &&
                              f.list[f.count].process == f.list->process;)
                f.count++;
            find_syncs_of_process(&f, g->first[d], g->first[end]);
        }
    }
    hd_large_free(list);
    hd_large_free(f.gap_order);
    hd_large_free(f.call_order);
    hd_large_free(f.spare);
    hd_large_free(f.left);
    return fine;
}

/* ---- copies and communication of other devices ---- */

/* In a gap of a device none of its own activities runs, so running ones are another device's. `process`: its gaps and
 * activities. */
static bool find_transfers_of(gpu_gaps *g, const gpu_scope *s, uint32_t d, uint32_t end, uint32_t process)
{
    size_t from = s->devices[d].first, until = (size_t)s->devices[end - 1].first + s->devices[end - 1].count;
    size_t count = 0;
    gpu_spans moved;
    gpu_span *list = hd_large_new(until - from, sizeof *list, s->large);
    for (size_t i = from; list && i < until; i++) {
        const gpu_work *work = &s->works[s->order[i]];
        if (work->class != GPU_COMPUTE && hd_may_share(gpu_process_of(s, s->order[i]), process))
            list[count++] = (gpu_span){work->start, work->end};
    }
    if (!list || !gpu_spans_union(&moved, list, count, s->large)) return false;
    for (size_t i = g->first[d]; i < g->first[end]; i++) {
        gpu_gap *gap = &g->list[i];
        if (gap->cause == GPU_CAUSES && gpu_process_of(s, gap->work) == process &&
            gpu_spans_covered(&moved, gap->start, gap->start + 1))
            gap->cause = GPU_CAUSE_TRANSFER;
    }
    gpu_spans_deinit(&moved);
    return true;
}

static bool find_transfers(gpu_gaps *g, const gpu_scope *s)
{
    uint32_t tracks = hd_trace_track_count(s->trace);
    uint32_t *seen = calloc((size_t)tracks + 1, sizeof *seen); /* by process: of which rank's devices, less 1 */
    bool fine = seen != NULL;
    for (uint32_t d = 0, end; fine && d < s->device_count; d = end) {
        end = rank_end(s, d);
        for (size_t i = g->first[d]; fine && end > d + 1 && i < g->first[end]; i++) {
            uint32_t process = gpu_process_of(s, g->list[i].work), at = process == HD_NONE ? tracks : process;
            if (g->list[i].cause != GPU_CAUSES || seen[at] == d + 1) continue;
            seen[at] = d + 1;
            fine = find_transfers_of(g, s, d, end, process);
        }
    }
    free(seen);
    return fine;
}

/* ---- waits on a queue ---- */

typedef struct row_starts {
    int64_t *list;   /* starts of launches, row by row, sorted */
    uint32_t *first; /* by track, one more at the end */
} row_starts;

/* For tracks with waits. */
static bool list_starts(row_starts *out, const gpu_scope *s, const gpu_slices *waits)
{
    uint32_t count = 0;
    int64_t *spare = hd_large_new(s->counted + 1, sizeof *spare, s->large);
    out->list = hd_large_new(s->counted + 1, sizeof *out->list, s->large);
    out->first = calloc((size_t)s->row_count + 1, sizeof *out->first);
    bool fine = spare && out->list && out->first;
    for (uint32_t r = 0; fine && r < s->row_count; r++) {
        const gpu_row *row = &s->rows[r];
        int64_t *list = out->list + count;
        uint32_t size = 0, works = waits->first[row->lane] < waits->first[row->lane + 1] ? row->count : 0;
        for (uint32_t i = 0; i < works; i++) {
            uint32_t launch = s->works[s->by_row[row->first + i]].launch;
            if (launch != HD_NONE) list[size++] = s->launches->launches[launch].start_ns;
        }
        HD_SORT_RUNS(list, spare, size, x, y, *x < *y);
        out->first[r + 1] = count += size;
    }
    hd_large_free(spare);
    return fine;
}

/* Whether a wait was queued between the previous launch of the track and this one. */
static bool is_dependency(const gpu_scope *s, const gpu_gap *gap, const gpu_slices *waits, const row_starts *starts)
{
    int64_t launch = launch_of(s, gap)->start_ns;
    uint32_t row = s->works[gap->work].row, lane = s->rows[row].lane;
    uint32_t low = waits->first[lane], high = waits->first[lane + 1];
    HD_PARTITION_POINT(low, high, at, waits->list[at].start <= launch);
    if (low == waits->first[lane]) return false;
    int64_t wait = waits->list[low - 1].start;
    low = starts->first[row];
    high = starts->first[row + 1];
    HD_PARTITION_POINT(low, high, at, starts->list[at] < launch);
    return low == starts->first[row] || starts->list[low - 1] <= wait;
}

static hd_status list_waits(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    static const char word[] = "Stream Wait Event";
    bool any = false;
    uint32_t strings = (uint32_t)hd_trace_string_count(s->trace);
    uint8_t *names = calloc((size_t)strings + 1, 1);
    if (!names) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) {
        hd_string name = hd_trace_string(s->trace, i);
        names[i] = name.size >= sizeof word - 1 && memcmp(name.data, word, sizeof word - 1) == 0;
        any |= names[i];
    }
    hd_status status = any ? gpu_slices_named(out, s, 1u << HD_ROLE_SYNC, names, err) : HD_OK;
    free(names);
    return status;
}

static hd_status find_the_rest(gpu_gaps *g, const gpu_scope *s, hd_error *err)
{
    gpu_slices waits = {0};
    row_starts starts = {0};
    hd_status status = list_waits(&waits, s, err);
    if (status == HD_OK && waits.count && !list_starts(&starts, s, &waits)) status = HD_NOMEM(err);
    for (size_t i = 0; i < g->count && status == HD_OK; i++) {
        gpu_gap *gap = &g->list[i];
        if (gap->cause != GPU_CAUSES) continue;
        const hd_launch *launch = launch_of(s, gap);
        if (launch->start_ns > gap->start)
            gap->cause = GPU_CAUSE_HOST;
        else if (hd_end_or_last(launch->start_ns, launch->duration_ns) > gap->start)
            gap->cause = GPU_CAUSE_LAUNCH;
        else
            gap->cause =
                waits.count && is_dependency(s, gap, &waits, &starts) ? GPU_CAUSE_DEPENDENCY : GPU_CAUSE_DEVICE;
    }
    gpu_slices_deinit(&waits);
    hd_large_free(starts.list);
    free(starts.first);
    return status;
}

/* ---- the whole ---- */

hd_status gpu_gaps_init(gpu_gaps *out, const gpu_scope *s, hd_error *err)
{
    const gpu_trust *trust;
    *out = s->gaps ? *s->gaps : (gpu_gaps){0};
    out->is_lent = s->gaps != NULL;
    if (out->is_lent) return HD_OK;
    HD_TRY(gpu_syncs_init(&out->syncs, s, err));
    HD_TRY(gpu_waits_init(&out->waits, s, err));
    HD_TRY(gpu_trust_of_scope(&trust, s, err));
    if (!find_gaps(out, s, trust) || !find_syncs(out, s) || !find_transfers(out, s)) return HD_NOMEM(err);
    return find_the_rest(out, s, err);
}

void gpu_gaps_deinit(gpu_gaps *gaps)
{
    if (!gaps->is_lent) {
        hd_large_free(gaps->list);
        free(gaps->first);
        gpu_waits_deinit(&gaps->waits);
        gpu_slices_deinit(&gaps->syncs);
    }
    *gaps = (gpu_gaps){0};
}

/* ---- what the host did ---- */

gpu_cover gpu_gap_cover(const gpu_scope *s, const gpu_gaps *gaps, const gpu_gap *gap)
{
    const gpu_slice *syncs = gaps->syncs.list;
    if (gap->cause == GPU_CAUSE_SYNC) return (gpu_cover){gap->start, syncs[gap->sync].end, syncs[gap->sync].lane};
    if (gap->cause == GPU_CAUSE_UNKNOWN || gap->cause == GPU_CAUSE_TRANSFER) return (gpu_cover){0, 0, HD_NONE};
    const hd_launch *launch = launch_of(s, gap);
    uint32_t lane = gpu_lane_of(s->trace, launch->track);
    if (gap->cause == GPU_CAUSE_HOST) return (gpu_cover){gap->start, launch->start_ns, lane};
    return (gpu_cover){launch->start_ns, launch->start_ns + 1, lane};
}

/* Until the launch, whether a call waited before that or not. */
/* The gaps of a scope, for coverings. */
typedef struct scoped_gaps {
    const gpu_scope *scope;
    const gpu_gaps *gaps;
} scoped_gaps;

static gpu_cover cover_until_launch(const void *scoped, size_t i)
{
    const gpu_scope *s = ((const scoped_gaps *)scoped)->scope;
    const gpu_gap *gap = &((const scoped_gaps *)scoped)->gaps->list[i];
    bool is_host = gap->cause == GPU_CAUSE_HOST || gap->cause == GPU_CAUSE_SYNC || gap->cause == GPU_CAUSE_LAUNCH;
    if (!is_host) return (gpu_cover){0, 0, HD_NONE};
    const hd_launch *launch = launch_of(s, gap);
    int64_t end = gap->cause == GPU_CAUSE_LAUNCH ? gap->end : launch->start_ns;
    return (gpu_cover){gap->start, end, gpu_lane_of(s->trace, launch->track)};
}

static gpu_cover cover_of_gap(const void *scoped, size_t i)
{
    const scoped_gaps *of = scoped;
    return gpu_gap_cover(of->scope, of->gaps, &of->gaps->list[i]);
}

/* Profilers may write their overhead on a track of their own, next to those of the program: all such slices by
 * start. */
static hd_status list_overheads(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    size_t kept = 0;
    HD_TRY(gpu_slices_init(out, s, 1u << HD_ROLE_OVERHEAD, err));
    bool *launches = lanes_that_launch(s);
    gpu_slice *spare = hd_large_new(out->count + 1, sizeof *spare, s->large);
    for (size_t i = 0; launches && i < out->count; i++)
        if (!launches[out->list[i].lane]) out->list[kept++] = out->list[i];
    if (spare) HD_SORT_RUNS(out->list, spare, kept, x, y, x->start < y->start);
    out->count = kept;
    bool fine = launches && spare;
    free(launches);
    hd_large_free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* The last that began by the middle of a stretch, if it covers more than half. */
static uint32_t overhead_of(const gpu_scope *s, const gpu_slices *overheads, gpu_cover of)
{
    if (of.lane == HD_NONE) return HD_STRING_NONE;
    int64_t middle = of.start + (of.end - of.start) / 2;
    size_t low = 0, high = overheads->count;
    HD_PARTITION_POINT(low, high, at, overheads->list[at].start <= middle);
    if (!low) return HD_STRING_NONE;
    const gpu_slice *found = &overheads->list[low - 1];
    int64_t start = found->start > of.start ? found->start : of.start;
    int64_t end = found->end < of.end ? found->end : of.end;
    bool is_same = s->ranks[found->lane] == s->ranks[of.lane] || s->ranks[found->lane] == HD_NO_NUMBER;
    return is_same && (gpu_i128)2 * (end - start) > of.end - of.start ? found->name : HD_STRING_NONE;
}

hd_status gpu_gap_hosts(uint32_t **out, uint32_t **out_ops, const gpu_scope *s, const gpu_gaps *gaps, hd_error *err)
{
    const unsigned roles = 1u << HD_ROLE_OP | 1u << HD_ROLE_ANNOTATION | 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER |
                           1u << HD_ROLE_OVERHEAD;
    gpu_slices overheads = {0};
    size_t count = gaps->count;
    const scoped_gaps of = {s, gaps};
    *out = hd_large_new(count + 1, sizeof **out, s->large);
    if (out_ops) *out_ops = hd_large_new(count + 1, sizeof **out_ops, s->large);
    const gpu_covering lists[] = {{*out, cover_until_launch, &of, roles},
                                  {out_ops ? *out_ops : NULL, cover_of_gap, &of, 1u << HD_ROLE_OP}};
    bool fine = *out && (!out_ops || *out_ops);
    hd_status status = fine ? gpu_covering_names(lists, out_ops ? 2 : 1, count, s, err) : HD_NOMEM(err);
    if (status == HD_OK) status = list_overheads(&overheads, s, err);
    for (size_t i = 0; status == HD_OK && overheads.count && i < count; i++) {
        uint32_t found = overhead_of(s, &overheads, cover_until_launch(&of, i));
        if (found != HD_STRING_NONE) (*out)[i] = found;
    }
    gpu_slices_deinit(&overheads);
    return status;
}
