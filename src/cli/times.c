/* times.c - times on the command line */
#include "cli/times.h"

#include <string.h>

#include "heddle/fix.h"

/* Digits with at most one point; *out_scale is how many stand behind it. NULL: it is no such number. */
static const char *read_digits(int64_t *out, unsigned *out_scale, const char *text)
{
    unsigned digits = 0;
    bool point = false;
    *out = 0;
    *out_scale = 0;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (++digits > 15) return NULL;
        *out = *out * 10 + (*text - '0');
        *out_scale += point;
    }
    return digits ? text : NULL;
}

int cli_parse_time(cli_run *run, hd_convert_time *out, const char *option, const char *text)
{
    static const struct {
        const char *name;
        hd_convert_unit unit;
        int64_t factor;
    } units[] = {
        {"ns", HD_CONVERT_NS, 1},           {"us", HD_CONVERT_NS, 1000},    {"\xc2\xb5s", HD_CONVERT_NS, 1000},
        {"\xce\xbcs", HD_CONVERT_NS, 1000}, {"ms", HD_CONVERT_NS, 1000000}, {"s", HD_CONVERT_NS, 1000000000},
        {"%", HD_CONVERT_PERCENT, 10000},
    };
    __extension__ typedef __int128 i128;
    int64_t digits;
    unsigned scale;
    if (!text) return CLI_OK;
    const char *unit = read_digits(&digits, &scale, text);
    if (unit && *unit == '\0' && digits == 0) unit = "ns";
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) != 0) continue;
        i128 value = (i128)digits * units[i].factor;
        while (scale-- > 0) value /= 10;
        if (value > INT64_MAX) return cli_usage_error(run, "%s: '%.40s' is too large", option, text);
        *out = (hd_convert_time){units[i].unit, (int64_t)value};
        return CLI_OK;
    }
    if (unit && *unit == '\0')
        return cli_usage_error(run, "%s: '%.40s' has no unit: write %.40sns, %.40sus, %.40sms, %.40ss or %.40s%%",
                               option, text, text, text, text, text, text);
    return cli_usage_error(run, "%s: '%.40s' is no time: write 1.5s, 250ms, 10us, 4ns or 12.5%%", option, text);
}

int64_t cli_snap_threshold_ps(double us)
{
    int64_t ps = (int64_t)(us * 1e6 + 0.5);
    return ps ? ps : HD_FIX_SNAP_NONE;
}
