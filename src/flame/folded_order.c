/* folded_order.c - sorts folded lines as `LC_ALL=C sort` does
 *
 * The lines below a node are, for each callee, its own ("name weight") and those of its callees ("name;…"). So the
 * order depends on "name " and "name;" of all names. Names are sorted once: no byte of a name is below a space, so that
 * "name " sorts like the name, and "name;" after names that continue with a byte below ';'. Nodes are then distributed
 * to their callers by a counting sort. Weights matter only if one name is another one plus a space and more ("a", "a
 * b"): "a 5" is after "a 4 b;…" and before "a 6;…". Such lines are few and are moved into place.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "flame/folded.h"

/* ---- names ---- */

typedef struct ranks {
    uint32_t *rank;   /* by name * 2, of "name "; and + 1, of "name;" */
    uint8_t *goes_on; /* by name: whether another name continues it with a space */
    uint32_t count;
} ranks;

static void ranks_deinit(ranks *r)
{
    free(r->rank);
    free(r->goes_on);
}

/* The byte with which `longer` continues `name`; -1: it does not begin with it. */
static int goes_on_with(hd_string name, hd_string longer)
{
    if (longer.size <= name.size || (name.size && memcmp(name.data, longer.data, name.size) != 0)) return -1;
    return (unsigned char)longer.data[name.size];
}

/* open: names that are prefixes of the current one and whose "name;" is still to come, shortest first. */
static void rank_sorted(ranks *out, const uint32_t *sorted, uint32_t *open, const hd_stacks *stacks)
{
    uint32_t next = 0, depth = 0, count = out->count / 2;
    for (uint32_t i = 0; i < count; i++) {
        hd_string text = hd_stacks_text(stacks, sorted[i]);
        while (depth) {
            int byte = goes_on_with(hd_stacks_text(stacks, open[depth - 1]), text);
            if (byte == ' ') out->goes_on[open[depth - 1]] = 1;
            if (byte >= 0 && byte < ';') break;
            out->rank[open[--depth] << 1 | 1] = next++;
        }
        out->rank[sorted[i] << 1] = next++;
        open[depth++] = sorted[i];
    }
    while (depth) out->rank[open[--depth] << 1 | 1] = next++;
}

static hd_status rank_names(ranks *out, const hd_stacks *stacks, hd_error *err)
{
    size_t names = hd_stacks_name_count(stacks);
    uint32_t *sorted = NULL, *open = malloc(names * sizeof *open);
    *out = (ranks){malloc(names * 2 * sizeof *out->rank), calloc(names, 1), (uint32_t)(names * 2)};
    hd_status status = open && out->rank && out->goes_on ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = flame_sort_names(&sorted, stacks, err);
    if (status == HD_OK) rank_sorted(out, sorted, open, stacks);
    free(sorted);
    free(open);
    return status;
}

/* ---- items ---- */

/* Nodes that have lines below them: callers of a node with a line. */
static uint8_t *find_callers(const folded_lines *lines)
{
    uint32_t count = hd_stacks_count(lines->stacks);
    uint8_t *calls = calloc(count, 1);
    for (uint32_t n = count; calls && n-- > 1;) {
        if (lines->has_line[n] || calls[n]) calls[hd_stacks_at(lines->stacks, n).caller] = 1;
    }
    return calls;
}

typedef struct items {
    const folded_lines *lines;
    const uint8_t *calls;
    const uint32_t *rank;
} items;

static bool exists(const items *all, uint32_t item)
{
    return item & 1 ? all->calls[item >> 1] : all->lines->has_line[item >> 1];
}

static uint32_t rank_of(const items *all, uint32_t item)
{
    return all->rank[hd_stacks_at(all->lines->stacks, item >> 1).name << 1 | (item & 1)];
}

/* All items by their rank. next: by rank, zeros. */
static void sort_items(uint32_t *out, const items *all, uint32_t *next, uint32_t rank_count)
{
    uint32_t end = hd_stacks_count(all->lines->stacks) << 1;
    for (uint32_t item = 2; item < end; item++) {
        if (exists(all, item)) next[rank_of(all, item) + 1]++;
    }
    for (uint32_t i = 0; i < rank_count; i++) next[i + 1] += next[i];
    for (uint32_t item = 2; item < end; item++) {
        if (exists(all, item)) out[next[rank_of(all, item)]++] = item;
    }
}

