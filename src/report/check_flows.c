/* check_flows.c - flows that lack an end, run backward, or bind to no slice
 *
 * Flows     by (category, id, name), in the order of time: s starts one, t and f need one that is started; ends of one
 *           start may be several, as with CUDA graphs. Ends before the start of a flow that has no others run backward.
 * Binding   s and t, and f with bp:"e", to a slice around them, its end included; other f to the next slice. It must
 *           stand on the same track, with pid and tid of the same type: viewers part 7 and "7".
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "report/check.h"

typedef struct flow_point {
    uint64_t key; /* hash of category, id and name */
    int64_t time; /* in units of the span index */
    uint32_t row, track;
    char phase;
    bool enclosing;
} flow_point;

/* ---- ids ------------------------------------------------------------------------------------------------- */

/* Digits, with 0x hexadecimal ones, that fit 64 bits. */
static bool parse_digits(int64_t *out, hd_string text)
{
    bool negative = text.size > 1 && text.data[0] == '-';
    size_t i = negative;
    uint64_t base = 10, value = 0;
    if (text.size > i + 2 && text.data[i] == '0' && (text.data[i + 1] | 0x20) == 'x') {
        base = 16;
        i += 2;
    }
    if (i == text.size) return false;
    for (; i < text.size; i++) {
        char c = text.data[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : 99;
        if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f') digit = (unsigned)((c | 0x20) - 'a') + 10;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = (int64_t)(negative ? 0 - value : value);
    return true;
}

check_id check_id_of(const hd_trace *trace, uint32_t id_type, int64_t id)
{
    uint32_t flags = id_type & ~(uint32_t)HD_ID_VALUE_MASK;
    check_id out = {.type = flags, .value = id};
    switch (id_type & HD_ID_VALUE_MASK) {
    case HD_ID_INT: out.type |= 1; break;
    case HD_ID_STRING:
    case HD_ID_NUMBER: out.type |= parse_digits(&out.value, hd_trace_string(trace, (uint32_t)id)) ? 1 : 2; break;
    default: break;
    }
    return out;
}

/* ---- collecting ------------------------------------------------------------------------------------------ */

static flow_point point_of(const check *c, const hd_event *event)
{
    const hd_track *track = hd_trace_track_at(c->trace, event->track);
    check_id id = check_id_of(c->trace, event->id_type, event->id);
    struct {
        int64_t value;
        uint32_t type, category, name, process;
    } key = {id.value, id.type, event->category, event->name, 0};
    if (id.type & HD_ID_LOCAL) key.process = track->pid.text;
    return (flow_point){
        .key = hd_hash((const char *)&key, sizeof key),
        .time = span_index_time(&c->spans, event->start_ns, event->start_ps),
        .row = (uint32_t)event->row,
        .track = event->track,
        .phase = event->phase,
        .enclosing = event->phase != 'f' || (event->flags & HD_FLAG_BIND_ENCLOSING),
    };
}

static flow_point *collect(const check *c, size_t *out_count, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(c->trace, HD_KIND_FLOW);
    flow_point *points = rows < UINT32_MAX ? malloc((size_t)rows * sizeof *points + 1) : NULL;
    *out_count = 0;
    if (!points) {
        HD_NOMEM(err);
        return NULL;
    }
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_FLOW); b++) {
        const hd_block *block = hd_trace_block_at(c->trace, HD_KIND_FLOW, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (event.track != HD_NONE && event.start_ns != HD_NO_TIME) points[(*out_count)++] = point_of(c, &event);
        }
    }
    return points;
}

static void found(check *c, check_code code, const flow_point *point)
{
    check_found(c, code, point->track, CHECK_EVENT(HD_KIND_FLOW, point->row));
}

/* ---- flows ----------------------------------------------------------------------------------------------- */

