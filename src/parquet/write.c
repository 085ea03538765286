/* write.c - Arrow streams as Parquet */
#include "base/error.h"
#include "heddle/parquet.h"

hd_status hd_parquet_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, const hd_parquet_options *options,
                           hd_error *err)
{
    (void)sink;
    (void)options;
    stream->release(stream);
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "not yet");
}
