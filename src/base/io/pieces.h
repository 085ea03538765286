/* pieces.h - the bytes of an input by their offsets, copied out when they are asked for
 *
 * For binary formats whose parts are found through offsets. Nothing is mapped: a file that becomes shorter while it is
 * mapped ends whoever touches it (SIGBUS), and one that is written over changes behind the back of every check. What is
 * read here is a copy, and a file that has become shorter is an error like any other.
 */
#ifndef HD_BASE_IO_PIECES_H
#define HD_BASE_IO_PIECES_H

#include <sys/stat.h>

#include "base/bytes.h"
#include "base/io/input.h"

/* Zero-initialised is closed. */
typedef struct hd_pieces {
    int file;              /* descriptor + 1 */
    const uint8_t *memory; /* instead: borrowed from the source; NULL: none */
    uint64_t base, size;
    struct timespec modified;
} hd_pieces;

/* A plain file is kept open, memory is read where it lies, all else goes to a temporary file. The input stands at its
 * first byte; it may be closed afterwards. Errors: IO, those of hd_input_next. */
hd_status hd_pieces_open(hd_pieces *out, hd_input *input, hd_error *err);
void hd_pieces_close(hd_pieces *pieces);

/* All of [offset, offset + size), which lies below pieces->size. Any number of threads at once. Errors: IO, also when
 * the file has become shorter: "the file changed". */
hd_status hd_pieces_read(const hd_pieces *pieces, void *out, uint64_t offset, size_t size, hd_error *err);
/* IO when the file has been written since it was opened. */
hd_status hd_pieces_unchanged(const hd_pieces *pieces, hd_error *err);

/* The bytes around where somebody reads: one thread at a time. Zero-initialise but for `pieces`. */
typedef struct hd_window {
    const hd_pieces *pieces;
    hd_bytes bytes;
    uint64_t offset; /* of its first byte */
} hd_window;

/* [offset, offset + size), which lies below the size of all. Valid until the next call. NULL: an error. */
const uint8_t *hd_window_at(hd_window *window, uint64_t offset, size_t size, hd_error *err);
void hd_window_deinit(hd_window *window);

#endif
