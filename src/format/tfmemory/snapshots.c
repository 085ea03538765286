/* snapshots.c - the snapshots of an allocator: each a slice of length 0 and a sample of the counters
 *
 * Newer profilers write two lists: the snapshots that the table of the peak refers to, and those of the timeline. A
 * snapshot in both is one event.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/tfmemory/tfmemory.h"

typedef struct tfmemory_snapshot {
    hd_walk_span span;
    size_t place, offset; /* in its list, in the file */
    bool sampled, repeated;
} snapshot;

hd_status tfmemory_collect(tfmemory_reader *r, const char **at, bool sampled)
{
    bool is_null, first = true;
    hd_status status;
    hd_walk_span skipped;
    if (**at != '[' && **at != 'n') {
        HD_TRY(hd_walk_lose(&r->walk, *at, "no list where one must be"));
        return hd_walk_skip(&skipped, &r->walk, at);
    }
    HD_TRY(hd_walk_enter(&r->walk, at, '[', &is_null));
    if (is_null) return HD_OK;
    while ((status = hd_walk_item(&r->walk, at, &first)) == HD_OK) {
        size_t n = r->snapshot_count;
        if (!hd_grow((void **)&r->snapshots, &r->snapshot_capacity, n, sizeof *r->snapshots)) return HD_NOMEM(r->err);
        r->snapshots[n] = (snapshot){.place = n, .offset = (size_t)(*at - r->walk.text), .sampled = sampled};
        if (**at != '{') HD_TRY(hd_walk_lose(&r->walk, *at, "a snapshot that is not an object"));
        HD_TRY(hd_walk_skip(&r->snapshots[n].span, &r->walk, at));
        r->snapshot_count += *r->snapshots[n].span.data == '{';
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- those that are in both lists ---- */

static int compare_text(const snapshot *a, const snapshot *b)
{
    if (a->span.size != b->span.size) return a->span.size < b->span.size ? -1 : 1;
    return memcmp(a->span.data, b->span.data, a->span.size);
}

/* By their text; of the same, those of the first list first. */
static int by_text(const void *a, const void *b)
{
    const snapshot *x = a, *y = b;
    int order = compare_text(x, y);
    if (order) return order;
    if (x->sampled != y->sampled) return x->sampled ? 1 : -1;
    return x->place < y->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const snapshot *x = a, *y = b;
    if (x->sampled != y->sampled) return x->sampled ? 1 : -1; /* the table counts places in the first list */
    return x->place < y->place ? -1 : x->place > y->place;
}

static void find_repeated(tfmemory_reader *r)
{
    uint64_t repeated = 0;
    bool sampled = false;
    for (size_t i = 0; i < r->snapshot_count; i++) sampled |= r->snapshots[i].sampled;
    if (!sampled) return;
    hd_sort(r->snapshots, r->snapshot_count, sizeof *r->snapshots, by_text);
    /* each one of the timeline removes one of the table */
    for (size_t i = 0, end; i < r->snapshot_count; i = end) {
        size_t listed = 0;
        for (end = i; end < r->snapshot_count && !compare_text(&r->snapshots[i], &r->snapshots[end]); end++) {
            if (!r->snapshots[end].sampled)
                listed++;
            else if (listed) {
                listed--;
                r->snapshots[end].repeated = true;
                repeated++;
            }
        }
    }
    hd_sort(r->snapshots, r->snapshot_count, sizeof *r->snapshots, by_place);
    if (repeated)
        hd_builder_ledger(r->builder, TFMEMORY_STAGE, "tfmemory.snapshot-repeated", HD_LEDGER_NOTE, repeated,
                          HD_OFFSET_NONE);
}

/* ---- one snapshot ---- */

static hd_row row_at(const tfmemory_reader *r, hd_kind kind, char phase, uint32_t name, int64_t time_ps)
{
    hd_row row = hd_row_of(kind, phase);
    int64_t below = time_ps % 1000;
    if (below < 0) below += 1000;
    row.track = r->track;
    row.name = name;
    row.category = r->category;
    row.start_ns = time_ps / 1000 - (time_ps % 1000 < 0);
    row.start_ps = (uint32_t)below;
    return row;
}

/* ALLOCATION becomes "allocation"; an activity that is newer than the writer of the JSON is a number. */
static uint32_t activity_name(tfmemory_reader *r, hd_json_span value)
{
    char text[64];
    size_t size = 0;
    if (*value.data != '"') return hd_builder_intern_text(r->builder, "activity");
    uint32_t id = hd_args_text(&r->args, value);
    hd_string s = hd_builder_string(r->builder, id);
    if (s.size > sizeof text) return id;
    for (; size < s.size; size++)
        text[size] = s.data[size] >= 'A' && s.data[size] <= 'Z' ? (char)(s.data[size] | 0x20) : s.data[size];
    return hd_builder_intern(r->builder, text, size);
}

/* Every member becomes an argument; *name (may be NULL) is the value of memoryActivity. */
static hd_status add_members(tfmemory_reader *r, const char **at, uint32_t *name)
{
    bool is_null, first = true;
    uint32_t key;
    hd_status status;
    HD_TRY(hd_walk_enter(&r->walk, at, '{', &is_null));
    if (is_null) return HD_OK;
    while ((status = tfmemory_next_member(r, at, &first, &key)) == HD_OK) {
        hd_json_span value;
        HD_TRY(tfmemory_add_arg(r, &value, at, key));
        if (name && tfmemory_is(r, key, "memoryActivity")) *name = activity_name(r, value);
    }
    return status == HD_END ? HD_OK : status;
}

typedef struct parts {
    int64_t time_ps;
    const char *stats;      /* NULL: none */
    bool has_activity;      /* or members that are not known */
    uint32_t activity_name; /* string id */
} parts;

/* The arguments of the slice are there then. */
static hd_status read_parts(tfmemory_reader *r, parts *out, const char *at)
{
    bool first = true;
    uint32_t key;
    hd_status status;
    hd_walk_span skipped;
    hd_json_span value;
    *out = (parts){.activity_name = hd_builder_intern_text(r->builder, "snapshot")};
    at++;
    while ((status = tfmemory_next_member(r, &at, &first, &key)) == HD_OK) {
        if (tfmemory_is(r, key, "timeOffsetPs")) {
            HD_TRY(tfmemory_int(r, &out->time_ps, &at));
        } else if (tfmemory_is(r, key, "aggregationStats") && !out->stats) {
            if (*at != 'n') out->stats = at;
            HD_TRY(hd_walk_skip(&skipped, &r->walk, &at));
        } else if (tfmemory_is(r, key, "activityMetadata")) {
            out->has_activity |= *at != 'n';
            HD_TRY(add_members(r, &at, &out->activity_name));
        } else {
            out->has_activity = true;
            HD_TRY(tfmemory_add_arg(r, &value, &at, key));
        }
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status add_snapshot(tfmemory_reader *r, const snapshot *s)
{
    parts p;
    HD_TRY(read_parts(r, &p, s->span.data));
    if (p.has_activity || !p.stats) {
        hd_row row = row_at(r, HD_KIND_SLICE, 'X', p.activity_name, p.time_ps);
        row.duration_ns = 0;
        row.end_ps = row.start_ps;
        HD_TRY(hd_args_add_row(&r->args, &row, r->err));
    }
    if (!p.stats) return HD_OK;
    hd_row row = row_at(r, HD_KIND_COUNTER, 'C', r->allocator, p.time_ps);
    HD_TRY(add_members(r, &p.stats, NULL));
    return hd_args_add_row(&r->args, &row, r->err);
}

hd_status tfmemory_add_snapshots(tfmemory_reader *r)
{
    find_repeated(r);
    for (size_t i = 0; i < r->snapshot_count; i++) {
        if (r->snapshots[i].repeated) continue;
        r->walk.mended_offset = r->snapshots[i].offset;
        HD_TRY(hd_walk_pass(&r->walk, add_snapshot(r, &r->snapshots[i])));
        r->args.count = 0;
    }
    r->snapshot_count = 0;
    return HD_OK;
}
