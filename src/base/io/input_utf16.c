/* input_utf16.c - UTF-16 with a byte order mark -> UTF-8 without one
 *
 * Format   as PowerShell's `>` writes: FF FE (little endian) or FE FF (big endian), then units of two bytes
 * Damage   half of a surrogate pair, and an odd byte at the end, become U+FFFD, are noted, and decoding continues
 */
#include "base/io/input.h"

#include <stdlib.h>

#include "base/text/utf8.h"

enum { UTF8_MAX = 4, REPLACEMENT = 0xfffd };

typedef struct utf16_state {
    bool started, big_endian;
    uint8_t text[UTF8_MAX]; /* of a character for which there was not room enough */
    size_t at, size;
} utf16_state;

static void *utf16_create(uint32_t window_log_max)
{
    (void)window_log_max;
    return calloc(1, sizeof(utf16_state));
}

static void utf16_reset(void *opaque)
{
    *(utf16_state *)opaque = (utf16_state){0};
}

static uint32_t unit_at(const utf16_state *state, const uint8_t *p)
{
    return state->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static void take(hd_decoder_io *io, size_t size)
{
    io->in += size;
    io->in_size -= size;
}

/* The character at io->in, of *out_size bytes; *out_size 0: more bytes are needed. */
static uint32_t next_character(const utf16_state *state, const hd_decoder_io *io, size_t *out_size)
{
    *out_size = io->in_last ? io->in_size : 0;
    if (io->in_size < 2) return REPLACEMENT;
    uint32_t unit = unit_at(state, io->in);
    *out_size = 2;
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    if (unit > 0xdbff) return REPLACEMENT;
    if (io->in_size < 4) {
        if (!io->in_last) *out_size = 0;
        return REPLACEMENT;
    }
    uint32_t low = unit_at(state, io->in + 2);
    if (low < 0xdc00 || low > 0xdfff) return REPLACEMENT;
    *out_size = 4;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/* Whether a unit of its own is U+FFFD. */
static bool says_replacement(const utf16_state *state, const hd_decoder_io *io, size_t size)
{
    return size == 2 && unit_at(state, io->in) == REPLACEMENT;
}

static hd_status utf16_decode(void *opaque, hd_decoder_io *io)
{
    utf16_state *state = opaque;
    if (!state->started && io->in_size >= 2) {
        state->big_endian = io->in[0] == 0xfe;
        state->started = true;
        take(io, 2);
    }
    for (;;) {
        for (; state->at < state->size && io->out_size; io->out_size--) *io->out++ = state->text[state->at++];
        if (io->out_size == 0) return HD_OK;
        if (io->in_size == 0 && io->in_last) return HD_END;
        size_t size;
        uint32_t c = next_character(state, io, &size);
        if (size == 0) break;
        if (c == REPLACEMENT && !says_replacement(state, io, size)) io->damage = "utf16.unpaired";
        state->size = hd_utf8_put((char *)state->text, c);
        state->at = 0;
        take(io, size);
        if (io->damage) return HD_OK; /* each is counted */
    }
    io->wants_input = true;
    return HD_OK;
}

const hd_decoder_class hd_decoder_utf16 = {utf16_create, free, utf16_reset, utf16_decode};
