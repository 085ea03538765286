/* input_zstd.c - zstd -> bytes, frame by frame, through libzstd
 *
 * Format   RFC 8878; frames and skippable frames may follow each other.
 * Damage   a bad content checksum is noted and decoding continues; after a bad block (the bytes decoded before it are
 *          delivered), or bytes that are not a frame, decoding continues with the next frame
 *
 * ZSTD_decompressStream reports neither input nor output of a failed call, so a large call would lose all blocks
 * before the bad one. It is therefore fed one block at a time, which also avoids a copy.
 */
#include "base/io/input.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MAGIC_BYTES = 4, BLOCK_HEADER_BYTES = 3, BLOCK_BYTES_MAX = 128 << 10 };
enum { FRAME_HEADER_MAX = MAGIC_BYTES + 14 + BLOCK_HEADER_BYTES };

static const uint8_t frame_magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

typedef struct zstd_state {
    ZSTD_DCtx *context;
    size_t hint;      /* stored bytes that libzstd wants next; 0 between frames */
    bool out_pending; /* the last step filled the output: libzstd may hold more */
    bool has_frame;   /* a whole frame was decoded */
    bool searching;   /* for the next frame */
    bool was_found;   /* the frame was found by searching: it may not be one */
    bool ended;
} zstd_state;

static void zstd_destroy(void *opaque)
{
    zstd_state *state = opaque;
    if (!state) return;
    ZSTD_freeDCtx(state->context);
    free(state);
}

static void *zstd_create(uint32_t window_log_max)
{
    zstd_state *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->context = ZSTD_createDCtx();
    ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    int log = (int)window_log_max;
    if (log > bounds.upperBound) log = bounds.upperBound;
    if (!state->context || ZSTD_isError(ZSTD_DCtx_setParameter(state->context, ZSTD_d_windowLogMax, log))) {
        zstd_destroy(state);
        return NULL;
    }
    return state;
}

static void zstd_reset(void *opaque)
{
    zstd_state *state = opaque;
    ZSTD_DCtx_reset(state->context, ZSTD_reset_session_only);
    state->hint = 0;
    state->out_pending = state->has_frame = state->searching = state->was_found = state->ended = false;
}

static hd_status end_with(zstd_state *state, hd_decoder_io *io, const char *damage)
{
    state->ended = true;
    io->damage = damage;
    return HD_END;
}

static hd_status want_input(hd_decoder_io *io)
{
    io->wants_input = true;
    return HD_OK;
}

static bool is_magic(const uint8_t *bytes, size_t size)
{
    static const uint8_t skippable[MAGIC_BYTES] = {0x50, 0x2a, 0x4d, 0x18};
    bool is_frame = true, is_skippable = true;
    for (size_t i = 0; i < size && i < MAGIC_BYTES; i++) {
        is_frame = is_frame && bytes[i] == frame_magic[i];
        is_skippable = is_skippable && (i == 0 ? (bytes[i] & 0xf0) == skippable[i] : bytes[i] == skippable[i]);
    }
    return is_frame || is_skippable;
}

static hd_status search_after(zstd_state *state, hd_decoder_io *io, const char *damage)
{
    ZSTD_DCtx_reset(state->context, ZSTD_reset_session_only);
    state->hint = 0;
    state->out_pending = false;
    state->searching = true;
    io->damage = damage;
    return HD_OK;
}

/* Magic, header and the header of the first block, up to FRAME_HEADER_MAX bytes: other bytes hardly ever look like
 * it. */
static bool is_frame_header(const uint8_t *p)
{
    static const uint8_t id_sizes[] = {0, 1, 2, 4}, content_sizes[] = {0, 2, 4, 8};
    if (memcmp(p, frame_magic, MAGIC_BYTES) != 0 || p[MAGIC_BYTES] & 0x08) return false;
    uint8_t descriptor = p[MAGIC_BYTES];
    bool single = descriptor & 0x20;
    const uint8_t *block = p + MAGIC_BYTES + 1 + !single + id_sizes[descriptor & 3] +
                           (descriptor >> 6 == 0 ? single : content_sizes[descriptor >> 6]);
    uint32_t head = (uint32_t)block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16;
    return (head >> 1 & 3) != 3 && head >> 3 <= BLOCK_BYTES_MAX;
}

