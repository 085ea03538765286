/* parts.c - head, pool and body of a piece of the store; encoders and decoders */
#include <stdlib.h>

#include "format/heddle/codec/coder.h"
#include "format/heddle/codec/ints.h"

enum {
    POOLED = 1024,       /* streams up to this size lie in the pool */
    SMALL = 16384,       /* streams up to this size are compressed at the highest level */
    FRAME_OVERHEAD = 10, /* of a zstd frame, which pooled streams do not have */
    PART_LIMIT = 64 << 20,
    POOL_LIMIT = 16 << 20, /* beyond it small streams get frames, too */
    EXPANSION = 40000,     /* more than zstd can do */
    BEST_LIMIT = 1 << 17,  /* up to which parts are compressed at the highest level */
};

/* ---- writing ---- */

void store_sink_clear(store_sink *sink)
{
    sink->head.size = sink->pool.size = sink->body.size = 0;
    sink->cost = 0;
}

static bool sink_failed(const store_sink *sink)
{
    return sink->head.failed || sink->pool.failed || sink->body.failed;
}

static void sink_deinit(store_sink *sink)
{
    hd_bytes_deinit(&sink->head);
    hd_bytes_deinit(&sink->pool);
    hd_bytes_deinit(&sink->body);
}

/* Appends data to `out`, compressed as a frame or unchanged; returns the code for it: 1 unchanged, else the size +
 * 1. */
static uint64_t put_frame(store_encoder *encoder, hd_bytes *out, hd_compressor *compressor, const uint8_t *data,
                          size_t size)
{
    size_t before = out->size;
    hd_status status = hd_compress(out, compressor, data, size, NULL);
    if (status != HD_OK && encoder->status == HD_OK) encoder->status = status;
    if (out->size - before < size) return out->size - before + 1;
    out->size = before;
    hd_bytes_put(out, data, size);
    return 1;
}

void store_put_stream(store_encoder *encoder, store_sink *sink, const uint8_t *data, size_t size)
{
    if (size == 0) return;
    if (sink->trial) {
        hd_bytes *frame = &encoder->frame;
        frame->size = 0;
        uint64_t code = put_frame(encoder, frame, encoder->trial, data, size);
        sink->cost += (double)frame->size - (code != 1 && size <= POOLED ? FRAME_OVERHEAD : 0);
    } else if (size <= POOLED && sink->pool.size < POOL_LIMIT) {
        hd_bytes_put_varint(&sink->head, 0);
        hd_bytes_put(&sink->pool, data, size);
    } else {
        hd_bytes_put_varint(&sink->head,
                            put_frame(encoder, &sink->body, size > SMALL ? encoder->fast : encoder->best, data, size));
    }
}

void store_put_noise(store_encoder *encoder, store_sink *sink, const uint8_t *data, size_t size)
{
    if (size <= POOLED) {
        store_put_stream(encoder, sink, data, size);
    } else {
        hd_bytes_put_varint(&sink->head, 1);
        hd_bytes_put(&sink->body, data, size);
    }
}

static void put_part(hd_bytes *out, store_encoder *encoder, const hd_bytes *part)
{
    encoder->frame.size = 0;
    hd_bytes_put_varint(out, part->size);
    if (part->size == 0) return;
    uint64_t code = put_frame(encoder, &encoder->frame, part->size > BEST_LIMIT ? encoder->fast : encoder->best,
                              part->data, part->size);
    hd_bytes_put_varint(out, code);
    hd_bytes_put(out, encoder->frame.data, encoder->frame.size);
}

hd_status store_sink_finish(hd_bytes *out, store_encoder *encoder, store_sink *sink, hd_error *err)
{
    if (sink->head.size > PART_LIMIT)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "too many columns for one block of the store");
    put_part(out, encoder, &sink->head);
    put_part(out, encoder, &sink->pool);
    hd_bytes_put(out, sink->body.data, sink->body.size);
    bool failed = out->failed || sink_failed(sink) || sink_failed(&encoder->trial_sink) || encoder->planes.failed ||
                  encoder->frame.failed || encoder->status != HD_OK;
    return failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- encoder and decoder ---- */

/* Scratch memory for the rows of a run. */
typedef struct scratch {
    void **at;
    size_t bytes;
} scratch;

enum { ROOMS_MAX = 24, STRIDE_MIN = 64 };

typedef size_t list_rooms(scratch *out, void *coder, size_t stride);

static size_t columns(size_t count, size_t stride)
{
    return (count * stride + 1) * sizeof(int64_t);
}

static size_t odds_of(size_t stride)
{
    size_t regions = 2 * stride < CODER_REGIONS ? 2 * stride : CODER_REGIONS;
    return (regions < CODER_REGIONS_MIN ? CODER_REGIONS_MIN : regions) * CODER_NODES * sizeof(uint16_t);
}

static size_t table_of(size_t stride)
{
    return columns(1, 2 * stride < STORE_TABLE ? 2 * stride : STORE_TABLE);
}

