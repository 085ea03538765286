/* input.h - bytes in: a file, a pipe, memory or a callback, decompressed on the way
 *
 *   hd_input *in = NULL;
 *   HD_TRY(hd_input_open(&in, path, NULL, err));
 *   while ((status = hd_input_next(in, buffer, sizeof buffer, &size, err)) == HD_OK) use(buffer, size);
 *   hd_input_close(in);
 *
 * gzip (consecutive members are one stream) and zstd (consecutive frames, skippable frames) are detected by their
 * magic bytes, never by the name. Nested compression is not decoded. UTF-16 text with a byte order mark, as
 * PowerShell's `>` writes it, is converted to UTF-8; its compression is none.
 *
 * "Stored" bytes are those of the file or pipe; offsets without that word count decompressed bytes. For an
 * uncompressed input the two are the same. If standard input is a regular file, reading starts at its
 * file offset.
 *
 * Damage is not an error: everything that can be decoded is delivered, then the end, and the damage is listed.
 * Threads: one at a time per object, except hd_input_pread and the getters next to it.
 *
 * Begin with input.c; the input_*.c are its decoders; output.h is the counterpart.
 */
#ifndef HD_BASE_IO_INPUT_H
#define HD_BASE_IO_INPUT_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/io/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_input hd_input;

typedef enum hd_compression { HD_COMPRESSION_NONE = 0, HD_COMPRESSION_GZIP, HD_COMPRESSION_ZSTD } hd_compression;

/* Zero-initialised is the default; NULL means the same. */
typedef struct hd_input_options {
    bool spool;                   /* copy the bytes of a pipe to an unlinked file in $TMPDIR or /tmp: see rewind */
    uint32_t zstd_window_log_max; /* 10..31: refuse zstd windows above 2^n bytes; 0: 31, as `zstd --long=31` writes */
} hd_input_options;

/* One kind of damage. Codes are static strings:
 *   gzip.truncated zstd.truncated                 the stored bytes end inside a member or frame
 *   gzip.corrupt zstd.corrupt                     a member or frame cannot be decoded any further
 *   gzip.checksum zstd.checksum                   all was decoded, but a checksum differs
 *   gzip.trailing-garbage zstd.trailing-garbage   bytes after a member or frame are neither
 *   input.line-cut                                the last line of a text has no end: see hd_input_note_cut
 *   utf16.unpaired                                a half of a character, or of the last two bytes: U+FFFD
 * Except after the first kind, reading continues with the next member or frame, if there is one.
 * Zero bytes after the last gzip member are padding, as in gzip(1), and not damage. */
typedef struct hd_input_damage {
    const char *code;
    uint64_t count;  /* number of occurrences; the offsets are those of the first one */
    uint64_t offset; /* in the decompressed bytes */
} hd_input_damage;

/* Open `path` ("-": standard input, which is not closed at the end) and read its first bytes; on a pipe this waits for
 * them. The caller closes *out. Errors: HD_ERR_IO if it cannot be opened or read, is a directory, or is empty;
 * HD_ERR_MEMORY; HD_ERR_ARGUMENT for a bad option. */
hd_status hd_input_open(hd_input **out, const char *path, const hd_input_options *options, hd_error *err);
/* The same for any source. The source itself is not used after the call; its memory, descriptor or callback is, until
 * the input is closed. */
hd_status hd_input_open_source(hd_input **out, const hd_byte_source *source, const hd_input_options *options,
                               hd_error *err);

/* NULL is fine. */
void hd_input_close(hd_input *in);

/* The next decompressed bytes: fills the buffer; returns less than `capacity` only before the end or an error, which
 * the next call returns. HD_END with 0 at the end. Short reads, EINTR and non-blocking pipes are waited for. `capacity`
 * is at least 1; large buffers (256 KiB up) are fastest. Errors: HD_ERR_DAMAGED when a compressed input has damage and
 * not one byte decodes; HD_ERR_IO; HD_ERR_MEMORY; HD_ERR_LIMIT for a zstd window above the option; HD_ERR_UNSUPPORTED
 * for zstd with a dictionary. */
hd_status hd_input_next(hd_input *in, void *buffer, size_t capacity, size_t *out_size, hd_error *err);

