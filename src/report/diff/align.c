/* align.c - matches operators, modules and kernels of the two sides
 *
 * Nodes (operators, ranges, modules) level by level from the roots: by name, also where one side has an extra level;
 * else those between the same two neighbours, if both sides have as many. Then GPU activities below matched nodes: by
 * name; as split or fused, by their time and number of calls; by short name, grid, or position; finally by name
 * anywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "heddle/names.h"
#include "report/diff/diff.h"

const char *const diff_match_names[DIFF_MATCHES] = {"same",  "place", "order", "shape", "renamed", "split",
                                                    "fused", "moved", "graph", "new",   "gone"};

typedef struct aligner {
    diff_aligned *out;
    const diff_units *units;
    const hd_diff_side *side[2];
    uint8_t *by_place[2];  /* by node: it was matched by its place */
    uint8_t *is_level[2];  /* by node: an extra level, whose children the other side has without it */
    uint32_t *free[2];     /* room for nodes */
    double *node_calls[2]; /* by node */
    gpu_groups nodes[2],
        items[2]; /* by key, where names are those of both sides; their numbers are those of the side */
    gpu_texts shorts;
    uint32_t *name_before; /* by text of both: that of the matched node of before, if it is another; HD_NONE */
    uint32_t *short_of;    /* by text of both: 1 + its short name; 0: not looked at */
} aligner;

/* Children of nodes, or items of nodes: of node i list[first[i + 1] … first[i + 2]), of none list[first[0] …
 * first[1]). */
typedef struct children {
    uint32_t *first, *list;
} children;

/* ---- what both share ---- */

static bool share_texts(aligner *a)
{
    for (int h = 0; h < 2; h++) {
        const gpu_texts *texts = &a->side[h]->texts;
        uint32_t *of = a->out->text_of[h] = malloc(((size_t)texts->count + 1) * sizeof *of);
        if (!of) return false;
        for (uint32_t i = 0; i < texts->count; i++) {
            hd_string text = gpu_text_of(texts, i);
            of[i] = gpu_text(&a->out->texts, text.data, text.size);
            if (of[i] == HD_NONE) return false;
        }
    }
    return true;
}

static bool sum_items(aligner *a)
{
    for (int h = 0; h < 2; h++) {
        const hd_diff_side *s = a->side[h];
        double *time = a->out->time[h] = calloc((size_t)s->items.count + 1, sizeof *time);
        double *calls = a->out->calls[h] = calloc((size_t)s->items.count + 1, sizeof *calls);
        uint32_t *pair_of = a->out->pair_of[h] = malloc(((size_t)s->items.count + 1) * sizeof *pair_of);
        double used = a->units->half[h].used ? a->units->half[h].used : 1;
        double *node_calls = a->node_calls[h] = calloc((size_t)s->nodes.count + 1, sizeof *node_calls);
        if (!time || !calls || !pair_of || !node_calls) return false;
        for (uint32_t i = 0; i < s->items.count; i++) pair_of[i] = HD_NONE;
        for (size_t i = 0; i < s->entry_count; i++) {
            const diff_entry *e = &s->entries[i];
            if (a->units->half[h].unit_of[e->sample] == HD_NONE) continue;
            time[e->item] += (double)e->time;
            calls[e->item] += e->calls;
        }
        for (uint32_t i = 0; i < s->items.count; i++) {
            const diff_item_key *key = diff_key(s, i);
            time[i] /= used;
            calls[i] /= used;
            if (key->kind == DIFF_OPERATOR || key->kind == DIFF_MODULE) node_calls[key->node] = calls[i];
        }
    }
    return true;
}

static bool find_children(children *out, uint32_t count, uint32_t nodes, uint32_t (*parent_of)(const void *, uint32_t),
                          const void *user)
{
    out->first = calloc((size_t)nodes + 4, sizeof *out->first);
    out->list = malloc(((size_t)count + 1) * sizeof *out->list);
    if (!out->first || !out->list) return false;
    for (uint32_t i = 0; i < count; i++) out->first[parent_of(user, i) + 1 + 2]++;
    for (uint32_t i = 2; i < nodes + 4; i++) out->first[i] += out->first[i - 1];
    for (uint32_t i = 0; i < count; i++) out->list[out->first[parent_of(user, i) + 1 + 1]++] = i;
    return true;
}

