/* clock.c - the offset between the clock of samples and that of launches
 *
 * Candidates  likely offsets (the same clock); first sample to first launch; last to last; equal numbers in order; and
 *             the places where a run of samples has the rhythm of launches, for dense and sparse runs.
 * Judged by   how many marks could pair one to one within the tolerance, over all threads; then by the rhythm: the mean
 *             cost of runs at that offset. Runs are long compared with the spread, else any offset would fit.
 * Ambiguous   another offset fits nearly as many as well: a loop that repeats exactly, recorded in part.
 * Drift       from following one run to the next: the median slope, if it explains most of the residuals.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "pass/attribution/marks.h"

enum {
    CANDIDATES = 96,
    GROUPS = 4,
    PLACES = 512,
    PROBES = 24,
    DRIFT_RUNS = 96,
    REACH = 32,
    FINE_REACH = 64,
    FINE_RUNS = 96,
    KEPT = 6,
    COUNTED = 256,
    COUNTED_PARTS = 128
};
enum { LONG_SPREADS = 48, CLOSE_SPREADS = 32, CLOSE_NS = 20000, SAME_NS = 20000 };
#define MAX_DRIFT 1e-3

typedef struct candidate {
    int64_t offset, spread;
    int64_t cost;   /* mean of runs, in 1/256 bits; INT64_MAX: no run fit anywhere */
    uint64_t close; /* pairs within the likely spread: a step may be shorter than the tolerance */
    uint64_t runs;
    bool likely;
} candidate;

typedef struct place {
    int64_t off;
    size_t at;
} place;

typedef struct finder {
    const hd_mark_pair *pairs;
    size_t count;
    size_t largest[GROUPS], group_count;
    size_t quiet[GROUPS][FINE_RUNS]; /* in each part of a sequence, the sample after the longest gap */
    int64_t tolerance, close;
    uint64_t possible; /* how many pairs could be counted */
    candidate list[CANDIDATES];
    size_t candidate_count;
    place places[PLACES];
    candidate tried[PLACES];
} finder;

static size_t least(const hd_mark_pair *p)
{
    return p->sample_count < p->launch_count ? p->sample_count : p->launch_count;
}

static int64_t between(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static void propose(finder *f, int64_t offset, bool likely)
{
    if (f->candidate_count < CANDIDATES)
        f->list[f->candidate_count++] = (candidate){.offset = hd_mark_shift(offset, 0), .likely = likely};
}

static void find_largest(finder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        size_t at = f->group_count;
        if (least(&f->pairs[i]) == 0) continue;
        while (at > 0 && least(&f->pairs[f->largest[at - 1]]) < least(&f->pairs[i])) at--;
        if (at >= GROUPS) continue;
        size_t moved = (f->group_count < GROUPS ? f->group_count : GROUPS - 1) - at;
        memmove(&f->largest[at + 1], &f->largest[at], moved * sizeof *f->largest);
        f->largest[at] = i;
        if (f->group_count < GROUPS) f->group_count++;
    }
}

static void find_quiet(finder *f)
{
    for (size_t g = 0; g < f->group_count; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        for (size_t i = 0; i < FINE_RUNS; i++) {
            size_t from = (size_t)((double)p->sample_count * (double)i / FINE_RUNS);
            size_t until = (size_t)((double)p->sample_count * (double)(i + 1) / FINE_RUNS);
            int64_t longest = -1;
            f->quiet[g][i] = from;
            for (size_t k = from ? from : 1; k < until && k < p->sample_count; k++) {
                int64_t gap = p->samples[k].time_ns - p->samples[k - 1].time_ns;
                if (gap <= longest) continue;
                longest = gap;
                f->quiet[g][i] = k;
            }
        }
    }
}

/* The first of a run's samples: every second run is around a quiet place in samples [low, high], the others evenly
 * spread. A pause is more distinctive than regular marks. */
static size_t place_run(const finder *f, size_t g, size_t i, size_t runs, size_t low, size_t high, size_t span)
{
    double part = runs > 1 ? (double)i / (double)(runs - 1) : 0.5;
    size_t even = low + (size_t)((double)(high - low) * part);
    if (i % 2) return even;
    size_t quiet = f->quiet[g][(size_t)((double)even / (double)f->pairs[f->largest[g]].sample_count * FINE_RUNS)];
    quiet = quiet > span / 2 ? quiet - span / 2 : 0;
    return quiet < low ? low : quiet > high ? high : quiet;
}

