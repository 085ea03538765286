/* test_collectives.c - the records against a second reading: each made by hand, numbered by counting those before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/analysis/job.h"
#include "read_text.h"
#include "rounds.h"

enum { KERNELS = 400, STREAMS = 3, GROUPS = 3, SIZE = 8, TEXT_BYTES = KERNELS * 512 + 1024 };

typedef struct kernel {
    int64_t start_us, duration_us, elements, told; /* told: Seq, -1: none */
    int device, stream, group, operation;          /* group 0: none */
    bool is_found;
} kernel;

static const struct operation {
    const char *word, *name;
    int times; /* what AllGather gives out is all ranks' elements */
} operations[] = {{"allreduce", "AllReduce", 1}, {"_allgather_base", "AllGather", SIZE}, {"send", "SendRecv", 1}};
enum { SEND = 2 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Starts are in no order in the file, and all different. */
static void make_kernels(kernel *kernels, bool told, uint64_t seed)
{
    for (int i = 0; i < KERNELS; i++) {
        int at = i * 7 % KERNELS;
        kernels[i] = (kernel){.start_us = 1000 + at * 100,
                              .duration_us = 1 + (int64_t)(next_random(&seed) % 90),
                              .elements = (int64_t)(next_random(&seed) % 5000),
                              .device = (int)(next_random(&seed) % 2),
                              .stream = 7 + (int)(next_random(&seed) % STREAMS),
                              .group = (int)(next_random(&seed) % GROUPS),
                              .operation = (int)(next_random(&seed) % 3),
                              .told = told && next_random(&seed) % 2 ? 100000 + at : -1};
    }
}

static char *text_of(const kernel *kernels)
{
    char *text = malloc(TEXT_BYTES);
    int size = sprintf(
        text, "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 5, \"world_size\": 8}, \"traceEvents\": ["
              "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": 500, "
              "\"dur\": 10, \"args\": {\"device\": 0, \"stream\": 7}}");
    for (int i = 0; i < KERNELS; i++) {
        const kernel *k = &kernels[i];
        char group[40] = "", told[40] = "";
        if (k->group) sprintf(group, ", \"Process Group Name\": \"pg%d\"", k->group);
        if (k->told >= 0) sprintf(told, ", \"Seq\": %" PRId64, k->told);
        size += sprintf(text + size,
                        ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_x\", \"pid\": %d, \"tid\": "
                        "%d, \"ts\": %" PRId64 ", \"dur\": %" PRId64 ", \"args\": {\"device\": %d, \"stream\": %d, "
                        "\"Collective name\": \"%s\", \"dtype\": \"Float\", \"Group size\": %d, \"In msg nelems\": "
                        "%" PRId64 ", \"Out msg nelems\": %" PRId64 "%s%s}}",
                        k->device, k->stream, k->start_us, k->duration_us, k->device, k->stream,
                        operations[k->operation].word, SIZE, k->elements, k->elements * operations[k->operation].times,
                        group, told);
    }
    strcpy(text + size, "]}");
    return text;
}

static bool is_same_group(const kernel *x, const kernel *y)
{
    return x->device == y->device && x->group == y->group && (x->group || x->stream == y->stream) &&
           (x->operation == SEND) == (y->operation == SEND);
}

static int64_t count_before(const kernel *kernels, const kernel *k)
{
    int64_t count = 0;
    for (int i = 0; i < KERNELS; i++) count += is_same_group(&kernels[i], k) && kernels[i].start_us < k->start_us;
    return count;
}

static void assert_text(hd_string text, const char *expected)
{
    if (!expected) {
        assert_null(text.data);
        return;
    }
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, text.size);
}

static void assert_record(const hd_collective *c, const kernel *k, const kernel *kernels)
{
    char group[16];
    sprintf(group, "pg%d", k->group);
    assert_int_equal(c->rank, 5);
    assert_int_equal(c->device, k->device);
    assert_int_equal(c->stream, k->stream);
    assert_text(c->group, k->group ? group : NULL);
    assert_text(c->operation, operations[k->operation].name);
    assert_int_equal(c->size, SIZE);
    assert_int_equal(c->bytes, k->elements * operations[k->operation].times * 4);
    assert_int_equal(c->is_point_to_point, k->operation == SEND);
    assert_int_equal(c->end_ns, (k->start_us + k->duration_us) * 1000);
    assert_int_equal(c->sequence_is_counted, k->told < 0);
    assert_int_equal(c->sequence, k->told < 0 ? count_before(kernels, k) : k->told);
}

static void check(bool told, uint64_t seed)
{
    kernel kernels[KERNELS];
    make_kernels(kernels, told, seed);
    char *text = text_of(kernels);
    hd_trace *trace;
    hd_collectives *all;
    hd_error err = {0};
    if (read_text(&trace, text, strlen(text), &read_fast, 0, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_collectives_new(&all, trace, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_collectives_count(all), KERNELS);
    for (size_t i = 0; i < KERNELS; i++) {
        const hd_collective *c = hd_collectives_at(all, i);
        int at = 0;
        while (at < KERNELS && kernels[at].start_us * 1000 != c->start_ns) at++;
        assert_true(at < KERNELS && !kernels[at].is_found);
        kernels[at].is_found = true;
        assert_record(c, &kernels[at], kernels);
        assert_int_equal(c->event, at + 1); /* behind the gemm, as in the file */
    }
    hd_collectives_free(all);
    hd_trace_free(trace);
    free(text);
}

static void test_collectives__are_numbered_within_their_groups(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 10; seed++) check(false, seed);
}

static void test_collectives__keep_the_sequence_that_the_trace_tells(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(11), seed = first; seed < first + 10; seed++) check(true, seed);
}

static void test_collectives__of_a_trace_without_any_are_none(void **state)
{
    static const char text[] = "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"f\", \"ts\": 1, \"dur\": 1}]}";
    hd_trace *trace;
    hd_collectives *all;
    (void)state;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, &read_fast, 0, NULL), HD_OK);
    assert_int_equal(hd_collectives_new(&all, trace, NULL), HD_OK);
    assert_int_equal(hd_collectives_count(all), 0);
    hd_collectives_free(all);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives__are_numbered_within_their_groups),
        cmocka_unit_test(test_collectives__keep_the_sequence_that_the_trace_tells),
        cmocka_unit_test(test_collectives__of_a_trace_without_any_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
