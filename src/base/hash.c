/* hash.c - the random key of this process, and XXH3 with it */
#include "base/hash.h"

#include <stdbool.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SECRET_BYTES = XXH3_SECRET_DEFAULT_SIZE };

uint64_t hd_hash_words[2];
static _Alignas(64) uint8_t secret[SECRET_BYTES];

uint64_t hd_random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void hd_hash_seed_set(uint64_t seed)
{
    for (size_t at = 0; at < SECRET_BYTES; at += 8) {
        uint64_t word = hd_random_next(&seed);
        memcpy(secret + at, &word, 8);
    }
    for (int i = 0; i < 2; i++) hd_hash_words[i] = hd_random_next(&seed);
}

/* Runs before any thread, table and other constructor. Fixed for fuzzers, which need reproducible paths. */
__attribute__((constructor(101))) static void draw_key(void)
{
    struct timespec now = {0};
    hd_hash_seed_set(0);
#ifndef HD_FUZZING
    if (getentropy(secret, sizeof secret) == 0 && getentropy(hd_hash_words, sizeof hd_hash_words) == 0) return;
    clock_gettime(CLOCK_REALTIME, &now); /* forbidden, as in some sandboxes: where we were loaded, and when */
    hd_hash_seed_set((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&now);
#else
    (void)now;
#endif
}

uint64_t hd_hash(const void *data, size_t size)
{
    return XXH3_64bits_withSecret(data, size, secret, sizeof secret);
}
