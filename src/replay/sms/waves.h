/* waves.h - how many SMs a kernel can hold, and in how many waves its blocks run */
#ifndef HD_REPLAY_SMS_WAVES_H
#define HD_REPLAY_SMS_WAVES_H

#include "replay/replay.h"

enum { REPLAY_PER_SM, REPLAY_GRID, REPLAY_BLOCK, REPLAY_REGISTERS, REPLAY_SHARED, REPLAY_PRIORITY, REPLAY_ARGUMENTS };

typedef struct replay_limits {
    int64_t sms;                        /* 0: unknown */
    int64_t threads, registers, shared; /* of an SM; not above 0: unknown */
} replay_limits;

typedef struct replay_waves {
    const replay *r;
    replay_limits *limits; /* by device */
    gpu_arg args[REPLAY_ARGUMENTS];
} replay_waves;

bool replay_waves_init(replay_waves *w, const replay *r); /* false: no memory; deinit either way */
void replay_waves_deinit(replay_waves *w);
/* Of a kernel: width, waves, tail and priority; false: its blocks are unknown. */
bool replay_waves_set(replay_share *out, replay_waves *w, uint32_t node);

#endif
