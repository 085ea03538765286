/* test_flow_bind.c - ids of points, joining against a model that looks at all pairs, binding against one that tries all
 * slices */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/large.h"
#include "heddle/builder.h"
#include "model/flows/bind.h"
#include "random_trace.h"
#include "rounds.h"

/* ---- ids ---- */

static void test_point_ids__numbers_and_texts_of_digits_are_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t type;
        int64_t value;
    } all[] = {
        {"31", 1, 31},    {"0x1f", 1, 31},
        {"0X1F", 1, 31},  {"-31", 1, -31},
        {"00031", 1, 31}, {"0xffffffffffffffff", 1, -1},
        {"-", 2, 0},      {"0x", 2, 0},
        {"1f", 2, 0},     {"", 2, 0},
        {"3 1", 2, 0},    {"18446744073709551616", 2, 0},
        {"0x1g", 2, 0},   {"18446744073709551615", 1, -1},
        {"+31", 2, 0},
    };
    hd_builder *b;
    hd_trace *trace;
    uint32_t ids[sizeof all / sizeof *all];
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ids[i] = hd_builder_intern_text(b, all[i].text);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hd_point_id id = hd_point_id_of(trace, HD_ID_STRING, ids[i]);
        if (id.type != all[i].type) fail_msg("%s", all[i].text);
        assert_int_equal(id.value, id.type == 1 ? all[i].value : (int64_t)ids[i]);
    }
    assert_int_equal(hd_point_id_of(trace, HD_ID_INT | HD_ID_LOCAL, 7).type, 1 | HD_ID_LOCAL);
    assert_int_equal(hd_point_id_of(trace, HD_ID_NONE, 0).type, 0);
    hd_trace_free(trace);
}

/* ---- random points and slices ---- */

enum { POINTS = 120, SLICES = 60 };

typedef struct model {
    struct {
        int64_t time, id;
        uint32_t track;
        char phase;
        bool encloses;
    } points[POINTS];
    struct {
        int64_t start, end;
        uint32_t track;
    } slices[SLICES];
    uint32_t point_count, slice_count;
} model;

