/* store_seal.h - stores that lie: their bytes are changed, and then all checksums are made right again */
#ifndef HD_TESTS_STORE_SEAL_H
#define HD_TESTS_STORE_SEAL_H

#include "format/heddle/file/file.h"

/* The sections that follow each other by their sizes, right or wrong, the footer included. Returns how many. */
size_t store_list(store_section *out, size_t limit, const uint8_t *data, size_t size);

/* Checksums of header, sections, their entries in the footer, and the trailer. */
void store_seal(uint8_t *data, size_t size);

#endif
