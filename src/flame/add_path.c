/* add_path.c - maps stacks of a trace to paths of the flame
 *
 * The node of a stack under a base (the root, a group, a leaf that comes first) is cached, so that each stack is walked
 * once per base and every further item costs one lookup. Mostly the root is the only base: its nodes are in an array,
 * those of other bases in a hash table.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "flame/add.h"
#include "model/roles/trace_roles.h"

/* More frames than any picture needs; about 4 GB. */
enum { FLAME_NODES = 1 << 26 };

/* ---- what is remembered ---- */

/* The source may have grown. */
static bool widen_root(flame_adder *a)
{
    size_t count = hd_stacks_count(a->source), old = a->under_root_count;
    if (old && count < old + old / 2) count = old + old / 2;
    uint32_t *wider = old ? realloc(a->under_root, count * sizeof *wider) : calloc(count, sizeof *wider);
    if (!wider) return false;
    if (old) memset(wider + old, 0, (count - old) * sizeof *wider);
    a->under_root = wider;
    a->under_root_count = count;
    return true;
}

static bool remember(flame_adder *a, uint32_t base, uint32_t stack, uint32_t node)
{
    if (base == HD_STACK_NONE) {
        if (stack >= a->under_root_count && !widen_root(a)) return false;
        a->under_root[stack] = node;
        return true;
    }
    return hd_map_set(&a->memo, base, stack, node);
}

/* The node of a stack under a base; 0: not mapped yet. */
static uint32_t known(const flame_adder *a, uint32_t base, uint32_t stack)
{
    if (base == HD_STACK_NONE) return stack < a->under_root_count ? a->under_root[stack] : 0;
    uint32_t node = 0;
    hd_map_get(&node, &a->memo, base, stack);
    return node;
}

/* ---- the source ---- */

void flame_paths_deinit(flame_adder *adder)
{
    free(adder->name_of);
    free(adder->passes);
    free(adder->under_root);
    hd_map_deinit(&adder->memo);
    free(adder->path);
}

hd_status flame_source(flame_adder *adder, const hd_stacks *stacks)
{
    adder->source = stacks;
    adder->name_count = 0;
    hd_map_clear(&adder->memo);
    free(adder->under_root);
    adder->under_root = NULL;
    adder->under_root_count = 0;
    adder->no_stack = hd_stacks_name(adder->flame->stacks, FLAME_NO_STACK, strlen(FLAME_NO_STACK));
    size_t expected = hd_stacks_count(stacks) + (size_t)hd_stacks_count(stacks) / 2; /* the same, and leaves */
    return adder->no_stack != HD_NONE
               ? flame_reserve(adder->flame, expected < FLAME_NODES ? expected : FLAME_NODES, adder->err)
               : HD_NOMEM(adder->err);
}

/* Names that came to the source since. */
static bool take_names(flame_adder *a)
{
    size_t count = hd_stacks_name_count(a->source), room = count + count / 2 + 64;
    uint32_t *name_of = realloc(a->name_of, room * sizeof *name_of);
    if (name_of) a->name_of = name_of;
    uint8_t *passes = realloc(a->passes, room);
    if (passes) a->passes = passes;
    if (!name_of || !passes) return false;
    memset(name_of + a->name_count, 0xff, (room - a->name_count) * sizeof *name_of);
    memset(passes + a->name_count, 0, room - a->name_count);
    a->name_count = room;
    return true;
}

/* The text of a source frame. Steps are one frame, so that their common parts add up; if steps are grouped by, they
 * keep their numbers. */
static hd_string shown_text(const flame_adder *a, uint32_t name)
{
    hd_string text = hd_stacks_text(a->source, name);
    if (a->options->by != HD_FLAME_BY_STEP && hd_is_profiler_step(text)) text.size = strcspn(text.data, "#");
    return text;
}

/* The name of a frame of the source among the flame's. */
static uint32_t name_of_frame(flame_adder *a, uint32_t name)
{
    if (name >= a->name_count && !take_names(a)) return HD_NONE;
    if (a->name_of[name] == HD_NONE) {
        hd_string text = shown_text(a, name);
        a->name_of[name] = hd_stacks_name(a->flame->stacks, text.data, text.size);
    }
    return a->name_of[name];
}

bool flame_text_passes(flame_adder *adder, const filter_text *texts, size_t count)
{
    return filter_list_passes(&adder->names, texts, count);
}

