/* test_tiles.c - tiles of random rows, at every zoom, against a model that looks at every slice */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_trace.h"
#include "rounds.h"
#include "view/rows/rows.h"
#include "view/tile/tile.h"
#include "view/tile_read.h"

__extension__ typedef __int128 wide_int;

/* ---- random rows ---- */

typedef struct shape {
    uint32_t count, names;
    int64_t start, gap, length;
    uint32_t cluster; /* slices side by side without a gap */
} shape;

static view_slice *random_slices(uint64_t *seed, const shape *how)
{
    view_slice *slices = malloc(how->count * sizeof *slices);
    int64_t time = how->start;
    for (uint32_t i = 0; i < how->count; i++) {
        if (random_next(seed) % how->cluster == 0) time += (int64_t)random_next(seed) % how->gap;
        int64_t length = random_next(seed) % 4 ? (int64_t)random_next(seed) % how->length : 0;
        if (random_next(seed) % 97 == 0) length *= 50;
        slices[i] = (view_slice){.start_ns = time, .end_ns = time + length, .name = 1 + random_next(seed) % how->names};
        slices[i].row = i;
        time += length;
    }
    return slices;
}

static view_row row_of(const view_slice *slices, uint32_t count, int64_t zero)
{
    view_row row;
    view_slice *copy = malloc(count * sizeof *copy);
    memcpy(copy, slices, count * sizeof *copy);
    assert_int_equal(view_row_of_slices(&row, copy, count, NULL), HD_OK);
    assert_int_equal(view_row_index(&row, NULL, zero, NULL), HD_OK);
    return row;
}

/* ---- the model ---- */

typedef struct model_column {
    uint32_t touching, starting, name, longest_row;
    int64_t busy, longest;
} model_column;

static bool touches(const view_slice *s, wide_int from, wide_int until)
{
    return (s->start_ns >= from && s->start_ns < until) || (s->start_ns < from && s->end_ns > from);
}

/* A slice and its neighbours that may touch a time lie side by side: `*at` is where to begin, for columns in order. */
static model_column model_of(const view_slice *slices, uint32_t count, uint32_t *at, wide_int from, wide_int until)
{
    model_column out = {.longest = -1};
    uint32_t names[64];
    int64_t ns[64], most = -1;
    uint32_t name_count = 0;
    while (*at < count && slices[*at].end_ns < from) ++*at;
    for (uint32_t i = *at; i < count && slices[i].start_ns < until; i++) {
        const view_slice *s = &slices[i];
        if (!touches(s, from, until)) continue;
        wide_int begin = s->start_ns > from ? s->start_ns : from, end = s->end_ns < until ? s->end_ns : until;
        out.touching++;
        out.starting += s->start_ns >= from;
        out.busy += (int64_t)(end - begin);
        if (s->end_ns - s->start_ns > out.longest) {
            out.longest = s->end_ns - s->start_ns;
            out.longest_row = s->row;
        }
        uint32_t n = 0;
        while (n < name_count && names[n] != s->name) n++;
        if (n == name_count) {
            assert_true(name_count < 64);
            names[name_count] = s->name;
            ns[name_count++] = 0;
        }
        ns[n] += (int64_t)(end - begin);
    }
    for (uint32_t n = 0; n < name_count; n++) {
        if (ns[n] > most) {
            most = ns[n];
            out.name = names[n];
        }
    }
    return out;
}

/* Of a tile, the nearest to a time. Shifted, not divided: with a division of 128 bits in a loop's condition gcc 12 -O2
 * leaves the loop at once (not so with -fno-tree-vrp, at -O1, or with clang; UBSan has nothing to say). */
static int column_of(wide_int ns, unsigned z)
{
    if (ns < 0) return 0;
    wide_int column = ns >> z;
    return column < VIEW_TILE_COLUMNS ? (int)column : VIEW_TILE_COLUMNS - 1;
}

/* The slice that an aggregate is about is found by its column, and is as long as the tile says. */
static void check_longest(const view_row *row, unsigned z, int64_t column, double longest)
{
    view_slice slice;
    uint64_t at;
    assert_true(view_row_longest(&slice, &at, row, NULL, z, column));
    assert_true((double)(slice.end_ns - slice.start_ns) == longest);
}

