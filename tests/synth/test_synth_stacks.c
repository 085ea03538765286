/* test_synth_stacks.c - the stacks beside a synthetic trace: each launch's own, and as badly recorded as was asked for
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"
#include "fixtures.h"
#include "heddle/analysis/launches.h"
#include "heddle/synth.h"

/* ---- helpers ---- */

typedef struct run {
    hd_trace *trace;
    hd_synth_stacks stacks;
    hd_synth_truth truth;
    hd_launches *launches;
} run;

static hd_synth_options small_run(void)
{
    hd_synth_options how = hd_synth_options_default();
    how.steps = 3;
    how.layers = 2;
    how.python = false;
    return how;
}

static run make(const hd_synth_options *how)
{
    run r = {0};
    hd_error err = {0};
    hd_status status = hd_synth_trace_with_stacks(&r.trace, &r.stacks, &r.truth, how, &err);
    if (status != HD_OK) print_message("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    assert_int_equal(hd_launches_new(&r.launches, r.trace, NULL), HD_OK);
    return r;
}

static void discard(run *r)
{
    hd_trace_free(r->trace);
    hd_synth_stacks_deinit(&r->stacks);
    hd_launches_free(r->launches);
}

static const hd_synth_sample *sample_of(const run *r, int64_t correlation)
{
    const hd_synth_sample *found = NULL;
    for (size_t i = 0; i < r->stacks.count; i++) {
        if (r->stacks.samples[i].correlation != correlation) continue;
        assert_null(found);
        found = &r->stacks.samples[i];
    }
    return found;
}

static hd_string frame_text(const run *r, uint32_t node)
{
    return hd_stacks_text(r->stacks.stacks, hd_stacks_at(r->stacks.stacks, node).name);
}

static bool is_text(hd_string s, const char *text)
{
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static bool has_frame(const run *r, uint32_t node, const char *text)
{
    for (; node != HD_STACK_NONE; node = hd_stacks_at(r->stacks.stacks, node).caller)
        if (is_text(frame_text(r, node), text)) return true;
    return false;
}

/* The last part of a kernel's qualified name must stand in its stub: "…28vectorized_layer_norm_kernelEv". */
static void assert_stub_names(hd_string stub, hd_string kernel)
{
    char name[512], text[512];
    snprintf(name, sizeof name, "%.*s", (int)kernel.size, kernel.data);
    snprintf(text, sizeof text, "%.*s", (int)stub.size, stub.data);
    char *anonymous = strstr(name, "(anonymous namespace)::"), *start = anonymous ? anonymous + 23 : name;
    start[strcspn(start, "<(")] = '\0';
    char *colon = strrchr(start, ':'), *space = strrchr(start, ' ');
    if (space) start = space + 1;
    if (colon && colon + 1 > start) start = colon + 1;
    if (!strstr(text, start)) print_message("%s is not a stub of %s\n", text, start);
    assert_non_null(strstr(text, start));
    assert_memory_equal(text, "__device_stub__Z", 16);
}

/* ---- what is recorded ---- */

static void test_stacks__each_kernel_has_the_stack_of_its_launch(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 2; ranks++) {
        hd_synth_options how = small_run();
        how.ranks = (uint32_t)ranks;
        how.orphans = 8;
        run r = make(&how);
        size_t kernels = 0;
        for (size_t i = 0; i < r.launches->work_count; i++) {
            const hd_work *work = &r.launches->works[i];
            if (work->role != HD_ROLE_KERNEL || work->launch == HD_NONE) continue;
            const hd_synth_sample *sample = sample_of(&r, work->id);
            assert_non_null(sample);
            hd_string leaf = frame_text(&r, sample->stack);
            assert_true(is_text(leaf, "cudaLaunchKernel") || is_text(leaf, "cudaLaunchKernelExC"));
            assert_stub_names(frame_text(&r, hd_stacks_at(r.stacks.stacks, sample->stack).caller),
                              hd_trace_string(r.trace, work->name));
            kernels++;
        }
        /* Launches whose kernel is missing were seen as well; kernels whose launch is missing were not. */
        assert_int_equal(kernels, r.truth.kernels - r.truth.orphan_kernels);
        assert_int_equal(r.stacks.count, kernels + r.truth.orphan_launches);
        assert_true(r.truth.orphan_launches > 0 && r.truth.orphan_kernels > 0);
        discard(&r);
    }
}

static void test_stacks__forward_stands_under_its_layer_and_backward_on_its_own_thread(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    run r = make(&how);
    size_t layers[2] = {0}, backward = 0;
    for (size_t i = 0; i < r.stacks.count; i++) {
        const hd_synth_sample *sample = &r.stacks.samples[i];
        bool autograd = sample->tid != sample->pid;
        layers[0] += has_frame(&r, sample->stack, "model::Block<0>::forward(at::Tensor)");
        layers[1] += has_frame(&r, sample->stack, "model::Block<1>::forward(at::Tensor)");
        backward += autograd;
        assert_int_equal(autograd, has_frame(&r, sample->stack, "torch::autograd::Engine::thread_main"));
        assert_int_equal(autograd, !has_frame(&r, sample->stack, "main"));
        assert_true(is_text(hd_stacks_text(r.stacks.stacks, sample->comm), autograd ? "pt_autograd_0" : "python3"));
    }
    assert_int_equal(layers[0], 3 * 14);
    assert_int_equal(layers[1], 3 * 14);
    assert_true(backward > 3 * 2 * 14);
    discard(&r);
}

static void test_stacks__frames_of_python_are_there_when_the_trace_has_them(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.python = true;
    run r = make(&how);
    size_t python = 0;
    for (size_t i = 0; i < r.stacks.count; i++)
        python += has_frame(&r, r.stacks.samples[i].stack, "py::train_step:train/loop.py");
    assert_true(python > 3 * 14);
    for (uint32_t node = 1; node < hd_stacks_count(r.stacks.stacks); node++) {
        hd_frame frame = hd_stacks_at(r.stacks.stacks, node);
        hd_string text = hd_stacks_text(r.stacks.stacks, frame.name);
        bool named = text.size > 4 && memcmp(text.data, "py::", 4) == 0;
        if (named) assert_int_equal(frame.kind, HD_FRAME_PYTHON);
    }
    discard(&r);
}

static void test_stacks__the_trace_is_the_same_with_and_without_them(void **state)
{
    (void)state;
    for (int cupti = 0; cupti < 2; cupti++) {
        hd_synth_options how = small_run();
        how.cupti = cupti;
        how.graphs = 3;
        how.late_kernels = 2;
        how.stack_jitter_us = 50;
        how.stack_paths = 40;
        how.stack_ids = true;
        run r = make(&how), again = make(&how);
        hd_trace *alone;
        assert_int_equal(hd_synth_trace(&alone, NULL, &how, NULL), HD_OK);
        char *a = dump_trace(r.trace, DUMP_ALL), *b = dump_trace(alone, DUMP_ALL);
        assert_string_equal(a, b);
        assert_int_equal(r.stacks.count, again.stacks.count);
        for (size_t i = 0; i < r.stacks.count; i++) {
            const hd_synth_sample *x = &r.stacks.samples[i], *y = &again.stacks.samples[i];
            assert_true(x->time_ns == y->time_ns && x->stack == y->stack && x->tid == y->tid && x->cpu == y->cpu);
        }
        free(a);
        free(b);
        hd_trace_free(alone);
        discard(&r);
        discard(&again);
    }
}

/* ---- time, loss, ids ---- */

static void test_stacks__a_sample_comes_just_before_its_launch(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.cupti = true;
    how.late_kernels = 3;
    run r = make(&how);
    for (size_t i = 0; i < r.launches->launch_count; i++) {
        const hd_launch *launch = &r.launches->launches[i];
        if (launch->sort != HD_LAUNCH_KERNEL) continue;
        const hd_synth_sample *sample = sample_of(&r, launch->id);
        assert_in_range(launch->start_ns - sample->time_ns, 1, 500);
        const hd_track *track = hd_trace_track_at(r.trace, launch->track);
        hd_string tid = hd_trace_string(r.trace, track->tid.text);
        char text[24];
        int size = snprintf(text, sizeof text, "%lld", (long long)sample->tid);
        assert_int_equal(tid.size, size);
        assert_memory_equal(tid.data, text, size);
    }
    discard(&r);
}

static void test_stacks__jitter_moves_each_by_so_much_and_keeps_the_order_of_a_thread(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    run exact = make(&how);
    how.stack_jitter_us = 100;
    how.stack_offset_ns = INT64_C(946728000) * 1000000000;
    run r = make(&how);
    assert_int_equal(exact.stacks.count, r.stacks.count);
    int64_t last[2] = {INT64_MIN, INT64_MIN}, last_id[2] = {0}, least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < r.stacks.count; i++) {
        const hd_synth_sample *sample = &r.stacks.samples[i];
        int which = sample->tid != sample->pid;
        assert_true(sample->time_ns > last[which]);
        assert_true(sample->correlation > last_id[which]);
        last[which] = sample->time_ns;
        last_id[which] = sample->correlation;
        int64_t moved = sample->time_ns - how.stack_offset_ns - sample_of(&exact, sample->correlation)->time_ns;
        if (moved < least) least = moved;
        if (moved > most) most = moved;
    }
    /* The random lag is drawn once for both: only jitter differs. */
    assert_true(least >= -100000 && least < -60000);
    assert_true(most <= 100000 && most > 60000);
    discard(&exact);
    discard(&r);
}

