/* test_tile_series.c - tiles of counters against a model, estimates against the lane that they are of, rows of nested
 * slices against their depths */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/builder.h"
#include "random_trace.h"
#include "rounds.h"
#include "view/rows/impl.h"
#include "view/scene/impl.h"
#include "view/tile/tile.h"
#include "view/tile_read.h"

/* ---- counters ---- */

static view_series random_series(uint64_t *seed, size_t count, int64_t start, uint32_t gap)
{
    view_series series = {.count = count, .unit = ""};
    series.times_ns = malloc(count * sizeof *series.times_ns);
    series.values = malloc(count * sizeof *series.values);
    for (size_t i = 0; i < count; i++) {
        start += random_next(seed) % 3 ? random_next(seed) % gap : 0;
        series.times_ns[i] = start;
        series.values[i] = (double)(random_next(seed) % 100000) - 50000;
    }
    return series;
}

static void free_series(view_series *series)
{
    if (!series->kept.data) {
        free(series->times_ns);
        free(series->values);
    }
    view_kept_free(&series->kept);
    free(series->marks);
}

static double double_at(const uint8_t *data, size_t at)
{
    double value;
    memcpy(&value, data + at, sizeof value);
    return value;
}

static uint32_t number_at(const uint8_t *data, size_t at, size_t size)
{
    uint32_t value = 0;
    memcpy(&value, data + at, size);
    return value;
}

/* The column that the samples [from, until) make: place `c` of `count`. */
static void check_column(const uint8_t *data, uint32_t count, uint32_t c, const view_series *series, size_t from,
                         size_t until, uint32_t column)
{
    double min = series->values[from], max = min;
    size_t columns = 16 + 36 * (size_t)count;
    for (size_t i = from; i < until; i++) {
        min = series->values[i] < min ? series->values[i] : min;
        max = series->values[i] > max ? series->values[i] : max;
    }
    assert_true(c < count);
    assert_true(double_at(data, 16 + 8 * (size_t)c) == min);
    assert_true(double_at(data, 16 + 8 * ((size_t)count + c)) == max);
    assert_true(double_at(data, 16 + 8 * (2 * (size_t)count + c)) == series->values[from]);
    double last = double_at(data, 16 + 8 * (3 * (size_t)count + c));
    assert_true(series->ends && until == series->count ? last != last : last == series->values[until - 1]);
    assert_int_equal(number_at(data, 16 + 32 * (size_t)count + 4 * (size_t)c, 4), until - from);
    assert_int_equal(number_at(data, (columns + 7) / 8 * 8 + 2 * (size_t)c, 2), column);
}

/* Returns how many samples stand in the tile. */
static size_t check_tile(const view_series *series, int64_t zero, unsigned z, int64_t i)
{
    hd_bytes bytes = {0};
    uint32_t c = 0;
    size_t from = 0, until;
    int64_t first_column = i * VIEW_TILE_COLUMNS;
    assert_int_equal(view_tile_series(&bytes, series, zero, z, i, NULL), HD_OK);
    const uint8_t *data = bytes.data;
    uint32_t count = number_at(data, 0, 4);
    view_tile_range range = view_tile_range_of(z, i);
    if (range.from > range.last) { /* outside of all time */
        assert_int_equal(count, 0);
        hd_bytes_deinit(&bytes);
        return 0;
    }
    while (from < series->count && (series->times_ns[from] - zero) >> z < first_column) from++;
    size_t first = from;
    for (; from < series->count; from = until) {
        int64_t column = (series->times_ns[from] - zero) >> z;
        if (column >= first_column + VIEW_TILE_COLUMNS) break;
        for (until = from; until < series->count && (series->times_ns[until] - zero) >> z == column;) until++;
        check_column(data, count, c++, series, from, until, (uint32_t)(column - first_column));
    }
    if (first && !(series->ends && first == series->count))
        check_column(data, count, c++, series, first - 1, first, UINT16_MAX);
    assert_int_equal(count, c);
    assert_int_equal(number_at(data, 12, 4), from - first);
    hd_bytes_deinit(&bytes);
    return from - first;
}

static void test_tiles__of_counters_are_those_of_a_model_at_every_zoom(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(11);
    static const struct {
        size_t count;
        uint32_t gap;
        bool ends; /* nothing is drawn behind its last sample */
    } shapes[] = {{1, 9, false},          {127, 5, false}, {5000, 40, false}, {9000, 2, false},
                  {3000, 1 << 30, false}, {1, 9, true},    {127, 5, true},    {3000, 1 << 30, true}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        view_series series = random_series(&seed, shapes[s].count, -700, shapes[s].gap);
        series.ends = shapes[s].ends;
        assert_int_equal(view_series_index(&series, NULL), HD_OK);
        for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) {
            int64_t first = (series.times_ns[0] + 50) >> z >> 9;
            int64_t last = (series.times_ns[series.count - 1] + 50) >> z >> 9;
            size_t samples = 0;
            for (int64_t i = first - 1; i <= last + 1 && last - first <= 20; i++)
                samples += check_tile(&series, -50, z, i);
            for (int n = 0; n < 4; n++) /* of many tiles some */
                check_tile(&series, -50, z, (series.times_ns[random_next(&seed) % series.count] + 50) >> z >> 9);
            assert_int_equal(samples, last - first <= 20 ? series.count : 0);
        }
        free_series(&series);
    }
}

static void test_tiles__of_counters_are_the_same_when_the_samples_leave_memory(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(5);
    view_series series = random_series(&seed, 100000, 0, 7);
    assert_int_equal(view_series_index(&series, NULL), HD_OK);
    assert_non_null(series.kept.data);
    for (unsigned z = 4; z <= VIEW_ZOOM_MAX; z += 6) check_tile(&series, 0, z, (series.times_ns[50000] >> z) >> 9);
    free_series(&series);
}

