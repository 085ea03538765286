/* trust.h - what in a trace's GPU activities is missing or impossible, so that figures that rest on it can say so
 *
 * In: a gpu_scope. Out: doubts, each with how many activities or launches have it. Reports write them as notes, the check as
 * findings of the same codes.
 */
#ifndef HD_MODEL_TRUST_TRUST_H
#define HD_MODEL_TRUST_TRUST_H

#include "model/scope/scope.h"

typedef enum gpu_doubt_code {
    GPU_DOUBT_NO_TIME,    /* activities whose time the profiler could not take: they are in no figure */
    GPU_DOUBT_NO_END,     /* activities that never end: they count as 0 ns */
    GPU_DOUBT_UNRECORDED, /* launches whose activities were not recorded, while those of others were */
    GPU_DOUBT_GUESSED,    /* activities whose correlation id several processes have */
    GPU_DOUBT_OVERLAP,    /* activities that run within another one of their stream, which runs one after the other */
    GPU_DOUBT_CLOCKS,     /* linked activities, if all begin later than their launch by more than all launches take */
    GPU_DOUBT_FAR,        /* activities far outside the time of all launches */
    GPU_DOUBTS,
} gpu_doubt_code;

typedef struct gpu_doubt {
    uint64_t count, of; /* of how many */
    int64_t ns;         /* overlap: the longest; clocks: the least delay */
    uint32_t work;      /* the first of launches->works; HD_NONE: none */
} gpu_doubt;

typedef struct gpu_trust {
    gpu_doubt doubts[GPU_DOUBTS];
} gpu_trust;

/* O(activities + launches). */
gpu_trust gpu_trust_of(const gpu_scope *scope);

/* A sentence about a doubt that has a count, into out. */
enum { GPU_DOUBT_TEXT = 320 };
const char *gpu_doubt_text(char out[GPU_DOUBT_TEXT], gpu_doubt_code code, const gpu_doubt *doubt);

#endif
