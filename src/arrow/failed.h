/* failed.h - for those who read a stream of Arrow: its errors as ours */
#ifndef HD_ARROW_FAILED_H
#define HD_ARROW_FAILED_H

#include "heddle/arrow.h"

/* What the stream says of a call that returned `problem`, which is not 0: MEMORY, else IO. */
hd_status arrow_stream_failed(struct ArrowArrayStream *stream, int problem, hd_error *err);

#endif