static int phase_rank(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static int by_flow(const void *a, const void *b)
{
    const flow_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    int rank = phase_rank(x->phase) - phase_rank(y->phase);
    return rank ? rank : (x->row > y->row) - (x->row < y->row);
}

/* The first start among points[from, count) that nothing follows before the next start; count if there is none. */
static size_t next_lonely_start(const flow_point *points, size_t from, size_t count)
{
    for (size_t i = from; i < count; i++) {
        if (points[i].phase == 's' && (i + 1 == count || points[i + 1].phase == 's')) return i;
    }
    return count;
}

/* One flow in the order of time: ends before the first start are paired with starts that have no end. */
static void check_flow(check *c, const flow_point *points, size_t count)
{
    size_t first = 0, lonely, next;
    while (first < count && points[first].phase != 's') first++;
    lonely = next_lonely_start(points, first, count);
    next = lonely == count ? count : next_lonely_start(points, lonely + 1, count);
    for (size_t i = 0; i < first; i++) {
        if (lonely == count) {
            found(c, CHECK_FLOW_WITHOUT_START, &points[i]);
            continue;
        }
        int64_t lead = span_index_ns(&c->spans, points[lonely].time - points[i].time);
        check_found(c, CHECK_FLOW_BACKWARD, points[i].track,
                    CHECK_PAIR(HD_KIND_FLOW, points[i].row, HD_KIND_FLOW, points[lonely].row, lead));
        if (next == count && i + 1 < first) continue; /* further ends belong to the last start that waits */
        lonely = next;
        if (next < count) next = next_lonely_start(points, next + 1, count);
    }
    for (; lonely < count; lonely = next_lonely_start(points, lonely + 1, count))
        found(c, CHECK_FLOW_WITHOUT_END, &points[lonely]);
}

/* ---- binding --------------------------------------------------------------------------------------------- */

static int by_track(const void *a, const void *b)
{
    const flow_point *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static uint32_t track_of_slice(const check *c, uint32_t slice)
{
    uint32_t row;
    const hd_block *block = hd_trace_block_of(c->trace, HD_KIND_SLICE, slice, &row);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
}

/* Walks the slices of a track in the order of time; of its lane only those that are its own. */
typedef struct track_walk {
    const check *c;
    const slice_span *spans;
    uint64_t count, next;
    uint32_t track;
    bool shared; /* the lane has slices of other tracks */
    int64_t latest_start, latest_end;
} track_walk;

static track_walk walk_track(const check *c, uint32_t id)
{
    const hd_track *track = hd_trace_track_at(c->trace, id);
    track_walk walk = {.c = c, .track = id, .latest_start = INT64_MIN, .latest_end = INT64_MIN};
    walk.spans = span_index_lane(&c->spans, track->same_as, &walk.count);
    walk.shared = walk.count > 0 && track->rows[HD_KIND_SLICE] < walk.count;
    if (track->rows[HD_KIND_SLICE] == 0) walk.count = 0;
    return walk;
}

static bool is_own(const track_walk *walk, uint64_t index)
{
    return !walk->shared || track_of_slice(walk->c, walk->spans[index].row) == walk->track;
}

static bool is_bound(track_walk *walk, const flow_point *point)
{
    for (; walk->next < walk->count && walk->spans[walk->next].start <= point->time; walk->next++) {
        if (!is_own(walk, walk->next)) continue;
        walk->latest_start = walk->spans[walk->next].start;
        if (walk->spans[walk->next].end > walk->latest_end) walk->latest_end = walk->spans[walk->next].end;
    }
    if (point->enclosing) return walk->latest_end >= point->time;
    if (walk->latest_start == point->time) return true;
    while (walk->next < walk->count && !is_own(walk, walk->next)) walk->next++;
    return walk->next < walk->count;
}

static void check_binding(check *c, const flow_point *points, size_t count)
{
    track_walk walk = {0};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || points[i].track != points[i - 1].track) walk = walk_track(c, points[i].track);
        if (!is_bound(&walk, &points[i])) found(c, CHECK_FLOW_UNBOUND, &points[i]);
    }
}

hd_status check_flows(check *c, hd_error *err)
{
    size_t count;
    flow_point *points = collect(c, &count, err);
    if (!points) return HD_ERR_MEMORY;
    qsort(points, count, sizeof *points, by_flow);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        check_flow(c, points + i, next - i);
    }
    if (check_wants(c, CHECK_FLOW_UNBOUND)) {
        qsort(points, count, sizeof *points, by_track);
        check_binding(c, points, count);
    }
    free(points);
    return HD_OK;
}
