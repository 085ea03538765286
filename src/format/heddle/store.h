/* store.h - the functions of the store's format descriptor */
#ifndef HD_FORMAT_HEDDLE_STORE_H
#define HD_FORMAT_HEDDLE_STORE_H

#include "format/format.h"

#define HEDDLE_STAGE "heddle"

int heddle_sniff(const unsigned char *head, size_t size);
hd_status heddle_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
hd_status heddle_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);

#endif
