/* points.c - flow points, their ids, and which of them are joined */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

/* ---- ids ---- */

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

hd_point_id hd_point_id_of(const hd_trace *trace, uint32_t id_type, int64_t id)
{
    hd_point_id out = {.value = id, .type = id_type & ~(uint32_t)HD_ID_VALUE_MASK};
    switch (id_type & HD_ID_VALUE_MASK) {
    case HD_ID_INT: out.type |= 1; break;
    case HD_ID_STRING:
    case HD_ID_NUMBER: out.type |= parse_digits(&out.value, hd_trace_string(trace, (uint32_t)id)) ? 1 : 2; break;
    default: break;
    }
    return out;
}

/* ---- points ---- */

static hd_flow_point point_of(const hd_trace *trace, const hd_event *event)
{
    hd_point_id id = hd_point_id_of(trace, event->id_type, event->id);
    struct {
        int64_t value;
        uint32_t type, category, name, process;
    } key = {id.value, id.type, event->category, event->name, 0};
    if (id.type & HD_ID_LOCAL && event->track < hd_trace_track_count(trace))
        key.process = hd_trace_track_at(trace, event->track)->pid.text;
    return (hd_flow_point){
        .key = hd_hash(&key, sizeof key),
        .start_ns = event->start_ns,
        .start_below = (int64_t)event->start_finer * 1000 + event->start_ps,
        .row = (uint32_t)event->row,
        .track = event->track,
        .from = HD_NONE,
        .phase = event->phase,
        .encloses = event->phase != 'f' || (event->flags & HD_FLAG_BIND_ENCLOSING),
    };
}

static hd_flow_point slice_point_of(const hd_trace *trace, const hd_slice_point *slice, uint32_t row)
{
    struct {
        int64_t value;
        uint32_t type, zero;
    } key = {slice->id.value, slice->id.type, 0};
    hd_event event = hd_event_at(trace, HD_KIND_SLICE, slice->row);
    return (hd_flow_point){
        .key = hd_hash(&key, sizeof key),
        .start_ns = event.start_ns,
        .start_below = (int64_t)event.start_finer * 1000 + event.start_ps,
        .row = row,
        .track = event.track,
        .from = HD_NONE,
        .phase = slice->phase,
        .encloses = true,
    };
}

static hd_status new_points(hd_flow_point **out, size_t *out_count, const hd_trace *trace, uint64_t rows, hd_error *err)
{
    *out_count = 0;
    *out = NULL;
    if (rows >= UINT32_MAX) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 flow points");
    *out = hd_large_new((size_t)rows + 1, sizeof **out, hd_trace_large_bytes(trace));
    return *out ? HD_OK : HD_NOMEM(err);
}

/* The rows of a category, HD_NONE: all, that have a time. Returns their number; out NULL: counts only. */
static size_t list_points(hd_flow_point *out, const hd_trace *trace, uint32_t category)
{
    size_t count = 0;
    hd_block_room room = {0};
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_FLOW); b++) {
        const hd_block *block = hd_walk_block(&room, trace, HD_KIND_FLOW, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            bool is_wanted =
                category == HD_NONE || (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], i) == category;
            if (!is_wanted || hd_column_at(&block->columns[HD_COL_START], i) == HD_NO_TIME) continue;
            hd_event event;
            if (out) hd_block_event(&event, block, i);
            if (out) out[count] = point_of(trace, &event);
            count++;
        }
    }
    hd_walk_end(&room, trace);
    return count;
}

hd_status hd_flow_points(hd_flow_point **out, size_t *out_count, const hd_trace *trace, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_FLOW);
    hd_slice_point *slices;
    size_t slice_count;
    *out = NULL;
    *out_count = 0;
    HD_TRY(hd_slice_points(&slices, &slice_count, trace, err));
    hd_status status = new_points(out, out_count, trace, rows + slice_count, err);
    if (status != HD_OK) {
        hd_large_free(slices);
        return status;
    }
    *out_count = list_points(*out, trace, HD_NONE);
    for (size_t k = 0; k < slice_count; k++)
        (*out)[(*out_count)++] = slice_point_of(trace, &slices[k], (uint32_t)(rows + k));
    hd_large_free(slices);
    return HD_OK;
}

hd_status hd_flow_points_of(hd_flow_point **out, size_t *out_count, const hd_trace *trace, uint32_t category,
                            hd_error *err)
{
    HD_TRY(new_points(out, out_count, trace, category == HD_NONE ? 0 : list_points(NULL, trace, category), err));
    if (category != HD_NONE) *out_count = list_points(*out, trace, category);
    return HD_OK;
}

