/* engines.h - copies of a device: an engine for each direction, and the link to the host, which both share
 *
 * In: copies by when they begin, in the trace or in a replay. Out: when they end, and which other ends later by that.
 * Begin with engines_run.
 */
#ifndef HD_REPLAY_ENGINES_H
#define HD_REPLAY_ENGINES_H

#include "replay/replay.h"

typedef struct engine {
    int64_t end;                /* free then */
    uint32_t user;              /* the last; HD_NONE */
    int64_t copied, overlapped; /* in the trace; overlapped: beside others of its direction */
} engine;

typedef struct engines {
    engine of[2]; /* to the device, from it */
} engines;

void engines_init(engines *e);
uint8_t engines_sort(const replay *r, const hd_work *work); /* SHARE_IN, SHARE_OUT, SHARE_NONE */
bool engines_is_copy(const replay *r, uint32_t node);       /* of one of them, in a replay */

/* A copy of the trace, in the order of their starts: finds how long it ran beside one of the other direction. */
void engines_take(engines *e, replay *r, uint32_t node);
/* Behind all of the trace: where copies of its direction overlap, there is no such engine. */
void engines_settle(const engines *e, replay *r, uint32_t node);
/* What the link leaves to each direction while both copy, from all copies of the trace. false: no memory. */
bool engines_find_link(replay *r);

/* May a copy not begin at *start? Then *start is when it is asked again, *behind what has the engine until then. */
bool engines_wait(int64_t *start, uint32_t *behind, const engines *e, const replay *r, const replay_times *times,
                  const uint8_t *states, const uint32_t *afters, uint32_t node);
/* A copy begins; returns when it ends. *moved: what ends at another time by that; its node HD_NONE: nothing does. */
int64_t engines_run(replay_moved *moved, engines *e, const replay *r, uint32_t node, int64_t start);

#endif