/* Reads the whole rest, followed by `padding` zero bytes that do not count; for formats whose parts refer to each
 * other. Errors: those of hd_input_next; HD_ERR_LIMIT beyond `limit` bytes. */
hd_status hd_input_all(hd_bytes *out, hd_input *in, size_t padding, uint64_t limit, hd_error *err);

/* The first decompressed bytes, up to HD_INPUT_PEEK_BYTES, without consuming them. Only before the first read. Borrowed
 * until the next call. An empty input returns 0 bytes. */
enum { HD_INPUT_PEEK_BYTES = 4096 };
hd_status hd_input_peek(hd_input *in, const uint8_t **out, size_t *out_size, hd_error *err);
/* The same for up to `most` bytes; from then on hd_input_peek returns as many. */
hd_status hd_input_peek_far(hd_input *in, size_t most, const uint8_t **out, size_t *out_size, hd_error *err);

/* Start again from byte 0; the damage list is emptied. HD_ERR_UNSUPPORTED for a pipe without `spool`. */
hd_status hd_input_rewind(hd_input *in, hd_error *err);

/* Whether hd_input_pread works: an uncompressed regular file or memory; also an uncompressed pipe with `spool` once
 * hd_input_next has returned HD_END. */
bool hd_input_is_random(const hd_input *in);

/* Bytes at `offset`, whatever hd_input_next has read. *out_size is less than `size` only at the end of the
 * file; HD_END with 0 at or after it. Any number of threads at once. HD_ERR_UNSUPPORTED if not random. */
hd_status hd_input_pread(hd_input *in, void *buffer, size_t size, uint64_t offset, size_t *out_size, hd_error *err);

const char *hd_input_path(const hd_input *in); /* as given; "-" is "<stdin>". Valid as long as `in` */
const char *hd_input_file(const hd_input *in); /* the same if it is the path of a file, else NULL */
/* The decompressed bytes if they are in memory, hd_input_size_bytes of them; else NULL. */
const uint8_t *hd_input_memory(const hd_input *in);
hd_compression hd_input_compression(const hd_input *in);
uint64_t hd_input_size_bytes(const hd_input *in);      /* stored size; 0 unknown (a pipe that has not ended) */
uint64_t hd_input_stored_position(const hd_input *in); /* stored bytes consumed since the start or rewind */

/* Notes that the last line, which begins at `offset`, has no line end although every writer of the format writes one:
 * the text was cut. */
void hd_input_note_cut(hd_input *in, uint64_t offset);

/* Damage so far, in order of discovery, one row per code: at most as many as there are codes. */
size_t hd_input_damage_count(const hd_input *in);
const hd_input_damage *hd_input_damage_at(const hd_input *in, size_t index); /* NULL beyond the last */

/* For output.c and pieces.c: the descriptor of a random input and the file offset of its byte 0; -1: none. */
int hd_input_descriptor(const hd_input *in, uint64_t *out_base);

/* ---- The decoders, input_gzip.c, input_utf16.c and input_zstd.c. Only input.c calls what follows. ---- */

typedef struct hd_decoder_io {
    const uint8_t *in; /* stored bytes; the decoder moves it forward over used bytes, or back over bytes used since
                          wants_input */
    size_t in_size;
    bool in_last; /* no stored bytes follow */
    uint8_t *out; /* room for decompressed bytes, moved forward as it is filled; at least 1 byte */
    size_t out_size;
    bool wants_input;    /* set by the decoder: it needs more bytes; never when in_last is set */
    const char *damage;  /* set by the decoder if this step found damage */
    const char *problem; /* set by the decoder with an error status: the message */
} hd_decoder_io;

typedef struct hd_decoder_class {
    void *(*create)(uint32_t window_log_max); /* NULL: out of memory */
    void (*destroy)(void *state);             /* NULL is fine */
    void (*reset)(void *state);               /* before the first byte of a stream */
    /* One step. HD_OK: call again. HD_END: the end. Else an error, with `problem`. */
    hd_status (*decode)(void *state, hd_decoder_io *io);
} hd_decoder_class;

extern const hd_decoder_class hd_decoder_gzip;
extern const hd_decoder_class hd_decoder_zstd;
extern const hd_decoder_class hd_decoder_utf16;

#endif
