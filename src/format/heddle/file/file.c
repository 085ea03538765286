/* file.c - header, section headers, footer entries and heads as bytes, and back with every value checked */
#include "format/heddle/file/file.h"

#include <stdlib.h>

/* Bytes that no text has, so that transfers that change line ends are found. */
const uint8_t store_file_magic[STORE_MAGIC_BYTES] = {0x89, 'H', 'E', 'D', 'D', 'L', 'E', '\n'};
const uint8_t store_section_magic[STORE_MAGIC_BYTES] = {0x89, 'S', 'e', 'c', 0xf1, 0x0e, 0xc8, 0x5d};
const uint8_t store_trailer_magic[STORE_MAGIC_BYTES] = {0x89, 'E', 'N', 'D', 'H', 'D', 'L', '\n'};

/* The last 8 bytes of a fixed part are the checksum of the bytes before. */
static void seal(uint8_t *p, size_t size)
{
    hd_le_put(p + size - 8, hd_checksum(p, size - 8), 8);
}

static bool is_sealed(const uint8_t *p, size_t size)
{
    return hd_le_get(p + size - 8, 8) == hd_checksum(p, size - 8);
}

/* ---- fixed parts ---- */

void store_put_header(uint8_t out[STORE_HEADER_BYTES])
{
    memset(out, 0, STORE_HEADER_BYTES);
    memcpy(out, store_file_magic, STORE_MAGIC_BYTES);
    hd_le_put(out + 8, STORE_MAJOR, 2);
    hd_le_put(out + 10, STORE_MINOR, 2);
    seal(out, STORE_HEADER_BYTES);
}

static hd_status check_major(uint64_t major, hd_error *err)
{
    if (major == STORE_MAJOR) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, 8,
                        "a store of version %u, and this program knows version %d: use a newer one", (unsigned)major,
                        STORE_MAJOR);
}

hd_status store_get_header(bool *out_whole, const uint8_t bytes[STORE_HEADER_BYTES], hd_error *err)
{
    *out_whole = memcmp(bytes, store_file_magic, STORE_MAGIC_BYTES) == 0 && is_sealed(bytes, STORE_HEADER_BYTES);
    return *out_whole ? check_major(hd_le_get(bytes + 8, 2), err) : HD_OK;
}

void store_put_section(uint8_t out[STORE_SECTION_BYTES], const store_section *section)
{
    memcpy(out, store_section_magic, STORE_MAGIC_BYTES);
    hd_le_put(out + 8, section->type, 2);
    hd_le_put(out + 10, section->flags, 2);
    hd_le_put(out + 12, section->number, 4);
    hd_le_put(out + 16, section->payload_size, 8);
    hd_le_put(out + 24, section->checksum, 8);
    seal(out, STORE_SECTION_BYTES);
}

bool store_get_section(store_section *out, const uint8_t bytes[STORE_SECTION_BYTES], uint64_t offset, uint64_t size)
{
    const uint8_t *p = bytes;
    if (memcmp(p, store_section_magic, STORE_MAGIC_BYTES) != 0 || !is_sealed(p, STORE_SECTION_BYTES)) return false;
    *out = (store_section){
        .type = (uint16_t)hd_le_get(p + 8, 2),
        .flags = (uint16_t)hd_le_get(p + 10, 2),
        .number = (uint32_t)hd_le_get(p + 12, 4),
        .offset = offset,
        .payload_size = hd_le_get(p + 16, 8),
        .checksum = hd_le_get(p + 24, 8),
    };
    return out->payload_size <= size - offset - STORE_SECTION_BYTES;
}

void store_put_trailer(uint8_t out[STORE_TRAILER_BYTES], uint64_t footer_offset, uint64_t footer_size)
{
    memset(out, 0, STORE_TRAILER_BYTES);
    memcpy(out, store_trailer_magic, STORE_MAGIC_BYTES);
    hd_le_put(out + 8, STORE_MAJOR, 2);
    hd_le_put(out + 10, STORE_MINOR, 2);
    hd_le_put(out + 16, footer_offset, 8);
    hd_le_put(out + 24, footer_size, 8);
    hd_le_put(out + 32, footer_offset + STORE_SECTION_BYTES + footer_size + STORE_TRAILER_BYTES, 8);
    seal(out, STORE_TRAILER_BYTES);
}

