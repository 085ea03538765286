/* pieces.h - reads the bytes of an input by offset, on request
 *
 * For binary formats whose parts are found through offsets. Nothing is mapped: touching a mapping beyond a truncated
 * file raises SIGBUS, and a file that is overwritten changes after it was checked. Reads are copies, and a truncated
 * file is an ordinary error.
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

/* A plain file is kept open, memory is read in place, any other input is copied to a temporary file. The input must be
 * at its first byte; it may be closed afterwards. Errors: IO, those of hd_input_next. */
hd_status hd_pieces_open(hd_pieces *out, hd_input *input, hd_error *err);
void hd_pieces_close(hd_pieces *pieces);

/* Reads all of [offset, offset + size), which must be within pieces->size. Any number of threads at once. Errors: IO,
 * also if the file was truncated: "the file changed". */
hd_status hd_pieces_read(const hd_pieces *pieces, void *out, uint64_t offset, size_t size, hd_error *err);
/* IO if the file was written since it was opened. */
hd_status hd_pieces_unchanged(const hd_pieces *pieces, hd_error *err);

/* A buffered window of bytes: one thread at a time. Zero-initialise except `pieces`. */
typedef struct hd_window {
    const hd_pieces *pieces;
    hd_bytes bytes;
    uint64_t offset; /* of its first byte */
} hd_window;

/* The bytes [offset, offset + size), which must be within the total size. Valid until the next call. NULL: an error. */
const uint8_t *hd_window_at(hd_window *window, uint64_t offset, size_t size, hd_error *err);
void hd_window_deinit(hd_window *window);

#endif
