/* test_memory.c - allocations and frees paired, levels, peaks, leaks, anomalies */
#include "report/report_trace.h"

#include "heddle/analysis/memory.h"

enum { US = 1000, CPU = 0, CUDA = 1 };

/* ---- events ---- */

typedef struct memory_event {
    int64_t at_ns, address, bytes, type, device, allocated, reserved;
    bool no_address, no_bytes, totals;
    const char *category;
    int64_t tid;
    int64_t sf; /* 0: none */
} memory_event;

static void add_memory(maker *m, memory_event e)
{
    hd_arg_key keys[7];
    int64_t values[7];
    uint32_t count = 0;
#define PUT(text, number)                                                                                              \
    (keys[count] = (hd_arg_key){.key = hd_builder_intern_text(m->builder, text), .type = HD_ARG_INT},                  \
     values[count++] = (number))
    PUT("Device Type", e.type);
    PUT("Device Id", e.device);
    if (!e.no_address) PUT("Addr", e.address);
    if (!e.no_bytes) PUT("Bytes", e.bytes);
    if (e.totals) PUT("Total Allocated", e.allocated);
    if (e.totals) PUT("Total Reserved", e.reserved);
    if (e.sf) {
        PUT("sf", e.sf);
        keys[count - 1].scope = HD_SCOPE_EVENT;
    }
#undef PUT
    hd_row row = event_row(m, HD_KIND_INSTANT, 'i', "[memory]", e.tid ? e.tid : 1, e.at_ns);
    if (e.category) row.category = hd_builder_intern_text(m->builder, e.category);
    row.shape = hd_builder_shape(m->builder, keys, count, true);
    add_row(m, &row, values);
}

/* Address, bytes (below 0: freed) on device 0 at a time. */
static void add_simple(maker *m, int64_t at_ns, int64_t address, int64_t bytes)
{
    add_memory(m, (memory_event){.at_ns = at_ns, .address = address, .bytes = bytes, .type = CUDA});
}

static hd_memory *find(const hd_trace *trace)
{
    hd_memory *memory;
    hd_error err = {0};
    if (hd_memory_new(&memory, trace, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    return memory;
}

static hd_report report_of(const hd_trace *trace, uint64_t rows, bool series)
{
    hd_report report;
    hd_memory *memory = find(trace);
    const hd_memory_report_options options = {.rows = rows, .series = series};
    assert_int_equal(hd_report_memory(&report, memory, trace, &options, NULL), HD_OK);
    hd_memory_free(memory);
    return report;
}

static uint64_t sum_of(const hd_table *table, const char *column)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < hd_table_row_count(table); i++)
        if (!null_at(table, i, column)) sum += count_at(table, i, column);
    return sum;
}

/* What must hold of every trace whose sums do not saturate. */
static void assert_accounted(const hd_memory *m)
{
    uint64_t events = m->anomalies[HD_MEMORY_UNREADABLE] + m->anomalies[HD_MEMORY_NO_TIME], in_groups = 0;
    for (size_t i = 0; i < m->pool_count; i++) {
        const hd_memory_pool *pool = &m->pools[i];
        events += pool->allocations + pool->frees;
        assert_int_equal((int64_t)(pool->allocated_bytes - pool->freed_bytes - pool->replaced_bytes), pool->live_bytes);
    }
    for (size_t i = 0; i < m->group_count; i++) in_groups += m->groups[i].allocations + m->groups[i].frees;
    assert_int_equal(events, m->found);
    assert_int_equal(in_groups, m->event_count);
    for (size_t i = 1; i < m->event_count; i++) assert_true(m->events[i - 1].time_ns <= m->events[i].time_ns);
}

/* ---- pairing ---- */