static void test_stacks__so_many_are_lost_of_each_rank(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.ranks = 2;
    how.stack_lost = 17;
    run r = make(&how);
    size_t lost[2] = {0};
    for (size_t i = 0; i < r.stacks.count; i++) lost[r.stacks.samples[i].pid != 41000] += r.stacks.samples[i].lost;
    assert_int_equal(lost[0], 17);
    assert_int_equal(lost[1], 17);
    assert_int_equal(r.stacks.lost, 34);
    hd_trace *samples;
    assert_int_equal(hd_synth_stacks_trace(&samples, &r.stacks, false, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(samples, HD_KIND_SAMPLE), r.stacks.count - 34);
    hd_trace_free(samples);
    discard(&r);
    how.stack_lost = 1000000;
    hd_trace *trace;
    hd_synth_stacks stacks = {0};
    assert_int_equal(hd_synth_trace_with_stacks(&trace, &stacks, NULL, &how, NULL), HD_ERR_LIMIT);
    assert_null(trace);
    hd_synth_stacks_deinit(&stacks);
}

static void test_stacks__other_ids_are_unknown_to_the_trace_and_always_the_same(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.ranks = 3;
    run known = make(&how);
    how.stack_ids = true;
    run r = make(&how);
    for (size_t i = 0; i < r.stacks.count; i++) {
        const hd_synth_sample *sample = &r.stacks.samples[i], *before = sample_of(&known, sample->correlation);
        assert_int_equal(sample->pid, before->pid);
        assert_int_equal(sample->tid - before->tid, r.stacks.samples[0].tid - r.stacks.samples[0].pid);
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)sample->tid);
        uint32_t id = hd_trace_find_string(r.trace, text, strlen(text));
        for (uint32_t t = 0; id != HD_NONE && t < hd_trace_track_count(r.trace); t++)
            assert_int_not_equal(hd_trace_track_at(r.trace, t)->tid.text, id);
    }
    discard(&known);
    discard(&r);
}

