/* test_cuda_parts.c - parts of the injected tracer by themselves: options, clock, buffers, records that are wrong.
 * From end to end: test_inject.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/cuda/calls.h"
#include "capture/cuda/cupti/activity.h"

/* ---- options ---- */

static void test_options__all_keys_are_taken(void **state)
{
    cuda_options o;
    (void)state;
    cuda_options_parse(
        &o,
        "stacks=0,python=1,memory=1,graph=whole,nvtx=0,delay_ms=5,duration_ms=70,steps=3:9,trigger=1,budget_ppm=10000,"
        "policy=block");
    assert_false(o.stacks || o.nvtx);
    assert_true(o.python && o.memory && o.graph_whole && o.trigger && o.has_steps);
    assert_int_equal(o.delay_ms, 5);
    assert_int_equal(o.duration_ms, 70);
    assert_int_equal(o.budget_ppm, 10000);
    assert_int_equal(o.step_first, 3);
    assert_int_equal(o.step_last, 9);
    assert_int_equal(o.policy, HD_RING_BLOCK);
    assert_int_equal(o.unknown + o.bad, 0);
}

static void test_options__nothing_means_stacks_and_nvtx(void **state)
{
    cuda_options o;
    (void)state;
    cuda_options_parse(&o, NULL);
    assert_true(o.stacks && o.nvtx && !o.python && !o.memory && !o.graph_whole && !o.trigger && !o.has_steps);
    assert_int_equal(o.policy, HD_RING_DROP_NEWEST);
}

static void test_options__what_is_wrong_is_counted_and_the_rest_holds(void **state)
{
    cuda_options o;
    (void)state;
    cuda_options_parse(&o,
                       ",,stacks=yes,steps=9:3,steps=1,delay_ms=-1,delay_ms=99999999999999999999,graph=,memory=1,x,=,"
                       "policy=NEWEST,stacks");
    assert_int_equal(o.bad, 8);
    assert_int_equal(o.unknown, 2);
    assert_string_equal(o.first_bad, "stacks=yes");
    assert_string_equal(o.first_unknown, "x");
    assert_true(o.stacks && o.memory && !o.has_steps && o.delay_ms == 0);
}

static void test_options__a_long_text_is_cut_in_what_is_told(void **state)
{
    char text[5000];
    cuda_options o;
    (void)state;
    memset(text, 'k', sizeof text);
    text[sizeof text - 1] = 0;
    cuda_options_parse(&o, text);
    assert_int_equal(o.unknown, 1);
    assert_in_range(strlen(o.first_unknown), 1, sizeof o.first_unknown - 1);
}

/* ---- clock ---- */

static void test_clock__between_pairs_times_are_on_the_line(void **state)
{
    cuda_clock clock = {0};
    (void)state;
    cuda_clock_add(&clock, &(cuda_clock_pair){1000000, 500, 1});
    cuda_clock_add(&clock, &(cuda_clock_pair){1002000, 1500, 1}); /* half as fast */
    assert_int_equal(cuda_clock_map(&clock, 1000000), 500);
    assert_int_equal(cuda_clock_map(&clock, 1001000), 1000);
    assert_int_equal(cuda_clock_map(&clock, 1002000), 1500);
    assert_int_equal(cuda_clock_map(&clock, 1002100), 1600); /* behind the last: as fast as ours */
    assert_int_equal(cuda_clock_map(&clock, 999900), 400);
}

static void test_clock__the_oldest_pairs_make_room(void **state)
{
    cuda_clock clock = {0};
    (void)state;
    for (int64_t i = 1; i <= 1000; i++) cuda_clock_add(&clock, &(cuda_clock_pair){i * 100, i * 100 + i, 1});
    assert_int_equal(clock.count, CUDA_CLOCK_PAIRS);
    assert_int_equal(cuda_clock_map(&clock, 95000), 95950);
    assert_int_equal(cuda_clock_map(&clock, 95050), 96000);
}

static void test_clock__one_that_is_set_back_begins_anew(void **state)
{
    cuda_clock clock = {0};
    (void)state;
    cuda_clock_add(&clock, &(cuda_clock_pair){5000, 100, 1});
    cuda_clock_add(&clock, &(cuda_clock_pair){2000, 200, 1});
    assert_int_equal(clock.count, 1);
    assert_int_equal(cuda_clock_map(&clock, 2010), 210);
}