static hd_status search(zstd_state *state, hd_decoder_io *io)
{
    while (io->in_size >= FRAME_HEADER_MAX) {
        const uint8_t *next = memchr(io->in + 1, frame_magic[0], io->in_size - 1);
        size_t passed = next ? (size_t)(next - io->in) : io->in_size;
        io->in += passed;
        io->in_size -= passed;
        if (io->in_size < FRAME_HEADER_MAX || !is_frame_header(io->in)) continue;
        state->searching = false;
        state->was_found = true;
        return HD_OK;
    }
    return io->in_last ? end_with(state, io, NULL) : want_input(io);
}

static hd_status start_frame(zstd_state *state, hd_decoder_io *io)
{
    if (io->in_size == 0 && io->in_last) return end_with(state, io, NULL);
    if (io->in_size < MAGIC_BYTES && !io->in_last) return want_input(io);
    if (!is_magic(io->in, io->in_size))
        return search_after(state, io, state->has_frame ? "zstd.trailing-garbage" : "zstd.corrupt");
    if (io->in_size < MAGIC_BYTES) {
        io->in += io->in_size;
        io->in_size = 0;
        return end_with(state, io, "zstd.truncated");
    }
    state->hint = MAGIC_BYTES;
    return HD_OK;
}

static hd_status fail(zstd_state *state, hd_decoder_io *io, size_t result, size_t fed)
{
    ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if ((state->was_found || state->has_frame) && code != ZSTD_error_checksum_wrong)
        return search_after(state, io, "zstd.corrupt"); /* whatever error such a frame causes */
    switch (code) {
    case ZSTD_error_memory_allocation: io->problem = "out of memory for the zstd window"; return HD_ERR_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge:
        io->problem = "the zstd window is larger than allowed";
        return HD_ERR_LIMIT;
    case ZSTD_error_dictionary_wrong:
        io->problem = "compressed with a zstd dictionary, which is not supported";
        return HD_ERR_UNSUPPORTED;
    case ZSTD_error_checksum_wrong: /* the frame is complete, and the input was the rest of its checksum */
        io->in += fed;
        io->in_size -= fed;
        ZSTD_DCtx_reset(state->context, ZSTD_reset_session_only);
        state->hint = 0;
        state->out_pending = false;
        state->has_frame = true;
        io->damage = "zstd.checksum";
        return HD_OK;
    default: return search_after(state, io, "zstd.corrupt");
    }
}

static hd_status zstd_decode(void *opaque, hd_decoder_io *io)
{
    zstd_state *state = opaque;
    if (state->ended) return HD_END;
    if (state->searching) return search(state, io);
    if (state->hint == 0) return start_frame(state, io);
    if (io->in_size == 0 && !state->out_pending)
        return io->in_last ? end_with(state, io, "zstd.truncated") : want_input(io);

    /* The hint for a block includes the next block's header: leave that for the next step. Feed nothing while output is
     * pending, except the frame's last byte, without which libzstd does not release it. */
    size_t feed = state->hint > BLOCK_HEADER_BYTES ? state->hint - BLOCK_HEADER_BYTES : state->hint;
    if (state->out_pending && state->hint > 1) feed = 0;
    if (feed > io->in_size) feed = io->in_size;
    ZSTD_inBuffer in = {io->in, feed, 0};
    ZSTD_outBuffer out = {io->out, io->out_size, 0};
    size_t result = ZSTD_decompressStream(state->context, &out, &in);
    if (ZSTD_isError(result)) return fail(state, io, result, feed);
    io->in += in.pos;
    io->in_size -= in.pos;
    io->out += out.pos;
    io->out_size -= out.pos;
    state->hint = result;
    state->out_pending = result != 0 && out.pos == out.size;
    state->has_frame = state->has_frame || result == 0;
    if (result == 0) state->was_found = false;
    return HD_OK;
}

const hd_decoder_class hd_decoder_zstd = {zstd_create, zstd_destroy, zstd_reset, zstd_decode};
