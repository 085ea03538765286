/* load.c - reads the index from bytes that may be hostile: everything is checked against the trace */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/impl.h"
#include "trace/index/lane_index.h"

typedef struct loader {
    hd_byte_reader reader;
    const hd_trace *trace;
    hd_index *index;
    const char *wrong; /* the fault, NULL: none so far; "": no memory */
} loader;

enum { PART_BYTES = 5 + HD_SUMMARY_NAMES, LANE_BYTES = 4, CATEGORY_BYTES = 4 }; /* minimum sizes */

/* Records the first fault; returns false. */
static bool wrong(loader *l, const char *what)
{
    if (!l->wrong) l->wrong = what;
    return false;
}

static bool check(loader *l, bool fine, const char *what)
{
    return fine || wrong(l, what);
}

static uint64_t varint(loader *l)
{
    return hd_byte_reader_varint(&l->reader);
}

/* A number from 0 to `limit`. */
static bool number(uint64_t *out, loader *l, uint64_t limit, const char *what)
{
    *out = varint(l);
    return check(l, !l->reader.failed && *out <= limit, what);
}

/* Reads a count of items of at least so many bytes each. */
static bool count_of(size_t *out, loader *l, uint64_t limit, size_t bytes, const char *what)
{
    uint64_t value, fit = hd_byte_reader_left(&l->reader) / bytes;
    if (!number(&value, l, limit < fit ? limit : fit, what)) return false;
    *out = (size_t)value;
    return true;
}

/* ---- head, categories, lanes ---- */

static bool load_head(loader *l)
{
    uint64_t rows;
    uint8_t version = hd_byte_reader_u8(&l->reader);
    if (!check(l, !l->reader.failed && version == HD_INDEX_VERSION, "version")) return false;
    l->index->base_ns = hd_byte_reader_zigzag(&l->reader);
    uint8_t picoseconds = hd_byte_reader_u8(&l->reader);
    l->index->units_per_ns = picoseconds ? 1000 : 1;
    if (!check(l, picoseconds <= 1, "unit of time")) return false;
    if (!number(&rows, l, UINT32_MAX - 1, "number of slices")) return false;
    l->index->slice_rows = rows;
    return check(l, rows == hd_trace_row_count(l->trace, HD_KIND_SLICE), "number of slices");
}

static bool load_categories(loader *l)
{
    uint64_t counts[HD_KIND_COUNT] = {0}, category, total;
    hd_index *index = l->index;
    if (!count_of(&index->category_count, l, SIZE_MAX, CATEGORY_BYTES, "number of categories")) return false;
    index->categories = calloc(index->category_count + 1, sizeof *index->categories);
    if (!index->categories) return wrong(l, "");
    for (size_t i = 0; i < index->category_count; i++) {
        hd_category_sum *sum = &index->categories[i];
        uint8_t kind = hd_byte_reader_u8(&l->reader);
        if (!check(l, kind < HD_KIND_COUNT && (i == 0 || kind >= sum[-1].kind), "kind of a category") ||
            !number(&category, l, hd_trace_string_count(l->trace) - 1, "string of a category") ||
            !number(&sum->count, l, hd_trace_row_count(l->trace, (hd_kind)kind) - counts[kind],
                    "count of a category") ||
            !number(&total, l, INT64_MAX, "time of a category"))
            return false;
        sum->kind = (hd_kind)kind;
        sum->category = (uint32_t)category;
        sum->total_ns = (int64_t)total;
        counts[kind] += sum->count;
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (counts[kind] != hd_trace_row_count(l->trace, (hd_kind)kind)) return wrong(l, "counts of the categories");
    }
    return true;
}

static bool load_lane_columns(loader *l)
{
    hd_index *index = l->index;
    uint64_t value, slices = 0, parts = 0;
    uint32_t tracks = hd_trace_track_count(l->trace), track = 0;
    for (size_t i = 0; i < index->lane_count; i++) {
        if (!number(&value, l, tracks - 1 - track, "track of a lane")) return false;
        if (!check(l, i == 0 || value > 0, "track of a lane")) return false;
        track += (uint32_t)value;
        index->lanes[i].track = track;
    }
    for (size_t i = 0; i < index->lane_count; i++) {
        if (!number(&value, l, index->slice_rows - slices, "number of a lane's slices")) return false;
        if (!check(l, value > 0, "number of a lane's slices")) return false;
        index->lanes[i].slice_count = value;
        slices += value;
        parts += lane_part_count(value);
    }
    for (size_t i = 0; i < index->lane_count; i++) {
        if (!number(&value, l, index->lanes[i].slice_count, "depth of a lane")) return false;
        if (!check(l, value > 0, "depth of a lane")) return false;
        index->lanes[i].depth = (uint32_t)value;
    }
    return check(l, parts <= hd_byte_reader_left(&l->reader) / PART_BYTES, "number of summaries");
}

