/* save.c - writes the index as bytes: columns of varints, equal kinds together, for compression */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/index/lane_index.h"

/* ---- start order ---- */

static int by_ordinal(const void *a, const void *b)
{
    const lane_stretch *x = a, *y = b;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Row order consists of runs that are each in start order; start order merges them. */
typedef struct lane_runs {
    uint32_t *first; /* ordinals of their begins, ascending */
    uint32_t count;
} lane_runs;

/* A run ends where the next slice in row order starts earlier. */
static bool find_runs(lane_runs *out, const lane_detail *detail, uint64_t large)
{
    uint32_t count = detail->stretch_count;
    lane_stretch *sorted = hd_large_new(count, sizeof *sorted, large);
    out->count = 0;
    out->first = hd_large_new(count, sizeof *out->first, large);
    if (!sorted || !out->first) {
        hd_large_free(sorted);
        return false;
    }
    memcpy(sorted, detail->stretches, count * sizeof *sorted);
    bool fine = hd_large_sort(sorted, count, sizeof *sorted, by_ordinal, large);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i].position < sorted[i - 1].position) out->first[out->count++] = sorted[i].ordinal;
    }
    hd_large_free(sorted);
    return fine;
}

static uint32_t run_of(const lane_runs *runs, uint32_t ordinal)
{
    uint32_t low = 1, high = runs->count;
    HD_PARTITION_POINT(low, high, at, runs->first[at] <= ordinal);
    return low - 1;
}

static uint64_t stretch_size(const hd_lane *lane, const lane_detail *detail, uint32_t at)
{
    uint64_t end = at + 1 < detail->stretch_count ? detail->stretches[at + 1].position : lane->slice_count;
    return end - detail->stretches[at].position;
}

/* Columns of all lanes' orders. */
typedef struct order_columns {
    hd_bytes counts, runs, steps, sizes;
} order_columns;

static bool save_order(order_columns *out, const hd_lane *lane, const lane_detail *detail, uint64_t large)
{
    lane_runs runs = {0};
    if (!detail->stretches) {
        hd_bytes_put_varint(&out->counts, 0);
        return true;
    }
    if (!find_runs(&runs, detail, large)) {
        hd_large_free(runs.first);
        return false;
    }
    hd_bytes_put_varint(&out->counts, detail->stretch_count);
    hd_bytes_put_varint(&out->counts, runs.count);
    for (uint32_t i = 0; i + 1 < runs.count; i++) hd_bytes_put_varint(&out->runs, runs.first[i + 1] - runs.first[i]);
    uint32_t run = 0;
    for (uint32_t i = 0; i < detail->stretch_count; i++) {
        uint32_t next = run_of(&runs, detail->stretches[i].ordinal);
        hd_bytes_put_zigzag(&out->steps, (int64_t)next - run);
        hd_bytes_put_varint(&out->sizes, stretch_size(lane, detail, i));
        run = next;
    }
    hd_large_free(runs.first);
    return true;
}

static void put_all(hd_bytes *out, const hd_bytes *more)
{
    hd_bytes_put(out, more->data, more->size);
    if (more->failed) out->failed = true;
}

static bool save_orders(hd_bytes *out, const hd_index *index)
{
    order_columns columns = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < index->lane_count; i++)
        fine = save_order(&columns, &index->lanes[i], &index->details[i], index->large);
    hd_bytes *all[] = {&columns.counts, &columns.runs, &columns.steps, &columns.sizes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        put_all(out, all[i]);
        hd_bytes_deinit(all[i]);
    }
    return fine;
}

/* ---- summaries ---- */

typedef enum part_column { PART_FIRST, PART_LAST, PART_BUSY, PART_LONGEST, PART_ROW, PART_COLUMNS } part_column;

