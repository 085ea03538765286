/* test_synth.c - synthetic traces: the same every time, clean unless asked otherwise, and with the faults they claim */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "heddle/synth.h"
#include "rounds.h"

/* ---- helpers ---- */

static hd_trace *make(const hd_synth_options *options, hd_synth_truth *truth)
{
    hd_trace *trace = NULL;
    hd_error err = {0};
    hd_status status = hd_synth_trace(&trace, truth, options, &err);
    if (status != HD_OK) print_message("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    return trace;
}

typedef struct walk {
    const hd_trace *trace;
    hd_kind kind;
    uint64_t row;
} walk;

static bool next_event(hd_event *out, walk *w)
{
    if (w->row >= hd_trace_row_count(w->trace, w->kind)) return false;
    uint32_t row;
    const hd_block *block = hd_trace_block_of(&row, w->trace, w->kind, w->row++);
    hd_block_event(out, block, row);
    return true;
}

static bool is_text(const hd_trace *trace, uint32_t id, const char *text)
{
    hd_string s = hd_trace_string(trace, id);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static bool is_work(const hd_trace *trace, uint32_t category)
{
    return is_text(trace, category, "kernel") || is_text(trace, category, "gpu_memcpy") ||
           is_text(trace, category, "gpu_memset");
}

static bool is_launch(const hd_trace *trace, uint32_t name)
{
    return is_text(trace, name, "cudaLaunchKernel") || is_text(trace, name, "cudaLaunchKernelExC") ||
           is_text(trace, name, "cudaMemcpyAsync") || is_text(trace, name, "cudaMemsetAsync");
}

typedef struct span {
    uint32_t track;
    int64_t start_ns, end_ns;
} span;

static int by_track(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

typedef struct crossings {
    uint64_t pairs, small;
} crossings;

/* Pairs that cross, each slice against all that are open when it starts. */
static crossings count_crossings(const hd_trace *trace)
{
    span *spans = malloc((hd_trace_row_count(trace, HD_KIND_SLICE) + 1) * sizeof *spans),
         *open = malloc(4096 * sizeof *open);
    size_t count = 0, depth = 0;
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);)
        if (e.duration_ns >= 0) spans[count++] = (span){e.track, e.start_ns, e.start_ns + e.duration_ns};
    qsort(spans, count, sizeof *spans, by_track);
    crossings found = {0};
    for (size_t i = 0; i < count; i++) {
        size_t kept = 0;
        for (size_t j = 0; j < depth; j++)
            if (open[j].track == spans[i].track && open[j].end_ns > spans[i].start_ns) open[kept++] = open[j];
        depth = kept;
        for (size_t j = 0; j < depth; j++) {
            int64_t past = spans[i].end_ns - open[j].end_ns, before = open[j].end_ns - spans[i].start_ns;
            if (past <= 0 || open[j].start_ns == spans[i].start_ns) continue;
            found.pairs++;
            found.small += past < 5000 || before < 5000;
        }
        assert_true(depth < 4096);
        open[depth++] = spans[i];
    }
    free(spans);
    free(open);
    return found;
}

/* Start of the launch and of the work by correlation; 0 where there is none. */
typedef struct partners {
    int64_t *launch, *launch_end, *work;
    size_t count;
} partners;

static partners find_partners(const hd_trace *trace)
{
    size_t count = 16 * (size_t)hd_trace_event_count(trace) + 16;
    partners p = {calloc(count, 8), calloc(count, 8), calloc(count, 8), count};
    uint32_t key = hd_trace_find_string(trace, "correlation", 11);
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        int64_t correlation;
        bool work = is_work(trace, e.category);
        if (!work && !is_launch(trace, e.name)) continue;
        assert_true(hd_event_arg_int(&correlation, trace, &e, key));
        assert_in_range(correlation, 1, count - 1);
        assert_int_equal(work ? p.work[correlation] : p.launch[correlation], 0);
        *(work ? &p.work[correlation] : &p.launch[correlation]) = e.start_ns;
        if (!work) p.launch_end[correlation] = e.start_ns + e.duration_ns;
    }
    return p;
}

static void free_partners(partners *p)
{
    free(p->launch);
    free(p->launch_end);
    free(p->work);
}

typedef struct flow_count {
    uint64_t pairs, starts, ends;
} flow_count;

