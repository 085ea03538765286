/* diff.c - merges two flames into one tree, with the weights of both
 *
 * Frames match if their names and those of all their callers are equal. Kernels are recompiled with other template
 * arguments when libraries or shapes change, so kernels that only one side has match kernels of the other side with the
 * same short name. Matching goes level by level, after the callers were matched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "flame/flame.h"
#include "heddle/names.h"

enum { NEW, BASE, SIDES };

/* A kernel of one side under a caller of the common tree. */
typedef struct kernel {
    uint32_t caller, shortened, name; /* in the common tree; `shortened` in its own names */
    uint32_t side, node;              /* where it is from */
} kernel;

typedef struct joined {
    hd_stacks *stacks, *shorts; /* of `shorts` only the names are used */
    const hd_flame *flames[SIDES];
    uint32_t *names[SIDES];  /* by name of a side: name of the common tree, HD_NONE: not mapped yet */
    uint32_t *levels[SIDES]; /* nodes by their depth */
    uint32_t *nodes[SIDES];  /* by node of a side: that of the common tree */
    uint32_t counts[SIDES];
    kernel *kernels;
    uint32_t *short_names; /* by name of the common tree: its short name, HD_NONE: not computed yet */
    size_t short_capacity;
    int64_t *weights; /* the arrays of the view: self, total, base_self, base_total */
    uint64_t *works;  /* count, base_count */
} joined;

static void joined_free(joined *join)
{
    if (!join) return;
    hd_stacks_free(join->stacks);
    hd_stacks_free(join->shorts);
    for (int side = 0; side < SIDES; side++) {
        free(join->names[side]);
        free(join->levels[side]);
        free(join->nodes[side]);
    }
    free(join->kernels);
    free(join->short_names);
    free(join->weights);
    free(join->works);
    free(join);
}

/* The nodes of a tree except its root, in order of depth, stably. */
static hd_status sort_by_depth(uint32_t *out, const hd_stacks *stacks, hd_error *err)
{
    uint32_t count = hd_stacks_count(stacks), deepest = 0;
    for (uint32_t n = 1; n < count; n++) {
        uint32_t depth = hd_stacks_at(stacks, n).depth;
        if (depth > deepest) deepest = depth;
    }
    uint32_t *next = calloc((size_t)deepest + 2, sizeof *next);
    if (!next) return HD_NOMEM(err);
    for (uint32_t n = 1; n < count; n++) next[hd_stacks_at(stacks, n).depth + 1]++;
    for (uint32_t d = 0; d <= deepest; d++) next[d + 1] += next[d];
    for (uint32_t n = 1; n < count; n++) out[next[hd_stacks_at(stacks, n).depth]++] = n;
    free(next);
    return HD_OK;
}

static hd_status prepare_side(joined *join, int side, const hd_flame *flame, hd_error *err)
{
    join->flames[side] = flame;
    join->counts[side] = flame->stacks ? hd_stacks_count(flame->stacks) : 1;
    uint32_t names = flame->stacks ? hd_stacks_name_count(flame->stacks) : 1;
    join->names[side] = malloc(names * sizeof *join->names[side]);
    join->levels[side] = calloc(join->counts[side], sizeof *join->levels[side]);
    join->nodes[side] = calloc(join->counts[side], sizeof *join->nodes[side]);
    if (!join->names[side] || !join->levels[side] || !join->nodes[side]) return HD_NOMEM(err);
    memset(join->names[side], 0xff, names * sizeof *join->names[side]);
    return flame->stacks ? sort_by_depth(join->levels[side], flame->stacks, err) : HD_OK;
}

static uint32_t name_of(joined *join, int side, uint32_t name)
{
    uint32_t *known = &join->names[side][name];
    if (*known == HD_NONE) {
        hd_string text = hd_stacks_text(join->flames[side]->stacks, name);
        *known = hd_stacks_name(join->stacks, text.data, text.size);
    }
    return *known;
}

