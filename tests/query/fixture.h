/* fixture.h - a query over a trace of one slice */
#ifndef HD_TESTS_QUERY_FIXTURE_H
#define HD_TESTS_QUERY_FIXTURE_H

#include "heddle/query.h"
#include "read_text.h"

typedef struct fixture {
    hd_trace *trace;
    hd_query *query;
    hd_error err;
} fixture;

static inline void open_query(fixture *f, const hd_query_options *options)
{
    static const char document[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\",\"pid\":1,\"tid\":1}]";
    *f = (fixture){0};
    assert_int_equal(read_text(&f->trace, document, sizeof document - 1, &read_fast, 0, NULL), HD_OK);
    const hd_query_input input = {.trace = f->trace, .path = "a.json", .rank = HD_NO_NUMBER};
    assert_int_equal(hd_query_new(&f->query, &input, 1, options, &f->err), HD_OK);
}

static inline void close_query(fixture *f)
{
    hd_query_free(f->query);
    hd_trace_free(f->trace);
}

#endif
