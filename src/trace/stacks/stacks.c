/* stacks.c - the tree of frames
 *
 * Nodes are found by (caller, name). A tree may extend a frozen base tree without copying it: the base's nodes are
 * looked up there, and only further nodes are its own.
 */
#include "heddle/stacks.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/stacks/trace_stacks.h"
#include "trace/strings.h"

enum { DEPTH_BITS = 28 };

typedef struct node {
    uint32_t caller, name;
    uint32_t depth : DEPTH_BITS, kind : 32 - DEPTH_BITS; /* hd_frame_kind */
} node;

static_assert(HD_FRAME_KINDS <= 1 << (32 - DEPTH_BITS), "kinds fit");

struct hd_stacks {
    atomic_uint holders;
    bool frozen;
    hd_stacks *base; /* frozen, NULL: none; its nodes are the first here, and its names have the same ids */
    size_t base_count;
    hd_strings names;
    node *nodes;            /* from base_count on */
    size_t count, capacity; /* including those of the base; of `nodes` */
    hd_slots slots;         /* by caller and name; the root is not in it */
    uint64_t large;         /* size in bytes from which on nodes and slots are in files */
};

static const char *const kind_names[HD_FRAME_KINDS] = {
    [HD_FRAME_UNKNOWN] = "",      [HD_FRAME_NATIVE] = "native",
    [HD_FRAME_OS] = "os",         [HD_FRAME_PYTHON] = "python",
    [HD_FRAME_OP] = "op",         [HD_FRAME_ANNOTATION] = "annotation",
    [HD_FRAME_API] = "gpu_api",   [HD_FRAME_KERNEL] = "gpu_kernel",
    [HD_FRAME_COPY] = "gpu_copy", [HD_FRAME_GROUP] = "group",
    [HD_FRAME_MARK] = "mark",
};

const char *hd_frame_kind_name(hd_frame_kind kind)
{
    return kind < HD_FRAME_KINDS ? kind_names[kind] : "";
}

hd_frame_kind hd_frame_kind_of(hd_string name)
{
    for (int i = 1; i < HD_FRAME_KINDS; i++) {
        if (strlen(kind_names[i]) == name.size && memcmp(kind_names[i], name.data, name.size) == 0)
            return (hd_frame_kind)i;
    }
    return HD_FRAME_UNKNOWN;
}

static node *node_at(const hd_stacks *stacks, size_t id)
{
    return id < stacks->base_count ? &stacks->base->nodes[id] : &stacks->nodes[id - stacks->base_count];
}

/* For a tree without slots. */
static bool make_slots(hd_stacks *stacks)
{
    for (size_t i = stacks->base ? stacks->base_count : 1; i < stacks->count; i++) {
        const node *n = &stacks->nodes[i - stacks->base_count];
        if (!hd_large_slots_add(&stacks->slots, hd_hash_pair(n->caller, n->name), (uint32_t)i, stacks->large)) {
            hd_large_slots_deinit(&stacks->slots);
            return false;
        }
    }
    return true;
}

hd_status hd_stacks_new(hd_stacks **out, hd_error *err)
{
    hd_stacks *stacks = calloc(1, sizeof *stacks);
    *out = NULL;
    if (!stacks) return HD_NOMEM(err);
    atomic_init(&stacks->holders, 1);
    hd_status status = hd_strings_init(&stacks->names, err);
    stacks->large = UINT64_MAX;
    if (!status && !hd_large_grow((void **)&stacks->nodes, &stacks->capacity, 0, sizeof *stacks->nodes, UINT64_MAX))
        status = HD_NOMEM(err);
    if (status) {
        hd_stacks_free(stacks);
        return status;
    }
    stacks->nodes[0] = (node){0};
    stacks->count = 1;
    *out = stacks;
    return HD_OK;
}

void hd_stacks_free(hd_stacks *stacks)
{
    if (!stacks || atomic_fetch_sub(&stacks->holders, 1) > 1) return;
    hd_stacks_free(stacks->base);
    hd_strings_deinit(&stacks->names);
    hd_large_free(stacks->nodes);
    hd_large_slots_deinit(&stacks->slots);
    free(stacks);
}

uint32_t hd_stacks_name(hd_stacks *stacks, const char *data, size_t size)
{
    if (size == 0) return 0;
    uint32_t id = hd_strings_intern(&stacks->names, data, size);
    return id == HD_STRING_NONE ? HD_NONE : id;
}

/* The node, or HD_NONE. `of` has `in` among its nodes: itself or its base. */
static uint32_t find(const hd_stacks *in, const hd_stacks *of, uint32_t caller, uint32_t name, uint64_t hash)
{
    uint32_t at;
    HD_SLOTS_FIND(at, &in->slots, hash, node_at(of, at)->caller == caller && node_at(of, at)->name == name);
    return at;
}

