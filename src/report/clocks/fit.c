/* fit.c - fits offsets of two clocks over time by lines without steps, each with an error bar
 *
 * Slope       median of the slopes between samples half a series apart (Theil-Sen with one lag), or none, whichever has
 *             the smaller bar: without one the clocks may drift by the limit
 * Level       median; spread: 1.4826 MAD of the residuals
 * Bar         skew, one spread for a common error of all ends, and the error of the median, wide for few samples
 * Steps       Pettitt's test of ranks after a slope that one step cannot spoil; and runs of outliers on one side
 * Outliers    at the beginning or the end of a series may be beyond a step: their time is left unknown
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "report/clocks/clocks.h"

#define MAD_TO_SIGMA 1.4826
#define EIGHTY_TO_SIGMA 1.2816
#define MEDIAN_ERROR 1.2533 /* of a median of normal samples, in sigma / sqrt(n) */
#define OUTLIER_SIGMAS 5.0
#define SLOPE_MAX 1e-3  /* ns per ns: a faster drift is a step, or a wrong match */
#define PETTITT 0.615   /* ln(40) / 6: of series without a step, one in twenty gets past this */
#define STEP_SIGMAS 6.0 /* and then must be so far above the error of its size */

typedef struct ranked {
    double value;
    size_t at;
} ranked;

typedef struct fitter {
    const clock_sample *samples;
    double *x, *y, *rest, *spare; /* from the first sample on */
    ranked *ranks, *ranks_spare;
    double skew, drift;
    unsigned splits;
    clock_pieces *out;
} fitter;

/* By quickselect. */
double clock_element(double *list, size_t count, size_t wanted)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = list[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (list[i] < pivot) i++;
            while (pivot < list[j]) j--;
            if (i >= j) break;
            double swap = list[i];
            list[i++] = list[j];
            list[j--] = swap;
        }
        if (wanted <= j)
            high = j;
        else
            low = j + 1;
    }
    return list[wanted];
}

static double median_of(double *list, size_t count)
{
    return clock_element(list, count, count / 2);
}

static double median_copy(double *spare, const double *list, size_t count)
{
    memcpy(spare, list, count * sizeof *spare);
    return median_of(spare, count);
}

/* Around 0. Half of a few samples agree by chance: then four of five have to. */
static double spread_of(double *spare, const double *list, size_t count)
{
    for (size_t i = 0; i < count; i++) spare[i] = fabs(list[i]);
    if (count < CLOCK_LINE_MIN) return clock_element(spare, count, (4 * count - 1) / 5) / EIGHTY_TO_SIGMA;
    return MAD_TO_SIGMA * median_of(spare, count);
}

double clock_slope(double *out_error, double *spare, const double *x, const double *y, size_t count, size_t lag)
{
    size_t found = 0;
    for (size_t i = 0; i + lag < count; i++) {
        if (x[i + lag] > x[i]) spare[found++] = (y[i + lag] - y[i]) / (x[i + lag] - x[i]);
    }
    *out_error = INFINITY;
    if (found < 3) return 0;
    double slope = median_of(spare, found);
    for (size_t i = 0; i < found; i++) spare[i] = fabs(spare[i] - slope);
    *out_error = MAD_TO_SIGMA * MEDIAN_ERROR * median_of(spare, found) / sqrt((double)found);
    return fmin(fmax(slope, -SLOPE_MAX), SLOPE_MAX);
}

/* ---- steps ---- */

/* Pettitt's statistic of rest[0 … count), with middle ranks for equal ones; *out: the first place after the change. */
static double pettitt(size_t *out, fitter *f, size_t count)
{
    for (size_t i = 0; i < count; i++) f->ranks[i] = (ranked){f->rest[i], i};
    HD_SORT_RUNS(f->ranks, f->ranks_spare, count, x, y, x->value < y->value);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && f->ranks[end].value == f->ranks[i].value;) end++;
        for (size_t k = i; k < end; k++) f->spare[f->ranks[k].at] = (double)(i + end + 1) / 2;
    }
    double sum = 0, most = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        sum += 2 * f->spare[i] - (double)(count + 1);
        if (fabs(sum) > most) {
            most = fabs(sum);
            *out = i + 1;
        }
    }
    return most;
}

/* 0: no step that matters. */
static size_t find_step(fitter *f, size_t first, size_t count)
{
    const double *x = f->x + first, *y = f->y + first;
    double unused, n = (double)count;
    size_t at = 0;
    if (count < CLOCK_LINE_MIN) return 0;
    double slope = clock_slope(&unused, f->spare, x, y, count, count / 4);
    for (size_t i = 0; i < count; i++) f->rest[i] = y[i] - slope * x[i];
    double most = pettitt(&at, f, count);
    if (most * most < PETTITT * n * n * (n + 1)) return 0;
    double before = median_copy(f->spare, f->rest, at), after = median_copy(f->spare, f->rest + at, count - at);
    for (size_t i = 0; i < count; i++) f->rest[i] -= i < at ? before : after;
    double spread = spread_of(f->spare, f->rest, count);
    double error = MEDIAN_ERROR * spread * sqrt(1 / (double)at + 1 / (double)(count - at));
    double least = fmax(0.5 * spread + 0.25 * f->skew, STEP_SIGMAS * (1 + 8 / n) * error);
    return fabs(after - before) > least ? at : 0;
}

