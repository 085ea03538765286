/* format.h - the descriptor of a format; formats.inc is the list
 *
 *   format_list.c   the list, and lookups in it
 *   read.c          from a source to a trace: choice by content, hd_trace_read_from
 *   folder.c        chooses the file of a folder to read
 *   report_file.c   reports of Nsight Systems, through nsys
 *   part_clock.c    clocks of archives that are joined
 *   write.c         from a trace to a sink: choice by extension, hd_trace_write_to
 */
#ifndef HD_FORMAT_FORMAT_H
#define HD_FORMAT_FORMAT_H

#include "base/io/input.h"
#include "base/io/output.h"
#include "format/patch.h"
#include "heddle/builder.h"
#include "heddle/format.h"
#include "heddle/report.h"

/* A file next to the traces of another format with more data. The caller frees all paths. */
typedef struct hd_companion {
    const char *title; /* "memory profile of TensorFlow" */
    /* The companion of the trace at a path, NULL: none. Errors: MEMORY. */
    hd_status (*find)(char **out, const char *trace, hd_error *err);
    /* The trace that a folder without an archive contains; NULL: none. Errors: FORMAT: several; MEMORY. */
    hd_status (*find_trace)(char **out, const char *folder, hd_error *err);
} hd_companion;

/* A clock correction: add offset_ns + drift * (t - at_ns) to a time t of the part, +- bar_ns (99 %; 0: unknown). Of
 * several, in order of time, each is valid from first_ns to last_ns, the first one also before, the last one also
 * after; between two, where the clock was set, the offset is interpolated linearly. */
typedef struct hd_format_clock {
    int64_t first_ns, last_ns, at_ns, offset_ns, bar_ns;
    double drift;
} hd_format_clock;

/* An archive that will be joined with others. */
typedef struct hd_format_part {
    const char *path;              /* the path of its anchor file */
    uint32_t first_track;          /* of the whole: those of the part follow in their order */
    int64_t offset_ns;             /* to be added to all times, and: */
    const hd_format_clock *clocks; /* NULL: none */
    size_t clock_count;
} hd_format_part;

/* The offset to add at a time of the part. Its bar: NULL: not needed. */
int64_t hd_format_part_offset(int64_t *out_bar_ns, const hd_format_part *part, int64_t at_ns);

