/* priorities.h - priorities of streams, which share.c follows
 *
 * In: a replay whose shares are being found. Out: shares[].priority and waves; has_priorities. Begin with priorities.c.
 */
#ifndef HD_REPLAY_PRIORITIES_H
#define HD_REPLAY_PRIORITIES_H

#include "replay/replay.h"

enum { REPLAY_BLOCK, REPLAY_REGISTERS, REPLAY_SHARED, REPLAY_PRIORITY, REPLAY_ARGUMENTS };

typedef struct replay_limits {
    int64_t threads, registers, shared; /* of an SM; not above 0: unknown */
} replay_limits;

typedef struct replay_waves {
    const replay *r;
    replay_limits *limits; /* by device */
    gpu_arg args[REPLAY_ARGUMENTS];
} replay_waves;

bool replay_waves_init(replay_waves *w, const replay *r); /* false: no memory; deinit either way */
void replay_waves_deinit(replay_waves *w);
/* Of a kernel with so many blocks per SM, whose width is known: waves, tail and priority. */
void replay_waves_set(replay_share *out, replay_waves *w, uint32_t node, double per_sm);
/* Do they differ on some device? false: no memory. */
bool replay_priorities_settle(replay *r);

/* "[512,1,1]": of its numbers; false: it has none. */
bool replay_product(double *out, hd_string text);

/* "priorities", "priorities=…"? */
bool replay_is_priorities(const char *schedule);
/* What that option gives. Errors: ARGUMENT; MEMORY. */
hd_status replay_change_priorities(replay *r, hd_error *err);

#endif