/* ---- rows out of memory ---- */

static void test_rows__are_the_same_when_they_leave_memory(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    uint64_t seed = hd_test_seed(3);
    view_row row;
    view_slice *slices = malloc(COUNT * sizeof *slices), *copy = malloc(COUNT * sizeof *copy), read;
    int64_t time = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        time += random_next(&seed) % 100;
        slices[i] = (view_slice){.start_ns = time, .end_ns = time + 1 + random_next(&seed) % 50, .name = 1, .row = i};
        time = slices[i].end_ns;
    }
    memcpy(copy, slices, COUNT * sizeof *copy);
    assert_int_equal(view_row_of_slices(&row, copy, COUNT, NULL), HD_OK);
    assert_int_equal(view_row_index(&row, NULL, 0, NULL), HD_OK);
    assert_non_null(row.data->kept.data);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(view_row_read(&read, &row, NULL, i, 1), 1);
        assert_int_equal(read.start_ns, slices[i].start_ns);
        assert_int_equal(read.end_ns, slices[i].end_ns);
        assert_int_equal(read.row, slices[i].row);
    }
    view_row shared = view_row_share(&row);
    view_row_deinit(&row);
    assert_int_equal(view_row_read(&read, &shared, NULL, COUNT - 1, 1), 1);
    view_row_deinit(&shared);
    free(slices);
}

/* ---- depths ---- */

enum { NESTED = 4000 };

/* Slices within [from, until), at a depth of at most 30. */
static void nest(view_slice *slices, uint32_t *depths, uint32_t *count, uint64_t *seed, int64_t from, int64_t until,
                 uint32_t depth)
{
    while (*count < NESTED && from < until && depth < 30) {
        int64_t start = from + (int64_t)(random_next(seed) % (1 + (uint64_t)(until - from) / 8));
        int64_t end = start + 1 + (int64_t)(random_next(seed) % (uint64_t)(until - start));
        slices[*count] = (view_slice){.start_ns = start, .end_ns = end, .name = 1, .row = *count};
        depths[(*count)++] = depth;
        nest(slices, depths, count, seed, start, end, depth + 1);
        from = end;
    }
}

static void test_rows__of_nested_slices_are_their_depths(void **state)
{
    (void)state;
    static view_slice slices[NESTED];
    static uint32_t depths[NESTED];
    const uint64_t first = hd_test_seed(1);
    for (uint64_t round = 0; round < 30; round++) {
        uint64_t seed = first + round, moved, placed = 0;
        uint32_t count = 0;
        view_rows rows;
        view_slice read;
        nest(slices, depths, &count, &seed, 0, 1000000, 0);
        assert_int_equal(view_rows_lay_out(&rows, &moved, slices, count, NULL), HD_OK);
        assert_int_equal(moved, 0);
        for (uint32_t r = 0; r < rows.count; r++) {
            for (uint64_t i = 0; i < rows.rows[r].count; i++, placed++) {
                assert_int_equal(view_row_read(&read, &rows.rows[r], NULL, i, 1), 1);
                assert_int_equal(depths[read.row], r);
            }
        }
        assert_int_equal(placed, count);
        view_rows_deinit(&rows);
    }
}

/* ---- estimates ---- */

static hd_trace *lane_trace(uint32_t slices, uint64_t seed)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    int64_t time = 1000;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (uint32_t i = 0; i < slices; i++) {
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        row.track = hd_builder_thread(builder, 1, 1);
        row.name = hd_builder_intern_text(builder, i % 3 ? "a" : "b");
        row.start_ns = time += 50 + random_next(&seed) % 4000;
        time += row.duration_ns = random_next(&seed) % 3000;
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    return trace;
}

static void test_tiles__of_estimates_add_up_to_the_lane(void **state)
{
    (void)state;
    static read_row tile;
    static const uint32_t counts[] = {1, 255, 3000, 40000};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        hd_trace *trace = lane_trace(counts[n], n + 1);
        hd_index *index;
        assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
        const hd_lane *lane = hd_index_lane_at(index, 0);
        for (unsigned z = 6; z <= 44; z++) {
            int64_t first = (lane->start_ns - 900) >> z >> 9, last = (lane->end_ns - 900) >> z >> 9;
            double starting = 0, busy = 0, tiles = (double)(last - first + 1);
            if (last - first > 4000) continue;
            for (int64_t i = first; i <= last; i++) {
                hd_bytes bytes = {0};
                assert_int_equal(view_tile_lane(&bytes, lane, 900, z, i, NULL), HD_OK);
                assert_int_equal(read_tile_row(&tile, bytes.data), bytes.size);
                assert_int_equal(tile.event_count, 0);
                starting += tile.starting;
                for (uint32_t c = 0; c < tile.column_count; c++) {
                    assert_true(tile.columns[c].busy <= (double)((uint64_t)1 << z));
                    busy += tile.columns[c].busy;
                }
                hd_bytes_deinit(&bytes);
            }
            assert_true(starting >= counts[n] - tiles && starting <= counts[n] + tiles); /* each is rounded */
            assert_true(busy <= (double)lane->busy_ns + 1);
            assert_true(busy >= (double)lane->busy_ns - 512 * tiles - 1); /* columns are cut to whole ns */
        }
        hd_index_free(index);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles__of_counters_are_those_of_a_model_at_every_zoom),
        cmocka_unit_test(test_tiles__of_counters_are_the_same_when_the_samples_leave_memory),
        cmocka_unit_test(test_rows__are_the_same_when_they_leave_memory),
        cmocka_unit_test(test_rows__of_nested_slices_are_their_depths),
        cmocka_unit_test(test_tiles__of_estimates_add_up_to_the_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
