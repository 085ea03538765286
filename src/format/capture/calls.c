/* calls.c - what is known of calls by their correlation ids: a hash table */
#include <stdlib.h>

#include "base/hash.h"
#include "format/capture/capture.h"

enum { FIRST_SLOTS = 1024 };

static capture_call *slot_of(capture_call *slots, size_t count, uint64_t key)
{
    size_t at = (size_t)hd_hash_pair(key, 0) & (count - 1);
    while (slots[at].key && slots[at].key != key) at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool widen(capture_calls *calls)
{
    if (calls->count < calls->slot_count / 2) return true;
    size_t wider = calls->slot_count ? calls->slot_count * 2 : FIRST_SLOTS;
    capture_call *slots = calloc(wider, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < calls->slot_count; i++) {
        if (calls->slots[i].key) *slot_of(slots, wider, calls->slots[i].key) = calls->slots[i];
    }
    free(calls->slots);
    calls->slots = slots;
    calls->slot_count = wider;
    return true;
}

bool capture_calls_add(capture_calls *calls, uint64_t key, uint64_t stack, uint64_t external)
{
    if (key == 0 || stack > UINT32_MAX) return true;
    if (!widen(calls)) return false;
    capture_call *call = slot_of(calls->slots, calls->slot_count, key);
    calls->count += call->key == 0;
    call->key = key;
    /* The stack and the external id may be told apart. */
    if (stack) call->stack = (uint32_t)stack;
    if (external) call->external = external;
    return true;
}

const capture_call *capture_calls_find(const capture_calls *calls, uint64_t key)
{
    if (!calls->count || key == 0) return NULL;
    const capture_call *call = slot_of(calls->slots, calls->slot_count, key);
    return call->key ? call : NULL;
}

void capture_calls_deinit(capture_calls *calls)
{
    free(calls->slots);
}
