/* forward.c - which forward op a backward op belongs to, and which thread ran that */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "heddle/analysis/launches.h"
#include "model/flows/bind.h"
#include "model/flows/forward.h"
#include "trace/lazy.h"
#include "trace/spill.h"

typedef struct pair_list {
    forward_pair *list;
    size_t count, capacity;
    uint64_t large;
} pair_list;

static bool add_pair(pair_list *pairs, uint64_t backward, uint64_t forward)
{
    if (!hd_large_grow((void **)&pairs->list, &pairs->capacity, pairs->count, sizeof *pairs->list, pairs->large))
        return false;
    pairs->list[pairs->count++] = (forward_pair){backward, forward};
    return true;
}

/* ---- flows ---- */

/* The points of flows "fwdbwd", joined. */
static hd_status gather_points(hd_flow_point **out, size_t *count, const hd_trace *trace, hd_error *err)
{
    uint32_t category = hd_trace_find_string(trace, "fwdbwd", strlen("fwdbwd"));
    HD_TRY(hd_flow_points_of(out, count, trace, category, err));
    hd_flow_points_join(*out, *count);
    return HD_OK;
}

static const hd_flow_point *start_of(const hd_flow_point *points, const hd_flow_point *end)
{
    while (end->from != HD_NONE) end = &points[end->from];
    return end->phase == 's' ? end : NULL;
}

static hd_status pair_by_flows(pair_list *pairs, const hd_trace *trace, hd_error *err)
{
    hd_flow_point *points;
    uint32_t *bound = NULL;
    size_t count;
    HD_TRY(gather_points(&points, &count, trace, err));
    hd_status status = count ? hd_flows_bind(&bound, trace, err) : HD_OK;
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        const hd_flow_point *start = points[i].phase == 'f' ? start_of(points, &points[i]) : NULL;
        uint32_t backward = bound[points[i].row], forward = start ? bound[start->row] : UINT32_MAX;
        bool is_pair = backward != UINT32_MAX && forward != UINT32_MAX && backward != forward;
        if (is_pair && !add_pair(pairs, backward, forward)) status = HD_NOMEM(err);
    }
    hd_large_free(points);
    hd_large_free(bound);
    return status;
}

/* ---- sequence numbers ---- */

typedef struct sequence_op {
    uint64_t row;
    int64_t number, start_ns, thread; /* thread: Fwd thread id, 0: it is a forward op */
    uint32_t process, lane;
} sequence_op;

typedef struct sequence_list {
    const hd_trace *trace;
    sequence_op *list;
    size_t count, capacity;
    uint64_t large;
    uint32_t number_key, thread_key;
    uint8_t *shapes; /* by shape: it has a Sequence number */
} sequence_list;

static bool find_shapes(sequence_list *ops)
{
    uint32_t count = hd_trace_shape_count(ops->trace);
    ops->number_key = hd_trace_find_string(ops->trace, "Sequence number", strlen("Sequence number"));
    ops->thread_key = hd_trace_find_string(ops->trace, "Fwd thread id", strlen("Fwd thread id"));
    ops->shapes = calloc((size_t)count + 1, 1);
    for (uint32_t i = 0; ops->shapes && ops->number_key != HD_NONE && i < count; i++) {
        const hd_shape *shape = hd_trace_shape_at(ops->trace, i);
        ops->shapes[i] = hd_shape_find(shape, ops->number_key, HD_SCOPE_ARGS) >= 0;
    }
    return ops->shapes != NULL;
}

static bool block_has_any(const sequence_list *ops, const hd_block *block)
{
    for (uint32_t g = 0; g < block->group_count; g++) {
        if (ops->shapes[block->groups[g].shape]) return true;
    }
    return false;
}

