/* store_map.h - a store file in memory, and the sections that are found in it */
#ifndef HD_FORMAT_HEDDLE_STORE_MAP_H
#define HD_FORMAT_HEDDLE_STORE_MAP_H

#include "base/mapped.h"
#include "format/heddle/store_file.h"

typedef struct store_map {
    hd_mapped file;
    const uint8_t *data;
    size_t size;
    store_section *sections; /* in the order of the file, without the footer */
    size_t count, capacity;
    bool header_whole;
    bool has_footer;  /* sections are those it lists; else those found by going through the file */
    bool has_trailer; /* it led to the footer */
    store_section footer;
    uint64_t skipped_bytes, skipped_offset; /* bytes that are part of no section, where they begin */
} store_map;

/* Errors: those of hd_mapped_open; DAMAGED: nothing of it can be decompressed. */
hd_status store_map_open(store_map *out, hd_input *input, hd_error *err);
/* Find the sections: by the trailer; where there is none, from the front. Errors: UNSUPPORTED: a later version. */
hd_status store_map_survey(store_map *map, hd_error *err);
void store_map_close(store_map *map);

#endif
