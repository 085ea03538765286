/* lane.c - one lane from its slices: start order, union, depth, self times, names
 *
 * One sweep in start order keeps open slices on a stack. Time belongs to the topmost open slice, which is the one that
 * started last, whether slices nest or cross.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/memory/large.h"
#include "trace/index/lane_index.h"
#include "trace/index/names.h"

typedef struct open_slice {
    int64_t end;
    uint32_t at;
} open_slice;

struct lane_maker {
    lane_span *scratch; /* half of the spans */
    uint64_t *self;     /* units of each span */
    size_t capacity;    /* number of spans that scratch and self have room for */
    open_slice *open;   /* stack */
    size_t open_count, open_capacity;
    int64_t *ends; /* heap, smallest first */
    size_t end_count, end_capacity;
    uint64_t large; /* as hd_index */
    lane_names names[HD_SUMMARY_LEVELS];
};

lane_maker *lane_maker_new(uint64_t large)
{
    lane_maker *maker = calloc(1, sizeof *maker);
    if (maker) maker->large = large;
    return maker;
}

void lane_maker_free(lane_maker *maker)
{
    if (!maker) return;
    hd_large_free(maker->scratch);
    hd_large_free(maker->self);
    hd_large_free(maker->open);
    hd_large_free(maker->ends);
    for (int level = 0; level < HD_SUMMARY_LEVELS; level++) lane_names_deinit(&maker->names[level]);
    free(maker);
}

static bool make_room(lane_maker *maker, uint32_t count)
{
    if (count <= maker->capacity) return true;
    hd_large_free(maker->scratch);
    hd_large_free(maker->self);
    maker->scratch = hd_large_new((size_t)count / 2 + 32, sizeof *maker->scratch, maker->large);
    maker->self = hd_large_new(count, sizeof *maker->self, maker->large);
    maker->capacity = maker->scratch && maker->self ? count : 0;
    return maker->capacity > 0;
}

/* ---- order ---- */

static bool keep_stretches(lane_detail *detail, const lane_span *spans, uint32_t count, uint64_t large)
{
    uint32_t found = 1;
    for (uint32_t i = 1; i < count; i++) found += spans[i].ordinal != spans[i - 1].ordinal + 1;
    detail->stretches = hd_large_new(found, sizeof *detail->stretches, large);
    if (!detail->stretches) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (i && spans[i].ordinal == spans[i - 1].ordinal + 1) continue;
        detail->stretches[detail->stretch_count++] = (lane_stretch){.position = i, .ordinal = spans[i].ordinal};
    }
    return true;
}

/* Replaces rows by ordinals; both have the same order. */
static bool put_in_order(lane_maker *maker, lane_detail *detail, lane_span *spans, uint32_t count)
{
    bool sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        if (i % HD_SUMMARY_SLICES == 0) detail->parts[i / HD_SUMMARY_SLICES].row = spans[i].ordinal;
        spans[i].ordinal = i;
        sorted = sorted && (i == 0 || lane_span_before(&spans[i - 1], &spans[i]));
    }
    if (sorted) return true;
    lane_sort(spans, count, maker->scratch);
    return keep_stretches(detail, spans, count, maker->large);
}

/* ---- depth ---- */

static bool push_end(lane_maker *maker, int64_t end)
{
    if (!hd_large_grow((void **)&maker->ends, &maker->end_capacity, maker->end_count, sizeof end, maker->large))
        return false;
    HD_HEAP_PUSH(maker->ends, maker->end_count, end, x, y, *x < *y);
    return true;
}

/* For lanes with crossings, whose sweep keeps ended slices on the stack too. */
static bool find_depth(lane_maker *maker, hd_lane *lane, const lane_span *spans)
{
    maker->end_count = 0;
    lane->depth = 0;
    for (uint64_t i = 0; i < lane->slice_count; i++) {
        while (maker->end_count && maker->ends[0] <= spans[i].start)
            HD_HEAP_POP(maker->ends, maker->end_count, x, y, *x < *y);
        if (!push_end(maker, spans[i].end)) return false;
        if (maker->end_count > lane->depth) lane->depth = (uint32_t)maker->end_count;
    }
    return true;
}

/* ---- self times ---- */

/* Assigns the time from `now` until `until` to slices; removes ended slices from the top of the stack. */
static void advance(lane_maker *maker, int64_t now, int64_t until)
{
    while (maker->open_count) {
        const open_slice *top = &maker->open[maker->open_count - 1];
        int64_t stop = top->end < until ? top->end : until;
        if (stop > now) {
            maker->self[top->at] += (uint64_t)stop - (uint64_t)now;
            now = stop;
        }
        if (top->end > until) return;
        maker->open_count--;
    }
}

