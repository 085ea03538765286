/* map.h - a store file, and its sections */
#ifndef HD_FORMAT_HEDDLE_READ_MAP_H
#define HD_FORMAT_HEDDLE_READ_MAP_H

#include "base/io/pieces.h"
#include "base/memory/arena.h"
#include "format/heddle/file/file.h"

typedef struct store_map {
    hd_pieces file;
    store_section *sections; /* in the order of the file, without the footer */
    size_t count, capacity;
    hd_arena heads; /* of sections */
    bool header_whole;
    bool has_footer;  /* sections are those in the footer; else those found by scanning the file */
    bool has_trailer; /* it led to the footer */
    bool has_end;     /* the file ends with a whole trailer: it was not cut */
    store_section footer;
    uint64_t skipped_bytes, skipped_offset; /* bytes that are part of no section, where they begin */
} store_map;

/* Errors: those of hd_pieces_open; DAMAGED: nothing can be decompressed. */
hd_status store_map_open(store_map *out, hd_input *input, hd_error *err);
/* Find the sections: by the trailer; where there is none, from the front. Errors: IO; UNSUPPORTED: a later version. */
hd_status store_map_survey(store_map *map, hd_error *err);
void store_map_close(store_map *map);

/* Reads the payload of a section into `room`, which the caller reuses and frees: the body, and the head in out->head,
 * are valid until the next call. Any number of threads at once. Errors: DAMAGED: not intact; IO; MEMORY. */
hd_status store_map_payload(store_section *out, hd_byte_reader *out_body, hd_bytes *room, const store_map *map,
                            const store_section *section, hd_error *err);
/* The header of the section at an offset; false: none, or an error. */
bool store_map_section_at(store_section *out, const store_map *map, uint64_t offset);

#endif
