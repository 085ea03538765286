/* align.c - samples and launches of one thread, paired in order: banded sequence alignment with gaps
 *
 * 1. Cut where both sides are quiet for longer than the tolerance: no pair spans such a gap.
 * 2. A part with as many samples as launches that all fit in order is paired in order.
 * 3. Else the cheapest alignment with gaps, by dynamic programming in a band: for each sample the launches within a few
 *    spreads of it, at least the nearest NEAR and at most BAND. An unpaired sample costs GAP_BITS (one in a hundred is
 *    lost on either side); an unpaired launch costs nothing, since the number of pairs determines both.
 * 4. A sample far from its launch (its thread was descheduled between the two) is outside the band: marks between two
 *    pairs are paired in order if both sides have as many, else aligned again with a band of the tolerance.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "pass/attribution/marks.h"

enum { BAND = 256, NEAR = 8, BAND_SPREADS = 16, GAP_BITS = 14, ALIKE_BITS = 2 };
enum { RUNS = 64, RUN_REACH = 128, FORBIDDEN = INT32_MAX / 4 };
enum { CHECKED = 16, CHECKED_BITS = 5, MEAN_BITS = 3, MIDDLE_SPREADS = 8 };
enum { FROM_NONE, FROM_UP, FROM_DIAGONAL, FROM_LEFT };

typedef struct aligner {
    const hd_mark *samples, *launches;
    uint32_t *out;
    int64_t tolerance;
    int64_t spread;
    float per_spread;
    int32_t gap, alike;
    hd_align_result *result;
    uint64_t large;       /* of hd_align_options */
    uint32_t *low, *high; /* of each sample of a stretch: its launches in the band */
    uint8_t *trace;       /* of each cell, 2 bits */
    size_t window_capacity, trace_capacity;
} aligner;

/* ---- order ---- */

hd_status hd_marks_sort(hd_mark *marks, size_t count, uint64_t large, hd_error *err)
{
    hd_mark *spare = hd_large_new(count + 1, sizeof *spare, large);
    if (!spare) return HD_NOMEM(err);
    HD_SORT_RUNS(marks, spare, count, x, y, x->time_ns < y->time_ns);
    hd_large_free(spare);
    return HD_OK;
}

size_t hd_marks_find(const hd_mark *marks, size_t count, int64_t time_ns)
{
    size_t low = 0;
    HD_PARTITION_POINT(low, count, at, marks[at].time_ns < time_ns);
    return low;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? (int64_t)((uint64_t)b - (uint64_t)a) : (int64_t)((uint64_t)a - (uint64_t)b);
}

/* ---- runs ---- */

void hd_sort_few(int64_t *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = list[i];
        size_t at = i;
        for (; at > 0 && list[at - 1] > value; at--) list[at] = list[at - 1];
        list[at] = value;
    }
}

static int64_t median_residual(const hd_run *run, const int64_t *times, const hd_mark *launches, size_t at)
{
    int64_t off[HD_RUN_MARKS];
    for (size_t i = 0; i < run->count; i++) off[i] = launches[at + i * run->stride].time_ns - times[i];
    hd_sort_few(off, run->count);
    return off[run->count / 2];
}

static int32_t run_cost(const hd_run *run, const hd_mark *samples, const int64_t *times, const hd_mark *launches,
                        size_t at, int64_t limit)
{
    int64_t middle = run->loose ? median_residual(run, times, launches, at) : 0;
    int64_t sum = run->loose ? hd_mark_cost(middle, 1e-3f) : 0; /* where all places are alike, the nearest */
    for (size_t i = 0; i < run->count && sum < limit; i++) {
        const hd_mark *launch = &launches[at + i * run->stride];
        hd_mark_fit fit = hd_marks_fit(&samples[run->first + i * run->stride], launch);
        int32_t cost =
            hd_mark_cost((int64_t)((uint64_t)launch->time_ns - (uint64_t)times[i] - (uint64_t)middle), 1e-3f);
        sum += fit == HD_MARKS_APART ? cost + 16 * HD_MARK_BIT : fit == HD_MARKS_ALIKE ? cost + HD_MARK_BIT : cost;
    }
    return (int32_t)(sum / (int64_t)run->count);
}

