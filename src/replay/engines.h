/* engines.h - copies of a device: an engine for each direction, and the link to the host, which both share
 *
 * In: copies in order of start, in the trace or in a replay. Out: their ends, and the other copies that end later
 * because of them. Begin with engines_run.
 */
#ifndef HD_REPLAY_ENGINES_H
#define HD_REPLAY_ENGINES_H

#include "replay/replay.h"

typedef struct engine {
    int64_t end;                /* free then */
    uint32_t user;              /* the last; HD_NONE */
    int64_t copied, overlapped; /* in the trace; overlapped: together with others of its direction */
} engine;

typedef struct engines {
    engine of[2]; /* [0] to the device, [1] from it */
} engines;

void engines_init(engines *e);
uint8_t engines_sort(const replay *r, const hd_work *work); /* SHARE_IN, SHARE_OUT, SHARE_NONE */
bool engines_is_copy(const replay *r, uint32_t node);       /* whether it uses an engine, in a replay */

/* Takes a copy of the trace, in order of start: finds how long it ran together with one of the other direction. */
void engines_take(engines *e, replay *r, uint32_t node);
/* After the whole trace: directions whose copies overlap have no engine. */
void engines_settle(const engines *e, replay *r, uint32_t node);
/* The part that the link leaves to each direction while both copy, from all copies of the trace. false: no memory. */
bool engines_find_link(replay *r);

/* Whether a copy may not begin at *start. Then *start is when to try again, *behind the copy that uses the engine
 * until then. */
bool engines_wait(int64_t *start, uint32_t *behind, const engines *e, const replay *r, const replay_times *times,
                  const uint8_t *states, const uint32_t *afters, uint32_t node);
/* Begins a copy; returns its end. *moved: the copy whose end changes because of it; its node HD_NONE: none. */
int64_t engines_run(replay_moved *moved, engines *e, const replay *r, uint32_t node, int64_t start);

#endif