static uint32_t parent_of_node(const void *side, uint32_t node)
{
    return diff_node(side, node)->parent;
}

/* Maps GPU activities; others have no node. */
static uint32_t node_of_item(const void *side, uint32_t item)
{
    const diff_item_key *key = diff_key(side, item);
    return diff_is_work(key->kind) ? key->node : HD_NONE;
}

/* ---- nodes ---- */

static bool are_like(double x, double y)
{
    return fabs(x - y) <= 0.1 * (x > y ? x : y);
}

static void match_nodes(aligner *a, uint32_t before, uint32_t after)
{
    a->out->node_of[0][before] = after;
    a->out->node_of[1][after] = before;
}

typedef enum place_state { PLACE_SKIPPED, PLACE_FREE, PLACE_ANCHOR } place_state;

/* Of a child of side h: whether it is unmatched, or below the same parent on the other side. */
static place_state place_of(const aligner *a, int h, uint32_t child, uint32_t other_parent)
{
    uint32_t other = a->out->node_of[h][child];
    if (other == HD_NONE) return a->is_level[h][child] ? PLACE_SKIPPED : PLACE_FREE;
    return diff_node(a->side[!h], other)->parent == other_parent ? PLACE_ANCHOR : PLACE_SKIPPED;
}

/* The children of side h from `at` on that are free, until the next that is an anchor; how many. */
static uint32_t take_free(const aligner *a, int h, uint32_t *out, uint32_t *at, uint32_t end, const uint32_t *list,
                          uint32_t other_parent)
{
    uint32_t count = 0;
    for (; *at < end; ++*at) {
        place_state here = place_of(a, h, list[*at], other_parent);
        if (here == PLACE_ANCHOR) break;
        if (here == PLACE_FREE) out[count++] = list[*at];
    }
    return count;
}

/* Children that have no match, between the same two that have: they are paired, if as many are there. */
static void match_by_place(aligner *a, const children *all, uint32_t before, uint32_t after)
{
    uint32_t at[2] = {all[0].first[before + 1], all[1].first[after + 1]};
    const uint32_t end[2] = {all[0].first[before + 2], all[1].first[after + 2]}, parent[2] = {before, after};
    for (;;) {
        uint32_t count[2], kinds = 0;
        for (int h = 0; h < 2; h++) count[h] = take_free(a, h, a->free[h], &at[h], end[h], all[h].list, parent[!h]);
        bool ends = at[0] == end[0] || at[1] == end[1];
        bool same_end =
            ends ? at[0] == end[0] && at[1] == end[1] : a->out->node_of[0][all[0].list[at[0]]] == all[1].list[at[1]];
        if (!same_end) return; /* the order is another one */
        for (uint32_t i = 0; count[0] == count[1] && i < count[0]; i++)
            kinds += diff_node(a->side[0], a->free[0][i])->is_module == diff_node(a->side[1], a->free[1][i])->is_module;
        for (uint32_t i = 0; count[0] == count[1] && kinds == count[0] && i < kinds; i++) {
            match_nodes(a, a->free[0][i], a->free[1][i]);
            a->by_place[1][a->free[1][i]] = 1;
        }
        if (ends) return;
        at[0]++;
        at[1]++;
    }
}

/* The node of side h below `parent` with the name of a node of the other side; HD_NONE. */
static bool find_node(uint32_t *out, aligner *a, int h, uint32_t parent, uint32_t like)
{
    const diff_node_key *key = diff_node(a->side[!h], like);
    const diff_node_key wanted = {parent, a->out->text_of[!h][key->name], key->is_module};
    uint32_t found = gpu_group(&a->nodes[h], &wanted);
    *out = found < a->side[h]->nodes.count ? found : HD_NONE;
    return found != HD_NONE;
}

