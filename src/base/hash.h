/* hash.h - a fast 64-bit hash of short byte strings (multiply and fold), not for hostile-proof tables */
#ifndef HD_BASE_HASH_H
#define HD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hd_load64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline uint32_t hd_load32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline uint64_t hd_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hd_hash(const void *data, size_t size)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd1b54a32d192ed03u, k2 = 0x8cb92ba72f3d8dd7u;
    const unsigned char *p = (const unsigned char *)data;
    uint64_t a = 0, b = 0, seed = k2 ^ size;
    if (size > 16) {
        const unsigned char *last = p + size - 16;
        for (; p < last; p += 16) seed = hd_fold(hd_load64(p) ^ k0, hd_load64(p + 8) ^ seed);
        a = hd_load64(last);
        b = hd_load64(last + 8);
    } else if (size >= 8) {
        a = hd_load64(p);
        b = hd_load64(p + size - 8);
    } else if (size >= 4) {
        a = hd_load32(p);
        b = hd_load32(p + size - 4);
    } else if (size) {
        a = (uint64_t)p[0] << 16 | (uint64_t)p[size >> 1] << 8 | p[size - 1];
    }
    return hd_fold(a ^ k0 ^ seed, b ^ k1);
}

#endif