void hd_run_fit(hd_run *run, const hd_mark *samples, const hd_mark *launches, size_t launch_count, int64_t offset_ns,
                size_t reach)
{
    int64_t times[HD_RUN_MARKS], off[HD_RUN_MARKS];
    size_t span = (run->count - 1) * run->stride;
    run->cost = INT32_MAX;
    run->margin = 0;
    if (run->count == 0 || span >= launch_count) return;
    for (size_t i = 0; i < run->count; i++)
        times[i] = hd_mark_shift(samples[run->first + i * run->stride].time_ns, offset_ns);
    size_t near = hd_marks_find(launches, launch_count, times[run->count / 2]);
    size_t half = run->count / 2 * run->stride, last = launch_count - 1 - span;
    near = near > half ? near - half : 0;
    size_t low = near > reach ? near - reach : 0, high = near + reach < last ? near + reach : last;
    int32_t second = INT32_MAX;
    if (low > last) low = last;
    for (size_t at = low; at <= high; at++) {
        int64_t limit = second == INT32_MAX ? INT64_MAX : (int64_t)second * (int64_t)run->count;
        int32_t cost = run_cost(run, samples, times, launches, at, limit);
        if (cost < run->cost) {
            second = run->cost;
            run->cost = cost;
            run->at = at;
        } else if (cost < second) {
            second = cost;
        }
    }
    run->margin = second - run->cost;
    for (size_t i = 0; i < run->count; i++) off[i] = launches[run->at + i * run->stride].time_ns - times[i];
    hd_sort_few(off, run->count);
    run->residual_ns = off[run->count / 2];
    for (size_t i = 0; i < run->count; i++) times[i] = distance(off[i], run->residual_ns);
    for (size_t i = 0; i < run->count; i++) off[i] = distance(off[i], 0);
    hd_sort_few(off, run->count);
    hd_sort_few(times, run->count);
    run->spread_ns = off[run->count / 2];
    run->loose_spread_ns = times[run->count / 2];
}

/* The size of most residuals, at least 1 us. */
static int64_t residual_spread(const hd_mark *samples, size_t sample_count, const hd_mark *launches,
                               size_t launch_count)
{
    int64_t spreads[RUNS];
    size_t least = sample_count < launch_count ? sample_count : launch_count, found = 0;
    size_t part = least / 4 > 3 ? least / 4 : least < 3 ? least : 3; /* of few marks, many are next to a lost one */
    hd_run run = {.stride = 1, .count = part < HD_RUN_MARKS ? part : HD_RUN_MARKS};
    if (least == 0) return 1000;
    size_t places = sample_count - run.count + 1, runs = places < RUNS ? places : RUNS;
    for (size_t i = 0; i < runs; i++) {
        run.first = runs > 1 ? (size_t)((double)(places - 1) * (double)i / (double)(runs - 1)) : 0;
        hd_run_fit(&run, samples, launches, launch_count, 0, RUN_REACH);
        if (run.cost != INT32_MAX) spreads[found++] = run.spread_ns;
    }
    if (found == 0) return 1000;
    hd_sort_few(spreads, found);
    return spreads[(found - 1) / 2] > 1000 ? spreads[(found - 1) / 2] : 1000;
}

/* ---- in order ---- */

static bool fits(const aligner *a, size_t sample, size_t launch)
{
    const hd_mark *s = &a->samples[sample], *l = &a->launches[launch];
    return distance(s->time_ns, l->time_ns) <= a->tolerance && hd_marks_fit(s, l) != HD_MARKS_APART;
}

static void pair(aligner *a, size_t sample, size_t launch)
{
    a->out[sample] = (uint32_t)launch;
    a->result->pairs++;
}

/* Whether `count` marks of both sides may belong together in order. */
static bool fit_in_order(const aligner *a, size_t sample, size_t launch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!fits(a, sample + i, launch + i)) return false;
    }
    return true;
}

static int64_t middle_of(const aligner *a, size_t sample, size_t launch, size_t count)
{
    int64_t off[HD_RUN_MARKS];
    size_t few = count < HD_RUN_MARKS ? count : HD_RUN_MARKS;
    for (size_t i = 0; i < few; i++) {
        size_t at = few > 1 ? (size_t)((double)i * (double)(count - 1) / (double)(few - 1)) : 0;
        off[i] = a->launches[launch + at].time_ns - a->samples[sample + at].time_ns;
    }
    hd_sort_few(off, few);
    return few ? off[few / 2] : 0;
}

