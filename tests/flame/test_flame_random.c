/* test_flame_random.c - a thousand random traces: nothing is lost, whatever is counted and however it is grouped */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "flame/flame_text.h"
#include "random_trace.h"
#include "rounds.h"

static void put_common(hd_json_out *out, uint64_t *seed, const char *category, const char *name, uint32_t pid,
                       uint32_t tid)
{
    char text[256];
    uint32_t start = random_next(seed) % 4000, length = random_next(seed) % 5 ? random_next(seed) % 300 : 0;
    snprintf(text, sizeof text,
             ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u.%03u,\"dur\":%u.%03u",
             category, name, pid, tid, 1000000 + start, random_next(seed) % 1000, length, random_next(seed) % 1000);
    hd_json_put_text(out, text);
}

/* Slices, calls, work of two ranks' worth of threads and queues. Ids are often wrong. */
static void put_event(hd_json_out *out, uint64_t *seed)
{
    static const char *const ops[] = {"aten::mm", "aten::a;b", "f\\nn", "ProfilerStep#1", "ProfilerStep#2", "x 7", "é"};
    static const char *const calls[] = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "hipMemsetAsync"};
    static const char *const kernels[] = {"void gemm<float>(int)", "Kernel: relu", "k;1", "k <&\\\"'", "k"};
    char text[160];
    uint32_t thread = random_next(seed) % 3, sort = random_next(seed) % 4, id = random_next(seed) % 24;
    if (sort == 0) {
        uint32_t op = random_next(seed) % 7;
        put_common(out, seed, op == 3 || op == 4 ? "user_annotation" : "cpu_op", ops[op], 100, thread);
        hd_json_put_text(out, "}");
    } else if (sort == 1) {
        put_common(out, seed, "cuda_runtime", calls[random_next(seed) % 4], 100, thread);
        snprintf(text, sizeof text, ",\"args\":{\"correlation\":%u}}", id);
        hd_json_put_text(out, text);
    } else {
        uint32_t kind = random_next(seed) % 4, device = random_next(seed) % 2;
        put_common(out, seed,
                   kind == 0   ? "gpu_memcpy"
                   : kind == 1 ? "gpu_memset"
                               : "kernel",
                   kernels[random_next(seed) % 5], device, 7 + thread);
        snprintf(text, sizeof text, ",\"args\":{\"correlation\":%u,\"device\":%u,\"stream\":%u,\"bytes\":%u}}", id,
                 device, 7 + thread, random_next(seed) % 1000);
        hd_json_put_text(out, text);
    }
}

static hd_trace *random_work(uint64_t *seed)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"args\":{\"name\":\"p\"}}");
    for (uint32_t i = random_next(seed) % 80; i; i--) put_event(&out, seed);
    hd_json_put(&out, "]", 2);
    assert_false(out.failed);
    hd_trace *trace = trace_of_text(out.data);
    free(out.data);
    return trace;
}

/* The reader of folded stacks sees what was written: its samples make the same text. */
static void assert_read_back(const char *text, size_t size)
{
    static FILE *file;
    char path[32];
    hd_trace *trace = NULL;
    hd_error err = {0};
    if (size == 0) return; /* nothing is not a file of folded stacks */
    hd_flame *flame = flame_new();
    if (!file) file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    assert_int_equal(pwrite(fileno(file), text, size, 0), (ssize_t)size);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s\n%s", err.message, text);
    const hd_flame_options options = {.of = HD_FLAME_SAMPLES, .weightless = true};
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &options, NULL), HD_OK);
    char *again = flame_folded(flame);
    assert_string_equal(again, text);
    free(again);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

typedef struct weighed {
    int64_t total, removed;
} weighed;

/* The weight as the root, the nodes, the folded text have it; they agree. */
static weighed weigh(const hd_trace *trace, const hd_attribution *attribution, const hd_flame_options *options)
{
    hd_flame *flame = flame_new();
    hd_error err = {0};
    int64_t sum = 0;
    if (hd_flame_add(flame, trace, NULL, attribution, options, &err) != HD_OK) fail_msg("%s", err.message);
    char *text = flame_folded(flame);
    for (uint32_t n = 0; n < hd_stacks_count(flame->stacks); n++) sum += flame->self[n];
    assert_int_equal(sum, flame->total[0]);
    assert_int_equal(folded_sum(text, strlen(text), NULL), sum);
    free(text);
    weighed result = {flame->total[0], flame->removed};
    hd_flame_free(flame);
    return result;
}