static bool align_children(aligner *a, const children *all, uint32_t before, uint32_t after, bool by_place)
{
    for (uint32_t i = all[1].first[after + 1]; i < all[1].first[after + 2]; i++) {
        uint32_t found;
        if (!find_node(&found, a, 0, before, all[1].list[i])) return false;
        if (found != HD_NONE && a->out->node_of[0][found] == HD_NONE) match_nodes(a, found, all[1].list[i]);
    }
    if (by_place) match_by_place(a, all, before, after);
    return true;
}

/* Parents come before their children, so they are already matched. */
static bool align_all_children(aligner *a, const children *all, bool by_place)
{
    bool fine = align_children(a, all, HD_NONE, HD_NONE, by_place);
    for (uint32_t i = 0; fine && i < a->side[1]->nodes.count; i++)
        if (a->out->node_of[1][i] != HD_NONE) fine = align_children(a, all, a->out->node_of[1][i], i, by_place);
    return fine;
}

/* Matches nodes one level deeper in side h, below an operator that the other side lacks, with a node without that
 * level, if together they have as many calls. */
static bool align_wrapped(aligner *a, int h)
{
    uint32_t count = a->side[h]->nodes.count, others = a->side[!h]->nodes.count;
    uint32_t *stands_for = malloc(((size_t)count + 1) * sizeof *stands_for); /* the node whose children are searched */
    uint32_t *wrapped = malloc(((size_t)count + 1) * sizeof *wrapped);
    double *calls = calloc((size_t)others + 1, sizeof *calls);
    bool fine = stands_for && wrapped && calls;
    for (uint32_t i = 0; fine && i < count; i++) {
        uint32_t parent = diff_node(a->side[h], i)->parent, match = a->out->node_of[h][i];
        uint32_t place = parent == HD_NONE ? HD_NONE : stands_for[parent];
        wrapped[i] = HD_NONE;
        if (match == HD_NONE && parent != HD_NONE) fine = find_node(&wrapped[i], a, !h, place, i);
        stands_for[i] = match != HD_NONE ? match : wrapped[i] != HD_NONE ? wrapped[i] : place;
        if (match != HD_NONE) calls[match] += a->node_calls[h][i];
        if (wrapped[i] != HD_NONE) calls[wrapped[i]] += a->node_calls[h][i];
    }
    for (uint32_t i = 0; fine && i < count; i++) {
        uint32_t other = wrapped[i];
        if (other == HD_NONE || !are_like(calls[other], a->node_calls[!h][other])) continue;
        a->out->node_of[h][i] = other;
        for (uint32_t at = diff_node(a->side[h], i)->parent; at != HD_NONE && a->out->node_of[h][at] == HD_NONE;
             at = diff_node(a->side[h], at)->parent)
            a->is_level[h][at] = 1;
        if (a->out->node_of[!h][other] == HD_NONE) a->out->node_of[!h][other] = i;
    }
    free(stands_for);
    free(wrapped);
    free(calls);
    return fine;
}

static bool know_nodes(aligner *a, int h)
{
    a->nodes[h].key_size = sizeof(diff_node_key);
    for (uint32_t i = 0; i < a->side[h]->nodes.count; i++) {
        diff_node_key key = *diff_node(a->side[h], i);
        key.name = a->out->text_of[h][key.name];
        if (gpu_group(&a->nodes[h], &key) != i) return false;
    }
    return true;
}

static bool align_nodes(aligner *a)
{
    children all[2] = {{0}, {0}};
    bool fine = true;
    for (int h = 0; fine && h < 2; h++) {
        uint32_t count = a->side[h]->nodes.count;
        a->out->node_of[h] = malloc(((size_t)count + 1) * sizeof *a->out->node_of[h]);
        a->by_place[h] = calloc((size_t)count + 1, 1);
        a->is_level[h] = calloc((size_t)count + 1, 1);
        a->free[h] = malloc(((size_t)count + 1) * sizeof *a->free[h]);
        fine = a->out->node_of[h] && a->by_place[h] && a->is_level[h] && a->free[h] && know_nodes(a, h) &&
               find_children(&all[h], count, count, parent_of_node, a->side[h]);
        for (uint32_t i = 0; fine && i < count; i++) a->out->node_of[h][i] = HD_NONE;
    }
    fine = fine && align_all_children(a, all, false) && align_wrapped(a, 1) && align_wrapped(a, 0) &&
           align_all_children(a, all, true);
    for (int h = 0; h < 2; h++) {
        free(all[h].first);
        free(all[h].list);
    }
    return fine;
}

