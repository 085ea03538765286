/* duration_text.c - durations for people */
#include "view/write/duration_text.h"

#include <stdio.h>

const char *view_duration_text(char out[VIEW_DURATION_BYTES], double ns)
{
    double amount = ns < 0 ? -ns : ns;
    if (amount < 1e3)
        snprintf(out, VIEW_DURATION_BYTES, "%.4g ns", ns);
    else if (amount < 1e6)
        snprintf(out, VIEW_DURATION_BYTES, "%.6g \xc2\xb5s", ns / 1e3);
    else if (amount < 1e9)
        snprintf(out, VIEW_DURATION_BYTES, "%.6g ms", ns / 1e6);
    else
        snprintf(out, VIEW_DURATION_BYTES, "%.6g s", ns / 1e9);
    return out;
}
