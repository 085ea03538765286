/* strings.c - runs of strings, and runs of integers that are not columns of a block */
#include <stdlib.h>

#include "format/heddle/codec/column.h"

enum { STEP = STORE_ROWS };

/* ---- integers ---- */

hd_status store_ints_encode(hd_bytes *out, store_encoder *encoder, const int64_t *values, size_t count, hd_error *err)
{
    store_refs none = {0};
    HD_TRY(store_encoder_fit(encoder, count < STEP ? (uint32_t)count : STEP, err));
    store_sink_clear(&encoder->sink);
    for (size_t at = 0; at < count; at += STEP) {
        uint32_t step = count - at < STEP ? (uint32_t)(count - at) : STEP;
        store_put_column(encoder, &encoder->sink, values + at, step, &none, STORE_SYMBOL);
    }
    return store_sink_finish(out, encoder, &encoder->sink, err);
}

hd_status store_ints_decode(int64_t *out, size_t count, store_decoder *decoder, const uint8_t *data, size_t size,
                            hd_error *err)
{
    store_refs none = {0};
    store_source source;
    HD_TRY(store_decoder_fit(decoder, count < STEP ? (uint32_t)count : STEP, err));
    HD_TRY(store_source_open(&source, decoder, data, size, err));
    for (size_t at = 0; at < count && !source.failed; at += STEP) {
        uint32_t step = count - at < STEP ? (uint32_t)(count - at) : STEP;
        store_take_column(&source, decoder, out + at, step, &none);
    }
    return store_source_close(&source, err);
}

/* ---- strings ---- */

/* Bytes the string shares with the one before. */
static size_t shared_prefix(hd_string a, hd_string b)
{
    size_t limit = a.size < b.size ? a.size : b.size, n = 0;
    while (n < limit && a.data[n] == b.data[n]) n++;
    return n;
}

/* How the next strings differ from those before: bytes shared, bytes that follow. */
static void put_lengths(store_encoder *encoder, hd_bytes *text, const hd_string *strings, size_t first, uint32_t count)
{
    int64_t *shared = encoder->base, *sizes = shared + count;
    store_refs none = {0};
    for (uint32_t i = 0; i < count; i++) {
        hd_string now = strings[first + i];
        size_t same = first + i ? shared_prefix(strings[first + i - 1], now) : 0;
        shared[i] = (int64_t)same;
        sizes[i] = (int64_t)(now.size - same);
        hd_bytes_put(text, now.data + same, now.size - same);
    }
    store_put_column(encoder, &encoder->sink, shared, count, &none, STORE_NUMBER);
    store_put_column(encoder, &encoder->sink, sizes, count, &none, STORE_NUMBER);
}

/* How a run is laid down; its first byte. */
enum { STRINGS_FRONT_CODED, STRINGS_JOINED };
enum { BEST_LIMIT = 1 << 17, JOIN_LIMIT = 1 << 20 }; /* worth the highest level; worth a second try */

static hd_status put_text(hd_bytes *out, store_encoder *encoder, const hd_bytes *text, hd_error *err)
{
    hd_bytes_put_varint(out, text->size);
    if (text->size == 0) return HD_OK;
    return hd_compress(out, text->size > BEST_LIMIT ? encoder->fast : encoder->best, text->data, text->size, err);
}

static hd_status put_front_coded(hd_bytes *out, store_encoder *encoder, hd_bytes *text, const hd_string *strings,
                                 size_t count, hd_error *err)
{
    hd_bytes lengths = {0};
    HD_TRY(store_encoder_fit(encoder, count < STEP ? (uint32_t)count : STEP, err));
    store_sink_clear(&encoder->sink);
    for (size_t at = 0; at < count; at += STEP)
        put_lengths(encoder, text, strings, at, count - at < STEP ? (uint32_t)(count - at) : STEP);
    hd_status status = text->failed ? HD_NOMEM(err) : store_sink_finish(&lengths, encoder, &encoder->sink, err);
    hd_bytes_put_u8(out, STRINGS_FRONT_CODED);
    hd_bytes_put_varint(out, lengths.size);
    hd_bytes_put(out, lengths.data, lengths.size);
    if (status == HD_OK) status = put_text(out, encoder, text, err);
    hd_bytes_deinit(&lengths);
    return status;
}

/* false: too long to be tried, or a string contains the byte that would end it. */
static bool join(hd_bytes *text, const hd_string *strings, size_t count)
{
    text->size = 0;
    for (size_t i = 0; i < count; i++) {
        if (text->size + strings[i].size >= JOIN_LIMIT || memchr(strings[i].data, 0, strings[i].size)) return false;
        hd_bytes_put(text, strings[i].data, strings[i].size);
        hd_bytes_put_u8(text, 0);
    }
    return count > 0;
}

hd_status store_strings_encode(hd_bytes *out, store_encoder *encoder, const hd_string *strings, size_t count,
                               hd_error *err)
{
    hd_bytes text = {0}, joined = {0};
    size_t start = out->size;
    hd_status status = put_front_coded(out, encoder, &text, strings, count, err);
    if (status == HD_OK && join(&text, strings, count)) {
        hd_bytes_put_u8(&joined, STRINGS_JOINED);
        status = put_text(&joined, encoder, &text, err);
        if (status == HD_OK && joined.size < out->size - start) {
            out->size = start;
            hd_bytes_put(out, joined.data, joined.size);
        }
    }
    if (status == HD_OK && (out->failed || text.failed || joined.failed)) status = HD_NOMEM(err);
    hd_bytes_deinit(&text);
    hd_bytes_deinit(&joined);
    return status;
}

