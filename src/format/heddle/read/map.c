/* map.c - finds the sections of a store file
 *
 * An intact file is read from its end: trailer, footer. If the end is missing or broken, for example because the writer
 * was killed, sections are searched from the front: each has its size, and after damage the next one is found by its
 * magic.
 */
#include "format/heddle/read/map.h"

#include <stdlib.h>

#include "base/memory/vector.h"

hd_status store_map_open(store_map *out, hd_input *input, hd_error *err)
{
    *out = (store_map){0};
    HD_TRY(hd_pieces_open(&out->file, input, err));
    if (out->file.size) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), 0, "nothing of the store can be decompressed");
}

void store_map_close(store_map *map)
{
    hd_pieces_close(&map->file);
    hd_arena_deinit(&map->heads);
    free(map->sections);
    *map = (store_map){0};
}

/* ---- payloads ---- */

bool store_map_section_at(store_section *out, const store_map *map, uint64_t offset)
{
    uint8_t bytes[STORE_SECTION_BYTES];
    return offset <= map->file.size && map->file.size - offset >= sizeof bytes &&
           hd_pieces_read(&map->file, bytes, offset, sizeof bytes, NULL) == HD_OK &&
           store_get_section(out, bytes, offset, map->file.size);
}

hd_status store_map_payload(store_section *out, hd_byte_reader *out_body, hd_bytes *room, const store_map *map,
                            const store_section *section, hd_error *err)
{
    *out = *section;
    room->size = 0;
    room->failed = false; /* which it was for another section */
    uint8_t *payload = hd_bytes_room(room, (size_t)section->payload_size + 1);
    if (!payload) return HD_NOMEM(err);
    HD_TRY(
        hd_pieces_read(&map->file, payload, section->offset + STORE_SECTION_BYTES, (size_t)section->payload_size, err));
    if (!store_payload_whole(section, payload))
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, section->offset, "its checksum differs");
    if (store_split_payload(out, out_body, payload)) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, section->offset, "it has no head");
}

/* ---- sections ---- */

/* With a head of its own. */
static bool add_section(store_map *map, const store_section *section)
{
    uint8_t *head = hd_arena_alloc(&map->heads, section->head_size);
    if (!head || !hd_grow((void **)&map->sections, &map->capacity, map->count, sizeof *section)) return false;
    if (section->head_size) memcpy(head, section->head, section->head_size);
    map->sections[map->count] = *section;
    map->sections[map->count++].head = head;
    return true;
}

/* Sections in the order of a footer: consecutive, and before it. */
static hd_status read_entries(store_map *map, hd_byte_reader body, uint64_t count)
{
    uint64_t end = STORE_HEADER_BYTES, limit = map->footer.offset;
    map->count = 0;
    while (hd_byte_reader_left(&body)) {
        store_section section;
        if (!store_get_entry(&section, &body, end)) return HD_ERR_DAMAGED;
        if (section.offset > limit || limit - section.offset < STORE_SECTION_BYTES ||
            section.payload_size > limit - section.offset - STORE_SECTION_BYTES || section.type == STORE_FOOTER)
            return HD_ERR_DAMAGED;
        if (!add_section(map, &section)) return HD_ERR_MEMORY;
        end = store_section_end(&section);
    }
    return map->count == count ? HD_OK : HD_ERR_DAMAGED;
}

/* Whether it is intact and plausible; of errors only MEMORY and IO are reported. */
static hd_status read_footer(store_map *map, const store_section *footer, hd_error *err)
{
    hd_bytes room = {0};
    hd_byte_reader body;
    map->has_footer = false;
    hd_status status = store_map_payload(&map->footer, &body, &room, map, footer, NULL);
    if (status == HD_OK) {
        hd_byte_reader head = hd_byte_reader_of(map->footer.head, map->footer.head_size);
        uint64_t count = hd_byte_reader_varint(&head);
        status = head.failed ? HD_ERR_DAMAGED : read_entries(map, body, count);
        map->has_footer = status == HD_OK;
    }
    map->footer.head = NULL;
    hd_bytes_deinit(&room);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    return status == HD_ERR_IO ? hd_pieces_unchanged(&map->file, err) : HD_OK;
}

static void skip(store_map *map, uint64_t from, uint64_t until)
{
    if (until > from && map->skipped_bytes == 0) map->skipped_offset = from;
    map->skipped_bytes += until - from;
}

