/* contexts.h - CPU stacks out of slices: what is open on a thread while a slice is
 *
 * A lane is a track and its twins, as in heddle/index.h. Its slices are swept (an interval sweep with a stack of open
 * ones) in start order (equal starts: the longer first, then the earlier row). One slice encloses another when it
 * stands before it in that order and ends at or after its end (one without length at the very end of another is in it,
 * unless another begins there); where slices cross, neither encloses the other. Time belongs to the slice that started
 * last of those open, so that self times of a lane add up to the time that its slices cover.
 *
 * CPU slices are all but: those on GPU rows (queues and what else has GPU work, where no op or call stands), GPU work
 * wherever it stands, waits and annotations shown on GPU rows, and Kineto's span of the whole recording (category
 * "Trace"). A slice that does not count here has no part in stacks or self times of others either.
 *
 * In: a trace. Out: for each slice that is asked for, the slices open around it. Begin with contexts.c.
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
    const uint64_t *rows; /* only these slices, ascending; the others still stand in their stacks. NULL: all */
    size_t row_count;
    bool has_window; /* self times count within [from_ns, until_ns) only; slices outside it have 0 */
    int64_t from_ns, until_ns;
    unsigned threads; /* 0: one per core */
} hd_context_options;

/* Some contexts of one lane, in start order. Called by one thread at a time. */
typedef hd_status hd_context_sink(void *user, const hd_context *contexts, size_t count, hd_error *err);

/* Pushes the stacks into `stacks` and hands every slice that was asked for to the sink, lane by lane by ascending
 * track. Lanes are swept by several threads; nodes and order do not depend on how many. Only stacks that are handed out
 * are pushed. Errors: MEMORY, LIMIT (2^32 slices), what the sink returns. O(n log n); memory 32 bytes per slice of as
 * many lanes as hold 8 million slices, or of the largest lane. */
hd_status hd_contexts_walk(hd_stacks *stacks, const hd_trace *trace, const hd_context_options *options,
                           hd_context_sink *sink, void *user, hd_error *err);

#endif
