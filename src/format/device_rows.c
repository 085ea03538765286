/* device_rows.c - GPU activities of several devices on one (pid, tid): gives each device a track of its own
 *
 * A producer may use one lane for a stream number of all GPUs. A track has one device, so all activities of such a lane
 * would count for the first one. The device is in the arguments, and is compared only if the trace has at least two
 * devices.
 */
#include "format/device_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "format/conventions.h"
#include "trace/chunk.h"
#include "trace/event.h"
#include "trace/spill.h"

enum { LOOK_BACK = 64 }; /* slices that a flow point is compared with */

/* A slice on a row of several devices, for the flow points of the row. */
typedef struct row_slice {
    int64_t start, end, correlation;
    uint32_t row, track; /* its original track; its current track */
} row_slice;

typedef struct splitter {
    hd_builder *builder;
    const hd_trace *trace;
    hd_error *err;
    uint32_t device_key;
    uint8_t *classes; /* by category: CONVENTIONS_… */
    uint32_t *row_of; /* by track: the first with equal pid and tid, of any type */
    int64_t *devices; /* by row: the first */
    bool *mixed;      /* by row */
    bool any, flows;
    hd_map tracks; /* by row and device */
    row_slice *slices;
    size_t count, capacity;
    int64_t *values; /* of a block */
    uint64_t large, moved;
} splitter;

/* ---- which rows ---- */

/* Whether the argument has two values; constant columns say so at once. */
static bool has_two_devices(const splitter *s)
{
    bool any = false;
    hd_arg_key key = {0};
    int64_t first = 0;
    for (size_t b = 0; b < hd_trace_block_count(s->trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(s->trace, HD_KIND_SLICE, b);
        for (uint32_t g = 0; g < block->group_count; g++) {
            const hd_shape *shape = hd_trace_shape_at(s->trace, block->groups[g].shape);
            int at = hd_shape_find(shape, s->device_key, HD_SCOPE_ARGS);
            if (at < 0) continue;
            const hd_column *column = &block->groups[g].columns[at];
            if (column->width || (any && (column->base != first || key.type != shape->keys[at].type))) return true;
            any = true;
            key = shape->keys[at];
            first = column->base;
        }
    }
    return false;
}

static bool find_rows(splitter *s)
{
    hd_map rows = {0};
    uint32_t count = hd_trace_track_count(s->trace);
    bool fine = true;
    for (uint32_t t = 0; fine && t < count; t++) {
        const hd_track *track = hd_trace_track_at(s->trace, t);
        s->devices[t] = HD_NO_NUMBER;
        s->row_of[t] = t;
        if (track->kind == HD_TRACK_PROCESS) continue;
        hd_map_entry *entry = hd_map_at(&rows, track->pid.text, track->tid.text);
        fine = entry != NULL;
        if (fine && !entry->value) entry->value = t + 1;
        if (fine) s->row_of[t] = entry->value - 1;
    }
    hd_map_deinit(&rows);
    return fine;
}

/* The track of a slice on a GPU queue, and its device; HD_NONE: not on a queue, or unknown device. */
static uint32_t queue_row(int64_t *device, splitter *s, const hd_block *block, uint32_t row, bool waits)
{
    uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
    uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], row);
    hd_event event;
    if (track == HD_NONE || (s->any && !s->mixed[s->row_of[track]])) return HD_NONE;
    uint8_t *class = &s->classes[category];
    if (!*class) *class = hd_conventions_class(hd_trace_string(s->trace, category));
    if (*class != CONVENTIONS_GPU && (!waits || *class != CONVENTIONS_SYNC)) return HD_NONE;
    hd_block_event(&event, block, row);
    return hd_event_arg_int(device, s->trace, &event, s->device_key) ? s->row_of[track] : HD_NONE;
}