/* The offset of the next magic, else the size. */
static hd_status find_magic(uint64_t *out, const store_map *map, hd_window *window, uint64_t from, hd_error *err)
{
    enum { STEP = 1 << 18 };
    uint64_t size = map->file.size;
    for (*out = size; from < size && size - from >= STORE_MAGIC_BYTES; from += STEP - STORE_MAGIC_BYTES + 1) {
        size_t piece = size - from < STEP ? (size_t)(size - from) : STEP;
        const uint8_t *p = hd_window_at(window, from, piece, err);
        if (!p) return err ? err->status : HD_ERR_IO;
        const uint8_t *found = memmem(p, piece, store_section_magic, STORE_MAGIC_BYTES);
        if (found) {
            *out = from + (uint64_t)(found - p);
            return HD_OK;
        }
        if (piece < STEP) break;
    }
    return HD_OK;
}

/* Takes a section at its offset; an incomplete one is skipped. */
static hd_status take_section(store_map *map, const store_section *section, hd_bytes *room, hd_error *err)
{
    store_section whole;
    hd_byte_reader body;
    hd_error why = {0};
    hd_status status = store_map_payload(&whole, &body, room, map, section, &why);
    if (status == HD_OK) return add_section(map, &whole) ? HD_OK : HD_NOMEM(err);
    if (status != HD_ERR_DAMAGED) {
        if (err) *err = why;
        return status;
    }
    skip(map, section->offset, store_section_end(section));
    return HD_OK;
}

static hd_status scan_sections(store_map *map, hd_window *window, hd_bytes *room, hd_error *err)
{
    uint64_t size = map->file.size, at, before = size < STORE_HEADER_BYTES ? size : STORE_HEADER_BYTES;
    HD_TRY(find_magic(&at, map, window, 0, err));
    while (at < size) {
        store_section section;
        if (at > before) skip(map, before, at);
        if (!store_map_section_at(&section, map, at)) {
            before = at;
            HD_TRY(find_magic(&at, map, window, at + 1, err));
            continue;
        }
        if (section.type != STORE_FOOTER) {
            HD_TRY(take_section(map, &section, room, err));
        } else { /* an intact section overrides earlier guesses */
            hd_byte_reader body;
            store_section whole;
            hd_status status = store_map_payload(&whole, &body, room, map, &section, NULL);
            if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
            if (status == HD_OK) {
                HD_TRY(read_footer(map, &section, err));
                if (map->has_footer) return HD_OK;
                return hd_error_set(err, HD_ERR_DAMAGED, NULL, at, "the footer contradicts the file");
            }
        }
        before = at = store_section_end(&section);
        HD_TRY(find_magic(&at, map, window, at, err));
    }
    uint8_t magic[STORE_MAGIC_BYTES] = {0};
    if (size - before == STORE_TRAILER_BYTES) HD_TRY(hd_pieces_read(&map->file, magic, before, sizeof magic, err));
    if (memcmp(magic, store_trailer_magic, STORE_MAGIC_BYTES) != 0) skip(map, before, size);
    return HD_OK;
}

static hd_status scan(store_map *map, hd_error *err)
{
    hd_window window = {.pieces = &map->file};
    hd_bytes room = {0};
    map->count = 0;
    map->skipped_bytes = 0;
    hd_status status = scan_sections(map, &window, &room, err);
    hd_window_deinit(&window);
    hd_bytes_deinit(&room);
    return status;
}

static hd_status survey_end(store_map *map, hd_error *err)
{
    uint8_t bytes[STORE_TRAILER_BYTES];
    uint64_t size = map->file.size, offset, payload_size;
    store_section footer;
    if (size < STORE_HEADER_BYTES + STORE_SECTION_BYTES + STORE_TRAILER_BYTES) return HD_OK;
    HD_TRY(hd_pieces_read(&map->file, bytes, size - sizeof bytes, sizeof bytes, err));
    map->has_end = store_get_trailer(&offset, &payload_size, bytes, size);
    if (!map->has_end || !store_map_section_at(&footer, map, offset) || footer.type != STORE_FOOTER ||
        footer.payload_size != payload_size)
        return HD_OK;
    HD_TRY(read_footer(map, &footer, err));
    map->has_trailer = map->has_footer;
    return HD_OK;
}

hd_status store_map_survey(store_map *map, hd_error *err)
{
    uint8_t header[STORE_HEADER_BYTES] = {0};
    size_t there = map->file.size < sizeof header ? (size_t)map->file.size : sizeof header;
    HD_TRY(hd_pieces_read(&map->file, header, 0, there, err));
    HD_TRY(store_get_header(&map->header_whole, header, err));
    HD_TRY(survey_end(map, err));
    return map->has_trailer ? HD_OK : scan(map, err);
}