static void test_clock__extreme_times_do_not_overflow(void **state)
{
    cuda_clock clock = {0};
    (void)state;
    cuda_clock_add(&clock, &(cuda_clock_pair){1, INT64_MAX / 2, 1});
    cuda_clock_add(&clock, &(cuda_clock_pair){2, INT64_MAX - 5, 1});
    assert_int_equal(cuda_clock_map(&clock, INT64_MAX), INT64_MAX);
    assert_true(cuda_clock_map(&clock, INT64_MIN) < 0);
}

static bool read_ours(int64_t *out, void *user)
{
    *out = hd_session_now() + *(int64_t *)user;
    return true;
}

static void test_clock__a_clock_that_is_not_ours_is_noticed(void **state)
{
    cuda_clock ours = {0}, theirs = {0};
    int64_t none = 0, hour = INT64_C(3600000000000);
    (void)state;
    cuda_clock_sample(&ours, true, read_ours, &none);
    cuda_clock_sample(&theirs, true, read_ours, &hour);
    assert_true(ours.is_ours && !ours.has_broken);
    assert_true(!theirs.is_ours && theirs.has_broken);
    assert_in_range(llabs(cuda_clock_map(&theirs, hour + hd_session_now()) - hd_session_now()), 0, 100000000);
}

/* ---- buffers ---- */

static void test_buffers__come_back_in_order_and_are_used_again(void **state)
{
    cuda_buffers pool;
    (void)state;
    cuda_buffers_init(&pool);
    uint8_t *a = cuda_buffers_take(&pool), *b = cuda_buffers_take(&pool);
    assert_true(a && b && a != b && (uintptr_t)a % 64 == 0);
    memset(a, 1, CUDA_BUFFER_BYTES);
    cuda_buffers_fill(&pool, b, 10);
    cuda_buffers_fill(&pool, a, SIZE_MAX); /* more than there is */
    cuda_buffer *first = cuda_buffers_next(&pool), *second = cuda_buffers_next(&pool);
    assert_ptr_equal(cuda_buffer_data(first), b);
    assert_int_equal(first->valid, 10);
    assert_int_equal(second->valid, CUDA_BUFFER_BYTES);
    assert_null(cuda_buffers_next(&pool));
    cuda_buffers_give_back(&pool, first);
    assert_ptr_equal(cuda_buffers_take(&pool), b);
}

static void test_buffers__beyond_the_limit_there_are_none(void **state)
{
    static uint8_t *taken[CUDA_BUFFERS_MAX];
    cuda_buffers pool;
    cuda_buffers_stats stats;
    (void)state;
    cuda_buffers_init(&pool);
    for (int i = 0; i < CUDA_BUFFERS_MAX; i++) assert_non_null(taken[i] = cuda_buffers_take(&pool));
    assert_null(cuda_buffers_take(&pool));
    assert_null(cuda_buffers_take(&pool));
    cuda_buffers_statistics(&stats, &pool);
    assert_int_equal(stats.refused, 2);
    for (int i = 0; i < CUDA_BUFFERS_MAX; i++) cuda_buffers_fill(&pool, taken[i], 0);
    for (cuda_buffer *b; (b = cuda_buffers_next(&pool));) cuda_buffers_give_back(&pool, b);
    cuda_buffers_statistics(&stats, &pool);
    assert_int_equal(stats.count, CUDA_BUFFERS_KEPT); /* the others went back to the system */
    assert_int_equal(stats.high, CUDA_BUFFERS_MAX);
    cuda_buffers_close(&pool);
    assert_null(cuda_buffers_take(&pool));
}

/* ---- records ---- */

/* What a CUPTI that is not well says: the test's offsets one after another. */
static struct {
    int64_t offsets[8];
    cupti_status ends;
    size_t count, next;
} stepper;

static cupti_status next_record(uint8_t *buffer, size_t valid, cupti_record **record)
{
    (void)valid;
    if (stepper.next == stepper.count) return stepper.ends;
    *record = (cupti_record *)(void *)(buffer + stepper.offsets[stepper.next++]);
    return CUPTI_OK;
}

static cupti_status dropped_records(void *context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = 3;
    return CUPTI_OK;
}

typedef struct bench {
    char path[64];
    cuda_cupti cupti;
    cuda_tracer tracer;
    cuda_activity activity;
    uint64_t buffer[512];
} bench;