static void test_memory__events_pair_in_the_order_of_time_not_of_the_file(void **state)
{
    (void)state;
    maker m = make();
    add_simple(&m, 30 * US, 0x10, -100); /* stands first, happens last */
    add_simple(&m, 20 * US, 0x20, 50);
    add_simple(&m, 10 * US, 0x10, 100);
    hd_trace *trace = finish(&m);
    hd_memory *memory = find(trace);
    assert_accounted(memory);
    assert_int_equal(memory->event_count, 3);
    assert_int_equal(memory->events[0].end, 2);
    assert_int_equal(memory->events[2].end, 0);
    assert_int_equal(memory->events[1].end, HD_NONE);
    assert_int_equal(memory->anomalies[HD_MEMORY_FREE_UNKNOWN], 0);
    assert_int_equal(memory->pools[0].peak_bytes, 150);
    assert_int_equal(memory->pools[0].peak_ns, 20 * US);
    assert_int_equal(memory->pools[0].live_bytes, 50);
    hd_memory_free(memory);
    hd_trace_free(trace);
}

static void test_memory__what_does_not_fit_is_counted_and_named(void **state)
{
    (void)state;
    maker m = make();
    add_simple(&m, 1 * US, 0x10, -5);  /* unknown */
    add_simple(&m, 2 * US, 0x20, 100); /* replaced by the next */
    add_simple(&m, 3 * US, 0x20, 40);
    add_simple(&m, 4 * US, 0x20, -30); /* another size: 40 counts */
    add_simple(&m, 5 * US, 0x20, -40); /* a second free */
    add_memory(&m, (memory_event){.at_ns = 6 * US, .bytes = 7, .type = CUDA, .no_address = true});
    add_memory(&m, (memory_event){.at_ns = 7 * US, .type = CUDA, .no_address = true, .no_bytes = true});
    add_simple(&m, HD_NO_TIME, 0x30, 1);
    add_simple(&m, 8 * US, 0x40, 9);
    add_memory(&m, (memory_event){.at_ns = 9 * US, .address = 0x40, .type = CUDA, .no_bytes = true}); /* as captures */
    hd_trace *trace = finish(&m);
    hd_memory *memory = find(trace);
    assert_accounted(memory);
    assert_int_equal(memory->found, 10);
    assert_int_equal(memory->anomalies[HD_MEMORY_FREE_UNKNOWN], 2);
    assert_int_equal(memory->anomaly_bytes[HD_MEMORY_FREE_UNKNOWN], 45);
    assert_int_equal(memory->anomaly_first_ns[HD_MEMORY_FREE_UNKNOWN], 1 * US);
    assert_int_equal(memory->anomalies[HD_MEMORY_REPLACED], 1);
    assert_int_equal(memory->anomaly_bytes[HD_MEMORY_REPLACED], 100);
    assert_int_equal(memory->anomalies[HD_MEMORY_SIZE_DIFFERS], 1);
    assert_int_equal(memory->anomaly_bytes[HD_MEMORY_SIZE_DIFFERS], 10);
    assert_int_equal(memory->anomalies[HD_MEMORY_NO_ADDRESS], 1);
    assert_int_equal(memory->anomalies[HD_MEMORY_UNREADABLE], 1);
    assert_int_equal(memory->anomalies[HD_MEMORY_NO_TIME], 1);
    const hd_memory_pool *pool = &memory->pools[0];
    assert_int_equal(pool->allocated_bytes, 100 + 40 + 7 + 9);
    assert_int_equal(pool->freed_bytes, 40 + 9);
    assert_int_equal(pool->replaced_bytes, 100);
    assert_int_equal(pool->live_bytes, 7);
    assert_int_equal(pool->loose_bytes, 7);
    hd_memory_free(memory);
    hd_trace_free(trace);
}

