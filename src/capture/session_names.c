/* session_names.c - names and their ids: a hash table over one text */
#include <stdlib.h>

#include "base/capture_wire.h"
#include "base/hash.h"
#include "capture/session_impl.h"

enum { FIRST_SLOTS = 1024 };

hd_status session_names_init(session_names *names)
{
    *names = (session_names){.slot_count = FIRST_SLOTS, .capacity = FIRST_SLOTS / 2};
    names->slots = calloc(names->slot_count, sizeof *names->slots);
    names->offsets = calloc(names->capacity + 1, sizeof *names->offsets);
    return names->slots && names->offsets ? HD_OK : HD_ERR_MEMORY;
}

void session_names_deinit(session_names *names)
{
    hd_bytes_deinit(&names->text);
    free(names->offsets);
    free(names->slots);
}

static uint32_t *find_slot(const session_names *names, uint32_t *slots, uint32_t count, const char *text, size_t size)
{
    uint32_t at = (uint32_t)(hd_hash(text, size) >> 32) & (count - 1);
    for (; slots[at]; at = (at + 1) & (count - 1)) {
        uint64_t offset = names->offsets[slots[at] - 1];
        if (names->offsets[slots[at]] - offset == size && memcmp(names->text.data + offset, text, size) == 0) break;
    }
    return &slots[at];
}

static bool widen(session_names *names)
{
    if (names->count < names->capacity) return true;
    if (names->count >= CAPTURE_NAMES_MAX) return false;
    uint32_t slot_count = names->slot_count * 2, capacity = slot_count / 2;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    uint64_t *offsets = realloc(names->offsets, ((size_t)capacity + 1) * sizeof *offsets);
    if (offsets) names->offsets = offsets;
    if (!slots || !offsets) {
        free(slots);
        return false;
    }
    for (uint32_t id = 1; id <= names->count; id++) {
        uint64_t offset = names->offsets[id - 1];
        const char *text = (const char *)names->text.data + offset;
        *find_slot(names, slots, slot_count, text, (size_t)(names->offsets[id] - offset)) = id;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    names->capacity = capacity;
    return true;
}

uint32_t session_names_add(session_names *names, const char *text, size_t size)
{
    uint32_t *slot = find_slot(names, names->slots, names->slot_count, text, size);
    if (*slot) return *slot;
    uint8_t *room = widen(names) ? hd_bytes_room(&names->text, size + 1) : NULL;
    if (!room) {
        names->text.failed = false; /* there may be memory next time */
        names->lost++;
        return 0;
    }
    slot = find_slot(names, names->slots, names->slot_count, text, size);
    memcpy(room, text, size);
    names->text.size += size;
    names->count++;
    names->offsets[names->count] = names->text.size;
    *slot = names->count;
    return names->count;
}

/* The size of a name that fits, not cut within a character. */
static size_t name_size(const char *name)
{
    size_t size = strnlen(name, HD_SESSION_NAME_BYTES + 1);
    if (size <= HD_SESSION_NAME_BYTES) return size;
    size = HD_SESSION_NAME_BYTES;
    while (size && ((unsigned char)name[size] & 0xc0) == 0x80) size--;
    return size;
}

uint32_t hd_session_intern(hd_session *session, const char *name)
{
    session_thread *here = &session_this_thread;
    if (!session || !name || here->busy) return 0;
    here->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&session->lock);
    uint32_t id = session_names_add(&session->names, name, name_size(name));
    pthread_mutex_unlock(&session->lock);
    atomic_signal_fence(memory_order_seq_cst);
    here->busy = 0;
    return id;
}
