/* times.c - times of counters as monitors write them */
#include "format/counters/times.h"

#include "base/text/dates.h"
#include "base/text/decimal.h"

static const int64_t DAY_NS = INT64_C(86400000000000);

static bool is_of_clock(counters_times *times, counters_clock clock)
{
    if (times->clock == COUNTERS_UNKNOWN) times->clock = clock;
    return times->clock == clock;
}

/* Seconds, with or without a fraction; larger numbers are in smaller units. */
static bool parse_unix(int64_t *out_ns, const char *text, size_t size)
{
    static const double limits[] = {9e9, 9e12, 9e15}; /* to the year 2255 */
    hd_fixed number;
    int shift = 9;
    if (!size || *text < '0' || *text > '9' || !hd_fixed_parse(&number, text, size, 0)) return false;
    for (size_t i = 0; i < 3 && (double)number.whole >= limits[i]; i++) shift -= 3;
    if (!hd_fixed_parse(&number, text, size, shift)) return false;
    *out_ns = number.whole;
    return true;
}

static bool of_day(counters_times *times, int64_t *out_ns, int64_t ns)
{
    if (!is_of_clock(times, COUNTERS_DAY)) return false;
    if (ns + times->midnight_ns + DAY_NS / 2 < times->last_ns && times->midnight_ns < INT64_MAX - 3 * DAY_NS)
        times->midnight_ns += DAY_NS;
    *out_ns = times->last_ns = ns + times->midnight_ns;
    return true;
}

/* "2026/11/29", "20261129" -> "2026-11-29" */
static void keep_date(counters_times *times, int64_t days, const char *date)
{
    times->first_day = days;
    for (size_t i = 0; i + 1 < sizeof times->first_date; i++) {
        bool is_dash = i == 4 || i == 7;
        times->first_date[i] = is_dash ? '-' : *date++;
        if (!is_dash && (*date == '/' || *date == '-')) date++;
    }
}

static bool of_date(counters_times *times, int64_t *out_ns, int64_t days, const char *date, hd_string rest)
{
    int64_t ns, zone;
    size_t used = hd_day_time_parse(&ns, rest.data, rest.size);
    if (!used) return false;
    rest.data += used, rest.size -= used;
    while (rest.size && *rest.data == ' ') rest.data++, rest.size--;
    bool has_zone = rest.size > 0;
    if (has_zone && hd_zone_parse(&zone, rest.data, rest.size) != rest.size) return false;
    if (times->clock == COUNTERS_UNKNOWN && !has_zone) keep_date(times, days, date);
    if (!has_zone) days -= times->first_day;
    if (__builtin_mul_overflow(days, DAY_NS, out_ns) || __builtin_add_overflow(*out_ns, ns, out_ns)) return false;
    if (has_zone && __builtin_sub_overflow(*out_ns, zone, out_ns)) return false;
    return is_of_clock(times, has_zone ? COUNTERS_UNIX : COUNTERS_LOCAL);
}

bool counters_time_parse(counters_times *times, int64_t *out_ns, const char *text, size_t size)
{
    int64_t days;
    size_t used = hd_date_parse(&days, text, size);
    if (used && used < size && (text[used] == ' ' || text[used] == 'T'))
        return of_date(times, out_ns, days, text, (hd_string){text + used + 1, size - used - 1});
    used = hd_day_time_parse(out_ns, text, size);
    if (used && used == size) return of_day(times, out_ns, *out_ns);
    return parse_unix(out_ns, text, size) && is_of_clock(times, COUNTERS_UNIX);
}

bool counters_time_of_two(counters_times *times, int64_t *out_ns, hd_string date, hd_string time)
{
    int64_t days;
    return hd_date_parse(&days, date.data, date.size) == date.size && date.size &&
           of_date(times, out_ns, days, date.data, time);
}

bool counters_time_of_row(counters_times *times, int64_t *out_ns, uint32_t of)
{
    if (times->clock == COUNTERS_UNKNOWN)
        times->first = of;
    else if (of == times->first)
        times->rows++;
    *out_ns = (int64_t)times->rows * 1000000000;
    return is_of_clock(times, COUNTERS_ROWS);
}
