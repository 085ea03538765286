/* compress.c - zstd frames and zlib streams in memory */
#include "base/io/compress.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/io/inflate.h"

/* ---- zstd ---- */

struct hd_compressor {
    ZSTD_CCtx *context;
};

hd_status hd_compressor_new(hd_compressor **out, int level, hd_error *err)
{
    hd_compressor *compressor = malloc(sizeof *compressor);
    *out = NULL;
    if (!compressor) return HD_NOMEM(err);
    compressor->context = ZSTD_createCCtx();
    if (!compressor->context ||
        ZSTD_isError(ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_compressionLevel, level))) {
        hd_compressor_free(compressor);
        return HD_NOMEM(err);
    }
    *out = compressor;
    return HD_OK;
}

void hd_compressor_free(hd_compressor *compressor)
{
    if (!compressor) return;
    ZSTD_freeCCtx(compressor->context);
    free(compressor);
}

hd_status hd_compress(hd_bytes *out, hd_compressor *compressor, const void *data, size_t size, hd_error *err)
{
    size_t bound = ZSTD_compressBound(size);
    uint8_t *room = ZSTD_isError(bound) ? NULL : hd_bytes_room(out, bound);
    if (!room) return HD_NOMEM(err);
    size_t written = ZSTD_compress2(compressor->context, room, bound, data, size);
    if (ZSTD_isError(written)) return HD_NOMEM(err); /* with enough room only memory can fail */
    out->size += written;
    return HD_OK;
}

enum { ZSTD_STEP = 4 << 10 };

struct hd_decompressor {
    ZSTD_DCtx *context;
};

static hd_status damaged(hd_error *err)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "what is compressed is damaged");
}

static hd_status make_decompressor(hd_decompressor **out, hd_error *err)
{
    if (!*out) {
        *out = malloc(sizeof **out);
        if (!*out) return HD_NOMEM(err);
        (*out)->context = ZSTD_createDCtx();
    }
    return (*out)->context ? HD_OK : HD_NOMEM(err);
}

hd_status hd_decompress(void *out, size_t out_size, hd_decompressor **decompressor, const void *data, size_t size,
                        hd_error *err)
{
    HD_TRY(make_decompressor(decompressor, err));
    if (ZSTD_findFrameCompressedSize(data, size) != size) return damaged(err);
    return ZSTD_decompressDCtx((*decompressor)->context, out, out_size, data, size) == out_size ? HD_OK : damaged(err);
}

/* Decompresses as much as the bytes allow; *out_left is the last result of ZSTD_decompressStream. Works in steps, since
 * for a complete frame the library returns everything or nothing. */
static void decompress_steps(hd_bytes *out, size_t *out_left, ZSTD_DCtx *context, ZSTD_inBuffer *in, size_t size,
                             size_t limit)
{
    size_t start = out->size, left = 1;
    while (left && !ZSTD_isError(left) && out->size - start <= limit) {
        in->size = size - in->pos > ZSTD_STEP ? in->pos + ZSTD_STEP : size;
        size_t before = in->pos, step = ZSTD_BLOCKSIZE_MAX;
        uint8_t *room = hd_bytes_room(out, step);
        if (!room) break;
        ZSTD_outBuffer to = {.dst = room, .size = step};
        left = ZSTD_decompressStream(context, &to, in);
        out->size += to.pos;
        if (to.pos == 0 && in->pos == before) break; /* the frame is cut off, or continues in the next call */
    }
    *out_left = left;
}

static bool no_memory(const hd_bytes *out, size_t left)
{
    return out->failed || (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation);
}

hd_status hd_zstd_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context) return HD_NOMEM(err);
    ZSTD_inBuffer in = {.src = data};
    size_t start = out->size, left;
    decompress_steps(out, &left, context, &in, size, limit);
    bool fine = left == 0 && in.pos == size && out->size - start <= limit;
    if (out->size - start > limit) out->size = start + limit;
    ZSTD_freeDCtx(context);
    if (no_memory(out, left)) return HD_NOMEM(err);
    return fine ? HD_OK : damaged(err);
}