/* Whether they do: residuals must be of the size of the spread, none much larger, with a median near 0. */
static bool is_in_order(const aligner *a, size_t sample, size_t launch, size_t count)
{
    int64_t sum = 0, part = 0, middle = middle_of(a, sample, launch, count);
    if (distance(middle, 0) > a->spread * MIDDLE_SPREADS || !fit_in_order(a, sample, launch, count)) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t off = a->launches[launch + i].time_ns - a->samples[sample + i].time_ns;
        int32_t cost = hd_mark_cost(off - middle, a->per_spread);
        if (hd_marks_fit(&a->samples[sample + i], &a->launches[launch + i]) == HD_MARKS_ALIKE) cost += a->alike;
        sum += cost;
        part += cost;
        if (i % CHECKED != CHECKED - 1) continue;
        if (part > CHECKED * CHECKED_BITS * HD_MARK_BIT) return false;
        part = 0;
    }
    return sum <= (int64_t)count * MEAN_BITS * HD_MARK_BIT;
}

/* ---- the band ---- */

typedef struct stretch {
    size_t sample, sample_end, launch, launch_end;
} stretch;

/* The launch nearest in time to each sample. Samples with equal times (a coarse clock) share the launches up to the
 * next time.
 */
static void find_centers(aligner *a, const stretch *s)
{
    size_t at = s->launch;
    for (size_t i = s->sample; i < s->sample_end;) {
        int64_t time = a->samples[i].time_ns, next_time = time + a->tolerance;
        size_t same = i + 1;
        while (at < s->launch_end && a->launches[at].time_ns < time) at++;
        while (same < s->sample_end && a->samples[same].time_ns == time) same++;
        if (same == i + 1) {
            a->low[i++ - s->sample] = (uint32_t)at;
            continue;
        }
        if (same < s->sample_end && a->samples[same].time_ns <= next_time) next_time = a->samples[same].time_ns - 1;
        size_t until = at + hd_marks_find(a->launches + at, s->launch_end - at, next_time + 1);
        double per_sample = (double)(until - at) / (double)(same - i);
        for (size_t k = i; k < same; k++)
            a->low[k - s->sample] = (uint32_t)(at + (size_t)((double)(k - i) * per_sample));
        i = same;
    }
}

/* Both ends of the band only move forward. */
static size_t find_windows(aligner *a, const stretch *s)
{
    int64_t near = a->spread > a->tolerance / BAND_SPREADS ? a->tolerance : a->spread * BAND_SPREADS;
    size_t cells = 0, low = s->launch, high = s->launch, near_low = s->launch, near_high = s->launch;
    find_centers(a, s);
    for (size_t i = 0; i < s->sample_end - s->sample; i++) {
        size_t center = a->low[i];
        int64_t time = a->samples[s->sample + i].time_ns;
        while (low < s->launch_end && a->launches[low].time_ns < time - a->tolerance) low++;
        while (high < s->launch_end && a->launches[high].time_ns <= time + a->tolerance) high++;
        while (near_low < s->launch_end && a->launches[near_low].time_ns < time - near) near_low++;
        while (near_high < s->launch_end && a->launches[near_high].time_ns <= time + near) near_high++;
        size_t from = near_low + NEAR < center ? near_low : center > NEAR ? center - NEAR : 0;
        size_t until = near_high > center + NEAR ? near_high : center + NEAR;
        if (center > BAND / 2 && from < center - BAND / 2) from = center - BAND / 2;
        if (until > center + BAND / 2) until = center + BAND / 2;
        if (from < low) from = low;
        if (until > high) until = high;
        if (until < from) until = from;
        a->low[i] = (uint32_t)from;
        a->high[i] = (uint32_t)until;
        cells += until - from;
    }
    return cells;
}

static bool make_room(aligner *a, size_t samples)
{
    if (samples <= a->window_capacity) return true;
    if (!hd_large_resize((void **)&a->low, 0, samples, sizeof *a->low, a->large) ||
        !hd_large_resize((void **)&a->high, 0, samples, sizeof *a->high, a->large))
        return false;
    a->window_capacity = samples;
    return true;
}

