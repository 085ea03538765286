/* stats.c - groups by key, statistics of groups, texts with numbers */
#include "model/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "heddle/names.h"

/* ---- groups ---- */

uint32_t gpu_group(gpu_groups *groups, const void *key)
{
    uint32_t group;
    uint64_t hash = hd_hash(key, groups->key_size);
    HD_SLOTS_FIND(group, &groups->slots, hash, memcmp(gpu_group_key(groups, group), key, groups->key_size) == 0);
    if (group != HD_SLOTS_NONE) return group;
    if (groups->count == HD_NONE ||
        !hd_grow((void **)&groups->keys, &groups->capacity, groups->count, groups->key_size) ||
        !hd_slots_add(&groups->slots, hash, groups->count))
        return HD_NONE;
    memcpy(groups->keys + groups->count * groups->key_size, key, groups->key_size);
    return groups->count++;
}

void gpu_groups_deinit(gpu_groups *groups)
{
    free(groups->keys);
    hd_slots_deinit(&groups->slots);
    *groups = (gpu_groups){.key_size = groups->key_size};
}

/* ---- texts ---- */

uint32_t gpu_text(gpu_texts *texts, const char *data, size_t size)
{
    uint32_t text;
    uint64_t hash = hd_hash(data, size);
    HD_SLOTS_FIND(text, &texts->slots, hash,
                  texts->list[text].size == size && memcmp(texts->bytes + texts->list[text].at, data, size) == 0);
    if (text != HD_SLOTS_NONE) return text;
    if (texts->count == HD_NONE || !hd_reserve(&texts->bytes, &texts->byte_capacity, texts->size + size + 1) ||
        !hd_grow((void **)&texts->list, &texts->capacity, texts->count, sizeof *texts->list) ||
        !hd_slots_add(&texts->slots, hash, texts->count))
        return HD_NONE;
    if (size) memcpy(texts->bytes + texts->size, data, size);
    texts->list[texts->count] = (struct gpu_text){texts->size, size};
    texts->size += size;
    return texts->count++;
}

uint32_t gpu_text_json(gpu_texts *texts, hd_string json)
{
    size_t size = 0;
    bool quoted = false;
    char *line = malloc(2 * json.size + 1);
    if (!line) return HD_NONE;
    for (size_t i = 0; i < json.size; i++) {
        char c = json.data[i];
        if (!quoted && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) continue;
        if (c == '"') quoted = !quoted;
        line[size++] = c;
        if (quoted && c == '\\' && i + 1 < json.size) line[size++] = json.data[++i];
        if (!quoted && (c == ',' || c == ':')) line[size++] = ' ';
    }
    uint32_t text = gpu_text(texts, line, size);
    free(line);
    return text;
}

hd_string gpu_text_of(const gpu_texts *texts, uint32_t text)
{
    return (hd_string){texts->bytes + texts->list[text].at, texts->list[text].size};
}

uint32_t gpu_call_name(gpu_texts *texts, uint32_t *known, const hd_trace *trace, uint32_t string)
{
    if (!known[string]) {
        hd_string name = hd_name_without_version(hd_name_plain(hd_trace_string(trace, string)));
        known[string] = gpu_text(texts, name.data, name.size) + 1;
    }
    return known[string] ? known[string] - 1 : HD_NONE;
}

void gpu_texts_deinit(gpu_texts *texts)
{
    free(texts->bytes);
    free(texts->list);
    hd_slots_deinit(&texts->slots);
    *texts = (gpu_texts){0};
}

/* ---- statistics ---- */

int64_t gpu_nearest(gpu_i128 a, gpu_i128 b)
{
    gpu_i128 size = ((a < 0 ? -a : a) * 2 + b) / (2 * b);
    return (int64_t)(a < 0 ? -size : size);
}

/* The mean is rounded, so squares are relative to a nearby value; the difference is subtracted again. */
static int64_t deviation(const gpu_value *values, size_t count, int64_t mean)
{
    long double squares = 0, sum = 0;
    if (count < 2) return HD_NO_NUMBER;
    for (size_t i = 0; i < count; i++) {
        long double off = (long double)values[i].value - (long double)mean;
        squares += off * off;
        sum += off;
    }
    squares -= sum * sum / (long double)count;
    return squares > 0 ? (int64_t)(sqrtl(squares / (long double)(count - 1)) + 0.5L) : 0;
}

static gpu_stats stats_of(const gpu_value *values, size_t count)
{
    gpu_i128 sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i].value;
    gpu_stats stats = {
        .count = count,
        .total = sum > INT64_MAX    ? INT64_MAX
                 : sum < -INT64_MAX ? -INT64_MAX
                                    : (int64_t)sum,
        .mean = gpu_nearest(sum, (gpu_i128)count),
        .median = count % 2 ? values[count / 2].value
                            : gpu_nearest((gpu_i128)values[count / 2 - 1].value + values[count / 2].value, 2),
        .min = values[0].value,
        .max = values[count - 1].value,
    };
    stats.stddev = deviation(values, count, stats.mean);
    return stats;
}

static int by_value(const void *a, const void *b)
{
    const gpu_value *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

bool gpu_stats_of(gpu_stats *out, uint32_t groups, gpu_value *values, size_t count, uint64_t large)
{
    size_t *first = calloc((size_t)groups + 2, sizeof *first);
    gpu_value *list = hd_large_new(count + 1, sizeof *list, large);
    bool fine = first && list;
    for (size_t i = 0; fine && i < count; i++) first[values[i].group + 2]++;
    for (uint32_t g = 0; fine && g < groups; g++) first[g + 2] += first[g + 1];
    for (size_t i = 0; fine && i < count; i++) list[first[values[i].group + 1]++] = values[i];
    for (uint32_t g = 0; fine && g < groups; g++) {
        size_t size = first[g + 1] - first[g];
        hd_sort(list + first[g], size, sizeof *list, by_value);
        out[g] = size ? stats_of(list + first[g], size) : (gpu_stats){0};
    }
    hd_large_free(list);
    free(first);
    return fine;
}
