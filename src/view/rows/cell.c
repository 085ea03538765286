/* cell.c - the slices that start in one column of time, summed up */
#include "view/rows/impl.h"

/* ---- names ---- */

/* When there is no room, the name with least time goes. */
static void add_name(row_names *names, uint32_t name, int64_t ns)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->names[i] == name) {
            names->ns[i] += ns;
            return;
        }
        if (names->ns[i] <= names->ns[least]) least = i;
    }
    if (names->count < ROW_NAMES) {
        names->names[names->count] = name;
        names->ns[names->count++] = ns;
    } else if (names->ns[least] < ns) {
        for (uint32_t i = least; i + 1 < ROW_NAMES; i++) { /* they stay in the order in which they came */
            names->names[i] = names->names[i + 1];
            names->ns[i] = names->ns[i + 1];
        }
        names->names[ROW_NAMES - 1] = name;
        names->ns[ROW_NAMES - 1] = ns;
    }
}

/* ---- cells ---- */

static uint64_t length(const row_slice *slice)
{
    return (uint64_t)(slice->end - slice->start);
}

static void cell_begin(row_cell *cell, int64_t column, uint64_t position, const row_slice *slice,
                       const row_slice *before)
{
    cell->column = column;
    cell->first = position;
    cell->count = 1;
    cell->inner_ns = 0;
    cell->longest = length(slice);
    cell->longest_row = slice->row;
    cell->last = *slice;
    cell->before = *before;
    cell->names.count = 0;
}

/* The last slice becomes an inner one. */
static void push_last(row_cell *cell)
{
    cell->inner_ns += length(&cell->last);
    add_name(&cell->names, cell->last.name, (int64_t)length(&cell->last));
}

static void cell_add(row_cell *cell, const row_slice *slice)
{
    push_last(cell);
    cell->last = *slice;
    cell->count++;
    if (length(slice) > cell->longest) {
        cell->longest = length(slice);
        cell->longest_row = slice->row;
    }
}

void row_cell_merge(row_cell *cell, const row_cell *next)
{
    push_last(cell);
    for (uint32_t i = 0; i < next->names.count; i++) add_name(&cell->names, next->names.names[i], next->names.ns[i]);
    cell->inner_ns += next->inner_ns;
    cell->last = next->last;
    cell->count += next->count;
    if (next->longest > cell->longest) {
        cell->longest = next->longest;
        cell->longest_row = next->longest_row;
    }
}

/* The times of a column, cut to those that there are. */
static int64_t column_start(int64_t column, unsigned z)
{
    return row_clamp((int64_t)((uint64_t)column << z));
}

static int64_t column_end(int64_t column, unsigned z)
{
    int64_t last = VIEW_FARTHEST >> z;
    return column >= last ? VIEW_FARTHEST : (int64_t)((uint64_t)(column + 1) << z);
}

uint64_t row_cell_touching(const row_cell *cell, unsigned z)
{
    return cell->count + (cell->before.end > column_start(cell->column, z));
}

static uint32_t dominant(const row_cell *cell, int64_t in_ns, int64_t last_ns)
{
    uint32_t best = cell->last.name;
    int64_t most = -1;
    bool last_seen = false;
    if (in_ns > 0) { /* it comes first */
        int64_t ns = in_ns + (cell->last.name == cell->before.name ? last_ns : 0);
        for (uint32_t i = 0; i < cell->names.count; i++) {
            if (cell->names.names[i] == cell->before.name) ns += cell->names.ns[i];
        }
        best = cell->before.name;
        most = ns;
        last_seen = cell->last.name == cell->before.name;
    }
    for (uint32_t i = 0; i < cell->names.count; i++) {
        int64_t ns = cell->names.ns[i];
        if (cell->names.names[i] == cell->last.name) {
            ns += last_ns;
            last_seen = true;
        }
        if (ns > most) {
            best = cell->names.names[i];
            most = ns;
        }
    }
    return !last_seen && last_ns > most ? cell->last.name : best;
}

void row_cell_sum(row_aggregate *out, const row_cell *cell, unsigned z)
{
    int64_t from = column_start(cell->column, z), until = column_end(cell->column, z);
    int64_t last_end = cell->last.end < until ? cell->last.end : until;
    int64_t last_ns = last_end > cell->last.start ? last_end - cell->last.start : 0;
    int64_t in_end = cell->before.end < until ? cell->before.end : until;
    int64_t in_ns = in_end > from ? in_end - from : 0;
    *out = (row_aggregate){
        .column = cell->column,
        .first = cell->first,
        .count = cell->count,
        .busy = cell->inner_ns + (uint64_t)last_ns + (uint64_t)in_ns,
        .longest = cell->longest,
        .longest_row = cell->longest_row,
        .name = dominant(cell, in_ns, last_ns),
    };
    if (in_ns && length(&cell->before) >= cell->longest) {
        out->longest = length(&cell->before);
        out->longest_row = cell->before.row;
    }
    if (cell->last.end > until) out->reaches = (cell->last.end - 1) >> z == cell->column + 1 ? 1 : 2;
}

/* ---- cell by cell ---- */

row_walk row_walk_of(row_reader *reader, uint64_t from, uint64_t until, unsigned z)
{
    row_walk walk = {.reader = reader, .at = from, .until = until, .z = z, .before.end = INT64_MIN};
    if (from < until) {
        if (from) walk.before = row_read(reader, from - 1);
        walk.next = row_read(reader, from);
    }
    return walk;
}

bool row_walk_next(row_cell *out, row_walk *walk)
{
    if (walk->at >= walk->until) return false;
    int64_t column = walk->next.start >> walk->z;
    cell_begin(out, column, walk->at, &walk->next, &walk->before);
    while (++walk->at < walk->until) {
        walk->next = row_read(walk->reader, walk->at);
        if (walk->next.start >> walk->z != column) break;
        cell_add(out, &walk->next);
    }
    walk->before = out->last;
    return true;
}
