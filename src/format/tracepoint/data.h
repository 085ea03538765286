/* data.h - the data before the events of trace.dat and perf.data
 *
 * Both contain the files of the kernel's tracing folder: header_page, the `format` of all events, names of threads.
 */
#ifndef HD_FORMAT_TRACEPOINT_DATA_H
#define HD_FORMAT_TRACEPOINT_DATA_H

#include "base/io/pieces.h"
#include "format/tracepoint/tracepoint.h"

/* Bytes of a file in order; after a failure it returns zeros. */
typedef struct tp_input {
    hd_window window;
    uint64_t at, end;
    bool failed;
    hd_error *err;
} tp_input;

const uint8_t *tp_take(tp_input *in, uint64_t size); /* NULL: there are fewer. Valid until the next */
uint64_t tp_take_number(tp_input *in, unsigned width);
bool tp_take_text(tp_input *in, char *out, size_t capacity); /* with its NUL */

typedef struct tp_data {
    tp_place *place;
    tp_layouts layouts;
    bool is_big_endian;
    uint32_t long_bytes, page_bytes;
    uint32_t commit_at, commit_bytes, data_at; /* of a page */
    uint64_t bad_layouts;
} tp_data;

/* The first bytes: magic, version, sizes. */
bool tp_data_magic(tp_data *data, tp_input *in, char version[16]);
void tp_data_header_info(tp_data *data, tp_input *in);
hd_status tp_data_ftrace_events(tp_data *data, tp_input *in);
hd_status tp_data_event_formats(tp_data *data, tp_input *in);
hd_status tp_data_threads(tp_data *data, tp_input *in, bool are_processes);
/* Reads all consecutive parts. */
hd_status tp_data_read(tp_data *data, tp_input *in, bool has_names);

#endif
