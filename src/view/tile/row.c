/* row.c - a tile's content for a row of slices, and its encoding */
#include "base/error.h"
#include "view/rows/impl.h"
#include "view/tile/tile.h"

view_tile_range view_tile_range_of(unsigned z, int64_t i)
{
    int64_t most = VIEW_FARTHEST >> z; /* the last column that there is */
    if (i > most / VIEW_TILE_COLUMNS || i < -most / VIEW_TILE_COLUMNS - 2)
        return (view_tile_range){.from = 1, .last = 0};
    int64_t first = i * VIEW_TILE_COLUMNS, last = first + VIEW_TILE_COLUMNS - 1;
    view_tile_range range = {.first_column = first};
    if (last < -most - 1) return (view_tile_range){.from = 1, .last = 0};
    range.from = first < -most ? -VIEW_FARTHEST : (int64_t)((uint64_t)first << z);
    range.last = last >= most ? VIEW_FARTHEST : (int64_t)((uint64_t)(last + 1) << z) - 1;
    return range;
}

/* ---- bytes ---- */

void view_tile_align(hd_bytes *out)
{
    static const uint8_t zeros[8];
    if (out->size % 8) hd_bytes_put(out, zeros, 8 - out->size % 8);
}

static bool is_wide(const view_tile_column *columns, uint32_t column_count, const view_tile_event *events,
                    uint32_t event_count, const view_tile_range *range)
{
    for (uint32_t c = 0; c < column_count; c++) {
        if (columns[c].busy > UINT32_MAX || columns[c].longest > UINT32_MAX) return true;
    }
    for (uint32_t e = 0; e < event_count; e++) {
        int64_t start = events[e].start - range->from;
        if (events[e].duration > UINT32_MAX || start > INT32_MAX || start < INT32_MIN) return true;
    }
    return false;
}

/* All supported machines are little endian; others swap. */
static inline uint8_t *put_u32(uint8_t *p, uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    memcpy(p, &value, 4);
    return p + 4;
}

static inline uint8_t *put_f64(uint8_t *p, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits = __builtin_bswap64(bits);
#endif
    memcpy(p, &bits, 8);
    return p + 8;
}

static inline uint8_t *put_u16(uint8_t *p, uint16_t value)
{
    *p++ = (uint8_t)value;
    *p++ = (uint8_t)(value >> 8);
    return p;
}

static inline uint8_t *put_time(uint8_t *p, uint64_t value, bool wide)
{
    return wide ? put_f64(p, (double)value) : put_u32(p, (uint32_t)value);
}

static uint8_t *pad(uint8_t *p, const uint8_t *start)
{
    while ((p - start) % 8) *p++ = 0;
    return p;
}

static uint8_t *put_columns(uint8_t *p, const uint8_t *start, const view_tile_column *columns, uint32_t count,
                            bool wide, bool has_hits)
{
    for (uint32_t c = 0; c < count; c++) p = put_time(p, columns[c].busy, wide);
    p = pad(p, start);
    for (uint32_t c = 0; c < count; c++) p = put_time(p, columns[c].longest, wide);
    p = pad(p, start);
    for (uint32_t c = 0; c < count; c++) p = put_u32(p, columns[c].count);
    p = pad(p, start);
    for (uint32_t c = 0; c < count; c++) p = put_u32(p, columns[c].name);
    p = pad(p, start);
    for (uint32_t c = 0; c < count; c++) p = put_u32(p, columns[c].row);
    p = pad(p, start);
    for (uint32_t c = 0; c < count; c++) p = put_u16(p, columns[c].column);
    p = pad(p, start);
    for (uint32_t c = 0; has_hits && c < count; c++) *p++ = columns[c].is_hit;
    return pad(p, start);
}

/* A tile may begin where no time is any more: then its own first nanosecond is not an int64. */
static double tile_start(const view_tile_range *range, unsigned z)
{
    return (double)range->first_column * (double)((uint64_t)1 << z);
}

