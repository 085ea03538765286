/* sms.h - the SMs of a device: which kernel holds how many when, and which wait for some
 *
 * In: kernels in order of start, in the trace or in a replay. Out: their ends, and, in `moved`, changes for other
 * kernels. Begin with sms_run.
 */
#ifndef HD_REPLAY_SMS_SMS_H
#define HD_REPLAY_SMS_SMS_H

#include "replay/replay.h"

#define SMS_LONGEST (INT64_MAX / SHARE_ALL / 2) /* ns; longer kernels share nothing */

/* Of all devices. */
typedef struct sms_sharing {
    const replay *r;
    replay *recorded;    /* whose demands are computed; NULL: none */
    replay_moved *moved; /* others whose times changed since the caller emptied it */
    size_t moved_count, moved_capacity;
    bool failed; /* no memory */
} sms_sharing;

/* From steps[i].at to the next step this much is free. */
typedef struct sms_step {
    int64_t at;
    int32_t left;
} sms_step;

/* Of a running kernel, if priorities differ: from `at` on it has this many SMs and this speed. */
typedef struct sms_piece {
    int64_t at;
    int32_t share, part;
} sms_piece;

typedef struct sms_running {
    uint32_t node;
    int64_t end, wave; /* wave: ns of a wave, the blocks that run at once */
    int64_t phase;     /* before the pieces: start of a wave, and its SMs then */
    int32_t had;
    int64_t demand, got; /* got: before the pieces */
    sms_piece *pieces;
    size_t count, capacity;
    bool is_fixed; /* ends at `end`, whatever SMs it gets */
    /* For what begins: */
    bool gives, stays; /* stays: none of its blocks waits */
    int64_t held, next;
} sms_running;

typedef struct sms_waiter {
    uint32_t node;
    int64_t since, wakes; /* wakes: HD_NO_TIME: after another one */
} sms_waiter;

typedef struct sms {
    sms_step *steps;
    size_t count, capacity;
    sms_running *running; /* by priority, then by begin */
    size_t running_count, running_capacity;
    int64_t granted;     /* the last time at which SMs change hands */
    sms_waiter *waiters; /* by priority, then by the time from which they could begin */
    size_t waiter_count, waiter_capacity;
    int64_t full;          /* until then nothing was free */
    int64_t worked, early; /* of kernels in the trace; early: before any SM was free */
} sms;

void sms_add_moved(sms_sharing *s, replay_moved added);
bool sms_init(sms *d); /* false: no memory; deinit either way */
void sms_deinit(sms *d);

/* Takes a kernel of the trace, in order of start: computes its demand, and whether it began early. */
void sms_take(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t end);
/* Whether kernels of the trace begin while no SM is free. */
bool sms_begins_full(const sms *d);

/* Whether a kernel may not begin at *start. Then *start is when to try again, *after the kernel that uses the SMs
 * until then. */
bool sms_wait(int64_t *start, uint32_t *behind, sms_sharing *s, sms *d, const replay_times *times, uint32_t node);
/* Begins a kernel; *end: HD_NO_TIME, or fixed. */
void sms_run(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t *end, int64_t demand);
/* After sms_run: the first waiting kernel may begin, or its time is known. */
void sms_wake_first(sms_sharing *s, sms *d, int64_t time);

#endif