static flow_count count_flows(const hd_trace *trace)
{
    size_t count = 16 * (size_t)hd_trace_event_count(trace) + 16;
    uint8_t *seen[2] = {calloc(count, 1), calloc(count, 1)};
    hd_event e;
    flow_count found = {0};
    for (walk w = {trace, HD_KIND_FLOW, 0}; next_event(&e, &w);) {
        uint8_t *flow = &seen[is_text(trace, e.category, "ac2g")][e.id];
        uint8_t bit = e.phase == 's' ? 1 : 2;
        assert_in_range(e.id, 0, count - 1);
        assert_int_equal(*flow & bit, 0);
        assert_true(e.phase == 's' || e.flags & HD_FLAG_BIND_ENCLOSING);
        *flow |= bit;
    }
    for (size_t i = 0; i < count; i++) {
        for (int side = 0; side < 2; side++) {
            found.pairs += seen[side][i] == 3;
            found.starts += seen[side][i] == 1;
            found.ends += seen[side][i] == 2;
        }
    }
    free(seen[0]);
    free(seen[1]);
    return found;
}

static void assert_same_event(const hd_trace *a, const hd_trace *b, hd_event x, hd_event y)
{
    assert_int_equal(x.args_row, y.args_row);
    const hd_shape *shape = hd_trace_shape_at(a, x.shape);
    (void)b;
    for (uint32_t i = 0; x.args && i < shape->key_count; i++)
        assert_int_equal(hd_column_at(&x.args->columns[i], x.args_row), hd_column_at(&y.args->columns[i], y.args_row));
    x.args = y.args = NULL;
    assert_true(x.start_ns == y.start_ns && x.duration_ns == y.duration_ns && x.track == y.track && x.name == y.name &&
                x.category == y.category && x.phase == y.phase && x.flags == y.flags && x.id == y.id &&
                x.id_type == y.id_type && x.partner == y.partner && x.shape == y.shape);
}

static bool same_traces(const hd_trace *a, const hd_trace *b)
{
    if (hd_trace_event_count(a) != hd_trace_event_count(b)) return false;
    assert_int_equal(hd_trace_string_count(a), hd_trace_string_count(b));
    for (uint32_t i = 0; i < hd_trace_string_count(a); i++) {
        hd_string x = hd_trace_string(a, i), y = hd_trace_string(b, i);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.data, y.data, x.size);
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        walk v = {a, (hd_kind)kind, 0}, w = {b, (hd_kind)kind, 0};
        hd_event x, y;
        while (next_event(&x, &v) && next_event(&y, &w)) assert_same_event(a, b, x, y);
    }
    return true;
}

/* ---- a clean trace ---- */

static void test_synth__same_options_give_the_same_trace(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 2;
    options.crossings = 12;
    options.orphans = 6;
    hd_trace *a = make(&options, NULL), *b = make(&options, NULL);
    assert_true(same_traces(a, b));
    assert_int_equal(hd_trace_facts_of(a)->start_ns, hd_trace_facts_of(b)->start_ns);
    hd_trace_free(b);
    options.seed++;
    b = make(&options, NULL);
    assert_int_not_equal(hd_trace_facts_of(a)->end_ns, hd_trace_facts_of(b)->end_ns);
    hd_trace_free(a);
    hd_trace_free(b);
}

static void assert_clean(const hd_synth_options *options)
{
    hd_synth_truth truth;
    hd_trace *trace = make(options, &truth);
    assert_int_equal(truth.events, hd_trace_event_count(trace));
    assert_int_equal(count_crossings(trace).pairs, 0);
    flow_count flows = count_flows(trace);
    assert_int_equal(flows.pairs, truth.flows);
    assert_int_equal(flows.starts + flows.ends, 0);
    partners p = find_partners(trace);
    uint64_t launches = 0;
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.launch[i] != 0, p.work[i] != 0);
        assert_true(p.work[i] >= p.launch_end[i]);
        launches += p.launch[i] != 0;
    }
    assert_int_equal(launches, truth.launches);
    assert_int_equal(launches, truth.kernels + truth.copies);
    free_partners(&p);
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        assert_true(e.duration_ns >= 0);
        if (e.phase == 'B') assert_true(e.partner >= 0);
    }
    for (walk w = {trace, HD_KIND_END, 0}; next_event(&e, &w);) assert_true(e.partner >= 0);
    hd_trace_free(trace);
}

static void test_synth__a_trace_is_clean_unless_faults_are_asked_for(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    assert_clean(&options);
    for (uint64_t first = hd_test_seed(2), seed = first; seed < first + 10; seed++) {
        options.seed = seed;
        options.streams = (uint32_t)seed % 4 + 1;
        options.layers = (uint32_t)seed % 5;
        options.jitter_percent = (uint32_t)(seed - first + 2) * 9;
        options.python = seed % 2;
        options.flows = seed % 3;
        options.memory = seed % 4;
        options.counters = seed % 5;
        assert_clean(&options);
    }
}

