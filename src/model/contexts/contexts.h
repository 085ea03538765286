/* contexts.h - CPU stacks from slices: the slices that are open on a thread during a slice
 *
 * A lane is a track and its twins, as in heddle/index.h. Its slices are swept (an interval sweep with a stack of open
 * ones) in start order (equal starts: the longer first, then the earlier row). One slice encloses another if it comes
 * before it in that order and ends at or after its end (a slice of length 0 at the end of another is in it, unless
 * another begins there); crossing slices do not enclose each other. Time belongs to the open slice that started last,
 * so that self times of a lane add up to the time that its slices cover.
 *
 * CPU slices are all slices except: those on GPU tracks (queues and other tracks with GPU activities, without ops or
 * calls), GPU activities on any track, waits and annotations shown on GPU tracks, and Kineto's span of the whole
 * recording (category "Trace"). Excluded slices have no part in stacks or self times of others either.
 *
 * In: a trace. Out: for each requested slice, the slices open around it. Begin with contexts.c.
 */
#ifndef HD_MODEL_CONTEXTS_CONTEXTS_H
#define HD_MODEL_CONTEXTS_CONTEXTS_H

#include "heddle/stacks.h"

typedef struct hd_context {
    uint64_t row;                  /* slice */
    uint32_t track;                /* of the lane: hd_track.same_as */
    uint32_t node;                 /* of the stack: the slices around it, outermost first, itself last */
    int64_t start_ns, duration_ns; /* at least 0 */
    int64_t self_ns;               /* within [from_ns, until_ns) */
} hd_context;

/* Zero-initialised is all CPU slices. */
typedef struct hd_context_options {
    const uint64_t *rows; /* only these slices, ascending; all others still occur in their stacks. NULL: all */
    size_t row_count;
    bool has_window; /* self times count within [from_ns, until_ns) only; slices outside it have 0 */
    int64_t from_ns, until_ns;
    unsigned threads; /* 0: one per core */
} hd_context_options;

/* Some contexts of one lane, in start order. Called by one thread at a time. */
typedef hd_status hd_context_sink(void *user, const hd_context *contexts, size_t count, hd_error *err);

/* Pushes the stacks into `stacks` and passes every requested slice to the sink, lane by lane by ascending track.
 * Several threads sweep lanes; nodes and order do not depend on their number. Only stacks of requested slices are
 * pushed. Errors: MEMORY, LIMIT (2^32 slices), those of the sink. O(n log n); memory 32 bytes per slice, for lanes of 8
 * million slices together, or for the largest lane. */
hd_status hd_contexts_walk(hd_stacks *stacks, const hd_trace *trace, const hd_context_options *options,
                           hd_context_sink *sink, void *user, hd_error *err);

#endif