uint32_t hd_stacks_push(hd_stacks *stacks, uint32_t caller, uint32_t name, hd_frame_kind kind)
{
    if (caller == HD_NONE || name == HD_NONE) return HD_NONE;
    assert(!stacks->frozen);
    if (!stacks->slots.at && !make_slots(stacks)) return HD_NONE;
    uint64_t hash = hd_hash_pair(caller, name);
    if (caller + 1 != stacks->count) { /* the newest node has no callees yet: no lookup is needed */
        uint32_t found = caller < stacks->base_count ? find(stacks->base, stacks->base, caller, name, hash) : HD_NONE;
        if (found == HD_NONE) found = find(stacks, stacks, caller, name, hash);
        if (found != HD_NONE) return found;
    }
    uint32_t depth = node_at(stacks, caller)->depth + 1;
    size_t own = stacks->count - stacks->base_count;
    if (stacks->count >= HD_NONE - 1 || depth >> DEPTH_BITS ||
        !hd_large_grow((void **)&stacks->nodes, &stacks->capacity, own, sizeof *stacks->nodes, stacks->large) ||
        !hd_large_slots_add(&stacks->slots, hash, (uint32_t)stacks->count, stacks->large))
        return HD_NONE;
    stacks->nodes[own] = (node){caller, name, depth, kind};
    return (uint32_t)stacks->count++;
}

void hd_stacks_set_large(hd_stacks *stacks, uint64_t bytes)
{
    stacks->large = bytes;
}

void hd_stacks_rest(hd_stacks *stacks)
{
    assert(!stacks->frozen); /* trees that extend it use its table */
    hd_large_slots_deinit(&stacks->slots);
}

void hd_stacks_freeze(hd_stacks *stacks)
{
    size_t own = stacks->count - stacks->base_count;
    if (own && hd_large_resize((void **)&stacks->nodes, own, own, sizeof *stacks->nodes, stacks->large))
        stacks->capacity = own;
    hd_strings_freeze(&stacks->names);
    stacks->frozen = true;
}

bool hd_stacks_stand_upon(hd_stacks *stacks, const hd_stacks *base)
{
    uint32_t names = hd_stacks_name_count(base);
    if (!base->frozen || base->base || stacks->base || stacks->count > 1) return false;
    for (uint32_t i = 1; i < names; i++) {
        hd_string text = hd_stacks_text(base, i);
        if (hd_stacks_name(stacks, text.data, text.size) != i) return false; /* it had other names before */
    }
    hd_stacks *held = (hd_stacks *)(uintptr_t)base; /* only its holders change */
    atomic_fetch_add(&held->holders, 1);
    stacks->base = held;
    stacks->count = stacks->base_count = base->count;
    return true;
}

uint32_t hd_stacks_count(const hd_stacks *stacks)
{
    return (uint32_t)stacks->count;
}

hd_frame hd_stacks_at(const hd_stacks *stacks, uint32_t id)
{
    const node *n = node_at(stacks, id);
    return (hd_frame){n->caller, n->name, (hd_frame_kind)n->kind, n->depth};
}

uint32_t hd_stacks_name_count(const hd_stacks *stacks)
{
    return atomic_load_explicit(&stacks->names.count, memory_order_acquire);
}

hd_string hd_stacks_text(const hd_stacks *stacks, uint32_t name)
{
    return hd_strings_at(&stacks->names, name);
}

/* ---- text ---- */

static void put_frame(hd_json_out *out, hd_string name)
{
    size_t from = out->size;
    hd_json_put(out, name.data, name.size);
    for (; !out->failed && from < out->size; from++) {
        if (out->data[from] == ';') out->data[from] = ',';
        if ((unsigned char)out->data[from] < ' ') out->data[from] = ' ';
    }
}

bool hd_stacks_put(hd_json_out *out, const hd_stacks *stacks, uint32_t stack, uint64_t room)
{
    uint32_t depth = 0, frames = hd_stacks_at(stacks, stack).depth;
    uint32_t *chain = malloc(((size_t)frames + 1) * sizeof *chain);
    if (!chain) return false;
    for (; stack != HD_STACK_NONE; stack = hd_stacks_at(stacks, stack).caller) chain[depth++] = stack;
    size_t before = out->size;
    while (depth-- && out->size - before <= room) {
        put_frame(out, hd_stacks_text(stacks, hd_stacks_at(stacks, chain[depth]).name));
        if (depth) hd_json_put_text(out, ";");
    }
    free(chain);
    return !out->failed;
}