static void save_part(hd_bytes *out, const hd_index *index, const lane_detail *detail, size_t at, part_column column)
{
    const lane_part *part = &detail->parts[at];
    switch (column) {
    case PART_FIRST:
        if (at == 0)
            hd_bytes_put_zigzag(out, part->first_ns);
        else
            hd_bytes_put_varint(out, (uint64_t)part->first_ns - (uint64_t)part[-1].first_ns);
        break;
    case PART_LAST:
        hd_bytes_put_varint(out, (uint64_t)part->last - (uint64_t)part->first_ns * (uint64_t)index->units_per_ns);
        break;
    case PART_BUSY: hd_bytes_put_varint(out, part->busy); break;
    case PART_LONGEST: hd_bytes_put_varint(out, (uint64_t)detail->summaries[at].longest_ns); break;
    default: hd_bytes_put_varint(out, at ? part->row - part[-1].row : part->row); break;
    }
}

static void save_parts(hd_bytes *out, const hd_index *index)
{
    for (int column = 0; column < PART_COLUMNS; column++) {
        for (size_t i = 0; i < index->lane_count; i++) {
            for (size_t at = 0; at < index->lanes[i].levels[0].count; at++)
                save_part(out, index, &index->details[i], at, (part_column)column);
        }
    }
}

/* The id of a string in the file; *out_known: false if no event has the string, so that it has no id. */
static uint32_t id_in_file(bool *out_known, const uint32_t *string_map, uint32_t id)
{
    if (!string_map || id == HD_STRING_NONE) return id;
    if (string_map[id] == HD_STRING_NONE) *out_known = false;
    return string_map[id];
}

/* All levels, lane by lane: a column per name position, then a column per position for the times. */
static bool save_names(hd_bytes *out, const hd_index *index, const uint32_t *string_map, uint32_t place, bool times)
{
    bool known = true;
    for (size_t i = 0; i < index->lane_count; i++) {
        size_t count = lane_summary_count(index->lanes[i].slice_count);
        for (size_t at = 0; at < count; at++) {
            const hd_summary *s = &index->details[i].summaries[at];
            uint32_t name = s->names[place];
            if (!times)
                hd_bytes_put_varint(out, id_in_file(&known, string_map, name));
            else if (name != HD_STRING_NONE)
                hd_bytes_put_varint(out, place ? (uint64_t)(s->name_ns[place - 1] - s->name_ns[place])
                                               : (uint64_t)s->name_ns[0]);
        }
    }
    return known;
}

/* ---- the whole ---- */

static void save_lanes(hd_bytes *out, const hd_index *index)
{
    hd_bytes_put_varint(out, index->lane_count);
    for (size_t i = 0; i < index->lane_count; i++)
        hd_bytes_put_varint(out, index->lanes[i].track - (i ? index->lanes[i - 1].track : 0));
    for (size_t i = 0; i < index->lane_count; i++) hd_bytes_put_varint(out, index->lanes[i].slice_count);
    for (size_t i = 0; i < index->lane_count; i++) hd_bytes_put_varint(out, index->lanes[i].depth);
}

static bool save_categories(hd_bytes *out, const hd_index *index, const uint32_t *string_map)
{
    bool known = true;
    hd_bytes_put_varint(out, index->category_count);
    for (size_t i = 0; i < index->category_count; i++) {
        const hd_category_sum *sum = &index->categories[i];
        hd_bytes_put_u8(out, (uint8_t)sum->kind);
        hd_bytes_put_varint(out, id_in_file(&known, string_map, sum->category));
        hd_bytes_put_varint(out, sum->count);
        hd_bytes_put_varint(out, (uint64_t)sum->total_ns);
    }
    return known;
}

hd_status hd_index_save(hd_bytes *out, const hd_index *index, const uint32_t *string_map, hd_error *err)
{
    hd_bytes_put_u8(out, HD_INDEX_VERSION);
    hd_bytes_put_zigzag(out, index->base_ns);
    hd_bytes_put_u8(out, index->units_per_ns == 1000);
    hd_bytes_put_varint(out, index->slice_rows);
    bool known = save_categories(out, index, string_map);
    save_lanes(out, index);
    bool fine = save_orders(out, index);
    save_parts(out, index);
    for (uint32_t place = 0; place < HD_SUMMARY_NAMES; place++)
        known = save_names(out, index, string_map, place, false) && known;
    for (uint32_t place = 0; place < HD_SUMMARY_NAMES; place++) save_names(out, index, string_map, place, true);
    if (!fine || out->failed) return HD_NOMEM(err);
    if (known) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "index: it has a name that no event has");
}