bool store_get_trailer(uint64_t *out_offset, uint64_t *out_size, const uint8_t bytes[STORE_TRAILER_BYTES],
                       uint64_t size)
{
    const uint8_t *p = bytes;
    *out_offset = hd_le_get(p + 16, 8);
    *out_size = hd_le_get(p + 24, 8);
    return memcmp(p, store_trailer_magic, STORE_MAGIC_BYTES) == 0 && is_sealed(p, STORE_TRAILER_BYTES) &&
           hd_le_get(p + 8, 2) == STORE_MAJOR && hd_le_get(p + 32, 8) == size;
}

bool store_payload_whole(const store_section *section, const uint8_t *payload)
{
    return hd_checksum(payload, (size_t)section->payload_size) == section->checksum;
}

bool store_split_payload(store_section *section, hd_byte_reader *out_body, const uint8_t *payload)
{
    *out_body = hd_byte_reader_of(payload, (size_t)section->payload_size);
    uint64_t size = hd_byte_reader_varint(out_body);
    if (size > hd_byte_reader_left(out_body)) return false;
    section->head = hd_byte_reader_take(out_body, (size_t)size);
    section->head_size = (size_t)size;
    *out_body = hd_byte_reader_of(out_body->data + out_body->at, hd_byte_reader_left(out_body));
    return section->head != NULL;
}

/* ---- the footer ---- */

void store_put_entry(hd_bytes *out, const store_section *section, uint64_t end_before)
{
    hd_bytes_put_varint(out, section->type);
    hd_bytes_put_varint(out, section->flags);
    hd_bytes_put_varint(out, section->number);
    hd_bytes_put_varint(out, section->offset - end_before);
    hd_bytes_put_varint(out, section->payload_size);
    hd_bytes_put_le(out, section->checksum, 8);
    hd_bytes_put_varint(out, section->head_size);
    hd_bytes_put(out, section->head, section->head_size);
}

bool store_get_entry(store_section *out, hd_byte_reader *reader, uint64_t end_before)
{
    uint64_t type = hd_byte_reader_varint(reader), flags = hd_byte_reader_varint(reader);
    uint64_t number = hd_byte_reader_varint(reader), gap = hd_byte_reader_varint(reader);
    *out = (store_section){.type = (uint16_t)type, .flags = (uint16_t)flags, .number = (uint32_t)number};
    out->payload_size = hd_byte_reader_varint(reader);
    out->checksum = hd_byte_reader_le(reader, 8);
    uint64_t head_size = hd_byte_reader_varint(reader);
    if (type > UINT16_MAX || flags > UINT16_MAX || number > UINT32_MAX) return false;
    if (head_size > hd_byte_reader_left(reader) || head_size > out->payload_size) return false;
    if (__builtin_add_overflow(end_before, gap, &out->offset)) return false;
    out->head_size = (size_t)head_size;
    out->head = hd_byte_reader_take(reader, out->head_size);
    return !reader->failed;
}

/* ---- heads ---- */

void store_put_run_head(hd_bytes *out, const store_run_head *head)
{
    hd_bytes_put_varint(out, head->first);
    hd_bytes_put_varint(out, head->count);
}

bool store_get_run_head(store_run_head *out, const store_section *section, uint32_t limit)
{
    hd_byte_reader r = hd_byte_reader_of(section->head, section->head_size);
    out->first = hd_byte_reader_varint(&r);
    uint64_t count = hd_byte_reader_varint(&r);
    out->count = (uint32_t)count;
    return !r.failed && count <= limit && out->first < HD_NONE - 1 - limit;
}

void store_put_block_head(hd_bytes *out, const store_block_head *head)
{
    hd_bytes_put_varint(out, head->kind);
    hd_bytes_put_varint(out, head->row_count);
    hd_bytes_put_varint(out, head->first_row);
    hd_bytes_put_varint(out, head->string_count);
    bool timed = head->start_ns != HD_NO_TIME;
    hd_bytes_put_varint(out, timed);
    if (timed) hd_bytes_put_zigzag(out, head->start_ns);
    if (timed) hd_bytes_put_varint(out, (uint64_t)head->end_ns - (uint64_t)head->start_ns);
    bool on_tracks = head->first_track != HD_NONE;
    hd_bytes_put_varint(out, on_tracks ? (uint64_t)head->track_count + 1 : 0);
    if (!on_tracks) return;
    hd_bytes_put_varint(out, head->first_track);
    hd_bytes_put_varint(out, head->last_track - head->first_track);
    for (uint32_t i = 1; i + 1 < head->track_count; i++)
        hd_bytes_put_varint(out, head->tracks[i] - head->tracks[i - 1]);
}

