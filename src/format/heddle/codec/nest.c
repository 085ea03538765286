/* nest.c - starts and durations as pops, gaps and tails */
#include "format/heddle/codec/nest.h"

#include <stdlib.h>

/* Ends of slices and of their last children while the walk goes on. */
static inline uint64_t plus(int64_t a, int64_t b)
{
    return (uint64_t)a + (uint64_t)b;
}

static void walk_begin(store_nest *nest)
{
    memset(nest->top, 0xff, nest->top_count * sizeof *nest->top);
}

static inline uint32_t *top_of(const store_nest *nest, uint32_t row)
{
    int64_t track = nest->tracks[row];
    return &nest->top[track == HD_NONE ? nest->top_count - 1 : (uint32_t)track];
}

bool store_nest_open(store_nest *nest)
{
    int64_t high = 0;
    for (uint32_t i = 0; i < nest->count; i++) {
        int64_t track = nest->tracks[i];
        if (track != HD_NONE && (track < 0 || track >= STORE_NEST_TRACKS)) return false;
        if (track != HD_NONE && track > high) high = track;
    }
    nest->top_count = (uint32_t)high + 2;
    nest->top = malloc(nest->top_count * sizeof *nest->top);
    if (!nest->top) return false;
    walk_begin(nest);
    for (uint32_t i = 0; i < nest->count; i++) {
        uint32_t *top = top_of(nest, i);
        nest->before[i] = *top == HD_NONE ? 0 : nest->names[*top];
        *top = i;
    }
    return true;
}

void store_nest_close(store_nest *nest)
{
    free(nest->top);
    nest->top = NULL;
}

bool store_nest_relate(store_nest *nest)
{
    walk_begin(nest);
    for (uint32_t i = 0; i < nest->count; i++) {
        uint32_t *top = top_of(nest, i), popped = HD_NONE;
        for (uint64_t pops = (uint64_t)nest->pops[i]; pops; pops--) {
            if (*top == HD_NONE) return false;
            popped = *top;
            *top = nest->below[popped];
        }
        uint32_t bound = popped == HD_NONE ? *top : popped;
        nest->bound[i] = bound == HD_NONE ? 0 : (int64_t)((uint64_t)nest->names[bound] * 2 + (popped == HD_NONE));
        nest->child[i] = 0;
        if (*top != HD_NONE) nest->child[*top] = (int64_t)((uint64_t)nest->names[i] + 1);
        nest->below[i] = *top;
        *top = i;
    }
    return true;
}

/* The row has ended: it is the last child of its parent. */
static inline void pop(store_nest *nest, uint32_t *top, int64_t *child_ends, const int64_t *ends)
{
    uint32_t row = *top;
    *top = nest->below[row];
    if (*top != HD_NONE) child_ends[*top] = ends[row];
}

void store_nest_from_times(store_nest *nest, const int64_t *starts, const int64_t *durations)
{
    int64_t *child_ends = nest->child, *ends = nest->bound; /* free until related */
    walk_begin(nest);
    for (uint32_t i = 0; i < nest->count; i++) {
        uint32_t *top = top_of(nest, i);
        int64_t bound = i ? starts[i - 1] : 0, pops = 0;
        ends[i] = (int64_t)plus(starts[i], durations[i]);
        if (*top != HD_NONE) bound = starts[*top];
        for (; *top != HD_NONE && ends[*top] <= starts[i]; pops++) {
            uint32_t row = *top;
            bound = ends[row];
            nest->tails[row] = (int64_t)((uint64_t)ends[row] - (uint64_t)child_ends[row]);
            pop(nest, top, child_ends, ends);
        }
        nest->pops[i] = pops;
        nest->gaps[i] = (int64_t)((uint64_t)starts[i] - (uint64_t)bound);
        child_ends[i] = starts[i];
        nest->below[i] = *top;
        *top = i;
    }
    for (uint32_t track = 0; track < nest->top_count; track++) {
        for (uint32_t *top = &nest->top[track]; *top != HD_NONE; pop(nest, top, child_ends, ends))
            nest->tails[*top] = (int64_t)((uint64_t)ends[*top] - (uint64_t)child_ends[*top]);
    }
}

void store_nest_to_times(store_nest *nest, int64_t *starts, int64_t *durations)
{
    int64_t *child_ends = nest->child, *ends = nest->bound;
    walk_begin(nest);
    for (uint32_t i = 0; i < nest->count; i++) {
        uint32_t *top = top_of(nest, i);
        int64_t bound = i ? starts[i - 1] : 0;
        if (*top != HD_NONE) bound = starts[*top];
        for (uint64_t pops = (uint64_t)nest->pops[i]; pops && *top != HD_NONE; pops--) {
            uint32_t row = *top;
            bound = ends[row] = (int64_t)plus(child_ends[row], nest->tails[row]);
            pop(nest, top, child_ends, ends);
        }
        starts[i] = child_ends[i] = (int64_t)plus(bound, nest->gaps[i]);
        nest->below[i] = *top;
        *top = i;
    }
    for (uint32_t track = 0; track < nest->top_count; track++) {
        for (uint32_t *top = &nest->top[track]; *top != HD_NONE; pop(nest, top, child_ends, ends))
            ends[*top] = (int64_t)plus(child_ends[*top], nest->tails[*top]);
    }
    for (uint32_t i = 0; i < nest->count; i++) durations[i] = (int64_t)((uint64_t)ends[i] - (uint64_t)starts[i]);
}
