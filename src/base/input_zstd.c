/* input_zstd.c - zstd -> bytes, frame by frame, through libzstd
 *
 * Format   RFC 8878; frames and skippable frames may follow each other.
 * Damage   a bad content checksum is noted and decoding goes on; a bad block ends the stream after all that
 *          was decoded before it.
 *
 * ZSTD_decompressStream reports neither input nor output of a call that fails, so that a large call would
 * lose all blocks before the bad one. It is therefore fed one block at a time, which also spares it a copy.
 */
#include "base/input.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MAGIC_BYTES = 4, BLOCK_HEADER_BYTES = 3 };

typedef struct zstd_state {
    ZSTD_DCtx *context;
    size_t hint;      /* stored bytes that libzstd wants next; 0 between frames */
    bool out_pending; /* the last step filled the room: libzstd may hold more */
    bool has_frame;   /* one frame was decoded whole */
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
    state->out_pending = state->has_frame = state->ended = false;
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
    static const uint8_t frame[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};
    static const uint8_t skippable[MAGIC_BYTES] = {0x50, 0x2a, 0x4d, 0x18};
    bool is_frame = true, is_skippable = true;
    for (size_t i = 0; i < size && i < MAGIC_BYTES; i++) {
        is_frame = is_frame && bytes[i] == frame[i];
        is_skippable = is_skippable && (i == 0 ? (bytes[i] & 0xf0) == skippable[i] : bytes[i] == skippable[i]);
    }
    return is_frame || is_skippable;
}

static hd_status start_frame(zstd_state *state, hd_decoder_io *io)
{
    if (io->in_size == 0 && io->in_last) return end_with(state, io, NULL);
    if (io->in_size < MAGIC_BYTES && !io->in_last) return want_input(io);
    if (!is_magic(io->in, io->in_size))
        return end_with(state, io, state->has_frame ? "zstd.trailing-garbage" : "zstd.corrupt");
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
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: io->problem = "out of memory for the zstd window"; return HD_ERR_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge:
        io->problem = "the zstd window is larger than allowed";
        return HD_ERR_LIMIT;
    case ZSTD_error_dictionary_wrong:
        io->problem = "compressed with a zstd dictionary, which is not supported";
        return HD_ERR_UNSUPPORTED;
    case ZSTD_error_checksum_wrong: /* the frame is over, and what was fed was the rest of its checksum */
        io->in += fed;
        io->in_size -= fed;
        ZSTD_DCtx_reset(state->context, ZSTD_reset_session_only);
        state->hint = 0;
        state->out_pending = false;
        state->has_frame = true;
        io->damage = "zstd.checksum";
        return HD_OK;
    default: return end_with(state, io, "zstd.corrupt");
    }
}

static hd_status zstd_decode(void *opaque, hd_decoder_io *io)
{
    zstd_state *state = opaque;
    if (state->ended) return HD_END;
    if (state->hint == 0) return start_frame(state, io);
    if (io->in_size == 0 && !state->out_pending)
        return io->in_last ? end_with(state, io, "zstd.truncated") : want_input(io);

    /* The hint for a block has the next block's header added: leave that for the next step. Feed nothing
     * while output is held back, except the frame's last byte, which libzstd holds hostage for it. */
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
    return HD_OK;
}

const hd_decoder_class hd_decoder_zstd = {zstd_create, zstd_destroy, zstd_reset, zstd_decode};
