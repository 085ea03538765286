/* attribution_model.h - a made-up program that launches kernels, seen by two recorders; the true pairs are known */
#ifndef HD_TESTS_ATTRIBUTION_MODEL_H
#define HD_TESTS_ATTRIBUTION_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "pass/attribution/marks.h"
#include "random_trace.h"

typedef struct model_options {
    size_t launches;
    unsigned per_step;      /* launches of a step; 0: no steps */
    int64_t gap_ns;         /* mean between launches */
    int64_t pause_ns;       /* between steps */
    int64_t step_noise_ns;  /* by how much a gap differs from step to step; else it repeats */
    int64_t jitter_ns;      /* samples are late by up to that, order kept */
    int64_t offset_ns;      /* clock of launches minus clock of samples */
    double drift;           /* grows by that per time */
    unsigned lost_samples;  /* of 10,000 */
    unsigned lost_launches; /* of 10,000 */
    size_t first, last;     /* samples are recorded from the first to before the last launch; 0, 0: all */
    unsigned names;         /* so many kernels; 0: no names */
    int64_t start_ns;       /* of launches */
} model_options;

typedef struct model {
    hd_mark *samples, *launches; /* index: number of the call */
    size_t sample_count, launch_count;
} model;

static inline int64_t model_random(uint64_t *seed, int64_t below)
{
    return below > 0 ? (int64_t)(((uint64_t)random_next(seed) << 31 | random_next(seed)) % (uint64_t)below) : 0;
}

/* A gap that is the same at the same place of each step: short ones and some long. */
static inline int64_t model_gap(const model_options *o, uint64_t place_seed, uint64_t *seed)
{
    uint64_t own = place_seed * 2654435761u + 99;
    (void)random_next(&own);
    int64_t gap = o->gap_ns / 4 + model_random(&own, o->gap_ns);
    if (random_next(&own) % 16 == 0) gap += o->gap_ns * 4;
    return gap + (o->step_noise_ns ? model_random(seed, o->step_noise_ns) : 0);
}

static inline model model_make(const model_options *o, uint64_t seed)
{
    model m = {0};
    uint64_t program = seed;
    int64_t time = o->start_ns, latest = INT64_MIN;
    m.samples = calloc(o->launches + 1, sizeof *m.samples);
    m.launches = calloc(o->launches + 1, sizeof *m.launches);
    size_t last = o->last ? o->last : o->launches;
    for (size_t i = 0; i < o->launches; i++) {
        uint64_t place = o->per_step ? i % o->per_step : i;
        time += model_gap(o, place + program * 977, &seed);
        if (o->per_step && place == 0) time += o->pause_ns;
        uint64_t name_seed = place * 7919 + program;
        (void)random_next(&name_seed);
        uint32_t name = o->names ? 1 + random_next(&name_seed) % o->names : 0;
        hd_mark mark = {.time_ns = time, .short_name = name, .full_name = name, .index = (uint32_t)i, .sort = 1};
        if (random_next(&seed) % 10000 >= o->lost_launches) m.launches[m.launch_count++] = mark;
        int64_t sample = time - model_random(&seed, o->jitter_ns + 1) - 500;
        if (sample < latest) sample = latest;
        latest = sample;
        if (i < o->first || i >= last || random_next(&seed) % 10000 < o->lost_samples) continue;
        mark.time_ns = sample - o->offset_ns - (int64_t)(o->drift * (double)(sample - o->start_ns));
        m.samples[m.sample_count++] = mark;
    }
    return m;
}

static inline void model_free(model *m)
{
    free(m->samples);
    free(m->launches);
}

typedef struct model_score {
    size_t right, wrong, missed; /* samples; missed: their launch was recorded, but they have none */
    size_t possible;             /* samples whose launch was recorded */
} model_score;

static inline model_score model_check(const model *m, const uint32_t *out)
{
    model_score score = {0};
    size_t at = 0;
    for (size_t i = 0; i < m->sample_count; i++) {
        while (at < m->launch_count && m->launches[at].index < m->samples[i].index) at++;
        bool has = at < m->launch_count && m->launches[at].index == m->samples[i].index;
        score.possible += has;
        if (out[i] == HD_MARK_NONE) {
            score.missed += has;
        } else if (m->launches[out[i]].index == m->samples[i].index) {
            score.right++;
        } else {
            score.wrong++;
        }
    }
    return score;
}

#endif
