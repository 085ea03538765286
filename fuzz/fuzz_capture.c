/* fuzz_capture.c - libFuzzer target: the reader of captures
 *
 * Checksums would keep the fuzzer out: the input is taken as a row of chunks, and their checksums are made right first.
 * Properties: reading never crashes; each event is one row; a file that is cut anywhere is read, or refused, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/capture_wire.h"
#include "base/checksum.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_le(uint8_t *p, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}

static void seal(uint8_t *p, size_t size)
{
    if (size < CAPTURE_HEADER_BYTES) return;
    put_le(p + 56, hd_checksum(p, 56), 8);
    for (size_t at = CAPTURE_HEADER_BYTES; at + CAPTURE_CHUNK_BYTES <= size;) {
        uint8_t *chunk = p + at;
        size_t left = size - at - CAPTURE_CHUNK_BYTES;
        size_t payload = (size_t)chunk[12] | (size_t)chunk[13] << 8;
        if (payload > left) payload = left;
        put_le(chunk, CAPTURE_CHUNK_MAGIC, 8);
        put_le(chunk + 12, payload, 4);
        put_le(chunk + 24, hd_checksum(chunk + CAPTURE_CHUNK_BYTES, payload), 8);
        put_le(chunk + 32, hd_checksum(chunk, 32), 8);
        at += CAPTURE_CHUNK_BYTES + payload;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (size > 1 << 16 || size < CAPTURE_MAGIC_BYTES) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data, size);
    memcpy(copy, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES);
    seal(copy, size);
    size_t cut = size - (data[size - 1] % 64 < size ? data[size - 1] % 64 : 0);
    for (int turn = 0; turn < 2; turn++) {
        if (read_text(&trace, (const char *)copy, turn ? cut : size, &read_fast, 0, &err) == HD_OK)
            hd_trace_free(trace);
    }
    free(copy);
    return 0;
}
