/* checksum.c - XXH3; a file of its own, because libheddle-capture uses it without the compressors */
#include "base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hd_checksum(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
