/* hash.h - hashes for in-memory tables, with a random key, so that an attacker cannot choose colliding keys
 *
 * The key is drawn once, when the program or the library is loaded, so hashes differ from run to run. Use them for
 * places in a table and for equality, never for an order of output. For values that must be equal in every run use
 * hd_checksum.
 */
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

/* XXH3 with the secret of this process. */
uint64_t hd_hash(const void *data, size_t size);

/* For tests, before there is any table: sets the key from a seed. */
void hd_hash_seed_set(uint64_t seed);

/* The next number of a generator that is the same on every machine: splitmix64. */
uint64_t hd_random_next(uint64_t *state);

extern uint64_t hd_hash_words[2]; /* part of the key */

/* Hashes a pair of integers (or one, and 0) by one folded multiplication. */
static inline uint64_t hd_hash_pair(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)(a ^ hd_hash_words[0]) * (b ^ hd_hash_words[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