/* ---- items ---- */

static bool add_pair(aligner *a, uint32_t before, uint32_t after, diff_match match)
{
    diff_aligned *out = a->out;
    if (!hd_grow((void **)&out->pairs, &out->capacity, out->count, sizeof *out->pairs)) return false;
    out->pairs[out->count] = (diff_pair){{before, after}, {HD_NONE, HD_NONE}, (uint8_t)match};
    if (before != HD_NONE) out->pair_of[0][before] = (uint32_t)out->count;
    if (after != HD_NONE) out->pair_of[1][after] = (uint32_t)out->count;
    out->count++;
    return true;
}

static bool is_free(const aligner *a, int h, uint32_t item)
{
    return item != HD_NONE && a->out->pair_of[h][item] == HD_NONE && a->out->calls[h][item] > 0;
}

static uint32_t text_of_item(const aligner *a, int h, uint32_t item)
{
    uint32_t name = diff_key(a->side[h], item)->name;
    return name == HD_NONE ? HD_NONE : a->out->text_of[h][name];
}

static bool know_items(aligner *a, int h)
{
    a->items[h].key_size = sizeof(diff_item_key);
    for (uint32_t i = 0; i < a->side[h]->items.count; i++) {
        diff_item_key key = *diff_key(a->side[h], i);
        key.name = text_of_item(a, h, i);
        if (gpu_group(&a->items[h], &key) != i) return false;
    }
    return true;
}

/* The names of operators that match by their place. */
static bool know_names(aligner *a)
{
    a->name_before = malloc(((size_t)a->out->texts.count + 1) * sizeof *a->name_before);
    if (!a->name_before) return false;
    for (uint32_t i = 0; i < a->out->texts.count; i++) a->name_before[i] = HD_NONE;
    for (uint32_t i = 0; i < a->side[1]->nodes.count; i++) {
        uint32_t other = a->out->node_of[1][i], after = a->out->text_of[1][diff_node(a->side[1], i)->name];
        uint32_t before = other == HD_NONE ? after : a->out->text_of[0][diff_node(a->side[0], other)->name];
        if (before != after && a->name_before[after] == HD_NONE) a->name_before[after] = before;
    }
    return true;
}

/* The remaining causes of idle time in which the host was in such an operator. */
static bool align_gaps(aligner *a)
{
    for (uint32_t i = 0; i < a->side[1]->items.count; i++) {
        diff_item_key key = *diff_key(a->side[1], i);
        uint32_t text = text_of_item(a, 1, i);
        if (key.kind != DIFF_GAP || !is_free(a, 1, i) || text == HD_NONE || a->name_before[text] == HD_NONE) continue;
        key.name = a->name_before[text];
        uint32_t found = gpu_group(&a->items[0], &key);
        if (found == HD_NONE) return false;
        if (found < a->side[0]->items.count && is_free(a, 0, found) && !add_pair(a, found, i, DIFF_PLACE)) return false;
    }
    return true;
}

/* Items of side h by their keys, with nodes mapped. Several may match one of the other side (the same item at several
 * depths): all but the first are then pairs without a partner. */
static bool align_by_key(aligner *a, int h)
{
    for (uint32_t i = 0; i < a->side[h]->items.count; i++) {
        diff_item_key key = *diff_key(a->side[h], i);
        bool has_node = key.kind != DIFF_GAP && key.node != HD_NONE;
        bool by_place = h && has_node && !diff_is_work(key.kind) && a->by_place[h][key.node];
        if (has_node) key.node = a->out->node_of[h][key.node];
        if (!is_free(a, h, i) || (has_node && key.node == HD_NONE)) continue;
        key.name = text_of_item(a, h, i);
        uint32_t found = gpu_group(&a->items[!h], &key);
        if (found == HD_NONE) return false;
        if (found >= a->side[!h]->items.count) continue;
        uint32_t other = is_free(a, !h, found) ? found : HD_NONE;
        if (!add_pair(a, h ? other : i, h ? i : other, by_place ? DIFF_PLACE : DIFF_SAME)) return false;
    }
    return true;
}

