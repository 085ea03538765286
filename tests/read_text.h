/* read_text.h - traces from text in memory, for tests and fuzz targets of the Chrome reader */
#ifndef HD_TESTS_READ_TEXT_H
#define HD_TESTS_READ_TEXT_H

#include "heddle/format.h"

/* For what is read again and again: one thread, and no limit that the system is asked for. */
#define READ_FAST .threads = 1, .memory_limit = 64 << 20
extern const hd_read_options read_fast, read_fast_strict;

/* Read text as if it were a file. piece_size: bytes that one thread parses at a time, 0: chosen as always. */
hd_status read_text(hd_trace **out, const char *text, size_t size, const hd_read_options *options, size_t piece_size,
                    hd_error *err);

/* The dump of what is read, or "error STATUS at OFFSET: MESSAGE". The caller frees it. */
char *dump_text(const char *text, size_t size, const hd_read_options *options, size_t piece_size, unsigned flags);

/* The bytes that writing gives; the caller frees them. */
char *write_text(const hd_trace *trace, const hd_write_options *options, size_t *out_size);

#endif
