/* report_trace.h - hand-built traces for the tests of reports */
#ifndef TEST_REPORT_TRACE_H
#define TEST_REPORT_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "heddle/builder.h"
#include "report/report_tables.h"

typedef struct maker {
    hd_builder *builder;
    hd_batch *batch;
} maker;

static inline maker make(void)
{
    maker m;
    assert_int_equal(hd_builder_new(&m.builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&m.batch, m.builder, NULL), HD_OK);
    return m;
}

static inline void add_row(maker *m, const hd_row *row, const int64_t *values)
{
    assert_int_equal(hd_batch_add(m->batch, row, values, NULL), HD_OK);
}

/* An event of a phase on (pid, tid); more is filled in by the caller. */
static inline hd_row event_row(maker *m, hd_kind kind, char phase, const char *name, int64_t tid, int64_t start_ns)
{
    hd_row row = hd_row_of(kind, phase);
    row.track = hd_builder_thread(m->builder, 1, tid);
    row.name = hd_builder_intern_text(m->builder, name);
    row.start_ns = start_ns;
    return row;
}

static inline void add_slice(maker *m, const char *name, int64_t tid, int64_t start_ns, int64_t end_ns)
{
    hd_row row = event_row(m, HD_KIND_SLICE, 'X', name, tid, start_ns);
    row.duration_ns = end_ns - start_ns;
    add_row(m, &row, NULL);
}

/* A slice of a category with a correlation id. */
static inline void add_correlated(maker *m, const char *category, const char *name, int64_t tid, int64_t start_ns,
                                  int64_t id)
{
    hd_arg_key key = {.key = hd_builder_intern_text(m->builder, "correlation"), .type = HD_ARG_INT};
    hd_row row = event_row(m, HD_KIND_SLICE, 'X', name, tid, start_ns);
    row.duration_ns = 10;
    row.category = hd_builder_intern_text(m->builder, category);
    row.shape = hd_builder_shape(m->builder, &key, 1, true);
    add_row(m, &row, &id);
}

static inline void add_flow(maker *m, char phase, int64_t id, int64_t tid, int64_t at_ns, bool enclosing)
{
    hd_row row = event_row(m, HD_KIND_FLOW, phase, "flow", tid, at_ns);
    row.phase |= enclosing ? HD_FLAG_BIND_ENCLOSING : 0;
    row.id_type = HD_ID_INT;
    row.id = id;
    add_row(m, &row, NULL);
}

static inline hd_trace *finish(maker *m)
{
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_batch_take(&chunk, m->batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(m->builder, chunk, NULL), HD_OK);
    hd_batch_free(m->batch);
    assert_int_equal(hd_builder_finish(&trace, m->builder, NULL), HD_OK);
    return trace;
}

#endif