static bool sweep(lane_maker *maker, hd_lane *lane, const lane_span *spans)
{
    uint32_t count = (uint32_t)lane->slice_count;
    bool crossing = false;
    size_t depth = 0;
    maker->open_count = 0;
    memset(maker->self, 0, count * sizeof *maker->self);
    for (uint32_t i = 0; i < count; i++) {
        if (i) advance(maker, spans[i - 1].start, spans[i].start);
        if (!hd_large_grow((void **)&maker->open, &maker->open_capacity, maker->open_count, sizeof *maker->open,
                           maker->large))
            return false;
        crossing = crossing || (maker->open_count && spans[i].end > maker->open[maker->open_count - 1].end);
        maker->open[maker->open_count++] = (open_slice){.end = spans[i].end, .at = i};
        if (maker->open_count > depth) depth = maker->open_count;
    }
    advance(maker, spans[count - 1].start, INT64_MAX);
    lane->depth = (uint32_t)depth;
    return !crossing || find_depth(maker, lane, spans);
}

/* ---- summaries ---- */

static void sum_part(lane_part *part, hd_summary *summary, const hd_index *index, const lane_span *spans,
                     uint32_t count, int64_t *reach)
{
    part->first_ns = lane_floor(index, spans[0].start);
    part->last = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        const lane_span *span = &spans[i];
        int64_t from = span->start > *reach ? span->start : *reach, length;
        if (span->end > from) {
            part->busy += (uint64_t)span->end - (uint64_t)from;
            *reach = span->end;
        }
        if (span->end > part->last) part->last = span->end;
        if (__builtin_sub_overflow(lane_floor(index, span->end), lane_floor(index, span->start), &length))
            length = INT64_MAX;
        if (length > summary->longest_ns) summary->longest_ns = length;
    }
}

/* Stores the names of a finished summary and adds them to the next level. */
static bool close_names(lane_maker *maker, const hd_lane *lane, hd_summary *summary, uint32_t level,
                        int64_t units_per_ns)
{
    lane_names *names = &maker->names[level];
    lane_names_top(summary, names, units_per_ns);
    bool fine = true;
    for (size_t i = 0; fine && level + 1 < lane->level_count && i < names->count; i++)
        fine = lane_names_add(&maker->names[level + 1], names->list[i].name, names->list[i].units);
    lane_names_clear(names);
    return fine;
}

static bool name_part(lane_maker *maker, const hd_lane *lane, lane_detail *detail, const lane_span *spans, size_t part,
                      int64_t units_per_ns)
{
    uint32_t first = (uint32_t)(part * HD_SUMMARY_SLICES), count = lane_part_slices(lane, part);
    for (uint32_t i = first; i < first + count; i++) {
        if (spans[i].name != HD_STRING_NONE && !lane_names_add(&maker->names[0], spans[i].name, maker->self[i]))
            return false;
    }
    bool last = part + 1 == lane->levels[0].count;
    size_t at = part;
    hd_summary *summaries = detail->summaries;
    for (uint32_t level = 0; level < lane->level_count; level++) {
        if (!close_names(maker, lane, &summaries[at], level, units_per_ns)) return false;
        if ((at + 1) % HD_SUMMARY_FAN && !last) break;
        summaries += lane->levels[level].count;
        at /= HD_SUMMARY_FAN;
    }
    return true;
}

bool lane_fill(lane_maker *maker, hd_lane *lane, lane_detail *detail, const hd_index *index, lane_span *spans)
{
    uint32_t count = (uint32_t)lane->slice_count;
    int64_t reach = INT64_MIN;
    for (int level = 0; level < HD_SUMMARY_LEVELS; level++) lane_names_clear(&maker->names[level]);
    if (!make_room(maker, count) || !put_in_order(maker, detail, spans, count) || !sweep(maker, lane, spans))
        return false;
    for (size_t i = 0; i < lane->levels[0].count; i++) {
        sum_part(&detail->parts[i], &detail->summaries[i], index, spans + i * HD_SUMMARY_SLICES,
                 lane_part_slices(lane, i), &reach);
        if (!name_part(maker, lane, detail, spans, i, index->units_per_ns)) return false;
    }
    return lane_derive(lane, detail, index);
}