static int64_t truth(const hd_attribution *attribution, const hd_trace *trace, hd_flame_of of)
{
    const hd_launches *all = attribution->launches;
    int64_t sum = of == HD_FLAME_LAUNCHES ? (int64_t)all->launch_count : 0;
    uint32_t key = hd_trace_find_string(trace, "bytes", 5), row;
    for (size_t i = 0; i < all->work_count; i++) {
        int64_t bytes = 0;
        hd_event event;
        const hd_block *block = hd_trace_block_of(&row, trace, HD_KIND_SLICE, all->works[i].row);
        hd_block_event(&event, block, row);
        hd_event_arg_int(&bytes, trace, &event, key);
        if (of == HD_FLAME_GPU_TIME) sum += event.duration_ns;
        if (of == HD_FLAME_LAUNCHES) sum += all->works[i].launch == HD_NONE;
        if (of == HD_FLAME_BYTES && all->works[i].role != HD_ROLE_KERNEL) sum += bytes;
    }
    return sum;
}

/* Half of it and the other half are all of it, and so are names and those that have other ones. */
static void assert_parts(const hd_trace *trace, const hd_attribution *attribution, hd_flame_options options,
                         int64_t all, uint64_t *seed)
{
    hd_convert_time middle = {HD_CONVERT_PERCENT, 1 + random_next(seed) % 999998};
    hd_flame_options first = options, second = options, some = options, others = options;
    first.until = second.from = middle;
    weighed parts[4] = {weigh(trace, attribution, &first), weigh(trace, attribution, &second)};
    /* the last instant of the trace is in no window, so that what has no length may be in neither half */
    assert_int_equal(parts[0].total + parts[1].total, all);
    assert_int_equal(parts[0].total + parts[0].removed, all);
    assert_int_equal(parts[1].total + parts[1].removed, all);
    some.names = "*k*,gemm";
    others.names = "!*k*,!gemm";
    parts[2] = weigh(trace, attribution, &some);
    parts[3] = weigh(trace, attribution, &others);
    assert_int_equal(parts[2].total + parts[2].removed, all);
    /* launches without work have no name, and so neither of the two */
    if (options.of != HD_FLAME_LAUNCHES) assert_int_equal(parts[2].total + parts[3].total, all);
}

/* As a user asks for it: no attribution is given. */
static void assert_own_attribution(const hd_trace *trace)
{
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME};
    hd_launches *all;
    hd_flame *flame = flame_new();
    hd_error err = {0};
    assert_int_equal(hd_launches_new(&all, trace, NULL), HD_OK);
    if (hd_flame_add(flame, trace, NULL, NULL, &options, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(flame->total[0], all->work_ns);
    char *text = flame_folded(flame);
    assert_int_equal(folded_sum(text, strlen(text), NULL), all->work_ns);
    assert_read_back(text, strlen(text));
    free(text);
    hd_flame_free(flame);
    hd_launches_free(all);
}

static void test_flame_random__nothing_is_lost(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(0);
    for (uint64_t i = 0, count = hd_test_rounds(250); i < count; i++) {
        uint64_t seed = first + i;
        hd_trace *trace = random_work(&seed);
        hd_attribution *attribution;
        attribute_by_calls(&attribution, trace);
        assert_own_attribution(trace);
        for (int of = HD_FLAME_GPU_TIME; of <= HD_FLAME_BYTES; of++) {
            hd_flame_options options = {.of = (hd_flame_of)of, .weightless = random_next(&seed) % 2};
            int64_t all = weigh(trace, attribution, &options).total;
            if (of != HD_FLAME_CPU_TIME && of != HD_FLAME_CPU_SELF)
                assert_int_equal(all, truth(attribution, trace, (hd_flame_of)of));
            options.by = (hd_flame_by)(random_next(&seed) % HD_FLAME_BYS);
            options.reverse = random_next(&seed) % 2;
            options.full_names = random_next(&seed) % 2;
            assert_int_equal(weigh(trace, attribution, &options).total, all);
            if (hd_trace_row_count(trace, HD_KIND_SLICE)) assert_parts(trace, attribution, options, all, &seed);
        }
        attribution_done(attribution);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flame_random__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
