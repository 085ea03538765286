/* longest.c - finds the longest slice of a column, from a level's entry down to the slice
 *
 * An entry has the length of its longest slice, not its position. One of the two columns of half the width has the same
 * length, or it is among the few slices that are in no entry there.
 */
#include "view/rows/impl.h"

enum { FEW = 128 };

typedef struct finder {
    row_reader reader;
    int64_t from, last; /* of the requested column */
    bool found;
    uint64_t at;
    row_slice best;
} finder;

/* The first of those that are as long. */
static void offer(finder *f, uint64_t at)
{
    row_slice slice = row_read(&f->reader, at);
    int64_t end = slice.end > slice.start ? slice.end - 1 : slice.end;
    if (slice.start > f->last || end < f->from) return;
    int64_t length = slice.end - slice.start, most = f->best.end - f->best.start;
    if (f->found && (length < most || (length == most && at >= f->at))) return;
    f->found = true;
    f->at = at;
    f->best = slice;
}

/* The entry of a column, false: the level has none. */
static bool entry_of(row_aggregate *out, const finder *f, unsigned z, int64_t column)
{
    const row_level *level = f->reader.data->levels ? &f->reader.data->levels[z] : NULL;
    uint32_t at = level ? row_level_find(level, column) : 0;
    if (!level || at >= level->count) return false;
    *out = row_level_at(level, at);
    return out->column == column;
}

/* Of slices [first, until), which start in a column of 2^z ns. */
static void look(finder *f, unsigned z, int64_t column, uint64_t first, uint64_t until)
{
    while (z > 0 && until - first > FEW) {
        row_aggregate halves[2];
        bool has[2];
        z--;
        for (int h = 0; h < 2; h++) has[h] = entry_of(&halves[h], f, z, 2 * column + h);
        if (!has[0] && !has[1]) break;
        uint64_t middle = has[0] ? halves[0].first + halves[0].count : halves[1].first;
        int go = has[0] && (!has[1] || halves[0].longest >= halves[1].longest) ? 0 : 1;
        for (int h = 0; h < 2; h++) { /* the half that is not an entry has few */
            if (has[h]) continue;
            for (uint64_t i = h ? middle : first; i < (h ? until : middle); i++) offer(f, i);
        }
        column = 2 * column + go;
        first = go ? middle : first;
        until = go ? until : middle;
        if (first > 0) offer(f, first - 1); /* it may reach into this half */
    }
    for (; first < until; first++) offer(f, first);
}

bool view_row_longest(view_slice *out, uint64_t *out_at, const view_row *row, const hd_trace *trace, unsigned z,
                      int64_t column)
{
    int64_t most = VIEW_FARTHEST >> z;
    if (row->count == 0 || column > most || column < -most - 1) return false;
    finder f = {.reader = row_reader_of(row->data, trace)};
    f.from = column < -most ? -VIEW_FARTHEST : (int64_t)((uint64_t)column << z);
    f.last = column >= most ? VIEW_FARTHEST : (int64_t)((uint64_t)(column + 1) << z) - 1;
    uint64_t first = row_lower_bound(&f.reader, f.from);
    uint64_t until = f.last == VIEW_FARTHEST ? row->count : row_lower_bound(&f.reader, f.last + 1);
    if (first > 0) offer(&f, first - 1);
    look(&f, z, column, first, until);
    if (!f.found) return false;
    *out_at = f.at;
    return view_row_read(out, row, trace, f.at, 1) == 1;
}