/* Whether two items may be the same: a kernel not known to communicate may be a collective's. */
static bool are_of_one_kind(const aligner *a, int h, uint32_t item, uint32_t other)
{
    uint32_t x = diff_key(a->side[h], item)->kind, y = diff_key(a->side[!h], other)->kind;
    return x == y || (x <= DIFF_COLLECTIVE && y <= DIFF_COLLECTIVE);
}

/* Two of one side are called as often as one of the other. */
static bool are_called_alike(const aligner *a, int h, uint32_t first, uint32_t second, uint32_t whole)
{
    const double *calls = a->out->calls[h];
    return are_like(calls[first], calls[second]) && are_like(calls[first], a->out->calls[!h][whole]) &&
           are_of_one_kind(a, h, first, whole) && are_of_one_kind(a, h, second, whole);
}

/* And their times add up to it. */
static bool are_parts(const aligner *a, int h, uint32_t first, uint32_t second, uint32_t whole)
{
    const double *time = a->out->time[h];
    double of_whole = a->out->time[!h][whole], sum = time[first] + time[second];
    return are_called_alike(a, h, first, second, whole) && time[first] < 0.95 * of_whole &&
           time[second] < 0.95 * of_whole && fabs(sum - of_whole) <= 0.35 * of_whole;
}

/* A new item next to one that got shorter or changed its name was split from it; a vanished item next to one that got
 * longer or changed its name was fused into it. h: the side of the two. */
static void find_parts(aligner *a, int h)
{
    for (uint32_t i = 0; i < a->side[h]->items.count; i++) {
        if (!is_free(a, h, i) || !diff_is_work(diff_key(a->side[h], i)->kind)) continue;
        const uint32_t beside[2] = {a->side[h]->about[i].before, a->side[h]->about[i].after};
        for (int k = 0; k < 2; k++) {
            uint32_t pair = beside[k] == HD_NONE ? HD_NONE : a->out->pair_of[h][beside[k]];
            diff_pair *p = pair == HD_NONE ? NULL : &a->out->pairs[pair];
            if (!p || p->item[!h] == HD_NONE || p->more[0] != HD_NONE || p->more[1] != HD_NONE) continue;
            if (p->item[h] != beside[k] ||
                !(p->match == DIFF_RENAMED ? are_called_alike : are_parts)(a, h, beside[k], i, p->item[!h]))
                continue;
            p->more[h] = i;
            p->match = h ? DIFF_SPLIT : DIFF_FUSED;
            a->out->pair_of[h][i] = pair;
            break;
        }
    }
}

/* Two unmatched items and an unmatched one of the other side, between the same matched neighbours. */
static bool find_free_parts(aligner *a, int h)
{
    for (uint32_t i = 0; i < a->side[h]->items.count; i++) {
        const diff_item *about = &a->side[h]->about[i];
        if (!is_free(a, h, i) || !is_free(a, h, about->after) || about->before == HD_NONE ||
            !diff_is_work(diff_key(a->side[h], i)->kind))
            continue;
        uint32_t pair = a->out->pair_of[h][about->before];
        uint32_t there = pair == HD_NONE ? HD_NONE : a->out->pairs[pair].item[!h];
        uint32_t whole = there == HD_NONE ? HD_NONE : a->side[!h]->about[there].after;
        if (!is_free(a, !h, whole) || !are_parts(a, h, i, about->after, whole)) continue;
        if (!add_pair(a, h ? whole : i, h ? i : whole, h ? DIFF_SPLIT : DIFF_FUSED)) return false;
        a->out->pairs[a->out->count - 1].more[h] = about->after;
        a->out->pair_of[h][about->after] = (uint32_t)a->out->count - 1;
    }
    return true;
}