/* ---- shapes of the run ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t distinct_stacks(const run *r)
{
    uint32_t *nodes = malloc((r->stacks.count + 1) * sizeof *nodes);
    size_t distinct = 0;
    for (size_t i = 0; i < r->stacks.count; i++) nodes[i] = r->stacks.samples[i].stack;
    qsort(nodes, r->stacks.count, sizeof *nodes, by_number);
    for (size_t i = 0; i < r->stacks.count; i++) distinct += i == 0 || nodes[i] != nodes[i - 1];
    free(nodes);
    return distinct;
}

static void test_stacks__as_many_differ_as_there_are_paths(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.steps = 30;
    run r = make(&how);
    size_t plain = distinct_stacks(&r), count = r.stacks.count;
    assert_in_range(plain, 25, 120);
    discard(&r);
    how.stack_paths = 1000000;
    r = make(&how);
    assert_int_equal(r.stacks.count, count);
    assert_int_equal(distinct_stacks(&r), count);
    discard(&r);
}

static bool work_arg(int64_t *out, const run *r, const hd_work *work, const char *key)
{
    uint32_t row;
    hd_event event;
    const hd_block *block = hd_trace_block_of(&row, r->trace, HD_KIND_SLICE, work->row);
    hd_block_event(&event, block, row);
    return hd_event_arg_int(out, r->trace, &event, hd_trace_find_string(r->trace, key, strlen(key)));
}

static void test_stacks__a_graph_has_one_launch_and_its_kernels_know_who_made_them(void **state)
{
    (void)state;
    for (int cupti = 0; cupti < 2; cupti++) {
        hd_synth_options how = small_run();
        how.graphs = 5;
        how.cupti = cupti;
        run r = make(&how);
        size_t graphs = 0, nodes = 0;
        for (size_t i = 0; i < r.launches->launch_count; i++) {
            const hd_launch *launch = &r.launches->launches[i];
            if (launch->sort != HD_LAUNCH_GRAPH) continue;
            graphs++;
            assert_int_equal(launch->work_count, 5);
            assert_true(is_text(frame_text(&r, sample_of(&r, launch->id)->stack), "cudaGraphLaunch"));
            for (uint32_t w = 0; w < launch->work_count; w++) {
                const hd_work *work = &r.launches->works[r.launches->work_order[launch->first_work + w]];
                int64_t creator, node;
                assert_true(work_arg(&creator, &r, work, "graphNodeCreatorCorrelationId"));
                assert_true(work_arg(&node, &r, work, cupti ? "graphNodeId" : "graph node id"));
                assert_int_equal(node, w + 1);
                const hd_synth_sample *made = sample_of(&r, creator);
                assert_true(has_frame(&r, made->stack, "train::Trainer::capture()"));
                assert_stub_names(frame_text(&r, hd_stacks_at(r.stacks.stacks, made->stack).caller),
                                  hd_trace_string(r.trace, work->name));
                nodes++;
            }
        }
        assert_int_equal(graphs, 3 * 2);
        assert_int_equal(nodes, 3 * 2 * 5);
        discard(&r);
    }
}

static void test_cupti__the_trace_has_calls_of_the_runtime_and_work_only(void **state)
{
    (void)state;
    hd_synth_options how = hd_synth_options_default();
    how.cupti = true;
    how.events = 60000;
    run r = make(&how);
    assert_in_range(hd_trace_event_count(r.trace), 54000, 66000);
    assert_int_equal(hd_trace_event_count(r.trace), hd_trace_row_count(r.trace, HD_KIND_SLICE));
    assert_int_equal(hd_trace_event_count(r.trace), r.truth.events);
    for (uint64_t row = 0; row < hd_trace_row_count(r.trace, HD_KIND_SLICE); row++) {
        hd_event event;
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, r.trace, HD_KIND_SLICE, row);
        hd_block_event(&event, block, at);
        hd_role role = hd_role_of(hd_trace_string(r.trace, event.category), hd_trace_string(r.trace, event.name));
        assert_true(role == HD_ROLE_RUNTIME || hd_role_is_work(role));
    }
    /* A third each: launches, kernels, and the calls that ask for errors. */
    assert_in_range(r.truth.kernels * 100 / r.truth.events, 28, 34);
    assert_int_equal(r.launches->work_count, r.truth.kernels + r.truth.copies);
    for (size_t i = 0; i < r.launches->work_count; i++) assert_int_not_equal(r.launches->works[i].launch, HD_NONE);
    discard(&r);
}

