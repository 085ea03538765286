/* tile_read.h - the bytes of a tile of slices, read back as the page does */
#ifndef HD_TESTS_VIEW_TILE_READ_H
#define HD_TESTS_VIEW_TILE_READ_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct read_column {
    double busy, longest;
    uint32_t count, name, row, column;
} read_column;

typedef struct read_event {
    double start, duration;
    uint32_t name, row, flags;
} read_event;

typedef struct read_row {
    uint32_t column_count, event_count, starting;
    read_column columns[512];
    read_event events[2048];
} read_row;

static inline uint32_t read_u32(const uint8_t **p)
{
    uint32_t value;
    memcpy(&value, *p, 4);
    *p += 4;
    return value;
}

static inline double read_time(const uint8_t **p, uint32_t wide, int is_signed)
{
    double value;
    if (!wide) {
        uint32_t bits = read_u32(p);
        return is_signed ? (double)(int32_t)bits : (double)bits;
    }
    memcpy(&value, *p, 8);
    *p += 8;
    return value;
}

static inline void read_align(const uint8_t **p, const uint8_t *start)
{
    while ((*p - start) % 8) ++*p;
}

/* Returns the bytes of the row part. */
static inline size_t read_tile_row(read_row *out, const uint8_t *data)
{
    const uint8_t *p = data;
    uint32_t columns = out->column_count = read_u32(&p), events = out->event_count = read_u32(&p);
    uint32_t wide = read_u32(&p);
    out->starting = read_u32(&p);
    assert(columns <= 512 && events <= 2048 && wide <= 1);
#define EACH(list, count, to, value)                                                                                   \
    for (uint32_t i = 0; i < (count); i++) out->list[i].to = value;                                                    \
    read_align(&p, data)
    EACH(columns, columns, busy, read_time(&p, wide, 0));
    EACH(columns, columns, longest, read_time(&p, wide, 0));
    EACH(columns, columns, count, read_u32(&p));
    EACH(columns, columns, name, read_u32(&p));
    EACH(columns, columns, row, read_u32(&p));
    for (uint32_t i = 0; i < columns; i++, p += 2) out->columns[i].column = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    read_align(&p, data);
    EACH(events, events, start, read_time(&p, wide, 1));
    EACH(events, events, duration, read_time(&p, wide, 0));
    EACH(events, events, name, read_u32(&p));
    EACH(events, events, row, read_u32(&p));
    for (uint32_t i = 0; i < events; i++) out->events[i].flags = *p++;
    read_align(&p, data);
#undef EACH
    return (size_t)(p - data);
}

#endif
