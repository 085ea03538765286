/* pass_text.h - passes on traces given as JSON text, for their tests */
#ifndef HD_TESTS_PASS_TEXT_H
#define HD_TESTS_PASS_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "dump.h"
#include "pass/copy/copy.h"
#include "read_text.h"

#define NO_STATE void **state __attribute__((unused))

static inline hd_trace *trace_of(const char *text)
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options options = {0};
    if (read_text(&trace, text, strlen(text), &options, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

/* Frees `got`. Its events must be those of the text, tracks and metadata may differ. */
static inline void assert_events(hd_trace *got, const char *wanted)
{
    hd_trace *expected = trace_of(wanted);
    char *x = dump_trace(got, DUMP_CONTENT), *y = dump_trace(expected, DUMP_CONTENT);
    assert_string_equal(strstr(x, "\nevents\n"), strstr(y, "\nevents\n"));
    free(x);
    free(y);
    hd_trace_free(expected);
    hd_trace_free(got);
}

static inline void assert_accounted(const hd_trace *in, const hd_trace *out, hd_pass_result result)
{
    assert_int_equal(hd_trace_event_count(in) + result.added, hd_trace_event_count(out) + result.removed + result.lost);
}

/* Count of a ledger row, 0: there is none. */
static inline uint64_t ledger_count(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (strcmp(hd_trace_ledger_at(trace, i)->code, code) == 0) return hd_trace_ledger_at(trace, i)->count;
    }
    return 0;
}

#endif
