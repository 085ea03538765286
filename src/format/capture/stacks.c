/* stacks.c - modules, symbols and frames of a capture -> the stacks of a trace */
#include "format/capture/stacks.h"
#include "base/text/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/stack_text.h"
#include "heddle/stacks.h"

enum { LOOK_BACK = 16, FRAME_BYTES = 4096 };

/* Addresses with a name: a module, or a symbol, which goes before. */
typedef struct range {
    uint64_t start, end;
    uint64_t offset, bias;
    size_t id;
    uint32_t name; /* string id of a path or a symbol */
    uint32_t build_id;
    bool is_known;
    bool by_path; /* another module has the same name: frames say the whole path */
} range;

typedef struct ranges {
    range *items; /* by id of the file, sorted by start once all are there */
    size_t count, capacity;
} ranges;

typedef struct frame {
    uint64_t what; /* address << 1, or name << 1 | 1 */
    uint32_t caller;
    uint32_t node; /* once settled */
    bool is_known;
} frame;

struct capture_stacks {
    hd_builder *builder;
    hd_stacks *tree;
    ranges modules, symbols;
    frame *frames;
    size_t frame_count, frame_capacity;
};

hd_status capture_stacks_new(capture_stacks **out, hd_builder *builder, hd_error *err)
{
    capture_stacks *stacks = *out = calloc(1, sizeof *stacks);
    if (!stacks) return HD_NOMEM(err);
    stacks->builder = builder;
    hd_status status = hd_stacks_new(&stacks->tree, err);
    if (status != HD_OK) {
        free(stacks);
        *out = NULL;
    }
    return status;
}

void capture_stacks_free(capture_stacks *stacks)
{
    if (!stacks) return;
    hd_stacks_free(stacks->tree);
    free(stacks->modules.items);
    free(stacks->symbols.items);
    free(stacks->frames);
    free(stacks);
}

/* ---- reading ---- */

bool capture_stacks_room(capture_stacks *stacks, unsigned type, uint64_t end)
{
    ranges *list = type == CAPTURE_MODULES ? &stacks->modules : &stacks->symbols;
    if (type != CAPTURE_FRAMES) {
        while (list->count < end) {
            if (!hd_grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items)) return false;
            list->items[list->count++] = (range){0};
        }
        return true;
    }
    while (stacks->frame_count < end) {
        if (!hd_grow((void **)&stacks->frames, &stacks->frame_capacity, stacks->frame_count, sizeof *stacks->frames))
            return false;
        stacks->frames[stacks->frame_count++] = (frame){0};
    }
    return true;
}

/* Up to 64 bytes as hexadecimal digits. */
static uint32_t take_build_id(hd_byte_reader *b, hd_builder *builder)
{
    char text[2 * CAPTURE_BUILD_ID_MAX + 1] = "";
    uint64_t size = hd_byte_reader_varint(b);
    const uint8_t *id = size <= CAPTURE_BUILD_ID_MAX ? hd_byte_reader_take(b, (size_t)size) : NULL;
    if (size && !id) b->failed = true;
    if (b->failed || !size) return HD_STRING_NONE;
    for (size_t i = 0; i < size; i++) snprintf(text + 2 * i, 3, "%02x", id[i]);
    return hd_builder_intern_text(builder, text);
}

hd_status capture_stacks_read(capture_stacks *stacks, unsigned type, uint64_t id, hd_byte_reader *b, hd_error *err)
{
    (void)err;
    range r = {.is_known = true};
    frame f = {.is_known = true};
    switch (type) {
    case CAPTURE_FRAMES: {
        uint64_t caller = hd_byte_reader_varint(b);
        f.what = hd_byte_reader_varint(b);
        if (caller >= id) b->failed = true; /* callers come first */
        f.caller = (uint32_t)caller;
        if (!b->failed) stacks->frames[id] = f;
        return HD_OK;
    }
    case CAPTURE_MODULES:
        r.start = hd_byte_reader_varint(b);
        r.end = hd_byte_reader_varint(b);
        r.offset = hd_byte_reader_varint(b);
        r.bias = hd_byte_reader_varint(b);
        r.build_id = take_build_id(b, stacks->builder);
        r.name = capture_take_text(b, stacks->builder);
        if (!b->failed) stacks->modules.items[id] = r;
        return HD_OK;
    default: {
        r.start = hd_byte_reader_varint(b);
        uint64_t size = hd_byte_reader_varint(b);
        r.end = size > UINT64_MAX - r.start ? UINT64_MAX : r.start + size;
        r.name = capture_take_text(b, stacks->builder);
        if (!b->failed) stacks->symbols.items[id] = r;
        return HD_OK;
    }
    }
}

