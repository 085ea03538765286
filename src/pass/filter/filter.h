/* filter.h - the events of some tracks, of some names, of some categories
 *
 * In: a trace and patterns. Out: what they name, as a trace. Begin with filter.c.
 */
#ifndef HD_PASS_FILTER_FILTER_H
#define HD_PASS_FILTER_FILTER_H

#include "pass/copy/copy.h"

/* Lists of patterns, parted by commas; NULL: everything. `*`, `?` and `[a-z]` as in a shell, of the whole text; /REGEX/
 * is a POSIX extended regular expression found anywhere in it; `!` before a pattern leaves out what it matches; a
 * backslash takes the meaning from the next character. A text passes when it matches a pattern without `!`, or there is
 * none, and no pattern with one. */
typedef struct hd_filter {
    const char *tracks;   /* thread name, process name, "PROCESS/THREAD", with pid and tid where there is no name */
    const char *names;    /* of events */
    const char *category; /* of events */
} hd_filter;

/* ARGUMENT: a pattern that is none. */
hd_status hd_filter_valid(const hd_filter *filter, hd_error *err);

/* The events that pass every list. Names and order of the tracks that are left stay. The caller frees the trace. */
hd_status hd_filter_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_filter *filter,
                          hd_error *err);

#endif