static void find_mixed(splitter *s)
{
    bool any = false;
    for (size_t b = 0; b < hd_trace_block_count(s->trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(s->trace, HD_KIND_SLICE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            int64_t device;
            uint32_t row = queue_row(&device, s, block, i, false);
            if (row == HD_NONE) continue;
            if (s->devices[row] == HD_NO_NUMBER) s->devices[row] = device;
            if (s->devices[row] != device) any = s->mixed[row] = true;
        }
    }
    s->any = any;
}

/* ---- the new rows ---- */

static uint32_t with_device(splitter *s, uint32_t text, int64_t device)
{
    hd_string was = hd_trace_string(s->trace, text);
    size_t size = was.size + 40;
    char *made = malloc(size);
    if (!made) return HD_STRING_NONE;
    memcpy(made, was.data, was.size);
    int more =
        snprintf(made + was.size, size - was.size, was.size ? " of device %lld" : "device %lld", (long long)device);
    uint32_t id = hd_builder_intern(s->builder, made, was.size + (size_t)more);
    free(made);
    return id;
}

/* The track for a device; HD_NONE: no memory. Its tid is its name, which no event of the trace uses. */
static uint32_t track_for(splitter *s, uint32_t row, int64_t device)
{
    hd_map_entry *entry = hd_map_at(&s->tracks, row, (uint64_t)device);
    if (!entry) return HD_NONE;
    if (entry->value) return entry->value - 1;
    const hd_track was = *hd_trace_track_at(s->trace, row);
    uint32_t tid = with_device(s, was.tid.text, device);
    if (tid == HD_STRING_NONE) return HD_NONE;
    uint32_t track = hd_builder_track(s->builder, was.pid, (hd_ident){HD_IDENT_STRING, tid}, false);
    if (track == HD_NONE) return HD_NONE;
    entry->value = track + 1;
    return track;
}

static hd_status move_slices(splitter *s, size_t index)
{
    const hd_block *block = hd_trace_block_at(s->trace, HD_KIND_SLICE, index);
    uint64_t moved = s->moved;
    hd_column_decode(s->values, &block->columns[HD_COL_TRACK], 0, block->row_count);
    for (uint32_t i = 0; i < block->row_count; i++) {
        if ((uint32_t)s->values[i] == HD_NONE) continue;
        int64_t device, start = hd_column_at(&block->columns[HD_COL_START], i);
        uint32_t on = s->row_of[s->values[i]], row = queue_row(&device, s, block, i, true);
        if (row != HD_NONE && device != s->devices[row]) {
            uint32_t track = track_for(s, row, device);
            if (track == HD_NONE) return HD_NOMEM(s->err);
            s->values[i] = track;
            s->moved++;
        }
        if (!s->flows || !s->mixed[on] || start == HD_NO_TIME) continue;
        if (!hd_large_grow((void **)&s->slices, &s->capacity, s->count, sizeof *s->slices, s->large))
            return HD_NOMEM(s->err);
        int64_t end = hd_end_or_start(start, hd_column_at(&block->columns[HD_COL_DURATION], i));
        s->slices[s->count++] = (row_slice){start, end, hd_correlation_at(block, i), on, (uint32_t)s->values[i]};
    }
    if (s->moved == moved) return HD_OK;
    return hd_builder_retrack(s->builder, HD_KIND_SLICE, index, s->values, s->err);
}

/* ---- their flow points ---- */

/* How many slices come before (row, time), or up to it, in order. */
static size_t count_before(const splitter *s, uint32_t row, int64_t time, bool with)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const row_slice *at = &s->slices[middle];
        bool before = at->row != row ? at->row < row : at->start < time || (with && at->start == time);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The track of the slice that a point is bound to (model/flows/bind.h); the point's own: there is none. */
static uint32_t track_of_point(const splitter *s, const hd_block *block, uint32_t i, uint32_t track)
{
    uint32_t row = s->row_of[track];
    int64_t phase = hd_column_at(&block->columns[HD_COL_PHASE], i),
            time = hd_column_at(&block->columns[HD_COL_START], i);
    int64_t id = hd_column_at(&block->columns[HD_COL_ID], i);
    bool is_next = (phase & HD_PHASE_MASK) == 'f' && !(phase & HD_FLAG_BIND_ENCLOSING);
    size_t next = count_before(s, row, time, false), end = count_before(s, row, time, true);
    size_t low = end > LOOK_BACK ? end - LOOK_BACK : 0, first = is_next ? next : low;
    size_t last = is_next && next == end ? next + (next < s->count) : end;
    uint32_t found = track;
    bool any = false;
    for (size_t at = last; at-- > first;) {
        const row_slice *slice = &s->slices[at];
        if (slice->row != row || (!is_next && slice->end < time)) continue;
        bool same = slice->correlation && slice->correlation == id; /* of slices at one time, that of the same launch */
        if (any && !same) continue;
        found = slice->track;
        any = true;
        if (same) break;
    }
    return found;
}

static hd_status move_flows(splitter *s, size_t index)
{
    const hd_block *block = hd_trace_block_at(s->trace, HD_KIND_FLOW, index);
    bool any = false;
    hd_column_decode(s->values, &block->columns[HD_COL_TRACK], 0, block->row_count);
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t track = (uint32_t)s->values[i];
        if (track == HD_NONE || !s->mixed[s->row_of[track]]) continue;
        s->values[i] = track_of_point(s, block, i, track);
        any |= s->values[i] != track;
    }
    return any ? hd_builder_retrack(s->builder, HD_KIND_FLOW, index, s->values, s->err) : HD_OK;
}

