/* lane_index.h - the structs of the lane index, and its serialisation; heddle/index.h is the public part
 *
 * In: a trace, or bytes of a store. Out: an hd_index. Begin with build.c (builds it) and query.c (answers queries);
 * save.c and load.c write and read bytes.
 */
#ifndef HD_TRACE_INDEX_LANE_INDEX_H
#define HD_TRACE_INDEX_LANE_INDEX_H

#include "base/bytes.h"
#include "heddle/builder.h"
#include "heddle/index.h"

/* ---- for formats ---- */

enum { HD_INDEX_VERSION = 1 };

/* Append the index as bytes (docs/formats/heddle-index.md), which compress well. string_map: the id of each string in
 * the file (NONE: no event uses it, so the file does not have it); NULL: the same ids. Errors: MEMORY; DAMAGED: the
 * index came from an inconsistent store and refers to a string that no event has. */
hd_status hd_index_save(hd_bytes *out, const hd_index *index, const uint32_t *string_map, hd_error *err);
/* The index in data[0 … size), all of it. `trace` must have its strings, its tracks, and its blocks or their sizes;
 * blocks are not read. The bytes are not kept. NULL: its times count from another base than lane_base_ns, as those of
 * an early version whose sums did not fit. Errors: MEMORY, DAMAGED. */
hd_status hd_index_load(hd_index **out, const hd_trace *trace, const uint8_t *data, size_t size, hd_error *err);
/* The builder takes the index over; hd_trace_index of its trace returns it. */
void hd_builder_set_index(hd_builder *builder, hd_index *index);

/* The category sums of a trace, in the order of hd_index_category_at; free() them. Errors: MEMORY. */
hd_status hd_sum_categories(hd_category_sum **out, size_t *out_count, const hd_trace *trace, unsigned threads,
                            hd_error *err);

/* ---- inside ---- */

/* Times in units: picoseconds since base_ns if the trace has them, else nanoseconds. */

/* Further members of a summary of level 0. */
typedef struct lane_part {
    int64_t first_ns; /* start of its first slice since base_ns */
    int64_t last;     /* largest end of its slices, units */
    uint64_t busy;    /* units covered by its slices and not by earlier ones */
    uint32_t row;     /* of the lane's slices in row order, number 256 * part */
    /* derived */
    uint64_t busy_before; /* sum of busy before it */
    int64_t reach;        /* largest end of all earlier slices, INT64_MIN: there are none */
} lane_part;

/* A run of slices that are adjacent both in start order and in row order. Ordinals number the lane's slices in row
 * order. A stretch ends at the position of the next one. */
typedef struct lane_stretch {
    uint32_t position, ordinal;
} lane_stretch;

typedef struct lane_detail {
    hd_summary *summaries; /* of all levels; ordered like `parts` within those of the index */
    lane_part *parts;
    lane_stretch *stretches; /* by position; NULL: row order is start order */
    uint32_t stretch_count;
} lane_detail;

struct hd_index {
    hd_lane *lanes;
    lane_detail *details; /* [lane] */
    size_t lane_count;
    hd_summary *summaries; /* of all lanes */
    lane_part *parts;
    hd_category_sum *categories;
    size_t category_count;
    int64_t *work_ns;              /* by lane, of a store: see model/roles/busy.h; NULL: not known */
    int64_t base_ns, units_per_ns; /* 1 or 1000 */
    uint64_t slice_rows;           /* of the trace's table */
    uint64_t large;                /* hd_trace_large_bytes: the limit for all lists except the categories' */
};

static inline size_t lane_part_count(uint64_t slices)
{
    return (size_t)((slices + HD_SUMMARY_SLICES - 1) / HD_SUMMARY_SLICES);
}
static inline uint32_t lane_part_slices(const hd_lane *lane, size_t part)
{
    uint64_t left = lane->slice_count - (uint64_t)part * HD_SUMMARY_SLICES;
    return left < HD_SUMMARY_SLICES ? (uint32_t)left : HD_SUMMARY_SLICES;
}

/* Number of summaries of all levels for this many slices. */
size_t lane_summary_count(uint64_t slices);
/* Allocates index->lanes and details for this many lanes, zeroed; then, once slices are counted, the lists of each
 * lane. false: no memory. */
bool lane_list(hd_index *index, size_t count);
bool lane_make(hd_index *index);
/* Derives the rest of the lane, except names, from parts and longest_ns of level 0. false: the numbers of the parts are
 * impossible. */
bool lane_derive(hd_lane *lane, lane_detail *detail, const hd_index *index);

/* base_ns and units_per_ns: picoseconds where there are any and where the whole span fits. */
int64_t lane_base_ns(int64_t *out_length, const hd_trace *trace);
void lane_choose_units(hd_index *index, const hd_trace *trace);
/* A time in units, `below` as in its column; times too far out saturate. */
int64_t lane_units(const hd_index *index, int64_t ns, int64_t below);
/* Units as whole nanoseconds since base_ns, rounded down. */
static inline int64_t lane_floor(const hd_index *index, int64_t units)
{
    if (index->units_per_ns == 1) return units;
    return units / 1000 - (units % 1000 < 0);
}

/* A slice for building the index. */
typedef struct lane_span {
    int64_t start, end;     /* units; end >= start */
    uint32_t ordinal, name; /* ordinal: the row, while spans are gathered */
} lane_span;

static inline bool lane_span_before(const lane_span *a, const lane_span *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->end != b->end) return a->end > b->end;
    return a->ordinal < b->ordinal;
}
/* Sorts into start order; `scratch` has room for half of the spans. */
void lane_sort(lane_span *spans, uint32_t count, lane_span *scratch);

/* From the columns of a slice with a start. */
static inline lane_span lane_span_of(const hd_index *index, int64_t start_ns, int64_t duration_ns, int64_t start_ps,
                                     int64_t end_ps)
{
    int64_t end_ns, start = lane_units(index, start_ns, start_ps), end = start;
    if (duration_ns >= 0 && !__builtin_add_overflow(start_ns, duration_ns, &end_ns))
        end = lane_units(index, end_ns, end_ps);
    return (lane_span){.start = start, .end = end > start ? end : start};
}

/* Memory of one thread that makes lanes. */
typedef struct lane_maker lane_maker;
lane_maker *lane_maker_new(uint64_t large);
void lane_maker_free(lane_maker *maker);
/* Fills a lane from its slices in row order, whose `ordinal` is the row; sorts them in place. false: no memory. */
bool lane_fill(lane_maker *maker, hd_lane *lane, lane_detail *detail, const hd_index *index, lane_span *spans);

#endif
