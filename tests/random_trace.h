/* random_trace.h - seeded text of traces that look like trouble, and seeded damage */
#ifndef HD_TESTS_RANDOM_TRACE_H
#define HD_TESTS_RANDOM_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json/write.h"

/* The next number of a seed. */
static inline uint32_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* One valid event named "event <number>", with strings and nested arrays that look like events. */
void random_event(hd_json_out *out, uint64_t *seed, unsigned number);

/* A valid document of `events` events: an object or an array, in one of several layouts. */
void random_document(hd_json_out *out, uint64_t *seed, unsigned events);

/* Change, insert or remove one to a few bytes of text[from, until); the text may grow by 4. Returns the new size. */
size_t random_damage(char *text, size_t size, size_t from, size_t until, uint64_t *seed);

#endif
