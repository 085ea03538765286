/* store_seal.c - checksums of a store made right */
#include "store_seal.h"

#include <stdlib.h>

enum { SECTION_LIMIT = 4096 };

static uint64_t get_le(const uint8_t *p, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static void put_le(uint8_t *p, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}

static void seal(uint8_t *p, size_t size)
{
    put_le(p + size - 8, hd_checksum(p, size - 8), 8);
}

size_t store_list(store_section *out, size_t limit, const uint8_t *data, size_t size)
{
    size_t count = 0;
    uint64_t at = STORE_HEADER_BYTES;
    while (count < limit && at <= size && size - at >= STORE_SECTION_BYTES) {
        const uint8_t *p = data + at;
        store_section section = {.type = (uint16_t)get_le(p + 8, 2),
                                 .flags = (uint16_t)get_le(p + 10, 2),
                                 .number = (uint32_t)get_le(p + 12, 4),
                                 .offset = at,
                                 .payload_size = get_le(p + 16, 8)};
        hd_byte_reader body;
        if (memcmp(p, store_section_magic, STORE_MAGIC_BYTES) != 0) break;
        if (section.payload_size > size - at - STORE_SECTION_BYTES) break;
        section.checksum = hd_checksum(p + STORE_SECTION_BYTES, (size_t)section.payload_size);
        if (!store_split_payload(&section, &body, p + STORE_SECTION_BYTES)) section.head_size = 0;
        out[count++] = section;
        at = store_section_end(&section);
        if (section.type == STORE_FOOTER) break;
    }
    return count;
}

/* Entries of all sections before it, if they take as many bytes as those that are there. */
static void seal_footer(uint8_t *data, store_section *sections, size_t count)
{
    store_section *footer = &sections[count - 1];
    uint8_t *payload = data + footer->offset + STORE_SECTION_BYTES;
    hd_bytes head = {0}, out = {0};
    uint64_t end = STORE_HEADER_BYTES;
    hd_bytes_put_varint(&head, count - 1);
    hd_bytes_put_varint(&out, head.size);
    hd_bytes_put(&out, head.data, head.size);
    for (size_t i = 0; i + 1 < count; i++) {
        store_put_entry(&out, &sections[i], end);
        end = store_section_end(&sections[i]);
    }
    if (!out.failed && out.size == footer->payload_size) memcpy(payload, out.data, out.size);
    footer->checksum = hd_checksum(payload, (size_t)footer->payload_size);
    hd_bytes_deinit(&head);
    hd_bytes_deinit(&out);
}

void store_seal(uint8_t *data, size_t size)
{
    store_section *sections = calloc(SECTION_LIMIT, sizeof *sections);
    if (!sections || size < STORE_HEADER_BYTES) {
        free(sections);
        return;
    }
    size_t count = store_list(sections, SECTION_LIMIT, data, size);
    seal(data, STORE_HEADER_BYTES);
    if (count && sections[count - 1].type == STORE_FOOTER) {
        seal_footer(data, sections, count);
        uint64_t end = store_section_end(&sections[count - 1]);
        if (size - end == STORE_TRAILER_BYTES)
            store_put_trailer(data + end, sections[count - 1].offset, sections[count - 1].payload_size);
    }
    for (size_t i = 0; i < count; i++) store_put_section(data + sections[i].offset, &sections[i]);
    free(sections);
}