static uint8_t *put_events(uint8_t *p, const uint8_t *start, const view_tile_event *events, uint32_t count, bool wide,
                           const view_tile_range *range, unsigned z)
{
    int64_t zero;
    bool fits = !__builtin_mul_overflow(range->first_column, (int64_t)1 << z, &zero) && zero >= -VIEW_FARTHEST;
    for (uint32_t e = 0; e < count; e++) {
        if (!wide)
            p = put_u32(p, (uint32_t)(int32_t)(events[e].start - range->from));
        else
            p = put_f64(p, fits ? (double)(events[e].start - zero) : (double)events[e].start - tile_start(range, z));
    }
    p = pad(p, start);
    for (uint32_t e = 0; e < count; e++) p = put_time(p, events[e].duration, wide);
    p = pad(p, start);
    for (uint32_t e = 0; e < count; e++) p = put_u32(p, events[e].name);
    p = pad(p, start);
    for (uint32_t e = 0; e < count; e++) p = put_u32(p, events[e].row);
    p = pad(p, start);
    for (uint32_t e = 0; e < count; e++) *p++ = events[e].flags;
    return pad(p, start);
}

hd_status view_tile_put_row(hd_bytes *out, const view_tile_column *columns, uint32_t column_count,
                            const view_tile_event *events, uint32_t event_count, uint32_t starting,
                            const view_tile_range *range, unsigned z, bool has_hits, hd_error *err)
{
    bool wide = is_wide(columns, column_count, events, event_count, range) ||
                (event_count && range->from != (int64_t)((uint64_t)range->first_column << z));
    size_t most = 16 + (size_t)column_count * 31 + (size_t)event_count * 25 + 12 * 8;
    uint8_t *start = hd_bytes_room(out, most), *p = start;
    if (!start) return HD_NOMEM(err);
    p = put_u32(p, column_count);
    p = put_u32(p, event_count);
    p = put_u32(p, wide);
    p = put_u32(p, starting);
    p = put_columns(p, start, columns, column_count, wide, has_hits);
    p = put_events(p, start, events, event_count, wide, range, z);
    out->size += (size_t)(p - start);
    return HD_OK;
}

/* ---- what there is to draw ---- */

typedef struct tile_maker {
    row_reader reader;
    view_tile_range range;
    unsigned z;
    const view_hits *hits;
    uint64_t first, until; /* positions of the slices that start in the tile */
    view_tile_column columns[VIEW_TILE_COLUMNS];
    uint32_t column_count;
    uint64_t is_aggregate[VIEW_TILE_COLUMNS / 64];
    int64_t reached; /* column that the last slice of the previous aggregate touches, and no other does; -1: none */
    /* Slices that may touch an exact column, ascending. At most two touch one, one extends in, and of a slice that
     * starts in an aggregate only the last may extend out of it. */
    uint64_t positions[3 * VIEW_TILE_COLUMNS + 1];
    uint32_t position_count;
    view_tile_event events[3 * VIEW_TILE_COLUMNS + 1];
    uint32_t event_count;
} tile_maker;

static void add_position(tile_maker *m, uint64_t position)
{
    if (m->position_count && m->positions[m->position_count - 1] >= position) return;
    m->positions[m->position_count++] = position;
}

/* Rows of derived slices are those of no table. */
static bool is_hit(tile_maker *m, uint32_t row)
{
    const view_row_data *data = m->reader.data;
    return (!data->slices || data->is_of_table) && view_is_hit(m->hits, data->kind, row);
}

/* Of the slices that start in the column, or of the one that reaches into it. */
static bool has_hit(tile_maker *m, const row_aggregate *a)
{
    const view_row_data *data = m->reader.data;
    for (uint64_t i = a->first; i < a->first + a->count; i++)
        if (is_hit(m, data->slices ? data->slices[i].row : data->rows[i])) return true;
    if (!a->first) return false;
    row_slice before = row_read(&m->reader, a->first - 1);
    return before.end > (int64_t)((uint64_t)a->column << m->z) && is_hit(m, before.row);
}

static void add_aggregate(tile_maker *m, const row_aggregate *a)
{
    uint32_t column = (uint32_t)(a->column - m->range.first_column);
    m->columns[m->column_count++] = (view_tile_column){
        .busy = a->busy,
        .longest = a->longest,
        .count = a->count < UINT32_MAX ? (uint32_t)a->count : UINT32_MAX,
        .name = a->name,
        .row = a->longest_row,
        .column = (uint16_t)column,
        .is_hit = m->hits && has_hit(m, a),
    };
    m->is_aggregate[column / 64] |= (uint64_t)1 << column % 64;
    if (m->reached == column && m->positions[m->position_count - 1] == a->first - 1)
        m->position_count--; /* it touches aggregates only: no need to look at it */
    m->reached = a->reaches == 1 ? (int64_t)column + 1 : -1;
    if (a->reaches) add_position(m, a->first + a->count - 1);
}

