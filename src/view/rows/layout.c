/* layout.c - places slices that nest and cross on rows without overlaps
 *
 * In start order, a stack has the open slices, each ending at or before the one below it. A slice is placed under the
 * innermost one that encloses it. If it ends after an open one it crosses that; the crossed slice is removed from the
 * stack, since from now on the new one encloses everything that it could. So placing is amortized O(1), except the
 * search of a free row, which skips 64, 4,096 … rows at once that are all occupied.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "view/rows/impl.h"

enum { FAN_BITS = 6, FAN = 1 << FAN_BITS, STEPS = 5 };

typedef struct open_slice {
    int64_t end;
    uint32_t row;
} open_slice;

/* ends[0][r] is the time from which row r is free; ends[n][i] is at most the least of the 64 below it. They only
 * grow. */
struct row_stacker {
    int64_t *ends[STEPS];
    size_t counts[STEPS], capacities[STEPS];
    open_slice *open;
    size_t open_count, open_capacity;
};

row_stacker *row_stacker_new(void)
{
    return calloc(1, sizeof(row_stacker));
}

void row_stacker_free(row_stacker *stacker)
{
    if (!stacker) return;
    for (int n = 0; n < STEPS; n++) free(stacker->ends[n]);
    free(stacker->open);
    free(stacker);
}

/* The first row from `from` on, below node i of step n, that is free at a time; HD_NONE: none. */
static uint32_t find_below(row_stacker *s, int n, size_t i, size_t from, int64_t time)
{
    if (s->ends[n][i] > time) return HD_NONE;
    if (n == 0) return (uint32_t)i;
    size_t child = i << FAN_BITS, end = child + FAN;
    size_t wanted = from >> (FAN_BITS * (n - 1));
    int64_t least = INT64_MAX;
    bool all = wanted <= child;
    if (end > s->counts[n - 1]) end = s->counts[n - 1];
    for (size_t c = all ? child : wanted; c < end; c++) {
        uint32_t row = find_below(s, n - 1, c, from, time);
        if (row != HD_NONE) return row;
        if (s->ends[n - 1][c] < least) least = s->ends[n - 1][c];
    }
    if (all && s->ends[n][i] < least) s->ends[n][i] = least;
    return HD_NONE;
}

static uint32_t find_free(row_stacker *s, uint32_t from, int64_t time)
{
    if (from < s->counts[0] && s->ends[0][from] <= time) return from;
    for (size_t i = from >> (FAN_BITS * (STEPS - 1)); i < s->counts[STEPS - 1]; i++) {
        uint32_t row = find_below(s, STEPS - 1, i, from, time);
        if (row != HD_NONE) return row;
    }
    return (uint32_t)s->counts[0];
}

static bool add_row(row_stacker *s, int64_t end)
{
    size_t row = s->counts[0];
    for (int n = 0; n < STEPS; n++) {
        size_t i = row >> (FAN_BITS * n);
        if (i < s->counts[n]) {
            if (end < s->ends[n][i]) s->ends[n][i] = end;
            continue;
        }
        if (!hd_grow((void **)&s->ends[n], &s->capacities[n], i, sizeof *s->ends[n])) return false;
        s->ends[n][s->counts[n]++] = end;
    }
    return true;
}

bool row_stacker_place(row_stacker *s, uint32_t *out_row, bool *out_crosses, int64_t start, int64_t end)
{
    bool crosses = false;
    int64_t least = end > start || start == INT64_MAX ? end : start + 1;
    while (s->open_count && s->open[s->open_count - 1].end < least) crosses |= s->open[--s->open_count].end > start;
    uint32_t row = find_free(s, s->open_count ? s->open[s->open_count - 1].row + 1 : 0, start);
    if (row < s->counts[0])
        s->ends[0][row] = end;
    else if (!add_row(s, end))
        return false;
    *out_row = row;
    *out_crosses = crosses;
    if (end == start) return true;
    if (!hd_grow((void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open)) return false;
    s->open[s->open_count++] = (open_slice){end, row};
    return true;
}

/* ---- slices of one's own ---- */

typedef struct row_list {
    view_slice *slices;
    size_t count, capacity;
} row_list;

static hd_status place_all(row_list **lists, size_t *list_count, uint64_t *out_moved, row_stacker *stacker,
                           const view_slice *slices, uint64_t count, hd_error *err)
{
    size_t capacity = 0;
    for (uint64_t i = 0; i < count; i++) {
        const view_slice *s = &slices[i];
        bool crosses;
        uint32_t row;
        if (s->end_ns < s->start_ns || (i && s->start_ns < slices[i - 1].start_ns))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "slice %llu is not in start order",
                                (unsigned long long)i);
        if (!row_stacker_place(stacker, &row, &crosses, s->start_ns, s->end_ns)) return HD_NOMEM(err);
        if (row == *list_count) {
            if (!hd_grow((void **)lists, &capacity, row, sizeof **lists)) return HD_NOMEM(err);
            (*lists)[(*list_count)++] = (row_list){0};
        }
        row_list *list = &(*lists)[row];
        if (!hd_grow((void **)&list->slices, &list->capacity, list->count, sizeof *list->slices)) return HD_NOMEM(err);
        list->slices[list->count++] = *s;
        *out_moved += crosses;
    }
    return HD_OK;
}

hd_status view_rows_lay_out(view_rows *out, uint64_t *out_moved, const view_slice *slices, uint64_t count,
                            hd_error *err)
{
    row_list *lists = NULL;
    size_t list_count = 0;
    row_stacker *stacker = row_stacker_new();
    *out = (view_rows){0};
    *out_moved = 0;
    hd_status status = stacker ? place_all(&lists, &list_count, out_moved, stacker, slices, count, err) : HD_NOMEM(err);
    row_stacker_free(stacker);
    if (status == HD_OK && list_count) {
        out->rows = calloc(list_count, sizeof *out->rows);
        if (!out->rows) status = HD_NOMEM(err);
    }
    for (size_t i = 0; i < list_count; i++) {
        if (status == HD_OK)
            status = view_row_of_slices(&out->rows[out->count++], lists[i].slices, lists[i].count, err);
        else
            free(lists[i].slices);
    }
    free(lists);
    if (status != HD_OK) view_rows_deinit(out);
    return status;
}
