/* counter.c - a tile's columns for the samples of a counter, all of which are represented
 *
 * An index has the least and the greatest of 16 samples, of 16 such, and so on; a column takes O(log n).
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "view/rows/impl.h"
#include "view/scene/impl.h"
#include "view/tile/tile.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, STEPS = 8 };

typedef struct bounds {
    double min, max;
} bounds;

typedef struct view_series_marks {
    size_t counts[STEPS];
    bounds *steps[STEPS]; /* into list */
    bounds list[];
} view_series_marks;

/* Values that are not numbers bound nothing. */
static void widen(bounds *b, double min, double max)
{
    if (!(min >= b->min)) b->min = isnan(min) ? b->min : min;
    if (!(max <= b->max)) b->max = isnan(max) ? b->max : max;
}

static const bounds no_bounds = {NAN, NAN};

static void fill_step(view_series_marks *marks, int step, const view_series *series)
{
    size_t below = step ? marks->counts[step - 1] : series->count;
    for (size_t i = 0; i < marks->counts[step]; i++) {
        bounds b = no_bounds;
        for (size_t at = i << FAN_BITS; at < below && at < (i + 1) << FAN_BITS; at++) {
            if (step)
                widen(&b, marks->steps[step - 1][at].min, marks->steps[step - 1][at].max);
            else
                widen(&b, series->values[at], series->values[at]);
        }
        marks->steps[step][i] = b;
    }
}

hd_status view_series_index(view_series *series, hd_error *err)
{
    size_t total = 0, count = series->count;
    if (series->marks || count < 2 * FAN) return HD_OK;
    for (int step = 0; step < STEPS; step++) total += count = (count + FAN - 1) >> FAN_BITS;
    view_series_marks *marks = malloc(sizeof *marks + total * sizeof *marks->list);
    if (!marks) return HD_NOMEM(err);
    count = series->count;
    bounds *next = marks->list;
    for (int step = 0; step < STEPS; step++) {
        marks->counts[step] = count = (count + FAN - 1) >> FAN_BITS;
        marks->steps[step] = next;
        next += count;
        fill_step(marks, step, series);
    }
    series->marks = marks;
    const view_array arrays[] = {
        {(void **)&series->times_ns, series->count * sizeof *series->times_ns},
        {(void **)&series->values, series->count * sizeof *series->values},
        {(void **)&series->rows, series->rows ? series->count * sizeof *series->rows : 0},
    };
    view_keep(&series->kept, arrays, sizeof arrays / sizeof *arrays);
    return HD_OK;
}

/* The bounds of samples [from, until). */
static bounds bounds_of(const view_series *series, size_t from, size_t until)
{
    bounds b = no_bounds;
    while (from < until) {
        int step = 0;
        while (series->marks && step < STEPS && from % ((size_t)1 << (FAN_BITS * (step + 1))) == 0 &&
               from + ((size_t)1 << (FAN_BITS * (step + 1))) <= until)
            step++;
        if (step) {
            const bounds *mark = &series->marks->steps[step - 1][from >> (FAN_BITS * step)];
            widen(&b, mark->min, mark->max);
        } else {
            widen(&b, series->values[from], series->values[from]);
        }
        from += (size_t)1 << (FAN_BITS * step);
    }
    return b;
}

/* The first sample from `from` on at or after a time; it is looked for from `near` samples on. */
static size_t sample_at(const view_series *series, size_t from, size_t near, int64_t time, int64_t zero_ns)
{
    size_t step = near ? near : 1, low = from, high = series->count;
    while (low + step < high && row_relative(series->times_ns[low + step], zero_ns) < time) {
        low += step;
        step *= 2;
    }
    if (low + step < high) high = low + step + 1;
    HD_PARTITION_POINT(low, high, at, row_relative(series->times_ns[at], zero_ns) < time);
    return low;
}

typedef struct sample_column {
    double min, max, first, last;
    uint32_t count;
    uint16_t column;
} sample_column;

static sample_column column_of(const view_series *series, size_t from, size_t until, uint16_t column)
{
    bounds b = bounds_of(series, from, until);
    return (sample_column){b.min,
                           b.max,
                           series->values[from],
                           series->values[until - 1],
                           until - from < UINT32_MAX ? (uint32_t)(until - from) : UINT32_MAX,
                           column};
}

static void put_f64(hd_bytes *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    hd_bytes_put_le(out, bits, 8);
}

static hd_status put_samples(hd_bytes *out, const sample_column *columns, uint32_t count, size_t starting,
                             hd_error *err)
{
    hd_bytes_put_le(out, count, 4);
    hd_bytes_put_le(out, 0, 8);
    hd_bytes_put_le(out, starting < UINT32_MAX ? starting : UINT32_MAX, 4);
    for (uint32_t c = 0; c < count; c++) put_f64(out, columns[c].min);
    for (uint32_t c = 0; c < count; c++) put_f64(out, columns[c].max);
    for (uint32_t c = 0; c < count; c++) put_f64(out, columns[c].first);
    for (uint32_t c = 0; c < count; c++) put_f64(out, columns[c].last);
    for (uint32_t c = 0; c < count; c++) hd_bytes_put_le(out, columns[c].count, 4);
    view_tile_align(out);
    for (uint32_t c = 0; c < count; c++) hd_bytes_put_le(out, columns[c].column, 2);
    view_tile_align(out);
    return out->failed ? HD_NOMEM(err) : HD_OK;
}

hd_status view_tile_series(hd_bytes *out, const view_series *series, int64_t zero_ns, unsigned z, int64_t i,
                           hd_error *err)
{
    sample_column columns[VIEW_TILE_COLUMNS + 1];
    uint32_t count = 0;
    view_tile_range range = view_tile_range_of(z, i);
    if (range.from > range.last) return put_samples(out, NULL, 0, 0, err);
    size_t first = sample_at(series, 0, 1, range.from, zero_ns), at = first, last = 1;
    while (at < series->count) {
        int64_t time = row_relative(series->times_ns[at], zero_ns), column = time >> z;
        if (time > range.last) break;
        int64_t next = column >= VIEW_FARTHEST >> z ? INT64_MAX : (int64_t)((uint64_t)(column + 1) << z);
        size_t until = sample_at(series, at, last, next, zero_ns); /* neighbours have about as many */
        columns[count] = column_of(series, at, until, (uint16_t)(column - range.first_column));
        if (series->ends && until == series->count) columns[count].last = NAN; /* no value is valid after it */
        count++;
        last = until - at;
        at = until;
    }
    if (first && !(series->ends && first == series->count))
        columns[count++] = column_of(series, first - 1, first, UINT16_MAX);
    return put_samples(out, columns, count, at - first, err);
}
