/* tree.c - the callees of each node in the order of their names
 *
 * Names are sorted once and nodes by the rank of theirs, so that a tree of few names and many nodes costs two passes.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "flame/flame.h"

typedef struct ranked {
    uint64_t prefix[2]; /* the first bytes, so that most comparisons need no more */
    hd_string text;
    uint32_t name;
} ranked;

static uint64_t prefix_of(hd_string text, size_t at)
{
    uint64_t prefix = 0;
    for (size_t i = at; i < at + 8; i++) prefix = prefix << 8 | (i < text.size ? (unsigned char)text.data[i] : 0);
    return prefix;
}

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    for (int i = 0; i < 2; i++) {
        if (x->prefix[i] != y->prefix[i]) return x->prefix[i] < y->prefix[i] ? -1 : 1;
    }
    size_t shorter = x->text.size < y->text.size ? x->text.size : y->text.size;
    int order = shorter ? memcmp(x->text.data, y->text.data, shorter) : 0;
    if (order) return order;
    return (x->text.size > y->text.size) - (x->text.size < y->text.size);
}

hd_status flame_sort_names(uint32_t **out, const hd_stacks *stacks, hd_error *err)
{
    uint32_t count = hd_stacks_name_count(stacks);
    ranked *list = malloc(count * sizeof *list);
    *out = malloc(count * sizeof **out);
    if (!list || !*out) {
        free(list);
        free(*out);
        *out = NULL;
        return HD_NOMEM(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        hd_string text = hd_stacks_text(stacks, i);
        list[i] = (ranked){{prefix_of(text, 0), prefix_of(text, 8)}, text, i};
    }
    hd_sort(list, count, sizeof *list, compare);
    for (uint32_t i = 0; i < count; i++) (*out)[i] = list[i].name;
    free(list);
    return HD_OK;
}

static hd_status rank_names(uint32_t **out, const hd_stacks *stacks, hd_error *err)
{
    uint32_t *sorted, count = hd_stacks_name_count(stacks);
    HD_TRY(flame_sort_names(&sorted, stacks, err));
    *out = malloc(count * sizeof **out);
    for (uint32_t i = 0; *out && i < count; i++) (*out)[sorted[i]] = i;
    free(sorted);
    return *out ? HD_OK : HD_NOMEM(err);
}

/* Nodes except the root, by the rank of their names. */
static hd_status sort_nodes(uint32_t *out, const uint32_t *rank, const hd_stacks *stacks, hd_error *err)
{
    uint32_t count = hd_stacks_count(stacks), names = hd_stacks_name_count(stacks);
    uint32_t *next = calloc((size_t)names + 1, sizeof *next);
    if (!next) return HD_NOMEM(err);
    for (uint32_t n = 1; n < count; n++) next[rank[hd_stacks_at(stacks, n).name] + 1]++;
    for (uint32_t i = 0; i < names; i++) next[i + 1] += next[i];
    for (uint32_t n = 1; n < count; n++) out[next[rank[hd_stacks_at(stacks, n).name]]++] = n;
    free(next);
    return HD_OK;
}

/* Distributes nodes to their callers, stably. */
static void part_nodes(flame_tree *tree, const uint32_t *sorted, const hd_stacks *stacks)
{
    uint32_t count = hd_stacks_count(stacks);
    for (uint32_t n = 1; n < count; n++) tree->first[hd_stacks_at(stacks, n).caller + 1]++;
    for (uint32_t n = 0; n < count; n++) tree->first[n + 1] += tree->first[n];
    for (uint32_t i = 0; i + 1 < count; i++)
        tree->list[tree->first[hd_stacks_at(stacks, sorted[i]).caller]++] = sorted[i];
    /* each first now is that of the next one */
    memmove(tree->first + 1, tree->first, count * sizeof *tree->first);
    tree->first[0] = 0;
}

hd_status flame_tree_init(flame_tree *out, const hd_stacks *stacks, hd_error *err)
{
    size_t count = hd_stacks_count(stacks);
    uint32_t *rank = NULL, *sorted = malloc(count * sizeof *sorted);
    *out = (flame_tree){calloc(count + 1, sizeof *out->first), malloc(count * sizeof *out->list)};
    hd_status status = sorted && out->first && out->list ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = rank_names(&rank, stacks, err);
    if (status == HD_OK) status = sort_nodes(sorted, rank, stacks, err);
    if (status == HD_OK) part_nodes(out, sorted, stacks);
    free(rank);
    free(sorted);
    if (status != HD_OK) flame_tree_deinit(out);
    return status;
}

void flame_tree_deinit(flame_tree *tree)
{
    free(tree->first);
    free(tree->list);
    *tree = (flame_tree){0};
}
