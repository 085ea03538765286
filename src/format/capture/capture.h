/* capture.h - captures: chunks of events of threads (capture_read.c) into rows (capture_rows.c) */
#ifndef HD_FORMAT_CAPTURE_CAPTURE_H
#define HD_FORMAT_CAPTURE_CAPTURE_H

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "format/format.h"

#define CAPTURE_STAGE "capture"

int capture_sniff(const unsigned char *head, size_t size);
hd_status capture_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* One event, decoded. */
typedef struct capture_event {
    unsigned kind;
    int64_t time_ns;
    uint64_t name, category; /* ids of the file */
    uint64_t value, bytes, device;
} capture_event;

/* Decode the next; `event` holds the one before it (zero before the first). false: no event, b->failed or not. */
bool capture_next_event(capture_event *event, hd_byte_reader *b);

typedef struct capture_rows capture_rows;

hd_status capture_rows_new(capture_rows **out, hd_builder *builder, bool want_args, hd_error *err);
void capture_rows_free(capture_rows *rows);
/* name, category: string ids of the trace. */
hd_status capture_rows_add(capture_rows *rows, uint32_t track, const capture_event *event, uint32_t name,
                           uint32_t category, hd_error *err);
/* Hands the rows to the builder. */
hd_status capture_rows_finish(capture_rows *rows, hd_error *err);

#endif
