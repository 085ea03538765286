/* Stacks out of slices: hand-made lanes, random ones against a quadratic model, and slices that all cross each other.
 */

#include "base/json/write.h"
#include "growth.h"
#include "model/contexts/contexts.h"
#include "pass_text.h"
#include "random_trace.h"
#include "rounds.h"

/* ---- what the walk says ---- */

typedef struct contexts {
    hd_context *list;
    size_t count, capacity;
    hd_stacks *stacks;
} contexts;

static hd_status keep(void *user, const hd_context *list, size_t count, hd_error *err)
{
    contexts *c = user;
    (void)err;
    c->list = realloc(c->list, (c->count + count) * sizeof *c->list);
    assert_non_null(c->list);
    memcpy(c->list + c->count, list, count * sizeof *list);
    c->count += count;
    return HD_OK;
}

static contexts walk_with(const hd_trace *trace, const hd_context_options *options)
{
    contexts c = {0};
    hd_error err = {0};
    assert_int_equal(hd_stacks_new(&c.stacks, &err), HD_OK);
    if (hd_contexts_walk(c.stacks, trace, options, keep, &c, &err) != HD_OK) fail_msg("%s", err.message);
    return c;
}

static void contexts_deinit(contexts *c)
{
    hd_stacks_free(c->stacks);
    free(c->list);
}

static void put_stack(hd_json_out *out, const hd_stacks *stacks, uint32_t node)
{
    hd_frame frame = hd_stacks_at(stacks, node);
    hd_string name = hd_stacks_text(stacks, frame.name);
    if (frame.caller != HD_STACK_NONE) {
        put_stack(out, stacks, frame.caller);
        hd_json_put_text(out, ";");
    }
    hd_json_put(out, name.data, name.size);
}

/* "a;b self 5" and a newline for each. */
static char *text_of(const contexts *c)
{
    hd_json_out out = {0};
    for (size_t i = 0; i < c->count; i++) {
        put_stack(&out, c->stacks, c->list[i].node);
        hd_json_put_text(&out, " self ");
        hd_json_put_int(&out, c->list[i].self_ns);
        hd_json_put_text(&out, "\n");
    }
    hd_json_put(&out, "", 1);
    assert_false(out.failed);
    return out.data;
}

static void assert_walk(const char *json, const hd_context_options *options, const char *wanted)
{
    hd_trace *trace = trace_of(json);
    contexts c = walk_with(trace, options);
    char *got = text_of(&c);
    assert_string_equal(got, wanted);
    free(got);
    contexts_deinit(&c);
    hd_trace_free(trace);
}

#define SLICE(cat, name, ts, dur)                                                                                      \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"

/* ---- hand-made ---- */

static void test_pass_contexts__a_stack_is_what_encloses(NO_STATE)
{
    assert_walk("[" SLICE("python_function", "main", 0, 100) "," SLICE("cpu_op", "add", 10, 50) "," /* ms */
                SLICE("cuda_runtime", "cudaLaunchKernel", 20, 5) "," SLICE("cpu_op", "mul", 70, 10) "]",
                NULL,
                "main self 40000\nmain;add self 45000\nmain;add;cudaLaunchKernel self 5000\nmain;mul self 10000\n");
}

static void test_pass_contexts__equal_starts_put_the_longer_outside(NO_STATE)
{
    assert_walk(
        "[" SLICE("cpu_op", "in", 10, 5) "," SLICE("cpu_op", "out", 10, 9) "," SLICE("cpu_op", "twin", 10, 9) "]", NULL,
        "out self 0\nout;twin self 4000\nout;twin;in self 5000\n");
}

static void test_pass_contexts__a_call_without_length_is_in_what_ends_there(NO_STATE)
{
    assert_walk("[" SLICE("cpu_op", "a", 0, 10) "," SLICE("cuda_runtime", "call", 10, 0) "]", NULL,
                "a self 10000\na;call self 0\n");
    /* unless another takes over */
    assert_walk(
        "[" SLICE("cpu_op", "a", 0, 10) "," SLICE("cuda_runtime", "call", 10, 0) "," SLICE("cpu_op", "b", 10, 10) "]",
        NULL, "a self 10000\nb self 10000\nb;call self 0\n");
}

static void test_pass_contexts__crossing_slices_do_not_enclose_each_other(NO_STATE)
{
    /* both enclose c; b outlives a, and d is in b only */
    assert_walk("[" SLICE("cpu_op", "a", 0, 10) "," SLICE("cpu_op", "b", 5, 10) "," SLICE(
                    "cpu_op", "c", 6, 2) "," SLICE("cpu_op", "d", 11, 2) "]",
                NULL, "a self 5000\nb self 6000\na;b;c self 2000\nb;d self 2000\n");
}