/* ---- addresses ---- */

static int by_start(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id); /* of two ranges the newer one is mapped */
}

static void sort_by_start(ranges *list)
{
    for (size_t i = 0; i < list->count; i++) list->items[i].id = i;
    if (list->count) hd_sort(list->items, list->count, sizeof *list->items, by_start);
}

/* The range that contains the address. Ranges may overlap if a module replaced another: of those that begin last, a few
 * are checked. */
static const range *find(const ranges *list, uint64_t address)
{
    size_t begun = hd_sorted_up_to(address, list->items, list->count, sizeof *list->items);
    for (size_t i = begun; i-- > 0 && begun - i <= LOOK_BACK;) {
        if (list->items[i].is_known && address < list->items[i].end) return &list->items[i];
    }
    return NULL;
}

static hd_string basename_of(hd_string path)
{
    for (size_t i = path.size; i-- > 0;) {
        if (path.data[i] == '/' && i + 1 < path.size) return (hd_string){path.data + i + 1, path.size - i - 1};
    }
    return path;
}

typedef struct named_range {
    hd_string name;
    range *range;
} named_range;

static int by_name(const void *a, const void *b)
{
    const named_range *x = a, *y = b;
    int order = hd_text_compare(x->name.data, x->name.size, y->name.data, y->name.size);
    if (order) return order;
    return (x->range->name > y->range->name) - (x->range->name < y->range->name); /* paths are interned */
}

/* Packages of Python have their _C.so each. */
static bool find_equal_names(capture_stacks *stacks)
{
    size_t count = 0;
    named_range *list = malloc((stacks->modules.count + 1) * sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < stacks->modules.count; i++) {
        range *r = &stacks->modules.items[i];
        if (r->is_known) list[count++] = (named_range){basename_of(hd_builder_string(stacks->builder, r->name)), r};
    }
    hd_sort(list, count, sizeof *list, by_name);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && list[end].name.size == list[first].name.size; end++) {
            if (memcmp(list[end].name.data, list[first].name.data, list[first].name.size) != 0) break;
        }
        bool several = list[first].range->name != list[end - 1].range->name;
        for (size_t i = first; i < end && several; i++) list[i].range->by_path = true;
    }
    free(list);
    return true;
}

/* The text of a frame: at most FRAME_BYTES. */
static size_t text_of(char out[FRAME_BYTES], const capture_stacks *stacks, uint64_t address)
{
    /* Code that was made at run time is in mappings that are modules, too. */
    const range *symbol = find(&stacks->symbols, address), *module = symbol ? NULL : find(&stacks->modules, address);
    int size;
    if (symbol) {
        hd_string name = hd_builder_string(stacks->builder, symbol->name);
        size = snprintf(out, FRAME_BYTES, "%.*s", (int)name.size, name.data);
    } else if (module) {
        hd_string path = hd_builder_string(stacks->builder, module->name),
                  name = module->by_path ? path : basename_of(path);
        size = snprintf(out, FRAME_BYTES, "%.*s+0x%llx", (int)(name.size < 1024 ? name.size : 1024), name.data,
                        (unsigned long long)(address - module->bias));
    } else {
        size = snprintf(out, FRAME_BYTES, "0x%llx", (unsigned long long)address);
    }
    return size < FRAME_BYTES ? (size_t)size : FRAME_BYTES - 1;
}

