/* contexts.c - CPU stacks from slices: gathers lanes in batches, sweeps them with several threads, and passes them on
 *
 * Each lane has a tree of its own, whose names are the trace's string ids; they go into the caller's tree lane by lane,
 * so that its nodes do not depend on which thread was first.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "heddle/names.h"
#include "model/contexts/impl.h"
#include "trace/lazy.h"
#include "trace/spill.h"
#include "trace/stacks/trace_stacks.h"

enum { CHUNK_ROWS = 2048, BATCH_SLICES = 1 << 23, HANDED_OUT = 512 };

/* Kinds of slices seen on a lane. */
enum { SEEN_GPU = 1, SEEN_CPU = 2, SEEN_WANTED = 4 };

typedef struct walk walk;

/* One thread. */
typedef struct walk_worker {
    walk *w;
    size_t block_from, block_until;
    uint64_t *next; /* by track: slices of the lane in these blocks; then the index of the next of them */
    uint8_t *seen;  /* by track: of the lane in these blocks */
    context_sweep sweep;
    hd_error error;
    hd_status status;
    int64_t start[CHUNK_ROWS], duration[CHUNK_ROWS], track[CHUNK_ROWS], name[CHUNK_ROWS], category[CHUNK_ROWS];
    int64_t start_ps[CHUNK_ROWS], end_ps[CHUNK_ROWS];
} walk_worker;

typedef struct walk_lane {
    uint32_t track;
    uint64_t count, first; /* slices; the place of the first in spans */
    hd_stacks *stacks;
} walk_lane;

struct walk {
    const hd_trace *trace;
    const hd_context_options *options;
    hd_index units;
    hd_roles roles;
    hd_event_stacks *recorded; /* NULL: no event has a stack */
    uint32_t recording;        /* string id of the category "Trace", Kineto's span of the whole */
    uint32_t *lane_of;         /* by track: same_as */
    uint8_t *taken;            /* by track: whether the lane is looked at */
    uint32_t track_count;
    walk_worker *workers;
    unsigned worker_count;
    walk_lane *lanes;
    size_t lane_count;
    size_t lane_from, lane_until;     /* of the batch */
    uint32_t track_from, track_until; /* likewise */
    lane_span *spans;
    int64_t *self;
    atomic_size_t next_lane;
};

static uint32_t chunk_rows(const hd_block *block, uint32_t first)
{
    uint32_t left = block->row_count - first;
    return left < CHUNK_ROWS ? left : CHUNK_ROWS;
}

/* Index of the first requested row that is not before `row`. */
static size_t wanted_from(const hd_context_options *options, uint64_t row)
{
    size_t low = 0, high = options->rows ? options->row_count : 0;
    HD_PARTITION_POINT(low, high, at, options->rows[at] < row);
    return low;
}

/* ---- which lanes, and how many slices ---- */

static uint8_t seen_of(hd_role role)
{
    switch (role) {
    case HD_ROLE_OP:
    case HD_ROLE_PYTHON:
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER: return SEEN_CPU;
    case HD_ROLE_KERNEL:
    case HD_ROLE_COPY:
    case HD_ROLE_SET:
    case HD_ROLE_SYNC:
    case HD_ROLE_GPU_ANNOTATION: return SEEN_GPU;
    default: return 0;
    }
}

static void count_chunk(walk_worker *me, const hd_block *block, uint32_t first, uint32_t n, size_t *next_wanted)
{
    const walk *w = me->w;
    const hd_context_options *options = w->options;
    hd_column_decode(me->start, &block->columns[HD_COL_START], first, n);
    hd_column_decode(me->track, &block->columns[HD_COL_TRACK], first, n);
    hd_column_decode(me->name, &block->columns[HD_COL_NAME], first, n);
    hd_column_decode(me->category, &block->columns[HD_COL_CATEGORY], first, n);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t track = (uint32_t)me->track[r], category = (uint32_t)me->category[r], name = (uint32_t)me->name[r];
        if (me->start[r] == HD_NO_TIME || track >= w->track_count) continue;
        uint32_t lane = w->lane_of[track];
        hd_role role = hd_roles_at(me->sweep.roles, category, name, track);
        me->seen[lane] |= seen_of(role);
        if (!context_is_cpu(role, category, w->recording)) continue;
        me->next[lane]++;
        if (!options->rows) continue;
        uint64_t row = block->first_row + first + r;
        while (*next_wanted < options->row_count && options->rows[*next_wanted] < row) ++*next_wanted;
        if (*next_wanted < options->row_count && options->rows[*next_wanted] == row) me->seen[lane] |= SEEN_WANTED;
    }
}

typedef void chunk_step(walk_worker *me, const hd_block *block, uint32_t first, uint32_t count, size_t *next_wanted);