static void test_pass_contexts__time_of_a_slice_that_outlives_the_one_in_it_comes_back(NO_STATE)
{
    assert_walk("[" SLICE("cpu_op", "a", 0, 20) "," SLICE("cpu_op", "b", 5, 5) "," SLICE("cpu_op", "c", 8, 5) "]", NULL,
                "a self 12000\na;b self 3000\na;c self 5000\n");
}

static void test_pass_contexts__gpu_work_and_the_span_of_the_recording_are_no_frames(NO_STATE)
{
    assert_walk(
        "[" SLICE("Trace", "PyTorch Profiler (0)", 0, 100) "," SLICE("cpu_op", "op", 10, 50) "," SLICE(
            "kernel", "k", 15, 10) "," SLICE("gpu_user_annotation", "g", 15,
                                             10) "," SLICE("cuda_sync", "s", 15,
                                                           10) "," SLICE("cuda_runtime", "cudaLaunchKernel", 20, 5) "]",
        NULL, "op self 45000\nop;cudaLaunchKernel self 5000\n");
}

static void test_pass_contexts__other_slices_on_a_row_of_gpu_work_are_not_the_cpu_s(NO_STATE)
{
    assert_walk("[" SLICE("kernel", "k", 0, 100) "," SLICE("odd", "x", 10, 50) "]", NULL, "");
}

static void test_pass_contexts__begin_and_end_pairs_are_slices(NO_STATE)
{
    assert_walk("[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0},"
                "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":2},"
                "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}]",
                NULL, "a self 6000\na;b self 3000\n");
}

static void test_pass_contexts__twins_are_one_lane(NO_STATE)
{
    assert_walk("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"1\",\"tid\":1,\"ts\":0,\"dur\":9},"
                "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":\"1\",\"ts\":2,\"dur\":3}]",
                NULL, "a self 6000\na;b self 3000\n");
}

static void test_pass_contexts__a_window_cuts_self_times(NO_STATE)
{
    const hd_context_options options = {.has_window = true, .from_ns = 5000, .until_ns = 12000};
    assert_walk("[" SLICE("cpu_op", "a", 0, 20) "," SLICE("cpu_op", "b", 10, 5) "," SLICE("cpu_op", "c", 30, 5) "]",
                &options, "a self 5000\na;b self 2000\nc self 0\n");
}

static void test_pass_contexts__frames_have_kinds(NO_STATE)
{
    hd_trace *trace =
        trace_of("[" SLICE("python_function", "p", 0, 100) "," SLICE("user_annotation", "n", 1, 90) "," SLICE(
            "cpu_op", "o", 2, 80) "," SLICE("x", "f", 3, 70) "," SLICE("cuda_driver", "d", 4, 9) "]");
    contexts c = walk_with(trace, NULL);
    static const hd_frame_kind kinds[] = {HD_FRAME_PYTHON, HD_FRAME_ANNOTATION, HD_FRAME_OP, HD_FRAME_NATIVE,
                                          HD_FRAME_API};
    assert_int_equal(c.count, 5);
    for (size_t i = 0; i < c.count; i++) {
        assert_int_equal(hd_stacks_at(c.stacks, c.list[i].node).kind, kinds[i]);
        assert_int_equal(hd_stacks_at(c.stacks, c.list[i].node).depth, i + 1);
    }
    contexts_deinit(&c);
    hd_trace_free(trace);
}

/* ---- random lanes against a quadratic model ---- */

static void put_random_slice(hd_json_out *out, uint64_t *seed, unsigned number, unsigned span)
{
    static const char *const categories[] = {"cpu_op", "python_function", "cuda_runtime", "kernel", "odd"};
    char text[256];
    const char *quote = random_next(seed) % 4 ? "" : "\"";
    unsigned start = random_next(seed) % span, left = span - start, picks = random_next(seed) % 4;
    unsigned length = picks == 0 ? 0 : picks == 1 ? random_next(seed) % 5 : random_next(seed) % (left + 1);
    snprintf(text, sizeof text,
             "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n%u\",\"pid\":1,\"tid\":%s%u%s,\"ts\":0.%03u,\"dur\":0.%03u}",
             number ? "," : "", categories[random_next(seed) % 5], random_next(seed) % 4 ? number : 0, quote,
             random_next(seed) % 2, quote, start, length);
    hd_json_put_text(out, text);
}

