/* test_derive.c - steps by their names; intervals against counting every nanosecond */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/memory/large.h"
#include "model/roles/trace_roles.h"
#include "random_trace.h"
#include "rounds.h"
#include "trace/event.h"
#include "view/derive/derive.h"

static hd_string text(const char *data)
{
    return (hd_string){data, strlen(data)};
}

/* ---- rules ---- */

static void test_derive__profiler_steps_of_the_host_mark_steps(void **state)
{
    static const char *const others[] = {"ProfilerStep#", "ProfilerStep#4a", "step 12", "Optimizer.step#SGD.step", ""};
    (void)state;
    assert_true(hd_marks_step(HD_ROLE_ANNOTATION, text("ProfilerStep#4")));
    assert_true(hd_marks_step(HD_ROLE_OP, text("ProfilerStep#4")));
    assert_true(hd_marks_step(HD_ROLE_OTHER, text("ProfilerStep#12")));
    assert_false(hd_marks_step(HD_ROLE_GPU_ANNOTATION, text("ProfilerStep#4")));
    assert_false(hd_marks_step(HD_ROLE_KERNEL, text("ProfilerStep#4")));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (hd_marks_step(HD_ROLE_ANNOTATION, text(others[i]))) fail_msg("%s marks a step", others[i]);
    }
}

/* ---- intervals ---- */

enum { SPAN = 400, MOST = 60, SORTS = 3 };

typedef struct model {
    lane_span spans[MOST];
    uint8_t sorts[MOST];
    uint32_t count;
    int64_t start, end;
} model;

static int by_start(const void *a, const void *b)
{
    return lane_span_before(a, b) ? -1 : 1;
}

static model random_model(uint64_t *seed)
{
    model m = {.start = INT64_MAX, .end = INT64_MIN};
    int64_t zero = (int64_t)(random_next(seed) % 3) * INT64_C(1700000000000000000) - 100;
    uint32_t length = 1 + random_next(seed) % 80;
    m.count = 1 + random_next(seed) % MOST;
    for (uint32_t i = 0; i < m.count; i++) {
        int64_t start = zero + random_next(seed) % (SPAN - 80), end = start + random_next(seed) % length;
        m.spans[i] = (lane_span){.start = start, .end = end, .ordinal = i, .name = random_next(seed) % 5};
        if (start < m.start) m.start = start;
        if (end > m.end) m.end = end;
    }
    qsort(m.spans, m.count, sizeof *m.spans, by_start);
    for (uint32_t i = 0; i < m.count; i++) m.sorts[i] = random_next(seed) % SORTS;
    return m;
}

/* The first span of a sort (-1: any) in start order that covers a nanosecond, NULL: none. */
static const lane_span *runs_at(const model *m, int sort, int64_t time)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (sort >= 0 && m->sorts[i] != sort) continue;
        if (m->spans[i].start <= time && time < m->spans[i].end) return &m->spans[i];
    }
    return NULL;
}

/* The slice that covers a nanosecond, NULL: none; asserts that slices stand in order and apart. */
static const view_slice *slice_at(const view_slices *slices, int64_t time)
{
    const view_slice *found = NULL;
    for (size_t i = 0; i < slices->count; i++) {
        const view_slice *slice = &slices->list[i];
        assert_true(slice->start_ns < slice->end_ns);
        if (i) assert_true(slices->list[i - 1].end_ns <= slice->start_ns);
        if (slice->start_ns <= time && time < slice->end_ns) found = slice;
    }
    return found;
}

static void check_model(const model *m)
{
    view_slices sorts[SORTS] = {0}, idle = {0}, exposed = {0};
    int64_t busy[SORTS] = {0}, free_ns = 0, exposed_ns = 0;
    for (uint8_t s = 0; s < SORTS; s++) assert_true(view_slices_cover(&sorts[s], m->spans, m->count, m->sorts, s));
    assert_true(view_slices_free_time(&idle, m->spans, m->count, m->start, m->end, 77));
    assert_true(view_slices_minus(&exposed, &sorts[1], &sorts[0]));
    for (int64_t time = m->start - 2; time < m->end + 2; time++) {
        for (int s = 0; s < SORTS; s++) {
            const lane_span *runs = runs_at(m, s, time);
            const view_slice *slice = slice_at(&sorts[s], time);
            assert_int_equal(runs != NULL, slice != NULL);
            if (slice) assert_int_equal(slice->name, runs->name);
            if (slice) assert_int_equal(slice->row, runs->ordinal);
            busy[s] += runs != NULL;
        }
        bool in_span = m->start <= time && time < m->end, any = runs_at(m, -1, time) != NULL;
        assert_int_equal(slice_at(&idle, time) != NULL, in_span && !any);
        if (slice_at(&idle, time)) assert_int_equal(slice_at(&idle, time)->name, 77);
        free_ns += in_span && !any;
        bool shown = runs_at(m, 1, time) && !runs_at(m, 0, time);
        assert_int_equal(slice_at(&exposed, time) != NULL, shown);
        if (shown) assert_int_equal(slice_at(&exposed, time)->name, runs_at(m, 1, time)->name);
        exposed_ns += shown;
    }
    for (int s = 0; s < SORTS; s++) assert_int_equal(view_slices_busy(&sorts[s]), busy[s]);
    assert_int_equal(view_slices_busy(&idle), free_ns);
    assert_int_equal(view_slices_busy(&exposed), exposed_ns);
    for (int s = 0; s < SORTS; s++) hd_large_free(sorts[s].list);
    hd_large_free(idle.list);
    hd_large_free(exposed.list);
}

static void test_derive__every_nanosecond_is_what_runs_in_it_or_idle(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(1);
    for (uint64_t round = 0; round < 150; round++) {
        uint64_t random = first + round;
        model m = random_model(&random);
        check_model(&m);
    }
}

static void test_derive__times_at_the_ends_of_int64_do_not_wrap(void **state)
{
    lane_span spans[] = {{INT64_MIN + 1, 0, 0, 1}, {INT64_MAX - 5, INT64_MAX, 1, 2}};
    view_slices cover = {0}, idle = {0};
    (void)state;
    assert_true(view_slices_cover(&cover, spans, 2, NULL, 0));
    assert_int_equal(cover.count, 2);
    assert_int_equal(view_slices_busy(&cover), INT64_MAX);
    assert_true(view_slices_free_time(&idle, spans, 2, INT64_MIN + 1, INT64_MAX, 3));
    assert_int_equal(idle.count, 1);
    assert_int_equal(idle.list[0].end_ns - idle.list[0].start_ns, INT64_MAX - 5);
    assert_int_equal(hd_end_or_last(INT64_MAX - 1, 5), INT64_MAX);
    hd_large_free(cover.list);
    hd_large_free(idle.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derive__profiler_steps_of_the_host_mark_steps),
        cmocka_unit_test(test_derive__every_nanosecond_is_what_runs_in_it_or_idle),
        cmocka_unit_test(test_derive__times_at_the_ends_of_int64_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
