/* test_route_report.c - reports over the scene: the list, cells, options, and what is refused */
#include "heddle/report.h"
#include "view/query_maker.h"

static const char text[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":1000,\"dur\":5,"
    "\"args\":{"
    "\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"<b>gemm\",\"pid\":0,\"tid\":7,\"ts\":1010,\"dur\":10,\"args\":{"
    "\"correlation\":1,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"pid\":0,\"tid\":7,\"ts\":1030,\"dur\":2.5,\"args\":{"
    "\"device\":0,"
    "\"stream\":7}}]";

static void test_report__all_are_listed(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = maker_ask(&m, view_route_reports, "");
    for (size_t i = 0; i < hd_report_count(); i++) {
        char name[80];
        snprintf(name, sizeof name, "\"name\":\"%s\"", hd_report_at(i)->name);
        has(answer, name);
    }
    maker_close(&m);
}

/* Durations are ns, times count from the start of the trace, what is not known is null. */
static void test_report__cells_are_exact(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = maker_ask(&m, view_route_report, "name=kernels");
    has(answer, "\"name\":\"kernels\"");
    has(answer, "\"count\":2");
    has(answer, "{\"name\":\"total\",\"type\":\"duration\"");
    has(answer, "[null,0,null,null,\"<b>gemm\",null,null,null,null,null,null,null,80,10000,1,10000,10000,10000,10000,"
                "null,null,null,null]");
    answer = maker_ask(&m, view_route_report, "name=timeline&width=1");
    has(answer, "[0,0,0,32500,12500,\"<b>gemm\",10000]"); /* the cell of stream 7 */
    maker_close(&m);
}

static void test_report__options_are_those_of_the_report(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(maker_ask(&m, view_route_report, "name=kernels&linked="), "\"count\":1");
    has(maker_ask(&m, view_route_report, "name=kernels&from=20000ns"), "\"add\"");
    has(maker_ask(&m, view_route_report, "name=kernels&by=stream"), "\"<b>gemm\",null,null,null,null,null,7,");
    maker_close(&m);
}

static void test_report__what_is_not_there_is_refused_in_words(void **state)
{
    (void)state;
    static const char *const queries[][2] = {{"name=kernel", "did you mean kernels?"},
                                             {"", "no report"},
                                             {"name=kernels&bogus=1", "bogus"},
                                             {"name=kernels&by=bogus", "bogus"},
                                             {"name=kernels&from=x", "is no time"}};
    maker m;
    maker_open(&m, text);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        assert_null(maker_ask(&m, view_route_report, queries[i][0]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
        has(m.error.message, queries[i][1]);
    }
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report__all_are_listed),
        cmocka_unit_test(test_report__cells_are_exact),
        cmocka_unit_test(test_report__options_are_those_of_the_report),
        cmocka_unit_test(test_report__what_is_not_there_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