static inline int32_t pair_cost(const aligner *a, const hd_mark *sample, const hd_mark *launch)
{
    hd_mark_fit fit = hd_marks_fit(sample, launch);
    if (fit == HD_MARKS_APART) return FORBIDDEN;
    int32_t cost = hd_mark_cost(launch->time_ns - sample->time_ns, a->per_spread);
    return fit == HD_MARKS_ALIKE ? cost + a->alike : cost;
}

/* Costs of the best alignments of the samples so far with the first low + k launches; constant beyond `width`. */
typedef struct row {
    int32_t cost[BAND + 1];
    size_t low, width;
} row;

static void next_row(const aligner *a, row *to, const row *from, const hd_mark *sample, uint8_t *trace, size_t cell)
{
    int32_t base = from->cost[from->width]; /* costs decrease along a row: the last is the least */
    const hd_mark *launches = a->launches + to->low;
    size_t ahead = to->low - from->low;
#define ABOVE(k) (from->cost[(k) + ahead < from->width ? (k) + ahead : from->width] - base)
    int32_t corner = ABOVE(0);
    to->cost[0] = corner + a->gap;
    for (size_t k = 1; k <= to->width; k++) {
        int32_t above = ABOVE(k), best = corner + pair_cost(a, sample, &launches[k - 1]);
        unsigned from_where = FROM_DIAGONAL;
        if (above + a->gap < best) {
            best = above + a->gap;
            from_where = FROM_UP;
        }
        if (to->cost[k - 1] < best || (from_where == FROM_UP && to->cost[k - 1] == best)) {
            best = to->cost[k - 1];
            from_where = FROM_LEFT;
        }
        to->cost[k] = best;
        corner = above;
        trace[cell / 4] |= (uint8_t)(from_where << (cell % 4 * 2));
        cell++;
    }
#undef ABOVE
}

/* Walks back from the last sample; `cell` is after its last. */
static void walk_back(aligner *a, const stretch *s, size_t cell)
{
    size_t done = s->launch_end; /* launches not processed yet */
    for (size_t i = s->sample_end - s->sample; i-- > 0;) {
        size_t low = a->low[i], high = a->high[i];
        cell -= high - low;
        if (done > high) done = high;
        while (done > low) {
            size_t at = cell + (done - 1 - low);
            unsigned from_where = a->trace[at / 4] >> (at % 4 * 2) & 3u;
            if (from_where == FROM_UP) break;
            done--;
            if (from_where == FROM_LEFT) continue;
            pair(a, s->sample + i, done);
            break;
        }
    }
}

static bool search(aligner *a, const stretch *s)
{
    row rows[2];
    size_t count = s->sample_end - s->sample, cell = 0;
    if (!make_room(a, count)) return false;
    size_t cells = find_windows(a, s), bytes = cells / 4 + 1;
    if (bytes > a->trace_capacity) {
        hd_large_free(a->trace);
        a->trace = hd_large_new(bytes, 1, a->large);
        a->trace_capacity = a->trace ? bytes : 0;
        if (!a->trace) return false;
    }
    memset(a->trace, 0, bytes);
    rows[0] = (row){.low = s->launch};
    for (size_t i = 0; i < count; i++) {
        row *to = &rows[(i + 1) % 2];
        to->low = a->low[i];
        to->width = a->high[i] - a->low[i];
        next_row(a, to, &rows[i % 2], &a->samples[s->sample + i], a->trace, cell);
        cell += to->width;
    }
    a->result->cells += cells;
    walk_back(a, s, cell);
    return true;
}

/* ---- stretches ---- */

/* Pairs the marks that the band left between two pairs: in order if both sides have as many, else with a band as wide
 * as the tolerance. */
static bool fill_hole(aligner *a, const stretch *hole)
{
    size_t samples = hole->sample_end - hole->sample, launches = hole->launch_end - hole->launch;
    if (launches == 0) return true;
    if (samples == launches && fit_in_order(a, hole->sample, hole->launch, samples)) {
        for (size_t i = 0; i < samples; i++) pair(a, hole->sample + i, hole->launch + i);
        return true;
    }
    aligner wide = *a;
    if (wide.spread >= wide.tolerance / BAND_SPREADS) return true;
    wide.spread = wide.tolerance / BAND_SPREADS;
    wide.per_spread = 1.0f / (float)wide.spread;
    bool done = search(&wide, hole);
    a->low = wide.low;
    a->high = wide.high;
    a->trace = wide.trace;
    a->window_capacity = wide.window_capacity;
    a->trace_capacity = wide.trace_capacity;
    return done;
}