static void test_synth__eight_ranks_in_one_trace_are_clean_too(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 8;
    options.jitter_percent = 60;
    options.streams = 3;
    assert_clean(&options);
}

static void test_synth__events_of_a_track_come_in_the_order_of_time(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 3;
    options.crossings = 40;
    hd_trace *trace = make(&options, NULL);
    int64_t *last = calloc(hd_trace_track_count(trace), sizeof *last);
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        assert_true(e.start_ns >= last[e.track]);
        last[e.track] = e.start_ns;
    }
    free(last);
    hd_trace_free(trace);
}

static void test_synth__parts_can_be_left_out(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.python = options.flows = options.counters = options.memory = false;
    hd_trace *trace = make(&options, NULL);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_FLOW), 0);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 0);
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);)
        assert_false(is_text(trace, e.category, "python_function"));
    for (walk w = {trace, HD_KIND_INSTANT, 0}; next_event(&e, &w);) assert_false(is_text(trace, e.name, "[memory]"));
    hd_trace_free(trace);
}

/* ---- ranks ---- */

static size_t collective_ends(int64_t *out, size_t room, const hd_trace *trace)
{
    size_t count = 0;
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        hd_string name = hd_trace_string(trace, e.name);
        if (name.size < 13 || memcmp(name.data, "ncclDevKernel", 13) != 0) continue;
        assert_true(count < room);
        out[count++] = e.start_ns + e.duration_ns;
    }
    return count;
}

static void test_synth__a_collective_ends_at_one_true_time_on_all_ranks(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 8;
    options.steps = 6;
    options.jitter_percent = 30;
    options.crossings = 20;
    int64_t first[256], ends[256];
    size_t count = 0;
    for (options.rank = 0; options.rank < 8; options.rank++) {
        hd_synth_truth truth;
        hd_trace *trace = make(&options, &truth);
        size_t found = collective_ends(options.rank ? ends : first, 256, trace);
        if (options.rank == 0) {
            count = found;
            assert_int_equal(truth.clock_offset_ns, 0);
        }
        assert_int_equal(found, count);
        assert_int_equal(found, truth.collectives);
        assert_int_equal(hd_trace_facts_of(trace)->rank, options.rank);
        assert_int_equal(hd_trace_facts_of(trace)->world_size, 8);
        int64_t span_ns = truth.end_ns - truth.start_ns,
                drift_ns = llabs(truth.clock_drift_ppb) * span_ns / 1000000000 + 2;
        for (size_t i = 0; options.rank && i < count; i++)
            assert_true(llabs(ends[i] - first[i] - truth.clock_offset_ns) <= drift_ns);
        hd_trace_free(trace);
    }
    assert_int_equal(count, 6 * (4 + 1 + 1));
}

/* Time in collectives and in other kernels of a rank. */
typedef struct rank_sums {
    int64_t collectives_ns, kernels_ns;
} rank_sums;

static rank_sums sums_of(const hd_trace *trace)
{
    rank_sums sums = {0};
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        if (!is_text(trace, e.category, "kernel")) continue;
        hd_string name = hd_trace_string(trace, e.name);
        bool is_collective = name.size >= 13 && memcmp(name.data, "ncclDevKernel", 13) == 0;
        *(is_collective ? &sums.collectives_ns : &sums.kernels_ns) += e.duration_ns;
    }
    return sums;
}

static void test_synth__all_wait_for_the_rank_that_is_late(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 6;
    options.host_ranks = 2;
    options.job_faults[HD_SYNTH_SLOW_GPU] = (hd_synth_job_fault){1, 40};
    options.job_faults[HD_SYNTH_LATE_LOADER] = (hd_synth_job_fault){4, 20000000};
    options.job_faults[HD_SYNTH_SHIFTED_CLOCK] = (hd_synth_job_fault){2, 5000000};
    rank_sums sums[6];
    int64_t ends[6][256], offsets[6];
    size_t count = 0;
    for (options.rank = 0; options.rank < 6; options.rank++) {
        hd_synth_truth truth;
        hd_trace *trace = make(&options, &truth);
        sums[options.rank] = sums_of(trace);
        offsets[options.rank] = truth.clock_offset_ns;
        hd_string host = hd_trace_metadata_find(trace, "hostname");
        assert_int_equal(host.size, 7);
        assert_memory_equal(host.data, ((const char *[]){"\"node0\"", "\"node1\"", "\"node2\""})[options.rank / 2], 7);
        count = collective_ends(ends[options.rank], 256, trace);
        hd_trace_free(trace);
    }
    for (int i = 0; i < 6; i++) {
        assert_true(i == 1 ? sums[i].kernels_ns > sums[0].kernels_ns * 13 / 10
                           : sums[i].kernels_ns < sums[0].kernels_ns * 11 / 10);
        if (i != 4) assert_true(sums[i].collectives_ns > sums[4].collectives_ns + 4 * 15000000);
        if (i != 1 && i != 4) assert_true(sums[i].collectives_ns > sums[1].collectives_ns);
        assert_int_equal(offsets[i], offsets[i & ~1]); /* a host has one clock */
        for (size_t k = 0; k < count; k++) assert_true(llabs(ends[i][k] - ends[0][k] - offsets[i]) < 10000);
    }
    assert_true(offsets[4] > 5000000 - 600001 && offsets[4] < 5000000 + 600001);
}

