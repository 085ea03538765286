/* format.h - reading and writing traces
 *
 * The format and compression of an input are detected from its content; "-" is standard input or output. To read from
 * or write to memory, a descriptor or a callback, use a source or a sink: see source.h.
 */
#ifndef HEDDLE_FORMAT_H
#define HEDDLE_FORMAT_H

#include "heddle/source.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_args_wanted {
    HD_ARGS_ALL,  /* keep every argument and every unknown key */
    HD_ARGS_META, /* only those of metadata events, which name and order the tracks */
} hd_args_wanted;

/* Called now and then from the thread that reads; total is 0 when unknown. Units are bytes of the input as stored. */
typedef void hd_progress(void *user, uint64_t done, uint64_t total);

/* Zero-initialised reads everything, repairs damage, uses all cores. */
typedef struct hd_read_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_args_wanted args;
    bool sources;          /* fill HD_COL_SOURCE and keep the repairs as patches of the input */
    bool strict;           /* refuse repairs and losses, also of the producer: HD_ERR_DAMAGED */
    bool keep_input;       /* make a pipe readable a second time (it is copied to a temporary file) */
    bool lazy;             /* a store's blocks are decoded when first used; other formats ignore it */
    unsigned threads;      /* 0: one per core */
    uint64_t memory_limit; /* memory that reading may use: events beyond half of it go to a temporary file ($TMPDIR,
                              else /var/tmp or /tmp); 0: a quarter of the machine's memory, or of its control group's */
    hd_progress *progress;
    void *progress_user;
    const char *binary; /* the program of an XRay log, for its function names; NULL: searched next to the log. ARGUMENT
                           for inputs of other formats */
    uint64_t most_events; /* drop later events while reading, in large groups, so that about this many remain; the trace
                              has all events before some time, and some after it. LIMIT: they cannot be dropped. Stores
                              ignore it. 0: keep all */
} hd_read_options;

/* Read a whole trace. The caller frees it. options may be NULL. Errors: IO; FORMAT when no reader understands the
 * input; DAMAGED when strict, or when the input has nothing useful; LIMIT. */
hd_status hd_trace_read(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err);
/* The same from any source. Errors: also those of its callback; UNSUPPORTED: a format that is a folder, whose path must
 * be given. */
hd_status hd_trace_read_from(hd_trace **out, const hd_byte_source *source, const hd_read_options *options,
                             hd_error *err);

/* Reports what a writer could not keep or changed; called once per code, before the writing function returns. The row
 * is borrowed. */
typedef void hd_ledger_sink(void *user, const hd_ledger_row *row);

typedef struct hd_write_options {
    size_t size;        /* of this struct; see "Options" in status.h */
    const char *format; /* name of the format, NULL: by the extension of the path, JSON for unknown ones */
    bool pretty;        /* JSON: two-space indentation */
    bool gzip;          /* compress whatever the extension; for paths without one, as /dev/fd/3 */
    bool raw;           /* Perfetto: no compressed packets */
    bool clean;         /* OTF2, Parquet: replace an existing folder */
    bool sync;          /* wait for the disk before the file gets its name */
    bool part;          /* OTF2: the archive will be joined with those of other ranks, to which messages refer */
    bool strict;        /* write nothing if anything would be lost: UNSUPPORTED, after the ledger was filled */
    int level;          /* of compression, 0: the default; stores from 15 on are an eighth smaller and slow to read */
    unsigned threads;   /* 0: one per core */
    hd_ledger_sink *ledger;
    void *ledger_user;
    hd_progress *progress; /* units: events */
    void *progress_user;
    bool typed_gpu; /* Perfetto: GPU activities also as render stages, of which its table gpu_slice is made */
} hd_write_options;

/* Write a trace; the format and compression follow from the extension (.json, .json.gz, .json.zst, .heddle, .pftrace …)
 * or from options->format; "-" is JSON unless a format is given. The file appears whole or not at all. options may be
 * NULL. */
hd_status hd_trace_write(const hd_trace *trace, const char *path, const hd_write_options *options, hd_error *err);
/* The same to any sink, with the extension of its name. Errors: also those of its callback; UNSUPPORTED: a format that
 * is a folder, whose path must be given. */
hd_status hd_trace_write_to(const hd_trace *trace, hd_byte_sink *sink, const hd_write_options *options, hd_error *err);
/* Checks, without a trace, whether writing there could succeed, so that an error is reported early. Leaves nothing
 * behind. options may be NULL. Errors: those of hd_trace_write. */
hd_status hd_trace_write_check(const char *path, const hd_write_options *options, hd_error *err);

/* Removes the unfinished files and folders of all outputs of this process, which has to end afterwards. For handlers of
 * SIGINT and SIGTERM: async-signal-safe. */
void hd_outputs_abandon(void);

/* The formats this build knows, for help and documentation. */
typedef struct hd_format_info {
    const char *name;       /* "chrome" */
    const char *title;      /* "Chrome trace event JSON" */
    const char *extensions; /* ".json", the usual one first, separated by spaces */
    bool reads, writes;
    const char *keeps; /* one line: what of a trace survives being written */
    const char *loses; /* one line: what is lost */
} hd_format_info;

size_t hd_format_count(void);
const hd_format_info *hd_format_at(size_t index);
/* By name; NULL if this build has none of that name. */
const hd_format_info *hd_format_find(const char *name);
/* The format that hd_trace_write chooses by the path's extension; NULL: no format has it, and JSON would be written. */
const hd_format_info *hd_format_for_path(const char *path);
/* The format that hd_trace_read would choose for a regular file, by its first bytes; NULL: none, or unreadable. */
const hd_format_info *hd_format_of_file(const char *path);

/* A kind of file that may be taken for a trace and cannot be read; for help and documentation. */
typedef struct hd_lookalike {
    const char *what;   /* "a report of Nsight Systems" */
    const char *names;  /* endings of file names, separated by spaces; NULL: recognised by the first bytes */
    const char *advice; /* what makes it readable, NULL: nothing */
} hd_lookalike;

size_t hd_lookalike_count(void);
const hd_lookalike *hd_lookalike_at(size_t index); /* NULL beyond the last */

#ifdef __cplusplus
}
#endif
#endif