static bool fill_holes(aligner *a, const stretch *s)
{
    size_t launch = s->launch;
    for (size_t i = s->sample; i < s->sample_end;) {
        if (a->out[i] != HD_MARK_NONE) {
            launch = a->out[i++] + (size_t)1;
            continue;
        }
        size_t end = i;
        while (end < s->sample_end && a->out[end] == HD_MARK_NONE) end++;
        stretch hole = {i, end, launch, end < s->sample_end ? a->out[end] : s->launch_end};
        if (!fill_hole(a, &hole)) return false;
        i = end;
    }
    return true;
}

static bool align_stretch(aligner *a, const stretch *s)
{
    size_t samples = s->sample_end - s->sample, launches = s->launch_end - s->launch;
    if (samples == 0 || launches == 0) return true;
    if (samples == launches && is_in_order(a, s->sample, s->launch, samples)) {
        for (size_t i = 0; i < samples; i++) pair(a, s->sample + i, s->launch + i);
        return true;
    }
    return search(a, s) && fill_holes(a, s);
}

static bool align_all(aligner *a, size_t sample_count, size_t launch_count)
{
    stretch s = {0};
    while (s.sample < sample_count && s.launch < launch_count) {
        int64_t last = a->samples[s.sample].time_ns < a->launches[s.launch].time_ns ? a->samples[s.sample].time_ns
                                                                                    : a->launches[s.launch].time_ns;
        s.sample_end = s.sample;
        s.launch_end = s.launch;
        for (;;) {
            bool has_sample = s.sample_end < sample_count, has_launch = s.launch_end < launch_count;
            bool take_sample =
                has_sample && (!has_launch || a->samples[s.sample_end].time_ns < a->launches[s.launch_end].time_ns);
            if (!has_sample && !has_launch) break;
            int64_t next = take_sample ? a->samples[s.sample_end].time_ns : a->launches[s.launch_end].time_ns;
            if (next - last > a->tolerance) break;
            *(take_sample ? &s.sample_end : &s.launch_end) += 1;
            last = next;
        }
        if (!align_stretch(a, &s)) return false;
        s.sample = s.sample_end;
        s.launch = s.launch_end;
    }
    return true;
}

hd_status hd_marks_align(uint32_t *out, hd_align_result *result, const hd_mark *samples, size_t sample_count,
                         const hd_mark *launches, size_t launch_count, const hd_align_options *options, hd_error *err)
{
    aligner a = {.samples = samples, .launches = launches, .out = out, .result = result};
    *result = (hd_align_result){0};
    for (size_t i = 0; i < sample_count; i++) out[i] = HD_MARK_NONE;
    if (sample_count >= HD_MARK_NONE || launch_count >= HD_MARK_NONE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "more than 2^32 - 2 samples or launches of a thread");
    if (sample_count == 0 || launch_count == 0) return HD_OK;
    a.tolerance = options->tolerance_ns < HD_MARK_TIME_LIMIT / 4 ? options->tolerance_ns : HD_MARK_TIME_LIMIT / 4;
    a.spread =
        options->spread_ns > 0 ? options->spread_ns : residual_spread(samples, sample_count, launches, launch_count);
    if (a.spread > HD_MARK_TIME_LIMIT / 4) a.spread = HD_MARK_TIME_LIMIT / 4; /* eight of them still fit */
    a.per_spread = 1.0f / (float)a.spread;
    a.alike = ALIKE_BITS * HD_MARK_BIT;
    a.large = options->large ? options->large : UINT64_MAX;
    a.gap = GAP_BITS * HD_MARK_BIT;
    bool done = align_all(&a, sample_count, launch_count);
    hd_large_free(a.low);
    hd_large_free(a.high);
    hd_large_free(a.trace);
    return done ? HD_OK : HD_NOMEM(err);
}
