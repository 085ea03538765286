/* numbers.c - statistics: changes and noise
 *
 * Rows: Student's interval for the mean of the units' differences if units are paired, else Welch's for the difference
 * of the means. Steps: the difference of the medians with a bootstrap over units; for few units a bootstrap is too
 * narrow, so the interval is the union with Student's.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "report/diff/diff.h"

static const double pi = 3.14159265358979323846;

/* The upper quantile of the normal distribution: Abramowitz and Stegun 26.2.23, to 0.0005. */
static double normal_quantile(double p)
{
    double t = sqrt(-2 * log(p));
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* G. W. Hill, algorithm 396 of the ACM. */
static double student(double p, double n)
{
    if (n < 1.000001) return cos(p * pi / 2) / sin(p * pi / 2);
    if (fabs(n - 2) < 0.000001) return sqrt(2 / (p * (2 - p)) - 2);
    double a = 1 / (n - 0.5), b = 48 / (a * a), c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * n, x = d * p, y = pow(x, 2 / n);
    if (y > 0.05 + a) {
        x = -normal_quantile(p / 2);
        y = x * x;
        if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
        y = a * y * y;
        y = y > 0.002 ? exp(y) - 1 : 0.5 * y * y + y;
    } else {
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) /
                (n + 2) +
            1 / y;
    }
    return sqrt(n * y);
}

typedef struct moments {
    double sum, squares;
} moments;

static void add_moment(moments *m, double value)
{
    m->sum += value;
    m->squares += value * value;
}

/* Of n values, of which those that were not added are 0; not below 0 by rounding. */
static double variance(const moments *m, double n)
{
    double v = (m->squares - m->sum * m->sum / n) / (n - 1);
    return v > 1e-12 * m->squares ? v : 0;
}

void diff_bound(diff_change *c, double p)
{
    double half = c->error < 0 ? INFINITY : c->error > 0 ? c->error * student(p, c->freedom) : 0;
    c->low = c->change - half;
    c->high = c->change + half;
}

static void set_error(diff_change *c, const diff_units *u, const moments *m, const moments *pairs)
{
    double n = u->half[0].units, k = u->half[1].units;
    c->error = -1;
    if (n < 2 || k < 2) return;
    if (u->paired) {
        c->error = sqrt(variance(pairs, n) / n);
        c->freedom = n - 1;
        return;
    }
    double a = variance(&m[0], n) / n, b = variance(&m[1], k) / k, both = a + b;
    c->error = sqrt(both);
    c->freedom = both > 0 ? both * both / (a * a / (n - 1) + b * b / (k - 1)) : 1;
}

diff_change diff_change_of(diff_units *u)
{
    moments m[2] = {{0, 0}, {0, 0}}, pairs = {0, 0};
    for (size_t i = 0; i < u->touched_count; i++) {
        double value[2] = {0, 0};
        uint32_t unit = u->touched[i];
        for (int h = 0; h < 2; h++) {
            if (u->half[h].sums[unit] == 0) continue;
            value[h] = u->half[h].sums[unit] / u->half[h].weight[unit];
            u->half[h].sums[unit] = 0;
            add_moment(&m[h], value[h]);
        }
        if (u->paired) add_moment(&pairs, value[1] - value[0]);
    }
    u->touched_count = 0;
    diff_change out = {.before = u->half[0].units ? m[0].sum / u->half[0].units : 0,
                       .after = u->half[1].units ? m[1].sum / u->half[1].units : 0};
    out.change = out.after - out.before;
    out.is_known = u->half[0].units >= DIFF_UNITS_MIN && u->half[1].units >= DIFF_UNITS_MIN;
    set_error(&out, u, m, &pairs);
    diff_bound(&out, DIFF_MISS);
    return out;
}

static int64_t column_of(const diff_sample *sample, unsigned column)
{
    int64_t idle = 0;
    if (column < DIFF_COLUMNS) return sample->columns[column];
    if (column == DIFF_COLUMNS) return sample->length;
    for (int c = 0; c < GPU_CAUSES; c++) idle += sample->columns[DIFF_IDLE + c];
    return idle;
}

