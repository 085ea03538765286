/* store_map.c - a store file in memory, and the sections that are found in it
 *
 * A file that is whole is read from its end: trailer, footer. Where the end is missing or broken, as when the writer
 * was killed, sections are looked for from the front: each tells its size, and behind damage the next is known by its
 * magic.
 */
#include "format/heddle/store_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/vector.h"

/* ---- bytes --------------------------------------------------------------------------------------------------- */

static hd_status map_file(store_map *out, int fd, uint64_t base, uint64_t size, const char *path, hd_error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = base % page;
    out->mapping_size = (size_t)(size + before);
    void *mapping = mmap(NULL, out->mapping_size, PROT_READ, MAP_PRIVATE, fd, (off_t)(base - before));
    if (mapping == MAP_FAILED)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be mapped: %s", strerror(errno));
    out->mapping = mapping;
    out->data = (const uint8_t *)mapping + before;
    out->size = (size_t)size;
    return HD_OK;
}

static hd_status write_all(int fd, const uint8_t *data, size_t size, hd_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot write a temporary file: %s",
                                strerror(errno));
        done += (size_t)n;
    }
    return HD_OK;
}

static hd_status drain(int fd, uint64_t *out_size, hd_input *input, hd_error *err)
{
    enum { PIECE = 1 << 20 };
    uint8_t *buffer = malloc(PIECE);
    size_t size;
    hd_status status = buffer ? HD_OK : HD_NOMEM(err);
    *out_size = 0;
    while (status == HD_OK && (status = hd_input_next(input, buffer, PIECE, &size, err)) == HD_OK) {
        *out_size += size;
        status = write_all(fd, buffer, size, err);
    }
    free(buffer);
    return status == HD_END ? HD_OK : status;
}

static hd_status map_copy(store_map *out, hd_input *input, hd_error *err)
{
    int fd;
    uint64_t size;
    HD_TRY(hd_temporary_nameless(&fd, err));
    hd_status status = drain(fd, &size, input, err);
    if (status == HD_OK && size == 0)
        status = hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), 0, "nothing of the store can be decompressed");
    if (status == HD_OK) status = map_file(out, fd, 0, size, hd_input_path(input), err);
    close(fd);
    return status;
}

hd_status store_map_open(store_map *out, hd_input *input, hd_error *err)
{
    uint64_t base;
    *out = (store_map){0};
    int fd = hd_input_descriptor(input, &base);
    if (fd < 0) return map_copy(out, input, err);
    uint64_t size = hd_input_size_bytes(input);
    return map_file(out, fd, base, size, hd_input_path(input), err);
}

void store_map_close(store_map *map)
{
    if (map->mapping) munmap(map->mapping, map->mapping_size);
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
