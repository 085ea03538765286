/* lines.h - the lines of a text that is read as a stream */
#ifndef HD_BASE_IO_LINES_H
#define HD_BASE_IO_LINES_H

#include "base/io/input.h"

enum { HD_LINE_BYTES = 16 << 20 }; /* a longer line comes in pieces of this size, `cut` all but the last */

/* Zero-initialise, with `input` set; free with hd_lines_deinit. */
typedef struct hd_lines {
    hd_input *input; /* borrowed */
    char *buffer;
    size_t capacity, at, end; /* what of the buffer is not yet given out */
    size_t searched;          /* bytes behind `at` that are known to hold no end of line */
    uint64_t read_bytes;      /* of the input so far */
    uint64_t count;           /* lines given out */
    bool ended;
    bool may_end_open; /* the last line may lack its end; else that is damage of the input */
} hd_lines;

typedef struct hd_line {
    const char *text; /* without its end ("\n", "\r\n"), not terminated; valid until the next call */
    size_t size;
    uint64_t offset; /* of its first byte in the decompressed input */
    uint64_t number; /* from 1 */
    bool cut;
    bool has_zero; /* a byte of it is 0: a file system leaves zeros in place of what was not written in time */
} hd_line;

/* HD_END after the last line; what stands behind the last "\n" is a line if it is not empty. Errors: of hd_input_next.
 */
hd_status hd_lines_next(hd_line *out, hd_lines *lines, hd_error *err);
void hd_lines_deinit(hd_lines *lines);

#endif