/* ---- places of a run ---- */

/* The PLACES best of all places, by how far a few of the run's intervals are off. */
static size_t find_places(place *best, const hd_run *run, const hd_mark *samples, const hd_mark *launches, size_t count)
{
    size_t found = 0, span = (run->count - 1) * run->stride, parts[4];
    int64_t intervals[4], first = samples[run->first].time_ns;
    for (size_t i = 0; i < 4; i++) {
        parts[i] = (run->count - 1) * (i + 1) / 4 * run->stride;
        intervals[i] = samples[run->first + parts[i]].time_ns - first;
    }
    for (size_t at = 0; at + span < count; at++) {
        int64_t start = launches[at].time_ns, off = 0;
        for (size_t i = 0; i < 4; i++) off += between(launches[at + parts[i]].time_ns - start, intervals[i]) / 4;
        if (found == PLACES && off >= best[found - 1].off) continue;
        size_t to = found < PLACES ? found++ : found - 1;
        for (; to > 0 && best[to - 1].off > off; to--) best[to] = best[to - 1];
        best[to] = (place){off, at};
    }
    return found;
}

static int64_t median_of(int64_t *list, size_t count)
{
    hd_sort_few(list, count);
    return list[count / 2];
}

static int64_t offset_at(const hd_run *run, const hd_mark *samples, const hd_mark *launches, size_t at)
{
    int64_t offsets[HD_RUN_MARKS];
    for (size_t i = 0; i < run->count; i++)
        offsets[i] = launches[at + i * run->stride].time_ns - samples[run->first + i * run->stride].time_ns;
    return hd_mark_shift(median_of(offsets, run->count), 0);
}

/* ---- judgement ---- */

/* A stride that makes a run long against the spread. */
static size_t stride_of(const hd_mark_pair *p, int64_t spread)
{
    size_t stride = 1, count = least(p);
    int64_t span = p->samples[p->sample_count - 1].time_ns - p->samples[0].time_ns;
    double gap = (double)span / (double)p->sample_count;
    while (stride * 4 * HD_RUN_MARKS <= count && gap * (double)(stride * HD_RUN_MARKS) < (double)spread * LONG_SPREADS)
        stride *= 2;
    return stride;
}

static void judge_rhythm(const finder *f, candidate *c, size_t stride, size_t probes)
{
    int64_t sum = 0, spreads[PROBES];
    size_t found = 0;
    for (size_t g = 0; g < f->group_count; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        size_t share = (probes + f->group_count - 1) / f->group_count, count = least(p);
        hd_run run = {.stride = stride, .count = HD_RUN_MARKS};
        while (run.stride > 1 && run.stride * (run.count - 1) >= count) run.stride /= 2;
        if (run.count > count) run.count = count;
        /* only where the launches are: one recording may be longer than the other */
        size_t span = (run.count - 1) * run.stride;
        size_t low = hd_marks_find(p->samples, p->sample_count, hd_mark_shift(p->launches[0].time_ns, -c->offset));
        size_t high = hd_marks_find(p->samples, p->sample_count,
                                    hd_mark_shift(p->launches[p->launch_count - 1].time_ns, -c->offset));
        if (high > p->sample_count - 1 - span) high = p->sample_count - 1 - span;
        if (low > high) low = high;
        for (size_t i = 0; i < share && found < PROBES && low + i <= high; i++) {
            run.first = place_run(f, g, i, share, low, high, span);
            hd_run_fit(&run, p->samples, p->launches, p->launch_count, c->offset, REACH);
            if (run.cost == INT32_MAX) continue;
            sum += run.cost;
            spreads[found++] = run.spread_ns;
        }
    }
    c->runs = found;
    c->cost = found ? sum / (int64_t)found : INT64_MAX;
    c->spread = found ? median_of(spreads, found) : 0;
    if (c->spread > HD_MARK_TIME_LIMIT / 64) c->spread = HD_MARK_TIME_LIMIT / 64;
}

