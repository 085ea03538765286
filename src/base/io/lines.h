/* lines.h - the lines of a text that is read as a stream */
#ifndef HD_BASE_IO_LINES_H
#define HD_BASE_IO_LINES_H

#include "base/io/input.h"

enum { HD_LINE_BYTES = 16 << 20 }; /* a longer line is delivered in parts of this size, all but the last with `cut` */

/* Zero-initialise, with `input` set; free with hd_lines_deinit. */
typedef struct hd_lines {
    hd_input *input; /* borrowed */
    char *buffer;
    size_t capacity, at, end; /* the part of the buffer not yet delivered */
    size_t searched;          /* bytes from `at` on that are known to contain no line end */
    uint64_t read_bytes;      /* of the input so far */
    uint64_t count;           /* lines given out */
    bool ended;
    bool may_end_open; /* the last line may have no line end; else that is damage of the input */
} hd_lines;

typedef struct hd_line {
    const char *text; /* without its end ("\n", "\r\n"), not terminated; valid until the next call */
    size_t size;
    uint64_t offset; /* of its first byte in the decompressed input */
    uint64_t number; /* from 1 */
    bool cut;
    bool has_zero; /* it contains a zero byte: a file system leaves zeros in place of data that was not written in time
                      */
} hd_line;

/* HD_END after the last line; a nonempty text after the last "\n" is a line. Errors: of hd_input_next. */
hd_status hd_lines_next(hd_line *out, hd_lines *lines, hd_error *err);
void hd_lines_deinit(hd_lines *lines);

#endif
