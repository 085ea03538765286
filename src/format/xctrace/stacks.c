/* stacks.c - backtraces -> nodes of stacks
 *
 * `kperf-bt` has an address and those of its callers, as text; `backtrace` has frames with names. Both begin with the
 * innermost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "format/stack_text.h"
#include "format/xctrace/xctrace.h"

enum { FRAMES = 1024 };

typedef struct frames {
    uint32_t names[FRAMES]; /* of hd_stacks */
    size_t count;
} frames;

static void add_address(xctrace_reader *r, frames *f, uint64_t address)
{
    char text[24];
    int size = snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    if (f->count < FRAMES) f->names[f->count++] = hd_stacks_name(r->stacks, text, (size_t)size);
}

/* "6760737324 6760701868" */
static void add_addresses(xctrace_reader *r, frames *f, const xctrace_value *v)
{
    hd_string list = hd_builder_string(r->builder, v->text);
    if (v->has_number) {
        add_address(r, f, (uint64_t)v->number);
        return;
    }
    for (size_t at = 0, end; at < list.size; at = end + 1) {
        int64_t address;
        for (end = at; end < list.size && list.data[end] != ' ';) end++;
        if (hd_text_int(&address, list.data + at, end - at)) add_address(r, f, (uint64_t)address);
    }
}

static void add_frame(xctrace_reader *r, frames *f, const xctrace_value *v)
{
    hd_string name = hd_builder_string(r->builder, v->name);
    if (!name.size) name = (hd_string){"[unknown]", 9};
    if (f->count < FRAMES) f->names[f->count++] = hd_stacks_name(r->stacks, name.data, name.size);
}

static void collect(xctrace_reader *r, frames *f, const xctrace_value *v)
{
    const xctrace_value *inner = xctrace_child(&r->values, v, r->text.backtrace);
    const xctrace_value *address = xctrace_child(&r->values, v, r->text.address);
    if (address && address->has_number) add_address(r, f, (uint64_t)address->number);
    if (inner) v = inner;
    for (uint32_t at = v->child; at; at = r->values.list[at - 1].next) {
        uint32_t type = r->values.list[at - 1].type;
        const xctrace_value *child = xctrace_value_at(&r->values, at);
        if (child && type == r->text.frame) add_frame(r, f, child);
        if (child && type == r->text.addresses) add_addresses(r, f, child);
    }
}

uint32_t xctrace_stack(xctrace_reader *r, uint32_t below, uint32_t index, hd_frame_kind kind)
{
    frames f;
    const xctrace_value *v = xctrace_value_at(&r->values, index);
    if (!v) return below;
    uint64_t key = (uint64_t)(v - r->values.list);
    hd_map_entry *known = hd_map_at(&r->stack_nodes, key, below);
    if (!known) return HD_NONE;
    if (known->value) return known->value;
    f.count = 0;
    collect(r, &f, v);
    while (f.count) below = hd_stacks_push(r->stacks, below, f.names[--f.count], kind);
    known->value = below;
    return below;
}
