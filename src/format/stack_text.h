/* stack_text.h - shared by the readers of stacks as text: kinds of frames, and repair of text */
#ifndef HD_FORMAT_STACK_TEXT_H
#define HD_FORMAT_STACK_TEXT_H

#include "base/bytes.h"
#include "heddle/report.h"
#include "heddle/stacks.h"

/* The check code for invalid lines, shared by the readers of lines. */
extern const hd_check_code hd_text_lines_code;

static inline bool hd_is_blank(char c)
{
    return c == ' ' || c == '\t';
}
static inline bool hd_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
/* Without the blanks (and a lone '\r') at its ends. */
hd_string hd_text_trim(const char *data, size_t size);

/* All of data[0 … size) as an integer, with a '-' before it at most; false: it is none, or beyond int64. */
bool hd_text_int(int64_t *out, const char *data, size_t size);

/* Append the text without the escape sequences of terminals (ECMA-48: colours and the like). */
void hd_text_put_plain(hd_bytes *out, const char *data, size_t size);
/* Append the text as UTF-8, with U+FFFD for each maximal part that is none; returns how many. */
size_t hd_text_put_utf8(hd_bytes *out, const char *data, size_t size);

/* The kind of a frame, by its name alone: NATIVE by default. */
hd_frame_kind hd_frame_kind_by_name(const char *data, size_t size);

/* Whether code of this file is the operating system's kernel: [kernel.kallsyms], vmlinux, a module. */
bool hd_file_is_os(hd_string file);
/* Appends the name of a frame without a function: [libfoo.so] by its file, as in stackcollapse-perf.pl, its address, or
 * [unknown]. */
void hd_text_put_unknown(hd_bytes *out, hd_string file, bool has_address, uint64_t address);

/* Appends the name of a frame: the function, and its position: "name (file:12:3)". file may be empty, line and column
 * 0. */
void hd_text_put_frame(hd_bytes *out, hd_string function, hd_string file, int64_t line, int64_t column);

#endif
