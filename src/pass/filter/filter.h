/* filter.h - keeps the events of some tracks, names or categories
 *
 * In: a trace and patterns. Out: a trace of the matching events. Begin with filter.c.
 */
#ifndef HD_PASS_FILTER_FILTER_H
#define HD_PASS_FILTER_FILTER_H

#include "pass/copy/copy.h"

/* Comma-separated patterns; NULL: everything. `*`, `?` and `[a-z]` as in a shell, of the whole text; /REGEX/ is a POSIX
 * extended regular expression found anywhere in it; `!` before a pattern excludes its matches; a backslash makes the
 * next character literal. A text passes if it matches a pattern without `!`, or there is none, and matches no pattern
 * with `!`. */
typedef struct hd_filter {
    const char *tracks;   /* thread name, process name, "PROCESS/THREAD", with pid and tid where there is no name */
    const char *names;    /* of events */
    const char *category; /* of events */
    /* For callers in C: whether an event stays; NULL: all. Flow points bound to a slice are not asked about. */
    bool (*stays)(const void *user, hd_kind kind, uint64_t row);
    const void *user;
} hd_filter;

/* ARGUMENT: a pattern that is none. */
hd_status hd_filter_valid(const hd_filter *filter, hd_error *err);

/* The events that pass every list. Names and order of the tracks that are left stay. The caller frees the trace. */
hd_status hd_filter_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_filter *filter,
                          hd_error *err);

#endif
