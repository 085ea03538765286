/* impl.h - what input.c and pickle.c share: the bytes in hand, and values of one opcode */
#ifndef HD_FORMAT_PICKLE_IMPL_H
#define HD_FORMAT_PICKLE_IMPL_H

#include "base/bytes.h"
#include "format/pickle/pickle.h"

bool pickle_refill(pickle_input *in, uint64_t size);

static inline uint64_t place(const pickle_input *in)
{
    return in->end_offset - (uint64_t)(in->end - in->p);
}

/* Makes so many bytes available in one part; false: the file has fewer left. */
static inline bool need(pickle_input *in, uint64_t size)
{
    return (uint64_t)(in->end - in->p) >= size || pickle_refill(in, size);
}

static inline uint64_t take(pickle_input *in, unsigned width)
{
    if (!need(in, width)) return 0;
    in->p += width;
    return hd_le_get(in->p - width, width);
}

/* In front of the bytes of a text. */
typedef struct text_head {
    uint64_t offset;
    uint32_t number;
} text_head;

static inline text_head *head_of(pickle_value text)
{
    return (text_head *)(uintptr_t)(text.bits - sizeof(text_head));
}

static inline const void *bytes_of(pickle_value text)
{
    return (const void *)(uintptr_t)text.bits;
}

/* A line of protocol 0, valid until more is read. */
hd_string pickle_take_line(pickle_input *in);
/* The value made by a single opcode, after the opcode; PICKLE_ABSENT: it makes none, and nothing is consumed. */
pickle_value pickle_take_value(pickle *p, uint8_t op);

#endif