static void test_memory__one_address_on_two_devices_is_two(void **state)
{
    (void)state;
    maker m = make();
    add_memory(&m, (memory_event){.at_ns = 1, .address = 7, .bytes = 10, .type = CUDA, .device = 0});
    add_memory(&m, (memory_event){.at_ns = 2, .address = 7, .bytes = 20, .type = CUDA, .device = 1});
    add_memory(&m, (memory_event){.at_ns = 3, .address = 7, .bytes = 30, .type = CPU, .device = -1});
    add_memory(&m, (memory_event){.at_ns = 4, .address = 7, .bytes = -20, .type = CUDA, .device = 1});
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    const hd_table *devices = hd_report_table(&report, "devices");
    assert_int_equal(hd_table_row_count(devices), 3);
    assert_text_at(devices, 0, "device", "cuda:0");
    assert_text_at(devices, 1, "device", "cuda:1");
    assert_text_at(devices, 2, "device", "cpu");
    assert_int_equal(count_at(devices, 0, "live"), 10);
    assert_int_equal(count_at(devices, 1, "live"), 0);
    assert_int_equal(count_at(devices, 2, "live"), 30);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "anomalies")), 0);
    hd_report_free(&report);
    hd_trace_free(trace);
}

static void test_memory__sizes_at_the_ends_of_int64_neither_wrap_nor_stop(void **state)
{
    (void)state;
    maker m = make();
    for (int i = 0; i < 5; i++) add_simple(&m, i, 100 + i, INT64_MAX);
    add_simple(&m, 10, 100, -INT64_MAX);
    add_simple(&m, 11, 101, INT64_MIN + 1);
    add_simple(&m, 12, -1, INT64_MIN); /* 2^63 bytes, freed at 2^64 - 1 */
    add_memory(&m, (memory_event){.at_ns = INT64_MAX,
                                  .address = 1,
                                  .bytes = 1,
                                  .type = INT64_MAX,
                                  .device = INT64_MAX,
                                  .totals = true,
                                  .allocated = INT64_MIN + 1,
                                  .reserved = INT64_MAX});
    add_memory(&m, (memory_event){.at_ns = INT64_MIN + 1,
                                  .address = 2,
                                  .bytes = 1,
                                  .type = INT64_MAX,
                                  .device = INT64_MAX,
                                  .totals = true,
                                  .allocated = INT64_MAX,
                                  .reserved = INT64_MIN + 1});
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 1, true);
    const hd_table *devices = hd_report_table(&report, "devices");
    size_t small = 0;
    while (count_at(devices, small, "allocations") != 5) small++;
    assert_int_equal(count_at(devices, small, "allocated"), UINT64_MAX); /* 5 * (2^63 - 1) is beyond 2^64 */
    assert_int_equal(count_at(devices, small, "peak"), INT64_MAX);
    assert_int_equal(count_at(devices, small, "freed"), UINT64_MAX - 1);
    assert_int_equal(count_at(hd_report_table(&report, "memory"), 0, "live_count"), 5);
    hd_report_free(&report);
    hd_trace_free(trace);
}

/* ---- a model of random events ---- */

enum { ADDRESSES = 12, EVENTS = 400 };

typedef struct model {
    int64_t size[2][ADDRESSES]; /* -1: free */
    int64_t live[2], peak[2], peak_ns[2], leaked[2];
    uint64_t unknown, replaced, differs;
} model;

static unsigned next_random(unsigned *seed)
{
    return *seed = *seed * 1103515245u + 12345u;
}

static void model_event(model *m, int device, int address, int64_t bytes, int64_t at_ns, bool *peaked)
{
    int64_t *size = &m->size[device][address];
    if (bytes >= 0) {
        if (*size >= 0) {
            m->replaced++;
            m->live[device] -= *size;
        }
        *size = bytes;
        m->live[device] += bytes;
    } else if (*size < 0) {
        m->unknown++;
    } else {
        m->differs += -bytes != *size;
        m->live[device] -= *size;
        *size = -1;
    }
    if (!*peaked || m->live[device] > m->peak[device]) {
        m->peak[device] = m->live[device];
        m->peak_ns[device] = at_ns;
    }
    *peaked = true;
}