/* Named frames are an interpreter's, unless they are "MODULE+0xOFFSET". */
static hd_frame_kind kind_of(const char *text, size_t size, bool is_named)
{
    if (size > 4 && memcmp(text, "py::", 4) == 0) return HD_FRAME_PYTHON;
    if (!is_named) return HD_FRAME_NATIVE;
    return hd_frame_kind_by_name(text, size);
}

static hd_status settle_frame(capture_stacks *stacks, frame *f, capture_lists *lists, hd_error *err)
{
    char text[FRAME_BYTES];
    bool is_named = f->what & 1;
    hd_string name = {text, 0};
    if (is_named)
        name = hd_builder_string(stacks->builder, capture_lists_name(lists, f->what >> 1));
    else
        name.size = text_of(text, stacks, f->what >> 1);
    uint32_t caller = f->caller && stacks->frames[f->caller].is_known ? stacks->frames[f->caller].node : HD_STACK_NONE;
    uint32_t id = hd_stacks_name(stacks->tree, name.data, name.size);
    f->node = hd_stacks_push(stacks->tree, caller, id, kind_of(name.data, name.size, is_named));
    return f->node == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

hd_status capture_stacks_settle(capture_stacks *stacks, capture_lists *lists, hd_error *err)
{
    sort_by_start(&stacks->modules);
    sort_by_start(&stacks->symbols);
    if (!find_equal_names(stacks)) return HD_NOMEM(err);
    for (size_t i = 0; i < stacks->frame_count; i++) {
        if (stacks->frames[i].is_known) HD_TRY(settle_frame(stacks, &stacks->frames[i], lists, err));
    }
    return HD_OK;
}

uint32_t capture_stacks_node(const capture_stacks *stacks, uint64_t id, bool *out_lost)
{
    if (id == 0) return HD_STACK_NONE;
    if (id < stacks->frame_count && stacks->frames[id].is_known) return stacks->frames[id].node;
    *out_lost = true;
    return HD_STACK_NONE;
}

/* ---- the end ---- */

static void put_member(hd_json_out *json, const char *key, hd_string value)
{
    hd_json_put_text(json, key);
    hd_json_put_string(json, value.data, value.size);
}

static void put_hex(hd_json_out *json, const char *key, uint64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    put_member(json, key, (hd_string){text, (size_t)size});
}

static hd_status put_modules(capture_stacks *stacks, hd_error *err)
{
    hd_json_out json = {0};
    bool any = false;
    for (size_t i = 0; i < stacks->modules.count; i++) {
        const range *m = &stacks->modules.items[i];
        if (!m->is_known) continue;
        hd_string path = hd_builder_string(stacks->builder, m->name);
        put_member(&json, any ? ", {\"name\": " : "[{\"name\": ", basename_of(path));
        put_member(&json, ", \"path\": ", path);
        if (m->build_id) put_member(&json, ", \"buildId\": ", hd_builder_string(stacks->builder, m->build_id));
        put_hex(&json, ", \"start\": ", m->start);
        put_hex(&json, ", \"end\": ", m->end);
        put_hex(&json, ", \"offset\": ", m->offset);
        put_hex(&json, ", \"bias\": ", m->bias);
        hd_json_put_text(&json, "}");
        any = true;
    }
    if (any) hd_json_put_text(&json, "]");
    hd_status status = json.failed ? HD_NOMEM(err) : HD_OK;
    if (any && status == HD_OK) {
        const uint32_t key_id = hd_builder_intern_text(stacks->builder, "modules");
        hd_builder_metadata(stacks->builder, key_id, hd_builder_intern(stacks->builder, json.data, json.size), false);
    }
    free(json.data);
    return status;
}

hd_status capture_stacks_finish(capture_stacks *stacks, hd_error *err)
{
    HD_TRY(put_modules(stacks, err));
    hd_stacks *tree = stacks->tree;
    stacks->tree = NULL;
    return hd_stacks_give(tree, stacks->builder, err);
}
