/* checksum.h - the checksum of stores, captures and entity tags */
#ifndef HD_BASE_CHECKSUM_H
#define HD_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits. */
uint64_t hd_checksum(const void *data, size_t size);

#endif