/* The blocks of a worker, piece by piece. */
static void each_chunk(walk_worker *me, chunk_step *step)
{
    const hd_trace *trace = me->w->trace;
    size_t wanted = 0;
    hd_block_room room = {0};
    for (size_t i = me->block_from; i < me->block_until; i++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, i);
        if (i == me->block_from) wanted = wanted_from(me->w->options, block->first_row);
        for (uint32_t first = 0, n; first < block->row_count; first += n) {
            n = chunk_rows(block, first);
            step(me, block, first, n, &wanted);
        }
    }
    hd_walk_end(&room, trace);
}

static void count_rows(void *state)
{
    each_chunk(state, count_chunk);
}

/* GPU tracks are left out: queues, and tracks with GPU activities, unless they also have ops or calls. */
static bool list_lanes(walk *w)
{
    w->lanes = calloc((size_t)w->track_count + 1, sizeof *w->lanes);
    w->taken = calloc((size_t)w->track_count + 1, 1);
    if (!w->lanes || !w->taken) return false;
    for (uint32_t track = 0; track < w->track_count; track++) {
        uint64_t count = 0;
        uint8_t seen = w->options->rows ? 0 : SEEN_WANTED;
        for (unsigned t = 0; t < w->worker_count; t++) {
            count += w->workers[t].next[track];
            seen |= w->workers[t].seen[track];
        }
        bool gpu = (!hd_row_is_host(hd_roles_row(&w->roles, track)) || seen & SEEN_GPU) && !(seen & SEEN_CPU);
        if (count == 0 || gpu || !(seen & SEEN_WANTED)) continue;
        w->taken[track] = 1;
        w->lanes[w->lane_count++] = (walk_lane){.track = track, .count = count};
    }
    return true;
}

/* ---- gathering ---- */

static void gather_chunk(walk_worker *me, const hd_block *block, uint32_t first, uint32_t n, size_t *next_wanted)
{
    const walk *w = me->w;
    const hd_context_options *options = w->options;
    hd_column_decode(me->start, &block->columns[HD_COL_START], first, n);
    hd_column_decode(me->duration, &block->columns[HD_COL_DURATION], first, n);
    hd_column_decode(me->track, &block->columns[HD_COL_TRACK], first, n);
    hd_column_decode(me->name, &block->columns[HD_COL_NAME], first, n);
    hd_column_decode(me->category, &block->columns[HD_COL_CATEGORY], first, n);
    if (w->units.units_per_ns > 1) {
        hd_column_decode(me->start_ps, &block->columns[HD_COL_START_PS], first, n);
        hd_column_decode(me->end_ps, &block->columns[HD_COL_END_PS], first, n);
    }
    for (uint32_t r = 0; r < n; r++) {
        uint32_t track = (uint32_t)me->track[r];
        if (me->start[r] == HD_NO_TIME || track >= w->track_count) continue;
        uint32_t lane = w->lane_of[track], category = (uint32_t)me->category[r];
        if (!w->taken[lane] || lane < w->track_from || lane > w->track_until ||
            !context_is_cpu(hd_roles_at(me->sweep.roles, category, (uint32_t)me->name[r], track), category,
                            w->recording))
            continue;
        lane_span *span = &w->spans[me->next[lane]++];
        uint64_t row = block->first_row + first + r;
        *span = lane_span_of(&w->units, me->start[r], me->duration[r], me->start_ps[r], me->end_ps[r]);
        span->ordinal = (uint32_t)row;
        span->name = CONTEXT_WANTED;
        if (!options->rows) continue;
        while (*next_wanted < options->row_count && options->rows[*next_wanted] < row) ++*next_wanted;
        if (*next_wanted == options->row_count || options->rows[*next_wanted] != row) span->name = CONTEXT_SKIPPED;
    }
}

static void gather(void *state)
{
    each_chunk(state, gather_chunk);
}

/* Lanes from lane_from on, as many as fit; their spans' places. */
static bool begin_batch(walk *w)
{
    uint64_t total = 0;
    for (w->lane_until = w->lane_from; w->lane_until < w->lane_count; w->lane_until++) {
        uint64_t count = w->lanes[w->lane_until].count;
        if (total && total + count > BATCH_SLICES) break;
        total += count;
    }
    hd_large_free(w->spans);
    hd_large_free(w->self);
    w->spans = hd_large_new((size_t)total, sizeof *w->spans, hd_trace_large_bytes(w->trace));
    w->self = hd_large_new((size_t)total, sizeof *w->self, hd_trace_large_bytes(w->trace));
    if (!w->spans || !w->self) return false;
    uint64_t place = 0;
    for (size_t i = w->lane_from; i < w->lane_until; i++) {
        w->lanes[i].first = place;
        for (unsigned t = 0; t < w->worker_count; t++) {
            uint64_t *next = &w->workers[t].next[w->lanes[i].track], count = *next;
            *next = place;
            place += count;
        }
    }
    w->track_from = w->lanes[w->lane_from].track;
    w->track_until = w->lanes[w->lane_until - 1].track;
    return true;
}