/* How many of some samples could pair one to one, in order. */
static uint64_t count_pairs(const hd_mark_pair *p, size_t first, size_t end, int64_t offset, int64_t tolerance)
{
    uint64_t pairs = 0;
    size_t at =
        hd_marks_find(p->launches, p->launch_count, hd_mark_shift(p->samples[first].time_ns, offset) - tolerance);
    for (size_t i = first; i < end && at < p->launch_count; i++) {
        const hd_mark *sample = &p->samples[i];
        int64_t time = hd_mark_shift(sample->time_ns, offset);
        while (at < p->launch_count && p->launches[at].time_ns < time - tolerance) at++;
        size_t look = at;
        /* skip a launch only if a compatible one follows soon */
        while (look < p->launch_count && look < at + 16 && p->launches[look].time_ns <= time + tolerance &&
               sample->sort && p->launches[look].sort && sample->sort != p->launches[look].sort)
            look++;
        if (look == p->launch_count || look == at + 16 || p->launches[look].time_ns > time + tolerance) continue;
        pairs++;
        at = look + 1;
    }
    return pairs;
}

static uint64_t count_all(const finder *f, int64_t offset)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < f->count; i++) {
        const hd_mark_pair *p = &f->pairs[i];
        if (p->sample_count) pairs += count_pairs(p, 0, p->sample_count, offset, f->tolerance);
    }
    return pairs;
}

/* The same for an evenly spread part of the samples, including the first and the last; *out_possible: the maximum. */
static uint64_t count_close(const finder *f, int64_t offset, uint64_t *out_possible)
{
    uint64_t pairs = 0;
    *out_possible = 0;
    for (size_t i = 0; i < f->count; i++) {
        const hd_mark_pair *p = &f->pairs[i];
        size_t count = p->sample_count, parts = count > COUNTED_PARTS * COUNTED ? COUNTED_PARTS : 1, looked = 0;
        size_t size = parts > 1 ? COUNTED : count;
        if (count == 0) continue;
        for (size_t k = 0; k < parts; k++) {
            size_t first = parts > 1 ? (size_t)((double)(count - size) * (double)k / (double)(parts - 1)) : 0;
            pairs += count_pairs(p, first, first + size, offset, f->close);
            looked += size;
        }
        *out_possible +=
            count <= p->launch_count ? looked : (uint64_t)((double)looked * (double)p->launch_count / (double)count);
    }
    return pairs;
}

/* The remaining offset: from the places where the rhythm fits best, the value that most of them agree on, weighted by
 * certainty. */
static int64_t refine(int64_t offset, const finder *f, size_t stride)
{
    int64_t residuals[FINE_RUNS], spreads[FINE_RUNS], weights[FINE_RUNS], best_cost = INT64_MAX, best = 0;
    size_t found = 0;
    for (size_t g = 0; g < f->group_count; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        size_t count = least(p);
        hd_run run = {.count = count < HD_RUN_MARKS ? count : HD_RUN_MARKS, .loose = true};
        if ((run.count - 1) * stride >= count) stride = 1;
        for (size_t i = 0; i < FINE_RUNS / f->group_count; i++) {
            run.stride = i % 2 ? stride : 1;
            size_t span = (run.count - 1) * run.stride, last = p->sample_count - 1 - span;
            run.first = place_run(f, g, i, FINE_RUNS / f->group_count, 0, last, span);
            hd_run_fit(&run, p->samples, p->launches, p->launch_count, offset, FINE_REACH);
            if (run.cost == INT32_MAX || between(run.residual_ns, 0) > f->tolerance) continue;
            weights[found] = run.margin < 4 * HD_MARK_BIT ? run.margin + 1 : 4 * HD_MARK_BIT;
            spreads[found] = run.loose_spread_ns;
            residuals[found++] = run.residual_ns;
        }
    }
    if (found == 0) return offset;
    int64_t spread = median_of(spreads, found);
    for (size_t i = 0; i < found; i++) {
        int64_t cost = 0;
        for (size_t k = 0; k < found; k++)
            cost += weights[k] * hd_mark_cost(residuals[k] - residuals[i], 1.0f / (float)(spread > 200 ? spread : 200));
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = residuals[i];
    }
    return hd_mark_shift(offset, best);
}

/* ---- candidates ---- */