/* ---- order ---- */

enum { BUCKETS_MOST = 1 << 12, BUCKET_POINTS = 16 };

/* Moves every point to its bucket, by swaps: `next` has the beginning of each bucket, and finally its end. */
static void move_to_buckets(hd_flow_point *points, hd_flow_number *number, const void *user, uint64_t least,
                            unsigned shift, size_t *next, size_t *ends, size_t buckets)
{
    for (size_t b = 0; b < buckets; b++) {
        while (next[b] < ends[b]) {
            hd_flow_point moving = points[next[b]];
            for (size_t to; (to = (size_t)((number(user, &moving) - least) >> shift)) != b;) {
                hd_flow_point other = points[next[to]];
                points[next[to]++] = moving;
                moving = other;
            }
            points[next[b]++] = moving;
        }
    }
}

static void sort_few(hd_flow_point *points, size_t count, int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < count; i++) {
        hd_flow_point moving = points[i];
        size_t at = i;
        for (; at > 0 && compare(&moving, &points[at - 1]) < 0; at--) points[at] = points[at - 1];
        points[at] = moving;
    }
}

void hd_flow_points_sort(hd_flow_point *points, size_t count, hd_flow_number *number, const void *user,
                         int (*compare)(const void *, const void *))
{
    uint64_t least = UINT64_MAX, most = 0;
    size_t buckets = 2;
    unsigned shift = 0;
    if (count <= 2 * BUCKET_POINTS) {
        sort_few(points, count, compare);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t n = number(user, &points[i]);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    while (buckets < BUCKETS_MOST && buckets * BUCKET_POINTS < count) buckets *= 2;
    while ((most - least) >> shift >= buckets) shift++;
    size_t *next = least == most ? NULL : calloc(2 * buckets, sizeof *next);
    if (!next) {
        hd_sort(points, count, sizeof *points, compare);
        return;
    }
    size_t *ends = next + buckets;
    for (size_t i = 0; i < count; i++) ends[(number(user, &points[i]) - least) >> shift]++;
    for (size_t b = 1; b < buckets; b++) {
        next[b] = ends[b - 1];
        ends[b] += ends[b - 1];
    }
    move_to_buckets(points, number, user, least, shift, next, ends, buckets);
    for (size_t b = 0, first = 0; b < buckets; first = ends[b++]) /* no bucket has both the least and the greatest */
        hd_flow_points_sort(points + first, ends[b] - first, number, user, compare);
    free(next);
}

/* ---- joining ---- */

static int phase_rank(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static int by_flow(const void *a, const void *b)
{
    const hd_flow_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    int64_t p = hd_below_ns(x->start_below), q = hd_below_ns(y->start_below);
    if (p != q) return p < q ? -1 : 1;
    int rank = phase_rank(x->phase) - phase_rank(y->phase);
    return rank ? rank : (x->row > y->row) - (x->row < y->row);
}

/* The first start among points[from … end) that nothing follows before the next start; `end`: there is none. */
static size_t next_lonely_start(const hd_flow_point *points, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (points[i].phase == 's' && (i + 1 == end || points[i + 1].phase == 's')) return i;
    }
    return end;
}

/* The points of one key. */
static void join_flow(hd_flow_point *points, size_t begin, size_t end)
{
    size_t first = begin;
    while (first < end && points[first].phase != 's') first++;
    size_t last = first, lonely = next_lonely_start(points, first, end);
    size_t next = lonely < end ? next_lonely_start(points, lonely + 1, end) : end;
    for (size_t i = begin; i < first && lonely < end; i++) {
        points[i].from = (uint32_t)lonely;
        if (next == end) continue; /* further ends belong to the last start that waits */
        lonely = next;
        next = next_lonely_start(points, next + 1, end);
    }
    for (size_t i = first; i < end; i++) {
        if (points[i].phase != 's') points[i].from = (uint32_t)last;
        if (points[i].phase != 'f') last = i;
    }
}

static uint64_t key_of(const void *user, const hd_flow_point *point)
{
    (void)user;
    return point->key;
}

void hd_flow_points_join(hd_flow_point *points, size_t count)
{
    hd_flow_points_sort(points, count, key_of, NULL, by_flow);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        join_flow(points, i, next);
    }
}