static bool get_tracks(store_block_head *out, hd_byte_reader *r)
{
    uint64_t listed = hd_byte_reader_varint(r);
    out->first_track = out->last_track = HD_NONE;
    out->track_count = 0;
    if (listed == 0) return !r->failed;
    uint64_t first = hd_byte_reader_varint(r), span = hd_byte_reader_varint(r);
    if (r->failed || listed > STORE_BLOCK_TRACKS + 1 || first >= HD_NONE || span >= HD_NONE - first) return false;
    out->first_track = (uint32_t)first;
    out->last_track = (uint32_t)(first + span);
    out->track_count = (uint32_t)listed - 1;
    uint64_t track = out->tracks[0] = out->first_track;
    for (uint32_t i = 1; i + 1 < out->track_count; i++) {
        uint64_t step = hd_byte_reader_varint(r);
        if (step == 0 || step >= out->last_track - track) return false;
        out->tracks[i] = (uint32_t)(track += step);
    }
    if (out->track_count) out->tracks[out->track_count - 1] = out->last_track;
    return !r->failed && (out->track_count != 1) == (span > 0 || out->track_count == 0);
}

bool store_get_block_head(store_block_head *out, const store_section *section)
{
    hd_byte_reader r = hd_byte_reader_of(section->head, section->head_size);
    uint64_t kind = hd_byte_reader_varint(&r), rows = hd_byte_reader_varint(&r);
    out->first_row = hd_byte_reader_varint(&r);
    uint64_t strings = hd_byte_reader_varint(&r);
    if (r.failed || strings >= HD_NONE || kind >= HD_KIND_COUNT || rows == 0 || rows > HD_BLOCK_ROWS ||
        out->first_row > INT64_MAX)
        return false;
    out->kind = (uint8_t)kind;
    out->row_count = (uint32_t)rows;
    out->string_count = (uint32_t)strings;
    out->start_ns = out->end_ns = HD_NO_TIME;
    uint64_t timed = hd_byte_reader_varint(&r);
    if (timed > 1) return false;
    if (timed) {
        out->start_ns = hd_byte_reader_zigzag(&r);
        out->end_ns = (int64_t)((uint64_t)out->start_ns + hd_byte_reader_varint(&r));
        if (out->start_ns == HD_NO_TIME || out->end_ns < out->start_ns) return false;
    }
    return get_tracks(out, &r);
}

void store_put_order_head(hd_bytes *out, const store_order_head *head)
{
    hd_bytes_put_varint(out, HD_KIND_COUNT);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        hd_bytes_put_varint(out, head->counts[kind]);
        hd_bytes_put_varint(out, head->before[kind]);
    }
}

bool store_get_order_head(store_order_head *out, const store_section *section)
{
    hd_byte_reader r = hd_byte_reader_of(section->head, section->head_size);
    uint64_t sum = 0;
    if (hd_byte_reader_varint(&r) != HD_KIND_COUNT) return false;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t count = hd_byte_reader_varint(&r);
        out->before[kind] = hd_byte_reader_varint(&r);
        if (count > STORE_RUN_EVENTS || out->before[kind] > INT64_MAX) return false;
        out->counts[kind] = (uint32_t)count;
        sum += count;
    }
    return !r.failed && sum > 0 && sum <= STORE_RUN_EVENTS;
}

/* ---- packed bodies ---- */

hd_status store_pack(hd_bytes *out, hd_compressor *compressor, const hd_bytes *plain, hd_error *err)
{
    if (plain->failed) return HD_NOMEM(err);
    hd_bytes_put_varint(out, plain->size);
    HD_TRY(hd_compress(out, compressor, plain->data ? plain->data : (const uint8_t *)"", plain->size, err));
    return out->failed ? HD_NOMEM(err) : HD_OK;
}

hd_status store_unpack(hd_bytes *out, hd_decompressor **decompressor, const hd_byte_reader *body, uint64_t limit)
{
    hd_byte_reader r = *body;
    uint64_t size = hd_byte_reader_varint(&r);
    if (r.failed || size > limit) return HD_ERR_DAMAGED;
    uint8_t *room = hd_bytes_room(out, (size_t)size + 1);
    if (!room) return HD_ERR_MEMORY;
    out->size = (size_t)size;
    return hd_decompress(room, (size_t)size, decompressor, r.data + r.at, hd_byte_reader_left(&r), NULL);
}
