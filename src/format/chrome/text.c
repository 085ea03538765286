/* text.c - cuts the input into chunks that begin and end between events, by a guess
 *
 * A chunk ends before the last `{` that looks like the start of an event; the guess is verified when the chunk's parser
 * stops exactly there, in the state that a new event needs.
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/chrome/reader.h"

bool chrome_text_reserve(chrome_text *text, size_t size)
{
    if (text->begin) {
        memmove(text->data, text->data + text->begin, text->end - text->begin);
        text->end -= text->begin;
        text->begin = 0;
    }
    if (text->capacity >= size + HD_JSON_PADDING) return true;
    char *data = realloc(text->data, size + HD_JSON_PADDING);
    if (!data) return false;
    text->data = data;
    text->capacity = size + HD_JSON_PADDING;
    return true;
}

void chrome_text_deinit(chrome_text *text)
{
    free(text->data);
    *text = (chrome_text){0};
}

static void pad(chrome_text *text)
{
    memset(text->data + text->end, 0, HD_JSON_PADDING);
}

/* Reads until the text has `size` bytes; the buffer has room for them. */
static hd_status read_up_to(chrome_reader *reader, chrome_text *text, size_t size)
{
    while (!reader->input_ended && text->end < size) {
        size_t got = 0;
        hd_status status = hd_input_next(reader->input, text->data + text->end, size - text->end, &got, reader->err);
        text->end += got;
        if (status == HD_END)
            reader->input_ended = true;
        else if (status != HD_OK)
            return status;
    }
    pad(text);
    return HD_OK;
}

hd_status chrome_fill(chrome_reader *reader, size_t size)
{
    chrome_text *rest = &reader->rest;
    if (reader->input_ended || rest->end - rest->begin >= size) return HD_OK;
    if (!chrome_text_reserve(rest, size)) return HD_NOMEM(reader->err);
    return read_up_to(reader, rest, size);
}

/* Moves the first `size` bytes of rest to a chunk. */
static void take_from_rest(chrome_text *piece, chrome_text *rest, size_t size)
{
    memcpy(piece->data, rest->data + rest->begin, size);
    piece->begin = 0;
    piece->end = size;
    piece->offset = rest->offset;
    rest->begin += size;
    rest->offset += size;
}

/* Returns the text after the last boundary to the front of rest. */
static bool cut_piece(chrome_reader *reader, chrome_job *job)
{
    chrome_text *piece = &job->text;
    chrome_text *rest = &reader->rest;
    pad(piece);
    size_t comma, cut = chrome_find_last_boundary(&comma, piece->data, piece->end), behind = piece->end - cut;
    job->at_boundary = cut > 0;
    reader->piece_comma = cut ? piece->offset + comma : HD_OFFSET_NONE;
    if (cut == 0) return true;
    if (rest->begin >= behind) { /* it came from there */
        rest->begin -= behind;
        rest->offset -= behind;
    } else { /* rest was used up */
        rest->begin = rest->end = 0;
        if (!chrome_text_reserve(rest, behind)) return false;
        memcpy(rest->data, piece->data + cut, behind);
        rest->end = behind;
        rest->offset = piece->offset + cut;
        pad(rest);
    }
    piece->end = cut;
    pad(piece);
    return true;
}

hd_status chrome_next_piece(chrome_reader *reader, chrome_job *job)
{
    chrome_text *piece = &job->text, *rest = &reader->rest;
    size_t held = rest->end - rest->begin, size = reader->chunk_size;
    piece->begin = piece->end = 0;
    if (!chrome_text_reserve(piece, size)) return HD_NOMEM(reader->err);
    uint64_t read_offset = rest->offset + held;
    take_from_rest(piece, rest, held < size ? held : size);
    if (held < size) {
        hd_status status = read_up_to(reader, piece, size);
        rest->begin = rest->end = 0;
        rest->offset = read_offset + (piece->end - held);
        HD_TRY(status);
    }
    if (piece->end == 0) return HD_END;
    job->is_final = reader->input_ended && rest->begin == rest->end;
    if (!job->is_final && !cut_piece(reader, job)) return HD_NOMEM(reader->err);
    pad(piece);
    return HD_OK;
}
