/* strings.h - interned strings: lock-free lookup, insertion with a lock */
#ifndef HD_TRACE_STRINGS_H
#define HD_TRACE_STRINGS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory/arena.h"
#include "heddle/trace.h"

enum { HD_STRING_SEGMENTS = 27, HD_STRING_FIRST_BITS = 6 };

typedef struct hd_string_slots hd_string_slots;

/* Strings are stored in segments of doubling size, so that none ever moves. */
typedef struct hd_strings {
    pthread_mutex_t lock;
    _Atomic(hd_string *) segments[HD_STRING_SEGMENTS];
    _Atomic(hd_string_slots *) slots;
    hd_string_slots *retired; /* smaller tables that a reader may still probe */
    _Atomic uint32_t count;   /* ids 0 … count - 1; id 0 is HD_STRING_NONE */
    hd_arena arena;
    uint32_t reserved;  /* the id that no text has, HD_STRING_NONE: there is none */
    atomic_bool failed; /* memory ran out once */
} hd_strings;

hd_status hd_strings_init(hd_strings *strings, hd_error *err);
void hd_strings_deinit(hd_strings *strings);
uint32_t hd_strings_intern(hd_strings *strings, const char *data, size_t size);
/* HD_NONE if it was never interned. */
uint32_t hd_strings_find(const hd_strings *strings, const char *data, size_t size);
/* An id that is the same for all callers that reserve one. Its text is "", but it is not found by that. */
uint32_t hd_strings_reserve(hd_strings *strings);
/* No more insertions follow: frees memory that only they needed. */
void hd_strings_freeze(hd_strings *strings);

static inline hd_string hd_strings_at(const hd_strings *strings, uint32_t id)
{
    if (id >= atomic_load_explicit(&strings->count, memory_order_acquire)) return (hd_string){"", 0};
    uint64_t place = (uint64_t)id + ((uint64_t)1 << HD_STRING_FIRST_BITS);
    unsigned top = 63 - (unsigned)__builtin_clzll(place);
    hd_string *segment = atomic_load_explicit(&strings->segments[top - HD_STRING_FIRST_BITS], memory_order_acquire);
    return segment[place - ((uint64_t)1 << top)];
}

#endif