static void test_synth__each_rank_has_its_own_processes(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.ranks = 8;
    hd_synth_truth truth;
    hd_trace *trace = make(&options, &truth);
    unsigned seen[8] = {0};
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->kind == HD_TRACK_STREAM) {
            assert_in_range(track->rank, 0, 7);
            seen[track->rank]++;
            assert_true(track->name != HD_STRING_NONE);
        }
    }
    for (int i = 0; i < 8; i++) assert_int_equal(seen[i], 3);
    assert_int_equal(truth.ranks, 8);
    hd_trace_free(trace);
}

/* ---- size ---- */

static void test_synth__the_number_of_events_is_met_within_a_tenth(void **state)
{
    (void)state;
    static const uint64_t targets[] = {2000, 3000, 5000, 10000, 33333, 100000, 300000};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        for (uint32_t ranks = 1; ranks <= 2; ranks++) {
            hd_synth_options options = hd_synth_options_default();
            options.events = targets[i];
            options.layers = 4 + 8 * (ranks - 1);
            options.ranks = ranks;
            options.rank = (int32_t)ranks - 1;
            options.crossings = (uint32_t)targets[i] / 100;
            hd_trace *trace = make(&options, NULL);
            uint64_t events = hd_trace_event_count(trace);
            assert_in_range(events, targets[i] - targets[i] / 10, targets[i] + targets[i] / 10);
            hd_trace_free(trace);
        }
    }
}

static void test_synth__no_steps_leave_the_metadata(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    hd_synth_truth truth;
    options.steps = 0;
    hd_trace *trace = make(&options, &truth);
    assert_int_equal(truth.steps, 0);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1);
    assert_true(hd_trace_row_count(trace, HD_KIND_META) > 0);
    assert_true(hd_trace_metadata_find(trace, "baseTimeNanoseconds").size > 0);
    hd_trace_free(trace);
    options.events = 1;
    trace = make(&options, &truth);
    assert_in_range(truth.events, 1, 40);
    hd_trace_free(trace);
}

static void assert_refused(hd_synth_options options, hd_status expected)
{
    hd_trace *trace = NULL;
    hd_error err = {0};
    assert_int_equal(hd_synth_trace(&trace, NULL, &options, &err), expected);
    assert_null(trace);
    assert_int_equal(err.status, expected);
    assert_true(err.message[0]);
}

static void test_synth__absurd_options_are_refused(void **state)
{
    (void)state;
    const hd_synth_options fine = hd_synth_options_default();
    hd_synth_options o = fine;
    o.events = UINT64_MAX;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.steps = UINT32_MAX;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.steps = 100000000;
    assert_refused(o, HD_ERR_LIMIT);
    o = fine, o.layers = UINT32_MAX;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.streams = 0;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.job_faults[HD_SYNTH_SLOW_GPU] = (hd_synth_job_fault){1, 5};
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.job_faults[HD_SYNTH_SLOW_HOST] = (hd_synth_job_fault){0, 10001};
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.ranks = 0;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.rank = 1;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.rank = -2;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.jitter_percent = 101;
    assert_refused(o, HD_ERR_ARGUMENT);
    o = fine, o.crossings = UINT32_MAX;
    assert_refused(o, HD_ERR_LIMIT);
    o = fine, o.steps = 0, o.negatives = 1;
    assert_refused(o, HD_ERR_LIMIT);
}

/* ---- faults ---- */

static void assert_crossings(hd_synth_options options, uint32_t asked)
{
    hd_synth_truth truth;
    options.crossings = asked;
    hd_trace *trace = make(&options, &truth);
    uint64_t ranks = truth.ranks;
    assert_int_equal(truth.crossings_small, asked / 2 * ranks);
    assert_int_equal(truth.crossings_genuine, (asked - asked / 2) * ranks);
    assert_int_equal(truth.crossing_pairs, truth.crossings_small + truth.crossings_genuine + 2 * truth.crossings_multi);
    crossings found = count_crossings(trace);
    assert_int_equal(found.pairs, truth.crossing_pairs);
    assert_int_equal(found.small, truth.crossings_small);
    hd_trace_free(trace);
}

