/* by_group.c - the change of a step by the groups of kernels that the user defined
 *
 * In: items of both sides, whose names have the kernels. Out: a row per group, as the sum of the durations of its
 * activities. They add up to the durations of all activities in the compared steps.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "model/class/class.h"
#include "report/diff/maker.h"

typedef struct group_row {
    uint32_t group; /* HD_NONE: none */
    diff_change change;
    gpu_i128 total[2];
    uint64_t calls[2];
} group_row;

/* Items of a side in the order of their groups; HD_NONE, which is the largest number, last. */
typedef struct grouped {
    uint32_t group, item;
} grouped;

static int by_group(const void *a, const void *b)
{
    const grouped *x = a, *y = b;
    return (x->group > y->group) - (x->group < y->group);
}

static grouped *group_items(size_t *out_count, const hd_diff_side *side)
{
    grouped *list = malloc(((size_t)side->items.count + 1) * sizeof *list);
    *out_count = 0;
    for (uint32_t i = 0; list && i < side->items.count; i++) {
        const diff_item_key *key = diff_key(side, i);
        if (diff_is_work(key->kind))
            list[(*out_count)++] = (grouped){gpu_group_of_kernel(gpu_text_of(&side->texts, key->name)), i};
    }
    if (list) hd_sort(list, *out_count, sizeof *list, by_group);
    return list;
}

static void add_item(group_row *row, diff_maker *m, int h, uint32_t item)
{
    const diff_half *half = &m->units.half[h];
    for (uint32_t i = half->first[item]; i < half->first[item + 1]; i++) {
        const diff_entry *e = &half->side->entries[half->order[i]];
        uint32_t unit = half->unit_of[e->sample];
        if (unit == HD_NONE) continue;
        diff_put(&m->units, h, unit, (double)e->time);
        row->total[h] += e->time;
        row->calls[h] += e->calls;
    }
}

static int by_change(const void *a, const void *b)
{
    const group_row *x = a, *y = b;
    double p = x->change.change < 0 ? -x->change.change : x->change.change;
    double q = y->change.change < 0 ? -y->change.change : y->change.change;
    if (p != q) return p > q ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static void put_row(hd_table_builder *b, const diff_maker *m, const group_row *row)
{
    const diff_change *c = &row->change;
    const double times[] = {c->before, c->after, c->change, c->low, c->high};
    hd_table_add_text(b, gpu_group_path(row->group));
    for (int i = 0; i < 5; i++) diff_add_ns(b, times[i]);
    for (int h = 0; h < 2; h++) gpu_cell_ratio(b, row->calls[h], m->units.half[h].used, 1);
    for (int h = 0; h < 2; h++) hd_table_add_int(b, gpu_whole(row->total[h]));
    hd_table_add_text(b, !c->is_known ? NULL : !diff_is_beyond(c, m) ? "noise" : c->change > 0 ? "slower" : "faster");
}

hd_status diff_groups_put(hd_table_builder *b, diff_maker *m, hd_error *err)
{
    size_t counts[2], next[2] = {0, 0}, rows = 0;
    grouped *items[2] = {group_items(&counts[0], m->side[0]), group_items(&counts[1], m->side[1])};
    group_row *list = calloc((size_t)gpu_group_count() + 2, sizeof *list);
    bool fine = items[0] && items[1] && list;
    while (fine && (next[0] < counts[0] || next[1] < counts[1])) {
        group_row *row = &list[rows++];
        row->group = HD_NONE;
        for (int h = 0; h < 2; h++)
            if (next[h] < counts[h] && items[h][next[h]].group < row->group) row->group = items[h][next[h]].group;
        for (int h = 0; h < 2; h++)
            while (next[h] < counts[h] && items[h][next[h]].group == row->group)
                add_item(row, m, h, items[h][next[h]++].item);
        row->change = diff_change_of(&m->units);
    }
    for (size_t i = 0; i < rows; i++) diff_bound(&list[i].change, DIFF_MISS / (double)rows);
    if (fine) hd_sort(list, rows, sizeof *list, by_change);
    for (size_t i = 0; i < rows; i++) put_row(b, m, &list[i]);
    free(items[0]);
    free(items[1]);
    free(list);
    return fine ? HD_OK : HD_NOMEM(err);
}