/* 0: no memory. */
static uint32_t short_name(aligner *a, int h, uint32_t item)
{
    char out[HD_NAME_BYTES];
    uint32_t text = text_of_item(a, h, item);
    if (!a->short_of[text])
        a->short_of[text] = gpu_text(&a->shorts, out, hd_name_short(out, gpu_text_of(&a->out->texts, text))) + 1;
    return a->short_of[text];
}

static bool have_one_short_name(aligner *a, uint32_t before, uint32_t after)
{
    uint32_t name = short_name(a, 0, before);
    return name && name == short_name(a, 1, after) && gpu_text_of(&a->shorts, name - 1).size;
}

static bool have_one_grid(const aligner *a, uint32_t before, uint32_t after)
{
    uint32_t x = a->side[0]->about[before].grid, y = a->side[1]->about[after].grid;
    return x != HD_NONE && y != HD_NONE && a->out->text_of[0][x] == a->out->text_of[1][y];
}

/* 0: no; by their names, by grid, by the order alone. */
static int resemble(aligner *a, uint32_t before, uint32_t after, int how)
{
    if (!are_of_one_kind(a, 0, before, after)) return 0;
    if (how == 0) return have_one_short_name(a, before, after);
    if (!are_like(a->out->calls[0][before], a->out->calls[1][after])) return 0;
    return how > 1 || have_one_grid(a, before, after);
}

enum { WINDOW = 64 }; /* how many that are free are looked at for one: linear */

/* Matches the remaining items below one node. */
static bool align_group(aligner *a, const children *all, uint32_t before, uint32_t after)
{
    for (int how = 0; how < 3; how++) {
        uint32_t from = all[0].first[before + 1], end = all[0].first[before + 2];
        for (uint32_t i = all[1].first[after + 1]; i < all[1].first[after + 2]; i++) {
            uint32_t item = all[1].list[i];
            if (!is_free(a, 1, item) || !diff_is_work(diff_key(a->side[1], item)->kind)) continue;
            while (from < end && !is_free(a, 0, all[0].list[from])) from++;
            for (uint32_t k = from; k < end && k < from + WINDOW; k++) {
                uint32_t other = all[0].list[k];
                if (!is_free(a, 0, other) || !diff_is_work(diff_key(a->side[0], other)->kind) ||
                    !resemble(a, other, item, how))
                    continue;
                if (!add_pair(a, other, item, DIFF_RENAMED)) return false;
                break;
            }
        }
    }
    return true;
}

/* Before the remaining items are taken as renamed: one became two, or two became one. */
static bool split_group(aligner *a, const children *all, uint32_t before, uint32_t after)
{
    uint32_t left[2][3], count[2] = {0, 0};
    const uint32_t node[2] = {before, after};
    for (int h = 0; h < 2; h++)
        for (uint32_t i = all[h].first[node[h] + 1]; i < all[h].first[node[h] + 2] && count[h] < 3; i++)
            if (is_free(a, h, all[h].list[i]) && diff_is_work(diff_key(a->side[h], all[h].list[i])->kind))
                left[h][count[h]++] = all[h].list[i];
    for (int h = 0; h < 2; h++) {
        if (count[h] != 2 || count[!h] != 1 || !are_parts(a, h, left[h][0], left[h][1], left[!h][0])) continue;
        if (!add_pair(a, left[0][0], left[1][0], h ? DIFF_SPLIT : DIFF_FUSED)) return false;
        a->out->pairs[a->out->count - 1].more[h] = left[h][1];
        a->out->pair_of[h][left[h][1]] = (uint32_t)a->out->count - 1;
    }
    return true;
}

static bool align_below_nodes(aligner *a)
{
    children all[2] = {{0}, {0}};
    bool fine = true;
    for (int h = 0; fine && h < 2; h++)
        fine = find_children(&all[h], a->side[h]->items.count, a->side[h]->nodes.count, node_of_item, a->side[h]);
    for (uint32_t i = 0; fine && i <= a->side[1]->nodes.count; i++) {
        uint32_t after = i == a->side[1]->nodes.count ? HD_NONE : i;
        uint32_t before = after == HD_NONE ? HD_NONE : a->out->node_of[1][after];
        if (after != HD_NONE && before == HD_NONE) continue;
        fine = split_group(a, all, before, after) && align_group(a, all, before, after);
    }
    for (int h = 0; h < 2; h++) {
        free(all[h].first);
        free(all[h].list);
    }
    return fine;
}

