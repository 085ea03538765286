/* source.h - the structs of sources and sinks; input.h and output.h open them
 *
 * A source on the stack with a borrowed name is as good as one from hd_byte_source_new_…: (hd_byte_source){.name =
 * path}.
 */
#ifndef HD_BASE_IO_SOURCE_H
#define HD_BASE_IO_SOURCE_H

#include <stdint.h>

#include "base/bytes.h"
#include "heddle/source.h"

typedef enum hd_place { HD_PLACE_PATH = 0, HD_PLACE_MEMORY, HD_PLACE_DESCRIPTOR, HD_PLACE_CALLBACK } hd_place;

struct hd_byte_source {
    hd_place place;
    const char *name; /* the path of HD_PLACE_PATH */
    const uint8_t *data;
    size_t size; /* of data */
    int descriptor;
    hd_byte_source_read *read;
    void *user;
};

struct hd_byte_sink {
    hd_place place;
    const char *name;
    hd_bytes memory; /* what was written */
    int descriptor;
    hd_byte_sink_write *write;
    void *user;
};

#endif
