/* source.h - where the bytes of a trace come from, and where they go: a file, memory, a descriptor, a callback
 *
 * A source or sink only describes a place: nothing is opened, read or written before hd_trace_read_from or
 * hd_trace_write_to (format.h) is called with it; one call may use it at a time. Compression is detected from content
 * when reading, and chosen by name when writing.
 *
 * `name` appears in errors; the extension of a sink's name selects format and compression as that of a path does
 * ("a.json.gz"). It is copied. NULL: "<memory>", "<descriptor>" or "<callback>". No file of that name is looked for.
 *
 * A format that is a folder (OTF2) needs a path: with other sources and sinks it is HD_ERR_UNSUPPORTED.
 *
 * All hd_..._new_... return an object that the caller frees, and fail with MEMORY only.
 */
#ifndef HEDDLE_SOURCE_H
#define HEDDLE_SOURCE_H

#include <stddef.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ---- */

typedef struct hd_byte_source hd_byte_source;

/* A file, or a folder with an archive; "-" is standard input. */
hd_status hd_byte_source_new_path(hd_byte_source **out, const char *path, hd_error *err);

/* `size` bytes in memory, which are not copied and may be read repeatedly. They must not change until the trace is
 * read; with hd_read_options.lazy, until it is freed. */
hd_status hd_byte_source_new_memory(hd_byte_source **out, const void *data, size_t size, const char *name,
                                    hd_error *err);

/* An open file, pipe or socket, which is not closed. A regular file is read from its offset on, and the offset does not
 * change; anything else is read to its end, once. A lazy trace keeps its own copy of the descriptor. */
hd_status hd_byte_source_new_descriptor(hd_byte_source **out, int descriptor, const char *name, hd_error *err);

/* The next bytes, up to `capacity` (never 0), into `buffer`; fewer are fine. HD_OK with *out_size of 0, or HD_END: the
 * end; it is not called again. Reading fails with any other status, and the caller gets the error that was set in
 * `err`, which may be NULL. One thread at a time calls it, not always the same one. */
typedef hd_status hd_byte_source_read(void *user, void *buffer, size_t capacity, size_t *out_size, hd_error *err);

/* It is read once, like a pipe: a format that needs bytes by their offsets copies them to a temporary file. */
hd_status hd_byte_source_new_callback(hd_byte_source **out, hd_byte_source_read *read, void *user, const char *name,
                                      hd_error *err);

void hd_byte_source_free(hd_byte_source *source); /* NULL is fine */

/* ---- sinks ---- */

typedef struct hd_byte_sink hd_byte_sink;

/* A file, which appears whole or not at all; "-" is standard output. */
hd_status hd_byte_sink_new_path(hd_byte_sink **out, const char *path, hd_error *err);

/* A growing buffer. Each write of a trace starts it anew. */
hd_status hd_byte_sink_new_memory(hd_byte_sink **out, const char *name, hd_error *err);
/* The trace written last; valid until the next write or until the sink is freed. NULL and 0 if that write failed, and
 * for other sinks.
 */
const void *hd_byte_sink_get_memory(size_t *out_size, const hd_byte_sink *sink);

/* An open file, pipe or socket, which is not closed; a file is written from its offset on. Bytes written before a
 * failure remain, as with a callback. */
hd_status hd_byte_sink_new_descriptor(hd_byte_sink **out, int descriptor, const char *name, hd_error *err);

/* Takes all of data[0 … size), size > 0. Writing fails with any status but HD_OK; `err` and threads as with
 * hd_byte_source_read. */
typedef hd_status hd_byte_sink_write(void *user, const void *data, size_t size, hd_error *err);

hd_status hd_byte_sink_new_callback(hd_byte_sink **out, hd_byte_sink_write *write, void *user, const char *name,
                                    hd_error *err);

void hd_byte_sink_free(hd_byte_sink *sink); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
