/* shapes.c - interned argument shapes */
#include "trace/shapes.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/correlation.h"

hd_status hd_shapes_init(hd_shapes *shapes, const hd_strings *strings, uint32_t empty_key, hd_error *err)
{
    shapes->arena = (hd_arena){0};
    shapes->count = shapes->capacity = 0;
    shapes->slots = (hd_slots){0};
    atomic_init(&shapes->list, NULL);
    atomic_init(&shapes->failed, false);
    pthread_mutex_init(&shapes->lock, NULL);
    hd_arg_key raw = {.key = empty_key, .type = HD_ARG_JSON, .scope = HD_SCOPE_EVENT};
    if (hd_shapes_intern(shapes, strings, NULL, 0, false) != HD_SHAPE_EMPTY ||
        hd_shapes_intern(shapes, strings, &raw, 1, false) != HD_SHAPE_RAW) {
        hd_shapes_deinit(shapes);
        return HD_NOMEM(err);
    }
    return HD_OK;
}

void hd_shapes_deinit(hd_shapes *shapes)
{
    hd_slots_deinit(&shapes->slots);
    hd_arena_deinit(&shapes->arena);
    pthread_mutex_destroy(&shapes->lock);
}

static bool same(const hd_shape *shape, const hd_arg_key *keys, uint32_t key_count, bool has_args)
{
    return shape->key_count == key_count && shape->has_args == has_args &&
           (key_count == 0 || memcmp(shape->keys, keys, key_count * sizeof *keys) == 0);
}

enum { FIRST_CAPACITY = 16 };

static bool widen(hd_shapes *shapes)
{
    if (shapes->count < shapes->capacity) return true;
    uint32_t capacity = shapes->capacity ? shapes->capacity * 2 : FIRST_CAPACITY;
    hd_shape *wider = hd_arena_alloc(&shapes->arena, capacity * sizeof *wider);
    if (!wider) return false;
    if (shapes->count) memcpy(wider, hd_shapes_list(shapes), shapes->count * sizeof *wider);
    shapes->capacity = capacity;
    atomic_store_explicit(&shapes->list, wider, memory_order_release);
    return true;
}

static uint32_t insert(hd_shapes *shapes, const hd_strings *strings, uint64_t hash, const hd_arg_key *keys,
                       uint32_t key_count, bool has_args)
{
    if (shapes->count == HD_SHAPE_LIMIT) return HD_NONE;
    hd_arg_key *copy = hd_arena_alloc(&shapes->arena, key_count * sizeof *keys);
    if (!copy || !widen(shapes) || !hd_slots_add(&shapes->slots, hash, shapes->count)) {
        atomic_store(&shapes->failed, true);
        return HD_NONE;
    }
    if (key_count) memcpy(copy, keys, key_count * sizeof *keys);
    atomic_load_explicit(&shapes->list, memory_order_relaxed)[shapes->count] =
        (hd_shape){.key_count = key_count,
                   .has_args = has_args,
                   .keys = copy,
                   .correlation = hd_correlation_key(strings, keys, key_count)};
    return shapes->count++;
}

uint32_t hd_shapes_intern(hd_shapes *shapes, const hd_strings *strings, const hd_arg_key *keys, uint32_t key_count,
                          bool has_args)
{
    uint64_t hash = hd_hash(keys, key_count * sizeof *keys) + has_args;
    pthread_mutex_lock(&shapes->lock);
    uint32_t id;
    HD_SLOTS_FIND(id, &shapes->slots, hash, same(&hd_shapes_list(shapes)[id], keys, key_count, has_args));
    if (id == HD_SLOTS_NONE) id = insert(shapes, strings, hash, keys, key_count, has_args);
    pthread_mutex_unlock(&shapes->lock);
    return id;
}