static bool load_lanes(loader *l)
{
    hd_index *index = l->index;
    size_t count;
    if (!count_of(&count, l, hd_trace_track_count(l->trace), LANE_BYTES, "number of lanes")) return false;
    if (!lane_list(index, count)) return wrong(l, "");
    return load_lane_columns(l) && (lane_make(index) || wrong(l, ""));
}

/* ---- start order ---- */

/* The runs of all lanes. */
typedef struct run_table {
    size_t *first; /* by lane: its first run; one more for the end */
    uint32_t *next, *end;
} run_table;

static bool load_order_counts(loader *l, run_table *runs)
{
    hd_index *index = l->index;
    uint64_t stretches, count, all = 0;
    for (size_t i = 0; i < index->lane_count; i++) {
        uint64_t slices = index->lanes[i].slice_count;
        runs->first[i + 1] = runs->first[i];
        if (!number(&stretches, l, slices, "number of a lane's stretches")) return false;
        if (stretches == 0) continue;
        if (!number(&count, l, stretches, "number of a lane's runs")) return false;
        if (!check(l, count > 0, "number of a lane's runs")) return false;
        index->details[i].stretch_count = (uint32_t)stretches;
        runs->first[i + 1] += (size_t)count;
        all += stretches;
    }
    if (!check(l, all <= hd_byte_reader_left(&l->reader) / 2, "number of stretches")) return false;
    for (size_t i = 0; i < index->lane_count; i++) {
        lane_detail *detail = &index->details[i];
        if (detail->stretch_count == 0) continue;
        detail->stretches = hd_large_zeroed(detail->stretch_count, sizeof *detail->stretches, index->large);
        if (!detail->stretches) return wrong(l, "");
    }
    size_t total = runs->first[index->lane_count];
    runs->next = hd_large_zeroed(total + 1, sizeof *runs->next, index->large);
    runs->end = hd_large_zeroed(total + 1, sizeof *runs->end, index->large);
    return (runs->next && runs->end) || wrong(l, "");
}

static bool load_runs(loader *l, run_table *runs)
{
    for (size_t i = 0; i < l->index->lane_count; i++) {
        uint64_t place = 0, size, slices = l->index->lanes[i].slice_count;
        for (size_t run = runs->first[i]; run < runs->first[i + 1]; run++) {
            runs->next[run] = (uint32_t)place;
            size = slices - place;
            if (run + 1 < runs->first[i + 1] && !number(&size, l, slices - place, "size of a run")) return false;
            place += size;
            runs->end[run] = (uint32_t)place;
        }
    }
    return true;
}

/* Reads stretches; at first `ordinal` has the number of the run. */
static bool load_steps(loader *l, const run_table *runs)
{
    for (size_t i = 0; i < l->index->lane_count; i++) {
        lane_detail *detail = &l->index->details[i];
        uint64_t run = 0, count = runs->first[i + 1] - runs->first[i];
        for (uint32_t s = 0; s < detail->stretch_count; s++) {
            run += (uint64_t)hd_byte_reader_zigzag(&l->reader);
            if (!check(l, !l->reader.failed && run < count, "run of a stretch")) return false;
            detail->stretches[s].ordinal = (uint32_t)run;
        }
    }
    return true;
}

/* Each run is consumed from its begin to its end, so that the order includes every slice once. */
static bool load_sizes(loader *l, run_table *runs)
{
    for (size_t i = 0; i < l->index->lane_count; i++) {
        lane_detail *detail = &l->index->details[i];
        uint64_t position = 0, size;
        for (uint32_t s = 0; s < detail->stretch_count; s++) {
            lane_stretch *stretch = &detail->stretches[s];
            size_t run = runs->first[i] + stretch->ordinal;
            stretch->position = (uint32_t)position;
            stretch->ordinal = runs->next[run];
            if (!number(&size, l, runs->end[run] - runs->next[run], "size of a stretch")) return false;
            if (!check(l, size > 0, "size of a stretch")) return false;
            runs->next[run] += (uint32_t)size;
            position += size;
        }
        if (detail->stretch_count && position != l->index->lanes[i].slice_count) return wrong(l, "sizes of stretches");
    }
    return true;
}

static bool load_orders(loader *l)
{
    run_table runs = {.first = hd_large_zeroed(l->index->lane_count + 1, sizeof *runs.first, l->index->large)};
    bool fine = runs.first
                    ? load_order_counts(l, &runs) && load_runs(l, &runs) && load_steps(l, &runs) && load_sizes(l, &runs)
                    : wrong(l, "");
    hd_large_free(runs.first);
    hd_large_free(runs.next);
    hd_large_free(runs.end);
    return fine;
}

/* ---- summaries ---- */

typedef bool load_column(loader *l, lane_detail *detail, size_t at);