static bench *set_up(void)
{
    bench *b = calloc(1, sizeof *b);
    snprintf(b->path, sizeof b->path, "/tmp/test_cuda_parts.%d.hdcap", (int)getpid());
    assert_int_equal(hd_session_start(&b->tracer.session, b->path, NULL, NULL), HD_OK);
    b->cupti.version = 130000;
    b->cupti.ActivityGetNextRecord = next_record;
    b->cupti.ActivityGetNumDroppedRecords = dropped_records;
    b->tracer.cupti = &b->cupti;
    b->tracer.has_system_ids = true;
    cuda_activity_init(&b->activity, &b->tracer);
    b->activity.clock.is_ours = true;
    memset(&stepper, 0, sizeof stepper);
    stepper.ends = CUPTI_LIMIT_REACHED;
    return b;
}

static hd_session_stats tear_down(bench *b)
{
    hd_session_stats stats;
    hd_session_stop(&stats, b->tracer.session, NULL);
    hd_session_free(b->tracer.session);
    unlink(b->path);
    for (int i = 0; i < ACTIVITY_CACHE; i++) free(b->activity.names[i].text);
    free(b);
    return stats;
}

static cupti_api *put_call(bench *b, size_t offset, uint64_t start, uint64_t end)
{
    cupti_api *call = (cupti_api *)(void *)((uint8_t *)b->buffer + offset);
    *call =
        (cupti_api){.kind = CUPTI_KIND_RUNTIME, .call = 211, .start = start, .end = end, .thread = 5, .correlation = 1};
    return call;
}

static void test_records__a_step_back_or_none_ends_the_buffer(void **state)
{
    (void)state;
    for (int64_t second = -8; second <= 0; second += 8) {
        bench *b = set_up();
        put_call(b, 8, 1, 2);
        stepper.offsets[0] = 8;
        stepper.offsets[1] = 8 + second;
        stepper.offsets[2] = 64;
        stepper.count = 3;
        cuda_activity_read(&b->activity, (uint8_t *)b->buffer, 256);
        assert_int_equal(b->activity.counts.records, 2);
        assert_int_equal(b->activity.counts.bad, 1);
        assert_int_equal(b->activity.counts.shown, 1);
        assert_int_equal(b->activity.counts.dropped, 3);
        assert_int_equal(tear_down(b).written, 1);
    }
}

static void test_records__outside_of_the_buffer_or_cut_are_not_read(void **state)
{
    static const int64_t offsets[] = {256, 4096, -64, 256 - 8, 4};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        bench *b = set_up();
        put_call(b, 0, 1, 2);
        put_call(b, 248, 1, 2); /* the last begins within, and ends behind */
        stepper.offsets[0] = offsets[i];
        stepper.count = 1;
        cuda_activity_read(&b->activity, (uint8_t *)b->buffer, 256);
        assert_int_equal(b->activity.counts.bad, 1);
        assert_int_equal(b->activity.counts.shown, 0);
        assert_int_equal(tear_down(b).written, 0);
    }
}

static void test_records__every_one_is_counted_once(void **state)
{
    bench *b = set_up();
    (void)state;
    put_call(b, 0, 1, 2);
    put_call(b, 40, 0, 2);                                              /* no start */
    put_call(b, 80, 3, 2);                                              /* ends before it begins */
    put_call(b, 120, UINT64_MAX, UINT64_MAX);                           /* nonsense */
    put_call(b, 160, 1, (uint64_t)hd_session_now() + 3600000000000ull); /* in the future */
    put_call(b, 200, 1, 2)->kind = 77;
    put_call(b, 240, 1, 2)->call = 3; /* a call that is not traced */
    for (int i = 0; i < 7; i++) stepper.offsets[i] = i * 40;
    stepper.count = 7;
    cuda_activity_read(&b->activity, (uint8_t *)b->buffer, 280);
    const activity_counts *c = &b->activity.counts;
    assert_int_equal(c->records, 7);
    assert_int_equal(c->shown, 5);
    assert_int_equal(c->bad_times, 4);
    assert_int_equal(c->unknown, 1);
    assert_int_equal(c->filtered, 1);
    assert_int_equal(c->records, c->shown + c->facts + c->filtered + c->unknown + c->bad);
    assert_int_equal(tear_down(b).written, 5);
}

/* More events than a ring has room for, at once, with the policy that drops. */
static void test_records__many_are_never_dropped_by_the_ring(void **state)
{
    enum { ROUNDS = 20000, EACH = 8 };
    bench *b = set_up();
    (void)state;
    for (int i = 0; i < EACH; i++) {
        put_call(b, (size_t)i * 40, 1, 2);
        stepper.offsets[i] = i * 40;
    }
    stepper.count = EACH;
    for (int i = 0; i < ROUNDS; i++) {
        stepper.next = 0;
        cuda_activity_read(&b->activity, (uint8_t *)b->buffer, EACH * 40);
    }
    hd_session_stats stats = tear_down(b);
    assert_int_equal(stats.written, ROUNDS * EACH);
    assert_int_equal(stats.dropped_newest + stats.dropped_oldest + stats.lost, 0);
}