/* "[GPU_Kernel]void f<int>(float)" is "f" here. */
static uint32_t shorten(joined *join, uint32_t name)
{
    static const char prefix[] = "[GPU_Kernel]";
    hd_string text = hd_stacks_text(join->stacks, name);
    if (text.size > sizeof prefix - 1 && memcmp(text.data, prefix, sizeof prefix - 1) == 0) {
        text.data += sizeof prefix - 1;
        text.size -= sizeof prefix - 1;
    }
    char shortened[HD_NAME_BYTES];
    return hd_stacks_name(join->shorts, shortened, hd_name_short(shortened, text));
}

static uint32_t short_of(joined *join, uint32_t name)
{
    while (name >= join->short_capacity) {
        size_t capacity = join->short_capacity;
        if (!hd_grow((void **)&join->short_names, &join->short_capacity, capacity, sizeof *join->short_names))
            return HD_NONE;
        memset(join->short_names + capacity, 0xff, (join->short_capacity - capacity) * sizeof *join->short_names);
    }
    if (join->short_names[name] == HD_NONE) join->short_names[name] = shorten(join, name);
    return join->short_names[name];
}

/* Matches the frames of a level except kernels, which go into a list: returns its new size. HD_NONE: no memory. */
static size_t match_level(joined *join, int side, uint32_t depth, uint32_t *at, size_t kernels)
{
    const hd_stacks *from = join->flames[side]->stacks;
    for (; *at + 1 < join->counts[side]; (*at)++) {
        uint32_t node = join->levels[side][*at];
        hd_frame frame = hd_stacks_at(from, node);
        if (frame.depth != depth) break;
        uint32_t caller = join->nodes[side][frame.caller], name = name_of(join, side, frame.name);
        if (name == HD_NONE) return HD_NONE;
        if (frame.kind == HD_FRAME_KERNEL) {
            uint32_t shortened = short_of(join, name);
            if (shortened == HD_NONE) return HD_NONE;
            join->kernels[kernels++] = (kernel){caller, shortened, name, (uint32_t)side, node};
        } else {
            join->nodes[side][node] = hd_stacks_push(join->stacks, caller, name, frame.kind);
            if (join->nodes[side][node] == HD_NONE) return HD_NONE;
        }
    }
    return kernels;
}

static int compare_kernels(const void *a, const void *b)
{
    const kernel *x = a, *y = b;
    if (x->caller != y->caller) return x->caller < y->caller ? -1 : 1;
    if (x->shortened != y->shortened) return x->shortened < y->shortened ? -1 : 1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->side != y->side) return x->side < y->side ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The end of the kernels with equal names under one caller that begin at first. */
static const kernel *same_name(const kernel *first, const kernel *end)
{
    const kernel *k = first + 1;
    while (k < end && k->name == first->name) k++;
    return k;
}

/* The list is sorted by side. */
static bool on_both_sides(const kernel *first, const kernel *end)
{
    return first->side != end[-1].side;
}

/* The name for kernels that differ in template arguments: that of the newer side if it has only one, else "f<…>". */
static uint32_t common_name(joined *join, const kernel *first, const kernel *end)
{
    uint32_t name = HD_NONE;
    size_t names = 0;
    for (const kernel *k = first, *next; k < end; k = next) {
        next = same_name(k, end);
        if (k->side != NEW || on_both_sides(k, next)) continue;
        name = k->name;
        names++;
    }
    if (names == 1) return name;
    char text[HD_NAME_BYTES + 32] = "[GPU_Kernel]";
    size_t size = strlen(text);
    hd_string shortened = hd_stacks_text(join->shorts, first->shortened);
    memcpy(text + size, shortened.data, shortened.size);
    size += shortened.size;
    memcpy(text + size, "<…>", sizeof "<…>" - 1);
    return hd_stacks_name(join->stacks, text, size + sizeof "<…>" - 1);
}

/* Matches kernels with equal short names under one caller. */
static bool match_kernels(joined *join, const kernel *first, const kernel *end)
{
    size_t alone[SIDES] = {0};
    for (const kernel *k = first, *next; k < end; k = next) {
        next = same_name(k, end);
        if (!on_both_sides(k, next)) alone[k->side]++;
    }
    bool meet = alone[NEW] && alone[BASE];
    uint32_t common = meet ? common_name(join, first, end) : HD_NONE;
    if (meet && common == HD_NONE) return false;
    for (const kernel *k = first, *next; k < end; k = next) {
        next = same_name(k, end);
        uint32_t name = meet && !on_both_sides(k, next) ? common : k->name;
        uint32_t node = hd_stacks_push(join->stacks, first->caller, name, HD_FRAME_KERNEL);
        if (node == HD_NONE) return false;
        for (const kernel *each = k; each < next; each++) join->nodes[each->side][each->node] = node;
    }
    return true;
}

