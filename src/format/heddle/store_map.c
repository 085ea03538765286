/* store_map.c - a store file in memory, and the sections that are found in it
 *
 * A file that is whole is read from its end: trailer, footer. Where the end is missing or broken, as when the writer
 * was killed, sections are looked for from the front: each tells its size, and behind damage the next is known by its
 * magic.
 */
#include "format/heddle/store_map.h"

#include <stdlib.h>

#include "base/vector.h"

hd_status store_map_open(store_map *out, hd_input *input, hd_error *err)
{
    *out = (store_map){0};
    HD_TRY(hd_mapped_open(&out->file, input, err));
    out->data = out->file.data;
    out->size = (size_t)out->file.size;
    if (out->size) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), 0, "nothing of the store can be decompressed");
}

void store_map_close(store_map *map)
{
    hd_mapped_close(&map->file);
    free(map->sections);
    *map = (store_map){0};
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

static bool add(store_map *map, const store_section *section)
{
    if (!hd_grow((void **)&map->sections, &map->capacity, map->count, sizeof *section)) return false;
    map->sections[map->count++] = *section;
    return true;
}

/* Sections as a footer lists them: one behind the other, and before it. */
static bool read_entries(store_map *map, hd_byte_reader body, uint64_t count)
{
    uint64_t end = STORE_HEADER_BYTES, limit = map->footer.offset;
    map->count = 0;
    while (hd_byte_reader_left(&body)) {
        store_section section;
        if (!store_get_entry(&section, &body, end)) return false;
        if (section.offset > limit || limit - section.offset < STORE_SECTION_BYTES ||
            section.payload_size > limit - section.offset - STORE_SECTION_BYTES || section.type == STORE_FOOTER)
            return false;
        if (!add(map, &section)) return false;
        end = store_section_end(&section);
    }
    return map->count == count;
}

static bool read_footer(store_map *map, const store_section *footer)
{
    hd_byte_reader body;
    map->footer = *footer;
    if (!store_section_whole(footer, map->data) || !store_split_payload(&map->footer, &body, map->data)) return false;
    hd_byte_reader head = hd_byte_reader_of(map->footer.head, map->footer.head_size);
    uint64_t count = hd_byte_reader_varint(&head);
    map->has_footer = !head.failed && read_entries(map, body, count);
    return map->has_footer;
}

static void skip(store_map *map, uint64_t from, uint64_t until)
{
    if (until > from && map->skipped_bytes == 0) map->skipped_offset = from;
    map->skipped_bytes += until - from;
}

static uint64_t next_magic(const store_map *map, uint64_t from)
{
    if (from >= map->size) return map->size;
    const uint8_t *found = memmem(map->data + from, map->size - from, store_section_magic, STORE_MAGIC_BYTES);
    return found ? (uint64_t)(found - map->data) : map->size;
}

/* One section that stands there; what is not whole is skipped. false: no memory. */
static bool take_section(store_map *map, store_section *section)
{
    hd_byte_reader body;
    if (!store_section_whole(section, map->data) || !store_split_payload(section, &body, map->data)) {
        skip(map, section->offset, store_section_end(section));
        return true;
    }
    return add(map, section);
}

static hd_status scan(store_map *map, hd_error *err)
{
    uint64_t at = next_magic(map, 0), before = map->size < STORE_HEADER_BYTES ? map->size : STORE_HEADER_BYTES;
    map->count = 0;
    map->skipped_bytes = 0;
    while (at < map->size) {
        store_section section;
        if (at > before) skip(map, before, at);
        if (!store_get_section(&section, map->data, map->size, at)) {
            before = at;
            at = next_magic(map, at + 1);
            continue;
        }
        if (section.type != STORE_FOOTER) {
            if (!take_section(map, &section)) return HD_NOMEM(err);
        } else if (store_section_whole(&section, map->data)) { /* it knows better than we */
            if (read_footer(map, &section)) return HD_OK;
            return hd_error_set(err, HD_ERR_DAMAGED, NULL, at, "the footer contradicts the file");
        }
        before = at = store_section_end(&section);
        if (next_magic(map, at) != at) at = next_magic(map, at);
    }
    if (map->size - before != STORE_TRAILER_BYTES ||
        memcmp(map->data + before, store_trailer_magic, STORE_MAGIC_BYTES) != 0)
        skip(map, before, map->size);
    return HD_OK;
}

hd_status store_map_survey(store_map *map, hd_error *err)
{
    store_section footer;
    HD_TRY(store_get_header(&map->header_whole, map->data, map->size, err));
    map->has_trailer = store_get_trailer(&footer, map->data, map->size) && read_footer(map, &footer);
    return map->has_trailer ? HD_OK : scan(map, err);
}
