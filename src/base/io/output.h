/* output.h - bytes out: a file that appears whole or not at all, memory or a callback, compressed on the way
 *
 *   hd_output *out = NULL;
 *   HD_TRY(hd_output_create(&out, path, &options, err));
 *   status = hd_output_write(out, data, size, err);
 *   if (status == HD_OK) return hd_output_commit(out, err);
 *   hd_output_abort(out);
 *
 * A regular file is written next to its target as ".NAME.XXXXXX" and renamed by commit; a symbolic link stays a
 * link, and an existing file's permissions are kept (its owner if the system allows). Existing files that are not
 * regular (/dev/null, a FIFO, a terminal) are written in place, and so are "-", /dev/stdout, /dev/stderr,
 * /dev/fd/N and /proc/self/fd/N, which are borrowed and not closed; abort cannot undo such writes, nor those to a
 * sink's descriptor or callback. abort empties a sink's memory.
 * Signals are not changed: a caller that wants EPIPE as an error must ignore SIGPIPE.
 * Threads: one at a time per object.
 */
#ifndef HD_BASE_IO_OUTPUT_H
#define HD_BASE_IO_OUTPUT_H

#include "base/error.h"
#include "base/io/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_output hd_output;

typedef enum hd_output_compression {
    HD_OUTPUT_AUTO = 0, /* by the name: .gz is gzip, .zst is zstd, else none */
    HD_OUTPUT_NONE,
    HD_OUTPUT_GZIP,
    HD_OUTPUT_ZSTD,
} hd_output_compression;

/* Zero-initialised is the default; NULL means the same. expected_size: the number of bytes, for preallocation, so that
 * a full disk is an error of create and writing is faster; unused space is released. 0: unknown. It must not be far too
 * large; it is ignored for compressed outputs. */
typedef struct hd_output_options {
    hd_output_compression compression;
    int level;        /* gzip 1 (fastest) to 9, where 4 to 9 are equal; zstd -100 to 22; 0: gzip 2, zstd 3 */
    unsigned threads; /* that zstd may use in addition to the caller's; 0: none. Ignored if libzstd has no threads */
    bool sync;        /* commit returns when the file and its name are on the disk */
    uint64_t expected_size;
    bool folder; /* only a name, of a folder that the writer makes himself: see hd_output_folder */
} hd_output_options;

/* Nothing appears at `path` until commit. The caller must call either commit or abort on *out. Errors: HD_ERR_IO (no
 * such folder, no permission, is a directory, is read-only, no space); HD_ERR_ARGUMENT for a level out of range;
 * HD_ERR_MEMORY. */
hd_status hd_output_create(hd_output **out, const char *path, const hd_output_options *options, hd_error *err);

/* The same for any sink, whose memory, descriptor or callback is used until commit or abort. Errors: also
 * HD_ERR_UNSUPPORTED for a folder in a sink that is not a path. */
hd_status hd_output_create_sink(hd_output **out, hd_byte_sink *sink, const hd_output_options *options, hd_error *err);
/* With options.folder the path as given; nothing may then be written through the output: the caller makes the folder
 * appear whole or not at all, before commit. Else NULL. */
const char *hd_output_folder(const hd_output *out);

/* Fails if hd_output_create would, and leaves nothing behind. A pipe or device is not opened. */
hd_status hd_output_try(const char *path, const hd_output_options *options, hd_error *err);

/* Append. Small writes are buffered, writes of 256 KiB and more pass straight through. After a failure only abort is
 * allowed. Errors: HD_ERR_IO; HD_ERR_MEMORY from zstd. */
hd_status hd_output_write(hd_output *out, const void *data, size_t size, hd_error *err);

/* Append `size` bytes of a random input (hd_input_is_random) from `offset` on. Uncompressed, this costs one
 * copy inside the kernel and no more than 4 MiB of resident memory. After a failure only abort is allowed.
 * Errors: HD_ERR_IO, also when the input ends before offset + size; HD_ERR_UNSUPPORTED if it is not random. */
hd_status hd_output_copy(hd_output *out, hd_input *in, uint64_t offset, uint64_t size, hd_error *err);

uint64_t hd_output_position(const hd_output *out); /* uncompressed bytes so far */

/* Everything that commit does except the rename: of several files that belong together, finish each before committing
 * the first. Afterwards only commit or abort is allowed, after a failure only abort. Errors: HD_ERR_IO,
 * HD_ERR_MEMORY. */
hd_status hd_output_finish(hd_output *out, hd_error *err);

/* Finish the compression, close, and rename the file; frees `out` in every case. After a failure nothing is left, and
 * an older file at `path` is unchanged; only a failed sync of the folder comes after the rename. Errors: HD_ERR_IO,
 * HD_ERR_MEMORY. */
hd_status hd_output_commit(hd_output *out, hd_error *err);

/* Leave nothing behind, and free. NULL is fine. */
void hd_output_abort(hd_output *out);

#endif
