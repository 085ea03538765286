/* memo.h - cached data of each string id: a list that grows with them, 0 for none yet */
#ifndef HD_SYNTH_MEMO_H
#define HD_SYNTH_MEMO_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct synth_memo {
    uint32_t *known;
    size_t count;
} synth_memo;

/* The place of an id; NULL: no memory. */
static inline uint32_t *synth_memo_at(synth_memo *memo, uint32_t id)
{
    if (id < memo->count) return &memo->known[id];
    size_t count = ((size_t)id + 1) * 2;
    uint32_t *wider = realloc(memo->known, count * sizeof *wider);
    if (!wider) return NULL;
    memset(wider + memo->count, 0, (count - memo->count) * sizeof *wider);
    memo->known = wider;
    memo->count = count;
    return &wider[id];
}

#endif
