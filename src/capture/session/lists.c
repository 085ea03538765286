/* lists.c - what events refer to by id, names first of all: a hash table over the entries' bytes */
#include <stdlib.h>

#include "base/capture_wire.h"
#include "base/hash.h"
#include "capture/session/impl.h"

enum { FIRST_SLOTS = 1024 };

hd_status session_list_init(session_list *list)
{
    *list = (session_list){.slot_count = FIRST_SLOTS, .capacity = FIRST_SLOTS / 2};
    list->slots = calloc(list->slot_count, sizeof *list->slots);
    list->offsets = calloc(list->capacity + 1, sizeof *list->offsets);
    return list->slots && list->offsets ? HD_OK : HD_ERR_MEMORY;
}

void session_list_deinit(session_list *list)
{
    hd_bytes_deinit(&list->text);
    free(list->offsets);
    free(list->slots);
}

static uint32_t *find_slot(const session_list *list, uint32_t *slots, uint32_t count, const char *text, size_t size)
{
    uint32_t at = (uint32_t)(hd_hash(text, size) >> 32) & (count - 1);
    for (; slots[at]; at = (at + 1) & (count - 1)) {
        uint64_t offset = list->offsets[slots[at] - 1];
        if (list->offsets[slots[at]] - offset == size && memcmp(list->text.data + offset, text, size) == 0) break;
    }
    return &slots[at];
}

static bool widen(session_list *list)
{
    if (list->count < list->capacity) return true;
    if (list->count >= CAPTURE_LIST_MAX) return false;
    uint32_t slot_count = list->slot_count * 2, capacity = slot_count / 2;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    uint64_t *offsets = realloc(list->offsets, ((size_t)capacity + 1) * sizeof *offsets);
    if (offsets) list->offsets = offsets;
    if (!slots || !offsets) {
        free(slots);
        return false;
    }
    for (uint32_t id = 1; id <= list->count; id++) {
        uint64_t offset = list->offsets[id - 1];
        const char *text = (const char *)list->text.data + offset;
        *find_slot(list, slots, slot_count, text, (size_t)(list->offsets[id] - offset)) = id;
    }
    free(list->slots);
    list->slots = slots;
    list->slot_count = slot_count;
    list->capacity = capacity;
    return true;
}

uint32_t session_list_add(session_list *list, const void *text, size_t size)
{
    uint32_t *slot = find_slot(list, list->slots, list->slot_count, text, size);
    if (*slot) return *slot;
    uint8_t *room = widen(list) ? hd_bytes_room(&list->text, size + 1) : NULL;
    if (!room) {
        list->text.failed = false; /* there may be memory next time */
        list->lost++;
        return 0;
    }
    slot = find_slot(list, list->slots, list->slot_count, text, size);
    memcpy(room, text, size);
    list->text.size += size;
    list->count++;
    list->offsets[list->count] = list->text.size;
    *slot = list->count;
    return list->count;
}

/* The size of a text that fits, not cut within a character. */
size_t session_text_size(const char *text)
{
    size_t size = strnlen(text, HD_SESSION_NAME_BYTES + 1);
    if (size <= HD_SESSION_NAME_BYTES) return size;
    size = HD_SESSION_NAME_BYTES;
    while (size && ((unsigned char)text[size] & 0xc0) == 0x80) size--;
    return size;
}

uint32_t session_name_id(hd_session *session, const char *name)
{
    return name ? session_list_add(&session->lists[SESSION_NAMES], name, session_text_size(name)) : 0;
}

void session_lock(hd_session *session)
{
    session_this_thread.busy++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&session->lock);
}

void session_leave(hd_session *session)
{
    pthread_mutex_unlock(&session->lock);
    atomic_signal_fence(memory_order_seq_cst);
    session_this_thread.busy--;
}

bool session_enter(hd_session *session)
{
    if (!session || session_this_thread.busy) return false;
    session_lock(session);
    return true;
}

uint32_t hd_session_intern(hd_session *session, const char *name)
{
    if (!name || !session_enter(session)) return 0;
    uint32_t id = session_name_id(session, name);
    session_leave(session);
    return id;
}