static size_t rooms_of_encoder(scratch *out, void *coder, size_t stride)
{
    store_encoder *e = coder;
    const scratch rooms[] = {
        {(void **)&e->indexes, columns(1, stride)},
        {(void **)&e->sorted, columns(1, stride)},
        {(void **)&e->slots, stride * sizeof *e->slots},
        {(void **)&e->work[0], columns(1, stride)},
        {(void **)&e->work[1], columns(1, stride)},
        {(void **)&e->work[2], columns(1, stride)},
        {(void **)&e->work[3], columns(1, stride)},
        {(void **)&e->runs, columns(1, stride)},
        {(void **)&e->scaled, columns(1, stride)},
        {(void **)&e->table, table_of(stride)},
        {(void **)&e->scopes, columns(2, STORE_SCOPES)},
        {(void **)&e->nest, columns(3, stride)},
        {(void **)&e->odds, odds_of(stride)},
        {(void **)&e->base, columns(HD_COL_COUNT, stride)},
        {(void **)&e->gathered, columns(HD_COL_COUNT, stride)},
        {(void **)&e->rows, stride * sizeof *e->rows},
        {(void **)&e->below, stride * sizeof *e->below},
    };
    memcpy(out, rooms, sizeof rooms);
    return sizeof rooms / sizeof *rooms;
}

static size_t rooms_of_decoder(scratch *out, void *coder, size_t stride)
{
    store_decoder *d = coder;
    const scratch rooms[] = {
        {(void **)&d->indexes, columns(1, stride)},
        {(void **)&d->work[0], columns(1, stride)},
        {(void **)&d->work[1], columns(1, stride)},
        {(void **)&d->work[2], columns(1, stride)},
        {(void **)&d->work[3], columns(1, stride)},
        {(void **)&d->table, table_of(stride)},
        {(void **)&d->scopes, columns(2, STORE_SCOPES)},
        {(void **)&d->nest, columns(3, stride)},
        {(void **)&d->odds, odds_of(stride)},
        {(void **)&d->coded, columns(2, stride)},
        {(void **)&d->below, stride * sizeof *d->below},
        {(void **)&d->base, columns(HD_COL_COUNT, stride)},
        {(void **)&d->gathered, columns(HD_COL_COUNT, stride)},
        {(void **)&d->rows, stride * sizeof *d->rows},
    };
    memcpy(out, rooms, sizeof rooms);
    return sizeof rooms / sizeof *rooms;
}

static void free_rooms(void *coder, list_rooms *list)
{
    scratch rooms[ROOMS_MAX];
    size_t count = list(rooms, coder, 0);
    for (size_t i = 0; i < count; i++) {
        free(*rooms[i].at);
        *rooms[i].at = NULL;
    }
}

/* A power of two, so that few blocks need another; the hash tables need one as well. */
static hd_status fit(uint32_t *stride, uint32_t count, void *coder, list_rooms *list, hd_error *err)
{
    scratch rooms[ROOMS_MAX];
    uint32_t wanted = STRIDE_MIN;
    while (wanted < count) wanted *= 2;
    free_rooms(coder, list);
    *stride = 0;
    size_t room_count = list(rooms, coder, wanted);
    for (size_t i = 0; i < room_count; i++) {
        *rooms[i].at = malloc(rooms[i].bytes);
        if (!*rooms[i].at) return HD_NOMEM(err);
    }
    *stride = wanted;
    return HD_OK;
}

hd_status store_encoder_new(store_encoder **out, int level, hd_error *err)
{
    enum { DEFAULT_LEVEL = 10, TRIAL_LEVEL = 3, CODER_LEVEL = 15, BEST_LEVEL = 19 };
    store_encoder *encoder = calloc(1, sizeof *encoder);
    *out = NULL;
    if (!encoder) return HD_NOMEM(err);
    encoder->trial_sink.trial = true;
    encoder->may_code = level >= CODER_LEVEL; /* takes an eighth off, and three to five times as long to read */
    int fast = level ? level : DEFAULT_LEVEL;
    int best = level > BEST_LEVEL ? level : level && level < DEFAULT_LEVEL ? level : BEST_LEVEL;
    if (hd_compressor_new(&encoder->fast, fast, NULL) || hd_compressor_new(&encoder->best, best, NULL) ||
        hd_compressor_new(&encoder->trial, TRIAL_LEVEL, NULL)) {
        store_encoder_free(encoder);
        return HD_NOMEM(err);
    }
    *out = encoder;
    return HD_OK;
}

hd_status store_encoder_fit(store_encoder *encoder, uint32_t count, hd_error *err)
{
    return count <= encoder->stride ? HD_OK : fit(&encoder->stride, count, encoder, rooms_of_encoder, err);
}