static void test_cupti__lines_hold_each_event_once(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.cupti = true;
    how.graphs = 2;
    run r = make(&how);
    char path[] = "/tmp/heddle_lines_XXXXXX", *text, *line, *end;
    int fd = mkstemp(path);
    size_t size;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hd_synth_cupti_write(r.trace, path, NULL), HD_OK);
    text = file_text(path, &size);
    unlink(path);
    uint64_t lines = 0, kernels = 0, calls = 0, nodes = 0;
    int64_t work_ns = 0;
    for (line = text; *line; line = end + 1, lines++) {
        long long start, stop;
        char type[32];
        end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_int_equal(sscanf(line, "{\"type\":\"%31[A-Z_]\",\"start\":%lld,\"end\":%lld,", type, &start, &stop), 3);
        assert_int_equal(end[-1], '}');
        bool call = strcmp(type, "RUNTIME") == 0;
        calls += call;
        kernels += strcmp(type, "CONCURRENT_KERNEL") == 0;
        nodes += strstr(line, "graphNodeCreatorCorrelationId") != NULL;
        assert_non_null(strstr(line, "\"correlationId\":"));
        assert_int_equal(call, strstr(line, "\"threadId\":") != NULL);
        if (!call) work_ns += stop - start;
    }
    assert_int_equal(lines, r.truth.events);
    assert_int_equal(kernels, r.truth.kernels);
    assert_int_equal(calls, r.truth.events - r.truth.kernels - r.truth.copies);
    assert_int_equal(nodes, 3 * 2 * 2);
    assert_int_equal(work_ns, r.launches->work_ns);
    free(text);
    discard(&r);
    hd_trace *kineto;
    assert_int_equal(hd_synth_trace(&kineto, NULL, NULL, NULL), HD_OK);
    assert_int_equal(hd_synth_cupti_write(kineto, path, NULL), HD_ERR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    hd_trace_free(kineto);
}