/* The same name anywhere, those of one name in their order. */
static bool align_by_name(aligner *a)
{
    gpu_groups names = {.key_size = sizeof(diff_item_key)};
    uint32_t *next = malloc(((size_t)a->side[0]->items.count + 1) * sizeof *next), *first = NULL, *last = NULL;
    size_t first_capacity = 0, last_capacity = 0;
    bool fine = next != NULL;
    for (uint32_t i = 0; fine && i < a->side[0]->items.count; i++) {
        const diff_item_key key = {diff_key(a->side[0], i)->kind, 0, text_of_item(a, 0, i)};
        if (!is_free(a, 0, i) || !diff_is_work(key.kind)) continue;
        uint32_t count = names.count, group = gpu_group(&names, &key);
        fine = group != HD_NONE && hd_grow((void **)&first, &first_capacity, group, sizeof *first) &&
               hd_grow((void **)&last, &last_capacity, group, sizeof *last);
        if (!fine) break;
        if (group == count)
            first[group] = i;
        else
            next[last[group]] = i;
        last[group] = i;
        next[i] = HD_NONE;
    }
    uint32_t known = names.count;
    for (uint32_t i = 0; fine && i < a->side[1]->items.count; i++) {
        const diff_item_key key = {diff_key(a->side[1], i)->kind, 0, text_of_item(a, 1, i)};
        if (!is_free(a, 1, i) || !diff_is_work(key.kind)) continue;
        uint32_t group = gpu_group(&names, &key);
        fine = group != HD_NONE;
        if (!fine || group >= known || first[group] == HD_NONE) continue;
        uint32_t other = first[group];
        first[group] = next[other];
        fine = add_pair(a, other, i, DIFF_PLACE);
    }
    gpu_groups_deinit(&names);
    free(next);
    free(first);
    free(last);
    return fine;
}

/* Matches items with the same neighbours on both sides. */
static bool align_by_order(aligner *a)
{
    for (uint32_t i = 0; i < a->side[0]->items.count; i++) {
        uint32_t last = a->side[0]->about[i].before;
        if (!is_free(a, 0, i) || last == HD_NONE || a->out->pair_of[0][last] == HD_NONE) continue;
        uint32_t there = a->out->pairs[a->out->pair_of[0][last]].item[1];
        uint32_t other = there == HD_NONE ? HD_NONE : a->side[1]->about[there].after;
        if (!is_free(a, 1, other) || !resemble(a, i, other, 2)) continue;
        if (!are_like(a->out->time[0][i] / 2, a->out->time[1][other] / 2) && !have_one_grid(a, i, other)) continue;
        if (!add_pair(a, i, other, DIFF_ORDER)) return false;
    }
    return true;
}

/* ---- streams and graphs ---- */

GPU_KEY
typedef struct stream_vote {
    int64_t before, after;
} stream_vote;
GPU_KEY_END

