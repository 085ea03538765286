/* test_window_memory.c - what is live according to the file is what is live, in every window
 *
 * Random allocations and releases, some told late and out of order, while windows open and close. The file is read back
 * and played in the order of time: at the end of each window, and within it, its live memory must be that of a model.
 */
#include "capture/cuda/window/window.h"
#include "capture/programs/stub_tracer.h"
#include "capture/session_support.h"

enum { ADDRESSES = 300, OPERATIONS = 60000, LATE = 64 };

typedef struct change {
    int64_t time_ns;
    uint64_t bytes; /* 0: released */
    uint32_t slot;
} change;

static struct {
    change changes[OPERATIONS]; /* in the order of time */
    int count;
    uint64_t live[ADDRESSES];
    int64_t closed[OPERATIONS]; /* ends of windows */
    int closed_count;
} model;

static uint64_t state = 88172645463325252u;

static uint64_t next_random(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

/* As activity_rows.c does it. */
static void tell_one(const change *what, uint64_t bytes_before)
{
    cuda_tracer *t = &cuda_the_tracer;
    cuda_memory memory = {.is_release = what->bytes == 0,
                          .device = what->slot % 3 == 2 ? HD_SESSION_HOST : what->slot % 3,
                          .address = 0x7f0000000000 + what->slot / 3 * 4096, /* the same on three devices */
                          .bytes = what->bytes ? what->bytes : bytes_before,
                          .time_ns = what->time_ns};
    cuda_window_memory(t, &memory);
    if (!cuda_capture_has(t, memory.time_ns)) return;
    hd_session_emit(t->session,
                    &(hd_session_record){.kind = memory.is_release ? HD_SESSION_RELEASE : HD_SESSION_ALLOCATE,
                                         .time_ns = memory.time_ns,
                                         .value = memory.address,
                                         .bytes = memory.bytes,
                                         .device = memory.device});
}

/* The next change, of a random address. */
static change make_change(uint64_t *bytes_before)
{
    change what = {.time_ns = hd_session_now(), .slot = (uint32_t)next_random(ADDRESSES)};
    *bytes_before = model.live[what.slot];
    what.bytes = *bytes_before ? 0 : 1 + next_random(1 << 20);
    model.live[what.slot] = what.bytes;
    model.changes[model.count++] = what;
    return what;
}

/* What was held back is told in an order that is not that of time, but for each address. */
static void tell_late(change *late, uint64_t *before, int *count)
{
    while (*count) {
        int pick = (int)next_random((uint64_t)*count);
        for (int i = 0; i < pick; i++) {
            if (late[i].slot == late[pick].slot) pick = i;
        }
        tell_one(&late[pick], before[pick]);
        --*count;
        memmove(late + pick, late + pick + 1, (size_t)(*count - pick) * sizeof *late);
        memmove(before + pick, before + pick + 1, (size_t)(*count - pick) * sizeof *before);
    }
}

static void play(void)
{
    change late[LATE];
    uint64_t before[LATE];
    int late_count = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        before[late_count] = 0;
        late[late_count] = make_change(&before[late_count]);
        late_count++;
        if (late_count == LATE || next_random(20) == 0) tell_late(late, before, &late_count);
        if (next_random(100) == 0) {
            if (window_is_open()) {
                assert_true(window_close("test", WINDOW_ANY));
                model.closed[model.closed_count++] = hd_session_now();
            } else {
                assert_true(window_open("test", 0));
            }
        }
        if (i % 4096 == 0) hd_session_flush(cuda_the_tracer.session, NULL);
    }
    tell_late(late, before, &late_count);
    if (window_is_open()) model.closed[model.closed_count++] = hd_session_now();
}

/* ---- the file ---- */

typedef struct record {
    int64_t time_ns;
    uint64_t row;
    int64_t bytes;
    uint32_t slot;
} record;

static int by_time(const void *a, const void *b)
{
    const record *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static record record_at(const hd_trace *trace, uint64_t row)
{
    hd_event event = row_at(trace, HD_KIND_INSTANT, row);
    int64_t device = arg_of(trace, &event, "Device Id");
    uint64_t page = (uint64_t)(arg_of(trace, &event, "Addr") - 0x7f0000000000) / 4096;
    return (record){event.start_ns, row, arg_of(trace, &event, "Bytes"),
                    (uint32_t)(page * 3 + (device < 0 ? 2 : (uint64_t)device))};
}

static void test_window_memory__what_is_live_is_what_the_file_says_in_every_window(void **unused)
{
    char path[128];
    static uint64_t live[ADDRESSES], truth[ADDRESSES];
    (void)unused;
    stub_begin(file_named(path, "memory.hdcap"), "memory=1,trigger=1,policy=block");
    play();
    stub_end();
    hd_trace *trace = read_capture(path);
    assert_int_equal(ledger_count(trace, "window.memory-lost"), 0);
    uint64_t count = hd_trace_row_count(trace, HD_KIND_INSTANT);
    record *records = calloc(count, sizeof *records);
    for (uint64_t i = 0; i < count; i++) records[i] = record_at(trace, i);
    qsort(records, count, sizeof *records, by_time);
    uint64_t at = 0;
    int change_at = 0, checked = 0;
    assert_true(model.closed_count > 100);
    for (int w = 0; w < model.closed_count; w++) {
        for (; at < count && records[at].time_ns <= model.closed[w]; at++) {
            assert_true(records[at].slot < ADDRESSES);
            if (records[at].bytes > 0) {
                assert_int_equal(live[records[at].slot], 0); /* nothing is allocated twice */
                live[records[at].slot] = (uint64_t)records[at].bytes;
            } else {
                assert_int_equal(live[records[at].slot], -records[at].bytes);
                live[records[at].slot] = 0;
            }
        }
        for (; change_at < model.count && model.changes[change_at].time_ns <= model.closed[w]; change_at++)
            truth[model.changes[change_at].slot] = model.changes[change_at].bytes;
        assert_memory_equal(live, truth, sizeof live);
        checked++;
    }
    assert_int_equal(checked, model.closed_count);
    assert_int_equal(at, count); /* and outside of windows there is nothing */
    free(records);
    hd_trace_free(trace);
    hd_session_free(cuda_the_tracer.session);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_memory__what_is_live_is_what_the_file_says_in_every_window),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