/* ---- text and trace ---- */

static char *written(const hd_synth_stacks *stacks)
{
    char path[] = "/tmp/heddle_stacks_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hd_synth_stacks_write(stacks, path, NULL), HD_OK);
    size_t size;
    char *text = file_text(path, &size);
    unlink(path);
    assert_non_null(text);
    return text;
}

static void test_text__a_line_is_a_sample_though_its_comm_has_a_space(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.stack_comm = "train worker 7";
    how.stack_lost = 5;
    run r = make(&how);
    char *text = written(&r.stacks), *line = text, *end;
    for (size_t i = 0; i < r.stacks.count; i++) {
        const hd_synth_sample *sample = &r.stacks.samples[i];
        if (sample->lost) continue;
        end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        char head[160];
        int size = snprintf(head, sizeof head, "%lld train worker 7 %lld %lld %u ", (long long)sample->time_ns,
                            (long long)sample->pid, (long long)sample->tid, (unsigned)sample->cpu);
        assert_memory_equal(line, head, (size_t)size);
        line += size;
        if (sample->tid == sample->pid) {
            assert_memory_equal(line, "_start;__libc_start_main;", 25);
            line += 25;
        }
        hd_string leaf = frame_text(&r, sample->stack);
        assert_true(end - line > (ptrdiff_t)leaf.size);
        assert_memory_equal(end - leaf.size, leaf.data, leaf.size);
        uint32_t semicolons = 0;
        for (char *c = line; c < end; c++) semicolons += *c == ';';
        assert_int_equal(semicolons + 1, hd_stacks_at(r.stacks.stacks, sample->stack).depth);
        line = end + 1;
    }
    assert_int_equal(*line, '\0');
    free(text);
    discard(&r);
}