static hd_status split(splitter *s)
{
    for (size_t b = 0; b < hd_trace_block_count(s->trace, HD_KIND_SLICE); b++) HD_TRY(move_slices(s, b));
    row_slice *spare = s->count ? hd_large_new(s->count, sizeof *spare, s->large) : NULL;
    if (s->count && !spare) return HD_NOMEM(s->err);
    if (s->count)
        HD_SORT_RUNS(s->slices, spare, s->count, x, y, x->row != y->row ? x->row < y->row : x->start < y->start);
    hd_large_free(spare);
    for (size_t b = 0; b < hd_trace_block_count(s->trace, HD_KIND_FLOW); b++) HD_TRY(move_flows(s, b));
    hd_builder_ledger(s->builder, "tracks", HD_DEVICES_ON_ROW, HD_LEDGER_NOTE, s->moved, HD_OFFSET_NONE);
    return HD_OK;
}

hd_status hd_device_rows_split(hd_builder *builder, hd_error *err)
{
    const hd_trace *trace = hd_builder_trace(builder);
    splitter s = {.builder = builder, .trace = trace, .err = err, .large = hd_trace_large_bytes(trace)};
    s.device_key = hd_trace_find_string(trace, "device", strlen("device"));
    if (s.device_key == HD_NONE || !has_two_devices(&s)) return HD_OK;
    size_t tracks = (size_t)hd_trace_track_count(trace) + 1;
    s.flows = hd_trace_row_count(trace, HD_KIND_FLOW) != 0;
    s.classes = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    s.row_of = calloc(tracks, sizeof *s.row_of);
    s.devices = calloc(tracks, sizeof *s.devices);
    s.mixed = calloc(tracks, sizeof *s.mixed);
    s.values = malloc(HD_BLOCK_ROWS * sizeof *s.values);
    bool fine = s.classes && s.row_of && s.devices && s.mixed && s.values && find_rows(&s);
    if (fine) find_mixed(&s);
    hd_status status = !fine ? HD_NOMEM(err) : s.any ? split(&s) : HD_OK;
    free(s.classes);
    free(s.row_of);
    free(s.devices);
    free(s.mixed);
    free(s.values);
    hd_large_free(s.slices);
    hd_map_deinit(&s.tracks);
    return status;
}
