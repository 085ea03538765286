/* input_gzip.c - gzip -> bytes, member by member, through ISA-L
 *
 * Format   RFC 1952 around RFC 1951. Members may follow each other; zero bytes may follow the last.
 * Damage   a bad header checksum or data checksum is noted and decoding goes on; bad deflate data ends the
 *          stream after all that was decoded before it.
 */
#include "base/input.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_MAX = 1 << 30 }; /* ISA-L counts in 32 bits */

typedef enum gzip_stage {
    GZIP_START,   /* at the first byte of a member or of what follows the last */
    GZIP_HEADER,  /* inside a member's header */
    GZIP_BODY,    /* inside deflate data or the trailer */
    GZIP_PADDING, /* inside zero bytes after a member */
    GZIP_DRAIN,   /* broken: hand out what ISA-L still holds, then end */
    GZIP_ENDED,
} gzip_stage;

typedef struct gzip_state {
    struct inflate_state inflate;
    struct isal_gzip_header header; /* lives across calls: a header may arrive in pieces */
    gzip_stage stage;
    bool has_member; /* one member was decoded whole */
} gzip_state;

static void *gzip_create(uint32_t window_log_max)
{
    (void)window_log_max;
    return calloc(1, sizeof(gzip_state));
}

static void gzip_destroy(void *state)
{
    free(state);
}

static void gzip_reset(void *opaque)
{
    gzip_state *state = opaque;
    state->stage = GZIP_START;
    state->has_member = false;
}

static void give_input(gzip_state *state, const hd_decoder_io *io)
{
    state->inflate.next_in = (uint8_t *)(uintptr_t)io->in; /* ISA-L does not write there */
    state->inflate.avail_in = (uint32_t)(io->in_size < CHUNK_MAX ? io->in_size : CHUNK_MAX);
}

static void take_input(const gzip_state *state, hd_decoder_io *io)
{
    io->in_size -= (size_t)(state->inflate.next_in - io->in);
    io->in = state->inflate.next_in;
}

static hd_status end_with(gzip_state *state, hd_decoder_io *io, const char *damage)
{
    state->stage = GZIP_ENDED;
    io->damage = damage;
    return HD_END;
}

static hd_status want_input(hd_decoder_io *io)
{
    io->wants_input = true;
    return HD_OK;
}

static hd_status start_member(gzip_state *state, hd_decoder_io *io)
{
    if (io->in_size == 0 && io->in_last) return end_with(state, io, NULL);
    if (io->in_size < 2 && !io->in_last) return want_input(io);
    if (io->in[0] == 0 && state->has_member) {
        state->stage = GZIP_PADDING;
        return HD_OK;
    }
    if (io->in[0] != 0x1f || (io->in_size > 1 && io->in[1] != 0x8b))
        return end_with(state, io, "gzip.trailing-garbage");
    isal_inflate_init(&state->inflate);
    isal_gzip_header_init(&state->header);
    state->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER;
    state->stage = GZIP_HEADER;
    return HD_OK;
}

static hd_status read_header(gzip_state *state, hd_decoder_io *io)
{
    size_t size_before = io->in_size;
    give_input(state, io);
    int result = isal_read_gzip_header(&state->inflate, &state->header);
    take_input(state, io);
    switch (result) {
    case ISAL_DECOMP_OK: state->stage = GZIP_BODY; return HD_OK;
    case ISAL_INCORRECT_CHECKSUM: /* the header's own CRC: the data after it may be whole, and has its own */
        state->inflate.wrapper_flag = 1;
        state->inflate.block_state = ISAL_BLOCK_NEW_HDR;
        state->stage = GZIP_BODY;
        io->damage = "gzip.checksum";
        return HD_OK;
    case ISAL_END_INPUT:
        if (io->in_size > 0) return HD_OK;
        return io->in_last ? end_with(state, io, "gzip.truncated") : want_input(io);
    default: /* no header: for all but the first member it is something else that happens to start like one */
        io->in -= size_before - io->in_size;
        io->in_size = size_before;
        return end_with(state, io, state->has_member ? "gzip.trailing-garbage" : "gzip.corrupt");
    }
}

static hd_status inflate_body(gzip_state *state, hd_decoder_io *io)
{
    give_input(state, io);
    state->inflate.next_out = io->out;
    state->inflate.avail_out = (uint32_t)(io->out_size < CHUNK_MAX ? io->out_size : CHUNK_MAX);
    int result = isal_inflate(&state->inflate);
    take_input(state, io);
    io->out_size -= (size_t)(state->inflate.next_out - io->out);
    io->out = state->inflate.next_out;
    if (result != ISAL_DECOMP_OK && result != ISAL_INCORRECT_CHECKSUM) {
        state->stage = GZIP_DRAIN;
        return HD_OK;
    }
    if (state->inflate.block_state == ISAL_BLOCK_FINISH) {
        state->stage = GZIP_START;
        state->has_member = true;
        if (result == ISAL_INCORRECT_CHECKSUM) io->damage = "gzip.checksum";
        return HD_OK;
    }
    if (io->in_size > 0 || io->out_size == 0) return HD_OK;
    return io->in_last ? end_with(state, io, "gzip.truncated") : want_input(io);
}

/* ISA-L decodes up to 64 KiB ahead into its own buffer and keeps that back when it meets an error. */
static hd_status drain(gzip_state *state, hd_decoder_io *io)
{
    struct inflate_state *inflate = &state->inflate;
    size_t held = 0;
    if (inflate->tmp_out_valid > inflate->tmp_out_processed)
        held = (size_t)(inflate->tmp_out_valid - inflate->tmp_out_processed);
    size_t size = held < io->out_size ? held : io->out_size;
    memcpy(io->out, inflate->tmp_out_buffer + inflate->tmp_out_processed, size);
    inflate->tmp_out_processed += (int32_t)size;
    io->out += size;
    io->out_size -= size;
    return size == held ? end_with(state, io, "gzip.corrupt") : HD_OK;
}

static hd_status skip_padding(gzip_state *state, hd_decoder_io *io)
{
    while (io->in_size > 0 && io->in[0] == 0) {
        io->in++;
        io->in_size--;
    }
    if (io->in_size > 0) return end_with(state, io, "gzip.trailing-garbage");
    return io->in_last ? end_with(state, io, NULL) : want_input(io);
}

static hd_status gzip_decode(void *opaque, hd_decoder_io *io)
{
    gzip_state *state = opaque;
    switch (state->stage) {
    case GZIP_START: return start_member(state, io);
    case GZIP_HEADER: return read_header(state, io);
    case GZIP_BODY: return inflate_body(state, io);
    case GZIP_PADDING: return skip_padding(state, io);
    case GZIP_DRAIN: return drain(state, io);
    case GZIP_ENDED: break;
    }
    return HD_END;
}

const hd_decoder_class hd_decoder_gzip = {gzip_create, gzip_destroy, gzip_reset, gzip_decode};