static bool gather_ops(sequence_list *ops)
{
    const hd_trace *trace = ops->trace;
    hd_block_room room = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_walk_block(&room, trace, HD_KIND_SLICE, i);
        if (!block_has_any(ops, block)) continue;
        for (uint32_t row = 0; fine && row < block->row_count; row++) {
            if (!ops->shapes[hd_column_at(&block->columns[HD_COL_SHAPE], row)]) continue;
            hd_event event;
            sequence_op op = {.row = block->first_row + row};
            hd_block_event(&event, block, row);
            if (event.track == HD_NONE || event.start_ns == HD_NO_TIME) continue;
            if (hd_role_of(hd_trace_string(trace, event.category), hd_trace_string(trace, event.name)) != HD_ROLE_OP ||
                !hd_event_arg_int(&op.number, trace, &event, ops->number_key) || op.number < 0)
                continue;
            if (!hd_event_arg_int(&op.thread, trace, &event, ops->thread_key)) op.thread = 0;
            const hd_track *track = hd_trace_track_at(trace, event.track);
            op.process = track->parent == HD_NONE ? event.track : hd_trace_track_at(trace, track->parent)->same_as;
            op.lane = track->same_as;
            op.start_ns = event.start_ns;
            fine = hd_large_grow((void **)&ops->list, &ops->capacity, ops->count, sizeof *ops->list, ops->large);
            if (fine) ops->list[ops->count++] = op;
        }
    }
    hd_walk_end(&room, trace);
    return fine;
}

