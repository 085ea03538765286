/* sms.h - the SMs of a device: who holds how many from when on, who waits for some
 *
 * In: kernels by when they begin, in the trace or in a replay. Out: when they end, and, in `moved`, what that changes
 * for others. Begin with sms_run.
 */
#ifndef HD_REPLAY_SMS_SMS_H
#define HD_REPLAY_SMS_SMS_H

#include "replay/replay.h"

#define SMS_LONGEST (INT64_MAX / SHARE_ALL / 2) /* ns; what takes longer shares nothing */

/* Of all devices. */
typedef struct sms_sharing {
    const replay *r;
    replay *recorded;    /* whose shares are found; NULL: none */
    replay_moved *moved; /* others, since the caller emptied it */
    size_t moved_count, moved_capacity;
    bool failed; /* no memory */
} sms_sharing;

/* From steps[i].at to the next one so much is left. */
typedef struct sms_step {
    int64_t at;
    int32_t left;
} sms_step;

/* Of what runs, where priorities differ: from `at` on it has so many SMs, and is so fast. */
typedef struct sms_piece {
    int64_t at;
    int32_t share, part;
} sms_piece;

typedef struct sms_running {
    uint32_t node;
    int64_t end, wave; /* wave: ns that its blocks take which run at once */
    int64_t phase;     /* before the pieces: when a wave began, and how many SMs it had then */
    int32_t had;
    int64_t demand, got; /* got: before the pieces */
    sms_piece *pieces;
    size_t count, capacity;
    bool is_fixed; /* ends then, whatever it gets */
    /* For what begins: */
    bool gives, stays; /* stays: none of its blocks waits */
    int64_t held, next;
} sms_running;

typedef struct sms_waiter {
    uint32_t node;
    int64_t since, wakes; /* wakes: HD_NO_TIME: behind another */
} sms_waiter;

typedef struct sms {
    sms_step *steps;
    size_t count, capacity;
    sms_running *running; /* by priority, then by begin */
    size_t running_count, running_capacity;
    int64_t granted;     /* the last time at which SMs change hands */
    sms_waiter *waiters; /* by priority, then by when they could begin */
    size_t waiter_count, waiter_capacity;
    int64_t full;          /* until then nothing was left */
    int64_t worked, early; /* of kernels in the trace; early: before anything was left */
} sms;

void sms_add_moved(sms_sharing *s, replay_moved added);
bool sms_init(sms *d); /* false: no memory; deinit either way */
void sms_deinit(sms *d);

/* A kernel of the trace, in the order of their starts: finds what it needs, and whether it began early. */
void sms_take(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t end);
/* Do kernels of the trace begin while nothing is left? */
bool sms_begins_full(const sms *d);

/* May a kernel not begin at *start? Then *start is when it is asked again, *behind what has the SMs until then. */
bool sms_wait(int64_t *start, uint32_t *behind, sms_sharing *s, sms *d, const replay_times *times, uint32_t node);
/* A kernel begins; *end: HD_NO_TIME, or it is fixed. */
void sms_run(sms_sharing *s, sms *d, uint32_t node, int64_t start, int64_t *end, int64_t demand);
/* After sms_run: who waits first may begin, or knows when. */
void sms_wake_first(sms_sharing *s, sms *d, int64_t time);

#endif