static int by_cost(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void propose_places(finder *f, const hd_mark_pair *p, size_t first, size_t stride, size_t rhythm_stride)
{
    place *places = f->places;
    candidate *tried = f->tried;
    hd_run run = {.first = first, .stride = stride, .count = least(p) < HD_RUN_MARKS ? least(p) : HD_RUN_MARKS};
    size_t found = find_places(places, &run, p->samples, p->launches, p->launch_count), kept = 0;
    for (size_t i = 0; i < found; i++) {
        tried[i] = (candidate){.offset = offset_at(&run, p->samples, p->launches, places[i].at)};
        judge_rhythm(f, &tried[i], rhythm_stride, 4);
    }
    hd_sort(tried, found, sizeof *tried, by_cost);
    for (size_t i = 0; i < found && kept < KEPT; i++) {
        bool near = false;
        for (size_t k = 0; k < i && !near; k++) near = between(tried[k].offset, tried[i].offset) < SAME_NS;
        if (near) continue;
        propose(f, tried[i].offset, false);
        kept++;
    }
}

/* Offsets from runs of samples, early and late. */
static void propose_rhythms(finder *f, size_t stride)
{
    size_t groups = f->group_count < 2 ? f->group_count : 2;
    for (size_t g = 0; g < groups; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        size_t count = least(p), runs = count < HD_RUN_MARKS ? count : HD_RUN_MARKS;
        if (stride * (runs - 1) >= count) continue;
        size_t room = p->sample_count - 1 - stride * (runs - 1);
        propose_places(f, p, room / 4, stride, stride);
        if (room >= 4) propose_places(f, p, room * 3 / 4, stride, stride);
    }
}

static void propose_ends(finder *f)
{
    int64_t offsets[HD_RUN_MARKS];
    for (size_t g = 0; g < f->group_count; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        size_t samples = p->sample_count, launches = p->launch_count;
        if (samples == launches) {
            size_t count = samples < HD_RUN_MARKS ? samples : HD_RUN_MARKS;
            for (size_t i = 0; i < count; i++) {
                size_t at = count > 1 ? i * (samples - 1) / (count - 1) : 0;
                offsets[i] = p->launches[at].time_ns - p->samples[at].time_ns;
            }
            propose(f, median_of(offsets, count), false);
        }
        propose(f, p->launches[0].time_ns - p->samples[0].time_ns, false);
        propose(f, p->launches[launches - 1].time_ns - p->samples[samples - 1].time_ns, false);
    }
}

/* Removes duplicates, the likely ones first. */
static void drop_doubles(finder *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->candidate_count; i++) {
        bool near = false;
        for (size_t k = 0; k < kept && !near; k++) near = between(f->list[k].offset, f->list[i].offset) < 200;
        if (!near) f->list[kept++] = f->list[i];
    }
    f->candidate_count = kept;
}

/* ---- the choice ---- */

static uint64_t possible(const finder *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->count; i++) sum += least(&f->pairs[i]);
    return sum;
}

/* By how much a mean cost must be lower to be better: less where more was looked at. */
static int64_t margin_of(const candidate *c)
{
    uint64_t marks = c->runs * HD_RUN_MARKS, root = 1;
    while (root * root < marks) root++;
    return HD_MARK_BIT / 4 + (int64_t)(2 * HD_MARK_BIT / root);
}

static const candidate *choose(const finder *f, uint64_t slack, uint64_t most)
{
    const candidate *best = NULL;
    for (size_t i = 0; i < f->candidate_count; i++) {
        const candidate *c = &f->list[i];
        if (c->close + slack >= most && (!best || c->cost < best->cost)) best = c;
    }
    for (size_t i = 0; i < f->candidate_count; i++) {
        const candidate *c = &f->list[i];
        if (c->likely && c->close + slack >= most && c->cost <= best->cost + margin_of(best)) return c;
    }
    return best;
}

static void decide(finder *f, hd_clock *out)
{
    uint64_t most = 0;
    for (size_t i = 0; i < f->candidate_count; i++) {
        if (f->list[i].close > most) most = f->list[i].close;
    }
    uint64_t slack = 2 + (f->possible > most ? f->possible - most : 0) / 4;
    if (slack > most / 8) slack = most / 8;
    const candidate *best = choose(f, slack, most);
    out->offset_ns = best->offset;
    out->pairs = count_all(f, best->offset);
    out->fits = out->pairs > 0 && out->pairs * 2 >= possible(f);
    int64_t apart = best->spread * 8 > SAME_NS ? best->spread * 8 : SAME_NS;
    for (size_t i = 0; i < f->candidate_count && !best->likely; i++) {
        const candidate *c = &f->list[i];
        if (c->close + slack < best->close || between(c->offset, best->offset) <= apart) continue;
        if (c->cost > best->cost + margin_of(best)) continue;
        out->ambiguous = true;
        out->other_ns = c->offset;
    }
}

