/* input_gzip.c - gzip -> bytes, member by member, through ISA-L
 *
 * Format   RFC 1952 around RFC 1951. Members may follow each other; zero bytes may follow the last.
 * Damage   a bad header checksum or data checksum is noted and decoding continues; after bad deflate data (the bytes
 *          decoded before it are delivered), or bytes that are not a member, decoding continues with the next member
 */
#include "base/io/input.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/inflate.h"

enum { CHUNK_MAX = 1 << 30 /* ISA-L counts in 32 bits */, HEADER_BYTES = 10 };

typedef enum gzip_stage {
    GZIP_START,   /* at the first byte of a member or after the last member */
    GZIP_HEADER,  /* inside a member's header */
    GZIP_BODY,    /* inside deflate data or the trailer */
    GZIP_PADDING, /* inside zero bytes after a member */
    GZIP_DRAIN,   /* broken: deliver the bytes that ISA-L still holds, then search */
    GZIP_SEARCH,  /* to the next member */
    GZIP_ENDED,
} gzip_stage;

typedef struct gzip_state {
    struct inflate_state inflate, before;
    struct isal_gzip_header header; /* persists between calls: a header may arrive in parts */
    gzip_stage stage;
    bool has_member; /* a whole member was decoded */
    bool at_damaged; /* a search begins at the member that is damaged */
    size_t back;     /* bytes of the member used since input was last requested */
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
    state->back = 0;
}

static void give_input(gzip_state *state, const hd_decoder_io *io)
{
    state->inflate.next_in = (uint8_t *)(uintptr_t)io->in; /* ISA-L does not write there */
    state->inflate.avail_in = (uint32_t)(io->in_size < CHUNK_MAX ? io->in_size : CHUNK_MAX);
}

static void take_input(gzip_state *state, hd_decoder_io *io)
{
    state->back += (size_t)(state->inflate.next_in - io->in);
    io->in_size -= (size_t)(state->inflate.next_in - io->in);
    io->in = state->inflate.next_in;
}

static hd_status end_with(gzip_state *state, hd_decoder_io *io, const char *damage)
{
    state->stage = GZIP_ENDED;
    io->damage = damage;
    return HD_END;
}

/* Decoding damaged data may have run into the next member: the search starts in the damaged one, as far as its bytes
 * are still there. */
static hd_status search_after(gzip_state *state, hd_decoder_io *io, const char *damage)
{
    state->stage = GZIP_SEARCH;
    state->at_damaged = true;
    io->damage = damage;
    return HD_OK;
}

static hd_status want_input(gzip_state *state, hd_decoder_io *io)
{
    state->back = 0; /* the bytes are moved, or gone */
    io->wants_input = true;
    return HD_OK;
}

static hd_status start_member(gzip_state *state, hd_decoder_io *io)
{
    state->back = 0;
    if (io->in_size == 0 && io->in_last) return end_with(state, io, NULL);
    if (io->in_size < 2 && !io->in_last) return want_input(state, io);
    if (io->in[0] == 0 && state->has_member) {
        state->stage = GZIP_PADDING;
        return HD_OK;
    }
    if (io->in[0] != 0x1f || (io->in_size > 1 && io->in[1] != 0x8b))
        return search_after(state, io, "gzip.trailing-garbage");
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
    case ISAL_INCORRECT_CHECKSUM: /* the header's own CRC: the data after it may be intact, and has its own */
        state->inflate.wrapper_flag = 1;
        state->inflate.block_state = ISAL_BLOCK_NEW_HDR;
        state->stage = GZIP_BODY;
        io->damage = "gzip.checksum";
        return HD_OK;
    case ISAL_END_INPUT:
        if (io->in_size > 0) return HD_OK;
        if (!io->in_last) return want_input(state, io);
        return search_after(state, io, "gzip.truncated");
    default: /* not a header: after the first member these are other bytes that happen to start like one */
        io->in -= size_before - io->in_size;
        io->in_size = size_before;
        state->back = 0;
        return search_after(state, io, state->has_member ? "gzip.trailing-garbage" : "gzip.corrupt");
    }
}

static hd_status inflate_body(gzip_state *state, hd_decoder_io *io)
{
    give_input(state, io);
    state->inflate.next_out = io->out;
    state->inflate.avail_out = (uint32_t)(io->out_size < CHUNK_MAX ? io->out_size : CHUNK_MAX);
    int result = hd_inflate(&state->inflate, &state->before);
    take_input(state, io);
    io->out_size -= (size_t)(state->inflate.next_out - io->out);
    io->out = state->inflate.next_out;
    if (hd_inflate_is_damage(result)) {
        state->stage = GZIP_DRAIN;
        return HD_OK;
    }
    if (state->inflate.block_state == ISAL_BLOCK_FINISH) {
        state->stage = GZIP_START;
        state->has_member = true;
        if (result != ISAL_INCORRECT_CHECKSUM) return HD_OK;
        return search_after(state, io, "gzip.checksum");
    }
    if (io->in_size > 0 || io->out_size == 0) return HD_OK;
    if (!io->in_last) return want_input(state, io);
    return search_after(state, io, "gzip.truncated");
}

static hd_status drain(gzip_state *state, hd_decoder_io *io)
{
    size_t size = hd_inflate_held(&state->inflate, io->out, io->out_size);
    io->out += size;
    io->out_size -= size;
    return io->out_size ? search_after(state, io, "gzip.corrupt") : HD_OK;
}

/* A plausible header: deflate, no reserved flag, a known system. Other bytes hardly ever look like it. */
static bool is_header(const uint8_t *p)
{
    return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && p[3] < 0x20 && (p[8] == 0 || p[8] == 2 || p[8] == 4) &&
           (p[9] <= 13 || p[9] == 255);
}

static hd_status search(gzip_state *state, hd_decoder_io *io)
{
    if (state->at_damaged) {
        io->in -= state->back;
        io->in_size += state->back;
    }
    while (io->in_size >= HEADER_BYTES) {
        if (!state->at_damaged && is_header(io->in)) {
            state->stage = GZIP_START;
            return HD_OK;
        }
        state->at_damaged = false;
        const uint8_t *next = memchr(io->in + 1, 0x1f, io->in_size - 1);
        size_t passed = next ? (size_t)(next - io->in) : io->in_size;
        io->in += passed;
        io->in_size -= passed;
    }
    return io->in_last ? end_with(state, io, NULL) : want_input(state, io);
}

static hd_status skip_padding(gzip_state *state, hd_decoder_io *io)
{
    while (io->in_size > 0 && io->in[0] == 0) {
        io->in++;
        io->in_size--;
    }
    if (io->in_size > 0) return search_after(state, io, "gzip.trailing-garbage");
    return io->in_last ? end_with(state, io, NULL) : want_input(state, io);
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
    case GZIP_SEARCH: return search(state, io);
    case GZIP_ENDED: break;
    }
    return HD_END;
}

const hd_decoder_class hd_decoder_gzip = {gzip_create, gzip_destroy, gzip_reset, gzip_decode};