static hd_status damaged(hd_error *err, size_t offset)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "a run of strings is damaged");
}

/* A run while it is read. */
typedef struct string_run {
    store_decoder *decoder;
    store_source lengths;
    hd_byte_reader text;
    hd_bytes now;        /* the string */
    uint64_t bytes_left; /* of all strings, more than a run of this size can hold */
    store_add_string *add;
    void *user;
} string_run;

/* false: damaged, or another error if run->now.failed or *out_status. */
static bool take_strings(string_run *run, hd_status *out_status, uint32_t count, hd_error *err)
{
    int64_t *shared = run->decoder->base, *sizes = shared + count;
    store_refs none = {0};
    if (!store_take_column(&run->lengths, run->decoder, shared, count, &none) ||
        !store_take_column(&run->lengths, run->decoder, sizes, count, &none))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *rest = sizes[i] < 0 ? NULL : hd_byte_reader_take(&run->text, (size_t)sizes[i]);
        if (!rest || shared[i] < 0 || (uint64_t)shared[i] > run->now.size) return false;
        run->now.size = (size_t)shared[i];
        hd_bytes_put(&run->now, rest, (size_t)sizes[i]);
        if (run->now.failed || run->now.size > run->bytes_left) return false;
        run->bytes_left -= run->now.size;
        *out_status = run->add(run->user, run->now.data ? (const char *)run->now.data : "", run->now.size, err);
        if (*out_status != HD_OK) return false;
    }
    return true;
}

static hd_status take_run(string_run *run, size_t offset, size_t count, hd_error *err)
{
    hd_status status = HD_OK;
    bool fine = true;
    for (size_t at = 0; fine && at < count; at += STEP)
        fine = take_strings(run, &status, count - at < STEP ? (uint32_t)(count - at) : STEP, err);
    if (status != HD_OK) return status;
    if (run->now.failed) return HD_NOMEM(err);
    return fine && !hd_byte_reader_left(&run->text) ? HD_OK : damaged(err, offset);
}

static hd_status take_joined(string_run *run, size_t offset, size_t count, hd_error *err)
{
    hd_byte_reader *text = &run->text;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = text->data + text->at, *end = memchr(from, 0, hd_byte_reader_left(text));
        if (!end) return damaged(err, offset);
        HD_TRY(run->add(run->user, (const char *)from, (size_t)(end - from), err));
        text->at += (size_t)(end - from) + 1;
    }
    return hd_byte_reader_left(text) ? damaged(err, offset) : HD_OK;
}

static hd_status take_front_coded(string_run *run, size_t offset, size_t count, const uint8_t *lengths, size_t size,
                                  hd_error *err)
{
    HD_TRY(store_decoder_fit(run->decoder, count < STEP ? (uint32_t)count : STEP, err));
    HD_TRY(store_source_open(&run->lengths, run->decoder, lengths, size, err));
    hd_status status = take_run(run, offset, count, err);
    hd_status closed = store_source_close(&run->lengths, status == HD_OK ? err : NULL);
    return status == HD_OK ? closed : status;
}

hd_status store_strings_decode(store_decoder *decoder, const uint8_t *data, size_t size, size_t count,
                               store_add_string *add, void *user, hd_error *err)
{
    enum { EXPANSION = 40000, FREE_BYTES = 1 << 26 };
    hd_byte_reader reader = hd_byte_reader_of(data, size);
    uint8_t layout = hd_byte_reader_u8(&reader);
    uint64_t lengths_size = layout == STRINGS_FRONT_CODED ? hd_byte_reader_varint(&reader) : 0;
    const uint8_t *lengths = hd_byte_reader_take(&reader, lengths_size);
    uint64_t text_size = hd_byte_reader_varint(&reader);
    size_t left = hd_byte_reader_left(&reader);
    if (reader.failed || layout > STRINGS_JOINED || text_size / EXPANSION > left) return damaged(err, reader.at);
    uint8_t *text = malloc(text_size + 1);
    if (!text) return HD_NOMEM(err);
    string_run run = {.decoder = decoder, .add = add, .user = user, .text = hd_byte_reader_of(text, text_size)};
    run.bytes_left = FREE_BYTES + (uint64_t)size * EXPANSION;
    hd_status status = left && !text_size ? HD_ERR_DAMAGED : HD_OK;
    if (text_size) status = hd_decompress(text, text_size, &decoder->decompressor, data + reader.at, left, NULL);
    if (status != HD_OK)
        status = status == HD_ERR_MEMORY ? HD_NOMEM(err) : damaged(err, reader.at);
    else if (layout == STRINGS_JOINED)
        status = take_joined(&run, reader.at, count, err);
    else
        status = take_front_coded(&run, reader.at, count, lengths, lengths_size, err);
    hd_bytes_deinit(&run.now);
    free(text);
    return status;
}