static bool match_all_kernels(joined *join, size_t count)
{
    if (count == 0) return true;
    hd_sort(join->kernels, count, sizeof *join->kernels, compare_kernels);
    for (size_t i = 0, next; i < count; i = next) {
        const kernel *first = &join->kernels[i];
        for (next = i + 1; next < count && join->kernels[next].caller == first->caller &&
                           join->kernels[next].shortened == first->shortened;)
            next++;
        if (!match_kernels(join, first, join->kernels + next)) return false;
    }
    return true;
}

static hd_status match_trees(joined *join, hd_error *err)
{
    uint32_t at[SIDES] = {0};
    for (uint32_t depth = 1; at[NEW] + 1 < join->counts[NEW] || at[BASE] + 1 < join->counts[BASE]; depth++) {
        size_t kernels = 0;
        for (int side = 0; side < SIDES && kernels != HD_NONE; side++)
            kernels = match_level(join, side, depth, &at[side], kernels);
        if (kernels == HD_NONE || !match_all_kernels(join, kernels)) return HD_NOMEM(err);
    }
    return HD_OK;
}

static void add_weights(const joined *join, int side, int64_t *self, uint64_t *count)
{
    const hd_flame *flame = join->flames[side];
    for (uint32_t n = 0; flame->stacks && n < join->counts[side]; n++) {
        uint32_t node = join->nodes[side][n];
        self[node] = flame_sum(self[node], flame->self[n]);
        count[node] += flame->count[n];
    }
}

static hd_status weigh(flame_view *out, joined *join, hd_error *err)
{
    size_t count = hd_stacks_count(join->stacks);
    join->weights = calloc(count * 4, sizeof *join->weights);
    join->works = calloc(count * 2, sizeof *join->works);
    if (!join->weights || !join->works) return HD_NOMEM(err);
    int64_t *self = join->weights, *total = self + count, *base_self = total + count, *base_total = base_self + count;
    add_weights(join, NEW, self, join->works);
    add_weights(join, BASE, base_self, join->works + count);
    flame_total(total, self, join->stacks);
    flame_total(base_total, base_self, join->stacks);
    *out = (flame_view){join->stacks, self, total, join->works, base_self, base_total, join->works + count, join};
    return HD_OK;
}

static hd_status join_flames(flame_view *out, joined *join, const hd_flame *flame, const hd_flame *base, hd_error *err)
{
    static const hd_flame nothing;
    HD_TRY(hd_stacks_new(&join->stacks, err));
    HD_TRY(hd_stacks_new(&join->shorts, err));
    HD_TRY(prepare_side(join, NEW, flame, err));
    HD_TRY(prepare_side(join, BASE, base ? base : &nothing, err));
    size_t kernels = (size_t)join->counts[NEW] + join->counts[BASE];
    join->kernels = malloc(kernels * sizeof *join->kernels);
    if (!join->kernels) return HD_NOMEM(err);
    HD_TRY(match_trees(join, err));
    return weigh(out, join, err);
}

hd_status flame_view_init(flame_view *out, const hd_flame *flame, const hd_flame *base, hd_error *err)
{
    *out = (flame_view){0};
    if (!base && flame->stacks) {
        *out = (flame_view){.stacks = flame->stacks, .self = flame->self, .total = flame->total, .count = flame->count};
        return HD_OK;
    }
    joined *join = calloc(1, sizeof *join);
    if (!join) return HD_NOMEM(err);
    hd_status status = join_flames(out, join, flame, base, err);
    if (status != HD_OK) joined_free(join);
    /* an empty base flame has weights as well */
    if (status == HD_OK && !base) out->base_self = out->base_total = NULL, out->base_count = NULL;
    return status;
}

void flame_view_deinit(flame_view *view)
{
    joined_free(view->memory);
    *view = (flame_view){0};
}
