/* times.c - times on the command line */
#include "cli/times.h"

int cli_parse_time(cli_run *run, hd_convert_time *out, const char *option, const char *text)
{
    hd_error err = {0};
    if (!text || hd_convert_time_parse(out, text, &err) == HD_OK) return CLI_OK;
    return cli_usage_error(run, "%s: %s", option, err.message);
}