static bool load_first(loader *l, lane_detail *detail, size_t at)
{
    lane_part *part = &detail->parts[at];
    if (at == 0) {
        part->first_ns = hd_byte_reader_zigzag(&l->reader);
        return check(l, !l->reader.failed, "start of a lane");
    }
    uint64_t step = varint(l);
    part->first_ns = (int64_t)((uint64_t)part[-1].first_ns + step);
    return check(l, !l->reader.failed && part->first_ns >= part[-1].first_ns, "start of a summary");
}

static bool load_last(loader *l, lane_detail *detail, size_t at)
{
    lane_part *part = &detail->parts[at];
    int64_t first;
    uint64_t length = varint(l);
    bool fits = !__builtin_mul_overflow(part->first_ns, l->index->units_per_ns, &first);
    if (!check(l, fits && !l->reader.failed, "end of a summary")) return false;
    part->last = (int64_t)((uint64_t)first + length);
    return check(l, part->last >= first, "end of a summary");
}

static bool load_busy(loader *l, lane_detail *detail, size_t at)
{
    const lane_part *part = &detail->parts[at];
    /* covered between the first start, rounded down, and the last end */
    uint64_t span = (uint64_t)part->last - (uint64_t)part->first_ns * (uint64_t)l->index->units_per_ns;
    return number(&detail->parts[at].busy, l, span, "busy time of a summary");
}

static bool load_longest(loader *l, lane_detail *detail, size_t at)
{
    uint64_t ns;
    if (!number(&ns, l, INT64_MAX, "longest slice of a summary")) return false;
    detail->summaries[at].longest_ns = (int64_t)ns;
    return true;
}

static bool load_row(loader *l, lane_detail *detail, size_t at)
{
    uint64_t step, before = at ? detail->parts[at - 1].row : 0;
    if (!number(&step, l, l->index->slice_rows - 1 - before, "row of a summary")) return false;
    detail->parts[at].row = (uint32_t)(before + step);
    return check(l, at == 0 || step >= HD_SUMMARY_SLICES, "row of a summary");
}

static bool load_parts(loader *l)
{
    static load_column *const columns[] = {load_first, load_last, load_busy, load_longest, load_row};
    hd_index *index = l->index;
    for (size_t column = 0; column < sizeof columns / sizeof *columns; column++) {
        for (size_t i = 0; i < index->lane_count; i++) {
            for (size_t at = 0; at < index->lanes[i].levels[0].count; at++) {
                if (!columns[column](l, &index->details[i], at)) return false;
            }
        }
    }
    for (size_t i = 0; i < index->lane_count; i++) {
        if (!lane_derive(&index->lanes[i], &index->details[i], index)) return wrong(l, "times of a lane");
    }
    return true;
}

static bool load_name(loader *l, hd_summary *summary, uint32_t place)
{
    uint64_t name;
    if (!number(&name, l, hd_trace_string_count(l->trace) - 1, "name of a summary")) return false;
    summary->names[place] = (uint32_t)name;
    return check(l, place == 0 || name == HD_STRING_NONE || summary->names[place - 1] != HD_STRING_NONE,
                 "name of a summary");
}

static bool load_name_time(loader *l, hd_summary *summary, uint32_t place)
{
    uint64_t ns;
    if (summary->names[place] == HD_STRING_NONE) return true;
    int64_t limit = place ? summary->name_ns[place - 1] : INT64_MAX;
    if (!number(&ns, l, (uint64_t)limit, "time of a name")) return false;
    summary->name_ns[place] = place ? limit - (int64_t)ns : (int64_t)ns;
    return true;
}

static bool load_names(loader *l, bool (*load)(loader *l, hd_summary *summary, uint32_t place))
{
    for (uint32_t place = 0; place < HD_SUMMARY_NAMES; place++) {
        for (size_t i = 0; i < l->index->lane_count; i++) {
            size_t count = lane_summary_count(l->index->lanes[i].slice_count);
            for (size_t at = 0; at < count; at++) {
                if (!load(l, &l->index->details[i].summaries[at], place)) return false;
            }
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool load_all(loader *l)
{
    return load_head(l) && load_categories(l) && load_lanes(l) && load_orders(l) && load_parts(l) &&
           load_names(l, load_name) && load_names(l, load_name_time) &&
           check(l, hd_byte_reader_left(&l->reader) == 0, "size");
}

hd_status hd_index_load(hd_index **out, const hd_trace *trace, const uint8_t *data, size_t size, hd_error *err)
{
    loader l = {.reader = hd_byte_reader_of(data, size), .trace = trace, .index = calloc(1, sizeof *l.index)};
    *out = NULL;
    if (!l.index) return HD_NOMEM(err);
    l.index->large = hd_trace_large_bytes(trace);
    int64_t length;
    bool is_whole = load_all(&l);
    if (is_whole && l.index->base_ns == lane_base_ns(&length, trace))
        *out = l.index;
    else
        hd_index_free(l.index);
    if (is_whole) return HD_OK;
    if (*l.wrong == '\0') return HD_NOMEM(err);
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, l.reader.at, "index: the %s %s", l.wrong,
                        l.reader.failed ? "is cut off" : "cannot be");
}
