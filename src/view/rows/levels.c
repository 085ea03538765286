/* levels.c - the columns that three or more slices touch, for each z
 *
 * All of them are stored from the z on at which the lists of this and all wider columns have at most a quarter as many
 * entries as there are slices (in short rows three quarters). They are made in one pass, in which each complete cell is
 * added to that of twice the width. Below that z only columns in which THIN_SLICES or more start are stored; between
 * those a tile walks the slices.
 */
#include <stdlib.h>

#include "view/rows/impl.h"

enum { THIN_SLICES = 64 };

/* ---- entries ---- */

static bool make_room(row_level *level, bool is_wide)
{
    if (level->count < level->capacity) return true;
    if (level->capacity > UINT32_MAX / 2) return false;
    uint32_t capacity = level->capacity ? 2 * level->capacity : 4;
    void *list = is_wide ? realloc(level->wide, capacity * sizeof *level->wide)
                         : realloc(level->narrow, capacity * sizeof *level->narrow);
    if (!list) return false;
    if (is_wide)
        level->wide = list;
    else
        level->narrow = list;
    level->capacity = capacity;
    return true;
}

static bool put_entry(row_level *level, bool is_wide, const row_aggregate *a)
{
    if (!make_room(level, is_wide)) return false;
    if (is_wide) {
        level->wide[level->count++] = *a;
        return true;
    }
    level->narrow[level->count++] = (row_narrow){
        .column = (uint32_t)(a->column - level->base),
        .first = (uint32_t)a->first,
        .count = (uint32_t)a->count | a->reaches << NARROW_REACHES_SHIFT,
        .busy = (uint32_t)a->busy,
        .longest = (uint32_t)a->longest,
        .longest_row = a->longest_row,
        .name = a->name,
    };
    return true;
}

row_aggregate row_level_at(const row_level *level, uint32_t at)
{
    if (level->wide) return level->wide[at];
    const row_narrow *n = &level->narrow[at];
    return (row_aggregate){
        .column = level->base + n->column,
        .first = n->first,
        .count = n->count & (((uint32_t)1 << NARROW_REACHES_SHIFT) - 1),
        .busy = n->busy,
        .longest = n->longest,
        .longest_row = n->longest_row,
        .name = n->name,
        .reaches = n->count >> NARROW_REACHES_SHIFT,
    };
}