/* ---- calls and names ---- */

static void test_calls__are_found_by_domain_and_number(void **state)
{
    (void)state;
    assert_string_equal(cuda_call_find(CUPTI_DOMAIN_RUNTIME, 211)->name, "cudaLaunchKernel");
    assert_string_equal(cuda_call_find(CUPTI_DOMAIN_DRIVER, 307)->name, "cuLaunchKernel");
    assert_true(cuda_call_has_stack(cuda_call_find(CUPTI_DOMAIN_RUNTIME, 450)->kind, false)); /* cudaMemPrefetchAsync */
    assert_string_equal(cuda_call_find(CUPTI_DOMAIN_DRIVER, 717)->name, "cuMemPrefetchAsync");
    assert_null(cuda_call_find(CUPTI_DOMAIN_RUNTIME, 3));
    assert_null(cuda_call_find(CUPTI_DOMAIN_RUNTIME, UINT32_MAX));
    assert_null(cuda_call_find(CUPTI_DOMAIN_RESOURCE, 1));
    assert_true(cuda_call_has_stack(CUDA_CALL_LAUNCH, false) && !cuda_call_has_stack(CUDA_CALL_SYNC, true));
    assert_true(cuda_call_has_stack(CUDA_CALL_ALLOC, true) && !cuda_call_has_stack(CUDA_CALL_ALLOC, false));
    assert_true(cuda_call_limit(CUPTI_DOMAIN_DRIVER) <= ACTIVITY_CALLS &&
                cuda_call_limit(CUPTI_DOMAIN_RUNTIME) <= ACTIVITY_CALLS);
}

static void test_names__are_those_of_kineto(void **state)
{
    char name[96];
    (void)state;
    cuda_name_copy(name, sizeof name, CUPTI_COPY_HTOD, CUPTI_MEMORY_PAGEABLE, CUPTI_MEMORY_DEVICE);
    assert_string_equal(name, "Memcpy HtoD (Pageable -> Device)");
    cuda_name_copy(name, sizeof name, 99, 98, 97);
    assert_string_equal(name, "Memcpy <unknown> (Unknown -> Unknown)");
    cuda_name_set(name, sizeof name, CUPTI_MEMORY_DEVICE);
    assert_string_equal(name, "Memset (Device)");
    assert_string_equal(cuda_name_overhead(CUPTI_OVERHEAD_MODULE_LOADING), "Runtime Triggered Module Loading");
    assert_string_equal(cuda_name_overhead(CUPTI_OVERHEAD_COMPILER), "Driver Compiler");
    assert_string_equal(cuda_name_overhead(0xffff0000), "Overhead");
    assert_string_equal(cuda_name_wait(CUPTI_SYNC_STREAM_WAIT), "Stream Wait Event");
    assert_string_equal(cuda_name_wait(1000), "Sync");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__all_keys_are_taken),
        cmocka_unit_test(test_options__nothing_means_stacks_and_nvtx),
        cmocka_unit_test(test_options__what_is_wrong_is_counted_and_the_rest_holds),
        cmocka_unit_test(test_options__a_long_text_is_cut_in_what_is_told),
        cmocka_unit_test(test_clock__between_pairs_times_are_on_the_line),
        cmocka_unit_test(test_clock__the_oldest_pairs_make_room),
        cmocka_unit_test(test_clock__one_that_is_set_back_begins_anew),
        cmocka_unit_test(test_clock__extreme_times_do_not_overflow),
        cmocka_unit_test(test_clock__a_clock_that_is_not_ours_is_noticed),
        cmocka_unit_test(test_buffers__come_back_in_order_and_are_used_again),
        cmocka_unit_test(test_buffers__beyond_the_limit_there_are_none),
        cmocka_unit_test(test_records__a_step_back_or_none_ends_the_buffer),
        cmocka_unit_test(test_records__outside_of_the_buffer_or_cut_are_not_read),
        cmocka_unit_test(test_records__every_one_is_counted_once),
        cmocka_unit_test(test_records__many_are_never_dropped_by_the_ring),
        cmocka_unit_test(test_calls__are_found_by_domain_and_number),
        cmocka_unit_test(test_names__are_those_of_kineto),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
