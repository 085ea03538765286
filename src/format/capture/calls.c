/* calls.c - facts about calls, by correlation id */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "format/capture/capture.h"

/* NULL: none. */
static capture_call *find(const capture_calls *calls, uint64_t key, uint64_t hash)
{
    uint32_t at;
    HD_SLOTS_FIND(at, &calls->slots, hash, calls->list[at].key == key);
    return at == HD_SLOTS_NONE ? NULL : &calls->list[at];
}

bool capture_calls_add(capture_calls *calls, uint64_t key, uint64_t stack, uint64_t external)
{
    if (key == 0 || stack > UINT32_MAX) return true;
    uint64_t hash = hd_hash_pair(key, 0);
    capture_call *call = find(calls, key, hash);
    if (!call) {
        if (!hd_grow((void **)&calls->list, &calls->capacity, calls->count, sizeof *calls->list) ||
            !hd_slots_add(&calls->slots, hash, (uint32_t)calls->count))
            return false;
        call = &calls->list[calls->count++];
        *call = (capture_call){.key = key};
    }
    /* The stack and the external id may be recorded separately. */
    if (stack) call->stack = (uint32_t)stack;
    if (external) call->external = external;
    return true;
}

const capture_call *capture_calls_find(const capture_calls *calls, uint64_t key)
{
    return find(calls, key, hd_hash_pair(key, 0));
}

void capture_calls_deinit(capture_calls *calls)
{
    hd_slots_deinit(&calls->slots);
    free(calls->list);
}
