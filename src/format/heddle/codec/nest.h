/* nest.h - starts and durations of a block's slices, coded by nesting; store files only
 *
 * On its track, each slice is either inside the previous one (0 pops), or after it and 0 or more of its ancestors. Its
 * start is coded as the gap after the slice that ended last, or after the start of its parent, and its end as the
 * distance after its last child, or after its own start. All arithmetic wraps, so arbitrary times are reproduced.
 */
#ifndef HD_FORMAT_HEDDLE_CODEC_NEST_H
#define HD_FORMAT_HEDDLE_CODEC_NEST_H

#include "format/heddle/codec/block.h"

typedef struct store_nest {
    uint32_t count;
    const int64_t *tracks, *names;
    int64_t *pops, *gaps, *tails;
    int64_t *before; /* name of the slice before on the track, or 0: known from tracks and names */
    int64_t *bound;  /* 2 * name of the slice whose start or end bounds the gap, + 1 if it is a start: known with the
                        pops */
    int64_t *child;  /* name of the last child + 1, or 0: likewise */
    uint32_t *below; /* scratch, `count` */
    uint32_t *top;   /* by track */
    uint32_t top_count;
} store_nest;

enum { STORE_NEST_TRACKS = 1 << 20 };

/* false: memory ran out, or too many tracks. Needs tracks and names. */
bool store_nest_open(store_nest *nest);
void store_nest_close(store_nest *nest);

/* pops, gaps and tails of times. */
void store_nest_from_times(store_nest *nest, const int64_t *starts, const int64_t *durations);
/* Fills bound and child; false: the pops make no sense. */
bool store_nest_relate(store_nest *nest);
/* And back; after store_nest_relate. */
void store_nest_to_times(store_nest *nest, int64_t *starts, int64_t *durations);

#endif
