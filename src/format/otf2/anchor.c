/* anchor.c - the anchor file of an archive, validated before the library uses it
 *
 * Format   3, then 'B' (little endian) or '#' (big endian), "OTF2", 3 bytes of the format, 3 of the library's version;
 *          u64 chunk bytes of events, u64 of definitions; u8 substrate, u8 compression; u64 locations, u64 global
 *          definitions; machine, creator, description (each NUL-terminated); u32 properties, each a name and a value
 *          (NUL-terminated); u64 trace id; u32 snapshots, u32 thumbnails; 2, 1, 0 (end). Seen in OTF2 3.0.2 and 3.1.1.
 * Limits   the library accepts chunks of 256 KiB to 16 MiB; it allocates one per open file, so the size is checked here
 */
#include "format/otf2/anchor.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/otf2/otf2.h"

enum {
    ANCHOR_HEAD = 46, /* bytes before the first string */
    CHUNK_MIN = 256 * 1024,
    CHUNK_MAX = 16 * 1024 * 1024,
    SUBSTRATE_POSIX = 1,
    COMPRESSION_NONE = 1,
};

int otf2_sniff(const unsigned char *head, size_t size)
{
    if (size < 12 || head[0] != 3 || (head[1] != 'B' && head[1] != '#')) return 0;
    return memcmp(head + 2, "OTF2", 4) == 0 ? 95 : 0;
}

static uint64_t number(const otf2_anchor *anchor, hd_byte_reader *reader, unsigned width)
{
    uint64_t value = hd_byte_reader_le(reader, width);
    if (!anchor->big_endian) return value;
    return __builtin_bswap64(value) >> (64 - 8 * width);
}

static void skip_text(hd_byte_reader *reader)
{
    size_t left = hd_byte_reader_left(reader);
    const uint8_t *end = left ? memchr(reader->data + reader->at, 0, left) : NULL;
    hd_byte_reader_take(reader, end ? (size_t)(end - reader->data) + 1 - reader->at : left + 1);
}

static hd_status check_head(const otf2_anchor *anchor, const char *path, hd_error *err)
{
    uint64_t events = anchor->event_chunk_bytes, definitions = anchor->definition_chunk_bytes;
    if (anchor->substrate != SUBSTRATE_POSIX)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, path, 28,
                            "the archive is stored as substrate %u; only POSIX files (1) are read", anchor->substrate);
    if (anchor->compression != COMPRESSION_NONE)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, path, 29,
                            "the archive is compressed (%u), which OTF2 3 no longer reads", anchor->compression);
    if (events < CHUNK_MIN || events > CHUNK_MAX)
        return hd_error_set(err, HD_ERR_DAMAGED, path, 12, "event chunks of %llu bytes; 256 KiB to 16 MiB are allowed",
                            (unsigned long long)events);
    if (definitions < CHUNK_MIN || definitions > CHUNK_MAX)
        return hd_error_set(err, HD_ERR_DAMAGED, path, 20,
                            "definition chunks of %llu bytes; 256 KiB to 16 MiB are allowed",
                            (unsigned long long)definitions);
    return HD_OK;
}

hd_status otf2_anchor_parse(otf2_anchor *out, const uint8_t *data, size_t size, const char *path, hd_error *err)
{
    *out = (otf2_anchor){0};
    if (!otf2_sniff(data, size) || size < ANCHOR_HEAD)
        return hd_error_set(err, HD_ERR_DAMAGED, path, 0, "not a whole OTF2 anchor file (%zu bytes)", size);
    hd_byte_reader reader = hd_byte_reader_of(data, size);
    out->big_endian = data[1] == '#';
    memcpy(out->version, data + 9, sizeof out->version);
    reader.at = 12;
    out->event_chunk_bytes = number(out, &reader, 8);
    out->definition_chunk_bytes = number(out, &reader, 8);
    out->substrate = hd_byte_reader_u8(&reader);
    out->compression = hd_byte_reader_u8(&reader);
    out->location_count = number(out, &reader, 8);
    out->definition_count = number(out, &reader, 8);
    HD_TRY(check_head(out, path, err));
    for (int i = 0; i < 3; i++) skip_text(&reader);
    out->property_count = (uint32_t)number(out, &reader, 4);
    for (uint64_t i = 0; i < 2 * (uint64_t)out->property_count && !reader.failed; i++) skip_text(&reader);
    out->trace_id = number(out, &reader, 8);
    out->snapshot_count = (uint32_t)number(out, &reader, 4);
    out->thumbnail_count = (uint32_t)number(out, &reader, 4);
    if (!reader.failed) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, path, size, "the anchor file ends in the midst of its entries");
}