typedef struct hd_format {
    hd_format_info info;
    /* A bid from the first bytes of the decompressed input: 0 no, 100 certain. Never consumes. */
    int (*sniff)(const unsigned char *head, size_t size);
    /* The input is at its first byte; depending on it, bytes can be read in order, by offset (hd_input_is_random), or
     * in place (hd_input_memory, hd_input_file). Fills the builder; the caller frees or finishes it, and sets format,
     * compression and stored_bytes of its facts. */
    hd_status (*read)(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
    /* For a format with several files side by side: reads those of a folder. HD_END: none there. NULL: not such a
     * format. */
    hd_status (*read_folder)(hd_builder *builder, const char *folder, const hd_read_options *options, hd_error *err);
    /* The caller ends the output. A folder (hd_output_folder) must appear whole or not at all before this returns, and
     * only if hd_write_refused allows it. */
    hd_status (*write)(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);
    /* An archive of several files: the input is its anchor file and has a path, the reader sets stored_bytes, the
     * output is a folder. */
    bool is_folder;
    const struct hd_out_folder_kind *folder; /* NULL: it writes none */
    /* Joins archives that `write` made of a job's ranks into one, in an existing empty folder: files of events move,
     * definitions are merged, and the offsets of its clock are added to each part. The whole is the merge of what
     * `read_part` reads: tracks, metadata and facts, no events. NULL: not supported. */
    hd_status (*read_part)(hd_trace **out, const char *path, hd_error *err);
    hd_status (*join)(const char *folder, const hd_format_part *parts, size_t count, const hd_trace *whole,
                      hd_error *err);
    bool takes_binary; /* hd_read_options.binary is used; else it is refused */
    /* A copy of a file with some events changed; NULL: it cannot be patched in place. */
    hd_patch_file *patch;
    /* The meaning of its ledger codes ("NAME.…") in `heddle check`; severity "error": for losses only. NULL: that of
     * any repair or loss. */
    const hd_check_code *code;
    /* Of an SQLite format, instead of `read`: the file's tables decide which format with a mapping reads it
     * (format/sqlite/map.h). NULL: not SQLite. */
    const struct hd_sql_mapping *mapping;
    const hd_companion *companion; /* NULL: traces have no companion */
} hd_format;

#define FORMAT(name) extern const hd_format hd_##name##_format;
#include "format/formats.inc"
#undef FORMAT

/* ---- the list ---- */

/* NULL beyond the last; hd_format_count says how many there are. */
const hd_format *hd_format_descriptor(size_t index);
/* By info.name, data[0 … size); NULL: none. */
const hd_format *hd_format_named(const char *data, size_t size);
/* The format written for that name, ignoring a compression extension; NULL: no writable format has the extension. */
const hd_format *hd_format_writing(const char *path);
/* Whether a file of that name is likely to be a trace. */
bool hd_format_is_extension_of_any(const char *name);

/* The companion next to a trace; NULL: none. The caller frees *out. Errors: MEMORY. */
hd_status hd_format_find_companion(char **out, const char *trace, hd_error *err);
/* ARGUMENT unless the trace, read from `path`, is a companion. */
hd_status hd_format_require_companion(const hd_trace *trace, const char *path, hd_error *err);
/* The trace that a folder contains, found by its companions; NULL: use the path itself, as for a file. The caller frees
 * *out. Errors: FORMAT: several; MEMORY. */
hd_status hd_format_find_trace(char **out, const char *folder, hd_error *err);

/* ---- reading ---- */

/* The same as hd_trace_read_from, from an input that is open; the caller closes it. */
hd_status hd_format_read(hd_trace **out, hd_input *input, const hd_read_options *options, hd_error *err);

/* report_file.c: whether a file of that name is a report of Nsight Systems; reads what nsys exports of it, through a
 * temporary file. Errors: UNSUPPORTED: nsys is not on PATH, with the command to run; IO: it failed; those of
 * reading. */
bool hd_format_is_nsys_report(const char *path);
hd_status hd_format_read_nsys_report(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err);

/* folder.c: the one archive of a folder, as FOLDER/NAME; the caller frees *out. HD_END: there is none. Errors: FORMAT:
 * several; IO; MEMORY. */
hd_status hd_folder_find_archive(char **out, const char *folder, hd_error *err);
/* The only file of a folder that is named as a trace or, if none is, the only one that is of a format without an
 * extension; the caller frees *out. Errors: FORMAT: none, or several, with what to name; MEMORY. */
hd_status hd_folder_find_only(char **out, const char *folder, hd_error *err);
/* The files of a folder whose names end so, sorted; free with hd_folder_list_free. A folder with a subfolder `runs` and
 * no such files means its only run. Errors: FORMAT: several runs; MEMORY. */
hd_status hd_folder_list(char ***out, size_t *out_count, const char *folder, const char *extension, const char *runs,
                         hd_error *err);
void hd_folder_list_free(char **paths, size_t count);
/* Whether a file of that name is the anchor of an archive. */
bool hd_folder_is_archive(const char *name);

/* ---- writing ---- */

/* Reports to options->ledger, if there is one and count is not 0. stage, code: static strings. */
void hd_write_note(const hd_write_options *options, const char *stage, const char *code, hd_ledger_level level,
                   uint64_t count);
/* The same for `count` whole events that are not in the output. */
void hd_write_lost_events(const hd_write_options *options, const char *stage, const char *code, uint64_t count);

/* UNSUPPORTED if options->strict and a loss has been noted. hd_trace_write_to calls it before a file gets its name;
 * writers of folders call it themselves, before anything becomes visible. */
hd_status hd_write_refused(const hd_write_options *options, const char *path, hd_error *err);

#endif
