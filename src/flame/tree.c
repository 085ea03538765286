/* tree.c - the callees of each node in the order of their names
 *
 * Names are sorted once and nodes by the rank of theirs, so that a tree of few names and many nodes costs two passes.
 */
#include <stdlib.h>

#include "base/json/json.h"
#include "base/sorted.h"
#include "flame/flame.h"

/* The callees of each node, by the bytes of their names: those of n are list[first[n]] … list[first[n + 1] - 1]. */
typedef struct flame_tree {
    uint32_t *first; /* by node, and one more */
    uint32_t *list;
} flame_tree;

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

static void tree_deinit(flame_tree *tree)
{
    free(tree->first);
    free(tree->list);
    *tree = (flame_tree){0};
}

static hd_status tree_init(flame_tree *out, const hd_stacks *stacks, hd_error *err)
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
    if (status != HD_OK) tree_deinit(out);
    return status;
}

/* ---- samples ---- */

static bool is_sample(const hd_flame *flame, uint32_t node)
{
    return flame->self[node] != 0 || (flame->weightless && flame->count[node] != 0);
}

/* Names of the frames that lead to a sample. */
static hd_status mark_frames(flame_samples *s, const hd_flame *flame, hd_error *err)
{
    const hd_stacks *stacks = flame->stacks;
    uint32_t count = hd_stacks_count(stacks), names = hd_stacks_name_count(stacks), next = 0;
    uint8_t *leads = calloc(count, 1);
    s->frames = malloc(names * sizeof *s->frames);
    if (!leads || !s->frames) {
        free(leads);
        return HD_NOMEM(err);
    }
    memset(s->frames, 0xff, names * sizeof *s->frames);
    for (uint32_t n = count; n-- > 1;) {
        hd_frame frame = hd_stacks_at(stacks, n);
        leads[n] |= is_sample(flame, n);
        if (!leads[n]) continue;
        leads[frame.caller] = 1;
        s->frames[frame.name] = 0;
        hd_string name = hd_stacks_text(stacks, frame.name);
        s->changed_names += name.size == 0 || !hd_utf8_valid(name.data, name.size, false);
    }
    for (uint32_t i = 0; i < names; i++) {
        if (s->frames[i] == 0) s->frames[i] = next++;
    }
    free(leads);
    return HD_OK;
}

/* An iterative walk with a list of pending nodes. */
static hd_status list_samples(flame_samples *s, const hd_flame *flame, const flame_tree *tree, hd_error *err)
{
    uint32_t count = hd_stacks_count(flame->stacks), waiting = 1;
    uint32_t *list = malloc(count * sizeof *list);
    s->nodes = malloc(count * sizeof *s->nodes);
    if (!list || !s->nodes) {
        free(list);
        return HD_NOMEM(err);
    }
    list[0] = 0;
    while (waiting) {
        uint32_t node = list[--waiting];
        if (node && is_sample(flame, node)) s->nodes[s->count++] = node;
        for (uint32_t i = tree->first[node + 1]; i-- > tree->first[node];) list[waiting++] = tree->list[i];
    }
    free(list);
    return HD_OK;
}

hd_status flame_samples_init(flame_samples *out, const hd_flame *flame, hd_error *err)
{
    flame_tree tree;
    *out = (flame_samples){0};
    HD_TRY(tree_init(&tree, flame->stacks, err));
    hd_status status = mark_frames(out, flame, err);
    if (status == HD_OK) status = list_samples(out, flame, &tree, err);
    tree_deinit(&tree);
    return status;
}

void flame_samples_deinit(flame_samples *samples)
{
    free(samples->frames);
    free(samples->nodes);
}