static hd_trace *random_lanes(uint64_t seed, unsigned count, unsigned span)
{
    hd_json_out out = {0};
    hd_json_put_text(&out,
                     "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"cpu\",\"pid\":1,\"tid\":0,\"ts\":0,\"dur\":0},"
                     "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"cpu\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":0},");
    for (unsigned i = 0; i < count; i++) put_random_slice(&out, &seed, i, span);
    hd_json_put_text(&out, "]");
    hd_json_put(&out, "", 1);
    assert_false(out.failed);
    hd_trace *trace = trace_of(out.data);
    free(out.data);
    return trace;
}

typedef struct model_slice {
    int64_t start, end, self;
    uint64_t row;
    uint32_t lane, name;
} model_slice;

static int by_lane_and_start(const void *a, const void *b)
{
    const model_slice *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t list_slices(model_slice *out, const hd_trace *trace)
{
    size_t count = 0;
    uint32_t kernel = hd_trace_find_string(trace, "kernel", 6);
    for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row++) {
        hd_event event;
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
        hd_block_event(&event, block, at);
        if (event.category == kernel && kernel != HD_STRING_NONE) continue;
        out[count++] = (model_slice){.start = event.start_ns,
                                     .end = event.start_ns + event.duration_ns,
                                     .row = row,
                                     .lane = hd_trace_track_at(trace, event.track)->same_as,
                                     .name = event.name};
    }
    qsort(out, count, sizeof *out, by_lane_and_start);
    return count;
}

/* Whether slice i encloses slice k > i. */
static bool encloses(const model_slice *s, size_t count, size_t i, size_t k)
{
    if (s[i].lane != s[k].lane || s[i].end < s[k].end) return false;
    if (s[i].end > s[k].start) return true;
    for (size_t other = 0; other < count; other++) {
        if (s[other].lane == s[k].lane && s[other].start == s[i].end && s[other].end > s[other].start) return false;
    }
    return true;
}

static void model_self(model_slice *s, size_t count, int64_t span, const hd_context_options *window)
{
    for (uint32_t lane = 0; lane < 64; lane++) {
        for (int64_t t = 0; t < 2 * span; t++) {
            size_t owner = SIZE_MAX;
            for (size_t i = 0; i < count; i++) {
                if (s[i].lane == lane && s[i].start <= t && t < s[i].end) owner = i;
            }
            bool inside = !window || !window->has_window || (t >= window->from_ns && t < window->until_ns);
            if (owner != SIZE_MAX && inside) s[owner].self++;
        }
    }
}

static char *model_text(const hd_trace *trace, int64_t span, const hd_context_options *options)
{
    model_slice s[512];
    size_t count = list_slices(s, trace), next = 0;
    hd_json_out out = {0};
    model_self(s, count, span, options);
    for (size_t k = 0; k < count; k++) {
        bool wanted = !options || !options->rows;
        for (next = 0; !wanted && next < options->row_count; next++) wanted = options->rows[next] == s[k].row;
        if (!wanted) continue;
        for (size_t i = 0; i < k; i++) {
            if (!encloses(s, count, i, k)) continue;
            hd_string name = hd_trace_string(trace, s[i].name);
            hd_json_put(&out, name.data, name.size);
            hd_json_put_text(&out, ";");
        }
        hd_string name = hd_trace_string(trace, s[k].name);
        hd_json_put(&out, name.data, name.size);
        hd_json_put_text(&out, " self ");
        hd_json_put_int(&out, s[k].self);
        hd_json_put_text(&out, "\n");
    }
    hd_json_put(&out, "", 1);
    return out.data;
}

static void assert_as_model(const hd_trace *trace, unsigned span, const hd_context_options *options, uint64_t seed)
{
    contexts c = walk_with(trace, options);
    char *got = text_of(&c), *wanted = model_text(trace, span, options);
    if (strcmp(got, wanted) != 0) fail_msg("seed %u:\n%s----\n%s", (unsigned)seed, got, wanted);
    free(got);
    free(wanted);
    contexts_deinit(&c);
}

static void test_pass_contexts__random_lanes_are_as_the_model_says(NO_STATE)
{
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 400; seed++) {
        unsigned span = seed % 3 ? 12 : 100, count = 1 + (unsigned)seed % 40;
        hd_trace *trace = random_lanes(seed, count, span);
        uint64_t rows[512];
        hd_context_options options = {.threads = seed % 4 ? 1 : 3};
        assert_as_model(trace, span, &options, seed);
        options.has_window = true;
        options.from_ns = span / 4;
        options.until_ns = span / 2;
        options.rows = rows;
        for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row += 1 + seed % 3)
            rows[options.row_count++] = row;
        assert_as_model(trace, span, &options, seed);
        hd_trace_free(trace);
    }
}