uint32_t row_level_find(const row_level *level, int64_t column)
{
    uint32_t low = 0, high = level->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t at = level->wide ? level->wide[middle].column : level->base + level->narrow[middle].column;
        if (at < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void trim(row_level *level)
{
    if (level->count == level->capacity) return;
    size_t size = level->count * (level->wide ? sizeof *level->wide : sizeof *level->narrow);
    void *old = level->wide ? (void *)level->wide : (void *)level->narrow;
    void *list = size ? realloc(old, size) : NULL;
    if (!list && size) return; /* as it was */
    if (!size) free(old);
    if (level->wide)
        level->wide = list;
    else
        level->narrow = list;
    level->capacity = level->count;
}

void row_free_levels(view_row_data *data)
{
    for (unsigned z = 0; data->levels && z <= VIEW_ZOOM_MAX; z++) {
        free(data->levels[z].narrow);
        free(data->levels[z].wide);
    }
    free(data->levels);
    data->levels = NULL;
}

/* ---- one pass ---- */

typedef struct level_maker {
    view_row_data *data;
    row_reader reader;
    int64_t first_start, last_start;
    uint64_t longest;
    row_cell cells[VIEW_ZOOM_MAX + 1]; /* the open one of each z; count 0: none */
    bool failed;
} level_maker;

/* How many cells there are for each z, from the highest bit in which starts side by side differ. */
static void count_cells(uint64_t out[VIEW_ZOOM_MAX + 1], level_maker *maker)
{
    uint64_t differ[64] = {0}, sum = 1;
    row_slice slice = row_read(&maker->reader, 0);
    maker->first_start = maker->last_start = slice.start;
    maker->longest = (uint64_t)(slice.end - slice.start);
    for (uint64_t i = 1; i < maker->data->count; i++) {
        slice = row_read(&maker->reader, i);
        uint64_t bits = (uint64_t)slice.start ^ (uint64_t)maker->last_start;
        if (bits) differ[63 - __builtin_clzll(bits)]++;
        if ((uint64_t)(slice.end - slice.start) > maker->longest) maker->longest = (uint64_t)(slice.end - slice.start);
        maker->last_start = slice.start;
    }
    for (unsigned bit = 64; bit-- > 0;) {
        sum += differ[bit];
        if (bit <= VIEW_ZOOM_MAX) out[bit] = sum;
    }
}

static unsigned finest_full_level(const uint64_t cells[VIEW_ZOOM_MAX + 1], uint64_t slices)
{
    enum { GENEROUS = 8192 }; /* rows are more often short than long */
    uint64_t sum = 0, more = slices / 2 < GENEROUS ? slices / 2 : GENEROUS;
    unsigned z = VIEW_ZOOM_MAX + 1;
    while (z > 0 && sum + cells[z - 1] <= slices / 4 + more + 3 * (VIEW_ZOOM_MAX + 1)) sum += cells[--z];
    return z;
}

static bool level_is_wide(const level_maker *maker, unsigned z)
{
    return z >= 32 || maker->longest > UINT32_MAX || maker->data->count >= (uint64_t)1 << NARROW_REACHES_SHIFT ||
           (maker->last_start >> z) - (maker->first_start >> z) > UINT32_MAX;
}

static void put_cell(level_maker *maker, const row_cell *cell, unsigned z, bool always)
{
    row_aggregate a;
    if (always ? row_cell_touching(cell, z) < 3 : cell->count < THIN_SLICES) return;
    row_cell_sum(&a, cell, z);
    if (!put_entry(&maker->data->levels[z], level_is_wide(maker, z), &a)) maker->failed = true;
}

/* A cell is complete: it is stored, and added to the one of twice the width. */
static void close_cell(level_maker *maker, unsigned z)
{
    for (;; z++) {
        row_cell *cell = &maker->cells[z];
        put_cell(maker, cell, z, true);
        if (z == VIEW_ZOOM_MAX) {
            cell->count = 0;
            return;
        }
        row_cell *wider = cell + 1;
        if (wider->count && wider->column == cell->column >> 1) {
            row_cell_merge(wider, cell);
            cell->count = 0;
            return;
        }
        if (!wider->count) {
            *wider = *cell;
            wider->column >>= 1;
            cell->count = 0;
            return;
        }
        row_cell complete = *cell; /* the wider one is closed first */
        cell->count = 0;
        close_cell(maker, z + 1);
        maker->cells[z + 1] = complete;
        maker->cells[z + 1].column >>= 1;
        return;
    }
}

static void make_full(level_maker *maker, unsigned finest)
{
    row_walk walk = row_walk_of(&maker->reader, 0, maker->data->count, finest);
    for (unsigned z = finest; z <= VIEW_ZOOM_MAX; z++) maker->data->levels[z].is_full = true;
    while (row_walk_next(&maker->cells[finest], &walk) && !maker->failed) close_cell(maker, finest);
    maker->cells[finest].count = 0;
    for (unsigned z = finest; z <= VIEW_ZOOM_MAX; z++) {
        if (maker->cells[z].count) close_cell(maker, z);
    }
}

/* Columns with many slices are within such columns of twice the width. */
static void make_thin(level_maker *maker, unsigned z)
{
    const row_level *wider = z < VIEW_ZOOM_MAX ? &maker->data->levels[z + 1] : NULL;
    for (uint32_t i = 0; wider && i < wider->count && !maker->failed; i++) {
        row_aggregate a = row_level_at(wider, i);
        row_cell *cell = &maker->cells[0];
        if (a.count < THIN_SLICES) continue;
        row_walk walk = row_walk_of(&maker->reader, a.first, a.first + a.count, z);
        while (row_walk_next(cell, &walk)) put_cell(maker, cell, z, false);
    }
}

bool row_build_levels(view_row_data *data, const hd_trace *trace)
{
    uint64_t cells[VIEW_ZOOM_MAX + 1];
    level_maker *maker = calloc(1, sizeof *maker);
    data->levels = calloc(VIEW_ZOOM_MAX + 1, sizeof *data->levels);
    bool fine = maker && data->levels;
    if (fine) {
        maker->data = data;
        maker->reader = row_reader_of(data, trace);
        count_cells(cells, maker);
        unsigned finest = finest_full_level(cells, data->count);
        for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) data->levels[z].base = maker->first_start >> z;
        if (finest <= VIEW_ZOOM_MAX) make_full(maker, finest);
        for (unsigned z = finest; z-- > 0;) make_thin(maker, z);
        for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) trim(&data->levels[z]);
        fine = !maker->failed;
    }
    if (!fine) row_free_levels(data);
    free(maker);
    return fine;
}

void row_keep(view_row_data *data)
{
    view_array arrays[3 + 2 * (VIEW_ZOOM_MAX + 1)] = {
        {(void **)&data->rows, data->rows ? (size_t)data->count * sizeof *data->rows : 0},
        {(void **)&data->slices, data->slices ? (size_t)data->count * sizeof *data->slices : 0},
        {(void **)&data->marks, data->mark_count * sizeof *data->marks},
    };
    size_t count = 3;
    for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) {
        row_level *level = &data->levels[z];
        if (level->narrow)
            arrays[count++] = (view_array){(void **)&level->narrow, level->count * sizeof *level->narrow};
        if (level->wide) arrays[count++] = (view_array){(void **)&level->wide, level->count * sizeof *level->wide};
    }
    view_keep(&data->kept, arrays, count);
}