static void sweep_lanes(void *state)
{
    walk_worker *me = state;
    walk *w = me->w;
    size_t at;
    while (me->status == HD_OK && (at = atomic_fetch_add(&w->next_lane, 1)) < w->lane_until) {
        walk_lane *lane = &w->lanes[at];
        me->status = hd_stacks_new(&lane->stacks, &me->error);
        if (me->status != HD_OK) return;
        hd_stacks_set_large(lane->stacks, hd_trace_large_bytes(w->trace));
        me->status = context_sweep_lane(&me->sweep, lane->stacks, w->spans + lane->first, w->self + lane->first,
                                        (uint32_t)lane->count, &me->error);
    }
}

/* ---- handing out ---- */

/* Copies the lane's tree into the caller's; map[node] is the node there. names: by string id, HD_NONE: not mapped
 * yet. */
static hd_status add_tree(uint32_t **out_map, hd_stacks *to, const hd_stacks *from, const walk *w, uint32_t *names,
                          hd_error *err)
{
    const hd_trace *trace = w->trace;
    uint32_t strings = hd_trace_string_count(trace);
    uint32_t count = hd_stacks_count(from);
    uint32_t *map = hd_large_new(count, sizeof *map, hd_trace_large_bytes(trace));
    *out_map = map;
    if (!map) return HD_NOMEM(err);
    map[0] = HD_STACK_NONE;
    for (uint32_t node = 1; node < count; node++) {
        hd_frame frame = hd_stacks_at(from, node);
        if (names[frame.name] == HD_NONE) {
            hd_string text = frame.name < strings
                                 ? hd_name_plain(hd_trace_string(trace, frame.name))
                                 : hd_stacks_text(hd_event_stacks_tree(w->recorded), frame.name - strings);
            names[frame.name] = hd_stacks_name(to, text.data, text.size);
        }
        map[node] = hd_stacks_push(to, map[frame.caller], names[frame.name], frame.kind);
        if (map[node] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

static int64_t clock_ns(const hd_index *units, int64_t time)
{
    int64_t ns, from_base = lane_floor(units, time);
    if (!__builtin_add_overflow(units->base_ns, from_base, &ns)) return ns == HD_NO_TIME ? ns + 1 : ns;
    return from_base < 0 ? INT64_MIN + 1 : INT64_MAX;
}

static hd_status hand_out(const walk *w, const walk_lane *lane, const uint32_t *map, hd_context_sink *sink, void *user,
                          hd_error *err)
{
    hd_context contexts[HANDED_OUT];
    size_t count = 0;
    for (uint64_t i = lane->first; i < lane->first + lane->count; i++) {
        const lane_span *span = &w->spans[i];
        if (span->name == CONTEXT_SKIPPED) continue; /* a node is never 0 */
        hd_context *context = &contexts[count++];
        *context = (hd_context){.row = span->ordinal,
                                .track = lane->track,
                                .node = map[span->name],
                                .start_ns = clock_ns(&w->units, span->start),
                                .self_ns = w->self[i]};
        int64_t end = clock_ns(&w->units, span->end);
        if (__builtin_sub_overflow(end, context->start_ns, &context->duration_ns)) context->duration_ns = INT64_MAX;
        if (count < HANDED_OUT) continue;
        HD_TRY(sink(user, contexts, count, err));
        count = 0;
    }
    return count ? sink(user, contexts, count, err) : HD_OK;
}

static hd_status finish_batch(walk *w, hd_stacks *stacks, uint32_t *names, hd_context_sink *sink, void *user,
                              hd_error *err)
{
    for (unsigned t = 0; t < w->worker_count; t++) {
        if (w->workers[t].status == HD_OK) continue;
        if (err) *err = w->workers[t].error;
        return w->workers[t].status;
    }
    for (size_t i = w->lane_from; i < w->lane_until; i++) {
        uint32_t *map;
        hd_status status = add_tree(&map, stacks, w->lanes[i].stacks, w, names, err);
        hd_stacks_free(w->lanes[i].stacks);
        w->lanes[i].stacks = NULL;
        if (status == HD_OK) status = hand_out(w, &w->lanes[i], map, sink, user, err);
        hd_large_free(map);
        HD_TRY(status);
    }
    return HD_OK;
}

/* ---- the whole ---- */

static int64_t since_base(const walk *w, int64_t ns)
{
    int64_t since;
    return __builtin_sub_overflow(ns, w->units.base_ns, &since) ? (ns < 0 ? INT64_MIN : INT64_MAX) : since;
}

static bool make_worker(walk *w, walk_worker *me)
{
    const hd_context_options *options = w->options;
    me->w = w;
    me->next = calloc((size_t)w->track_count + 1, sizeof *me->next);
    me->seen = calloc((size_t)w->track_count + 1, 1);
    me->sweep.trace = w->trace;
    me->sweep.units = &w->units;
    me->sweep.from = options->has_window ? since_base(w, options->from_ns) : INT64_MIN;
    me->sweep.until = options->has_window ? since_base(w, options->until_ns) : INT64_MAX;
    me->sweep.roles = &w->roles;
    me->sweep.strings = hd_trace_string_count(w->trace);
    me->sweep.recorded = w->recorded;
    return me->next && me->seen;
}

static bool make_workers(walk *w, unsigned threads)
{
    size_t blocks = hd_trace_block_count(w->trace, HD_KIND_SLICE);
    w->worker_count = hd_thread_count(threads, blocks);
    w->workers = calloc(w->worker_count, sizeof *w->workers);
    w->lane_of = malloc(((size_t)w->track_count + 1) * sizeof *w->lane_of);
    w->recording = hd_trace_find_string(w->trace, "Trace", strlen("Trace"));
    if (!hd_roles_init(&w->roles, w->trace) || !w->workers || !w->lane_of) return false;
    for (uint32_t i = 0; i < w->track_count; i++) {
        uint32_t lane = hd_trace_track_at(w->trace, i)->same_as;
        w->lane_of[i] = lane < w->track_count ? lane : i;
    }
    for (unsigned t = 0; t < w->worker_count; t++) {
        w->workers[t].block_from = blocks * t / w->worker_count;
        w->workers[t].block_until = blocks * (t + 1) / w->worker_count;
        if (!make_worker(w, &w->workers[t])) return false;
    }
    return true;
}

static void free_walk(walk *w)
{
    for (unsigned t = 0; w->workers && t < w->worker_count; t++) {
        free(w->workers[t].next);
        free(w->workers[t].seen);
        context_sweep_deinit(&w->workers[t].sweep);
    }
    for (size_t i = 0; i < w->lane_count; i++) hd_stacks_free(w->lanes[i].stacks);
    hd_roles_deinit(&w->roles);
    hd_event_stacks_free(w->recorded);
    free(w->workers);
    free(w->lane_of);
    free(w->taken);
    free(w->lanes);
    hd_large_free(w->spans);
    hd_large_free(w->self);
}

static hd_status walk_lanes(walk *w, hd_stacks *stacks, hd_context_sink *sink, void *user, hd_error *err)
{
    size_t strings = (size_t)hd_trace_string_count(w->trace) + 1;
    if (w->recorded) strings += hd_stacks_name_count(hd_event_stacks_tree(w->recorded));
    uint32_t *names = malloc(strings * sizeof *names);
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    if (names) memset(names, 0xff, strings * sizeof *names);
    for (w->lane_from = 0; status == HD_OK && w->lane_from < w->lane_count; w->lane_from = w->lane_until) {
        if (!begin_batch(w)) {
            status = HD_NOMEM(err);
            break;
        }
        hd_threads_run(gather, w->workers, sizeof *w->workers, w->worker_count);
        atomic_store(&w->next_lane, w->lane_from);
        hd_threads_run(sweep_lanes, w->workers, sizeof *w->workers, w->worker_count);
        status = finish_batch(w, stacks, names, sink, user, err);
    }
    free(names);
    return status;
}

/* The stacks that slices have themselves. */
static hd_status read_recorded(walk *w, hd_error *err)
{
    HD_TRY(hd_event_stacks_new(&w->recorded, w->trace, err));
    if (hd_event_stacks_have_texts(w->recorded)) return HD_OK;
    hd_event_stacks_free(w->recorded);
    w->recorded = NULL;
    return HD_OK;
}

hd_status hd_contexts_walk(hd_stacks *stacks, const hd_trace *trace, const hd_context_options *options,
                           hd_context_sink *sink, void *user, hd_error *err)
{
    static const hd_context_options all = {0};
    if (hd_trace_row_count(trace, HD_KIND_SLICE) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices");
    walk w = {.trace = trace, .options = options ? options : &all, .track_count = hd_trace_track_count(trace)};
    lane_choose_units(&w.units, trace);
    hd_status status = read_recorded(&w, err);
    if (status == HD_OK && !make_workers(&w, w.options->threads)) status = HD_NOMEM(err);
    if (status == HD_OK) {
        hd_threads_run(count_rows, w.workers, sizeof *w.workers, w.worker_count);
        if (!list_lanes(&w)) status = HD_NOMEM(err);
    }
    if (status == HD_OK) status = walk_lanes(&w, stacks, sink, user, err);
    free_walk(&w);
    return status;
}
