/* units.c - selects the samples to compare, and groups them into independent units: a step of all devices, or a run
 *
 * Warm-up is left out: with four steps or more the first, and the following ones that take 1.5 times the median or
 * more, up to a third of all. So is a step after an unrecorded one, whose window includes that one's time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/diff/diff.h"

/* Consecutive steps of a place in a run. */
typedef struct stretch {
    uint32_t first, count, place, run;
} stretch;

typedef struct stretches {
    stretch *list;
    uint32_t count;
} stretches;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool find_stretches(stretches *out, const hd_diff_side *s)
{
    out->list = calloc(s->sample_count + 1, sizeof *out->list);
    if (!out->list) return false;
    for (uint32_t i = 0; i < s->sample_count; i++) {
        stretch *last = out->count ? &out->list[out->count - 1] : NULL;
        if (!last || last->place != s->samples[i].place || last->run != s->samples[i].run)
            out->list[out->count++] = (stretch){i, 1, s->samples[i].place, s->samples[i].run};
        else
            last->count++;
    }
    return true;
}

enum { WARM_UP_STEPS = 4 };

/* Sets `skip` of the samples that are not steps like the others. */
static bool skip_some(bool *skip, const hd_diff_side *s, const stretch *of)
{
    const diff_sample *samples = &s->samples[of->first];
    for (uint32_t i = 1; i < of->count; i++) {
        int64_t number = samples[i].number, last = samples[i - 1].number;
        skip[of->first + i] = number != HD_NO_NUMBER && last != HD_NO_NUMBER && number > last && number != last + 1;
    }
    if (of->count < WARM_UP_STEPS) return true;
    int64_t *lengths = malloc(of->count * sizeof *lengths);
    if (!lengths) return false;
    for (uint32_t i = 0; i < of->count; i++) lengths[i] = samples[i].length;
    hd_sort(lengths, of->count, sizeof *lengths, by_value);
    int64_t median = lengths[of->count / 2];
    free(lengths);
    skip[of->first] = true;
    for (uint32_t i = 1; i < of->count / 3 && samples[i].length / 3 > median / 2; i++) skip[of->first + i] = true;
    return true;
}

static bool find_skipped(bool **out, const hd_diff_side *s, const stretches *all)
{
    *out = calloc(s->sample_count + 1, sizeof **out);
    for (uint32_t i = 0; *out && i < all->count; i++)
        if (!skip_some(*out, s, &all->list[i])) return false;
    return *out != NULL;
}

static const stretch *stretch_of(const stretches *all, uint32_t place)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].place == place) return &all->list[i];
    return NULL;
}

/* Sets match[i] of the steps of x to that of y with their number, which both sides have in ascending order; how
 * many. */
static uint32_t join_numbers(uint32_t *match, const diff_sample *x, uint32_t x_count, const diff_sample *y,
                             uint32_t y_count)
{
    uint32_t common = 0;
    for (uint32_t i = 0, j = 0; i < x_count; i++) {
        match[i] = HD_NONE;
        if (x[i].number == HD_NO_NUMBER) continue;
        while (j < y_count && (y[j].number == HD_NO_NUMBER || y[j].number < x[i].number)) j++;
        if (j == y_count || y[j].number != x[i].number) continue;
        match[i] = j++;
        common++;
    }
    return common;
}

/* Steps of a place with steps, by number, or all in their order. false: they cannot be paired. */
static bool pair_place(uint32_t *match, const stretch *x, const stretch *y, const diff_units *u)
{
    const diff_sample *before = &u->half[0].side->samples[x->first], *after = &u->half[1].side->samples[y->first];
    uint32_t least = x->count < y->count ? x->count : y->count;
    uint32_t common = join_numbers(match, before, x->count, after, y->count);
    if (common >= DIFF_UNITS_MIN && common >= (least + 1) / 2) return true;
    for (uint32_t i = 0; i < x->count; i++) match[i] = i;
    return x->count == y->count;
}

static bool add_unit(diff_half *h, uint32_t sample, uint32_t unit)
{
    if (unit == HD_NONE) return false;
    h->unit_of[sample] = unit;
    h->used++;
    return true;
}

/* Pairs of all places; those of one number in several places are one unit. *out_paired is false where some cannot
 * be. */