static void test_synth__crossings_are_as_many_as_asked_for(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 8, 50, 400, 1500};
    hd_synth_options options = hd_synth_options_default();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (options.seed = 1; options.seed < 4; options.seed++) assert_crossings(options, counts[i]);
    }
    options.ranks = 4;
    options.streams = 4;
    options.steps = 9;
    assert_crossings(options, 100);
    options.python = options.flows = options.memory = false;
    options.layers = 0;
    assert_crossings(options, 100);
}

static void test_synth__small_crossings_are_on_threads_and_on_streams(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    options.crossings = 40;
    hd_trace *trace = make(&options, NULL);
    int64_t *end = calloc(hd_trace_track_count(trace), sizeof *end);
    hd_event e;
    uint64_t on_streams = 0;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        if (!is_work(trace, e.category)) continue;
        on_streams += e.start_ns < end[e.track];
        end[e.track] = e.start_ns + e.duration_ns;
    }
    assert_int_equal(on_streams, 10);
    free(end);
    hd_trace_free(trace);
}

static void test_synth__late_kernels_negatives_and_orphans_are_as_many_as_asked_for(void **state)
{
    (void)state;
    hd_synth_options options = hd_synth_options_default();
    hd_synth_truth truth;
    options.late_kernels = 17;
    options.negatives = 5;
    options.orphans = 13;
    hd_trace *trace = make(&options, &truth);
    partners p = find_partners(trace);
    uint64_t late = 0, launches = 0, kernels = 0, negatives = 0, begins = 0, ends = 0;
    for (size_t i = 0; i < p.count; i++) {
        late += p.launch[i] && p.work[i] && p.work[i] < p.launch[i];
        launches += p.launch[i] && !p.work[i];
        kernels += !p.launch[i] && p.work[i];
    }
    free_partners(&p);
    hd_event e;
    for (walk w = {trace, HD_KIND_SLICE, 0}; next_event(&e, &w);) {
        negatives += e.duration_ns < 0 && e.duration_ns != HD_NO_TIME;
        begins += e.phase == 'B' && e.partner < 0;
    }
    for (walk w = {trace, HD_KIND_END, 0}; next_event(&e, &w);) ends += e.partner < 0;
    flow_count flows = count_flows(trace);
    assert_int_equal(late, 17);
    assert_int_equal(truth.late_kernels, 17);
    assert_int_equal(negatives, 5);
    assert_int_equal(truth.negatives, 5);
    assert_int_equal(launches, truth.orphan_launches);
    assert_int_equal(kernels, truth.orphan_kernels);
    assert_int_equal(flows.starts, truth.orphan_flow_starts);
    assert_int_equal(flows.ends, truth.orphan_flow_ends);
    assert_int_equal(begins, truth.orphan_begins);
    assert_int_equal(ends, truth.orphan_ends);
    assert_int_equal(launches + kernels + flows.starts + flows.ends + begins + ends, 13);
    assert_int_equal(launches, 3);
    assert_int_equal(ends, 2);
    assert_int_equal(count_crossings(trace).pairs, 0);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synth__same_options_give_the_same_trace),
        cmocka_unit_test(test_synth__a_trace_is_clean_unless_faults_are_asked_for),
        cmocka_unit_test(test_synth__eight_ranks_in_one_trace_are_clean_too),
        cmocka_unit_test(test_synth__events_of_a_track_come_in_the_order_of_time),
        cmocka_unit_test(test_synth__parts_can_be_left_out),
        cmocka_unit_test(test_synth__a_collective_ends_at_one_true_time_on_all_ranks),
        cmocka_unit_test(test_synth__all_wait_for_the_rank_that_is_late),
        cmocka_unit_test(test_synth__each_rank_has_its_own_processes),
        cmocka_unit_test(test_synth__the_number_of_events_is_met_within_a_tenth),
        cmocka_unit_test(test_synth__no_steps_leave_the_metadata),
        cmocka_unit_test(test_synth__absurd_options_are_refused),
        cmocka_unit_test(test_synth__crossings_are_as_many_as_asked_for),
        cmocka_unit_test(test_synth__small_crossings_are_on_threads_and_on_streams),
        cmocka_unit_test(test_synth__late_kernels_negatives_and_orphans_are_as_many_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
