/* sections.h - sections into an output, and the footer that lists them */
#ifndef HD_FORMAT_HEDDLE_WRITE_SECTIONS_H
#define HD_FORMAT_HEDDLE_WRITE_SECTIONS_H

#include "base/io/output.h"
#include "format/heddle/file/file.h"

/* Zero-initialised but for the output. */
typedef struct store_sections {
    hd_output *output;
    hd_bytes entries;
    uint64_t count;
    uint64_t position; /* end of the last section */
} store_sections;

hd_status store_sections_start(store_sections *sections, hd_error *err);
/* Head and body are the payload. */
hd_status store_sections_add(store_sections *sections, store_type type, unsigned flags, const hd_bytes *head,
                             const hd_bytes *body, hd_error *err);
/* Footer and trailer. */
hd_status store_sections_finish(store_sections *sections, hd_error *err);
void store_sections_deinit(store_sections *sections);

#endif
