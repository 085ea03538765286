/* store_strings.c - runs of strings, and runs of integers that are no column of a block */
#include <stdlib.h>

#include "format/heddle/store_column.h"

enum { STEP = STORE_ROWS };

/* ---- integers ---------------------------------------------------------------------------------------- */

hd_status store_ints_encode(hd_bytes *out, store_encoder *encoder, const int64_t *values, size_t count, hd_error *err)
{
    store_refs none = {0};
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
    HD_TRY(store_source_open(&source, decoder, data, size, err));
    for (size_t at = 0; at < count && !source.failed; at += STEP) {
        uint32_t step = count - at < STEP ? (uint32_t)(count - at) : STEP;
        store_take_column(&source, decoder, out + at, step, &none);
    }
    return store_source_close(&source, err);
}

/* ---- strings ----------------------------------------------------------------------------------------- */

/* Bytes the string shares with the one before. */
static size_t shared_prefix(hd_string a, hd_string b)
{
    size_t limit = a.size < b.size ? a.size : b.size, n = 0;
    while (n < limit && a.data[n] == b.data[n]) n++;
    return n;
}

hd_status store_strings_encode(hd_bytes *out, store_encoder *encoder, const hd_string *strings, size_t count,
                               hd_error *err)
{
    int64_t *shared = malloc((count + 1) * sizeof *shared), *sizes = malloc((count + 1) * sizeof *sizes);
    hd_bytes text = {0}, lengths = {0};
    hd_status status = shared && sizes ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        size_t same = i ? shared_prefix(strings[i - 1], strings[i]) : 0;
        shared[i] = (int64_t)same;
        sizes[i] = (int64_t)(strings[i].size - same);
        hd_bytes_put(&text, strings[i].data + same, strings[i].size - same);
    }
    if (status == HD_OK && text.failed) status = HD_NOMEM(err);
    if (status == HD_OK) status = store_ints_encode(&lengths, encoder, shared, count, err);
    size_t split = lengths.size;
    if (status == HD_OK) status = store_ints_encode(&lengths, encoder, sizes, count, err);
    if (status == HD_OK) {
        hd_bytes_put_varint(out, split);
        hd_bytes_put_varint(out, lengths.size - split);
        hd_bytes_put(out, lengths.data, lengths.size);
        hd_bytes_put_varint(out, text.size);
        store_sink_clear(&encoder->sink);
        if (text.size) status = hd_compress(out, encoder->best, text.data, text.size, err);
        if (status == HD_OK && out->failed) status = HD_NOMEM(err);
    }
    free(shared);
    free(sizes);
    hd_bytes_deinit(&text);
    hd_bytes_deinit(&lengths);
    return status;
}

static hd_status damaged(hd_error *err, size_t offset)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "a run of strings is damaged");
}

static hd_status take_strings(const int64_t *shared, const int64_t *sizes, size_t count, hd_byte_reader *text,
                              size_t offset, store_add_string *add, void *user, hd_error *err)
{
    hd_bytes now = {0};
    hd_status status = HD_OK;
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        const uint8_t *rest = sizes[i] < 0 ? NULL : hd_byte_reader_take(text, (size_t)sizes[i]);
        if (!rest || shared[i] < 0 || (uint64_t)shared[i] > now.size) {
            status = damaged(err, offset);
            break;
        }
        now.size = (size_t)shared[i];
        hd_bytes_put(&now, rest, (size_t)sizes[i]);
        status = now.failed ? HD_NOMEM(err) : add(user, (const char *)now.data, now.size, err);
    }
    if (status == HD_OK && hd_byte_reader_left(text)) status = damaged(err, offset);
    hd_bytes_deinit(&now);
    return status;
}

hd_status store_strings_decode(store_decoder *decoder, const uint8_t *data, size_t size, size_t count,
                               store_add_string *add, void *user, hd_error *err)
{
    enum { EXPANSION = 40000, STRING_LIMIT = 1 << 30 };
    hd_byte_reader reader = hd_byte_reader_of(data, size);
    uint64_t shared_size = hd_byte_reader_varint(&reader), sizes_size = hd_byte_reader_varint(&reader);
    const uint8_t *shared_bytes = hd_byte_reader_take(&reader, shared_size);
    const uint8_t *sizes_bytes = hd_byte_reader_take(&reader, sizes_size);
    uint64_t text_size = hd_byte_reader_varint(&reader);
    size_t left = hd_byte_reader_left(&reader);
    if (reader.failed || count > (size_t)STRING_LIMIT || text_size > STRING_LIMIT || text_size / EXPANSION > left)
        return damaged(err, reader.at);
    int64_t *shared = malloc((count + 1) * sizeof *shared), *sizes = malloc((count + 1) * sizeof *sizes);
    uint8_t *text = malloc(text_size + 1);
    hd_status status = shared && sizes && text ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = store_ints_decode(shared, count, decoder, shared_bytes, shared_size, err);
    if (status == HD_OK) status = store_ints_decode(sizes, count, decoder, sizes_bytes, sizes_size, err);
    const uint8_t *frame = hd_byte_reader_take(&reader, left);
    if (status == HD_OK && (text_size ? !hd_decompress(text, text_size, &decoder->decompressor, frame, left) : left))
        status = damaged(err, reader.at);
    hd_byte_reader text_reader = hd_byte_reader_of(text, text_size);
    if (status == HD_OK) status = take_strings(shared, sizes, count, &text_reader, reader.at, add, user, err);
    free(shared);
    free(sizes);
    free(text);
    return status;
}
