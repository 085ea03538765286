/* lines.c - the lines of a text that is read as a stream */
#include "base/io/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"

enum { STEP_BYTES = 64 << 10 };

/* Moves the remaining bytes to the front and reads more. */
static hd_status fill(hd_lines *lines, hd_error *err)
{
    size_t left = lines->end - lines->at, got;
    if (lines->at) memmove(lines->buffer, lines->buffer + lines->at, left);
    lines->at = 0;
    lines->end = left;
    if (!hd_reserve(&lines->buffer, &lines->capacity, left + STEP_BYTES)) return HD_NOMEM(err);
    hd_status status = hd_input_next(lines->input, lines->buffer + left, lines->capacity - left, &got, err);
    if (status == HD_END) {
        lines->ended = true;
        return HD_OK;
    }
    HD_TRY(status);
    lines->end += got;
    lines->read_bytes += got;
    return HD_OK;
}

static hd_line take(hd_lines *lines, size_t size, size_t end_size, bool cut)
{
    hd_line line = {.text = lines->buffer + lines->at,
                    .size = size,
                    .offset = lines->read_bytes - (lines->end - lines->at),
                    .number = lines->count + 1,
                    .cut = cut};
    if (end_size && size && line.text[size - 1] == '\r') line.size--;
    line.has_zero = memchr(line.text, 0, line.size) != NULL;
    lines->at += size + end_size;
    lines->searched = 0;
    if (!cut) lines->count++;
    return line;
}

hd_status hd_lines_next(hd_line *out, hd_lines *lines, hd_error *err)
{
    for (;;) {
        size_t left = lines->end - lines->at;
        const char *from = left ? lines->buffer + lines->at + lines->searched : NULL;
        const char *newline = left > lines->searched ? memchr(from, '\n', left - lines->searched) : NULL;
        if (newline) {
            *out = take(lines, (size_t)(newline - (lines->buffer + lines->at)), 1, false);
            return HD_OK;
        }
        if (left >= HD_LINE_BYTES) {
            *out = take(lines, HD_LINE_BYTES, 0, true);
            return HD_OK;
        }
        if (lines->ended) {
            if (left == 0) return HD_END;
            *out = take(lines, left, 0, false);
            if (!lines->may_end_open) hd_input_note_cut(lines->input, out->offset);
            return HD_OK;
        }
        lines->searched = left;
        HD_TRY(fill(lines, err));
    }
}

void hd_lines_deinit(hd_lines *lines)
{
    free(lines->buffer);
    *lines = (hd_lines){0};
}
