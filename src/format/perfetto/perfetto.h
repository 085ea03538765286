/* perfetto.h - the entry points of the Perfetto protobuf format */
#ifndef HD_FORMAT_PERFETTO_PERFETTO_H
#define HD_FORMAT_PERFETTO_PERFETTO_H

#include "format/format.h"

#define PERFETTO_STAGE "perfetto"

int perfetto_sniff(const unsigned char *head, size_t size);
hd_status perfetto_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
hd_status perfetto_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);

#endif
