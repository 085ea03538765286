/* options.c - options of callers, which may have been built with another release */
#include "base/options.h"

#include <string.h>

hd_status hd_options_copy(void *out, size_t size, size_t first, const void *options, hd_error *err)
{
    size_t given;
    memset(out, 0, size);
    if (!options) return HD_OK;
    memcpy(&given, options, sizeof given);
    if (given == 0) given = first;
    for (size_t i = size; i < given; i++) {
        if (((const char *)options)[i])
            return hd_error_set(
                err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                "an option is set that this release does not know: its options have %zu bytes, these %zu", size, given);
    }
    memcpy(out, options, given < size ? given : size);
    memcpy(out, &size, sizeof size);
    return HD_OK;
}