/* Which stream of before is which of after: streams have other numbers in each run. Those that most calls are on. */
static bool find_moved(aligner *a)
{
    gpu_groups before = {.key_size = sizeof(int64_t)}, votes = {.key_size = sizeof(stream_vote)};
    double *weight = NULL, *best = NULL;
    int64_t *chosen = NULL;
    size_t weight_capacity = 0, best_capacity = 0, chosen_capacity = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < a->out->count; i++) {
        const diff_pair *p = &a->out->pairs[i];
        if (p->item[0] == HD_NONE || p->item[1] == HD_NONE || !diff_is_work(diff_key(a->side[0], p->item[0])->kind))
            continue;
        const stream_vote key = {a->side[0]->about[p->item[0]].stream, a->side[1]->about[p->item[1]].stream};
        uint32_t count = votes.count, vote = gpu_group(&votes, &key), stream = gpu_group(&before, &key.before);
        fine = vote != HD_NONE && stream != HD_NONE &&
               hd_grow((void **)&weight, &weight_capacity, vote, sizeof *weight) &&
               hd_grow((void **)&best, &best_capacity, stream, sizeof *best) &&
               hd_grow((void **)&chosen, &chosen_capacity, stream, sizeof *chosen);
        if (!fine) break;
        if (vote == count) weight[vote] = 0;
        weight[vote] += a->out->calls[0][p->item[0]];
    }
    for (uint32_t s = 0; fine && s < before.count; s++) best[s] = -1;
    for (uint32_t v = 0; fine && v < votes.count; v++) {
        const stream_vote *key = gpu_group_key(&votes, v);
        uint32_t stream = gpu_group(&before, &key->before);
        bool keeps = key->before == key->after;
        if (weight[v] < best[stream] || (weight[v] == best[stream] && !keeps)) continue;
        best[stream] = weight[v];
        chosen[stream] = key->after;
    }
    for (size_t i = 0; fine && i < a->out->count; i++) {
        diff_pair *p = &a->out->pairs[i];
        if (p->item[0] == HD_NONE || p->item[1] == HD_NONE || !diff_is_work(diff_key(a->side[0], p->item[0])->kind))
            continue;
        const diff_item *x = &a->side[0]->about[p->item[0]], *y = &a->side[1]->about[p->item[1]];
        bool plain = p->match == DIFF_SAME || p->match == DIFF_PLACE;
        if (plain && (2 * x->in_graphs > x->works) != (2 * y->in_graphs > y->works))
            p->match = DIFF_GRAPH;
        else if (plain && chosen[gpu_group(&before, &x->stream)] != y->stream)
            p->match = DIFF_MOVED;
    }
    gpu_groups_deinit(&before);
    gpu_groups_deinit(&votes);
    free(weight);
    free(best);
    free(chosen);
    return fine;
}

/* ---- all ---- */

static bool add_rest(aligner *a)
{
    for (int h = 0; h < 2; h++)
        for (uint32_t i = 0; i < a->side[h]->items.count; i++)
            if (is_free(a, h, i) && !add_pair(a, h ? HD_NONE : i, h ? i : HD_NONE, h ? DIFF_NEW : DIFF_GONE))
                return false;
    return true;
}

hd_status diff_align(diff_aligned *out, const diff_units *units, hd_error *err)
{
    aligner a = {.out = out, .units = units, .side = {units->half[0].side, units->half[1].side}};
    *out = (diff_aligned){0};
    bool fine = share_texts(&a) && (a.short_of = calloc((size_t)out->texts.count + 1, sizeof *a.short_of)) &&
                sum_items(&a) && align_nodes(&a) && know_items(&a, 0) && know_items(&a, 1) && align_by_key(&a, 1) &&
                align_by_key(&a, 0) && know_names(&a) && align_gaps(&a);
    if (fine) {
        find_parts(&a, 1);
        find_parts(&a, 0);
        fine = align_below_nodes(&a);
    }
    if (fine) {
        find_parts(&a, 1);
        find_parts(&a, 0);
        fine = find_free_parts(&a, 1) && find_free_parts(&a, 0) && align_by_name(&a) && align_by_order(&a) &&
               find_moved(&a) && add_rest(&a);
    }
    gpu_texts_deinit(&a.shorts);
    free(a.name_before);
    free(a.short_of);
    for (int h = 0; h < 2; h++) {
        free(a.by_place[h]);
        free(a.is_level[h]);
        free(a.free[h]);
        free(a.node_calls[h]);
        gpu_groups_deinit(&a.nodes[h]);
        gpu_groups_deinit(&a.items[h]);
    }
    return fine ? HD_OK : HD_NOMEM(err);
}

void diff_aligned_deinit(diff_aligned *d)
{
    for (int h = 0; h < 2; h++) {
        free(d->text_of[h]);
        free(d->node_of[h]);
        free(d->pair_of[h]);
        free(d->time[h]);
        free(d->calls[h]);
    }
    gpu_texts_deinit(&d->texts);
    free(d->pairs);
}
