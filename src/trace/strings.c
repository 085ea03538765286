/* strings.c - the intern table
 *
 * An open-addressed table of 64-bit slots (32 bits of hash, 32 bits of id; 0 is empty) is probed without a lock.
 * A missing string is inserted under the lock: bytes, then the segment entry, then the slot, each released after
 * the one before. A table that grows is replaced; the old one stays until the freeze, since readers may be in it.
 */
#include "trace/strings.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"

struct hd_string_slots {
    hd_string_slots *next;
    uint64_t mask;
    _Atomic uint64_t slot[];
};

static hd_string_slots *slots_new(uint64_t size)
{
    hd_string_slots *slots = calloc(1, sizeof *slots + size * sizeof slots->slot[0]);
    if (slots) slots->mask = size - 1;
    return slots;
}

hd_status hd_strings_init(hd_strings *strings, hd_error *err)
{
    *strings = (hd_strings){0};
    hd_string_slots *slots = slots_new(128);
    if (!slots) return HD_NOMEM(err);
    atomic_store(&strings->slots, slots);
    pthread_mutex_init(&strings->lock, NULL);
    hd_string *first = calloc((size_t)1 << HD_STRING_FIRST_BITS, sizeof *first);
    if (!first) {
        hd_strings_deinit(strings);
        return HD_NOMEM(err);
    }
    first[0] = (hd_string){"", 0};
    atomic_store(&strings->segments[0], first);
    atomic_store(&strings->count, 1);
    return HD_OK;
}

void hd_strings_freeze(hd_strings *strings)
{
    while (strings->retired) {
        hd_string_slots *next = strings->retired->next;
        free(strings->retired);
        strings->retired = next;
    }
}

void hd_strings_deinit(hd_strings *strings)
{
    if (!atomic_load(&strings->slots)) return;
    hd_strings_freeze(strings);
    free(atomic_load(&strings->slots));
    atomic_store(&strings->slots, NULL);
    for (int i = 0; i < HD_STRING_SEGMENTS; i++) free(atomic_load(&strings->segments[i]));
    hd_arena_deinit(&strings->arena);
    pthread_mutex_destroy(&strings->lock);
}

static inline uint32_t probe(const hd_strings *strings, const hd_string_slots *slots, uint64_t hash, const char *data,
                             size_t size)
{
    uint64_t tag = hash >> 32;
    for (uint64_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (slot == 0) return HD_STRING_NONE;
        if (slot >> 32 != tag) continue;
        hd_string s = hd_strings_at(strings, (uint32_t)slot);
        if (s.size == size && memcmp(s.data, data, size) == 0) return (uint32_t)slot;
    }
}

static void place(hd_string_slots *slots, uint64_t hash, uint32_t id)
{
    uint64_t i = hash & slots->mask;
    while (atomic_load_explicit(&slots->slot[i], memory_order_relaxed)) i = (i + 1) & slots->mask;
    atomic_store_explicit(&slots->slot[i], (hash >> 32) << 32 | id, memory_order_release);
}

/* Under the lock. */
static hd_string_slots *grow(hd_strings *strings, hd_string_slots *old)
{
    hd_string_slots *wider = slots_new((old->mask + 1) * 4);
    if (!wider) return NULL;
    uint32_t count = atomic_load(&strings->count);
    for (uint32_t id = 1; id < count; id++) {
        if (id == strings->reserved) continue;
        hd_string s = hd_strings_at(strings, id);
        place(wider, hd_hash(s.data, s.size), id);
    }
    old->next = strings->retired;
    strings->retired = old;
    atomic_store_explicit(&strings->slots, wider, memory_order_release);
    return wider;
}

/* Under the lock: the next id, for a text that no slot refers to yet; NONE when memory ran out. */
static uint32_t append(hd_strings *strings, const char *data, size_t size)
{
    uint32_t id = atomic_load_explicit(&strings->count, memory_order_relaxed);
    if (id >= HD_NONE - 1 || size > UINT32_MAX) return HD_STRING_NONE;
    uint64_t at = (uint64_t)id + ((uint64_t)1 << HD_STRING_FIRST_BITS);
    unsigned top = 63 - (unsigned)__builtin_clzll(at);
    hd_string *segment = atomic_load(&strings->segments[top - HD_STRING_FIRST_BITS]);
    if (!segment) {
        segment = malloc(sizeof *segment << top);
        if (!segment) return HD_STRING_NONE;
        atomic_store_explicit(&strings->segments[top - HD_STRING_FIRST_BITS], segment, memory_order_release);
    }
    char *copy = hd_arena_alloc(&strings->arena, size);
    if (!copy) return HD_STRING_NONE;
    if (size) memcpy(copy, data, size);
    segment[at - ((uint64_t)1 << top)] = (hd_string){copy, size};
    atomic_store_explicit(&strings->count, id + 1, memory_order_release);
    return id;
}

/* Under the lock: a new string, or NONE when memory ran out. */
static uint32_t insert(hd_strings *strings, hd_string_slots *slots, uint64_t hash, const char *data, size_t size)
{
    uint32_t id = atomic_load_explicit(&strings->count, memory_order_relaxed);
    if ((uint64_t)id * 3 > slots->mask * 2 && !(slots = grow(strings, slots))) return HD_STRING_NONE;
    id = append(strings, data, size);
    if (id != HD_STRING_NONE) place(slots, hash, id);
    return id;
}

uint32_t hd_strings_intern(hd_strings *strings, const char *data, size_t size)
{
    if (!data) data = "";
    uint64_t hash = hd_hash(data, size);
    hd_string_slots *slots = atomic_load_explicit(&strings->slots, memory_order_acquire);
    uint32_t id = probe(strings, slots, hash, data, size);
    if (id != HD_STRING_NONE) return id;
    pthread_mutex_lock(&strings->lock);
    slots = atomic_load(&strings->slots);
    id = probe(strings, slots, hash, data, size);
    if (id == HD_STRING_NONE) id = insert(strings, slots, hash, data, size);
    pthread_mutex_unlock(&strings->lock);
    if (id == HD_STRING_NONE) atomic_store(&strings->failed, true);
    return id;
}

uint32_t hd_strings_reserve(hd_strings *strings)
{
    pthread_mutex_lock(&strings->lock);
    if (strings->reserved == HD_STRING_NONE) strings->reserved = append(strings, "", 0);
    pthread_mutex_unlock(&strings->lock);
    return strings->reserved;
}

uint32_t hd_strings_find(const hd_strings *strings, const char *data, size_t size)
{
    const hd_string_slots *slots = atomic_load_explicit(&strings->slots, memory_order_acquire);
    uint32_t id = probe(strings, slots, hd_hash(data, size), data, size);
    return id == HD_STRING_NONE ? HD_NONE : id;
}
