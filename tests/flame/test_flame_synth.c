/* test_flame_synth.c - the root of a flame graph weighs what the trace has, to the nanosecond, whatever was recorded */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixtures.h"
#include "heddle/analysis/flame.h"
#include "pass/join_truth.h"
#include "rounds.h"

/* Sums by the tables of the trace itself, without the library's launches. */
typedef struct sums {
    int64_t gpu_ns, bytes;
    uint64_t works;
} sums;

static bool is_any(hd_string text, const char *const *names)
{
    for (; *names; names++)
        if (text.size == strlen(*names) && memcmp(text.data, *names, text.size) == 0) return true;
    return false;
}

static sums sums_of(const hd_trace *trace)
{
    static const char *const kernels[] = {"kernel", "GPU_Kernel", NULL};
    static const char *const copies[] = {"gpu_memcpy", "gpu_memset", "MemCopy", "Memset", NULL};
    sums s = {0};
    uint32_t bytes = hd_trace_find_string(trace, "bytes", 5), size = hd_trace_find_string(trace, "size", 4);
    for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row++) {
        hd_event event;
        uint32_t at;
        int64_t value;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
        hd_block_event(&event, block, at);
        hd_string category = hd_trace_string(trace, event.category);
        bool copy = is_any(category, copies);
        if (!copy && !is_any(category, kernels)) continue;
        s.works++;
        s.gpu_ns += event.duration_ns;
        if (copy && (hd_event_arg_int(&value, trace, &event, bytes) || hd_event_arg_int(&value, trace, &event, size)))
            s.bytes += value;
    }
    return s;
}

/* Every total is its self and those of the frames below it. */
static void check_tree(const hd_flame *flame)
{
    uint32_t count = hd_stacks_count(flame->stacks);
    int64_t *totals = calloc(count, sizeof *totals), self = 0;
    for (uint32_t node = count; node-- > 0;) {
        assert_true(flame->self[node] >= 0);
        totals[node] += flame->self[node];
        self += flame->self[node];
        assert_int_equal(totals[node], flame->total[node]);
        if (node) totals[hd_stacks_at(flame->stacks, node).caller] += totals[node];
    }
    assert_int_equal(self, flame->total[0]);
    free(totals);
}

static int64_t flame_total(const join_case *c, bool with_cpu, const hd_flame_options *options)
{
    hd_flame *flame;
    hd_error err = {0};
    assert_int_equal(hd_flame_new(&flame, &err), HD_OK);
    hd_status status = hd_flame_add(flame, c->gpu, with_cpu ? c->cpu : NULL, NULL, options, &err);
    if (status != HD_OK) print_message("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    check_tree(flame);
    int64_t total = flame->total[0];
    hd_flame_free(flame);
    return total;
}

/* Weights of folded text: what stands behind the last space of each line. */
static int64_t folded_total(const char *text)
{
    int64_t total = 0;
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        assert_non_null(end);
        const char *digits = end;
        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9') digits--;
        assert_true(digits > text && digits < end && digits[-1] == ' ');
        total += strtoll(digits, NULL, 10);
    }
    return total;
}

static hd_synth_options options_of(uint64_t seed)
{
    hd_synth_options how = join_options(seed);
    how.stack_jitter_us = seed % 3 * 100;
    how.stack_ids = seed % 4 == 0;
    how.stack_lost = seed % 5 == 0 ? 6 : 0;
    how.stack_offset_ns = seed % 7 ? 0 : (int64_t)seed * 1000000007;
    return how;
}

