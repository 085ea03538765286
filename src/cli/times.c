/* times.c - times on the command line */
#include "cli/times.h"

#include "heddle/fix.h"
int cli_parse_time(cli_run *run, hd_convert_time *out, const char *option, const char *text)
{
    hd_error err = {0};
    if (!text || hd_convert_time_parse(out, text, &err) == HD_OK) return CLI_OK;
    return cli_usage_error(run, "%s: %s", option, err.message);
}

int64_t cli_snap_threshold_ps(double us)
{
    int64_t ps = (int64_t)(us * 1e6 + 0.5);
    return ps ? ps : HD_FIX_SNAP_NONE;
}