/* ---- many ---- */

static hd_trace *many(unsigned tids, unsigned count, int64_t step, int64_t length)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(hd_builder_new(&builder, &err), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, &err), HD_OK);
    for (unsigned i = 0; i < count; i++) {
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        char name[16];
        snprintf(name, sizeof name, "n%u", i % 1000);
        row.track = hd_builder_thread(builder, 1, i % tids);
        row.name = hd_builder_intern_text(builder, name);
        row.start_ns = i / tids * step;
        row.duration_ns = length;
        assert_int_equal(hd_batch_add(batch, &row, NULL, &err), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, &err), HD_OK);
    assert_int_equal(hd_builder_append(builder, chunk, &err), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, builder, &err), HD_OK);
    return trace;
}

static double walk_crossing(void *context, size_t size)
{
    unsigned count = (unsigned)size;
    hd_trace *trace = many(1, count, 1, count);
    (void)context;
    double begin = hd_test_cpu_seconds();
    contexts c = walk_with(trace, NULL);
    double seconds = hd_test_cpu_seconds() - begin;
    assert_int_equal(c.count, count);
    assert_true(hd_stacks_count(c.stacks) <= 17 * count);
    int64_t sum = 0;
    for (size_t i = 0; i < c.count; i++) sum += c.list[i].self_ns;
    assert_int_equal(sum, 2 * count - 1);
    contexts_deinit(&c);
    hd_trace_free(trace);
    return seconds;
}

static void test_pass_contexts__slices_that_all_cross_take_no_quadratic_time(NO_STATE)
{
    hd_test_assert_linear("slices that cross", walk_crossing, NULL, 5000);
}

static void test_pass_contexts__threads_change_nothing(NO_STATE)
{
    hd_trace *trace = many(37, 150000, 7, 20);
    const hd_context_options one = {.threads = 1}, four = {.threads = 4};
    contexts a = walk_with(trace, &one), b = walk_with(trace, &four);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.list, b.list, a.count * sizeof *a.list);
    assert_int_equal(hd_stacks_count(a.stacks), hd_stacks_count(b.stacks));
    contexts_deinit(&a);
    contexts_deinit(&b);
    hd_trace_free(trace);
}

static hd_status refuse(void *user, const hd_context *list, size_t count, hd_error *err)
{
    (void)user, (void)list, (void)count;
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "enough");
}

static void test_pass_contexts__what_the_sink_refuses_ends_the_walk(NO_STATE)
{
    hd_trace *trace = many(3, 1000, 7, 20);
    hd_stacks *stacks;
    hd_error err = {0};
    assert_int_equal(hd_stacks_new(&stacks, &err), HD_OK);
    assert_int_equal(hd_contexts_walk(stacks, trace, NULL, refuse, NULL, &err), HD_ERR_LIMIT);
    assert_string_equal(err.message, "enough");
    hd_stacks_free(stacks);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass_contexts__a_stack_is_what_encloses),
        cmocka_unit_test(test_pass_contexts__equal_starts_put_the_longer_outside),
        cmocka_unit_test(test_pass_contexts__a_call_without_length_is_in_what_ends_there),
        cmocka_unit_test(test_pass_contexts__crossing_slices_do_not_enclose_each_other),
        cmocka_unit_test(test_pass_contexts__time_of_a_slice_that_outlives_the_one_in_it_comes_back),
        cmocka_unit_test(test_pass_contexts__gpu_work_and_the_span_of_the_recording_are_no_frames),
        cmocka_unit_test(test_pass_contexts__other_slices_on_a_row_of_gpu_work_are_not_the_cpu_s),
        cmocka_unit_test(test_pass_contexts__begin_and_end_pairs_are_slices),
        cmocka_unit_test(test_pass_contexts__twins_are_one_lane),
        cmocka_unit_test(test_pass_contexts__a_window_cuts_self_times),
        cmocka_unit_test(test_pass_contexts__frames_have_kinds),
        cmocka_unit_test(test_pass_contexts__random_lanes_are_as_the_model_says),
        cmocka_unit_test(test_pass_contexts__slices_that_all_cross_take_no_quadratic_time),
        cmocka_unit_test(test_pass_contexts__threads_change_nothing),
        cmocka_unit_test(test_pass_contexts__what_the_sink_refuses_ends_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
