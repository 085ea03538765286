/* column.c - columns: base plus unsigned deltas of 0, 1, 2, 4 or 8 bytes */
#include "trace/column.h"

void hd_column_decode(int64_t *out, const hd_column *column, uint32_t first, uint32_t count)
{
    uint64_t base = (uint64_t)column->base;
    switch (column->width) {
    case 1: {
        const uint8_t *p = (const uint8_t *)column->data + first;
        for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + p[i]);
        break;
    }
    case 2: {
        const uint16_t *p = (const uint16_t *)column->data + first;
        for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + p[i]);
        break;
    }
    case 4: {
        const uint32_t *p = (const uint32_t *)column->data + first;
        for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + p[i]);
        break;
    }
    case 8: {
        const uint64_t *p = (const uint64_t *)column->data + first;
        for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + p[i]);
        break;
    }
    default:
        for (uint32_t i = 0; i < count; i++) out[i] = column->base;
    }
}

static uint32_t width_for(uint64_t range)
{
    if (range == 0) return 0;
    if (range <= UINT8_MAX) return 1;
    if (range <= UINT16_MAX) return 2;
    return range <= UINT32_MAX ? 4 : 8;
}

bool hd_column_seal(hd_column *out, hd_arena *arena, const int64_t *values, uint32_t count)
{
    int64_t low = values[0], high = values[0];
    for (uint32_t i = 1; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    uint64_t base = (uint64_t)low;
    uint32_t width = width_for((uint64_t)high - base);
    *out = (hd_column){.base = low, .width = width};
    if (width == 0) return true;
    void *data = hd_arena_alloc(arena, (size_t)count * width);
    if (!data) return false;
    out->data = data;
    switch (width) {
    case 1:
        for (uint32_t i = 0; i < count; i++) ((uint8_t *)data)[i] = (uint8_t)((uint64_t)values[i] - base);
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++) ((uint16_t *)data)[i] = (uint16_t)((uint64_t)values[i] - base);
        break;
    case 4:
        for (uint32_t i = 0; i < count; i++) ((uint32_t *)data)[i] = (uint32_t)((uint64_t)values[i] - base);
        break;
    default:
        for (uint32_t i = 0; i < count; i++) ((uint64_t *)data)[i] = (uint64_t)values[i] - base;
    }
    return true;
}
