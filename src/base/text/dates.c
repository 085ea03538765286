/* dates.c - dates, times of the day and offsets of time zones, as text */
#include "base/text/dates.h"

#include <string.h>

/* Up to `most` digits; *count says how many there were. */
static unsigned read_digits(size_t *count, const char *text, size_t size, size_t most)
{
    unsigned value = 0;
    size_t n = 0;
    for (; n < size && n < most && text[n] >= '0' && text[n] <= '9'; n++)
        value = value * 10 + (unsigned)(text[n] - '0');
    *count = n;
    return value;
}

/* By 400-year cycles that begin in March. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t of_march = month > 2 ? year : (int64_t)year - 1;
    int64_t era = of_march / 400, year_of_era = of_march - era * 400;
    unsigned shifted = month > 2 ? month - 3 : month + 9;
    int64_t day_of_year = (153 * shifted + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

size_t hd_date_parse(int64_t *out_days, const char *text, size_t size)
{
    static const unsigned lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    size_t n, at = 4;
    unsigned year = read_digits(&n, text, size, 4);
    char separator = n == 4 && size > 4 && (text[4] == '-' || text[4] == '/') ? text[4] : '\0';
    if (n != 4 || !year) return 0;
    at += separator != '\0';
    unsigned month = read_digits(&n, text + at, size - at, 2);
    at += n;
    if (n != 2 || month < 1 || month > 12 || (separator && (at >= size || text[at] != separator))) return 0;
    at += separator != '\0';
    unsigned day = read_digits(&n, text + at, size - at, 2);
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (n != 2 || day < 1 || day > lengths[month - 1] || (month == 2 && day == 29 && !is_leap)) return 0;
    *out_days = days_of(year, month, day);
    return at + n;
}

size_t hd_day_time_parse(int64_t *out_ns, const char *text, size_t size)
{
    unsigned parts[3];
    static const unsigned limits[] = {24, 60, 61};
    size_t at = 0, n;
    for (int i = 0; i < 3; i++) {
        if (i && (at >= size || text[at++] != ':')) return 0;
        parts[i] = read_digits(&n, text + at, size - at, 2);
        if (!n || (i && n != 2) || parts[i] >= limits[i]) return 0;
        at += n;
    }
    int64_t ns = 0, scale = 1000000000;
    if (at + 1 < size && (text[at] == '.' || text[at] == ',') && text[at + 1] >= '0' && text[at + 1] <= '9') {
        for (at++; at < size && text[at] >= '0' && text[at] <= '9'; at++) ns += (text[at] - '0') * (scale /= 10);
    }
    *out_ns = ((parts[0] * 60 + parts[1]) * INT64_C(60) + parts[2]) * 1000000000 + ns;
    return at;
}

size_t hd_zone_parse(int64_t *out_ns, const char *text, size_t size)
{
    size_t n, more = 0;
    *out_ns = 0;
    if (size && *text == 'Z') return 1;
    if (size >= 3 && memcmp(text, "UTC", 3) == 0) return 3;
    if (!size || (*text != '+' && *text != '-')) return 0;
    unsigned hours = read_digits(&n, text + 1, size - 1, 2), minutes = 0;
    size_t at = 1 + n;
    if (!n || hours > 14) return 0;
    bool has_colon = at < size && text[at] == ':';
    minutes = read_digits(&more, text + at + has_colon, size - at - has_colon, 2);
    if (more == 2)
        at += has_colon + 2;
    else if (has_colon || more)
        return 0;
    if (minutes > 59) return 0;
    *out_ns = (hours * INT64_C(60) + (more ? minutes : 0)) * 60000000000 * (*text == '-' ? -1 : 1);
    return at;
}