/* All marks of both sides fit in order: no other offset can be better. */
static bool is_whole(const finder *f, const candidate *c)
{
    for (size_t i = 0; i < f->count; i++) {
        const hd_mark_pair *p = &f->pairs[i];
        if (p->sample_count != p->launch_count) return false;
        for (size_t k = 0; k < p->sample_count; k++) {
            int64_t off = p->launches[k].time_ns - hd_mark_shift(p->samples[k].time_ns, c->offset);
            if (between(off, 0) > f->tolerance || hd_marks_fit(&p->samples[k], &p->launches[k]) == HD_MARKS_APART)
                return false;
        }
    }
    return true;
}

/* The offset under the assumption that all belong together in order, from some of them; false: their residuals vary by
 * more than the rhythm does, so the assumption is wrong. */
static bool settle_whole(const finder *f, candidate *c, size_t stride)
{
    int64_t offsets[PROBES * GROUPS] = {0};
    size_t found = 0;
    for (size_t g = 0; g < f->group_count; g++) {
        const hd_mark_pair *p = &f->pairs[f->largest[g]];
        size_t count = p->sample_count < PROBES ? p->sample_count : PROBES;
        for (size_t i = 0; i < count; i++) {
            size_t at = count > 1 ? (size_t)((double)i * (double)(p->sample_count - 1) / (double)(count - 1)) : 0;
            offsets[found++] = hd_mark_shift(p->launches[at].time_ns - p->samples[at].time_ns, 0);
        }
    }
    c->offset = median_of(offsets, found);
    for (size_t i = 0; i < found; i++) offsets[i] = between(offsets[i], c->offset);
    judge_rhythm(f, c, stride, PROBES);
    int64_t rhythm = c->spread > 1000 ? c->spread : 1000;
    return median_of(offsets, found) <= rhythm * 8 && is_whole(f, c);
}

/* ---- drift ---- */

typedef struct drift_point {
    int64_t time, offset;
} drift_point;

/* The offset along the largest thread; each run is searched near the extrapolation of the previous ones. */
static size_t follow(drift_point *points, const hd_mark_pair *p, int64_t offset, size_t stride)
{
    hd_run run = {.stride = stride, .count = HD_RUN_MARKS, .loose = true};
    size_t found = 0;
    while (run.stride > 1 && run.stride * (run.count - 1) >= least(p)) run.stride /= 2;
    size_t span = (run.count - 1) * run.stride;
    if (least(p) <= span) return 0;
    size_t room = p->sample_count - span, runs = room < DRIFT_RUNS ? room : DRIFT_RUNS, middle = runs / 2;
    int64_t lead = offset;
    for (size_t i = 0; i < runs; i++) { /* from the middle to the end, then to the start */
        size_t at = i < runs - middle ? middle + i : runs - 1 - i;
        if (i == runs - middle) lead = offset;
        run.first = runs > 1 ? (size_t)((double)(room - 1) * (double)at / (double)(runs - 1)) : 0;
        hd_run_fit(&run, p->samples, p->launches, p->launch_count, lead, REACH);
        if (run.cost == INT32_MAX) continue;
        int64_t off = hd_mark_shift(lead, run.residual_ns);
        points[found++] = (drift_point){p->samples[run.first + span / 2].time_ns, off};
        lead = off;
    }
    return found;
}

static int64_t residual_of(const drift_point *points, size_t count, const hd_clock *clock)
{
    int64_t off[DRIFT_RUNS];
    for (size_t i = 0; i < count; i++)
        off[i] = between(hd_mark_shift(points[i].time, points[i].offset), hd_clock_apply(clock, points[i].time));
    return median_of(off, count);
}

