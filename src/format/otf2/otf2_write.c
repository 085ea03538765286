/* otf2_write.c - trace -> OTF2 archive */
#include "base/error.h"
#include "format/otf2/otf2.h"

hd_status otf2_write_path(const hd_trace *trace, const char *path, const hd_write_options *options, hd_error *err)
{
    (void)trace;
    (void)options;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE, "not yet");
}