static void test_flame__gpu_time_is_that_of_the_trace(void **state)
{
    (void)state;
    uint64_t works = 0;
    unsigned cases = hd_test_rounds(HD_TEST_BY_BUILD(1000, 100));
    const uint64_t first = hd_test_seed(1);
    for (uint64_t seed = first; seed < first + cases; seed++) {
        hd_synth_options how = options_of(seed);
        join_case c = join_case_make(&how, seed % 3 == 0);
        sums truth = sums_of(c.gpu);
        /* A clock that fits nowhere is refused unless forced; the weight has to be there all the same. */
        hd_flame_options options = {.of = HD_FLAME_GPU_TIME,
                                    .by = (hd_flame_by)(seed % HD_FLAME_BYS),
                                    .reverse = seed % 6 == 0,
                                    .full_names = seed % 2,
                                    .weightless = seed % 5 == 0,
                                    .attribution = &(hd_attribution_options){.force = true, .forward = seed % 11 == 0}};
        assert_int_equal(flame_total(&c, seed % 10 != 9, &options), truth.gpu_ns);
        works += truth.works;
        join_case_free(&c);
    }
    print_message("  %" PRIu64 " works in %u runs\n", works, cases);
    assert_true(works > cases * 50);
}

static void test_flame__bytes_are_those_of_the_copies(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(1), end = first + hd_test_rounds(30);
    for (uint64_t seed = first; seed < end; seed++) {
        hd_synth_options how = options_of(seed);
        join_case c = join_case_make(&how, true);
        hd_flame_options options = {.of = HD_FLAME_BYTES, .attribution = &(hd_attribution_options){.force = true}};
        assert_int_equal(flame_total(&c, true, &options), sums_of(c.gpu).bytes);
        join_case_free(&c);
    }
}

static void test_flame__windows_of_time_add_up_to_the_whole(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(1), end = first + hd_test_rounds(20);
    for (uint64_t seed = first; seed < end; seed++) {
        hd_synth_options how = options_of(seed);
        join_case c = join_case_make(&how, true);
        const hd_trace_facts *facts = hd_trace_facts_of(c.gpu);
        int64_t cut = (facts->end_ns - facts->start_ns) / 3, sum = 0;
        for (int i = 0; i < 3; i++) {
            hd_flame_options options = {.of = HD_FLAME_GPU_TIME,
                                        .attribution = &(hd_attribution_options){.force = true}};
            if (i) options.from = (hd_convert_time){HD_CONVERT_NS, cut * i};
            if (i < 2) options.until = (hd_convert_time){HD_CONVERT_NS, cut * (i + 1)};
            sum += flame_total(&c, true, &options);
        }
        assert_int_equal(sum, sums_of(c.gpu).gpu_ns);
        join_case_free(&c);
    }
}

static void test_flame__folded_text_has_the_whole_weight(void **state)
{
    (void)state;
    char path[] = "/tmp/heddle_flame_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const uint64_t first = hd_test_seed(1), end = first + hd_test_rounds(20);
    for (uint64_t seed = first; seed < end; seed++) {
        hd_synth_options how = options_of(seed);
        join_case c = join_case_make(&how, false);
        hd_flame *flame;
        hd_flame_options options = {
            .of = HD_FLAME_GPU_TIME, .full_names = true, .attribution = &(hd_attribution_options){.force = true}};
        assert_int_equal(hd_flame_new(&flame, NULL), HD_OK);
        assert_int_equal(hd_flame_add(flame, c.gpu, c.cpu, NULL, &options, NULL), HD_OK);
        hd_flame_write_options how_written = {.format = HD_FLAME_FOLDED, .min_percent = -1};
        assert_int_equal(hd_flame_write(NULL, flame, path, &how_written, NULL), HD_OK);
        size_t size;
        char *text = file_text(path, &size);
        assert_non_null(text);
        assert_int_equal(folded_total(text), sums_of(c.gpu).gpu_ns);
        free(text);
        hd_flame_free(flame);
        join_case_free(&c);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flame__gpu_time_is_that_of_the_trace),
        cmocka_unit_test(test_flame__bytes_are_those_of_the_copies),
        cmocka_unit_test(test_flame__windows_of_time_add_up_to_the_whole),
        cmocka_unit_test(test_flame__folded_text_has_the_whole_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
