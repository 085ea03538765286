/* arrow.h - events and tables as streams of Arrow record batches, in memory
 *
 * The structs are those of Arrow's C data and C stream interface, which pyarrow, polars, DuckDB, pandas and nanoarrow
 * take without a library of Arrow in between. The receiver of a stream calls its `release` when it no longer needs it;
 * the arrays that came out of it are released by themselves, and may outlive the stream. A stream is used by one thread
 * at a time. parquet.h writes streams as files.
 *
 * hd_arrow_table_at gives the names and types of columns. Texts of a trace are dictionary encoded, int32 indices of a
 * dictionary that all batches of a stream share; it may have texts that no row uses, and a text twice. Texts are valid
 * UTF-8, with U+FFFD for each byte that was not. What is not known is null. Times are int64 ns.
 */
#ifndef HEDDLE_ARROW_H
#define HEDDLE_ARROW_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/source.h"
#include "heddle/table.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* ---- tables of a trace ---- */

typedef struct hd_arrow_column {
    const char *name;    /* "ts", "dur", "track_id", "name" … as in SQL (docs/query.md) */
    const char *format;  /* Arrow's: "l" int64, "i" int32, "u" text (dictionary encoded), "g" double, "b" bool,
                            "tsu:UTC" timestamp */
    const char *meaning; /* one line, with the unit unless the format implies it */
} hd_arrow_column;

typedef struct hd_arrow_table {
    const char *name; /* "slices", "counters", "flows", "args", "tracks", "strings" … */
    const char *meaning;
    const hd_arrow_column *columns; /* in order; ends with {0} */
} hd_arrow_table;

/* The tables together hold every event of a trace: a row each in the table of its kind, but of counters a row for each
 * series (distinct ids are the events). Arguments are in `args`. NULL beyond the last. */
const hd_arrow_table *hd_arrow_table_at(size_t index);
const hd_arrow_table *hd_arrow_table_find(const char *name); /* NULL: there is none */

typedef struct hd_arrow_options {
    size_t size;               /* of this struct; see "Options" in status.h */
    const char *columns;       /* "ts,dur,name": those, in this order; NULL: all */
    bool has_start, has_end;   /* which of start_ns and end_ns are used */
    int64_t start_ns, end_ns;  /* only events that overlap [start_ns, end_ns); an instant is at its start */
    const char *names;         /* only events of these names: patterns as of `heddle filter`, separated by commas */
    const char *tracks;        /* only events on these tracks, likewise */
    const uint32_t *track_ids; /* only events on these tracks, by index; NULL: all */
    size_t track_id_count;
    void (*keep)(void *user);    /* called for each array and stream that borrows from the trace … */
    void (*release)(void *user); /* … and when that array or stream is released: the trace must live that long. NULL:
                                    the caller makes the trace outlive them all */
    void *user;
} hd_arrow_options;

/* A stream over a table of a trace, in batches of at most HD_BLOCK_ROWS rows, made on request. A column is shared
 * without a copy where the trace stores it in Arrow's layout. Errors: ARGUMENT (no such table or column, a pattern),
 * LIMIT (2^31 strings), MEMORY, IO; later, by the stream itself, EIO, ENOMEM and EINVAL with get_last_error. The
 * options' time, names and tracks select events, and with them the rows of `args`; all other tables are complete. */
hd_status hd_trace_arrow_stream(struct ArrowArrayStream *out, const hd_trace *trace, const char *table,
                                const hd_arrow_options *options, hd_error *err);

/* The rows of a table, as one batch, copied. Times and durations are int64 ns, counts uint64 where one needs it, texts
 * plain ("u", or "U" beyond 2 GiB). Errors: MEMORY, LIMIT (2^31 rows). */
hd_status hd_table_arrow_stream(struct ArrowArrayStream *out, const hd_table *table, hd_error *err);

/* The stream as bytes of Arrow's IPC streaming format, which pyarrow.ipc.open_stream, apache-arrow of npm, polars and
 * DuckDB read. Takes the stream, also when it fails. Columns are of the formats "l", "L", "i", "g", "b", "u" and "U",
 * as of statements of SQL; UNSUPPORTED: another one, or a dictionary. Errors: also those of the stream and the sink. */
hd_status hd_arrow_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