/* Slices between two entries of a level. */
static void add_between(tile_maker *m, uint64_t from, uint64_t until, bool all_exact)
{
    if (all_exact) {
        for (; from < until; from++) add_position(m, from);
        return;
    }
    row_walk walk = row_walk_of(&m->reader, from, until, m->z);
    row_cell cell;
    while (row_walk_next(&cell, &walk)) {
        if (row_cell_touching(&cell, m->z) >= 3) {
            row_aggregate a;
            row_cell_sum(&a, &cell, m->z);
            add_aggregate(m, &a);
        } else {
            for (uint64_t i = 0; i < cell.count; i++) add_position(m, cell.first + i);
        }
    }
}

static void gather(tile_maker *m)
{
    const row_level *level = m->reader.data->levels ? &m->reader.data->levels[m->z] : NULL;
    uint64_t at = m->first;
    if (m->first && row_read(&m->reader, m->first - 1).end > m->range.from) add_position(m, m->first - 1);
    if (m->first == m->until) return;
    uint32_t entry = level ? row_level_find(level, m->range.first_column) : 0;
    for (; level && entry < level->count; entry++) {
        row_aggregate a = row_level_at(level, entry);
        if (a.column >= m->range.first_column + VIEW_TILE_COLUMNS) break;
        add_between(m, at, a.first, level->is_full);
        add_aggregate(m, &a);
        at = a.first + a.count;
    }
    add_between(m, at, m->until, level && level->is_full);
}

static bool touches_exact(const tile_maker *m, const row_slice *slice)
{
    int64_t first = (slice->start >> m->z) - m->range.first_column;
    int64_t last = ((slice->end > slice->start ? slice->end - 1 : slice->end) >> m->z) - m->range.first_column;
    if (first < 0) first = 0;
    if (last >= VIEW_TILE_COLUMNS) last = VIEW_TILE_COLUMNS - 1;
    if (last > first + 1) return true; /* columns in between are its own */
    for (int64_t c = first; c <= last; c++) {
        if (!(m->is_aggregate[c / 64] >> c % 64 & 1)) return true;
    }
    return false;
}

static void read_events(tile_maker *m)
{
    for (uint32_t p = 0; p < m->position_count; p++) {
        row_slice slice = row_read(&m->reader, m->positions[p]);
        if (!touches_exact(m, &slice)) continue;
        m->events[m->event_count++] = (view_tile_event){
            .start = slice.start,
            .duration = (uint64_t)(slice.end - slice.start),
            .name = slice.name,
            .row = slice.row,
            .flags = (uint8_t)(slice.flags | (m->hits && is_hit(m, slice.row) ? VIEW_SLICE_HIT : 0)),
        };
    }
}

hd_status view_tile_row(hd_bytes *out, const view_row *row, const hd_trace *trace, int64_t zero_ns, unsigned z,
                        int64_t i, const view_hits *hits, hd_error *err)
{
    tile_maker m;
    view_row_data unmarked;
    m.range = view_tile_range_of(z, i);
    m.z = z;
    m.hits = hits;
    m.column_count = m.position_count = m.event_count = 0;
    if (row->count == 0 || m.range.from > m.range.last)
        return view_tile_put_row(out, NULL, 0, NULL, 0, 0, &m.range, z, hits, err);
    memset(m.is_aggregate, 0, sizeof m.is_aggregate);
    m.reached = -1;
    m.reader = row_reader_of(row->data, trace);
    if (row->data->zero_ns != zero_ns) { /* its levels are for another zero */
        unmarked = *row->data;
        unmarked.marks = NULL;
        unmarked.levels = NULL;
        unmarked.zero_ns = zero_ns;
        m.reader.data = &unmarked;
    }
    m.first = row_lower_bound(&m.reader, m.range.from);
    m.until = m.range.last == VIEW_FARTHEST ? row->count : row_lower_bound(&m.reader, m.range.last + 1);
    gather(&m);
    read_events(&m);
    uint64_t starting = m.until - m.first;
    return view_tile_put_row(out, m.columns, m.column_count, m.events, m.event_count,
                             starting < UINT32_MAX ? (uint32_t)starting : UINT32_MAX, &m.range, z, hits, err);
}
