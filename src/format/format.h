/* format.h - what a format is: a descriptor in a list */
#ifndef HD_FORMAT_FORMAT_H
#define HD_FORMAT_FORMAT_H

#include "base/io/input.h"
#include "base/io/output.h"
#include "heddle/builder.h"
#include "heddle/format.h"

typedef struct hd_format {
    hd_format_info info;
    /* A bid from the first bytes of the decompressed input: 0 no, 100 certain. Never consumes. */
    int (*sniff)(const unsigned char *head, size_t size);
    /* The input stands at its first byte. Fills the builder; whoever called frees or finishes it. */
    hd_status (*read)(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
    hd_status (*write)(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);
    /* Instead of read and write, for what is no stream: archives of several files, files that are mapped. read_path
     * finishes its trace itself, facts.format and facts.stored_bytes included. */
    hd_status (*read_path)(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err);
    /* The same from an input that is open and stands at its first byte; see hd_format_note_input. */
    hd_status (*read_input)(hd_trace **out, hd_input *input, const hd_read_options *options, hd_error *err);
    hd_status (*write_path)(const hd_trace *trace, const char *path, const hd_write_options *options, hd_error *err);
} hd_format;

extern const hd_format hd_chrome_format, hd_heddle_format, hd_perfetto_format, hd_otf2_format, hd_sbt_format,
    hd_tfmemory_format, hd_folded_format, hd_perfscript_format, hd_cupti_format, hd_capture_format;

/* The same as hd_trace_read, from an input that is open; the caller closes it. */
hd_status hd_format_read(hd_trace **out, hd_input *input, const hd_read_options *options, hd_error *err);

/* Once an input was read: what it is (facts.format, compression, stored_bytes) and, in the ledger, how it is damaged,
 * which is HD_ERR_DAMAGED when strict. */
hd_status hd_format_note_input(hd_builder *builder, const hd_format *format, const hd_input *input,
                               const hd_read_options *options, hd_error *err);

/* Tell options->ledger, if there is one and count is not 0. stage, code: static strings. */
void hd_write_note(const hd_write_options *options, const char *stage, const char *code, hd_ledger_level level,
                   uint64_t count);
/* The same for `count` whole events that are not in the output. */
void hd_write_lost_events(const hd_write_options *options, const char *stage, const char *code, uint64_t count);

/* UNSUPPORTED when options->strict and a loss has been noted. hd_trace_write asks it before a stream gets its name; a
 * write_path does so itself, before anything of the output can be seen. */
hd_status hd_write_refused(const hd_write_options *options, const char *path, hd_error *err);

#endif