static void assert_as_model(const hd_trace *trace, const model *expected)
{
    hd_memory *memory = find(trace);
    hd_report report = report_of(trace, 3, true);
    uint64_t peaks = 0, lives = 0;
    assert_accounted(memory);
    assert_int_equal(memory->anomalies[HD_MEMORY_FREE_UNKNOWN], expected->unknown);
    assert_int_equal(memory->anomalies[HD_MEMORY_REPLACED], expected->replaced);
    assert_int_equal(memory->anomalies[HD_MEMORY_SIZE_DIFFERS], expected->differs);
    for (size_t i = 0; i < memory->pool_count; i++) {
        const hd_memory_pool *pool = &memory->pools[i];
        assert_int_equal(pool->live_bytes, expected->live[pool->device]);
        assert_int_equal(pool->peak_bytes, expected->peak[pool->device]);
        assert_int_equal(pool->peak_ns, expected->peak_ns[pool->device]);
        peaks += (uint64_t)pool->peak_bytes;
        lives += (uint64_t)pool->live_bytes;
    }
    assert_int_equal(sum_of(hd_report_table(&report, "peak"), "bytes"), peaks);
    assert_int_equal(sum_of(hd_report_table(&report, "leaks"), "bytes"), lives);
    assert_int_equal(sum_of(hd_report_table(&report, "categories"), "live"), lives);
    const hd_table *series = hd_report_table(&report, "series");
    assert_int_equal(hd_table_row_count(series), memory->event_count);
    for (size_t i = 0; i < memory->pool_count; i++) {
        char name[HD_MEMORY_NAME_BYTES];
        uint64_t highest = 0, last = 0;
        hd_memory_pool_name(name, trace, &memory->pools[i]);
        for (size_t row = 0; row < hd_table_row_count(series); row++) {
            size_t size;
            const char *device = hd_table_get_string(&size, series, row, column_named(series, "device"));
            if (size != strlen(name) || memcmp(device, name, size) != 0) continue;
            last = count_at(series, row, "live");
            if (last > highest) highest = last;
        }
        assert_int_equal(highest, memory->pools[i].peak_bytes);
        assert_int_equal(last, memory->pools[i].live_bytes);
    }
    hd_report_free(&report);
    hd_memory_free(memory);
}

static void test_memory__random_events_are_as_a_plain_model_says(void **state)
{
    (void)state;
    static const char *const categories[] = {NULL, "weights", "cache"};
    uint64_t seen[3] = {0};
    for (unsigned round = 0; round < 60; round++) {
        unsigned seed = round * 7919 + 1;
        bool peaked[2] = {false, false};
        model expected = {0};
        memory_event list[EVENTS];
        memset(expected.size, 0xff, sizeof expected.size);
        for (int i = 0; i < EVENTS; i++) {
            int device = next_random(&seed) >> 16 & 1, address = (int)(next_random(&seed) >> 16) % ADDRESSES;
            int64_t size = expected.size[device][address], bytes = (int64_t)(next_random(&seed) >> 20);
            bool odd = (next_random(&seed) >> 16) % 10 == 0;
            if ((size >= 0) != odd) bytes = size > 0 && !odd && bytes % 8 ? -size : -bytes - 1;
            list[i] = (memory_event){.at_ns = i / 2 * US, /* pairs of one time keep their order */
                                     .address = 0x7f0000000000 + address * 512,
                                     .bytes = bytes,
                                     .type = CUDA,
                                     .device = device,
                                     .category = categories[(next_random(&seed) >> 16) % 3]};
            model_event(&expected, device, address, bytes, list[i].at_ns, &peaked[device]);
        }
        maker m = make();
        /* In the file the second half comes first. */
        for (int i = EVENTS / 2; i < EVENTS; i++) add_memory(&m, list[i]);
        for (int i = 0; i < EVENTS / 2; i++) add_memory(&m, list[i]);
        hd_trace *trace = finish(&m);
        assert_as_model(trace, &expected);
        hd_trace_free(trace);
        seen[0] += expected.unknown;
        seen[1] += expected.replaced;
        seen[2] += expected.differs;
    }
    for (int i = 0; i < 3; i++) assert_true(seen[i] > 60); /* the events are odd enough */
}

/* ---- stacks, categories ---- */

