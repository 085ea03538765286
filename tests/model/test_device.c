/* test_device.c - what devices are called, by names as producers write them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/identity/device.h"
#include "read_text.h"

static void test_device__words_of_producers_give_the_kind(void **state)
{
    static const char *const names[][2] = {
        {"/device:TPU:0", "TPU"},
        {"TPU v6 Lite", "TPU"},
        {"NPU 0", "NPU"},
        {"Ascend910B", "NPU"},
        {"Ascend Hardware", "NPU"},
        {"AICORE OP", "NPU"},
        {"MTIA 9", "MTIA"},
        {"Gaudi2", "HPU"},
        {"/device:GPU:0", "GPU"},
        {"NVIDIA H100 PCIe", "GPU"},
        {"", "GPU"},
        {"python", "GPU"},
        {"OUTPUT", "GPU"},
        {"TPUs", "GPU"},
        {"INPUT", "GPU"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(hd_device_kind_in((hd_string){names[i][0], strlen(names[i][0])}), names[i][1]);
}

static hd_trace *trace_of(const char *text)
{
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, strlen(text), NULL, 0, NULL), HD_OK);
    return trace;
}

/* Processes 1 and 2 with a kernel on a stream each. */
static void check_kinds(const char *first, const char *second, const char *expected)
{
    char text[1024];
    snprintf(text, sizeof text,
             "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"%s\"}},"
             "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":2,\"args\":{\"labels\":\"%s\"}},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{"
             "\"device\":0,\"stream\":7}},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":2,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{"
             "\"device\":1,\"stream\":7}}]",
             first, second);
    hd_trace *trace = trace_of(text);
    assert_string_equal(hd_device_kinds(trace), expected);
    hd_trace_free(trace);
}

static void test_device__a_trace_with_several_kinds_has_devices(void **state)
{
    (void)state;
    check_kinds("NPU 0", "NPU", "NPU");
    check_kinds("MTIA 0", "MTIA 1", "MTIA");
    check_kinds("python", "GPU 1", "GPU");
    check_kinds("python", "NPU", "device");
    hd_trace *trace = trace_of("[]");
    assert_string_equal(hd_device_kinds(trace), "GPU");
    assert_string_equal(hd_device_kind(trace, HD_NONE), "GPU");
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device__words_of_producers_give_the_kind),
        cmocka_unit_test(test_device__a_trace_with_several_kinds_has_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