diff_change diff_change_of_column(diff_units *u, unsigned column)
{
    for (int h = 0; h < 2; h++) {
        const diff_half *half = &u->half[h];
        for (uint32_t i = 0; i < half->side->sample_count; i++) {
            double value = (double)column_of(&half->side->samples[i], column);
            if (half->unit_of[i] != HD_NONE && value > 0) diff_put(u, h, half->unit_of[i], value);
        }
    }
    return diff_change_of(u);
}

/* ---- steps ---- */

static double quantile(const diff_half *h, double share)
{
    double at = share * (h->used - 1);
    uint32_t low = (uint32_t)at, high = low + 1 < h->used ? low + 1 : low;
    double x = (double)h->lengths[low], y = (double)h->lengths[high];
    return x + (at - low) * (y - x);
}

double diff_median(const diff_half *h)
{
    return h->used ? quantile(h, 0.5) : 0;
}

double diff_spread(const diff_half *h)
{
    return h->used ? (quantile(h, 0.75) - quantile(h, 0.25)) / 2 : 0;
}

/* The median of samples when each counts as often as its unit was drawn. */
static double median_drawn(const diff_half *h, const uint32_t *drawn)
{
    uint64_t all = 0, seen = 0;
    double low = -1;
    for (uint32_t i = 0; i < h->used; i++) all += drawn[h->unit_of[h->by_length[i]]];
    for (uint32_t i = 0; i < h->used; i++) {
        seen += drawn[h->unit_of[h->by_length[i]]];
        if (low < 0 && 2 * seen >= all) {
            if (2 * seen > all) return (double)h->lengths[i];
            low = (double)h->lengths[i];
        } else if (low >= 0 && 2 * seen > all) {
            return (low + (double)h->lengths[i]) / 2;
        }
    }
    return low < 0 ? 0 : low;
}

static void draw(uint32_t *drawn, uint32_t units, uint64_t *state)
{
    for (uint32_t i = 0; i < units; i++) drawn[i] = 0;
    for (uint32_t i = 0; i < units; i++) drawn[(hd_random_next(state) >> 32) * units >> 32]++;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { ROUNDS = 2000, DRAWS_MAX = 4000000, ROUNDS_MIN = 400, FEW = 20 };
static const double median_to_mean = 1.2533; /* sqrt(pi / 2): how much wider the median of normal values varies */

hd_status diff_change_of_step(diff_change *out, diff_units *u, hd_error *err)
{
    uint32_t n[2] = {u->half[0].units, u->half[1].units}, most = n[0] > n[1] ? n[0] : n[1], least = n[0] + n[1] - most;
    uint64_t state = u->seed;
    diff_change mean = diff_change_of_column(u, DIFF_COLUMNS);
    double before = diff_median(&u->half[0]), after = diff_median(&u->half[1]),
           half = median_to_mean * (mean.high - mean.change);
    *out = mean;
    out->before = before;
    out->after = after;
    out->change = after - before;
    out->low = out->change - half;
    out->high = out->change + half;
    if (!mean.is_known) return HD_OK;
    size_t samples = u->half[0].used + u->half[1].used, rounds = samples ? DRAWS_MAX / samples : 0;
    rounds = rounds > ROUNDS ? ROUNDS : rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds;
    double *changes = malloc(rounds * sizeof *changes);
    uint32_t *drawn = malloc(((size_t)most + 1) * sizeof *drawn);
    for (size_t i = 0; changes && drawn && i < rounds; i++) {
        draw(drawn, n[0], &state);
        double median = median_drawn(&u->half[0], drawn);
        if (!u->paired) draw(drawn, n[1], &state);
        changes[i] = median_drawn(&u->half[1], drawn) - median;
    }
    bool fine = changes && drawn;
    if (fine) {
        hd_sort(changes, rounds, sizeof *changes, by_double);
        double low = changes[(size_t)(DIFF_MISS / 2 * (double)rounds)];
        double high = changes[rounds - 1 - (size_t)(DIFF_MISS / 2 * (double)rounds)];
        if (least >= FEW || low < out->low) out->low = low;
        if (least >= FEW || high > out->high) out->high = high;
        if (out->low > out->change) out->low = out->change;
        if (out->high < out->change) out->high = out->change;
    }
    free(changes);
    free(drawn);
    return fine ? HD_OK : HD_NOMEM(err);
}
