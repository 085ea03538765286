/* mapped.h - all bytes of an input as memory: a plain file is mapped, all else goes to a temporary file that is mapped
 *
 * For binary formats whose parts are found through offsets. The bytes are read when they are touched, and the kernel
 * may drop them again, so this costs no memory of its own.
 */
#ifndef HD_BASE_MAPPED_H
#define HD_BASE_MAPPED_H

#include "base/input.h"

typedef struct hd_mapped {
    const uint8_t *data;
    uint64_t size;
    void *map; /* internal */
    size_t map_size;
} hd_mapped;

/* The input stands at its first byte; it may be closed afterwards. Errors: IO, MEMORY, those of hd_input_next. */
hd_status hd_mapped_open(hd_mapped *out, hd_input *input, hd_error *err);
/* A zero-initialised one is fine. */
void hd_mapped_close(hd_mapped *mapped);

#endif
