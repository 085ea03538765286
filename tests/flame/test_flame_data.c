/* test_flame_data.c - flames of the real traces in shared/data, where they are */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "flame/flame_text.h"

/* The trace of a file of shared/data; NULL and a word where it is not there. */
static hd_trace *read_data(const char *name, char path[1024])
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    const hd_read_options read = {.args = HD_ARGS_ALL};
    hd_trace *trace = NULL;
    hd_error err = {0};
    snprintf(path, 1024, "%s/../shared/data/%s", root ? root : ".", name);
    if (access(path, R_OK) != 0) {
        print_message("no %s: skipped\n", path);
        return NULL;
    }
    if (hd_trace_read(&trace, path, &read, &err) != HD_OK) fail_msg("%s: %s", path, err.message);
    return trace;
}

static int64_t weigh(const hd_trace *trace, const hd_attribution *attribution, const hd_flame_options *options)
{
    const hd_flame_write_options folded = {.format = HD_FLAME_FOLDED}, scope = {.format = HD_FLAME_SPEEDSCOPE};
    hd_flame *flame = flame_new();
    hd_flame_written written;
    hd_error err = {0};
    size_t size, lines;
    char expected[64];
    if (hd_flame_add(flame, trace, NULL, attribution, options, &err) != HD_OK) fail_msg("%s", err.message);
    char *text = flame_file(flame, &folded, &written, &size);
    assert_int_equal(folded_sum(text, size, &lines), flame->total[0]);
    assert_int_equal(lines, written.stacks);
    free(text);
    text = flame_file(flame, &scope, &written, &size);
    assert_int_equal(written.stacks, lines);
    /* python3 takes its time, and groups change names only */
    char *answer = options->by == HD_FLAME_BY_NOTHING ? speedscope_checked(text, size) : NULL;
    snprintf(expected, sizeof expected, "ok %lld\n", (long long)flame->total[0]);
    if (answer) assert_string_equal(answer, expected);
    free(answer);
    free(text);
    int64_t total = flame->total[0];
    hd_flame_free(flame);
    return total;
}

static void test_flame_data__the_root_of_real_traces_is_their_gpu_time(void **state)
{
    (void)state;
    static const char *const names[] = {
        "kineto/b200_eager.json.gz",
        "kineto/particle_transformer_a100.json.gz",
        "kineto/mi250_minitoy.json.gz",
        "kineto/normalization_layer_test.json.gz",
        "kineto/negative_queue_rank0.json.gz",
        "rocm/rocprofiler_v1_memcpy.json.gz",
        "cupti/cupti_trace.json",
    };
    size_t read = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        hd_trace *trace = read_data(names[i], path);
        hd_attribution *attribution;
        hd_error err = {0};
        if (!trace) continue;
        read++;
        if (hd_attribute(&attribution, trace, NULL, NULL, &err) != HD_OK) fail_msg("%s: %s", path, err.message);
        assert_true(attribution->launches->work_count > 0);
        for (int by = 0; by < HD_FLAME_BYS; by++) {
            const hd_flame_options options = {.by = (hd_flame_by)by, .reverse = by % 2};
            assert_int_equal(weigh(trace, attribution, &options), attribution->launches->work_ns);
        }
        const hd_flame_options cpu = {.of = HD_FLAME_CPU_TIME}, self = {.of = HD_FLAME_CPU_SELF};
        assert_int_equal(weigh(trace, NULL, &cpu), weigh(trace, NULL, &self));
        hd_attribution_free(attribution);
        hd_trace_free(trace);
    }
    if (read == 0) skip();
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines of a text, sorted. */
static char *sorted_lines(char *text, size_t size)
{
    char **lines = calloc(size + 1, sizeof *lines), *sorted = calloc(size + 2, 1);
    size_t count = 0;
    assert_non_null(lines);
    assert_non_null(sorted);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) strcat(strcat(sorted, lines[i]), "\n");
    free(lines);
    return sorted;
}

/* Folded stacks that someone else wrote come back byte for byte, sorted. */
static void test_flame_data__folded_stacks_come_back_as_they_were(void **state)
{
    (void)state;
    char path[1024];
    size_t size;
    hd_trace *trace = read_data("stacks/pytorch.folded", path);
    if (!trace) skip();
    hd_flame *flame = flame_new();
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, NULL, NULL), HD_OK);
    char *text = flame_folded(flame), *original = file_text(path, &size);
    assert_int_equal(flame->of, HD_FLAME_SAMPLES);
    char *sorted = sorted_lines(original, size);
    assert_string_equal(text, sorted);
    free(text);
    free(original);
    free(sorted);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flame_data__the_root_of_real_traces_is_their_gpu_time),
        cmocka_unit_test(test_flame_data__folded_stacks_come_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