static void test_memory__the_slices_around_an_event_are_its_stack(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "step", 1, 0, 1000 * US);
    add_slice(&m, "aten::zeros", 1, 100 * US, 200 * US);
    add_slice(&m, "aten::empty", 1, 110 * US, 150 * US);
    add_slice(&m, "other", 2, 0, 1000 * US);
    add_simple(&m, 120 * US, 1, 64);
    add_simple(&m, 130 * US, 2, 64);
    add_simple(&m, 180 * US, 3, 10);
    add_simple(&m, 500 * US, 4, 1);
    add_simple(&m, 2000 * US, 5, 2); /* behind all slices */
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    const hd_table *leaks = hd_report_table(&report, "leaks"), *peak = hd_report_table(&report, "peak");
    assert_int_equal(hd_table_row_count(leaks), 4);
    assert_text_at(leaks, 0, "stack", "step;aten::zeros;aten::empty");
    assert_text_at(leaks, 0, "where", "aten::empty < … < step");
    assert_int_equal(count_at(leaks, 0, "bytes"), 128);
    assert_int_equal(count_at(leaks, 0, "count"), 2);
    assert_int_equal(int_at(leaks, 0, "first_time"), 120 * US);
    assert_int_equal(int_at(leaks, 0, "last_time"), 130 * US);
    assert_text_at(leaks, 1, "stack", "step;aten::zeros");
    assert_text_at(leaks, 2, "where", "[no stack]");
    assert_true(null_at(leaks, 2, "stack"));
    assert_text_at(leaks, 3, "stack", "step");
    assert_int_equal(count_at(peak, 0, "size"), 64);
    assert_int_equal(count_at(peak, 0, "count"), 2);
    hd_report_free(&report);
    hd_trace_free(trace);
}

static void test_memory__a_stack_of_its_own_goes_before_slices(void **state)
{
    (void)state;
    static const char frames[] = "{\"1\": {\"name\": \"main\"}, \"2\": {\"name\": \"malloc_it\", \"parent\": \"1\"}}";
    maker m = make();
    hd_builder_metadata(m.builder, hd_builder_intern_text(m.builder, "stackFrames"),
                        hd_builder_intern_text(m.builder, frames), false);
    add_slice(&m, "around", 1, 0, 1000);
    add_memory(&m, (memory_event){.at_ns = 5, .address = 1, .bytes = 100, .type = CUDA, .sf = 2});
    add_memory(&m, (memory_event){.at_ns = 6, .address = 2, .bytes = 10, .type = CUDA});
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    const hd_table *leaks = hd_report_table(&report, "leaks");
    assert_text_at(leaks, 0, "stack", "main;malloc_it");
    assert_text_at(leaks, 1, "stack", "around");
    hd_report_free(&report);
    hd_trace_free(trace);
}

static void test_memory__a_free_counts_for_the_category_of_its_allocation(void **state)
{
    (void)state;
    maker m = make();
    add_memory(&m, (memory_event){.at_ns = 1, .address = 1, .bytes = 100, .type = CUDA, .category = "weights"});
    add_memory(&m, (memory_event){.at_ns = 2, .address = 2, .bytes = 30, .type = CUDA, .category = "cache"});
    add_memory(&m, (memory_event){.at_ns = 3, .address = 1, .bytes = -100, .type = CUDA}); /* does not say of what */
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    const hd_table *categories = hd_report_table(&report, "categories");
    assert_int_equal(hd_table_row_count(categories), 2);
    assert_text_at(categories, 0, "category", "weights");
    assert_int_equal(count_at(categories, 0, "peak"), 100);
    assert_int_equal(count_at(categories, 0, "live"), 0);
    assert_int_equal(count_at(categories, 0, "frees"), 1);
    assert_text_at(categories, 1, "category", "cache");
    assert_int_equal(count_at(categories, 1, "live"), 30);
    hd_report_free(&report);
    hd_trace_free(trace);
}

/* ---- totals ---- */