static hd_status pair_all(bool *out_paired, diff_units *u, const stretches *all, bool *const *skip, hd_error *err)
{
    const hd_diff_side *before = u->half[0].side;
    gpu_groups numbers = {.key_size = sizeof(int64_t)};
    uint32_t *match = malloc((before->sample_count + 1) * sizeof *match);
    bool fine = match != NULL;
    *out_paired = true;
    for (uint32_t i = 0; fine && *out_paired && i < all[0].count; i++) {
        const stretch *x = &all[0].list[i], *y = stretch_of(&all[1], x->place);
        *out_paired = y && pair_place(match, x, y, u);
        for (uint32_t k = 0; fine && *out_paired && k < x->count; k++) {
            uint32_t from = x->first + k, to = match[k] == HD_NONE ? HD_NONE : y->first + match[k];
            if (to == HD_NONE || skip[0][from] || skip[1][to]) continue;
            int64_t number = k;
            uint32_t unit = gpu_group(&numbers, &number);
            fine = add_unit(&u->half[0], from, unit) && add_unit(&u->half[1], to, unit);
        }
    }
    for (int h = 0; h < 2; h++) u->half[h].units = numbers.count;
    gpu_groups_deinit(&numbers);
    free(match);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status number_units(diff_half *h, const stretches *all, const bool *skip, bool by_run, hd_error *err)
{
    gpu_groups numbers = {.key_size = sizeof(uint32_t)};
    h->used = 0;
    bool fine = true;
    for (uint32_t i = 0; i < h->side->sample_count; i++) h->unit_of[i] = HD_NONE;
    for (uint32_t i = 0; fine && i < all->count; i++) {
        const stretch *s = &all->list[i];
        for (uint32_t k = 0; fine && k < s->count; k++) {
            uint32_t number = by_run ? s->run : k;
            if (!skip[s->first + k]) fine = add_unit(h, s->first + k, gpu_group(&numbers, &number));
        }
    }
    h->units = numbers.count;
    gpu_groups_deinit(&numbers);
    return fine ? HD_OK : HD_NOMEM(err);
}

static bool weigh(diff_half *h)
{
    const hd_diff_side *s = h->side;
    uint32_t used = 0;
    h->dropped = (uint32_t)s->sample_count - h->used;
    h->weight = calloc((size_t)h->units + 1, sizeof *h->weight);
    h->by_length = malloc(((size_t)h->used + 1) * sizeof *h->by_length);
    h->lengths = malloc(((size_t)h->used + 1) * sizeof *h->lengths);
    if (!h->weight || !h->by_length || !h->lengths) return false;
    struct pair {
        int64_t length;
        uint32_t sample;
    } *pairs = malloc(((size_t)h->used + 1) * sizeof *pairs);
    if (!pairs) return false;
    for (uint32_t i = 0; i < s->sample_count; i++) {
        if (h->unit_of[i] == HD_NONE) continue;
        h->weight[h->unit_of[i]]++;
        pairs[used++] = (struct pair){s->samples[i].length, i};
    }
    hd_sort(pairs, used, sizeof *pairs, by_value); /* which begin with the length */
    for (uint32_t i = 0; i < used; i++) {
        h->lengths[i] = pairs[i].length;
        h->by_length[i] = pairs[i].sample;
    }
    free(pairs);
    return true;
}

static bool order_entries(diff_half *h)
{
    const hd_diff_side *s = h->side;
    h->first = calloc((size_t)s->items.count + 2, sizeof *h->first);
    h->order = malloc((s->entry_count + 1) * sizeof *h->order);
    if (!h->first || !h->order) return false;
    for (size_t i = 0; i < s->entry_count; i++) h->first[s->entries[i].item + 2]++;
    for (uint32_t i = 2; i < s->items.count + 2; i++) h->first[i] += h->first[i - 1];
    for (uint32_t i = 0; i < s->entry_count; i++) h->order[h->first[s->entries[i].item + 1]++] = i;
    return true;
}

static hd_status find_units(diff_units *u, const stretches *all, bool *const *skip, hd_error *err)
{
    u->by_run = u->half[0].side->runs >= 2 && u->half[1].side->runs >= 2;
    if (!u->by_run && u->half[0].side->runs < 2 && u->half[1].side->runs < 2)
        HD_TRY(pair_all(&u->paired, u, all, skip, err));
    for (int h = 0; h < 2 && !u->paired; h++) HD_TRY(number_units(&u->half[h], &all[h], skip[h], u->by_run, err));
    size_t units = (size_t)(u->half[0].units > u->half[1].units ? u->half[0].units : u->half[1].units) + 1;
    u->touched = malloc(2 * units * sizeof *u->touched);
    for (int h = 0; h < 2; h++) {
        u->half[h].sums = calloc(units, sizeof *u->half[h].sums);
        if (!u->touched || !u->half[h].sums || !weigh(&u->half[h]) || !order_entries(&u->half[h])) return HD_NOMEM(err);
    }
    return HD_OK;
}

hd_status diff_units_init(diff_units *u, const hd_diff_side *before, const hd_diff_side *after, uint64_t seed,
                          hd_error *err)
{
    stretches all[2] = {0};
    bool *skip[2] = {NULL, NULL}, fine = true;
    *u = (diff_units){.half = {{.side = before}, {.side = after}}, .seed = seed};
    for (int h = 0; fine && h < 2; h++) {
        const hd_diff_side *s = u->half[h].side;
        u->half[h].unit_of = malloc((s->sample_count + 1) * sizeof *u->half[h].unit_of);
        for (uint32_t i = 0; u->half[h].unit_of && i < s->sample_count; i++) u->half[h].unit_of[i] = HD_NONE;
        fine = u->half[h].unit_of && find_stretches(&all[h], s) && find_skipped(&skip[h], s, &all[h]);
    }
    hd_status status = fine ? find_units(u, all, skip, err) : HD_NOMEM(err);
    for (int h = 0; h < 2; h++) {
        free(all[h].list);
        free(skip[h]);
    }
    return status;
}

void diff_units_deinit(diff_units *u)
{
    for (int h = 0; h < 2; h++) {
        free(u->half[h].unit_of);
        free(u->half[h].weight);
        free(u->half[h].lengths);
        free(u->half[h].by_length);
        free(u->half[h].first);
        free(u->half[h].order);
        free(u->half[h].sums);
    }
    free(u->touched);
}
