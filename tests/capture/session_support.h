/* session_support.h - a folder for the files of a test, and looks into the traces that come back */
#ifndef HD_TESTS_CAPTURE_SESSION_SUPPORT_H
#define HD_TESTS_CAPTURE_SESSION_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heddle/format.h"
#include "heddle/session.h"

static char test_folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(test_folder, "/tmp/heddle-session-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return rmdir(test_folder);
}

static inline const char *file_named(char *out, const char *name)
{
    sprintf(out, "%s/%s", test_folder, name);
    return out;
}

static inline hd_session *start_session(const char *path, const hd_session_options *options)
{
    hd_session *session;
    hd_error err = {0};
    if (hd_session_start(&session, path, options, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    return session;
}

static inline hd_trace *read_capture(const char *path)
{
    hd_trace *trace;
    hd_error err = {0};
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    return trace;
}

static inline uint64_t ledger_count(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->code, code) == 0) return row->count;
    }
    return 0;
}

static inline bool text_is(const hd_trace *trace, uint32_t id, const char *text)
{
    hd_string s = hd_trace_string(trace, id);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static inline hd_event row_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

static inline int64_t arg_of(const hd_trace *trace, const hd_event *event, const char *key)
{
    int64_t value = INT64_MIN;
    hd_event_arg_int(&value, trace, event, hd_trace_find_string(trace, key, strlen(key)));
    return value;
}

static inline void assert_adds_up(const hd_session_stats *stats)
{
    assert_int_equal(stats->emitted, stats->written + stats->dropped_newest + stats->dropped_oldest + stats->nested +
                                         stats->lost + stats->pending);
}

#endif