/* Distributes items to their callers, stably. */
static void part_items(folded_order *order, const items *all, const uint32_t *sorted)
{
    const hd_stacks *stacks = all->lines->stacks;
    uint32_t count = hd_stacks_count(stacks);
    for (uint32_t item = 2; item < count << 1; item++) {
        if (exists(all, item)) order->first[hd_stacks_at(stacks, item >> 1).caller + 1]++;
    }
    for (uint32_t n = 0; n < count; n++) order->first[n + 1] += order->first[n];
    for (uint32_t i = 0, end = order->first[count]; i < end; i++)
        order->list[order->first[hd_stacks_at(stacks, sorted[i] >> 1).caller]++] = sorted[i];
    /* each first now is that of the next one */
    memmove(order->first + 1, order->first, count * sizeof *order->first);
    order->first[0] = 0;
}

/* ---- lines placed by their weight ---- */

static size_t ending_of(char out[FOLDED_WEIGHT_BYTES], const folded_lines *lines, uint32_t item)
{
    if ((item & 1) == 0) return folded_weight(out, lines, item >> 1);
    out[0] = ';';
    return 1;
}

static unsigned char text_at(hd_string name, const char *ending, size_t at)
{
    return (unsigned char)(at < name.size ? name.data[at] : ending[at - name.size]);
}

/* Is the text of x before that of y? */
static bool is_before(const folded_lines *lines, uint32_t x, uint32_t y)
{
    char x_end[FOLDED_WEIGHT_BYTES], y_end[FOLDED_WEIGHT_BYTES];
    hd_string x_name = hd_stacks_text(lines->stacks, hd_stacks_at(lines->stacks, x >> 1).name);
    hd_string y_name = hd_stacks_text(lines->stacks, hd_stacks_at(lines->stacks, y >> 1).name);
    size_t x_size = x_name.size + ending_of(x_end, lines, x), y_size = y_name.size + ending_of(y_end, lines, y);
    size_t shorter = x_name.size < y_name.size ? x_name.size : y_name.size;
    int order = shorter ? memcmp(x_name.data, y_name.data, shorter) : 0;
    if (order) return order < 0;
    for (size_t i = shorter; i < x_size && i < y_size; i++) {
        unsigned char a = text_at(x_name, x_end, i), b = text_at(y_name, y_end, i);
        if (a != b) return a < b;
    }
    return x_size < y_size;
}

/* The index after the items of [from, until) that come before `item`. */
static uint32_t place_of(const folded_order *order, const folded_lines *lines, uint32_t item, uint32_t from,
                         uint32_t until)
{
    HD_PARTITION_POINT(from, until, at, is_before(lines, order->list[at], item));
    return from;
}

/* From last to first, so that the items after one are already in place. */
static void settle(folded_order *order, const folded_lines *lines, const uint8_t *goes_on)
{
    for (uint32_t n = 0; n < hd_stacks_count(lines->stacks); n++) {
        for (uint32_t i = order->first[n + 1]; i-- > order->first[n];) {
            uint32_t item = order->list[i];
            if (item & 1 || !goes_on[hd_stacks_at(lines->stacks, item >> 1).name]) continue;
            uint32_t at = place_of(order, lines, item, i + 1, order->first[n + 1]) - 1;
            memmove(&order->list[i], &order->list[i + 1], (at - i) * sizeof *order->list);
            order->list[at] = item;
        }
    }
}

/* ---- all of it ---- */

hd_status folded_order_init(folded_order *out, const folded_lines *lines, hd_error *err)
{
    size_t count = hd_stacks_count(lines->stacks);
    ranks names = {0};
    *out = (folded_order){0};
    if (count > INT32_MAX) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^31 frames");
    uint8_t *calls = find_callers(lines);
    uint32_t *sorted = malloc(count * 2 * sizeof *sorted), *next = NULL;
    *out = (folded_order){calloc(count + 1, sizeof *out->first), malloc(count * 2 * sizeof *out->list)};
    hd_status status = calls && sorted && out->first && out->list ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = rank_names(&names, lines->stacks, err);
    if (status == HD_OK && !(next = calloc((size_t)names.count + 1, sizeof *next))) status = HD_NOMEM(err);
    if (status == HD_OK) {
        const items all = {lines, calls, names.rank};
        sort_items(sorted, &all, next, names.count);
        part_items(out, &all, sorted);
        settle(out, lines, names.goes_on);
    }
    ranks_deinit(&names);
    free(calls);
    free(sorted);
    free(next);
    if (status != HD_OK) folded_order_deinit(out);
    return status;
}

void folded_order_deinit(folded_order *order)
{
    free(order->first);
    free(order->list);
    *order = (folded_order){0};
}