static void add_total(maker *m, int64_t at_ns, int64_t address, int64_t bytes, int64_t allocated, int64_t reserved)
{
    add_memory(m, (memory_event){.at_ns = at_ns,
                                 .address = address,
                                 .bytes = bytes,
                                 .type = CUDA,
                                 .totals = true,
                                 .allocated = allocated,
                                 .reserved = reserved});
}

static void test_memory__the_peak_is_that_of_the_allocators_totals(void **state)
{
    (void)state;
    maker m = make();
    add_total(&m, 0, 1, 100, 1100, 2000);   /* 1000 were there before; idle 900 */
    add_total(&m, 10, 2, 50, 1150, 2000);   /* the peak; idle 850 */
    add_total(&m, 30, 99, -400, 750, 2000); /* of before; idle 1250 */
    add_total(&m, 40, 3, 200, 950, 3000);   /* more live of the trace, less in all; idle 2050 */
    add_total(&m, 100, 3, -200, 750, 3000);
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    const hd_table *devices = hd_report_table(&report, "devices"), *peak = hd_report_table(&report, "peak");
    const hd_table *reserved = hd_report_table(&report, "reserved");
    assert_int_equal(count_at(devices, 0, "peak"), 1150);
    assert_int_equal(int_at(devices, 0, "peak_time"), 10);
    assert_int_equal(count_at(devices, 0, "peak_live"), 150);
    assert_int_equal(count_at(devices, 0, "final"), 750);
    assert_int_equal(sum_of(peak, "bytes"), 1150);
    assert_text_at(peak, 0, "where", "[allocated before the recording, or not recorded]");
    assert_int_equal(count_at(peak, 0, "bytes"), 1000);
    assert_int_equal(count_at(reserved, 0, "reserved_peak"), 3000);
    assert_int_equal(count_at(reserved, 0, "idle_at_peak"), 850);
    assert_int_equal(count_at(reserved, 0, "idle_max"), 2250);
    assert_int_equal(int_at(reserved, 0, "idle_max_time"), 100);
    /* (900 * 10 + 850 * 20 + 1250 * 10 + 2050 * 60) / 100 */
    assert_int_equal(count_at(reserved, 0, "idle_mean"), 1615);
    hd_report_free(&report);
    hd_trace_free(trace);
}

static void test_memory__less_reserved_than_allocated_is_named_and_as_much_is_not(void **state)
{
    (void)state;
    maker m = make();
    add_total(&m, 0, 1, 100, 100, 101);
    add_total(&m, 10, 2, 1, 101, 101);
    add_total(&m, 20, 3, 3, 104, 101);
    hd_trace *trace = finish(&m);
    hd_memory *memory = find(trace);
    assert_int_equal(memory->anomalies[HD_MEMORY_RESERVED_BELOW], 1);
    assert_int_equal(memory->anomaly_bytes[HD_MEMORY_RESERVED_BELOW], 3);
    assert_int_equal(memory->anomaly_first_ns[HD_MEMORY_RESERVED_BELOW], 20);
    hd_memory_free(memory);
    hd_trace_free(trace);
}

