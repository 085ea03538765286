/* stacks.c - the tree of frames
 *
 * Nodes are found by (caller, name) in an open-addressed table of node numbers; 0, the root, is never looked up there
 * and marks a free slot. A tree that was frozen or copied has no table until a frame is looked up.
 */
#include "heddle/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/vector.h"
#include "trace/strings.h"
#include "trace/trace_stacks.h"

typedef struct node {
    uint32_t caller, name, depth;
    uint32_t kind; /* hd_frame_kind */
} node;

struct hd_stacks {
    hd_strings names;
    node *nodes;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_mask;
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

hd_status hd_stacks_new(hd_stacks **out, hd_error *err)
{
    hd_stacks *stacks = calloc(1, sizeof *stacks);
    *out = NULL;
    if (!stacks) return HD_NOMEM(err);
    hd_status status = hd_strings_init(&stacks->names, err);
    stacks->slot_mask = 1023;
    stacks->slots = calloc(stacks->slot_mask + 1, sizeof *stacks->slots);
    if (!status && (!stacks->slots || !hd_grow((void **)&stacks->nodes, &stacks->capacity, 0, sizeof *stacks->nodes)))
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
    if (!stacks) return;
    hd_strings_deinit(&stacks->names);
    free(stacks->nodes);
    free(stacks->slots);
    free(stacks);
}

uint32_t hd_stacks_name(hd_stacks *stacks, const char *data, size_t size)
{
    if (size == 0) return 0;
    uint32_t id = hd_strings_intern(&stacks->names, data, size);
    return id == HD_STRING_NONE ? HD_NONE : id;
}

static size_t slot_of(uint32_t caller, uint32_t name)
{
    return (size_t)hd_fold((uint64_t)caller << 32 | name, 0x9e3779b97f4a7c15u);
}

/* Room for the nodes there are, half of the slots free. */
static bool make_slots(hd_stacks *stacks)
{
    size_t mask = stacks->slot_mask;
    while (stacks->count * 2 > mask) mask = mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 1; i < stacks->count; i++) {
        size_t at = slot_of(stacks->nodes[i].caller, stacks->nodes[i].name) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = (uint32_t)i;
    }
    free(stacks->slots);
    stacks->slots = slots;
    stacks->slot_mask = mask;
    return true;
}

uint32_t hd_stacks_push(hd_stacks *stacks, uint32_t caller, uint32_t name, hd_frame_kind kind)
{
    if (caller == HD_NONE || name == HD_NONE) return HD_NONE;
    if (!stacks->slots && !make_slots(stacks)) return HD_NONE;
    size_t at = slot_of(caller, name) & stacks->slot_mask;
    for (uint32_t found; (found = stacks->slots[at]) != 0; at = (at + 1) & stacks->slot_mask) {
        if (stacks->nodes[found].caller == caller && stacks->nodes[found].name == name) return found;
    }
    if (stacks->count >= HD_NONE - 1 ||
        !hd_grow((void **)&stacks->nodes, &stacks->capacity, stacks->count, sizeof *stacks->nodes))
        return HD_NONE;
    uint32_t id = (uint32_t)stacks->count++;
    stacks->nodes[id] = (node){caller, name, stacks->nodes[caller].depth + 1, kind};
    stacks->slots[at] = id;
    if (stacks->count * 2 > stacks->slot_mask && !make_slots(stacks)) return HD_NONE;
    return id;
}

void hd_stacks_freeze(hd_stacks *stacks)
{
    node *nodes = realloc(stacks->nodes, stacks->count * sizeof *nodes);
    if (nodes) {
        stacks->nodes = nodes;
        stacks->capacity = stacks->count;
    }
    free(stacks->slots);
    stacks->slots = NULL;
    hd_strings_freeze(&stacks->names);
}

hd_status hd_stacks_copy(hd_stacks *to, const hd_stacks *from, hd_error *err)
{
    uint32_t names = hd_stacks_name_count(from), *name_of = calloc(names, sizeof *name_of);
    node *nodes = malloc(from->count * sizeof *nodes);
    bool done = name_of && nodes;
    for (uint32_t i = 1; i < names && done; i++) {
        hd_string text = hd_stacks_text(from, i);
        name_of[i] = hd_stacks_name(to, text.data, text.size);
        done = name_of[i] != HD_NONE;
    }
    if (done) {
        for (size_t i = 0; i < from->count; i++) {
            nodes[i] = from->nodes[i];
            nodes[i].name = name_of[nodes[i].name];
        }
        free(to->nodes);
        free(to->slots);
        to->nodes = nodes;
        to->slots = NULL;
        to->count = to->capacity = from->count;
    } else {
        free(nodes);
    }
    free(name_of);
    return done ? HD_OK : HD_NOMEM(err);
}

uint32_t hd_stacks_count(const hd_stacks *stacks)
{
    return (uint32_t)stacks->count;
}

hd_frame hd_stacks_at(const hd_stacks *stacks, uint32_t id)
{
    const node *n = &stacks->nodes[id];
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
