/* estimate.c - a lane before it is laid out: the summaries of the lane index, spread evenly over their time */
#include "base/error.h"
#include "base/sorted.h"
#include "view/rows/impl.h"
#include "view/tile/tile.h"

typedef struct estimate {
    view_tile_range range;
    unsigned z;
    int64_t zero_ns;
    double busy[VIEW_TILE_COLUMNS], count[VIEW_TILE_COLUMNS], most[VIEW_TILE_COLUMNS];
    uint64_t longest[VIEW_TILE_COLUMNS];
    uint32_t name[VIEW_TILE_COLUMNS];
    double starting;
} estimate;

static int64_t last_of(const estimate *e, const hd_summary *s)
{
    return row_relative(s->last_ns, e->zero_ns);
}

/* The level with fewest summaries that still has about one per column of the lane in the tile. */
static uint32_t choose_level(const estimate *e, const hd_lane *lane)
{
    int64_t from = row_relative(lane->start_ns, e->zero_ns), until = row_relative(lane->end_ns, e->zero_ns);
    double span = (double)until - (double)from + 1, tile = (double)e->range.last - (double)e->range.from + 1;
    uint32_t level = 0;
    while (level + 1 < lane->level_count && (double)lane->levels[level + 1].count * tile / span >= VIEW_TILE_COLUMNS)
        level++;
    return level;
}

static void spread(estimate *e, const hd_summary *s)
{
    int64_t from = row_relative(s->first_ns, e->zero_ns), last = last_of(e, s);
    double span = (double)last - (double)from + 1;
    int64_t first_column = (from > e->range.from ? from : e->range.from) >> e->z;
    int64_t last_column = (last < e->range.last ? last : e->range.last) >> e->z;
    for (int64_t column = first_column; column <= last_column; column++) {
        int64_t c = column - e->range.first_column;
        int64_t begin = row_clamp((int64_t)((uint64_t)column << e->z)), width = ((int64_t)1 << e->z) - 1;
        int64_t end = begin > VIEW_FARTHEST - width ? VIEW_FARTHEST : begin + width;
        double share = ((double)(end < last ? end : last) - (double)(begin > from ? begin : from) + 1) / span;
        e->busy[c] += (double)s->busy_ns * share;
        e->count[c] += s->count * share;
        e->starting += s->count * share;
        if ((double)s->name_ns[0] * share > e->most[c] || (e->count[c] > 0 && e->name[c] == HD_STRING_NONE)) {
            e->most[c] = (double)s->name_ns[0] * share;
            e->name[c] = s->names[0];
        }
        if ((uint64_t)s->longest_ns > e->longest[c] && s->longest_ns > 0) e->longest[c] = (uint64_t)s->longest_ns;
    }
}

/* Summaries are sorted by start, but a long slice of one may extend beyond many others: those that do so before the
 * first one that starts in the tile are searched on the coarsest levels only. */
static void spread_all(estimate *e, const hd_lane *lane)
{
    uint32_t level = choose_level(e, lane);
    const hd_summary *list = lane->levels[level].summaries;
    size_t low = 0, high = lane->levels[level].count;
    HD_PARTITION_POINT(low, high, at, row_relative(list[at].first_ns, e->zero_ns) < e->range.from);
    size_t before = low > VIEW_TILE_COLUMNS ? low - VIEW_TILE_COLUMNS : 0;
    for (size_t i = before; i < lane->levels[level].count; i++) {
        if (row_relative(list[i].first_ns, e->zero_ns) > e->range.last) break;
        if (last_of(e, &list[i]) >= e->range.from) spread(e, &list[i]);
    }
}

hd_status view_tile_lane(hd_bytes *out, const hd_lane *lane, int64_t zero_ns, unsigned z, int64_t i, hd_error *err)
{
    estimate e = {.range = view_tile_range_of(z, i), .z = z, .zero_ns = zero_ns};
    view_tile_column columns[VIEW_TILE_COLUMNS];
    uint32_t count = 0;
    double width = (double)((uint64_t)1 << z);
    if (e.range.from > e.range.last || lane->level_count == 0)
        return view_tile_put_row(out, NULL, 0, NULL, 0, 0, &e.range, z, false, err);
    spread_all(&e, lane);
    for (uint32_t c = 0; c < VIEW_TILE_COLUMNS; c++) {
        if (e.busy[c] <= 0 && e.count[c] <= 0) continue;
        columns[count++] = (view_tile_column){
            .busy = (uint64_t)(e.busy[c] < width ? e.busy[c] : width),
            .longest = e.longest[c],
            .count = (uint32_t)(e.count[c] + 0.5),
            .name = e.name[c],
            .row = HD_NONE,
            .column = (uint16_t)c,
        };
    }
    return view_tile_put_row(out, columns, count, NULL, 0, (uint32_t)(e.starting + 0.5), &e.range, z, false, err);
}
