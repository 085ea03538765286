/* lists.c - lists that events refer to by id, mainly names: a hash table over the entries' bytes */
#include <stdlib.h>

#include "base/capture_wire.h"
#include "base/memory/vector.h"
#include "capture/session/impl.h"

hd_status session_list_init(session_list *list)
{
    *list = (session_list){0};
    if (!hd_grow((void **)&list->offsets, &list->capacity, 0, sizeof *list->offsets)) return HD_ERR_MEMORY;
    list->offsets[0] = 0;
    return HD_OK;
}

void session_list_deinit(session_list *list)
{
    hd_bytes_deinit(&list->text);
    free(list->offsets);
    hd_slots_deinit(&list->slots);
}

static bool is_entry(const session_list *list, uint32_t at, const void *text, size_t size)
{
    uint64_t offset = list->offsets[at];
    return list->offsets[at + 1] - offset == size && memcmp(list->text.data + offset, text, size) == 0;
}

uint32_t session_list_add(hd_session *session, int number, const void *text, size_t size)
{
    session_list *list = &session->lists[number];
    uint32_t at;
    uint64_t hash = hd_hash(text, size);
    HD_SLOTS_FIND(at, &list->slots, hash, is_entry(list, at, text, size));
    if (at != HD_SLOTS_NONE) return at + 1;
    bool fits = list->count < CAPTURE_LIST_MAX &&
                hd_grow((void **)&list->offsets, &list->capacity, (size_t)list->count + 1, sizeof *list->offsets);
    uint8_t *room = fits ? hd_bytes_room(&list->text, size + 1) : NULL;
    if (!room || !hd_slots_add(&list->slots, hash, list->count)) {
        list->text.failed = false; /* there may be memory next time */
        list->lost++;
        return 0;
    }
    memcpy(room, text, size);
    list->text.size += size;
    list->offsets[++list->count] = list->text.size;
    session_log(session, session_list_types[number], list->count, text, size);
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
    return name ? session_list_add(session, SESSION_NAMES, name, session_text_size(name)) : 0;
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
