/* shapes.h - interned argument shapes; any thread */
#ifndef HD_TRACE_SHAPES_H
#define HD_TRACE_SHAPES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/memory/arena.h"
#include "heddle/builder.h"
#include "trace/strings.h"

typedef struct hd_shapes {
    pthread_mutex_t lock;
    hd_arena arena;
    uint32_t count;
    hd_slots slots;
    uint32_t capacity;
    atomic_bool failed;       /* memory ran out once; HD_NONE alone may also mean the limit */
    _Atomic(hd_shape *) list; /* in the arena: a larger copy replaces it, and lock-free readers keep the old one */
} hd_shapes;

/* Shape 0 is the empty one, shape 1 the raw one: see hd_builder_shape. */
enum { HD_SHAPE_EMPTY = 0, HD_SHAPE_RAW = 1 };

/* All current shapes, by id. Any thread. */
static inline const hd_shape *hd_shapes_list(const hd_shapes *shapes)
{
    return atomic_load_explicit(&shapes->list, memory_order_acquire);
}

hd_status hd_shapes_init(hd_shapes *shapes, const hd_strings *strings, uint32_t empty_key, hd_error *err);
void hd_shapes_deinit(hd_shapes *shapes);
/* HD_NONE: the limit is reached, or memory ran out. strings: of the keys. */
uint32_t hd_shapes_intern(hd_shapes *shapes, const hd_strings *strings, const hd_arg_key *keys, uint32_t key_count,
                          bool has_args);

#endif