static void test_memory__counters_are_added_and_nothing_else_changes(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "step", 1, 0, 1000);
    add_memory(&m, (memory_event){.at_ns = 5, .address = 1, .bytes = 100, .type = CUDA, .category = "weights"});
    add_memory(&m, (memory_event){.at_ns = 6, .address = 1, .bytes = 30, .type = CUDA, .category = "cache"});
    add_total(&m, 7, 2, 10, 500, 900);
    hd_trace *trace = finish(&m), *counted;
    hd_memory *memory = find(trace);
    assert_int_equal(hd_memory_annotate(&counted, memory, trace, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(counted, HD_KIND_SLICE), 1);
    assert_int_equal(hd_trace_row_count(counted, HD_KIND_INSTANT), 3);
    /* the device thrice; weights, cache, and weights again, which the second takes the place of */
    static const struct {
        const char *name;
        int64_t at_ns, live;
    } expected[] = {{"memory cuda:0", 5, 100},       {"memory cuda:0, weights", 5, 100}, {"memory cuda:0", 6, 30},
                    {"memory cuda:0, cache", 6, 30}, {"memory cuda:0, weights", 6, 0},   {"memory cuda:0", 7, 40}};
    assert_int_equal(hd_trace_row_count(counted, HD_KIND_COUNTER), 6);
    const hd_block *block = hd_trace_block_at(counted, HD_KIND_COUNTER, 0);
    for (uint32_t i = 0; i < 6; i++) {
        hd_event event;
        int64_t live = -1;
        hd_block_event(&event, block, i);
        hd_string name = hd_trace_string(counted, event.name);
        assert_int_equal(name.size, strlen(expected[i].name));
        assert_memory_equal(name.data, expected[i].name, name.size);
        assert_int_equal(event.start_ns, expected[i].at_ns);
        assert_true(hd_event_arg_int(&live, counted, &event, hd_trace_find_string(counted, "live", 4)));
        assert_int_equal(live, expected[i].live);
        assert_int_equal(hd_trace_track_at(counted, event.track)->kind, HD_TRACK_PROCESS);
    }
    hd_memory *again = find(counted); /* counters are not events of memory */
    assert_int_equal(again->found, 3);
    hd_memory_free(again);
    hd_trace_free(counted);
    hd_memory_free(memory);
    hd_trace_free(trace);
}

static void test_memory__totals_of_zero_say_nothing(void **state)
{
    (void)state;
    maker m = make();
    add_total(&m, 0, 1, 100, 0, 0);
    add_total(&m, 1, 1, -100, 0, 0);
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 0, false);
    assert_int_equal(count_at(hd_report_table(&report, "devices"), 0, "peak"), 100);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "reserved")), 0);
    hd_report_free(&report);
    hd_trace_free(trace);
}

static void test_memory__rows_beyond_those_asked_for_are_summed_up(void **state)
{
    (void)state;
    maker m = make();
    for (int i = 0; i < 10; i++) {
        char name[8] = {'f', (char)('0' + i)};
        add_slice(&m, name, 1, i * 1000, i * 1000 + 500);
        add_simple(&m, i * 1000 + 10, i, 10 - i);
    }
    hd_trace *trace = finish(&m);
    hd_report report = report_of(trace, 3, false);
    const hd_table *leaks = hd_report_table(&report, "leaks"), *peak = hd_report_table(&report, "peak");
    assert_int_equal(hd_table_row_count(leaks), 4);
    assert_text_at(leaks, 0, "stack", "f0");
    assert_text_at(leaks, 3, "where", "[7 more]");
    assert_int_equal(count_at(leaks, 3, "bytes"), 7 * 8 / 2);
    assert_int_equal(count_at(leaks, 3, "count"), 7);
    assert_int_equal(hd_table_row_count(peak), 4);
    assert_int_equal(sum_of(peak, "bytes"), 55);
    hd_report_free(&report);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory__events_pair_in_the_order_of_time_not_of_the_file),
        cmocka_unit_test(test_memory__what_does_not_fit_is_counted_and_named),
        cmocka_unit_test(test_memory__one_address_on_two_devices_is_two),
        cmocka_unit_test(test_memory__sizes_at_the_ends_of_int64_neither_wrap_nor_stop),
        cmocka_unit_test(test_memory__random_events_are_as_a_plain_model_says),
        cmocka_unit_test(test_memory__the_slices_around_an_event_are_its_stack),
        cmocka_unit_test(test_memory__a_stack_of_its_own_goes_before_slices),
        cmocka_unit_test(test_memory__a_free_counts_for_the_category_of_its_allocation),
        cmocka_unit_test(test_memory__the_peak_is_that_of_the_allocators_totals),
        cmocka_unit_test(test_memory__less_reserved_than_allocated_is_named_and_as_much_is_not),
        cmocka_unit_test(test_memory__counters_are_added_and_nothing_else_changes),
        cmocka_unit_test(test_memory__totals_of_zero_say_nothing),
        cmocka_unit_test(test_memory__rows_beyond_those_asked_for_are_summed_up),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