hd_status hd_zstd_continue(hd_bytes *out, hd_decompressor **decompressor, const void *data, size_t size, size_t limit,
                           hd_error *err)
{
    HD_TRY(make_decompressor(decompressor, err));
    ZSTD_inBuffer in = {.src = data};
    size_t start = out->size, left = 0;
    do decompress_steps(out, &left, (*decompressor)->context, &in, size, limit - (out->size - start));
    while (left == 0 && in.pos < size && out->size - start < limit);
    bool fine = !ZSTD_isError(left) && in.pos == size && out->size - start <= limit;
    if (out->size - start > limit) out->size = start + limit;
    if (no_memory(out, left)) return HD_NOMEM(err);
    if (fine) return HD_OK;
    ZSTD_DCtx_reset((*decompressor)->context, ZSTD_reset_session_only);
    return damaged(err);
}

void hd_decompressor_free(hd_decompressor *decompressor)
{
    if (!decompressor) return;
    ZSTD_freeDCtx(decompressor->context);
    free(decompressor);
}

/* ---- zlib and gzip ---- */

enum { ZLIB_CHUNK = 1 << 30, INFLATE_STEP = 1 << 16 };

static hd_status deflate(hd_bytes *out, const void *data, size_t size, uint16_t wrapping, unsigned level, hd_error *err)
{
    if (size > ZLIB_CHUNK)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 1 GiB for one compressed stream");
    struct isal_zstream *stream = calloc(1, sizeof *stream);
    uint8_t *level_buffer = malloc(ISAL_DEF_LVL3_DEFAULT);
    size_t bound = size + size / 8 + 1024;
    uint8_t *room = hd_bytes_room(out, bound);
    int result = -1;
    if (stream && level_buffer && room) {
        isal_deflate_init(stream);
        stream->level = level;
        stream->level_buf = level_buffer;
        stream->level_buf_size = ISAL_DEF_LVL3_DEFAULT;
        stream->gzip_flag = wrapping;
        stream->end_of_stream = 1;
        stream->next_in = (uint8_t *)(uintptr_t)data; /* ISA-L does not write there */
        stream->avail_in = (uint32_t)size;
        stream->next_out = room;
        stream->avail_out = (uint32_t)bound;
        result = isal_deflate(stream);
        if (stream->internal_state.state != ZSTATE_END) result = -1;
        if (result == COMP_OK) out->size += stream->total_out;
    }
    free(level_buffer);
    free(stream);
    return result == COMP_OK ? HD_OK : HD_NOMEM(err);
}

hd_status hd_zlib_compress(hd_bytes *out, const void *data, size_t size, hd_error *err)
{
    return deflate(out, data, size, IGZIP_ZLIB, 3, err);
}

hd_status hd_gzip_compress(hd_bytes *out, const void *data, size_t size, hd_error *err)
{
    return deflate(out, data, size, IGZIP_GZIP, 1, err);
}

static hd_status inflate(hd_bytes *out, const void *data, size_t size, size_t limit, uint32_t wrapping, hd_error *err)
{
    if (size > ZLIB_CHUNK) return damaged(err);
    struct inflate_state *states = calloc(2, sizeof *states), *state = states;
    if (!states) return HD_NOMEM(err);
    isal_inflate_init(state);
    state->crc_flag = wrapping;
    state->next_in = (uint8_t *)(uintptr_t)data;
    state->avail_in = (uint32_t)size;
    size_t start = out->size;
    bool fine = true;
    while (fine && state->block_state != ISAL_BLOCK_FINISH) {
        size_t done = out->size - start, step = limit - done < INFLATE_STEP ? limit - done + 1 : INFLATE_STEP;
        uint8_t *room = hd_bytes_room(out, step);
        if (!room) break;
        state->next_out = room;
        state->avail_out = (uint32_t)step;
        int result = hd_inflate(state, states + 1);
        if (hd_inflate_is_damage(result))
            state->avail_out -= (uint32_t)hd_inflate_held(state, state->next_out, state->avail_out);
        size_t got = step - state->avail_out;
        out->size += got;
        fine =
            result == ISAL_DECOMP_OK && out->size - start <= limit && (got || state->block_state == ISAL_BLOCK_FINISH);
    }
    fine = fine && state->block_state == ISAL_BLOCK_FINISH;
    if (out->size - start > limit) out->size = start + limit;
    free(states);
    if (out->failed) return HD_NOMEM(err);
    return fine ? HD_OK : damaged(err);
}

hd_status hd_zlib_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err)
{
    return inflate(out, data, size, limit, ISAL_ZLIB, err);
}

hd_status hd_gzip_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err)
{
    return inflate(out, data, size, limit, ISAL_GZIP, err);
}