/* Compares one tile with the model; returns how many start in it, and what it covers. */
static uint64_t check_tile(const view_row *row, const view_slice *slices, uint32_t count, int64_t zero, unsigned z,
                           int64_t i, wide_int *busy)
{
    static read_row tile;
    hd_bytes bytes = {0};
    uint32_t at = 0, column = 0, event = 0;
    uint64_t starting = 0;
    bool exact[VIEW_TILE_COLUMNS];
    wide_int width = (wide_int)1 << z, begin = (wide_int)i * VIEW_TILE_COLUMNS * width + zero;
    assert_int_equal(view_tile_row(&bytes, row, NULL, zero, z, i, NULL, NULL), HD_OK);
    assert_int_equal(read_tile_row(&tile, bytes.data), bytes.size);
    for (uint32_t c = 0; c < VIEW_TILE_COLUMNS; c++) {
        wide_int from = begin + c * width;
        model_column m = model_of(slices, count, &at, from, from + width);
        starting += m.starting;
        *busy += m.busy;
        exact[c] = m.touching < 3;
        if (exact[c]) continue;
        assert_true(column < tile.column_count);
        const read_column *r = &tile.columns[column++];
        assert_int_equal(r->column, c);
        assert_int_equal(r->count, m.starting);
        assert_true(r->busy == (double)m.busy);
        assert_true(r->longest == (double)m.longest);
        assert_int_equal(r->row, m.longest_row);
        assert_int_equal(r->name, m.name);
        check_longest(row, z, i * VIEW_TILE_COLUMNS + c, r->longest);
    }
    assert_int_equal(column, tile.column_count);
    assert_int_equal(tile.starting, starting);
    for (uint32_t s = 0; s < count && slices[s].start_ns < begin + VIEW_TILE_COLUMNS * width; s++) {
        if (!touches(&slices[s], begin, begin + VIEW_TILE_COLUMNS * width)) continue;
        bool drawn = false;
        wide_int last = slices[s].end_ns > slices[s].start_ns ? slices[s].end_ns - 1 : slices[s].end_ns;
        for (int c = column_of(slices[s].start_ns - begin, z); c <= column_of(last - begin, z) && !drawn; c++)
            drawn = exact[c];
        if (!drawn) continue;
        assert_true(event < tile.event_count);
        const read_event *e = &tile.events[event++];
        assert_true(e->start == (double)(slices[s].start_ns - begin));
        assert_true(e->duration == (double)(slices[s].end_ns - slices[s].start_ns));
        assert_int_equal(e->name, slices[s].name);
        assert_int_equal(e->row, slices[s].row);
        assert_int_equal(e->flags, slices[s].end_ns == slices[s].start_ns ? VIEW_SLICE_NO_LENGTH : 0);
    }
    assert_int_equal(event, tile.event_count);
    hd_bytes_deinit(&bytes);
    return starting;
}

static int64_t tile_of(int64_t time, unsigned z)
{
    return time >> z >> 9;
}

/* All tiles that hold slices, at every zoom; where those are many, some of them. */
static void check_row(const view_slice *slices, uint32_t count, int64_t zero, uint64_t *seed)
{
    view_row row = row_of(slices, count, zero);
    wide_int all = 0;
    for (uint32_t s = 0; s < count; s++) all += slices[s].end_ns - slices[s].start_ns;
    for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) {
        int64_t first = tile_of(slices[0].start_ns - zero, z), last = tile_of(slices[count - 1].end_ns - zero, z);
        uint64_t starting = 0;
        wide_int busy = 0;
        if (last - first > 40) {
            for (int n = 0; n < 12; n++) {
                uint32_t s = random_next(seed) % count;
                check_tile(&row, slices, count, zero, z, tile_of(slices[s].start_ns - zero, z), &busy);
            }
            continue;
        }
        for (int64_t i = first - 1; i <= last + 1; i++) starting += check_tile(&row, slices, count, zero, z, i, &busy);
        assert_int_equal(starting, count);
        assert_true(busy == all);
    }
    view_row_deinit(&row);
}