static int by_number_and_start(const void *a, const void *b)
{
    const sequence_op *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The last forward op of one number on a lane. */
typedef struct latest_op {
    const sequence_op *op;
    int64_t tid; /* -1: no number */
} latest_op;

enum { THREADS_OF_A_NUMBER = 64 };

static int64_t tid_of(const hd_trace *trace, uint32_t lane)
{
    hd_string tid = hd_trace_string(trace, hd_trace_track_at(trace, lane)->tid.text);
    int64_t number = 0;
    if (tid.size == 0 || tid.size > 18) return -1;
    for (size_t i = 0; i < tid.size; i++) {
        if (tid.data[i] < '0' || tid.data[i] > '9') return -1;
        number = number * 10 + (tid.data[i] - '0');
    }
    return number;
}

static const sequence_op *forward_of(const latest_op *lanes, size_t count, int64_t thread)
{
    if (count == 1) return lanes[0].op;
    for (size_t i = 0; i < count; i++) {
        if (lanes[i].tid == thread) return lanes[i].op;
    }
    return NULL;
}

/* One process and number, in order of starts: forward ops and the backward ops after them. Of nested forward ops the
 * innermost created the autograd node: it started last. */
static bool pair_number(pair_list *pairs, const sequence_list *ops, size_t first, size_t end)
{
    latest_op lanes[THREADS_OF_A_NUMBER];
    size_t count = 0, at;
    for (size_t i = first; i < end; i++) {
        const sequence_op *op = &ops->list[i];
        if (op->thread != 0) {
            const sequence_op *forward = forward_of(lanes, count, op->thread);
            if (forward && !add_pair(pairs, op->row, forward->row)) return false;
            continue;
        }
        for (at = 0; at < count && lanes[at].op->lane != op->lane;) at++;
        if (at == THREADS_OF_A_NUMBER) continue;
        if (at == count) lanes[count++].tid = tid_of(ops->trace, op->lane);
        lanes[at].op = op;
    }
    return true;
}

static hd_status pair_by_numbers(pair_list *pairs, const hd_trace *trace, hd_error *err)
{
    sequence_list ops = {.trace = trace, .large = pairs->large};
    bool fine = find_shapes(&ops) && gather_ops(&ops) &&
                hd_large_sort(ops.list, ops.count, sizeof *ops.list, by_number_and_start, ops.large);
    for (size_t i = 0, end; fine && i < ops.count; i = end) {
        for (end = i + 1; end < ops.count && ops.list[end].process == ops.list[i].process &&
                          ops.list[end].number == ops.list[i].number;)
            end++;
        fine = pair_number(pairs, &ops, i, end);
    }
    free(ops.shapes);
    hd_large_free(ops.list);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- both ---- */

static int by_backward(const void *a, const void *b)
{
    const forward_pair *x = a, *y = b;
    if (x->backward != y->backward) return x->backward < y->backward ? -1 : 1;
    return (x->forward > y->forward) - (x->forward < y->forward);
}

/* Sorted, of several with one backward op the one with the last forward op. */
static bool sort_pairs(pair_list *pairs)
{
    forward_pair *list = pairs->list;
    size_t kept = 0;
    if (!hd_large_sort(list, pairs->count, sizeof *list, by_backward, pairs->large)) return false;
    for (size_t i = 0; i < pairs->count; i++) {
        if (i + 1 == pairs->count || list[i + 1].backward != list[i].backward) list[kept++] = list[i];
    }
    pairs->count = kept;
    return true;
}

/* Adds pairs by number whose backward op has no flow, after those with flows. */
static bool add_others(pair_list *flows, const pair_list *numbers)
{
    size_t known = flows->count, at = 0;
    for (size_t i = 0; i < numbers->count; i++) {
        const forward_pair *pair = &numbers->list[i];
        while (at < known && flows->list[at].backward < pair->backward) at++;
        if (at < known && flows->list[at].backward == pair->backward) continue;
        if (!add_pair(flows, pair->backward, pair->forward)) return false;
    }
    return true;
}

hd_status forward_pairs(forward_pair **out, size_t *out_count, const hd_trace *trace, hd_error *err)
{
    pair_list flows = {.large = hd_trace_large_bytes(trace)}, numbers = flows;
    hd_status status = pair_by_flows(&flows, trace, err);
    if (status == HD_OK) status = pair_by_numbers(&numbers, trace, err);
    if (status == HD_OK &&
        !(sort_pairs(&flows) && sort_pairs(&numbers) && add_others(&flows, &numbers) && sort_pairs(&flows)))
        status = HD_NOMEM(err);
    hd_large_free(numbers.list);
    if (status != HD_OK) {
        hd_large_free(flows.list);
        return status;
    }
    *out = flows.list;
    *out_count = flows.count;
    return HD_OK;
}

/* ---- threads ---- */

typedef struct thread_list {
    const hd_trace *trace;
    forward_thread *list;
    size_t count, capacity;
} thread_list;

static bool add_thread(thread_list *threads, uint32_t backward, uint32_t forward, int64_t start_ns)
{
    const hd_trace *trace = threads->trace;
    uint32_t tracks = hd_trace_track_count(trace);
    if (backward >= tracks || forward >= tracks) return true;
    backward = hd_trace_track_at(trace, backward)->same_as;
    forward = hd_trace_track_at(trace, forward)->same_as;
    if (backward == forward) return true;
    if (!hd_large_grow((void **)&threads->list, &threads->capacity, threads->count, sizeof *threads->list,
                       hd_trace_large_bytes(trace)))
        return false;
    threads->list[threads->count++] = (forward_thread){backward, forward, start_ns};
    return true;
}

static hd_status add_numbered(thread_list *threads, hd_error *err)
{
    const hd_trace *trace = threads->trace;
    pair_list pairs = {.large = hd_trace_large_bytes(trace)};
    hd_status status = pair_by_numbers(&pairs, trace, err);
    for (size_t i = 0; status == HD_OK && i < pairs.count; i++) {
        uint64_t backward = pairs.list[i].backward;
        if (!add_thread(threads, (uint32_t)hd_slice_column(trace, backward, HD_COL_TRACK),
                        (uint32_t)hd_slice_column(trace, pairs.list[i].forward, HD_COL_TRACK),
                        hd_slice_column(trace, backward, HD_COL_START)))
            status = HD_NOMEM(err);
    }
    hd_large_free(pairs.list);
    return status;
}

static int by_threads(const void *a, const void *b)
{
    const forward_thread *x = a, *y = b;
    if (x->backward != y->backward) return x->backward < y->backward ? -1 : 1;
    if (x->forward != y->forward) return x->forward < y->forward ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

hd_status forward_threads(forward_thread **out, size_t *out_count, const hd_trace *trace, hd_error *err)
{
    thread_list threads = {.trace = trace};
    hd_flow_point *points;
    size_t count;
    HD_TRY(gather_points(&points, &count, trace, err));
    hd_status status = count ? HD_OK : add_numbered(&threads, err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        const hd_flow_point *start = points[i].phase == 'f' ? start_of(points, &points[i]) : NULL;
        if (start && !add_thread(&threads, points[i].track, start->track, points[i].start_ns)) status = HD_NOMEM(err);
    }
    hd_large_free(points);
    if (status == HD_OK &&
        !hd_large_sort(threads.list, threads.count, sizeof *threads.list, by_threads, hd_trace_large_bytes(trace)))
        status = HD_NOMEM(err);
    if (status != HD_OK) {
        hd_large_free(threads.list);
        return status;
    }
    *out = threads.list;
    *out_count = threads.count;
    return HD_OK;
}
