/* test_mark.c - the macros of mark.h when they are on */
#define HD_MARKS 1
#include "heddle/mark.h"

#include "capture/session_support.h"

static void work(int n)
{
    HD_MARK_SCOPE("work");
    HD_MARK_COUNTER("n", n);
    {
        HD_MARK_SCOPE_IN("inner", "deep");
        HD_MARK_INSTANT("here");
        HD_MARK_FLOW_START("flow", (uint64_t)n);
    }
    HD_MARK_FLOW_END("flow", (uint64_t)n);
}

static hd_trace *traced(const char *name)
{
    char path[128];
    hd_session *session = start_session(file_named(path, name), NULL);
    hd_session_intern(session, name); /* so that ids differ from session to session */
    hd_mark_use(session);
    work(1);
    work(2);
    hd_mark_use(NULL);
    hd_session_free(session);
    hd_trace *trace = read_capture(path);
    unlink(path);
    return trace;
}

static void test_mark__marks_go_to_the_session_in_use(void **state)
{
    (void)state;
    work(0); /* nobody listens */
    for (int turn = 0; turn < 2; turn++) {
        hd_trace *trace = traced(turn ? "again.hdcap" : "once.hdcap");
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 4);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_END), 4);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 2);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), 2);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_FLOW), 4);
        assert_int_equal(hd_trace_ledger_count(trace), 0);
        hd_event outer = row_at(trace, HD_KIND_SLICE, 0), inner = row_at(trace, HD_KIND_SLICE, 1);
        assert_true(text_is(trace, outer.name, "work"));
        assert_true(text_is(trace, inner.name, "inner") && text_is(trace, inner.category, "deep"));
        assert_true(inner.start_ns + inner.duration_ns <= outer.start_ns + outer.duration_ns);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mark__marks_go_to_the_session_in_use)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
