/* anchor.h - the anchor file of an archive, NAME.otf2, read by ourselves before the library sees it */
#ifndef HD_FORMAT_OTF2_ANCHOR_H
#define HD_FORMAT_OTF2_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

typedef struct otf2_anchor {
    bool big_endian;
    uint8_t version[3]; /* of the library that wrote it */
    uint64_t event_chunk_bytes, definition_chunk_bytes;
    uint8_t substrate, compression;
    uint64_t location_count, definition_count;
    uint32_t property_count;
    uint64_t trace_id;
    uint32_t snapshot_count, thumbnail_count;
} otf2_anchor;

/* Parses and checks everything against what the library supports. The file is complete: a missing byte is an error.
 * Errors: HD_ERR_DAMAGED with the offset, HD_ERR_UNSUPPORTED for SION files and compressed archives. */
hd_status otf2_anchor_parse(otf2_anchor *out, const uint8_t *data, size_t size, const char *path, hd_error *err);

#endif
