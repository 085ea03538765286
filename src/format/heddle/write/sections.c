/* sections.c - sections into an output, and the footer that lists them */
#include "format/heddle/write/sections.h"

#include <stdlib.h>

hd_status store_sections_start(store_sections *sections, hd_error *err)
{
    uint8_t header[STORE_HEADER_BYTES];
    store_put_header(header);
    sections->position = STORE_HEADER_BYTES;
    return hd_output_write(sections->output, header, sizeof header, err);
}

/* Contiguous, so that the checksum covers the payload as a whole. */
static hd_status join(hd_bytes *out, const hd_bytes *head, const hd_bytes *body, hd_error *err)
{
    if (head->failed || body->failed) return HD_NOMEM(err);
    hd_bytes_put_varint(out, head->size);
    hd_bytes_put(out, head->data, head->size);
    hd_bytes_put(out, body->data, body->size);
    return out->failed ? HD_NOMEM(err) : HD_OK;
}

static hd_status put(store_sections *sections, const store_section *section, const hd_bytes *payload, hd_error *err)
{
    uint8_t header[STORE_SECTION_BYTES];
    store_put_section(header, section);
    HD_TRY(hd_output_write(sections->output, header, sizeof header, err));
    return hd_output_write(sections->output, payload->data, payload->size, err);
}

hd_status store_sections_add(store_sections *sections, store_type type, unsigned flags, const hd_bytes *head,
                             const hd_bytes *body, hd_error *err)
{
    hd_bytes payload = {0};
    hd_status status = join(&payload, head, body, err);
    if (status == HD_OK) {
        store_section section = {.type = (uint16_t)type,
                                 .flags = (uint16_t)flags,
                                 .number = (uint32_t)sections->count++,
                                 .offset = sections->position,
                                 .payload_size = payload.size,
                                 .checksum = hd_checksum(payload.data, payload.size),
                                 .head = head->data,
                                 .head_size = head->size};
        store_put_entry(&sections->entries, &section, sections->position);
        sections->position = store_section_end(&section);
        status = put(sections, &section, &payload, err);
    }
    hd_bytes_deinit(&payload);
    return status;
}

hd_status store_sections_finish(store_sections *sections, hd_error *err)
{
    hd_bytes head = {0};
    uint64_t offset = sections->position;
    hd_bytes_put_varint(&head, sections->count);
    hd_bytes entries = sections->entries;
    sections->entries = (hd_bytes){0};
    hd_status status = store_sections_add(sections, STORE_FOOTER, 0, &head, &entries, err);
    if (status == HD_OK) {
        uint8_t trailer[STORE_TRAILER_BYTES];
        store_put_trailer(trailer, offset, sections->position - offset - STORE_SECTION_BYTES);
        status = hd_output_write(sections->output, trailer, sizeof trailer, err);
    }
    hd_bytes_deinit(&head);
    hd_bytes_deinit(&entries);
    return status;
}

void store_sections_deinit(store_sections *sections)
{
    hd_bytes_deinit(&sections->entries);
}