static void test_tiles__are_those_of_a_model_at_every_zoom(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.count = 1, .names = 1, .start = 5, .gap = 10, .length = 10, .cluster = 1},
        {.count = 63, .names = 3, .start = -400, .gap = 10, .length = 30, .cluster = 1},
        {.count = 700, .names = 5, .start = -3000, .gap = 20, .length = 9, .cluster = 1},
        {.count = 3000, .names = 16, .start = 1000, .gap = 4, .length = 4, .cluster = 2},
        {.count = 3000, .names = 9, .start = 1000000, .gap = 1000000, .length = 40, .cluster = 100},
        {.count = 2000, .names = 4, .start = 77, .gap = 1000000, .length = 100000, .cluster = 1},
        {.count = 1500, .names = 4, .start = 0, .gap = 1000000000, .length = 1000000000, .cluster = 30},
        {.count = 1000, .names = 2, .start = 9, .gap = 2, .length = 1, .cluster = 300}, /* many at one time */
    };
    uint64_t seed = hd_test_seed(7);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int64_t zero = -1000; zero <= 5000; zero += 6000) {
            view_slice *slices = random_slices(&seed, &shapes[s]);
            check_row(slices, shapes[s].count, zero, &seed);
            free(slices);
        }
    }
}

static void test_tiles__any_zoom_and_number_is_answered_at_the_ends_of_time(void **state)
{
    (void)state;
    static read_row tile;
    const int64_t far = (int64_t)1 << 62;
    view_slice slices[] = {
        {.start_ns = INT64_MIN + 1, .end_ns = -far, .name = 1, .row = 0},
        {.start_ns = -far + 9, .end_ns = 0, .name = 2, .row = 1},
        {.start_ns = 0, .end_ns = far - 9, .name = 3, .row = 2},
        {.start_ns = far, .end_ns = INT64_MAX, .name = 4, .row = 3},
    };
    static const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1,    -((int64_t)1 << 53), -1025,    -3, -2, -1, 0, 1, 2,
                                      1024,      (int64_t)1 << 53, INT64_MAX - 1,       INT64_MAX};
    static const int64_t zeros[] = {0, INT64_MIN + 1, INT64_MAX, -5};
    for (size_t n = 0; n < 4; n++) {
        view_row row = row_of(slices, 4, zeros[n]);
        for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) {
            uint64_t starting = 0;
            for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                hd_bytes bytes = {0};
                assert_int_equal(view_tile_row(&bytes, &row, NULL, zeros[n], z, numbers[i], NULL, NULL), HD_OK);
                assert_int_equal(read_tile_row(&tile, bytes.data), bytes.size);
                if (numbers[i] >= -1 && numbers[i] <= 0) starting += tile.starting;
                hd_bytes_deinit(&bytes);
            }
            if (z == VIEW_ZOOM_MAX) assert_int_equal(starting, 4); /* two tiles hold all of time */
        }
        view_row_deinit(&row);
    }
}

static void test_tiles__hundred_thousand_slices_at_one_time_are_one_column(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    static read_row tile;
    view_slice *slices = calloc(COUNT, sizeof *slices);
    for (uint32_t i = 0; i < COUNT; i++) slices[i] = (view_slice){.start_ns = 50, .end_ns = 50, .name = 1, .row = i};
    view_row row = row_of(slices, COUNT, 0);
    assert_true(view_row_bytes(&row) < COUNT * (sizeof *slices + 1));
    for (unsigned z = 0; z <= VIEW_ZOOM_MAX; z++) {
        hd_bytes bytes = {0};
        assert_int_equal(view_tile_row(&bytes, &row, NULL, 0, z, 0, NULL, NULL), HD_OK);
        read_tile_row(&tile, bytes.data);
        assert_int_equal(tile.column_count, 1);
        assert_int_equal(tile.event_count, 0);
        assert_int_equal(tile.columns[0].count, COUNT);
        hd_bytes_deinit(&bytes);
    }
    view_row_deinit(&row);
    free(slices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles__are_those_of_a_model_at_every_zoom),
        cmocka_unit_test(test_tiles__any_zoom_and_number_is_answered_at_the_ends_of_time),
        cmocka_unit_test(test_tiles__hundred_thousand_slices_at_one_time_are_one_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