static hd_status find_drift(hd_clock *clock, const finder *f, size_t stride, hd_error *err)
{
    drift_point points[DRIFT_RUNS];
    const hd_mark_pair *p = &f->pairs[f->largest[0]];
    size_t count = follow(points, p, clock->offset_ns, stride), slope_count = 0;
    if (count < 8) return HD_OK;
    double *slopes = malloc((size_t)DRIFT_RUNS * DRIFT_RUNS / 2 * sizeof *slopes);
    if (!slopes) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            int64_t time = points[k].time - points[i].time;
            if (time != 0) slopes[slope_count++] = (double)(points[k].offset - points[i].offset) / (double)time;
        }
    }
    hd_sort(slopes, slope_count, sizeof *slopes, hd_compare_double);
    double slope = slope_count ? slopes[slope_count / 2] : 0;
    free(slopes);
    if (slope > MAX_DRIFT || slope < -MAX_DRIFT) return HD_OK;
    hd_clock straight = *clock, drifting = *clock;
    int64_t offsets[DRIFT_RUNS];
    for (size_t i = 0; i < count; i++) offsets[i] = points[i].offset;
    straight.offset_ns = median_of(offsets, count);
    for (size_t i = 0; i < count; i++)
        offsets[i] = points[i].offset - (int64_t)(slope * (double)(points[i].time - clock->since_ns));
    drifting.drift = slope;
    drifting.offset_ns = median_of(offsets, count);
    if (residual_of(points, count, &drifting) * 3 < residual_of(points, count, &straight)) *clock = drifting;
    return HD_OK;
}

int64_t hd_clock_apply(const hd_clock *clock, int64_t time_ns)
{
    int64_t shifted = hd_mark_shift(time_ns, clock->offset_ns);
    if (clock->drift == 0) return shifted;
    return hd_mark_shift(shifted, (int64_t)(clock->drift * (double)(time_ns - clock->since_ns)));
}

/* ---- all of it ---- */

/* true: all marks are in order, and no other candidate is needed. */
static bool find_candidates(finder *f, size_t *out_stride)
{
    const hd_mark_pair *p = &f->pairs[f->largest[0]];
    *out_stride = stride_of(p, 1000);
    propose_ends(f);
    for (size_t i = 0; i < f->candidate_count; i++) {
        candidate whole = f->list[i];
        if (!is_whole(f, &whole) || !settle_whole(f, &whole, *out_stride)) continue;
        f->close = f->tolerance;
        whole.close = count_close(f, whole.offset, &f->possible);
        f->list[0] = whole;
        f->candidate_count = 1;
        return true;
    }
    propose_rhythms(f, 1);
    int64_t spread = INT64_MAX;
    for (size_t i = 0; i < f->candidate_count; i++) {
        judge_rhythm(f, &f->list[i], 1, PROBES);
        if (f->list[i].cost != INT64_MAX && f->list[i].spread < spread) spread = f->list[i].spread;
    }
    *out_stride = stride_of(p, spread);
    f->close = spread < f->tolerance / CLOSE_SPREADS ? spread * CLOSE_SPREADS : f->tolerance;
    if (f->close < CLOSE_NS) f->close = CLOSE_NS < f->tolerance ? CLOSE_NS : f->tolerance;
    if (*out_stride > 1) propose_rhythms(f, *out_stride);
    for (size_t i = 0; i < f->candidate_count; i++) {
        if (f->list[i].likely) f->list[i].offset = refine(f->list[i].offset, f, *out_stride);
    }
    drop_doubles(f);
    for (size_t i = 0; i < f->candidate_count; i++) judge_rhythm(f, &f->list[i], *out_stride, PROBES);
    for (size_t i = 0; i < f->candidate_count; i++) f->list[i].close = count_close(f, f->list[i].offset, &f->possible);
    return false;
}

hd_status hd_clock_find(hd_clock *out, const hd_mark_pair *pairs, size_t count, int64_t tolerance_ns,
                        const int64_t *likely, size_t likely_count, hd_error *err)
{
    size_t stride;
    *out = (hd_clock){0};
    finder *f = calloc(1, sizeof *f);
    if (!f) return HD_NOMEM(err);
    f->pairs = pairs;
    f->count = count;
    f->tolerance = tolerance_ns < HD_MARK_TIME_LIMIT / 4 ? tolerance_ns : HD_MARK_TIME_LIMIT / 4;
    for (size_t i = 0; i < count; i++) {
        out->samples += pairs[i].sample_count;
        out->launches += pairs[i].launch_count;
    }
    find_largest(f);
    find_quiet(f);
    hd_status status = HD_OK;
    if (f->group_count > 0) {
        const hd_mark_pair *p = &pairs[f->largest[0]];
        for (size_t i = 0; i < likely_count && i < 4; i++) propose(f, likely[i], true);
        bool whole = find_candidates(f, &stride);
        decide(f, out);
        out->since_ns = p->samples[p->sample_count / 2].time_ns;
        status = find_drift(out, f, stride, err);
        if (out->drift == 0 && !whole) out->offset_ns = refine(out->offset_ns, f, stride);
    }
    free(f);
    return status;
}