/* The begin of a run of outliers on one side, or its end if it begins the series: only if longer than by chance. */
static size_t find_run(const double *rest, size_t count, double limit)
{
    for (int side = -1; side <= 1; side += 2) {
        size_t outliers = 0, run = 0;
        for (size_t i = 0; i < count; i++) outliers += side * rest[i] > limit;
        if (outliers < 3) continue;
        double share = (double)outliers / (double)count;
        double least = fmax(3, ceil(log(1e-3 / (double)count) / log(share)));
        for (size_t i = 0; i <= count; i++) {
            if (i < count && side * rest[i] > limit) {
                run++;
                continue;
            }
            if ((double)run >= least) return i > run ? i - run : i;
            run = 0;
        }
    }
    return 0;
}

/* ---- one line ---- */

typedef struct line {
    double middle, level, slope, rate, spread, bar;
    bool has_slope;
} line;

static void fit_level(line *l, fitter *f, size_t first, size_t count)
{
    double n = (double)count, z = 3 * (1 + 8 / n);
    for (size_t i = 0; i < count; i++) f->rest[i] = f->y[first + i] - l->slope * (f->x[first + i] - l->middle);
    l->level = median_copy(f->spare, f->rest, count);
    for (size_t i = 0; i < count; i++) f->rest[i] -= l->level;
    l->spread = spread_of(f->spare, f->rest, count);
    l->bar = f->skew + l->spread * (1 + 4 / n) + z * MEDIAN_ERROR * l->spread / sqrt(n);
}

/* Leaves the residuals of the samples in f->rest. */
static line fit_line(fitter *f, size_t first, size_t count)
{
    double half = fabs(f->x[first + count - 1] - f->x[first]) / 2, error = INFINITY;
    line flat = {.middle = (f->x[first] + f->x[first + count - 1]) / 2, .rate = f->drift}, l = flat;
    fit_level(&flat, f, first, count);
    if (count < CLOCK_LINE_MIN) return flat;
    l.has_slope = true;
    l.slope = clock_slope(&error, f->spare, f->x + first, f->y + first, count, count / 2);
    l.rate = 3 * (1 + 8 / (double)count) * error;
    fit_level(&l, f, first, count);
    if (l.bar + l.rate * half <= flat.bar + flat.rate * half) return l;
    fit_level(&flat, f, first, count);
    return flat;
}

static bool add_piece(fitter *f, const line *l, size_t first, size_t count, size_t all)
{
    double limit = OUTLIER_SIGMAS * l->spread + f->skew;
    const bool goes_on = count >= CLOCK_LINE_MIN; /* fewer cannot exclude a step before or after them */
    size_t low = 0, high = count - 1;
    while (low < high && fabs(f->rest[low]) > limit) low++;
    while (high > low && fabs(f->rest[high]) > limit) high--;
    hd_clock_piece *list = realloc(f->out->list, (f->out->count + 1) * sizeof *list);
    if (!list) return false;
    f->out->list = list;
    const clock_sample *s = f->samples;
    int64_t first_ns = s[first + low].at_ns, last_ns = s[first + high].at_ns;
    if (first_ns > last_ns) first_ns = last_ns = s[first + count / 2].at_ns; /* no clock: sequences out of order */
    list[f->out->count++] = (hd_clock_piece){
        .from_ns = goes_on && first == 0 && low == 0 ? INT64_MIN : first_ns,
        .until_ns = goes_on && first + high + 1 == all ? INT64_MAX : last_ns,
        .first_ns = first_ns,
        .last_ns = last_ns,
        .at_ns = clock_clip((clock_i128)s->at_ns + gpu_round(l->middle)),
        .offset_ns = clock_clip((clock_i128)s->offset_ns + gpu_round(l->level)),
        .bar_ns = gpu_round(ceil(l->bar)),
        .drift = l->slope,
        .rate = l->rate,
        .has_drift = l->has_slope,
    };
    return true;
}

static bool fit_range(fitter *f, size_t first, size_t count, size_t all)
{
    if (count < CLOCK_SAMPLES_MIN || f->splits > CLOCK_SPLITS_MAX) return true;
    line l = {0};
    size_t at = find_step(f, first, count);
    if (!at) {
        l = fit_line(f, first, count);
        at = find_run(f->rest, count, OUTLIER_SIGMAS * l.spread + f->skew);
    }
    if (!at) return add_piece(f, &l, first, count, all);
    f->splits++;
    return fit_range(f, first, at, all) && fit_range(f, first + at, count - at, all);
}

bool clock_fit(clock_pieces *out, const clock_sample *samples, size_t count, double skew_ns, double drift)
{
    fitter f = {.samples = samples, .skew = skew_ns, .drift = drift, .out = out};
    *out = (clock_pieces){0};
    if (count < CLOCK_SAMPLES_MIN) return true;
    f.x = malloc(4 * count * sizeof *f.x);
    f.ranks = malloc(2 * count * sizeof *f.ranks);
    bool fine = f.x && f.ranks;
    if (fine) {
        f.y = f.x + count;
        f.rest = f.y + count;
        f.spare = f.rest + count;
        f.ranks_spare = f.ranks + count;
        for (size_t i = 0; i < count; i++) {
            f.x[i] = (double)((clock_i128)samples[i].at_ns - samples->at_ns);
            f.y[i] = (double)((clock_i128)samples[i].offset_ns - samples->offset_ns);
        }
        fine = fit_range(&f, 0, count, count);
    }
    free(f.x);
    free(f.ranks);
    if (f.splits > CLOCK_SPLITS_MAX) out->count = 0;
    return fine;
}
