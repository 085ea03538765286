/* shape_names.c - the names of a shape's keys in a JSON object */
#include "trace/shape_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"

typedef struct place {
    uint64_t key; /* and its scope */
    uint32_t index;
} place;

static int by_key(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* KEY#number, without quotes */
static void put_numbered(hd_json_out *out, const hd_trace *trace, uint32_t key, uint32_t number)
{
    char digits[16];
    hd_string text = hd_trace_string(trace, key);
    hd_json_put(out, text.data, text.size);
    hd_json_put(out, digits, (size_t)snprintf(digits, sizeof digits, "#%u", (unsigned)number));
}

/* The first number from `number` on whose name is not a key of the shape; `name` is scratch. */
static uint32_t free_number(hd_json_out *name, const hd_trace *trace, const hd_shape *shape, hd_arg_key key,
                            uint32_t number)
{
    for (;; number++) {
        name->size = 0;
        put_numbered(name, trace, key.key, number);
        uint32_t id = name->failed ? HD_NONE : hd_trace_find_string(trace, name->data, name->size);
        if (hd_shape_find(shape, id, (hd_arg_scope)key.scope) < 0) return number;
    }
}

/* Names keys places[0] to places[count - 1], which are equal keys of one scope. */
static void name_group(hd_shape_name *out, hd_json_out *scratch, const hd_trace *trace, const hd_shape *shape,
                       const place *places, uint32_t count)
{
    hd_arg_key key = shape->keys[places[0].index];
    bool first_keeps = key.scope == HD_SCOPE_EVENT;
    uint32_t keeper = places[first_keeps ? 0 : count - 1].index, number = first_keeps;
    for (uint32_t i = 0; i < count; i++) {
        hd_shape_name *name = &out[places[i].index];
        *name = (hd_shape_name){.keeper = keeper};
        if (places[i].index != keeper)
            name->number = name->spare = number = free_number(scratch, trace, shape, key, number + 1);
    }
    out[keeper].spare = free_number(scratch, trace, shape, key, (number ? number : 1) + 1);
}

hd_status hd_shape_names(hd_shape_name *out, const hd_trace *trace, const hd_shape *shape, hd_error *err)
{
    hd_json_out scratch = {0};
    uint32_t count = shape->key_count;
    place *places = malloc((size_t)count * sizeof *places + 1);
    if (!places) return HD_NOMEM(err);
    for (uint32_t i = 0; i < count; i++)
        places[i] = (place){(uint64_t)shape->keys[i].key << 8 | shape->keys[i].scope, i};
    if (count) hd_sort(places, count, sizeof *places, by_key);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && places[next].key == places[i].key;) next++;
        name_group(out, &scratch, trace, shape, places + i, next - i);
    }
    bool failed = scratch.failed;
    free(scratch.data);
    free(places);
    return failed ? HD_NOMEM(err) : HD_OK;
}

void hd_shape_put_key(hd_json_out *out, const hd_trace *trace, uint32_t key, uint32_t number)
{
    hd_string text = hd_trace_string(trace, key);
    if (number == 0) {
        hd_json_put_string(out, text.data ? text.data : "", text.size);
        return;
    }
    hd_json_out name = {0};
    put_numbered(&name, trace, key, number);
    out->failed |= name.failed;
    if (!name.failed) hd_json_put_string(out, name.data, name.size);
    free(name.data);
}
