/* stats.h - groups by key, statistics of groups, texts with numbers, exact arithmetic */
#ifndef HD_MODEL_STATS_STATS_H
#define HD_MODEL_STATS_STATS_H

#include <math.h>

#include "base/map.h"
#include "heddle/trace.h"

__extension__ typedef __int128 gpu_i128;

/* Around the types of keys: unset bytes between members would be part of the key. */
#define GPU_KEY _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wpadded\"")
#define GPU_KEY_END _Pragma("GCC diagnostic pop")

/* Numbers 0, 1, 2 … for keys of one size, in order of first use. Zero-initialised except key_size. */
typedef struct gpu_groups {
    size_t key_size;
    char *keys; /* count * key_size */
    uint32_t count;
    size_t capacity;
    hd_slots slots;
} gpu_groups;
/* Bytes of the key that no member has must be 0. HD_NONE: no memory. */
uint32_t gpu_group(gpu_groups *groups, const void *key);
static inline const void *gpu_group_key(const gpu_groups *groups, uint32_t group)
{
    return groups->keys + group * groups->key_size;
}
/* The number of a key that is usually the one of `last`, which is updated. */
static inline uint32_t gpu_group_near(gpu_groups *groups, uint32_t *last, const void *key)
{
    if (*last >= groups->count || memcmp(gpu_group_key(groups, *last), key, groups->key_size) != 0)
        *last = gpu_group(groups, key);
    return *last;
}
void gpu_groups_deinit(gpu_groups *groups);

/* Statistics of the values of each group. */
typedef struct gpu_stats {
    uint64_t count;
    int64_t total, mean, median, min, max;
    int64_t stddev; /* HD_NO_NUMBER: of one value */
} gpu_stats;
typedef struct gpu_value {
    int64_t value;
    uint32_t group;
} gpu_value;
/* out has an entry per group, each of which has values. Sorts the values. false: no memory. */
bool gpu_stats_of(gpu_stats *out, uint32_t groups, gpu_value *values, size_t count, uint64_t large);
/* a / b rounded to the nearest, halves away from 0; b > 0. */
int64_t gpu_nearest(gpu_i128 a, gpu_i128 b);
/* To the nearest, halves away from 0; saturating, NaN is 0: of a value out of range llround says nothing. */
static inline int64_t gpu_round(double value)
{
    if (!(value < 0x1p63)) return isnan(value) ? 0 : INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)llround(value);
}

/* Numbers for texts that are made, and the text of a number. Zero-initialised. */
typedef struct gpu_texts {
    char *bytes;
    size_t size, byte_capacity;
    struct gpu_text {
        size_t at, size;
    } * list;
    uint32_t count;
    size_t capacity;
    hd_slots slots;
} gpu_texts;
uint32_t gpu_text(gpu_texts *texts, const char *data, size_t size); /* HD_NONE: no memory */
hd_string gpu_text_of(const gpu_texts *texts, uint32_t text);       /* valid until the next is added */
uint32_t gpu_text_json(gpu_texts *texts, hd_string json);           /* on one line: [[1, 2], []] */
void gpu_texts_deinit(gpu_texts *texts);

/* The name of a call without CUPTI's prefix and version, as text; cached by string in `known` (text + 1, zeros at
 * first). HD_NONE: no memory. */
uint32_t gpu_call_name(gpu_texts *texts, uint32_t *known, const hd_trace *trace, uint32_t string);

#endif
