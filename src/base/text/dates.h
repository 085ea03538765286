/* dates.h - dates, times of the day and offsets of time zones, as text */
#ifndef HD_BASE_TEXT_DATES_H
#define HD_BASE_TEXT_DATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each parses the beginning of text[0 … size) and returns the number of bytes that it used; 0: not such a text. */

/* "2026-11-29", "2026/11/29", "20261129": days since 1970-01-01 (Gregorian, years 1 to 9999). */
size_t hd_date_parse(int64_t *out_days, const char *text, size_t size);
/* "14:31:25", "4:31:25.321": ns since midnight; digits beyond nanoseconds are dropped. */
size_t hd_day_time_parse(int64_t *out_ns, const char *text, size_t size);
/* "Z", "UTC", "+02:00", "-0330", "+2": ns to subtract from a time of that zone to get UTC. */
size_t hd_zone_parse(int64_t *out_ns, const char *text, size_t size);

#endif