static hd_trace *random_trace(model *m, uint64_t *seed)
{
    hd_builder *b;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    int64_t ids = 1 + random_next(seed) % 12, span = 10 + random_next(seed) % 300;
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, b, NULL), HD_OK);
    m->point_count = random_next(seed) % POINTS;
    m->slice_count = random_next(seed) % SLICES;
    for (uint32_t i = 0; i < m->slice_count; i++) {
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        int64_t length = random_next(seed) % 5 ? random_next(seed) % 40 : 0;
        row.track = m->slices[i].track = hd_builder_thread(b, 1, random_next(seed) % 3);
        row.start_ns = m->slices[i].start = random_next(seed) % span;
        row.duration_ns = random_next(seed) % 9 ? length : HD_NO_TIME;
        m->slices[i].end = row.start_ns + (row.duration_ns == HD_NO_TIME ? 0 : length);
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    }
    for (uint32_t i = 0; i < m->point_count; i++) {
        hd_row row = hd_row_of(HD_KIND_FLOW, "stf"[random_next(seed) % 3]);
        m->points[i].phase = (char)row.phase;
        m->points[i].encloses = row.phase != 'f' || random_next(seed) % 2;
        if (row.phase == 'f' && m->points[i].encloses) row.phase |= HD_FLAG_BIND_ENCLOSING;
        row.track = m->points[i].track = hd_builder_thread(b, 1, random_next(seed) % 3);
        row.start_ns = m->points[i].time = random_next(seed) % span;
        row.id_type = HD_ID_INT;
        row.id = m->points[i].id = random_next(seed) % ids;
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(b, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    return trace;
}

/* ---- joining ---- */

static int rank_of(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

/* Is x before y in their flow? */
static bool is_before(const model *m, uint32_t x, uint32_t y)
{
    if (m->points[x].time != m->points[y].time) return m->points[x].time < m->points[y].time;
    if (m->points[x].phase != m->points[y].phase) return rank_of(m->points[x].phase) < rank_of(m->points[y].phase);
    return x < y;
}

/* The point of the flow that comes next behind (or, backward, before) x; HD_NONE. */
static uint32_t neighbour(const model *m, uint32_t x, bool backward)
{
    uint32_t best = HD_NONE;
    for (uint32_t i = 0; i < m->point_count; i++) {
        if (i == x || m->points[i].id != m->points[x].id || is_before(m, i, x) != backward) continue;
        if (best == HD_NONE || is_before(m, i, best) != backward) best = i;
    }
    return best;
}

/* The n-th start of x's id that nothing follows, or the last; HD_NONE: there is none. */
static uint32_t lonely_start(const model *m, uint32_t x, uint32_t n)
{
    uint32_t first = x, best = HD_NONE;
    for (uint32_t at = x; at != HD_NONE; at = neighbour(m, at, true)) first = at;
    for (uint32_t at = first; at != HD_NONE; at = neighbour(m, at, false)) {
        uint32_t next = neighbour(m, at, false);
        if (m->points[at].phase != 's' || (next != HD_NONE && m->points[next].phase != 's')) continue;
        best = at;
        if (n-- == 0) break;
    }
    return best;
}

static uint32_t model_from(const model *m, uint32_t x)
{
    uint32_t before = 0; /* ends before x, if no start is */
    if (m->points[x].phase == 's') return HD_NONE;
    for (uint32_t at = neighbour(m, x, true); at != HD_NONE; at = neighbour(m, at, true), before++) {
        bool has_start = m->points[at].phase == 's';
        for (uint32_t up = at; up != HD_NONE && !has_start; up = neighbour(m, up, true))
            has_start = m->points[up].phase == 's';
        if (has_start && m->points[at].phase != 'f') return at;
    }
    return lonely_start(m, x, before);
}

static void test_flow_points__agree_with_a_model(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(21);
    model m;
    for (int round = 0; round < 400; round++) {
        hd_trace *trace = random_trace(&m, &seed);
        hd_flow_point *points;
        size_t count;
        assert_int_equal(hd_flow_points(&points, &count, trace, NULL), HD_OK);
        assert_int_equal(count, m.point_count);
        hd_flow_points_join(points, count);
        for (size_t i = 0; i < count; i++) {
            uint32_t from = points[i].from == HD_NONE ? HD_NONE : points[points[i].from].row;
            assert_int_equal(from, model_from(&m, points[i].row));
            assert_int_equal(points[i].encloses, m.points[points[i].row].encloses);
        }
        hd_large_free(points);
        hd_trace_free(trace);
    }
}

static void test_flow_points__many_early_ends_take_no_time(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    hd_flow_point *points = calloc(COUNT, sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < COUNT; i++) {
        points[i] = (hd_flow_point){.row = i, .start_ns = i, .from = HD_NONE, .phase = 'f'};
        if (i == COUNT / 2) points[i].phase = 's';
        if (i > COUNT / 2) points[i].phase = i % 2 ? 's' : 'f';
    }
    points[COUNT / 2 + 1].phase = 's'; /* the one that waits is the one before */
    hd_flow_points_join(points, COUNT);
    for (uint32_t i = 0; i < COUNT / 2; i++) {
        assert_in_range(points[i].from, COUNT / 2, COUNT - 1);
        assert_int_equal(points[points[i].from].phase, 's');
    }
    free(points);
}

/* ---- binding ---- */

/* Later start, then shorter, then behind in the input. */
static bool is_inner(const model *m, uint32_t x, uint32_t y)
{
    if (m->slices[x].start != m->slices[y].start) return m->slices[x].start > m->slices[y].start;
    if (m->slices[x].end != m->slices[y].end) return m->slices[x].end < m->slices[y].end;
    return x > y;
}

/* 3: begins at the point; 2: is open there; 1: ends there. */
static int hold_of(const model *m, uint32_t slice, int64_t time)
{
    if (m->slices[slice].start > time || m->slices[slice].end < time) return 0;
    return m->slices[slice].start == time ? 3 : m->slices[slice].end > time ? 2 : 1;
}

static uint32_t model_bound(const model *m, uint32_t point)
{
    uint32_t best = UINT32_MAX;
    int64_t time = m->points[point].time;
    for (uint32_t i = 0; i < m->slice_count; i++) {
        if (m->slices[i].track != m->points[point].track) continue;
        if (!m->points[point].encloses) {
            if (m->slices[i].start >= time && (best == UINT32_MAX || is_inner(m, best, i))) best = i;
            continue;
        }
        int hold = hold_of(m, i, time), was = best == UINT32_MAX ? 0 : hold_of(m, best, time);
        if (hold > was || (hold && hold == was && is_inner(m, i, best))) best = i;
    }
    return best;
}

static void test_flow_binding__agrees_with_a_model(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(22);
    model m;
    for (int round = 0; round < 600; round++) {
        hd_trace *trace = random_trace(&m, &seed);
        uint32_t *bound;
        assert_int_equal(hd_flows_bind(&bound, trace, NULL), HD_OK);
        for (uint32_t i = 0; i < m.point_count; i++) assert_int_equal(bound[i], model_bound(&m, i));
        hd_large_free(bound);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_point_ids__numbers_and_texts_of_digits_are_one),
        cmocka_unit_test(test_flow_points__agree_with_a_model),
        cmocka_unit_test(test_flow_points__many_early_ends_take_no_time),
        cmocka_unit_test(test_flow_binding__agrees_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