void store_encoder_free(store_encoder *encoder)
{
    if (!encoder) return;
    hd_compressor_free(encoder->best);
    hd_compressor_free(encoder->fast);
    hd_compressor_free(encoder->trial);
    sink_deinit(&encoder->sink);
    sink_deinit(&encoder->trial_sink);
    hd_bytes_deinit(&encoder->planes);
    hd_bytes_deinit(&encoder->frame);
    free_rooms(encoder, rooms_of_encoder);
    free(encoder);
}

hd_status store_decoder_new(store_decoder **out, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? HD_OK : HD_NOMEM(err);
}

static void free_keys(store_decoder *decoder)
{
    for (int i = 0; i <= STORE_KEY_REFS; i++) {
        free(decoder->keys[i]);
        decoder->keys[i] = NULL;
    }
}

hd_status store_decoder_fit(store_decoder *decoder, uint32_t count, hd_error *err)
{
    if (count <= decoder->stride) return HD_OK;
    free_keys(decoder);
    return fit(&decoder->stride, count, decoder, rooms_of_decoder, err);
}

hd_bytes *store_decoder_room(store_decoder *decoder)
{
    return &decoder->payload;
}

void store_decoder_free(store_decoder *decoder)
{
    if (!decoder) return;
    hd_decompressor_free(decoder->decompressor);
    hd_bytes_deinit(&decoder->scratch);
    hd_bytes_deinit(&decoder->payload);
    free_keys(decoder);
    free_rooms(decoder, rooms_of_decoder);
    free(decoder);
}

/* ---- reading ---- */

/* Reads the bytes for a code from put_frame, into out[0 … size). */
static bool take_frame(store_source *source, uint8_t *out, size_t size, uint64_t code)
{
    hd_byte_reader *body = &source->body;
    if (code == 0) return false;
    const uint8_t *frame = hd_byte_reader_take(body, code == 1 ? size : code - 1);
    if (!frame) return false;
    if (code == 1) {
        memcpy(out, frame, size);
        return true;
    }
    hd_status status = hd_decompress(out, size, source->decompressor, frame, code - 1, NULL);
    source->no_memory |= status == HD_ERR_MEMORY;
    return status == HD_OK;
}

const uint8_t *store_take_stream(store_source *source, size_t size)
{
    if (size == 0) return source->parts;
    uint64_t code = hd_byte_reader_varint(&source->head);
    const uint8_t *bytes = NULL;
    if (source->failed || source->head.failed) {
        source->failed = true;
    } else if (code == 0) {
        bytes = hd_byte_reader_take(&source->pool, size);
    } else if (code == 1) {
        bytes = hd_byte_reader_take(&source->body, size);
    } else {
        bool fits = size <= PART_LIMIT && size / EXPANSION <= hd_byte_reader_left(&source->body);
        source->scratch->size = 0;
        uint8_t *room = fits ? hd_bytes_room(source->scratch, size) : NULL;
        source->no_memory |= fits && !room;
        if (room && take_frame(source, room, size, code)) bytes = room;
    }
    if (!bytes) source->failed = true;
    return bytes;
}

static bool take_part(store_source *source, uint8_t **out, size_t *out_size)
{
    uint64_t size = hd_byte_reader_varint(&source->body), code = 0;
    if (size) code = hd_byte_reader_varint(&source->body);
    *out = NULL;
    *out_size = 0;
    if (source->body.failed || size > PART_LIMIT || size / EXPANSION > hd_byte_reader_left(&source->body)) return false;
    *out = malloc(size + 1);
    if (!*out) {
        source->no_memory = true;
        return false;
    }
    *out_size = size;
    return size == 0 || take_frame(source, *out, size, code);
}

static hd_status damaged(hd_error *err, size_t offset)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "the encoded columns are damaged");
}

hd_status store_source_open(store_source *out, store_decoder *decoder, const uint8_t *data, size_t size, hd_error *err)
{
    *out = (store_source){
        .body = hd_byte_reader_of(data, size),
        .decompressor = &decoder->decompressor,
        .scratch = &decoder->scratch,
        .indexes = decoder->indexes,
    };
    decoder->scratch.failed = false; /* which it was for another source */
    uint8_t *head, *pool = NULL;
    size_t head_size, pool_size = 0;
    bool fine = take_part(out, &head, &head_size) && take_part(out, &pool, &pool_size);
    out->parts = head;
    out->parts2 = pool;
    out->head = hd_byte_reader_of(head, head_size);
    out->pool = hd_byte_reader_of(pool, pool_size);
    if (fine) return HD_OK;
    free(head);
    free(pool);
    out->parts = out->parts2 = NULL;
    return out->no_memory ? HD_NOMEM(err) : damaged(err, out->body.at);
}

hd_status store_source_close(store_source *source, hd_error *err)
{
    bool fine = !source->failed && !source->head.failed && !hd_byte_reader_left(&source->head) &&
                !hd_byte_reader_left(&source->pool) && !hd_byte_reader_left(&source->body);
    free(source->parts);
    free(source->parts2);
    if (source->no_memory) return HD_NOMEM(err);
    return fine ? HD_OK : damaged(err, source->body.at);
}