bool flame_frame_passes(flame_adder *adder, uint32_t stack)
{
    if (adder->names.count == 0) return true;
    uint32_t name = hd_stacks_at(adder->source, stack).name;
    if (name >= adder->name_count && !take_names(adder)) {
        adder->no_memory = true;
        return false;
    }
    if (!adder->passes[name]) {
        hd_string text = hd_stacks_text(adder->source, name), shown = shown_text(adder, name);
        const filter_text texts[] = {{text.data, text.size}, {shown.data, shown.size}};
        adder->passes[name] = flame_text_passes(adder, texts, shown.size == text.size ? 1 : 2) ? 2 : 1;
    }
    return adder->passes[name] == 2;
}

/* ---- paths ---- */

static hd_status push(uint32_t *node, flame_adder *a, uint32_t name, hd_frame_kind kind)
{
    hd_stacks *stacks = a->flame->stacks;
    *node = hd_stacks_push(stacks, *node, name, kind);
    if (*node == HD_NONE) return HD_NOMEM(a->err);
    if (hd_stacks_count(stacks) > FLAME_NODES)
        return hd_error_set(a->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "a flame graph of more than %d frames; fewer names, a shorter time or no grouping make a "
                            "smaller one",
                            FLAME_NODES);
    return *node < a->flame->capacity ? HD_OK : flame_make_room(a->flame, a->err);
}

static hd_status push_frame(uint32_t *node, flame_adder *a, uint32_t stack)
{
    hd_frame frame = hd_stacks_at(a->source, stack);
    return push(node, a, name_of_frame(a, frame.name), frame.kind);
}

/* From the root to the leaf: each caller's place is remembered as well. */
static hd_status walk_down(uint32_t *node, flame_adder *a, uint32_t stack)
{
    uint32_t base = *node, found = 0;
    size_t depth = 0;
    for (; stack != HD_STACK_NONE && (found = known(a, base, stack)) == 0;
         stack = hd_stacks_at(a->source, stack).caller) {
        if (!hd_grow((void **)&a->path, &a->path_capacity, depth, sizeof *a->path)) return HD_NOMEM(a->err);
        a->path[depth++] = stack;
    }
    *node = stack == HD_STACK_NONE ? base : found;
    while (depth--) {
        HD_TRY(push_frame(node, a, a->path[depth]));
        if (!remember(a, base, a->path[depth], *node)) return HD_NOMEM(a->err);
    }
    return HD_OK;
}

/* From the leaf to the root. */
static hd_status walk_up(uint32_t *node, flame_adder *a, uint32_t stack)
{
    uint32_t base = *node, found = known(a, base, stack);
    if (found) {
        *node = found;
        return HD_OK;
    }
    for (uint32_t at = stack; at != HD_STACK_NONE; at = hd_stacks_at(a->source, at).caller)
        HD_TRY(push_frame(node, a, at));
    return remember(a, base, stack, *node) ? HD_OK : HD_NOMEM(a->err);
}

static void weigh(flame_adder *a, uint32_t node, bool no_stack, int64_t weight)
{
    hd_flame *flame = a->flame;
    flame->self[node] = flame_sum(flame->self[node], weight);
    flame->count[node]++;
    if (!no_stack) return;
    flame->no_stack = flame_sum(flame->no_stack, weight);
    flame->no_stack_count++;
}

hd_status flame_put(flame_adder *adder, uint32_t group, uint32_t stack, flame_leaf leaf, bool mark, int64_t weight)
{
    uint32_t node = group;
    bool no_stack = stack == HD_STACK_NONE && mark, has_leaf = leaf.name != HD_NONE;
    bool first = adder->options->reverse || adder->options->by == HD_FLAME_BY_NAME;
    if (has_leaf && first) HD_TRY(push(&node, adder, leaf.name, leaf.kind));
    if (no_stack)
        HD_TRY(push(&node, adder, adder->no_stack, HD_FRAME_MARK));
    else if (stack != HD_STACK_NONE)
        HD_TRY(adder->options->reverse ? walk_up(&node, adder, stack) : walk_down(&node, adder, stack));
    if (has_leaf && !first) HD_TRY(push(&node, adder, leaf.name, leaf.kind));
    weigh(adder, node, no_stack, weight);
    return HD_OK;
}

hd_status flame_put_own(flame_adder *adder, uint32_t group, uint32_t stack, bool callers, int64_t weight)
{
    hd_frame frame = hd_stacks_at(adder->source, stack);
    const flame_leaf none = {HD_NONE, HD_FRAME_UNKNOWN};
    if (callers && !adder->options->reverse && adder->options->by != HD_FLAME_BY_NAME)
        return flame_put(adder, group, stack, none, true, weight);
    flame_leaf leaf = {name_of_frame(adder, frame.name), frame.kind};
    if (leaf.name == HD_NONE) return HD_NOMEM(adder->err);
    return flame_put(adder, group, callers ? frame.caller : HD_STACK_NONE, leaf, false, weight);
}
