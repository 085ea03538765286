/* memo.h - a cache of results by text, of bounded size
 *
 * Entries may be dropped, and none are added when memory runs out: the caller must be able to recompute a result. One
 * thread at a time.
 */
#ifndef HD_BASE_MEMORY_MEMO_H
#define HD_BASE_MEMORY_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/memory/arena.h"

enum { HD_MEMO_PROBES = 16 };

typedef struct hd_memo_value {
    uint32_t a, b, c;
} hd_memo_value;

typedef struct hd_memo_slot {
    uint64_t hash;
    const char *text; /* NULL: free */
    uint32_t size;
    hd_memo_value value;
} hd_memo_slot;

/* Zero-initialise; limit_bytes 0 is 64 MiB, beyond which all is forgotten. */
typedef struct hd_memo {
    hd_memo_slot *slots;
    size_t mask, count;
    hd_arena texts;
    size_t limit_bytes;
} hd_memo;

/* NULL: not in the cache. Valid until the next hd_memo_add. *out_hash is for hd_memo_add. */
static inline const hd_memo_value *hd_memo_find(uint64_t *out_hash, const hd_memo *memo, const char *text, size_t size)
{
    uint64_t hash = hd_hash(text, size);
    *out_hash = hash;
    if (!memo->slots) return NULL;
    for (size_t i = 0; i < HD_MEMO_PROBES; i++) {
        const hd_memo_slot *slot = &memo->slots[(hash + i) & memo->mask];
        if (!slot->text) return NULL;
        if (slot->hash == hash && slot->size == size && memcmp(slot->text, text, size) == 0) return &slot->value;
    }
    return NULL;
}

/* Adds an entry (text is copied) that hd_memo_find did not find. */
void hd_memo_add(hd_memo *memo, uint64_t hash, const char *text, size_t size, hd_memo_value value);
void hd_memo_deinit(hd_memo *memo);

#endif
