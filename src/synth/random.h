/* random.h - a small generator of random integers (splitmix64), the same on every machine */
#ifndef HD_SYNTH_RANDOM_H
#define HD_SYNTH_RANDOM_H

#include <stdint.h>

typedef struct synth_random {
    uint64_t state;
} synth_random;

static inline uint64_t synth_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A generator of its own for each pair of numbers. */
static inline synth_random synth_seed(uint64_t seed, uint64_t purpose)
{
    return (synth_random){synth_mix(synth_mix(seed + 0x9e3779b97f4a7c15u) ^ (purpose + 1) * 0xd1b54a32d192ed03u)};
}

static inline uint64_t synth_next(synth_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return synth_mix(random->state);
}

/* 0 … n - 1, for 1 <= n <= 2^32. */
static inline int64_t synth_below(synth_random *random, int64_t n)
{
    return (int64_t)((synth_next(random) >> 32) * (uint64_t)n >> 32);
}

#endif
