/* flame.c - the weights of a flame graph: their names, their sums, their memory */
#include "flame/flame.h"
#include "base/text/ends.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *unit, *title;
} kinds[HD_FLAME_OFS] = {
    [HD_FLAME_AUTO] = {"auto", "", "Weight"},
    [HD_FLAME_GPU_TIME] = {"gpu-time", "ns", "GPU time"},
    [HD_FLAME_CPU_TIME] = {"cpu-time", "ns", "CPU time"},
    [HD_FLAME_CPU_SELF] = {"cpu-self", "ns", "CPU time of slices alone"},
    [HD_FLAME_LAUNCHES] = {"launches", "launches", "Launches of GPU activities"},
    [HD_FLAME_BYTES] = {"bytes", "bytes", "Bytes copied and set on GPUs"},
    [HD_FLAME_SAMPLES] = {"samples", "samples", "Stack samples"},
};

const char *hd_flame_of_name(hd_flame_of of)
{
    return of < HD_FLAME_OFS ? kinds[of].name : "";
}

const char *flame_unit_of(hd_flame_of of)
{
    return kinds[of].unit;
}

const char *flame_title_of(hd_flame_of of)
{
    return of < HD_FLAME_OFS ? kinds[of].title : "";
}

bool hd_flame_format_of(hd_flame_format *out, const char *path)
{
    static const struct {
        const char *end;
        hd_flame_format format;
    } ends[] = {
        {".folded", HD_FLAME_FOLDED}, {".txt", HD_FLAME_FOLDED}, {".json", HD_FLAME_SPEEDSCOPE}, {".svg", HD_FLAME_SVG},
        {".pprof", HD_FLAME_PPROF},   {".pb", HD_FLAME_PPROF},   {".otlp", HD_FLAME_OTLP},
    };
    static const char *const packed[] = {"", ".gz", ".zst"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        for (size_t j = 0; j < sizeof packed / sizeof *packed; j++) {
            char end[16];
            strcpy(end, ends[i].end);
            strcat(end, packed[j]);
            if (strlen(path) == strlen(end) || !hd_ends_with(path, strlen(path), end)) continue;
            *out = ends[i].format;
            return true;
        }
    }
    return false;
}

/* Unused memory stays untouched. */
static void *widen(void *list, size_t capacity, size_t old_capacity)
{
    int64_t *wider = calloc(capacity, sizeof *wider);
    if (!wider) return NULL;
    if (old_capacity) memcpy(wider, list, old_capacity * sizeof *wider);
    free(list);
    return wider;
}

/* Three arrays that grow together: capacity is updated once all have grown. */
hd_status flame_reserve(hd_flame *flame, size_t capacity, hd_error *err)
{
    if (capacity <= flame->capacity) return HD_OK;
    int64_t *self = widen(flame->self, capacity, flame->capacity);
    if (self) flame->self = self;
    int64_t *total = widen(flame->total, capacity, flame->capacity);
    if (total) flame->total = total;
    uint64_t *counts = widen(flame->count, capacity, flame->capacity);
    if (counts) flame->count = counts;
    if (!self || !total || !counts) return HD_NOMEM(err);
    flame->capacity = capacity;
    return HD_OK;
}

hd_status flame_make_room(hd_flame *flame, hd_error *err)
{
    if (!flame->stacks) HD_TRY(hd_stacks_new(&flame->stacks, err));
    if (!flame->unit) flame->unit = flame_unit_of(flame->of);
    size_t count = hd_stacks_count(flame->stacks), capacity = flame->capacity ? flame->capacity : 1024;
    while (capacity < count) capacity *= 2;
    return flame_reserve(flame, capacity, err);
}

void flame_total(int64_t *total, const int64_t *self, const hd_stacks *stacks)
{
    uint32_t count = hd_stacks_count(stacks);
    memcpy(total, self, count * sizeof *total);
    for (uint32_t n = count; n-- > 1;) {
        uint32_t caller = hd_stacks_at(stacks, n).caller;
        total[caller] = flame_sum(total[caller], total[n]);
    }
}

void flame_deinit(hd_flame *flame)
{
    hd_stacks_free(flame->stacks);
    free(flame->self);
    free(flame->total);
    free(flame->count);
    free(flame->event);
    free(flame->events);
    *flame = (hd_flame){0};
}

hd_status hd_flame_new(hd_flame **out, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return HD_NOMEM(err);
    (*out)->unit = flame_unit_of(HD_FLAME_AUTO);
    return HD_OK;
}

void hd_flame_free(hd_flame *flame)
{
    if (flame) flame_deinit(flame);
    free(flame);
}
