/* times.h - times of counters as monitors write them
 *
 * All times of a file are on the clock of its first time. A time on another clock is damage.
 */
#ifndef HD_FORMAT_COUNTERS_TIMES_H
#define HD_FORMAT_COUNTERS_TIMES_H

#include "heddle/status.h"
#include "heddle/trace.h"

typedef enum counters_clock {
    COUNTERS_UNKNOWN,
    COUNTERS_UNIX,
    COUNTERS_LOCAL, /* of an unknown zone: since the midnight at which the first day begins */
    COUNTERS_DAY,   /* likewise of an unknown day */
    COUNTERS_ROWS,  /* none: a second a row */
} counters_clock;

typedef struct counters_times {
    counters_clock clock;
    int64_t first_day; /* of COUNTERS_LOCAL, since 1970-01-01 */
    char first_date[sizeof "2026-11-29"];
    int64_t last_ns, midnight_ns; /* of COUNTERS_DAY: a time far before the last one is of the next day */
    uint64_t rows;                /* of COUNTERS_ROWS, less one */
    uint32_t first;               /* string: what the first row is of; the next of it begins a new second */
} counters_times;

/* "2026/11/29 14:31:25.321", with or without a zone after it; "14:31:25" alone; a number: Unix seconds, or from 9 *
 * 10^9 on milliseconds, and so on. false: none, or of another clock than the first. */
bool counters_time_parse(counters_times *times, int64_t *out_ns, const char *text, size_t size);
/* The same of a date and a time in two texts. */
bool counters_time_of_two(counters_times *times, int64_t *out_ns, hd_string date, hd_string time);
/* The time of a row that has none. */
bool counters_time_of_row(counters_times *times, int64_t *out_ns, uint32_t of);

#endif