static void test_trace__samples_have_node_cpu_and_truth_and_an_id_on_request(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    run r = make(&how);
    for (int with_id = 0; with_id < 2; with_id++) {
        hd_trace *samples;
        hd_trace_stacks *stacks;
        assert_int_equal(hd_synth_stacks_trace(&samples, &r.stacks, with_id, NULL), HD_OK);
        assert_int_equal(hd_trace_stacks_new(&stacks, samples, NULL), HD_OK);
        const hd_stacks *tree = hd_trace_stacks_tree(stacks);
        assert_int_equal(hd_trace_event_count(samples), r.stacks.count);
        for (uint64_t row = 0; row < r.stacks.count; row++) {
            const hd_synth_sample *sample = &r.stacks.samples[row];
            hd_event event;
            uint32_t at;
            int64_t value;
            const hd_block *block = hd_trace_block_of(&at, samples, HD_KIND_SAMPLE, row);
            hd_block_event(&event, block, at);
            assert_int_equal(event.start_ns, sample->time_ns);
            assert_true(hd_event_arg_int(&value, samples, &event, hd_trace_find_string(samples, "truth", 5)));
            assert_int_equal(value, sample->correlation);
            assert_true(hd_event_arg_int(&value, samples, &event, hd_trace_find_string(samples, "cpu", 3)));
            assert_int_equal(value, sample->cpu);
            uint32_t key = hd_trace_find_string(samples, "correlation", 11);
            bool has_id = hd_event_arg_int(&value, samples, &event, key);
            assert_int_equal(has_id, with_id);
            uint32_t node = hd_trace_stacks_of(stacks, &event), truth = sample->stack;
            for (; node != HD_STACK_NONE; node = hd_stacks_at(tree, node).caller) {
                hd_string a = hd_stacks_text(tree, hd_stacks_at(tree, node).name), b = frame_text(&r, truth);
                assert_true(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
                assert_int_equal(hd_stacks_at(tree, node).kind, hd_stacks_at(r.stacks.stacks, truth).kind);
                truth = hd_stacks_at(r.stacks.stacks, truth).caller;
            }
            assert_int_equal(truth, HD_STACK_NONE);
        }
        hd_trace_stacks_free(stacks);
        hd_trace_free(samples);
    }
    discard(&r);
}

/* ---- options ---- */

static void assert_refused(const hd_synth_options *how)
{
    hd_trace *trace;
    hd_synth_stacks stacks = {0};
    hd_error err = {0};
    assert_int_equal(hd_synth_trace_with_stacks(&trace, &stacks, NULL, how, &err), HD_ERR_ARGUMENT);
    assert_null(trace);
    assert_true(strlen(err.message) > 20);
    hd_synth_stacks_deinit(&stacks);
}

static void test_options__what_cannot_be_is_refused(void **state)
{
    (void)state;
    hd_synth_options how = small_run();
    how.stack_comm = "";
    assert_refused(&how);
    how.stack_comm = "sixteen bytes ..";
    assert_refused(&how);
    how.stack_comm = "two\nlines";
    assert_refused(&how);
    how = small_run();
    how.stack_offset_ns = INT64_MAX;
    assert_refused(&how);
    how.stack_offset_ns = INT64_MIN;
    assert_refused(&how);
    how = small_run();
    how.stack_jitter_us = 3000000;
    assert_refused(&how);
    how = small_run();
    how.graphs = HD_SYNTH_GRAPH_MAX + 1;
    assert_refused(&how);
    how = small_run();
    how.cupti = true;
    how.crossings = 1;
    assert_refused(&how);
    how.crossings = 0;
    how.negatives = 1;
    assert_refused(&how);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks__each_kernel_has_the_stack_of_its_launch),
        cmocka_unit_test(test_stacks__forward_stands_under_its_layer_and_backward_on_its_own_thread),
        cmocka_unit_test(test_stacks__frames_of_python_are_there_when_the_trace_has_them),
        cmocka_unit_test(test_stacks__the_trace_is_the_same_with_and_without_them),
        cmocka_unit_test(test_stacks__a_sample_comes_just_before_its_launch),
        cmocka_unit_test(test_stacks__jitter_moves_each_by_so_much_and_keeps_the_order_of_a_thread),
        cmocka_unit_test(test_stacks__so_many_are_lost_of_each_rank),
        cmocka_unit_test(test_stacks__other_ids_are_unknown_to_the_trace_and_always_the_same),
        cmocka_unit_test(test_stacks__as_many_differ_as_there_are_paths),
        cmocka_unit_test(test_stacks__a_graph_has_one_launch_and_its_kernels_know_who_made_them),
        cmocka_unit_test(test_cupti__the_trace_has_calls_of_the_runtime_and_work_only),
        cmocka_unit_test(test_cupti__lines_hold_each_event_once),
        cmocka_unit_test(test_text__a_line_is_a_sample_though_its_comm_has_a_space),
        cmocka_unit_test(test_trace__samples_have_node_cpu_and_truth_and_an_id_on_request),
        cmocka_unit_test(test_options__what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
