/* memo.c - a cache of results by text */
#include "base/memory/memo.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024, LIMIT_BYTES = 64 << 20 };

void hd_memo_deinit(hd_memo *memo)
{
    size_t limit = memo->limit_bytes;
    hd_arena_deinit(&memo->texts);
    free(memo->slots);
    *memo = (hd_memo){.limit_bytes = limit};
}

/* The free slot for a hash; if there is none the last probed slot, whose entry is dropped. */
static hd_memo_slot *place(hd_memo_slot *slots, size_t mask, uint64_t hash)
{
    size_t i = 0;
    while (i < HD_MEMO_PROBES - 1 && slots[(hash + i) & mask].text) i++;
    return &slots[(hash + i) & mask];
}

static bool widen(hd_memo *memo)
{
    size_t mask = memo->slots ? memo->mask * 2 + 1 : FIRST_SLOTS - 1;
    hd_memo_slot *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; memo->slots && i <= memo->mask; i++) {
        if (memo->slots[i].text) *place(slots, mask, memo->slots[i].hash) = memo->slots[i];
    }
    free(memo->slots);
    memo->slots = slots;
    memo->mask = mask;
    return true;
}

void hd_memo_add(hd_memo *memo, uint64_t hash, const char *text, size_t size, hd_memo_value value)
{
    size_t limit = memo->limit_bytes ? memo->limit_bytes : LIMIT_BYTES;
    if (size > limit / 8) return;
    if (memo->texts.total_bytes + size + memo->count * 2 * sizeof *memo->slots > limit) hd_memo_deinit(memo);
    if (!memo->slots || memo->count * 2 > memo->mask) {
        if (!widen(memo)) return;
    }
    char *copy = hd_arena_alloc(&memo->texts, size);
    if (!copy) return;
    if (size) memcpy(copy, text, size);
    hd_memo_slot *slot = place(memo->slots, memo->mask, hash);
    memo->count += !slot->text;
    *slot = (hd_memo_slot){.hash = hash, .text = copy, .size = (uint32_t)size, .value = value};
}
