/* priorities.h - priorities of streams, which sms.c follows: shares[].priority, has_priorities */
#ifndef HD_REPLAY_PRIORITIES_H
#define HD_REPLAY_PRIORITIES_H

#include "replay/replay.h"

/* Whether they differ on some device. false: no memory. */
bool replay_priorities_settle(replay *r);
/* "priorities", "priorities=…"? */
bool replay_is_priorities(const char *schedule);
/* Applies the option --schedule. Errors: ARGUMENT; MEMORY. */
hd_status replay_change_priorities(replay *r, hd_error *err);

#endif
